"""A check that two sides are on one clock: one may be shifted by a constant, from some point on, or more and more.

People take turns, so where the sides are out of step, they overlap more than they would at another offset. A system
that cuts people off overlaps in the same way: this alone is a warning, also if its file is shorter, as it may have hung
up. What no system can do is to be heard on the other side before it speaks, or as late as it would fit better: that is
sure, and asks for no overlap.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fdbcore.measures.health.echo import FAR_REACH_TICKS, all_in
from fdbcore.measures.health.finding import Bools, health_finding, near, runs
from fdbcore.measures.health.probe import SideAudio
from fdbcore.recording.health import HealthFinding
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, Span, clock_text, other_side

FARTHEST_TICKS: Final = 8 * TICKS_PER_S
STEP_TICKS: Final = 10
PART_TICKS: Final = 15 * TICKS_PER_S
BRIDGED_TICKS: Final = 30  # a pause between two words
LEAST_SPEECH_TICKS: Final = 8 * TICKS_PER_S

# In units of the correlation of the two sides' activity, which is -1 if just one of them speaks at any time.
LEAST_GAIN: Final = 0.07  # of 100 sound dialogues 3 gain as much by some offset
LEAST_GROWING_GAIN: Final = 0.05  # one number tells a drift; of 72 sound dialogues one gains as much by some drift
COST_OF_A_CHANGE: Final = 0.04
COST_OF_A_STEP: Final = 0.001
COST_OF_A_SECOND: Final = 0.015  # of offset: turns come again, so a far offset may fit as well as a near one
CONSTANT_SHARE: Final = 0.85  # of the gain of changing offsets: a constant one that gains as much is what there is
IN_STEP_TICKS: Final = 30
SLACK: Final = 0.2  # of the gain: offsets that lose less of it fit as well
USUAL_PARTS: Final = 5  # of a call of 75 s
NOT_MOVED: Final = FARTHEST_TICKS // STEP_TICKS
NEAR_TICKS: Final = 50  # a second sign fits if it lies this near
LEAST_STRETCHES: Final = 2
LEAST_OVERLAP_TICKS: Final = TICKS_PER_S
SAME_TICKS: Final = 5

LEAST_PAUSE_TICKS: Final = TICKS_PER_S
EDGE_TICKS: Final = 20  # silence at the ends of a recording is padding
LONGEST_HOLD_TICKS: Final = 50  # for which a gate stays open after speech
LEAST_BACKGROUND_TICKS: Final = 30
SOME_TICKS: Final = 100_000
SILENT_PEAK: Final = 1
SOFTEST, FAR_BELOW = 0.15, 0.1  # a quantile of the ticks that sound, and 20 dB below it
MOST_SILENT_SHARE: Final = 0.02  # of the rest: a side with more has no background that could be missed


class Fit(NamedTuple):
    """The delay of B in a part of a session, in ticks; below 0 it is early. least, most: what fits as well."""

    start_tick: int
    late_ticks: int
    least: int
    most: int


def out_of_step(
    sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools], two_files: bool, far: bool
) -> Iterator[HealthFinding]:
    """The sides would overlap much less with another offset, or one is heard on the other before it speaks.

    sides: without lines. activity: without echo. far: see `echo.hears_far`.
    """
    if min(np.count_nonzero(active) for active in activity.values()) < LEAST_SPEECH_TICKS:
        return
    costs = _costs(activity)
    fits, gain = _fits(costs)
    growing, growing_gain = _growing(costs)
    is_growing = growing_gain >= max(gain, LEAST_GROWING_GAIN)
    overlaps = is_growing or gain >= LEAST_GAIN
    if is_growing:
        fits, gain = growing, growing_gain
    if not overlaps and not far:
        return
    proof = _proof(sides, activity, fits if overlaps else ())
    if proof is not None:
        yield _surely_out_of_step(fits, gain, is_growing, *proof)
    elif overlaps:
        both_ticks = np.count_nonzero(activity["A"] & activity["B"])
        or_else = ", or the parties talk over each other" if both_ticks >= LEAST_OVERLAP_TICKS else ""
        yield _out_of_step(fits, gain, f"{_place(fits, is_growing)}{_lengths(sides) if two_files else ''}{or_else}")


def _out_of_step(fits: Sequence[Fit], gain: float, place: str) -> HealthFinding:
    text = f"sides out of step? B {place}: audio alone cannot tell"
    means = (
        "If the sides are not on one clock, or exchanged in a short call, every latency, overlap and interruption is "
        "wrong; a system that cuts people off, or is cut off, sounds the same."
    )
    return health_finding("out_of_step", None, "warn", text, means, _figures(fits, gain))


def _surely_out_of_step(
    fits: Sequence[Fit], gain: float, is_growing: bool, proof: str, late_ticks: float, is_constant: bool
) -> HealthFinding:
    """late_ticks, is_constant: see `_proof`."""
    if is_constant or all(_is_near(late_ticks, fit) for fit in fits):
        fits, is_growing = [Fit(0, *[round(late_ticks)] * 3)], False
    text = f"sides out of step: B {_place(fits, is_growing)}, and {proof}"
    means = "Every latency, overlap and interruption is wrong by that much."
    figures = _figures(fits, gain)
    if len(fits) == 1:
        figures["offset_ms"] = -round(late_ticks * TICK_MS)
        means += f" --offset-ms {figures['offset_ms']:.0f} corrects it."
    return health_finding("out_of_step", None, "bad", text, means, figures)


def _figures(fits: Sequence[Fit], gain: float) -> dict[str, float]:
    """A range only where one offset fits the whole session."""
    one = {"least_late_ms": fits[0].least * TICK_MS, "most_late_ms": fits[0].most * TICK_MS} if len(fits) == 1 else {}
    return {"gain": gain, **one}


def _proof(
    sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools], fits: Sequence[Fit]
) -> tuple[str, float, bool] | None:
    """Proof of what no system can do, in words, how many ticks B is late by it, and if that is constant; None without.

    fits: where the sides overlap; there an echo after its source counts, too, if it is as late.
    """
    echoes = itertools.chain(*all_in(sides, activity, FAR_REACH_TICKS).values())
    for echo in sorted(echoes, key=lambda echo: echo.is_late):
        late_ticks = [path.delay_ms / TICK_MS * (1 if echo.side == "B" else -1) for path in echo.paths]
        middle = float(np.median(late_ticks))
        by_itself = not echo.is_late and abs(middle) > NEAR_TICKS
        fitting = [
            late
            for late in late_ticks
            if any(_is_near(late, fit) for fit in fits) or (by_itself and abs(late - middle) < SAME_TICKS)
        ]
        # One is not enough: a machine may say the same recording again, whose first echo precedes the second.
        if len(fitting) >= LEAST_STRETCHES:
            late = float(np.median(fitting))
            when = f"{abs(late) / TICKS_PER_S:.2f} s {'after' if echo.is_late else 'before'}"
            same = sum(abs(each - middle) < SAME_TICKS for each in late_ticks)
            is_constant = by_itself and same >= CONSTANT_SHARE * len(late_ticks)
            return f"{other_side(echo.side)} is heard on {echo.side} {when} it speaks", late, is_constant
    return None


def _lengths(sides: Mapping[Side, SideAudio]) -> str:
    longer_ticks = sides["B"].end_tick - sides["A"].end_tick
    if abs(longer_ticks) < NEAR_TICKS:
        return ""
    return f" (its file is {abs(longer_ticks) / TICKS_PER_S:.1f} s {'longer' if longer_ticks > 0 else 'shorter'})"


def _growing(costs: npt.NDArray[np.float64]) -> tuple[list[Fit], float]:
    """The same as `_fits` for an offset that grows with time, from none."""
    parts = np.arange(len(costs))
    ends = np.arange(-FARTHEST_TICKS, FARTHEST_TICKS + 1, STEP_TICKS)
    offsets = ends[:, None] * (parts + 0.5) / len(costs)
    at = np.rint((offsets + FARTHEST_TICKS) / STEP_TICKS).astype(np.int64)
    gains = (costs[:, NOT_MOVED] - costs[parts, at]).sum(axis=1)
    best = int(gains.argmax())
    late = np.rint(offsets[best]).astype(np.int64).tolist()
    fits = [Fit(at * PART_TICKS, ticks, ticks - IN_STEP_TICKS, ticks + IN_STEP_TICKS) for at, ticks in enumerate(late)]
    return fits, float(gains[best])


def _fits(costs: npt.NDArray[np.float64]) -> tuple[list[Fit], float]:
    """The delay of B in each part of the session, and how much better the sides fit then than as they are.

    The offset changes from part to part only if that gains more than COST_OF_A_CHANGE. The gain is that of the whole
    session or, if it is long, of the stretch that gains most by an offset of its own.
    """
    parts = np.arange(len(costs))
    usual = min(1.0, USUAL_PARTS / len(costs))  # in a longer session each part has a smaller share of the correlation
    best = _path(costs, usual)
    gains = costs[:, NOT_MOVED] - costs[parts, best]
    constant = np.full(len(costs), int(costs.sum(axis=0).argmin()))
    of_constant = costs[:, NOT_MOVED] - costs[parts, constant]
    if of_constant.sum() >= CONSTANT_SHARE * gains.sum():
        best, gains = constant, of_constant
    edges = np.flatnonzero(np.diff(best, prepend=-1, append=-1))
    stretches = [slice(int(start), int(end)) for start, end in itertools.pairwise(edges)]
    fits = []
    for stretch in stretches:
        spent, at = costs[stretch].sum(axis=0), int(best[stretch.start])
        as_good = runs(spent <= spent[at] + SLACK * float(gains.sum()))
        least, most = next(span for span in as_good if span[0] <= at < span[1])
        fits.append(Fit(stretch.start * PART_TICKS, _offset(at), _offset(least), _offset(most - 1)))
    shares = [max(stretch.stop - stretch.start, USUAL_PARTS) / len(costs) for stretch in stretches]
    local = [float(gains[each].sum()) / min(share, 1) for each, share in zip(stretches, shares, strict=True)]
    whole = float(gains.sum()) - usual * COST_OF_A_CHANGE * (len(stretches) - 1)
    return fits, max(whole, *((gain - COST_OF_A_CHANGE) / 2 for gain in local))  # one of many must gain twice as much


def _offset(at: int) -> int:
    return STEP_TICKS * at - FARTHEST_TICKS


def _path(costs: npt.NDArray[np.float64], usual: float) -> npt.NDArray[np.int64]:
    """The offset of each part, as an index (parts,), that costs least, changes included."""
    steps = np.abs(np.arange(costs.shape[1])[:, None] - np.arange(costs.shape[1]))
    change = usual * np.where(steps > 0, COST_OF_A_CHANGE + COST_OF_A_STEP * steps, 0)
    reached, chosen = costs[0], []
    for of_part in costs[1:]:
        through = reached[:, None] + change
        chosen.append(through.argmin(axis=0))
        reached = through.min(axis=0) + of_part
    best = [int(reached.argmin())]
    for before in reversed(chosen):
        best.append(int(before[best[-1]]))
    return np.array(best[::-1])


def _costs(activity: Mapping[Side, Bools]) -> npt.NDArray[np.float64]:
    """The part of each stretch in the correlation of the sides' activity by offset of B, (parts, offsets)."""
    a, b = (_bridged(activity[side]) for side in SIDES)
    of_a, of_b = (float(np.mean(side)) for side in (a, b))
    deviation = len(a) * math.sqrt(of_a * (1 - of_a) * of_b * (1 - of_b)) + 1e-9
    costs = []
    for start in range(0, len(a), PART_TICKS):
        part = a[start : start + PART_TICKS] - of_a
        first, last = start - FARTHEST_TICKS, start + len(part) + FARTHEST_TICKS
        around = np.zeros(last - first)
        within = b[max(first, 0) : last]
        around[max(-first, 0) :][: len(within)] = within - of_b
        size = len(around) + len(part)
        correlation = np.fft.irfft(np.fft.rfft(around, size) * np.fft.rfft(part, size).conj(), size)
        costs.append(correlation[: 2 * FARTHEST_TICKS + 1 : STEP_TICKS] / deviation)
    offsets = np.abs(np.arange(-FARTHEST_TICKS, FARTHEST_TICKS + 1, STEP_TICKS))
    return np.array(costs) + COST_OF_A_SECOND * offsets / TICKS_PER_S / len(costs)


def _bridged(active: Bools) -> Bools:
    bridged = np.zeros(len(active), np.bool_)
    for start, end in runs(active, BRIDGED_TICKS):
        bridged[start:end] = True
    return bridged


def _is_near(late_ticks: float, fit: Fit) -> bool:
    return abs(late_ticks) > NEAR_TICKS and fit.least - NEAR_TICKS <= late_ticks <= fit.most + NEAR_TICKS


def _place(fits: Sequence[Fit], is_growing: bool) -> str:
    """The delay of B, and from where on: "in step from 0:00, 2.3 to 3.5 s early from 0:45"."""
    if is_growing:
        last = fits[-1].late_ticks
        return f"more and more {'late' if last > 0 else 'early'}, {abs(last) / TICKS_PER_S:.1f} s in the end"
    if len(fits) == 1:
        return _range(fits[0])
    return ", ".join(f"{_late(fit)} from {clock_text(fit.start_tick / TICKS_PER_S)}" for fit in fits)


def _late(fit: Fit) -> str:
    """The same of one part among others, which may be in step."""
    is_in_step = fit.least <= IN_STEP_TICKS and -IN_STEP_TICKS <= fit.most
    return "in step" if is_in_step else _range(fit)


def _range(fit: Fit) -> str:
    """The delay of B: "2.3 to 3.5 s early"."""
    is_late = fit.late_ticks > 0
    least, most = (fit.least, fit.most) if is_late else (-fit.most, -fit.least)
    least_s, most_s = max(least, 0) / TICKS_PER_S, most / TICKS_PER_S
    return f"{f'{least_s:.1f} to ' if least != most else ''}{most_s:.1f} s {'late' if is_late else 'early'}"


def pauses(sides: Mapping[Side, SideAudio], speech: Mapping[Side, Bools]) -> Iterator[HealthFinding]:
    """The recorder paused: the background of both sides ends and returns at the same moments.

    Silence that a side sends between its words does not: it begins and ends as that side speaks, and at no time for
    both sides at once, unless both are suppressed while nobody speaks: then each silence ends where somebody begins,
    and no background is ever heard apart from speech. A side that is silent between its words anyway shows nothing.
    """
    n_ticks = min(audio.end_tick for audio in sides.values())
    silent = {side: _is_missing(sides[side].until_its_end, n_ticks) for side in SIDES}
    of_side = [[span for span in runs(silent[side], 1) if span[1] - span[0] >= LEAST_PAUSE_TICKS] for side in SIDES]
    spans = [
        (min(a[0], b[0]), max(a[1], b[1]))
        for a in of_side[0]
        for b in of_side[1]
        if max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= SAME_TICKS and EDGE_TICKS < a[0] < a[1] < n_ticks - EDGE_TICKS
    ]
    begins = [start for side in SIDES for start, _ in runs(speech[side], BRIDGED_TICKS)]
    spoken = near(speech["A"][:n_ticks] | speech["B"][:n_ticks], LONGEST_HOLD_TICKS)
    is_gated = np.count_nonzero(~(spoken | silent["A"] | silent["B"])) < LEAST_BACKGROUND_TICKS
    if len(spans) > 1 and is_gated and _all_end_at(spans, begins):
        return
    paused_ticks = sum(end - start for start, end in spans)
    most_silent = max(np.count_nonzero(ticks) for ticks in silent.values())
    if spans and most_silent - paused_ticks < MOST_SILENT_SHARE * (n_ticks - paused_ticks):
        places = ", ".join(
            f"{clock_text(start / TICKS_PER_S)} to {clock_text(end / TICKS_PER_S)}" for start, end in spans
        )
        text = f"recording paused, {places}: the background of both sides is missing there"
        means = "What was said there is not known: these spans are left out of every figure, as --from and --to would."
        yield health_finding("paused", None, "warn", text, means, {"seconds": paused_ticks / TICKS_PER_S}, spans)


def _all_end_at(spans: Sequence[Span], begins: Sequence[int]) -> bool:
    return all(any(end - SAME_TICKS <= at <= end + EDGE_TICKS for at in begins) for _, end in spans)


def _is_missing(heard: SideAudio, n_ticks: int) -> Bools:
    """The ticks far below the softest that the side has otherwise, bool (n_ticks,)."""
    some = heard.peaks[: n_ticks : n_ticks // SOME_TICKS + 1]
    sounding = some[some > SILENT_PEAK]
    usual = float(np.quantile(sounding, SOFTEST)) if len(sounding) else 0.0
    missing: Bools = heard.peaks[:n_ticks] <= max(usual * FAR_BELOW, SILENT_PEAK)
    return missing
