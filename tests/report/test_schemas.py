"""The published schemas are what the types give, and what is made keeps to them."""

import json
from pathlib import Path

import pytest
from helpers.commands import command, printed
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run
from helpers.schema import validator
from helpers.voices import DIALOGUE, RATE_HZ, voices, write
from jsonschema import Draft202012Validator
from scipy.io import wavfile

from fdbcore.analysis.comparison import compare
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.gates import gate
from fdbcore.analysis.label_agreement import agreement
from fdbcore.report.schemas import DOCUMENTS, as_text, schema, schema_file
from fdbcore.runs.run_scores import score

GATES = [
    "premature_per_turn <= 0.001",
    "response_latency_ms.p90 <= baseline * 3",
    "answered_per_turn >= baseline - 0.01",
    "b_stopped_within_2s_per_long_a_onset >= 0.5",
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """A new run and an old one, each of two systems, without audio."""
    path = tmp_path_factory.mktemp("runs")
    made = []
    for name, latency_s in (("new", 0.5), ("old", 0.9)):
        manners = {"one": Manner(latency_s), "two": Manner(latency_s, premature=0.3)}
        calls = [
            MadeCall(call.name, call.activity, {"system": system})
            for seed, (system, manner) in enumerate(manners.items())
            for call in drawn_calls(6, seed, lambda _, of=manner: of, prefix=system)  # type: ignore[misc]
        ]
        made.append(Run(made_run(path / name, calls)))
    return made[0], made[1]


def check(name: str, document: object) -> None:
    """The document as a reader of the file gets it keeps to its schema."""
    validator(name).validate(json.loads(json.dumps(document, allow_nan=False)))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_published_schema_is_what_the_types_give(name: str) -> None:
    assert schema_file(name).read_text(encoding="utf-8") == as_text(schema(name)), "make schema writes it anew"
    Draft202012Validator.check_schema(schema(name))


def test_comparisons_and_gates_keep_to_their_schema(runs: tuple[Run, Run]) -> None:
    new, old = runs
    for document in (compare(new, old), compare(new, old, by="system"), compare(new, by="system")):
        check("comparison", document)
        assert document["comparisons"]
        document["gates"] = gate(new, GATES, old)
        assert {result["status"] for result in document["gates"]["results"]} > {"failed", "passed"}
        check("comparison", document)


def test_scores_keep_to_their_schema(runs: tuple[Run, Run], tmp_path: Path) -> None:
    new, old = runs
    check("statements", score(new, out=tmp_path))
    document = score(new, by="system", sensitivity=True, reference=old, out=tmp_path)
    assert document["differences"]
    assert document["sensitivity"]["groups"]
    assert document["reference"]["groups"]
    check("statements", document)
    check("statements", json.loads((tmp_path / "scores.json").read_text()))


def test_what_a_replay_of_several_calls_keeps_and_prints_keeps_to_its_schemas(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / f"{name}.wav", voices(DIALOGUE))
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    summary = printed("replay", tmp_path, "--vad", "energy", "--out", tmp_path / "run", code=1)
    assert len(summary["sessions"]) == 2
    assert len(summary["failed"]) == 1
    check("summary", summary)
    check("summary", json.loads((tmp_path / "run" / "summary.json").read_text()))
    check("corpus", json.loads((tmp_path / "run" / "corpus.json").read_text()))


def test_what_a_run_keeps_and_prints_keeps_to_its_schemas(tmp_path: Path) -> None:
    wavfile.write(tmp_path / "one.wav", RATE_HZ, voices(DIALOGUE)[:, 0])
    arguments = ["run", "--clips", f"{tmp_path}?tail_s=3", "--system", "echo", "--clock", "virtual"]
    summary = printed(*arguments, "--vad", "energy", "--out", tmp_path / "run")
    assert [case["outcome"]["kind"] for case in summary["cases"]] == ["done"]
    check("run_summary", summary)
    check("run_summary", json.loads((tmp_path / "run" / "summary.json").read_text()))
    check("run", json.loads((tmp_path / "run" / "run.json").read_text()))


def test_the_agreement_of_labels_keeps_to_its_schema(tmp_path: Path) -> None:
    for rater, backchannel in (("first", "A,backchannel,6.00,6.40"), ("second", "A,interruption,6.10,6.50")):
        rows = [f"one,A,turn_end,2.{len(rater)},2.{len(rater)}", "one,A,pause,4.00,5.00", f"one,{backchannel}"]
        (tmp_path / f"{rater}.csv").write_text("\n".join(["call,side,kind,start_s,end_s", *rows]))
    document = agreement([tmp_path / "first.csv", tmp_path / "second.csv"], 200)
    (pair,) = document["pairs"]
    assert set(pair["spans"]) == {"turn_end", "pause"}
    assert pair["kinds"] is not None
    check("label_agreement", document)
    check("label_agreement", agreement([tmp_path / "first.csv", tmp_path / "first.csv"], 200))


def test_what_the_doctor_prints_keeps_to_its_schema(tmp_path: Path) -> None:
    write(tmp_path / "one.wav", voices(DIALOGUE))
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    files = [str(tmp_path / name) for name in ("one.wav", "broken.wav")]
    checked = command("doctor", *files, "--vad", "energy", "--json")
    assert {"verdict" in each for each in json.loads(checked.stdout)["files"].values()} == {True, False}
    check("doctor", json.loads(checked.stdout))
    probed = printed("doctor", "echo", "exec:false", code=1)
    assert len(probed["systems"]) == 2
    check("doctor", probed)
    check("selftest", probed["timing"])


def test_the_costs_of_a_run_keep_to_their_schema(tmp_path: Path) -> None:
    costs = printed("run", "--dry-run", "--a", "scripted:caller", "--system", "echo", "--out", tmp_path / "run")
    assert set(costs["systems"]) == {"echo", "all"}
    check("costs", costs)
