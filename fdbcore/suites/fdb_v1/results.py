"""What stands beside the scorecard: the ranges over recognisers, detectors and judges, the tests before and after; and
the picture of one sample: both sides on one axis in seconds, with the labels over them, and its figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from fdbcore.report.format import NONE, counted, p_value
from fdbcore.report.html.templates import render
from fdbcore.report.html.values import Cell
from fdbcore.report.scorecard.columns import ColumnGroup, columns, table
from fdbcore.report.scorecard.screen import interval_text, number_text
from fdbcore.report.svg.text import drawing, number, xml
from fdbcore.report.terminal import filled
from fdbcore.suites.fdb_v1.judging import REASONS, TOLD
from fdbcore.suites.fdb_v1.measures import BY_ID, FEATURES
from fdbcore.suites.fdb_v1.over_samples import V1PairedTest, V1Range

if TYPE_CHECKING:
    from fdbcore.suites.fdb_v1.scoring import V1Document, V1Item

AGAINST: Final = {"before": "before the overlap", "clean": "the clean sample"}
RANGE_HEADS: Final = ("system", "measure", "n", "least", "most", "by each")
TEST_HEADS: Final = (
    "", "feature", "against", "n", "out", "published [95 %]", "p", "Holm", "d_z", "ours n", "ours [95 %]", "p", "Holm",
)  # fmt: skip
RANGES: Final = "What the figures are by other recognisers, detectors and judges, of the n samples that all have"
BY: Final = {"transcriber": "recogniser", "detector": "voice activity detector", "judge": "judge or its wording"}
ALPHA: Final = 0.05
TESTS: Final = "After the overlap, compared"
TESTS_NOTE: Final = (
    "Published: a paired t-test of samples judged “respond” with words on each side, against before or the whole clean "
    "sample, without outliers (3.5 scaled MAD); corrected over the tests of one task and system (Holm). Ours: all "
    "samples, by sign flips, the clean ones from the same time on; corrected over all tests."
)
WIDTH: Final = 640.0
LEFT: Final = 56.0
RIGHT: Final = 8.0
TOP: Final = 18.0
ROW: Final = 26.0
BAR: Final = 16.0
STEPS_S: Final = (0.5, 1, 2, 5, 10, 20, 30, 60)
MOST_STEPS: Final = 12
COLUMNS: Final = ("figure", "value")


def details(ranges: Sequence[V1Range], tests: Sequence[V1PairedTest], width: int) -> list[list[str]]:
    """Both as blocks of lines of at most `width` columns; none for what is not known."""
    blocks = []
    if ranges:
        moved = [each for each in ranges if _range(each)[2] != _range(each)[3]]
        alike = len(ranges) - len(moved)
        head = f"{RANGES}; {counted(alike, 'figure')} {'is' if alike == 1 else 'are'} the same by all"
        blocks.append([*filled(head, width).splitlines(), *(_ranges_table(moved, width) if moved else [])])
    if tests:
        blocks.append([line for text in _tests_told(tests) for line in filled(text, width).splitlines()])
    return blocks


def _tests_told(tests: Sequence[V1PairedTest]) -> Iterator[str]:
    """What differs by a corrected p, and in how many tests; the page has all of them."""
    yield from _told("published", [(each, each.p_holm, each.difference) for each in tests])
    yield from _told("ours", [(each, each.ours_p_holm, each.ours_difference) for each in tests])


def _told(whose: str, tests: Sequence[tuple[V1PairedTest, float | None, float | None]]) -> Iterator[str]:
    known = [(each, p, by) for each, p, by in tests if p is not None and by is not None]
    if not known:
        yield f"{TESTS}, {whose}: too few samples for any test"
        return
    found = [(each, p, by) for each, p, by in known if p < ALPHA]
    yield f"{TESTS}, {whose}: {len(found)} of {len(known)} tests find a difference (Holm); the page has all"
    for each, p, by in found:
        label, unit, decimals = FEATURES[each.feature]
        shown = f"{by:+.{decimals}f} {unit}".strip()
        against = AGAINST[each.against]
        yield f"  {each.system}, {each.condition}: {label} {shown} against {against}, p {p_value(p)}"


def section(ranges: Sequence[V1Range], tests: Sequence[V1PairedTest]) -> str:
    """Both as a section of the page, as HTML; "" without either."""
    if not ranges and not tests:
        return ""
    return render(
        "results.html", __package__,
        ranges=[(Cell(each.system, each.condition), _range(each)) for each in ranges],
        tests=[(Cell(each.system, each.condition), _test(each)) for each in tests],
        range_heads=RANGE_HEADS, test_heads=["system", *TEST_HEADS[1:]], ranges_title=RANGES, tests_title=TESTS,
        tests_note=TESTS_NOTE,
    )  # fmt: skip


def ranges_told(document: V1Document) -> Iterator[str]:
    """A sentence on the widest range of shares by each of BY, and one on how far each two judges agree."""
    for by, what in BY.items():
        own = [each for each in document.ranges if each.by == by and BY_ID[each.measure].pools == "share"]
        if any(each.low < each.high for each in own):
            widest = max(own, key=lambda each: each.high - each.low)
            yield (
                f"With the {what}, “{BY_ID[widest.measure].label}” of {widest.system} ({widest.condition}) "
                f"goes from {widest.low:.2f} to {widest.high:.2f} on {counted(widest.n, 'sample')}; "
                "no share goes further."
            )
    for each in document.agreement:
        agree, kappa = (
            f"{number_text(own.value)} {interval_text(own.ci95) if own.ci95 else ''}".strip()
            for own in (each.agree, each.kappa)
        )
        told = f"{each.second} agrees with {each.first} on “{TOLD[each.rubric]}”"
        yield f"{told} in {agree} of {counted(each.agree.n or 0, 'sample')}, kappa {kappa}."


def _range(each: V1Range) -> Sequence[str]:
    measure = BY_ID[each.measure]
    by = ", ".join(f"{name} {_decimals(each, value)}" for name, value in each.values.items())
    low, high = _decimals(each, each.low), _decimals(each, each.high)
    return f"{measure.label} {measure.unit}".strip(), str(each.n), low, high, by


def _test(each: V1PairedTest) -> Sequence[str]:
    label, unit, decimals = FEATURES[each.feature]
    published = _difference(each.difference, each.ci95, decimals)
    ours = _difference(each.ours_difference, each.ours_ci95, decimals)
    return (
        f"{label} {unit}".strip(), AGAINST[each.against], str(each.n), str(each.outliers), published,
        p_value(each.p), p_value(each.p_holm), NONE if each.d_z is None else f"{each.d_z:+.2f}",
        str(each.ours_n), ours, p_value(each.ours_p), p_value(each.ours_p_holm),
    )  # fmt: skip


def _difference(value: float | None, limits: Sequence[float] | None, decimals: int) -> str:
    if value is None:
        return NONE
    return f"{value:+.{decimals}f}{f' {interval_text(limits, chr(43))}' if limits else ''}"


def _ranges_table(ranges: Sequence[V1Range], width: int) -> list[str]:
    """A line for each range, with a column for each recogniser and detector."""
    by = list(dict.fromkeys(name for each in ranges for name in each.values))
    names = [f"{each.system}, {each.condition}" for each in ranges]
    measures, *limits, _ = zip(*map(_range, ranges), strict=True)
    values = [[_decimals(each, each.values.get(name)) for name in by] for each in ranges]
    groups = [
        ColumnGroup("", ["measure"], [len("measure")], [[measure] for measure in measures]),
        ColumnGroup("", ["n", "least", "most"], [3, 5, 5], list(zip(*limits, strict=True))),
        ColumnGroup("by each", by, [*map(columns, by)], values),
    ]
    return table(names, groups, width)


def _decimals(each: V1Range, value: float | None) -> str:
    return NONE if value is None else f"{value:.{BY_ID[each.measure].decimals}f}"


def picture(item: V1Item) -> str:
    """The drawing of a sample, and a table of its figures, as HTML."""
    rows = [(BY_ID[name].label, [_value(name, items)]) for name, items in item.figures.items() if name in BY_ID]
    marks = item.marks or {}
    facts = [(TOLD[name], f"{marks[name]}: {marks[REASONS[name]]}") for name in TOLD if name in marks]
    facts += [("system's words", item.words)] if item.words else []
    return render("sample.html", __package__, drawing=_drawing(item), rows=rows, facts=facts, columns=COLUMNS)


def _value(name: str, items: Sequence[float]) -> str:
    measure = BY_ID[name]
    if not items:
        return NONE
    mean = f"{sum(items) / len(items):.{measure.decimals}f} {measure.unit}".strip()
    return mean if len(items) == 1 else f"{mean} (mean of {len(items)})"


def _drawing(item: V1Item) -> str:
    length_s = max(item.length_s, 0.1)
    height = TOP + 2 * ROW + 22

    def x(time_s: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(time_s, length_s) / length_s

    parts = [
        _rect("label", x(start_s), 4, max(x(end_s) - x(start_s), 2), height - 26) for start_s, end_s in item.labels
    ]
    for number_, (name, css, spans) in enumerate(
        (("user", "user", item.user), ("system", "system", item.system_speech))
    ):
        y = TOP + number_ * ROW
        parts.append(f'<text x="{number(LEFT - 6)}" y="{number(y + 12)}" class="end">{xml(name)}</text>')
        parts += [_rect(css, x(start_s), y, max(x(end_s) - x(start_s), 1), BAR) for start_s, end_s in spans]
    parts += _axis(length_s, x(0.0), x(length_s), TOP + 2 * ROW)
    labelled = ", ".join(f"{start_s:.2f} to {end_s:.2f} s" for start_s, end_s in item.labels) or "none"
    told = f"{item.condition}: the user and {item.system} over {length_s:.1f} s; labels: {labelled}"
    return drawing("".join(parts), WIDTH, height, told, "sample")


def _axis(length_s: float, first: float, last: float, y: float) -> Iterator[str]:
    step = next((step for step in STEPS_S if length_s / step <= MOST_STEPS), STEPS_S[-1])
    yield f'<path class="axis" d="M{number(first)} {number(y)}H{number(last)}"/>'
    for count in range(int(length_s / step) + 1):
        x = first + (last - first) * count * step / length_s
        yield f'<path class="axis" d="M{number(x)} {number(y)}v4"/>'
        unit = " s" if not count else ""
        yield f'<text x="{number(x)}" y="{number(y + 16)}" class="middle">{count * step:g}{unit}</text>'


def _rect(css: str, x: float, y: float, width: float, height: float) -> str:
    size = f'width="{number(width)}" height="{number(height)}"'
    return f'<rect class="{css}" x="{number(x)}" y="{number(y)}" {size}/>'
