"""Detects turn events from the activity of both sides. Live, replay and stored activity use the same detector.

**Units.** An inter-pausal unit (IPU) of a side starts at the first tick of a run of min_speech active ticks, and ends
at the first tick of a run of min_silence inactive ones. Shorter runs are noise, or bridged.

**Floor.** H holds the floor, O is the other side, e is the end of H's last IPU. C is the candidate: an IPU of O that
began at s, *from silence* or *from overlap*. At each tick t, the first rule that fits applies:

     1  no holder               a side starts (both: A)              it is H, its turn starts; if both, C from overlap
     2  no C                    H starts after silence [e, t)        `pause`; then rule 3 may apply in the same tick
     3  no C                    O starts                             C; from overlap if H is in an IPU at t
     4  no C                    both silent for response_window      `no_response` of O, once for each silence
     5  C over, at most short   H and O speak, O has just started    KEEP; then a new C from overlap
     6  C over, at most short   H speaks, and began after C ended,   KEEP
                                or t >= s + short
     7  C over, at most short   H silent, and O starts again         TRANSFER
                                or H has been silent for resume
     8  C over, longer          H speaks, or both ended in one tick  KEEP
     9  C over, longer          H ended earlier                      TRANSFER
    10  C goes on, longer       C is from silence                    TRANSFER, even if H speaks again
    11  C goes on, longer       H silent for yield_hold              TRANSFER
    12  otherwise                                                    wait

KEEP: a `pause` for each silence of H that ended after s, an `overlap_within` for each stretch in which both spoke, an
`intrusion` with the outcome "kept" (by H). TRANSFER from silence: `turn` of H, `gap` [e, s); IPUs of H after s become
intrusions of its own, and one that still runs becomes the next C. TRANSFER from overlap: `turn` of H,
`overlap_between` [s, e), an `intrusion` with the outcome "taken". Then O is H, and its turn began at s. An intrusion
is emitted once it is known whether the other's silence holds for yield_hold. At the end the detector is fed
min_silence + resume of silence; what that decides is censored.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fdbcore._ext.turns import TurnDetector
from fdbcore.types import Span, TurnEvent, TurnSettings

__all__ = ["SpansTurnDetector", "TurnDetector", "detect_turns", "sweep_turns"]


def sweep_turns(
    active_a: npt.NDArray[np.bool_],
    active_b: npt.NDArray[np.bool_],
    settings: Sequence[TurnSettings],
    vad_delay_ticks: int = 0,
    kept: Sequence[Span] | None = None,
) -> list[list[TurnEvent]]:
    """`detect_turns` of one session under each of many settings, on all cores, to see how results depend on them."""
    with ThreadPoolExecutor() as pool:  # threads suffice: the detector releases the GIL
        return list(pool.map(lambda one: detect_turns(active_a, active_b, one, vad_delay_ticks, kept), settings))


def detect_turns(
    active_a: npt.NDArray[np.bool_],
    active_b: npt.NDArray[np.bool_],
    settings: TurnSettings | None = None,
    vad_delay_ticks: int = 0,
    kept: Sequence[Span] | None = None,
) -> list[TurnEvent]:
    """All turn events of a session, in the order in which they become known.

    active_a, active_b: the whole activity of each side, bool (n_ticks,). settings: None for the defaults.
    vad_delay_ticks: how far the activity's decisions lag the audio; it is added to each event's known_tick. kept: the
    spans to find events in, each as if it were alone (see `fdbcore.recording.left_out`); None for the whole session.
    Raises FrameError if the two sides differ in length.
    """
    if kept is not None:
        found = []
        for start, end in kept:
            within = detect_turns(active_a[start:end], active_b[start:end], settings, vad_delay_ticks)
            found += _placed(within, start, settings)
        return found
    detector = TurnDetector(settings, vad_delay_ticks)
    tracks = (np.ascontiguousarray(track, dtype=np.bool_).view(np.uint8) for track in (active_a, active_b))
    return detector.push_all(*tracks) + detector.finish()


class SpansTurnDetector:
    """A turn detector that begins anew in each kept span; see `fdbcore.recording.left_out`.

    kept: the spans of ticks, sorted. The recording may end within the last one.
    """

    def __init__(self, settings: TurnSettings, vad_delay_ticks: int, kept: Sequence[Span]) -> None:
        self._settings, self._delay = settings, vad_delay_ticks
        self._kept = deque(kept)
        self._detector: TurnDetector | None = None  # of the present span

    def push(self, tick: int, active_a: bool, active_b: bool) -> list[TurnEvent]:
        """The events that become known with the activity of `tick`. Ticks come in order from 0."""
        if not self._kept or tick < self._kept[0][0]:
            return []
        start, end = self._kept[0]
        self._detector = self._detector or TurnDetector(self._settings, self._delay)
        events = _placed(self._detector.push(tick - start, active_a, active_b), start, self._settings)
        return events + (self.finish() if tick + 1 == end else [])

    def finish(self) -> list[TurnEvent]:
        """The events that only the end of the present span decides; all are censored."""
        if self._detector is None:
            return []
        events, self._detector = self._detector.finish(), None
        return _placed(events, self._kept.popleft()[0], self._settings)


def _placed(events: Iterable[TurnEvent], start_tick: int, settings: TurnSettings | None) -> list[TurnEvent]:
    """The events of a span that begins at `start_tick`, in ticks of the session; its first onsets are censored."""
    if not start_tick:
        return list(events)
    found, bridged_ticks = [], (settings or TurnSettings()).ticks("min_silence_ms")
    for event in events:
        began_before = event.start_tick < bridged_ticks and event.kind in ("intrusion", "overlap_between")
        stretches = event.stretches and tuple(
            (first + start_tick, last + start_tick) for first, last in event.stretches
        )
        found.append(
            replace(
                event,
                start_tick=event.start_tick + start_tick,
                end_tick=None if event.end_tick is None else event.end_tick + start_tick,
                known_tick=event.known_tick + start_tick,
                censored=event.censored or began_before,
                stretches=stretches,
            )
        )
    return found
