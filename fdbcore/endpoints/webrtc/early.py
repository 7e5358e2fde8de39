"""Ports that are open before the call in which peers join: whoever comes by then waits, and is not refused.

A run opens those of its first call before its self-test, and hands them to the process that holds the call. Later calls
open their own.
"""

from dataclasses import dataclass
from socket import socket
from typing import Final, TypeAlias

Place: TypeAlias = tuple[str, int]


@dataclass(slots=True)
class EarlyPort:
    """number: the true one where an address says 0, for later calls too. seats: how many sides of the call peers join
    there: until all are ready, nobody is answered.
    """

    number: int
    listening: socket | None
    seats: int

    def take(self) -> tuple[socket | None, int]:
        """The socket, which is the caller's from now on, and the seats; None and 0 if it was taken before."""
        taken, self.listening, self.seats = (self.listening, self.seats), None, 0
        return taken


EarlyPorts: TypeAlias = dict[Place, EarlyPort]

early: Final[EarlyPorts] = {}
"""Ports that this process knows of, by the host and port of an address."""


def close_own() -> None:
    """Close those that this process still has: a process that was handed them has copies of its own."""
    for listening, _ in [port.take() for port in early.values()]:
        if listening is not None:
            listening.close()
