"""One system on one recording, with all that scoring reads: from a call of a run, or from a released result."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, structs

from fdbcore.analysis import LINE, LostCall, held_calls, read_or_lost
from fdbcore.errors import InputError
from fdbcore.measures import HeldToolCall, Reading, tool_calls_in
from fdbcore.protocols import CLEAN
from fdbcore.recording import PlannedCase, PlannedRun
from fdbcore.report import counted
from fdbcore.suites.fdb_v3.compat import AsrWord, LoggedCall, SystemLog, logged_calls, user_end_s, wanted
from fdbcore.suites.fdb_v3.scenarios import ExpectedCallEntry, LabelKind, RecordedScenarioEntry
from fdbcore.suites.fdb_v3.world import outcome, state_differences
from fdbcore.types import TICKS_PER_S, Span

RECORD: Final = "record"
"""The column of a run that has the id of the recording."""

JOIN_TICKS: Final = 20
"""Words of a released result that are closer than this are one stretch of speech."""


class SaidPart(Struct, frozen=True):
    """Words of the system that a judge took for filler, or for the key information."""

    text: str
    start_s: Annotated[float, Meta(description="from the beginning of the user's recording")]
    end_s: float


class GivenVerdict(Struct, frozen=True, omit_defaults=True):
    """A verdict of the first judge. Of several answers it is what more than half of them say."""

    right: Annotated[bool | None, Meta(description="null: unscored; the reason says why")]
    reason: str
    repeats: Annotated[list[bool | None], Meta(description="of each answer, if there are several")] = []


class V3Verdicts(Struct, frozen=True):
    """Verdicts of the first judge on a call, by the released label."""

    arguments: Annotated[list[GivenVerdict | None], Meta(description="of each expected call; null: it was not made")]
    response: Annotated[GivenVerdict | None, Meta(description="null: it was not asked")]
    filler: Annotated[SaidPart | None, Meta(description="null: none, or unscored")]
    key: Annotated[SaidPart | None, Meta(description="null: none, or unscored")]
    speech_reason: Annotated[str | None, Meta(description="of filler and key; null: it was not asked")]


@dataclass(frozen=True, slots=True)
class SystemResult:
    """The result of one system on one recording, as far as its file says. has_failed: it was not completed.

    user_words: of the user, as far as they were transcribed. first_word_s: when the system began to speak, where the
    file says so.
    """

    has_failed: bool
    transcript: str
    words: tuple[AsrWord, ...]
    user_words: tuple[AsrWord, ...]
    user_end_s: float | None
    calls: tuple[LoggedCall, ...]
    first_word_s: float | None = None

    def log(self, expected: Iterable[ExpectedCallEntry]) -> SystemLog:
        """The log by a label. An optional call that was not made is not expected."""
        label = wanted(expected, self.calls)
        return SystemLog(
            label, self.calls, self.transcript, self.words, self.user_end_s, first_word_s=self.first_word_s
        )

    def leaves_right_state(self, expected: Iterable[ExpectedCallEntry]) -> bool:
        """True if its calls leave the world as the expected ones do.

        References count all calls of the label, also the optional ones that were not made.
        """
        entries = list(expected)
        label = outcome(entries).calls
        resolved = [structs.replace(entry, args=call.args) for entry, call in zip(entries, label, strict=True)]
        made = outcome(self.calls, resolves=False)
        return not state_differences(outcome(wanted(resolved, self.calls), resolves=False).state, made.state)


def unfinished(results: Mapping[str, Mapping[str, SystemResult]]) -> Iterator[str]:
    """A line for each system of whose runs some were not completed. results: of each system."""
    for system, found in results.items():
        if count := sum(each.has_failed for each in found.values()):
            yield f"{system}: {counted(count, 'run')} of it not completed; scored by what was logged"


@dataclass(slots=True)
class V3Case:
    """One system on one recording.

    path: the folder of the call; None for a released result without audio. trial: from 1. log: what the published
    measures read, with the label as released. calls: all of them, also those that no framework logs. user_end_tick: the
    end of the user's speech, by annotation, else by turn events (without audio: its last word); None if it is not
    known. b_speech: the stretches in which the system spoke, in ticks. b_words, a_words: None if nobody listened; who
    did not speak said none, and the user's may be annotated. state: what the calls left in the world. world: its
    settings, as it describes them; None if they are not known. repaired_right: as `SystemLog.arguments_right`, of the
    repaired label. verdicts: of the first judge. by_person: somebody else than the recording was the user; the
    annotation of the recording does not hold then. line: the address of what the call went over; None if it is clean,
    or a released result.
    """

    path: Path | None
    system: str
    trial: int
    record: RecordedScenarioEntry
    log: SystemLog
    calls: Sequence[HeldToolCall]
    user_end_tick: int | None
    b_speech: Sequence[Span]
    b_words: Sequence[AsrWord] | None
    a_words: Sequence[AsrWord] | None
    state: Any
    world: Mapping[str, Any] | None
    repaired_right: tuple[bool | None, ...] | None = None
    verdicts: V3Verdicts | None = None
    by_person: bool = False
    line: str | None = None

    @property
    def where(self) -> str:
        """Its place, for problems."""
        return f"{self.record.id}: {self.system}" if self.path is None else str(self.path)

    @property
    def speech(self) -> Sequence[Span]:
        """The system's speech, in ticks; by its words where no sound tells it."""
        return self.b_speech or [(_ticks(word.start_s), _ticks(word.end_s)) for word in self.b_words or ()]

    @property
    def is_silent(self) -> bool:
        """True if it has neither speech nor words nor transcript."""
        return not self.speech and not self.log.transcript.strip()

    def log_by(self, label: LabelKind) -> SystemLog:
        """The log with the calls that one of the labels expects, and the verdicts on them."""
        if label == "as_released":
            return self.log
        expected = wanted(self.record.repaired, self.log.calls)
        return replace(self.log, expected=expected, arguments_right=self.repaired_right)


def cases_of(
    run: Path, plan: PlannedRun, recordings: Iterable[RecordedScenarioEntry], show: Callable[[str], None]
) -> tuple[list[V3Case], list[LostCall]]:
    """The calls of a run that can be scored, and the others.

    A system that said nothing is scored. A call that the harness or side A spoiled, or the system broke off, is lost,
    and so is one whose files are damaged: nobody knows what the system did then.
    """
    found: list[V3Case] = []
    lost: list[LostCall] = []
    records = {record.id: record for record in recordings}
    for path, planned in held_calls(run, plan, lost, show):
        with read_or_lost(path, planned, lost):
            record_id = planned.get("columns", {}).get(RECORD, "")
            if record_id not in records:
                raise InputError(f"expected a recording of the run's set, got {record_id!r}")
            found.append(_recorded(path, planned, records[record_id]))
    return found, lost


def _recorded(path: Path, planned: PlannedCase, record: RecordedScenarioEntry) -> V3Case:
    recording = Reading(path)
    recording.check()
    calls = tool_calls_in(recording.events)
    tools: Mapping[str, Any] = recording.meta.get("tools", {})
    speech = recording.dialogue.ipus
    users_last = int(speech["A"][-1, 1]) if len(speech["A"]) else None
    by_person = recording.meta["parties"]["A"]["kind"] != "clip"
    a_words = None if by_person else annotated_words(record)
    user_end_tick = users_last if by_person else _end_of(record, users_last)
    logged, published_end_s = tuple(logged_calls(calls)), None if a_words is None else user_end_s(a_words)
    return V3Case(
        path=path,
        system=planned["system"],
        trial=planned["trial"],
        record=record,
        log=SystemLog(wanted(record.as_released, logged), logged, "", (), published_end_s),
        calls=calls,
        user_end_tick=user_end_tick,
        b_speech=[(int(start), int(end)) for start, end in speech["B"]],
        b_words=None if len(speech["B"]) else (),
        a_words=a_words,
        state=tools.get("state", {}),
        world={name: value for name, value in tools.items() if name != "state"},
        by_person=by_person,
        line=None if (line := planned.get("columns", {}).get(LINE)) == CLEAN else line,
    )


def _end_of(record: RecordedScenarioEntry, else_tick: int | None) -> int | None:
    """The user's end by the annotation, if there is one."""
    return else_tick if record.user_end_tick is UNSET else record.user_end_tick


def annotated_words(record: RecordedScenarioEntry) -> tuple[AsrWord, ...] | None:
    """The user's words with their times, as the set of recordings has them; None if it does not."""
    words = (AsrWord(word.text, word.start_tick / TICKS_PER_S, word.end_tick / TICKS_PER_S) for word in record.words)
    return tuple(words) or None


def released_case(
    record: RecordedScenarioEntry, provider: str, result: SystemResult, path: Path | None = None
) -> V3Case:
    """A released result as a case. What a file does not say of its calls counts as done: their results, their state.

    path: the recording of its audio, which decides who spoke when; without one, the times of words do.
    """
    users_last = _ticks(result.user_words[-1].end_s) if result.user_words else None
    if users_last is None and result.user_end_s is not None:
        users_last = _ticks(result.user_end_s)
    b_speech, b_words = _stretches(result.words), result.words
    if path is not None:
        speech = Reading(path).dialogue.ipus
        users_last = int(speech["A"][-1, 1]) if len(speech["A"]) else users_last
        b_speech = [(int(start), int(end)) for start, end in speech["B"]]
    return V3Case(
        path=path,
        system=provider,
        trial=1,
        record=record,
        log=result.log(record.as_released),
        calls=[_held(number, call) for number, call in enumerate(result.calls)],
        user_end_tick=_end_of(record, users_last),
        b_speech=b_speech,
        b_words=None if b_speech and not b_words and not result.transcript else b_words,
        a_words=result.user_words or None,
        state=outcome(result.calls, resolves=False).state,
        world=None,
    )


def _held(number: int, call: LoggedCall) -> HeldToolCall:
    tick = None if call.start_s is None else _ticks(call.start_s)
    return {
        "id": str(number),
        "name": call.function,
        "side": "B",
        "status": "ok",
        "begun_tick": tick or 0,
        "complete_tick": tick,
        "end_tick": None if call.end_s is None else _ticks(call.end_s),
        "latency_ms": None,
        "arguments": dict(call.args),
    }


def _ticks(seconds: float) -> int:
    return round(seconds * TICKS_PER_S)


def _stretches(words: Iterable[AsrWord]) -> list[Span]:
    found: list[Span] = []
    for word in words:
        start, end = _ticks(word.start_s), _ticks(word.end_s)
        if found and start - found[-1][1] < JOIN_TICKS:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
