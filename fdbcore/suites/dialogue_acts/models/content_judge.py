"""Has a judge say whether the content of each reply is right, which acts do not show.

What the judge did not answer is unscored: it is a problem, and no number. Who gave no reply is not asked about, and is
not right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fdbcore.errors import SettingsError
from fdbcore.report.format import judging_took
from fdbcore.runs.asking import Desk, JudgeQuestion, JudgeRequest, KeptAnswers, ask_each_once, spent_on
from fdbcore.runs.judge_options import JudgeOptions, expected_of
from fdbcore.runs.verdicts import VERDICT, Verdict, check_verdict, verdict_of
from fdbcore.suites.dialogue_acts.records import REFERENCE, Record, Response
from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings, correct
from fdbcore.suites.dialogue_acts.scoring.content import (
    NOT_GIVEN,
    ReplyPlace,
    Verdicts,
    content_comparisons,
    content_rows,
)
from fdbcore.suites.dialogue_acts.scoring.scores import no_reply
from fdbcore.suites.dialogue_acts.sets import RecordSet, matched
from fdbcore.types import Problem, Rubric, RubricQuestion
from fdbcore.types.usage import ExpectedUse

if TYPE_CHECKING:
    from fdbcore.suites.dialogue_acts.document_types import ActsDocument, JudgedBy

JUDGED: Final = "judged.json"
"""In the results folder: what the judge has answered."""
TOKENS_OF_A_VERDICT: Final = 60
"""About what a judge writes for a verdict with its reason."""
LANGUAGES: Final = ("ja", "en")
"""In which a judge is told the rubric; the second for texts in any other language."""


class JudgedReply(NamedTuple):
    """A reply that a judge is to be asked about. question: None for one that was not given."""

    place: ReplyPlace
    where: str
    question: JudgeQuestion | None


@dataclass(frozen=True, slots=True)
class JudgedContent:
    """The verdicts on replies, and what is told of them. problems: verdicts that the judge did not give."""

    judging: JudgedBy
    verdicts: Verdicts
    problems: Sequence[Problem]
    told: Sequence[str]

    def put_into(self, content: ActsDocument, sets: Sequence[RecordSet], settings: ScoringSettings) -> None:
        """The verdicts into a document, beside the acts of their replies, with their shares and tests.

        Holm's family then is the comparisons of the acts and of the content together.
        """
        compared = [one for of in sets for one in content_comparisons(of, self.verdicts, settings)]
        correct(family := [*content["comparisons"], *compared])
        content["settings"]["family"] = len(family)
        rows = [row for of in sets for row in content_rows(of, self.verdicts)]
        content["judging"] = {**self.judging, "rows": rows, "comparisons": compared}
        for item in content["items"]:
            verdict = self.verdicts.get(ReplyPlace(item["set"], item["id"], item["system"], item.get("trial", 1)))
            if verdict is not None:
                item["response"]["verdict"] = {"right": verdict.right, "reason": verdict.reason}
                if len(verdict.repeats) > 1:
                    item["response"]["verdict"]["repeats"] = list(verdict.repeats)
        content["problems"] += [{"where": each.where, "reason": each.reason} for each in self.problems]


def judge_options(options: Mapping[str, Any]) -> JudgeOptions:
    """Who judges: nobody, or one. SettingsError for several, options of none, or turns without good replies."""
    asked = {**options, "repeats": options["repeats"] if options["judge"] else 1}
    found = JudgeOptions.of(asked)
    if len(found.judges) > 1:
        raise SettingsError(f"--judge: expected one, got {len(found.judges)}")
    if found.judges and options["turns"] and not options["references"]:
        raise SettingsError("--judge: expected --references beside --turns: a judge compares replies with good ones")
    return found


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
    text = (files("fdbcore.suites.dialogue_acts") / "data" / f"judge.{own}.txt").read_text(encoding="utf-8")
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
    replies: Sequence[JudgedReply], options: JudgeOptions, kept_in: Path, jobs: int, show: Callable[[str], None]
) -> JudgedContent:
    """Ask the judge about all replies; what it has answered before is in `kept_in`, and is not asked again.

    SettingsError if it cannot be asked at all.
    """
    desk = Desk(options.limit_usd)
    requests = _requests(replies, options, kept_in)
    asked = ask_each_once(requests, desk, jobs, show)
    answers = iter(asked.answers)
    verdicts: dict[ReplyPlace, Verdict] = {}
    problems = []
    for each in replies:
        own = [] if each.question is None else [next(answers) for _ in range(options.repeats)]
        found = verdict_of(own) if own else NOT_GIVEN
        verdicts[each.place] = found
        if found.right is None:
            problems.append(Problem(each.where, f"{each.place.system}: content unscored: {found.reason}"))
    judging: JudgedBy = {**spent_on(requests).to_json(options.repeats, desk.stopped), "judge": options.judges[0].name}
    return JudgedContent(judging, verdicts, problems, [asked.told, judging_took(judging, "these replies")])
