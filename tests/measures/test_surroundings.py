"""Input health of what lies between and after words: a line is told where it moves the detector at hand."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from helpers.commands import command
from helpers.faulty_audio import Stereo, clipped16, in_rooms, sample, synthetic
from helpers.schema import validator
from scipy.ndimage import binary_dilation
from scipy.signal import fftconvolve

from fdbcore.audio.wav import WavWriter
from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.recording.health import HealthFinding
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SIDES

Wave: TypeAlias = npt.NDArray[np.float64]
RATE_HZ: Final = SAMPLE_RATE_HZ
SIDE: Final = 0  # whose line is bad


@cache
def voice() -> Wave:
    """One side of the dialogue, digitally silent between words, full scale 32,768."""
    return synthetic()[:, SIDE].astype(np.float64)


@cache
def spoken() -> npt.NDArray[np.bool_]:
    """The ticks of that side that hold its voice."""
    powers = np.mean(voice().reshape(-1, FRAME_SAMPLES) ** 2, axis=1)
    return np.asarray(powers > powers.max() / 10_000)


def level() -> float:
    """The RMS of the speech."""
    return float(np.sqrt(np.mean(voice().reshape(-1, FRAME_SAMPLES)[spoken()] ** 2)))


def noise(below_db: float) -> Wave:
    """White noise so far below the speech."""
    return np.random.default_rng(7).standard_normal(len(voice())) * level() * 10 ** (-below_db / 20)


def held(after_ms: int) -> npt.NDArray[np.bool_]:
    """The samples in which there is speech, or was at most so long before."""
    ticks = after_ms // 10
    structure = np.concatenate([np.zeros(ticks, bool), np.ones(ticks + 1, bool)])
    return np.repeat(binary_dilation(spoken(), structure), FRAME_SAMPLES)


def babble(below_db: float) -> Wave:
    """The voice beside itself and the other side at other times."""
    others = synthetic(seed=8).astype(np.float64)[: len(voice())]
    others = np.pad(others, ((0, len(voice()) - len(others)), (0, 0)))
    shifts = range(0, len(voice()), len(voice()) // 12)
    crowd = np.sum([np.roll(others[:, number % 2], shift) for number, shift in enumerate(shifts)], axis=0)
    behind: Wave = crowd * level() * 10 ** (-below_db / 20) / np.sqrt(np.mean(crowd**2))
    return voice() + noise(45) + behind


def automatic_gain() -> Wave:
    """A floor that comes up by 12 dB a second after speech."""
    since, waited_s = np.zeros(len(spoken())), 0.0
    for tick, speaks in enumerate(spoken().tolist()):
        waited_s = 0.0 if speaks else min(waited_s + 0.01, 2.0)
        since[tick] = waited_s
    gains = 10 ** (12 * np.repeat(since, FRAME_SAMPLES) / 20)
    return voice() + noise(45) * gains


def in_a_room(rt60_s: float) -> Wave:
    """The voice with a tail that decays by 60 dB in that time, 5 dB below it."""
    at = np.arange(round(rt60_s * RATE_HZ)) / RATE_HZ
    tail = np.random.default_rng(2).standard_normal(len(at)) * 10 ** (-3 * at / rt60_s)
    tail *= 10 ** (-5 / 20) / np.sqrt(np.sum(tail**2))
    tail[0] = 1
    heard: Wave = fftconvolve(voice(), tail)[: len(voice())]
    return heard


def fading() -> Wave:
    """Each phrase ends in 250 ms of noise, from 8 to 31 dB below it, and then at once."""
    wave, ticks = voice().copy(), voice().reshape(-1, FRAME_SAMPLES)
    below_db = np.linspace(8, 31, 250 * RATE_HZ // 1000)
    start = 0
    for end in (np.flatnonzero(np.diff(spoken().astype(np.int8)) == -1) + 1).tolist():
        after = slice((end - 10) * FRAME_SAMPLES, (end + 15) * FRAME_SAMPLES)
        if after.stop <= len(wave) and not spoken()[end : end + 20].any():
            peak, start = np.sqrt((ticks[start:end] ** 2).mean(axis=1).max()), end
            wave[after] = np.random.default_rng(end).standard_normal(len(below_db)) * peak * 10 ** (-below_db / 20)
    return wave


LINES: Final[dict[str, tuple[Callable[[], Wave], dict[str, set[str]]]]] = {
    "babble": (lambda: babble(20), {"silero": {"nonstationary"}, "energy": {"nonstationary"}}),
    "soft babble": (lambda: babble(34), {"silero": set(), "energy": {"nonstationary"}}),
    "automatic gain": (automatic_gain, {"silero": {"agc"}, "energy": {"agc"}}),
    "a room": (lambda: in_a_room(0.5), {"silero": {"reverberation"}, "energy": {"reverberation"}}),
    "a voice that fades": (fading, {"silero": set(), "energy": set()}),
    "comfort noise": (
        lambda: np.where(held(80), voice() + noise(42), noise(28)), {"silero": set(), "energy": {"comfort_noise"}}
    ),
    "a gate": (lambda: np.where(held(200), voice() + noise(24), 0), {"silero": set(), "energy": {"noise_gate"}}),
    "steady noise": (lambda: voice() + noise(22), {"silero": set(), "energy": set()}),
    "a soft voice": (lambda: voice() * 1000 / 32_768, {"silero": set(), "energy": set()}),
    "a clean voice": (voice, {"silero": set(), "energy": set()}),
}  # fmt: skip


def told(wave: Wave, *vads: str) -> list[list[HealthFinding]]:
    """What health says to each detector of a side with that sound and the true activity, beside a clean side."""
    pcm: Stereo = clipped16(np.stack([wave, synthetic()[:, 1 - SIDE]], axis=1))
    other = np.abs(pcm[:, 1 - SIDE]).reshape(-1, FRAME_SAMPLES).max(axis=1) > 50
    with HealthProbe() as probe:
        a, b = np.ascontiguousarray(pcm.T)
        for _ in probe.tap([(a, b)]):
            pass
        sides = probe.sides()
        healths = [examine(sides, {"A": spoken(), "B": other}, vads=dict.fromkeys(SIDES, vad)) for vad in vads]
    for health in healths:
        validator("replay", "Health").validate(json.loads(json.dumps(health, allow_nan=False)))
    return [health["findings"] for health in healths]


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_told_where_it_moves_the_detector(line: str) -> None:
    make, expected = LINES[line]
    for vad, found in zip(expected, told(make(), *expected), strict=True):
        assert {(finding["id"], finding["side"]) for finding in found} == {(id, SIDES[SIDE]) for id in expected[vad]}
        assert all(finding["severity"] == "warn" and finding["means"] for finding in found)


def test_a_detector_that_was_not_measured_is_told_all() -> None:
    make, _ = LINES["comfort noise"]
    ((finding,),) = told(make(), "somebody:Vad")
    assert finding["id"] == "comfort_noise"
    assert finding["figures"]["rise_db"] == pytest.approx(42 - 28, abs=3)


def test_the_figures_are_those_of_the_line() -> None:
    ((room,),) = told(in_a_room(0.5), "silero")
    assert 45 < room["figures"]["fade_ms"] < 20 / 60 * 500  # 20 dB of the 60 at most; words fade sooner
    ((gate,),) = told(np.where(held(200), voice() + noise(24), 0), "energy")
    assert gate["figures"]["fall_db"] > 20


def test_breaths_before_words_are_no_automatic_gain() -> None:
    breathing = voice() + noise(50)
    for start in np.flatnonzero(np.diff(spoken().astype(np.int8)) == 1):
        if start > 80 and not spoken()[start - 80 : start].any():
            span = slice((start - 42) * FRAME_SAMPLES, (start - 21) * FRAME_SAMPLES)
            breathing[span] += noise(33)[span]
    assert told(breathing, "energy") == [[]]


def test_the_shipped_sample_has_nothing_of_this_in_a_quiet_room(tmp_path: Path) -> None:
    for number, pcm in enumerate((sample(), in_rooms(sample(), -70))):
        path = tmp_path / f"{number}.wav"
        with WavWriter(path, channels=2) as wav:
            wav.write(np.ascontiguousarray(pcm))
        assert "health: ok" in command("doctor", "--vad", "energy", path).output


def test_doctor_tells_of_what_moves_its_detector(tmp_path: Path) -> None:
    path = tmp_path / "gate.wav"
    gated = np.where(held(200), voice() + noise(24), 0)
    with WavWriter(path, channels=2) as wav:
        wav.write(np.ascontiguousarray(clipped16(np.stack([gated, synthetic()[:, 1 - SIDE]], axis=1))))
    texts = {vad: command("doctor", "--vad", vad, path).output for vad in ("silero", "energy")}
    assert "A noise gate, noise falls by" in texts["energy"]
    assert "it ends late" in texts["energy"]
    assert "A noise gate, noise falls by" not in texts["silero"]
