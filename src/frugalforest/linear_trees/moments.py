"""Moments: all that greedy selection needs to know of the rows of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.linear_trees.standardising import Floats, Mask, Positions, Standard, blocks

LEAST_SPREAD = 1e-12  # a column whose spread is a smaller share of its mean than this is constant up to rounding


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted moments of m columns and k targets over the rows of a node.

    Columns are centred there and have unit norm. Targets are centred and divided by one number, so that their squared
    norms add up to 1: what columns explain of them is then R^2.
    """

    mean: Floats  # (m,): of the standardised columns, in the node
    spread: Floats  # (m,): their standard deviations there; 1 where a column is not usable
    usable_mask: Mask  # (m,): columns that vary in the node
    target_mean: Floats  # (k,)
    target_spread: float  # root of the summed variances of the targets; 0: there is nothing to explain
    with_targets: Floats  # (m, k): products of columns and targets
    correlations: Floats | None  # (m, m), or None where there are fewer rows than columns
    rows: Floats | None  # (n, m): the columns themselves, in that case

    def with_column(self, feature: int) -> Floats:
        """Correlations of one column with all, (m,)."""
        if self.correlations is not None:
            return self.correlations[feature]
        assert self.rows is not None
        return self.rows.T @ self.rows[:, feature]


def moments_of(standard: Standard, matrix: NDArray[Any], rows: Positions, targets: Floats, weights: Floats) -> Moments:
    """Moments of some rows: matrix (n_all, m), rows (n,) positions; targets (n_all, k), weights (n_all,).

    Memory is O(n m): with n >= m the m x m products are added up over blocks of rows; with fewer rows than columns the
    rows are kept, and correlations formed when they are asked for.
    """
    if len(rows) >= matrix.shape[1]:
        return _from_products(standard, matrix, rows, targets, weights)
    return _from_rows(standard, matrix, rows, targets, weights)


def _from_products(
    standard: Standard, matrix: NDArray[Any], rows: Positions, targets: Floats, weights: Floats
) -> Moments:
    """Each block is centred at its own mean, and blocks are joined as Chan, Golub and LeVeque (1983) do.

    That reads the rows once, and loses no digits where the rows of a node are far from the mean of all rows.
    """
    width = matrix.shape[1] + targets.shape[1]
    total, mean, products = 0.0, np.zeros(width), np.zeros((width, width))
    for block in blocks(len(rows), width):
        values = np.hstack([standard.read(matrix, rows[block]), targets[rows[block]]])
        weight = weights[rows[block]]
        added = float(weight.sum())
        block_mean = weight @ values / added
        values -= block_mean
        values *= np.sqrt(weight)[:, None]
        products += values.T @ values
        step = block_mean - mean
        products += np.outer(step, step * (total * added / (total + added)))
        total += added
        mean += step * (added / total)
    products /= total
    spread, usable, target_spread = _spreads(mean, products.diagonal(), matrix.shape[1])
    divisor = np.append(spread, np.full(targets.shape[1], target_spread or 1.0))
    products /= divisor
    products /= divisor[:, None]
    m = matrix.shape[1]
    return Moments(
        mean[:m], spread, usable, mean[m:], target_spread, products[:m, m:].copy(), products[:m, :m], rows=None
    )


def _from_rows(standard: Standard, matrix: NDArray[Any], rows: Positions, targets: Floats, weights: Floats) -> Moments:
    values = np.hstack([standard.read(matrix, rows), targets[rows]])
    weight = weights[rows] / weights[rows].sum()
    mean = weight @ values
    values -= mean
    values *= np.sqrt(weight)[:, None]
    m = matrix.shape[1]
    spread, usable, target_spread = _spreads(mean, np.einsum("ij,ij->j", values, values), m)
    columns = values[:, :m] / spread
    with_targets = columns.T @ values[:, m:] / (target_spread or 1.0)
    return Moments(mean[:m], spread, usable, mean[m:], target_spread, with_targets, correlations=None, rows=columns)


def _spreads(mean: Floats, variance: Floats, n_columns: int) -> tuple[Floats, Mask, float]:
    """Standard deviations of the columns, which of them vary, and the spread of all targets together."""
    spread = np.sqrt(variance[:n_columns])
    usable = spread > LEAST_SPREAD * np.abs(mean[:n_columns])
    # One-hot targets are whole numbers: a spread below this is rounding in a node of one class.
    target_spread = float(np.sqrt(variance[n_columns:].sum()))
    is_constant = target_spread <= LEAST_SPREAD * np.abs(mean[n_columns:]).max()
    return np.where(usable, spread, 1.0), usable, 0.0 if is_constant else target_spread
