"""The dialogue that measures are computed from: turn events, and the inter-pausal units (IPUs) of both sides."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures.hang_up import Line, at_the_end
from fdbcore.measures.harness_delay import HarnessLegs
from fdbcore.measures.sayings import NEAR_TICKS, UserSaying
from fdbcore.recording.left_out import kept_ticks
from fdbcore.types import SIDES, TICKS_PER_S, Side, Span, TurnEvent, TurnKind, TurnSettings

Spans: TypeAlias = npt.NDArray[np.int64]
"""int64 (n, 2): half-open spans in ticks, sorted."""

NEVER_TICKS = 1 << 40
STAYS_SILENT_TICKS: Final = TICKS_PER_S
"""A side that was interrupted has stopped if it then stays silent for so long; a pause for breath may last as long."""
AHEAD_TICKS: Final = 20
"""Longest lead of an answer: who begins so shortly before the other ends answers it."""


@dataclass(frozen=True)
class Dialogue:
    """The turn events of one session, with its length in ticks and the settings of the turn detector.

    detected: the events as the turn detector found them. legs: the harness's delays to side B, if the session was live
    and its transport states them. line: whether B could answer after A's last turn. pauses: half-open spans of ticks
    that labels or a suite call a pause of A. kept: the spans of ticks that are measured, each as if it were alone (see
    `fdbcore.recording.left_out`); none for the whole session. muted_ticks: for how long from tick 0 a side was muted,
    so that what it said is not known: what begins there counts nowhere, and the time that is measured begins after it.
    given_up: ticks, each in a silence that A itself took for no answer of B, if A tells. sayings, backchannels: of A,
    likewise.
    """

    detected: Sequence[TurnEvent]
    n_ticks: int
    settings: TurnSettings
    legs: HarnessLegs | None = None
    line: Line = "closed"
    pauses: Sequence[tuple[int, int]] = ()
    kept: Sequence[Span] = ()
    muted_ticks: int = 0
    given_up: Sequence[int] = ()
    sayings: Sequence[UserSaying] = ()
    backchannels: Sequence[Span] = ()

    @cached_property
    def spans(self) -> Sequence[Span]:
        """The kept spans; one of the whole session if nothing is left out."""
        return self.kept or [(0, self.n_ticks)]

    @cached_property
    def measured_ticks(self) -> int:
        """The time that rates and shares of time are taken of: the kept spans together, without muted time."""
        return self.measured_before(self.n_ticks)

    def span_at(self, tick: int) -> Span:
        """The kept span that a tick lies in, or that ends at it."""
        within = [span for span in self.spans if span[0] <= tick <= span[1]]
        return within[-1]  # the later, if one ends and another begins there

    def line_at(self, end_tick: int) -> Line:
        """The line at a kept span's end: before the end of the session A did not hang up, so B could answer."""
        return self.line if end_tick == self.n_ticks else "held"

    def measured_before(self, tick: int) -> int:
        """The number of measured ticks before a tick."""
        return sum(max(min(end, tick) - max(start, self.muted_ticks), 0) for start, end in self.spans)

    @cached_property
    def _decided(self) -> Sequence[TurnEvent]:
        """The events of the detector, A's last turn in a span decided by the line."""
        decided: list[TurnEvent] = []
        for start, end in self.spans:
            found = [event for event in self.detected if start <= event.start_tick <= end]
            decided += at_the_end(found, end, self.settings, self.line_at(end))
        return decided

    @cached_property
    def events(self) -> Sequence[TurnEvent]:
        """The events as measures count them: as decided, and censored if they began while a side was muted."""
        if not self.muted_ticks:
            return self._decided
        return [replace(event, censored=True) if self._is_muted(event) else event for event in self._decided]

    def is_backchannel(self, end_tick: int) -> bool:
        """True if what A said until a tick was a backchannel, as it tells: it asked for no answer."""
        return any(start < end_tick <= end + NEAR_TICKS for start, end in self.backchannels)

    def is_unheard_start(self, tick: int) -> bool:
        """True if a side that begins to speak in `tick` may have begun before, while it was muted."""
        return 0 < self.muted_ticks and tick < self.muted_ticks + self.settings.ticks("min_silence_ms")

    def _is_muted(self, event: TurnEvent) -> bool:
        """True if nobody knows all of an event, because a side was muted when it began, or the floor changed."""
        if event.kind in ("turn", "speech_start", "speech_end"):
            return event.end_tick is not None and event.end_tick <= self.muted_ticks
        start = event.end_tick if event.kind == "gap" else event.start_tick
        return event.start_tick < self.muted_ticks or self.is_unheard_start(start or 0)

    def uncensored(self, *kinds: TurnKind, side: Side | None = None) -> list[TurnEvent]:
        """Events of these kinds (and this side) that became known before the end of the recording."""
        return [e for e in self.events if e.kind in kinds and not e.censored and side in (None, e.side)]

    def turns(self, side: Side) -> list[TurnEvent]:
        """The turns of a side as the turn detector finds them, also censored ones and the last, which may go on."""
        return [event for event in self.events if event.kind == "turn" and event.side == side]

    def heard(self, spans: Sequence[Span]) -> list[Span]:
        """The parts of spans after the muted time."""
        return [(max(start, self.muted_ticks), end) for start, end in spans if end > self.muted_ticks]

    @cached_property
    def both_speak(self) -> list[Span]:
        """The stretches in which both speak, after the muted time; those of censored overlaps only if muting censored
        them: when both spoke is known all the same.
        """
        overlaps = [event for event in self._decided if not event.censored]
        stretches = [event.span for event in overlaps if event.kind == "overlap_within"]
        stretches += [span for e in overlaps if e.kind == "overlap_between" for span in e.stretches or ()]
        return self.heard(stretches)

    @cached_property
    def ipus(self) -> dict[Side, Spans]:
        """The IPUs of each side, int64 (n, 2) in ticks. An IPU that the end of the recording cuts off ends there."""
        ended = [event for event in self.events if event.kind == "speech_end"]
        spans = {side: [event.span for event in ended if event.side == side] for side in SIDES}
        return {side: np.array(own, np.int64).reshape(-1, 2) for side, own in spans.items()}

    @cached_property
    def speaking(self) -> dict[Side, npt.NDArray[np.bool_]]:
        """True for each tick in which a side is in an IPU, bool (n_ticks,)."""
        return {side: kept_ticks(spans.tolist(), self.n_ticks) for side, spans in self.ipus.items()}

    def held(self, side: Side) -> list[Span]:
        """The turns of a side, each from its first to its last speech, in order.

        A turn of the turn detector goes on as long as the other side does not take the floor. Here it also ends where
        its side is silent for longer than `lapse_ms`: what comes then is a turn of its own.
        """
        ipus = [tuple(span) for span in self.ipus[side].tolist()]
        found: list[Span] = []
        for event in self.turns(side):
            end_tick = self.n_ticks if event.end_tick is None else event.end_tick
            own = [span for span in ipus if event.start_tick <= span[0] < end_tick]
            if not own:
                continue
            lapses = [b[0] for a, b in pairwise(own) if b[0] - a[1] > self.settings.ticks("lapse_ms")]
            for first, bound in pairwise([own[0][0], *lapses, end_tick]):
                found.append((first, max(end for start, end in own if first <= start < max(bound, first + 1))))
        return found

    def asides(self, side: Side) -> list[Span]:
        """Speech of a side that did not take the floor, in order."""
        held = self.held(side)
        own: list[Span] = [(start, end) for start, end in self.ipus[side].tolist()]
        return [span for span in own if not any(start <= span[0] < end for start, end in held)]

    @cached_property
    def ends_after_a(self) -> tuple[list[Span], list[Span]]:
        """The silences after A's last words in each kept span in which it speaks: unanswered, and all others.

        Unanswered: B said nothing more, and more than lapse_ms were recorded: B may have died, or A hung up.
        """
        unanswered: list[Span] = []
        others: list[Span] = []
        for start, end in self.spans:
            last = {s: max((b for a, b in x.tolist() if start <= a < end), default=0) for s, x in self.ipus.items()}
            if not last["A"]:
                continue
            is_long = end - last["A"] > self.settings.ticks("lapse_ms") and self.line_at(end) != "closed"
            (unanswered if last["A"] > last["B"] and is_long else others).append((last["A"], end))
        return unanswered, others

    @cached_property
    def cut_short(self) -> Sequence[UserSaying]:
        """The sayings that A broke off because B began in them, each from where B began; that may be no speech yet."""
        starts, speaks = self.ipus["B"][:, 0], self.speaking["B"]
        found = []
        for each in self.sayings:
            if each.is_broken_off and not speaks[each.start_tick]:
                within = starts[(each.start_tick < starts) & (starts < each.end_tick)]
                start = int(within[-1]) if len(within) else each.start_tick
                if not self.is_unheard_start(start):
                    found.append(each._replace(start_tick=start))
        return found

    def speech_min(self, side: Side) -> float:
        """Minutes of speech of a side: the total length of its IPUs."""
        return float(np.diff(self.ipus[side]).sum()) / TICKS_PER_S / 60

    def ipu_length_ticks(self, side: Side, start_tick: int) -> int:
        """Length in ticks of the IPU of `side` that starts at `start_tick`."""
        spans = self.ipus[side]
        row = int(np.searchsorted(spans[:, 0], start_tick))
        return int(spans[row, 1] - spans[row, 0])

    @cached_property
    def lapses(self) -> Spans:
        """All silences of both sides between the first and the last speech of a span, int64 (n, 2) in ticks."""
        any_speech = np.pad(self.speaking["A"] | self.speaking["B"], 1)
        silences = np.flatnonzero(any_speech[1:] != any_speech[:-1])[1:-1].reshape(-1, 2)
        is_whole = (silences[:, 1] < self._span_ends(silences[:, 0] - 1)) & (silences[:, 0] >= self.muted_ticks)
        return silences[is_whole]

    def ticks_until_stop(
        self, side: Side, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Ticks from each of `starts` until `side` stops, (n,), where the other speaks from `starts` to `ends`.

        It stops where it falls silent until the other has ended, or AHEAD_TICKS before that, and for at least
        STAYS_SILENT_TICKS: who only takes a breath has not stopped. It is NEVER_TICKS if it never does. The end of the
        recording (or of a kept span) is no stop, since nobody knows how long that silence would have lasted.
        """
        silences, upto = self.long_silences(side), self._span_ends(starts)
        until = np.full(len(starts), NEVER_TICKS, np.int64)
        for row, (start, end, most) in enumerate(zip(starts.tolist(), ends.tolist(), upto.tolist(), strict=True)):
            after = silences[np.searchsorted(silences[:, 0], start, side="right") :]
            stops = after[(after[:, 1] >= end - AHEAD_TICKS) & (after[:, 0] <= most), 0]
            if len(stops):
                until[row] = stops[0] - start
        return until

    def long_silences(self, side: Side) -> Spans:
        """The silences of `side` after each of its IPUs, if they last for STAYS_SILENT_TICKS within a kept span."""
        spans = self.ipus[side]
        following = np.minimum(np.append(spans[1:, 0], NEVER_TICKS)[: len(spans)], self._span_ends(spans[:, 0]))
        stays: Spans = np.stack([spans[:, 1], following], axis=1)[following - spans[:, 1] >= STAYS_SILENT_TICKS]
        return stays

    def words_end(self, side: Side, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For ticks (n,) in which `side` speaks: where it ends, past the pauses in which it has not given way."""
        words = joined(self.ipus[side], self.settings.ticks("yield_hold_ms"))
        ends: npt.NDArray[np.int64] = words[np.searchsorted(words[:, 0], ticks, side="right") - 1, 1]
        return ends

    def ticks_until_end(self, side: Side, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For each of the ticks (n,), how many ticks later `side` next ends an IPU of its span."""
        ends = np.append(self.ipus[side][:, 1], NEVER_TICKS)
        following = ends[np.searchsorted(ends, ticks, side="right")]
        until: npt.NDArray[np.int64] = np.where(following > self._span_ends(ticks), NEVER_TICKS, following) - ticks
        return until

    def ticks_since_start(self, side: Side, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For each of the ticks (n,), how many ticks ago `side` last began an IPU."""
        starts = np.concatenate([[-NEVER_TICKS], self.ipus[side][:, 0]])
        since: npt.NDArray[np.int64] = ticks - starts[np.searchsorted(starts, ticks, side="right") - 1]
        return since

    def _span_ends(self, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For each of the ticks (n,), the end of the kept span that it lies in; 0 if it is left out."""
        starts, ends = np.array([(-1, 0), *self.spans], np.int64).T
        found: npt.NDArray[np.int64] = ends[np.searchsorted(starts, ticks, side="right") - 1]
        return np.where(ticks < found, found, 0)


def joined(spans: Spans, apart_ticks: float) -> Spans:
    """The spans (n, 2), with those joined that are less than `apart_ticks` apart."""
    if not len(spans):
        return spans
    new = spans[1:, 0] - spans[:-1, 1] >= apart_ticks
    starts, ends = spans[np.append(True, new), 0], spans[np.append(new, True), 1]
    return np.stack([starts, ends], axis=1)
