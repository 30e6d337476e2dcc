"""Error against average bill of several methods, a point for each budget, with intervals where there are some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalforest.plotting.curve import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = 20  # ratio of the largest bill to the smallest from which on the axis is logarithmic


class MethodLine(NamedTuple):
    """One method: average bill, error and half its interval (NaN: none) for each budget, by rising bill."""

    name: str
    cost: NDArray[np.float64]
    error: NDArray[np.float64]
    half: NDArray[np.float64]


def methods_data(points: Sequence[Any]) -> list[MethodLine]:
    """What `draw_methods` draws; points have the attributes method, cost, error and half. Equal points are one."""
    lines = []
    for name in dict.fromkeys(point.method for point in points):
        own = sorted({(point.cost, point.error, point.half) for point in points if point.method == name})
        lines.append(MethodLine(name, *np.array(own, dtype=np.float64).T))
    return lines


def draw_methods(points: Sequence[Any], *, free_error: float, total_cost: float, ax: Axes | None = None) -> Axes:
    """Draw a line for each method, the error of the free answer, and what everything costs."""
    ax = new_axes() if ax is None else ax
    lines = methods_data(points)
    for line in lines:
        half = None if np.isnan(line.half).all() else line.half
        ax.errorbar(line.cost, line.error, half, marker="o", markersize=4, capsize=2, linewidth=1.5, label=line.name)
    ax.axhline(free_error, color="grey", linestyle=":", linewidth=1, label="most frequent class, for nothing")
    bills = np.concatenate([line.cost for line in lines])
    positive = bills[bills > 0]
    if len(positive) and positive.max() > WIDE * positive.min():
        ax.set_xscale("symlog", linthresh=float(positive.min()))
        ax.set_xlim(0, 1.2 * max(total_cost, float(bills.max())))
    ax.set(xlabel="average bill per prediction", ylabel="error on rows left out")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize="small")
    return ax
