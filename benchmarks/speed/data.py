"""The rows every competitor is timed on."""

from __future__ import annotations

import numpy as np

import frugalforest as ff


def covertype(n_rows: int = 36_603):
    """Seven kinds of forest, 54 features; a seeded sample of the 581,012 rows."""
    data = ff.datasets.load("covtype")
    rows = np.random.default_rng(0).permutation(len(data.X))[:n_rows]
    return data.X[rows].astype(np.float32), data.y[rows]


def sensorless():
    """58,509 x 48, 11 classes."""
    data = ff.datasets.load("sensorless")
    return data.X.astype(np.float32), data.y


def simulated(n_rows: int = 1_000_000, n_features: int = 50):
    """Normal features of which ten matter, two classes, noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    y = (X[:, :10].sum(axis=1) + 2 * rng.normal(size=n_rows) > 0).astype(np.int64)
    return X, y


DATA = {"covertype": covertype, "sensorless": sensorless, "simulated": simulated}
