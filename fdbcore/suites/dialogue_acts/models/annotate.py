"""Labels replies with their dialogue acts by a language model: the annotator of the benchmark (section 4.1).

    model = registry.model("gemini:gemini-2.5-flash")
    annotated = annotate([*responses, *references(records)], records, model, out / "replies.jsonl", repeats=3, jobs=8)
    annotated.responses    as given, each with an Annotation more per repeat (annotator: the model's name)
    annotated.problems     what is unscored, and why
    annotated.usage        tokens

Every answer is kept in the file as it comes (`fdbcore.models.cache`), so a run that was killed goes on there, and one
that is complete needs no key. What an earlier run could not use in the end is asked once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fdbcore.models.cache import KeptModel, Usage
from fdbcore.protocols import Model
from fdbcore.report.format import counted
from fdbcore.suites.dialogue_acts.models.asking import Bad, Good, Left, ask_for, in_order
from fdbcore.suites.dialogue_acts.models.checks import parse_json
from fdbcore.suites.dialogue_acts.models.prompts import Prompts
from fdbcore.suites.dialogue_acts.records import REFERENCE, Annotation, Record, Response, parse_steps
from fdbcore.types import Problem, Request


@dataclass(frozen=True, slots=True)
class Annotated:
    """What `annotate` returns. problems: where ("ID, SYSTEM, ANNOTATOR, repeat K") and why an annotation is missing.

    asked_again: how many texts were asked about once more, as the kept answers about them cannot be used.
    """

    responses: tuple[Response, ...]
    problems: tuple[Problem, ...]
    usage: Usage
    asked_again: int = 0

    @property
    def told(self) -> list[str]:
        """How many texts were asked about again, in words, if any."""
        if not self.asked_again:
            return []
        return [f"{counted(self.asked_again, 'text')} asked about again: the kept answers cannot be used"]


class _Text(NamedTuple):
    """One reply to label. If several systems said the same to the same request, it is labelled once per repeat."""

    background: str
    user: str
    reply: str
    repeat: int


def references(records: Iterable[Record], of: str = "") -> list[Response]:
    """The first reference text of each record of the set named `of`, as a reply of the reserved system `reference`:
    labelled, it is the ceiling.
    """
    return [Response(record.id, REFERENCE, record.references[0].text, set=of) for record in records]


def first_requests(
    responses: Sequence[Response],
    records: Iterable[Record],
    prompts: Prompts,
    *,
    repeats: int = 1,
    seed: int = 0,
) -> list[Request]:
    """What `annotate` asks a model about these replies, but for what it asks again."""
    by_id = {record.id: record for record in records}
    texts = dict.fromkeys(text for _, _, text in _texts(responses, by_id, repeats))
    return [_request(prompts, text, seed) for text in texts]


def annotate(
    responses: Sequence[Response],
    records: Iterable[Record],
    model: Model,
    kept_in: Path,
    *,
    repeats: int = 1,
    jobs: int = 1,
    seed: int = 0,
    prompts: Prompts | None = None,
    watch: Callable[[int, int], None] = lambda done, of: None,
) -> Annotated:
    """Label every reply `repeats` times, each time with another seed. Replies that are missing or blank stay as they
    are.

    If an answer cannot be used, the model is told what is wrong and asked again. If that fails too, the reply becomes a
    problem and is not scored. watch: called with how many texts are done, and how many there are. Raises PartyError if
    the model cannot be reached, and RecordingError if kept_in cannot be written; answers received before that are kept.
    """
    prompts = Prompts() if prompts is None else prompts
    by_id = {record.id: record for record in records}
    texts = {(index, repeat): text for index, repeat, text in _texts(responses, by_id, repeats)}
    distinct = list(dict.fromkeys(texts.values()))
    again: list[_Text] = []
    with KeptModel(model, kept_in) as kept:
        tasks = [partial(_label, prompts, kept, text, seed, again) for text in distinct]
        labels: dict[_Text, Good[Annotation] | Bad | Left] = {}
        with closing(in_order(tasks, jobs)) as found:
            for text, label in zip(distinct, found, strict=True):
                labels[text] = label
                watch(len(labels), len(distinct))
        usage = kept.usage
    labelled, problems = [], []
    for index, response in enumerate(responses):
        mine = {n: labels[texts[index, n]] for n in range(1, repeats + 1) if (index, n) in texts}
        new = [label.item for label in mine.values() if isinstance(label, Good)]
        labelled.append(replace(response, annotations=(*response.annotations, *new)))
        where = f"{response.id}, {response.system}, {model.name}"
        problems += [
            Problem(f"{where}, repeat {n}", bad.reason) for n, bad in mine.items() if not isinstance(bad, Good)
        ]
        if response.id not in by_id:
            problems.append(Problem(where, "expected a record of this id, found none"))
    return Annotated(tuple(labelled), tuple(problems), usage, len(again))


def _texts(responses: Sequence[Response], records: dict[str, Record], repeats: int) -> Iterable[tuple[int, int, _Text]]:
    for index, response in enumerate(responses):
        record = records.get(response.id)
        if record is not None and response.text is not None and response.text.strip():
            for repeat in range(1, repeats + 1):
                yield index, repeat, _Text(record.background, record.user_text, response.text, repeat)


def _label(prompts: Prompts, kept: KeptModel, text: _Text, seed: int, again: list[_Text]) -> Good[Annotation] | Bad:
    """The label of a text. again: gets the text if it is asked about once more, as an earlier run could not use it."""
    request = _request(prompts, text, seed)
    check = partial(_annotation, prompts=prompts, annotator=kept.name, repeat=text.repeat)
    label = ask_for(kept, prompts, request, check)
    if isinstance(label, Bad) and label.request is not None and kept.ask_anew(label.request):
        again.append(text)
        label = ask_for(kept, prompts, request, check)
    return label


def _request(prompts: Prompts, text: _Text, seed: int) -> Request:
    return prompts.annotation_request(text.background, text.user, text.reply, seed + text.repeat)


def _annotation(text: str, prompts: Prompts, annotator: str, repeat: int) -> Annotation:
    steps, scaled_from = parse_steps(parse_json(text), tags=prompts.tags)
    return Annotation(annotator, steps, repeat, scaled_from, prompts.annotation_hash)
