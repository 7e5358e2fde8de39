"""Objects of the core that several threads share, with the GIL or without: each call takes and gives what is whole."""

import importlib
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import numpy.typing as npt
import pytest

import fdbcore._ext
from fdbcore._ext.floor import NoiseFloor
from fdbcore._ext.jitter import JitterBuffer
from fdbcore._ext.level import EnergyDetector
from fdbcore._ext.pacer import LatenessHistogram
from fdbcore._ext.pcm import PlayoutQueue, PlayoutStats
from fdbcore._ext.resample import Resampler
from fdbcore._ext.speech import SpeechDetector

FRAME = 480
THREADS = 4
TURNS = 2_000
LONGEST = 30_000  # samples of a block: the queue copies it without the GIL


@pytest.fixture(autouse=True)
def eager_threads() -> Iterator[None]:
    """They change places as often as Python lets them."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def together(works: Sequence[Callable[[], object]]) -> None:
    """Run each in a thread of its own, all at once; the first error of any of them is raised."""
    barrier = Barrier(len(works))

    def begin(work: Callable[[], object]) -> None:
        barrier.wait()
        work()

    with ThreadPoolExecutor(len(works)) as threads:
        for each in [threads.submit(begin, work) for work in works]:
            each.result()


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded Python")
def test_no_module_of_the_core_turns_the_gil_on() -> None:
    for source in Path(fdbcore._ext.__file__).parent.glob("*.pyi"):
        importlib.import_module(f"fdbcore._ext.{source.stem}")
    assert not getattr(sys, "_is_gil_enabled", lambda: True)()


def counted(start: int, n: int) -> npt.NDArray[np.int16]:
    """Samples start, start + 1, ... of a count that begins anew after 32,000; none is silent."""
    return (np.arange(start, start + n) % 32_000 + 1).astype(np.int16)


def test_a_queue_plays_in_order_what_another_thread_pushes_and_flushes() -> None:
    queue, frames = PlayoutQueue(2_000), 10_000
    draw = np.random.default_rng(1)
    sizes = np.where(draw.random(frames) < 0.05, LONGEST, draw.integers(1, 3 * FRAME, frames)).tolist()
    deeds = draw.random(frames).tolist()
    heard: list[npt.NDArray[np.int16]] = []
    popped = [0]
    over = [False]
    bad: list[PlayoutStats] = []

    def produce() -> None:
        pushed = 0
        for size, deed in zip(sizes, deeds, strict=True):
            pushed += queue.push(counted(pushed, size))
            if deed < 0.01:
                queue.flush()
            elif deed < 0.1:
                queue.end_item()
        over[0] = True

    def consume() -> None:
        frame = np.zeros(FRAME, np.int16)
        while not over[0] or queue.stats().queued_samples >= FRAME:
            played = queue.pop_into(frame)
            popped[0] += 1
            heard.append(frame[:played].copy())
            if frame[played:].any():
                raise AssertionError("expected silence after the audio of a frame")

    def ask() -> None:
        while not over[0]:
            found = queue.stats()
            if found.pushed_samples != found.heard_samples + found.flushed_samples + found.queued_samples:
                bad.append(found)
            items = queue.heard()
            if [each.number for each in items] != list(range(items[0].number, items[-1].number + 1) if items else ()):
                bad.append(found)
            queue.item(queue.begun_items - 1)

    together([produce, consume, ask, ask])
    stats = queue.stats()
    assert bad == []
    assert FRAME * popped[0] == stats.heard_samples + stats.padded_samples + stats.idle_samples
    played = np.concatenate(heard).astype(np.int64)
    assert len(played) == stats.heard_samples
    steps = np.diff(played) % 32_000
    assert np.count_nonzero(steps != 1) <= np.count_nonzero(np.array(deeds) < 0.01)  # only a flush leaves samples out


def test_a_jitter_buffer_plays_in_order_what_another_thread_receives() -> None:
    """As a network thread and the thread of the ticks use it. A decoder here gives a packet's number as its sound."""
    buffer, packets = JitterBuffer(), 20_000
    played: list[int] = []
    ticks = [-1]
    over = [False]

    def payload(number: int) -> bytes:
        return b"\xf0" + (number % 32_000 + 1).to_bytes(2, "big")  # Opus, CELT, 10 ms

    def decode(packet: bytes) -> npt.NDArray[np.int16]:
        number = int.from_bytes(packet[1:3], "big") if len(packet) == 3 else 0
        return np.full(FRAME, number, np.int16)

    def receive() -> None:
        for number in range(packets):
            while ticks[0] < number - 100:  # no further ahead than its memory
                pass
            buffer.add(payload(number), 7, number & 0xFFFF, number * FRAME, number * 10_000_000)
        over[0] = True

    def play() -> None:
        frame = np.zeros(FRAME, np.int16)
        for tick in range(packets):
            buffer.play_into(frame, tick, decode)
            ticks[0] = tick
            played.extend(np.unique(frame[frame > 0]).tolist())

    def ask() -> None:
        told = 0
        while not over[0]:
            received = buffer.stats().received
            assert told <= received <= packets
            told = received
            assert all(change.tick >= 0 for change in buffer.drain())
            arrivals = buffer.arrivals()
            assert (np.diff(arrivals[:, 0]) >= 0).all()
            assert (arrivals[:, 2] == FRAME).all()
            assert buffer.delay_samples >= 0

    buffer.start(0)
    together([receive, play, ask])
    stats = buffer.stats()
    assert stats.received == packets
    assert stats.duplicates == stats.foreign == stats.invalid == 0
    unwrapped = np.unwrap(np.array(played), period=32_000)
    assert (np.diff(unwrapped) >= 0).all()


def test_every_lateness_is_counted_once() -> None:
    histogram = LatenessHistogram()

    def record() -> None:
        for lateness_ns in range(10 * TURNS):
            histogram.record(lateness_ns)

    def ask() -> None:
        for _ in range(TURNS // 10):
            found = histogram.summary()
            median_us, most_us = found["p50_us"] or 0.0, found["max_us"] or 0.0
            assert 0 <= median_us <= most_us < 10 * TURNS / 1000

    together([record] * THREADS + [ask])
    assert histogram.n == 10 * THREADS * TURNS
    assert histogram.quantile(0.5) == pytest.approx(10 * TURNS / 2, rel=0.02)


@pytest.mark.parametrize("make", [EnergyDetector, SpeechDetector], ids=lambda make: make.__name__)
def test_frames_from_many_threads_are_taken_whole(make: Callable[[], EnergyDetector | SpeechDetector]) -> None:
    """All push the same frame, so that their order makes no difference: the end is that of one thread."""
    frame = np.random.default_rng(2).integers(-3_000, 3_000, FRAME).astype(np.int16)
    shared, alone = make(), make()

    def push() -> None:
        for _ in range(TURNS):
            shared.push(frame)

    together([push] * THREADS)
    for _ in range(THREADS * TURNS):
        alone.push(frame)
    assert shared.seems_active == alone.seems_active
    assert shared.finish() == alone.finish()
    assert getattr(shared, "band_levels_dbfs", None) == getattr(alone, "band_levels_dbfs", None)


def test_a_floor_counts_the_frames_of_all_threads() -> None:
    """The floor becomes known with the 500th frame: one that is pushed by another thread counts as any other."""
    frame = np.full(FRAME, 300, np.int16)
    floor = NoiseFloor()
    quiet: list[bool] = []
    together([lambda: quiet.extend([floor.is_quiet(frame) for _ in range(TURNS)])] * THREADS)
    alone = NoiseFloor()
    assert sum(quiet) == sum(alone.is_quiet(frame) for _ in range(THREADS * TURNS))


def test_blocks_from_many_threads_are_converted_whole() -> None:
    block = np.random.default_rng(3).integers(-9_000, 9_000, FRAME).astype(np.int16)
    resampler, alone = (Resampler(48_000, 16_000) for _ in range(2))
    made: list[bytes] = []
    together([lambda: made.extend([resampler.process(block).tobytes() for _ in range(TURNS)])] * THREADS)
    expected = [alone.process(block).tobytes() for _ in range(THREADS * TURNS)]
    assert sorted(made) == sorted(expected)
    assert resampler.flush().tobytes() == alone.flush().tobytes()
