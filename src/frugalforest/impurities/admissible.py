"""Admissibility: a search for sets on which an impurity breaks one of the properties that the cost bound rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frugalforest.impurities.formulas import Floats, ImpurityFunction, evaluate, integer

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
    n_classes = integer(n_classes, "n_classes", at_least=2)
    max_count = integer(max_count, "max_count", at_least=1)
    n_samples = integer(n_samples, "n_samples", at_least=0)
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
