"""Turns a scores document of recorded scenarios into a scorecard, with what the scores come to in sentences; and what
stands beside it: known defects, how far judges agree, case studies, and each recording.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from fdbcore.recording import converted
from fdbcore.report import (
    NONE,
    Cell,
    Lane,
    cells_table,
    counted,
    filled,
    first_of,
    interval_text,
    judging_took,
    lanes,
    number_text,
    render,
    static,
    verdicts,
)
from fdbcore.results import scorecard
from fdbcore.stats import pairs_needed
from fdbcore.suites.fdb_v3.compat import PUBLISHED
from fdbcore.suites.fdb_v3.document import V3Call, V3Item, V3Scores
from fdbcore.suites.fdb_v3.judge import PassedBy, V3Judging
from fdbcore.suites.fdb_v3.measures import MEASURES
from fdbcore.suites.fdb_v3.playing import V3Played
from fdbcore.suites.fdb_v3.rows import CONDITION, SCALES, CaseStudy, rank_notes
from fdbcore.suites.fdb_v3.scenarios import DataCard, ExpectedCallEntry
from fdbcore.suites.fdb_v3.tool_calls import FAILURES
from fdbcore.types import TICKS_PER_S
from fdbcore.types.remarks import CallRemarks, Remark, RemarkRow
from fdbcore.types.scorecard import Figure, Measure, Scorecard, ScoredCase, ScoreRow, SuiteViews

TEST: Final = (
    "Differences are paired, on the recordings that both systems have. Shares have Newcombe's interval of two of "
    "Wilson's, the others that of the cluster bootstrap. p is by sign flips of whole clusters, of the mean difference: "
    "if two systems do not differ, all differences of a cluster are as likely to be the other way round. Clusters are "
    "speakers, then scenarios; the wider interval and the larger p are shown. corr. is p corrected for all pairs of "
    "systems and all measures of all conditions: passed is tested first (max T), the other measures of a pair only if "
    "it differs in passed, with what the first test leaves (gatekeeping); – there: not tested"
)
TERMS: Final[Mapping[str, str]] = {
    **{each.label: f"{each.meaning} Over: {each.over}." for each in MEASURES.values()},
    **{f"failure: {label}": meaning for label, meaning in FAILURES.values()},
    "pass@k": "The chance that at least one of k trials of a recording passes (arXiv 2107.03374).",
    "pass^k": "The chance that all of k trials of a recording pass (arXiv 2406.12045).",
    **{f"{each.part}: {each.label}": f"of {each.over}; {each.defect}" for each in PUBLISHED.values()},
}

PACKAGE: Final = "fdbcore.suites.fdb_v3"
LEGEND: Final = (
    "agree: share of verdicts that are alike; kappa: Cohen's; brackets: 95 %, over scenarios. Arguments are compared "
    "of each pair of calls, by the released labels."
)
AFTER_S: Final = 2.0
"""The axis ends so long after the last that happened: most of a recording is room tone."""


def card(document: Mapping[str, Any]) -> Scorecard:
    """The scorecard of a document. A condition is how the tools behave; a subset is a slice of the recordings."""
    found: V3Scores = converted(document, V3Scores)
    beside, judges = found.published, [] if found.judging is None else found.judging["judges"]
    conditions = {row.condition: row.condition for row in found.rows}
    made = scorecard(
        "Full-Duplex-Bench v3: tools under disfluency",
        document,
        SCALES,
        conditions | ({} if beside is None else {CONDITION: f"{beside.label} ({beside.conditions})"}),
        {item.call for item in found.items if item.call is not None},
        caption="Tools under disfluent speech; recorded users.",
        test=TEST,
        detectable="the smallest true difference that so many clusters would find 8 times in 10",
        correction="corr.",
        notes=list(rank_notes(found.people)),
        facts=[counted(len(found.items), "result"), *map(_fact, found.data)],
        subsets_by="slice",
        conditions_by="tools",
        terms=TERMS,
        evidence={
            "recordings": "; ".join(map(_of_set, found.data)),
            **({"played": "; ".join(dict.fromkeys(map(_of_run, found.played)))} if found.played else {}),
            "words of systems by": found.settings.transcriber or "nobody, or the released results",
            "arguments judged by": next(iter(judges), "the exact matcher"),
        },
    )
    cases = [_case(item, raw, found) for item, raw in zip(found.items, document["items"], strict=True)]
    return replace(made, cases=cases, statements=list(_statements(made, found)), views=V3Views(found))


def _of_set(data: DataCard) -> str:
    kind = "synthetic" if data.synthetic else "people"
    told = (f"{name}: {getattr(data, name)}" for name in ("annotators", "guideline", "agreement"))
    return f"{kind}; {', '.join(told)}"


def _of_run(run: V3Played) -> str:
    over = "with the recording and its tail"
    if run.ends is not None:
        over = f"{run.ends['quiet_s']:g} s after an answer, or {run.ends['most_s']:g} s after the user's end"
    clock = "in lockstep, compute time not counted" if run.clock == "virtual" else "in real time"
    return f"{clock}; calls end {over}"


def _fact(data: DataCard) -> str:
    recordings = counted(data.recordings, f"{'synthetic ' if data.synthetic else ''}recording")
    return f"{recordings}, {counted(data.scenarios, 'scenario')}, {counted(data.speakers, 'speaker')}"


def _case(item: V3Item, raw: Mapping[str, Any], found: V3Scores) -> ScoredCase:
    failures = (FAILURES[item.failure][0],) if item.failure else ()
    return ScoredCase(
        item.condition,
        item.system,
        item.record,
        item.script,
        item.values,
        subset=item.domain,
        note=f"trial {item.trial}" if len({each.trial for each in found.items}) > 1 else "",
        lang="en",
        tags={"difficulty": (item.difficulty,), "disfluency": tuple(item.disfluencies), "failure": failures},
        outcome=next(iter(failures), "passed"),
        words=[item.transcript or "", *(call.name for call in item.calls)],
        item=raw,
        recording=item.call or "",
    )


def _statements(card: Scorecard, found: V3Scores) -> Iterator[str]:
    """A few sentences for each condition, which they name if there are several: how often systems pass, which one is
    better, and why recordings fail.
    """
    conditions = list(dict.fromkeys(item.condition for item in found.items))
    for condition in conditions:
        place = f"{condition}: " if len(conditions) > 1 else ""
        rows = [row for row in card.rows if row.condition == condition]
        rows.sort(key=lambda row: row.measures["passed"].value or 0.0, reverse=True)
        items = [item for item in found.items if item.condition == condition]
        is_compared = any(one.condition == condition for one in found.differences)
        result = [
            _passing(rows, found),
            *(
                (is_compared and _least_p(found.settings.level, items))
                or verdicts(card, condition, [row.system for row in rows])
            ),
        ]
        told = [" ".join(result), *_failing(rows, items), *_trials(condition, found)]
        yield from (f"{place}{text}" for text in told)


def _passing(rows: Sequence[ScoreRow], found: V3Scores) -> str:
    """ "right passes 40 of 40 recordings, stale 32 of 40."."""
    what = "trials" if any(item.trial > 1 for item in found.items) else "recordings"
    counts = [(row.system, row.measures["passed"].value or 0.0, row.n_of("passed") or 0) for row in rows]
    (first, told), *others = [(system, f"{round(share * n):,} of {n:,}") for system, share, n in counts]
    return f"{first} passes {told} {what}{''.join(f', {system} {text}' for system, text in others)}."


def _least_p(level: float, items: Sequence[V3Item]) -> list[str]:
    """A sentence where there are so few clusters that no difference can be told from none, if so.

    Of n clusters sign flips give a p of 2 / 2**n or more, for however many comparisons it is corrected.
    """
    speakers, scenarios = {item.speaker for item in items}, {item.scenario for item in items}
    n, kind = min((len(speakers), "speaker"), (len(scenarios), "scenario"))
    needed = pairs_needed(level)
    if n >= needed:
        return []
    return [
        f"Which is better cannot be told with {counted(n, kind)}, however large a difference is: p is "
        f"{min(2 / 2**n, 1.0):.2g} at least; it takes {needed}."
    ]


def _failing(rows: Sequence[ScoreRow], items: Sequence[V3Item]) -> Iterator[str]:
    """ "stale fails 8 of 40: stale value 8 (finance_09, finance_10, housing_09 and 5 more)."."""
    for row in rows:
        own = [item for item in items if item.system == row.system and item.failure is not None]
        of_kind = {
            label: [item.record for item in own if item.failure == kind] for kind, (label, _) in FAILURES.items()
        }
        largest = sorted(filter(lambda kind: of_kind[kind], of_kind), key=lambda kind: -len(of_kind[kind]))
        told = [f"{kind} {len(of_kind[kind]):,} ({first_of(sorted({*of_kind[kind]}))})" for kind in largest]
        if told:
            yield f"{row.system} fails {len(own):,} of {row.n:,}: {', '.join(told)}."


def _trials(condition: str, found: V3Scores) -> Iterator[str]:
    """Pass rates of systems in the most trials that they have of a recording."""
    most = {each.system: each.by_k[-1] for each in found.passes if each.condition == condition}
    for k in dict.fromkeys(each.k for each in most.values()):
        shares = [
            f"{system} {_shown(each.pass_at_k)} and {_shown(each.pass_all_k)}"
            for system, each in most.items()
            if each.k == k
        ]
        one, all_ = f"pass@{k}, at least one of {k} trials of a recording passes", f"pass^{k}, all do"
        yield f"{one}, and {all_}: {', '.join(shares)}."


def _shown(figure: Figure) -> str:
    interval = "" if figure.ci95 is None else " [{:.2f}, {:.2f}]".format(*figure.ci95)
    return f"{number_text(figure.value)}{interval}"


class V3Views(SuiteViews):
    """Known defects of the published measures, how far judges agree, the paper's case studies; recordings drawn."""

    def __init__(self, found: V3Scores) -> None:
        self._found = found

    def details(self, width: int) -> Sequence[Sequence[str]]:
        """Defects, judges, and case studies."""
        shown = {name for row in self._found.rows for name in row.measures}
        own = [scale for scale in PUBLISHED.values() if scale.id in shown]
        blocks = [["as published, with its known defects [over which recordings]:", *defects(own, width)]]
        if self._found.judging is not None:
            blocks += judging_details(self._found.judging, width)
        if (beside := self._found.published) is not None:
            for study in beside.case_studies:
                title = filled(f"{beside.label}: {study.title}", width)
                blocks.append([*title.splitlines(), *cells_table(study.table(), width)])
            blocks.append([line for note in beside.notes for line in filled(note, width, "  ").splitlines()])
        return blocks

    def section(self) -> str:
        """Judges and case studies; "" without a judge, where nothing published was asked for."""
        judging, beside = self._found.judging, self._found.published
        if judging is None and beside is None:
            return ""
        told: dict[str, Any] = {}
        if judging is not None:
            told = {"took": judging_took(judging, "these calls"), "agreement": list(_agreement_cells(judging))}
            told["passed"] = [(Cell(name), cells) for name, *cells in map(_passed, judging["passed"])]
        studies = [] if beside is None else list(map(_study, beside.case_studies))
        return render("judges.html", PACKAGE, judging=judging, legend=LEGEND, published=beside, studies=studies, **told)

    def style(self) -> str:
        """The style of the drawings of recordings."""
        return static("lanes.css")

    def legend(self) -> str:
        """A key to them."""
        return (
            '<p class="note">Bars are speech and calls, from their arguments to their results; a call without a '
            "result has a dashed outline. The dashed line is the user&#x27;s end.</p>"
        )

    def picture(self, case: ScoredCase) -> str:
        """The user's speech, the system's, and the calls on one axis; then what was expected, said and left."""
        item: V3Item = converted(case.item, V3Item)
        return render("case.html", PACKAGE, drawn=_drawn(item), facts=list(_facts(item)))

    def remarks(self, case: ScoredCase) -> CallRemarks:
        """The calls on spans of the call, and what became of it as facts."""
        item: V3Item = converted(case.item, V3Item)
        calls = [_remark(call) for call in item.calls if call.start_s is not None]
        about = "calls of tools, from their arguments to their results; hatched: without one"
        return CallRemarks(list(_facts(item)), [RemarkRow("calls", about, calls)] if calls else [])


def judging_details(judging: V3Judging, width: int) -> list[list[str]]:
    """Blocks of lines: how far judges agree, who passes by whom, and what asking took."""
    blocks = []
    if judging["agreement"]:
        table = [["", "n", "agree", "95 %", "kappa", "95 %", "yes both", "1st", "2nd", "neither"]]
        table += [[names, n, *chain(*figures), *counts] for names, n, figures, counts in _agreement(judging)]
        judges = ", ".join(f"{number} {name}" for number, name in enumerate(judging["judges"], 1))
        blocks.append([*filled(f"judges: {judges}", width).splitlines(), *cells_table(table, width)])
    by = [["Pass@1, by who decides on arguments", "passed", "n", "share"], *map(_passed, judging["passed"])]
    told = (LEGEND, judging_took(judging, "these calls"))
    return [*blocks, cells_table(by, width), [line for text in told for line in filled(text, width).splitlines()]]


def _agreement_cells(judging: V3Judging) -> Iterator[tuple[Cell, list[Cell | str]]]:
    for names, n, figures, counts in _agreement(judging):
        cells = (Cell(value, "" if interval == NONE else interval) for value, interval in figures)
        yield Cell(names), [n, *cells, *counts]


def _agreement(judging: V3Judging) -> Iterator[tuple[str, str, list[tuple[str, str]], list[str]]]:
    """The thing compared, of whom; n; both figures with their intervals; how often both, one or neither said yes."""
    numbers = {name: str(number) for number, name in enumerate(judging["judges"], 1)}
    for each in judging["agreement"]:
        first, second = (numbers.get(name, name) for name in each.raters)
        system = "" if each.system is None else f"{each.system}, "
        figures = [(number_text(figure.value), interval_text(figure.ci95)) for figure in (each.share, each.kappa)]
        counts = map(str, (each.both, each.first_only, each.second_only, each.neither))
        yield f"{system}{each.what}: {first} and {second}", str(each.n), figures, list(counts)


def _passed(row: PassedBy) -> list[str]:
    share = f"{row.passed / row.n:.3f}" if row.n else "-"
    return [f"{row.system}, {row.by}", str(row.passed), str(row.n), share]


def _study(study: CaseStudy) -> dict[str, Any]:
    (_, *columns), *rows = study.table()
    return {
        "title": study.title,
        "columns": ["system", *columns],
        "rows": [(Cell(name), values) for name, *values in rows],
    }


def _remark(call: V3Call) -> Remark:
    start = round((call.start_s or 0.0) * TICKS_PER_S)
    end = start if call.end_s is None else round(call.end_s * TICKS_PER_S)
    lines = [f"{call.status}: {_json(call.result if call.error is None else call.error)}"]
    return Remark(start, end, call.name, as_text(call.name, call.arguments), lines, call.status != "ok")


def _drawn(item: V3Item) -> str:
    calls = [(call, call.start_s, call.end_s or call.start_s) for call in item.calls if call.start_s is not None]
    ends_s = [end for _, end in (*item.user_speech, *item.system_speech)] + [end for _, _, end in calls]
    rows = [Lane("user", "user", item.user_speech), Lane("system", "system", item.system_speech)]
    for number, (call, *span) in enumerate(calls):
        is_ok = call.status == "ok"
        text = call.name if is_ok else f"{call.name}: {call.status}"
        rows.append(Lane("" if number else "call", "call" if is_ok else "call failed", [(span[0], span[1])], text))
    return lanes(rows, max([*ends_s, item.user_end_s or 0.0]) + AFTER_S, told(item), end_s=item.user_end_s)


def told(item: V3Item) -> str:
    """The drawing in words."""
    end = item.user_end_s
    parts = ["The user's end is not known." if end is None else f"The user has finished at {end:.1f} s."]
    first = next((start for start, stop in item.system_speech if end is None or stop > end), None)
    parts.append("The system says nothing then." if first is None else f"The system speaks from {first:.1f} s on.")
    for call in item.calls:
        if call.start_s is not None:
            until = "" if call.end_s is None else f" to {call.end_s:.1f} s"
            parts.append(f"{call.name}: {call.start_s:.1f} s{until}, {call.status}.")
    return " ".join(parts)


def _facts(item: V3Item) -> Iterator[tuple[str, str]]:
    failure = item.failure
    yield "outcome", "passed" if failure is None else f"{FAILURES[failure][0]}: {FAILURES[failure][1]}"
    yield "user", item.script
    if item.transcript is not None:
        yield "system", item.transcript or "nothing"
    yield "called", "; ".join(as_text(call.name, call.arguments) for call in item.calls) or "nothing"
    yield "expected", _expected(item.repaired)
    if item.repairs:
        yield "as released", _expected(item.as_released)
        yield "repaired", "; ".join(item.repairs)
    if item.state:
        yield "state after", _json(item.state)


def _expected(calls: Iterable[ExpectedCallEntry]) -> str:
    found = []
    for call in calls:
        note = f" ({call.note})" if call.note else ""
        found.append(f"{as_text(call.function, call.args)}{note}")
    return "; ".join(found) or "nothing"


def as_text(function: str, args: Any) -> str:  # noqa: ANN401
    """A call as one would write it."""
    if not isinstance(args, dict):
        return f"{function}({_json(args)})"
    return f"{function}({', '.join(f'{name}={_json(value)}' for name, value in args.items())})"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def defects(measures: Iterable[Measure], width: int) -> list[str]:
    """The known defects of published measures, in lines of at most `width` columns; in brackets: what they are over."""
    told = (f"  {each.label} [{each.over}]: {each.defect}" for each in measures)
    return [line for text in told for line in filled(text, width, "    ").splitlines()]
