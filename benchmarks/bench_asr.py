"""Recognition by NeMo: how many times as fast as real time a model of Parakeet's form is, and what memory it takes.

The model has random weights: its words mean nothing, and its decoder looks at every frame and says none. So this times
what surrounds a model, its encoder and its batches. It needs the environment of `make nemo`, or a Python with NeMo:

    FDBCORE_ASR_DEVICE=cuda FDBCORE_ASR_SIZE=parakeet FDBCORE_ASR_PYTHON=python3 python -m benchmarks asr

FDBCORE_ASR_SIZE: tiny, small (default) or parakeet (0.6 billion parameters, 2.5 GB). FDBCORE_ASR_MINUTES: of audio a
batch size (default 4).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import print_table
from benchmarks.speech import int16, make_dialogue
from fdbcore.audio.wav import wav_bytes
from fdbcore.models.asr.nemo import Nemo

ROOT = Path(__file__).resolve().parents[1]
RATE_HZ = 16_000
PIECE_S = 30
DEVICE = os.environ.get("FDBCORE_ASR_DEVICE", "cpu")
SIZE = os.environ.get("FDBCORE_ASR_SIZE", "small")
MINUTES = float(os.environ.get("FDBCORE_ASR_MINUTES", "4"))
PYTHON = os.environ.get("FDBCORE_ASR_PYTHON", str(ROOT / "build" / "nemo" / "bin" / "python"))
BATCHES = {"cpu": (1, 4), "cuda": (1, 16, 64)}


def pieces() -> list[bytes]:
    """Different stretches of speech-like sound, each PIECE_S long, as WAV files at 16 kHz."""
    n = round(MINUTES * 60 / PIECE_S)
    sides = [make_dialogue(seed, PIECE_S).pcm[:, 0] for seed in range(n)]
    return [wav_bytes(int16(side.reshape(-1, 3).mean(axis=1)), RATE_HZ) for side in sides]


def memory_gb(pid: int) -> float:
    """The most memory that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e6 for line in lines if line.startswith("VmHWM"))


def gpu_memory_gb() -> float:
    """What is in use of the GPU; 0 without one."""
    if DEVICE != "cuda" or shutil.which("nvidia-smi") is None:
        return 0.0
    told = subprocess.run(
        ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(told.stdout.split()[0]) / 1e3


def timed(model: Path, batch: int, audio: list[bytes]) -> tuple[object, ...]:
    """A row of the table: of all pieces in batches of at most so many."""
    idle_gb = gpu_memory_gb()
    hears = Nemo(str(model), DEVICE, batch, python=PYTHON, beside_calls=True)
    try:
        began = time.perf_counter()
        with ThreadPoolExecutor(hears.at_once) as pool:
            list(pool.map(lambda wav: hears.words(wav, "en"), audio[:batch]))
            loaded = time.perf_counter()
            list(pool.map(lambda wav: hears.words(wav, "en"), audio))
            half = time.perf_counter()
            after_one_gb = memory_gb(hears.pid)
            list(pool.map(lambda wav: hears.words(wav, "en"), audio))
        taken_s = time.perf_counter() - loaded
        gpu = f"{gpu_memory_gb() - idle_gb:.1f}" if DEVICE == "cuda" else "-"
        times = 2 * len(audio) * PIECE_S / taken_s
        return batch, loaded - began, times, half - loaded, after_one_gb, memory_gb(hears.pid), gpu
    finally:
        hears.close()


def main() -> None:
    if shutil.which(PYTHON) is None:
        print(f"asr: needs {PYTHON}: make nemo, or FDBCORE_ASR_PYTHON=PYTHON for an environment with NeMo")
        return
    with TemporaryDirectory() as folder:
        model = Path(folder) / f"{SIZE}.nemo"
        made = subprocess.run(
            [PYTHON, "-m", "fakes.nemo_tiny", str(model), "0", SIZE],
            env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        )
        parameters = int(made.stdout.split()[-1])
        rows = [timed(model, batch, pieces()) for batch in BATCHES[DEVICE]]
    print_table(
        f"Parakeet's form, RANDOM weights, {parameters / 1e6:,.0f} million parameters, {DEVICE}; {MINUTES:g} minutes "
        f"of audio in pieces of {PIECE_S} s, twice",
        ("batch", "start and first batch, s", "x real time", "first pass, s", "memory, GB", "after twice as much, GB",
         "GPU, GB"),
        rows,
    )  # fmt: skip
