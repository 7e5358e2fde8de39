"""Scores documents of the dialogue-act suite, of any size, for the tests of its drawings."""

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from helpers.act_sets import annotation, document
from msgspec import to_builtins

from fdbcore.recording.form import converted
from fdbcore.suites.dialogue_acts.records import REFERENCE, Record, Reference, Response
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS
from fdbcore.suites.dialogue_acts.scoring.comparison import ScoringSettings
from fdbcore.suites.dialogue_acts.scoring.scores import ActsItem, items_of, system_row
from fdbcore.suites.dialogue_acts.sets import Answers, RecordSet

AUTHORED: Final = (
    (
        "timer",
        "パスタをゆでるから、8分たったら教えて。",
        "わかりました。8分後に音でお知らせします。ほかの鍋もはかりますか？",
    ),
    (
        "messages",
        "母に伝言を残して。",
        "どんな伝言にしますか？録音が終わったら「おわり」と言ってください。すぐに送ります。",
    ),
    (
        "calendar",
        "来月3日に歯医者の予約を入れて。",
        "はい、カレンダーに入れますね。何時からですか？どこの歯医者さんですか？",
    ),
    ("alarm", "今日のアラームは？", "アラームは6時半と7時の2件です。どちらか止めますか？"),
    ("weather", "傘いるかな。", "夕方から雨なので、折りたたみ傘があると安心です。"),
)
PAPER: Final = (
    ([("Commissive", 0.6), ("Question", 0.25), ("Inform", 0.15)], [("Inform", 1.0)]),
    ([("Question", 0.65), ("Inform", 0.15), ("Commissive", 0.2)], [("Request", 0.7), ("Question", 0.3)]),
    (
        [("Commissive", 0.6), ("Question", 0.2), ("Question", 0.2)],
        [("Check-Question", 0.3), ("Inform", 0.5), ("Inform", 0.2)],
    ),
    ([("Inform", 0.65), ("Question", 0.35)], [("Inform", 0.75), ("Question", 0.25)]),
)
"""The sequences of the paper's Table 2."""

Sequence_ = list[tuple[str, float]]


def make_item(reference: Sequence_, reply: Sequence_, **given: Any) -> dict[str, Any]:
    """An item of a document; `given` replaces any of its texts."""
    texts = {"reference_text": AUTHORED[0][2], "response_text": "タイマーを始めました。"}
    texts |= {name: given.pop(name) for name in texts if name in given}
    said, heard = texts["reference_text"], texts["response_text"]
    records = RecordSet("smoke", {"r1": _record("r1", "timer", AUTHORED[0][1], said, reference)})
    answers = Answers(records, "good", {"r1": [_response("r1", "good", heard, reply)]})
    (item,) = items_of(system_row(answers, "authored", "given"), [answers])
    found: dict[str, Any] = to_builtins(item)
    return found | given


def make_document(systems: Sequence[str] = ("good", "terse"), n: int = 20, seed: int = 1) -> dict[str, Any]:
    """A document of `n` records and these systems, the earlier ones the better."""
    draw = random.Random(seed)
    records, replies = {}, []
    for number in range(n):
        (topic, user, text), id = AUTHORED[number % len(AUTHORED)], f"r{number}"
        reference = _sequence(draw)
        records[id] = _record(id, topic, user, text, reference)
        replies.append(_response(id, REFERENCE, text, reference))
        for place, system in enumerate(systems):
            kept = [step for step in reference if draw.random() > 0.2 + 0.3 * place] or reference[:1]
            said = _scaled([*kept, *([draw.choice(reference)] if draw.random() < 0.2 else _sequence(draw)[:1])])
            replies.append(_response(id, system, f"{text[: 8 + number % 9]}。", said))
    return document([RecordSet("smoke", records)], replies, settings=ScoringSettings(resamples=200, merged=False))


def _record(id: str, topic: str, user: str, text: str, reference: Sequence_) -> Record:
    good = Reference(text, annotation(reference, "authored"))
    return Record(id, user, (good,), "台所で料理をしている。", topic, generator="authored")


def _response(id: str, system: str, text: str | None, acts: Sequence_) -> Response:
    return Response(id, system, text, () if text is None else (annotation(acts, "authored"),))


def systems_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a document over all its records."""
    return [row for row in document["rows"] if not row["subset"]]


def as_item(made: dict[str, Any]) -> ActsItem:
    """An item as the suite has it."""
    found: ActsItem = converted(made, ActsItem)
    return found


def _sequence(draw: random.Random) -> Sequence_:
    cuts = sorted(draw.sample(range(1, 20), draw.randint(0, 3)))
    return [(draw.choice(ACTS), (high - low) / 20) for low, high in pairwise([0, *cuts, 20])]


def _scaled(sequence: Sequence_) -> Sequence_:
    total = sum(weight for _, weight in sequence)
    return [(act, weight / total) for act, weight in sequence]
