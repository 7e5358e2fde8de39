"""The worst moments of drawn dialogues."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from helpers.drawn import dialogue
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.moments import moments
from fdbcore.session.turns import detect_turns
from fdbcore.types import TurnSettings


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("A 0-2 | B 2.4-5", []),
        ("A 0-2 6-7 | B 3.9-5", [("slow_answer", "B", 2.0, 3.9, "slow response 1.9 s")]),
        ("A 0-2 8-10 | B 2.5-4", [("lapse", "A", 4.0, 8.0, "lapse 4.0 s")]),
        ("A 0-2 6-8 | B 8.5-9", [("no_answer", "B", 2.0, 6.0, "no response 4.0 s")]),
        ("A 0-2 13-15 |", [("no_answer", "B", 2.0, 13.0, "no response 11.0 s")]),
        ("A 0-2 | B 13-15", [("no_answer", "B", 2.0, 13.0, "no response 11.0 s")]),
        ("A 0-3.4 | B 3-6", [("cut_off", "B", 3.0, 3.4, "cut in 0.4 s early")]),
        ("A 0-3.1 | B 3-6", []),
        ("A 2-2.4 | B 0-5", []),
        ("A 2-3.5 | B 0-5", [("talk_over", "A", 2.0, 3.5, "talk-over 1.5 s")]),
        ("A 3-6 | B 0-3.7", [("talk_over", "A", 3.0, 3.7, "talk-over 0.7 s")]),
        ("A 0-3 | B 3.2-4 18-19", [("lapse", "B", 4.0, 18.0, "lapse 14.0 s")]),
    ],
)
def test_a_moment_says_what_happened_and_where(
    drawing: str, expected: list[tuple[str, str, float, float, str]]
) -> None:
    found = [(m.kind, m.side, m.start_tick / 100, m.end_tick / 100, m.text) for m in moments(dialogue(drawing))]
    assert found == expected


def test_a_silence_full_of_music_says_so_and_comes_last() -> None:
    """B answers the first turn slowly, and plays music after the second one."""
    drawn = dialogue("A 0-2 6-8 30-32 | B 3.9-5", tail_s=12)
    found = moments(drawn, sounds={"music on B": [(900, 1900), (2000, 2900)]})
    assert (found[-1].kind, found[-1].text) == ("no_answer", "no response 22.0 s, music on B")
    assert moments(drawn, sounds={"music on B": [(900, 1800)]})[0].text == "no response 22.0 s"


def test_an_answer_that_never_came_lasts_to_the_end_of_the_recording() -> None:
    (moment,) = moments(dialogue("A 0-2 |", tail_s=14))
    assert (moment.kind, moment.start_tick, moment.end_tick) == ("no_answer", 200, 1600)


def test_what_the_end_of_the_recording_hides_is_no_moment() -> None:
    assert not moments(dialogue("A 0-2 |", tail_s=9))


def test_the_worst_comes_first_whatever_its_kind() -> None:
    found = moments(dialogue("A 0-2 9-12 15-16 | B 4-7 10-11.5"))
    assert [m.kind for m in found] == ["talk_over", "slow_answer"]
    assert all(earlier.severity >= later.severity > 1 for earlier, later in pairwise(found))


@given(st.integers(0, 1 << 32))
def test_no_silence_and_no_overlap_is_told_twice(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = (np.repeat(random.random(40) < 0.5, random.integers(5, 300, 40)) for _ in range(2))
    n = min(len(a), len(b))
    found = moments(Dialogue(detect_turns(a[:n], b[:n]), n, TurnSettings()))
    for kinds in ({"no_answer", "slow_answer", "lapse"}, {"cut_off", "talk_over"}):
        spans = sorted((m.start_tick, m.end_tick) for m in found if m.kind in kinds)
        assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans))
