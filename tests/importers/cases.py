"""Data with ties, duplicates, gaps and categories, rows at the edges of what a model tells apart, and the one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import frugalforest as ff
from frugalforest.ensemble import Ensemble
from frugalforest.importers import import_ensemble

ODD_NUMBERS = (0.0, -0.0, 1e-36, -1e-36, 1e-35, float(np.float32(1e-35)), -float(np.float32(1e-35)), 1e30, -1e30)


@dataclass(frozen=True)
class Answers:
    """What an imported model says about rows."""

    labels: np.ndarray  # (n_rows,)
    probabilities: np.ndarray  # (n_rows, n_classes)
    scores: np.ndarray  # (n_rows, n_classes)


def answers(ensemble: Ensemble, X: Any) -> Answers:
    scores, _ = ensemble.scores(ensemble.reading(ensemble.encoder.encode(X)))
    labels = ensemble.classes[ensemble.label_numbers(scores)]
    return Answers(labels, ensemble.probabilities(scores), scores)


def check_same(model: Any, X: Any, *, relative: float, labels: Any = None, probabilities: Any = None) -> Ensemble:
    """Import, and compare with the library on every row: labels exactly, probabilities to a relative error."""
    ensemble = import_ensemble(model)
    mine = answers(ensemble, X)
    theirs = np.ravel(model.predict(X) if labels is None else labels)
    np.testing.assert_array_equal(mine.labels, theirs)
    expected = model.predict_proba(X) if probabilities is None else probabilities
    # 1 - p is known to no more digits than p.
    np.testing.assert_allclose(mine.probabilities, expected, rtol=relative, atol=relative * 1e-3 + 2e-16)
    return ensemble


def check_infinity(model: Any, X: np.ndarray, *, stand_in: float) -> None:
    """Refused, but a large number gives the label that the library gives for infinity, row by row."""
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.where(X > 0, np.inf, -np.inf), X)
    on_demand = ff.OnDemand(model)
    with pytest.raises(ValueError, match=r"infinity .* Replace it by a large number"):
        on_demand.predict(np.abs(rows))
    labels = on_demand.predict(np.clip(rows, -stand_in, stand_in))
    np.testing.assert_array_equal(labels, np.ravel(model.predict(rows)))


def numbers(seed: int, n_rows: int = 300, n_features: int = 5, n_classes: int = 2, missing: float = 0.0) -> Any:
    """Numbers with many ties and duplicates, some columns on a grid, labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, ::2] = X[:, ::2].round(int(rng.integers(0, 2)))
    signal = X[:, 0] + X[:, 1] * X[:, 2 % n_features] + rng.normal(size=n_rows) / 2
    y = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def mirrored(n_classes: int = 2) -> Any:
    """Every pattern with every label equally often: scores tie, up to rounding at most."""
    X = np.repeat([[a, b, c] for a in range(3) for b in range(3) for c in range(2)], 2 * n_classes, axis=0).astype(
        float
    )
    return X, np.tile(np.repeat(np.arange(n_classes), 2), 18)


def edge_rows(ensemble: Ensemble, X: np.ndarray, seed: int, n_rows: int = 400, *, missing: bool = True) -> np.ndarray:
    """Rows of X with numbers replaced by a threshold, its neighbours in float32 and float64, odd numbers and NaN."""
    rng = np.random.default_rng(seed)
    rows = X[rng.integers(0, len(X), n_rows)].astype(np.float64)
    forest = ensemble.forest
    numeric = (forest.feature >= 0) & (forest.category_set < 0)
    odd = [*ODD_NUMBERS, *([np.nan] if missing else [])]
    for row in rows:
        for feature in rng.integers(0, X.shape[1], 3):
            thresholds = forest.threshold[numeric & (forest.feature == feature)]
            nearby = neighbours(rng.choice(thresholds)) if len(thresholds) else odd
            row[feature] = rng.choice(nearby if rng.random() < 0.7 else odd)
    return rows


def neighbours(threshold: float) -> list[float]:
    """A threshold and the numbers next to it in both precisions, as doubles; a nearly infinite one has none."""
    if abs(threshold) > 1e38:
        return [0.0]
    single = np.float32(threshold)
    below, above = np.float32(-np.inf), np.float32(np.inf)
    doubles = [np.nextafter(threshold, -np.inf), threshold, np.nextafter(threshold, np.inf)]
    return [float(x) for x in (*doubles, np.nextafter(single, below), single, np.nextafter(single, above))]


def mixed_frame(seed: int, n_rows: int = 400, *, missing: bool = True) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of numbers, text categories, whole-number categories and two-valued ones; labels 0, 1, 2."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "grey", "pink"], n_rows, p=[0.4, 0.25, 0.2, 0.1, 0.05]).astype(object)
    size = rng.choice([10, 20, 40, -7, 3], n_rows)
    width = rng.normal(size=n_rows).round(1)
    level = np.isin(colour, ["red", "blue"]).astype(float) + np.isin(size, [10, 3]) + width / 2
    y = np.digitize(level + rng.normal(size=n_rows) / 3, [0.4, 1.2])
    frame = pd.DataFrame({"colour": colour, "width": width, "size": size, "sort": rng.choice(["a", "b"], n_rows)})
    if missing:
        frame.loc[rng.random(n_rows) < 0.1, "colour"] = None
        frame.loc[rng.random(n_rows) < 0.1, "width"] = np.nan
    for name in ("colour", "size", "sort"):
        frame[name] = frame[name].astype("category")
    return frame, y
