"""`fdbcore score --suite dialogue-acts --turns`: from audio or a run to the acts of every turn, over real sockets."""

import csv
import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from fakes.fake_chat import KEY, FakeChat
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import NEEDS_OPENAI, Asked
from helpers.commands import command
from helpers.corpus import replay
from helpers.faulty_audio import sample
from helpers.schema import as_published
from helpers.voices import write

from fdbcore.protocols import Transcriber
from fdbcore.suites.dialogue_acts.scoring.alignment import ACTS
from fdbcore.suites.dialogue_acts.turns.spoken import HeardTally, hearing_took
from fdbcore.types.usage import Service

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


def score(*arguments: object, out: Path, code: int | None = None) -> Result:
    return command("score", "--suite", "dialogue-acts", "--turns", *arguments, "--out", out, code=code)


def helpers(ear: FakeChat, annotator: FakeOpenAI) -> list[str]:
    asr = f"openai:whisper-1?base_url=http://127.0.0.1:{ear.server_port}/v1&key_variable=ASR_KEY"
    return ["--transcriber", asr, "--annotator", annotator.address_of("openai:j")]


def document(out: Path) -> Mapping[str, Any]:
    return as_published(json.loads((out / "scores.json").read_text(encoding="utf-8")))


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
    return {name: 100 * share / total for name, share in found.items()} if total else None


def percents(row: Mapping[str, Any]) -> dict[str, float]:
    return {act: figure["value"] for act, figure in row["measures"].items()}


def test_a_japanese_call_goes_from_its_file_to_acts(servers: tuple[FakeChat, FakeOpenAI], tmp_path: Path) -> None:
    ear, annotator = servers
    out = tmp_path / "scores"
    result = score(SAMPLE, *helpers(*servers), out=out, code=0)
    content = document(out)
    (call,) = content["turns"]["calls"]
    turns = call["turns"]
    assert len(ear.wavs) == len(turns) == len(annotator.asked)
    assert {turn["words_by"].partition("?")[0] for turn in turns} == {"openai:whisper-1"}
    assert all([(s["act"], s["importance"]) for s in turn["acts"][0]["steps"]] == drawn(turn["text"]) for turn in turns)
    for shares in content["turns"]["shares"]:
        own = [turn for turn in turns if turn["side"] == shares["condition"][0]]
        assert (shares["n"], shares["counts"]["calls"]) == (len(own), 1)
        for act, found in shares["measures"].items():
            weights = [weight(turn, act) for turn in own]
            assert found["value"] == pytest.approx(100 * sum(weights) / len(own))
            assert shares["counts"][f"turns with {act}"] == sum(each > 0 for each in weights)
            assert found["ci95"] is None, "one call"
    told = {row["subset"]: percents(row) for row in content["turns"]["follows"]}
    plain = {act: found for act in ACTS if (found := plain_follows(turns, act)) is not None}
    assert told.keys() == plain.keys()
    for act, said in told.items():
        assert said == pytest.approx(plain[act])
        assert sum(said.values()) == pytest.approx(100)
    for row in content["turns"]["quarters"]:
        low, high = ((int(row["subset"][-1]) - add) * call["length_s"] / 4 for add in (1, 0))
        own = [turn for turn in turns if turn["side"] == row["condition"][0] and low <= turn["start_s"] < high]
        assert row["n"] == len(own)
        assert percents(row) == pytest.approx(
            {a: 100 * sum(weight(t, a) for t in own) / len(own) for a in ACTS} if own else {}
        )
    assert (content["warnings"], content["notes"]) == ([], []), "there are no good replies to warn of"
    lengths_s = [(len(wav) - 44) / 2 / 16_000 for wav in ear.wavs]
    heard_with = content["heard_with"]
    assert (heard_with["pieces"], heard_with["usd"]) == (len(turns), 0.0), "it is on this machine"
    assert heard_with["seconds"] == pytest.approx(sum(lengths_s), abs=0.1)
    assert f": heard {len(turns)} pieces, " in result.output
    page = (out / "report.html").read_text(encoding="utf-8")
    assert all(turn["text"] in page for turn in turns)
    assert "Its interval is in table.csv and scores.json: it resamples calls" in page
    assert "Shares of acts are not compared between systems: only with good replies (--references) are they." in page
    score(SAMPLE, *helpers(*servers), out=out, code=0)
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
    items = {item["id"]: item for item in content["items"] if item["kind"] == "system"}
    assert items.keys() == {f"{call['call']} {first}", f"{call['call']} {second}"}
    assert items[f"{call['call']} {first}"]["scores"]["wed"] == pytest.approx(0)
    assert items[f"{call['call']} {second}"]["response"]["text"] == replies[second]["text"]
    reasons = " ".join(problem["reason"] for problem in content["problems"])
    assert f"expected turn {unanswered} of A" in reasons
    assert "expected a call of this name, got none" in reasons
    assert "turn: expected the number of a turn of A, got 'x'" in reasons
    assert "expected importances that sum to 1" in reasons
    ceiling = {item["id"]: item["response"]["steps"] for item in content["items"] if item["kind"] == "ceiling"}
    assert all([(step["act"], step["importance"]) for step in steps] == drawn("はい。") for steps in ceiling.values())
    assert {f"{call['call']} {first}", f"{call['call']} {second}"} <= ceiling.keys()
    assert not any("no ceiling" in warning for warning in content["warnings"])
    own = [(row["group"], row["n"], row["counts"]["recorded_users"]) for row in content["rows"] if not row["subset"]]
    assert ("system", 2, 1) in own
    assert all(row["measures"]["wed"]["ci95"] is None for row in content["rows"]), "one call"
    assert any("resample recorded users (here 1)" in note for note in content["notes"])


def test_without_words_or_annotators_the_turns_are_named_and_not_counted(tmp_path: Path) -> None:
    score(SAMPLE, out=tmp_path / "out", code=1)
    content = document(tmp_path / "out")
    assert content["turns"]["shares"] == content["turns"]["follows"] == content["turns"]["quarters"] == []
    reasons = [problem["reason"] for problem in content["problems"]]
    assert [reason.partition(",")[0] for reason in reasons[:2]] == [f"expected the words of {side}" for side in "AB"]
    assert "--annotator" in reasons[2]


def two_folders(path: Path) -> list[Path]:
    """Two folders of one name with a call of one name: the first 25 s of the sample, and what comes after 25 s."""
    pcm, cut = sample(), 25 * 48_000
    calls = [path / "one" / "calls", path / "two" / "calls"]
    for folder, part in zip(calls, (pcm[:cut], pcm[cut:]), strict=True):
        folder.mkdir(parents=True)
        write(folder / "call.wav", part, rate_hz=48_000)
    return calls


def assert_own_acts(call: Mapping[str, Any]) -> None:
    """Each turn has the acts that the annotator gives its words."""
    for turn in call["turns"]:
        assert [(step["act"], step["importance"]) for step in turn["acts"][0]["steps"]] == drawn(turn["text"])


def test_inputs_of_one_name_are_told_apart(servers: tuple[FakeChat, FakeOpenAI], tmp_path: Path) -> None:
    one, two = two_folders(tmp_path)
    assert score(one, two, *helpers(*servers), out=tmp_path / "out").exit_code == 0
    calls = document(tmp_path / "out")["turns"]["calls"]
    assert [(call["system"], call["call"]) for call in calls] == [("one-calls", "call"), ("two-calls", "call")]
    assert [round(call["length_s"]) for call in calls] == [25, 41], "each keeps its own replay"
    for call in calls:
        assert_own_acts(call)
    again = score(one, one / ".." / one.name, *helpers(*servers), out=tmp_path / "again", code=0)
    assert f"{one / '..' / one.name}: named twice, counted once" in again.stderr
    assert len(document(tmp_path / "again")["turns"]["calls"]) == 1


def test_runs_of_one_system_are_told_apart(servers: tuple[FakeChat, FakeOpenAI], tmp_path: Path) -> None:
    """Where they have calls of one name; each reply is scored by its own acts."""
    runs = [tmp_path / "run-1", tmp_path / "run-2"]
    for folder, run in zip(two_folders(tmp_path), runs, strict=True):
        table = folder.parent / "calls.csv"
        table.write_text("file,system,clip\ncall.wav,x,user\n")
        assert replay(folder, "--meta", table, out=run).exit_code == 0
    good = tmp_path / "good.csv"
    good.write_text("call,turn,text,acts\ncall,1,ok,Answer 1\n")
    score(*runs, *helpers(*servers), "--references", good, out=tmp_path / "out", code=0)
    content = document(tmp_path / "out")
    systems = [call["system"] for call in content["turns"]["calls"]]
    assert systems == ["x (run-1)", "x (run-2)"] == [row["system"] for row in content["timing"]]
    for call in content["turns"]["calls"]:
        assert_own_acts(call)
    items = {item["system"]: item["response"] for item in content["items"] if item["kind"] == "system"}
    for system in systems:
        acts = [(step["act"], step["importance"]) for step in items[system]["steps"]]
        assert acts == drawn(items[system]["text"])


def test_a_second_reply_to_one_turn_is_named_with_its_place(
    servers: tuple[FakeChat, FakeOpenAI], tmp_path: Path
) -> None:
    """Two calls of a system with one recorded user are not trials: the table cannot say which is meant."""
    one, two = two_folders(tmp_path)
    (two / "call.wav").rename(one / "other.wav")
    table = tmp_path / "calls.csv"
    table.write_text("file,system,clip\ncall.wav,x,user\nother.wav,x,user\n")
    assert replay(one, "--meta", table, out=tmp_path / "run").exit_code == 0
    good = tmp_path / "good.csv"
    good.write_text("call,turn,text,acts\nuser,1,ok,Answer 1\n")
    assert score(tmp_path / "run", *helpers(*servers), "--references", good, out=tmp_path / "out").exit_code == 1
    (problem,) = document(tmp_path / "out")["problems"]
    assert problem["where"] == str(tmp_path / "run" / "other")
    first = tmp_path / "run" / "call"
    assert problem["reason"] == f"expected one response of x to user 1, got another than that of {first}"


def test_a_side_that_says_nothing_has_no_turns(servers: tuple[FakeChat, FakeOpenAI], tmp_path: Path) -> None:
    alone = sample().copy()[: 20 * 48_000]
    alone[:, 1] = 0
    write(tmp_path / "calls" / "call.wav", alone, rate_hz=48_000)
    score(tmp_path / "calls", *helpers(*servers), out=tmp_path / "out", code=0)
    (call,) = document(tmp_path / "out")["turns"]["calls"]
    assert {turn["side"] for turn in call["turns"]} == {"A"}


class Deaf(Transcriber):
    """A transcriber of a vendor, which is not asked here."""

    name = "openai:whisper-1"

    def transcribe(self, wav: bytes, language: str) -> str:
        return ""

    def services(self) -> Sequence[Service]:
        return [Service("audio", "api.openai.com", "openai", "whisper-1")]


def test_what_a_transcriber_costs_is_told_where_its_price_is_known() -> None:
    tally = HeardTally(Deaf.name, Deaf())
    for _ in range(3):
        tally.transcribe(bytes(2 * 16_000 * 50), "ja")
    heard = tally.heard()
    assert (heard.pieces, heard.seconds) == (3, 150.0)
    assert heard.usd == pytest.approx(2.5 * 0.006), "USD a minute"
    assert hearing_took(heard) == "openai:whisper-1: heard 3 pieces, 2:30 of audio now, 0.0150 USD"


def judged(asked: Asked) -> str:
    """An annotator, or a judge to whom what it reads as a reply is right by chance, drawn by the text."""
    if "good_replies" not in asked.user:
        return labelled(asked)
    read = json.loads(asked.user)
    return json.dumps({"right": random.Random(read["reply"]).random() < 0.6, "reason": "。"})


def test_a_judge_reads_the_replies_that_have_good_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    monkeypatch.setenv("ASR_KEY", KEY)
    runs = [tmp_path / "run-1", tmp_path / "run-2"]
    for folder, run in zip(two_folders(tmp_path), runs, strict=True):
        table = folder.parent / "calls.csv"
        table.write_text(f"file,system,clip\ncall.wav,{run.name},user\n")
        assert replay(folder, "--meta", table, out=run).exit_code == 0
    good = tmp_path / "good.csv"
    good.write_text("call,turn,text,acts\n" + "".join(f"user,{turn},良い返事{turn},Answer 1\n" for turn in (1, 2, 3)))
    with FakeChat(heard=heard) as ear, FakeOpenAI(judged) as server:
        judge = ["--judge", server.address_of("openai:gpt-5-nano")]
        arguments = [*runs, *helpers(ear, server), "--references", good, *judge]
        dry = score(*arguments, "--dry-run", out=tmp_path / "out")
        result = score(*arguments, out=tmp_path / "out")
        asked = [json.loads(each.user) for each in server.asked if "good_replies" in each.user]
        assert score(*arguments, out=tmp_path / "out").exit_code == result.exit_code
        assert len(asked) == sum("good_replies" in each.user for each in server.asked), "nothing is asked twice"
        alone = score(SAMPLE, *judge, out=tmp_path / "alone")
    content = document(tmp_path / "out")
    items = [item for item in content["items"] if item["kind"] == "system"]
    assert f"openai:gpt-5-nano at {server.base_url}: {len(asked)} of {len(asked)} questions left" in " ".join(
        dry.output.split()
    ), dry.output
    spoken = [item for item in items if item["response"]["text"]]
    assert sorted(each["reply"] for each in asked) == sorted(item["response"]["text"] for item in spoken)
    assert {each["good_replies"][0] for each in asked} == {f"良い返事{item['id'][-1]}" for item in spoken}
    rows = {row["system"]: row for row in content["rows"] if "content" in row["measures"]}
    for system in ("run-1", "run-2"):
        own = [item for item in items if item["system"] == system]
        right = [
            bool(item["response"]["text"]) and random.Random(item["response"]["text"]).random() < 0.6 for item in own
        ]
        assert [item["response"]["verdict"]["right"] for item in own] == right
        counts = rows[system]["counts"]
        assert (counts["right"], counts["judged_users"]) == (sum(right), 1)
        assert rows[system]["measures"]["content"]["n"] == len(own)
    (compared,) = (one for one in content["differences"] if one["measure"] == "content")
    assert (compared["n"], compared["clusters"], compared["ci95"]) == (len(items) // 2, 1, None), "one recorded user"
    assert "The judge openai:gpt-5-nano" in " ".join(result.output.split())
    assert alone.exit_code == 2
    assert "--judge: expected --references beside --turns" in " ".join(alone.output.split())
