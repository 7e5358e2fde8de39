"""Reads files of scenarios, and tells what is wrong with them, what they lack, and which repeat another.

Each fault is one line: the file, the scenario, the field, what was expected and found.

Those that Full-Duplex-Bench-v2 released, `prompts_staged_200.json`, have goals, and no words: what side A says was left
to a speech model. Of a correction, the title of its task says which goal corrects which. They are written in the form
that people give scenarios.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from msgspec import UNSET, to_builtins

from fdbcore.errors import InputError, nearest
from fdbcore.recording import converted
from fdbcore.runtime import misfits, parsed_json, read_whole, unexpected
from fdbcore.runtime.toml_values import toml_values
from fdbcore.suites.staged.scenarios import (
    SCHEMA,
    Correction,
    Family,
    Scenario,
    ScenarioFile,
    SessionLimits,
    StagedGoal,
    builtin_families,
    closings,
    family_faults,
)
from fdbcore.types import Problem

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""An id is part of file names."""
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")
UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Kana and Chinese characters: they stand for about half a word each."""
FEWEST_WORDS, MOST_WORDS = 8, 40
"""Words that one says in one go, at least and at most."""
_MOST_GROUPS: Final = 4
_KEY_AND_VALUE: Final = 2
NEAR: Final = 0.2
"""From this likeness on, two scenarios are near-duplicates; no two of our own reach half of it."""
FEWEST: Final = 10
"""So many sequences they share at least: of goals in a few words, phrases such as "confirm the time" are much."""
_WORDS: Final = 3
_CHARACTERS: Final = 6
"""The length of a sequence; that of Japanese and Chinese, whose words have no spaces between them, in characters."""
SCHEMA_FIELD: Final = b'"schema"'
"""JSON files with this field are of other suites; the released file has none."""
BUILTIN: Final[Mapping[str, str]] = {"builtin": "en", "builtin-ja": "ja"}
"""The sets that come with fdbcore: the folder of each."""

CLOSING: Final = "The conversation is over."
"""The phrase with which its examiner ends."""
SESSION_S: Final = 120.0
"""The length of its sessions by the wall clock; the settings in the file are not read by its own runner."""
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


def scenario_faults(scenario: Scenario, families: Mapping[str, Family], where: str) -> Iterator[Problem]:
    """The reasons why a scenario cannot be used. where: "FILE: ID"."""
    family = families.get(scenario.family)
    if not _ID.fullmatch(scenario.id):
        yield unexpected(f"{where}: id", "letters, digits, '.', '_' and '-'", scenario.id)
    if family is None:
        near = nearest(scenario.family, families)
        yield Problem(f"{where}: family", f"expected one of {', '.join(families)}, got {scenario.family!r}{near}")
    elif scenario.class_ not in family.class_titles:
        known = ", ".join(family.class_titles)
        near = nearest(scenario.class_, family.class_titles)
        yield Problem(f"{where}: class", f"expected one of {known}, got {scenario.class_!r}{near}")
    for language in scenario.languages:
        if not _LANGUAGE.fullmatch(language):
            yield unexpected(f"{where}: language", "a code of ISO 639-1 such as en", language)
    if not scenario.last_words:
        known = ", ".join(closings())
        yield Problem(f"{where}: closing", f"expected one, as the language is none of {known}; got none")
    limits = scenario.limits
    if limits.turns < len(scenario.goals):
        yield unexpected(f"{where}: limits: turns", f"{len(scenario.goals)} or more, one a goal", limits.turns)
    if limits.max_s <= 0:
        yield unexpected(f"{where}: limits: max_s", "more than 0", limits.max_s)
    for number, goal in enumerate(scenario.goals, 1):
        yield from _goal_faults(goal, f"{where}: goal {number}")
        if not goal.say and any(each.say for each in scenario.goals):
            yield Problem(f"{where}: goal {number}: say", "expected a text, as other goals have one, got none")
    yield from _part_faults(scenario, where)


def _goal_faults(goal: StagedGoal, where: str) -> Iterator[Problem]:
    if (goal.rephrase or goal.probe) and not goal.say:
        yield Problem(f"{where}: say", "expected a text beside rephrase and probe, got none")
    for text in goal.words:
        if goal.words.count(text) > 1:
            yield unexpected(where, "say, rephrase and probe in words of their own", text)
            break
    for number, pair in enumerate(goal.pairs, 1):
        if len(pair) != _KEY_AND_VALUE:
            yield unexpected(f"{where}: pairs {number}", "two groups, of a key and of its value", pair)
    groups = [
        *((f"heard {number}", group) for number, group in enumerate(goal.heard, 1)),
        ("unless", goal.unless),
        *((f"pairs {number}", group) for number, pair in enumerate(goal.pairs, 1) for group in pair),
    ]
    for name, group in groups:
        for phrase in group:
            if phrase != phrase.lower() or phrase != " ".join(phrase.split()) or not re.search(r"\w", phrase):
                yield unexpected(f"{where}: {name}", "words in lower case, with a space between them", phrase)


def _part_faults(scenario: Scenario, where: str) -> Iterator[Problem]:
    count = len(scenario.goals)
    for number, correction in enumerate(scenario.corrections, 1):
        place = f"{where}: correction {number}"
        if not 1 <= correction.stage <= count:
            yield unexpected(f"{place}: stage", f"1 to {count}", correction.stage)
        elif not 1 <= correction.of <= correction.stage:
            yield unexpected(f"{place}: of", f"1 to {correction.stage}", correction.of)
        if correction.after and correction.after == correction.before:
            yield unexpected(f"{place}: after", "another value than before", correction.after)
    for number, reference in enumerate(scenario.references, 1):
        place = f"{where}: reference {number}"
        if not 1 <= reference.stage <= count:
            yield unexpected(f"{place}: stage", f"1 to {count}", reference.stage)
            continue
        say = scenario.goals[reference.stage - 1].say
        if say and reference.says.casefold() not in say.casefold():
            yield unexpected(f"{place}: says", f"words in `say` of goal {reference.stage}", reference.says)
    if scenario.safety is not UNSET and scenario.safety.policy != scenario.class_:
        yield unexpected(f"{where}: safety: policy", f"the class, {scenario.class_}", scenario.safety.policy)


def lacks(scenario: Scenario, family: Family) -> Iterator[str]:
    """Things that a scenario without faults lacks, and what this means for its use."""
    if not scenario.has_words:
        yield "goals without say: a keyless examiner cannot play it"
    elif not all(goal.heard for goal in scenario.goals):
        yield "goals without heard: a keyless examiner cannot tell whether they are met"
    if not all(goal.met for goal in scenario.goals):
        yield "goals without met: a judge has the goal's text alone"
    if not all(correction.before and correction.after for correction in scenario.corrections):
        yield "corrections without before and after: a judge has the goals' texts alone"
    has = {"correction": scenario.corrections, "reference": scenario.references}
    for part in family.parts:
        if scenario.safety is UNSET if part == "safety" else not has[part]:
            yield f"no {part}, which scenarios of family {family.id} have"
    for number, goal in enumerate(scenario.goals, 1):
        if len(goal.heard) > _MOST_GROUPS:
            yield f"goal {number}: more than {_MOST_GROUPS} groups in heard: fair answers may be missed"
        if goal.say and not FEWEST_WORDS <= (words := word_count(goal.say)) <= MOST_WORDS:
            yield f"goal {number}: say: {words:.0f} words; {FEWEST_WORDS} to {MOST_WORDS} are natural in one go"


def word_count(text: str) -> float:
    """The words of a text; of Japanese and Chinese, two characters are taken for a word. Punctuation is none."""
    spaced = UNSPACED.sub(" ", text).split()
    return len(UNSPACED.findall(text)) / 2 + sum(bool(re.search(r"\w", word)) for word in spaced)


def by_reason(lacking: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each reason, with the ids that it applies to: (id, reason) of each."""
    ids: dict[str, list[str]] = {}
    for id_, reason in lacking:
        ids.setdefault(reason, []).append(id_)
    return [f"{_listed(found)}: {reason}" for reason, found in ids.items()]


def _listed(ids: Sequence[str], most: int = 3) -> str:
    return ", ".join(ids) if len(ids) <= most else f"{len(ids)} scenarios ({', '.join(ids[:most])}, ...)"


def near_duplicates(scenarios: Sequence[Scenario]) -> Iterator[tuple[Scenario, Scenario, float]]:
    """Scenarios of one language that are near-duplicates, with the share of the shorter one's sequences in both."""
    sequences = [_sequences(scenario) for scenario in scenarios]
    for (a, of_a), (b, of_b) in combinations(zip(scenarios, sequences, strict=True), 2):
        if a.language == b.language and of_a and of_b:
            n_shared = len(of_a & of_b)
            share = n_shared / min(len(of_a), len(of_b))
            if share >= NEAR and n_shared >= FEWEST:
                yield a, b, share


def _sequences(scenario: Scenario) -> set[tuple[str, ...]]:
    texts = [text for goal in scenario.goals for text in (goal.goal, *goal.words)]
    found = set()
    for text in (scenario.role, scenario.background, *texts):
        units = re.findall(rf"{UNSPACED.pattern}|\w+?(?={UNSPACED.pattern}|\b)", text.casefold())
        length = _CHARACTERS if UNSPACED.search(text) else _WORDS
        found |= {tuple(units[start : start + length]) for start in range(len(units) - length + 1)}
    return found


@dataclass(frozen=True, slots=True)
class ScenarioSet:
    """Scenarios, and families by id. own_families: those of their files. credits: whose scenarios they are."""

    scenarios: tuple[Scenario, ...]
    families: Mapping[str, Family]
    own_families: tuple[Family, ...]
    credits: tuple[str, ...]

    def only(self, wanted: Callable[[Scenario], bool]) -> "ScenarioSet":
        """The set with those scenarios alone."""
        return replace(self, scenarios=tuple(filter(wanted, self.scenarios)))

    def to_json(self) -> dict[str, Any]:
        """The set in the form of a file."""
        credit = "; ".join(self.credits)
        found = ScenarioFile(schema=SCHEMA, credit=credit, families=self.own_families, scenarios=self.scenarios)
        return cast("dict[str, Any]", to_builtins(found))


def read_set(*names: str) -> ScenarioSet:
    """The scenarios of "builtin", "builtin-ja", files, or folders of files. InputError for the first fault."""
    found, faults = look_at(names)
    if faults:
        more = f"; {len(faults) - 1} more: fdbcore scenarios validate {' '.join(names)}" if faults[1:] else ""
        raise InputError(f"{faults[0].where}: {faults[0].reason}{more}")
    return found


def holds_scenarios(path: Path) -> bool:
    """True if this names scenarios of staged dialogues, or the released file: JSON without a schema of ours."""
    if str(path) in BUILTIN or path.suffix == ".toml":
        return True
    if path.is_dir():
        return any(path.glob("*.toml"))
    try:
        return path.suffix == ".json" and SCHEMA_FIELD not in read_whole(path)
    except OSError:
        return False


def look_at(names: Sequence[str]) -> tuple[ScenarioSet, list[Problem]]:
    """All well-formed scenarios of these sets, and all faults. A family of one file is known in all."""
    faults: list[Problem] = []
    contents: dict[str, ScenarioFile] = {}
    for place, file in [each for name in names for each in _files(name)]:
        try:
            content = _content(file)
        except InputError as error:
            faults.append(Problem(place, str(error)))
            continue
        faults += misfits(content, ScenarioFile, place)
        contents[place] = _well_formed(content)
    families, own = dict(builtin_families()), list[Family]()
    for place, each in contents.items():
        for family in each.families:
            faults += family_faults(family, families, f"{place}: {family.id}")
            own.append(family)
            families.setdefault(family.id, family)
    placed = [(place, scenario) for place, each in contents.items() for scenario in each.scenarios]
    for place, scenario in placed:
        faults += scenario_faults(scenario, families, f"{place}: {scenario.id}")
    faults += _repeated(placed)
    credit = dict.fromkeys(each.credit for each in contents.values() if each.credit)
    return ScenarioSet(tuple(scenario for _, scenario in placed), families, tuple(own), tuple(credit)), faults


def _well_formed(content: Mapping[str, Any]) -> ScenarioFile:
    """The part of a file that keeps to the types: tables of scenarios and families that do not are left out."""
    kept = {"schema": SCHEMA, **{name: content[name] for name in ("credit",) if isinstance(content.get(name), str)}}
    for name, kind in (("family", Family), ("scenario", Scenario)):
        if isinstance(tables := content.get(name), list):
            kept[name] = [table for table in tables if not any(misfits(table, kind, ""))]
    found: ScenarioFile = converted(kept, ScenarioFile)
    return found


def _repeated(placed: Sequence[tuple[str, Scenario]]) -> Iterator[Problem]:
    """Ids that several scenarios of one language have: a twin in another language has the same one."""
    first: dict[tuple[str, str], str] = {}
    for place, scenario in placed:
        key = scenario.id, scenario.language
        if key in first:
            yield Problem(f"{place}: {scenario.id}: id", f"expected an id of its own, got that of one in {first[key]}")
        first.setdefault(key, place)


def _files(name: str) -> list[tuple[str, "Traversable"]]:
    """The files of a set with their names in messages, also of one that cannot be read. InputError for none."""
    if name in BUILTIN:
        folder: Traversable = files("fdbcore.suites.staged") / "data" / "scenarios" / BUILTIN[name]
        found = [folder / f"{family}.toml" for family in builtin_families()]
        return [(f"{name}: {file.name}", file) for file in found if file.is_file()]
    path = Path(name)
    if not path.is_dir():
        return [(name, path)]
    if not (inside := sorted(filter(Path.is_file, path.glob("*.toml")))):
        raise InputError(f"{name}: expected files of scenarios (*.toml), found none")
    return [(str(each), each) for each in inside]


def _content(file: "Traversable") -> dict[str, Any]:
    try:
        content = toml_values(read_whole(file).decode())
    except OSError as error:
        names = ", ".join(BUILTIN)
        raise InputError(f"expected a file of scenarios, or one of {names}, got: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or not TOML; the message names the line
        raise InputError(f"expected TOML in UTF-8, got: {error}") from error
    if content.get("schema") != SCHEMA:
        raise InputError(f'expected schema = "{SCHEMA}", got {content.get("schema", "none")!r}')
    return content


class ReleasedTask(TypedDict):
    """The part that is read of a task."""

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
