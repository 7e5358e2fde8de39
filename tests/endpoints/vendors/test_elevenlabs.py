"""ElevenLabs Agents by its table, over real sockets, against a server of ours that its own client can call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from fakes.elevenlabs_server import ElevenLabsServer
from fakes.far_end import Reply, Use
from fakes.planted_speech import find
from fakes.voice_agent import Quirks
from fakes.worlds import Shop
from helpers.conformance import SECRET, Behaviour, BurstConformance
from helpers.live_calls import DONE, assert_failed, held, of_kind, said, speaks

from fdbcore.cli.main import main
from fdbcore.endpoints.vendors.json_ws import JsonWs, _is_websocket_of, json_ws
from fdbcore.errors import PartyError
from fdbcore.measures.reading import Reading
from fdbcore.measures.transcript import transcript
from fdbcore.protocols import Endpoint

pytestmark = pytest.mark.live


BEHAVIOURS: Mapping[Behaviour, Quirks] = {
    "talks": Quirks(cues={30: "answer"}, deaf=True),
    "mute": Quirks(mute=True),
    "late": Quirks(cues={30: "answer"}, deaf=True, ready_s=0.3),
    "hangs": Quirks(ready_s=60),
    "refuses": Quirks(refuses=(402, "no credits")),
    "closes": Quirks(cues={30: "answer", 1000: "abort"}, deaf=True),
    "takes back": Quirks([Reply(20)], cues={20: "answer", 300: "interrupt"}, think_s=0, deaf=True),
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELEVEN_TEST_KEY", ElevenLabsServer.KEY)


def address(server: ElevenLabsServer, settings: str = "", agent: str = "agent_1") -> str:
    return f"elevenlabs:{agent}?base_url={server.url('http')}&key_variable=ELEVEN_TEST_KEY{settings}"


def at(server: ElevenLabsServer, settings: str = "", agent: str = "agent_1", timeout_s: float = 10) -> JsonWs:
    return json_ws(address(server, settings, agent), timeout_s)


class TestElevenLabs(BurstConformance):
    @pytest.fixture(autouse=True)
    def secret(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ElevenLabsServer, "KEY", SECRET)
        monkeypatch.setenv("ELEVEN_TEST_KEY", SECRET)

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        with ElevenLabsServer(BEHAVIOURS[behaviour]) as server:
            yield at(server, timeout_s=timeout_s)


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


def test_a_call_with_an_interruption_lies_where_the_server_put_it(tmp_path: Path) -> None:
    quirks = Quirks(
        [Reply(3.0, "it is noon here in the office"), Reply(0.5, "very well")],
        cues={500: "answer", 1500: "interrupt", 1900: "answer"},
        think_s=0,
        deaf=True,
        late_chunks=2,
    )
    with ElevenLabsServer(quirks) as server:
        recording = held(tmp_path / "call", speaks((20, 40), ticks=300), at(server))
        (agent,) = server.parties
    assert recording.outcome == DONE
    begin, heard = find(said(recording), agent.said[0], 16_000)
    assert begin / 48 == pytest.approx(500, abs=25)
    (cut,) = of_kind(recording, "interrupted")
    assert (begin + heard) / 48 == pytest.approx(1500, abs=25)
    assert cut["said_ms"] == pytest.approx(3000, abs=5)
    assert cut["heard_ms"] == pytest.approx(heard / 48, abs=15)
    again, heard_again = find(said(recording), agent.said[1], 16_000)
    assert again / 48 == pytest.approx(1900, abs=25)
    assert heard_again == pytest.approx(24_000, abs=100)
    assert recording.measured("B")["late_samples"] == 2 * 4800  # type: ignore[typeddict-item]
    lines = [(line["text"], "cut" in line) for line in transcript(Reading(recording.path)) if line["side"] == "B"]
    assert lines == [("it is noon here in the office", True), ("very well", False)]


def test_a_greeting_before_tick_0_is_heard_and_pings_are_answered(tmp_path: Path) -> None:
    with ElevenLabsServer(Quirks(greeting=Reply(1.0, "hello there"))) as server:
        recording = held(tmp_path / "call", speaks(ticks=150), at(server))
        (agent,) = server.parties
    begin, heard = find(said(recording), agent.said[0], 16_000)
    assert begin <= 20 * 480
    assert heard == pytest.approx(48_000, abs=100)
    assert agent.pongs == [1]
    assert agent.unknown == []


def test_words_of_both_sides_are_told(tmp_path: Path) -> None:
    with ElevenLabsServer(Quirks([Reply(0.5, "it is noon")])) as server:
        recording = held(tmp_path / "call", speaks((30, 60), ticks=230), at(server))
    lines = [(line["side"], line["text"]) for line in transcript(Reading(recording.path))]
    assert lines == [("A", "what is the time"), ("B", "it is noon")]


def test_calls_of_tools_go_out_and_their_results_come_back(tmp_path: Path) -> None:
    uses = (Use("add", {"item": "tea"}), Use("nothing"), Use("fail"))
    with ElevenLabsServer(Quirks([Reply(0.5, uses=uses)], cues={300: "answer"}, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((20, 40), ticks=150), at(server), Shop([20, 5, 10]))
        (agent,) = server.parties
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
        party = at(server, settings)
        party.probe()
        party.close()
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
        party = at(server)
        party.probe()
        party.close()
        assert server.parties[0].initiation == {"type": "conversation_initiation_client_data"}


@pytest.mark.parametrize(
    ("quirks", "agent", "settings", "expected"),
    [
        (Quirks(), "agent_9", "", "agent: there is no such agent or model for the key in ELEVEN_TEST_KEY"),
        (Quirks(refuses=(402, "no credits left")), "agent_1", "", "quota: the account has used up"),
        (Quirks(refuses=(500, "oh")), "agent_1", "", "server: the server failed"),
        (Quirks(), "agent_strict", "&instructions=x", "setting: the server does not take a setting"),
        (Quirks(forms={"in": "pcm_44100"}), "agent_1", "", "form of the audio that it hears, at conversation_init"),
        (Quirks(forms={"out": "opus_48000"}), "agent_1", "", "form of the audio that it says, at conversation_init"),
        (Quirks(forms={"out": None}), "agent_1", "", "got None"),
    ],
)
def test_what_keeps_a_call_from_beginning_has_a_name(quirks: Quirks, agent: str, settings: str, expected: str) -> None:
    with ElevenLabsServer(quirks) as server:
        told = refused(at(server, settings, agent))
    assert expected in told


def refused(party: JsonWs) -> str:
    try:
        with pytest.raises(PartyError) as error:
            party.probe()
    finally:
        party.close()
    told = str(error.value)
    assert told.startswith(f"{party.name}: ")
    assert "\n" not in told
    assert ElevenLabsServer.KEY not in told
    return told


def test_a_wrong_key_and_none_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with ElevenLabsServer() as server:
        party = at(server)
        monkeypatch.setattr(ElevenLabsServer, "KEY", "sk_quite_another_key")
        assert "key: the key in ELEVEN_TEST_KEY is not taken" in refused(party)
    with ElevenLabsServer() as server:
        keyless = f"elevenlabs:agent_1?base_url={server.url('http')}"
        assert "key: a request without a key" in refused(json_ws(keyless))


@pytest.mark.parametrize(
    "url", [None, "http://127.0.0.1/x?signature=abc", "ws://127.0.0.1:port/x?signature=abc", "ws://[::1]/?signature=a"]
)
def test_a_ticket_that_leads_nowhere_is_told_without_it(url: str | None) -> None:
    with ElevenLabsServer(Quirks(forms={"url": url})) as server:
        told = refused(at(server))
    assert "gives no address of a WebSocket of its own at signed_url" in told
    assert "signature" not in told


@pytest.mark.parametrize(
    ("cue", "expected"),
    [
        ("use_up", "quota: the account has used up"),
        ("run_out", "session limit: the session reached its longest duration"),
        ("send_wav", "sent a WAV file as audio, expected pcm_16000 without a header"),
        ("abort", "the connection was lost"),
    ],
)
def test_what_ends_a_call_has_a_name(cue: str, expected: str, tmp_path: Path) -> None:
    cues = {700: cue} if cue == "send_wav" else {100: "answer", 700: cue}
    with ElevenLabsServer(Quirks([Reply(0.4)], cues=cues, think_s=0, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=150), at(server))
    assert_failed(recording, expected)
    assert said(recording).any() == (100 in cues), "what came before is heard"


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


def test_an_agent_that_hangs_up_has_finished(tmp_path: Path) -> None:
    with ElevenLabsServer(Quirks([Reply(0.4)], cues={200: "answer", 900: "hang_up"}, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=200), at(server))
    assert recording.outcome == DONE


def test_strange_messages_are_recorded_and_harm_nothing(tmp_path: Path) -> None:
    cues = {200: "send_garbage", 300: "send_unknown", 400: "send_no_audio", 500: "answer"}
    with ElevenLabsServer(Quirks([Reply(0.5)], cues=cues, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=200), at(server))
        (agent,) = server.parties
    assert recording.outcome == DONE
    find(said(recording), agent.said[0], 16_000)
    odd = {event["name"] for event in of_kind(recording, "event")}
    assert {"not an event", "agent_mood", "not audio", "cannot be read"} <= odd


def test_doctor_waits_for_the_confirmed_form_and_says_what_is_untried() -> None:
    with ElevenLabsServer() as server:
        told = CliRunner().invoke(main, ["doctor", address(server)])
    assert re.search(r"elevenlabs:agent_1.*: ready in", told.output)
    assert "untried: ElevenLabs' own server" in told.output
    with ElevenLabsServer(Quirks(forms={"out": "mp3_44100"})) as server:
        told = CliRunner().invoke(main, ["doctor", address(server)])
    assert told.exit_code == 1
    assert "got 'mp3_44100'" in told.output
    assert "ready in" not in told.output


def test_an_interruption_without_a_number_cuts_what_is_queued(tmp_path: Path) -> None:
    quirks = Quirks([Reply(2.0)], cues={200: "answer", 900: "interrupt_by_reason"}, think_s=0, deaf=True)
    with ElevenLabsServer(quirks) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=150), at(server))
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


def test_messages_with_values_of_other_kinds_are_recorded_as_odd(tmp_path: Path) -> None:
    cues = {200: "send_odd", 300: "answer"}
    with ElevenLabsServer(Quirks([Reply(0.5)], cues=cues, deaf=True)) as server:
        recording = held(tmp_path / "call", speaks((10, 30), ticks=150), at(server), Shop([]))
        (agent,) = server.parties
    assert recording.outcome == DONE
    assert "cannot be read" in {event["name"] for event in of_kind(recording, "event")}
    assert of_kind(recording, "tool_call") == []
    find(said(recording), agent.said[0], 16_000)
