"""Speech recognition over a real socket, against a server that speaks as much of audio/transcriptions as is needed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from fdbcore.audio.wav import wav_bytes
from fdbcore.errors import PartyError, SettingsError
from fdbcore.registry import transcriber

pytest.importorskip("openai", reason="needs the SDK of OpenAI (pip install 'fdbcore[judge]')")

KEY = "sk-fake-0123456789abcdef"
WAV = wav_bytes(np.arange(480, dtype=np.int16), 48_000)


class Server(ThreadingHTTPServer):
    """Answers with `status` and `answer`, and keeps what it got."""

    daemon_threads = True
    status, answer = 200, json.dumps({"text": " 晴れです。 "})

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[str, str, bytes]] = []

    def address_of(self, name: str) -> str:
        return f"openai:{name}?base_url=http://127.0.0.1:{self.server_port}/v1&key_variable=OPENAI_API_KEY"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers["Authorization"], body))
        data = self.server.answer.encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_the_recording_is_sent_and_its_words_come_back(server: Server) -> None:
    hears = transcriber(server.address_of("gpt-4o-transcribe"))
    assert (hears.name, hears.transcribe(WAV, "ja")) == ("openai:gpt-4o-transcribe", "晴れです。")
    ((path, key, body),) = server.got
    assert (path, key) == ("/v1/audio/transcriptions", f"Bearer {KEY}")
    assert WAV in body
    assert b'name="language"\r\n\r\nja\r\n' in body
    assert b'name="model"\r\n\r\ngpt-4o-transcribe\r\n' in body


@pytest.mark.parametrize(
    ("status", "answer", "expected"),
    [
        (401, json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}), "does not take the key"),
        (400, json.dumps({"error": {"message": "Audio file is too short."}}), "Audio file is too short."),
        (200, json.dumps({"words": []}), "something other than a transcript"),
    ],
)
def test_what_goes_wrong_is_one_line_without_the_key(server: Server, status: int, answer: str, expected: str) -> None:
    server.status, server.answer = status, answer
    with pytest.raises(PartyError, match=expected) as error:
        transcriber(server.address_of("whisper-1")).transcribe(WAV, "ja")
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_recogniser() -> None:
    with pytest.raises(SettingsError, match="asr: expected one of openai, whisper, got 'moonshine'"):
        transcriber("moonshine:tiny")
