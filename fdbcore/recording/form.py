"""Checks the form of the files of a run as they are read: others may have written them, or damaged them.

The form is a type. A file that has it can be used without further checks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import UnionType
from typing import Final, TypedDict, TypeVar

import msgspec

from fdbcore.errors import FdbError, RecordingError
from fdbcore.recording.files import read_bytes, read_json

Form = TypeVar("Form")
MOST_TICKS: Final = 7 * 24 * 3600 * 100
"""No recording is longer than a week."""

NOT_OF_FORM: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    msgspec.ValidationError,
)
"""The errors of code that meets a value whose form nobody has checked."""


_ALONE: Final = Lock()  # msgspec crashes if two threads meet a form for the first time


def converted(value: object, form: type[Form] | UnionType) -> Form:
    """`value` as a value of the type `form`. msgspec.ValidationError if it is none."""
    with _ALONE:
        return msgspec.convert(value, form)


def of_form(path: Path, value: object, form: type[Form], where: str = "") -> Form:
    """`value`, which stands in the file `path`, as a value of the type `form`. RecordingError if it is none.

    where: its place in the file, for the message. Fields that the type does not have are no fault, and left out.
    """
    try:
        return converted(value, form)
    except (msgspec.ValidationError, RecursionError) as error:
        raise damaged(path, f"{where}{error}") from None
    except UnicodeEncodeError:  # JSON may hold half of a surrogate pair, which is no text
        raise damaged(path, f"{where}it holds text that is not valid") from None


def read_of_form(path: Path, form: type[Form]) -> Form:
    """The JSON value in the file `path` as a value of the type `form`. RecordingError if it is none.

    It takes a tenth of the time and a fraction of the memory of `of_form`, which is for values that are kept as read.
    """
    return _decoded(path, read_bytes(path), form)


def read_of_schema(path: Path, schema: str, form: type[Form]) -> Form:
    """The JSON value in the file `path`, as it stands there. RecordingError if it has another schema or form."""
    found: Form = read_json(path)
    given = found.get("schema") if isinstance(found, dict) else None
    if given != schema:
        raise RecordingError(f"{path}: expected schema {schema}, got {given!r}")
    of_form(path, found, form)
    return found


class _Schema(TypedDict):
    schema: str


def kept_of_form(path: Path, schema: str, form: type[Form]) -> Form | None:
    """The value that `read_of_form` reads; None without such a file, or with another schema (an earlier version's)."""
    if not path.is_file():
        return None
    data = read_bytes(path)
    return _decoded(path, data, form) if _decoded(path, data, _Schema)["schema"] == schema else None


def _decoded(path: Path, data: bytes, form: type[Form]) -> Form:
    try:
        with _ALONE:
            return msgspec.json.decode(data, type=form)
    except (msgspec.ValidationError, RecursionError) as error:
        raise damaged(path, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path}: expected JSON, got something else ({error})") from None


@contextmanager
def one_call(path: Path) -> Iterator[None]:
    """Errors in one call's files that no check has foreseen become that call's error, and end no other work.

    path: the folder of the call.
    """
    try:
        yield
    except FdbError:  # some are ValueErrors, too
        raise
    except NOT_OF_FORM as error:
        raise damaged(path, f"a file of it holds what cannot be ({type(error).__name__}: {error})") from error


def damaged(path: Path, why: str) -> RecordingError:
    """The error that a file of a recording is damaged."""
    return RecordingError(f"{path}: damaged: {why}")
