"""Takes secrets, and nothing else, from the file `.env` of the current folder, which may come from somebody else."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import click

from fdbcore.runtime.address import KEY_VARIABLE

_SECRET: Final = re.compile(r".*_(?:KEY|TOKEN|SECRET)|AWS_ACCESS_KEY_ID")
_NEVER: Final = re.compile(r"(?:LD|DYLD|XDG|FDBCORE)_(?!TOKEN$).*|PYTHON.*|.*(?:PROXY|URL)", re.IGNORECASE)
"""Variables that decide which code runs, where files lie and who is asked, whatever else a name looks like."""
_NAMED: Final = re.compile(rf"\b{KEY_VARIABLE.name}=([^&\s]+)")
_SHOWABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*|[a-z_][a-z0-9_]*", re.ASCII)
"""Other names may be parts of a secret that stands there by mistake."""
_MOST_BYTES: Final = 65_536
"""Of the file: Linux starts no process with a variable of twice that length."""


def take_secrets(path: Path, typed: Iterable[str]) -> None:
    """Set the environment variables of `path` that hold secrets; the environment has priority.

    Those are called so, or named by an address among the `typed` words. What is left out is told, without its value.
    """
    from dotenv.parser import parse_stream

    named = {unquote(name) for word in typed for name in _NAMED.findall(word)}
    found: dict[str, str] = {}
    left_out: list[str] = []
    if path.stat().st_size > _MOST_BYTES:
        click.echo(f"fdbcore: {path}: expected at most {_MOST_BYTES:,} bytes, left out as a whole", err=True)
        return
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in parse_stream(file):
            name, value = line.key, line.value
            if name is None and not line.error:  # a comment
                continue
            if name is None or value is None or "\0" in f"{name}{value}":
                click.echo(f"fdbcore: {path}, line {line.original.line}: expected NAME=VALUE, left out", err=True)
            elif _NEVER.fullmatch(name) or not (name in named or _SECRET.fullmatch(name)):
                left_out.append(name if _SHOWABLE.fullmatch(name) else f"line {line.original.line}")
            else:
                found[name] = value
    if left_out:
        names = ", ".join(dict.fromkeys(left_out))
        click.echo(f"fdbcore: {path}: expected secrets alone (*_KEY, *_TOKEN, *_SECRET), left out {names}", err=True)
    for name, value in found.items():
        os.environ.setdefault(name, value)
