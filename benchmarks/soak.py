"""Many calls for a long time in one process (`make soak`): does memory stay flat, the delay equal, no tick missed?

The hub is the product, in a process of its own: two WebRTC legs per call, voice activity, recording. LONG_CALLS last
the whole time, each with peers whose clock is off by PPM; beside them, SHORT_CALLS come and go all the time. The peers
send a click per second, which measures the delay through the hub, from wire to wire. Bystanders, one process of the
highest priority per processor that does nothing but keep time, show what no program could have kept: when a processor
itself stood still, as virtual ones sometimes do. It prints a line per minute, and then the verdict, which is also the
exit status.

FDBCORE_SOAK_MINUTES: 30 by default.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.harness import free_port, machine
from benchmarks.webrtc_hub import SWITCH_INTERVAL_S
from benchmarks.webrtc_probe import Probe, delays_ms, probe_calls
from fdbcore.clock import now_ns
from fdbcore.endpoints.webrtc.endpoint import Joined
from fdbcore.protocols import Endpoint
from fdbcore.runtime.network import event_loop
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import SAMPLE_RATE_HZ, TICK_NS, TICKS_PER_S

MINUTES = float(os.environ.get("FDBCORE_SOAK_MINUTES", "30"))
PPM: Final = (0, 50, 100, -100)
LONG_CALLS: Final = len(PPM)
SHORT_CALLS: Final = 4
SHORT_S: Final = 15.0
BETWEEN_S: Final = 4.0  # to join, to wait for the clock map, to hang up
SHORT_SESSIONS: Final = 1000

REPORT_S: Final = min(60.0, MINUTES * 60 / 5)
KNOWN_BYTES: Final = 24
"""Kept of each tick of a call until its end: activity, peaks and the detectors' evidence."""
MOST_GROWTH_MB: Final = 8.0  # beyond that: what the allocator leaves between its blocks
BYSTANDER: Final = "bystander"
HELD_UP_NS: Final = 2 * TICK_NS
MOST_DRIFT_SAMPLES: Final = 600  # a slip waits until the delay is off by 2.5 ms, and moves it by up to 10


class Hub:
    """All calls, in this process; prints a line of JSON now and then."""

    def __init__(self, port: int) -> None:
        self.address = f"webrtc://127.0.0.1:{port}"
        self.parties: dict[int, tuple[Endpoint, Endpoint]] = {}
        self.overdue = 0
        self.timings: list[Mapping[str, Any]] = []
        self.missed_ns: list[int] = []
        self.odd_ends: list[str] = []

    def run(self, folder: Path) -> None:
        over = threading.Event()
        reporting = threading.Thread(target=self._report, args=(over,))
        reporting.start()
        calls = [threading.Thread(target=self._hold, args=(n, MINUTES * 60, folder)) for n in range(LONG_CALLS)]
        calls += [threading.Thread(target=self._hold_short, args=(n, folder)) for n in range(SHORT_CALLS)]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
        over.set()
        reporting.join()
        late = sum(timing["late"] for timing in self.timings)
        told = {"calls": len(self.timings), "late": late, "missed_ns": self.missed_ns, "odd_ends": self.odd_ends}
        print(json.dumps(told), flush=True)

    def _hold_short(self, n: int, folder: Path) -> None:
        for turn in range(short_turns()):
            self._hold(SHORT_SESSIONS + turn * SHORT_CALLS + n, SHORT_S, folder)

    def _hold(self, session: int, seconds: float, folder: Path) -> None:
        address = f"{self.address}?session={session}"
        parties = self.parties[session] = Joined(address), Joined(address)
        began_ns: list[int] = []

        def on_tick(tick: int) -> None:
            if tick < 0:
                return
            began_ns[:] = began_ns or [now_ns()]
            self.overdue += now_ns() - began_ns[0] - tick * TICK_NS > TICK_NS

        settings = LiveSettings(max_s=seconds, spin_ns=0)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            recording = converse(*parties, Path(place), settings, {}, threading.Event(), on_tick)
            missed = [event["tick"] for event in recording.events if event["kind"] == "missed"]
        del self.parties[session]
        self.timings.append(recording.meta["timing"])
        self.missed_ns += [began_ns[0] + tick * TICK_NS for tick in missed]
        if any(party.left for party in parties):
            self.odd_ends.append(str(recording.meta["outcome"]["reason"]))

    def _report(self, over: threading.Event) -> None:
        while not over.wait(REPORT_S):
            wires = [p.measured().get("wire", {}) for parties in tuple(self.parties.values()) for p in parties]
            status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
            found = {
                "rss_mb": int(status["VmRSS"].split()[0]) / 1024,
                "threads": int(status["Threads"]),
                "files": len(os.listdir("/proc/self/fd")),
                "tasks": len(asyncio.all_tasks(event_loop())),
                "calls": len(self.parties),
                "overdue": self.overdue,
                "cpu_s": time.process_time(),
                "wire_p99_ms": max((wire["p99_us"] for wire in wires if wire.get("n")), default=0.0) / 1000,
            }
            print(json.dumps(found), flush=True)


def stand_by(processor: int) -> None:
    """Print a line for each time it was held up: from when to when, in ns. None without the priority, as then other
    programs may have held it up.
    """
    with suppress(PermissionError):
        os.sched_setaffinity(0, [processor])
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO)))
        while True:
            began_ns = now_ns()
            time.sleep(TICK_NS / 2e9)
            if now_ns() - began_ns > HELD_UP_NS:
                print(json.dumps([began_ns, now_ns()]), flush=True)


@contextmanager
def bystanders() -> Iterator[list[tuple[int, int]]]:
    """When any of them was held up; known once the context is left."""
    held_up: list[tuple[int, int]] = []
    with ExitStack() as started:
        processes = []
        for processor in os.sched_getaffinity(0):
            command = [sys.executable, "-m", "benchmarks.soak", BYSTANDER, str(processor)]
            process = started.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            started.callback(process.terminate)
            processes.append(process)
        yield held_up
        for process in processes:
            process.terminate()
            assert process.stdout is not None
            held_up += [(start, end) for start, end in map(json.loads, process.stdout)]


def short_turns() -> int:
    """How often the short calls begin."""
    return int(MINUTES * 60 // (SHORT_S + BETWEEN_S))


def call_long(port: int, n: int, probes: tuple[Probe, Probe]) -> None:
    """The peers of one long call."""
    probe_calls(port, probes, 2, 10, MINUTES * 60 + 2 * BETWEEN_S, first_session=n, ppm=PPM[n])


def call_short(port: int) -> None:
    """The peers of all short calls, one after the other."""
    for turn in range(short_turns()):
        probes = [Probe(10, clicks=False) for _ in range(2 * SHORT_CALLS)]
        probe_calls(port, probes, 2, 10, SHORT_S + BETWEEN_S, SHORT_SESSIONS + turn * SHORT_CALLS)


def delays_in(probes: tuple[Probe, Probe], since_s: float, until_s: float) -> float:
    """The median delay (ms) of the clicks of that time, from one peer of a call to the other; NaN without clicks."""
    found = [delay for at_s, delay in delays_ms(probes[0].sent_ns, probes[1].heard_ns) if since_s <= at_s < until_s]
    return median(found) if found else float("nan")


def main() -> None:
    port = free_port()
    print(f"{machine()}\n{LONG_CALLS} long and {SHORT_CALLS} short calls, {MINUTES:g} minutes")
    command = [sys.executable, "-m", "benchmarks.soak", str(port)]
    with bystanders() as held_up, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as hub:
        probes = [(Probe(10, clicks=True), Probe(10, clicks=False)) for _ in range(LONG_CALLS)]
        peers = [threading.Thread(target=call_long, args=(port, n, pair)) for n, pair in enumerate(probes)]
        peers.append(threading.Thread(target=call_short, args=(port,)))
        for peer in peers:
            peer.start()
        assert hub.stdout is not None
        *reports, end = print_reports(hub.stdout, probes)
        for peer in peers:
            peer.join()
    sys.exit(not verdict(reports, end, held_up))


def print_reports(lines: Any, probes: list[tuple[Probe, Probe]]) -> list[dict[str, Any]]:  # noqa: ANN401
    """The hub's reports, each with the delays of its time, printed as they come; the last is its summary."""
    reports: list[dict[str, Any]] = []
    for line in lines:
        reports.append(report := json.loads(line))
        if "rss_mb" not in report:
            break
        n = len(reports)
        report["delays_ms"] = [delays_in(pair, (n - 1) * REPORT_S, n * REPORT_S) for pair in probes]
        cpu_s = report["cpu_s"] - (reports[-2]["cpu_s"] if n > 1 else 0.0)
        print(
            f"{n * REPORT_S / 60:5.1f} min  {report['rss_mb']:7.1f} MB  {report['calls']} calls  "
            f"{report['threads']} threads  {report['files']} files  {report['tasks']} tasks  "
            f"CPU {100 * cpu_s / REPORT_S:.0f} %  wire p99 {report['wire_p99_ms']:.2f} ms  "
            f"ticks overdue {report['overdue']}  delays {' '.join(f'{ms:.1f}' for ms in report['delays_ms'])} ms",
            flush=True,
        )
    return reports


def verdict(reports: list[dict[str, Any]], end: Mapping[str, Any], held_up: Sequence[tuple[int, int]]) -> bool:
    """Say, in one line, whether all is well."""
    steady = reports[len(reports) // 3 :]  # until then the allocator's arenas, of 40 threads, still fill
    grown_mb = steady[-1]["rss_mb"] - steady[0]["rss_mb"]
    ticks = (len(steady) - 1) * REPORT_S * TICKS_PER_S * LONG_CALLS
    known_mb = ticks * KNOWN_BYTES / 2**20
    per_call = zip(*(report["delays_ms"] for report in steady), strict=True)
    drifts = [round((delays[-1] - delays[0]) * SAMPLE_RATE_HZ / 1000) for delays in per_call]
    missed_ns = end["missed_ns"]
    excused = sum(any(start - TICK_NS < at < stop for start, stop in held_up) for at in missed_ns)
    longest_ms = max((stop - start for start, stop in held_up), default=0) / 1e6
    stood_still = f"{len(held_up)} times, up to {longest_ms:.0f} ms"
    checks = {
        f"memory grew by {grown_mb:.1f} MB, {known_mb:.1f} of them known": grown_mb - known_mb <= MOST_GROWTH_MB,
        f"delays changed by {', '.join(map(str, drifts))} samples": all(abs(d) <= MOST_DRIFT_SAMPLES for d in drifts),
        f"{len(missed_ns)} ticks missed ({end['late']} late) in {end['calls']} calls, "
        f"{excused} of them while a processor stood still ({stood_still})": len(missed_ns) == excused,
        f"{len(end['odd_ends'])} calls ended early {end['odd_ends'][:1] or ''}".strip(): not end["odd_ends"],
    }
    print(f"{'PASSED' if all(checks.values()) else 'FAILED'}: " + "; ".join(checks))
    return all(checks.values())


if __name__ == "__main__":
    if sys.argv[1:2] == [BYSTANDER]:
        stand_by(int(sys.argv[2]))
    elif len(sys.argv) > 1:
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        with tempfile.TemporaryDirectory() as recordings:
            Hub(int(sys.argv[1])).run(Path(recordings))
    else:
        main()
