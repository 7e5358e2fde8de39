"""`fdbcore doctor`: checks whether audio can be measured, this machine keeps time, and systems can be reached."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import click

from fdbcore.errors import FdbError, MissingExtraError, SettingsError, told_as
from fdbcore.types import SIDES

from . import options
from .endings import one_line
from .options import DONE, FAILED

if TYPE_CHECKING:
    from fdbcore.protocols import Endpoint
    from fdbcore.report.call.document import Document
    from fdbcore.report.checkup import CheckedModel, CheckedSession, Checkup, Probe
    from fdbcore.types.timing import CallsAtOnce, TimingSelftest


@click.command(short_help="Check audio files, systems, and the timing of this machine.")
@click.argument("subjects", nargs=-1, metavar="[FILE|SYSTEM]...")
@click.option("--calls", is_flag=True, help="Also measure how many live calls at once this machine holds on time: two "
              "minutes in which it should do nothing else. `fdbcore run --jobs auto` takes that number.")  # fmt: skip
@click.option("--vad", default="silero", show_default=True, metavar="NAME",
              help="Voice activity detector: silero, energy, webrtc, MODULE:CLASS.")  # fmt: skip
@options.as_json
def doctor(subjects: tuple[str, ...], calls: bool, vad: str, as_json: bool) -> None:
    """Check audio files, systems, and the timing of this machine.

    An argument that exists on disk is a FILE: a stereo file, two mono files (A, B), or the folder of a recording, of a
    run or of Full-Duplex-Bench v1. It is checked for echo, clipping, noise and music, and for sides that are identical,
    exchanged or out of step. Any other argument is the address of a SYSTEM: fdbcore connects, waits until it is ready,
    and leaves; it looks a vendor's model up, which costs nothing. Without a FILE, or with a SYSTEM, the timing
    self-test runs as well, and the files of local models are read and compared with their SHA-256.

    The exit code is 1 if audio is bad, cannot be read or has no speech on one side, if the self-test fails, if a system
    cannot be reached, if a local model is damaged, or if not even one live call can be held on time.

    Example: fdbcore doctor call.wav
    """
    from fdbcore.audio.decode import AUDIO_SUFFIXES
    from fdbcore.runs.requests import check_vads

    with one_line("fdbcore doctor"):
        check_vads([vad])
    files = [subject for subject in subjects if os.path.exists(subject)]
    systems = [subject for subject in subjects if subject not in files]
    for subject in systems:
        if not subject:
            options.named(subject)
        if Path(subject).suffix.lower() in AUDIO_SUFFIXES and ":" not in subject:
            raise click.UsageError(f"{subject}: expected audio or a system, got no such file")
    checkup: Checkup = {"schema": "fdbcore.doctor/1"}
    all_fit = all_well = True
    if files:
        checkup["files"], all_fit = _examine(files, vad, show=not as_json)
    if systems or not files:
        checkup["timing"], checkup["systems"], all_well = _test(systems, show=not as_json)
        checkup["models"] = models = _fetched_models(show=not as_json)
        all_well = all_well and all(model["whole"] for model in models.values())
    if calls:
        checkup["calls"] = measured = _calls_at_once(show=not as_json)
        all_well = all_well and measured.most > 0
    if as_json:
        from msgspec import to_builtins

        click.echo(json.dumps(to_builtins(checkup), ensure_ascii=False))
    sys.exit(DONE if all_fit and all_well else FAILED)


def _examine(files: Sequence[str], vad: str, show: bool) -> tuple[dict[str, CheckedSession], bool]:
    """The input health of each session in the files, and whether all of them can be measured."""
    from fdbcore.analysis.score import score
    from fdbcore.report.call.document import document, told_first
    from fdbcore.report.call.screen import header
    from fdbcore.runs.replay import ReplaySettings, replay_session
    from fdbcore.sources.sessions import session_inputs

    try:
        sessions = session_inputs([Path(file) for file in files])
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    found: dict[str, CheckedSession] = {}
    with TemporaryDirectory(prefix="fdbcore-doctor-") as folder:
        for session in sessions:
            try:
                reading = replay_session(session, ReplaySettings(Path(folder), vad))
                title, content = header(reading), document(reading, score(reading))
            except FdbError as error:
                search = f"; fdbcore replay {session.a} examines every call in it" if session.a.is_dir() else ""
                click.echo(f"fdbcore doctor: {error}{search}", err=True)
                found[session.name] = {"why_not": str(error)}
                continue
            warnings = told_first(content) + ([content["unscored"]] if content["unscored"] else [])
            checked = {
                **(content["health"] or {}),
                "lines": content.get("lines"),
                "damaged": reading.damages,
                "warnings": warnings,
            }
            found[session.name] = cast("CheckedSession", checked)
            if show:
                click.echo(_screen(title, warnings, content))
    return found, all(map(_is_fit, found.values()))


def _is_fit(health: CheckedSession) -> bool:
    """True if audio with this health can be measured; a file that could not be read has no verdict."""
    if "verdict" not in health:
        return False
    both_speak = all(health["sides"][side]["speech_s"] for side in SIDES)
    return health["verdict"] != "bad" and not health["damaged"] and both_speak


def _screen(title: str, warnings: Sequence[str], content: Document) -> str:
    from fdbcore.report.call.health import health_screen
    from fdbcore.report.terminal import filled

    columns = options.screen_columns()
    lines = [filled(f"!! {text}", columns, "   ") for text in warnings]
    return "\n".join([filled(title, columns), *lines, health_screen(content, columns), ""])


def _test(systems: Sequence[str], show: bool) -> tuple[TimingSelftest, dict[str, Probe], bool]:
    """The result of the timing self-test, a probe of each system by its address, and whether all of it is good."""
    from fdbcore import clock
    from fdbcore.runs.selftest import priority_refused, timing_selftest, verdict
    from fdbcore.runs.services import ends_soon
    from fdbcore.runtime.redaction import redacted

    from .progress import invitation
    from .status import Status

    try:
        parties = {redacted(address): _system(address) for address in systems}
    except SettingsError as error:
        raise click.UsageError(redacted(str(error))) from None
    except MissingExtraError as error:
        click.echo(f"fdbcore doctor: {error}", err=True)
        sys.exit(FAILED)
    with Status(not show) as status:
        status("timing self-test: clicks go through WebRTC on this machine, about five seconds")
        found = timing_selftest()
    if show:
        for line in filter(None, (verdict(found), priority_refused(found))):
            click.echo(line)
    probes: dict[str, Probe] = {}
    for address, party in parties.items():
        if (invited := invitation("B", party)) is not None:
            click.echo(f"{address}: waiting for a peer; {invited}", err=True)
        with Status(not show) as status:
            status(f"{address}: waiting until it is ready")
            probes[address] = probe = _probe(party)
        if ends := ends_soon(party.services(), clock.utc_today()):
            probe["endings"] = ends
        if show:
            result = f"ready in {probe['seconds']:.2f} s" if probe["ready"] else probe["why_not"]
            is_named = result.startswith(address.partition("?")[0])  # as in the message of a party that is not there
            click.echo(result if is_named else f"{address}: {result}")
            untried = [f"untried: {told}"] if (told := party.describe().get("untried")) else []
            for line in (*ends, *untried):
                click.echo(f"{address}: {line}")
    all_well = found["passed"] is not False and all(probe["ready"] for probe in probes.values())
    return found, probes, all_well


def _calls_at_once(show: bool) -> CallsAtOnce:
    """The number of live calls that this machine holds at once; it is kept for `--jobs auto`."""
    from fdbcore.runs.calls_at_once import measured_calls_at_once

    from .status import Status, Teller

    with one_line("fdbcore doctor", usage=()), Status(not show) as status:
        found = measured_calls_at_once(Teller("fdbcore doctor", status, quiet=not show))
    if show:
        for line in _calls_told(found):
            click.echo(line)
    return found


def _calls_told(found: CallsAtOnce) -> Iterator[str]:
    """The measurement, in lines for a reader."""
    from fdbcore.runs.calls_at_once import probe_text

    most = found.most
    if not most:
        yield f"live calls at once: none is held on time; {probe_text(found.probes[-1])}"
        return
    yield (
        f"live calls at once: {found.calls}, 15 % below the {most} that were held on time for ten seconds; "
        "each had two WebRTC legs, whose peers were here, too"
    )
    more = [held for held in found.probes if held.calls > most]
    yield f"  {probe_text(min(more, key=lambda held: held.calls))}"


def _fetched_models(show: bool) -> dict[str, CheckedModel]:
    """The state of each fetched local model's files, whole or not; models that were not fetched are left out."""
    from fdbcore.models.packaged import catalogue, megabytes, verify

    found: dict[str, CheckedModel] = {}
    for name, model in catalogue().items():
        if not model.folder.exists():
            continue
        try:
            verify(name)
            found[name] = {"whole": True}
        except FdbError as error:
            found[name] = {"whole": False, "why_not": str(error)}
        if show:
            whole = f"model {name} {model.version}: whole, {megabytes(model.bytes)} in {model.folder}"
            click.echo(found[name].get("why_not", whole))
    return found


def _system(address: str) -> Endpoint:
    """The party at an address. SettingsError if it is neither that nor a file."""
    from fdbcore.registry import endpoint

    with told_as(f"{address}: no such file, and no system", "system"):
        return endpoint(address)


def _probe(party: Any) -> Probe:  # noqa: ANN401
    """The party's readiness, with the seconds that took and its own description; or why it did not become ready."""
    from fdbcore.clock import now_ns
    from fdbcore.runtime.redaction import redacted

    started_ns = now_ns()
    try:
        with closing(party):
            party.probe()
            found: Probe = {"ready": True, "seconds": (now_ns() - started_ns) / 1e9, "party": dict(party.describe())}
    except FdbError as error:
        return {"ready": False, "why_not": redacted(str(error))}
    if party.left not in (None, "finished"):
        return {"ready": False, "why_not": redacted(party.left)}
    return found
