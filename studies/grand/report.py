"""The report of the study, written from the stored rows alone: areas, ranks, times, and which method to take when."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.quality.data import SOURCES
from benchmarks.quality.report import area_table, base_name, complete, curves
from scipy.stats import friedmanchisquare, studentized_range

SOME_DATA = ("CSTC",)  # methods that are not for every data set
FEW_ROWS = ("heart", "hepatitis", "pima", "bupa")  # data sets with fewer than 1,000 rows, and real prices
BUDGETS = {"small budgets": slice(0, 3), "middle budgets": slice(3, 6), "large budgets": slice(6, 8)}


def finished(frame: pd.DataFrame) -> pd.DataFrame:
    """Only seeds of a data set that every method has which suits every data set."""
    general = frame[~frame["method"].map(base_name).isin(SOME_DATA)]
    pairs = complete(general)[["data", "seed"]].drop_duplicates()
    return frame.merge(pairs, on=["data", "seed"])


def areas(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean area over seeds, data sets by methods."""
    return frame.groupby(["data", "method"])["area"].mean().unstack()


def everywhere(table: pd.DataFrame) -> pd.DataFrame:
    """The methods that were run on every data set."""
    return table.loc[:, table.notna().all()]


def mean_ranks(table: pd.DataFrame) -> pd.Series:
    return table.rank(axis=1).mean().sort_values()


def critical_difference(n_methods: int, n_data: int, level: float = 0.95) -> float:
    """Mean ranks that differ by less do not differ (Nemenyi): q sqrt(k (k + 1) / (6 N))."""
    q = studentized_range.ppf(level, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data)))


def rank_table(table: pd.DataFrame, frame: pd.DataFrame) -> str:
    ranks = mean_ranks(everywhere(table))
    wins = table.eq(table.min(axis=1), axis=0).sum()
    seconds = frame.groupby("method")["seconds"].sum() / frame.groupby("method").size()
    lines = ["| method | mean rank | least area on | CPU seconds per fit, mean |", "|---|---|---|---|"]
    lines += [f"| {m} | {rank:.2f} | {wins[m]} | {seconds[m]:.0f} |" for m, rank in ranks.items()]
    return "\n".join(lines)


def draw_ranks(table: pd.DataFrame, path: Path) -> None:
    """Mean ranks on a line; bars join methods that do not differ."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    some = everywhere(table)
    ranks, width = mean_ranks(some), critical_difference(some.shape[1], len(some))
    figure, ax = pyplot.subplots(figsize=(9, 0.32 * len(ranks) + 1.2), layout="constrained")
    for i, (method, rank) in enumerate(ranks.items()):
        ax.plot(rank, -i, "o", color="#0072b2")
        ax.annotate(method, (rank, -i), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9)
        ax.plot([rank - width / 2, rank + width / 2], [-i, -i], color="#bbbbbb", linewidth=3, zorder=0)
    ax.set(xlabel=f"mean rank by area over {len(some)} data sets; bars that do not meet differ (Nemenyi, 95 %)")
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def advice(frame: pd.DataFrame, table: pd.DataFrame) -> str:
    """Which method has the least mean rank, by kind of data and by size of the budget."""
    lines = ["| when | first | second | third |", "|---|---|---|---|"]
    kinds = {
        "all data sets": list(table.index),
        "fewer than 1,000 rows": [n for n in table.index if n in FEW_ROWS],
        "more rows": [n for n in table.index if n not in FEW_ROWS],
    }
    for when, names in kinds.items():
        if names:
            lines.append(f"| {when} | " + " | ".join(_best_three(everywhere(table).loc[names])) + " |")
    for when, part in BUDGETS.items():
        errors = frame.assign(part=[float(np.mean(e[part])) for e in frame["errors"]])
        some = everywhere(errors.groupby(["data", "method"])["part"].mean().unstack())
        lines.append(
            f"| {when} (levels {part.start + 1} to {part.stop} of 8) | " + " | ".join(_best_three(some)) + " |"
        )
    return "\n".join(lines)


def _best_three(table: pd.DataFrame) -> list[str]:
    ranks = mean_ranks(table)
    return [f"{method} ({rank:.1f})" for method, rank in ranks.head(3).items()]


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its picture in a folder."""
    frame = finished(curves(rows))
    table = areas(frame)
    if len(table) == 0:
        print("No data set has been run with every method yet.")
        return
    some = everywhere(table)
    seeds = frame.groupby("data")["seed"].nunique()
    missing = [n for n in SOURCES if n not in table.index]
    draw_ranks(table, folder / "ranks.png")
    text = (Path(__file__).parent / "report.template.md").read_text()
    text = text.format(
        n_methods=table.shape[1],
        n_data=len(table),
        seeds=", ".join(f"{n} {seeds[n]}" for n in SOURCES if n in seeds.index),
        missing=f"Not run with every method: {', '.join(missing)}." if missing else "Nothing was skipped.",
        friedman=f"{friedmanchisquare(*some.to_numpy().T).pvalue:.1e}" if len(some) > 2 else "-",
        ranks=rank_table(table, frame),
        areas=area_table(frame),
        advice=advice(frame, table),
    )
    (folder / "report.md").write_text(text)
