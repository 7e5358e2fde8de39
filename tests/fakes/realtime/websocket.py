"""The WebSocket of the realtime interface: who may come in, and what is carried."""

import asyncio
import json
import secrets

from aiohttp import WSMsgType, web
from fakes.realtime.checks import Wrong
from fakes.realtime.dialects import Dialect
from fakes.realtime.parts import Speaker
from fakes.realtime.session import Session


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


def wrong_model(dialect: Dialect, model: str) -> Wrong | None:
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
        await session.greet()
        async for message in socket:
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                await session.take(message.data)
    except ConnectionError:
        pass  # nobody is left to tell
    except Exception as error:
        session.errors.append(error)
    finally:
        session.end()
