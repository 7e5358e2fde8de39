"""Tells the test the port of a server that prints no port of its own. Needs nothing but Python."""

import os
import socket
import threading
import time
from typing import TextIO


def tell_port() -> int:
    """A free port. It is printed once somebody listens there; all else that the process prints goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    threading.Thread(target=_tell, args=(port, out), daemon=True).start()
    return port


def _tell(port: int, out: TextIO) -> None:
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                print(port, file=out, flush=True)
                return
        time.sleep(0.1)
