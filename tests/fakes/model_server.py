"""What the fakes of language models share: a real HTTP server on 127.0.0.1, scripted, that remembers what it was asked.

    monkeypatch.setenv("OPENAI_API_KEY", FakeOpenAI.KEY)   # GEMINI_API_KEY and FakeGemini.KEY
    with FakeOpenAI(lambda asked: f"{asked.number}") as server:   # FakeGemini; a function, or a list used as a queue
        registry.model(server.address_of("openai:gpt-5-nano")).ask(Request("..."))
        server.asked[0].user, .system, .schema, .seed, .wav, .model, .key, .headers, .body

A text stands for `Says(text)`; other answers are `Refuses`, `Fails`, `Broken` and `Drops`. A queue that is empty fails
with 500. A function may be called by several threads at once.
"""

import json
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any, ClassVar, Self, TypeAlias

import pytest


def needs(module: str, package: str) -> pytest.MarkDecorator:
    """Skips tests where an SDK is not installed; importing it to find out would take all other tests a second."""
    try:
        found = find_spec(module) is not None
    except ModuleNotFoundError:
        found = False
    return pytest.mark.skipif(not found, reason=f"needs {package} (pip install 'fdbcore[judge]')")


NEEDS_OPENAI = needs("openai", "openai")
NEEDS_GEMINI = needs("google.genai", "google-genai")


@dataclass(frozen=True)
class Says:
    """An answer. cut: it reached its limit of tokens. thinking: tokens that are counted, and not shown."""

    text: str
    tokens_in: int = 100
    tokens_out: int = 20
    thinking: int = 0
    cut: bool = False


@dataclass(frozen=True)
class Refuses:
    """No answer. OpenAI: "refusal" or "content_filter"; Gemini: a finish reason, "blocked" (the prompt), or "empty"."""

    how: str
    tokens_in: int = 100
    tokens_out: int = 0


@dataclass(frozen=True)
class Fails:
    """An error of HTTP, with the vendor's JSON. retry_after_s: what the server asks to wait."""

    status: int
    message: str = "The server is overloaded."
    code: str | None = None
    param: str | None = None
    retry_after_s: float | None = None


@dataclass(frozen=True)
class Broken:
    """This very body, which is not what it should be."""

    body: str = '{"cand'
    status: int = 200


@dataclass(frozen=True)
class Drops:
    """Closes the connection without an answer, after `after_s`."""

    after_s: float = 0.0


@dataclass(frozen=True)
class Moves:
    """Sends the client to the same path of another server."""

    address: str


Answer: TypeAlias = str | Says | Refuses | Fails | Broken | Drops | Moves


@dataclass(frozen=True)
class Asked:
    """One request as the server got it; `body` is its whole JSON. number: how many came before it."""

    number: int
    path: str
    key: str
    model: str
    system: str
    user: str
    wav: bytes | None = field(repr=False)
    schema: Mapping[str, Any] | None = field(repr=False)
    seed: int | None
    temperature: float | None
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)


class Mistake(Exception):
    """What the vendor would answer to a request that it does not take."""

    def __init__(self, fails: Fails) -> None:
        super().__init__(fails.message)
        self.fails = fails


class FakeModelServer:
    """A context manager, within which the server runs; the subclasses speak one vendor's protocol.

    models: the only ones that it knows (None: any). Only KEY is a right key; VARIABLE is where its vendor's users have
    theirs. refuses: what it answers to whoever asks for its models, if it does not tell them. port: 0 for
    any that is free.
    """

    refuses: Fails | None = None
    KEY: ClassVar[str]
    VARIABLE: ClassVar[str]

    def __init__(
        self, answers: Callable[[Asked], Answer] | Iterable[Answer], models: Iterable[str] | None = None, port: int = 0
    ) -> None:
        self._port = port
        self.asked: list[Asked] = []
        self.headers: list[Mapping[str, str]] = []  # of all requests, also of those that are not taken
        self.models = None if models is None else set(models)
        self._answer = answers if callable(answers) else _Queue(answers)
        self._lock = threading.Lock()
        self._closing = threading.Event()

    @property
    @abstractmethod
    def base_url(self) -> str:
        """What the model's `base_url` has to be."""

    def address_of(self, model: str) -> str:
        """The address of "VENDOR:NAME" at this server, which is sent the key in VARIABLE."""
        return f"{model}?base_url={self.base_url}&key_variable={self.VARIABLE}"

    @abstractmethod
    def read(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], number: int) -> Asked:
        """The request; Mistake where the vendor would not take it."""

    @abstractmethod
    def listed(self, path: str, headers: Mapping[str, str]) -> Mapping[str, Any]:
        """What the vendor says of its models; Mistake where it would not take the request."""

    @abstractmethod
    def reply(self, asked: Asked, answer: Says | Refuses) -> Mapping[str, Any]:
        """The vendor's JSON for an answer."""

    @abstractmethod
    def failure(self, fails: Fails) -> Mapping[str, Any]:
        """The vendor's JSON for an error."""

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def address(self) -> str:
        """ "http://127.0.0.1:PORT"."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def take(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[Asked | None, Answer]:
        """Remember a request, and decide on its answer."""
        with self._lock:
            self.headers.append(headers)
            try:
                asked = self.read(path, headers, body, len(self.asked))
            except Mistake as mistake:
                return None, mistake.fails
            self.asked.append(asked)
        return asked, self._answer(asked)

    def wait(self, seconds: float) -> None:
        """Wait, but not beyond the end of the server."""
        self._closing.wait(seconds)


class _Queue:
    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = deque(answers)

    def __call__(self, asked: Asked) -> Answer:
        return self._answers.popleft() if self._answers else Fails(500, "the script of the fake is at its end")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written apart: the body would wait 40 ms for the client
    fake: FakeModelServer

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            if self.fake.refuses is not None:
                raise Mistake(self.fake.refuses)
            self._send(200, json.dumps(self.fake.listed(self.path, headers)))
        except Mistake as mistake:
            self._send(mistake.fails.status, json.dumps(self.fake.failure(mistake.fails)))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked, answer = self.fake.take(self.path, headers, body)
        if isinstance(answer, str):
            answer = Says(answer)
        if isinstance(answer, Drops):
            self.fake.wait(answer.after_s)
            self.close_connection = True
        elif isinstance(answer, Broken):
            self._send(answer.status, answer.body)
        elif isinstance(answer, Moves):
            self._send(307, "", headers={"Location": f"{answer.address}{self.path}"})
        elif isinstance(answer, Fails):
            self._send(answer.status, json.dumps(self.fake.failure(answer)), answer.retry_after_s)
        else:
            assert asked is not None
            self._send(200, json.dumps(self.fake.reply(asked, answer)))

    def _send(
        self, status: int, body: str, retry_after_s: float | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if retry_after_s is not None:
            self.send_header("Retry-After", f"{retry_after_s:g}")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
