"""Compares two runs, or groups of calls of one run, measure by measure: differences, p values, better or worse."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NotRequired, Self, TypeAlias, TypedDict

from msgspec import Meta

from fdbcore.analysis.corpus import Run, unreadable
from fdbcore.analysis.differences import BetterWhen, MeasuredDifference, VerdictOfA, verdict
from fdbcore.analysis.gate_moments import GateMoment, worsened
from fdbcore.analysis.gate_results import DecidedGates
from fdbcore.analysis.groups import CallGroup, groups
from fdbcore.analysis.input_notes import input_notes
from fdbcore.analysis.longer_moments import LongerBetween, LongestMoments, longer_moments, longest_moments, read_moments
from fdbcore.analysis.matching import MOST_COMPARED, Matched, are_few, match, match_groups, side, tested
from fdbcore.analysis.settings_differences import check_one_detector, check_same_detector, differing_between
from fdbcore.analysis.summaries import Summary, summarise
from fdbcore.errors import FdbError, InputError, RecordingError, SettingsError
from fdbcore.measures.catalogue import MEASURES
from fdbcore.recording.meta import Settings, left_out_of
from fdbcore.types import clock_text, ticks_to_s
from fdbcore.types.units import Count


class ComparedMeasure(MeasuredDifference):
    """A measure of both sides, and a less b."""

    measure: str
    better: BetterWhen
    verdict: VerdictOfA
    a: Annotated[Summary | None, Meta(description="null where no call has the measure")]
    b: Annotated[Summary | None, Meta(description="null where no call has the measure")]
    worst: Annotated[list[GateMoment], Meta(description="of a measure that is worse, what to listen to in a")]


class ComparedCalls(LongerBetween):
    """Two groups of calls, measure by measure."""

    items: Annotated[Count, Meta(description="that either side has")]
    shared: Annotated[Count, Meta(description="that both sides have")]
    measures: list[ComparedMeasure]
    longest: NotRequired[
        Annotated[list[LongestMoments], Meta(description="a against its baseline, all calls: may be chance")]
    ]


class DescribedRun(TypedDict):
    """A run that was compared, and what made it."""

    path: str
    calls: Count
    unscored: Annotated[dict[str, str], Meta(description="calls that are in no figure: why")]
    settings: Annotated[Settings | None, Meta(description="those of most calls")]
    settings_sha256s: Annotated[dict[str, Count], Meta(description="how many calls have each settings")]
    versions: Annotated[dict[str, list[str]], Meta(description="of each package, the most common first")]


class RunComparison(TypedDict):
    """Two runs, or groups of calls, compared measure by measure. Fields may be added under the same version; a field is
    never given another meaning."""

    schema: Literal["fdbcore.comparison/2"]
    run: DescribedRun
    baseline: DescribedRun | None
    by: Annotated[str | None, Meta(description="the column whose values are compared")]
    notes: Annotated[list[str], Meta(description="what must be known before any figure")]
    comparisons: list[ComparedCalls]
    gates: NotRequired[DecidedGates]
    made: NotRequired[Annotated[str, Meta(description="when, in UTC; where it is kept with its run")]]
    scores_sha256: NotRequired[Annotated[str, Meta(description="of the scores that it holds for; where it is kept")]]


COMPARISON_SCHEMA: Final = "fdbcore.comparison/2"
Names: TypeAlias = tuple[str, str]
"""Names of two runs in notes."""
RUN_AND_BASELINE: Final = ("run", "baseline")
MOST_NAMES: Final = 3
"""At most this many calls are named in a note."""


def read(corpus: Run) -> tuple[Run, CallGroup]:
    """The run, and the quantities of its scored calls, without echo.

    Calls that cannot be read become unscored in it, with the reason. Raises RecordingError if no call is scored.
    """
    calls, scored, quantities = [], [], []
    for call in corpus.calls:
        try:
            found = call.quantities
        except FdbError as error:
            calls.append(unreadable(call, error))
            continue
        calls.append(call)
        if call.unscored is None:
            scored.append(call)
            quantities.append(found)
    if not scored:
        reason = f": {calls[0].name}: {calls[0].unscored}" if calls else ""
        raise RecordingError(f"{corpus.path}: expected scored calls, got none of {len(calls):,}{reason}")
    return Run(corpus.path, calls), CallGroup("", scored, quantities)


def pairs(
    run: CallGroup, baseline: CallGroup | None, by: str | None, cluster: str | None
) -> tuple[list[Matched], list[str]]:
    """The pairs of groups to compare, and notes on groups that have no partner.

    Raises InputError for an unknown column, and for too many groups.
    """
    if baseline is None:
        assert by is not None
        found = groups(run, by)
        if len(found) < 2 or not are_few(by, found):
            raise InputError(f"--by {by}: expected 2 to {MOST_COMPARED} values without a baseline, got {len(found)}")
        return match_groups(by, found, cluster), []
    if by is None:
        return [match("", run, baseline, cluster)], []
    new, old = (_by_value(group, by, name) for group, name in zip((run, baseline), RUN_AND_BASELINE, strict=True))
    lonely = [f"{by} = {name}: only in the {'run' if name in new else 'baseline'}" for name in new.keys() ^ old.keys()]
    both = [name for name in new if name in old]
    return [match(f"{by} = {name}", new[name], old[name], cluster) for name in both], sorted(lonely)


def _by_value(calls: CallGroup, column: str, name: str) -> dict[str, CallGroup]:
    """The groups of a column by their values. InputError for a column that no call of the run has. name: of the run."""
    try:
        return {group.name: group for group in groups(calls, column)}
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def rows(compared: Sequence[Matched]) -> list[list[ComparedMeasure]]:
    """The headline measures of each comparison, without those that no call of either side has."""
    return [
        [
            _row(name, of, found)
            for name, found in measured.items()
            if any(quantities for quantities, _ in of.pools(name))
        ]
        for of, measured in zip(compared, tested(compared), strict=True)
    ]


def _row(name: str, matched: Matched, found: MeasuredDifference) -> ComparedMeasure:
    a, b = (
        summarise([{name: quantity} for quantity in pooled], clusters).get(name)
        for pooled, clusters in matched.pools(name)
    )
    told = verdict(found, MEASURES[name].better)
    return {
        "measure": name,
        "better": MEASURES[name].better,
        "verdict": told,
        "a": a,
        "b": b,
        "worst": worsened(matched, name) if told == "worse" else [],
        **found,
    }


@dataclass(frozen=True)
class Sides:
    """A run and its baseline, both read once: their calls, their quantities, and notes on both for the reader."""

    run: Run
    of_run: CallGroup
    baseline: Run | None
    of_baseline: CallGroup | None
    notes: Sequence[str]

    @classmethod
    def of(
        cls, run: Run, baseline: Run | None, different_settings: bool = False, called: Names = RUN_AND_BASELINE
    ) -> Self:
        """Read both runs. Raises SettingsError for different settings, unless these are allowed, and RecordingError if
        no call is scored."""
        (run, of_run), (baseline, of_baseline) = read(run), (None, None) if baseline is None else read(baseline)
        for each in filter(None, (run, baseline)) if not different_settings else ():
            check_one_detector(each)
        notes = [] if baseline is None else differing(run, baseline, different_settings, called)
        for name, group in zip(called, (of_run, of_baseline), strict=True):
            notes += [] if group is None else [f"{name}: {text}" for text in input_notes(group.calls)]
        return cls(run, of_run, baseline, of_baseline, notes)

    def compared(self, by: str | None, cluster: str | None) -> RunComparison:
        """The comparison as JSON values, without gates; see `compare`.

        Of all calls, beside groups, only the moments that are longer and the longest are listed, if there are any.
        """
        matched, lonely = pairs(self.of_run, self.of_baseline, by, cluster) if self.baseline or by else ([], [])
        # A change in a few calls of each group may be too little in any of them: all are asked together too.
        whole = match("all calls", self.of_run, self.of_baseline, cluster) if self.of_baseline and by else None
        found = [*zip(matched, rows(matched), strict=True), *([(whole, [])] if whole else [])]
        read = read_moments([of for of, _ in found])
        longer_of = longer_moments([of for of, _ in found], read)
        last = found[-1][0] if found else None  # of all calls, if there is a baseline
        longest = longest_moments(last, read) if self.baseline and last else []
        comparisons: list[ComparedCalls] = [
            {
                "title": of.title,
                "a": side("run" if self.baseline else of.a.name, of.clusters_a),
                "b": side("baseline" if self.baseline else of.b.name, of.clusters_b),
                "paired_by": of.paired_by,
                "items": of.of,
                "shared": of.shared,
                "measures": measures,
                "longer": longer,
            }
            for (of, measures), longer in zip(found, longer_of, strict=True)
            if measures or longer or (longest and of is last)
        ]
        if longest or (comparisons and self.baseline and not by):
            comparisons[-1]["longest"] = longest
        return {
            "schema": COMPARISON_SCHEMA,
            "run": described(self.run),
            "baseline": None if self.baseline is None else described(self.baseline),
            "by": by,
            "notes": [*self.notes, *lonely],
            "comparisons": comparisons,
        }


def differing(run: Run, baseline: Run, allowed: bool, called: Names = RUN_AND_BASELINE) -> list[str]:
    """Notes on what differs in the settings and versions of both. SettingsError for settings, unless allowed."""
    found = differing_between({name: each.all_settings for name, each in zip(called, (run, baseline), strict=True)})
    if not allowed:
        others = [text for text in found if not text.startswith("vad ")]
        check_same_detector(run, baseline, f", and {'; '.join(others)}" if others else "")
    if found and not allowed:
        raise SettingsError(
            f"{run.path} and {baseline.path}: expected the same settings, got {'; '.join(found)} "
            "(replay one of them again, or compare them anyway with --different-settings)"
        )
    notes = [f"different settings: {text}" for text in found]
    versions = [", ".join(corpus.versions.get("fdbcore", ["unknown"])) for corpus in (run, baseline)]
    if versions[0] != versions[1]:
        notes.append(f"made by different versions of fdbcore: {called[0]} {versions[0]}, {called[1]} {versions[1]}")
    return [*notes, *_left_out(run, baseline, called)]


def _left_out(run: Run, baseline: Run, called: Names) -> Iterator[str]:
    """A note if one side leaves out other parts of its calls than the other."""
    parts = [{call.name: left_out_of(call.recording.meta) for call in side.scored} for side in (run, baseline)]
    names = [name for name in parts[0] | parts[1] if parts[0].get(name, []) != parts[1].get(name, [])]
    if names:
        told = []
        for name, of in zip(called, (run, baseline), strict=True):
            n_ticks = [call.recording.n_ticks for call in of.scored]
            kept = [sum(end - start for start, end in call.recording.kept) for call in of.scored]
            measured, whole = (clock_text(ticks_to_s(sum(ticks))) for ticks in (kept, n_ticks))
            told.append(f"{name} measures {measured} of {whole}")
        shown = ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES:,} more" if names[MOST_NAMES:] else "")
        yield f"different parts are left out of {shown}: {', '.join(told)}"


def compare(
    run: Run,
    baseline: Run | None = None,
    *,
    by: str | None = None,
    cluster: str | None = None,
    different_settings: bool = False,
) -> RunComparison:
    """Compare a run with a baseline, or the groups of its calls with each other, as JSON values.

    by: a column of the calls (see `call_rows`). With a baseline, each group is compared with the same group there;
    without one, the groups of the run are compared with each other. cluster: the column whose values the intervals
    resample and pair; by default clips, scenarios or names of calls that both sides share. different_settings: compare
    the runs even if their settings differ.

    Keys: comparisons [{title, a, b, paired_by, measures [{measure, better, verdict, a, b, value, interval, p_holm,
    worst, ...}]}], where value is a - b in the unit of the measure (ms for latencies, shares from 0 to 1), interval has
    95 %, verdict is "better", "worse", "different", "no difference found" or "undecided" (it could not be tested), and
    worst is what to listen to if it is worse; notes, run, baseline.
    Raises SettingsError for runs with different settings, InputError for an unknown column or one with too many values,
    RecordingError if no call is scored.
    """
    if baseline is None and by is None:
        raise InputError("compare: expected a baseline or a column, got neither")
    return Sides.of(run, baseline, different_settings).compared(by, cluster)


def described(corpus: Run) -> DescribedRun:
    """A run, as a document has it."""
    return {
        "path": str(corpus.path),
        "calls": len(corpus.calls),
        "unscored": {call.name: call.unscored for call in corpus.calls if call.unscored is not None},
        "settings": corpus.settings,
        "settings_sha256s": corpus.settings_sha256s,
        "versions": corpus.versions,
    }
