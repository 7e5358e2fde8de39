"""Our detectors over 200 lines: what they find must not depend on gain, floor or comfort noise."""

from pathlib import Path
from typing import Final

import av
import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.speech import Span, inter_pausal_units
from fdbcore.registry import vad
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

Floats = npt.NDArray[np.float64]

SAMPLE: Final = Path(__file__).resolve().parents[2] / "benchmarks" / "sample" / "sample.flac"
TICKS: Final = 900
LINES: Final = 200
LOUD_DBFS: Final = -24.0


def units(name: str, line: Floats, gain: float) -> list[Span]:
    pcm = np.clip(np.rint(line * gain), -32_768, 32_767).astype(np.int16)
    return inter_pausal_units(heard(name, pcm))


def heard(name: str, pcm: Pcm) -> npt.NDArray[np.bool_]:
    detector = vad(name)(source_rate_hz=SAMPLE_RATE_HZ)
    pushed = [detector.push(frame) for frame in pcm.reshape(-1, FRAME_SAMPLES)]
    return np.array(pushed[detector.delay_ticks :] + detector.finish(), dtype=np.bool_)


@pytest.fixture(scope="module")
def speech() -> Floats:
    """9 s of the sample's side A, with an RMS of 1 where it speaks."""
    with av.open(str(SAMPLE)) as container:
        blocks = [frame.to_ndarray().reshape(-1, 2)[:, 0] for frame in container.decode(audio=0)]
    pcm: Pcm = np.concatenate(blocks)[: TICKS * FRAME_SAMPLES].astype(np.int16)
    spoken = pcm.reshape(-1, FRAME_SAMPLES)[heard("silero", pcm)].astype(np.float64)
    scaled: Floats = pcm / np.sqrt(np.mean(spoken**2))
    return scaled


def line(speech: Floats, spoken: npt.NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """The speech as it is, over a floor 40 to 75 dB below it, or with comfort noise 20 to 50 dB below it between."""
    kind, noise = rng.choice(["plain", "floor", "comfort"]), rng.standard_normal(len(speech))
    if kind == "floor":
        return speech + noise * 10 ** (rng.uniform(-75, -40) / 20)
    if kind == "comfort":
        return np.where(spoken, speech, noise * 10 ** (rng.uniform(-50, -20) / 20))
    return speech


def strays(found: list[Span], true: list[Span], ticks: int) -> int:
    """How many edges of either have none of the other within so many ticks."""
    a, b = ([edge for unit in each for edge in unit] for each in (found, true))
    return sum(min((abs(x - y) for y in other), default=99) > ticks for own, other in ((a, b), (b, a)) for x in own)


@pytest.mark.parametrize(("name", "off_share"), [("energy", 0.05), ("silero", 0.02)])
def test_units_depend_on_neither_gain_nor_floor_nor_comfort_noise(speech: Floats, name: str, off_share: float) -> None:
    """The energy detector has to hear the first comfort noise before it knows some."""
    rng = np.random.default_rng(0)
    full = 32_768 * 10 ** (LOUD_DBFS / 20)
    true = units(name, speech, full)
    assert len(true) == 3
    spoken = np.repeat([any(start <= tick < end for start, end in true) for tick in range(TICKS)], FRAME_SAMPLES)
    moved, edges, off = 0, 0, 0
    for _ in range(LINES):
        pcm = line(speech, spoken, rng)
        loud, soft = units(name, pcm, full), units(name, pcm, 32_768 * 10 ** (rng.uniform(-50, -16) / 20))
        moved += strays(soft, loud, 1)
        off += strays(loud, true, 3)
        edges += 2 * len(loud) + 2 * len(true)
    assert moved <= 0.02 * edges
    assert off <= off_share * edges
