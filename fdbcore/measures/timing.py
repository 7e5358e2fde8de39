"""Timing measures of one session. B is the system under test; ids carry the unit and the denominator.

Definitions: responses are floor transfers from A to B (Heldner and Edlund 2010); answered, premature and missing ones
compete for the same denominator, the opportunities of B (`fdbcore.measures.opportunities`). Censored events count
nowhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.opportunities import fto, opportunities, turn_start, unanswered_waits
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, TurnEvent, other_side

LONG_IPU_TICKS = 1 * TICKS_PER_S  # an IPU longer than this is more than a filler
STOP_WITHIN_S = (1, 2)
CHANCE_SHIFTS, CHANCE_SEED = 199, 20_260  # random ones: evenly spaced shifts would beat with a regular speaker


def timing(dialogue: Dialogue) -> dict[str, Quantity]:
    """All timing measures of a session."""
    measures = responses(dialogue) | floor_taking(dialogue) | composition(dialogue)
    for side in SIDES:
        measures |= overlap_onsets(dialogue, side)
    return measures


def responses(dialogue: Dialogue) -> dict[str, Quantity]:
    """How B answers the turns of A."""
    found = opportunities(dialogue)
    long_ms = [_first_long_ipu(dialogue, e) for e in found.answered]
    excluded = found.excluded
    latency_excluded = excluded | {"premature": len(found.premature), "no_response": len(found.missed)}
    missed = {e.start_tick for e in found.missed}
    waits = [e for e in unanswered_waits(dialogue) if e.start_tick in missed]
    waits_s = [(e.end_tick - e.start_tick) / TICKS_PER_S for e in waits if e.end_tick is not None]
    latencies_ms = [float(fto(e) * TICK_MS) for e in found.answered]
    measures: dict[str, Quantity] = {"response_latency_ms": Values("ms", latencies_ms, latency_excluded)}
    if dialogue.legs is not None:
        own_ms = [dialogue.legs.round_trip_ms(turn_start(e)) for e in found.answered]
        without_ms = [latency - own for latency, own in zip(latencies_ms, own_ms, strict=True)]
        measures["response_latency_minus_harness_ms"] = Values("ms", without_ms, latency_excluded)
    return measures | {
        "response_long_ipu_latency_ms": Values(
            "ms", [ms for ms in long_ms if ms is not None], excluded | {"no_long_ipu": long_ms.count(None)}
        ),
        "answered_per_turn": Share(len(found.answered), found.n, excluded),
        "premature_per_turn": Share(len(found.premature), found.n, excluded),
        "no_response_per_turn": Share(len(found.missed), found.n, excluded),
        "a_unanswered_wait_s": Values("s", waits_s),
    }


def response_curve(dialogue: Dialogue) -> tuple[list[int], int]:
    """Latencies (ms) of the answers, sorted, and the number of all opportunities: the cumulative share of B's starts
    at x is the number of latencies <= x over that number."""
    found = opportunities(dialogue)
    return sorted(fto(e) * TICK_MS for e in found.answered), found.n


def _first_long_ipu(dialogue: Dialogue, transfer: TurnEvent) -> float | None:
    """Latency (ms) of the first IPU over 1 s of the turn that a transfer begins: a filler does not count."""
    start = turn_start(transfer)
    turn_ends = (e.end_tick for e in dialogue.events if e.kind == "turn" and e.side == "B" and e.start_tick == start)
    turn_end = next(turn_ends, None)
    if turn_end is None:
        return None
    ipus = dialogue.ipus["B"]
    within = ipus[(ipus[:, 0] >= start) & (ipus[:, 0] < turn_end) & (ipus[:, 1] - ipus[:, 0] > LONG_IPU_TICKS)]
    return float((within[0, 0] - start + fto(transfer)) * TICK_MS) if len(within) else None


def floor_taking(dialogue: Dialogue) -> dict[str, Quantity]:
    """A's floor transfer offsets, turn lengths of both sides, lapses, and B's first sound."""
    to_a = dialogue.told("gap", "overlap_between", side="A")
    lengths = np.diff(dialogue.lapses)[:, 0]
    lapses = lengths[lengths > dialogue.settings.ticks("lapse_ms")] / TICKS_PER_S
    first = dialogue.ipus["B"][:1, 0] / TICKS_PER_S
    measures: dict[str, Quantity] = {
        "a_fto_after_b_ms": Values("ms", [float(fto(e) * TICK_MS) for e in to_a]),
        "lapse_s": Values("s", lapses.tolist()),
        "b_initial_silence_s": Values("s", first.tolist(), {} if len(first) else {"never_spoke": 1}),
    }
    for side in SIDES:
        turns = [e for e in dialogue.events if e.kind == "turn" and e.side == side]
        lengths_s = [(e.end_tick - e.start_tick) / TICKS_PER_S for e in turns if e.end_tick and not e.censored]
        measures[f"{side.lower()}_turn_s"] = Values("s", lengths_s, {"censored": len(turns) - len(lengths_s)})
    return measures


def composition(dialogue: Dialogue) -> dict[str, Quantity]:
    """Number and seconds a minute of IPUs, pauses, gaps and overlaps; shares of the time."""
    minutes = dialogue.n_ticks / TICKS_PER_S / 60
    stretches = [(e.start_tick, e.end_tick) for e in dialogue.told("overlap_within")]
    stretches += [span for e in dialogue.told("overlap_between") for span in e.stretches or ()]
    spans = {"gap": _spans(dialogue.told("gap")), "overlap": stretches}
    for side in SIDES:
        spans[f"{side.lower()}_ipu"] = _spans(dialogue.told("speech_end", side=side))
        spans[f"{side.lower()}_pause"] = _spans(dialogue.told("pause", side=side))
    measures: dict[str, Quantity] = {}
    for name, of in spans.items():
        seconds = sum(end - start for start, end in of if end is not None) / TICKS_PER_S
        measures[f"{name}_per_min"] = Ratio("1/min", len(of), minutes, len(of))
        measures[f"{name}_s_per_min"] = Ratio("s/min", seconds, minutes, len(of))
    speaking_a, speaking_b = dialogue.speaking["A"], dialogue.speaking["B"]
    both, either = int((speaking_a & speaking_b).sum()), int((speaking_a | speaking_b).sum())
    for side in SIDES:
        ticks = int(dialogue.speaking[side].sum())
        measures[f"{side.lower()}_talk_share"] = Ratio("share", ticks, dialogue.n_ticks, len(dialogue.ipus[side]))
    return measures | {"overlap_share_of_speech": Ratio("share", both, either, len(stretches))}


def _spans(events: list[TurnEvent]) -> list[tuple[int, int | None]]:
    return [(e.start_tick, e.end_tick) for e in events]


def overlap_onsets(dialogue: Dialogue, side: Side, with_chance: bool = True) -> dict[str, Quantity]:
    """Speech of `side` that begins over the other's: by its own length, and whether the other stopped.

    Onsets within 200 ms of the other's start (simultaneous) or end (terminal) are neither answered to nor yielded to;
    they are left out and counted. What an onset is called never depends on what the other did. Of all but simultaneous
    ones stands beside, with chance, how often the other stopped at once: a side that gives way within 200 ms looks like
    one that was just ending.
    """
    other = other_side(side)
    onsets = [e for e in dialogue.told("intrusion", side=side) if e.onset == "overlap"]
    apart = [e for e in onsets if not e.simultaneous]
    excluded = {
        "simultaneous": sum(bool(e.simultaneous) for e in onsets),
        "terminal": sum(bool(e.terminal) and not e.simultaneous for e in onsets),
    }
    x, y = side.lower(), other.lower()
    short_ticks = dialogue.settings.ticks("short_ms")
    lengths = {
        e.start_tick: dialogue.ipu_length_ticks(side, e.start_tick) for e in dialogue.told("intrusion", side=side)
    }
    short = sum(length <= short_ticks for length in lengths.values())
    speech_min = dialogue.speech_min(other)
    measures: dict[str, Quantity] = {
        f"{x}_onset_in_overlap_per_{y}_speech_min": Ratio("1/min", len(onsets), speech_min, len(onsets)),
        f"{x}_backchannel_like_per_{y}_speech_min": Ratio("1/min", short, speech_min, short),
    }
    until_stop = dialogue.ticks_until_stop(other)
    for size, is_short in (("long", False), ("short", True)):
        of_size = [e for e in apart if (lengths[e.start_tick] <= short_ticks) == is_short]
        of_all = np.array([e.start_tick for e in of_size], np.int64)
        starts = np.array([e.start_tick for e in of_size if not e.terminal], np.int64)
        stops = until_stop[starts]
        for seconds in STOP_WITHIN_S:
            limit_ticks = seconds * TICKS_PER_S
            chance = chance_of_stop(dialogue, other, starts, limit_ticks) if with_chance else None
            measures[f"{y}_stopped_within_{seconds}s_per_{size}_{x}_onset"] = Share(
                int((stops <= limit_ticks).sum()), len(starts), excluded, chance
            )
        at_once_ticks = dialogue.settings.ticks("terminal_ms")
        measures[f"{y}_stopped_at_once_per_{size}_{x}_onset"] = Share(
            int((until_stop[of_all] <= at_once_ticks).sum()),
            len(of_all),
            {"simultaneous": excluded["simultaneous"]},
            chance_of_stop(dialogue, other, of_all, at_once_ticks, also_terminal=True) if with_chance else None,
        )
        stopped = stops[stops <= max(STOP_WITHIN_S) * TICKS_PER_S] * float(TICK_MS)
        measures[f"{y}_stop_latency_ms_per_{size}_{x}_onset"] = Values(
            "ms", stopped.tolist(), excluded | {"did_not_stop": len(starts) - len(stopped)}
        )
    return measures


def chance_of_stop(
    dialogue: Dialogue, other: Side, starts: npt.NDArray[np.int64], limit_ticks: int, also_terminal: bool = False
) -> float | None:
    """Share of the same onsets that the other would "stop" for if its track lay elsewhere in time.

    The onsets are shifted round the session by many amounts; those that fall into the other's speech, and are neither
    simultaneous nor (unless also_terminal) terminal there, are asked the same question.
    """
    random = np.random.Generator(np.random.PCG64(CHANCE_SEED))
    shifts = random.integers(0, max(dialogue.n_ticks, 1), CHANCE_SHIFTS)
    shifted = (starts[:, None] + shifts).ravel() % max(dialogue.n_ticks, 1)
    settings = dialogue.settings
    clear = (
        dialogue.speaking[other][shifted]
        & (dialogue.ticks_since_start(other)[shifted] > settings.ticks("simultaneous_ms"))
        & (also_terminal | (dialogue.ticks_until_end(other)[shifted] > settings.ticks("terminal_ms")))
    )
    stops = dialogue.ticks_until_stop(other)[shifted][clear]
    return float((stops <= limit_ticks).mean()) if len(stops) else None
