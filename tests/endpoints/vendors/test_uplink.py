"""What a party hears, against the whole signal resampled at once, and its clock against the session's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import resample_poly

from fdbcore.endpoints.vendors.uplink import Uplink
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

RATES_HZ = [8_000, 16_000, 24_000, 48_000]


def chirp(ticks: int) -> Pcm:
    """A tone that rises from 100 to 1,500 Hz: no two parts of it are alike."""
    seconds = np.arange(ticks * FRAME_SAMPLES) / SAMPLE_RATE_HZ
    pcm: Pcm = (8000 * np.sin(2 * np.pi * (100 + 700 * seconds / seconds[-1]) * seconds)).astype(np.int16)
    return pcm


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_the_party_hears_the_session_late_by_what_is_stated(rate_hz: int) -> None:
    uplink, pcm = Uplink(rate_hz), chirp(100)
    packets = [packet for tick in range(100) for packet in uplink.hear(tick, pcm.reshape(100, -1)[tick])]
    heard = np.frombuffer(b"".join(packets), "<i2").astype(float)
    lead_samples = round(uplink.lead_ms * rate_hz / 1000)
    assert not heard[:lead_samples].any()
    expected = resample_poly(pcm.astype(float), rate_hz, SAMPLE_RATE_HZ)[: len(heard) - lead_samples]
    assert np.abs(heard[lead_samples:] - expected).max() < 200, "within 0.2 dB of a tone of 8,000"
    assert uplink.session_ms(500 + uplink.lead_ms) == pytest.approx(500)


@settings(max_examples=20, deadline=None)
@given(heard=st.sets(st.integers(0, 59), min_size=1), rate_hz=st.sampled_from(RATES_HZ))
def test_missed_ticks_were_silent_and_each_packet_is_whole(heard: set[int], rate_hz: int) -> None:
    pcm = chirp(60).reshape(60, -1)
    last = max(heard)
    skipping, whole = Uplink(rate_hz, 20), Uplink(rate_hz, 20)
    found = [packet for tick in sorted(heard) for packet in skipping.hear(tick, pcm[tick])]
    silenced = [pcm[tick] if tick in heard else np.zeros(FRAME_SAMPLES, np.int16) for tick in range(last + 1)]
    assert found == [packet for tick, frame in enumerate(silenced) for packet in whole.hear(tick, frame)]
    assert all(len(packet) == 2 * rate_hz // 50 for packet in found)
    assert len(found) == (last + 1) // 2, "a packet leaves with its last tick"


def test_a_longer_packet_waits_longer_and_says_so() -> None:
    uplink = Uplink(48_000, packet_ms=60)
    packets = [len(uplink.hear(tick, np.zeros(FRAME_SAMPLES, np.int16))) for tick in range(12)]
    assert packets == [0, 0, 0, 0, 0, 1] * 2
    assert uplink.measured()["out_delay_samples"] == 5 * FRAME_SAMPLES
    assert uplink.measured()["sent_samples"] == 12 * FRAME_SAMPLES
