"""Other waits of the system on the calls of a run: who would be cut in on, and who would wait how long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np
from msgspec import Meta

from fdbcore.analysis.corpus import Call
from fdbcore.analysis.shifted_waits import EARLY_Q, WaitsForB
from fdbcore.errors import FdbError
from fdbcore.measures.reading import Reading
from fdbcore.measures.waits import GOES_ON_TICKS, CallWaits, waits_of
from fdbcore.recording.form import one_call
from fdbcore.sources.mark_names import SPEECH_FINAL
from fdbcore.stats.bootstrap import FEW_CLUSTERS, MEDIAN, Floats, Quantile, bootstrap_ci
from fdbcore.stats.shares import wilson_by_cluster, wilson_difference
from fdbcore.stats.significance import holm
from fdbcore.types import TICK_MS, TurnSettings, ticks_to_s
from fdbcore.types.units import Count, Seconds

TUNED: Final = "tune.json"
TUNED_SCHEMA: Final = "fdbcore.tune/1"
WAITS_MS: Final = (200, 300, 400, 500, 600, 700, 800, 1000, 1200, 1500, 2000)
"""The settings that are tried if none are named, beside the present one."""
MOST_UNEXPLAINED: Final = 0.25
"""If more of B's decisions have no reason that this detector hears, it says nothing of other settings."""
CHANGED: Final = 0.5
"""The least change of a turn's probability of being cut in on, for the turn to be listed."""
MOST_LISTED: Final = 100
_SETTINGS: Final = ("silence_duration_ms", "silenceDurationMs", "pause_ms")
"""The names of the wait in the settings of live systems."""

Basis: TypeAlias = Literal["any call", "A went on", "longer waits", "cannot tell"]
Interval: TypeAlias = tuple[float, float]
PresentFrom: TypeAlias = Literal["given", "settings", "log", "behaviour"]


class TunedShare(TypedDict):
    """A share of A's turns."""

    value: float
    ci95: Interval | None


class TunedLatency(TypedDict):
    """The response latency."""

    n: Count
    median: float | None
    ci95: Interval | None
    p90: float | None
    p90_ci95: Interval | None


class ChangedTurn(TypedDict):
    """A turn of A that B would cut in on, or no longer would."""

    call: str
    start_s: Annotated[Seconds, Meta(description="A's pause: from here")]
    end_s: Annotated[Seconds, Meta(description="to here")]
    began_s: Annotated[float, Meta(description="when B would begin, or began; the median where that is not certain")]
    probability: Annotated[float, Meta(description="that B begins before A is done, with this setting")]


class TunedSetting(TypedDict):
    """A setting of the wait, on the same calls."""

    wait_ms: int
    change_ms: Annotated[int, Meta(description="less the present one")]
    rests_on: Basis
    reason: Annotated[str, Meta(description="why the calls cannot tell; else empty")]
    premature: Annotated[TunedShare | None, Meta(description="turns of A in which B begins before A is done")]
    left_waiting: Annotated[TunedShare | None, Meta(description="turns that B does not answer within lapse_ms")]
    latency_ms: TunedLatency | None
    p_holm: Annotated[float | None, Meta(description="that premature is as now, corrected for all settings")]
    cut_in: Annotated[list[ChangedTurn], Meta(description="turns that B would cut in on, unlike now")]
    spared: Annotated[list[ChangedTurn], Meta(description="turns that B would no longer cut in on")]


class TunedEar(TypedDict):
    """The system's own ear, beside the detector here."""

    fitted_by: Annotated[Literal["log", "behaviour"], Meta(description="what it was fitted to")]
    wait_ms: Annotated[float | None, Meta(description="the wait as heard here; by behaviour with the least cost")]
    error_ms: Annotated[float | None, Meta(description="half the range of nine tenths of what it was fitted to")]
    n: Count
    keeps_ms: Annotated[float, Meta(description="so long before it begins B no longer takes an answer back")]
    unexplained: Annotated[float, Meta(description="decisions of B, as a share, that no silence here explains")]


class TunedGroup(TypedDict):
    """The calls of a group under each setting."""

    name: Annotated[str, Meta(description="the value of the column; empty for all calls")]
    calls: Count
    turns: Annotated[Count, Meta(description="of A")]
    censored: Annotated[Count, Meta(description="turns left out, as the end of the recording hides the answer")]
    present_ms: int | None
    present_from: PresentFrom
    longest_pause_ms: Annotated[int, Meta(description="longer pauses of A are taken for ends of turns: B hid them")]
    ear: TunedEar
    settings: list[TunedSetting]
    knee_ms: Annotated[int | None, Meta(description="where the curve bends: less of one costs more of the other")]


class Tuned(TypedDict):
    """Other waits of a system on the calls of a run. Fields may be added under the same version; a field is never given
    another meaning."""

    schema: Literal["fdbcore.tune/1"]
    run: Annotated[str, Meta(description="the name of its folder")]
    policy: Literal["silence"]
    by: Annotated[str | None, Meta(description="the column whose values are the groups")]
    unread: Annotated[dict[str, str], Meta(description="calls that could not be read: why")]
    groups: list[TunedGroup]


class TunedCall(NamedTuple):
    """A call, as tuning needs it. decided_ms: from A's end to the decision, by the system's log. setting_ms: its wait,
    as its settings say; None if they do not."""

    waits: CallWaits
    decided_ms: list[float]
    setting_ms: int | None
    settings: TurnSettings


def tuned_call(path: Path) -> TunedCall | str:
    """A call, or why it cannot be read, which can leave a worker process."""
    try:
        with one_call(path):
            reading = Reading(path)
            log = reading.marks
            events = [answer["events_ms"] for answer in log["answers"]] if log else []
            decided_ms = [each[SPEECH_FINAL] for each in events if SPEECH_FINAL in each]
            asked = next(_waits_in(reading.parties.get("B", {})), None)
            return TunedCall(waits_of(reading), decided_ms, asked, reading.dialogue.settings)
    except FdbError as error:
        return str(error)


def _waits_in(settings: object) -> Iterator[int]:
    """The waits in the nested settings of a system."""
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        if name in _SETTINGS and isinstance(value, int):
            yield value
        yield from _waits_in(value)


def tuned(
    name: str,
    calls: Sequence[Call],
    read: Sequence[TunedCall],
    present_ms: int | None = None,
    waits_ms: Sequence[int] | None = None,
) -> TunedGroup:
    """The figures of calls under other waits. present_ms: the wait that they were held with; None to find it out.

    waits_ms: those to try; None for WAITS_MS.
    """
    settings = read[0].settings
    waits = WaitsForB.of([each.waits for each in read], settings.ticks("lapse_ms"))
    ear = fitted_ear(waits, [ms for each in read for ms in each.decided_ms])
    present_ms, found_by = _present(present_ms, read, ear)
    curve, stated = WaitCurve(waits, ear, settings), list[TunedSetting]()
    if present_ms is not None:
        tried = sorted({*(WAITS_MS if waits_ms is None else waits_ms), present_ms})
        stated = [curve.at(wait_ms, wait_ms - present_ms, calls) for wait_ms in tried]
    _correct(stated)
    return {
        "name": name,
        "calls": len(calls),
        "turns": int(waits.turns.sum()),
        "censored": sum(each.waits.censored for each in read),
        "present_ms": present_ms,
        "present_from": found_by,
        "longest_pause_ms": TICK_MS * waits.longest_pause_ticks,
        "ear": ear,
        "settings": stated,
        "knee_ms": knee_ms(stated),
    }


def _present(given_ms: int | None, read: Sequence[TunedCall], ear: TunedEar) -> tuple[int | None, PresentFrom]:
    """The present wait, and where it is from."""
    if given_ms is not None:
        return given_ms, "given"
    stated = {each.setting_ms for each in read}
    if len(stated) == 1 and (one := stated.pop()) is not None:
        return one, "settings"
    return None if ear["wait_ms"] is None else round(ear["wait_ms"] / TICK_MS) * TICK_MS, ear["fitted_by"]


def fitted_ear(waits: WaitsForB, decided_ms: Sequence[float]) -> TunedEar:
    """The system's ear, fitted to what its log says of its decisions, or else to when it began.

    By its log the wait is the median time from A's end to the decision; by its behaviour the shortest time until it
    began, which has in it the least that an answer costs.
    """
    by_log = len(decided_ms) >= FEW_CLUSTERS
    times = np.array(decided_ms) if by_log else TICK_MS * waits.started[waits.answers]
    low, middle, high = np.quantile(times, (EARLY_Q, 0.5, 1 - EARLY_Q)).tolist() if len(times) else (None, None, None)
    return {
        "fitted_by": "log" if by_log else "behaviour",
        "wait_ms": middle if by_log else low,
        "error_ms": None if high is None else (high - low) / 2,
        "n": len(times),
        "keeps_ms": TICK_MS * waits.margin_ticks,
        "unexplained": waits.unexplained,
    }


class WaitCurve:
    """The figures of some calls as functions of the wait."""

    def __init__(self, waits: WaitsForB, ear: TunedEar, settings: TurnSettings) -> None:
        self._waits, self._ear, self._settings = waits, ear, settings
        self._now = waits.premature(0)
        self._latency = self._latencies()

    def at(self, wait_ms: int, later_ms: int, calls: Sequence[Call]) -> TunedSetting:
        """The figures of a wait that is so much later than the present one. calls: for the names of what changes."""
        later = later_ms / TICK_MS
        basis, reason = self._basis(later)
        found: TunedSetting = {
            "wait_ms": wait_ms,
            "change_ms": later_ms,
            "rests_on": basis,
            "reason": reason,
            "premature": None,
            "left_waiting": None,
            "latency_ms": None,
            "p_holm": None,
            "cut_in": [],
            "spared": [],
        }
        if basis == "cannot tell":
            return found
        then, waits = self._waits.premature(later), self._waits
        left = np.bincount(waits.turn[waits.left_waiting(later)], minlength=len(then)).astype(np.float64)
        found["premature"] = self._share(then, self._ear["unexplained"])
        found["left_waiting"] = self._share(left)
        found["latency_ms"] = self._moved(later_ms)
        sums, now = waits.by_call(then), waits.by_call(self._now)
        if later_ms and not np.array_equal(sums, now):
            found["p_holm"] = wilson_difference(sums, waits.turns, now, waits.turns).p
        found["cut_in"] = self._changed(then - self._now, later, then, calls)
        found["spared"] = self._changed(self._now - then, later, then, calls)
        return found

    def _basis(self, later: float) -> tuple[Basis, str]:
        """The basis of a setting; and why nothing is said of it."""
        waits, settings = self._waits, self._settings
        if not waits.has_begun.any():
            return "cannot tell", "B never began after a silence of A"
        if self._ear["unexplained"] > MOST_UNEXPLAINED and later:
            share = f"{100 * self._ear['unexplained']:.0f} %"
            return "cannot tell", f"no silence heard here explains {share} of B's decisions: its ear differs too much"
        earliest = np.quantile(waits.decided[waits.has_begun], EARLY_Q) + later
        if earliest < settings.ticks("min_silence_ms"):
            return "cannot tell", f"silences of less than {settings.min_silence_ms} ms are not heard here"
        if later <= 0:
            return "any call", ""
        if waits.calls_at_risk(later) < min(FEW_CLUSTERS, waits.calls):
            return "cannot tell", "the system began before A could go on, in nearly all calls"
        return ("A went on" if later <= GOES_ON_TICKS else "longer waits"), ""

    def _share(self, of_turns: Floats, unexplained: float = 0.0) -> TunedShare:
        """A share of A's turns; the interval is wider by what the ear does not explain of its change from now."""
        turns = self._waits.turns
        sums = np.clip(self._waits.by_call(of_turns), 0, turns)
        interval = wilson_by_cluster(sums, turns)
        value = float(sums.sum() / turns.sum())
        more = unexplained * abs(value - float(self._now.mean()))
        return {
            "value": value,
            "ci95": None if interval is None else (max(interval.low - more, 0.0), min(interval.high + more, 1.0)),
        }

    def _latencies(self) -> TunedLatency:
        """The present response latency: where A was done, and B began."""
        answers = self._waits.answers
        times_ms, of_call = TICK_MS * self._waits.started[answers], self._waits.call[answers]
        if not len(times_ms):
            return {"n": 0, "median": None, "ci95": None, "p90": None, "p90_ci95": None}
        median, p90 = (bootstrap_ci(times_ms, of_call, each) for each in (MEDIAN, Quantile(0.9)))
        return {
            "n": len(times_ms),
            "median": median.value,
            "ci95": median.interval and (median.interval.low, median.interval.high),
            "p90": p90.value,
            "p90_ci95": p90.interval and (p90.interval.low, p90.interval.high),
        }

    def _moved(self, later_ms: int) -> TunedLatency:
        """The response latency under another wait: each answer is moved by the difference, and costs what it did; the
        intervals are wider by what the ear does not explain of that."""
        now, more = self._latency, self._ear["unexplained"] * abs(later_ms)

        def moved(value: float | None) -> float | None:
            return None if value is None else value + later_ms

        def limits(interval: Interval | None) -> Interval | None:
            return None if interval is None else (interval[0] + later_ms - more, interval[1] + later_ms + more)

        median, p90 = moved(now["median"]), moved(now["p90"])
        return {
            "n": now["n"],
            "median": median,
            "ci95": limits(now["ci95"]),
            "p90": p90,
            "p90_ci95": limits(now["p90_ci95"]),
        }

    def _changed(self, change: Floats, later: float, then: Floats, calls: Sequence[Call]) -> list[ChangedTurn]:
        """The turns that change most, each with the pause in which it does."""
        waits, found = self._waits, list[ChangedTurn]()
        moves = np.abs(waits.cut_in(later) - waits.cut_in(0))
        began = waits.decided + waits.margin_ticks + min(later, 0.0)
        usual = float(np.median(waits.started[waits.has_begun])) + later
        for turn in np.argsort(-change, kind="stable")[:MOST_LISTED].tolist():
            if change[turn] < CHANGED:
                break
            own = np.flatnonzero(waits.turn == turn)
            row = own[np.argmax(moves[own])]
            start, length = int(waits.start_tick[row]), waits.went_on[row]
            begins = min(began[row] if np.isfinite(began[row]) else usual, length)
            found.append(
                {
                    "call": calls[waits.call[row]].name,
                    "start_s": ticks_to_s(start),
                    "end_s": ticks_to_s(start + int(length)),
                    "began_s": ticks_to_s(start + int(begins)),
                    "probability": float(then[turn]),
                }
            )
        return found


def knee_ms(settings: Sequence[TunedSetting]) -> int | None:
    """The wait at which the curve of premature responses over latency bends; None for fewer than three points.

    It is the point farthest below the line between the ends of the curve (Satopaa et al. 2011).
    """
    told = [(each["wait_ms"], each["premature"]["value"]) for each in settings if each["premature"] is not None]
    if len(told) < 3 or told[0][1] <= told[-1][1]:
        return None
    (first, high), (last, low) = told[0], told[-1]
    below = [(wait_ms - first) / (last - first) + (share - low) / (high - low) for wait_ms, share in told]
    return told[int(np.argmin(np.round(below, 9)))][0]


def _correct(stated: Sequence[TunedSetting]) -> None:
    """Correct the p values of all settings as one family (Holm)."""
    of = [each for each in stated if each["p_holm"] is not None]
    for each, p in zip(of, holm([each["p_holm"] or 0.0 for each in of]), strict=True):
        each["p_holm"] = p
