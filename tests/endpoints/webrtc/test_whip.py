"""Servers that we join by WHIP, with TLS and without: what they are sent. A bearer goes to its own server only."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import web

from fdbcore.endpoints.webrtc.peer import Peer
from fdbcore.errors import PartyError, SettingsError
from fdbcore.protocols import Endpoint
from fdbcore.registry import endpoint

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


async def sent_to(
    server: WhipServer, query: str = "", kind: str = "whip", tls: ssl.SSLContext | None = None
) -> list[tuple[str, str | None]]:
    """What a server is sent by a party that joins it."""
    async with server.serving(tls):
        await joined(endpoint(f"{kind}://127.0.0.1:{server.port}/x{query}"))
    return server.sent


BEARERS = [("POST", f"Bearer {BEARER}"), ("DELETE", f"Bearer {BEARER}")]
NAMED = "?key_variable=LAB_TOKEN"


async def test_by_tls_with_the_authority_of_its_own(
    certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert await sent_to(WhipServer(), NAMED, "whips", tls) == BEARERS


async def test_a_certificate_of_nobody_is_refused(tls: ssl.SSLContext) -> None:
    with pytest.raises(
        PartyError, match=r"^https://127\.0\.0\.1:\d+/x: expected a WHIP server, got: .*certificate"
    ) as e:
        await sent_to(WhipServer(), NAMED, "whips", tls)
    assert not e.value.transient
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(("query", "sent"), [("", [("POST", None), ("DELETE", None)]), (NAMED, BEARERS)])
async def test_the_bearer_is_that_of_the_variable_named(query: str, sent: list[tuple[str, str | None]]) -> None:
    assert await sent_to(WhipServer(), query) == sent


async def test_a_server_redirected_to_is_sent_nothing_and_that_is_said() -> None:
    last = WhipServer()
    async with last.serving():
        first = WhipServer(redirect=f"http://127.0.0.1:{last.port}/y")
        with pytest.raises(
            PartyError, match=r"^http://127\.0\.0\.1:\d+/x: .* the server sends us to another one, which"
        ):
            await sent_to(first, NAMED)
    assert (first.sent, last.sent) == (BEARERS[:1], [])


async def test_a_server_that_the_answer_names_is_sent_nothing_and_that_is_told() -> None:
    last = WhipServer()
    async with last.serving():
        assert await sent_to(WhipServer(elsewhere=f"http://127.0.0.1:{last.port}/y"), NAMED) == BEARERS[:1]
    assert last.sent == []
    server = WhipServer(elsewhere="http://user@127.0.0.1:1/all")
    async with server.serving():
        await joined(party := endpoint(f"whip://127.0.0.1:{server.port}/x"))
    assert party.describe()["not_deleted"] == "http://user@127.0.0.1:1/all"


@pytest.mark.parametrize(("kind", "status"), [("whip", 201), ("pipecat", 200), ("whip", 500)])
async def test_an_answer_without_end_is_one_line(kind: str, status: int) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(status=status)
        await answer.prepare(request)
        while True:
            await answer.write(b"v=0\n" * 16_384)

    server = WhipServer()
    server.handle = endless  # type: ignore[method-assign, assignment]
    with pytest.raises(PartyError, match=r"/x: expected an answer of at most 1,000,000 bytes, got more$"):
        await sent_to(server, kind=kind)


@pytest.mark.parametrize("end", [None, -9])
@pytest.mark.parametrize("before", range(40, 90, 7))
async def test_a_bearer_that_the_server_quotes_is_not_told_not_even_in_part(before: int, end: int | None) -> None:
    async def quote(request: web.Request) -> web.Response:
        return web.Response(status=401, text="x" * before + request.headers["Authorization"][:end])

    server = WhipServer()
    server.handle = quote  # type: ignore[method-assign]
    with pytest.raises(PartyError, match="expected 201 and an SDP answer, got 401 'xxx") as error:
        await sent_to(server, NAMED)
    assert "s3c" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("whip://example.org/x?key_variable=LAB_TOKEN", "whip: expected whips:// for a bearer beyond this machine, .*"),
        ("whips://example.org/x?key_variable=FDBCORE_TOKEN", "whips: expected a bearer of that server's own, .*"),
        ("whips://example.org/x?key_variable=NO_SUCH_TOKEN", "whips: expected the bearer in the variable 'NO_SUCH_.*"),
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
