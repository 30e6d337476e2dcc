"""The report of the study, written from the stored rows alone: areas, ranks, times, and which method to take when."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.quality.data import SOURCES
from benchmarks.quality.methods import PEERS
from benchmarks.quality.report import WAYS, area_table, base_name, complete, curves
from scipy.stats import friedmanchisquare, studentized_range

SOME_DATA = ("CSTC",)  # methods that are not for every data set
FEW_ROWS = ("heart", "hepatitis", "pima", "bupa")  # data sets with fewer than 1,000 rows, and real prices
OURS, PEER = "#0072b2", "#d55e00"  # colours
BUDGETS = {"small budgets": slice(0, 3), "middle budgets": slice(3, 6), "large budgets": slice(6, 8)}


def finished(frame: pd.DataFrame) -> pd.DataFrame:
    """Only seeds of a data set that every method has which suits every data set."""
    general = frame[~frame["method"].map(base_name).isin(SOME_DATA)]
    pairs = complete(general)[["data", "seed"]].drop_duplicates()
    return frame.merge(pairs, on=["data", "seed"])


def read_most_frugally(frame: pd.DataFrame) -> pd.DataFrame:
    """Each method once: until sure if it can be read so, else on demand, else in full."""
    bases = frame["method"].map(base_name)
    ways = ["", *WAYS.values()]
    way = [ways.index(method.removeprefix(base)) for method, base in zip(frame["method"], bases, strict=True)]
    ranked = frame.assign(base=bases, way=way)
    return ranked[ranked["way"] == ranked.groupby("base")["way"].transform("max")]


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
    seconds = frame.groupby("method")["seconds"].mean()
    lines = ["| method | mean rank | least area on | CPU seconds per fit, mean |", "|---|---|---|---|"]
    lines += [f"| {m} | {rank:.2f} | {wins[m]} | {seconds[m]:.0f} |" for m, rank in ranks.items()]
    return "\n".join(lines)


def draw_ranks(table: pd.DataFrame, path: Path) -> None:
    """Mean ranks, a line for each method; bars that do not meet belong to methods that differ."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    some = everywhere(table)
    ranks, width = mean_ranks(some), critical_difference(some.shape[1], len(some))
    places = np.arange(len(ranks))
    colours = [PEER if base_name(method) in PEERS else OURS for method in ranks.index]
    figure, ax = pyplot.subplots(figsize=(8, 0.27 * len(ranks) + 1.3), layout="constrained")
    ax.hlines(places, ranks - width / 2, ranks + width / 2, color="#cccccc", linewidth=4)
    ax.scatter(ranks, places, color=colours, zorder=3)
    ax.set_yticks(places, ranks.index)
    for label, colour in zip(ax.get_yticklabels(), colours, strict=True):
        label.set_color(colour)
    ax.invert_yaxis()
    ax.set(
        xlim=(ranks.min() - 0.55 * width, ranks.max() + 0.55 * width),
        xlabel=f"mean rank by area, {len(some)} data sets (orange: other libraries)\n"
        "bars that do not overlap: the methods differ (Nemenyi, 95 %)",
    )
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def advice(frame: pd.DataFrame, table: pd.DataFrame) -> str:
    """Which method has the least mean rank, by kind of data and by size of the budget."""
    lines = ["| when | first | second | third |", "|---|---|---|---|"]
    kinds = {
        "all data sets": list(table.index),
        "fewer than 1,000 rows, real prices": [n for n in table.index if n in FEW_ROWS],
        "more rows, every feature at the same price": [n for n in table.index if n not in FEW_ROWS],
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


def cannot_be_told_apart(table: pd.DataFrame) -> list[str]:
    """The methods whose mean rank is not beyond the critical difference from the first."""
    some = everywhere(table)
    ranks = mean_ranks(some)
    return list(ranks.index[ranks - ranks.min() < critical_difference(some.shape[1], len(some))])


def place_of(table: pd.DataFrame, method: str) -> str:
    """Which place a method has among all, as a sentence."""
    names = [base_name(name) for name in mean_ranks(everywhere(table)).index]
    if method not in names:
        return ""
    return f"`{method}`, which chooses among several of them by itself, is number {names.index(method) + 1}."


def write_report(rows: list[dict], folder: Path) -> None:
    """report.md and its picture in a folder."""
    everything = finished(curves(rows)) if rows else pd.DataFrame()
    if len(everything) == 0:
        print("No data set has been run with every method yet.")
        return
    frame = read_most_frugally(everything)
    table = areas(frame)
    some = everywhere(table)
    seeds = frame.groupby("data")["seed"].nunique()
    missing = [n for n in SOURCES if n not in table.index]
    draw_ranks(table, folder / "ranks.png")
    text = (Path(__file__).parent / "report.template.md").read_text()
    text = text.format(
        n_methods=some.shape[1],
        not_ranked=", ".join(sorted(set(table.columns) - set(some.columns))) or "none",
        n_data=len(table),
        n_sources=len(SOURCES),
        seeds="; ".join(f"{n}: {seeds[n]}" for n in SOURCES if n in seeds.index),
        alike="; ".join(cannot_be_told_apart(table)),
        auto=place_of(table, "FrugalClassifier"),
        missing=f"Not run with every method: {', '.join(missing)}." if missing else "Nothing was skipped.",
        friedman=f"{friedmanchisquare(*some.to_numpy().T).pvalue:.1e}" if len(some) > 2 else "-",
        difference=f"{critical_difference(some.shape[1], len(some)):.1f}",
        ranks=rank_table(table, frame),
        areas=area_table(everything),
        advice=advice(frame, table),
    )
    (folder / "report.md").write_text(text)
