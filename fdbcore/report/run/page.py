"""The page of a run, index.html: its figures, the worst moments to listen to, and a list of all calls.

It is one file that needs no network. Audio is linked, or embedded as clips, and loads only when it is played.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
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
from fdbcore.recording.reader import Recording
from fdbcore.report.call import sections
from fdbcore.report.call.audio import CLIP_TYPE, audio_url, clip
from fdbcore.report.format import scaled
from fdbcore.report.glossary import terms
from fdbcore.report.groups.section import groups_of_calls
from fdbcore.report.html.templates import INDEX, embedded_json, render
from fdbcore.report.run import agent_logs
from fdbcore.report.run import findings as corpus_findings
from fdbcore.report.run import gates as corpus_gates
from fdbcore.report.run import health as corpus_health
from fdbcore.report.run import sections as corpus_sections
from fdbcore.report.run import systems as system_table
from fdbcore.sources.recorded import changed_source, is_playable
from fdbcore.types import TurnSettings, ticks_to_s

CLIPS: Final = "clips"


@dataclass(frozen=True, slots=True)
class PageParts:
    """What a page shows. audio: players and links to audio. words: what was said. embed_clips: the page contains the
    clips of the worst moments."""

    audio: bool = True
    words: bool = True
    embed_clips: bool = False


@dataclass(slots=True)
class ClipCounts:
    """What can be played on a page: the moments listed, how many are audible, and the calls without audio, with why."""

    moments: int = 0
    audible: int = 0
    silent: dict[str, str] = field(default_factory=dict)


def write_index(run: Survey, shown: PageParts = PageParts(), heard: ClipCounts | None = None) -> Path:
    """Write index.html into the folder of the run and return its path. heard: notes what can be played on it.

    Raises RecordingError if it cannot be written.
    """
    path = run.corpus.path / INDEX
    write_text(path, page(run, shown, heard or ClipCounts()))
    return path


def page(run: Survey, shown: PageParts, heard: ClipCounts) -> str:
    """The whole page."""
    sounds, compared = _Sounds(run.corpus.path, shown, heard), systems(run)
    settings = TurnSettings(**run.corpus.settings["turns"]) if run.corpus.settings else TurnSettings()

    def page_of(call: Call) -> str | None:
        return page_address(run.corpus.path, call.path)

    return render(
        "index.html",
        title=corpus_sections.title(run),
        facts=corpus_sections.header(run),
        gates=corpus_gates.banner(run.gated) if run.gated else None,
        findings=corpus_findings.listed(run, page_of),
        noticed=corpus_sections.noticed(run),
        remarks=corpus_sections.remarks(run.corpus.path, cautions(measures_by_system(run, compared))),
        evidence=corpus_sections.evidence(run),
        terms=terms(settings),
        footer=corpus_sections.footer(run),
        calls=_list(run, sounds),
        scored=bool(run.pooled),
        **(_scored(run, compared, settings, sounds, page_of) if run.pooled else {}),
    )


def _scored(
    run: Survey,
    compared: Sequence[SystemCalls],
    settings: TurnSettings,
    sounds: _Sounds,
    page_of: Callable[[Call], str | None],
) -> dict[str, Any]:
    """The values that the page needs only if some call is scored."""
    worst, absent = corpus_sections.moments(run, settings, sounds.of_moment, sounds.page_of, sounds.words)
    return {
        "health": corpus_health.panel(run, page_of),
        "logs": agent_logs.section(run, page_of),
        "lead": f"{len(compared)} systems. Each row counts only that system's calls."
        if compared
        else corpus_sections.lead(run),
        "systems": system_table.section(compared) if compared else None,
        "figures": None if compared else corpus_sections.figures(run, settings),
        "worst": worst,
        "absent": absent,
        "groups": groups_of_calls(run, sounds.place(run.corpus.path)),
        "charts": corpus_sections.charts(run, settings),
        "intervals": sections.intervals(run.measures),
        "measures": sections.measures(run.measures, settings),
    }


class _Audio(NamedTuple):
    """The audio of a call: its address; or the codecs that no browser plays; or why there is none (silent)."""

    silent: str | None = None
    address: str | None = None
    codecs: str | None = None


def _audio_of(recording: Recording, folder: Path) -> _Audio:
    if (silent := changed_source(recording)) is not None:
        return _Audio(silent)
    if is_playable(recording):
        return _Audio(address=audio_url(recording, folder))
    return _Audio(codecs=", ".join(dict.fromkeys(file["codec"] for file in recording.source_files)))


class _Sounds:
    """Finds the audio of calls and moments, as far as the page may show it."""

    def __init__(self, folder: Path, shown: PageParts, heard: ClipCounts) -> None:
        self.words = shown.words
        self.heard = heard
        self._folder = folder
        self._shown = shown
        self._known: dict[str, _Audio] = {}

    def _audio(self, call: Call) -> _Audio:
        if call.name not in self._known:
            self._known[call.name] = known = _audio_of(call.recording, self._folder)
            if known.silent is not None:
                self.heard.silent[call.name] = known.silent
        return self._known[call.name]

    def silent(self, call: Call) -> str | None:
        """Why a call has no audio; None if it has, or if the page shows no audio."""
        return self._audio(call).silent if self._shown.audio else None

    def unplayable(self, call: Call) -> str | None:
        """Why a browser cannot play a call that has audio, and what helps; None if it can."""
        if not self._shown.audio or self._shown.embed_clips or (codecs := self._audio(call).codecs) is None:
            return None
        return f"browsers cannot play its source ({codecs}); its own page, once written, has playable audio"

    def of_call(self, row: CallRow) -> str | None:
        """The address of the audio of a whole call; None if a browser cannot play it."""
        if not self._shown.audio or self._shown.embed_clips or row.length_s is None:
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
        if not self._shown.embed_clips and address is not None:
            return address, ticks_to_s(start), ticks_to_s(end)
        try:
            return self._address(found, clip(found.call.recording, start, end)), 0.0, ticks_to_s(end - start)
        except FdbError as error:
            self.heard.silent[found.call.name] = why = str(error)
            self._known[found.call.name] = _Audio(why)
            return None

    def _address(self, found: CallMoment, cut: bytes) -> str:
        if self._shown.embed_clips:
            return f"data:{CLIP_TYPE};base64,{base64.b64encode(cut).decode('ascii')}"
        path = self._folder / CLIPS / f"{found.call.name}-{found.moment.start_tick}.webm"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(cut)
        return quote(f"{CLIPS}/{path.name}")

    def place(self, path: Path) -> str:
        """A path, or only its name if the page shows no audio."""
        return str(path) if self._shown.audio else path.resolve().name

    def page_of(self, found: CallMoment) -> str | None:
        """The address of the moment in the page of its call; None if that page does not exist."""
        page = page_address(self._folder, found.call.path)
        return page and f"{page}#t={ticks_to_s(found.moment.start_tick):g}"


def page_address(folder: Path, call: Path) -> str | None:
    """The address of the page of a call, for a page in `folder`; None if it does not exist."""
    return quote(f"{call.relative_to(folder).as_posix()}/{REPORT}") if (call / REPORT).is_file() else None


def link_pages(folder: Path, calls: Iterable[Path]) -> None:
    """Update an existing index.html so that its list links the new pages of these calls."""
    path = folder / INDEX
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    found = re.search(r'(?<=<script type="application/json" id="data">).*?(?=</script>)', text, re.DOTALL)
    if found is None:
        return
    listed = json.loads(found[0])
    pages = {call.name: page_address(folder, call) for call in calls}
    for each in listed["calls"]:
        if each["name"] in pages:
            each["page"] = pages[each["name"]]
    write_text(path, f"{text[: found.start()]}{embedded_json(listed)}{text[found.end() :]}")


def _list(run: Survey, sounds: _Sounds) -> dict[str, Any]:
    """The data of the list of calls, as JSON values."""
    columns = list(dict.fromkeys(name for row in run.rows for name in row.call.columns))
    return {
        "run": sounds.place(run.corpus.path),
        "columns": columns,
        "figures": [_column(name, column) for name, column in measure_columns().items()],
        "calls": [_listed(row, columns, sounds, run.corpus.path) for row in run.rows],
        "gates": corpus_gates.columns(run.gated) if run.gated else None,
    }


def _column(name: str, column: Column) -> dict[str, Any]:
    """The column of a measure. is: its cells are a "share" (count, n), a "count" of items, or a "time" in seconds.

    first: the direction of the first sorting, 1 for ascending, so that the worst calls come first.
    """
    measure = MEASURES[name]
    kind = "count" if column.is_count else "share" if measure.quantity == "share" else "time"
    return {"title": column.title, "is": kind, "first": 1 if measure.better == "more" else -1}


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


def _listed(row: CallRow, columns: Sequence[str], sounds: _Sounds, folder: Path) -> dict[str, Any]:
    call, worst = row.call, row.worst
    known: dict[str, Any] = {
        "name": call.name,
        "status": call.status,
        "columns": [call.columns.get(c, "") for c in columns],
    }
    if call.unscored is not None:
        return known | {"why": corpus_sections.in_short(call, call.unscored)}
    known |= {
        "s": row.length_s,
        "figures": [_figure(row, name, column) for name, column in measure_columns().items()],
        "page": page_address(folder, call.path),
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
