"""The Gemini Live API, over real sockets, against a server of ours that the vendor's own client checks too."""

from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from aiohttp import web
from fakes.far_end import Reply, Use
from fakes.gemini_live_server import Caller as Leg
from fakes.gemini_live_server import GeminiLiveServer
from fakes.gemini_live_voice import Quirks
from fakes.planted_speech import find
from fakes.worlds import Shop
from helpers.live_calls import (
    DONE,
    assert_failed,
    assert_opening_fails,
    assert_system_turns,
    called,
    held,
    of_kind,
    open_and_close,
    said,
    speaks,
)
from helpers.vendor_conformance import KEYED, VARIABLE, TurnsConformance

from fdbcore.endpoints.vendors.gemini_live import GeminiLive, gemini_live
from fdbcore.types import SAMPLE_RATE_HZ

pytestmark = pytest.mark.live

FLASH_25 = "gemini-2.5-flash-native-audio-preview-12-2025"
FLASH_31 = "gemini-3.1-flash-live-preview"
LIVE_38 = "gemini-3.8-live"
THINKS_38 = "gemini-3.8-live-extended-thinking"
FRAME = SAMPLE_RATE_HZ // 100


def at(
    server: GeminiLiveServer, model: str = LIVE_38, settings: str = "", timeout_s: float = 10, key: str = KEYED
) -> GeminiLive:
    return gemini_live(f"gemini-live:{model}?base_url={server.url('http')}&{key}&{settings}", timeout_s)


class TestGeminiLive(TurnsConformance):
    server, quirks, at = GeminiLiveServer, Quirks, staticmethod(at)
    rate_hz, late_samples, refuses = 24_000, 11_520, "region"
    at_once = MappingProxyType({"think_s": 0, "faster": 10_000})
    refusals = (
        (Quirks(refuses=401), f"key: the key in {VARIABLE} is not taken", False),
        (Quirks(refuses=429), "busy: ", True),
        (Quirks(refuses=500), "server: ", True),
        (Quirks(refuses="key expired"), f"key: the key in {VARIABLE} is not taken", False),
        (Quirks(refuses="quota"), "quota: ", False),
        (Quirks(refuses="region"), "region: ", False),
        (Quirks(refuses="busy"), "busy: ", True),
        (Quirks(refuses="invalid"), "setting: ", False),
        (Quirks(ready_s=60), "no session within 0.5 s", True),
    )
    endings = (
        ({200: "answer", 700: "deadline"}, "session limit: the session reached its longest duration"),
        ({200: "answer", 400: "go_away", 700: "fail"}, "session limit: "),
        ({200: "answer", 700: "fail"}, "server: the server failed"),
        ({200: "answer", 700: "exhaust"}, "quota: "),
        ({200: "answer", 700: "overflow"}, "context: the context is full"),
        ({200: "answer", 700: "abort"}, "the connection was lost"),
    )
    strange = (
        (
            {200: "send_garbage", 300: "send_unknown", 400: "send_half_a_sample", 500: "answer"},
            {"not an event", "modelMood"},
        ),
    )


def test_that_it_will_go_away_is_told_and_is_the_reason_once_it_has(tmp_path: Path) -> None:
    quirks = Quirks([Reply(0.4)], cues={200: "answer", 400: "go_away", 700: "abort"}, think_s=0, deaf=True)
    recording, _ = called(tmp_path, GeminiLiveServer(quirks), at, (10, 30), ticks=200)
    assert_failed(recording, "session limit: ", GeminiLiveServer.KEY)
    assert [event["time_left_s"] for event in of_kind(recording, "going_away")] == [50]


def test_a_wrong_model_is_told() -> None:
    with GeminiLiveServer() as server:
        assert_opening_fails(at(server, "gemini-9"), "model: there is no such model", probes=True)


def check_against_the_sdk(leg: Leg) -> None:
    """Whatever we sent is a message of the SDK's types, which forbid unknown fields."""
    types = pytest.importorskip("google.genai.types")
    assert types.LiveClientMessage.model_config["extra"] == "forbid"
    for noted in leg.received:
        message = dict(noted.message)
        if "setup" in message:
            setup = dict(message["setup"])
            # The SDK has this part of a set-up in another type only.
            types.RealtimeInputConfig.model_validate(setup.pop("realtimeInputConfig", {}))
            message["setup"] = setup
        types.LiveClientMessage.model_validate(message)


def test_the_servers_turns_stand_on_our_clock(tmp_path: Path) -> None:
    with GeminiLiveServer(Quirks([Reply(0.3)], words="what is it")) as server:
        recording = held(
            tmp_path / "call", speaks((30, 60), (140, 160), ticks=250), at(server, settings="silence_duration_ms=300")
        )
    truth = [("speech_started", 300), ("speech_stopped", 600), ("speech_started", 1400), ("speech_stopped", 1600)]
    assert_system_turns(recording, truth, 10)
    words = [(event["of"], event["text"], event["item"]) for event in of_kind(recording, "transcript")]
    assert words == [
        ("partner", "what is it", "input_1"),
        ("self", "I can do that for you", "turn_1"),
        ("partner", "what is it", "input_2"),
        ("self", "I can do that for you", "turn_2"),
    ]


def test_an_interruption_after_the_turn_is_complete_takes_back_what_still_waits(tmp_path: Path) -> None:
    """Its audio came at once, so that for the server the turn was over; the next turn is heard."""
    quirks = Quirks(
        [Reply(3.0), Reply(0.5)],
        cues={300: "answer", 1300: "interrupt", 1500: "answer"},
        think_s=0,
        faster=100,
        deaf=True,
        assumes_playback=False,
    )
    recording, leg = called(tmp_path, GeminiLiveServer(quirks), at, (20, 40), ticks=220)
    (cut,) = of_kind(recording, "interrupted")
    assert (cut["item"], cut["said_ms"]) == ("turn_1", 3000)
    assert cut["heard_ms"] == pytest.approx(find(said(recording), leg.said[0], 24_000)[1] / 48, abs=10)
    assert find(said(recording), leg.said[1], 24_000)[1] == 24_000


@pytest.mark.parametrize(
    ("model", "settings", "behavior"),
    [
        (FLASH_25, "", "BLOCKING"),
        (FLASH_31, "", None),
        (LIVE_38, "", "BLOCKING"),
        (THINKS_38, "thinking_level=LOW", None),
    ],
)
def test_calls_of_tools_go_out_and_their_results_come_back(
    tmp_path: Path, model: str, settings: str, behavior: str | None
) -> None:
    uses = (Use("add", {"item": "tea"}), Use("add", {"item": "milk", "count": 2}), Use("nothing"))
    with GeminiLiveServer(Quirks([Reply(0.5, uses=uses)], cues={300: "answer"}, think_s=0, deaf=True)) as server:
        party = at(server, model, settings)
        recording = held(tmp_path / "call", speaks((20, 40), ticks=150), party, Shop([20, 40, 5]))
        (leg,) = server.parties
        sent = [noted.message["toolResponse"] for noted in leg.received if "toolResponse" in noted.message]
    assert {function.get("behavior") for function in leg.functions.values()} == {behavior}
    check_against_the_sdk(leg)
    assert leg.functions["add"]["parametersJsonSchema"]["required"] == ["item"]
    answers = [answer for response in sent for answer in response["functionResponses"]]
    assert [answer["id"] for answer in answers] == ["function-call-3", "function-call-1", "function-call-2"]
    assert "error" in answers[0]["response"]
    assert answers[1]["response"] == {"output": {"items": [{"name": "tea", "count": 1}]}}
    assert [event["stage"] for event in of_kind(recording, "tool_call")].count("complete") == 3
    assert [event["status"] for event in of_kind(recording, "tool_result")] == ["unknown", "ok", "ok"]
    begin, _ = find(said(recording), leg.said[-1], 24_000)
    assert begin / 480 >= of_kind(recording, "tool_result")[-1]["tick"], "it goes on with the results"
    shown = recording.parties["B"]["tool_behavior"]
    assert shown == ("NON_BLOCKING" if model == THINKS_38 else "BLOCKING")


def test_a_call_that_the_server_takes_back_is_cancelled(tmp_path: Path) -> None:
    quirks = Quirks(
        [Reply(0.5, uses=[Use("add", {"item": "tea"})]), Reply(0.5)],
        cues={300: "answer", 700: "interrupt", 1000: "answer"},
        think_s=0,
        deaf=True,
    )
    recording, leg = called(tmp_path, GeminiLiveServer(quirks), at, (20, 40), ticks=180, world=Shop([200]))
    assert not [noted for noted in leg.received if "toolResponse" in noted.message]
    assert [event["stage"] for event in of_kind(recording, "tool_call")] == ["begun", "complete", "cancelled"]
    assert of_kind(recording, "tool_result") == []
    assert find(said(recording), leg.said[-1], 24_000)[1] == 24_000, "the next turn is heard"


def test_what_it_counts_is_told(tmp_path: Path) -> None:
    quirks = Quirks([Reply(0.4)], cues={500: "answer"}, think_s=0, deaf=True)
    recording, leg = called(tmp_path, GeminiLiveServer(quirks), at, (20, 40), ticks=150)
    (counted,) = [noted.message["usageMetadata"] for noted in leg.sent if "usageMetadata" in noted.message]
    due, usage = of_kind(recording, "usage")
    assert due["due"]
    assert "due" not in usage
    assert (usage["audio_in_tokens"], usage["audio_out_tokens"]) == (
        counted["promptTokenCount"],
        counted["responseTokenCount"],
    )


def test_a_turn_that_is_declined_says_so(tmp_path: Path) -> None:
    quirks = Quirks([Reply(0.2)], cues={300: "answer"}, think_s=0, deaf=True, ends="PROHIBITED_INPUT_CONTENT")
    recording, _ = called(tmp_path, GeminiLiveServer(quirks), at, (10, 30), ticks=100)
    (refusal,) = of_kind(recording, "refusal")
    assert "moderation: the vendor declined" in refusal["reason"]
    assert recording.outcome == DONE


def test_a_session_is_resumed_only_if_asked_and_says_so(tmp_path: Path) -> None:
    quirks = Quirks([Reply(0.5)], cues={300: "answer", 1500: "deadline"}, think_s=0, ready_s=0.2)
    with GeminiLiveServer(quirks) as server:
        party = at(server, settings="resumption=true&silence_duration_ms=200")
        recording = held(tmp_path / "call", speaks((200, 230), ticks=290), party)
        first, second = server.parties
    assert recording.outcome == DONE
    (resumed,) = of_kind(recording, "resumed")
    assert second.setup["sessionResumption"]["handle"].startswith("handle-")
    assert "handle-" not in str(recording.events)
    assert resumed["gap_ms"] == pytest.approx(200, abs=100)
    assert resumed["claimed_ms"] == pytest.approx(1500, abs=40)
    n_heard = sum(map(len, first.heard)) + sum(map(len, second.heard))
    assert n_heard == pytest.approx(2.9 * 16_000, abs=1600), "what was said in the gap is heard late, but heard"
    started = [event["at_ms"] for event in of_kind(recording, "system_turn")]
    assert started == [pytest.approx(2000, abs=30), pytest.approx(2300, abs=30)]


def test_a_gap_that_is_longer_than_what_may_wait_is_not_the_servers_fault(tmp_path: Path) -> None:
    """The newest 3 s of it are sent when the session is resumed; the rest is dropped, and the server's clock knows."""
    quirks = Quirks(cues={500: "answer", 1000: "deadline"}, replies=[Reply(0.2)], think_s=0, resume_s=6.5)
    with GeminiLiveServer(quirks) as server:
        party = at(server, settings="resumption=true&silence_duration_ms=200")
        recording = held(tmp_path / "call", speaks((300, 320), (650, 680), (780, 810), ticks=850), party)
        first, second = server.parties
    assert recording.outcome == DONE
    (resumed,) = of_kind(recording, "resumed")
    assert resumed["gap_ms"] == pytest.approx(6500, abs=200)
    assert resumed["dropped_ms"] == pytest.approx(resumed["gap_ms"] - 3000, abs=60)
    n_heard = sum(map(len, first.heard)) + sum(map(len, second.heard))
    assert n_heard == pytest.approx(16 * (8500 - resumed["dropped_ms"]), abs=1600)
    started = [event["at_ms"] for event in of_kind(recording, "system_turn") if event["name"] == "speech_started"]
    assert started == [pytest.approx(6500, abs=30), pytest.approx(7800, abs=30)], "the first words were dropped"


def test_a_session_that_is_never_resumed_was_lost_when_its_connection_was(tmp_path: Path) -> None:
    quirks = Quirks(cues={500: "answer", 1000: "deadline"}, replies=[Reply(0.2)], think_s=0, resume_s=60)
    with GeminiLiveServer(quirks) as server:
        party = at(server, settings="resumption=true", timeout_s=1.5)
        recording = held(tmp_path / "call", speaks((10, 20), ticks=600), party)
    outcome = recording.outcome
    assert outcome is not None
    assert "no resumption of the session within 1.5 s" in str(outcome["reason"])
    assert outcome["gone_tick"] == pytest.approx(100, abs=10)
    assert recording.n_ticks == pytest.approx(250, abs=20)


@pytest.mark.parametrize("signals", [True, False])
def test_an_interrupted_turn_that_is_never_completed_does_not_swallow_the_next_one(
    tmp_path: Path, signals: bool
) -> None:
    quirks = Quirks(
        [Reply(3.0, "one two three"), Reply(0.5, "very well")],
        think_s=0.1,
        late_chunks=2,
        completes=False,
        signals_activity=signals,
    )
    spans, settings = ((20, 40), (150, 190)), "silence_duration_ms=300"
    recording, leg = called(tmp_path, GeminiLiveServer(quirks), at, *spans, ticks=350, settings=settings)
    (cut,) = of_kind(recording, "interrupted")
    assert (cut["item"], cut["said_ms"]) == ("turn_1", 3000)
    assert recording.measured("B")["late_samples"] == 2 * 11_520  # type: ignore[typeddict-item]
    assert find(said(recording), leg.said[1], 24_000)[1] == 24_000, "the next answer is heard whole"
    assert [event["item"] for event in of_kind(recording, "item")] == ["turn_2"]
    words = {event["item"]: event["text"] for event in of_kind(recording, "transcript") if event["of"] == "self"}
    assert words["turn_2"] == "very well"
    assert "no turnComplete" in [event["name"] for event in of_kind(recording, "event")]


def test_the_setup_is_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Be brief.\n")
    asked = (
        f"voice_name=Kore&language_code=en-US&instructions=@{tmp_path}/prompt.txt&start_of_speech_sensitivity="
        "START_SENSITIVITY_LOW&prefix_padding_ms=100&silence_duration_ms=400&activity_handling=NO_INTERRUPTION&"
        "thinking_budget=0&context_window_compression=true&proactive_audio=true&temperature=0.5&api_version=v1beta"
    )
    with GeminiLiveServer() as server:
        party = at(server, FLASH_25, asked)
        before = party.describe()
        open_and_close(party)
        (leg,) = server.parties
    check_against_the_sdk(leg)
    assert leg.setup == before["asked"]
    assert "v1beta" in str(leg.request.url)
    assert leg.setup == {
        "model": f"models/{FLASH_25}",
        "generationConfig": {
            "responseModalities": ["AUDIO"],
            "temperature": 0.5,
            "speechConfig": {"languageCode": "en-US", "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
            "thinkingConfig": {"thinkingBudget": 0},
        },
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "realtimeInputConfig": {
            "automaticActivityDetection": {
                "startOfSpeechSensitivity": "START_SENSITIVITY_LOW",
                "prefixPaddingMs": 100,
                "silenceDurationMs": 400,
            },
            "activityHandling": "NO_INTERRUPTION",
        },
        "contextWindowCompression": {"slidingWindow": {}},
        "proactivity": {"proactiveAudio": True},
        "inputAudioTranscription": {},
        "outputAudioTranscription": {},
    }
    assert party.describe() == {**before, "session": {"sessionId": "session-1"}}
    assert party.services() == [("audio", "127.0.0.1", "", "")]


def test_the_key_goes_to_no_other_server() -> None:
    async def elsewhere(request: web.Request) -> web.Response:
        raise web.HTTPFound(f"{thief.url('http')}{request.path}")

    class Redirects(GeminiLiveServer):
        def routes(self) -> list[web.RouteDef]:
            return [web.get("/{path:.*}", elsewhere)]

    with GeminiLiveServer() as thief, Redirects() as server:
        expected = "cannot connect: the server sends us to another one"
        assert_opening_fails(at(server), expected, False, GeminiLiveServer.KEY, probes=True)
        assert thief.parties == []


def test_it_hears_the_session(tmp_path: Path) -> None:
    """At 16 kHz, in packets of 20 ms, late by the look-ahead of the resampler."""
    with GeminiLiveServer(Quirks(mute=True)) as server:
        party = at(server)
        held(tmp_path / "call", speaks((50, 60), ticks=100), party)
        (leg,) = server.parties
    heard = np.concatenate(leg.heard)
    onset, end = np.flatnonzero(np.abs(heard) > 1000)[[0, -1]]
    assert onset / 16 == pytest.approx(500 + party.uplink.lead_ms, abs=0.5)
    assert end / 16 == pytest.approx(600 + party.uplink.lead_ms, abs=0.5)
    assert {len(packet) for packet in leg.heard} == {320}
