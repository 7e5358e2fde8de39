"""Records (requests with reference replies) and responses (replies of systems), as lines of JSONL.

A record has the form of the paper (section 3.3, appendix A): `scenario_context`, `input`, `output`,
`output_dialogue_acts`; beside it `id`, and where known `topic`, `generator` and `alternatives` (further good replies).
A response has `id` (of its record), `system`, `text` (null: it gave none, and `reason`), and `annotations`.

A line that cannot be used is named and left out; the others stay.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeVar

from msgspec import Meta, Struct, structs, to_builtins

from fdbcore.errors import ActError, InputError
from fdbcore.runtime import MOST_DEPTH, clean, is_flat, utf8_text
from fdbcore.suites.dialogue_acts.tag_sets import TagSet, paper_acts
from fdbcore.types import Problem

REFERENCE: Final = "reference"
"""The "system" whose responses are the reference texts themselves: annotated again, they are the ceiling."""

SUM_TOLERANCE: Final = 0.01
"""Importances that sum to 1 within this are scaled to 1, which is noted; others are an error."""

ROUNDING: Final = 1e-9
"""The error of decimal fractions in binary: 0.99 is within the tolerance."""


class Step(Struct, frozen=True, omit_defaults=True):
    """One dialogue act of a reply: `act` is one of a tag set, `importance` its share of the whole."""

    act: str
    importance: float
    words: Annotated[str, Meta(description="that it stands for, as the annotator quotes them, right or not")] = ""
    is_quote: Annotated[bool, Meta(description="false where the reply does not have these words")] = True
    rationale: Annotated[str, Meta(description="why the annotator chose it")] = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """The acts of one reply; their importances sum to 1. Empty for a reply without acts.

    annotator: who labelled it. repeat: the number of this annotation, from 1. scaled_from: what the importances summed
    to before they were scaled to 1, or None. rules: the hash of what a model was told to label by, or "".
    """

    annotator: str
    steps: tuple[Step, ...]
    repeat: int = 1
    scaled_from: float | None = None
    rules: str = ""

    @property
    def sequence(self) -> list[tuple[str, float]]:
        """(act, importance) of each step, as `fdbcore.align_acts` takes them."""
        return [(step.act, step.importance) for step in self.steps]

    def to_json(self) -> dict[str, Any]:
        """The annotation as it stands in `annotations` of a response."""
        known = {"scaled_from": self.scaled_from, "rules": self.rules or None}
        more = {name: value for name, value in known.items() if value is not None}
        return {"annotator": self.annotator, "repeat": self.repeat, "steps": to_builtins(self.steps)} | more


@dataclass(frozen=True, slots=True)
class Reference:
    """One good reply, with its acts."""

    text: str
    annotation: Annotation


@dataclass(frozen=True, slots=True)
class Record:
    """One request of a user, with its good replies; the first of `references` is the paper's.

    user: the recorded user whose turn it is; the turns of one depend on each other. Empty for a request that stands
    alone. where: the line that it was read from, for messages.
    """

    id: str
    user_text: str
    references: tuple[Reference, ...]
    background: str = ""
    topic: str = ""
    locale: str = "ja-JP"
    generator: str = ""
    user: str = ""
    where: str = field(default="", compare=False)

    @classmethod
    def from_json(cls, line: Mapping[str, Any], as_given: bool = False, tags: TagSet | None = None) -> Self:
        """The record of a line; as_given, tags: as of `parse_steps`. InputError says what is wrong with it."""
        generator = _text(line, "generator", "")
        replies = [line, *_list(line, "alternatives")]
        given = _mapping(line, "input")
        if "id" not in line:
            raise InputError(
                "id: expected one, by which replies name the record; the paper's own form has none: add it"
            )
        return cls(
            id=_text(line, "id"),
            user_text=_text(given, "text"),
            references=tuple(_reference(reply, generator or "unnamed", as_given, tags) for reply in replies),
            background=_text(_mapping(line, "scenario_context"), "background"),
            topic=_text(line, "topic", ""),
            locale=_text(given, "locale", "ja-JP"),
            generator=generator,
        )

    def to_json(self) -> dict[str, Any]:
        """The line of the record."""
        first, *others = [
            {
                "output": {"role": "ASSISTANT", "text": reference.text},
                "output_dialogue_acts": {"steps": to_builtins(reference.annotation.steps)},
            }
            for reference in self.references
        ]
        known = {"topic": self.topic, "generator": self.generator}
        return {
            "id": self.id,
            **{name: value for name, value in known.items() if value},
            "scenario_context": {"background": self.background},
            "input": {"role": "USER", "text": self.user_text, "locale": self.locale},
            **first,
            **({"alternatives": others} if others else {}),
        }


class SaidApart(Struct, frozen=True):
    """Words of a live party beside its reply."""

    part: Annotated[str, Meta(description="before its reply, in a further turn, or aside")]
    start_s: float
    end_s: float
    text: Annotated[str | None, Meta(description="null if its words are not known")]


class LiveReply(Struct, frozen=True):
    """The place of a reply in its call."""

    call: Annotated[str, Meta(description="the folder of the recording")]
    start_s: Annotated[float | None, Meta(description="null if there is no reply")]
    end_s: float | None
    after_s: Annotated[float | None, Meta(description="from the end of the user's turn; negative if both spoke")]
    apart: Sequence[SaidApart] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """A system's reply to the request of record `id`; without a reply, text is None, and `reason` says why.

    set: the name of the set that has the record, or "". trial: which of several replies to one request, from 1.
    where: the line that it was read from, for messages. live: where the reply lies, if it was given in a call; a file
    of responses does not have it.
    """

    id: str
    system: str
    text: str | None
    annotations: tuple[Annotation, ...] = ()
    reason: str = ""
    set: str = ""
    trial: int = 1
    where: str = field(default="", compare=False)
    live: LiveReply | None = field(default=None, compare=False)

    @classmethod
    def from_json(cls, line: Mapping[str, Any], as_given: bool = False, tags: TagSet | None = None) -> Self:
        """The response of a line; `output_dialogue_acts`, as a record has them, are taken as one annotation."""
        annotations = [_annotation(item, as_given, tags) for item in _list(line, "annotations")]
        if "output_dialogue_acts" in line:
            steps, scaled_from = parse_steps(line["output_dialogue_acts"], as_given, tags)
            annotations.append(Annotation("unnamed", steps, scaled_from=scaled_from))
        passes = [(annotation.annotator, annotation.repeat) for annotation in annotations]
        if again := next((one for one in passes if passes.count(one) > 1), None):
            raise InputError(f"annotations: expected repeat {again[1]} of {again[0]} only once, got it again")
        text = None if line.get("text") is None else _text(line, "text", "")
        reason, of = _text(line, "reason", ""), _text(line, "set", "")
        trial = _from_1(line, "trial")
        return cls(_text(line, "id"), _text(line, "system"), text, tuple(annotations), reason, of, trial)

    def to_json(self) -> dict[str, Any]:
        """The line of the response."""
        annotations = [annotation.to_json() for annotation in self.annotations]
        trial = self.trial if self.trial > 1 else None
        told = (("set", self.set), ("trial", trial), ("reason", self.reason))
        known = {name: value for name, value in told if value}
        return {"id": self.id, "system": self.system, "text": self.text, **known, "annotations": annotations}


Line = TypeVar("Line", Record, Response)


class Lost(Problem):
    """A response that exists but cannot be used."""

    key: tuple[str, str]

    @classmethod
    def of(cls, where: str, reason: str, key: tuple[str, str]) -> Self:
        """key: id and system."""
        lost = cls(where, reason)
        lost.key = key
        return lost


class _SumError(ActError):
    """The importances do not sum to 1."""


def read_records(path: Path, as_given: bool = False, tags: TagSet | None = None) -> tuple[list[Record], list[Problem]]:
    """The records of a JSONL file in its order, and what is wrong with the other lines (such as a repeated id).

    as_given: use importances that do not sum to 1 as they are. tags: None for the acts of the paper. InputError if the
    file cannot be read or has no record.
    """
    return _read(path, lambda line: Record.from_json(line, as_given, tags), lambda record: record.id)


def read_responses(
    path: Path, as_given: bool = False, tags: TagSet | None = None
) -> tuple[list[Response], list[Problem]]:
    """Like `read_records`, for responses; an id may occur once for each system, set and trial."""
    return _read(
        path,
        lambda line: Response.from_json(line, as_given, tags),
        lambda one: (one.set, one.id, one.system, one.trial),
    )


def jsonl(items: Iterable[Record | Response]) -> str:
    """The text of a JSONL file, without known secrets."""
    return "".join(json.dumps(clean(item.to_json()), ensure_ascii=False, allow_nan=False) + "\n" for item in items)


def parse_steps(
    value: object, as_given: bool = False, tags: TagSet | None = None
) -> tuple[tuple[Step, ...], float | None]:
    """The steps of `{"steps": [{"act", "importance", "words"?, "rationale"?}, ...]}`, and their sum if scaled to 1.

    tags: None for the acts of the paper.
    Raises ActError for another form, no steps, an unknown act, an importance that is no number from 0 to 1, or a sum
    that differs from 1 by more than SUM_TOLERANCE (with as_given, any sum is fine and nothing is scaled).
    """
    given = value.get("steps") if isinstance(value, Mapping) else None
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ActError(f'acts: expected {{"steps": [...]}}, got {_short(value)}')
    if not given:
        raise ActError("acts: expected at least one, got none")
    steps = tuple(_step(number, item, tags or paper_acts()) for number, item in enumerate(given))
    total = math.fsum(step.importance for step in steps)
    if as_given or abs(total - 1) <= ROUNDING:
        return steps, None
    if abs(total - 1) > SUM_TOLERANCE + ROUNDING:
        raise _SumError(f"acts: expected importances that sum to 1 within {SUM_TOLERANCE:g}, got {total:.9g}")
    scaled = tuple(structs.replace(step, importance=step.importance / total) for step in steps)
    return scaled, round(total, 9)


def quoted(steps: Iterable[Step], text: str | None) -> list[Step]:
    """The steps of a reply; words that its text does not have are marked."""
    return [structs.replace(step, is_quote=not step.words or text is None or step.words in text) for step in steps]


def _step(number: int, item: object, tags: TagSet) -> Step:
    if not isinstance(item, Mapping) or item.get("act") not in tags.names:
        act = item.get("act") if isinstance(item, Mapping) else item
        raise ActError(f"act {number}: expected one of {', '.join(tags.names)}, got {_short(act)}")
    importance = item.get("importance")
    if not isinstance(importance, int | float) or isinstance(importance, bool) or not 0 <= importance <= 1:
        raise ActError(f"act {number}: expected an importance from 0 to 1, got {_short(importance)}")
    rationale, words = (_said(number, item, name) for name in ("rationale", "words"))
    return Step(item["act"], float(importance), words, rationale=rationale)


def _said(number: int, item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if value is not None and (not isinstance(value, str) or value != _writable(value)):
        raise ActError(f"act {number}: expected a text as its {name}, got {_short(value)}")
    return value or ""


def _read(
    path: Path, parse: Callable[[Mapping[str, Any]], Line], key: Callable[[Line], object]
) -> tuple[list[Line], list[Problem]]:
    found: dict[object, Line] = {}
    problems: list[Problem] = []
    for where, text in _lines(path):
        named, line = where, dict[str, Any]()
        try:
            line = _object(text)
            named = f"{where} ({_writable(line['id'])})" if isinstance(line.get("id"), str) else where
            item = replace(parse(line), where=named)
            if key(item) in found:
                raise InputError("expected an id only once, got it again")
            found[key(item)] = item
        except InputError as error:
            problems.append(_problem(named, line, error))
    if not found:
        first = f": {problems[0].where}: {problems[0].reason}" if problems else ""
        raise InputError(f"{path}: expected JSON lines, found none that can be used{first}")
    return list(found.values()), problems


def _problem(where: str, line: Mapping[str, Any], error: InputError) -> Problem:
    """The problem of a line, and for a response, which one it is."""
    hint = " (fdbcore score --as-given takes them as they are)" if isinstance(error, _SumError) else ""
    try:
        return Lost.of(where, f"{error}{hint}", (_text(line, "id"), _text(line, "system")))
    except InputError:
        return Problem(where, f"{error}{hint}")


def _lines(path: Path) -> list[tuple[str, str]]:
    numbered = enumerate(utf8_text(path).split("\n"), 1)  # not splitlines: a text may hold other separators
    return [(f"{_writable(str(path))}, line {number}", line) for number, line in numbered if line.strip()]


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_unlike)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected JSON, got {_short(text)} ({error})") from error
    if not is_flat(value, MOST_DEPTH):
        raise InputError(f"expected JSON nested up to {MOST_DEPTH} deep, got a deeper value")
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object, got {_short(value)}")
    return value


def _unlike(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The JSON object of these pairs; InputError if a key occurs twice, as only the last would count."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for name in found if names.count(name) > 1)
        raise InputError(f"expected each key once in an object, got {_short(again)} {names.count(again)} times")
    return found


def _reference(reply: object, annotator: str, as_given: bool, tags: TagSet | None) -> Reference:
    given = _of_kind(reply, Mapping, "alternatives: expected objects with output and output_dialogue_acts")
    text = _text(_mapping(given, "output"), "text")
    steps, scaled_from = parse_steps(given.get("output_dialogue_acts"), as_given, tags)
    return Reference(text, Annotation(annotator, steps, scaled_from=scaled_from))


def _annotation(item: object, as_given: bool, tags: TagSet | None) -> Annotation:
    given = _of_kind(item, Mapping, "annotations: expected objects with annotator and steps")
    repeat, before = _from_1(given, "repeat"), given.get("scaled_from")
    if before is not None and (not isinstance(before, int | float) or not math.isfinite(before)):
        raise InputError(f"scaled_from: expected a number, got {_short(before)}")
    steps, scaled_from = parse_steps(given, as_given, tags)
    return Annotation(_text(given, "annotator"), steps, repeat, scaled_from or before, _text(given, "rules", ""))


def _from_1(line: Mapping[str, Any], name: str) -> int:
    number = line.get(name, 1)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InputError(f"{name}: expected a whole number from 1, got {_short(number)}")
    return number


def _mapping(line: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _of_kind(line.get(name), Mapping, f"{name}: expected an object")
    return found


def _list(line: Mapping[str, Any], name: str) -> list[Any]:
    found: list[Any] = _of_kind(line.get(name, []), list, f"{name}: expected a list")
    return found


def _of_kind(value: Any, kind: type, expected: str) -> Any:  # noqa: ANN401
    if not isinstance(value, kind):
        raise InputError(f"{expected}, got {_short(value)}")
    return value


def _text(line: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """The text `name`; it may be missing or empty only if there is a default."""
    value = line.get(name, default)
    if not isinstance(value, str) or not (value.strip() or default is not None):
        raise InputError(f"{name}: expected a text, got {_short(value)}")
    if value != _writable(value):
        raise InputError(f"{name}: expected Unicode, got half of a surrogate pair")
    return value


def _short(value: object) -> str:
    text = _writable(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _writable(text: str) -> str:
    """The text, with what UTF-8 cannot hold as escapes: JSON may contain half of a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
