"""Stored rows by part of the study, and differences of two methods seed by seed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from studies.intervals import Interval, interval_of

NOT_RUN = "No rows yet."


def part_of(rows: list[dict], part: str) -> pd.DataFrame:
    """Rows of one part of the study; `name` is the data set. A part without rows has its columns all the same."""
    mine = [row | {"name": row["task"].split(" ", 1)[1]} for row in rows if row["task"].startswith(f"{part} ")]
    return pd.DataFrame(mine) if mine else pd.DataFrame(columns=["name", "method", "seed"])


def names_of(part: pd.DataFrame, known: Iterable[str]) -> list[str]:
    """Data sets that have rows, in the order of the known ones."""
    return [name for name in known if (part["name"] == name).any()]


def has(part: pd.DataFrame, name: str, *methods: str) -> bool:
    """Whether a data set has rows of all these methods."""
    return set(methods) <= set(part.loc[part["name"] == name, "method"])


def n_seeds(part: pd.DataFrame, name: str, method: str) -> int:
    return int(((part["name"] == name) & (part["method"] == method)).sum())


def by_seed(part: pd.DataFrame, name: str, method: str, column: str) -> dict[int, NDArray[np.float64]]:
    mine = part[(part["name"] == name) & (part["method"] == method)]
    return {
        int(seed): np.asarray(values, dtype=np.float64) for seed, values in zip(mine["seed"], mine[column], strict=True)
    }


def means(part: pd.DataFrame, name: str, method: str, column: str) -> list[Interval]:
    """Over seeds, at each place of a list: of numbers of trees, or of budgets."""
    return [interval_of(values) for values in np.array(list(by_seed(part, name, method, column).values())).T]


def differences(part: pd.DataFrame, name: str, one: str, other: str, column: str) -> list[Interval]:
    """one - other on the same rows, over the seeds that have both, at each place of a list."""
    first, second = by_seed(part, name, one, column), by_seed(part, name, other, column)
    seeds = sorted(first.keys() & second.keys())
    return [interval_of(values) for values in np.array([first[seed] - second[seed] for seed in seeds]).T]


def markdown_table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    titles = list(head)
    return "\n".join(
        [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *(f"| {' | '.join(line)} |" for line in lines)]
    )
