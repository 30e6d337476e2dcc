"""How sure is sure enough: a confidence threshold for a wanted rate of disagreement with the full ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from frugalforest.acquisition.acquirer import Acquirer

LEVELS = np.concatenate([np.geomspace(0.05, 20.0, 120), [np.inf]])
CERTAINTY = 0.9  # of the upper bound on the rate: the raw rate on the rows that choose the threshold flatters


@dataclass(frozen=True)
class Calibration:
    """A threshold, and how often the label differed from that of the full ensemble on the rows it was chosen with."""

    confidence: float  # infinity: nothing less than a proof is sure enough
    rate: float
    rate_bound: float  # upper confidence bound of the rate
    n_rows: int


def calibrate(acquirer: Acquirer, rows: NDArray[Any], disagreement: float, n_threads: int = 1) -> Calibration:
    """The least threshold whose rate of disagreement, taken at its upper confidence bound, is at most the wanted one.

    rows: (n_rows, n_features), as `ensemble.reading` gives them, and not those the ensemble was grown from.
    """
    scores, _ = acquirer.ensemble.scores(rows, n_threads=n_threads)
    full = acquirer.ensemble.label_numbers(scores)
    labels = acquirer.ends_at(rows, LEVELS[:-1], n_threads, with_probabilities=False).label_numbers
    counts = (labels != full[:, None]).sum(axis=0)  # the last is that of a proof, which cannot differ
    bounds = np.append(_upper_bound(counts[:-1], len(rows)), 0.0)
    # Thresholds from the strict end downwards, as long as each of them holds.
    holds = np.logical_and.accumulate((bounds <= disagreement)[::-1])[::-1]
    chosen = int(np.argmax(holds))
    return Calibration(
        float(LEVELS[chosen]), float(counts[chosen] / max(len(rows), 1)), float(bounds[chosen]), len(rows)
    )


def _upper_bound(counts: NDArray[Any], n: int) -> NDArray[np.float64]:
    """Clopper-Pearson: the largest rate under which so few of n are not yet improbable."""
    return np.where(counts < n, beta.ppf(CERTAINTY, counts + 1, np.maximum(n - counts, 1)), 1.0)
