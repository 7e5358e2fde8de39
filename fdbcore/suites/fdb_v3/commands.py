"""What `fdbcore scenarios` does with recorded scenarios: imports a released folder, and checks files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fdbcore.errors import InputError, SettingsError
from fdbcore.protocols.suite import Command, Console
from fdbcore.types import Option

MOST_COLUMNS: Final = 100


def _validate(options: Mapping[str, Any], console: Console) -> bool:
    from fdbcore.suites.fdb_v3 import scenarios, screen

    is_right = True
    for name in options["file"]:
        found, faults = scenarios.look_at(scenarios.SMOKE if name == "smoke" else Path(name))
        for fault in faults:
            console.complain(f"{fault.where}: {fault.reason}")
        if found is not None:
            console.say(screen.summary(found))
        is_right &= not faults
    return is_right


def _import(options: Mapping[str, Any], console: Console) -> bool:
    from msgspec import to_builtins

    from fdbcore.runtime import whole_file
    from fdbcore.suites.fdb_v3 import screen
    from fdbcore.suites.fdb_v3.released.folder import import_folder

    folder: Path = options["path"]
    out: Path = options["out"]
    if out.exists():
        raise SettingsError(f"--out {out}: expected a new file, got one that exists")
    found = import_folder(folder, out, console.show)
    for problem in found.problems:
        console.complain(f"left out: {problem}")
    for name, count in sorted(found.unknown.items()):
        console.complain(f"warning: {name}: not understood, and not read (in {count})")
    file = found.file()
    if not file.record:
        raise InputError(f"{folder}: expected recordings that can be used, got none")
    with whole_file(out) as written:
        written.write(json.dumps(to_builtins(file), ensure_ascii=False, indent=1).encode())
    console.say(screen.summary(file))
    if found.results:
        columns = min(shutil.get_terminal_size((MOST_COLUMNS, 24)).columns, MOST_COLUMNS)
        console.say("\n".join(["", *screen.scores(file.record, found.results, columns), ""]))
    console.say(f"credit: {file.credit}\n{out}")
    return not found.problems


def _reads(path: Path) -> bool:
    """Files of recorded scenarios (.json), and folders with recordings."""
    from fdbcore.suites.fdb_v3.scenarios import holds_scenarios

    return holds_scenarios(path)


COMMANDS: Final = (
    Command(
        "validate",
        """Check files of recorded scenarios: a line for each fault, and exit code 1 if there is one.

        FILE is a .json, or smoke for the set that ships.

        Example: fdbcore scenarios validate smoke
        """,
        (Option("FILE", several=True, required=True),),
        _validate,
        group="scenarios",
        reads=_reads,
    ),
    Command(
        "import",
        """Import the released folder of Full-Duplex-Bench v3.

        It has recordings, with the calls that are expected, as released and repaired; results of systems that lie
        beside them are scored as published. Recordings stay where they are.

        Example (needs the released folder): fdbcore scenarios import fdb_v3_data_released --out fdb3.json
        """,
        (
            Option("PATH", kind="path", required=True),
            Option("--out", "The file to write.", kind="path", metavar="FILE", required=True),
        ),
        _import,
        group="scenarios",
        reads=_reads,
    ),
)
