"""Calls whose pauses are planned, with a system that answers after a silence: what is true of any wait is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Bools: TypeAlias = npt.NDArray[np.bool_]

LONGEST_PAUSE: Final = 240
SHORTEST_PAUSE: Final = 25
PAUSES: Final = 0.8
"""The mean number of pauses of a turn."""
PAUSE, PAUSE_SPREAD, SPEAKER_SPREAD = (
    55,
    0.55,
    0.25,
)  # ticks; standard deviations of logarithms, in and between speakers
COST, COST_SPREAD, CALL_SPREAD = 25, 0.3, 0.15
STOPS_AFTER: Final = 30
SEEN: Final = 100
"""Ticks after B's start within which A's going on is seen to be its own."""


@dataclass(frozen=True, slots=True)
class PlannedTurn:
    """A turn of A, in ticks: its pieces of speech, the pauses between them, and what an answer costs after each."""

    pieces: list[int]
    pauses: list[int]
    costs: list[int]

    def is_cut_in(self, wait: int, longest: float = np.inf) -> bool:
        """True if B begins in a pause of it. longest: a longer pause does not count."""
        pairs = zip(self.pauses, self.costs[:-1], strict=True)
        return any(wait + cost < pause <= longest for pause, cost in pairs)


def planned_call(random: np.random.Generator, cost_spread: float = COST_SPREAD) -> list[PlannedTurn]:
    """The turns of a speaker who pauses in its own way, with a system whose answers cost what they cost that day."""
    slow = np.exp(random.normal(0, SPEAKER_SPREAD))
    busy = np.exp(random.normal(0, CALL_SPREAD)) if cost_spread else 1.0
    turns = []
    for _ in range(random.integers(4, 10)):
        n = random.poisson(PAUSES)
        pauses = PAUSE * slow * np.exp(random.normal(0, PAUSE_SPREAD, n))
        costs = COST * busy * np.exp(random.normal(0, cost_spread, n + 1))
        turns.append(
            PlannedTurn(
                random.integers(60, 300, n + 1).tolist(),
                np.clip(pauses, SHORTEST_PAUSE, LONGEST_PAUSE).astype(int).tolist(),
                costs.astype(int).tolist(),
            )
        )
    return turns


def activity(turns: list[PlannedTurn], wait: int, random: np.random.Generator, keeps: int = 0) -> tuple[Bools, Bools]:
    """The activity of both sides if the system waits for so many ticks, bool (n_ticks,) each.

    It stops soon after A goes on. keeps: so many ticks before it begins it takes an answer back no more.
    """
    spans: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    at = 50
    for turn in turns:
        for number, (piece, cost) in enumerate(zip(turn.pieces, turn.costs, strict=True)):
            spans[0].append((at, at + piece))
            at += piece
            starts = wait + cost
            if number < len(turn.pauses):
                pause = turn.pauses[number]
                if starts - min(keeps, cost) < pause:
                    spans[1].append((at + starts, at + max(starts, pause) + STOPS_AFTER))
                at += pause
            else:
                answer = int(random.integers(100, 300))
                spans[1].append((at + starts, at + starts + answer))
                at += starts + answer + int(random.integers(30, 120))
    tracks = np.zeros((2, at + 400), np.bool_)
    for track, own in zip(tracks, spans, strict=True):
        for start, end in own:
            track[start:end] = True
    return tracks[0], tracks[1]


def true_share(wait: int, present: int, turns: int, random: np.random.Generator) -> float:
    """The share of A's turns in which B would begin too early with a wait, of those that the present wait lets see."""
    turn = np.repeat(np.arange(turns), random.poisson(PAUSES, turns))
    slow, busy = np.exp(random.normal(0, SPEAKER_SPREAD, turns)), np.exp(random.normal(0, CALL_SPREAD, turns))
    pauses = PAUSE * slow[turn] * np.exp(random.normal(0, PAUSE_SPREAD, len(turn)))
    costs = np.floor(COST * busy[turn] * np.exp(random.normal(0, COST_SPREAD, len(turn))))
    pauses = np.floor(np.clip(pauses, SHORTEST_PAUSE, LONGEST_PAUSE))
    is_cut_in = (wait + costs < pauses) & (pauses <= present + costs + SEEN)
    return float((np.bincount(turn, is_cut_in, turns) > 0).mean())
