"""Options on judges: who is asked, how often, and up to which cost."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

from fdbcore.analysis.systems import JudgingSpent
from fdbcore.errors import SettingsError, told_as
from fdbcore.protocols import Judge
from fdbcore.registry import judge
from fdbcore.runs.asking import Desk, JudgeAnswer, JudgeRequest, ask_each_once, spent_on
from fdbcore.runs.estimates import expected_use, tokens_of, unpriced
from fdbcore.types.usage import ExpectedUse, Unit

DEFAULT_REQUESTS: Final = 4


class RepeatedAnswers(NamedTuple):
    """The answers to each question, one a repeat; what they took, and what was asked now, in words."""

    answers: Sequence[Sequence[JudgeAnswer]]
    spent: JudgingSpent
    told: str


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The judges, the first one for the main tables; how often each is asked a question; limit_usd: of all requests;
    wordings: of the rubrics, from 0, the first one for the main tables.
    """

    judges: Sequence[Judge]
    repeats: int
    limit_usd: float | None
    wordings: Sequence[int] = (0,)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """By the options "judge", "repeats", "max_cost" and, if there is one, "rubrics". SettingsError for what is
        unknown, does not fit together, or cannot be kept below a limit.
        """
        with told_as("--judge", "judge"):
            judges = [judge(address) for address in dict.fromkeys(options["judge"])]
        names = [each.name for each in judges]
        if again := next((name for name in names if names.count(name) > 1), None):
            raise SettingsError(f"--judge: expected judges of different names, got {again} twice")
        limit_usd, repeats = options["max_cost"], options["repeats"] or 1
        if limit_usd is not None:
            for name in unpriced([service for each in judges for service in each.services()]):
                raise SettingsError(f"--max-cost: expected judges with a known price, but {name} is unpriced")
        wordings = {"both": [0, 1], "1": [0], "2": [1]}[options.get("rubrics", "1")]
        asked = {"--repeats": repeats > 1, "--max-cost": limit_usd is not None, "--rubrics": wordings != [0]}
        if not judges and (needed := [name for name, is_asked in asked.items() if is_asked]):
            raise SettingsError(f"{needed[0]}: expected --judge beside it, got none")
        return cls(judges, repeats, limit_usd, wordings)

    def repeated(self, questions: Sequence[JudgeRequest]) -> list[JudgeRequest]:
        """Each of these as often as it is asked, one after the other."""
        return [replace(each, repeat=repeat) for each in questions for repeat in range(self.repeats)]

    def ask(self, questions: Sequence[JudgeRequest], jobs: int | None, show: Callable[[str], None]) -> RepeatedAnswers:
        """Ask these questions in their order, so that the first are whole if the limit is reached; `jobs` requests at a
        time. Errors as of `ask_each_once`.
        """
        requests, desk = self.repeated(questions), Desk(self.limit_usd)
        asked = ask_each_once(requests, desk, jobs or DEFAULT_REQUESTS, show)
        answers = [asked.answers[at : at + self.repeats] for at in range(0, len(requests), self.repeats)]
        return RepeatedAnswers(answers, spent_on(requests, self.repeats, desk.stopped), asked.told)

    def expected(
        self, questions: Sequence[JudgeRequest], tokens_out: Callable[[JudgeRequest], float]
    ) -> Iterator[ExpectedUse]:
        """The requests that each judge would still get of these questions. tokens_out: about what it writes."""
        for asked in self.judges:
            own = self.repeated([each for each in questions if each.judge is asked])
            yield expected_of(asked, [*{(id(each.kept), each.key): each for each in own}.values()], tokens_out)


def expected_of(
    judge: Judge, requests: Sequence[JudgeRequest], tokens_out: Callable[[JudgeRequest], float]
) -> ExpectedUse:
    """The requests that a judge would still get of these, each once. tokens_out: about what it writes."""
    left = [each for each in requests if each.known is None]
    counts: dict[Unit, float] = {
        "text_in_tokens": sum(map(_tokens_in, left)),
        "text_out_tokens": sum(map(tokens_out, left)),
    }
    return expected_use(judge.name, "question", len(left), len(requests), counts, judge.services())


def _tokens_in(request: JudgeRequest) -> float:
    question = request.question
    evidence = json.dumps(question.evidence, ensure_ascii=False)
    return sum(map(tokens_of, (question.rubric.text, json.dumps(question.rubric.schema), evidence)))
