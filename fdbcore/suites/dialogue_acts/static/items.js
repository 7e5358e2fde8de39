// The list of all replies: narrowed, sorted and shown some at a time; a picture is unpacked when it is opened.

const ITEMS_PER_PAGE = 40;

const form = document.getElementById("choices");
const list = document.getElementById("items");
const count = document.getElementById("count");
const more = document.getElementById("more");
const packedPictures = [...document.querySelectorAll("script.pictures")];
const chunks = new Map();
const linked = Number(/^#item=(\d+)$/.exec(location.hash)?.[1] ?? NaN);
let found = [];

async function unpack(script) {
  const bytes = Uint8Array.from(atob(script.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function chunkOf(number) {
  const index = Math.floor(number / ITEMS_PER_CHUNK);
  if (!chunks.has(index)) chunks.set(index, unpack(packedPictures[index]));
  return chunks.get(index);
}

function drawing(svg) {
  return document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
}

function matches(item, choice) {
  const same = ["set", "annotator", "system", "topic"].every((name) => !choice[name] || item[name] === choice[name]);
  const fates = choice.fate ? [choice.fate] : Object.keys(item.acts);
  const has = (fate) => (choice.act ? item.acts[fate].includes(choice.act) : item.acts[fate].length > 0);
  const hasActs = !(choice.act || choice.fate) || fates.some(has);
  return same && hasActs && item.text.includes(choice.text.trim().toLowerCase());
}

function compare(order) {
  const key = { wlcs: (item) => item.scores.wlcs, best: (item) => item.scores.wed }[order];
  if (key) return (a, b) => key(a) - key(b) || a.number - b.number;
  return (a, b) => (order ? b.scores[order] - a.scores[order] : 0) || a.number - b.number;
}

function element(tag, css, ...content) {
  const made = document.createElement(tag);
  if (css) made.className = css;
  made.append(...content);
  return made;
}

function entry(item) {
  const times = item.repeat > 1 ? ["annotation " + item.repeat] : [];
  const where = [item.system, item.topic, ...times, item.id].filter(Boolean).map((text) => element("bdi", "", text));
  const summary = element(
    "summary",
    "",
    element("b", "score", item.score),
    drawing(item.strip),
    element("span", "user", item.user),
    element("span", "where", ...where),
  );
  summary.querySelector(".user").lang = item.lang;
  const details = element("details", "item", summary);
  details.addEventListener("toggle", () => details.open && show(details, item));
  details.open = item.number === linked;
  return details;
}

async function show(details, item) {
  history.replaceState(null, "", `#item=${item.number}`);
  if (details.childElementCount > 1) return;
  const opened = element("div", "opened");
  details.append(opened);
  const pictures = await chunkOf(item.number);
  if (item.background) opened.append(element("p", "note", item.background));
  opened.append(drawing(pictures[item.number % ITEMS_PER_CHUNK]));
}

function extend() {
  const shown = list.childElementCount;
  list.append(...found.slice(shown, shown + ITEMS_PER_PAGE).map(entry));
  more.hidden = list.childElementCount >= found.length;
}

function choose() {
  const choice = { set: "", annotator: "", system: "", topic: "", ...Object.fromEntries(new FormData(form)) };
  present(items.filter((item) => matches(item, choice)).sort(compare(choice.order)));
}

function present(chosen) {
  found = chosen;
  count.textContent = `${found.length} of ${items.length} replies. Open one to see why.`;
  list.replaceChildren();
  extend();
}

const items = await unpack(document.getElementById("rows"));
form.addEventListener("input", choose);
form.addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", extend);
if (items[linked]) {
  present([items[linked]]);
  count.textContent = `One of ${items.length} replies, as linked. Choose anything above to see the others.`;
  count.scrollIntoView();
} else choose();
document.documentElement.dataset.drawn = "yes";
