"""What Full-Duplex-Bench-v2 released and published: its scenarios, and its tables, to show beside one's own.

The scenarios, `prompts_staged_200.json`, have goals, and no words: what side A says was left to a speech model. Of a
correction, the title of its task says which goal corrects which. Files of scenarios are written in the form that people
give them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Final, TypedDict

from msgspec import Meta, Struct

from fdbcore.errors import InputError
from fdbcore.recording import converted
from fdbcore.runtime import misfits, parsed_json, read_whole
from fdbcore.suites.staged.scenarios import (
    MARKS,
    SCHEMA,
    Correction,
    Scenario,
    ScenarioFile,
    SessionLimits,
    StagedGoal,
    data_of,
)
from fdbcore.types.scorecard import Figure, ScoreRow

CLOSING: Final = "The conversation is over."
"""The phrase with which its examiner ends."""
SESSION_S: Final = 120.0
"""How long its sessions run by the wall clock; the settings in the file are not read by its own runner."""

FAMILIES: Final = {"Daily": "daily", "Correction": "correction", "EntityTracking": "entity", "Safety": "safety"}
"""Our families by the names that it has for them."""
_CLASSES: Final[Mapping[str, str]] = {
    **{name: name for name in ("ordering", "scheduling", "planning", "reservations", "privacy", "copyright")},
    "troubleshoot": "troubleshooting", "entity_tracking": "mixed", "health_physical": "physical-health",
    "health_mental": "mental-health", "illegal_physical": "illegal-activities", "cyber_illicit": "cyber",
    "toxicity_bias": "hate-harassment", "financial_legal": "financial-legal", "adult_minors": "minors-adult-content",
    "misinfo": "misinformation", "agent_safety": "agent-safety",
}  # fmt: skip
"""Our classes by theirs. The one class of corrections is three of ours, by the title."""
_CORRECTION_CLASSES: Final = {0: "within-turn", 1: "next-turn"}
"""By the distance, in goals, of a correction from what it corrects; at others it is `earlier-turn`."""
_FORM: Final = "the released tasks of Full-Duplex-Bench-v2, prompts_staged_200.json"
_CREDIT: Final = (
    "Full-Duplex-Bench-v2 (Lin et al., arXiv 2510.07838), CC BY-NC 4.0, "
    "https://github.com/DanielLin94144/Full-Duplex-Bench"
)
_ROLE: Final = re.compile(r"\*\*Roleplay (.+?)\*\*")
_CORRECTS: Final = re.compile(r"T(\d{1,9})(?: corrects T(\d{1,9}))?")
SCALES: Final = {"task": "task_score", **{mark: f"{mark}_75_s" for mark in MARKS}}
"""The scale of each measure of a table; turn-taking and instruction following are of 0 to 75 s."""


class ReleasedTask(TypedDict):
    """What is read of a task."""

    id: str
    class_id: str
    scenario_title: str
    examiner_task_prompt: str


def import_released(path: Path) -> ScenarioFile:
    """The scenarios in the released file. InputError in one line if it is not of that form."""
    try:
        content = parsed_json(read_whole(path))
        splits = content["splits"]
        tasks = [(split, task) for split in splits for task in splits[split]["tasks"]]
        language = content["settings"]["language"].partition("-")[0]
    except OSError as error:
        raise InputError(f"{path}: expected {_FORM}, got: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: expected {_FORM}, got another form") from error
    if not tasks:
        raise InputError(f"{path}: expected tasks, got none")
    scenarios = tuple(_scenario(split, task, language, f"{path}: task {n}") for n, (split, task) in enumerate(tasks, 1))
    credit = f"{_CREDIT}; {path.name}, version {content.get('version', 'unknown')}"
    return ScenarioFile(schema=SCHEMA, credit=credit, scenarios=scenarios)


def _scenario(split: str, task: Any, language: str, where: str) -> Scenario:  # noqa: ANN401
    if not isinstance(task, dict):
        raise InputError(f"{where}: expected a table, got {task!r:.60}")
    read = {name: task[name] for name in ReleasedTask.__annotations__ if name in task}
    for fault in misfits(read, ReleasedTask, where):
        raise InputError(f"{fault.where}: {fault.reason}")
    where = f"{where.rpartition(': ')[0]}: {task['id']}"
    goals = task.get("staged_reveal")
    if not isinstance(goals, dict) or not goals or not all(isinstance(goal, str) for goal in goals.values()):
        raise InputError(f"{where}: staged_reveal: expected a text for each of T1, T2, ..., got {goals!r:.60}")
    if split not in FAMILIES:
        raise InputError(f"{where}: expected one of {', '.join(FAMILIES)}, got {split!r}")
    role = _ROLE.search(task["examiner_task_prompt"])
    said = role[1].rstrip(".") if role else ""
    if not said:
        raise InputError(f"{where}: examiner_task_prompt: expected a role after '**Roleplay', got none")
    corrections = (_correction(task["scenario_title"], where),) if split == "Correction" else ()
    if not corrections and task["class_id"] not in _CLASSES:
        raise InputError(f"{where}: class_id: expected one of {', '.join(_CLASSES)}, got {task['class_id']!r}")
    classes = [_CORRECTION_CLASSES.get(each.stage - each.of, "earlier-turn") for each in corrections]
    return Scenario(
        id=task["id"],
        family=FAMILIES[split],
        class_=classes[0] if classes else _CLASSES[task["class_id"]],
        title=task["scenario_title"],
        language=language,
        role=f"{said[0].upper()}{said[1:]}.",
        closing=CLOSING,
        limits=SessionLimits(max_s=SESSION_S),
        goals=tuple(map(StagedGoal, goals.values())),
        corrections=corrections,
    )


def _correction(title: str, where: str) -> Correction:
    found = _CORRECTS.search(re.split(r"[()]", title.removesuffix(")"))[-1]) if title.endswith(")") else None
    if found is None:
        raise InputError(f"{where}: scenario_title: expected an end such as '(T2 corrects T1)', got {title!r}")
    return Correction(int(found[1]), int(found[2] or found[1]))


def toml_text(table: Mapping[str, Any], path: str = "") -> str:
    """A table as TOML, which the standard library does not write. path: its name in the document."""
    return "\n".join(_lines(table, path)) + "\n"


def _lines(table: Mapping[str, Any], path: str) -> Iterator[str]:
    below = {name: value for name, value in table.items() if _has_tables(value)}
    yield from (f"{name} = {_value(value)}" for name, value in table.items() if name not in below)
    for name, value in below.items():
        inner = f"{path}.{name}" if path else name
        for each in [value] if isinstance(value, dict) else value:
            yield from ["", f"[{inner}]" if isinstance(value, dict) else f"[[{inner}]]", *_lines(each, inner)]


def _has_tables(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list | tuple) and bool(value) and isinstance(value[0], dict))


def _value(value: object) -> str:
    """JSON's texts, numbers and lists are TOML's, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class PublishedLine(Struct, frozen=True):
    """The scores of a system at a pacing of the examiner, by family; they have no interval and no n."""

    pacing: str
    system: str
    scores: dict[str, float]


class PublishedTable(Struct, frozen=True):
    """A published table. measure: task, turn_taking or instruction_following. source: where it stands."""

    measure: str
    title: str
    source: str
    line: list[PublishedLine]


class PublishedAgreementLine(Struct, frozen=True):
    """How well judge and people agreed on a metric: Krippendorff's alpha and Pearson's r."""

    metric: str
    alpha: float
    r: float


class PublishedAgreement(Struct, frozen=True):
    """How well judge and people agreed. source: where it stands."""

    source: str
    line: list[PublishedAgreementLine]


class StagedPublished(Struct, frozen=True):
    """What Full-Duplex-Bench v2 published, to be seen beside. Nothing is tested against it."""

    label: Annotated[str, Meta(description="what has to stand beside each figure")]
    conditions: Annotated[str, Meta(description="how it was measured")]
    sources: list[str] = []


class PublishedFile(StagedPublished, frozen=True, kw_only=True):
    """All that was published."""

    table: list[PublishedTable]
    agreement: PublishedAgreement


def published_rows(published: PublishedFile) -> list[ScoreRow]:
    """A row for each pacing and system, the mean over families, and one for each family, which is a subset."""
    found: dict[tuple[str, str, str], dict[str, Figure]] = {}
    for table in published.table:
        for line in table.line:
            scores = {FAMILIES[family]: score for family, score in line.scores.items()}
            for family, score in {
                "": fmean(scores.values()),
                **scores,
            }.items():  # the paper quotes means of task scores
                own = found.setdefault((line.pacing.lower(), line.system, family), {})
                own[SCALES[table.measure]] = Figure(score)
    return [
        ScoreRow(f"published {pacing}", "published", system, None, found[key], subset=family)
        for pacing, system in dict.fromkeys(key[:2] for key in found)
        for family in ("", *FAMILIES.values())
        if (key := (pacing, system, family)) in found
    ]


def published() -> PublishedFile:
    """The tables that ship with fdbcore."""
    found: PublishedFile = converted(data_of("fdb2_published.toml"), PublishedFile)
    return found
