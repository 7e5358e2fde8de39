"""Labelling replies with their dialogue acts by a language model: the annotator of the benchmark (section 4.1).

    model = registry.model("gemini:gemini-2.5-flash")
    annotated = annotate([*responses, *references(records)], records, model, out / "replies.jsonl", repeats=3, jobs=8)
    annotated.responses    as given, each with an Annotation more per repeat (annotator: the model's name)
    annotated.problems     what is unscored, and why
    annotated.usage        tokens

Every answer is kept in the file as it comes (`fdbcore.models.cache`), so a run that was killed goes on there, and one
that is complete needs no key. What an earlier run could not use in the end is asked once more.

Which model annotates which set is as the user says, or else whoever made the set.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, TypedDict

from msgspec import Meta

from fdbcore.errors import SettingsError
from fdbcore.models import KeptModel, Usage, price_usd
from fdbcore.protocols import Model
from fdbcore.registry import model
from fdbcore.report import counted, usd_text
from fdbcore.runtime import is_local
from fdbcore.suites.dialogue_acts.models.asking import KEPT, Bad, Good, Left, ScoringJob, ask_for, in_order, parse_json
from fdbcore.suites.dialogue_acts.models.prompts import Prompts
from fdbcore.suites.dialogue_acts.records import REFERENCE, Annotation, Record, Response, parse_steps
from fdbcore.suites.dialogue_acts.scoring.scores import annotated_by, without
from fdbcore.suites.dialogue_acts.sets import RecordSet, check_locale, own_responses, owners, rules_of, without_response
from fdbcore.types import Problem, Request
from fdbcore.types.usage import ModelUsage, Unit


@dataclass(frozen=True, slots=True)
class Labelling:
    """The result of `annotate`. problems: where ("ID, SYSTEM, ANNOTATOR, repeat K") and why an annotation is missing.

    asked_again: how many texts were asked about once more, as the kept answers about them cannot be used.
    """

    responses: tuple[Response, ...]
    problems: tuple[Problem, ...]
    usage: Usage
    asked_again: int = 0

    @property
    def told(self) -> list[str]:
        """The number of texts that were asked about again, in words, if any."""
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
    responses: Sequence[Response], records: Mapping[str, Record], prompts: Prompts, repeats: int
) -> list[Request]:
    """The requests of `annotate` to a model about these replies, but for what it asks again."""
    texts = dict.fromkeys(text for _, _, text in _texts(responses, records, repeats))
    return [_request(prompts, text, 0) for text in texts]


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
) -> Labelling:
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
    return Labelling(tuple(labelled), tuple(problems), usage, len(again))


def _texts(
    responses: Sequence[Response], records: Mapping[str, Record], repeats: int
) -> Iterable[tuple[int, int, _Text]]:
    for index, response in enumerate(responses):
        record = records.get(response.id)
        if record is not None and response.text is not None and response.text.strip():
            for repeat in range(1, repeats + 1):
                yield index, repeat, _Text(record.background, record.user_text, response.text, repeat)


def _label(prompts: Prompts, kept: KeptModel, text: _Text, seed: int, again: list[_Text]) -> Good[Annotation] | Bad:
    """The label of a text. again: gets the text if it is asked about once more, as an earlier run could not use it."""
    request = _request(prompts, text, seed)

    def check(answer: str) -> Annotation:
        steps, scaled_from = parse_steps(parse_json(answer), tags=prompts.tags)
        return Annotation(kept.name, steps, text.repeat, scaled_from, prompts.annotation_hash)

    label = ask_for(kept, prompts, request, check)
    if isinstance(label, Bad) and label.request is not None and kept.ask_anew(label.request):
        again.append(text)
        label = ask_for(kept, prompts, request, check)
    return label


def _request(prompts: Prompts, text: _Text, seed: int) -> Request:
    return prompts.annotation_request(text.background, text.user, text.reply, seed + text.repeat)


class Annotating(NamedTuple):
    """A set, who annotates the replies to it, and by what prompts."""

    set: RecordSet
    model: Model
    prompts: Prompts


def by_set(job: ScoringJob, sets: Sequence[RecordSet], responses: Sequence[Response]) -> Iterator[Annotating]:
    """Each set with each of its annotators: its own, else those of every set, else whoever made it.

    By the options, `prompts` is the folder of these, None for those of the set; `locale` is expected of every set.
    Whoever made a set is asked only if no reply to it is annotated. SettingsError for the name of a set that is not
    there, for prompts or a locale that do not fit a set (see `rules_of`), and for a set that was made at a server whose
    address is not known.
    """
    there, chosen = [of.name for of in sets], job.annotators
    for one in chosen:
        if one.set and one.set not in there:
            raise SettingsError(f"--annotator {one.set}=...: expected one of the sets {', '.join(there)}")
    for of in sets:
        check_locale(of, job.options["locale"])
        own = [one.model for one in chosen if one.set == of.name] or [one.model for one in chosen if not one.set]
        for annotator in own or _maker(of, own_responses(of, sets, responses)):
            yield Annotating(of, annotator, rules_of(of, job.options["prompts"]))


def to_annotate(
    task: Annotating, sets: Sequence[RecordSet], responses: Sequence[Response], repeats: int
) -> tuple[list[Response], list[bool]]:
    """The responses and the reference texts of a set, and which of them a model has yet to label by these prompts."""
    of, annotator, prompts = task
    unread = without_response(of.records.values(), own_responses(of, sets, responses), REFERENCE)
    asked = [*responses, *references(unread, of.name)]
    rules = prompts.annotation_hash
    return asked, [owners(sets, r) == [of] and not annotated_by(r, annotator.name, repeats, rules) for r in asked]


def annotate_set(
    task: Annotating, sets: Sequence[RecordSet], responses: Sequence[Response], job: ScoringJob
) -> tuple[list[Response], Labelling]:
    """The responses and the reference texts of a set, with annotations of a model, and how these were made.

    Its earlier ones by the same prompts are kept, those by others replaced. Responses that belong to no set, or to
    several, are not scored, and so not annotated.
    """
    of, annotator, prompts = task
    asked, open_ones = to_annotate(task, sets, responses, job.options["repeats"])
    found = annotate(
        [without(r, annotator.name) for r, is_open in zip(asked, open_ones, strict=True) if is_open],
        of.records.values(),
        annotator,
        job.out / KEPT,
        repeats=job.options["repeats"],
        jobs=job.jobs,
        prompts=prompts,
        watch=lambda count, most: job.show(f"{annotator.name}: {count} of {most} replies annotated"),
    )
    labelled = iter(found.responses)
    merged = [next(labelled) if is_open else r for r, is_open in zip(asked, open_ones, strict=True)]
    return merged, found


class AnnotatedWith(TypedDict):
    """The prompts of a model that annotated the replies to a set, and what that took, be it asked now or earlier."""

    set: str
    annotator: str
    locale: str
    acts: Annotated[str, Meta(description="hash of the rules of the acts")]
    rules: Annotated[str, Meta(description="hash of all that the model was told beside what it annotates")]
    server: str | None
    sdk: str | None
    models: Annotated[dict[str, int], Meta(description="answers by exact version")]
    answers: int
    refusals: int
    tokens_in: int
    tokens_out: int
    usd: Annotated[float | None, Meta(description="at list prices; null where they are not known")]


def annotated_with(task: Annotating, usage: Usage) -> AnnotatedWith:
    """The annotator of a set, its prompts, and what that took, be it asked now or earlier."""
    about = task.model.describe()
    counts: dict[Unit, float] = {"text_in_tokens": usage.tokens_in, "text_out_tokens": usage.tokens_out}
    (service,) = task.model.services()
    price = price_usd(ModelUsage(service.vendor, service.model, counts))
    return {
        "set": task.set.name,
        "annotator": task.model.name,
        "locale": task.prompts.locale,
        "acts": task.prompts.acts_hash,
        "rules": task.prompts.annotation_hash,
        "server": about.get("server"),
        "sdk": about.get("sdk"),
        "models": dict(usage.models),
        "answers": usage.replies,
        "refusals": usage.refusals,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "usd": 0.0 if is_local(service.host) else price,
    }


def annotation_took(one: AnnotatedWith) -> str:
    """The cost of annotating a set, in a sentence."""
    usd = "unpriced" if one["usd"] is None else usd_text(one["usd"])
    versions = ", ".join(one["models"]) or one["annotator"]
    return (
        f"{one['set']}: {counted(one['answers'], 'answer')} of {versions} by rules {one['rules']}: "
        f"{one['tokens_in']:,} tokens in, {one['tokens_out']:,} out, {usd}"
    )


def all_took(used: Sequence[AnnotatedWith]) -> list[str]:
    """The cost of annotating: a sentence a set, and the sum if there are several sets."""
    told = [annotation_took(one) for one in used]
    if len(used) < 2:
        return told
    tokens_in, tokens_out = (sum(one[way] for one in used) for way in ("tokens_in", "tokens_out"))
    priced = [one["usd"] for one in used if one["usd"] is not None]
    usd = usd_text(sum(priced)) if priced else "unpriced"
    unpriced = f", without {len(used) - len(priced)} unpriced" if 0 < len(priced) < len(used) else ""
    answers = counted(sum(one["answers"] for one in used), "answer")
    return [*told, f"in all {answers}: {tokens_in:,} tokens in, {tokens_out:,} out, {usd}{unpriced}"]


def _maker(of: RecordSet, responses: Sequence[Response]) -> list[Model]:
    """The model that made a set, if some reply to it is there and none is annotated."""
    replies = [response for response in responses if response.system != REFERENCE]
    if not of.made or not replies or any(reply.annotations for reply in replies):
        return []
    name, server = of.made["model"], of.made["server"]
    maker = model(name)
    if maker.describe().get("server") != server:
        raise SettingsError(
            f"{of.name}: expected its annotator, as it was made at {server}: "
            f"--annotator '{of.name}={name}?base_url=...&key_variable=...'"
        )
    return [maker]
