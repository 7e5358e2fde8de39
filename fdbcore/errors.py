"""Every error that fdbcore raises on purpose.

    FdbError
    ├── InputError (ValueError)         a file or value that the user gave cannot be used
    │   ├── AudioError                  an audio file: missing, not audio, truncated, not finite
    │   ├── SettingsError               a setting out of its range
    │   └── ActError                    a dialogue-act sequence; names the item
    ├── FrameError (ValueError)         a block of PCM of the wrong shape, type or order
    ├── RecordingError (OSError)        a recording that cannot be written or read
    ├── PartyError (ConnectionError)    a live party or a model that cannot be had; says whether to try again
    │   └── RefusalError                a model that declined one request
    └── MissingExtraError (ImportError) a capability whose extra is not installed

Messages are one line: what, where, what was expected and what was found.
"""

from __future__ import annotations

from collections.abc import Iterable


class FdbError(Exception):
    """Root of the tree: catch it to catch everything that fdbcore raises on purpose."""


class InputError(FdbError, ValueError):
    """A file or a value given by the user cannot be used."""


class AudioError(InputError):
    """An audio file is missing, is not audio, is truncated, or holds values that are not finite."""


class SettingsError(InputError):
    """A setting is unknown or out of its range."""


class ActError(InputError):
    """A dialogue-act sequence is invalid; the message names the item."""


class FrameError(FdbError, ValueError):
    """A block of PCM has the wrong shape, type or order."""


class RecordingError(FdbError, OSError):
    """A recording cannot be written or read."""


class PartyError(FdbError, ConnectionError):
    """A party of a live conversation, or a model, cannot be had: nobody there, busy, refused.

    transient: trying again later may help (busy, overloaded), as opposed to a wrong key or address.
    """

    def __init__(self, message: str, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class RefusalError(PartyError):
    """A model declined this one request, by its own rules or a filter; others may go through."""


class MissingExtraError(FdbError, ImportError):
    """A capability needs an extra that is not installed; the message names the extra."""


def nearest(name: str, known: Iterable[str]) -> str:
    """What may have been meant, to end a message with; "" if nothing is alike."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 3)
    return f"; perhaps {' or '.join(near)}" if near else ""
