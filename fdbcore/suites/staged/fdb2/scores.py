"""Scores of dialogues by replies of a judge, as the scripts of Full-Duplex-Bench-v2 compute them.

Of a dialogue: the mean of each event score over the events that have both; the task score; and eight bins of 15 s, each
the mean of the event scores, weighted by how long an event lies in the bin. An event without length is in no bin.
The scripts stop there. The published tables are means over families and over the bins of the first 75 s; how they were
weighted is not said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from fdbcore.suites.staged.fdb2.replies import JudgedEvent, JudgeReply

BIN_S: Final = 15.0
BINS: Final = tuple((start_s, start_s + BIN_S) for start_s in np.arange(0.0, 120.0, BIN_S).tolist())
_EDGES_S: Final = np.array(BINS)
EARLY_BINS: Final = 5
"""The published tables have the bins up to 75 s alone."""
NO_TASK_SCORE: Final = "Daily"
"""The family whose task score has no rubric: the judge is asked for one, and no table has it."""

Floats: TypeAlias = npt.NDArray[np.float64]
Means: TypeAlias = tuple[float, float] | None
"""Of turn-taking and instruction following; None where no event has both scores."""


@dataclass(frozen=True, slots=True)
class DialogueScores:
    """The scores of one dialogue.

    setup: the folder that the reply lies in. task_id: such as "Daily.ordering.001". n_timed: the events that can be in
    a bin. n_tasks: how many replies have a task score: one, unless several are of the same setup and task.
    """

    setup: str
    task_id: str
    n_events: int
    n_timed: int
    n_tasks: int
    means: Means
    task: float | None
    bins: Sequence[Means]

    @property
    def family(self) -> str:
        """The family of its task."""
        return self.task_id.partition(".")[0]

    @property
    def early(self) -> Means:
        """The mean over those bins up to 75 s that have a score."""
        return _mean([means for means in self.bins[:EARLY_BINS] if means is not None])


def dialogue_scores(setup: str, task_id: str, replies: Sequence[JudgeReply]) -> DialogueScores:
    """The scores of a dialogue by its replies: one, as a rule; the events of several are taken together."""
    events = [event for reply in replies for event in reply.events]
    scored = [event.scores for event in events if event.scores is not None]
    tasks = [reply.task for reply in replies if reply.task is not None]
    return DialogueScores(
        setup,
        task_id,
        n_events=len(scored),
        n_timed=sum(_is_timed(event) for event in events),
        n_tasks=len(tasks),
        means=_mean(scored),
        task=float(np.mean(tasks)) if tasks else None,
        bins=binned(events),
    )


def binned(events: Iterable[JudgedEvent]) -> list[Means]:
    """The means in each of `BINS`, weighted by the seconds of overlap; None for a bin in which no event lies."""
    timed = [event for event in events if _is_timed(event)]
    scores = np.array([event.scores for event in timed], float).reshape(-1, 2)
    spans = np.array([(event.start_s, event.end_s) for event in timed], float).reshape(-1, 2)
    return [None if math.isnan(first) else (first, second) for first, second in binned_means(spans, scores).tolist()]


def binned_means(spans: Floats, scores: Floats) -> Floats:
    """The same of events as arrays, as (bins, 2); NaN for a bin in which none lies.

    spans, scores: (n, 2); an event that lacks a score is NaN, and counts nowhere.
    """
    known = ~np.isnan(scores).any(axis=1)
    starts_s, ends_s = spans[known].T
    overlaps_s = np.maximum(np.minimum(ends_s, _EDGES_S[:, 1:]) - np.maximum(starts_s, _EDGES_S[:, :1]), 0.0)
    total_s = overlaps_s.sum(axis=1, keepdims=True)
    found: Floats = np.divide(
        overlaps_s @ scores[known], total_s, out=np.full((len(BINS), 2), np.nan), where=total_s > 0
    )
    return found


def _mean(pairs: Sequence[tuple[float, float]]) -> Means:
    if not pairs:
        return None
    turn_taking, following = np.mean(pairs, axis=0).tolist()
    return turn_taking, following


def _is_timed(event: JudgedEvent) -> bool:
    """Whether an event has both scores and a length."""
    return event.scores is not None and event.end_s > event.start_s
