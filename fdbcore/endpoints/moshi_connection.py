"""The connection to a Moshi server. Each message is one byte of type and a payload; audio is Ogg Opus."""

from __future__ import annotations

import asyncio
from collections import deque
from threading import Condition
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fdbcore._ext.pacer import LatenessHistogram
from fdbcore.audio.ogg import OggOpusReader, OggOpusWriter
from fdbcore.audio.opus import OpusDecoder, OpusEncoder
from fdbcore.clock import now_ns
from fdbcore.endpoints.playout import Playout
from fdbcore.endpoints.unplayed import Unplayed
from fdbcore.endpoints.websocket_line import without_redirections
from fdbcore.errors import AudioError, FrameError
from fdbcore.recording.floods import EventAllowance
from fdbcore.runtime.json_values import json_value
from fdbcore.runtime.network import event_loop
from fdbcore.types import Pcm

if TYPE_CHECKING:
    from aiohttp import ClientSession, ClientWebSocketResponse, WSMessage

PACKET_MS: Final = 20
BIT_RATE: Final = 64_000
CLOSE_S: Final = 1.0
"""Time that the server may take to say goodbye."""

_HANDSHAKE, _AUDIO, _TEXT, _METADATA, _ERROR = 0, 1, 2, 4, 5


class Text(NamedTuple):
    """A piece of the model's text. start_sample: how much of its audio had come before it."""

    at_ns: int
    start_sample: int
    text: str


class MoshiConnection:
    """The connection, on the network's thread: encodes and sends our audio, decodes and queues the server's.

    The thread of the ticks reads its counts, which only grow, and waits on `changed` for them.
    """

    _encoder: OpusEncoder
    _decoder: OpusDecoder

    def __init__(self, url: str, playout: Playout) -> None:
        self._url = url
        self._playout = playout
        self._session: ClientSession | None = None
        self._socket: ClientWebSocketResponse | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._outgoing: asyncio.Queue[tuple[Pcm, int | None]] = asyncio.Queue()
        self._reader = OggOpusReader()
        self._first_end_sample = 0
        self._first_ns = self._last_ns = 0
        self.connected = self.started = False
        self.handshake_bytes: int | None = None
        self.metadata: Any = None
        self.changed = Condition()
        self.ended: str | None = None
        self.look_ahead_samples = 0
        self.received_samples = self.dropped_samples = self.ignored_messages = 0
        self.unplayed = Unplayed()
        self.texts: deque[Text] = deque()
        self._allowance = EventAllowance()
        self.wire = LatenessHistogram()

    @property
    def pre_skip_samples(self) -> int | None:
        """The pre-skip that the server's stream states, at 48 kHz; None until its first page."""
        return self._reader.pre_skip_samples

    @property
    def skipped_bytes(self) -> int:
        """The number of bytes that were not Ogg."""
        return self._reader.skipped_bytes

    def received_per_s(self) -> float | None:
        """Samples per second from the end of the first arrival to the last one; 48,000 if the system keeps up."""
        elapsed_ns = self._last_ns - self._first_ns
        return (self.received_samples - self._first_end_sample) * 1e9 / elapsed_ns if elapsed_ns else None

    async def open(self) -> None:
        """Connect, and return at the handshake, or if the connection ends before it."""
        from aiohttp import ClientSession, ClientWSTimeout

        self._decoder = OpusDecoder()
        self._encoder = OpusEncoder(PACKET_MS, BIT_RATE, "lowdelay")
        self.look_ahead_samples = self._encoder.look_ahead_samples
        self._session = ClientSession(trace_configs=[without_redirections()])
        timeout = ClientWSTimeout(ws_close=CLOSE_S)
        self._socket = await self._session.ws_connect(self._url, ssl=False, timeout=timeout)
        self.connected = True
        while self.handshake_bytes is None and self.ended is None:
            await self._take(self._socket)
        if self.ended is None:
            socket = self._socket
            self._tasks = [asyncio.create_task(self._listen(socket)), asyncio.create_task(self._speak(socket))]

    async def _listen(self, socket: ClientWebSocketResponse) -> None:
        while self.ended is None:
            await self._take(socket)

    async def _speak(self, socket: ClientWebSocketResponse) -> None:
        writer = OggOpusWriter(pre_skip_samples=0)
        headers = writer.headers()
        while True:
            pcm, due_ns = await self._outgoing.get()
            page = writer.page(self._encoder.encode(pcm), len(pcm))
            try:
                await socket.send_bytes(bytes([_AUDIO]) + headers + page)
            except ConnectionError:
                return  # the listener reports what ended the connection
            if due_ns is not None:
                self.wire.record(now_ns() - due_ns)
            headers = b""

    def send(self, pcm: Pcm, due_ns: int | None) -> None:
        """Queue the samples of one packet for sending. due_ns: when it was due, for the lateness. From any thread."""
        event_loop().call_soon_threadsafe(self._outgoing.put_nowait, (pcm, due_ns))

    async def _take(self, socket: ClientWebSocketResponse) -> None:
        """Wait for one message and handle it."""
        from aiohttp import WSMsgType

        message = await socket.receive()
        if message.type is WSMsgType.TEXT or (message.type is WSMsgType.BINARY and not message.data):
            self.ignored_messages += 1
        elif message.type is not WSMsgType.BINARY:
            self.end(_farewell(message))
        elif message.data[0] == _AUDIO:
            self._take_audio(message.data[1:])
        elif message.data[0] == _TEXT:
            self._take_text(message.data[1:])
        elif message.data[0] == _HANDSHAKE:
            self.handshake_bytes = len(message.data) - 1
        elif message.data[0] == _METADATA:
            try:
                self.metadata = json_value(message.data[1:])
            except ValueError:
                self.metadata = None
        elif message.data[0] == _ERROR:
            self.end(f"error of the server: {message.data[1:].decode(errors='replace')}")
        else:
            self.ignored_messages += 1
            self.unplayed.add(f"of kind {message.data[0]}", len(message.data) - 1)

    def _take_text(self, payload: bytes) -> None:
        at_ns = now_ns()
        if (flood := self._allowance.take(at_ns, len(payload))) is not None:
            self.end(flood)
        else:
            self.texts.append(Text(at_ns, self.received_samples, payload.decode(errors="replace")))

    def _take_audio(self, payload: bytes) -> None:
        at_ns, start_sample = now_ns(), self.received_samples
        try:
            for packet in self._reader.push(payload):
                self._queue_up(self._decoder.decode(packet), at_ns)
        except (AudioError, FrameError) as error:
            self.end(f"sent something that is not Ogg Opus: {error}")
            return
        if self.received_samples > start_sample:
            if not start_sample:
                self._first_ns, self._first_end_sample = at_ns, self.received_samples
            self._last_ns = at_ns
        with self.changed:
            self.changed.notify_all()

    def _queue_up(self, pcm: Pcm, at_ns: int) -> None:
        if not self.started:
            self.dropped_samples += len(pcm)
            return
        pcm[: max((self.pre_skip_samples or 0) - self.received_samples, 0)] = 0  # silent, but in its place
        taken = self._playout.push(pcm, at_ns)
        self.dropped_samples += len(pcm) - taken
        self.received_samples += taken

    def end(self, reason: str) -> None:
        """Note that nothing more will come or be taken. What has come is played to its end."""
        if self.ended is None:
            self._playout.queue.end_item()
            with self.changed:
                self.ended = reason
                self.changed.notify_all()

    async def close(self) -> None:
        """End the tasks, the socket and the session, as far as they exist."""
        for task in self._tasks:
            task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._socket is not None:
            await self._socket.close()
        if self._session is not None:
            await self._session.close()
        for error in results:
            if isinstance(error, Exception):
                raise error


def _farewell(message: WSMessage) -> str:
    from aiohttp import WSMsgType

    if message.type is WSMsgType.CLOSE:
        return f"closed by the server: {message.data} {message.extra or ''}".rstrip()
    if message.type is WSMsgType.ERROR:
        return f"closed: {message.data}"
    return "connection lost"
