"""Where the time goes from the user's end to the key information, in ms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fdbcore.suites.fdb_v3.ours.calls import MadeCall
from fdbcore.types import TICK_MS, TICKS_PER_S, Span

PARTS: Final = (
    "first_sound_ms",
    "first_call_ms",
    "calls_ms",
    "world_ms",
    "between_calls_ms",
    "result_to_speech_ms",
    "result_to_key_ms",
    "key_ms",
    "own_ms",
)


def latencies(
    calls: Sequence[MadeCall], speech: Sequence[Span], user_end_tick: int | None, key_start_s: float | None
) -> Mapping[str, float | None]:
    """The parts of the latency, by the ids of their measures; None where there is none.

    calls: by their time, all that were made: refused, cancelled and failed ones take time too. speech: the system's,
    in ticks, ascending. user_end_tick: None if it is not known: then only what does not begin there has a value. A call
    is under way from its arguments to its result, error or cancellation; calls at the same time count once. The last
    result is that of the calls with status "ok".
    """
    first_call = calls[0].tick if calls else None
    results = [tick for call in calls if (tick := call.answered_tick) is not None]
    last_result = max(results, default=None)
    waits = [(call.tick, call.end_tick) for call in calls if call.end_tick is not None]
    key = None if key_start_s is None else key_start_s * TICKS_PER_S
    found: dict[str, float | None] = dict.fromkeys(PARTS)
    if user_end_tick is not None:
        sound = next((start for start, end in speech if end > user_end_tick), None)
        found["first_sound_ms"] = None if sound is None else _ms(sound - user_end_tick)
        found["first_call_ms"] = None if first_call is None else _ms(first_call - user_end_tick)
        if key is not None:
            found["key_ms"] = _ms(key - user_end_tick)
            found["own_ms"] = _ms(key - user_end_tick - _covered(waits, user_end_tick, key))
    if first_call is not None and last_result is not None:
        world = _covered(waits, first_call, last_result)
        speaks = next((max(start, last_result) for start, end in speech if end > last_result), None)
        found["calls_ms"] = _ms(last_result - first_call)
        found["world_ms"] = _ms(world)
        found["between_calls_ms"] = _ms(last_result - first_call - world)
        found["result_to_speech_ms"] = None if speaks is None else _ms(speaks - last_result)
        found["result_to_key_ms"] = None if key is None else _ms(key - last_result)
    return found


def _ms(ticks: float) -> float:
    return round(ticks * TICK_MS, 6)


def _covered(stretches: Iterable[Span], start: float, end: float) -> float:
    """How much of start to end lies in any of the stretches."""
    covered, upto = 0.0, start
    for first, last in sorted(stretches):
        low, high = max(first, upto), min(last, end)
        if high > low:
            covered += high - low
            upto = high
    return covered
