"""The key figures of a call, each with a sentence that explains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from fdbcore.analysis.call_verdicts import CallVerdict
from fdbcore.analysis.summaries import Measures
from fdbcore.measures.answers import UNANSWERED
from fdbcore.measures.findings import Finding
from fdbcore.report.call.moment_lists import over_address
from fdbcore.report.comparison import limits
from fdbcore.report.format import ITEMS_FOR_P90, NONE, amount, by_chance, counted, long_onsets
from fdbcore.report.glossary import in_words
from fdbcore.report.html.values import ALL, KeyFigure, Links
from fdbcore.types import Side, TurnSettings, other_side

NOTHING_TO_ANSWER: Final = "A never finished a turn, so there was nothing for B to answer."
_Cell: TypeAlias = "Callable[[Measures, TurnSettings, Links], tuple[str, str | tuple[str, str], str]]"


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


def figures(
    measures: Measures, settings: TurnSettings, last_turn: str, link: Links, verdict: CallVerdict | None = None
) -> list[KeyFigure]:
    """The key figures, each with a sentence that explains it.

    last_turn: what happened to A's last turn. link: from each count to its moments. verdict: what gates say of the
    call.
    """
    cells: Sequence[tuple[_Cell, Sequence[str]]] = (
        (
            partial(_answered, last_turn=last_turn),
            ("answered_per_turn", "premature_per_turn", "no_response_per_turn"),
        ),
        (_answer_time, ("response_latency_ms",)),
        (_a_over_b, ("b_stopped_within_2s_per_long_a_onset",)),
        (_b_over_a, ()),
        (_silence, ("lapse_s",)),
        (_talking, ("b_talk_share", "overlap_share_of_speech")),
    )
    return [KeyFigure(*cell(measures, settings, link), limits=limits.of_call(verdict, names)) for cell, names in cells]


def _answered(measures: Measures, settings: TurnSettings, link: Links, last_turn: str) -> tuple[str, str, str]:
    answered = measures["answered_per_turn"]
    last = f" A's last turn: {last_turn}." if answered["excluded"].get("censored") else ""
    if not answered["n"]:
        return "Answered", NONE, f"{NOTHING_TO_ANSWER}{last}"
    early, none = measures["premature_per_turn"]["count"], measures["no_response_per_turn"]["count"]
    cut_off = link(f"Cut off: {early}", "premature_per_turn")
    missing = link(f"No answer: {none}", "no_response_per_turn")
    text = (
        f"opportunities: ends of A's turns, and long waits of A. {cut_off}, before A had finished. {missing}, "
        f"{UNANSWERED}.{last}"
    )
    count, n = link(answered["count"], "answered_per_turn"), link(answered["n"], f"answered_per_turn{ALL}")
    return "Answered", f"{count} of {n}", in_words(text, settings)


def _answer_time(measures: Measures, settings: TurnSettings, link: Links) -> tuple[str, str, str]:
    latency = measures["response_latency_ms"]
    if not latency["n"]:
        return "Answer time", NONE, "no answers"
    value = link(amount(latency["median"], "ms"), "response_latency_ms")
    text = "from the end of A's turn to B's first sound"
    if latency["n"] == 1:
        return "Answer time", value, f"{text}."
    text += ", for half of the answers"
    if latency["n"] >= ITEMS_FOR_P90:
        return "Answer time", value, f"{text}; for nine in ten {amount(latency['p90'], 'ms')}."
    return "Answer time", value, f"{text}; the slowest took {amount(latency['max'], 'ms')}."


def _a_over_b(measures: Measures, settings: TurnSettings, link: Links) -> tuple[str, str, str]:
    long_name, short_name = (f"b_stopped_within_2s_per_{size}_a_onset" for size in ("long", "short"))
    long, short = measures[long_name], measures[short_name]
    parts = ["with more than {short_ms} of speech."]
    if long["n"]:
        stopped = f"{link(long['count'], long_name)} of {link(long['n'], f'{long_name}{ALL}')}"
        parts.append(f"B stopped within 2 s for {stopped}{by_chance(long)}.")
    shorter = f"Shorter speech over B: {link(short['n'], f'{short_name}{ALL}')}"
    shorter += f", B stopped for {link(short['count'], short_name)}." if short["n"] else "."
    return _over("A", measures, settings, link, parts, shorter)


def _b_over_a(measures: Measures, settings: TurnSettings, link: Links) -> tuple[str, str, str]:
    name = "a_stopped_within_2s_per_short_b_onset"
    shorter = f"Shorter speech over A: {link(measures[name]['n'], f'{name}{ALL}')}."
    return _over("B", measures, settings, link, ["with more than {short_ms} of speech."], shorter)


def _over(
    side: Side, measures: Measures, settings: TurnSettings, link: Links, parts: list[str], shorter: str
) -> tuple[str, str, str]:
    """The figure of a side's speech over the other: `parts` of its text, the starts in overlap that were no reaction,
    and the shorter ones."""
    other = other_side(side)
    name = f"{other.lower()}_stopped_at_once_per_long_{side.lower()}_onset"
    if at_once := measures[name]["count"]:
        who = "It" if side == "A" else other
        parts = [
            *parts,
            f"{who} stopped at once, within {{terminal_ms}}: {link(at_once, name)}{by_chance(measures[name])}.",
        ]
    if together := measures[name]["excluded"].get("simultaneous"):
        parts = [*parts, f"Not counted: {together} begun together with {other}."]
    value = link(_times(long_onsets(measures, side)), over_address(side))
    return f"{side} talks over {other}", value, in_words(" ".join([*parts, shorter]), settings)


def _silence(measures: Measures, settings: TurnSettings, link: Links) -> tuple[str, str, str]:
    lapses, first = measures["lapse_s"], measures["b_initial_silence_s"]
    longest = f"; the longest lasted {amount(lapses['max'], 's')}" if lapses["n"] else ""
    after = link(amount(first["median"], "s"), "b_initial_silence_s")
    start = f"B's first sound came after {after}." if first["n"] else "No speech was found on B."
    start = "B's first sound was muted." if "censored" in first["excluded"] else start
    return (
        "Long silences",
        link(_times(lapses["n"]), "lapse_s"),
        in_words(
            f"of both, over {{lapse_ms}}, between the first and the last word{longest}. {start}",
            settings,
        ),
    )


def _talking(measures: Measures, settings: TurnSettings, link: Links) -> tuple[str, tuple[str, str], str]:
    a, b = (amount(measures[f"{side}_talk_share"]["mean"], "share") for side in "ab")
    name = "overlap_share_of_speech"
    both = link(amount(measures[name]["mean"], "share"), name)
    text = f"of the call; both at once for {both} of the time with speech."
    return "Time spent talking", (f"A {a}", f"B {b}"), text


def _times(n: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(n, f"{n} times")
