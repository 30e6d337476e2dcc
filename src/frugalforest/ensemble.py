"""Ensemble: any tree ensemble as scores, whoever grew it: base + the values of the leaves a row reaches.

A random forest adds votes or class shares, a booster adds margins. One label rule serves all of them: the class of the
largest probability, or of the largest score. What differs is written down here: where sums start, how they are rounded,
how they become probabilities, and how a row is read before it is compared with thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import inv_boxcox

from frugalforest.data import FeatureEncoder
from frugalforest.forest import Floats, Forest, Mask

Link = Literal["mean", "sigmoid", "softmax", "one_vs_all", "power"]

ZERO = float(np.float32(1e-35))  # LightGBM takes numbers up to this size for 0


@dataclass(frozen=True, eq=False)
class Reading:
    """How a matrix of numbers is read before it is compared: as the library does that grew the trees."""

    as_float32: bool = False  # rounded to float32 first
    zero_is_missing: tuple[int, ...] = ()  # features in which 0 (within 1e-35) stands for a missing value
    missing_value: float | None = None  # stands for a missing value in every feature, as NaN does
    categories: tuple[int, ...] = ()  # features that hold numbers of categories: cut to whole numbers
    other_category: int | None = None  # read in place of a category number below 0 or beyond this one
    largest_integer: int | None = None  # larger ones in an array of integers are refused

    def __call__(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """The matrix as it is compared; the same one where nothing changes."""
        self._refuse_large_integers(matrix)
        if self.as_float32 and matrix.dtype != np.float32:
            matrix = _as_float32(matrix)
        if self.missing_value is None and not self.zero_is_missing and not self.categories:
            return matrix
        matrix = matrix.astype(np.result_type(matrix, np.float32))  # a copy
        if self.missing_value is not None:
            matrix[matrix == matrix.dtype.type(self.missing_value)] = np.nan
        zeros, categories = list(self.zero_is_missing), list(self.categories)
        matrix[:, zeros] = _without_zeros(matrix[:, zeros])
        matrix[:, categories] = self._whole_categories(matrix[:, categories])
        return matrix

    def _whole_categories(self, part: NDArray[Any]) -> NDArray[Any]:
        if self.other_category is not None:
            part = np.where((part < 0) | (part > self.other_category), part.dtype.type(self.other_category), part)
        return np.trunc(part)

    def _refuse_large_integers(self, matrix: NDArray[Any]) -> None:
        if (
            self.largest_integer is None
            or matrix.dtype.kind not in "iu"
            or matrix.dtype.itemsize < 4
            or not matrix.size
        ):
            return
        if max(int(matrix.max()), -int(matrix.min())) > self.largest_integer:
            raise ValueError(
                f"X is of integers, and some are beyond {self.largest_integer:,}: the library that grew the trees "
                "reads these differently from arrays and from frames. Give them as floats: X.astype(float)."
            )


def _as_float32(matrix: NDArray[Any]) -> NDArray[np.float32]:
    try:
        with np.errstate(over="raise"):
            return matrix.astype(np.float32)
    except FloatingPointError:
        raise ValueError(
            "X holds a number too large for float32, in which these trees compare. "
            "Replace it by a large number, 1e38 say, or by NaN where the value is missing."
        ) from None


def _without_zeros(part: NDArray[Any]) -> NDArray[Any]:
    part[np.abs(part) <= ZERO] = np.nan
    return part


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """Trees, what their leaves add to the score of each class, and how scores become labels.

    The score of class c is base[c] + the sum, in tree order, of values[leaf, c]; a binary booster has (0, margin).
    Probabilities are made of m = slope * score / divisor:

        mean         score / n_trees               sigmoid      p = 1 / (1 + exp(m[0] - m[1])),  (1 - p, p)
        softmax      exp(m) / sum of exp(m)        one_vs_all   1 / (1 + exp(-m)) of each class; need not add up to 1
        power        score ** slope / sum of score ** slope; scores are at least 0
    """

    forest: Forest  # leaf_counts: weight of the training rows of each leaf, by class or in one column
    values: Floats  # (n_leaves, n_classes)
    base: Floats  # (n_classes,)
    link: Link
    classes: NDArray[Any]  # (n_classes,)
    encoder: FeatureEncoder  # from the user's X to a matrix of numbers
    reading: Reading = field(default_factory=Reading)
    blanks_as_underscores: bool = False  # the library has put these into the names of the features
    only_known_categories: bool = False  # others would be taken for known ones by the library: refused in matrices
    sums_as_float32: bool = False  # scores are added in float32, in tree order
    ties_to_last: bool = False  # of equally probable classes the last one wins, otherwise the first
    labels_by: Literal["probability", "score"] = "probability"  # the label is the class with the largest of these
    base_last: bool = False  # the base is added to the sum of the trees; otherwise sums start from it
    slope: float = 1.0  # of the sigmoid
    divisor: float = 1.0  # of the scores, where a booster averages its trees

    def __repr__(self) -> str:
        return f"Ensemble({self.forest.n_trees} trees, {self.n_features} features, {self.n_classes} classes)"

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
        sums, mask = self.forest.sums(
            rows,
            self.values,
            with_mask=with_mask,
            base=None if self.base_last else self.base,
            as_float=self.sums_as_float32,
            n_threads=n_threads,
        )
        return sums + self.base if self.base_last else sums, mask

    def probabilities(self, scores: Floats) -> Floats:
        """Class probabilities of scores, (n_rows, n_classes)."""
        if self.link == "mean":
            return scores / max(self.forest.n_trees, 1)
        if self.link == "power":
            powers = np.maximum(scores, 0.0) ** self.slope
            return powers / powers.sum(axis=1, keepdims=True)
        margins = scores.astype(np.float32) if self.sums_as_float32 else self.slope * (scores / self.divisor)
        if self.link == "sigmoid":
            second = _sigmoid(margins[:, 1] - margins[:, 0])
            return np.column_stack([1 - second, second]).astype(np.float64)
        each = _softmax(margins) if self.link == "softmax" else _sigmoid(margins)
        return each.astype(np.float64)

    def label_numbers(self, scores: Floats) -> NDArray[np.intp]:
        """The position in `classes` of the class that wins, by the library's own arithmetic, (n_rows,)."""
        ranked = scores if self.labels_by == "score" else self.probabilities(scores)
        if self.ties_to_last:
            return self.n_classes - 1 - np.argmax(ranked[:, ::-1], axis=1)
        return np.argmax(ranked, axis=1)

    @cached_property
    def tolerance(self) -> float:
        """A lead that no rounding can turn: scores that differ by more give the same label in any order of addition."""
        largest = np.abs(self.base).max(initial=0.0) + self._largest_values.sum()
        precision = float(np.finfo(np.float32 if self.sums_as_float32 else np.float64).eps)
        rounding = (self.forest.n_trees + 2) * largest
        if self.labels_by == "score":
            return float(4 * precision * rounding)
        # Probabilities must differ too. A sigmoid cannot tell margins below its own precision from 0, and classes that
        # have one each cannot tell large margins apart: its slope at m is about exp(-m).
        flatness = self.divisor / self.slope
        if self.link == "one_vs_all":
            flatness *= float(np.exp(min(largest / flatness, 700.0)))
        return float(4 * precision * max(flatness, rounding))

    @cached_property
    def _largest_values(self) -> Floats:
        """Of each tree the largest absolute value of a leaf, (n_trees,)."""
        if self.forest.n_trees == 0:
            return np.zeros(0)
        return np.maximum.reduceat(np.abs(self.values).max(axis=1), self.forest.leaf_offsets[:-1])


# Exponentials are those of C's math library, in double and then rounded, as the other libraries take them: numpy's own
# differ in the last place, from processor to processor, which turns labels next to a tie. Sums go from left to right.


def _exp(x: NDArray[Any]) -> NDArray[Any]:
    exact = inv_boxcox(x.astype(np.float64, copy=False), 0.0)  # exp(x), by that name
    with np.errstate(over="ignore"):
        return exact.astype(x.dtype, copy=False)


def _sigmoid(margins: NDArray[Any]) -> NDArray[Any]:
    return 1 / (1 + _exp(-margins))


def _softmax(margins: NDArray[Any]) -> NDArray[Any]:
    each = _exp(margins - margins.max(axis=1, keepdims=True))
    total = np.cumsum(each, axis=1, dtype=np.float64)[:, -1:]
    return each / total.astype(each.dtype)
