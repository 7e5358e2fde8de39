"""Opus (RFC 6716), frame by frame: libopus through PyAV. It codes at 48 kHz whatever the rate of its source was."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from av.packet import Packet

from fdbcore.types import SAMPLE_RATE_HZ, TICK_MS, Pcm

LOOK_AHEAD_SAMPLES = {"voip": 312, "lowdelay": 120}
"""By which the decoded signal lags the encoded one, by application."""


class OpusEncoder:
    """Encodes mono frames of one length, each to one packet.

    frame_ms: 10, 20, 40 or 60. application: "voip" shapes speech, "lowdelay" has the shorter look-ahead.
    """

    def __init__(
        self, frame_ms: int = TICK_MS, bit_rate: int = 64_000, application: Literal["voip", "lowdelay"] = "lowdelay"
    ) -> None:
        self.frame_samples = frame_ms * SAMPLE_RATE_HZ // 1000
        codec = AudioCodecContext.create("libopus", "w")
        codec.sample_rate, codec.format, codec.layout, codec.bit_rate = SAMPLE_RATE_HZ, "s16", "mono", bit_rate
        codec.time_base = Fraction(1, SAMPLE_RATE_HZ)
        codec.options = {"application": application, "frame_duration": str(frame_ms)}
        codec.open()
        self._codec = codec
        self._frame = AudioFrame(format="s16", layout="mono", samples=self.frame_samples)
        self._frame.sample_rate = SAMPLE_RATE_HZ
        self._frames = 0

    def encode(self, pcm: Pcm) -> bytes:
        """The packet of the next frame, int16 (frame_samples,)."""
        self._frame.planes[0].update(pcm.tobytes())
        self._frame.pts = self._frames * self.frame_samples
        self._frames += 1
        return bytes(self._codec.encode(self._frame)[0])


class OpusDecoder:
    """Decodes packets, mono or stereo and of any length, to mono at 48 kHz, and conceals those that are missing."""

    def __init__(self) -> None:
        codec = AudioCodecContext.create("libopus", "r")
        codec.sample_rate, codec.layout = SAMPLE_RATE_HZ, "mono"
        codec.open()
        self._codec = codec

    def decode(self, packet: bytes) -> Pcm:
        """The samples of a packet, int16 (n,); of one that is only a TOC byte: concealment of that many samples.

        av.error.InvalidDataError if it is not an Opus packet.
        """
        frames = self._codec.decode(Packet(packet))
        return np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames])
