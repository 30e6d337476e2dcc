"""Curves: the corners that are computed, the lines that are drawn, and what happens without matplotlib."""

import sys

import matplotlib
import numpy as np
import pytest

import frugalforest as ff
from frugalforest.evaluation import CostCurve
from frugalforest.plotting import CostCurveDisplay, curve_data, draw_curve

matplotlib.use("Agg")
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def curve_of(cost, error, total_cost=10.0, baseline_error=0.5) -> CostCurve:
    n = len(cost)
    costs, errors = np.array(cost, dtype=float), np.array(error, dtype=float)
    return CostCurve(costs, errors, np.arange(1, n + 1), np.zeros(n, np.intp), ("one",), total_cost, baseline_error)


@pytest.fixture
def curve() -> CostCurve:
    """The point of cost 3 is dearer than the one of cost 2 and no better."""
    return curve_of([1, 2, 3, 5], [0.4, 0.2, 0.3, 0.1])


@pytest.fixture(scope="module")
def fitted():
    data = ff.datasets.load_breast_cancer()
    forest = ff.BudgetForestClassifier(feature_costs=data.feature_costs, n_estimators=5, random_state=0)
    return forest.fit(data.X[:400], data.y[:400]), data.X[400:], data.y[400:]


# ---- what is drawn


def test_the_staircase_goes_from_the_free_answer_down_the_frontier(curve):
    data = curve_data(curve)
    np.testing.assert_array_equal(data.cost, [0, 1, 2, 5, 5.75])
    np.testing.assert_array_equal(data.error, [0.5, 0.4, 0.2, 0.1, 0.1])
    assert data.total_cost == 10


def test_every_corner_is_the_error_that_the_curve_gives_at_that_cost(curve):
    data = curve_data(curve)
    np.testing.assert_array_equal(curve.error_at(data.cost), data.error)


def test_the_last_step_ends_where_everything_is_bought():
    assert curve_data(curve_of([9.5], [0.1])).cost[-1] == 10
    assert curve_data(curve_of([1.0], [0.1])).cost[-1] == 1.15


@pytest.mark.parametrize("curve", [curve_of([], []), curve_of([1, 2], [0.6, 0.5])])
def test_without_a_useful_point_the_free_answer_is_all_there_is(curve):
    data = curve_data(curve)
    np.testing.assert_array_equal(data.cost, [0, 10])
    np.testing.assert_array_equal(data.error, [0.5, 0.5])


def test_free_features_make_a_step_at_cost_zero():
    np.testing.assert_array_equal(curve_data(curve_of([0, 4], [0.3, 0.2])).cost, [0, 0, 4, 4.6])


# ---- how it is drawn


def test_draw_curve_draws_the_corners_as_steps(curve):
    ax = draw_curve(curve, color="black", label="mine")
    (line,) = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), curve_data(curve).cost)
    np.testing.assert_array_equal(line.get_ydata(), curve_data(curve).error)
    assert (line.get_drawstyle(), line.get_color(), line.get_label()) == ("steps-post", "black", "mine")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("average cost per prediction", "error")
    assert ax.get_xlim() == (0, 5.75)
    assert ax.get_ylim() == (0, pytest.approx(0.525))


def test_the_axis_on_top_is_the_share_of_the_total(curve):
    ax = draw_curve(curve)
    (share,) = ax.child_axes
    assert share.get_xlabel() == "% of the cost of reading everything"
    ax.figure.canvas.draw()
    assert share.get_xlim() == pytest.approx((0, 57.5))


def test_several_curves_share_the_axes_and_all_of_them_are_seen(curve):
    ax = draw_curve(curve)
    assert draw_curve(curve_of([8], [0.05], baseline_error=0.6), ax=ax) is ax
    assert len(ax.get_lines()) == 2
    assert len(ax.child_axes) == 1
    assert ax.get_xlim() == (0, pytest.approx(9.2))
    assert ax.get_ylim() == (0, pytest.approx(0.63))


def test_a_curve_without_costs_can_be_drawn(tmp_path):
    ax = draw_curve(curve_of([0, 0], [0.2, 0.1], total_cost=0.0))
    assert not ax.child_axes
    ax.figure.savefig(tmp_path / "free.png")


def test_the_curve_draws_itself(curve):
    ax = pyplot.subplots()[1]
    assert curve.plot(ax) is ax
    assert len(ax.get_lines()) == 1


# ---- the display


def test_display_keeps_what_it_drew(curve):
    display = CostCurveDisplay(curve, name="mine").plot()
    assert display.ax_.figure is display.figure_
    assert display.line_ is display.ax_.get_lines()[0]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["mine"]


def test_display_without_a_name_has_no_legend(curve):
    assert CostCurveDisplay(curve).plot().ax_.get_legend() is None


def test_display_from_estimator_measures_on_the_rows_given(fitted, tmp_path):
    model, X, y = fitted
    ax = pyplot.subplots()[1]
    display = ff.CostCurveDisplay.from_estimator(model, X, y, ax=ax, color="green")
    measured = ff.evaluation.cost_curve(model, X, y)
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.line_.get_xdata(), curve_data(measured).cost)
    assert (display.line_.get_label(), display.line_.get_color()) == ("BudgetForestClassifier", "green")
    assert ff.CostCurveDisplay.from_estimator(model, X, y, ax=ax, name="again").line_.get_label() == "again"
    display.figure_.savefig(tmp_path / "curve.png")


def test_without_matplotlib_one_sentence_says_what_to_do(curve, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'needs matplotlib.*pip install "frugalforest\[plot\]"'):
        draw_curve(curve)
