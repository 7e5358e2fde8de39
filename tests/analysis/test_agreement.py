"""Agreement of two annotators, against a naive computation; and `fdbcore agree`."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.act_sets import annotation, record, repeated, response, sequence, sequences
from helpers.commands import agree
from hypothesis import given, settings
from hypothesis import strategies as st

from fdbcore.errors import InputError, SettingsError
from fdbcore.report.scorecard.columns import width_columns
from fdbcore.results.document import ProblemEntry
from fdbcore.suites.dialogue_acts.agreement import Key, Labelled, agreement, read_labels
from fdbcore.suites.dialogue_acts.records import Record, Response, jsonl
from fdbcore.suites.dialogue_acts.scoring.alignment import ActSequence, align_acts

Pair = tuple[list[tuple[str, float]], list[tuple[str, float]]]


def labels(*acts: ActSequence, text: str = "a") -> dict[Key, Labelled]:
    return {(f"r{k}", "s", 1): Labelled(f"line {k}", text, annotation(one)) for k, one in enumerate(acts)}


def naive(pairs: list[Pair]) -> dict[str, float | None]:
    """The same from the words of the definitions, pair by pair."""
    acts: list[tuple[str, str]] = []
    gaps: list[float] = []
    found = [align_acts(first, second) for first, second in pairs]
    for (first, second), alignment in zip(pairs, found, strict=True):
        for step in alignment.path:
            left = None if step.reference_index is None else first[step.reference_index]
            right = None if step.prediction_index is None else second[step.prediction_index]
            acts.append((left[0] if left else "none", right[0] if right else "none"))
            if left and right and left[0] == right[0]:
                gaps.append(abs(left[1] - right[1]))
    observed = sum(one == other for one, other in acts) / len(acts)
    firsts, seconds = Counter(one for one, _ in acts), Counter(other for _, other in acts)
    chance = sum(firsts[act] * seconds[act] for act in firsts) / len(acts) ** 2
    return {
        "wed": float(np.mean([one.wed for one in found])),
        "wlcs_a": float(np.mean([align_acts(second, first).weighted_lcs for first, second in pairs])),
        "wlcs_b": float(np.mean([one.weighted_lcs for one in found])),
        "identical": float(np.mean([[a for a, _ in first] == [a for a, _ in second] for first, second in pairs])),
        "kappa": None if chance > 1 - 1e-12 else (observed - chance) / (1 - chance),
        "importance_difference": float(np.mean(gaps)) if gaps else None,
    }


@settings(max_examples=25)
@given(st.lists(st.tuples(sequences(), sequences()), min_size=1, max_size=5))
def test_agreement_is_the_naive_one(pairs: list[Pair]) -> None:
    content = agreement(labels(*[one for one, _ in pairs]), labels(*[other for _, other in pairs]), resamples=20)
    for name, expected in naive(pairs).items():
        got = content["measures"][name].value
        assert got is None if expected is None else got == pytest.approx(expected, abs=1e-9), name
    assert sum(map(sum, content["confusion"])) >= content["n"] == len(pairs)


def test_two_that_agree_on_everything() -> None:
    one = labels(sequence("Q .5 Inf .5"), sequence("Ans 1"), sequence("Com .2 Sug .8"))
    found = agreement(one, one)["measures"]
    assert {name: measure.value for name, measure in found.items()} == {
        "wed": 0.0,
        "wlcs_a": 1.0,
        "wlcs_b": 1.0,
        "identical": 1.0,
        "kappa": 1.0,
        "importance_difference": 0.0,
    }


def test_replies_of_one_record_are_resampled_together() -> None:
    acts = [sequence("Q 1"), sequence("Inf 1"), sequence("Ans 1")]
    first = {("r", f"s{k}", 1): Labelled("", "a", annotation(one)) for k, one in enumerate(acts)}
    content = agreement(first, first)
    assert (content["n"], content["records"], content["measures"]["wed"].ci95) == (3, 1, None)
    assert "one cluster" in content["measures"]["wed"].reason


def test_what_only_one_has_and_other_texts_are_left_out() -> None:
    first, second = labels(sequence("Q 1"), sequence("Inf 1")), labels(sequence("Q 1"))
    second |= {("r1", "s", 1): Labelled("other", "another text", annotation("Inf 1"))}
    second |= {("r1", "s", 2): Labelled("line 7", "a", annotation("Inf 1"))}
    content = agreement(first, second)
    assert content["n"] == 1
    assert content["problems"] == [
        ProblemEntry("line 1", "expected the same reply in both, got two texts of the reply of s to r1"),
        ProblemEntry("line 7", "only the second has the reply of s to r1, annotation 2"),
    ]
    with pytest.raises(InputError, match="expected replies that both have labelled, got none"):
        agreement(first, {})


def written(path: Path, *items: Record | Response) -> Path:
    path.write_text(jsonl(items), encoding="utf-8")
    return path


def test_records_are_the_references_and_an_annotator_can_be_chosen(tmp_path: Path) -> None:
    records = written(tmp_path / "gold.jsonl", record("r0", "Q 1", "Inf 1"))
    found, problems = read_labels(records)
    ((key, label),) = found.items()
    assert (key, label.text, label.annotation.annotator, problems) == (("r0", "reference", 1), "text r0", "gold", [])
    both = Response("r0", "s", "a", (annotation("Q 1", "x"), annotation("Inf 1", "y")))
    responses = written(tmp_path / "both.jsonl", both, response("r1", None))
    assert [label.annotation.sequence for label in read_labels(responses, "y")[0].values()] == [[("Inform", 1.0)]]
    with pytest.raises(SettingsError, match="expected one annotator, got those of x, y"):
        read_labels(responses)
    with pytest.raises(SettingsError, match="expected annotations of z, got those of x, y"):
        read_labels(responses, "z")


@pytest.mark.parametrize("width", [60, 80])
def test_the_command_prints_a_table_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    first = written(tmp_path / "a.jsonl", *[response(f"r{k}", "Q .5 Inf .5", annotator="人") for k in range(3)])
    second = written(tmp_path / "b.jsonl", *[response(f"r{k}", "Q 1", annotator="model") for k in range(4)])
    result = agree(first, second, code=1)
    assert "人 and model: 3 replies to 3 records labelled by both" in result.stdout
    assert "left out: 1" in result.stdout
    assert max(map(width_columns, result.stdout.splitlines())) <= max(width, width_columns(str(second)) + 16)
    content: dict[str, Any] = json.loads(agree(first, second, "--json").stdout)
    assert (content["n"], content["measures"]["wed"]["value"]) == (3, 0.5)


def test_replies_are_counted_once_and_so_is_what_is_wrong(tmp_path: Path) -> None:
    often = written(tmp_path / "a.jsonl", repeated("r0", {1: "Q 1", 2: "Inf 1", 3: "Q 1"}))
    with open(often, "a", encoding="utf-8") as file:
        file.write("{\n")
    result = agree(often, often)
    assert "x and x: 1 replies to 1 records labelled by both (3 annotations by each)" in result.stdout
    assert "left out: 1\n" in result.stdout


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    good = written(tmp_path / "a.jsonl", response("r0", "Q 1"))
    result = agree(good, tmp_path / "none.jsonl", code=1)
    assert result.stderr == f"fdbcore agree: {tmp_path / 'none.jsonl'}: cannot be read: No such file or directory\n"
    assert agree(good, good, "--a", "nobody").exit_code == 2
    assert agree(good, good).exit_code == 0
