"""The published figures held against the scripts themselves: `FDB_REFERENCE=CHECKOUT make reference`.

    python -m reference PYTHON [--write]

CHECKOUT is a checkout of the benchmark's repository, which lies outside of this one: nothing of it is copied, kept or
changed. PYTHON is that of an environment with what its scripts import. Made sets are scored by both, and each figure is
said to be equal, to differ, or to be missing. --write keeps what the scripts gave in golden.json, which the tests hold
without a checkout.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fakes.fake_openai import FakeOpenAI
from reference import held, sets
from reference.ours import values

NEEDED = ("v1_v1.5/evaluation/eval_backchannel.py", "v2/scoring/parse.py")
V3 = "evaluate_tool_calls.py"


def main() -> int:
    """The exit code: 1 if any figure differs or is missing without a choice."""
    named = os.environ.get("FDB_REFERENCE")
    if not named:
        print("not run: FDB_REFERENCE names no checkout of github.com/DanielLin94144/Full-Duplex-Bench")
        return 0
    checkout = Path(named).resolve()
    if lacking := [each for each in NEEDED if not (checkout / each).is_file()]:
        print(f"FDB_REFERENCE: expected {lacking[0]} in {checkout}, found none")
        return 2
    os.environ[FakeOpenAI.VARIABLE] = FakeOpenAI.KEY
    found: dict[tuple[str, str], held.Comparison] = {}
    golden: dict[str, Any] = {"versions": {}, "sets": {}}
    for name in held.SETS:
        print(f"--- set {name}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as place:
            folder = held.made(name, Path(place) / "set")
            command = [sys.argv[1], "-W", "ignore", "-m", "reference.scripts", str(checkout), str(folder)]
            done = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            given = _rounded(done["values"])
            held.compared(given, values(folder, Path(place) / "out"), held.names_of(folder), found)
            golden["versions"] = done["versions"]
            golden["sets"][name] = {"digest": sets.digest(folder), "values": given}
    if "--write" in sys.argv:
        held.GOLDEN.write_text(json.dumps(golden, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    _tell(found, golden["versions"])
    has_v3 = next(checkout.rglob(V3), None) is not None
    print(f"v3: not run: {'nothing here runs its scripts' if has_v3 else 'its scripts are not in this checkout'}")
    return int(any(each.differ or each.missing for each in found.values()))


def _tell(found: Mapping[tuple[str, str], held.Comparison], versions: Mapping[str, str]) -> None:
    print(*held.table(found), sep="\n")
    for each in found.values():
        if samples := [*each.differ, *each.missing]:
            print(f"{each.part}, {each.metric}: {', '.join(samples)}")
    choices = {why: samples for each in found.values() for why, samples in each.chosen.items()}
    for why in choices:
        print(f"by choice: {why}")
    print("stand-ins: the judges, UTMOS; not asked: SQuIM; recognised words are made with the sets")
    print(", ".join(f"{name} {version}" for name, version in versions.items()))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
