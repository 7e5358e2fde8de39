"""The codecs of live calls against another library's: Opus, and mu-law."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame

from fdbcore.audio.mulaw import from_mulaw, mulaw
from fdbcore.audio.opus import OpusDecoder, OpusEncoder
from fdbcore.endpoints.webrtc.leg import OPUS_COMPLEXITY
from fdbcore.errors import FrameError
from fdbcore.sources.clips import read_clip
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"


def tone(seconds: float, hz: float = 440.0) -> Pcm:
    n = np.arange(int(seconds * SAMPLE_RATE_HZ))
    return (8000 * np.sin(2 * np.pi * hz * n / SAMPLE_RATE_HZ)).astype(np.int16)


def similarity(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    return float(np.corrcoef(a.astype(np.float64), b.astype(np.float64))[0, 1])


def other_decoder() -> AudioCodecContext:
    codec = AudioCodecContext.create("opus", "r")  # FFmpeg's own, which shares no code with libopus
    codec.sample_rate, codec.layout = SAMPLE_RATE_HZ, "mono"
    return codec


@pytest.mark.parametrize("application", ["voip", "lowdelay"])
@pytest.mark.parametrize("frame_ms", [10, 20, 60])
def test_another_decoder_hears_the_same_late_by_the_stated_look_ahead(application: str, frame_ms: int) -> None:
    encoder = OpusEncoder(frame_ms, application=application)  # type: ignore[arg-type]
    pcm = tone(0.6)
    other = other_decoder()
    heard = []
    for frame in pcm.reshape(-1, encoder.frame_samples):
        for decoded in other.decode(av.Packet(encoder.encode(frame))):
            heard.append(decoded.to_ndarray().reshape(-1))
    decoded_pcm = np.concatenate(heard)
    late = encoder.look_ahead_samples
    assert (
        similarity(decoded_pcm[late + 4800 : late + 24000], pcm[4800:24000]) > 0.97
    )  # voip filters out what lies below speech


def test_speech_of_live_calls_comes_out_as_well_as_with_the_most_work() -> None:
    speech, _ = read_clip(SAMPLE, "left")
    speech = speech[20 * SAMPLE_RATE_HZ : 30 * SAMPLE_RATE_HZ]
    snr_db = {}
    for complexity in (OPUS_COMPLEXITY, 10):
        encoder, decoder = OpusEncoder(complexity=complexity), OpusDecoder()
        heard = np.concatenate([decoder.decode(encoder.encode(frame)).copy() for frame in speech.reshape(-1, 480)])
        late = encoder.look_ahead_samples
        error = heard[late:].astype(np.float64) - speech[: len(speech) - late]
        snr_db[complexity] = 10 * np.log10((speech.astype(np.float64) ** 2).mean() / (error**2).mean())
    assert snr_db[OPUS_COMPLEXITY] > snr_db[10] - 0.2


def test_stereo_of_another_encoder_comes_out_as_mono() -> None:
    codec = AudioCodecContext.create("libopus", "w")
    codec.sample_rate, codec.format, codec.layout = SAMPLE_RATE_HZ, "s16", "stereo"
    codec.time_base, codec.options = Fraction(1, SAMPLE_RATE_HZ), {"frame_duration": "20"}
    decoder = OpusDecoder()
    pcm = tone(0.4)
    heard = []
    for n, samples in enumerate(pcm.reshape(-1, 960)):
        frame = AudioFrame.from_ndarray(np.repeat(samples, 2).reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate, frame.pts = SAMPLE_RATE_HZ, n * 960
        heard += [decoder.decode(bytes(packet)).copy() for packet in codec.encode(frame)]
    assert similarity(np.concatenate(heard)[312 + 4800 : 312 + 14400], pcm[4800:14400]) > 0.99


def test_a_lost_packet_is_concealed_and_the_voice_fades_when_more_are_lost() -> None:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    for frame in tone(0.3).reshape(-1, 480):
        packet = encoder.encode(frame)
        decoder.decode(packet)
    lost = bytes([packet[0] & 0xFC])
    levels = [int(np.abs(decoder.decode(lost).astype(np.int32)).max()) for _ in range(30)]
    assert len(decoder.decode(lost)) == 480
    assert levels[0] > 4000
    assert levels[-1] < levels[0] / 4


@pytest.mark.parametrize("packet", [b"", b"\x03\xff", b"\xff" * 3, b"\x0b\x80\x00"])
def test_what_is_no_packet_is_refused_and_harms_nothing(packet: bytes) -> None:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    with pytest.raises(FrameError, match="expected a packet"):
        decoder.decode(packet)
    assert len(decoder.decode(encoder.encode(tone(0.01)))) == 480


@pytest.mark.parametrize("pcm", [np.zeros(481, np.int16), np.zeros(480, np.float32), np.zeros(960, np.int16)[::2]])
def test_a_frame_of_another_kind_is_refused(pcm: Pcm) -> None:
    with pytest.raises(FrameError, match="expected int16"):
        OpusEncoder().encode(pcm)


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
