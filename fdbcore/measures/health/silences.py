"""A search for silence that a recorder left out: one started by voice stops when nobody speaks, until somebody does.

No silence of both sides is then longer than such a recorder waits, and many are just that long, whoever speaks next.
Parties that always wait for the same time sound so, too, so it is a warning, and no figure is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore.measures.health.finding import Bools, health_finding
from fdbcore.recording.health import HealthFinding
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side

LEAST_TICKS: Final = 20
"""Shorter silences are those of stops inside words."""
ALIKE_TICKS: Final = 8
MOST_TICKS: Final = 3 * TICKS_PER_S
FEWEST, LEAST_SHARE, FEWEST_EACH = 8, 0.5, 2
"""So many silences of all are alike, at least, and so many of them before each side speaks next."""
MOST_LONGER: Final = 0.15
"""So many of all may be longer, as a knock or a breath keeps such a recorder going."""


def cut_short(activity: Mapping[Side, Bools]) -> Iterator[HealthFinding]:
    """Silences of both sides seem to be cut to one length. activity: bool (n_ticks,), without echo."""
    ticks, answers = _silences(activity)
    if len(ticks) < FEWEST:
        return
    known = np.sort(ticks)
    counts = np.searchsorted(known, known + ALIKE_TICKS) - np.arange(len(known))
    first = known[counts.argmax()]
    alike, longer = (ticks >= first) & (ticks < first + ALIKE_TICKS), ticks >= first + ALIKE_TICKS
    count, length_ticks = int(np.count_nonzero(alike)), float(np.median(ticks[alike]))
    if (
        count >= max(FEWEST, LEAST_SHARE * len(ticks))
        and np.count_nonzero(longer) <= MOST_LONGER * len(ticks)
        and length_ticks <= MOST_TICKS
        and all(np.count_nonzero(alike & answer) >= FEWEST_EACH for answer in answers)
    ):
        alike_s = f"{count} of {len(ticks)} silences of both sides last {length_ticks / TICKS_PER_S:.1f} s"
        text = f"silence left out? {alike_s}, and {np.count_nonzero(longer)} longer"
        means = (
            "A recorder that is started by voice sounds so, and latencies were longer than they are here; or both "
            "parties always wait for the same time."
        )
        figures = {"silence_ms": TICK_MS * length_ticks}
        yield health_finding("silence_left_out", None, "warn", text, means, figures)


def _silences(activity: Mapping[Side, Bools]) -> tuple[npt.NDArray[np.int64], list[Bools]]:
    """Lengths of the silences of both sides, in ticks (n,), and after which of them A, and B, answers the other."""
    spoken = activity["A"] | activity["B"]
    edges = np.flatnonzero(np.diff(spoken))
    edges = edges[1 if len(edges) and not spoken[edges[0]] else 0 :]  # where speech ends, and where it begins again
    ends, starts = edges[: len(edges) // 2 * 2].reshape(-1, 2).T
    long = starts - ends >= LEAST_TICKS
    ends, starts = ends[long], starts[long]
    answers = [
        activity[side][starts + 1] & ~activity[side][ends] if len(ends) else np.zeros(0, np.bool_) for side in SIDES
    ]
    return starts - ends, answers
