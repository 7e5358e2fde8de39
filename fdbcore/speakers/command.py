"""Any synthesiser that is a command: the text on its standard input, a WAV file on its standard output."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.errors import AudioError, InputError, SettingsError
from fdbcore.protocols import Speaker
from fdbcore.redaction import without_secrets
from fdbcore.speakers.folder import read_mono

TIMEOUT_S: Final = 120
"""For one text; a command that loads a model loads it for each."""

_MOST_CHARACTERS: Final = 200


def command(rest: str) -> Command:
    """The speaker of "exec:COMMAND ARGUMENT ...", split as by a shell; timeout_s=120 may precede the command."""
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise SettingsError(f"tts: exec: {error}") from None
    timeout_s = str(TIMEOUT_S)
    if words and words[0].startswith("timeout_s="):
        timeout_s = words.pop(0).partition("=")[2]
    if not (timeout_s.isascii() and timeout_s.isdigit() and int(timeout_s)):
        raise SettingsError(f"timeout_s: expected a whole number of at least 1, got {timeout_s!r}")
    if not words:
        raise SettingsError("tts: expected exec:COMMAND, got no command")
    return Command(words, int(timeout_s))


class Command(Speaker):
    """A process a text, in a group of its own, of which nothing is left once it has spoken.

    timeout_s: what each text is given.
    """

    def __init__(self, arguments: Sequence[str], timeout_s: float = TIMEOUT_S) -> None:
        self._arguments = list(arguments)
        self._timeout_s = timeout_s

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """What the command writes for `text` (UTF-8, without a newline).

        InputError where that is no audio, the command fails or takes too long; SettingsError if there is no such
        command.
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
        """What the command wrote to its standard output and error."""
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(self._arguments, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0)
        except OSError as error:
            raise SettingsError(f"exec: {self._arguments[0]}: {error.strerror}") from None
        try:
            stdout, stderr = process.communicate(text.encode(), self._timeout_s)
        except subprocess.TimeoutExpired as late:
            raise self._error(f"none within {self._timeout_s:g} s", late.stderr or b"") from None
        finally:
            _end(process)
        if process.returncode:
            raise self._error(_status(process.returncode), stderr)
        return stdout, stderr

    def _error(self, got: str, stderr: bytes) -> InputError:
        lines = stderr.decode(errors="replace").strip().splitlines()
        last = f": {lines[-1][:_MOST_CHARACTERS]}" if lines else ""
        return InputError(f"exec: {self._arguments[0]}: expected a WAV on its standard output, got {got}{last}")


def _status(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"an end by {signal.Signals(-code).name}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of its group: others of it may hold the pipes open."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):  # what was not read yet
                pipe.close()
