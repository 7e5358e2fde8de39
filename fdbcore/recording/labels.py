"""Labels that people gave to recordings: their kinds, and how a recording stores them.

Kinds: `turn_end` (a moment: the end of its span), `speech` (an inter-pausal unit), `pause` (inside a turn), and four
kinds of contribution: `interruption`, `backchannel`, `side_talk` (speech not meant for the other side), `noise`.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct, to_builtins

from fdbcore.errors import RecordingError
from fdbcore.recording.files import LABELS, read_json, refuse_of_another
from fdbcore.recording.form import MOST_TICKS, damaged, of_form
from fdbcore.recording.places import write_with_places
from fdbcore.types import TICKS_PER_S, Side, Span
from fdbcore.types.units import Seconds

LABELS_SCHEMA: Final = "fdbcore.labels/1"

LabelKind: TypeAlias = Literal["turn_end", "speech", "pause", "interruption", "backchannel", "side_talk", "noise"]
KINDS: Final[tuple[LabelKind, ...]] = get_args(LabelKind)
CONTRIBUTIONS: Final[tuple[LabelKind, ...]] = ("interruption", "backchannel", "side_talk", "noise")


class Label(Struct, frozen=True, order=True):
    """A statement on a span of one side; a moment is a span of no length."""

    side: Side
    kind: LabelKind
    start_s: Seconds
    end_s: Seconds

    @property
    def start_tick(self) -> int:
        """The tick nearest to its start."""
        return round(self.start_s * TICKS_PER_S)

    @property
    def end_tick(self) -> int:
        """The tick nearest to its end."""
        return round(self.end_s * TICKS_PER_S)

    @property
    def span(self) -> tuple[int, int]:
        """Its start and its end in ticks."""
        return self.start_tick, self.end_tick


@dataclass(frozen=True, slots=True)
class KeptLabels:
    """The labels of a recording, sorted and within its length.

    source: the file that they came from. notes: what had to be left out or changed, a line each.
    """

    source: str
    labels: Sequence[Label]
    notes: Sequence[str]

    def of(self, side: Side, *kinds: LabelKind) -> list[Label]:
        """The labels of a side that are of these kinds, by time."""
        found = (label for label in self.labels if label.side == side and label.kind in kinds)
        return sorted(found, key=lambda label: (label.start_s, label.end_s))

    def counts(self) -> dict[str, int]:
        """The number of labels of each side and kind: {"A pause": 3}."""
        counted = Counter(f"{label.side} {label.kind}" for label in self.labels)
        return dict(sorted(counted.items()))


def keep_labels(recording: Path, source: str, labels: Iterable[Label]) -> None:
    """Write labels, as given, into the folder of a recording. RecordingError if they cannot be written.

    source: the file that they came from.
    """
    values = {"schema": LABELS_SCHEMA, "source": source, "labels": to_builtins(sorted(labels))}
    write_with_places(recording, LABELS, values)


def given_labels(recording: Path) -> tuple[str, list[Label]] | None:
    """The labels of a recording as given, and the file that they came from, by the way from it; None if it has none.

    RecordingError if they cannot be read.
    """
    path = recording / LABELS
    if not path.is_file():
        return None
    values = read_json(path)
    try:
        if values["schema"] != LABELS_SCHEMA:
            raise RecordingError(f"{path}: expected schema {LABELS_SCHEMA}, got {values['schema']!r}")
        refuse_of_another(recording, LABELS, values)
        source, labels = str(values["source"]), [of_form(path, label, Label) for label in values["labels"]]
    except (KeyError, TypeError) as error:
        raise RecordingError(f"{path}: expected labels of schema {LABELS_SCHEMA}, got another form") from error
    if wrong := next((each for each in labels if not 0 <= each.start_tick <= each.end_tick <= MOST_TICKS), None):
        raise damaged(path, f"expected labels within a week, got {wrong}")
    return source, labels


_EARLY: Final = 100
"""Labels that all lie within this part of a call are hardly of all of it."""


def within_session(labels: Sequence[Label], n_ticks: int, kept: Sequence[Span]) -> tuple[list[Label], list[str]]:
    """The labels without doubles, and cut at the edges of the kept spans; and notes, a line each, on what was changed.

    kept: the spans of the session that are measured, by time. A label lies in the span in which it is decided: a turn
    ends at its end, speech counts as far as it lies in any span, and all others begin at their start.
    """
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
    measured, unmeasured, cut = _within_spans(within, n_ticks, kept)
    are_early = len(once) > 1 and max(each.end_tick for each in once) <= n_ticks // _EARLY
    noted = (
        (
            f"in the first {length_s / _EARLY:.2f} s of {length_s:.2f} s, and no other: in another unit?",
            once if are_early else [],
        ),
        ("given twice, counted once", [label for label, count in Counter(labels).items() if count > 1]),
        (f"after the end at {length_s:.2f} s, left out", sorted(outside)),
        (f"past the end at {length_s:.2f} s, cut there", beyond),
        ("in what was left out of the call, left out too", unmeasured),
        ("running into what was left out of the call, cut there", cut),
        ("overlapping an earlier one of its side and kind, counted all the same", list(_overlapping(measured))),
    )
    return measured, [_note(found, what) for what, found in noted if found]


def _within_spans(
    labels: Sequence[Label], n_ticks: int, kept: Sequence[Span]
) -> tuple[list[Label], list[Label], list[Label]]:
    """The labels as far as they lie in kept spans; those that do not; and those that were cut."""
    if list(kept) == [(0, n_ticks)]:
        return list(labels), [], []
    measured: list[Label] = []
    unmeasured: list[Label] = []
    cut: list[Label] = []
    firsts, lasts = zip(*kept, strict=True) if kept else ((), ())
    for label in labels:
        near = kept[bisect_left(lasts, label.start_tick) : bisect_right(firsts, label.end_tick)]
        parts = [
            Label(label.side, label.kind, max(label.start_s, first / TICKS_PER_S), min(label.end_s, last / TICKS_PER_S))
            for first, last in near
            if _is_decided_in(label, first, last)
        ]
        measured += parts
        unmeasured += [] if parts else [label]
        cut += [label] if parts and parts != [label] else []
    return sorted(measured), unmeasured, cut


def _is_decided_in(label: Label, first_tick: int, last_tick: int) -> bool:
    """True if a label counts in a kept span."""
    if label.kind == "speech":
        return label.start_tick < last_tick and label.end_tick > first_tick
    if label.kind == "turn_end":
        return first_tick <= label.end_tick <= last_tick
    return first_tick <= label.start_tick < last_tick


def _note(found: Sequence[Label], what: str, shown: int = 3) -> str:
    """A line such as "4 labels given twice, counted once: A pause at 1.00 s, ..."."""
    examples = [f"{label.side} {label.kind} at {label.start_s:.2f} s" for label in found[:shown]]
    more = ["..."] if len(found) > shown else []
    return f"{len(found)} label{'s' if len(found) != 1 else ''} {what}: {', '.join([*examples, *more])}"


def _overlapping(labels: Sequence[Label]) -> Iterator[Label]:
    """The labels that begin before all earlier ones of their side and kind have ended. labels: sorted."""
    reached: dict[tuple[Side, LabelKind], float] = {}
    for label in labels:
        key = label.side, label.kind
        if label.start_s < reached.get(key, 0.0):
            yield label
        reached[key] = max(reached.get(key, 0.0), label.end_s)
