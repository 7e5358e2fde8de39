"""Other waits of a system, against calls whose pauses are planned, and against a naive product-limit estimate."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.product_limit import share_left

from benchmarks.planned_waits import PlannedTurn, activity, planned_call
from fdbcore.analysis.corpus import Call
from fdbcore.analysis.shifted_waits import WaitsForB
from fdbcore.analysis.tuning import TunedCall, TunedGroup, knee_ms, tuned
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.waits import CallWaits, WaitForB, waits_in
from fdbcore.session.turns import detect_turns
from fdbcore.types import TurnSettings

SETTINGS = TurnSettings()
NEVER = math.inf


def planned(calls: int, cost_spread: float = 0.3, seed: int = 1) -> list[list[PlannedTurn]]:
    random = np.random.default_rng(seed)
    return [planned_call(random, cost_spread) for _ in range(calls)]


def held(plans: list[list[PlannedTurn]], wait: int, keeps: int = 0) -> list[TunedCall]:
    random, found = np.random.default_rng(2), []
    for turns in plans:
        a, b = activity(turns, wait, random, keeps)
        waits = waits_in(Dialogue(detect_turns(a, b, SETTINGS), len(a), SETTINGS, line="held"))
        found.append(TunedCall(waits, [], None, SETTINGS))
    return found


def tuned_of(read: list[TunedCall], **asked: Any) -> TunedGroup:
    return tuned("", [Call(f"call{k}", Path()) for k in range(len(read))], read, **asked)


def shares(found: TunedGroup) -> dict[int, float]:
    return {each["wait_ms"]: each["premature"]["value"] for each in found["settings"] if each["premature"]}


def test_of_a_steady_system_each_cut_in_is_known() -> None:
    """If all answers cost the same, a run with a long wait knows each turn that a shorter one would cut in on."""
    plans = planned(60, cost_spread=0.0)
    turns = [turn for plan in plans for turn in plan]
    found = shares(tuned_of(held(plans, 150), present_ms=1500, waits_ms=[300, 600, 900, 1200]))
    assert found == pytest.approx({ms: np.mean([turn.is_cut_in(ms // 10) for turn in turns]) for ms in found})
    assert len(found) == 5


def test_a_longer_wait_spares_those_who_went_on() -> None:
    plans = planned(60, cost_spread=0.0)
    turns = [turn for plan in plans for turn in plan]
    found = tuned_of(held(plans, 60), present_ms=600, waits_ms=[900, 1500, 1700])
    longest = found["longest_pause_ms"] // 10
    assert longest == 60 + 25 + 100
    ends = len(turns) + sum(pause > longest for turn in turns for pause in turn.pauses)  # as they are taken for such
    assert found["turns"] == ends
    expected = {ms: sum(turn.is_cut_in(ms // 10, longest) for turn in turns) / ends for ms in (600, 900, 1500)}
    assert shares(found) == pytest.approx(expected)
    basis = {each["wait_ms"]: each["rests_on"] for each in found["settings"]}
    assert basis == {600: "any call", 900: "A went on", 1500: "A went on", 1700: "cannot tell"}


def test_a_system_that_keeps_its_answers_is_found_out() -> None:
    plans = planned(80)
    assert tuned_of(held(plans, 90))["ear"]["keeps_ms"] == 0
    kept = tuned_of(held(plans, 90, keeps=99), present_ms=900, waits_ms=[600])
    assert 100 < kept["ear"]["keeps_ms"] < 350
    turns = [turn for plan in plans for turn in plan]
    truth = np.mean([any(pause > 60 for pause in turn.pauses) for turn in turns])
    assert shares(kept)[600] == pytest.approx(truth, abs=0.02)


def test_what_a_silence_hides_comes_from_the_other_silences() -> None:
    """Pauses of 0.5 s without B, and answers after 0.6, 0.7 and 0.9 s: with 0.15 s less, one of three was in time."""
    rows = [WaitForB(k, 0, NEVER, 300, started) for k, started in enumerate((60.0, 70.0, 90.0))]
    rows.append(WaitForB(3, 0, 50, 50, NEVER))
    waits = WaitsForB.of([CallWaits([*rows, WaitForB(3, 90, NEVER, 300, 70)], 4, 0)], 300)
    left = [share_left([60, 70, 90, 70, 50], [True, True, True, True, False], at) for at in (49.5, 64.5)]
    assert waits.cut_in(-15).tolist() == pytest.approx([0, 0, 0, 1 - left[1] / left[0], 0])
    assert waits.cut_in(-9).tolist() == [0] * 5
    assert waits.premature(-15)[3] == pytest.approx(0.25)


def test_longer_waits_say_what_short_ones_hide() -> None:
    """Half of the calls were held with 300 ms, which shows no pause of 2 s; the other half knows of them."""
    short, long = planned(150, seed=3), planned(150, seed=4)
    read = [*held(short, 30), *held(long, 140)]
    found = WaitsForB.of([each.waits for each in read], 300)
    seen = found.longest_pause_ticks
    truth = np.mean([turn.is_cut_in(30, seen) for plan in short for turn in plan])
    own = WaitsForB.of([each.waits for each in held(short, 30)], 300)
    assert own.longest_pause_ticks < 160 < seen
    of_short = found.by_call(found.premature(0))[:150].sum() / found.turns[:150].sum()
    assert of_short == pytest.approx(truth, abs=0.02)


def test_latency_moves_by_the_step_and_p_values_are_one_family() -> None:
    found = tuned_of(held(planned(40), 90), present_ms=900, waits_ms=[500, 600, 700])
    latencies = [each["latency_ms"] for each in found["settings"] if each["latency_ms"]]
    assert [b["median"] - a["median"] for a, b in pairwise(latencies)] == [100, 100, 200]  # type: ignore[operator]
    alone = tuned_of(held(planned(40), 90), present_ms=900, waits_ms=[700])["settings"][0]["p_holm"]
    together = {each["wait_ms"]: each["p_holm"] for each in found["settings"]}
    assert alone is not None
    assert together[700] is not None
    assert together[900] is None
    assert together[700] >= alone


def test_what_the_ear_does_not_explain_widens_intervals_or_ends_them() -> None:
    read = held(planned(40), 90)

    def with_misses(share: float) -> TunedGroup:
        amiss = []
        for each in read:
            waits = [wait._replace(started=NEVER) if k < share * len(each.waits.waits) else wait
                     for k, wait in enumerate(each.waits.waits)]  # fmt: skip
            amiss.append(each._replace(waits=each.waits._replace(waits=waits)))
        return tuned_of(amiss, present_ms=900, waits_ms=[500])

    clean, noisy, deaf = (with_misses(share) for share in (0.0, 0.1, 0.5))
    widths = []
    for found in (clean, noisy):
        premature = found["settings"][0]["premature"]
        assert premature
        assert premature["ci95"]
        widths.append(premature["ci95"][1] - premature["ci95"][0])
    assert widths[1] > widths[0]
    assert deaf["settings"][0]["rests_on"] == "cannot tell"
    assert "its ear differs too much" in deaf["settings"][0]["reason"]


def test_a_late_start_after_a_sound_may_be_that_of_its_ear() -> None:
    """The latest third of the answers came after a sound: nothing tells whether that or their cost made them late."""
    read = held(planned(40), 90)
    late = np.quantile([wait.started for each in read for wait in each.waits.waits if wait.started < NEVER], 0.67)
    sounding = [
        each._replace(
            waits=each.waits._replace(waits=[w._replace(has_sound=late < w.started < NEVER) for w in each.waits.waits])
        )
        for each in read
    ]
    ears = [tuned_of(each, present_ms=900)["ear"]["unexplained"] for each in (read, sounding)]
    assert ears == [pytest.approx(0, abs=0.01), pytest.approx(0.33, abs=0.02)]


def test_a_log_gives_the_wait_and_settings_go_before_it() -> None:
    read = [each._replace(decided_ms=[930.0]) for each in held(planned(12), 90)]
    found = tuned_of(read)
    assert (found["present_ms"], found["present_from"], found["ear"]["fitted_by"]) == (930, "log", "log")
    found = tuned_of([each._replace(setting_ms=900) for each in read])
    assert (found["present_ms"], found["present_from"]) == (900, "settings")
    assert tuned_of(held(planned(12), 90))["present_from"] == "behaviour"


def test_where_nothing_is_known_nothing_is_said() -> None:
    silent = [each._replace(waits=each.waits._replace(waits=[w._replace(started=NEVER) for w in each.waits.waits]))
              for each in held(planned(12), 90)]  # fmt: skip
    found = tuned_of(silent)
    assert (found["present_ms"], found["settings"], found["knee_ms"]) == (None, [], None)
    short = tuned_of(held(planned(12), 60), present_ms=600, waits_ms=[10])["settings"][0]
    assert short["reason"] == "silences of less than 200 ms are not heard here"


def test_the_knee_is_farthest_below_the_ends() -> None:
    def setting(wait_ms: int, share: float) -> Any:
        return {"wait_ms": wait_ms, "premature": {"value": share, "ci95": None}}

    assert knee_ms([setting(*each) for each in ((200, 0.4), (400, 0.1), (800, 0.05), (1200, 0.0))]) == 400
    assert knee_ms([setting(200, 0.4), setting(400, 0.1)]) is None
