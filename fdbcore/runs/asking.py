"""Asks judges, several requests at a time: what they answer is kept with the recordings, and what it cost is added up.

A request that fails is sent again by the vendor's SDK, as the server asks; what cannot be used is asked again here,
with the error. Once the budget is spent, or the judge fails again and again, nothing more is asked: what was answered
is kept, so that another scoring goes on.
"""

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from fdbcore.analysis.systems import JudgingSpent
from fdbcore.errors import InputError, PartyError, RecordingError, RefusalError, SettingsError
from fdbcore.measures.costs import Cost
from fdbcore.models.model_table import listed, price_usd
from fdbcore.protocols import Judge
from fdbcore.recording.files import json_text, write_pieces
from fdbcore.recording.form import NOT_OF_FORM
from fdbcore.runs.budget import Budget
from fdbcore.runtime.address import is_local
from fdbcore.runtime.json_values import json_value, parsed_json
from fdbcore.runtime.numbers import number_of
from fdbcore.runtime.whole_files import read_whole
from fdbcore.types import Rubric
from fdbcore.types.usage import ModelUsage, Unit

JUDGED: Final = "derived/judged.json"
"""The answers of judges about a recording by what was asked, so that no judge is asked twice; and what they counted."""

TRIES: Final = 2
NOT_ASKED: Final = "not asked"
"""The beginning of the reason of an answer that is missing because the desk had stopped."""
MOST_FAILURES: Final = 8
"""After so many requests in a row that a judge did not answer, or not so that it can be used, no other begins."""

Check: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], None]
"""Raises InputError, or any error of reading another form, if marks cannot be used; it gets the evidence, too."""


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """One request to a judge. evidence: what it reads. check: see `Check`."""

    rubric: Rubric
    evidence: Mapping[str, Any]
    check: Check


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """The marks that a judge gave, or why there are none."""

    marks: Mapping[str, Any] | None
    reason: str = ""


class KeptAnswers:
    """Answers of judges, on disk: in `JUDGED` of a recording, or in another file. Threads may share it, and processes
    may write the same file. One that is damaged is set aside (FILE.damaged, FILE.damaged.damaged, ...) when the next
    answer comes. damaged: whether that which was read was.
    """

    damaged = False

    def __init__(self, file: Path) -> None:
        self.path = file
        self._lock = threading.Lock()
        self._known: dict[str, Any] = {}
        self._text = ""
        self._read()

    def marks(self, key: str) -> Mapping[str, Any] | None:
        """The answer; None if nothing usable was answered."""
        return self._known.get(key)

    def usages(self, key: str) -> Sequence[Mapping[str, Any]]:
        """The counts of the requests for this answer, one each; see `note`."""
        found: Sequence[Mapping[str, Any]] = self._known.get("usage", {}).get(key, ())
        return found

    def note(self, key: str, usages: Sequence[dict[str, Any]], marks: Mapping[str, Any] | None) -> None:
        """Keep what a request counted (each with the host that was asked), and its marks unless they are None."""
        if not usages and marks is None:
            return

        def pieces() -> Iterator[str]:
            self._read(sets_aside=True)  # again: another process may have added to it
            if usages:
                self._known.setdefault("usage", {}).setdefault(key, []).extend(usages)
            if marks is not None:
                self._known[key] = marks
            self._text = json_text(self._known)
            yield self._text

        with self._lock:
            write_pieces(self.path, pieces())

    def _read(self, sets_aside: bool = False) -> None:
        """Take what is in the file, unless this object has written it. RecordingError if it cannot be read."""
        try:
            text = read_whole(self.path).decode() if self.path.is_file() else ""
            if text == self._text:
                return
            known = parsed_json(text) if text else {}
            for usage in chain.from_iterable(known.get("usage", {}).values()):
                cost_of([usage]), number_of(sum(ModelUsage.from_json(usage).counts.values()))
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be read: {error.strerror}") from error
        except NOT_OF_FORM:
            known, text, self.damaged = {}, "", True
            if sets_aside:
                aside = f"{self.path}.damaged"
                while os.path.lexists(aside):
                    aside += ".damaged"
                self.path.replace(aside)
        self._known, self._text = known, text


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """A question to a judge. repeat: the how many-th time, from 0."""

    kept: KeptAnswers
    judge: Judge
    question: JudgeQuestion
    repeat: int = 0

    @property
    def key(self) -> str:
        """Of its answer: the same for the same question to a judge of the same name, server and settings."""
        rubric, judge = self.question.rubric, [self.judge.name, self.judge.describe()]
        asked: list[Any] = [judge, rubric.text, rubric.schema, self.question.evidence]
        if self.repeat:
            asked.append(self.repeat)
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def known(self) -> Mapping[str, Any] | None:
        """The marks that were answered before; None if there are none that can be used."""
        marks = self.kept.marks(self.key)
        try:
            if marks is not None:
                self.check(marks)
        except NOT_OF_FORM:
            return None
        return marks

    def check(self, marks: Mapping[str, Any]) -> None:
        """Raises as `Check` does; InputError also for a number in place of yes or no, if the judge gives none."""
        self.question.check(marks, self.question.evidence)
        if self.judge.gives_probabilities:
            return
        for where in (each.where for each in self.question.rubric.questions if not each.levels):
            answer: Any = marks
            for step in where:
                answer = answer[step]
            if isinstance(answer, float):
                raise InputError(f"{where[-1]}: expected true, false or null, got {answer!r}")


class Desk:
    """Lets requests begin while the budget and the judge allow it. limit_usd: of all requests; None for no limit."""

    def __init__(self, limit_usd: float | None = None) -> None:
        self._budget = None if limit_usd is None else Budget(limit_usd)
        self._changed = threading.Condition()
        self._under_way = self._ended = self._failures = 0
        self.stopped = ""
        """The reason why nothing more is asked."""

    def may_begin(self) -> bool:
        """True if one more request may be sent; waits while only the cost of those under way can tell."""
        with self._changed:
            while not self.stopped and self._budget is not None and not self._budget.allows(self._under_way):
                if not self._under_way:
                    self._stop(self._budget.why_not)
                    return False
                self._changed.wait()
            if self.stopped:
                return False
            self._under_way += 1
            return True

    def ended(self, cost: Cost, failure: str) -> None:
        """Take what a request has cost, and why its answer cannot be used ("" if it can, or was declined)."""
        with self._changed:
            self._under_way -= 1
            self._ended += 1
            if self._budget is not None:
                self._budget.note(str(self._ended), cost)
            self._failures = self._failures + 1 if failure else 0
            if self._failures == MOST_FAILURES:
                self._stop(f"{MOST_FAILURES} requests in a row failed, the last one with: {failure}")
            self._changed.notify_all()

    def _stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason
        self._changed.notify_all()


class AnswersOnce(NamedTuple):
    """Answers in the order of the requests. asked: how many questions were asked now; kept: answered before; unusable:
    answered before, too, but in a way that cannot be used. damaged: files of answers that cannot be read.
    """

    answers: list[JudgeAnswer]
    asked: int
    kept: int
    unusable: int
    damaged: Sequence[Path]

    @property
    def told(self) -> str:
        """The counts in words."""
        unusable = f"; {self.unusable:,} of the kept answers cannot be used" if self.unusable else ""
        damaged = "".join(f"; {path} is damaged: what it answers is asked again" for path in self.damaged)
        return f"questions to judges: {self.asked:,} asked now, {self.kept:,} answered before{unusable}{damaged}"


def ask_each_once(requests: Sequence[JudgeRequest], desk: Desk, jobs: int, show: Callable[[str], None]) -> AnswersOnce:
    """The answers to all requests, `jobs` at a time. What was answered before is not asked again, and requests whose
    answer is kept in the same place under the same key are one question.

    SettingsError if a judge cannot be asked at all, such as without its key.
    """
    unlike = {(id(each.kept), each.key): each for each in requests}
    kept = sum(each.known is not None for each in unlike.values())
    unusable = sum(each.kept.marks(each.key) is not None for each in unlike.values()) - kept
    answers = {}
    context = copy_context()  # stated prices hold in its threads, too
    with ThreadPoolExecutor(jobs) as pool:
        given = pool.map(lambda request: context.copy().run(_answer, request, desk), unlike.values())
        for number, ((key, request), answer) in enumerate(zip(unlike.items(), given, strict=True), 1):
            show(f"{request.judge.name}: {number} of {len(unlike)} questions answered")
            answers[key] = answer
    unasked = sum(each.reason.startswith(NOT_ASKED) for each in answers.values())
    found = [answers[id(each.kept), each.key] for each in requests]
    damaged = sorted({each.kept.path for each in requests if each.kept.damaged})
    return AnswersOnce(found, len(unlike) - kept - unasked, kept, unusable, damaged)


def _answer(request: JudgeRequest, desk: Desk) -> JudgeAnswer:
    question, key = request.question, request.key
    if (known := request.known) is not None:
        return JudgeAnswer(known)
    asked, reason = dict(question.evidence), ""
    for _ in range(TRIES):
        if not desk.may_begin():
            return JudgeAnswer(None, f"{NOT_ASKED}: {desk.stopped}")
        marks, failure, unusable = None, "", ""
        try:
            given = json_value(json.dumps(dict(request.judge.mark(question.rubric, asked))))  # as it will be kept
            request.check(given)
            marks = given
        except SettingsError:
            raise
        except RefusalError as error:
            reason = str(error)
        except PartyError as error:
            reason = failure = str(error)
        except KeyError as error:
            reason = unusable = f"expected {error}, which is missing"
        except NOT_OF_FORM as error:
            reason = unusable = str(error)
        finally:
            usages = [_stored(usage, request.judge) for usage in request.judge.counted()]
            request.kept.note(key, usages, marks)
            desk.ended(cost_of(usages), failure or unusable)
        if marks is not None:
            return JudgeAnswer(marks)
        if not failure:
            asked = {**question.evidence, "your_last_answer_could_not_be_used": reason}
    return JudgeAnswer(None, reason)


def spent_on(requests: Iterable[JudgeRequest], repeats: int, stopped: str) -> JudgingSpent:
    """The cost of the answers, all their requests included, whenever they were sent. stopped: as of the desk.

    A request is unpriced if its price is not known, or if it did not say what it counted.
    """
    unlike = {(id(each.kept), each.key): each for each in requests}.values()
    usages = [usage for each in unlike for usage in each.kept.usages(each.key)]
    costs = [cost_of([usage]) for usage in usages]
    counts: Counter[Unit] = Counter()
    for usage in usages:
        counts.update(ModelUsage.from_json(usage).counts)
    return {
        "repeats": repeats,
        "requests": len(usages),
        "counts": {unit: count for unit, count in counts.items() if count},
        "usd": sum((cost.usd for cost in costs), 0.0),
        "unpriced": sum(cost.unpriced for cost in costs),
        "priced_on": min((cost.priced_on.isoformat() for cost in costs if cost.priced_on), default=None),
        "temperatures": sorted({usage.get("temperature") for usage in usages}, key=lambda each: (each is None, each)),
        "stopped": stopped or None,
    }


def cost_of(usages: Sequence[Mapping[str, Any]]) -> Cost:
    """The cost of one request by what it counted; a server in one's own network costs nothing."""
    if not usages:
        return Cost(calls=1, incomplete=1)
    prices = [_usd(usage) for usage in usages]
    models = [listed(usage["vendor"], usage["model"]) for usage in usages]
    dates = [model.priced.on for model in models if model and model.priced]
    return Cost(sum(filter(None, prices)), 1, int(None in prices), 0, min(dates, default=None))


def _usd(usage: Mapping[str, Any]) -> float | None:
    counted = ModelUsage.from_json(usage)
    if not counted.vendor and is_local(usage["host"]):
        return 0.0
    return price_usd(replace(counted, vendor=counted.vendor or usage["host"])) if counted.counts else None


def _stored(usage: ModelUsage, judge: Judge) -> dict[str, Any]:
    host = next((service.host for service in judge.services()), "")
    counts = {str(unit): count for unit, count in usage.counts.items()}
    sent = {} if usage.temperature is None else {"temperature": usage.temperature}
    return {"host": host, "vendor": usage.vendor, "model": usage.model, **counts, **sent}
