"""Carries the tool calls of a party to a world, and the results back, in ticks."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import Future, wait
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fdbcore.errors import FdbError, MissingExtraError, nearest
from fdbcore.protocols import Endpoint, World
from fdbcore.runtime.json_values import json_value
from fdbcore.runtime.network import event_loop
from fdbcore.runtime.redaction import redacted
from fdbcore.types import TICK_MS, TICKS_PER_S, Happening
from fdbcore.types.tools import MOST_RESULT_BYTES, TOOL_CALL, TOOL_RESULT, ResultStatus, ToolCall, ToolResult

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

MOST_AT_ONCE: Final = 64
"""Calls of a party that may be under way; further ones fail."""

_MOST_REASON_CHARACTERS: Final = 300
_ENDED: Final = "the conversation ended before the result was due"

_Answer: TypeAlias = tuple[ResultStatus, Any]

_NEVER: Final[_Answer] = ("timeout", None)
"""Of a tool that says that it will not answer: the party waits for the time-out."""


@dataclass(slots=True, eq=False)
class _UnderWay:
    """A complete call whose result is not due, or not there.

    late: in lockstep, it was waited for in vain. is_wanted: the party has not cancelled it.
    """

    call: ToolCall
    answer: Future[_Answer]
    due_tick: int
    timeout_tick: int
    late: bool = False
    is_wanted: bool = True


class ToolDesk:
    """The calls of one party in one conversation.

    The tool runs as soon as the call is complete. Its result is held back for the latency that the world draws, and
    reaches the party in the first tick from then on in which the tool is done, but not in the tick of the call. In
    lockstep the loop waits for the tool, so the result always comes in that tick. Calls that fail have the same
    latency. After `World.timeout_s` a call has failed. The tool of a cancelled call still runs to its end.

    world: open. party: it was offered the world's tools. seed: of the latencies. MissingExtraError without jsonschema.
    """

    def __init__(self, world: World, party: Endpoint, seed: str, lockstep: bool) -> None:
        try:
            from jsonschema import Draft202012Validator
        except ImportError:
            raise MissingExtraError("tools need jsonschema: pip install 'fdbcore[live]'") from None
        self._schemas = {tool.name: Draft202012Validator(dict(tool.parameters)) for tool in world.tools}
        self._world = world
        self._party = party
        self._random = Random(seed)
        self._lockstep = lockstep
        self._names: dict[str, str] = {}  # of the calls that have begun, by their ids
        self._complete: set[str] = set()
        self._under_way: list[_UnderWay] = []
        self.busy_tick = -1
        """The last tick in which a call began or was under way; -1 before the first."""

    def step(self, tick: int) -> list[Happening]:
        """Take what the party did with calls, and give it the results that are due. Returns both as events."""
        happened = [event for call in self._party.tool_calls() for event in self._take(tick, call)]
        for each in list(self._under_way):
            if self._party.left is not None or (answer := self._due(tick, each)) is None:
                continue
            self._under_way.remove(each)
            if each.is_wanted:
                result = ToolResult(each.call.id, each.call.name, *answer)
                self._party.take_result(tick, result)
                happened.append(Happening(tick, TOOL_RESULT, result.to_json()))
        if happened or any(each.is_wanted for each in self._under_way):
            self.busy_tick = tick
        return happened

    def finish(self, tick: int) -> list[Happening]:
        """The conversation is over: the calls that are under way end without a result.

        In lockstep their tools may finish, so that the state of the world is the same in every run.
        """
        happened = [event for call in self._party.tool_calls() for event in self._take(tick, call)]
        if self._lockstep:
            wait([each.answer for each in self._under_way], self._world.timeout_s)
        ended = [
            ToolResult(each.call.id, each.call.name, "ended", _ENDED) for each in self._under_way if each.is_wanted
        ]
        self.close()
        return [*happened, *(Happening(tick, TOOL_RESULT, result.to_json()) for result in ended)]

    def close(self) -> None:
        """Cancel what is under way."""
        for each in self._under_way:
            each.answer.cancel()
        self._under_way = []

    def _take(self, tick: int, call: ToolCall) -> Iterator[Happening]:
        if call.stage == "cancelled":
            yield self._event(tick, call, name=self._names.get(call.id, ""))
            for each in self._under_way:
                each.is_wanted &= each.call.id != call.id
            return
        if call.stage == "begun" or call.id not in self._names or call.id in self._complete:
            yield self._event(tick, call, stage="begun")
        if call.stage == "complete":
            yield self._begin(tick, call)
        self._names[call.id] = call.name

    def _begin(self, tick: int, call: ToolCall) -> Happening:
        """Let the tool run."""
        latency_ticks = self._world.latency_ticks(call.name, len(self._complete), self._random)
        is_new, is_one_too_many = call.id not in self._complete, len(self._under_way) >= MOST_AT_ONCE
        self._complete.add(call.id)
        answer: Future[_Answer]
        if is_new and not is_one_too_many:
            answer = asyncio.run_coroutine_threadsafe(self._answer(call), event_loop())
        else:
            answer = Future()
            reason = f"{MOST_AT_ONCE} calls are under way" if is_new else f"the id {call.id} was used before"
            answer.set_result(("error" if is_new else "malformed", reason))
        due_tick = tick + max(1, latency_ticks)
        timeout_tick = tick + max(1, round(self._world.timeout_s * TICKS_PER_S))
        self._under_way.append(_UnderWay(call, answer, due_tick, timeout_tick))
        return self._event(tick, call, arguments=call.arguments, latency_ms=latency_ticks * TICK_MS)

    @staticmethod
    def _event(tick: int, call: ToolCall, **fields: object) -> Happening:
        return Happening(tick, TOOL_CALL, {"id": call.id, "name": call.name, "stage": call.stage, **fields})

    def _due(self, tick: int, each: _UnderWay) -> _Answer | None:
        """The answer of a call if the party is to get it in `tick`."""
        if tick >= each.due_tick and not each.late:
            if self._lockstep:
                wait([each.answer], self._world.timeout_s)
                each.late = not each.answer.done()
            if each.answer.done() and each.answer.result() is not _NEVER:
                return each.answer.result()
        if tick >= each.timeout_tick:
            each.answer.cancel()
            return "timeout", f"it took longer than {self._world.timeout_s:g} s"
        return None

    async def _answer(self, call: ToolCall) -> _Answer:
        """Check a call, and let the tool do what it asks."""
        schema = self._schemas.get(call.name)
        if schema is None:
            expected = f"expected one of {', '.join(self._schemas)}" if self._schemas else "expected no call"
            return "unknown", _reason(f"{expected}, got {call.name!r}{nearest(call.name, self._schemas)}")
        if isinstance(call.arguments, str):
            return "malformed", _reason(f"expected an object as JSON, got {call.arguments!r}")
        if (fault := _fault(schema, call.arguments)) is not None:
            return "malformed", _reason(fault)
        try:  # with copies: the world may change what it gets, and what it gave
            value = await self._world.do(call.name, deepcopy(call.arguments))
            encoded = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
            if len(encoded) > MOST_RESULT_BYTES:
                return "error", f"its result has {len(encoded)} bytes, more than {MOST_RESULT_BYTES}"
            return "ok", json_value(encoded)
        except TimeoutError:
            return _NEVER
        except FdbError as error:
            return "error", _reason(str(error))
        except Exception as error:
            return "error", _reason(f"{type(error).__name__}: {error}")


def _fault(schema: "Draft202012Validator", arguments: object) -> str | None:
    """The fault of the arguments of a call; None if they fit."""
    from jsonschema.exceptions import best_match

    error = best_match(schema.iter_errors(arguments))
    if error is None:
        return None
    where = error.json_path.removeprefix("$").removeprefix(".")
    return f"{where}: {error.message}" if where else error.message


def _reason(text: str) -> str:
    """A text for the party and the recording: one line of limited length, without secrets."""
    line = " ".join(redacted(text).split())
    return line if len(line) <= _MOST_REASON_CHARACTERS else f"{line[: _MOST_REASON_CHARACTERS - 1]}…"
