"""Decides who may use the signalling port, and how long a connection may be silent, before anything else is read.

A server on loopback is open to everybody on the machine. So a web page must not reach it through the user's browser:
`Origin` must be loopback, and so must `Host`, because an attacker's host name may resolve to loopback (DNS rebinding).
Beyond loopback only the bearer token counts (RFC 6750). No cookie is ever used.
"""

import asyncio
import hmac
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, cast
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from fdbcore.endpoints.webrtc.seats import Refusal, Seats
from fdbcore.runtime.address import is_loopback

MAX_CONNECTIONS: Final = 256
LINGER_S: Final = 1.0
"""Time to keep reading the body of a refused request, so that the peer can read the refusal."""
CORS: Final = {
    "Access-Control-Allow-Methods": "POST, PATCH, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-Match",
    "Access-Control-Expose-Headers": "Location, Accept-Post, Accept-Patch",
    "Access-Control-Max-Age": "600",
}
OWN_LINES: Final = {
    404: "there is nothing at this path",
    405: "this method is not served here",
    413: "more than 64 KiB",
}
"""Our texts for errors of the router and the reader, in place of aiohttp's own pages."""


def guard(seats: Seats) -> Middleware:
    """The middleware for all requests: it checks each one, and answers every refusal with one line."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        cast(HttpConnection, request.protocol).heard()
        page = None
        try:
            _check_source(seats, request)
            page = request.headers.get("Origin")
            _check_token(seats, request)
            if request.method == "OPTIONS":  # a CORS preflight
                response: web.StreamResponse = web.Response(status=204, headers={"Accept-Post": "application/sdp"})
            else:
                response = await handler(request)
        except web.HTTPException as error:
            refusal = Refusal(error.status, OWN_LINES.get(error.status, error.reason))
            allowed = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
            response = _refuse(seats, request, refusal, allowed)
        except Refusal as refusal:
            response = _refuse(seats, request, refusal, {})
        except ConnectionResetError:  # the peer has left, or was given up; what we return is not sent
            return web.Response(status=408)
        if not response.prepared:
            if page is not None:
                response.headers.update(CORS | {"Access-Control-Allow-Origin": page, "Vary": "Origin"})
            response.headers.setdefault("Cache-Control", "no-store")
            response.force_close()
        return response

    return middleware


def _check_source(seats: Seats, request: web.Request) -> None:
    if seats.is_local:
        if not is_loopback(_host_name(f"//{request.headers.get('Host', '')}")):
            raise Refusal(403, "Host: expected a loopback address")
        if "Origin" in request.headers and not is_loopback(_host_name(request.headers["Origin"])):
            raise Refusal(403, "Origin: expected a page of this machine")


def _check_token(seats: Seats, request: web.Request) -> None:
    """Refuse a request without our token. A preflight cannot carry one, and the page is not secret."""
    if seats.token is not None and request.method != "OPTIONS" and request.path != "/":
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            given = request.query.get("token", "") if request.path == "/signal" else ""
        if not hmac.compare_digest(given.strip().encode(errors="replace"), seats.token.encode()):
            raise Refusal(401, "wrong token" if given else "expected a bearer token")


def _host_name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _refuse(seats: Seats, request: web.Request, refusal: Refusal, headers: dict[str, str]) -> web.StreamResponse:
    seats.turn_away(request.remote or "?", refusal)
    if refusal.status == 401:
        headers = headers | {"WWW-Authenticate": "Bearer"}
    return web.Response(status=refusal.status, text=f"{refusal}\n", headers=headers)


def connections(seats: Seats, runner: web.AppRunner) -> Callable[[], asyncio.Protocol]:
    """The protocol factory of the listening socket. runner: it is set up."""
    assert runner.server is not None
    return partial(HttpConnection, seats, runner.server, asyncio.get_running_loop())


class HttpConnection(web.RequestHandler):
    """An HTTP connection that must send a request within the server's patience. Errors are answered in one line.

    If there are more than MAX_CONNECTIONS, the one that has been silent for longest is closed. If none is silent, the
    newest one is.
    """

    def __init__(self, seats: Seats, manager: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(manager, loop=loop, access_log=cast(logging.Logger, None), lingering_time=LINGER_S)
        self._seats = seats
        self._all = manager
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock."""
        super().connection_made(transport)
        loop, patience_s = asyncio.get_running_loop(), self._seats.patience_s
        late = Refusal(408, f"no request within {patience_s:g} s")
        self._deadline = loop.call_later(patience_s, self._give_up, late)
        if len(connections := self._all.connections) > MAX_CONNECTIONS:
            silent = next(one for one in connections if isinstance(one, HttpConnection) and one._deadline is not None)
            silent.heard()
            loop.call_soon(silent._give_up, Refusal(503, f"more than {MAX_CONNECTIONS} connections"))

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the clock."""
        self.heard()
        super().connection_lost(exc)

    def heard(self) -> None:
        """Stop the clock: a whole request has come."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer in one line to what is not HTTP. An error of ours is logged with its traceback, as aiohttp does."""
        if status != 400:
            return super().handle_error(request, status, exc, message)
        self.heard()
        refusal = Refusal(400, "expected an HTTP request with headers of at most 8 KiB")
        self._seats.turn_away(request.remote or "?", refusal)
        response = web.Response(status=400, text=f"{refusal}\n")
        response.force_close()
        return response

    def _give_up(self, refusal: Refusal) -> None:
        self._deadline = None
        self._seats.turn_away(str((self.peername or "?")[0]), refusal)
        body = f"{refusal}\n".encode()
        if self.transport is not None:
            head = f"HTTP/1.1 {refusal.status} Turned away\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + body)
        self.force_close()
