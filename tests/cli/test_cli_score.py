"""`fdbcore score --suite dialogue-acts`: the shipped set, the paper's cases, files with faults, and several sets."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import Asked, Refuses
from helpers.act_sets import record, record_set, response, sequence
from helpers.commands import command, done
from helpers.schema import as_published
from helpers.talker import TALKER

from fdbcore.registry import speaker
from fdbcore.report.scorecard.columns import width_columns
from fdbcore.suites.dialogue_acts import replies
from fdbcore.suites.dialogue_acts.records import Record, Response, jsonl
from fdbcore.suites.dialogue_acts.scoring.alignment import ActSequence
from fdbcore.suites.dialogue_acts.sets import SHIPPED
from fdbcore.suites.dialogue_acts.writing.speak import speak_records

# The example of section 4.1.1 and the four of Table 2: the paper's references and replies, and from all scripts, in
# exact fractions, WLCS, WED and its parts (deletion, insertion, substitution).
GOLDEN: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "4.1.1": ("Q .7 Sug .1 Inf .2", "Q .7 Sug .15 Ans .05", (0.85, 0.125, 0.0, 0.0, 0.125)),
    "ID1": ("Com .60 Q .25 Inf .15", "Inf 1.00", (1.00, 0.85, 0.0, 0.85, 0.0)),
    "ID2": ("Q .65 Inf .15 Com .20", "Req .70 Q .30", (0.30, 1.05, 0.70, 0.35, 0.0)),
    "ID3": ("Com .60 Q .20 Q .20", "ChkQ .30 Inf .50 Inf .20", (0.0, 1.00, 0.0, 0.0, 1.00)),
    "ID4": ("Inf .65 Q .35", "Inf .75 Q .25", (1.00, 0.0, 0.0, 0.0, 0.0)),
}
RECALL = {"4.1.1": 0.80, "ID1": 0.15, "ID2": 0.65, "ID3": 0.0, "ID4": 1.0}


def score(*arguments: object, cwd: Path, code: int | None = None) -> Result:
    return command("score", "--suite", "dialogue-acts", "--out", cwd / "out", *arguments, code=code)


def scored(*arguments: object, cwd: Path, code: int = 0) -> dict[str, Any]:
    result = score(*arguments, "--json", cwd=cwd)
    assert result.exit_code == code, result.stderr
    return as_published(json.loads(result.stdout))


def written(path: Path, items: Iterable[Record | Response], *more: str) -> Path:
    path.write_text(jsonl(items) + "".join(f"{line}\n" for line in more), encoding="utf-8")
    return path


def golden_files(folder: Path) -> tuple[Path, Path]:
    records = [record(id, reference) for id, (reference, _, _) in GOLDEN.items()]
    given = [response(id, reply) for id, (_, reply, _) in GOLDEN.items()]
    return written(folder / "records.jsonl", records), written(folder / "replies.jsonl", given)


def test_the_papers_cases_through_the_whole_command(tmp_path: Path) -> None:
    references, answers = golden_files(tmp_path)
    content = scored(answers, "--references", references, "--as-given", cwd=tmp_path)
    items = {item["id"]: item for item in content["items"]}
    for id, (_, _, expected) in GOLDEN.items():
        found = items[id]["scores"]
        assert [found[name] for name in ("wlcs", "wed", "deletion", "insertion", "substitution")] == list(expected)
        assert found["recall"] == pytest.approx(RECALL[id])
        assert sum(step["cost"] for step in items[id]["path"]) == pytest.approx(found["wed"])
    cases = {case["case"]: content["items"][case["item"]]["id"] for case in content["cases"]}
    assert cases == {"insertion": "ID1", "deletion": "ID2", "substitution": "ID3", "smallest": "ID4"}
    assert content["rows"][0]["measures"]["wed"]["value"] == pytest.approx((0.125 + 0.85 + 1.05 + 1.00) / 5)


def test_the_papers_example_is_an_error_unless_it_is_taken_as_given(tmp_path: Path) -> None:
    references, answers = golden_files(tmp_path)
    content = scored(answers, "--references", references, cwd=tmp_path, code=1)
    assert content["problems"] == [
        {
            "where": f"{answers}, line 1 (4.1.1)",
            "reason": "acts: expected importances that sum to 1 within 0.01, got 0.9 "
            "(fdbcore score --as-given takes them as they are)",
        }
    ]
    assert (content["rows"][0]["n"], content["rows"][0]["counts"]["unscored"]) == (4, 1)


def test_without_arguments_the_shipped_set_is_scored_and_reported(tmp_path: Path) -> None:
    result = score(cwd=tmp_path, code=0)
    report = tmp_path / "out" / "report.html"
    assert result.stdout.splitlines()[-1] == str(report)
    assert report.read_text(encoding="utf-8").startswith("<!")
    content = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))
    n = len((SHIPPED / "records.jsonl").read_text(encoding="utf-8").splitlines())
    assert [(row["system"], row["n"]) for row in content["rows"][:3]] == [("good", n), ("terse", n), ("ceiling", n)]
    assert {one["measure"] for one in content["differences"]} == {"wlcs", "wed", "f1"}
    assert "too few for a ranking" in result.stdout
    for name in ("good", "terse", "ceiling", "always Inform", "most frequent", "shuffled"):
        assert f"\n{name} " in result.stdout


@pytest.mark.parametrize("width", [60, 80, 100, 130])
def test_the_screen_fits_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = score("--published", cwd=tmp_path).stdout.splitlines()[:-1]
    assert max(map(width_columns, lines)) <= width
    assert "such scores cannot be compared with the paper's." in " ".join(lines)
    header = next(line for line in lines if "mean [95 % interval]" in line)
    assert ("uniform" in header) == (width >= 130)


FAULTS: dict[str, tuple[str, str]] = {
    "not JSON": ("{", "expected JSON"),
    "an unknown act": (
        json.dumps(response("r1", "Q 1").to_json()).replace("Question", "Greeting"),
        "act 0: expected one",
    ),
    "not a number": (
        json.dumps(response("r1", "Q 1").to_json()).replace("1.0", "NaN"),
        "act 0: expected an importance",
    ),
    "no acts": (
        '{"id": "r1", "system": "s", "text": "a", "annotations": [{"annotator": "x", "steps": []}]}',
        "acts: exp",
    ),
    "a key twice": (
        '{"id": "r1", "system": "s", "text": "a", "text": "b"}',
        'expected each key once in an object, got "text" 2',
    ),
    "an id twice": (json.dumps(response("r0", "Q 1").to_json()), "expected an id only once"),
    "no record": (json.dumps(response("r7", "Q 1").to_json()), "expected a response to a record, got id 'r7'"),
    "not annotated": ('{"id": "r1", "system": "s", "text": "a"}', "s: expected an annotation of x, got none"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_and_never_stops_the_rest(tmp_path: Path, fault: str) -> None:
    line, reason = FAULTS[fault]
    of = record_set(["Q 1"], ["Inf 1"])
    references = written(tmp_path / "set.jsonl", of.records.values())
    answers = written(tmp_path / "replies.jsonl", [response("r0", "Q 1")], line)
    result = score(answers, "--references", references, cwd=tmp_path, code=1)
    content = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))
    named = [problem for problem in content["problems"] if problem["where"].startswith(f"{answers}, line 2")]
    assert [problem["reason"][: len(reason)] for problem in named] == [reason]
    assert content["rows"][0]["n"] == 1
    again = [problem for problem in content["problems"] if problem["reason"] == "no response of s"]
    assert len(again) == (fault in ("not JSON", "a key twice", "an id twice", "no record")), (
        "told once where it is known"
    )
    assert f"left out: {len(content['problems'])}" in result.stdout


def test_a_file_that_cannot_be_used_is_one_problem(tmp_path: Path) -> None:
    references, answers = golden_files(tmp_path)
    content = scored(answers, tmp_path / "no.jsonl", "--references", references, "--as-given", cwd=tmp_path, code=1)
    assert content["problems"] == [
        {"where": str(tmp_path / "no.jsonl"), "reason": "cannot be read: No such file or directory"}
    ]
    result = score(tmp_path / "no.jsonl", "--references", references, cwd=tmp_path, code=2)
    assert "no.jsonl: cannot be read" in result.stderr


def test_responses_find_their_sets_by_id(tmp_path: Path) -> None:
    first = written(tmp_path / "first.jsonl", [record("a", "Q 1"), record("both", "Q 1")])
    second = written(tmp_path / "second.jsonl", [record("b", "Inf 1"), record("both", "Q 1")])
    answers = written(tmp_path / "replies.jsonl", [response(id, "Q 1") for id in ("a", "b", "both")])
    content = scored(answers, "--references", first, "--references", second, cwd=tmp_path, code=1)
    own = [row for row in content["rows"] if (row["system"], row["subset"]) == ("s", "")]
    means = {row["condition"].partition(",")[0]: row["measures"]["wlcs"]["value"] for row in own}
    assert means == {"first": 1.0, "second": 0.0}
    assert content["problems"][0] == {
        "where": f"{answers}, line 3 (both)",
        "reason": 'expected ids that tell the sets apart, or a set\'s name in "set", '
        "got 'both', which is in first and second",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--references", "set.jsonl"], "expected responses to --references, got none"),
        (["--annotator", "nobody:x"], "--annotator: expected one of gemini, local, openai, got 'nobody'"),
        (["s.jsonl", "--references", "set.jsonl", "--references", "set.jsonl"], "got 'set' 2 times"),
    ],
)
def test_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "set.jsonl", [record("a", "Q 1")])
    assert message in score(*arguments, cwd=tmp_path, code=2).stderr.replace("\n", " ")


def test_figures_are_written_on_request(tmp_path: Path) -> None:
    result = score("--figures", tmp_path / "figures", "--quiet", cwd=tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert list((tmp_path / "figures").glob("*.svg"))


def test_repeats_are_told(tmp_path: Path) -> None:
    of = record_set(["Q 1"], ["Inf 1"])
    lines = []
    for id in of.records:
        line = response(id, "Q 1").to_json()
        again: ActSequence = sequence("Inf 1")
        line["annotations"].append(
            {"annotator": "x", "repeat": 2, "steps": [{"act": act, "importance": w} for act, w in again]}
        )
        lines.append(json.dumps(line))
    references = written(tmp_path / "set.jsonl", of.records.values())
    (tmp_path / "replies.jsonl").write_text("\n".join(lines))
    result = score(tmp_path / "replies.jsonl", "--references", references, cwd=tmp_path, code=0)
    assert "2 annotations of each reply" in result.stdout.replace("\n", " ")


def annotating(of_text: Mapping[str, str]) -> Callable[[Asked], str]:
    """A model that labels each text as told; it is asked with the reply among other things."""

    def answer(asked: Asked) -> str:
        acts = next(acts for text, acts in of_text.items() if text in asked.user)
        return json.dumps({"steps": [{"act": act, "importance": w} for act, w in sequence(acts)]})

    return answer


def unannotated_files(folder: Path) -> tuple[Path, Path]:
    of = record_set(["Q 1"], ["Inf .5 Ans .5"])
    given = [Response("r0", "s", "REPLY-0"), Response("r1", "s", "REPLY-1"), Response("r9", "s", "STRAY")]
    return written(folder / "set.jsonl", of.records.values()), written(folder / "replies.jsonl", given)


def test_a_model_annotates_replies_and_reference_texts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    references, answers = unannotated_files(tmp_path)
    said = {"REPLY-0": "Q 1", "REPLY-1": "Inf 1", "text r0": "Q 1", "text r1": "Inf .5 Ans .5"}
    with FakeOpenAI(annotating(said)) as server:
        arguments = ["--references", references, "--annotator", server.address_of("openai:labeller")]
        before = score(answers, *arguments, "--dry-run", cwd=tmp_path)
        assert (before.exit_code, server.asked, (tmp_path / "out").exists()) == (0, [], False)
        content = scored(answers, *arguments, cwd=tmp_path, code=1)
        asked = len(server.asked)
        assert f"openai:labeller: {asked} of {asked} annotations left, " in before.stdout
        after = score(answers, *arguments, "--dry-run", cwd=tmp_path)
        assert f"openai:labeller: 0 of {asked} annotations left, 0.00 USD" in after.stdout
        assert "asks nobody" in score(answers, "--references", references, "--dry-run", cwd=tmp_path).stdout
        again = scored(tmp_path / "out" / "annotations.jsonl", *arguments, cwd=tmp_path, code=1)
        assert len(server.asked) == asked == 4
    means = {row["group"]: row["measures"]["wed"]["value"] for row in content["rows"] if row["group"] != "baseline"}
    assert means == {"system": 0.25, "ceiling": 0.0}
    assert content["settings"]["annotators"] == ["openai:labeller"]
    assert [problem["reason"][:32] for problem in content["problems"]] == ["expected a response to a record,"]
    assert again["rows"] == content["rows"]


def test_what_a_model_cannot_annotate_is_named_once_and_unscored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    references, answers = unannotated_files(tmp_path)
    said = annotating({"REPLY-0": "Q 1", "text r": "Q 1"})
    with FakeOpenAI(lambda asked: Refuses("refusal") if "REPLY-1" in asked.user else said(asked)) as server:
        arguments = ["--references", references, "--annotator", server.address_of("openai:labeller")]
        content = scored(answers, *arguments, "--repeats", 2, cwd=tmp_path, code=1)
    first = content["rows"][0]
    assert (first["n"], first["counts"]["unscored"], content["settings"]["repeats"]) == (1, 1, 2)
    named = [problem for problem in content["problems"] if problem["where"].startswith("r1, s")]
    assert [problem["where"] for problem in named] == [f"r1, s, openai:labeller, repeat {k}" for k in (1, 2)]
    assert len(content["problems"]) == 3  # and the stray response


def test_a_model_that_cannot_be_had_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    references, answers = unannotated_files(tmp_path)
    with FakeOpenAI(annotating({})) as server:
        result = score(
            answers, "--references", references, "--annotator", server.address_of("openai:labeller"), cwd=tmp_path
        )
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("fdbcore score: ")


def test_a_missing_key_is_wrong_usage_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    references, answers = unannotated_files(tmp_path)
    result = score(answers, "--references", references, "--annotator", "openai:labeller", cwd=tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected a key in OPENAI_API_KEY" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_is_scored_with_the_records_it_was_held_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        written(tmp_path / name / "records.jsonl", record_set(["Q 1"]).records.values())
    (tmp_path / "other").mkdir()
    written(tmp_path / "other" / "records.jsonl", record_set(["Inf 1"]).records.values())
    monkeypatch.setattr(replies, "responses_of", lambda run, _: ([response("r0", "Q 1", run.name)], []))
    content = scored(*(tmp_path / name for name in ("one", "two", "other")), cwd=tmp_path)
    own = [row for row in content["rows"] if row["group"] == "system" and not row["subset"]]
    found = [(row["condition"].partition(",")[0], row["system"], row["measures"]["wed"]["value"]) for row in own]
    assert found == [("one", "one", 0.0), ("one", "two", 0.0), ("other", "other", 1.0)]
    assert content["problems"] == []
    again = scored(
        tmp_path / "out" / "annotations.jsonl",
        *(argument for name in ("one", "other") for argument in ("--references", tmp_path / name)),
        cwd=tmp_path,
    )
    assert again["rows"] == content["rows"], "what score writes finds its sets again"


def test_speak_run_annotate_and_score_are_one_way_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    of = record_set(["Q 1"], ["Inf .5 Ans .5"])
    (tmp_path / "data").mkdir()
    written(tmp_path / "data" / "records.jsonl", of.records.values())
    assert speak_records(list(of.records.values()), tmp_path / "data", speaker(f"exec:{TALKER}")) == []
    labels = annotating({"REPLY": "Q 1", "text r0": "Q 1", "text r1": "Inf .5 Ans .5"})
    with FakeOpenAI(lambda asked: "REPLY" if asked.wav else labels(asked)) as server:
        system = f"voice={server.address_of('openai-chat:audio')}"
        arguments = ["--suite", "dialogue-acts", "--system", system, "--data", tmp_path / "data", "--vad", "energy"]
        done("run", *arguments, "--clock", "virtual", "--out", tmp_path / "run", "--quiet")
        arguments = ["--annotator", server.address_of("openai:labeller")]
        content = scored(tmp_path / "run", *arguments, cwd=tmp_path)
    rows = {row["system"]: row for row in content["rows"] if not row["subset"]}
    assert (rows["voice"]["n"], rows["voice"]["measures"]["wed"]["value"]) == (2, 0.625)
    assert rows["ceiling"]["measures"]["wed"]["value"] == 0.0
    assert content["sets"][0]["n"] == 2


def test_long_names_do_not_flood_the_screen(tmp_path: Path) -> None:
    name = "system-" * 500
    of = record_set(["Q 1"], ["Inf 1"])
    references = written(tmp_path / "set.jsonl", of.records.values())
    given = [response("r0", "Q 1", name, name), response("r9", "Q 1", name), response("r0", "Q 1", f"{name}2")]
    lines = score(written(tmp_path / "replies.jsonl", given), "--references", references, cwd=tmp_path).stdout
    assert len(lines) < 12_000
    assert "system-syst" in lines


@pytest.mark.parametrize("name", ["annotations.jsonl", "report.html", "run.json", "scores.json"])
def test_nothing_but_an_earlier_scoring_is_written_over(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text('{"schema": "another"}', encoding="utf-8")
    result = score(cwd=tmp_path)
    assert (result.exit_code, [path.name for path in out.iterdir()]) == (2, [name])
    assert f"--out {out}: expected a new or empty folder" in result.stderr
    (out / name).unlink()
    assert (score(cwd=tmp_path).exit_code, score(cwd=tmp_path).exit_code) == (0, 0)


def test_systems_that_share_no_record_are_reported(tmp_path: Path) -> None:
    of = record_set(["Q 1"], ["Inf 1"])
    references = written(tmp_path / "set.jsonl", of.records.values())
    answers = written(tmp_path / "replies.jsonl", [response("r0", "Q 1", "one"), response("r1", "Q 1", "two")])
    content = scored(answers, "--references", references, cwd=tmp_path, code=1)
    assert {one["n"] for one in content["differences"]} == {0}
    assert "cannot be told" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_folder_that_is_no_run_is_one_problem(tmp_path: Path) -> None:
    references, answers = golden_files(tmp_path)
    (tmp_path / "empty").mkdir()
    content = scored(answers, tmp_path / "empty", "--references", references, "--as-given", cwd=tmp_path, code=1)
    (problem,) = content["problems"]
    assert problem["where"] == str(tmp_path / "empty")
