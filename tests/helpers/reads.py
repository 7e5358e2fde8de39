"""How often a command, with all its processes, opens each file of a recording for reading."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

PARTS: Final = frozenset(
    {"meta.json", "events.jsonl", "activity.npz", "turns.json", "health.json", "labels.json", "marks.json", "A.json"}
    | {"B.json", "quantities.json", "scores.json"}
)
_HOOK: Final = """
import os, sys

def told(event, values):
    if event == "open" and isinstance(values[0], (str, bytes)) and not (values[2] or 0) & (os.O_WRONLY | os.O_RDWR):
        name = os.fsdecode(values[0])
        if os.path.basename(name) in {parts}:
            os.write(log, os.path.abspath(name).encode() + b"\\n")

log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(told)
"""


def reads(arguments: list[str], folder: Path, hooks: Path) -> Counter[str]:
    """How often `fdbcore` with these arguments opens each file of a recording, by its path below `folder`.

    hooks: a folder for what tells of it.
    """
    hooks.mkdir()
    log = hooks / "opened"
    log.touch()
    (hooks / "sitecustomize.py").write_text(_HOOK.format(log=str(log), parts=set(PARTS)))
    environment = os.environ | {"PYTHONPATH": str(hooks)}
    command = [sys.executable, "-m", "fdbcore.cli", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Counter(os.path.relpath(path, folder) for path in log.read_text().splitlines())
