"""A cache for a model: it stores the texts of replies in a file, and does not ask the same request (and seed) again.

Each line is one reply: {"key", "text", "model", "tokens_in", "tokens_out"}, or {"key", "refusal"}, with "cut" (what
there is of it) if it was cut off. It is written before the caller gets the reply, so a process may be killed at any
moment, and the next one resumes from there.
"""

import errno
import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from fdbcore.errors import CutOffError, RecordingError, RefusalError, writes
from fdbcore.protocols import Model
from fdbcore.runtime.json_values import parsed_json
from fdbcore.runtime.locks import lock
from fdbcore.runtime.redaction import clean
from fdbcore.runtime.whole_files import no_link
from fdbcore.types import Reply, Request
from fdbcore.types.usage import Service

_REPLY: Final[Mapping[str, type]] = {"text": str, "model": str, "tokens_in": int, "tokens_out": int}
"""The fields of a line with a reply."""
_LINE: Final = b'{"key": "'
"""The beginning of a line."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of a set of replies: their number and tokens. models: how many came from each exact version."""

    replies: int
    refusals: int
    tokens_in: int
    tokens_out: int
    models: Mapping[str, int]


class KeptModel(Model):
    """`model`, with its replies stored in the file `path`. As a context manager it locks the file, and removes it
    at the end if it is empty.

    Threads may share it; if two ask the same at the same time, both requests are sent. RecordingError if the file
    cannot be written, or if another process uses it.
    """

    def __init__(self, model: Model, path: Path) -> None:
        self.name = model.name
        self._model = model
        self._path = path
        self._lines: dict[str, list[Mapping[str, Any]]] = {}
        """The answers to each request; the last one counts."""
        self._earlier: set[str] = set()
        """The requests whose last answer an earlier use of the file stored."""
        self._anew: set[str] = set()
        self._counted: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._tokens_in = self._tokens_out = self._refusals = 0
        self._lock = threading.Lock()
        self._made_folder = False

    def __enter__(self) -> Self:
        with writes(self._path):
            self._made_folder = not self._path.parent.exists()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._path, "ab+", buffering=0, opener=no_link)
        try:
            lock(self._file)
            self._read()
        except BlockingIOError:
            self._file.close()
            raise RecordingError(f"{self._path}: another process is using it") from None
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file.seek(0, os.SEEK_END) == 0:  # nothing was answered, as without a key: leave nothing behind
            self._path.unlink(missing_ok=True)
            if self._made_folder:
                with suppress(OSError):
                    self._path.parent.rmdir()
        self._file.close()

    @property
    def usage(self) -> Usage:
        """The cost of all requests made through this object, stored before or not; that of refusals is not known."""
        with self._lock:
            return Usage(
                replies=self._models.total(),
                refusals=self._refusals,
                tokens_in=self._tokens_in,
                tokens_out=self._tokens_out,
                models=dict(sorted(self._models.items())),
            )

    def describe(self) -> Mapping[str, Any]:
        """The description of the model."""
        return self._model.describe()

    def services(self) -> Sequence[Service]:
        """The services of the model."""
        return self._model.services()

    def knows(self, request: Request) -> bool:
        """True if a reply to it, or a refusal, is stored."""
        return self._key(request) in self._lines

    def ask_anew(self, request: Request) -> bool:
        """True if an earlier use of the file stored the reply to it; then the next `ask` asks the model once more.

        The stored reply stays in the file and in the usage.
        """
        key = self._key(request)
        with self._lock:
            is_earlier = key in self._earlier
            self._earlier.discard(key)
            if is_earlier:
                self._anew.add(key)
        return is_earlier

    def ask(self, request: Request) -> Reply:
        """The stored reply, or else the model's. A refusal is stored too, and raised again."""
        key = self._key(request)
        line = self._ask(key, request) if key in self._anew or key not in self._lines else self._lines[key][-1]
        self._count(key)
        if "refusal" in line:
            raise CutOffError(line["refusal"], line["cut"]) if "cut" in line else RefusalError(line["refusal"])
        return Reply(line["text"], line["model"], line["tokens_in"], line["tokens_out"])

    def _ask(self, key: str, request: Request) -> Mapping[str, Any]:
        line: dict[str, Any] = {"key": key}
        try:
            reply = self._model.ask(request)
            counts = {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out}
            line |= {"text": reply.text, "model": reply.model, **counts}
        except RefusalError as error:
            line |= {"refusal": str(error)} | ({"cut": error.text} if isinstance(error, CutOffError) else {})
        self._write(line)
        return line

    def _key(self, request: Request) -> str:
        wav = None if request.wav is None else hashlib.sha256(request.wav).hexdigest()
        # A server of one's own may move; the vendor's model of the same name is another one.
        own = {"own": True} if any(not service.vendor for service in self.services()) else {}
        asked = asdict(request) | {"wav": wav, "model": self.name} | own
        return hashlib.sha256(json.dumps(asked, sort_keys=True, default=dict).encode()).hexdigest()[:32]

    def _count(self, key: str) -> None:
        with self._lock:
            lines = self._lines[key]
            for line in lines[self._counted[key] :]:
                if "text" in line:
                    self._models[line["model"]] += 1
                    self._tokens_in += line["tokens_in"]
                    self._tokens_out += line["tokens_out"]
                else:
                    self._refusals += 1
            self._counted[key] = len(lines)

    def _write(self, line: Mapping[str, Any]) -> None:
        data = f"{json.dumps(clean(line))}\n".encode()  # as ASCII: a model's text need not be valid Unicode
        with self._lock:
            end = self._file.seek(0, os.SEEK_END)
            try:
                if self._file.write(data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError as error:
                self._file.truncate(end)  # the next line would be appended to this partial one
                raise RecordingError(f"{self._path}: cannot be written: {error.strerror}") from error
            self._lines.setdefault(line["key"], []).append(line)
            self._anew.discard(line["key"])

    def _read(self) -> None:
        """Read the complete lines. A kill may have cut the last one, which is then removed; nothing else ever is."""
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        for number, text in enumerate(data[:whole].split(b"\n")[:-1], 1):
            try:
                line = parsed_json(text)
                kinds = {"refusal": str} if "refusal" in line else _REPLY
                if any(type(line[name]) is not kind for name, kind in kinds.items()):
                    raise TypeError
                self._lines.setdefault(line["key"], []).append(line)
            except (ValueError, TypeError, KeyError) as error:
                raise RecordingError(
                    f"{self._path}, line {number}: expected a stored reply, got something else; without this line it "
                    "is asked again"
                ) from error
        if not data[whole:].startswith(_LINE[: len(data) - whole]):
            raise RecordingError(f"{self._path}: expected stored replies, got something else at its end")
        self._file.truncate(whole)
        self._earlier = set(self._lines)
