"""What all commands share: where keys and tokens come from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SHOW = "import os, sys; from fdbcore.cli.main import main; sys.argv = ['fdbcore', 'export', '--help']\n"
SHOW += "try: main()\nfinally: print(os.environ['FDBCORE_TOKEN'][::-1], file=sys.stderr)"


def told(folder: Path, environment: dict[str, str], file: str) -> list[str]:
    """The lines of a command's standard error, the last of which is the token.

    It is printed backwards, and read so: as it is, a command shows no token.
    """
    (folder / ".env").write_text(file)
    known = {key: value for key, value in os.environ.items() if key != "FDBCORE_TOKEN"} | environment
    done = subprocess.run([sys.executable, "-c", SHOW], cwd=folder, env=known, capture_output=True, text=True)
    *lines, last = done.stderr.splitlines()
    return [*lines, last[::-1]]


def token_seen(folder: Path, environment: dict[str, str]) -> str:
    return told(folder, environment, "FDBCORE_TOKEN=from-the-file\n")[-1]


def test_tokens_come_from_the_environment_or_else_from_a_file(tmp_path: Path) -> None:
    assert token_seen(tmp_path, {}) == "from-the-file"
    assert token_seen(tmp_path, {"FDBCORE_TOKEN": "from-outside"}) == "from-outside"


def test_a_line_that_is_no_token_is_named_and_never_shown(tmp_path: Path) -> None:
    lines = told(tmp_path, {}, "# keys\nhush='open\nFDBCORE_TOKEN=from-the-file\n")
    assert lines == ["fdbcore: .env, line 2: expected NAME=VALUE, left out", "from-the-file"]
