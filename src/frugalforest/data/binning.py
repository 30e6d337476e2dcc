"""Turns columns of numbers into bytes: learns the bins from a sample of rows, then looks up every value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core

MISSING = 255  # the code of a missing value, in every feature
MAX_BINS = 255

GROUP = 64  # columns taken from a row-major matrix together: with 16, taking 50 of 200 000 rows is 63 ms, not 27
BLOCK_ROWS = 512  # rows transposed at once: they stay in the first-level cache

Cut = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]  # edges, least and largest value of each bin


@dataclass(frozen=True, eq=False)
class BinnedData:
    """A matrix as bytes: which bin each value is in."""

    codes: NDArray[np.uint8]  # (n_features, n_rows), C order: 0 .. n_bins - 1, or 255 where missing
    bins: Bins

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.codes.shape[0])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of every feature.

    code(x) = number of edges < x, so that x <= edges[c] exactly if code(x) <= c. A category is its own bin, without
    edges. A feature that had no values has no bins, and all its values count as missing.
    """

    n_bins: NDArray[np.int32]  # (n_features,): number of bins that hold values, at most 255
    is_categorical: NDArray[np.bool_]  # (n_features,)
    edges: NDArray[np.float64]  # edges of feature f: edge_offsets[f] .. edge_offsets[f + 1], one fewer than its bins
    edge_offsets: NDArray[np.int64]  # (n_features + 1,)
    bin_min: NDArray[np.float64]  # least value seen in each bin; bins of f: bin_offsets[f] .. bin_offsets[f + 1]
    bin_max: NDArray[np.float64]  # largest
    bin_offsets: NDArray[np.int64]  # (n_features + 1,)

    @classmethod
    def learn(
        cls,
        matrix: NDArray[Any],
        is_categorical: NDArray[np.bool_] | None = None,
        *,
        n_categories: NDArray[np.int32] | None = None,
        max_bins: int = MAX_BINS,
        sample_rows: int = 200_000,
        random_state: int | np.random.SeedSequence = 0,
        n_threads: int = 1,
    ) -> Bins:
        """Learn the bins of a matrix (n_rows, n_features) from at most `sample_rows` of its rows.

        Numeric columns get at most `max_bins` bins of about equally many rows. Categorical columns hold category
        numbers and get one bin for each of `n_categories`, or up to the largest number found.
        """
        if not 2 <= max_bins <= MAX_BINS:
            raise ValueError(f"max_bins is {max_bins}; expected 2 to {MAX_BINS}, since a bin is stored in one byte.")
        if sample_rows < 1:
            raise ValueError(f"sample_rows is {sample_rows}; expected at least 1.")
        if is_categorical is None:
            is_categorical = np.zeros(matrix.shape[1], dtype=bool)
        rows = draw_rows(matrix.shape[0], sample_rows, random_state)
        cuts = _cut_columns(matrix, is_categorical, rows, max_bins, n_threads)
        for f in np.flatnonzero(is_categorical):
            cuts[f] = _cut_categories(_largest_code(matrix[:, f]) + 1 if n_categories is None else n_categories[f])
        return cls._join(cuts, is_categorical)

    @classmethod
    def _join(cls, cuts: Sequence[Cut], is_categorical: NDArray[np.bool_]) -> Bins:
        edges, least, largest = zip(*cuts, strict=True)
        bin_offsets = _offsets(least)
        return cls(
            n_bins=np.diff(bin_offsets).astype(np.int32),
            is_categorical=np.asarray(is_categorical, dtype=bool),
            edges=np.concatenate(edges),
            edge_offsets=_offsets(edges),
            bin_min=np.concatenate(least),
            bin_max=np.concatenate(largest),
            bin_offsets=bin_offsets,
        )

    def transform(self, matrix: NDArray[Any], n_threads: int = 1) -> BinnedData:
        """The bin of every value of a matrix (n_rows, n_features), which is read in place."""
        codes = np.empty((matrix.shape[1], matrix.shape[0]), dtype=np.uint8)
        categorical = self.is_categorical.astype(np.uint8)
        _core.bin_columns(matrix, self.edges, self.edge_offsets, categorical, codes, n_threads)
        codes[self.n_bins == 0] = MISSING
        return BinnedData(codes, self)

    def threshold(self, feature: int, code: int) -> float:
        """The number t with code(x) <= code exactly if x <= t, in the user's units; infinity for the last bin."""
        if self.is_categorical[feature]:
            raise ValueError(f"Feature {feature} is categorical: its bins have no order and no thresholds.")
        begin, end = self.edge_offsets[feature], self.edge_offsets[feature + 1]
        return float(self.edges[begin + code]) if begin + code < end else np.inf


def draw_rows(n_rows: int, sample_rows: int, random_state: int | np.random.SeedSequence) -> NDArray[np.int64]:
    """Row numbers of a sample without replacement, ascending so that memory is read forward; or all rows.

    Every row gets a random number and the smallest win: raw numbers of a generator are the same in every version of
    numpy, which its `choice` does not promise.
    """
    if n_rows <= sample_rows:
        return np.arange(n_rows)
    keys = np.random.PCG64(random_state).random_raw(n_rows)
    return np.flatnonzero(keys < np.partition(keys, sample_rows)[sample_rows])


def take_columns(matrix: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """The columns of some rows, each in one piece, (n_features, n_sample) in the matrix' own type; always a copy."""
    n_features = matrix.shape[1]
    columns = np.empty((n_features, len(rows)), dtype=matrix.dtype)
    if abs(matrix.strides[0]) <= abs(matrix.strides[1]):
        for f in range(n_features):
            columns[f] = matrix[:, f][rows]
        return columns
    # Transposing block by block: one walk down each column of a row-major matrix takes twice as long.
    for begin in range(0, len(rows), BLOCK_ROWS):
        block = slice(begin, begin + BLOCK_ROWS)
        columns[:, block] = matrix[rows[block]].T
    return columns


def _cut_columns(
    matrix: NDArray[Any],
    is_categorical: NDArray[np.bool_],
    rows: NDArray[np.int64],
    max_bins: int,
    n_threads: int,
) -> list[Cut]:
    """The bins of all columns, a group of columns at a time; categorical columns get none here."""

    def cut_group(group: slice) -> list[Cut]:
        columns = take_columns(matrix[:, group], rows)
        skip = is_categorical[group]
        return [_cut_categories(0) if skip[i] else _cut_numbers(columns[i], max_bins) for i in range(len(columns))]

    groups = list(_groups(matrix.shape[1], n_threads))
    with ThreadPoolExecutor(max(1, n_threads)) as pool:
        return [cut for cuts in pool.map(cut_group, groups) for cut in cuts]


def _groups(n_features: int, n_threads: int) -> Iterator[slice]:
    size = min(GROUP, -(-n_features // max(1, n_threads)))
    return (slice(begin, begin + size) for begin in range(0, n_features, size))


def _cut_numbers(column: NDArray[Any], max_bins: int) -> Cut:
    """The bins of one column, which is sorted in place: in its own type, as float32 sorts twice as fast as float64."""
    column.sort()
    if column.dtype.kind == "f":
        column = column[: np.searchsorted(column, column.dtype.type(np.nan))]  # NaN sorts last
    edges, least, largest = _core.find_bins(column.astype(np.float64), max_bins)
    return edges, least, largest


def _cut_categories(n_categories: int) -> Cut:
    codes = np.arange(n_categories, dtype=np.float64)
    return np.empty(0), codes, codes


def _largest_code(column: NDArray[Any]) -> int:
    return int(np.max(column, initial=-1, where=~np.isnan(column)))


def _offsets(parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)
