"""Stands in for NeMo where that is not installed: `python_with_nemo` makes a Python whose NeMo hears tones.

It has as much of NeMo's and torch's interface as fdbcore uses. Its language is that of `fakes.fake_transcriptions`, its
times lie on the grid of 80 ms that TDT models have.
"""

import io
import json
import os
import sys
import time
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from fakes.fake_transcriptions import heard

FOLDER = "NEMO_STAND_IN"
LOG, ORDERS = "log.jsonl", "orders.json"
STEP_S = 0.08
TESTS = Path(__file__).resolve().parents[1]


def python_with_nemo(folder: Path, **orders: Any) -> Path:
    """A Python that has this NeMo, in an empty folder. `orders` tell it how to behave: see `ASRModel`."""
    files = {
        "nemo/__init__.py": "",
        "nemo/collections/__init__.py": "",
        "nemo/collections/asr/__init__.py": "",
        "nemo/collections/asr/models.py": "from fakes.nemo_model import ASRModel\n",
        "torch/__init__.py": "from fakes.nemo_model import cuda, device, set_num_threads\n",
        "nemo_toolkit-3.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: nemo_toolkit\nVersion: 3.0.0\n",
        "torch-2.13.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n",
        ORDERS: json.dumps(orders),
        "python": f"#!/bin/sh\n{FOLDER}={folder} PYTHONPATH={folder}:{TESTS} exec {sys.executable} \"$@\"\n",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "python").chmod(0o755)
    return folder / "python"


def log_of(python: Path) -> list[dict[str, Any]]:
    """What a Python's models did: pid, niceness, source and GPUs in sight each time that one was loaded; the size of
    each batch.
    """
    log = python.parent / LOG
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


class Hypothesis:
    """What a model hears."""

    def __init__(self, words: list[dict[str, Any]]) -> None:
        self.timestamp = {"timestep": [], "char": [], "word": words, "segment": []}


class ASRModel:
    """Its orders: slow_s, how long it takes for a batch; fails, its error; untimed, it gives texts alone; gpu, it
    believes that there is one; lingers, it closes its pipes, and its process stays.
    """

    def __init__(self, source: str) -> None:
        self._folder = Path(os.environ[FOLDER])
        self._orders: dict[str, Any] = json.loads((self._folder / ORDERS).read_text())
        print("[NeMo I] a line in the way of the answers")
        self._note(pid=os.getpid(), nice=os.nice(0), source=source, gpus=os.environ.get("CUDA_VISIBLE_DEVICES"))

    @classmethod
    def restore_from(cls, path: str, map_location: str) -> Self:
        return cls(path)

    @classmethod
    def from_pretrained(cls, name: str, map_location: str) -> Self:
        raise OSError(f"{name} is not a model that is here")

    def eval(self) -> None:
        """Be fit for use."""

    def transcribe(
        self, audio: Sequence[npt.NDArray[np.float32]], batch_size: int, timestamps: bool, verbose: bool
    ) -> list[Any]:
        self._note(batch=len(audio))
        if "lingers" in self._orders:
            os.closerange(0, 256)
            time.sleep(60)
        time.sleep(self._orders.get("slow_s", 0.0))
        if "fails" in self._orders:
            raise RuntimeError(self._orders["fails"])
        return [str(each) if "untimed" in self._orders else self._heard(each) for each in audio]

    def _heard(self, audio: npt.NDArray[np.float32]) -> Hypothesis:
        with io.BytesIO() as file:
            with wave.open(file, "wb") as writer:
                writer.setnchannels(1)
                writer.setsampwidth(2)
                writer.setframerate(16_000)
                writer.writeframes((audio * 32767).astype("<i2").tobytes())
            words = heard(file.getvalue())
        return Hypothesis(
            [
                {
                    "word": word.text,
                    "start": round(word.start_s / STEP_S) * STEP_S,
                    "end": round(word.end_s / STEP_S) * STEP_S,
                }
                for word in words
            ]
        )

    def _note(self, **fields: Any) -> None:
        with open(self._folder / LOG, "a") as log:
            print(json.dumps(fields), file=log)


class cuda:
    @staticmethod
    def is_available() -> bool:
        return "gpu" in json.loads((Path(os.environ[FOLDER]) / ORDERS).read_text())


def device(name: str) -> str:
    return name


def set_num_threads(n: int) -> None:
    """Do nothing."""
