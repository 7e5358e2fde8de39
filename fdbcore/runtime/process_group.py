"""Ends a command that was started in a process group of its own, together with all that it started."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

GRACE_S: Final = 1.0
"""Time that a command may take to end after its input has ended, and again after each signal."""

_POLL_S = 0.01


async def end_group(process: subprocess.Popen[bytes], signals: Sequence[signal.Signals]) -> None:
    """End a command, whose input has ended, and its whole group. Before each signal it gets GRACE_S to end."""
    for number in signals:
        if await exit_status(process, GRACE_S) is None:
            signal_group(process, number)
    signal_group(process, signal.SIGKILL)  # processes that it started may still run
    await exit_status(process, GRACE_S)
    process.wait()


async def exit_status(process: subprocess.Popen[bytes], within_s: float) -> str | None:
    """The end of the command, in words; None if it has not ended `within_s`."""
    for _ in range(round(within_s / _POLL_S)):
        if (status := _status(process)) is not None:
            return status
        await asyncio.sleep(_POLL_S)
    return None


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to the group of a command; nothing happens if all of it has ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _status(process: subprocess.Popen[bytes]) -> str | None:
    """The command's end; None if it has not ended. It is not reaped, so that its id still names its process group."""
    result = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if result is None:
        return None
    if result.si_code == os.CLD_EXITED:
        return f"exited with code {result.si_status}"
    return f"was ended by {signal.Signals(result.si_status).name}"
