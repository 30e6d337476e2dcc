"""Error against average bill, as the steps of a staircase: what one gets for at most this much money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from frugalforest.evaluation import CostCurve, cost_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MARGIN = 1.15  # how far the last step is drawn past the dearest point, unless everything is bought before that


class CurveData(NamedTuple):
    """Corners of the staircase: from `cost[i]` on, until the next one, the error is `error[i]`."""

    cost: NDArray[np.float64]  # (n_corners,), ascending from 0
    error: NDArray[np.float64]  # (n_corners,), falling from the error of the free answer
    total_cost: float


def curve_data(curve: CostCurve) -> CurveData:
    """What `draw_curve` draws: the free answer, the points of the frontier, and where the last step ends."""
    frontier = curve.frontier()
    dearest = frontier.cost[-1] if len(frontier) else curve.total_cost
    end = max(dearest, min(curve.total_cost, MARGIN * dearest))
    errors = np.concatenate([[curve.baseline_error], frontier.error])
    return CurveData(np.concatenate([[0.0], frontier.cost, [end]]), np.append(errors, errors[-1]), curve.total_cost)


def draw_curve(curve: CostCurve, ax: Axes | None = None, **line_style: Any) -> Axes:
    """Draw the frontier of a curve; the axis on top says what share of the price of everything a cost is.

    ax: where to draw, a new figure by default; several curves may share one. line_style goes to `Axes.plot`.
    """
    data = curve_data(curve)
    if ax is None:
        ax = new_axes()
    ax.plot(data.cost, data.error, **{"drawstyle": "steps-post", **line_style})
    ax.set(xlabel="average cost per prediction", ylabel="error")
    # Both axes start at 0, so that lengths can be compared; upwards they fit whatever has been drawn.
    ax.set_xlim(0, max(line.get_xdata().max() for line in ax.get_lines()) or None)
    ax.set_ylim(0, 1.05 * max(line.get_ydata().max() for line in ax.get_lines()) or None)
    if data.total_cost > 0 and not ax.child_axes:
        _add_share_axis(ax, data.total_cost)
    return ax


class CostCurveDisplay:
    """Error against average cost of one model, in scikit-learn's Display habit.

    Parameters
    ----------
    curve : CostCurve, from `model.curve_` or `frugalforest.evaluation.cost_curve`.
    name : what the legend calls it; None: no legend.

    Attributes
    ----------
    ax_, figure_, line_ : the matplotlib parts of the last `plot`.
    """

    ax_: Axes
    figure_: Figure
    line_: Line2D

    def __init__(self, curve: CostCurve, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, ax: Axes | None = None, name: str | None = None, **line_style: Any
    ) -> Self:
        """Measure a fitted model on (X, y) and draw it; the name is the class of the model, unless given."""
        display = cls(cost_curve(model, X, y), name=type(model).__name__ if name is None else name)
        return display.plot(ax=ax, **line_style)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **line_style: Any) -> Self:
        """Draw on `ax`, or on a new figure."""
        label = self.name if name is None else name
        self.ax_ = draw_curve(self.curve, ax=ax, **({} if label is None else {"label": label}), **line_style)
        self.figure_ = self.ax_.figure
        self.line_ = self.ax_.get_lines()[-1]
        if label is not None:
            self.ax_.legend(frameon=False)
        return self


def new_axes() -> Axes:
    """Axes of a new figure; a clear sentence if matplotlib is not there."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(
            'drawing needs matplotlib, which is not installed; run: pip install "frugalforest[plot]".'
        ) from None
    return pyplot.subplots(layout="constrained")[1]


def _add_share_axis(ax: Axes, total_cost: float) -> None:
    share = ax.secondary_xaxis("top", functions=(lambda cost: 100 * cost / total_cost, lambda s: s * total_cost / 100))
    share.set_xlabel("% of the cost of reading everything")
