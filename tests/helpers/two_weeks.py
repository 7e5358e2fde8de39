"""Calls of two weeks by a script: the second repeats the first, a little off, with ten moments made worse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from helpers.made_runs import MadeCall

from fdbcore.measures.measure import MomentKind

TURNS = 5
SLOW, OVER, CUT = 5, 3, 2


@dataclass(frozen=True)
class Turn:
    """One turn of A and its answer, in seconds.

    wait_s: from the end of A to B; negative: B cuts A off. gap_s: from the end of B to A's next turn; negative: A
    interrupts, and B stops that much later.
    """

    ask_s: float
    wait_s: float
    reply_s: float
    gap_s: float


@dataclass(frozen=True)
class Planted:
    """A moment that is worse in the second week: how long it was, and is. was_s: None for a new one."""

    kind: MomentKind
    call: int
    start_s: float
    was_s: float | None
    now_s: float


Script = list[list[Turn]]


def two_weeks(calls: int, seed: int = 1) -> tuple[Script, Script, list[Planted]]:
    """The turns of each call in either week, and the ten moments: answers later by 4 s, talk-overs longer by 1.5 s, and
    cut-offs where B used to wait."""
    rng = np.random.default_rng(seed)
    before = [[_turn(rng) for _ in range(TURNS)] for _ in range(calls)]
    now = [[_a_little_off(rng, turn) for turn in turns] for turns in before]
    places = [(call, at) for call in rng.permutation(calls).tolist() for at in rng.permutation(TURNS - 1).tolist()]
    usual = [(call, at) for call, at in places if before[call][at].wait_s > 0 and before[call][at].gap_s > 0]
    talked_over = [(call, at) for call, at in places if before[call][at].gap_s < 0]
    chosen = list(dict(usual).items())[: SLOW + CUT]  # at most one in a call, so that each is told alone
    for n, (call, at) in enumerate(chosen):
        turn = now[call][at]
        wait_s = turn.wait_s + 4 if n < SLOW else -1.4 - 0.2 * (n - SLOW)
        now[call][at] = replace(turn, wait_s=wait_s)
    for call, at in talked_over[:OVER]:
        turn = now[call][at]
        now[call][at] = replace(turn, gap_s=turn.gap_s - 1.5, reply_s=turn.reply_s + 1.5)
    counts: dict[MomentKind, int] = {"slow_answer": SLOW, "cut_off": CUT, "talk_over": OVER}
    kinds = [kind for kind, n in counts.items() for _ in range(n)]
    return (
        before,
        now,
        [
            _planted(kind, call, at, before, now)
            for kind, (call, at) in zip(kinds, [*chosen, *talked_over[:OVER]], strict=True)
        ],
    )


def spans(turns: Sequence[Turn]) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """When A and B speak, in seconds, turn by turn."""
    a, b, now_s = [], [], 0.5
    for turn in turns:
        a.append((now_s, now_s + turn.ask_s))
        b.append((a[-1][1] + turn.wait_s, a[-1][1] + turn.wait_s + turn.reply_s))
        now_s = b[-1][1] + turn.gap_s
    return a, b


def made_calls(script: Script, prefix: str) -> list[MadeCall]:
    """The calls as a detector would have left them."""
    made = []
    for n, turns in enumerate(script):
        of_sides = spans(turns)
        tracks = [np.zeros(round(100 * (of_sides[1][-1][1] + 3)), np.bool_) for _ in of_sides]
        for track, of in zip(tracks, of_sides, strict=True):
            for start_s, end_s in of:
                track[round(100 * start_s) : round(100 * end_s)] = True
        made.append(MadeCall(f"{prefix}{n:03}", (tracks[0], tracks[1])))
    return made


def _turn(rng: np.random.Generator) -> Turn:
    cuts, interrupts = rng.random(2) < (0.07, 0.15)
    return Turn(
        ask_s=rng.uniform(2.2, 3.4),
        wait_s=-rng.uniform(0.6, 1.0) if cuts else float(np.clip(0.7 * np.exp(rng.normal(0, 0.25)), 0.4, 1.6)),
        reply_s=rng.uniform(2.0, 3.0),
        gap_s=-rng.uniform(0.3, 0.7) if interrupts else rng.uniform(0.3, 0.8),
    )


def _a_little_off(rng: np.random.Generator, turn: Turn) -> Turn:
    return replace(turn, wait_s=turn.wait_s * (1 + rng.uniform(-0.08, 0.08))) if turn.wait_s > 0 else turn


def _planted(kind: MomentKind, call: int, at: int, before: Script, now: Script) -> Planted:
    (a, b), (was, is_now) = spans(now[call]), (before[call][at], now[call][at])
    if kind == "slow_answer":
        return Planted(kind, call, a[at][1], was.wait_s, is_now.wait_s)
    if kind == "cut_off":
        return Planted(kind, call, b[at][0], None, -is_now.wait_s)
    return Planted(kind, call, a[at + 1][0], -was.gap_s, -is_now.gap_s)
