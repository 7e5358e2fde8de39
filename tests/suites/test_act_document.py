"""The document of scored responses: means, intervals, comparisons, diagnosis, cases, and what was left out."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, product

import numpy as np
import pytest
from helpers.act_sets import document, record, record_set, repeated, response, row_of, sequences
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from fdbcore import align_acts
from fdbcore.report.scorecard.page import page as scorecard_page
from fdbcore.report.scorecard.screen import screen
from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.suites.dialogue_acts.records import REFERENCE, Annotation, Response, Step
from fdbcore.suites.dialogue_acts.scoring import baselines
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS, ActSequence
from fdbcore.suites.dialogue_acts.scoring.comparison import COMPARED, ScoringSettings, comparisons
from fdbcore.suites.dialogue_acts.scoring.scores import system_row
from fdbcore.suites.dialogue_acts.sets import Answers, RecordSet, matched, without_response
from fdbcore.suites.dialogue_acts.suite import SUITE
from fdbcore.types import Problem

APART = 'expected ids that tell the sets apart, or a set\'s name in "set"'
FEW = ScoringSettings(resamples=200)


def random_acts(rng: np.random.Generator) -> ActSequence:
    acts = rng.choice(ACTS, size=rng.integers(1, 4)).tolist()
    return list(zip(acts, rng.dirichlet(np.ones(len(acts))).tolist(), strict=True))


def test_of_another_number_of_repeats_the_means_are_compared() -> None:
    of = record_set(["Q 1"], ["Inf 1"])
    a = {id: [repeated(id, {1: "Q 1", 2: "Inf 1"}, "a")] for id in of.records}
    b = {id: [response(id, "Q 1", "b")] for id in of.records}
    rows = [system_row(Answers(of, name, own), "x", "given") for name, own in (("a", a), ("b", b))]
    wlcs = next(one.difference for one in comparisons(rows, FEW) if one.difference.measure == "wlcs")
    assert (wlcs.n, wlcs.difference) == (2, 0.0)  # 0.5 - 1 and 0.5 - 0


Replies = list[tuple[list[tuple[str, float]], list[tuple[str, float]] | None]]


@settings(max_examples=30)
@given(st.lists(st.tuples(sequences(), st.none() | sequences()), min_size=1, max_size=6))
def test_the_diagnosis_adds_up_to_the_distance_and_its_parts(items: Replies) -> None:
    of = record_set(*[[reference] for reference, _ in items])
    replies = [response(f"r{k}", reply) for k, (_, reply) in enumerate(items)]
    content = document([of], replies, settings=FEW)
    (diagnosis,) = content["diagnosis"]
    means = {name: measure["value"] for name, measure in content["rows"][0]["measures"].items()}
    matrix = np.array(diagnosis["matrix"])
    assert matrix[:-1, :-1].sum() - np.trace(matrix) == pytest.approx(means["substitution"], abs=1e-9)
    assert sum(diagnosis["missing"].values()) == pytest.approx(means["insertion"], abs=1e-9)
    assert sum(diagnosis["redundant"].values()) == pytest.approx(means["deletion"], abs=1e-9)
    assert sum(swap["weight"] for swap in diagnosis["swapped"]) == pytest.approx(means["substitution"], abs=1e-9)
    assert sum(row["n"] for row in content["rows"] if row["subset"]) == len(items)


def test_topics_have_the_means_of_their_records() -> None:
    of = RecordSet(
        "set", {r.id: r for r in (record("a", "Q 1", topic="x"), record("b", "Q 1"), record("c", "Inf 1", topic="x"))}
    )
    content = document([of], [response(id, "Q 1") for id in "abc"], settings=FEW)
    told = {row["subset"]: (row["n"], row["measures"]) for row in content["rows"] if row["subset"]}
    means = {topic: (n, {name: one["value"] for name, one in of.items()}) for topic, (n, of) in told.items()}
    assert means == {"x": (2, {"wed": 0.5, "wlcs": 0.5}), "t": (1, {"wed": 0.0, "wlcs": 1.0})}


def test_cases_are_the_extremes_and_replies_that_were_not_given_are_none() -> None:
    references = ["Com .6 Q .25 Inf .15", "Q .65 Inf .15 Com .2", "Com .6 Q .2 Q .2", "Inf .65 Q .35", "Ans 1", "Ans 1"]
    replies = ["Inf 1", "Req .7 Q .3", "ChkQ .3 Inf .5 Inf .2", "Inf .75 Q .25", "Ans 1", None]
    of = record_set(*[[reference] for reference in references])
    content = document([of], [response(f"r{k}", reply) for k, reply in enumerate(replies)], settings=FEW)
    assert {case["case"]: content["items"][case["item"]]["id"] for case in content["cases"]} == {
        "insertion": "r0",
        "deletion": "r1",
        "substitution": "r2",
        "smallest": "r3",  # the ceiling of the acts compared, rather than the single Answer
    }


def test_a_case_that_does_not_occur_is_not_there() -> None:
    content = document([record_set(["Q 1"])], [response("r0", "Q 1")], settings=FEW)
    assert content["cases"] == [{"case": "smallest", "item": 0}]
    assert document([record_set(["Q 1"])], [response("r0", None)], settings=FEW)["cases"] == []


def test_sets_systems_and_annotators_are_crossed() -> None:
    one, two = record_set(["Q 1"], name="one"), RecordSet("two", {"z": record("z", "Inf 1")})
    both = Response(
        "r0", "s", "a", tuple(Annotation(name, response("r0", "Q 1").annotations[0].steps) for name in "ab")
    )
    content = document([one, two], [both, response("z", "Inf 1", annotator="b"), response("r0", "Q 1", REFERENCE, "b")])
    own = [row for row in content["rows"] if row["group"] != "baseline" and not row["subset"]]
    assert [(row["condition"], row["system"], row["group"]) for row in own] == [
        ("one, annotated by a", "s", "system"),
        ("one, annotated by b", "s", "system"),
        ("one, annotated by b", "ceiling", "ceiling"),
        ("two, annotated by b", "s", "system"),
    ]
    assert content["settings"]["annotators"] == ["a", "b"]
    assert any(text.startswith("one: no ceiling: a has not annotated") for text in content["warnings"])
    assert not any("no ceiling: b" in text and text.startswith("one") for text in content["warnings"])
    json.dumps(content, allow_nan=False)


def test_a_system_that_never_replied_has_a_row_for_each_annotator() -> None:
    of = record_set(["Q 1"], ["Q 1"])
    replies = [response(id, "Q 1", "talks") for id in of.records] + [response(id, None, "mute") for id in of.records]
    content = document([of], replies, settings=FEW)
    mute = row_of(content, "mute")
    assert (mute["condition"], mute["n"], mute["counts"]["no_reply"]) == ("set, annotated by x", 2, 2)
    assert mute["measures"]["wed"]["value"] == 1.0
    alone = document([of], [response(id, None, "mute") for id in of.records], settings=FEW)
    assert (alone["settings"]["annotators"], alone["rows"][0]["n"], alone["problems"]) == (["nobody"], 2, [])


def test_what_is_left_out_is_named_and_in_no_mean() -> None:
    of = record_set(["Q 1"], ["Inf 1"], ["Ans 1"])
    bare = Response("r1", "s", "not annotated", where="s.jsonl, line 2 (r1)")
    stray = Response("r9", "s", "?", where="s.jsonl, line 3 (r9)")
    content = document([of], [response("r0", "Q 1"), bare, stray], [Problem("before", "of the file")], FEW)
    assert content["problems"] == [
        {"where": "before", "reason": "of the file"},
        {
            "where": "s.jsonl, line 3 (r9)",
            "reason": "expected a response to a record, got id 'r9', which no record has",
        },
        {"where": "r2", "reason": "no response of s"},
        {
            "where": "s.jsonl, line 2 (r1)",
            "reason": "s: expected an annotation of x, got none (--annotator has one made)",
        },
    ]
    own = content["rows"][0]
    assert (own["n"], own["counts"], own["measures"]["wlcs"]["value"]) == (1, {"no_reply": 0, "unscored": 2}, 1.0)


def test_a_response_finds_its_set_by_its_id_alone() -> None:
    one, two = record_set(["Q 1"], name="one"), record_set(["Q 1"], name="two")
    found, problems = matched([one, two], [response("r0", "Q 1")])
    assert (found, problems) == ([], [Problem("r0", f"{APART}, got 'r0', which is in one and two")])
    found, problems = matched([one], [response("r0", "Q 1"), response("r0", "Inf 1")])
    assert [problem.reason for problem in problems] == ["expected one response of s to r0, got another"]
    assert found[0].responses["r0"][0].annotations[0].steps[0].act == "Question"


def test_a_response_that_names_its_set_belongs_to_it() -> None:
    one, two = record_set(["Q 1"], ["Q 1"], name="one"), record_set(["Q 1"], name="two")
    named = replace(response("r0", "Q 1"), set="two")
    found, problems = matched([one, two], [named, replace(named, id="r1"), replace(named, id="r1", set="gone")])
    assert [(answers.set.name, list(answers.responses)) for answers in found] == [("one", ["r1"]), ("two", ["r0"])]
    assert problems[0].reason == ("expected a response to a record, got id 'r1', which no record has"), (
        "of another set, an id says nothing"
    )
    assert Response.from_json(named.to_json()) == named
    assert without_response(one.records.values(), [response("r0", "Q 1")], "s") == [one.records["r1"]]


def test_items_tell_which_reference_counted_and_how_it_is_aligned() -> None:
    content = document([record_set(["Q 1", "Inf .5 Sug .5"])], [response("r0", "Inf .25 Ans .75")], settings=FEW)
    (item,) = content["items"]
    assert item["reference"]["index"] == 1
    assert [step["operation"] for step in item["path"]] == ["match", "substitution"]
    assert item["scores"]["substitution"] == pytest.approx(0.625)
    assert item["path"][1] == {"operation": "substitution", "reference_index": 1, "prediction_index": 1, "cost": 0.625}


@pytest.mark.parametrize(
    ("n", "needs"), [(3, "3 records are too few for any comparison"), (60, "too few for a ranking"), (1500, None)]
)
def test_a_set_that_is_too_small_for_a_ranking_says_so(
    n: int, needs: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "PAIRS", 10_000)  # which are not looked at
    rng = np.random.default_rng(2)
    of = record_set(*[[random_acts(rng)] for _ in range(n)])
    content = document(
        [of], [response(id, random_acts(rng)) for id in of.records], settings=ScoringSettings(resamples=20)
    )
    said = [text for text in content["warnings"] if "too few" in text]
    assert len(said) == (needs is not None)
    assert all(needs in text for text in said if needs)


def test_importances_that_do_not_sum_to_1_are_told() -> None:
    of = record_set(["Q 1"], ["Q .5 Inf .4"])
    scaled = Annotation("x", (Step("Question", 1.0),), scaled_from=0.995)
    replies = [response("r0", "Q .9"), Response("r1", "s", "a", (scaled,))]
    said = document([of], replies, settings=FEW)["warnings"]
    assert [text for text in said if "sum to 1" in text] == [
        "set: the importances of 1 of 2 annotations do not sum to 1 and are scored as they are",
        "responses: the importances of 1 of 2 annotations do not sum to 1 and were scaled to it",
        "responses: the importances of 1 of 2 annotations do not sum to 1 and are scored as they are",
    ]


def test_published_figures_add_up_as_the_paper_prints_them() -> None:
    content = document([record_set(["Q 1"])], [response("r0", "Q 1")], settings=FEW, with_published=True)
    printed = [row for row in content["rows"] if row["group"] == "published"]
    assert len(printed) == 4
    for measures in (row["measures"] for row in printed):
        parts = [measures[part]["value"] for part in ("deletion", "insertion", "substitution")]
        assert sum(parts) == pytest.approx(measures["wed"]["value"], abs=0.0015)


def of_trials(seed: int, records: int = 14, trials: int = 3) -> tuple[RecordSet, list[Response]]:
    """A reply of two systems to each trial of each record, of acts drawn at random; some are lost."""
    rng = random.Random(seed)
    of = record_set(*(["Q .6 Inf .4"] for _ in range(records)))
    drawn = ("Q 1", "Inf 1", "Ans .5 Inf .5", "Q .6 Inf .4", "Com .2 Q .8")
    replies = [
        replace(response(id, rng.choice(drawn), system), trial=trial)
        for id in of.records
        for system in ("s", "t")
        for trial in range(1, trials + 1)
    ]
    return of, [reply for reply in replies if rng.random() > 0.15]


def plain_wed(reply: Response) -> float:
    reference = [("Question", 0.6), ("Inform", 0.4)]
    return align_acts(reference, [(step.act, step.importance) for step in reply.annotations[0].steps]).wed


def test_the_score_of_a_record_is_the_mean_of_its_trials_and_intervals_resample_records() -> None:
    """As plain arithmetic has it, over trials of which some are lost."""
    of, replies = of_trials(3)
    content = document([of], replies, settings=FEW)
    means: dict[str, dict[str, float]] = {"s": {}, "t": {}}
    for system, of_system in means.items():
        for id in of.records:
            if own := [plain_wed(reply) for reply in replies if (reply.id, reply.system) == (id, system)]:
                of_system[id] = sum(own) / len(own)
        own_row = row_of(content, system)
        of_records = bootstrap_columns([[of_system.get(id, np.nan)] for id in of.records], resamples=FEW.resamples)[0]
        assert own_row["n"] == len(of_system)
        assert own_row["measures"]["wed"]["value"] == pytest.approx(sum(of_system.values()) / len(of_system))
        assert own_row["measures"]["wed"]["ci95"] == pytest.approx(of_records.interval)
        singles = [plain_wed(reply) for reply in replies if reply.system == system]
        assert own_row["measures"]["wed"]["sd"] == pytest.approx(np.std(singles, ddof=1))
    both = [means["s"][id] - means["t"][id] for id in of.records if id in means["s"] and id in means["t"]]
    wed = next(one for one in content["differences"] if one["measure"] == "wed")
    assert wed["n"] == len(both)
    assert wed["difference"] == pytest.approx(sum(both) / len(both))
    assert {(item["id"], item["system"], item["trial"]) for item in content["items"]} == {
        (reply.id, reply.system, reply.trial) for reply in replies
    }
    assert f"set: s replied {len([r for r in replies if r.system == 's'])} times to" in " ".join(content["notes"])


def of_calls(turns: Sequence[int], seed: int = 5) -> tuple[RecordSet, list[Response]]:
    """Replies of two systems to turns of recorded users, so many of each; some are lost."""
    of, replies = of_trials(seed, sum(turns), trials=1)
    users = [f"user {k}" for k, count in enumerate(turns) for _ in range(count)]
    random.Random(seed).shuffle(users)
    own = zip(of.records.items(), users, strict=True)
    return replace(of, records={id: replace(one, user=user) for (id, one), user in own}), replies


def wed_by_user(of: RecordSet, replies: Sequence[Response], system: str) -> dict[str, dict[str, float]]:
    """The WED of each reply of a system, by its recorded user and its record."""
    found: dict[str, dict[str, float]] = {one.user: {} for one in of.records.values()}
    for reply in replies:
        if reply.system == system:
            found[of.records[reply.id].user][reply.id] = plain_wed(reply)
    return found


def plain_interval(by_user: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Every drawn user with all its turns; Student's t for the effective number of users (Hesterberg 2015)."""
    k = len(by_user)
    draws = np.random.Generator(np.random.PCG64(0)).integers(k, size=(FEW.resamples, k), dtype=np.int32)
    means = [np.mean([value for user in drawn for value in by_user[user]]) for drawn in draws]
    sizes = [len(own) for own in by_user]
    many = sum(sizes) ** 2 / sum(size**2 for size in sizes)
    beyond = scipy_stats.norm.cdf(-scipy_stats.t.ppf(0.975, many - 1) * np.sqrt(many / (many - 1)))
    low, high = np.quantile(means, [beyond, 1 - beyond])
    return float(low), float(high)


def test_turns_of_one_recorded_user_are_drawn_and_flipped_together() -> None:
    """As plain loops have it, with unequal numbers of turns."""
    of, replies = of_calls((1, 9, 2, 14, 5, 3, 7))
    content = document([of], replies, settings=FEW)
    of_s, of_t = (wed_by_user(of, replies, system) for system in ("s", "t"))
    for system, by_user in (("s", of_s), ("t", of_t)):
        values = [list(own.values()) for own in by_user.values()]
        own_row = row_of(content, system)
        assert (own_row["n"], own_row["counts"]["recorded_users"]) == (sum(map(len, values)), sum(map(bool, values)))
        assert own_row["measures"]["wed"]["value"] == pytest.approx(np.mean([*chain(*values)]))
        assert own_row["measures"]["wed"]["ci95"] == pytest.approx(plain_interval(values))
    apart = [[own[id] - of_t[user][id] for id in own if id in of_t[user]] for user, own in of_s.items()]
    every, k = [*chain(*apart)], sum(map(bool, apart))
    wed = next(one for one in content["differences"] if one["measure"] == "wed")
    assert (wed["n"], wed["clusters"]) == (len(every), k)
    assert wed["difference"] == pytest.approx(np.mean(every))
    assert wed["ci95"] == pytest.approx(plain_interval(apart))
    flipped = [
        abs(sum(sign * sum(own) for sign, own in zip(signs, apart, strict=True)))
        for signs in product((1, -1), repeat=len(apart))
    ]
    assert wed["p"] == pytest.approx(np.mean([far > abs(sum(every)) - 1e-9 for far in flipped]))
    error = np.sqrt(k / (k - 1) * sum(sum(one - np.mean(every) for one in own) ** 2 for own in apart)) / len(every)
    reach = scipy_stats.t.ppf(0.975, k - 1) + scipy_stats.t.ppf(0.8, k - 1)
    assert wed["detectable"] == pytest.approx(reach * error)
    assert "set: intervals and tests resample recorded users (here 7), each with all turns" in str(content["notes"])
    assert "set: 7 recorded users are too few for a ranking" in str(content["warnings"])


@pytest.mark.parametrize("trials", [1, 3])
def test_a_turn_a_recorded_user_has_the_bits_of_single_requests(trials: int) -> None:
    of, replies = of_trials(6, 25, trials)
    users = replace(of, records={id: replace(one, user=f"user {id}") for id, one in of.records.items()})
    alone, turns = document([of], replies, settings=FEW), document([users], replies, settings=FEW)
    assert turns["differences"] == [{**one, "clusters": one["n"]} for one in alone["differences"]]
    assert not any(one["clusters"] for one in alone["differences"])
    for one, single in zip(turns["rows"], alone["rows"], strict=True):
        beside = {} if one["subset"] else {"recorded_users": one["n"]}
        assert one == {**single, "counts": {**single["counts"], **beside}}


def test_trials_that_are_all_alike_make_no_interval_narrower() -> None:
    of, replies = of_trials(4, trials=1)
    ten = [replace(reply, trial=trial) for reply in replies for trial in range(1, 11)]
    once, often = (document([of], given, settings=FEW) for given in (replies, ten))
    for one, other in zip(once["rows"], often["rows"], strict=True):
        for measure, found in one["measures"].items():
            again = other["measures"][measure]
            assert again["value"] == pytest.approx(found["value"])
            assert again["ci95"] == (found["ci95"] and pytest.approx(found["ci95"]))
    for compared, repeated_one in zip(once["differences"], often["differences"], strict=True):
        assert (compared["n"], compared["p"]) == (repeated_one["n"], repeated_one["p"])
        assert compared["ci95"] == pytest.approx(repeated_one["ci95"])


@pytest.mark.parametrize("n", [1, 5, 60, 150])
def test_of_two_equal_systems_it_is_said_that_they_do_not_differ(n: int) -> None:
    rng = np.random.default_rng(3)
    of = record_set(*[[random_acts(rng)] for _ in range(n)])
    replies = [replace(response(id, random_acts(rng)), system=system) for id in of.records for system in ("s", "t")]
    same = [replace(one, annotations=replies[0].annotations) for one in replies]
    content = document([of], same, settings=FEW)
    for one in content["differences"]:
        assert (one["difference"], one["differing"], one["p"], one["detectable"]) == (0, 0, 1, None)
    card = SUITE.card(content)
    (said,) = [text for text in card.statements if "do not differ" in text]
    assert f"on {'each of ' if n > 1 else ''}{n} record" in said
    assert not any("0.000" in text for text in card.statements)
    page = scorecard_page(card, SUITE)
    assert page.count("no difference") == len(COMPARED)
    assert "minimum detectable effect" not in page
    assert "detectable  " not in screen(card, 100)


def test_a_difference_that_is_the_same_everywhere_is_found_but_shows_nothing_detectable() -> None:
    of = record_set(*[["Q .5 Inf .5"]] * 20)
    replies = [response(id, acts, system) for id in of.records for acts, system in (("Q .5 Inf .5", "s"), ("Q 1", "t"))]
    content = document([of], replies, settings=FEW)
    wed = next(one for one in content["differences"] if one["measure"] == "wed")
    assert (wed["differing"], wed["detectable"]) == (20, None)
    assert "answers better than" in SUITE.card(content).statements[0]


def test_recorded_users_that_are_too_few_for_a_test_are_told() -> None:
    of, replies = of_calls((9, 14, 5))
    found = [one.too_few(0.95) for one in SUITE.card(document([of], replies, settings=FEW)).differences]
    assert set(found) == {"3 recorded users cannot reach p < 0.05; at least 6 needed"}


def test_without_any_scored_reply_no_note_tells_of_their_distances() -> None:
    of = record_set(["Q 1", "Inf 1"])  # two good replies to one record
    told = document([of], [response("r0", "Inf 1")], settings=FEW)["notes"]
    assert any("of several references" in note and note.endswith(": s 0.000 and 1.000") for note in told)
    assert not document([of], [response("stray", "Q 1")], settings=FEW)["notes"]
