"""What each line does to a voice, measured on the samples that come out, by other means than those that make it."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from fakes.parties import LoudVad, Speaker
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import wavfile
from scipy.signal import correlate, welch

from fdbcore.clock import VirtualClock
from fdbcore.errors import SettingsError
from fdbcore.lines.line import line_at
from fdbcore.recording.files import AUDIO
from fdbcore.recording.meta import KnownMeta
from fdbcore.recording.writer import RecordingWriter
from fdbcore.session.loop import run
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm, TurnSettings

ADDRESSES = ("telephone", "noise:20", "babble:15", "loss:5", "jitter:40", "echo:-30")
SILENT = np.zeros(FRAME_SAMPLES, np.int16)
LEVEL_DBOV = -26.0


def noise(n_ticks: int, seed: int, rms: float = 32768 * 10 ** (LEVEL_DBOV / 20)) -> Pcm:
    """White noise, int16 (n_ticks, 480), which stands for a voice that never pauses."""
    drawn = np.random.default_rng(seed).normal(0, rms, (n_ticks, FRAME_SAMPLES))
    return np.clip(np.rint(drawn), -32768, 32767).astype(np.int16)


def heard(address: str, a: Pcm, b: Pcm | None = None, seed: str = "1") -> tuple[Pcm, Pcm]:
    """What A and what B hear of the frames of both, int16 (n,) each."""
    line = line_at(address, seed)
    assert line is not None
    line.open(LEVEL_DBOV, LEVEL_DBOV)
    other = np.zeros_like(a) if b is None else b
    by_a, by_b = zip(*(line.carry(*frames) for frames in zip(a, other, strict=True)), strict=True)
    return np.concatenate(by_a), np.concatenate(by_b)


def delay_samples(address: str) -> int:
    line = line_at(address)
    assert line is not None
    found: int = line.describe()["to_b"]["delay_samples"]
    return found


def dbov(pcm: npt.NDArray[np.generic]) -> float:
    return float(10 * np.log10(np.mean((pcm.astype(np.float64) / 32768) ** 2)))


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_same_seed_gives_the_same_samples_and_another_one_others(address: str) -> None:
    a, b = noise(300, 1), noise(300, 2)
    assert np.array_equal(heard(address, a, b)[1], heard(address, a, b)[1])
    is_random = address not in ("telephone", "echo:-30")
    assert np.array_equal(heard(address, a, b)[1], heard(address, a, b, seed="2")[1]) != is_random


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_is_heard_depends_on_nothing_that_comes_later(address: str) -> None:
    a, b = noise(100, 1), noise(100, 2)
    other_a, other_b = a.copy(), b.copy()
    other_a[60:], other_b[60:] = noise(40, 3), noise(40, 4)
    until = 60 * FRAME_SAMPLES
    assert np.array_equal(heard(address, a, b)[1][:until], heard(address, other_a, other_b)[1][:until])


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_stated_delay_is_that_of_the_samples(address: str) -> None:
    a = noise(200, 1)
    out = heard(address, a)[1].astype(np.float64)
    late = int(np.argmax(correlate(out, a.ravel().astype(np.float64), method="fft"))) - (a.size - 1)
    assert late == delay_samples(address)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_line_changes_no_frame_of_its_sides_and_goes_back_only_where_said(address: str) -> None:
    a, b = noise(400, 1), noise(400, 2)
    kept_a, kept_b = a.copy(), b.copy()
    assert np.array_equal(heard(address, a, b)[0], b.ravel())
    both = heard(f"{address}?back=true", a, b)
    assert np.array_equal(a, kept_a)
    assert np.array_equal(b, kept_b)
    assert np.array_equal(both[1], heard(address, a, b)[1]), "the way to B is the same"
    assert not np.array_equal(both[0], b.ravel())


@pytest.mark.parametrize(
    ("address", "ratio_db"), [("noise:20", 20), ("noise:-3", -3), ("babble:15", 15), ("babble:0", 0)]
)
def test_noise_and_babble_lie_so_far_below_the_voice(address: str, ratio_db: float) -> None:
    a = noise(3000, 1)
    added = heard(address, a)[1].astype(np.int32) - a.ravel()
    assert dbov(a) - dbov(added) == pytest.approx(ratio_db, abs=0.3)


def test_white_noise_is_white_and_babble_is_voices_at_any_time() -> None:
    white = heard("noise:20", np.zeros((2000, FRAME_SAMPLES), np.int16))[1]
    _, power = welch(white.astype(np.float64), SAMPLE_RATE_HZ, nperseg=1024)
    assert 10 * np.log10(power[2:-2].max() / power[2:-2].min()) < 3
    babble = heard("babble:20", np.zeros((2000, FRAME_SAMPLES), np.int16))[1]
    frequencies_hz, power = welch(babble.astype(np.float64), SAMPLE_RATE_HZ, nperseg=4096)
    assert power[frequencies_hz < 4000].sum() / power.sum() > 0.9
    of_seconds = [dbov(second) for second in babble.reshape(-1, SAMPLE_RATE_HZ)]
    assert max(of_seconds) - min(of_seconds) < 8, "nobody is alone, and it never pauses"


def test_a_level_that_is_not_known_is_assumed_and_said() -> None:
    line = line_at("noise:20")
    assert line is not None
    line.open(None, None)
    said = line.describe()["to_b"]
    assert (said["speech_dbov"], said["speech_is_assumed"], said["level_dbov"]) == (-26, True, -46)


@pytest.mark.parametrize("percent", [5, 30])
def test_so_many_packets_of_20_ms_are_lost(percent: int) -> None:
    packets = noise(20_000, 1).reshape(-1, 2 * FRAME_SAMPLES)
    out = heard(f"loss:{percent}", packets.reshape(-1, FRAME_SAMPLES))[1].reshape(packets.shape)
    lost: npt.NDArray[np.bool_] = np.logical_not(out.any(axis=1))
    assert np.array_equal(out[~lost], packets[~lost]), "a packet is heard as it was, or not at all"
    assert lost.mean() * 100 == pytest.approx(percent, abs=4 * np.sqrt(percent * (100 - percent) / len(packets)))
    alone = np.mean(lost[1:] & lost[:-1]) / lost.mean()
    assert alone == pytest.approx(percent / 100, abs=0.05), "losses are independent"


def test_late_packets_of_a_jitter_are_those_that_miss_the_buffer() -> None:
    """By a simulation of the network: each packet's transit time, and RFC 3550's estimate of the jitter over them."""
    transit_ms = np.random.default_rng(1).exponential(40, 200_000)
    jitter_ms = 0.0
    for difference in np.abs(np.diff(transit_ms)):
        jitter_ms += (difference - jitter_ms) / 16
    assert np.mean(np.abs(np.diff(transit_ms))) == pytest.approx(40, rel=0.02)
    assert jitter_ms == pytest.approx(40, rel=0.6), "the running estimate wanders around it"
    buffer_ms = delay_samples("jitter:40") * 1000 / SAMPLE_RATE_HZ
    assert buffer_ms == 120
    packets = noise(20_000, 1).reshape(-1, 2 * FRAME_SAMPLES)
    out = heard("jitter:40", packets.reshape(-1, FRAME_SAMPLES))[1][delay_samples("jitter:40") :]
    missed = ~out[: len(out) // (2 * FRAME_SAMPLES) * 2 * FRAME_SAMPLES].reshape(-1, 2 * FRAME_SAMPLES).any(axis=1)
    assert missed.mean() == pytest.approx(np.mean(transit_ms > buffer_ms), abs=0.01)


def test_a_telephone_passes_its_band_alone() -> None:
    a = noise(3000, 1)
    frequencies_hz, after = welch(heard("telephone", a)[1].astype(np.float64), SAMPLE_RATE_HZ, nperseg=9600)
    _, before = welch(a.ravel().astype(np.float64), SAMPLE_RATE_HZ, nperseg=9600)
    gain_db = 10 * np.log10(after / before)
    inside = (frequencies_hz > 420) & (frequencies_hz < 3280)
    assert np.abs(gain_db[inside]).max() < 1
    at_edges = gain_db[np.isin(frequencies_hz, (300, 3400))]
    assert np.allclose(at_edges, -6, atol=1)
    outside = (frequencies_hz < 150) | (frequencies_hz > 4600)
    assert gain_db[outside].max() < -25, "what is left is the noise of the code"


def test_a_telephone_has_few_values_at_8_khz() -> None:
    tone = (10_000 * np.sin(2 * np.pi * 1000 * np.arange(200 * FRAME_SAMPLES) / SAMPLE_RATE_HZ)).astype(np.int16)
    out = heard("telephone", tone.reshape(-1, FRAME_SAMPLES))[1].astype(np.float64)[24_000:]
    _, power = welch(out, SAMPLE_RATE_HZ, nperseg=4800)
    peak = int(np.argmax(power))
    tone_power = power[peak - 2 : peak + 3].sum()
    assert 30 < 10 * np.log10(tone_power / (power.sum() - tone_power)) < 45, "G.711 has about 38 dB"


@given(st.integers(-60, 0), st.integers(0, 30))
@settings(max_examples=15, deadline=None)
def test_an_echo_is_the_other_voice_softer_and_later(level_db: int, shift: int) -> None:
    b = noise(60, shift)
    out = heard(f"echo:{level_db}", np.zeros_like(b), b)[1]
    late = 100 * SAMPLE_RATE_HZ // 1000
    expected = b.ravel()[: len(out) - late] * 10 ** (level_db / 20)
    assert not out[:late].any()
    assert np.abs(out[late:] - expected).max() <= 0.5 + 1e-9


def test_the_loop_lets_b_hear_the_line_and_records_what_was_said(tmp_path: Path) -> None:
    line = line_at("noise:20", "7")
    assert line is not None
    line.open(LEVEL_DBOV, None)
    a, b = Speaker([True] * 50), Speaker([True] * 50)
    known: KnownMeta = {"settings": {"turns": {}, "vad": {"A": {}, "B": {}}}}
    with RecordingWriter(tmp_path, known, keep_audio=True) as recording:
        run(a, b, VirtualClock(), (LoudVad(), LoudVad()), TurnSettings(), recording, line=line)
    said = np.full((50, FRAME_SAMPLES), 1000, np.int16)
    assert np.array_equal(np.concatenate(b.heard), heard("noise:20", said, seed="7")[1])
    assert np.array_equal(np.concatenate(a.heard), said.ravel())
    assert (wavfile.read(tmp_path / AUDIO)[1] == 1000).all()


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("nois:20", "expected one of telephone, noise, .*, clean, got 'nois'; perhaps noise"),
        ("noise", "noise: dB: expected a number from -20 to 80, got ''"),
        ("loss:120", "loss: percent: expected a number from 0 to 100, got '120'"),
        ("telephone:3", "expected telephone without a number, got '3'"),
        ("noise:20?bak=true", "expected settings of back, got 'bak'"),
    ],
)
def test_a_wrong_line_is_named(address: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        line_at(address)


def test_a_clean_line_is_none() -> None:
    assert line_at("clean") is None
