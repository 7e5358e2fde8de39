"""What a language model would write when it is asked for records and for labels: good, and in need of correction."""

import json
import random
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from fakes.model_server import Asked

KANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろ"
STEPS = (("Commissive", 0.7), ("Suggestion", 0.3))


def words(seed: int | None) -> str:
    """A request like no other."""
    return "".join(random.Random(seed).choices(KANA, k=16)) + "してね。"


def steps(of: Sequence[tuple[str, float]] = STEPS, reply: str = "はい、そうしました。") -> dict[str, Any]:
    """The reply is divided into parts of about the same length, one for each act."""
    cuts = [len(reply) * place // max(len(of), 1) for place in range(len(of) + 1)]
    parts = [reply[start:end] for start, end in pairwise(cuts)]
    return {
        "steps": [
            {"act": act, "importance": weight, "words": words, "rationale": "理由。"}
            for (act, weight), words in zip(of, parts, strict=True)
        ]
    }


def record(
    user: str, of: Sequence[tuple[str, float]] = STEPS, reply: str = "はい、そうしました。次もそうしますか。"
) -> dict[str, Any]:
    return {
        "scenario_context": {"background": "ユーザーは家にいて、手がふさがっている。"},
        "input": {"role": "USER", "text": user, "locale": "ja-JP"},
        "output": {"role": "ASSISTANT", "text": reply},
        "output_dialogue_acts": steps(of, reply),
    }


def good(asked: Asked) -> str:
    """A record that can be used, another one for each seed."""
    return json.dumps(record(words(asked.seed)), ensure_ascii=False)


def label(asked: Asked) -> str:
    """The acts of any reply, which stands last in what is asked."""
    reply = re.split(r"(?:アシスタントの返答|Assistant): ", asked.user)[-1].split("\n\n")[0]
    return json.dumps(steps(reply=reply))
