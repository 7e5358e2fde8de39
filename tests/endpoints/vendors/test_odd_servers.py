"""Servers that send what the protocol does not have, over real sockets: the call goes on, or ends with a reason."""

import asyncio
import base64
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from aiohttp import web
from fakes.loopback import Loopback
from fakes.parties import Caller

from fdbcore.recording.reader import Recording
from fdbcore.registry import endpoint
from fdbcore.session.converse import LiveSettings, converse

pytestmark = pytest.mark.live

KEY: Final = "sk-proj-Zq8Lw2Xv7Nf3Tb9Kd5Hm1Pc6Ry4Ju0"
ECHOED: Final = f"{KEY[:12]}****{KEY[-4:]}"
READY: Final = ({"type": "session.created", "session": {}}, {"type": "session.updated", "session": {}})

Messages = Sequence[dict[str, Any]]


rng = np.random.default_rng


class OddServer(Loopback):
    """Sends some messages at once, and others once it has been sent some too; then it closes if it has a reason."""

    def __init__(self, hello: Messages = READY, after: Sequence[dict[str, Any] | bytes] = (), reason: str = "") -> None:
        super().__init__()
        self._hello, self._after, self._reason = hello, after, reason

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.get("/{path:.*}", self._serve)]

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        for told in self._hello:
            await ws.send_json(told)
        for _ in range(3 if len(self._hello) > 1 else 1):  # a client that is not yet ready sends its settings alone
            await ws.receive()
        try:
            for message in self._after:
                await (ws.send_bytes(message) if isinstance(message, bytes) else ws.send_json(message))
            if self._reason:
                await ws.close(code=4000, message=self._reason.encode())
            async for _ in ws:
                pass
        except (ConnectionError, asyncio.CancelledError):
            pass  # the party has left
        return ws


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_KEY", KEY)


def held(server: OddServer, path: Path, ticks: int = 60) -> Recording:
    party = endpoint(f"openai-realtime:m?base_url={server.url('http')}/v1&key_variable=ODD_KEY")
    return converse(Caller([False] * ticks), party, path, LiveSettings(vad="energy"), {}, threading.Event())


def reason(recording: Recording) -> str:
    assert recording.outcome is not None
    return str(recording.outcome["reason"])


def goes_on(recording: Recording) -> bool:
    """Whether the call was held to its end, be it beside other work that made it miss ticks."""
    assert recording.outcome is not None
    return recording.outcome["kind"] in ("done", "invalid") and recording.meta["n_ticks"] >= 60


def names(recording: Recording) -> list[str]:
    return [event["name"] for event in recording.events if event["kind"] == "event" and event["side"] == "B"]


def done(**response: Any) -> dict[str, Any]:
    return {"type": "response.done", "response": {"id": "r", **response}}


@pytest.mark.parametrize(
    ("odd", "logged"),
    [
        (done(status="failed", status_details="boom"), "cannot be read"),
        ({"type": "response.created", "response": "r"}, "cannot be read"),
        (done(usage={"type": "duration"}), "response.done"),
        (done(usage={"input_token_details": [1], "input_tokens": "2"}), "response.done"),
        (
            {"type": "response.output_item.added", "item": {"type": "function_call", "call_id": ["x"]}},
            "response.output_item.added",
        ),
    ],
)
def test_what_is_of_another_form_is_logged_and_the_call_goes_on(
    tmp_path: Path, odd: dict[str, Any], logged: str
) -> None:
    with OddServer(after=[odd]) as server:
        recording = held(server, tmp_path / "call")
    assert goes_on(recording)
    assert logged in names(recording)


@pytest.mark.parametrize(
    "hello", [[{"type": "error", "error": "bad model"}], [READY[0], {"type": "session.updated", "session": [1]}]]
)
def test_a_handshake_that_cannot_be_read_is_told(tmp_path: Path, hello: Messages) -> None:
    with OddServer(hello=hello) as server:
        recording = held(server, tmp_path / "call")
    assert f"broke the protocol: cannot read {json.dumps(hello[-1])}" in reason(recording)


def test_no_part_of_the_key_is_logged(tmp_path: Path) -> None:
    error = {"code": "odd", "message": f"Incorrect API key provided: {ECHOED}.", "more": [{"deep": KEY}]}
    with OddServer(after=[{"type": "error", "error": error}, {"type": "x", "of": ECHOED}]) as server:
        recording = held(server, tmp_path / "call")
    assert goes_on(recording)
    assert "Incorrect API key provided: …" in (tmp_path / "call" / "events.jsonl").read_text(encoding="utf-8")
    shows_no_key(tmp_path / "call")


@pytest.mark.parametrize("hello", [READY, READY[:1]])
def test_no_part_of_the_key_is_a_reason(tmp_path: Path, hello: Messages) -> None:
    with OddServer(hello=hello, reason=f"bad key {KEY[:14]}") as server:
        recording = held(server, tmp_path / "call")
    assert "bad key …" in reason(recording)
    shows_no_key(tmp_path / "call")


def shows_no_key(recording: Path) -> None:
    for path in recording.glob("*.json*"):
        text = path.read_text(encoding="utf-8")
        assert KEY[:12] not in text
        assert KEY[-4:] not in text


def coded(tick: int) -> str:
    return base64.b64encode((rng(tick).random(2_400) * 20_000).astype("<i2").tobytes()).decode()


UNHEARD: Final[Mapping[str, Callable[[int], dict[str, Any] | bytes]]] = {
    "of an unknown type": lambda tick: {"type": "response.sound.delta", "item_id": "i", "delta": coded(tick)},
    "deep in an unknown type": lambda tick: {"type": "x", "parts": [{"mime": "audio/pcm", "data": coded(tick)}]},
    "that is not Base64": lambda tick: {"type": "response.output_audio.delta", "delta": f"!{coded(tick)}"},
    "in binary messages": lambda tick: rng(tick).bytes(4_800),
}


@pytest.mark.parametrize("form", UNHEARD)
def test_a_server_whose_audio_is_not_played_is_not_called_silent(tmp_path: Path, form: str) -> None:
    with OddServer(after=[UNHEARD[form](tick) for tick in range(10)]) as server:
        recording = held(server, tmp_path / "call", ticks=120)
    assert recording.outcome is not None
    told = recording.measured("B")["unplayed"]
    n_kb, _, _, n_messages, *_ = re.findall(r"\w+", told)
    assert int(n_messages) == 10
    assert int(n_kb) == pytest.approx(48, abs=1), "ten messages of 4,800 bytes"
    if recording.outcome["kind"] != "invalid":  # ticks were missed beside other work
        assert reason(recording) == f"sent audio that was not played: {told}"
    assert len((tmp_path / "call/events.jsonl").read_bytes()) < 20_000, "no audio is logged"


def test_what_is_no_audio_does_not_count_as_such(tmp_path: Path) -> None:
    signature = {"type": "x", "parts": [{"text": "Hello.", "thoughtSignature": coded(1)}]}
    with OddServer(after=[signature] * 10) as server:
        recording = held(server, tmp_path / "call")
    assert "unplayed" not in recording.measured("B")


def test_a_flood_of_what_is_no_audio_makes_the_party_leave(tmp_path: Path) -> None:
    delta = {"type": "response.output_audio.delta", "item_id": "i", "delta": f"!{'x' * 300}"}
    with OddServer(after=[delta] * 20_000) as server:
        recording = held(server, tmp_path / "call", ticks=600)
    assert "events" in reason(recording)
    assert names(recording).count("not audio") < 10_000
