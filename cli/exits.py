"""The exit codes of the `fdbcore` command, and how Ctrl-C ends it before it has begun and after it has ended."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # as in typing: nothing is imported that Ctrl-C would meet before `ends_at_once`
if TYPE_CHECKING:
    from typing import Any

DONE, FAILED, UNMEASURED, INTERRUPTED = 0, 1, 3, 130
"""Exit codes. click itself exits with 2 for wrong usage. With gates, FAILED: a gate failed; UNMEASURED: undecided."""


def ends_at_once() -> None:
    """From here on, Ctrl-C ends the process with one line; but a shell's background job goes on ignoring it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def begin_work() -> None:
    """From here on, Ctrl-C raises KeyboardInterrupt, so that a command can save its work and clean up."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: Any) -> None:  # noqa: ANN401
    os.write(2, b"\nfdbcore: interrupted\n")
    os._exit(INTERRUPTED)
