"""Requests of a scoring: a model is told what is wrong with its answer, and errors that pass are waited for."""

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Self, TypeVar

from fdbcore.errors import CutOffError, InputError, PartyError, RefusalError, SettingsError, told_as
from fdbcore.protocols import Model, Transcriber
from fdbcore.registry import model, transcriber
from fdbcore.runs import JudgeOptions
from fdbcore.runtime import json_value, redacted
from fdbcore.suites.dialogue_acts.models.prompts import Prompts
from fdbcore.types import Request

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_ASKED: Final = 3
"""Requests to a model for one item: first, and again with what was wrong with its last answer."""

MOST_LEFT: Final = 3
"""If this many items in a row could not be asked for, the server counts as unreachable."""

DEFAULT_REQUESTS: Final = 4
KEPT: Final = "annotator-replies.jsonl"
"""In the results folder: what annotators have answered."""


@dataclass(frozen=True, slots=True)
class Named:
    """An annotator as the user names it. set: which set it annotates; "" for every set without one of its own."""

    set: str
    model: Model


@dataclass(frozen=True, slots=True)
class ScoringJob:
    """A user's wishes for a scoring, and its helpers: annotators, and if named a transcriber and a judge.

    out: the results folder. jobs: so many requests at a time.
    """

    options: Mapping[str, Any]
    annotators: Sequence[Named]
    transcriber: Transcriber | None
    judging: JudgeOptions
    out: Path = Path()
    jobs: int = DEFAULT_REQUESTS
    show: Callable[[str], None] = print

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """SettingsError for helpers that there are not, several judges, or turns to judge without good replies."""
        annotators = named(options)
        with told_as("--transcriber", "asr"):
            hears = None if options["transcriber"] is None else transcriber(options["transcriber"])
        return cls(options, annotators, hears, judge_options(options))

    @property
    def models(self) -> list[Model]:
        """The annotators of turns, which belong to no set. SettingsError for one of a set."""
        if of_sets := [one.set for one in self.annotators if one.set]:
            what = f"--annotator {of_sets[0]}=..."
            raise SettingsError(f"{what}: expected VENDOR:NAME beside --turns, which has no sets")
        return [one.model for one in self.annotators]


@dataclass(frozen=True, slots=True)
class Good(Generic[Item]):
    """An answer that can be used. asked: after how many attempts."""

    item: Item
    text: str
    asked: int


@dataclass(frozen=True, slots=True)
class Bad:
    """An answer that cannot be used, and why; refused: the model declined. request: what it answers."""

    reason: str
    text: str
    asked: int
    request: Request | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """An item that could not be asked for, for a reason that may pass."""

    reason: str


def ask_for(
    model: Model, prompts: Prompts, request: Request, check: Callable[[str], Item], last: Bad | None = None
) -> Good[Item] | Bad:
    """Ask until `check` accepts the answer (its InputError says what is wrong), at most MOST_ASKED times in all.

    last: the previous answer, if there is one. A refusal ends it. Raises PartyError if the model cannot be reached.
    """
    while last is None or last.asked < MOST_ASKED:
        asked = 1 if last is None else last.asked + 1
        now = request if last is None else prompts.again(request, last.text, last.reason, last.asked)
        try:
            text = model.ask(now).text
        except CutOffError as error:
            last = Bad(str(error), error.text, asked, now)
            continue
        except RefusalError as error:
            return Bad(str(error), "", asked, now, refused=True)
        try:
            return Good(check(text), text, asked)
        except InputError as error:
            last = Bad(str(error), text, asked, now)
    return last


def in_order(tasks: Sequence[Callable[[], Result]], jobs: int) -> Generator[Result | Left]:
    """The results in the order of the tasks; `jobs` tasks run at a time.

    A task that raises a transient PartyError is left. After MOST_LEFT of these in a row, and for any other error, no
    more tasks begin, the running ones end, and the error is raised. Close the iterator if you may stop before its end.
    """
    pool = ThreadPoolExecutor(jobs)
    left = 0
    try:
        for future in [pool.submit(task) for task in tasks]:
            try:
                result: Result | Left = future.result()
                left = 0
            except PartyError as error:
                left += 1
                if not error.transient or left == MOST_LEFT:
                    raise
                result = Left(str(error))
            yield result
    finally:
        pool.shutdown(cancel_futures=True)


def parse_json(text: str) -> Any:  # noqa: ANN401
    """The JSON value of an answer; InputError if the answer is anything else."""
    try:
        return json_value(text)
    except ValueError as error:
        raise InputError(f"expected one JSON value and nothing else: {error}") from error


def named(options: Mapping[str, Any]) -> list[Named]:
    """The annotators of the options: ADDRESS, or SET=ADDRESS."""
    with told_as("--annotator", "model"):
        return [_named(text) for text in options["annotator"]]


def _named(text: str) -> Named:
    of, sign, address = text.partition("=")
    if not sign or ":" in of or "?" in of:  # an address begins with its scheme
        return Named("", model(text))
    if not of or not address:
        raise SettingsError(f"model: expected SET=VENDOR:NAME, got {redacted(text)!r}")
    return Named(of, model(address))


def judge_options(options: Mapping[str, Any]) -> JudgeOptions:
    """The judges: none, or one. SettingsError for several, options of none, or turns without good replies."""
    asked = {**options, "repeats": options["repeats"] if options["judge"] else 1}
    found = JudgeOptions.of(asked)
    if len(found.judges) > 1:
        raise SettingsError(f"--judge: expected one, got {len(found.judges)}")
    if found.judges and options["turns"] and not options["references"]:
        raise SettingsError("--judge: expected --references beside --turns: a judge compares replies with good ones")
    return found
