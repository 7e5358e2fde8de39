"""Writes what a run shows: its tables, the pages of its calls, index.html, and the lists of moments that it opens."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from fdbcore.analysis.call_verdicts import CallVerdict
from fdbcore.analysis.corpus import Run
from fdbcore.analysis.kept import forget_all_but, kept
from fdbcore.analysis.score import read_scores
from fdbcore.analysis.survey import Survey
from fdbcore.errors import FdbError, RecordingError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import write_json
from fdbcore.recording.run import SUMMARY, is_replayed
from fdbcore.report.call.audio import CallAudio, call_audio
from fdbcore.report.call.document import page_document
from fdbcore.report.call.moment_lists import MomentList, moment_lists, titles
from fdbcore.report.call.page import CallPage, write_report
from fdbcore.report.call.shared import PAGES, share
from fdbcore.report.comparison.page import COMPARE, write_comparison
from fdbcore.report.html.values import WHOLE, PageParts
from fdbcore.report.listening import ClipCounts
from fdbcore.report.run.page import write_index
from fdbcore.report.run.tables import write_tables
from fdbcore.runs.replay_summary import summary_of
from fdbcore.runtime.executor import Executor, Workers, results_in_order
from fdbcore.runtime.whole_files import whole_file

if TYPE_CHECKING:
    from fdbcore.analysis.statement_types import Sensitivity

OnCall: TypeAlias = Callable[[str, int, int], None]
"""Called with what is written ("tables", "pages"), the number of calls that are done, and that of all."""

_OPENS: Final = 'moments("{}", [\n'
_CLOSES: Final = "]);\n"


def write_results(
    run: Run,
    shown: PageParts = WHOLE,
    heard: ClipCounts | None = None,
    executor: Executor | None = None,
    on_call: OnCall = lambda what, done, calls: None,
    detectors: Sensitivity | None = None,
) -> Survey:
    """Write the tables of a run, the pages of its calls, and index.html; return the survey that they are made from.

    A replayed run gets its summary.json, too. The comparison and the verdicts that the run was last given are shown,
    with compare.html; they are removed if they were made from other scores. heard: notes what can be played on
    index.html. executor: writes many pages; by default workers of this machine. detectors: what others make of the
    run. Raises RecordingError if a file cannot be written. A call that cannot be read has no page.
    """
    given = kept(run)
    forget_all_but(given, run.path)
    gated = given.gated(run)
    found = write_tables(run, lambda number, calls: on_call("tables", number + 1, calls), gated)
    verdicts = gated.calls if gated else {}
    listed = write_call_pages(run, shown, executor, lambda done, calls: on_call("pages", done, calls), verdicts)
    write_index(found, shown, heard, listed, given.comparison, detectors)
    if given.is_empty:
        (run.path / COMPARE).unlink(missing_ok=True)
    else:
        write_comparison(given, run, shown)
    if is_replayed(run.path):
        write_json(run.path / SUMMARY, summary_of(found))
    return found


def write_call_pages(
    run: Run,
    shown: PageParts = WHOLE,
    executor: Executor | None = None,
    on_call: Callable[[int, int], None] = lambda done, calls: None,
    verdicts: Mapping[str, CallVerdict] = MappingProxyType({}),
) -> dict[str, str]:
    """Write the page of each call of a run, and the lists of moments of all; the titles of these by their addresses.

    shown: without audio, pages have no paths of files either. verdicts: what gates say of each call, by its
    name.
    """
    share(run.path)
    found: dict[str, str] = {}
    work = partial(_write_page, parts=shown)
    calls = [(call.path, call.unscored, verdicts.get(call.name)) for call in run.calls]
    written = results_in_order(executor or Workers(), work, calls)
    with _lists(run.path / PAGES) as add:
        for number, (call, lists) in enumerate(zip(run.calls, written, strict=True)):
            found |= titles(lists)
            add(call.name, lists)
            on_call(number + 1, len(run.calls))
    return found


def _write_page(call: tuple[Path, str | None, CallVerdict | None], parts: PageParts) -> Mapping[str, MomentList]:
    """Write the page of the recording in a folder, and return its lists; none if it cannot be read or is not scored.

    A call that the run does not score may have a recording that an earlier replay made: its page has no figures.
    """
    path, unscored, verdict = call
    try:
        reading = Reading(path)
        scores = read_scores(reading)
        if unscored is not None:
            scores = {**scores, "measures": {}, "findings": [], "unscored": unscored}
        content = page_document(reading, scores)
        heard = call_audio(reading, path) if parts.audio else CallAudio()
        lists = moment_lists(reading) if content["unscored"] is None else {}
    except FdbError:  # the survey says so
        return {}
    shown = CallPage(parts.audio, parts.words, heard.silent, heard.unplayable, is_in_run=True, verdict=verdict)
    write_report(reading, content, shown, lists)
    return lists


@contextmanager
def _lists(folder: Path) -> Iterator[Callable[[str, Mapping[str, MomentList]], None]]:
    """A function that adds the lists of a call to those of the run, a script for each measure in `folder`.

    At the end, lists there that no call has any more are removed.

    A page that is opened from a disk may load a script, but no JSON. The lists of thousands of calls do not fit into
    memory.
    """
    files: dict[str, BinaryIO] = {}

    def add(call: str, lists: Mapping[str, MomentList]) -> None:
        for name, found in lists.items():
            if name not in files:
                files[name] = opened.enter_context(whole_file(folder / f"{name}.js"))
                files[name].write(_OPENS.format(name).encode())
            files[name].write(_compact([call, found.items, found.others]) + b",\n")

    try:
        with ExitStack() as opened:
            yield add
            for file in files.values():
                file.write(_CLOSES.encode())
        _remove_others(folder, files)
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be written: {error.strerror}") from error


def _remove_others(folder: Path, names: Collection[str]) -> None:
    """Remove the lists in `folder` that have none of these names."""
    for script in folder.glob("*.js"):
        if script.stem not in names:
            with open(script, "rb") as file:
                is_list = file.readline() == _OPENS.format(script.stem).encode()
            if is_list:
                script.unlink()


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
