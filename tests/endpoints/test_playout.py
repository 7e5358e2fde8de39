"""The queue of a live party, without a clock: what a hold-up leaves behind goes away again, and every delay is told."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fdbcore._ext.floor import LOUD_ENERGY, QUIET_ENERGY, NoiseFloor
from fdbcore.endpoints.playout import CALM_TICKS, MOST_CHANGES, UNNEEDED_TICKS, DelayChange, Playout
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICK_NS, TICKS_PER_S, Pcm

BED = 180  # of white noise, -45 dBFS
SPEECH = 3000


def noise(scale: float, n: int = FRAME_SAMPLES, seed: int = 0) -> Pcm:
    pcm: Pcm = (scale * np.random.default_rng(seed).standard_normal(n)).astype(np.int16)
    return pcm


@dataclass
class Party:
    """Sends numbered frames when it is told to: what is heard of it in each tick, and the changes it was told."""

    playout: Playout
    level: Callable[[int], float] = lambda number: SPEECH
    sent: int = 0
    arrived_at: list[int] = field(default_factory=list)  # sample, of each frame
    heard: list[int | None] = field(default_factory=list)  # the frame that was heard in each tick
    changes: list[DelayChange] = field(default_factory=list)
    told: list[tuple[int, int]] = field(default_factory=list)  # tick, delay in samples

    def __post_init__(self) -> None:
        self.playout.start(0)

    def send(self, at_ns: int, frames: int = 1) -> None:
        for _ in range(frames):
            pcm = noise(self.level(self.sent), seed=self.sent)
            pcm[:2] = divmod(self.sent, 1000)  # by which it is known again
            self.playout.push(pcm, at_ns)
            self.arrived_at.append(at_ns * 48 // 1_000_000)
            self.sent += 1

    def hear(self, tick: int) -> None:
        played = self.playout.play(tick)
        frame = self.playout.frame
        self.heard.append(int(frame[0]) * 1000 + int(frame[1]) if played else None)
        changes = self.playout.drain()
        self.changes += changes
        self.told += [(change.tick, change.delay_samples) for change in changes]

    def waited_ms(self, tick: int) -> float | None:
        """From the arrival of what is heard in `tick`."""
        number = self.heard[tick]
        return None if number is None else (tick * FRAME_SAMPLES - self.arrived_at[number]) / 48

    def delay_ms(self, tick: int) -> float:
        """As it was told."""
        arrivals = self.playout.arrivals()
        self.told += zip(arrivals.get("heard_tick", []), arrivals.get("waited_samples", []), strict=True)
        self.told.sort(key=itemgetter(0))
        return self.told[bisect_right(self.told, tick, key=itemgetter(0)) - 1][1] / 48


def answering(party: Party, ticks: int, stalls: Sequence[tuple[int, int]] = (), step: int = 1) -> None:
    """An input-clocked party: each step is answered 0.3 ms after its last tick began, or when its stall is over."""
    due = 0
    for tick in range(ticks):
        party.hear(tick)
        if not any(start <= tick < end for start, end in stalls):
            due = (tick + 1) // step * step
        party.send(tick * TICK_NS + 300_000, due - party.sent)


def input_clocked(level: Callable[[int], float] = lambda number: SPEECH, step: int = 1) -> Party:
    return Party(Playout(step, kept_frames=0), level)


@pytest.mark.parametrize("bed", [0, BED])
@pytest.mark.parametrize("step", [1, 8])
def test_a_hold_up_is_made_up_for_in_the_first_calm_whatever_the_noise_below(bed: float, step: int) -> None:
    def level(number: int) -> float:
        return SPEECH if number % 100 < 60 else bed

    party = input_clocked(level, step)
    answering(party, 3000, [(800, 816)], step)
    before, after = party.waited_ms(799), party.waited_ms(850)
    assert before is not None
    assert after is not None
    # of the steps, whose frames wait for each other, those at the same place
    back = [party.waited_ms(tick) for tick in range(816 + CALM_TICKS + TICKS_PER_S, 3000)]
    assert after > 100
    assert max(filter(None, back)) < 10 * step
    left_out = set(range(party.sent)) - set(party.heard) - {*range(party.sent - step, party.sent)}
    assert len(left_out) * FRAME_SAMPLES == party.playout.slipped_samples > 0
    assert all(number % 100 >= 60 for number in left_out)


def test_what_never_pauses_is_cut_after_ten_seconds_without_need() -> None:
    party = input_clocked()
    answering(party, 3000, [(500, 510)])
    late = [tick for tick in range(520, 3000) if (party.waited_ms(tick) or 0) > 15]
    assert late == list(range(520, late[-1] + 1))
    assert abs(late[-1] - 510 - UNNEEDED_TICKS) <= 2
    assert [change.why for change in party.changes] == ["anchor", "underrun", "slip"]


def test_what_is_needed_again_and_again_stays() -> None:
    party = input_clocked()
    answering(party, 3000, [(at, at + 5) for at in range(300, 3000, 150)])
    assert sum(change.why == "underrun" for change in party.changes) == 1
    assert not party.playout.slipped_samples


@pytest.mark.parametrize("ppm", [0, 100, 500, -100, -500])
@pytest.mark.parametrize("ahead", [0, 15])
def test_a_clock_that_is_off_and_a_start_ahead_of_time_leave_no_delay(ppm: int, ahead: int) -> None:
    party = Party(Playout(1, kept_frames=1))
    party.send(0, ahead)
    waited_ms, errors_ms = [], []
    for tick in range(120 * TICKS_PER_S):
        while (at := 0.4 + (party.sent - ahead) / (1 + ppm * 1e-6)) < tick:
            party.send(round(at * TICK_NS))
        party.hear(tick)
        waited = party.waited_ms(tick)
        if waited is not None and tick >= 20 * TICKS_PER_S:
            waited_ms.append(waited)
            if tick % TICKS_PER_S == 0:
                errors_ms.append(party.playout.arrivals()["delay_samples"] / 48 - waited)
    assert max(waited_ms) < 32
    assert max(map(abs, errors_ms)) < 2.5  # the drift is followed up to 333 ppm


@settings(max_examples=30)
@given(
    kept=st.sampled_from([0, 1]),
    pauses=st.integers(0, 100),
    stalls=st.lists(st.tuples(st.integers(0, 1500), st.integers(1, 40)), max_size=6),
)
def test_whatever_stalls_the_delay_told_is_what_was_waited(
    kept: int, pauses: int, stalls: list[tuple[int, int]]
) -> None:
    """Each frame is heard once, in order, or left out, and the delay is that of each frame, also in a stall."""
    party = Party(Playout(1, kept), lambda number: SPEECH if number % 100 >= pauses else BED)
    spans = [(at, at + length) for at, length in stalls]
    answering(party, 3200, spans)
    heard = [number for number in party.heard if number is not None]
    assert heard == sorted(set(heard))
    left_out = party.sent - len(heard)
    assert left_out * FRAME_SAMPLES == party.playout.slipped_samples + party.playout.queued_samples
    assert not any(change.tick for change in party.changes if change.why == "flush")
    for tick in range(len(party.heard)):
        number, waited = party.heard[tick], party.waited_ms(tick)
        if number is None or waited is None:
            continue
        assert 0 <= waited
        assert party.delay_ms(tick) == pytest.approx(waited, abs=1.1)
    assert (party.waited_ms(3199) or 0) <= 10 * (kept + 1)


def test_what_was_due_in_missed_ticks_is_not_heard_and_the_rest_is_in_its_place() -> None:
    party = Party(Playout(1, kept_frames=1))
    for tick in range(300):
        party.send(tick * TICK_NS - 5_000_000)
        if tick < 100 or tick >= 140:
            party.hear(tick)
    assert party.heard == [*range(100), *range(140, 300)]
    assert party.playout.missed_samples == 40 * FRAME_SAMPLES
    assert [change.why for change in party.changes] == ["anchor"]


def test_of_a_burst_nothing_is_left_out_and_its_delay_is_that_of_its_first_frame() -> None:
    party = Party(Playout())
    for tick in range(2000):
        if tick in (50, 900):
            party.send(tick * TICK_NS - 3_000_000, 600)
        party.hear(tick)
    assert [number for number in party.heard if number is not None] == list(range(1200))
    assert [(change.tick, change.why, change.delay_samples) for change in party.changes] == [
        (50, "anchor", 144),
        (900, "anchor", 144),
    ]


def test_the_certificate_lists_a_thousand_changes_and_counts_the_rest() -> None:
    party = Party(Playout())
    for tick in range(0, 2400, 2):
        party.send(tick * TICK_NS)
        party.playout.queue.end_item()
        party.hear(tick)
        party.hear(tick + 1)
    certificate = party.playout.certificate()
    assert len(party.changes) == 1200
    assert len(certificate["delay_changes"]) == MOST_CHANGES
    assert certificate["untold_delay_changes"] == 200


def test_quiet_is_what_is_near_the_own_floor() -> None:
    for bed, loud in ((0.0, 300.0), (30.0, 300.0), (BED, 4 * BED)):
        floor = NoiseFloor()
        for second in range(20):
            quiet = [floor.is_quiet(noise(bed, seed=n)) for n in range(50)]
            assert all(quiet) or (second < 6 and bed == BED)
            assert not any(floor.is_quiet(noise(loud, seed=n)) for n in range(50))
    floor = NoiseFloor()
    assert not any(floor.is_quiet(noise(SPEECH, seed=n)) for n in range(3000))
    assert SAMPLE_RATE_HZ == FRAME_SAMPLES * TICKS_PER_S


def test_the_rule_of_quiet_is_exact() -> None:
    """In whole numbers: under -60 dBFS, or, up to -35 dBFS, under 4 times the quietest of the last 5 to 10 s."""
    generator = np.random.default_rng(7)
    scales = 10 ** generator.uniform(np.repeat((1.8, 0.5), 2000), 3.0)
    frames = [noise(scale, seed=n) for n, scale in enumerate(scales)]
    energies = [int(np.square(frame.astype(np.int64)).sum()) for frame in frames]
    floor = NoiseFloor()
    for n, (frame, energy) in enumerate(zip(frames, energies, strict=True)):
        known = energies[max(0, (n // 500 - 1) * 500) : n] if n >= 500 else [0]
        limit = max(QUIET_ENERGY, min(4 * min(known), LOUD_ENERGY))
        assert floor.is_quiet(frame) == (energy < limit)
    assert QUIET_ENERGY == int(480 * 32.768**2)
    assert LOUD_ENERGY == pytest.approx(480 * 32768**2 * 10**-3.5, rel=1e-4)
