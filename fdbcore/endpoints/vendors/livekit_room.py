"""A LiveKit room while we are in it: the track on which we speak, the agent's that we hear, and what happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import numpy as np

from fdbcore.endpoints.vendors.party_log import Json, LoggedParty
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, TICK_MS
from fdbcore.types.system_events import TRANSCRIPT

if TYPE_CHECKING:
    from livekit import rtc

LEAVES_WITHIN_S: Final = 0.5
"""An agent that leaves takes its audio away first."""

_LEFT: Final = ("CLIENT_INITIATED", "ROOM_DELETED", "ROOM_CLOSED", "UNKNOWN_REASON")
"""Reasons of an agent that leaves with no more to say."""


class AgentRoom:
    """A room while we are in it, on the network's thread.

    heard: done once the agent's audio comes. others: who was there, by identity. wanted: whom we hear, by identity;
    None for the first agent. party: is told what happens.
    """

    def __init__(self, party: LoggedParty, room: rtc.Room, wanted: str | None) -> None:
        self.heard: asyncio.Future[rtc.RemoteAudioTrack] = asyncio.get_running_loop().create_future()
        self.is_joined = False
        self.others: list[str] = []
        self._party, self._room, self._wanted = party, room, wanted
        self._agent: Json = {}
        self._source: rtc.AudioSource | None = None
        self._over = asyncio.Event()
        self._words = Transcripts(room, self._transcribe)
        room.on("participant_connected", self._note_arrival)
        room.on("track_subscribed", self._hear)
        room.on("track_unsubscribed", self._lose)
        room.on("participant_disconnected", self._note_departure)
        room.on("participant_attributes_changed", self._note_attributes)
        room.on("data_received", self._note_data)
        room.on("reconnecting", lambda: self._end("the connection to the room was lost", transient=True))
        room.on("disconnected", self._note_end)

    def describe(self) -> Json:
        """Our identity, whom we hear, and by which SDK, as JSON values; {} as long as nobody is heard."""
        if not self._agent:
            return {}
        me = self._room.local_participant.identity
        return {"identity": me, "agent": self._agent, "sdk": f"livekit {version('livekit')}"}

    async def publish(self) -> None:
        """Publish the track on which we speak; it never pauses, as a microphone does not."""
        from livekit import rtc

        self.is_joined = True
        for who in self._room.remote_participants.values():
            self._meet(who)
        self._source = rtc.AudioSource(SAMPLE_RATE_HZ, 1, queue_size_ms=0)
        track = rtc.LocalAudioTrack.create_audio_track("microphone", self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE, dtx=False)
        await self._room.local_participant.publish_track(track, options)

    async def converse(self, unsent: asyncio.Queue[tuple[int, bytes]]) -> None:
        """Pass on both sides' audio until the agent, the server or we have left."""
        tasks = [asyncio.create_task(self._send(unsent)), asyncio.create_task(self._receive())]
        try:
            await self._over.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def leave(self, joining: asyncio.Future[None]) -> None:
        """Leave the room, which we may still be joining."""
        self._words.close()
        with suppress(Exception):
            await joining
            await self._room.disconnect()
        if self._source is not None:
            await self._source.aclose()

    async def _send(self, unsent: asyncio.Queue[tuple[int, bytes]]) -> None:
        from livekit import rtc

        assert self._source is not None
        while True:
            tick, data = await unsent.get()
            try:
                await self._source.capture_frame(rtc.AudioFrame(data, SAMPLE_RATE_HZ, 1, FRAME_SAMPLES))
            except Exception as error:  # the SDK's has no type of its own
                self._end(f"the SDK does not take audio: {error}")
                return
            self._party.stream.sent(tick)

    async def _receive(self) -> None:
        from livekit import rtc

        audio = rtc.AudioStream.from_track(
            track=self.heard.result(), sample_rate=SAMPLE_RATE_HZ, num_channels=1, frame_size_ms=TICK_MS
        )
        try:
            async for event in audio:
                self._party.stream.receive_audio(np.frombuffer(event.frame.data, np.int16))
        finally:
            await audio.aclose()

    def _end(self, reason: str, transient: bool = False) -> None:
        self._party.end(reason, transient)
        self._over.set()

    # Events of the room

    def _note_arrival(self, who: rtc.RemoteParticipant) -> None:
        self._meet(who)
        self._tell("participant_connected", identity=who.identity)

    def _hear(self, track: rtc.Track, _: object, who: rtc.RemoteParticipant) -> None:
        from livekit import rtc

        self._meet(who)
        if isinstance(track, rtc.RemoteAudioTrack) and not self.heard.done() and self._is_wanted(who):
            self._agent = {"identity": who.identity, "name": who.name, "attributes": dict(who.attributes)}
            self.heard.set_result(track)
        else:
            self._tell("track not heard", identity=who.identity, track=track.name)

    def _lose(self, track: rtc.Track | None, _: object, who: rtc.RemoteParticipant) -> None:
        if self.heard.done() and track is self.heard.result():
            asyncio.get_running_loop().call_later(LEAVES_WITHIN_S, self._end, "the agent took its audio away")

    def _note_departure(self, who: rtc.RemoteParticipant) -> None:
        from livekit import rtc

        why = who.disconnect_reason
        reason = "UNKNOWN_REASON" if why is None else rtc.DisconnectReason.Name(why)
        self._tell("participant_disconnected", identity=who.identity, reason=reason)
        if who.identity == self._agent.get("identity"):
            self._end("finished" if reason in _LEFT else f"the agent's connection ended: {reason}")

    def _note_attributes(self, changed: Mapping[str, str], who: rtc.Participant) -> None:
        self._tell("participant_attributes_changed", identity=who.identity, changed=dict(changed))

    def _note_data(self, packet: rtc.DataPacket) -> None:
        text = packet.data.decode(errors="replace")
        self._tell("data_received", topic=packet.topic, data=text)

    def _note_end(self, reason: rtc.DisconnectReason.ValueType) -> None:
        from livekit import rtc

        name = rtc.DisconnectReason.Name(reason)
        if name == "CLIENT_INITIATED":
            return  # it was us
        self._tell("disconnected", reason=name)
        if name in ("ROOM_DELETED", "ROOM_CLOSED"):
            self._end("finished")
        elif name == "DUPLICATE_IDENTITY":
            self._end("another one joined the room with our identity: give each call its own by identity=NAME")
        else:
            self._end(f"the server ended the connection: {name}", transient=name == "SERVER_SHUTDOWN")

    def _meet(self, who: rtc.Participant) -> None:
        if who.identity not in self.others:
            self.others.append(who.identity)

    def _is_wanted(self, who: rtc.Participant) -> bool:
        from livekit import rtc

        if self._wanted is not None:
            return str(who.identity) == self._wanted
        return bool(who.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT)

    def _transcribe(self, identity: str, text: str) -> None:
        if self._party.stream.allows(len(text)):
            of = "partner" if identity == self._room.local_participant.identity else "self"
            self._party.note(TRANSCRIPT, of=of, text=self._party.without_key(text))

    def _tell(self, name: str, **told: object) -> None:
        self._party.take({"type": name, **told})


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
