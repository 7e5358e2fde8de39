"""A bot of Pipecat's own parts, in an environment of its own: a far end in which no line of the wire is ours.

    PYTHONPATH=tests PYTHON_OF_THE_ENVIRONMENT -m fakes.pipecat_bot.bot

It prints its port once it listens, and then what it does, a JSON object a line. /media: Twilio's Media Streams, by
Pipecat's FastAPI transport and its TwilioFrameSerializer. /api/offer: Pipecat's SmallWebRTC transport. Silero, from
Pipecat's wheel, finds the turns; after each it says `tones` of 1.5 s, whose seed is the number of the turn, and sends a
mark after them on a stream of Twilio's. A turn that begins while it speaks interrupts it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from typing import Any

import uvicorn
from fakes.realtime.plan import tones
from fastapi import FastAPI, WebSocket
from loguru import logger
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.audio.vad.vad_analyzer import VADParams
from pipecat.frames.frames import (
    BotStartedSpeakingFrame,
    BotStoppedSpeakingFrame,
    Frame,
    InputDTMFFrame,
    OutputTransportMessageFrame,
    TTSAudioRawFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.audio.vad_processor import VADProcessor
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.runner.utils import parse_telephony_websocket
from pipecat.serializers.twilio import TwilioFrameSerializer
from pipecat.transports.base_transport import TransportParams
from pipecat.transports.smallwebrtc.request_handler import SmallWebRTCRequest, SmallWebRTCRequestHandler
from pipecat.transports.smallwebrtc.transport import SmallWebRTCTransport
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.workers.runner import WorkerRunner

REPLY_S = 1.5
STOP_S = 0.3


def tell(event: str, **fields: object) -> None:
    """A line for the test."""
    print(json.dumps({"event": event, "at_ns": time.monotonic_ns(), **fields}), flush=True)


class Answerer(FrameProcessor):  # type: ignore[misc,unused-ignore]
    """Says tones after each turn. stream: Twilio's, where marks are to be sent."""

    def __init__(self, rate_hz: int, stream: str | None) -> None:
        super().__init__()
        self._rate_hz, self._stream = rate_hz, stream
        self._n_turns = 0
        self._is_speaking = False

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)
        match frame:
            case BotStartedSpeakingFrame() | BotStoppedSpeakingFrame():
                self._is_speaking = isinstance(frame, BotStartedSpeakingFrame)
                tell("speaks" if self._is_speaking else "has spoken")
            case VADUserStartedSpeakingFrame() if direction is FrameDirection.DOWNSTREAM:
                tell("turn begins")
                if self._is_speaking:
                    tell("interrupted")
                    await self.broadcast_interruption()
            case VADUserStoppedSpeakingFrame() if direction is FrameDirection.DOWNSTREAM:
                tell("turn ends")
                await self._answer()
            case InputDTMFFrame():
                tell("key", key=str(frame.button.value))

    async def _answer(self) -> None:
        said = tones(REPLY_S, self._n_turns, self._rate_hz).astype("<i2").tobytes()
        await self.push_frame(TTSAudioRawFrame(audio=said, sample_rate=self._rate_hz, num_channels=1))
        if self._stream is not None:
            mark = {"event": "mark", "streamSid": self._stream, "mark": {"name": f"turn {self._n_turns}"}}
            await self.push_frame(OutputTransportMessageFrame(message=mark))
        self._n_turns += 1


async def converse(transport: Any, in_hz: int, out_hz: int, stream: str | None = None) -> None:
    """One call, until the caller has gone."""
    vad = VADProcessor(vad_analyzer=SileroVADAnalyzer(params=VADParams(stop_secs=STOP_S)))
    pipeline = Pipeline([transport.input(), vad, Answerer(out_hz, stream), transport.output()])
    params = PipelineParams(audio_in_sample_rate=in_hz, audio_out_sample_rate=out_hz)
    worker = PipelineWorker(pipeline, params=params)

    @transport.event_handler("on_client_connected")  # type: ignore[untyped-decorator,unused-ignore]
    async def begin(*_: object) -> None:
        tell("connected")

    @transport.event_handler("on_client_disconnected")  # type: ignore[untyped-decorator,unused-ignore]
    async def end(*_: object) -> None:
        tell("disconnected")
        await worker.cancel()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()


offers = SmallWebRTCRequestHandler()
calls: set[asyncio.Task[None]] = set()


async def media(websocket: WebSocket) -> None:
    """A stream of Twilio's."""
    await websocket.accept()
    kind, call = await parse_telephony_websocket(websocket)
    tell("start", provider=kind, stream=call["stream_id"], call=call["call_id"], parameters=call["body"])
    told = TwilioFrameSerializer.InputParams(auto_hang_up=False)
    serializer = TwilioFrameSerializer(stream_sid=call["stream_id"], call_sid=call["call_id"], params=told)
    params = FastAPIWebsocketParams(audio_in_enabled=True, audio_out_enabled=True, serializer=serializer)
    await converse(FastAPIWebsocketTransport(websocket, params), 8000, 8000, call["stream_id"])


async def offer(request: dict[str, Any]) -> Any:
    """An offer of WebRTC."""

    async def begin(connection: Any) -> None:
        params = TransportParams(audio_in_enabled=True, audio_out_enabled=True)
        call = asyncio.create_task(converse(SmallWebRTCTransport(connection, params), 16_000, 24_000))
        calls.add(call)
        call.add_done_callback(calls.discard)

    return await offers.handle_web_request(SmallWebRTCRequest.from_dict(request), begin)


async def main() -> None:
    """Serve until the process is ended."""
    app = FastAPI()
    app.add_api_websocket_route("/media", media)
    app.add_api_route("/api/offer", offer, methods=["POST"])
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)  # who calls before it is served waits
        await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve([listening])


if __name__ == "__main__":
    asyncio.run(main())
