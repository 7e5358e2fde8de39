"""The examiners of a run as they are measured themselves: what they did, and how much of the variance is theirs; with
their tables on the screen and on the page.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

import numpy as np
from msgspec import Meta, Struct

from fdbcore.analysis import LostCall
from fdbcore.endpoints import SCRIPTED
from fdbcore.measures import BY, Examined
from fdbcore.report import NONE, Cell, ColumnGroup, fitted, render, table, width_columns, wrapped
from fdbcore.stats import REPEATED, REST, Floats, quantile, variance_shares
from fdbcore.suites.staged.cases import PROVEN, StagedCase, place_of
from fdbcore.suites.staged.rows import COMPARED, LABELS, ORDER
from fdbcore.types.scorecard import Interval

SCENARIO, SYSTEM, EXAMINER = "scenario", "system", "examiner"
FACTORS: Final = (SCENARIO, SYSTEM, EXAMINER)
BOTH: Final = f"{SCENARIO} x {SYSTEM}"
PARTS: Final = {
    SCENARIO: SCENARIO, SYSTEM: SYSTEM, BOTH: BOTH, REST: REST, REPEATED: EXAMINER, EXAMINER: EXAMINER,
    f"{SCENARIO} x {EXAMINER}": EXAMINER, f"{SYSTEM} x {EXAMINER}": EXAMINER, f"{BOTH} x {EXAMINER}": EXAMINER,
}  # fmt: skip
"""Parts to which the components of the variance belong: an examiner's are its seeds, and what it changes by itself."""

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
"""Meanings of the columns of the table."""
EXAMINER_NOTE: Final = "; ".join(f"{head}: {meaning}" for head, meaning in HEADS.items()) + "."
VARIANCE_NOTE: Final = (
    "Analysis of variance, all effects random; intervals: bootstrap over scenarios. The examiner's share is what its "
    "seeds, and different examiners, change on one system in one scenario."
)
ONE_TRIAL: Final = " With one trial a seed it holds, too, what the system varies by itself."

Parts: TypeAlias = Sequence[tuple[str, Mapping[str, str]]]
"""The cells of a row by their heads, in groups of columns that stay together, each with the title above it."""


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
    """The sources of a measure's variance: an analysis of variance of the scenarios that have all seeds and trials."""

    pacing: str
    measure: str
    scenarios: int
    left_out: Annotated[int, Meta(description="scenarios in which seeds or trials are missing")]
    systems: list[str]
    examiners: list[str]
    seeds: int
    trials: Annotated[int, Meta(description="with one a seed, the examiner's share holds what the system varies by")]
    shares: Annotated[dict[str, VarianceShare], Meta(description="scenario, system, scenario x system, examiner, rest")]


def examiners_of(cases: Sequence[StagedCase], lost: Sequence[LostCall]) -> Iterator[StagedExaminer]:
    """A row for each examiner under each pacing."""
    by_key: dict[tuple[str, str], list[Examined]] = {}
    for case in cases:
        if case.examination is not None:
            by_key.setdefault((case.pacing, case.examiner), []).append(case.examination)
    faulty = Counter(place for each in lost if BY in each.reason and (place := place_of(each))[0] in ORDER)
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
    found = variance_shares(values, FACTORS, PARTS)
    shares = {part: VarianceShare(each.value, each.interval) for part, each in found.items()}
    left_out = len(scenarios) - len(whole)
    return StagedVariance(pacing, measure, len(whole), left_out, systems, examiners, seeds, trials, shares)


def _block(cells: Sequence[dict[int, list[float]]], seeds: int, trials: int) -> Floats | None:
    """A scenario's values, (cells, seeds, trials); None if it has not all of them."""
    if any(len(each) < seeds or any(len(values) < trials for values in each.values()) for each in cells):
        return None
    return np.array([[each[seed] for seed in sorted(each)] for each in cells])


class ShownTable(NamedTuple):
    """A table. rows: each with its name."""

    title: str
    rows: Sequence[tuple[str, Parts]]
    note: str


def tables_of(examiners: Sequence[StagedExaminer], variance: Sequence[StagedVariance]) -> Iterator[ShownTable]:
    """The table of the examiners, and one for each pacing of whose the variance is."""
    if examiners:
        names = [row.pacing if row.examiner == SCRIPTED else f"{row.pacing}, {row.examiner}" for row in examiners]
        yield ShownTable("", list(zip(names, map(_of_examiner, examiners), strict=True)), EXAMINER_NOTE)
    for pacing, group in groupby(variance, lambda each: each.pacing):
        own = list(group)
        note = VARIANCE_NOTE + (ONE_TRIAL if any(each.trials == 1 for each in own) else "")
        rows = [(LABELS[each.measure], _of_variance(each)) for each in own]
        yield ShownTable(f"Whose the variance is, {pacing}", rows, note)


def lines(shown: ShownTable, width: int) -> list[str]:
    """A table on the screen, in lines of at most `width` columns."""
    groups = [
        ColumnGroup(own[0][0], [*own[0][1]], [*map(width_columns, own[0][1])], [[*cells.values()] for _, cells in own])
        for own in zip(*(parts for _, parts in shown.rows), strict=True)
    ]
    found = table([fitted(name, NAME_COLUMNS) for name, _ in shown.rows], groups, width)
    return [*wrapped(shown.title or TITLE, width), *found, *wrapped(shown.note, width)]


def section(tables: Iterable[ShownTable]) -> str:
    """Tables as HTML; it begins with an h2. Empty without any."""
    found = [
        {"title": shown.title, "name": shown.title or TITLE, "note": shown.note}
        | (_in_rows(shown) if shown.title else _in_columns(shown))
        for shown in tables
    ]
    return render("examined.html", __package__, title=TITLE, tables=found) if found else ""


def _in_rows(shown: ShownTable) -> dict[str, Any]:
    return {
        "columns": ["measure", *(head for _, own in shown.rows[0][1] for head in own)],
        "rows": [(name, [cell for _, own in parts for cell in own.values()]) for name, parts in shown.rows],
    }


def _in_columns(shown: ShownTable) -> dict[str, Any]:
    """A column for each examiner: there are few, and much to be said of each."""
    names, parts = zip(*shown.rows, strict=True)
    return {
        "columns": ["examiner", *names],
        "rows": [
            (Cell(head, title), [each[place][1][head] for each in parts])
            for place, (title, own) in enumerate(parts[0])
            for head in own
        ],
    }


def _of_examiner(row: StagedExaminer) -> Parts:
    def of(n: int, **counts: int) -> dict[str, str]:
        return {name.replace("_", " "): f"{count}/{n}" if n else NONE for name, count in counts.items()}

    counts, reactions = row.counts, row.reactions
    promised_ms = NONE if reactions.promised_ms is None else "-".join(map(_ms, dict.fromkeys(reactions.promised_ms)))
    said = {"in_a_pause": counts["in_pause"], **{name: counts[name] for name in ("cut_in", "not_yielded", "deaf")}}
    ended = {"closed_early": counts["closed_early"], "stalled": counts["stalled"]}
    return [
        ("", {"calls": str(row.calls)}),
        ("", {"invalid": str(row.invalid), "contradicted": str(counts["contradicted"])}),
        ("of sayings", of(row.told, off_script=counts["off_script"] + counts["left_role"]) | of(row.sayings, **said)),
        ("of goals", of(row.goals, never_stated=counts["unstated"])),
        ("of calls", of(row.calls, opened_second=row.not_opened, muted_speech=counts["muted"], **ended)),
        (
            "",
            {
                "reactions": str(reactions.n),
                "median ms": _ms(reactions.median_ms),
                "p95 ms": _ms(reactions.p95_ms),
                "promised ms": promised_ms,
                "sooner": str(counts["too_soon"]),
                "later": str(counts["too_late"]),
            },
        ),
    ]


def _of_variance(found: StagedVariance) -> Parts:
    return [
        ("", {"scenarios": str(found.scenarios), "seeds": str(found.seeds), "trials": str(found.trials)}),
        ("", {"systems": str(len(found.systems)), "examiners": str(len(found.examiners))}),
        *(("", {part: _share(found.shares.get(part))}) for part in (SCENARIO, SYSTEM, BOTH, EXAMINER, REST)),
    ]


def _ms(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}"


def _share(found: VarianceShare | None) -> str:
    if found is None or found.share is None:
        return NONE
    return f"{found.share:.0%}" + (f" [{found.ci95[0]:.0%}, {found.ci95[1]:.0%}]" if found.ci95 else "")
