"""The figure of the study: losses against the average bill of the test rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from studies.kusner2014.methods import METHODS
from studies.kusner2014.tasks import RANKING, TASKS

COLOURS = dict(zip(METHODS, ("#0072b2", "#56b4e9", "#d55e00", "#777777", "#cc79a7", "#009e73"), strict=True))
ROUND = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)  # bills with a tick


def draw(curves: pd.DataFrame, path: Path) -> None:
    """Test error (precision@5 for ranking) against the average bill of the test rows, with 95 % intervals."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [n for n in TASKS if (curves["name"] == n).any()]
    figure, axes = pyplot.subplots(2, 3, figsize=(12, 7), layout="constrained")
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes.flat, names, strict=False):
        draw_task(ax, curves[curves["name"] == name], name)
    handles = dict(zip(*reversed(axes.flat[0].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_task(ax: Any, curves: pd.DataFrame, name: str) -> None:
    """One panel. What buys nothing has no place on a logarithmic axis: it is a hollow mark at the left edge."""
    bills = curves.loc[curves["cost"] > 0, "cost"]
    low, high = (bills.min(), bills.max()) if len(bills) else (1.0, 10.0)
    low = max((bill for bill in ROUND if bill <= low), default=low)  # so that there is a tick before the first point
    left = low / (high / low) ** 0.06
    for method, colour in COLOURS.items():
        part = curves[curves["method"] == method]
        values = 1 - part["loss"] if name in RANKING else part["loss"]
        paid = part["cost"] > 0
        ax.errorbar(part["cost"][paid], values[paid], part["half"][paid].fillna(0), fmt="o-", markersize=3,
                    elinewidth=0.7, linewidth=1.3, color=colour, label=method)  # fmt: skip
        ax.plot(np.full((~paid).sum(), left), values[~paid], "o", markersize=5, color=colour, markerfacecolor="none")
    ax.set(title=name, xlabel="average bill", xscale="log", xlim=(left / 1.1, high * 1.1))
    ax.set_ylabel("precision@5" if name in RANKING else "test error")
    if name in RANKING:  # else what folds differ by looks like a difference of methods
        ax.set_ylim(0, None)
    ticks = [bill for bill in ROUND if left <= bill <= high * 1.1]
    ax.set_xticks(ticks, [f"{bill:g}" for bill in ticks])
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
