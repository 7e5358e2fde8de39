"""A comparison as Markdown for a comment on a pull request: eleven lines, and a table of all measures, folded.

GitHub and GitLab render it. Names of calls and files stand in code, so that nothing in them is markup, a mention or a
reference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from fdbcore.analysis.call_verdicts import VERDICTS
from fdbcore.analysis.comparison import ComparedCalls, ComparedMeasure, RunComparison
from fdbcore.analysis.differences import Verdict
from fdbcore.analysis.gate_moments import GateMoment
from fdbcore.analysis.gate_results import DecidedGates, GateResult
from fdbcore.report.comparison import limits, phrases
from fdbcore.report.format import NONE, amount, brief, brief_step, clock_text, headline, p_value
from fdbcore.report.format import limits as limits_text
from fdbcore.report.html.templates import COMPARE, INDEX
from fdbcore.report.markdown import code, escaped

_MARK: Final = "[//]: # (a comment of fdbcore)"
"""The last line of each comment: the address of a link that nothing has, so no page shows it."""
FORM: Final = rf"(?s)### .*\n{re.escape(_MARK)}\n\Z"
CHANGES: Final[Collection[Verdict]] = ("worse", "better", "different")
MOST_MOMENTS: Final = 12
MOST_NOTICES: Final = 3


def comment(document: RunComparison, folder: Path, link: str, place: Path) -> str:
    """The Markdown.

    folder: that of the run, which has the pages. place: the folder of the comment. link: the address at which that of
    the run stands, ending in /; without it, links are relative to `place`. Another address is that of an archive with
    the pages: links lead to it, and say which page to open.
    """
    pages = _Pages(folder, link, place)
    lines = [f"### {_heading(document)}", _sides(document), *_verdicts(document)]
    lines += [*_moments(document, pages), *_longest(document, pages), *_notices(document), _pages(document, pages)]
    tables = [_table(compared) for compared in document["comparisons"] if compared["measures"]] or [
        _gates(document.get("gates"))
    ]
    return "\n\n".join(["\n".join([f"{lines[0]}\n", *lines[1:]]), *filter(None, tables), _MARK]) + "\n"


def comment_of_error(message: str) -> str:
    """A comment that says why nothing was compared or decided."""
    return f"### {phrases.SIGNS['worse']} Nothing could be compared\n\n{escaped(message)}\n\n{_MARK}\n"


class _Pages:
    """Links to the pages of a run."""

    def __init__(self, folder: Path, link: str, place: Path) -> None:
        self.archive = "" if link.endswith("/") else _address(link)
        self.folder = folder
        self._base = _address(link) if link.endswith("/") else ""
        self._place = place

    def to(self, text: str, path: Path, time: str = "") -> str:
        """A link to a page of the run; only the text if the pages are in an archive."""
        if self.archive:
            return text
        inside = path.relative_to(self.folder) if self._base else Path(os.path.relpath(path, self._place))
        return f"[{text}](<{self._base}{quote(inside.as_posix())}{f'#{time}' if time else ''}>)"


def _address(link: str) -> str:
    """An address that can end no link early."""
    return quote(link, safe="/:?#[]@!$&'()*+,;=%-._~")


def _heading(document: RunComparison) -> str:
    if gates := document.get("gates"):
        status = phrases.run_status(gates)
        return f"{limits.SIGNS[status]} {escaped(phrases.gates_verdict(gates))}"
    found = phrases.verdicts(document)
    told = [f"{found.count(verdict)} {verdict}" for verdict in phrases.SIGNS if verdict in found]
    return f"{phrases.SIGNS[phrases.verdict_of_all(document)]} Measures: {', '.join(told)}"


def _sides(document: RunComparison) -> str:
    told = " against ".join(
        f"{code(Path(described['path']).name)} ({phrases.scored_calls(described)})"
        for _, described in phrases.sides(document)
    )
    by = f", by {code(document['by'])}" if document["by"] else ""
    paired = {phrases.pairing(compared) for compared in document["comparisons"]}
    return f"{told}{by}" + (f"; {escaped(paired.pop())}" if len(paired) == 1 else "") + "\n"


def _verdicts(document: RunComparison) -> Iterator[str]:
    """A line for each verdict, with its measures; of those that changed with their figures, and the undecided gates.

    Then what other gates passed beside, unless the heading says it.
    """
    gates = document.get("gates")
    for verdict in phrases.SIGNS:
        found = [
            _changed(row, compared) if verdict in CHANGES else _label(row["measure"])
            for compared in document["comparisons"]
            for row in compared["measures"]
            if row["verdict"] == verdict
        ]
        if verdict == "worse":
            found += [escaped(phrases.longer(each, of)) for of in document["comparisons"] for each in of["longer"]]
        if verdict == "undecided" and gates:
            found += [_open(gate) for gate in gates["results"] if gate["status"] == "cannot tell"]
        if found:
            yield f"- **{verdict}**: {'; '.join(dict.fromkeys(found))}"
    if gates and phrases.run_status(gates) != "passed" and (but := phrases.passed_beside(gates)):
        yield f"- **passed, but**: {escaped('; '.join(but))}"


def _label(measure: str) -> str:
    return escaped(phrases.label(measure))


def _changed(row: ComparedMeasure, compared: ComparedCalls) -> str:
    unit = phrases.unit_of(row)
    now, before = (amount(headline(side), unit) for side in (row["a"], row["b"]))
    about = f" ({escaped(compared['title'])})" if compared["title"] else ""
    return f"{_label(row['measure'])}{about} {now}, was {before}"


def _open(gate: GateResult) -> str:
    needed = f": about {gate['calls_needed']:,} calls would decide it" if gate["calls_needed"] else ""
    return f"gate {_label(gate['measure'])}, {escaped(phrases.whole_limit(gate))}{needed}"


def _moments(document: RunComparison, pages: _Pages) -> Iterator[str]:
    if found := phrases.moments_of(document):
        told = [_moment(each, pages) for each in found[:MOST_MOMENTS]]
        if len(found) > MOST_MOMENTS:
            told.append(pages.to(f"and {len(found) - MOST_MOMENTS} more", pages.folder / COMPARE))
        yield f"- **listen**: {'; '.join(told)}"


def _longest(document: RunComparison, pages: _Pages) -> Iterator[str]:
    for compared in document["comparisons"]:
        if found := phrases.longest(compared):
            told = [_moment(moment, pages) for moments in found.values() for moment in moments]
            yield f"- **longest beside the baseline, may be chance**: {'; '.join(told)}"


def _moment(moment: GateMoment, pages: _Pages) -> str:
    page, _, time = moment["page"].rpartition("#")
    at = f"{code(moment['call'])} {clock_text(moment['start_s'])}"
    beside = f" ({escaped(told)})" if (told := phrases.beside(moment)) else ""
    return f"{pages.to(at, Path(page), time)} {escaped(moment['text'])}{beside}"


def _notices(document: RunComparison) -> Iterator[str]:
    found = [*phrases.notices(document), *document.get("shared", ())]
    told = [escaped(text) for text in found[:MOST_NOTICES]]
    if len(found) > MOST_NOTICES:
        told.append(f"and {len(found) - MOST_NOTICES} more")
    if told:
        yield f"- **note**: {'; '.join(told)}"


def _pages(document: RunComparison, pages: _Pages) -> str:
    folder = pages.folder
    names = [("comparison", COMPARE), *([("all calls", INDEX)] if (folder / INDEX).is_file() else [])]
    if pages.archive:
        listed = " or ".join(f"{code(name)} ({title})" for title, name in names)
        return f"- **report**: [download it](<{pages.archive}>), then open {listed}"
    return f"- **report**: {', '.join(pages.to(title, folder / name) for title, name in names)}"


def _table(compared: ComparedCalls) -> str:
    """The measures of a comparison, what changed first."""
    a, b = compared["a"], compared["b"]
    order = list(phrases.SIGNS)
    rows = [_row(row) for row in sorted(compared["measures"], key=lambda row: order.index(row["verdict"]))]
    title = f"**{escaped(compared['title'])}**\n\n" if compared["title"] else ""
    head = ("verdict", "measure", code(a["name"]), code(b["name"]), "difference, 95 % interval", "p (Holm)")
    return f"{title}<details><summary>All measures</summary>\n\n{_markdown(head, rows)}\n\n</details>"


def _row(row: ComparedMeasure) -> Sequence[str]:
    unit, told, value = phrases.unit_of(row), row["reason"], NONE
    if row["value"] is not None:
        told = row["verdict"]
        value = f"{brief_step(row['value'], unit, '+')} {limits_text(row['interval'], unit, '+')}".strip()
    verdict, measure = f"{phrases.SIGNS[row['verdict']]} {escaped(told)}", escaped(phrases.in_table(row["measure"]))
    return (verdict, measure, *phrases.sides_of(row, brief), value, p_value(row["p_holm"]) or NONE)


def _gates(gates: DecidedGates | None) -> str:
    rows = [
        (
            f"{limits.SIGNS[gate['status']]} {escaped(phrases.gate_but(gate) or VERDICTS[gate['status']])}",
            _label(gate["measure"]),
            escaped(phrases.whole_limit(gate)),
            escaped("; ".join(filter(None, [phrases.gate_basis(gate), gate.get("lines")]))),
        )
        for gate in (phrases.in_order(gates) if gates else [])
    ]
    return _markdown(("verdict", "measure", "limit", "this run"), rows) if rows else ""


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
