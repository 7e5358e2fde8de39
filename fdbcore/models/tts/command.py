"""A synthesiser that is a command: it reads the text on standard input and writes a WAV file to standard output."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from subprocess import PIPE
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.clock import now_ns
from fdbcore.errors import AudioError, InputError, SettingsError
from fdbcore.models.tts.alive import MOST_BYTES, LineSpeaker
from fdbcore.models.tts.folder import read_mono
from fdbcore.protocols import Speaker
from fdbcore.runtime.address import Setting, command_of
from fdbcore.runtime.redaction import without_secrets

TIMEOUT_S: Final = 120
"""The time limit for one text. A command that loads a model loads it for each text."""

_MOST_CHARACTERS: Final = 200
_CHUNK_BYTES: Final = 1 << 16
_KEPT_BYTES: Final = 4096  # the end of its standard error, whose last line an error message quotes


SETTINGS: Final = (
    Setting("timeout_s", "for each text", int, TIMEOUT_S, unit="s", least=1),
    Setting("alive", "whether one process speaks all texts, a line each", bool, False),
)


def command(address: str) -> Speaker:
    """The speaker "exec:COMMAND ARGUMENT ...", split as a shell splits it. SETTINGS may precede the command."""
    words, settings = command_of(address, SETTINGS)
    return (LineSpeaker if settings["alive"] else CommandSpeaker)(words, settings["timeout_s"])


class CommandSpeaker(Speaker):
    """Runs the command once per text, in a process group that is always killed and reaped.

    arguments: the words of the command. timeout_s: the time limit for each text.
    """

    def __init__(self, arguments: Sequence[str], timeout_s: float = TIMEOUT_S) -> None:
        self._arguments = list(arguments)
        self._timeout_s = timeout_s

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """The audio that the command writes for `text`, mono int16 (n,), and its rate in Hz.

        The command gets the text in UTF-8, without a newline. InputError if it writes no audio or too much, if it
        fails, or if it takes too long; SettingsError if there is no such command.
        """
        stdout, stderr = self._output(text)
        if not stdout:
            raise self._error("nothing", stderr)
        with NamedTemporaryFile(suffix=".wav") as file:
            file.write(stdout)
            file.flush()
            try:
                return read_mono(Path(file.name))
            except AudioError as error:
                raise self._error(str(error).rpartition(", got ")[2], stderr) from None

    def describe(self) -> Mapping[str, Any]:
        """The command, without the values of arguments whose names suggest a secret."""
        return {"kind": "exec", "command": without_secrets(self._arguments)}

    def _output(self, text: str) -> tuple[bytes, bytes]:
        """The standard output of the command, and the end of its standard error."""
        with TemporaryFile() as stdin:  # a file, so that a command which does not read cannot block us
            stdin.write(text.encode())
            stdin.seek(0)
            try:
                process = subprocess.Popen(self._arguments, stdin=stdin, stdout=PIPE, stderr=PIPE, process_group=0)
            except OSError as error:
                raise SettingsError(f"exec: {self._arguments[0]}: {error.strerror}") from None
        output, errors = bytearray(), bytearray()
        try:
            for pipe, chunk in _chunks(process, self._timeout_s):
                if pipe is process.stderr:
                    errors[:] = (errors + chunk)[-_KEPT_BYTES:]
                    continue
                output += chunk
                if len(output) > MOST_BYTES:
                    raise self._error(f"more than {MOST_BYTES:,} bytes", errors)
        except subprocess.TimeoutExpired:
            raise self._error(f"none within {self._timeout_s:g} s", errors) from None
        finally:
            _kill_group(process)
        if code := process.returncode:
            status = f"exit code {code}" if code > 0 else f"an end by {signal.Signals(-code).name}"
            raise self._error(status, errors)
        return bytes(output), bytes(errors)

    def _error(self, got: str, stderr: bytes | bytearray) -> InputError:
        lines = stderr.decode(errors="replace").strip().splitlines()
        last = f": {lines[-1][:_MOST_CHARACTERS]}" if lines else ""
        return InputError(f"exec: {self._arguments[0]}: expected a WAV on its standard output, got {got}{last}")


def _chunks(process: subprocess.Popen[bytes], timeout_s: float) -> Iterator[tuple[object, bytes]]:
    """Each pipe and chunk that the process writes, until it has ended. TimeoutExpired if it is too slow."""
    deadline_ns = now_ns() + round(1e9 * timeout_s)
    with DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            selector.register(pipe, EVENT_READ)  # type: ignore[arg-type]  # both are pipes
        while selector.get_map():
            ready = selector.select(max(0, deadline_ns - now_ns()) / 1e9)
            if not ready:
                raise subprocess.TimeoutExpired(process.args, timeout_s)
            for key, _ in ready:
                if chunk := os.read(key.fd, _CHUNK_BYTES):
                    yield key.fileobj, chunk
                else:
                    selector.unregister(key.fileobj)
    process.wait(max(0, deadline_ns - now_ns()) / 1e9)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill and reap the process and its children, which could keep the pipes open."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
