"""Statements on a whole run: measures, differences of groups, what settings move, a comparison with people."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, NotRequired, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.groups import CallGroup, StatedGroup, StatedUnit, Unit, stated
from fdbcore.analysis.longer_moments import LongerBetween, longer_between
from fdbcore.analysis.matching import GroupDifference, are_few, group_differences, match_groups
from fdbcore.analysis.reference import BesideReference
from fdbcore.analysis.sensitivity import Sensitivity
from fdbcore.recording.meta import Settings
from fdbcore.types.units import Count

STATEMENTS: Final = "scores.json"


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


def evidence(run: Run, settings: Settings, by: str | None, unread: Mapping[str, str]) -> Evidence:
    """The making of the scores, and which calls are left out."""
    unscored = {call.name: call.unscored for call in run.calls if call.unscored is not None}
    return {
        "schema": "fdbcore.statements/1",
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
