"""Has a judge say whether the content of each reply is right, which acts do not show, and what its verdicts come to.

What the judge did not answer is unscored: it is a problem, and no number. Who gave no reply is not asked about, and is
not right. A record that a system replied to in several trials counts by the mean of their verdicts. What has no verdict
is left out, also of the tests: these take the records on which both systems have one.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np
from msgspec import structs

from fdbcore.report import judging_took
from fdbcore.results import ProblemEntry, with_holm
from fdbcore.runs import (
    VERDICT,
    JudgeOptions,
    JudgeQuestion,
    JudgeRequest,
    KeptAnswers,
    Verdict,
    check_verdict,
    expected_of,
    verdict_of,
)
from fdbcore.stats import wilson_by_cluster
from fdbcore.suites.dialogue_acts.models.asking import ScoringJob
from fdbcore.suites.dialogue_acts.records import REFERENCE, Record, Response
from fdbcore.suites.dialogue_acts.scoring.comparison import CONTENT, Compared, JudgedBy, ScoringSettings, paired
from fdbcore.suites.dialogue_acts.scoring.document import ActsDocument
from fdbcore.suites.dialogue_acts.scoring.scores import ContentVerdict, Floats, no_reply
from fdbcore.suites.dialogue_acts.sets import RecordSet, matched
from fdbcore.suites.dialogue_acts.tag_sets import DATA
from fdbcore.types import Rubric, RubricQuestion
from fdbcore.types.scorecard import Figure, scaled_interval
from fdbcore.types.usage import ExpectedUse

JUDGED: Final = "judged.json"
"""In the results folder: what the judge has answered."""
TOKENS_OF_A_VERDICT: Final = 60
"""Tokens that a judge writes for a verdict with its reason, about."""
LANGUAGES: Final = ("ja", "en")
"""Languages in which a judge is told the rubric; the second for texts in any other language."""
NOT_GIVEN: Final = Verdict(False, "")
"""On a reply that was not given: no judge is asked."""


class ReplyPlace(NamedTuple):
    """The reply that a verdict is on."""

    set: str
    id: str
    system: str
    trial: int


Verdicts = Mapping[ReplyPlace, Verdict]


class JudgedReply(NamedTuple):
    """A reply that a judge is to be asked about. question: None for one that was not given."""

    place: ReplyPlace
    where: str
    question: JudgeQuestion | None


def replies_to_judge(sets: Sequence[RecordSet], responses: Sequence[Response]) -> list[JudgedReply]:
    """Every reply of a system to a record of the sets, in their order."""
    return [
        JudgedReply(
            ReplyPlace(one.set.name, id, one.system, reply.trial),
            # a call has other turns, too
            reply.where if reply.where and one.set.clusters is None else f"{reply.where} {reply.id}".strip(),
            None if no_reply(reply) else _question(one.set.records[id], reply.text),
        )
        for one in matched(sets, responses)[0]
        if one.system != REFERENCE
        for id, trials in one.responses.items()
        for reply in trials
    ]


def _question(record: Record, reply: str | None) -> JudgeQuestion:
    evidence = {
        "situation": record.background,
        "user": record.user_text,
        "good_replies": [reference.text for reference in record.references],
        "reply": reply,
    }
    return JudgeQuestion(rubric(record.locale.partition("-")[0]), evidence, check_verdict)


@cache
def rubric(language: str) -> Rubric:
    """The rubric of a judge, in our words: in Japanese, or else in English."""
    own = language if language in LANGUAGES else LANGUAGES[-1]
    text = (DATA / f"judge.{own}.txt").read_text(encoding="utf-8")
    question = RubricQuestion("The content of the reply is right", (), ("right",))
    return Rubric("content", text, VERDICT, [question], language=own)


def expected_judging(
    replies: Sequence[JudgedReply], unheard: Sequence[JudgedReply], options: JudgeOptions, kept_in: Path
) -> ExpectedUse:
    """The requests to the judge. unheard: replies whose words nobody knows yet, no two of them alike."""
    known = {request.key: request for request in _requests(replies, options, kept_in)}
    requests = [*known.values(), *_requests(unheard, options, kept_in)]
    return expected_of(options.judges[0], options.repeated(requests), lambda request: TOKENS_OF_A_VERDICT)


def unheard_reply(to: Record) -> JudgedReply:
    """A reply to a record whose words nobody knows yet."""
    return JudgedReply(ReplyPlace("", to.id, "", 1), "", _question(to, ""))


def _requests(replies: Sequence[JudgedReply], options: JudgeOptions, kept_in: Path) -> list[JudgeRequest]:
    """The judge's requests about the replies that were given."""
    kept = KeptAnswers(kept_in)
    (judge,) = options.judges
    return [JudgeRequest(kept, judge, each.question) for each in replies if each.question is not None]


def judge_content(
    content: ActsDocument,
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    settings: ScoringSettings,
    job: ScoringJob,
) -> tuple[ActsDocument, list[str]]:
    """Ask the judge, if there is one, about all replies: their document with its verdicts, and what that took.

    What it has answered before is in the results folder, and is not asked again. SettingsError if it cannot be
    asked at all.
    """
    options = job.judging
    if not options.judges:
        return content, []
    replies = replies_to_judge(sets, responses)
    asked = options.ask(_requests(replies, options, job.out / JUDGED), job.jobs, job.show)
    answers = iter(asked.answers)
    verdicts: dict[ReplyPlace, Verdict] = {}
    problems = list(content.problems)
    for each in replies:
        own = [] if each.question is None else next(answers)
        verdicts[each.place] = found = verdict_of(own) if own else NOT_GIVEN
        if found.right is None:
            problems.append(ProblemEntry(each.where, f"{each.place.system}: content unscored: {found.reason}"))
    judging: JudgedBy = {**asked.spent, "judge": options.judges[0].name}
    judged = _with_verdicts(structs.replace(content, problems=problems, judging=judging), verdicts, sets, settings)
    return judged, [asked.told, judging_took(judging, "these replies")]


def _with_verdicts(
    content: ActsDocument, verdicts: Verdicts, sets: Sequence[RecordSet], settings: ScoringSettings
) -> ActsDocument:
    """A document with the verdicts beside the acts of their replies, and with their shares and tests.

    Holm's family then is the comparisons of the acts and of the content together.
    """
    compared = [one for of in sets for one in content_comparisons(of, verdicts, settings)]
    family = with_holm([*content.differences, *(one.difference for one in compared)])
    acts, judged = family[: len(content.differences)], family[len(content.differences) :]
    of_content = [(one.set, difference) for one, difference in zip(compared, judged, strict=True)]
    differences, rows = [], list(content.rows)
    for of, scored in zip(sets, content.sets, strict=True):
        figures = {system: content_figure(of, system, verdicts) for system in _systems(of, verdicts)}
        for condition in scored.conditions:
            own = [one for one in acts if one.condition == condition]
            own += [structs.replace(one, condition=condition) for name, one in of_content if name == of.name]
            pairs = dict.fromkeys((one.a, one.b) for one in own)
            differences += [one for pair in pairs for one in own if (one.a, one.b) == pair]
            for k, row in enumerate(rows):
                if (row.condition, row.group, row.subset) == (condition, "system", "") and row.system in figures:
                    figure, counts = figures[row.system]
                    measures, counted = row.measures | {CONTENT.id: figure}, row.counts | counts
                    rows[k] = structs.replace(row, measures=measures, counts=counted)
    items = list(content.items)
    for k, item in enumerate(items):
        verdict = verdicts.get(ReplyPlace(item.set, item.id, item.system, item.trial or 1))
        if verdict is not None:
            told = ContentVerdict(verdict.right, verdict.reason, verdict.repeats if len(verdict.repeats) > 1 else ())
            items[k] = structs.replace(item, response=structs.replace(item.response, verdict=told))
    counted_for = structs.replace(content.settings, family=len(family))
    return structs.replace(content, settings=counted_for, items=items, rows=rows, differences=differences)


def content_comparisons(of: RecordSet, verdicts: Verdicts, settings: ScoringSettings) -> list[Compared]:
    """Each two systems, paired by record, in percent; `p_corrected` is still missing."""
    means = {system: _means(of, system, verdicts) for system in _systems(of, verdicts)}
    names = list(combinations(means, 2))
    apart = [(means[a] - means[b])[:, None, None] for a, b in names]
    return list(paired(of.name, "", [CONTENT.id], names, apart, of.clusters, settings, 100))


def _systems(of: RecordSet, verdicts: Verdicts) -> list[str]:
    return list(dict.fromkeys(place.system for place in verdicts if place.set == of.name))


def _known(of: RecordSet, system: str, verdicts: Verdicts) -> dict[str, list[bool]]:
    """The verdicts on the replies of a system, by record; none if the judge gave none at all: replies that were not
    given, of which it is not asked, would make a share of their own.
    """
    own = {place: each for place, each in verdicts.items() if (place.set, place.system) == (of.name, system)}
    found: defaultdict[str, list[bool]] = defaultdict(list)
    judged = [each.right is not None for each in own.values() if each is not NOT_GIVEN]
    if any(judged) or not judged:
        for place, verdict in own.items():
            if verdict.right is not None:
                found[place.id].append(verdict.right)
    return found


def _means(of: RecordSet, system: str, verdicts: Verdicts) -> Floats:
    """The mean verdict of each record, (records,); NaN where there is none."""
    known = _known(of, system, verdicts)
    return np.array([fmean(known[id]) if id in known else np.nan for id in of.records])


def content_figure(of: RecordSet, system: str, verdicts: Verdicts) -> tuple[Figure, dict[str, int]]:
    """The share of the replies of a system whose content is right, in %, and how many are, and are unscored.

    Intervals are over records, or over recorded users where records are turns of these.
    """
    given = sum((place.set, place.system) == (of.name, system) for place in verdicts)
    units = dict(zip(of.records, of.clusters or range(len(of.records)), strict=True))
    by_unit: defaultdict[int, list[bool]] = defaultdict(list)
    for id, own in _known(of, system, verdicts).items():
        by_unit[units[id]] += own
    pooled: Sequence[Sequence[bool]] = list(by_unit.values())
    n, right = sum(map(len, pooled)), sum(map(sum, pooled))
    interval = wilson_by_cluster(list(map(sum, pooled)), list(map(len, pooled))) if pooled else None
    figure = Figure(100 * (right / n) if n else None, None, scaled_interval(interval, 100), n)
    users = {} if of.clusters is None else {"judged_users": len(pooled)}
    return figure, {"right": right, "content_unscored": given - n, **users}
