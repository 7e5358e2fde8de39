"""OpenAI's decisions as a judge: each question of a rubric is answered with the probability of every level.

The interface is that of `openai` 3.54.0: POST /v1/decisions, 1 to 400 questions about one input. Each question may be
refused by itself.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fdbcore.errors import InputError, SettingsError
from fdbcore.models.account import SETTINGS
from fdbcore.models.counts import openai_counts, usage_in
from fdbcore.models.judge import Tally, as_judge, as_prompt
from fdbcore.models.openai import OPENAI, OpenAIModel
from fdbcore.protocols import Judge
from fdbcore.runtime.address import parsed
from fdbcore.types import Rubric, RubricQuestion
from fdbcore.types.usage import ModelUsage

OPENAI_DECISIONS: Final = replace(OPENAI, name="openai-decisions", billed_as="openai")


def openai_decisions(address: str) -> Judge:
    """The judge "openai-decisions:NAME": at OpenAI, with the key in OPENAI_API_KEY, or where SETTINGS say."""
    found = parsed(address, SETTINGS)
    return OpenAIDecisions(found.place, **found.settings)


class OpenAIDecisions(OpenAIModel, Judge):
    """See `openai_decisions`. Threads may share it.

    The mark of a level is the expected one, and `NAME_levels` beside it has the probability of each; that of yes or no
    is the probability of yes. A question that was refused has null, and is among `refused`. There are no reasons.
    """

    vendor = OPENAI_DECISIONS
    gives_probabilities = True

    def __init__(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **settings)
        self._tally = Tally()
        self._about: Mapping[str, Any]
        self.name, self._about = as_judge(super().describe())

    def describe(self) -> Mapping[str, Any]:
        """See `Judge.describe`."""
        return self._about

    def mark(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Judge.mark`. SettingsError if the rubric has no questions."""
        if not rubric.questions:
            raise SettingsError(f"{self.name}: expected a rubric of questions, got {rubric.name} without any")
        answers = self._answers(rubric, evidence)
        marks: dict[str, Any] = copy.deepcopy(dict(rubric.frame))
        for question, answer in zip(rubric.questions, answers, strict=True):
            self._put(marks, question, answer)
        return marks

    def counted(self) -> Sequence[ModelUsage]:
        """See `Judge.counted`."""
        return self._tally.taken()

    def _answers(self, rubric: Rubric, evidence: Mapping[str, Any]) -> Sequence[Any]:
        client = self._client
        from openai import OpenAIError

        messages = [{"role": "developer", "content": rubric.text}, {"role": "user", "content": as_prompt(evidence)}]
        try:
            decision = client.with_options(max_retries=self.attempts - 1).decisions.create(
                model=self._model, input=messages, questions=list(map(_as_sent, rubric.questions))
            )
        except (OpenAIError, ValueError) as error:
            raise self._failure(error) from None
        answers, usage = getattr(decision, "answers", None), usage_in(decision)
        if usage or answers is not None:
            model = str(getattr(decision, "model", None) or self._model)
            self._tally.add(ModelUsage(self.services()[0].vendor, model, openai_counts(usage)))
        if not isinstance(answers, list) or len(answers) != len(rubric.questions):  # the SDK does not check the answer
            raise self.error(f"{self.server} answers with something other than decisions", transient=True)
        return list(answers)

    def _put(self, marks: dict[str, Any], question: RubricQuestion, answer: Any) -> None:  # noqa: ANN401
        """Put an answer into its place. InputError if it is not one to this question."""
        *above, name = question.where
        place: Any = marks
        for step in above:
            place = place[step]
        kind = getattr(answer, "type", None)
        if kind == "refusal":
            place[name] = None
            marks.setdefault("refused", []).append(question.ask)
        elif question.levels and kind == "score":
            shares = _shares(answer, len(question.levels))
            if shares is None:
                raise InputError(f"{self.name}: {question.ask}: expected a probability of each level, got others")
            place[name] = sum(level * share for level, share in enumerate(shares, 1))
            place[f"{name}_levels"] = shares
        elif not question.levels and kind == "predicate" and _is_share(answer.probability):
            place[name] = float(answer.probability)
        else:
            raise InputError(f"{self.name}: {question.ask}: expected a decision, got {kind}")


def _as_sent(question: RubricQuestion) -> dict[str, Any]:
    if not question.levels:
        return {"type": "predicate", "instructions": question.ask}
    levels = [{"label": str(number), "description": text} for number, text in enumerate(question.levels, 1)]
    return {"type": "score", "instructions": question.ask, "levels": levels}


def _shares(answer: Any, n: int) -> list[float] | None:  # noqa: ANN401
    """The probability of each of n levels by its label; None if they are not those, or do not sum to 1."""
    found = {each.label: each.probability for each in answer.probabilities or ()}
    if set(found) - {str(level) for level in range(1, n + 1)} or not all(map(_is_share, found.values())):
        return None
    shares = [float(found.get(str(level), 0.0)) for level in range(1, n + 1)]
    return [share / sum(shares) for share in shares] if abs(sum(shares) - 1) < 0.02 else None


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1
