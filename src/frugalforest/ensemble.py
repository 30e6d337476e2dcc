"""Ensemble: any tree ensemble as scores, whoever grew it: base + the values of the leaves a row reaches.

A random forest adds votes or class shares, a booster adds margins. One label rule serves all of them: the class of the
largest probability. What differs is written down here: where sums start, how they are rounded, how they become
probabilities, and how a row is read before it is compared with thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from frugalforest.data import FeatureEncoder
from frugalforest.forest import Floats, Forest, Mask

Link = Literal["mean", "sigmoid", "softmax", "one_vs_all"]


@dataclass(frozen=True, eq=False)
class Reading:
    """How a matrix of numbers is read before it is compared: as the library does that grew the trees."""

    as_float32: bool = False  # rounded to float32 first
    zero_is_missing: tuple[int, ...] = ()  # features in which 0 (within 1e-35) stands for a missing value

    def __call__(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """The matrix as it is compared; the same one where nothing changes."""
        if self.as_float32 and matrix.dtype != np.float32:
            matrix = matrix.astype(np.float32)
        if self.zero_is_missing:
            matrix = matrix.astype(np.result_type(matrix, np.float32))  # a copy
            columns = list(self.zero_is_missing)
            part = matrix[:, columns]
            part[np.abs(part) <= 1e-35] = np.nan
            matrix[:, columns] = part
        return matrix


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees, what their leaves add to the score of each class, and how scores become labels.

    The score of class c is base[c] + the sum, in tree order, of values[leaf, c]; a binary booster has (0, margin).
    """

    forest: Forest  # leaf_counts: weight of the training rows of each leaf, by class or in one column
    values: Floats  # (n_leaves, n_classes)
    base: Floats  # (n_classes,)
    link: Link
    classes: NDArray[Any]  # (n_classes,)
    encoder: FeatureEncoder  # from the user's X to a matrix of numbers
    reading: Reading = field(default_factory=Reading)
    sums_as_float32: bool = False  # scores are added in float32, in tree order
    ties_to_last: bool = False  # of equally probable classes the last one wins, otherwise the first

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.forest.n_features

    def scores(self, rows: NDArray[Any], *, with_mask: bool = False, n_threads: int = 1) -> tuple[Floats, Mask | None]:
        """Scores of all classes and, if asked for, the features read, from rows that went through `reading`."""
        if self.forest.n_trees == 0:
            mask = np.zeros((len(rows), self.n_features), dtype=bool) if with_mask else None
            return np.tile(self.base, (len(rows), 1)), mask
        return self.forest.sums(
            rows,
            self.values,
            with_mask=with_mask,
            base=self.base,
            as_float=self.sums_as_float32,
            n_threads=n_threads,
        )

    def probabilities(self, scores: Floats) -> Floats:
        """Class probabilities of scores, (n_rows, n_classes)."""
        if self.link == "mean":
            return scores / max(self.forest.n_trees, 1)
        exact = scores.astype(np.float32) if self.sums_as_float32 else scores
        if self.link == "sigmoid":
            second = expit(exact[:, 1] - exact[:, 0])
            return np.column_stack([1 - second, second]).astype(np.float64)
        if self.link == "softmax":
            return softmax(exact, axis=1).astype(np.float64)
        each = expit(exact)
        return (each / each.sum(axis=1, keepdims=True)).astype(np.float64)

    def label_numbers(self, scores: Floats) -> NDArray[np.intp]:
        """The position in `classes` of the most probable class, by the library's own arithmetic, (n_rows,)."""
        probabilities = self.probabilities(scores)
        if self.ties_to_last:
            return self.n_classes - 1 - np.argmax(probabilities[:, ::-1], axis=1)
        return np.argmax(probabilities, axis=1)

    @cached_property
    def tolerance(self) -> float:
        """A lead that no rounding can turn: scores that differ by more give the same label in any order of addition."""
        largest = np.abs(self.base).max(initial=0.0) + self._largest_values.sum()
        precision = float(np.finfo(np.float32 if self.sums_as_float32 else np.float64).eps)
        # Probabilities must differ too: a sigmoid cannot tell margins below its own precision from 0.
        return float(4 * precision * max(1.0, (self.forest.n_trees + 2) * largest))

    @cached_property
    def _largest_values(self) -> Floats:
        """Of each tree the largest absolute value of a leaf, (n_trees,)."""
        if self.forest.n_trees == 0:
            return np.zeros(0)
        return np.maximum.reduceat(np.abs(self.values).max(axis=1), self.forest.leaf_offsets[:-1])
