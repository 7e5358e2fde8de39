"""Components of variance, and means of means over strata: published examples, SciPy and simulated coverage."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fdbcore.errors import InputError
from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.stats.strata import contrast_of_means, mean_of_means
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


def test_one_stratum_is_the_plain_bootstrap() -> None:
    values = np.random.default_rng(1).normal(3, 1, (12, 2, 3))
    values[0, 1, 0] = np.nan
    for found, plain in zip(mean_of_means([values]), bootstrap_columns(values), strict=True):
        assert found.value == pytest.approx(plain.value)
        assert found.interval == pytest.approx(plain.interval)


def test_each_stratum_counts_the_same_whatever_its_size() -> None:
    rng = np.random.default_rng(2)
    strata = [rng.normal(level, 1, (size, 2)) for level, size in ((1, 5), (3, 40), (5, 12))]
    strata[1][:, 1] = np.nan  # the second column is of two strata
    first, second = mean_of_means(strata)
    assert first.value == pytest.approx(np.mean([stratum[:, 0].mean() for stratum in strata]))
    assert second.value == pytest.approx((strata[0][:, 1].mean() + strata[2][:, 1].mean()) / 2)
    assert (first.clusters, second.clusters) == (57, 17)


def test_limits_of_normal_strata_are_those_of_welch_and_satterthwaite() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(0, 1, 30), rng.normal(1, 3, 20)
    found = contrast_of_means([a, b], [1.0, -1.0])
    expected = scipy_stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert found.value == pytest.approx(a.mean() - b.mean())
    assert found.interval == pytest.approx(tuple(expected), abs=0.1)


def test_limits_cover_the_mean_of_few_items_in_each_of_four_strata() -> None:
    rng, truth, within = np.random.default_rng(4), [1.0, 2.0, 3.0, 4.0], 0
    for _ in range(400):
        (found,) = mean_of_means([rng.normal(level, 1, (4, 1)) for level in truth], resamples=1000)
        assert found.interval is not None
        within += found.interval.low <= 2.5 <= found.interval.high
    assert 0.92 <= within / 400 <= 0.98


def test_where_there_is_no_interval() -> None:
    spread = [1.0, 2.0, 4.0]
    alone = contrast_of_means([[1.0], spread], [0.5, 0.5])
    assert alone.value == pytest.approx(5 / 3)
    assert alone.interval is None
    assert "one item" in alone.reason
    same = contrast_of_means([[1.0, 1.0], [2.0, 2.0]], [0.5, 0.5])
    assert (same.value, same.interval) == (1.5, None)
    assert contrast_of_means([[1.0, 1.0], spread], [0.5, 0.5]).interval is not None, "one stratum may agree"
    assert contrast_of_means([[np.nan], spread], [0.5, 0.5]).value is None
    with pytest.raises(InputError, match="strata"):
        mean_of_means([[1.0, 2.0]])
