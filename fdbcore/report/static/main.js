// Connects the parts: audio, timeline, overview, curve, keyboard, and links to a time.

const PREROLL_S = 1;
const LINK_VIEW_S = 10;
const FIRST_VIEW_PX_PER_S = 8;
const LIST = "moments=";

async function main() {
  const content = readDocument();
  if (!content.recording.n_ticks) return;
  const events = floorEvents(content.events);
  const remarkRows = readRemarks();
  const data = {
    length_s: content.recording.length_s,
    peaks: readPeaks(),
    speech: { A: speechOf("A", content.events), B: speechOf("B", content.events) },
    overlaps: overlapSpans(events),
    events,
    moments: content.moments,
    lists: { ...readLists(), ...remarkLists(remarkRows) },
    logged: content.marks?.marks ?? [],
    stages: stagesOf(content.marks?.answers ?? []),
    toolCalls: toolCalls(content.held?.tools?.calls ?? [], content.recording.n_ticks),
    labels: content.labels?.labels ?? [],
    remarkRows,
    leftOut: [...(content.recording.left_out ?? []), ...mutedSpans(content.held)],
    ...disturbances(content.held),
    heard: JSON.parse(document.body.dataset.heard),
  };
  await new Page(content, data).start();
}

/**
 * Calls of tools as spans that end with the result, or with the recording: in the first row that is free, or without a
 * name where none is.
 */
function toolCalls(calls, n_ticks) {
  const free_s = CALL_ROWS.map(() => 0);
  return calls.map((call) => {
    const [start_s, end_s] = [call.begun_tick, call.end_tick ?? n_ticks].map((tick) => tick / TICKS_PER_S);
    const free = free_s.findIndex((each) => each <= start_s);
    const row = Math.max(free, 0);
    free_s[row] = Math.max(free_s[row], end_s);
    return { ...call, start_s, end_s, row, label: free < 0 ? "" : call.name };
  });
}

/** The time at the start in which a side was muted, as what is left out. */
function mutedSpans(held) {
  return (held?.muted ?? []).map(({ side, from_tick, to_tick }) => ({
    start_s: from_tick / TICKS_PER_S,
    end_s: to_tick / TICKS_PER_S,
    text: `${side} is muted, and no figure counts this time`,
  }));
}

/** Missed ticks, as [start_s, end_s], and changes of the delay of a side. */
function disturbances(held) {
  const missed = (held?.missed ?? []).map((span) => span.map((tick) => tick / TICKS_PER_S));
  const delays = Object.entries(held?.timing?.sides ?? {}).flatMap(([side, measured]) =>
    (measured.delay_changes ?? []).filter((change) => change.why !== "anchor").map((change) => ({
      side,
      time: change.tick / TICKS_PER_S,
      text: `${side} is delayed by ${(change.delay_samples / SAMPLES_PER_MS).toFixed(1)} ms from here on (${change.why}).`,
    })),
  );
  return { missed, delays };
}

/** Where both speak, and neither is echo. */
function overlapSpans(events) {
  return events.flatMap((event) => {
    if (event.suspect) return [];
    if (event.kind === "overlap_within") return [[event.start_s, event.end_s]];
    return (event.stretches ?? []).map((stretch) => stretch.map((tick) => tick / TICKS_PER_S));
  });
}

class Page {
  constructor(content, data) {
    this.content = content;
    this.data = data;
    this.selected = null;
    this.list = null;
    this.audio = document.getElementById("audio");
    const sound = containedAudio();
    if (sound) this.audio.src = sound;
    this.kind = document.getElementById("kind");
    this.listed = new MomentList(document.getElementById("listed"));
    this.overview = new Overview(document.getElementById("overview"), data, (time) => this.centre(time));
    this.timeline = new Timeline(document.getElementById("timeline"), data, {
      onSeek: (time) => this.seek(time),
      onSelect: (found) => this.hear(found),
      onView: () => this.overview.showWindow(this.timeline.view),
    });
  }

  async start() {
    readPalette();
    const firstView = document.getElementById("timeline").clientWidth / FIRST_VIEW_PX_PER_S;
    this.timeline.view = [0, Math.min(this.data.length_s, firstView)];
    this.listKinds();
    this.openLink(false);
    await this.timeline.start();
    this.overview.draw();
    this.drawCurve();
    this.showTime();
    this.listen();
  }

  listKinds() {
    document.getElementById("legend-marks").hidden = !this.data.logged.length;
    document.getElementById("legend-stages").hidden = !this.data.stages.length;
    document.getElementById("legend-tools").hidden = !this.data.toolCalls.length;
    document.getElementById("legend-labels").hidden = !this.data.labels.length;
    document.getElementById("legend-left-out").hidden = !this.data.leftOut.length;
    document.getElementById("legend-missed").hidden = !this.data.missed.length;
    document.getElementById("legend-delay").hidden = !this.data.delays.length;
    const present = new Set(this.data.events.map((event) => event.kind));
    this.kind.add(new Option("every event", ""));
    for (const [kind, name] of Object.entries(KIND_NAMES)) if (present.has(kind)) this.kind.add(new Option(name, kind));
    const lists = [...Object.keys(remarkLists(this.data.remarkRows)), ...new Set(this.data.moments.map((moment) => moment.kind))];
    for (const address of lists) this.offerList(listAt(this.data.lists, address));
  }

  /** A list of moments among the events to step through. */
  offerList({ title, address }) {
    const value = `${LIST}${address}`;
    if (![...this.kind.options].some((option) => option.value === value)) this.kind.add(new Option(title, value));
    return value;
  }

  listen() {
    const click = (id, action) => document.getElementById(id).addEventListener("click", action);
    click("zoom-in", () => this.timeline.zoom(0.5, this.focus()));
    click("zoom-out", () => this.timeline.zoom(2, this.focus()));
    click("fit", () => this.timeline.show(0, this.data.length_s));
    click("previous", () => this.step(-1));
    click("next", () => this.step(1));
    click("close-list", () => this.choose(""));
    this.kind.addEventListener("change", () => this.choose(this.kind.value));
    this.audio.addEventListener("play", () => this.followAudio());
    this.audio.addEventListener("seeked", () => this.showTime());
    this.audio.addEventListener("error", () => this.noteMissingAudio());
    if (this.audio.error) this.noteMissingAudio();
    const { files } = this.audio.dataset;
    if (files) playTwoFiles(this.audio, files.split(" "), this.data.length_s);
    window.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.openLink(true));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.timeline.root);
    document.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#t="], a[href^="#moments="]');
      if (link && link.hash === location.hash) this.openLink(true);
    });
  }

  noteMissingAudio() {
    document.getElementById("audio-note").hidden = false;
  }

  redraw() {
    readPalette();
    this.timeline.redraw();
    this.overview.draw();
    this.drawCurve();
  }

  drawCurve() {
    const root = document.getElementById("curve");
    if (root) drawCurve(root, this.content.curves.response);
  }

  /** The time around which to zoom: the marked span if it is visible, else the playhead, else the middle. */
  focus() {
    const [from, to] = this.timeline.view;
    const places = [this.timeline.marked?.[0], this.audio.currentTime, (from + to) / 2];
    return places.find((time) => time !== undefined && time >= from && time <= to);
  }

  centre(time) {
    const half = (this.timeline.view[1] - this.timeline.view[0]) / 2;
    this.timeline.show(time - half, time + half);
  }

  /** Move the playhead with the sound, frame by frame, until it stops. */
  followAudio() {
    this.showTime();
    if (!this.audio.paused && !this.audio.ended) requestAnimationFrame(() => this.followAudio());
  }

  showTime() {
    this.timeline.setTime(this.audio.currentTime, !this.audio.paused);
    this.overview.setTime(this.audio.currentTime);
  }

  seek(time) {
    this.selected = null;
    this.listed.mark(null);
    this.audio.currentTime = time;
    this.setHash(time);
    this.showTime();
  }

  /** Mark an event, a remark or a moment, say what it is, and play it from a second before. */
  hear(step) {
    this.selected = step;
    this.point(step.start_s, step.end_s, this.told(step));
    if (step.start_s < this.timeline.view[0] || step.start_s > this.timeline.view[1]) this.centre(step.start_s);
    this.setHash(step.start_s);
    this.playFrom(step.start_s);
  }

  /** What an event is in words; what is listed of a moment, and the event that it is. */
  told(step) {
    if (step.kind in KIND_NAMES) return describe(step);
    if (step.told) return step.told;
    const event = this.eventAt(step);
    if (!event) return `${step.text}.`;
    return step.text.endsWith(seconds(length(step))) ? describe(event) : `${step.text}. ${describe(event)}`;
  }

  eventAt({ start_s: start, end_s: end }) {
    const isNear = (one, other) => Math.abs(one - other) < 0.5 / TICKS_PER_S;
    return this.data.events.find((event) => isNear(event.start_s, start) && isNear(event.end_s, end));
  }

  /** Open the list with an address, or close it with null; false if there is no such list. */
  openList(address) {
    this.list = address === null ? null : listAt(this.data.lists, address);
    this.listed.show(this.list);
    if (this.list) this.kind.value = this.offerList(this.list);
    else if (this.kind.value.startsWith(LIST)) this.kind.value = "";
    this.overview.show(this.list?.moments ?? null);
    return this.list !== null;
  }

  /** Step through what was chosen: a kind of events, or a list of moments. */
  choose(value) {
    if (value.startsWith(LIST)) {
      this.openList(value.slice(LIST.length));
      history.replaceState(null, "", momentLink(this.list.address, null));
      return;
    }
    if (!this.list) return;
    this.openList(null);
    this.kind.value = value;
    this.setHash(this.selected?.start_s ?? this.audio.currentTime);
  }

  point(from, to, text) {
    this.timeline.mark([from, to]);
    this.listed.mark(this.selected);
    const detail = document.getElementById("detail");
    const time = document.createElement("b");
    time.textContent = clockText(from, 2);
    detail.replaceChildren(time, ` ${text} `, copyButton(momentLink(this.list?.address, from), text));
  }

  playFrom(time) {
    this.audio.currentTime = Math.max(0, time - PREROLL_S);
    this.audio.play().catch(() => this.showTime());
  }

  /** What the arrow keys step through: the moments of the open list, or the events of the chosen kind. */
  get steps() {
    if (this.list) return this.list.moments;
    return this.data.events.filter((event) => !this.kind.value || event.kind === this.kind.value);
  }

  step(by) {
    const steps = this.steps;
    const at = steps.indexOf(this.selected);
    const next = steps[at < 0 ? this.nearest(steps, by) : at + by];
    if (next) this.hear(next);
  }

  /** The first step after what is selected, or from the playhead on; or the last one before it. */
  nearest(steps, by) {
    const isAhead = this.selected ? ({ start_s: start }) => start > this.selected.start_s : ({ start_s: start }) => start >= this.audio.currentTime;
    if (by > 0) return steps.findIndex(isAhead);
    return steps.findLastIndex((step) => !isAhead(step) && step.start_s !== this.selected?.start_s);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, button, audio, summary")) return;
    const actions = {
      " ": () => (this.audio.paused ? this.audio.play() : this.audio.pause()),
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      "+": () => this.timeline.zoom(0.5, this.focus()),
      "-": () => this.timeline.zoom(2, this.focus()),
    };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  setHash(time) {
    history.replaceState(null, "", momentLink(this.list?.address, time));
  }

  /** Go to the list and the time in the address: zoom in, mark what happens there, and play it if the address says so. */
  openLink(play) {
    const link = new URLSearchParams(location.hash.slice(1));
    const isListed = this.openList(link.get("moments"));
    const time = link.has("t") ? Number(link.get("t")) : NaN;
    const isTime = time >= 0 && time <= this.data.length_s;
    if (!isListed && !isTime) return;
    document.getElementById("timeline-section").scrollIntoView();
    if (isTime) this.goTo(time, play);
  }

  goTo(time, play) {
    const here = (each) => Math.abs(each.start_s - time) < 0.5 / TICKS_PER_S;
    const moment = (this.list?.moments ?? this.data.moments).find(here);
    const step = moment ?? this.data.events.find(here);
    this.selected = (moment && !this.list ? this.eventAt(moment) : step) ?? null;
    this.timeline.show(time - LINK_VIEW_S, time + LINK_VIEW_S);
    this.point(time, step?.end_s ?? time, step ? this.told(step) : "linked time");
    if (play) this.playFrom(time);
    else this.audio.currentTime = Math.max(0, time - PREROLL_S);
    this.showTime();
  }
}

main().then(
  () => (document.documentElement.dataset.drawn = "yes"),
  (error) => {
    document.documentElement.dataset.failed = String(error);
    throw error;
  },
);
