"""How late ticks of 10 ms come: the pacer beside other ways to pace, idle and with a busy thread.

FDBCORE_PACING_SECONDS shortens each run (60 s by default). Lateness is measured in Python, in the first statement after
waking, in the same way for all. The pacer also measures its own wake lateness, before it has the GIL again.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmarks.harness import print_table
from fdbcore._ext.pacer import Pacer
from fdbcore.types import TICK_NS

if TYPE_CHECKING:
    from fdbcore.types.timing import LatenessSummary

RUN_S = float(os.environ.get("FDBCORE_PACING_SECONDS", "60"))
TICKS = max(100, round(RUN_S * 1e9 / TICK_NS))
BURST_FRAMES = 10
REFERENCE = "Pacer, spin 300 us"
HEADER = ("us", "p50", "p99", "p99.9", "max", "drift", "p50 / ours", "p99 / ours")

# A frame is due 10 ms after the one before it, counted from the start, and leaves in the burst that holds it.
NODE_BURSTS = f"""
const lateness = [], start = process.hrtime.bigint();
const timer = setInterval(() => {{
  for (let frame = 0; frame < {BURST_FRAMES}; frame++)
    lateness.push(Number(process.hrtime.bigint() - start) - lateness.length * {TICK_NS});
  if (lateness.length >= {TICKS}) {{ clearInterval(timer); console.log(JSON.stringify(lateness)); }}
}}, {BURST_FRAMES * TICK_NS // 1_000_000});
"""

Lateness = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Figures:
    """Lateness in us. drift: how much later the last tenth of the ticks came than the first; None if not known."""

    p50: float
    p99: float
    p99_9: float
    largest: float
    drift: float | None

    @classmethod
    def of(cls, lateness_ns: Lateness) -> Figures:
        us = lateness_ns / 1000
        tenth = len(us) // 10
        drift = float(np.median(us[-tenth:]) - np.median(us[:tenth]))
        p50, p99, p99_9 = (float(value) for value in np.quantile(us, (0.5, 0.99, 0.999), method="inverted_cdf"))
        return cls(p50, p99, p99_9, float(us.max()), drift)

    @classmethod
    def of_wake(cls, summary: LatenessSummary) -> Figures:
        p50, p99, p99_9, most = (summary[name] or 0.0 for name in ("p50_us", "p99_us", "p99_9_us", "max_us"))
        return cls(p50, p99, p99_9, most, None)


Method = Callable[[], dict[str, Figures]]


def pacer(name: str, spin_ns: int, raise_priority: bool = False) -> dict[str, Figures]:
    paced = Pacer(TICK_NS, spin_ns)
    lateness = np.empty(TICKS, np.int64)
    with paced.raised_priority() if raise_priority else nullcontext() as grants:
        for tick in range(TICKS):
            paced.wait(tick)
            lateness[tick] = time.monotonic_ns() - paced.deadline_ns(tick)
    if grants and not grants["fifo"]["granted"]:
        name += " (refused)"
    return {name: Figures.of(lateness), f"{name}: wake": Figures.of_wake(paced.lateness()["wake"])}


def call_at(name: str, loop: asyncio.AbstractEventLoop) -> dict[str, Figures]:
    lateness = np.empty(TICKS, np.int64)
    origin_ns = time.monotonic_ns()

    def fire(tick: int) -> None:
        lateness[tick] = time.monotonic_ns() - origin_ns - tick * TICK_NS
        if tick + 1 == TICKS:
            loop.stop()
        else:
            loop.call_at((origin_ns + (tick + 1) * TICK_NS) / 1e9, fire, tick + 1)

    loop.call_soon(fire, 0)
    loop.run_forever()
    loop.close()
    return {name: Figures.of(lateness)}


def uvloop_call_at() -> dict[str, Figures]:
    import uvloop

    return call_at("uvloop call_at", uvloop.new_event_loop())


def sleep_thread() -> dict[str, Figures]:
    lateness = np.empty(TICKS, np.int64)

    def run() -> None:
        origin_ns = time.monotonic_ns()
        for tick in range(TICKS):
            deadline_ns = origin_ns + tick * TICK_NS
            time.sleep(max(0, deadline_ns - time.monotonic_ns()) / 1e9)
            lateness[tick] = time.monotonic_ns() - deadline_ns

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return {"time.sleep thread": Figures.of(lateness)}


def node_bursts(node: str) -> dict[str, Figures]:
    done = subprocess.run([node, "-e", NODE_BURSTS], capture_output=True, text=True, check=True)
    return {"node setInterval(100)": Figures.of(np.array(json.loads(done.stdout), np.int64))}


METHODS: tuple[Method, ...] = (
    lambda: pacer(REFERENCE, spin_ns=300_000),
    lambda: pacer("Pacer, no spin", spin_ns=0),
    lambda: pacer("Pacer, spin, priority", spin_ns=300_000, raise_priority=True),
    lambda: call_at("asyncio call_at", asyncio.SelectorEventLoop()),
    uvloop_call_at,
    sleep_thread,
)


@contextmanager
def busy_thread() -> Iterator[None]:
    """A thread of pure Python beside the block; it gives the GIL up only when the interpreter forces it to."""
    stop = False

    def burn() -> None:
        while not stop:
            pass

    thread = threading.Thread(target=burn)
    thread.start()
    try:
        yield
    finally:
        stop = True
        thread.join()


def measure(methods: tuple[Method, ...], what: str) -> dict[str, Figures]:
    figures: dict[str, Figures] = {}
    for number, method in enumerate(methods, start=1):
        found = method()
        figures |= found
        print(f"  {what} {number}/{len(methods)}: {next(iter(found))}", flush=True)
    return figures


def ratio(value: float, ours: float) -> str:
    return f"{value / ours:,.1f}" if value > 0 and ours > 0 else "early"


def row(name: str, figures: Figures, ours: Figures) -> tuple[str, ...]:
    us = (figures.p50, figures.p99, figures.p99_9, figures.largest)
    drift = "-" if figures.drift is None else f"{figures.drift:,.1f}"
    ratios = ratio(figures.p50, ours.p50), ratio(figures.p99, ours.p99)
    return (name, *(f"{value:,.1f}" for value in us), drift, *ratios)


def print_figures(title: str, figures: dict[str, Figures]) -> None:
    ours = figures[REFERENCE]
    print_table(title, HEADER, [row(name, found, ours) for name, found in figures.items()])


def main() -> None:
    node = shutil.which("node")
    idle = (*METHODS, lambda: node_bursts(node)) if node else METHODS
    runs = len(idle) + len(METHODS)
    run_s = TICKS * TICK_NS / 1e9
    print(
        f"\nframe timing: {runs} runs of {run_s:g} s one after another, {runs * run_s / 60:.1f} min in all", flush=True
    )
    idle_figures = measure(idle, "idle")
    with busy_thread():
        busy_figures = measure(METHODS, "busy")
    print_figures(f"Lateness of {TICKS:,} ticks of 10 ms, idle", idle_figures)
    print_figures("The same beside a busy pure-Python thread of the same process", busy_figures)
    if not node:
        print("node was not found: its setInterval is left out")
