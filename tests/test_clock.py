import gc
import json
import os
import re
import time
import weakref
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import fdbcore.clock
from fdbcore.clock import MonotonicClock, VirtualClock, machine_load, utc_now
from fdbcore.errors import InputError
from fdbcore.protocols import Clock


@pytest.mark.parametrize("clock", [MonotonicClock(), VirtualClock()], ids=["monotonic", "virtual"])
def test_a_clock_takes_ticks_in_order_only(clock: Clock) -> None:
    clock.wait(0)
    clock.wait(2)
    with pytest.raises(InputError, match="tick: expected at least 3, the next one, got 2"):
        clock.wait(2)
    with pytest.raises(InputError, match="tick: expected"):
        clock.wait(-1)


@pytest.mark.parametrize("clock", [MonotonicClock(), VirtualClock()], ids=["monotonic", "virtual"])
def test_a_certificate_is_plain_json_and_says_whether_time_was_kept(clock: Clock) -> None:
    certificate = clock.certificate()
    assert json.loads(json.dumps(certificate)) == certificate
    assert certificate["realtime"] is clock.realtime
    assert certificate["clock"]["name"]


def test_a_tick_of_the_monotonic_clock_is_10_ms() -> None:
    clock = MonotonicClock()
    before_ns = time.monotonic_ns()
    clock.wait(0)
    clock.wait(5)
    assert time.monotonic_ns() - before_ns >= 50_000_000


def test_the_virtual_clock_does_not_wait() -> None:
    clock = VirtualClock()
    clock.wait(0)
    clock.wait(10**12)  # 317 years


def test_the_monotonic_certificate_holds_the_evidence() -> None:
    clock = MonotonicClock(spin_ns=0)
    for tick in range(5):
        clock.wait(tick)
    certificate = clock.certificate()
    assert certificate["wake"]["n"] == certificate["resume"]["n"] == 5
    assert {"late", "missed", "suspends", "clock_steps"} <= set(certificate)
    assert (certificate["period_ns"], certificate["spin_ns"]) == (10_000_000, 0)
    assert certificate["priority"] is None
    assert certificate["machine"]["cpu_count"] == os.cpu_count()


def test_the_monotonic_certificate_says_what_priority_was_granted() -> None:
    clock = MonotonicClock()
    with clock.undisturbed() as grants:
        clock.wait(0)
    assert clock.certificate()["priority"] == grants


class Cycle:
    """Refers to itself, so that only the collector can end it."""

    def __init__(self) -> None:
        self.own = self


def test_while_sessions_last_collections_look_only_at_what_they_have_made() -> None:
    before = Cycle()
    with MonotonicClock().undisturbed():
        with MonotonicClock().undisturbed():
            during = Cycle()
            gone = [weakref.ref(each) for each in (before, during)]
            assert any(each is during for each in gc.get_objects())
            assert not any(each is before for each in gc.get_objects())
            del before, during
            gc.collect()
            assert [ref() is None for ref in gone] == [False, True]
        assert gc.get_freeze_count()  # the other session still lasts
    gc.collect()
    assert not gc.get_freeze_count()
    assert [ref() is None for ref in gone] == [True, True]


def test_the_load_is_that_of_the_system() -> None:
    load = machine_load()["load_average"]
    assert load is not None
    assert len(load) == 3
    assert all(value >= 0 for value in load)


def test_utc_now_is_iso_8601_in_utc() -> None:
    before = datetime.now(UTC)
    text = utc_now()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    now = datetime.fromisoformat(text)
    assert before - timedelta(milliseconds=1) <= now <= datetime.now(UTC)


def test_no_other_module_reads_the_clock() -> None:
    package = Path(fdbcore.clock.__file__).parent
    clock_reading = re.compile(r"^\s*(import|from) time\b|\b(datetime|date)\.(now|utcnow|today)\(", re.MULTILINE)
    readers = [path.name for path in package.rglob("*.py") if clock_reading.search(path.read_text(encoding="utf-8"))]
    assert readers == ["clock.py"]
