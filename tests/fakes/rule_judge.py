"""A judge that does what a rubric of v1.5 says, and no more: a rule holds only if its sentence stands in the rubric.

    with FakeOpenAI(RuleJudge()) as server: ...

What was said in the overlap is addressed by who says one of its words, and only an interruption needs a reply.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fakes.model_server import Asked

RULES: Mapping[str, Sequence[str]] = {
    "only what begins anew": ("had begun before does not count", "What was already under way is left out"),
    "talking through": ("runs on beyond the end of the overlap counts as going on", "Talking straight through"),
    "taking up": ("so does an answer that is taken up again", "picking the answer up again is, too"),
    "over before": ("so does an answer that was over already", "so is having finished before"),
}
"""Each rule by the sentence of either wording."""
ANSWERS = {
    "behaviour": {"addressed": "respond", "again": "uncertain", "on": "resume", "": "unknown"},
    "did": {"addressed": "responds", "again": "asks_again", "on": "resumes", "": "neither"},
}


@dataclass
class RuleJudge:
    """forgets: the models that forget the first rule in every second sample, as a weaker judge may."""

    forgets: Sequence[str] = ()

    def __call__(self, asked: Asked) -> str:
        evidence = json.loads(asked.user)
        text = f"{asked.system}\n{asked.user}"
        rules = {name for name, sentences in RULES.items() if any(each in text for each in sentences)}
        if asked.model in self.forgets and round(evidence["overlap"]["from_s"] * 10) % 2:
            rules.discard("only what begins anew")
        assert asked.schema is not None
        (field,) = set(asked.schema["properties"]) & set(ANSWERS)
        found = _by_published(evidence, rules) if field == "behaviour" else _by_ours(evidence, rules)
        return json.dumps({field: ANSWERS[field][found], "reason": f"by the rules: {found or 'none'}"})


def _by_published(evidence: Mapping[str, Any], rules: set[str]) -> str:
    """What the first segment does that begins in the overlap or later; without the rule, one under way may be it."""
    start_s = evidence["overlap"]["from_s"]
    key = "from_s" if "only what begins anew" in rules else "to_s"
    return next((_kind(line["words"], evidence) for line in evidence["system"] if line[key] >= start_s), "")


def _by_ours(evidence: Mapping[str, Any], rules: set[str]) -> str:
    start_s, end_s = evidence["overlap"]["from_s"], evidence["overlap"]["to_s"]
    later = [_kind(line["words"], evidence) for line in evidence["system"] if line["from_s"] >= start_s]
    for kind in ("addressed", "again"):
        if kind in later:
            return kind
    through = any(line["from_s"] < start_s and line["to_s"] > end_s for line in evidence["system"])
    ended = all(line["to_s"] <= start_s for line in evidence["system"])
    complete = _spoken(evidence["system"]) == _spoken(evidence["system_without_overlap"])
    needs_reply = evidence["overlap"]["kind"] == "user interruption"
    goes_on = {
        "talking through": through,
        "taking up": "on" in later,
        "over before": ended and complete and not needs_reply,
    }
    return "on" if any(holds and rule in rules for rule, holds in goes_on.items()) else ""


def _kind(words: str, evidence: Mapping[str, Any]) -> str:
    """What a stretch of words does: it addresses the overlap, asks to repeat, or goes on as without the overlap."""
    overlapped = set(_spoken(evidence["user"])) - set(_spoken(evidence["user_without_overlap"]))
    own = set(_spoken(evidence["system_without_overlap"]))
    if set(words.split()) & {word for word in overlapped - own if len(word) > 3}:
        return "addressed"
    if "again" in words.split():
        return "again"
    return "on" if set(words.split()) <= own else ""


def _spoken(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    return [word for line in lines for word in line["words"].split()]
