"""People beside the judge and the matcher of Full-Duplex-Bench v3, and beside the labels of its sets."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from helpers.commands import command, done, printed, refused
from helpers.released_folder import release, result
from jsonschema import Draft202012Validator
from oracles.agreement import alpha

from fdbcore.errors import SettingsError
from fdbcore.suites.fdb_v3.agreement import CLASSES, holds_tags, tag_agreement
from fdbcore.suites.fdb_v3.scenarios import SMOKE
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


LABELS: dict[str, set[str]] = {
    record["id"]: set(record["disfluencies"]) for record in json.loads(SMOKE.read_text())["record"]
}


def tag_table(path: Path, rows: Mapping[str, set[str]]) -> Path:
    """A table by one rater, who is named as the file."""
    lines = [f"{name},{' '.join(sorted(tags)).lower()}" for name, tags in rows.items()]
    path.write_text("\n".join(["recording,disfluencies", *lines, ""]))
    return path


def test_alpha_of_each_class_is_that_of_the_paper(tmp_path: Path) -> None:
    random = Random(1)
    raters = [
        {name: tags ^ {kind for kind in CLASSES if random.random() < 0.15} for name, tags in LABELS.items()}
        for _ in range(3)
    ]
    del raters[2]["shop_10"], raters[2]["shop_09"], raters[1]["shop_09"]
    files = [tag_table(tmp_path / f"rater{number}.csv", rows) for number, rows in enumerate(raters)]
    assert all(map(holds_tags, [*files, SMOKE]))
    content = tag_agreement(files)
    Draft202012Validator(schema("fdb_v3/disfluency_agreement")).validate(json.loads(msgspec.json.encode(content)))
    assert [each.kind for each in content.classes] == list(CLASSES)
    for each in content.classes:
        units = [[each.kind in rows[name] for rows in raters if name in rows] for name in LABELS]
        assert each.alpha == pytest.approx(alpha(units))
        assert (each.n, each.ci95 is None) == (39, False)
    assert content.classes[0].tagged[0] == sum("FILLER" in raters[0][name] for name in LABELS if name != "shop_09")


def test_labels_of_a_set_are_compared_with_a_person(tmp_path: Path) -> None:
    heard = {
        name: tags - {"HESITATION"} | ({"FILLER"} if "HESITATION" in tags else set()) for name, tags in LABELS.items()
    }
    files = [str(SMOKE), str(tag_table(tmp_path / "ann.csv", heard))]
    content = printed("agree", *files, code=None)
    assert [each["name"] for each in content["raters"]] == ["smoke", "ann"]
    found = {each["kind"]: each["alpha"] for each in content["classes"]}
    assert found["PAUSE"] == found["FALSE_START"] == found["SELF_CORRECTION"] == 1
    assert found["HESITATION"] < 0
    shown = done("agree", *files)
    assert "2 ann: 40 recordings" in shown.stdout
    assert re.search(r"hesitation +40 +8 +0 +0\.800 +-0\.09", shown.stdout)


def test_what_cannot_be_read_is_said_in_a_line(tmp_path: Path) -> None:
    one = tmp_path / "one.csv"
    one.write_text(
        "recording,rater,disfluencies\na,Ann,FILLER\na,Bob,stutter\n,Bob,PAUSE\nb,Bob,self-correction\nb,Ann,\n"
    )
    content = tag_agreement([one])
    assert [each.reason for each in content.problems] == [
        f"disfluencies: left out: expected of {', '.join(CLASSES)}, got STUTTER",
        "recording: left out: expected a name, got none",
    ]
    assert content.classes[4].tagged == [0, 1]
    with pytest.raises(SettingsError, match="expected tags by two raters or more, got those of alone"):
        tag_agreement([tag_table(tmp_path / "alone.csv", {"a": set()})])
    twice = tmp_path / "twice.csv"
    twice.write_text("recording,rater,disfluencies\na,Ann,FILLER\na,Ann,PAUSE\n")
    with pytest.raises(
        SettingsError, match=r"twice.csv, line 3: expected one row for a by Ann, got .* differs in FILLER"
    ):
        tag_agreement([twice])
    with pytest.raises(SettingsError, match="expected recordings that two raters tagged, got none"):
        tag_agreement([tag_table(tmp_path / "x.csv", {"a": set()}), tag_table(tmp_path / "y.csv", {"b": set()})])
    assert not holds_tags(tmp_path / "none.csv")
