"""Sets of records and responses written in short: "Com .6 Q .25 Inf .15"."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec import to_builtins

from fdbcore.suites.dialogue_acts.records import Annotation, Record, Reference, Response, Step
from fdbcore.suites.dialogue_acts.scoring import document as scoring
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS, ActSequence
from fdbcore.suites.dialogue_acts.sets import Answers, RecordSet

LETTERS = dict(zip(("Q", "ChkQ", "Ans", "Inf", "Req", "Sug", "Com"), ACTS, strict=True))


def sequence(text: str) -> list[tuple[str, float]]:
    words = text.split()
    return [(LETTERS[act], float(weight)) for act, weight in zip(words[::2], words[1::2], strict=True)]


def annotation(acts: ActSequence | str, annotator: str = "x", repeat: int = 1) -> Annotation:
    pairs = sequence(acts) if isinstance(acts, str) else acts
    return Annotation(annotator, tuple(Step(act, weight) for act, weight in pairs), repeat)


def record(id: str, *references: ActSequence | str, topic: str = "t") -> Record:
    replies = tuple(Reference(f"text {id}", annotation(acts, "unnamed")) for acts in references)
    return Record(id, f"user {id}", replies, f"background {id}", topic)


def record_set(*references: Sequence[ActSequence | str], name: str = "set") -> RecordSet:
    """Records r0, r1, ..., each with its list of references."""
    return RecordSet(name, {f"r{k}": record(f"r{k}", *choices) for k, choices in enumerate(references)})


def answers(of: RecordSet, *replies: ActSequence | str | None, system: str = "s") -> Answers:
    """One reply to each record, annotated by x; None: none was given."""
    responses = {id: [response(id, reply, system)] for id, reply in zip(of.records, replies, strict=True)}
    return Answers(of, system, responses)


def response(id: str, acts: ActSequence | str | None, system: str = "s", annotator: str = "x") -> Response:
    return Response(id, system, None) if acts is None else Response(id, system, "a", (annotation(acts, annotator),))


def repeated(id: str, passes: Mapping[int, str], system: str = "s", annotator: str = "x") -> Response:
    return Response(id, system, "a", tuple(annotation(acts, annotator, repeat) for repeat, acts in passes.items()))


def document(*given: Any, **named: Any) -> dict[str, Any]:
    """The document of responses as it is stored."""
    found: dict[str, Any] = to_builtins(scoring.document(*given, **named))
    return found


def row_of(content: dict[str, Any], system: str) -> dict[str, Any]:
    """The first row of a system over all records."""
    return next(row for row in content["rows"] if row["system"] == system and not row["subset"])


@st.composite
def sequences(draw: st.DrawFn, most: int = 4) -> list[tuple[str, float]]:
    """Normalised, of few acts and few weights, so that ties are common."""
    labels = draw(st.lists(st.sampled_from(ACTS[:3]), min_size=1, max_size=most))
    shares = draw(st.lists(st.integers(0, 4), min_size=len(labels), max_size=len(labels)).filter(any))
    return [(act, share / sum(shares)) for act, share in zip(labels, shares, strict=True)]
