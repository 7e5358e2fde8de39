"""Work in pieces on a thread of its own, while the ticks go on."""

from abc import ABC, abstractmethod
from queue import SimpleQueue
from threading import Event, Thread
from typing import Generic, NamedTuple, TypeVar

from fdbcore.clock import now_ns
from fdbcore.errors import FdbError, InputError

PieceT = TypeVar("PieceT")


class Over(NamedTuple):
    """It is whole, or failed."""

    error: FdbError | None = None


class Making(ABC, Generic[PieceT]):
    """The thread of the ticks starts it, takes its pieces, and may cancel it.

    name: of its thread. pieces: each with the time when it came, in ns of time.monotonic_ns; `Over` is the last one.
    """

    def __init__(self, name: str) -> None:
        self.pieces: SimpleQueue[tuple[int, PieceT | Over]] = SimpleQueue()
        self._is_cancelled = Event()
        self._thread = Thread(target=self._run, daemon=True, name=name)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """It is no longer wanted. It ends as soon as whoever is at work lets it."""
        self._is_cancelled.set()

    def join(self, timeout_s: float) -> None:
        """Wait until its thread has ended, at most so long."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            self._make()
        except FdbError as error:
            self._put(Over(error))
        except BaseException as error:
            self._put(Over(InputError(f"{self._thread.name}: {type(error).__name__}: {error}")))
        else:
            self._put(Over())

    @abstractmethod
    def _make(self) -> None:
        """Make it, and `_put` each piece."""

    def _put(self, piece: PieceT | Over) -> None:
        self.pieces.put((now_ns(), piece))
