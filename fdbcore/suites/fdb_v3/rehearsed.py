"""A system that has rehearsed the smoke set: it makes the calls of the label and says the reply, or has one fault.

    rehearsed:
    rehearsed:?fault=stale

It knows a recording by how loud it is from tick to tick, and when its user has finished. So it shows what the measures
say of a system that is right, and what one fault changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, structs

from fdbcore.audio import AudioFile
from fdbcore.endpoints import spoken
from fdbcore.errors import SettingsError
from fdbcore.protocols import Endpoint
from fdbcore.registry import speaker
from fdbcore.runtime import Setting, parsed, resolved
from fdbcore.suites.fdb_v3.scenarios import (
    FOLDER,
    SMOKE,
    ExpectedCallEntry,
    RecordedScenarioEntry,
    RecordedScenarioFile,
    RollbackEntry,
)
from fdbcore.suites.fdb_v3.world import FunctionCall
from fdbcore.types import SILENT_FRAME, TICK_MS, TICKS_PER_S, Happening, Pcm, Side
from fdbcore.types.system_events import TRANSCRIPT
from fdbcore.types.tools import Tool, ToolCall, ToolResult

Levels: TypeAlias = npt.NDArray[np.float64]

LEAST_TICKS, MOST_TICKS = 150, 250
"""Of speech, so many ticks tell a recording from the others; more are not compared."""
ALIKE: Final = 0.9
"""The correlation of levels from which on two sounds are the same."""

FAULTS: Final[Mapping[str, str]] = {
    "wrong-tool": "another function in place of the last call",
    "wrong-argument": "another value in the last call",
    "stale": "what the user has corrected stays as it was",
    "early": "what is corrected is called before the correction, and not again",
    "silent": "the calls are right, and nothing is said",
    "filler": "the calls are right, and only filler is said",
    "late": "all comes four seconds later",
    "talks-over": "the reply begins before the user has finished, and the calls come when they should",
}
"""Each fault, in words."""
SETTINGS: Final = (Setting("fault", "the fault that is planted", choices=tuple(FAULTS)),)
VOICE, LEVEL_DBOV = "espeak-ng:en-us+f3", -26.0
FILLER: Final = "One moment, please, I will look that up."
CALLS_TICKS, LATE_TICKS, REPLY_TICKS = 50, 450, 20
"""From the user's end to the first call, as it should be and late; from the last result to the reply."""
TALKS_OVER_TICKS: Final = -100
RECOGNISED_EVERY_TICKS: Final = 25


class KnownSound(NamedTuple):
    """A recording that is heard. start: the tick of what was heard at which it began; below 0 if its beginning is not
    there.
    """

    record: RecordedScenarioEntry
    start: int


def level(pcm: npt.NDArray[np.int16]) -> float:
    """The level of (n,) samples: their RMS."""
    return float(np.sqrt(np.mean(pcm.astype(np.float64) ** 2)))


@cache
def smoke_records() -> Mapping[str, RecordedScenarioEntry]:
    """The records of the smoke set by their ids."""
    return {record.id: record for record in msgspec.json.decode(SMOKE.read_bytes(), type=RecordedScenarioFile).record}


@cache
def _levels() -> Mapping[str, Levels]:
    """The level of each tick of each recording."""
    found = {}
    for name, record in smoke_records().items():
        with AudioFile(FOLDER / record.audio.path) as file:
            pcm = np.concatenate([block[:, 0] for block in file.blocks()]).astype(np.float64)
        samples = record.audio.rate_hz // TICKS_PER_S
        ticks = pcm[: len(pcm) // samples * samples].reshape(-1, samples)
        found[name] = np.sqrt(np.mean(ticks**2, axis=1))
    return found


def known_sound(heard: Sequence[float]) -> KnownSound | None:
    """The recording of which at least LEAST_TICKS of speech are heard; None if there is none. heard: levels by tick."""
    levels = np.array(heard)
    loud = np.flatnonzero(levels > levels.max(initial=0.0) / 20)
    if not len(loud) or len(levels) - loud[0] < LEAST_TICKS:
        return None
    first = int(loud[0])
    best, found = ALIKE, None
    for name, known in _levels().items():
        n_ticks = min(len(levels) - first, len(known), MOST_TICKS)
        windows = np.lib.stride_tricks.sliding_window_view(known, n_ticks)
        places = _likeness(windows, levels[first : first + n_ticks])
        place = int(places.argmax())
        if places[place] > best:
            best, found = float(places[place]), KnownSound(smoke_records()[name], first - place)
    return found


def _likeness(windows: Levels, sought: Levels) -> Levels:
    """The correlation of each of (n, ticks) with (ticks,)."""
    centred = sought - sought.mean()
    spread = windows.std(axis=1) * sought.std() * len(sought)
    found: Levels = np.divide(windows @ centred, spread, out=np.zeros(len(windows)), where=spread > 0)
    return found


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The actions of the system on a recording, in ticks from its beginning.

    calls: in their order; the first `early` of them begin at early_tick, the others not before calls_tick. reply_tick:
    None for REPLY_TICKS after the last result.
    """

    calls: Sequence[FunctionCall]
    calls_tick: int
    reply: str
    early: int = 0
    early_tick: int = 0
    reply_tick: int | None = None


def rehearsal(record: RecordedScenarioEntry, fault: str | None) -> Rehearsal:
    """The actions of a system with this fault, or with none, on a recording."""
    calls, end = tuple(record.as_released), record.user_end_tick
    assert end is not UNSET
    right = Rehearsal(calls, end + CALLS_TICKS, record.reply)
    rollback = record.rollback
    match fault:
        case "wrong-tool":
            return replace(right, calls=(*calls[:-1], _another_function(calls)))
        case "wrong-argument":
            return replace(right, calls=(*calls[:-1], _another_value(calls[-1])))
        case "stale" if rollback:
            return replace(right, calls=tuple(_uncorrected(call, rollback) for call in calls))
        case "early" if rollback:
            stale = tuple(_uncorrected(call, rollback) for call in calls)
            n_early = max(number for number, call in enumerate(calls, 1) if stale[number - 1] != call)
            (span,) = (each for each in record.spans if each.kind == "SELF_CORRECTION")
            return replace(right, calls=stale, early=n_early, early_tick=span.end_tick)
        case "silent":
            return replace(right, reply="")
        case "filler":
            return replace(right, reply=FILLER)
        case "late":
            return replace(right, calls_tick=end + LATE_TICKS)
        case "talks-over":
            return replace(right, reply_tick=end + TALKS_OVER_TICKS)
    return right


def _another_function(calls: Sequence[FunctionCall]) -> FunctionCall:
    """A call that none of these is, and that changes nothing."""
    if all(call.function != "track_order" for call in calls):
        return FunctionCall("track_order", {"order_id": "1000"})
    return FunctionCall("get_card_benefits", {"card_type": "silver"})


def _another_value(call: FunctionCall) -> FunctionCall:
    """The call with another value of its last argument."""
    name, value = list(call.args.items())[-1]
    other = f"{value} or so" if isinstance(value, str) else value + 1
    return FunctionCall(call.function, {**call.args, name: other})


def _uncorrected(call: ExpectedCallEntry, rollback: RollbackEntry) -> ExpectedCallEntry:
    """The call with what the user said before the correction."""
    return structs.replace(call, args=uncorrected(call.args, rollback))


def uncorrected(args: Mapping[str, Any], rollback: RollbackEntry) -> dict[str, Any]:
    """Arguments of a call as they were before the user's correction."""
    corrected, original = rollback.corrected, rollback.original
    return {name: original[name] if corrected.get(name) == value else value for name, value in args.items()}


def rehearsed(address: str) -> "Rehearsed":
    """The system at an address of the module. SettingsError for another one."""
    kind, place, settings = parsed(address, SETTINGS)
    if place:
        raise SettingsError(f"{kind}: expected {kind}: or {kind}:?fault=..., got {place!r}")
    speaker(VOICE)
    return Rehearsed(settings["fault"])


class Rehearsed(Endpoint):
    """See the module. It stays until the other side ends the conversation."""

    def __init__(self, fault: str | None) -> None:
        self._fault = fault
        self._has_tools = False
        self._heard: list[float] = []  # the level of each tick
        self._known: Rehearsal | None = None
        self._start = 0  # the tick at which the recording began
        self._results: list[Any] = []
        self._asked = 0  # calls so far
        self._answered_tick = 0
        self._frames: Sequence[Pcm] = ()  # of the reply
        self._reply_tick: int | None = None
        self._happened: list[Happening] = []

    def open(self, side: Side) -> None:
        """SettingsError without tools."""
        if not self._has_tools:
            raise SettingsError(f"rehearsed: expected tools to call, but side {side} has none")

    def take_tools(self, tools: Sequence[Tool]) -> None:
        """Let it call tools."""
        self._has_tools = True

    def say(self, tick: int) -> Pcm:
        """The frame of `tick`: of the reply, or silence."""
        if self._reply_tick is None and self._known is not None and self._may_reply(tick, self._known):
            self._reply_tick = tick
            self._begin_reply(tick, self._known.reply)
        place = tick - (tick if self._reply_tick is None else self._reply_tick)
        return self._frames[place] if place < len(self._frames) else SILENT_FRAME

    def _may_reply(self, tick: int, known: Rehearsal) -> bool:
        if known.reply_tick is not None:
            return tick >= self._start + known.reply_tick
        if len(self._results) < len(known.calls):
            return False
        return tick >= max(self._answered_tick, self._start + known.calls_tick) + REPLY_TICKS

    def _begin_reply(self, tick: int, text: str) -> None:
        if not text:
            return
        self._frames = spoken(VOICE, text, LEVEL_DBOV)
        start_ms, end_ms = tick * TICK_MS, (tick + len(self._frames)) * TICK_MS
        fields = {"of": "self", "text": text, "start_ms": start_ms, "end_ms": end_ms}
        self._happened.append(Happening(tick, TRANSCRIPT, fields))

    def hear(self, tick: int, frame: Pcm) -> None:
        """Listen until the recording is known."""
        self._tick = tick
        if self._known is not None:
            return
        self._heard.append(level(frame))
        if len(self._heard) % RECOGNISED_EVERY_TICKS == 0 and (found := known_sound(self._heard)) is not None:
            self._start = tick + 1 - len(self._heard) + found.start
            self._known = rehearsal(found.record, self._fault)

    def tool_calls(self) -> Sequence[ToolCall]:
        """The next call, once it is due and the one before has its result."""
        known = self._known
        if known is None or self._asked > len(self._results) or self._asked == len(known.calls):
            return ()
        if self._tick < self._start + (known.early_tick if self._asked < known.early else known.calls_tick):
            return ()
        call = known.calls[self._asked]
        self._asked += 1
        return [ToolCall("complete", f"call-{self._asked}", call.function, resolved(dict(call.args), self._results))]

    def take_result(self, tick: int, result: ToolResult) -> None:
        """Take the result of the call before."""
        self._results.append(result.value)
        self._answered_tick = tick

    def log(self) -> Sequence[Happening]:
        """Events of what it says."""
        happened, self._happened = self._happened, []
        return happened

    def describe(self) -> Mapping[str, Any]:
        """The fault, and the voice."""
        return {"kind": "rehearsed", "fault": self._fault, "voice": dict(speaker(VOICE).describe())}
