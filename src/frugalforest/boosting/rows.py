"""Rows as boosting reads them: binned, with labels and weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.data import BinnedData
from frugalforest.growing.weights import on_grid

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """Binned rows, shared by all boosters that are grown from them, or watched on them.

    A row of weight 2 is two rows: it counts twice in the loss and pays twice. `class_weight` multiplies the loss only.
    """

    matrix: NDArray[Any]  # (n_rows, n_features): the numbers themselves, which earlier trees compare
    binned: BinnedData
    labels: NDArray[np.int32]  # (n_rows,)
    n_classes: int
    weights: Floats | None = None  # (n_rows,); None: all 1
    class_weight: Floats | None = None  # (n_classes,); None: all 1

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def core(self) -> _core.BoostRows:
        """The codes as the core reads them."""
        bins = self.binned.bins
        return _core.BoostRows(self.binned.codes, bins.n_bins, bins.is_categorical.astype(np.uint8))

    @cached_property
    def loss_weights(self) -> Floats:
        """How much each row counts in the loss, (n_rows,)."""
        weights = np.ones(len(self)) if self.weights is None else self.weights
        return weights if self.class_weight is None else weights * self.class_weight[self.labels]

    @cached_property
    def charge_weights(self) -> Floats | None:
        """How many rows each one pays for, (n_rows,), on a grid so that sums are exact; None: one."""
        return None if self.weights is None or np.all(self.weights == 1) else on_grid(self.weights)

    @property
    def total_weight(self) -> float:
        """The number of rows, by weight."""
        return float(len(self)) if self.weights is None else float(self.weights.sum())
