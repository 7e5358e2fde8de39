"""A call by a vendor's own client: `client.py KIND URL KEY MODEL RATE_HZ` prints its events, in JSON, a line each.

KIND: voice-live, by azure-ai-voicelive; or qwen, by dashscope. It asks for a session, says 0.8 s of tones and then
nothing, and leaves when an answer is over.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import threading
import time
from typing import Any

import numpy as np

PACKET_MS = 20
ENDS_WITHIN_S = 20.0


def packets(rate_hz: int) -> list[bytes]:
    """Packets of what the user says, 16 bits a sample."""
    n = round(0.8 * rate_hz)
    said = np.sin(np.arange(n) * 2 * np.pi * 300 / rate_hz) * 9_000
    line = np.concatenate([np.zeros(rate_hz // 2), said, np.zeros(3 * rate_hz)]).astype("<i2")
    size = rate_hz * PACKET_MS // 1000
    return [line[start : start + size].tobytes() for start in range(0, len(line) - size + 1, size)]


def tell(event: dict[str, Any]) -> None:
    print(json.dumps(event, default=str), flush=True)


async def voice_live(url: str, key: str, model: str, rate_hz: int) -> None:
    """Events as the client's types have read them."""
    from azure.ai.voicelive.aio import connect
    from azure.ai.voicelive.models import RequestSession, ServerVad
    from azure.core.credentials import AzureKeyCredential

    async with connect(endpoint=url, credential=AzureKeyCredential(key), model=model) as connection:
        asked = RequestSession(
            modalities=["text", "audio"],
            voice="alloy",
            instructions="Be brief.",
            input_audio_format="pcm16",
            output_audio_format="pcm16",
            input_audio_sampling_rate=rate_hz,
            turn_detection=ServerVad(silence_duration_ms=300),
        )
        await connection.session.update(session=asked)

        async def speak() -> None:
            for packet in packets(rate_hz):
                await connection.input_audio_buffer.append(audio=base64.b64encode(packet).decode())
                await asyncio.sleep(PACKET_MS / 1000)

        speaking = asyncio.create_task(speak())
        async for event in connection:
            tell({**event.as_dict(), "read_as": type(event).__name__})
            if event.type == "response.done":
                break
        speaking.cancel()


def qwen(url: str, key: str, model: str, rate_hz: int) -> None:
    """Events as the client hands them on."""
    from dashscope.audio.qwen_omni import MultiModality, OmniRealtimeCallback, OmniRealtimeConversation

    over = threading.Event()

    class Told(OmniRealtimeCallback):  # type: ignore[misc]
        def on_event(self, message: dict[str, Any]) -> None:
            tell(message)
            if message["type"] == "response.done":
                over.set()

    socket = url.replace("http", "ws", 1) + "/api-ws/v1/realtime"
    conversation = OmniRealtimeConversation(model=model, callback=Told(), url=socket, api_key=key)
    conversation.connect()
    modalities = [MultiModality.TEXT, MultiModality.AUDIO]
    conversation.update_session(output_modalities=modalities, voice="Cherry", turn_detection_silence_duration_ms=300)
    for packet in packets(rate_hz):
        if over.is_set():
            break
        conversation.append_audio(base64.b64encode(packet).decode())
        time.sleep(PACKET_MS / 1000)
    over.wait(ENDS_WITHIN_S)
    conversation.close()


def main(kind: str, url: str, key: str, model: str, rate_hz: str) -> None:
    if kind == "qwen":
        qwen(url, key, model, int(rate_hz))
    else:
        asyncio.run(asyncio.wait_for(voice_live(url, key, model, int(rate_hz)), ENDS_WITHIN_S))


if __name__ == "__main__":
    main(*sys.argv[1:])
