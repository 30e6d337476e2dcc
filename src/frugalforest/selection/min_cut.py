"""Which features are worth their price, exactly: for one trade-off by a minimum cut, for all of them by nested cuts.

    S(tradeoff) = argmin over S of cost(S) - tradeoff * sum of information_f over f in S, the smallest of equals

Everything is counted in whole numbers, prices in ticks and information in grains, and decimals are read as they are
printed. So a tie is a tie. Solutions grow with the trade-off (Gallo, Grigoriadis and Tarjan 1989), so all of them
are known once it is known for each feature from where on it is in: its entry.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.selection.max_flow import worthwhile_projects

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Whole = NDArray[np.object_]  # Python's whole numbers, of any size
Positions = NDArray[np.intp]

GRAINS = 10**12  # information is counted in grains of 10^-12


@dataclass(frozen=True, eq=False)
class CutProblem:
    """Features with prices and information as whole numbers. Features that need the same groups share a pattern."""

    own: Whole  # (n_features,), in ticks
    worth: Whole  # (n_features,), in grains; below 0: what a feature does harm
    shared: list[int]  # (n_groups,), in ticks, all above 0
    pattern_of: Positions  # (n_features,)
    patterns: list[tuple[int, ...]]  # the groups of each pattern
    unit: Fraction  # money per tick times grains per information: makes a trade-off of ticks per grain the user's

    @classmethod
    def of(cls, costs: FeatureCosts, information: Floats) -> CutProblem:
        """The problem of a price list and (n_features,) information, whose digits after the 12th are rounded."""
        own, shared = costs.ticks
        pays = shared > 0
        pattern_of, patterns = _patterns(costs.membership[pays])
        return cls(
            own.astype(object),
            np.array([int(grains) for grains in np.rint(information * GRAINS)], dtype=object),
            shared[pays].tolist(),
            pattern_of,
            patterns,
            _tick(costs) * GRAINS,
        )


def best_set(problem: CutProblem, tradeoff: float) -> Mask:
    """The smallest of the best sets for one trade-off, (n_features,); for infinity, all that tells anything."""
    if tradeoff == math.inf:
        return np.asarray(problem.worth > 0, dtype=bool)
    everything = _Part(problem, np.arange(len(problem.own)), dict(enumerate(problem.patterns)))
    return everything.best_set(as_printed(tradeoff) / problem.unit)


def entry_tradeoffs(problem: CutProblem) -> Floats:
    """The trade-off above which each feature is in the best set, (n_features,); infinity: never.

    best_set(problem, t) == (entry_tradeoffs(problem) < t) for every float t: entries are rounded down.

    A set that is best at one trade-off splits all others in two: below it only its features matter, above it they
    are paid. So problems are split until what is left has a closed form, or enters as one.
    """
    entry = np.full(len(problem.own), math.inf)
    parts = [_Part(problem, np.flatnonzero(problem.worth > 0), dict(enumerate(problem.patterns)))]
    while parts:
        for part in parts.pop().independent_parts():
            if len(part.groups) <= 1:
                entry[part.features] = part.closed_form()
                continue
            pivot = part.break_even
            best = part.best_set(pivot)
            if best.any():
                parts += part.split(best)
            else:  # all of them at once, and none before
                entry[part.features] = rounded_down(pivot * problem.unit)
    return entry


def as_printed(number: float) -> Fraction:
    """A float as the decimal it is printed as: 0.1 is a tenth."""
    return Fraction(repr(float(number)))


def rounded_down(exact: Fraction) -> float:
    """The largest float that, as printed, is not above a number."""
    try:
        nearest = float(exact)
    except OverflowError:
        return sys.float_info.max
    return nearest if as_printed(nearest) <= exact else math.nextafter(nearest, -math.inf)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some of the features of a problem, when some of the groups are paid already."""

    problem: CutProblem
    features: Positions
    unpaid: dict[int, tuple[int, ...]]  # pattern -> its groups that are still to be paid

    @property
    def groups(self) -> list[int]:
        """Groups that these features still need."""
        return self._groups_of(self.features)

    @property
    def break_even(self) -> Fraction:
        """The trade-off at which all of these features together are worth what they cost together."""
        paid = sum(self.problem.own[self.features]) + sum(self.problem.shared[group] for group in self.groups)
        return Fraction(paid, sum(self.problem.worth[self.features]))

    def best_set(self, tradeoff: Fraction) -> Mask:
        """Which of these features are in the smallest best set of them, (len(features),); ticks per grain."""
        worth, own = self.problem.worth[self.features], self.problem.own[self.features]
        gain = worth * tradeoff.numerator - own * tradeoff.denominator
        gains_anything = np.asarray(gain > 0, dtype=bool)
        # Features of the same pattern that gain anything by themselves are in together, or none is.
        patterns, which = np.unique(self._pattern_of(self.features[gains_anything]), return_inverse=True)
        total = np.zeros(len(patterns), dtype=object)
        np.add.at(total, which, gain[gains_anything])
        number = {group: i for i, group in enumerate(self.groups)}
        needs = [[number[group] for group in self.unpaid[pattern]] for pattern in patterns.tolist()]
        prices = [self.problem.shared[group] * tradeoff.denominator for group in number]
        chosen = np.zeros(len(self.features), dtype=bool)
        chosen[gains_anything] = np.array(worthwhile_projects(total.tolist(), needs, prices), dtype=bool)[which]
        return chosen

    def split(self, best: Mask) -> list[_Part]:
        """These features without the others, and the others when these are paid."""
        inside, outside = self.features[best], self.features[~best]
        bought = set(self._groups_of(inside))
        left = np.unique(self._pattern_of(outside)).tolist()
        unpaid = {pattern: tuple(g for g in self.unpaid[pattern] if g not in bought) for pattern in left}
        return [_Part(self.problem, inside, self.unpaid), _Part(self.problem, outside, unpaid)]

    def independent_parts(self) -> list[_Part]:
        """Features that no unpaid group connects, apart; those without any, together."""
        if len(self.features) == 0:
            return []
        patterns = np.unique(self._pattern_of(self.features))
        names = np.array(_connected([self.unpaid[pattern] for pattern in patterns.tolist()]))
        name_of = names[np.searchsorted(patterns, self._pattern_of(self.features))]
        order = np.argsort(name_of, kind="stable")
        pieces = np.split(self.features[order], np.flatnonzero(np.diff(name_of[order])) + 1)
        return [_Part(self.problem, piece, self.unpaid) for piece in pieces]

    def closed_form(self) -> Floats:
        """Entries of features that need one more common step, or none: (len(features),).

        The step is worth it from the least (shared + sum of own) / (sum of worth) over sets of features on, and these
        sets are the first features in the order of own / worth. A feature is in from there on, or from own / worth.
        """
        own, worth = self.problem.own[self.features], self.problem.worth[self.features]
        # Fractions with denominators below 2^k differ by at least 2^-2k: counted in that, they keep their order.
        order = np.argsort(own * 4 ** int(worth.max()).bit_length() // worth, kind="stable")
        paid, gained, together = sum(self.problem.shared[group] for group in self.groups), 0, 0
        for price, value in zip(own[order].tolist(), worth[order].tolist(), strict=True):
            if price * gained >= paid * value:
                break
            paid, gained, together = paid + price, gained + value, together + 1
        with_step, later = order[:together], order[together:].tolist()
        entry = np.empty(len(self.features))
        entry[with_step] = rounded_down(Fraction(paid, gained) * self.problem.unit) if together else math.nan
        entry[later] = [rounded_down(Fraction(own[f], worth[f]) * self.problem.unit) for f in later]
        return entry

    def _pattern_of(self, features: Positions) -> Positions:
        return self.problem.pattern_of[features]

    def _groups_of(self, features: Positions) -> list[int]:
        patterns = np.unique(self._pattern_of(features)).tolist()
        return sorted({group for pattern in patterns for group in self.unpaid[pattern]})


def _connected(sets: Sequence[Sequence[int]]) -> list[int]:
    """The connected part of each set, called by its first member; -1 for empty sets."""
    parent: dict[int, int] = {}

    def root(item: int) -> int:
        while parent.setdefault(item, item) != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for members in sets:
        for member in members:
            parent[root(member)] = root(members[0])
    return [root(members[0]) if members else -1 for members in sets]


def _patterns(membership: Mask) -> tuple[Positions, list[tuple[int, ...]]]:
    """(n_groups, n_features) -> the pattern of each feature, and the groups of each pattern."""
    if len(membership) == 0:
        return np.zeros(membership.shape[1], dtype=np.intp), [()]
    _, first, which = np.unique(np.packbits(membership, axis=0), axis=1, return_index=True, return_inverse=True)
    return which.ravel(), [tuple(np.flatnonzero(membership[:, f]).tolist()) for f in first.tolist()]


def _tick(costs: FeatureCosts) -> Fraction:
    """What a tick is worth, exactly: 10^-d, or a power of two."""
    tick: Any = costs.money(1)
    return Fraction(tick) if tick >= 1 else Fraction(1, round(1 / tick))
