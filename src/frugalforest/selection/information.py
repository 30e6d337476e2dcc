"""What features tell about the class, in nats: one by one, and what pairs of them tell twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import mutual_info_classif

from frugalforest.data.binning import MISSING, Bins
from frugalforest.estimators.problem import Problem
from frugalforest.selection.min_cut import GRAINS

Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]  # (n_features, n_rows): the bin of each value, a missing one in the last

_CELLS = 2**23  # of a table of counts made at once: 64 MB
_ROWS_PER_CELL = 5  # of a table of two features and the class, on average


def histogram_information(problem: Problem, n_bins: int, n_threads: int = 1) -> Floats:
    """Mutual information of each feature's bin and the class, (n_features,), rounded to 12 digits.

    MI(f; Y) = sum over bins b and classes y of p(b, y) log(p(b, y) / (p(b) p(y)))      Thomas, eq. (6)

    Bins hold about equally many rows (the paper says 50 bins, not which), a category is a bin of its own, and so are
    missing values. Rounding makes equals of features that differ only in the order in which numbers were added.
    """
    labels = problem.rows.labels.astype(np.int64)
    codes, width = bin_codes(problem, n_bins, n_threads)
    table_size = width * problem.n_classes
    found = []
    step = max(1, min(_CELLS // table_size, _CELLS // len(labels)))
    for start in range(0, len(codes), step):
        block = codes[start : start + step]
        cells = (np.arange(len(block))[:, None] * width + block) * problem.n_classes + labels
        counts = np.bincount(cells.ravel(), minlength=len(block) * table_size)
        found.append(_information(counts.reshape(len(block), width, problem.n_classes), len(labels)))
    return in_grains(np.concatenate(found))


def nearest_neighbour_information(problem: Problem, random_state: int) -> Floats:
    """scikit-learn's estimate from nearest neighbours (Kraskov et al. 2004; Ross 2014), (n_features,), 12 digits."""
    matrix = problem.rows.matrix
    missing = np.flatnonzero(np.isnan(matrix.astype(np.float64, copy=False)).any(axis=0))
    if len(missing):
        names = ", ".join(str(problem.encoder.feature_label(int(f))) for f in missing[:10])
        raise ValueError(
            f"information='knn' takes no missing values, and there are some in: {names}. "
            "Fill them in, or use information='histogram', where missing is a bin of its own."
        )
    is_categorical = problem.encoder.is_categorical
    found = mutual_info_classif(
        matrix, problem.rows.labels, discrete_features=is_categorical, random_state=random_state
    )
    return in_grains(found)


def bin_codes(problem: Problem, n_bins: int, n_threads: int = 1) -> tuple[NDArray[np.uint8], int]:
    """The bin of each value, (n_features, n_rows), and how many bins there are at most, that of missing values last."""
    encoder, matrix = problem.encoder, problem.rows.matrix
    bins = Bins.learn(
        matrix,
        encoder.is_categorical,
        n_categories=encoder.n_categories,
        max_bins=n_bins,
        n_threads=n_threads,
    )
    codes = bins.transform(matrix, n_threads).codes
    last = int(bins.n_bins.max())
    codes[codes == MISSING] = last
    return codes, last + 1


def in_grains(information: Floats) -> Floats:
    """Information as the nearest multiple of 10^-12, not below 0."""
    return np.asarray(np.maximum(np.rint(information * GRAINS), 0.0) / GRAINS)


def _information(counts: NDArray[np.int64], n_rows: int) -> Floats:
    """H(X) + H(Y) - H(X, Y) from counts (n_features, n_bins, n_classes), by n log n in place of p log p."""
    n_log_n = np.arange(n_rows + 1) * np.log(np.maximum(np.arange(n_rows + 1), 1))
    joint = n_log_n[counts].sum(axis=(1, 2))
    by_bin = n_log_n[counts.sum(axis=2)].sum(axis=1)
    by_class = n_log_n[counts.sum(axis=1)].sum(axis=1)
    return np.asarray((joint - by_bin - by_class + n_log_n[n_rows]) / n_rows)


def overlap_shares(problem: Problem, features: NDArray[np.intp]) -> Floats:
    """Which share of what the weaker of two features tells the other one tells too, (k, k) for k features, 0 to 1.

    share_fg = (MI(f; Y) + MI(g; Y) - MI(f, g; Y)) / min(MI(f; Y), MI(g; Y)),  0 on the diagonal

    1 for a copy, 0 for features that tell different things, and for those that tell more together than one by one.
    Few bins, so that a table of two features and the class has rows enough, and entropies corrected for their bias
    (Miller 1955): with 50 bins any two features would seem to tell everything.
    """
    n_rows, n_classes = len(problem.rows), problem.n_classes
    n_bins = int(np.clip(np.sqrt(n_rows / (_ROWS_PER_CELL * n_classes)), 2, 10))
    codes, width = bin_codes(problem, n_bins)
    codes = codes[features]
    of_pair = np.empty((len(codes), len(codes)))
    step = max(1, _CELLS // max(1, len(codes) * width**2))
    for start in range(0, len(codes), step):
        of_pair[start : start + step] = _pair_information(codes[start : start + step], codes, width, problem)
    alone = np.diag(of_pair).copy()
    weaker = np.minimum.outer(alone, alone)
    twice = np.add.outer(alone, alone) - of_pair
    shares = np.clip(np.divide(twice, weaker, out=np.zeros_like(twice), where=weaker > 0), 0, 1)
    np.fill_diagonal(shares, 0)
    return np.asarray((shares + shares.T) / 2)


def _pair_information(some: Codes, others: Codes, width: int, problem: Problem) -> Floats:
    """MI of every pair of features and the class, (n_some, n_others), from tables that are products of indicators."""
    labels, n_rows, n_classes = problem.rows.labels, len(problem.rows), problem.n_classes
    shape = (len(some), width, len(others), width)
    tables = np.zeros((len(some) * width, len(others) * width), dtype=np.float32)  # whole numbers, exact up to 2^24
    with_class = occupied = np.zeros((len(some), len(others)))
    for label in range(n_classes):
        mine = labels == label
        counts = _indicators(some[:, mine], width) @ _indicators(others[:, mine], width).T
        with_class = with_class + _n_log_n(counts).reshape(shape).sum(axis=(1, 3), dtype=np.float64)
        occupied = occupied + np.count_nonzero(counts.reshape(shape), axis=(1, 3))
        tables += counts
    pairs = _n_log_n(tables).reshape(shape).sum(axis=(1, 3), dtype=np.float64)
    classes = np.bincount(labels, minlength=n_classes)
    plain = (with_class - pairs - _n_log_n(classes).sum() + _n_log_n(np.array(n_rows))) / n_rows
    bias = (occupied - np.count_nonzero(tables.reshape(shape), axis=(1, 3)) - np.count_nonzero(classes) + 1) / 2
    return np.asarray(plain - bias / n_rows)


def _indicators(codes: Codes, width: int) -> NDArray[np.float32]:
    """(n_features, n_rows) -> (n_features * width, n_rows): 1 where a value is in a bin."""
    return (codes[:, None, :] == np.arange(width)[None, :, None]).reshape(-1, codes.shape[1]).astype(np.float32)


def _n_log_n(counts: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(counts * np.log(np.maximum(counts, 1)))
