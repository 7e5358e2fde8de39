"""GPT-Live, over real sockets, against a server of ours that the vendor's own types check too."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soxr
from aiohttp import web
from fakes.live.plan import Reason
from fakes.live_server import Call, Faults, LivePlan, LiveServer, Reply, place_of, tones
from fakes.worlds import Shop
from helpers.conformance import Behaviour
from helpers.live_calls import DONE, assert_replays, assert_shopped, called, held, of_kind, open_and_close, said, speaks
from helpers.patience import wait_until
from helpers.realtime_behaviours import FAULTS, FaultsConformance

from fdbcore.endpoints.vendors.live_session import Delegated
from fdbcore.endpoints.vendors.openai_live import OpenAILive, openai_live
from fdbcore.errors import SettingsError
from fdbcore.protocols import Endpoint
from fdbcore.recording.reader import Recording
from fdbcore.types.tools import ToolResult

BACKEND = "responses_model=gpt-5.4"
FRAME_MS = 100


def at(server: LiveServer, settings: str = "voice=marin", timeout_s: float = 10) -> OpenAILive:
    base = f"base_url={server.base_url}&key_variable={server.variable}"
    return openai_live(f"openai-live:{server.model}?{base}&{settings}", timeout_s)


def ending(ends: Reason) -> LivePlan:
    """The server ends the session in the midst of its first reply, or just after it."""
    return LivePlan([Reply("a b c")], reply_ms=200, ends_ms=1800, ends=ends)


class TestOpenAILive(FaultsConformance):
    at = staticmethod(at)
    refusals = (
        (Faults(http_status=401), "key: "),
        (Faults(http_status=403), "key: the key in OPENAI_API_KEY is not taken: check it, and that it belongs"),
        (Faults(http_status=429, retry_after_s=3600), "busy: "),
        (Faults(http_status=500), "server: "),
        (Faults(at_once="credit_balance_exhausted"), "quota: "),
        (Faults(at_once="account_deactivated"), "key: "),
        (Faults(at_once="model_not_found"), "model: "),
        (Faults(at_once="unknown_parameter"), "setting: "),
        (Faults(mute=["greeting"]), "no session within 0.5 s"),
    )
    endings = (
        (LivePlan([Reply("a b c", cut_at_ms=400, cut_by=1011)], reply_ms=200), Faults(), "1011"),
        (LivePlan([Reply("a b c", cut_at_ms=400)], reply_ms=200), Faults(), "the connection was lost"),
        (LivePlan([Reply("a b c")], reply_ms=200), Faults(cap_s=1.5), "session limit: "),
        (ending("content"), Faults(), "moderation: "),
        (ending("connection_lost"), Faults(), "server: "),
        (ending("close_requested"), Faults(), "closed by the server: close_requested"),
        (ending("remote_hangup"), Faults(), ""),
    )

    def served(self, plan: LivePlan | None, faults: Faults) -> LiveServer:
        return LiveServer(plan, faults)

    def saying(self, reply: Reply) -> LivePlan:
        return LivePlan([reply])

    @contextmanager
    def party(self, behaviour: Behaviour, timeout_s: float) -> Iterator[Endpoint]:
        cut_at_ms = 600 if behaviour == "closes" else None
        plan = LivePlan([Reply("one two three four", cut_at_ms=cut_at_ms)], reply_ms=200, drain_s=0.2)
        with LiveServer(plan, FAULTS.get(behaviour, Faults())) as server:
            yield at(server, timeout_s=timeout_s)


def place_ms(speech: npt.NDArray[np.int16], recording: Recording) -> float:
    return place_of(soxr.resample(speech, 24_000, 48_000), said(recording)) / 48


@pytest.mark.live
def test_a_call_of_20_s_with_an_interruption(tmp_path: Path) -> None:
    first, second, third = tones(2, 1), tones(6, 2), tones(1, 3)
    replies = [
        Reply("one two three four", pcm=first),
        Reply("it is a long story", pcm=second),
        Reply("very well", pcm=third),
    ]
    plan = LivePlan(replies, heard=["Tell me.", "Go on.", "Stop."], usage_s=5, yield_ms=200)
    spans = (100, 150), (600, 650), (1000, 1050)
    recording, session = called(tmp_path, LiveServer(plan), at, *spans, ticks=2000)
    assert recording.outcome == DONE
    assert_replays(recording, tmp_path / "again")
    places = [place_ms(speech, recording) for speech in (first, second[: 2 * 24_000], third)]
    clocks = of_kind(recording, "provider_clock")
    offset_ms = recording.measured("B")["provider_clock"]["offset_ms"]  # type: ignore[typeddict-item]
    for place, spoken in zip(places, session.mouth.said, strict=True):
        waited_ms = place - (spoken.start_ms + FRAME_MS + offset_ms)
        assert -20 <= waited_ms <= 150, "it is heard as it comes, but for what once came late"
    cut_ms = np.flatnonzero(np.abs(said(recording)[: round(places[2] * 48) - 4800]).astype(int) > 2000)[-1] / 48
    assert 10_200 <= cut_ms <= 10_700, "it yields by itself"
    words = of_kind(recording, "transcript")
    theirs = [event for event in words if event["of"] == "partner"]
    assert "".join(event["text"] for event in theirs) == "Tell me.Go on.Stop."
    begins = [theirs[0]["start_ms"], theirs[2]["start_ms"], theirs[4]["start_ms"]]
    assert begins == pytest.approx([1000, 6000, 10_000], abs=300), "of 200 ms each, heard in frames of 100 ms"
    ours = [event for event in words if event["of"] == "self"]
    onset_ms = np.flatnonzero(np.abs(said(recording).astype(int)) > 2000)[0] / 48
    assert ours[0]["start_ms"] == pytest.approx(onset_ms, abs=25)
    assert ours[0]["end_ms"] - ours[0]["start_ms"] == 200
    assert not of_kind(recording, "system_turn")
    assert not of_kind(recording, "interrupted")
    assert len(clocks) == pytest.approx(20, abs=1)
    assert all(event["chunks"] >= 8 and event["lost_ms"] == 0 for event in clocks)
    assert all(abs(event["end_ms"] - event["received_ms"]) <= FRAME_MS for event in clocks)
    counted = sum(event["seconds"] for event in of_kind(recording, "usage"))
    assert counted == pytest.approx(session.told("session.closed")[0]["usage"]["seconds"])
    assert session.told("session.closed")[0]["reason"] == "close_requested"
    assert recording.parties["B"]["session"]["expires_at"] > time.time()
    assert recording.measured("B")["padded_samples"] < 48_000 / 4


def test_frames_that_the_server_loses_are_told(tmp_path: Path) -> None:
    plan = LivePlan([Reply("one two")], dropped={12, 13})
    recording, _ = called(tmp_path, LiveServer(plan), at, (20, 60), ticks=250)
    assert sum(event["lost_ms"] for event in of_kind(recording, "provider_clock")) == 2 * FRAME_MS


def test_without_a_sideband_the_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(self: LiveServer, request: web.Request) -> web.Response:
        return web.Response(status=403)

    monkeypatch.setattr(LiveServer, "_attach", refuse)
    recording, _ = called(tmp_path, LiveServer(LivePlan([Reply("one two")])), at, (20, 60), ticks=250)
    assert recording.outcome == DONE
    lacks = [event["data"] for event in of_kind(recording, "event") if event["name"] == "no sideband"]
    assert lacks == [{"why": "the sideband: refused with HTTP 403"}]
    assert not of_kind(recording, "provider_clock")
    assert all("start_ms" in event for event in of_kind(recording, "transcript"))


def test_calls_of_tools_go_out_and_their_results_come_back(tmp_path: Path) -> None:
    parallel = [Call("add", {"item": "tea"}), Call("add", '{"item": "milk", "count": 2}'), Call("basket", "{,")]
    plan = LivePlan([Reply("wait", calls=parallel), Reply("all done now", pcm=tones(1, 9))])
    with LiveServer(plan) as server:
        party = at(server, f"{BACKEND}&responses_instructions=Shop.&responses_tool_choice=required")
        recording = held(tmp_path / "call", speaks((20, 50), ticks=400), party, Shop([20, 40, 5]))
        session = server.sessions[0]
    outputs = [json.loads(event["item"]["output"]) for event in session.events("response.item.create")]
    assert_shopped(recording, outputs)
    assert [e["type"] for e in session.events("response.item.create", "response.create")] == [
        *["response.item.create"] * 3,
        "response.create",
    ]
    responses = session.settings["delegation"]["responses"]
    assert {name: responses[name] for name in ("model", "instructions", "tool_choice")} == {
        "model": "gpt-5.4",
        "instructions": "Shop.",
        "tool_choice": "required",
    }
    assert responses["tools"][0]["name"] == "add"
    assert place_ms(tones(1, 9), recording) > of_kind(recording, "tool_result")[-1]["tick"] * 10
    assert not session.told("error")
    assert len([event for event in of_kind(recording, "event") if event["name"] == "session.delegation.created"]) == 1


def test_a_call_whose_response_breaks_off_is_cancelled_and_its_late_result_not_sent() -> None:
    calls = Delegated()
    item = {"type": "function_call", "call_id": "c1", "name": "add"}
    calls.take({"type": "response.created", "response": {"id": "r1"}})
    begun = calls.take({"type": "response.output_item.added", "item": item})
    cut = calls.take({"type": "response.failed", "response": {"id": "r1"}})
    assert [(call.stage, call.id, call.name) for call in (*begun, *cut)] == [
        ("begun", "c1", "add"),
        ("cancelled", "c1", "add"),
    ]
    assert calls.answer(ToolResult("c1", "add", "ok", 1)) == []
    assert calls.continuation() == []


def test_tools_need_a_model_that_calls_them() -> None:
    with LiveServer() as server, pytest.raises(SettingsError, match="expected responses_model=NAME"):
        at(server).take_tools(Shop().tools)


def test_an_error_is_named_by_its_type_too() -> None:
    with LiveServer() as server:
        party = at(server)
    error = {"type": "insufficient_quota", "code": "a_new_code", "message": "No money."}
    party.take({"type": "error", "error": error})
    assert party.stream.left is not None
    assert "quota: " in party.stream.left


def test_the_session_is_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Be brief.\n")
    with LiveServer() as server:
        party = at(server, f"voice=cedar&instructions=@{tmp_path}/prompt.txt&store=true&{BACKEND}")
        open_and_close(party)
        started = server.sessions[0].events("session.start")[0]["session"]
        wait_until(lambda: server.sessions[0].ended)
        assert server.sessions[0].ended == "close_requested"
    assert started == {
        "model": "gpt-live-1",
        "instructions": "Be brief.",
        "store": True,
        "audio": {"format": {"type": "audio/pcm", "rate": 24_000}, "output": {"voice": "cedar"}},
        "delegation": {"type": "responses", "responses": {"model": "gpt-5.4"}},
    }
    shown = party.describe()
    assert shown["asked"] == started
    assert "differs" not in shown
    assert shown["session"]["id"] == server.sessions[0].id
