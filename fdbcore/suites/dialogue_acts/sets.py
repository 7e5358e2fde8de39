"""Sets of records, and which response belongs to which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from fdbcore.errors import SettingsError
from fdbcore.suites.dialogue_acts.records import REFERENCE, Lost, Record, Response, read_records
from fdbcore.types import Problem

RECORDS: Final = "records.jsonl"
SHIPPED: Final = Path(str(files("fdbcore.suites.dialogue_acts"))) / "data" / "smoke"
"""The set that ships: records, and authored responses of two systems and of the ceiling with their annotations."""


@dataclass(frozen=True, slots=True)
class RecordSet:
    """Records under one name, by id."""

    name: str
    records: dict[str, Record]


@dataclass(frozen=True, slots=True)
class Answers:
    """The replies of one system to the records of one set, by id."""

    set: RecordSet
    system: str
    responses: dict[str, Response]


def read_sets(paths: Sequence[Path], as_given: bool = False) -> tuple[list[RecordSet], list[Problem]]:
    """The set in each file (in a folder: in its records.jsonl), and what is wrong with their lines.

    A set has the name of its file; if that is records.jsonl, the name of its folder. SettingsError if two have one
    name.
    """
    sets, problems = [], []
    for path in paths:
        file = path / RECORDS if path.is_dir() else path
        records, found = read_records(file, as_given)
        name = file.resolve().parent.name if file.name == RECORDS else file.stem
        sets.append(RecordSet(name, {record.id: record for record in records}))
        problems += found
    for name, count in Counter(of.name for of in sets).items():
        if count > 1:
            raise SettingsError(f"references: expected a name for each set, got {name!r} {count} times")
    return sets, problems


def by_id(sets: Sequence[RecordSet]) -> dict[str, Record]:
    """The records of all sets, without those whose id occurs in several sets: no response can be matched to them."""
    owners = Counter(id for of in sets for id in of.records)
    return {id: record for of in sets for id, record in of.records.items() if owners[id] == 1}


def without_response(records: Iterable[Record], responses: Iterable[Response], system: str) -> list[Record]:
    """The records to which a system has no response."""
    there = {response.id for response in responses if response.system == system}
    return [record for record in records if record.id not in there]


def matched(
    sets: Sequence[RecordSet], responses: Iterable[Response], before: Iterable[Problem] = ()
) -> tuple[list[Answers], list[Problem]]:
    """The responses by set and system, and the responses and records that are left out.

    A response belongs to the set that has its id. If no set or several sets have it, it is left out. If a system
    answered some records of a set, each record without a response is named, unless that is already among `before`.
    """
    found: dict[tuple[str, str], Answers] = {}
    problems = []
    for response in responses:
        owners = [of for of in sets if response.id in of.records]
        if len(owners) != 1:
            problems.append(Problem(response.where or response.id, _homeless(response, owners)))
            continue
        answers = found.setdefault((owners[0].name, response.system), Answers(owners[0], response.system, {}))
        if response.id in answers.responses:
            reason = f"expected one response of {response.system} to {response.id}, got another"
            problems.append(Problem(response.where or response.id, reason))
            continue
        answers.responses[response.id] = response
    order = {of.name: rank for rank, of in enumerate(sets)}
    by_set = sorted(found.values(), key=lambda answers: order[answers.set.name])
    lost = {problem.key for problem in before if isinstance(problem, Lost)}
    return by_set, problems + [problem for answers in by_set for problem in _missing(answers, lost)]


def _homeless(response: Response, owners: Sequence[RecordSet]) -> str:
    if not owners:
        return f"expected a response to a record, got id {response.id!r}, which no record has"
    names = " and ".join(of.name for of in owners)
    return f"expected ids that tell the sets apart, got {response.id!r}, which is in {names}"


def _missing(answers: Answers, lost: Container[tuple[str, str]]) -> list[Problem]:
    who = "the reference texts" if answers.system == REFERENCE else answers.system
    return [
        Problem(record.where or record.id, f"no response of {who}")
        for record in answers.set.records.values()
        if record.id not in answers.responses and (record.id, answers.system) not in lost
    ]
