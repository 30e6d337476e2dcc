"""The tasks of the study: four simulated settings, and six real data sets with simulated prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import frugalforest as ff

SETTINGS = ("A", "B", "C", "D")
BUDGETS = (1.0, 2.0, 5.0, 10.0, 30.0)
N_TRAIN, N_TEST = 500, 5000
REAL = ("ada", "authorship", "qsar", "spam", "tokyo", "wdbc")
FILES = {"authorship": "analcatdata_authorship", "qsar": "qsar_biodeg", "spam": "spambase", "tokyo": "tokyo1"}
METHODS = ("STS", "AUC", "pFI", "FS")  # of the paper
VARIANTS = ("STS features", "STS paper")  # of STS: base trees limited otherwise, and its rule as printed
REAL_SHARES = (0.05, 0.1, 0.2, 0.4, 0.7)  # budgets of real sets, of the cost of everything; the paper chose its own


@dataclass(frozen=True, eq=False)
class Task:
    """Training and test rows, prices, and budgets."""

    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    costs: ff.FeatureCosts
    budgets: tuple[float, ...]


def simulated(setting: str, repetition: int) -> Task:
    """Training rows differ from repetition to repetition; population, prices and test rows stay, as in the paper."""
    X, y, costs = ff.datasets.make_jagdhuber(setting, N_TRAIN, random_state=1 + repetition)
    X_test, y_test, _ = ff.datasets.make_jagdhuber(setting, N_TEST, random_state=0)
    return Task(setting, X, y, X_test, y_test, costs, BUDGETS)


def real(name: str, repetition: int) -> Task:
    """A random split 2/3 : 1/3; prices uniform on [0.1, 1], drawn once for each data set."""
    data = ff.datasets.load(FILES.get(name, name))
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    if name == "authorship":  # the majority class, 317 of 841, against the rest
        y = (y == 0).astype(int)
    order = np.random.default_rng([repetition, len(y)]).permutation(len(y))
    train, test = np.split(order, [2 * len(y) // 3])
    prices = np.random.default_rng([REAL.index(name), 458]).uniform(0.1, 1, X.shape[1])
    costs = ff.FeatureCosts(prices)
    budgets = tuple(round(share * costs.total, 2) for share in REAL_SHARES)
    return Task(name, X[train], y[train], X[test], y[test], costs, budgets)


def load_task(name: str, repetition: int) -> Task:
    return simulated(name, repetition) if name in SETTINGS else real(name, repetition)


def methods_of(name: str) -> tuple[str, ...]:
    """What is run on a task: variants of STS are compared on the settings alone."""
    return (*METHODS, *VARIANTS) if name in SETTINGS else METHODS
