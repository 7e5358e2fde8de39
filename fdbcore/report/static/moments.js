// The moments behind a number: a list that its link opens above the timeline, and that the arrow keys step through.

/** All lists by their addresses: [title, moments that count, others, title of all], a moment as [start, end, text] in ticks. */
function readLists() {
  return JSON.parse(document.getElementById("lists").textContent);
}

/** The list with an address: those that count, or with ".all" also the rest of the denominator, each with whether it
 *  counts; or a list of remarks. Null if there is none. */
function listAt(lists, address) {
  const [name, isWhole] = [address.replace(/\.all$/, ""), address.endsWith(".all")];
  if (!Object.hasOwn(lists, name)) return null;
  if (!Array.isArray(lists[name])) return { address, ...lists[name] };
  const [title, items, others, wholeTitle] = lists[name];
  const whole = () => [...marked("yes", items), ...marked("no", others)].sort((one, other) => one[0] - other[0]);
  const moments = (isWhole ? whole() : items).map(([start, end, text]) => ({ start_s: start / TICKS_PER_S, end_s: end / TICKS_PER_S, text }));
  return { address, title: isWhole ? wholeTitle : title, moments };
}

function marked(answer, moments) {
  return moments.map(([start, end, text]) => [start, end, `${answer}, ${text}`]);
}

/** The address of a page with a list open at one of its moments. */
function momentLink(address, time) {
  return `#${[address && `moments=${address}`, time !== null && `t=${Number(time.toFixed(2))}`].filter(Boolean).join("&")}`;
}

class MomentList {
  constructor(root) {
    this.root = root;
    this.title = root.querySelector("h3");
    this.rows = root.querySelector("ol");
  }

  show(list) {
    this.root.hidden = !list;
    if (!list) return;
    this.moments = list.moments;
    this.title.textContent = `${list.title}: ${list.moments.length}`;
    this.rows.replaceChildren(...list.moments.map((moment) => this.row(list.address, moment)));
    this.rows.scrollTop = 0;
  }

  row(address, { start_s: start, text }) {
    const link = document.createElement("a");
    link.href = momentLink(address, start);
    const [at, told] = [document.createElement("span"), document.createElement("span")];
    at.className = "at";
    at.textContent = clockText(start);
    told.textContent = text;
    link.append(at, told);
    const row = document.createElement("li");
    row.append(link);
    return row;
  }

  /** Mark the row of a moment, and bring it into sight without moving the page. */
  mark(moment) {
    this.rows.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const row = this.rows.children[this.moments?.indexOf(moment) ?? -1];
    if (!row) return;
    row.firstElementChild.setAttribute("aria-current", "true");
    const [top, bottom] = [row.offsetTop - this.rows.offsetTop, row.offsetTop - this.rows.offsetTop + row.offsetHeight];
    if (top < this.rows.scrollTop) this.rows.scrollTop = top;
    else if (bottom > this.rows.scrollTop + this.rows.clientHeight) this.rows.scrollTop = bottom - this.rows.clientHeight;
  }
}
