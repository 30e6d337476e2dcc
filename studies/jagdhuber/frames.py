"""Stored rows as frames: one line per measurement, means over repetitions, gaps seed by seed, ranks by data set."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from studies.intervals import Interval, interval_of

ENOUGH = 5  # repetitions, for a place in a ranking and for a bold number
STRATEGIES = ("xi 0", "xi 1", "tuned")
PATH = "path"  # the strategy of lines that belong to a path over all xi
COLUMNS = ["task", "method", "seed", "error", "cost", "n_features", "xi", "oob_error", "name", "budget", "kind"]


def as_frame(rows: list[dict]) -> pd.DataFrame:
    """One line per measurement; a path gives one line for each xi of its grid."""
    if not rows:
        return pd.DataFrame(columns=[*COLUMNS, "strategy"])
    frame = pd.DataFrame([line for row in rows for line in _lines(row)])
    frame[["name", "budget"]] = frame["task"].str.rsplit(" ", n=1, expand=True)
    frame["budget"] = frame["budget"].astype(float)
    parts = frame["method"].str.extract(r"^(?P<kind>.*) (?P<strategy>xi 0|xi 1|tuned|path)$")
    return frame.assign(**parts)


def _lines(row: dict) -> list[dict]:
    if "grid" not in row:
        return [row]
    names = {name: row[name] for name in ("task", "method", "seed")}
    values = zip(row["grid"], row["oob_errors"], row["errors"], row["costs"], strict=True)
    return [names | {"xi": xi, "oob_error": oob, "error": error, "cost": cost} for xi, oob, error, cost in values]


def measured(frame: pd.DataFrame, kinds: Sequence[str], strategies: Sequence[str] = STRATEGIES) -> pd.DataFrame:
    return frame[frame["kind"].isin(kinds) & frame["strategy"].isin(strategies)]


def paired(frame: pd.DataFrame, kinds: Sequence[str]) -> pd.DataFrame:
    """The rows of some methods, of those repetitions in which all of them have run."""
    part = measured(frame, kinds)
    n_kinds = part.groupby(["name", "budget", "seed"])["kind"].transform("nunique")
    return part[n_kinds == len(kinds)]


def well_repeated(frame: pd.DataFrame, kinds: Sequence[str]) -> list[str]:
    """Those of the methods that have enough repetitions on every data set of the frame."""
    n_seeds = frame.groupby(["kind", "name"])["seed"].nunique().unstack().reindex(kinds).fillna(0)
    return [kind for kind in kinds if len(n_seeds.columns) and n_seeds.loc[kind].min() >= ENOUGH]


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean test error, half of its interval and the number of repetitions of every cell that has two at least."""
    cells = []
    some = frame[frame["strategy"].isin(STRATEGIES)]
    for key, part in some.groupby(["name", "budget", "kind", "strategy"]):
        if len(part) < 2:
            continue
        error = interval_of(part["error"])
        cells.append((*key, *error, len(part), part["cost"].mean(), part["n_features"].mean(), part["xi"].mean()))
    columns = ["name", "budget", "kind", "strategy", "error", "half", "n", "cost", "n_features", "xi"]
    return pd.DataFrame(cells, columns=columns)


def gap(frame: pd.DataFrame, one: str, other: str) -> Interval:
    """Error of one method less that of the other, both as "kind strategy", averaged over cells seed by seed.

    Only seeds that have every cell, so that each is a mean of the same; a cell that few seeds have does not count.
    """
    wide = frame[frame["method"].isin([one, other])].pivot_table(
        index=["name", "budget", "seed"], columns="method", values="error"
    )
    by_seed = (wide[one] - wide[other]).unstack(["name", "budget"])
    return interval_of(by_seed.dropna(axis="columns", thresh=ENOUGH).dropna().mean(axis=1))


def set_ranks(part: pd.DataFrame) -> pd.DataFrame:
    """Mean rank of each method on each data set, over budgets and splits that all methods have, (sets, methods)."""
    wide = part.pivot_table(index=["name", "budget", "seed"], columns="method", values="error").dropna()
    return wide.rank(axis=1).groupby("name").mean()
