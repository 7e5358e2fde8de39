"""The measures of staged dialogues as scales of a scorecard, and what its terms mean, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from msgspec.structs import replace

from fdbcore.measures import MEASURES, answers, overlaps, stop_share
from fdbcore.report import TERMS as GLOSSARY
from fdbcore.report import in_words, shown_unit
from fdbcore.suites.staged.cases import BY_CHANCE, PLANTED, TIMING
from fdbcore.suites.staged.goals import FLOORS
from fdbcore.types import TurnSettings
from fdbcore.types.scorecard import DETECTABLE, Scale

_DIRECTIONS: Final[dict[str | None, Literal[-1, 0, 1]]] = {"more": 1, "less": -1, None: 0}


def _catalogued(name: str, label: str = "", part: str = "") -> Scale:
    """A measure that runs are compared by as a scale; one with a label is of what the examiner planted."""
    of = MEASURES[name]
    unit, decimals = {"share": ("", 2), "ms": ("ms", 0)}.get(of.unit, (shown_unit(of.shown_in), 1))
    planted: Literal[-1, 1] = 1 if name in (stop_share("interruption"), "b_selectivity") else -1
    direction = planted if label else _DIRECTIONS[of.better]
    return Scale(name, label or of.headline, direction, unit, decimals, part=part or of.group.title)


def _with_chance(scales: Iterable[Scale]) -> Iterator[Scale]:
    """The scales, each followed by what a system that hears nothing has in it, where that is known."""
    beside = {name: scale for scale, name in BY_CHANCE.items()}
    for scale in scales:
        yield scale
        if scale.id in beside:
            yield replace(scale, id=beside[scale.id], label=f"{scale.label}, by chance", direction=0)


def _compared(name: str, label: str, low: float, high: float) -> Scale:
    """A measure that systems and pacings are compared by."""
    return Scale(name, label, 1, decimals=2, main=True, bounds=(low, high), compared=True)


SCALES: Final = (
    _compared("turn_taking", "turn-taking", 1, 5),
    _compared("instruction_following", "instruction following", 1, 5),
    _compared("task_score", "task score", 1, 5),
    Scale("turn_taking_worst", "turn-taking", 1, decimals=2, part="unscored at worst"),
    Scale("instruction_following_worst", "instruction following", 1, decimals=2, part="unscored at worst"),
    Scale("turn_taking_75_s", "turn-taking to 75 s", 1, decimals=2, part="first five bins"),
    Scale("instruction_following_75_s", "instruction following to 75 s", 1, decimals=2, part="first five bins"),
    _compared("goals_met", "goals met", 0, 1),
    _compared("timing", "timing score", 0, 1),
    Scale("all_goals_met", "all goals met", 1, decimals=2, part="goals"),
    Scale("wordings", "wordings a goal", -1, decimals=2, part="goals"),
    Scale("probes", "probes a goal", -1, decimals=2, part="goals"),
    Scale("goal_s", "time a goal", -1, "s", 1, part="goals"),
    Scale("answer_ms", "answer time", -1, "ms", 0, part=answers.GROUP.title),
    *(_catalogued(name) for name in TIMING if MEASURES[name].group is answers.GROUP),
    Scale("talked_over", "talked over", -1, decimals=2, part=overlaps.GROUP.title),
    *_with_chance(_catalogued(name) for name in TIMING if MEASURES[name].group is not answers.GROUP),
    *_with_chance(_catalogued(name, label, "What the examiner planted") for name, label in PLANTED.items()),
)
COMPARED: Final = {scale.id: scale.bounds or (0.0, 1.0) for scale in SCALES if scale.compared}
"""The measures by which systems and pacings are compared, each with the least and the most that it can be."""
LABELS: Final = {scale.id: scale.label for scale in SCALES if not scale.id.endswith(("_worst", "_75_s"))}
FAMILIES_MEAN: Final = "mean of families"
EVENTS_MEAN: Final = "mean of events"
TERMS: Final = {
    "turn-taking": "A judge's mark of every event, 1 to 5: how smoothly the system took, kept and left the floor.",
    "instruction following": "A judge's mark of every event, 1 to 5: how well it does what was asked so far.",
    "task score": "A judge's score of the dialogue, 1 to 5, by the rubric of its family; daily dialogues have none.",
    "goals met": "Share of a scenario's goals after which the system had said what shows that the goal is met. Where a "
    "program decides this by words, goals that a reciter meets are left out; a scenario without others has no score.",
    "all goals met": "The same share of all goals.",
    **{floor: f"No system: what one would have that {does}." for floor, does in FLOORS.items()},
    "timing score": "0 to 1, over all opportunities of the system: an answer scores 1 from 0.5 to 2 s, 0 at -0.5 "
    "and at 3.5 s; no answer scores 0; one that cuts off at most 0.5, from where "
    "the examiner would have ended; yielding scores 1 at once and 0 after 2 s "
    "(after EVA-Bench, arXiv 2605.13841).",
    "to 75 s": "The mean of a dialogue's first five bins of 15 s, as published tables have it; an event with both "
    "marks counts in each bin by the seconds of it in that bin.",
    "wordings a goal": "How often the examiner had to say it: 1 is the least.",
    "probes a goal": "How often the scripted examiner then had to ask for what was missing.",
    "time a goal": "From its first wording to the examiner's decision.",
    "answer time": "Median from the end of the examiner's turn to the system's first sound.",
    "talked over": "Share of what the examiner said for goals that it broke off, because the system began in it.",
    **{name: in_words(GLOSSARY[name], TurnSettings()) for name in ("A and B", "Opportunity")},
    **{MEASURES[name].headline: in_words(MEASURES[name].meaning, TurnSettings()) for name in TIMING},
    **{label: in_words(MEASURES[name].meaning, TurnSettings()) for name, label in PLANTED.items()},
    **{
        f"{label}, by chance": "What a system that hears nothing has there: so often its own pauses look like a stop."
        for label in (MEASURES["b_stopped_within_2s_per_long_a_onset"].headline, *list(PLANTED.values())[:2])
    },
    "unscored at worst": "The mean with 1 in place of every mark that is missing.",
    EVENTS_MEAN: "The mean over all events of all dialogues; one with many events weighs more.",
    FAMILIES_MEAN: "The mean over families of their means: each family that has the score counts the same.",
    "95 % interval": "Bootstrap over scenarios, and over the trials of each. There is none of a single scenario, "
    "and where all are alike.",
    "SD": "The standard deviation of single dialogues.",
    "p": "How often a difference as large would come about by chance: the sign of each pair's difference is flipped at "
    "random. A pair is a scenario that both have. Of n pairs p is at least 2 / 2^n.",
    "Holm": "p, corrected for the number of comparisons (Holm 1979): pairs of systems and of pacings, in each score.",
    DETECTABLE: "The least true difference that so many pairs find four times in five, by a t test without the "
    "correction. None where p cannot fall below 0.05.",
    "pass": "How many dialogues pass by the rule that stands above the table (--passes).",
    "pass@k": "The chance that at least one of k trials of a scenario passes (arXiv 2107.03374).",
    "pass^k": "The chance that all of k trials of a scenario pass (arXiv 2406.12045).",
    "slope a minute": "How much the score changes in a minute of a call, by a line through its bins of 15 s.",
    "by goal": "Means of the first goal, the second, ..., with each scenario's own mean taken out, so that those that "
    "end early do not bend the curve.",
    "silent": "Dialogues in which the system said nothing. They count.",
    "only echo of the examiner": "Dialogues in which all that was heard of the system is echo. They count.",
    "scored in part": "Dialogues that are scored, but for what needs words or marks that are missing.",
}
