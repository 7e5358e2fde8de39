"""ElevenLabs Agents by its table, over real sockets, against a server of ours that its own client can call."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes.elevenlabs_server import ElevenLabsServer
from fakes.far_end import Reply, Use
from fakes.planted_speech import find
from fakes.voice_agent import Quirks
from fakes.worlds import Shop
from helpers.commands import command
from helpers.live_calls import DONE, assert_opening_fails, called, held, of_kind, probed, said, speaks
from helpers.vendor_conformance import KEYED, VARIABLE, TurnsConformance

from fdbcore.endpoints.vendors.json_ws import JsonWs, _is_websocket_of, json_ws
from fdbcore.measures.reading import Reading
from fdbcore.measures.transcript import transcript

pytestmark = pytest.mark.live


def address(server: ElevenLabsServer, settings: str = "", agent: str = "agent_1", key: str = KEYED) -> str:
    return f"elevenlabs:{agent}?base_url={server.url('http')}&{key}{settings}"


def at(
    server: ElevenLabsServer, settings: str = "", agent: str = "agent_1", timeout_s: float = 10, key: str = KEYED
) -> JsonWs:
    return json_ws(address(server, settings, agent, key), timeout_s)


class TestElevenLabs(TurnsConformance):
    server, quirks, at = ElevenLabsServer, Quirks, staticmethod(at)
    rate_hz, late_samples, refuses = 16_000, 4_800, (402, "no credits")
    items = ("utterance 1", "utterance 2")
    refusals = (
        (Quirks(refuses=(402, "no credits left")), "quota: the account has used up", False),
        (Quirks(refuses=(500, "oh")), "server: the server failed", True),
    )
    endings = (
        ({100: "answer", 700: "use_up"}, "quota: the account has used up"),
        ({100: "answer", 700: "run_out"}, "session limit: the session reached its longest duration"),
        ({700: "send_wav"}, "sent a WAV file as audio, expected pcm_16000 without a header"),
        ({100: "answer", 700: "abort"}, "the connection was lost"),
        ({200: "answer", 900: "hang_up"}, ""),
    )
    strange = (
        (
            {200: "send_garbage", 300: "send_unknown", 400: "send_no_audio", 500: "answer"},
            {"not an event", "agent_mood", "not audio", "cannot be read"},
        ),
        ({200: "send_odd", 300: "answer"}, {"cannot be read"}),
    )


@pytest.mark.parametrize(
    ("forms", "agent", "settings", "expected"),
    [
        ({}, "agent_9", "", f"agent: there is no such agent or model for the key in {VARIABLE}"),
        ({}, "agent_strict", "&instructions=x", "setting: the server does not take a setting"),
        ({"in": "pcm_44100"}, "agent_1", "", "form of the audio that it hears, at conversation_init"),
        ({"out": "opus_48000"}, "agent_1", "", "form of the audio that it says, at conversation_init"),
        ({"out": None}, "agent_1", "", "got None"),
    ],
)
def test_an_agent_that_cannot_be_had_as_asked_is_no_session(
    forms: Mapping[str, str | None], agent: str, settings: str, expected: str
) -> None:
    with ElevenLabsServer(Quirks(forms=forms)) as server:
        assert expected in refused(at(server, settings, agent))


def refused(party: JsonWs) -> str:
    return assert_opening_fails(party, "", None, ElevenLabsServer.KEY, probes=True)


@pytest.mark.parametrize(("form", "rate_hz"), [("pcm_16000", 16_000), ("pcm_22050", 22_050), ("ulaw_8000", 8_000)])
def test_audio_is_in_the_form_that_the_server_confirms(form: str, rate_hz: int, tmp_path: Path) -> None:
    forms = {"in": "pcm_48000", "out": form}
    with ElevenLabsServer(Quirks([Reply(1.0)], cues={300: "answer"}, deaf=True, forms=forms)) as server:
        party = at(server)
        recording = held(tmp_path / "call", speaks((20, 40), ticks=180), party)
        (agent,) = server.parties
    assert recording.outcome == DONE
    assert party.describe()["hears"]["rate_hz"] == 48_000
    assert party.describe()["says"]["rate_hz"] == rate_hz
    assert agent.heard_ms == pytest.approx(1800, abs=20), "it hears as much as passed"
    heard = said(recording)
    assert (abs(heard) > 300).sum() == pytest.approx(48_000, rel=0.1), "it is heard as long as it is"


def test_a_greeting_before_tick_0_is_heard_and_pings_are_answered(tmp_path: Path) -> None:
    recording, agent = called(tmp_path, ElevenLabsServer(Quirks(greeting=Reply(1.0, "hello there"))), at, ticks=150)
    begin, heard = find(said(recording), agent.said[0], 16_000)
    assert begin <= 20 * 480
    assert heard == pytest.approx(48_000, abs=100)
    assert agent.pongs == [1]
    assert agent.unknown == []


def test_words_of_both_sides_are_told(tmp_path: Path) -> None:
    recording, _ = called(tmp_path, ElevenLabsServer(Quirks([Reply(0.5, "it is noon")])), at, (30, 60), ticks=230)
    lines = [(line["side"], line["text"]) for line in transcript(Reading(recording.path))]
    assert lines == [("A", "what is the time"), ("B", "it is noon")]


def test_calls_of_tools_go_out_and_their_results_come_back(tmp_path: Path) -> None:
    uses = (Use("add", {"item": "tea"}), Use("nothing"), Use("fail"))
    quirks = Quirks([Reply(0.5, uses=uses)], cues={300: "answer"}, deaf=True)
    recording, agent = called(tmp_path, ElevenLabsServer(quirks), at, (20, 40), ticks=150, world=Shop([20, 5, 10]))
    assert [event["status"] for event in of_kind(recording, "tool_result")] == ["unknown", "error", "ok"]
    results = {result["tool_call_id"]: result for result in agent.results}
    assert results["call-1"]["result"] == '{"items": [{"name": "tea", "count": 1}]}'
    assert [results[f"call-{number}"]["is_error"] for number in (1, 2, 3)] == [False, True, True]


def test_the_session_is_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Be brief.\n")
    settings = (
        f"&instructions=@{tmp_path}/prompt.txt&first_message=Hello&language=en&voice=v1&speed=1.1"
        '&dynamic_variables={"name":"Ann"}'
    )
    with ElevenLabsServer() as server:
        party = probed(at(server, settings))
        (agent,) = server.parties
    assert agent.initiation == {
        "type": "conversation_initiation_client_data",
        "conversation_config_override": {
            "agent": {"prompt": {"prompt": "Be brief."}, "first_message": "Hello", "language": "en"},
            "tts": {"voice_id": "v1", "speed": 1.1},
        },
        "dynamic_variables": {"name": "Ann"},
    }
    shown = party.describe()
    assert shown["asked"]["dynamic_variables"] == {"name": "Ann"}
    assert shown["session"]["conversation_initiation_metadata_event"]["conversation_id"] == "conv_1"
    assert next(iter(server.tickets)) not in str(shown), "the ticket is kept nowhere"


def test_nothing_is_overridden_unless_it_is_asked_for() -> None:
    with ElevenLabsServer() as server:
        probed(at(server))
        assert server.parties[0].initiation == {"type": "conversation_initiation_client_data"}


@pytest.mark.parametrize(
    "url", [None, "http://127.0.0.1/x?signature=abc", "ws://127.0.0.1:port/x?signature=abc", "ws://[::1]/?signature=a"]
)
def test_a_ticket_that_leads_nowhere_is_told_without_it(url: str | None) -> None:
    with ElevenLabsServer(Quirks(forms={"url": url})) as server:
        told = refused(at(server))
    assert "gives no address of a WebSocket of its own at signed_url" in told
    assert "signature" not in told


def test_a_key_that_the_server_echoes_is_written_nowhere(tmp_path: Path) -> None:
    key = ElevenLabsServer.KEY
    with ElevenLabsServer(Quirks(refuses=(401, f"Invalid API key: {key}"))) as server:
        refused(at(server))
    echo = {"echo": {"debug": key, key: [key[:20]]}}
    with ElevenLabsServer(Quirks([Reply(0.4, key)], cues={100: "answer"}, deaf=True, forms=echo)) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=80), at(server))
    assert "…" in str(recording.meta["parties"]["B"]["session"]) or "***" in str(
        recording.meta["parties"]["B"]["session"]
    )
    for path in (tmp_path / "call").glob("*.json*"):
        assert key[:16] not in path.read_text(encoding="utf-8")


def test_doctor_waits_for_the_confirmed_form_and_says_what_is_untried() -> None:
    with ElevenLabsServer() as server:
        told = command("doctor", address(server))
    assert re.search(r"elevenlabs:agent_1.*: ready in", told.output)
    assert "untried: ElevenLabs' own server" in told.output
    with ElevenLabsServer(Quirks(forms={"out": "mp3_44100"})) as server:
        told = command("doctor", address(server), code=1)
    assert "got 'mp3_44100'" in told.output
    assert "ready in" not in told.output


def test_an_interruption_without_a_number_cuts_what_is_queued(tmp_path: Path) -> None:
    quirks = Quirks([Reply(2.0)], cues={200: "answer", 900: "interrupt_by_reason"}, think_s=0, deaf=True)
    recording, _ = called(tmp_path, ElevenLabsServer(quirks), at, (10, 30), ticks=150)
    (cut,) = of_kind(recording, "interrupted")
    assert cut["heard_ms"] == pytest.approx(700, abs=40)
    assert not said(recording)[48_000:].any()


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("wss://api.elevenlabs.io/x?s=1", True),
        ("wss://api.us.elevenlabs.io/x?s=1", True),
        ("ws://api.elevenlabs.io/x?s=1", False),
        ("wss://elevenlabs.io.example/x", False),
        ("wss://notelevenlabs.io/x", False),
        ("wss:///x", False),
        ("https://api.elevenlabs.io/x", False),
    ],
)
def test_audio_goes_to_servers_of_the_vendor_alone(url: str, is_taken: bool) -> None:
    assert _is_websocket_of(url, "https://api.elevenlabs.io", "elevenlabs.io") == is_taken
    assert not _is_websocket_of("wss://api.elevenlabs.io/x", "https://example.org", "elevenlabs.io")
