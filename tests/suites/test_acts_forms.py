"""Neighbours of one act, the best constant reply, and references: the first or the nearest."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.act_sets import document, record_set, response, row_of
from helpers.acts_document import as_item
from helpers.commands import printed, refused
from helpers.schema import as_published
from msgspec import structs

from fdbcore import align_acts
from fdbcore.report.scorecard.page import page
from fdbcore.report.scorecard.screen import screen
from fdbcore.suites.dialogue_acts.page.phrases import reasons
from fdbcore.suites.dialogue_acts.records import Annotation, Response, Step, jsonl, read_records
from fdbcore.suites.dialogue_acts.scoring.baselines import best_constant
from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings
from fdbcore.suites.dialogue_acts.sets import SHIPPED, merged
from fdbcore.suites.dialogue_acts.suite import SUITE

FEW = ScoringSettings(resamples=50)


def scored(*arguments: object, out: Path) -> dict[str, Any]:
    return as_published(printed("score", "--suite", "dialogue-acts", *arguments, "--out", out))


def wed_of(content: dict[str, Any], system: str) -> float:
    return float(row_of(content, system)["measures"]["wed"]["value"])


def split(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with the heaviest as two equal ones."""
    heaviest = max(steps, key=lambda step: step.importance)
    half = structs.replace(heaviest, importance=heaviest.importance / 2)
    place = steps.index(heaviest)
    return (*steps[:place], half, half, *steps[place + 1 :])


def test_a_perfect_reply_whose_heaviest_act_is_in_two_steps_is_perfect(tmp_path: Path) -> None:
    records, _ = read_records(SHIPPED / "records.jsonl")
    replies = [
        Response(one.id, "s", "a", (Annotation("x", split(one.references[0].annotation.steps)),)) for one in records
    ]
    path = tmp_path / "replies.jsonl"
    path.write_text(jsonl(replies), encoding="utf-8")
    merged = scored(path, "--references", SHIPPED, out=tmp_path / "merged")
    apart = scored(path, "--references", SHIPPED, "--unmerged", out=tmp_path / "apart")
    assert wed_of(merged, "s") == pytest.approx(0.0, abs=1e-9)
    assert (merged["settings"]["merged"], apart["settings"]["merged"]) == (True, False)
    assert wed_of(apart, "s") == pytest.approx(0.329, abs=5e-4)
    assert "responses: in 60 of 60 annotations an act follows itself; such steps were merged" in merged["warnings"]
    assert "responses: in 60 of 60 annotations an act follows itself; such steps are scored apart" in apart["warnings"]
    kept = (tmp_path / "merged" / "annotations.jsonl").read_text(encoding="utf-8")
    assert kept == path.read_text(encoding="utf-8"), "what was labelled stays as it was"


def test_no_constant_reply_from_the_set_is_better_than_the_best_constant() -> None:
    records, _ = read_records(SHIPPED / "records.jsonl")

    def mean_wed(reply: list[tuple[str, float]]) -> float:
        nearest = (min(align_acts(one.annotation.sequence, reply).wed for one in r.references) for r in records)
        return sum(nearest) / len(records)

    every = [one.annotation.sequence for record in records for one in record.references]
    best = min(map(mean_wed, every))
    assert best == pytest.approx(0.684, abs=5e-4)
    assert mean_wed(list(best_constant(records))) == pytest.approx(best)


def test_baselines_say_what_they_reply_and_what_ties() -> None:
    of = record_set(["Q 1"], ["Inf 1"], ["Q 1"], ["Inf 1"], ["Ans 1"])
    content = document([of], [response(id, "Q 1") for id in of.records], settings=FEW)
    notes = {row["system"]: row["note"] for row in content["rows"] if row["group"] == "baseline"}
    assert notes["most frequent"] == "2 of 5 records, as often as 1 more; the first is taken"
    assert notes["best constant"] == "Question 1.00"
    assert notes["always Inform"] == ""


def test_no_interval_of_the_shuffled_references_is_below_0() -> None:
    of = record_set(["Q 1"], ["Q .5 Inf .5"], ["Com 1"])
    measures = row_of(document([of], [response("r0", "Q 1")], settings=FEW), "shuffled")["measures"]
    limits = [one["ci95"][0] for one in measures.values() if one["ci95"]]
    assert limits
    assert min(limits) >= 0


def test_who_has_not_annotated_the_ceiling_is_said_in_plain_words() -> None:
    of = record_set(["Q 1"], ["Inf 1"])
    warnings = document([of], [replace(response("r0", "Q 1"), annotations=())], settings=FEW)["warnings"]
    assert "set: no ceiling: nobody has annotated the reference texts" in warnings


def test_a_system_that_passes_the_ceiling_is_said() -> None:
    of = record_set(["Q 1"], ["Inf 1"])
    replies = [response("r0", "Q 1", "s", "x"), response("r1", "Inf 1", "s", "x")]
    again = [response("r0", "Com 1", "reference", "x"), response("r1", "Inf 1", "reference", "x")]
    told = "set: s has a smaller WED than the ceiling: the annotations of x vary more than this system differs"
    assert told in document([of], [*replies, *again], settings=FEW)["warnings"]
    assert told not in document([of], replies, settings=FEW)["warnings"]


def test_of_many_acts_a_sentence_names_the_first_and_says_how_many_more() -> None:
    of = record_set(["Q 1"])
    steps = tuple(Step("Inform" if k % 2 else "Answer", 1 / 200) for k in range(200))
    reply = Response("r0", "s", "a", (Annotation("x", steps),))
    (item,) = document([of], [reply], settings=FEW)["items"]
    told = " ".join(reasons(as_item(item)))
    assert "and 191 more" in told
    assert len(told) < 600


def test_the_first_reference_alone_is_a_choice_and_its_effect_is_told(tmp_path: Path) -> None:
    nearest, first = scored(out=tmp_path / "nearest"), scored("--first-reference", out=tmp_path / "first")
    for system, expected in (("good", (0.314, 0.413)), ("terse", (0.387, 0.475))):
        assert (wed_of(nearest, system), wed_of(first, system)) == pytest.approx(expected, abs=5e-4)
    assert {item["reference"]["index"] for item in first["items"]} == {0}
    told = "smoke: WED by the nearest of several references, and by the first alone (the {} counts here): good 0.31"
    for content, counts in ((nearest, "nearest"), (first, "first alone")):
        note, _ = content["notes"]
        assert note.startswith(told.format(counts))
        assert not any("references" in text for text in content["warnings"])
    card = SUITE.card(nearest)
    assert nearest["notes"][0] in card.notes
    for text in (screen(card, 200), page(card, SUITE)):
        shown = " ".join(text.split())
        assert nearest["notes"][0] in shown
        assert f"!! {nearest['notes'][0][:20]}" not in shown


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        (("はい、", "しました。"), "はい、すぐしました。"),
        (("はい、", ""), "はい、"),
        (("", ""), ""),
        (("いいえ", "しました。"), "いいえ しました。"),
    ],
)
def test_merged_steps_stand_for_the_words_from_the_first_to_the_last(words: tuple[str, str], joined: str) -> None:
    steps = tuple(Step("Inform", 0.5, words=one) for one in words)
    assert merged(Annotation("x", steps), "はい、すぐしました。").steps == (Step("Inform", 1.0, words=joined),)


def test_a_folder_of_an_earlier_version_is_scored_anew(tmp_path: Path) -> None:
    first = scored(out=tmp_path / "out")
    earlier = json.dumps(first | {"schema": "fdbcore.dialogue_acts/1"})
    (tmp_path / "out" / "scores.json").write_text(earlier, encoding="utf-8")
    assert scored(out=tmp_path / "out") == first
    (tmp_path / "out" / "scores.json").write_text(earlier.replace("dialogue_acts/1", "staged/1"), encoding="utf-8")
    assert "got something else" in refused("score", "--suite", "dialogue-acts", "--out", tmp_path / "out")
