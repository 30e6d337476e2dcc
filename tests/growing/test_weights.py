"""Weights on a grid: sums are exact in any order, and nothing a user could see is lost."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frugalforest.growing.weights import on_grid

# Weights as people have them; a value 2^60 times smaller than the total is 0 on the grid.
weights = st.lists(st.floats(0, 1e9, allow_subnormal=False), min_size=1, max_size=60)
signed = st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=60)


def exact_sum(values):
    return sum(map(Fraction, np.asarray(values).tolist()), Fraction(0))


@given(signed, st.randoms(use_true_random=False))
def test_sums_are_exact_in_any_order(values, random):
    grid = on_grid(values).tolist()
    expected = exact_sum(grid)
    for _ in range(5):
        random.shuffle(grid)
        total = 0.0
        for value in grid:
            total += value
        assert Fraction(total) == expected


@given(signed, st.lists(st.integers(0, 256), min_size=60, max_size=60), st.randoms(use_true_random=False))
def test_sums_of_draws_are_exact(values, draws, random):
    # A row may be drawn up to 256 times, and a sibling's sum is the parent's minus a child's.
    drawn = [value * n for value, n in zip(on_grid(values).tolist(), draws, strict=False)]
    random.shuffle(drawn)
    parent = child = 0.0
    for i, value in enumerate(drawn):
        parent += value
        child += value if i % 3 == 0 else 0.0
    assert Fraction(parent - child) == exact_sum(drawn) - exact_sum(drawn[::3])


@given(signed)
def test_rounding_is_far_below_what_one_could_see(values):
    error = np.abs(on_grid(values) - np.asarray(values))
    assert (error <= np.abs(values).sum() * 256 * 2.0**-52).all()


@given(signed)
def test_the_grid_is_a_fixed_point(values):
    once = on_grid(values)
    np.testing.assert_array_equal(on_grid(once), once)


@given(weights, st.integers(-60, 60))
def test_scaling_by_a_power_of_two_scales_the_grid(values, exponent):
    values = np.asarray(values)
    values = values[values > 1e-9]
    np.testing.assert_array_equal(on_grid(np.ldexp(values, exponent)), np.ldexp(on_grid(values), exponent))


@given(signed)
def test_sign_and_order_are_kept(values):
    values = np.asarray(values)
    np.testing.assert_array_equal(on_grid(-values), -on_grid(values))
    assert (np.diff(on_grid(np.sort(values))) >= 0).all()


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=200))
@settings(max_examples=50)
def test_whole_numbers_and_simple_fractions_stay_as_they_are(values):
    for unit in (1, 2, 8, 1024):
        np.testing.assert_array_equal(on_grid(np.array(values) / unit), np.array(values) / unit)


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], []])
def test_nothing_stays_nothing(values):
    np.testing.assert_array_equal(on_grid(values), values)


@pytest.mark.parametrize("value", [1e306, 1e-300, 1e-320, 5e-324])
def test_the_largest_and_the_least_weights(value):
    # Only their ratios matter: whoever weighs in 1e-320 gets a forest all the same.
    grid = on_grid(np.full(10, value))
    assert np.isfinite(grid).all()
    assert (grid == grid[0]).all()
    assert grid[0] > 0


def test_a_total_that_is_a_power_of_two_still_fits():
    # sum * 256 = 2^52 steps of the grid at most: 2^53 would be one bit too many.
    values = np.full(4, 0.25)
    assert on_grid(values).tolist() == values.tolist()
    tiny = np.nextafter(0.25, 1)
    total = on_grid([tiny] * 4).sum() * 256
    assert Fraction(total) == exact_sum(on_grid([tiny] * 4)) * 256


def test_a_thousand_weights_like_a_third():
    grid = on_grid(np.full(1000, 1 / 3))
    np.testing.assert_allclose(grid, 1 / 3, rtol=1e-9)
    assert Fraction(grid.sum()) == exact_sum(grid)
