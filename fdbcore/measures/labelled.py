"""Measures that need labels by people: what B does at A's labelled pauses, turn ends and contributions.

Labels say what a span is; the audio says when somebody speaks. Together they distinguish a false cut-off from an
answer, and stopping for an interruption from stopping for a backchannel.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.measures.dialogue import NEVER_TICKS, Dialogue
from fdbcore.measures.hang_up import is_missing
from fdbcore.measures.measure import CallMeasure, MeasureGroup, ShownMoments, Spot, Where
from fdbcore.measures.opportunities import PREMATURE_FTO_TICKS
from fdbcore.measures.overlaps import STOP_S, chance_of_stop, stop_latencies
from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.recording.labels import CONTRIBUTIONS, KeptLabels, Label, LabelKind
from fdbcore.types import TICK_MS, TICKS_PER_S, Span

SHORTEST_PAUSE_MS: Final = 200
PAUSE_BINS_MS: Final = ((200, 500), (500, 1000), (1000, 2000), (2000, None))
"""Bins for the lengths of A's labelled pauses: from the first number up to, but not including, the second."""
DISTRACTIONS: Final[tuple[LabelKind, ...]] = tuple(kind for kind in CONTRIBUTIONS if kind != "interruption")
"""Contributions that a system should not stop for."""

Ticks: TypeAlias = npt.NDArray[np.int64]

GROUP: Final = MeasureGroup(
    "By your labels",
    "Labels say what a span is; the audio says when somebody speaks. A system that waits longer cuts off less, so read "
    "false cut-ins and response latency together.",
)
CALLED: Final[Mapping[LabelKind, str]] = {
    "interruption": "an interruption",
    "backchannel": "a backchannel",
    "side_talk": "side talk",
    "noise": "noise",
}
"""The name of each kind of contribution in a sentence."""


def pause_bin(low_ms: int, high_ms: int | None) -> str:
    """The name of a bin of PAUSE_BINS_MS, such as "200_to_500_ms"."""
    return f"{low_ms}_ms_and_over" if high_ms is None else f"{low_ms}_to_{high_ms}_ms"


def stop_share(name: str) -> str:
    """The id of the measure how often B stops for one kind of label, or for all distractions."""
    return f"b_stopped_within_{STOP_S}s_per_labelled_{name}"


_LINES: Final[Mapping[Where, int]] = {"call": 40, "run": 60, "note": 30}


def _on_screens(order: int, text: str, none: str = "") -> tuple[Spot, ...]:
    """The part of a measure in the line about labels, wherever there is one."""
    return tuple(
        Spot(where, first + order, f"by your labels{':' * (where == 'note')}", text, none)
        for where, first in _LINES.items()
    )


def _of_pauses(low_ms: int, high_ms: int | None) -> CallMeasure:
    lengths = f"{low_ms / 1000:g} s and over" if high_ms is None else f"{low_ms / 1000:g} to {high_ms / 1000:g} s"
    return CallMeasure(
        f"cut_off_per_labelled_a_pause_of_{pause_bin(low_ms, high_ms)}", f"false cut-ins in pauses of {lengths}", 0,
        "share", pools="share", group=GROUP, meaning="The same, by the length of the pause.",
        over=f"Labelled pauses of A of {lengths}",
    )  # fmt: skip


_STOPS: Final = {
    kind: _on_screens(order, f" | yield rate at {kind}s {{fraction}}{{by_chance}}")
    for order, kind in ((3, "interruption"), (4, "distraction"))
}


def _of_kind(kind: str, what: str) -> list[CallMeasure]:
    """The measures whether B stops for one kind of label, and how fast; for all distractions only whether."""
    plural = what if kind in ("side_talk", "noise") else f"{kind}s"
    share = CallMeasure(
        stop_share(kind), f"yield rate at {plural}", 0, "share", pools="share", group=GROUP,
        meaning=f"What A's labels call {what}, begun while B spoke: how often B falls silent within {STOP_S} s, until "
        "they end, and for at least 1 s.", literature="stop rate", over=f"What labels call {what}",
        spots=_STOPS.get(kind, ()),
    )  # fmt: skip
    latency = CallMeasure(
        f"b_stop_latency_ms_per_labelled_{kind}", f"stop latency at {plural}", 0, "ms", pools="median",
        group=GROUP, meaning=f"From the labelled start to B's silence, where it came within {STOP_S} s.",
    )  # fmt: skip
    return [share, latency] if kind in CALLED else [share]


_PAUSES: Final = "Labelled pauses of A"
_FALSE_CUT_OFF: Final = ShownMoments(("false_cut_off",), "B")
MEASURES: Final = (
    CallMeasure(
        "cut_off_per_labelled_a_pause", "false cut-ins", 0, "share", pools="share", group=GROUP,
        meaning="Labelled pauses inside A's turn, of at least 0.2 s, in which B began to speak. A start that is "
        "labelled a backchannel of B does not count.", literature="false cut-off", shown=_FALSE_CUT_OFF, over=_PAUSES,
        axis="y",
        spots=_on_screens(0, " | false cut-ins {fraction} pauses", " | false cut-ins 0/0 pauses"),
    ),
    CallMeasure(
        "long_cut_off_per_labelled_a_pause", "long false cut-ins", 0, "share", pools="share", group=GROUP,
        meaning="The same, where B then spoke for longer than {short_ms}.", literature="false cut-off",
        shown=_FALSE_CUT_OFF, over=_PAUSES,
    ),
    *(_of_pauses(*limits) for limits in PAUSE_BINS_MS),
    CallMeasure(
        "response_latency_ms_per_labelled_turn_end", "response latency by label", 0, "ms", pools="median", group=GROUP,
        meaning="From the labelled end of A's turn to B's first sound; negative if B began up to 0.2 s early.",
        axis="x", spots=_on_screens(2, ", response latency {median} (median)"),
    ),
    CallMeasure(
        "answered_per_labelled_turn_end", "response rate by label", 0, "share", pools="share",
        group=GROUP,
        meaning="B began within {response_window_ms}, and at most 0.2 s before the labelled end. If B held the floor "
        "before, it had been silent for {yield_hold_ms}: who takes a breath and goes on has not answered.",
        over="Labelled ends of A's turns",
        spots=_on_screens(1, " | response rate {fraction} turn ends", " | response rate 0/0 turn ends"),
    ),
    *(
        measure
        for kind, what in (*CALLED.items(), ("distraction", "backchannels, side talk and noise"))
        for measure in _of_kind(kind, what)
    ),
    CallMeasure(
        "b_selectivity", "selectivity", 0, "share", pools="difference", group=GROUP,
        meaning="Share of interruptions that B stops for, minus the share of backchannels, side talk and noise that "
        "it stops for. It is 0 for a system that stops for everything, or for nothing.",
        difference_of=(stop_share("interruption"), stop_share("distraction")),
        spots=_on_screens(5, " | selectivity {interval}"),
    ),
)  # fmt: skip


def labelled_quantities(dialogue: Dialogue, labels: KeptLabels) -> dict[str, Quantity]:
    """The measures of this module that the labels of a session allow."""
    return cut_offs(dialogue, labels) | answers(dialogue, labels) | stops(dialogue, labels)


def cut_offs(dialogue: Dialogue, labels: KeptLabels) -> dict[str, Quantity]:
    """False cut-offs: B begins to speak in a labelled pause inside A's turn; in total and by the length of the pause.

    A start of B that is itself labelled a backchannel does not count. Pauses shorter than 200 ms, and pauses that begin
    while B speaks, are excluded.
    """
    pauses = labels.of("A", "pause")
    if not pauses:
        return {}
    excluded = Counter(short_pause=0, b_was_speaking=0)
    opportunities = list(_starts_in_pauses(dialogue, labels, excluded))
    short_ticks = dialogue.settings.ticks("short_ms")
    cut_in = [(pause, start is not None) for pause, start in opportunities]
    long = [(pause, start is not None and start[1] - start[0] > short_ticks) for pause, start in opportunities]
    measures: dict[str, Quantity] = {
        "cut_off_per_labelled_a_pause": _share(cut_in, excluded),
        "long_cut_off_per_labelled_a_pause": _share(long, excluded),
    }
    for low_ms, high_ms in PAUSE_BINS_MS:
        upto_ms = math.inf if high_ms is None else high_ms
        found = [(pause, happened) for pause, happened in cut_in if low_ms <= _length_ms(pause) < upto_ms]
        measures[f"cut_off_per_labelled_a_pause_of_{pause_bin(low_ms, high_ms)}"] = _share(found)
    return measures


def false_cut_offs(dialogue: Dialogue, labels: KeptLabels) -> list[Span]:
    """The speech of B that begins in A's labelled pauses, as sorted spans of ticks; see `cut_offs`."""
    return sorted({start for _, start in _starts_in_pauses(dialogue, labels, Counter()) if start is not None})


def _starts_in_pauses(
    dialogue: Dialogue, labels: KeptLabels, excluded: Counter[str]
) -> Iterator[tuple[Label, Span | None]]:
    """A's labelled pauses, each with the first speech of B that begins in it; counts the pauses that it excludes."""
    spoken = unlabelled(dialogue.ipus["B"], labels.of("B", "backchannel"))
    for pause in labels.of("A", "pause"):
        if _length_ms(pause) < SHORTEST_PAUSE_MS:
            excluded["short_pause"] += 1
        elif _speaks_through(dialogue.ipus["B"], pause.start_tick, pause.start_tick):
            excluded["b_was_speaking"] += 1
        else:
            first = bisect_left(spoken, (pause.start_tick, 0))
            yield pause, next((span for span in spoken[first : first + 1] if span[0] < pause.end_tick), None)


def _length_ms(label: Label) -> int:
    return (label.end_tick - label.start_tick) * TICK_MS


def _speaks_through(spans: Ticks, first_tick: int, last_tick: int) -> bool:
    """True if one of the spans begins before the first tick and ends after the last."""
    row = int(np.searchsorted(spans[:, 0], first_tick)) - 1
    return row >= 0 and bool(spans[row, 1] > last_tick)


def unlabelled(spans: Ticks, labels: Sequence[Label]) -> list[Span]:
    """The spans (n, 2) that overlap none of the labels."""
    free = ((start, end) for start, end in spans.tolist())
    return [span for span in free if not any(span[0] < each.end_tick and each.start_tick < span[1] for each in labels)]


def _share(labels: Sequence[tuple[Label, bool]], excluded: Mapping[str, int] | None = None) -> Share:
    """The share of the labels at which something happened."""
    spans, others = ([label.span for label, happened in labels if happened is wanted] for wanted in (True, False))
    return Share.of(spans, others, excluded)


def answers(dialogue: Dialogue, labels: KeptLabels) -> dict[str, Quantity]:
    """The delay from a labelled end of A's turn to B's start (up to 200 ms before it), and how often it answers at all.

    B has not answered if it was already speaking or only goes on after a breath (see `_goes_on`), does not begin within
    response_window_ms, or if A goes on first.
    """
    ends = labels.of("A", "turn_end")
    if not ends:
        return {}
    latencies_ms: list[float] = []
    answered: list[Span] = []
    not_answered: list[Span] = []
    others = Counter(b_was_speaking=0, no_response=0, a_went_on=0, censored=0)
    for end in ends:
        found = _answer(dialogue, end.end_tick)
        if isinstance(found, int):
            latencies_ms.append(float(found * TICK_MS))
            answered.append((min(end.end_tick, end.end_tick + found), max(end.end_tick, end.end_tick + found)))
            continue
        others[found] += 1
        if found != "censored":
            not_answered.append((end.end_tick, end.end_tick))
    censored = {"censored": others["censored"]}
    return {
        "response_latency_ms_per_labelled_turn_end": Values("ms", latencies_ms, others, answered),
        "answered_per_labelled_turn_end": Share.of(answered, not_answered, censored),
    }


def _answer(dialogue: Dialogue, end_tick: int) -> int | str:
    """Ticks from the end of A's turn to B's start; or the reason why there is no answer."""
    first, last = dialogue.span_at(end_tick)
    earliest = max(end_tick + PREMATURE_FTO_TICKS, first)
    window_ticks = dialogue.settings.ticks("response_window_ms")
    if _speaks_through(dialogue.ipus["B"], earliest, end_tick):
        return "b_was_speaking"
    starts_b, starts_a = (dialogue.ipus[side][:, 0] for side in ("B", "A"))
    answer, goes_on = first_within(starts_b, earliest, last), first_within(starts_a, end_tick + 1, last)
    if goes_on < min(answer, end_tick + window_ticks):
        return "a_went_on"
    if answer <= end_tick + window_ticks:
        return "b_was_speaking" if _goes_on(dialogue, answer) else answer - end_tick
    anybody_later = min(answer, goes_on) < last
    missing = anybody_later or is_missing(last - end_tick, dialogue.settings, dialogue.line_at(last))
    return "no_response" if missing else "censored"


def _goes_on(dialogue: Dialogue, start_tick: int) -> bool:
    """True if B's speech that starts there goes on with a turn of B after a silence shorter than yield_hold_ms."""
    ends = dialogue.ipus["B"][:, 1]
    before = ends[ends < start_tick]
    if not len(before) or start_tick - before[-1] >= dialogue.settings.ticks("yield_hold_ms"):
        return False
    return any(start < before[-1] <= end for start, end in (turn.span for turn in dialogue.turns("B")))


def first_within(starts: Ticks, tick: int, end_tick: int) -> int:
    """The first of the sorted starts (n,) in [tick, end_tick); NEVER_TICKS if there is none."""
    row = int(np.searchsorted(starts, tick))
    return int(starts[row]) if row < len(starts) and starts[row] < end_tick else NEVER_TICKS


def stops(dialogue: Dialogue, labels: KeptLabels) -> dict[str, Quantity]:
    """The rate and speed of B's stops for labelled contributions of A that begin while B speaks; per kind of label.

    As with unlabelled onsets, contributions that begin within 200 ms of B's own start or end are excluded.
    """
    measures: dict[str, Quantity] = {}
    for name, kinds in (*((kind, (kind,)) for kind in CONTRIBUTIONS), ("distraction", DISTRACTIONS)):
        found = labels.of("A", *kinds)
        if not found:
            continue
        contributions, excluded = clear(dialogue, found)
        starts, ends = np.array([label.span for label in contributions], np.int64).reshape(-1, 2).T
        until = dialogue.ticks_until_stop("B", starts, ends)
        has_stopped = until <= STOP_S * TICKS_PER_S
        chance = chance_of_stop(dialogue, "B", STOP_S * TICKS_PER_S, ends - starts)
        found_share = _share(list(zip(contributions, has_stopped.tolist(), strict=True)), excluded)
        measures[stop_share(name)] = replace(found_share, chance=chance)
        if name != "distraction":
            measures[f"b_stop_latency_ms_per_labelled_{name}"] = stop_latencies(starts, until, excluded)
    return measures


def clear(dialogue: Dialogue, found: Sequence[Label]) -> tuple[list[Label], dict[str, int]]:
    """The labels that begin while B speaks, away from its start and end; and how many are excluded, by reason."""
    ticks = np.array([label.start_tick for label in found], np.int64)
    since, until = dialogue.ticks_since_start("B", ticks), dialogue.ticks_until_end("B", ticks)
    settings = dialogue.settings
    why_not = {
        "b_was_silent": ~dialogue.speaking["B"][ticks],
        "simultaneous": since <= settings.ticks("simultaneous_ms"),
        "terminal": until <= settings.ticks("terminal_ms"),
    }
    reasons = np.select([*why_not.values()], [*why_not], "").tolist()  # of several the first
    clear = [label for label, reason in zip(found, reasons, strict=True) if not reason]
    return clear, {reason: reasons.count(reason) for reason in why_not}
