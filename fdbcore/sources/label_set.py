"""Labels as files have them: the name of their call, perhaps a channel in place of a side, and many names of kinds."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from fdbcore.recording.labels import Label, LabelKind
from fdbcore.sources.names import NameIndex, Oddities
from fdbcore.types import SIDES, Side, TurnKind

Place: TypeAlias = Side | Literal["left", "right"]

_PLACES: Final[Mapping[Place, Sequence[str]]] = {
    "A": ("a", "user", "caller", "customer", "human", "examiner"),
    "B": ("b", "system", "agent", "bot", "assistant", "evaluatee"),
    "left": ("left", "l", "0", "1"),
    "right": ("right", "r", "2"),
}
SIDE_NAMES: Final = {name: place for place, names in _PLACES.items() for name in names}
"""The names that a side may have, in upper or lower case. Left and right become A or B once the call is known.

Whether 1 is left or right is decided by all labels, see `ChannelColumn`.
"""

_KINDS: Final[Mapping[LabelKind, Sequence[str]]] = {
    "turn_end": ("turn_end", "turn_ends", "end_of_turn", "eot", "turn", "turns"),
    "speech": ("speech", "ipu", "ipus", "utterance", "speech_end"),
    "pause": ("pause", "pauses", "mid_turn_pause"),
    "interruption": ("interruption", "interruptions", "barge_in", "bargein"),
    "backchannel": ("backchannel", "backchannels", "bc", "aizuchi"),
    "side_talk": ("side_talk", "sidetalk", "side_speech", "talking_to_other"),
    "noise": ("noise", "noises", "background", "background_speech"),
}
KIND_NAMES: Final = {name: kind for kind, names in _KINDS.items() for name in names}
"""The names that a kind may have, in any case, with spaces, hyphens or underscores. A turn counts as its end."""

LEFT_OUT: Final = "left_out"
"""The name in exports of a span that a user leaves out."""

MOST_WORDS: Final = 5
"""Of a label that tell its side and kind: a side, a kind of up to three words, and one more."""
EVENTS: Final = frozenset({*get_args(TurnKind), "overlap", LEFT_OUT} - set(KIND_NAMES))
"""Names of what exports list beside labels. They are not labels, and are skipped without a note."""


@dataclass(frozen=True, slots=True)
class FileLabel:
    """A label as a file has it. call: the name that the file gives the call. place: its side, or its channel."""

    call: str
    place: Place
    kind: LabelKind
    start_s: float
    end_s: float

    def on(self, swap: bool) -> Label:
        """The label in a call whose left channel is A; if `swap`, its left channel is B."""
        in_order: tuple[Side, Side] = ("B", "A") if swap else SIDES
        side = in_order[self.place == "right"] if self.place in ("left", "right") else self.place
        return Label("A" if side == "A" else "B", self.kind, self.start_s, self.end_s)


@dataclass(frozen=True, slots=True)
class LabelSet:
    """All labels of a file, or of the files in a folder.

    is_one_call: whether they come from one file that names no call. If there is only one call, they belong to it.
    """

    path: Path
    labels: Sequence[FileLabel]
    is_one_call: bool

    def by_call(
        self,
        known: Sequence[tuple[str, Sequence[Path]]],
        swapped: Callable[[int], bool],
        oddities: Oddities,
    ) -> dict[int, list[Label]]:
        """The labels of each call that has any, by the number of the call.

        known: the calls, as in `NameIndex`. swapped: tells whether the left channel of a call is B. Names that fit no
        call are noted in `oddities`; SettingsError for a name that fits several.
        """
        counts = Counter(label.call for label in self.labels)
        is_the_only = self.is_one_call and len(known) == 1
        numbers = dict.fromkeys(counts, 0) if is_the_only else NameIndex(known).joined(counts, self.path)
        strange = [f"{name} ({count})" for name, count in counts.items() if numbers[name] is None]
        oddities.add(f"names in {self.path.name} without a call here, left out with their labels", strange)
        found: dict[int, list[Label]] = {}
        for label in self.labels:
            number = numbers[label.call]
            if number is not None:
                swap = label.place in ("left", "right") and swapped(number)
                found.setdefault(number, []).append(label.on(swap))
        return found


class Entry(NamedTuple):
    """An entry of a label file, as written. call: None if the file names no call. where: its place in the file."""

    call: str | None
    side: str
    kind: str
    start_s: float | None
    end_s: float | None
    where: str


Parser = Callable[[str, Path, Oddities], Iterator[Entry]]


@lru_cache(1000)
def plain(text: str) -> str:
    """`text` in lower case, with its words joined by underscores."""
    return re.sub(r"[\s\-_]+", "_", text.strip().lower())


def side_and_kind(text: str) -> tuple[str, str]:
    """The side and the kind with which a text begins, in either order.

    If it begins with a side but no known kind, the kind is the word after it.
    """
    words = [found.group() for found in islice(re.finditer(r"[^\W_]+", text), MOST_WORDS)]
    has_side = bool(words) and plain(words[0]) in SIDE_NAMES
    # Names of kinds have up to three words: try the longest first, after the side and then without one.
    for first, length in ((first, length) for first in (0, 1)[: 1 + has_side] for length in (3, 2, 1)):
        kind, following = "_".join(words[first : first + length]), words[first + length : first + length + 1]
        if len(words) >= first + length and is_known(kind):
            return words[0] if first else "".join(following), kind
    return (words[0], " ".join(words[1:2])) if has_side else ("", " ".join(words[:1]))


def is_known(kind: str) -> bool:
    """True if a text is the name of a kind, or of what exports list beside labels."""
    return plain(kind) in KIND_NAMES or plain(kind) in EVENTS


def meanings_in_tier(tier: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Side and kind of each text in a tier: those of its name, and what it lacks from the text.

    Empty if neither the name nor any text has a kind.
    """
    side, kind = side_and_kind(tier)
    has_side, has_kind = plain(side) in SIDE_NAMES, plain(kind) in KIND_NAMES
    if has_kind:
        return [(side if has_side else text, kind) for text in texts]
    own = [side_and_kind(text) for text in texts]
    return [(side if has_side else each, kind) for each, kind in own] if any(is_known(kind) for _, kind in own) else []
