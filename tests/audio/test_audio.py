"""Decoding: samples against independent readers, places against the timestamps a file was made with, and bad files."""

import functools
import hashlib
import itertools
import json
import os
import re
import struct
import tempfile
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.audio_files import Int16, add_video, beeps, encode, noise, onsets
from scipy.io import wavfile

from fdbcore.audio.decode import AudioFile, resampler_to_48k
from fdbcore.errors import AudioError


def read(path: Path) -> Int16:
    with AudioFile(path) as audio:
        pcm = np.concatenate(list(audio.blocks()))
        assert audio.samples == len(pcm)
        return pcm


def notes(path: Path) -> list[str]:
    return read_through(path).notes


def damage(path: Path) -> str | None:
    return read_through(path).damage


def read_through(path: Path) -> AudioFile:
    with AudioFile(path) as audio:
        for _ in audio.blocks():
            pass
        return audio


# --- samples


def half_even(values: npt.NDArray[Any], steps: float) -> Int16:
    """In int16 steps, in extended precision: exact for every format here."""
    steps_of_16_bits: Int16 = np.clip(np.rint(values.astype(np.longdouble) * steps), -32768, 32767).astype(np.int16)
    return steps_of_16_bits


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(
    ("dtype", "zero", "steps", "codec", "bits"),
    [
        (np.uint8, 128, 256, "pcm_u8", 8),
        (np.int16, 0, 1, "pcm_s16le", 16),
        (np.int32, 0, 1 / 65536, "pcm_s32le", 32),
        (np.float32, 0, 32768, "pcm_f32le", 32),
        (np.float64, 0, 32768, "pcm_f64le", 64),
    ],
)
def test_every_sample_format_of_wav(
    tmp_path: Path, channels: int, dtype: type, zero: int, steps: float, codec: str, bits: int
) -> None:
    rng = np.random.default_rng(channels)
    if np.issubdtype(dtype, np.floating):
        values = np.concatenate(
            [rng.uniform(-1.2, 1.2, (9000, channels)), rng.integers(-9, 9, (1000, channels)) / 65536]
        )
        values = values.astype(dtype)
    else:
        values = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (10_000, channels), dtype, endpoint=True)
    wavfile.write(tmp_path / "x.wav", 44_100, values)
    expected = half_even(values.astype(np.longdouble) - zero, steps)
    assert np.array_equal(read(tmp_path / "x.wav"), expected)
    with AudioFile(tmp_path / "x.wav") as audio:
        facts = (audio.container, audio.codec, audio.rate_hz, audio.channels, audio.bit_depth)
        assert facts == ("wav", codec, 44_100, channels, bits)


def test_24_bit_wav_is_rounded_half_to_even(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(-(2**23), 2**23, 10_000)
    values[:8] = [128, 384, -128, -384, 127, 129, 2**23 - 1, -(2**23)]  # ties, their neighbours, and the ends
    with wave.open(str(tmp_path / "x.wav"), "wb") as file:
        file.setparams((1, 3, 48_000, 0, "NONE", ""))
        file.writeframes(b"".join(int(value).to_bytes(3, "little", signed=True) for value in values))
    pcm = read(tmp_path / "x.wav")[:, 0]
    assert pcm[:8].tolist() == [0, 2, 0, -2, 0, 1, 32767, -32768]
    assert np.array_equal(pcm, half_even(wavfile.read(tmp_path / "x.wav")[1], 1 / 65536))


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(
    ("name", "codec"), [("x.flac", "flac"), ("x.m4a", "alac"), ("x.ogg", "flac"), ("x.aiff", "pcm_s16be")]
)
def test_lossless_files_come_back_bit_for_bit(tmp_path: Path, name: str, codec: str, channels: int) -> None:
    pcm = noise(30_000, channels)
    assert np.array_equal(read(encode(tmp_path / name, codec, pcm)), pcm)


def test_clipped_audio_and_a_dc_offset_are_left_as_they_are(tmp_path: Path) -> None:
    pcm = np.clip(noise(5000, 2).astype(np.int32) * 3 + 4000, -32768, 32767).astype(np.int16)
    wavfile.write(tmp_path / "x.wav", 48_000, pcm)
    assert np.array_equal(read(tmp_path / "x.wav"), pcm)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_sample_that_is_not_finite_is_named(tmp_path: Path, dtype: type, bad: float) -> None:
    values: npt.NDArray[Any] = np.zeros((30_000, 2), dtype)
    values[20_001, 1] = values[25_000:, 0] = bad
    wavfile.write(tmp_path / "x.wav", 48_000, values)
    with pytest.raises(AudioError, match=rf"x\.wav: expected finite samples, got {bad} at sample 20001, channel 1$"):
        read(tmp_path / "x.wav")


# --- places


@pytest.mark.parametrize(
    ("name", "codec", "rate_hz"),
    [
        ("x.mp3", "libmp3lame", 44_100),
        ("x.mp3", "libmp3lame", 48_000),
        ("x.m4a", "aac", 44_100),
        ("x.m4a", "aac", 48_000),
        ("x.mka", "aac", 44_100),
        ("x.ogg", "libopus", 48_000),
        ("x.webm", "libopus", 48_000),
    ],
)
def test_the_delay_of_an_encoder_does_not_show(tmp_path: Path, name: str, codec: str, rate_hz: int) -> None:
    at = [0, rate_hz // 2, 2 * rate_hz]
    found = onsets(read(encode(tmp_path / name, codec, beeps(3 * rate_hz, at, rate_hz), rate_hz)), rate_hz)
    assert np.abs(np.subtract(found, onsets(beeps(3 * rate_hz, at, rate_hz), rate_hz))).max() <= 2


def with_gap(start: int) -> int:
    return 24_000 + start + (12_000 if start >= 48_000 else 0)


@pytest.mark.parametrize(
    ("name", "codec", "tolerance_samples"),
    [
        ("x.ogg", "libopus", 2),
        ("x.mka", "pcm_s16le", 48),  # Matroska counts in ms
        ("x.webm", "libopus", 96),
        ("x.m4a", "aac", 48),  # the edit list counts in ms
        ("x.m4a", "alac", 48),
    ],
)
def test_a_late_start_and_a_gap_are_filled_with_silence(
    tmp_path: Path, name: str, codec: str, tolerance_samples: int
) -> None:
    path = encode(tmp_path / name, codec, beeps(96_000, [20_000, 70_000]), pts=with_gap)
    found = onsets(read(path))
    assert np.abs(np.subtract(found, [24_000 + 20_000, 36_000 + 70_000])).max() <= tolerance_samples + 8
    assert len(notes(path)) == 1
    assert "silence inserted" in notes(path)[0]


@pytest.mark.parametrize(("name", "codec"), [("x.mp4", "aac"), ("x.mkv", "libopus"), ("x.mkv", "pcm_s16le")])
def test_audio_that_starts_after_the_video_keeps_its_place(tmp_path: Path, name: str, codec: str) -> None:
    path = encode(tmp_path / name, codec, beeps(96_000, [20_000]), pts=lambda start: start + 24_000, video=True)
    assert onsets(read(path)) == [pytest.approx(44_000, abs=104)]


def test_the_clock_of_an_mpeg_stream_may_start_anywhere(tmp_path: Path) -> None:
    path = encode(tmp_path / "x.ts", "mp2", beeps(96_000, [20_000]), pts=lambda start: start + 480_000)
    assert onsets(read(path)) == [pytest.approx(20_000, abs=600)]
    assert "mpegts does not store" in notes(path)[0]


def test_what_overlaps_is_dropped(tmp_path: Path) -> None:
    def pts(start: int) -> int:  # from one second on, five frames come 15 ms early each
        return start - 720 * min(max(0, start // 960 - 50), 5)

    pcm = noise(96_000)
    path = encode(tmp_path / "x.mka", "pcm_s16le", pcm, pts=pts, frame_samples=960)
    placed: list[int] = []
    for start in range(0, len(pcm), 960):
        placed += pcm[start + len(placed) - pts(start) : start + 960, 0].tolist()
    assert read(path)[:, 0].tolist() == placed
    assert notes(path) == ["75 ms dropped where timestamps overlap"]


def test_rounded_timestamps_change_nothing(tmp_path: Path) -> None:
    pcm = noise(96_000)
    path = encode(tmp_path / "x.mka", "pcm_s16le", pcm, pts=lambda start: start + start // 1024 * 61 % 7 * 32)
    assert np.array_equal(read(path), pcm)
    assert notes(path) == []


@pytest.mark.parametrize(
    ("name", "codec", "samples", "pts", "jump"),
    [
        ("x.ogg", "flac", 192_000, with_gap, ""),  # Ogg FLAC cannot place a gap
        ("x.mka", "pcm_s16le", 96_000, lambda at: at + (48_000 * 3601 if at else 0), r"0\.021 s to 3601\."),
        ("x.mka", "pcm_s16le", 96_000, lambda at: at + at // 1024 * 48_000 * 1800, r"3600\.\d+ s to .*, after gaps"),
    ],
)
def test_gaps_far_longer_than_the_audio_or_that_cannot_be_placed_are_an_error(
    name: str, codec: str, samples: int, pts: Callable[[int], int], jump: str, tmp_path: Path
) -> None:
    path = encode(tmp_path / name, codec, noise(samples), pts=pts)
    with pytest.raises(AudioError, match=rf"{name}: expected timestamps that go on, got a jump from {jump}"):
        read(path)


def test_timestamps_that_begin_anew_are_an_error(tmp_path: Path) -> None:
    path = encode(tmp_path / "x.ts", "mp2", noise(96_000))
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(AudioError, match=r"expected timestamps that go on, got a jump from 2\.016 s to 0\.000 s"):
        read(path)


# --- bad files


def wav_bytes(pcm: Int16, **changes: int) -> bytes:
    """A plain WAV file; `changes` lie about its fields."""
    channels = pcm.shape[1]
    fields = {
        "riff_size": 36 + pcm.nbytes,
        "format": 1,
        "channels": channels,
        "rate_hz": 48_000,
        "byte_rate": 96_000 * channels,
        "block": 2 * channels,
        "bits": 16,
        "data_size": pcm.nbytes,
    } | changes
    riff_size, *form, data_size = fields.values()
    start = struct.pack("<4sI4s4sI", b"RIFF", riff_size, b"WAVE", b"fmt ", 16) + struct.pack("<HHIIHH", *form)
    return start + struct.pack("<4sI", b"data", data_size) + pcm.tobytes()


@pytest.mark.parametrize(
    "lie",
    [
        {"data_size": 0},
        {"data_size": 0xFFFFFFFF},
        {"data_size": 0xFFFFFFF0},
        {"data_size": 10_000_000},
        {"riff_size": 0},
        {"riff_size": 0xFFFFFFFF},
        {"byte_rate": 1},
    ],
)
def test_the_length_of_the_file_counts_not_what_its_header_says(tmp_path: Path, lie: dict[str, int]) -> None:
    pcm = noise(20_000, 2)
    (tmp_path / "x.wav").write_bytes(wav_bytes(pcm, **lie))
    assert np.array_equal(read(tmp_path / "x.wav"), pcm)


def test_a_title_in_an_old_encoding_is_no_reason_to_refuse_a_file(tmp_path: Path) -> None:
    title = b"LIST" + struct.pack("<I", 16) + b"INFOINAM" + struct.pack("<I", 4) + b"M\xfc\xff\x00"
    pcm = noise(900, 2)
    plain = wav_bytes(pcm)
    (tmp_path / "x.wav").write_bytes(plain[:36] + title + plain[36:])
    assert np.array_equal(read(tmp_path / "x.wav"), pcm)


def test_a_file_cut_off_in_the_middle_of_a_sample_is_read_to_its_end(tmp_path: Path) -> None:
    pcm = noise(20_000, 2)
    (tmp_path / "x.wav").write_bytes(wav_bytes(pcm)[: 44 + 4 * 7777 + 3])
    assert np.array_equal(read(tmp_path / "x.wav"), pcm[:7777])
    assert "cut off" in str(damage(tmp_path / "x.wav"))


@pytest.mark.parametrize(("name", "codec"), [("x.flac", "flac"), ("x.mp3", "libmp3lame"), ("x.webm", "libopus")])
def test_a_compressed_file_that_was_cut_off_is_read_to_its_end_and_says_so(
    tmp_path: Path, name: str, codec: str
) -> None:
    path = encode(tmp_path / name, codec, noise(96_000))
    whole = read(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert 24_000 < len(read(path)) < 72_000
    assert np.array_equal(read(path), whole[: len(read(path))])
    assert re.match("cut off: it states 2.0|damaged from", str(damage(path)))


@pytest.mark.parametrize(("name", "codec"), [("x.mp3", "libmp3lame"), ("x.m4a", "aac")])
def test_damage_inside_is_an_error(tmp_path: Path, name: str, codec: str) -> None:
    path = encode(tmp_path / name, codec, noise(96_000))
    content, middle = path.read_bytes(), path.stat().st_size // 2
    path.write_bytes(content[:middle] + bytes(3000) + content[middle + 3000 :])
    with pytest.raises(AudioError, match=r"expected audio that can be decoded throughout, got damaged data at [01]\."):
        read(path)


def test_a_frame_that_is_lost_leaves_its_place_silent(tmp_path: Path) -> None:
    pcm = noise(96_000)
    path = encode(tmp_path / "x.flac", "flac", pcm)
    content, middle = path.read_bytes(), path.stat().st_size // 2
    path.write_bytes(content[:middle] + bytes(50) + content[middle + 50 :])  # without its checksum it would decode
    found = read(path)
    lost = np.flatnonzero(np.any(found != pcm, axis=1))
    assert len(found) == len(pcm)
    assert not found[lost].any()
    assert "96 ms of silence inserted" in notes(path)[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"expected audio \(.*\), got an empty file"),
        (b"ffconcat version 1.0\nfile 'whole.wav'\n", "or a format that is not read"),
        (b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nwhole.wav\n#EXT-X-ENDLIST\n", "or a format that is not read"),
        (b"v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n", "or a format that is not read"),
        (b"\x89PNG\r\n\x1a\n" + bytes(99), "or a format that is not read"),
        (b"Hello, this is no audio at all.\n" * 20, "got data that no decoder recognises as audio"),
        (b"RIFF", "got data that no decoder recognises as audio"),
        (wav_bytes(noise(0)), "got a file without a single sample"),
        (wav_bytes(noise(999, 3)), r"expected one or two channels, got 3 \(keep two: ffmpeg"),
        (wav_bytes(noise(999), channels=0), "expected|got"),
        (wav_bytes(noise(999), rate_hz=0), "expected|got"),
        (wav_bytes(noise(999), rate_hz=4_000), "expected a rate from 8000 to 192000 Hz, got 4000 Hz"),
        (wav_bytes(noise(999), rate_hz=2**31 - 1), "expected a rate from 8000 to 192000 Hz, got"),
        (wav_bytes(noise(999), format=0x7777), "expected|got"),
        (wav_bytes(noise(999), bits=64, block=8), "expected samples of at most 32 bits, or floating point, got"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.wav"
    path.write_bytes(content)
    (tmp_path / "whole.wav").write_bytes(wav_bytes(noise(48_000)))
    with pytest.raises(AudioError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: expected ")
    assert ", got " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_a_file_is_named(tmp_path: Path) -> None:
    for name in ("missing.wav", "x" * 300, "x\0.wav", "x.wav/y.wav"):
        with pytest.raises(
            AudioError,
            match=r"expected an audio file( or a folder)?, got no such file( or folder)?, or no permission to look",
        ):
            AudioFile(tmp_path / name)
    with pytest.raises(
        AudioError,
        match=r"an audio file, or a folder with input\.wav and output\.wav, or A\.wav and B\.wav, got a folder$",
    ):
        AudioFile(tmp_path)
    os.mkfifo(tmp_path / "pipe.wav")
    with pytest.raises(AudioError, match=r"pipe\.wav: expected a regular file that may be read"):
        AudioFile(tmp_path / "pipe.wav")


def test_what_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.wav"
    wavfile.write(path, 48_000, noise(99))
    path.chmod(0)
    if os.geteuid() == 0:  # may read everything
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(AudioError, match=r"x\.wav: expected a regular file that may be read, got .* no permission$"):
        AudioFile(path)


def test_a_film_without_sound_and_one_with_two_are_refused(tmp_path: Path) -> None:
    for name, sounds in (("none.mkv", 0), ("two.mkv", 2)):
        with av.open(str(tmp_path / name), "w") as container:
            streams = [container.add_stream("pcm_s16le", rate=48_000, layout="mono") for _ in range(sounds)]
            add_video(container, seconds=1)
            for stream in streams:
                container.mux(stream.encode(None))
        with pytest.raises(AudioError, match=f"expected one audio stream, got {sounds or 'none'}"):
            AudioFile(tmp_path / name)


def test_odd_names_are_only_names(tmp_path: Path) -> None:
    path = tmp_path / "http:call #1 %41?x=1 ä.wav"
    wavfile.write(path, 48_000, noise(999))
    assert np.array_equal(read(path), noise(999))


def test_the_facts_are_json_and_name_the_content(tmp_path: Path) -> None:
    wavfile.write(tmp_path / "x.wav", 16_000, noise(999, 2))
    with AudioFile(tmp_path / "x.wav") as audio:
        assert sum(map(len, audio.blocks())) == 999
        facts = json.loads(json.dumps(audio.describe()))
    assert facts == {
        "path": str(tmp_path / "x.wav"),
        "bytes": os.stat(tmp_path / "x.wav").st_size,
        "modified_ns": os.stat(tmp_path / "x.wav").st_mtime_ns,
        "sha256": hashlib.sha256((tmp_path / "x.wav").read_bytes()).hexdigest(),
        "container": "wav",
        "codec": "pcm_s16le",
        "rate_hz": 16_000,
        "channels": 2,
        "bit_depth": 16,
        "samples": 999,
        "notes": [],
        "damage": None,
        "playable_in_browser": True,
    }


@pytest.mark.parametrize(
    ("name", "codec", "playable"),
    [
        ("x.wav", "pcm_s16le", True),
        ("x.wav", "pcm_s32le", False),
        ("x.flac", "flac", True),
        ("x.mp3", "libmp3lame", True),
        ("x.m4a", "aac", True),
        ("x.m4a", "alac", False),
        ("x.ogg", "libopus", True),
        ("x.webm", "libopus", True),
        ("x.mka", "libopus", False),
    ],
)
def test_what_browsers_play(tmp_path: Path, name: str, codec: str, playable: bool) -> None:
    with AudioFile(encode(tmp_path / name, codec, noise(48_000, 2))) as audio:
        assert audio.playable_in_browser is playable
    with AudioFile(encode(tmp_path / "late.webm", "libopus", noise(48_000, 2), pts=with_gap)) as late:
        assert sum(map(len, late.blocks())) > 48_000
        assert not late.playable_in_browser


def test_no_block_is_long(tmp_path: Path) -> None:
    path = encode(tmp_path / "x.mka", "pcm_s16le", noise(96_000), pts=lambda at: at + (4_800_000 if at else 0))
    with AudioFile(path) as audio:
        assert max(map(len, audio.blocks())) <= 48_000


# --- to 48 kHz


@given(rate_hz=st.sampled_from([8000, 11_025, 12_000, 44_100, 48_000, 88_200, 192_000]), data=st.data())
@settings(max_examples=30)
def test_the_length_is_exact_and_blocks_do_not_matter(rate_hz: int, data: st.DataObject) -> None:
    pcm = noise(data.draw(st.integers(0, 3000)))[:, 0]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(pcm)), max_size=4)))
    whole, cut = resampler_to_48k(rate_hz), resampler_to_48k(rate_hz)
    in_one = np.concatenate([whole.process(pcm), whole.flush()])
    in_blocks = np.concatenate([*map(cut.process, np.split(pcm, cuts)), cut.flush()])
    assert in_one.dtype == np.int16
    assert len(in_one) == (2 * len(pcm) * 48_000 + rate_hz) // (2 * rate_hz)
    assert np.array_equal(in_one, in_blocks)


@pytest.mark.parametrize("rate_hz", [8000, 11_025, 44_100, 88_200])
def test_a_click_stays_where_it_is(rate_hz: int) -> None:
    pcm = np.zeros(rate_hz, np.int16)
    pcm[rate_hz // 3] = 20_000
    resampler = resampler_to_48k(rate_hz)
    found = np.concatenate([resampler.process(pcm), resampler.flush()])
    assert np.argmax(found) == pytest.approx(rate_hz // 3 * 48_000 / rate_hz, abs=0.5)


# --- anything at all


@functools.cache
def seeds() -> list[tuple[str, bytes]]:
    """A small file of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        kinds = [
            ("wav", "pcm_s16le"),
            ("wav", "pcm_f32le"),
            ("flac", "flac"),
            ("mp3", "libmp3lame"),
            ("ogg", "libopus"),
        ]
        kinds += [("m4a", "aac"), ("webm", "libopus"), ("mka", "pcm_s24le")]
        paths = [encode(Path(folder) / f"{codec}.{kind}", codec, noise(6000, 2)) for kind, codec in kinds]
        return [(path.suffix, path.read_bytes()) for path in paths]


MUTATION = st.tuples(st.floats(0, 1), st.sampled_from(["set", "cut", "insert"]), st.binary(min_size=1, max_size=8))


def mutated(content: bytes, mutations: list[tuple[float, str, bytes]]) -> bytes:
    for place, kind, value in mutations:
        at = int(place**3 * len(content))  # mostly in the header
        keep = {"set": at + len(value), "cut": at + 40 * len(value), "insert": at}[kind]
        content = content[:at] + (b"" if kind == "cut" else value) + content[keep:]
    return content


def either_decodes_or_says_why(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    said = []
    try:
        with AudioFile(path) as audio:
            for block in itertools.islice(audio.blocks(), 300):
                assert block.dtype == np.int16
                assert block.shape[1] == audio.channels
            said += audio.notes
    except AudioError as error:
        said.append(str(error).removeprefix(f"{path}: expected "))
    assert all("\n" not in line and str(path) not in line for line in said)


@given(seed=st.integers(0, 7), mutations=st.lists(MUTATION, min_size=1, max_size=6))
@settings(max_examples=150)
def test_mutated_files_either_decode_or_say_why(
    tmp_path_factory: pytest.TempPathFactory, seed: int, mutations: list[tuple[float, str, bytes]]
) -> None:
    suffix, content = seeds()[seed]
    either_decodes_or_says_why(tmp_path_factory.getbasetemp() / f"mutated{suffix}", mutated(content, mutations))


@pytest.mark.fuzz
@given(seed=st.integers(0, 7), mutations=st.lists(MUTATION, min_size=1, max_size=20))
def test_many_mutated_files_either_decode_or_say_why(
    tmp_path_factory: pytest.TempPathFactory, seed: int, mutations: list[tuple[float, str, bytes]]
) -> None:
    suffix, content = seeds()[seed]
    either_decodes_or_says_why(tmp_path_factory.getbasetemp() / f"mutated{suffix}", mutated(content, mutations))


@pytest.mark.fuzz
@given(content=st.binary(max_size=400), kind=st.sampled_from([b"", b"RIFF\0\0\0\0WAVE", b"OggS", b"fLaC", b"ID3"]))
def test_any_bytes_either_decode_or_say_why(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, kind: bytes
) -> None:
    either_decodes_or_says_why(tmp_path_factory.getbasetemp() / "any.wav", kind + content)
