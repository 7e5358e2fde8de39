"""Checks of the two sides against each other: echo, identical content, exchanged sides."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from fdbcore.measures.health.echo import LEAST_DB, REACH_MS, HeardEcho
from fdbcore.measures.health.finding import Bools, health_finding, near
from fdbcore.measures.health.probe import SideAudio
from fdbcore.recording.health import HealthFinding
from fdbcore.types import SIDES, TICK_MS, TICKS_PER_S, Side, other_side

LEAST_QUIET_TICKS: Final = 5 * TICKS_PER_S
MARGIN_TICKS: Final = 20
LIVE_ROOM_POWER: Final = 1e-8  # -80 dBov

CUT_PEAK, CUT_SHARE, OPEN_SHARE = 1, 0.9, 0.1
LEAST_CUT_TICKS, LEAST_OPEN_TICKS, HELD_TICKS = 5 * TICKS_PER_S, 3 * TICKS_PER_S, 3 * TICKS_PER_S // 10

AT_ONCE_MS: Final = 5.0
OWN_SHARE: Final = 0.1  # of its speech, at most, in a side that repeats the other


def echoes(found: Mapping[Side, HeardEcho], activity: Mapping[Side, Bools]) -> Iterator[HealthFinding]:
    """Echo in either direction; or both sides have the same content, or one holds both, repeats the other or is early.

    A side with hardly any speech of its own repeats the other, at whatever level, and what it repeats is echo. The
    level must not decide this: it is a property of the line, and a side that says nothing has answered nothing.
    """
    own = {side: _own_share(activity, side, echo.delays_ms[1]) for side, echo in found.items()}
    if len(found) == len(SIDES) and all(echo.alike for echo in found.values()):
        if max(own.values()) > OWN_SHARE:
            fuller = max(SIDES, key=own.__getitem__)
            yield _mixed(fuller, found[fuller])
            return
        means = "Nobody can say who speaks: every turn is also an overlap, and no measure means anything."
        level_db, lag = found["B"].level_db, found["B"].delays_ms[1]
        text = "A and B hold the same"
        yield health_finding("same_channels", None, "bad", text, means, {"level_db": level_db, "delay_ms": lag})
        return
    for side, echo in found.items():
        at_once = echo.alike and abs(echo.delays_ms[1]) < AT_ONCE_MS
        repeated = own[side] <= OWN_SHARE and (
            echo.alike or len(found) == 1
        )  # with echo both ways, each covers the other
        yield (_misplaced if not echo.is_late else _mixed if at_once else _repeated if repeated else _echo)(side, echo)


def _own_share(activity: Mapping[Side, Bools], side: Side, delay_ms: float) -> float:
    """The share of a side's speech that is not near speech of the other side `delay_ms` earlier."""
    heard = np.roll(activity[other_side(side)], round(delay_ms / TICK_MS))
    alone = activity[side] & ~near(heard, MARGIN_TICKS)
    return float(np.count_nonzero(alone)) / max(int(np.count_nonzero(activity[side])), 1)


def _mixed(side: Side, echo: HeardEcho) -> HealthFinding:
    other = other_side(side)
    means = (
        f"Speech of {other} is also on {side}, at the same time and as loud: it counts as speech of both, every turn "
        f"of {other} is an overlap, and no measure means anything. Give each side its own audio."
    )
    figures = {"level_db": echo.level_db, "delay_ms": echo.delays_ms[1]}
    return health_finding("mixed", side, "bad", f"{side} holds both sides", means, figures)


def _echo(side: Side, echo: HeardEcho) -> HealthFinding:
    least, median, most = echo.delays_ms
    other = other_side(side)
    figures = {"level_db": echo.level_db, "delay_ms": median, "least_delay_ms": least, "most_delay_ms": most}
    place = f"at {median:.0f} ms" if most - least < 5 else f"at {least:.0f} to {most:.0f} ms"
    means = (
        f"{other} is heard again on {side}: if that counts as speech of {side}, it adds false overlaps, interruptions "
        f"and early answers. Searched from 0 to {REACH_MS} ms, down to {LEAST_DB:.0f} dB."
    )
    return health_finding("echo", side, "warn", f"echo {other}->{side} {echo.level_db:.0f} dB {place}", means, figures)


def _repeated(side: Side, echo: HeardEcho) -> HealthFinding:
    other = other_side(side)
    delay_ms = echo.delays_ms[1]
    means = (
        f"{side} is an echo of {other} with hardly a word of its own: a system that echoes, or a line that loops "
        f"back. What it repeats is neither speech of {side} nor an answer."
    )
    text = f"{side} repeats {other} {delay_ms:.0f} ms later"
    return health_finding("repeats", side, "bad", text, means, {"level_db": echo.level_db, "delay_ms": delay_ms})


def _misplaced(side: Side, echo: HeardEcho) -> HealthFinding:
    early_ms = -echo.delays_ms[1]
    other = other_side(side)
    text = f"{other} is heard on {side} {early_ms:.0f} ms before it speaks"
    means = (
        f"The sides do not begin together: {side} is early by {early_ms:.0f} ms or more, and every latency and overlap "
        f"is wrong by that much (correct it with --offset-ms). Searched up to {REACH_MS} ms."
    )
    return health_finding("offset", side, "bad", text, means, {"at_least_ms": early_ms, "level_db": echo.level_db})


def exchanged(sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools]) -> Iterator[HealthFinding]:
    """A is digitally silent between its words, as only a machine is, while B has the noise of a room."""
    quiet = {side: ~near(activity[side], MARGIN_TICKS) for side in SIDES}
    if any(np.count_nonzero(ticks) < LEAST_QUIET_TICKS or not activity[side].any() for side, ticks in quiet.items()):
        return
    zero_share = {side: float(np.mean(sides[side].peaks[quiet[side]] == 0)) for side in SIDES}
    room = float(np.median(sides["B"].powers[quiet["B"]]))
    if zero_share["A"] > 0.9 and zero_share["B"] < 0.1 and room > LIVE_ROOM_POWER:
        text = "sides exchanged? A is digitally silent between words, B is not"
        means = "If A is the system, every measure describes the wrong side (correct it with --swap)."
        figures = {"a_zero_share_of_pauses": zero_share["A"], "b_zero_share_of_pauses": zero_share["B"]}
        yield health_finding("exchanged", None, "warn", text, means, figures)


def half_duplex(sides: Mapping[Side, SideAudio], activity: Mapping[Side, Bools]) -> Iterator[HealthFinding]:
    """The line of a side is cut off while the other speaks: it has a background, but none then."""
    n_ticks = min(len(active) for active in activity.values())
    spoken = activity["A"][:n_ticks] | activity["B"][:n_ticks]
    for side in SIDES:
        other = other_side(side)
        is_cut = sides[side].peaks[:n_ticks] <= CUT_PEAK
        beside, apart = is_cut[activity[other][:n_ticks]], is_cut[~near(spoken, HELD_TICKS)]
        if len(beside) < LEAST_CUT_TICKS or len(apart) < LEAST_OPEN_TICKS:
            continue
        if beside.mean() >= CUT_SHARE and apart.mean() <= OPEN_SHARE:
            text = f"{side} is cut off while {other} speaks ({100 * beside.mean():.0f} % of it): half duplex?"
            means = f"What {side} says meanwhile is not recorded: it neither interrupts nor gives backchannels."
            yield health_finding("half_duplex", side, "warn", text, means, {"cut_share": float(beside.mean())})
