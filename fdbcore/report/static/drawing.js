// The timeline as plotly draws it: lane A above, lane B below, the floor between them. It gets only the visible part
// and the same length again on both sides, for dragging, and never more detail than the screen can show.

const LANES = { A: 2.35, B: -2.35 };
const LANE_HALF = 1.02;
const TURN_ROWS = { A: 0.82, B: -0.82 };
const BETWEEN_ROW = 0;
const MARK_ROWS = { A: 1.22, B: -1.22 };
const ROW_HEIGHT = 0.5;
const STAGE_ROW = -0.41;
const STAGE_HEIGHT = 0.2;
const LABEL_ROWS = { A: 3.62, B: -3.62 };
const LABEL_HEIGHT = 0.36;
const TOP = 3.5;
const TOP_WITH_ROWS = 4.2;
const LOG_ABOVE_BOTTOM = 0.2;
const CALL_HEIGHT = 0.3;
const CALL_ROWS = [-4.02, -3.66];
const PX_PER_CHARACTER = 7;
const SMALL_PX = 600;
const WIDEST_LABEL_PX = 52;
const PX_PER_BAR = 4;
const PX_PER_MARK = 12;
const PX_PER_TICK = 80;
const TICK_STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600];
const NAMED_BARS = {
  type: "bar",
  orientation: "h",
  textposition: "inside",
  insidetextanchor: "middle",
  textangle: 0,
  constraintext: "none",
  hoverinfo: "text",
};
const FILLED = { type: "scatter", mode: "lines", fill: "toself", hoverinfo: "skip" };

/** The margin of a plot of this width; the overview has the same, so that both show a time at the same place. */
function plotMargin(width) {
  return width < SMALL_PX ? { l: 46, r: 8, t: 8, b: 30 } : { l: 74, r: 14, t: 8, b: 34 };
}

/** Traces and layout for a scene: { view, margin, marked, secondsPerPx, width, height }. */
function drawTimeline(data, scene) {
  const span = scene.view[1] - scene.view[0];
  const reach = [Math.max(0, scene.view[0] - span), Math.min(data.length_s, scene.view[1] + span)];
  const drawn = { ...scene, from: reach[0], to: reach[1] };
  const lanes = SIDES.flatMap((side) => [speech(data, side, drawn), wave(data, side, drawn), marks(data, side, drawn)]);
  const below = [leftOut, missed, overlaps].map((trace) => trace(data, drawn));
  const above = [bars, stages, called, labels, remarked, delays, logged].map((trace) => trace(data, drawn));
  const traces = [...below, ...lanes, ...above];
  return { traces, layout: timelineLayout(data, drawn) };
}

/** How far the plot reaches from the middle, without the rows of remarks above. */
function topOf(data) {
  return data.labels.length || data.toolCalls.length ? TOP_WITH_ROWS : TOP;
}

function sideColour(side) {
  return palette[side.toLowerCase()];
}

/** Rectangles in the lanes of `sides`, as one filled line with breaks: much faster than one shape each. */
function rectangles(spans, sides, fillcolor) {
  const x = sides.flatMap(() => spans.flatMap(([start, end]) => [start, start, end, end, null]));
  const y = sides.flatMap((side) => {
    const [bottom, top] = [LANES[side] - LANE_HALF, LANES[side] + LANE_HALF];
    return spans.flatMap(() => [bottom, top, top, bottom, null]);
  });
  return { ...FILLED, x, y, fillcolor, line: { width: 0 } };
}

function speech(data, side, { from, to, secondsPerPx }) {
  const spans = visibleSpans(data.speech[side], from, to, secondsPerPx);
  return rectangles(spans, [side], faded(sideColour(side), 0.16));
}

function overlaps(data, { from, to, secondsPerPx }) {
  return rectangles(visibleSpans(data.overlaps, from, to, secondsPerPx), SIDES, faded(palette.overlap, 0.22));
}

/** What was left out: hatched from -top to top, by default over the whole height. */
function leftOut(data, { top = topOf(data) }) {
  return {
    type: "bar",
    orientation: "h",
    base: data.leftOut.map((span) => span.start_s),
    x: data.leftOut.map(length),
    y: data.leftOut.map(() => 0),
    width: 2 * top,
    marker: { color: faded(palette.muted, 0.12), pattern: { shape: "/", size: 9, solidity: 0.15, fgcolor: palette.muted }, line: { width: 0 } },
    hovertext: data.leftOut.map((span) => span.text),
    hoverinfo: "text",
  };
}

/** Missed ticks, over the whole height. */
function missed(data, { from, to, secondsPerPx }) {
  const spans = visibleSpans(data.missed, from, to, secondsPerPx);
  const x = spans.flatMap(([start, end]) => [start, start, end, end, null]);
  const top = topOf(data);
  const y = spans.flatMap(() => [-top, top, top, -top, null]);
  const color = faded(palette["warning-text"], 0.4);
  return { ...FILLED, x, y, fillcolor: color, line: { width: 1, color } };
}

/** Changes of the delay of a side, as marks at its edge of the plot. */
function delays(data, { from, to }) {
  const changes = data.delays.filter((change) => change.time >= from && change.time <= to);
  const edge = topOf(data) - 0.1;
  return {
    type: "scatter",
    mode: "markers",
    x: changes.map((change) => change.time),
    y: changes.map(({ side }) => (side === "A" ? edge : -edge)),
    marker: { symbol: "diamond", size: 9, color: palette.text },
    hovertext: changes.map((change) => change.text),
    hoverinfo: "text",
  };
}

/** The marks of the agent's own log: lines at the lower edge of the plot, with their names if there is room. */
function logged(data, { from, to, secondsPerPx }) {
  const seen = data.logged.filter((mark) => mark.time_s >= from && mark.time_s <= to);
  const room = (mark, next) => !next || (next.time_s - mark.time_s) / secondsPerPx > PX_PER_CHARACTER * mark.name.length;
  return {
    type: "scatter",
    mode: "markers+text",
    x: seen.map((mark) => mark.time_s),
    y: seen.map(() => LOG_ABOVE_BOTTOM - topOf(data)),
    marker: { symbol: "line-ns", size: 16, line: { width: 2, color: palette.text } },
    text: seen.map((mark, index) => (room(mark, seen[index + 1]) ? `  ${mark.name}` : "")),
    textposition: "middle right",
    textfont: { size: 10, color: palette.text },
    hovertext: seen.map((mark) => `${clockText(mark.time_s, 2)} ${mark.name}, by the agent's log`),
    hoverinfo: "text",
  };
}

/** The stages of answers by the agent's log, below the gap that they split; the later, the stronger. */
function stages(data, { from, to, secondsPerPx }) {
  const seen = data.stages.filter((stage) => stage.end_s >= from && stage.start_s <= to);
  return {
    type: "bar",
    orientation: "h",
    base: seen.map((stage) => stage.start_s),
    x: seen.map((stage) => Math.max(length(stage), secondsPerPx)),
    y: seen.map(() => STAGE_ROW),
    width: STAGE_HEIGHT,
    marker: { color: seen.map((stage) => faded(palette.b, stage.depth)), line: { width: 1, color: palette.surface } },
    hovertext: seen.map((stage) => `${stage.name}: ${Math.round(1000 * length(stage))} ms, by the agent's log`),
    hoverinfo: "text",
  };
}

/** Calls of tools: bars at the lower edge of the plot, named where there is room for the name. */
function called(data, { from, to, secondsPerPx }) {
  const seen = data.toolCalls.filter((call) => call.end_s >= from && call.start_s <= to);
  const lengths = seen.map((call) => Math.max(call.end_s - call.start_s, 2 * secondsPerPx));
  const text = (call) => `${call.side} calls ${call.name}: ${call.status} after ${seconds(call.end_s - call.start_s)}`;
  return {
    ...NAMED_BARS,
    base: seen.map((call) => call.start_s),
    x: lengths,
    y: seen.map((call) => CALL_ROWS[call.row]),
    width: CALL_HEIGHT,
    marker: {
      color: palette.surface,
      line: { width: 1, color: palette.text },
      pattern: { shape: seen.map((call) => (call.status === "ok" ? "" : "/")), fgcolor: palette.line, size: 9 },
    },
    text: seen.map(({ label }, index) => nameThatFits(label, lengths[index] / secondsPerPx)),
    insidetextfont: { size: 10, color: palette.text },
    hovertext: seen.map((call) => `${clockText(call.start_s, 2)} ${text(call)}`),
  };
}

/** The labels that people gave, outside the lane of their side; a moment is a thin line. */
function labels(data, { from, to, secondsPerPx }) {
  const seen = data.labels.filter((each) => each.end_s >= from && each.start_s <= to);
  const lengths = seen.map((each) => each.end_s - each.start_s);
  const names = seen.map((each) => each.kind.replaceAll("_", " "));
  const when = (each) => `${clockText(each.start_s, 2)}${each.end_s > each.start_s ? ` to ${clockText(each.end_s, 2)}` : ""}`;
  return {
    ...NAMED_BARS,
    base: seen.map((each) => each.start_s),
    x: lengths.map((length) => Math.max(length, 2 * secondsPerPx)),
    y: seen.map((each) => LABEL_ROWS[each.side]),
    width: LABEL_HEIGHT,
    marker: { color: palette.surface, line: { width: 1, color: seen.map((each) => sideColour(each.side)) } },
    text: names.map((name, index) => nameThatFits(name, lengths[index] / secondsPerPx)),
    insidetextfont: { size: 10, color: palette.text },
    hovertext: seen.map((each, index) => `${when(each)} ${names[index]} of ${each.side}, by the labels`),
  };
}

/** A name, if it fits into so many pixels. */
function nameThatFits(name, px) {
  return px > PX_PER_CHARACTER * name.length ? name : "";
}

function wave(data, side, { from, to, secondsPerPx }) {
  const [first, last] = [Math.floor(from * TICKS_PER_S), Math.ceil(to * TICKS_PER_S)];
  const count = (to - from) / secondsPerPx;
  const { ticks, heights } = reduceLevels(data.peaks[side], first, last, count, data.peaks.loudest);
  const times = ticks.map((tick) => tick / TICKS_PER_S);
  const x = [...times, ...times.slice().reverse()];
  const y = [...heights.map((h) => LANES[side] + h), ...heights.map((h) => LANES[side] - h).reverse()];
  return { ...FILLED, x, y, fillcolor: sideColour(side), line: { width: 0.5, color: sideColour(side) } };
}

/** The wanted events in the drawn part; of events narrower than `px`, one per stretch of that width in a row. */
function visibleEvents(events, { from, to, secondsPerPx }, px, wanted) {
  const narrow = px * secondsPerPx;
  const taken = new Set();
  return events.filter((event) => {
    if (event.end_s < from || event.start_s > to || !wanted(event)) return false;
    if (length(event) >= narrow && event.kind !== "intrusion") return true;
    const place = `${rowOf(event)} ${Math.floor(event.start_s / narrow)}`;
    const free = !taken.has(place);
    taken.add(place);
    return free;
  });
}

/** Where a side comes in: a triangle that points at the other side. */
function marks(data, side, scene) {
  const wanted = (event) => event.kind === "intrusion" && event.side === side;
  const events = visibleEvents(data.events, scene, PX_PER_MARK, wanted);
  const symbol = side === "A" ? "triangle-down" : "triangle-up";
  return {
    type: "scatter",
    mode: "markers",
    x: events.map((event) => event.start_s),
    y: events.map(rowOf),
    marker: {
      symbol: events.map((event) => (event.outcome === "taken" ? symbol : `${symbol}-open`)),
      size: 10,
      color: palette.text,
      opacity: events.map((event) => (isPale(event) ? 0.35 : 1)),
    },
    hovertext: events.map(describe),
    hoverinfo: "text",
  };
}

/** First turns, then events on or between them, then missing answers, which lie on their silence. */
function bars(data, scene) {
  const layer = (event) => ({ turn: 0, no_response: 2 })[event.kind] ?? 1;
  const events = visibleEvents(data.events, scene, PX_PER_BAR, (event) => event.kind !== "intrusion");
  events.sort((one, other) => layer(one) - layer(other));
  const looks = events.map(look);
  return {
    ...NAMED_BARS,
    base: events.map((event) => event.start_s),
    x: events.map((event) => Math.max(length(event), 2 * scene.secondsPerPx)),
    y: events.map(rowOf),
    width: ROW_HEIGHT,
    marker: {
      color: looks.map((each) => each.fill),
      opacity: events.map((event) => (isPale(event) ? 0.4 : 1)),
      line: { width: looks.map((each) => each.border), color: looks.map((each) => each.edge) },
      pattern: { shape: looks.map((each) => each.pattern), size: 9, solidity: 0.15 },
    },
    text: events.map((event) => label(event, scene.secondsPerPx)),
    insidetextfont: { size: 11, color: looks.map((each) => each.ink) },
    hovertext: events.map(describe),
  };
}

/** The height at which an event lies. */
function rowOf(event) {
  if (event.kind === "intrusion") return MARK_ROWS[event.side];
  return ["turn", "pause", "keypad"].includes(event.kind) ? TURN_ROWS[event.side] : BETWEEN_ROW;
}

/** The length of a silence or an overlap, if there is room for it. */
function label(event, secondsPerPx) {
  const fits = length(event) / secondsPerPx >= WIDEST_LABEL_PX;
  return fits && !["turn", "no_response"].includes(event.kind) ? seconds(length(event)) : "";
}

/** The look of an event's bar. */
function look(event) {
  const side = sideColour(event.side);
  const plain = { pattern: "", border: 0, edge: palette.line };
  switch (event.kind) {
    case "turn":
      return { ...plain, fill: side, ink: palette["on-side"] };
    case "pause":
      return { ...plain, fill: palette.surface, ink: palette.text, border: 1, edge: side };
    case "no_response":
      return { ...plain, fill: palette.muted, ink: palette.text, pattern: "/", border: 1, edge: palette.text };
    case "keypad":
      return { ...plain, fill: palette.surface, ink: palette.text, pattern: ".", border: 1, edge: side };
    case "gap":
      return { ...plain, fill: palette.gap, ink: palette["on-gap"] };
    default:
      return { ...plain, fill: palette.overlap, ink: palette["on-side"] };
  }
}

function timelineLayout(data, scene) {
  const { margin, width, height, marked } = scene;
  const shared = baseLayout({ margin, width, height });
  return {
    ...shared,
    barmode: "overlay",
    dragmode: "pan",
    xaxis: {
      range: scene.view,
      minallowed: 0,
      maxallowed: data.length_s,
      gridcolor: palette.line,
      zeroline: false,
      ...timeTicks(scene),
    },
    yaxis: {
      range: [-topOf(data), upperEnd(data)],
      fixedrange: true,
      showgrid: false,
      zeroline: false,
      ticks: "outside",
      ticklen: 6,
      tickcolor: "transparent",
      tickvals: [...data.remarkRows.map((_, row) => heightOfRemark(data, { row })), LANES.A, TURN_ROWS.A, BETWEEN_ROW, TURN_ROWS.B, LANES.B],
      ticktext: [...data.remarkRows.map(({ title }) => title), ...rowNames(data, width < SMALL_PX)],
    },
    shapes: marked ? [markShape(marked)] : [],
  };
}

function rowNames(data, small) {
  const named = (side) => `<b style="color:${sideColour(side)}">${side}</b>`;
  if (small) return [named("A"), "turns", "floor", "turns", named("B")];
  const lane = (side) => `${named(side)} ${data.heard[side]}`;
  return [lane("A"), "A's turns", "between", "B's turns", lane("B")];
}

function markShape([x0, x1]) {
  const fillcolor = faded(palette.mark, 0.18);
  return { type: "rect", layer: "below", yref: "paper", x0, x1, y0: 0, y1: 1, fillcolor, line: { color: palette.mark, width: 2 } };
}

/** Ticks at round times. */
function timeTicks({ from, to, secondsPerPx }) {
  const step = TICK_STEPS_S.find((each) => each / secondsPerPx >= PX_PER_TICK) ?? TICK_STEPS_S[TICK_STEPS_S.length - 1];
  const tickvals = [];
  for (let n = Math.ceil(from / step); n * step <= to; n++) tickvals.push(n * step);
  return { tickvals, ticktext: tickvals.map((time) => clockText(time, step < 1 ? 1 : 0)) };
}
