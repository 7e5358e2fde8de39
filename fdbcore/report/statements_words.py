"""Words and figures of a run's statements, shared by the screen and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fdbcore.report.cautions import NAMES, cautions
from fdbcore.report.words import NONE, NOT_CORRECTED, UNITS, counted
from fdbcore.statements import units_text

ROW_NAMES: Final = {
    "ipu_per_min": "IPUs per min",
    "ipu_s_per_min": "IPU s per min",
    "pause_per_min": "pauses per min",
    "pause_s_per_min": "pause s per min",
    "gap_per_min": "gaps per min",
    "gap_s_per_min": "gap s per min",
    "overlap_per_min": "overlaps per min",
    "overlap_s_per_min": "overlap s per min",
}
ALPHA: Final = 0.05
ALL_PAIRS_SHOWN: Final = 3
"""Of more groups only the pairs that differ are shown."""

NAMED: Final = 3
"""How many calls that the other detector cannot hear are named."""

_SUFFIX: Final = {"ms": " s", "share": " %", "1/min": "", "s/min": ""}

Line = tuple[str, str]
Content = Mapping[str, Any]


def ranges(content: Content) -> dict[tuple[str, str], Mapping[str, Any]]:
    """How the measures of each group vary with the settings, by the names of both; empty where that was not asked."""
    found = content.get("sensitivity") or {"groups": []}
    return {(group["name"], name): of for group in found["groups"] for name, of in group["measures"].items()}


def is_empty(content: Content, name: str) -> bool:
    """Whether there is nothing to count for a measure, in no group."""
    return not any(of["measures"][name]["n"] for of in (content, *content["groups"]))


def resampled(content: Content) -> str:
    """What the intervals are over: "95 % intervals over 30 calls"."""
    clusters, column = content["clusters"], content["unit"]["column"]
    if clusters < 2:
        return f"no intervals: one {units_text(column, 1)} cannot show how {units_text(column)} differ"
    return f"95 % intervals over {clusters:,} {units_text(column, clusters)}"


def unit_text(summary: Mapping[str, Any]) -> str:
    """What the figures of a measure are: "median, s", "%"."""
    if summary["unit"] == "ms":
        return "median, s"
    return str(UNITS.get(summary["unit"], summary["unit"]))


def value_of(summary: Mapping[str, Any]) -> float | None:
    """What a measure is told by: its median, or its mean if it has none."""
    found: float | None = summary["median"] if summary["median"] is not None else summary["mean"]
    return found


def figure(summary: Mapping[str, Any], varied: Mapping[str, Any] | None) -> str:
    """ "0.82 s [0.74, 0.91], settings 0.69-0.97 | n = 1,234", and the tail of what has one."""
    unit, value = summary["unit"], value_of(summary)
    if value is None:
        return f"{NONE} | n = 0"
    text = f"{number(value, unit)}{_SUFFIX[unit]}{limits(summary['ci95'], unit)}"
    if varied and varied["low"] is not None:
        text += f", settings {number(varied['low'], unit)}\N{EN DASH}{number(varied['high'], unit)}"
    tail = f" | p95 {number(summary['p95'], unit)}{limits(summary['p95_ci95'], unit)}" if summary.get("p95") else ""
    chance = f" | by chance {number(summary['by_chance'], unit)}" if summary.get("by_chance") is not None else ""
    return f"{text}{tail}{chance} | n = {summary['n']:,}"


def limits(interval: Sequence[float] | None, unit: str) -> str:
    """ " [0.74, 0.91]"; "" where there is no interval."""
    return f" [{', '.join(number(limit, unit) for limit in interval)}]" if interval else ""


def number(value: float, unit: str) -> str:
    """In the unit that is shown: seconds for ms, per cent with one decimal for shares."""
    if unit == "ms":
        return f"{value / 1000:.2f}"
    return f"{100 * value:.1f}" if unit == "share" else f"{value:.2f}"


def differences(content: Content, name: str) -> Iterator[Line]:
    """Those of a measure; of many groups only the pairs that are told apart, and what would have been."""
    unit = content["measures"][name]["unit"]
    found = [each for each in content["differences"] if each["measure"] == name and each["value"] is not None]
    apart = [each for each in found if is_apart(each)]
    shown = found if len(content["groups"]) <= ALL_PAIRS_SHOWN else apart
    for each in shown:
        yield f"  {each['a']} - {each['b']}", difference(each, unit)
    left = [each["detectable"] for each in found if each not in shown and each["detectable"] is not None]
    if left:
        pairs = f"the other {len(found) - len(shown)} pairs" if shown else f"none of {len(found)} pairs"
        seen = f"{number(min(left), unit)} to {number(max(left), unit)}{_points(unit)}"
        yield "  not told apart", f"{pairs}; at this n a difference of {seen} would be seen in 80 %"


def is_apart(difference: Mapping[str, Any]) -> bool:
    """Whether two groups are told apart, with all comparisons of the table in mind."""
    return difference["p_holm"] is not None and difference["p_holm"] < ALPHA


def difference(each: Mapping[str, Any], unit: str) -> str:
    """ "+4.0 points [3.2, 4.8] | they differ, p < 0.001 | seen from 1.2 points"."""
    text = f"{_signed(each['value'], unit)}{_points(unit)}"
    if each["interval"] is None:
        return f"{text} | {each['reason']}"
    low, high = each["interval"]
    verdict = "they differ" if is_apart(each) else "not told apart"
    seen = f" | seen from {number(each['detectable'], unit)}{_points(unit)}" if each["detectable"] is not None else ""
    return f"{text} [{_signed(low, unit)}, {_signed(high, unit)}] | {verdict}, {_p(each['p_holm'])}{seen}"


def _signed(value: float, unit: str) -> str:
    return f"{'+' if value > 0 else ''}{number(value, unit)}"


def _points(unit: str) -> str:
    return " points" if unit == "share" else _SUFFIX[unit]


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def settings(content: Content) -> Iterator[Line]:
    """What was varied, and where systems change places."""
    found = content.get("sensitivity")
    if not found:
        return
    own, other = found["detectors"]
    heard = any(variant["other_detector"] for variant in found["variants"])
    unheard = found["unheard"]
    deaf = f" ({counted(len(unheard), 'call')} by {own} alone)" if unheard else ""
    detectors = f"detectors {own} and {other}{deaf}" if heard else f"detector {own} alone: {other} needs the audio"
    yield "settings", f"the figure's range over {len(found['variants'])} readings of the activity: {detectors}"
    for name, reason in list(unheard.items())[:NAMED]:
        yield "", f"by {own} alone: {name}: {reason}"
    if len(unheard) > NAMED:
        yield "", f"and {len(unheard) - NAMED:,} more"
    for name, values in _varied(found["variants"]).items():
        yield "", f"{name} {min(values)}\N{EN DASH}{max(values)} ms"
    for flip in found["flips"]:
        where = "; ".join(flip["at"])
        known = any(
            is_apart(each)
            for each in content["differences"]
            if (each["measure"], each["a"], each["b"]) == (flip["measure"], flip["a"], flip["b"])
        )
        doubt = "" if known else " (not told apart as scored)"
        yield "!! order flips", f"{NAMES[flip['measure']]}: {flip['a']} and {flip['b']}{doubt}, at {where}"
    if len(content["groups"]) > 1 and not found["flips"]:
        yield "", f"no {content['by']} changes places with another under any of these"


def _varied(variants: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    values: dict[str, list[int]] = {}
    for variant in variants:
        for name, value_ms in variant["changes"].items():
            values.setdefault(name.removesuffix("_ms"), []).append(value_ms)
    return values


def reference(content: Content) -> Iterator[Line]:
    """How the time is filled, beside the reference, and how far the floor transfers are apart."""
    found = content.get("reference")
    if not found:
        return
    yield "reference", f"{found['path']}: {counted(found['calls'], 'call')}, read with the same settings"
    if found["detectors"]["run"] != found["detectors"]["reference"]:
        yield "", "!! another detector decided on its speech: {reference}, here {run}".format(**found["detectors"])
    for group in found["groups"]:
        if group["name"]:
            yield f"{group['name']}", ""
        for name, row in group["rows"].items():
            yield f"  {ROW_NAMES[name]}", beside(row)
        for side, told in group["floor_transfers"].items():
            yield f"  {side} after {'AB'[side == 'A']}", distances(told, found["floor"])
    bins = found["bins_ms"]
    first, last = bins["first"] / 1000, bins["last"] / 1000
    yield (
        "  distances",
        f"of floor transfer offsets from both sides of the reference. JSD: Jensen-Shannon distance (0 to 1, base 2) of "
        f"histograms, bins of {bins['width']} ms from {first:g} to {last:g} s, the outer ones open. W: Wasserstein. In "
        f"brackets what two halves of the reference are apart (and at most in 95 of 100 divisions)",
    )


def beside(row: Mapping[str, Any]) -> str:
    """A figure, that of the reference, and whether they are told apart."""
    unit = row["run"]["unit"]
    texts = [f"{number(of['mean'], unit)}{limits(of['ci95'], unit)}" for of in (row["run"], row["reference"])]
    verdict = "" if is_apart(row["difference"]) else ", not told apart"
    return f"{texts[0]} | reference {texts[1]}{verdict}"


def distances(told: Mapping[str, Any], floor: Mapping[str, Sequence[float]] | None) -> str:
    """Both distances of floor transfer offsets from those of the reference, beside those of its halves."""
    if told["jensen_shannon"] is None:
        return f"too few to compare, n = {told['n']:,}"
    texts = []
    for name, label, form in (("jensen_shannon", "JSD", ".2f"), ("wasserstein_ms", "W", ".0f")):
        value, (low, high) = told[name]["value"], told[name]["ci95"]
        unit = " ms" if name == "wasserstein_ms" else ""
        halves = f" ({floor[name][0]:{form}}, {floor[name][1]:{form}})" if floor else ""
        texts.append(f"{label} {value:{form}}{unit} [{low:{form}}, {high:{form}}]{halves}")
    return f"{' | '.join(texts)} | n = {told['n']:,}"


def notes(content: Content) -> Iterator[Line]:
    """What a reader must know of the input, and of the intervals."""
    yield from (("!! input", text) for text in content["input"])
    unit = content["unit"]
    groups = {group["name"]: group["measures"] for group in content["groups"] or [content]}
    yield from (("!!", text) for text in cautions(groups, unit["column"]))
    if unit["own"]:
        yield "!! no value", f"{counted(len(unit['own']), 'call')} without {unit['column']}: each counts as one"
    if len(content["groups"]) > 1:
        tests = sum(each["p"] is not None for each in content["differences"])
        paired = f"paired by {content['paired_by']}" if content["paired_by"] else "not paired"
        yield (
            "differences",
            f"{paired}; p is corrected for {tests} comparisons (Holm); seen from: the smallest true difference that so "
            "many calls would find 8 times in 10",
        )
        yield "", NOT_CORRECTED
