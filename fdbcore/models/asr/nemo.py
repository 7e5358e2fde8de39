"""Speech recognition by a model of NeMo, such as Parakeet-TDT, on this machine: the extra `asr`.

NeMo runs in a process of its own, since it takes 7 s and 700 MB to import, and threads share it. Pieces of audio that
wait for it are heard in one batch.
"""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fdbcore.audio.files import content_hash
from fdbcore.errors import FdbError, MissingExtraError, PartyError, SettingsError
from fdbcore.models.asr import _nemo
from fdbcore.models.asr.audio import audio_of
from fdbcore.protocols import Transcriber
from fdbcore.runtime import live_calls
from fdbcore.runtime.address import Setting, parsed
from fdbcore.types.words import TimedWord, as_text

DEFAULT: Final = "nvidia/parakeet-tdt-0.6b-v2"
NICENESS: Final = 19
_MOST_AT_ONCE: Final = {"cpu": 1, "cuda": 16}
"""NeMo 3.0.0 makes words of a batch end too early on a processor: github.com/NVIDIA-NeMo/Speech/issues/16097."""

LOOK_S: Final = 1.0
"""Interval at which it looks whether live calls are over."""

SETTINGS: Final = (
    Setting("device", "where it runs", default="cpu", choices=("cpu", "cuda")),
    Setting("batch", "the most pieces of up to 30 s that it hears in one go", int, unset="1, or 16 with cuda", least=1,
            most=256),
    Setting("threads", "of the processor", int, unset="one for each core", least=1, most=256),
    Setting("python", "the Python of an environment that has NeMo", unset="the one that runs fdbcore",
            form="a path", fits=bool),
    Setting("beside_calls", "whether it runs while live calls are held on this machine", bool, default=False),
)  # fmt: skip


def nemo(address: str) -> "Nemo":
    """The transcriber "nemo", "nemo:NAME" of a model on a hub, or "nemo:PATH.nemo".

    SettingsError if that is no file; MissingExtraError says how NeMo is installed.
    """
    found = parsed(address, SETTINGS)
    place = found.place or DEFAULT
    if place.endswith(".nemo") and not Path(place).is_file():
        raise SettingsError(f"asr: nemo: expected a model in {place}, found no such file")
    if found.settings["python"] is None and importlib.util.find_spec("nemo") is None:
        raise _missing(f"nemo:{place}")
    return Nemo(place, **found.settings)


class Nemo(Transcriber):
    """See `nemo`. Another Python is asked for NeMo as soon as it is needed."""

    def __init__(
        self,
        place: str,
        device: str = "cpu",
        batch: int | None = None,
        threads: int | None = None,
        python: str | None = None,
        beside_calls: bool = False,
    ) -> None:
        self.name = f"nemo:{place}"
        self.beside_calls = beside_calls
        self._batch = batch or _MOST_AT_ONCE[device]
        self._settings = {"device": device, "batch": self._batch}
        self.at_once = 2 * self._batch  # one batch waits while another one is heard
        self._place = place
        niceness = 0 if beside_calls else NICENESS
        cores = len(os.sched_getaffinity(0))
        self.processors, self.gpus = (threads or 1, 1) if device == "cuda" else (threads or cores, 0)
        settings = (place, device, threads or cores, niceness)
        self._program = (python or sys.executable, "-P", _nemo.__file__, *map(str, settings))
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._waiting: deque[_Piece] = deque()
        self._worker: _Worker | None = None

    def transcribe(self, wav: bytes, language: str) -> str:
        """See `Transcriber.transcribe`. The model decides the language."""
        return as_text(self.words(wav, language))

    def words(self, wav: bytes, language: str) -> Sequence[TimedWord]:
        """See `Transcriber.words`. Models of the TDT kind give times on a grid of 80 ms."""
        piece = _Piece(audio_of(wav, self.name))
        self._waiting.append(piece)
        self._closed.clear()
        with self._lock:
            while piece.words is None and piece.error is None:
                self._hear()
        if piece.error is not None:
            raise piece.error
        return piece.words or []

    def describe(self) -> Mapping[str, Any]:
        """The model, by its content if it is a file, and what runs it."""
        with self._lock:
            versions = self._running().versions
        return {"kind": "nemo", "model": self._model, **self._settings, "versions": versions}

    @cached_property
    def _model(self) -> Mapping[str, str]:
        is_file = self._place.endswith(".nemo")
        return {"sha256": content_hash(Path(self._place))} if is_file else {"name": self._place}

    @property
    def pid(self) -> int:
        """The process that NeMo runs in, which is started if it does not run."""
        with self._lock:
            return self._running().pid

    def close(self) -> None:
        """See `Transcriber.close`."""
        self._closed.set()
        if self._worker is not None:
            self._worker.end()

    def _hear(self) -> None:
        """Have the pieces that have waited longest heard, in one batch."""
        batch = [self._waiting.popleft() for _ in range(min(self._batch, len(self._waiting)))]
        try:
            self._wait_for_live_calls()
            for piece, words in zip(batch, self._running().words([piece.audio for piece in batch]), strict=True):
                piece.words = words
        except FdbError as error:
            for piece in batch:
                piece.error = error

    def _wait_for_live_calls(self) -> None:
        while not self.beside_calls and live_calls.are_held() and not self._closed.wait(LOOK_S):
            pass
        if self._closed.is_set():
            raise PartyError(f"{self.name}: closed while audio waited for it")

    def _running(self) -> "_Worker":
        if self._worker is None or self._worker.has_ended:
            self._worker = _Worker(self.name, self._program, offline=self._place.endswith(".nemo"))
            weakref.finalize(self, self._worker.end)
        return self._worker


@dataclass(slots=True)
class _Piece:
    """Audio that waits for its words: float32 (n,) at 16 kHz."""

    audio: npt.NDArray[np.float32]
    words: Sequence[TimedWord] | None = None
    error: FdbError | None = None


class _Worker:
    """A process that runs `_nemo`. versions: of NeMo and of torch. Errors as `Nemo` has them."""

    def __init__(self, name: str, program: Sequence[str], *, offline: bool) -> None:
        self._name, self._owner = name, os.getpid()
        self._complaints = TemporaryFile()
        environment = os.environ | ({"HF_HUB_OFFLINE": "1"} if offline else {})
        try:
            self._process = subprocess.Popen(
                program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                env=environment,
                start_new_session=True,  # a Ctrl-C that lets live calls finish must not end it
            )
        except OSError as error:
            self._complaints.close()
            raise SettingsError(f"{name}: python: expected a Python, got {program[0]}: {error.strerror}") from None
        answer = self._answer()
        if answer.get("error") == _nemo.MISSING:
            self.end()
            raise _missing(name)
        self.versions: Mapping[str, str] = answer["versions"]

    @property
    def pid(self) -> int:
        """Its id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """True if it has to be started anew."""
        return self._process.poll() is not None

    def words(self, pieces: Sequence[npt.NDArray[np.float32]]) -> list[list[TimedWord]]:
        """The words of each piece, heard in one batch."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps({"samples": [len(each) for each in pieces]}).encode() + b"\n")
            for each in pieces:
                stdin.write(each.astype("<f4").tobytes())
            stdin.flush()
        except (OSError, ValueError):
            raise self._ended() from None
        answer = self._answer()
        if "error" in answer:
            kind = SettingsError if answer["is_setting"] else PartyError
            raise kind(f"{self._name}: {answer['error']}")
        return [[_timed(*word) for word in words] for words in answer["words"]]

    def end(self) -> None:
        """Kill it."""
        if self._owner != os.getpid():  # a fork of the process that has started it
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._complaints):
            if stream is not None:
                with suppress(OSError):  # a request in the pipe may reach nobody any more
                    stream.close()

    def _answer(self) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        try:
            answer: dict[str, Any] = json.loads(stdout.readline())
        except ValueError:  # it has ended, and its pipe with it
            raise self._ended() from None
        return answer

    def _ended(self) -> PartyError:
        try:
            self._complaints.seek(0)
            lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        except ValueError:  # closed: it was ended on purpose
            lines = []
        self.end()  # its pipe can break a moment before the system tells that it is gone
        return PartyError(
            f"{self._name}: expected words, got the end of its process: {lines[-1] if lines else 'killed'}"
        )


def _missing(name: str) -> MissingExtraError:
    return MissingExtraError(f"{name}: expected NeMo, found none: pip install 'fdbcore[asr]'")


def _timed(text: str, start_s: float, end_s: float) -> TimedWord:
    start_ms = round(start_s * 1000)
    return TimedWord(text.strip(), start_ms, max(start_ms, round(end_s * 1000)))
