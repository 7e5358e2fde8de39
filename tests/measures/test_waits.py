"""The waits of B, in dialogues drawn by hand: who went on first, and when B began."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.drawn import dialogue

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.waits import WaitForB, waits_in, waits_of

NEVER = math.inf


def found(drawn: Dialogue, **known: object) -> list[tuple[int, float, float]]:
    """The turn, when A went on, and when B began, of each wait; in ticks."""
    return [(wait.turn, wait.went_on, wait.started) for wait in waits_in(drawn, **known).waits]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("A 0-2 2.5-4 | B 4.6-6", [(0, 50, NEVER), (0, NEVER, 60)]),  # a pause, and the end of the turn
        ("A 0-2 3-5 | B 2.6-3.4 5.7-7", [(0, 100, 60), (0, NEVER, 70)]),  # cut in on, and answered
        ("A 0-2 3.8-5 | B 2.6-3.4 5.7-7", [(0, NEVER, 60), (1, NEVER, 70)]),  # A spoke too late to have gone on
        ("A 0-2 2.5-4 | B 2.8-5", [(0, 50, 80)]),  # B did not take back what it had begun
        ("A 0-2 6-8 | B 8.5-9", [(0, NEVER, NEVER), (1, NEVER, 50)]),  # 4 s are no pause
        ("A 0-2 | B 7-9", [(0, NEVER, 500)]),  # a late answer
        ("A 0-4 | B 2.6-6", [(0, NEVER, NEVER)]),  # within A's speech
        ("A 0-2 5-5.4 7-8 | B 2.5-6.5 8.4-9", [(0, NEVER, 50), (1, NEVER, 40)]),  # a word of A over B is no turn
    ],
)
def test_what_came_first(drawing: str, expected: list[tuple[int, float, float]]) -> None:
    assert found(dialogue(drawing)) == expected


def test_a_start_within_speech_has_no_silence_as_its_reason() -> None:
    assert [wait.is_unheard for wait in waits_in(dialogue("A 0-4 | B 2.6-6")).waits] == [True]
    assert [wait.is_unheard for wait in waits_in(dialogue("A 0-2 2.5-4 | B 2.8-5")).waits] == [False]


def test_who_does_not_hear_b_goes_on_by_itself_whenever_it_does() -> None:
    drawn = dialogue("A 0-2 3.8-5 | B 2.6-3.4 5.7-7")
    assert found(drawn, is_deaf=True) == [(0, 180, 60), (0, NEVER, 70)]
    assert waits_in(drawn, is_deaf=True).turns == 1


def test_labels_know_pauses_and_ends() -> None:
    drawn = dialogue("A 0-2 4.8-6 | B 2.6-4.4 6.7-8", pauses=[(200, 480)])
    assert found(drawn) == [(0, 280, 60), (0, NEVER, 70)]
    cut_in = dialogue("A 0-2 3-5 | B 2.6-3.4 5.7-7")
    assert found(cut_in, turn_ends=[200]) == [(0, NEVER, 60), (1, NEVER, 70)]


@pytest.mark.parametrize(("line", "turns", "censored"), [("held", 2, 0), ("closed", 1, 1)])
def test_a_last_turn_counts_if_b_could_still_answer(line: str, turns: int, censored: int) -> None:
    counted = waits_in(dialogue("A 0-2 4-6 | B 2.4-3.6", tail_s=11, line=line))  # type: ignore[arg-type]
    assert (counted.turns, counted.censored) == (turns, censored)
    assert counted.waits[0] == WaitForB(0, 200, NEVER, 140, 40)


@pytest.mark.parametrize(("peak", "ticks", "has_sound"), [(400, 6, True), (400, 2, False), (60, 6, False)])
def test_a_sound_that_is_no_speech_is_noted_where_it_may_have_been_heard(
    peak: int, ticks: int, has_sound: bool
) -> None:
    """A knock on a line that hisses at 20: loud and long enough, and in the silence in which B should answer."""
    drawn = dialogue("A 0-2 4-6 | B 2.9-3.5 6.9-8")
    peaks = np.full((drawn.n_ticks, 2), 20, np.uint16)
    peaks[drawn.speaking["A"], 0] = 9000
    peaks[240 : 240 + ticks, 0] = peak
    peaks[300:320, 0] = 400  # while B speaks
    reading: Any = SimpleNamespace(dialogue=drawn, peaks=peaks, labels=None, parties={})
    assert [wait.has_sound for wait in waits_of(reading).waits] == [has_sound, False]
