"""Has a judge say whether the content of each reply is right, which acts do not show, and what its verdicts come to.

What the judge did not answer is unscored: it is a problem, and no number. Who gave no reply is not asked about, and is
not right. A record that a system replied to in several trials counts by the mean of their verdicts. What has no verdict
is left out, also of the tests: these take the records on which both systems have one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np

from fdbcore.report.format import judging_took
from fdbcore.runs.asking import Desk, JudgeQuestion, JudgeRequest, KeptAnswers, ask_each_once, spent_on
from fdbcore.runs.judge_options import JudgeOptions, expected_of
from fdbcore.runs.verdicts import VERDICT, Verdict, check_verdict, verdict_of
from fdbcore.stats.shares import wilson_by_cluster
from fdbcore.suites.dialogue_acts.models.asking import ScoringJob
from fdbcore.suites.dialogue_acts.records import REFERENCE, Record, Response
from fdbcore.suites.dialogue_acts.scoring.comparison import (
    CONTENT,
    ComparisonJson,
    ContentRow,
    JudgedBy,
    ScoringSettings,
    correct,
    paired,
)
from fdbcore.suites.dialogue_acts.scoring.document import ActsDocument
from fdbcore.suites.dialogue_acts.scoring.scores import Floats, no_reply
from fdbcore.suites.dialogue_acts.sets import RecordSet, matched
from fdbcore.suites.dialogue_acts.tag_sets import DATA
from fdbcore.types import Rubric, RubricQuestion
from fdbcore.types.usage import ExpectedUse

JUDGED: Final = "judged.json"
"""In the results folder: what the judge has answered."""
TOKENS_OF_A_VERDICT: Final = 60
"""About what a judge writes for a verdict with its reason."""
LANGUAGES: Final = ("ja", "en")
"""In which a judge is told the rubric; the second for texts in any other language."""
NOT_GIVEN: Final = Verdict(False, "")
"""On a reply that was not given: no judge is asked."""


class ReplyPlace(NamedTuple):
    """Which reply a verdict is on."""

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
            _where(reply, one.set),
            None if no_reply(reply) else _question(one.set.records[id], reply.text),
        )
        for one in matched(sets, responses)[0]
        if one.system != REFERENCE
        for id, trials in one.responses.items()
        for reply in trials
    ]


def _where(reply: Response, of: RecordSet) -> str:
    """Where a reply is; that of a turn is in the call of other turns, too."""
    return reply.where if reply.where and of.clusters is None else f"{reply.where} {reply.id}".strip()


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
    """What a judge is told, in our words: in Japanese, or else in English."""
    own = language if language in LANGUAGES else LANGUAGES[-1]
    text = (DATA / f"judge.{own}.txt").read_text(encoding="utf-8")
    question = RubricQuestion("The content of the reply is right", (), ("right",))
    return Rubric("content", text, VERDICT, [question], language=own)


def expected_judging(
    replies: Sequence[JudgedReply], unheard: Sequence[JudgedReply], options: JudgeOptions, kept_in: Path
) -> ExpectedUse:
    """What the judge would still be asked. unheard: replies whose words nobody knows yet, no two of them alike."""
    known = {request.key: request for request in _requests(replies, options, kept_in)}
    requests = [*known.values(), *_requests(unheard, options, kept_in)]
    return expected_of(options.judges[0], requests, lambda request: TOKENS_OF_A_VERDICT)


def unheard_reply(to: Record) -> JudgedReply:
    """A reply to a record whose words nobody knows yet."""
    return JudgedReply(ReplyPlace("", to.id, "", 1), "", _question(to, ""))


def _requests(replies: Sequence[JudgedReply], options: JudgeOptions, kept_in: Path) -> list[JudgeRequest]:
    """What the judge is asked about the replies that were given, each so many times as there are repeats."""
    kept = KeptAnswers(kept_in)
    (judge,) = options.judges
    return [
        JudgeRequest(kept, judge, each.question, repeat)
        for each in replies
        if each.question is not None
        for repeat in range(options.repeats)
    ]


def judge_content(
    content: ActsDocument,
    sets: Sequence[RecordSet],
    responses: Sequence[Response],
    settings: ScoringSettings,
    job: ScoringJob,
) -> Sequence[str]:
    """Ask the judge, if there is one, about all replies, put its verdicts into their document, and say what that took.

    What it has answered before is in the results folder, and is not asked again. SettingsError if it cannot be
    asked at all.
    """
    options = job.judging
    if not options.judges:
        return []
    desk, replies = Desk(options.limit_usd), replies_to_judge(sets, responses)
    requests = _requests(replies, options, job.out / JUDGED)
    asked = ask_each_once(requests, desk, job.jobs, job.show)
    answers = iter(asked.answers)
    verdicts: dict[ReplyPlace, Verdict] = {}
    for each in replies:
        own = [] if each.question is None else [next(answers) for _ in range(options.repeats)]
        verdicts[each.place] = found = verdict_of(own) if own else NOT_GIVEN
        if found.right is None:
            reason = f"{each.place.system}: content unscored: {found.reason}"
            content["problems"].append({"where": each.where, "reason": reason})
    judging: JudgedBy = {**spent_on(requests).to_json(options.repeats, desk.stopped), "judge": options.judges[0].name}
    _put_into(content, judging, verdicts, sets, settings)
    return [asked.told, judging_took(judging, "these replies")]


def _put_into(
    content: ActsDocument,
    judging: JudgedBy,
    verdicts: Verdicts,
    sets: Sequence[RecordSet],
    settings: ScoringSettings,
) -> None:
    """The verdicts into a document, beside the acts of their replies, with their shares and tests.

    Holm's family then is the comparisons of the acts and of the content together.
    """
    compared = [one for of in sets for one in content_comparisons(of, verdicts, settings)]
    correct(family := [*content["comparisons"], *compared])
    content["settings"]["family"] = len(family)
    rows = [row for of in sets for row in content_rows(of, verdicts)]
    content["judging"] = {**judging, "rows": rows, "comparisons": compared}
    for item in content["items"]:
        verdict = verdicts.get(ReplyPlace(item["set"], item["id"], item["system"], item.get("trial", 1)))
        if verdict is not None:
            item["response"]["verdict"] = {"right": verdict.right, "reason": verdict.reason}
            if len(verdict.repeats) > 1:
                item["response"]["verdict"]["repeats"] = list(verdict.repeats)


def content_rows(of: RecordSet, verdicts: Verdicts) -> list[ContentRow]:
    """A row for each system; intervals are over records, or over recorded users where records are turns of these."""
    return [_row(of, system, verdicts) for system in _systems(of, verdicts)]


def content_comparisons(of: RecordSet, verdicts: Verdicts, settings: ScoringSettings) -> list[ComparisonJson]:
    """Each two systems, paired by record; `p_holm` is still missing."""
    means = {system: _means(of, system, verdicts) for system in _systems(of, verdicts)}
    names = list(combinations(means, 2))
    differences = [(means[a] - means[b])[:, None, None] for a, b in names]
    return list(paired(of.name, None, [CONTENT], names, differences, of.clusters, settings))


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


def _row(of: RecordSet, system: str, verdicts: Verdicts) -> ContentRow:
    given = sum((place.set, place.system) == (of.name, system) for place in verdicts)
    known = _known(of, system, verdicts)
    units = dict(zip(of.records, of.clusters or range(len(of.records)), strict=True))
    by_unit: defaultdict[int, list[bool]] = defaultdict(list)
    for id, own in known.items():
        by_unit[units[id]] += own
    pooled: Sequence[Sequence[bool]] = list(by_unit.values())
    n, right = sum(map(len, pooled)), sum(map(sum, pooled))
    interval = wilson_by_cluster(list(map(sum, pooled)), list(map(len, pooled))) if pooled else None
    row: ContentRow = {
        "set": of.name,
        "system": system,
        "n": n,
        "right": right,
        "unscored": given - n,
        "share": right / n if n else None,
        "ci95": None if interval is None else (interval.low, interval.high),
    }
    if of.clusters is not None:
        row["clusters"] = len(pooled)
    return row
