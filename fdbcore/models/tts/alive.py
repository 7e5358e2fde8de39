"""A synthesiser that is a command and stays alive between texts, so that it loads its model once.

It reads a text a line on its standard input (UTF-8), and answers each by one line on its standard output: the path of a
WAV file, or the number of bytes of a WAV that follows right after that line. It ends when its input ends.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from signal import SIGKILL
from subprocess import PIPE
from tempfile import NamedTemporaryFile
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.clock import now_ns
from fdbcore.errors import AudioError, InputError, SettingsError
from fdbcore.models.tts.folder import read_mono
from fdbcore.protocols import Speaker
from fdbcore.runtime.process_group import signal_group
from fdbcore.runtime.redaction import without_secrets

MOST_BYTES: Final = 600 * 48_000 * 4
"""How much a command may write for one text: 10 minutes of 48 kHz, 16 bit, stereo."""
MOST_LINE_BYTES: Final = 1 << 16


class LineSpeaker(Speaker):
    """See the module. Threads may share it. timeout_s: for each text; for the first, loading a model is part of it."""

    def __init__(self, arguments: Sequence[str], timeout_s: float) -> None:
        self._arguments = list(arguments)
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], object] = lambda: None
        self._unread = bytearray()
        self._lock = threading.Lock()

    def speak(self, name: str, text: str) -> tuple[npt.NDArray[np.int16], int]:
        """The audio of the command's answer, mono int16 (n,), and its rate in Hz; line breaks become spaces.

        InputError if the answer is none, or comes too late; the next text then starts the command anew. SettingsError
        if there is no such command.
        """
        with self._lock:
            process = self._process or self._begin()
            try:
                return self._answer(process, f"{' '.join(text.split())}\n".encode())
            except (InputError, OSError) as error:
                self._process = None
                self._end()
                raise error if isinstance(error, InputError) else self._error(str(error.strerror)) from None

    def describe(self) -> Mapping[str, Any]:
        """The command, without the values of arguments whose names suggest a secret."""
        return {"kind": "exec", "alive": True, "command": without_secrets(self._arguments)}

    def _begin(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(self._arguments, stdin=PIPE, stdout=PIPE, process_group=0)
        except OSError as error:
            raise SettingsError(f"exec: {self._arguments[0]}: {error.strerror}") from None
        self._end = weakref.finalize(self, _end, process)  # also called at the end of our process
        self._process = process
        self._unread.clear()
        return process

    def _answer(self, process: subprocess.Popen[bytes], line: bytes) -> tuple[npt.NDArray[np.int16], int]:
        assert process.stdin is not None
        process.stdin.write(line)
        process.stdin.flush()
        deadline_ns = now_ns() + round(1e9 * self._timeout_s)
        while b"\n" not in self._unread:
            if len(self._unread) > MOST_LINE_BYTES:
                raise self._error(f"more than {MOST_LINE_BYTES:,} bytes without a line's end")
            self._read(process, deadline_ns)
        answer, _, rest = bytes(self._unread).partition(b"\n")
        self._unread[:] = rest
        told = answer.decode(errors="replace").strip()
        if not re.fullmatch("[0-9]{1,15}", told):
            return self._audio(Path(told), told)
        if int(told) > MOST_BYTES:
            raise self._error(f"more than {MOST_BYTES:,} bytes")
        while len(self._unread) < int(told):
            self._read(process, deadline_ns)
        with NamedTemporaryFile(suffix=".wav") as file:
            file.write(self._unread[: int(told)])
            file.flush()
            del self._unread[: int(told)]
            return self._audio(Path(file.name), f"{told} bytes")

    def _read(self, process: subprocess.Popen[bytes], deadline_ns: int) -> None:
        """Read some more of what the command writes. InputError if it has ended, or is too slow."""
        assert process.stdout is not None
        with DefaultSelector() as selector:
            selector.register(process.stdout, EVENT_READ)
            if not selector.select(max(0, deadline_ns - now_ns()) / 1e9):
                raise self._error(f"none within {self._timeout_s:g} s")
        if not (chunk := os.read(process.stdout.fileno(), 1 << 16)):
            raise self._error("its end")
        self._unread += chunk

    def _audio(self, path: Path, told: str) -> tuple[npt.NDArray[np.int16], int]:
        try:
            return read_mono(path)
        except AudioError:
            raise self._error(f"{told[:80]!r}, which is no audio") from None

    def _error(self, got: str) -> InputError:
        return InputError(f"exec: {self._arguments[0]}: expected a line with the path or the size of a WAV, got {got}")


def _end(process: subprocess.Popen[bytes]) -> None:
    signal_group(process, SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
