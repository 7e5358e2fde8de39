"""Asks transcribers and judges on the nodes of a Ray cluster: the work of `Executor.hosting`.

Who asks does so from threads of the command, as on one machine. So words and answers are kept, counted and limited as
there, and nodes need not see the recordings: audio and questions travel. Each process of a node makes a transcriber
once, by the same address.
"""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from multiprocessing.connection import wait
from typing import Any, Final, TypeAlias

from fdbcore import registry
from fdbcore.cluster.tasks import JOINING_S, Needs, RayEntry
from fdbcore.errors import FdbError, MissingExtraError, PartyError, SettingsError
from fdbcore.models.judge import Tally
from fdbcore.protocols import Judge, Transcriber
from fdbcore.recording.form import NOT_OF_FORM
from fdbcore.runtime.executor import LOOK_S, WorkResult
from fdbcore.types import Rubric
from fdbcore.types.usage import ModelUsage, Service
from fdbcore.types.words import TimedWord

_ASKING: Final = 0.25  # of a processor: what a request to a server takes, which mostly waits

_making: Final = threading.Lock()
"""Threads share what a process of a node has made."""

_Asked: TypeAlias = tuple[bytes, str, bool, Mapping[str, Any]]
_Marked: TypeAlias = tuple[Mapping[str, Any] | Exception, Sequence[ModelUsage]]


@contextmanager
def hosting(entry: RayEntry) -> Iterator[None]:
    """See `Executor.hosting`."""
    hosts = _Hosts(entry)
    try:
        with registry.hosted_by(hosts):
            yield
    finally:
        hosts.close()


class _Hosts:
    """A `registry.Host`."""

    def __init__(self, entry: RayEntry) -> None:
        self._entry = entry
        self._desks: list[_Desk] = []

    def transcriber(self, address: str, made: Transcriber) -> Transcriber:
        """See `registry.Host`."""
        processors = _ASKING if made.services() else made.processors
        needs = Needs(processors, made.gpus, made.at_once)
        return _HostedTranscriber(made, self._desk(made.name, partial(_heard, address), needs))

    def judge(self, address: str, made: Judge) -> Judge:
        """See `registry.Host`."""
        needs = Needs(_ASKING if made.services() else 1.0)
        return _HostedJudge(made, self._desk(made.name, partial(_marked, address), needs))

    def close(self) -> None:
        """End what is under way."""
        for desk in self._desks:
            desk.close()

    def _desk(self, name: str, work: Callable[[Any], object], needs: Needs) -> "_Desk":
        self._desks.append(_Desk(name, self._entry, work, needs))
        return self._desks[-1]


class _Desk:
    """A desk where threads have work done on single items, and wait for it. It joins the cluster when first used."""

    def __init__(self, name: str, entry: RayEntry, work: Callable[[Any], object], needs: Needs) -> None:
        self._name, self._entry, self._work, self._needs = name, entry, work, needs
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._asked: dict[int, Future[Any]] = {}
        self._number = 0
        self._thread: threading.Thread | None = None
        self._room: Future[int] = Future()
        self._broken: FdbError | None = None

    @property
    def room(self) -> int:
        """So many items the cluster takes at a time. SettingsError if it takes none."""
        with self._lock:
            self._join()
        try:
            return self._room.result(JOINING_S)
        except TimeoutError:
            told = f"{self._name}: expected a node with {self._needs} within {JOINING_S:.0f} s, got none"
            raise self._entry.refusal(told) from None

    def result(self, item: object) -> Any:  # noqa: ANN401
        """The result of the work on an item; or its error is raised."""
        _ = self.room
        with self._lock:
            if self._broken is not None:
                raise self._broken
            self._number += 1
            future = self._asked[self._number] = Future()
            self._process.send((self._number, item))
        return future.result()

    def give_up(self) -> None:
        """Give those who wait a PartyError; nobody waits for the work any more."""
        self._fail(self._closed)

    def close(self) -> None:
        """End it, and what is under way."""
        self._break(self._closed)
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _join(self) -> None:
        if self._thread is None:
            self._process = self._entry.process(self._work, self._needs)
            self._thread = threading.Thread(target=self._receive, daemon=True, name="fdbcore-ray")
            self._thread.start()

    def _receive(self) -> None:
        try:
            while not self._ended.is_set():
                if not wait([self._process.connection], LOOK_S):
                    continue
                received = self._process.received()
                if received is None:
                    self._break(FdbError(f"the process that speaks to Ray died: {self._process.cause_of_death()}"))
                    return
                for message in received:
                    self._take(message)
        finally:
            self._process.close(leaving_s=0)

    def _take(self, message: Any) -> None:  # noqa: ANN401
        match message:
            case int():
                if message and not self._room.done():
                    self._room.set_result(message)
            case str():
                self._fail(self._entry.refusal(message))
            case number, found:
                with self._lock:
                    future = self._asked.pop(number, None)
                if future is None:  # given up
                    return
                try:
                    if isinstance(found, WorkResult):
                        future.set_result(found.get())
                    else:
                        future.set_exception(PartyError(f"{self._name}: its process died: {found}", transient=True))
                except Exception as error:
                    future.set_exception(error)

    @property
    def _closed(self) -> PartyError:
        return PartyError(f"{self._name}: closed while something waited for it")

    def _break(self, error: FdbError) -> None:
        """Let everyone who asks from now on have this error."""
        with self._lock:
            self._broken = self._broken or error
        self._fail(error)

    def _fail(self, error: FdbError) -> None:
        with self._lock:
            asked, self._asked = self._asked, {}
        for future in asked.values():
            future.set_exception(error)
        if self._thread is not None and not self._room.done():
            with suppress(Exception):
                self._room.set_exception(error)


class _HostedTranscriber(Transcriber):
    """Is asked on nodes. Each must describe it as it is described here."""

    def __init__(self, made: Transcriber, desk: _Desk) -> None:
        self._made, self._desk = made, desk
        self.name, self.beside_calls = made.name, made.beside_calls

    @cached_property
    def at_once(self) -> int:  # type: ignore[override]
        """As many as keep all nodes busy."""
        return self._desk.room

    def check_key(self) -> None:
        """See `Transcriber.check_key`."""
        self._made.check_key()

    def transcribe(self, wav: bytes, language: str) -> str:
        """See `Transcriber.transcribe`."""
        found = self._result(wav, language, timed=False)
        assert isinstance(found, str)
        return found

    def words(self, wav: bytes, language: str) -> Sequence[TimedWord]:
        """See `Transcriber.words`."""
        found = self._result(wav, language, timed=True)
        assert not isinstance(found, str)
        return found

    def _result(self, wav: bytes, language: str, *, timed: bool) -> str | Sequence[TimedWord]:
        asked: _Asked = wav, language, timed, self._described
        heard: str | Sequence[TimedWord] = self._desk.result(asked)
        return heard

    @cached_property
    def _described(self) -> Mapping[str, Any]:
        return self._made.describe()

    def describe(self) -> Mapping[str, Any]:
        """See `Transcriber.describe`."""
        return self._described

    def services(self) -> Sequence[Service]:
        """See `Transcriber.services`."""
        return self._made.services()

    def close(self) -> None:
        """See `Transcriber.close`."""
        self._made.close()
        self._desk.give_up()


class _HostedJudge(Judge):
    """Is asked on nodes, which need its key."""

    def __init__(self, made: Judge, desk: _Desk) -> None:
        self._made, self._desk = made, desk
        self.name = made.name
        self._tally = Tally()

    def check_key(self) -> None:
        """See `Judge.check_key`."""
        self._made.check_key()

    def mark(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Judge.mark`."""
        marked: _Marked = self._desk.result((rubric, evidence))
        marks, usages = marked
        for usage in usages:
            self._tally.add(usage)
        if isinstance(marks, Exception):
            raise marks
        return marks

    def describe(self) -> Mapping[str, Any]:
        """See `Judge.describe`."""
        return self._made.describe()

    def services(self) -> Sequence[Service]:
        """See `Judge.services`."""
        return self._made.services()

    def counted(self) -> Sequence[ModelUsage]:
        """See `Judge.counted`."""
        return self._tally.taken()


def _heard(address: str, asked: _Asked) -> str | Sequence[TimedWord]:
    """On a node: what a transcriber hears."""
    wav, language, timed, described = asked
    with _naming_node():
        with _making:
            hears, there = _transcriber(address)
        if there != described:
            told = ", ".join(key for key in described if described[key] != there.get(key))
            raise SettingsError(f"{hears.name}: expected it as on the machine with the command, got another {told}")
        return hears.words(wav, language) if timed else hears.transcribe(wav, language)


def _marked(address: str, asked: tuple[Rubric, Mapping[str, Any]]) -> _Marked:
    """On a node: what a judge says, or why it says nothing; and what that counted."""
    with _naming_node():
        with _making:
            judge = _judge(address)
        try:
            return judge.mark(*asked), judge.counted()
        except (SettingsError, MissingExtraError):
            raise
        except (FdbError, *NOT_OF_FORM) as error:
            return error, judge.counted()


@cache
def _transcriber(address: str) -> tuple[Transcriber, Mapping[str, Any]]:
    """The transcriber of this process, and how it describes itself."""
    made = registry.transcriber(address)
    return made, made.describe()


@cache
def _judge(address: str) -> Judge:
    """The judge of this process."""
    return registry.judge(address)


@contextmanager
def _naming_node() -> Iterator[None]:
    """In the `with` block, an error of what a node lacks names the node."""
    try:
        yield
    except (SettingsError, MissingExtraError) as error:
        raise type(error)(f"{socket.gethostname()}: {error}") from error
