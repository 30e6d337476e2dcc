"""Pages about a small forest, with names that mean harm."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import frugalforest as ff
from frugalforest.report import Measured, compare_page, fit_page

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "a" * 90, "plain", "&lt;"]


def hostile_data(n_rows=300):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, len(HOSTILE)))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * X[:, 2] > 0, "<b>yes</b>", "no & never")
    return pa.table({name: X[:, i] for i, name in enumerate(HOSTILE)}), y


@pytest.fixture(scope="session")
def fitted():
    """Model, test rows, and their labels."""
    X, y = hostile_data()
    costs = ff.FeatureCosts([1.0, 2.0, 4.0, 1.0, 50.0], feature_names=HOSTILE, groups={"g": ff.Group(HOSTILE[:2], 1.5)})
    model = ff.BudgetForestClassifier(20.0, feature_costs=costs, n_estimators=10, price_power=[1, 0], random_state=0)
    return model.fit(X.slice(0, 200), y[:200]), X.slice(200), y[200:]


@pytest.fixture(scope="session")
def measured(fitted):
    return Measured.of(*fitted)


@pytest.fixture(scope="session")
def page(fitted, measured):
    model, X, _ = fitted
    return fit_page(
        model,
        measured,
        X,
        title=f"What it costs to know {HOSTILE[0]}",
        settings={"Table": HOSTILE[1], "Command": f"frugalforest fit {HOSTILE[0]}"},
        budget=20.0,
        method="budget-forest",
        trials=[("panel", 3.0, 0.2), (HOSTILE[0], 8.0, 0.3)],
        model_file=HOSTILE[1],
        seed=0,
    )


class Line:
    """One line of a comparison."""

    def __init__(self, method, budget, cost, error, half, is_best=False, is_within=True):
        self.method, self.budget, self.cost, self.error, self.half = method, budget, cost, error, half
        self.is_best, self.is_within = is_best, is_within


@pytest.fixture(scope="session")
def comparison():
    lines = [
        Line(HOSTILE[0], 2.0, 1.5, 0.3, 0.1, is_best=True),
        Line(HOSTILE[0], 60.0, 40.0, 0.2, 0.05),
        Line("panel", 2.0, 2.0, 0.35, float("nan")),
        Line("panel", 60.0, 59.0, 0.1, 0.02, is_best=True),
        Line("standard-forest", 2.0, 58.0, 0.1, 0.02, is_within=False),
    ]
    return compare_page(lines, title=HOSTILE[1], settings={"Table": HOSTILE[0]}, free_error=0.45, total_cost=59.5)
