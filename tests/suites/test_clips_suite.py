"""`--suite clips`: recorded users with labels as a benchmark, from the command to the scorecard."""

import csv
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from helpers.commands import command, done, printed, refused
from helpers.exec_scripts import answering
from jsonschema import Draft202012Validator
from scipy.io import wavfile

from fdbcore.analysis.score import _sealed
from fdbcore.recording.labels import given_labels
from fdbcore.registry import suite
from fdbcore.report.scorecard.cases import orders
from fdbcore.suites.fdb_v3.scenarios import FOLDER as SMOKE
from fdbcore.suites.schemas import schema
from fdbcore.types import SAMPLE_RATE_HZ

CLIPS_MADE = 4
ENDS_S = (1.5, 1.6, 1.7, 1.8)
TABLE = "file,side,kind,start_s,accent,speaker\n" + "".join(
    f"c{n}.wav,A,turn_end,{end_s},{'north' if n % 2 else 'south'},s{n}\n" for n, end_s in enumerate(ENDS_S)
)


def run(folder: Path, *arguments: object, data: str = "mine?tail_s=3", code: int | None = None) -> Result:
    systems = [f"{name}={answering(wait)}" for name, wait in (("fast", 20), ("slow", 60))]
    asked = [word for system in systems for word in ("--system", system)]
    common = ("--vad", "energy", "--clock", "virtual", "--seed", 1, "--out", folder / "RUN")
    return command("run", "--suite", "clips", "--data", folder / data, *asked, *common, *arguments, code=code)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips")
    (path / "mine").mkdir()
    for number, end_s in enumerate(ENDS_S):
        times = np.arange(round((end_s - 0.5) * SAMPLE_RATE_HZ))
        tone = (10_000 * np.sin(2 * np.pi * 500 / SAMPLE_RATE_HZ * times)).astype(np.int16)
        pcm = np.concatenate((np.zeros(SAMPLE_RATE_HZ // 2, np.int16), tone))
        wavfile.write(path / "mine" / f"c{number}.wav", SAMPLE_RATE_HZ, pcm)
    (path / "labels.csv").write_text(f"{TABLE}gone.wav,A,turn_end,1,west,s9\n")
    result = run(path, "--labels", path / "labels.csv", code=0)
    assert "without a call here, left out with their labels: gone.wav (1)" in result.stderr
    return path


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "RUN-scores" / "scores.json").read_text())
    return found


def test_labels_become_those_of_each_recording(folder: Path) -> None:
    for number, end_s in enumerate(ENDS_S):
        for system in ("fast", "slow"):
            found = given_labels(folder / "RUN" / f"c{number}-{system}")
            assert found is not None
            assert found[0] == "../../labels.csv"
            assert [(label.side, label.kind, label.end_s) for label in found[1]] == [("A", "turn_end", end_s)]


def test_answers_are_measured_from_the_labels_and_sliced_by_the_other_columns(folder: Path) -> None:
    groups = {(each["system"], each["column"], each["value"]): each for each in document(folder)["groups"]}
    assert {key[1:] for key in groups} == {
        ("", ""),
        ("accent", "north"),
        ("accent", "south"),
        *(("speaker", f"s{n}") for n in range(CLIPS_MADE)),
    }
    for system, answer_ms in (("fast", 210), ("slow", 610)):
        whole = groups[system, "", ""]["measures"]
        assert whole["answered_per_labelled_turn_end"]["count"] == CLIPS_MADE
        assert whole["response_latency_ms_per_labelled_turn_end"]["median"] == pytest.approx(answer_ms, abs=20)
        assert [groups[system, "accent", value]["calls"] for value in ("north", "south")] == [2, 2]
    with (folder / "RUN-scores" / "table.csv").open() as file:
        assert {row["subset"] for row in csv.DictReader(file)} >= {"accent = north", "speaker = s3"}
    assert "accent = north" in (folder / "RUN-scores" / "report.html").read_text()


def test_systems_are_compared_with_each_other_and_the_document_is_as_its_schema_says(folder: Path) -> None:
    found = document(folder)
    Draft202012Validator(schema("own_clips/clips")).validate(found)
    latency = next(each for each in found["differences"] if each["measure"] == "response_latency_ms")
    assert (latency["a"], latency["b"], latency["n"]) == ("fast", "slow", CLIPS_MADE)
    assert latency["difference"] == pytest.approx(-0.4, abs=0.02)
    assert found["notes"] == ["only 4 calls in fast, 4 in slow: with fewer than 10 an interval may be too narrow"]
    assert not found.get("warnings"), "it is nothing to mend"


def test_the_order_of_the_cases_moves_no_interval(folder: Path, tmp_path: Path) -> None:
    """The cases of RUN in two orders: what is known of them, and each interval, stays."""
    plan = json.loads((folder / "RUN" / "run.json").read_text())
    for number in (1, 3):
        run = shutil.copytree(folder / "RUN", tmp_path / str(number) / "RUN")
        order = [plan["cases"][place * number % len(plan["cases"])] for place in range(len(plan["cases"]))]
        assert {case["name"] for case in order} == {case["name"] for case in plan["cases"]}
        (run / "run.json").write_text(json.dumps({**plan, "cases": order}))
        for number_of_clip, overlap_s in enumerate((0.1, 0.9, 0.2, 0.5)):
            path = run / f"c{number_of_clip}-fast" / "derived" / "quantities.json"
            kept = json.loads(path.read_text())
            kept["quantities"]["overlap_s_per_min"]["total"] = overlap_s
            del kept["sealed"]
            of_scores = path.with_name("scores.json").read_bytes()
            path.write_bytes(_sealed(f"{json.dumps(kept)}\n".encode(), of_scores))
        done("score", "--suite", "clips", run, "--out", run.parent / "S", "--quiet")
    one, other = (json.loads((tmp_path / number / "S" / "scores.json").read_text()) for number in "13")
    assert one["groups"][0]["measures"]["overlap_s_per_min"]["ci95"]
    assert all(one[name] == other[name] for name in ("groups", "rows", "differences"))


def test_labels_of_clips_are_compared_with_what_each_call_found(folder: Path) -> None:
    compared = printed("agree", folder / "labels.csv", folder / "RUN", code=1)
    assert sorted(compared["calls"]) == sorted(
        f"c{n}-{system}" for n in range(CLIPS_MADE) for system in ("fast", "slow")
    )
    (pair,) = compared["pairs"]
    ends = pair["spans"]["turn_end"]
    assert (ends["sides"], ends["n"], ends["f1"]["value"]) == (["A"], [8, 8], 1.0)
    assert [what for what in compared["problems"] if "without a call here" in what]


def test_rates_say_of_what_they_are_a_minute(folder: Path, tmp_path: Path) -> None:
    scored = command("score", "--suite", "clips", folder / "RUN", "--out", tmp_path / "S")
    page = (tmp_path / "S" / "calls" / "c0-fast.html").read_text().replace("&#39;", "'")
    for text in (scored.stdout, (tmp_path / "S" / "table.md").read_text(), page):
        shown = " ".join(text.split())
        assert "per min of A's speech" in shown
        assert "s per min of the call" in shown
        assert not re.search(r"per min\b(?! of ([AB]'s speech|the call))", shown)


def test_the_glossary_has_the_settings_in_words(folder: Path) -> None:
    page = (folder / "RUN-scores" / "report.html").read_text()
    assert "response_window_ms}" not in page
    assert re.search(r"within \d+(\.\d+)? s", page)


def test_the_worst_calls_are_those_without_an_answer_then_the_slow(folder: Path) -> None:
    card = suite("clips").card(document(folder))
    worst = next(iter(orders(card)))
    keys = [(name, int(better)) for name, better in (each.split(":") for each in worst.split(","))]
    assert keys[0] == ("answered_per_turn", 1)
    assert ("response_latency_ms", -1) in keys
    page = (folder / "RUN-scores" / "report.html").read_text()
    assert f'value="{worst}">worst first (response rate)' in page


def test_a_run_that_is_named_again_counts_once(folder: Path, tmp_path: Path) -> None:
    """Also by another spelling, or by a link."""
    (tmp_path / "link").symlink_to(folder / "RUN")
    again = (folder / "RUN", folder / "mine" / ".." / "RUN", tmp_path / "link")
    for suite_options in (("--suite", "clips"), ()):
        out = tmp_path / "-".join(("S", *suite_options))
        result = done("score", *suite_options, folder / "RUN", *again, "--out", out, "--quiet")
        assert result.stderr.splitlines() == [f"fdbcore score: {path}: named twice, counted once" for path in again]
        if suite_options:
            assert json.loads((out / "scores.json").read_text()) == document(folder)


def test_a_run_goes_on_by_another_spelling_of_its_paths(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "labels.csv"):
        (tmp_path / name).symlink_to(folder / name)
    monkeypatch.chdir(tmp_path)
    run(folder, "--labels", "mine/../labels.csv", "--no-score", data=f"{folder}/mine/../mine?tail_s=3", code=0)
    run(folder, "--labels", "labels.csv", "--no-score", data=f"{tmp_path}/mine?tail_s=3", code=0)


def test_what_is_missing_of_a_call_stands_on_the_scorecard(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "mine", tmp_path / "mine")
    cut = tmp_path / "mine" / "c1.wav"
    cut.write_bytes(cut.read_bytes()[:-20_000])
    result = run(tmp_path, "--labels", folder / "labels.csv")
    found = document(tmp_path)
    assert [each["where"] for each in found["gaps"]] == ["c1-fast", "c1-slow"]
    assert "c1.wav: cut off: 20000 bytes fewer than its header states" in found["gaps"][0]["reason"]
    assert "scored in part: 2" in result.stdout
    assert "c1.wav: cut off" in (tmp_path / "RUN-scores" / "report.html").read_text()


def test_names_of_any_length_are_played(folder: Path, tmp_path: Path) -> None:
    """85 letters of three bytes are the most that a name of a file can have, and two may begin alike."""
    (tmp_path / "mine").mkdir()
    names = [f"{'長' * 82}{number}" for number in range(2)]
    for name in names:
        shutil.copy(folder / "mine" / "c0.wav", tmp_path / "mine" / f"{name}.wav")
    table = "file,side,kind,start_s\n" + "".join(f"{name}.wav,A,turn_end,1.5\n" for name in names)
    (tmp_path / "labels.csv").write_text(table)
    run(tmp_path, "--labels", tmp_path / "labels.csv", code=0)
    items = document(tmp_path)["items"]
    assert len({item["clip"] for item in items}) == 2
    assert len({item["call"] for item in items}) == 4
    assert all(Path(item["call"]).is_dir() and item["values"] for item in items)


def test_gates_decide_on_slices_of_the_run(folder: Path) -> None:
    gates = folder / "gates.toml"
    gates.write_text(
        'gates = [{ check = "answered_per_labelled_turn_end >= 0.1", where = { accent = "north", system = "slow" } },\n'
        '  { check = "response_latency_ms <= 300", where = { accent = "north", system = "slow" } }]'
    )
    result = command("report", folder / "RUN", "--gate", gates)
    assert result.exit_code in (1, 3)
    assert "response_latency_ms <= 300 where accent = north, system = slow" in result.stdout.replace("\n", " ")


def test_another_run_is_told_by_the_labels_and_columns_that_differ(folder: Path, tmp_path: Path) -> None:
    there = shutil.copytree(folder / "RUN", tmp_path / "RUN")
    planned = json.loads((there / "run.json").read_text())
    for case in planned["cases"]:
        if case["name"] == "c1-fast":
            case["labels"]["labels"][0] |= {"start_s": 1.4, "end_s": 1.4}
            case["columns"]["accent"] = "west"
    (there / "run.json").write_text(json.dumps(planned))
    result = run(folder, "--labels", folder / "labels.csv", "--out", there, code=2)
    told = " ".join(result.output.split())
    for what in ("start_s: 1.4 there, 1.6 here", "end_s: 1.4 there, 1.6 here"):
        assert f"c1-fast labels labels 1 {what}" in told
    assert 'c1-fast columns accent: "west" there, "north" here' in told


def test_scored_runs_may_be_several_and_must_be_of_this_suite(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "S"
    done("score", "--suite", "clips", folder / "RUN", "--out", out, "--quiet")
    assert json.loads((out / "scores.json").read_text()) == document(folder)
    other = command("score", "--suite", "clips", folder / "mine", "--out", tmp_path / "T", code=2)
    assert "expected a run of --suite clips, got something else" in other.stderr
    assert "expected RUNs, got none" in command("score", "--suite", "clips", "--out", tmp_path / "T").stderr


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("file,accent\nc0.wav,north\nc0.wav,south\n", "c0.wav: expected one accent for a clip, got north and south"),
        ("file,system\nc0.wav,x\n", "expected another name for the column system: each run has one"),
        ("file,side,kind,when\nc0.wav,A,turn_end,1\n", "side, kind, start_s, end_s; got file, side, kind, when"),
        ("clip,accent\nnorth,x\n", "expected one column that names the calls (or call it file)"),
        (
            TABLE.replace("\nc", "\nclip_"),
            "expected names of the clips (c0, c1, c2, ...), got 4 of 4 that fit none: clip_0.wav, clip_1.wav, ",
        ),
        ("file,accent\nc0.wav,x\nd1.wav,x\nd2.wav,x\n", "got 2 of 3 that fit none: d1.wav, d2.wav"),
        (
            "file,side,kind,start_s\nc0.wav,A,turn_end,abc\n",
            "not numbers, left out: labels.csv, line 2, start_s: 'abc'",
        ),
    ],
)
def test_a_wrong_table_is_one_line(folder: Path, tmp_path: Path, table: str, says: str) -> None:
    (tmp_path / "labels.csv").write_text(table)
    arguments = ("run", "--suite", "clips", "--data", folder / "mine", "--system", "echo", "--out", tmp_path / "R")
    assert says in refused(*arguments, "--labels", tmp_path / "labels.csv")


def test_a_table_without_a_row_says_so(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("file,side,kind,start_s\n")
    result = run(folder, "--labels", tmp_path / "none.csv", "--dry-run", "--out", tmp_path / "run", code=0)
    assert "expected rows, found none in: none.csv" in " ".join(result.stderr.split())


def test_a_table_of_clips_alone_makes_slices_and_labels_need_data(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("file;accent\nc0;north\nc1;south\nc7;west\n")
    arguments = ("run", "--suite", "clips", "--system", "echo", "--dry-run", "--labels", tmp_path / "t.csv")
    assert f"{tmp_path / 't.csv'}: rows that fit no clip: c7" in done(*arguments, "--data", folder / "mine").stderr
    assert "--labels needs --data" in command(*arguments).output


@pytest.fixture(scope="module")
def echoed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose system sends back what the user says, and its scores."""
    path = tmp_path_factory.mktemp("echoed")
    (path / "mine").mkdir()
    for name in ("travel_01.flac", "travel_05.flac"):
        shutil.copy(SMOKE / name, path / "mine")
    common = ("--system", "echo", "--clock", "virtual", "--vad", "energy", "--out", path / "RUN", "--quiet")
    done("run", "--suite", "clips", "--data", path / "mine", *common)
    return path


@pytest.mark.parametrize("scoring", [("report",), ("score",), ("score", "--suite", "clips", "--out", "../SCORES")])
def test_calls_that_ended_before_their_run_was_killed_count_no_echo_as_speech(
    echoed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scoring: Sequence[str]
) -> None:
    run = shutil.copytree(echoed / "RUN", tmp_path / "RUN")
    for kept in run.glob("*/derived/*.json"):
        if kept.name in ("health.json", "scores.json", "quantities.json"):
            kept.unlink()
    monkeypatch.chdir(run)
    done(*scoring[:1], run, *scoring[1:], "--quiet")
    for call in ("travel_01", "travel_05"):
        for part in ("health.json", "scores.json"):
            made, whole = (json.loads((of / "RUN" / call / "derived" / part).read_text()) for of in (tmp_path, echoed))
            assert made == whole, (call, part)
    assert json.loads((run / "travel_01" / "derived" / "health.json").read_text())["suspect"]["B"]
    if "--suite" in scoring:
        assert json.loads((tmp_path / "SCORES" / "scores.json").read_text())["groups"] == document(echoed)["groups"]


def test_scores_without_the_health_of_their_call_are_made_again_when_the_run_goes_on(
    echoed: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(echoed / "RUN", tmp_path / "RUN")
    scores = run / "travel_01" / "derived" / "scores.json"
    whole = json.loads(scores.read_text())
    (run / "travel_01" / "derived" / "health.json").unlink()
    scores.write_text(json.dumps({**whole, "measures": {}}))
    arguments = ("--system", "echo", "--clock", "virtual", "--vad", "energy", "--out", run, "--quiet")
    done("run", "--suite", "clips", "--data", echoed / "mine", *arguments)
    assert json.loads(scores.read_text()) == whole
