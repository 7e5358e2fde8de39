"""Released results with their output_{provider}.wav: what was heard decides who spoke when, and calls get pages."""

import json
import shutil
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from helpers.commands import command
from helpers.released_folder import SPEAKERS, result

from fdbcore.sources.clips import read_clip
from fdbcore.suites.fdb_v3.scenarios import SMOKE

RECORDS = {each["id"]: each for each in json.loads(SMOKE.read_text())["record"]}
ANSWER_S = 1.0
"""After the user's end the system begins to speak."""


def released(folder: Path, **changes: Any) -> Path:
    """Two recordings, each with the results of a system with audio and of one without."""
    for number, name in enumerate(("travel_01", "shop_08")):
        record = RECORDS[name]
        place = folder / "data" / f"{name}_{SPEAKERS[number]}"
        place.mkdir(parents=True)
        source = SMOKE.parent / record["audio"]["path"]
        shutil.copy(source, place / "input.flac")
        scenario = {
            "id": name,
            "domain": record["domain"],
            "difficulty": record["difficulty"],
            "dialogue": [{"user": record["script"], "ai": ""}, {"ai": record["reply"]}],
            "expected_tool_calls": record["as_released"],
        }
        (place / "metadata.json").write_text(json.dumps(scenario))
        end_s = record["user_end_tick"] / 100
        made = result(record["as_released"], user_speech_end_rel=end_s, **changes)
        for each in made["actual_tool_calls"]:
            each["args"] = {key: "PROD1" if str(value)[0] == "$" else value for key, value in each["args"].items()}
        pcm = read_clip(source)[0][::2]
        first = int(np.flatnonzero(np.abs(pcm) > 1000)[0])
        said = np.concatenate([np.zeros(int((end_s + ANSWER_S) * 24_000), np.int16), pcm[first : first + 24_000]])
        with wave.open(str(place / "output_heard.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(24_000)
            file.writeframes(said.astype("<i2").tobytes())
        for provider in ("heard", "unheard"):
            (place / f"result_{provider}.json").write_text(json.dumps(made))
    return folder / "data"


def score(data: Path, out: Path, code: int | None = None) -> Result:
    return command("score", "--suite", "fdb-v3", data, "--out", out, code=code)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("released")
    data = released(folder)
    score(data, folder / "S", code=0)
    return data, folder / "S"


def items(out: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["system"], each["scenario"]): each for each in json.loads((out / "scores.json").read_text())["items"]}


def test_nobody_tells_the_words_of_a_released_user_and_that_is_no_problem(tmp_path: Path) -> None:
    data = released(tmp_path, input_asr_chunks=[])
    done = command("score", "--suite", "fdb-v3", data, "--transcriber", "self-reported", "--out", f"{tmp_path}/S")
    found = json.loads((tmp_path / "S" / "scores.json").read_text())
    assert (done.exit_code, found["problems"]) == (0, [])
    assert {
        row["measures"]["compat_interruption"]["n"] for row in (*found["rows"], *found["repaired"]) if not row["subset"]
    } == {2}


def test_a_released_system_whose_words_nobody_tells_is_named(tmp_path: Path) -> None:
    data = released(tmp_path, asr_chunks=[], transcript="")
    done = command("score", "--suite", "fdb-v3", data, "--transcriber", "self-reported", "--out", f"{tmp_path}/S")
    found = json.loads((tmp_path / "S" / "scores.json").read_text())
    assert (done.exit_code, found["problems"]) == (0, [])
    (told,) = [line for line in found["warnings"] if "no words of B" in line]
    assert told.endswith(" and 1 more: it did not tell what it said")


def test_what_is_heard_decides_who_spoke_when(scored: tuple[Path, Path]) -> None:
    found = items(scored[1])
    for name in ("travel_01", "shop_08"):
        end_s = RECORDS[name]["user_end_tick"] / 100
        heard, unheard = found["heard", name], found["unheard", name]
        assert heard["system_speech"][0][0] == pytest.approx(end_s + ANSWER_S, abs=0.1)
        assert heard["user_end_s"] == pytest.approx(end_s, abs=0.15)
        assert heard["values"]["first_sound_ms"] == pytest.approx(ANSWER_S * 1000, abs=200)
        assert (unheard["call"], unheard["system_speech"]) == (None, [[12.0, 12.5]])
        assert heard["transcript"] == unheard["transcript"] == "done"
        published = [{k: v for k, v in each["values"].items() if k.startswith("compat_")} for each in (heard, unheard)]
        assert published[0] == published[1]
        assert Path(heard["call"]).is_relative_to(scored[1])
        assert [(call["start_s"], call["end_s"]) for call in unheard["calls"]] == [
            (11.0 + number, 11.5 + number) for number in range(len(unheard["calls"]))
        ]


def test_a_second_scoring_reads_no_audio_again(scored: tuple[Path, Path]) -> None:
    data, out = scored
    before = {path: path.stat().st_mtime_ns for path in out.glob("recordings/*/*/events.jsonl")}
    first = (out / "scores.json").read_text()
    assert len(before) == 2
    assert score(data, out).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (out / "scores.json").read_text() == first


def test_speech_without_words_is_not_silence(tmp_path: Path) -> None:
    out = tmp_path / "S"
    assert score(released(tmp_path, asr_chunks=[], transcript=""), out).exit_code == 0
    found = items(out)
    assert found["heard", "shop_08"]["transcript"] is None
    assert "compat_turn_take" not in found["heard", "shop_08"]["values"]
    assert found["unheard", "shop_08"]["values"]["compat_turn_take"] == 0
    assert found["unheard", "shop_08"]["failure"] == "silent"
    assert found["heard", "shop_08"]["failure"] != "silent"
