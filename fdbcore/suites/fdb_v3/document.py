"""The document of scores: everything that can be computed from runs and from released results of systems."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from fdbcore.analysis import LostCall
from fdbcore.measures import HeldToolCall, Reading
from fdbcore.results import PooledWith, Scores, by_system, every_two, gated_differences, passes_of, problem_entries
from fdbcore.suites.fdb_v3.cases import V3Case, V3Verdicts
from fdbcore.suites.fdb_v3.compat import failure, matches_exactly
from fdbcore.suites.fdb_v3.judge import V3Judging
from fdbcore.suites.fdb_v3.measures import MEASURES
from fdbcore.suites.fdb_v3.playing import V3Played
from fdbcore.suites.fdb_v3.questions import labelled_pairs
from fdbcore.suites.fdb_v3.rows import (
    PEOPLE,
    LatencyExtremes,
    MeasuredCase,
    RankAgreement,
    V3Published,
    latencies,
    measured,
    published,
    published_rows,
    ranks_of,
    scored_rows,
)
from fdbcore.suites.fdb_v3.scenarios import DataCard, Difficulty, Disfluency, Domain, ExpectedCallEntry
from fdbcore.suites.fdb_v3.tool_calls import FailureClass
from fdbcore.types import TICKS_PER_S, Problem, Span
from fdbcore.types.scorecard import ScoreRow

SCHEMA: Final = "fdbcore.fdb_v3/2"
RELEASED: Final = "released results"
"""The condition of results that others made."""

SpeechSpans: TypeAlias = Annotated[list[tuple[float, float]], Meta(description="stretches of speech, in s")]
SecondsFromStart: TypeAlias = Annotated[float | None, Meta(description="s from the beginning of the recording")]


@dataclass(slots=True)
class Read:
    """Data read of runs and released folders. sets: the data cards of their recordings. played: how runs did."""

    cases: list[V3Case] = field(default_factory=list)
    lost: list[LostCall] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    sets: list[DataCard] = field(default_factory=list)
    played: list[V3Played] = field(default_factory=list)


class LostCalls(Struct, frozen=True):
    """Calls of a system that are not scored."""

    system: str
    failed: Annotated[int, Meta(description="the system broke off, or could not be reached")]
    invalid: Annotated[int, Meta(description="the harness is to blame")]
    missing: Annotated[int, Meta(description="not held yet, or they cannot be read")]


class V3Call(Struct, frozen=True):
    """A call of a tool."""

    name: str
    arguments: Any
    status: str
    start_s: Annotated[SecondsFromStart, Meta(description="when its arguments were complete")]
    end_s: Annotated[SecondsFromStart, Meta(description="of its result")]
    result: Annotated[Any, Meta(description="null where there is none, or it is not known")]
    error: str | None


class V3Item(Struct, frozen=True):
    """A system on a recording."""

    condition: str
    system: str
    trial: int
    line: Annotated[str | None, Meta(description="what the call goes over; null: clean, or a released result")]
    call: Annotated[str | None, Meta(description="folder of the call; null: a released result")]
    record: str
    scenario: str
    speaker: str
    domain: Domain
    difficulty: Difficulty
    disfluencies: list[Disfluency]
    rollback: bool
    script: str
    length_s: float
    user_end_s: SecondsFromStart
    user_speech: SpeechSpans
    system_speech: SpeechSpans
    transcript: Annotated[str | None, Meta(description="what the system said; null: nobody listened")]
    calls: list[V3Call]
    as_released: list[ExpectedCallEntry]
    repaired: list[ExpectedCallEntry]
    repairs: Annotated[list[str], Meta(description="why the repaired label differs, a line each")]
    state: Annotated[Any, Meta(description="what the calls left in the world")]
    matched: Annotated[list[bool], Meta(description="of each expected call, as released: by the exact matcher")]
    verdicts: Annotated[V3Verdicts | None, Meta(description="of the first judge; null without one")]
    values: Annotated[dict[str, float], Meta(description="by scale; what is not known is left out")]
    compat_failure: Annotated[str | None, Meta(description="by the label as released; null: it passes")]
    failure: Annotated[FailureClass | None, Meta(description="ours, by the repaired label; null: it passes")]


class V3Settings(PooledWith, frozen=True, kw_only=True):
    """Settings with which the figures were computed."""

    transcriber: str | None


class V3Scores(Scores, frozen=True, kw_only=True):
    """The scores of systems on recordings of disfluent speech, with tools.

    A condition is how the tools behave (their latency, faults), or: released results. Measures that begin with compat_
    are the published ones, by the label as released; counts beside rows are of recordings, of calls whose words are
    known, and of calls that do not pass, by why.
    """

    schema: Literal["fdbcore.fdb_v3/2"]
    settings: V3Settings
    repaired: Annotated[list[ScoreRow], Meta(description="the published measures by the repaired label")]
    latencies: list[LatencyExtremes]
    data: Annotated[list[DataCard], Meta(description="of each set of recordings that the scored calls come from")]
    played: Annotated[list[V3Played], Meta(description="of each run; released results say nothing of theirs")]
    people: Annotated[list[RankAgreement], Meta(description="people and recordings; empty without calls of both")]
    lost: list[LostCalls]
    judging: Annotated[V3Judging | None, Meta(description="null without a judge")]
    published: Annotated[V3Published | None, Meta(description="null where it was not asked for")]
    items: list[V3Item]


def condition_of(case: V3Case) -> str:
    """The condition of a call: how the tools behave towards a system, and what the call goes over, in words."""
    if case.world is None:
        return RELEASED
    told = [f"{PEOPLE if case.by_person else ''}tools: {case.world.get('latency', 'instant')}"]
    if faults := case.world.get("faults"):
        told.append(f"faults: {faults}")
    if case.line is not None:
        told.append(f"line {case.line}")
    return ", ".join(told)


def document(
    found: Read, transcriber: str | None = None, judging: V3Judging | None = None, with_published: bool = False
) -> V3Scores:
    """The scores of these cases. transcriber: who heard the calls. judging: how judges were asked. with_published: also
    the paper's tables.
    """
    groups: dict[str, list[V3Case]] = {}
    for case in sorted(found.cases, key=lambda case: case.line is not None):
        groups.setdefault(condition_of(case), []).append(case)
    cases = [case for name, own in groups.items() for case in measured(name, own, judging is not None)]
    items = [case.item() for case in cases]
    rows, beside = list(scored_rows(cases)), published() if with_published else None
    differences = gated_differences(every_two(items), list(MEASURES.values()))
    passes = [
        passes_of(own, lambda item: item.values["passed"] == (1.0,), least_trials=2)
        for own in by_system(items).values()
    ]
    return V3Scores(
        schema=SCHEMA,
        rows=[*rows, *([] if beside is None else published_rows(beside))],
        differences=differences,
        passes=[each for each in passes if each is not None],
        problems=problem_entries(found.problems),
        warnings=found.warnings,
        settings=V3Settings(transcriber=transcriber, family=len(differences)),
        repaired=list(scored_rows(cases, "repaired")),
        latencies=list(latencies(items)),
        data=found.sets,
        played=found.played,
        people=list(ranks_of(items)),
        lost=_lost(found.lost),
        judging=judging,
        published=beside,
        items=list(map(_item, cases)),
    )


def _lost(lost: Sequence[LostCall]) -> list[LostCalls]:
    counts = Counter((each.system, each.kind) for each in lost)
    return [
        LostCalls(name, counts[name, "failed"], counts[name, "invalid"], counts[name, "missing"])
        for name in dict.fromkeys(each.system for each in lost)
    ]


def _item(measured: MeasuredCase) -> V3Item:
    case, record, log = measured.case, measured.case.record, measured.case.log
    calls = [_call(call) for call in case.calls]
    speech = _user_speech(case)
    ends = [end for _, end in (*speech, *_seconds(case.b_speech))]
    ends += [call.end_s or call.start_s or 0.0 for call in calls]
    length_s = record.audio.length_s or 0.0 if case.path is None else Reading(case.path).n_ticks / TICKS_PER_S
    return V3Item(
        condition=measured.condition,
        system=case.system,
        trial=case.trial,
        line=case.line,
        call=None if case.path is None else str(case.path),
        record=record.id,
        scenario=record.scenario,
        speaker=record.speaker,
        domain=record.domain,
        difficulty=record.difficulty,
        disfluencies=record.disfluencies,
        rollback=bool(record.rollback_test),
        script=record.script,
        length_s=max(length_s, *ends, 0.0) if ends else length_s,
        user_end_s=None if case.user_end_tick is None else case.user_end_tick / TICKS_PER_S,
        user_speech=speech,
        system_speech=_seconds(case.b_speech),
        transcript=None if case.b_words is None else log.transcript,
        calls=calls,
        as_released=record.as_released,
        repaired=record.repaired,
        repairs=[repair.reason for repair in record.repairs],
        state=case.state,
        matched=[
            made is not None and matches_exactly(expected.args, made.args)
            for expected, made in labelled_pairs(case, "as_released")
        ],
        verdicts=case.verdicts,
        values=measured.shown(),
        compat_failure=failure(log),
        failure=measured.failure,
    )


def _user_speech(case: V3Case) -> list[tuple[float, float]]:
    if case.path is not None:
        return _seconds((int(start), int(end)) for start, end in Reading(case.path).dialogue.ipus["A"])
    return [(word.start_s, word.end_s) for word in case.a_words or ()]


def _seconds(spans: Iterable[Span]) -> list[tuple[float, float]]:
    return [(start / TICKS_PER_S, end / TICKS_PER_S) for start, end in spans]


def _call(call: HeldToolCall) -> V3Call:
    start, end = call["complete_tick"], call["end_tick"]
    return V3Call(
        call["name"],
        call["arguments"],
        call["status"],
        None if start is None else start / TICKS_PER_S,
        None if end is None else end / TICKS_PER_S,
        call.get("result"),
        call.get("error"),
    )
