"""`import fdbcore`: its functions give what the commands give, and every name says what it takes and gives."""

import csv
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import pytest
from click.testing import CliRunner
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run

import fdbcore
from fdbcore.analysis.statements import Statements
from fdbcore.cli.main import main
from fdbcore.recording.files import TURNS
from fdbcore.registry import suites
from fdbcore.runs.replay_jobs import ReplayResult
from fdbcore.runs.replay_many import ReplayProgress
from fdbcore.sources.names import Oddities
from fdbcore.types import TurnEvent

SAMPLE = Path(__file__).resolve().parents[1] / "benchmarks" / "sample" / "sample.flac"


def command(*arguments: object) -> Any:
    """What a command prints with --json."""
    return json.loads(CliRunner().invoke(main, [*map(str, arguments), "--json"]).stdout)


def drawn(path: Path, **answers_s: float) -> fdbcore.Run:
    calls = [
        MadeCall(call.name, call.activity, {"system": name})
        for seed, (name, answer_s) in enumerate(answers_s.items())
        for call in drawn_calls(8, seed, lambda _, s=answer_s: Manner(s), prefix=name)  # type: ignore[misc]
    ]
    return fdbcore.Run(made_run(path, calls))


@pytest.mark.parametrize("name", fdbcore.__all__)
def test_every_name_says_what_it_is(name: str) -> None:
    value = getattr(fdbcore, name)
    if name == "__version__":
        return
    assert inspect.getdoc(value), name
    if inspect.isfunction(value):
        assert "Error" in (value.__doc__ or ""), f"{name} says nothing of what it raises"
        assert "" not in {str(value.__annotations__.get(each, "")) for each in inspect.signature(value).parameters}
    for method, of in vars(value).items() if inspect.isclass(value) else ():
        if not method.startswith("_") and (inspect.isfunction(of) or isinstance(of, property)):
            assert inspect.getdoc(of), f"{name}.{method}"


def test_replaying_many_is_what_the_command_does(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    for name in ("one", "two"):
        (calls / f"{name}.flac").symlink_to(SAMPLE)
    (tmp_path / "calls.csv").write_text("file,speaker\none.flac,s1\ntwo.flac,s2\n")
    run = fdbcore.replay_all(calls, out=tmp_path / "library", vad="energy", meta=tmp_path / "calls.csv", jobs=1)
    assert_type(run, fdbcore.Run)
    options = ("--out", tmp_path / "command", "--vad", "energy", "--meta", tmp_path / "calls.csv", "--jobs", 1)
    summary = command("replay", calls, *options)
    kept = json.loads((run.path / "summary.json").read_text())
    assert kept == {key: summary[key] for key in kept}
    for table in ("calls.csv", "events.csv"):
        assert (run.path / table).read_text() == (tmp_path / "command" / table).read_text()
    (first, _), events = fdbcore.call_rows(run), fdbcore.event_rows(run)
    assert (first["name"], first["speaker"], first["status"]) == ("one", "s1", "done")
    with open(run.path / "calls.csv", encoding="utf-8", newline="") as file:
        assert csv.DictReader(file).fieldnames == list(first)
    told = [event for event in events if event["call"] == "one"]
    assert_type(fdbcore.Recording(run.path / "one").turn_events, list[TurnEvent])
    assert len(told) == len(json.loads((run.path / "one" / TURNS).read_text())["events"])
    assert {type(event["suspect"]) for event in told} <= {bool, type(None)}


def test_scores_comparisons_and_gates_are_those_of_the_commands(tmp_path: Path) -> None:
    run, old = drawn(tmp_path / "new", quick=0.4, slow=1.2), drawn(tmp_path / "old", quick=0.4, slow=0.8)
    scores = fdbcore.score(run, by="system", out=tmp_path)
    assert_type(scores, Statements)
    assert json.loads(json.dumps(scores)) == command("score", run.path, "--by", "system", "--out", tmp_path)
    compared = fdbcore.compare(run, old, by="system")
    options = ("--baseline", old.path, "--by", "system")
    assert json.loads(json.dumps(compared)) == command("report", run.path, *options)
    slow = next(each for each in compared["comparisons"] if each["title"] == "system = slow")
    latency = next(each for each in slow["measures"] if each["measure"] == "response_latency_ms")
    assert latency["verdict"] == "worse"

    lines = ["response_latency_ms.median <= baseline * 1.1", "answered_per_turn >= 0.5"]
    (tmp_path / "gates.toml").write_text(f"gates = {json.dumps(lines)}\n")
    told = command("report", run.path, "--baseline", old.path, "--gate", tmp_path / "gates.toml")["gates"]
    assert json.loads(json.dumps(fdbcore.gate(run, tmp_path / "gates.toml", old))) == told
    assert fdbcore.gate(run, lines, old)["results"] == fdbcore.gate(run, tmp_path / "gates.toml", old)["results"]


def test_a_score_writes_the_page_of_the_command_and_reads_a_reference_that_is_audio(tmp_path: Path) -> None:
    run, people = drawn(tmp_path / "run", quick=0.4, slow=1.2), tmp_path / "people"
    people.mkdir()
    (people / "one.flac").symlink_to(SAMPLE)
    seen: dict[str, list[str]] = {"warn": [], "step": []}

    class Told(fdbcore.ReplayWatch):
        def warn(self, text: str) -> None:
            seen["warn"].append(text)

        def step(self, text: str, done: float = 0, total: float | None = None) -> None:
            seen["step"].append(text)

    library, by_command = tmp_path / "library", tmp_path / "command"
    scores = fdbcore.score(run, by="system", detectors=["energy"], reference=people, out=library, watch=Told())
    options = ("--by", "system", "--vad", "energy", "--reference", people, "--out", by_command)
    told = json.loads(json.dumps(command("score", run.path, *options)).replace(str(by_command), str(library)))
    assert json.loads(json.dumps(scores)) == told
    assert scores["reference"]["calls"] == 1
    pages = [(folder / "scores.html").read_text().replace(str(folder), "OUT") for folder in (library, by_command)]
    assert pages[0] == pages[1]
    assert "replaying the reference" in seen["step"]
    assert "10 scored, of 16 calls" in seen["step"]


def test_a_replay_is_watched_and_compared_by_other_detectors_as_by_the_command(tmp_path: Path) -> None:
    ticks: list[int] = []
    ended: list[str] = []
    told: list[Mapping[str, list[str]]] = []

    class Told(fdbcore.ReplayWatch):
        def ticks(self, stated_s: float | None, tick: int) -> None:
            ticks.append(tick)

        def progress(self, progress: ReplayProgress, result: ReplayResult | None) -> None:
            if result is not None:
                ended.append(result.status)

        def oddities(self, found: Oddities) -> None:
            told.append(found.found)

    by = ("--vad", "energy", "--vad", "webrtc")
    one = fdbcore.replay(SAMPLE, out=tmp_path / "one", vad="energy", detectors=["webrtc"], watch=Told())
    assert ticks == [*range(one.n_ticks)]
    assert command("replay", SAMPLE, "--out", tmp_path / "by-command", *by)["detectors"]["detectors"][1] == "webrtc"
    assert ">by webrtc<" in (one.path / "report.html").read_text()
    calls = tmp_path / "calls"
    calls.mkdir()
    for name in ("one", "two"):
        (calls / f"{name}.flac").symlink_to(SAMPLE)
    run = fdbcore.replay_all(calls, out=tmp_path / "many", vad="energy", detectors=["webrtc"], watch=Told(), jobs=1)
    assert ended == ["done", "done"]
    assert told == [{}, {"calls that are copies of an earlier one; all are counted": ["two (as one)"]}]
    assert ">by webrtc<" in (run.path / "index.html").read_text()
    with pytest.raises(fdbcore.FdbError, match="--vad: expected one of silero"):
        fdbcore.replay(SAMPLE, out=tmp_path / "one", detectors=["nope"])


def test_what_is_asked_wrongly_says_so(tmp_path: Path) -> None:
    run = drawn(tmp_path / "run", quick=0.4)
    with pytest.raises(fdbcore.FdbError, match="expected a baseline or a column, got neither"):
        fdbcore.compare(run)
    with pytest.raises(fdbcore.FdbError, match="gates: gate 1: expected MEASURE"):
        fdbcore.gate(run, ["nothing"])
    with pytest.raises(fdbcore.FdbError, match="expected a run or a recording"):
        fdbcore.Run(tmp_path / "nothing")
    for given, message in (
        ({}, "expected one of --clips, --suite and --a, got none"),
        ({"a": "echo", "clips": [SAMPLE]}, "expected one of --clips, --suite and --a, got --a and --clips"),
        ({"a": "echo", "data": tmp_path}, "--data: expected --suite"),
        ({"suite": "nope"}, f"suite: expected one of {', '.join(suites())}, got 'nope'"),
    ):
        with pytest.raises(fdbcore.FdbError, match=message):
            fdbcore.run("echo", out=tmp_path / "live", **given)


def test_a_live_run_in_lockstep_is_what_the_command_holds(tmp_path: Path) -> None:
    options = {"clock": "virtual", "max_s": 10.0, "seed": 1, "trials": 2}
    run = fdbcore.run("echo:delay_ms=500", clips=[SAMPLE], out=tmp_path / "library", **options)  # type: ignore[arg-type]
    assert_type(run, fdbcore.Run)
    arguments = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
    held = command("run", "--system", "echo:delay_ms=500", "--clips", SAMPLE, "--out", tmp_path / "command", *arguments)
    assert [call.status for call in run.calls] == [case["outcome"]["kind"] for case in held["cases"]]
    assert [call.name for call in run.calls] == [case["name"] for case in held["cases"]]
    assert (run.path / "calls.csv").read_text() == (tmp_path / "command" / "calls.csv").read_text()
