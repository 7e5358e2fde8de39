"""Live parties as examiners, over real sockets: cues decide when they are heard, their tool says what is met."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import soxr
from fakes.far_end import Reply as SaidThere
from fakes.far_end import Use
from fakes.gemini_live_server import GeminiLiveServer
from fakes.gemini_live_voice import Quirks as GeminiQuirks
from fakes.parties import Caller
from fakes.realtime_server import Call, Pace, Plan, RealtimeServer, Reply, place_of, tones
from fakes.ultravox_server import Quirks as UltravoxQuirks
from fakes.ultravox_server import UltravoxServer
from helpers.examiners import Answerer, Told
from msgspec import structs, to_builtins
from scipy.io import wavfile

from fdbcore.endpoints.examiner.brief import Brief, Goal
from fdbcore.errors import SettingsError
from fdbcore.protocols import Endpoint
from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse
from fdbcore.suites.staged.transcription import closing_tick
from fdbcore.types import FRAME_SAMPLES, Pcm

CLOSING = "That was all, goodbye."
QUICK = Pace(first_s=0.05)


def brief(n_goals: int = 2, **settings: Any) -> Brief:
    goals = [Goal(f"wish number {n}", (), f"it grants wish {n}", (), "en") for n in range(1, n_goals + 1)]
    known = {"closing": CLOSING, "most_turns": 20, "most_s": 60.0, **settings}
    return Brief("a.b.1", "en", "Maya, a baker", "She is in a hurry.", goals, **known)


def report(goal: int, met: bool = True, words: str = "") -> Reply:
    """A response that reports a goal."""
    return Reply(words, calls=[Call("report_goal", {"goal": goal, "met": met, "reason": f"because of {goal}"})])


def openai(server: RealtimeServer, kind: str = "openai-realtime") -> str:
    """The address of its model."""
    account = f"base_url={server.base_url}&key_variable={server.variable}"
    return f"{kind}:{server.model}?{account}&silence_duration_ms=200"


class Held(Told):
    """A call of an examiner, played by the party at the address `actor`, with `system`."""

    def __init__(
        self,
        folder: Path,
        actor: str,
        system: Endpoint,
        of: Brief,
        pacing: str = "slow",
        max_s: float = 15,
        opens: str = "either",
    ) -> None:
        (folder / "brief.json").write_text(json.dumps(to_builtins(of)))
        party = endpoint(
            f"examiner:{folder / 'brief.json'}?pacing={pacing}&opens={opens}&actor={quote(actor, safe='')}"
        )
        settings = LiveSettings(vad="energy", max_s=max_s)
        self.recording: Recording = converse(party, system, folder / "call", settings, {}, Event())
        self.events = [each for each in self.recording.events if each["side"] == "A"]

    @property
    def audio(self) -> Pcm:
        """What the examiner said, int16 (n,) at 48 kHz."""
        _, audio = wavfile.read(self.recording.path / "session.wav")
        found: Pcm = audio[:, 0]
        return found

    def place(self, said: Pcm) -> int:
        """The tick in which this begins, of 24 kHz."""
        return place_of(soxr.resample(said, 24_000, 48_000), self.audio) // FRAME_SAMPLES


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", RealtimeServer.KEY)


@pytest.mark.live
def test_it_opens_reports_its_goals_and_closes(tmp_path: Path) -> None:
    plan = Plan([Reply("first wish"), report(1), Reply("second wish"), report(2), Reply(CLOSING)], pace=QUICK)
    with RealtimeServer(plan) as server:
        held = Held(tmp_path, openai(server), Answerer([[100], [100]]), brief())
        (session,) = server.sessions
    assert held.recording.outcome == {"kind": "done", "side": None, "reason": None}
    says = held.of("examiner_says")
    assert [(each["what"], each.get("goal"), each["cue"]) for each in says] == [
        ("goal", 1, "opening"),
        ("goal", 2, "answered"),
        ("closing", None, "answered"),
    ]
    told = session.settings["instructions"]
    for words in (
        "Maya, a baker",
        "She is in a hurry.",
        "Goal 2: wish number 2",
        "it grants wish 2",
        "put it 3 times",
        CLOSING,
    ):
        assert words in told
    assert session.settings["audio"]["input"]["turn_detection"]["interrupt_response"] is False
    assert [tool["name"] for tool in session.settings["tools"]] == ["report_goal"]

    goals = held.of("examiner_goal")
    assert [(each["goal"], each["verdict"], each["reason"]) for each in goals] == [
        (1, "met", "because of 1"),
        (2, "met", "because of 2"),
    ]
    assert all(says[n]["tick"] <= goals[n]["tick"] <= says[n + 1]["tick"] for n in range(2))
    results = [json.loads(each["item"]["output"]) for each in session.events("conversation.item.create")[1:]]
    assert results == [
        {"next": "Pursue goal 2 now: wish number 2"},
        {"next": f"No goal is left. Say exactly this and nothing more: {CLOSING}"},
    ]
    assert [each["reason"] for each in held.of("examiner_ends")] == ["all goals"]

    assert [each["text"] for each in held.of("transcript", of="self")] == ["first wish", "second wish", CLOSING]
    assert not any(each["said_ms"] < each["of_ms"] for each in held.of("examiner_said"))
    assert closing_tick(held.events, 0) == says[2]["tick"]
    lengths = [each["said_ms"] for each in held.of("examiner_said")]
    assert lengths == pytest.approx([600, 600, 1200], abs=30)
    assert held.of("interrupted") == held.of("item") == []


@pytest.mark.live
def test_it_opens_while_a_system_that_greets_is_muted(tmp_path: Path) -> None:
    greeting = Caller([20 <= tick < 380 or 450 <= tick < 550 for tick in range(700)])
    plan = Plan([Reply("first wish"), report(1), Reply(CLOSING)], pace=QUICK)
    with RealtimeServer(plan) as server:
        held = Held(tmp_path, openai(server), greeting, brief(1), "fdb2-slow", max_s=8, opens="examiner")
        (session,) = server.sessions
    assert [each["cue"] for each in held.of("examiner_says")] == ["opening", "answered"]
    assert held.of("examiner_says")[0]["tick"] < 150
    assert not held.of("spoke_before_examiner")
    (muted,) = (each for each in held.recording.events if each["kind"] == "muted")
    assert (muted["side"], muted["to_tick"], muted["loud_ms"]) == ("B", 400, 3600)
    heard = np.abs(session.heard.astype(int))
    loud_s = float((heard > 4000).mean()) * len(heard) / 24_000
    assert 0.5 < loud_s < 1.0, "it hears the answer, of 1 s, and not the greeting"


@pytest.mark.live
@pytest.mark.parametrize("pacing", ["slow", "fdb2-slow"])
def test_what_it_says_too_early_is_held_back_and_heard_from_its_beginning(tmp_path: Path, pacing: str) -> None:
    early = tones(1.0, 7)
    plan = Plan([Reply("first wish"), Reply("a b", pcm=early), Reply("")], pace=QUICK)
    with RealtimeServer(plan) as server:
        held = Held(tmp_path, openai(server), Answerer([[100]]), brief(), pacing, max_s=5.5)
    second = held.of("examiner_says")[1]
    _, end = next(
        (each.start_tick, each.end_tick)
        for each in held.recording.turn_events
        if each.side == "B" and each.kind == "speech_end"
    )
    assert end is not None
    least_ms, most_ms = (1500, 1800) if pacing == "slow" else (500, 500)
    assert least_ms <= second["reaction_ms"] <= most_ms + 20
    assert second["tick"] - end == pytest.approx(second["reaction_ms"] / 10, abs=6)
    place = held.place(early)
    assert place == pytest.approx(second["tick"], abs=1)
    heard = held.audio[place * FRAME_SAMPLES :][: 2 * len(early)]
    wanted = soxr.resample(early, 24_000, 48_000).astype(float)
    assert np.corrcoef(heard[: len(wanted)].astype(float)[500:-500], wanted[500:-500])[0, 1] > 0.5


@pytest.mark.live
def test_what_answers_half_of_an_answer_is_taken_back(tmp_path: Path) -> None:
    """The server takes a pause of 600 ms for the end; the slow examiner does not."""
    plan = Plan([Reply("first wish"), Reply("too early"), Reply("second thoughts here"), Reply("")], pace=QUICK)
    with RealtimeServer(plan) as server:
        held = Held(tmp_path, openai(server), Answerer([[80, 60, 80]]), brief(), max_s=7)
        (session,) = server.sessions
    assert len(held.of("examiner_takes_back")) == 1
    (truncated, *_) = session.truncated
    assert truncated["audio_end_ms"] <= 10
    words = [each["text"] for each in held.of("transcript", of="self")]
    assert words[:2] == ["first wish", "second thoughts here"]
    assert [each["cue"] for each in held.of("examiner_says")][:2] == ["opening", "answered"]


@pytest.mark.live
@pytest.mark.parametrize(("pacing", "yields_ms"), [("slow", 200), ("fast", 1500), ("fdb2-fast", None)])
def test_it_is_cut_where_the_profile_yields_and_told_what_was_heard(
    tmp_path: Path, pacing: str, yields_ms: int | None
) -> None:
    long = tones(4.0, 3)
    plan = Plan([Reply("one two three four", pcm=long), Reply("")], pace=QUICK)
    with RealtimeServer(plan) as server:
        held = Held(tmp_path, openai(server), Answerer([[300]], over_ticks=100), brief(), pacing, max_s=5.5)
        session = server.sessions[0]
    says, said = held.of("examiner_says")[0], held.of("examiner_said")[0]
    if yields_ms is None:
        assert said["said_ms"] == said["of_ms"] == pytest.approx(4000, abs=30)
        assert session.truncated == []
        return
    speaks = next(each.start_tick for each in held.recording.turn_events if each.side == "B")
    stops_tick = says["tick"] + said["said_ms"] // 10
    assert (stops_tick - speaks) * 10 == pytest.approx(yields_ms, abs=70)
    assert said["of_ms"] == pytest.approx(4000, abs=30), "all of it had come"
    (truncated,) = session.truncated
    assert truncated["audio_end_ms"] == pytest.approx(said["said_ms"], abs=20)
    assert held.of("interrupted")[0]["heard_ms"] == said["said_ms"]
    after = held.audio[(stops_tick + 1) * FRAME_SAMPLES :][: 50 * FRAME_SAMPLES]
    assert np.abs(after).max() < 200, "nothing but comfort noise"
    assert said["said_ms"] < said["of_ms"]


@pytest.mark.live
def test_a_report_after_half_a_saying_is_refused_until_it_was_said_again(tmp_path: Path) -> None:
    long = Reply("one two three four", pcm=tones(4.0, 3))
    plan = Plan([long, report(1), long, report(1), Reply(CLOSING)], pace=QUICK)
    with RealtimeServer(plan) as server:
        held = Held(tmp_path, openai(server), Answerer([[100], [80]], over_ticks=100), brief(1), max_s=20)
        items = [each["item"] for each in server.sessions[0].events("conversation.item.create")]
    results = [json.loads(each["output"]) for each in items if each["type"] == "function_call_output"]
    assert [each.get("error") for each in results] == [
        "Less than half of your last words was heard. Say them again.",
        None,
    ]
    assert [(each["goal"], each["saying"]) for each in held.of("examiner_says", what="goal")] == [(1, 1), (1, 1)]
    assert [(each["verdict"], each["sayings"]) for each in held.of("examiner_goal")] == [("met", 1)]


def gemini_server() -> GeminiLiveServer:
    replies = [SaidThere(1.0, "first wish"), *(SaidThere(1.0, words, [used]) for words, used in THERE)]
    return GeminiLiveServer(GeminiQuirks(replies))


def ultravox_server() -> UltravoxServer:
    replies = [SaidThere(1.0, "first wish"), *(SaidThere(1.0, words, [used]) for words, used in THERE)]
    return UltravoxServer(UltravoxQuirks(replies))


THERE = [
    ("second wish", Use("report_goal", {"goal": 1, "met": True, "reason": "yes"})),
    (CLOSING, Use("report_goal", {"goal": 2, "met": True, "reason": "yes"})),
]


@pytest.mark.live
@pytest.mark.parametrize(
    ("made", "address"),
    [
        (gemini_server, "gemini-live:gemini-3.8-live?base_url={}&key_variable=THERE_TEST_KEY&silence_duration_ms=300"),
        (ultravox_server, "ultravox:ultravox-v0.7?base_url={}/api&key_variable=THERE_TEST_KEY&turnEndpointDelay=0.3s"),
    ],
)
def test_speech_models_of_other_vendors_play_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[], GeminiLiveServer | UltravoxServer], address: str
) -> None:
    with made() as server:
        monkeypatch.setenv("THERE_TEST_KEY", server.KEY)
        held = Held(tmp_path, address.format(server.url("http")), Answerer([[100], [100]]), brief())
        asked = [str(noted.message) for noted in server.parties[0].received]
    assert held.recording.outcome == {"kind": "done", "side": None, "reason": None}
    says = [(each["what"], each.get("goal"), each["cue"]) for each in held.of("examiner_says")]
    assert says == [("goal", 1, "opening"), ("goal", 2, "answered"), ("closing", None, "answered")]
    assert held.verdicts == ["met", "met"]
    assert [each["text"] for each in held.of("transcript", of="self")] == ["first wish", "second wish", CLOSING]
    assert any("the call has begun" in each for each in asked)


SAYINGS = [("I would like one latte.", "Do you have a latte for me?"), ("And make it hot.", "Hot, please.")]


def worded(n_goals: int = 2) -> Brief:
    """A brief with texts that are to be said word for word."""
    goals = [Goal(f"wish number {n}", said, "", (), "en") for n, said in enumerate(SAYINGS[:n_goals], 1)]
    return structs.replace(brief(n_goals), goals=goals)


OWN = [
    SaidThere(1.0, "in words of my own", [Use("report_goal", {"goal": 1, "met": True, "reason": "yes"})]),
    SaidThere(1.0, "goodbye in words of my own", [Use("report_goal", {"goal": 2, "met": True, "reason": "yes"})]),
]


def grok_plan() -> Plan:
    """What is forced is a reply of the plan, too."""
    own, forced = Reply("in words of my own"), Reply("")
    return Plan([forced, report(1), own, forced, report(2), own], pace=QUICK)


@pytest.mark.live
@pytest.mark.parametrize("kind", ["grok", "ultravox"])
def test_a_vendor_that_has_a_message_for_it_says_the_texts_word_for_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with RealtimeServer(grok_plan(), "grok") if kind == "grok" else UltravoxServer(UltravoxQuirks(OWN)) as server:
        if isinstance(server, RealtimeServer):
            monkeypatch.setenv(server.variable, server.key)
            actor = openai(server, "grok")
        else:
            monkeypatch.setenv("THERE_TEST_KEY", server.KEY)
            actor = f"ultravox:ultravox-v0.7?base_url={server.url('http')}/api&key_variable=THERE_TEST_KEY"
        held = Held(tmp_path, f"verbatim:{actor}", Answerer([[80], [80]]), worded())
    assert held.recording.outcome == {"kind": "done", "side": None, "reason": None}
    says = [(each["what"], each.get("goal"), each["cue"]) for each in held.of("examiner_says")]
    assert says == [("goal", 1, "opening"), ("goal", 2, "answered"), ("closing", None, "answered")]
    assert [each["text"] for each in held.of("transcript", of="self")] == [SAYINGS[0][0], SAYINGS[1][0], CLOSING]
    assert held.verdicts == ["met", "met"]
    assert all(each["said_ms"] == each["of_ms"] for each in held.of("examiner_said"))
    assert held.recording.meta["parties"]["A"]["actor"].startswith(f"verbatim:{kind}:")


@pytest.mark.live
def test_a_text_is_asked_for_anew_if_the_system_goes_on_before_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The goal is not reported, so it is said in its next words; the system pauses before them for 1.05 s."""
    with RealtimeServer(Plan([Reply("my own words")], pace=Pace(first_s=0.5)), "grok") as server:
        monkeypatch.setenv(server.variable, server.key)
        actor = f"verbatim:{openai(server, 'grok')}"
        held = Held(tmp_path, actor, Answerer([[60, 105, 60]]), worded(1), "fdb2-slow", max_s=9)
        items = [each["item"] for each in server.sessions[0].events("conversation.item.create")]
    first, second = SAYINGS[0]
    forced = [each["content"][0]["text"] for each in items if each["type"] == "force_message"]
    assert forced == [first, second, second]
    assert [each["text"] for each in held.of("transcript", of="self")] == [first, second]
    assert [(each["goal"], each["saying"]) for each in held.of("examiner_says")] == [(1, 1), (1, 2)]


@pytest.mark.live
def test_what_its_own_server_cuts_short_counts_as_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with UltravoxServer(UltravoxQuirks([SaidThere(4.0, "a long wish"), SaidThere(1.0, "more")])) as server:
        monkeypatch.setenv("THERE_TEST_KEY", server.KEY)
        actor = f"ultravox:ultravox-v0.7?base_url={server.url('http')}/api&key_variable=THERE_TEST_KEY"
        held = Held(tmp_path, actor, Answerer([[100]], over_ticks=100), brief(), "fdb2-fast", max_s=4)
    said = held.of("examiner_said")[0]
    assert said["said_ms"] < 2000, "although this profile never yields"
    assert said["of_ms"] == pytest.approx(4000, abs=50)
    assert held.of("interrupted")[0]["heard_ms"] == said["said_ms"]


@pytest.mark.live
@pytest.mark.parametrize(("dialect", "kind"), [("grok", "grok"), ("azure", "azure-realtime")])
def test_other_servers_of_the_interface_are_told_their_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str, kind: str
) -> None:
    with RealtimeServer(Plan([Reply("first wish")], pace=QUICK), dialect) as server:
        monkeypatch.setenv(server.variable, server.key)
        actor = openai(server, kind) + "&instructions=Be%20brief."
        held = Held(tmp_path, actor, Answerer([]), brief(), max_s=2)
        (session,) = server.sessions
    assert held.of("examiner_says")[0]["cue"] == "opening"
    (update,) = session.events("session.update")
    asked = update["session"]
    detection = {"type": "server_vad", "silence_duration_ms": 200}
    if dialect == "grok":
        assert asked["turn_detection"] == detection, "it has no setting against interruptions"
    else:
        assert asked["audio"]["input"]["turn_detection"] == detection | {"interrupt_response": False}
    assert asked["instructions"].startswith("Be brief.\n\nYou play a person")


@pytest.mark.live
def test_a_goal_is_unmet_at_the_limit_of_turns_and_the_closing_is_asked_for(tmp_path: Path) -> None:
    plan = Plan([Reply("first wish"), Reply("more of it"), Reply(CLOSING)], pace=QUICK)
    with RealtimeServer(plan) as server:
        held = Held(tmp_path, openai(server), Answerer([[100]]), brief(most_turns=1))
        (session,) = server.sessions
    assert held.recording.outcome == {"kind": "done", "side": None, "reason": None}
    assert [(each["goal"], each["verdict"]) for each in held.of("examiner_goal")] == [(1, "unmet"), (2, "not reached")]
    assert [each["reason"] for each in held.of("examiner_ends")] == ["turn limit"]
    asked = [each["item"]["content"][0]["text"] for each in session.events("conversation.item.create")]
    assert [each["text"] for each in held.of("examiner_asks")] == asked
    assert CLOSING in asked[-1]
    assert held.of("transcript", of="self")[-1]["text"] == CLOSING
    assert "more of it" not in [each["text"] for each in held.of("transcript", of="self")]


@pytest.mark.live
def test_wrong_reports_are_told_and_change_nothing(tmp_path: Path) -> None:
    wrong = [
        Call("report_goal", {"goal": 2, "met": True, "reason": ""}),
        Call("report_goal", {"goal": "one", "met": True}),
        Call("order", {}),
        Call("report_goal", {"goal": 1, "met": False, "reason": "no"}),
    ]
    plan = Plan([Reply("first wish"), Reply("", calls=wrong), Reply("")], pace=QUICK)
    with RealtimeServer(plan) as server:
        held = Held(tmp_path, openai(server), Answerer([[60]]), brief(most_s=3.0), "fdb2-slow", max_s=3.5)
        items = [each["item"] for each in server.sessions[0].events("conversation.item.create")]
    results = [json.loads(each["output"]) for each in items if each["type"] == "function_call_output"]
    assert [each["error"].split()[0] for each in results] == ["Goal", "expected", "expected", "Only"]
    assert held.verdicts == ["unmet", "not reached"]


@pytest.mark.live
def test_a_second_sentence_goes_on_and_what_comes_late_is_asked_for(tmp_path: Path) -> None:
    """After a report it says nothing; asked, it says two things, the second one later."""
    plan = Plan(
        [Reply("first wish"), report(1, words="thanks"), Reply("second wish"), Reply("")], pace=Pace(first_s=1.8)
    )
    with RealtimeServer(plan) as server:
        held = Held(tmp_path, openai(server), Answerer([[60]], after_ticks=20), brief(), max_s=11)
    says = held.of("examiner_says")
    assert [(each["goal"], each["cue"]) for each in says][:3] == [(1, "opening"), (1, "answered"), (2, "goes on")]
    assert [each["text"] for each in held.of("transcript", of="self")][:3] == ["first wish", "thanks", "second wish"]


@pytest.mark.live
def test_an_examiner_that_is_lost_makes_the_call_invalid(tmp_path: Path) -> None:
    with RealtimeServer(Plan([Reply("first wish of many more", cut_at_ms=300)], pace=QUICK)) as server:
        held = Held(tmp_path, openai(server), Answerer([]), brief())
    assert held.recording.outcome is not None
    assert held.recording.outcome["kind"] == "invalid"
    assert held.recording.outcome["side"] == "A"


@pytest.mark.parametrize(
    ("actor", "told"),
    [
        ("echo", "--examiner echo: it cannot be told during a call when to speak, and when to stop"),
        ("moshi://localhost:8998", "--examiner moshi://localhost:8998: it cannot be told"),
        ("nobody:x", "actor: expected one of "),
        ("verbatim:grok:x", "a.b.1: goal 1: expected words to say, got none"),
    ],
)
def test_who_cannot_play_the_examiner(tmp_path: Path, actor: str, told: str) -> None:
    (tmp_path / "brief.json").write_text(json.dumps(to_builtins(brief())))
    with pytest.raises(SettingsError, match=f"^{told}"):
        endpoint(f"examiner:{tmp_path / 'brief.json'}?actor={quote(actor, safe='')}")
