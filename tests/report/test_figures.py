"""What the figures show, computed by hand once more."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import frugalforest as ff
from frugalforest.report.bills_figure import bills_figure
from frugalforest.report.calibration_figure import calibration_figure
from frugalforest.report.confusion import confusion_counts, confusion_table
from frugalforest.report.curve_figure import curve_figure
from frugalforest.report.flow_figure import DONE, MORE, _cut, flow_figure, purchases_of
from frugalforest.report.measuring import Measured, money_by_feature, wilson_interval
from frugalforest.report.svg import Scale, round_ticks
from frugalforest.report.svg import fitted as fitted_text
from frugalforest.report.value_figure import feature_values


def test_money_by_feature_adds_up_to_the_bill():
    random = np.random.default_rng(0)
    for _ in range(20):
        m = int(random.integers(2, 7))
        groups = {
            f"g{i}": ff.Group(
                random.choice(m, random.integers(1, m + 1), replace=False).tolist(), float(random.integers(0, 9))
            )
            for i in range(3)
        }
        costs = ff.FeatureCosts(random.integers(0, 9, m), groups=groups)
        mask = random.random((30, m)) < 0.5
        money = money_by_feature(costs, mask)
        np.testing.assert_allclose(money.sum(axis=1), costs.of_rows(mask))
        assert (money[~mask] == 0).all()


def test_a_group_is_shared_by_those_who_use_it():
    costs = ff.FeatureCosts([1, 2, 4], groups={"g": ff.Group([0, 1], 10)})
    money = money_by_feature(costs, np.array([[True, True, False], [True, False, True]]))
    assert money.tolist() == [[6, 7, 0], [11, 0, 4]]


def test_wilson():
    assert wilson_interval(5, 50) == pytest.approx((0.0435, 0.2136), abs=1e-4)
    assert wilson_interval(0, 20)[0] == 0
    assert wilson_interval(20, 20)[1] == 1


def test_measured(fitted, measured):
    model, X, y = fitted
    assert measured.error == pytest.approx(1 - model.score(X, y))
    assert measured.cost == pytest.approx(model.acquisition_cost(X).mean())
    assert measured.spent.sum() == pytest.approx(measured.cost)
    assert measured.free_error == min(np.mean(y == label) for label in model.classes_)


def test_curve(fitted, measured):
    model, X, y = fitted
    data = curve_figure(model, measured, X, [("panel", 1.0, 0.5), ("own", 2.0, 0.4)], "own", 20.0)
    curve = ff.evaluation.cost_curve(model, X, y)
    assert sorted(error for _, error in data.steps) == sorted(curve.error.tolist())
    assert [cost for cost, _ in data.steps] == sorted(curve.cost.tolist())
    assert data.trials == (("panel", 1.0, 0.5), ("this one, validation", 2.0, 0.4))
    assert data.chosen == (measured.cost, measured.error)


def test_a_long_curve_is_thinned():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 2))
    y = (X[:, 0] > 0).astype(int)
    model = ff.StandardForestClassifier(300, random_state=0).fit(X, y)
    data = curve_figure(model, Measured.of(model, X, y), X, [], "m", None)
    assert 30 <= len(data.steps) <= 60
    assert data.chosen in data.steps  # all of the trees


def test_bills(measured):
    data = bills_figure(measured, 20.0)
    assert sum(share for *_, share in data.bars) == pytest.approx(1)
    low, high, share = data.bars[-1]
    inside = (measured.bills >= low) & (measured.bills < high)
    assert share == pytest.approx(inside.mean())


def test_purchases_are_those_of_the_runs(fitted):
    model, X, _ = fitted
    orders = purchases_of(model, X, 0)
    mask = model.acquisition_mask(X)
    names = np.array(X.column_names)
    assert [sorted(order) for order in orders] == [sorted(names[row]) for row in mask]


def check_flow(data):
    """What flows in flows out, and every row ends."""
    for node, n in data.counts.items():
        into = sum(k for (_, sink), k in data.links.items() if sink == node)
        out = sum(k for (source, _), k in data.links.items() if source == node)
        assert node[0] == 0 or into == n
        assert node[1] in (DONE, MORE) or out == n
    assert sum(n for (_, name), n in data.counts.items() if name in (DONE, MORE)) == data.n_played


def test_flow():
    random = np.random.default_rng(0)
    names = [f"f{i}" for i in range(12)]
    orders = [random.permutation(names)[: random.integers(0, 13)].tolist() for _ in range(200)]
    data = flow_figure(orders, 500)
    check_flow(data)
    for most in range(1, 13):
        cut = _cut(data, most)
        check_flow(cut)
        assert cut.n_steps <= most
    few = flow_figure([["a", "b"], ["a"], []], 3)
    assert few.counts == {(0, "a"): 2, (1, "b"): 1, (2, DONE): 1, (1, DONE): 1, (0, DONE): 1}
    assert few.links == {((0, "a"), (1, "b")): 1, ((1, "b"), (2, DONE)): 1, ((0, "a"), (1, DONE)): 1}


def test_a_flow_without_purchases():
    assert flow_figure([[], []], 2).n_steps == 0


def test_worth(fitted, measured):
    values = feature_values(*fitted[:1], measured, fitted[1], 0)
    assert [value.spent for value in values] == sorted((value.spent for value in values), reverse=True)
    worth = {value.name: value.worth for value in values}
    assert max(worth, key=worth.get) in measured.names[:2]
    assert {value.name for value in values} == {
        n for n, b in zip(measured.names, measured.bought, strict=True) if b > 0
    }


def with_probabilities(p, happened):
    p, happened = np.asarray(p), np.asarray(happened)
    labels = (p > 0.5).astype(int)
    mask = np.ones((len(p), 1), dtype=bool)
    probabilities = np.stack([1 - p, p], axis=1)
    costs = ff.FeatureCosts([1.0])
    return Measured(
        happened.astype(int), labels, probabilities, np.array([0, 1]), mask, costs.of_rows(mask), costs, ("a",), 0.5
    )


def test_calibration():
    random = np.random.default_rng(0)
    p = random.random(5000)
    data = calibration_figure(with_probabilities(p, random.random(5000) < p))
    assert sum(n for *_, n in data.groups) == 5000
    assert len(data.groups) == 10
    assert sum(low <= predicted <= high for predicted, _, low, high, _ in data.groups) >= 8
    assert data.brier == pytest.approx(1 / 6, abs=0.01)
    assert len(calibration_figure(with_probabilities(np.full(40, 0.25), np.arange(40) % 4 == 0)).groups) == 1


def test_confusion(measured):
    counts = confusion_counts(measured)
    assert np.array_equal(counts, confusion_matrix(measured.y, measured.labels, labels=measured.classes))
    assert "&lt;b&gt;yes&lt;/b&gt;" in confusion_table(measured)


def test_many_classes_are_listed_by_confusions():
    random = np.random.default_rng(0)
    y, labels = random.integers(0, 9, 400), random.integers(0, 9, 400)
    classes, costs, mask = np.arange(9), ff.FeatureCosts([1.0]), np.ones((400, 1), dtype=bool)
    many = Measured(y, labels, np.full((400, 9), 1 / 9), classes, mask, costs.of_rows(mask), costs, ("a",), 0.5)
    table = confusion_table(many)
    assert table.count("<tr>") == 11
    assert calibration_figure(many).what == "probability of the label given"


def test_scales():
    assert round_ticks(0, 1, 5) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert round_ticks(0, 323.97, 5) == [0, 100, 200, 300]
    linear, ratio = Scale(0, 10, 100, 200), Scale(1, 100, 0, 100, by_ratio=True)
    assert (linear(5), linear(-3), linear(99)) == (150, 100, 200)
    assert ratio(10) == pytest.approx(50)
    assert ratio.ticks() == [1, 2, 5, 10, 20, 50, 100]
    assert fitted_text("short", 100) == "short"
    assert fitted_text("a long name", 40) == "a lo…"
