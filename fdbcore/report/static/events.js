// Turn events: their spans, their words, and which of them to draw.

const KIND_NAMES = {
  turn: "turns",
  gap: "gaps",
  pause: "pauses",
  overlap_between: "overlaps at a change of turn",
  overlap_within: "overlaps inside a turn",
  intrusion: "coming in over a turn",
  no_response: "no response",
  keypad: "keypad entries",
};

/** The speech of a side as [start_s, end_s], without echo of the other side. */
function speechOf(side, events) {
  return events
    .filter((event) => event.kind === "speech_end" && event.side === side && !event.suspect)
    .map((event) => [event.start_s, event.end_s]);
}

/**
 * All events but the bare starts and ends of speech, by start; one that was still open ends with its speech. A pause that
 * counts as unanswered is also B's missing answer.
 */
function floorEvents(events) {
  const ends = new Map();
  for (const event of [...events].sort((one, other) => Boolean(other.suspect) - Boolean(one.suspect))) {
    if (event.kind === "speech_end") ends.set(event.side + event.start_tick, event.end_s);
  }
  return events
    .filter((event) => event.kind in KIND_NAMES)
    .map((event) => ({ ...event, end_s: event.end_s ?? ends.get(event.side + event.start_tick) }))
    .flatMap((event) => (event.unanswered ? [{ ...event, kind: "no_response", side: "B" }, event] : [event]))
    .sort((one, other) => one.start_s - other.start_s || one.end_s - other.end_s);
}

/** The stages of each answer as the log has its events: { name, start_s, end_s, depth }, from 0 to 1 the later. */
function stagesOf(answers) {
  return answers.flatMap(({ a_end_s, b_onset_s, events_ms }) => {
    const events = Object.entries(events_ms).map(([event, ms]) => [event, a_end_s + ms / 1000]);
    const points = [["A's end", a_end_s], ...events.sort((one, other) => one[1] - other[1]), ["B's onset", b_onset_s]];
    if (points.length < 3) return [];
    return points.slice(1).flatMap(([end, end_s], index) => {
      const [start, start_s] = points[index];
      return end_s > start_s ? [{ name: `${start} to ${end}`, start_s, end_s, depth: (index + 1) / (points.length - 1) }] : [];
    });
  });
}

/** Whether no figure counts an event: the end of the recording decided it, or only echo makes it. */
function isPale(event) {
  return event.censored || Boolean(event.suspect);
}

function length(event) {
  return event.end_s - event.start_s;
}

function seconds(value) {
  return `${value.toFixed(2)} s`;
}

/** One sentence that says what an event is. */
function describe(event) {
  const side = event.side;
  const other = side === "A" ? "B" : "A";
  const lasting = seconds(length(event));
  const sentences = {
    turn: () => `${side} holds the floor for ${lasting}.`,
    gap: () => `${other} has finished, and ${side} takes the floor after a gap of ${lasting}.`,
    pause: () => `${side} pauses for ${lasting} inside its turn${event.other_spoke ? `; ${other} speaks in it` : ""}.`,
    overlap_between: () => `${side} begins ${lasting} before ${other} has finished, and gets the floor.`,
    overlap_within: () => `${side} talks over ${other} for ${lasting}; ${other} keeps the floor.`,
    no_response: () =>
      event.censored
        ? `${other}'s last turn: ${(other === "A" && document.body.dataset.lastTurn) || `unanswered by ${side}, or hung up`}. Not counted.`
        : `${side} does not answer within ${lasting}${event.unanswered ? `; ${other} goes on by itself` : ""}.`,
    keypad: () => `${side} dials for ${lasting}: no speech, and in no figure.`,
    intrusion: () => describeIntrusion(event, side, other, lasting),
  };
  const uncounted = event.censored && event.kind !== "no_response" ? " Decided only by the end of the recording: not counted." : "";
  const suspect = event.suspect ? " Suspect: only echo makes it, and no figure counts it." : "";
  return sentences[event.kind]() + suspect + uncounted;
}

function describeIntrusion(event, side, other, lasting) {
  const where = event.onset === "overlap" ? `while ${other} speaks` : `in a pause of ${other}`;
  const outcome = event.outcome === "taken" ? `and gets the floor` : `and ${other} keeps the floor`;
  const parts = [`${side} comes in ${where}, speaks for ${lasting}, ${outcome}`];
  if (event.stop_ticks !== null) parts.push(`${other} falls silent ${seconds(event.stop_ticks / TICKS_PER_S)} later`);
  if (event.simultaneous) parts.push("both had started together");
  if (event.terminal) parts.push(`${other} was just ending`);
  return parts.join("; ") + ".";
}

/** The spans that touch [from, to). Spans less than `apart` from the one before are joined to it. */
function visibleSpans(spans, from, to, apart) {
  const visible = [];
  for (const [start, end] of spans) {
    if (end < from || start > to) continue;
    const last = visible[visible.length - 1];
    if (last && start - last[1] < apart) last[1] = Math.max(last[1], end);
    else visible.push([start, end]);
  }
  return visible;
}
