"""A system that is a command: frames of 960 bytes on its standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final, TypeAlias

from fdbcore.endpoints.background import Background
from fdbcore.endpoints.frames import MOST_STEP_MS, MOST_UNSENT_FRAMES, FrameStream, Pace
from fdbcore.errors import PartyError
from fdbcore.protocols import Endpoint
from fdbcore.runtime.address import Setting, command_of
from fdbcore.runtime.guard import Guard
from fdbcore.runtime.network import event_loop
from fdbcore.runtime.redaction import redacted, without_secrets
from fdbcore.types import FRAME_BYTES, SAMPLE_RATE_HZ, SILENT_FRAME, TICK_MS, TICKS_PER_S, Happening, Pcm, Side

MOST_LINE_BYTES: Final = 500
MOST_BLOCK_BYTES: Final = 64 * 1024
MOST_QUEUED_SAMPLES: Final = 2 * SAMPLE_RATE_HZ
"""Beyond it a command that writes ahead has to wait, as at any full pipe."""

GRACE_S: Final = 1.0
"""To end by itself once its input has ended, and again once it was told to terminate."""

Task: TypeAlias = "asyncio.Task[None]"

_POLL_S = 0.01
_QUIET_S = 0.1
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
    """The party of "exec:COMMAND ARGUMENT ...", split as by a shell; SETTINGS may precede the command.

    SettingsError if they are wrong or nothing is left.
    """
    words, settings = command_of(address, SETTINGS)
    return CommandEndpoint(words, Pace(settings["clocking"], settings["step_ms"]), settings["timeout_s"])


class CommandEndpoint(Endpoint):
    """A command in a process group of its own, which is gone when this is closed, or its process has ended.

    docs/systems.md is the contract.

    timeout_s: for its first frame; in lockstep, for each of its answers.
    """

    def __init__(self, arguments: Sequence[str], pace: Pace | None = None, timeout_s: float = 60.0) -> None:
        self._arguments = list(arguments)
        self._pace = pace or Pace("input")
        self._timeout_s = timeout_s
        self.clocking = self._pace.clocking
        self._stream = FrameStream(self._pace, timeout_s)
        self._background = Background()
        self._started = asyncio.Event()
        self._stdin: asyncio.WriteTransport | None = None
        self._last_line = ""
        self._fault_at_parting: str | None = None
        self._told_to_end = False
        self._guard: Guard | None = None

    def open(self, side: Side) -> None:
        """Start the command, and wait for its first frame: of one that is input-clocked, for its answer to silence."""
        process, ours = self._spawn(side)
        try:
            self._background.open(lambda ready: self._attend(process, ours, ready), self._timeout_s)
        except TimeoutError:
            raise self._error(f"no frame within {self._timeout_s:g} s; it is ready once it has written one") from None
        except BaseException:
            if self._stdin is None:  # it was closed before the loop came to attend to it
                _kill(process, ours)
            raise

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now: go on reading what the command writes."""
        self._stream.start(origin_ns)
        event_loop().call_soon_threadsafe(self._started.set)

    def say(self, tick: int) -> Pcm | None:
        """The command's frame of `tick`; in lockstep it waits for the answer that is due."""
        frame = self._stream.say(tick)
        self.left = self._stream.left
        return frame

    def hear(self, tick: int, frame: Pcm) -> None:
        """Write the frame to the command's standard input."""
        frames = self._stream.hear(tick, frame)
        if frames:
            event_loop().call_soon_threadsafe(self._write, tick, b"".join(frames))

    def log(self) -> Sequence[Happening]:
        """Lines of the command's standard error, its exit, underruns, slips, arrivals."""
        return self._stream.log()

    def measured(self) -> Mapping[str, Any]:
        """Samples by what became of them, and the lateness of the frames written."""
        return self._stream.measured()

    def describe(self) -> Mapping[str, Any]:
        """The command without its secrets, and its pace."""
        return {
            "kind": "exec",
            "command": without_secrets(self._arguments),
            **asdict(self._pace),
            "timeout_s": self._timeout_s,
        }

    def close(self) -> None:
        """End the command's input; after a second terminate its process group, after another one kill it.

        A command that ends wrongly meanwhile, of its own accord, has `left` for that reason.
        """
        self._stream.leave("closed")
        try:
            self._background.close()
        finally:
            if self._guard is not None:
                self._guard.release()
        self.left = self.left or self._fault_at_parting

    def _error(self, reason: str) -> PartyError:
        return PartyError(f"exec: {self._arguments[0]}: {reason}")

    def _spawn(self, side: Side) -> tuple[subprocess.Popen[bytes], list[socket.socket]]:
        """The command, running, and our ends of its input, output and error.

        Sockets, not pipes: an event loop owns a socket wholly, but closes a pipe's number a second time (uvloop 0.23).
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
        """The command from its start to its end: its first frame, the conversation, and that nothing of it is left."""
        (_, stdin), (stdout, stdout_end), (stderr, stderr_end) = [
            await asyncio.open_unix_connection(sock=end, limit=4 * FRAME_BYTES) for end in ours
        ]
        self._stdin = stdin.transport
        lines = asyncio.create_task(self._read_lines(stderr))
        try:
            try:
                await self._read_first(process, stdout, lines)
            except BaseException:
                _signal(process, signal.SIGTERM)  # it may not read yet, and so not see that its input ends
                raise
            ready()
            await self._started.wait()
            try:
                self._stream.leave(await self._farewell(process, lines, await self._read(stdout)))
            finally:
                if self._stream.left == "closed":
                    await self._part(process, stdin, stdout, lines)
        finally:
            self._stream.leave("closed")
            for writer in (stdin, stdout_end):
                writer.transport.abort()
            await _end(process, (signal.SIGKILL,) if self._told_to_end else (signal.SIGTERM, signal.SIGKILL))
            lines.cancel()
            stderr_end.transport.abort()

    async def _read_first(self, process: subprocess.Popen[bytes], stdout: asyncio.StreamReader, lines: Task) -> None:
        """Wait until the command is ready: what it answers to a step of silence, or its first frame in a burst."""
        assert self._stdin is not None
        self._stdin.write(SILENT_FRAME.tobytes() * self._pace.step_ticks)
        try:
            for _ in range(self._pace.step_ticks):
                self._stream.receive(await stdout.readexactly(FRAME_BYTES))
            if self._pace.clocking == "input":
                with suppress(TimeoutError):
                    await asyncio.wait_for(stdout.readexactly(1), _QUIET_S)
                    raise self._error("answered more than it heard; its standard output is for frames alone")
        except asyncio.IncompleteReadError as end:
            reason = await self._farewell(process, lines, len(end.partial))
            raise self._error(f"left before tick 0: {reason}") from None

    async def _read(self, stdout: asyncio.StreamReader) -> int:
        """Take frames until there are no more; how many bytes were left of the last one."""
        try:
            while True:
                self._stream.receive(await stdout.readexactly(FRAME_BYTES))
                if (surplus_samples := self._stream.queued_samples - MOST_QUEUED_SAMPLES) > 0:
                    await asyncio.sleep(surplus_samples / SAMPLE_RATE_HZ)
        except asyncio.IncompleteReadError as end:
            return len(end.partial)

    async def _part(
        self, process: subprocess.Popen[bytes], stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader, lines: Task
    ) -> None:
        """End the command's input in the middle of the conversation, and see what it makes of that within a second."""
        stdin.close()
        left_bytes = 0
        try:
            async with asyncio.timeout(GRACE_S):
                while block := await stdout.read(MOST_BLOCK_BYTES):
                    left_bytes += len(block)
                farewell = await self._farewell(process, lines, left_bytes % FRAME_BYTES)
                self._fault_at_parting = None if farewell == "finished" else farewell
        except TimeoutError:
            _signal(process, signal.SIGTERM)
            self._told_to_end = True

    async def _read_lines(self, stderr: asyncio.StreamReader) -> None:
        rest = b""
        while (block := await stderr.read(MOST_LINE_BYTES)) and not self._stream.flooded:
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) >= MOST_LINE_BYTES:
                cut = rest.rfind(b" ") + 1 or len(rest)  # a secret cut in two would not be known
                lines, rest = [*lines, rest[:cut]], rest[cut:]
            for line in lines:
                self._note_line(line)
        self._note_line(rest)

    def _note_line(self, line: bytes) -> None:
        line = line.rstrip()
        if line and self._stream.allows(len(line)):
            self._last_line = text = redacted(line.decode(errors="replace"))  # it may quote its own arguments
            self._stream.note("event", name="stderr", data=text)

    async def _farewell(self, process: subprocess.Popen[bytes], lines: Task, cut_bytes: int) -> str:
        """Why the command's output has ended, with the last line of its standard error if something went wrong."""
        status = await _exit_status(process, GRACE_S)
        await asyncio.wait((lines,), timeout=_QUIET_S)
        if status is not None:
            self._stream.note("exit", status=status)
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
            self._stream.leave(f"stopped reading: {MOST_UNSENT_FRAMES // TICKS_PER_S} s of audio wait to be sent")
            return
        self._stdin.write(frames)
        self._stream.sent(tick)


async def _end(process: subprocess.Popen[bytes], resorts: Sequence[signal.Signals]) -> None:
    """See the command off, whose input has ended, and all that it started in its group; a second for each resort."""
    for last_resort in resorts:
        if await _exit_status(process, GRACE_S) is None:
            _signal(process, last_resort)
    _signal(process, signal.SIGKILL)
    await _exit_status(process, GRACE_S)
    process.wait()


async def _exit_status(process: subprocess.Popen[bytes], within_s: float) -> str | None:
    """How the command ended, or None if it has not `within_s`."""
    for _ in range(round(within_s / _POLL_S)):
        if (status := _status(process)) is not None:
            return status
        await asyncio.sleep(_POLL_S)
    return None


def _status(process: subprocess.Popen[bytes]) -> str | None:
    """How the command ended, if it has. It stays unreaped, so that its number keeps naming its group."""
    result = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if result is None:
        return None
    if result.si_code == os.CLD_EXITED:
        return f"exited with code {result.si_status}"
    return f"was ended by {signal.Signals(result.si_status).name}"


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _kill(process: subprocess.Popen[bytes], ours: list[socket.socket]) -> None:
    _signal(process, signal.SIGKILL)
    process.wait()
    for end in ours:
        end.close()
