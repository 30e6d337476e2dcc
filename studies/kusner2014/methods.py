"""The methods that are compared: each fits all its settings at once, and offers a model for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from studies.kusner2014.tasks import Task

import frugalforest as ff

DEPTHS = (2, 3, 5)  # that ASTC is tuned over; CSTC prunes
STEEPNESS = (1.0, 4.0, 16.0)  # that CSTC is tuned over
WIDE = 100  # columns; with more of them CSTC is tuned less, since it takes minutes:
STEEPNESS_WIDE = (4.0, 16.0)
TRADEOFFS_WIDE = np.geomspace(0.004, 3, 12)  # times the largest
MISER_TRADEOFFS = np.geomspace(1e-4, 0.1, 8)  # times the mean price


class Candidate(NamedTuple):
    """One model that a method can offer: its setting, and probabilities and bills of rows."""

    setting: str
    answer: Callable[[Any], tuple[Any, Any]]


def of_variants(model: Any, name: str = "") -> list[Candidate]:
    """All settings of a linear model."""

    def reader(variant: Any) -> Callable[[Any], tuple[Any, Any]]:
        def answer(X: Any) -> tuple[Any, Any]:
            probabilities, mask = variant.read(np.asarray(X))
            return probabilities, model.feature_costs_.of_rows(mask)

        return answer

    return [Candidate(f"{name}{variant.setting:.4g}", reader(variant)) for variant in model.variants_]


def of_budgets(model: Any, budgets: tuple[float, ...]) -> list[Candidate]:
    """What a model recommends for each budget."""

    def answer_of(chosen: Any) -> Callable[[Any], tuple[Any, Any]]:
        return lambda X: (chosen.predict_proba(X), chosen.acquisition_cost(X))

    return [Candidate(f"{budget:g}", answer_of(model.at_budget(budget))) for budget in budgets]


def fit(model: Any, task: Task) -> Any:
    return model.fit(task.train.X, task.train.y, eval_set=(task.validation.X, task.validation.y))


def submodular(task: Task, seed: int, soft: bool) -> list[Candidate]:
    candidates = []
    for depth in DEPTHS:
        model = fit(ff.SubmodularTreeClassifier(depth=depth, soft=soft, feature_costs=task.costs), task)
        candidates += of_variants(model, f"depth {depth}, ")
    return candidates


def largest_tradeoff(task: Task) -> float:
    """At which CSTC of depth 5 uses nothing, all nodes being alike: root of 5 * largest gradient per price."""
    Z = (task.train.X - task.train.X.mean(axis=0)) / np.maximum(task.train.X.std(axis=0), 1e-9)
    gradient = 2 * np.abs(Z.T @ (2.0 * task.train.y - 1)) / len(Z)
    return float(np.sqrt(5) * (gradient / task.costs.own).max())


def mixed_norm(task: Task, seed: int) -> list[Candidate]:
    is_wide = task.train.X.shape[1] > WIDE
    tradeoff = largest_tradeoff(task) * TRADEOFFS_WIDE if is_wide else "auto"
    candidates = []
    for steepness in STEEPNESS_WIDE if is_wide else STEEPNESS:
        model = fit(ff.MixedNormTreeClassifier(tradeoff, steepness=steepness, feature_costs=task.costs), task)
        candidates += of_variants(model, f"steepness {steepness:g}, ")
    return candidates


def lasso(task: Task, seed: int) -> list[Candidate]:
    return of_variants(fit(ff.CostLassoClassifier(feature_costs=task.costs), task))


def budget_forest(task: Task, seed: int) -> list[Candidate]:
    equal = np.ptp(task.costs.own) == 0
    model = ff.BudgetForestClassifier(
        max(task.budgets),
        feature_costs=task.costs,
        n_estimators=40,
        price_power=1.0 if equal else [1.0, 0.0],
        voting="hard" if task.train.queries is None else "soft",
        n_jobs=1,
        random_state=seed,
    )
    return of_budgets(fit(model, task), task.budgets)


def greedy_miser(task: Task, seed: int) -> list[Candidate]:
    """Trade-offs, learning rates and numbers of trees, as Nan et al. tuned it."""
    candidates = []
    for tradeoff in MISER_TRADEOFFS / task.costs.own.mean():
        for rate in (0.1, 0.3):
            for n_trees in (30, 100, 300):
                model = ff.GreedyMiserClassifier(
                    tradeoff, learning_rate=rate, n_estimators=n_trees, feature_costs=task.costs, n_jobs=1
                ).fit(task.train.X, task.train.y)
                candidates.append(Candidate(f"{tradeoff:.3g}, {rate:g}, {n_trees} trees", reader_of(model)))
    return candidates


def reader_of(model: Any) -> Callable[[Any], tuple[Any, Any]]:
    return lambda X: (model.predict_proba(X), model.acquisition_cost(X))


METHODS: dict[str, Callable[[Task, int], list[Candidate]]] = {
    "ASTC": lambda task, seed: submodular(task, seed, soft=False),
    "ASTC soft": lambda task, seed: submodular(task, seed, soft=True),
    "CSTC": mixed_norm,
    "l1": lasso,
    "GreedyMiser": greedy_miser,
    "BudgetRF": budget_forest,
}

SEEDS = {"miniboone": 10, "covertype": 10, "cifar": 5, "spambase": 10, "mq2008": 5, "yahoo-like": 5}
FEWER_SEEDS = {  # of methods that take minutes for one
    ("cifar", "CSTC"): 3,
    ("cifar", "GreedyMiser"): 3,
    ("yahoo-like", "CSTC"): 3,
    ("yahoo-like", "GreedyMiser"): 1,
}


def n_seeds(name: str, method: str) -> int:
    """So many repetitions of a method on a task make the report."""
    return FEWER_SEEDS.get((name, method), SEEDS[name])
