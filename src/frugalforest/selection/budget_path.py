"""Panels for many budgets: what each amount of money buys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BudgetPoint:
    """The panel for one budget: its bill, the out-of-bag error of the full forest on it, and the xi that led to it."""

    budget: float
    cost: float
    error: float
    xi: float
    features: tuple[Any, ...]


@dataclass(frozen=True)
class BudgetPath:
    """Panels by rising budget."""

    points: tuple[BudgetPoint, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[BudgetPoint]:
        return iter(self.points)

    def __getitem__(self, place: int) -> BudgetPoint:
        return self.points[place]

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame, one row per budget."""
        import pandas as pd

        frame = pd.DataFrame([asdict(point) | {"n_features": len(point.features)} for point in self.points])
        return frame[["budget", "cost", "n_features", "error", "xi", "features"]]
