"""What every run does, whether a forest asks for one feature at a time or a panel for all of them together."""

from __future__ import annotations

import json

import numpy as np
import pytest

import frugalforest as ff
from frugalforest.selection import FixedSelector

NAMES = ["age", "glucose", "ldl"]
COSTS = ff.FeatureCosts([1, 4, 3], feature_names=NAMES, groups={"blood": ff.Group(["glucose", "ldl"], 2)})


def forest():
    return ff.StandardForestClassifier(5, stop="all", feature_costs=COSTS, random_state=0)


def panel():
    return ff.PanelClassifier(FixedSelector(NAMES, feature_costs=COSTS), forest())


@pytest.fixture(params=[forest, panel], ids=["one by one", "in stages"])
def model(request):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=NAMES)
    return request.param().fit(X, np.where(X.sum(axis=1) > 0, "ill", "well"))


def test_the_books_agree_with_each_other(model):
    run = model.start()
    first, price = run.next_feature(), run.next_price
    run.provide(first, np.float32(0.5))
    assert (run.acquired, run.spent, run.price(first)) == ((first,), price, 0.0)
    free, refused = (name for name in NAMES if name != first)
    run.provide(free, np.nan, free=True)
    run.refuse(refused, note="closed")
    assert run.is_over
    assert run.known_before == (free,)
    assert run.refused == (refused,)
    assert run.spent == price
    steps = list(run.receipt())
    assert [(step.feature, step.how, step.value, step.cost, step.note) for step in steps] == [
        (first, "bought", 0.5, price, None),
        (free, "free", None, 0.0, None),
        (refused, "refused", None, 0.0, "closed"),
    ]
    assert steps[-1].probabilities == dict(zip(["ill", "well"], run.probabilities.tolist(), strict=True))
    assert repr(run) == f"<{type(run).__name__}: 3 features known, {price:g} spent, over>"


def test_a_value_is_taken_once(model):
    run = model.start()
    run.provide("age", 1)
    run.provide("age", 1.0)
    run.refuse("ldl")
    run.refuse("ldl", note="again")
    assert len(run.receipt()) == 2
    with pytest.raises(ValueError, match=r"'age' is known already: 1, now 2\. A run takes each value once; start ano"):
        run.provide("age", 2)
    with pytest.raises(ValueError, match=r"'age' is known already: 1, now None\."):
        run.provide("age", None)
    with pytest.raises(ValueError, match=r"'age' is known already: 1, so it cannot be refused now\."):
        run.refuse("age")
    for value in (0, None):  # bought and missing is something else than not to be had
        with pytest.raises(ValueError, match=rf"'ldl' was refused, and is read as missing; now it is {value}\."):
            run.provide("ldl", value)
    assert len(run.receipt()) == 2
    with pytest.raises(ValueError, match=r"There is no feature 'bmi'; this model knows age, glucose, ldl\."):
        run.price("bmi")


def test_a_run_goes_on_from_its_text(model):
    run = model.start()
    run.provide(run.next_feature(), 0.25)
    again = model.resume(run.to_json())
    assert again.to_json() == run.to_json()
    assert again.receipt() == run.receipt()
    assert again.next_feature() == run.next_feature()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "another"}, "another model, or with other prices: resume it with that one"),
        ({"version": 3}, "in a version known here"),
        ({"steps": [{"feature": "age", "how": "stolen", "value": 1}]}, "not a run .*: a feature was 'stolen'"),
        ({"steps": [{"feature": "age", "how": "free"}]}, "not a run that frugalforest wrote: step 1 has no value"),
        ({"steps": [{"feature": "age"}]}, "step 1 has no how, value"),
        ({"features": "others"}, "another model, with other features, categories or classes: resume it with that one"),
    ],
)
def test_other_texts_are_refused(model, change, message):
    with pytest.raises(ValueError, match=message):
        model.resume(json.dumps(json.loads(model.start().to_json()) | change))


def test_a_value_that_the_model_cannot_take_leaves_the_run_as_it_was():
    from sklearn.linear_model import LogisticRegression

    X = np.random.default_rng(0).normal(size=(90, 3))
    cascade = ff.FrugalCascadeClassifier(
        estimator=LogisticRegression(), n_stages=2, n_folds=2, feature_costs=[1, 4, 3], random_state=0
    ).fit(X, (X @ [1, 2, 2] > 0).astype(int))
    run = cascade.start()
    panel = run.next_features()
    *others, last = panel
    for feature in others:
        run.provide(feature, 0.5)
    before = run.to_json()
    with pytest.raises(ValueError, match="cannot do without"):
        run.provide(last, np.nan)
    assert (run.to_json(), run.next_features(), run.spent) == (before, (last,), sum(s.cost for s in run.receipt()))
    run.provide(last, 0.5)
    assert last in run.acquired
