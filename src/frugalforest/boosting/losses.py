"""Where scores start, and what they mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from frugalforest.boosting.params import LossName
from frugalforest.boosting.rows import BoostingRows

Floats = NDArray[np.float64]


def base_scores(rows: BoostingRows, loss: LossName) -> Floats:
    """The constant of least loss, (n_outputs,): one score for two classes, else one per class.

    log_loss: log-odds of the second class, or log-shares of all.   squared: means of the targets +1 and -1.
    """
    share = np.bincount(rows.labels, rows.loss_weights, minlength=rows.n_classes) / rows.loss_weights.sum()
    if loss == "squared":
        return 2 * share[1:] - 1 if rows.n_classes == 2 else 2 * share - 1
    log_share = np.log(np.maximum(share, np.finfo(np.float64).tiny))
    return np.array([log_share[1] - log_share[0]]) if rows.n_classes == 2 else log_share
