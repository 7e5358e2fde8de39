"""A server that speaks OpenAI's audio/transcriptions, as far as its clients can see. Its language is made of tones: the
word n is a tone of 400 + 100 n Hz, so it really hears which words are in the audio, and when.

It checks what the vendor checks: the key, parameters that it does not know, the form of the answer that each model has.
Messages are those that users of the vendor have reported.
"""

import io
import wave
from collections.abc import Sequence
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from fakes.threaded import Handler, ThreadedServer

KEY = "sk-fake-0123456789abcdef"
KNOWN = {"file", "model", "language", "prompt", "response_format", "temperature", "timestamp_granularities[]"}
WITHOUT_TIMES = ("gpt-4o-transcribe", "gpt-4o-mini-transcribe")
VOCABULARY = "zero one two three four five six seven eight nine".split()

_FRAME_S = 0.005


class Word(NamedTuple):
    """A word of the fake's language, where it is in some audio."""

    text: str
    start_s: float
    end_s: float


def spoken(words: Sequence[Word], length_s: float, rate_hz: int = 16_000) -> npt.NDArray[np.int16]:
    """The audio of these words, mono int16 (n,): tones with some noise, as a pure tone is no speech to fdbcore."""
    audio = np.zeros(round(length_s * rate_hz), np.int16)
    noise = np.random.default_rng(1).normal(0, 4000, len(audio))
    for word in words:
        start, end = round(word.start_s * rate_hz), round(word.end_s * rate_hz)
        hz = 400 + 100 * VOCABULARY.index(word.text)
        tone = 6000 * np.sin(2 * np.pi * hz * np.arange(end - start) / rate_hz)
        audio[start:end] = np.rint(tone + noise[start:end])
    return audio


def heard(wav: bytes) -> list[Word]:
    """The words in a WAV file."""
    with wave.open(io.BytesIO(wav)) as reader:
        rate_hz, channels = reader.getframerate(), reader.getnchannels()
        audio = np.frombuffer(reader.readframes(reader.getnframes()), "<i2")[::channels].astype(float)
    size = round(_FRAME_S * rate_hz)
    frames = np.abs(audio[: len(audio) // size * size]).reshape(-1, size).max(axis=1) > 1000
    edges = np.flatnonzero(np.diff(np.concatenate(([False], frames, [False])).astype(np.int8)))
    found = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        tone = audio[start * size : end * size]
        hz = int(np.abs(np.fft.rfft(tone, rate_hz)).argmax())
        found.append(Word(VOCABULARY[round((hz - 400) / 100)], float(start) * _FRAME_S, float(end) * _FRAME_S))
    return found


class FakeTranscriptions(ThreadedServer):
    """A context manager. asked: the fields of each request that it took, the file as bytes. answer: to send instead of
    what it hears. invents: words that it adds to each answer, as a transcriber does that makes them up. fails_from: the
    number of the request from which on it fails with 500.
    """

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.asked: list[dict[str, Any]] = []
        self.answer: dict[str, Any] | None = None
        self.invents: Sequence[Word] = ()
        self.fails_from: int | None = None

    def address_of(self, model: str) -> str:
        return f"openai:{model}?{self.settings}"


class _Refused(Exception):
    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        kind = "server_error" if status >= 500 else "invalid_request_error"
        self.status, self.error = status, {"message": message, "type": kind, "param": param, "code": code}


class _Handler(Handler):
    server: FakeTranscriptions

    def do_POST(self) -> None:
        try:
            self.send(self._answered(self._fields(self.body())))
        except _Refused as refused:
            self.send({"error": refused.error}, refused.status)

    def _fields(self, body: bytes) -> dict[str, Any]:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        fields: dict[str, Any] = {}
        for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():
            data = part.get_payload(decode=True)
            assert isinstance(data, bytes)
            name = str(part.get_param("name", header="content-disposition"))
            fields[name] = data if name == "file" else data.decode()
        return fields

    def _answered(self, fields: dict[str, Any]) -> dict[str, Any]:
        if self.path != "/v1/audio/transcriptions":
            raise _Refused(404, f"Invalid URL (POST {self.path})")
        if self.headers["Authorization"] != f"Bearer {KEY}":
            sent = self.headers["Authorization"].removeprefix("Bearer ")
            raise _Refused(401, f"Incorrect API key provided: {sent}", code="invalid_api_key")
        for name in sorted(set(fields) - KNOWN):
            raise _Refused(400, f"Unrecognized request argument supplied: {name}", name)
        model, form = fields["model"], fields.get("response_format", "json")
        if form == "verbose_json" and model in WITHOUT_TIMES:
            told = f"response_format 'verbose_json' is not compatible with model '{model}-api-ev3'."
            raise _Refused(400, f"{told} Use 'json' or 'text' instead.", "response_format", "unsupported_value")
        if "timestamp_granularities[]" in fields and form != "verbose_json":
            raise _Refused(400, "timestamp_granularities requires verbose_json", "timestamp_granularities")
        if fields.get("language") == "":
            raise _Refused(400, "Invalid language ''. Language parameter must be specified in ISO-639-1 format.")
        self.server.asked.append(fields)
        if self.server.fails_from is not None and len(self.server.asked) >= self.server.fails_from:
            raise _Refused(500, "The server had an error while processing your request.")
        if self.server.answer is not None:
            return self.server.answer
        words = sorted([*heard(fields["file"]), *self.server.invents], key=lambda word: word.start_s)
        text = " ".join(word.text for word in words)
        if form != "verbose_json":
            return {"text": text}
        answer: dict[str, Any] = {"task": "transcribe", "language": "english", "duration": 1.0, "text": text}
        if fields.get("timestamp_granularities[]") == "word":
            answer["words"] = [
                {"word": word.text, "start": round(word.start_s, 2), "end": round(word.end_s, 2)} for word in words
            ]
        else:
            answer["segments"] = []
        return answer
