"""Joining by WHIP (RFC 9725), but in both directions: a peer sends and receives on one connection.

`POST /whip/a` or `/whip/b` (with `?session=NAME` if several conversations wait) takes an SDP offer. It returns the
answer, with all our candidates, and the session's `Location`. DELETE that location to hang up; PATCH it with further
candidates (RFC 8840). There are no ICE restarts, so there are no entity tags. `GET /?role=b` is a page that joins with
the microphone; it shows what `GET /shows/b` gives, a text for whoever plays that side.
"""

import secrets
from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from aiohttp import web

from fdbcore.endpoints.webrtc import HUNG_UP
from fdbcore.endpoints.webrtc.seats import Refusal, Seat, Seats, Visit

SDP: Final = "application/sdp"
FRAGMENT: Final = "application/trickle-ice-sdpfrag"
END: Final = "a=end-of-candidates"
PAGE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def routes(seats: Seats) -> list[web.RouteDef]:
    """The routes of the HTTP protocol."""

    async def page(request: web.Request) -> web.Response:
        html = (files("fdbcore.endpoints.webrtc") / "static" / "join.html").read_text()
        return web.Response(text=html, content_type="text/html", headers=PAGE_HEADERS)

    async def shown(request: web.Request) -> web.Response:
        return web.Response(text=seats.shown(request.match_info["side"].upper(), request.query.get("session")))

    async def join(request: web.Request) -> web.Response:
        if not _accepts_sdp(request.headers.get("Accept", "*/*")):
            raise Refusal(406, f"Accept: expected {SDP}")
        visit = Visit(request.remote or "?", key=secrets.token_urlsafe(16))
        seats.visits.add(visit)
        try:
            async with visit.within(seats.patience_s, f"no offer that could be answered within {seats.patience_s:g} s"):
                offer = await _body(request, SDP)
                seat = seats.find(request.match_info["side"].upper(), request.query.get("session"))
                answer = await seat.answer(visit, offer)
        finally:
            seats.visits.discard(visit)
        if request.transport is None or request.transport.is_closing():
            await seat.leave(visit, "left before it had our answer")
        headers = {"Location": f"/whip/session/{visit.key}", "Accept-Patch": FRAGMENT}
        return web.Response(status=201, text=answer, content_type=SDP, headers=headers)

    async def trickle(request: web.Request) -> web.Response:
        seat, visit = find(request)
        async with visit.within(seats.patience_s, f"no candidates within {seats.patience_s:g} s"):
            fragment = await _body(request, FRAGMENT)
            for candidate, mid in _candidates(fragment, visit.ice_user):
                await seat.add_candidate(visit, candidate, mid, None if mid else 0)
        return web.Response(status=204)

    async def hang_up(request: web.Request) -> web.Response:
        seat, visit = find(request)
        await seat.leave(visit, HUNG_UP)
        return web.Response()

    def find(request: web.Request) -> tuple[Seat, Visit]:
        for seat in seats.seats:
            if seat.visit is not None and seat.visit.key == request.match_info["key"]:
                return seat, seat.visit
        raise Refusal(404, "this session is over or never was")

    return [
        web.get("/", page),
        web.get("/shows/{side:[^/]+}", shown),
        web.post("/whip/{side:[^/]+}", join),
        web.patch("/whip/session/{key}", trickle),
        web.delete("/whip/session/{key}", hang_up),
    ]


def _accepts_sdp(accept: str) -> bool:
    accepted = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return not accepted.isdisjoint({SDP, "application/*", "*/*"})


async def _body(request: web.Request, content_type: str) -> str:
    if request.content_type != content_type:
        raise Refusal(415, f"Content-Type: expected {content_type}")
    try:
        return (await request.read()).decode()
    except UnicodeDecodeError:
        raise Refusal(400, "expected UTF-8") from None


def _candidates(fragment: str, ice_user: str) -> Iterator[tuple[str, str | None]]:
    """The candidates of an SDP fragment, each with its mid (RFC 8840, section 9). Refusal if it cannot be used."""
    lines = [line.strip() for line in fragment.splitlines()]
    if not any(line.startswith(("a=candidate:", END)) for line in lines):
        raise Refusal(400, "expected a=candidate lines in the fragment")
    if any(line.startswith("a=ice-ufrag:") and line != f"a=ice-ufrag:{ice_user}" for line in lines):
        raise Refusal(422, "another ice-ufrag: ICE restarts are not served")
    mid = None
    for line in lines:
        if line.startswith("m="):
            mid = None
        elif line.startswith("a=mid:"):
            mid = line.removeprefix("a=mid:")
        elif line.startswith("a=candidate:"):
            yield line.removeprefix("a="), mid
        elif line == END:
            yield "", mid
