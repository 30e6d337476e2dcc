"""ASTC and CSTC at the same bills: validation error, and CPU seconds of the fit of a single tree, in one run.

CSTC is fitted for several trade-offs, each alone; for each of them ASTC and soft ASTC are fitted with the node budget
whose average bill on the validation rows is nearest. Depth 5, faster of two fits where one takes less than ten seconds.
One thread, or CPU time counts waiting threads too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from studies.kusner2014.methods import largest_tradeoff
from studies.kusner2014.tasks import Part, Task

import frugalforest as ff

RACE = "race"  # in place of a method, in the stored rows
SHARES = (1.0, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01, 0.003)  # of the trade-off at which a tree of equal nodes uses nothing
STEP = 1.05  # between trade-offs, on the way to one that buys something
STEEPNESS = 8.0
SHORT = 10.0  # seconds
RACE_SEEDS = {"cifar": 1, "yahoo-like": 1}  # where a fit takes a quarter of a minute and more
MOST_RACE_SEEDS = 3


def n_race_seeds(name: str) -> int:
    """So many repetitions of a task are timed."""
    return RACE_SEEDS.get(name, MOST_RACE_SEEDS)


def fit_seconds(model: Any, part: Part) -> float:
    """CPU seconds of a fit; the faster of two short ones."""
    start = time.process_time()
    model.fit(part.X, part.y)
    seconds = time.process_time() - start
    if seconds < SHORT:
        start = time.process_time()
        model.fit(part.X, part.y)
        seconds = min(seconds, time.process_time() - start)
    return seconds


def measured(model: Any, part: Part) -> tuple[float, float]:
    """Average bill and error."""
    labels, bills = model.predict_with_cost(part.X)
    return float(bills.mean()), float(np.mean(labels != part.y))


def fitted_cstc(task: Task, tradeoff: float) -> tuple[Any, float]:
    """CSTC that buys something, and the seconds of its fit: smaller trade-offs are tried until it does."""
    while True:
        model = ff.MixedNormTreeClassifier(tradeoff, steepness=STEEPNESS, feature_costs=task.costs)
        seconds = fit_seconds(model, task.train)
        if measured(model, task.validation)[0] > 0:
            return model, seconds
        tradeoff /= STEP


def race(task: Task, shares: Iterable[float]) -> Iterator[tuple[float, dict[str, Any]]]:
    """For each share: seconds, bills and errors of CSTC, ASTC and soft ASTC, and the ratios of seconds."""
    rivals = {soft: ff.SubmodularTreeClassifier(feature_costs=task.costs, soft=soft) for soft in (False, True)}
    validation = task.validation.X, task.validation.y
    curves = {soft: rival.fit(task.train.X, task.train.y, eval_set=validation).curve_ for soft, rival in rivals.items()}
    for share in shares:
        model, seconds = fitted_cstc(task, share * largest_tradeoff(task))
        row: dict[str, Any] = {"name": task.name, "rows": len(task.train.y), "columns": task.train.X.shape[1]}
        row["cstc_seconds"] = seconds
        row["cstc_bill"], row["cstc_error"] = measured(model, task.validation)
        for soft, rival in rivals.items():
            name = "astc_soft" if soft else "astc"
            nearest = int(np.abs(curves[soft].cost - row["cstc_bill"]).argmin())
            rival.set_params(node_budget=curves[soft].variants[nearest])
            row[f"{name}_seconds"] = fit_seconds(rival, task.train)
            row[f"{name}_bill"], row[f"{name}_error"] = measured(rival, task.validation)
            row[f"{name}_ratio"] = row["cstc_seconds"] / row[f"{name}_seconds"]
        yield share, row
