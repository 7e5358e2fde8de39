"""Our measures of one recording, beside the published ones (`compat`): over all recordings, and by the final outcome.

What each measure is stands in data/measures.toml, and how calls belong to the label in `calls`. The user's end is
that of the annotation or of the turn events; where it is not known, nothing is measured from it. Without words, what
needs them is not known. Without speech the times of words count as speech. A system without speech, words and
transcript is silent: it fails, whatever it called.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from fdbcore.suites.fdb_v3.cases import V3Case
from fdbcore.suites.fdb_v3.compat import REGISTERED, AsrWord, SystemLog, scale_of, tool_selection_f1
from fdbcore.suites.fdb_v3.tool_calls import FailureClass, MadeCall, reviewed
from fdbcore.types import TICK_MS, TICKS_PER_S, Span
from fdbcore.types.scorecard import Measure

CORRECTION: Final = "SELF_CORRECTION"

MEASURES: Final[Mapping[str, Measure]] = {
    each["id"]: scale_of(group["part"], **each) for group in REGISTERED["ours"] for each in group["measures"]
}
"""Our measures by their ids. Of those that are compared the first one is tested first, the others where it differs."""

COMPARED: Final = [name for name, measure in MEASURES.items() if measure.compared]


class OurValues(NamedTuple):
    """The values of all measures of one recording by the repaired label, by their ids; None where it has none; and why
    it does not pass.
    """

    values: Mapping[str, float | None]
    failure: FailureClass | None


def figures(case: V3Case, log: SystemLog | None = None) -> OurValues:
    """Our measures of one recording. log: see `reviewed`."""
    calls = reviewed(case, log)
    failure, wrong, missing = calls.failure(case.is_silent, case.state), calls.wrong(), calls.missing()
    state_is_right, references = not calls.state_differences(case.state), calls.references()
    speech, end = case.speech, case.user_end_tick
    right = {calls.pairs[number] for number in calls.right}
    is_timed = all(call.start_s is not None for call in case.log.calls)
    ahead = (
        None if end is None or not is_timed else [place for place, call in enumerate(calls.calls) if call.tick < end]
    )
    stands = {*wrong, *calls.foreign()}
    kept = None
    if _corrects(case):
        kept = state_is_right and not wrong and not missing
    acted = any(calls.is_stale(place) for place in range(len(calls.calls)) if place not in right)
    order = [calls.pairs.get(number, -1) for number in calls.expected]
    found: dict[str, float | None] = {
        "passed": failure is None,
        "tool_selection": tool_selection_f1(
            (calls.label[number].function for number in calls.expected),
            (call.function for place, call in enumerate(calls.calls) if place not in calls.gone),
        ),
        "arguments": len(calls.right) / len(calls.expected) if calls.expected else 1.0,
        "in_order": (-1 not in order and order == sorted(order)) if len(order) > 1 else None,
        "needs_met": 1 - len(calls.unmet_needs()) / len(references) if references else None,
        "final_state": state_is_right,
        "preemptive": None if ahead is None else bool(ahead),
        "preemptive_right": sum(place in right for place in ahead) / len(ahead) if ahead else None,
        "preemptive_wrong": None if ahead is None else any(place in stands for place in ahead),
        "interrupted": None if end is None else any(start < end for start, _ in speech),
        "corrected": kept,
        "recovered": kept if acted else None,
        "answered": None if end is None else any(last > end for _, last in speech),
        "response": case.log.response_right,
        **_filler(case.log.filler, case.b_words or ()),
        **_latencies(calls.calls if is_timed else None, speech, end, case.log.key_start_s),
    }
    values = {name: None if (value := found[name]) is None else float(value) for name in MEASURES}
    return OurValues(values, failure)


def _corrects(case: V3Case) -> bool:
    """True if the user takes something back."""
    record = case.record
    return bool(record.rollback_test or record.rollback) or CORRECTION in record.disfluencies


def _filler(filler: str | None, words: Sequence[AsrWord]) -> dict[str, float | None]:
    """The filler's share of the words and of their time. filler: a judge's text; None: no verdict.

    A word is filler if it belongs to the longest runs that words and filler have in common, in order.
    """
    found: dict[str, float | None] = {"filler_words": None, "filler_time": None}
    if filler is None or not words:
        return found
    said = ["".join(re.findall(r"\w", word.text.lower())) for word in words]
    blocks = SequenceMatcher(
        None, said, ["".join(re.findall(r"\w", text)) for text in filler.lower().split()], autojunk=False
    ).get_matching_blocks()
    chosen = [word for block in blocks for word in words[block.a : block.a + block.size]]
    found["filler_words"] = len(chosen) / len(words)
    if total_s := sum(word.end_s - word.start_s for word in words):
        found["filler_time"] = sum(word.end_s - word.start_s for word in chosen) / total_s
    return found


def _latencies(
    calls: Sequence[MadeCall] | None, speech: Sequence[Span], user_end_tick: int | None, key_start_s: float | None
) -> dict[str, float | None]:
    """Latencies from the user's end to the key information, by the ids of measures; None where there is none.

    calls: by their time, all that were made: refused, cancelled and failed ones take time too; None: a time is not
    known. speech: the system's,
    in ticks, ascending. user_end_tick: None if it is not known: then only what does not begin there has a value. A call
    is under way from its arguments to its result, error or cancellation; calls at the same time count once. The last
    result is that of the calls with status "ok".
    """
    first_call = calls[0].tick if calls else None
    results = [tick for call in calls or () if (tick := call.answered_tick) is not None]
    last_result = max(results, default=None)
    waits = [(call.tick, call.end_tick) for call in calls or () if call.end_tick is not None]
    key = None if key_start_s is None else key_start_s * TICKS_PER_S
    found: dict[str, float | None] = {name: None for name, each in MEASURES.items() if each.unit == "ms"}
    if user_end_tick is not None:
        sound = next((start for start, end in speech if end > user_end_tick), None)
        found["first_sound_ms"] = None if sound is None else _ms(sound - user_end_tick)
        found["first_call_ms"] = None if first_call is None else _ms(first_call - user_end_tick)
        if key is not None:
            found["key_ms"] = _ms(key - user_end_tick)
            awaited = None if calls is None else _covered(waits, user_end_tick, key)
            found["own_ms"] = None if awaited is None else _ms(key - user_end_tick - awaited)
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
    """The part of start to end that lies in any of the stretches."""
    covered, upto = 0.0, start
    for first, last in sorted(stretches):
        low, high = max(first, upto), min(last, end)
        if high > low:
            covered += high - low
            upto = high
    return covered
