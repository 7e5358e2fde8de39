"""`fdbcore agree` on people's ratings of replies beside WLCS, WED and F1."""

import csv
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from helpers.act_sets import document
from helpers.commands import command, done, printed, refused
from jsonschema import Draft202012Validator
from scipy import stats as scipy_stats
from suites.test_act_document import of_calls

from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings
from fdbcore.suites.schemas import schema

COLUMNS = ("id", "system", "rater", "rating")


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scores of the shipped replies."""
    out = tmp_path_factory.mktemp("scored") / "S"
    done("score", "--suite", "dialogue-acts", "--out", out)
    return out


def items_of(scores: Path) -> list[dict[str, Any]]:
    content = json.loads((scores / "scores.json").read_text(encoding="utf-8"))
    return [item for item in content["items"] if item["kind"] == "system"]


def table(path: Path, rows: Sequence[Sequence[object]], columns: Sequence[str] = COLUMNS) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def rated(
    scores: Path, path: Path, name: str, seed: int, *, replies: int = 120, share: float = 1.0
) -> dict[tuple[str, str], int]:
    """A table by one rater, who gives 1 to 5 by what WED says and by chance. share: of the replies that are rated."""
    draw = random.Random(seed)
    given = {
        (item["id"], item["system"]): min(5, max(1, round(5 - 3 * item["scores"]["wed"] + draw.gauss(0, 1))))
        for item in sorted(items_of(scores), key=lambda item: str(item["id"]))[:replies]
        if draw.random() < share
    }
    table(path, [(id, system, name, rating) for (id, system), rating in given.items()])
    return given


def found(content: Mapping[str, Any], measure: str | None, *raters: str, system: str | None = None) -> dict[str, Any]:
    (one,) = (
        each
        for each in content["comparisons"]
        if (each["measure"], each["raters"], each["system"]) == (measure, list(raters), system)
    )
    return dict(one)


def resampled_limits(
    pairs: Mapping[str, list[tuple[float, float]]],
    statistic: Callable[[Sequence[float], Sequence[float]], float],
    beyond: float = 0.025,
) -> tuple[float, float]:
    """The percentile interval over what the pairs are of, by drawing these. beyond: the share beyond each limit."""
    draw, names = random.Random(3), list(pairs)
    values = []
    for _ in range(2000):
        drawn = [pair for name in draw.choices(names, k=len(names)) for pair in pairs[name]]
        values.append(statistic(*zip(*drawn, strict=True)))
    low, high = np.quantile(values, (beyond, 1 - beyond))
    return float(low), float(high)


def test_measures_stand_beside_people_as_an_independent_script_has_it(scores: Path, tmp_path: Path) -> None:
    ann = rated(scores, tmp_path / "ann.csv", "ann", 1, replies=40)
    ben = rated(scores, tmp_path / "ben.csv", "ben", 2, replies=40, share=0.7)
    content = printed("agree", tmp_path / "ann.csv", tmp_path / "ben.csv", scores)
    Draft202012Validator(schema("rater_agreement")).validate(content)
    mean = {reply: fmean(of[reply] for of in (ann, ben) if reply in of) for reply in ann | ben}
    items = {(item["id"], item["system"]): item["scores"] for item in items_of(scores)}
    for measure in ("wlcs", "wed", "f1"):
        for name, marks in (("people", mean), ("ann", ann), ("ben", ben)):
            for system in (None, "good", "terse"):
                replies = [reply for reply in marks if system in (None, reply[1])]
                x, y = [items[reply][measure] for reply in replies], [marks[reply] for reply in replies]
                one = found(content, measure, measure, name, system=system)
                assert (one["n"], one["records"]) == (len(replies), len({id for id, _ in replies}))
                assert one["pearson"]["value"] == pytest.approx(scipy_stats.pearsonr(x, y).statistic)
                assert one["spearman"]["value"] == pytest.approx(scipy_stats.spearmanr(x, y).statistic)
    both = [reply for reply in ann if reply in ben]
    people = found(content, None, "ann", "ben")
    expected = scipy_stats.pearsonr([ann[reply] for reply in both], [ben[reply] for reply in both]).statistic
    assert people["pearson"]["value"] == pytest.approx(expected)
    assert -1 < people["alpha"]["value"] < people["pearson"]["value"] + 0.05


def test_intervals_resample_records(scores: Path, tmp_path: Path) -> None:
    ann = rated(scores, tmp_path / "ann.csv", "ann", 1)
    content = printed("agree", tmp_path / "ann.csv", scores)
    of_record: dict[str, list[tuple[float, float]]] = {}
    for item in items_of(scores):
        of_record.setdefault(item["id"], []).append((item["scores"]["wed"], ann[item["id"], item["system"]]))
    one = found(content, "wed", "wed", "ann")
    for name, statistic in (
        ("pearson", lambda x, y: float(np.corrcoef(x, y)[0, 1])),
        ("spearman", lambda x, y: float(scipy_stats.spearmanr(x, y).statistic)),
    ):
        assert one[name]["ci95"] == pytest.approx(resampled_limits(of_record, statistic), abs=0.02)


def of_turns(path: Path) -> tuple[dict[str, Any], Path]:
    """The scores of turns of recorded users, and ratings that hang on the user more than on the turn."""
    of, replies = of_calls((1, 9, 2, 14, 5, 3, 7, 6, 4, 8))
    content = {**document([of], replies, settings=ScoringSettings(resamples=50)), "turns": {"calls": []}}
    items: list[dict[str, Any]] = json.loads(json.dumps(content["items"]))
    draw = random.Random(5)
    mood = {one.user: draw.gauss(3, 1) for one in of.records.values()}
    rows = [
        (item["id"], item["system"], "ann", mood[item["recorded_user"]] - item["scores"]["wed"] + draw.gauss(0, 0.5))
        for item in items
    ]
    (path / "scores.json").write_text(json.dumps(content), encoding="utf-8")
    return dict(content), table(path / "ann.csv", rows)


def test_of_turns_intervals_resample_recorded_users(tmp_path: Path) -> None:
    content, path = of_turns(tmp_path)
    compared = printed("agree", path, tmp_path / "scores.json")
    Draft202012Validator(schema("rater_agreement")).validate(compared)
    ratings = {
        (id, system): float(rating)
        for id, system, _, rating in list(csv.reader(path.read_text(encoding="utf-8").splitlines()))[1:]
    }
    of_user: dict[str, list[tuple[float, float]]] = {}
    for item in content["items"]:
        pair = (item["scores"]["wed"], ratings[item["id"], item["system"]])
        of_user.setdefault(item["recorded_user"], []).append(pair)
    one = found(compared, "wed", "wed", "ann")
    assert (one["n"], one["records"], one["clusters"]) == (len(ratings), len({id for id, _ in ratings}), 10)
    sizes = [len(own) for own in of_user.values()]
    many = sum(sizes) ** 2 / sum(size**2 for size in sizes)
    beyond = float(scipy_stats.norm.cdf(-scipy_stats.t.ppf(0.975, many - 1) * np.sqrt(many / (many - 1))))
    for name, statistic in (
        ("pearson", lambda x, y: float(np.corrcoef(x, y)[0, 1])),
        ("spearman", lambda x, y: float(scipy_stats.spearmanr(x, y).statistic)),
    ):
        assert one[name]["ci95"] == pytest.approx(resampled_limits(of_user, statistic, beyond), abs=0.04)
    by_turn = {str(k): [pair] for k, pair in enumerate(pair for own in of_user.values() for pair in own)}
    low, high = resampled_limits(by_turn, lambda x, y: float(np.corrcoef(x, y)[0, 1]))
    assert one["pearson"]["ci95"][1] - one["pearson"]["ci95"][0] > 1.2 * (high - low), "turns are no units"
    shown = " ".join(command("agree", path, tmp_path / "scores.json").stdout.split())
    assert "Brackets: 95 %, over recorded users (at most 10), each with all its turns." in shown


def test_older_scores_of_turns_are_refused(tmp_path: Path) -> None:
    content, path = of_turns(tmp_path)
    for item in content["items"]:
        del item["recorded_user"]
    (tmp_path / "scores.json").write_text(json.dumps(content), encoding="utf-8")
    result = command("agree", path, tmp_path / "scores.json", code=2)
    assert "expected the recorded user of each turn, got none: score the turns again" in " ".join(result.output.split())


def test_the_screen_says_which_sign_is_good(scores: Path, tmp_path: Path) -> None:
    rated(scores, tmp_path / "ann.csv", "ann", 1, replies=12)
    shown = command("agree", tmp_path / "ann.csv", scores).stdout
    assert "1 ann: 12 replies" in shown
    assert "smoke, annotated by authored" in shown
    assert "WED, ann" in shown
    assert "near -1 (WED" in " ".join(shown.split())


def test_what_cannot_be_used_is_named_and_the_rest_is_compared(scores: Path, tmp_path: Path) -> None:
    rows = [
        ("timer-01", "good", "ann", 5),
        ("timer-02", "good", "ann", 3),
        ("timer-03", "good", "ann", ""),
        ("timer-04", "good", "ann", "nan"),
        ("timer-04", "good", "ann", "1_000"),
        ("timer-04", "good", "ann", "0x10"),
        ("timer-05", "nobody", "ann", 2),
        ("timer-05", "", "ann", 2),
    ]
    content = printed("agree", table(tmp_path / "ann.csv", rows), scores, code=1)
    assert [problem["reason"] for problem in content["problems"]] == [
        "rating: expected a number, got 'nan'",
        "rating: expected a number, got '1_000'",
        "rating: expected a number, got '0x10'",
        "expected a reply that is scored, got that of nobody to timer-05",
        "expected an id, a system and a rater, got an empty cell",
    ]
    assert content["raters"] == [{"name": "ann", "replies": 2}]


def test_a_reply_of_two_sets_needs_the_set(scores: Path, tmp_path: Path) -> None:
    document = json.loads((scores / "scores.json").read_text(encoding="utf-8"))
    document["sets"].append(document["sets"][0] | {"name": "other"})
    document["items"] += [item | {"set": "other"} for item in document["items"]]
    (both := tmp_path / "scores.json").write_text(json.dumps(document), encoding="utf-8")
    ids = [item["id"] for item in items_of(scores) if item["system"] == "good"][:9]
    rows = [(id, "good", "ann", place % 5, "other") for place, id in enumerate(ids)]
    path = table(tmp_path / "ann.csv", [*rows, (ids[0], "good", "ben", 1, "")], (*COLUMNS, "set"))
    content = printed("agree", path, both, code=1)
    assert {one["set"] for one in content["comparisons"]} == {"other"}
    (problem,) = content["problems"]
    assert problem["reason"] == f"expected a set, one of other, smoke, which all have {ids[0]}; got none"


@pytest.mark.parametrize(
    ("rows", "with_scores", "told"),
    [
        ([("timer-01", "good", "ann", 5)], False, "expected the scores that were rated, once, got 0"),
        ([("nothing", "good", "ann", 5)], True, "expected ratings of replies that are scored, got none"),
    ],
)
def test_bad_input_gets_one_line(
    scores: Path, tmp_path: Path, rows: Sequence[Sequence[object]], with_scores: bool, told: str
) -> None:
    assert told in refused("agree", table(tmp_path / "ann.csv", rows), *([scores] if with_scores else []))
