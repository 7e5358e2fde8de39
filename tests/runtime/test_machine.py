"""When missed ticks make a call invalid, and what is said to have stood still."""

import re
import time
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from fakes.parties import Caller

from fdbcore.protocols import Clocking
from fdbcore.recording.reader import Recording
from fdbcore.runtime.machine import Processors, cause_of_missed_ticks
from fdbcore.session.converse import MAX_MISSED_TICKS, LiveSettings, converse
from fdbcore.types import Pcm

SPEAKS = [tick % 50 >= 20 for tick in range(200)]


class Staller(Caller):
    """Holds the ticks up once, for so long."""

    clocking: Clocking = "realtime"

    def __init__(self, stall_s: float) -> None:
        super().__init__(SPEAKS)
        self.stall_s = stall_s

    def hear(self, tick: int, frame: Pcm) -> None:
        super().hear(tick, frame)
        if tick == 100:
            time.sleep(self.stall_s)


def held(path: Path, stall_s: float) -> Recording:
    settings = LiveSettings(vad="energy", spin_ns=0)
    return converse(Caller(SPEAKS), Staller(stall_s), path, settings, {}, Event())


@pytest.mark.live
def test_a_few_missed_ticks_of_a_short_call_are_borne(tmp_path: Path) -> None:
    for number in range(10):  # another stall of the machine may come on top
        recording = held(tmp_path / str(number), 0.065 + 0.01 * (number % 3))
        missed = sum(event["kind"] == "missed" for event in recording.events)
        assert recording.meta["outcome"]["kind"] == ("invalid" if missed > MAX_MISSED_TICKS else "done")
        if 0 < missed <= MAX_MISSED_TICKS:
            return
    pytest.skip("the machine stood still in each of ten calls")


@pytest.mark.live
def test_many_missed_ticks_are_invalid_and_say_what_is_known(tmp_path: Path) -> None:
    recording = held(tmp_path, 0.5)
    reason, timing = str(recording.meta["outcome"]["reason"]), recording.meta["timing"]
    assert recording.meta["outcome"]["kind"] == "invalid"
    assert re.match(r"\d+ of 200 ticks missed; ", reason)
    found = timing["processors"]
    assert reason.partition("; ")[2] == cause_of_missed_ticks(found, timing["suspends"])
    if Path("/proc/thread-self/schedstat").exists():
        assert found["steal_share"] is not None
        assert found["waited_ms"] is not None
        assert 0 <= found["steal_share"] <= 1
        assert found["waited_ms"] >= 0


@pytest.mark.parametrize(
    ("steal_share", "waited_ms", "suspends", "told"),
    [
        (0.38, 4.0, [], "the host took 38 % of the processors' time (steal)"),
        (0.0, 1930.0, [], "it waited 1.93 s for a processor that other threads used"),
        (0.05, 80.0, [], "the host took 5 % of the processors' time (steal); it waited 0.08 s for a processor that"),
        (0.0, 3.0, [{"tick": 5, "ms": 2500.0}], "the machine was suspended for 2.5 s"),
        (0.01, 30.0, [], "the kernel reports no cause: this process, or something it waits for, was too slow"),
        (None, None, [], "this system does not report the cause"),
    ],
)
def test_cause_of_missed_ticks(steal_share: float | None, waited_ms: float | None, suspends: Any, told: str) -> None:
    assert cause_of_missed_ticks({"steal_share": steal_share, "waited_ms": waited_ms}, suspends).startswith(told)


def test_shares_are_of_the_time_between() -> None:
    before, after = Processors(1000, 100, 5_000_000), Processors(3000, 600, 55_000_000)
    assert after.since(before) == {"steal_share": 0.25, "waited_ms": 50.0}
    assert Processors(None, None, None).since(before) == {"steal_share": None, "waited_ms": None}
    assert before.since(before)["steal_share"] is None


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="needs Linux")
def test_the_wait_of_a_thread_grows_where_others_have_the_processor() -> None:
    before = Processors.now()
    assert before.total is not None
    assert before.stolen is not None
    assert before.waited_ns is not None
    while (now := Processors.now()).total == before.total:
        np.random.default_rng(1).normal(size=100_000).sort()
    assert now.total is not None
    assert now.total > before.total
