"""A comparison and its gates in words, from their JSON values; shared by the screen, the page and the JUnit file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from fdbcore.analysis.call_verdicts import VERDICTS
from fdbcore.analysis.comparison import ComparedCalls, ComparedMeasure, DescribedRun, RunComparison
from fdbcore.analysis.differences import Verdict
from fdbcore.analysis.gate_file import DEFAULTS
from fdbcore.analysis.gate_moments import WORST, GateMoment
from fdbcore.analysis.gate_results import DecidedGates, GateResult, Status
from fdbcore.analysis.longer_moments import LEAST_GROWTH_S, LongerBetween, LongerMoments, grown_s
from fdbcore.analysis.matching import CALL_NAME
from fdbcore.analysis.narrow_intervals import TOO_FEW, interval_warnings
from fdbcore.analysis.summaries import Summary
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.moments import BY_ID
from fdbcore.report.format import (
    allowance_text,
    amount,
    counted,
    headline,
    limit_text,
    limits,
    long_unit,
    p_text,
    step,
)
from fdbcore.report.html.values import ALL, NO_LINKS, Links
from fdbcore.stats.bootstrap import FEW_CLUSTERS

SIGNS: Final[dict[Verdict, str]] = {
    "worse": "✕",
    "better": "✓",
    "different": "≠",
    "undecided": "?",
    "no difference found": "=",
}
"""Signs before each verdict, what a reader must see first."""

LONGEST: Final = "Longest of this run, beside the longest of the baseline"
STATUSES: Final = {"passed": "PASS", "failed": "FAIL", "cannot tell": "UNDECIDED", "not measured": "NOT MEASURED"}


def label(measure: str) -> str:
    """The name of a measure for readers."""
    return MEASURES[measure].label


def unit_of(row: ComparedMeasure) -> str:
    """The unit in which values of a compared measure are shown."""
    return MEASURES[row["measure"]].shown_in


def counts(summary: Summary | None, measure: str = "", link: Links = NO_LINKS) -> str:
    """ "163 of 8,000", "n = 7,533". link: from each count of the measure to its moments, unless there are none."""
    if summary is None:
        return "none"

    def linked(count: int, address: str) -> str:
        return link(f"{count:,}", address) if count else "0"

    if "count" not in summary:
        return f"n = {linked(summary['n'], measure)}"
    return f"{linked(summary['count'], measure)} of {linked(summary['n'], f'{measure}{ALL}')}"


def in_table(measure: str) -> str:
    """The name of a measure in a table, with a unit of several words, which its cells leave out (see `brief`)."""
    unit = long_unit(MEASURES[measure].shown_in)
    return f"{label(measure)} ({unit})" if unit else label(measure)


def sides_of(row: ComparedMeasure, shown: Callable[[float | None, str], str] = amount) -> list[str]:
    """The figure of each side with its counts: "6.1 % (49 of 800)"."""
    return [f"{shown(headline(side), unit_of(row))} ({counts(side)})" for side in (row["a"], row["b"])]


def pairing(compared: ComparedCalls) -> str:
    """The pairing of the two sides, in words."""
    shared, items, by = compared["shared"], compared["items"], compared["paired_by"]
    if by == CALL_NAME and shared == items:
        return f"the same {counted(shared, 'call')} in both"
    how = f"paired by {by}" if by else "compared as two groups"
    return f"{how}: {shared:,} of {items:,} in both" if shared else how


def warnings(compared: ComparedCalls) -> Iterator[str]:
    """Warnings about the intervals of a comparison."""
    a, b, rows = compared["a"], compared["b"], compared["measures"]
    measures = {
        a["name"]: {row["measure"]: row["a"] for row in rows if row["a"]},
        b["name"]: {row["measure"]: row["b"] for row in rows if row["b"]},
    }
    yield from interval_warnings(measures, None if _of_calls(compared) else compared["paired_by"] or "the cluster")


def _of_calls(compared: LongerBetween) -> bool:
    """True if each call counts by itself."""
    a, b = compared["a"], compared["b"]
    return compared["paired_by"] == CALL_NAME or all(side["clusters"] == side["calls"] for side in (a, b))


def verdicts(document: RunComparison) -> list[Verdict]:
    """The verdict on each measure, and "worse" for each kind of moments that got longer."""
    found = [row["verdict"] for compared in document["comparisons"] for row in compared["measures"]]
    found += ["worse" for compared in document["comparisons"] for _ in compared["longer"]]
    return found


def verdict_of_all(document: RunComparison) -> Verdict:
    """The first of SIGNS that is the verdict on something; "undecided" if nothing was compared."""
    found = verdicts(document)
    return next((verdict for verdict in SIGNS if verdict in found), "undecided")


def made_on(document: RunComparison) -> str:
    """The day on which it was made, in UTC: "2026-11-23"."""
    return document["made"][:10]


def decided(document: RunComparison) -> str:
    """The deciding file of its gates, the date, and the baseline: "decided on 2026-11-23 by gates.toml"."""
    against = "" if document["baseline"] is None else f", against {name(document['baseline'])}"
    file = Path(document["gates"]["file"]).name
    limits_of = "the limits that fdbcore ships" if file == DEFAULTS else file
    return f"decided on {made_on(document)} by {limits_of}{against}"


def lead(document: RunComparison) -> str:
    """A comparison in one sentence for each verdict: what got worse and better, and how much is undecided."""
    rows = [row for compared in document["comparisons"] for row in compared["measures"]]
    parts = []
    for told in ("worse", "better"):
        found = dict.fromkeys(label(row["measure"]) for row in rows if row["verdict"] == told)
        parts += [f"{told.capitalize()}: {', '.join(found)}."] if found else []
    parts += longer_sentences(document["comparisons"])
    undecided = sum(row["verdict"] == "undecided" and row["value"] is not None for row in rows)
    parts += [f"Undecided: {counted(undecided, 'measure')}."] if undecided else []
    grown = [grown_s(each) for of in document["comparisons"] for own in longest(of).values() for each in own]
    more = [f"{counted(len(grown), 'moment')} grew, by up to {max(grown):.1f} s: that may be chance."] if grown else []
    return " ".join(parts if rows and parts else ["No difference found that is better or worse.", *more])


def longer(found: LongerMoments, of: LongerBetween) -> str:
    """Worse moments of a few calls: "8 responses got slower, 5 of them by 4.1 s or more, in 8 of 200 calls (p = 0.02),
    shorter by 0.31 s or more in 1".

    Unpaired: "Slow responses of 1.42 s or more, 5 of them of 4.8 s or more, in 8 of 200 calls (p = 0.02), baseline 1 of
    180".
    """
    this, other = (of["b"], of["a"]) if found["longer_in"] == "b" else (of["a"], of["b"])
    in_this, in_other = (found["b"], found["a"]) if found["longer_in"] == "b" else (found["a"], found["b"])
    about, kind = f"{of['title']}: " if of["title"] else "", BY_ID[found["kind"]]
    units = "calls" if _of_calls(of) else f"groups by {of['paired_by'] or 'cluster'}"
    here = f"in {in_this['clusters']:,} of {in_this['of']:,} {units}"
    if this["name"] != "run":
        here += f" of {this['name']}"
    here += f" ({p_text(found['p'])})"
    if of["paired_by"]:
        told = f"{about}{found['moments']:,} {kind.worse}{_harm(found, grown_s, 'by')}"
        return f"{told} {here}, shorter by {found['least_s']:.2f} s or more in {in_other['clusters']:,}"
    told = f"{about}{kind.title} of {found['least_s']:.2f} s or more{_harm(found, lambda each: each['length_s'], 'of')}"
    return f"{told} {here}, {other['name']} {in_other['clusters']:,} of {in_other['of']:,}"


def _harm(found: LongerMoments, size_s: Callable[[GateMoment], float], by: str) -> str:
    """The size of the worst, those that grew at least half as much as the first: ", 5 of them by 4.1 s or more,".

    Moments of an earlier version do not say by how much they grew.
    """
    grown = [each for each in found["worst"] if "was" in each]
    worst = [size_s(each) for each in grown if grown_s(each) >= max(map(grown_s, grown)) / 2]
    of_them = "" if len(worst) == found["moments"] else f" {len(worst):,} of them"
    return f",{of_them} {by} {min(worst):.1f} s or more," if worst else ""


def beside(moment: GateMoment) -> str:
    """A moment beside its like: "was 0.7 s, now 4.9 s, +4.2 s"; "" where it is compared with nothing.

    Where its like is of another call: "beside 1.8 s of call-031, +3.1 s".
    """
    if "was" not in moment:
        return ""
    if (was := moment["was"]) is None:
        return f"was none, now {moment['length_s']:.1f} s"
    before, by = f"{was['length_s']:.1f} s", f"+{grown_s(moment):.1f} s"
    if was["call"] != moment["call"]:
        return f"beside {before} of {was['call']}, {by}"
    return f"was {before}, now {moment['length_s']:.1f} s, {by}"


def longest(of: ComparedCalls) -> dict[str, list[GateMoment]]:
    """Of each kind, by its title, the longest moments beside their like that are not listed as worse."""
    known = {moment["page"] for moment in worse_moments(of)}
    found = {BY_ID[each["kind"]].title: each["moments"] for each in of.get("longest", ())}
    further = {title: [each for each in moments if each["page"] not in known] for title, moments in found.items()}
    return {title: moments for title, moments in further.items() if moments}


def longest_note(of: ComparedCalls) -> str:
    """A note on the longest moments: what they are, and what they are not."""
    if not of["longest"]:
        return f"Nothing in this run is longer than its like in the baseline by {LEAST_GROWTH_S:g} s or more."
    rule = "what grew the most in its call" if of["paired_by"] else "the longest beside the longest"
    return f"This may be chance: nothing here is a finding. At most {WORST} of each kind: {rule}."


def longer_note(found: LongerMoments, of: LongerBetween) -> str:
    """The certainty of that, and how many of the moments are listed."""
    other = of["a"]["name"] if found["longer_in"] == "b" else of["b"]["name"]
    in_other = found["a" if found["longer_in"] == "b" else "b"]["clusters"]
    same = "call" if of["paired_by"] == CALL_NAME else of["paired_by"]
    parts = [f"Each compared with the same {same} of {other}"] if same else []
    parts += [f"about {in_other:,} of them may be chance"] if of["paired_by"] and in_other else []
    shown, moments = len(found["worst"]), found["moments"]
    parts += [f"the worst {shown} of {moments:,}"] if shown < moments else []
    return "; ".join(parts)


def longer_sentences(between: Iterable[LongerBetween]) -> list[str]:
    """A sentence for each kind of moment that is longer on one side."""
    return [f"{longer(each, of)}." for of in between for each in of["longer"]]


def worse_moments(of: ComparedCalls) -> list[GateMoment]:
    """The moments behind measures that got worse, and those that are longer on one side."""
    return [moment for found in (*of["measures"], *of["longer"]) for moment in found["worst"]]


def listed_moments(between: Iterable[ComparedCalls]) -> list[GateMoment]:
    """All moments that are listed of these comparisons."""
    of_lists = [found for of in between for found in (worse_moments(of), *longest(of).values())]
    return [moment for moments in of_lists for moment in moments]


def moments_of(document: RunComparison) -> list[GateMoment]:
    """The moments behind failed gates, behind measures that got worse, and those longer than before; each once."""
    gates = document.get("gates")
    found = [moment for gate in (gates["results"] if gates else []) for moment in gate["worst"]]
    found += [moment for compared in document["comparisons"] for moment in worse_moments(compared)]
    return list({moment["page"]: moment for moment in found}.values())


def sides(document: RunComparison) -> list[tuple[str, DescribedRun]]:
    """The compared sides by name: the run, and the baseline where there is one."""
    baseline = document["baseline"]
    return [("run", document["run"]), *([("baseline", baseline)] if baseline else [])]


def name(described: DescribedRun) -> str:
    """The name of a run: that of its folder."""
    return Path(described["path"]).resolve().name


def scored_calls(described: DescribedRun) -> str:
    """The number of a run's calls that are scored: "20 calls", "3 of 4 calls scored"."""
    unscored = len(described["unscored"])
    all_calls = counted(described["calls"], "call")
    return f"{described['calls'] - unscored:,} of {all_calls} scored" if unscored else all_calls


def notices(document: RunComparison) -> list[str]:
    """The notices that a reader must see before any figure."""
    return [*document["notes"], *unscored(sides(document))]


def unscored(runs: Iterable[tuple[str, DescribedRun]]) -> Iterator[str]:
    """The number of calls of each run, by its name, that are in no figure, and the first of them."""
    for name, described in runs:
        if described["unscored"]:
            calls = counted(described["calls"], "call")
            names = ", ".join(list(described["unscored"])[:3])
            yield f"{name}: {len(described['unscored']):,} of {calls} not scored, in no figure: {names}"


def gate_name(gate: GateResult) -> str:
    """The line of a gate, with the calls that it concerns."""
    about = ", ".join(f"{column} = {value}" for column, value in gate["where"].items())
    return f"{gate['gate']} where {about}" if about else str(gate["gate"])


def gate_finding(gate: GateResult) -> str:
    """The figure, the interval and the limit that decided a gate."""
    unit, limit = _unit_of_gate(gate), gate["limit"]
    if gate["value"] is None:
        return str(gate["reason"])
    level = f" ({100 * gate['level']:.4g} % interval)" if gate["interval"] else ""
    if not gate["times"]:
        found = " ".join(filter(None, [amount(gate["value"], unit), limits(gate["interval"], unit)]))
        return f"{found}{level}, limit {limit_text(limit, unit)}"
    beyond, bounds = gate["value"] - limit, [each - limit for each in gate["interval"] or ()]
    side, shown = ("below", sorted(-each for each in bounds)) if beyond < 0 else ("above", bounds)
    told = f"{amount(gate['run']['value'], unit)}, {gate_limit(gate)}; {step(abs(beyond), unit)} {side} it"
    return f"{' '.join(filter(None, [told, limits(shown, unit)]))}{level}"


def _unit_of_gate(gate: GateResult) -> str:
    return MEASURES[gate["measure"]].shown_in


def gate_but(gate: GateResult) -> str:
    """A pass with what stands beside it: "pass, but: B fell silent in 2 of 6 calls"; "" if nothing is wrong."""
    return f"pass, but: {'; '.join(gate['but'])}" if gate.get("but") else ""


def gate_lines(gate: GateResult) -> list[str]:
    """All about a gate, in lines."""
    lines = [gate_but(gate), gate_finding(gate), gate_basis(gate), gate_advice(gate), gate.get("lines", "")]
    return [line for line in lines if line]


def in_order(gates: DecidedGates) -> list[GateResult]:
    """The gates, what a reader must see first: those that did not pass, those that passed, but; the others."""
    return sorted(gates["results"], key=lambda gate: 0 if gate["status"] != "passed" else 1 if gate.get("but") else 2)


def gate_basis(gate: GateResult) -> str:
    """The figures of both sides, with n and the number of calls."""
    sides = [("run", gate["run"]), *([("baseline", gate["baseline"])] if gate["baseline"] else [])]
    unit = _unit_of_gate(gate)
    told = [
        f"{name} {amount(side['value'], unit)} (n = {side['n']:,}, {counted(side['calls'], 'call')})"
        for name, side in sides
    ]
    if gate["baseline"]:
        told.append(f"paired by {gate['paired_by']}" if gate["paired_by"] else "compared as two groups")
    fewest = min((side for _, side in sides), key=lambda side: int(side["clusters"]))
    warning = ""
    if gate["interval"] and fewest["clusters"] < FEW_CLUSTERS:
        resampled = f"only {fewest['clusters']} clusters: " if fewest["clusters"] < fewest["calls"] else ""
        warning = f"; {resampled}{TOO_FEW}"
    return ", ".join(told) + warning


def gate_advice(gate: GateResult) -> str:
    """The number of calls that would decide an undecided gate; "" for all others."""
    if gate["status"] != "cannot tell" or gate["value"] is None:
        return ""
    if gate["interval"] is None:
        return str(gate["reason"])
    sides = {"run": gate["run"]["calls"]} | ({"baseline": gate["baseline"]["calls"]} if gate["baseline"] else {})
    against = f" against {sides['baseline']:,}" if gate["baseline"] else ""
    undecided = f"undecided with {counted(sides['run'], 'call')}{against}"
    needed, between = gate["calls_needed"], gate["calls_range"]
    if needed is None or between is None:
        return f"{undecided}: the figure is at its limit, and more calls hardly help"
    too_few = [name for name, calls in sides.items() if calls < needed]
    side = "" if not gate["baseline"] else f" of the {too_few[0]}" if len(too_few) == 1 else " on each side"
    least, most = between
    likely = f"{least:,} to {most:,} calls" if most else f"{least:,} calls or more"
    return f"{undecided}: likely {likely}{side} would decide it; {needed:,} if the true figure is just this"


def gates_verdict(gates: DecidedGates) -> str:
    """A run in one sentence: what its gates say, and how many of its calls keep to them."""
    found = [gate["status"] for gate in gates["results"]]
    failed = [
        f"{gate_label(gate)} {amount(gate['run']['value'], _unit_of_gate(gate))}, {gate_limit(gate)}"
        for gate in gates["results"]
        if gate["status"] == "failed"
    ]
    open_ones = [f"{found.count(status)} {told}" for status, told in _OPEN.items() if status in found]
    if failed:
        told = f"Fail: {len(failed)} of {counted(len(found), 'gate')} failed ({'; '.join(failed)})"
        told += f", {', '.join(open_ones)}" if open_ones else ""
    elif open_ones:
        parts = [*open_ones, *([f"{n} passed"] if (n := found.count("passed")) else [])]
        told = f"Undecided: of {counted(len(found), 'gate')}, {', '.join(parts)}"
    else:
        told = f"{'the gate' if len(found) == 1 else f'all {len(found)} gates'} passed"
        told = f"Pass, but: {'; '.join(but)}. {told.capitalize()}" if (but := passed_beside(gates)) else f"Pass: {told}"
    return f"{told}. {_calls(gates)}"


def passed_beside(gates: DecidedGates) -> list[str]:
    """Faults of the calls of the gates that passed, each once."""
    return list(dict.fromkeys(text for gate in gates["results"] for text in gate.get("but", [])))


def run_status(gates: DecidedGates) -> Status:
    """The status of a run by its gates: failed if one failed, passed if all passed."""
    found = {gate["status"] for gate in gates["results"]}
    return "failed" if "failed" in found else "passed" if found == {"passed"} else "cannot tell"


_OPEN: Final = {"cannot tell": "undecided", "not measured": "not measured"}


def _calls(gates: DecidedGates) -> str:
    """The number of calls that fail, and of those that are undecided."""
    statuses = [call["status"] for call in gates["calls"]]
    parts = [f"{statuses.count(status):,} {told}" for status, told in VERDICTS.items() if status in statuses]
    return f"Of {counted(len(statuses), 'call')}: {', '.join(parts)}."


def gate_label(gate: GateResult) -> str:
    """The name of a gate's measure, with its statistic unless that is the usual one: "response latency (p90)"."""
    return label(gate["measure"]) + (f" ({statistic})" if (statistic := _statistic(gate)) else "")


def _statistic(gate: GateResult) -> str:
    """The statistic of a gate, "" for the usual one."""
    first = gate["gate"].split()[0].removeprefix(gate["measure"])
    return first.removeprefix(".") if first != ".median" and first.startswith(".") else ""


def gate_limit(gate: GateResult) -> str:
    """The limit of a gate: "at most 1.5 s", "at most 1.14 s (1.1 x the baseline)"."""
    unit, limit, times, baseline = _unit_of_gate(gate), gate["limit"], gate["times"], gate["baseline"]
    found = limit_text(limit, unit)
    if times:
        plus = f" {allowance_text(limit, unit)}" if limit else ""
        found = f"{'' if times == 1 else f'{times:g} x '}the baseline{plus}"
        if baseline and baseline["value"] is not None:
            found = f"{amount(times * baseline['value'] + limit, unit)} ({found})"
    return f"{'at most' if '<=' in gate['gate'] else 'at least'} {found}"


def whole_limit(gate: GateResult) -> str:
    """The limit of a gate with its statistic and its calls: "p90 at most 3.5 s"."""
    parts = [_statistic(gate), gate_limit(gate)]
    parts += [f"where {column} = {value}" for column, value in gate["where"].items()]
    return " ".join(filter(None, parts))
