"""The page of what holds of a run, scores.html: each figure with its interval and its range over the settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Final

from fdbcore.recording import write_text
from fdbcore.report import sections
from fdbcore.report import statements_words as words
from fdbcore.report.cautions import NAMES
from fdbcore.report.forest import Row, forest
from fdbcore.report.glossary import MEASURES, in_words
from fdbcore.report.index import INDEX
from fdbcore.report.shell import shell, static
from fdbcore.report.statements_words import Content
from fdbcore.report.tables import facts, flat, table
from fdbcore.report.words import UNITS, counted
from fdbcore.types import TurnSettings

SCORES_PAGE: Final = "scores.html"
ALL: Final = "all calls"


def write_statements(content: Content, folder: Path) -> Path:
    """Write scores.html into `folder` and return its path. RecordingError if it cannot be written."""
    path = folder / SCORES_PAGE
    write_text(path, page(content, folder))
    return path


def page(content: Content, folder: Path) -> str:
    """The whole page. Every text that comes from a file is escaped. folder: what its links are relative to."""
    settings = TurnSettings(**content["settings"]["turns"])
    title = Path(content["run"]).resolve().name
    told = facts((escape(label or "\N{NO-BREAK SPACE}"), escape(text)) for label, text in _told(content))
    evidence = {key: content[key] for key in ("run", "versions", "settings")}
    body = Template(static("scores.html")).substitute(
        header=_header(content, title, folder),
        warnings=_warnings(content),
        measures="\n".join(_measure(content, name, settings) for name in NAMES),
        told=told,
        reference=_reference(content),
        closing=sections.closing(facts(flat(evidence)), settings),
    )
    return shell(body, f"{title}: what holds – fdbcore", static("scores.css"), "img-src data:")


def _header(content: Content, title: str, folder: Path) -> str:
    parts = [f"{counted(content['calls'], 'call')} scored", escape(words.resampled(content))]
    parts += [f"by {escape(content['by'])}"] if content["by"] else []
    parts += [f'<a href="{INDEX}">the calls</a>'] if (folder / INDEX).is_file() else []
    return (
        f'<p class="product">fdbcore · what holds of a run</p>\n<h1>{escape(title)}</h1>\n'
        f'<p class="facts">{" · ".join(parts)}</p>'
    )


def _lines(content: Content) -> Iterator[tuple[str, str]]:
    yield from words.settings(content)
    yield from words.notes(content)


def _warnings(content: Content) -> str:
    marked = [(label[2:].strip(), text) for label, text in _lines(content) if label.startswith("!!")]
    found = [": ".join(filter(None, line)) for line in marked]
    found += [f"not scored: {name}: {reason}" for name, reason in content["unscored"].items()]
    items = "".join(f"<li>{escape(text[:1].upper() + text[1:])}</li>" for text in found)
    return f'<ul class="warnings" role="alert">{items}</ul>' if items else ""


def _told(content: Content) -> Iterator[tuple[str, str]]:
    return (line for line in _lines(content) if not line[0].startswith("!!"))


def _measure(content: Content, name: str, settings: TurnSettings) -> str:
    """One measure: of each group a row of the drawing, and the differences under it."""
    text = MEASURES[name]
    drawn = '<p class="note">Nothing to count.</p>' if words.is_empty(content, name) else _drawn(content, name)
    return (
        f"<section class='measure'><h3>{escape(text.label)}</h3>"
        f"<p class='note'>{escape(in_words(text.meaning, settings))} <code>{name}</code></p>{drawn}</section>"
    )


def _drawn(content: Content, name: str) -> str:
    varied, unit = words.ranges(content), content["measures"][name]["unit"]
    rows = [
        _row(group["name"] or ALL, group["measures"][name], varied.get((group["name"], name)))
        for group in content["groups"] or [content]
    ]
    compared = "".join(
        f"<li><b>{escape(label.strip())}</b> {escape(line)}</li>" for label, line in words.differences(content, name)
    )
    differences = f'<ul class="differences">{compared}</ul>' if compared else ""
    return forest(rows, "s" if unit == "ms" else UNITS.get(unit, unit)) + differences


def _row(name: str, summary: Mapping[str, Any], varied: Mapping[str, Any] | None) -> Row:
    unit = summary["unit"]
    factor = {"ms": 0.001, "share": 100.0}.get(unit, 1.0)

    def scaled(limits: Any) -> tuple[float, float] | None:  # noqa: ANN401 - of JSON
        return None if not limits or limits[0] is None else (factor * limits[0], factor * limits[1])

    value, chance = words.value_of(summary), summary.get("by_chance")
    figure, _, rest = words.figure(summary, varied).partition(" | ")
    return Row(
        name,
        f"{escape(figure)}<span class='meaning'>{escape(rest)}</span>",
        None if value is None else factor * value,
        scaled(summary["ci95"]),
        scaled((varied["low"], varied["high"])) if varied else None,
        None if chance is None else factor * chance,
    )


def _reference(content: Content) -> str:
    """How the time is filled beside the reference; "" without one."""
    found = content.get("reference")
    if not found:
        return ""
    head, *_, distances = words.reference(content)
    tables = "".join(_beside(group, found["floor"]) for group in found["groups"])
    return (
        '<section aria-labelledby="reference-title"><h2 id="reference-title">Beside the reference</h2>'
        f"<p class='note'>{escape(head[1])}. Distances {escape(distances[1])}.</p>{tables}</section>"
    )


def _beside(group: Mapping[str, Any], floor: Any) -> str:  # noqa: ANN401 - of JSON
    rows = []
    for name, row in group["rows"].items():
        unit = row["run"]["unit"]
        cells = [
            f"{words.number(of['mean'], unit)}{words.limits(of['ci95'], unit)}" for of in (row["run"], row["reference"])
        ]
        verdict = "they differ" if words.is_apart(row["difference"]) else "not told apart"
        rows.append((words.ROW_NAMES[name], [*cells, verdict]))
    apart = facts(
        (f"{side} after {'AB'[side == 'A']}", escape(words.distances(told, floor)))
        for side, told in group["floor_transfers"].items()
    )
    title = f"<h3>{escape(group['name'])}</h3>" if group["name"] else ""
    return f"{title}{table(('measure', 'here', 'reference', 'verdict'), rows)}{apart}"
