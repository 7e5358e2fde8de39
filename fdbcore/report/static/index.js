// The list of calls: sorted and filtered here, drawn in portions.

const PORTION = 100;
const MANY = 5000; // calls: filtering more takes long enough to wait for the end of a word
const PAUSE_MS = 200;
const data = JSON.parse(document.getElementById("data").textContent);

const figure = (call, at) => call.figures?.[at] ?? null;

/** The column of a measure: shares are sorted by their ratio, compared by their count, and told as both. Its numbers
 *  lead to their moments. */
function measured({ measure, title, is, first }, at) {
  const value = (call) => figure(call, at);
  const link = (call, text, address = measure) => numberLink(call, address, text, title);
  if (is === "count") return { measure, title, is, first, value, cell: (call) => [value(call) ? link(call, String(value(call))) : String(value(call) ?? "")] };
  if (is === "time") return { measure, title, is, first, value, cell: (call) => [value(call) === null ? secondsText(null) : link(call, secondsText(value(call)))] };
  const share = (call) => {
    const [count, n] = value(call) ?? [];
    if (n === undefined) return [];
    return [count ? link(call, String(count)) : String(count), "/", n ? link(call, String(n), `${measure}.all`) : String(n)];
  };
  const ratio = (call) => (value(call)?.[1] ? value(call)[0] / value(call)[1] : null);
  return { measure, title, is, first, value: ratio, number: (call) => value(call)?.[0] ?? null, cell: share };
}

/** How far a status is from what one wants: what fails comes first, then what is undecided. */
const BADNESS = { "failed": 3, "cannot tell": 2, "passed": 1, "not measured": 0 };

/** What gates say of a call: its status, and the sign and word of that. */
const verdictOf = (call) => call.gates?.is ?? "not measured";
const wordOf = (call) => data.gates.words[verdictOf(call)];
const VERDICT = { title: "verdict", value: (call) => BADNESS[verdictOf(call)], cell: (call) => [wordOf(call)], status: verdictOf, first: -1 };

/** What the gates on the measure of a column say of a call, the worst of them; nothing without such a gate. */
function statusOf(call, at) {
  const found = (data.gates?.columns ?? []).flatMap((column, k) => (column === at ? [call.gates?.of[k]] : []));
  return found.filter(Boolean).sort((a, b) => BADNESS[b] - BADNESS[a])[0];
}

/** What the list can be sorted by: title, the value of a call (null: last), the number that the filter compares where
 *  it is another (as the text shows it), what its cell has, and whether large is bad. */
const COLUMNS = [
  { title: "call", value: (call) => call.name, first: 1 },
  { title: "length", value: (call) => call.s ?? null, cell: (call) => [clockText(call.s)], first: -1 },
  ...(data.gates ? [VERDICT] : []),
  ...data.figures.map((figure, at) => ({ ...measured(figure, at), status: (call) => statusOf(call, at) })),
  { title: "worst", value: (call) => call.worst?.[2] ?? null, first: -1 },
];
/** The columns of the metadata: the list has those that the reader chooses. */
const META = data.columns.map((name, at) => ({ title: name, value: (call) => call.columns[at] || null, cell: (call) => [call.columns[at] ?? ""], isMeta: true, first: 1 }));

const byName = new Intl.Collator(undefined, { numeric: true }).compare;
const state = { column: COLUMNS[COLUMNS.length - 1], direction: -1, shown: PORTION, calls: [], chosen: [] };
const $ = (id) => document.getElementById(id);

function clockText(seconds) {
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, String(whole % 60).padStart(2, "0")];
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

function secondsText(seconds) {
  return seconds === null ? "–" : `${seconds.toFixed(2)} s`;
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** What the filter looks at; made once for each call. */
function searched(call) {
  call.searched ??= `\n${[
    call.name,
    call.status,
    ...data.columns.map((name, at) => `${columnName(name)}=${call.columns[at]}`),
    `health=${call.verdict ?? ""}`,
    data.gates ? `verdict=${wordOf(call)}` : "",
    ...(call.gates?.why ?? []),
    ...(call.found ?? []).map(([id, text]) => `health=${id} ${text}`),
    call.why ? `!! ${call.why}` : "",
    ...(call.notes ?? []).map((note) => `!! ${note}`),
    call.worst?.[0] ?? "",
  ].join("\n").toLowerCase()}\n`;
  return call.searched;
}

/** The calls in the order of the column. Its values are asked for once, and names compared only where these are alike. */
function sorted(calls) {
  const valued = calls.map((call) => [state.column.value(call), call]);
  const alike = ([, a], [, b]) => byName(a.name, b.name);
  const compare = ([x, a], [y, b]) => {
    if (x === null || y === null) return (x === null) - (y === null) || alike([x, a], [y, b]);
    return (typeof x === "string" ? byName(x, y) : x - y) * state.direction || alike([x, a], [y, b]);
  };
  return valued.sort(compare).map(([, call]) => call);
}

const COMPARED = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

/** The words of the filter: separated by blanks, but for those within quotes ("Kunde 12"), and those that a value needs:
 *  caller=Kunde 12 is one word where a call has just that in the column. */
function wordsOf(text) {
  const words = [...text.toLowerCase().matchAll(/(?:"[^"]*"?|[^\s"])+/g)].map(([word]) => word);
  return words.reduce((found, word) => {
    const longer = `${found.at(-1)} ${word}`;
    return found.length && isWhole(longer) ? [...found.slice(0, -1), longer] : [...found, word];
  }, []);
}

/** What a word of the filter names: its column, how it compares, and with what; a part of a text has no sign. */
function parts(word) {
  const [, name, sign, value] = word.match(/^("[^"]+"|[^<>="]+)(<=|>=|<|>|=)(.*)$/) ?? [];
  return sign ? { name: shownName(columnName(unquoted(name))), sign, value: unquoted(value) } : { value: unquoted(word) };
}

const unquoted = (text) => text.replaceAll(/^"|"$/g, "");
const columnName = (title) => title.toLowerCase().replaceAll(/\s/g, "_");
/** The name of a column as it is shown, also of one that is named by the id of its measure. */
const shownName = (name) => columnName(COLUMNS.find(({ measure }) => measure?.toLowerCase() === name)?.title ?? name);

/** What a word is searched as: caller=kunde for all that begin so, and caller=kunde 12 whole. */
function text(word) {
  const { name, sign, value } = parts(word);
  return sign ? `${name}${sign}${value}` : value;
}

/** Whether a word is all of what some call has in a column: "system=a" does not mean "system=ab" then. */
function isWhole(word) {
  return parts(word).sign === "=" && data.calls.some((call) => searched(call).includes(`\n${text(word)}\n`));
}

/** A date or a time as digits, from the year to the second, as far as it is told; nothing for other texts. */
function digits(told) {
  const [, year, month, day, ...iso] = told.match(/^(\d{4})-(\d\d?)-(\d\d?)(?:[t ](\d\d?):(\d\d)(?::(\d\d))?|$)/i) ?? [];
  if (year) return stamp(year, month, day, ...iso);
  const [, ofMonth, ofYear, full, ...time] = told.match(/^(\d\d?)\.(\d\d?)\.(\d{4})(?:,? (\d\d?):(\d\d)(?::(\d\d))?|$)/) ?? [];
  return full && stamp(full, ofYear, ofMonth, ...time);
}

const stamp = (...told) => told.filter(Boolean).map((part) => part.padStart(2, "0")).join("");

/** A number as a page or a table has it, with a decimal point or comma; NaN for other texts. */
const numeric = (told) => Number(String(told).trim().replace(/^(-?\d+),(\d+)$/, "$1.$2") || NaN);

/** Whether a call fits a word: a comparison ("premature_responses>1", "response_rate<80%", "day>=2026-11-10"), or else a part of its text. */
function fitting(word) {
  const { name, sign, value } = parts(word);
  const column = sign && sign !== "=" && [...COLUMNS, ...META].find(({ title }) => columnName(title) === name);
  if (!column) return isWhole(word) ? (call) => searched(call).includes(`\n${text(word)}\n`) : (call) => searched(call).includes(text(word));
  const date = digits(value);
  if (date) return (call) => Boolean(digits(String(column.value(call)))) && COMPARED[sign](digits(column.value(call)).slice(0, date.length), date);
  const percent = value.endsWith("%");
  const of = percent ? column.value : (column.number ?? column.value);
  return (call) => of(call) !== null && COMPARED[sign](numeric(of(call)) * (percent ? 100 : 1), numeric(value.replace(/%$/, "")));
}

/** What is wrong with a word of the filter that fits no call; null where nothing is. */
function problem(word) {
  const { name, sign, value } = parts(word);
  if (data.calls.some((call) => searched(call).includes(text(word)))) return null;
  const hint = word.includes(",") ? "; words are separated by blanks" : "";
  if (!sign) return hint && `${word} is in no call${hint}`;
  const known = sign === "=" ? [...data.columns.map(columnName), "health", ...(data.gates ? ["verdict"] : [])] : [...COLUMNS, ...META].map(({ title }) => columnName(title));
  if (!known.includes(name)) return `no column ${name} to compare by ${sign}; there are ${known.join(", ")}${hint}`;
  if (sign === "=") return value ? `no call has ${word}${hint}` : null;
  if (value && !digits(value) && Number.isNaN(numeric(value.replace(/%$/, "")))) return `${word}: expected a number or a date such as 2026-11-30, got ${value}${hint}`;
  const counted = COLUMNS.find(({ title, is }) => is === "share" && columnName(title) === name);
  const isMeantAsShare = counted && !value.endsWith("%") && data.calls.every((call) => counted.number(call) < Number(value));
  return isMeantAsShare ? `${word} compares counts, and none is so large; a share is ${value}%` : null;
}

/** Keep the filter and the chosen columns in the address of the page, so that who gets the link sees the same. */
function tellAddress() {
  const link = new URLSearchParams(location.hash.slice(1));
  const before = String(link);
  link.delete("column");
  for (const { title } of state.chosen) link.append("column", title);
  const filter = $("filter").value.trim();
  if (filter) link.set("calls", filter);
  else link.delete("calls");
  if (String(link) === before) return;
  history.replaceState(null, "", `${location.pathname}${location.search}${link.size ? `#${link}` : ""}`);
}

function select() {
  const words = wordsOf($("filter").value);
  const fits = words.map(fitting);
  state.problem = words.map(problem).filter(Boolean).join(" · ");
  state.calls = sorted(data.calls.filter((call) => fits.every((fit) => fit(call))));
  state.shown = PORTION;
  draw();
  listMoments();
}

function sortBy(column, direction) {
  Object.assign(state, { column, direction });
  $("sort").value = column.title;
  select();
}

/** The columns of the list: the chosen ones stand before the worst moment. */
const listed = () => [...COLUMNS.slice(0, -1), ...state.chosen, COLUMNS.at(-1)];

/** A box to tick for each column of the metadata. */
function offerColumns() {
  $("choose").hidden = META.length === 0;
  const named = new URLSearchParams(location.hash.slice(1)).getAll("column");
  state.chosen = META.filter(({ title }) => named.includes(title));
  for (const column of META) {
    const box = element("input", { type: "checkbox", checked: state.chosen.includes(column) });
    box.addEventListener("change", () => {
      state.chosen = META.filter((each) => (each === column ? box.checked : state.chosen.includes(each)));
      tellAddress();
      draw();
    });
    $("choose").append(element("label", {}, box, " ", column.title));
  }
}

function draw() {
  $("calls").tHead.replaceChildren(element("tr", {}, ...listed().map(heading)));
  $("calls").tBodies[0].replaceChildren(...state.calls.slice(0, state.shown).map(row));
  $("more").hidden = state.calls.length <= state.shown;
  tell();
}

/** Say above the list what is wrong, or how many calls it has. */
function tell() {
  const wrong = state.problem || state.missing;
  $("shown").textContent = wrong || totals();
  $("shown").classList.toggle("bad", Boolean(wrong));
}

/** How many calls fit, and what they have in common. */
function totals() {
  const told = data.figures.map(({ title, is }, at) => {
    if (is !== "share") return "";
    const [count, n] = state.calls.reduce((sum, call) => sum.map((part, k) => part + (figure(call, at)?.[k] ?? 0)), [0, 0]);
    return n && `${title} ${count}/${n} (${((100 * count) / n).toFixed(1)} %)`;
  });
  const loading = data.calls.length < data.of ? [`${(data.of - data.calls.length).toLocaleString("en")} more are loading`] : [];
  return [`${state.calls.length.toLocaleString("en")} of ${data.calls.length.toLocaleString("en")} calls`, ...loading, ...told.filter(Boolean)].join(" · ");
}

function heading(column) {
  const button = element("button", { type: "button", textContent: column.title });
  button.addEventListener("click", () => sortBy(column, state.column === column ? -state.direction : column.first));
  const cell = element("th", { scope: "col" }, button);
  if (state.column === column) cell.ariaSort = state.direction > 0 ? "ascending" : "descending";
  return cell;
}

function row(call) {
  const name = call.page ? element("a", { href: call.page }) : element("span");
  Object.assign(name, { className: "name", textContent: call.name });
  const fold = element("button", { type: "button", className: "fold", textContent: "+", ariaExpanded: "false", ariaLabel: `More about ${call.name}` });
  name.title = call.name; // a long one is cut
  const head = element("th", { scope: "row" }, element("div", {}, fold, name));
  const amiss = [...(call.notes ?? []), ...(call.verdict && call.verdict !== "ok" ? [healthText(call)] : [])].join("; ");
  if (amiss) fold.after(element("b", { className: call.notes?.length || call.verdict === "bad" ? "bad" : "meta", textContent: "!! ", title: amiss }));
  const line = element("tr", {}, head);
  fold.addEventListener("click", () => toggle(line, fold, call));
  if (call.why) {
    line.append(element("td", { className: "bad text", colSpan: listed().length - 1, textContent: call.why, title: call.why }));
    return line;
  }
  for (const column of listed().slice(1, -1)) {
    const cell = element("td", column.isMeta ? { className: "told", title: column.value(call) ?? "" } : {}, ...column.cell(call));
    cell.dataset.label = column.title;
    const status = column.status?.(call);
    if (status) gated(cell, status, column === VERDICT ? "" : data.gates.words[status]);
    line.append(cell);
  }
  line.append(worstCell(call));
  return line;
}

/** Mark a cell with a status: by its colour, by a sign, and for those who hear the page by a word. */
function gated(cell, status, word) {
  cell.classList.add("limit", status.replace(" ", "-"));
  cell.prepend(element("span", { className: "sign", textContent: data.gates.signs[status], ariaHidden: "true" }), " ");
  if (word) cell.append(element("span", { className: "visually-hidden", textContent: `, ${word}` }));
}

/** What is wrong with its audio, in words. */
function healthText(call) {
  return `${call.verdict}: ${call.found.map(([, text]) => text).join(" | ")}`;
}

function worstCell(call) {
  const cell = element("td", { className: "worst-cell" });
  cell.dataset.label = "worst";
  if (!call.worst) return cell;
  const [text, start] = call.worst;
  cell.append(...sound(call, Math.max(0, start - 2), Math.max(0, start - 2) + 10, `${call.name} ${clockText(start)}: ${text}`), " ");
  const told = `${clockText(start)} ${text}`;
  cell.title ||= told;
  cell.append(call.page ? element("a", { href: `${call.page}#t=${start}`, textContent: told }) : told);
  return cell;
}

/** A button that plays a part of a call, or why there is nothing to hear; neither on a page without audio. */
function sound(call, from, to, title) {
  if (!call.audio) return call.silent ? [noSound(call.silent)] : [];
  if (unheard.has(call.audio)) return [noSound(UNPLAYED)];
  const button = element("button", { type: "button", className: "play", textContent: "▶", ariaLabel: `Play: ${title}` });
  Object.assign(button.dataset, { src: call.audio, from, to, title });
  return [button];
}

/** The columns of a call, its file and its page, below its row. */
function toggle(line, fold, call) {
  const isOpen = line.nextElementSibling?.className === "more";
  Object.assign(fold, { ariaExpanded: String(!isOpen), textContent: isOpen ? "+" : "−" });
  if (isOpen) {
    line.nextElementSibling.remove();
    return;
  }
  const list = element("dl");
  const add = (term, ...told) => list.append(element("dt", { textContent: term }), element("dd", {}, ...told));
  data.columns.forEach((column, at) => call.columns[at] && add(column, call.columns[at]));
  add("status", call.status);
  if (call.gates) add("verdict", [wordOf(call), ...call.gates.why].join(" · "));
  if (call.found?.length) add("health", healthText(call));
  if (call.notes?.length) add("!!", call.notes.join("; "));
  if (call.left_out) add("left out", call.left_out);
  if (call.audio || call.silent) add("audio", ...audioLinks(call), ...sound(call, 0, call.s, call.name));
  if (call.page) add("to send it", element("code", { textContent: `fdbcore report '${data.run}' --call '${call.name}' --embed` }));
  line.after(element("tr", { className: "more" }, element("td", { colSpan: listed().length }, list)));
}

/** Links to the audio of a call, one file or two. */
function audioLinks(call) {
  return (call.audio ?? "").split(" ").filter(Boolean).flatMap((file) => [element("a", { href: file, textContent: decodeURIComponent(file.split("#")[0]) }), " "]);
}

for (const column of [...COLUMNS, ...META]) $("sort").add(new Option(column.title));
$("sort").addEventListener("change", () => {
  const column = [...COLUMNS, ...META].find(({ title }) => title === $("sort").value);
  sortBy(column, column.first);
});
$("reverse").addEventListener("click", () => sortBy(state.column, -state.direction));
let typed;
$("filter").addEventListener("input", () => {
  clearTimeout(typed);
  tellAddress();
  if (data.calls.length <= MANY) select();
  else typed = setTimeout(select, PAUSE_MS);
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-filter]");
  if (!link) return;
  $("filter").value = link.dataset.filter;
  tellAddress();
  select();
});
$("more").addEventListener("click", () => {
  state.shown += PORTION;
  draw();
});

/** Called by the scripts that bring the calls which are not inside the page. */
window.calls = (added) => data.calls.push(...added);

/** Load these scripts one after the other, and list all calls at the end. */
async function loadCalls() {
  for (const source of data.scripts) {
    await loadScript(source).catch((error) => (state.missing = error.message));
    tell();
  }
  const { shown } = state;
  select();
  Object.assign(state, { shown });
  draw();
}

async function start() {
  offerColumns();
  sortBy(state.column, state.direction);
  openMoments();
  document.documentElement.dataset.drawn = "yes";
  if (data.scripts.length) await loadCalls();
  document.documentElement.dataset.loaded = "yes";
}
