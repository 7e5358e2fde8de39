"""Agreement of raters, for all suites: who is compared, on what, and by which figures."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random
from statistics import fmean
from typing import Final

import msgspec
import pytest
from oracles import agreement
from scipy import stats as scipy_stats

from fdbcore.errors import SettingsError
from fdbcore.results.agreement import Rater, RaterScore, compared

MEASURE: Final = ("tone", "daily")
NAMES: Final = ("ann", "ben", "cy", "strict", "mild")
Given = Mapping[str, RaterScore]


def rated(seed: int, scores: Sequence[RaterScore] = (1.0, 2.0, 3.5, 5.0, None)) -> dict[str, Given]:
    """What five raters give to 20 items: of each some, and of some they cannot tell."""
    draw = Random(seed)
    return {
        name: {f"i{number:02}": draw.choice(scores) for number in range(20) if draw.random() < 0.8} for name in NAMES
    }


def raters(given: Mapping[str, Given]) -> list[Rater]:
    """The first three are people. Each rates something else beside."""
    return [
        Rater(
            name,
            "person" if name in NAMES[:3] else "judge",
            {("other",): {("tone", "safety"): 1.0}, **{(item,): {MEASURE: score} for item, score in own.items()}},
        )
        for name, own in given.items()
    ]


def as_one(given: Mapping[str, Given]) -> Given:
    """The mean of those people who can tell."""
    own = [given[name] for name in NAMES[:3]]
    told = {item: [score for each in own if (score := each.get(item)) is not None] for each in own for item in each}
    return {item: fmean(scores) if scores else None for item, scores in told.items()}


def test_every_two_are_compared_on_what_both_can_tell_and_people_as_one_with_judges() -> None:
    given = rated(1)
    named: dict[str, Given] = {**given, "people": as_one(given)}
    pairs = [
        *combinations(NAMES[:3], 2),
        *((judge, person) for judge in NAMES[3:] for person in ("people", *NAMES[:3])),
        NAMES[3:],
    ]
    found = {tuple(each.raters): each for each in compared(raters(given), MEASURE)}
    assert [*found] == [NAMES[:3], *pairs]
    kinds = [each.between for each in found.values()]
    assert kinds == [*["people"] * 4, *["judge and people"] * 8, "judges"]
    for names, each in found.items():
        own = [named[name] for name in names]
        scores = {item: [of[item] for of in own if item in of] for of in own for item in of}
        units = {item: [score for score in row if score is not None] for item, row in sorted(scores.items())}
        rows = [row for row in units.values() if len(row) > 1]
        assert [item for (item,) in each.items] == [item for item, row in units.items() if len(row) > 1]
        assert each.not_rated == sum(len(row) < 2 for row in scores.values())
        assert each.cannot_tell == len(scores) - len(rows) - each.not_rated
        figures = each.entry(("identical", "alpha_ordinal", "pearson"), {"metric": "tone"})
        assert (figures.n, figures.metric, figures.kappa) == (len(rows), "tone", msgspec.UNSET)
        values = [each and each.value for each in (figures.identical, figures.alpha_ordinal, figures.pearson)]
        r = scipy_stats.pearsonr(*zip(*rows, strict=True)).statistic if len(names) == 2 else None
        alike = sum(len({*row}) == 1 for row in rows) / len(rows)
        assert values == pytest.approx([alike, agreement.alpha(rows, agreement.ordinal), r])


def test_kappa_and_alpha_of_yes_and_no() -> None:
    given = rated(2, (0.0, 1.0, None))
    for each in compared(raters(given), MEASURE, lambda scores: float(sum(scores) > 1)):
        if len(each.raters) == 2 and "people" not in each.raters:
            rows = [tuple(row) for row in each.ratings.tolist()]
            assert each.figure("kappa").value == pytest.approx(agreement.kappa(rows))
            assert each.figure("alpha").value == pytest.approx(agreement.alpha(rows))


def test_a_second_mark_that_differs_is_refused() -> None:
    ann = Rater("ann", "person")
    ann.take(("D1",), {("tone",): 3.0, ("task", "daily"): None}, "t.csv, line 2", "rating of D1")
    ann.take(("D1",), {("tone",): 3.0, ("pace",): 1.0}, "t.csv, line 3", "rating of D1")
    assert ann.scores == {("D1",): {("tone",): 3.0, ("task", "daily"): None, ("pace",): 1.0}}
    with pytest.raises(SettingsError, match=r"line 4: expected one rating of D1 by ann, got a second one .* in task"):
        ann.take(("D1",), {("task", "daily"): 2.0}, "t.csv, line 4", "rating of D1")
