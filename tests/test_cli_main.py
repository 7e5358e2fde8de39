"""What all commands share: where keys and tokens come from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SHOW = "import os, sys; from fdbcore.cli.main import main; sys.argv = ['fdbcore', 'export', '--help']\n"
SHOW += "try: main()\nfinally: print(os.environ['FDBCORE_TOKEN'], file=sys.stderr)"


def token_seen(folder: Path, environment: dict[str, str]) -> str:
    (folder / ".env").write_text("FDBCORE_TOKEN=from-the-file\n")
    known = {key: value for key, value in os.environ.items() if key != "FDBCORE_TOKEN"} | environment
    done = subprocess.run([sys.executable, "-c", SHOW], cwd=folder, env=known, capture_output=True, text=True)
    return done.stderr.splitlines()[-1]


def test_tokens_come_from_the_environment_or_else_from_a_file(tmp_path: Path) -> None:
    assert token_seen(tmp_path, {}) == "from-the-file"
    assert token_seen(tmp_path, {"FDBCORE_TOKEN": "from-outside"}) == "from-outside"
