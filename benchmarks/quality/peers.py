"""Boosters of other libraries with feature costs, tuned on validation rows, each read in full and on demand.

LightGBM: lazy costs only, no bagging, no GOSS, no continued training, which is where it has no known faults. Prices are
those of single features: it knows no groups. CatBoost: penalties per object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

import frugalforest as ff
from benchmarks.quality.data import Task
from frugalforest.acquisition import Acquirer, StopRule
from frugalforest.acquisition.stopping import StopName
from frugalforest.ensemble import Ensemble
from frugalforest.estimators.boosted_records import CONFIDENCES
from frugalforest.forest import Forest
from frugalforest.importers import import_ensemble

Predictor = Callable[[Any], tuple[Any, Any]]
Booster = tuple[list[Ensemble], list[tuple[Any, Any]]]  # one, or one for each fold, and rows to choose with for each
Candidate = tuple[float, float, Ensemble, StopRule]  # validation error, bill, and what they are of

# Loss per money, in units of the mean price of a feature. Finely spaced where a booster is left with few features.
TRADEOFFS = (0.003, 0.01, 0.03, 0.06, 0.1, 0.16, 0.25, 0.4, 0.65, 1, 1.6, 3)
CATBOOST_TRADEOFFS = (1e-5, 3e-5, 1e-4, 2e-4, 3e-4, 5e-4, 8e-4, 1.2e-3, 1.8e-3, 2.5e-3, 4e-3, 0.01)  # in its own units
N_TREES = 300
PATIENCE = 20
N_FOLDS = 3  # as many as the cascade has
MOST_SURE = 2000  # rows of a booster that tell how sure is sure enough, as of our own


def leaves_for(n_rows: int) -> tuple[int, ...]:
    """Numbers of leaves that validation chooses from."""
    return (15, 31) if n_rows < 5000 else (31, 127)


def lightgbm(X: Any, y: Any, X_val: Any, y_val: Any, costs: ff.FeatureCosts, tradeoff: float, leaves: int) -> Any:
    from lightgbm import LGBMClassifier, early_stopping

    model = LGBMClassifier(
        n_estimators=N_TREES,
        num_leaves=leaves,
        min_child_samples=min(20, max(3, len(X) // 30)),
        cegb_tradeoff=tradeoff / costs.alone.mean(),
        cegb_penalty_feature_lazy=costs.alone.tolist(),
        random_state=0,
        n_jobs=1,
        verbose=-1,
    )
    return model.fit(X, y, eval_X=X_val, eval_y=y_val, callbacks=[early_stopping(PATIENCE, verbose=False)])


def catboost(X: Any, y: Any, X_val: Any, y_val: Any, costs: ff.FeatureCosts, tradeoff: float, depth: int) -> Any:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=N_TREES,
        depth=depth,
        per_object_feature_penalties=costs.alone.tolist(),
        penalties_coefficient=tradeoff / costs.alone.mean(),
        random_seed=0,
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
    )
    return model.fit(X, y, eval_set=(X_val, y_val), early_stopping_rounds=PATIENCE)


def average(ensembles: list[Ensemble]) -> Ensemble:
    """One ensemble whose margins are the mean of several boosters': what predicting with fold models does."""
    if len(ensembles) == 1:
        return ensembles[0]
    first, n = ensembles[0], len(ensembles)
    return replace(
        first,
        forest=Forest.joined([ensemble.forest for ensemble in ensembles]),
        values=np.concatenate([ensemble.values for ensemble in ensembles]) / n,
        base=np.mean([ensemble.base for ensemble in ensembles], axis=0),
        sums_as_float32=False,
    )


# ---- candidates: each an ensemble with an error and a bill on validation rows


def single_boosters(
    task: Task, seed: int, fit: Callable[..., Any], tradeoffs: tuple[float, ...], sizes: tuple[int, ...]
) -> Iterator[Booster]:
    """A booster for every trade-off and size."""
    X, X_val, y, y_val = train_test_split(task.X, task.y, test_size=0.2, stratify=task.y, random_state=seed)
    for tradeoff in tradeoffs:
        for size in sizes:
            yield [import_ensemble(fit(X, y, X_val, y_val, task.costs, tradeoff, size))], [(X_val, y_val)]


def averaged_boosters(task: Task, seed: int, sizes: tuple[int, ...]) -> Iterator[Booster]:
    """Fold models of LightGBM, each with its own validation fold, averaged for prediction."""
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(task.X, task.y))
    for tradeoff in TRADEOFFS:
        for leaves in sizes:
            models = [
                import_ensemble(lightgbm(task.X[a], task.y[a], task.X[b], task.y[b], task.costs, tradeoff, leaves))
                for a, b in folds
            ]
            yield models, [(task.X[b], task.y[b]) for _, b in folds]


def chosen_within(task: Task, candidates: list[Candidate]) -> dict[float, Predictor]:
    """For each budget the candidate of least validation error within it; candidates: (error, bill, ensemble, rule)."""
    best: dict[float, Predictor] = {}
    for budget in task.budgets:
        within = [(error, bill, i) for i, (error, bill, *_) in enumerate(candidates) if bill <= budget]
        best[budget] = reader(*candidates[min(within)[2]][2:], task.costs) if within else majority(task.y)
    return best


def reader(ensemble: Ensemble, rule: StopRule, costs: ff.FeatureCosts) -> Predictor:
    acquirer = Acquirer(ensemble, costs)

    def read(X: Any) -> tuple[Any, Any]:
        rows = ensemble.reading(ensemble.encoder.encode(X))
        found = acquirer.evaluate(rows, rule, 1, with_probabilities=False)
        return ensemble.classes[found.label_numbers], costs.of_rows(found.mask)

    return read


def majority(y: Any) -> Predictor:
    label = np.bincount(y).argmax()
    return lambda X: (np.full(len(X), label), np.zeros(len(X)))


def measured(
    models: list[Ensemble], rows: list[tuple[Any, Any]], costs: ff.FeatureCosts, rule: StopRule
) -> tuple[float, float]:
    """Validation error and bill: of one booster on its rows, or of each fold model on its own fold."""
    wrong, paid, n = 0.0, 0.0, 0
    for model, (X, y) in zip(models, rows, strict=True):
        labels, bills = reader(model, rule, costs)(X)
        wrong, paid, n = wrong + np.sum(labels != y), paid + bills.sum(), n + len(y)
    return wrong / n, paid / n


def read_by(task: Task, boosters: list[Booster], stop: StopName) -> list[Candidate]:
    """Every booster read by one rule."""
    rule, listed = StopRule(stop), []
    for models, rows in boosters:
        error, bill = measured(models, rows, task.costs, rule)
        whole = average(models)
        if len(models) > 1:
            # Of several fold models a row pays the union of what they read: measured on its fold's rows too.
            bill = float(np.mean([reader(whole, rule, task.costs)(X)[1].mean() for X, _ in rows]))
        listed.append((error, bill, whole, rule))
    return listed


def read_until_sure(task: Task, boosters: list[Booster]) -> list[Candidate]:
    """Every booster read until rows are sure enough, at each of several confidences.

    The ranges of the mean of n models are n times as many, each an nth, so that their squares add up to an nth: it has
    to be sqrt(n) times as sure as each of the models is alone.
    """
    listed = []
    for models, rows in boosters:
        some = [(X[: MOST_SURE // len(models)], y[: MOST_SURE // len(models)]) for X, y in rows]
        whole, confidences = average(models), CONFIDENCES * np.sqrt(len(models))
        errors = [
            _ends(model, X, CONFIDENCES, task.costs)[0] != y[:, None]
            for model, (X, y) in zip(models, some, strict=True)
        ]
        bills = [_ends(whole, X, confidences, task.costs)[1] for X, _ in some]
        error, bill = np.concatenate(errors).mean(axis=0), np.concatenate(bills).mean(axis=0)
        for i, confidence in enumerate(confidences.tolist()):
            listed.append((float(error[i]), float(bill[i]), whole, StopRule("confidence", confidence=confidence)))
    return listed


def _ends(ensemble: Ensemble, X: Any, confidences: Any, costs: ff.FeatureCosts) -> tuple[Any, Any]:
    """Labels and bills at each confidence, and with a proof, both (n_rows, n_ends)."""
    rows = ensemble.reading(ensemble.encoder.encode(X))
    found = Acquirer(ensemble, costs).ends_at(rows, confidences, with_probabilities=False)
    return ensemble.classes[found.label_numbers], found.bills


def tuned(task: Task, candidates: Iterable[Booster]) -> dict[str, dict[float, Predictor]]:
    """Predictors by budget: read in full, on demand, and until sure enough; all from the same boosters."""
    boosters = list(candidates)
    everything, labels = read_by(task, boosters, "all"), read_by(task, boosters, "label")
    return {
        "all": chosen_within(task, everything),
        "label": chosen_within(task, labels),
        "confidence": chosen_within(task, labels + read_until_sure(task, boosters)),
    }
