"""The timing score: each corner of the rule by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.timing_score import CutShort, timing_scores
from fdbcore.session.turns import detect_turns
from fdbcore.types import TurnSettings

A_TICKS = (100, 500)


def scores(
    b: list[tuple[int, int]],
    a: list[tuple[int, int]] | None = None,
    n_ticks: int = 4000,
    cut_short: Sequence[CutShort] = (),
) -> list[float]:
    active = {"A": np.zeros(n_ticks, bool), "B": np.zeros(n_ticks, bool)}
    for side, spans in (("A", a or [A_TICKS]), ("B", b)):
        for start, end in spans:
            active[side][start:end] = True
    settings = TurnSettings()
    dialogue = Dialogue(detect_turns(active["A"], active["B"], settings), n_ticks, settings)
    return [each.score for each in timing_scores(dialogue, cut_short)]


@pytest.mark.parametrize(
    ("after_ticks", "score"),
    [(0, 0.5), (25, 0.75), (50, 1.0), (120, 1.0), (200, 1.0), (275, 0.5), (350, 0.0), (600, 0.0)],
)
def test_an_answer_scores_by_its_delay(after_ticks: int, score: float) -> None:
    start = A_TICKS[1] + after_ticks
    assert scores([(start, start + 300)]) == pytest.approx([score])


@pytest.mark.parametrize(("early_ticks", "score"), [(30, 0.2), (45, 0.05), (100, 0.0)])
def test_a_cut_off_scores_less(early_ticks: int, score: float) -> None:
    assert scores([(A_TICKS[1] - early_ticks, A_TICKS[1] + 400)])[0] == pytest.approx(score)


def test_no_answer_counts() -> None:
    assert scores([(2400, 2700)], [A_TICKS, (2000, 2300)]) == [1.0, 0.0]


@pytest.mark.parametrize(("stops_after_ticks", "score"), [(40, 0.8), (100, 0.5), (250, 0.0)])
def test_yielding_scores_by_how_soon(stops_after_ticks: int, score: float) -> None:
    """B answers after 1 s; A talks over it 3 s later, and B falls silent so long after."""
    found = scores([(600, 900 + stops_after_ticks), (2000, 2300)], [A_TICKS, (900, 1900)])
    assert found == pytest.approx([1.0, 1.0, score])


@pytest.mark.parametrize(("unsaid_ticks", "score"), [(0, 0.3), (15, 0.15), (30, 0.0), (400, 0.0)])
def test_words_that_were_cut_short_end_where_they_would_have_ended(unsaid_ticks: int, score: float) -> None:
    """A breaks off 0.2 s after B has begun, as an examiner does: by the turns alone, B would be just in time."""
    begun = A_TICKS[1] - 20
    cut = CutShort(begun, A_TICKS[1], A_TICKS[1] + unsaid_ticks)
    assert scores([(begun, begun + 300)]) == pytest.approx([0.3])
    assert scores([(begun, begun + 300)], cut_short=[cut]) == pytest.approx([score])


def test_what_was_cut_short_counts_once_whether_b_goes_on_or_not() -> None:
    cut = CutShort(A_TICKS[1] - 20, A_TICKS[1], A_TICKS[1] + 400)
    assert scores([(2400, 2700)], [A_TICKS, (2000, 2300)], cut_short=[cut]) == [1.0, 0.0]
    assert scores([], cut_short=[cut]) == [0.0]
