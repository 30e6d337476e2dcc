"""The formulas: how mixed a set is by its class counts, and what a split costs for what it takes off."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: What counts as an impurity: a function from class counts (n_sets, k) to values (n_sets,).
ImpurityFunction = Callable[[Floats], ArrayLike]


class Impurity(ABC):
    """A function of class counts. To bring your own, subclass this and write `__call__`; a plain function does as well.

    Growing calls it with a 2-D array, one row of class counts per candidate set, and expects one value per row.
    """

    @abstractmethod
    def __call__(self, counts: ArrayLike, /) -> Floats | float:
        """Impurity of each set: counts (..., k) -> (...,)."""


def evaluate(impurity: ImpurityFunction, counts: ArrayLike) -> Floats:
    """Values of any impurity, a user's own included, on sets given by their counts: (n_sets, k) -> (n_sets,)."""
    sets = np.asarray(counts, dtype=np.float64)
    values = np.asarray(impurity(sets), dtype=np.float64)
    if values.shape != sets.shape[:1]:
        raise ValueError(
            f"the impurity returned shape {values.shape} for {len(sets)} sets of {sets.shape[1]} classes; "
            f"expected ({len(sets)},): one value per row of counts."
        )
    return values


class _ClosedForm(Impurity):
    """Takes counts of any leading shape and asks for `_values` of an array with the classes first."""

    def __call__(self, counts: ArrayLike, /) -> Floats | float:
        """Impurity of each set: counts (..., k) -> (...,); a float for a single set."""
        n = np.asarray(counts, dtype=np.float64)
        if n.ndim == 0:
            raise ValueError(f"counts is the single number {n}; expected class counts of shape (..., k).")
        values = self._values(np.moveaxis(n, -1, 0))
        return float(values) if n.ndim == 1 else values

    @abstractmethod
    def _values(self, n: Floats) -> Floats:
        """Class counts (k, ...) -> (...,). Operations in the order that docs/growing.md fixes."""


@dataclass(frozen=True)
class ThresholdPairs(_ClosedForm):
    """Pairs of examples of different classes, after each class has been let off its first `alpha` examples.

    F(n) = sum over i != j of [ [n_i - alpha]+ [n_j - alpha]+ - alpha^2 ]+          Nan et al. 2015, eq. (11)

    The sum takes both orders of a pair. `offset=False` leaves out alpha^2, as the paper's worked example does.
    """

    alpha: float = 0.0
    offset: bool = True

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and self.alpha >= 0):
            raise ValueError(f"alpha is {self.alpha!r}; expected a finite number >= 0.")

    def _values(self, n: Floats) -> Floats:
        above = np.maximum(n - self.alpha, 0.0)
        deduction = self.alpha * self.alpha if self.offset else 0.0
        total = np.zeros(n.shape[1:])
        for i in range(len(n)):
            for j in range(i + 1, len(n)):
                total += np.maximum(above[i] * above[j] - deduction, 0.0)
        return 2.0 * total


@dataclass(frozen=True)
class Powers(_ClosedForm):
    """Lists of `power` examples that are not all of one class.

    F(n) = (sum n_i)^power - sum n_i^power          Nan et al. 2015, eq. (14)
    """

    power: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", integer(self.power, "power", at_least=2))

    def _values(self, n: Floats) -> Floats:
        everything, each = np.zeros(n.shape[1:]), np.zeros(n.shape[1:])
        for n_c in n:
            everything = everything + n_c
            each = each + _times(np.ones_like(n_c), n_c, self.power)
        return _times(np.ones_like(everything), everything, self.power) - each


@dataclass(frozen=True)
class Polynomial(_ClosedForm):
    """A polynomial of the class counts in which every term mixes classes.

    F(n) = sum over terms of coefficient * n_1^p_1 * ... * n_k^p_k          Nan et al. 2015, eq. (13)

    `terms` are pairs (coefficient, exponents), one exponent per class, at least two of them not 0.
    """

    terms: Sequence[tuple[float, Sequence[int]]]

    def __post_init__(self) -> None:
        terms = tuple(_term(number, *term) for number, term in enumerate(self.terms))
        lengths = sorted({len(exponents) for _, exponents in terms})
        if len(lengths) != 1:
            raise ValueError(
                f"terms have {lengths or 'no'} exponents; expected one per class, equally many in each term."
            )
        object.__setattr__(self, "terms", terms)

    @property
    def n_classes(self) -> int:
        """Number of classes, k: the number of exponents in each term."""
        return len(self.terms[0][1])

    def _values(self, n: Floats) -> Floats:
        if len(n) != self.n_classes:
            raise ValueError(
                f"the sets have {len(n)} classes but the terms have {self.n_classes} exponents; give one per class."
            )
        total = np.zeros(n.shape[1:])
        for coefficient, exponents in self.terms:
            product = np.full(n.shape[1:], coefficient)
            for n_c, exponent in zip(n, exponents, strict=True):
                product = _times(product, n_c, exponent)
            total = total + product
        return total


@dataclass(frozen=True)
class Gini(_ClosedForm):
    """Chance that two examples drawn from the set differ in class. Not admissible: it is not monotone.

    F(n) = 1 - sum n_i^2 / n^2,  0 for the empty set          Breiman et al. 1984
    """

    def _values(self, n: Floats) -> Floats:
        everything, squares = np.zeros(n.shape[1:]), np.zeros(n.shape[1:])
        for n_c in n:
            everything = everything + n_c
            squares = squares + n_c * n_c
        filled = everything > 0
        shares = np.divide(squares, everything * everything, out=np.ones_like(squares), where=filled)
        return np.asarray(1.0 - shares)


@dataclass(frozen=True)
class Entropy(_ClosedForm):
    """Bits needed to tell the class of an example of the set. Not admissible: it is not monotone.

    F(n) = log2(n) - (sum n_i log2 n_i) / n,  0 for the empty set          Quinlan 1986
    """

    def _values(self, n: Floats) -> Floats:
        everything, weighted_logs = np.zeros(n.shape[1:]), np.zeros(n.shape[1:])
        for n_c in n:
            everything = everything + n_c
            weighted_logs = weighted_logs + n_c * _log2_or_zero(n_c)
        mean_log = np.divide(weighted_logs, everything, out=np.zeros_like(everything), where=everything > 0)
        return np.asarray(_log2_or_zero(everything) - mean_log)


def minimax_risk(cost: ArrayLike, parent: ArrayLike, worst_child: ArrayLike) -> Floats | float:
    """Cost per unit of worst-case impurity removed; smaller is better.

    R(t) = c(t) / (F(S) - max_i F(S_i))          Nan et al. 2015, Algorithm 1, line 12

    A split that removes nothing has infinite risk, even if it is free.
    """
    gain = np.subtract(parent, worst_child, dtype=np.float64)
    risk = np.full(np.broadcast_shapes(np.shape(cost), gain.shape), np.inf)
    np.divide(cost, gain, out=risk, where=gain > 0)
    return float(risk) if risk.ndim == 0 else risk


# ---- small helpers


def _term(number: int, coefficient: float, exponents: Sequence[int]) -> tuple[float, tuple[int, ...]]:
    """One checked term of a polynomial."""
    if not (math.isfinite(coefficient) and coefficient >= 0):
        raise ValueError(f"term {number} has coefficient {coefficient!r}; expected a finite number >= 0.")
    checked = tuple(integer(p, f"an exponent of term {number}", at_least=0) for p in exponents)
    if sum(p > 0 for p in checked) < 2:
        raise ValueError(
            f"term {number} has exponents {checked}; at least two must be > 0, else a pure set has impurity."
        )
    return float(coefficient), checked


def integer(value: object, name: str, at_least: int) -> int:
    """An integer of any type (not a bool, not 2.0) that is large enough."""
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or number < at_least:
        raise ValueError(f"{name} is {value!r}; expected an integer >= {at_least}.")
    return number


def _times(product: Floats, n_c: Floats, exponent: int) -> Floats:
    """product * n_c^exponent by repeated multiplication, so that it rounds like the compiled core."""
    for _ in range(exponent):
        product = product * n_c
    return product


def _log2_or_zero(x: Floats) -> Floats:
    """Base-2 logarithm with 0 in place of log2(0): it is only ever multiplied by 0 there."""
    return np.log2(x, out=np.zeros_like(x), where=x > 0)
