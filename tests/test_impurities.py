"""Impurities: their formulas, what they refuse, and which of them are admissible."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from frugalforest.impurities import (
    AdmissibilityReport,
    Entropy,
    Gini,
    Impurity,
    Polynomial,
    Powers,
    ThresholdPairs,
    check_admissible,
    evaluate,
    minimax_risk,
)

MIXED = Polynomial([(1.0, (1, 1, 0)), (0.5, (0, 2, 3)), (2.0, (1, 1, 1))])
ADMISSIBLE = [
    *(ThresholdPairs(alpha, offset) for alpha in (0, 0.1, 0.5, 1, 2, 8, 45, 100) for offset in (True, False)),
    *(Powers(power) for power in (2, 3, 4, 5, 8)),
    MIXED,
]
EVERY = [*ADMISSIBLE, Gini(), Entropy()]


# Formulas.


def test_threshold_pairs_counts_pairs_in_both_orders():
    assert ThresholdPairs()([30, 30]) == 2 * 900
    assert ThresholdPairs()([2, 3, 4]) == 2 * (6 + 8 + 12)


def test_threshold_pairs_with_and_without_offset():
    # Figure 1 of the paper leaves out alpha^2: 22 * 22 = 484, eq. (11) takes off 64.
    assert ThresholdPairs(8, offset=False)([30, 30]) == 2 * 484
    assert ThresholdPairs(8)([30, 30]) == 2 * 420
    assert ThresholdPairs(8)([30, 10]) == 0


def test_powers_of_two_is_pairs():
    n = np.random.default_rng(0).integers(0, 50, (100, 4))
    np.testing.assert_array_equal(Powers(2)(n), ThresholdPairs()(n))


def test_polynomial_is_the_sum_of_its_terms():
    assert MIXED([2, 3, 4]) == 6 + 0.5 * 9 * 64 + 2 * 24


def test_gini_and_entropy():
    assert Gini()([1, 1]) == 0.5
    assert Gini()([3, 0]) == 0
    assert Entropy()([1, 1, 1, 1]) == pytest.approx(2)
    assert Entropy()([1, 3]) == pytest.approx(-0.25 * math.log2(0.25) - 0.75 * math.log2(0.75))


@pytest.mark.parametrize("impurity", EVERY, ids=str)
def test_no_examples_no_impurity(impurity):
    assert impurity([0, 0, 0]) == 0


@pytest.mark.parametrize("impurity", EVERY, ids=str)
def test_shapes(impurity):
    n = np.random.default_rng(1).integers(0, 200, (4, 5, 3))
    values = impurity(n)
    assert values.shape == (4, 5)
    assert values.dtype == np.float64
    assert type(impurity([1, 2, 3])) is float
    assert impurity(n[2, 3].tolist()) == values[2, 3]
    np.testing.assert_array_equal(evaluate(impurity, n[0]), values[0])


@pytest.mark.parametrize("impurity", EVERY, ids=str)
def test_arrays_agree_with_plain_python(impurity):
    rng = np.random.default_rng(2)
    n = np.concatenate([rng.integers(0, 300, (100, 3)), rng.random((100, 3)) * 300])
    expected = [naive.impurity_value(impurity, row) for row in n.tolist()]
    if isinstance(impurity, Entropy):  # two different logarithms
        np.testing.assert_allclose(impurity(n), expected, rtol=0, atol=1e-14)
    else:
        np.testing.assert_array_equal(impurity(n), expected)


def test_they_are_values():
    assert ThresholdPairs(2) == ThresholdPairs(2.0, offset=True)
    assert len({ThresholdPairs(1), ThresholdPairs(1), Powers(3), Powers(np.int64(3))}) == 2
    assert Polynomial([[1, [1, 1]]]) == Polynomial(((1.0, (1, 1)),))
    assert all(isinstance(impurity, Impurity) for impurity in EVERY)


# What they refuse.


@pytest.mark.parametrize("alpha", [-1, -1e-9, math.inf, math.nan])
def test_alpha_is_finite_and_not_negative(alpha):
    with pytest.raises(ValueError, match=r"alpha is .*; expected a finite number >= 0"):
        ThresholdPairs(alpha)


@pytest.mark.parametrize("power", [1, 0, -2, 2.0, 2.5, "2", True, None])
def test_power_is_an_integer_from_two(power):
    with pytest.raises(ValueError, match=r"power is .*; expected an integer >= 2"):
        Powers(power)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([(-1, (1, 1))], "term 0 has coefficient -1"),
        ([(1, (1, 1)), (math.inf, (1, 1))], "term 1 has coefficient inf"),
        ([(1, (2, 0))], r"term 0 has exponents \(2, 0\); at least two"),
        ([(1, (1, -1))], "an exponent of term 0 is -1; expected an integer >= 0"),
        ([(1, (1, 0.5))], "an exponent of term 0 is 0.5"),
        ([(1, (1, 1)), (1, (1, 1, 0))], r"terms have \[2, 3\] exponents; expected one per class"),
        ([], "terms have no exponents"),
    ],
)
def test_polynomial_terms(terms, message):
    with pytest.raises(ValueError, match=message):
        Polynomial(terms)


def test_polynomial_needs_its_number_of_classes():
    with pytest.raises(ValueError, match="the sets have 2 classes but the terms have 3 exponents"):
        MIXED([1, 2])


def test_counts_need_a_class_axis():
    with pytest.raises(ValueError, match="expected class counts of shape"):
        Gini()(3)


def test_an_own_impurity_returns_one_value_per_set():
    with pytest.raises(ValueError, match=r"returned shape \(\) for 4 sets of 3 classes; expected \(4,\)"):
        evaluate(lambda n: n.sum(), np.ones((4, 3)))


# Risk.


def test_minimax_risk():
    assert minimax_risk(1, 900, 300) == 1 / 600
    assert minimax_risk(0, 900, 300) == 0
    assert minimax_risk(0, 900, 900) == math.inf
    np.testing.assert_array_equal(minimax_risk([1, 0, 2], 10, [5, 10, 6]), [0.2, math.inf, 0.5])


# Admissibility.


@pytest.mark.parametrize("impurity", ADMISSIBLE, ids=str)
def test_the_three_families_are_admissible(impurity):
    report = check_admissible(impurity)
    assert report, report
    assert report.admissible
    assert not report.violations
    assert str(report).startswith("admissible")


@pytest.mark.parametrize("n_classes", [2, 4, 12])
def test_any_number_of_classes(n_classes):
    assert check_admissible(ThresholdPairs(2), n_classes)
    assert check_admissible(Powers(3), n_classes)
    assert not check_admissible(Gini(), n_classes)


@pytest.mark.parametrize("impurity", [Gini(), Entropy()], ids=str)
def test_gini_and_entropy_are_not_admissible(impurity):
    report = check_admissible(impurity)
    assert not report
    found = report.violations["monotonicity"]
    subset, whole = (np.array(n) for n in found.sets)
    assert (subset <= whole).all()
    assert impurity(subset) > impurity(whole)
    assert found.values == (impurity(subset), impurity(whole))
    assert not {"non-negativity", "purity", "growth"} & set(report.violations)
    assert "not admissible\n  monotonicity: F(0, 1, 1) = " in str(report)


@pytest.mark.parametrize(
    "parts",
    [
        [ThresholdPairs(8), Powers(3)],
        [ThresholdPairs(1, offset=False), MIXED, Powers(2)],
        [Powers(2), lambda n: 1e-6 * Powers(6)(n)],
    ],
)
def test_sums_of_admissible_impurities_are_admissible(parts):
    assert check_admissible(lambda n: sum(part(n) for part in parts))


def test_an_own_class_is_checked_like_a_function():
    class OneAgainstRest(Impurity):
        def __call__(self, counts):
            return counts[:, 0] * counts[:, 1:].sum(axis=1)

    assert check_admissible(OneAgainstRest())


def failing(impurity: object) -> AdmissibilityReport:
    return check_admissible(impurity)  # type: ignore[arg-type]


def test_not_supermodular():
    report = failing(lambda n: np.sqrt(ThresholdPairs()(n)))
    assert list(report.violations) == ["supermodularity"]
    small, small_more, large, large_more = (np.array(n) for n in report.violations["supermodularity"].sets)
    a, b, c, d = report.violations["supermodularity"].values
    assert (small <= large).all()
    np.testing.assert_array_equal(small_more - small, large_more - large)
    assert b - a > d - c


def test_not_pure():
    report = failing(lambda n: n.sum(axis=1) ** 2)
    assert list(report.violations) == ["purity"]
    assert np.count_nonzero(report.violations["purity"].sets[0]) == 1


def test_negative():
    report = failing(lambda n: -ThresholdPairs()(n))
    assert report.violations["non-negativity"].values[0] < 0


@pytest.mark.parametrize("base", [1.001, 2, 10], ids=str)
def test_exponential(base):
    def exponential(n):
        power = np.float64(base) ** n
        return power.prod(axis=1) - power.sum(axis=1) + n.shape[1] - 1

    report = failing(exponential)
    assert list(report.violations) == ["growth"]


def test_faster_than_any_polynomial_but_slower_than_exponential():
    def quasi_polynomial(n):
        return np.exp(np.log1p(ThresholdPairs()(n)) ** 2 / 8) - 1

    assert "growth" in failing(quasi_polynomial).violations


@pytest.mark.parametrize("power", [6, 20, 30])
def test_a_high_power_is_still_polynomial(power):
    assert "growth" not in check_admissible(Powers(power), max_count=10).violations


def test_not_a_number_is_found():
    report = failing(lambda n: 1 - (n**2).sum(axis=1) / n.sum(axis=1) ** 2)  # Gini, but 0 / 0 for the empty set
    assert report.violations["non-negativity"].sets == ((0, 0, 0),)
    assert "F(0, 0, 0) = nan" in str(report)


def test_rounding_is_forgiven():
    assert check_admissible(lambda n: n.sum(axis=1) ** 3.0 - (n**3.0).sum(axis=1) + 1e-16 * np.sin(n[:, 0]))
    assert check_admissible(lambda n: ThresholdPairs()(n / 3) * 0.1)


def test_a_kink_far_out_is_found_by_sampling():
    # Pairs, but not more than the 50th of each class: admissible in every set small enough to look at exhaustively.
    report = failing(lambda n: ThresholdPairs()(np.minimum(n, 50)))
    assert list(report.violations) == ["supermodularity"]
    assert max(report.violations["supermodularity"].sets[3]) > 50


def test_the_same_seed_gives_the_same_report():
    def kink(n):
        return ThresholdPairs()(np.minimum(n, 50))

    assert check_admissible(kink) == check_admissible(kink, random_state=0)
    assert check_admissible(kink, random_state=np.random.default_rng(0)) == check_admissible(kink)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"n_classes": 1}, "n_classes is 1"),
        ({"max_count": 0}, "max_count is 0"),
        ({"n_samples": -1}, "n_samples is -1"),
    ],
)
def test_arguments_of_the_check(argument, message):
    with pytest.raises(ValueError, match=message):
        check_admissible(Gini(), **argument)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0, 10),
            st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(lambda p: sum(map(bool, p)) > 1),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_any_polynomial_of_mixed_terms_is_admissible(terms):
    report = check_admissible(Polynomial(terms), max_count=30, n_samples=500)
    assert report, report
