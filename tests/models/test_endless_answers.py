"""Servers of models that never end their answer, or nest it without end: one line, and memory that stays."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import product

import pytest
from fakes.model_server import NEEDS_OPENAI
from fakes.threaded import ThreadedServer

from fdbcore import registry
from fdbcore.errors import PartyError
from fdbcore.types import Request
from fdbcore.types.chat import ChatMessage

pytestmark = [NEEDS_OPENAI]


class Endless(BaseHTTPRequestHandler):
    """Answers brackets, and blanks without end; below /deep, 200,000 brackets alone."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        try:
            self.wfile.write(b"data: " * ("/sse" in self.path) + b"[" * 200_000 + b"\n\n")
            while "/deep" not in self.path:
                self.wfile.write(b" " * 65_536)
        except OSError:
            pass

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadedServer(Endless) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.mark.parametrize(
    ("kind", "path"), [*product(("openai", "gemini", "asr"), ("/v1", "/deep")), ("chat", "/v1"), ("chat", "/deep/sse")]
)
def test_an_answer_without_end_is_one_line(kind: str, path: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-lab-0123456789")
    name = kind if kind == "gemini" else "openai"
    address = f"{name}:x?base_url={url}{path}&key_variable=LAB_KEY"
    ask = {
        "chat": lambda: list(registry.chat(address).answer([ChatMessage("user", "hi")])),
        "asr": lambda: registry.transcriber(address).transcribe(b"RIFF", ""),
    }.get(kind, lambda: registry.model(address).ask(Request("hi")))
    tracemalloc.start()
    with pytest.raises(PartyError, match=r"^[^\n]*answers with something other than an answer[^\n]*$") as error:
        ask()
    assert tracemalloc.get_traced_memory()[1] < 60e6
    tracemalloc.stop()
    assert ("at most 4,000,000 bytes" in str(error.value)) == (path == "/v1")
