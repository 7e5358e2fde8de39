"""`fdbcore doctor`: whether audio is fit to be measured, whether this machine keeps time, whether a system is there."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import FdbError, SettingsError

from . import options
from .options import DONE, FAILED

if TYPE_CHECKING:
    from fdbcore.report.call.document_types import Document


@click.command()
@click.argument("subjects", nargs=-1, metavar="[FILE|SYSTEM]...")
@options.vad
@options.as_json
def doctor(subjects: tuple[str, ...], vad: str, as_json: bool) -> None:
    """Test what measurements rest on: the audio of each FILE, or the timing of this machine and each SYSTEM.

    What exists is a FILE: a stereo file, two mono files (A, B), the folder of a recording, of a run or of
    Full-Duplex-Bench v1. Is there echo, clipping, noise, music, are the sides alike, exchanged or out of step? A SYSTEM
    is connected to, waited for until it is ready, and left. With neither, or with a SYSTEM, the timing self-test runs
    as well.

    Exits with 1 if the input is bad, cannot be read or has no speech on a side, the self-test fails or a system cannot
    be had.
    """
    from fdbcore.audio.decode import AUDIO_SUFFIXES

    files = [subject for subject in subjects if os.path.exists(subject)]
    systems = [subject for subject in subjects if subject not in files]
    for subject in systems:
        if not subject:
            options.named(subject)
        if Path(subject).suffix.lower() in AUDIO_SUFFIXES and ":" not in subject:
            raise click.UsageError(f"{subject}: expected audio or a system, got no such file")
    found, sane = _examined(files, vad, show=not as_json) if files else ({}, True)
    if systems or not files:
        tested, well = _tested(systems, show=not as_json)
        found, sane = found | tested, sane and well
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    sys.exit(DONE if sane else FAILED)


def _examined(files: Sequence[str], vad: str, show: bool) -> tuple[dict[str, Any], bool]:
    """The health of each session in the files, and whether none is bad."""
    from fdbcore.registry import VADS, resolve
    from fdbcore.report.call.document import told_first
    from fdbcore.sources.sessions import session_inputs

    try:
        resolve("vad", VADS, vad)
        sessions = session_inputs([Path(file) for file in files])
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    found: dict[str, Any] = {}
    with TemporaryDirectory(prefix="fdbcore-doctor-") as folder:
        for session, told in zip(sessions, _healths(sessions, Path(folder), vad), strict=True):
            if isinstance(told, FdbError):
                search = f"; fdbcore replay {session.a} examines every call in it" if session.a.is_dir() else ""
                click.echo(f"fdbcore doctor: {told}{search}", err=True)
                found[session.name] = {"why_not": str(told)}
                continue
            title, damaged, content = told
            known = told_first(content) + ([content["unscored"]] if content["unscored"] else [])
            found[session.name] = {**(content["health"] or {}), "damaged": damaged, "warnings": known}
            if show:
                click.echo(_screen(title, known, content))
    return {"files": found}, all(map(_is_fit, found.values()))


def _is_fit(health: Mapping[str, Any]) -> bool:
    if "verdict" not in health:
        return False
    both_speak = all(side["speech_s"] for side in health["sides"].values())
    return health["verdict"] != "bad" and not health["damaged"] and both_speak


def _healths(sessions: Sequence[Any], folder: Path, vad: str) -> Iterator[tuple[str, list[str], Document] | FdbError]:
    """Of each session its header, what of its files is damaged, and its document; or why there is none."""
    from fdbcore.analysis.score import score
    from fdbcore.report.call.document import document
    from fdbcore.report.call.screen import header
    from fdbcore.runs.replay import replay_session

    for session in sessions:
        try:
            reading = replay_session(session, folder, vad)
            yield header(reading), reading.damages, document(reading, score(reading))
        except FdbError as error:
            yield error


def _screen(title: str, told: Sequence[str], content: Document) -> str:
    from textwrap import fill

    from fdbcore.report.call.health import health_screen

    columns = min(shutil.get_terminal_size((100, 24)).columns, 100)
    warnings = [fill(f"!! {text}", columns, subsequent_indent="   ") for text in told]
    return "\n".join([fill(title, columns), *warnings, health_screen(content, columns), ""])


def _tested(systems: Sequence[str], show: bool) -> tuple[dict[str, Any], bool]:
    """The timing of this machine and a probe of each system, and whether all is well."""
    from fdbcore.registry import endpoint
    from fdbcore.runs.selftest import timing_selftest, verdict
    from fdbcore.runtime.redaction import redacted

    try:
        parties = {redacted(address): endpoint(address) for address in systems}
    except SettingsError as error:
        raise click.UsageError(redacted(str(error))) from None
    found = timing_selftest()
    if show:
        click.echo(verdict(found))
    probes = {}
    for address, party in parties.items():
        probes[address] = _probe(party)
        if show:
            click.echo(_line(address, probes[address]))
    well = found["passed"] is not False and all(probe["ready"] for probe in probes.values())
    return {"timing": found, "systems": probes}, well


def _probe(party: Any) -> dict[str, Any]:  # noqa: ANN401
    """Whether the party got ready, in how many seconds, and what it says of itself; or why not."""
    from fdbcore.clock import now_ns
    from fdbcore.runtime.redaction import redacted

    started_ns = now_ns()
    try:
        with closing(party):
            party.open("B")
            found = {"ready": True, "seconds": (now_ns() - started_ns) / 1e9, "party": dict(party.describe())}
    except FdbError as error:
        return {"ready": False, "why_not": redacted(str(error))}
    if party.left not in (None, "finished"):
        return {"ready": False, "why_not": redacted(party.left)}
    return found


def _line(address: str, probe: dict[str, Any]) -> str:
    return f"{address}: " + (f"ready in {probe['seconds']:.2f} s" if probe["ready"] else probe["why_not"])
