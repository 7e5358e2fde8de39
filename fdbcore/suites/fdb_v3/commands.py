"""What `fdbcore scenarios` does with recorded scenarios: imports a released folder, and checks files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fdbcore.errors import InputError
from fdbcore.protocols.suite import Console
from fdbcore.runtime.whole_files import whole_file
from fdbcore.suites.fdb_v3 import reading, screen
from fdbcore.suites.fdb_v3.released import import_folder

MOST_COLUMNS: Final = 100


def validate_recorded(names: Sequence[str], console: Console) -> bool:
    """Check files of recorded scenarios, a line for each fault; whether there is none."""
    is_right = True
    for name in names:
        found, faults = reading.look_at(Path(name))
        for fault in faults:
            console.complain(f"{fault.where}: {fault.reason}")
        if found is not None:
            console.say(screen.summary(found))
        is_right &= not faults
    return is_right


def import_recorded(folder: Path, out: Path, console: Console) -> bool:
    """Write the recorded scenarios of a folder to `out`, and score the results in it; whether all could be used."""
    found = import_folder(folder, out, console.show)
    for problem in found.problems:
        console.complain(f"left out: {problem}")
    for name, count in sorted(found.unknown.items()):
        console.complain(f"warning: {name}: not understood, and not read (in {count})")
    file = found.file()
    if not file["record"]:
        raise InputError(f"{folder}: expected recordings that can be used, got none")
    with whole_file(out) as written:
        written.write(json.dumps(file, ensure_ascii=False, indent=1).encode())
    console.say(screen.summary(file))
    if found.results:
        columns = min(shutil.get_terminal_size((MOST_COLUMNS, 24)).columns, MOST_COLUMNS)
        console.say("\n".join(["", *screen.scores(file["record"], found.results, columns), ""]))
    console.say(f"credit: {file['credit']}\n{out}")
    return not found.problems
