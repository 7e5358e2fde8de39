"""Scores runs, or files of replies, by the measures of a benchmark, and writes what it says of systems."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from fdbcore import clock
from fdbcore.analysis.corpus import Call, Run
from fdbcore.errors import SettingsError
from fdbcore.models.model_table import PRICES, recipient, stated_text
from fdbcore.protocols.suite import WRITTEN_EARLY, Suite
from fdbcore.recording.files import file_sha256, part_of, write_text
from fdbcore.recording.others import replacing
from fdbcore.recording.run import is_planned, read_plan
from fdbcore.registry import suite as suite_named
from fdbcore.registry import suites
from fdbcore.report.evidence import of_making, run_of
from fdbcore.report.groups.page import SCORES_PAGE
from fdbcore.report.groups.phrases import settings
from fdbcore.report.scorecard.cases import shown as shown_cases
from fdbcore.report.scorecard.document import document as card_document
from fdbcore.report.scorecard.drawings import figures as drawn
from fdbcore.report.scorecard.page import page
from fdbcore.report.scorecard.tables import tables
from fdbcore.report.svg.text import without_controls
from fdbcore.runs.engines import executor_of
from fdbcore.runs.judge_flags import VADS
from fdbcore.runs.kept_scores import SCORES, read_kept_scores
from fdbcore.runs.requests import SCORE_OPTIONS, ScoreRequest, asked_by, checked, option_values
from fdbcore.runs.run_scores import score
from fdbcore.runs.scored_pages import write_scored_pages
from fdbcore.runs.services import ends_soon
from fdbcore.runs.watch import Watch
from fdbcore.runtime.address import is_local
from fdbcore.runtime.redaction import clean
from fdbcore.types.scorecard import Scorecard
from fdbcore.types.usage import ExpectedUse

DEFAULT: Final = "fdbcore-scores"
SCORECARD: Final = "scorecard.json"
PAGE: Final = "report.html"
TURN_TAKING: Final = "turn-taking"


@dataclass(frozen=True, slots=True)
class SuiteScores:
    """A benchmark's results on systems. document: as stored in scores.json. told: what this scoring alone did. page: of
    the scorecard.
    """

    document: Mapping[str, Any]
    card: Scorecard
    told: Sequence[str]
    page: Path


@asked_by(ScoreRequest, SCORE_OPTIONS)
def score_suite(request: ScoreRequest) -> Mapping[str, Any]:
    """Score runs, or files of replies, by the measures of a benchmark, as `fdbcore score --suite` does.

    The arguments are the fields of `ScoreRequest`. The result is the content of OUT/scores.json: "rows" has the figures
    of each system, "differences" how the systems differ, with intervals and corrected p values, "items" what they rest
    on, and "problems" what was left out. OUT/report.html shows them.

    InputError if there is nothing to score, SettingsError for a wrong option or if `out` holds something else,
    RecordingError if it cannot be written, PartyError if a transcriber or judge is not available.
    """
    return scored(request).document


def scored(request: ScoreRequest) -> SuiteScores:
    """Score by the measures of a benchmark, and write the results; see `score_suite`."""
    watch = request.watch or Watch()
    suite, options = _suite_and_options(request)
    out = Path(request.out or DEFAULT)
    _check_folder(out, suite)
    services = [service for each in suite.asked(options, request.paths) for service in each.services()]
    for service in services:
        if not is_local(service.host):
            what = "audio of the calls goes" if service.takes == "audio" else "words of the calls go"
            watch.note(f"{what} to {recipient(service)}")
    for line in ends_soon(services, clock.utc_today()):
        watch.note(line)
    with executor_of(request.engine, request.jobs).hosting():
        found = suite.score(request.paths, options, request.jobs, out, watch.step)
    content = clean(found.document)
    card = suite.card(content)
    # On one line, because indenting takes several times as long.
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # SCORES first: it marks the folder as ours, so that a scoring that is killed from here on can be repeated.
    for name, kept in {SCORES: f"{text}\n", **found.files}.items():
        write_text(out / name, kept)
    if request.vads or request.sensitivity:
        card = replace(card, statements=[*card.statements, *_what_moves(card, request, out, watch)])
    rows = json.dumps(to_builtins(card_document(card, suite.name)), ensure_ascii=False, allow_nan=False, indent=1)
    write_text(out / SCORECARD, f"{rows}\n")
    (out / PRICES).unlink(missing_ok=True)
    if prices := stated_text():
        write_text(out / PRICES, prices)
    of_calls = write_scored_pages(card.views, shown_cases(card.cases)[0], out, PAGE, watch.step)
    how = of_making(request.typed, {"recordings": run_of(card.cases)})
    card = replace(card, evidence={**card.evidence, **how, "scores.json": f"SHA-256 {file_sha256(out / SCORES)}"})
    for name, shown in {PAGE: page(card, suite, of_calls), **tables(card)}.items():
        write_text(out / name, without_controls(shown))
    if request.figures is not None:
        with replacing(Path(request.figures)) as made:
            for name, figure in {**drawn(card), **card.views.figures()}.items():
                write_text(made / name, without_controls(figure))
    return SuiteScores(found.document, card, found.told, out / PAGE)


def _what_moves(card: Scorecard, request: ScoreRequest, out: Path, watch: Watch) -> Iterator[str]:
    """Measures of turn-taking of the calls that move with the detector, and with settings, in words.

    This is what `fdbcore score RUN` says with the same options; its document is kept, too.
    """
    calls = {
        case.recording: Call(
            "/".join(Path(case.recording).parts[-2:]), Path(case.recording), columns={"system": case.system}
        )
        for case in card.cases
        if case.recording
    }
    if not calls:
        raise SettingsError("--vad, --sensitivity: expected calls that were recorded, got none")
    content = score(
        Run(out, list(calls.values())),
        by="system",
        sensitivity=request.sensitivity,
        detectors=request.vads,
        engine=request.engine,
        out=part_of(out, TURN_TAKING),
        watch=watch,
    )
    yield f"turn-taking by other detectors or settings: {part_of(out, TURN_TAKING) / SCORES_PAGE}"
    for label, text in settings(content):
        yield f"{label}: {text}" if label else text


def expected_uses(request: ScoreRequest) -> tuple[Sequence[ExpectedUse], Sequence[str]]:
    """The requests of scoring to others, and a line for each model among them that ends soon. Asks nobody."""
    suite, options = _suite_and_options(request)
    watch = request.watch or Watch()
    uses = list(suite.expected(request.paths, options, Path(request.out or DEFAULT), watch.step))
    services = [service for each in suite.asked(options, request.paths) for service in each.services()]
    return uses, ends_soon(services, clock.utc_today())


def _suite_and_options(request: ScoreRequest) -> tuple[Suite, Mapping[str, Any]]:
    """The benchmark that is named, or that the first run was held for, and the values of its options."""
    checked(SCORE_OPTIONS, request)
    name = request.suite
    for path in request.paths if name is None else ():
        name = read_plan(path)["plan"].get("suite", {}).get("name") if is_planned(path) else None
        break
    if name is None:
        raise SettingsError(f"--suite: expected one of {', '.join(suites())}, or a run of a benchmark, got none")
    suite = suite_named(name)
    options = option_values(suite.options.score, request.options, suite.name)
    return suite, {**options, VADS.name: request.vads or options[VADS.name]} if VADS.name in options else options


def _check_folder(out: Path, suite: Suite) -> None:
    """Raise SettingsError unless `out` is new, empty, or holds an earlier scoring: nothing else is overwritten."""
    if not out.exists() or (
        out.is_dir() and {item.name for item in out.iterdir()} <= {*WRITTEN_EARLY, f"{SCORES}.part"}
    ):
        return
    # An earlier version of the schema is scored anew.
    if read_kept_scores(out / SCORES, suite.schema, any_version=True) is None:
        raise SettingsError(
            f"--out {out}: expected a new or empty folder, or one of an earlier score --suite {suite.name}, got "
            "something else"
        )
