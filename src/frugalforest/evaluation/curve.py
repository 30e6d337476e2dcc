"""CostCurve: error against average bill, a table of points that one can ask questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CostCurve:
    """Points (average cost per row, error) of one model in several sizes.

    `cost`, `error`: (n_points,); `n_trees`: (n_points,); `variant`: (n_points,), which of several forests a point
    belongs to (its row in `variants`); `total_cost`: what reading everything costs; `baseline_error`: the error of
    answering with the most frequent class, which costs nothing.
    """

    cost: Floats
    error: Floats
    n_trees: NDArray[np.intp]
    variant: NDArray[np.intp]
    variants: tuple[Any, ...]
    total_cost: float
    baseline_error: float

    def __len__(self) -> int:
        return len(self.cost)

    def best_index(self, budget: float) -> int | None:
        """The point of least error with cost <= budget; of equals the cheapest, then the one with fewest trees."""
        feasible = np.flatnonzero(self.cost <= budget)
        if len(feasible) == 0:
            return None
        order = np.lexsort((self.n_trees[feasible], self.cost[feasible], self.error[feasible]))
        return int(feasible[order[0]])

    def error_at(self, cost: ArrayLike) -> Any:
        """Least error that a point of at most this cost reaches; the baseline error where there is none."""
        levels = np.asarray(cost, dtype=np.float64)
        frontier = self.frontier()
        errors = np.concatenate([[self.baseline_error], frontier.error])
        return errors[np.searchsorted(frontier.cost, levels, side="right")][()]

    def frontier(self) -> CostCurve:
        """The points that no cheaper point is as good as, by rising cost and falling error."""
        order = np.lexsort((self.n_trees, self.error, self.cost))
        best_before = np.minimum.accumulate(np.concatenate([[self.baseline_error], self.error[order]]))[:-1]
        return self.take(order[self.error[order] < best_before])

    def take(self, points: NDArray[np.intp]) -> CostCurve:
        """The curve of some of the points, in this order."""
        return replace(
            self, cost=self.cost[points], error=self.error[points], n_trees=self.n_trees[points], variant=self.variant[points]
        )

    def area(self, up_to: float | None = None) -> float:
        """Mean of error_at over the costs from 0 to `up_to` (the cost of everything): smaller is better."""
        end = self.total_cost if up_to is None else float(up_to)
        if not end > 0:
            raise ValueError(f"the area is taken from cost 0 to up_to, got up_to={end}; give a positive cost.")
        frontier = self.frontier()
        steps = np.clip(np.concatenate([[0.0], frontier.cost, [np.inf]]), 0.0, end)
        errors = np.concatenate([[self.baseline_error], frontier.error])
        return float(np.diff(steps) @ errors / end)

    def to_frame(self) -> pd.DataFrame:
        """One row per point, as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(
            {
                "cost": self.cost,
                "error": self.error,
                "n_trees": self.n_trees,
                "variant": [str(self.variants[v]) for v in self.variant],
            }
        )

    def plot(self, ax: Axes | None = None, **line_style: Any) -> Axes:
        """Draw the frontier as steps: the error one gets for at most this average cost."""
        from frugalforest.plotting.curve import draw_curve

        return draw_curve(self, ax=ax, **line_style)


def cost_curve(model: Any, X: Any, y: Any) -> CostCurve:
    """Error and average bill on (X, y) of every size of a fitted model that its training data recommended.

    Sizes are chosen on the data the model was fitted and validated on, never on (X, y).
    """
    return model._cost_curve(X, y)
