"""Moshi (kyutai-labs/moshi) and PersonaPlex (NVIDIA/personaplex): Ogg Opus over a WebSocket, clocked by their input.

When their audio is heard: The frame of tick n is sent in tick n. Every 8 ticks make one step of 80 ms. The server
answers each step with 80 ms of audio, except its first `lag_steps` steps, which it does not answer. In lockstep, its
sample s is heard as sample s + 3840 * (1 + lag_steps) of the session, however long it took to compute; live it could
not have been heard sooner. Live, audio is heard as it arrives. Samples are counted from the first one that the server
sends. Granule positions are ignored, because servers write them wrongly. Samples in the pre-skip of its stream are
silenced, but keep their place.

The delay of the harness itself: 2.5 ms for the encoder's look-ahead (servers ignore a pre-skip, so we declare none, and
a step is complete with our fourth packet); nothing for packetisation, because four packets of 20 ms make a step; and,
live, the time from the arrival of a step to the tick that plays it (happenings "delay", "underrun" and "arrivals").
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit

import numpy as np

from fdbcore.endpoints.moshi_connection import BIT_RATE, CLOSE_S, PACKET_MS, MoshiConnection
from fdbcore.endpoints.playout import DelayChange, Playout
from fdbcore.endpoints.websocket_line import require_aiohttp, wrong_tls
from fdbcore.errors import PartyError
from fdbcore.protocols import Clocking, Endpoint
from fdbcore.runtime.address import Setting, host_port, location, parsed
from fdbcore.runtime.network import await_result, event_loop, may_be_up_later
from fdbcore.types import (
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    SILENT_FRAME,
    TICK_MS,
    TICK_NS,
    TICKS_PER_S,
    Happening,
    Pcm,
    Side,
)
from fdbcore.types.usage import Service

_STEP_TICKS: Final = 8
_PACKET_TICKS: Final = PACKET_MS // TICK_MS
_RUST_HANDSHAKE_BYTES: Final = 8  # two versions; the Python server sends none
_TLS: Final = Setting("tls", "whether by TLS; certificates are not verified", default="0", choices=("0", "1"))
_LAG: Final = Setting(
    "lag_steps",
    "first steps that the server leaves unanswered; lockstep and the times of its answers need it",
    int,
    unset="detected",
    least=0,
    most=9,
)
MOSHI: Final = (
    _TLS,
    _LAG,
    *(
        Setting(name, "passed on; the Rust server obeys it", unset="the server's")
        for name in (
            *("text_temperature", "text_topk", "audio_temperature", "audio_topk", "max_steps", "audio_seed"),
            *("text_seed", "pad_mult", "repetition_penalty_context", "repetition_penalty"),
        )
    ),
)
PERSONAPLEX: Final = (
    replace(_TLS, default="1"),
    replace(_LAG, default=0),
    Setting("voice_prompt", "always sent", default="NATF2.pt"),
    Setting("text_prompt", "always sent", default=""),
)
_KEPT_FRAMES: Final = 1  # the reserve of the playout, against the jitter of a distant server


class Place(NamedTuple):
    """The server that an address names, and the query that it is sent. lag_steps: None if not given."""

    kind: str
    url: str
    query: Mapping[str, str]
    lag_steps: int | None

    @property
    def host(self) -> str:
        """The server as messages name it: "moshi://localhost:8998"."""
        return f"{self.kind}://{urlsplit(self.url).netloc}"

    @property
    def hint(self) -> str:
        """A likely cause if the server hangs up before the handshake, to end a message with."""
        return "; is there such a voice_prompt?" if "voice_prompt" in self.query else ""


def moshi(address: str, handshake_timeout_s: float = 30.0, answer_timeout_s: float = 10.0) -> "MoshiEndpoint":
    """The party at `moshi://host[:port][/path][?tls=1&lag_steps=N&...]`. The defaults are port 8998 and /api/chat.

    tls=1: use wss, which the Rust server requires. Certificates are not verified, because the servers sign their own.
    lag_steps: how many first steps the server leaves unanswered; only lockstep needs it. The default is 1 (the Python
    server), or 2 if the handshake is the Rust server's; the MLX server needs 0. All other settings (text_temperature,
    audio_seed, ...) are passed on; only the Rust server obeys them. SettingsError if the address is wrong.
    """
    return MoshiEndpoint(_place(address, MOSHI), handshake_timeout_s, answer_timeout_s)


def personaplex(address: str, handshake_timeout_s: float = 120.0, answer_timeout_s: float = 10.0) -> "MoshiEndpoint":
    """The party at `personaplex://host[:port][?voice_prompt=NATF2.pt&text_prompt=...]`; see `moshi` for the rest.

    Both prompts are always sent, because the server requires them; it shakes hands once it has processed them. TLS is
    on unless tls=0. A `seed` is refused, because it makes the server's requests fail. SettingsError if the address is
    wrong.
    """
    return MoshiEndpoint(_place(address, PERSONAPLEX), handshake_timeout_s, answer_timeout_s)


def _place(address: str, known: Sequence[Setting]) -> Place:
    kind, place, settings = parsed(address, known)
    parts = location(f"{kind}:{place}" if ":" in address else f"{kind}://", f"{kind}://host[:port][?setting=value]")
    tls, lag_steps = settings.pop("tls"), settings.pop("lag_steps")
    path = parts.path.rstrip("/") or "/api/chat"
    url = f"{'wss' if tls == '1' else 'ws'}://{host_port(parts.hostname or 'localhost', parts.port or 8998)}{path}"
    return Place(kind, url, {name: value for name, value in settings.items() if value is not None}, lag_steps)


class MoshiEndpoint(Endpoint):
    """One conversation with a Moshi or PersonaPlex server: live, or in lockstep on a clock that never waits.

    handshake_timeout_s: how long `open` waits; a server that is busy with another session stays silent.
    answer_timeout_s: if the party sends no audio for this long, it counts as gone.
    """

    clocking: Clocking = "input"
    calls_at_once: int | None = 1

    def __init__(self, place: Place, handshake_timeout_s: float, answer_timeout_s: float) -> None:
        self._place = place
        self._handshake_timeout_s = handshake_timeout_s
        self._answer_timeout_s = answer_timeout_s
        self._lag_steps = place.lag_steps
        self._playout = Playout(_STEP_TICKS, _KEPT_FRAMES)
        self._line = MoshiConnection(place.url + ("?" + urlencode(place.query) if place.query else ""), self._playout)
        self._origin_ns: int | None = None
        self._packet: Pcm = np.zeros(_PACKET_TICKS * FRAME_SAMPLES, dtype=np.int16)
        self._said_ticks = self._heard_ticks = 0
        self._offset_samples: int | None = None  # from a sample of the party's stream to the session's sample
        self._steps_ahead = 0
        self._last_received = self._ticks_without_audio = 0

    def open(self, side: Side) -> None:
        """Connect and wait for the handshake. PartyError if none comes; MissingExtraError without aiohttp."""
        line, host = self._line, self._place.host
        require_aiohttp(f"{host}:")
        import aiohttp

        try:
            await_result(line.open(), self._handshake_timeout_s)
        except TimeoutError:
            found = "connected, but no handshake: busy with another session?" if line.connected else "no connection"
            raise PartyError(f"{host}: {found} (waited {self._handshake_timeout_s:g} s)", line.connected) from None
        except aiohttp.WSServerHandshakeError as error:
            raise PartyError(f"{host}: refused with HTTP status {error.status}", error.status in (429, 503)) from None
        except (aiohttp.ClientError, OSError) as error:
            told = f"{host}: cannot be reached: {error}"
            raise wrong_tls(error, host) or PartyError(told, may_be_up_later(error)) from None
        if line.ended is not None:
            raise PartyError(f"{host}: {line.ended} before the handshake{self._place.hint}")
        if self._lag_steps is None:
            self._lag_steps = 2 if line.handshake_bytes == _RUST_HANDSHAKE_BYTES else 1

    def start(self, origin_ns: int | None) -> None:
        """Tick 0 is now. origin_ns: None for lockstep."""
        self._origin_ns = origin_ns
        self._playout.start(origin_ns)
        self._line.started = True

    def say(self, tick: int) -> Pcm | None:
        """The next frame of the party, int16 (480,). Lockstep waits until it is there; live it may be silence."""
        ended = self._line.ended  # read before the queue: once it is set, nothing more is queued
        if self._origin_ns is None:
            start_tick = _STEP_TICKS * (1 + (self._lag_steps or 0))
            if tick < start_tick:
                return self._silence_unless(ended if self._line.received_samples == 0 else None)
            ended = self._await_answer((tick + 1 - start_tick) * FRAME_SAMPLES)
        else:
            self._watch_silence()
        self._said_ticks = tick + 1
        if not self._playout.play(tick, to_the_end=ended is not None):
            return self._silence_unless(ended)
        return self._playout.frame

    def _silence_unless(self, ended: str | None) -> Pcm | None:
        self.left = ended
        return SILENT_FRAME if ended is None else None

    def _await_answer(self, samples: int) -> str | None:
        """Wait until this many samples have come. Returns why the party has gone if they never will, else None."""
        line = self._line
        self._steps_ahead = max(self._steps_ahead, (line.received_samples - samples) // (_STEP_TICKS * FRAME_SAMPLES))
        with line.changed:
            if not line.changed.wait_for(lambda: self._has_ended_or(samples), self._answer_timeout_s):
                step = samples // (_STEP_TICKS * FRAME_SAMPLES) + (self._lag_steps or 0)
                reason = f"no answer to step {step} within {self._answer_timeout_s:g} s"
                if not line.received_samples:
                    reason += f"; does it leave more than lag_steps={self._lag_steps} unanswered?"
                event_loop().call_soon_threadsafe(line.end, reason)
                line.changed.wait_for(lambda: self._has_ended_or(samples))
        return line.ended if line.received_samples < samples else None

    def _has_ended_or(self, samples: int) -> bool:
        return self._line.ended is not None or self._line.received_samples >= samples

    def _watch_silence(self) -> None:
        """End the connection after too many ticks without audio.

        Ticks are counted instead of time, so that a stall of our own machine does not count as the party's silence.
        """
        received = self._line.received_samples
        self._ticks_without_audio = self._ticks_without_audio + 1 if received == self._last_received else 0
        self._last_received = received
        if self._ticks_without_audio > self._answer_timeout_s * TICKS_PER_S:
            event_loop().call_soon_threadsafe(self._line.end, f"silent for {self._answer_timeout_s:g} s")

    def hear(self, tick: int, frame: Pcm) -> None:
        """Send the partner's frame, and before it silence for each missed tick."""
        while self._heard_ticks < tick:
            self._send(SILENT_FRAME, tick)
        self._send(frame, tick)

    def _send(self, frame: Pcm, tick: int) -> None:
        at = self._heard_ticks % _PACKET_TICKS * FRAME_SAMPLES
        self._packet[at : at + FRAME_SAMPLES] = frame
        self._heard_ticks += 1
        if self._heard_ticks % _PACKET_TICKS == 0 and self._line.ended is None:
            due_ns = None if self._origin_ns is None else self._origin_ns + tick * TICK_NS
            self._line.send(self._packet.copy(), due_ns)

    def log(self) -> Sequence[Happening]:
        """Delays, underruns, the model's words and, once a second live, the arrivals of its audio."""
        tick, texts = max(self._said_ticks, self._heard_ticks) - 1, self._line.texts
        found = [self._change_event(change) for change in self._playout.drain()]
        # In lockstep a word is logged once audio after it is heard: then every run has received it by that tick.
        heard_samples = self._playout.queue.stats().heard_samples
        while texts and (self._origin_ns is not None or texts[0].start_sample < heard_samples):
            text = texts.popleft()
            fields: dict[str, Any] = {"text": text.text, "start_sample": text.start_sample}
            if self._origin_ns is not None:
                fields["at_us"] = (text.at_ns - self._origin_ns) // 1000
            found.append(Happening(tick, "text", fields))
        if tick % TICKS_PER_S == TICKS_PER_S - 1 and (arrivals := self._playout.arrivals()):
            found.append(Happening(tick, "arrivals", arrivals))
        return found

    def _change_event(self, change: DelayChange) -> Happening:
        """The event for a change of the delay: where the party's stream is heard from now on and, live, how late."""
        fields: dict[str, Any] = {"start_sample": change.start_sample, "offset_samples": change.offset_samples}
        if self._origin_ns is not None:
            fields |= {"why": change.why, "delay_samples": change.delay_samples}
        before, self._offset_samples = self._offset_samples, change.offset_samples
        if before is None or change.offset_samples < before:
            return Happening(change.tick, "delay", fields)
        return Happening(change.tick, "underrun", {**fields, "padded_samples": change.offset_samples - before})

    def measured(self) -> Mapping[str, Any]:
        """Samples sent, heard and lost, the harness's own delays and, live, the system's speed; as JSON values."""
        line, playout = self._line, self._playout
        look_ahead_ms = line.look_ahead_samples * 1000 / SAMPLE_RATE_HZ
        counts = {
            "mode": "lockstep" if self._origin_ns is None else "live",
            "own_delay": {"look_ahead_ms": look_ahead_ms, "packetisation_ms": 0.0},
            "packet_ms": PACKET_MS,
            "step_ms": _STEP_TICKS * TICK_MS,
            "lag_steps": self._lag_steps,
            "sent_samples": self._heard_ticks // _PACKET_TICKS * _PACKET_TICKS * FRAME_SAMPLES,
            **playout.counts(),
            "dropped_samples": line.dropped_samples + playout.missed_samples,
            "pre_skip_samples": line.pre_skip_samples,
            "skipped_bytes": line.skipped_bytes,
            "ignored_messages": line.ignored_messages,
            **line.unplayed.measured(),
        }
        if self._origin_ns is None:
            return counts | {"steps_ahead": self._steps_ahead}  # if not 0, lag_steps is too large by this many
        live = {"received_samples": line.received_samples, "received_samples_per_s": line.received_per_s()}
        delays = {"out_delay_samples": line.look_ahead_samples, **playout.certificate()}
        return counts | live | delays | {"wire": line.wire.summary()}

    def services(self) -> Sequence[Service]:
        """The server."""
        return [Service("audio", urlsplit(self._place.url).hostname or "")]

    def describe(self) -> Mapping[str, Any]:
        """The server's place, the query, and what it reports of itself; lag_steps may be known only after `open`."""
        return {
            "kind": self._place.kind,
            "url": self._place.url,
            "certificate_verified": False,
            "query": dict(self._place.query),
            "lag_steps": self._lag_steps,
            "handshake_timeout_s": self._handshake_timeout_s,
            "answer_timeout_s": self._answer_timeout_s,
            "codec": {"name": "opus", "application": "lowdelay", "packet_ms": PACKET_MS, "bit_rate": BIT_RATE},
            "server": self._line.metadata,
        }

    def close(self) -> None:
        """Leave the conversation, even if the server keeps the connection open."""
        await_result(self._line.close(), 5 * CLOSE_S)
