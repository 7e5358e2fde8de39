"""Any synthesiser that is a command: the text on its standard input, a WAV file on its standard output."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.clock import now_ns
from fdbcore.errors import AudioError, InputError, SettingsError
from fdbcore.models.tts.folder import read_mono
from fdbcore.protocols import Speaker
from fdbcore.runtime.address import Setting, command_of
from fdbcore.runtime.redaction import without_secrets

TIMEOUT_S: Final = 120
"""For one text; a command that loads a model loads it for each."""

MOST_BYTES: Final = 600 * 48_000 * 4
"""What a command may write for one text: 10 minutes of 48 kHz, 16 bit, stereo."""

_MOST_CHARACTERS: Final = 200
_CHUNK_BYTES: Final = 1 << 16
_KEPT_BYTES: Final = 4096  # of its standard error, whose last line is told


SETTINGS: Final = (Setting("timeout_s", "for each text", int, TIMEOUT_S, unit="s", least=1),)


def command(address: str) -> CommandSpeaker:
    """The speaker of "exec:COMMAND ARGUMENT ...", split as by a shell; SETTINGS may precede the command."""
    words, settings = command_of(address, SETTINGS)
    return CommandSpeaker(words, **settings)


class CommandSpeaker(Speaker):
    """A process a text, in a group of its own, of which nothing is left once it has spoken.

    timeout_s: what each text is given.
    """

    def __init__(self, arguments: Sequence[str], timeout_s: float = TIMEOUT_S) -> None:
        self._arguments = list(arguments)
        self._timeout_s = timeout_s

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """What the command writes for `text` (UTF-8, without a newline).

        InputError where that is no audio or too much, the command fails or takes too long; SettingsError if there is
        no such command.
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
        """The command; what follows a name like key or token is hidden."""
        return {"kind": "exec", "command": without_secrets(self._arguments)}

    def _output(self, text: str) -> tuple[bytes, bytes]:
        """What the command wrote to its standard output, and the last of what it wrote to its standard error."""
        with TemporaryFile() as given:
            given.write(text.encode())
            given.seek(0)
            process = self._begin(given)
        found, errors = bytearray(), bytearray()
        try:
            for pipe, chunk in _chunks(process, self._timeout_s):
                if pipe is process.stderr:
                    errors[:] = (errors + chunk)[-_KEPT_BYTES:]
                    continue
                found += chunk
                if len(found) > MOST_BYTES:
                    raise self._error(f"more than {MOST_BYTES:,} bytes", errors)
        except subprocess.TimeoutExpired:
            raise self._error(f"none within {self._timeout_s:g} s", errors) from None
        finally:
            _end(process)
        if process.returncode:
            raise self._error(_status(process.returncode), errors)
        return bytes(found), bytes(errors)

    def _begin(self, given: IO[bytes]) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(self._arguments, stdin=given, stdout=pipe, stderr=pipe, process_group=0)
        except OSError as error:
            raise SettingsError(f"exec: {self._arguments[0]}: {error.strerror}") from None

    def _error(self, got: str, stderr: bytes | bytearray) -> InputError:
        lines = stderr.decode(errors="replace").strip().splitlines()
        last = f": {lines[-1][:_MOST_CHARACTERS]}" if lines else ""
        return InputError(f"exec: {self._arguments[0]}: expected a WAV on its standard output, got {got}{last}")


def _status(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"an end by {signal.Signals(-code).name}"


def _chunks(process: subprocess.Popen[bytes], timeout_s: float) -> Iterator[tuple[object, bytes]]:
    """What comes from the pipes of a process, as it comes, until it has ended; TimeoutExpired if that is late."""
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of its group: others of it may hold the pipes open."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
