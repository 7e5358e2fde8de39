"""How late ticks and packets are on each Python: `python -m benchmarks.by_python PYTHON...`, such as python3.13.

Each PYTHON gets an environment in build/pythons with the core compiled for it: three minutes, once. Two packages that
have no wheels for free-threaded Python are compiled, for which pylibsrtp needs Debian's libsrtp2-dev and libssl-dev. If
the extra `live` cannot be installed, the core alone is measured. Then eight minutes each, in which nothing else
should run: lateness when the wait of a tick is over (wake) and when Python goes on (resume), idle and beside a busy
Python thread; that of packets on the wire, in a call with two WebRTC legs; and how many such calls are held on time by
processes of four calls each and by a single process. FDBCORE_PACING_SECONDS shortens a run (60 s).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness import machine, print_table

if TYPE_CHECKING:
    from fdbcore.types.timing import HeldAtOnce

ROOT: Final = Path(__file__).resolve().parents[1]
ENVIRONMENTS: Final = ROOT / "build" / "pythons"
ONE: Final = "--one"
WITHOUT_WHEELS: Final = ("pylibsrtp", "google-crc32c")
PROCESSES: Final = {"four calls a process": 4, "one process": 1_000}
PURE_PYTHON: Final = {"CRC32C_PURE_PYTHON": "1"}


def environment(python: str) -> Path:
    """The interpreter of an environment for this Python; it is made if it is not there."""
    told = subprocess.run([python, "-VV"], capture_output=True, text=True, check=True).stdout
    name = told.split()[1] + ("t" if "free-threading" in told else "")
    inside = ENVIRONMENTS / name / "bin" / "python"
    if not (ENVIRONMENTS / name / "made").exists():
        print(f"--- Setting up {ENVIRONMENTS / name}", flush=True)
        subprocess.run([python, "-m", "venv", str(ENVIRONMENTS / name)], check=True)
        pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        wheels = [*pip, "--only-binary", ":all:"]
        with_live = [*wheels, "--no-binary", ",".join(WITHOUT_WHEELS)] if name.endswith("t") else wheels
        if subprocess.run([*with_live, *_live()], capture_output=True, env=os.environ | PURE_PYTHON).returncode:
            print("    the extra live cannot be installed: the core alone", flush=True)
            subprocess.run([*wheels, "numpy"], check=True)
        subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)
        (ENVIRONMENTS / name / "made").touch()
    return inside


def _live() -> list[str]:
    """What fdbcore and its extra `live` require."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["live"]]


def measured() -> dict[str, Any]:
    """What this Python does: summaries of lateness in us by what was measured; those of packets may be missing."""
    from benchmarks.bench_pacing import TICKS, busy_thread
    from fdbcore._ext.pacer import Pacer
    from fdbcore.types import TICK_NS

    found: dict[str, Any] = {"machine": machine(), "gil": getattr(sys, "_is_gil_enabled", lambda: True)()}
    for name, busy in (("idle", False), ("busy", True)):
        paced = Pacer(TICK_NS, 300_000)
        with busy_thread() if busy else nullcontext():
            for tick in range(TICKS):
                paced.wait(tick)
        found |= {f"{what}, {name}": paced.lateness()[what] for what in ("wake", "resume")}
    try:
        from msgspec import to_builtins

        from benchmarks.bench_live import wires_of_a_call
    except ImportError as error:
        found["why_no_wire"] = f"no {error.name}"
    else:
        found |= {"wire, idle": wires_of_a_call(busy=False), "wire, busy": wires_of_a_call(busy=True)}
        found["at_once"] = {what: to_builtins(calls_held(each)) for what, each in PROCESSES.items()}
    return found


def calls_held(calls_per_process: int) -> list[HeldAtOnce]:
    """The most calls that were held on time, and the fewest that were not."""
    from fdbcore.runs.calls_at_once import calls_at_once, hold_at_once, keeps_time

    found = calls_at_once(hold=partial(hold_at_once, calls_per_process=calls_per_process)).probes
    by_calls = sorted(found, key=lambda held: held.calls)
    return [
        *[held for held in by_calls if keeps_time(held)][-1:],
        *[held for held in by_calls if not keeps_time(held)][:1],
    ]


def main(pythons: list[str]) -> None:
    insides = [environment(python) for python in pythons]
    rows: list[tuple[object, ...]] = []
    at_once: list[tuple[object, ...]] = []
    for inside in insides:
        done = subprocess.run(
            [str(inside), "-m", "benchmarks.by_python", ONE], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
        name = f"{inside.parents[1].name}{'' if found['gil'] else ', no GIL'}"
        print(f"{name}: {found['machine']}{', ' + found['why_no_wire'] if 'why_no_wire' in found else ''}", flush=True)
        for what, summary in found.items():
            if what == "at_once":
                at_once += [
                    (
                        f"{name}: {processes}",
                        *(held[key] for key in ("calls", "ticks", "late", "missed", "wire_p99_ms")),
                    )
                    for processes, probes in summary.items()
                    for held in probes
                ]
            elif isinstance(summary, dict):
                rows.append((f"{what}: {name}", *(summary[q] for q in ("p50_us", "p99_us", "p99_9_us", "max_us"))))
    rows.sort(key=lambda row: str(row[0]).partition(":")[0])
    print_table("Lateness by Python, us", ("", "p50", "p99", "p99.9", "max"), rows)
    print_table(
        "Calls at once by Python: the most on time, and the fewest that were not",
        ("", "calls", "ticks", "late", "missed", "packets p99 ms late"),
        at_once,
    )


if __name__ == "__main__":
    if sys.argv[1:] == [ONE]:
        os.environ.setdefault("FDBCORE_LIVE_SECONDS", "20")
        print(json.dumps(measured()))
    elif sys.argv[1:]:
        main(sys.argv[1:])
    else:
        sys.exit("expected Pythons, such as: python -m benchmarks.by_python python3.11 python3.13")
