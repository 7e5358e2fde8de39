"""Labels that people have put on recordings: what they may say, to which call each belongs, and how they are kept.

Kinds: `turn_end` (a moment: the end of its span), `speech` (an inter-pausal unit), `pause` (inside a turn), and what a
contribution is: `interruption`, `backchannel`, `side_talk` (speech that is not meant for the other), `noise`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from fdbcore.errors import RecordingError
from fdbcore.recording.files import LABELS, read_json, write_json
from fdbcore.types import TICKS_PER_S, Side

LABELS_SCHEMA: Final = "fdbcore.labels/1"

LabelKind: TypeAlias = Literal["turn_end", "speech", "pause", "interruption", "backchannel", "side_talk", "noise"]
KINDS: Final[tuple[LabelKind, ...]] = get_args(LabelKind)
CONTRIBUTIONS: Final[tuple[LabelKind, ...]] = ("interruption", "backchannel", "side_talk", "noise")


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """What somebody says of a span of one side, in seconds of the session; a moment is a span of no length."""

    side: Side
    kind: LabelKind
    start_s: float
    end_s: float

    @property
    def start_tick(self) -> int:
        """The nearest tick to its start."""
        return round(self.start_s * TICKS_PER_S)

    @property
    def end_tick(self) -> int:
        """The nearest tick to its end."""
        return round(self.end_s * TICKS_PER_S)

    def to_json(self) -> dict[str, Any]:
        """Its fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class KeptLabels:
    """The labels of a recording, sorted, within its length. notes: what had to be left out or changed, a line each."""

    source: str
    labels: Sequence[Label]
    notes: Sequence[str]

    def of(self, side: Side, *kinds: LabelKind) -> list[Label]:
        """Those of a side and of these kinds, by time."""
        found = (label for label in self.labels if label.side == side and label.kind in kinds)
        return sorted(found, key=lambda label: (label.start_s, label.end_s))

    def counts(self) -> dict[str, int]:
        """How many there are of each side and kind: {"A pause": 3}."""
        counted = Counter(f"{label.side} {label.kind}" for label in self.labels)
        return dict(sorted(counted.items()))


def keep_labels(recording: Path, source: str, labels: Iterable[Label]) -> None:
    """Write the labels of a recording into its folder, as they were given. RecordingError if that cannot be done."""
    values = {"schema": LABELS_SCHEMA, "source": source, "labels": [label.to_json() for label in sorted(labels)]}
    write_json(recording / LABELS, values)


def given_labels(recording: Path) -> tuple[str, list[Label]] | None:
    """Where the labels of a recording come from, and what was given; None if it has none.

    RecordingError if they cannot be read.
    """
    path = recording / LABELS
    if not path.is_file():
        return None
    values = read_json(path)
    try:
        if values["schema"] != LABELS_SCHEMA:
            raise RecordingError(f"{path}: expected schema {LABELS_SCHEMA}, got {values['schema']!r}")
        return str(values["source"]), [Label(**label) for label in values["labels"]]
    except (KeyError, TypeError) as error:
        raise RecordingError(f"{path}: expected labels of schema {LABELS_SCHEMA}, got {error!r}") from error


def within_session(labels: Sequence[Label], n_ticks: int) -> tuple[list[Label], list[str]]:
    """Each label once, cut at the end of the session; and a line for what that changed, or what overlaps."""
    length_s = n_ticks / TICKS_PER_S
    once = sorted(set(labels))
    outside = {
        label
        for label in once
        if label.start_tick >= n_ticks and (label.end_s > label.start_s or label.end_tick > n_ticks)
    }
    beyond = [label for label in once if label.end_tick > n_ticks and label not in outside]
    within = [
        Label(label.side, label.kind, min(label.start_s, length_s), min(label.end_s, length_s))
        for label in once
        if label not in outside
    ]
    told = (
        ("given twice, counted once", [label for label, count in Counter(labels).items() if count > 1]),
        (f"after the end at {length_s:.2f} s, left out", sorted(outside)),
        (f"past the end at {length_s:.2f} s, cut there", beyond),
        ("overlapping an earlier one of its side and kind, counted all the same", list(_overlapping(within))),
    )
    return within, [f"{_counted(found)} {what}: {_examples(found)}" for what, found in told if found]


def _overlapping(labels: Sequence[Label]) -> Iterator[Label]:
    """Those that begin before all earlier ones of their side and kind have ended; of sorted labels."""
    reached: dict[tuple[Side, LabelKind], float] = {}
    for label in labels:
        key = label.side, label.kind
        if label.start_s < reached.get(key, 0.0):
            yield label
        reached[key] = max(reached.get(key, 0.0), label.end_s)


def _counted(found: Sequence[Label]) -> str:
    return f"{len(found)} label{'s' if len(found) != 1 else ''}"


def _examples(found: Sequence[Label], shown: int = 3) -> str:
    texts = [f"{label.side} {label.kind} at {label.start_s:.2f} s" for label in found[:shown]]
    return ", ".join([*texts, *(["..."] if len(found) > shown else [])])
