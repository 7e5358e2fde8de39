"""The rules of TurnBench's scorer (arXiv 2608.25218; its README and submission format), written anew and simply.

A dialogue is drawn as the annotators would label it. What needs several annotators, agreement and excluded intervals,
is left out: drawn labels are certain.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias

BEFORE_S = 0.25
"""How much earlier than a boundary an event may come: the tolerance of the annotation, and as much before a pause."""
DEADLINE_S = 3.0
Speaker: TypeAlias = Literal["speaker_1", "speaker_2"]
SPEAKERS: tuple[Speaker, Speaker] = ("speaker_1", "speaker_2")
TASKS = ("eot", "interruption")


@dataclass(frozen=True)
class Segment:
    """What a speaker says, as an annotator labels it; an interruption is one that takes the floor."""

    speaker: Speaker
    kind: Literal["turn", "interruption", "backchannel"]
    start_s: float
    end_s: float


@dataclass
class Gold:
    """Of a task, per speaker: the moments at which an event belongs, and the spans in which none does."""

    moments: dict[Speaker, list[float]] = field(default_factory=lambda: {each: [] for each in SPEAKERS})
    spans: dict[Speaker, list[tuple[float, float]]] = field(default_factory=lambda: {each: [] for each in SPEAKERS})


@dataclass(frozen=True)
class TaskFigures:
    found: int
    missed: int
    false: int
    quiet: int
    latencies_s: Sequence[float]


def problems(submission: Mapping[str, Any], lengths_s: Mapping[str, float]) -> list[str]:
    """What the validation of a submission would refuse. lengths_s: of each conversation, by its id."""
    found = [] if submission.keys() == {"schema_version", "predictions"} else ["keys of the submission"]
    found += [] if submission["schema_version"] == 1 else ["schema_version"]
    ids = [each["conversation_id"] for each in submission["predictions"]]
    found += [] if sorted(ids) == sorted(lengths_s) else [f"conversations {ids}"]
    for each in submission["predictions"]:
        found += [] if each.keys() == {"conversation_id", *SPEAKERS} else [f"keys of {each['conversation_id']}"]
        for speaker in SPEAKERS:
            found += [] if each[speaker].keys() == {*TASKS} else [f"keys of {speaker}"]
            for task in TASKS:
                times = each[speaker][task]
                in_order = all(a < b for a, b in pairwise(times))
                inside = all(
                    isinstance(t, float) and math.isfinite(t) and 0 <= t <= lengths_s[each["conversation_id"]]
                    for t in times
                )
                found += [] if in_order and inside else [f"{each['conversation_id']} {speaker} {task}: {times}"]
    return found


def gold(segments: Sequence[Segment]) -> Mapping[str, Gold]:
    """What the labels ask for, by task."""
    eot, interruption = Gold(), Gold()
    for speaker in SPEAKERS:
        own = sorted((s for s in segments if s.speaker == speaker and s.kind != "backchannel"), key=lambda s: s.start_s)
        others = [s for s in segments if s.speaker != speaker and s.kind != "backchannel"]
        for number, segment in enumerate(own):
            resumes_s = own[number + 1].start_s if number + 1 < len(own) else math.inf
            passes = any(s.start_s < resumes_s and s.end_s > segment.end_s for s in others)
            if passes or math.isinf(resumes_s):
                eot.moments[speaker].append(segment.end_s)
                continue
            listens = (s.start_s for s in segments if s.speaker == speaker and s.kind == "backchannel")
            end_s = min([resumes_s, *(start_s for start_s in listens if start_s >= segment.end_s)])
            eot.spans[speaker].append((segment.end_s, end_s))
        interruption.moments[speaker] = [s.start_s for s in own if s.kind == "interruption"]
        interruption.spans[speaker] = [
            (s.start_s, s.end_s) for s in segments if s.speaker == speaker and s.kind == "backchannel"
        ]
    return {"eot": eot, "interruption": interruption}


def scored(prediction: Mapping[str, Any], segments: Sequence[Segment]) -> Mapping[str, TaskFigures]:
    """The figures of a conversation, by task."""
    return {
        task: _scored({each: prediction[each][task] for each in SPEAKERS}, of) for task, of in gold(segments).items()
    }


def _scored(times: Mapping[Speaker, Sequence[float]], wanted: Gold) -> TaskFigures:
    found = missed = false = quiet = 0
    latencies_s: list[float] = []
    for speaker in SPEAKERS:
        left = list(times[speaker])
        windows: list[tuple[float, float]] = []
        for moment, following in pairwise([*sorted(wanted.moments[speaker]), math.inf]):
            windows.append((moment - BEFORE_S, min(moment + DEADLINE_S, following)))
            fitting = [time for time in left if windows[-1][0] <= time <= windows[-1][1]]
            if fitting:
                left.remove(fitting[0])
                found += 1
                latencies_s.append(fitting[0] - moment)
            else:
                missed += 1
        stray = [time for time in left if not any(start <= time <= end for start, end in windows)]
        for start_s, end_s in wanted.spans[speaker]:
            fires = any(start_s - BEFORE_S <= time <= end_s for time in stray)
            false, quiet = false + fires, quiet + (not fires)
    return TaskFigures(found, missed, false, quiet, latencies_s)
