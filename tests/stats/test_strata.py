"""Means of means over strata, and their contrasts, against numpy, scipy and simulated coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fdbcore.errors import InputError
from fdbcore.stats.bootstrap import bootstrap_columns
from fdbcore.stats.strata import contrast_of_means, mean_of_means


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
