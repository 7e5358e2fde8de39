"""The words of a live call, as its parties tell them: their own, and what they heard of their partner."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Annotated, Any, Final, NotRequired, TypeAlias, TypedDict, TypeGuard

from msgspec import Meta

from fdbcore.measures.labelled import unlabelled
from fdbcore.measures.reading import Reading
from fdbcore.recording.reader import Recording
from fdbcore.types import FRAME_SAMPLES, SIDES, TICK_MS, TICKS_PER_S, Side, Span, other_side
from fdbcore.types.system_events import INTERRUPTED, ITEM, SYSTEM_TURN, TRANSCRIPT
from fdbcore.types.units import Count, Tick

LINE_START: Final = "line_start"
LINE_END: Final = "line_end"
TEXT: Final = "text"
"""The kind of event in which Moshi tells its words, piece by piece, and the name of that of a system of one's own."""

_TIMES: Final = ("start_ms", "end_ms")

_LineSpan: TypeAlias = tuple[int, int | None]
"""The start of a line, and its end; None if that is not known. In ticks."""

LEAST_TICKS: Final = TICKS_PER_S // 5
"""Speech beside that of a text with times which is shorter is of this text too."""

JOINED_TICKS: Final = TICKS_PER_S
"""Pieces that belong to no item are one line if at most so much time lies between them."""


class HeldCut(TypedDict):
    """The part that was heard of a line that was cut short."""

    heard_ms: Count
    said_ms: Annotated[Count | None, Meta(description="how much of it had come by then; null if that is not known")]


class HeldLine(TypedDict):
    """Words that one side said, as a party tells them."""

    side: Annotated[Side, Meta(description="who said them")]
    told_by: Annotated[Side, Meta(description="the side itself, or the other one, which heard them so")]
    text: str
    start_tick: Annotated[Tick, Meta(description="as the party states it, or else by what was heard")]
    end_tick: Annotated[Tick | None, Meta(description="null if it is not known")]
    cut: NotRequired[Annotated[HeldCut, Meta(description="missing unless it was cut short")]]


def transcript(reading: Reading) -> list[HeldLine]:
    """The lines of both sides by their start; none if nobody told any words.

    A line stands where its party says that it was spoken. If the party does not say so, a line of its own stands where
    its audio was heard, and what it heard stands at the partner's speech that ended since the line before.
    """
    tellers = (_scripted, _told, _own_texts)
    found = [line for side in SIDES for teller in tellers for line in teller(reading, side)]
    return sorted(found, key=lambda line: (line["start_tick"], line["told_by"] != line["side"]))


def _scripted(recording: Recording, side: Side) -> Iterator[HeldLine]:
    """The lines that a scripted party began to say."""
    party = (recording.original_meta.get("parties") or {}).get(side) or {}
    if party.get("kind") != "scripted":
        return
    events = [event for event in recording.events if event["side"] == side and event["kind"] in (LINE_START, LINE_END)]
    for number, event in enumerate(events):
        text = party["lines"][event["line"] - 1].get("say")
        if event["kind"] == LINE_END or not text:
            continue
        end = next(iter(events[number + 1 :]), None)
        cut: HeldCut | None = None
        if end and end["stopped"]:
            cut = {"heard_ms": (end["tick"] - event["tick"]) * TICK_MS, "said_ms": None}
        yield _held_line(side, side, text, (event["tick"], end["tick"] if end else None), cut)


def _held_line(side: Side, told_by: Side, text: str, span: _LineSpan, cut: HeldCut | None = None) -> HeldLine:
    line: HeldLine = {"side": side, "told_by": told_by, "text": text, "start_tick": span[0], "end_tick": span[1]}
    if cut is not None:
        line["cut"] = cut
    return line


@dataclass
class _Line:
    """A line in the making: its pieces, and the ticks at which the first and the last of them were told.

    start_ms, end_ms: where the party says that it was spoken; None if it does not say.
    """

    item: str | None
    text: str
    told_tick: int
    last_tick: int
    start_ms: float | None = None
    end_ms: float | None = None

    def add(self, text: str, tick: int, end_ms: float | None) -> None:
        """Add a piece. A text that begins with all that is known is a later form of it."""
        if self.item is None:
            self.text += text
        else:
            self.text = text if text.startswith(self.text) else f"{self.text} {text}"
        self.last_tick, self.end_ms = tick, end_ms


def _told(recording: Recording, side: Side) -> Iterator[HeldLine]:
    """The lines that a party told of its own words, and of those that it heard."""
    events = sorted((event for event in recording.events if event["side"] == side), key=lambda event: event["tick"])
    if not any(event["kind"] in (TRANSCRIPT, TEXT) for event in events):
        return
    own, heard = _lines(events)
    for speaker, lines in ((side, own), (other_side(side), heard)):
        places = _Places(recording, events, speaker, is_own=speaker == side)
        for line in lines:
            if text := line.text.strip():
                _, cut = places.cuts.get(line.item, (0, None))
                yield _held_line(speaker, side, text, places.of(line), cut)


def _own_texts(reading: Reading, side: Side) -> Iterator[HeldLine]:
    """The words of a system of one's own, as its `text` events tell, over a WebSocket or as a command.

    A text that does not state its start belongs to the turn of its side that lies nearest to when it was told.
    """
    texts = [(event["tick"], event["data"]) for event in _text_events(reading, side) if _is_text(event["data"])]
    texts.sort(key=lambda text: text[0])
    stated = [_stated_span(reading, told) for _, told in texts]
    untimed = {tick for (tick, _), span in zip(texts, stated, strict=True) if span is None}
    timed = [span for (_, told), span in zip(texts, stated, strict=True) if span and told["text"].strip()]
    places = _untimed_places(reading, side, untimed, sorted(timed, key=lambda span: span[0]))
    found: dict[_LineSpan, str] = {}
    for (tick, told), span in zip(texts, stated, strict=True):
        place = span or places[tick]
        found[place] = _joined(found.get(place, ""), told["text"])
    for span, text in found.items():
        if text := text.strip():
            yield _held_line(side, side, text, span)


def _untimed_places(
    reading: Reading, side: Side, ticks: Set[int], stated: Sequence[_LineSpan]
) -> Mapping[int, _LineSpan]:
    """The places of texts without times that were told in these ticks. stated: the spans of texts with times, in order.

    In a turn of several parts, a text takes those since the text before, and the last text takes all that are left.
    """
    turns = _turns_in_parts(reading, side) if ticks else []
    parts = [part for turn in turns for part in turn]
    ipus: list[Span] = [(start, end) for start, end in reading.dialogue.ipus[side].tolist()] if ticks else []
    taken = {(start, _end_in(parts, start) if end is None else end): (start, end) for start, end in stated}
    runs = [run for turn in turns for run in _untaken(turn, ipus, list(taken))]
    free = [part for run in runs for part in run]
    heard = [tick for tick in ticks if free and tick >= reading.dialogue.muted_ticks]
    nearest = {tick: min(free, key=lambda part: max(part[0] - tick, tick - part[1], 0)) for tick in heard}
    spans = {part: span for run in runs for part, span in _shared(run, set(nearest.values()))}
    places = {tick: taken.get(spans[part], spans[part]) for tick, part in nearest.items()}
    return {tick: places.get(tick, (tick, None)) for tick in ticks}


def _shared(run: Sequence[Span], told: Set[Span]) -> Iterator[tuple[Span, Span]]:
    """Each part of a turn in which a text was told, with the span of all parts that this text takes."""
    own = [number for number, part in enumerate(run) if part in told]
    bounds = pairwise([0, *(number + 1 for number in own[:-1]), len(run)])
    for number, (first, bound) in zip(own, bounds, strict=False):
        yield run[number], (run[first][0], run[bound - 1][1])


def _turns_in_parts(reading: Reading, side: Side) -> list[list[Span]]:
    """The turns of a side, and what it says without the floor, each in the parts that one text may tell.

    A silence in which the other side says nothing but labelled backchannels parts a turn, and does not end it.
    """
    other = other_side(side)
    known = reading.labels.of(other, "backchannel") if reading.labels else []
    others = unlabelled(reading.dialogue.ipus[other], known)
    turns: list[list[Span]] = []
    for part in sorted([*reading.dialogue.held(side), *reading.dialogue.asides(side)]):
        if turns and not any(start < part[0] and turns[-1][-1][1] < end for start, end in others):
            turns[-1].append(part)
        else:
            turns.append([part])
    return turns


def _end_in(parts: Sequence[Span], start_tick: int) -> int:
    """The end of the speech that a text without an end takes: with the part of a turn that it begins in or before."""
    return next((end for _, end in parts if end > start_tick), start_tick)


def _untaken(turn: Sequence[Span], ipus: Sequence[Span], taken: Sequence[Span]) -> list[list[Span]]:
    """The speech that texts with times leave of the parts of a turn, in a list from each such text to the next.

    If they leave none, it is their own speech. taken: the spans of these texts, in order.
    """
    runs: list[list[Span]] = []
    within = [span for span in taken if span[0] < turn[-1][1] and turn[0][0] < span[1]]
    ends = accumulate((end for _, end in within), max)
    for first, bound in zip([0, *ends], [*(start for start, _ in within), turn[-1][1]], strict=True):
        runs.append([])
        for part in turn:
            own = [ipu for ipu in ipus if part[0] <= ipu[0] < part[1]]
            cut = [(max(start, first), min(end, bound), min(end - start, LEAST_TICKS)) for start, end in own]
            if left := [(start, end) for start, end, least_ticks in cut if end - start >= least_ticks]:
                runs[-1].append((left[0][0], left[-1][1]))
    return list(filter(None, runs)) or [[span] for span in within]


def odd_texts(recording: Recording, side: Side) -> list[Any]:
    """Odd `text` events of a system of one's own: without a text, or with times that are no numbers or in no order."""
    found = [event.get("data") for event in _text_events(recording, side)]
    return [
        told
        for told in found
        if not _is_text(told) or not all(map(_is_time, map(told.get, _TIMES))) or _is_reversed(told)
    ]


def _text_events(recording: Recording, side: Side) -> list[Mapping[str, Any]]:
    events = [event for event in recording.events if event["side"] == side and event["kind"] == "event"]
    return [event for event in events if event.get("name") == TEXT]


def _is_text(told: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(told, Mapping) and isinstance(told.get("text"), str)


def _is_time(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _is_reversed(told: Mapping[str, Any]) -> bool:
    """True if a text states an end before its start."""
    times: list[Any] = [told.get(name) for name in _TIMES]
    return None not in times and all(map(_is_time, times)) and times[1] < times[0]


def _stated_span(recording: Recording, told: Mapping[str, Any]) -> _LineSpan | None:
    """The ticks in which a system says that a text lies; None without a start. An end before the start is none."""
    start_tick = _stated(recording, told, "start_ms")
    if start_tick is None:
        return None
    return start_tick, None if _is_reversed(told) else _stated(recording, told, "end_ms")


def _stated(recording: Recording, told: Mapping[str, Any], name: str) -> int | None:
    """A time within the session, in ticks; None if a system does not state it."""
    ms = told.get(name)
    if ms is None or not _is_time(ms):
        return None
    return _tick(min(max(ms, 0), max(recording.n_ticks - 1, 0) * TICK_MS))


def _joined(text: str, piece: str) -> str:
    """Pieces in a row as they are, with a space where a sentence would stick to the one before."""
    return f"{text} {piece}" if text.endswith((".", "?", "!")) and piece[:1].isalpha() else text + piece


def _lines(events: Sequence[Mapping[str, Any]]) -> tuple[list[_Line], list[_Line]]:
    """The party's own lines, and those of its partner."""
    found: dict[str, list[_Line]] = {"self": [], "partner": []}
    for event in events:
        if event["kind"] not in (TRANSCRIPT, TEXT) or not isinstance(event.get("text"), str):
            continue
        lines = found[event.get("of", "self")]
        item, tick = event.get("item"), event["tick"]
        start_ms, end_ms = event.get("start_ms"), event.get("end_ms")
        if item is not None:
            same = next((line for line in lines if line.item == item), None)
        else:
            same = lines[-1] if lines and _goes_on(lines[-1], tick, start_ms) else None
        if same is not None:
            same.add(event["text"], tick, end_ms)
        else:
            lines.append(_Line(item, event["text"], tick, tick, start_ms, end_ms))
    return found["self"], found["partner"]


def _goes_on(line: _Line, tick: int, start_ms: float | None) -> bool:
    """True if a piece without an item belongs to a line."""
    if start_ms is not None and line.end_ms is not None:
        return start_ms - line.end_ms <= JOINED_TICKS * TICK_MS
    return tick - line.last_tick <= JOINED_TICKS


@dataclass
class _Places:
    """The places of a speaker's lines that one party tells. is_own: whether the party is the speaker.

    cuts: of each item that was cut, when, and how much of it was heard.
    """

    recording: Recording
    events: Sequence[Mapping[str, Any]]
    speaker: Side
    is_own: bool
    cuts: dict[str | None, tuple[int, HeldCut]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._wholes: dict[str, tuple[int, int]] = {}  # the span of each item that was heard to its end
        self._turns: dict[tuple[str, str], int] = {}
        self._last_tick = 0  # the end of the line before
        for event in self.events if self.is_own else ():
            if event["kind"] == ITEM:
                end_tick = event["tick"] + 1
                self._wholes[event["item"]] = (end_tick - event["said_samples"] // FRAME_SAMPLES, end_tick)
            elif event["kind"] == INTERRUPTED:
                cut: HeldCut = {"heard_ms": event["heard_ms"], "said_ms": event["said_ms"]}
                self.cuts[event["item"]] = (event["tick"], cut)
        for event in () if self.is_own else self.events:
            if event["kind"] == SYSTEM_TURN and "item" in event and "at_ms" in event:
                self._turns[event["item"], event["name"]] = _tick(event["at_ms"])
        self._speech = [
            (event.start_tick, event.end_tick)
            for event in self.recording.turn_events
            if event.kind == "speech_end" and event.side == self.speaker and event.end_tick is not None
        ]

    def of(self, line: _Line) -> tuple[int, int | None]:
        """The first tick of a line, and the one after its last; None if that is not known."""
        start_tick, end_tick = self._place(line)
        start_tick = min(max(start_tick, 0), max(self.recording.n_ticks - 1, 0))
        if end_tick is not None:
            end_tick = max(start_tick, end_tick)
        self._last_tick = start_tick if end_tick is None else end_tick
        return start_tick, end_tick

    def _place(self, line: _Line) -> tuple[int, int | None]:
        if line.start_ms is not None:
            return _tick(line.start_ms), None if line.end_ms is None else _tick(line.end_ms)
        if self.is_own and line.item is None:
            return line.told_tick, None
        if (turn := self._turns.get((line.item or "", "speech_started"))) is not None:
            return turn, self._turns.get((line.item or "", "speech_stopped"))
        if line.item in self._wholes:
            return self._within(line, *self._wholes[line.item])
        if line.item in self.cuts:
            cut_tick, cut = self.cuts[line.item]
            return self._within(line, cut_tick - cut["heard_ms"] // TICK_MS, cut_tick)
        return self._by_speech(line)

    def _within(self, line: _Line, start_tick: int, end_tick: int) -> tuple[int, int]:
        """Gaps in the audio of an item put its start before what its length says: then words came first."""
        return max(self._last_tick, min(start_tick, line.told_tick)), end_tick

    def _by_speech(self, line: _Line) -> tuple[int, int | None]:
        """The speaker's speech since the line before that had begun when this one was told."""
        since = [span for span in self._speech if self._last_tick <= span[0] <= line.last_tick]
        over = [span for span in since if span[1] <= line.last_tick]
        if not since:
            return line.told_tick, None
        return since[0][0], (over or since)[-1][1]


def _tick(ms: float) -> int:
    return round(ms / TICK_MS)
