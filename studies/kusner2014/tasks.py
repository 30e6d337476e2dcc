"""The tasks of the study: four of classification, two of ranking; rows to fit, to choose with, and to test once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import frugalforest as ff
from frugalforest.evaluation.ranking import precision_until_first_miss

CLASSIFICATION = ("miniboone", "covertype", "cifar", "spambase")
RANKING = ("mq2008", "yahoo-like")
TASKS = (*CLASSIFICATION, *RANKING)
SIZES = {  # rows to fit, to choose with, to test
    "miniboone": (2000, 1000, 2000),
    "covertype": (6000, 3000, 20_000),
    "cifar": (5000, 2500, 10_000),
    "spambase": (2000, 1000, 1601),
}
BUDGETS = {
    "miniboone": (2, 4, 6, 10, 15, 25),
    "covertype": (2, 4, 6, 10, 15, 25, 40),
    "cifar": (5, 10, 25, 50, 90, 150, 250),
    "spambase": (4, 8, 12, 20, 30, 45),
    "mq2008": (2, 4, 8, 15, 30, 46),
    "yahoo-like": (10, 50, 100, 250, 500, 1500),
}
DOCUMENTS = 20  # per simulated query


@dataclass(frozen=True, eq=False)
class Part:
    """Rows, labels, and for ranking the query of each row."""

    X: Any
    y: Any
    queries: Any = None

    def loss(self, probabilities: Any) -> float:
        """Error, or 1 - precision@5 by the probability of relevance: smaller is better."""
        if self.queries is None:
            return float(np.mean(probabilities.argmax(axis=1) != self.y))
        return 1 - precision_until_first_miss(self.y, probabilities[:, 1], self.queries)


@dataclass(frozen=True, eq=False)
class Task:
    """Three parts, prices, and average bills to compare at."""

    name: str
    train: Part
    validation: Part
    test: Part
    costs: ff.FeatureCosts
    budgets: tuple[float, ...]


def load_task(name: str, seed: int) -> Task:
    if name == "mq2008":
        return _letor(seed)
    if name == "yahoo-like":
        return _simulated(seed)
    X, y = _rows(name)
    order = _order(name, y, seed)
    parts = np.split(order[: sum(SIZES[name])], np.cumsum(SIZES[name])[:2])
    train, validation, test = (Part(X[rows], y[rows]) for rows in parts)
    return Task(name, train, validation, test, ff.FeatureCosts(np.ones(X.shape[1])), BUDGETS[name])


def _rows(name: str) -> tuple[Any, Any]:
    files = {"miniboone": "miniboone_tiny", "covertype": "covtype", "cifar": "cifar10_kmeans400"}
    data = ff.datasets.load(files.get(name, name))
    if name == "covertype":  # class 2 against the rest
        return data.X.astype(np.float32), (np.asarray(data.y) == 1).astype(int)
    if name == "cifar":  # the first five classes against the rest
        return data.X.astype(np.float32), np.asarray(data.extras["y_binary"])
    return np.asarray(data.X, dtype=np.float64), np.asarray(data.y)


def _order(name: str, y: Any, seed: int) -> Any:
    random = np.random.default_rng([seed, len(y)])
    if name == "cifar":  # its test images stay test images
        test = np.asarray(ff.datasets.load("cifar10_kmeans400").extras["is_test"], dtype=bool)
        n_fit = sum(SIZES[name][:2])
        return np.concatenate([random.permutation(np.flatnonzero(~test))[:n_fit], np.flatnonzero(test)])
    if name == "miniboone" and seed == 0:  # the split of its authors
        return np.argsort(ff.datasets.load("miniboone_tiny").extras["subset"], kind="stable")
    return random.permutation(len(y))


def _letor(seed: int) -> Task:
    """Fold of LETOR: three subsets to fit, one to choose with, one to test. Relevant: label above 0."""
    data = ff.datasets.load("mq2008")
    subset, queries = np.asarray(data.extras["subset"]), np.asarray(data.extras["qid"])
    fold = seed % 5
    roles = [(fold + i) % 5 + 1 for i in range(5)]
    masks = np.isin(subset, roles[:3]), subset == roles[3], subset == roles[4]
    X, y = np.asarray(data.X, dtype=np.float64), (np.asarray(data.y) > 0).astype(int)
    train, validation, test = (Part(X[mask], y[mask], queries[mask]) for mask in masks)
    costs = ff.FeatureCosts(np.ones(X.shape[1]))
    return Task("mq2008", train, validation, test, costs, BUDGETS["mq2008"])


def _simulated(seed: int) -> Task:
    """519 features with the prices of Yahoo!'s: the dearer, the less noisy a view of one of thirty causes.

    Relevance of a document depends on twelve causes, two of them only for one kind of query each.
    """
    costs = ff.datasets.load_costs("yahoo_ltr")
    prices = costs.own
    random = np.random.default_rng([519, 0])  # the world is drawn once
    cause = random.integers(0, 30, len(prices))
    noise = random.uniform(0.7, 1.3, len(prices)) * 2.5 / np.log2(2 + prices)
    effect = np.where(np.arange(30) < 12, random.normal(size=30), 0.0)
    draws = np.random.default_rng([seed, 520])
    train, validation, test = (_queries(draws, n, cause, noise, effect) for n in (200, 100, 300))
    prices = ff.FeatureCosts(prices)
    return Task("yahoo-like", train, validation, test, prices, BUDGETS["yahoo-like"])


def _queries(random: Any, n_queries: int, cause: Any, noise: Any, effect: Any) -> Part:
    n = n_queries * DOCUMENTS
    causes = random.normal(size=(n, 30))
    causes[:, 0] = np.repeat(random.choice([-1.5, 1.5], n_queries), DOCUMENTS)  # the kind of query
    first_kind = causes[:, 0] > 0
    worth = causes[:, 1:] @ effect[1:] + np.where(first_kind, 2 * causes[:, 13], 2 * causes[:, 14])
    worth = worth + random.normal(size=n)
    X = causes[:, cause] + noise * random.normal(size=(n, len(cause)))
    relevant = (worth > np.quantile(worth, 0.75)).astype(int)
    return Part(X.astype(np.float32), relevant, np.repeat(np.arange(n_queries), DOCUMENTS))
