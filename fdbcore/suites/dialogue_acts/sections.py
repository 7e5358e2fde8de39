"""The parts of the HTML report of scored replies, all but the list of items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fdbcore.report.format import NONE
from fdbcore.report.html.values import Cell, Fact, Shown, flat
from fdbcore.report.html.values import Row as TableRow
from fdbcore.suites.dialogue_acts import charts
from fdbcore.suites.dialogue_acts.alignment import ACTS
from fdbcore.suites.dialogue_acts.findings import DIRECTIONS, Document, Row, better, group_rows, groups
from fdbcore.suites.dialogue_acts.picture import picture
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


LEGEND: Final = [(act, act.lower()) for act in ACTS] + [(word, f"part {word}") for word in PARTS.values()]
"""The acts in their colours, and what became of them in its signs."""
COMPARISON_COLUMNS: Final = (
    "a − b", "measure", "n", "difference", "95 % interval", "p", "p (Holm)", "smallest detectable", "verdict"
)  # fmt: skip
PUBLISHED_COLUMNS: Final = ("set made by, replies of", "WED ↓", "missing", "redundant", "swapped", "weighted LCS ↑")
TOPIC_COLUMNS: Final = ("topic, worst first", "n", MEASURE_NAMES["wed"], MEASURE_NAMES["wlcs"])


def header(document: Document) -> list[str]:
    """What was scored: sets, systems, annotators."""
    systems = dict.fromkeys(row["system"] for row in document["rows"] if row["kind"] == "system")
    annotators = dict.fromkeys(row["annotator"] for row in document["rows"] if row["annotator"] is not None)
    sets = ", ".join(f"{of['name']} ({of['n']} records, {of['locale']})" for of in document["sets"])
    return [sets, f"replies of {', '.join(systems) or 'no system'}", f"acts by {', '.join(annotators) or 'nobody'}"]


def systems(document: Document) -> list[dict[str, Any]]:
    """A table for each set and annotator."""
    most = max([1.0, *(row["measures"]["wed"]["mean"] or 0 for row in document["rows"])])
    several = len(groups(document)) > 1
    return [
        {
            "heading": f"{group[0]}, annotated by {group[1]}" if several else "",
            "columns": ["replies of", "n", *MEASURE_NAMES.values(), "uniform weights"],
            "rows": _system_rows(document, group, most),
        }
        for group in groups(document)
    ]


def _system_rows(document: Document, group: tuple[str, str], most: float) -> list[TableRow]:
    rows = group_rows(document, group)
    uniform = {row["system"]: row for row in group_rows(document, group, "uniform")}
    marks = {
        row["system"] if row["kind"] == "baseline" else "ceiling": row["measures"]["wed"]["mean"]
        for row in rows
        if row["kind"] != "system" and row["n"]
    }
    return [
        (_label(row, marks, most), [_counts(row), *_cells(row), _uniform(uniform.get(row["system"]))]) for row in rows
    ]


def _label(row: Row, marks: Mapping[str, float], most: float) -> Cell:
    drawn = charts.strip(row["measures"], marks, most) if row["n"] else ""
    return Cell("", KINDS.get(row["kind"], ""), names=(row["system"],), svg=drawn)


def _counts(row: Row) -> Cell:
    notes = [f"{row[name]} {text}" for name, text in (("no_reply", "no reply"), ("unscored", "unscored")) if row[name]]
    return Cell(str(row["n"]), further=notes)


def _cells(row: Row) -> list[Shown]:
    return [_summary(row["measures"][name], whole=name in ("wed", "wlcs")) for name in MEASURE_NAMES]


def _summary(summary: Mapping[str, Any], whole: bool) -> Shown:
    if not whole:
        return mean(summary["mean"])
    return Cell(mean(summary["mean"]), span(summary["ci95"]), is_strong=True, further=(f"SD {mean(summary['sd'])}",))


def _uniform(row: Row | None) -> Shown:
    if row is None:
        return NONE
    wed, wlcs = (mean(row["measures"][name]["mean"]) for name in ("wed", "wlcs"))
    return Cell(wed, f"LCS {wlcs}")


def comparisons(document: Document) -> list[TableRow]:
    """The paired differences between systems, those of the distance first."""
    order = list(DIRECTIONS)
    found = sorted(document["comparisons"], key=lambda c: order.index(c["measure"]) if c["measure"] in order else 9)
    return [_comparison(c, document) for c in found]


def _comparison(c: Mapping[str, Any], document: Document) -> TableRow:
    place = f"{c['set']}, {c['annotator']}" if len(groups(document)) > 1 else ""
    winner = better(c, document)
    verdict = Cell(" is better", names=(winner,)) if winner else "cannot be told"
    arrow = {-1: "↓", 1: "↑"}[DIRECTIONS.get(c["measure"], 1)]
    measure = MEASURE_NAMES.get(c["measure"], f"{c['measure']} {arrow}")
    numbers = [mean(c["difference"]), span(c["ci95"]), p_text(c["p"]), p_text(c["p_holm"])]
    cells = [measure, str(c["n"]), *numbers, mean(c["smallest_detectable"]), verdict]
    return Cell("", place, names=(c["a"], c["b"])), cells


def published(document: Document) -> list[TableRow]:
    """The paper's Table 1, where it was asked for."""
    names = ("wed", "insertion", "deletion", "substitution", "wlcs")
    return [
        (Cell(row["set"], row["system"]), [_published(row["measures"][name]) for name in names])
        for row in document.get("published") or []
    ]


def _published(summary: Mapping[str, Any]) -> Cell:
    sd = summary.get("sd")
    return Cell(mean(summary["mean"]), f"SD {mean(sd)}" if sd is not None else "")


def cases(document: Document) -> list[tuple[str, str]]:
    """The four cases of the paper's Table 2, as pictures under what they show."""
    found = [(case["case"], document["items"][case["item"]]) for case in document["cases"]]
    return [
        (
            f"{CASES.get(case, case)}: {weight(item['scores'].get(case, item['scores']['wed']))}",
            picture(item, language(document, item["set"])),
        )
        for case, item in found
    ]


def language(document: Document, name: str) -> str:
    """The language of a set's texts."""
    return next((str(of["locale"]) for of in document["sets"] if of["name"] == name), "ja-JP")


def diagnosis(document: Document) -> list[dict[str, Any]]:
    """For each system: what is missing, redundant and swapped, act by act, and the scores by topic."""
    several = len(groups(document)) > 1
    return [
        {
            "system": found["system"],
            "is_ceiling": found["system"] == REFERENCE,
            "is_open": index < OPEN,
            "place": f"{found['set']}, {found['annotator']}" if several else "",
            "matrix": charts.matrix(found),
            "lists": [
                _ranked("Missing", found["missing"].items()),
                _ranked("Redundant", found["redundant"].items()),
                _ranked("Swapped", ((_swap(swap), swap["weight"]) for swap in found["swapped"])),
            ],
            "topics": _topics(found["topics"]),
        }
        for index, found in enumerate(document["diagnosis"])
    ]


def _swap(swap: Mapping[str, Any]) -> str:
    return f"{swap['predicted']} instead of {swap['reference']}"


def _ranked(title: str, pairs: Iterable[tuple[str, float]], most: int = 6) -> dict[str, Any]:
    listed = sorted(pairs, key=lambda pair: -pair[1])
    first = [(name, mean(value)) for name, value in listed[:most]]
    return {
        "title": title,
        "total": mean(sum(value for _, value in listed)),
        "first": first,
        "more": len(listed) - most,
    }


def _topics(topics: Sequence[Mapping[str, Any]]) -> list[TableRow]:
    return [
        (topic["topic"] or NONE, [str(topic["n"]), Cell(mean(topic["wed"]), is_strong=True), mean(topic["wlcs"])])
        for topic in sorted(topics, key=lambda topic: -topic["wed"])
    ]


def settings(document: Document) -> list[Fact]:
    """How the figures were computed, on what."""
    sets = [
        pair for of in document["sets"] for pair in flat({of["name"]: {k: v for k, v in of.items() if k != "name"}})
    ]
    return [*flat(document["settings"]), *sets]
