"""Design the resampler's filters: `python -m benchmarks.design_filters` prints the table of `fdbcore/_ext/filters.py`.

Linear programming over samples of the frequency response (Rabiner, "Linear program design of finite impulse response
(FIR) digital filters", IEEE Trans. Audio Electroacoustics, 1972), here for an impulse response in continuous time.
Frequencies are in units of the lower rate, times in its samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

Floats = npt.NDArray[np.float64]

PASS_EDGE = 0.45  # 0.9 of the Nyquist frequency
STOP_EDGE = 0.55  # 1.1 of it
TOP = 3.0  # the design's last frequency; further up the response decays by itself
POINTS_PER_LOBE = 16  # of the grid; both edges lie on it


@dataclass(frozen=True)
class Target:
    """What a preset asks for.

    span: length of the impulse response.
    terms: samples of the response that are not zero, 1 / span apart; a few of them lie beyond the stop edge.
    rejection: bound of the response beyond the stop edge, a ratio.
    """

    span: int
    terms: int
    rejection: float


# 2 dB beyond what is promised: sampling the impulse response folds its stop band, which costs up to 1.8 dB.
TARGETS = {"best": Target(48, 28, 10 ** (-104 / 20)), "fast": Target(32, 23, 10 ** (-72 / 20))}


def response_matrix(frequencies: Floats, target: Target) -> Floats:
    """The matrix, (frequencies, terms), that takes the samples of a response to its values at `frequencies`."""
    term = np.arange(target.terms)
    position = target.span * frequencies[:, None]
    matrix = np.sinc(position - term) + np.sinc(position + term)
    matrix[:, 0] /= 2
    return matrix


def design(target: Target) -> Floats:
    """The samples of the response, (terms,), with the least ripple that keeps to the target's rejection."""
    density = target.span * POINTS_PER_LOBE
    pass_band = response_matrix(np.linspace(0, PASS_EDGE, round(PASS_EDGE * density)), target)
    # In units of the bound, so that the solver's tolerance is far below it.
    stop_band = response_matrix(np.arange(STOP_EDGE, TOP, 1 / density), target) / target.rejection
    ripple, none = -np.ones((len(pass_band), 1)), np.zeros((len(stop_band), 1))
    rows = np.block([[pass_band, ripple], [-pass_band, ripple], [stop_band, none], [-stop_band, none]])
    bounds = np.concatenate([np.ones(len(pass_band)), -np.ones(len(pass_band)), np.ones(2 * len(stop_band))])
    # The impulse response ends at zero: it decays faster in frequency, and both its halves have the same taps.
    end = np.r_[1.0, 2.0 * (-1.0) ** np.arange(1, target.terms), 0.0]
    solution = linprog(
        np.r_[np.zeros(target.terms), 1.0], A_ub=rows, b_ub=bounds, A_eq=end[None], b_eq=[0.0], bounds=(None, None)
    )
    return np.array(solution.x[:-1])


def main() -> None:
    for name, target in TARGETS.items():
        print(f'"{name}": Prototype({target.span}, (' + ", ".join(f"{value:.10f}" for value in design(target)) + ")),")


if __name__ == "__main__":
    main()
