"""Faults that are planted into what tools give, and latencies, as the published profiles say and by the seed."""

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fakes.worlds import Customer, call
from helpers.conformance import assert_leaves_nothing

from fdbcore.errors import SettingsError
from fdbcore.protocols import World
from fdbcore.registry import world
from fdbcore.session.tools import ToolDesk
from fdbcore.worlds.faults import ERROR, PlantedFaults
from fdbcore.worlds.latency import MOST_MS, PROFILES, Latency, latency_of

BASKET = '''
basket: list[str] = []


def add(item: str) -> list[str]:
    """Put an item into the basket."""
    basket.append(item)
    return basket
'''


def answers(text: str, *names: str) -> tuple[list[Any], list[str]]:
    """What calls of tools with those names give, and which tools did their work."""
    faults, worked = PlantedFaults(text), []

    async def answer(name: str) -> Any:
        async def work() -> Any:
            worked.append(name)
            return {"did": name}

        try:
            return await faults.answer(name, work)
        except TimeoutError:
            return "never"

    async def each() -> list[Any]:
        return [await answer(name) for name in names]

    return asyncio.run(each()), worked


def test_a_fault_holds_for_the_call_of_its_number() -> None:
    found, worked = answers("error@2,timeout@3,malformed@4", "find", "find", "buy", "buy", "buy")
    assert found == [{"did": "find"}, ERROR, "never", '{"did":', {"did": "buy"}]
    assert worked == ["find", "buy", "buy"]


def test_a_fault_holds_for_each_call_of_its_tool_and_the_first_named_goes_first() -> None:
    found, _ = answers("error@1,timeout@buy", "buy", "find", "buy", "buy")
    assert found == [ERROR, {"did": "find"}, "never", "never"]


@pytest.mark.parametrize("text", ["", "error", "error@0", "crash@2", "error@2;", "error@2,", "error@2, error@3", "@2"])
def test_other_texts_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(SettingsError, match="faults: expected error@, malformed@ or timeout@ with ") as refused:
        world(f"fdb-v3:?faults={text}")
    assert "\n" not in str(refused.value)


def test_the_tools_of_a_file_can_fail_too(tmp_path: Path) -> None:
    """In lockstep a call that never answers takes its time-out in ticks, and no time of the clock."""
    (tmp_path / "tools.py").write_text(BASKET)
    does = {tick: [call(str(tick), "add", {"item": f"{tick}"})] for tick in (5, 10, 15, 20)}
    party = Customer(does, 1100)

    def act() -> None:
        made: World = world(f"file:{tmp_path}/tools.py?timeout_s=10&faults=error@1,timeout@2,malformed@3")
        made.open()
        desk = ToolDesk(made, party, "seed", lockstep=True)
        for tick in range(1100):
            desk.step(tick)
        desk.close()
        made.close()

    assert_leaves_nothing(act)
    assert [(tick, each.status, each.value) for tick, each in party.results] == [
        (6, "ok", ERROR),
        (16, "ok", '["1'),
        (21, "ok", ["15", "20"]),
        (1010, "timeout", "it took longer than 10 s"),
    ]


def test_faults_are_told_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(BASKET)
    described = [world(f"file:{tmp_path}/tools.py{settings}").describe() for settings in ("", "?faults=error@1")]
    assert [each.get("faults") for each in described] == [None, "error@1"]
    assert world("fdb-v3:?faults=error@1").describe()["faults"] == "error@1"


def test_latencies_are_drawn_in_spite_of_faults() -> None:
    draws = [[world(f"fdb-v3:?latency=slow{more}").latency_ticks("track_order", n, Random(3)) for n in range(9)]
             for more in ("", "&faults=error@1")]  # fmt: skip
    assert draws[0] == draws[1]


@pytest.mark.parametrize(
    ("text", "low_ms", "high_ms"),
    [
        ("instant", 0, 0),
        ("fast", 50, 200),
        ("normal", 200, 800),
        ("slow", 1000, 3000),
        ("degraded", 500, 2000),
        ("timeout_risk", 3000, 8000),
        ("300", 300, 300),
        ("0-50", 0, 50),
    ],
)
def test_draws_fill_the_range_and_never_leave_it(text: str, low_ms: int, high_ms: int) -> None:
    latency, random = latency_of(text), Random("seed")
    assert latency is not None
    drawn = {latency.draw_ticks(0, random) for _ in range(20_000)}
    assert drawn == set(range(low_ms // 10, high_ms // 10 + 1))


@pytest.mark.parametrize("text", ["", "nope", "-5", "5-", "800-200", "1.5", f"{MOST_MS + 1}", "1-2-3", "１"])
def test_other_texts_are_no_latency(text: str) -> None:
    assert latency_of(text) is None


def test_degraded_latencies_grow_by_half_with_each_call() -> None:
    degraded = Latency(500, 500, PROFILES["degraded"].growth)
    assert [degraded.draw_ticks(earlier, Random(1)) for earlier in range(5)] == [50, 75, 112, 169, 253]
    assert PROFILES["degraded"].draw_ticks(10_000, Random(1)) == MOST_MS // 10


def test_the_same_seed_draws_the_same() -> None:
    draws = [
        [PROFILES["slow"].draw_ticks(n, random) for n in range(50)] for random in (Random("7/u/1"), Random("7/u/1"))
    ]
    assert draws[0] == draws[1]
