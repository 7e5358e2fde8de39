"""How many floor events move if the same recording comes at another gain, or with a constant offset, in 16 bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Final

import numpy as np

from benchmarks.bench_turns import floor_events
from benchmarks.voices.detectors import ours
from benchmarks.voices.speech import Bools
from benchmarks.voices.workshop import Made
from fdbcore.types import Pcm


@dataclass(frozen=True)
class Change:
    """gain_db, and then an offset, of which 1 is full scale."""

    gain_db: float = 0.0
    offset: float = 0.0

    def of(self, frame: Pcm) -> Pcm:
        """The changed frame, rounded to 16 bit."""
        changed = frame * 10 ** (self.gain_db / 20) + self.offset * 32_768
        rounded: Pcm = np.clip(np.rint(changed), -32_768, 32_767).astype(np.int16)
        return rounded


CHANGES: Final[Mapping[str, Sequence[Change]]] = {
    "gain of -3 to -24 dB": [Change(gain_db=gain_db) for gain_db in (-3, -6, -12, -18, -24)],
    "offset of 0.0003 to 0.01": [Change(offset=offset) for offset in (0.0003, -0.003, 0.01)],
}
SAME_TICKS: Final = 1
ALL_LINES: Final = "all"


def moved_shares(made: Sequence[Made], names: Sequence[str]) -> Iterator[tuple[str, list[float]]]:
    """Of each line, and of all: for each of our detectors and each kind of change, the share of events that moved."""
    tasks = [(each, name) for each in made for name in names]
    moved: Counter[tuple[str, str, str]] = Counter()
    events: Counter[tuple[str, str, str]] = Counter()
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        for (each, name), counts in zip(tasks, pool.map(_counts, tasks), strict=True):
            for kind, (n_moved, n) in counts.items():
                for line in (each.line, ALL_LINES):
                    moved[line, name, kind] += n_moved
                    events[line, name, kind] += n
    for line in (*dict.fromkeys(each.line for each in made), ALL_LINES):
        keys = [(line, name, kind) for name in names for kind in CHANGES]
        yield line, [moved[key] / max(events[key], 1) for key in keys]


def _counts(task: tuple[Made, str]) -> dict[str, tuple[int, int]]:
    """By kind of change: how many events of either have none like them in the other, and how many there are."""
    made, name = task
    plain = ours(name)(made.path)
    found = {kind: [ours(name, change.of)(made.path) for change in changes] for kind, changes in CHANGES.items()}
    pairs = {kind: [unlike(plain, each) for each in of_kind] for kind, of_kind in found.items()}
    return {kind: (sum(n for n, _ in of_kind), sum(n for _, n in of_kind)) for kind, of_kind in pairs.items()}


def unlike(plain: Bools, changed: Bools) -> tuple[int, int]:
    """How many floor events of either begin more than a tick from any of their kind and side in the other, of how many.

    plain, changed: bool (n_ticks, 2).
    """
    a, b = floor_events(plain), floor_events(changed)
    keys = a.keys() | b.keys()
    lonely = sum(_lonely(a[key], b[key]) + _lonely(b[key], a[key]) for key in keys)
    return lonely, sum(len(a[key]) + len(b[key]) for key in keys)


def _lonely(starts: Sequence[int], others: Sequence[int]) -> int:
    return sum(all(abs(start - other) > SAME_TICKS for other in others) for start in starts)
