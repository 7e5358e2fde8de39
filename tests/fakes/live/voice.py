"""What a fake of GPT-Live says and writes down, cut into frames of sound and fragments of text."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from fakes.live.plan import TICK_S
from fakes.realtime.plan import RATE_HZ, Reply, Wave
from fakes.realtime.sound import encoded, rate_of

FRAGMENT_MS = 200
"""Transcripts come in pieces of this much time."""

Frame: TypeAlias = tuple[Wave, bytes]
Fragment: TypeAlias = tuple[str, int, int]


def frames(wave: Wave, sound: Mapping[str, Any], frame_ms: int) -> list[Frame]:
    """Sound at RATE_HZ, cut, and as it is sent; the last frame is filled with silence."""
    size = RATE_HZ * frame_ms // 1000
    wave = np.pad(wave, (0, -len(wave) % size))
    width = 2 if sound["type"] == "audio/pcm" else 1
    n_bytes = width * rate_of(sound) * frame_ms // 1000
    data = encoded(wave, sound)
    cut = [data[at : at + n_bytes].ljust(n_bytes, data[-1:]) for at in range(0, len(data), n_bytes)]
    return list(zip(wave.reshape(-1, size), cut, strict=False))


def fragments(words: str, start_ms: int, length_ms: float) -> list[Fragment]:
    """The words, spread over so much time: those that begin in the same 200 ms together, with these ms."""
    parts = re.findall(r"\S+\s*", words)
    found: dict[int, str] = {}
    for number, word in enumerate(parts):
        at_ms = start_ms + int(number * length_ms / len(parts) / FRAGMENT_MS) * FRAGMENT_MS
        found[at_ms] = found.get(at_ms, "") + word
    return [(text, at_ms, at_ms + FRAGMENT_MS) for at_ms, text in found.items()]


@dataclass(frozen=True)
class Said:
    """Something that it began to say. start_ms: in the session. speech: the whole of it, at RATE_HZ."""

    start_ms: int
    reply: Reply
    speech: Wave


class Mouth:
    """Speaks or is silent, frame by frame. said: all that it has begun to say."""

    def __init__(self, sound: Mapping[str, Any], frame_ms: int) -> None:
        self.said: list[Said] = []
        self._sound, self._frame_ms = sound, frame_ms
        self._frames: list[Frame] = []
        self._fragments: list[Fragment] = []
        tick = np.random.default_rng(0).normal(0, 5, int(TICK_S * RATE_HZ))
        self._tick = frames(np.rint(tick).astype(np.int16), sound, frame_ms)
        self._silence = frames(np.zeros(1, np.int16), sound, frame_ms)[0]

    @property
    def speaks(self) -> bool:
        return bool(self._frames)

    @property
    def left_ms(self) -> int:
        """Of what it is saying."""
        return len(self._frames) * self._frame_ms

    def say(self, at_ms: int, reply: Reply, speech: Wave) -> None:
        """Begin with the frame at this ms; what it was saying is dropped."""
        self.said.append(Said(at_ms, reply, speech))
        self._frames = frames(speech, self._sound, self._frame_ms)
        self._fragments = fragments(reply.words, at_ms, len(speech) * 1000 / RATE_HZ)

    def fall_silent(self) -> None:
        self._frames, self._fragments = [], []

    def next_frame(self) -> Frame:
        """The next one; silence is zeros, but for the first moments of a session."""
        tick = self._tick.pop(0) if self._tick else self._silence
        return self._frames.pop(0) if self._frames else tick

    def told(self, until_ms: int) -> Iterator[Fragment]:
        """The fragments whose time is over."""
        while self._fragments and (self._fragments[0][2] <= until_ms or not self._frames):
            yield self._fragments.pop(0)


class Writer:
    """Writes down what the user says: a word in each 200 ms of speech, and the rest once the turn is over."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._at_ms = 0

    def begin(self, text: str, at_ms: int) -> None:
        self._words, self._at_ms = re.findall(r"\S+\s*", text), at_ms // FRAGMENT_MS * FRAGMENT_MS

    def told(self, until_ms: int, over: bool) -> Iterator[Fragment]:
        """The fragments whose time is over."""
        while self._words and self._at_ms + FRAGMENT_MS <= until_ms:
            count = len(self._words) if over else 1
            word, self._words = "".join(self._words[:count]), self._words[count:]
            yield word, self._at_ms, self._at_ms + FRAGMENT_MS
            self._at_ms += FRAGMENT_MS
