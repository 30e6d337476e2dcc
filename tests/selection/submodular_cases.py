"""Small problems of cost against information, and their answers by looking at every set."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

import frugalforest as ff


@dataclass(frozen=True)
class Case:
    costs: ff.FeatureCosts
    information: np.ndarray
    tradeoff: float

    def objective(self, mask: np.ndarray) -> float:
        return self.costs.of(mask) - self.tradeoff * self.information[mask].sum()


def random_case(seed: int, most_features: int = 14, *, coarse: bool) -> Case:
    """Overlapping groups, free features and groups, features that tell nothing.

    Coarse numbers: many ties, some of which are none when added up in floats.
    """
    random = np.random.default_rng(seed)
    m = int(random.integers(1, most_features + 1))
    own = random.integers(0, 5, m) / 10 if coarse else random.random(m).round(3)
    information = random.integers(0, 6, m) / 20 if coarse else random.random(m).round(6) * random.integers(0, 2, m)
    groups = {}
    for g in range(int(random.integers(0, 6))):
        members = random.choice(m, int(random.integers(1, m + 1)), replace=False).tolist()
        groups[f"g{g}"] = ff.Group(members, float(random.integers(0, 9)) / 10)
    return Case(ff.FeatureCosts(own, groups=groups), information, float(random.choice([0, 0.6, 1, 2, 3, 6])))


@cache
def all_masks(m: int) -> np.ndarray:
    """(2^m, m), in order of the number of features."""
    masks = np.arange(2**m)[:, None] >> np.arange(m) & 1 > 0
    return masks[np.argsort(masks.sum(axis=1), kind="stable")]


def best_by_brute_force(case: Case) -> np.ndarray:
    """The smallest of the best sets, all numbers taken as the decimals they are printed as."""
    masks = all_masks(case.costs.n_features)
    touched = masks.astype(np.int64) @ case.costs.membership.T.astype(np.int64) > 0
    values = masks.astype(object) @ exact(case.costs.own) + touched.astype(object) @ exact(case.costs.shared)
    reward = exact([case.tradeoff])[0] * (masks.astype(object) @ exact(case.information))
    values = 10**9 * values - reward
    return masks[int(np.argmin(values))]  # the first of equals, which has the fewest features


def exact(numbers) -> np.ndarray:
    """Decimals as whole multiples of 10^-9: sums of these are exact."""
    whole = [Fraction(repr(float(number))) * 10**9 for number in numbers]
    assert all(number.denominator == 1 for number in whole)
    return np.array([int(number) for number in whole], dtype=object)
