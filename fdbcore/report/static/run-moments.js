// The moments behind a number of the run: a list over the calls that the filter shows, opened by the number's link.

const LEAD_S = 2;
const PLAYED_S = 10;
const TICKS_PER_S = 100;
const loaded = {};
const open = { address: null, moments: [], shown: PORTION };

/** Called by the script of a list: of each call its name, the moments that count, and the others. */
window.moments = (name, calls) => (loaded[name] = calls);

/** Load the script of a list. */
function load(name) {
  return loaded[name] ? Promise.resolve() : loadScript(`${data.lists.folder}/${name}.js`);
}

/** Load a script with data: a page that is opened from a disk may load no other data. */
function loadScript(src) {
  return new Promise((resolve, reject) => {
    const script = element("script", { src });
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error(`${script.src} is missing: write it by fdbcore report`)));
    document.head.append(script);
  });
}

/** Open the list that the address of the page names, or close it. */
async function openMoments() {
  const link = new URLSearchParams(location.hash.slice(1));
  const address = link.get("moments");
  $("moments").hidden = !address || !Object.hasOwn(data.lists.titles, address);
  open.address = $("moments").hidden ? null : address;
  if (link.has("calls") && link.get("calls") !== $("filter").value.trim()) {
    $("filter").value = link.get("calls");
    select();
  }
  tellAddress(); // of a link to moments, which has no filter, too
  if (!open.address) return;
  $("moments-title").textContent = data.lists.titles[address];
  try {
    await load(address.replace(/\.all$/, ""));
    if (open.address === address) listMoments();
  } catch (error) {
    $("moments-note").textContent = error.message;
  }
  $("moments").scrollIntoView();
  $("moments-title").focus({ preventScroll: true });
}

/** List the moments of the calls that the filter shows, the longest first. */
function listMoments() {
  if (!open.address) return;
  const isWhole = open.address.endsWith(".all");
  const shown = new Map(state.calls.map((call) => [call.name, call]));
  open.moments = (loaded[open.address.replace(/\.all$/, "")] ?? [])
    .filter(([name]) => shown.has(name))
    .flatMap(([name, items, others]) => (isWhole ? [...marked("yes", items), ...marked("no", others)] : items).map((moment) => [shown.get(name), ...moment]))
    .sort(([, start, end], [, otherStart, otherEnd]) => otherEnd - otherStart - (end - start));
  open.shown = PORTION;
  const calls = new Set(open.moments.map(([call]) => call)).size;
  const filter = $("filter").value.trim();
  $("moments-title").textContent = `${data.lists.titles[open.address]}: ${open.moments.length.toLocaleString("en")}`;
  $("moments-note").textContent = `In ${calls.toLocaleString("en")} ${calls === 1 ? "call" : "calls"}, the longest first.${filter ? ` Only calls that fit ${filter}.` : ""}`;
  drawMoments();
}

function marked(answer, moments) {
  return moments.map(([start, end, text]) => [start, end, `${answer}, ${text}`]);
}

function drawMoments() {
  $("moments-list").replaceChildren(...open.moments.slice(0, open.shown).map(momentRow));
  $("moments-more").hidden = open.moments.length <= open.shown;
}

function momentRow([call, startTick, endTick, text]) {
  const start = startTick / TICKS_PER_S;
  const title = `${call.name} ${clockText(start)}: ${text}`;
  const told = [element("b", { textContent: text }), element("span", { className: "where" }, call.name, " ", element("span", { className: "at", textContent: clockText(start) }))];
  const link = call.page ? element("a", { className: "told", href: `${call.page}${momentsHash(open.address, start)}` }, ...told) : element("span", { className: "told" }, ...told);
  const from = Math.max(0, start - LEAD_S);
  return element("li", {}, ...sound(call, from, Math.max(from + PLAYED_S, endTick / TICKS_PER_S), title), link, ...(call.page ? [copyButton(link.href, title)] : []));
}

function momentsHash(address, start) {
  return `#moments=${address}${start === undefined ? "" : `&t=${start}`}`;
}

/** A number of a call that leads to its moments in the page of the call. */
function numberLink(call, address, text, what) {
  if (!call.page || !Object.hasOwn(data.lists.titles, address)) return text;
  return element("a", { href: `${call.page}${momentsHash(address)}`, textContent: text, ariaLabel: `${text}: ${what}, ${call.name}` });
}

window.addEventListener("hashchange", openMoments);
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#moments="]');
  if (link && link.hash === location.hash) openMoments();
});
$("moments-more").addEventListener("click", () => {
  open.shown += PORTION;
  drawMoments();
});
$("moments-close").addEventListener("click", () => {
  history.replaceState(null, "", location.pathname + location.search);
  openMoments(); // which keeps the filter in the address
});
