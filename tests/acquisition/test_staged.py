"""Runs of models that read features in stages: what they ask for, in which order, and what it costs."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

import frugalforest as ff
from frugalforest.acquisition.staged import End, StagedRun
from frugalforest.data import FeatureEncoder
from frugalforest.estimators.submodular_tree import SubmodularTreeClassifier, SubmodularTreeRegressor

NAMES = ["age", "bmi", "glucose", "insulin", "ldl"]
COSTS = ff.FeatureCosts(
    [1, 2, 15.51, 20.68, 5],
    feature_names=NAMES,
    groups={"blood": ff.Group(["glucose", "insulin", "ldl"], 2.10)},
)


class TwoStages:
    """Buys a and b, then c if their sum is positive; answers with the share of positive ones."""

    def __init__(self, costs):
        self.costs = costs
        self.encoder = FeatureEncoder(4, ("a", "b", "c", "d"), {}, np.zeros(4, dtype=bool))
        self.classes = np.array(["no", "yes"])
        self.fingerprint = "two stages"

    def wanted(self, values, known_mask):
        first = np.array([0, 1])
        if not known_mask[first].all():
            return first[~known_mask[first]]
        needs_c = np.nansum(values[first]) > 0 and not known_mask[2]
        return np.array([2] if needs_c else [], dtype=np.intp)

    def answer(self, values, known_mask):
        share = np.mean(values[known_mask] > 0) if known_mask.any() else 0.5
        return np.array([1 - share, share])

    def outlook(self, values, known_mask):
        short, long = np.array([1, 1, 0, 0], dtype=bool), np.array([1, 1, 1, 0], dtype=bool)
        if known_mask[:2].all():
            return [End(1.0, long if np.nansum(values[:2]) > 0 else short)]
        return [End(0.25, short), End(0.75, long)]


@pytest.fixture
def run():
    costs = ff.FeatureCosts([3, 1, 4, 9], feature_names=["a", "b", "c", "d"], groups={"g": ff.Group(["a", "c"], 2)})
    return StagedRun(TwoStages(costs))


# ---- the run itself


def test_a_stage_is_asked_for_together_cheapest_first(run):
    assert run.next_features() == ("a", "b")
    assert (run.next_feature(), run.next_price) == ("b", 1.0)
    run.provide("b", 1.5)
    assert (run.next_feature(), run.next_price) == ("a", 5.0)
    run.provide("a", 1.0)
    assert run.next_features() == ("c",)
    assert run.next_price == 4.0  # the step it shares with a is paid
    run.provide("c", -1)
    assert run.is_over
    assert (run.next_feature(), run.next_features(), run.next_price) == (None, (), 0.0)
    assert run.spent == 10.0
    assert run.acquired == ("b", "a", "c")
    assert run.prediction == "yes"
    assert np.allclose(run.probabilities, [1 / 3, 2 / 3])


def test_any_feature_of_the_stage_is_bought_and_any_other_is_free(run):
    run.provide("a", 1)
    run.provide("d", 7)
    run.provide("b", -5)
    assert run.is_over
    assert run.acquired == ("a", "b")
    assert run.known_before == ("d",)
    assert run.spent == 6.0
    assert run.price("d") == 0
    assert run.price("c") == 4.0


def test_what_is_free_pays_for_no_group(run):
    run.provide("a", 1, free=True)
    assert run.spent == 0
    run.provide("b", 1)
    assert run.next_price == 6.0
    run.provide("d", 1, free=False)
    assert run.spent == 10.0


def test_a_refused_feature_is_read_as_missing_and_not_asked_for_again(run):
    run.refuse("a", note="no appointment")
    assert run.next_features() == ("b",)
    run.provide("b", 2)
    run.provide("c", None)
    assert run.is_over
    assert run.refused == ("a",)
    assert run.spent == 7.0
    assert run.receipt()[0].note == "no appointment"
    assert [step.how for step in run.receipt()] == ["refused", "bought", "bought"]


def test_values_are_taken_once(run):
    run.provide("a", 1)
    run.provide("a", 1.0)
    run.refuse("b")
    run.refuse("b")
    with pytest.raises(ValueError, match=r"Feature 'a' is known already: 1, now 2\. A run takes each value once"):
        run.provide("a", 2)
    assert len(run.receipt()) == 2


def test_unknown_features_are_refused(run):
    for feature in ("x", 0, None, True):
        with pytest.raises(ValueError, match=r"There is no feature .*; this model knows a, b, c, d"):
            run.provide(feature, 1)


def test_expected_cost(run):
    assert run.expected_cost() == pytest.approx(0.25 * 6 + 0.75 * 10)
    run.provide("b", 9)
    assert run.expected_cost() == pytest.approx(0.25 * 5 + 0.75 * 9)
    run.provide("c", 1, free=True)
    assert run.expected_cost() == pytest.approx(5)
    run.provide("a", 1)
    assert run.expected_cost() == 0


def test_receipts_say_what_each_step_made_of_the_answer(run):
    run.provide("a", 1)
    run.provide("b", 1)
    run.provide("c", -1)
    receipt = run.receipt()
    assert receipt.total == run.spent == sum(step.cost for step in receipt)
    assert receipt[1].probabilities == {"no": 0.0, "yes": 1.0}
    assert "total" in str(receipt)
    assert list(receipt.to_frame()["feature"]) == ["a", "b", "c"]


def test_json_goes_on_where_it_was(run):
    run.provide("b", np.float32(1.5))
    run.refuse("a", note="late")
    run.provide("d", None, free=True)
    text = run.to_json()
    again = StagedRun.from_json(text, run._acquirer)
    assert str(again.receipt()) == str(run.receipt())
    assert again.next_features() == run.next_features() == ("c",)
    assert again.to_json() == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c | {"model": "another"}, "started by another model, or with other prices"),
        (lambda c: c | {"steps": [{"feature": "a"}]}, "not a run that frugalforest wrote"),
        (lambda c: c | {"steps": [{"feature": "a", "how": "stolen", "value": 1}]}, "a feature was 'stolen'"),
        (lambda c: {"format": "other"}, "not a run that frugalforest wrote"),
    ],
)
def test_other_texts_are_refused(run, change, message):
    run.provide("a", 1)
    with pytest.raises(ValueError, match=message):
        StagedRun.from_json(json.dumps(change(json.loads(run.to_json()))), run._acquirer)


# ---- with trees of linear classifiers


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    import pandas as pd

    X = pd.DataFrame(random.normal(size=(400, 5)), columns=NAMES)
    signal = X["age"] + X["glucose"] * np.sign(X["bmi"]) + 0.3 * random.normal(size=400)
    return X, np.where(signal > 0, "ill", "well"), signal.to_numpy()


@pytest.fixture(scope="module")
def model(data):
    X, y, _ = data
    return SubmodularTreeClassifier(20, depth=3, feature_costs=COSTS).fit(X, y)


def test_runs_ask_for_the_mask_and_end_with_the_prediction(model, data):
    X, *_ = data
    X = X[:60].mask(np.random.default_rng(1).random((60, 5)) < 0.1)
    labels, mask, cost, chance = (
        f(X) for f in (model.predict, model.acquisition_mask, model.acquisition_cost, model.predict_proba)
    )
    for i in range(60):
        run = model.start()
        while (feature := run.next_feature()) is not None:
            run.provide(feature, X[feature].iloc[i])
        assert sorted(run.acquired) == sorted(np.array(NAMES)[mask[i]])
        assert run.spent == cost[i]
        assert run.prediction == labels[i]
        assert np.array_equal(run.probabilities, chance[i])


def test_nodes_are_stages(model, data):
    run, row = model.start(), data[0].iloc[3]
    tree = model.tree_
    assert np.array_equal(run.probabilities, model.prior_)
    assert set(run.next_features()) == set(np.array(NAMES)[tree.features_of(0)])
    while not run.is_over:
        for feature in run.next_features():
            run.provide(feature, row[feature])
        known = set(np.flatnonzero(np.isin(NAMES, run.acquired)))
        node, score = last_node(tree, row.to_numpy(), known)
        assert np.array_equal(run.probabilities, model.variant_.link.probabilities(np.array([node]), score)[0])
    assert tree.is_leaf(node)
    assert run.prediction == model.predict(data[0].iloc[[3]])[0]


def last_node(tree, row, known):
    """The last node on the way of a row all of whose features are known, and its scores."""
    node, last = 0, None
    while set(tree.features_of(node)) <= known:
        scores = tree.node_scores(node, row[None, :], np.zeros(1, dtype=np.intp))
        last = node, scores
        if tree.is_leaf(node):
            break
        node = int(tree.left[node] if tree.goes_left(node, scores)[0] else tree.right[node])
    return last


def test_the_expected_cost_is_the_average_bill_of_the_training_rows(model, data):
    assert model.start().expected_cost() == pytest.approx(model.acquisition_cost(data[0]).mean(), rel=1e-9)


def test_refused_features_are_read_as_training_means(model, data):
    run, row = model.start(), data[0].iloc[0].copy()
    while (feature := run.next_feature()) is not None:
        run.refuse(feature) if feature == "glucose" else run.provide(feature, row[feature])
    row["glucose"] = data[0]["glucose"].mean()
    expected = model.predict_proba(row.to_frame().T.astype(float))[0]
    assert np.allclose(run.probabilities, expected)
    assert "glucose" not in run.acquired


def test_fetching(model, data):
    X, *_ = data
    row = X.iloc[5]
    run = model.predict_on_demand(lambda feature: row[feature])
    assert run.prediction == model.predict(X.iloc[[5]])[0]
    known = model.predict_on_demand(lambda feature: row[feature], known={"glucose": row["glucose"]})
    assert known.prediction == run.prediction
    assert "glucose" not in known.acquired

    async def fetch(feature):
        await asyncio.sleep(0)
        return row[feature]

    assert model.predict_on_demand(fetch).spent == run.spent
    many = dict(model.predict_many_on_demand(lambda i, feature: X.at[i, feature], range(8), concurrency=2))
    assert [many[i].prediction for i in range(8)] == model.predict(X[:8]).tolist()


def test_fetching_goes_on_with_runs_of_the_same_model_only(model, data):
    X, y, _ = data
    run = model.start()
    run.provide(run.next_feature(), 0.5)
    row = X.iloc[0]
    ended = model.predict_on_demand(lambda feature: row[feature], run=model.resume(run.to_json()))
    assert ended.is_over
    other = SubmodularTreeClassifier(3, depth=1, feature_costs=COSTS).fit(X, y)
    with pytest.raises(ValueError, match="started by another model"):
        other.predict_on_demand(lambda feature: row[feature], run=run)


def test_a_source_that_fails(model, data):
    def broken(feature):
        raise OSError("lab closed")

    with pytest.raises(ff.FetchError, match="lab closed"):
        model.predict_on_demand(broken)
    run = model.predict_on_demand(broken, on_failure="refuse")
    assert run.is_over
    assert run.spent == 0


def test_regressors_predict_a_number(data):
    X, _, signal = data
    model = SubmodularTreeRegressor(20, depth=3, feature_costs=COSTS).fit(X, signal)
    for i in range(20):
        run = model.predict_on_demand(X.iloc[i].get)
        assert run.prediction == model.predict(X.iloc[[i]])[0]
        assert run.spent == model.acquisition_cost(X.iloc[[i]])[0]
        assert run.receipt()[0].probabilities == {}
    assert model.start().prediction == pytest.approx(signal.mean())
    with pytest.raises(AttributeError, match="predicts a number"):
        _ = run.probabilities
