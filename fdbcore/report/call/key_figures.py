"""The key figures of a call, each with a sentence that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from fdbcore.measures.answers import UNANSWERED
from fdbcore.report.format import ITEMS_FOR_P90, NONE, amount, by_chance, counted, long_onsets
from fdbcore.report.glossary import in_words
from fdbcore.report.html.values import KeyFigure
from fdbcore.types import TurnSettings

if TYPE_CHECKING:
    from fdbcore.analysis.summary_types import Measures
    from fdbcore.measures.finding_types import Finding

NOTHING_TO_ANSWER: Final = "A never finished a turn, so there was nothing for B to answer."


def lead(measures: Measures, findings: Sequence[Finding]) -> str:
    """The call in one sentence, after the findings about a silent side."""
    never = [f"{finding['name']}. " for finding in findings if finding["id"] in ("never_spoke", "fell_silent")]
    return f"{''.join(never)}{_counted(measures)}"


def _counted(measures: Measures) -> str:
    answered, latency = measures["answered_per_turn"], measures["response_latency_ms"]
    if not answered["n"]:
        return NOTHING_TO_ANSWER
    if not latency["n"]:
        return f"B answered none of {counted(answered['n'], 'opportunity')}."
    text = f"B answered {answered['count']} of {counted(answered['n'], 'opportunity')}"
    if latency["n"] == 1:
        return f"{text}, after {amount(latency['median'], 'ms')}."
    return f"{text}; half of the answers came within {amount(latency['median'], 'ms')}."


def figures(measures: Measures, settings: TurnSettings, last_turn: str) -> list[KeyFigure]:
    """The key figures, each with a sentence that explains it. last_turn: what happened to A's last turn."""
    answered = partial(_answered, last_turn=last_turn)
    cells = (answered, _answer_time, _a_over_b, _b_over_a, _silence, _talking)
    return [KeyFigure(*cell(measures, settings)) for cell in cells]


def _answered(measures: Measures, settings: TurnSettings, last_turn: str) -> tuple[str, str, str]:
    answered = measures["answered_per_turn"]
    last = f" A's last turn: {last_turn}." if answered["excluded"].get("censored") else ""
    if not answered["n"]:
        return "Answered", NONE, f"{NOTHING_TO_ANSWER}{last}"
    early, none = measures["premature_per_turn"]["count"], measures["no_response_per_turn"]["count"]
    text = (
        f"opportunities: ends of A's turns, and long waits of A. Cut off: {early}, before A had finished. "
        f"No answer: {none}, {UNANSWERED}.{last}"
    )
    return "Answered", f"{answered['count']} of {answered['n']}", in_words(text, settings)


def _answer_time(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    latency = measures["response_latency_ms"]
    if not latency["n"]:
        return "Answer time", NONE, "no answers"
    text = "from the end of A's turn to B's first sound"
    if latency["n"] == 1:
        return "Answer time", amount(latency["median"], "ms"), f"{text}."
    text += ", for half of the answers"
    if latency["n"] >= ITEMS_FOR_P90:
        return (
            "Answer time",
            amount(latency["median"], "ms"),
            f"{text}; for nine in ten {amount(latency['p90'], 'ms')}.",
        )
    return "Answer time", amount(latency["median"], "ms"), f"{text}; the slowest took {amount(latency['max'], 'ms')}."


def _a_over_b(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    long, short = (measures[f"b_stopped_within_2s_per_{size}_a_onset"] for size in ("long", "short"))
    title = "A talks over B"
    shorter = f"Shorter speech over B: {short['n']}" + (f", B stopped for {short['count']}." if short["n"] else ".")
    at_once = measures["b_stopped_at_once_per_long_a_onset"]
    parts = ["with more than {short_ms} of speech."]
    if long["n"]:
        parts.append(f"B stopped within 2 s for {long['count']} of {long['n']}{by_chance(long)}.")
    if at_once["count"]:
        parts.append(f"It stopped at once, within {{terminal_ms}}: {at_once['count']}{by_chance(at_once)}.")
    return title, _times(long_onsets(measures, "A")), in_words(" ".join([*parts, shorter]), settings)


def _b_over_a(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    short = measures["a_stopped_within_2s_per_short_b_onset"]
    at_once = measures["a_stopped_at_once_per_long_b_onset"]
    parts = ["with more than {short_ms} of speech."]
    if at_once["count"]:
        parts.append(f"A stopped at once, within {{terminal_ms}}: {at_once['count']}{by_chance(at_once)}.")
    parts.append(f"Shorter speech over A: {short['n']}.")
    return "B talks over A", _times(long_onsets(measures, "B")), in_words(" ".join(parts), settings)


def _silence(measures: Measures, settings: TurnSettings) -> tuple[str, str, str]:
    lapses, first = measures["lapse_s"], measures["b_initial_silence_s"]
    longest = f"; the longest lasted {amount(lapses['max'], 's')}" if lapses["n"] else ""
    start = f"B's first sound came after {amount(first['median'], 's')}." if first["n"] else "No speech was found on B."
    return (
        "Long silences",
        _times(lapses["n"]),
        in_words(
            f"of both, over {{lapse_ms}}, between the first and the last word{longest}. {start}",
            settings,
        ),
    )


def _talking(measures: Measures, settings: TurnSettings) -> tuple[str, tuple[str, str], str]:
    a, b = (amount(measures[f"{side}_talk_share"]["mean"], "share") for side in "ab")
    both = amount(measures["overlap_share_of_speech"]["mean"], "share")
    text = f"of the call; both at once for {both} of the time with speech."
    return "Time spent talking", (f"A {a}", f"B {b}"), text


def _times(n: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(n, f"{n} times")
