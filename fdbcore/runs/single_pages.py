"""Writes the pages of single calls of a run: those that somebody asks for, or that a moment needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.kept import kept
from fdbcore.analysis.score import check, read_scores
from fdbcore.errors import AudioError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import REPORT
from fdbcore.report.call.audio import call_audio
from fdbcore.report.call.document import Document, page_document
from fdbcore.report.call.page import BIT_RATES, MOST_BYTES, CallPage, write_alone, write_report
from fdbcore.report.html.values import WHOLE, PageParts
from fdbcore.runs.watch import Watch
from fdbcore.sources.recorded import changed_source


def write_missing_pages(
    run: Run, moments: Iterable[Mapping[str, object]], watch: Watch, shown: PageParts = WHOLE
) -> None:
    """Write the pages of those calls of a run that have any of these moments, and no page yet."""
    names = {moment["call"] for moment in moments}
    calls = [call for call in run.calls if call.name in names and not (call.path / REPORT).is_file()]
    write_single_pages(run, calls, watch, shown)


def write_single_pages(
    run: Run,
    calls: Sequence[Call],
    watch: Watch,
    shown: PageParts = WHOLE,
    on_page: Callable[[str], None] = lambda told: None,
) -> None:
    """Write the page of each of these calls, with the verdict of the gates that the run was last given.

    watch: is warned of a page without audio. on_page: called with the path of each page, and what is to be said of it.
    With `shown.embed`, AudioError for one that would be too long, or whose audio is gone.
    """
    gated = kept(run).gated(Run(run.path, calls))
    verdicts = gated.calls if gated else {}
    for call in calls:
        reading, verdict = call.recording, verdicts.get(call.name)
        check(reading)
        if shown.embed:
            page = CallPage(words=shown.words, verdict=verdict, columns=call.columns)
            on_page(_write_alone(reading, page_document(reading, read_scores(reading)), page))
            continue
        silent = call_audio(reading, reading.path).silent if shown.audio else None
        if silent is not None:
            watch.warn(f"{call.name}: a page without audio: {silent}")
        page = CallPage(shown.audio, shown.words, silent, verdict=verdict, columns=call.columns)
        on_page(str(write_report(reading, page_document(reading, read_scores(reading)), page)))


def _write_alone(reading: Reading, content: Document, shown: CallPage) -> str:
    """Write the page of a call that can be sent alone; its path, its size, and how its audio sounds."""
    if (changed := changed_source(reading)) is not None:
        raise AudioError(f"{reading.name}: {changed}")
    path, bit_rate = write_alone(reading, content, shown)
    lower = f", to stay below {MOST_BYTES / 1e6:g} MB" if bit_rate < BIT_RATES[0] else ""
    return f"{path} ({path.stat().st_size / 1e6:.1f} MB, audio at {bit_rate / 1000:g} kb/s{lower})"
