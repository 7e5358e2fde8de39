"""`fdbcore replay`: measures recorded conversations."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdbcore.errors import InputError, MissingExtraError
from fdbcore.recording.files import REPORT

from . import options
from .corpus import ReplayScreen, detectors_screen, print_json, print_run, say_next
from .endings import one_line
from .options import CALL, DONE, FAILED, FILE, INTERRUPTED, changed_settings, screen_columns
from .status import Status

if TYPE_CHECKING:
    from fdbcore.runs.replays import PlannedReplay


@click.command(short_help="Measure recorded calls.")
@click.argument("paths", nargs=-1, type=CALL)
@click.option("-a", "file_a", type=FILE, help="Audio file of side A, the user or examiner.")
@click.option("-b", "file_b", type=FILE, help="Audio file of side B, the system. Its two channels are mixed.")
@click.option("--pair", nargs=2, metavar="A B", help="Two files a call: patterns, as '*-caller.wav' '*-agent.wav'.")
@click.option("--swap", is_flag=True, help="Exchange the two sides.")
@click.option("--offset-ms", type=options.Whole(), default=0, help="Start B this much later (negative: start A later).")
@click.option("--vad", "vads", multiple=True, help="Voice activity detector: silero (default, or that of a recording), "
              "energy, webrtc, MODULE:CLASS. Give another to see what moves with it.")  # fmt: skip
@options.changes
@click.option("--real-time", is_flag=True, help="Run on the live clock: same results, plus a timing certificate.")
@click.option("--count-bad-input", is_flag=True, help="Count sides that are mixed, exchanged or out of step, too.")
@click.option("--no-hang-up", "line_open", is_flag=True, help="A did not hang up after its last turn: B could answer.")
@click.option("--from", "start", metavar="TIME", help="Leave out what comes before: 12.5, 0:12; from the end: -1:00.")
@click.option("--to", "end", metavar="TIME", help="Leave out what comes after, such as the good-bye: 3:40 or -0:10.")
@click.option("--jobs", type=options.Whole(1), help="Sessions replayed at a time (default: one per processor).")
@click.option("--engine", metavar="ray[://HOST:PORT]", help="Replay several sessions on a Ray cluster.")
@click.option("--store", metavar="URL", help="Object store for machines that do not see --out: s3://BUCKET/FOLDER.")
@click.option("--meta", type=FILE, help="CSV table about the calls, joined by path or file name; it may have "
              "agent_channel (of B), measure_from, measure_to, leave_out (0:00-0:12; 1:30-2:05), agent_log_file, "
              "agent_log_offset_ms, agent_log_started_at, agent_log_session.")  # fmt: skip
@click.option("--labels", type=FILE, help="Labels by people (CSV, TextGrid, RTTM, Audacity): a file or a folder.")
@options.agent_log
@click.option("--out", type=FILE, default=Path("fdbcore-run"), show_default=True, help="Output folder of the run.")
@options.as_json
@options.quiet
def replay(as_json: bool, quiet: bool, **asked: Any) -> None:  # noqa: ANN401
    """Measure turn-taking in recorded conversations: who spoke when, and how the system (B) behaves.

    Each of PATHS is one session: a stereo file (left A, right B), a folder with input.wav (A) and output.wav (B) or
    with A.wav and B.wav, or a recording or a run made by fdbcore, which keeps its settings. Exactly two mono files are
    sides A and B of one session. Any other folder is searched for sessions, a pattern ('calls/*.wav') is expanded, and
    a list (.txt) has one path per line.

    Each session gets its own folder in --out, with a recording and a page, report.html. Several sessions also get
    tables and a common page, index.html; run the same command again to replay only new sessions. If --out
    already holds several sessions, a single one gets tables and index.html too, and replaces them there.

    Example: fdbcore replay calls/ --out RUN
    """
    from fdbcore.runs.replay import ReplaySettings
    from fdbcore.runs.replays import planned_replay
    from fdbcore.sources.calls import NamedInput
    from fdbcore.sources.left_out import measured_between

    vads, out = list(dict.fromkeys(asked.pop("vads"))), asked.pop("out")
    how = {name: asked.pop(name) for name in ("real_time", "line_open", "count_bad_input")}
    where = {name: asked.pop(name) for name in ("jobs", "engine", "store")}
    with one_line("fdbcore replay", usage=(InputError, MissingExtraError)):
        settings = ReplaySettings(out, next(iter(vads), None), changed_settings(asked.pop("changes")), **how)
        named = NamedInput(leave_out=measured_between(asked.pop("start"), asked.pop("end")), **asked)
        plan = planned_replay(named, settings, detectors=vads[1:], **where)
    with one_line("fdbcore replay", usage=()), Status(quiet or as_json) as status:
        screen = ReplayScreen(status)
        try:
            sys.exit((_several if plan.several else _alone)(plan, screen, as_json, quiet))
        except KeyboardInterrupt:
            path = out / plan.calls[0].session.name
            alone = f"; the part read so far is in {path}" if path.exists() else ""
            several = f"{screen.so_far()}; run the same command again to continue"
            screen.warn(f"interrupted{several if plan.several else alone}")
            sys.exit(INTERRUPTED)


def _alone(plan: "PlannedReplay", screen: ReplayScreen, as_json: bool, quiet: bool) -> int:
    """Replay one session, print the results, and return the exit code."""
    from fdbcore.recording.files import json_pieces
    from fdbcore.recording.places import located
    from fdbcore.report.agent_logs import refusal, screen_lines
    from fdbcore.report.call.screen import screen as call_screen
    from fdbcore.runs.replays import replayed_call

    reading, document = replayed_call(plan, screen)
    for damage in reading.damages:
        screen.warn(f"{damage}; the readable part is scored")
    log = document["marks"]
    refused = refusal(log) if log else None
    if log and refused:
        screen.warn(f"{located(reading.path, str(log['source']))}: {refused}")
    screen.clear()
    if as_json:
        click.echo("".join(json_pieces(document)))
    elif not quiet:
        columns = screen_columns()
        lines = screen_lines(log, columns) if log else []
        moved = detectors_screen(document["detectors"], document["measures"]) if "detectors" in document else []
        click.echo("\n".join([call_screen(reading, document, columns), *lines, *moved, str(reading.path / REPORT)]))
    return FAILED if reading.damages or refused else DONE


def _several(plan: "PlannedReplay", screen: ReplayScreen, as_json: bool, quiet: bool) -> int:
    """Replay several sessions, print a summary of their run, and return the exit code."""
    from fdbcore.runs.pages import summary_of
    from fdbcore.runs.replays import replayed_run

    run, moved = replayed_run(plan, screen)
    screen.clear()
    if as_json:
        print_json(run, summary_of(run), moved)
    elif not quiet:
        print_run(run, detectors_screen(moved, run.measures) if moved else [])
        say_next(plan.settings.run_path)
    return FAILED if screen.failures else DONE
