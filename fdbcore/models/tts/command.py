"""A synthesiser that is a command: it reads the text on standard input and writes a WAV file to standard output.

With `alive` it stays alive between texts, so that it loads its model once. It then reads a text a line (UTF-8), and
answers each by one line: the path of a WAV file, or the number of bytes of a WAV that follows right after that line. It
ends when its input ends.
"""

import os
import re
import signal
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from subprocess import PIPE
from tempfile import TemporaryFile
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.clock import now_ns
from fdbcore.errors import AudioError, InputError, SettingsError
from fdbcore.models.tts.folder import mono_in, read_mono
from fdbcore.protocols import Speaker
from fdbcore.runtime.address import Setting, command_of
from fdbcore.runtime.process_group import signal_group
from fdbcore.runtime.redaction import without_secrets

TIMEOUT_S: Final = 120
"""The time limit for one text. A command that loads a model loads it for each text."""

MOST_BYTES: Final = 600 * 48_000 * 4
"""Bytes that a command may write for one text: 10 minutes of 48 kHz, 16 bit, stereo."""
MOST_LINE_BYTES: Final = 1 << 16

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
        try:
            return mono_in(stdout)
        except AudioError as error:
            raise self._error(str(error).rpartition(", got ")[2], stderr) from None

    def describe(self) -> Mapping[str, Any]:
        """The command, without the values of arguments whose names suggest a secret."""
        return {"kind": "exec", "command": without_secrets(self._arguments)}

    def _output(self, text: str) -> tuple[bytes, bytes]:
        """The standard output of the command, and the end of its standard error."""
        output, errors = bytearray(), bytearray()
        with TemporaryFile() as stdin:  # a file, so that a command which does not read cannot block us
            stdin.write(text.encode())
            stdin.seek(0)
            process = self._started(stdin, stderr=PIPE)
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
            _end(process)
        if code := process.returncode:
            status = f"exit code {code}" if code > 0 else f"an end by {signal.Signals(-code).name}"
            raise self._error(status, errors)
        return bytes(output), bytes(errors)

    def _started(self, stdin: IO[bytes] | int, stderr: int | None = None) -> subprocess.Popen[bytes]:
        """The command, in a process group of its own. SettingsError if there is no such command."""
        try:
            return subprocess.Popen(self._arguments, stdin=stdin, stdout=PIPE, stderr=stderr, process_group=0)
        except OSError as error:
            raise SettingsError(f"exec: {self._arguments[0]}: {error.strerror}") from None

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


class LineSpeaker(CommandSpeaker):
    """Keeps the command alive. Threads may share it. timeout_s: for the first text, loading a model is part of it."""

    def __init__(self, arguments: Sequence[str], timeout_s: float = TIMEOUT_S) -> None:
        super().__init__(arguments, timeout_s)
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
                raise error if isinstance(error, InputError) else self._no_answer(str(error.strerror)) from None

    def describe(self) -> Mapping[str, Any]:
        """See `CommandSpeaker.describe`."""
        return {"kind": "exec", "alive": True, **super().describe()}

    def _begin(self) -> subprocess.Popen[bytes]:
        self._process = process = self._started(PIPE)
        self._end = weakref.finalize(self, _end, process)  # also called at the end of our process
        self._unread.clear()
        return process

    def _answer(self, process: subprocess.Popen[bytes], line: bytes) -> tuple[npt.NDArray[np.int16], int]:
        assert process.stdin is not None
        process.stdin.write(line)
        process.stdin.flush()
        deadline_ns = now_ns() + round(1e9 * self._timeout_s)
        while b"\n" not in self._unread:
            if len(self._unread) > MOST_LINE_BYTES:
                raise self._no_answer(f"more than {MOST_LINE_BYTES:,} bytes without a line's end")
            self._read(process, deadline_ns)
        answer, _, rest = bytes(self._unread).partition(b"\n")
        self._unread[:] = rest
        told = answer.decode(errors="replace").strip()
        is_size = re.fullmatch("[0-9]{1,15}", told)
        try:
            return mono_in(self._bytes(process, int(told), deadline_ns)) if is_size else read_mono(Path(told))
        except AudioError:
            got = f"{told} bytes" if is_size else told[:80]
            raise self._no_answer(f"{got!r}, which is no audio") from None

    def _bytes(self, process: subprocess.Popen[bytes], size: int, deadline_ns: int) -> bytes:
        """The next so many bytes that the command writes."""
        if size > MOST_BYTES:
            raise self._no_answer(f"more than {MOST_BYTES:,} bytes")
        while len(self._unread) < size:
            self._read(process, deadline_ns)
        found = bytes(self._unread[:size])
        del self._unread[:size]
        return found

    def _read(self, process: subprocess.Popen[bytes], deadline_ns: int) -> None:
        """Read some more of what the command writes. InputError if it has ended, or is too slow."""
        assert process.stdout is not None
        with DefaultSelector() as selector:
            selector.register(process.stdout, EVENT_READ)
            if not selector.select(max(0, deadline_ns - now_ns()) / 1e9):
                raise self._no_answer(f"none within {self._timeout_s:g} s")
        if not (chunk := os.read(process.stdout.fileno(), _CHUNK_BYTES)):
            raise self._no_answer("its end")
        self._unread += chunk

    def _no_answer(self, got: str) -> InputError:
        return InputError(f"exec: {self._arguments[0]}: expected a line with the path or the size of a WAV, got {got}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill and reap the process and its children, which could keep the pipes open."""
    signal_group(process, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
