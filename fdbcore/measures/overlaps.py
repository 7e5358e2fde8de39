"""Speech of one side that begins while the other speaks, and how the other reacts."""

from collections.abc import Mapping
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from fdbcore.measures.dialogue import AHEAD_TICKS, Dialogue
from fdbcore.measures.measure import CallMeasure, Column, MeasureGroup, ShippedLimit, ShownMoments, Spot
from fdbcore.measures.quantities import Quantity, Ratio, Share, Values
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, Span, other_side

STOP_WITHIN_S = (1, 2)
STOP_S: Final = max(STOP_WITHIN_S)

GROUP: Final = MeasureGroup(
    "Talking at the same time",
    "Speech that begins while the other is speaking, and how the other reacts. “By chance” is what the same "
    "tracks show if one is shifted in time: speakers who do not hear each other also fall silent sometimes.",
)


def over(x: Side) -> str:
    """The title of what is said of a side's speech over the other."""
    return f"{x} talks over {other_side(x)}"


YIELD_RATE: Final = "barge-in yield rate"
_B_STOPS: Final = (
    Spot(
        "call", 21, over("A"), f" | {YIELD_RATE} {{fraction}}~ (a deaf system: {{expected}})"
    ),
    Spot("run", 40, YIELD_RATE, "{interval} of {n:,}~ | a deaf system {chance}"),
    Spot("call tile", 31, over("A"), " Barge-in yield rate: [{count}] of [{n}](all), within 2 s{by_chance}."),
    Spot(
        "run tile", 50, YIELD_RATE,
        "B stopped for [{count:,}] of [{n:,}](all) barge-ins of more than {short_ms}, within 2 s~. By chance: {chance}",
        "A never talked over B for more than {short_ms}", "{mean}", gated=True,
    ),
)  # fmt: skip
_STOP_LIMITS: Final = (
    ShippedLimit(
        " >= 0.9",
        "Hamming, How to Evaluate Voice Agents (2026): more than 90 % of interruptions handled. The window of 2 s is "
        "that of tau-voice (arXiv 2603.13686).",
    ),
)


def _long(x: Side) -> tuple[Spot, ...]:
    """The places that show how often the other side stops for long speech of side `x`."""
    title, order = over(x), 20 if x == "A" else 30
    found = (
        Spot("call", order, title, "{onsets_times} for more than {short_ms}"),
        Spot(
            "call tile", order + 10, title, "with more than {short_ms} of speech.",
            value=f"[{{onsets_times}}](long_{x.lower()}_onset)", gated=x == "A",
        ),
    )  # fmt: skip
    return found if x == "B" else (*found, *_B_STOPS)


def _at_once(x: Side) -> tuple[Spot, ...]:
    """The same of how often it stops at once."""
    y, title, order = other_side(x), over(x), 24 if x == "A" else 31
    at_once = f"{y} stopped at once, within {{terminal_ms}}"
    found = (
        Spot("call", order, title, f" | {y} stopped at once {{times}}{{by_chance}}"),
        Spot(
            "call tile", order + 10, title,
            f" {at_once}: [{{times}}]{{by_chance}}.~ Not counted: {{simultaneous}} begun together with {y}.",
        ),
        Spot("run", 41, YIELD_RATE, " | at once {times:,}x{by_chance}"),
        Spot("run tile", 52, YIELD_RATE, ". At once: [{times:,}]{by_chance}"),
    )  # fmt: skip
    return found if x == "A" else found[:2]


def _short(x: Side) -> tuple[Spot, ...]:
    """The same of short speech of side `x`."""
    title, order, is_a = over(x), 25 if x == "A" else 32, x == "A"
    return (
        Spot("call", order, title, " | backchannels {n}" + "~, yield rate {fraction}" * is_a),
        Spot("call tile", order + 11, title, " Backchannels: [{n}](all)" + "~, yielded to [{count}]" * is_a + "~."),
    )


def _measures(x: Side) -> list[CallMeasure]:
    """The measures of speech of side `x` that begins while the other speaks."""
    y = other_side(x)
    a, b = x.lower(), y.lower()
    found = [
        CallMeasure(
            f"{a}_onset_in_overlap_per_{b}_speech_min", f"{x}'s onsets in overlap", 0, "1/min", pools="rate",
            group=GROUP, meaning=f"All of {x}'s starts in overlap, per minute of {y}'s speech.",
            compared=x == "B", shown=ShownMoments(("talk_over",), x) if x == "B" else None, per=f"{y}'s speech",
        ),
        CallMeasure(
            f"{a}_backchannel_like_per_{b}_speech_min", f"{x}'s backchannels", 0, "1/min", pools="rate",
            group=GROUP,
            meaning=f"Speech of at most {{short_ms}} during {y}'s turn, such as “uh-huh”. Its length alone decides.",
            literature="backchannel-like", compared=x == "B", per=f"{y}'s speech",
        ),
    ]  # fmt: skip
    whose = "" if y == "B" else "A's "
    for size, to, length, name, of in (
        ("long", "barge-in", "longer than", "yielding to an interruption", f"Barge-ins of {x} over {y}"),
        ("short", "backchannel", "at most", "stopping for a backchannel", f"Backchannels of {x} over {y}"),
    ):
        length, rate = f"{x} comes in for {length} {{short_ms}}", f"{whose}{to} yield rate"
        per = f"per_{size}_{a}_onset"
        interrupted = y == "B" and size == "long"
        shown = ShownMoments(("talk_over",), "A") if interrupted else None
        direction: Literal[-1, 0, 1] = 0 if y == "A" else 1 if interrupted else -1
        found += [
            CallMeasure(
                f"{b}_stopped_within_{seconds}s_{per}", rate if seconds == STOP_S else f"{rate} in {seconds} s",
                direction, "share", pools="share", group=GROUP,
                meaning=f"{length}: how often {y} falls silent within {seconds} s, until {x} has ended, and for at "
                "least 1 s.",
                literature=name, compared=interrupted and seconds == 2,
                shown=shown, column=Column(4) if interrupted and seconds == STOP_S else None, over=of,
                spots=() if seconds < STOP_S else _long(x) if size == "long" else _short(x),
                limits=_STOP_LIMITS if interrupted and seconds == 2 else (),
                apart=f"{b}_stopped_at_once_{per}",
            )
            for seconds in STOP_WITHIN_S
        ]  # fmt: skip
        found += [
            CallMeasure(
                f"{b}_stopped_at_once_{per}", f"{rate} at once", 0, "share", pools="share", group=GROUP,
                meaning=f"{length}: how often {y} falls silent within {{terminal_ms}}. It gave way, or was ending "
                f"anyway; “by chance” shows how often to expect the latter.", literature=name, over=of,
                spots=_at_once(x) if size == "long" else (),
            ),
            CallMeasure(
                f"{b}_stop_latency_ms_{per}", f"{whose}{to} stop latency", -1 if interrupted else 0, "ms",
                pools="median", group=GROUP, meaning=f"From {x}'s start to {y}'s silence, if it came within 2 s.",
                shown=shown,
                spots=(Spot("call", 23, over(x), ", stop latency {median} (median)"),) if interrupted else (),
                moved_by=((y, "end_ms"), (x, "start_ms")),
            ),
        ]  # fmt: skip
    return found


MEASURES: Final = tuple(measure for side in SIDES for measure in _measures(side))


def overlap_onsets(dialogue: Dialogue, side: Side, with_chance: bool = True) -> dict[str, Quantity]:
    """Onsets of `side` while the other speaks: how many, by their own length, and whether the other stopped.

    Onsets within simultaneous_ms of the other's start or terminal_ms of its end are excluded and counted: the other
    cannot react to them. The class of an onset never depends on what the other did. `stopped_at_once` covers all but
    simultaneous onsets, since a side that gives way within terminal_ms looks like one that was just ending.
    with_chance: also compute the shares that chance would give, which takes longest.
    """
    other = other_side(side)
    onsets = [e for e in dialogue.uncensored("intrusion", side=side) if e.onset == "overlap"]
    apart = [e for e in onsets if not e.simultaneous]
    excluded = {
        "simultaneous": sum(bool(e.simultaneous) for e in onsets),
        "terminal": sum(bool(e.terminal) and not e.simultaneous for e in onsets),
    }
    x, y = side.lower(), other.lower()
    short_ticks = dialogue.settings.ticks("short_ms")
    lengths = {
        e.start_tick: dialogue.ipu_length_ticks(side, e.start_tick) for e in dialogue.uncensored("intrusion", side=side)
    }
    spans = {start: (start, start + length) for start, length in lengths.items()}
    short = [spans[start] for start, length in lengths.items() if length <= short_ticks]
    in_overlap = [spans[e.start_tick] for e in onsets]
    speech_min = dialogue.speech_min(other)
    measures: dict[str, Quantity] = {
        f"{x}_onset_in_overlap_per_{y}_speech_min": Ratio("1/min", len(onsets), speech_min, len(onsets), in_overlap),
        f"{x}_backchannel_like_per_{y}_speech_min": Ratio("1/min", len(short), speech_min, len(short), short),
    }
    for size, is_short in (("long", False), ("short", True)):
        of_size = [e for e in apart if (lengths[e.start_tick] <= short_ticks) == is_short]
        of_all = np.array([e.start_tick for e in of_size], np.int64)
        starts = np.array([e.start_tick for e in of_size if not e.terminal], np.int64)
        ends, ends_of_all = (dialogue.words_end(side, each) for each in (starts, of_all))
        stops = dialogue.ticks_until_stop(other, starts, ends)
        for seconds in STOP_WITHIN_S:
            limit_ticks = seconds * TICKS_PER_S
            chance = chance_of_stop(dialogue, other, limit_ticks, ends - starts) if with_chance else None
            measures[f"{y}_stopped_within_{seconds}s_per_{size}_{x}_onset"] = Share.of(
                *_divided(spans, starts, stops <= limit_ticks), excluded, chance
            )
        at_once_ticks = dialogue.settings.ticks("terminal_ms")
        measures[f"{y}_stopped_at_once_per_{size}_{x}_onset"] = Share.of(
            *_divided(spans, of_all, dialogue.ticks_until_stop(other, of_all, ends_of_all) <= at_once_ticks),
            {"simultaneous": excluded["simultaneous"]},
            chance_of_stop(dialogue, other, at_once_ticks, ends_of_all - of_all, also_terminal=True)
            if with_chance
            else None,
        )
        measures[f"{y}_stop_latency_ms_per_{size}_{x}_onset"] = stop_latencies(starts, stops, excluded)
    return measures


def stop_latencies(starts: npt.NDArray[np.int64], until: npt.NDArray[np.int64], excluded: Mapping[str, int]) -> Values:
    """The latency from each of the starts (n,) to a side's stop, within STOP_S. until: so many ticks (n,)."""
    has_stopped = until <= STOP_S * TICKS_PER_S
    begun, ticks = starts[has_stopped].tolist(), until[has_stopped].tolist()
    without = {**excluded, "did_not_stop": len(starts) - len(begun)}
    spans = [(start, start + length) for start, length in zip(begun, ticks, strict=True)]
    return Values("ms", [float(length * TICK_MS) for length in ticks], without, spans)


def _divided(
    spans: Mapping[int, Span], starts: npt.NDArray[np.int64], counts: npt.NDArray[np.bool_]
) -> tuple[list[Span], list[Span]]:
    """The spans that begin at these ticks (n,): those that count, bool (n,), and the others."""
    return [spans[start] for start in starts[counts].tolist()], [spans[start] for start in starts[~counts].tolist()]


def chance_of_stop(
    dialogue: Dialogue,
    other: Side,
    limit_ticks: int,
    lengths_ticks: npt.NDArray[np.int64],
    also_terminal: bool = False,
) -> float | None:
    """The share of onsets, of words of these lengths (n,), that the other would "stop" for within limit_ticks if they
    lay anywhere in its speech: what a deaf side is credited with.

    It is as if the onsets were shifted in time by every possible number of ticks, so that each falls on each tick once.
    Ticks count if the other speaks there, and if an onset there is neither simultaneous nor (unless also_terminal)
    terminal. None if there is no such tick, or no onset.
    """
    settings, ipus = dialogue.settings, dialogue.ipus[other]
    first = ipus[:, 0] + settings.ticks("simultaneous_ms") + 1
    last = ipus[:, 1] - (0 if also_terminal else settings.ticks("terminal_ms"))
    starts, ends = first[first < last], last[first < last]
    before = np.append(0, (ends - starts).cumsum())  # ticks that count before each of the spans, and in all
    if not before[-1] or not len(lengths_ticks):
        return None

    def counts(ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The number of ticks that count before each of these, (n,)."""
        row = np.searchsorted(starts, ticks, side="right") - 1
        within = np.minimum(ticks - starts[row], ends[row] - starts[row])
        return np.where(row < 0, 0, before[row] + within)

    silences = dialogue.long_silences(other)
    earliest = [max(start - limit_ticks, dialogue.span_at(start)[0]) for start in silences[:, 0].tolist()]
    stopped = 0
    for length, times in zip(*np.unique(lengths_ticks, return_counts=True), strict=True):
        latest = np.minimum(silences[:, 0], silences[:, 1] - length + AHEAD_TICKS + 1)
        upto = np.maximum.accumulate(np.maximum(latest, earliest)) if len(silences) else latest
        since = np.maximum(earliest, np.append(0, upto)[:-1]).astype(np.int64)
        stopped += times * int((counts(upto) - counts(since)).sum())
    return float(stopped / (before[-1] * len(lengths_ticks)))
