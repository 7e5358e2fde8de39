"""A plain HTTP server on 127.0.0.1, with a thread for each request, while it is entered."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Handler(BaseHTTPRequestHandler):
    """Takes and sends whole bodies, and prints nothing."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def send(
        self,
        content: bytes | Mapping[str, Any],
        status: int = 200,
        kind: str = "application/json",
        more: Mapping[str, str] | None = None,
    ) -> None:
        """Answer with bytes or JSON. more: headers."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class ThreadedServer(ThreadingHTTPServer):
    """A context manager; the subclasses say by their handler what is answered."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    @property
    def settings(self) -> str:
        """What the address of a model of OpenAI's, which is served here, has to end with."""
        return f"base_url=http://127.0.0.1:{self.server_port}/v1&key_variable=OPENAI_API_KEY"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
