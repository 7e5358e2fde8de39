"""What a live party sends, on its way to the ticks: said as it comes, at a delay that is known and does not stay."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from fdbcore._ext.floor import NoiseFloor
from fdbcore._ext.pcm import PlayoutQueue, PlayoutStats
from fdbcore._ext.transit import MinimumTransit
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICKS_PER_S, Pcm

CALM_TICKS: Final = 2 * TICKS_PER_S
"""What has waited all this time was not needed, and a quiet frame of it may go."""

UNNEEDED_TICKS: Final = 10 * TICKS_PER_S
"""After so long any frame of it may go."""

MOST_CHANGES: Final = 1000
"""Changes of the delay that the certificate lists; all of them are events."""


class DelayChange(NamedTuple):
    """From `tick` on, place s of the party's own stream is heard as sample s + offset_samples of the session.

    why: "anchor" (the first of all, or of a burst), "underrun" (it came too late, and moves what follows), "slip" (left
    out, as it had waited without need), or "flush". delay_samples: from now on.
    """

    tick: int
    why: str
    delay_samples: int
    start_sample: int
    offset_samples: int


class Playout:
    """A PlayoutQueue that does not keep the delay of a hold-up, and states its delay.

    *Transit* is arrival - place, *delay* is offset - minimum transit (MinimumTransit): what waiting here adds to audio
    that came at its quickest; of a step its first sample counts. For a burst it is what its first frame has waited.

    What waits all the time is a delay that nothing needs: a hold-up has left it behind, a start ahead of time, or a
    clock that is fast. Beyond `kept_frames` of it, quiet frames are left out once it has waited for 2 s, any frame once
    it has waited for 10 s, and at once all beyond `most_behind_frames` but the newest 10 ms and a step.

    `push`, `end_item` and `flush` are of the thread of the transport, all else is of that of the ticks.

    kept_frames: what may wait in a calm; None: of a burst nothing is left out. most_behind_frames: None: any.
    """

    def __init__(
        self, step_ticks: int = 1, kept_frames: int | None = None, most_behind_frames: int | None = None
    ) -> None:
        self.frame: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)
        self.slipped_samples = self.missed_samples = 0
        self._told: list[dict[str, Any]] = []
        self._untold = 0
        self._step_samples = step_ticks * FRAME_SAMPLES
        self._kept_frames = kept_frames
        self._most_behind_frames = most_behind_frames
        self._origin_ns: int | None = None
        self._queue = PlayoutQueue()
        self._pushed_samples = 0
        self._incoming: deque[tuple[int, int, int]] = deque()  # at_ns since tick 0, start_sample, samples
        self._arrived: list[tuple[int, int, int]] = []
        self._waiting: deque[tuple[int, int]] = deque()  # start_sample, at_sample
        self._last_step = -1
        self._transit = MinimumTransit()
        self._floor = NoiseFloor()
        self._waited: deque[int] = deque(maxlen=CALM_TICKS)  # samples in the queue after each tick
        self._unneeded_ticks = 0
        self._tick = -1
        self._offset_samples: int | None = None
        self._next_place = 0
        self._dry = True
        self._burst_delay_samples = 0
        self._slipped_before = 0
        self._changes: list[DelayChange] = []

    # The thread of the transport

    def push(self, pcm: Pcm, at_ns: int) -> int:
        """Queue what came at `at_ns` (monotonic clock); how many samples were taken."""
        if self._origin_ns is not None:
            self._incoming.append((at_ns - self._origin_ns, self._pushed_samples, len(pcm)))
        taken = self._queue.push(pcm)
        self._pushed_samples += taken
        return taken

    def end_item(self) -> None:
        """As of PlayoutQueue."""
        self._queue.end_item()

    def flush(self) -> None:
        """As of PlayoutQueue."""
        self._queue.flush()

    # The thread of the ticks

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now; None: on a clock that never waits, nothing has a delay, and nothing is left out."""
        self._origin_ns = origin_ns

    @property
    def queued_samples(self) -> int:
        """What was pushed and not yet said, or dropped."""
        return self.stats().queued_samples

    @property
    def delay_samples(self) -> int:
        """By how much later than at its minimum transit the party is heard now; 0 before it was."""
        if self._kept_frames is None or self._offset_samples is None:
            return self._burst_delay_samples
        return self._offset_samples - self._transit.at(self._tick * FRAME_SAMPLES)

    def stats(self) -> PlayoutStats:
        """All counts of the queue; what was left out here it counts as heard."""
        return self._queue.stats()

    def counts(self) -> dict[str, int]:
        """Since tick 0, for what an endpoint has `measured`; what was left out here was not heard."""
        stats = self.stats()
        return {
            "heard_samples": stats.heard_samples - self.slipped_samples - self.missed_samples,
            "padded_samples": stats.padded_samples,
            "underruns": stats.underruns,
            "longest_loss_samples": stats.longest_underrun_samples,
            "slipped_samples": self.slipped_samples,
        }

    def play(self, tick: int, to_the_end: bool = False) -> int:
        """Fill `frame` for `tick`; how many of its samples are audio. to_the_end: nothing more comes, or is left out.

        What was due in ticks that were missed is not heard, but for a burst, which goes on where it was.
        """
        falls = self._kept_frames is not None and self._origin_ns is not None
        self._take_in()
        if falls:
            for _ in range(self._tick + 1, tick):
                self.missed_samples += self._pop()
        self._tick = tick
        if falls and not to_the_end:
            self._cut_short()
        played = self._pop()
        if falls and not to_the_end:
            played = self._fall_back(played)
        self._note_place(tick, played)
        return played

    def drain(self) -> Sequence[DelayChange]:
        """The changes since the last call, one a tick at most."""
        found, self._changes = self._changes, []
        return found

    def arrivals(self) -> dict[str, Any]:
        """What came since the last call, and the delay now, for an event; empty if nothing came."""
        arrived, self._arrived = self._arrived, []
        if not arrived:
            return {}
        at_ns, start_sample, samples = zip(*arrived, strict=True)
        at_us = [each // 1000 for each in at_ns]
        told = {"at_us": at_us, "start_sample": list(start_sample), "samples": list(samples)}
        return told | {"delay_samples": self.delay_samples}

    def certificate(self) -> dict[str, Any]:
        """The delay at the end and its changes, for the timing certificate."""
        return {
            "delay_samples": self.delay_samples,
            "delay_changes": self._told,
            "untold_delay_changes": self._untold,
        }

    def _pop(self) -> int:
        return self._queue.pop_into(self.frame)

    def _take_in(self) -> None:
        for _ in range(len(self._incoming)):
            at_ns, start_sample, samples = self._incoming.popleft()
            at_sample = at_ns * (SAMPLE_RATE_HZ // 1000) // 1_000_000
            if self._arrived and self._arrived[-1][0] == at_ns:  # in one message
                _, start_of_all, samples_before = self._arrived.pop()
                self._arrived.append((at_ns, start_of_all, samples_before + samples))
            else:
                self._arrived.append((at_ns, start_sample, samples))
            if self._kept_frames is None:
                self._waiting.append((start_sample, at_sample))
            if (step := start_sample // self._step_samples) != self._last_step:
                self._last_step = step
                self._transit.observe(at_sample, at_sample - start_sample)

    def _cut_short(self) -> None:
        """Leave out what came too late for its place by far."""
        if self._most_behind_frames is None or self.queued_samples <= self._most_behind_frames * FRAME_SAMPLES:
            return
        surplus_samples = self.queued_samples - self._step_samples - FRAME_SAMPLES
        while surplus_samples > 0 and (played := self._pop()):
            self.slipped_samples += played
            surplus_samples -= played

    def _fall_back(self, played: int) -> int:
        """Leave out frames that were not needed; how many samples of `frame` are audio now."""
        assert self._kept_frames is not None
        quiet = played == FRAME_SAMPLES and self._floor.is_quiet(self.frame)
        self._waited.append(self.queued_samples + self.slipped_samples)
        spare_frames = 0
        if len(self._waited) == CALM_TICKS:
            spare_frames = (min(self._waited) - self.slipped_samples) // FRAME_SAMPLES - self._kept_frames
        self._unneeded_ticks = self._unneeded_ticks + 1 if spare_frames > 0 else 0
        forced = self._unneeded_ticks > UNNEEDED_TICKS - CALM_TICKS
        while spare_frames > 0 and (quiet or forced):
            self.slipped_samples += played
            spare_frames -= 1
            played = self._pop()
            quiet = self._floor.is_quiet(self.frame)
        return played

    def _note_place(self, tick: int, played: int) -> None:
        """Keep it if the party's stream is heard elsewhere from now on."""
        if not played:
            self._dry = True
            return
        counts = self.stats()
        place = counts.heard_samples + counts.flushed_samples - played
        before, offset = self._offset_samples, tick * FRAME_SAMPLES - place
        self._offset_samples = offset
        if self._kept_frames is None:
            arrival = self._arrival_of(place, tick)
            if self._dry or place != self._next_place:
                self._burst_delay_samples = tick * FRAME_SAMPLES - arrival
                self._note("anchor", place)
        elif offset != before:
            fell = "slip" if self.slipped_samples > self._slipped_before else "flush"
            self._note("anchor" if before is None else "underrun" if offset > before else fell, place)
        self._slipped_before = self.slipped_samples
        self._next_place, self._dry = place + played, False

    def _arrival_of(self, place: int, tick: int) -> int:
        while len(self._waiting) > 1 and self._waiting[1][0] <= place:
            self._waiting.popleft()
        return self._waiting[0][1] if self._waiting else tick * FRAME_SAMPLES

    def _note(self, why: str, place: int) -> None:
        assert self._offset_samples is not None
        change = DelayChange(self._tick, why, self.delay_samples, place, self._offset_samples)
        self._changes.append(change)
        if len(self._told) < MOST_CHANGES:
            self._told.append({"tick": change.tick, "why": why, "delay_samples": change.delay_samples})
        else:
            self._untold += 1
