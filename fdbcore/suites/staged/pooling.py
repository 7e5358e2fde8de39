"""Runs that are scored together: none counts twice, and a name means one system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from fdbcore.errors import InputError
from fdbcore.recording.run import read_plan, state_of_case
from fdbcore.suites.staged.cases import LostCase, StagedCase, cases_of
from fdbcore.types import Problem


def dialogues_of(
    runs: Sequence[Path], show: Callable[[str], None]
) -> tuple[list[StagedCase], list[LostCase], list[Problem]]:
    """The dialogues of all runs that can be scored, the others, and what is left out as a copy.

    InputError for two systems of one name on one scenario; otherwise as `cases_of`.
    """
    _refuse_namesakes(runs)
    cases: list[StagedCase] = []
    lost: list[LostCase] = []
    for run in runs:
        own, own_lost = cases_of(run, show)
        cases += own
        lost += own_lost
    return _without_copies(cases, lost)


def _refuse_namesakes(runs: Sequence[Path]) -> None:
    """InputError if two runs of a scenario call different systems by one name: their scores would be one row.

    Over different scenarios a system may differ in part, such as a scripted one in what it says.
    """
    plans = {run: read_plan(run) for run in runs}
    systems = {run: plan["plan"]["systems"] for run, plan in plans.items()}
    scenarios = {
        run: {case.get("columns", {}).get("scenario") for case in plan["cases"]} for run, plan in plans.items()
    }
    for one, other in combinations(runs, 2):
        if not scenarios[one] & scenarios[other]:
            continue
        for name in systems[one].keys() & systems[other].keys():
            a, b = _what_decides(systems[one][name]), _what_decides(systems[other][name])
            if a != b:
                differs = ", ".join(sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key)))
                raise InputError(
                    f"{one}, {other}: expected one system named {name}, got two that differ ({differs}):"
                    " score each run alone, or hold one again under another name (--system NAME=ADDRESS)"
                )


def _what_decides(value: Any) -> Any:  # noqa: ANN401
    """A description without versions of software, and without where a file lies whose content is known."""
    if isinstance(value, dict):
        left_out = {"versions", *(["path"] if "sha256" in value else [])}
        return {key: _what_decides(each) for key, each in value.items() if key not in left_out}
    return [_what_decides(each) for each in value] if isinstance(value, list) else value


def _without_copies(
    cases: Sequence[StagedCase], lost: Sequence[LostCase]
) -> tuple[list[StagedCase], list[LostCase], list[Problem]]:
    """The calls without copies of a recording that is among them, and what is left out by this."""
    first: dict[tuple[str, str, str], Path] = {}
    problems = []
    calls: list[StagedCase | LostCase] = [*cases, *lost]
    for each in calls:
        meta = state_of_case(each.path)
        if "created" in meta:
            kept = first.setdefault((each.system, each.path.name, meta["created"]), each.path)
            if kept != each.path:
                problems.append(Problem(str(each.path), f"left out: it is the same recording as {kept}"))
    left_out = {problem.where for problem in problems}
    return (
        [case for case in cases if str(case.path) not in left_out],
        [case for case in lost if str(case.path) not in left_out],
        problems,
    )
