"""A server that speaks OpenAI's audio/speech, as far as its clients can see: a tone of 10 ms for each character, or
what the test wants to be said.

It checks what the vendor checks: the key, parameters that it does not know, their ranges, the voice.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from fakes.threaded import Handler, ThreadedServer

KNOWN = {"input", "model", "voice", "instructions", "response_format", "speed", "stream_format"}
VOICES = "alloy ash ballad coral echo sage shimmer verse marin cedar fable onyx nova".split()
KEY = "sk-fake-0123456789abcdef"
RATE_HZ = 24_000


def spoken(text: str) -> bytes:
    """The PCM of a text."""
    samples = np.arange(len(text) * RATE_HZ // 100)
    tone = np.rint(8000 * np.sin(2 * np.pi * 200 * samples / RATE_HZ))
    return bytes(tone.astype("<i2").tobytes())


class FakeSpeech(ThreadedServer):
    """A context manager. say: the PCM of a text. asked: the body of each request that it took. answer: the bytes and
    type to send instead."""

    def __init__(self, say: Callable[[str], bytes] = spoken) -> None:
        super().__init__(_Handler)
        self.say = say
        self.asked: list[dict[str, Any]] = []
        self.answer: tuple[bytes, str] | None = None


class _Handler(Handler):
    server: FakeSpeech

    def do_POST(self) -> None:
        body = json.loads(self.body())
        if (wrong := self._wrong(body)) is not None:
            status, message = wrong
            error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
            return self.send({"error": error}, status)
        self.server.asked.append(body)
        data, kind = self.server.answer or (self.server.say(body["input"]), "audio/pcm")
        self.send(data, kind=kind)

    def _wrong(self, body: dict[str, Any]) -> tuple[int, str] | None:
        if self.path != "/v1/audio/speech":
            return 404, f"Invalid URL (POST {self.path})"
        if self.headers["Authorization"] != f"Bearer {KEY}":
            return 401, f"Incorrect API key provided: {self.headers['Authorization'].removeprefix('Bearer ')}"
        if unknown := set(body) - KNOWN:
            return 400, f"Unrecognized request argument supplied: {min(unknown)}"
        if not 0 < len(body["input"]) <= 4096:
            return 400, "[{'type': 'string_too_long', 'loc': ('body', 'input')}]"
        if body["voice"] not in VOICES:
            return 400, f"Input should be {', '.join(VOICES)}"
        if not 0.25 <= body.get("speed", 1) <= 4 or body.get("response_format") != "pcm":
            return 400, "Input should be within its range"
        return None
