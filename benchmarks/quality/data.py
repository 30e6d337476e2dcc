"""The tasks: rows to fit and rows to test, prices, and the average bills to compare at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import frugalforest as ff

MOST_TESTED = 10_000
SLOW = 5_000  # rows to fit of the data sets with many classes or columns, where every method takes longest


@dataclass(frozen=True)
class Source:
    """Where a task comes from."""

    file: str
    levels: tuple[float, ...]  # average bills to compare at
    most_fitted: int = 20_000
    one_class: int | None = None  # this class against the rest


UNIT = (1, 2, 3, 4, 6, 8, 12, 20)
SOURCES = {
    "miniboone_tiny": Source("miniboone_tiny", UNIT),
    "miniboone_sub5044": Source("miniboone_sub5044", UNIT),
    "covertype": Source("covtype", UNIT, one_class=1),
    "covertype, 7 classes": Source("covtype", UNIT, most_fitted=SLOW),
    "cifar": Source("cifar10_kmeans400", (2, 4, 8, 16, 32, 64, 120, 200), most_fitted=SLOW),
    "spambase": Source("spambase", UNIT),
    "mfeat_pix": Source("mfeat_pix", (2, 4, 6, 8, 12, 20, 40, 80)),
    "sensorless": Source("sensorless", UNIT, most_fitted=SLOW),
    "dna": Source("dna", (1, 2, 3, 4, 6, 10, 20, 40)),
    "heart": Source("heart_cleveland", (2, 4, 8, 20, 50, 100, 150, 250)),
    "hepatitis": Source("hepatitis", (2, 4, 6, 8, 12, 16, 24, 32)),
    "pima": Source("pima", (1, 2, 4, 8, 12, 18, 25, 35)),
    "bupa": Source("bupa", (4, 6, 8, 10, 13, 16, 20, 25)),
}


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to fit (and to choose with), rows to test once, prices, and the bills to compare at."""

    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    costs: ff.FeatureCosts
    levels: tuple[float, ...]

    @property
    def budgets(self) -> tuple[float, ...]:
        """What methods are asked for: the levels, the middles between them, and one beyond."""
        middles = np.sqrt(np.multiply(self.levels[:-1], self.levels[1:]))
        return tuple(sorted([*self.levels, *middles.tolist(), 1.5 * self.levels[-1]]))


def load_task(name: str, seed: int) -> Task:
    """Two thirds of the rows to fit, at most so many, the rest to test; the images of cifar keep their parts."""
    source = SOURCES[name]
    data = ff.datasets.load(source.file)
    X, y = np.asarray(data.X, dtype=np.float64), _labels(data, source)
    costs = data.feature_costs or ff.FeatureCosts.unit(X.shape[1])
    order = np.random.default_rng([seed, len(y)]).permutation(len(y))
    n_fit = min(2 * len(y) // 3, source.most_fitted)
    fit, test = order[:n_fit], order[n_fit:]
    if "is_test" in data.extras:
        is_test = data.extras["is_test"].astype(bool)[order]
        fit, test = order[~is_test][:n_fit], order[is_test]
    test = test[:MOST_TESTED]
    return Task(name, X[fit], y[fit], X[test], y[test], costs, source.levels)


def _labels(data: Any, source: Source) -> Any:
    if "y_binary" in data.extras:
        return np.asarray(data.extras["y_binary"]).astype(int)
    numbers = np.unique(np.asarray(data.y), return_inverse=True)[1]
    return numbers if source.one_class is None else (numbers == source.one_class).astype(int)
