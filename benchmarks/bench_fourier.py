"""Fourier transforms of real rows as input health needs them: the core beside NumPy and SciPy, windows included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

from benchmarks.harness import best_seconds, print_table
from fdbcore._ext.fourier import RealFourier

Floats = npt.NDArray[np.float32]

ROWS = {128: 1_000, 480: 100, 512: 160, 8_000: 16}  # by length, as many as are transformed at a time
REPEATS = 20


def main() -> None:
    rows: list[tuple[object, ...]] = []
    for n, count in ROWS.items():
        samples, window = np.random.default_rng(1).standard_normal((count, n), np.float32), np.hanning(n)
        exact = np.fft.rfft(samples * window)
        found = ways(samples, window.astype(np.float32))
        us = {name: 1e6 * best_seconds(way, REPEATS) / count for name, way in found.items()}
        for name, way in found.items():
            error = float(np.abs(way() - exact).max() / np.abs(exact).max())
            rows.append((f"{n}: {name}", us[name], us[name] / us["fdbcore"], error))
    header = ("samples of a row", "us a row", "times fdbcore's", "largest error, of the largest line")
    print_table("Fourier transforms of real rows, float32", header, rows)


def ways(samples: Floats, window: Floats) -> Mapping[str, Callable[[], npt.NDArray[Any]]]:
    """What transforms the rows: float32 (m, n) to complex (m, n / 2 + 1)."""
    core, narrow = RealFourier(len(window), window), RealFourier(len(window), window, most_lanes=4)
    return {
        "fdbcore": lambda: core.lines(samples),
        "fdbcore, vectors of 4": lambda: narrow.lines(samples),
        "numpy": lambda: np.fft.rfft(samples * window),
        "scipy": lambda: np.asarray(fft.rfft(samples * window)),
    }


if __name__ == "__main__":
    main()
