"""Answers of B to the turns of A. A response is a floor transfer from A to B (Heldner and Edlund 2010).

Answered, premature and missing responses share one denominator, the opportunities of B
(`fdbcore.measures.opportunities`). Censored events count nowhere.
"""

from typing import Final

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.measure import CallMeasure, Column, Edge, MeasureGroup, ShippedLimit, ShownMoments, Spot
from fdbcore.measures.opportunities import fto, opportunities_in, turn_start, unanswered_waits
from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.types import TICK_MS, TICKS_PER_S, Span, TurnEvent

LONG_IPU_TICKS = 1 * TICKS_PER_S  # a shorter IPU may be a filler

GROUP: Final = MeasureGroup(
    "How B answers",
    "B has an opportunity at every end of A's turn, and at every silence of more than {lapse_ms} in which B did "
    "not speak and A went on by itself. B responds to it, cuts in before A has finished, or does not respond.",
)
UNANSWERED: Final = (
    "B said nothing for {response_window_ms}, or A gave up waiting (after {lapse_ms}), or the call ended with the line "
    "open"
)
OPPORTUNITIES: Final = "Opportunities"
FTO: Final = "floor transfer offset (Heldner and Edlund 2010)"
_SLOW: Final = ShownMoments(("slow_answer",), "B")
_NONE: Final = ShownMoments(("no_answer",), "B")
_EDGES: Final[tuple[Edge, Edge]] = (("B", "turn_start_ms"), ("A", "turn_end_ms"))
LATENCY: Final = "response latency"
RATE: Final = "response rate"
PREMATURE: Final = "premature responses"
NO_RESPONSE: Final = "no response"
NOTHING_TO_ANSWER: Final = "A never finished a turn, so there was nothing for B to answer."
_NO_OPPORTUNITY: Final = "there was nothing to answer"
_MEDIAN: Final = "; half of the responses came within {median}"
_AFTER: Final = (
    "from the end of A's turn to B's first sound~, for half of the responses{if_several}~; for nine in ten "
    "{p90_of_many}~; the slowest took {max_of_few}~.{if_any}"
)


def _run_tile(order: int, title: str, text: str) -> Spot:
    """A share of the opportunities, as a tile of a run."""
    return Spot(
        "run tile", order, title, f"[{{count:,}}] of [{{n:,}}](all) opportunities{text}", _NO_OPPORTUNITY, "{mean}",
        gated=True,
    )  # fmt: skip


MEASURES: Final = (
    CallMeasure(
        "response_latency_ms", LATENCY, -1, "ms", pools="median", group=GROUP,
        meaning="From the end of A's turn to B's first sound; negative if B began up to 0.2 s early.", literature=FTO,
        compared=True,
        shown=_SLOW, column=Column(1),
        missing="no_response_per_turn", moved_by=_EDGES, axis="x without labels",
        spots=(
            Spot("call", 11, RATE, f" | {LATENCY} {{median}} (median)", " | no responses"),
            Spot("call", 13, RATE, ", p90 {p90_of_many}"),
            Spot("run", 20, LATENCY, "median {interval}~ | p90 {p90}~ | n = {items:,}"),
            Spot("note", 10, f"median {LATENCY}", "{interval}, n = {n:,}", "no items"),
            Spot("call tile", 20, LATENCY, _AFTER, "no responses", "[{median}]", gated=True),
            Spot("run tile", 10, LATENCY, "median of [{n:,}] responses~; p90 {p90}~, p95 {p95}", "no responses",
                 "{median}", gated=True),
            Spot("call lead", 11, "", f"{_MEDIAN}{{if_several}}~, after {{only}}"),
            Spot("run lead", 11, "", _MEDIAN),
        ),
        limits=(
            ShippedLimit(
                ".median <= 1500",
                "Hamming, How to Evaluate Voice Agents (2026): median below 1.5 s in production. People like a robot's "
                "answer best after 1 s, and want it within 2 s (Shiwa et al. 2009).",
            ),
            ShippedLimit(
                ".p90 <= 3500",
                "Hamming, Voice Agent Analytics (2026): nine of ten answers within 3.5 s. From 3.5 s on, EVA-Bench "
                "gives no point for an answer (arXiv 2605.13841).",
            ),
        ),
    ),
    CallMeasure(
        "response_latency_minus_harness_ms", f"{LATENCY} without the harness", -1, "ms", pools="median", group=GROUP,
        meaning="The same, minus the delay that this harness itself adds on the way to B and back, by the delay log "
        "at each answer. The network delay is not subtracted. A frame counts from its first sample in both directions: "
        "a system that receives whole frames hears A's end 10 ms before it is spoken.",
        shown=_SLOW, moved_by=_EDGES,
        spots=(Spot("call", 12, RATE, ", {median} without the harness"),),
    ),
    CallMeasure(
        "response_long_ipu_latency_ms", f"{LATENCY} without fillers", -1, "ms", pools="median", group=GROUP,
        meaning="The same, but until B's first stretch of speech longer than 1 s: an “um” does not count.",
        shown=_SLOW, moved_by=_EDGES,
    ),
    CallMeasure(
        "answered_per_turn", RATE, 1, "share", pools="share", group=GROUP,
        meaning="Opportunities at which B began within {response_window_ms}, and at most 0.2 s before A had finished.",
        compared=True, shown=_NONE, column=Column(0), over=OPPORTUNITIES,
        spots=(
            Spot("call", 10, RATE, "{fraction}", "no finished turn of A to answer"),
            Spot("run", 10, RATE, "{interval} of {n:,} opportunities", "none of 0 opportunities"),
            Spot("note", 20, RATE, "{interval}, n = {n:,}", "no items"),
            Spot(
                "call tile", 10, RATE, "opportunities: ends of A's turns, and long waits of A.",
                NOTHING_TO_ANSWER, "[{count}] of [{n}](all)", gated=True,
            ),
            _run_tile(20, RATE, ", within {response_window_ms}"),
            Spot("call lead", 10, "", "B answered {some} of {counted}", NOTHING_TO_ANSWER),
            Spot("call lead", 12, "", ".{if_any}"),
            Spot("run lead", 10, "", "B answered {mean} of {n:,} opportunities", NOTHING_TO_ANSWER),
            Spot("run lead", 12, "", ".{if_any}"),
        ),
    ),
    CallMeasure(
        "premature_per_turn", PREMATURE, -1, "share", pools="share", group=GROUP,
        meaning="Cut-ins: opportunities at which B took the floor more than 0.2 s before A had finished.",
        literature="false cut-in", compared=True,
        shown=ShownMoments(("cut_off",), "B"), column=Column(2), over=OPPORTUNITIES, moved_by="premature_points",
        spots=(
            Spot("call", 14, RATE, f" | {PREMATURE} {{fraction}}"),
            Spot("run", 30, PREMATURE, "{interval}", f"none | {NO_RESPONSE} none"),
            Spot("call tile", 11, RATE, " [Premature responses: {count}], before A had finished.", gated=True),
            _run_tile(30, PREMATURE, ": B began more than 0.2 s early"),
        ),
        limits=(
            ShippedLimit(
                " <= 0.05",
                "LiveKit eot-bench (2026) compares systems at 5 % false cut-offs: of pauses there, of turns here.",
            ),
        ),
    ),
    CallMeasure(
        "no_response_per_turn", NO_RESPONSE, -1, "share", pools="share", group=GROUP,
        meaning=f"Opportunities at which {UNANSWERED}.", literature="missing response", compared=True,
        shown=_NONE, column=Column(3), over=OPPORTUNITIES,
        spots=(
            Spot("call", 15, RATE, f" | {NO_RESPONSE} within {{response_window_ms}} {{fraction}}"),
            Spot("call", 17, RATE, " | A's last turn: {last_turn}", left_out="censored"),
            Spot("run", 31, PREMATURE, f" | {NO_RESPONSE} {{interval}}"),
            Spot("call tile", 12, RATE, f" [No response: {{count}}]: {UNANSWERED}.", gated=True),
            Spot("call tile", 13, RATE, " A's last turn: {last_turn}.", left_out="censored"),
            _run_tile(40, NO_RESPONSE, f": {UNANSWERED}"),
        ),
        limits=(ShippedLimit(" <= 0.05", "Ours: nothing is published. No response to one turn in twenty."),),
    ),
    CallMeasure(
        "a_unanswered_wait_s", "A's unanswered waits", -1, "s", pools="median", group=GROUP,
        meaning="Silences inside a turn of A, longer than {lapse_ms}, in which B said nothing. Each counts as no "
        "response; silences that a label calls a pause are left out.",
        shown=_NONE,
        spots=(Spot("call", 16, RATE, " (A waited > {lapse_ms} and went on by itself {items}x)"),),
    ),
    CallMeasure(
        "ends_unanswered_per_call", "ends unanswered", -1, "share", pools="share", group=GROUP,
        meaning="Calls that end with A's turn and more than {lapse_ms} of recorded silence after it, without a word "
        "of B.",
        over="Calls in which A spoke",
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
