"""Timing measures of one session. B is the system under test; ids carry the unit and the denominator.

This module has the measures of the floor and of how the time is filled; `answers` and `overlaps` have the others.
Censored events count nowhere.
"""

from collections.abc import Sequence
from typing import Final

from fdbcore.measures.answers import FTO, responses
from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.measure import CallMeasure, Column, MeasureGroup, ShownMoments, Spot
from fdbcore.measures.opportunities import fto
from fdbcore.measures.overlaps import over, overlap_onsets
from fdbcore.measures.quantities import Quantity, Ratio, Values
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Span

TURNS: Final = MeasureGroup("Taking turns", "Who follows whom, how fast, and how long each holds the floor.")
TIME: Final = MeasureGroup(
    "How the time is filled", "Number and seconds of speech and silence, per minute of the call."
)
CALL: Final = "the call"
_TURN: Final = "From taking the floor to giving it up, with the pauses inside."
LAPSES: Final = "lapses"
_OF_TURNS: Final = (
    CallMeasure(
        "a_fto_after_b_ms", "A's floor transfer offset", 0, "ms", pools="median", group=TURNS,
        meaning="From the end of B's turn to A's start; negative if A began before B's end.", literature=FTO,
        moved_by=(("A", "turn_start_ms"), ("B", "turn_end_ms")),
    ),
    CallMeasure(
        "lapse_s", LAPSES, -1, "s", pools="median", group=TURNS,
        meaning="Long silences: of both, over {lapse_ms}, between the first and the last word.",
        shown=ShownMoments(("lapse", "no_answer", "slow_answer"), None),
        column=Column(5, is_count=True),
        spots=(
            Spot("call", 33, over("B"), " | lapses (> {lapse_ms}) {n}~, longest {max}"),
            Spot("run", 70, LAPSES, "{n:,}x~, longest {max}"),
            Spot(
                "call tile", 50, LAPSES,
                "silences of both over {lapse_ms}, between the first and the last word~; the longest lasted {max}~.",
                value="[{n_times}]", gated=True,
            ),
            Spot(
                "run tile", 60, LAPSES, "silences of both over {lapse_ms}, in {calls}~; the longest {max}",
                value="[{n:,}]", gated=True,
            ),
        ),
    ),
    CallMeasure(
        "b_initial_silence_s", "B's initial silence", -1, "s", pools="median", group=TURNS,
        meaning="From the start of the call to B's first sound.",
        spots=(
            Spot("call", 35, over("B"), " | B's initial silence {median}"),
            Spot("call", 35, over("B"), " | B's first sound was muted", left_out="censored"),
            Spot("call", 35, over("B"), " | no speech of B", left_out="never_spoke"),
            Spot("call tile", 53, LAPSES, " B's initial silence: [{median}]."),
            Spot("call tile", 53, LAPSES, " B's first sound was muted.", left_out="censored"),
            Spot("call tile", 53, LAPSES, " No speech was found on B.", left_out="never_spoke"),
        ),
    ),
    CallMeasure("a_turn_s", "A's turn length", 0, "s", pools="median", group=TURNS, meaning=_TURN),
    CallMeasure(
        "b_turn_s", "B's turn length", 0, "s", pools="median", group=TURNS,
        meaning=f"{_TURN} The longest is B's longest monologue.",
    ),
)  # fmt: skip
_SPEECH: Final = "Stretches of speech without a silence of {min_silence_ms}."
_IPU: Final = "inter-pausal unit (IPU)"
_FILLED: Final = {
    "gap": ("gaps", "Silences between a turn of one side and the next turn of the other.", ""),
    "overlap": ("overlaps", "Stretches in which both speak.", ""),
    "a_ipu": ("A's IPUs", _SPEECH, _IPU),
    "a_pause": ("A's pauses", "Silences inside a turn of A.", ""),
    "b_ipu": ("B's IPUs", _SPEECH, _IPU),
    "b_pause": ("B's pauses", "Silences inside a turn of B.", ""),
}
_TALKING: Final = "talk ratio"
_TALK_OVER: Final = ShownMoments(("talk_over",), None)
_SHOWN: Final = {"gap": ShownMoments(("slow_answer",), "B"), "overlap": _TALK_OVER}


def _of_time(name: str, label: str, meaning: str, literature: str) -> tuple[CallMeasure, CallMeasure]:
    """The two measures of one kind of spans: their number and their seconds, both per minute."""
    shown = _SHOWN.get(name)
    return (
        CallMeasure(
            f"{name}_per_min", label, 0, "1/min", pools="rate", group=TIME, meaning=meaning,
            literature=literature, shown=shown,
            per=CALL,
        ),
        CallMeasure(
            f"{name}_s_per_min", f"time in {label}", 0, "s/min", pools="rate", group=TIME,
            meaning="Their lengths together.", literature=literature, compared=name == "overlap",
            shown=shown, per=CALL,
        ),
    )  # fmt: skip


MEASURES: Final = (
    *_OF_TURNS,
    *(measure for name, words in _FILLED.items() for measure in _of_time(name, *words)),
    *(
        CallMeasure(
            f"{x.lower()}_talk_share", f"{x}'s talk ratio", 0, "share", pools="rate", group=TIME,
            meaning=f"Share of the call in which {x} speaks.", compared=x == "B",
            spots=(Spot("call tile", 60, _TALKING, "", value=f"{x} {{mean}}", gated=True),),
        )
        for x in SIDES
    ),
    CallMeasure(
        "overlap_share_of_speech", "overlap ratio", 0, "share", pools="rate", group=TIME,
        meaning="Share of the time with speech in which both speak.", shown=_TALK_OVER,
        spots=(
            Spot(
                "call tile", 61, _TALKING, "of the call. Overlap ratio: [{mean}] of the time with speech.", gated=True
            ),
        ),
    ),
)  # fmt: skip


def timing_quantities(dialogue: Dialogue, with_chance: bool = True) -> dict[str, Quantity]:
    """All timing measures of a session. with_chance: also the shares that chance would give, which takes longest."""
    measures = responses(dialogue) | floor_taking(dialogue) | composition(dialogue)
    for side in SIDES:
        measures |= overlap_onsets(dialogue, side, with_chance)
    return measures


def floor_taking(dialogue: Dialogue) -> dict[str, Quantity]:
    """A's floor transfer offsets, the turn lengths of both sides, lapses, and B's first sound."""
    to_a = dialogue.uncensored("gap", "overlap_between", side="A")
    limit_ticks = dialogue.settings.ticks("lapse_ms")
    lapses = [(start, end) for start, end in dialogue.lapses.tolist() if end - start > limit_ticks]
    first = max(dialogue.spans[0][0], dialogue.muted_ticks)
    starts = dialogue.ipus["B"][:1, 0].tolist()
    silent = [(first, start) for start in starts if not dialogue.is_unheard_start(start)]
    excluded = {"censored": 1} if len(starts) > len(silent) else {"never_spoke": 1} if not starts else {}
    silent_s = [dialogue.measured_before(end) / TICKS_PER_S for _, end in silent]
    measures: dict[str, Quantity] = {
        "a_fto_after_b_ms": Values("ms", [float(fto(e) * TICK_MS) for e in to_a], spans=[e.span for e in to_a]),
        "lapse_s": Values("s", _lengths_s(lapses), spans=lapses),
        "b_initial_silence_s": Values("s", silent_s, excluded, silent),
    }
    for side in SIDES:
        turns = dialogue.turns(side)
        ended = [e.span for e in turns if e.end_tick and not e.censored]
        measures[f"{side.lower()}_turn_s"] = Values(
            "s", _lengths_s(ended), {"censored": len(turns) - len(ended)}, ended
        )
    return measures


def composition(dialogue: Dialogue) -> dict[str, Quantity]:
    """Number and seconds per minute of IPUs, pauses, gaps and overlaps; and shares of the time.

    Speech that began while a side was muted counts from the end of the muted time.
    """
    minutes = dialogue.measured_ticks / TICKS_PER_S / 60
    stretches = dialogue.both_speak
    spans = {"gap": [e.span for e in dialogue.uncensored("gap")], "overlap": stretches}
    for side in SIDES:
        spans[f"{side.lower()}_ipu"] = dialogue.heard([e.span for e in dialogue.uncensored("speech_end", side=side)])
        spans[f"{side.lower()}_pause"] = [e.span for e in dialogue.uncensored("pause", side=side)]
    measures: dict[str, Quantity] = {}
    for name, found in spans.items():
        seconds = sum(end - start for start, end in found) / TICKS_PER_S
        measures[f"{name}_per_min"] = Ratio("1/min", len(found), minutes, len(found), found)
        measures[f"{name}_s_per_min"] = Ratio("s/min", seconds, minutes, len(found), found)
    speaking = {side: spoken[dialogue.muted_ticks :] for side, spoken in dialogue.speaking.items()}
    speaking_a, speaking_b = speaking["A"], speaking["B"]
    both, either = int((speaking_a & speaking_b).sum()), int((speaking_a | speaking_b).sum())
    for side in SIDES:
        ticks = int(speaking[side].sum())
        spoken = dialogue.heard([(start, end) for start, end in dialogue.ipus[side].tolist()])
        measures[f"{side.lower()}_talk_share"] = Ratio("share", ticks, dialogue.measured_ticks, len(spoken), spoken)
    return measures | {"overlap_share_of_speech": Ratio("share", both, either, len(stretches), stretches)}


def _lengths_s(spans: Sequence[Span]) -> list[float]:
    return [(end - start) / TICKS_PER_S for start, end in spans]
