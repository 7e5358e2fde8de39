"""Recorded users of v1 and v1.5, played to parties of which each has one fault, scored, exported and scored again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers.recorded_users import FAULTS, party, v1_data
from jsonschema import Draft202012Validator

from fdbcore.cli.main import main
from fdbcore.measures.reading import Reading
from fdbcore.suites.fdb_v1.schemas import SCHEMA_FILE

KNOWN_WORD_S = 0.4


def ran(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments], catch_exceptions=False)


def document(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "scores.json").read_text())
    Draft202012Validator(json.loads(SCHEMA_FILE.read_text())).validate(found)
    return found


def figures(found: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """The figures of each system in each condition."""
    return {
        (row["system"], row["condition"]): {name: each["value"] for name, each in row["measures"].items()}
        for row in found["rows"]
        if row["group"] is None
    }


def spoken_words(run: Path, folder: Path, late_s: float = 0.0) -> str:
    """The address of words: one each 0.4 s wherever the system speaks, from `late_s` on."""
    for case in sorted(path.parent for path in run.glob("*/meta.json")):
        reading = Reading(case)
        chunks = []
        for start, end in reading.dialogue.ipus["B"].tolist():
            at_s = start / 100 + late_s
            while at_s + 0.1 <= end / 100:
                chunks.append({"text": "sea", "timestamp": [at_s, min(at_s + KNOWN_WORD_S, end / 100)]})
                at_s += KNOWN_WORD_S
        (folder / case.name).mkdir(parents=True)
        for side in "AB":
            (folder / case.name / f"{side}.json").write_text(json.dumps({"chunks": chunks}))
    return f"words:{folder}"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of all parties over the four tasks, and its scores."""
    folder = tmp_path_factory.mktemp("v1")
    data = v1_data(folder / "data", [1])
    systems = [each for fault in FAULTS for each in ("--system", f"{fault}={party(folder, fault)}")]
    done = ran("run", "--suite", "fdb-v1", "--data", data, *systems, "--clock", "virtual", "--out", folder / "run")
    assert done.exit_code == 0, done.output
    assert "rating of replies to interruptions: left out" in " ".join(done.stdout.split())
    return folder


def test_each_fault_moves_the_measures_that_name_it(held: Path, tmp_path: Path) -> None:
    words = spoken_words(held / "run", tmp_path / "words")
    human = tmp_path / "human.json"
    human.write_text(json.dumps({"1": [0] * 10 + [1] * 5 + [0] * 10}))
    out = tmp_path / "out"
    done = ran("score", "--suite", "fdb-v1", held / "run", "--transcriber", words, "--human", human, "--out", out)
    assert done.exit_code == 0, done.output
    found = document(out)
    by = figures(found)
    assert [row["system"] for row in found["rows"] if row["condition"] == "pause handling"] == list(FAULTS)
    good = {task: by["good", task] for _, task in by}
    stop = "b_stopped_within_2s_per_labelled_interruption"
    latency = "response_latency_ms_per_labelled_turn_end"
    assert good["pause handling"] == {
        "compat_takeover_unwanted": 0, "takeover_by_activity_unwanted": 0, "cut_off_per_labelled_a_pause": 0
    }  # fmt: skip
    assert good["smooth turn-taking"]["compat_takeover_wanted"] == 1
    assert good["smooth turn-taking"]["compat_latency_s"] == pytest.approx(0.8, abs=0.1)
    assert good["smooth turn-taking"][latency] == pytest.approx(800, abs=100)
    assert good["user interruption"][stop] == 1
    assert good["user interruption"]["compat_latency_s"] == pytest.approx(0.8, abs=0.1)
    assert good["backchannel"]["compat_takeover_unwanted"] == 0
    assert good["backchannel"]["compat_backchannels_per_s"] > 0.1
    assert good["backchannel"]["compat_jsd"] < 0.8326
    spoilt: dict[str, tuple[str, dict[str, Any]]] = {
        "hasty": ("pause handling", {"compat_takeover_unwanted": 1, "cut_off_per_labelled_a_pause": 1}),
        "mute": ("backchannel", {"compat_backchannels_per_s": 0, "compat_jsd": 1}),
        "late": ("smooth turn-taking", {latency: pytest.approx(2500, abs=100)}),
        "stubborn": ("user interruption", {stop: 0, "answered_per_labelled_turn_end": 0}),
    }
    for system, (task, moved) in spoilt.items():
        own = by[system, task]
        assert {name: own[name] for name in moved} == moved
        for other in ("pause handling", "backchannel"):
            if other != task:
                assert by[system, other] == good[other], (system, other)
    assert by["late", "smooth turn-taking"]["compat_latency_s"] == pytest.approx(2.5, abs=0.1)
    assert by["stubborn", "user interruption"]["compat_latency_s"] == 0, "it never stopped, which looks fast"


def test_outputs_that_exist_score_as_the_run_did(held: Path, tmp_path: Path) -> None:
    words = spoken_words(held / "run", tmp_path / "words")
    of_run = document_of(tmp_path / "of-run", held / "run", "--transcriber", words)
    exported = tmp_path / "released"
    done = ran("export", held / "run", "--format", "fdb1", "--out", exported)
    assert done.exit_code == 0, done.output
    good = exported / "good"
    for case in json.loads((held / "run" / "run.json").read_text())["cases"]:
        if case["system"] == "good":
            place = good / Path(case["clip"]["path"]).parent.relative_to(held / "data")
            shutil.copy(tmp_path / "words" / case["name"] / "B.json", place / "output.json")
    (good / "icc_backchannel" / "2").mkdir()
    shutil.copy(good / "icc_backchannel" / "1" / "input.wav", good / "icc_backchannel" / "2" / "input.wav")
    out = tmp_path / "of-folder"
    done = ran("score", "--suite", "fdb-v1", good, "--out", out)
    assert done.exit_code == 1, "one sample has no output"
    found = document(out)
    assert [problem["reason"] for problem in found["problems"]] == ["expected output.wav beside input.wav, found none"]
    assert found["settings"]["transcribers"] == ["output.json"]
    ours, theirs = figures(of_run), figures(found)
    for (system, task), own in theirs.items():
        assert system == "good"
        for name, value in own.items():
            assert value == pytest.approx(ours["good", task][name], rel=0.02, abs=0.02), (task, name)
    again = ran("score", "--suite", "fdb-v1", good, "--out", out)
    assert again.exit_code == 1
    assert document(out) == found


def document_of(out: Path, *arguments: object) -> dict[str, Any]:
    done = ran("score", "--suite", "fdb-v1", *arguments, "--out", out)
    assert done.exit_code == 0, done.output
    return document(out)
