import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, cast

import numpy as np
import pytest
from helpers.patience import PATIENCE_S
from hypothesis import given
from hypothesis import strategies as st

from fdbcore._ext.pacer import MAX_LATE_TICKS, ClockWatch, LatenessHistogram, Pacer
from fdbcore.errors import InputError, SettingsError
from fdbcore.types.timing import Priority, TickLateness

PERIOD_NS = 10_000_000
NS_PER_S = 1_000_000_000
INT64 = st.integers(-(2**63), 2**63 - 1)
LATENESS_NS = st.integers(-(10**10), 10**10) | st.integers(-200, 200) | INT64
LINUX = sys.platform == "linux"


def histogram_of(samples: list[int]) -> LatenessHistogram:
    histogram = LatenessHistogram()
    for sample in samples:
        histogram.record(sample)
    return histogram


def run_python(script: str) -> dict[str, Any]:
    """The JSON that `script` prints in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


class TestHistogram:
    @given(st.lists(LATENESS_NS, min_size=1, max_size=300), st.sampled_from([0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0]))
    def test_quantiles_are_those_of_numpy_within_the_resolution(self, samples: list[int], q: float) -> None:
        expected = int(np.quantile(np.array(samples, dtype=np.int64), q, method="inverted_cdf"))
        found = histogram_of(samples).quantile(q)
        assert found is not None
        assert abs(found - expected) <= abs(expected) / 64

    @given(st.lists(LATENESS_NS, min_size=1, max_size=50))
    def test_count_and_extremes_are_exact(self, samples: list[int]) -> None:
        summary = histogram_of(samples).summary()
        assert summary["n"] == len(samples)
        assert summary["min_us"] == min(samples) / 1000
        assert summary["max_us"] == max(samples) / 1000

    @given(st.lists(LATENESS_NS, min_size=1, max_size=50), st.lists(st.floats(0, 1), min_size=2, max_size=10))
    def test_quantiles_never_fall_as_the_share_grows(self, samples: list[int], shares: list[float]) -> None:
        histogram = histogram_of(samples)
        quantiles = [histogram.quantile(q) for q in sorted(shares)]
        assert all(low is not None and high is not None and low <= high for low, high in itertools.pairwise(quantiles))

    def test_early_is_negative(self) -> None:
        summary = histogram_of([-57_000] * 99 + [3_000]).summary()
        assert summary["p50_us"] == pytest.approx(-57, rel=0.016)
        assert summary["max_us"] == 3

    def test_nothing_recorded_is_not_zero(self) -> None:
        histogram = LatenessHistogram()
        assert histogram.quantile(0.5) is None
        assert histogram.summary() == {
            "n": 0,
            "min_us": None,
            "p50_us": None,
            "p99_us": None,
            "p99_9_us": None,
            "max_us": None,
        }

    @pytest.mark.parametrize("q", [-0.01, 1.01, float("nan")])
    def test_share_out_of_range(self, q: float) -> None:
        with pytest.raises(SettingsError, match="q: expected 0 to 1"):
            histogram_of([1]).quantile(q)

    @pytest.mark.parametrize("lateness_ns", [2**63, -(2**63) - 1, 1.5, None])
    def test_what_is_no_lateness(self, lateness_ns: object) -> None:
        with pytest.raises(InputError, match="lateness_ns: expected a whole number"):
            LatenessHistogram().record(cast(int, lateness_ns))


class TestClockWatch:
    MONOTONIC_NS, SUSPEND_CLOCK_NS, WALL_CLOCK_NS = 5_000 * NS_PER_S, 9_000 * NS_PER_S, 1_700_000_000 * NS_PER_S

    def observe(self, watch: ClockWatch, tick: int, suspended_ns: int = 0, stepped_ns: int = 0) -> None:
        """A reading at `tick` after the machine was suspended and its wall clock set by so much in all."""
        ran_ns = tick * PERIOD_NS
        watch.observe(
            tick,
            self.MONOTONIC_NS + ran_ns,
            self.SUSPEND_CLOCK_NS + ran_ns + suspended_ns,
            self.WALL_CLOCK_NS + ran_ns + suspended_ns + stepped_ns,
        )

    def test_steady_clocks(self) -> None:
        watch = ClockWatch()
        for tick in range(0, 1000, 100):
            self.observe(watch, tick)
        assert (watch.suspends, watch.clock_steps) == ([], [])

    def test_a_suspend_is_seen_once_and_is_no_step_of_the_wall_clock(self) -> None:
        watch = ClockWatch()
        for tick in range(0, 1000, 100):
            self.observe(watch, tick, suspended_ns=42 * NS_PER_S if tick >= 300 else 0)
        assert watch.suspends == [{"tick": 300, "ms": 42_000.0}]
        assert watch.clock_steps == []

    def test_steps_of_the_wall_clock_in_both_directions(self) -> None:
        watch = ClockWatch()
        for tick, stepped_ns in ((0, 0), (100, -20_000_000), (200, -20_000_000), (300, 3_600 * NS_PER_S)):
            self.observe(watch, tick, stepped_ns=stepped_ns)
        assert watch.suspends == []
        assert watch.clock_steps == [{"tick": 100, "ms": -20.0}, {"tick": 300, "ms": 3_600_020.0}]

    def test_small_jumps_add_up_until_they_are_noticed(self) -> None:
        watch = ClockWatch()
        for reading in range(5):
            self.observe(watch, reading * 100, stepped_ns=reading * 2_000_000)
        assert watch.clock_steps == [{"tick": 300, "ms": 6.0}]


class TestDeadlines:
    @given(st.integers(1_000, 3_600 * NS_PER_S), st.integers(0, 2**63 - 1))
    def test_are_exact_to_the_end_of_64_bit_time(self, period_ns: int, tick: int) -> None:
        pacer = Pacer(period_ns, spin_ns=0)
        pacer.wait(0)
        assert pacer.origin_ns is not None
        deadline_ns = pacer.origin_ns + tick * period_ns
        if deadline_ns < 2**63:
            assert pacer.deadline_ns(tick) == deadline_ns
        else:
            with pytest.raises(InputError, match="tick: expected 0 to"):
                pacer.deadline_ns(tick)

    def test_tick_0_is_the_first_wait_on_the_clock_of_python(self) -> None:
        pacer = Pacer()
        assert pacer.origin_ns is None
        before_ns = time.monotonic_ns()
        pacer.wait(0)
        assert pacer.origin_ns is not None
        assert before_ns <= pacer.origin_ns <= time.monotonic_ns()

    def test_do_not_move_when_ticks_were_late(self) -> None:
        pacer = Pacer(1_000_000)
        pacer.wait(0)
        deadline_ns = pacer.deadline_ns(1_000_000)
        time.sleep(0.005)
        for tick in range(1, 10):
            pacer.wait(tick)
        assert pacer.deadline_ns(1_000_000) == deadline_ns

    def test_need_a_first_wait(self) -> None:
        with pytest.raises(InputError, match="expected a first wait"):
            Pacer().deadline_ns(0)

    def test_a_refused_first_tick_does_not_start_the_clock(self) -> None:
        pacer = Pacer()
        with pytest.raises(InputError, match="tick: expected 0 to"):
            pacer.wait(2**62)
        assert pacer.origin_ns is None


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"period_ns": 999}, "period_ns: expected 1000 to 3600000000000, got 999"),
            ({"period_ns": 3_600_000_000_001}, "period_ns: expected 1000 to"),
            ({"spin_ns": -1}, "spin_ns: expected 0 to 10000000, got -1"),
            ({"spin_ns": 10_000_001}, "spin_ns: expected 0 to 10000000, got 10000001"),
            ({"period_ns": 20_000, "spin_ns": 20_001}, "spin_ns: expected 0 to 20000, got 20001"),
        ],
    )
    def test_out_of_range(self, settings: dict[str, int], message: str) -> None:
        with pytest.raises(SettingsError, match=message):
            Pacer(**settings)

    def test_not_whole(self) -> None:
        with pytest.raises(InputError, match=r"period_ns: expected a whole number of at most 64 bits, got 10000000\.0"):
            Pacer(cast(int, 1e7))

    def test_defaults_are_the_media_clock(self) -> None:
        assert (Pacer().period_ns, Pacer().spin_ns) == (PERIOD_NS, 300_000)


class TestWait:
    @pytest.mark.parametrize("spin_ns", [0, 300_000, 1_000_000])
    def test_never_returns_before_the_deadline(self, spin_ns: int) -> None:
        pacer = Pacer(1_000_000, spin_ns)
        for tick in range(0, 60, 3):
            pacer.wait(tick)
            assert time.monotonic_ns() >= pacer.deadline_ns(tick)
        lateness = pacer.lateness()
        assert lateness["wake"]["n"] == lateness["resume"]["n"] == 20
        wake, resume = lateness["wake"], lateness["resume"]
        assert None not in (wake["min_us"], resume["min_us"], wake["max_us"], resume["max_us"])
        assert 0 <= (wake["min_us"] or 0) <= (resume["min_us"] or 0)
        assert (wake["max_us"] or 0) <= (resume["max_us"] or 0)

    @pytest.mark.parametrize("again", [0, 6, 7])
    def test_ticks_do_not_come_again(self, again: int) -> None:
        pacer = Pacer(1_000, spin_ns=0)
        pacer.wait(0)
        pacer.wait(7)
        with pytest.raises(InputError, match=f"tick: expected at least 8, the next one, got {again}"):
            pacer.wait(again)
        assert pacer.lateness()["wake"]["n"] == 2
        pacer.wait(8)

    @pytest.mark.parametrize("tick", [-1, 1.5, "1", 2**64])
    def test_what_is_no_tick(self, tick: object) -> None:
        with pytest.raises(InputError, match="tick: expected"):
            Pacer().wait(cast(int, tick))

    def test_other_threads_run_meanwhile(self) -> None:
        go, ran = threading.Event(), threading.Event()

        def answer() -> None:
            go.wait()
            ran.set()

        thread = threading.Thread(target=answer)
        thread.start()
        pacer = Pacer()
        switch_interval_s = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # so the other thread runs only when this one gives the GIL up
        try:
            go.set()
            tick = next(tick for tick in range(1000) if pacer.wait(tick) >= 0 and ran.is_set())
        finally:
            sys.setswitchinterval(switch_interval_s)
            thread.join()
        assert tick > 0  # tick 0 is now: there is nothing to wait for

    def test_signals_do_not_cut_it_short(self) -> None:
        seen: list[int] = []

        def handle(number: int, frame: FrameType | None) -> None:
            seen.append(number)

        before = signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        try:
            pacer = Pacer(50_000_000)
            pacer.wait(0)
            pacer.wait(1)
            returned_ns = time.monotonic_ns()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert returned_ns >= pacer.deadline_ns(1)
        assert seen

    def test_ctrl_c_gets_through_and_leaves_the_tick_uncounted(self) -> None:
        script = """
import signal
from fdbcore._ext.pacer import Pacer
signal.signal(signal.SIGINT, signal.default_int_handler)
pacer = Pacer()
pacer.wait(0)
try:
    print("waiting", flush=True)
    pacer.wait(1_000_000)
except KeyboardInterrupt:
    print("interrupted", pacer.lateness()["wake"]["n"], pacer.wait(1), flush=True)
"""
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            time.sleep(0.2)  # most likely it sleeps by now; right also if it does not
            process.send_signal(signal.SIGINT)
            try:
                words = process.communicate(timeout=PATIENCE_S)[0].split()
            finally:
                process.kill()
        assert words[:2] == ["interrupted", "1"]


class TestLateAndMissed:
    def overdue_after(self, stall_s: float) -> tuple[list[int], TickLateness]:
        """How many ticks overdue each tick was, after a stall, until one was in time again; and the pacer's counts."""
        pacer = Pacer()
        pacer.wait(0)
        time.sleep(stall_s)
        overdue: list[int] = []
        while len(overdue) < 1000 and 0 not in overdue:
            overdue.append(pacer.wait(len(overdue) + 1))
        return overdue, pacer.lateness()

    def test_each_tick_counts_by_how_far_it_is_overdue(self) -> None:
        overdue, lateness = self.overdue_after(0.125)
        assert overdue[0] >= 11  # tick 1 was due at 10 ms
        assert lateness["late"] == sum(1 <= ticks <= MAX_LATE_TICKS for ticks in overdue)
        assert lateness["missed"] == sum(ticks > MAX_LATE_TICKS for ticks in overdue) >= 6
        assert lateness["wake"]["n"] == len(overdue) + 1
        assert (lateness["wake"]["max_us"] or 0) >= 115_000

    def test_overdue_ticks_catch_up(self) -> None:
        overdue, _ = self.overdue_after(0.1)
        assert overdue[-1] == 0  # waited for one period each, they would stay overdue for ever

    def test_a_tick_within_its_own_period_is_in_time(self) -> None:
        pacer = Pacer(3_600 * NS_PER_S)
        pacer.wait(0)
        assert (pacer.lateness()["late"], pacer.lateness()["missed"]) == (0, 0)

    def test_ticks_left_out_are_neither_late_nor_missed(self) -> None:
        pacer = Pacer(1_000_000)
        pacer.wait(0)
        time.sleep(0.02)
        pacer.wait(200)
        lateness = pacer.lateness()
        assert lateness["wake"]["n"] == 2
        assert lateness["late"] + lateness["missed"] <= 1

    def test_the_report_is_plain_json(self) -> None:
        pacer = Pacer(1_000_000)
        for tick in range(150):
            pacer.wait(tick)
        lateness = pacer.lateness()
        assert json.loads(json.dumps(lateness)) == lateness
        assert set(lateness) == {"wake", "resume", "late", "missed", "suspends", "clock_steps"}


def assert_well_formed(grants: Priority) -> None:
    assert set(grants) == {"fifo", "timer_slack"}
    assert set(grants["fifo"]) == {"granted", "priority", "why_not"}
    assert set(grants["timer_slack"]) == {"granted", "ns", "why_not"}
    for grant in (grants["fifo"], grants["timer_slack"]):
        assert grant["granted"] is (grant["why_not"] is None)


DROP = "os.getuid() or (os.setgroups([]), os.setuid(65534))"
IN_CHILD = """
import json, os
from fdbcore._ext.pacer import Pacer
def scheduling():
    return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK, int(open("/proc/self/timerslack_ns").read())
{before}
before = scheduling()
with Pacer().raised_priority() as grants:
    inside = scheduling()
    {inside}
print(json.dumps(dict(grants=grants, before=before, inside=inside, after=scheduling())))
"""


class TestPriority:
    def test_the_report_matches_the_system_and_all_is_undone(self) -> None:
        pacer = Pacer()
        assert pacer.priority is None
        before = scheduling()
        with pacer.raised_priority() as grants:
            assert_well_formed(grants)
            inside = scheduling()
            assert pacer.priority == grants
        assert scheduling() == before
        if LINUX:
            assert (inside["policy"] == os.SCHED_FIFO | os.SCHED_RESET_ON_FORK) is grants["fifo"]["granted"]
            assert inside["priority"] == (grants["fifo"]["priority"] or 0)
            assert grants["timer_slack"] == {"granted": True, "ns": inside["slack_ns"], "why_not": None}

    def test_it_is_undone_after_an_error(self) -> None:
        before = scheduling()
        with pytest.raises(KeyError), Pacer().raised_priority():
            raise KeyError
        assert scheduling() == before

    @pytest.mark.skipif(not LINUX, reason="the policy of a thread is read as Linux has it")
    def test_threads_started_inside_are_ordinary_ones(self) -> None:
        with Pacer().raised_priority():
            assert in_thread(lambda: os.sched_getscheduler(0)) == os.SCHED_OTHER

    @pytest.mark.skipif(not LINUX, reason="privileges are dropped as Linux has it")
    def test_a_refusal_says_why(self) -> None:
        report = run_python(IN_CHILD.format(before=DROP, inside=""))
        assert_well_formed(report["grants"])
        assert report["before"] == report["after"]
        fifo = report["grants"]["fifo"]
        assert fifo["granted"] is (report["inside"][0] == os.SCHED_FIFO)
        assert fifo["granted"] or "CAP_SYS_NICE" in fifo["why_not"]
        assert report["grants"]["timer_slack"] == {"granted": True, "ns": report["inside"][1], "why_not": None}

    @pytest.mark.skipif(not LINUX, reason="privileges are dropped as Linux has it")
    def test_it_is_undone_without_the_privilege(self) -> None:
        report = run_python(IN_CHILD.format(before="", inside=DROP))
        assert report["grants"]["fifo"]["granted"] is (report["inside"][0] == os.SCHED_FIFO)
        assert report["after"] == report["before"]


def scheduling() -> dict[str, int]:
    """What the system says about this thread, read by other ways than the pacer's."""
    if not LINUX:
        return {}
    with open(f"/proc/{threading.get_native_id()}/timerslack_ns") as slack_ns:
        return {
            "policy": os.sched_getscheduler(0),
            "priority": os.sched_getparam(0).sched_priority,
            "slack_ns": int(slack_ns.read()),
        }


def in_thread(work: Callable[[], int]) -> int:
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]
