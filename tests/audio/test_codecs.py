"""Decoding beside decoders and encoders that share no code with FFmpeg: libsndfile with libvorbis."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from oracles.audio_files import Int16, encode, noise
from scipy.signal import resample_poly

from fdbcore.audio.decode import AudioFile

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"  # 24 kHz
Floats = npt.NDArray[np.float64]


def read(path: Path) -> tuple[Int16, list[str], str | None]:
    """The samples, the notes and the damage."""
    with AudioFile(path) as audio:
        return np.concatenate(list(audio.blocks())), audio.notes, audio.damage


def sample_at(rate_hz: int, seconds: float = 20) -> Floats:
    """The start of the project's sample, full scale 1, (n, 2)."""
    pcm, _ = soundfile.read(SAMPLE, round(24_000 * seconds), always_2d=True)
    resampled: Floats = resample_poly(pcm, rate_hz, 24_000)
    return np.clip(resampled, -1, 1)


def snr_db(wanted: npt.NDArray[Any], got: Int16) -> float:
    """Of int16 samples beside others of full scale 1."""
    assert got.shape == wanted.shape
    noise = np.mean((got / 32_768 - wanted) ** 2)
    return float(10 * np.log10(np.mean(wanted**2) / noise))


# --- Ogg Vorbis, whose timestamps jump there and back where the sizes of its blocks change


@pytest.fixture(scope="module", params=[8_000, 16_000, 24_000, 44_100, 48_000])
def vorbis(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vorbis") / f"{request.param}.ogg"
    soundfile.write(path, sample_at(request.param), request.param, format="OGG", subtype="VORBIS")
    return path


def test_vorbis_has_no_holes(vorbis: Path) -> None:
    got, notes, damage = read(vorbis)
    assert (notes, damage) == ([], None)
    assert snr_db(soundfile.read(vorbis)[0], got) > 60
    with av.open(str(vorbis)) as container:
        frames = [frame.to_ndarray() for frame in container.decode(audio=0)]
    assert snr_db(np.concatenate(frames, axis=1).T, got) > 60


def test_a_page_of_vorbis_that_is_lost_leaves_its_place_silent(vorbis: Path) -> None:
    whole, _, _ = read(vorbis)
    content = vorbis.read_bytes()
    pages = [match.start() for match in re.finditer(b"OggS", content)]
    start, end = pages[len(pages) // 2 :][:2]
    starts_at, ends_at = (
        int.from_bytes(content[page + 6 : page + 14], "little") for page in (pages[len(pages) // 2 - 1], start)
    )
    lossy = vorbis.with_suffix(".lossy.ogg")
    lossy.write_bytes(content[:start] + content[end:])
    got, notes, _ = read(lossy)
    assert len(got) == len(whole)
    block = 4096  # the longest that libvorbis writes at up to 48 kHz
    assert np.abs(got[: starts_at - block] - whole[: starts_at - block].astype(np.int32)).max() <= 1
    assert np.abs(got[ends_at + block :] - whole[ends_at + block :].astype(np.int32)).max() <= 1
    assert len(notes) == 1
    assert "silence inserted" in notes[0]


def test_a_single_timestamp_that_jumps_there_and_back_moves_nothing(tmp_path: Path) -> None:
    pcm = noise(96_000)
    path = encode(
        tmp_path / "x.mka", "pcm_s16le", pcm, pts=lambda start: start + (960 if start // 1024 in (9, 30) else 0)
    )
    assert np.array_equal(read(path)[0], pcm)
    assert read(path)[1] == []


def test_a_gap_next_to_such_a_timestamp_keeps_its_length(tmp_path: Path) -> None:
    late = {n: 48_000 for n in range(20, 99)} | {20: 48_960, 40: 48_960}
    path = encode(tmp_path / "x.mka", "pcm_s16le", noise(96_000), pts=lambda start: start + late.get(start // 1024, 0))
    got, notes, _ = read(path)
    assert len(got) == 96_000 + 48_000
    assert notes == ["1000 ms of silence inserted where timestamps leave a gap"]


# --- places: what a container says of its encoder's delay is undone, and otherwise it is told

NO_XING, FRAGMENTS = {"write_xing": "0"}, {"movflags": "frag_keyframe+empty_moov"}
PLACES: list[tuple[str, str, int, dict[str, Any]]] = [
    ("x.wav", "pcm_s16le", 24_000, {}),
    ("adpcm.wav", "adpcm_ms", 24_000, {}),
    ("x.mp3", "libmp3lame", 24_000, {}),
    ("x.mp3", "libmp3lame", 8_000, {"variable": True}),
    ("bare.mp3", "libmp3lame", 24_000, {"options": NO_XING}),
    ("bare.mp3", "libmp3lame", 8_000, {"options": NO_XING}),
    ("mp3.wav", "libmp3lame", 24_000, {}),
    ("x.avi", "libmp3lame", 44_100, {}),
    ("mp3.mka", "libmp3lame", 44_100, {}),
    ("x.mp2", "mp2", 24_000, {}),
    ("mp2.ts", "mp2", 24_000, {}),
    ("x.m4a", "aac", 8_000, {}),
    ("x.m4a", "aac", 24_000, {}),
    ("fragments.mp4", "aac", 24_000, {"options": FRAGMENTS}),
    ("x.mka", "aac", 24_000, {}),
    ("x.aac", "aac", 8_000, {}),
    ("x.aac", "aac", 48_000, {}),
    ("x.latm", "aac", 24_000, {}),
    ("aac.ts", "aac", 16_000, {}),
    ("x.flv", "aac", 44_100, {}),
    ("x.opus", "libopus", 48_000, {}),
    ("x.webm", "libopus", 48_000, {}),
    ("x.ac3", "ac3", 48_000, {}),
    ("x.eac3", "eac3", 48_000, {}),
    ("ac3.mkv", "ac3", 48_000, {}),
    ("x.amr", "libopencore_amrnb", 8_000, {"bit_rate": 12_200}),
    ("x.3gp", "libopencore_amrnb", 8_000, {"bit_rate": 12_200}),
    ("x.wma", "wmav2", 16_000, {"bit_rate": 32_000}),
    ("x.wma", "wmav2", 24_000, {"bit_rate": 64_000}),
    ("x.wma", "wmav2", 48_000, {"bit_rate": 64_000}),
    ("v1.wma", "wmav1", 24_000, {"bit_rate": 64_000}),
]


def late_ms(pcm: Int16, got: Int16, rate_hz: int) -> float:
    """By how much the envelope of `got` is later, in steps of a sample."""
    envelopes = [np.abs(each[:, 0].astype(float)) for each in (pcm, got)]
    size = 2 * max(map(len, envelopes))
    before, after = (np.fft.rfft(each - each.mean(), size) for each in envelopes)
    lag = int(np.argmax(np.fft.irfft(after * before.conj(), size)))
    return 1000 * (lag if lag < size // 2 else lag - size) / rate_hz


@pytest.mark.parametrize(("name", "codec", "rate_hz", "how"), PLACES, ids=[f"{n}-{r}" for n, _, r, _ in PLACES])
def test_audio_lies_where_it_was_or_the_note_says_by_how_much_not(
    tmp_path: Path, name: str, codec: str, rate_hz: int, how: dict[str, Any]
) -> None:
    pcm = np.rint(32_767 * sample_at(rate_hz, 8)[:, :1]).astype(np.int16)
    got, notes, _ = read(encode(tmp_path / name, codec, pcm, rate_hz, **how))
    said = re.search(r"all audio is (\d+)(?: to (\d+))? ms late", " ".join(notes))
    least, most = (0, 0) if said is None else (int(said[1]), int(said[2] or said[1]))
    assert least - 1 <= late_ms(pcm, got, rate_hz) <= most + 1
    assert (said is None) == (most == 0)


def test_vorbis_lies_where_it_was(vorbis: Path) -> None:
    rate_hz = int(vorbis.stem)
    pcm = np.rint(32_767 * sample_at(rate_hz)[:, :1]).astype(np.int16)
    assert abs(late_ms(pcm, read(vorbis)[0], rate_hz)) < 0.2
