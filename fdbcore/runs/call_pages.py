"""Writes the page of each call of a run, and the lists of moments that the numbers on index.html open.

A page is kept as it is if nothing that it is made from has changed since; pages/made.json knows what that was.
"""

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

from fdbcore._version import __version__
from fdbcore.analysis.call_verdicts import CallVerdict
from fdbcore.analysis.corpus import Call, Run
from fdbcore.analysis.facts import Fact
from fdbcore.analysis.score import read_scores, unscored
from fdbcore.errors import FdbError, RecordingError, writes
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import REPORT, part_of, read_json, write_json
from fdbcore.recording.form import one_call
from fdbcore.report.call.audio import CallAudio, audio_url, call_audio, is_audible
from fdbcore.report.call.document import page_document
from fdbcore.report.call.moment_lists import MomentList, moment_lists, titles
from fdbcore.report.call.page import CallPage, write_report
from fdbcore.report.call.shared import PAGES, share, shared_names
from fdbcore.report.html.values import WHOLE, PageParts
from fdbcore.runtime.executor import Executor, Workers, results_in_order
from fdbcore.runtime.whole_files import whole_file
from fdbcore.sources.recorded import changed_source

LISTS: Final = Fact[Mapping[str, MomentList]](
    "lists",
    lambda reading: moment_lists(reading) if unscored(reading) is None else {},
    form=dict[str, MomentList],
)
"""The lists of moments of a call."""
MADE: Final = "made.json"
"""In the folder `pages`: what the page of each call was made from, and its file."""
_OPENS: Final = 'moments("{}", [\n'
_CLOSES: Final = "]);\n"


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
    before, made = _made(run.path), dict[str, str]()
    found: dict[str, str] = {}
    from_what = [_from_what(call, verdicts.get(call.name), shown) for call in run.calls]
    is_kept = [_is_kept(before.get(call.name), of, call, shown) for call, of in zip(run.calls, from_what, strict=True)]
    others = [
        (None if call.is_unreadable else call.path, call.unscored, verdicts.get(call.name), call.columns)
        for call, kept in zip(run.calls, is_kept, strict=True)
        if not kept
    ]
    written = results_in_order(executor or Workers(), partial(_write_page, parts=shown), others)
    with _lists(part_of(run.path, PAGES)) as add:
        for number, call in enumerate(run.calls):
            lists = _kept_lists(call) if is_kept[number] else next(written)
            found |= titles(lists)
            add(call.name, lists)
            if (state := _page_state(from_what[number], call)) is not None:
                made[call.name] = state
            on_call(number + 1, len(run.calls))
    if made != before:
        write_json(run.path / PAGES / MADE, made, in_one_line=True)
    return found


def _made(path: Path) -> Mapping[str, str]:
    """The origins of a run's pages; nothing if they are not known."""
    with suppress(RecordingError):
        found = read_json(path / PAGES / MADE)
        return found if isinstance(found, dict) else {}
    return {}


def _from_what(call: Call, verdict: CallVerdict | None, shown: PageParts) -> str | None:
    """The origin of a call's page; None without facts about it, so that it is always made."""
    if call.state is None:
        return None
    heard = (changed_source(call.recording), audio_url(call.recording, call.path)) if shown.audio else None
    parts = [
        __version__,
        shared_names(),
        repr(shown),
        call.unscored,
        repr(heard),
        repr(verdict),
        call.columns,
        call.state,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _page_state(from_what: str | None, call: Call) -> str | None:
    """The origin of a page, with the size and time of its file, which others may write too; None without one."""
    with suppress(OSError):
        stat = os.stat(f"{call.path}/{REPORT}")
        return from_what and f"{from_what} {stat.st_size} {stat.st_mtime_ns}"
    return None


def _is_kept(before: str | None, from_what: str | None, call: Call, shown: PageParts) -> bool:
    """True if the page of a call is there, with the audio that it plays, and would be made from the same again."""
    is_there = before is not None and before == _page_state(from_what, call)
    return is_there and (not shown.audio or is_audible(call.recording))


def _kept_lists(call: Call) -> Mapping[str, MomentList]:
    return call.fact(LISTS) if call.unscored is None else {}


def _write_page(
    call: tuple[Path | None, str | None, CallVerdict | None, Mapping[str, str]], parts: PageParts
) -> Mapping[str, MomentList]:
    """Write the page of the recording in a folder, and return its lists; none if it cannot be read or is not scored.

    A call that the run does not score may have a recording that an earlier replay made: its page has no figures.
    """
    path, unscored, verdict, columns = call
    if path is None:
        return {}
    try:
        with one_call(path):
            reading = Reading(path)
            scores = read_scores(reading)
            if unscored is not None:
                scores = {**scores, "measures": {}, "findings": [], "unscored": unscored}
            content = page_document(reading, scores)
            heard = call_audio(reading, path) if parts.audio else CallAudio()
            lists = moment_lists(reading) if content["unscored"] is None else {}
            shown = CallPage(parts.audio, parts.words, heard.silent, is_in_run=True, verdict=verdict, lists=lists)
            write_report(reading, content, replace(shown, columns=columns))
    except FdbError:  # the survey says so
        return {}
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

    with writes(folder):
        with ExitStack() as opened:
            yield add
            for file in files.values():
                file.write(_CLOSES.encode())
        _remove_others(folder, files)


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
