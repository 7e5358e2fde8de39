"""Mu-law against the codec of another library: PyAV's, which is FFmpeg's."""

from __future__ import annotations

import av
import numpy as np

from fdbcore.audio.mulaw import from_mulaw, mulaw


def test_every_byte_has_the_value_of_ffmpeg() -> None:
    codec = av.CodecContext.create("pcm_mulaw", "r")
    codec.sample_rate, codec.layout = 8000, "mono"
    (frame,) = codec.decode(av.Packet(bytes(range(256))))
    assert np.array_equal(from_mulaw(bytes(range(256))), frame.to_ndarray()[0])


def test_every_value_goes_to_a_nearest_step_or_the_one_below() -> None:
    values = np.arange(-32768, 32768).astype(np.int16)
    found = from_mulaw(mulaw(values)).astype(int)
    steps = np.unique(from_mulaw(bytes(range(256)))).astype(int)
    gap = np.abs(found - values)
    assert (gap <= np.abs(steps[:, None] - values[None, ::97]).min(axis=0).max() * 2 + 1).all()
    assert (np.diff(found) >= 0).all()
    assert np.array_equal(from_mulaw(mulaw(steps.astype(np.int16))), steps), "what is on a step stays"


def test_speech_survives_as_it_does_in_ffmpeg() -> None:
    values = (8000 * np.sin(np.arange(8000) * 0.3)).astype(np.int16)
    error = from_mulaw(mulaw(values)).astype(float) - values
    assert 10 * np.log10(np.mean(values.astype(float) ** 2) / np.mean(error**2)) > 36, "G.711 has about 38 dB"
