"""Copies and pickles of runs: each goes on by itself, and as the run itself would."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import frugalforest as ff
from acquisition.ensembles import random_case, random_order, random_rule
from frugalforest.acquisition import Acquisition, FetchError
from frugalforest.selection import FixedSelector

NAMES = ["age", "glucose", "ldl", "sex"]
COSTS = ff.FeatureCosts([1, 4, 3, 1], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "ldl"], 2)})
X = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 4)), columns=NAMES)
Y = np.where(X.sum(axis=1) > 0, "ill", "well")

MODELS = {
    "one by one": lambda: ff.StandardForestClassifier(9, stop="label", feature_costs=COSTS, random_state=0),
    "panel": lambda: ff.PanelClassifier(FixedSelector(NAMES, feature_costs=COSTS), LogisticRegression()),
    "nodes": lambda: ff.SubmodularTreeClassifier(20, depth=2, feature_costs=COSTS),
}
WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda run: pickle.loads(pickle.dumps(run))}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]().fit(X, Y)


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def again(request):
    return request.param


def finish(run, row):
    while (feature := run.next_feature()) is not None:
        run.provide(feature, row[feature])
    return run


def test_each_goes_on_by_itself(model, again):
    run = model.start()
    run.provide(run.next_feature(), 0.5)
    before, asked = run.to_json(), run.next_feature()
    other = again(run)
    assert (other.to_json(), other.receipt(), other.spent) == (before, run.receipt(), run.spent)
    finish(other, X.iloc[1])
    assert other.is_over
    assert (run.to_json(), run.next_feature(), run.price(asked)) == (before, asked, run.next_price)
    assert finish(run, X.iloc[1]).receipt() == other.receipt()


def test_what_if(model):
    """The natural use: try several values of the next feature, and stay where one is."""
    run = model.start()
    feature = run.next_feature()
    for value in (-3.0, 0.0, 3.0):
        imagined = copy.copy(run)
        imagined.provide(feature, value)
        assert imagined.acquired == (feature,)
    assert len(run.receipt()) == 0


def test_copies_share_the_model(model):
    run = model.start()
    for other in (copy.copy(run), copy.deepcopy(run), copy.deepcopy([run, run])[0]):
        assert other._acquirer is run._acquirer
    first, second = copy.deepcopy([run, run])
    assert first is second


def test_at_every_step_of_any_ensemble(again):
    for seed in range(25):
        random = np.random.default_rng(seed)
        case = random_case(seed, n_rows=1)
        run = Acquisition(case.acquirer(random_order(random)), random_rule(random, case.costs))
        while (feature := run.next_feature()) is not None:
            choice = random.random()
            if choice < 0.2:
                run.refuse(feature)
            else:
                run.provide(feature, case.rows[0, feature], free=True if choice < 0.4 else None)
            other = again(run)
            assert (other.next_feature(), other.next_price) == (run.next_feature(), run.next_price)
            assert np.array_equal(other.probabilities, run.probabilities)
            assert np.array_equal(other.probability_bounds, run.probability_bounds)
            assert (other.spent, other.receipt(), other.prediction) == (run.spent, run.receipt(), run.prediction)
            run = other


# ---- errors


class Stubborn(Exception):
    """One of the many that a pickle cannot make again."""

    def __init__(self, code, reason):
        super().__init__(f"{reason} ({code})")


def failing(error):
    def fetch(feature):
        if feature == "glucose":
            raise error
        return {feature: X.iloc[0][feature], "remark": "none"}

    return fetch


@pytest.mark.parametrize(
    "error", [ConnectionError("line is dead"), Stubborn(5, "line is dead")], ids=["usual", "other"]
)
def test_errors_travel_with_everything(model, error):
    with pytest.raises(FetchError) as caught:
        model.predict_on_demand(failing(error))
    failed = caught.value
    failed.row, failed.others = 3, ((4, model.start()),)
    failed.add_note("This was row 3.")
    other = pickle.loads(pickle.dumps(failed))
    assert (str(other), other.feature, other.row) == (str(failed), "glucose", 3)
    assert other.__notes__ == ["This was row 3."]
    assert other.delivered == {"remark": "none"} or failed.delivered == {}
    assert other.run.receipt() == failed.run.receipt()
    assert "line is dead" in str(other.cause)
    assert other.__cause__ is other.cause
    assert isinstance(other.cause, type(error) if isinstance(error, OSError) else RuntimeError)
    again = model.predict_on_demand(X.iloc[0].get, run=other.run, delivered=other.delivered)
    assert again.receipt() == finish(model.start(), X.iloc[0]).receipt()
    ((row, begun),) = other.others
    assert (row, len(begun.receipt())) == (4, 0)
