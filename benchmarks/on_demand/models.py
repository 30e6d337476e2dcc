"""The ensembles that are read on demand, each fitted as its users would, on rows of one data set."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff

TREES = 100


def random_forest(X, y, seed: int) -> Any:
    return RandomForestClassifier(TREES, random_state=seed, n_jobs=2).fit(X, y)


def budget_forest(X, y, seed: int) -> Any:
    """BudgetRF without a limit: alpha and the number of trees by validation."""
    return ff.BudgetForestClassifier(alpha=[0, 4, 15], n_estimators=TREES, random_state=seed, n_jobs=2).fit(X, y)


def lightgbm(X, y, seed: int, **options) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=TREES, num_leaves=31, random_state=seed, n_jobs=2, verbose=-1, **options).fit(
        X, y
    )


def lazy_cegb(X, y, seed: int) -> Any:
    """LightGBM's cost-effective boosting: lazy feature costs only, the setting without known faults."""
    penalties = [1.0] * X.shape[1]
    return lightgbm(X, y, seed, cegb_tradeoff=0.03, cegb_penalty_feature_lazy=penalties)


def xgboost(X, y, seed: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=TREES, random_state=seed, n_jobs=2).fit(X, y)


MODELS = {
    "RandomForest": random_forest,
    "BudgetForest": budget_forest,
    "LightGBM": lightgbm,
    "LightGBM CEGB lazy": lazy_cegb,
    "XGBoost": xgboost,
}


def halves(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two random halves: rows to fit on, and rows to read."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[: n_rows // 2], order[n_rows // 2 :]
