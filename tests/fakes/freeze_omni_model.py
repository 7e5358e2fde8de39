"""What Freeze-Omni's demo server does with the events of one user, and when: its queue, its interruptions, its quirks.

From `bin/server.py` and `web/parms.py` of VITA-MLLM/Freeze-Omni; the model itself is an ear and planted tones. It
knows nothing of the wire, so that it stands behind a fake of Socket.IO and behind the real Flask-SocketIO alike.
"""

import json
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from fakes.ear import Ear
from fakes.realtime.plan import Wave, tones

IN_HZ, OUT_HZ = 16_000, 24_000
HANDLED = ("recording-started", "recording-stopped", "prompt_text", "audio")
"""The events of the client; Socket.IO leaves all others alone."""
Emitted: TypeAlias = tuple[str, bytes | None]
"""An event that goes to the client, with its audio."""


@dataclass(frozen=True)
class Habits:
    """replies_s: how long each answer is, again and again. chunk_ms: of one piece of it. think_s: until the first piece
    is there; the others follow, `faster` than they sound. mute: it never answers. deaf: it hears no turns."""

    replies_s: Sequence[float] = (2.0,)
    chunk_ms: int = 400
    think_s: float = 0.2
    faster: float = 4.0
    silence_ms: int = 500
    mute: bool = False
    deaf: bool = False


class User:
    """One user. said: all answers, whole. heard: what came in. early: audio that came before the first
    `recording-started`. wrong_rates: those that it was told besides 16 kHz, which it does not heed."""

    def __init__(self, habits: Habits) -> None:
        self._habits = habits
        self.ear = Ear(IN_HZ, 10**9 if habits.deaf else 60, habits.silence_ms)
        self.prompt = ""
        self.said: list[Wave] = []
        self.heard: list[Wave] = []
        self.wrong_rates: list[int] = []
        self.early = 0
        self._queue: deque[tuple[float, Wave]] = deque()
        self._is_recording = False
        self._is_draining = False
        self._n_over = 0

    def take(self, event: str, data: object) -> list[Emitted]:
        """What is emitted upon one of `HANDLED`, in this order. Raises on data that the server cannot read."""
        match event:
            case "prompt_text":
                self.prompt = str(data)
                return [("prompt_success", None)]
            case "recording-started":
                self._reset()
                self._is_recording = True
                return [("stop_tts", None)] * 2
            case "recording-stopped":
                self._reset()
                return [("stop_tts", None)]
        return self._take_audio(str(data))

    def answer(self) -> None:
        """Begin the next answer; what is still queued of the last one goes out first."""
        now = time.monotonic()
        self._queue = deque(piece for piece in self._queue if piece[0] <= now)
        self._is_draining = True

    def interrupt(self) -> None:
        """Stop, and answer nothing."""
        self._queue.clear()
        self._n_over += 1

    def _reset(self) -> None:
        self._queue.clear()
        self._is_draining = False
        self._n_over = 0

    def _take_audio(self, data: str) -> list[Emitted]:
        """At most one piece of the answer goes out for each piece that comes in."""
        emitted: list[Emitted] = []
        if self._queue and self._queue[0][0] <= time.monotonic():
            emitted.append(("audio", self._queue.popleft()[1].astype("<i2").tobytes()))
        elif self._is_draining and not self._queue:
            self._is_draining = False
            self._n_over += 1
            self._speak()
        if self._n_over:
            emitted.append(("stop_tts", None))
            self._n_over = 0
        told = json.loads(data)
        pcm = np.frombuffer(bytes(told["audio"]), "<i2").astype(np.int16)
        self.wrong_rates += [told["sample_rate"]] if told["sample_rate"] != IN_HZ else []
        self.early += not self._is_recording
        self.heard.append(pcm)
        for what, _ in self.ear.hear(pcm):
            if what == "ends" and not self._habits.mute:
                self.answer()
        return emitted

    def _speak(self) -> None:
        seconds = self._habits.replies_s[len(self.said) % len(self._habits.replies_s)]
        voice = tones(seconds, len(self.said), OUT_HZ)
        self.said.append(voice)
        size = OUT_HZ * self._habits.chunk_ms // 1000
        begins = time.monotonic() + self._habits.think_s
        for at in range(0, len(voice), size):
            self._queue.append((begins + at / OUT_HZ / self._habits.faster, voice[at : at + size]))
