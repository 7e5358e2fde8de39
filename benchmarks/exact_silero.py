"""Silero's model written plainly in float64: what the core and onnxruntime, both in float32, come near to."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
STRIDES: Final = (1, 2, 2, 1)
HIDDEN: Final = 128


class ExactStream:
    """A stream of windows of 32 ms, at 16,000 or 8,000 Hz."""

    def __init__(self, rate_hz: int) -> None:
        with np.load(str(files("fdbcore.session") / "data" / "silero_vad.npz")) as kept:
            khz = f"{rate_hz // 1000}khz."
            own = {name.removeprefix(khz): kept[name].astype(np.float64) for name in kept.files if name.startswith(khz)}
        self._fft = 256 * rate_hz // 16_000
        self._hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(self._fft) / self._fft)
        layers = [f"encoder.{number}.reparam_conv" for number in range(len(STRIDES))]
        weights = [own[f"{layer}.weight"] for layer in layers]
        biases = [own[f"{layer}.bias"][:, None] for layer in layers]
        self._layers = [*zip((each.reshape(len(each), -1) for each in weights), biases, STRIDES, strict=True)]
        self._gates = np.hstack([own["decoder.rnn.weight_ih"], own["decoder.rnn.weight_hh"]])
        self._gates_bias = own["decoder.rnn.bias_ih"] + own["decoder.rnn.bias_hh"]
        self._last, self._last_bias = own["decoder.decoder.2.weight"].ravel(), own["decoder.decoder.2.bias"][0]
        self._before: Floats = np.zeros(self._fft // 4)
        self._hidden: Floats = np.zeros(HIDDEN)
        self._cell: Floats = np.zeros(HIDDEN)

    def process(self, window: Floats) -> float:
        """The probability of speech in the next window, (2 fft,), full scale 1."""
        heard = np.concatenate((self._before, window, window[-2 : -2 - self._fft // 4 : -1]))
        self._before = window[-self._fft // 4 :]
        frames = np.stack([heard[at : at + self._fft] for at in range(0, 2 * self._fft, self._fft // 2)])
        x: Floats = np.abs(np.fft.rfft(frames * self._hann)).T  # (channels, frames)
        for weights, bias, stride in self._layers:
            padded = np.pad(x, ((0, 0), (1, 1)))
            taps = np.stack([padded[:, at : at + 3].ravel() for at in range(0, x.shape[1], stride)], axis=1)
            x = np.maximum(weights @ taps + bias, 0)
        gates = self._gates @ np.concatenate((x[:, 0], self._hidden)) + self._gates_bias
        given, forget, value, shown = gates.reshape(4, HIDDEN)
        self._cell = _sigmoid(forget) * self._cell + _sigmoid(given) * np.tanh(value)
        self._hidden = _sigmoid(shown) * np.tanh(self._cell)
        return float(_sigmoid(self._last @ np.maximum(self._hidden, 0) + self._last_bias))


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))
