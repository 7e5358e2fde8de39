"""The tools of a file: a Python file of functions, or a JSON file of schemas, each with a command.

    file:tools.py?latency=normal&timeout_s=10

`fdbcore.worlds.host` runs them, in a process of its own.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from fdbcore.errors import InputError, SettingsError
from fdbcore.runtime.address import parsed
from fdbcore.runtime.guard import Guard
from fdbcore.runtime.json_values import json_value, parsed_json
from fdbcore.runtime.network import await_result
from fdbcore.runtime.process_group import GRACE_S, end_group, exit_status
from fdbcore.runtime.whole_files import read_whole
from fdbcore.types.tools import MOST_RESULT_BYTES, Tool
from fdbcore.worlds.function_world import SETTINGS, SetWorld

START_S: Final = 30.0
"""Time that the file may take to load."""

_CLOSE_S: Final = 4 * GRACE_S


def tools_file(address: str) -> "ToolsFile":
    """The world "file:PATH?SETTINGS". SettingsError if there is no such file, or for a wrong setting."""
    _, place, settings = parsed(address, SETTINGS, file=True)
    return ToolsFile(Path(place), **settings)


class ToolsFile(SetWorld):
    """The tools of a file, in a process that is started by `open` and ended by `close`.

    latency, faults: as the settings of an address have them.
    """

    def __init__(self, path: Path, latency: str = "instant", timeout_s: float = 30.0, faults: str = "") -> None:
        try:
            content = read_whole(path)
        except OSError as error:
            raise SettingsError(f"{path}: expected a Python or a JSON file, got: {error.strerror}") from None
        super().__init__(latency, timeout_s, faults)
        self._path, self._sha256 = path, sha256(content).hexdigest()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._number = 0
        self._ended = ""  # the reason why the process will answer no more

    def open(self) -> None:
        """Start the process and wait until it has loaded the file. SettingsError if the file cannot be used."""
        super().open()
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "fdbcore.worlds.host", str(self._path)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                process_group=0,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._guard = Guard(self._process.pid)
        try:
            told = await_result(self._load(ours), START_S)
        except TimeoutError:
            raise SettingsError(f"{self._path}: expected it to load within {START_S:g} s, but it has not") from None
        if "error" in told:
            raise SettingsError(str(told["error"]))
        self.tools = tuple(Tool(**tool) for tool in told["tools"])

    async def _load(self, ours: socket.socket) -> dict[str, Any]:
        reader, self._writer = await asyncio.open_unix_connection(sock=ours, limit=2 * MOST_RESULT_BYTES)
        assert self._process is not None
        told: dict[str, Any]
        if line := await reader.readline():
            told = json_value(line)
        else:
            status = await exit_status(self._process, GRACE_S)
            told = {"error": f"{self._path}: the process that loads it {status or 'closed its output'}"}
        self._reading = asyncio.create_task(self._read(reader))
        return told

    async def _read(self, reader: asyncio.StreamReader) -> None:
        """Hand over the answers of the process until it ends."""
        assert self._process is not None
        while line := await reader.readline():
            answer = parsed_json(line)
            waiting = self._waiting.get(answer["number"])
            if waiting is None or waiting.done():  # it was given up meanwhile
                continue
            if "error" in answer:
                waiting.set_exception(InputError(answer["error"]))
            else:
                waiting.set_result(answer["result"])
        status = await exit_status(self._process, GRACE_S)
        self._ended = f"the process of the tools {status or 'closed its output'}"
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(InputError(self._ended))

    async def _run(self, name: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401
        assert self._writer is not None
        if self._ended:
            raise InputError(self._ended)
        self._number = number = self._number + 1
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"number": number, "name": name, "arguments": arguments})
        try:
            return await answer
        except asyncio.CancelledError:
            self._send({"number": number, "abandon": True})
            raise
        finally:
            del self._waiting[number]

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._writer is not None
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    def describe(self) -> Mapping[str, Any]:
        """The file with its hash, the settings, and the tools, as JSON values."""
        return self._described(kind="file", path=os.path.abspath(self._path), sha256=self._sha256)

    def close(self) -> None:
        """End the process and all that its tools have started. Calls that still run fail."""
        if self._process is None:
            return
        try:
            await_result(self._part(self._process), _CLOSE_S)
        finally:
            if self._guard is not None:
                self._guard.release()

    async def _part(self, process: subprocess.Popen[bytes]) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
        if self._reading is not None:
            await self._reading
        await end_group(process, (signal.SIGKILL,))
