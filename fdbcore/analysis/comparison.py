"""Two runs compared measure by measure, or groups of calls of one run: what differs, how surely, what is better."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final, Self

from fdbcore.analysis.corpus import Run
from fdbcore.analysis.differences import Pool, PooledDifference, difference, with_holm
from fdbcore.analysis.groups import ITEM_COLUMNS, CallGroup, groups, paired_by, unit
from fdbcore.analysis.input_notes import input_notes
from fdbcore.analysis.score import pool, summarise
from fdbcore.errors import FdbError, InputError, RecordingError, SettingsError
from fdbcore.measures.catalogue import MEASURES, headlines
from fdbcore.recording.run import FAILED

if TYPE_CHECKING:
    from fdbcore.analysis.comparison_types import ComparedMeasure, ComparedSide, Comparison, DescribedRun, Verdict

COMPARISON_SCHEMA: Final = "fdbcore.comparison/1"
MOST_GROUPS: Final = 6
"""Of one run: with more, each pair against each other is too many comparisons to tell anything."""
CALL_NAME: Final = "call name"
NOT_SHOWN: Final = "not shown"
SIGNIFICANT: Final = 0.05
_MATCHING: Final = 0.5  # of the larger side must have their like: fewer gain nothing, and may be equal by accident


@dataclass(frozen=True)
class Matched:
    """Calls of two sides to be compared; what answers the same item has the same cluster on both.

    title: which calls; "" for all. paired_by: CALL_NAME, a column, or None where the sides have too little in
    common. shared, of: how many items are on both sides, and how many there are.
    """

    title: str
    a: CallGroup
    b: CallGroup
    clusters_a: Sequence[str]
    clusters_b: Sequence[str]
    paired_by: str | None
    shared: int
    of: int

    def pools(self, measure: str) -> tuple[Pool, Pool]:
        """The measure's quantities of both sides."""
        of_a, of_b = (self.a.quantities, self.clusters_a), (self.b.quantities, self.clusters_b)
        return pool(measure, *of_a), pool(measure, *of_b)


def read(corpus: Run) -> tuple[Run, CallGroup]:
    """The run with the quantities of its scored calls, without echo; those that cannot be read are unscored in it, and
    say why.

    RecordingError if none is scored.
    """
    calls, scored, quantities = [], [], []
    for call in corpus.calls:
        try:
            found = call.quantities
        except FdbError as error:
            calls.append(replace(call, status=FAILED, reason=str(error), unscored=str(error)))
            continue
        calls.append(call)
        if call.unscored is None:
            scored.append(call)
            quantities.append(found)
    if not scored:
        reason = f": {calls[0].name}: {calls[0].unscored}" if calls else ""
        raise RecordingError(f"{corpus.path}: expected scored calls, got none of {len(calls):,}{reason}")
    return Run(corpus.path, calls), CallGroup("", scored, quantities)


def match(title: str, a: CallGroup, b: CallGroup, column: str | None) -> Matched:
    """Pair calls by the values of `column`, or of a column of items, or by their names; as none, if few fit."""
    chosen = paired_by([a, b], unit([*a.calls, *b.calls], column), (*ITEM_COLUMNS, "scenario"))
    of_a, of_b = a.clusters(chosen), b.clusters(chosen)
    shared, union = len({*of_a} & {*of_b}), len({*of_a} | {*of_b})
    if shared > 1 and shared >= _MATCHING * max(len({*of_a}), len({*of_b})):
        return Matched(title, a, b, of_a, of_b, chosen.column or CALL_NAME, shared, union)
    apart_a, apart_b = [f"a {name}" for name in of_a], [f"b {name}" for name in of_b]
    return Matched(title, a, b, apart_a, apart_b, None, shared, union)


def check_comparable(run: Run, baseline: Run) -> list[str]:
    """What differs in the settings of two runs, such as "turns min_silence_ms: 300, baseline 200"."""
    leaves = [{each for settings in corpus.all_settings for each in _leaves(settings)} for corpus in (run, baseline)]
    names = dict.fromkeys(name for name, _ in sorted(leaves[0] ^ leaves[1]))
    return [f"{name}: {_values(leaves[0], name)}, baseline {_values(leaves[1], name)}" for name in names]


def _leaves(settings: Mapping[str, object], name: str = "") -> Iterator[tuple[str, str]]:
    """What decides on events: the name of each setting with its value."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{name} {key}".strip())
        elif key not in ("bias_ms", "rate_hz"):  # a telephone call has its own rate: that is the call's, no setting
            yield f"{name} {key}".strip(), json.dumps(value)


def _values(leaves: set[tuple[str, str]], name: str) -> str:
    return " and ".join(sorted(value.strip('"') for key, value in leaves if key == name)) or "none"


def pairs(
    run: CallGroup, baseline: CallGroup | None, by: str | None, cluster: str | None
) -> tuple[list[Matched], list[str]]:
    """What is to be compared with what, and what has nothing to be compared with, in words.

    InputError for a column that is not there, and for too many groups.
    """
    if baseline is None:
        assert by is not None
        found = groups(run, by)
        if not 2 <= len(found) <= MOST_GROUPS:
            raise InputError(f"--by {by}: expected 2 to {MOST_GROUPS} values without a baseline, got {len(found)}")
        return [match("", *pair, cluster) for pair in combinations(found, 2)], []
    if by is None:
        return [match("", run, baseline, cluster)], []
    new, old = ({group.name: group for group in groups(of, by)} for of in (run, baseline))
    lonely = [f"{by} = {name}: only in the {'run' if name in new else 'baseline'}" for name in new.keys() ^ old.keys()]
    both = [name for name in new if name in old]
    return [match(f"{by} = {name}", new[name], old[name], cluster) for name in both], sorted(lonely)


def rows(compared: Sequence[Matched]) -> list[list[ComparedMeasure]]:
    """The headline measures of each comparison; all of them are one family for Holm's correction."""
    found: list[tuple[int, str, PooledDifference]] = []
    for number, matched in enumerate(compared):
        for name in headlines():
            a, b = matched.pools(name)
            if a[0] or b[0]:
                found.append((number, name, difference(a, b)))
    corrected = with_holm([each for *_, each in found])
    listed: list[list[ComparedMeasure]] = [[] for _ in compared]
    for (number, name, _), each in zip(found, corrected, strict=True):
        listed[number].append(_row(name, compared[number], each))
    return listed


def _row(name: str, matched: Matched, found: PooledDifference) -> ComparedMeasure:
    a, b = (summarise([{name: q} for q in of], clusters).get(name) for of, clusters in matched.pools(name))
    return {
        "measure": name,
        "better": MEASURES[name].better,
        "verdict": verdict(name, found),
        "a": a,
        "b": b,
        **found.to_json(),
    }


def verdict(measure: str, found: PooledDifference) -> Verdict:
    """better, worse or different, where Holm's correction leaves a difference; else NOT_SHOWN."""
    if found.value is None or found.p_holm is None or found.p_holm >= SIGNIFICANT:
        return NOT_SHOWN
    direction = MEASURES[measure].better
    if direction is None:
        return "different"
    return "better" if (found.value < 0) == (direction == "less") else "worse"


@dataclass(frozen=True)
class Sides:
    """A run and what it is compared with, read once: their calls and quantities, and what must be known of both."""

    run: Run
    of_run: CallGroup
    baseline: Run | None
    of_baseline: CallGroup | None
    notes: Sequence[str]

    @classmethod
    def of(cls, run: Run, baseline: Run | None, different_settings: bool = False) -> Self:
        """SettingsError for runs of different settings, unless these are allowed; RecordingError if none is scored."""
        (run, of_run), (other, of_other) = read(run), (None, None) if baseline is None else read(baseline)
        notes = [] if other is None else _differing(run, other, different_settings)
        for name, group in (("run", of_run), ("baseline", of_other)):
            notes += [] if group is None else [f"{name}: {text}" for text in input_notes(group.calls)]
        return cls(run, of_run, other, of_other, notes)

    def compared(self, by: str | None, cluster: str | None) -> Comparison:
        """See `compare`."""
        matched, lonely = pairs(self.of_run, self.of_baseline, by, cluster) if self.baseline or by else ([], [])
        return comparison(self.run, self.baseline, matched, by, [*self.notes, *lonely])


def _differing(run: Run, baseline: Run, allowed: bool) -> list[str]:
    """What a reader must know of runs that were not made alike; SettingsError if it must not be."""
    found = check_comparable(run, baseline)
    if found and not allowed:
        raise SettingsError(
            f"{run.path} and {baseline.path}: expected the same settings, got {'; '.join(found)} "
            "(replay one of them again, or --different-settings compares them all the same)"
        )
    notes = [f"different settings: {text}" for text in found]
    versions = [", ".join(corpus.versions.get("fdbcore", ["unknown"])) for corpus in (run, baseline)]
    if versions[0] != versions[1]:
        notes.append(f"made by different versions of fdbcore: {versions[0]}, baseline {versions[1]}")
    return notes


def compare(
    run: Run,
    baseline: Run | None = None,
    *,
    by: str | None = None,
    cluster: str | None = None,
    different_settings: bool = False,
) -> Comparison:
    """Compare a run with a baseline measure by measure, or with `by` alone groups of its calls, as JSON values.

    by: a column of the calls (see `call_rows`); with a baseline each of its values is compared with the same one there.
    cluster: the column whose values the intervals resample and pair; by default clips, scenarios or names of calls that
    both sides have. different_settings: compare runs that were not made with the same settings.

    Keys: comparisons [{title, a, b, paired_by, measures [{measure, better, verdict, a, b, value, interval, p_holm,
    ...}]}], where value is a - b in the unit of the measure (ms for latencies, shares from 0 to 1), interval is of 95 %
    and verdict is "better", "worse", "different" or "not shown"; notes, run, baseline.
    Raises SettingsError for runs of different settings, InputError for a column that is not there or that has too many
    values, RecordingError where no call is scored.
    """
    if baseline is None and by is None:
        raise InputError("compare: expected a baseline or a column, got neither")
    return Sides.of(run, baseline, different_settings).compared(by, cluster)


def comparison(
    run: Run, baseline: Run | None, compared: Sequence[Matched], by: str | None, notes: Sequence[str]
) -> Comparison:
    """The comparison as JSON values, without its gates."""
    return {
        "schema": COMPARISON_SCHEMA,
        "run": _described(run),
        "baseline": None if baseline is None else _described(baseline),
        "by": by,
        "notes": list(notes),
        "comparisons": [
            {
                "title": matched.title,
                "a": _side("run" if baseline else matched.a.name, matched.clusters_a),
                "b": _side("baseline" if baseline else matched.b.name, matched.clusters_b),
                "paired_by": matched.paired_by,
                "items": matched.of,
                "shared": matched.shared,
                "measures": measures,
            }
            for matched, measures in zip(compared, rows(compared), strict=True)
        ],
    }


def _side(name: str, clusters: Sequence[str]) -> ComparedSide:
    """clusters: of each call."""
    return {"name": name, "calls": len(clusters), "clusters": len({*clusters})}


def _described(corpus: Run) -> DescribedRun:
    return {
        "path": str(corpus.path),
        "calls": len(corpus.calls),
        "unscored": {call.name: call.unscored for call in corpus.calls if call.unscored is not None},
        "settings": corpus.settings,
        "settings_sha256s": corpus.settings_sha256s,
        "versions": corpus.versions,
    }
