"""The recovery of B from an interruption that it stopped for: when it speaks again, and with which words."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from fdbcore.measures.dialogue import Dialogue
from fdbcore.measures.labelled import GROUP, clear, first_within
from fdbcore.measures.measure import CallMeasure
from fdbcore.measures.overlaps import STOP_S
from fdbcore.measures.quantities import Quantity, Share, Values
from fdbcore.recording.labels import KeptLabels, Label
from fdbcore.types import TICK_MS, TICKS_PER_S, Span

FIRST_WORDS: Final = 3
"""This many words decide how B goes on after an interruption; fewer than FEWEST_WORDS decide nothing."""
FEWEST_WORDS: Final = 2
TAKEN_UP: Final = {
    "restarted": (
        "restarts after interruptions",
        "Its first three words are the first words of the interrupted turn.",
        "restart",
    ),
    "resumed": (
        "resumptions after interruptions",
        "Its first three words are in the interrupted turn, but not at its start.",
        "resumption",
    ),
    "new_words": (
        "new words after interruptions",
        "They are an answer, or the rest of what it meant to say; words alone cannot decide which.",
        "",
    ),
}
TOO_FEW: Final = "too_few_words"
MEASURES: Final = (
    CallMeasure(
        "b_recovery_latency_ms_per_labelled_interruption", "recovery latency", 0, "ms",
        pools="median", group=GROUP,
        meaning="From the end of an interruption that B stopped for; negative if B began before that.",
    ),
    *(
        CallMeasure(
            f"b_{name}_per_recovery", label, 0, "share", pools="share", group=GROUP, meaning=meaning,
            literature=literature, over="Times that B spoke again",
        )
        for name, (label, meaning, literature) in TAKEN_UP.items()
    ),
)  # fmt: skip

Word: TypeAlias = tuple[str, float, float]
"""Text, start and end in seconds."""


def recovery_quantities(dialogue: Dialogue, labels: KeptLabels, words: Sequence[Word] | None) -> dict[str, Quantity]:
    """The recovery of B from an interruption that it stopped for: when it speaks again, and with which words.

    The time counts from the end of the interruption, and is negative if B began before that. words: B's words, None if
    they are not known. B restarts if it repeats the first words of its turn, resumes if it repeats later ones, and
    otherwise says new words: an answer, or the rest of what it meant to say, which words alone cannot decide.
    """
    found = labels.of("A", "interruption")
    if not found:
        return {}
    interrupted, excluded = clear(dialogue, found)
    starts, ends = np.array([label.span for label in interrupted], np.int64).reshape(-1, 2).T
    until_stop = dialogue.ticks_until_stop("B", starts, ends).tolist()
    latencies_ms: list[float] = []
    others = Counter(excluded | {"did_not_stop": 0, "no_response": 0, "censored": 0})
    recovered: list[Span] = []
    said: dict[str, list[Span]] = {}
    for label, until in zip(interrupted, until_stop, strict=True):
        stop_tick = label.start_tick + until
        if until > STOP_S * TICKS_PER_S:
            others["did_not_stop"] += 1
            continue
        _, last = dialogue.span_at(label.start_tick)
        again = first_within(dialogue.ipus["B"][:, 0], stop_tick, last)
        limit = dialogue.settings.ticks("response_window_ms")
        if again > label.end_tick + limit:
            others["censored" if label.end_tick + limit > last else "no_response"] += 1
            continue
        latencies_ms.append(float((again - label.end_tick) * TICK_MS))
        span = label.start_tick, max(label.end_tick, again)
        recovered.append((min(label.end_tick, again), max(label.end_tick, again)))
        said.setdefault(_taken_up(words, _turn_start(dialogue, label), stop_tick, again), []).append(span)
    measures: dict[str, Quantity] = {
        "b_recovery_latency_ms_per_labelled_interruption": Values("ms", latencies_ms, others, recovered)
    }
    if words is None:
        return measures
    without = {"too_few_words": len(said.pop(TOO_FEW, ()))}
    return measures | {
        f"b_{name}_per_recovery": Share.of(
            said.get(name, []), [span for other, spans in said.items() if other != name for span in spans], without
        )
        for name in TAKEN_UP
    }


def _turn_start(dialogue: Dialogue, label: Label) -> int:
    """The tick at which the turn of B began that a label interrupts."""
    starts = [turn.start_tick for turn in dialogue.turns("B") if turn.start_tick <= label.start_tick]
    return max(starts, default=0)


def _taken_up(words: Sequence[Word] | None, turn_start: int, stop_tick: int, again_tick: int) -> str:
    """The place in the turn before a stop where the first words after it occur: a key of TAKEN_UP, or TOO_FEW."""
    slack_s = 0.2  # edges of words and of speech differ by about this much
    turn_s, stop_s, again_s = (tick / TICKS_PER_S for tick in (turn_start, stop_tick, again_tick))
    # compared without case and punctuation
    timed = [(re.sub(r"[^\w']+", "", text.casefold()), start_s) for text, start_s, _ in words or ()]
    before = [text for text, start_s in timed if text and turn_s - slack_s <= start_s < stop_s]
    after = [text for text, start_s in timed if text and start_s >= max(again_s - slack_s, stop_s)][:FIRST_WORDS]
    if min(len(before), len(after)) < FEWEST_WORDS:
        return TOO_FEW
    repeats = [row for row in range(len(before) - len(after) + 1) if before[row : row + len(after)] == after]
    if not repeats:
        return "new_words"
    return "restarted" if repeats[0] == 0 else "resumed"
