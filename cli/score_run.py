"""What `fdbcore score RUN` does: the pooled measures of a run, with what can be said of them."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fdbcore.errors import SettingsError

from . import options
from .endings import one_line
from .options import DONE, FAILED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fdbcore.corpus import Corpus

SCORES: Final = "scores.json"
SCHEMA: Final = "fdbcore.statements/1"
REFERENCE: Final = "reference"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a run: see the options of `fdbcore score`."""

    cluster: str | None
    by: str | None
    sensitivity: bool
    reference: Path | None
    jobs: int | None


def score_run(path: Path, asked: Asked, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Score a run anew, write scores.json and scores.html into it (or `out`), and print it; the exit code."""
    from fdbcore.report.statements_page import write_statements

    show = not (quiet or as_json) and sys.stderr.isatty()
    with one_line("fdbcore score", "the calls that were scored anew are kept"):
        content = _content(path, asked, out or path, show)
        page = write_statements(content, out or path)
        _print(content, page, as_json, quiet)
    for name, reason in content["unread"].items():
        click.echo(f"fdbcore score: {name}: {reason}", err=True)
    return FAILED if content["unread"] else DONE


def _content(path: Path, asked: Asked, out: Path, show: bool) -> dict[str, Any]:
    from fdbcore.corpus import Corpus
    from fdbcore.recording import write_json
    from fdbcore.report.input_notes import input_notes
    from fdbcore.statements import check_column, groups, rescored, statements, unit

    corpus = Corpus.of(path)
    if out == path and not os.access(path, os.W_OK):
        raise SettingsError(f"{path}: cannot be written: choose another folder for the results by --out")
    jobs = asked.jobs or len(os.sched_getaffinity(0))
    chosen = unit(corpus.scored, asked.cluster)
    if asked.by is not None:
        check_column(corpus.scored, asked.by, "--by")
    with _Count(f"scored, of {len(corpus.scored):,} calls", show) as count:
        run, unread = rescored(corpus, jobs, count, keep=out == path)
    if not run.calls or corpus.settings is None:
        raise SettingsError(f"{path}: expected calls that are scored, got none")
    by = groups(run, asked.by) if asked.by else []
    content = _evidence(corpus, asked, unread) | {"input": input_notes(run.calls)} | statements(run, chosen, by)
    if asked.sensitivity:
        from fdbcore.sensitivity import sensitivity

        with _Count("read under other settings", show) as count:
            content["sensitivity"] = sensitivity(by or [run], corpus.settings, jobs, count)
    if asked.reference is not None:
        from fdbcore.reference import beside_reference

        people = _reference(asked.reference, corpus.settings, out, jobs, show)
        with _Count("read beside the reference", show) as count:
            content["reference"] = beside_reference(by or [run], chosen, corpus.settings, people, count)
    write_json(out / SCORES, content)
    return content


def _evidence(corpus: Corpus, asked: Asked, unread: Mapping[str, str]) -> dict[str, Any]:
    """What the statements rest on, and which calls are in none of them."""
    unscored = {call.name: call.unscored for call in corpus.calls if call.unscored is not None}
    return {
        "schema": SCHEMA,
        "run": str(corpus.path),
        "by": asked.by,
        "unscored": unscored | dict(unread),
        "unread": dict(unread),
        "settings": corpus.settings,
        "settings_sha256s": dict(corpus.settings_sha256s),
        "versions": {name: list(found) for name, found in corpus.versions.items()},
    }


def _reference(path: Path, own: Mapping[str, Any], out: Path, jobs: int, show: bool) -> Corpus:
    """The run in `path`; or else of the audio in it, replayed as the run was into the folder `reference` of `out`."""
    from fdbcore.corpus import CORPUS, RUN, Corpus
    from fdbcore.recording import META

    if any((path / name).is_file() for name in (CORPUS, RUN, META)) or next(path.glob(f"*/{META}"), None):
        return Corpus.of(path)
    from fdbcore.corpus_inputs import named_files, planned
    from fdbcore.corpus_jobs import How
    from fdbcore.corpus_replay import replay_corpus
    from fdbcore.names import Oddities
    from fdbcore.sources import session_inputs

    oddities = Oddities()
    calls = planned(session_inputs(named_files([path], oddities), searched=True), None, oddities)
    how = How(out / REFERENCE, own["vad"]["B"]["name"], own["turns"])
    with _Count(f"of the reference replayed, of {len(calls):,} calls", show) as count:
        entries = replay_corpus(calls, how, jobs, oddities, lambda progress, ended: count() if ended else None)
    for entry in entries:
        if entry["unscored"]:
            click.echo(f"fdbcore score: reference {entry['name']}: {entry['unscored']}", err=True)
    return Corpus.of(out / REFERENCE)


class _Count:
    """A line on the terminal that counts."""

    def __init__(self, text: str, show: bool) -> None:
        self._text, self._show, self._number = text, show, 0

    def __enter__(self) -> _Count:
        return self

    def __call__(self) -> None:
        self._number += 1
        if self._show and self._number % 10 == 0:
            click.echo(f"\r\x1b[K{self._number:,} {self._text}", nl=False, err=True)

    def __exit__(self, *error: object) -> None:
        if self._show:
            click.echo("\r\x1b[K", nl=False, err=True)


def _print(content: dict[str, Any], path: Path, as_json: bool, quiet: bool) -> None:
    from fdbcore.report.statements_screen import statements_screen

    if as_json:
        click.echo(json.dumps(content, ensure_ascii=False))
    elif not quiet:
        click.echo(f"{statements_screen(content, options.columns())}\n{path}")
