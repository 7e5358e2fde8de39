"""The compiled framing against naive Python: a queue that keeps a list and a log, and rounding by exact fractions."""

import threading
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from fdbcore._ext.pcm import PlayoutQueue, to_int16, to_mono
from fdbcore.errors import FrameError, SettingsError
from fdbcore.types import FRAME_SAMPLES, Pcm

INT16 = st.integers(-32768, 32767)
SCALES: dict[str, tuple[int, Fraction]] = {  # zero, and int16 steps per step
    "uint8": (128, Fraction(256)),
    "int16": (0, Fraction(1)),
    "int32": (0, Fraction(1, 65536)),
    "float32": (0, Fraction(32768)),
    "float64": (0, Fraction(32768)),
}


def exact_int16(values: list[Any], dtype: str) -> int:
    """The mean of `values` in int16 steps, rounded half to even (Python's round of a Fraction), saturated."""
    zero, scale = SCALES[dtype]
    mean = sum(((Fraction(value) - zero) * scale for value in values), Fraction(0)) / len(values)
    return max(-32768, min(32767, round(mean)))


def blocks(dtype: str) -> st.SearchStrategy[npt.NDArray[Any]]:
    """Blocks (n,) and (n, channels) with many values on and beside the rounding's ties, and outside full scale."""
    shapes = st.one_of(st.tuples(st.integers(0, 40)), st.tuples(st.integers(0, 20), st.integers(1, 4)))
    if not dtype.startswith("float"):
        return hnp.arrays(dtype, shapes)
    half_steps = st.integers(-70_000, 70_000).map(lambda n: n / 65536)  # exact in float32
    anything = st.floats(-4, 4, width=32 if dtype == "float32" else 64)
    return hnp.arrays(dtype, shapes, elements=st.one_of(half_steps, anything))


@pytest.mark.parametrize("dtype", SCALES)
@given(data=st.data())
@settings(max_examples=60)
def test_to_int16_rounds_as_exact_fractions_do(dtype: str, data: st.DataObject) -> None:
    block = data.draw(blocks(dtype))
    converted = to_int16(block)
    assert converted.dtype == np.int16
    assert converted.shape == block.shape
    assert converted.reshape(-1).tolist() == [exact_int16([value], dtype) for value in block.reshape(-1).tolist()]


@given(block=st.one_of(blocks("int16"), hnp.arrays("int16", (12, 6))))
def test_to_mono_is_the_mean_rounded_once(block: npt.NDArray[np.int16]) -> None:
    rows = block.reshape(len(block), block.shape[1] if block.ndim == 2 else 1).tolist()
    assert to_mono(block).tolist() == [exact_int16(row, "int16") for row in rows]


@given(
    block=hnp.arrays("float32", st.tuples(st.integers(0, 20), st.integers(1, 2)), elements=st.floats(-2, 2, width=16))
)
@settings(max_examples=100)
def test_to_mono_of_floats_rounds_once_after_the_mean(block: npt.NDArray[np.float32]) -> None:
    assert to_mono(block).tolist() == [exact_int16(row, "float32") for row in block.tolist()]


def test_a_mix_of_opposite_overloads_is_not_saturated_before_the_mean() -> None:
    assert to_mono(np.array([[2.0, -1.0]], np.float32)).tolist() == [16384]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_value_that_is_not_finite_is_named(dtype: str, bad: float) -> None:
    block = np.zeros((70, 2), dtype)
    block[60:, 0] = block[50, 1] = bad
    with pytest.raises(FrameError, match=f"got {bad} at sample 1050, channel 1$"):
        to_int16(block, start_sample=1000)


@pytest.mark.parametrize(
    ("pcm", "got"),
    [
        (None, "NoneType"),
        ([1, 2], "list"),
        (b"\x00\x01", "bytes"),  # would be 8-bit samples: 16-bit payloads need np.frombuffer
        (np.zeros(4), r"float64 \(4,\)"),
        (np.zeros(4, ">i2"), r">i2|int16"),
        (np.zeros(4, np.uint16), r"uint16 \(4,\)"),
        (np.zeros((2, 2, 2), np.int16), r"int16 \(2, 2, 2\)"),
        (np.zeros((3, 0), np.int16), r"int16 \(3, 0\)"),
        (np.zeros(8, np.int16)[::2], "not contiguous"),
    ],
)
def test_push_refuses_what_is_not_a_block(pcm: Any, got: str) -> None:
    queue = PlayoutQueue()
    with pytest.raises(FrameError, match=f"expected int16 or float32.*got .*({got})"):
        queue.push(pcm)
    assert queue.stats().pushed_samples == 0


def test_push_of_a_block_that_is_not_finite_takes_nothing() -> None:
    queue = PlayoutQueue()
    with pytest.raises(FrameError, match="got nan at sample 19999, channel 0"):
        queue.push(np.append(np.zeros(19_999, np.float32), np.float32("nan")))
    assert queue.stats().pushed_samples == 0
    assert queue.heard() == []


@pytest.mark.parametrize("frame", [None, b"", bytes(960), np.zeros(479, np.int16), np.zeros(480, np.float32)])
def test_pop_refuses_what_is_not_a_frame(frame: Any) -> None:
    with pytest.raises(FrameError, match=r"expected a writable int16 \(480,\), got"):
        PlayoutQueue().pop_into(frame)


@pytest.mark.parametrize("capacity_ms", [0, 19, -1, 3_600_001, 20.0, "60"])
def test_capacity_out_of_range_is_refused(capacity_ms: Any) -> None:
    with pytest.raises(SettingsError, match="capacity_ms: expected a whole number from 20 to 3600000"):
        PlayoutQueue(capacity_ms)


class NaiveQueue:
    """The queue as a list of (item, sample) and a log of frames; its counts are read off the log, by definition."""

    def __init__(self, capacity_samples: int) -> None:
        self.capacity_samples = capacity_samples
        self.queued: list[tuple[int, int]] = []
        self.pushed: list[int] = []  # of each item
        self.heard: list[int] = []
        self.open = False
        self.to_flush = self.flushed = self.dropped = 0
        self.log: list[tuple[int | None, int]] = []  # per frame: the item, and how many of its samples

    def push(self, block: list[int]) -> int:
        taken = block[: self.capacity_samples - len(self.queued)]
        if taken and not self.open:
            self.pushed.append(0)
            self.heard.append(0)
            self.open = True
        if taken:
            self.queued += [(len(self.pushed) - 1, sample) for sample in taken]
            self.pushed[-1] += len(taken)
        self.dropped += len(block) - len(taken)
        return len(taken)

    def end_item(self) -> None:
        self.open = False

    def flush(self) -> None:
        self.end_item()
        self.to_flush = len(self.queued)

    def is_ended(self, item: int) -> bool:
        return item < len(self.pushed) - 1 or not self.open

    def ran_dry(self, item: int) -> bool:
        return self.heard[item] > 0 and bool(self.log) and self.log[-1][0] is None

    def pop(self) -> list[int]:
        del self.queued[: self.to_flush]
        self.flushed += self.to_flush
        self.to_flush = 0
        played: list[int] = []
        if self.queued:
            item = self.queued[0][0]
            available = [sample for owner, sample in self.queued if owner == item]
            if self.is_ended(item) or len(available) >= FRAME_SAMPLES * (2 if self.ran_dry(item) else 1):
                played = available[:FRAME_SAMPLES]
                del self.queued[: len(played)]
                self.heard[item] += len(played)
        self.log.append((item, len(played)) if played else (None, 0))
        return played + [0] * (FRAME_SAMPLES - len(played))

    def holes(self) -> list[int]:
        """Lengths, in frames, of the silences between two frames of one item."""
        played = [(index, item) for index, (item, _) in enumerate(self.log) if item is not None]
        return [
            later - index - 1 for (index, item), (later, same) in pairwise(played) if item == same and later > index + 1
        ]

    def stats(self) -> tuple[int, ...]:
        filling = sum(FRAME_SAMPLES - count for item, count in self.log if item is not None)
        padded = filling + FRAME_SAMPLES * sum(self.holes())
        heard = sum(self.heard)
        idle = FRAME_SAMPLES * len(self.log) - heard - padded
        pushed = sum(self.pushed)
        longest = FRAME_SAMPLES * max(self.holes(), default=0)
        counts = (pushed, heard, self.flushed, len(self.queued), self.dropped, padded, idle, len(self.holes()))
        return (*counts, longest)

    def items(self) -> list[tuple[int | bool | None, ...]]:
        return [self.item(number) for number in range(len(self.pushed))]

    def item(self, number: int) -> tuple[int | bool | None, ...]:
        pushed, heard = self.pushed[number], self.heard[number]
        queued = sum(owner == number for owner, _ in self.queued)
        first_frame = next((index for index, (item, _) in enumerate(self.log) if item == number), None)
        start = sum(self.pushed[:number])
        return (number, start, pushed, heard, pushed - heard - queued, first_frame, self.is_ended(number))


class QueueMachine(RuleBasedStateMachine):
    """Random use of both queues; every sample is its own number, so order and loss show."""

    @initialize(capacity_ms=st.integers(20, 60))
    def build(self, capacity_ms: int) -> None:
        self.queue = PlayoutQueue(capacity_ms)
        self.naive = NaiveQueue(capacity_ms * 48)
        self.next_sample = 1
        self.frame = np.full(FRAME_SAMPLES, -1, np.int16)

    @rule(count=st.one_of(st.integers(0, 1500), st.sampled_from([1, 479, 480, 481, 960, 4000])), stereo=st.booleans())
    def push(self, count: int, stereo: bool) -> None:
        samples = np.arange(self.next_sample, self.next_sample + count, dtype=np.int64) % 32_767
        mono = samples.astype(np.int16)
        self.next_sample += count
        block = (np.stack([mono, mono], axis=1) / np.float32(32768)).astype(np.float32) if stereo else mono
        assert self.queue.push(block) == self.naive.push(mono.tolist())

    @rule(ticks=st.integers(1, 4))
    def pop(self, ticks: int) -> None:
        for _ in range(ticks):
            count = self.queue.pop_into(self.frame)
            assert self.frame.tolist() == self.naive.pop()
            assert count == self.naive.log[-1][1]

    @rule()
    def end_item(self) -> None:
        self.queue.end_item()
        self.naive.end_item()

    @rule()
    def flush(self) -> None:
        self.queue.flush()
        self.naive.flush()

    @invariant()
    def same(self) -> None:
        assert self.queue.stats() == self.naive.stats()

    @invariant()
    def same_items(self) -> None:
        assert self.queue.heard() == self.naive.items()

    @invariant()
    def no_sample_is_lost_or_made_up(self) -> None:
        stats = self.queue.stats()
        assert stats.pushed_samples == stats.heard_samples + stats.flushed_samples + stats.queued_samples
        out = stats.heard_samples + stats.padded_samples + stats.idle_samples
        assert out == FRAME_SAMPLES * len(self.naive.log)
        assert stats.queued_samples <= self.naive.capacity_samples

    @invariant()
    def a_partial_frame_is_the_end_of_its_item(self) -> None:
        partial = [item for item, count in self.naive.log if 0 < count < FRAME_SAMPLES]
        assert len(set(partial)) == len(partial)
        assert all(self.queue.heard()[item].ended for item in partial if item is not None)


def test_the_queue_does_what_the_naive_one_does() -> None:
    run_state_machine_as_test(QueueMachine, settings=settings(max_examples=40, stateful_step_count=30))


@pytest.mark.fuzz
def test_the_queue_does_what_the_naive_one_does_for_long() -> None:
    run_state_machine_as_test(QueueMachine, settings=settings(max_examples=3000, stateful_step_count=60))


def ramp(count: int, start: int = 1) -> Pcm:
    return np.arange(start, start + count).astype(np.int16)


def pop(queue: PlayoutQueue, frames: int = 1) -> list[int]:
    frame = np.empty(FRAME_SAMPLES, np.int16)
    return [queue.pop_into(frame) for _ in range(frames)]


def test_an_item_starts_as_soon_as_one_frame_is_there_and_its_tail_waits_for_its_end() -> None:
    queue = PlayoutQueue()
    queue.push(ramp(479))
    assert pop(queue) == [0]
    queue.push(ramp(221, 480))
    assert pop(queue, 2) == [480, 0]
    queue.end_item()
    assert pop(queue, 2) == [220, 0]
    assert queue.heard()[0] == (0, 0, 700, 700, 0, 1, True)


def test_playout_goes_on_at_20_ms_after_an_underrun() -> None:
    queue = PlayoutQueue()
    queue.push(ramp(480))
    assert pop(queue, 2) == [480, 0]
    queue.push(ramp(959))
    assert pop(queue) == [0]
    queue.push(ramp(1))
    assert pop(queue, 2) == [480, 480]
    assert queue.stats().underruns == 1
    assert queue.stats().padded_samples == 2 * FRAME_SAMPLES


def test_silence_after_the_last_sample_of_an_item_is_no_underrun() -> None:
    queue = PlayoutQueue()
    queue.push(ramp(480))
    pop(queue, 5)
    queue.end_item()
    pop(queue, 5)
    assert queue.stats()[5:] == (0, 9 * FRAME_SAMPLES, 0, 0)


def test_barge_in_tells_what_was_heard_at_once_and_leaves_the_next_item_alone() -> None:
    queue = PlayoutQueue()
    queue.push(ramp(48_000))
    pop(queue, 30)
    queue.flush()
    queue.push(ramp(600))
    cut, after = queue.heard()
    assert (cut.heard_samples, cut.ended) == (300 * 48, True)
    assert (after.start_sample, after.pushed_samples) == (48_000, 600)
    assert pop(queue) == [480]
    assert queue.heard()[0].flushed_samples == 48_000 - 300 * 48
    assert queue.stats().underruns == 0


def test_more_items_than_the_queue_can_tell_apart_wait() -> None:
    queue = PlayoutQueue()
    taken = []
    for _ in range(257):
        taken.append(queue.push(ramp(1)))
        queue.end_item()
    assert taken == [1] * 256 + [0]
    pop(queue, 2)
    assert queue.push(ramp(1)) == 1
    assert [item.number for item in queue.heard()] == list(range(1, 257))
    assert queue.begun_items == 257
    assert [queue.item(number) for number in range(1, 257)] == queue.heard()
    assert [queue.item(number) for number in (-1, 0, 257)] == [None] * 3


def test_a_producer_and_a_consumer_thread_lose_nothing() -> None:
    queue = PlayoutQueue(capacity_ms=1000)
    sent = np.random.default_rng(1).integers(1, 32_768, 480 * 2000).astype(np.int16)

    def produce() -> None:
        at = 0
        while at < len(sent):
            at += queue.push(sent[at : at + 20_000])  # long enough to be copied without the GIL
        queue.end_item()

    producer = threading.Thread(target=produce)
    producer.start()
    frame = np.empty(FRAME_SAMPLES, np.int16)
    heard: list[Pcm] = []
    while len(heard) < 2000:
        if queue.pop_into(frame):
            heard.append(frame.copy())
    producer.join()
    assert np.array_equal(np.concatenate(heard), sent)
