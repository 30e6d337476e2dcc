"""A fitted model on rows that it has not seen: what it gets wrong, what it costs, and where the money goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Measured:
    """Labels, probabilities, masks and bills of the rows of a test."""

    y: NDArray[Any]  # (n_rows,)
    labels: NDArray[Any]  # (n_rows,)
    probabilities: Floats  # (n_rows, n_classes)
    classes: NDArray[Any]  # (n_classes,)
    mask: Mask  # (n_rows, n_features)
    bills: Floats  # (n_rows,)
    costs: FeatureCosts
    names: tuple[str, ...]  # (n_features,)
    free_error: float  # of answering with the most frequent class of these rows

    @classmethod
    def of(cls, model: Any, X: Any, y: NDArray[Any]) -> Measured:
        """Measure a classifier of frugalforest."""
        labels, costs = model.predict(X), model.feature_costs_
        mask = model.acquisition_mask(X)
        names = tuple(str(model.encoder_.feature_label(i)) for i in range(costs.n_features))
        return cls(
            y,
            labels,
            model.predict_proba(X),
            model.classes_,
            mask,
            costs.of_rows(mask),
            costs,
            names,
            1 - float(np.unique(y, return_counts=True)[1].max() / len(y)),
        )

    @property
    def error(self) -> float:
        """Share of the rows whose label is wrong."""
        return float(np.mean(self.labels != self.y))

    @property
    def error_interval(self) -> tuple[float, float]:
        """Where the error is with 95% certainty (Wilson's interval for a share)."""
        return wilson_interval(int(np.sum(self.labels != self.y)), len(self.y))

    @property
    def cost(self) -> float:
        """The average bill."""
        return float(self.bills.mean())

    @property
    def bought(self) -> Floats:
        """Share of the rows that buy each feature, (n_features,)."""
        return np.asarray(self.mask.mean(axis=0))

    @property
    def spent(self) -> Floats:
        """What goes to each feature per row on average, (n_features,); adds up to the average bill."""
        return money_by_feature(self.costs, self.mask).mean(axis=0)


def money_by_feature(costs: FeatureCosts, mask: Mask) -> Floats:
    """The bill of each row, told apart by feature, (n_rows, n_features).

    A feature pays its own cost; what a group costs is shared evenly by those of its members that the row has bought.
    """
    money = mask * costs.own
    for members, shared in zip(costs.membership, costs.shared, strict=True):
        bought = mask & members
        money = money + bought * (shared / np.maximum(bought.sum(axis=1, keepdims=True), 1))
    return np.asarray(money, dtype=np.float64)


def wilson_interval(n_hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """An interval for a share, good also near 0 and 1 (Wilson 1927)."""
    share = n_hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
