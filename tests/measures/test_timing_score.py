"""The timing score: each corner of the rule by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fdbcore.measures.answers import responses
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.sayings import UserSaying
from fdbcore.measures.timing_score import timing_scores
from fdbcore.session.turns import detect_turns
from fdbcore.types import TurnSettings

A_TICKS = (100, 500)


def scores(
    b: list[tuple[int, int]],
    a: list[tuple[int, int]] | None = None,
    n_ticks: int = 4000,
    sayings: Sequence[UserSaying] = (),
) -> list[float]:
    return [each.score for each in timing_scores(dialogue_of(b, a, n_ticks, sayings))]


def dialogue_of(
    b: list[tuple[int, int]],
    a: list[tuple[int, int]] | None = None,
    n_ticks: int = 4000,
    sayings: Sequence[UserSaying] = (),
) -> Dialogue:
    active = {"A": np.zeros(n_ticks, bool), "B": np.zeros(n_ticks, bool)}
    for side, spans in (("A", a or [A_TICKS]), ("B", b)):
        for start, end in spans:
            active[side][start:end] = True
    settings = TurnSettings()
    return Dialogue(detect_turns(active["A"], active["B"], settings), n_ticks, settings, sayings=sayings)


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
    cut = UserSaying(*A_TICKS, A_TICKS[1] + unsaid_ticks)
    assert scores([(begun, begun + 300)]) == pytest.approx([0.3])
    assert scores([(begun, begun + 300)], sayings=[cut]) == pytest.approx([score])


def test_what_was_cut_short_counts_once_whether_b_goes_on_or_not() -> None:
    cut = UserSaying(*A_TICKS, A_TICKS[1] + 400)
    assert scores([(2400, 2700)], [A_TICKS, (2000, 2300)], sayings=[cut]) == [1.0, 0.0]
    assert scores([], sayings=[cut]) == [0.0]


def test_who_breaks_a_yielding_user_off_has_cut_it_off() -> None:
    """A gives way after 0.2 s each time: by the turns alone each is an answer, against A's plan none is."""
    a = [(100, 320), (900, 1120), (1700, 1920)]
    b = [(300, 700), (1102, 1500), (1900, 2300)]
    dialogue = dialogue_of(b, a)
    by_ear: Any = responses(dialogue)
    planned: Any = responses(replace(dialogue, sayings=[UserSaying(start, end, end + 300) for start, end in a]))
    assert [len(by_ear["response_latency_ms"].values), len(planned["response_latency_ms"].values)] == [3, 0]
    assert [each["premature_per_turn"].count for each in (by_ear, planned)] == [0, 3]
    whole = responses(replace(dialogue, sayings=[UserSaying(start, end, end) for start, end in a]))
    assert whole == by_ear
