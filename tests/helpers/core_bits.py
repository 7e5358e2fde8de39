"""What each kernel of the core makes of one piece of audio, as digests: `python core_bits.py AUDIO.npy` prints JSON.

AUDIO.npy: int16 (2, n), n a multiple of 480. It needs NumPy alone, so that it also runs where little else is installed:
on an emulated processor, or on another Python.
"""

import hashlib
import json
import random
import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fdbcore._ext.align import align_range
from fdbcore._ext.echo import explained, heard_before, response
from fdbcore._ext.filters import RATES_FROM_48K_HZ, RATES_TO_48K_HZ
from fdbcore._ext.floor import NoiseFloor
from fdbcore._ext.fourier import RealFourier
from fdbcore._ext.hearing import Ear
from fdbcore._ext.jitter import JitterBuffer
from fdbcore._ext.level import EnergyDetector
from fdbcore._ext.pacer import LatenessHistogram
from fdbcore._ext.pcm import PlayoutQueue, to_int16, to_mono
from fdbcore._ext.resample import Resampler
from fdbcore._ext.turns import TurnDetector
from fdbcore.session.vad import SileroVad

FRAME = 480
RESAMPLED = 48_000
Sides = npt.NDArray[np.int16]


def resampling(sides: Sides) -> object:
    """Both filters between all rates."""
    pairs = [(rate, 48_000) for rate in RATES_TO_48K_HZ] + [(48_000, rate) for rate in RATES_FROM_48K_HZ]
    made = []
    for pair in pairs:
        for resampler in (Resampler(*pair, "best"), Resampler(*pair, "fast")):
            made += [resampler.process(sides[0][:RESAMPLED]), resampler.flush()]
    return made


def energy(sides: Sides) -> object:
    """The activity by levels, and the levels themselves."""
    made: list[object] = []
    for side in sides:
        detector = EnergyDetector()
        for frame in side.reshape(-1, FRAME):
            made += [detector.push(frame), detector.level_dbfs, detector.band_levels_dbfs, detector.seems_active]
        made += detector.finish()
    return made


def speech(sides: Sides, source_rate_hz: int) -> tuple[list[bool], object]:
    """The activity by Silero's model, of both sides in turn, and its probabilities."""
    active, evidence = [], []
    for side in sides:
        detector = SileroVad(source_rate_hz)
        active += [detector.push(frame) for frame in side.reshape(-1, FRAME)]
        active += detector.finish()
        evidence += list(detector.evidence().values())
    return active, evidence


def turns(sides: Sides) -> object:
    """The events of turn-taking, all at once and tick by tick."""
    active, _ = speech(sides, 16_000)
    a, b = np.array(active, np.uint8).reshape(2, -1)
    whole, slow = TurnDetector(), TurnDetector()
    by_ticks = [slow.push(tick, bool(a[tick]), bool(b[tick])) for tick in range(len(a))]
    return [whole.push_all(a, b), whole.finish(), by_ticks, slow.finish()]


def hearing(sides: Sides) -> object:
    """Powers, means, peaks, clipping and holes of the ticks, and the audio at 4 kHz."""
    return [Ear(np.full(96, 1 / 96, np.float32)).hear(np.ascontiguousarray(side)) for side in sides]


def fourier(sides: Sides) -> object:
    """The lines of windows of two lengths, and their powers."""
    pcm = sides[0].astype(np.float32)
    made = []
    for n in (240, 8_000):
        transform, rows = RealFourier(n), np.lib.stride_tricks.sliding_window_view(pcm, n)[:: n // 2]
        made += [transform.lines(rows), transform.powers(rows)]
    return made


def echo(sides: Sides) -> object:
    """What one side would be as an echo of the other."""
    source, target = (np.mean((side / 32_768).reshape(-1, FRAME) ** 2, axis=1).astype(np.float32) for side in sides)
    before = heard_before(source, np.arange(len(target), dtype=np.int32) - 5)
    weights = response(before, target, 1e-8, 0.1, 8.0)
    return [before, weights, explained(before, weights)]


def jitter(sides: Sides) -> object:
    """What a receiver plays of packets of 10 ms that come late, twice, out of order or never."""
    draw, buffer, floor = random.Random(1), JitterBuffer(), NoiseFloor()
    packets = []
    for number, frame in enumerate(sides[0].reshape(-1, FRAME)):
        payload = b"\xf0" + number.to_bytes(2, "big")  # Opus, CELT, 10 ms
        for _ in range(draw.choice((0, 1, 1, 1, 1, 1, 1, 1, 1, 2))):
            packets.append((number * 10_000_000 + draw.randrange(60_000_000), payload, number, floor.is_quiet(frame)))
    packets.sort()
    made: list[object] = [quiet for *_, quiet in packets]
    coming = iter(packets)
    packet = next(coming, None)
    for tick in range(len(sides[0]) // FRAME):
        while packet is not None and packet[0] <= tick * 10_000_000:
            at_ns, payload, number, _ = packet
            buffer.add(payload, 7, number & 0xFFFF, number * FRAME, at_ns)
            packet = next(coming, None)
        if tick == 0:
            buffer.start(0)
        played = np.zeros(FRAME, np.int16)
        made += [buffer.play_into(played, tick, lambda told: _decoded(sides[0], told)), played, buffer.delay_samples]
        made += buffer.drain()
    return [made, buffer.arrivals(), tuple(buffer.stats())]


def _decoded(side: npt.NDArray[np.int16], payload: bytes) -> npt.NDArray[np.int16]:
    if len(payload) < 3:
        return np.zeros(FRAME, np.int16)
    first = int.from_bytes(payload[1:3], "big") * FRAME
    return side[first : first + FRAME].copy()


def conversion(sides: Sides) -> object:
    """Samples of other kinds as int16, two channels as one, and a queue of playing."""
    floats = sides[0] / 32_768 * 1.3
    made: list[object] = [
        to_int16(floats),
        to_int16(floats.astype(np.float32)),
        to_int16(sides[0].astype(np.int32) << 16),
    ]
    made += [to_int16((sides[0] >> 8).astype(np.uint8)), to_mono(np.ascontiguousarray(sides.T))]
    queue, draw, played = PlayoutQueue(), random.Random(2), np.zeros(FRAME, np.int16)
    for start in range(0, len(sides[0]), FRAME):
        queue.push(sides[0][start : start + draw.randrange(1, 2 * FRAME)])
        if draw.random() < 0.1:
            queue.end_item()
        made += [queue.pop_into(played), played.copy()]
    return [made, tuple(queue.stats()), queue.heard()]


def alignment(sides: Sides) -> object:
    """Scores and scripts of drawn sequences of acts."""
    draw = np.random.Generator(np.random.PCG64(3))
    pairs, longest = 40, 30
    offsets = [np.concatenate(([0], np.cumsum(draw.integers(1, longest, pairs)))).astype(np.int64) for _ in range(2)]
    acts = [draw.integers(0, 7, int(each[-1])).astype(np.int8) for each in offsets]
    weights = [draw.integers(1, 50, int(each[-1])).astype(np.int64) for each in offsets]
    scores, operations = np.zeros((pairs, 5), np.int64), np.zeros(int(offsets[0][-1] + offsets[1][-1]), np.int8)
    starts = np.zeros(pairs, np.int64)
    align_range(*(acts[0], weights[0], offsets[0], acts[1], weights[1], offsets[1]), *(0, scores, operations, starts))
    return [scores, operations, starts]


def lateness(sides: Sides) -> object:
    """Quantiles of drawn delays."""
    histogram, draw = LatenessHistogram(), random.Random(4)
    for _ in range(5_000):
        histogram.record(draw.randrange(-(10**6), 10**9))
    return [histogram.quantile(share) for share in (0.0, 0.1, 0.5, 0.9, 0.99, 1.0)]


KERNELS: dict[str, Callable[[Sides], object]] = {
    "resample": resampling,
    "level": energy,
    "silero 16 kHz": lambda sides: speech(sides, 16_000),
    "silero 8 kHz": lambda sides: speech(sides, 8_000),
    "turns": turns,
    "hearing": hearing,
    "fourier": fourier,
    "echo": echo,
    "jitter": jitter,
    "pcm": conversion,
    "align": alignment,
    "pacer": lateness,
}


def _told(made: object) -> bytes:
    """All values of what a kernel made, to the last bit."""
    if isinstance(made, np.ndarray):
        return made.tobytes()
    if isinstance(made, float):
        return made.hex().encode()
    if isinstance(made, list | tuple) and not hasattr(made, "_fields"):
        return b"[" + b",".join(map(_told, made)) + b"]"
    return repr(made).encode()


def core_bits(sides: Sides) -> dict[str, str]:
    """A digest of what each kernel makes of both sides."""
    return {name: hashlib.sha256(_told(kernel(sides))).hexdigest() for name, kernel in KERNELS.items()}


if __name__ == "__main__":
    print(json.dumps(core_bits(np.load(sys.argv[1]))))
