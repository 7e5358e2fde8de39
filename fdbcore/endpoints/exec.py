"""A system that is a command: it reads and writes frames of 960 bytes on its standard input and output.

A line {"type": "text", "text": ...} on its standard error tells what it says; all other lines are for people.
"""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, ClassVar, Final, TypeAlias

from fdbcore.endpoints.frames import MOST_STEP_MS, MOST_UNSENT_FRAMES, FrameStream, Pace, StreamParty
from fdbcore.errors import PartyError
from fdbcore.protocols import Endpoint
from fdbcore.runtime.address import Setting, command_of
from fdbcore.runtime.guard import Guard
from fdbcore.runtime.json_values import json_object
from fdbcore.runtime.network import event_loop
from fdbcore.runtime.process_group import GRACE_S, end_group, exit_status, signal_group
from fdbcore.runtime.redaction import clean, redacted, without_secrets
from fdbcore.types import FRAME_BYTES, SAMPLE_RATE_HZ, SILENT_FRAME, TICK_MS, TICKS_PER_S, Pcm, Side

MOST_LINE_BYTES: Final = 500
MOST_JSON_BYTES: Final = 64 * 1024
"""Of a line of standard error that begins as JSON: it is not cut before."""
MOST_BLOCK_BYTES: Final = 64 * 1024
MOST_QUEUED_SAMPLES: Final = 2 * SAMPLE_RATE_HZ
"""If more than this is queued, a command that writes ahead must wait, as it would for any full pipe."""

Task: TypeAlias = "asyncio.Task[None]"

_QUIET_S = 0.1  # wait for output that should not come, or for the last lines of standard error

SETTINGS: Final = (
    Setting("clocking", "see below", default="input", choices=("input", "burst")),
    Setting(
        "step_ms",
        "how much it reads before it writes as much",
        int,
        TICK_MS,
        unit="ms",
        least=TICK_MS,
        most=MOST_STEP_MS,
        step=TICK_MS,
    ),
    Setting("timeout_s", "for its first frame; in lockstep for each answer", int, 60, unit="s", least=1),
)


def command(address: str) -> Endpoint:
    """The party "exec:COMMAND ARGUMENT ...", split as a shell splits it. SETTINGS may precede the command.

    SettingsError if the settings are wrong or there is no command.
    """
    words, settings = command_of(address, SETTINGS)
    return CommandEndpoint(words, Pace(settings["clocking"], settings["step_ms"]), settings["timeout_s"])


class CommandEndpoint(StreamParty):
    """A command in a process group of its own. The whole group is killed by `close`, or when the command ends.

    docs/systems.md has the contract. timeout_s: how long to wait for the first frame and, in lockstep, for each answer.
    """

    knows_when_it_left: ClassVar[bool] = False

    def __init__(self, arguments: Sequence[str], pace: Pace | None = None, timeout_s: float = 60.0) -> None:
        self._pace = pace or Pace("input")
        super().__init__(FrameStream(self._pace, timeout_s))
        self._arguments = list(arguments)
        self._timeout_s = timeout_s
        self.clocking = self._pace.clocking
        self._started = asyncio.Event()
        self._stdin: asyncio.WriteTransport | None = None
        self._last_line = ""
        self._fault_at_parting: str | None = None
        self._was_terminated = False  # SIGTERM was sent
        self._guard: Guard | None = None

    def open(self, side: Side) -> None:
        """Start the command and wait for its first frame; an input-clocked one must answer a step of silence.

        PartyError if it cannot be started, ends, or is too slow.
        """
        process, ours = self._spawn(side)
        try:
            self._background.open(lambda ready: self._attend(process, ours, ready), self._timeout_s)
        except TimeoutError:
            raise self._error(f"no frame within {self._timeout_s:g} s; it is ready once it has written one") from None
        except BaseException:
            if self._stdin is None:  # `_attend` never ran, so nobody else cleans up
                _kill(process, ours)
            raise

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now: continue to read what the command writes."""
        super().start(origin_ns)
        event_loop().call_soon_threadsafe(self._started.set)

    def hear(self, tick: int, frame: Pcm) -> None:
        """Write the frame to the command's standard input."""
        frames = self.stream.hear(tick, frame)
        if frames:
            event_loop().call_soon_threadsafe(self._write, tick, b"".join(frames))

    def describe(self) -> Mapping[str, Any]:
        """The command without secrets, and its pace, as JSON values."""
        return {
            "kind": "exec",
            "command": without_secrets(self._arguments),
            **asdict(self._pace),
            "timeout_s": self._timeout_s,
        }

    def close(self) -> None:
        """End the command's input; after a second terminate its process group, after another second kill it.

        If the command ends by itself meanwhile, but with an error, `left` says so.
        """
        try:
            super().close()
        finally:
            if self._guard is not None:
                self._guard.release()
        self.left = self.left or self._fault_at_parting

    def _error(self, reason: str) -> PartyError:
        return PartyError(f"exec: {self._arguments[0]}: {reason}")

    def _spawn(self, side: Side) -> tuple[subprocess.Popen[bytes], list[socket.socket]]:
        """Start the command; return it and our ends of its input, output and error.

        They are sockets, because with pipes the event loop closes a file descriptor twice (uvloop 0.23).
        """
        ours, theirs = zip(*(socket.socketpair() for _ in range(3)), strict=True)
        stdin, stdout, stderr = theirs
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "FDBCORE_SIDE": side}
        try:
            process = subprocess.Popen(
                self._arguments, stdin=stdin, stdout=stdout, stderr=stderr, process_group=0, env=environment
            )
        except OSError as error:
            for end in ours:
                end.close()
            raise self._error(error.strerror or str(error)) from None
        finally:
            for end in theirs:
                end.close()
        self._guard = Guard(process.pid)
        return process, list(ours)

    async def _attend(
        self, process: subprocess.Popen[bytes], ours: list[socket.socket], ready: Callable[[], None]
    ) -> None:
        """Attend to the command: wait for its first frame, hold the conversation, and end its process group."""
        (_, stdin), (stdout, stdout_end), (stderr, stderr_end) = [
            await asyncio.open_unix_connection(sock=end, limit=4 * FRAME_BYTES) for end in ours
        ]
        self._stdin = stdin.transport
        lines = asyncio.create_task(self._read_lines(stderr))
        try:
            try:
                await self._read_first(process, stdout, lines)
            except BaseException:
                signal_group(process, signal.SIGTERM)  # it may not read yet, and would not notice that its input ends
                raise
            ready()
            await self._started.wait()
            try:
                self.stream.leave(await self._farewell(process, lines, await self._read(stdout)))
            finally:
                if self.stream.left == "closed":
                    await self._part(process, stdin, stdout, lines)
        finally:
            self.stream.leave("closed")
            for writer in (stdin, stdout_end):
                writer.transport.abort()
            signals = (signal.SIGKILL,) if self._was_terminated else (signal.SIGTERM, signal.SIGKILL)
            await end_group(process, signals)
            lines.cancel()
            stderr_end.transport.abort()

    async def _read_first(self, process: subprocess.Popen[bytes], stdout: asyncio.StreamReader, lines: Task) -> None:
        """Wait until the command is ready: until it has answered a step of silence with as many frames."""
        assert self._stdin is not None
        self._stdin.write(SILENT_FRAME.tobytes() * self._pace.step_ticks)
        try:
            for _ in range(self._pace.step_ticks):
                self.stream.receive(await stdout.readexactly(FRAME_BYTES))
            if self._pace.clocking == "input":
                with suppress(TimeoutError):
                    await asyncio.wait_for(stdout.readexactly(1), _QUIET_S)
                    raise self._error("answered more than it heard; its standard output must hold only frames")
        except asyncio.IncompleteReadError as end:
            reason = await self._farewell(process, lines, len(end.partial))
            raise self._error(f"left before tick 0: {reason}") from None

    async def _read(self, stdout: asyncio.StreamReader) -> int:
        """Take frames until the output ends; return how many bytes of an incomplete frame were left."""
        try:
            while True:
                self.stream.receive(await stdout.readexactly(FRAME_BYTES))
                if (surplus_samples := self.stream.queued_samples - MOST_QUEUED_SAMPLES) > 0:
                    await asyncio.sleep(surplus_samples / SAMPLE_RATE_HZ)
        except asyncio.IncompleteReadError as end:
            return len(end.partial)

    async def _part(
        self, process: subprocess.Popen[bytes], stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader, lines: Task
    ) -> None:
        """End the command's input in mid-conversation, and note whether it ends properly within GRACE_S."""
        stdin.close()
        left_bytes = 0
        try:
            async with asyncio.timeout(GRACE_S):
                while block := await stdout.read(MOST_BLOCK_BYTES):
                    left_bytes += len(block)
                farewell = await self._farewell(process, lines, left_bytes % FRAME_BYTES)
                self._fault_at_parting = None if farewell == "finished" else farewell
        except TimeoutError:
            signal_group(process, signal.SIGTERM)
            self._was_terminated = True

    async def _read_lines(self, stderr: asyncio.StreamReader) -> None:
        rest = b""
        while (block := await stderr.read(MOST_LINE_BYTES)) and not self.stream.flooded:
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) >= (MOST_JSON_BYTES if rest.startswith(b"{") else MOST_LINE_BYTES):
                cut = rest.rfind(b" ") + 1 or len(rest)  # at a space: half a secret would not be recognised
                lines, rest = [*lines, rest[:cut]], rest[cut:]
            for line in lines:
                self._note_line(line)
        self._note_line(rest)

    def _note_line(self, line: bytes) -> None:
        line = line.rstrip()
        if not line or not self.stream.allows(len(line)):
            return
        if (told := _text_of(line)) is not None:
            self.stream.note("event", name="text", data=clean(told))
        else:
            self._last_line = text = redacted(line.decode(errors="replace"))  # it may quote arguments with secrets
            self.stream.note("event", name="stderr", data=text)

    async def _farewell(self, process: subprocess.Popen[bytes], lines: Task, cut_bytes: int) -> str:
        """The cause of the end of the output; if something went wrong, with the last line of its standard error."""
        status = await exit_status(process, GRACE_S)
        await asyncio.wait((lines,), timeout=_QUIET_S)
        if status is not None:
            self.stream.note("exit", status=status)
        if status == "exited with code 0" and not cut_bytes and self._started.is_set():
            return "finished"
        reason = status or "closed its output"
        if cut_bytes:
            reason = f"its output ended in mid-frame, with {cut_bytes} bytes of {FRAME_BYTES}; it {reason}"
        return f"{reason}: {self._last_line}" if self._last_line else reason

    def _write(self, tick: int, frames: bytes) -> None:
        assert self._stdin is not None
        if self._stdin.is_closing():
            return
        if self._stdin.get_write_buffer_size() > MOST_UNSENT_FRAMES * FRAME_BYTES:
            self.stream.leave(f"stopped reading: {MOST_UNSENT_FRAMES // TICKS_PER_S} s of audio wait to be sent")
            return
        self._stdin.write(frames)
        self.stream.sent(tick)


def _text_of(line: bytes) -> dict[str, Any] | None:
    """The command's words that a line tells of, without its type; None for any other line."""
    told = json_object(line)
    return told if told is not None and told.pop("type", None) == "text" else None


def _kill(process: subprocess.Popen[bytes], ours: list[socket.socket]) -> None:
    signal_group(process, signal.SIGKILL)
    process.wait()
    for end in ours:
        end.close()
