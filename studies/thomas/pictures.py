"""The figures of the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from studies.intervals import interval_of
from studies.thomas.frames import Paths

COLOURS = {"FFS": "#0b6e4f", "RFS": "#c44e52", "FFS + CT": "#4c72b0", "FFS + CT, printed": "#999999"}
STYLES = {"paper": "-", "leaf": ":"}
SELECTION = "selection, then forest"


def draw_curves(
    rows: pd.DataFrame | None,
    data_sets: dict[str, str],
    methods: tuple[str, ...],
    path: Path,
    selection: pd.DataFrame | None = None,
) -> None:
    """Accuracy against the cost of the forest's features, mean over repetitions; a dot for each tradeoff or set."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    size = (4.2 * len(data_sets), 4.2)
    figure, grid = pyplot.subplots(1, len(data_sets), figsize=size, layout="constrained", squeeze=False)
    for ax, (data, name) in zip(grid[0], data_sets.items(), strict=True):
        lowest = []
        if rows is not None and data in set(rows["data"]):
            lowest += [_draw_methods(ax, rows, data, method) for method in methods]
        if selection is not None and data in set(selection["data"]):
            lowest.append(_draw_selection(ax, selection[selection["data"] == data]))
        ax.set(title=name, xlabel="cost of the forest's features", ylim=(min(lowest) - 0.02, None), xlim=(0, None))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
        ax.set_axisbelow(True)
    grid[0, 0].set_ylabel("test accuracy")
    handles = _legend(methods if rows is not None else (), selection is not None)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _draw_methods(ax, rows: pd.DataFrame, data: str, method: str) -> float:
    """Both rules of a method; the least accuracy of the paper's one."""
    leaf, paper = Paths(rows, data, method, "leaf"), Paths(rows, data, method, "paper")
    # Where the leaf rule stops to split at all, intervals span the whole picture: its line goes without.
    ax.plot(leaf.cost.mean(axis=0), leaf.accuracy.mean(axis=0), STYLES["leaf"], color=COLOURS[method], linewidth=1.5)
    _draw_line(ax, paper.cost.mean(axis=0), paper.accuracy.T, COLOURS[method])
    return float(paper.accuracy.mean(axis=0).min())


def _draw_selection(ax, selection: pd.DataFrame) -> float:
    """Sets of equal price; a price that some repetitions lack is left out."""
    wide = selection.pivot_table(index="set_cost", columns="seed", values="accuracy").dropna()
    _draw_line(ax, wide.index.to_numpy(), wide.to_numpy(), "black")
    return float(wide.mean(axis=1).min())


def _draw_line(ax, costs: np.ndarray, accuracies: np.ndarray, colour: str) -> None:
    """accuracies: (n_points, n_seeds)."""
    found = [interval_of(each) for each in accuracies]
    middle, half = [each.mean for each in found], np.nan_to_num([each.half for each in found])
    ax.errorbar(costs, middle, half, marker="o", markersize=3, linewidth=1.5, elinewidth=1, capsize=1.5, color=colour)


def _legend(methods: tuple[str, ...], with_selection: bool) -> list:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=COLOURS[method], marker="o", markersize=3, label=method) for method in methods]
    if with_selection:
        handles.append(Line2D([], [], color="black", marker="o", markersize=3, label=SELECTION))
    if methods:
        told = {"paper": 'rule "paper", 95 % intervals', "leaf": 'rule "leaf"'}
        handles += [Line2D([], [], color="#444444", linestyle=STYLES[rule], label=told[rule]) for rule in STYLES]
    return handles
