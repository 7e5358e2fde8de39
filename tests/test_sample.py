"""The shipped sample session holds what its ground truth says, and its script makes both again."""

import json
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
import numpy.typing as npt
import pytest

SAMPLE: Final = Path(__file__).parents[1] / "benchmarks" / "sample"
SCRIPT: Final = SAMPLE / "make_sample.py"
TRUTH: Final[dict[str, Any]] = json.loads((SAMPLE / "truth.json").read_text())
UTTERANCES: Final[dict[str, dict[str, Any]]] = {line["name"]: line for line in TRUTH["utterances"]}
SIDES: Final = ("A", "B")
RATE_HZ: Final = 24_000
TICK: Final = RATE_HZ // 100  # samples
MAX_BYTES: Final = 2_000_000


def decoded(path: Path) -> npt.NDArray[np.int16]:
    """The file's audio, shape (2, samples)."""
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        assert (stream.rate, stream.layout.name, stream.format.name) == (RATE_HZ, "stereo", "s16")
        frames = [frame.to_ndarray() for frame in container.decode(audio=0)]
    return np.concatenate(frames, axis=1).reshape(-1, 2).T.astype(np.int16)


def tick_levels_dbfs(channel: npt.NDArray[np.int16]) -> npt.NDArray[np.float64]:
    ticks = (channel / 32_768).reshape(-1, TICK)
    levels: npt.NDArray[np.float64] = 10 * np.log10(np.mean(ticks**2, axis=1))
    return levels


def utterances_of(side: str) -> list[dict[str, Any]]:
    return [line for line in UTTERANCES.values() if line["side"] == side]


def moments(kind: str) -> list[tuple[dict[str, Any], float]]:
    """Every moment of the kind, with its length in seconds."""
    return [(moment, moment["end_s"] - moment["at_s"]) for moment in TRUTH["moments"] if moment["kind"] == kind]


@pytest.fixture(scope="module")
def session() -> npt.NDArray[np.int16]:
    return decoded(SAMPLE / "sample.flac")


def test_the_file_is_small_unclipped_and_as_long_as_the_truth_says(session: npt.NDArray[np.int16]) -> None:
    assert (SAMPLE / "sample.flac").stat().st_size < MAX_BYTES
    assert session.shape == (2, TRUTH["audio"]["samples"])
    assert np.abs(session.astype(int)).max() < 32_767


@pytest.mark.parametrize("name", UTTERANCES)
def test_an_utterance_is_heard_from_its_start_to_its_end(session: npt.NDArray[np.int16], name: str) -> None:
    line = UTTERANCES[name]
    levels = tick_levels_dbfs(session[SIDES.index(line["side"])])
    levels = levels[line["start_sample"] // TICK : line["end_sample"] // TICK]
    assert -24 < levels.max() < -12
    assert levels[:10].max() > -45
    assert levels[-10:].max() > -50


@pytest.mark.parametrize(("side", "room_dbfs"), [("A", -63), ("B", -65)])
def test_between_utterances_there_is_room_tone_alone(
    session: npt.NDArray[np.int16], side: str, room_dbfs: float
) -> None:
    levels = tick_levels_dbfs(session[SIDES.index(side)])
    quiet = np.ones(len(levels), dtype=bool)
    for line in utterances_of(side):
        quiet[line["start_sample"] // TICK : line["end_sample"] // TICK] = False
    assert levels[quiet].max() < -54
    assert 10 * np.log10(np.mean(10 ** (levels[quiet] / 10))) == pytest.approx(room_dbfs, abs=0.2)


@pytest.mark.parametrize("name", UTTERANCES)
def test_units_are_whole_ticks_and_span_their_utterance(name: str) -> None:
    line = UTTERANCES[name]
    units = line["ipus"]
    assert (units[0][0], units[-1][1]) == (line["start_sample"], line["end_sample"])
    assert (line["start_s"], line["end_s"]) == (line["start_sample"] / RATE_HZ, line["end_sample"] / RATE_HZ)
    assert all(edge % TICK == 0 for unit in units for edge in unit)
    assert all(end - start >= 6 * TICK for start, end in units)
    assert all(later[0] - earlier[1] >= 20 * TICK for earlier, later in pairwise(units))


@pytest.mark.parametrize("side", SIDES)
def test_a_side_does_not_speak_over_itself(side: str) -> None:
    lines = utterances_of(side)
    assert all(later["start_sample"] - earlier["end_sample"] >= 20 * TICK for earlier, later in pairwise(lines))


def test_every_utterance_has_its_moment() -> None:
    assert [moment["utterance"] for moment in TRUTH["moments"]] == list(UTTERANCES)


def test_silences_and_overlaps_are_as_long_as_the_session_promises() -> None:
    pauses_s = {(pause["side"], round(pause_s, 2)) for pause, pause_s in moments("pause")}
    ((slow, slow_s),) = moments("slow_answer")
    ((early, early_s),) = moments("premature")
    gaps_s = [gap_s for _, gap_s in moments("gap")]
    assert pauses_s == {("A", 2.0), ("A", 0.7), ("B", 0.35)}
    assert (slow["side"], early["side"]) == ("B", "B")
    assert (slow_s, early_s) == pytest.approx((4.0, 0.6))
    assert (min(gaps_s), max(gaps_s)) == pytest.approx((0.2, 1.5))
    assert [overlap_s for _, overlap_s in moments("overlap")] == pytest.approx([0.25, 0.15])


@pytest.mark.parametrize("side", SIDES)
def test_nobody_speaks_in_a_silence(side: str) -> None:
    silences = [moment for kind in ("gap", "slow_answer", "pause") for moment, _ in moments(kind)]
    for line in utterances_of(side):
        assert all(line["end_s"] <= silence["at_s"] or silence["end_s"] <= line["start_s"] for silence in silences)


@pytest.mark.parametrize(
    ("kind", "shortest_s", "longest_s"), [("backchannel", 0.06, 0.99), ("interruption_not_yielded", 1.01, 3.0)]
)
def test_b_talks_on_when_it_keeps_the_floor(kind: str, shortest_s: float, longest_s: float) -> None:
    ((moment, length_s),) = moments(kind)
    assert moment["side"] == "A"
    assert shortest_s <= length_s <= longest_s
    units_s = [(start / RATE_HZ, end / RATE_HZ) for line in utterances_of("B") for start, end in line["ipus"]]
    assert any(start_s < moment["at_s"] and end_s > moment["end_s"] + 0.5 for start_s, end_s in units_s)


def test_b_is_cut_off_half_a_second_into_the_interruption_that_it_yields_to() -> None:
    ((moment, stop_s),) = moments("interruption_yielded")
    (cut_off,) = (line for line in UTTERANCES.values() if line["cut_off"])
    assert (moment["side"], cut_off["side"]) == ("A", "B")
    assert stop_s == pytest.approx(0.5)
    assert moment["end_s"] == cut_off["end_s"]
    assert UTTERANCES[moment["utterance"]]["end_s"] > cut_off["end_s"] + 1.0


def test_the_readme_lists_moments_at_their_times() -> None:
    table = re.findall(r"^\| (\d+):(\d\d\.\d) \|", (SAMPLE / "README.md").read_text(), re.MULTILINE)
    assert len(table) >= 8
    for minutes, seconds in table:
        listed_s = 60 * int(minutes) + float(seconds)
        assert min(abs(moment["at_s"] - listed_s) for moment in TRUTH["moments"]) < 0.051


def installed_flite() -> str:
    if shutil.which("flite") is None:
        return "none"
    return subprocess.run(["flite", "--version"], capture_output=True, text=True).stdout


@pytest.mark.skipif(TRUTH["synthesiser"] not in installed_flite(), reason=f"needs {TRUTH['synthesiser']}")
def test_the_script_makes_the_shipped_session_again(session: npt.NDArray[np.int16], tmp_path: Path) -> None:
    subprocess.run([sys.executable, SCRIPT, "--out", tmp_path], check=True)
    assert json.loads((tmp_path / "truth.json").read_text()) == TRUTH
    assert (tmp_path / "agent.jsonl").read_text() == (SAMPLE / "agent.jsonl").read_text()
    # float rounding differs between processors: one step of the last bit
    np.testing.assert_allclose(decoded(tmp_path / "sample.flac"), session, atol=1, rtol=0)


def test_without_flite_the_script_says_so_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = subprocess.run([sys.executable, SCRIPT, "--out", tmp_path], capture_output=True, text=True)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("flite, the speech synthesiser, is not installed")
    assert not list(tmp_path.iterdir())
