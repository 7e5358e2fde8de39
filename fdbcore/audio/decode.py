"""Decodes any audio file as a stream of int16 blocks, placed by their timestamps."""

import os
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final, Protocol, Self

import numpy as np
import numpy.typing as npt

from fdbcore._ext.filters import is_served
from fdbcore._ext.pcm import to_int16
from fdbcore._ext.resample import Resampler
from fdbcore.audio.files import SourceFile, content_hash, state_of
from fdbcore.audio.lengths import STATE_SAMPLES, is_cut_mpeg_frame, is_open_ogg, stated_data, stated_s
from fdbcore.errors import AudioError, FrameError
from fdbcore.types import SAMPLE_RATE_HZ, Pcm

Block = npt.NDArray[np.int16]
"""int16 (n, channels), at the sample rate of the file."""

LEAST_RATE_HZ: Final = 8_000
MOST_RATE_HZ: Final = 192_000

JITTER_MS: Final = 5  # containers round timestamps, mostly to 1 ms; a deviation above half a tick is a real gap
MOST_GAP_S: Final = 3600
MOST_GAPS_PER_S: Final = 20  # all gaps together: an hour, and so many seconds for each second of audio
MOST_OVERLAP_S: Final = 1

_DTYPES: Final = {"u8": np.uint8, "s16": np.int16, "s32": np.int32, "flt": np.float32, "dbl": np.float64}

# MPEG clocks start anywhere, and MP3 timestamps include the encoder's delay: here the first timestamp is time 0.
_STARTS_ANYWHERE: Final = frozenset({"mp3", "mpegts", "mpeg"})

# These containers never store the codec delay (of encoder and decoder together); others may.
_LOSES_DELAY: Final = frozenset({"asf", "avi", "flv", "mpeg", "mpegts"})

# The codec delay to expect if it is not stored: the least and the most among common encoders.
_DELAY_SAMPLES: Final = {
    "aac": (1024, 2112),
    "aac_latm": (1024, 2112),
    "ac3": (256, 256),
    "amr_nb": (40, 50),
    "eac3": (256, 256),
    "mp2": (481, 481),
    "mp3": (481, 1690),  # from 481, because MPEG streams report layer II as mp3, too
    "nellymoser": (128, 128),
    "wmav1": (512, 2048),
    "wmav2": (512, 2048),
}
_MPEG_AUDIO: Final = frozenset({"mp2", "mp3"})

# Files that leave their length open say so. WAV, FLAC and MP3 do so in most streams.
_STATE_END: Final = frozenset({"aiff", "au", "caf", "matroska,webm", "w64"})

# Ogg FLAC has a timestamp only at the end of each page: a gap can be seen, but not where in the page it lies.
_PLACED_BY_PAGE: Final = {("ogg", "flac")}

AUDIO_SUFFIXES: Final = frozenset(
    ".wav .flac .mp3 .ogg .opus .m4a .mp4 .webm .mka .mkv .aac .aiff .aif .au .wma".split()
)
"""Files in a folder with these suffixes are taken as audio. A file that the user names may have any suffix."""

OTHER_AUDIO_SUFFIXES: Final = frozenset(
    ".3gp .ac3 .aifc .amr .ape .avi .awb .caf .dts .eac3 .flv .gsm .mov .mp2 .oga .rf64 .sph .spx .tta .voc "
    ".w64 .wave .wmv .wv".split()
)
"""Files in a folder with these suffixes are not taken as audio, but can be read if the user names them."""

CONTAINERS: Final = (
    "aac,ac3,aiff,amr,amrnb,amrwb,ape,asf,au,avi,caf,dts,eac3,flac,flv,g722,gsm,loas,matroska,mov,mp3,mpeg,mpegts,"
    "nistsphere,ogg,tta,voc,w64,wav,wv"
)
"""All that is read, as FFmpeg names them. None of them names another file that would be opened."""

_PLAYABLE: Final = {  # codecs that every current browser plays, by container and suffix
    ("wav", ".wav"): {"pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_f32le", "pcm_mulaw", "pcm_alaw"},
    ("flac", ".flac"): {"flac"},
    ("mp3", ".mp3"): {"mp3"},
    ("ogg", ".ogg"): {"opus", "vorbis", "flac"},
    ("ogg", ".opus"): {"opus"},
    ("mov,mp4,m4a,3gp,3g2,mj2", ".m4a"): {"aac"},
    ("matroska,webm", ".webm"): {"opus", "vorbis"},
}
_ON_ONE_CLOCK: Final = "-af aresample=async=1:first_pts=0"  # silence up to where a track begins
_ONE_OF_TRACKS: Final = (
    "one for both sides: ffmpeg -i FILE -map 0:a:0 OUT.wav; one a side: ffmpeg -i FILE "
    f"-map 0:a:0 {_ON_ONE_CLOCK} A.wav -map 0:a:1 {_ON_ONE_CLOCK} B.wav, then give -a A.wav -b B.wav"
)
_IN_A_ROW: Final = "; several files in a row? ffmpeg -i FILE OUT.wav joins them"


class ToSessionRate(Protocol):
    """A streaming resampler of mono int16 to 48 kHz. It compensates its own delay.

    n samples in give round(n x 48,000 / rate) samples out in all.
    """

    def process(self, pcm: Pcm) -> Pcm:
        """Take `pcm`, int16 (n,), and return the output samples that are now complete, int16 (m,)."""

    def flush(self) -> Pcm:
        """The remaining output samples, int16 (m,), after the last input."""


def resampler_to_48k(rate_hz: int) -> ToSessionRate:
    """A resampler from `rate_hz` to 48 kHz: our own if it serves that rate, otherwise soxr."""
    return Resampler(rate_hz, SAMPLE_RATE_HZ) if is_served(rate_hz, SAMPLE_RATE_HZ) else _SoxrResampler(rate_hz)


class _SoxrResampler:
    """Soxr at its HQ setting. It runs in float32, because its int16 output is dithered with a new seed in each run."""

    def __init__(self, rate_hz: int) -> None:
        import soxr

        self._stream = soxr.ResampleStream(rate_hz, SAMPLE_RATE_HZ, 1, dtype="float32", quality="HQ")
        self._rate_hz = rate_hz
        self._in_samples = 0
        self._out_samples = 0

    def process(self, pcm: Pcm) -> Pcm:
        self._in_samples += len(pcm)
        out = self._run(pcm, last=False)
        self._out_samples += len(out)
        return out

    def flush(self) -> Pcm:
        # soxr may end some samples early or late: cut or pad to the exact length, rounded half up
        total_samples = (2 * self._in_samples * SAMPLE_RATE_HZ + self._rate_hz) // (2 * self._rate_hz)
        due_samples = total_samples - self._out_samples
        end = self._run(np.zeros(0, np.int16), last=True)[:due_samples]
        return np.pad(end, (0, due_samples - len(end)))

    def _run(self, pcm: Pcm, last: bool) -> Pcm:
        return to_int16(self._stream.resample_chunk(pcm.astype(np.float32) / 32768, last=last))


class AudioFile:
    """One audio file with one or two channels, decoded once from start to end. Memory does not grow with its length.

    Sample 0 is the file's time 0; for MP3 and MPEG streams it is the first timestamp. A gap in the timestamps becomes
    silence (in Ogg FLAC it is an error, because the file does not say where the gap lies). Audio that overlaps is
    dropped. Deviations up to 5 ms, and those of a single frame, come from the container and are ignored.

    path, container, codec, channels: as the file has them. rate_hz: the sample rate of the decoded audio. titles: those
    of its audio streams. track: which to read of two mono ones, a side each; several are refused if it is None.
    bit_depth: for uncompressed and lossless audio, otherwise None.
    stated_s: the length that the file claims, or None.
    samples: how many samples per channel were decoded so far.
    Raises AudioError: one line with the path, what was expected and what was found.
    """

    def __init__(self, path: str | os.PathLike[str], track: int | None = None) -> None:
        import av

        self.path = Path(path)
        self._refuse_what_is_no_file()
        self._data = stated_data(self.path)
        try:
            # A title in an old encoding is no reason to refuse a file. From 19 on PyAV does this by itself.
            lenient: dict[str, Any] = {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}
            # Some WAV files hold AC-3 or DTS that is called PCM. Few packets tell; the default reads on for 8 to 19 ms.
            # Packets of 4 kB, the default, cost more in Python than in FFmpeg.
            options = {"format_whitelist": CONTAINERS, "protocol_whitelist": "file"}
            options |= {"max_probe_packets": "4", "max_size": "8192"} if self._is_wav else {}
            options |= {"ignore_length": "1"} if self._is_wav and self._unstated_bytes else {}
            # "file:" keeps a colon in a name from being taken for a protocol
            self._container: Any = av.open(f"file:{self.path}", options=options, **lenient)
        except (av.error.FFmpegError, ValueError) as error:
            raise self._error("data that no decoder recognises as audio, or a format that is not read") from error
        try:
            self._open_stream(self._stream(track))
        except BaseException:
            self.close()
            raise

    def blocks(self) -> Iterator[Block]:
        """Yield the audio as int16 (n, channels), mostly a quarter of a second at a time; it can be read once.

        Float samples are multiplied by 32768, and wider integers lose their low bits; both round half to even.
        AudioError for NaN or infinity (it names the first), for damage before the end, and for a change of rate or
        channels.
        """
        parts: list[Block] = []
        gathered = 0
        for part in self._parts():
            if parts and gathered + len(part) > self.rate_hz // 4:
                yield np.concatenate(parts)
                parts, gathered = [], 0
            parts.append(part)
            gathered += len(part)
        if parts:
            yield np.concatenate(parts)

    @property
    def notes(self) -> list[str]:
        """Oddities so far, a line each: a wrong length in the header, an unknown delay, gaps, overlaps."""
        notes = []
        if self._is_wav and self._unstated_bytes:
            notes.append(f"read to its end: {self._unstated_bytes} bytes more than its header states")
        if self._data and (rest := self._data.another_bytes):
            notes.append(f"{rest:,} bytes after its audio hold another file: not read (tail -c {rest} FILE > REST)")
        if (delay := self._unknown_delay) is not None:
            notes.append(
                f"{self.container.split(',')[0]} does not store the {self.codec} encoder's delay:"
                f" all audio is {delay} late"
            )
        if self.stated_s is None and self.container in _STATE_END:
            notes.append("its length cannot be checked: its header leaves it open")
        if self.container == "ogg" and is_open_ogg(self.path):
            notes.append("its last page is not marked as the end of its stream: the rest may be missing")
        if self.inserted_samples:
            notes.append(f"{self._ms(self.inserted_samples)} of silence inserted where timestamps leave a gap")
        if self.overlapping_samples:
            notes.append(f"{self._ms(self.overlapping_samples)} dropped where timestamps overlap")
        return notes

    @property
    def damage(self) -> str | None:
        """The part missing at the end, or None; known once `blocks` has ended. The audio before that is sound."""
        held_s = self.samples / self.rate_hz
        if self._damaged and (self.stated_s is None or held_s < self.stated_s):
            return f"damaged from {held_s:.3f} s to its end"
        if self._ended and self._data and self._data.missing_bytes:
            return f"cut off: {self._data.missing_bytes} bytes fewer than its header states, {held_s:.3f} s remain"
        if self._ended and self._unstated_bytes and not self._is_wav:
            return f"{self._unstated_bytes} bytes more than its header states"
        if self._ended and self.stated_s and self._is_wrong(self.stated_s, held_s):
            cut = "cut off: " if held_s < self.stated_s else ""
            return f"{cut}it states {self.stated_s:.3f} s and holds {held_s:.3f} s"
        return f"cut off within its last frame, {held_s:.3f} s remain" if self._cut else None

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file's content, in hex."""
        return content_hash(self.path)

    @property
    def playable_in_browser(self) -> bool:
        """True if a browser can play the file itself with the same timing that `blocks` has yielded so far."""
        codecs = _PLAYABLE.get((self.container, self.path.suffix.lower()), set())
        moved_samples = self.inserted_samples + self.overlapping_samples
        in_time = moved_samples <= self._at_rate(JITTER_MS, 1000)
        whole = in_time and not self._unstated_bytes
        return self.codec in codecs and len(self._container.streams) == 1 and whole

    def describe(self) -> SourceFile:
        """The properties above as JSON values, with the absolute path and the file's size and time."""
        state = state_of(self.path)
        return {
            "path": str(self.path.resolve()),
            "bytes": state["bytes"],
            "modified_ns": state["modified_ns"],
            "sha256": self.sha256,
            "container": self.container,
            "codec": self.codec,
            "rate_hz": self.rate_hz,
            "channels": self.channels,
            "bit_depth": self.bit_depth,
            "samples": self.samples,
            "notes": self.notes,
            "damage": self.damage,
            "playable_in_browser": self.playable_in_browser,
        }

    def close(self) -> None:
        """Release the file."""
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _unknown_delay(self) -> str | None:
        """The delay of the audio that comes from a codec delay not stored; None if it is known and compensated."""
        if self._delay_is_undone or self.codec not in _DELAY_SAMPLES:
            return None
        least, most = (f"{1000 * samples / self.rate_hz:.0f}" for samples in _DELAY_SAMPLES[self.codec])
        return f"{least} ms" if least == most else f"{least} to {most} ms"

    @property
    def _unstated_bytes(self) -> int:
        return self._data.unstated_bytes if self._data else 0

    @property
    def _is_wav(self) -> bool:
        return self._data is not None and self._data.is_wav

    def _is_wrong(self, stated_s: float, held_s: float) -> bool:
        """True if another length came than was stated, as far as the container is exact."""
        if self._data and not self._is_wav:
            return False  # the bytes were compared
        if self.container in STATE_SAMPLES:
            return abs(held_s - stated_s) > 0.5 / self.rate_hz
        if self.container == "matroska,webm":  # it states up to the end of the last packet, before any is trimmed
            packets_s = (self._last_packet_us - min(self._first_packet_us, 0)) / 1_000_000
            return packets_s < stated_s - self._longest_samples / self.rate_hz
        return held_s < 0.98 * stated_s - 0.1

    def _refuse_what_is_no_file(self) -> None:
        # os.path, because Path raises for a name that is too long and for a folder without search permission
        if os.path.isdir(self.path):
            expected = "an audio file, or a folder with input.wav and output.wav, or A.wav and B.wav"
            raise self._error("a folder", expected)
        if os.path.islink(self.path) and not os.path.exists(self.path):
            raise self._error("a link that leads nowhere", expected="an audio file")
        if not os.path.exists(self.path):
            kind = "file" if self.path.suffix else "file or folder"
            expected = "an audio file" if self.path.suffix else "an audio file or a folder"
            raise self._error(f"no such {kind}, or no permission to look for it", expected=expected)
        if not os.path.isfile(self.path) or not os.access(self.path, os.R_OK):
            raise self._error("another kind of file, or no permission", expected="a regular file that may be read")
        if not self.path.stat().st_size:
            raise self._error("an empty file")

    def _stream(self, track: int | None) -> Any:  # noqa: ANN401
        streams = self._container.streams.audio
        self.titles = tuple(str(stream.metadata.get("title", "")) for stream in streams)
        if any(stream.codec_context is None for stream in streams):
            raise self._error("a codec that no decoder knows")
        by_side = track is not None and [stream.codec_context.layout.nb_channels for stream in streams] == [1, 1]
        if len(streams) != 1 and not by_side:
            raise self._error(f"{len(streams)} ({_ONE_OF_TRACKS})" if streams else "none", expected="one audio stream")
        return streams[track or 0]

    def _open_stream(self, stream: Any) -> None:  # noqa: ANN401
        if stream.codec_context.name == "flac":  # without these options a damaged frame decodes to noise
            stream.codec_context.options = {"err_detect": "crccheck+explode"}
        self.container: str = self._container.format.name
        left_open = self._data and (not self._data.stated_bytes or (self._is_wav and self._unstated_bytes))
        self.stated_s = None if left_open else stated_s(self._container, stream, self.path)
        self.samples = self.inserted_samples = self.overlapping_samples = 0
        self._damaged = self._ended = self._cut = False
        self._first_packet_us = self._last_packet_us = self._longest_samples = 0
        frames = self._decode(stream)
        first = next(frames, None)
        if first is None:
            raise self._error("a file without a single sample that can be decoded")
        self._frames = chain([first], frames)
        self.codec: str = stream.codec_context.codec.canonical_name
        self.rate_hz: int = first.sample_rate
        self.channels: int = first.layout.nb_channels
        self.bit_depth = _bit_depth(self.codec, first.format.name)
        self._format: str = first.format.name
        self._refuse_what_is_no_conversation()
        start_us = (self._container.start_time or 0) if self.container in _STARTS_ANYWHERE else 0
        self._origin_samples = self._at_rate(start_us, 1_000_000)
        # A container that stores the delay places the first packet before time 0, or the first frame after it.
        early = self._first_packet_us < start_us
        self._delay_is_undone = self.container not in _LOSES_DELAY and (early or (first.pts and self._start(first) > 0))

    def _refuse_what_is_no_conversation(self) -> None:
        if self.channels > 2:
            remedy = "keep two: ffmpeg -i FILE -af 'pan=stereo|c0=c0|c1=c1' OUT"
            raise self._error(f"{self.channels} ({remedy})", expected="one or two channels")
        if not LEAST_RATE_HZ <= self.rate_hz <= MOST_RATE_HZ:
            raise self._error(f"{self.rate_hz} Hz", expected=f"a rate from {LEAST_RATE_HZ} to {MOST_RATE_HZ} Hz")
        if self._format.removesuffix("p") not in _DTYPES:
            raise self._error(f"the format {self._format}", expected="samples of at most 32 bits, or floating point")

    def _decode(self, stream: Any) -> Iterator[Any]:  # noqa: ANN401
        """The decoded frames. Damage before the first or after the last frame is skipped; elsewhere it is an error."""
        from av.error import FFmpegError

        packets = self._container.demux(stream)
        started, last = False, None
        while True:
            try:
                packet = next(packets, None)
                frames = [] if packet is None else packet.decode()
            except (FFmpegError, ValueError):  # PyAV 19 raises ValueError if there is no decoder
                self._damaged = started
                continue
            if packet is None:
                break
            if last is None and packet.pts is not None:
                self._first_packet_us = round(packet.pts * packet.time_base * 1_000_000)
            last = packet if packet.size else last
            for frame in frames:
                self._longest_samples = max(self._longest_samples, frame.samples)
                if self._damaged:
                    got = f"damaged data at {self.samples / self.rate_hz:.3f} s{_IN_A_ROW * (self.container == 'mp3')}"
                    raise self._error(got, expected="audio that can be decoded throughout")
                started = True
                yield frame
        self._ended = True
        if last is not None and last.pts is not None:
            self._last_packet_us = round((last.pts + (last.duration or 0)) * last.time_base * 1_000_000)
        if started:  # without a decoder PyAV 19 cannot name the codec
            codec = stream.codec_context.codec.canonical_name
            self._cut = codec in _MPEG_AUDIO and is_cut_mpeg_frame(bytes(last or b""))

    def _parts(self) -> Iterator[Block]:
        """The samples of each frame that are new, and the silence before it."""
        for frame, following in pairwise(chain(self._frames, [None])):
            shift = self._shift(frame, following)
            while shift > 0:
                silence = min(shift, self.rate_hz)
                self.samples += silence
                shift -= silence
                yield np.zeros((silence, self.channels), np.int16)
            block = self._int16(frame, self.samples + shift)[-shift:]
            self.samples += len(block)
            if len(block):
                yield block

    def _shift(self, frame: Any, following: Any) -> int:  # noqa: ANN401
        """Samples from the end of the audio so far to the start of `frame`; negative if it overlaps, 0 for rounding.

        FFmpeg misplaces single frames of Ogg Vorbis by up to 19 ms where the block size changes. So the frame
        `following` (None at the end) has to agree. If the two differ, the shift nearer to 0 is taken, and 0 if they
        point in opposite directions.
        """
        if frame.pts is None or not (shift := self._start(frame) - self.samples):
            return 0
        unit = frame.time_base
        rounding_samples = max(self._at_rate(JITTER_MS, 1000), self._at_rate(unit.numerator, unit.denominator))
        if following is not None and following.pts is not None:
            next_shift = self._start(following) - frame.samples - self.samples
            if abs(next_shift - shift) > rounding_samples:
                shift = min(shift, next_shift, key=abs) if shift * next_shift > 0 else 0
        if shift == 0 or (self.samples and abs(shift) <= rounding_samples):
            return 0
        unsure = (self.container, self.codec) in _PLACED_BY_PAGE
        hour_samples, gaps_samples = MOST_GAP_S * self.rate_hz, self.inserted_samples
        left_samples = hour_samples + MOST_GAPS_PER_S * (self.samples - gaps_samples) - gaps_samples
        if unsure or not -MOST_OVERLAP_S * self.rate_hz <= shift <= min(hour_samples, left_samples):
            at_s, to_s = self.samples / self.rate_hz, (self.samples + shift) / self.rate_hz
            after = f", after gaps of {gaps_samples / self.rate_hz:.3f} s" if gaps_samples else ""
            after += _IN_A_ROW * (self.container in ("flac", "ogg") and shift < 0)
            raise self._error(f"a jump from {at_s:.3f} s to {to_s:.3f} s{after}", expected="timestamps that go on")
        self.inserted_samples += max(shift, 0)
        self.overlapping_samples += min(max(-shift, 0), frame.samples)
        return shift

    def _start(self, frame: Any) -> int:  # noqa: ANN401
        """The sample at which `frame` begins, from its timestamp."""
        unit = frame.time_base
        return self._at_rate(frame.pts * unit.numerator, unit.denominator) - self._origin_samples

    def _int16(self, frame: Any, start_sample: int) -> Block:  # noqa: ANN401
        kind = (frame.sample_rate, frame.layout.nb_channels, frame.format.name)
        if kind != (self.rate_hz, self.channels, self._format):
            at_s = self.samples / self.rate_hz
            raise self._error(
                f"{kind} at {at_s:.3f} s", expected=f"{(self.rate_hz, self.channels, self._format)} throughout"
            )
        dtype, width = _DTYPES[self._format.removesuffix("p")], self.channels // len(frame.planes)
        planes = [np.frombuffer(plane, dtype, frame.samples * width).reshape(-1, width) for plane in frame.planes]
        samples = planes[0] if len(planes) == 1 else np.concatenate(planes, axis=1)
        try:
            return to_int16(samples, start_sample)
        except FrameError as error:
            raise AudioError(f"{self.path}: {str(error).removeprefix('pcm: ')}") from error

    def _at_rate(self, numerator: int, denominator: int) -> int:
        """The samples in numerator / denominator seconds, rounded half up."""
        return (2 * numerator * self.rate_hz + denominator) // (2 * denominator)

    def _ms(self, samples: int) -> str:
        return f"{1000 * samples / self.rate_hz:.0f} ms"

    def _error(self, got: str, expected: str = "audio (WAV, FLAC, MP3, Ogg, M4A, WebM, ...)") -> AudioError:
        return AudioError(f"{self.path}: expected {expected}, got {got}")


def _bit_depth(codec: str, sample_format: str) -> int | None:
    if match := re.match(r"pcm_[a-z]+(\d+)", codec):
        return int(match[1])
    if codec in ("pcm_alaw", "pcm_mulaw"):
        return 8
    return {"s16": 16, "s16p": 16, "s32": 24, "s32p": 24}.get(sample_format) if codec in ("flac", "alac") else None
