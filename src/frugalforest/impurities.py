"""Impurities: how mixed a set of examples is, as a function F(n_1 .. n_k) of its class counts.

Greedy trees come with a bound on their cost if F is *admissible* (Nan et al. 2015, section 2.2): non-negative, zero on
pure sets, monotone, supermodular, and of polynomial growth. `check_admissible` looks for sets that show otherwise.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "AdmissibilityReport",
    "Counterexample",
    "Entropy",
    "Gini",
    "Impurity",
    "ImpurityFunction",
    "Polynomial",
    "Powers",
    "ThresholdPairs",
    "check_admissible",
    "evaluate",
    "minimax_risk",
]

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
        object.__setattr__(self, "power", _integer(self.power, "power", at_least=2))

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


# Admissibility.

#: Rounding that a property may be off by, relative to the values compared and to F of an evenly mixed set.
_TOLERANCE = 1e-11
#: How many (set, first example added, second example added) the exhaustive part looks at.
_EXHAUSTIVE_CASES = 200_000


@dataclass(frozen=True)
class Counterexample:
    """Sets, as class counts, whose impurities break a property."""

    sets: tuple[tuple[int, ...], ...]
    values: tuple[float, ...]
    reason: str

    def __str__(self) -> str:
        pairs = zip(self.sets, self.values, strict=True)
        return ", ".join(f"F{counts} = {value:.6g}" for counts, value in pairs) + f": {self.reason}"


@dataclass(frozen=True)
class AdmissibilityReport:
    """What `check_admissible` found: a counterexample for each property that fails. True if none does."""

    violations: dict[str, Counterexample]

    @property
    def admissible(self) -> bool:
        """Whether no counterexample was found."""
        return not self.violations

    def __bool__(self) -> bool:
        return self.admissible

    def __str__(self) -> str:
        if self.admissible:
            return "admissible, as far as the sets looked at show"
        return "\n".join(["not admissible", *(f"  {name}: {found}" for name, found in self.violations.items())])


def check_admissible(
    impurity: ImpurityFunction,
    n_classes: int = 3,
    max_count: int = 300,
    n_samples: int = 20_000,
    random_state: int | np.random.Generator | None = 0,
) -> AdmissibilityReport:
    """Look for sets on which an impurity is not admissible.

    non-negativity    F(G) >= 0
    purity            F(G) = 0 if G has one class only, or no examples
    monotonicity      F(R) <= F(G)                          for R subset of G
    supermodularity   F(R + j) - F(R) <= F(G + j) - F(G)    for R subset of G, j outside G
    growth            log F(G) = O(log |G|)                                       Nan et al. 2015, section 2.2

    (The paper asks for j outside R only; for j in G the right side would be 0, and no impurity would pass.)
    All sets of a few examples are looked at, and `n_samples` pairs of sets with up to `max_count` examples per class.
    For growth, all classes are doubled time and again: log F / log n must not keep rising.
    A failed property is certain, up to rounding (growth: as far as 2^40 per class tell); a passed one is likely.
    """
    n_classes = _integer(n_classes, "n_classes", at_least=2)
    max_count = _integer(max_count, "max_count", at_least=1)
    n_samples = _integer(n_samples, "n_samples", at_least=0)
    rng = np.random.default_rng(random_state)
    cases = _Cases.of(impurity, *_nested_sets(n_classes, max_count, n_samples, rng))
    found = {
        "non-negativity": _not_negative(cases),
        "purity": _pure(impurity, n_classes, max_count),
        "monotonicity": _monotone(cases),
        "supermodularity": _supermodular(cases),
        "growth": _polynomial_growth(impurity, n_classes),
    }
    return AdmissibilityReport({name: example for name, example in found.items() if example is not None})


@dataclass(frozen=True)
class _Cases:
    """Nested sets R <= G and an example j: counts (4, n_cases, k) of R, R + j, G, G + j; values and slack of each."""

    sets: Floats
    values: Floats  # (4, n_cases)
    slack: Floats  # (n_cases,): rounding allowed

    @classmethod
    def of(cls, impurity: ImpurityFunction, smaller: Floats, larger: Floats, example: Floats) -> _Cases:
        sets = np.stack([smaller, smaller + example, larger, larger + example])
        values = _quiet(impurity, sets.reshape(-1, sets.shape[-1])).reshape(sets.shape[:2])
        magnitude = np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=0)
        return cls(sets, values, _TOLERANCE * (magnitude + _even_impurity(impurity, sets[3])))

    def simplest(self, broken: NDArray[np.bool_], members: Sequence[int], reason: str) -> Counterexample | None:
        """Of the cases that break a property, the one with the fewest examples."""
        if not broken.any():
            return None
        where = np.flatnonzero(broken)
        case = where[self.sets[members[-1]][where].sum(axis=1).argmin()]
        return _counterexample([self.sets[m, case] for m in members], [self.values[m, case] for m in members], reason)


def _nested_sets(k: int, max_count: int, n_samples: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Counts of sets R <= G, and a single example j: every small case, then samples. Three arrays (n_cases, k)."""
    # R = n, G = n + i is enough: the property for any larger G follows by adding its examples one by one.
    side = min(max_count, int((_EXHAUSTIVE_CASES / k**2) ** (1 / k)) - 1)
    grid = np.indices((side + 1,) * k).reshape(k, -1).T if side > 0 else np.zeros((1, k))
    one = np.eye(k)
    small = np.repeat(grid, k * k, axis=0)
    small_more = np.tile(np.repeat(one, k, axis=0), (len(grid), 1))
    small_example = np.tile(one, (len(grid) * k, 1))

    # Sizes on a log scale, and in half of the classes R = G.
    size = np.exp(rng.random((n_samples, 1)) * math.log(max_count + 1))
    larger = np.floor(rng.random((n_samples, k)) * (np.floor(size) + 1))
    smaller = np.where(rng.random((n_samples, k)) < 0.5, larger, np.floor(larger * rng.random((n_samples, k))))
    example = one[rng.integers(k, size=n_samples)]
    return (
        np.concatenate([small, smaller]),
        np.concatenate([small + small_more, larger]),
        np.concatenate([small_example, example]),
    )


def _not_negative(cases: _Cases) -> Counterexample | None:
    """F(R), F(G) >= 0, and numbers."""
    negative = ~(cases.values >= -cases.slack)
    reason = "an impurity is a number >= 0"
    return cases.simplest(negative[0], [0], reason) or cases.simplest(negative[2], [2], reason)


def _pure(impurity: ImpurityFunction, k: int, max_count: int) -> Counterexample | None:
    """F = 0 for one class and for the empty set."""
    counts = np.unique(np.geomspace(1, max_count, 100).round())
    sets = np.concatenate([np.zeros((1, k)), np.kron(counts[:, None], np.eye(k))])
    values = _quiet(impurity, sets)
    broken = np.abs(values) > _TOLERANCE * _even_impurity(impurity, sets)
    if not broken.any():
        return None
    worst = broken.argmax()
    return _counterexample([sets[worst]], [values[worst]], "a set of one class has impurity 0")


def _monotone(cases: _Cases) -> Counterexample | None:
    """F(R) <= F(G)."""
    broken = cases.values[0] > cases.values[2] + cases.slack
    return cases.simplest(broken, [0, 2], "a subset has at most the impurity of the whole")


def _supermodular(cases: _Cases) -> Counterexample | None:
    """F(R + j) - F(R) <= F(G + j) - F(G)."""
    with np.errstate(all="ignore"):
        broken = cases.values[1] - cases.values[0] > cases.values[3] - cases.values[2] + cases.slack
    reason = "the same example adds at least as much impurity to the larger set (third to fourth) as to the smaller one"
    return cases.simplest(broken, [0, 1, 2, 3], reason)


def _polynomial_growth(impurity: ImpurityFunction, k: int) -> Counterexample | None:
    """log F = O(log n). By monotonicity sets with equally many examples of each class are the largest to look at.

    The degree at n is log2 F(2n) - log2 F(n). It settles for a polynomial; for an exponential it doubles with n.
    """
    doublings, longest, patience = 41, 8, 1.25
    sets = np.repeat(2.0 ** np.arange(doublings)[:, None], k, axis=1)
    values = _quiet(impurity, sets)
    overflow = np.flatnonzero(np.isposinf(values))
    if len(overflow) and overflow[0] < longest:
        return _counterexample([sets[overflow[0]]], [np.inf], "log F grows at most in proportion to log n")
    known = np.flatnonzero(np.isfinite(values) & (values > 0))
    degree = np.diff(np.log2(values[known]))
    if len(degree) < 2:
        return None
    late = len(degree) - 1
    early = late - max(1, len(degree) // 4)
    if degree[late] <= patience * degree[early] + 0.05:
        return None
    shown = known[[early, early + 1, late, late + 1]]
    reason = (
        f"log F grows at most in proportion to log n; here doubling the set multiplies F by 2^{degree[early]:.3g} "
        f"at first and by 2^{degree[late]:.3g} later"
    )
    return _counterexample(list(sets[shown]), list(values[shown]), reason)


def _quiet(impurity: ImpurityFunction, sets: Floats) -> Floats:
    """Values without warnings: overflow and NaN are findings here."""
    with np.errstate(all="ignore"):
        return evaluate(impurity, sets)


def _even_impurity(impurity: ImpurityFunction, sets: Floats) -> Floats:
    """|F| of sets of the same sizes with all classes alike: the scale on which F computes, and rounds."""
    sizes, which = np.unique(np.ceil(sets.sum(axis=1) / sets.shape[1]), return_inverse=True)
    values = np.abs(_quiet(impurity, np.repeat(sizes[:, None], sets.shape[1], axis=1)))
    return np.asarray(np.where(np.isfinite(values), values, 0.0)[which])


def _counterexample(sets: Sequence[Floats], values: Sequence[float], reason: str) -> Counterexample:
    as_counts = tuple(tuple(int(n_c) for n_c in n) for n in sets)
    return Counterexample(as_counts, tuple(float(value) for value in values), reason)


# Small helpers.


def _term(number: int, coefficient: float, exponents: Sequence[int]) -> tuple[float, tuple[int, ...]]:
    """One checked term of a polynomial."""
    if not (math.isfinite(coefficient) and coefficient >= 0):
        raise ValueError(f"term {number} has coefficient {coefficient!r}; expected a finite number >= 0.")
    checked = tuple(_integer(p, f"an exponent of term {number}", at_least=0) for p in exponents)
    if sum(p > 0 for p in checked) < 2:
        raise ValueError(
            f"term {number} has exponents {checked}; at least two must be > 0, else a pure set has impurity."
        )
    return float(coefficient), checked


def _integer(value: object, name: str, at_least: int) -> int:
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
