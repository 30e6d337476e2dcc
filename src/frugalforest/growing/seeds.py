"""Seeds of trees: the same random_state gives the same trees, whatever the number of threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Seeds = NDArray[np.uint64]


def root_seed(random_state: int | np.random.RandomState | None) -> int:
    """One number that stands for scikit-learn's `random_state`; 0 is a seed like any other."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def tree_seeds(seed: int, n_trees: int, *key: int) -> Seeds:
    """Seeds of n_trees trees; `key` keeps the forests of one fit apart. A longer forest starts with the same trees."""
    return np.random.SeedSequence(seed, spawn_key=key).generate_state(n_trees, np.uint64).astype(np.uint64)
