"""Estimators show themselves in notebooks as scikit-learn's do."""

import numpy as np
import pytest

import frugalforest as ff

MODELS = [
    ff.BudgetForestClassifier(5.0, n_estimators=3),
    ff.StandardForestClassifier(3),
    ff.PenalizedForestClassifier(0.1, n_estimators=3),
    ff.CostLassoClassifier(0.1),
    ff.PanelClassifier(ff.selection.FixedSelector([0]), ff.StandardForestClassifier(3)),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_html_of_an_estimator(model):
    name = type(model).__name__
    unfitted = model._repr_html_()
    assert name in unfitted
    assert "Not fitted" in unfitted
    X = np.random.default_rng(0).normal(size=(60, 3))
    fitted = model.fit(X, X[:, 0] > 0)._repr_html_()
    assert name in fitted
    assert "Not fitted" not in fitted
    assert set(model._repr_mimebundle_()) == {"text/plain", "text/html"}
