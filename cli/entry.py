"""Where the `fdbcore` command begins, and what Ctrl-C does while there is nothing to be kept yet, or any more."""

from __future__ import annotations

import os
import signal
from typing import Any

DONE, FAILED, UNMEASURED, INTERRUPTED = 0, 1, 3, 130
"""Exit codes; click's own for wrong usage is 2. UNMEASURED: of gates, which say by FAILED that one has failed."""


def main() -> None:
    """Run the command. From the first import on, Ctrl-C ends it with a line and the exit code 130."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as in a shell's background
        signal.signal(signal.SIGINT, _leave)
    from .main import main as command

    try:
        command()
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)


def begin_work() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt, for a command that has something to keep or to end."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: Any) -> None:  # noqa: ANN401
    os.write(2, b"\nfdbcore: interrupted\n")
    os._exit(INTERRUPTED)
