"""The signalling port over real sockets: who may join, how, and what becomes of everything that goes wrong."""

import asyncio
import json
import logging
import re
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from helpers.patience import PATIENCE_S

from fdbcore.endpoints.webrtc import admission
from fdbcore.endpoints.webrtc.seats import MAX_BYTES, MAX_CANDIDATES, Seat
from fdbcore.endpoints.webrtc.signalling import SignallingServer
from fdbcore.errors import MissingExtraError, PartyError, SettingsError

OFFER = "v=0\r\ns=-\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=ice-ufrag:abcd\r\n"
ANSWER = "v=0\r\ns=ours\r\n"
HOST = {"candidate": "candidate:1 1 udp 2122260223 127.0.0.1 50000 typ host", "sdpMid": "0", "sdpMLineIndex": 0}
FRAGMENT = f"a=ice-ufrag:abcd\r\na=ice-pwd:x\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\na={HOST['candidate']}\r\n"
SDP = {"Content-Type": "application/sdp"}
SDPFRAG = {"Content-Type": "application/trickle-ice-sdpfrag"}
TOKEN = "s3cret-t0ken"


class Desk:
    """A negotiator that writes down what it is asked."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.connects = asyncio.Event()
        self.connects.set()
        self.fails: str | None = None
        self.asked = asyncio.Event()
        self.hung_up = asyncio.Event()

    async def answer(self, offer_sdp: str) -> str:
        self.asked.set()
        await self.may_answer.wait()
        if "m=audio" not in offer_sdp:
            raise PartyError("SDP: expected an audio section, found none")
        self.calls.append(("answer", offer_sdp))
        return ANSWER

    async def offer(self) -> str:
        self.calls.append("offer")
        return ANSWER

    async def accept(self, answer_sdp: str) -> None:
        if "m=audio" not in answer_sdp:
            raise PartyError("SDP: expected an audio section, found none")
        self.calls.append(("accept", answer_sdp))

    async def connected(self, timeout_s: float) -> None:
        if self.fails is not None:
            raise PartyError(self.fails)
        await self.connects.wait()

    async def add_candidate(self, candidate: str, mid: str | None, line_index: int | None) -> None:
        if candidate and "typ" not in candidate:
            raise PartyError("candidate: expected a typ")
        self.calls.append((candidate, mid, line_index))

    async def hang_up(self, reason: str) -> None:
        self.calls.append(("hang_up", reason))
        self.hung_up.set()


class Serving:
    """A server with a desk on side B, and a client."""

    def __init__(self, server: SignallingServer, client: aiohttp.ClientSession) -> None:
        self.server = server
        self.client = client
        self.desk = Desk()
        self.seat: Seat = server.seat("B", self.desk)

    def socket(self, query: str = "", **headers: str) -> Any:
        return self.client.ws_connect(f"{self.server.url}/signal{query}", headers=headers)

    async def http(self, method: str, path: str, body: str | bytes = b"", **headers: str) -> tuple[int, str, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.client.request(method, self.server.url + path, data=body, headers=named) as response:
            return response.status, await response.text(), response.headers

    def connections(self) -> list[Any]:
        assert self.server._runner is not None
        assert self.server._runner.server is not None
        return [peer for peer in self.server._runner.server.connections if peer.transport is not None]

    async def alone(self) -> None:
        """Wait until the server has noticed that everybody left."""
        await until(lambda: not self.connections())

    async def raw(self, data: bytes) -> bytes:
        """All that is answered to `data` until the other end closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        writer.write(data)
        answer = await reader.read()
        writer.close()
        return answer


@asynccontextmanager
async def serving(token: str | None = None, patience_s: float = 10.0) -> AsyncIterator[Serving]:
    before = asyncio.all_tasks()
    server = SignallingServer(token=token, patience_s=patience_s)
    await server.start()
    async with aiohttp.ClientSession() as client:
        yield Serving(server, client)
        await server.stop()
    await server.stop()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port or 1)
    await until(lambda: asyncio.all_tasks() == before)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what no event tells."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_the_page_asks_for_what_its_side_shows() -> None:
    async with serving(token=TOKEN) as at:
        at.server.seat("A", Desk(), "first", "Ask for a flight.")
        at.server.seat("A", Desk(), "second", "Ask for a taxi.")
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        shown = {
            path: (await at.http("GET", path, **bearer))[:2]
            for path in ("/shows/a", "/shows/a?session=second", "/shows/a?session=third", "/shows/b")
        }
        assert [*shown.values()] == [(200, "Ask for a flight."), (200, "Ask for a taxi."), (200, ""), (200, "")]
        assert (await at.http("GET", "/shows/a"))[0] == 401


async def join(socket: Any, role: str = "B", sdp: str = OFFER) -> Any:
    assert await socket.receive_json() == {"type": "ready"}
    await socket.send_json({"role": role, "type": "offer", "sdp": sdp})
    return await socket.receive_json()


async def turned_away(socket: Any, kind: str = "error") -> tuple[str, int]:
    """The line of the error, or of another message that says why, and the code with which the socket is closed."""
    line = ""
    while (frame := await socket.receive()).type is aiohttp.WSMsgType.TEXT:
        message = json.loads(frame.data)
        if message["type"] == kind:
            line = message["message"]
    assert frame.type is aiohttp.WSMsgType.CLOSE
    return line, frame.data


async def test_an_adapter_of_v2_joins() -> None:
    """The messages of its adapters: candidates as they come, also before the offer; the answer carries their role."""
    async with serving() as here, here.socket() as adapter:
        await adapter.send_json({"role": "B", "type": "candidate", "candidate": HOST})
        assert await join(adapter) == {"role": "B", "type": "answer", "sdp": ANSWER}
        await here.seat.taken(5)
        await adapter.send_json({"role": "B", "type": "candidate", "candidate": HOST | {"sdpMid": None}})
        await adapter.send_json({"role": "B", "type": "candidate", "candidate": None})
        await adapter.close()
        await here.desk.hung_up.wait()
        assert here.desk.calls == [
            ("answer", OFFER),
            (HOST["candidate"], "0", 0),
            (HOST["candidate"], None, 0),
            ("", None, None),
            ("hang_up", "hung up"),
        ]


@pytest.mark.parametrize(
    ("code", "reason"), [(1000, "hung up"), (1001, "hung up"), (1011, "closed its WebSocket with 1011")]
)
async def test_by_its_code_a_goodbye_is_told_from_a_failure(code: int, reason: str) -> None:
    async with serving() as here, here.socket() as peer:
        await join(peer)
        await here.seat.taken(5)
        await peer.close(code=code)
        await here.desk.hung_up.wait()
        assert here.desk.calls[-1] == ("hang_up", reason)


async def test_a_peer_may_have_us_offer() -> None:
    async with serving() as here:
        for given, line in ((ANSWER, "SDP: expected an audio section, found none"), (OFFER, None)):
            async with here.socket() as peer:
                await peer.receive_json()
                await peer.send_json({"role": "B", "type": "ready"})
                assert await peer.receive_json() == {"role": "B", "type": "offer", "sdp": ANSWER}
                assert not here.seat.joined
                await peer.send_json({"role": "B", "type": "answer", "sdp": given})
                if line is not None:
                    assert await turned_away(peer) == (line, 1008)
                else:
                    await here.seat.taken(5)
        await here.desk.hung_up.wait()
        assert here.desk.calls == ["offer", "offer", ("accept", OFFER), ("hang_up", "hung up")]


async def test_a_side_is_for_one_peer_and_free_again_when_it_left() -> None:
    async with serving() as here:
        async with here.socket() as first:
            assert (await join(first))["type"] == "answer"
            async with here.socket() as second:
                assert (await join(second))["message"] == "side B is taken"
                assert (await second.receive()).data == 1008
            assert (await here.http("POST", "/whip/b", OFFER, **SDP))[:2] == (409, "side B is taken\n")
            assert here.seat.joined
            assert [call[0] for call in here.desk.calls] == ["answer"]
        await here.desk.hung_up.wait()
        async with here.socket() as again:
            assert (await join(again))["type"] == "answer"
        await here.alone()
        assert (await here.http("POST", "/whip/b", OFFER, **SDP))[0] == 201


@pytest.mark.parametrize("way", ["websocket", "whip"])
@pytest.mark.parametrize("parting", ["hangs up", "fails"])
async def test_who_leaves_before_it_is_connected_leaves_the_seat_free_and_the_wait_goes_on(
    way: str, parting: str
) -> None:
    async with serving() as here:
        here.desk.connects.clear()
        here.desk.fails = "no path" if parting == "fails" else None
        waiting = asyncio.create_task(here.seat.taken(5))
        if way == "whip":
            status, _, headers = await here.http("POST", "/whip/b", OFFER, **SDP)
            assert status == 201
            if parting == "hangs up":
                assert (await here.http("DELETE", headers["Location"]))[0] == 200
        else:
            async with here.socket() as peer:
                assert (await join(peer))["type"] == "answer"
                if parting == "fails":
                    assert await turned_away(peer) == ("no path", 1008)
        await here.desk.hung_up.wait()
        assert here.desk.calls[-1] == ("hang_up", "no path" if parting == "fails" else "hung up")
        assert here.seat.visit is None
        assert not waiting.done()
        here.desk.connects.set()
        here.desk.fails = None
        assert (await here.http("POST", "/whip/b", OFFER, **SDP))[0] == 201
        await waiting
        assert here.seat.connected


async def test_why_nobody_joined_tells_of_who_could_not_connect() -> None:
    async with serving() as here:
        here.desk.fails = "no path to it"
        assert (await here.http("POST", "/whip/b", OFFER, **SDP))[0] == 201
        with pytest.raises(PartyError, match=r"^nobody joined .* in 0\.2 s; last turned away: no path to it$"):
            await here.seat.taken(0.2)
        here.desk.fails = None
        here.desk.connects.clear()
        assert (await here.http("POST", "/whip/b", OFFER, **SDP))[0] == 201
        with pytest.raises(PartyError, match=r"^nobody joined side B .*; a peer was still connecting$"):
            await here.seat.taken(0.2)


async def test_who_is_not_connected_gives_way_and_who_is_does_not() -> None:
    async with serving() as here, here.socket() as first:
        here.desk.connects.clear()
        assert (await join(first))["type"] == "answer"
        status, _, headers = await here.http("POST", "/whip/b", OFFER, **SDP)
        assert status == 201
        line = "was not connected yet, and was replaced by a later peer"
        assert await turned_away(first) == (line, 1008)
        async with here.socket() as third:
            await third.receive_json()
            await third.send_json({"role": "B", "type": "ready"})
            assert (await third.receive_json())["type"] == "offer"
            assert (await here.http("DELETE", headers["Location"]))[0] == 404
            await third.send_json({"role": "B", "type": "answer", "sdp": OFFER})
            here.desk.connects.set()
            await here.seat.taken(5)
            assert (await here.http("POST", "/whip/b", OFFER, **SDP))[:2] == (409, "side B is taken\n")
            assert here.seat.connected
        assert here.desk.calls[:6] == [
            ("answer", OFFER), ("hang_up", line), ("answer", OFFER), ("hang_up", line), "offer", ("accept", OFFER)
        ]  # fmt: skip


async def test_of_many_at_once_one_sits() -> None:
    async with serving() as here:
        came = await asyncio.gather(*(here.http("POST", "/whip/b", OFFER, **SDP) for _ in range(20)))
        await here.seat.taken(5)
        answered = [call for call in here.desk.calls if call[0] == "answer"]
        gone = [call for call in here.desk.calls if call[0] == "hang_up"]
        assert [status for status, _, _ in came].count(201) == len(answered) == len(gone) + 1
        assert {status for status, _, _ in came} <= {201, 409}
        sitting = [await here.http("DELETE", headers["Location"]) for status, _, headers in came if status == 201]
        assert [status for status, _, _ in sitting].count(200) == 1


NESTED = "[" * 30_000


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("hello", r"'hello': expected a JSON object"),
        ("[1]", r"'\[1\]': expected a JSON object"),
        (NESTED, r"'\[+': expected a JSON object"),
        (b"\x00\x01", "a binary message: expected JSON text"),
        ({"type": "offer", "sdp": OFFER}, "role of JSON type NoneType: expected A or B"),
        ({"role": "C", "type": "offer", "sdp": OFFER}, "role 'C': expected A or B"),
        ({"role": ["A"], "type": "offer", "sdp": OFFER}, "role of JSON type list: expected A or B"),
        ({"role": "B", "type": "bye"}, "type 'bye': expected offer, answer or candidate"),
        ({"role": "B", "type": "answer", "sdp": OFFER}, "type 'answer': expected offer, answer or candidate"),
        ({"role": "B", "type": "é\n" * 99}, r"type '(\\xe9\\n){10}': expected offer, answer or candidate"),
        ({"role": "B", "type": "offer"}, "expected SDP, beginning with v=0"),
        ({"role": "B", "type": "offer", "sdp": {"sdp": OFFER}}, "expected SDP, beginning with v=0"),
        ({"role": "B", "type": "offer", "sdp": ANSWER}, "SDP: expected an audio section, found none"),
        ({"role": "A", "type": "offer", "sdp": OFFER}, "no conversation waits for side A"),
        ({"role": "B", "type": "candidate", "candidate": 7}, r'candidate: expected \{"candidate": .*'),
        (
            {"role": "B", "type": "candidate", "candidate": HOST | {"sdpMid": 1}},
            r'candidate: expected \{"candidate": .*',
        ),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_what_cannot_be_used_is_answered_with_one_line(
    message: str | bytes | dict[str, Any], line: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as here, here.socket() as peer:
        match message:
            case bytes():
                await peer.send_bytes(message)
            case str():
                await peer.send_str(message)
            case _:
                await peer.send_json(message)
        said, code = await turned_away(peer)
        assert re.fullmatch(line, said)
        assert code == 1008
        assert here.desk.calls == []
        assert [record.getMessage() for record in caplog.records] == [f"127.0.0.1: turned away: {said}"]


async def test_a_message_too_long_is_not_read() -> None:
    async with serving() as here, here.socket() as peer:
        await peer.receive_json()
        await peer.send_str("x" * (MAX_BYTES + 1))
        assert (await peer.receive()).data == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        await here.alone()
        with pytest.raises(PartyError, match=r"nobody joined side B .* in 0 s; last turned away: .* more than 64 KiB"):
            await here.seat.taken(0)


async def test_a_socket_speaks_for_one_side() -> None:
    async with serving() as here, here.socket() as peer:
        await peer.send_json({"role": "B", "type": "candidate", "candidate": HOST})
        await peer.send_json({"role": "A", "type": "candidate", "candidate": HOST})
        assert await turned_away(peer) == ("role A: this socket speaks for B", 1008)


async def test_who_says_nothing_is_turned_away() -> None:
    async with serving(patience_s=0.2) as here:
        async with here.socket() as peer:
            assert await turned_away(peer) == ("no offer that could be answered within 0.2 s", 1008)
        here.desk.may_answer.clear()
        assert (await here.http("POST", "/whip/b", OFFER, **SDP))[:2] == (
            408,
            "no offer that could be answered within 0.2 s\n",
        )
        assert here.seat.visit is None


@pytest.mark.parametrize("joins", [False, True])
async def test_candidates_are_bounded(joins: bool) -> None:
    async with serving() as here, here.socket() as peer:
        if joins:
            await join(peer)
        for _ in range(MAX_CANDIDATES + 40):
            await peer.send_json({"role": "B", "type": "candidate", "candidate": HOST})
        assert await turned_away(peer) == (f"more than {MAX_CANDIDATES} candidates", 1008)
        assert here.desk.calls.count((HOST["candidate"], "0", 0)) == (MAX_CANDIDATES if joins else 0)
        if joins:
            await here.desk.hung_up.wait()


async def test_a_wrong_message_in_the_conversation_does_not_end_it_but_many_do() -> None:
    async with serving() as here, here.socket() as peer:
        await join(peer)
        for wrong in ("garbage", '{"role": "B", "type": "offer"}', '{"role": "B", "type": "ready"}'):
            await peer.send_str(wrong)
            assert (await peer.receive_json())["type"] == "error"
        await peer.send_json({"role": "B", "type": "candidate", "candidate": {"candidate": "candidate:x"}})
        assert (await peer.receive_json())["message"] == "candidate: expected a typ"
        assert here.seat.joined
        for _ in range(20):
            await peer.send_bytes(b"flood")
        assert await turned_away(peer) == ("a binary message: expected JSON text", 1008)
        await here.desk.hung_up.wait()
        assert here.desk.calls[-1] == ("hang_up", "was turned away: a binary message: expected JSON text")


@pytest.mark.parametrize("way", ["websocket", "whip"])
async def test_who_leaves_before_the_answer_leaves_the_seat_free(way: str) -> None:
    async with serving() as here:
        here.desk.may_answer.clear()
        if way == "whip":
            asking = asyncio.create_task(here.http("POST", "/whip/b", OFFER, **SDP))
            await here.desk.asked.wait()
            asking.cancel()
        else:
            peer = await here.socket()
            await peer.send_json({"role": "B", "type": "offer", "sdp": OFFER})
            await here.desk.asked.wait()
            peer._writer.transport.abort()
        await here.alone()
        here.desk.may_answer.set()
        async with asyncio.timeout(PATIENCE_S):
            await here.desk.hung_up.wait()
        assert here.seat.visit is None


async def test_a_peer_joins_by_http_trickles_and_hangs_up() -> None:
    async with serving() as here:
        status, answer, headers = await here.http("POST", "/whip/b", OFFER, **SDP)
        assert (status, answer, headers["Content-Type"].partition(";")[0]) == (201, ANSWER, "application/sdp")
        assert headers["Accept-Patch"] == "application/trickle-ice-sdpfrag"
        await here.seat.taken(0)
        session = headers["Location"]
        assert (await here.http("PATCH", session, FRAGMENT, **SDPFRAG))[:2] == (204, "")
        assert (await here.http("PATCH", session, "a=end-of-candidates\r\n", **SDPFRAG))[0] == 204
        assert (await here.http("DELETE", session))[:2] == (200, "")
        assert here.desk.calls == [
            ("answer", OFFER),
            (HOST["candidate"], "0", None),
            ("", None, 0),
            ("hang_up", "hung up"),
        ]
        assert (await here.http("DELETE", session))[0] == 404
        assert (await here.http("POST", "/whip/B", OFFER, **SDP))[0] == 201
        assert (await here.http("PATCH", session, FRAGMENT, **SDPFRAG))[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "line"),
    [
        ("GET", "/whip/b", "", {}, 405, "this method is not served here"),
        ("PUT", "/whip/b", OFFER, SDP, 405, "this method is not served here"),
        ("POST", "/whip/b", OFFER, SDP | {"Accept": "text/html, application/json;q=0.5"}, 406, "Accept: expected .*"),
        ("POST", "/whip/b", "v=0" + "x" * MAX_BYTES, SDP, 413, "more than 64 KiB"),
        ("POST", "/whip/b", OFFER, {"Content-Type": "text/plain"}, 415, "Content-Type: expected application/sdp"),
        ("POST", "/whip/b", "hello", SDP, 400, "expected SDP, beginning with v=0"),
        ("POST", "/whip/b", b"v=0\xff", SDP, 400, "expected UTF-8"),
        ("POST", "/whip/b", ANSWER, SDP, 422, "SDP: expected an audio section, found none"),
        ("POST", "/whip/a", OFFER, SDP, 404, "no conversation waits for side A"),
        ("POST", "/whip/c", OFFER, SDP, 404, "side 'C': expected A or B"),
        ("POST", "/whip/b?session=x", OFFER, SDP, 404, "no conversation waits for side B"),
        ("GET", "/signal", "", {}, 426, "expected a WebSocket"),
        ("GET", "/nothing", "", {}, 404, "there is nothing at this path"),
        ("PATCH", "/whip/session/none", FRAGMENT, SDPFRAG, 404, "this session is over or never was"),
        ("PATCH", None, FRAGMENT, SDP, 415, "Content-Type: expected application/trickle-ice-sdpfrag"),
        ("PATCH", None, "hello", SDPFRAG, 400, "expected a=candidate lines in the fragment"),
        ("PATCH", None, "a=candidate:1", SDPFRAG, 422, "candidate: expected a typ"),
        ("PATCH", None, FRAGMENT.replace("abcd", "new"), SDPFRAG, 422, "another ice-ufrag: .*"),
        ("PATCH", None, f"a={HOST['candidate']}\n" * 300, SDPFRAG, 422, f"more than {MAX_CANDIDATES} candidates"),
        ("POST", None, OFFER, SDP, 405, "this method is not served here"),
    ],
    ids=str,
)
async def test_http_says_what_it_expected(
    method: str, path: str | None, body: str | bytes, headers: dict[str, str], status: int, line: str
) -> None:
    """No path: that of a session that has begun, and that goes on."""
    async with serving() as here:
        where = path or (await here.http("POST", "/whip/b", OFFER, **SDP))[2]["Location"]
        got, text, fields = await here.http(method, where, body, **headers)
        assert got == status
        assert re.fullmatch(line + "\n", text)
        assert ("Allow" in fields) == (status == 405)
        assert here.seat.joined == (path is None)


@pytest.mark.parametrize(
    "data",
    [
        b"POST /whip/b HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"POST /whip/b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sdp\r\nContent-Length: 500\r\n\r\nv=0",
        b"",
    ],
)
async def test_a_request_that_never_ends_is_turned_away(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(patience_s=0.3) as here:
        answer = await here.raw(data)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert answer.endswith(b" within 0.3 s\n")
        assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "data", [b"\x16\x03\x01\x02\x00\x01\x00", b"hello\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: " + b"b" * 9000]
)
async def test_what_is_no_http_is_answered_with_one_line(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as here:
        line = "expected an HTTP request with headers of at most 8 KiB"
        answer = await here.raw(data + b"\r\n\r\n")
        assert b" 400 " in answer.splitlines()[0]
        assert answer.endswith(f"\r\n\r\n{line}\n".encode())
        assert [(r.getMessage(), r.exc_info) for r in caplog.records] == [(f"127.0.0.1: turned away: {line}", None)]


async def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MAX_CONNECTIONS", 1)
    async with serving() as here:
        async with here.socket() as first:
            assert (await here.raw(b"")).endswith(b"more than 1 connections\n")
            assert (await join(first))["type"] == "answer"


async def test_the_longest_silent_connection_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MAX_CONNECTIONS", 3)
    async with serving() as here, here.socket() as sitting:
        await sitting.receive_json()
        (silent, its_end), (later, other_end) = [
            await asyncio.open_connection("127.0.0.1", here.server.port) for _ in range(2)
        ]
        await until(lambda: len(here.connections()) == 3)
        assert (await here.http("POST", "/whip/b", OFFER, **SDP))[0] == 201
        assert (await silent.read()).startswith(b"HTTP/1.1 503 ")
        other_end.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await later.read()).startswith(b"HTTP/1.1 200 ")
        its_end.close()
        other_end.close()


async def test_who_is_gone_before_its_request_is_heard_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    upgrade = (
        b"GET /signal HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    monkeypatch.setattr(admission, "MAX_CONNECTIONS", 1)
    async with serving() as here, here.socket() as first:
        await first.receive_json()
        at_once = [socket.create_connection(("127.0.0.1", here.server.port)) for _ in range(40)]
        for peer in at_once:
            peer.sendall(upgrade)
        await until(lambda: len(here.connections()) == 1)
        for peer in at_once:
            peer.close()
        await until(lambda: len(caplog.records) >= 40)
        assert [record.getMessage() for record in caplog.records if record.exc_info] == []


PAGES_OF_OTHERS = ["https://evil.example", "null", "http://127.0.0.1.evil.example", "http://[::1", "http://10.0.0.1"]


async def test_a_page_of_this_machine_may_join_one_of_the_internet_not() -> None:
    async with serving() as here:
        page = "http://localhost:3000"
        status, _, headers = await here.http("OPTIONS", "/whip/b", Origin=page, Access_Control_Request_Method="POST")
        assert status == 204
        assert headers["Access-Control-Allow-Origin"] == page
        assert {"POST", "PATCH", "DELETE"} <= set(headers["Access-Control-Allow-Methods"].split(", "))
        assert "Authorization" in headers["Access-Control-Allow-Headers"]
        assert headers["Accept-Post"] == "application/sdp"
        for origin in PAGES_OF_OTHERS:
            status, line, headers = await here.http("POST", "/whip/b", OFFER, **SDP, Origin=origin)
            assert (status, line) == (403, "Origin: expected a page of this machine\n")
            assert "Access-Control-Allow-Origin" not in headers
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await here.socket(Origin=origin)
        for host in ("evil.example", f"evil.example:{here.server.port}", "[", ""):
            status, line, _ = await here.http("POST", "/whip/b", OFFER, **SDP, Host=host)
            assert (status, line) == (403, "Host: expected a loopback address\n")
        assert here.desk.calls == []
        status, _, headers = await here.http("POST", "/whip/b", OFFER, **SDP, Origin=page, Host="[::1]:80")
        assert (status, headers["Access-Control-Allow-Origin"]) == (201, page)
        assert "Location" in headers["Access-Control-Expose-Headers"]


async def test_a_token_is_asked_for_and_never_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(token=TOKEN) as here:
        for given, line in (
            ({}, "expected a bearer token"),
            ({"Authorization": "Basic czNjcmV0"}, "expected a bearer token"),
            ({"Authorization": "Bearer"}, "expected a bearer token"),
            ({"Authorization": "Bearer wröng"}, "wrong token"),
            ({"Authorization": f"Bearer {TOKEN}x"}, "wrong token"),
        ):
            status, text, headers = await here.http("POST", "/whip/b", OFFER, **SDP, **given)
            assert (status, text, headers["WWW-Authenticate"]) == (401, f"{line}\n", "Bearer")
            with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
                await here.socket(**given)
        assert (await here.http("POST", f"/whip/b?token={TOKEN}", OFFER, **SDP))[0] == 401
        with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
            await here.socket(f"?token={TOKEN[:-1]}")
        assert (await here.http("GET", "/"))[0] == 200
        assert (await here.http("OPTIONS", "/whip/b"))[0] == 204
        bearer = {"Authorization": f"bearer {TOKEN}"}
        session = (await here.http("POST", "/whip/b", OFFER, **SDP, **bearer))[2]["Location"]
        assert (await here.http("DELETE", session))[0] == 401
        assert (await here.http("DELETE", session, **bearer))[0] == 200
        for way in ({"query": f"?token={TOKEN}"}, bearer):
            async with here.socket(**way) as peer:
                assert (await join(peer))["type"] == "answer"
            await here.desk.hung_up.wait()
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.7", "example.org"])
def test_beyond_loopback_a_token_is_required(host: str) -> None:
    with pytest.raises(SettingsError, match="expected a token beyond loopback"):
        SignallingServer(host)
    assert not SignallingServer(host, token=TOKEN).is_local


@pytest.mark.parametrize("token", ["", "two words", "tökén"])
def test_a_token_is_visible_ascii(token: str) -> None:
    with pytest.raises(SettingsError, match="visible ASCII") as failed:
        SignallingServer("0.0.0.0", token=token)
    assert token == "" or token not in str(failed.value)


async def test_beyond_loopback_the_token_alone_decides() -> None:
    server = SignallingServer("0.0.0.0", token=TOKEN)
    await server.start()
    server.seat("A", Desk())
    url = f"http://127.0.0.1:{server.port}/whip/a"
    headers = SDP | {"Authorization": f"Bearer {TOKEN}", "Host": "lab.example", "Origin": "https://lab.example"}
    async with aiohttp.ClientSession() as client, client.post(url, data=OFFER, headers=headers) as response:
        assert response.status == 201
    await server.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_port_that_is_taken_is_one_line(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"^127\.0\.0\.1:{port}: cannot listen there: .*in use"):
            await SignallingServer(host, port).start()


async def test_closing_a_seat_ends_the_peer_and_stopping_ends_all() -> None:
    async with serving() as here, here.socket() as sitting, here.socket() as silent:
        await join(sitting)
        here.seat.close()
        assert await turned_away(sitting, "bye") == ("the conversation is over", 1000)
        async with here.socket() as late:
            assert (await join(late))["message"] == "no conversation waits for side B"
        other = here.server.seat("A", Desk())
        assert (await here.http("POST", "/whip/a", OFFER, **SDP))[0] == 201
        stopping = asyncio.create_task(here.server.stop())
        assert await turned_away(silent, "bye") == ("the server stops", 1000)
        await stopping
        assert other.visit is None
        assert [call[0] for call in here.desk.calls] == ["answer"]


async def test_a_seat_closed_while_we_answer_says_so() -> None:
    async with serving() as here:
        here.desk.may_answer.clear()
        asking = asyncio.create_task(here.http("POST", "/whip/b", OFFER, **SDP))
        await here.desk.asked.wait()
        here.seat.close()
        assert (await asking)[:2] == (410, "the conversation is over\n")
        assert here.desk.calls == []


async def test_several_conversations_share_the_port() -> None:
    async with serving() as here:
        one, two = Desk(), Desk()
        first, second = here.server.seat("A", one, "one"), here.server.seat("A", two, "two")
        status, line, _ = await here.http("POST", "/whip/a", OFFER, **SDP)
        assert (status, line) == (409, "2 conversations wait for side A: name one with ?session=NAME\n")
        async with here.socket("?session=two") as peer:
            assert (await join(peer, "A"))["type"] == "answer"
            assert (first.joined, second.joined) == (False, True)
            assert (await here.http("POST", "/whip/a", OFFER, **SDP))[0] == 201
            assert first.joined
            assert (await here.http("POST", "/whip/a?session=one", OFFER, **SDP))[:2] == (409, "side A is taken\n")
        with pytest.raises(SettingsError, match="there is a seat for it already"):
            here.server.seat("A", one, "one")
        with pytest.raises(SettingsError, match="at most 64 letters"):
            here.server.seat("A", one, "a/b")


async def test_the_page_is_served_and_needs_nothing_else() -> None:
    async with serving() as here:
        status, html, headers = await here.http("GET", "/?role=a")
        assert (status, headers["Content-Type"].partition(";")[0]) == (200, "text/html")
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert re.findall(r"(?:src|href)=|https?:|//\w+\.", html) == []


async def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingExtraError, match=r"aiohttp: pip install 'fdbcore\[live\]'"):
        await SignallingServer().start()
