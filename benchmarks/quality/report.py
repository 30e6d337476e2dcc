"""docs/quality.md from the stored rows: area under the error/cost curve, wins per cost level, and a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student_t

from benchmarks.quality.data import SOURCES
from benchmarks.quality.methods import METHODS

ROOT = Path(__file__).parents[2]
WAYS = {"label": ", on demand", "confidence": ", until sure"}  # to read the same models
OURS = ("cascade", "boosting", "PrunedForest", "PenalizedForest")
COLOURS = {
    "cascade": "#0072b2",
    "boosting, until sure": "#56b4e9",
    "CEGB, until sure": "#d55e00",
    "CEGB, mean of 3, until sure": "#e69f00",
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


def level_by_level(frame: pd.DataFrame) -> pd.DataFrame:
    """At each data set and level: the best of ours, the best of the others, and how far they are apart, seed by seed.

    The best have the least mean error. `plus_minus` is half the 95 % interval (Student's t) of the mean difference: a
    little short, for the rows of different seeds overlap.
    """
    lines = []
    for name in [n for n in SOURCES if (frame["data"] == n).any()]:
        part = frame[frame["data"] == name].sort_values("seed")
        errors = part.groupby("method")["errors"].apply(lambda column: np.stack(column.tolist()))
        ours = [m for m in errors.index if m.startswith(OURS)]
        others = [m for m in errors.index if m not in ours]
        for i, level in enumerate(SOURCES[name].levels):
            a, b = (min(group, key=lambda m: errors[m][:, i].mean()) for group in (ours, others))
            difference = errors[a][:, i] - errors[b][:, i]
            lines.append((name, level, a, errors[a][:, i].mean(), b, errors[b][:, i].mean(), *_interval(difference)))
    columns = ["data", "level", "ours", "our_error", "other", "other_error", "difference", "plus_minus"]
    return pd.DataFrame(lines, columns=columns)


def _interval(values: np.ndarray) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval."""
    n = len(values)
    half = student_t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf
    return float(values.mean()), float(half)


def wins_table(frame: pd.DataFrame) -> str:
    """By how much the best of ours leads the best of the others at each level."""
    lines = ["| data | average bill | best of ours | best of the others | difference | |", "|---" * 6 + "|"]
    for row in level_by_level(frame).itertuples():
        verdict = {-1: "ahead", 0: "", 1: "behind"}[_sign(row.difference, row.plus_minus)]
        plus_minus = f" ± {row.plus_minus:.4f}" if np.isfinite(row.plus_minus) else ", one seed"
        lines.append(
            f"| {row.data} | {row.level:g} | {row.ours} {row.our_error:.4f} | {row.other} {row.other_error:.4f} "
            f"| {row.difference:+.4f}{plus_minus} | {verdict} |"
        )
    return "\n".join(lines)


def _sign(difference: float, plus_minus: float) -> int:
    """-1 or 1 if the difference is larger than chance explains, else 0."""
    return 0 if abs(difference) <= plus_minus else int(np.sign(difference))


def summary(frame: pd.DataFrame) -> str:
    """How often the best of ours is at least as good as the best of the others, and where it is not."""
    table = level_by_level(frame)
    behind = table[table["difference"] > 0]
    signs = np.array([_sign(*pair) for pair in table[["difference", "plus_minus"]].to_numpy()])
    text = (
        f"The best of ours is at least as good as the best of all others at {len(table) - len(behind)} of {len(table)} "
        f"cost levels: ahead by more than chance explains at {(signs < 0).sum()}, behind by more at "
        f"{(signs > 0).sum()}."
    )
    where = [
        f"{name} at {', '.join(f'{v:g}' for v in part['level'])}" for name, part in behind.groupby("data", sort=False)
    ]
    return text + (f" Where its mean is larger: {'; '.join(where)}." if where else "")


def missing(frame: pd.DataFrame) -> str:
    """Which data sets are not in the tables."""
    names = [name for name in SOURCES if not (frame["data"] == name).any()]
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
        ax.tick_params(axis="x", labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("test error")
    axes[-1, 0].set_xlabel("average bill")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def write_report(rows: list[dict]) -> None:
    frame = complete(curves(of_benchmark(rows)))
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
