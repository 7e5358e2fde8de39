"""A scores document of the dialogue-act suite, of any size and with true alignments, for the tests of its drawings."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise
from statistics import fmean, stdev
from typing import Any, Final

from fdbcore.recording.form import converted
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS, align_acts
from fdbcore.suites.dialogue_acts.scoring.scores import ActsItem
from fdbcore.suites.dialogue_acts.tag_sets import paper_acts

CONDITION: Final = "smoke, annotated by authored"
MEASURES: Final = ("wlcs", "wed", "deletion", "insertion", "substitution", "recall", "f1")
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
    """An item of a document, aligned; `given` replaces any of its texts."""
    found = align_acts(reference, reply)
    recall = align_acts(reply, reference).weighted_lcs  # the reference's weights count where it is the prediction
    wlcs = found.weighted_lcs
    texts = {name: given.pop(name) for name in ("reference_text", "response_text") if name in given}
    return {
        "set": "smoke",
        "id": "r1",
        "topic": "timer",
        "system": "good",
        "annotator": "authored",
        "kind": "system",
        "repeat": 1,
        "background": "台所で料理をしている。",
        "user": AUTHORED[0][1],
        "reference": {"text": texts.get("reference_text", AUTHORED[0][2]), "steps": _steps(reference), "index": 0},
        "response": {"text": texts.get("response_text", "タイマーを始めました。"), "steps": _steps(reply)},
        "scores": {
            "wlcs": wlcs,
            "wed": found.wed,
            "deletion": found.deletion,
            "insertion": found.insertion,
            "substitution": found.substitution,
            "recall": recall,
            "f1": 2 * wlcs * recall / (wlcs + recall) if wlcs + recall else 0.0,
        },
        "path": [
            {
                "operation": step.operation,
                "reference_index": step.reference_index,
                "prediction_index": step.prediction_index,
                "cost": step.cost,
            }
            for step in found.path
        ],
        **given,
    }


def make_document(systems: Sequence[str] = ("good", "terse"), n: int = 20, seed: int = 1) -> dict[str, Any]:
    """A document of `n` records and these systems, the earlier ones the better."""
    draw = random.Random(seed)
    items = [item for number in range(n) for item in _record(draw, number, systems)]
    by_system = {name: [item for item in items if item["system"] == name] for name in systems}
    own = _shrunk(by_system[systems[0]], 0.2), _shrunk(by_system[systems[0]], 1.0)
    compared = [
        _difference(measure, a, b, by_system) for a, b in combinations(systems, 2) for measure in ("wed", "wlcs")
    ]
    return {
        "schema": "fdbcore.dialogue_acts/2",
        "settings": {"fdbcore": "9.9.9", "annotators": ["authored"], "seed": 1, "family": len(compared)},
        "tag_set": paper_acts().to_json(),
        "sets": [
            {
                "name": "smoke",
                "n": n,
                "locale": "ja-JP",
                "generators": ["authored"],
                "topics": dict(Counter(AUTHORED[number % len(AUTHORED)][0] for number in range(n))),
                "annotators": ["authored"],
            }
        ],
        "rows": [
            *(_row(name, "system", found, uniform=found) for name, found in by_system.items()),
            _row("ceiling", "ceiling", own[0]),
            _row("always Inform", "baseline", own[1]),
            *(row for name, found in by_system.items() for row in _topics(name, found)),
        ],
        "differences": compared,
        "items": items,
        "cases": _cases(items),
        "diagnosis": [_diagnosis(name, found) for name, found in by_system.items()],
        "problems": [],
        "warnings": [],
        "variance": {},
        "notes": [],
    }


def systems_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a document over all its records."""
    return [row for row in document["rows"] if not row["subset"]]


def as_item(made: dict[str, Any]) -> ActsItem:
    """An item as the suite has it."""
    found: ActsItem = converted(made, ActsItem)
    return found


def _steps(sequence: Sequence_) -> list[dict[str, Any]]:
    return [{"act": act, "importance": importance} for act, importance in sequence]


def _record(draw: random.Random, number: int, systems: Sequence[str]) -> list[dict[str, Any]]:
    topic, user, reply = AUTHORED[number % len(AUTHORED)]
    reference = _sequence(draw)
    given = {"id": f"r{number}", "topic": topic, "user": user, "reference_text": reply}
    found = []
    for place, system in enumerate(systems):
        kept = [step for step in reference if draw.random() > 0.2 + 0.3 * place] or reference[:1]
        said = _scaled([*kept, *([draw.choice(reference)] if draw.random() < 0.2 else _sequence(draw)[:1])])
        found.append(make_item(reference, said, system=system, response_text=f"{reply[: 8 + number % 9]}。", **given))
    return found


def _sequence(draw: random.Random) -> Sequence_:
    cuts = sorted(draw.sample(range(1, 20), draw.randint(0, 3)))
    return [(draw.choice(ACTS), (high - low) / 20) for low, high in pairwise([0, *cuts, 20])]


def _scaled(sequence: Sequence_) -> Sequence_:
    total = sum(weight for _, weight in sequence)
    return [(act, weight / total) for act, weight in sequence]


def _row(
    system: str, group: str, items: Sequence[dict[str, Any]], uniform: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    measures = {name: _summary([item["scores"][name] for item in items]) for name in MEASURES}
    alike = {f"uniform_{name}": _summary([item["scores"][name] for item in uniform]) for name in MEASURES if uniform}
    return {
        "condition": CONDITION,
        "group": group,
        "system": system,
        "n": len(items),
        "measures": measures | alike,
        "subset": "",
        "counts": {"no_reply": 0, "unscored": 0},
    }


def _topics(system: str, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    topics = sorted({item["topic"] for item in items})
    scores = {topic: [item["scores"] for item in items if item["topic"] == topic] for topic in topics}
    return [
        {
            "condition": CONDITION,
            "group": "system",
            "system": system,
            "n": len(found),
            "measures": {name: {"value": fmean(score[name] for score in found)} for name in ("wed", "wlcs")},
            "subset": topic,
        }
        for topic, found in scores.items()
    ]


def _summary(values: Sequence[float]) -> dict[str, Any]:
    mean, sd = fmean(values), stdev(values) if len(values) > 1 else 0.0
    half = 1.96 * sd / len(values) ** 0.5
    return {"value": mean, "sd": sd, "ci95": [mean - half, mean + half]}


def _shrunk(items: Sequence[dict[str, Any]], factor: float) -> list[dict[str, Any]]:
    return [{"scores": {name: value * factor for name, value in item["scores"].items()}} for item in items]


def _difference(measure: str, a: str, b: str, by_system: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    pairs = zip(by_system[a], by_system[b], strict=True)
    found = _summary([one["scores"][measure] - other["scores"][measure] for one, other in pairs])
    low, high = found["ci95"]
    p = 0.001 if low * high > 0 else 0.4
    return {
        "condition": CONDITION,
        "a": a,
        "b": b,
        "measure": measure,
        "n": len(by_system[a]),
        "difference": found["value"],
        "ci95": [low, high],
        "p": p,
        "p_corrected": min(1.0, 2 * p),
        "detectable": (high - low) * 0.7,
    }


def _cases(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    picked = [
        {"case": case, "item": max(range(len(items)), key=lambda index: items[index]["scores"][case])}
        for case in ("insertion", "deletion", "substitution")
    ]
    return [*picked, {"case": "smallest", "item": min(range(len(items)), key=lambda k: items[k]["scores"]["wed"])}]


def _diagnosis(system: str, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = [*ACTS, "none"]
    matrix = [[0.0] * len(names) for _ in names]
    for item in items:
        references, replies = item["reference"]["steps"], item["response"]["steps"]
        for step in item["path"]:
            above = None if step["reference_index"] is None else references[step["reference_index"]]
            below = None if step["prediction_index"] is None else replies[step["prediction_index"]]
            weights = [end["importance"] for end in (above, below) if end]
            i, j = (names.index(end["act"] if end else "none") for end in (above, below))
            matrix[i][j] += fmean(weights) / len(items)
    return {
        "set": "smoke",
        "system": system,
        "annotator": "authored",
        "kind": "system",
        "acts": names,
        "matrix": matrix,
        "missing": {act: matrix[i][7] for i, act in enumerate(ACTS) if matrix[i][7]},
        "redundant": {act: matrix[7][i] for i, act in enumerate(ACTS) if matrix[7][i]},
        "swapped": [
            {"reference": ACTS[i], "predicted": ACTS[j], "weight": matrix[i][j]}
            for i in range(7)
            for j in range(7)
            if i != j and matrix[i][j]
        ],
    }
