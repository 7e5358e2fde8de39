"""How B answers the turns of A. A response is a floor transfer from A to B (Heldner and Edlund 2010).

Answered, premature and missing responses share one denominator, the opportunities of B
(`fdbcore.measures.opportunities`). Censored events count nowhere.
"""

from __future__ import annotations

from typing import Final

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.measure import Column, Measure, MeasureGroup, ShownMoments
from fdbcore.measures.opportunities import fto, opportunities_in, turn_start, unanswered_waits
from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.types import TICK_MS, TICKS_PER_S, Span, TurnEvent

LONG_IPU_TICKS = 1 * TICKS_PER_S  # a shorter IPU may be a filler

GROUP: Final = MeasureGroup(
    "How B answers",
    "B has an opportunity at every end of A's turn, and at every silence of more than {lapse_ms} in which B did "
    "not speak and A went on by itself. B answers it, cuts A off, or gives no answer.",
)
UNANSWERED: Final = (
    "silence for {response_window_ms}, or for more than {lapse_ms} until A went on by itself, or to the end of a line "
    "that stayed open"
)
OPPORTUNITIES: Final = "Opportunities"
FTO: Final = "floor transfer offset (Heldner and Edlund 2010)"
_SLOW: Final = ShownMoments(("slow_answer",), "B")
_NONE: Final = ShownMoments(("no_answer",), "B")
MEASURES: Final = (
    Measure(
        "response_latency_ms", "values", "ms", GROUP, "Answer time",
        "From the end of A's turn to B's first sound; negative if B began up to 0.2 s early.", FTO,
        better="less", shown=_SLOW, headline="answer time",
        column=Column(1, "answer time", "median", "of the answer time"),
    ),
    Measure(
        "response_latency_minus_harness_ms", "values", "ms", GROUP, "Answer time without the harness",
        "The same, minus the delay that this harness itself adds on the way to B and back, by the delay log at each "
        "answer. The network delay is not subtracted. A frame counts from its first sample in both directions: a "
        "system that receives whole frames hears A's end 10 ms before it is spoken.",
        better="less", shown=_SLOW,
    ),
    Measure(
        "response_long_ipu_latency_ms", "values", "ms", GROUP, "Answer time without fillers",
        "The same, but until B's first stretch of speech longer than 1 s: an “um” does not count.",
        better="less", shown=_SLOW,
    ),
    Measure(
        "answered_per_turn", "share", "share", GROUP, "Answered",
        "Opportunities at which B began within {response_window_ms}, and at most 0.2 s before A had finished.",
        "response rate",
        better="more", shown=_NONE, headline="answered", column=Column(0, "answered", "answered"), of=OPPORTUNITIES,
    ),
    Measure(
        "premature_per_turn", "share", "share", GROUP, "Cut off",
        "Opportunities at which B took the floor more than 0.2 s before A had finished.",
        "premature response, false cut-in",
        better="less", shown=ShownMoments(("cut_off",), "B"), headline="cut off",
        column=Column(2, "cut off", "cut off", "by B"), of=OPPORTUNITIES,
    ),
    Measure(
        "no_response_per_turn", "share", "share", GROUP, "No answer",
        f"Opportunities at which there was {UNANSWERED}.", "missing response",
        better="less", shown=_NONE, headline="no answer", column=Column(3, "no answer", "no ans.", "no answer"),
        of=OPPORTUNITIES,
    ),
    Measure(
        "a_unanswered_wait_s", "values", "s", GROUP, "Waits after which A went on by itself",
        "Silences inside a turn of A, longer than {lapse_ms}, in which B said nothing. Each counts as a missing "
        "answer; silences that a label calls a pause are left out.",
        better="less", shown=_NONE,
    ),
    Measure(
        "ends_unanswered_per_call", "share", "share", GROUP, "Ends unanswered",
        "Calls that end with A's turn and more than {lapse_ms} of recorded silence after it, without a word of B.",
        better="less", of="Calls in which A spoke",
    ),
)  # fmt: skip


def responses(dialogue: Dialogue) -> dict[str, Quantity]:
    """The measures of this module. Those without the harness only if the transport of B states its delays."""
    found = opportunities_in(dialogue)
    answers, premature, missing = ([e.span for e in of] for of in (found.answered, found.premature, found.missed))
    turn_ends = {e.start_tick: e.end_tick for e in dialogue.turns("B")}
    long_ms = [_first_long_ipu(dialogue, e, turn_ends.get(turn_start(e))) for e in found.answered]
    excluded = found.excluded
    latency_excluded = excluded | {"premature": len(found.premature), "no_response": len(found.missed)}
    missed = {e.start_tick for e in found.missed}
    waits = [e for e in unanswered_waits(dialogue) if e.start_tick in missed]
    waits_s = [(end - start) / TICKS_PER_S for start, end in (e.span for e in waits)]
    latencies_ms = [float(fto(e) * TICK_MS) for e in found.answered]
    measures: dict[str, Quantity] = {"response_latency_ms": Values("ms", latencies_ms, latency_excluded, answers)}
    if dialogue.legs is not None:
        own_ms = [dialogue.legs.round_trip_ms(turn_start(e)) for e in found.answered]
        without_ms = [latency - own for latency, own in zip(latencies_ms, own_ms, strict=True)]
        measures["response_latency_minus_harness_ms"] = Values("ms", without_ms, latency_excluded, answers)
    return measures | {
        "response_long_ipu_latency_ms": Values(
            "ms",
            [ms for ms in long_ms if ms is not None],
            excluded | {"no_long_ipu": long_ms.count(None)},
            [
                _after(e.start_tick if e.kind == "gap" else e.span[1], round(ms / TICK_MS))
                for e, ms in zip(found.answered, long_ms, strict=True)
                if ms is not None
            ],
        ),
        "answered_per_turn": Share.of(answers, premature + missing, excluded),
        "premature_per_turn": Share.of(premature, answers + missing, excluded),
        "no_response_per_turn": Share.of(missing, answers + premature, excluded),
        "a_unanswered_wait_s": Values("s", waits_s, spans=[e.span for e in waits]),
        "ends_unanswered_per_call": Share.of(*dialogue.ends_after_a),
    }


def response_curve(dialogue: Dialogue) -> tuple[list[int], int]:
    """The sorted latencies of the answers (ms), and the number of all opportunities.

    The cumulative share of answers at x is the number of latencies <= x divided by the number of opportunities.
    """
    found = opportunities_in(dialogue)
    return sorted(fto(e) * TICK_MS for e in found.answered), found.n


def _after(tick: int, ticks: int) -> Span:
    """The span from a tick to `ticks` later, or earlier."""
    return min(tick, tick + ticks), max(tick, tick + ticks)


def _first_long_ipu(dialogue: Dialogue, transfer: TurnEvent, turn_end: int | None) -> float | None:
    """Latency (ms) until the first IPU longer than 1 s in the turn that a transfer begins; None without one."""
    if turn_end is None:
        return None
    start = turn_start(transfer)
    ipus = dialogue.ipus["B"]
    within = ipus[(ipus[:, 0] >= start) & (ipus[:, 0] < turn_end) & (ipus[:, 1] - ipus[:, 0] > LONG_IPU_TICKS)]
    return float((within[0, 0] - start + fto(transfer)) * TICK_MS) if len(within) else None
