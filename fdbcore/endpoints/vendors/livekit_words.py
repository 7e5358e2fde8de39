"""The transcripts that agents publish in a LiveKit room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from livekit import rtc

TOPIC: Final = "lk.transcription"
_FINAL: Final = "lk.transcription_final"

Heard = Callable[[str, str], None]
"""Takes who spoke, by identity, and the text."""


class Transcripts:
    """Each utterance once it is final, from text streams (topic `lk.transcription`) and from the packets before them.

    Agents of today publish both. Once there are streams, packets are left out.
    """

    def __init__(self, room: rtc.Room, heard: Heard) -> None:
        self._heard = heard
        self._has_streams = False
        self._by_packets: set[tuple[str, str]] = set()
        self._reading: set[asyncio.Task[None]] = set()
        room.register_text_stream_handler(TOPIC, self._open)
        room.on("transcription_received", self._take)

    def close(self) -> None:
        """Read no more."""
        for task in self._reading:
            task.cancel()

    def _open(self, stream: rtc.TextStreamReader, identity: str) -> None:
        self._has_streams = True
        task = asyncio.get_running_loop().create_task(self._read(stream, identity))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _read(self, stream: rtc.TextStreamReader, identity: str) -> None:
        from livekit import rtc

        text = ""
        try:
            async for piece in stream:
                text += piece
        except rtc.StreamError:
            return  # the sender broke it off
        if (stream.info.attributes or {}).get(_FINAL) != "true":
            return
        if (identity, text) in self._by_packets:
            self._by_packets.remove((identity, text))
        else:
            self._heard(identity, text)

    def _take(self, segments: list[rtc.TranscriptionSegment], speaker: rtc.Participant | None, _: object) -> None:
        if self._has_streams or speaker is None:
            return
        for segment in segments:
            if segment.final:
                self._by_packets.add((speaker.identity, segment.text))
                self._heard(speaker.identity, segment.text)
