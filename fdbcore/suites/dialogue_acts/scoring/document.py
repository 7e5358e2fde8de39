"""The JSON document of scored responses: what `fdbcore score --json` prints, and what its page and screen show."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from fdbcore._version import __version__
from fdbcore.report.scorecard.columns import NAME_COLUMNS, fitted
from fdbcore.stats.bootstrap import LEVEL
from fdbcore.stats.significance import POWER, pairs_needed
from fdbcore.suites.dialogue_acts.records import Response, steps_json
from fdbcore.suites.dialogue_acts.scoring.baselines import baseline_rows
from fdbcore.suites.dialogue_acts.scoring.cautions import NOBODY, cautions, repeated_acts
from fdbcore.suites.dialogue_acts.scoring.comparison import SD_DDOF, ScoringSettings, comparisons, row_summaries
from fdbcore.suites.dialogue_acts.scoring.diagnosis import cases, diagnoses
from fdbcore.suites.dialogue_acts.scoring.forms import first_references, merged_responses, merged_set
from fdbcore.suites.dialogue_acts.scoring.scores import MEASURES, WEIGHTS, SystemScores, annotated, no_reply, system_row
from fdbcore.suites.dialogue_acts.scoring.variance import variance_of
from fdbcore.suites.dialogue_acts.sets import Answers, RecordSet, matched
from fdbcore.suites.dialogue_acts.tag_sets import DATA
from fdbcore.types import Problem

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import (
        ActsDocument,
        AnnotatedWith,
        ItemJson,
        PublishedRow,
        ResponseJson,
        ScoredSet,
        ScoredWith,
        StepJson,
    )

DOCUMENT_SCHEMA: Final = "fdbcore.dialogue_acts/1"


def document(
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    problems: Sequence[Problem] = (),
    settings: ScoringSettings | None = None,
    with_published: bool = False,
    annotated_with: Sequence[AnnotatedWith] = (),
) -> ActsDocument:
    """Everything that can be computed from the responses on the sets, as JSON values.

    problems: what was left out before. What is left out here (responses without a record, records without a response,
    replies without annotation) is added to it. annotated_with: of models that were to annotate; what these did not
    annotate is already among the problems.
    """
    settings = settings or ScoringSettings()
    neighbours = list(repeated_acts(sets, responses, settings.merged))
    if settings.merged:
        sets, responses = [merged_set(of) for of in sets], merged_responses(responses)
    credited = sets
    if not settings.partial_credit:
        sets = [replace(of, tags=of.tags.without_credit) for of in sets]
    every_reference = sets
    if settings.first_reference:
        sets = [first_references(of) for of in sets]
    asked = {(one["set"], one["annotator"]) for one in annotated_with}
    answers, unmatched = matched(sets, responses, problems)
    rows = [replace(row, clusters=of.clusters) for of in sets for row in _rows(of, answers, settings.seed)]
    by_set = [list(own) for _, own in groupby(rows, lambda row: row.set)]
    summaries = [summary for own in by_set for summary in row_summaries(own, settings)]
    compared = comparisons(rows, settings)
    shares, told_of_shares = variance_of(rows)
    items = [item for row in rows for item in _items(row, answers)]
    left_out = [*problems, *unmatched, *_unscored(answers, asked)]
    return {
        "schema": DOCUMENT_SCHEMA,
        "settings": _settings_json(settings, rows, len(compared), annotated_with),
        "tag_set": credited[0].tags.to_json(),
        "sets": [_set_json(of) for of in sets],
        "rows": summaries,
        "comparisons": compared,
        "items": items,
        "cases": [case for of in sets for case in cases(items, of.name)],
        "diagnosis": list(diagnoses(items, credited[0].tags.names)),
        "published": published() if with_published else [],
        "problems": [{"where": problem.where, "reason": problem.reason} for problem in left_out],
        "warnings": [*cautions(sets, responses, summaries, compared), *neighbours],
        "variance": shares,
        "notes": [
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
    }


def published() -> list[PublishedRow]:
    """The rows of the paper's Table 1: set, system, and measures with mean and, if the paper gives it, SD.

    The paper does not say how many records its sets have, nor which SD it gives, so its rows have no interval.
    """
    rows: list[PublishedRow] = json.loads((DATA / "published.json").read_text(encoding="utf-8"))["rows"]
    return rows


def _has_trials(one: Answers) -> bool:
    """Whether a system replied to some record several times."""
    return any(reply.trial > 1 for reply in one.replies)


def _of_trials(answers: Sequence[Answers]) -> Iterator[str]:
    """For each system with several trials: how many replies its records have, and what counts."""
    for one in filter(_has_trials, answers):
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
        if count := sum(bool(live["apart"]) for live in own):
            yield (
                f"{system}: in {count} of {len(own)} calls it said more than its turn after the user's; that is shown "
                "with the reply and not scored (--whole-call scores all)"
            )


def _of_sets(sets: Sequence[RecordSet]) -> Iterator[str]:
    """What several sets cannot tell, however many records they have, unless they are enough for a test over sets."""
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
            yield of, first_references(of), f"by the nearest of several references, and by the first alone ({used})"
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


def _settings_json(
    settings: ScoringSettings, rows: Sequence[SystemScores], compared: int, annotated_with: Sequence[AnnotatedWith]
) -> ScoredWith:
    labelled = [row for row in rows if row.annotator is not None]
    found = {
        "fdbcore": __version__,
        "annotators": list(dict.fromkeys(str(row.annotator) for row in labelled)),
        "repeats": max((len(row.repeats) for row in labelled), default=1),
        "annotated_with": list(annotated_with),
        **asdict(settings),
        "level": LEVEL,
        "power": POWER,
        "sd_ddof": SD_DDOF,
        "family": compared,
    }
    return cast("ScoredWith", found)


def _set_json(of: RecordSet) -> ScoredSet:
    records = of.records.values()
    topics = [record.topic for record in records]
    return {
        "name": of.name,
        "n": len(topics),
        "locale": ", ".join(dict.fromkeys(record.locale for record in records)),
        "generators": list(dict.fromkeys(record.generator for record in records if record.generator)),
        "topics": {topic: topics.count(topic) for topic in dict.fromkeys(topics)},
    }


def _items(row: SystemScores, answers: Sequence[Answers]) -> Iterator[ItemJson]:
    """The replies of a system with their scores; baselines and uniform importances have no items."""
    if row.scored is None or row.cells is None or row.weights != "given":
        return
    (one,) = (one for one in answers if (one.set.name, one.system) == (row.set, row.system))
    records = list(one.set.records.values())
    scores = row.scored.scores.tolist()
    for number, (index, trial, which) in enumerate(row.cells.tolist()):
        record, repeat = records[index], row.repeats[which]
        response = one.responses[record.id][trial]
        which_reference = int(row.scored.reference[number])
        reference = record.references[which_reference]
        item: ItemJson = {
            "set": row.set,
            "id": record.id,
            "topic": record.topic,
            "system": row.system,
            "annotator": str(row.annotator),
            "kind": row.kind,
            "repeat": repeat,
            "background": record.background,
            "user": record.user_text,
            "reference": {
                "text": reference.text,
                "steps": steps_json(reference.annotation.steps, reference.text),
                "index": which_reference,
            },
            "response": _response_json(response, str(row.annotator), repeat),
            "scores": dict(zip(MEASURES, scores[number], strict=True)),
            "path": cast("list[StepJson]", [step._asdict() for step in row.scored.alignment(number).path]),
        }
        if _has_trials(one):
            item["trial"] = response.trial
        if record.user:
            item["recorded_user"] = record.user
        yield item


def _response_json(response: Response, annotator: str, repeat: int) -> ResponseJson:
    steps = annotated(response, annotator, repeat) or ()
    found: ResponseJson = {"text": response.text, "steps": steps_json(steps, response.text)}
    if response.reason:
        found["reason"] = response.reason
    if response.live is not None:
        found["live"] = response.live
    return found
