"""Measures by labels, on dialogues drawn by hand and worked out on paper; and deaf systems, which select nothing."""

import re

import numpy as np
import pytest
from helpers.drawn import dialogue

from fdbcore.analysis.summaries import summarise
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.labelled import labelled_quantities
from fdbcore.measures.moments import moments
from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.measures.recoveries import Word, recovery_quantities
from fdbcore.recording.labels import KeptLabels, Label, LabelKind
from fdbcore.report.glossary import EXCLUSIONS
from fdbcore.session.turns import detect_turns
from fdbcore.types import TurnSettings

KINDS: dict[str, LabelKind] = {
    "pause": "pause",
    "end": "turn_end",
    "int": "interruption",
    "bc": "backchannel",
    "side": "side_talk",
    "noise": "noise",
}


def labels(text: str) -> KeptLabels:
    """The labels of "A pause 2-3, B bc 4-4.5, A end 7"."""
    found = []
    for item in text.split(","):
        side, kind, span = item.split()
        start, _, end = span.partition("-")
        found.append(Label("A" if side == "A" else "B", KINDS[kind], float(start), float(end or start)))
    return KeptLabels("by hand", sorted(found), [])


def measured(drawing: str, text: str, words: list[Word] | None = None, tail_s: float = 3.0) -> dict[str, Quantity]:
    drawn, named = dialogue(drawing, tail_s), labels(text)
    return labelled_quantities(drawn, named) | recovery_quantities(drawn, named, words)


def share(measures: dict[str, Quantity], name: str) -> tuple[int, int]:
    found = measures[name]
    assert isinstance(found, Share)
    return found.count, found.n


def counted(measures: dict[str, Quantity], name: str) -> dict[str, int]:
    found = measures[name]
    assert isinstance(found, Share | Values)
    return {reason: count for reason, count in found.excluded.items() if count}


def values(measures: dict[str, Quantity], name: str) -> list[float]:
    found = measures[name]
    assert isinstance(found, Values)
    return found.values


def test_cut_offs_are_starts_of_b_in_a_pause_by_its_length() -> None:
    # pauses of 0.3 s (kept), 0.8 s (a word of B), 1.5 s (B speaks for 1.2 s, into A's speech), 3 s (B's backchannel)
    measures = measured(
        "A 0-2 2.3-4 4.8-6 7.5-10 13-15 | B 4.2-4.5 7-8.2 11-11.3",
        "A pause 2-2.3, A pause 4-4.8, A pause 6-7.5, A pause 10-13, B bc 10.9-11.4",
    )
    name = "cut_off_per_labelled_a_pause"
    assert share(measures, name) == (2, 4)
    assert share(measures, f"long_{name}") == (1, 4)
    bins = ("200_to_500_ms", "500_to_1000_ms", "1000_to_2000_ms", "2000_ms_and_over")
    assert [share(measures, f"{name}_of_{each}") for each in bins] == [(0, 1), (1, 1), (1, 1), (0, 1)]
    assert counted(measures, name) == {}


def test_false_cut_offs_are_moments_each_once() -> None:
    drawing = "A 0-2 3-5 6.4-8 9-11 | B 2.3-2.8 5.5-6 8.4-8.6 11.5-13"
    by_hand = labels("A pause 2-3, A pause 2.1-2.9, A pause 5-6.4, A pause 8-9, B bc 5.5-6")
    found = [moment for moment in moments(dialogue(drawing, 3.0), by_hand) if moment.kind == "false_cut_off"]
    assert [(m.side, m.start_tick, m.end_tick, m.text) for m in found] == [("B", 230, 280, "false cut-in of 0.5 s")]
    assert not [moment for moment in moments(dialogue(drawing, 3.0)) if moment.kind == "false_cut_off"]


def test_a_pause_in_which_b_spoke_already_or_that_is_short_is_no_opportunity() -> None:
    measures = measured("A 0-2 3-5 5.1-6 | B 1.5-2.4 5.05-5.6", "A pause 2-3, A pause 5-5.1")
    assert share(measures, "cut_off_per_labelled_a_pause") == (0, 0)
    assert counted(measures, "cut_off_per_labelled_a_pause") == {"b_was_speaking": 1, "short_pause": 1}


def test_a_start_at_the_very_edges_of_a_pause() -> None:
    at_its_start = measured("A 0-2 3-5 | B 2-2.5", "A pause 2-3")
    at_its_end = measured("A 0-2 3-5 | B 3-3.5", "A pause 2-3")
    assert share(at_its_start, "cut_off_per_labelled_a_pause") == (1, 1)
    assert share(at_its_end, "cut_off_per_labelled_a_pause") == (0, 1)


def test_answers_are_timed_from_labelled_ends() -> None:
    # after 0.5 s; 0.1 s early; B was speaking 0.3 s before and on; A goes on by itself; no answer; cut off by the end
    measures = measured(
        "A 0-2 6-8 12-14 18-19 19.5-21 35-36 | B 2.5-4 7.9-10 13.7-15",
        "A end 2, A end 8, A end 14, A end 19, A end 21, A end 36",
        tail_s=5.0,
    )
    name = "response_latency_ms_per_labelled_turn_end"
    assert values(measures, name) == [500, -100]
    assert counted(measures, name) == {"b_was_speaking": 1, "a_went_on": 1, "no_response": 1, "censored": 1}
    assert share(measures, "answered_per_labelled_turn_end") == (2, 5)


@pytest.mark.parametrize(
    ("drawing", "answers_ms"),
    [
        ("A 4-6 | B 0-5.8 6.17-10", []),  # a breath of 0.37 s across the end
        ("A 4-6 | B 0-6.1 6.4-10", []),  # B spoke through the end
        ("A 4-6 | B 0-5.95 6-10", []),
        ("A 4-6 | B 0-5.5 6-10", [0]),  # it had stopped for as long as a stop has to be
        ("A 4-6 | B 0-4.5 6.2-10", [200]),
        ("A 0-6 | B 5.5-5.8 6.1-10", []),  # its turn began 0.5 s early
        ("A 0-6 | B 4.5-4.8 6.1-10", [100]),  # a short contribution, and then its turn
    ],
)
def test_who_goes_on_after_a_breath_has_not_answered(drawing: str, answers_ms: list[float]) -> None:
    measures = measured(drawing, "A end 6", tail_s=5.0)
    name = "response_latency_ms_per_labelled_turn_end"
    assert values(measures, name) == answers_ms
    assert counted(measures, name).get("b_was_speaking", 0) == 1 - len(answers_ms)
    assert share(measures, "answered_per_labelled_turn_end") == (len(answers_ms), 1)


def test_b_stops_for_what_is_labelled_so() -> None:
    # interruptions: stopped after 0.5 s, not stopped; backchannel: not; noise: stopped after 1 s; side talk: B silent
    measures = measured(
        "A 2-4 12-13 22-22.5 40-41 | B 0-2.5 10-18 20-30 34-37",
        "A int 2-4, A int 12-13, A bc 22-22.5, A noise 36-36.5, A side 40-41",
    )
    assert share(measures, "b_stopped_within_2s_per_labelled_interruption") == (1, 2)
    assert values(measures, "b_stop_latency_ms_per_labelled_interruption") == [500]
    assert counted(measures, "b_stop_latency_ms_per_labelled_interruption") == {"did_not_stop": 1}
    assert share(measures, "b_stopped_within_2s_per_labelled_backchannel") == (0, 1)
    assert share(measures, "b_stopped_within_2s_per_labelled_noise") == (1, 1)
    assert share(measures, "b_stopped_within_2s_per_labelled_side_talk") == (0, 0)
    assert counted(measures, "b_stopped_within_2s_per_labelled_side_talk") == {"b_was_silent": 1}
    assert share(measures, "b_stopped_within_2s_per_labelled_distraction") == (1, 2)
    assert "b_stop_latency_ms_per_labelled_distraction" not in measures


def test_onsets_at_the_edges_of_b_are_left_out_as_everywhere() -> None:
    measures = measured("A 10.1-11 19.9-21 | B 10-13 16-20", "A int 10.1-11, A int 19.9-21")
    assert counted(measures, "b_stopped_within_2s_per_labelled_interruption") == {"simultaneous": 1, "terminal": 1}


def test_selectivity_is_the_difference_of_the_pooled_shares() -> None:
    picky = measured("A 2-4 12-12.4 | B 0-2.5 10-18", "A int 2-4, A bc 12-12.4")
    deaf = measured("A 2-4 12-12.4 | B 0-8 10-18", "A int 2-4, A bc 12-12.4")
    summary = summarise([picky, deaf])["b_selectivity"]
    assert (summary["mean"], summary["n"], summary["of"]) == (0.5, 4, (2, 2))
    assert summary["ci95"] is not None
    low, high = summary["ci95"]
    assert -1 < low < 0.5 < high < 1
    only_interruptions = measured("A 2-4 | B 0-2.5", "A int 2-4")
    assert "b_selectivity" not in summarise([only_interruptions])


def test_a_deaf_system_selects_nothing() -> None:
    """B talks 2 s and rests 1 s whatever A does, and the labels are thrown over A's starts at random."""
    sessions = [_deaf(seed) for seed in range(4)]
    selectivity = summarise(sessions)["b_selectivity"]
    assert min(selectivity["of"]) > 50
    assert selectivity["ci95"] is not None
    assert selectivity["ci95"][0] < 0 < selectivity["ci95"][1]
    for measures in sessions:
        for name in ("interruption", "distraction"):
            stops = measures[f"b_stopped_within_2s_per_labelled_{name}"]
            assert isinstance(stops, Share)
            assert stops.chance == pytest.approx(stops.count / stops.n, abs=0.1)


def _deaf(seed: int) -> dict[str, Quantity]:
    n_ticks, random = 30_000, np.random.default_rng(seed)
    b = np.arange(n_ticks) % 300 < 200
    a = np.zeros(n_ticks, dtype=np.bool_)
    starts = random.choice(np.arange(0, n_ticks - 300, 250), 75, replace=False)
    found = []
    for number, start in enumerate(starts.tolist()):
        a[start : start + 120] = True
        kind: LabelKind = "interruption" if number % 2 else "backchannel"
        found.append(Label("A", kind, start / 100, start / 100 + 1.2))
    return labelled_quantities(Dialogue(detect_turns(a, b), n_ticks, TurnSettings()), KeptLabels("", sorted(found), []))


def said(text: str, start_s: float) -> list[Word]:
    """Words of 0.3 s each."""
    words = text.split()
    return [(word, start_s + 0.3 * row, start_s + 0.3 * row + 0.28) for row, word in enumerate(words)]


INTERRUPTED = "A 2-4 | B 0-2.4 4.6-7"


@pytest.mark.parametrize(
    ("again", "what"),
    [
        ("Your flight leaves at nine.", "restarted"),
        ("leaves, at nine tomorrow", "resumed"),
        ("of course I can", "new_words"),
        ("flight leaves late", "new_words"),
    ],
)
def test_recovery_is_told_by_the_first_words(again: str, what: str) -> None:
    words = said("Your flight leaves at nine tomorrow from", 0.0) + said(again, 4.6)
    measures = measured(INTERRUPTED, "A int 2-4", words)
    assert values(measures, "b_recovery_latency_ms_per_labelled_interruption") == [pytest.approx(600)]
    told = {name: share(measures, f"b_{name}_per_recovery") for name in ("restarted", "resumed", "new_words")}
    assert told == {name: (int(name == what), 1) for name in told}


def test_without_words_only_the_time_is_told() -> None:
    unknown, silent = measured(INTERRUPTED, "A int 2-4", None), measured(INTERRUPTED, "A int 2-4", [])
    assert not [name for name in unknown if name.endswith("_per_recovery")]
    assert share(silent, "b_restarted_per_recovery") == (0, 0)
    assert counted(silent, "b_restarted_per_recovery") == {"too_few_words": 1}


def test_no_recovery_and_one_before_the_end_of_the_interruption() -> None:
    name = "b_recovery_latency_ms_per_labelled_interruption"
    early = measured("A 2-6 | B 0-2.4 5.85-9", "A int 2-6")
    over_it = measured("A 2-6 | B 0-2.4 5-9", "A int 2-6")
    never = measured("A 2-4 | B 0-2.4", "A int 2-4", tail_s=12.0)
    unknown = measured("A 2-4 | B 0-2.4", "A int 2-4", tail_s=5.0)
    held = measured("A 2-4 | B 0-9", "A int 2-4")
    assert values(early, name) == [pytest.approx(-150)]
    assert [counted(each, name) for each in (never, unknown, held, over_it)] == [
        {"no_response": 1}, {"censored": 1}, {"did_not_stop": 1}, {"did_not_stop": 1},
    ]  # fmt: skip


def test_labels_of_what_was_not_asked_measure_nothing() -> None:
    assert measured("A 0-2 3-5 | B 2.2-2.5", "B noise 1-2, B pause 2-3") == {}


def test_every_measure_and_exclusion_has_its_words() -> None:
    words = said("one two three four five six seven", 0.0) + said("eight nine ten", 4.6)
    every = "A int 2-4, A bc 5-5.2, A side 5.5-6, A noise 6-6.1, A pause 8-9, A end 10"
    measures = measured(INTERRUPTED, every, words)
    assert {*measures, "b_selectivity"} <= set(MEASURES)
    excluded = {reason for each in measures.values() if isinstance(each, Share | Values) for reason in each.excluded}
    assert excluded <= set(EXCLUSIONS)
    assert all(re.search(r"\w", MEASURES[name].meaning) for name in measures)
