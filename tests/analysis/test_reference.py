"""A run beside a reference: rates against counting by hand, and distances that know what chance does."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.drawn import activity
from helpers.made_runs import MadeCall, Manner, drawn_calls, made_run

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.groups import Unit, groups, rescored
from fdbcore.analysis.reference import ROWS, beside_reference, filled
from fdbcore.errors import InputError
from fdbcore.recording.files import TURNS
from fdbcore.runtime.executor import ThisProcess
from fdbcore.types import TurnSettings


def corpus_of(path: Path, manner: Manner, seed: int, calls: int = 16, settings: TurnSettings | None = None) -> Run:
    return Run(made_run(path, drawn_calls(calls, seed, lambda _: manner, system="s"), settings=settings))


def beside(run: Run, reference: Run) -> dict[str, Any]:
    of, _ = rescored(run, ThisProcess())
    assert run.settings is not None
    read: dict[str, Any] = json.loads(json.dumps(beside_reference([of], Unit(), run.settings, reference)))
    return read


def test_rates_are_counted_over_both_sides(tmp_path: Path) -> None:
    # a minute: A 2 IPUs of 7 s with a pause of 0.5 s, B 1 of 4 s after 0.5 s, and A 1 of 2 s over its last second
    track = activity("A 1-4 4.5-8.5 12-14 | B 9-13", tail_s=46.0)
    (call,) = Run(made_run(tmp_path / "run", [MadeCall("call", track)])).calls
    found = filled(call, TurnSettings())
    per_min = {name: (q.total, q.exposure) for name, q in found.panel.items()}  # type: ignore[union-attr]
    assert per_min == {
        "ipu_per_min": (4, 1.0),
        "ipu_s_per_min": (pytest.approx(13.0), 1.0),
        "pause_per_min": (1, 1.0),
        "pause_s_per_min": (pytest.approx(0.5), 1.0),
        "gap_per_min": (1, 1.0),
        "gap_s_per_min": (pytest.approx(0.5), 1.0),
        "overlap_per_min": (1, 1.0),
        "overlap_s_per_min": (pytest.approx(1.0), 1.0),
    }
    assert found.fto_ms == {"A": [-1000.0], "B": [500.0]}
    assert found.all_fto_ms == [-1000.0, 500.0]


def test_a_run_beside_itself_is_the_same(tmp_path: Path) -> None:
    run = corpus_of(tmp_path / "run", Manner(premature=0.3), 1)
    content = beside(run, run)
    (group,) = content["groups"]
    assert set(group["rows"]) == {f"{row}_{unit}" for row in ROWS for unit in ("per_min", "s_per_min")}
    for row in group["rows"].values():
        assert row["run"]["mean"] == row["reference"]["mean"]
        assert row["difference"]["value"] == 0.0
        assert row["difference"]["p_holm"] == pytest.approx(1.0, abs=0.1)
    assert content["detectors"] == {"run": "energy", "reference": "energy"}
    assert content["bins_ms"] == {"first": -2000, "last": 4000, "width": 200}


def test_a_slow_system_is_farther_from_people_than_they_are_from_each_other(tmp_path: Path) -> None:
    people = corpus_of(tmp_path / "people", Manner(latency_s=0.3), 1, calls=30)
    slow = beside(corpus_of(tmp_path / "slow", Manner(latency_s=1.5), 2), people)
    told, floor = slow["groups"][0]["floor_transfers"]["B"], slow["floor"]
    assert told["n"] == 16 * 8
    for name in ("jensen_shannon", "wasserstein_ms"):
        low, high = told[name]["ci95"]
        assert floor[name][0] < floor[name][1] < low < told[name]["value"] < high
    gaps = slow["groups"][0]["rows"]["gap_s_per_min"]
    assert gaps["run"]["mean"] > gaps["reference"]["mean"]
    assert gaps["difference"]["p_holm"] < 0.05


def test_both_are_read_with_the_settings_of_the_run(tmp_path: Path) -> None:
    manner = Manner(pause_s=0.3)
    run = corpus_of(tmp_path / "run", manner, 1, 4)
    same = beside(run, corpus_of(tmp_path / "same", manner, 2, 4))
    other = beside(run, corpus_of(tmp_path / "other", manner, 2, 4, TurnSettings(min_silence_ms=500)))
    assert same["groups"] == other["groups"]


def test_each_group_stands_beside_the_reference(tmp_path: Path) -> None:
    calls = [
        MadeCall(call.name, call.activity, {"system": name})
        for seed, (name, latency_s) in enumerate((("fast", 0.4), ("slow", 1.4)))
        for call in drawn_calls(8, seed, lambda _, s=latency_s: Manner(s), prefix=name)  # type: ignore[misc]
    ]
    run = Run(made_run(tmp_path / "run", calls))
    of, _ = rescored(run, ThisProcess())
    assert run.settings is not None
    people = corpus_of(tmp_path / "people", Manner(0.4), 9)
    content = beside_reference(groups(of, "system"), Unit(), run.settings, people)
    fast, slow = (group["floor_transfers"]["B"]["wasserstein_ms"] for group in content["groups"])
    assert fast is not None
    assert slow is not None
    assert [group["name"] for group in content["groups"]] == ["fast", "slow"]
    assert fast["value"] < slow["value"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    run, people = (corpus_of(tmp_path / name, Manner(), k, 5) for k, name in enumerate(("run", "people")))
    (people.calls[3].path / TURNS).unlink()
    content = beside(run, people)
    assert (content["calls"], list(content["unread"])) == (4, ["call0003"])
    for call in people.calls:
        (call.path / TURNS).unlink(missing_ok=True)
    with pytest.raises(InputError, match=r"--reference .*people: expected calls that are scored, got none"):
        beside(run, people)
