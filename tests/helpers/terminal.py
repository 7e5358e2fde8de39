"""What a command writes to a terminal."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from threading import Thread


def plain(screen: str) -> str:
    """What was written to a terminal, without its codes."""
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]|\r", "", screen)


def on_terminal(*arguments: object, columns: int = 100) -> tuple[str, str]:
    """What a Python process writes to its standard output, and to its standard error, which is a terminal."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    written: list[bytes] = []

    def read() -> None:
        try:
            while piece := os.read(ours, 65_536):
                written.append(piece)
        except OSError:  # the terminal is closed
            return

    reader = Thread(target=read)
    reader.start()
    command = [sys.executable, *map(str, arguments)]
    told = subprocess.run(command, stderr=its, stdout=subprocess.PIPE, env=environment | {"TERM": "xterm"}, check=True)
    os.close(its)
    reader.join()
    os.close(ours)
    return told.stdout.decode(), b"".join(written).decode()
