"""What the released scripts gave of the made sets, kept; and how figures of ours compare with it."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reference import sets
from reference.ours import Values

GOLDEN: Final = Path(__file__).with_name("golden.json")
EDGES: Final = "edges"
SETS: Final = ("1", "2", "3", EDGES)
"""Three seeds, and the edges."""
TOLERANCES: Final = (
    ("tests", 1e-3, 0.0),
    ("latency,", 0.0, 1e-6),
    ("latency", 0.0, 1.5e-3),
    ("frequency", 0.0, 5.1e-5),
)
"""By how a metric begins or ends: the relative and the absolute one. Scripts print frequencies with four decimals, and
keep the ends of intervals in ms."""
OTHERWISE: Final = (0.0, 1e-6)
FEATURE: Final = (0.0, 1e-3)


@dataclass(slots=True)
class Comparison:
    """One metric over samples: how many figures there are, which differ, by how much at most, and which by choice."""

    part: str
    metric: str
    n: int = 0
    worst: float = 0.0
    differ: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    chosen: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def row(self) -> list[str]:
        """As cells of a table."""
        if self.missing or self.differ:
            told = [f"{len(self.differ)} differ by up to {self.worst:.3g}"] if self.differ else []
            told += [f"{len(self.missing)} missing"] if self.missing else []
        else:
            told = ["equal"]
        chosen = sum(map(len, self.chosen.values()))
        return [self.part, self.metric, str(self.n), ", ".join(told), str(chosen or "")]


def made(name: str, folder: Path) -> Path:
    """The set of a name, in a new folder."""
    if name == EDGES:
        sets.make_edges(folder)
    else:
        sets.make(folder, int(name))
    return folder


def compared(given: Values, own: Values, names: Mapping[str, str], found: dict[tuple[str, str], Comparison]) -> None:
    """Adds the figures of a set. given: what the scripts gave. names: what is special about samples."""
    for part, metrics in given.items():
        for metric, samples in metrics.items():
            whole = metric.partition(",")[0] if part != "v1" else metric
            row = found.setdefault((part, whole), Comparison(part, whole))
            for sample in sorted(samples.keys() | own[part].get(metric, {}).keys()):
                theirs, mine = samples.get(sample), own[part].get(metric, {}).get(sample)
                row.n += 1
                apart = _apart(theirs, mine)
                if apart <= _allowed(part, metric, theirs):
                    continue
                special = names.get(sample) or names.get(sample.partition("/")[0], "")
                if special in sets.CHOICES:
                    row.chosen[sets.CHOICES[special]].append(sample)
                elif mine is None:
                    row.missing.append(sample)
                else:
                    row.differ.append(sample)
                    row.worst = max(row.worst, apart)


def _apart(theirs: Any, mine: Any) -> float:
    """How far two values are apart; infinity where one of them is none, or an error."""
    if theirs == mine:
        return 0.0
    if isinstance(theirs, list) and isinstance(mine, list) and len(theirs) == len(mine):
        return max(_apart(a, b) for a, b in zip(theirs, mine, strict=True))
    if isinstance(theirs, int | float) and isinstance(mine, int | float):
        return abs(theirs - mine)
    return math.inf


def _allowed(part: str, metric: str, value: Any) -> float:
    relative, absolute = FEATURE if part == "v1.5" else OTHERWISE
    for name, *limits in TOLERANCES:
        if metric.startswith(name) or metric.endswith(name):
            relative, absolute = limits
            break
    return absolute + (relative * abs(value) if isinstance(value, int | float) else 0.0)


def table(found: Mapping[tuple[str, str], Comparison]) -> Iterator[str]:
    """The comparison as Markdown."""
    rows = [["part", "figure", "n", "beside ours", "by choice"], ["---"] * 5, *(each.row() for each in found.values())]
    yield from (f"| {' | '.join(row)} |" for row in rows)


def kept() -> dict[str, Any]:
    """golden.json: the versions, and for each set its digest and what the scripts gave."""
    found: dict[str, Any] = json.loads(GOLDEN.read_text())
    return found


def names_of(folder: Path) -> dict[str, str]:
    """What is special about the samples of a set."""
    found: dict[str, str] = json.loads((folder / sets.NAMES).read_text())
    return found
