"""Sets of records, the form in which they are scored, and which response belongs to which."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from fdbcore.errors import FdbError, InputError, SettingsError
from fdbcore.recording import located, read_json, read_plan
from fdbcore.suites.dialogue_acts.models.prompts import Prompts, folder_of
from fdbcore.suites.dialogue_acts.records import (
    REFERENCE,
    Annotation,
    Lost,
    Record,
    Reference,
    Response,
    Step,
    read_records,
)
from fdbcore.suites.dialogue_acts.tag_sets import DATA, TagSet, paper_acts, tags_in
from fdbcore.types import Problem

RECORDS: Final = "records.jsonl"
PROMPTS: Final = "prompts"
GENERATED: Final = "generate.json"
GENERATED_SCHEMA: Final = "fdbcore.generate/1"
SHIPPED: Final = DATA / "smoke"
"""The set that ships: records, and authored responses of two systems and of the ceiling with their annotations."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordSet:
    """Records under one name, by id. made: the settings that a model made them with; empty if none did.

    prompts: the folder with prompts of their own; None without. tags: the acts that they are labelled with.
    """

    name: str
    records: dict[str, Record]
    made: Mapping[str, Any] = field(default_factory=dict)
    prompts: Path | None = None
    tags: TagSet = field(default_factory=paper_acts)

    @property
    def locale(self) -> str:
        """The locale of the records. InputError if they have several."""
        return locale_of(self.records.values())

    @property
    def clusters(self) -> list[int] | None:
        """The cluster of each record, from 0: turns of one recorded user are one. None if every record stands alone."""
        users = [record.user for record in self.records.values()]
        numbers = {user: number for number, user in enumerate(dict.fromkeys(users))}
        return [numbers[user] for user in users] if any(users) else None

    @property
    def merged(self) -> "RecordSet":
        """The set with the acts of its references merged; see `merged`."""
        return self._with_references(
            lambda ones: [replace(one, annotation=merged(one.annotation, one.text)) for one in ones]
        )

    @property
    def first_references(self) -> "RecordSet":
        """The set with only the first good reply of each record, as the paper has it."""
        return self._with_references(lambda ones: ones[:1])

    def _with_references(self, form: Callable[[Sequence[Reference]], Iterable[Reference]]) -> "RecordSet":
        records = {id: replace(one, references=tuple(form(one.references))) for id, one in self.records.items()}
        return replace(self, records=records)


@dataclass(frozen=True, slots=True)
class Answers:
    """The replies of one system to the records of one set, by id: the trials of each record."""

    set: RecordSet
    system: str
    responses: dict[str, list[Response]]

    @property
    def replies(self) -> list[Response]:
        """All replies, also of several trials."""
        return [reply for trials in self.responses.values() for reply in trials]

    @property
    def has_trials(self) -> bool:
        """True if the system replied to some record several times."""
        return any(reply.trial > 1 for reply in self.replies)


def read_sets(
    paths: Sequence[Path], as_given: bool = False, names: Mapping[Path, str] | None = None, prompts: Path | None = None
) -> tuple[list[RecordSet], list[Problem]]:
    """The set in each file (in a folder: in its records.jsonl), and what is wrong with their lines.

    prompts: the folder with the tag set of all; None: each set's own. names: of some sets, by file. Any other has the
    name of its file; if that is records.jsonl, the name of its folder. SettingsError if two have one name, or other
    acts than the first.
    """
    sets, problems = [], []
    for path in paths:
        file = path / RECORDS if path.is_dir() else path
        tags = tags_in(prompts or prompts_in(file.parent))
        records, found = read_records(file, as_given, tags)
        by_place = file.resolve().parent.name if file.name == RECORDS else file.stem
        name = (names or {}).get(path, by_place)
        sets.append(
            RecordSet(
                name,
                {record.id: record for record in records},
                generated(file.parent)["settings"],
                prompts_in(file.parent),
                tags,
            )
        )
        problems += found
        if tags != sets[0].tags:
            raise SettingsError(
                f"{file}: expected acts of {sets[0].tags.name!r} as in the first set, got {tags.name!r}"
            )
    for name, count in Counter(of.name for of in sets).items():
        if count > 1:
            raise SettingsError(f"references: expected a name for each set, got {name!r} {count} times")
    return sets, problems


def records_in(folder: Path) -> tuple[list[Record], list[Problem]]:
    """The records in the folder of a set or a run, and what is wrong with their lines; see `read_records`."""
    return read_records(folder / RECORDS, tags=tags_in(prompts_in(folder)))


def locale_of(records: Iterable[Record]) -> str:
    """The locale of the records of a set. InputError if they have several."""
    found = list(dict.fromkeys(record.locale for record in records))
    if len(found) > 1:
        raise InputError(f"expected records in one locale, got {', '.join(found)}")
    return found[0]


def check_locale(of: RecordSet, locale: str | None) -> None:
    """SettingsError if the user names another locale than that of a set."""
    if locale not in (None, of.locale):
        raise SettingsError(f"--locale: expected that of the records of {of.name}, {of.locale}, got {locale}")


def rules_of(of: RecordSet, folder: Path | None) -> Prompts:
    """The prompts for replies to a set and for their annotation: those of the folder, or else those kept with the set.

    SettingsError if the set has other rules of the acts: those that it was made by, or that are kept with it.
    """
    own = Prompts(of.locale, of.prompts)
    prompts = own if folder is None else Prompts(of.locale, folder_of(folder))
    kept = own.acts_hash if folder is not None and of.prompts is not None else None
    made, here = of.made.get("acts", kept), prompts.acts_hash
    if made not in (None, here):
        raise SettingsError(
            f"{of.name}: expected the rules of the acts that it was made by ({made}), got others ({here}): "
            f"--prompts DIR names the folder with acts.{of.locale.partition('-')[0]}.txt"
        )
    return prompts


def prompts_in(folder: Path) -> Path | None:
    """The prompts that are kept in the folder of a set or a run; None if there are none."""
    return folder / PROMPTS if (folder / PROMPTS).is_dir() else None


def generated(folder: Path) -> Mapping[str, Any]:
    """The note of `fdbcore dataset generate` on a set in its folder, or in a run that keeps it; empty without."""
    path = folder / GENERATED
    there: Mapping[str, Any] = read_json(path) if path.is_file() else {"schema": GENERATED_SCHEMA, "settings": {}}
    if there.get("schema") != GENERATED_SCHEMA:
        raise SettingsError(f"{path}: expected schema {GENERATED_SCHEMA}, got {there.get('schema')!r}")
    return there


def sets_of_runs(runs: Iterable[Path]) -> dict[Path, str]:
    """The names of the sets that runs were made with, by the records.jsonl that each run keeps.

    Runs of the same records share a set. It has the name of the folder that its first run took it from; if there are
    several of that name, each has the name of its first run. The shipped set has its own name.
    """
    texts = {run: (run / RECORDS).read_bytes() for run in runs if (run / RECORDS).is_file()}
    first = {text: run for run, text in reversed(texts.items())}
    shipped = (SHIPPED / RECORDS).read_bytes()
    names = {text: SHIPPED.name if text == shipped else _origin(run) for text, run in first.items()}
    several = Counter(names.values())
    return {
        run / RECORDS: names[text] if several[names[text]] == 1 else first[text].resolve().name
        for run, text in texts.items()
    }


def _origin(run: Path) -> str:
    """The name of the folder of data that a run was made with; that of the run if it does not say."""
    try:
        suite = read_plan(run)["plan"].get("suite")
    except FdbError:
        suite = None
    return located(run, suite["data"]).name if suite else run.resolve().name


def owners(sets: Sequence[RecordSet], response: Response) -> list[RecordSet]:
    """The sets that a response may belong to: that which it names, if it is there; else all that have its id."""
    named = [of for of in sets if of.name == response.set]
    return [of for of in named or sets if response.id in of.records]


def own_responses(of: RecordSet, sets: Sequence[RecordSet], responses: Iterable[Response]) -> list[Response]:
    """The responses that belong to the set `of`, and to no other."""
    return [response for response in responses if owners(sets, response) == [of]]


def without_response(records: Iterable[Record], responses: Iterable[Response], system: str) -> list[Record]:
    """The records to which a system has no response."""
    there = {response.id for response in responses if response.system == system}
    return [record for record in records if record.id not in there]


def matched(
    sets: Sequence[RecordSet], responses: Iterable[Response], before: Iterable[Problem] = ()
) -> tuple[list[Answers], list[Problem]]:
    """The responses by set and system, and the responses and records that are left out.

    A response belongs to the set that it names, or else to that which has its id. If no set or several sets have it, it
    is left out. If a system answered some records of a set, each record without a response is named, unless that is
    already among `before`.
    """
    found: dict[tuple[str, str], Answers] = {}
    problems = []
    for response in responses:
        homes = owners(sets, response)
        if len(homes) != 1:
            names = " and ".join(of.name for of in homes)
            reason = f"expected a response to a record, got id {response.id!r}, which no record has"
            if homes:
                expected = 'expected ids that tell the sets apart, or a set\'s name in "set"'
                reason = f"{expected}, got {response.id!r}, which is in {names}"
            problems.append(Problem(response.where or response.id, reason))
            continue
        answers = found.setdefault((homes[0].name, response.system), Answers(homes[0], response.system, {}))
        trials = answers.responses.setdefault(response.id, [])
        if again := [one for one in trials if one.trial == response.trial]:
            other = f" than that of {again[0].where}" if again[0].where else ""
            reason = f"expected one response of {response.system} to {response.id}, got another{other}"
            problems.append(Problem(response.where or response.id, reason))
            continue
        trials.append(response)
    order = {of.name: rank for rank, of in enumerate(sets)}
    by_set = sorted(found.values(), key=lambda answers: order[answers.set.name])
    lost = {problem.key for problem in before if isinstance(problem, Lost)}
    for answers in by_set:
        who = "the reference texts" if answers.system == REFERENCE else answers.system
        problems += [
            Problem(record.where or record.id, f"no response of {who}")
            for record in without_response(answers.set.records.values(), answers.replies, answers.system)
            if (record.id, answers.system) not in lost
        ]
    return by_set, problems


def merged(annotation: Annotation, text: str | None) -> Annotation:
    """The annotation with one step for neighbours of the same act, which has their importances, words and rationales.

    text: of the reply, in which the words lie.
    """
    runs = [list(steps) for _, steps in groupby(annotation.steps, lambda step: step.act)]
    return replace(annotation, steps=tuple(run[0] if len(run) == 1 else _joined(run, text or "") for run in runs))


def _joined(steps: Sequence[Step], text: str) -> Step:
    rationale = " ".join(filter(None, (step.rationale for step in steps)))
    quotes = [step.words for step in steps if step.words]
    words, start = " ".join(quotes), text.find(quotes[0]) if quotes else -1
    if start >= 0 and (last := text.find(quotes[-1], start)) >= 0:  # the text from the first to the last
        words = text[start : last + len(quotes[-1])]
    return Step(steps[0].act, sum(step.importance for step in steps), words, rationale=rationale)


def merged_responses(responses: Iterable[Response]) -> list[Response]:
    """The responses with the acts of their annotations merged."""
    return [replace(one, annotations=tuple(merged(each, one.text) for each in one.annotations)) for one in responses]
