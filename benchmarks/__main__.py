"""Run all benchmarks, or those named: `python -m benchmarks [pacing resample ...]`. Missed goals are listed last.

`python -m benchmarks voices CLIPS_FOLDER`, `silero CLIPS_FOLDER` and `health CLIPS_FOLDER` need clips, and are run by
their names alone.
`day`, `capacity` and `power` take long, and are run only if they are named.
"""

from __future__ import annotations

import importlib
import sys

from benchmarks.harness import MISSED, machine

NAMES = (
    *("align", "acts", "resample", "fourier", "turns", "detectors", "replay", "corpus", "engine"),
    *("pages", "large", "pacing", "live", "systems", "staged", "coverage", "gate", "tune", "asr"),
)
LONG = ("capacity", "day", "power")
OF_CLIPS = ("voices", "silero", "health")


def main() -> None:
    asked = sys.argv[1:]
    if asked and asked[0] in OF_CLIPS:
        print(machine())
        importlib.import_module(f"benchmarks.bench_{asked[0]}").main(asked[1:])
    else:
        if unknown := set(asked) - {*NAMES, *LONG}:
            sys.exit(f"unknown benchmark {', '.join(sorted(unknown))}: expected some of {', '.join([*NAMES, *LONG])}")
        print(machine())
        for name in asked or NAMES:
            importlib.import_module(f"benchmarks.bench_{name}").main()
    print("\nGoals that were missed:" if MISSED else "\nNo goal was missed.")
    for goal in MISSED:
        print(f"  {goal}")


if __name__ == "__main__":
    main()
