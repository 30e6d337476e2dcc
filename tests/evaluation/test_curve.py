"""CostCurve: its questions, on a curve small enough to draw by hand."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import frugalforest as ff
from frugalforest.evaluation import CostCurve, cost_curve

matplotlib.use("Agg")


def curve(points, *, baseline=0.5, total=10.0):
    """points: (cost, error, n_trees, variant)."""
    cost, error, n_trees, variant = (np.array(column) for column in zip(*points, strict=True))
    return CostCurve(cost.astype(float), error.astype(float), n_trees, variant, ("a", "b"), total, baseline)


#   error
#   .5 o------+            the free answer
#   .4        o---+        (2, .4)
#   .3            |  x     (4, .3), and (5, .3) is dearer and no better
#   .1            o--+--o  (8, .1)
CURVE = curve([(8, 0.1, 5, 0), (2, 0.4, 1, 0), (4, 0.3, 2, 1), (5, 0.3, 3, 1), (3, 0.45, 2, 0), (1, 0.6, 1, 1)])
EMPTY = CURVE.take(np.zeros(0, np.intp))


def test_points():
    assert len(CURVE) == 6
    assert len(EMPTY) == 0


def test_the_frontier_is_what_nothing_cheaper_matches():
    frontier = CURVE.frontier()
    assert frontier.cost.tolist() == [2, 4, 8]
    assert frontier.error.tolist() == [0.4, 0.3, 0.1]
    assert frontier.n_trees.tolist() == [1, 2, 5]
    assert frontier.variant.tolist() == [0, 1, 0]
    assert frontier.total_cost == 10
    assert len(EMPTY.frontier()) == 0


def test_of_equal_points_the_frontier_keeps_the_smallest_forest():
    assert curve([(2, 0.4, 7, 0), (2, 0.4, 3, 1), (2, 0.45, 1, 0)]).frontier().n_trees.tolist() == [3]


def test_points_no_better_than_the_free_answer_are_not_on_the_frontier():
    assert len(curve([(1, 0.5, 1, 0), (2, 0.6, 2, 0)]).frontier()) == 0
    assert curve([(0, 0.4, 1, 0)]).frontier().cost.tolist() == [0]


def test_least_error_for_a_cost():
    assert CURVE.error_at(0) == 0.5
    assert CURVE.error_at(1.99) == 0.5
    assert CURVE.error_at(2) == 0.4
    assert CURVE.error_at(1e9) == 0.1
    assert CURVE.error_at([3, 4, 7.9, 8, np.inf]).tolist() == [0.4, 0.3, 0.3, 0.1, 0.1]
    assert CURVE.error_at([[0, 8]]).shape == (1, 2)
    assert EMPTY.error_at(3) == 0.5
    with pytest.raises(ValueError, match="error_at got NaN"):
        CURVE.error_at([1, np.nan])


def test_best_point_within_a_budget():
    assert CURVE.best_index(0.5) is None
    assert CURVE.best_index(1) == 5  # the only one, though worse than the free answer
    assert CURVE.best_index(3.5) == 1
    assert CURVE.best_index(6) == 2  # not (5, .3), which is dearer
    assert CURVE.best_index(np.inf) == 0
    assert EMPTY.best_index(np.inf) is None
    assert curve([(1, 0.2, 9, 0), (1, 0.2, 4, 1)]).best_index(1) == 1


def test_area_is_the_mean_error_over_costs():
    by_hand = (2 * 0.5 + 2 * 0.4 + 4 * 0.3 + 2 * 0.1) / 10
    assert CURVE.area() == pytest.approx(by_hand)
    assert CURVE.area(4) == pytest.approx((2 * 0.5 + 2 * 0.4) / 4)
    assert CURVE.area(1) == 0.5
    assert CURVE.area(20) == pytest.approx((10 * by_hand + 10 * 0.1) / 20)
    assert EMPTY.area() == 0.5
    grid = np.linspace(0, 10, 200_001)[:-1]
    assert CURVE.area() == pytest.approx(CURVE.error_at(grid).mean(), abs=1e-5)


@pytest.mark.parametrize("end", [0, -1, np.nan, np.inf])
def test_an_area_needs_an_end(end):
    with pytest.raises(ValueError, match=r"from cost 0 to up_to, which is .*; give a positive, finite cost"):
        CURVE.area(end)


def test_an_area_of_free_features_needs_an_end():
    with pytest.raises(ValueError, match="which is 0"):
        curve([(0, 0.1, 1, 0)], total=0.0).area()


def test_a_frame_has_a_row_for_each_point():
    frame = CURVE.to_frame()
    assert list(frame) == ["cost", "error", "n_trees", "variant"]
    assert frame["variant"].tolist() == ["a", "a", "b", "b", "a", "b"]
    assert frame["cost"].tolist() == CURVE.cost.tolist()
    assert len(EMPTY.to_frame()) == 0


def test_the_curve_of_several_forests_has_a_point_for_each_tree():
    joined = CostCurve.of_forests(
        [(np.array([0.3, 0.2]), np.array([1.0, 2.0])), (np.zeros(0), np.zeros(0)), (np.array([0.4]), np.array([0.5]))],
        ["x", "y", "z"],
        total_cost=4.0,
        baseline_error=0.5,
    )
    assert joined.error.tolist() == [0.3, 0.2, 0.4]
    assert joined.cost.tolist() == [1, 2, 0.5]
    assert joined.n_trees.tolist() == [1, 2, 1]
    assert joined.variant.tolist() == [0, 0, 2]
    assert joined.to_frame()["variant"].tolist() == ["x", "x", "z"]
    nothing = CostCurve.of_forests([], [], total_cost=4.0, baseline_error=0.5)
    assert len(nothing) == 0
    assert nothing.error_at(1) == 0.5


def test_a_curve_is_drawn_by_plotting():
    ax = CURVE.plot(color="black")
    assert ax.get_lines()[0].get_color() == "black"
    assert CURVE.plot(ax=ax) is ax
    matplotlib.pyplot.close(ax.figure)


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_curve_of_a_standard_forest(voting):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    y = np.where(X[:, 0] + X[:, 1] > 0, "b", "a")
    costs = ff.FeatureCosts([1, 2, 3, 4, 5], groups={"g": ff.Group([0, 3], 1.5)})
    model = ff.StandardForestClassifier(7, max_depth=2, voting=voting, feature_costs=costs, random_state=0)
    measured = cost_curve(model.fit(X[:200], y[:200]), X[200:], y[200:])
    assert measured.n_trees.tolist() == list(range(1, 8))
    assert measured.total_cost == costs.total
    assert (np.diff(measured.cost) >= 0).all()
    for n in (1, 4, 7):
        smaller = ff.StandardForestClassifier(**model.get_params()).set_params(n_estimators=n).fit(X[:200], y[:200])
        assert measured.error[n - 1] == pytest.approx(1 - smaller.score(X[200:], y[200:]))
        assert measured.cost[n - 1] == pytest.approx(smaller.acquisition_cost(X[200:]).mean())
    majority = max("ab", key=lambda label: np.sum(y[:200] == label))
    assert measured.baseline_error == np.mean(y[200:] != majority)
