"""Formats numbers and settings for readers: the one place that turns a quantity with a unit into text.

Times in a conversation are in seconds with two decimals, shares in per cent with one decimal; rates have two decimals.
Delays and errors of machines are smaller, so they are in ms (MACHINE_MS, `duration_text`). Documents keep the units of
the measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fdbcore.recording.meta import Settings
from fdbcore.recording.reader import Recording
from fdbcore.sources.recorded import plays_source
from fdbcore.types import SIDES, ticks_to_s
from fdbcore.types import clock_text as clock_text

if TYPE_CHECKING:
    from fdbcore.analysis.summaries import Summary
    from fdbcore.analysis.systems import JudgingSpent
    from fdbcore.measures.costs import HeldCost

NONE: Final = "–"
NOT_CORRECTED: Final = (
    "Each interval is 95 % by itself, as if it were the only one; p is corrected for all of them, so an interval can "
    "exclude 0 although p, being corrected, is not significant."
)
EARS: Final = {"A": "left", "B": "right"}  # of session.wav
ITEMS_FOR_P90: Final = 10  # with fewer items, p90 is hardly more than the largest
MACHINE_MS: Final = "ms of a machine"


@dataclass(frozen=True, slots=True)
class _Style:
    """The style of a unit's values (see `Measure.shown_in`): multiplied by `factor`, with `decimals`, in `unit`;
    differences in `step`.
    """

    factor: float
    decimals: int
    unit: str
    step: str


_STYLES: Final = {
    "ms": _Style(0.001, 2, "s", "s"),
    "s": _Style(1, 2, "s", "s"),
    "share": _Style(100, 1, "%", "points"),
    "1/min": _Style(1, 2, "per min", "per min"),
    "s/min": _Style(1, 2, "s per min", "s per min"),
    **{
        f"{unit} of {per}": _Style(1, 2, f"{shown} of {per}", f"{shown} of {per}")
        for unit, shown in (("1/min", "per min"), ("s/min", "s per min"))
        for per in ("A's speech", "B's speech", "the call")
    },
    MACHINE_MS: _Style(1, 0, "ms", "ms"),
}


def scaled(value: float, unit: str) -> float:
    """A value in the unit that is shown, unrounded: 0.82 for 820 ms."""
    return value * _STYLES[unit].factor


def shown_unit(unit: str) -> str:
    """The unit in which values are shown: "s" for ms, "%" for shares."""
    return _STYLES[unit].unit


def number(value: float, unit: str, sign: str = "") -> str:
    """A value without its unit: "0.82". sign: "+" shows the sign of positive values too."""
    decimals = _STYLES[unit].decimals
    return f"{round(scaled(value, unit), decimals) + 0.0:{sign},.{decimals}f}"  # no -0.0


def amount(value: float | None, unit: str, sign: str = "") -> str:
    """A value with its unit: "0.82 s", "6.1 %"."""
    return NONE if value is None else f"{number(value, unit, sign)} {shown_unit(unit)}"


def brief(value: float | None, unit: str, sign: str = "") -> str:
    """A value as a table has it: with a unit of one word; a longer one stands once, under the measure's name."""
    return NONE if value is None else amount(value, unit, sign) if not long_unit(unit) else number(value, unit, sign)


def brief_step(value: float, unit: str, sign: str = "") -> str:
    """The size of a difference as a table has it."""
    return number(value, unit, sign) if long_unit(unit) else step(value, unit, sign)


def long_unit(unit: str) -> str:
    """The unit in which values are shown, if it has several words: "per min of A's speech"; else ""."""
    return shown_unit(unit) if " " in shown_unit(unit) else ""


def limits(interval: Sequence[float] | None, unit: str, sign: str = "") -> str:
    """An interval: "[0.74, 0.91]"; "" if there is none."""
    return f"[{', '.join(number(limit, unit, sign) for limit in interval)}]" if interval else ""


def step(value: float, unit: str, sign: str = "") -> str:
    """The size of a difference: "1.2 points", "0.14 s"."""
    return f"{number(value, unit, sign)} {_STYLES[unit].step}"


def difference(value: float, interval: Sequence[float] | None, unit: str) -> str:
    """A difference with its interval: "+4.1 points [+3.0, +5.2]"."""
    return " ".join(filter(None, [step(value, unit, "+"), limits(interval, unit, "+")]))


def p_value(p: float | None) -> str:
    """ "0.012", "< 0.001"."""
    return NONE if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_text(p: float) -> str:
    """ "p = 0.012", "p < 0.001"."""
    return "p < 0.001" if p < 0.001 else f"p = {p_value(p)}"


def limit_text(value: float, unit: str) -> str:
    """A limit that a user wrote, with all its digits: "0.9 s"."""
    return f"{scaled(value, unit):.10g} {shown_unit(unit)}"


def allowance_text(value: float, unit: str) -> str:
    """A difference that a user wrote, with all its digits: "+2 points"."""
    return f"{scaled(value, unit):+.10g} {_STYLES[unit].step}" if value else "0"


def headline(summary: Summary | None) -> float | None:
    """The main figure of a pooled measure: its median, or its mean if it has no median."""
    if summary is None:
        return None
    return summary["mean"] if summary["median"] is None else summary["median"]


def with_interval(summary: Summary, unit: str = "") -> str:
    """The headline of a summary with its interval: "0.82 s [0.74, 0.91]". unit: `Measure.shown_in`; of no rate."""
    unit = unit or summary["unit"]
    return " ".join(filter(None, [amount(headline(summary), unit), limits(summary["ci95"], unit)]))


def counted(n: int, noun: str) -> str:
    """ "1 call", "1,200 calls", "2 opportunities"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def by_chance(share: Summary) -> str:
    """The items of a share to expect by chance: " (by chance 1.7)"; empty if that is not known."""
    chance = share.get("by_chance")
    return "" if chance is None else f" (by chance {chance * share['n']:.1f})"


def length_text(recording: Recording) -> str:
    """The length of the recording, such as "1:06"; and how much of it is measured, if that is less."""
    length_s = ticks_to_s(recording.n_ticks)
    return f"{clock_text(length_s)}{measured_text(length_s, ticks_to_s(recording.measured_ticks))}"


def measured_text(length_s: float, measured_s: float) -> str:
    """The part of a length that is measured: ", 3:28 of it measured"; empty if that is all of it."""
    return f", {clock_text(measured_s)} of it measured" if measured_s < length_s else ""


def duration_text(seconds: float) -> str:
    """A duration of a machine, in ms below 1 s and in s above: "20 ms", "12.50 s"."""
    return f"{1000 * seconds:.4g} ms" if abs(seconds) < 1 else f"{seconds:,.2f} s"


def title(recording: Recording) -> str:
    """The title of a session: the name of its audio file; without a single file, the name of the recording."""
    files = recording.source_files
    named = len(files) == 1 and "held" not in recording.meta
    return Path(files[0]["path"]).name if named else recording.name


def origins(recording: Recording, short: Callable[[str], str] = str) -> dict[str, str]:
    """The origin of each side: the kind of a live party; otherwise the source, a channel ("left") or a file.

    short: how the name of a file is shown.
    """
    kinds: dict[str, str] = {side: str(recording.parties.get(side, {}).get("kind", "replay")) for side in SIDES}
    if set(kinds.values()) != {"replay"}:
        return kinds
    files = recording.source_files
    if len(files) == len(SIDES):
        sides = recording.meta["source"]["sides"]
        mixed = {side: " (its channels mixed)" if sides[side]["channel"] == "mean" else "" for side in SIDES}
        return {side: f"{short(Path(files[sides[side]['file']]['path']).name)}{mixed[side]}" for side in SIDES}
    return _channels(recording)


def ears(recording: Recording) -> dict[str, str]:
    """The ear on which each side is heard in the audio of the report: a channel of the source, or of session.wav."""
    return _channels(recording) if plays_source(recording) else dict(EARS)


def _channels(recording: Recording) -> dict[str, str]:
    sides = (recording.meta.get("source") or {}).get("sides")
    return {side: sides[side]["channel"] for side in SIDES} if sides else dict(EARS)


def vad_text(settings: Settings) -> str:
    """The name and version of the voice activity detector; of both sides if they differ."""
    vads: list[Mapping[str, Any]] = [settings["vad"][side] for side in SIDES]
    named = [" ".join(str(vad[key]) for key in ("name", "version") if key in vad) for vad in vads]
    return " / ".join(dict.fromkeys(named))


def usd_text(usd: float) -> str:
    """An amount of money: "12.30 USD", "0.0041 USD"."""
    return f"{usd:,.2f} USD" if usd >= 0.1 or not usd else f"{usd:.4f} USD"


def cost_in_short(cost: HeldCost) -> str:
    """The cost of calls, and how many of them have no price or were cut: "1.23 USD; 3 unpriced; 1 incomplete"."""
    kinds = {"unpriced": cost["unpriced"], "incomplete": cost["incomplete"]}
    beside = [f"{n:,} {kind}" for kind, n in kinds.items() if n]
    return "; ".join([*([usd_text(cost["usd"])] if cost["usd"] or not beside else []), *beside])


def cost_text(cost: HeldCost) -> str:
    """As `cost_in_short`, in full: "1.23 USD (list prices of 2026-11-23); 3 of 8 calls unpriced"."""
    of_all = f"of {counted(cost['calls'], 'call')}"
    kinds = {"unpriced": cost["unpriced"], "incomplete, as not all was counted": cost["incomplete"]}
    beside = [f"{n:,} {of_all} {kind}" for kind, n in kinds.items() if n]
    dated = f" (list prices of {cost['priced_on']})" if cost["priced_on"] else ""
    return "; ".join([*([f"{usd_text(cost['usd'])}{dated}"] if cost["usd"] or not beside else []), *beside])


def judging_took(judging: JudgingSpent, what: str) -> str:
    """Requests, tokens and USD of judging, and why it stopped if it did. what: was judged: "these dialogues"."""
    tokens = sum(count for unit, count in judging["counts"].items() if unit.endswith("tokens"))
    dated = f" (list prices of {judging['priced_on']})" if judging["priced_on"] else ""
    unpriced = f", {judging['unpriced']:,} of them unpriced" if judging["unpriced"] else ""
    stopped = f" It stopped: {judging['stopped']}. The same command goes on." if judging["stopped"] else ""
    return (
        f"Judging {what} took {judging['requests']:,} requests so far{unpriced}, {tokens:,.0f} tokens and "
        f"{judging['usd']:.2f} USD{dated}.{stopped}"
    )
