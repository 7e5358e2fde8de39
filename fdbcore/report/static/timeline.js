// The zoomable timeline: what is in sight, and what the pointer does to it. The playhead and the clicks are the page's
// own, not plotly's, so that nothing is redrawn while it plays and a finger works like a mouse.

const CLICK_PX = 6;
const SHORTEST_VIEW_S = 0.5;

class Timeline {
  /** `onSeek(seconds)` and `onSelect(event or remark)` are called for clicks; `onView()` after each change of what is in sight. */
  constructor(root, data, { onSeek, onSelect, onView }) {
    Object.assign(this, { root, data, onSeek, onSelect, onView });
    this.chart = root.querySelector(".chart");
    this.playhead = root.querySelector(".playhead");
    this.view = [0, data.length_s];
    this.marked = null;
    this.time = 0;
  }

  /** Draw for the first time and listen to the pointer. */
  async start() {
    await this.draw();
    this.drawn = true;
    this.onView();
    this.chart.on("plotly_relayouting", (change) => this.follow(change));
    this.chart.on("plotly_relayout", (change) => this.follow(change, true));
    this.root.addEventListener("pointerdown", (pressed) => {
      // On the window: plotly covers the page while the pointer is down, and swallows the click of a finger.
      window.addEventListener("pointerup", (released) => this.release(pressed, released), { once: true });
    });
    this.root.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  get margin() {
    return plotMargin(this.root.clientWidth);
  }

  get plotWidth() {
    return this.root.clientWidth - this.margin.l - this.margin.r;
  }

  get scene() {
    const { view, margin, marked, secondsPerPx } = this;
    const { clientWidth: width, clientHeight: height } = this.root;
    return { view, margin, marked, secondsPerPx, width, height };
  }

  get secondsPerPx() {
    return (this.view[1] - this.view[0]) / this.plotWidth;
  }

  timeAt(clientX) {
    const x = clientX - this.root.getBoundingClientRect().left - this.root.clientLeft - this.margin.l;
    return this.view[0] + x * this.secondsPerPx;
  }

  /** Put [from, to] in sight, as far as the session goes. */
  show(from, to) {
    const span = Math.min(Math.max(to - from, SHORTEST_VIEW_S), this.data.length_s);
    const start = Math.min(Math.max((from + to - span) / 2, 0), this.data.length_s - span);
    this.view = [start, start + span];
    this.redraw();
  }

  zoom(factor, at = (this.view[0] + this.view[1]) / 2) {
    this.show(at - (at - this.view[0]) * factor, at + (this.view[1] - at) * factor);
  }

  /** Mark a span; nothing if it is null. */
  mark(span) {
    this.marked = span;
    this.redraw();
  }

  /** Move the playhead; the view goes with it when it leaves by itself. */
  setTime(time, playing) {
    const [from, to] = this.view;
    if (playing && this.time >= from && this.time <= to && time > to) this.show(time, time + to - from);
    this.time = time;
    this.placePlayhead();
  }

  placePlayhead() {
    const x = (this.time - this.view[0]) / this.secondsPerPx;
    this.playhead.style.visibility = x < 0 || x > this.plotWidth ? "hidden" : "visible";
    this.playhead.style.bottom = `${this.margin.b}px`;
    this.playhead.style.transform = `translateX(${this.margin.l + x}px)`;
  }

  /** Redraw once in the next frame, however often it is asked for. */
  redraw() {
    if (!this.drawn || this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.placePlayhead();
      this.onView();
      this.draw();
    });
  }

  draw() {
    const { traces, layout } = drawTimeline(this.data, this.scene);
    return Plotly.react(this.chart, traces, layout, { displayModeBar: false, doubleClick: false });
  }

  /** The plot was dragged: take over what is now in sight. */
  follow(change, finished = false) {
    const from = change["xaxis.range[0]"] ?? change["xaxis.range"]?.[0];
    const to = change["xaxis.range[1]"] ?? change["xaxis.range"]?.[1];
    if (from === undefined) return;
    if (finished) return this.show(from, to);
    this.view = [from, to];
    this.placePlayhead();
    this.onView();
  }

  release(pressed, released) {
    if (pressed.button !== 0 || Math.hypot(released.clientX - pressed.clientX, released.clientY - pressed.clientY) > CLICK_PX) return;
    const found = this.foundAt(pressed.clientX, pressed.clientY);
    if (found) this.onSelect(found);
    else this.onSeek(Math.min(Math.max(this.timeAt(pressed.clientX), 0), this.data.length_s));
  }

  /** The shortest event or remark that is drawn at a place of the window, if there is one. */
  foundAt(clientX, clientY) {
    const height = this.root.clientHeight - this.margin.t - this.margin.b;
    const y = clientY - this.root.getBoundingClientRect().top - this.root.clientTop - this.margin.t;
    const [bottom, top] = [-topOf(this.data), upperEnd(this.data)];
    const row = top - (y / height) * (top - bottom);
    const time = this.timeAt(clientX);
    const slack = CLICK_PX * this.secondsPerPx;
    const remarks = this.data.remarkRows.flatMap((each) => each.remarks);
    const hits = (each) =>
      Math.abs(("told" in each ? heightOfRemark(this.data, each) : rowOf(each)) - row) <= ROW_HEIGHT / 2 &&
      time >= each.start_s - slack &&
      time <= (each.kind === "intrusion" ? each.start_s : each.end_s) + slack;
    return [...this.data.events, ...remarks].filter(hits).sort((one, other) => length(one) - length(other))[0];
  }

  /** Ctrl + wheel and pinching zoom, sideways scrolling moves; the plain wheel scrolls the page. */
  wheel(event) {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(event.deltaY * 0.01), this.timeAt(event.clientX));
    else if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) this.move(sideways * this.secondsPerPx);
    else return;
    event.preventDefault();
  }

  move(by) {
    this.show(this.view[0] + by, this.view[1] + by);
  }
}
