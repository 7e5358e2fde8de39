"""Files with a few records of the smoke set of Full-Duplex-Bench v3, and runs of them."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from click.testing import Result
from helpers.commands import command

from fdbcore.suites.fdb_v3.scenarios import SMOKE


def some(path: Path, wanted: Collection[str], **changes: object) -> Path:
    """Write a file with these records, in their order in the set. changes: fields of all but the first."""
    content = json.loads(SMOKE.read_text(encoding="utf-8"))
    content["record"] = [record for record in content["record"] if record["id"] in wanted]
    for number, record in enumerate(content["record"]):
        record["audio"]["path"] = str(SMOKE.parent / record["audio"]["path"])
        record.update(changes if number else {})
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def run_words(data: object, out: Path, systems: Mapping[str, str], *more: str) -> list[str]:
    """The words of `fdbcore run --suite fdb-v3` in lockstep."""
    named = [word for name, address in systems.items() for word in ("--system", f"{name}={address}")]
    fixed = ["--suite", "fdb-v3", "--data", str(data), "--clock", "virtual", "--seed", "1", "--out", str(out)]
    return ["run", *fixed, *named, *more]


def run(data: object, out: Path, systems: Mapping[str, str], *more: str, code: int | None = None) -> Result:
    """Run it."""
    return command(*run_words(data, out, systems, *more), code=code, columns=150)
