"""The finding of a health check, and helpers that the checks share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.recording.health import HealthFinding, HealthId, Severity
from fdbcore.types import Side, Span

SEVERITIES: Final[tuple[Severity, ...]] = ("note", "warn", "bad")
Bools: TypeAlias = npt.NDArray[np.bool_]
COUNTED_TICKS: Final = 100_000  # at a time
ECHOES: Final = ("echo", "repeats")
"""The ids of findings that make speech of a side count as echo of the other side."""
OFF_THE_CLOCK: Final = (
    "same_channels",
    "mixed",
    "offset",
    "out_of_step",
    "exchanged",
    "wrong_rate",
    "choppy",
    "recorded_twice",
)
"""The ids of findings that, where they are bad, leave no figure of the call right: nobody knows who spoke when."""


def health_finding(
    id: HealthId,
    side: Side | None,
    severity: Severity,
    text: str,
    means: str,
    figures: Mapping[str, float],
    spans: Sequence[Span] = (),
) -> HealthFinding:
    """Something wrong with the audio. figures: by names that include their units. spans: none if it is of all ticks."""
    rounded = {name: round(value, 3) for name, value in figures.items()}
    return HealthFinding(
        id=id, side=side, severity=severity, text=text, means=means, figures=rounded, spans=list(spans)
    )


def runs(ticks: Bools, bridge_ticks: int = 0) -> list[Span]:
    """The half-open spans in which `ticks` (n,) is True; gaps of at most `bridge_ticks` are bridged."""
    edges = np.flatnonzero(np.diff(np.pad(ticks.view(np.int8), 1))).reshape(-1, 2)
    if not len(edges):
        return []
    apart = np.flatnonzero(edges[1:, 0] - edges[:-1, 1] > bridge_ticks)
    starts, ends = edges[np.concatenate(([0], apart + 1)), 0], edges[np.concatenate((apart, [len(edges) - 1])), 1]
    return [(int(start), int(end)) for start, end in zip(starts, ends, strict=True)]


def in_session(spans: Iterable[Span], kept: Sequence[Span]) -> list[Span]:
    """Spans of the kept ticks, counted as if they followed each other, in ticks of the session.

    A span that runs from one kept span into the next becomes two.
    """
    found, before = [], 0  # ticks kept before each of the kept spans
    starts_before = [(start, end, before := before + end - start) for start, end in kept]
    for first, last in spans:
        for start, end, through in starts_before:
            offset = end - through
            part = max(first + offset, start), min(last + offset, end)
            found += [part] if part[0] < part[1] else []
    return found


def near(ticks: Bools, distance_ticks: int) -> Bools:
    """The ticks, bool (n,), within `distance_ticks` of one that is True."""
    widened = np.zeros(len(ticks), np.bool_)
    for block, counted in counts(ticks, distance_ticks, distance_ticks):
        widened[block] = counted > 0
    return widened


def counts(ticks: Bools, before: int, after: int) -> Iterator[tuple[slice, npt.NDArray[np.int32]]]:
    """Counts of True ticks from `before` ticks before each tick of (n,) to `after` ticks after it, in blocks.

    Yields a block of ticks, and its counts, int32.
    """
    n = len(ticks)
    for start in range(0, n, COUNTED_TICKS):
        end = min(start + COUNTED_TICKS, n)
        first, last = start - before - 1, end + after
        around = np.pad(ticks[max(first, 0) : last], (max(-first, 0), max(last - n, 0)))
        sums = np.cumsum(around, dtype=np.int32)
        yield slice(start, end), sums[before + after + 1 :] - sums[: end - start]


def decibels(power: float) -> float:
    """A power relative to full scale 1, in dBov, at least LEAST_DBOV."""
    return float(10 * np.log10(max(power, 10 ** (LEAST_DBOV / 10))))


LEAST_DBOV: Final = -100.0
"""The level shown for digital silence."""
