"""Finds the clock of an agent's log: its offset from the timeline of a recording, and its drift.

Some kind of mark keeps a constant distance to what is heard: it is written just before B begins, say. So the offset is
where marks of one name and the starts (or ends) of turns fit best, as in a cross-correlation of both. The distance
itself cannot be distinguished from a difference of the clocks, so it becomes part of the offset. In a short call, where
each name has too few marks, several names must say the same.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from fdbcore.errors import InputError
from fdbcore.measures.dialogue import Dialogue
from fdbcore.recording.agent_log import LogClock, Place
from fdbcore.sources.agent_logs import Mark
from fdbcore.sources.mark_names import event_of, last_event, place_of
from fdbcore.types import TICK_MS, ticks_to_s

TOLERANCE_S: Final = 0.06
"""A mark fits if the clock puts it within this distance. It is about the uncertainty of onsets, so that a distance that
varies as latencies do does not count as constant."""
BURST_S: Final = 0.5
"""If marks of one name follow each other faster than this (frames, chunks), only the first counts."""
FEWEST: Final = 6
"""The fewest marks that fit: with fewer, order statistics give no 95 % interval of a median."""
FEWEST_OF_SEVERAL: Final = 4
SHARE_OF_SEVERAL: Final = 0.8
FEWEST_TOGETHER: Final = 9
WITHIN_S: Final = 1.0
"""Names with fewer marks than FEWEST place a log together if so many of each fit, and this share, at two places or more
by offsets that are so close, and so many in all. By chance, that happens no more often than that one name fits."""
MOST_PER_TURN: Final = 5
"""Marks that come more often than this for each turn fit anywhere."""
LEAST_SHARE: Final = 0.6
RIVAL_SHARE: Final = 0.7
NEARLY_AS_MANY: Final = 0.8
NEARLY_AS_STEADY: Final = 2.0
MOST_DRIFT: Final = 200e-6
"""Crystals of ordinary computers and sound cards differ by less than this."""
LEAST_DRIFT_S: Final = 0.02
"""A drift that changes the clock by less than this within a call is not corrected."""
DRIFT_ERRORS: Final = 4.0
FEWEST_FOR_DRIFT: Final = 20
"""A drift shows if so many marks fit, and if it is DRIFT_ERRORS of its standard errors from none."""
LONGEST_WAY_S: Final = 5.0
"""All marks of an answer lie within this time before B begins."""
MOST_SPANS: Final = 20.0

_NEEDED: Final = f"at least {FEWEST} are needed, or {FEWEST_TOGETHER} of several names"

Floats = npt.NDArray[np.float64]


def given_clock(offset_s: float) -> LogClock:
    """The clock of a log whose offset is known."""
    return LogClock(offset_s, 0.0, None, None, None, None, None, 0, 0, [])


def on_timeline(clock: LogClock, mark: Mark) -> Mark:
    """The mark, with its time on the timeline of the recording."""
    return Mark((mark.time_s + clock.offset_s) * (1 + clock.drift_ppm * 1e-6), mark.name)


def in_log(clock: LogClock, mark: Mark) -> Mark:
    """The mark, whose time is on the timeline, with its time in the log."""
    return Mark(mark.time_s / (1 + clock.drift_ppm * 1e-6) - clock.offset_s, mark.name)


def first_of_bursts(marks: Sequence[Mark]) -> list[Mark]:
    """The sorted marks without those that follow one of the same name within BURST_S."""
    last: dict[str, float] = {}
    found = []
    for mark in marks:
        if mark.time_s - last.get(mark.name, -math.inf) > BURST_S:
            found.append(mark)
        last[mark.name] = mark.time_s
    return found


def find_clock(marks: Sequence[Mark], dialogue: Dialogue) -> LogClock:
    """The clock with which marks of one name keep a constant distance to starts or ends of turns, with 95 % limits.

    A name may fit only what it can lie close to (`mark_names.place_of`). Names that come before B begins are tried
    first: the way of the sound from them to the ear is the shortest. Of the known events of an answer only the last
    counts, such as playback: whatever comes earlier varies at least as much. Of the names that fit nearly as many
    starts as the best, and nearly as steadily, the latest is taken. If no name has FEWEST marks, several may do
    (FEWEST_TOGETHER). Raises InputError if no name fits FEWEST starts or ends and LEAST_SHARE of them, or if it fits
    another offset nearly as well, as in a very regular conversation.
    """
    firsts = first_of_bursts(marks)
    of_a, of_b = dialogue.turns("A"), dialogue.turns("B")
    heard: dict[Place, Floats] = {
        "starts of B's turns": np.array(sorted(ticks_to_s(turn.start_tick) for turn in of_b)),
        "ends of B's turns": np.array(sorted(ticks_to_s(turn.end_tick) for turn in of_b if turn.end_tick)),
        "starts of A's turns": np.array(sorted(ticks_to_s(turn.start_tick) for turn in of_a)),
        "ends of A's turns": np.array(sorted(ticks_to_s(turn.end_tick) for turn in of_a if turn.end_tick)),
    }
    times_s: dict[str, list[float]] = {}
    for mark in firsts:
        times_s.setdefault(mark.name, []).append(mark.time_s)
    fits = [
        _fit(name, place, heard[place], np.array(own_s))
        for name, own_s in times_s.items()
        if (place := place_of(name)) is not None
    ]
    for fewest, chosen in ((FEWEST, _alone), (FEWEST_OF_SEVERAL, _together)):
        last = last_event([fit.name for fit in fits if fit.of_marks >= fewest])
        fitting = [fit for fit in fits if not fit.why_not and event_of(fit.name) in (None, last)]
        if (clock := chosen(fitting)) is not None:
            return clock
    if not fits:
        names = ", ".join(list(times_s)[:3])
        why_not = f"no mark says that somebody begins or ends to speak (but {names})"
    else:
        closest = max((fit for fit in fits if fit.why_not or fit.is_few), key=lambda fit: len(fit.distances_s))
        found = closest.why_not or f"fits {len(closest.distances_s)} {closest.place}; {_NEEDED}"
        why_not = f"{closest.name!r} {found}{_unit_hint(marks, dialogue)}"
    raise InputError(f"its clock cannot be found: {why_not}. If it is the log of this call, give --agent-log-offset-ms")


class _Fit(NamedTuple):
    """The fit of a name's marks to what is heard at a place, and why they do not fit if they do not.

    of: how much is heard there. of_marks: how many marks there are. distances_s: of what is heard from the marks that
    fit, without the drift. rate: the drift. middle_s: the time of the log at which it is none. is_few: whether it takes
    other names to place the log.
    """

    name: str
    place: Place
    of: int
    of_marks: int
    distances_s: Floats
    rate: float
    middle_s: float
    why_not: str
    is_few: bool = False

    def offset_s(self) -> float:
        """The median of the distances."""
        return float(np.median(self.distances_s))

    def rests_s(self) -> Floats:
        """The distance of each distance from their median."""
        return np.abs(self.distances_s - self.offset_s())

    def spread_s(self) -> float:
        """The median absolute deviation of the distances."""
        return float(np.median(self.rests_s()))


def _fit(name: str, place: Place, heard_s: Floats, times_s: Floats) -> _Fit:
    possible = min(len(heard_s), len(times_s))
    is_few = possible < FEWEST
    fewest, share = (FEWEST_OF_SEVERAL, SHARE_OF_SEVERAL) if is_few else (FEWEST, LEAST_SHARE)
    needed = max(fewest, math.ceil(share * possible))
    why_not = ""
    if possible < fewest:
        why_not = f"can fit only {possible} {place}; {_NEEDED}"
    elif len(times_s) > MOST_PER_TURN * len(heard_s):
        why_not = f"comes {len(times_s):,} times, too often to say which of them lie at the {len(heard_s):,} {place}"
    if why_not:
        return _Fit(name, place, len(heard_s), len(times_s), np.zeros(0), 0.0, 0.0, why_not)
    middle_s = float(np.median(times_s))
    rate, centre_s, rival = _best(heard_s, times_s, middle_s, needed)
    at_s, distances_s = _matched(heard_s, times_s, middle_s, rate, centre_s)
    if len(at_s) >= needed:
        rate = _drift(at_s, distances_s)
        centre_s = float(np.median(distances_s - rate * (at_s - middle_s)))
        at_s, distances_s = _matched(heard_s, times_s, middle_s, rate, centre_s)
    if len(at_s) < needed:
        least = _NEEDED if is_few else f"at least {needed} are needed"
        why_not = f"fits at most {len(at_s)} of {possible} {place}; {least}"
    elif rival > RIVAL_SHARE * len(at_s):
        why_not = f"fits {len(at_s)} {place} with one offset, but {rival} with another"
    rest_s = distances_s - rate * (at_s - middle_s)
    return _Fit(name, place, len(heard_s), len(times_s), rest_s, rate, middle_s, why_not, is_few)


def _best(heard_s: Floats, times_s: Floats, middle_s: float, needed: int) -> tuple[float, float, int]:
    """The rate and the offset with which the most marks fit, and how many fit the best other offset at that rate.

    Of rates alike the smallest is taken. They are so close that none moves a mark by more than half of TOLERANCE_S.
    """
    span_s = float(np.ptp(times_s))
    steps = math.floor(MOST_DRIFT * span_s / TOLERANCE_S)
    steps = steps if steps < 1000 else 0  # within three days and a half
    if steps:
        distances_s = np.sort((heard_s[:, None] - times_s).ravel())
        reach_s = 2 * TOLERANCE_S + MOST_DRIFT * span_s
        within = np.searchsorted(distances_s, distances_s + reach_s, side="right") - np.arange(len(distances_s))
        steps = steps if within.max() >= needed else 0  # else no rate can bring enough marks together
    best, most = (0.0, 0.0, 0), 0
    for step in sorted(range(-steps, steps + 1), key=abs):
        rate = step * TOLERANCE_S / span_s if step else 0.0
        distances_s = np.sort((heard_s[:, None] - times_s - rate * (times_s - middle_s)).ravel())
        ends = np.searchsorted(distances_s, distances_s + 2 * TOLERANCE_S, side="right")
        counts = ends - np.arange(len(distances_s))
        first = int(np.argmax(counts))
        if counts[first] > most:
            most = int(counts[first])
            centre_s = float(np.median(distances_s[first : ends[first]]))
            apart = np.abs(distances_s - centre_s) > 3 * TOLERANCE_S
            best = rate, centre_s, int(counts[apart].max(initial=0))
    return best


def _matched(heard_s: Floats, times_s: Floats, middle_s: float, rate: float, centre_s: float) -> tuple[Floats, Floats]:
    """The times of the marks that a clock puts within TOLERANCE_S of what is heard, and the distances of both."""
    expected_s = times_s + rate * (times_s - middle_s) + centre_s
    nearest = np.abs(heard_s[:, None] - expected_s).argmin(axis=1)
    fits = np.abs(heard_s - expected_s[nearest]) <= TOLERANCE_S
    at_s = times_s[nearest[fits]]
    return at_s, heard_s[fits] - at_s


def _drift(at_s: Floats, distances_s: Floats) -> float:
    """The slope of the distances over time, by least squares; 0 if it does not show, or matters little."""
    if len(at_s) < FEWEST_FOR_DRIFT:
        return 0.0
    centred_s = at_s - at_s.mean()
    sum_of_squares = float(centred_s @ centred_s)
    slope = float(centred_s @ distances_s) / sum_of_squares
    rest_s = distances_s - distances_s.mean() - slope * centred_s
    error = math.sqrt(float(rest_s @ rest_s) / (len(at_s) - 2) / sum_of_squares)
    matters = abs(slope) * float(np.ptp(at_s)) >= LEAST_DRIFT_S
    return slope if matters and abs(slope) > DRIFT_ERRORS * error else 0.0


def _alone(fits: Sequence[_Fit]) -> LogClock | None:
    """The clock by a name that has enough marks, at the first place that has one."""
    for place in get_args(Place):
        if found := [fit for fit in fits if fit.place == place and not fit.is_few]:
            return _latest(found)
    return None


def _together(fits: Sequence[_Fit]) -> LogClock | None:
    """The clock by several names with few marks, one for each place; None if they do not agree, or are too few."""
    few = [fit for fit in fits if fit.is_few]
    for anchor in sorted(few, key=lambda fit: (get_args(Place).index(fit.place), -len(fit.distances_s))):
        near = [fit for fit in few if abs(fit.offset_s() - anchor.offset_s()) <= WITHIN_S]
        most = {fit.place: fit for fit in sorted(near, key=lambda fit: len(fit.distances_s))}
        if sum(len(fit.distances_s) for fit in most.values()) >= FEWEST_TOGETHER:
            also = [fit.name for place, fit in most.items() if place != anchor.place]
            # A quarter of the distances lies farther out than the spread, on each side: of four hardly all do.
            spread_s = float(np.median(np.concatenate([fit.rests_s() for fit in most.values()])))
            return _latest([fit for fit in near if fit.place == anchor.place], also, spread_s)
    return None


def _latest(fits: Sequence[_Fit], also: Sequence[str] = (), beyond_s: float = 0.0) -> LogClock:
    """The clock by the name that comes latest, of those that fit nearly as many as the best, and nearly as steadily.

    A name that is LONGEST_WAY_S or more from the best fits by chance. beyond_s: how far the limits are moved outwards.
    """
    best = max(fits, key=lambda fit: (len(fit.distances_s), -fit.spread_s()))
    enough = NEARLY_AS_MANY * len(best.distances_s)
    near = [fit for fit in fits if abs(fit.offset_s() - best.offset_s()) < LONGEST_WAY_S]
    many = [fit for fit in near if len(fit.distances_s) >= enough]
    steady_s = NEARLY_AS_STEADY * min(fit.spread_s() for fit in many) + TICK_MS / 1000
    fit = min((fit for fit in many if fit.spread_s() <= steady_s), key=_Fit.offset_s)
    low_s, offset_s, high_s = (
        (distance_s - fit.rate * fit.middle_s) / (1 + fit.rate) for distance_s in _median_with_limits(fit.distances_s)
    )
    low_s, high_s, matched = low_s - beyond_s, high_s + beyond_s, len(fit.distances_s)
    ppm, spread_s = 1e6 * fit.rate, fit.spread_s()
    return LogClock(offset_s, ppm, low_s, high_s, spread_s, fit.name, fit.place, matched, fit.of, [*also])


def _median_with_limits(values: Floats) -> tuple[float, float, float]:
    """The median, between the order statistics that enclose it with at least 95 % confidence, for any distribution.

    Between the first and the last if there are too few for that.
    """
    n, below, k = len(values), 0.0, 0
    while (below := below + math.comb(n, k) / 2**n) <= 0.025:
        k += 1
    ordered, k = np.sort(values), max(k, 1)
    return float(ordered[k - 1]), float(np.median(values)), float(ordered[n - k])


def _unit_hint(marks: Sequence[Mark], dialogue: Dialogue) -> str:
    """A hint for the error message if the times of the log are hardly seconds; otherwise empty."""
    span_s, length_s = marks[-1].time_s - marks[0].time_s, ticks_to_s(dialogue.n_ticks)
    if span_s < MOST_SPANS * length_s:
        return ""
    return f"; its times span {span_s:,.0f}, the recording {length_s:,.0f} s: times are expected in seconds"
