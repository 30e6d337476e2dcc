"""Set functions as the solvers see them: what each feature adds in turn, and whether that falls as sets grow."""

from __future__ import annotations

import itertools
import math
import numbers
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Order = NDArray[np.intp]
Case = tuple[Mask, int, int]  # a set, and two features outside it

_EXHAUSTIVE_FEATURES = 10  # 11,520 cases, 0.1 s; with more features they are sampled
_TOLERANCE = 1e-9  # relative to the values compared: rounding in the user's function is no counterexample


class NotSubmodularWarning(UserWarning):
    """A cost function is not submodular, so that the set found need not be the best one."""


class SetFunction(Protocol):
    """A function of sets of features that is 0 for the empty set."""

    n_features: int

    def __call__(self, mask: Mask) -> float:
        """The value of one set: mask (n_features,)."""

    def steps(self, start: Mask, order: Order) -> Floats:
        """What each feature of `order` adds when added one after the other to the set `start`: (len(order),)."""


class GroupCost:
    """The cost model of a price list as a set function."""

    def __init__(self, costs: FeatureCosts) -> None:
        self.n_features = costs.n_features
        self._costs = costs
        self._group, self._member = np.nonzero(costs.membership)

    def __call__(self, mask: Mask) -> float:
        """The bill of a set."""
        return self._costs.of(mask)

    def steps(self, start: Mask, order: Order) -> Floats:
        """Own prices, and the price of a group for the first of its members."""
        rank = np.full(self.n_features, len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        rank[start] = -1
        first = np.full(len(self._costs.shared), len(order), dtype=np.intp)
        np.minimum.at(first, self._group, rank[self._member])
        added = self._costs.own[order]
        pays = (first >= 0) & (first < len(order))
        np.add.at(added, first[pays], self._costs.shared[pays])
        return added


class CallableCost:
    """A user's own function of a mask. What it returns is checked each time."""

    def __init__(self, function: Callable[[Mask], float], n_features: int) -> None:
        self.n_features = n_features
        self._function = function
        if abs(empty := self(np.zeros(n_features, dtype=bool))) > 0:
            raise ValueError(
                f"feature_costs(no features) is {empty:g}; a cost function must be 0 for the empty set: subtract that."
            )

    def __call__(self, mask: Mask) -> float:
        """The value of a set."""
        value = self._function(mask.copy())  # a copy: the function may keep it, or write to it
        if not isinstance(value, numbers.Real) and getattr(value, "shape", None) != ():
            raise TypeError(f"feature_costs({_shown(mask)}) is {value!r:.80}; a cost function must return a number.")
        if not math.isfinite(value := float(value)):
            raise ValueError(
                f"feature_costs({_shown(mask)}) is {value}; a cost function must be finite for every set of features."
            )
        return value

    def steps(self, start: Mask, order: Order) -> Floats:
        """Differences of the values along the chain."""
        mask = start.copy()
        values = [self(mask)]
        for feature in order.tolist():
            mask[feature] = True
            values.append(self(mask))
        return np.diff(values)


class TradedOff:
    """cost(S) - tradeoff * sum of information_f over f in S."""

    def __init__(self, cost: SetFunction, information: Floats, tradeoff: float) -> None:
        self.n_features = cost.n_features
        self._cost = cost
        self._reward = tradeoff * information

    def __call__(self, mask: Mask) -> float:
        """The objective of a set."""
        return self._cost(mask) - math.fsum(self._reward[mask])

    def steps(self, start: Mask, order: Order) -> Floats:
        """Added cost less added reward."""
        return self._cost.steps(start, order) - self._reward[order]


@dataclass(frozen=True)
class Counterexample:
    """Two features that cost more together than the sum of what each adds: to `base`, positions of features."""

    base: tuple[int, ...]
    first: int
    second: int
    values: tuple[float, float, float, float]  # of base, base + first, base + second, base + both

    def __str__(self) -> str:
        none, first, second, both = self.values
        base = ", ".join(map(str, self.base))
        start = f"{base}, " if base else ""
        return (
            f"f({{{base}}}) = {none:.6g}, f({{{start}{self.first}}}) = {first:.6g}, "
            f"f({{{start}{self.second}}}) = {second:.6g}, f({{{start}{self.first}, {self.second}}}) = {both:.6g}: "
            f"feature {self.second} adds {second - none:.6g} before {self.first}, and {both - first:.6g} after it"
        )


def find_counterexample(
    function: Callable[[Mask], float], n_features: int, *, n_samples: int = 1000, random_state: int = 0
) -> Counterexample | None:
    """Look for a proof that a set function is not submodular.

    f(S + i) + f(S + j) >= f(S + i + j) + f(S)     for all sets S and features i, j outside S

    All of them with up to ten features, otherwise `n_samples` sampled ones. The smallest S found is returned.
    """
    known: dict[bytes, float] = {}

    def value(mask: Mask) -> float:
        key = mask.tobytes()
        if key not in known:
            known[key] = float(function(mask))
        return known[key]

    few = n_features <= _EXHAUSTIVE_FEATURES
    for base, first, second in _all_cases(n_features) if few else _sampled(n_features, n_samples, random_state):
        none, one, other = value(base), value(_with(base, first)), value(_with(base, second))
        both = value(_with(base, first, second))
        slack = _TOLERANCE * max(abs(none), abs(one), abs(other), abs(both))
        if one + other < none + both - slack:
            return Counterexample(tuple(np.flatnonzero(base).tolist()), first, second, (none, one, other, both))
    return None


def warn_if_not_submodular(function: CallableCost, random_state: int, stacklevel: int) -> None:
    """Look for a counterexample, and show it in a warning."""
    found = find_counterexample(function, function.n_features, random_state=random_state)
    if found is not None:
        warnings.warn(
            f"feature_costs is not submodular, so the set found need not be the best one. {found}. "
            "A feature must not add more to a larger set.",
            NotSubmodularWarning,
            stacklevel=stacklevel + 1,
        )


def _all_cases(n_features: int) -> Iterator[Case]:
    """Every set and every pair outside it, small sets first."""
    for size in range(n_features - 1):
        for members in itertools.combinations(range(n_features), size):
            base = _with(np.zeros(n_features, dtype=bool), *members)
            for first, second in itertools.combinations(np.flatnonzero(~base).tolist(), 2):
                yield base, first, second


def _sampled(n_features: int, n_samples: int, random_state: int) -> Iterator[Case]:
    """Random sets and pairs; every size is as likely as any other, small ones first."""
    random = np.random.default_rng(random_state)
    for size in np.sort(random.integers(n_features - 1, size=n_samples)).tolist():
        order = random.permutation(n_features)
        base = _with(np.zeros(n_features, dtype=bool), *order[2 : 2 + size].tolist())
        yield base, int(order[0]), int(order[1])


def _with(mask: Mask, *features: int) -> Mask:
    mask = mask.copy()
    mask[list(features)] = True
    return mask


def _shown(mask: Mask) -> str:
    members: Sequence[int] = np.flatnonzero(mask).tolist()
    return f"{{{', '.join(map(str, members[:10]))}{', ...' if len(members) > 10 else ''}}}"
