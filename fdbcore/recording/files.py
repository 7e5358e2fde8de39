"""Names of the files of a recording, and how its JSON is read and written."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from fdbcore.errors import RecordingError, writes
from fdbcore.runtime.json_values import parsed_json
from fdbcore.runtime.redaction import clean
from fdbcore.runtime.whole_files import read_whole, whole_file
from fdbcore.types import Side

OfActivity: TypeAlias = Annotated[str, Meta(description="of derived/activity.npz of the call that it is of")]
RECORDING_SCHEMA: Final = "fdbcore.recording/1"
TURNS_SCHEMA: Final = "fdbcore.turns/1"
MARKS_SCHEMA: Final = "fdbcore.marks/2"
HEALTH_SCHEMA: Final = "fdbcore.health/3"
META, EVENTS, AUDIO, REPORT = "meta.json", "events.jsonl", "session.wav", "report.html"
SOUND: Final = "sound.webm"
"""A copy for pages, where browsers cannot play the source."""
DERIVED: Final = "derived"
AUDIO_END = "audio_end"
"""The kind of an event in whose tick the file of a side ends."""
REPLY = "reply"
"""The kind of an event in which a side answers in text, whether it speaks too or not."""
REFUSAL = "refusal"
"""The kind of an event in which a side declines to answer; its field `reason` says why."""

ACTIVITY, TURNS, SCORES = "derived/activity.npz", "derived/turns.json", "derived/scores.json"
QUANTITIES, HEALTH = "derived/quantities.json", "derived/health.json"
MARKS, LABELS = "derived/marks.json", "derived/labels.json"
MADE_WITH_IT: Final = (EVENTS, AUDIO, ACTIVITY, TURNS)
"""The files whose hashes meta.json has, as they were when it was completed."""
OF_ACTIVITY: Final = "activity_sha256"
WORDS: Final[Mapping[Side, str]] = {"A": "derived/words_A.json", "B": "derived/words_B.json"}


def part_of(folder: Path, *names: str) -> Path:
    """The path of a part of a folder, each name in that before it.

    RecordingError if a name is more than one plain part of a path, or is a link that leads out of its folder: what is
    written there would land elsewhere, and what is read there is of somebody else.
    """
    for name in names:
        if not isinstance(name, str) or name in ("", os.curdir, os.pardir) or {os.sep, "\0"} & {*name}:
            raise RecordingError(f"{folder}: expected names of folders and files in it, got {name!r}")
        path = folder / name
        if os.path.islink(path) and Path(os.path.realpath(folder)) not in Path(os.path.realpath(path)).parents:
            raise RecordingError(f"{path}: expected it in {folder} itself, got a link that leads out of it")
        folder = path
    return folder


def write_text(path: Path, text: str) -> None:
    """Write `text` so that a reader sees the old file or the whole new one. A missing folder is made.

    Bytes of a file name that are not valid text are written as escapes; JSON reads them back as the same name. Raises
    RecordingError if the file cannot be written.
    """
    write_pieces(path, [text])


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write the pieces of a text, one after the other, in the same way as `write_text`.

    No other process writes the file from when the first piece is made.
    """
    _write(path, (piece.encode("utf-8", "backslashreplace") for piece in pieces))


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` in the same way as `write_text`. RecordingError if the file cannot be written."""
    _write(path, [data])


def _write(path: Path, parts: Iterable[bytes]) -> None:
    with writes(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.writelines(parts)


def write_json(path: Path, value: object, in_one_line: bool = False) -> None:
    """Write `value` as JSON without known secrets, in the same way as `write_text`.

    in_one_line: for files that nobody reads by eye; it takes a tenth of the time.
    """
    write_text(path, json_text(value, None if in_one_line else 1))


def json_text(value: object, indent: int | None = None) -> str:
    """`value` as JSON without known secrets, with a final newline."""
    return json.dumps(clean(value), ensure_ascii=False, indent=indent, allow_nan=False) + "\n"


def json_pieces(value: Mapping[str, object], separators: tuple[str, str] = (", ", ": ")) -> Iterator[str]:
    """The JSON of a mapping in one line, item by item of its lists, so that a long list is never held as text.

    A value may be anything that yields items: they are a list.
    """
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=separators).encode
    comma, colon = separators
    yield "{"
    for number, (name, inner) in enumerate(value.items()):
        yield f"{comma if number else ''}{encode(name)}{colon}"
        if isinstance(inner, Iterable) and not isinstance(inner, str | tuple | Mapping):
            yield "["
            for place, item in enumerate(inner):
                yield f"{comma if place else ''}{encode(item)}"
            yield "]"
        else:
            yield encode(inner)
    yield "}"


def read_bytes(path: Path) -> bytes:
    """The content of a file. RecordingError if it cannot be read."""
    try:
        return read_whole(path)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error


def file_sha256(path: Path) -> str | None:
    """SHA-256 of a file, in hex; None if it cannot be read, or is a pipe or a device. An hour of audio takes 0.4 s."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return None


def remembered_sha256(path: Path) -> str | None:
    """`file_sha256`, once in a process for each state of the file: several parts of a command ask for that of audio."""
    with suppress(OSError):
        found = path.stat()
        return _sha256_in(path, found.st_size, found.st_mtime_ns)
    return None


@lru_cache
def _sha256_in(path: Path, size: int, mtime_ns: int) -> str | None:
    return file_sha256(path)


def write_beside(recording: Path, part: str, value: Mapping[str, object], in_one_line: bool = False) -> None:
    """Write what others said of a call (its labels, its words, an agent's log), bound to the call by its activity."""
    write_json(recording / part, {**value, OF_ACTIVITY: file_sha256(recording / ACTIVITY) or ""}, in_one_line)


def refuse_of_another(recording: Path, part: str, value: Mapping[str, object]) -> None:
    """RecordingError if what `write_beside` wrote was of another call. What earlier versions wrote does not say."""
    if (sha256 := value.get(OF_ACTIVITY)) is not None and sha256 != file_sha256(recording / ACTIVITY):
        raise RecordingError(f"{recording / part}: damaged: of another call")


def read_json(path: Path) -> Any:  # noqa: ANN401
    """The JSON value in `path`. RecordingError if it cannot be read or is not JSON."""
    try:
        return parsed_json(read_bytes(path))
    except ValueError as error:
        raise RecordingError(f"{path}: expected JSON, got something else ({error})") from error


def settings_hash(settings: Mapping[str, object]) -> str:
    """SHA-256 of the settings, in hex; the order of the names does not matter."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
