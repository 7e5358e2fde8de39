"""Run all benchmarks, or those named: `python -m benchmarks [pacing resample ...]`. Missed goals are listed last.

`python -m benchmarks voices CLIPS_FOLDER` needs clips, and is run by its name alone.
"""

from __future__ import annotations

import importlib
import sys

from benchmarks.harness import MISSED, machine

NAMES = (
    *("align", "acts", "resample", "turns", "replay", "corpus"),
    *("pages", "pacing", "live", "systems", "staged", "coverage", "gate", "asr"),
)


def main() -> None:
    if sys.argv[1:2] == ["voices"]:
        print(machine())
        importlib.import_module("benchmarks.bench_voices").main(sys.argv[2:])
        return
    unknown = set(sys.argv[1:]) - set(NAMES)
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(sorted(unknown))}: expected some of {', '.join(NAMES)}")
    print(machine())
    for name in sys.argv[1:] or NAMES:
        importlib.import_module(f"benchmarks.bench_{name}").main()
    print("\nGoals that were missed:" if MISSED else "\nNo goal was missed.")
    for goal in MISSED:
        print(f"  {goal}")


if __name__ == "__main__":
    main()
