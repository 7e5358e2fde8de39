"""The folder of a live run: its plan, and the state of each case. A kill at any moment loses nothing that has ended.

<run>/run.json          what decided the plan, and every case in its order; written once
      <case>/meta.json  the state of a case: it has ended once its recording is whole and states an outcome
      records.jsonl ... what a benchmark needs to score it
      selftest.json     the delay of the harness itself, measured before the first case; also in each recording
      workers.log       what the processes that held the conversations printed, crashes included
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, count, islice
from pathlib import Path
from typing import Final

from fdbcore.audio.files import content_hash, state_of
from fdbcore.clock import local_minute, utc_now
from fdbcore.errors import RecordingError, SettingsError
from fdbcore.measures.costs import Cost, call_cost
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import META, QUANTITIES, RECORDING_SCHEMA, SCORES, read_json, write_json, write_text
from fdbcore.recording.meta import Outcome, PlannedCase
from fdbcore.recording.places import PLACES, located, with_places_from
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import (
    RUN,
    SELFTEST,
    Decisions,
    alone_in,
    is_planned,
    outcome_in,
    read_plan,
    state_of_case,
    write_plan,
)
from fdbcore.runs.plan import Case, PlannedSystem, RunPlan
from fdbcore.runtime.redaction import clean, redacted
from fdbcore.session.converse import has_declined
from fdbcore.types.timing import TimingSelftest

AGAIN: Final[Mapping[str, tuple[str, ...]]] = {
    "failed": ("failed",),
    "invalid": ("invalid",),
    "all": ("done", "failed", "invalid"),
}
"""Choices of what to hold again, and the kinds of outcomes that each covers."""

_DIFFERENCES_SHOWN: Final = 3
_MOST_CHARACTERS: Final = 60
_MOST_SYSTEM_CHARACTERS: Final = 40


class RunFolder:
    """The folder of one run. As a context manager it keeps other commands from running cases there.

    A missing folder is made. An existing one must hold the same plan, and the run is resumed. SettingsError if it holds
    another plan or something else, RecordingError if it cannot be written or another command is working there.

    leaving_s: how long to wait for the processes of a killed command to end.
    """

    def __init__(self, path: Path, plan: RunPlan, leaving_s: int = 10) -> None:
        self.path = path
        self.plan = plan
        self._leaving_s = leaving_s

    def __enter__(self) -> "RunFolder":
        with ExitStack() as stack:
            stack.enter_context(alone_in(self.path, "running cases in", self._leaving_s))
            check_same_plan(self.path, self.plan)
            if not is_planned(self.path):
                write_plan(self.path, *_plan_values(self.plan))
            for name, text in self.plan.material.texts.items() if self.plan.material else ():
                if not (self.path / name).is_file():
                    write_text(self.path / name, text)
            for case in self.plan.cases:  # a reason that may pass may have passed by now: such cases are due again
                if (outcome := self.outcome(case)) is not None and outcome.get("transient"):
                    self._request_again(case, outcome)
            self._at_end = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._at_end.close()

    def _request_again(self, case: Case, outcome: Outcome) -> None:
        path = self.path / case.name
        write_json(path / META, state_of_case(path) | {"outcome": {**self.with_cost(case, outcome), "again": True}})

    def with_cost(self, case: Case, outcome: Outcome) -> Outcome:
        """The outcome of an attempt whose recording will be replaced, with what this attempt cost."""
        if "usd" in outcome or (cost := self.cost(case)) is None:
            return outcome
        before = sum(attempt.get("usd", 0.0) for attempt in state_of_case(self.path / case.name).get("attempts", ()))
        return {**outcome, "usd": round(cost.usd - before, 6)}

    @property
    def selftest(self) -> TimingSelftest | None:
        """The result of the run's timing self-test; None if it has not been made."""
        path = self.path / SELFTEST
        return read_json(path) if path.is_file() else None

    def outcome(self, case: Case) -> Outcome | None:
        """The outcome of the case; None if it has not ended, or if it must be held again."""
        return outcome_in(self.path / case.name)

    def ending(self, case: Case) -> str | None:
        """The end of the case, in a word: a call that failed because the system declined to answer has "declined"."""
        if (outcome := self.outcome(case)) is None:
            return None
        with suppress(RecordingError):  # its events are damaged
            reading = self.recording(case) if outcome["kind"] == "failed" else None
            return "declined" if reading is not None and has_declined(reading.events) else outcome["kind"]
        return outcome["kind"]

    def left(self, again: str | None = None) -> list[Case]:
        """The cases that still have to be held, in the plan's order. again: a key of AGAIN, to include those too."""
        kinds = AGAIN[again] if again else ()
        return [c for c in self.plan.cases if (outcome := self.outcome(c)) is None or outcome["kind"] in kinds]

    def hold_again(self, what: str) -> None:
        """Request that the cases of AGAIN[`what`] be held again. Their last outcomes stay among their attempts."""
        for case in self.left(what):
            outcome = self.outcome(case)
            if outcome is not None:
                self._request_again(case, outcome)

    def attempts(self, case: Case) -> list[Outcome]:
        """The outcomes after which the case was, or will be, held again."""
        meta = state_of_case(self.path / case.name)
        last = meta.get("outcome")
        return [*meta.get("attempts", ()), *([last] if last and self.outcome(case) is None else [])]

    def settle(self, case: Case, outcome: Outcome, attempts: Sequence[Outcome]) -> None:
        """Make the recording of a case state its outcome, even if the process died; what was recorded is kept."""
        meta = state_of_case(self.path / case.name)
        if meta.get("outcome") == outcome and meta["status"] == "complete":
            return
        minimal = {"schema": RECORDING_SCHEMA, "created": utc_now(), "case": case.to_json(), "n_ticks": 0}
        failed = {"status": "failed", "reason": outcome["reason"], "outcome": outcome, "attempts": attempts}
        path = self.path / case.name
        for of_earlier_attempt in (QUANTITIES, SCORES):
            (path / of_earlier_attempt).unlink(missing_ok=True)
        write_json(path / META, with_places_from(path, minimal | meta | failed))

    def cost(self, case: Case) -> Cost | None:
        """The cost of a case so far; None if it has not been held, or if nothing of it left one's own network."""
        with suppress(RecordingError):
            return call_cost(Recording(self.path / case.name))
        return None

    def recording(self, case: Case) -> Reading | None:
        """The recording of a case if it can be scored: it has ended, is not invalid, and is not empty; else None."""
        outcome = self.outcome(case)
        if outcome is None or outcome["kind"] == "invalid":
            return None
        reading = Reading(self.path / case.name)
        return reading if reading.n_ticks else None


def live_name(systems: Sequence[PlannedSystem]) -> str:
    """The name of a new folder for a live run: the time and the systems, as in fdbcore-live-20261123-0912-moshi.

    Of an address, which may hold a key, only the scheme is in it.
    """
    names = [
        name if name != redacted(address) else address.removeprefix("far:").partition(":")[0]
        for name, address in systems
    ]
    named = re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(names))[:_MOST_SYSTEM_CHARACTERS].strip("-.")
    return "-".join(filter(None, ["fdbcore-live", local_minute(), named]))


@contextmanager
def new_live_folder(systems: Sequence[PlannedSystem]) -> Iterator[Path]:
    """A new folder in the current one for a live run. If nothing was written into it, it is removed again.

    It is made at once, so that two runs that begin in the same minute never share one.
    """
    name = live_name(systems)
    for path in (Path(name if number == 1 else f"{name}-{number}") for number in count(1)):
        with suppress(FileExistsError):
            path.mkdir()
            break
    try:
        yield path
    finally:
        with suppress(OSError):  # it holds the run
            path.rmdir()


def seed_of(path: Path) -> int:
    """The seed of the run in `path`; a new random one if there is no run yet."""
    if not is_planned(path):
        return random.SystemRandom().getrandbits(31)
    seed: int = read_plan(path)["plan"]["seed"]
    return seed


def check_same_plan(path: Path, plan: RunPlan) -> None:
    """Raise SettingsError unless `path` is new, or holds the same plan with unchanged clips.

    The message names the first differences.
    """
    if not is_planned(path):
        if path.exists() and (not path.is_dir() or {item.name for item in path.iterdir()} - {f"{RUN}.part"}):
            raise SettingsError(f"{path}: expected a new folder or that of a run, got something else")
        return
    there = with_places_from(path, read_plan(path))  # one of an earlier version has absolute paths
    decisions, cases = with_places_from(path, _plan_values(plan))
    differing = list(islice(_differences(path, there["plan"], decisions), _DIFFERENCES_SHOWN))
    known = {case["name"]: case for case in there["cases"]}
    if not differing:
        changed_cases = (
            _differences(path, known[name], case, name) for case in cases if (name := case["name"]) in known
        )
        differing = list(islice(chain.from_iterable(changed_cases), _DIFFERENCES_SHOWN))
    if not differing and list(known) != [case["name"] for case in cases]:
        other = [case["name"] for case in cases if case["name"] not in known]
        example = f", such as {other[0]}" if other else ""
        differing = [f"{len(there['cases'])} cases there, {len(cases)} here{example}"]
    if differing:
        raise SettingsError(f"{path} holds another run ({'; '.join(differing)}): choose another folder by --out")
    changed = [case.name for case in plan.cases if _clip_has_changed(path, case)]
    if changed:
        raise SettingsError(
            f"{path}: expected the clips that its cases were held with, but the clip of {changed[0]}"
            f"{f' and {len(changed) - 1:,} more' if len(changed) > 1 else ''} has changed; give another folder by --out"
        )


def _clip_has_changed(path: Path, case: Case) -> bool:
    """True if the clip of a case that was held has changed since. If so, two users would count as one."""
    played = ((state_of_case(path / case.name).get("parties") or {}).get("A") or {}).get("file")
    if case.user.clip is None or not isinstance(played, dict) or outcome_in(path / case.name) is None:
        return False
    try:
        state = state_of(case.user.clip.path)
        same = all(played.get(key) == value for key, value in state.items())
        return not same and content_hash(case.user.clip.path) != played.get("sha256")
    except OSError:  # it is missing, which is reported when the clip is opened
        return False


def _differences(run: Path, there: object, here: object, where: str = "") -> Iterator[str]:
    """Differences of two JSON values, in words. Lists of one length are compared item by item, from 1.

    A model at a server of one's own is the same wherever that is: each job of a cluster may give it another place.
    """
    if there == here:
        return
    if isinstance(there, list) and isinstance(here, dict):
        here = [here]  # a single party stands for itself
    elif isinstance(there, dict) and isinstance(here, list):
        there = [there]
    if isinstance(there, list) and isinstance(here, list):
        if len(there) != len(here):
            yield f"{where}: {len(there):,} there, {len(here):,} here"
            return
        there, here = ({str(number): item for number, item in enumerate(items, 1)} for items in (there, here))
    if not (isinstance(there, dict) and isinstance(here, dict)):
        yield f"{where}: {_shown(there)} there, {_shown(here)} here"
        return
    is_own = there.get("vendor") == here.get("vendor") == ""
    for key in there | here:
        if key == "server" and is_own:
            continue
        place = f"{where} {key}".lstrip()
        if key not in here or key not in there:
            yield f"{place}: only {'there' if key in there else 'here'}"
        elif not (key in PLACES and _has_moved(run, there[key], here[key])):
            yield from _differences(run, there[key], here[key], place)


def _has_moved(run: Path, there: object, here: object) -> bool:
    """True if a run was moved away from a file or folder that has the same name as the one that is given now."""
    if not (isinstance(there, str) and isinstance(here, str)):
        return False
    return not located(run, there).exists() and Path(there).name == Path(here).name


def _plan_values(plan: RunPlan) -> tuple[Decisions, list[PlannedCase]]:
    """Decisions of a plan, and its cases, as run.json gives them back: without secrets, and with lists for tuples."""
    decisions, cases = json.loads(json.dumps(clean([plan.decided_by, [case.to_json() for case in plan.cases]])))
    return decisions, cases


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
