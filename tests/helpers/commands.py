"""Commands as a user gives them, and the documents that they print."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from fdbcore.cli.main import main


def command(*arguments: object, code: int | None = None, columns: int | None = None) -> Result:
    """code: the exit code that it must have. columns: the width of the terminal."""
    environment = None if columns is None else {"COLUMNS": str(columns)}
    result = CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False, env=environment)
    assert code in (None, result.exit_code), result.output
    return result


def started(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """The command in a session of its own, as a terminal starts it. options: of Popen."""
    words, pipe = [sys.executable, "-m", "fdbcore.cli", *map(str, arguments)], subprocess.PIPE
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, start_new_session=True, **options)


def is_running(pid: int | str) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def done(*arguments: object) -> Result:
    """The result of a command that ends well."""
    return command(*arguments, code=0)


def refused(*arguments: object) -> str:
    """What is said of a command that asks for what cannot be, however wide the screen is."""
    said = " ".join(command(*arguments, code=2).output.split())
    assert "Traceback" not in said
    return said


def printed(*arguments: object, code: int | None = 0) -> dict[str, Any]:
    """What a command prints as JSON."""
    content: dict[str, Any] = json.loads(command(*arguments, "--json", code=code).stdout)
    return content


def score(*arguments: object) -> Result:
    return command("score", *arguments)


def scored(*arguments: object) -> dict[str, Any]:
    return printed("score", *arguments)


def report(*arguments: object, code: int | None = None) -> Result:
    return command("report", *arguments, code=code)


def agree(*arguments: object, code: int | None = None) -> Result:
    return command("agree", *arguments, code=code)
