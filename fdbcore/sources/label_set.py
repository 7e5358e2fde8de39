"""Labels as a file has them: with the name of their call, and perhaps a channel in place of a side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from fdbcore.recording.labels import Label, LabelKind
from fdbcore.sources.names import NameIndex, Oddities
from fdbcore.types import SIDES, Side

Place: TypeAlias = Side | Literal["left", "right"]


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

    @property
    def annotated(self) -> set[tuple[Place, LabelKind]]:
        """The places and kinds that were labelled in any call."""
        return {(label.place, label.kind) for label in self.labels}

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
