"""docs/ratings.md, followed from its first command to its last by planted raters, whose true agreement is known."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, pvariance
from typing import Any, Final

import pytest
from helpers.commands import command
from oracles import agreement
from scipy.stats import pearsonr, spearmanr
from suites.test_staged_rating import call, judged  # noqa: F401 - a fixture
from test_docs import ROOT, blocks, commands

from fdbcore.suites.fdb_v3.agreement import CLASSES

PAGE: Final = ROOT / "docs" / "ratings.md"
RATERS: Final = ("ann", "ben")
TAGS_WRONG, REFERENCES_WRONG, DISPUTED = 0.1, 0.05, 6
"""How often a rater is wrong about a class, and about a reference; and how many references are planted as wrong."""
PER_WED, NOISE, NOISE_OF_DIALOGUES = 2.0, 0.7, 0.5
"""A reply is rated 4 less 2 WED, and a dialogue as the judge scores it, with the noise of each rater."""

Row = dict[str, str]


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, filled: Callable[[Row], Mapping[str, object]]) -> None:
    """What a rater does with a sheet."""
    rows = [row | {name: str(value) for name, value in filled(row).items()} for row in read(path)]
    with path.open("w", encoding="utf-8", newline="") as file:
        sheet = csv.DictWriter(file, rows[0])
        sheet.writeheader()
        sheet.writerows(rows)


def plant(folder: Path) -> None:
    """Rate everything on the sheets, by what is true and by chance."""
    labels = {record["id"]: {*record["disfluencies"]} for record in records(folder)}
    wrong = Random(1).sample(sorted(labels), DISPUTED)
    distances = {(item["id"], item["system"]): item["scores"]["wed"] for item in replies(folder)}
    for rater in RATERS:
        draw = Random(f"{rater} rates")

        def tags(row: Row, draw: Random = draw) -> Mapping[str, object]:
            flipped = {each for each in CLASSES if draw.random() < TAGS_WRONG}
            return {"disfluencies": " ".join(sorted(labels[row["recording"]] ^ flipped)).lower()}

        def references(row: Row, draw: Random = draw) -> Mapping[str, object]:
            is_right = (row["recording"] not in wrong) != (draw.random() < REFERENCES_WRONG)
            return {"arguments": "yes" if is_right else "no", "response": "yes"}

        def rating(row: Row, draw: Random = draw) -> Mapping[str, object]:
            return {"rating": round(4 - PER_WED * distances[row["id"], row["system"]] + draw.gauss(0, NOISE), 2)}

        for name, filled in (("tags", tags), ("references", references), ("replies", rating)):
            fill(folder / f"{rater}.{name}.csv", filled)


def rate_dialogues(folder: Path) -> None:
    """The tables that the page of the sample gives."""
    marks = judge_marks(folder)
    key = json.loads((folder / "SAMPLE" / "key.json").read_text())
    for rater in RATERS:
        draw = Random(f"{rater} rates")
        rows = [
            f"{key['sample']},{name},{rater},{min(5, max(1, round(mark + draw.gauss(0, NOISE_OF_DIALOGUES), 1)))}"
            for name, mark in marks.items()
        ]
        (folder / f"{rater}.dialogues.csv").write_text("\n".join(["sample,dialogue,rater,turn_taking", *rows, ""]))


def judge_marks(folder: Path) -> dict[str, float]:
    key = json.loads((folder / "SAMPLE" / "key.json").read_text())
    places = {each["call"]: each["dialogue"] for each in key["dialogues"]}
    items = json.loads((folder / "STAGED-scores" / "scores.json").read_text())["items"]
    return {places[one["call"]]: one["measures"]["turn_taking"] for one in items if one["call"] in places}


def records(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "V3-users" / "fdb3.json").read_text())["record"]
    return found


def replies(folder: Path) -> list[dict[str, Any]]:
    items = json.loads((folder / "ACTS" / "scores.json").read_text(encoding="utf-8"))["items"]
    return [item for item in items if item["kind"] == "system"]


@pytest.fixture(scope="module")
def followed(call: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, str]]:  # noqa: F811
    """The folder in which the commands of the page were given, and what each of them printed."""
    folder = tmp_path_factory.mktemp("ratings")
    marks = {number: 2 + (7 * number % 16) / 8 for number in range(16)}
    judged(folder / "STAGED", "STAGED-scores", marks, call)
    sheets, *_ = (block.text for block in blocks(PAGE) if block.language == "python")
    (folder / "sheets.py").write_text(sheets, encoding="utf-8")
    told: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "200")
        for arguments in (each for block in blocks(PAGE) if block.language == "sh" for each in commands(block)):
            words = arguments.split("#")[0].split()
            if words[0] == "python":
                subprocess.run([sys.executable, *words[1:]], check=True)
                plant(folder)
                continue
            done = command(*words[1:])
            assert done.exit_code == 0, f"{arguments}\n{done.output}"
            told[" ".join(words)] = done.stdout
            (folder / f"told-{len(told)}.txt").write_text(done.stdout)
            if words[1] == "rate":
                rate_dialogues(folder)
    return folder, told


def printed(text: str, row: str, below: str = "") -> tuple[list[float], list[tuple[float, float]]]:
    """The numbers of a row of a table, and its intervals. below: the line of the title of the table."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(below))
    found = next(line[len(row) :] for line in lines[start:] if re.match(rf"{re.escape(row)}  ", line))
    intervals = re.findall(r"\[(-?[\d.]+),(-?[\d.]+)\]", found)
    numbers = re.findall(r"(?<= )-?\d+(?:\.\d+)?(?= |$)", re.sub(r"\[.*?\]", "", found))
    return [float(each) for each in numbers], [(float(low), float(high)) for low, high in intervals]


def told_by(told: Mapping[str, str], *paths: str) -> str:
    return told[next(command for command in told if command.split(" --")[0].split()[2:] == [*paths])]


def of_binary(share: float, wrong: float) -> float:
    """The true agreement of two raters about a yes of this share, each wrong by chance: alpha, and so kappa."""
    yes = share * (1 - wrong) + (1 - share) * wrong
    return 1 - wrong * (1 - wrong) / (yes * (1 - yes))


def shown(what: str, truth: float, numbers: float, interval: tuple[float, float]) -> None:
    """Whether the interval has the truth, and the page shows these figures."""
    assert interval[0] < truth < interval[1], what
    line = f"| {what} {truth:.2f} | {numbers:.2f} [{interval[0]:.2f}, {interval[1]:.2f}] |"
    assert line in PAGE.read_text(encoding="utf-8"), line


def binary(rows: Sequence[Sequence[bool]]) -> Iterator[float]:
    yield sum(len({*row}) == 1 for row in rows) / len(rows)
    yield agreement.alpha([[float(each) for each in row] for row in rows])


def test_tags(followed: tuple[Path, Mapping[str, str]]) -> None:
    folder, told = followed
    given = [{row["recording"]: row["disfluencies"].upper().split() for row in read(folder / f"{rater}.tags.csv")}
             for rater in RATERS]  # fmt: skip
    labels = {record["id"]: record["disfluencies"] for record in records(folder)}
    people = told_by(told, "ann.tags.csv", "ben.tags.csv")
    beside = told_by(told, "ann.tags.csv", "ben.tags.csv", "V3-users/fdb3.json")
    for text, raters in ((people, given), (beside, [*given, labels])):
        for each in CLASSES:
            rows = [[each in tags[name] for tags in raters] for name in labels]
            numbers, intervals = printed(text, each.lower().replace("_", " "))
            assert numbers == pytest.approx([len(labels), *map(sum, zip(*rows, strict=True)), *binary(rows)], abs=5e-4)
            truth = of_binary(sum(each in tags for tags in labels.values()) / len(labels), TAGS_WRONG)
            if raters is given:
                assert intervals[0][0] < truth < intervals[0][1], each
                if each == "PAUSE":
                    shown("alpha", truth, numbers[-1], intervals[0])


def test_references(followed: tuple[Path, Mapping[str, str]]) -> None:
    folder, told = followed
    given = [{row["recording"]: row["arguments"] == "yes" for row in read(folder / f"{rater}.references.csv")}
             for rater in RATERS]  # fmt: skip
    text = told_by(told, "ann.references.csv", "ben.references.csv", "V3-scores")
    rows = [(given[0][name], given[1][name]) for name in given[0]]
    numbers, intervals = printed(text, "1 and 2", below="arguments")
    assert numbers[0] == len(rows) == 40
    assert numbers[1:3] == [sum(column) for column in zip(*rows, strict=True)]
    assert numbers[3:] == pytest.approx([*binary(rows), agreement.kappa(rows)], abs=5e-4)
    shown("kappa", of_binary(1 - DISPUTED / 40, REFERENCES_WRONG), numbers[-1], intervals[-1])
    numbers, _ = printed(text, "3 and 1", below="arguments")
    assert "3 exact matcher: 40 calls" in text
    assert numbers[1:4] == [40, sum(given[0].values()), pytest.approx(sum(given[0].values()) / 40, abs=5e-4)]


def test_dialogues(followed: tuple[Path, Mapping[str, str]]) -> None:
    folder, told = followed
    marks = judge_marks(folder)
    given = [{row["dialogue"]: float(row["turn_taking"]) for row in read(folder / f"{rater}.dialogues.csv")}
             for rater in RATERS]  # fmt: skip
    people = {name: fmean(each[name] for each in given) for name in marks}
    text = told_by(told, "ann.dialogues.csv", "ben.dialogues.csv", "STAGED-scores")
    spread = pvariance(marks.values())
    beside: list[tuple[str, dict[str, float], dict[str, float], tuple[float, float]]] = [
        ("1 and 2", given[0], given[1], (1, 1)),
        ("3 and people", marks, people, (0, 0.5)),
        ("3 and 1", marks, given[0], (0, 1)),
    ]
    for row, first, second, noises in beside:
        pairs = [(first[name], second[name]) for name in sorted(marks)]
        numbers, intervals = printed(text, row, below="turn-taking")
        expected = [
            agreement.alpha(pairs, agreement.interval), agreement.alpha(pairs, agreement.ordinal),
            pearsonr(*zip(*pairs, strict=True)).statistic, spearmanr(*zip(*pairs, strict=True)).statistic,
        ]  # fmt: skip
        assert numbers[0] == len(marks) == 16
        assert numbers[-4:] == pytest.approx(expected, abs=5e-4)
        truth = spread / sqrt(
            (spread + noises[0] * NOISE_OF_DIALOGUES**2) * (spread + noises[1] * NOISE_OF_DIALOGUES**2)
        )
        assert intervals[2][0] < truth < intervals[2][1]
        if row != "3 and 1":
            shown("r of people" if row == "1 and 2" else "r of judge and people", truth, numbers[-2], intervals[2])


def test_replies(followed: tuple[Path, Mapping[str, str]]) -> None:
    folder, told = followed
    given = [{(row["id"], row["system"]): float(row["rating"]) for row in read(folder / f"{rater}.replies.csv")}
             for rater in RATERS]  # fmt: skip
    people = {reply: fmean(each[reply] for each in given) for reply in given[0]}
    text = told_by(told, "ann.replies.csv", "ben.replies.csv", "ACTS")
    pairs = [(given[0][reply], given[1][reply]) for reply in given[0]]
    numbers, intervals = printed(text, "1 and 2", below="smoke: people")
    r_rho = [pearsonr(*zip(*pairs, strict=True)).statistic, spearmanr(*zip(*pairs, strict=True)).statistic]
    assert numbers == pytest.approx([60, *r_rho, agreement.alpha(pairs, agreement.interval)], abs=5e-4)
    scores = {(item["id"], item["system"]): item["scores"] for item in replies(folder)}
    spread = PER_WED**2 * pvariance([scores[reply]["wed"] for reply in people])
    shown("r of people", spread / (spread + NOISE**2), numbers[1], intervals[0])
    for measure, name in (("wlcs", "WLCS"), ("wed", "WED"), ("f1", "F1")):
        both = [(scores[reply][measure], people[reply]) for reply in people]
        numbers, intervals = printed(text, f"{name}, people", below="smoke, annotated by")
        r_rho = [pearsonr(*zip(*both, strict=True)).statistic, spearmanr(*zip(*both, strict=True)).statistic]
        assert numbers == pytest.approx([60, *r_rho], abs=5e-4)
        if measure == "wed":
            shown("r of WED and people", -sqrt(spread / (spread + NOISE**2 / 2)), numbers[1], intervals[0])
