"""A small language model that runs on this machine, behind a server with OpenAI's interface. It can talk, not judge.

The model is one of `fdbcore.models.packaged`. Its server is a process of its own on 127.0.0.1, which is started when it
is first needed, shared by all in this process, and ends with it.
"""

import atexit
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

from fdbcore.errors import MissingExtraError, PartyError, RefusalError, SettingsError
from fdbcore.models import _llama_server
from fdbcore.models.openai import OpenAIModel
from fdbcore.models.packaged import packaged, ready
from fdbcore.protocols import Model
from fdbcore.runtime.address import parsed
from fdbcore.types import Reply, Request

NAME: Final = "smollm2"
THREADS: Final = 1
"""Of the processor: on a busy machine two are slower than one."""

END_S: Final = 2.0
"""Time that the server may take to end."""


def local(address: str) -> "LocalModel":
    """The model "local:smollm2". If it is not there, MissingExtraError says what to run."""
    return LocalModel(address)


class LocalModel(Model):
    """See `local`. It takes a JSON schema, and no audio. Its answers end after 400 tokens."""

    name = f"local:{NAME}"

    def __init__(self, address: str) -> None:
        if parsed(address, ()).place != NAME:
            raise SettingsError(f"model: expected local:{NAME}, got {address!r}")
        for module in ("xllamacpp", "openai"):
            if importlib.util.find_spec(module) is None:
                raise MissingExtraError(f"{self.name}: expected {module}, found none: pip install 'fdbcore[local]'")
        (self._file,) = ready(NAME).folder.glob("*.gguf")
        self._model: OpenAIModel | None = None

    @property
    def base_url(self) -> str:
        """The address of OpenAI's interface of its server, which is started if it does not run; it takes any key.

        PartyError if it cannot be started.
        """
        return f"{_SERVER.address(self._file)}/v1"

    def ask(self, request: Request) -> Reply:
        """See `Model.ask`. RefusalError for audio."""
        if request.wav is not None:
            raise RefusalError(f"{self.name}: expected words, got audio")
        url = self.base_url
        if self._model is None or self._model.base_url != url:
            self._model = OpenAIModel(NAME, base_url=url)
            self._model.name = self.name
        return self._model.ask(request)

    def describe(self) -> Mapping[str, Any]:
        """The exact model, and what runs it, as JSON values."""
        versions = {name: version(name) for name in ("xllamacpp", "openai")}
        settings = {"threads": THREADS, "context_tokens": _llama_server.CONTEXT_TOKENS}
        return {"name": self.name, **settings, "model": packaged(NAME).describe(), "versions": versions}

    def probe(self) -> None:
        """Start the server."""
        _ = self.base_url


class _Server:
    """The server of a process, which threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._address = ""

    def address(self, file: Path) -> str:
        """The address of the running server, which is started if there is none."""
        with self._lock:
            if self._owner != os.getpid() or self._process is None or self._process.poll() is not None:
                self._start(file)
            return self._address

    def _start(self, file: Path) -> None:
        program = (sys.executable, "-P", "-m", _llama_server.__name__, str(file), NAME, str(THREADS))
        with TemporaryFile() as complaints:
            process = subprocess.Popen(
                program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                start_new_session=True,  # a Ctrl-C that lets live calls finish must not end it
            )
            assert process.stdout is not None
            self._address = process.stdout.readline().decode().strip()
            process.stdout.close()
            if not self._address:
                process.wait()
                raise PartyError(f"local:{NAME}: expected a server, got: {_last_line(complaints)}")
        self._process, self._owner = process, os.getpid()
        atexit.register(self._end, process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if self._owner != os.getpid():  # a fork of the process that has started it
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


_SERVER: Final = _Server()


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "an end without a reason"
