"""The figures of the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from studies.intervals import interval_of
from studies.jagdhuber.frames import PATH
from studies.jagdhuber.tasks import BUDGETS, METHODS, SETTINGS

COLOURS = {"STS": "#0072b2", "AUC": "#d55e00", "pFI": "#009e73", "FS": "#555555"}
MARKERS = {"STS": "o", "AUC": "s", "pFI": "^", "FS": "D"}


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _tidy(ax) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)


def draw_settings(cells: pd.DataFrame, path: Path) -> None:
    """Test error against budget, a column for each setting; tuned above, xi = 0 below."""
    pyplot = _pyplot()
    names = [name for name in SETTINGS if (cells["name"] == name).any()]
    size = (3.1 * len(names) + 0.6, 6)
    figure, axes = pyplot.subplots(2, len(names), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for row, (strategy, told) in zip(axes, (("tuned", "xi tuned"), ("xi 0", "xi = 0")), strict=True):
        for ax, name in zip(row, names, strict=True):
            for i, kind in enumerate(METHODS):
                part = cells[(cells["name"] == name) & (cells["kind"] == kind) & (cells["strategy"] == strategy)]
                part = part.sort_values("budget")
                beside = 1.05 ** (i - 1.5)  # bars of the same budget would hide each other
                ax.errorbar(part["budget"] * beside, part["error"], part["half"], color=COLOURS[kind], label=kind,
                            marker=MARKERS[kind], markersize=4, linewidth=1.4, capsize=2)  # fmt: skip
            ax.set(title=f"setting {name}, {told}", xscale="log", yscale="log")
            ax.set_xticks(BUDGETS, [f"{b:g}" for b in BUDGETS])
            ax.set_yticks([0.02, 0.05, 0.1, 0.2, 0.4], ["0.02", "0.05", "0.1", "0.2", "0.4"])
            ax.minorticks_off()
            _tidy(ax)
        row[0].set_ylabel("test error")
    for ax in axes[-1]:
        ax.set_xlabel("budget")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False,
                  title="mean over repetitions, bars: 95 % intervals")  # fmt: skip
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_paths(frame: pd.DataFrame, path: Path) -> None:
    """Test and out-of-bag error against xi, one panel for each path; a line shows what tuning reaches."""
    pyplot = _pyplot()
    groups = list(frame[frame["strategy"] == PATH].groupby(["name", "budget", "kind"]))
    size = (2.9 * len(groups) + 0.4, 3.6)
    figure, grid = pyplot.subplots(1, len(groups), figsize=size, squeeze=False, layout="constrained")
    for ax, ((name, budget, kind), part) in zip(grid[0], groups, strict=True):
        for column, told, colour in (("error", "test", COLOURS[kind]), ("oob_error", "out-of-bag", "#bbbbbb")):
            found = {xi: interval_of(some) for xi, some in part.groupby("xi")[column]}
            middle = np.array([each.mean for each in found.values()])
            half = np.nan_to_num([each.half for each in found.values()])
            ax.plot(list(found), middle, color=colour, marker="o", markersize=3.5, label=f"{told} error")
            ax.fill_between(list(found), middle - half, middle + half, color=colour, alpha=0.2, linewidth=0)
        same = frame[(frame["name"] == name) & (frame["budget"] == budget) & (frame["method"] == f"{kind} tuned")]
        same = same[same["seed"].isin(part["seed"])]
        if len(same):
            ax.axhline(same["error"].mean(), color="black", linestyle="--", linewidth=1, label="test error, xi tuned")
        ax.set(title=f"{kind}, setting {name}, budget {budget:g}", xlabel="xi", ylim=(0, None))
        ax.title.set_fontsize(10)
        _tidy(ax)
    grid[0, 0].set_ylabel("error")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    told = "mean over repetitions, bands: 95 % intervals; test errors have the colour of their method"
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, title=told)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_ranks(ranks: pd.DataFrame, path: Path) -> None:
    """Mean rank of every method over the real sets with its interval; faint dots are data sets."""
    pyplot = _pyplot()
    methods = list(ranks.mean().sort_values().index[::-1])
    figure, ax = pyplot.subplots(figsize=(6.4, 0.4 * len(methods) + 1.6), layout="constrained")
    for y, method in enumerate(methods):
        kind, colour = method.split()[0], COLOURS[method.split()[0]]
        mean, half = interval_of(ranks[method])
        filled = colour if method.endswith("tuned") else "white"
        ax.plot(ranks[method], np.full(len(ranks), y + 0.22), ".", color=colour, alpha=0.45, markersize=5)
        ax.errorbar(mean, y, xerr=half, color=colour, marker=MARKERS[kind], markerfacecolor=filled, capsize=3)
    ax.set_yticks(range(len(methods)), [m.replace("xi 0", "xi = 0") for m in methods])
    ax.set(xlabel=f"mean rank over {len(ranks)} data sets, 95 % intervals; small dots: data sets; 1 is best")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
