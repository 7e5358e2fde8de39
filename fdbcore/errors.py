"""Every error that fdbcore raises on purpose.

    FdbError
    ├── InputError (ValueError)         a file or value that the user gave cannot be used
    │   ├── AudioError                  an audio file: missing, not audio, truncated, not finite
    │   ├── SettingsError               a setting out of its range
    │   │   └── VadError                a detector of another's failed
    │   └── ActError                    a dialogue-act sequence; names the item
    ├── FrameError (ValueError)         a block of PCM of the wrong shape, type or order
    ├── RecordingError (OSError)        a recording that cannot be written or read
    ├── PartyError (ConnectionError)    a live party or a model is not available; says whether to try again
    │   └── RefusalError                a model declined one request
    │       └── CutOffError             its answer reached its limit of tokens, which is no refusal of its own
    └── MissingExtraError (ImportError) a capability whose extra is not installed

A message is one line. It says what failed, where, what was expected and what was found.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class FdbError(Exception):
    """The root of the tree: catch it to catch every error that fdbcore raises on purpose."""


class InputError(FdbError, ValueError):
    """A file or a value given by the user cannot be used."""


class AudioError(InputError):
    """An audio file is missing, is not audio, is truncated, or holds values that are not finite."""


class SettingsError(InputError):
    """A setting is unknown or out of its range."""


class VadError(SettingsError):
    """A voice activity detector of another's failed; the message names its class, the tick and the line."""


class ActError(InputError):
    """A dialogue-act sequence is invalid; the message names the item."""


class FrameError(FdbError, ValueError):
    """A block of PCM has the wrong shape, type or order."""


class RecordingError(FdbError, OSError):
    """A recording cannot be written or read."""


class PartyError(FdbError, ConnectionError):
    """A party of a live conversation, or a model, is not available: it is not there, is busy, or refused.

    transient: whether trying again later may help. It may if the party is busy or overloaded; it does not help
    against a wrong key or address. counts: what the vendor bills for an answer that cannot be used, by unit
    (`fdbcore.types.usage.Unit`); empty if it was not stated. answered_by: the model of such an answer; "" if there was
    no answer.
    """

    def __init__(self, message: str, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient
        self.counts: Mapping[Any, float] = {}
        self.answered_by = ""


class RefusalError(PartyError):
    """A model, or a filter before it, declined this one request. Other requests may go through."""


class CutOffError(RefusalError):
    """The answer to this one request reached the model's limit of tokens. text: what there is of it."""

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class MissingExtraError(FdbError, ImportError):
    """A capability needs an extra that is not installed; the message names the extra."""


@contextmanager
def told_as(name: str, kind: str) -> Iterator[None]:
    """In the `with` block, an InputError speaks of `name`, which the user typed, and not of a `kind` of object.

    "model: expected one of ..." becomes "--annotator: expected one of ...".
    """
    try:
        yield
    except InputError as error:
        raise SettingsError(f"{name}: {str(error).removeprefix(f'{kind}: ')}") from error


@contextmanager
def writes(path: object) -> Iterator[None]:
    """In the `with` block, an error of the system becomes a RecordingError: `path` cannot be written.

    Other OSErrors, such as a RecordingError of another file, have no number, and stay as they are.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error


def nearest(name: str, known: Iterable[str]) -> str:
    """A suggestion to end a message with: the known names most like `name`; "" if none is alike."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 3)
    return f"; perhaps {' or '.join(near)}" if near else ""
