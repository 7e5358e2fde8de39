"""How the figures of calls move with the voice activity detector, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.report.format import amount, counted, limits

if TYPE_CHECKING:
    from fdbcore.analysis.statement_types import Sensitivity, VariedGroup
    from fdbcore.analysis.summary_types import Measures

MOVED = "!! moved"
"""The label of a figure that another detector takes out of its interval."""


def detector_lines(found: Sensitivity, measures: Mapping[str, Measures]) -> Iterator[tuple[str, str]]:
    """Which headline measures move with the detector, a line each with its label; which are the same by all.

    measures: of each group as scored, by its name. A figure by another detector is marked if it lies outside the
    interval of the figure as scored.
    """
    at = [(number, each["detector"]) for number, each in enumerate(found["variants"]) if not each["changes"]]
    names = [detector or found["detectors"][0] for _, detector in at]
    unheard = [name for name in found["detectors"] if name not in names]
    if unheard:
        yield "detectors", f"{' and '.join(unheard)} could not hear the audio"
    for name, reason in found["unheard"].items():
        yield "", f"as by {names[0]}: {name}: {reason}"
    if len(names) < 2:
        return
    yield "detectors", f"what moves from {names[0]} to {' and '.join(names[1:])}"
    for group in found["groups"]:
        yield from _of_group(group, [number for number, _ in at], names, measures.get(group["name"], {}))


def _of_group(group: VariedGroup, at: list[int], names: list[str], measures: Measures) -> Iterator[tuple[str, str]]:
    prefix, same = f"{group['name']}: " if group["name"] else "", []
    for measure, label in headlines().items():
        unit, figures = MEASURES[measure].unit, group["measures"][measure]["figures"]
        shown = [amount(figures[number], unit) for number in at]
        if len(set(shown)) == 1:
            same += [label] if figures[0] is not None else []
            continue
        interval = measures[measure]["ci95"] if measure in measures else None
        values = [figure for number in at if (figure := figures[number]) is not None]
        moved = interval is not None and not all(interval[0] <= value <= interval[1] for value in values)
        shown[0] = " ".join(filter(None, (shown[0], limits(interval, unit))))
        by_each = ", ".join(f"{text} by {name}" for text, name in zip(shown, names, strict=True))
        yield MOVED if moved else "", f"{prefix}{label}: {by_each}"
    if same:
        yield "", f"{prefix}{counted(len(same), 'measure')} the same by all: {', '.join(same)}"
