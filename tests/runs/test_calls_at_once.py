"""The search for how many live calls a machine holds, and what takes its result."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import command
from msgspec.structs import replace

import fdbcore
from fdbcore.cli.status import Status, Teller
from fdbcore.endpoints.webrtc.mirror import murmur
from fdbcore.errors import SettingsError
from fdbcore.registry import endpoint
from fdbcore.runs import calls_at_once as measured
from fdbcore.runs.calls_at_once import (
    calls_at_once,
    hold_at_once,
    keep,
    keeps_time,
    known_calls_at_once,
    measured_calls_at_once,
    needed_calls_at_once,
)
from fdbcore.runtime.executor import Workers
from fdbcore.types import TICKS_PER_S
from fdbcore.types.timing import CallsAtOnce, HeldAtOnce

CLIP = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"


def held_by_a_machine_for(most: int, calls: int) -> HeldAtOnce:
    missed = 0 if calls <= most else 10 * calls
    return HeldAtOnce(calls, 1_000 * calls, missed, missed, 1.0)


def of_a_machine_that_holds(most: int) -> CallsAtOnce:
    """What is found on a machine that keeps time with so many calls, and misses one tick in a hundred with more."""
    return calls_at_once(hold=partial(held_by_a_machine_for, most))


@pytest.mark.parametrize("most", [1, 2, 3, 7, 8, 16, 19, 40, 200])
def test_the_search_comes_near_to_what_the_machine_holds(most: int) -> None:
    found = of_a_machine_that_holds(most)
    assert found.most <= most
    assert found.most >= most - max(1, most / 16)
    assert 0.8 * found.most - 1 <= found.calls <= max(1, 0.85 * found.most)
    assert len(found.probes) <= 14


def test_a_machine_that_holds_none_is_told_to_hold_one_and_that_none_went_well() -> None:
    found = of_a_machine_that_holds(0)
    assert (found.calls, found.most) == (1, 0)


def test_few_late_ticks_are_borne_and_many_are_not() -> None:
    held = HeldAtOnce(4, 4_000, late=40, missed=4, wire_p99_ms=5.0)
    assert keeps_time(held)
    assert not keeps_time(replace(held, late=41))
    assert not keeps_time(replace(held, missed=5))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fdbcore" / "calls_at_once.json"


@pytest.mark.parametrize("quiet", [False, True])
def test_a_log_has_each_probe_as_soon_as_it_is_over(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], quiet: bool
) -> None:
    logged: list[str] = []

    def hold(calls: int) -> HeldAtOnce:
        logged.append(capfd.readouterr().err)
        return held_by_a_machine_for(5, calls)

    monkeypatch.setattr(measured, "hold_at_once", hold)
    with Status() as status:
        found = measured_calls_at_once(Teller("fdbcore", status, quiet))
    logged = [*logged[1:], capfd.readouterr().err]
    told = [f"fdbcore: {held.calls} calls: {held.missed} of " for held in found.probes]
    assert [line.startswith(each) for line, each in zip(logged, told, strict=True)] == [not quiet] * len(told)


def dry_run(tmp_path: Path, *options: str) -> tuple[int, str]:
    arguments = ["run", "--system", "echo", "--clips", str(CLIP), "--max-s", "10", "--trials", "12", "--dry-run"]
    options = ("--json", "--out", str(tmp_path / "RUN"), *options)
    done = command(*arguments, *options)
    return done.exit_code, done.stdout or done.stderr


def test_jobs_auto_takes_what_was_measured_on_this_machine_alone(tmp_path: Path, own_cache: Path) -> None:
    assert known_calls_at_once() is None
    code, told = dry_run(tmp_path, "--jobs", "auto")
    assert code == 2
    assert "--jobs auto: expected this machine to be measured: fdbcore doctor --calls" in told
    found = of_a_machine_that_holds(8)
    keep(found)
    assert known_calls_at_once() == found.calls == 6
    _, automatic = dry_run(tmp_path, "--jobs", "auto")
    assert json.loads(automatic) == json.loads(dry_run(tmp_path, "--jobs", "6")[1])
    assert json.loads(automatic) != json.loads(dry_run(tmp_path, "--jobs", "1")[1])
    elsewhere = json.loads(own_cache.read_text())
    elsewhere["machine"]["processors"] += 1
    own_cache.write_text(json.dumps(elsewhere))
    assert known_calls_at_once() is None
    own_cache.write_text("{")
    assert known_calls_at_once() is None


def test_in_lockstep_jobs_auto_is_one_for_each_processor(tmp_path: Path, own_cache: Path) -> None:
    _, automatic = dry_run(tmp_path, "--jobs", "auto", "--clock", "virtual")
    _, counted = dry_run(tmp_path, "--jobs", str(Workers().jobs), "--clock", "virtual")
    assert json.loads(automatic) == json.loads(counted)


@pytest.mark.parametrize("jobs", ["0", "-1", "many", "1.5", ""])
def test_jobs_that_are_no_number_are_refused_in_one_line(tmp_path: Path, jobs: str) -> None:
    code, told = dry_run(tmp_path, "--jobs", jobs)
    assert code == 2
    assert "expected a whole number of at least 1, or auto, got " in told


def test_a_mirror_has_no_settings_and_murmurs() -> None:
    assert endpoint("mirror").describe()["kind"] == "mirror"
    with pytest.raises(SettingsError, match="mirror: expected no settings, got 'mirror:loud'"):
        endpoint("mirror:loud")
    assert 1_000 < abs(murmur().astype(int)).mean() < 6_000


@pytest.mark.live
def test_calls_are_held_at_once() -> None:
    held = hold_at_once(2, seconds=1.0)
    assert held.calls == 2
    assert held.ticks == 2 * TICKS_PER_S
    assert held.wire_p99_ms > 0


@pytest.mark.parametrize("jobs", ["many", "2", None, 0, -3, 1.5, True])
def test_the_library_refuses_other_jobs_before_it_writes_anything(tmp_path: Path, jobs: Any) -> None:
    with pytest.raises(SettingsError, match="jobs: expected a whole number of at least 1, or auto, got"):
        fdbcore.run("echo", clips=[CLIP], clock="virtual", max_s=9, jobs=jobs, out=tmp_path / "RUN")
    assert not (tmp_path / "RUN").exists()


def test_the_library_takes_auto_too(tmp_path: Path, own_cache: Path) -> None:
    keep(of_a_machine_that_holds(8))
    assert needed_calls_at_once(realtime=True) == 6
    assert needed_calls_at_once(realtime=False) == Workers().jobs
    held = fdbcore.run("echo", clips=[CLIP], clock="virtual", max_s=9, jobs="auto", vad="energy", out=tmp_path / "RUN")
    assert [call.status for call in held.calls] == ["done"]
