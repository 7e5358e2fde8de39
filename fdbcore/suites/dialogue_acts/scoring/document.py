"""The JSON document of scored responses: what `fdbcore score --json` prints, and what its page and screen show."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Annotated, Any, Final, Literal

import numpy as np
from msgspec import Meta, Struct, structs

from fdbcore.recording import converted
from fdbcore.report import NAME_COLUMNS, fitted
from fdbcore.results import Scores, problem_entries, with_holm
from fdbcore.stats import LEVEL, pairs_needed
from fdbcore.suites.dialogue_acts.models.annotate import AnnotatedWith
from fdbcore.suites.dialogue_acts.records import Response
from fdbcore.suites.dialogue_acts.scoring.baselines import baseline_rows
from fdbcore.suites.dialogue_acts.scoring.cautions import NOBODY, cautions, repeated_acts
from fdbcore.suites.dialogue_acts.scoring.comparison import (
    JudgedBy,
    ScoringSettings,
    annotators_of,
    comparisons,
    score_rows,
    variance_of,
)
from fdbcore.suites.dialogue_acts.scoring.diagnosis import CaseJson, Diagnosis, cases, diagnoses, topic_rows
from fdbcore.suites.dialogue_acts.scoring.scores import (
    MEASURES,
    WEIGHTS,
    ActsItem,
    SystemScores,
    condition_of,
    items_of,
    no_reply,
    system_row,
)
from fdbcore.suites.dialogue_acts.sets import Answers, RecordSet, matched, merged_responses
from fdbcore.suites.dialogue_acts.tag_sets import DATA, TagSetJson
from fdbcore.suites.dialogue_acts.turns.spoken import HeardWith
from fdbcore.suites.dialogue_acts.turns.tables import LiveTiming, TurnsJson
from fdbcore.types import Problem
from fdbcore.types.scorecard import ScoreRow

DOCUMENT_SCHEMA: Final = "fdbcore.dialogue_acts/2"
PUBLISHED: Final = "set written and annotated by "
"""The beginning of the conditions of published rows."""


class ScoredSet(Struct, frozen=True):
    """A set of records."""

    name: str
    n: int
    locale: str
    generators: list[str]
    topics: Annotated[dict[str, int], Meta(description="records by topic")]
    annotators: Annotated[list[str], Meta(description="of the replies; each makes a condition of it")]

    @property
    def conditions(self) -> list[str]:
        """Their names."""
        return [condition_of(self.name, annotator) for annotator in self.annotators]


class ActsDocument(Scores, frozen=True, kw_only=True):
    """The scores of responses on sets of records; a condition is a set as one annotator labels it.

    Rows are those of systems, ceiling and baselines on a set, on its topics, and those of the paper. The differences on
    what a judge says of the content stand in each condition of a set, and count once in the family.
    """

    schema: Literal["fdbcore.dialogue_acts/2"] = DOCUMENT_SCHEMA
    settings: ScoringSettings
    tag_set: Annotated[TagSetJson, Meta(description="the acts")]
    sets: list[ScoredSet]
    items: list[ActsItem]
    cases: list[CaseJson]
    diagnosis: list[Diagnosis]
    variance: Annotated[
        dict[str, dict[str, list[float]]],
        Meta(
            description="of WED of single replies, by set and annotator: "
            "the share of each part, then its 95 % interval; with one trial, record x system holds what that adds"
        ),
    ]
    page_language: Annotated[str, Meta(description="of the page")] = "en"
    judging: Annotated[JudgedBy | None, Meta(description="of the content of replies, with --judge")] = None
    heard_with: Annotated[HeardWith | None, Meta(description="with --transcriber")] = None
    timing: Annotated[Sequence[LiveTiming], Meta(description="of live parties")] = ()
    turns: Annotated[TurnsJson | None, Meta(description="of calls of any kind, with --turns")] = None


def read(document: Mapping[str, Any]) -> ActsDocument:
    """A stored document."""
    return converted(document, ActsDocument)


def document(
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    problems: Sequence[Problem] = (),
    settings: ScoringSettings | None = None,
    with_published: bool = False,
    annotated_with: Sequence[AnnotatedWith] = (),
) -> ActsDocument:
    """Everything that can be computed from the responses on the sets.

    problems: what was left out before. What is left out here (responses without a record, records without a response,
    replies without annotation) is added to it. annotated_with: of models that were to annotate; what these did not
    annotate is already among the problems.
    """
    settings = settings or ScoringSettings()
    neighbours = list(repeated_acts(sets, responses, settings.merged))
    if settings.merged:
        sets, responses = [of.merged for of in sets], merged_responses(responses)
    credited = sets
    if not settings.partial_credit:
        sets = [replace(of, tags=of.tags.without_credit) for of in sets]
    every_reference = sets
    if settings.first_reference:
        sets = [of.first_references for of in sets]
    asked = {(one["set"], one["annotator"]) for one in annotated_with}
    answers, unmatched = matched(sets, responses, problems)
    rows = [replace(row, clusters=of.clusters) for of in sets for row in _rows(of, answers, settings.seed)]
    by_set = {of: list(own) for of, own in groupby(rows, lambda row: row.set)}
    summaries = [row for own in by_set.values() for row in score_rows(own, settings)]
    compared = list(comparisons(rows, settings))
    shares, told_of_shares = variance_of(rows)
    items = [item for row in rows for item in items_of(row, answers)]
    labelled = {of.name: annotators_of(by_set.get(of.name, ())) for of in sets}
    scored = [_scored_set(of, labelled[of.name]) for of in sets]
    return ActsDocument(
        settings=structs.replace(
            settings,
            annotators=annotators_of(rows),
            repeats=max((len(row.repeats) for row in rows if row.annotator is not None), default=1),
            annotated_with=list(annotated_with),
            family=len(compared),
        ),
        tag_set=credited[0].tags.to_json(),
        sets=scored,
        rows=[*summaries, *topic_rows(items), *(published() if with_published else ())],
        differences=with_holm([one.difference for one in compared]),
        items=items,
        cases=[case for of in sets for case in cases(items, of.name)],
        diagnosis=list(diagnoses(items, credited[0].tags.names)),
        problems=problem_entries([*problems, *unmatched, *_unscored(answers, asked)]),
        warnings=[*cautions(sets, responses, labelled, summaries, compared), *neighbours],
        variance=shares,
        notes=[
            *told_of_shares,
            *(
                f"{one.name}: WED {what}: {told}"
                for one, other, what in _choices(every_reference, sets, credited, settings)
                if (told := _means_by(one, other, rows, responses))
            ),
            *_of_trials(answers),
            *_of_clusters(sets),
            *_of_live(responses),
            *_of_sets(sets),
        ],
    )


def published() -> list[ScoreRow]:
    """The rows of the paper's Table 1, with SD if the paper gives it.

    The paper does not say how many records its sets have, nor which SD it gives, so its rows have no interval.
    """
    content = json.loads((DATA / "published.json").read_text(encoding="utf-8"))
    return converted(content["rows"], list[ScoreRow])


def _of_trials(answers: Sequence[Answers]) -> Iterator[str]:
    """For each system with several trials: how many replies its records have, and what counts."""
    for one in (each for each in answers if each.has_trials):
        yield (
            f"{one.set.name}: {one.system} replied {len(one.replies)} times to {len(one.responses)} records; the score "
            "of a record is the mean of its trials"
            f"{', and intervals and tests resample records' if one.set.clusters is None else ''}"
        )


def _of_clusters(sets: Sequence[RecordSet]) -> Iterator[str]:
    """For each set whose records are turns of recorded users: what intervals and tests rest on."""
    for of in sets:
        if of.clusters is not None:
            yield (
                f"{of.name}: intervals and tests resample recorded users (here {1 + max(of.clusters)}), each with all "
                "turns of its calls"
            )


def _of_live(responses: Sequence[Response]) -> Iterator[str]:
    """For each system: in how many calls it said more than its turn after the user's."""
    for system in dict.fromkeys(one.system for one in responses):
        own = [one.live for one in responses if one.system == system and one.live is not None]
        if count := sum(bool(live.apart) for live in own):
            yield (
                f"{system}: in {count} of {len(own)} calls it said more than its turn after the user's; that is shown "
                "with the reply and not scored (--whole-call scores all)"
            )


def _of_sets(sets: Sequence[RecordSet]) -> Iterator[str]:
    """A caution on what several sets cannot tell, with however many records, unless enough for a test over sets."""
    n, needed = sum(bool(of.records) for of in sets), pairs_needed(LEVEL)
    if 1 < n < needed:
        yield (
            f"{n} sets are n = {n}: whether sets or their makers differ, or a system does better on some, cannot be "
            f"told, as a test over sets has p {2 / 2**n:g} at least; below {1 - LEVEL:.2g} it takes {needed} sets. "
            "Intervals and tests here are over records of one set"
        )


def _choices(
    every_reference: Sequence[RecordSet],
    sets: Sequence[RecordSet],
    credited: Sequence[RecordSet],
    settings: ScoringSettings,
) -> Iterator[tuple[RecordSet, RecordSet, str]]:
    """Both forms of each set between which the settings chose, and what these are: all references of a record or the
    first, where some record has several; and without and with partial credit, where the tag set has related acts.
    """
    used = "the first alone counts here" if settings.first_reference else "the nearest counts here"
    for of in every_reference:
        if any(len(record.references) > 1 for record in of.records.values()):
            yield of, of.first_references, f"by the nearest of several references, and by the first alone ({used})"
    used = "with credit here" if settings.partial_credit else "without credit here"
    for of, with_tags in zip(sets, credited, strict=True):
        if with_tags.tags.related and of.records:
            without, with_credit = replace(of, tags=of.tags.without_credit), replace(of, tags=with_tags.tags)
            yield without, with_credit, f"without, and with partial credit for related acts ({used})"


def _means_by(one: RecordSet, other: RecordSet, rows: Sequence[SystemScores], responses: Sequence[Response]) -> str:
    """The mean WED of each system on a set in two forms: "good 0.314 and 0.413"."""
    told = []
    for row in rows:
        if (row.set, row.kind, row.weights) == (one.name, "system", "given") and row.annotator not in (None, NOBODY):
            means = []
            for chosen in (one, other):
                (own,) = (answers for answers in matched([chosen], responses)[0] if answers.system == row.system)
                values = system_row(own, str(row.annotator), "given").values[..., MEASURES.index("wed")]
                means.append(float(np.nanmean(values)))
            told.append(f"{fitted(row.system, NAME_COLUMNS)} {means[0]:.3f} and {means[1]:.3f}")
    return ", ".join(told)


def _rows(of: RecordSet, answers: Sequence[Answers], seed: int) -> Iterator[SystemScores]:
    """The rows of a set: systems, ceiling, baselines; each first with its importances, then with uniform ones."""
    if not of.records:
        return
    own = [one for one in answers if one.set.name == of.name]
    found = [system_row(one, name, weights) for one in own for name in annotators(one, own) for weights in WEIGHTS]
    yield from sorted(found, key=lambda row: row.kind == "ceiling")
    yield from baseline_rows(of, seed)


def annotators(one: Answers, of_set: Sequence[Answers]) -> list[str]:
    """The annotators of a system's replies; if none of its replies is annotated, those of the other systems."""
    return _annotators([one]) or _annotators(of_set) or [NOBODY]


def _annotators(answers: Sequence[Answers]) -> list[str]:
    replies = [reply for one in answers for reply in one.replies]
    return list(dict.fromkeys(annotation.annotator for reply in replies for annotation in reply.annotations))


def _unscored(answers: Sequence[Answers], asked: Collection[tuple[str, str]]) -> Iterator[Problem]:
    for one in answers:
        expected = annotators(one, [other for other in answers if other.set.name == one.set.name])
        for reply in one.replies:
            there = {annotation.annotator for annotation in reply.annotations}
            missing = [name for name in expected if name not in there and (one.set.name, name) not in asked]
            if expected == [NOBODY] and any(of == one.set.name for of, _ in asked):
                missing = []  # whoever was asked gave nothing usable; why is told already
            if missing and not no_reply(reply):
                whose = "" if missing == [NOBODY] else f" of {', '.join(missing)}"
                reason = f"{one.system}: expected an annotation{whose}, got none (--annotator has one made)"
                yield Problem(reply.where or reply.id, reason)


def _scored_set(of: RecordSet, annotators: list[str]) -> ScoredSet:
    records = of.records.values()
    topics = [record.topic for record in records]
    return ScoredSet(
        of.name,
        len(topics),
        ", ".join(dict.fromkeys(record.locale for record in records)),
        list(dict.fromkeys(record.generator for record in records if record.generator)),
        {topic: topics.count(topic) for topic in dict.fromkeys(topics)},
        annotators,
    )
