"""Servers that we join by WHIP, with TLS and without: what they are sent. A bearer goes to its own server only."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import web

from fdbcore.endpoints.webrtc.peer import Peer
from fdbcore.errors import PartyError, SettingsError
from fdbcore.protocols import Endpoint
from fdbcore.registry import endpoint
from fdbcore.runtime.network import await_result

BEARER = "s3cret-0f-7hat-5erver"
OWN_TOKEN = "s3cret-of-our-own-port"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", BEARER)
    monkeypatch.setenv("FDBCORE_TOKEN", OWN_TOKEN)


class WhipServer:
    """Answers offers, unless it redirects them; `sent` is each request's method and what it was sent to show who asks.

    elsewhere: where the session that it makes is said to be; "" for its own path.
    """

    def __init__(self, redirect: str = "", elsewhere: str = "") -> None:
        self.sent: list[tuple[str, str | None]] = []
        self.redirect = redirect
        self.elsewhere = elsewhere
        self.port = 0
        self.peer = Peer(addresses=["127.0.0.1"])

    async def handle(self, request: web.Request) -> web.Response:
        self.sent.append((request.method, request.headers.get("Authorization")))
        if request.method == "DELETE":
            return web.Response()
        if self.redirect:
            raise web.HTTPTemporaryRedirect(self.redirect)
        answer = await self.peer.answer(await request.text())
        return web.Response(
            status=201, text=answer, content_type="application/sdp", headers={"Location": self.elsewhere or "/session"}
        )

    @asynccontextmanager
    async def serving(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        self.port = runner.addresses[0][1]
        yield
        await self.peer.close()
        await runner.cleanup()


async def joined(party: Endpoint) -> None:
    """It joins, and hangs up."""
    try:
        await asyncio.to_thread(party.open, "B")
    finally:
        await asyncio.to_thread(party.close)


def joined_by_tls(certificate: Path) -> list[tuple[str, str | None]]:
    """What a server is sent whose certificate is `certificate`."""

    async def test() -> list[tuple[str, str | None]]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        server = WhipServer()
        async with server.serving(tls):
            await joined(endpoint(f"whips://127.0.0.1:{server.port}/x?key_variable=LAB_TOKEN"))
        return server.sent

    return await_result(test(), 30)


def test_by_tls_with_the_authority_of_its_own(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert joined_by_tls(certificate) == [("POST", f"Bearer {BEARER}"), ("DELETE", f"Bearer {BEARER}")]


def test_a_certificate_of_nobody_is_refused(certificate: Path) -> None:
    with pytest.raises(
        PartyError, match=r"^https://127\.0\.0\.1:\d+/x: expected a WHIP server, got: .*certificate"
    ) as e:
        joined_by_tls(certificate)
    assert not e.value.transient
    assert "\n" not in str(e.value)


def sent_to(make: Callable[[int], tuple[WhipServer, str]]) -> list[list[tuple[str, str | None]]]:
    """What a server is sent, and what the one that `make`, with the port of the first, puts before it."""

    async def test() -> list[list[tuple[str, str | None]]]:
        last = WhipServer()
        async with last.serving():
            first, query = make(last.port)
            async with first.serving():
                await joined(endpoint(f"whip://127.0.0.1:{first.port}/x{query}"))
        return [first.sent, last.sent]

    return await_result(test(), 30)


def test_without_a_variable_no_bearer_is_sent() -> None:
    first, _ = sent_to(lambda port: (WhipServer(), ""))
    assert first == [("POST", None), ("DELETE", None)]


def test_the_bearer_is_that_of_the_variable_named() -> None:
    first, _ = sent_to(lambda port: (WhipServer(), "?key_variable=LAB_TOKEN"))
    assert first == [("POST", f"Bearer {BEARER}"), ("DELETE", f"Bearer {BEARER}")]


def test_a_server_redirected_to_is_sent_nothing_and_that_is_said() -> None:
    servers: list[WhipServer] = []

    def redirected(port: int) -> tuple[WhipServer, str]:
        servers.append(WhipServer(redirect=f"http://127.0.0.1:{port}/y"))
        return servers[0], "?key_variable=LAB_TOKEN"

    with pytest.raises(PartyError, match=r"^http://127\.0\.0\.1:\d+/x: .* the server sends us to another one, which"):
        sent_to(redirected)
    assert servers[0].sent == [("POST", f"Bearer {BEARER}")]


def test_a_server_that_the_answer_names_is_sent_nothing_and_that_is_told() -> None:
    first, last = sent_to(lambda port: (WhipServer(elsewhere=f"http://127.0.0.1:{port}/y"), "?key_variable=LAB_TOKEN"))
    assert (first, last) == ([("POST", f"Bearer {BEARER}")], [])

    async def told() -> object:
        server = WhipServer(elsewhere="http://user@127.0.0.1:1/all")
        async with server.serving():
            await joined(party := endpoint(f"whip://127.0.0.1:{server.port}/x"))
        return party.describe()["not_deleted"]

    assert await_result(told(), 30) == "http://user@127.0.0.1:1/all"


@pytest.mark.parametrize(("kind", "status"), [("whip", 201), ("pipecat", 200), ("whip", 500)])
def test_an_answer_without_end_is_one_line(kind: str, status: int) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(status=status)
        await answer.prepare(request)
        while True:
            await answer.write(b"v=0\n" * 16_384)

    async def test() -> None:
        server = WhipServer()
        server.handle = endless  # type: ignore[method-assign, assignment]
        async with server.serving():
            await joined(endpoint(f"{kind}://127.0.0.1:{server.port}/x"))

    with pytest.raises(PartyError, match=r"/x: expected an answer of at most 1,000,000 bytes, got more$"):
        await_result(test(), 30)


@pytest.mark.parametrize("end", [None, -9])
@pytest.mark.parametrize("before", range(40, 90, 7))
def test_a_bearer_that_the_server_quotes_is_not_told_not_even_in_part(before: int, end: int | None) -> None:
    async def quote(request: web.Request) -> web.Response:
        return web.Response(status=401, text="x" * before + request.headers["Authorization"][:end])

    async def test() -> None:
        server = WhipServer()
        server.handle = quote  # type: ignore[method-assign]
        async with server.serving():
            await joined(endpoint(f"whip://127.0.0.1:{server.port}/x?key_variable=LAB_TOKEN"))

    with pytest.raises(PartyError, match="expected 201 and an SDP answer, got 401 'xxx") as error:
        await_result(test(), 10)
    assert "s3c" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("whip://example.org/x?key_variable=LAB_TOKEN", "whip: expected whips:// for a bearer beyond this machine, .*"),
        ("whips://example.org/x?key_variable=FDBCORE_TOKEN", "whips: expected a bearer of that server's own, .*"),
        (
            "whips://example.org/x?key_variable=NO_SUCH_TOKEN",
            "whips: expected the bearer in the variable 'NO_SUCH_.*",
        ),
        ("webrtc:?key_variable=LAB_TOKEN", "webrtc: expected settings of .*, got 'key_variable'"),
    ],
)
def test_a_bearer_that_would_get_into_wrong_hands_is_refused(address: str, line: str) -> None:
    with pytest.raises(SettingsError, match=f"^{line}$") as error:
        endpoint(address)
    assert "s3cret" not in str(error.value)


def test_tls_has_its_own_port_and_what_is_told_of_it_is_no_secret() -> None:
    described = endpoint("whips://example.org/x?key_variable=LAB_TOKEN").describe()
    assert (described["kind"], described["address"]) == ("whips", "example.org:443/x")
    assert described["key_variable"] == "LAB_TOKEN"
    assert "s3cret" not in repr(described)


def test_a_far_party_shows_the_token_of_our_port() -> None:
    party = endpoint("far:echo")
    with suppress(TimeoutError):
        party.open("B")
    party.close()
    assert party.left is None
