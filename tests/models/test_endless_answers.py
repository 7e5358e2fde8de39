"""Servers of models that never end their answer, or nest it without end: one line, and memory that stays."""

import tracemalloc
from http.server import BaseHTTPRequestHandler

import pytest
from fakes.model_server import NEEDS_OPENAI
from fakes.threaded import ThreadedServer

from fdbcore import registry
from fdbcore.errors import PartyError
from fdbcore.types import Request
from fdbcore.types.chat import ChatMessage


class Endless(BaseHTTPRequestHandler):
    """Answers brackets, and blanks without end; below /deep, 200,000 brackets alone."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b"data: " * ("/sse" in self.path) + b"[" * 200_000 + b"\n\n")
        while "/deep" not in self.path:
            self.wfile.write(b" " * 65_536)


def asked(kind: str, place: str) -> object:
    if kind == "chat":
        return list(registry.chat(f"openai:x{place}").answer([ChatMessage("user", "hi")]))
    if kind == "asr":
        return registry.transcriber(f"openai:x{place}").transcribe(b"RIFF", "")
    return registry.model(f"{kind}:x{place}").ask(Request("hi"))


@NEEDS_OPENAI
@pytest.mark.parametrize("path", ["/v1", "/deep"])
@pytest.mark.parametrize("kind", ["openai", "gemini", "chat", "asr"])
def test_an_answer_without_end_is_one_line(kind: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-lab-0123456789")
    tracemalloc.start()
    with ThreadedServer(Endless) as server:
        place = f"?base_url=http://127.0.0.1:{server.server_port}{path}&key_variable=LAB_KEY"
        with pytest.raises(PartyError, match=r"^[^\n]*other than an answer[^\n]*$") as told:
            asked(kind, place.replace("deep", "deep/sse" if kind == "chat" else "deep"))
    assert tracemalloc.get_traced_memory()[1] < 60e6
    tracemalloc.stop()
    assert ("at most 4,000,000 bytes" in str(told.value)) == (path == "/v1")
