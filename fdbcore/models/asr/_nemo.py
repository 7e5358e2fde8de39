"""Hears with a model of NeMo: a program that `fdbcore.models.asr.nemo` runs in a process of its own.

    _nemo.py MODEL cpu|cuda THREADS NICENESS

It needs NeMo and nothing of fdbcore, so that NeMo may be in an environment of its own. It first prints {"versions"}. A
request is a line {"samples": [n, ...]}, followed by so many samples of several pieces, float32 at 16 kHz. An answer is
a line {"words": [[[text, start_s, end_s], ...], ...]}, or {"error", "is_setting"}. The model is loaded for the first
request. The program ends when its standard input does, at once, whatever it is at work on.
"""

import json
import os
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from queue import SimpleQueue
from typing import IO, Any, Final

PACKAGES: Final = ("nemo_toolkit", "torch")
RATE_HZ: Final = 16_000
LEAST_SAMPLES: Final = RATE_HZ // 2
"""Shorter audio is padded: its features are normalised over time, which takes some."""

MISSING: Final = "missing"
"""The error that says that NeMo is not installed."""


class Unfit(Exception):
    """The settings do not fit this machine or this model."""


class _Model:
    """A model of NeMo, loaded when it is first asked."""

    def __init__(self, name: str, device: str, threads: int) -> None:
        self._name, self._device, self._threads = name, device, threads
        self._loaded: Any = None

    def words(self, audio: Sequence[Any]) -> list[list[tuple[str, float, float]]]:
        """The words of each piece, float32 (n,), with start and end in s. Pieces are heard in one batch."""
        import numpy as np

        if self._loaded is None:
            self._loaded = self._load()
        padded = [np.pad(each, (0, max(0, LEAST_SAMPLES - len(each)))) for each in audio]
        found = self._loaded.transcribe(padded, batch_size=len(padded), timestamps=True, verbose=False)
        return [self._words_of(each) for each in found]

    def _load(self) -> Any:  # noqa: ANN401
        import torch

        if self._device == "cuda" and not torch.cuda.is_available():
            raise Unfit("device=cuda: expected a GPU that torch can use, found none")
        torch.set_num_threads(self._threads)
        from nemo.collections.asr.models import ASRModel

        where = torch.device(self._device)
        if self._name.endswith(".nemo"):
            model = ASRModel.restore_from(self._name, map_location=where)
        else:
            try:
                model = ASRModel.from_pretrained(self._name, map_location=where)
            except Exception as error:
                raise FileNotFoundError(f"expected a model from its hub, or from the cache, got: {error}") from error
        model.eval()
        return model

    def _words_of(self, hypothesis: Any) -> list[tuple[str, float, float]]:  # noqa: ANN401
        times = getattr(hypothesis, "timestamp", None)
        if not isinstance(times, dict) or "word" not in times:
            raise Unfit(f"expected a model that gives word times, got {type(self._loaded).__name__}")
        return [(str(each["word"]), float(each["start"]), float(each["end"])) for each in times["word"]]


def requests(stream: IO[bytes], into: SimpleQueue[list[Any]]) -> None:
    """Read requests until the stream ends, and with it the process."""
    while line := stream.readline():
        sizes = json.loads(line)["samples"]
        into.put([stream.read(4 * size) for size in sizes])
    os._exit(0)


def main(name: str, device: str, threads: str, niceness: str) -> None:
    """Answer requests."""
    os.nice(int(niceness))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # NeMo prints where it likes

    def answer(**fields: object) -> None:
        print(json.dumps(fields), file=answers, flush=True)

    try:
        answer(versions={package: version(package) for package in PACKAGES})
    except PackageNotFoundError:
        answer(error=MISSING)
        return
    asked: SimpleQueue[list[bytes]] = SimpleQueue()
    threading.Thread(target=requests, args=(sys.stdin.buffer, asked), daemon=True).start()
    model = _Model(name, device, int(threads))
    while True:
        pieces = asked.get()
        import numpy as np

        try:
            answer(words=model.words([np.frombuffer(each, "<f4") for each in pieces]))
        except Exception as error:  # whatever NeMo or torch raise: who asks has to tell it
            lines = str(error).strip().splitlines() or [type(error).__name__]
            answer(error=lines[0], is_setting=isinstance(error, Unfit))


if __name__ == "__main__":
    main(*sys.argv[1:])
