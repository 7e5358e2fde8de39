"""The key figures of a session in words that need no explanation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fdbcore.report.glossary import in_words
from fdbcore.report.words import ITEMS_FOR_P90, NONE, number_text, seconds_text
from fdbcore.types import TurnSettings

Measures = Mapping[str, Mapping[str, Any]]


def lead(measures: Measures) -> str:
    """The session in one sentence."""
    answered, latency = measures["answered_per_turn"], measures["response_latency_ms"]
    if not answered["n"]:
        return "A left no finished turn for B to answer."
    if not latency["n"]:
        return f"B answered none of {_turns(answered['n'])}."
    text = f"B answered {answered['count']} of {_turns(answered['n'])}"
    if latency["n"] == 1:
        return f"{text}, after {seconds_text(latency['median'])}."
    return f"{text}; half of the answers came within {seconds_text(latency['median'])}."


def figures(measures: Measures, settings: TurnSettings) -> str:
    """The key figures, each with a sentence that says what it is."""
    cells = (_answered, _answer_time, _a_over_b, _b_over_a, _silence, _talking)
    items = "".join(
        f'<div><dt>{title}</dt><dd class="value">{value}</dd><dd>{text}</dd></div>\n'
        for title, value, text in (cell(measures, settings) for cell in cells)
    )
    unbroken = re.sub(r"(?<=\d) (?=s\b|%)", "\u00a0", items)
    return f'<dl class="figures">\n{unbroken}</dl>'


def _answered(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    answered = measures["answered_per_turn"]
    if not answered["n"]:
        return "Answers", NONE, "A left no finished turn for B to answer."
    early, none = measures["premature_per_turn"]["count"], measures["no_response_per_turn"]["count"]
    text = f"turns of A that B answered. {early} cut off by B, {none} without an answer within {{response_window_ms}}."
    return "Answers", f"{answered['count']} of {answered['n']}", in_words(text, settings)


def _answer_time(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    latency = measures["response_latency_ms"]
    if not latency["n"]:
        return "Answer time", NONE, "no answers"
    text = "from the end of A's turn to B's first sound"
    if latency["n"] == 1:
        return "Answer time", seconds_text(latency["median"]), f"{text}."
    text += ", for half of the answers"
    if latency["n"] >= ITEMS_FOR_P90:
        return (
            "Answer time",
            seconds_text(latency["median"]),
            f"{text}; for nine in ten {seconds_text(latency['p90'])}.",
        )
    return "Answer time", seconds_text(latency["median"]), f"{text}; the slowest took {seconds_text(latency['max'])}."


def _a_over_b(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    long, short = (measures[f"b_stopped_within_2s_per_{size}_a_onset"] for size in ("long", "short"))
    title = "A talks over B"
    shorter = f"Shorter speech over B: {short['n']}" + (f", B stopped for {short['count']}." if short["n"] else ".")
    if not long["n"]:
        return title, "never", in_words(f"with more than {{short_ms}} of speech. {shorter}", settings)
    by_chance = f" (by chance: {long['by_chance'] * long['n']:.1f})" if long.get("by_chance") is not None else ""
    stopped = f"B stopped within 2 s for {long['count']} of {long['n']}{by_chance}."
    text = f"with more than {{short_ms}} of speech. {stopped} {shorter}"
    return title, _times(long["n"]), in_words(text, settings)


def _b_over_a(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    long, short = (measures[f"a_stopped_within_2s_per_{size}_b_onset"] for size in ("long", "short"))
    text = f"with more than {{short_ms}} of speech. Shorter speech over A: {short['n']}."
    return "B talks over A", _times(long["n"]), in_words(text, settings)


def _silence(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    lapses, first = measures["lapse_s"], measures["b_initial_silence_s"]
    longest = f"; the longest lasted {lapses['max']:.1f} s" if lapses["n"] else ""
    start = f"B's first sound came after {first['median']:.1f} s." if first["n"] else "No speech was found on B."
    return (
        "Long silences",
        _times(lapses["n"]),
        f"both silent for more than 3 s between their first and their last words{longest}. {start}",
    )


def _talking(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    a, b = (number_text(measures[f"{side}_talk_share"]["mean"], "share") for side in "ab")
    both = number_text(measures["overlap_share_of_speech"]["mean"], "share")
    value = f'<span class="side-a">A {a} %</span> <span class="side-b">B {b} %</span>'
    return "Time spent talking", value, f"of the session; both at once for {both} % of the time with speech."


def _turns(n: int) -> str:
    return f"{n} turn" if n == 1 else f"{n} turns"


def _times(n: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(n, f"{n} times")
