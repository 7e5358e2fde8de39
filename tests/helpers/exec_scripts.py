"""Systems for `exec`: Python scripts with the plain contract of frames."""

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


ANSWERING = """
import array
loud_before, quiet, until, n = False, 0, 0, 0
while True:
    heard = array.array("h", read())
    quiet = 0 if max(map(abs, heard)) > {level} else quiet + 1
    loud_before = loud_before or quiet == 0
    if loud_before and quiet == {wait_ticks}:
        loud_before, until = False, n + {delay_ticks} + 40
    talks = until - 40 <= n < until
    write(array.array("h", ([12000] * 48 + [-12000] * 48) * 5 if talks else [0] * 480).tobytes())
    n += 1
"""


def answering(wait_ticks: int, level: int = 3000, delay_ticks: int = 0) -> str:
    """The address of a system that speaks for 0.4 s, so long after what it hears lay below a level for a while."""
    return script(ANSWERING.format(level=level, wait_ticks=wait_ticks, delay_ticks=delay_ticks))
