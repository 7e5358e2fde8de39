"""`fdbcore score --suite dialogue-acts --turns`: from audio or a run to the acts of every turn, over real sockets."""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fakes.fake_chat import KEY, FakeChat
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI, Asked

from fdbcore.cli.main import main
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS

pytestmark = [NEEDS_OPENAI]

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "sample.flac"


def heard(wav: bytes) -> str:
    """Words that a turn alone has."""
    return f"発話{int(hashlib.sha256(wav).hexdigest()[:6], 16)}です。"


def drawn(said: str) -> list[tuple[str, float]]:
    """The acts of a text, drawn by it."""
    rng = random.Random(said)
    acts = rng.sample(ACTS, rng.randint(1, 3))
    cuts = sorted(rng.randint(1, 9) / 10 for _ in acts[1:])
    return [(act, end - start) for act, start, end in zip(acts, [0.0, *cuts], [*cuts, 1.0], strict=True) if end > start]


def labelled(asked: Asked) -> str:
    said = asked.user.rpartition("アシスタントの返答: ")[2].strip()
    return json.dumps({"steps": [{"act": act, "importance": share, "rationale": "理由"} for act, share in drawn(said)]})


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FakeChat, FakeOpenAI]]:
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    monkeypatch.setenv("ASR_KEY", KEY)
    with FakeChat(heard=heard) as ear, FakeOpenAI(labelled) as annotator:
        yield ear, annotator


def score(*arguments: object, out: Path) -> Result:
    command = ["score", "--suite", "dialogue-acts", "--turns", *map(str, arguments), "--out", str(out)]
    return CliRunner().invoke(main, command, catch_exceptions=False)


def helpers(ear: FakeChat, annotator: FakeOpenAI) -> list[str]:
    asr = f"openai:whisper-1?base_url=http://127.0.0.1:{ear.server_port}/v1&key_variable=ASR_KEY"
    return ["--asr", asr, "--annotator", annotator.address_of("openai:j")]


def document(out: Path) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    return content


def weight(turn: Mapping[str, Any], act: str) -> float:
    (one,) = turn["acts"]
    return float(sum(step["importance"] for step in one["steps"] if step["act"] == act))


def plain_follows(turns: Sequence[Mapping[str, Any]], act: str) -> dict[str, float] | None:
    """What follows an act of A, by the definition alone: from one turn of A to the next."""
    of_a = [turn for turn in turns if turn["side"] == "A"]
    total, found = 0.0, dict.fromkeys([*ACTS, "no reply"], 0.0)
    for place, asked in enumerate(of_a):
        until = of_a[place + 1]["start_s"] if place + 1 < len(of_a) else float("inf")
        replies = [turn for turn in turns if turn["side"] == "B" and asked["start_s"] < turn["start_s"] <= until]
        own = weight(asked, act)
        if not own or (not replies and asked is of_a[-1]):
            continue
        total += own
        for other in ACTS if replies else ():
            found[other] += own * weight(replies[0], other)
        found["no reply"] += 0 if replies else own
    return {name: share / total for name, share in found.items()} if total else None


def test_a_japanese_call_goes_from_its_file_to_acts(servers: tuple[FakeChat, FakeOpenAI], tmp_path: Path) -> None:
    ear, annotator = servers
    out = tmp_path / "scores"
    result = score(SAMPLE, *helpers(*servers), out=out)
    assert result.exit_code == 0, result.output
    content = document(out)
    (call,) = content["turns"]["calls"]
    turns = call["turns"]
    assert len(ear.wavs) == len(turns) == len(annotator.asked)
    assert {turn["words_by"].partition("?")[0] for turn in turns} == {"openai:whisper-1"}
    assert all([(s["act"], s["importance"]) for s in turn["acts"][0]["steps"]] == drawn(turn["text"]) for turn in turns)
    for shares in content["turns"]["shares"]:
        own = [turn for turn in turns if turn["side"] == shares["side"]]
        assert shares["turns"] == len(own)
        for act, found in shares["acts"].items():
            weights = [weight(turn, act) for turn in own]
            assert found["share"] == pytest.approx(sum(weights) / len(own))
            assert found["turns"] == pytest.approx(sum(each > 0 for each in weights) / len(own))
            assert found["ci95"] is None, "one call"
    told = {each["act"]: {**each["next"], "no reply": each["no_reply"]} for each in content["turns"]["follows"]}
    plain = {act: found for act in ACTS if (found := plain_follows(turns, act)) is not None}
    assert told.keys() == plain.keys()
    for act, shares in told.items():
        assert shares == pytest.approx(plain[act])
        assert sum(shares.values()) == pytest.approx(1)
    for each in content["turns"]["quarters"]:
        low, high = ((each["quarter"] - add) * call["length_s"] / 4 for add in (1, 0))
        own = [turn for turn in turns if turn["side"] == each["side"] and low <= turn["start_s"] < high]
        assert each["turns"] == len(own)
        assert each["acts"] == pytest.approx(
            {a: sum(weight(t, a) for t in own) / len(own) for a in ACTS} if own else {}
        )
    page = (out / "report.html").read_text(encoding="utf-8")
    assert all(turn["text"] in page for turn in turns)
    again = score(SAMPLE, *helpers(*servers), out=out)
    assert again.exit_code == 0
    assert (len(ear.wavs), len(annotator.asked)) == (len(turns), len(turns)), "nothing is asked twice"


def test_turns_are_scored_against_good_replies_by_turn(servers: tuple[FakeChat, FakeOpenAI], tmp_path: Path) -> None:
    assert score(SAMPLE, *helpers(*servers), out=tmp_path / "first").exit_code == 0
    (call,) = document(tmp_path / "first")["turns"]["calls"]
    replies = {turn["after"]: turn for turn in call["turns"] if turn["side"] == "B" and turn["part"] == "reply"}
    first, second = sorted(replies)[:2]
    unanswered = 1 + max(turn["number"] for turn in call["turns"] if turn["side"] == "A")
    right = " ".join(f"{act} {share}" for act, share in drawn(replies[first]["text"]))
    rows = [(call["call"], first, "はい。", right), (call["call"], second, "はい。", "Answer 0.6 Inform 0.4")]
    rows += [(call["call"], unanswered, "はい。", "Answer 1"), ("nobody", 1, "はい。", "Answer 1")]
    rows += [(call["call"], "x", "はい。", "Answer 1"), (call["call"], 1, "はい。", "Answer 0.3")]
    table = tmp_path / "good.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("call", "turn", "text", "acts"), *rows])
    result = score(tmp_path / "first" / "recordings" / "sample", *helpers(*servers), "--references", table,
                   out=tmp_path / "out")  # fmt: skip
    assert result.exit_code == 1, "some rows fit nothing"
    content = document(tmp_path / "out")
    items = {item["id"]: item for item in content["items"]}
    assert items.keys() == {f"{call['call']} {first}", f"{call['call']} {second}"}
    assert items[f"{call['call']} {first}"]["scores"]["wed"] == pytest.approx(0)
    assert items[f"{call['call']} {second}"]["response"]["text"] == replies[second]["text"]
    reasons = " ".join(problem["reason"] for problem in content["problems"])
    assert f"expected turn {unanswered} of A" in reasons
    assert "expected a call of this name, got none" in reasons
    assert "turn: expected the number of a turn of A, got 'x'" in reasons
    assert "expected importances that sum to 1" in reasons


def test_without_words_or_annotators_the_turns_are_named_and_not_counted(tmp_path: Path) -> None:
    result = score(SAMPLE, out=tmp_path / "out")
    assert result.exit_code == 1
    content = document(tmp_path / "out")
    assert content["turns"]["shares"] == content["turns"]["follows"] == content["turns"]["quarters"] == []
    reasons = [problem["reason"] for problem in content["problems"]]
    assert [reason.partition(",")[0] for reason in reasons[:2]] == [f"expected the words of {side}" for side in "AB"]
    assert "--annotator" in reasons[2]
