"""Parties of vendors: CPU a call, lateness on the wire, and what the harness adds to the first sound of an answer.

Each talks to a server of ours in a process of its own. `echo` (no transport) and `far:echo` (one WebRTC leg) stand
beside them. FDBCORE_SYSTEMS_SECONDS shortens each call (12 s by default).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.harness import print_table
from fdbcore.protocols import Clocking, Endpoint
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.runs.held_here import SWITCH_INTERVAL_S
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, SILENT_FRAME, TICKS_PER_S, Pcm

SECONDS: Final = float(os.environ.get("FDBCORE_SYSTEMS_SECONDS", "12"))
CALLS: Final = (1, 4, 8)
KEY: Final = "sk-benchmark-0123456789abcdef"
TESTS: Final = Path(__file__).parents[1] / "tests"

_SERVER: Final = """
import sys
from fakes.{module} import {imports}
with {server} as server:
    {key}
    print({address}, flush=True)
    sys.stdin.read()
"""
"""A server that prints the address of its party, and ends with its standard input."""


class System(NamedTuple):
    """A kind of party. server: the fields of _SERVER; None if it needs none, and `address` is its own."""

    name: str
    address: str = ""
    server: Mapping[str, str] | None = None


SYSTEMS: Final = (
    System("echo", "echo"),
    System("far:echo (WebRTC)", "far:echo"),
    System(
        "openai-realtime",
        server={
            "module": "realtime_server",
            "imports": "Plan, RealtimeServer, Reply",
            "server": 'RealtimeServer(Plan([Reply("one two three four five six")]))',
            "key": f"server.key = {KEY!r}",
            "address": 'f"openai-realtime:{server.model}?base_url={server.base_url}&key_variable=FDBCORE_BENCH_KEY"',
        },
    ),
    System(
        "gemini-live",
        server={
            "module": "gemini_live_server",
            "imports": "GeminiLiveServer",
            "server": "GeminiLiveServer()",
            "key": f"GeminiLiveServer.KEY = {KEY!r}",
            "address": "f\"gemini-live:gemini-3.8-live?base_url={server.url('http')}&key_variable=FDBCORE_BENCH_KEY\"",
        },
    ),
    System(
        "openai-live",
        server={
            "module": "live_server",
            "imports": "LivePlan, LiveServer, Reply",
            "server": 'LiveServer(LivePlan([Reply("one two three four five six")]))',
            "key": f"server.key = {KEY!r}",
            "address": 'f"openai-live:{server.model}?base_url={server.base_url}&key_variable=FDBCORE_BENCH_KEY"',
        },
    ),
    System(
        "ultravox",
        server={
            "module": "ultravox_server",
            "imports": "UltravoxServer",
            "server": "UltravoxServer()",
            "key": f"UltravoxServer.KEY = {KEY!r}",
            "address": "f\"ultravox:ultravox-v0.7?base_url={server.url('http')}/api&key_variable=FDBCORE_BENCH_KEY\"",
        },
    ),
    System(
        "twilio",
        server={
            "module": "twilio_bot",
            "imports": "TwilioBot",
            "server": "TwilioBot()",
            "key": "",
            "address": "f\"twilio:{server.url('ws').removeprefix('ws:')}/media\"",
        },
    ),
    System(
        "freeze-omni",
        server={
            "module": "freeze_omni_server",
            "imports": "FreezeOmniServer, Quirks",
            "server": "FreezeOmniServer(Quirks(max_users=8))",
            "key": "",
            "address": "f\"freeze-omni:{server.url('ws').removeprefix('ws:')}?tls=0\"",
        },
    ),
)


class Talker(Endpoint):
    """Says a tone for one second of four."""

    clocking: Clocking = "tick"

    def __init__(self) -> None:
        samples = np.arange(FRAME_SAMPLES)
        self._tone: Pcm = (8000 * np.sin(2 * np.pi * 5 / FRAME_SAMPLES * samples)).astype(np.int16)

    def say(self, tick: int) -> Pcm:
        return self._tone if tick % (4 * TICKS_PER_S) < TICKS_PER_S else SILENT_FRAME

    def hear(self, tick: int, frame: Pcm) -> None:
        return

    def describe(self) -> Mapping[str, Any]:
        return {"kind": "talker"}


def held(address: str, calls: int, folder: Path) -> tuple[list[Recording], float]:
    """So many calls at once, and the CPU seconds of this process."""
    settings = LiveSettings(vad="energy", max_s=SECONDS, spin_ns=0)

    def hold(number: int) -> Recording:
        return converse(Talker(), endpoint(address), folder / f"{calls}-{number}", settings, {}, Event())

    with ThreadPoolExecutor(calls) as pool:
        begun_s = time.process_time()
        recordings = list(pool.map(hold, range(calls)))
        return recordings, time.process_time() - begun_s


def row(name: str, recordings: Sequence[Recording], cpu_s: float) -> tuple[object, ...]:
    wires = [found["p99_us"] for each in recordings if (found := each.measured("B").get("wire")) and found["n"]]
    added_ms = [
        event["delay_samples"] * 1000 / SAMPLE_RATE_HZ
        for each in recordings
        for event in each.events
        if event["side"] == "B" and event["kind"] == "delay" and event.get("why") == "anchor"
    ]
    ended_well = sum(each.outcome is not None and each.outcome["kind"] == "done" for each in recordings)
    return (
        name,
        len(recordings),
        f"{100 * cpu_s / len(recordings) / SECONDS:.1f} %",
        max(filter(None, wires), default=float("nan")) / 1000,
        len(added_ms),
        float(np.median(added_ms)) if added_ms else float("nan"),
        max(added_ms, default=float("nan")),
        f"{ended_well}/{len(recordings)}",
    )


def main() -> None:
    os.environ["FDBCORE_BENCH_KEY"] = KEY
    sys.setswitchinterval(SWITCH_INTERVAL_S)  # as the processes have it that hold the calls of a run
    rows = []
    with TemporaryDirectory() as folder:
        for system in SYSTEMS:
            process, address = None, system.address
            if system.server is not None:
                process = subprocess.Popen(
                    [sys.executable, "-c", _SERVER.format(**system.server)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": str(TESTS)},
                    text=True,
                )
                assert process.stdout is not None
                address = process.stdout.readline().strip()
            for calls in CALLS:
                path = Path(folder) / system.name.split()[0].replace(":", "-")
                rows.append(row(system.name, *held(address, calls, path)))
            if process is not None:
                process.communicate("")
    print_table(
        "Parties against servers of ours in processes of their own",
        ("party", "calls", "CPU a call", "wire p99 ms", "first sounds", "added p50 ms", "added max ms", "done"),
        rows,
    )


if __name__ == "__main__":
    main()
