"""Components of variance against a published example, and against made data with a known answer."""

from __future__ import annotations

import numpy as np
import pytest

from fdbcore.errors import InputError
from fdbcore.stats.variance import REPEATED, REST, components, variance_shares

FACTORS = ("scenario", "system", "examiner")


def test_a_nested_design_gives_the_published_components() -> None:
    """Montgomery, Design and Analysis of Experiments, example 14.1: purity by supplier, batch and determination."""
    purity = [
        [(1, -1, 0), (-2, -3, -4), (-2, 0, 1), (1, 4, 0)],
        [(1, -2, -3), (0, 4, 2), (-1, 0, -2), (0, 3, 2)],
        [(2, 4, 0), (-2, 0, 2), (1, -1, 2), (3, 2, 1)],
    ]
    found = components(purity, ["supplier"])
    assert found[REST] == pytest.approx(2.64, abs=0.005)
    assert found[REPEATED] == pytest.approx(1.71, abs=0.005)
    assert found["supplier"] == pytest.approx((7.53 - 7.77) / 12, abs=0.005)


def made(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Effects of variance 1 without noise of sampling: mean 0, and what an ANOVA expects of the sum of squares."""
    found = rng.normal(size=shape)
    for axis in range(len(shape)):
        found -= found.mean(axis=axis, keepdims=True)
    found /= np.sqrt((found**2).sum() / np.prod(np.array(shape) - 1))
    return found


def test_crossed_effects_that_are_orthogonal_come_back_exactly() -> None:
    rng = np.random.default_rng(4)
    scenarios, systems, examiners, seeds, trials = 12, 3, 2, 4, 2
    of_scenario, of_system, of_both = made(rng, scenarios), made(rng, systems), made(rng, scenarios, systems)
    of_examiner = made(rng, scenarios, examiners)
    values = np.zeros((scenarios, systems, examiners, seeds, trials))
    values += 3 * of_scenario[:, None, None, None, None] + 2 * of_system[None, :, None, None, None]
    values += 1.5 * of_both[:, :, None, None, None] + 0.5 * of_examiner[:, None, :, None, None]
    found = components(values, FACTORS)
    # By hand: a mean square of c levels below each has the variance times c, and holds those of the effects above it.
    assert found["scenario x system"] == pytest.approx(1.5**2)
    assert found["scenario x examiner"] == pytest.approx(0.5**2)
    assert found["scenario"] == pytest.approx(3**2 - 1.5**2 / systems - 0.5**2 / examiners)
    assert found["system"] == pytest.approx(2**2 - 1.5**2 / scenarios)
    for name in ("examiner", "system x examiner", "scenario x system x examiner", REPEATED, REST):
        assert found[name] == pytest.approx(0 if name != "examiner" else -(0.5**2) / scenarios, abs=1e-12)


def test_shares_of_random_effects_are_found_on_average_and_lie_in_their_interval() -> None:
    truth = {"scenario": 4.0, "system": 0.0, "examiner": 0.6, "rest": 0.4}
    parts = {
        "scenario": "scenario",
        "system": "system",
        "scenario x system": "system",
        REPEATED: "examiner",
        REST: "rest",
    }
    covered, shares = 0, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        values = rng.normal(0, 2, (40, 1, 1, 1, 1)) + rng.normal(0, 0.6**0.5, (40, 2, 1, 3, 1))
        values = values + rng.normal(0, 0.4**0.5, (40, 2, 1, 3, 2))
        found = variance_shares(values, FACTORS, parts, resamples=400)
        shares.append([found[part].value for part in truth])
        low, high = found["examiner"].interval or (0, 0)
        covered += low <= 0.6 / 5 <= high
    assert np.mean(np.array(shares, float), axis=0) == pytest.approx([v / 5 for v in truth.values()], abs=0.02)
    assert covered >= 0.85 * 60


def test_what_does_not_vary_has_no_share() -> None:
    values = np.full((5, 1, 1, 3, 1), 0.1)
    found = variance_shares(values, FACTORS, {"scenario": "scenario", REPEATED: "examiner"})
    assert {each.value for each in found.values()} == {None}
    alone = variance_shares(values + np.arange(5)[:, None, None, None, None], FACTORS, {"scenario": "s", REPEATED: "e"})
    assert (alone["s"].value, alone["e"].value) == (1, 0)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="3 factors"):
        components(np.zeros((2, 2)), FACTORS)
