"""The data of the study: training, validation and test rows of the paper's sizes, or of its shares; nine small sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import frugalforest as ff

SIZES = {  # rows to train, to choose with, to test; those of MiniBooNE are the paper's 35 : 15 : 50 of what there is
    "miniboone_tiny": (2000, 1000, 2000),  # as its authors split their sample
    "miniboone_sub5044": (1765, 757, 2522),
    "covertype": (36_603, 15_688, 58_101),
    "covertype, 7 classes": (36_603, 15_688, 58_101),
    "cifar": (19_761, 8468, 10_000),
}
UCI = (
    "house_votes_84",
    "sonar",
    "ionosphere",
    "dna",
    "boston_housing",
    "soybean_large",
    "pima",
    "wdbc",
    "mammographic_masses",
)
N_LEVELS = 10


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to train, to choose with and to test, each (X, y)."""

    name: str
    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    test: tuple[Any, Any]


@cache
def _table(name: str) -> tuple[Any, Any, Any]:
    """X, y, and which rows have to be test rows (None: any)."""
    if name == "cifar":  # the first five classes against the rest
        data = ff.datasets.load("cifar10_kmeans400")
        return data.X.astype(np.float32), np.asarray(data.extras["y_binary"]), data.extras["is_test"].astype(bool)
    if name.startswith("covertype"):  # class 2 against the rest
        data = ff.datasets.load("covtype")
        return data.X, data.y if name.endswith("classes") else (data.y == 1).astype(int), None
    data = ff.datasets.load(name)
    return data.X, data.y, None


def load_task(name: str, seed: int) -> Task:
    """Rows drawn anew for each seed (the paper's own draw is not published)."""
    X, y, is_test = _table(name)
    order = np.random.default_rng(seed).permutation(len(X))
    if is_test is not None:
        order = np.concatenate([order[~is_test[order]], order[is_test[order]]])
    parts = np.split(order[: sum(SIZES[name])], np.cumsum(SIZES[name])[:-1])
    return Task(name, *((X[rows], y[rows]) for rows in parts))


def load_complete(name: str) -> tuple[Any, Any]:
    """A small set as the appendix prepares it: ten levels, each pattern once, with its most common label."""
    data = ff.datasets.load(name)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    if name == "soybean_large":
        is_train = data.extras["is_train307"].astype(bool)
        X, y = X[is_train], y[is_train]
    if name == "mammographic_masses":  # the 830 complete ones
        is_complete = ~np.isnan(X).any(axis=1)
        X, y = X[is_complete], y[is_complete]
    if name == "boston_housing":
        y = np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
    levels = np.column_stack([_levels(column) for column in X.T])
    patterns, member = np.unique(levels, axis=0, return_inverse=True)
    labels = np.unique(y, return_inverse=True)[1]
    counts = np.zeros((len(patterns), labels.max() + 1))
    np.add.at(counts, (member.ravel(), labels), 1)
    return patterns, counts.argmax(axis=1)


def _levels(column: Any) -> Any:
    """Ten uniformly spaced levels; columns of few values stay as they are. A missing value is a level of its own."""
    known = column[~np.isnan(column)]
    if len(np.unique(known)) > N_LEVELS:
        edges = np.linspace(known.min(), known.max(), N_LEVELS + 1)[1:-1]
        column = np.where(np.isnan(column), np.nan, np.digitize(column, edges))
    return np.where(np.isnan(column), -1, column)
