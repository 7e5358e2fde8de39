"""The process that runs the tools of a file: `python -m fdbcore.worlds.host FILE`, its standard input a socket.

It sends {"tools": [...]}, or {"error": ...} and ends. It then takes {"number", "name", "arguments"}, and answers with
{"number", "result"} or {"number", "error"} as each call ends; {"number", "abandon"} ends a call without an answer. Each
message is a line. When the socket closes, it ends at once, whatever still runs. What the tools print goes to standard
error.

Python functions run one at a time, in the order of the calls, on threads; functions with `async def`, and commands, run
beside each other.
"""

import asyncio
import os
import socket
import sys
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec

from fdbcore.errors import FdbError, InputError
from fdbcore.runtime.json_values import json_value
from fdbcore.runtime.redaction import write_no_secrets
from fdbcore.types.tools import MOST_RESULT_BYTES
from fdbcore.worlds.commands import commands_in
from fdbcore.worlds.functions import functions_in
from fdbcore.worlds.runnable import Runnable

_MOST_THREADS: Final = 256  # a function that never ends keeps its thread
_MOST_LINE_BYTES: Final = 16 * 1024 * 1024
_MOST_REASON_CHARACTERS: Final = 1000


def main() -> None:
    """Load the file, and answer calls until the socket closes."""
    connection = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    write_no_secrets()
    asyncio.run(_serve(Path(sys.argv[1]), connection))


async def _serve(path: Path, connection: socket.socket) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=_MOST_LINE_BYTES)
    try:
        tools = commands_in(path) if path.suffix.lower() == ".json" else functions_in(path)
    except FdbError as error:
        writer.write(_line({"error": _told(str(error))}))
        await writer.drain()
        return
    writer.write(_line({"tools": [each.tool.to_json() for each in tools.values()]}))
    turn = asyncio.Lock()
    threads = ThreadPoolExecutor(_MOST_THREADS)
    running: dict[int, asyncio.Task[None]] = {}

    async def answer(number: int, runnable: Runnable, arguments: Mapping[str, Any]) -> None:
        try:
            if runnable.is_async:
                value = await runnable.run(arguments)
            else:
                async with turn:  # asyncio's locks are given in the order in which they are asked for
                    value = await asyncio.get_running_loop().run_in_executor(threads, runnable.run, arguments)
            writer.write(_line({"number": number, "result": _checked(value)}))
        except Exception as error:
            if not isinstance(error, FdbError):
                traceback.print_exc()
            kind = "" if isinstance(error, FdbError) else f"{type(error).__name__}: "
            writer.write(_line({"number": number, "error": _told(f"{kind}{error}")}))
        finally:
            del running[number]

    while line := await reader.readline():
        message = msgspec.json.decode(line)
        number = message["number"]
        if "abandon" in message:
            if number in running:
                running[number].cancel()
            continue
        running[number] = asyncio.create_task(answer(number, tools[message["name"]], message["arguments"]))
    os._exit(0)  # a normal exit would wait for the threads


def _told(reason: str) -> str:
    """A reason in one line of limited length that can be encoded."""
    return " ".join(reason[:_MOST_REASON_CHARACTERS].encode(errors="replace").decode().split())


def _line(message: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def _checked(value: object) -> msgspec.Raw:
    """The value as JSON. InputError if it has no such form, or a too long one."""
    try:
        encoded = msgspec.json.encode(value)
        json_value(encoded)
    except (TypeError, ValueError) as error:
        raise InputError(f"expected a JSON value as its result, got {type(value).__name__} ({error})") from None
    if len(encoded) > MOST_RESULT_BYTES:
        raise InputError(f"expected a result of at most {MOST_RESULT_BYTES} bytes, got {len(encoded)}")
    return msgspec.Raw(encoded)


if __name__ == "__main__":
    main()
