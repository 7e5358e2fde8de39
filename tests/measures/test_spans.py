"""Where the items of each measure are, at the places where they were drawn, and which moments of them are the worst."""

from itertools import pairwise

import numpy as np
import pytest
from helpers.drawn import dialogue
from hypothesis import given, settings
from hypothesis import strategies as st

from fdbcore.measures.compat import overlap_v15
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.labelled import labelled_quantities
from fdbcore.measures.moments import moments
from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.measures.recoveries import recovery_quantities
from fdbcore.measures.timing import timing_quantities
from fdbcore.recording.labels import CONTRIBUTIONS, KINDS, KeptLabels, Label
from fdbcore.session.turns import detect_turns
from fdbcore.types import SIDES, TurnSettings

CALL = "A 0.5-2 5-8 14-15 20-24 | B 2.6-4 7.5-9 10-13 21-21.4 22.5-23.5 24.2-26"
"""B answers at 2.6, cuts A off at 7.5, leaves the turn that ends at 15 unanswered, and speaks over A at 21 and 22.5."""


@pytest.mark.parametrize(
    ("measure", "spans", "others"),
    [
        ("premature_per_turn", [(7.5, 8)], [(2, 2.6), (24, 24.2), (15, 20)]),
        ("answered_per_turn", [(2, 2.6), (24, 24.2)], [(7.5, 8), (15, 20)]),
        ("no_response_per_turn", [(15, 20)], [(2, 2.6), (24, 24.2), (7.5, 8)]),
        ("response_latency_ms", [(2, 2.6), (24, 24.2)], []),
        ("a_unanswered_wait_s", [(15, 20)], []),
        ("lapse_s", [(15, 20)], []),
        ("b_initial_silence_s", [(0, 2.6)], []),
        ("overlap_per_min", [(7.5, 8), (21, 21.4), (22.5, 23.5)], []),
        ("b_onset_in_overlap_per_a_speech_min", [(7.5, 9), (21, 21.4), (22.5, 23.5)], []),
        ("b_backchannel_like_per_a_speech_min", [(21, 21.4), (22.5, 23.5)], []),
        ("a_talk_share", [(0.5, 2), (5, 8), (14, 15), (20, 24)], []),
    ],
)
def test_the_spans_are_where_it_was_drawn(
    measure: str, spans: list[tuple[float, float]], others: list[tuple[float, float]]
) -> None:
    found = timing_quantities(dialogue(CALL), with_chance=False)[measure]
    assert in_s(found.spans) == sorted(spans)
    assert in_s(found.others if isinstance(found, Share) else ()) == sorted(others)


def in_s(spans: object) -> list[tuple[float, float]]:
    assert isinstance(spans, list | tuple)
    return sorted((start / 100, end / 100) for start, end in spans)


def test_b_stops_for_one_of_two_interruptions() -> None:
    """A comes in at 2 s, where B stops 0.8 s later, and at 11 s, where B goes on."""
    found = timing_quantities(dialogue("A 2-4.5 11-13 | B 0-2.8 8-16"), with_chance=False)[
        "b_stopped_within_2s_per_long_a_onset"
    ]
    assert isinstance(found, Share)
    assert (in_s(found.spans), in_s(found.others)) == ([(2, 4.5)], [(11, 13)])


LABELS = st.lists(
    st.builds(
        lambda side, kind, start, length: Label(side, kind, start / 100, (start + length) / 100),
        st.sampled_from("AB"), st.sampled_from(KINDS), st.integers(0, 5_000), st.integers(0, 300),
    ),
    max_size=30,
)  # fmt: skip


@given(st.integers(0, 1 << 32), LABELS)
@settings(deadline=None)
def test_there_are_as_many_spans_as_items(seed: int, given_labels: list[Label]) -> None:
    random = np.random.default_rng(seed)
    lengths = random.integers(5, 300, 40)
    a, b = (np.repeat(random.random(40) < 0.5, lengths) for _ in range(2))
    conversation = Dialogue(detect_turns(a, b), len(a), TurnSettings())
    within = [label for label in given_labels if label.end_tick <= len(a)]
    labels = KeptLabels("by hand", sorted(within), [])
    words = [(f"word{k % 5}", k / 3, k / 3 + 0.2) for k in range(len(a) // 34)]
    measured = (
        timing_quantities(conversation)
        | labelled_quantities(conversation, labels)
        | recovery_quantities(conversation, labels, words)
    )
    user, system = ([(s / 100, e / 100) for s, e in conversation.ipus[side]] for side in SIDES)
    measured |= overlap_v15(user, system, within)
    for name, found in measured.items():
        check(name, found, len(a))
    assert any(name.endswith(f"_labelled_{CONTRIBUTIONS[0]}") for name in measured) == any(
        (label.side, label.kind) == ("A", CONTRIBUTIONS[0]) for label in within
    )


def check(name: str, found: Quantity, n_ticks: int) -> None:
    if isinstance(found, Values):
        assert len(found.spans) == len(found.values), name
    elif isinstance(found, Share):
        assert (len(found.spans), len(found.others)) == (found.count, found.n - found.count), name
    else:
        assert len(found.spans) == found.n, name
    others = found.others if isinstance(found, Share) else ()
    assert all(0 <= start <= end <= n_ticks for start, end in [*found.spans, *others]), name


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
