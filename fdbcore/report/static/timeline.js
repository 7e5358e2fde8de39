// The zoomable timeline: lane A above, lane B below, the floor between them. Drawn by plotly, only what is in sight and
// as far again on both sides; the playhead and the clicks are the page's own, so that nothing is redrawn while it plays.

const LANES = { A: 2.35, B: -2.35 };
const TURN_ROWS = { A: 0.82, B: -0.82 };
const BETWEEN_ROW = 0;
const ROW_HEIGHT = 0.5;
const EDGE = { A: 1.22, B: -1.22 };
const TOP = 3.5;
const CLICK_PX = 6;
const SHORTEST_VIEW_S = 0.5;
const WIDEST_LABEL_PX = 52;
const PX_PER_BAR = 4;
const PX_PER_MARK = 12;
const TICK_STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600];

/** The room around a plot of this width; the overview keeps to it, so that both show a time at the same place. */
function plotMargin(width) {
  return width < 600 ? { l: 46, r: 8, t: 8, b: 30 } : { l: 74, r: 14, t: 8, b: 34 };
}

class Timeline {
  /** `onSeek(seconds)` and `onSelect(index)` are called for clicks; `onView()` after each change of what is in sight. */
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
    return Plotly.react(this.chart, this.traces(), this.layout(), { displayModeBar: false, doubleClick: false });
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
    if (Math.hypot(released.clientX - pressed.clientX, released.clientY - pressed.clientY) > CLICK_PX) return;
    const index = this.eventAt(pressed.clientX, pressed.clientY);
    if (index >= 0) this.onSelect(index);
    else this.onSeek(Math.min(Math.max(this.timeAt(pressed.clientX), 0), this.data.length_s));
  }

  /** The shortest event drawn at a place of the window, or -1. */
  eventAt(clientX, clientY) {
    const height = this.root.clientHeight - this.margin.t - this.margin.b;
    const y = clientY - this.root.getBoundingClientRect().top - this.root.clientTop - this.margin.t;
    const row = TOP - (y / height) * 2 * TOP;
    const time = this.timeAt(clientX);
    const slack = CLICK_PX * this.secondsPerPx;
    const hits = ({ start_s: start, end_s: end, kind, ...event }) =>
      Math.abs(rowOf({ kind, ...event }) - row) <= ROW_HEIGHT / 2 &&
      time >= start - slack &&
      time <= (kind === "intrusion" ? start : end) + slack;
    const found = this.data.events.filter(hits).sort((one, other) => length(one) - length(other));
    return this.data.events.indexOf(found[0]);
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

  /** What to draw: the view, and as far again on both sides, for dragging. */
  get reach() {
    const span = this.view[1] - this.view[0];
    return [Math.max(0, this.view[0] - span), Math.min(this.data.length_s, this.view[1] + span)];
  }

  traces() {
    const [from, to] = this.reach;
    const lanes = SIDES.flatMap((side) => [
      this.speech(side, from, to),
      this.wave(side, from, to),
      this.intrusions(side, from, to),
    ]);
    return [this.overlaps(from, to), ...lanes, this.bars(from, to)];
  }

  /** Rectangles as one filled line with breaks: far faster than a shape each. */
  rectangles(spans, bottom, top, fill) {
    const x = spans.flatMap(([start, end]) => [start, start, end, end, null]);
    const y = spans.flatMap(() => [bottom, top, top, bottom, null]);
    return { type: "scatter", mode: "lines", x, y, fill: "toself", fillcolor: fill, line: { width: 0 }, hoverinfo: "skip" };
  }

  speech(side, from, to) {
    const spans = visibleSpans(this.data.speech[side], from, to, this.secondsPerPx);
    return this.rectangles(spans, LANES[side] - 1.02, LANES[side] + 1.02, faded(palette[side.toLowerCase()], 0.16));
  }

  overlaps(from, to) {
    const spans = visibleSpans(this.data.overlaps, from, to, this.secondsPerPx);
    const both = SIDES.map((side) => this.rectangles(spans, LANES[side] - 1.02, LANES[side] + 1.02, faded(palette.overlap, 0.22)));
    return { ...both[0], x: [...both[0].x, ...both[1].x], y: [...both[0].y, ...both[1].y] };
  }

  wave(side, from, to) {
    const count = (this.plotWidth * (to - from)) / (this.view[1] - this.view[0]);
    const { [side]: levels, loudest } = this.data.peaks;
    const { ticks, heights } = reduceLevels(levels, Math.floor(from * TICKS_PER_S), Math.ceil(to * TICKS_PER_S), count, loudest);
    const times = ticks.map((tick) => tick / TICKS_PER_S);
    const x = times.concat(times.slice().reverse());
    const y = heights.map((h) => LANES[side] + h).concat(heights.map((h) => LANES[side] - h).reverse());
    const fillcolor = palette[side.toLowerCase()];
    return { type: "scatter", mode: "lines", x, y, fill: "toself", fillcolor, line: { width: 0.5, color: fillcolor }, hoverinfo: "skip" };
  }

  /** Indexes of the wanted events that touch [from, to); of those narrower than `px`, one in each such stretch of a row. */
  visible(from, to, px, wanted) {
    const narrow = px * this.secondsPerPx;
    const taken = new Set();
    const shown = [];
    this.data.events.forEach((event, index) => {
      if (event.end_s < from || event.start_s > to || !wanted(event)) return;
      if (length(event) < narrow || event.kind === "intrusion") {
        const place = `${rowOf(event)} ${Math.floor(event.start_s / narrow)}`;
        if (taken.has(place)) return;
        taken.add(place);
      }
      shown.push(index);
    });
    return shown;
  }

  intrusions(side, from, to) {
    const shown = this.visible(from, to, PX_PER_MARK, (event) => event.kind === "intrusion" && event.side === side);
    const events = shown.map((index) => this.data.events[index]);
    const down = side === "A";
    return {
      type: "scatter",
      mode: "markers",
      x: events.map((event) => event.start_s),
      y: events.map(rowOf),
      marker: {
        symbol: events.map((e) => `triangle-${down ? "down" : "up"}${e.outcome === "taken" ? "" : "-open"}`),
        size: 10,
        color: palette.text,
        opacity: events.map((event) => (event.censored ? 0.35 : 1)),
      },
      customdata: shown,
      hovertext: events.map(describe),
      hoverinfo: "text",
    };
  }

  bars(from, to) {
    const perPx = this.secondsPerPx;
    const shown = this.visible(from, to, PX_PER_BAR, (event) => event.kind !== "intrusion");
    // Long ones first, so that a pause lies on its turn.
    shown.sort((one, other) => rank(this.data.events[one]) - rank(this.data.events[other]));
    const events = shown.map((index) => this.data.events[index]);
    const looks = events.map(look);
    return {
      type: "bar",
      orientation: "h",
      base: events.map((event) => event.start_s),
      x: events.map((event) => Math.max(length(event), 2 * perPx)),
      y: events.map(rowOf),
      width: ROW_HEIGHT,
      marker: {
        color: looks.map((each) => each.fill),
        opacity: events.map((event) => (event.censored ? 0.4 : 1)),
        line: { width: looks.map((each) => each.border), color: looks.map((each) => each.edge) },
        pattern: { shape: looks.map((each) => each.pattern), size: 9, solidity: 0.1 },
      },
      text: events.map((event) => this.label(event)),
      textposition: "inside",
      insidetextanchor: "middle",
      textangle: 0,
      constraintext: "none",
      insidetextfont: { size: 11, color: looks.map((each) => each.ink) },
      customdata: shown,
      hovertext: events.map(describe),
      hoverinfo: "text",
    };
  }

  /** How long a silence or an overlap lasts, where there is room for it. */
  label(event) {
    const fits = length(event) / this.secondsPerPx >= WIDEST_LABEL_PX;
    if (!fits || event.kind === "turn") return "";
    return event.kind === "no_response" ? "no answer" : seconds(length(event));
  }

  layout() {
    const [from, to] = this.view;
    const small = this.root.clientWidth < 600;
    const font = { family: getComputedStyle(document.body).fontFamily, size: small ? 11 : 12, color: palette.muted };
    const named = (side) => `<b style="color:${palette[side.toLowerCase()]}">${side}</b>${small ? "" : ` ${this.data.heard[side]}`}`;
    return {
      margin: this.margin,
      width: this.root.clientWidth,
      height: this.root.clientHeight,
      paper_bgcolor: "transparent",
      plot_bgcolor: "transparent",
      font,
      showlegend: false,
      barmode: "overlay",
      dragmode: "pan",
      hovermode: "closest",
      hoverlabel: { bgcolor: palette.surface, bordercolor: palette.line, font: { ...font, color: palette.text }, align: "left" },
      xaxis: { range: [from, to], minallowed: 0, maxallowed: this.data.length_s, gridcolor: palette.line, zeroline: false, ...this.timeTicks() },
      yaxis: {
        range: [-TOP, TOP],
        fixedrange: true,
        showgrid: false,
        ticks: "outside",
        ticklen: 6,
        tickcolor: "transparent",
        zeroline: false,
        tickvals: [LANES.A, TURN_ROWS.A, BETWEEN_ROW, TURN_ROWS.B, LANES.B],
        ticktext: [named("A"), small ? "turns" : "A's turns", small ? "floor" : "between", small ? "turns" : "B's turns", named("B")],
      },
      shapes: this.marked ? [this.markShape()] : [],
    };
  }

  markShape() {
    const [x0, x1] = this.marked;
    return { type: "rect", layer: "below", yref: "paper", x0, x1, y0: 0, y1: 1, fillcolor: faded(palette.mark, 0.18), line: { color: palette.mark, width: 2 } };
  }

  /** Ticks at round times within reach, not more than one in 80 px. */
  timeTicks() {
    const step = TICK_STEPS_S.find((each) => each / this.secondsPerPx >= 80) ?? TICK_STEPS_S[TICK_STEPS_S.length - 1];
    const [from, to] = this.reach;
    const tickvals = [];
    for (let n = Math.ceil(from / step); n * step <= to; n++) tickvals.push(n * step);
    return { tickvals, ticktext: tickvals.map((time) => clockText(time, step < 1 ? 1 : 0)) };
  }
}

function rank(event) {
  return ["turn", "no_response"].includes(event.kind) ? 0 : 1;
}

/** Where an event lies, from the bottom up. */
function rowOf(event) {
  if (event.kind === "intrusion") return EDGE[event.side];
  return ["turn", "pause"].includes(event.kind) ? TURN_ROWS[event.side] : BETWEEN_ROW;
}

/** What an event's bar looks like. */
function look(event) {
  const side = event.side.toLowerCase();
  const plain = { pattern: "", border: 0, edge: palette.line };
  switch (event.kind) {
    case "turn":
      return { ...plain, fill: palette[side], ink: palette["on-side"] };
    case "pause":
      return { ...plain, fill: palette.surface, ink: palette.text, border: 1, edge: palette[side] };
    case "no_response":
      return { ...plain, fill: palette.muted, ink: palette.text, pattern: "/", border: 1, edge: palette.text };
    case "gap":
      return { ...plain, fill: palette.gap, ink: palette["on-gap"] };
    default:
      return { ...plain, fill: palette.overlap, ink: palette["on-side"] };
  }
}
