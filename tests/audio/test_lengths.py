"""Files of many codecs: as long as they say, and their audio where it was, or a note says by how much not."""

import re
import struct
import wave
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
from fdbcore.audio.lengths import StatedData, stated_data
from fdbcore.audio.wav import WavWriter
from fdbcore.errors import AudioError

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"  # 24 kHz


def read(path: Path) -> tuple[Int16, list[str], str | None]:
    """The samples, the notes and the damage."""
    with AudioFile(path) as audio:
        return np.concatenate(list(audio.blocks())), audio.notes, audio.damage


# --- the data chunk of a WAV states too little, and what may follow one that does not


def chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def wav(pcm: Int16, stated_bytes: int | None = None, after: bytes = b"") -> bytes:
    """A plain WAV of 48 kHz that states another size of its audio than it has, and what follows the audio."""
    form = struct.pack("<HHIIHH", 1, pcm.shape[1], 48_000, 96_000 * pcm.shape[1], 2 * pcm.shape[1], 16)
    data = b"data" + struct.pack("<I", pcm.nbytes if stated_bytes is None else stated_bytes) + pcm.tobytes()
    content = b"WAVE" + chunk(b"fmt ", form) + data + after
    return b"RIFF" + struct.pack("<I", len(content)) + content


@pytest.mark.parametrize("stated_bytes", [4, 1000, 1001, 40_000])
def test_audio_beyond_the_stated_size_is_read(tmp_path: Path, stated_bytes: int) -> None:
    pcm = noise(20_000, 2)
    path = tmp_path / "x.wav"
    path.write_bytes(wav(pcm, stated_bytes))
    got, notes, damage = read(path)
    assert np.array_equal(got, pcm)
    assert notes == [f"read to its end: {80_000 - stated_bytes} bytes more than its header states"]
    assert damage is None


def test_a_browser_would_not_play_what_its_header_does_not_state(tmp_path: Path) -> None:
    (tmp_path / "x.wav").write_bytes(wav(noise(20_000, 2), 1000))
    with AudioFile(tmp_path / "x.wav") as audio:
        assert not audio.playable_in_browser
        assert audio.stated_s is None


INFO = chunk(b"LIST", b"INFO" + chunk(b"INAM", b"Call 7"))
AFTER = {
    "nothing": b"",
    "a title": INFO,
    "a title and an ID3 chunk": INFO + chunk(b"id3 ", b"ID3" + bytes(99)),
    "a chunk of its own": chunk(b"zzzz", noise(500).tobytes()),
    "a chunk that was cut off": INFO[:-5],
    "an ID3 tag": b"TAG" + bytes(125),
    "zeros up to the end of a page": bytes(3000),
    "the byte that makes it even, twice": b"\0\0",
}


@pytest.mark.parametrize("after", AFTER.values(), ids=AFTER.keys())
@pytest.mark.parametrize("odd", [False, True])
def test_what_follows_the_audio_is_none(tmp_path: Path, after: bytes, odd: bool) -> None:
    pcm = np.random.default_rng(0).integers(0, 256, (4001 if odd else 4000, 1)).astype(np.uint8)
    form = struct.pack("<HHIIHH", 1, 1, 48_000, 48_000, 1, 8)
    for data in {chunk(b"data", pcm.tobytes()), chunk(b"data", pcm.tobytes())[: 8 + len(pcm)]}:  # not all writers pad
        content = b"WAVE" + chunk(b"fmt ", form) + data + after
        (tmp_path / "x.wav").write_bytes(b"RIFF" + struct.pack("<I", len(content)) + content)
        got, notes, damage = read(tmp_path / "x.wav")
        assert np.array_equal(got[:, 0], (pcm[:, 0].astype(np.int16) - 128) * 256)
        assert (notes, damage) == ([], None)


def test_a_recorder_that_was_killed_leaves_the_size_of_its_last_flush(tmp_path: Path) -> None:
    pcm = noise(48_000, 2)
    with open(tmp_path / "x.wav", "wb") as file, wave.open(file) as writer:
        writer.setparams((2, 2, 48_000, 0, "NONE", ""))
        writer.writeframes(pcm[:12_000].tobytes())  # states the size so far
        writer.writeframesraw(pcm[12_000:].tobytes())
        file.flush()
        (tmp_path / "killed.wav").write_bytes((tmp_path / "x.wav").read_bytes())
    got, notes, damage = read(tmp_path / "killed.wav")
    assert np.array_equal(got, pcm)
    assert notes == ["read to its end: 144000 bytes more than its header states"]
    assert damage is None


def test_our_own_files_state_all_that_they_hold(tmp_path: Path) -> None:
    with WavWriter(tmp_path / "x.wav", 2) as writer:
        for seed in range(3):
            writer.write(noise(4800, 2, seed))
            assert stated_data(tmp_path / "x.wav") == StatedData(19_200 * (seed + 1), 19_200 * (seed + 1))
    assert read(tmp_path / "x.wav")[1:] == ([], None)


def test_the_size_of_an_rf64_file_is_that_of_64_bits(tmp_path: Path) -> None:
    pcm = noise(20_000, 2)
    soundfile.write(tmp_path / "x.wav", pcm, 48_000, format="RF64")
    plain = (tmp_path / "x.wav").read_bytes()
    at = plain.index(b"ds64") + 16
    for stated in (80_000, 5000):
        (tmp_path / "x.wav").write_bytes(plain[:at] + struct.pack("<Q", stated) + plain[at + 8 :])
        got, notes, damage = read(tmp_path / "x.wav")
        assert np.array_equal(got, pcm)
        assert (len(notes), damage) == (int(stated == 5000), None)


# --- whole or cut off


def sample(rate_hz: int, channels: int = 2) -> Int16:
    pcm: Int16 = soundfile.read(SAMPLE, rate_hz * 20, dtype="int16", always_2d=True)[0][:, :channels]
    return pcm


WHOLE: list[tuple[str, str, int, dict[str, Any]]] = [
    ("variable.mp3", "libmp3lame", 24_000, {"variable": True, "options": {"write_xing": "0"}}),
    ("titled.mp3", "libmp3lame", 24_000, {"variable": True, "options": {"write_xing": "0", "write_id3v1": "1"}}),
    ("constant.mp3", "libmp3lame", 24_000, {"options": {"write_xing": "0"}}),
    ("xing.mp3", "libmp3lame", 24_000, {"variable": True}),
    ("x.mp2", "mp2", 24_000, {}),
    ("x.aac", "aac", 24_000, {}),
    ("x.amr", "libopencore_amrnb", 8_000, {}),
    ("x.wma", "wmav2", 24_000, {"bit_rate": 64_000}),
    ("x.flac", "flac", 24_000, {}),
]
MATROSKA = [
    ("x.mka", "pcm_s16le", 24_000),
    ("x.webm", "libopus", 48_000),
    ("x.mka", "libmp3lame", 8_000),
    ("x.mka", "aac", 44_100),
    ("video.mkv", "libopus", 48_000),
]


@pytest.mark.parametrize(("name", "codec", "rate_hz", "how"), WHOLE, ids=[name for name, *_ in WHOLE])
def test_a_whole_file_is_whole_and_one_that_was_cut_off_is_not(
    tmp_path: Path, name: str, codec: str, rate_hz: int, how: dict[str, Any]
) -> None:
    pcm = sample(rate_hz, channels=1 if codec == "libopencore_amrnb" else 2)
    path = encode(tmp_path / name, codec, pcm, rate_hz, **how)
    got, _, damage = read(path)
    assert damage is None
    assert len(pcm) <= len(got) <= len(pcm) + 4000
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 + 31])
    try:
        damage = read(path)[2]
    except AudioError as error:
        damage = str(error)
    assert "cut off" in str(damage) or "damaged" in str(damage)


@pytest.mark.parametrize("samples", [320 * 50, 320 * 50 + 1, 320 * 51 - 1, 320 * 51])
def test_gsm_with_an_odd_number_of_blocks_is_whole(tmp_path: Path, samples: int) -> None:
    pcm = soundfile.read(SAMPLE, 3 * samples, dtype="int16")[0][::3, 0].copy()
    path = tmp_path / "x.wav"
    soundfile.write(path, pcm, 8_000, subtype="GSM610")
    content = bytearray(path.read_bytes())
    at = content.index(b"data") + 4
    size = int.from_bytes(content[at : at + 4], "little")
    content[at : at + 4] = struct.pack("<I", size + size % 2)  # sox counts the byte that makes it even
    path.write_bytes(content)
    got, notes, damage = read(path)
    assert (notes, damage) == ([], None)
    assert 0 <= len(got) - samples < 320
    path.write_bytes(content[: len(content) // 2])
    assert "damaged" in str(read(path)[2]) or "cut off" in str(read(path)[2])


# --- formats whose header states a length in bytes, samples or packets

SPEECH = sample(24_000, 1)
BYTES = [
    ("aiff", "PCM_16"),
    ("aiff", "ULAW"),
    ("au", "PCM_16"),
    ("caf", "PCM_16"),
    ("w64", "PCM_16"),
    ("w64", "GSM610"),
]
SAMPLES = [("nist", "PCM_16"), ("flac", "PCM_16")]


@pytest.mark.parametrize(("kind", "subtype"), [*BYTES, *SAMPLES])
def test_not_a_sample_may_be_missing_where_the_header_states_them(tmp_path: Path, kind: str, subtype: str) -> None:
    path = tmp_path / f"x.{kind}"
    soundfile.write(path, SPEECH, 24_000, subtype, format=kind.upper())
    whole, notes, damage = read(path)
    frames = soundfile.info(path).frames
    assert (frames <= len(whole) < frames + 320, notes, damage) == (True, [], None)
    content, middle = path.read_bytes(), path.stat().st_size // 2
    cut = 2 if kind != "flac" else 9_000
    for rest in (content[:-cut], content[:middle] + content[middle + cut :], content[:middle] + content[middle - 8 :]):
        path.write_bytes(rest)
        try:
            notes, damage = read(path)[1:]
        except AudioError as error:
            damage = str(error)
        assert damage or (kind == "flac" and "silence inserted" in notes[0])


@pytest.mark.parametrize(
    ("kind", "at", "size"), [("au", 8, b"\xff" * 4), ("caf", -12, b"\xff" * 8), ("aiff", -12, b"\x7f\0\0\x08")]
)
def test_a_length_that_is_left_open_is_told_and_all_is_read(tmp_path: Path, kind: str, at: int, size: bytes) -> None:
    path = tmp_path / f"x.{kind}"
    soundfile.write(path, SPEECH, 24_000, "PCM_16", format=kind.upper())
    content = bytearray(path.read_bytes())
    at = at if at > 0 else len(content) - 2 * len(SPEECH) + at
    content[at : at + len(size)] = size
    path.write_bytes(content)
    got, notes, damage = read(path)
    assert np.array_equal(got, SPEECH)
    assert (notes, damage) == (["its length cannot be checked: its header leaves it open"], None)


@pytest.mark.parametrize("samples", [48_000, 48_500, 49_151])
@pytest.mark.parametrize(("name", "codec", "rate_hz"), MATROSKA)
def test_matroska_is_exact_to_a_packet(tmp_path: Path, name: str, codec: str, rate_hz: int, samples: int) -> None:
    path = encode(tmp_path / name, codec, noise(samples, 1), rate_hz, video=name == "video.mkv")
    assert read(path)[1:] == ([], None)
    with av.open(str(path)) as container:
        kept = [packet.pos for packet in container.demux(audio=0) if packet.pos]
    path.write_bytes(path.read_bytes()[: kept[-2]])
    assert "cut off: it states" in str(read(path)[2])


def test_an_ogg_stream_without_its_end_is_named(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "x.ogg", SPEECH, 24_000, format="OGG", subtype="VORBIS")
    path = tmp_path / "x.ogg"
    assert read(path)[1:] == ([], None)
    content = path.read_bytes()
    for end in (content.rindex(b"OggS"), -1):
        path.write_bytes(content[:end])
        assert read(path)[1] == ["its last page is not marked as the end of its stream: the rest may be missing"]


def test_a_chunk_that_states_more_than_any_file_holds_ends_the_search(tmp_path: Path) -> None:
    (tmp_path / "a.caf").write_bytes(b"caff\0\1\0\0" + b"desc" + (2**63 - 1).to_bytes(8, "big") + bytes(100))
    assert stated_data(tmp_path / "a.caf") is None


@pytest.mark.parametrize("first", ["wav", "aiff", "caf", "rf64", "w64"])
@pytest.mark.parametrize("second", ["wav", "flac", "ogg", "aiff"])
def test_another_file_after_the_audio_is_told_and_not_read(tmp_path: Path, first: str, second: str) -> None:
    """Streams, and recorders that cut, write several files in a row."""
    pcm = noise(4801)
    soundfile.write(tmp_path / "first", pcm, 16_000, format=first, subtype="PCM_16")
    soundfile.write(tmp_path / "rest", pcm[:2000], 16_000, format=second)
    rest = (tmp_path / "rest").read_bytes()
    (tmp_path / f"both.{first}").write_bytes((tmp_path / "first").read_bytes() + rest)
    samples, notes, damage = read(tmp_path / f"both.{first}")
    assert (len(samples), damage) == (len(pcm), None)
    assert f"{len(rest):,} bytes after its audio hold another file: not read (tail -c {len(rest)} FILE > REST)" in notes


Floats = npt.NDArray[np.float64]


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
