"""The sensitivity of calls' figures to the voice activity detector: in words, and as a table of a page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fdbcore.analysis.sensitivity import Sensitivity, VariedGroup
from fdbcore.analysis.summaries import Measures
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.report.format import amount, counted, limits
from fdbcore.report.html.values import Cell, Row

MOVED = "!! moved"
"""The label of a figure that another detector takes out of its interval."""


class _Figure(NamedTuple):
    """A headline measure by each detector. interval: of the first figure. leaves_it: whether each lies outside it."""

    label: str
    shown: Sequence[str]
    interval: str
    leaves_it: Sequence[bool]


def detector_lines(found: Sensitivity, measures: Mapping[str, Measures]) -> Iterator[tuple[str, str]]:
    """Headline measures that move with the detector, a line each with its label; which are the same by all.

    measures: of each group as scored, by its name. A figure by another detector is marked if it lies outside the
    interval of the figure as scored.
    """
    names = _heard_by(found)
    if unheard := _unheard(found):
        yield "detectors", unheard
    for name, reason in found["unheard"].items():
        yield "", f"as by {names[0]}: {name}: {reason}"
    if len(names) < 2:
        return
    yield "detectors", f"what moves from {names[0]} to {' and '.join(names[1:])}"
    for group in found["groups"]:
        prefix = f"{group['name']}: " if group["name"] else ""
        moving, same = _of_group(found, group, measures.get(group["name"], {}))
        for label, (own, *others), interval, leaves_it in moving:
            shown = (" ".join(filter(None, (own, interval))), *others)
            by_each = ", ".join(f"{text} by {name}" for text, name in zip(shown, names, strict=True))
            yield MOVED if any(leaves_it) else "", f"{prefix}{label}: {by_each}"
        if same:
            yield "", f"{prefix}{same}"


def detector_table(found: Sensitivity, measures: Measures) -> dict[str, Any]:
    """The values for the macro `detectors`, of all calls as one group. measures: of them as scored."""
    names, (group,) = _heard_by(found), found["groups"]
    moving, same = _of_group(found, group, measures)
    rows: list[Row] = []
    for label, shown, interval, (_, *others) in moving:
        meanings = [interval, *("outside the interval" if leaves else "" for leaves in others)]
        rows.append((label, [Cell(text, meaning) for text, meaning in zip(shown, meanings, strict=True)]))
    unheard = [f"{name} is as by {names[0]}: {reason}" for name, reason in found["unheard"].items()]
    notes = [*filter(None, [same if len(names) > 1 else "", _unheard(found)]), *unheard]
    return {"columns": ["measure", *(f"by {name}" for name in names)], "rows": rows, "notes": notes}


def _heard_by(found: Sensitivity) -> list[str]:
    """The detectors that heard the audio, that of the calls first."""
    return [found["variants"][number]["detector"] or found["detectors"][0] for number in _alone(found)]


def _alone(found: Sensitivity) -> list[int]:
    """The numbers of the variants that change nothing but the detector."""
    return [number for number, each in enumerate(found["variants"]) if not each["changes"]]


def _unheard(found: Sensitivity) -> str:
    unheard = [name for name in found["detectors"] if name not in _heard_by(found)]
    return f"{' and '.join(unheard)} could not hear the audio" if unheard else ""


def _of_group(found: Sensitivity, group: VariedGroup, measures: Measures) -> tuple[list[_Figure], str]:
    """The measures that move with the detector, and which are the same by all, in words."""
    moving, same = [], []
    for measure, label in headlines().items():
        unit, of_each = MEASURES[measure].shown_in, group["measures"][measure]["figures"]
        figures = [of_each[number] for number in _alone(found)]
        shown = [amount(figure, unit) for figure in figures]
        if len(set(shown)) == 1:
            same += [label] if figures[0] is not None else []
            continue
        interval = measures[measure]["ci95"] if measure in measures else None
        leaves_it = [
            interval is not None and figure is not None and not interval[0] <= figure <= interval[1]
            for figure in figures
        ]
        moving.append(_Figure(label, shown, limits(interval, unit), leaves_it))
    return moving, f"{counted(len(same), 'measure')} the same by all: {', '.join(same)}" if same else ""
