"""Asks models for many items: tells a model what is wrong with its answer, and waits for errors that pass."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from fdbcore.errors import CutOffError, InputError, PartyError, RefusalError
from fdbcore.protocols import Model
from fdbcore.runtime.json_values import json_value
from fdbcore.suites.dialogue_acts.models.prompts import Prompts
from fdbcore.types import Request

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_ASKED: Final = 3
"""How often a model is asked for one item: first, and again with what was wrong with its last answer."""

MOST_LEFT: Final = 3
"""If this many items in a row could not be asked for, the server counts as unreachable."""


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
