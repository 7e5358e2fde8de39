// The list of all cases: filtered, sorted, and shown in portions. A picture is unpacked when it is opened.

const CASES_PER_PAGE = 40;

const form = document.getElementById("choices");
const list = document.getElementById("cases");
const count = document.getElementById("count");
const more = document.getElementById("more");
const packedPictures = [...document.querySelectorAll("script.pictures")];
const chunks = new Map();
const linked = Number(/^#case=(\d+)$/.exec(location.hash)?.[1] ?? NaN);
const severalConditions = form.elements.condition !== undefined;
let found = [];

async function unpack(script) {
  const bytes = Uint8Array.from(atob(script.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function chunkOf(number) {
  const index = Math.floor(number / CASES_PER_CHUNK);
  if (!chunks.has(index)) chunks.set(index, unpack(packedPictures[index]));
  return chunks.get(index);
}

function drawing(html) {
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes].map((node) => document.importNode(node, true));
}

function matches(item, choice) {
  const same = [...form.querySelectorAll("[data-choice]")].every(({ name, value }) => !value || (item.single[name] ?? item[name]) === value);
  return same && (!choice.tag || item.tags.includes(choice.tag)) && item.words.includes(choice.text.trim().toLowerCase());
}

// order: ids of scales, each with whether more of it is better (1) or worse (-1); the next decides what is equal by one.
// The worst come first.
function compare(order) {
  const keys = order.split(",").filter(Boolean).map((each) => {
    const [scale, direction] = each.split(":");
    return (item) => direction * (item.values[scale] ?? Infinity * direction);
  });
  return (a, b) => {
    const differs = keys.find((key) => key(a) !== key(b));
    return differs ? differs(a) - differs(b) : a.number - b.number;
  };
}

function element(tag, css, ...content) {
  const made = document.createElement(tag);
  if (css) made.className = css;
  made.append(...content);
  return made;
}

function entry(item) {
  const where = [item.system, severalConditions && item.condition, item.subset, item.note, item.id].filter(Boolean).map((text) => element("bdi", "", text));
  const summary = element(
    "summary",
    item.bar ? "" : "plain",
    element("b", "value", item.value),
    ...(item.bar ? [element("span", "bar", ...drawing(item.bar))] : []),
    element("span", "text", item.text),
    element("span", "where", ...where),
  );
  summary.querySelector(".text").lang = item.lang;
  const details = element("details", "item", summary);
  details.addEventListener("toggle", () => details.open && show(details, item));
  details.open = item.number === linked;
  return details;
}

function linkTo(page) {
  const link = element("a", "", list.dataset.listen);
  link.href = page;
  return element("p", "", link);
}

async function show(details, item) {
  history.replaceState(null, "", `#case=${item.number}`);
  if (details.childElementCount > 1) return;
  const opened = element("div", "opened");
  details.append(opened);
  if (item.page) opened.append(linkTo(item.page));
  const pictures = await chunkOf(item.number);
  opened.append(...drawing(pictures[item.number % CASES_PER_CHUNK]));
}

function extend() {
  const shown = list.childElementCount;
  list.append(...found.slice(shown, shown + CASES_PER_PAGE).map(entry));
  more.hidden = list.childElementCount >= found.length;
}

function choose() {
  const choice = Object.fromEntries(new FormData(form));
  present(items.filter((item) => matches(item, choice)).sort(compare(choice.order)));
}

function present(chosen) {
  found = chosen;
  count.textContent = count.dataset.found.replace("{found}", found.length).replace("{all}", items.length);
  list.replaceChildren();
  extend();
}

const items = await unpack(document.getElementById("listed"));
form.addEventListener("input", choose);
form.addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", extend);
if (items[linked]) {
  present([items[linked]]);
  count.textContent = count.dataset.linked.replace("{all}", items.length);
  count.scrollIntoView();
} else choose();
document.documentElement.dataset.drawn = "yes";
