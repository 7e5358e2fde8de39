// A suite's remarks on spans of the call: bars in rows of their own at the top of the timeline, and lists to step through.

const REMARK_PITCH = 0.6;
const REMARK_HEIGHT = 0.42;

/** The rows of remarks: { title, remarks }, each remark with what is told of it. */
function readRemarks() {
  return JSON.parse(document.getElementById("remarks").textContent).map(({ title, remarks }, row) => ({
    title,
    remarks: remarks.map(({ start_tick, end_tick, name, text, lines, is_fault: isFault }) => ({
      row,
      start_s: start_tick / TICKS_PER_S,
      end_s: end_tick / TICKS_PER_S,
      name,
      text,
      told: [text, ...lines].join(" · "),
      isFault,
    })),
  }));
}

/** The rows as lists of moments, by their addresses. */
function remarkLists(rows) {
  return Object.fromEntries(rows.map(({ title, remarks }, row) => [`remarks${row}`, { title, moments: remarks }]));
}

/** Where the timeline ends at the top: above the rows. */
function upperEnd(data) {
  return topOf(data) + REMARK_PITCH * data.remarkRows.length;
}

function heightOfRemark(data, { row }) {
  return upperEnd(data) - REMARK_PITCH * (row + 0.5);
}

/** The remarks as bars, named where there is room for the name. */
function remarked(data, { from, to, secondsPerPx }) {
  const seen = data.remarkRows.flatMap(({ remarks }) => remarks).filter((each) => each.end_s >= from && each.start_s <= to);
  const lengths = seen.map((each) => Math.max(length(each), 2 * secondsPerPx));
  return {
    ...NAMED_BARS,
    base: seen.map((each) => each.start_s),
    x: lengths,
    y: seen.map((each) => heightOfRemark(data, each)),
    width: REMARK_HEIGHT,
    marker: {
      color: palette.surface,
      line: { width: 1, color: palette.text },
      pattern: { shape: seen.map(({ isFault }) => (isFault ? "/" : "")), fgcolor: palette.line, size: 9 },
    },
    text: seen.map(({ name }, index) => nameThatFits(name, lengths[index] / secondsPerPx)),
    insidetextfont: { size: 10, color: palette.text },
    hovertext: seen.map((each) => `${clockText(each.start_s, 2)} ${each.text}`),
    hoverinfo: "text",
  };
}
