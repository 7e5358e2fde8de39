"""The examiners of a run as they are measured themselves: what they did, and how much of the variance is theirs; with
their tables on the screen and on the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from msgspec import Meta, Struct

from fdbcore.endpoints.examiner.actor import SCRIPTED
from fdbcore.measures.examined import Examined
from fdbcore.measures.examiner_rule import BY
from fdbcore.report.format import NONE
from fdbcore.report.html.templates import render
from fdbcore.report.scorecard.columns import ColumnGroup, columns, fitted, table, wrapped
from fdbcore.stats.bootstrap import Floats, quantile
from fdbcore.stats.variance import REPEATED, REST, variance_shares
from fdbcore.suites.staged.cases import PROVEN, LostCase, StagedCase
from fdbcore.suites.staged.rows import ORDER
from fdbcore.suites.staged.scales import COMPARED, LABELS
from fdbcore.types.scorecard import Interval

SCENARIO, SYSTEM, EXAMINER = "scenario", "system", "examiner"
FACTORS: Final = (SCENARIO, SYSTEM, EXAMINER)
BOTH: Final = f"{SCENARIO} x {SYSTEM}"
PARTS: Final = {
    SCENARIO: SCENARIO, SYSTEM: SYSTEM, BOTH: BOTH, REST: REST, REPEATED: EXAMINER, EXAMINER: EXAMINER,
    f"{SCENARIO} x {EXAMINER}": EXAMINER, f"{SYSTEM} x {EXAMINER}": EXAMINER, f"{BOTH} x {EXAMINER}": EXAMINER,
}  # fmt: skip
"""To which part each component of the variance belongs: an examiner's are its seeds, and what it changes by itself."""


TITLE: Final = "The examiner itself"
NAME_COLUMNS: Final = 28
HEADS: Final = {
    "calls": "scored",
    "invalid": "for a fault of its own (docs/staged.md has the rule), and held again",
    "contradicted": "it acted on an early cue that was none",
    "off script": "words of no part of its brief, or those of an assistant",
    "in a pause": "it took a pause of the system for the end of its answer: the system went on within 1 s",
    "cut in": "it began while the system spoke, which its pacing does not",
    "not yielded": "it went on while the system spoke over it, although its pacing yields",
    "deaf": "it took the system for silent that had spoken for a second or more",
    "never stated": "it left the goal as done without a word for it, or as met with under half of each saying heard",
    "opened second": "the system spoke before it",
    "muted speech": "the system spoke while it was muted, so that the examiner opens",
    "closed early": "it said its last words with goals left and no limit reached",
    "stalled": "it said nothing while the system waited, or did not get on",
    "reactions": "from the end of the system's speech to its own first sound; p95 from 100 of them on",
    "promised ms": "the reaction times of its pacing; sooner, later: so many were outside of them",
}
"""What the columns of the table mean."""
EXAMINER_COLUMNS: Final = (
    ("", ("calls",)),
    ("", ("invalid", "contradicted")),
    ("of sayings", ("off script", "in a pause", "cut in", "not yielded", "deaf")),
    ("of goals", ("never stated",)),
    ("of calls", ("opened second", "muted speech", "closed early", "stalled")),
    ("", ("reactions", "median ms", "p95 ms", "promised ms", "sooner", "later")),
)
"""The columns themselves, by the title above them."""
EXAMINER_NOTE: Final = "; ".join(f"{head}: {meaning}" for head, meaning in HEADS.items()) + "."
VARIANCE_NOTE: Final = (
    "Analysis of variance, all effects random; intervals: bootstrap over scenarios. The examiner's share is what its "
    "seeds, and different examiners, change on one system in one scenario."
)
ONE_TRIAL: Final = " With one trial a seed it holds, too, what the system varies by itself."


class ExaminerReactions(Struct, frozen=True):
    """From the end of the system's speech to the first sound of the examiner that answers it."""

    n: int
    median_ms: float | None
    p95_ms: Annotated[float | None, Meta(description="from n = 100 on")]
    promised_ms: Annotated[tuple[float, float] | None, Meta(description="the shortest and longest of its pacing")]


class StagedExaminer(Struct, frozen=True):
    """An examiner under one pacing, over its calls."""

    pacing: str
    examiner: str
    calls: Annotated[int, Meta(description="that are scored")]
    invalid: Annotated[int, Meta(description="calls that are invalid for its own fault, and not counted further")]
    not_opened: Annotated[int, Meta(description="calls in which the system spoke before it")]
    goals: int
    sayings: int
    told: Annotated[int, Meta(description="sayings whose words it tells")]
    counts: Annotated[dict[str, int], Meta(description="of left_role, off_script, unstated, closed_early, cut_in, ...")]
    reactions: ExaminerReactions


class VarianceShare(Struct, frozen=True):
    """A share of the variance. ci95: bootstrap over scenarios."""

    share: float | None
    ci95: Interval


class StagedVariance(Struct, frozen=True):
    """Whose the variance of a measure is: an analysis of variance of the scenarios that have all seeds and trials."""

    pacing: str
    measure: str
    scenarios: int
    left_out: Annotated[int, Meta(description="scenarios in which seeds or trials are missing")]
    systems: list[str]
    examiners: list[str]
    seeds: int
    trials: Annotated[int, Meta(description="with one a seed, the examiner's share holds what the system varies by")]
    shares: Annotated[dict[str, VarianceShare], Meta(description="scenario, system, scenario x system, examiner, rest")]


def examiners_of(cases: Sequence[StagedCase], lost: Sequence[LostCase]) -> Iterator[StagedExaminer]:
    """A row for each examiner under each pacing."""
    by_key: dict[tuple[str, str], list[Examined]] = {}
    for case in cases:
        if case.examination is not None:
            by_key.setdefault((case.pacing, case.examiner), []).append(case.examination)
    faulty = Counter((each.pacing, each.examiner) for each in lost if BY in each.reason and each.pacing in ORDER)
    for pacing, examiner in sorted({*by_key, *faulty}, key=lambda key: (ORDER.index(key[0]), key)):
        own = by_key.get((pacing, examiner), [])
        reactions_ms = [reaction_ms for each in own for reaction_ms in each.reactions_ms]
        yield StagedExaminer(
            pacing,
            examiner,
            calls=len(own),
            invalid=faulty[pacing, examiner],
            not_opened=sum(each.opened is False for each in own),
            goals=sum(each.goals for each in own),
            sayings=sum(each.sayings for each in own),
            told=sum(each.told for each in own),
            counts={name: sum(len(getattr(each, name)) for each in own) for name in PROVEN},
            reactions=ExaminerReactions(
                len(reactions_ms),
                quantile(reactions_ms, 0.5) if reactions_ms else None,
                quantile(reactions_ms, 0.95) if reactions_ms else None,
                own[0].promised_ms if own else None,
            ),
        )


def variance_of(cases: Sequence[StagedCase]) -> Iterator[StagedVariance]:
    """Of each pacing and measure: whose the variance is. Nothing where there is one examiner and one seed of it."""
    for pacing in sorted({case.pacing for case in cases}, key=ORDER.index):
        of_pacing = [case for case in cases if case.pacing == pacing]
        for measure in COMPARED:
            if (found := _variance(pacing, measure, of_pacing)) is not None:
                yield found


def _variance(pacing: str, measure: str, cases: Sequence[StagedCase]) -> StagedVariance | None:
    cells: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for case in cases:
        if measure in case.values:
            of_seed = cells.setdefault((case.scenario, case.system, case.examiner), {}).setdefault(case.seed, [])
            of_seed.append(case.values[measure])
    examiners = sorted({key[2] for key in cells})
    systems = sorted(
        system
        for system in {key[1] for key in cells}
        if all(any(key[1:] == (system, examiner) for key in cells) for examiner in examiners)
    )
    seeds = max((len(each) for each in cells.values()), default=0)
    if not systems or (seeds < 2 and len(examiners) < 2):
        return None
    trials = max(len(values) for each in cells.values() for values in each.values())
    scenarios = dict.fromkeys(key[0] for key in cells)
    whole = [
        block
        for scenario in scenarios
        if (block := _block([cells.get((scenario, s, e), {}) for s in systems for e in examiners], seeds, trials))
        is not None
    ]
    if len(whole) < 2:
        return None
    values = np.stack(whole).reshape(len(whole), len(systems), len(examiners), seeds, trials)
    shares = variance_shares(values, FACTORS, PARTS)
    return StagedVariance(
        pacing,
        measure,
        len(whole),
        len(scenarios) - len(whole),
        systems,
        examiners,
        seeds,
        trials,
        {part: VarianceShare(each.value, each.interval) for part, each in shares.items()},
    )


def _block(cells: Sequence[dict[int, list[float]]], seeds: int, trials: int) -> Floats | None:
    """A scenario's values, (cells, seeds, trials); None if it has not all of them."""
    if any(len(each) < seeds or any(len(values) < trials for values in each.values()) for each in cells):
        return None
    return np.array([[each[seed] for seed in sorted(each)] for each in cells])


class ShownTable(NamedTuple):
    """A table. names: of the rows."""

    title: str
    names: Sequence[str]
    groups: Sequence[ColumnGroup]
    note: str


def tables_of(examiners: Sequence[StagedExaminer], variance: Sequence[StagedVariance]) -> Iterator[ShownTable]:
    """The table of the examiners, and one for each pacing of whose the variance is."""
    if examiners:
        names = [row.pacing if row.examiner == SCRIPTED else f"{row.pacing}, {row.examiner}" for row in examiners]
        parts = zip(EXAMINER_COLUMNS, zip(*map(_cells, examiners), strict=True), strict=True)
        yield ShownTable("", names, [_group(*heads, cells) for heads, cells in parts], EXAMINER_NOTE)
    for pacing, group in groupby(variance, lambda each: each.pacing):
        found = list(group)
        yield ShownTable(
            f"Whose the variance is, {pacing}",
            [LABELS[each.measure] for each in found],
            [
                _group(
                    "",
                    ["scenarios", "seeds", "trials"],
                    [[str(each.scenarios), str(each.seeds), str(each.trials)] for each in found],
                ),
                _group(
                    "",
                    ["systems", "examiners"],
                    [[str(len(each.systems)), str(len(each.examiners))] for each in found],
                ),
                *(
                    _group("", [part], [[_share(each.shares.get(part))] for each in found])
                    for part in (SCENARIO, SYSTEM, BOTH, EXAMINER, REST)
                ),
            ],
            VARIANCE_NOTE + (ONE_TRIAL if any(each.trials == 1 for each in found) else ""),
        )


def lines(shown: ShownTable, width: int) -> list[str]:
    """A table on the screen, in lines of at most `width` columns."""
    found = table([fitted(name, NAME_COLUMNS) for name in shown.names], shown.groups, width)
    return [*wrapped(shown.title or TITLE, width), *found, *wrapped(shown.note, width)]


def section(tables: Sequence[ShownTable]) -> str:
    """Tables as HTML; it begins with an h2. Empty without any."""
    return render("examined.html", __package__, title=TITLE, tables=list(map(_html, tables))) if tables else ""


def _cells(row: StagedExaminer) -> Sequence[Sequence[str]]:
    """The cells of a row under each part of EXAMINER_COLUMNS."""
    counts, reactions = row.counts, row.reactions
    promised_ms = reactions.promised_ms

    def of(n: int, *names: str) -> list[str]:
        return [_of(counts.get(name, 0), n) for name in names]

    return (
        [str(row.calls)],
        [str(row.invalid), str(counts["contradicted"])],
        [
            _of(counts["off_script"] + counts["left_role"], row.told),
            *of(row.sayings, "in_pause", "cut_in", "not_yielded", "deaf"),
        ],
        of(row.goals, "unstated"),
        [_of(row.not_opened, row.calls), *of(row.calls, "muted", "closed_early", "stalled")],
        [
            str(reactions.n),
            _ms(reactions.median_ms),
            _ms(reactions.p95_ms),
            NONE if promised_ms is None else "-".join(map(_ms, dict.fromkeys(promised_ms))),
            str(counts["too_soon"]),
            str(counts["too_late"]),
        ],
    )


def _group(title: str, heads: Sequence[str], cells: Sequence[Sequence[str]]) -> ColumnGroup:
    """Columns under one title, each as wide as its head, or its widest cell."""
    return ColumnGroup(title, heads, [*map(columns, heads)], cells)


def _of(count: int, n: int) -> str:
    return f"{count}/{n}" if n else NONE


def _ms(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}"


def _share(found: VarianceShare | None) -> str:
    if found is None or found.share is None:
        return NONE
    return f"{found.share:.0%}" + (f" [{found.ci95[0]:.0%}, {found.ci95[1]:.0%}]" if found.ci95 else "")


def _html(shown: ShownTable) -> dict[str, Any]:
    heads = [head for group in shown.groups for head in group.headers]
    rows = [
        (name, [cell for group in shown.groups for cell in group.cells[number]])
        for number, name in enumerate(shown.names)
    ]
    return {
        "title": shown.title,
        "name": shown.title or TITLE,
        "columns": ["measure" if shown.title else "examiner", *heads],
        "rows": rows,
        "note": shown.note,
    }
