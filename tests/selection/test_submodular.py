"""SubmodularSelector: the best panel for a trade-off, a budget, or a cost function of one's own."""

from __future__ import annotations

import copy
import itertools
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import frugalforest as ff
from frugalforest.selection.min_norm_point import minimise
from frugalforest.selection.redundancy import JointInformation, OverlapDescent
from frugalforest.selection.set_function import GroupCost, NotSubmodularWarning, TradedOff
from frugalforest.selection.solvers import CutSolver, PointSolver
from frugalforest.selection.submodular import SubmodularSelector
from selection.submodular_cases import all_masks, best_by_brute_force, random_case

NAMES = ["age", "glucose", "insulin", "ldl", "town"]
COSTS = ff.FeatureCosts(
    [1, 2, 2, 4, 0.5], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 3)}
)


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    sick = random.integers(0, 2, 500)
    X = pd.DataFrame(random.normal(size=(500, 4)) + np.outer(sick, [0.3, 2, 1, 1]), columns=NAMES[:4])
    X["town"] = np.where(random.random(500) < 0.1 + 0.3 * sick, "Rome", "Oslo")
    return X, np.where(sick, "ill", "well")


# ---- three ways to the same set


@pytest.mark.parametrize("start", range(0, 500, 100))
def test_cut_minimum_norm_point_and_brute_force_agree(start):
    """500 problems of up to 14 features, overlapping groups, half of them full of ties: one answer, to the feature."""
    for seed in range(start, start + 100):
        case = random_case(seed, coarse=seed % 2 == 0)
        wanted = best_by_brute_force(case)
        by_cut = CutSolver(case.costs).best_set(case.information, case.tradeoff)
        by_point = minimise(TradedOff(GroupCost(case.costs), case.information, case.tradeoff))
        assert np.array_equal(by_cut, wanted), seed
        assert np.array_equal(by_point.mask, wanted), seed
        assert by_point.value == pytest.approx(case.objective(wanted), abs=1e-9)


# ---- one trade-off


def test_a_fit_minimises_its_objective(data):
    for tradeoff in (10.0, 13.6, 30.0, 100.0):
        selector = SubmodularSelector(tradeoff, feature_costs=COSTS).fit(*data)
        values = COSTS.of_rows(all_masks(5)) - tradeoff * all_masks(5) @ selector.information_
        assert selector.cost_ - tradeoff * selector.information_[selector.support_].sum() == pytest.approx(values.min())
        assert selector.cost_ == COSTS.of(selector.support_)
        assert selector.tradeoff_ == tradeoff


def test_both_solvers_choose_the_same(data):
    for tradeoff in (10.0, 13.6, 30.0, 100.0):
        cut, point = (
            SubmodularSelector(tradeoff, feature_costs=COSTS, solver=solver).fit(*data)
            for solver in ("min-cut", "min-norm-point")
        )
        assert cut.selected_ == point.selected_
        assert cut.cost_ == point.cost_


def test_any_price_is_paid_without_a_tradeoff(data):
    X = data[0].assign(constant=1.0)
    selector = SubmodularSelector().fit(X, data[1])
    assert selector.selected_ == NAMES
    assert selector.tradeoff_ == math.inf
    assert selector.information_[-1] == 0


def test_permuting_columns_permutes_the_choice(data):
    X, y = data
    found = SubmodularSelector(20.0, feature_costs=COSTS).fit(X, y)
    turned = SubmodularSelector(20.0, feature_costs=COSTS).fit(X[NAMES[::-1]], y)
    assert turned.selected_ == found.selected_[::-1]
    assert turned.cost_ == found.cost_


def test_a_cheap_copy_is_preferred_and_a_dear_one_left_when_redundancy_counts():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 300)
    useful = y + random.normal(size=300)
    X = np.column_stack([useful, useful])
    both = SubmodularSelector(100.0, feature_costs=[2, 1]).fit(X, y)
    one = SubmodularSelector(100.0, feature_costs=[2, 1], redundancy=1.0).fit(X, y)
    assert both.selected_ == [0, 1]
    assert one.selected_ == [1]


def test_frames_arrays_and_polars_give_the_same(data):
    X, y = data
    codes = X.assign(town=(X["town"] == "Rome") * 1.0)
    found = SubmodularSelector(20.0, feature_costs=COSTS).fit(codes, y)
    for other in (codes.to_numpy(), pl.from_pandas(codes)):
        again = SubmodularSelector(20.0, feature_costs=COSTS).fit(other, y)
        assert np.array_equal(again.support_, found.support_)
        assert np.array_equal(again.information_, found.information_)


# ---- paths and budgets


def test_the_path_has_the_choice_for_every_tradeoff(data):
    path = SubmodularSelector(feature_costs=COSTS).path(*data)
    for tradeoff in [*path.tradeoffs[:-1], *(path.tradeoffs[:-1] * 1.01), 1e6]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="SubmodularSelector has chosen no features")
            fitted = SubmodularSelector(float(tradeoff), feature_costs=COSTS).fit(*data)
        assert np.array_equal(path.mask_at(tradeoff), fitted.support_)


def test_a_budget_picks_the_largest_set_of_the_path_that_fits(data):
    path = SubmodularSelector(feature_costs=COSTS).path(*data)
    for budget in (0.5, 1.0, 1.5, 5.4, 5.5, 6.5, 12.0, 100.0):
        fitted = SubmodularSelector(budget=budget, feature_costs=COSTS).fit(*data)
        sets = [path.mask(i) for i in range(len(path)) if COSTS.of(path.mask(i)) <= budget]
        assert np.array_equal(fitted.support_, sets[-1])
        assert fitted.cost_ <= budget
        assert np.array_equal(path.mask_at(fitted.tradeoff_), fitted.support_)


def test_a_tradeoff_limits_what_a_budget_buys(data):
    limited = SubmodularSelector(12.0, budget=100.0, feature_costs=COSTS).fit(*data)
    alone = SubmodularSelector(12.0, feature_costs=COSTS).fit(*data)
    assert limited.selected_ == alone.selected_
    assert limited.tradeoff_ == 12.0
    tight = SubmodularSelector(100.0, budget=0.5, feature_costs=COSTS).fit(*data)
    assert tight.cost_ == 0.5


# ---- a cost function of one's own


def test_a_function_that_is_a_price_list_gives_the_same(data):
    for tradeoff in (10.0, 13.6, 30.0):
        listed = SubmodularSelector(tradeoff, feature_costs=COSTS).fit(*data)
        called = SubmodularSelector(tradeoff, feature_costs=COSTS.of, solver="min-norm-point").fit(*data)
        assert called.selected_ == listed.selected_
        assert called.cost_ == listed.cost_
        assert not hasattr(called, "feature_costs_")
    budgeted = SubmodularSelector(budget=6.5, feature_costs=COSTS.of, solver="min-norm-point").fit(*data)
    assert budgeted.selected_ == SubmodularSelector(budget=6.5, feature_costs=COSTS).fit(*data).selected_


def test_a_discount_for_quantity(data):
    def cost(mask):
        return 3 * math.sqrt(mask.sum())

    selector = SubmodularSelector(10.0, feature_costs=cost, solver="min-norm-point").fit(*data)
    values = [cost(mask) - 10 * selector.information_[mask].sum() for mask in all_masks(5)]
    assert np.array_equal(selector.support_, all_masks(5)[int(np.argmin(values))])
    assert selector.cost_ == cost(selector.support_)


def test_a_refit_with_prices_forgets_the_function_and_the_other_way_round(data):
    selector = SubmodularSelector(20.0, feature_costs=COSTS, redundancy=0.3).fit(*data)
    selector.set_params(feature_costs=COSTS.of, solver="min-norm-point", redundancy=0.0).fit(*data)
    assert not hasattr(selector, "feature_costs_")
    assert not hasattr(selector, "objective_trace_")
    selector.set_params(feature_costs=COSTS).fit(*data)
    assert selector.feature_costs_ == COSTS


def thomas_as_printed(mask):
    """Eq. (5) with C_f = 5 and one hyperedge of the first four features, W = 2."""
    used = mask[:4].sum()
    return 5.0 * mask.sum() - (2.0 * used if used > 1 else 0.0)


def test_a_function_that_is_not_submodular_is_shown_its_counterexample(data):
    selector = SubmodularSelector(30.0, feature_costs=thomas_as_printed, solver="min-norm-point", random_state=0)
    shown = (
        r"not submodular.* f\(\{0\}\) = 5, f\(\{0, 1\}\) = 6, f\(\{0, 2\}\) = 6, f\(\{0, 1, 2\}\) = 9: feature 2 adds 1"
    )
    with pytest.warns(NotSubmodularWarning, match=shown) as caught:
        selector.fit(*data)
    assert caught[0].filename == __file__
    with pytest.warns(NotSubmodularWarning, match=shown):
        selector.path(*data)


# ---- redundancy


def random_descent(seed):
    case = random_case(seed, 9, coarse=False)
    random = np.random.default_rng(seed)
    m, worth = case.costs.n_features, case.information
    shares = np.triu(random.random((m, m)) * (random.random((m, m)) < 0.6), 1)
    overlap = (shares + shares.T) * np.minimum.outer(worth, worth)
    solver = CutSolver(case.costs)
    joint = JointInformation(np.arange(m), worth, overlap)
    return OverlapDescent(worth, joint, solver, solver.prices()), case


@pytest.mark.parametrize("seed", range(60))
def test_redundancy_never_ends_worse_than_it_starts(seed):
    descent, case = random_descent(seed)
    for tradeoff in (1.0, 4.0, 20.0, math.inf):
        start = descent.solver.best_set(case.information, tradeoff)
        found, trace = descent.improve(tradeoff)
        assert trace[0] == descent.objective(start, tradeoff)
        assert trace[-1] == descent.objective(found, tradeoff)
        assert all(later < earlier for earlier, later in itertools.pairwise(trace))


@pytest.mark.parametrize("seed", range(30))
def test_bounds_are_below_the_joint_information_and_touch_it(seed):
    descent, case = random_descent(seed)
    masks = all_masks(case.costs.n_features)
    present = masks[np.random.default_rng(seed).integers(len(masks))]
    for price in descent.prices:
        bound = descent.joint.bound(present, price)
        assert bound[present].sum() == pytest.approx(descent.joint(present), abs=1e-12)
        assert all(bound[mask].sum() <= descent.joint(mask) + 1e-12 for mask in masks)


def test_redundancy_finds_the_best_set_mostly():
    found = wanted = 0
    for seed in range(100):
        descent, case = random_descent(seed)
        values = [descent.objective(mask, 4.0) for mask in all_masks(case.costs.n_features)]
        found += descent.improve(4.0)[1][-1] <= min(values) + 1e-9
        wanted += 1
    assert found >= 0.85 * wanted


@pytest.mark.parametrize("seed", range(20))
def test_a_budget_with_redundancy_holds_and_beats_the_path(seed):
    descent, case = random_descent(seed)
    path = descent.solver.path(case.information)
    for budget in np.quantile(path.cost, [0.3, 0.6, 1.0]).tolist():
        start = path.mask(path.within(budget))
        if not start.any():
            continue
        low = float(path.tradeoffs[path.within(budget)])
        found, tradeoff, trace = descent.improve_within(budget, start, low, math.inf)
        assert case.costs.of(found) <= budget
        assert descent.joint(found) >= descent.joint(start)
        assert trace[-1] == descent.objective(found, tradeoff)


def test_redundancy_of_zero_overlaps_changes_nothing():
    case = random_case(5, coarse=False)
    m = case.costs.n_features
    solver = CutSolver(case.costs)
    joint = JointInformation(np.arange(m), case.information, np.zeros((m, m)))
    found, trace = OverlapDescent(case.information, joint, solver, solver.prices()).improve(4.0)
    assert np.array_equal(found, solver.best_set(case.information, 4.0))
    assert len(trace) == 1


def test_redundancy_with_a_function_of_ones_own(data):
    options = {"tradeoff": 20.0, "redundancy": 1.0}
    listed = SubmodularSelector(feature_costs=COSTS, **options).fit(*data)
    called = SubmodularSelector(feature_costs=COSTS.of, solver="min-norm-point", **options).fit(*data)
    assert called.selected_ == listed.selected_
    assert np.allclose(called.objective_trace_, listed.objective_trace_)
    assert len(listed.objective_trace_) > 1


def test_prices_of_a_function_are_those_of_the_list():
    for listed, called in zip(CutSolver(COSTS).prices(), PointSolver(GroupCost(COSTS)).prices(), strict=True):
        assert np.allclose(called, listed)


def test_redundancy_pays_on_pixels(data_dir):
    digits = ff.datasets.load("mfeat_pix", data_dir)
    rows = np.random.default_rng(0).permutation(len(digits.X))
    train, test = rows[:1000], rows[1000:]
    errors = []
    for redundancy in (0.0, 0.3):
        selector = SubmodularSelector(budget=20, redundancy=redundancy).fit(digits.X[train], digits.y[train])
        forest = ff.StandardForestClassifier(30, random_state=0)
        forest.fit(selector.transform(digits.X[train]), digits.y[train])
        errors.append(1 - forest.score(selector.transform(digits.X[test]), digits.y[test]))
        assert selector.cost_ <= 20
    assert errors[1] < 0.6 * errors[0]


# ---- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tradeoff": -1}, "tradeoff is -1; expected a finite number of at least 0 or None"),
        ({"tradeoff": math.nan}, "tradeoff is nan"),
        ({"tradeoff": math.inf}, "tradeoff is inf"),
        ({"tradeoff": "all"}, "tradeoff is 'all'"),
        ({"budget": -0.1}, "budget is -0.1; expected a finite number of at least 0 or None"),
        ({"solver": "cut"}, "solver is 'cut'; expected one of 'min-cut', 'min-norm-point'"),
        ({"information": "gini"}, "information is 'gini'; expected one of 'histogram', 'knn'"),
        ({"n_bins": 1}, "n_bins is 1; expected a whole number from 2 to 255"),
        ({"redundancy": -0.5}, "redundancy is -0.5"),
        ({"max_vertices": 0}, "max_vertices is 0"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"random_state": "a"}, "random_state is 'a'"),
        ({"feature_costs": [1, 2]}, "feature_costs has 2 entries but X has 5 columns"),
        ({"feature_costs": [1, -2, 3, 4, 5]}, "must be finite and >= 0, got 1 = -2"),
        ({"feature_costs": dict.fromkeys(NAMES[:4], 1)}, "missing: town"),
        ({"feature_costs": len}, r"feature_costs is a callable, and solver='min-cut' needs a price list; .*min-norm"),
        (
            {"feature_costs": lambda mask: 3.0, "solver": "min-norm-point"},
            r"feature_costs\(no features\) is 3; .* must be 0 for the empty set",
        ),
        (
            {"feature_costs": lambda mask: np.nan if mask.sum() > 2 else 0.0, "solver": "min-norm-point"},
            r"feature_costs\(\{0, 1, 2\}\) is nan; a cost function must be finite for every set of features",
        ),
    ],
)
def test_bad_parameters_are_refused_and_leave_the_selector_as_it_was(data, parameters, message):
    selector = SubmodularSelector(20.0, feature_costs=COSTS).fit(*data)
    before = copy.copy(vars(selector))
    selector.set_params(**parameters)
    with pytest.raises(ValueError, match=message) as caught:
        selector.fit(*data)
    assert len(str(caught.value).splitlines()) == 1
    assert {name: value for name, value in vars(selector).items() if name.endswith("_")} == {
        name: value for name, value in before.items() if name.endswith("_")
    }
    with pytest.raises(ValueError, match=message):
        clone(selector).path(*data)
    with pytest.raises(NotFittedError):
        clone(selector).get_support()


def test_neighbours_and_missing_values(data):
    X = data[0].drop(columns="town")
    X.iloc[3, 1] = np.nan
    SubmodularSelector().fit(X, data[1])
    with pytest.raises(ValueError, match="information='knn' takes no missing values, and there are some in: glucose"):
        SubmodularSelector(information="knn").fit(X, data[1])


def test_features_that_tell_nothing_are_reported():
    X, y = np.ones((20, 3)), np.tile([0, 1], 10)
    with pytest.warns(UserWarning, match="has chosen no features: no feature tells anything about y") as caught:
        selector = SubmodularSelector().fit(X, y)
    assert caught[0].filename == __file__
    assert selector.selected_ == []
    assert selector.cost_ == 0
    assert len(selector.path(X, y)) == 1


def test_an_empty_choice_says_why(data):
    with pytest.warns(UserWarning, match=r"no feature is worth its price at tradeoff 0\.1\. Raise it; path\(X, y\)"):
        assert SubmodularSelector(0.1, feature_costs=COSTS).fit(*data).selected_ == []
    with pytest.warns(UserWarning, match=r"budget 0\.4 buys none of the best sets\. Raise it; path\(X, y\) shows"):
        assert SubmodularSelector(budget=0.4, feature_costs=COSTS).fit(*data).selected_ == []
    with pytest.warns(UserWarning, match="no feature is worth its price at tradeoff 0"):
        assert SubmodularSelector(0, budget=9.0, feature_costs=COSTS, redundancy=0.5).fit(*data).selected_ == []


def test_redundancy_among_too_many_features(data, monkeypatch):
    monkeypatch.setattr("frugalforest.selection.submodular._MAX_COMPARED", 3)
    with pytest.raises(ValueError, match="and 5 come into question, more than 3; use redundancy=0, a smaller tradeoff"):
        SubmodularSelector(redundancy=0.3, feature_costs=COSTS).fit(*data)
    SubmodularSelector(10.0, redundancy=0.3, feature_costs=COSTS).fit(*data)  # two come into question


# ---- a scikit-learn citizen


@pytest.mark.filterwarnings("ignore:SubmodularSelector has chosen no features", "ignore:No features were selected")
@parametrize_with_checks(
    [
        SubmodularSelector(),
        SubmodularSelector(budget=3.0),
        SubmodularSelector(redundancy=0.3),
        SubmodularSelector(information="knn", random_state=0),
        SubmodularSelector(100.0, solver="min-norm-point"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_in_a_pipeline(data):
    X, y = data
    X = X.drop(columns="town")
    selector = SubmodularSelector(budget=7.0, feature_costs=COSTS.subset(NAMES[:4]))
    pipe = make_pipeline(selector, ff.StandardForestClassifier(10, random_state=0)).fit(X, y)
    assert pipe[0].cost_ <= 7
    assert pipe[-1].n_features_in_ == pipe[0].support_.sum()
    assert list(pipe[0].get_feature_names_out()) == pipe[0].selected_
    assert pipe.score(X, y) > 0.8


def test_results_do_not_depend_on_threads(data):
    one, two = (SubmodularSelector(20.0, feature_costs=COSTS, n_jobs=n).fit(*data) for n in (1, 2))
    assert np.array_equal(one.information_, two.information_)


def test_a_missing_label_column_is_named():
    with pytest.raises(ValueError, match="requires y to be passed"):
        SubmodularSelector().fit(np.ones((3, 2)), None)
