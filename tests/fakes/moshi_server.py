"""A server that speaks the protocol of Moshi, with its quirks and its own Ogg Opus, around a model of a few lines.

Run alone: `PYTHONPATH=tests python -m fakes.moshi_server --port 8998 --model answer --flavour rust`.
"""

import argparse
import asyncio
import json
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import sphn
from aiohttp import WSMsgType, web

Wave = npt.NDArray[np.float32]
RATE_HZ, STEP = 24_000, 1920


@dataclass(frozen=True)
class Quirks:
    """How the server behaves, and where it goes wrong.

    lag_steps: first steps without an answer (None: as the flavour has it). compute_s: time that a step takes.
    handshake_s: time until the handshake. message_bytes: audio is cut into messages of this length, across pages.
    after_steps, then: what happens after so many steps: "close" (session cap), "abort" (the connection is cut), "error"
    (an error frame), "freeze" (nothing any more), "noise" (Ogg that is not Opus).
    chatter: sends messages that nobody knows, and bytes that are no Ogg before its audio. text: a word for each step
    that sounds.
    """

    flavour: Literal["python", "rust", "personaplex"] = "python"
    model: Literal["echo", "answer", "tone"] = "echo"
    lag_steps: int | None = None
    compute_s: float = 0.0
    handshake_s: float = 0.0
    message_bytes: int = 0
    after_steps: int | None = None
    then: Literal["close", "abort", "error", "freeze", "noise"] = "close"
    chatter: bool = False
    text: bool = False

    @property
    def lag(self) -> int:
        lags = {"python": 1, "rust": 2, "personaplex": 0}
        return lags[self.flavour] if self.lag_steps is None else self.lag_steps


class Echo:
    """What came in the step before, so that it sounds 160 ms after it began."""

    def __init__(self) -> None:
        self._last: Wave = np.zeros(STEP, np.float32)

    def step(self, pcm: Wave) -> Wave:
        said, self._last = self._last, pcm
        return said


class Tone:
    """Never stops."""

    def step(self, pcm: Wave) -> Wave:
        return (0.3 * np.sin(np.arange(STEP) * 2 * np.pi * 437.5 / RATE_HZ)).astype(np.float32)  # 35 whole periods


class Answer:
    """Says what the user said, its first 1.6 s, after 400 ms of silence; is silent when the user speaks."""

    def __init__(self) -> None:
        self._speech: list[Wave] = []
        self._answer: list[Wave] = []
        self._silent_steps = 0

    def step(self, pcm: Wave) -> Wave:
        if float(np.sqrt(np.mean(pcm**2))) > 0.01:
            self._speech.append(pcm)
            self._answer, self._silent_steps = [], 0
        else:
            self._silent_steps += 1
        if self._silent_steps == 5:
            self._answer, self._speech = self._speech[:20], []
        return self._answer.pop(0) if self._answer else np.zeros(STEP, np.float32)


MODELS: dict[str, type[Echo | Answer | Tone]] = {"echo": Echo, "answer": Answer, "tone": Tone}


@dataclass
class MoshiServer:
    """One server with one lock; it stands still while `computing` is held.

    heard: what came in the last session, a step each. thrown_away_bytes: what came before the handshake. logs: it
    prints how many ms after the arrival of a step its answer was sent.
    """

    quirks: Quirks = field(default_factory=Quirks)
    tls: ssl.SSLContext | None = None
    heard: list[Wave] = field(default_factory=list)
    logs: bool = False
    queries: list[dict[str, str]] = field(default_factory=list)
    thrown_away_bytes: int = 0
    computing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._lock = asyncio.Lock()

    async def chat(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.queries.append(dict(request.query))
        persona = self.quirks.flavour == "personaplex"
        if persona and not ({"voice_prompt", "text_prompt"} <= request.query.keys() and "seed" not in request.query):
            _cut(request)  # the server's own error after the upgrade
            return socket
        with suppress(ConnectionError):
            async with self._lock:
                await (self._prompts(socket) if persona else asyncio.sleep(self.quirks.handshake_s))
                if not socket.closed:
                    await _Session(self, request, socket).run()
        return socket

    async def _prompts(self, socket: web.WebSocketResponse) -> None:
        """Take the prompts in, looking now and then whether the client is there; what it says is thrown away."""
        end = time.monotonic() + self.quirks.handshake_s
        while time.monotonic() < end and not socket.closed:
            with suppress(asyncio.TimeoutError):
                message = await asyncio.wait_for(socket.receive(), 0.01)
                self.thrown_away_bytes += len(message.data) if message.type is WSMsgType.BINARY else 0

    @contextmanager
    def running(self, port: int = 0) -> Iterator[int]:
        """The server in a thread of its own; gives its port."""
        loop = asyncio.new_event_loop()
        runner = loop.run_until_complete(self._started(port))
        thread = threading.Thread(target=loop.run_forever, name="fake-moshi")
        thread.start()
        try:
            yield runner.addresses[0][1]
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _started(self, port: int) -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/api/chat", self.chat)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=self.tls).start()
        return runner


class _Session:
    def __init__(self, server: MoshiServer, request: web.Request, socket: web.WebSocketResponse) -> None:
        self._server, self._quirks = server, server.quirks
        self._request, self._socket = request, socket
        self._reader, self._writer = sphn.OpusStreamReader(RATE_HZ), sphn.OpusStreamWriter(RATE_HZ)
        self._model = MODELS[self._quirks.model]()
        self._pending: Wave = np.zeros(0, np.float32)
        self._steps = self._sent_samples = 0

    async def run(self) -> None:
        self._server.heard.clear()
        if self._quirks.flavour == "rust":
            await self._socket.send_bytes(b"\x04" + json.dumps({"text_temperature": 0.8}).encode())
            await self._socket.send_bytes(b"\x00" + struct.pack("<II", 0, 0))
        else:
            await self._socket.send_bytes(b"\x00")
        async for message in self._socket:
            self._came_s = time.monotonic()
            if message.type is WSMsgType.BINARY and message.data[:1] == b"\x01":
                self._pending = np.concatenate([self._pending, self._reader.append_bytes(message.data[1:])])
            while len(self._pending) >= STEP and not self._socket.closed:
                pcm, self._pending = self._pending[:STEP], self._pending[STEP:]
                await self._step(pcm)

    async def _step(self, pcm: Wave) -> None:
        await asyncio.sleep(self._quirks.compute_s)
        with self._server.computing:  # as the real one, it serves nobody meanwhile
            pass
        self._server.heard.append(pcm)
        first = self._steps == 0
        self._steps += 1
        # Of the first step the model hears nothing.
        said = self._model.step(np.zeros(STEP, np.float32) if first and self._quirks.flavour == "python" else pcm)
        if self._quirks.after_steps is not None and self._steps > self._quirks.after_steps:
            await self._go_wrong()
        elif self._steps > self._quirks.lag:
            await self._say(said)
            if self._server.logs:
                print(1000 * (time.monotonic() - self._came_s), flush=True)

    async def _say(self, said: Wave) -> None:
        self._sent_samples += STEP
        audio: bytes = self._writer.append_pcm(said)
        if self._quirks.flavour == "rust":
            audio = b"".join(_with_granule(page, self._sent_samples) for page in _pages(audio))
        if self._quirks.chatter:
            audio = bytes(range(256)) + audio
        for cut in self._cut(audio):
            await self._socket.send_bytes(b"\x01" + cut)
        if self._quirks.text and said.any():
            await self._socket.send_bytes(f"\x02 word{self._steps}".encode())
        if self._quirks.chatter:
            for data in (b"", b"\x03\x01", b"\x06", b"\x07\x01blue", b"\xff"):
                await self._socket.send_bytes(data)
            await self._socket.send_str("hello")

    def _cut(self, audio: bytes) -> list[bytes]:
        if self._quirks.flavour == "rust":
            pages = _pages(audio)  # each in a message; the headers are with the first one
            return [b"".join(pages[:-1]), pages[-1]] if len(pages) > 1 else pages
        size = self._quirks.message_bytes or len(audio)
        return [audio[at : at + size] for at in range(0, len(audio), size)]

    async def _go_wrong(self) -> None:
        if self._quirks.then == "close":
            await self._socket.close(code=1000, message=b"session over")
        elif self._quirks.then == "abort":
            _cut(self._request)
        elif self._quirks.then == "error":
            await self._socket.send_bytes(b"\x05out of memory")
        elif self._quirks.then == "noise":
            page = bytearray(_pages(self._writer.append_pcm(np.zeros(STEP, np.float32)))[0])
            await self._socket.send_bytes(b"\x01" + _summed(page[:28] + b"\xff" * (len(page) - 28)))


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _pages(stream: bytes) -> list[bytes]:
    """Whole pages, one behind the other, singly."""
    pages = []
    while stream:
        segments = stream[26]
        size = 27 + segments + sum(stream[27 : 27 + segments])
        pages.append(stream[:size])
        stream = stream[size:]
    return pages


def _with_granule(page: bytes, granule: int) -> bytes:
    if page[5] & 2 or b"OpusTags" in page:
        return page
    return _summed(bytearray(page[:6] + struct.pack("<q", granule) + page[14:]))


def _summed(page: bytearray) -> bytes:
    """A page with its checksum, bit by bit as RFC 3533 has it."""
    page[22:26] = bytes(4)
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 0x80000000 else 0)) & 0xFFFFFFFF
    page[22:26] = struct.pack("<I", crc)
    return bytes(page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8998)
    parser.add_argument("--flavour", choices=["python", "rust", "personaplex"], default="python")
    parser.add_argument("--model", choices=list(MODELS), default="answer")
    parser.add_argument("--compute-ms", type=float, default=0.0)
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--log", action="store_true", help="print how many ms after a step its answer was sent")
    given = parser.parse_args()
    quirks = Quirks(given.flavour, given.model, compute_s=given.compute_ms / 1000, text=given.text)
    with MoshiServer(quirks, logs=given.log).running(given.port) as port, suppress(KeyboardInterrupt):
        print(f"listening on 127.0.0.1:{port}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
