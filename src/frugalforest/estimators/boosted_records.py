"""What validation rows pay if they read a booster on demand: until a proof, or until they are sure enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.acquisition import Acquirer, StopRule
from frugalforest.acquisition.acquirer import Ends
from frugalforest.boosting.training import Boosted, Record
from frugalforest.costs import FeatureCosts
from frugalforest.ensemble import Ensemble
from frugalforest.estimators.base import Floats
from frugalforest.estimators.sizes import measured_sizes

CONFIDENCES = np.array(
    [0.5, 0.65, 0.8, 1.0, 1.25, 1.55, 1.9, 2.4, 3.0, 4.0]
)  # that validation chooses from, besides a proof
MOST_ROWS = 2000  # that tell how sure is sure enough
EVERY = 3  # of the numbers of rounds that are worth measuring, with all these confidences
LEAST_CHANCE = 1e-6


def first_trees(ensemble: Ensemble, n_trees: int) -> Ensemble:
    """The ensemble of the first trees."""
    forest = ensemble.forest.first(n_trees)
    return replace(ensemble, forest=forest, values=ensemble.values[: forest.n_leaves])


def with_label_bills(
    boosted: Boosted, ensemble: Ensemble, costs: FeatureCosts, rows: NDArray[Any], n_threads: int
) -> Boosted:
    """The same booster with the bills of stop="label", at some numbers of rounds; NaN at others."""
    cost = np.full(boosted.n_rounds, np.nan)
    for size in measured_sizes(0, boosted.n_rounds):
        acquirer = Acquirer(first_trees(ensemble, size * boosted.trees.n_outputs), costs)
        mask = acquirer.evaluate(rows, StopRule("label"), n_threads, with_probabilities=False).mask
        cost[size - 1] = costs.of_rows(mask).mean()
    return replace(boosted, cost=cost)


def with_sooner_ends(
    boosted: Boosted,
    ensemble: Ensemble,
    costs: FeatureCosts,
    rows: NDArray[Any],
    labels: NDArray[np.int32],
    weights: Floats,
    n_threads: int,
) -> Boosted:
    """The same booster read until rows are sure enough, at some numbers of rounds; all numbers are NaN at others.

    weights: how much each row counts in loss and error; bills are plain means.
    """
    some = np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(np.intp)
    rows, labels, weights = rows[some], labels[some], weights[some]
    found = np.full((3, len(CONFIDENCES) + 1, boosted.n_rounds), np.nan)
    for size in _some_sizes(boosted):
        acquirer = Acquirer(first_trees(ensemble, size * boosted.trees.n_outputs), costs)
        ends = acquirer.ends_at(rows, CONFIDENCES, n_threads)
        found[:, :, size - 1] = *mean_loss([ends], [labels], [weights]), ends.bills.mean(axis=0)
    loss, error, cost = found
    sooner = tuple(Record(c, *parts) for c, *parts in zip(CONFIDENCES.tolist(), loss, error, cost, strict=False))
    return replace(boosted, loss=loss[-1], error=error[-1], cost=cost[-1], sooner=sooner)


def mean_loss(ends: Sequence[Ends], labels: Sequence[NDArray[Any]], weights: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Loss and error at each end, (n_ends,), over several sets of rows.

    The loss is half errors, and half what the probabilities of the right classes lack, in bits: a coin costs 1/2 in
    both. Errors alone are too coarse to choose by; log-loss alone holds it against rows that they stopped early, for
    what is open makes them less sure of labels that are right.
    """
    wrong, bits = [], []
    for found, right in zip(ends, labels, strict=True):
        assert found.probabilities is not None
        chance = found.probabilities[np.arange(len(right)), :, right]
        wrong.append(found.label_numbers != right[:, None])
        bits.append(-np.log2(np.maximum(chance, LEAST_CHANCE)))
    weight = np.concatenate(weights)
    error = np.average(np.concatenate(wrong), axis=0, weights=weight)
    return 0.5 * error + 0.25 * np.average(np.concatenate(bits), axis=0, weights=weight), error


def _some_sizes(boosted: Boosted) -> list[int]:
    """Numbers of rounds to measure: some that are spread over all, the one of least loss, and the last."""
    sizes = measured_sizes(0, boosted.n_rounds)
    if not sizes:
        return []
    return sorted({*sizes[::EVERY], int(np.argmin(boosted.loss)) + 1, sizes[-1]})
