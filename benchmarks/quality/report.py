"""docs/quality.md from the stored rows: area under the error/cost curve, wins per cost level, and a picture."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
from studies.intervals import Interval, interval_of

from benchmarks.quality.data import SOURCES
from benchmarks.quality.methods import METHODS, NEW, PEERS

DOCS = Path(__file__).parents[2] / "docs"
WAYS = {"label": ", on demand", "confidence": ", until sure"}  # to read the same models
PAIR = ("cascade, on demand", "CEGB, mean of 3, until sure")  # the first of what is new here and of the other libraries
COLOURS = {
    "cascade, on demand": "#0072b2",
    "boosting, until sure": "#56b4e9",
    "CEGB, until sure": "#d55e00",
    "CEGB, mean of 3, until sure": "#e69f00",
    "BudgetForest, on demand": "#009e73",
    "CatBoost, until sure": "#cc79a7",
}


def error_at(row: dict, levels) -> np.ndarray:
    """Test error at average bills: neighbouring models mixed at random, so that the bill is met exactly.

    For less than the cheapest model it is mixed with the free answer; for more than the dearest nothing changes.
    """
    bill, error = np.array([0.0, *row["bill"]]), np.array([row["baseline"], *row["error"]])
    order = np.lexsort((error, bill))
    kept = order[np.concatenate([[True], np.diff(bill[order]) > 0])]
    return np.interp(levels, bill[kept], error[kept])


def curves(rows: list[dict]) -> pd.DataFrame:
    """One line per (data, method, seed): errors at the levels, and their mean, the area on a log scale of money."""
    lines = []
    for row in rows:
        levels = SOURCES[row["task"]].levels
        errors = error_at(row, levels)
        lines.append(
            {
                "data": row["task"],
                "method": row["method"],
                "seed": row["seed"],
                "errors": errors,
                "area": float(_weights(levels) @ errors),
                "seconds": row["cpu_seconds"],
            }
        )
    return pd.DataFrame(lines)


def _weights(levels) -> np.ndarray:
    """Of the trapezoidal rule over the logarithm of cost, adding up to 1."""
    steps = np.diff(np.log(levels))
    weights = np.zeros(len(levels))
    weights[:-1] += steps / 2
    weights[1:] += steps / 2
    return weights / weights.sum()


def base_name(method: str) -> str:
    """A method, however its models are read."""
    for way in WAYS.values():
        method = method.removesuffix(way)
    return method


def of_benchmark(rows: list[dict]) -> list[dict]:
    """Rows of the methods of this benchmark; the study over everything keeps those of others in the same place."""
    return [row for row in rows if base_name(row["method"]) in METHODS]


def complete(frame: pd.DataFrame) -> pd.DataFrame:
    """Only the seeds of a data set that every method has."""
    n_methods = frame["method"].nunique()
    n = frame.groupby(["data", "seed"])["method"].transform("nunique")
    return frame[n == n_methods]


def area_table(frame: pd.DataFrame) -> str:
    """A line for each method, a column for each data set. Methods that were run everywhere come first, by mean rank."""
    areas = frame.groupby(["data", "method"])["area"]
    means, spread = areas.mean().unstack(), areas.std().unstack()
    seeds = frame.groupby("data")["seed"].nunique()
    ranks = means.dropna(axis=1).rank(axis=1).mean().sort_values()
    others = [method for method in means.columns if method not in ranks.index]
    names = [n for n in SOURCES if n in means.index]
    head = " | ".join(f"{name} ({seeds[name]})" for name in names)
    lines = [f"| method | mean rank | {head} |", "|---" * (len(names) + 2) + "|"]
    for method in [*ranks.index, *others]:
        rank = f"{ranks[method]:.2f}" if method in ranks.index else "-"
        cells = [area_cell(means.loc[name], spread.loc[name], method) for name in names]
        lines.append(f"| {method} | {rank} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def area_cell(means: pd.Series, spread: pd.Series, method: str) -> str:
    """Mean and standard deviation of one method on a data set; bold if there is no smaller mean."""
    if np.isnan(means[method]):
        return "-"
    shown = f"**{means[method]:.4f}**" if means[method] == means.min() else f"{means[method]:.4f}"
    return shown if np.isnan(spread[method]) else f"{shown} ({spread[method]:.4f})"


def names_in_order(frame: pd.DataFrame) -> list[str]:
    """The data sets that there are rows of."""
    return [name for name in SOURCES if (frame["data"] == name).any()]


def level_by_level(frame: pd.DataFrame, ours: Collection[str], others: Collection[str]) -> pd.DataFrame:
    """At each data set and level: the best of ours, the best of the others, and how far they are apart, seed by seed.

    The best have the least mean error. The interval of the mean difference is a little short, for the rows of different
    seeds overlap.
    """
    lines = []
    for name in names_in_order(frame):
        part = frame[frame["data"] == name].sort_values("seed")
        errors = part.groupby("method")["errors"].apply(lambda column: np.stack(column.tolist()))
        sides = [[method for method in errors.index if base_name(method) in side] for side in (ours, others)]
        for i, level in enumerate(SOURCES[name].levels):
            a, b = (min(side, key=lambda m: errors[m][:, i].mean()) for side in sides)
            difference = interval_of(errors[a][:, i] - errors[b][:, i])
            lines.append((name, level, a, errors[a][:, i].mean(), b, errors[b][:, i].mean(), difference))
    columns = ["data", "level", "ours", "our_error", "other", "other_error", "difference"]
    return pd.DataFrame(lines, columns=columns)


def wins_table(frame: pd.DataFrame) -> str:
    """By how much the best of what is new here leads the best of all others at each level."""
    lines = ["| data | average bill | best of the new | best of all others | difference | |", "|---" * 6 + "|"]
    for row in level_by_level(frame, NEW, METHODS.keys() - NEW.keys()).itertuples():
        lines.append(
            f"| {row.data} | {row.level:g} | {row.ours} {row.our_error:.4f} | {row.other} {row.other_error:.4f} "
            f"| {row.difference.text(4, sign=True)} | {_ahead_or_behind(row.difference)} |"
        )
    return "\n".join(lines)


def _ahead_or_behind(difference: Interval) -> str:
    return "ahead" if difference.is_below() else "behind" if difference.is_above() else ""


def pair_table(frame: pd.DataFrame) -> str:
    """Two methods, the same on every data set: nothing is chosen on test rows."""
    lines = [f"| data | seeds | {PAIR[0]} | {PAIR[1]} | difference | |", "|---" * 6 + "|"]
    for name in names_in_order(frame):
        areas = frame[frame["data"] == name].pivot_table(index="seed", columns="method", values="area")
        difference = interval_of(areas[PAIR[0]] - areas[PAIR[1]])
        means = " | ".join(f"{areas[method].mean():.4f}" for method in PAIR)
        verdict = _ahead_or_behind(difference)
        lines.append(f"| {name} | {len(areas)} | {means} | {difference.text(4, sign=True)} | {verdict} |")
    return "\n".join(lines)


def summary(frame: pd.DataFrame) -> str:
    """How often the best of one side is at least as good as the best of the other, and where it is not."""
    table = level_by_level(frame, NEW, METHODS.keys() - NEW.keys())
    behind = table[table["difference"].map(lambda difference: difference.mean > 0)]
    where = "; ".join(
        f"{name} at {', '.join(f'{v:g}' for v in part['level'])}" for name, part in behind.groupby("data", sort=False)
    )
    libraries = level_by_level(frame, METHODS.keys() - PEERS.keys(), PEERS)
    return (
        f"Of what is new here (cascade, boosting) the best has at most the error of the best of everything else, "
        f"{_counts(table)}. Its mean is larger at: {where or 'none'}. All methods of this library against the other "
        f"libraries: {_counts(libraries)}. These intervals are not corrected for their number, nor for the best of "
        f"each side being chosen on the same test rows; [one pair](#one-pair) is compared without any choice."
    )


def _counts(table: pd.DataFrame) -> str:
    means = np.array([difference.mean for difference in table["difference"]])
    n_below = sum(difference.is_below() for difference in table["difference"])
    n_above = sum(difference.is_above() for difference in table["difference"])
    return (
        f"at {(means <= 0).sum()} of {len(table)} bills; of the 95 % intervals of the differences {n_below} are "
        f"below 0 and {n_above} above"
    )


def missing(frame: pd.DataFrame) -> str:
    """Which data sets are not in the tables."""
    names = [name for name in SOURCES if name not in names_in_order(frame)]
    return f"Not run with every method yet: {', '.join(names)}." if names else "All data sets were run."


def seconds_table(frame: pd.DataFrame) -> str:
    """A line for each method, however it is read, a column for each data set."""
    seconds = frame.assign(base=frame["method"].map(base_name)).groupby(["data", "base"])["seconds"].mean().unstack()
    names = [n for n in SOURCES if n in seconds.index]
    lines = ["| method | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for method in seconds.columns:
        lines.append(f"| {method} | " + " | ".join(f"{seconds.loc[name, method]:.0f}" for name in names) + " |")
    return "\n".join(lines)


def draw(frame: pd.DataFrame, path: Path) -> None:
    """Error against average bill, a panel for each data set."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = names_in_order(frame)
    n_columns = 4
    n_lines = -(-len(names) // n_columns)
    figure, axes = pyplot.subplots(n_lines, n_columns, figsize=(13, 2.9 * n_lines), layout="constrained", squeeze=False)
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes.flat, names, strict=False):
        for method, colour in COLOURS.items():
            part = frame[(frame["data"] == name) & (frame["method"] == method)]
            if len(part):
                errors = np.mean(np.stack(part["errors"].tolist()), axis=0)
                ax.plot(SOURCES[name].levels, errors, "o-", color=colour, label=method, markersize=3, linewidth=1.5)
        ax.set(title=name, xscale="log")
        ax.set_xticks(SOURCES[name].levels, [f"{level:g}" for level in SOURCES[name].levels])
        ax.minorticks_off()
        ax.tick_params(axis="x", labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    for place in range(len(names)):
        axes.flat[place].set_ylabel("test error" if place % n_columns == 0 else "")
        axes.flat[place].set_xlabel("average bill" if place + n_columns >= len(names) else "")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def write_report(rows: list[dict], docs: Path = DOCS) -> None:
    """quality.md and its picture."""
    frame = complete(curves(of_benchmark(rows)))
    if len(frame) == 0:
        print("No data set has been run with every method yet.")
        return
    (docs / "images").mkdir(exist_ok=True)
    draw(frame, docs / "images" / "quality.png")
    template = (Path(__file__).parent / "quality.template.md").read_text()
    text = template.format(
        summary=summary(frame),
        missing=missing(frame),
        areas=area_table(frame),
        pair=pair_table(frame),
        wins=wins_table(frame),
        seconds=seconds_table(frame),
    )
    (docs / "quality.md").write_text(text)
