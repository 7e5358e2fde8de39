"""Commands as a user gives them, and the documents that they print."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from fdbcore.cli.main import main


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


def done(*arguments: object) -> Result:
    """The result of a command that ends well."""
    result = command(*arguments)
    assert result.exit_code == 0, result.output
    return result


def score(*arguments: object) -> Result:
    return command("score", *arguments)


def scored(*arguments: object) -> dict[str, Any]:
    result = score(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    content: dict[str, Any] = json.loads(result.stdout)
    return content
