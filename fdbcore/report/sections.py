"""The parts of the HTML report that are text and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from string import Template
from typing import Any, Final

from fdbcore.recording import Recording
from fdbcore.report.glossary import (
    EVENTS,
    EXCLUSIONS,
    GROUPS,
    MEASURES,
    OTHER,
    SETTINGS,
    TERMS,
    UNANSWERED,
    MeasureText,
    in_words,
)
from fdbcore.report.shell import INDEX, static
from fdbcore.report.tables import NOTES, facts, flat, table
from fdbcore.report.words import (
    UNITS,
    clock_text,
    length_text,
    number_text,
    origins,
    title,
    vad_bias_text,
    vad_text,
)
from fdbcore.types import SIDES, TurnSettings

LISTED, SHOWN = 20, 8  # of the worst moments; the rest of the list is folded

Measures = Mapping[str, Mapping[str, Any]]


def turn_settings(content: Mapping[str, Any]) -> TurnSettings:
    """The settings of the turn detector that made a document's events."""
    return TurnSettings(**content["settings"]["turns"])


def header(recording: Recording) -> str:
    """Name, length, channels, and what decided on speech."""
    meta = recording.meta
    sides = " · ".join(f"{_side(side)} {escape(place)}" for side, place in origins(recording).items())
    parts = [length_text(recording), sides, f"voice activity by {escape(vad_text(meta['settings']))}"]
    parts += [escape(str(meta["created"])[:10])] if meta.get("created") else []
    parts += [f'<a href="../{INDEX}">all calls of the run</a>'] if (recording.path.parent / INDEX).is_file() else []
    return (
        '<p class="product">fdbcore · report of one session</p>\n'
        f"<h1>{escape(title(recording))}</h1>\n"
        f'<p class="facts">{" · ".join(parts)}</p>'
    )


def warnings(content: Mapping[str, Any]) -> str:
    """What must be known before any number; empty if there is nothing."""
    found = [f"{_sentence(finding['text'])} {_link(finding['start_s'])}" for finding in content["findings"]]
    found += [_sentence(text) for text in content["warnings"]]
    status, reason = content["recording"]["status"], content["recording"]["reason"]
    if status != "complete":
        found.append(_sentence(f"this recording is {status}{f': {reason}' if reason else ''}"))
    items = "".join(f"<li>{text}</li>" for text in found)
    return f'<ul class="warnings" role="alert">{items}</ul>' if items else ""


def _sentence(text: str) -> str:
    return escape(f"{text[:1].upper()}{text[1:]}.")


def _link(start_s: float) -> str:
    return f'<a href="#t={start_s:g}">{clock_text(start_s)}</a>'


def moments(found: Sequence[Mapping[str, Any]], is_amiss: bool = False) -> str:
    """The worst moments, each a link to its time. is_amiss: something has been found that is no moment."""
    if not found and is_amiss:
        return "<p>No single moment: what is wrong with this call stands above.</p>"
    if not found:
        return "<p>Nothing out of the ordinary: every answer within 1 s, no long overlap, no long silence.</p>"
    items = [
        f'<li><a href="#t={m["start_s"]:g}"><span class="at">{clock_text(m["start_s"])}</span>'
        f"<span>{escape(m['text'])}</span></a></li>"
        for m in found[:LISTED]
    ]
    first = f'<ol class="moments">{"".join(items[:SHOWN])}</ol>'
    if len(items) <= SHOWN:
        return first
    rest = f'<ol class="moments" start="{SHOWN + 1}">{"".join(items[SHOWN:])}</ol>'
    counted = f"{len(items) - SHOWN} more" + (f", of {len(found)} in all" if len(found) > LISTED else "")
    return f"{first}\n<details><summary>{counted}</summary>{rest}</details>"


def curve(measures: Measures, settings: TurnSettings) -> str:
    """What the response curve shows, with its denominator."""
    counts = {name: measures[f"{name}_per_turn"] for name in ("answered", "premature", "no_response")}
    eligible = counts["answered"]["n"]
    if not eligible:
        return "There was nothing for B to answer, so there is no curve."
    text = (
        "The share of its opportunities that B has begun to answer, against the time since A finished. "
        f"All count: of {eligible}, B answered {counts['answered']['count']}, cut off "
        f"{counts['premature']['count']} before A had finished, and left {counts['no_response']['count']} without an "
        f"answer: {UNANSWERED}. Only answers raise the curve."
    )
    return in_words(text, settings)


def intervals(measures: Measures) -> str:
    """What the interval column means here."""
    if all(m["ci95"] is None for m in measures.values()):
        return "There are no intervals: one session cannot show how sessions differ."
    return "The bold figure is the one that the 95 % interval belongs to."


def measures(summaries: Measures, settings: TurnSettings) -> str:
    """One table for each group of measures."""
    texts = {name: MEASURES.get(name, MeasureText(OTHER, name, "")) for name in summaries}
    parts = []
    for group, about in GROUPS.items():
        names = [name for name in summaries if texts[name].group == group]
        if names:
            rows = [_measure_row(name, texts[name], summaries[name], settings) for name in names]
            parts.append(f"<h3>{group}</h3>\n<p class='note'>{in_words(about, settings)}</p>\n{_measure_table(rows)}")
    return "\n".join(parts)


MEASURE_COLUMNS: Final = ("n", "median", "p90", "mean", "95 % interval", "unit", "with echo", NOTES)


def _measure_row(name: str, text: MeasureText, m: Mapping[str, Any], settings: TurnSettings) -> tuple[str, list[str]]:
    known = " · ".join(filter(None, [escape(text.literature), f"<code>{escape(name)}</code>"]))
    label = (
        f"{escape(text.label)}<span class='meaning'>{escape(in_words(text.meaning, settings))}</span>"
        f"<span class='literature'>{known}</span>"
    )
    unit = m["unit"]
    n = f"{m['count']} of {m['n']}" if "count" in m else str(m["n"])
    keys = ("median", "p90", "mean")
    numbers = ["" if m[key] is None else number_text(m[key], unit) for key in keys]
    headline = 0 if numbers[0] else 2  # what the interval belongs to: rates and shares have no median
    numbers[headline] = f"<strong>{numbers[headline]}</strong>"
    interval = " to ".join(number_text(limit, unit) for limit in m["ci95"]) if m["ci95"] else ""
    return label, [n, *numbers, interval, UNITS.get(unit, unit), _with_echo(m), "; ".join(_notes(m))]


def _with_echo(m: Mapping[str, Any]) -> str:
    """The headline and its n with the events that echo makes, where they differ."""
    beside = m.get("with_echo")
    if beside is None:
        return ""
    value = beside["mean"] if beside["median"] is None else beside["median"]
    n = f"{beside['count']} of {beside['n']}" if "count" in beside else f"n = {beside['n']}"
    return f"{number_text(value, beside['unit'])} ({n})"


def _notes(m: Mapping[str, Any]) -> Iterator[str]:
    if m.get("by_chance") is not None:
        yield f"by chance {number_text(m['by_chance'], 'share')}\u00a0%"
    if m.get("of"):
        yield "from {} less {}".format(*m["of"])
    if m.get("max") is not None and m["n"] > 1:
        yield f"largest {number_text(m['max'], m['unit'])}"
    for reason, count in m["excluded"].items():
        yield f"{count} {EXCLUSIONS.get(reason, reason)}"


def _measure_table(rows: Sequence[tuple[str, list[str]]]) -> str:
    """A table without the columns in which no row has anything."""
    used = [index for index in range(len(MEASURE_COLUMNS)) if any(cells[index] for _, cells in rows)]
    columns = ["measure", *(MEASURE_COLUMNS[index] for index in used)]
    return table(columns, [(label, [cells[index] for index in used]) for label, cells in rows])


def events(found: Sequence[Mapping[str, Any]], settings: TurnSettings) -> str:
    """How many events of each kind each side has, without suspect ones, and what they are."""
    own = [event for event in found if not event.get("suspect")]
    counts = Counter((event["kind"], event["side"]) for event in own if not event["censored"])
    censored = Counter(event["kind"] for event in own if event["censored"])
    rows = []
    for kind, meaning in EVENTS.items():
        name = f"{kind.replace('_', ' ')}<span class='meaning'>{in_words(meaning, settings)}</span>"
        cells = [str(counts[kind, side]) for side in SIDES] + [str(censored[kind])]
        rows.append((name, cells))
    return table(["event", "of A", "of B", "cut off by the end, not counted"], rows)


def evidence(content: Mapping[str, Any]) -> str:
    """The settings, the sources and the versions."""
    recording = content["recording"]
    parts = ["<h3>Voice activity and turns</h3>"]
    parts += [_settings(content["settings"], recording["settings_sha256"]), "<h3>Sources</h3>"]
    parts += [facts(flat(recording["source"] or {})), "<h3>Parties and versions</h3>"]
    parties = (content["held"] or recording)["parties"] or {}
    parts += [facts([*flat(parties), *flat(recording["versions"] or {})])]
    return "\n".join(parts)


def _settings(settings: Mapping[str, Any], sha256: str | None) -> str:
    rows = []
    bias = vad_bias_text(settings)
    if bias:
        rows.append(("measured bias", f"{escape(bias)} <span class='meaning'>It shifts every latency.</span>"))
    same = settings["vad"]["A"] == settings["vad"]["B"]
    rows += flat({"voice activity": settings["vad"]["A"] if same else settings["vad"]})
    for name, value in settings["turns"].items():
        rows.append((escape(name), f"{value} <span class='meaning'>{SETTINGS.get(name, '')}</span>"))
    rows += flat({"settings SHA-256": sha256})
    return facts(rows)


def closing(evidence: str, settings: TurnSettings) -> str:
    """How a page of many calls ends: what its numbers rest on, HTML, and the glossary, folded."""
    return Template(static("closing.html")).substitute(evidence=evidence, glossary=glossary(settings))


def glossary(settings: TurnSettings) -> str:
    """The terms, explained."""
    items = "".join(f"<div><dt>{name}</dt><dd>{in_words(text, settings)}</dd></div>\n" for name, text in TERMS.items())
    return f'<dl class="terms">\n{items}</dl>'


def footer(content: Mapping[str, Any]) -> str:
    """What wrote the page, and the names of what it holds."""
    version = (content["recording"]["versions"] or {}).get("fdbcore", "")
    return escape(f"fdbcore {version} · the page embeds its data as {content['schema']}")


def _side(side: str) -> str:
    return f'<span class="side-{side.lower()}">{side}</span>'
