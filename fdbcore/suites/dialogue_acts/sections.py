"""The parts of the HTML report of scored replies, all but the list of items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from fdbcore.acts import ACTS
from fdbcore.report.svg import xml
from fdbcore.report.tables import facts, flat, table
from fdbcore.report.words import NONE
from fdbcore.suites.dialogue_acts import charts
from fdbcore.suites.dialogue_acts.findings import DIRECTIONS, Document, Row, better, group_rows, groups
from fdbcore.suites.dialogue_acts.picture import picture
from fdbcore.suites.dialogue_acts.published import CAUTION
from fdbcore.suites.dialogue_acts.records import REFERENCE
from fdbcore.suites.dialogue_acts.words import CASES, PARTS, mean, p_text, span, weight

MEASURE_NAMES: Final = {
    "wed": "distance (WED) ↓",
    "insertion": "missing",
    "deletion": "redundant",
    "substitution": "swapped",
    "wlcs": "weighted LCS ↑",
    "recall": "recall ↑",
    "f1": "F1 ↑",
}
KINDS: Final = {"ceiling": "ceiling: the reference texts, annotated again", "baseline": "baseline"}
OPEN: Final = 2  # diagnoses; the others are folded
TERMS: Final = {
    "Dialogue act": "What a part of a reply does: one of "
    "Question (質問), Check-Question (確認質問), Answer (回答), Inform (情報提供), Request (依頼), Suggestion (提案), "
    "Commissive (約束・承諾). A reply is a sequence of acts.",
    "Importance": "The share of the reply that an act is, from 0 to 1; those of a reply sum to 1.",
    "Distance (WED)": "Weighted dialogue-act edit distance: the least cost of turning the reply's acts into the "
    "reference's. 0 is the same acts in the same order, whatever their importance; 1 is a reply that was not given; "
    "it can exceed 1. It is the sum of what is missing, redundant and swapped.",
    "Missing": "Acts that only the reference has; each costs its importance. The paper calls it insertion.",
    "Redundant": "Acts that only the reply has; each costs its importance. The paper calls it deletion.",
    "Swapped": "One act in the place of another; it costs half of both importances. The paper calls it substitution.",
    "Weighted LCS": "The greatest importance, on the reply's side, of acts that both sequences have in the same order. "
    "A reply of one act can have all of it.",
    "Recall": "The same with the importances of the reference. Not in the paper.",
    "F1": "The harmonic mean of weighted LCS and recall. Not in the paper.",
    "Ceiling": "The reference texts themselves, annotated again by the same annotator, which is as good as it gets.",
    "Baselines": "Replies that ignore the request: what a score must exceed to mean anything.",
    "Uniform weights": "A control: every act of a sequence weighs the same.",
    "Smallest detectable": "The difference that this many records would show four times in five.",
    "p (Holm)": "How likely so great a difference is if the systems do not differ, corrected for all comparisons made.",
}


def header(document: Document) -> str:
    """What was scored: sets, systems, annotators."""
    systems = dict.fromkeys(row["system"] for row in document["rows"] if row["kind"] == "system")
    annotators = dict.fromkeys(row["annotator"] for row in document["rows"] if row["annotator"] is not None)
    sets = ", ".join(f"{of['name']} ({of['n']} records, {of['locale']})" for of in document["sets"])
    parts = [sets, f"replies of {', '.join(systems) or 'no system'}", f"acts by {', '.join(annotators) or 'nobody'}"]
    return (
        '<p class="product">fdbcore · dialogue acts</p>\n<h1>Is the content of the replies right?</h1>\n'
        f'<p class="facts">{" · ".join(xml(part) for part in parts)}</p>'
    )


def warnings(document: Document) -> str:
    """What must be known before any number: warnings, then what was left out; empty if there is nothing."""
    found = [xml(text) for text in document["warnings"]]
    problems = [f"<li><code>{xml(p['where'])}</code> {xml(p['reason'])}</li>" for p in document["problems"]]
    if problems:
        title = f"{len(problems)} {'line was' if len(problems) == 1 else 'lines were'} left out"
        found.append(f"<details><summary>{title}</summary><ul>{''.join(problems)}</ul></details>")
    return f'<ul class="warnings" role="alert">{"".join(f"<li>{text}</li>" for text in found)}</ul>' if found else ""


def systems(document: Document) -> str:
    """A table for each set and annotator."""
    most = max([1.0, *(row["measures"]["wed"]["mean"] or 0 for row in document["rows"])])
    return "\n".join(f"{_heading(document, group)}{_system_table(document, group, most)}" for group in groups(document))


def _heading(document: Document, group: tuple[str, str], level: str = "h3") -> str:
    several = len(groups(document)) > 1
    return f"<{level}>{xml(group[0])}, annotated by {xml(group[1])}</{level}>\n" if several else ""


def _system_table(document: Document, group: tuple[str, str], most: float) -> str:
    rows = group_rows(document, group)
    uniform = {row["system"]: row for row in group_rows(document, group, "uniform")}
    marks = {
        row["system"] if row["kind"] == "baseline" else "ceiling": row["measures"]["wed"]["mean"]
        for row in rows
        if row["kind"] != "system" and row["n"]
    }
    columns = ["replies of", "n", *MEASURE_NAMES.values(), "uniform weights"]
    body = [
        (_label(row, marks, most), [_counts(row), *_cells(row), _uniform(uniform.get(row["system"]))]) for row in rows
    ]
    return f'<div class="systems">{table(columns, body)}</div>'


def _label(row: Row, marks: Mapping[str, float], most: float) -> str:
    kind = f"<span class='meaning'>{KINDS[row['kind']]}</span>" if row["kind"] in KINDS else ""
    drawn = charts.strip(row["measures"], marks, most) if row["n"] else ""
    return f"<bdi>{xml(row['system'])}</bdi>{kind}{drawn}"


def _counts(row: Row) -> str:
    notes = [f"{row[name]} {text}" for name, text in (("no_reply", "no reply"), ("unscored", "unscored")) if row[name]]
    return f"{row['n']}" + "".join(f"<span class='meaning'>{note}</span>" for note in notes)


def _cells(row: Row) -> list[str]:
    return [_summary(row["measures"][name], whole=name in ("wed", "wlcs")) for name in MEASURE_NAMES]


def _summary(summary: Mapping[str, Any], whole: bool) -> str:
    if not whole:
        return mean(summary["mean"])
    return (
        f"<strong>{mean(summary['mean'])}</strong><span class='meaning'>{span(summary['ci95'])}</span>"
        f"<span class='meaning'>SD {mean(summary['sd'])}</span>"
    )


def _uniform(row: Row | None) -> str:
    if row is None:
        return NONE
    wed, wlcs = (mean(row["measures"][name]["mean"]) for name in ("wed", "wlcs"))
    return f"{wed}<span class='meaning'>LCS {wlcs}</span>"


def comparisons(document: Document) -> str:
    """The paired differences between systems."""
    columns = [
        "a − b",
        "measure",
        "n",
        "difference",
        "95 % interval",
        "p",
        "p (Holm)",
        "smallest detectable",
        "verdict",
    ]
    rows = [(_pair(c, document), _comparison(c, document)) for c in _wed_first(document["comparisons"])]
    if not rows:
        return "<p>There are no two systems to compare.</p>"
    return f'<div class="compared">{table(columns, rows)}</div>'


def _wed_first(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(found, key=lambda c: list(DIRECTIONS).index(c["measure"]) if c["measure"] in DIRECTIONS else 9)


def _pair(c: Mapping[str, Any], document: Document) -> str:
    place = f"<span class='meaning'>{xml(c['set'])}, {xml(c['annotator'])}</span>" if len(groups(document)) > 1 else ""
    return f"<bdi>{xml(c['a'])}</bdi> − <bdi>{xml(c['b'])}</bdi>{place}"


def _comparison(c: Mapping[str, Any], document: Document) -> list[str]:
    winner = better(c, document)
    verdict = f"<bdi>{xml(winner)}</bdi> is better" if winner else "cannot be told"
    arrow = {-1: "↓", 1: "↑"}[DIRECTIONS.get(c["measure"], 1)]
    measure = MEASURE_NAMES.get(c["measure"], f"{c['measure']} {arrow}")
    numbers = [mean(c["difference"]), span(c["ci95"]), p_text(c["p"]), p_text(c["p_holm"])]
    return [measure, str(c["n"]), *numbers, mean(c["smallest_detectable"]), verdict]


def published(document: Document) -> str:
    """The paper's Table 1, where it was asked for."""
    rows = document.get("published") or []
    if not rows:
        return ""
    columns = ["set made by, replies of", "WED ↓", "missing", "redundant", "swapped", "weighted LCS ↑"]
    names = ("wed", "insertion", "deletion", "substitution", "wlcs")
    body = [
        (
            f"{xml(row['set'])}<span class='meaning'><bdi>{xml(row['system'])}</bdi></span>",
            [_published(row["measures"][name]) for name in names],
        )
        for row in rows
    ]
    return (
        '<section aria-labelledby="published-title">\n<h2 id="published-title">From the paper</h2>\n'
        "<p>Table 1 of the paper, as printed, not measured here: other records, other replies, other annotations. "
        "It gives no number of records, so these means have no interval, and cannot be compared with those above "
        f"as a test. {xml(CAUTION)}</p>\n{table(columns, body)}\n</section>"
    )


def _published(summary: Mapping[str, Any]) -> str:
    sd = summary.get("sd")
    return mean(summary["mean"]) + (f"<span class='meaning'>SD {mean(sd)}</span>" if sd is not None else "")


def cases(document: Document) -> str:
    """The four cases of the paper's Table 2, as pictures."""
    found = [(case["case"], document["items"][case["item"]]) for case in document["cases"]]
    if not found:
        return "<p>No reply was scored.</p>"
    figures = "".join(
        f"<figure><figcaption>{CASES.get(case, xml(case))}: {weight(item['scores'].get(case, item['scores']['wed']))}"
        f"</figcaption>{picture(item, language(document, item['set']))}</figure>\n"
        for case, item in found
    )
    return f'<div class="cases">\n{figures}</div>'


def language(document: Document, name: str) -> str:
    """The language of a set's texts."""
    return next((str(of["locale"]) for of in document["sets"] if of["name"] == name), "ja-JP")


def diagnosis(document: Document) -> str:
    """For each system: what is missing, redundant and swapped, act by act, and the scores by topic."""
    found = document["diagnosis"]
    if not found:
        return "<p>There is nothing to diagnose.</p>"
    return "\n".join(_diagnosis(document, each, is_open=index < OPEN) for index, each in enumerate(found))


def _diagnosis(document: Document, found: Mapping[str, Any], is_open: bool) -> str:
    group = found["set"], found["annotator"]
    place = f" <span class='meaning'>{xml(group[0])}, {xml(group[1])}</span>" if len(groups(document)) > 1 else ""
    ceiling = " (ceiling)" if found["system"] == REFERENCE else ""
    lists = [
        _ranked("Missing", found["missing"].items()),
        _ranked("Redundant", found["redundant"].items()),
        _ranked("Swapped", ((_swap(swap), swap["weight"]) for swap in found["swapped"])),
    ]
    return (
        f'<details class="diagnosis" {"open" if is_open else ""}>'
        f"<summary><h3><bdi>{xml(found['system'])}</bdi>{ceiling}{place}</h3></summary>\n"
        f'<div class="halves"><figure>{charts.matrix(found)}</figure><div class="ranked">{"".join(lists)}</div></div>\n'
        f"{_topics(found['topics'])}</details>"
    )


def _swap(swap: Mapping[str, Any]) -> str:
    return f"{swap['predicted']} instead of {swap['reference']}"


def _ranked(title: str, pairs: Iterable[tuple[str, float]], most: int = 6) -> str:
    listed = sorted(pairs, key=lambda pair: -pair[1])
    items = "".join(f"<li><span>{xml(name)}</span> <b>{mean(value)}</b></li>" for name, value in listed[:most])
    rest = f"<li class='meaning'>and {len(listed) - most} more</li>" if len(listed) > most else ""
    total = mean(sum(value for _, value in listed))
    return (
        f"<div><h4>{title} <span class='meaning'>{total}</span></h4><ol>{items or '<li>nothing</li>'}{rest}</ol></div>"
    )


def _topics(topics: Sequence[Mapping[str, Any]]) -> str:
    if not topics:
        return ""
    rows = [
        (xml(topic["topic"]) or NONE, [str(topic["n"]), f"<strong>{mean(topic['wed'])}</strong>", mean(topic["wlcs"])])
        for topic in sorted(topics, key=lambda topic: -topic["wed"])
    ]
    return table(["topic, worst first", "n", MEASURE_NAMES["wed"], MEASURE_NAMES["wlcs"]], rows)


def legend() -> str:
    """The acts in their colours, and what became of them in its signs."""
    signs = [(act, act.lower()) for act in ACTS] + [(word, f"part {word}") for word in PARTS.values()]
    items = "".join(
        '<li><svg class="acts" width="22" height="14"><rect '
        f'class="{css}" x="1" y="1" width="20" height="12"/></svg>{name}</li>'
        for name, css in signs
    )
    return f'<ul class="legend" aria-label="Legend">{items}</ul>'


def settings(document: Document) -> str:
    """How the figures were computed, on what."""
    sets = [
        pair for of in document["sets"] for pair in flat({of["name"]: {k: v for k, v in of.items() if k != "name"}})
    ]
    return facts([*flat(document["settings"]), *sets])


def glossary() -> str:
    """The terms, explained."""
    items = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>\n" for name, text in TERMS.items())
    return f'<dl class="terms">\n{items}</dl>'
