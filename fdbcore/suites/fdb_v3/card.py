"""Turns a scores document of recorded scenarios into a scorecard, with what the scores come to in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fdbcore.recording import converted
from fdbcore.report import counted, first_of, number_text, verdicts
from fdbcore.results import scorecard
from fdbcore.stats import pairs_needed
from fdbcore.suites.fdb_v3.document import V3Item, V3Scores
from fdbcore.suites.fdb_v3.people import rank_notes
from fdbcore.suites.fdb_v3.playing import V3Played
from fdbcore.suites.fdb_v3.published import CONDITION
from fdbcore.suites.fdb_v3.scenarios import DataCard
from fdbcore.suites.fdb_v3.terms import FAILURES, MEASURES, PUBLISHED, SCALES
from fdbcore.suites.fdb_v3.views import V3Views
from fdbcore.types.scorecard import Figure, Scorecard, ScoredCase, ScoreRow

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
            "made with": f"fdbcore {found.settings.fdbcore}",
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
    """How often systems pass in the most trials that they have of a recording."""
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
