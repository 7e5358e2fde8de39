"""Timing measures and their score, against dialogues drawn by hand, and against naive counts on random ones."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.drawn import activity, dialogue
from hypothesis import given
from hypothesis import strategies as st

from fdbcore.measures.answers import response_curve, responses
from fdbcore.measures.dialogue import NEVER_TICKS, Dialogue
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.measures.sayings import UserSaying
from fdbcore.measures.timing import timing_quantities
from fdbcore.measures.timing_score import timing_scores
from fdbcore.session.turns import detect_turns
from fdbcore.types import TurnSettings


def values(quantity: Quantity) -> list[float]:
    assert isinstance(quantity, Values)
    return quantity.values


def share(quantity: Quantity) -> tuple[int, int]:
    assert isinstance(quantity, Share)
    return quantity.count, quantity.n


def ratio(quantity: Quantity) -> float:
    assert isinstance(quantity, Ratio)
    return quantity.total / quantity.exposure


def test_answered_premature_and_missing_responses_compete() -> None:
    # answered after 0.5 s; premature by 0.4 s; no answer in 10 s, A asks again, answered with a filler first
    drawn = dialogue("A 0-2 6-8 12-14 26-28 | B 2.5-4.5 7.6-10 28.3-28.6 29.0-31")
    measures = timing_quantities(drawn)
    assert values(measures["response_latency_ms"]) == [500, 300]
    assert values(measures["response_long_ipu_latency_ms"]) == [500, 1000]
    assert share(measures["answered_per_turn"]) == (2, 4)
    assert share(measures["premature_per_turn"]) == (1, 4)
    assert share(measures["no_response_per_turn"]) == (1, 4)
    assert response_curve(drawn) == ([300, 500], 4)
    assert values(measures["a_fto_after_b_ms"]) == [1500, 2000]
    assert values(measures["lapse_s"]) == [12.0]


def test_an_answer_after_the_window_is_a_missing_one() -> None:
    measures = timing_quantities(dialogue("A 0-2 | B 13-15"))
    assert share(measures["answered_per_turn"]) == (0, 1)
    assert share(measures["no_response_per_turn"]) == (1, 1)
    assert values(measures["response_latency_ms"]) == []


def test_an_answer_hidden_by_the_end_is_censored() -> None:
    measure = timing_quantities(dialogue("A 0-2 | B 3-3.1", tail_s=0))["answered_per_turn"]
    assert measure == Share(0, 0, {"censored": 1})


def test_overlap_onsets_by_their_length_and_what_the_other_did() -> None:
    # long and yielded to after 0.5 s; short, B goes on; long, B goes on; at B's start; 0.1 s before B's end
    drawn = dialogue("A 2-5 12-12.4 14-16 20.1-20.5 29.9-31 | B 0-2.5 10-18 20-24 26-30")
    measures = timing_quantities(drawn)
    assert share(measures["b_stopped_within_1s_per_long_a_onset"]) == (1, 2)
    assert share(measures["b_stopped_within_1s_per_short_a_onset"]) == (0, 1)
    assert values(measures["b_stop_latency_ms_per_long_a_onset"]) == [500]
    excluded = measures["b_stopped_within_1s_per_long_a_onset"]
    assert isinstance(excluded, Share)
    assert excluded.excluded == {"simultaneous": 1, "terminal": 1}
    assert ratio(measures["a_onset_in_overlap_per_b_speech_min"]) == pytest.approx(5 / (18.5 / 60))
    assert ratio(measures["a_backchannel_like_per_b_speech_min"]) == pytest.approx(2 / (18.5 / 60))


@pytest.mark.parametrize(
    ("drawing", "stops"),
    [
        ("A 2-4 | B 0-2.5 2.9-9", 0),
        ("A 2-4.8 | B 0-2.4 3.3-9", 0),  # a pause of 0.9 s between two sentences
        ("A 2-4.8 | B 0-2.4 3.6-9", 0),  # 1.2 s, and A still speaks
        ("A 2-3.3 3.6-4.8 | B 0-2.4 3.6-9", 0),  # as does A after a pause
        ("A 2-3.2 | B 0-2.4 3.3-9", 0),  # A has ended, but so short a silence tells nothing
        ("A 2-3.2 | B 0-2.4 3.5-9", 1),
        ("A 2-4.8 | B 0-2.4 4.7-9", 1),  # an answer begins a little before A ends
        ("A 2-4.8 | B 0-2.4 2.8-2.9 5-9", 1),  # it stops at its second attempt, after 0.9 s
    ],
)
def test_who_stops_stays_silent_until_the_other_has_ended(drawing: str, stops: int) -> None:
    measures = timing_quantities(dialogue(drawing))
    assert share(measures["b_stopped_within_1s_per_long_a_onset"]) == (stops, 1)


def test_a_side_that_gives_way_at_once_is_counted_beside_what_chance_would_do() -> None:
    """B stops 150 ms after A comes in, three times; once it speaks on; once both had started together."""
    drawn = dialogue("A 5-8 15-18 25-28 35-38 45.1-48 | B 2-5.15 12-15.15 22-25.15 32-36 45-50")
    found = timing_quantities(drawn)["b_stopped_at_once_per_long_a_onset"]
    assert isinstance(found, Share)
    assert (found.count, found.n, found.excluded) == (3, 4, {"simultaneous": 1})
    assert share(timing_quantities(drawn)["b_stopped_within_1s_per_long_a_onset"]) == (1, 1)
    # Of 17.45 s of B's speech that are 0.2 s or more behind its starts, 1 s is so near to its five ends.
    assert found.chance == pytest.approx(1 / 17.45, abs=0.003)


def test_chance_is_the_share_over_all_shifts() -> None:
    """Every shift of A's onsets round the session, one by one."""
    drawn = dialogue("A 5-8 15-18 25-28 35-38 | B 2-5.4 12-16 22-25.3 32-36 36.3-39")
    found = timing_quantities(drawn)["b_stopped_within_1s_per_long_a_onset"]
    assert isinstance(found, Share)
    onsets, spans = [2500, 3500], drawn.ipus["B"].tolist()
    stopped = []
    for shift in range(drawn.n_ticks):
        for onset in onsets:
            tick = (onset + shift) % drawn.n_ticks
            within = [(start, end) for start, end in spans if start <= tick < end]
            if not within or tick - within[0][0] <= 20 or within[0][1] - tick <= 20:
                continue
            following = [(start, end) for start, end in [*spans, (drawn.n_ticks, 0)] if start >= tick]
            ends = [end for _, end in within] + [end for _, end in following[:-1]]
            silences = [(end, after) for end, (after, _) in zip(ends, following, strict=True) if after - end >= 100]
            held = [end for end, after in silences if after >= tick + 300 - 20]  # A speaks for 3 s
            stopped.append(bool(held) and held[0] - tick <= 100)
    assert found.chance == pytest.approx(np.mean(stopped), abs=1e-12)


def test_chance_is_what_a_deaf_system_does() -> None:
    """B talks 2 s and rests 2 s, whatever A does for 1.5 s: half of the onsets in its speech precede a stop in 1 s."""
    n_ticks, rng = 60_000, np.random.default_rng(5)
    b = np.arange(n_ticks) % 400 < 200
    a = np.zeros(n_ticks, dtype=np.bool_)
    for start in 600 * np.arange(99) + rng.integers(0, 400, 99):
        a[start : start + 150] = True
    measure = timing_quantities(Dialogue(detect_turns(a, b), n_ticks, TurnSettings()))[
        "b_stopped_within_1s_per_long_a_onset"
    ]
    assert isinstance(measure, Share)
    # Onsets more than 0.2 s after B's start and before its end: 1.6 s wide, 0.8 s of it within 1 s of the end.
    assert measure.chance == pytest.approx(0.5, abs=0.01)
    assert measure.count / measure.n == pytest.approx(0.5, abs=0.2)


def test_a_silent_system_answers_nothing() -> None:
    measures = timing_quantities(dialogue("A 0-2 14-16 | ", tail_s=12))
    assert share(measures["no_response_per_turn"]) == (2, 2)
    assert measures["b_initial_silence_s"] == Values("s", [], {"never_spoke": 1})
    assert ratio(measures["b_talk_share"]) == 0


def test_a_system_that_never_answers_shows_where_the_caller_does_not_wait_long() -> None:
    measures = timing_quantities(dialogue("A 0-2 6.5-8 9-10 |"))
    assert share(measures["no_response_per_turn"]) == (1, 1)
    assert values(measures["a_unanswered_wait_s"]) == [4.5]


def test_silence_has_no_measures_but_its_length() -> None:
    drawn = Dialogue(detect_turns(np.zeros(500, np.bool_), np.zeros(500, np.bool_)), 500, TurnSettings())
    measures = timing_quantities(drawn)
    assert share(measures["answered_per_turn"]) == (0, 0)
    assert values(measures["lapse_s"]) == []
    assert ratio(measures["gap_per_min"]) == 0


TRACK = st.lists(st.integers(1, 250), max_size=20)


@given(TRACK, TRACK)
def test_shares_of_time_and_stops_equal_naive_counts(runs_a: list[int], runs_b: list[int]) -> None:
    tracks = [[bool(i % 2) for i, length in enumerate(runs) for _ in range(length)] for runs in (runs_a, runs_b)]
    n_ticks = max(map(len, tracks)) + 30
    a, b = (np.array(track + [False] * (n_ticks - len(track)), dtype=np.bool_) for track in tracks)
    drawn = Dialogue(detect_turns(a, b), n_ticks, TurnSettings())
    speaking = {"A": np.zeros(n_ticks, bool), "B": np.zeros(n_ticks, bool)}
    for event in drawn.events:
        if event.kind == "speech_end":
            speaking[event.side][event.start_tick : event.end_tick] = True
    measures = timing_quantities(drawn)
    assert ratio(measures["a_talk_share"]) == pytest.approx(speaking["A"].mean())
    any_speech = (speaking["A"] | speaking["B"]).sum()
    both = (speaking["A"] & speaking["B"]).sum()
    overlap = measures["overlap_share_of_speech"]
    assert isinstance(overlap, Ratio)
    assert (overlap.total, overlap.exposure) == (both, any_speech)
    starts = np.arange(n_ticks)
    until = drawn.ticks_until_stop("B", starts, np.minimum(starts + 3 * starts % 200, n_ticks))
    for tick in range(0, n_ticks, 37):
        end = min(tick + 3 * tick % 200, n_ticks)
        held = (
            t
            for t in range(tick + 1, n_ticks - 99)
            if speaking["B"][t - 1] and not speaking["B"][t : max(t + 100, end - 20)].any()
        )
        expected = next(held, None)
        assert (until[tick] if until[tick] < NEVER_TICKS - n_ticks else None) == (
            None if expected is None else expected - tick
        )


def test_drawings_mean_what_they_say() -> None:
    a, b = activity("A 0-0.1 | B 0.05-0.2", tail_s=0)
    assert a.tolist() == [True] * 10 + [False] * 10
    assert b.tolist() == [False] * 5 + [True] * 15


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
