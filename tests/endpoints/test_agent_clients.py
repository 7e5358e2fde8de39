"""The own clients of ElevenLabs and Deepgram hold calls with our servers, and read what our tables send."""

import json
from typing import Any

import pytest
from fakes.deepgram_server import DeepgramServer
from fakes.elevenlabs_server import ElevenLabsServer
from fakes.far_end import Reply, Use
from fakes.outside import Outside
from fakes.voice_agent import Quirks
from fakes.worlds import Shop
from helpers.patience import wait_until

from fdbcore.endpoints.vendors.json_ws import json_ws

pytestmark = pytest.mark.outside

SPANS = "[[900, 1300], [2500, 3000]]"
"""When the caller speaks, in ms: it asks, and breaks into the answer."""
LENGTH = "6000"
REPLIES = [Reply(2.0, "it is noon"), Reply(0.5, "very well", uses=[Use("add", {"item": "tea"})])]
QUIRKS = Quirks(REPLIES, greeting=Reply(0.3, "hello"), cues={5800: "hang_up"}, late_chunks=1)


def held(module: str, *arguments: str) -> list[dict[str, Any]]:
    """The lines of a call, without its audio in a row."""
    with Outside("agent_clients", f"fakes.agent_clients.{module}", *arguments) as client:
        wait_until(lambda: "over" in client.events)
        return client.lines


def keeps(said: object, sent_on: object) -> bool:
    """Whether all of a JSON value is in another one."""
    if isinstance(said, dict) and isinstance(sent_on, dict):
        return all(name in sent_on and keeps(value, sent_on[name]) for name, value in said.items())
    if isinstance(said, list) and isinstance(sent_on, list):
        return len(said) == len(sent_on) and all(map(keeps, said, sent_on))
    return said == sent_on


def names(lines: list[dict[str, Any]]) -> list[str]:
    """What the lines are about; runs of the same are named once."""
    found = [str(line["event"]) for line in lines]
    return [name for at, name in enumerate(found) if at == 0 or found[at - 1] != name]


def test_elevenlabs_own_client_holds_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with ElevenLabsServer(QUIRKS) as server:
        lines = held("elevenlabs_call", server.url("http"), server.KEY, "agent_1", SPANS, LENGTH)
        (agent,) = server.parties
    first = ["ping", "agent_response", "audio", "user_transcript", "agent_response", "audio", "interrupt", "correction"]
    assert names(lines)[:8] == first
    assert names(lines)[8:] == ["user_transcript", "agent_response", "audio", "disconnect", "conversation", "over"]
    heard = sum(line["n_samples"] for line in lines if line["event"] == "audio")
    assert heard == sum(len(pcm) for pcm in agent.said), "it drops the piece that came late"
    (end,) = (line for line in lines if line["event"] == "disconnect")
    assert (end["reason"], end["code"]) == ("agent", 1000)
    assert agent.unknown == []
    assert agent.pongs == [1]
    assert agent.results[0]["result"] == '{"items": "tea"}'
    monkeypatch.setenv("A_KEY", ElevenLabsServer.KEY)
    with ElevenLabsServer() as server:
        settings = (
            'instructions=Be+brief.&first_message=Hello&language=en&voice=v1&speed=1.1&dynamic_variables={"name":"Ann"}'
        )
        ours = json_ws(f"elevenlabs:agent_1?base_url={server.url('http')}&key_variable=A_KEY&{settings}")
        ours.probe()
        ours.close()
        sent = server.parties[0].initiation
    assert sent is not None
    assert agent.initiation is not None
    assert sent == {name: value for name, value in agent.initiation.items() if name in sent}, "as the client says it"


def test_elevenlabs_own_client_is_refused_as_we_are() -> None:
    with ElevenLabsServer() as server:
        for key, agent, status in (("sk_of_nobody", "agent_1", 401), (server.KEY, "agent_9", 404)):
            lines = held("elevenlabs_call", server.url("http"), key, agent, "[]", "100")
            assert [line["status"] for line in lines if line["event"] == "refused"] == [status]


def test_deepgrams_own_client_holds_a_call_with_our_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", DeepgramServer.KEY)
    with DeepgramServer() as server:
        settings = "instructions=Be+brief.&listen=nova-3&speak=aura-2-thalia-en&greeting=hi&listen_version=v1"
        ours = json_ws(f"deepgram:gpt-4o-mini?base_url={server.url('http')}&key_variable=A_KEY&{settings}")
        ours.take_tools(Shop([]).tools)
        ours.probe()
        ours.close()
        sent = server.parties[0].settings
    with DeepgramServer(QUIRKS) as server:
        lines = held("deepgram_call", server.url("http"), server.KEY, json.dumps(sent), SPANS, LENGTH)
        (agent,) = server.parties
    turn = ["ConversationText", "audio", "AgentAudioDone", "UserStartedSpeaking"]
    assert names(lines)[:3] == ["settings", "Welcome", "SettingsApplied"]
    assert names(lines)[3:7] == turn
    assert names(lines)[7:11] == turn, "it breaks into the answer"
    assert names(lines)[-6:] == ["ConversationText", "FunctionCallRequest", *turn[:3], "over"]
    assert [line["strange"] for line in lines if line.get("strange")] == []
    assert keeps(sent, agent.settings), "its types keep all that we say"
    assert agent.results[0]["content"] == '{"item": "tea"}'
    assert agent.unknown == []


def test_deepgrams_own_client_is_refused_as_we_are() -> None:
    asked = {"type": "Settings", "audio": {}, "agent": {"think": {"provider": {"type": "open_ai", "model": "gpt-4o"}}}}
    with DeepgramServer() as server:
        lines = held("deepgram_call", server.url("http"), "a-key-of-nobody", json.dumps(asked), "[]", "100")
    assert [line["status"] for line in lines if line["event"] == "refused"] == [401]
