"""Leaving out parts of a call: each kept span is measured as a recording of its own, and nothing else counts."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from helpers.drawn import activity
from hypothesis import given, settings
from hypothesis import strategies as st

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.hang_up import Line
from fdbcore.measures.health.finding import in_session
from fdbcore.measures.labelled import labelled_quantities
from fdbcore.measures.moments import moments
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.measures.recoveries import recovery_quantities
from fdbcore.measures.timing import timing_quantities
from fdbcore.recording.labels import KINDS, KeptLabels, Label, within_session
from fdbcore.recording.left_out import LeftOut, kept_spans
from fdbcore.session.turns import detect_turns
from fdbcore.types import TICKS_PER_S, Span, TurnEvent, TurnSettings

Track = npt.NDArray[np.bool_]


def measured(a: Track, b: Track, kept: Sequence[Span], line: Line = "held") -> Dialogue:
    return Dialogue(detect_turns(a, b, kept=kept or None), len(a), TurnSettings(), line=line, kept=kept)


def pooled(sessions: Sequence[Mapping[str, Quantity]]) -> dict[str, object]:
    """The items of each measure over several sessions, without the shares by chance, which depend on all of a call."""
    found: dict[str, object] = {}
    for name in {name for session in sessions for name in session}:
        items = [session[name] for session in sessions if name in session]
        excluded = Counter[str]()
        for item in items:
            excluded.update(item.excluded if not isinstance(item, Ratio) else {})
        if isinstance(items[0], Values):
            figures: list[float] = [value for item in items if isinstance(item, Values) for value in item.values]
        elif isinstance(items[0], Share):
            figures = [sum(getattr(item, field) for item in items) for field in ("count", "n")]
        else:
            figures = [sum(getattr(item, field) for item in items) for field in ("total", "exposure", "n")]
        found[name] = np.round(figures, 9).tolist(), +excluded
    return found


def random_track(rng: np.random.Generator, n_ticks: int) -> Track:
    runs = rng.integers(1, [400, 160], (n_ticks // 20, 2)).ravel()
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs)[:n_ticks]


def random_kept(rng: np.random.Generator, n_ticks: int) -> list[Span]:
    edges = np.sort(rng.choice(np.arange(1, n_ticks), rng.integers(1, 7), replace=False)).tolist()
    spans = list(zip([0, *edges], [*edges, n_ticks], strict=True))
    return spans[int(rng.integers(2)) :: 2]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_call_with_left_out_parts_is_measured_as_its_parts_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_ticks = 12_000
    a, b = random_track(rng, n_ticks), random_track(rng, n_ticks)
    kept = random_kept(rng, n_ticks)
    labels = []
    for start, end in kept:
        b[start : start + 20] = False  # onsets at an edge are censored: see below
        for first in rng.integers(start, end, 12).tolist():
            last = min(first + int(rng.integers(1, 300)), end)
            labels.append(Label("A", KINDS[int(rng.integers(len(KINDS)))], first / TICKS_PER_S, last / TICKS_PER_S))
    whole, given_labels = measured(a, b, kept), KeptLabels("x", sorted(labels), ())
    found = (
        timing_quantities(whole)
        | labelled_quantities(whole, given_labels)
        | recovery_quantities(whole, given_labels, None)
    )
    parts = []
    for start, end in kept:
        alone = measured(a[start:end], b[start:end], ())
        own = [
            Label(one.side, one.kind, one.start_s - start / TICKS_PER_S, one.end_s - start / TICKS_PER_S)
            for one in given_labels.labels
            if start <= one.start_tick < end
        ]
        its_labels = KeptLabels("x", own, ())
        parts.append(
            timing_quantities(alone)
            | labelled_quantities(alone, its_labels)
            | recovery_quantities(alone, its_labels, None)
        )
    before = [part.pop("b_initial_silence_s") for part in parts]
    silence = found.pop("b_initial_silence_s")
    assert pooled([found]) == pooled(parts)
    spoke = [k for k, item in enumerate(before) if isinstance(item, Values) and item.values]
    if spoke:  # the one silence of the call: the parts before B's first sound, and that up to it
        (first, *_), parts_before = spoke, kept[: spoke[0]]
        own_silence = before[first]
        assert isinstance(own_silence, Values)
        expected = own_silence.values[0] + sum(end - start for start, end in parts_before) / TICKS_PER_S
        assert isinstance(silence, Values)
        assert silence.values == [pytest.approx(expected)]
        assert [start for start, _ in silence.spans] == [kept[0][0]]
    assert all(any(s <= m.start_tick and m.end_tick <= e for s, e in kept) for m in moments(whole, given_labels))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_nothing_outside_moves_a_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kept = random_kept(rng, 6_000)
    a, b, other_a, other_b = (random_track(rng, 6_000) for _ in range(4))
    for start, end in kept:
        other_a[start:end], other_b[start:end] = a[start:end], b[start:end]
    one, two = measured(a, b, kept), measured(other_a, other_b, kept)
    assert (one.events, timing_quantities(one), moments(one)) == (two.events, timing_quantities(two), moments(two))


def test_a_question_before_an_edge_is_not_answered_behind_it() -> None:
    a, b = activity("A 0-2 20-22 | B 12.1-13 22.5-24")
    found = timing_quantities(
        measured(a, b, [(0, 1190), (1210, len(a))])
    )  # 9.9 s of the response window, then 0.2 s left out
    assert found["answered_per_turn"] == Share(1, 1, {"censored": 1})
    found = timing_quantities(measured(a, b, [(0, 1205), (1210, len(a))], line="closed"))
    assert found["no_response_per_turn"] == Share(1, 2, {"censored": 0})  # A cannot have hung up: the call goes on


def test_what_both_began_before_an_edge_answers_and_interrupts_nothing() -> None:
    a, b = activity("A 0-12 | B 9-16")  # from 10 s on it looks as if B cut A off by 2 s
    both: list[TurnEvent] = [
        event for event in measured(a, b, [(1000, len(a))]).events if event.kind in ("intrusion", "overlap_between")
    ]
    assert [(event.start_tick, event.censored) for event in both] == [(1000, True), (1000, True)]
    found = timing_quantities(measured(a, b, [(1000, len(a))]))
    assert found["premature_per_turn"] == Share(0, 0, {"censored": 0})
    overlap = found["overlap_share_of_speech"]  # durations are cut: 2 s of 6 s
    assert isinstance(overlap, Ratio)
    assert (overlap.total, overlap.exposure) == (200, 600)


def test_labels_count_where_they_are_decided() -> None:
    given = [
        Label("A", "turn_end", 9.0, 10.5),  # ends inside
        Label("A", "turn_end", 19.0, 20.5),  # ends behind
        Label("A", "pause", 9.5, 11.0),  # begins before
        Label("A", "pause", 19.5, 21.0),  # begins inside, cut
        Label("B", "speech", 5.0, 25.0),  # counts as far as it lies inside
        Label("A", "noise", 30.0, 31.0),
    ]
    within, notes = within_session(given, 4000, [(1000, 2000)])
    assert [(label.kind, label.start_s, label.end_s) for label in within] == [
        ("pause", 19.5, 20.0),
        ("turn_end", 10.0, 10.5),
        ("speech", 10.0, 20.0),
    ]
    assert [note.split(":")[0] for note in notes] == [
        "3 labels in what was left out of the call, left out too",
        "3 labels running into what was left out of the call, cut there",
    ]


def test_spans_of_what_was_heard_come_back_to_where_they_were() -> None:
    kept = [(100, 200), (300, 400)]
    assert in_session([(0, 10), (90, 110), (150, 200)], kept) == [(100, 110), (190, 200), (300, 310), (350, 400)]
    assert kept_spans([LeftOut(0, 100, "x"), LeftOut(200, 300, "y")], 400) == kept
