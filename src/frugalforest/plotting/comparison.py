"""Mean error against budget for several selectors, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalforest.evaluation.resampling import corrected_interval
from frugalforest.plotting.curve import new_axes
from frugalforest.selection.compare import PICK, SelectorComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ComparisonLine(NamedTuple):
    """One selector: mean error and half its interval at each budget."""

    name: str
    budget: NDArray[np.float64]
    error: NDArray[np.float64]
    half: NDArray[np.float64]


def comparison_data(comparison: SelectorComparison) -> list[ComparisonLine]:
    """What `draw_comparison` draws: the selectors in their order, then the pick."""
    budgets = comparison.budgets
    lines = []
    for name in [*comparison.selectors, PICK]:
        found = [corrected_interval(comparison.errors(name, b), comparison.test_share) for b in budgets]
        lines.append(ComparisonLine(name, np.array(budgets), *np.array(found).T))
    return lines


def draw_comparison(comparison: SelectorComparison, ax: Axes | None = None) -> Axes:
    """Draw the mean errors with their 95 % intervals; lines are moved apart a little, so that intervals can be read."""
    ax = new_axes() if ax is None else ax
    lines = comparison_data(comparison)
    for place, line in enumerate(lines):
        is_pick = line.name == PICK
        shift = 1 + 0.012 * (place - (len(lines) - 1) / 2)
        style = {"color": "black", "linestyle": "--"} if is_pick else {}
        ax.errorbar(line.budget * shift, line.error, line.half, marker="o", capsize=3, label=line.name, **style)
    if min(comparison.budgets) > 0 and max(comparison.budgets) > 5 * min(comparison.budgets):
        ax.set_xscale("log")
        ax.set_xticks(comparison.budgets, [f"{b:g}" for b in comparison.budgets])
        ax.minorticks_off()
    ax.set(xlabel="budget", ylabel="error on rows left out")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return ax
