"""The playout of a live party: plays its audio as it arrives, at a known delay, and sheds delay that is not needed."""

from collections import deque
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

import numpy as np

from fdbcore._ext.floor import NoiseFloor
from fdbcore._ext.pcm import PlayoutQueue
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICKS_PER_S, Pcm

CALM_TICKS: Final = 2 * TICKS_PER_S
"""Audio that stayed in the queue all this time is a surplus that was not needed: quiet frames may be left out."""

UNNEEDED_TICKS: Final = 10 * TICKS_PER_S
"""After this long with a surplus, any frame may be left out."""

MOST_AHEAD_S: Final = 60
"""Audio that a party may send ahead of its playout."""

MOST_CHANGES: Final = 1000
"""Changes of the delay that the certificate lists, at most. All of them are events."""

MOST_STALE_SAMPLES: Final = SAMPLE_RATE_HZ // 1000
"""The change of the delay from which it is told anew."""


class DelayChange(NamedTuple):
    """From `tick` on, sample s of the party's own stream is heard as sample s + offset_samples of the session.

    why: "anchor" (the first audio of all, or of a burst), "underrun" (audio came too late, and what follows moves),
    "slip" (surplus audio was left out), or "flush". delay_samples: the delay from now on.
    """

    tick: int
    why: str
    delay_samples: int
    start_sample: int
    offset_samples: int


class WaitLog:
    """The delay of a side, tick by tick, to within 1 ms.

    told_samples: the delay that was told last.
    """

    def __init__(self) -> None:
        self.told_samples = 0
        self._waits: dict[int, int] = {}

    def note(self, tick: int, delay_samples: int) -> None:
        """Note the delay of what is heard in `tick`, if it is another than was told last."""
        if abs(delay_samples - self.told_samples) > MOST_STALE_SAMPLES:
            self.told_samples = self._waits[tick] = delay_samples

    def take(self) -> dict[str, list[int]]:
        """Delays noted since the last call, as fields of an event "arrivals"."""
        waits, self._waits = self._waits, {}
        return {"heard_tick": list(waits), "waited_samples": list(waits.values())}


class Playout:
    """A PlayoutQueue that sheds surplus delay, and states its delay.

    Definitions: *place* is a sample's index in the party's stream. *Transit* is arrival - place. *Delay* is offset -
    transit of what is heard: how long it waited here, from its arrival to the tick that plays it, however late it came.
    Of a step or a burst, the piece that waited least so far counts, from its first sample on.

    Audio that always waits in the queue is a delay without use. It comes from a stall, from audio sent too early, or
    from a fast clock. Surplus beyond `kept_frames` is left out: quiet frames after 2 s, any frame after 10 s. If more
    than `most_behind_frames` wait, all are left out at once except the newest 10 ms and a step.

    The transport's thread calls `push`; the thread of the ticks calls the rest.

    queue: its items end and are dropped there, on the transport's thread, and are told from any. What was left out here
    counts as heard there.
    kept_frames: how many frames may always wait; None for bursts, of which nothing is left out. most_behind_frames:
    None for no limit. most_ahead_s: how much audio it can hold. lead_samples: how late the audio already is in what is
    pushed, which counts as delay.
    """

    def __init__(
        self,
        step_ticks: int = 1,
        kept_frames: int | None = None,
        most_behind_frames: int | None = None,
        most_ahead_s: int = MOST_AHEAD_S,
        lead_samples: int = 0,
    ) -> None:
        self.frame: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)
        self.slipped_samples = self.missed_samples = 0
        self._listed_changes: list[dict[str, Any]] = []
        self._unlisted_changes = 0
        self._step_samples = step_ticks * FRAME_SAMPLES
        self._kept_frames = kept_frames
        self._lead_samples = lead_samples
        self._most_behind_frames = most_behind_frames
        self._origin_ns: int | None = None
        self.queue = PlayoutQueue(most_ahead_s * 1000)
        self._pushed_samples = 0
        self._incoming: deque[tuple[int, int, int]] = deque()  # at_ns since tick 0, start_sample, samples
        self._arrived: list[tuple[int, int, int]] = []
        self._pieces: deque[tuple[int, int]] = deque()  # start_sample, at_sample; from the one that is heard on
        self._step = -1  # the step that is heard, or the number of the burst
        self._transit_samples = 0  # the slowest in it so far
        self._wait_log = WaitLog()
        self._floor = NoiseFloor()
        self._waited: deque[int] = deque(maxlen=CALM_TICKS)  # queued after each tick, plus all samples slipped so far
        self._unneeded_ticks = 0
        self._tick = -1
        self._offset_samples: int | None = None
        self._next_place = 0
        self._dry = True
        self._slipped_before = 0
        self._changes: list[DelayChange] = []

    # Called on the transport's thread

    def push(self, pcm: Pcm, at_ns: int) -> int:
        """Queue audio, int16 (n,), that arrived at `at_ns` (monotonic clock); return how many samples were taken."""
        if self._origin_ns is not None:
            self._incoming.append((at_ns - self._origin_ns, self._pushed_samples, len(pcm)))
        taken = self.queue.push(pcm)
        self._pushed_samples += taken
        return taken

    # Called on the thread of the ticks

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. origin_ns: None on a clock that never waits: there is no delay, and nothing is left out."""
        self._origin_ns = origin_ns

    @property
    def queued_samples(self) -> int:
        """Samples pushed, but not yet played or dropped."""
        return self.queue.stats().queued_samples

    @property
    def delay_samples(self) -> int:
        """The wait here of what was heard last; 0 before the party was heard."""
        if self._offset_samples is None or self._origin_ns is None:
            return 0
        return self._lead_samples + max(self._offset_samples - self._transit_samples, 0)

    def counts(self) -> dict[str, int]:
        """The counts since tick 0, for `Endpoint.measured`. Samples that were left out here do not count as heard."""
        stats = self.queue.stats()
        return {
            "heard_samples": stats.heard_samples - self.slipped_samples - self.missed_samples,
            "padded_samples": stats.padded_samples,
            "underruns": stats.underruns,
            "longest_loss_samples": stats.longest_underrun_samples,
            "slipped_samples": self.slipped_samples,
        }

    def play(self, tick: int, to_the_end: bool = False) -> int:
        """Fill `frame` for `tick`, and return how many of its samples are audio.

        to_the_end: nothing more will come, so nothing is left out. Audio that was due in missed ticks is dropped; only
        a burst continues where it was.
        """
        sheds_delay = self._kept_frames is not None and self._origin_ns is not None
        self._take_in()
        if sheds_delay:
            for _ in range(self._tick + 1, tick):
                self.missed_samples += self._pop()
        self._tick = tick
        if sheds_delay and not to_the_end:
            self._drop_backlog()
        played = self._pop()
        if sheds_delay and not to_the_end:
            played = self._drop_surplus(played)
        self._note_place(tick, played)
        return played

    def drain(self) -> Sequence[DelayChange]:
        """The changes of the delay since the last call, at most one per tick."""
        found, self._changes = self._changes, []
        return found

    def arrivals(self) -> dict[str, Any]:
        """Arrivals since the last call, the waits of what was heard (heard_tick, waited_samples: told where they change
        by more than 1 ms), and the delay now, as fields of an event; {} if nothing arrived.
        """
        arrived, self._arrived = self._arrived, []
        if not arrived:
            return {}
        at_ns, start_sample, samples = zip(*arrived, strict=True)
        at_us = [each // 1000 for each in at_ns]
        fields = {"at_us": at_us, "start_sample": list(start_sample), "samples": list(samples)}
        return fields | self._wait_log.take() | {"delay_samples": self.delay_samples}

    def certificate(self) -> dict[str, Any]:
        """The delay at the end and its changes, for the timing certificate."""
        return {
            "delay_samples": self.delay_samples,
            "delay_changes": self._listed_changes,
            "untold_delay_changes": self._unlisted_changes,
        }

    def _pop(self) -> int:
        return self.queue.pop_into(self.frame)

    def _take_in(self) -> None:
        for _ in range(len(self._incoming)):
            at_ns, start_sample, samples = self._incoming.popleft()
            at_sample = at_ns * (SAMPLE_RATE_HZ // 1000) // 1_000_000
            if self._arrived and self._arrived[-1][0] == at_ns:  # packets of one message are one arrival
                _, start_of_all, samples_before = self._arrived.pop()
                self._arrived.append((at_ns, start_of_all, samples_before + samples))
            else:
                self._arrived.append((at_ns, start_sample, samples))
            if not self._pieces or self._pieces[-1][1] != at_sample:
                self._pieces.append((start_sample, at_sample))

    def _drop_backlog(self) -> None:
        """If far too much waits, leave out all but the newest 10 ms and a step."""
        if self._most_behind_frames is None or self.queued_samples <= self._most_behind_frames * FRAME_SAMPLES:
            return
        surplus_samples = self.queued_samples - self._step_samples - FRAME_SAMPLES
        while surplus_samples > 0 and (played := self._pop()):
            self.slipped_samples += played
            surplus_samples -= played

    def _drop_surplus(self, played: int) -> int:
        """Leave out frames that were not needed, and return how many samples of the new `frame` are audio."""
        assert self._kept_frames is not None
        quiet = played == FRAME_SAMPLES and self._floor.is_quiet(self.frame)
        self._waited.append(self.queued_samples + self.slipped_samples)
        spare_frames = 0
        if len(self._waited) == CALM_TICKS:
            # The least queue of the last 2 s, less what has been left out since then: nothing needed these frames.
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
        """Note a change if the party's stream has moved against the session's timeline."""
        if not played:
            self._dry = True
            return
        counts = self.queue.stats()
        place = counts.heard_samples + counts.flushed_samples - played
        before, offset = self._offset_samples, tick * FRAME_SAMPLES - place
        self._offset_samples = offset
        anew = self._dry or place != self._next_place
        self._note_wait(place, played, anew)
        if self._kept_frames is None:
            if anew:
                self._note("anchor", place)
        elif offset != before:
            earlier = "slip" if self.slipped_samples > self._slipped_before else "flush"
            self._note("anchor" if before is None else "underrun" if offset > before else earlier, place)
        self._wait_log.note(tick, self.delay_samples)
        self._slipped_before = self.slipped_samples
        self._next_place, self._dry = place + played, False

    def _note_wait(self, place: int, played: int, anew: bool) -> None:
        """Note the transit of the pieces in the frame at `place`. anew: it does not go on where the last one ended."""
        while len(self._pieces) > 1 and self._pieces[1][0] <= place:
            self._pieces.popleft()
        step, first_place = self._step + anew, 0
        if self._kept_frames is not None:
            step = place // self._step_samples
            first_place = step * self._step_samples
        in_frame = takewhile(lambda piece: piece[0] < place + played, self._pieces)
        transits = [at_sample - max(start_sample, first_place) for start_sample, at_sample in in_frame]
        self._transit_samples = max(transits + [self._transit_samples] * (step == self._step), default=0)
        self._step = step

    def _note(self, why: str, place: int) -> None:
        assert self._offset_samples is not None
        change = DelayChange(self._tick, why, self.delay_samples, place, self._offset_samples)
        self._changes.append(change)
        self._wait_log.told_samples = change.delay_samples
        if len(self._listed_changes) < MOST_CHANGES:
            self._listed_changes.append({"tick": change.tick, "why": why, "delay_samples": change.delay_samples})
        else:
            self._unlisted_changes += 1
