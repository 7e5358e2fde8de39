"""The text and the tables of the HTML report of a call."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from fdbcore.analysis.summaries import Measures, Summary
from fdbcore.measures.answers import UNANSWERED
from fdbcore.measures.catalogue import GROUPS, MEASURES, OTHER
from fdbcore.measures.measure import CallMeasure
from fdbcore.report.call.document import Document, Event
from fdbcore.report.call.tools import tools_of
from fdbcore.report.evidence import Evidence, of_cost, of_parties, of_settings, of_source, of_versions
from fdbcore.report.format import amount, brief, headline, limits, long_unit
from fdbcore.report.glossary import EVENTS, EXCLUSIONS, in_words
from fdbcore.report.html.values import ALL, NOTES, Cell, Links, Row, Shown, flat, without_empty
from fdbcore.types import SIDES, Side, TurnKind, TurnSettings


def turn_settings(content: Document) -> TurnSettings:
    """The settings of the turn detector that made a document's events."""
    return TurnSettings(**content["settings"]["turns"])


def warnings(content: Document) -> list[str]:
    """The warnings that a reader must see before any number, apart from the findings."""
    status, reason = content["recording"]["status"], content["recording"]["reason"]
    ended = f"this recording is {status}{f': {reason}' if reason else ''}"
    return [*content["warnings"], *([ended] if status != "complete" else [])]


def curve(measures: Measures, settings: TurnSettings) -> str:
    """A paragraph that explains the response curve and its denominator."""
    counts = {name: measures[f"{name}_per_turn"] for name in ("answered", "premature", "no_response")}
    eligible = counts["answered"]["n"]
    if not eligible:
        return "There was nothing for B to answer, so there is no curve."
    text = (
        "The share of opportunities that B has begun to answer, over the time since A finished. "
        f"All {eligible} opportunities count: responses {counts['answered']['count']}, premature responses "
        f"{counts['premature']['count']}, no response {counts['no_response']['count']} ({UNANSWERED}). "
        "Only responses raise the curve."
    )
    return in_words(text, settings)


def intervals(measures: Measures) -> str:
    """A sentence that explains the column of intervals."""
    if all(m["ci95"] is None for m in measures.values()):
        return "There are no intervals: one call cannot show how calls differ."
    return "The 95 % interval belongs to the bold figure."


def measures(summaries: Measures, settings: TurnSettings, link: Links) -> list[dict[str, Any]]:
    """One table per group of measures, without columns that are empty. link: from each count to its moments."""
    texts = {
        name: MEASURES.get(name) or CallMeasure(name, name, 0, summary["unit"], pools="median", group=OTHER)
        for name, summary in summaries.items()
    }
    found = []
    for group in GROUPS:
        rows = [
            _measure_row(name, texts[name], summaries[name], settings, link)
            for name in summaries
            if texts[name].group == group
        ]
        if rows:
            used, shown = without_empty(MEASURE_COLUMNS, rows)
            about = in_words(group.about, settings)
            found.append({"title": group.title, "about": about, "columns": ["measure", *used], "rows": shown})
    return found


MEASURE_COLUMNS: Final = ("n", "median", "p90", "mean", "95 % interval", "with echo", NOTES)


def _measure_row(name: str, text: CallMeasure, m: Summary, settings: TurnSettings, link: Links) -> Row:
    unit_told = long_unit(text.shown_in)
    label = Cell(text.label, unit_told, text.literature, name, in_words(text.meaning, settings))
    unit, values = text.shown_in, (m["median"], m["p90"], m["mean"])
    beside = (_with_echo(m, unit), "; ".join(_notes(m, unit)))
    if values == (None, None, None):
        return label, ["none", "", "", "", "", *beside]
    n = f"{link(m['count'], name)} of {link(m['n'], f'{name}{ALL}')}" if "count" in m else link(m["n"], name)
    numbers: list[Shown] = ["" if value is None else brief(value, unit) for value in values]
    main = 0 if numbers[0] else 2  # the interval is that of the median; of the mean for rates and shares
    numbers[main] = Cell(str(numbers[main]), is_strong=True)
    return label, [Cell(n, is_linked=True), *numbers, limits(m["ci95"], unit), *beside]


def _with_echo(m: Summary, unit: str) -> str:
    """The headline and n with echo counted as speech; empty if they are the same."""
    beside = m.get("with_echo")
    if beside is None:
        return ""
    n = f"{beside['count']} of {beside['n']}" if "count" in beside else f"n = {beside['n']}"
    return f"{brief(headline(beside), unit)} ({n})"


def _notes(m: Summary, unit: str) -> Iterator[str]:
    if m.get("by_chance") is not None:
        yield f"by chance {amount(m['by_chance'], 'share')}"
    if m.get("of"):
        yield "from {} minus {}".format(*m["of"])
    if m.get("max") is not None and m["n"] > 1:
        yield f"largest {brief(m['max'], unit)}"
    for reason, count in m["excluded"].items():
        yield f"{count} {EXCLUSIONS.get(reason, reason)}"


def events(found: Iterable[Event], settings: TurnSettings) -> list[Row]:
    """The number of events of each kind per side, without suspect ones, and what each kind means."""
    counts: Counter[tuple[TurnKind, Side]] = Counter()
    censored: Counter[TurnKind] = Counter()
    for event in found:
        if event.get("suspect"):
            continue
        if event["censored"]:
            censored[event["kind"]] += 1
        else:
            counts[event["kind"], event["side"]] += 1
    return [
        (
            Cell(kind.replace("_", " "), in_words(meaning, settings)),
            [*(str(counts[kind, side]) for side in SIDES), str(censored[kind])],
        )
        for kind, meaning in EVENTS.items()
    ]


def evidence(content: Document) -> Evidence:
    """The facts about settings, sources, parties and versions."""
    recording = content["recording"]
    parties = (content["held"] or recording)["parties"] or {}
    tools = tools_of(content)
    described = {name: value for name, value in tools["described"].items() if name != "functions"} if tools else {}
    found = {
        "Voice activity and turns": of_settings(content["settings"], filter(None, [recording["settings_sha256"]])),
        "Sources": of_source(recording["source"] or {}),
        "Tools": flat(described),
        "Line": flat(content["held"].get("line", {})) if content["held"] else [],
        "Parties and versions": [
            *of_parties(parties),
            *(of_cost(held.get("cost"), held.get("recipients", ())) if (held := content["held"]) else ()),
            *of_versions(recording["versions"] or {}),
        ],
    }
    return {title: facts for title, facts in found.items() if facts}
