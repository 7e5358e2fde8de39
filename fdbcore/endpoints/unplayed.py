"""Audio that a system sent in a form that its party does not play: nobody may say then that the system was silent."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

LEAST_BYTES: Final = 8000
"""A second of telephone audio, the sparsest; below that a text that looks like Base64 may be something else."""
MOST_NAMES, MOST_CHARS = 3, 60

_CODED: Final = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")  # 20 ms of telephone audio are 216 characters
_OF_SOUND: Final = re.compile("audio|media|pcm|sound|speech|voice|wav", re.IGNORECASE)


class Unplayed:
    """Counts audio that is not played, by the names of the messages that bring it, which a server may choose."""

    def __init__(self) -> None:
        self._messages: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def add(self, name: str, n_bytes: int) -> None:
        """Count the audio of one message."""
        name = name[:MOST_CHARS]
        if name not in self._messages and len(self._messages) >= MOST_NAMES:
            name = "others"
        self._messages[name] += 1
        self._bytes[name] += n_bytes

    def taken_from(self, name: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """A message that is not played, without its audio, which is counted.

        Audio is a text of Base64 in a message that speaks of sound elsewhere: other such texts are signatures.
        """
        texts = [name, *_texts(event)]
        coded = {text for text in texts if _CODED.fullmatch(text)}
        if not coded or not any(_OF_SOUND.search(text) for text in texts if text not in coded):
            return event
        self.add(name, sum(map(len, coded)) * 3 // 4)
        return {key: _without(value, coded) for key, value in event.items()}

    def measured(self) -> dict[str, str]:
        """The field "unplayed" of what a party measured: how much audio was not played, in which messages."""
        if sum(self._bytes.values()) < LEAST_BYTES:
            return {}
        kinds = [f"{count} × {name!r}" for name, count in self._messages.most_common()]
        return {"unplayed": f"{sum(self._bytes.values()) / 1000:.0f} kB in {' and '.join(kinds)}"}


def _texts(value: object) -> Iterator[str]:
    """All texts in a JSON value, and the names of its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _without(value: Any, coded: set[str]) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return f"{len(value)} characters of audio" if value in coded else value
    if isinstance(value, Mapping):
        return {name: _without(each, coded) for name, each in value.items()}
    return [_without(each, coded) for each in value] if isinstance(value, list) else value
