// Plays dialogues one after the other, takes ratings, keeps them in the browser, and gives them as CSV.

const { sample, cannot_tell: CANNOT_TELL, audio_type: AUDIO_TYPE, columns: COLUMNS, formula, metrics, tasks, dialogues } = JSON.parse(
  document.getElementById("data").textContent,
);
const find = (id) => document.getElementById(id);
const audio = find("audio");
const form = find("marks");
let rater = "";
let ratings = {};
let shown = 0;

function element(tag, properties, ...content) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...content);
  return made;
}

// Kept by the browser

const place = () => `fdbcore ratings ${sample} ${rater}`;

function kept() {
  try {
    return JSON.parse(localStorage.getItem(place())) ?? {};
  } catch {
    find("not-kept").hidden = false;
    return {};
  }
}

function keep() {
  try {
    localStorage.setItem(place(), JSON.stringify(ratings));
  } catch {
    find("not-kept").hidden = false;
  }
}

// Questions on a dialogue. A metric has levels, or checks that are answered with yes or no.

const asked = ({ family }) => [...metrics, ...(tasks[family] ? [tasks[family]] : [])];
const answer = (dialogue, name) => ratings[dialogue.name]?.[name] ?? "";

/** The rating of a metric: 1 to 5, or that one cannot tell; empty until all of it is answered. */
function mark(dialogue, metric) {
  if (!metric.checks.length) return answer(dialogue, metric.id);
  const answers = metric.checks.map((check) => answer(dialogue, `check ${check.id}`));
  if (answers.includes("")) return "";
  if (answers.includes(CANNOT_TELL)) return CANNOT_TELL;
  return String(Math.max(1, answers.filter((each) => each === "yes").length));
}

const isRated = (dialogue) => asked(dialogue).every((metric) => mark(dialogue, metric) !== "");

function choice(name, value, css, ...content) {
  const input = element("input", { type: "radio", name, value, checked: answer(dialogues[shown], name) === value });
  return element("label", { className: `choice ${css}` }, input, ...content.map((text) => element("span", {}, text)));
}

function levels(metric) {
  const found = metric.levels.map((text, index) => choice(metric.id, String(index + 1), "", String(index + 1), text));
  return [...found.reverse(), choice(metric.id, CANNOT_TELL, "wide", "I cannot tell")];
}

function checks(metric) {
  return metric.checks.map(({ id, ask }) => {
    const answers = ["yes", "no", CANNOT_TELL].map((value) =>
      choice(`check ${id}`, value, "wide", value === CANNOT_TELL ? "I cannot tell" : value),
    );
    return element("fieldset", {}, element("legend", {}, ask), element("div", { className: "answers" }, ...answers));
  });
}

function question(metric) {
  const made = element("fieldset", {}, element("legend", {}, metric.title), element("p", {}, metric.ask));
  made.append(...(metric.checks.length ? checks(metric) : levels(metric)));
  made.dataset.metric = metric.id;
  return made;
}

// Views

function load(name) {
  URL.revokeObjectURL(audio.src);
  const bytes = Uint8Array.from(atob(find(`sound-${name}`).textContent), (character) => character.charCodeAt(0));
  audio.src = URL.createObjectURL(new Blob([bytes], { type: AUDIO_TYPE }));
}

function show(index) {
  shown = index;
  const dialogue = dialogues[shown];
  load(dialogue.name);
  find("name").textContent = `Dialogue ${shown + 1} of ${dialogues.length}`;
  Object.assign(find("role"), { textContent: dialogue.role, lang: dialogue.language });
  find("goals").replaceChildren(
    ...dialogue.goals.map(({ goal, met, language }) =>
      element("li", { lang: language }, goal, element("span", { className: "met" }, met)),
    ),
  );
  const note = element("textarea", { name: "note", value: answer(dialogue, "note") });
  form.replaceChildren(...asked(dialogue).map(question), element("label", {}, "A note, if you like", note));
  tell();
  find("name").focus();
  scrollTo(0, 0);
}

function tell() {
  const done = dialogues.filter(isRated).length;
  find("progress").textContent = `${rater}: ${done} of ${dialogues.length} rated`;
  find("done").value = done;
  find("back").disabled = shown === 0;
  find("next").disabled = shown === dialogues.length - 1;
  find("open").disabled = done === dialogues.length;
  for (const metric of asked(dialogues[shown])) {
    form.querySelector(`[data-metric="${metric.id}"]`).classList.toggle("is-rated", mark(dialogues[shown], metric) !== "");
  }
  const entries = dialogues.map((each, index) =>
    element("option", { value: index }, `${index + 1}${isRated(each) ? " (rated)" : ""}`),
  );
  find("go").replaceChildren(...entries);
  find("go").value = shown;
}

/** Show the first dialogue from this one on, and then from the beginning, that is not rated; else this one. */
function showOpen(from) {
  const order = [...dialogues.keys()].map((step) => (from + step) % dialogues.length);
  show(order.find((index) => !isRated(dialogues[index])) ?? order[0]);
}

// The table that is given away

const marked = (text) => (new RegExp(`^(?:${formula})`, "u").test(text) ? `'${text}` : text);
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function table() {
  const rows = dialogues.filter((each) => each.name in ratings).map((dialogue) => {
    const marks = Object.fromEntries(asked(dialogue).map((metric) => [metric.id, mark(dialogue, metric)]));
    const checks = (tasks[dialogue.family]?.checks ?? []).map(({ id }) => `${id}=${answer(dialogue, `check ${id}`)}`);
    const row = { sample, dialogue: dialogue.name, rater, family: dialogue.family, ...marks, checks: checks.join("; ") };
    return COLUMNS.map((column) => quoted(marked(row[column] ?? answer(dialogue, column)))).join(",");
  });
  return [COLUMNS.join(","), ...rows, ""].join("\r\n");
}

function download() {
  const address = URL.createObjectURL(new Blob([table()], { type: "text/csv" }));
  const name = `ratings-${sample}-${rater.replace(/[^\p{L}\p{N}_-]+/gu, "_")}.csv`;
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

form.addEventListener("input", ({ target }) => {
  (ratings[dialogues[shown].name] ??= {})[target.name] = target.value;
  keep();
  tell();
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("keydown", (event) => {
  const wanted = event.key === "0" ? CANNOT_TELL : event.key;
  const inputs = event.target.closest("fieldset")?.querySelectorAll(":scope > .choice > input") ?? [];
  const input = [...inputs].find((each) => each.value === wanted);
  if (!input || event.ctrlKey || event.altKey || event.metaKey) return;
  input.focus();
  input.click();
});
find("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  rater = find("rater").value.trim();
  if (!rater) return;
  ratings = kept();
  find("begin").hidden = true;
  find("rating").hidden = false;
  showOpen(0);
});
find("back").addEventListener("click", () => show(shown - 1));
find("next").addEventListener("click", () => show(shown + 1));
find("open").addEventListener("click", () => showOpen(shown + 1));
find("go").addEventListener("change", ({ target }) => show(Number(target.value)));
find("download").addEventListener("click", download);
