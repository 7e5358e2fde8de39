"""Writes the page of each call that a scorecard's cases were scored from, beside the scorecard.

    OUT/report.html         the scorecard; links calls/NAME.html
    OUT/calls/NAME.html     links pages/, ../report.html, and the audio of its recording by a relative path

So the folder of a scorecard can be moved together with its run; alone, its pages have all but the audio.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from fdbcore.analysis.score import read_scores
from fdbcore.errors import FdbError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import part_of, write_text
from fdbcore.report.call.audio import call_audio
from fdbcore.report.call.document import page_document
from fdbcore.report.call.page import CallPage, ScoredIn, page
from fdbcore.report.call.shared import share
from fdbcore.types.scorecard import ScoredCase, SuiteViews

CALLS: Final = "calls"


def write_scored_pages(
    views: SuiteViews, cases: Sequence[ScoredCase], out: Path, scorecard: str, show: Callable[[str], None]
) -> dict[str, str]:
    """Write the pages of the cases that have a recording; their addresses, relative to `out`, by recording.

    scorecard: the file in `out` that lists these cases in this order. A recording that cannot be read has no page.
    Pages of an earlier scoring are removed. Raises RecordingError if a file cannot be written.
    """
    numbers = {case.recording: number for number, case in reversed([*enumerate(cases)]) if case.recording}
    names = _names([*dict.fromkeys(case.recording for case in cases if case.recording)])
    if names:
        share(out)
    written: dict[str, str] = {}
    for done, (recording, name) in enumerate(names.items(), 1):
        show(f"pages: {done} of {len(names)} calls")
        number = numbers[recording]
        place = ScoredIn(out / CALLS, f"../{scorecard}#case={number}")
        try:
            html = _page(Path(recording), views, cases[number], place)
        except FdbError:  # the document of the suite says so
            continue
        write_text(part_of(out, CALLS, name), html)
        written[recording] = f"{CALLS}/{name}"
    for path in part_of(out, CALLS).glob("*.html"):
        if f"{CALLS}/{path.name}" not in written.values():
            path.unlink()
    return written


def _names(recordings: Sequence[str]) -> Mapping[str, str]:
    """A file name for each recording: its own name, with the number of its run before it if there are several runs."""
    runs = {run: number for number, run in enumerate(dict.fromkeys(Path(each).parent for each in recordings), 1)}
    return {
        each: f"{f'{runs[Path(each).parent]}-' if len(runs) > 1 else ''}{Path(each).name}.html" for each in recordings
    }


def _page(path: Path, views: SuiteViews, case: ScoredCase, place: ScoredIn) -> str:
    reading = Reading(path)
    heard = call_audio(reading, place.folder)
    shown = CallPage(silent=heard.silent, remarks=views.remarks(case), scored_in=place)
    return page(reading, page_document(reading, read_scores(reading)), shown)
