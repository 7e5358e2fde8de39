"""A live conversation between two WebRTC peers: what the hub adds, how late it sends, and how many calls it holds.

Beside each figure stands that of a plain relay by aiortc, which is what one would write, measured in the same run with
the same peers. FDBCORE_LIVE_SECONDS shortens each call (12 s by default).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.call_cost import print_call_cost
from benchmarks.harness import free_port, met, print_table
from benchmarks.webrtc_probe import Probe, app_delays_ms, bursty_loss, delays_ms, probe_calls, random_loss
from fdbcore.runtime.network import await_result

SECONDS = float(os.environ.get("FDBCORE_LIVE_SECONDS", "12"))
JOIN_S = 4.0
HUBS = ("ours", "aiortc")
COST_CALLS = 4
MOST_CPU_PERCENT = 5.0


class Hub:
    """The hub in its own process; `result` when its time is over."""

    def __init__(self, kind: str, seconds: float = SECONDS, **options: object) -> None:
        self.port = free_port()
        flags = [f"--{name}={value}" for name, value in options.items() if value is not True]
        flags += [f"--{name}" for name, value in options.items() if value is True]
        command = [sys.executable, "-m", "benchmarks.webrtc_hub", kind, f"--port={self.port}", f"--seconds={seconds}"]
        self._process = subprocess.Popen([*command, *flags], stdout=subprocess.PIPE, text=True)

    def result(self) -> dict[str, Any]:
        output, _ = self._process.communicate(timeout=120)
        result: dict[str, Any] = json.loads(output.splitlines()[-1])
        return result


def quantiles(values_ms: list[float]) -> tuple[float, float]:
    """Median and p99; NaN without values."""
    return (float(np.median(values_ms)), float(np.quantile(values_ms, 0.99))) if values_ms else (np.nan, np.nan)


def added_delay() -> None:
    rows: list[tuple[object, ...]] = []
    for kind in HUBS:
        wire: list[float] = []
        for _ in range(10):
            hub = Hub(kind, calls=2)
            probes = [Probe(10, clicks=n % 2 == 0) for n in range(4)]
            probe_calls(hub.port, probes, 2, 10, SECONDS + JOIN_S)
            hub.result()
            for a, b in zip(probes[::2], probes[1::2], strict=True):
                wire += [delay for _, delay in delays_ms(a.sent_ns, b.heard_ns)]
        hub = Hub(kind)
        ends = await_result(app_delays_ms(hub.port, SECONDS + JOIN_S), 2 * SECONDS + 30)
        hub.result()
        rows.append((kind, len(wire), *quantiles(wire), len(ends), *quantiles(ends)))
    print_table(
        "Delay added by the hub, wire in to wire out (20 calls), and end to end between plain aiortc peers (1 call)",
        ("ms", "clicks", "p50", "p99", "clicks", "end p50", "end p99"),
        rows,
    )


def after_loss() -> None:
    """The first half of each call loses packets, the second half none."""
    rows: list[tuple[object, ...]] = []
    patterns = [(name, share) for name in ("random", "bursty") for share in (0.01, 0.03, 0.1)]
    for kind in HUBS:
        hub = Hub(kind, seconds=2 * SECONDS, calls=len(patterns))
        probes = []
        lossy = int(SECONDS * 100)
        for seed, (name, share) in enumerate(patterns):
            pattern = (random_loss if name == "random" else bursty_loss)(share, seed)
            losses = (lost and n < lossy for n, lost in enumerate(pattern))
            probes += [Probe(10, True, losses), Probe(10, False)]
        probe_calls(hub.port, probes, 2, 10, 2 * SECONDS + JOIN_S)
        hub.result()
        for (name, share), a, b in zip(patterns, probes[::2], probes[1::2], strict=True):
            found = delays_ms(a.sent_ns, b.heard_ns)
            during = [delay for at_s, delay in found if at_s < SECONDS]
            afterwards = [delay for at_s, delay in found if at_s > SECONDS + 2]
            rows.append((f"{kind}, {name} {share:.0%}", len(found), quantiles(during)[0], *quantiles(afterwards)))
    print_table(
        "Delay added by the hub, while packets are lost and from 2 s after the last loss",
        ("ms", "clicks", "p50 during", "p50 after", "p99 after"),
        rows,
    )


def wires_of_a_call(busy: bool) -> dict[str, float]:
    """Of one call with two legs, the lateness of packets on the wire in us: of each figure that of the worse leg."""
    hub = Hub("ours", calls=1, **({"busy": True} if busy else {}))
    probe_calls(hub.port, [Probe(10, False), Probe(10, False)], 2, 10, SECONDS + JOIN_S)
    (timing,) = hub.result()["timings"]
    legs = [timing["sides"][side]["wire"] for side in "AB"]
    worst = {key: max(leg[key] for leg in legs) for key in ("p50_us", "p99_us", "p99_9_us", "max_us")}
    return worst | {"late": timing["late"], "missed": timing["missed"]}


def wire_lateness() -> None:
    rows = []
    for name, busy in (("idle", False), ("beside a busy Python thread", True)):
        wire = wires_of_a_call(busy)
        late_ms = (wire[key] / 1000 for key in ("p50_us", "p99_us", "max_us"))
        rows.append((name, *late_ms, wire["late"], wire["missed"]))
    print_table(
        "Lateness of packets on the wire (the later of two legs; switch interval 0.5 ms)",
        ("ms", "p50", "p99", "max", "ticks late", "missed"),
        rows,
    )


def capacity() -> None:
    rows: list[tuple[object, ...]] = []
    for legs, packet_ms in ((1, 10), (2, 10), (1, 20), (2, 20)):
        for kind in HUBS:
            for calls in (4, 8, 16) if kind == "ours" else (4, 8):
                hub = Hub(kind, calls=calls, legs=legs, ptime=packet_ms)
                probes = [Probe(packet_ms, False) for _ in range(calls * legs)]
                probe_calls(hub.port, probes, legs, packet_ms, SECONDS + JOIN_S + calls / 8)
                result = hub.result()
                wires = [t["sides"][s]["wire"] for t in result["timings"] for s in "AB" if "wire" in t["sides"][s]]
                p99_ms = max((wire["p99_us"] / 1000 for wire in wires), default=np.nan)
                missed = sum(t["missed"] for t in result["timings"]) if wires else "-"
                cpu = 100 * result["cpu_share"]
                rows.append((f"{kind}, {legs} leg(s), {packet_ms} ms", calls, cpu, cpu / calls, p99_ms, missed))
    print_table(
        "Calls in one process: CPU (% of a core, recording and turn detection included in ours), lateness on the wire",
        ("", "calls", "CPU %", "a call", "p99 ms", "missed"),
        rows,
    )


def cost_of_a_call() -> None:
    hub = Hub("ours", calls=COST_CALLS)
    probe_calls(hub.port, [Probe(10, False) for _ in range(2 * COST_CALLS)], 2, 10, SECONDS + JOIN_S)
    result = hub.result()
    print_call_cost(result["threads"], COST_CALLS)
    percent = 100 * result["cpu_share"] / COST_CALLS
    goal = f"live: a call with two legs takes less than {MOST_CPU_PERCENT:g} % of a core"
    print(f"{percent:.1f} % a call: {met(goal, percent < MOST_CPU_PERCENT)} (goal: {MOST_CPU_PERCENT:g} %)")


def main() -> None:
    added_delay()
    after_loss()
    wire_lateness()
    cost_of_a_call()
    capacity()
