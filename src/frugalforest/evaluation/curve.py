"""CostCurve: error against average bill, a table of points that one can ask questions."""

from __future__ import annotations

from collections.abc import Sequence
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

    Answering with the most frequent class is always possible and free, so every question about the curve counts it as
    one more point: cost 0, error `baseline_error`.
    """

    cost: Floats  # (n_points,): average bill of a row
    error: Floats  # (n_points,): share of the rows (by weight) whose label is wrong
    n_trees: NDArray[np.intp]  # (n_points,)
    variant: NDArray[np.intp]  # (n_points,): which of several forests a point belongs to, a position in `variants`
    variants: tuple[Any, ...]  # what the forests are called, or the recipes they were grown by
    total_cost: float  # what reading everything costs
    baseline_error: float  # the error of answering with the most frequent class

    @classmethod
    def of_forests(
        cls,
        measured: Sequence[tuple[Floats, Floats]],
        variants: Sequence[Any],
        *,
        total_cost: float,
        baseline_error: float,
    ) -> CostCurve:
        """A point for every number of trees of every forest; measured: (error, cost) of each, both (n_trees,).

        A size whose cost is NaN was not measured; `measured()` leaves it out.
        """
        sizes = [len(cost) for _, cost in measured]
        return cls(
            cost=np.concatenate([np.zeros(0), *(cost for _, cost in measured)]),
            error=np.concatenate([np.zeros(0), *(error for error, _ in measured)]),
            n_trees=np.concatenate([np.zeros(0, np.intp), *(np.arange(1, size + 1) for size in sizes)]),
            variant=np.repeat(np.arange(len(sizes)), sizes),
            variants=tuple(variants),
            total_cost=total_cost,
            baseline_error=baseline_error,
        )

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
        """Least error to be had for at most this average cost, the free answer included; any shape, a float for one."""
        levels = np.asarray(cost, dtype=np.float64)
        if np.isnan(levels).any():
            raise ValueError("error_at got NaN; give costs as numbers, infinity for no limit.")
        frontier = self.frontier()
        errors = np.concatenate([[self.baseline_error], frontier.error])
        return errors[np.searchsorted(frontier.cost, levels, side="right")][()]

    def frontier(self) -> CostCurve:
        """The points that nothing cheaper is as good as, the free answer included; by rising cost and falling error."""
        order = np.lexsort((self.n_trees, self.error, self.cost))
        best_before = np.minimum.accumulate(np.concatenate([[self.baseline_error], self.error[order]]))[:-1]
        return self.take(order[self.error[order] < best_before])

    def take(self, points: NDArray[np.intp]) -> CostCurve:
        """The curve of some of the points, in this order."""
        columns = ("cost", "error", "n_trees", "variant")
        return replace(self, **{name: getattr(self, name)[points] for name in columns})

    def measured(self) -> CostCurve:
        """The points whose cost is known."""
        return self.take(np.flatnonzero(~np.isnan(self.cost)))

    def area(self, up_to: float | None = None) -> float:
        """Mean of `error_at` over the costs from 0 to `up_to` (None: the cost of everything); smaller is better."""
        end = self.total_cost if up_to is None else float(up_to)
        if not 0 < end < np.inf:
            raise ValueError(f"the area is taken from cost 0 to up_to, which is {end:g}; give a positive, finite cost.")
        frontier = self.frontier()
        steps = np.clip(np.concatenate([[0.0], frontier.cost, [np.inf]]), 0.0, end)
        errors = np.concatenate([[self.baseline_error], frontier.error])
        return float(np.diff(steps) @ errors / end)

    def to_frame(self) -> pd.DataFrame:
        """One row per point, as a pandas DataFrame."""
        import pandas as pd

        names = [str(variant) for variant in self.variants]
        return pd.DataFrame(
            {
                "cost": self.cost,
                "error": self.error,
                "n_trees": self.n_trees,
                "variant": [names[v] for v in self.variant],
            }
        )

    def plot(self, ax: Axes | None = None, **line_style: Any) -> Axes:
        """Draw the frontier as steps: the error one gets for at most this average cost."""
        from frugalforest.plotting.curve import draw_curve

        return draw_curve(self, ax=ax, **line_style)


def cost_curve(model: Any, X: Any, y: Any) -> CostCurve:
    """Error and average bill on (X, y) of every size of a fitted model that its training data recommended.

    Sizes are chosen on the data the model was fitted and validated on, never on (X, y). Which of them does best on
    (X, y) is another matter: `error_at`, `area` and `frontier` of this curve pick the best measured points, which
    flatters a little; to report one model, choose it with `at_budget` and measure that. A label that the model was not
    fitted with counts as an error, as in `score`.
    """
    if not hasattr(model, "_cost_curve"):
        raise TypeError(f"cost_curve measures the classifiers of frugalforest, got {type(model).__name__}.")
    curve: CostCurve = model._cost_curve(X, y)
    return curve
