"""The page of a run, index.html: its figures, the worst moments to listen to, and a list of all calls.

It is one file that needs no network. Audio is linked, or embedded as clips, and loads only when it is played.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fdbcore.analysis.cautions import cautions
from fdbcore.analysis.corpus import Call
from fdbcore.analysis.survey import CallMoment, CallRow, Survey, clip_ticks
from fdbcore.analysis.systems import SystemCalls, measures_by_system, systems
from fdbcore.errors import FdbError
from fdbcore.measures.catalogue import MEASURES
from fdbcore.measures.catalogue import columns as measure_columns
from fdbcore.measures.measure import Column
from fdbcore.recording.files import REPORT, write_text
from fdbcore.report.call import sections
from fdbcore.report.call.audio import CLIP_TYPE, CallAudio, call_audio, clip
from fdbcore.report.call.shared import PAGES
from fdbcore.report.format import scaled
from fdbcore.report.glossary import terms
from fdbcore.report.groups.section import groups_of_calls
from fdbcore.report.html.templates import INDEX, render
from fdbcore.report.html.values import WHOLE, Links, PageParts
from fdbcore.report.run import agent_logs
from fdbcore.report.run import findings as corpus_findings
from fdbcore.report.run import gates as corpus_gates
from fdbcore.report.run import health as corpus_health
from fdbcore.report.run import sections as corpus_sections
from fdbcore.report.run import systems as system_table
from fdbcore.types import TurnSettings, ticks_to_s

CLIPS: Final = "clips"


@dataclass(slots=True)
class ClipCounts:
    """What can be played on a page: the moments listed, how many are audible, and the calls without audio, with why."""

    moments: int = 0
    audible: int = 0
    silent: dict[str, str] = field(default_factory=dict)


def write_index(
    run: Survey,
    shown: PageParts = WHOLE,
    heard: ClipCounts | None = None,
    titles: Mapping[str, str] | None = None,
) -> Path:
    """Write index.html into the folder of the run and return its path.

    heard: notes what can be played on it. titles: of the run's lists of moments, by their addresses. A page that
    contains its audio has no links to other pages, and is named after the folder instead. Raises RecordingError if it
    cannot be written.
    """
    path = run.corpus.path / (f"{run.corpus.path.resolve().name}.html" if shown.embed else INDEX)
    write_text(path, page(run, shown, heard or ClipCounts(), titles or {}))
    return path


def page(run: Survey, shown: PageParts, heard: ClipCounts, titles: Mapping[str, str]) -> str:
    """The whole page."""
    sounds, compared = _Sounds(run.corpus.path, shown, heard), systems(run)
    link = Links(titles)
    settings = TurnSettings(**run.corpus.settings["turns"]) if run.corpus.settings else TurnSettings()

    return render(
        "index.html",
        title=corpus_sections.title(run),
        is_alone=shown.embed,
        facts=corpus_sections.header(run),
        gates=corpus_gates.banner(run.gated) if run.gated else None,
        findings=corpus_findings.listed(run, sounds.page_of),
        noticed=corpus_sections.noticed(run),
        remarks=corpus_sections.remarks(run.corpus.path, cautions(measures_by_system(run, compared))),
        evidence=corpus_sections.evidence(run),
        terms=terms(settings),
        footer=corpus_sections.footer(run),
        calls=_list(run, sounds, titles),
        scored=bool(run.pooled),
        **(_scored(run, compared, settings, sounds, link) if run.pooled else {}),
    )


def _scored(
    run: Survey,
    compared: Sequence[SystemCalls],
    settings: TurnSettings,
    sounds: _Sounds,
    link: Links,
) -> dict[str, Any]:
    """The values that the page needs only if some call is scored."""
    worst, absent = corpus_sections.moments(run, settings, sounds.of_moment, sounds.page_at, sounds.words, link)
    return {
        "health": corpus_health.panel(run, sounds.page_of),
        "logs": agent_logs.section(run, link, sounds.page_of),
        "lead": f"{len(compared)} systems. Each row counts only that system's calls."
        if compared
        else corpus_sections.lead(run),
        "systems": system_table.section(compared, link) if compared else None,
        "figures": None if compared else corpus_sections.figures(run, settings, link),
        "worst": worst,
        "absent": absent,
        "groups": groups_of_calls(run, sounds.place(run.corpus.path)),
        "charts": corpus_sections.charts(run, settings),
        "intervals": sections.intervals(run.measures),
        "measures": sections.measures(run.measures, settings, link),
    }


class _Sounds:
    """Finds the audio and the pages of calls and moments, as far as the page may show them."""

    def __init__(self, folder: Path, shown: PageParts, heard: ClipCounts) -> None:
        self.words = shown.words
        self.heard = heard
        self._folder = folder
        self._shown = shown
        self._known: dict[str, CallAudio] = {}

    def _audio(self, call: Call) -> CallAudio:
        if call.name not in self._known:
            self._known[call.name] = known = call_audio(call.recording, self._folder)
            if known.silent is not None:
                self.heard.silent[call.name] = known.silent
        return self._known[call.name]

    def silent(self, call: Call) -> str | None:
        """Why a call has no audio; None if it has, or if the page shows no audio."""
        return self._audio(call).silent if self._shown.audio else None

    def unplayable(self, call: Call) -> str | None:
        """Why a browser cannot play a call that has audio, and what helps; None if it can."""
        return self._audio(call).unplayable if self._shown.audio and not self._shown.embed else None

    def of_call(self, row: CallRow) -> str | None:
        """The address of the audio of a whole call; None if a browser cannot play it."""
        if not self._shown.audio or self._shown.embed or row.length_s is None:
            return None
        return self._audio(row.call).address

    def of_moment(self, found: CallMoment) -> tuple[str, float, float] | None:
        """The address of the audio of a moment, and the start and end (s) to play; None if there is no audio.

        It is a part of the call's own audio, or a clip: embedded if requested, or in the folder of clips if browsers
        cannot play the call.
        """
        self.heard.moments += 1
        played = None if not self._shown.audio or self.silent(found.call) else self._played(found)
        self.heard.audible += played is not None
        return played

    def _played(self, found: CallMoment) -> tuple[str, float, float] | None:
        start, end = clip_ticks(found.moment, found.n_ticks)
        address = self._audio(found.call).address
        if not self._shown.embed and address is not None:
            return address, ticks_to_s(start), ticks_to_s(end)
        try:
            return self._address(found, clip(found.call.recording, start, end)), 0.0, ticks_to_s(end - start)
        except FdbError as error:
            self.heard.silent[found.call.name] = why = str(error)
            self._known[found.call.name] = CallAudio(why)
            return None

    def _address(self, found: CallMoment, cut: bytes) -> str:
        if self._shown.embed:
            return f"data:{CLIP_TYPE};base64,{base64.b64encode(cut).decode('ascii')}"
        path = self._folder / CLIPS / f"{found.call.name}-{found.moment.start_tick}.webm"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(cut)
        return quote(f"{CLIPS}/{path.name}")

    def place(self, path: Path) -> str:
        """A path, or only its name if the page shows no audio."""
        return str(path) if self._shown.audio else path.resolve().name

    def page_of(self, call: Call) -> str | None:
        """The address of the page of a call; None if there is none, or if this page is sent without it."""
        has_page = not self._shown.embed and (call.path / REPORT).is_file()
        return quote(f"{call.path.relative_to(self._folder).as_posix()}/{REPORT}") if has_page else None

    def page_at(self, found: CallMoment) -> str | None:
        """The address of a moment in the page of its call."""
        page = self.page_of(found.call)
        return page and f"{page}#t={ticks_to_s(found.moment.start_tick):g}"


def _list(run: Survey, sounds: _Sounds, titles: Mapping[str, str]) -> dict[str, Any]:
    """The data of the list of calls, and of the lists of moments, as JSON values."""
    columns = list(dict.fromkeys(name for row in run.rows for name in row.call.columns))
    return {
        "run": sounds.place(run.corpus.path),
        "columns": columns,
        "lists": {"folder": PAGES, "titles": titles},
        "figures": [_column(name, column) for name, column in measure_columns().items()],
        "calls": [_listed(row, columns, sounds) for row in run.rows],
        "gates": corpus_gates.columns(run.gated) if run.gated else None,
    }


def _column(name: str, column: Column) -> dict[str, Any]:
    """The column of a measure. is: its cells are a "share" (count, n), a "count" of items, or a "time" in seconds.

    first: the direction of the first sorting, 1 for ascending, so that the worst calls come first.
    """
    measure = MEASURES[name]
    kind = "count" if column.is_count else "share" if measure.quantity == "share" else "time"
    return {"measure": name, "title": column.title, "is": kind, "first": 1 if measure.better == "more" else -1}


def _figure(row: CallRow, name: str, column: Column) -> Any:  # noqa: ANN401 - JSON
    """The cell of a column for a call; None if the call does not have the measure."""
    if name not in row.figures:
        return None
    value, n = row.figures[name]
    if column.is_count:
        return n
    if MEASURES[name].quantity == "share":
        return [row.counts[name], n]
    return None if value is None else scaled(value, MEASURES[name].unit)


def _listed(row: CallRow, columns: Sequence[str], sounds: _Sounds) -> dict[str, Any]:
    call, worst = row.call, row.worst
    known: dict[str, Any] = {
        "name": call.name,
        "status": call.status,
        "columns": [call.columns.get(c, "") for c in columns],
    }
    if call.unscored is not None:
        return known | {"why": corpus_sections.in_short(call, call.unscored), "page": sounds.page_of(call)}
    known |= {
        "s": row.length_s,
        "figures": [_figure(row, name, column) for name, column in measure_columns().items()],
        "page": sounds.page_of(call),
        "audio": sounds.of_call(row),
        "unplayable": sounds.unplayable(call),
        "notes": _notes(row, sounds),
        **({"left_out": ", ".join(span.brief for span in row.left_out)} if row.left_out else {}),
    }
    if row.health is not None:
        known["verdict"] = row.health.verdict
        known["found"] = [[finding.id, finding.text] for finding in row.health.findings]
    if row.verdict is not None:
        known["gates"] = corpus_gates.listed(row.verdict)
    if worst is not None:
        known["worst"] = [worst.text, ticks_to_s(worst.start_tick), worst.severity]
    return known


def _notes(row: CallRow, sounds: _Sounds) -> list[str]:
    """The notes on a call, each once: damage may be both a warning and the reason."""
    silent = sounds.silent(row.call)
    found = [finding.text for finding in row.findings]
    texts = [*found, *filter(None, [row.call.reason]), *row.warnings, *([f"no audio: {silent}"] if silent else [])]
    return list(dict.fromkeys(corpus_sections.in_short(row.call, text) for text in texts))
