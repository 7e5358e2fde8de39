"""Input health where a side ends early, is not there or has holes, and what it keeps of the audio of a long call."""

import json
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
import soxr
from fakes.disks import full_after
from helpers.commands import command
from helpers.faulty_audio import Stereo, in_rooms, sample
from hypothesis import given
from hypothesis import strategies as st
from oracles.audio_files import Int16, encode
from scipy.io import wavfile

from fdbcore.errors import RecordingError
from fdbcore.measures.health import finding
from fdbcore.measures.health.examine import HealthProbe, examine
from fdbcore.measures.health.probe import LowBand, TickColumn
from fdbcore.models.tts.espeak import Voice, synthesise
from fdbcore.types import SAMPLE_RATE_HZ

Mono = npt.NDArray[np.int16]

ROOM_DBOV: Final = -50.0
CUT: Final = slice(20 * SAMPLE_RATE_HZ)


def written(path: Path, pcm: Mono, rate_hz: int = SAMPLE_RATE_HZ) -> str:
    wavfile.write(path, rate_hz, pcm)
    return str(path)


def told(*files: str, vad: str = "energy") -> tuple[int, dict[str, Any]]:
    """Exit code and health of what `doctor` is given."""
    done = command("doctor", "--vad", vad, "--json", *files)
    (health,) = json.loads(done.output)["files"].values()
    return done.exit_code, health


def ids(health: dict[str, Any]) -> set[tuple[str, str]]:
    return {(finding["id"], finding["side"]) for finding in health["findings"]}


def with_holes(side: Mono, count: int, milliseconds: int, rate_hz: int = SAMPLE_RATE_HZ, off_ms: float = 0) -> Mono:
    """That many holes, at edges of ticks or off them, in the loudest of its first 15 s."""
    holed, tick = side.copy(), rate_hz // 100
    loud = np.abs(side[: 15 * rate_hz].astype(np.int32)).reshape(-1, 20 * tick).mean(axis=1)
    for place in np.argsort(loud)[-count:]:
        start = int(place) * 20 * tick + 6 * tick + round(off_ms * rate_hz / 1000)
        holed[start : start + milliseconds * rate_hz // 1000] = 0
    return holed


def two_rooms() -> Stereo:
    return in_rooms(sample(), ROOM_DBOV)


def test_the_shorter_of_two_files_is_judged_by_its_own_audio(tmp_path: Path) -> None:
    a, b = two_rooms().T
    files = written(tmp_path / "a.wav", a), written(tmp_path / "b.wav", b[CUT])
    code, health = told(*files)
    assert (code, ids(health)) == (0, set())
    _, alone = told(written(tmp_path / "both.wav", two_rooms()[CUT]))
    names = ("noise_dbov", "snr_db", "level_dbov", "peak_dbov")
    assert [health["sides"]["B"][name] for name in names] == pytest.approx(
        [alone["sides"]["B"][name] for name in names], abs=0.5
    )
    assert health["sides"]["B"]["noise_dbov"] == pytest.approx(ROOM_DBOV, abs=1)


def test_under_a_file_that_ends_early_the_audio_is_ok_otherwise(tmp_path: Path) -> None:
    a, b = two_rooms().T
    files = written(tmp_path / "a.wav", a), written(tmp_path / "b.wav", b[CUT])
    said = command("replay", "--vad", "energy", "--out", tmp_path / "out", *files).output.splitlines()
    assert [line.split() for line in said if line.startswith("health")] == [["health", "ok", "otherwise"]]
    (page,) = (tmp_path / "out").rglob("report.html")
    assert "Input health: ok otherwise" in page.read_text()


def test_faults_of_the_shorter_of_two_files_are_found(tmp_path: Path) -> None:
    a, b = two_rooms().T
    dropped = written(tmp_path / "dropped.wav", with_holes(b, 9, 60)[CUT])
    code, health = told(written(tmp_path / "a.wav", a), dropped)
    assert (code, ids(health)) == (0, {("dropouts", "B")})
    noisy = written(tmp_path / "noisy.wav", in_rooms(sample(), -25)[CUT, 1])
    assert ("noise", "B") in ids(told(written(tmp_path / "a.wav", a), noisy)[1])


def test_what_follows_the_end_of_a_side_is_no_music_and_no_sign_of_a_machine(tmp_path: Path) -> None:
    a, b = two_rooms().T
    shifted = written(tmp_path / "dc.wav", b[CUT] + np.int16(131))
    assert ids(told(written(tmp_path / "a.wav", a), shifted)[1]) == set()
    short = written(tmp_path / "short.wav", a[: 6 * SAMPLE_RATE_HZ])
    assert ids(told(short, written(tmp_path / "b.wav", b))[1]) == set()


def test_a_direct_current_that_begins_late_is_no_music(tmp_path: Path) -> None:
    stereo = two_rooms()
    stereo[CUT, 1] = 0
    stereo[CUT.stop :, 1] += 164
    assert "music" not in {id for id, _ in ids(told(written(tmp_path / "late.wav", stereo))[1])}


@pytest.mark.parametrize("lead_s", [0, 0.5])
@pytest.mark.parametrize("length_s", [1.5, 2.5])
def test_stops_of_a_synthesiser_are_no_dropouts_however_short_the_file(
    tmp_path: Path, length_s: float, lead_s: float
) -> None:
    """A voice without background is digitally silent in its p, t and k."""
    said = synthesise("I would like to change my booking for next week", Voice())
    stops = [round(at_s * SAMPLE_RATE_HZ) for at_s in (0.5, 1.1, 1.9)]
    said = np.concatenate([said[:0], *(np.append(part, np.zeros(2_160, np.int16)) for part in np.split(said, stops))])
    lead = np.zeros(round(lead_s * SAMPLE_RATE_HZ), np.int16)
    spoken = np.concatenate([lead, said])[: round((lead_s + length_s) * SAMPLE_RATE_HZ)]
    files = written(tmp_path / "a.wav", spoken), written(tmp_path / "b.wav", np.zeros_like(spoken))
    assert "dropouts" not in {id for id, _ in ids(told(*files, vad="silero")[1])}


@pytest.mark.parametrize("off_ms", [0, 3.5])
@pytest.mark.parametrize(("rate_hz", "unseen_ms"), [(8_000, 6), (16_000, 3), (44_100, 1.1), (48_000, 0)])
def test_lost_packets_of_20_ms_are_found_at_any_rate(
    tmp_path: Path, rate_hz: int, unseen_ms: float, off_ms: float
) -> None:
    stereo = soxr.resample(two_rooms(), SAMPLE_RATE_HZ, rate_hz)
    stereo[:, 1] = with_holes(stereo[:, 1], 8, 20, rate_hz, off_ms)
    code, health = told(written(tmp_path / "packets.wav", stereo, rate_hz))
    (finding,) = [finding for finding in health["findings"] if finding["id"] == "dropouts"]
    assert (code, finding["side"], finding["figures"]["dropouts"]) == (0, "B", 8)
    assert 160 - 8 * unseen_ms - 2 <= finding["figures"]["missing_ms"] <= 160 + 2


def test_a_side_without_speech_is_not_fit(tmp_path: Path) -> None:
    stereo = two_rooms()
    stereo[:, 0] = 0
    assert told(written(tmp_path / "mute.wav", stereo))[0] == 1


def test_shares_are_told_in_whole_numbers(tmp_path: Path) -> None:
    stereo = two_rooms()
    stereo[:, 0] = 32_767
    _, health = told(written(tmp_path / "full.wav", stereo))
    assert "A clipped in 100 % of what sounds" in {finding["text"] for finding in health["findings"]}


def holes_anywhere(side: Mono, count: int, milliseconds: int) -> Mono:
    """That many holes anywhere in its speech, soft or loud, half a second and more from each other."""
    rms = np.sqrt(np.mean(side[: len(side) // 480 * 480].reshape(-1, 480).astype(float) ** 2, axis=1)) / 32_768
    speech = np.convolve(rms > 10 ** (-35 / 20), np.ones(15)) > 0  # of the last 150 ms
    ticks = milliseconds // 10
    fits = [at for at in range(10, len(rms) - ticks - 10) if speech[at - 5 : at + ticks + 20].all()]
    holed, rng, taken = side.copy(), np.random.default_rng(0), [-50]
    for at in rng.permutation(fits):
        if len(taken) <= count and min(abs(at - other) for other in taken) >= 50:
            taken.append(at)
            holed[at * 480 + 77 :][: milliseconds * 48] = 0
    assert len(taken) == count + 1
    return holed


@pytest.mark.parametrize(
    ("name", "codec", "rate_hz", "least"),
    [
        ("x.wav", "pcm_s16le", 48_000, 22),
        ("x.wav", "pcm_s16le", 8_000, 22),
        ("x.wav", "pcm_mulaw", 8_000, 22),
        ("x.wav", "pcm_alaw", 8_000, 20),
        ("x.m4a", "aac", 48_000, 20),
        ("x.mp3", "libmp3lame", 48_000, 17),
    ],
)
def test_dropouts_are_found_in_soft_speech_and_in_coded(
    tmp_path: Path, name: str, codec: str, rate_hz: int, least: int
) -> None:
    stereo = two_rooms()
    stereo[:, 1] = holes_anywhere(stereo[:, 1], 23, 120)
    resampled = soxr.resample(stereo.astype(np.float32), SAMPLE_RATE_HZ, rate_hz)  # of int16 soxr dithers silence
    stereo = np.clip(np.rint(resampled), -32_768, 32_767).astype(np.int16)
    _, health = told(str(encode(tmp_path / name, codec, stereo, rate_hz)), vad="silero")
    found = {
        finding["side"]: finding["figures"]["dropouts"] for finding in health["findings"] if finding["id"] == "dropouts"
    }
    assert set(found) == {"B"}
    assert least <= found["B"] <= 23


def test_a_full_folder_of_temporary_files_is_named() -> None:
    told = f"^{tempfile.gettempdir()}: temporary files cannot be written: .*TMPDIR"
    low, column = LowBand(), TickColumn(np.float32)
    with full_after(100_000):
        with pytest.raises(RecordingError, match=told):
            low.append(np.ones(400_000, np.int16))
        low.close()
        with column:
            column.append(np.ones(25_001, np.float32))
            with pytest.raises(RecordingError, match=told):
                column.read(25_001)


MOST_MIB_AN_HOUR = 8


def minutes(count: int) -> Iterator[tuple[Int16, Int16]]:
    """Noise that comes and goes on both sides, and dialled digits: a second at a time."""
    rng = np.random.default_rng(0)
    at_s = np.arange(SAMPLE_RATE_HZ) / SAMPLE_RATE_HZ
    dialled = 6_000 * (np.sin(2 * np.pi * 697 * at_s) + np.sin(2 * np.pi * 1209 * at_s))
    noises = [(level * rng.standard_normal(SAMPLE_RATE_HZ)).astype(np.int16) for level in (20, 3_000, 1_000)]
    for second in range(60 * count):
        a, b = noises[second % 3], noises[second // 2 % 3]
        yield (dialled.astype(np.int16) if second % 97 == 0 else a), b


def peak_mib(count: int) -> float:
    tracemalloc.start()
    try:
        with HealthProbe() as probe:
            for _ in probe.tap(minutes(count)):
                pass
            heard = probe.sides()
            examine(heard, {side: each.powers > 1e-4 for side, each in heard.items()})
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def test_memory_grows_by_bytes_a_tick() -> None:
    peak_mib(1)  # what is made only once
    assert (peak_mib(8) - peak_mib(3)) * 60 / 5 < MOST_MIB_AN_HOUR


TICKS = st.lists(st.booleans(), max_size=60)


@given(TICKS, st.integers(0, 70), st.integers(1, 20))
def test_ticks_near_one(drawn: list[bool], distance: int, at_once: int) -> None:
    ticks = np.array(drawn, np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "COUNTED_TICKS", at_once)
        found = finding.near(ticks, distance).tolist()
    assert found == [any(drawn[max(at - distance, 0) : at + distance + 1]) for at in range(len(drawn))]


@given(TICKS, st.integers(0, 70), st.integers(0, 70), st.integers(1, 20))
def test_counts_around_each(drawn: list[bool], before: int, after: int, at_once: int) -> None:
    ticks, found = np.array(drawn, np.bool_), np.zeros(len(drawn), np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "COUNTED_TICKS", at_once)
        for block, counted in finding.counts(ticks, before, after):
            found[block] = counted
    assert found.tolist() == [sum(drawn[max(at - before, 0) : at + after + 1]) for at in range(len(drawn))]
