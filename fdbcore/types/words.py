"""Words that were said, with times."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from unicodedata import east_asian_width

_WIDE: Final = ("W", "F")


@dataclass(frozen=True, slots=True)
class TimedWord:
    """A word, in the half-open span [start_ms, end_ms) of the audio or the session that it belongs to.

    text: as its source writes it, without spaces around it. in_silence: whether the side was silent there, by its voice
    activity: then a transcriber has most likely made the word up. in_loop: whether it is of a phrase that the
    transcriber says again and again.
    """

    text: str
    start_ms: int
    end_ms: int
    in_silence: bool = False
    in_loop: bool = False

    @property
    def is_doubtful(self) -> bool:
        """True if most likely nobody said it: it is not to be scored."""
        return self.in_silence or self.in_loop


def as_text(words: Iterable[TimedWord]) -> str:
    """The words in a row, with spaces between them but where Chinese or Japanese characters meet."""
    text = ""
    for word in words:
        close = text and word.text and _is_wide(text[-1]) and _is_wide(word.text[0])
        text += word.text if close or not text else f" {word.text}"
    return text


def _is_wide(character: str) -> bool:
    return east_asian_width(character) in _WIDE
