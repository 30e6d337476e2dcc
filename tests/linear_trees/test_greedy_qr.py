"""Greedy selection with an implicit QR equals least squares fitted anew for every candidate."""

from __future__ import annotations

import numpy as np
import pytest

from frugalforest.costs import FeatureCosts, Group
from frugalforest.linear_trees import Standard
from frugalforest.linear_trees.greedy_qr import GreedyQR, select
from frugalforest.linear_trees.moments import moments_of
from frugalforest.linear_trees.purse import Purse
from linear_trees import naive

NOTHING = np.zeros(0, dtype=np.intp)


def problem(seed, n_rows=60, n_features=8, n_targets=1, correlated=True):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features))
    if correlated:
        X = X @ random.normal(size=(n_features, n_features)) * random.uniform(0.1, 50, n_features) + 7
    Y = X[:, :3] @ random.normal(size=(3, n_targets)) / 10 + random.normal(size=(n_rows, n_targets))
    return X, Y, random.uniform(0.2, 2, n_rows), random


def moments(X, Y, weights):
    return moments_of(Standard.learn(X, weights), X, np.arange(len(X)), Y, weights)


def run(X, Y, weights, costs, budget, inherited=NOTHING, ridge=0.0):
    qr = GreedyQR(moments(X, Y, weights), ridge)
    paid = np.zeros(X.shape[1], dtype=bool)
    paid[inherited] = True
    purse = Purse(costs, budget, paid)
    select(qr, purse, inherited)
    return qr, purse


# ---- equal to the twin


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n_targets", [1, 3])
def test_selection_is_that_of_naive_least_squares(seed, n_targets):
    X, Y, weights, random = problem(seed, n_targets=n_targets)
    costs = FeatureCosts(random.integers(1, 20, 8) / 4)
    budget = float(random.uniform(1, 12))
    qr, _ = run(X, Y, weights, costs, budget)
    assert qr.chosen == naive.greedy_order(X, Y, weights, costs, budget)
    assert qr.r_squared == pytest.approx(naive.weighted_r_squared(X, Y, weights, qr.chosen), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_selection_with_groups_and_inherited_features(seed):
    X, Y, weights, random = problem(seed + 100)
    groups = {"descriptor": Group([0, 1, 2, 3], 3.0), "visit": Group([3, 4, 5], 1.5)}
    costs = FeatureCosts([0, 0, 0, 0.5, 1, 1, 2, 3], groups=groups)
    inherited = np.array([[6], [2, 7], [4], []][seed % 4], dtype=np.intp)
    budget = float(random.uniform(1, 6))
    qr, purse = run(X, Y, weights, costs, budget, inherited)
    assert qr.chosen == naive.greedy_order(X, Y, weights, costs, budget, tuple(inherited))
    before = costs.of(inherited)
    assert costs.of(purse.paid_mask) - before <= budget + 1e-12


def test_fewer_rows_than_columns_give_the_same_moments():
    X, Y, weights, _ = problem(3, n_rows=12, n_features=40, n_targets=2)
    wide = moments(X, Y, weights)
    assert wide.correlations is None
    Z = (X - np.average(X, axis=0, weights=weights)) * np.sqrt(weights)[:, None]
    Z /= np.linalg.norm(Z, axis=0)
    assert np.allclose(np.array([wide.with_column(f) for f in range(40)]), Z.T @ Z, atol=1e-12)
    tall = moments(X[:, :12], Y, weights)
    assert tall.correlations is not None
    assert np.allclose(tall.correlations, (Z.T @ Z)[:12, :12], atol=1e-12)
    assert np.allclose(tall.with_targets, wide.with_targets[:12], atol=1e-12)


def test_moments_are_those_of_numpy_however_many_blocks(monkeypatch):
    X, Y, weights, _ = problem(5, n_rows=300)
    whole = moments(X, Y, weights)
    monkeypatch.setattr("frugalforest.linear_trees.standardising._BLOCK", 200)
    parts = moments(X, Y, weights)
    expected = np.cov(X, rowvar=False, aweights=weights, ddof=0)
    size = np.sqrt(np.diag(expected))
    for one in (whole, parts):
        assert np.allclose(one.correlations, expected / np.outer(size, size), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_other_types_are_read_as_they_are(dtype, order):
    random = np.random.default_rng(1)
    X = np.array(random.integers(0, 2 if dtype is bool else 9, (80, 5)), dtype=dtype, order=order)
    Y, weights = random.normal(size=(80, 1)), np.ones(80)
    rows = np.flatnonzero(random.random(80) < 0.7)
    one = moments_of(Standard.learn(X, weights), X, rows, Y, weights)
    other = moments_of(Standard.learn(X.astype(float), weights), X.astype(float), rows, Y, weights)
    assert np.array_equal(one.correlations, other.correlations)


# ---- properties


@pytest.mark.parametrize("seed", range(6))
def test_gains_are_never_negative_and_add_up(seed):
    X, Y, weights, _ = problem(seed, n_targets=2)
    qr = GreedyQR(moments(X, Y, weights))
    last = 0.0
    for feature in np.random.default_rng(seed).permutation(8).tolist():
        gains = qr.gains
        assert (gains >= 0).all()
        qr.take(feature)
        assert qr.r_squared == pytest.approx(last + gains[feature], abs=1e-12)
        assert qr.r_squared >= last
        last = qr.r_squared
    assert qr.gains.sum() == 0


def test_coefficients_are_those_of_least_squares():
    X, Y, weights, _ = problem(2, n_targets=2)
    found = moments(X, Y, weights)
    qr = GreedyQR(found)
    for feature in (5, 1, 6):
        qr.take(feature)
    standard = Standard.learn(X, weights)
    slopes = qr.coefficients() * (found.target_spread / found.spread[qr.chosen] / standard.spread[qr.chosen])[:, None]
    assert np.allclose(slopes, naive.least_squares(X, Y, weights, qr.chosen)[1])


def test_ridge_is_least_squares_with_rows_added():
    X, Y, weights, _ = problem(4)
    qr = GreedyQR(moments(X, Y, weights), ridge=0.3)
    for feature in (2, 0, 7):
        qr.take(feature)
    Z = (X - np.average(X, axis=0, weights=weights)) * np.sqrt(weights)[:, None]
    Z = (Z / np.linalg.norm(Z, axis=0))[:, qr.chosen]
    y = (Y - np.average(Y, axis=0, weights=weights)) * np.sqrt(weights)[:, None]
    y /= np.linalg.norm(y)
    assert np.allclose(qr.coefficients(), np.linalg.solve(Z.T @ Z + 0.3 * np.eye(3), Z.T @ y))


def test_dependent_columns_gain_nothing():
    X, Y, weights, _ = problem(6)
    X = np.column_stack([X, X[:, 0] * 3 - 4, X[:, 1] + X[:, 2], np.full(60, 5.0)])
    qr = GreedyQR(moments(X, Y, weights))
    for feature in (0, 1, 2):
        qr.take(feature)
    assert not qr.open_mask[[8, 9, 10]].any()
    assert not qr.gains[[8, 9, 10]].any()
    assert qr.open_mask[3:8].all()


def test_a_cheap_copy_is_preferred_and_of_equals_the_first():
    X, Y, weights, _ = problem(7)
    X = np.column_stack([X[:, 0], X[:, 0], X[:, 0]])
    assert run(X, Y, weights, FeatureCosts([3, 2, 2]), 10)[0].chosen == [1]
    assert run(X, Y, weights, FeatureCosts([0, 2, 0]), 10)[0].chosen == [0]


def test_free_features_come_first():
    X, Y, weights, _ = problem(8)
    qr, purse = run(X, Y, weights, FeatureCosts([1, 1, 0, 1, 0, 1, 1, 1]), 0.5)
    assert sorted(qr.chosen) == [2, 4]
    assert not purse.prices[[2, 4]].any()


def test_one_feature_of_a_descriptor_makes_the_rest_free():
    X, Y, weights, _ = problem(9)
    costs = FeatureCosts(np.zeros(8), groups={"hog": Group([0, 1, 2], 2.0), "sift": Group([3, 4, 5, 6, 7], 3.0)})
    qr, purse = run(X, Y, weights, costs, 2.0)
    assert sorted(qr.chosen) == [0, 1, 2]
    assert costs.of(purse.paid_mask) == 2.0
    assert purse.left == 0


@pytest.mark.parametrize("seed", range(20))
def test_a_purse_counts_as_the_price_list_does(seed):
    random = np.random.default_rng(seed)
    groups = {f"g{i}": Group(random.choice(9, random.integers(1, 6), replace=False).tolist(), i / 10) for i in range(4)}
    costs = FeatureCosts(random.integers(0, 30, 9) / 10, groups=groups)
    paid = random.random(9) < 0.2
    purse = Purse(costs, 100.0, paid)
    start = purse.left
    for feature in random.permutation(np.flatnonzero(~paid))[:5].tolist():
        assert np.allclose([costs.money(int(p)) for p in purse.prices], costs.marginal(purse.paid_mask), atol=1e-12)
        purse.buy(feature)
    assert costs.money(start - purse.left) == pytest.approx(costs.of(purse.paid_mask) - costs.of(paid), abs=1e-12)


# ---- the guarantee of Theorem 2.2


def smallest_eigenvalue(X, weights):
    """Of the correlations of all candidates: a bound of the submodularity ratio (Das and Kempe 2011, Lemma 2.4)."""
    covariance = np.cov(X, rowvar=False, aweights=weights, ddof=0)
    size = np.sqrt(np.diag(covariance))
    return float(np.linalg.eigvalsh(covariance / np.outer(size, size))[0])


@pytest.mark.parametrize("seed", range(15))
def test_greedy_is_within_its_guarantee_of_the_best_set(seed):
    X, Y, weights, random = problem(seed, n_features=7, correlated=seed % 3 > 0)
    bound = 1 - np.exp(-smallest_eigenvalue(X, weights))
    costs = FeatureCosts.unit(7) if seed % 2 else FeatureCosts(random.integers(1, 9, 7) / 2)
    everything, _ = run(X, Y, weights, costs, costs.total)
    for size in range(1, len(everything.chosen) + 1):  # the sequence, cut at each of its own costs
        first = everything.chosen[:size]
        value = naive.weighted_r_squared(X, Y, weights, first)
        assert value >= bound * naive.best_value(X, Y, weights, costs, costs.of(first)) - 1e-12


def test_the_chosen_set_alone_proves_nothing():
    """Two columns whose small difference is the target: greedy takes others, unrelated ones, and misses almost all."""
    random = np.random.default_rng(0)
    n_rows = 4000
    common, difference = random.normal(size=n_rows), random.normal(size=n_rows)
    X = np.column_stack([common + 0.05 * difference, common - 0.05 * difference, random.normal(size=(n_rows, 1))])
    Y = (difference + 0.2 * X[:, 2])[:, None]
    weights, costs = np.ones(n_rows), FeatureCosts([1, 1, 1])
    qr, _ = run(X, Y, weights, costs, 2.0)
    share = qr.r_squared / naive.best_value(X, Y, weights, costs, 2.0)
    assert share < 0.1 < 1 - np.exp(-qr.smallest_eigenvalue)
    assert share >= 1 - np.exp(-smallest_eigenvalue(X, weights))


# ---- difficult numbers


@pytest.mark.parametrize("factor", [1e-200, 1e-9, 1e9, 1e200])
def test_scales_do_not_matter(factor):
    X, Y, weights, _ = problem(10)
    costs = FeatureCosts([1, 2, 1, 2, 1, 2, 1, 2])
    expected = run(X, Y, weights, costs, 5.0)[0]
    scaled = run(X * factor, Y, weights, costs, 5.0)[0]
    assert scaled.chosen == expected.chosen
    assert scaled.r_squared == pytest.approx(expected.r_squared, rel=1e-9)


def test_columns_far_from_zero_lose_no_digits():
    X, Y, weights, _ = problem(11, correlated=False)
    near, far = moments(X, Y, weights), moments(np.ldexp(np.rint(np.ldexp(X, 20)), -20) + 2.0**28, Y, weights)
    assert np.allclose(near.correlations, far.correlations, atol=1e-5)


def test_almost_dependent_columns_are_solved_to_many_digits():
    random = np.random.default_rng(3)
    X = random.normal(size=(500, 6))
    X[:, 5] = X[:, 0] + 3e-5 * random.normal(size=500)
    Y = X @ np.array([1, 2, 3, 0, 0, -1.0])[:, None] + random.normal(size=(500, 1))
    weights = np.ones(500)
    qr, _ = run(X, Y, weights, FeatureCosts.unit(6), 6)
    assert sorted(qr.chosen) == [0, 1, 2, 3, 4, 5]
    assert qr.r_squared == pytest.approx(naive.weighted_r_squared(X, Y, weights, range(6)), abs=1e-9)


def test_a_span_beyond_float64_is_refused():
    X = np.array([[1.7e308, 0.0], [-1.7e308, 1.0], [-1.7e308, 2.0]])
    with pytest.raises(ValueError, match="X spans more than float64 can hold in column 0; give it in a larger unit"):
        Standard.learn(X, np.ones(3))


def test_missing_values_are_read_as_the_mean():
    X = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan], [np.nan, 7.0, np.nan], [4.0, 6.0, np.nan]])
    standard = Standard.learn(X, np.array([1.0, 1, 1, 2]))
    assert np.allclose(standard.centre, [3, 6, 0])
    assert list(standard.varies_mask) == [True, True, False]
    read = standard.read(X)
    assert read[2, 0] == read[0, 1] == 0
    assert not read[:, 2].any()
