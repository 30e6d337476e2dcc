"""How good a ranking is at its top: the measure of the budgeted ranking experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["precision_until_first_miss"]


def precision_until_first_miss(y_true: ArrayLike, scores: ArrayLike, queries: ArrayLike, k: int = 5) -> float:
    """Mean over queries of the share of the top k before the first irrelevant document; larger is better.

    1 if all of the top k are relevant, else (j - 1) / k for the first irrelevant one at position j.
    "Average Precision@5" in Nan, Wang, Saligrama 2015; not the average precision of information retrieval.

    y_true: (n_rows,), relevant where > 0 (or True); scores: (n_rows,), larger is better; queries: (n_rows,), any
    labels, rows of a query need not be neighbours.

    Where the paper is silent: a query with fewer than k documents is judged on all it has (k becomes their number);
    one without a relevant document counts 0; documents with equal scores are in random order, and the expected value
    over all their orders is returned, so that neither the order of the rows nor a seed matters.
    """
    relevant, values, query = _check(y_true, scores, queries, k)
    order = np.lexsort((-values, query))
    relevant, values, query = relevant[order], values[order], query[order]
    hit = _hit_probability(relevant, values, query)
    return float(_expected_share(hit, np.flatnonzero(_is_first(query)), k).mean())


def _hit_probability(relevant: NDArray[np.bool_], scores: NDArray[Any], query: NDArray[Any]) -> NDArray[Any]:
    """(n_rows,): chance that the document at this position is relevant, given that those before it all are.

    (r - i) / (n - i) at place i = 0, 1, ... of a tie of n documents, r of them relevant; rows sorted.
    """
    start = np.flatnonzero(_is_first(query) | _is_first(scores))
    n_tied = np.diff(start, append=len(query))
    n_relevant = np.add.reduceat(relevant.astype(np.int64), start)
    place = np.arange(len(query)) - np.repeat(start, n_tied)
    return np.maximum(np.repeat(n_relevant, n_tied) - place, 0) / (np.repeat(n_tied, n_tied) - place)


def _expected_share(hit: NDArray[Any], start: NDArray[np.intp], k: int) -> NDArray[Any]:
    """(n_queries,): expected number of hits before the first miss, over the number looked at."""
    n_looked_at = np.minimum(np.diff(start, append=len(hit)), k)
    unbroken, expected = np.ones(len(start)), np.zeros(len(start))
    for position in range(n_looked_at.max()):
        there = position < n_looked_at
        unbroken[there] *= hit[start[there] + position]
        expected[there] += unbroken[there]
    return expected / n_looked_at


def _is_first(values: NDArray[Any]) -> NDArray[np.bool_]:
    """True where a run of equal values begins."""
    return np.concatenate([[True], values[1:] != values[:-1]])


def _check(
    y_true: ArrayLike, scores: ArrayLike, queries: ArrayLike, k: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.intp]]:
    relevance, values, labels = np.asarray(y_true), np.asarray(scores, dtype=np.float64), np.asarray(queries)
    if relevance.ndim != 1 or len(relevance) == 0 or not relevance.shape == values.shape == labels.shape:
        shapes = f"{relevance.shape}, {values.shape}, {labels.shape}"
        raise ValueError(f"y_true, scores and queries have shapes {shapes}; give one entry per document in each.")
    if np.isnan(values).any():
        raise ValueError(
            f"scores has {np.isnan(values).sum()} NaN; give every document a score, -inf for the last place."
        )
    if not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a whole number >= 1, got {k!r}.")
    return relevance > 0, values, np.unique(labels, return_inverse=True)[1]
