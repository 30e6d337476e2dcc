"""compare_selectors: honest splits, the pick, the table and the picture."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import RepeatedStratifiedKFold

import frugalforest as ff
from frugalforest.evaluation.resampling import corrected_interval, monte_carlo_interval
from frugalforest.plotting import comparison_data
from frugalforest.selection import AUCSelector, FixedSelector, ShallowTreeSelector, compare_selectors

matplotlib.use("Agg")

COSTS = ff.FeatureCosts([1, 0.5, 1, 2, 0.5, 1])
FOREST = ff.StandardForestClassifier(n_estimators=30, random_state=0)
SELECTORS = {
    "AUC": AUCSelector(xi_grid=[0, 1], n_forest_trees=30, random_state=0),
    "STS": ShallowTreeSelector(xi=1, n_estimators=20, n_forest_trees=30, random_state=0),
}


@pytest.fixture(scope="module")
def data():
    return make_classification(150, 6, n_informative=3, n_redundant=0, random_state=1)


@pytest.fixture(scope="module")
def comparison(data):
    return compare_selectors(*data, COSTS, [1, 3], selectors=SELECTORS, estimator=FOREST, n_splits=3, random_state=5)


def test_every_selector_meets_every_budget_on_every_split(comparison):
    frame = comparison.to_frame()
    assert len(frame) == (2 + 1) * 2 * 3
    assert (frame["cost"] <= frame["budget"]).all()
    assert comparison.budgets == [1, 3]


def test_rows_are_what_a_fit_on_the_training_part_gives(comparison, data):
    X, y = data
    train, test = next(iter(RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=5).split(X, y)))
    selector = AUCSelector(3, feature_costs=COSTS, xi_grid=[0, 1], n_forest_trees=30, random_state=0)
    alone = ff.PanelClassifier(selector, FOREST).fit(X[train], y[train])
    row = next(r for r in comparison.rows if (r.selector, r.budget, r.split) == ("AUC", 3, 0))
    assert row.error == pytest.approx(1 - alone.score(X[test], y[test]))
    assert (row.cost, row.oob_error, row.xi) == (alone.cost_, alone.selector_.oob_error_, alone.selector_.xi_)


def test_the_pick_sees_out_of_bag_errors_only(comparison):
    for split in range(3):
        for budget in (1, 3):
            rows = {r.selector: r for r in comparison.rows if (r.budget, r.split) == (budget, split)}
            best = min((rows["AUC"], rows["STS"]), key=lambda r: (r.oob_error, r.cost))
            assert rows["pick"].error == best.error


def test_summary_and_best(comparison):
    summary = comparison.summary()
    for budget in (1, 3):
        means = {name: comparison.errors(name, budget).mean() for name in SELECTORS}
        assert means[comparison.best(budget)] == min(means.values())
        assert summary.loc[(budget, "AUC"), "error"] == pytest.approx(means["AUC"])
        assert summary.loc[budget]["error"].is_monotonic_increasing
        assert summary.loc[(budget, "AUC"), "mean_rank"] + summary.loc[(budget, "STS"), "mean_rank"] == 3
    model = comparison.classifier(3, estimator=FOREST)
    assert model.selector.budget == 3
    assert model.selector.feature_costs == COSTS


def test_picture(comparison, tmp_path):
    ax = comparison.plot()
    ax.figure.savefig(tmp_path / "comparison.png")
    assert [line.name for line in comparison_data(comparison)] == ["AUC", "STS", "pick"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["AUC", "STS", "pick"]
    matplotlib.pyplot.close("all")


def test_intervals_by_hand():
    errors = np.array([0.1, 0.2, 0.3])
    mean, half = corrected_interval(errors, test_share=0.5)
    assert mean == pytest.approx(0.2)
    assert half == pytest.approx(4.302653 * np.sqrt((1 / 3 + 0.5) * 0.01), rel=1e-5)
    assert monte_carlo_interval(errors) == pytest.approx((0.2, 1.96 * 0.1 / np.sqrt(3)))
    assert np.isnan(corrected_interval(errors[:1], 0.5)[1])
    assert np.isnan(monte_carlo_interval(errors[:1])[1])


def test_all_four_are_the_default(data):
    X, y = data
    result = compare_selectors(X[:60, :3], y[:60], None, [1], n_splits=2, estimator=FOREST)
    assert list(result.selectors) == ["STS", "AUC", "pFI", "FS"]
    assert result.feature_costs.total == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"budgets": []}, ValueError, "budgets is"),
        ({"budgets": [-1]}, ValueError, "budgets is"),
        ({"n_splits": 1}, ValueError, "n_splits is 1"),
        ({"selectors": {}}, ValueError, "selectors is empty"),
        ({"selectors": {"fixed": FixedSelector([0])}}, TypeError, r"selectors\['fixed'\] is .* a path over budgets"),
        ({"selectors": {"pick": AUCSelector()}}, ValueError, "name of the pick itself"),
        ({"selectors": {"a": AUCSelector(xi=-1)}}, ValueError, "xi is -1"),
    ],
)
def test_mistakes_are_named_before_any_work(data, options, error, message):
    with pytest.raises(error, match=message):
        compare_selectors(*data, **{"budgets": [1], **options})


def test_unknown_names_in_a_comparison(comparison):
    with pytest.raises(ValueError, match="nothing was compared as 'FS' at budget 3"):
        comparison.errors("FS", 3)
