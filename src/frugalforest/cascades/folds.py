"""Folds for cross-fitting: every class spread evenly, every row in one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def stratified_folds(labels: NDArray[Any], n_folds: int, seed: int) -> NDArray[np.intp]:
    """The fold of each row, (n_rows,): classes are shuffled and dealt one after the other, so sizes differ by one.

    With fewer rows than folds every row is a fold of its own.
    """
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**31 + 1,)))
    dealt = np.concatenate([random.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)])
    folds = np.empty(len(labels), dtype=np.intp)
    folds[dealt] = np.arange(len(labels)) % min(n_folds, len(labels))
    return folds
