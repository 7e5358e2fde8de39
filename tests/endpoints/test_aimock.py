"""CopilotKit's mock of vendors' interfaces, in live calls: what it takes and sends, and in which order, is its code."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.outside import Outside
from fakes.planted_speech import find
from fakes.realtime.plan import tones
from fakes.worlds import Shop
from helpers.live_calls import held, of_kind, said, speaks

from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse

pytestmark = pytest.mark.outside

RATE_HZ = 24_000
DONE = {"kind": "done", "side": None, "reason": None}
Json = dict[str, Any]


def answer(response: Json, **match: Any) -> Json:
    return {"match": match, "response": response}


def sound(samples: Any) -> str:
    """PCM16 as vendors write it."""
    return base64.b64encode(samples.astype("<i2").tobytes()).decode()


@contextmanager
def mocking(folder: Path, *answers: Json) -> Iterator[str]:
    """The settings of an address that reaches the mock."""
    path = folder / "fixtures.json"
    path.write_text(json.dumps({"fixtures": answers}))
    with Outside("aimock", "aimock/server.cjs", str(path)) as mock:
        yield f"base_url=http://127.0.0.1:{mock.port}/v1"


def test_a_cascaded_system_hears_calls_a_tool_and_answers_with_its_result(tmp_path: Path) -> None:
    spoken = tones(2, 1)
    buy = {"toolCalls": [{"name": "add", "arguments": {"item": "tea"}}]}
    answers = [
        answer({"transcription": {"text": "Some tea, please."}}, endpoint="transcription"),
        answer({"content": "It is in your basket."}, endpoint="chat", toolResultContains="tea"),
        answer(buy, endpoint="chat", userMessage="Some tea, please.", hasToolResult=False),
        answer({"audio": sound(spoken), "format": "pcm"}, endpoint="speech", userMessage="It is in your basket."),
    ]
    with mocking(tmp_path, *answers) as at:
        parts = {"asr": "openai:whisper-1", "llm": "openai:gpt-4o", "tts": "openai-tts:tts-1?voice=nova"}
        lines = [f'{name} = "{part}{"&" if "?" in part else "?"}{at}"' for name, part in parts.items()]
        system = tmp_path / "mine.toml"
        system.write_text("\n".join([*lines, "pause_ms = 400"]))
        recording = converse(
            speaks((50, 150), ticks=500),
            endpoint(f"cascaded:{system}"),
            tmp_path / "call",
            LiveSettings(vad="energy", realtime=False),
            {},
            threading.Event(),
            world=Shop(),
            seed="s",
        )
    assert recording.outcome == DONE
    texts = [(event["of"], event["text"]) for event in of_kind(recording, "transcript")]
    assert texts == [("partner", "Some tea, please."), ("self", "It is in your basket.")]
    (called,) = [event for event in of_kind(recording, "tool_call") if event["stage"] == "complete"]
    assert (called["name"], called["arguments"]) == ("add", {"item": "tea"})
    assert [event["status"] for event in of_kind(recording, "tool_result")] == ["ok"]
    assert find(said(recording), spoken, RATE_HZ)[1] == 48_000 * 2


SESSION: Json = {
    "model": "gpt-live-1",
    "audio": {"format": {"type": "audio/pcm", "rate": RATE_HZ}, "output": {"voice": "marin"}},
    "delegation": {"type": "responses", "responses": {"model": "gpt-5.4"}},
}


def live(said: list[tuple[int, Json]]) -> Json:
    """A session of GPT-Live: up to 20 s of silence are taken, and at these ms these events are sent, from the one that
    starts it to the one that closes it. Every name of an event or a session has to be declared."""
    second = {"type": "session.input_audio.append", "audio": sound(np.zeros(RATE_HZ))}
    heard = [{"type": "session.start", "session": SESSION}, *[second] * 20]
    entries: list[Json] = [{"direction": "client", "atMs": 0, "event": event} for event in heard]
    bindings: list[Json] = []
    for at_ms, event in said:
        names = {"/event_id": event.get("event_id"), "/session/id": event.get("session", {}).get("id")}
        for pointer, name in names.items():
            if name is not None:
                action = "reference" if any(each["name"] == name for each in bindings) else "define"
                place = {"entry": len(entries), "pointer": pointer}
                bindings.append({**place, "name": name, "owner": "server", "action": action})
        barrier = {"command": 1, "audioBytes": 0}
        entries.append({"direction": "server", "atMs": at_ms, "event": event, "barrier": barrier})
    written = {
        "version": 1,
        "model": "gpt-live-1",
        "mode": "managed",
        "audio": {"encoding": "pcm16le", "sampleRateHz": RATE_HZ, "channels": 1},
        "configuration": SESSION,
        "entries": entries,
        "bindings": bindings,
        "capture": {"complete": True, "source": "authored", "terminalEntry": len(entries) - 1},
    }
    return answer({"live": written}, endpoint="openai-live", model="gpt-live-1")


def test_a_session_of_gpt_live_says_what_was_written_for_it(tmp_path: Path) -> None:
    spoken = tones(1, 1)
    started = {"id": "s1", "expires_at": 2_000_000_000, "status": "active", "input": [], **SESSION}
    usage = {"usage": {"seconds": 4}}
    parts = enumerate(np.array_split(spoken, 10))
    events: list[tuple[int, Json]] = [
        (0, {"event_id": "e1", "type": "session.started", "session": started}),
        *((1000 + 100 * at, {"type": "session.output_audio.delta", "delta": sound(part)}) for at, part in parts),
        (3000, {"event_id": "e2", "type": "session.usage.updated", **usage}),
        (3000, {"event_id": "e3", "type": "session.closed", "reason": "remote_hangup", "session": started, **usage}),
    ]
    with mocking(tmp_path, live(events)) as at:
        system = endpoint(f"openai-live:gpt-live-1?voice=marin&responses_model=gpt-5.4&{at}")
        recording = held(tmp_path / "call", speaks(ticks=600), system)
    assert recording.outcome == DONE
    assert recording.n_ticks == pytest.approx(300, abs=20), "the call is over when the server hangs up"
    (closed,) = [event for event in of_kind(recording, "event") if event["name"] == "session.closed"]
    assert closed["data"]["reason"] == "remote_hangup"
    begins, samples = find(said(recording), spoken, RATE_HZ)
    assert samples == 48_000
    assert begins / 48 == pytest.approx(1000, abs=100)


def test_a_session_of_the_realtime_interface_is_confirmed_as_it_was_asked_for(tmp_path: Path) -> None:
    with mocking(tmp_path, answer({"content": "Hello."}, userMessage="hi")) as at:
        system = endpoint(f"openai-realtime:gpt-realtime?voice=marin&instructions=Be%20brief.&{at}")
        recording = held(tmp_path / "call", speaks((20, 60), ticks=150), system)
    party = dict(recording.parties["B"])
    session = party["session"]
    assert (session["instructions"], session["audio"]["output"]["voice"]) == ("Be brief.", "marin")
    assert [each["setting"] for each in party["differs"]] == ["output_modalities"], "the mock names them modalities"
    assert [event["name"] for event in of_kind(recording, "event")] == ["session.created", "session.updated"]
    assert "no speech found" in str(recording.outcome), "the mock sends no sound"
