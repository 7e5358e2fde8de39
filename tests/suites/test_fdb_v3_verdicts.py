"""`fdbcore agree` on verdicts of people, judge, exact matcher and measures about calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import command, done, printed, refused
from helpers.released_folder import release, result
from jsonschema import Draft202012Validator

from fdbcore.suites.schemas import schema


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six results: the 2nd has a wrong argument, the 3rd begins before the user's end, the 4th says nothing."""
    folder = tmp_path_factory.mktemp("scored")
    data = release(folder)
    for number, place in enumerate(sorted(data.glob("travel_0*_*"))[:6]):
        made = result(json.loads((place / "metadata.json").read_text())["expected_tool_calls"])
        if number == 1:
            made["actual_tool_calls"][0]["args"] = {"destination": "Bonn", "date": "2026-05-02"}
        if number == 2:
            made["asr_chunks"][0]["timestamp"] = [9.5, 10.5]
        if number == 3:
            made |= {"asr_chunks": [], "transcript": ""}
        (place / "result_ours.json").write_text(json.dumps(made))
    done("score", "--suite", "fdb-v3", data, "--out", folder / "S")
    return folder / "S"


def records(scores: Path) -> list[str]:
    return [item["record"] for item in json.loads((scores / "scores.json").read_text())["items"]]


def table(path: Path, names: Sequence[str], **columns: str) -> Path:
    """A table by one rater. columns: y, n, ? (cannot tell) or - (not rated) of each recording."""
    words = {"y": "yes", "n": "No", "?": "cannot tell", "-": ""}
    rows = [
        ",".join([name, "ours", path.stem, *(words[given[number]] for given in columns.values())])
        for number, name in enumerate(names)
    ]
    path.write_text("\n".join([f"recording,system,rater,{','.join(columns)}", *rows, ""]))
    return path


def compared(content: Mapping[str, Any], metric: str, *raters: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        each for each in content["comparisons"] if (each["metric"], each["raters"]) == (metric, list(raters))
    )
    return found


def test_people_stand_beside_the_matcher_and_both_kinds_of_measures(scores: Path, tmp_path: Path) -> None:
    names = records(scores)
    ann = table(tmp_path / "ann.csv", names, arguments="ynynyy", interruption="nnynnn", turn_take="yyyny-")
    ben = table(tmp_path / "ben.csv", names, arguments="yyynyy", interruption="nyyn?n", turn_take="yyynyy")
    content = printed("agree", ann, ben, scores)
    Draft202012Validator(schema("rater_agreement")).validate(content)
    assert [(each["name"], each["kind"]) for each in content["raters"]] == [
        ("ann", "person"),
        ("ben", "person"),
        ("exact matcher", "judge"),
        ("published measures", "judge"),
        ("our measures", "judge"),
    ]
    people = compared(content, "arguments", "ann", "ben")
    assert (people["n"], people["yes"], people["between"]) == (6, [4, 5], "people")
    assert people["identical"]["value"] == pytest.approx(5 / 6)
    assert compared(content, "arguments", "exact matcher", "ann")["yes"] == [5, 4], "the 2nd alone is wrong"
    split = compared(content, "arguments", "exact matcher", "people")
    assert (split["n"], split["yes"]) == (5, [5, 4]), "where people are split they cannot tell"
    early = compared(content, "interruption", "published measures", "ann")
    assert (early["n"], early["identical"]["value"]) == (5, 1.0), "one that is silent has no first word"
    assert compared(content, "interruption", "ann", "ben")["n"] == 5, "who cannot tell is left out"
    assert compared(content, "turn_take", "published measures", "ann")["identical"]["value"] == 1.0
    assert compared(content, "turn_take", "our measures", "ben")["n"] == 6
    assert not any("response" == each["metric"] for each in content["comparisons"]), "nobody judged it"
    shown = command("agree", ann, ben, scores).stdout
    assert "3 exact matcher: 6 calls" in shown
    assert "turn-take" in shown


def test_the_judge_of_scores_is_a_rater_too_and_three_people_have_one_alpha(scores: Path, tmp_path: Path) -> None:
    document = json.loads((scores / "scores.json").read_text())
    yes, no, unknown = ({"right": right, "reason": ""} for right in (True, False, None))
    arguments = [[yes, yes], [yes, yes], [yes, no], [yes, unknown], [no, unknown], [yes, None]]
    for item, given in zip(document["items"], arguments, strict=True):
        item["verdicts"] = {
            "arguments": given, "response": yes, "filler": None, "key": None, "speech_reason": None,
        }  # fmt: skip
    document |= {"judging": {"judges": ["openai:x", "openai:y"]}, "schema": "fdbcore.fdb_v3/1"}  # items are as before
    (judged := tmp_path / "scores.json").write_text(json.dumps(document))
    names = records(scores)
    given = {"ann": "yyynny", "ben": "ynynnn", "cy": "yy?nyn"}
    tables = [table(tmp_path / f"{name}.csv", names, arguments=each, response=each) for name, each in given.items()]
    content = printed("agree", *tables, judged, code=None)
    with_ann = compared(content, "arguments", "openai:x", "ann")
    assert (with_ann["n"], with_ann["yes"]) == (5, [2, 4]), "of the 4th call a verdict is missing, and none is no"
    most = compared(content, "response", "openai:x", "people")
    assert (most["n"], most["yes"]) == (6, [6, 3])
    three = compared(content, "arguments", *given)
    assert (three["n"], three["kappa"], three["identical"]["value"]) == (6, None, pytest.approx(3 / 6))


def test_one_call_under_two_conditions_is_two_calls(scores: Path, tmp_path: Path) -> None:
    document = json.loads((scores / "scores.json").read_text())
    noisy = [{**item, "condition": "noisy", "matched": [False]} for item in document["items"]]
    (both := tmp_path / "scores.json").write_text(json.dumps({**document, "items": [*document["items"], *noisy]}))
    name = records(scores)[0]
    rows = [
        f"{name},ours,ann,{condition},{given}" for condition, given in (("noisy", "no"), ("released results", "yes"))
    ]
    (ann := tmp_path / "ann.csv").write_text("\n".join(["recording,system,rater,condition,arguments", *rows]))
    found = compared(printed("agree", ann, both, code=None), "arguments", "exact matcher", "ann")
    assert (found["n"], found["yes"]) == (2, [1, 1])
    result = command("agree", table(tmp_path / "ben.csv", [name], arguments="y"), both, code=2)
    assert "line 2: condition: expected one of noisy; released results, got none" in " ".join(result.output.split())


def test_what_cannot_be_used_is_said_in_a_line(scores: Path, tmp_path: Path) -> None:
    names = records(scores)
    ann = table(tmp_path / "ann.csv", names, arguments="yyyyyn")
    text = ann.read_text().replace(f"{names[0]},ours,ann,yes", f"{names[0]},ours,ann,perhaps") + f"{names[1]},,ann,no\n"
    ann.write_text(text)
    result = command("agree", ann, scores, code=1)
    told = " ".join(result.output.split())
    assert "line 2: arguments: left out: expected yes, no, cannot tell, got 'perhaps'" in told
    assert "line 8: system: left out: expected a name, got none" in told
    header = "recording,system,rater,trial,arguments"
    (bad := tmp_path / "bad.csv").write_text(f"{header}\n{names[0]},ours,cy,first,yes\n")
    result = command("agree", bad, scores, code=1)
    assert "line 2: trial: left out: expected a number from 1, got 'first'" in " ".join(result.output.split())
    lost = [table(tmp_path / f"{name}.csv", names[:1], arguments="y") for name in ("di", "ed")]
    for each in lost:
        each.write_text(each.read_text().replace("yes", "ja"))
    result = command("agree", *lost)
    said = " ".join(result.output.split())
    assert result.exit_code == 2
    assert f"got none ({lost[0]}, line 2: arguments: left out: expected yes, no, cannot tell, got 'ja')" in said
    other = table(tmp_path / "other.csv", ["nobody_1"], arguments="y")
    assert "expected verdicts on calls of the scores, got" in refused("agree", other, scores)
    some = table(tmp_path / "some.csv", [names[0], "nobody_1"], arguments="yy")
    assert "1 rated calls are in no scores" in " ".join(command("agree", some, scores, code=1).output.split())
