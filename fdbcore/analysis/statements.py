"""Scores a whole run: its measures, differences of its groups, sensitivity to settings, comparison with people."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.groups import (
    CallGroup,
    StatedGroup,
    StatedUnit,
    Unit,
    check_column,
    groups,
    rescored,
    stated,
    unit,
)
from fdbcore.analysis.input_notes import input_notes
from fdbcore.analysis.longer_moments import LongerBetween, longer_between
from fdbcore.analysis.matching import GroupDifference, are_few, group_differences, match_groups
from fdbcore.analysis.reference import BesideReference, beside_reference
from fdbcore.analysis.sensitivity import Sensitivity
from fdbcore.analysis.sensitivity import sensitivity as under_settings
from fdbcore.errors import RecordingError, SettingsError
from fdbcore.recording.files import write_json
from fdbcore.recording.meta import Settings
from fdbcore.runtime.executor import Executor, Workers
from fdbcore.types.units import Count

STATEMENTS: Final = "scores.json"
STATEMENTS_SCHEMA: Final = "fdbcore.statements/1"


class Evidence(TypedDict):
    """The basis of the statements, and which calls are in none of them."""

    schema: Literal["fdbcore.statements/1"]
    run: Annotated[str, Meta(description="the name of its folder")]
    by: Annotated[str | None, Meta(description="the column whose values are the groups")]
    unscored: Annotated[dict[str, str], Meta(description="calls that are in no figure: why")]
    unread: Annotated[dict[str, str], Meta(description="those of them that could not be read")]
    settings: Annotated[Settings, Meta(description="those of most calls")]
    settings_sha256s: Annotated[dict[str, Count], Meta(description="how many calls have each settings")]
    versions: Annotated[dict[str, list[str]], Meta(description="of each package, the most common first")]


class StatedGroups(StatedGroup):
    """All calls, their groups and how these differ; where asked for, under many settings and beside a reference."""

    unit: StatedUnit
    groups: list[StatedGroup]
    paired_by: Annotated[str | None, Meta(description="what all differences are paired by, if they are")]
    differences: Annotated[list[GroupDifference], Meta(description="of each pair of groups, measure by measure")]
    longer: Annotated[
        list[LongerBetween], Meta(description="pairs of groups of which one has longer moments; none of many groups")
    ]
    sensitivity: NotRequired[Sensitivity]
    reference: NotRequired[BesideReference]


class Statements(Evidence, StatedGroups):
    """Statements on a run: its measures, its groups, how these differ. Fields may be added under the same version; a
    field is never given another meaning."""

    input: Annotated[list[str], Meta(description="what must be known of the audio")]


def score(
    run: Run,
    *,
    by: str | None = None,
    cluster: str | None = None,
    sensitivity: bool = False,
    detectors: Sequence[str] = (),
    reference: Run | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | os.PathLike[str] | None = None,
    watch: Callable[[str], None] = lambda work: None,
) -> Statements:
    """Score every call of a run anew, and say what holds of all of them: the content of scores.json, as JSON values.

    by: a column of the calls (see `call_rows`) whose values are compared with each other. cluster: the column whose
    values the intervals resample; by default the call. sensitivity: also read the stored activity under many settings.
    detectors: other voice activity detectors to read the calls with, also without `sensitivity`.
    reference: a run of conversations between people to compare with. jobs: processes; by default one per processor.
    executor: reads the calls in their place. out: the folder for scores.json; without it, it is the run's own, and the
    scores of each call are renewed there too. watch: called for each call that is done, with a text that names the
    kind of work.

    Keys: measures {id: {n, median, mean, p90, ci95, unit, ...}} with latencies in ms, shares from 0 to 1, and ci95
    (low, high) or None; groups [{name, calls, clusters, measures}]; differences [{measure, a, b, value, interval, p,
    p_holm, ...}]; unscored and unread {call: reason}; settings, versions, input; and sensitivity and reference, if
    requested.
    Raises SettingsError if the run cannot be written, InputError for an unknown column, RecordingError if no call is
    scored.
    """
    folder = Path(out or run.path)
    keep = folder == run.path
    if keep and not os.access(run.path, os.W_OK):
        raise SettingsError(f"{run.path}: cannot be written: choose another folder for the results by --out")
    workers = executor or Workers(jobs)
    chosen = unit(run.scored, cluster)
    if by is not None:
        check_column(run.scored, by, "--by")
    gone = {call.name: str(call.unscored) for call in run.calls if call.is_unreadable}
    told = f"scored, of {len(run.scored):,} calls"
    calls, unread = rescored(run, workers, lambda: watch(told), keep)
    if not calls.calls or run.settings is None:
        unscored = {call.name: call.unscored for call in run.calls if call.unscored is not None}
        why = next((f": {name}: {reason}" for name, reason in (unscored | unread).items()), "")
        raise RecordingError(f"{run.path}: expected scored calls, got none of {len(run.calls):,}{why}")
    found = groups(calls, by) if by else []
    content: Statements = {
        **_evidence(run, run.settings, by, gone | unread),
        "input": input_notes(calls.calls),
        **statements(calls, chosen, found, by or ""),
    }
    if sensitivity or detectors:
        content["sensitivity"] = under_settings(
            found or [calls],
            run.settings,
            workers,
            lambda: watch("read under other settings"),
            detectors,
            alone=not sensitivity,
        )
    if reference is not None:
        content["reference"] = beside_reference(
            found or [calls], chosen, run.settings, reference, lambda: watch("read beside the reference")
        )
    write_json(folder / STATEMENTS, content)
    return content


def _evidence(run: Run, settings: Settings, by: str | None, unread: Mapping[str, str]) -> Evidence:
    """The origin of the scores, and which calls are left out."""
    unscored = {call.name: call.unscored for call in run.calls if call.unscored is not None}
    return {
        "schema": STATEMENTS_SCHEMA,
        "run": run.path.resolve().name,
        "by": by,
        "unscored": unscored | dict(unread),
        "unread": dict(unread),
        "settings": settings,
        "settings_sha256s": run.settings_sha256s,
        "versions": run.versions,
    }


def statements(run: CallGroup, chosen: Unit, by: Sequence[CallGroup] = (), column: str = "") -> StatedGroups:
    """The pooled measures of a run and of its groups by `column`, and how the groups differ, as JSON values."""
    compared = match_groups(column, by, chosen.column)
    found = group_differences(compared)
    pairings = {each["paired_by"] for each in found}
    of_all = stated(run, chosen)
    return {
        "name": of_all["name"],
        "calls": of_all["calls"],
        "clusters": of_all["clusters"],
        "measures": of_all["measures"],
        "unit": {"column": chosen.column, "own": list(chosen.own)},
        "groups": [stated(group, chosen) for group in by],
        "paired_by": pairings.pop() if len(pairings) == 1 else None,
        "differences": found,
        "longer": longer_between(compared) if are_few(column, by) else [],
    }
