"""The WebSocket of the realtime interface: who may come in, and what is carried."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress

from aiohttp import WSMsgType, web
from fakes.realtime.checks import Wrong
from fakes.realtime.dialects import Dialect
from fakes.realtime.parts import Speaker
from fakes.realtime.plan import Faults
from fakes.realtime.session import Session

BETA_IS_GONE = Wrong(
    "beta_api_shape_disabled",
    "The Realtime Beta API is no longer supported. Please use /v1/realtime for the GA API.",
)
BODIES: Mapping[int, tuple[str, str, str | None]] = {
    401: ("invalid_request_error", "Incorrect API key provided.", "invalid_api_key"),
    403: ("request_forbidden", "Country, region, or territory not supported", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "Invalid URL", None),
    500: ("server_error", "The server had an error while processing your request. Sorry about that!", None),
    503: ("server_error", "The engine is currently overloaded, please try again later.", None),
}
QUOTA = ("insufficient_quota", "You exceeded your current quota, please check your plan.", "insufficient_quota")
RATE = ("requests", "Rate limit reached. Please try again later.", "rate_limit_exceeded")


class SocketWire:
    """Events as text frames."""

    speaker: Speaker | None = None

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self._socket, self._transport = socket, transport

    async def send(self, text: str | bytes) -> None:
        await (self._socket.send_str(text) if isinstance(text, str) else self._socket.send_bytes(text))

    async def close(self, code: int, reason: str) -> None:
        await self._socket.close(code=code, message=reason.encode())

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def refusal(faults: Faults) -> web.Response:
    """What an HTTP request gets instead of what it asks for; 429 is the rate if it says when, the quota if not."""
    status = faults.http_status or 500
    kind, message, code = BODIES.get(status, QUOTA if faults.retry_after_s is None else RATE)
    headers = {} if faults.retry_after_s is None else {"Retry-After": f"{faults.retry_after_s:g}"}
    return failure(status, Wrong(code or "", message, kind=kind), headers)


def failure(status: int, wrong: Wrong, headers: Mapping[str, str] | None = None) -> web.Response:
    """An error of HTTP, as the vendor has it."""
    told = {"message": wrong.message, "type": wrong.kind, "param": wrong.param, "code": wrong.code or None}
    return web.json_response({"error": told}, status=status, headers=headers)


def lets_in(dialect: Dialect, key: str, headers: Mapping[str, str]) -> web.Response | None:
    """The refusal, where the key is not the right one."""
    if not dialect.header:
        return None
    given = headers.get("Authorization", "").removeprefix("Bearer ")
    if dialect.header == "api-key":
        given = headers.get("api-key", given)
    if hmac.compare_digest(given, key):
        return None
    shown = f"{given[:8]}{'*' * max(0, len(given) - 12)}{given[-4:]}"  # as the vendor echoes it
    told = f"Incorrect API key provided: {shown}. You can find your API key in your settings."
    return failure(401, Wrong("invalid_api_key", told if given else "Missing bearer authentication in header"))


def wrong_model(dialect: Dialect, model: str) -> Wrong | None:
    if model.startswith(("gpt-live", "gpt-4o-transcribe")):
        return Wrong("invalid_model", f'Model "{model}" is not supported in realtime mode.', "model")
    if dialect.models and model not in dialect.models:
        told = f"The model `{model}` does not exist or you do not have access to it."
        return Wrong("model_not_found", told, "model")
    return None


async def turn_away(wire: SocketWire, wrong: Wrong, code: int = 4000) -> None:
    """The upgrade has succeeded; the error comes in place of the greeting, and then the end."""
    event = {"type": "error", "event_id": f"event_{secrets.token_hex(8)}", "error": wrong.to_json(None)}
    await wire.send(json.dumps(event))
    await wire.close(code, f"{wrong.kind}.{wrong.code}")


async def serve(socket: web.WebSocketResponse, session: Session) -> None:
    """Hold a session, until either side ends it."""
    try:
        with suppress(ConnectionError):
            await session.greet()
            async for message in socket:
                if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    await session.take(message.data)
    finally:
        session.end()
