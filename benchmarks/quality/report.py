"""docs/quality.md from the stored rows: area under the error/cost curve, wins per cost level, and a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.quality.data import SOURCES

ROOT = Path(__file__).parents[2]
OURS = ("cascade", "boosting", "PrunedForest", "PenalizedForest")
COLOURS = {
    "cascade": "#0072b2",
    "boosting, on demand": "#56b4e9",
    "CEGB, on demand": "#d55e00",
    "CEGB, mean of 3, on demand": "#e69f00",
    "BudgetForest, on demand": "#009e73",
    "CatBoost, on demand": "#cc79a7",
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


def complete(frame: pd.DataFrame) -> pd.DataFrame:
    """Only the seeds of a data set that every method has."""
    n_methods = frame["method"].nunique()
    n = frame.groupby(["data", "seed"])["method"].transform("nunique")
    return frame[n == n_methods]


def area_table(frame: pd.DataFrame) -> str:
    methods = _by_area(frame)
    means = frame.groupby(["data", "method"])["area"].mean().unstack()[methods]
    spread = frame.groupby(["data", "method"])["area"].std().unstack()[methods]
    lines = ["| data | seeds | " + " | ".join(methods) + " |", "|---" * (len(methods) + 2) + "|"]
    for name in [n for n in SOURCES if n in means.index]:
        n_seeds = frame.loc[frame["data"] == name, "seed"].nunique()
        cells = [
            f"**{means.loc[name, m]:.4f}**" if means.loc[name, m] == means.loc[name].min()
            else f"{means.loc[name, m]:.4f}"
            for m in methods
        ]  # fmt: skip
        cells = [f"{cell} ({spread.loc[name, m]:.4f})" for cell, m in zip(cells, methods, strict=True)]
        lines.append(f"| {name} | {n_seeds} | " + " | ".join(cells) + " |")
    ranks = means.rank(axis=1).mean()
    lines.append("| mean rank | | " + " | ".join(f"{ranks[m]:.2f}" for m in methods) + " |")
    return "\n".join(lines)


def _by_area(frame: pd.DataFrame) -> list[str]:
    ranks = frame.groupby(["data", "method"])["area"].mean().unstack().rank(axis=1).mean()
    return ranks.sort_values().index.tolist()


def wins_table(frame: pd.DataFrame) -> str:
    """At each level the method of least mean error, and by how much the best of ours leads the best of the others."""
    lines = ["| data | average bill | least error | best of ours | best of the others | difference |", "|---" * 6 + "|"]
    for name in [n for n in SOURCES if (frame["data"] == n).any()]:
        part = frame[frame["data"] == name]
        means = part.groupby("method")["errors"].apply(lambda column: np.mean(np.stack(column), axis=0))
        ours = [m for m in means.index if m.startswith(OURS)]
        others = [m for m in means.index if m not in ours]
        for i, level in enumerate(SOURCES[name].levels):
            at = {m: means[m][i] for m in means.index}
            a, b = (min(group, key=at.__getitem__) for group in (ours, others))
            lines.append(
                f"| {name} | {level:g} | {min(at, key=at.__getitem__)} | {a} {at[a]:.4f} | {b} {at[b]:.4f} "
                f"| {at[a] - at[b]:+.4f} |"
            )
    return "\n".join(lines)


def summary(frame: pd.DataFrame) -> str:
    """How often the best of ours is at least as good as the best of the others."""
    won = total = 0
    lost = []
    for name in [n for n in SOURCES if (frame["data"] == n).any()]:
        part = frame[frame["data"] == name]
        means = part.groupby("method")["errors"].apply(lambda column: np.mean(np.stack(column), axis=0))
        ours = np.min([means[m] for m in means.index if m.startswith(OURS)], axis=0)
        others = np.min([means[m] for m in means.index if not m.startswith(OURS)], axis=0)
        won, total = won + int((ours <= others).sum()), total + len(ours)
        where = [f"{level:g}" for level, is_lost in zip(SOURCES[name].levels, ours > others, strict=True) if is_lost]
        lost += [f"{name} at {', '.join(where)}"] if where else []
    text = f"The best of ours is at least as good as the best of all others at {won} of {total} cost levels."
    return text + (f" Where it is not: {'; '.join(lost)}." if lost else "")


def missing(frame: pd.DataFrame) -> str:
    """Which data sets are not in the tables."""
    names = [name for name in SOURCES if not (frame["data"] == name).any()]
    return f"Not run with every method yet: {', '.join(names)}." if names else "All data sets were run."


def seconds_table(frame: pd.DataFrame) -> str:
    seconds = frame.groupby(["data", "method"])["seconds"].mean().unstack()
    seconds = seconds[[m for m in seconds.columns if not m.endswith("on demand") or m[:-11] not in seconds.columns]]
    lines = ["| data | " + " | ".join(seconds.columns) + " |", "|---" * (len(seconds.columns) + 1) + "|"]
    for name in [n for n in SOURCES if n in seconds.index]:
        lines.append(f"| {name} | " + " | ".join(f"{seconds.loc[name, m]:.0f}" for m in seconds.columns) + " |")
    return "\n".join(lines)


def draw(frame: pd.DataFrame, path: Path) -> None:
    """Error against average bill, a panel for each data set."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [n for n in SOURCES if (frame["data"] == n).any()]
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
        ax.set(title=name, xscale="log", ylim=(0, None))
        ax.set_xticks(SOURCES[name].levels, [f"{level:g}" for level in SOURCES[name].levels])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("test error")
    axes[-1, 0].set_xlabel("average bill")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def write_report(rows: list[dict]) -> None:
    frame = complete(curves(rows))
    if len(frame) == 0:
        print("No data set has been run with every method yet.")
        return
    draw(frame, ROOT / "docs" / "images" / "quality.png")
    template = (Path(__file__).parent / "quality.template.md").read_text()
    text = template.format(
        summary=summary(frame),
        missing=missing(frame),
        areas=area_table(frame),
        wins=wins_table(frame),
        seconds=seconds_table(frame),
    )
    (ROOT / "docs" / "quality.md").write_text(text)
