"""The figures of a side, against plain loops over its samples."""

import math
from statistics import median

import numpy as np
import numpy.typing as npt
import pytest
from helpers.faulty_audio import Stereo, in_rooms, sample

from fdbcore.measures.health.examine import HealthProbe
from fdbcore.measures.health.side_sound import figures, levels_of
from fdbcore.session.vad import EnergyVad
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ

BINS_HZ = SAMPLE_RATE_HZ / FRAME_SAMPLES


def found(channel: npt.NDArray[np.int16]) -> npt.NDArray[np.bool_]:
    vad = EnergyVad()
    said = [vad.push(frame) for frame in channel.reshape(-1, FRAME_SAMPLES)]
    return np.array((said + vad.finish())[vad.delay_ticks :], dtype=np.bool_)


def naive(channel: npt.NDArray[np.int16], active: list[bool]) -> dict[str, float | None]:
    """As `figures` says it, tick by tick."""
    pcm = channel.astype(np.float64) / 32_768
    ticks = (pcm - pcm.mean()).reshape(-1, FRAME_SAMPLES)
    powers = [float(np.mean(tick**2)) for tick in ticks]
    levels = [10 * math.log10(max(power, 1e-10)) for power in powers]
    n = len(active)
    quiet = [t for t in range(n) if not any(active[max(t - 20, 0) : t + 21])]
    noise = 10 * math.log10(max(median(powers[t] for t in quiet), 1e-10))
    middle = median(levels[t] for t in quiet)
    spoken = [t for t in range(n) if active[t]]
    stretches: list[list[int]] = []
    start = None
    for t in range(n + 1):
        if t < n and active[t]:
            start = t if start is None else start
        elif start is not None:
            if stretches and start - stretches[-1][1] < 20:
                stretches[-1][1] = t
            elif t - start >= 6:
                stretches.append([start, t])
            start = None
    after, falls, late = [], [], []
    for first, end in stretches:
        if end + 15 <= n and not any(active[end : end + 15]):
            after.append(10 * math.log10(max(sum(powers[end + 5 : end + 15]) / 10, 1e-10)))
        peak = max(levels[first:end])
        last = max(t for t in range(first, end) if levels[t] >= peak - 15)
        fallen = [t for t in range(last, min(end + 50, n)) if levels[t] < peak - 35]
        if fallen:
            falls.append(10 * (fallen[0] - last))
            heard = max(noise + 6, min(levels[last : end + 50]))
            first_db, last_db = next(((a, b) for a, b in ((30, 45), (30, 40)) if peak - b > heard), (25, 35))
            times = []
            for db in (first_db, last_db):
                t = next(t for t in range(last, n) if levels[t] < peak - db)
                part = (levels[t - 1] - peak + db) / (levels[t - 1] - levels[t]) if t > last else 1.0
                times.append(10 * (t - 1 + part))
            late.append((times[1] - times[0]) * 20 / (last_db - first_db))
    loud = [t for t in range(0, n, 10) if powers[t] > 1e-6]
    spectrum = np.mean([np.abs(np.fft.rfft(ticks[t] * np.hanning(FRAME_SAMPLES))) ** 2 for t in loud], axis=0)
    hz = np.arange(len(spectrum)) * BINS_HZ
    low, high = (float(spectrum[(hz >= a) & (hz < b)].mean()) for a, b in ((2500, 3300), (4500, 7500)))
    shows_falls = 2 * len(falls) > len(stretches)
    return {
        "level_dbov": 10 * math.log10(sum(powers[t] for t in spoken) / len(spoken)),
        "noise_dbov": noise,
        "spread_db": 1.4826 * median(abs(levels[t] - middle) for t in quiet),
        "under_db": float(np.quantile([levels[t] for t in spoken], 0.05)) - noise,
        "after_db": median(after) - noise,
        "fall_ms": median(falls) if shows_falls else None,
        "tail_ms": min(float(np.quantile(falls, 0.1)), float(np.quantile(late, 0.35))) if shows_falls else None,
        "high_drop_db": 10 * math.log10(low / high),
    }


@pytest.mark.parametrize("floor_dbov", [-75, -50, -38])
def test_figures_are_those_of_plain_loops(floor_dbov: float) -> None:
    pcm: Stereo = in_rooms(sample(), floor_dbov)
    channels = np.ascontiguousarray(pcm.T)
    with HealthProbe() as probe:
        for _ in probe.tap([(channels[0], channels[1])]):
            pass
        for heard, channel in zip(probe.sides().values(), channels, strict=True):
            active = found(channel)
            known = figures(heard, active)
            for name, value in naive(channel, active.tolist()).items():
                assert known.get(name) == pytest.approx(value, abs=0.02), name
            assert known["snr_db"] == pytest.approx((known["level_dbov"] or 0) - (known["noise_dbov"] or 0))


def test_levels_are_those_of_another_logarithm_to_the_last_bit() -> None:
    """NumPy's logarithm of single precision gives other bits on processors with AVX-512 than on others."""
    with HealthProbe() as probe:
        for _ in probe.tap([(np.ascontiguousarray(sample()[:, 0]), None)]):
            pass
        heard = probe.sides()["A"]
        levels, powers = levels_of(heard), heard.powers.tolist()
    least = float(np.float32(1e-10))
    assert levels.tolist() == [float(np.float32(10 * math.log10(max(power, least)))) for power in powers]
