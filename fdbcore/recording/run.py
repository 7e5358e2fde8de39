"""A run on disk: its files, its lock, and the state of each of its calls."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, takewhile
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.clock import utc_now
from fdbcore.errors import RecordingError, writes
from fdbcore.recording.files import HEALTH, META, QUANTITIES, RECORDING_SCHEMA, SCORES, part_of, read_json, write_json
from fdbcore.recording.form import damaged, read_of_schema
from fdbcore.recording.meta import KnownMeta, Outcome, PlannedCase, Tools
from fdbcore.recording.places import text_with_places_from, with_places_from
from fdbcore.recording.reader import Recording
from fdbcore.recording.versions import installed_versions
from fdbcore.runtime.locks import lock
from fdbcore.types.units import Seconds

Standing: TypeAlias = Literal["done", "damaged", "failed", "invalid", "waiting"]


class ReplayedFile(TypedDict):
    """A file that a call was replayed from."""

    path: Annotated[str, Meta(description="from the folder of the run")]
    sha256: Annotated[str | None, Meta(description="of its audio; null before it was read")]


class CorpusCall(TypedDict):
    """A call of a corpus, and what became of it."""

    name: Annotated[str, Meta(description="of its folder in the run")]
    status: Annotated[
        Standing, Meta(description="damaged: a part of its file is missing, the rest is scored; waiting: not yet held")
    ]
    reason: Annotated[str | None, Meta(description="why it is not done")]
    unscored: Annotated[str | None, Meta(description="why it is in no measure")]
    files: list[ReplayedFile]
    columns: Annotated[dict[str, str], Meta(description="those of --meta; of a live call system, clip and more")]


class CorpusSettings(TypedDict):
    """The settings with which all calls were replayed."""

    vad: str
    changes: Annotated[dict[str, int], Meta(description="of the turn detector, in ms")]
    real_time: bool
    line_open: NotRequired[Literal[True]]
    count_bad_input: NotRequired[Literal[True]]


class Corpus(TypedDict):
    """The calls that were replayed into a run. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.corpus/1"]
    began: Annotated[str, Meta(description="UTC, ISO 8601")]
    updated: str
    settings: CorpusSettings
    versions: dict[str, str]
    oddities: Annotated[dict[str, list[str]], Meta(description="what did not fit, and of which calls")]
    calls: list[CorpusCall]


class PlannedSuite(TypedDict):
    """The benchmark that a run is of."""

    name: str
    data: str
    sha256: dict[str, str]


class Decisions(TypedDict):
    """Decisions that make a plan."""

    systems: Annotated[dict[str, dict[str, Any]], Meta(description="what each is described by")]
    a: Annotated[
        dict[str, Any] | list[dict[str, Any]],
        Meta(description="who talks to them: in common, or each where they differ"),
    ]
    trials: Annotated[int, Meta(ge=1)]
    seed: int
    clock: Literal["real", "virtual"]
    max_s: Seconds
    vad: str
    turns: Annotated[dict[str, int], Meta(description="settings of the turn detector, in ms")]
    ends: NotRequired[Annotated[dict[str, float], Meta(description="when calls with recorded users are over, in s")]]
    lines: NotRequired[
        Annotated[list[dict[str, Any]], Meta(description="what the calls go over, as each describes itself")]
    ]
    suite: NotRequired[PlannedSuite]
    tools: NotRequired[Tools]


class PlannedRun(TypedDict):
    """A run's plan, with every case in its order. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.run/1"]
    created: Annotated[str, Meta(description="UTC, ISO 8601")]
    versions: dict[str, str]
    plan: Decisions
    cases: list[PlannedCase]


LOG, SUMMARY, SELFTEST = "workers.log", "summary.json", "selftest.json"
MOST_RETRIES: Final = 2
"""Times that a case is held again after an error that may pass (`PartyError.transient`) or the death of its process."""

CORPUS_SCHEMA: Final = "fdbcore.corpus/1"
RUN_SCHEMA: Final = "fdbcore.run/1"
CORPUS, RUN = "corpus.json", "run.json"
SCORED: Final = (HEALTH, SCORES, QUANTITIES)
"""The files that a recording has once it is scored."""

DONE: Final = "done"
DAMAGED: Final = "damaged"
FAILED: Final = "failed"
INVALID: Final = "invalid"
WAITING: Final = "waiting"
"""The states of a call. damaged: a part of its file is missing; the rest is scored. failed: its file cannot be read,
or its system is to blame. invalid: the harness is to blame. waiting: not yet replayed or held."""


def is_run(path: Path) -> bool:
    """True if a folder is a run, of `replay` or of `run`, or holds recordings of this version's schema."""
    run_files = [(path / CORPUS, CORPUS_SCHEMA), (path / RUN, RUN_SCHEMA)]
    recordings = ((meta, RECORDING_SCHEMA) for meta in path.glob(f"*/{META}"))
    for file, schema in chain(run_files, recordings):
        with suppress(RecordingError, AttributeError):  # AttributeError: its JSON is not an object
            if file.is_file() and read_json(file).get("schema") == schema:
                return True
    return False


def read_corpus(path: Path) -> Corpus:
    """The corpus.json of a run of `replay`. RecordingError if it cannot be read or is of another form."""
    corpus = read_of_schema(path / CORPUS, CORPUS_SCHEMA, Corpus)
    _check_names(path / CORPUS, [call["name"] for call in corpus["calls"]])
    return corpus


def case_columns(case: PlannedCase, outcome: Outcome | None) -> dict[str, str]:
    """The columns of a live call: those of its case in the plan, and how it ended."""
    clip = case.get("clip")
    return {
        "system": case["system"],
        "clip": clip["name"] if clip else "",
        **case.get("columns", {}),
        "trial": str(case["trial"]),
        "outcome": outcome["kind"] if outcome else WAITING,
    }


def held_columns(recording: Recording) -> dict[str, str]:
    """The columns of a recording that is a live call of a run, or replays one; empty for any other recording."""
    case = recording.original_meta.get("case")
    return case_columns(case, recording.outcome) if case else {}


def standing(recording: Recording) -> tuple[Standing, str | None]:
    """The state of a call as its recording shows it, and the reason if it is not done."""
    damages, outcome = recording.damages, recording.outcome
    kind, reason = (outcome["kind"], outcome["reason"]) if outcome else (DONE, None)
    return DAMAGED if damages else kind, "; ".join(damages) or reason


def _check_names(path: Path, names: Sequence[str]) -> None:
    """RecordingError if a name leads out of the run, or a call is listed twice, and so would count twice."""
    for name in names:
        try:
            part_of(path.parent, name)
        except RecordingError as error:
            raise damaged(path, str(error)) from None
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise damaged(path, f"expected each call once, got {twice[0]!r} twice")


def outcome_in(path: Path) -> Outcome | None:
    """The outcome of the case in this folder; None if it has not ended, or if it must be held again."""
    meta = state_of_case(path)
    outcome = meta.get("outcome")
    if outcome is None or not (meta["status"] == "complete" or outcome["kind"] == "invalid"):
        return None
    attempts: Sequence[Outcome] = meta.get("attempts", ())
    # Retries count from the last time that the case was requested again.
    retries = sum(1 for _ in takewhile(lambda earlier: not earlier.get("again"), reversed(attempts)))
    is_due = outcome.get("again") or (outcome.get("transient") and retries < MOST_RETRIES)
    return None if is_due else outcome


def state_of_case(path: Path) -> KnownMeta:
    """The meta.json of a case; {} if it cannot be read, for instance because a power cut left it empty."""
    try:
        meta: KnownMeta = read_json(path / META)
    except RecordingError:
        return {}
    return meta


@contextmanager
def alone_in(path: Path, doing: str, leaving_s: float) -> Iterator[None]:
    """Keep other commands out of the folder of a run, which is made if it is missing.

    The processes of this command share its lock. doing: what another command does there, for the message. leaving_s:
    how long to wait for the processes of a killed command to end; then RecordingError. At the end, an empty log is
    removed.
    """
    with writes(path):
        path.mkdir(parents=True, exist_ok=True)
        folder = os.open(path, os.O_RDONLY)
    try:
        _take(folder, path, doing, leaving_s)
        if (path / LOG).is_symlink():
            (path / LOG).unlink()
        try:
            yield
        finally:
            with suppress(OSError):
                if (path / LOG).stat().st_size == 0:
                    (path / LOG).unlink()
    finally:
        os.close(folder)


def _take(folder: int, path: Path, doing: str, leaving_s: float) -> None:
    for _ in range(round(10 * leaving_s) + 1):
        with suppress(BlockingIOError):
            lock(folder)  # alone, so nobody else is there ...
            lock(folder, shared=True)  # ... then shared with our own worker processes
            return
        Event().wait(0.1)
    raise RecordingError(f"{path}: another process is {doing} this folder")


def is_replayed(path: Path) -> bool:
    """True if a folder is a run of `replay`."""
    return os.path.isfile(path / CORPUS)


def is_planned(path: Path) -> bool:
    """True if a folder is a run of `run`."""
    return os.path.isfile(path / RUN)


def is_recorded(path: Path) -> bool:
    """True if a folder is a run or a recording, or holds recordings, of any schema."""
    found = is_replayed(path) or is_planned(path) or os.path.isfile(path / META)
    return found or (os.path.isdir(path) and any(path.glob(f"*/{META}")))


def newest_run(folder: Path) -> Path | None:
    """The run in `folder`, or up to two folders below it, that was replayed or held last; None if there is none.

    Reports and scores that were written later do not count.
    """
    runs = max(_dated_runs(folder, below=2), default=None)
    return runs and runs[1]


def runs_beside(run: Path) -> list[Path]:
    """The runs in the same folder as `run`, and other than it; what was replayed or held last comes first."""
    own = os.path.realpath(run)
    return [path for path in runs_in(Path(os.path.normpath(run / os.pardir))) if os.path.realpath(path) != own]


def runs_in(folder: Path) -> list[Path]:
    """The runs in a folder; what was replayed or held last comes first."""
    try:
        found = [item for item in folder.iterdir() if is_replayed(item) or is_planned(item)]
    except OSError:
        return []
    return [path for _, path in sorted((each for item in found for each in _dated_runs(item, below=0)), reverse=True)]


def _dated_runs(folder: Path, below: int) -> Iterator[tuple[int, Path]]:
    """Times (ns) at which the runs in a folder, or up to `below` folders below it, were written, and their paths."""
    own = [folder / CORPUS] if is_replayed(folder) else [folder / RUN, folder / SUMMARY]
    if is_replayed(folder) or is_planned(folder):
        yield _last_written_ns(own), folder
        return
    try:
        inside = [item for item in folder.iterdir() if item.is_dir() and not item.name.startswith(".")]
    except OSError:
        return
    recordings = {item for item in inside if os.path.isfile(item / META)}
    if recordings:
        yield _last_written_ns(item / META for item in recordings), folder
    for item in inside if below else ():
        if item not in recordings:
            yield from _dated_runs(item, below - 1)


def _last_written_ns(files: Iterable[Path]) -> int:
    return max(file.stat().st_mtime_ns for file in files if file.is_file())


def write_corpus(
    path: Path,
    began: str,
    settings: CorpusSettings,
    oddities: dict[str, list[str]],
    calls: list[CorpusCall],
) -> None:
    """Write the corpus.json of a run of `replay`. Schema, date and versions are added."""
    corpus: Corpus = {
        "schema": CORPUS_SCHEMA,
        "began": began,
        "updated": utc_now(),
        "settings": settings,
        "versions": installed_versions(),
        "oddities": {
            text_with_places_from(path, what): [text_with_places_from(path, each) for each in names]
            for what, names in oddities.items()
        },
        "calls": calls,
    }
    write_json(path / CORPUS, with_places_from(path, corpus))


def write_plan(path: Path, plan: Decisions, cases: list[PlannedCase]) -> None:
    """Write the run.json of a run of `run`. Schema, date and versions are added."""
    run: PlannedRun = {
        "schema": RUN_SCHEMA,
        "created": utc_now(),
        "versions": installed_versions(),
        "plan": plan,
        "cases": cases,
    }
    write_json(path / RUN, with_places_from(path, run))


def read_plan(path: Path) -> PlannedRun:
    """The run.json of the run in `path`: what decided the cases, and the cases.

    RecordingError if it cannot be read or is of another form.
    """
    run = read_of_schema(path / RUN, RUN_SCHEMA, PlannedRun)
    _check_names(path / RUN, [case["name"] for case in run["cases"]])
    return run
