"""What every loader returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows, labels and prices.

    X: (n_rows, n_features), NaN where missing; y: (n_rows,), classes 0 .. k - 1 or a target; feature_costs: in the
    order of the columns, None if nobody knows them; extras: the other arrays of the file (query ids, splits, ...).
    """

    name: str
    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...] | None
    class_names: tuple[str, ...] | None = None
    feature_costs: FeatureCosts | None = None
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def as_frame(self) -> Dataset:
        """The same with X as a pandas DataFrame, so that costs and acquisitions go by column name."""
        import pandas as pd

        columns = None if self.feature_names is None else list(self.feature_names)
        return replace(self, X=pd.DataFrame(self.X, columns=columns))

    def __repr__(self) -> str:
        kind = f"{len(self.class_names)} classes" if self.class_names else f"y {self.y.dtype}"
        costs = "no costs" if self.feature_costs is None else f"total cost {self.feature_costs.total:g}"
        extras = f", extras: {', '.join(self.extras)}" if self.extras else ""
        return f"Dataset({self.name}: {self.X.shape[0]} rows x {self.X.shape[1]} features, {kind}, {costs}{extras})"
