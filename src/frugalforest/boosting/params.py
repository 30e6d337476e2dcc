"""How a booster grows its trees: one value that holds every option, and its translation for the compiled core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core

NO_LIMIT = 2**32 - 1

LossName = Literal["log_loss", "squared"]
Charge = Literal["row", "forest"]


@dataclass(frozen=True, eq=False)
class BoostOptions:
    """Every option of boosting; docs/boosting.md says what each one does.

    charge: what a split pays for. "row": for each row of the node that has not paid for the feature yet, over all trees
    and classes. "forest": for all rows, unless some tree uses the feature already.
    """

    loss: LossName = "log_loss"
    charge: Charge = "row"
    learning_rate: float = 0.1
    max_leaves: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_hessian: float = 1e-3
    l2: float = 0.0
    min_gain: float = 1e-9
    category_smoothing: float = 10.0
    min_category_rows: int = 10
    subsample: float = 1.0
    colsample: float = 1.0
    monotone: NDArray[np.int8] | None = None  # (n_features,): +1 rising, -1 falling, 0 free
    interactions: NDArray[np.bool_] | None = None  # (n_sets, n_features): features of one path are in one set together
    price_per_split: float = 0.0  # in units of the loss, for every row of the node
    histogram_bytes: int = 2**30  # memory for open leaves; the trees do not depend on it

    def loss_for_core(self, n_classes: int) -> _core.Loss:
        """The loss; two classes have one score, the margin."""
        if self.loss == "squared":
            return _core.Loss.squared
        return _core.Loss.logistic if n_classes == 2 else _core.Loss.multinomial

    def for_core(self) -> _core.BoostParams:
        """The part that is numbers."""
        params = _core.BoostParams()
        for name in (
            *("learning_rate", "max_leaves", "min_samples_leaf", "min_hessian", "l2", "min_gain"),
            *("category_smoothing", "min_category_rows", "subsample", "colsample", "histogram_bytes"),
        ):
            setattr(params, name, getattr(self, name))
        params.max_depth = NO_LIMIT if self.max_depth is None else self.max_depth
        return params

    @property
    def is_random(self) -> bool:
        """Whether a round without splits may be followed by one that has some."""
        return self.subsample < 1 or self.colsample < 1

    def constraints_for_core(self) -> dict[str, Any]:
        """The part that is arrays."""
        interactions = self.interactions
        return {
            "monotone": self.monotone,
            "interactions": None if interactions is None else np.ascontiguousarray(interactions, dtype=np.uint8),
        }
