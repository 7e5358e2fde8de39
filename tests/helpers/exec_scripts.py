"""Systems for `exec`: Python scripts with the plain contract of frames."""

from __future__ import annotations

import shlex
import sys

from fdbcore.types import FRAME_BYTES

ANSWER = f"""
import os, signal, sys, time
def read(frames=1):
    frame = sys.stdin.buffer.read({FRAME_BYTES} * frames)
    if len(frame) < {FRAME_BYTES} * frames:
        raise SystemExit
    return frame
write = sys.stdout.buffer.write
"""


def script(code: str, settings: str = "") -> str:
    """The address of a Python script that has `read` and `write`."""
    return f"exec:{settings} {shlex.join([sys.executable, '-c', ANSWER + code])}"
