"""The tools of a JSON file: schemas, each with a command that does what the tool does.

    [{"name": "track_order", "description": "Where an order is.", "command": "python track.py",
      "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}}]

A command gets the arguments as JSON on its standard input, and prints the result: a JSON value, or a text. It runs in
the folder of the file. Its words are split as by a shell, but no shell runs.
"""

import asyncio
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from fdbcore.errors import InputError
from fdbcore.runtime.address import Setting, typed_values
from fdbcore.runtime.json_values import json_value
from fdbcore.runtime.whole_files import read_whole
from fdbcore.types.tools import MOST_RESULT_BYTES, Tool
from fdbcore.worlds.runnable import Runnable

NAME: Final = re.compile(r"[\w-]{1,64}", re.ASCII)
"""Names of tools that vendors take."""

_BLOCK_BYTES: Final = 64 * 1024
_MOST_SAID_BYTES: Final = 500  # of the last words on standard error

_TEXTS: Final = (
    Setting(
        "name", "of the tool", form="letters, digits, _ and -, at most 64", fits=lambda text: bool(NAME.fullmatch(text))
    ),
    Setting("description", "what it does"),
    Setting("command", "what is run"),
    Setting("type", "as vendors write it", choices=("function",)),
)


def commands_in(path: Path) -> dict[str, Runnable]:
    """The tools of a JSON file, by name. InputError if it is not as the module describes."""
    try:
        content = json_value(read_whole(path))
    except OSError as error:
        raise InputError(f"{path}: expected a list of tools, got: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: expected a list of tools as JSON, got: {error}") from None
    if not isinstance(content, list) or not content or not all(isinstance(each, dict) for each in content):
        raise InputError(f"{path}: expected a list of tools, each an object, got something else")
    found: dict[str, Runnable] = {}
    for number, given in enumerate(content, 1):
        runnable = _runnable(f"{path}: tool {number}", given, path.resolve().parent)
        if runnable.tool.name in found:
            raise InputError(f"{path}: tool {number}: expected another name, got {runnable.tool.name} twice")
        found[runnable.tool.name] = runnable
    return found


def _runnable(where: str, given: Mapping[str, Any], folder: Path) -> Runnable:
    parameters = given.get("parameters", {"type": "object", "properties": {}})
    texts = typed_values(where, {name: value for name, value in given.items() if name != "parameters"}, _TEXTS)
    if missing := [name for name in ("name", "description", "command") if texts[name] is None]:
        raise InputError(f"{where}: expected a {missing[0]}, got none")
    _check_schema(where, parameters)
    try:
        words = shlex.split(texts["command"])
    except ValueError as error:
        raise InputError(f"{where}: command: {error}") from None
    if not words:
        raise InputError(f"{where}: command: expected a command, got an empty text")
    tool = Tool(texts["name"], texts["description"], parameters)
    return Runnable(tool, partial(_run, words, folder), is_async=True)


def _check_schema(where: str, parameters: object) -> None:
    from jsonschema import Draft202012Validator, SchemaError

    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        raise InputError(f'{where}: parameters: expected a JSON Schema with "type": "object"')
    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError as error:
        raise InputError(f"{where}: parameters: expected a JSON Schema, got: {error.message}") from None


async def _run(words: Sequence[str], folder: Path, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The output of the command. InputError if it cannot be started, prints too much, or exits with an error."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder)
    except OSError as error:
        raise InputError(f"{words[0]}: {error.strerror}") from None
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        process.stdin.write(msgspec.json.encode(arguments))
        process.stdin.close()
        printed, said = await asyncio.gather(_read(process.stdout), _last_said(process.stderr))
        code = await process.wait()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    if code != 0:
        raise InputError(f"{words[0]}: exited with code {code}{f': {said}' if said else ''}")
    try:
        return json_value(printed)
    except ValueError:
        return printed.decode(errors="replace").strip()


async def _read(stdout: asyncio.StreamReader) -> bytes:
    """All of a command's output. InputError if it is too long."""
    printed = b""
    while block := await stdout.read(_BLOCK_BYTES):
        printed += block
        if len(printed) > MOST_RESULT_BYTES:
            raise InputError(f"expected a result of at most {MOST_RESULT_BYTES} bytes, got more")
    return printed


async def _last_said(stderr: asyncio.StreamReader) -> str:
    """The last line that a command writes to standard error."""
    said = b""
    while block := await stderr.read(_BLOCK_BYTES):
        said = (said + block)[-_MOST_SAID_BYTES:]
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
