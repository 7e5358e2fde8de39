"""The scores of a run in words and figures, shared by the screen and the page."""

from collections.abc import Iterator, Sequence
from typing import Final

from fdbcore.analysis.cautions import cautions_of
from fdbcore.analysis.comparison import ComparedMeasure
from fdbcore.analysis.differences import SIGNIFICANT, MeasuredDifference
from fdbcore.analysis.groups import StatedGroup, units_text
from fdbcore.analysis.matching import GroupDifference
from fdbcore.analysis.reference import FloorTransfers, HalfDistances, ReferenceRow
from fdbcore.analysis.sensitivity import FigureRange, Sensitivity, SettingsVariant
from fdbcore.analysis.statements import StatedGroups, Statements
from fdbcore.analysis.summaries import Summary
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.report.format import (
    NONE,
    NOT_CORRECTED,
    amount,
    counted,
    difference,
    headline,
    limits,
    number,
    p_text,
    shown_unit,
    step,
    with_interval,
)
from fdbcore.report.groups.detectors import detector_lines
from fdbcore.types import SIDES, other_side

ALL_PAIRS_SHOWN: Final = 3
"""With more groups, only the pairs that differ are shown."""

NAMED: Final = 3
"""At most this many calls that the other detector could not read are named."""

DETECTABLE: Final = "the smallest true difference that this many calls would find 8 times in 10"

Line = tuple[str, str]


def ranges(content: Statements) -> dict[tuple[str, str], FigureRange]:
    """The range of each measure of each group over the settings, by the names of both; empty if none was varied."""
    found = content.get("sensitivity")
    groups = found["groups"] if found and _varied(found["variants"]) else []
    return {(group["name"], name): of for group in groups for name, of in group["measures"].items()}


def is_empty(content: Statements, name: str) -> bool:
    """True if a measure has no items in any group."""
    groups: list[StatedGroup] = [content, *content["groups"]]
    return not any(name in group["measures"] and group["measures"][name]["n"] for group in groups)


def unit_text(name: str) -> str:
    """The statistic and unit of a measure's figures: "median, s", "%"."""
    measure = MEASURES[name]
    return "median, s" if measure.quantity == "values" else shown_unit(measure.shown_in)


def resampled(content: StatedGroups) -> str:
    """The units that the intervals resample: "95 % intervals over 30 calls"."""
    clusters, column = content["clusters"], content["unit"]["column"]
    if clusters < 2:
        return f"no intervals: one {units_text(column, 1)} cannot show how {units_text(column)} differ"
    return f"95 % intervals over {clusters:,} {units_text(column, clusters)}"


def cluster(content: StatedGroups) -> str:
    """The calls that count as one, and why that matters."""
    column, clusters = content["unit"]["column"], content["clusters"]
    if column is None:
        return (
            "each call by itself; calls that share a caller or a scenario resemble each other, and then intervals and "
            "p values are too sure: name that column with --cluster"
        )
    return (
        f"all calls with the same {column} together, {clusters:,} of {counted(content['calls'], 'call')}, because they "
        "resemble each other; one by one, intervals and p values would be too sure"
    )


def figure(name: str, summary: Summary | None, varied: FigureRange | None) -> str:
    """ "0.82 s [0.74, 0.91], settings 0.69-0.97 | n = 1,234", with p95 and chance if there are any."""
    if summary is None or headline(summary) is None:
        return f"{NONE} | n = 0"
    unit = MEASURES[name].shown_in
    text = with_interval(summary, unit)
    if varied and varied["low"] is not None and varied["high"] is not None:
        text += f", settings {number(varied['low'], unit)}\N{EN DASH}{number(varied['high'], unit)}"
    parts = [text]
    if summary.get("p95"):
        parts.append(f"p95 {amount(summary['p95'], unit)} {limits(summary['p95_ci95'], unit)}".rstrip())
    if summary.get("by_chance") is not None:
        parts.append(f"by chance {amount(summary['by_chance'], unit)}")
    return " | ".join([*parts, f"n = {summary['n']:,}"])


def differences(content: Statements, name: str) -> Iterator[Line]:
    """The differences of a measure; with many groups, only the pairs that differ, and what is detectable."""
    unit = MEASURES[name].shown_in
    found = [each for each in content["differences"] if each["measure"] == name and each["value"] is not None]
    apart = [each for each in found if is_apart(each)]
    shown = found if len(content["groups"]) <= ALL_PAIRS_SHOWN else apart
    for each in shown:
        yield f"  {each['a']} - {each['b']}", difference_text(each, unit)
    left = [each["detectable"] for each in found if each not in shown and each["detectable"] is not None]
    if left:
        others = counted(len(found) - len(shown), "other pair")
        where = f"in the {others}" if shown else f"between any two of {len(content['groups'])} groups"
        low, high = step(min(left), unit), step(max(left), unit)
        seen = high if low == high else f"{number(min(left), unit)} to {high}"
        most = max((each["value"] for each in found if each not in shown and each["value"] is not None), key=abs)
        told = f"the largest seen is {step(most, unit)}; before correction for all pairs, "
        yield "  no difference", f"found {where}; {told}a true one of {seen} would be found 8 times in 10"


def is_apart(difference: MeasuredDifference) -> bool:
    """True if two groups differ significantly, corrected for all comparisons of the table."""
    return difference["p_holm"] is not None and difference["p_holm"] < SIGNIFICANT


def difference_text(each: GroupDifference, unit: str) -> str:
    """ "+4.0 points [+3.2, +4.8] | v2 is worse, p < 0.001 | minimum detectable effect 1.2 points"."""
    if each["value"] is None:
        return each["reason"]
    text, found = difference(each["value"], each["interval"], unit), each["verdict"]
    if found == "undecided" or each["p_holm"] is None:
        return f"{text} | undecided: {each['reason']}"
    verdict = f"{each['a']} is {found}" if found in ("better", "worse") else found
    parts = [text, f"{verdict}, {p_text(each['p_holm'])}", *filter(None, [each["reason"]])]
    parts += [f"minimum detectable effect {step(each['detectable'], unit)}"] if each["detectable"] is not None else []
    return " | ".join(parts)


def verdicts(differences: Sequence[GroupDifference | ComparedMeasure]) -> str:
    """Verdicts in one line: "better in response rate; worse in response latency; no difference found in 5"."""
    told = []
    for verdict in ("better", "worse", "different"):
        labels = [headlines()[each["measure"]] for each in differences if each["verdict"] == verdict]
        told += [f"{verdict} in {', '.join(labels)}"] if labels else []
    same, undecided = (sum(each["verdict"] == v for each in differences) for v in ("no difference found", "undecided"))
    told += [f"no difference found in {counted(same, 'measure')}"] if same else []
    told += [f"{counted(undecided, 'measure')} undecided"] if undecided else []
    return "; ".join(told) or "nothing to compare"


def in_short(content: StatedGroups) -> list[str]:
    """Differences between every two groups, a sentence each; with many groups, only the pairs that differ."""
    pairs: dict[tuple[str, str], list[GroupDifference]] = {}
    for each in content["differences"]:
        if each["value"] is not None:
            pairs.setdefault((each["a"], each["b"]), []).append(each)
    if len(content["groups"]) > ALL_PAIRS_SHOWN:
        pairs = {names: found for names, found in pairs.items() if any(map(is_apart, found))}
        if not pairs:
            return [f"No difference found between any two of {len(content['groups'])} groups."]
    return [f"{a} against {b}: {verdicts(found)}." for (a, b), found in pairs.items()]


def settings(content: Statements) -> Iterator[Line]:
    """The settings that were varied, and where groups change places."""
    found = content.get("sensitivity")
    if not found:
        return
    if not _varied(found["variants"]):
        of_groups = {group["name"]: group["measures"] for group in content["groups"]}
        yield from detector_lines(found, of_groups or {"": content["measures"]})
    else:
        yield from _over_settings(found)
    for flip in found["flips"]:
        where = "; ".join(flip["at"])
        known = any(
            is_apart(each)
            for each in content["differences"]
            if (each["measure"], each["a"], each["b"]) == (flip["measure"], flip["a"], flip["b"])
        )
        doubt = "" if known else " (no difference found as scored)"
        yield "!! order flips", f"{headlines()[flip['measure']]}: {flip['a']} and {flip['b']}{doubt}, at {where}"
    if len(content["groups"]) > 1 and not found["flips"]:
        yield "", f"the order of {content['by']} stays the same under all of these"


def _over_settings(found: Sensitivity) -> Iterator[Line]:
    own, *others = found["detectors"]
    other = " and ".join(others)
    heard = any(variant["detector"] for variant in found["variants"])
    unheard = found["unheard"]
    own_only = f" ({counted(len(unheard), 'call')} by {own} alone)" if unheard else ""
    detectors = f"detectors {own} and {other}{own_only}" if heard else f"detector {own} alone: {other} needs the audio"
    yield "settings", f"the range of the figure over {len(found['variants'])} settings: {detectors}"
    for name, reason in list(unheard.items())[:NAMED]:
        yield "", f"by {own} alone: {name}: {reason}"
    if len(unheard) > NAMED:
        yield "", f"and {len(unheard) - NAMED:,} more"
    for name, values in _varied(found["variants"]).items():
        yield "", f"{name} {min(values)}\N{EN DASH}{max(values)} ms"


def _varied(variants: Sequence[SettingsVariant]) -> dict[str, list[int]]:
    values: dict[str, list[int]] = {}
    for variant in variants:
        for name, value_ms in variant["changes"].items():
            values.setdefault(name.removesuffix("_ms"), []).append(value_ms)
    return values


def reference(content: Statements) -> Iterator[Line]:
    """The use of time compared with the reference, and the distances of floor transfer offsets."""
    found = content.get("reference")
    if not found:
        return
    yield "reference", f"{found['path']}: {counted(found['calls'], 'call')}, read with the same settings"
    if found["detectors"]["run"] != found["detectors"]["reference"]:
        yield "", "!! its voice activity detector was {reference}, here it is {run}".format(**found["detectors"])
    for group in found["groups"]:
        if group["name"]:
            yield f"{group['name']}", ""
        for name, row in group["rows"].items():
            yield f"  {row_name(name)}", beside(row)
        for side in SIDES:
            yield f"  {side} after {other_side(side)}", distances(group["floor_transfers"][side], found["floor"])
    bins = found["bins_ms"]
    first, last = bins["first"] / 1000, bins["last"] / 1000
    yield (
        "  distances",
        f"of floor transfer offsets from those of both sides of the reference. JSD: Jensen-Shannon distance (0 to 1, "
        f"base 2) of histograms with bins of {bins['width']} ms from {first:g} to {last:g} s, the outer ones open. W: "
        f"Wasserstein distance. In parentheses: two halves of the reference, median and 95th percentile",
    )


def row_name(name: str) -> str:
    """A row of the panel in words: "gaps per min of the call", "gap s per min of the call"."""
    kind, _, unit = name.partition("_")
    noun = "IPU" if kind == "ipu" else kind
    return f"{noun}s per min of the call" if unit == "per_min" else f"{noun} s per min of the call"


def in_row(summary: Summary) -> str:
    """A figure with its interval, without its unit."""
    value, unit = summary["mean"], summary["unit"]
    return NONE if value is None else f"{number(value, unit)} {limits(summary['ci95'], unit)}".rstrip()


def beside(row: ReferenceRow) -> str:
    """A figure, that of the reference, and whether they differ."""
    texts = [in_row(row["run"]), in_row(row["reference"])]
    verdict = "" if row["verdict"] == "different" else f", {told(row)}"
    return f"{texts[0]} | reference {texts[1]}{verdict}"


def told(row: ReferenceRow) -> str:
    """The verdict on a row, with the reason if it is undecided."""
    reason = row["difference"]["reason"]
    return f"{row['verdict']} ({reason})" if row["verdict"] == "undecided" and reason else row["verdict"]


def distances(told: FloorTransfers, floor: HalfDistances | None) -> str:
    """Both distances of floor transfer offsets from those of the reference, beside those of its halves."""
    jsd, w = told["jensen_shannon"], told["wasserstein_ms"]
    if jsd is None or w is None:
        return f"too few to compare, n = {told['n']:,}"
    low, high = jsd["ci95"]
    texts = [
        f"JSD {jsd['value']:.2f} [{low:.2f}, {high:.2f}]",
        f"W {amount(w['value'], 'ms')} {limits(w['ci95'], 'ms')}",
    ]
    if floor:
        texts[0] += " ({:.2f}, {:.2f})".format(*floor["jensen_shannon"])
        texts[1] += f" ({', '.join(number(each, 'ms') for each in floor['wasserstein_ms'])})"
    return f"{' | '.join(texts)} | n = {told['n']:,}"


def notes(content: Statements) -> Iterator[Line]:
    """The notes about the input and the intervals."""
    yield from (("!! input", text) for text in content["input"])
    unit = content["unit"]
    groups = {group["name"]: group["measures"] for group in content["groups"] or [content]}
    yield from (("!!", text) for text in cautions_of(groups, unit["column"]))
    if unit["own"]:
        yield "!! no value", f"{counted(len(unit['own']), 'call')} without {unit['column']}: each counts as one"
    if len(content["groups"]) > 1:
        tests = sum(each["p"] is not None for each in content["differences"])
        paired = f"paired by {content['paired_by']}" if content["paired_by"] else "not paired"
        how = f"{paired}; p is corrected for {tests} comparisons (Holm)"
        if any(each["detectable"] is not None for each in content["differences"]):
            how += f"; minimum detectable effect: {DETECTABLE}"
        yield "differences", how
        yield "", NOT_CORRECTED
