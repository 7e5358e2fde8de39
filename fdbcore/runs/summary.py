"""Scores and summarises a run: counts of its cases by how they ended, and the measures of each system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fdbcore.analysis.line_effects import pooled_lines
from fdbcore.analysis.score import score, summary, unscored
from fdbcore.measures.costs import total
from fdbcore.measures.placed_lines import placed_lines
from fdbcore.measures.reading import Reading
from fdbcore.recording.files import SCORES, write_json
from fdbcore.recording.run import SCORED, SUMMARY
from fdbcore.runs.amend import keep_stages
from fdbcore.runs.folder import RunFolder
from fdbcore.sources.clips import natural_order

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import RunSummary, SystemSummary

RUN_SUMMARY_SCHEMA: Final = "fdbcore.run_summary/2"


def score_cases(folder: RunFolder) -> Iterator[Reading]:
    """Score each recording of a run that is not scored yet, and yield it. Do not call it while calls are live."""
    for case in folder.plan.cases:
        reading = folder.recording(case)
        if reading is None:
            continue
        keep_stages(reading)
        if not all((reading.path / part).is_file() for part in SCORED):
            score(reading)
            yield reading


def summarise(folder: RunFolder) -> RunSummary:
    """Write the summary of a run to its summary.json, and return it.

    Each system has {"cases", "reasons", "recordings", "measures", "lines"}. cases: counts; "planned" is the
    denominator, and "again" counts the cases that were held more than once. reasons: how often each reason occurred.
    measures, lines: pooled over all recordings that can be scored, which includes calls that failed after their first
    tick.
    """
    values: RunSummary = {
        "schema": RUN_SUMMARY_SCHEMA,
        "plan": folder.plan.decided_by,
        "systems": {name: _system(folder, name) for name in folder.plan.systems},
    }
    if (cost := total(folder.cost(case) for case in folder.plan.cases)) is not None:
        values["cost"] = cost.to_json()
    write_json(folder.path / SUMMARY, values)
    return values


def recordings_of(folder: RunFolder, system: str) -> list[Reading]:
    """The scored recordings of one system, in the order of their names: that of the plan hangs on its seed."""
    cases = sorted(folder.plan.cases, key=lambda case: natural_order(case.name))
    found = (folder.recording(case) for case in cases if case.system.name == system)
    return [recording for recording in found if recording is not None and (recording.path / SCORES).is_file()]


def _system(folder: RunFolder, name: str) -> SystemSummary:
    cases = [case for case in folder.plan.cases if case.system.name == name]
    outcomes = [outcome for case in cases if (outcome := folder.outcome(case)) is not None]
    kinds = Counter(outcome["kind"] for outcome in outcomes)
    reasons = Counter(f"{outcome['kind']}: {outcome['reason']}" for outcome in outcomes if outcome["reason"])
    again = sum(bool(folder.attempts(case)) for case in cases)
    recordings = recordings_of(folder, name)
    pooled = summary(recordings)
    found: SystemSummary = {
        "cases": {
            "planned": len(cases),
            "done": kinds["done"],
            "failed": kinds["failed"],
            "invalid": kinds["invalid"],
            "left": len(cases) - len(outcomes),
            "again": again,
        },
        "reasons": dict(reasons.most_common()),
        "recordings": pooled["recordings"],
        "measures": pooled["measures"],
        "lines": pooled_lines(
            (reading.path.name, placed_lines(reading)) for reading in recordings if unscored(reading) is None
        ),
    }
    if (cost := total(map(folder.cost, cases))) is not None:
        found["cost"] = cost.to_json()
    return found
