"""A run on disk: its plan, and what has become of each case. A process may be killed at any moment in between.

<run>/run.json          what decided the plan, and every case in its order; written once
      <case>/meta.json  the state of a case: it has ended once its recording is whole and states an outcome
      records.jsonl ... what a benchmark needs to score it
      selftest.json     what the harness itself added, measured before the first case; also in each recording
      workers.log       what the processes that held the conversations wrote, or said when they crashed
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fdbcore.audio.decode import content_hash, state_of
from fdbcore.clock import utc_now
from fdbcore.errors import SettingsError
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import META, RECORDING_SCHEMA, read_json, write_json, write_text
from fdbcore.recording.run import (
    RUN,
    SELFTEST,
    alone_in,
    is_planned,
    outcome_in,
    read_plan,
    state_of_case,
    write_plan,
)
from fdbcore.runs.plan import Case, RunPlan
from fdbcore.runtime.redaction import clean

if TYPE_CHECKING:
    from fdbcore.recording.run_types import Decisions, Outcome, PlannedCase, TimingSelftest

AGAIN: Final[Mapping[str, tuple[str, ...]]] = {
    "failed": ("failed",),
    "invalid": ("invalid",),
    "all": ("done", "failed", "invalid"),
}
"""What a user may ask to be held again, and the cases that are meant: by how they ended."""

_DIFFERENCES_SHOWN: Final = 3
_MOST_CHARACTERS: Final = 60


class RunFolder:
    """The folder of one run; a context manager, in which no other process runs cases in it.

    Made where it is new; otherwise it must hold the same plan, and the run goes on. Raises SettingsError if it holds
    another plan or something else, RecordingError if it cannot be written or another process is at work.

    leaving_s: what the calls of a process that was killed are given to close.
    """

    def __init__(self, path: Path, plan: RunPlan, leaving_s: int = 10) -> None:
        self.path = path
        self.plan = plan
        self._leaving_s = leaving_s

    def __enter__(self) -> RunFolder:
        with ExitStack() as stack:
            stack.enter_context(alone_in(self.path, "running cases in", self._leaving_s))
            check_same_plan(self.path, self.plan)
            self._write_plan()
            self._renew()
            self._at_end = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._at_end.close()

    def _write_plan(self) -> None:
        if not is_planned(self.path):
            write_plan(self.path, *_plain(self.plan))
        for name, text in self.plan.material.texts.items() if self.plan.material else ():
            if not (self.path / name).is_file():
                write_text(self.path / name, text)

    def _renew(self) -> None:
        """Make what ended for a reason that may pass due once more: it may have passed before the run went on."""
        for case in self.plan.cases:
            path = self.path / case.name
            outcome = outcome_in(path)
            if outcome is not None and outcome.get("transient"):
                write_json(path / META, state_of_case(path) | {"outcome": {**outcome, "again": True}})

    @property
    def selftest(self) -> TimingSelftest | None:
        """What the timing self-test of the run found; None before it."""
        path = self.path / SELFTEST
        return read_json(path) if path.is_file() else None

    def outcome(self, case: Case) -> Outcome | None:
        """How the case has ended; None if it has not, or if it is due to be held again."""
        return outcome_in(self.path / case.name)

    def left(self, again: str | None = None) -> list[Case]:
        """The cases that are to be held, in the plan's order; `again`: also those of AGAIN."""
        kinds = AGAIN[again] if again else ()
        return [c for c in self.plan.cases if (outcome := self.outcome(c)) is None or outcome["kind"] in kinds]

    def hold_again(self, what: str) -> None:
        """Make the cases of AGAIN[`what`] due once more; how they had ended stays among their attempts."""
        for case in self.left(what):
            outcome, path = self.outcome(case), self.path / case.name
            if outcome is not None:
                write_json(path / META, state_of_case(path) | {"outcome": {**outcome, "again": True}})

    def attempts(self, case: Case) -> list[Outcome]:
        """The outcomes after which the case has been, or is to be, held again."""
        meta = state_of_case(self.path / case.name)
        last = meta.get("outcome")
        return [*meta.get("attempts", ()), *([last] if last and self.outcome(case) is None else [])]

    def settle(self, case: Case, outcome: Outcome, attempts: Sequence[Outcome]) -> None:
        """See that the recording of a case states its outcome, also where it broke off; what there is of it is kept."""
        meta = state_of_case(self.path / case.name)
        if meta.get("outcome") == outcome and meta["status"] == "complete":
            return
        minimal = {"schema": RECORDING_SCHEMA, "created": utc_now(), "case": case.to_json(), "n_ticks": 0}
        failed = {"status": "failed", "reason": outcome["reason"], "outcome": outcome, "attempts": attempts}
        write_json(self.path / case.name / META, minimal | meta | failed)

    def recording(self, case: Case) -> Reading | None:
        """The recording of a case that can be scored: one that was held, however it ended, and is valid."""
        outcome = self.outcome(case)
        if outcome is None or outcome["kind"] == "invalid":
            return None
        reading = Reading(self.path / case.name)
        return reading if reading.n_ticks else None


def seed_of(path: Path) -> int:
    """The seed of the run in `path`; a random one if there is no run yet."""
    if not is_planned(path):
        return random.SystemRandom().getrandbits(31)
    seed: int = read_plan(path)["plan"]["seed"]
    return seed


def check_same_plan(path: Path, plan: RunPlan) -> None:
    """SettingsError unless `path` is new or holds the same plan, of the same clips; names the first differences."""
    if not is_planned(path):
        if path.exists() and (not path.is_dir() or {item.name for item in path.iterdir()} - {f"{RUN}.part"}):
            raise SettingsError(f"{path}: expected a new folder or that of a run, got something else")
        return
    there, (decisions, cases) = read_plan(path), _plain(plan)
    differing = list(islice(_differences(there["plan"], decisions), _DIFFERENCES_SHOWN))
    if not differing and there["cases"] != cases:
        other = [case["name"] for case in cases if case not in there["cases"]]
        such = f", such as {other[0]}" if other else ""
        differing = [f"{len(there['cases'])} cases there, {len(cases)} here{such}"]
    if differing:
        raise SettingsError(f"{path} holds another run ({'; '.join(differing)}): choose another folder by --out")
    changed = [case.name for case in plan.cases if _has_another_clip(path, case)]
    if changed:
        raise SettingsError(
            f"{path}: expected the clips that its cases were held with, got another content of {changed[0]}'s"
            f"{f' and {len(changed) - 1:,} more' if len(changed) > 1 else ''}; give another folder by --out"
        )


def _has_another_clip(path: Path, case: Case) -> bool:
    """Whether the clip of a case that has been held is no longer what was played: two users would count as one."""
    played = ((state_of_case(path / case.name).get("parties") or {}).get("A") or {}).get("file")
    if case.user.clip is None or not isinstance(played, dict) or outcome_in(path / case.name) is None:
        return False
    try:
        state = state_of(case.user.clip.path)
        same = all(played.get(key) == value for key, value in state.items())
        return not same and content_hash(case.user.clip.path) != played.get("sha256")
    except OSError:  # it is gone, of which opening it tells
        return False


def _differences(there: object, here: object, where: str = "") -> Iterator[str]:
    """Where two JSON values differ, and how, in words."""
    if not (isinstance(there, dict) and isinstance(here, dict)):
        yield f"{where}: {_shown(there)} there, {_shown(here)} here"
        return
    for key in there | here:
        place = f"{where} {key}".lstrip()
        if key not in here or key not in there:
            yield f"{place}: only {'there' if key in there else 'here'}"
        elif there[key] != here[key]:
            yield from _differences(there[key], here[key], place)


def _plain(plan: RunPlan) -> tuple[Decisions, list[PlannedCase]]:
    """What decided a plan, and its cases, as they are read back: JSON has no tuples, and no secret is written."""
    decisions, cases = json.loads(json.dumps(clean([plan.decided_by, [case.to_json() for case in plan.cases]])))
    return decisions, cases


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
