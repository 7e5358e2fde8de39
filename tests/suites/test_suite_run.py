"""`fdbcore run --suite dialogue-acts`: a data set, systems of every kind, and their replies as responses."""

import io
import json
import re
import shutil
import wave
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from fakes.fake_gemini import FakeGemini
from fakes.fake_openai import FakeOpenAI
from fakes.model_server import Asked, Broken, Fails, FakeModelServer, Refuses, Says
from fakes.moshi_server import MoshiServer, Quirks
from fakes.pcm_server import Call, PcmServer
from fakes.run_parties import NOISE, install
from helpers.commands import command, printed
from helpers.talker import TALKER, clip, record
from scipy.signal import correlate

from fdbcore.endpoints.one_shot import with_defaults
from fdbcore.protocols import Transcriber
from fdbcore.recording.files import EVENTS, META, REPLY, write_json
from fdbcore.recording.reader import Recording
from fdbcore.recording.run import RUN, SUMMARY
from fdbcore.registry import speaker
from fdbcore.runs.folder import RunFolder
from fdbcore.runs.plan import PlannedSystem, make_plan
from fdbcore.runs.runner import hold_calls
from fdbcore.session.converse import LiveSettings
from fdbcore.suites.dialogue_acts.records import Response, jsonl, read_records
from fdbcore.suites.dialogue_acts.replies import Hearing, responses_of
from fdbcore.suites.dialogue_acts.sets import RECORDS, RecordSet, matched
from fdbcore.suites.dialogue_acts.writing import speak
from fdbcore.suites.dialogue_acts.writing.speak import prompts, side_a, speak_records
from fdbcore.types import FRAME_BYTES, Pcm

pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")
pytest.importorskip("google.genai", reason="needs the SDK of Gemini (pip install 'fdbcore[judge]')")

THE_RECORDS = [record("timer-1", "10分のタイマーをお願い。"), record("weather-1", "明日、晴れる？")]
FAST = ("--vad", "energy", "--clock", "virtual")


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spoken")
    (path / RECORDS).write_text(jsonl(THE_RECORDS), encoding="utf-8")
    assert speak_records(THE_RECORDS, path, speaker(f"exec:{TALKER}")) == []
    return path


@pytest.fixture
def data(spoken: Path, tmp_path: Path) -> Path:
    """A data set that may be changed."""
    return shutil.copytree(spoken, tmp_path / "data")


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)
    monkeypatch.setenv("GEMINI_API_KEY", FakeGemini.KEY)


@pytest.fixture
def vendors(keys: None) -> Iterator[tuple[FakeGemini, FakeOpenAI]]:
    with (
        FakeGemini(lambda asked: "はい、かしこまりました。") as gemini,
        FakeOpenAI(lambda asked: "了解です。") as openai,
    ):
        yield gemini, openai


def run(*arguments: object, out: Path, code: int | None = None) -> Result:
    return command("run", "--suite", "dialogue-acts", "--out", out, *arguments, code=code)


def systems(gemini: FakeModelServer, openai: FakeModelServer) -> list[str]:
    addresses = [f"g={gemini.address_of('gemini:gemini-2.5-flash')}"]
    addresses += [f"o={openai.address_of('openai-chat:gpt-4o-audio-preview')}"]
    return [option for address in addresses for option in ("--system", address)]


def held(data: str, named: Mapping[str, str], out: Path, realtime: bool = True) -> set[str]:
    """Hold all calls at once, and again at once, without the self-test of the command; how they ended."""
    spoken = side_a(data)
    parties = [PlannedSystem(name, with_defaults(address, spoken.prompts)) for name, address in named.items()]
    plan = make_plan(parties, spoken.users, LiveSettings(vad="energy", realtime=realtime), material=spoken.material)
    with RunFolder(out, plan) as folder:
        hold_calls(folder, jobs=len(plan.cases), calls_per_process=len(plan.cases), back_off_s=(0.0, 0.0))
        return {str((outcome := folder.outcome(case)) and outcome["kind"]) for case in plan.cases}


def heard(asked: Asked) -> Pcm:
    assert asked.wav is not None
    with wave.open(io.BytesIO(asked.wav)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24_000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)


def place_of(part: Pcm, whole: Pcm) -> tuple[int, float]:
    """Where `part` is in `whole`, and how alike they are there, from 0 to 1."""
    found = correlate(whole.astype(float), part.astype(float), "full")
    place = int(np.argmax(found)) - len(part) + 1
    there = whole[max(place, 0) : place + len(part)].astype(float)
    return place, float(np.corrcoef(there, part)[0, 1]) if len(there) == len(part) else 0.0


def test_both_vendors_hear_the_clips_and_their_replies_are_responses(
    data: Path, tmp_path: Path, vendors: tuple[FakeGemini, FakeOpenAI]
) -> None:
    out = tmp_path / "run"
    result = run(*FAST, "--data", data, *systems(*vendors), out=out, code=0)
    lines = result.stdout.splitlines()
    assert {"g: 2 done: replied in text alone", "o: 2 done: replied in text alone"} < set(lines)
    assert lines[-1] == f"the replies are text; score them with fdbcore score --suite dialogue-acts {out}"
    for server in vendors:
        assert len(server.asked) == 2
        places = {name: [place_of(clip(data / f"{name}.wav"), heard(a)) for a in server.asked] for name in ids()}
        for found in places.values():
            place, likeness = max(found, key=lambda item: item[1])
            assert place == 0
            assert likeness > 0.999
        for asked in server.asked:
            assert {"system": asked.system, "user": asked.user} == {n: prompts()[n] for n in ("system", "user")}
    responses, problems = responses_of(out)
    assert problems == []
    texts = {"g": "はい、かしこまりました。", "o": "了解です。"}
    assert set(responses) == {Response(name, system, texts[system]) for name in ids() for system in texts}
    assert read_records(out / RECORDS) == read_records(data / RECORDS)
    plan = json.loads((out / RUN).read_text())["plan"]
    assert plan["suite"]["name"] == "dialogue-acts"
    assert plan["systems"]["g"]["user"] == prompts()["user"]
    assert json.loads((out / SUMMARY).read_text())["systems"]["g"]["measures"] == {}
    assert FakeOpenAI.KEY not in "".join(path.read_text() for path in out.rglob("*.json*"))
    run(*FAST, "--data", data, *systems(*vendors), out=out, code=0)
    assert [len(server.asked) for server in vendors] == [2, 2]


def ids() -> list[str]:
    return [one.id for one in THE_RECORDS]


@pytest.mark.live
def test_live_the_same_audio_is_sent_as_in_lockstep(
    data: Path, tmp_path: Path, vendors: tuple[FakeGemini, FakeOpenAI]
) -> None:
    named = dict(option.split("=", 1) for option in systems(*vendors)[1::2])
    assert run(*FAST, "--data", data, *systems(*vendors), out=tmp_path / "virtual").exit_code == 0
    assert held(f"{data}?tail_s=6", named, tmp_path / "real") == {"done"}
    for server in vendors:
        audio = [heard(asked) for asked in server.asked]
        for name in ids():
            said = clip(data / f"{name}.wav")
            found = sorted((place_of(said, one)[1] for one in audio), reverse=True)
            assert found[1] > 0.999, "once in lockstep, once live"
            assert found[2] < 0.5
    for case in ("timer-1-g", "weather-1-o"):
        (reply,) = [e for e in Recording(tmp_path / "real" / case).events if e["kind"] == "reply"]
        assert reply["ms"] >= 0
    assert responses_of(tmp_path / "real")[1] == []


def test_who_declines_or_fails_has_replied_nothing_and_says_why(data: Path, tmp_path: Path, keys: None) -> None:
    with FakeGemini([Refuses("SAFETY"), "はい。"]) as gemini, FakeOpenAI([Refuses("refusal"), "了解です。"]) as openai:
        result = run(*FAST, "--data", data, "--seed", 1, *systems(gemini, openai), out=tmp_path / "run")
    assert result.exit_code == 0, "a refusal is scored"
    assert re.search(r"^timer-1-g: declined: gemini:gemini-2.5-flash: declined: SAFETY", result.stderr, re.MULTILINE)
    assert re.search(r"^g: 1 declined: gemini:gemini-2.5-flash: declined: SAFETY", result.stdout, re.MULTILINE)
    counts = json.loads((tmp_path / "run" / SUMMARY).read_text())["systems"]["o"]["cases"]
    assert counts == {"planned": 2, "done": 1, "declined": 1, "failed": 0, "invalid": 0, "left": 0, "again": 0}
    responses, problems = responses_of(tmp_path / "run")
    assert problems == []
    assert len(responses) == 4
    reasons = sorted(response.reason for response in responses if response.text is None)
    assert sorted(text for response in responses if (text := response.text)) == ["はい。", "了解です。"]
    assert reasons[0].startswith("gemini:gemini-2.5-flash: declined: SAFETY")
    assert "declined" in reasons[1]
    assert all("\n" not in reason for reason in reasons)


def test_a_reply_that_was_cut_off_is_kept_and_named_and_asked_for_again_on_request(
    data: Path, tmp_path: Path, keys: None
) -> None:
    with FakeOpenAI([Says("10分の", cut=True), "了解です。", "はい。"]) as server:
        system = ["--data", data, "--system", f"o={server.address_of('openai-chat:x')}"]
        assert run(*FAST, *system, out=tmp_path / "run").exit_code == 1
        responses, problems = responses_of(tmp_path / "run")
        assert [response.text for response in responses] == ["了解です。"], "neither a refusal nor silence"
        (problem,) = problems
        assert "the answer was cut off at its limit of tokens; what there is of it is kept" in problem.reason
        said = [each for name in ids() for each in Recording(tmp_path / "run" / name).events if each["kind"] == REPLY]
        assert [each["text"] for each in said if each.get("cut")] == ["10分の"]
        asked = len(server.asked)
        assert run(*FAST, *system, "--again", "failed", out=tmp_path / "run").exit_code == 0
        assert len(server.asked) == asked + 1
    assert sorted(str(one.text) for one in responses_of(tmp_path / "run")[0]) == ["はい。", "了解です。"]


def test_a_reply_that_needs_no_timing_is_kept_if_all_that_the_user_said_was_heard(
    data: Path, tmp_path: Path, keys: None
) -> None:
    with FakeOpenAI(lambda asked: "はい。") as server:
        assert run("--vad", "energy", "--data", data, "--system", server.address_of("openai-chat:x"),
                   out=tmp_path / "run").exit_code == 0  # fmt: skip
    assert json.loads((tmp_path / "run" / RUN).read_text())["plan"]["clock"] == "virtual", "by default"
    missed = {"kind": "invalid", "side": None, "reason": "41 of 576 ticks missed; the machine was too slow"}
    for name, tick in zip(ids(), (0, 10_000), strict=True):
        path = tmp_path / "run" / name
        write_json(path / META, Recording(path).meta | {"outcome": missed})
        with (path / EVENTS).open("a") as file:
            file.write(json.dumps({"tick": tick, "side": None, "kind": "missed"}) + "\n")
    (response,), (problem,) = responses_of(tmp_path / "run")
    assert (response.id, response.text) == (ids()[1], "はい。")
    assert problem.reason == f"expected a conversation, got an invalid one: {missed['reason']}"


@pytest.mark.parametrize("fault", ["key", "model"])
def test_a_wrong_key_or_model_stops_the_run_and_the_same_command_goes_on(
    data: Path, tmp_path: Path, keys: None, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    with FakeGemini(lambda asked: "はい。", models=["right"] if fault == "key" else []) as server:
        if fault == "key":
            monkeypatch.setenv("GEMINI_API_KEY", "not-the-right-one")
        system = ["--system", f"g={server.address_of('gemini:right')}"]
        result = run(*FAST, "--data", data, *system, out=tmp_path / "run", code=1)
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"fdbcore run: gemini:right: {server.base_url} ")
        assert ("does not take the key" if fault == "key" else "has no such model") in line
        responses, problems = responses_of(tmp_path / "run")
        assert responses == []
        assert {problem.reason for problem in problems} == {
            "expected a conversation, got none yet: the run is not finished"
        }
        monkeypatch.setenv("GEMINI_API_KEY", server.KEY)
        server.models = {"right"}
        assert run(*FAST, "--data", data, *system, out=tmp_path / "run").exit_code == 0
        assert len(server.asked) == 2
    assert [response.text for response in responses_of(tmp_path / "run")[0]] == ["はい。"] * 2


@pytest.mark.parametrize(
    ("realtime", "answer", "told"),
    [
        pytest.param(True, Fails(500, "down"), "fails with 500: down", marks=pytest.mark.live),
        (False, Broken("<html>busy</html>"), "answers with something other than an answer"),
    ],
)
def test_a_server_that_fails_is_asked_again_by_the_same_run_and_no_reply_of_score_0(
    data: Path, tmp_path: Path, keys: None, realtime: bool, answer: Fails | Broken, told: str
) -> None:
    answers: list[Fails | Broken | str] = [answer] * 6
    with FakeOpenAI(lambda asked: answers[asked.number] if asked.number < len(answers) else "はい。") as server:
        named = {"o": server.address_of("openai-chat:x")}
        assert held(f"{data}?tail_s=3", named, tmp_path / "run", realtime) == {"failed"}
        assert len(server.asked) == 6, "each of two calls three times, with one request"
        responses, problems = responses_of(tmp_path / "run")
        assert responses == []
        assert all(f"expected a conversation, got a failed one: openai:x: {server.base_url} {told}" in problem.reason
                   for problem in problems)  # fmt: skip
        assert len(problems) == 2
        given = [Response("timer-1", "o", "はい。")]
        _, twice = matched([RecordSet("set", {one.id: one for one in THE_RECORDS})], given, problems)
        assert twice == [], "what failed is told once"
        assert held(f"{data}?tail_s=3", named, tmp_path / "run", realtime) == {"done"}
    assert [response.text for response in responses_of(tmp_path / "run")[0]] == ["はい。"] * 2


def test_without_a_key_no_run_begins(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = run(*FAST, "--data", data, "--system", "openai-chat:x", out=tmp_path / "run", code=2)
    assert result.stderr.splitlines()[-1].startswith("Error: --system: openai:x: expected a key in OPENAI_API_KEY")
    assert not (tmp_path / "run").exists()
    result = run(*FAST, "--data", data, "--system", "openai-chat:x", "--dry-run", out=tmp_path / "run")
    assert (result.exit_code, "openai-chat:x" in result.stdout) == (0, True), "nobody is asked"


def test_a_case_that_never_met_its_server_is_no_response(data: Path, tmp_path: Path) -> None:
    run(*FAST, "--data", f"{data}?tail_s=1", "--system", "echo", out=tmp_path / "run")
    busy = {"kind": "failed", "side": "B", "reason": "busy", "transient": True}
    for name in ids():
        meta = Recording(tmp_path / "run" / name).meta | {"outcome": busy, "attempts": [busy, busy]}
        write_json(tmp_path / "run" / name / META, meta)
    responses, problems = responses_of(tmp_path / "run")
    assert responses == []
    assert [problem.reason for problem in problems] == ["expected a conversation, got a failed one: busy"] * 2


async def answer_in_words(call: Call) -> None:
    await call.ready(clocking="input")
    async for _ in call.listen():
        await call.say([NOISE.tobytes() if len(call.heard) > 250 else bytes(FRAME_BYTES)])
        if len(call.heard) == 250:
            await call.tell("text", text="晴れ")
            await call.tell("text", text="です。")


def test_live_systems_are_read_from_their_own_words(data: Path, tmp_path: Path) -> None:
    short = f"{data}?tail_s=3"
    with MoshiServer(Quirks(model="answer", text=True)).running() as port:
        run(*FAST, "--data", short, "--system", f"moshi://127.0.0.1:{port}?tls=0", out=tmp_path / "moshi", code=0)
    with PcmServer(answer_in_words) as server:
        assert held(short, {"p": server.address}, tmp_path / "pcm", realtime=False) == {"done"}
    responses, problems = responses_of(tmp_path / "moshi")
    assert (len(responses), problems) == (2, [])
    assert all(response.text for response in responses)
    responses, problems = responses_of(tmp_path / "pcm")
    assert (len(responses), problems) == (2, [])
    assert {response.text for response in responses} == {"晴れです。"}


SAID: Mapping[int, tuple[str, int]] = {
    20: ("いらっしゃいませ。", 60),
    600: ("はい、タイマーを始めました。", 200),
    1200: ("もしもし、まだいらっしゃいますか。", 70),
    1700: ("また、いつでもお声がけください。", 80),
}
"""What a talkative party says, and for how many ticks, by the tick at which it begins."""


async def talk_on(call: Call, tells: bool = True) -> None:
    await call.ready(clocking="input")
    async for _ in call.listen():
        tick = len(call.heard) - 1
        speaks = any(start <= tick < start + length for start, (_, length) in SAID.items())
        await call.say([NOISE.tobytes() if speaks else bytes(FRAME_BYTES)])
        if tells and tick in SAID:
            await call.tell("text", text=SAID[tick][0])


async def talk_on_without_words(call: Call) -> None:
    await talk_on(call, tells=False)


@pytest.fixture
def one_request(tmp_path: Path) -> str:
    """A user who speaks for 3 s, and then listens for 20 s."""
    long = record("timer-1", "10分のタイマーをお願いします。" * 7)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / RECORDS).write_text(jsonl([long]), encoding="utf-8")
    assert speak_records([long], tmp_path / "one", speaker(f"exec:{TALKER}")) == []
    return f"{tmp_path / 'one'}?tail_s=20"


def test_the_reply_of_a_live_party_is_its_turn_after_the_users(one_request: str, tmp_path: Path) -> None:
    with PcmServer(talk_on) as server:
        assert held(one_request, {"p": server.address}, tmp_path / "run", realtime=False) == {"done"}
    (response,), problems = responses_of(tmp_path / "run")
    assert (response.text, problems) == ("はい、タイマーを始めました。", [])
    assert response.live is not None
    starts = {text: (start + 1) / 100 for start, (text, _) in SAID.items()}
    told = {each.text: (each.part, each.start_s) for each in response.live.apart}
    places = ["aside", "further", "further"]
    others = [text for text in starts if text != response.text]
    assert told == {text: (place, starts[text]) for text, place in zip(others, places, strict=True)}
    assert (response.live.start_s, response.live.end_s) == pytest.approx((6.01, 8.01), abs=0.02)
    user_s = len(clip(tmp_path / "one" / "timer-1.wav")) / 24_000 - 0.12
    assert response.live.after_s == pytest.approx(6.01 - user_s, abs=0.02)
    (whole,), _ = responses_of(tmp_path / "run", Hearing(is_whole=True))
    assert whole.text == "".join(text for text, _ in SAID.values())
    out = tmp_path / "scores"
    content = printed("score", "--suite", "dialogue-acts", tmp_path / "run", "--out", out, code=1)
    assert len(content["problems"]) == 1, "only that nobody annotated it"
    (timing,) = content["timing"]
    assert (timing["system"], timing["calls"]) == ("p", 1)
    latency = timing["measures"]["response_latency_ms"]
    assert response.live.after_s is not None
    assert (latency["n"], latency["median"]) == (1, pytest.approx(1000 * response.live.after_s))


def test_a_transcriber_hears_no_more_than_the_reply(one_request: str, tmp_path: Path) -> None:
    with PcmServer(talk_on_without_words) as server:
        held(one_request, {"p": server.address}, tmp_path / "run", realtime=False)
    assert responses_of(tmp_path / "run")[0] == []
    hears = Hears(["はい。", "ええ。", "もしもし。", "では。"])
    assert [one.text for one in responses_of(tmp_path / "run", Hearing(hears))[0]] == ["はい。"]
    assert [len(pcm) / 16_000 for pcm in hears.given] == pytest.approx([2.4], abs=0.02), (
        "2 s, and 0.2 s before and after"
    )
    for _ in range(2):
        (whole,), _ = responses_of(tmp_path / "run", Hearing(hears, is_whole=True))
        assert whole.text == "ええ。はい。もしもし。では。", "the reply was heard before"
    other = Hears(["はい、ただ今。"])
    other.name = "other"
    responses_of(tmp_path / "run", Hearing(other))
    assert responses_of(tmp_path / "run", Hearing(hears))[0][0].text == "はい。", "nobody loses what another heard"


def test_speech_without_words_is_transcribed_or_named(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    out = tmp_path / "run"
    speaking = ["--system", "talks=fake:?speak=100-200", "--system", "mute=fake:?speak=0-0"]
    assert run(*FAST, "--data", f"{data}?tail_s=3", *speaking, "--system", "bug=fake:?say_error=bug",
               out=out).exit_code == 1  # fmt: skip
    responses, problems = responses_of(out)
    assert {(r.system, r.text, r.reason) for r in responses} == {("mute", None, "no speech found")}
    assert sorted(problem.reason.partition(":")[0] for problem in problems) == [
        "expected a conversation, got an invalid one",
        "expected a conversation, got an invalid one",
        "expected the words of B, got speech without a transcript",
        "expected the words of B, got speech without a transcript",
    ]
    hears = Hears(["晴れです。", ""])
    for _ in range(2):
        responses, problems = responses_of(out, Hearing(hears))
        assert len(problems) == 2
        of_talks = [(r.text, r.reason) for r in responses if r.system == "talks"]
        assert of_talks == [("晴れです。", ""), (None, "no words in its speech")]
    assert len(hears.given) == 2, "what has been heard is not heard again"
    assert [len(pcm) / 16_000 for pcm in hears.given] == pytest.approx([1.4] * 2, abs=0.02)
    assert all(not pcm[: 16 * 150].any() and pcm[16 * 200 : 16 * 1200].any() for pcm in hears.given)


class Hears(Transcriber):
    """Hears given texts, one after the other."""

    name = "hears"

    def __init__(self, texts: list[str]) -> None:
        self.texts, self.given = texts, list[Pcm]()

    def transcribe(self, wav: bytes, language: str) -> str:
        assert language == "ja"
        with wave.open(io.BytesIO(wav)) as file:
            assert (file.getframerate(), file.getnchannels()) == (16_000, 1)
            self.given.append(np.frombuffer(file.readframes(file.getnframes()), np.int16))
        return self.texts.pop(0)


def test_each_trial_is_a_reply_of_its_system(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "plugin"))
    result = run(*FAST, "--data", data, "--system", "m=fake:?speak=0-0", "--trials", 2, out=tmp_path / "run")
    assert result.exit_code == 0, "silence is scored"
    responses, _ = responses_of(tmp_path / "run")
    assert sorted((r.id, r.system, r.trial) for r in responses) == [(name, "m", n) for name in ids() for n in (1, 2)]


def test_the_shipped_set_is_spoken_beside_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = tmp_path / "shipped"
    (shipped / "smoke").mkdir(parents=True)
    (shipped / "smoke" / RECORDS).write_text(jsonl(THE_RECORDS[:1]), encoding="utf-8")
    for name in ("system", "user"):
        (shipped / f"respond_{name}.ja.txt").write_text("短く。", encoding="utf-8")
    monkeypatch.setattr(speak, "SHIPPED", shipped / "smoke")
    monkeypatch.setattr(speak, "SPEAKERS", {"ja": f"exec:{TALKER}"})
    before = sorted(tmp_path.rglob("*"))
    dry = run(*FAST, "--dry-run", "--json", "--system", "echo", out=tmp_path / "run")
    assert sorted(tmp_path.rglob("*")) == before  # nothing is written, as its help says
    result = run(*FAST, "--quiet", "--system", "echo", out=tmp_path / "run")
    assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / "run-users" / "timer-1.wav").is_file()
    again = run(*FAST, "--dry-run", "--json", "--system", "echo", out=tmp_path / "run")
    costs = [json.loads(each.stdout)["systems"]["all"] for each in (dry, again)]
    assert [(cost["calls"], cost["left"]) for cost in costs] == [(1, 1), (1, 0)]
    assert costs[0]["audio_s"] == round(Recording(tmp_path / "run" / "timer-1").n_ticks / 100, 1)
    clip = Recording(tmp_path / "run" / "timer-1").meta["case"]["clip"]
    assert clip is not None
    assert clip["labels"] == {"id": "timer-1"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--data", "DATA"], "expected a recording of each record, found none of 1 of 2 (weather-1): "
                             "fdbcore dataset speak DATA"),
        (["--data", "/nowhere"], "/nowhere/records.jsonl: cannot be read"),
        (["--data", "DATA?tail=3"], "expected settings of channel"),
        (["--data", "DATA", "--clips", "DATA"], "expected one of --clips, --suite and --a, got --clips and --suite"),
        (["--data", "DATA", "--system", "gemini:x?pause_ms=5"], "pause_ms: expected a multiple of 10"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line(arguments: list[str], expected: str, data: Path, tmp_path: Path) -> None:
    if not any("tail" in argument or "pause" in argument for argument in arguments):
        (data / "weather-1.wav").unlink()
    placed = [argument.replace("DATA", str(data)) for argument in arguments]
    result = run("--system", "echo", *placed, out=tmp_path / "run", code=2)
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert expected.replace("DATA", str(data)) in result.stderr
    assert not (tmp_path / "run").exists()


def test_lines_that_are_no_records_stop_nobody(data: Path, tmp_path: Path) -> None:
    with open(data / RECORDS, "a", encoding="utf-8") as file:
        file.write('{"id": "half"}\n')
    result = run(*FAST, "--data", f"{data}?tail_s=1", "--system", "echo", out=tmp_path / "run")
    assert f"fdbcore run: {data / RECORDS}, line 3 (half): " in result.stderr
    assert "2 of 2 cases ended" in result.stdout


def test_data_is_for_suites_alone(tmp_path: Path) -> None:
    result = command("run", "--a", "echo", "--data", tmp_path, "--system", "echo", "--out", tmp_path / "run", code=2)
    assert "--data: expected --suite" in result.stderr
