"""When a run may end: at the label, at all of it, when it is sure enough, or when the money is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from frugalforest import _core
from frugalforest.acquisition.scalars import as_float, as_whole
from frugalforest.costs import FeatureCosts

HOPE_FOR_CONFIDENCE = 0.15
SMALL_TREE = 64  # leaves

MOST_STEPS = 2**32  # more than any tree has nodes

StopName = Literal["label", "all", "confidence", "budget"]
OrderName = Literal["score", "count"]
BoundsName = Literal["cursor", "deep", "grouped"]


@dataclass(frozen=True)
class StopRule:
    """A rule by name, with the number it needs.

    label: when no value of the unread features can change the label. all: when every tree is read to its leaf.
    confidence: like label, or when the estimated lead is at least `confidence` times the spread of what is open.
    budget: like label, or when nothing more can be bought within `budget`, which is never exceeded.
    """

    name: StopName = "label"
    confidence: float | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if self.name not in get_args(StopName):
            raise ValueError(f"stop={self.name!r:.60} is not one of {_listed(StopName)}.")
        for limit in ("confidence", "budget"):
            given = getattr(self, limit)
            number = as_float(given)
            is_wrong = number is None or not number >= 0
            if is_wrong and self.name == limit:
                raise ValueError(f"stop={limit!r} needs a {limit} of at least 0, a number, got {given!r:.60}.")
            if is_wrong and given is not None:
                raise ValueError(f"{limit}={given!r:.60} is no number of at least 0.")
            # A number of numpy, or a Decimal, would meet JSON and exact sums of money later, which know neither.
            object.__setattr__(self, limit, number)

    def policy(self, costs: FeatureCosts, tolerance: float, order: dict[str, Any]) -> _core.Policy:
        """The rule as the core reads it; order: `Order.settings`."""
        policy = _core.Policy()
        policy.stop = getattr(_core.Stop, self.name)
        policy.tolerance = tolerance
        if self.name == "confidence":
            assert self.confidence is not None
            policy.confidence = self.confidence
        if self.name == "budget":
            assert self.budget is not None
            policy.budget = costs.ticks_within(self.budget)
        for name, value in order.items():
            setattr(policy, name, value)
        if self.name == "confidence":  # it may be sure long before a proof is in sight
            policy.hope = min(policy.hope, HOPE_FOR_CONFIDENCE)
        return policy


@dataclass(frozen=True)
class Order:
    """Which feature is bought next, and how closely bounds are looked at; every setting gives the same labels.

    by: "score" buys what narrows the open leads most per price, "count" what most trees wait for.
    bounds: "cursor" takes the whole subtree below each cursor; "deep" only the leaves that agree with what is known;
    "grouped" also bounds trees that wait for the same feature together.
    hope: bounds are looked at once the estimated lead is this share of what could still be lost; 0: always. Less is
    slower and buys a little less. None: 0.2 for small trees, where looking is cheap, and 0.5 for large ones.
    boxes: branch and bound. Before the next feature is bought, try to prove the label in up to so many parts of the
    space of unread values; buys a few percent less, and takes several times as long.
    most_visits: undecided nodes that a look goes below for a bound; subtrees left then count with all they hold.
    range_weight: of the whole range of a lead, beside its expected change, in the score of a feature.
    """

    by: OrderName = "score"
    bounds: BoundsName = "grouped"
    hope: float | None = None
    most_visits: int = 64
    range_weight: float = 0.2
    boxes: int = 0

    def __post_init__(self) -> None:
        for name, choices in (("by", OrderName), ("bounds", BoundsName)):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(f"Order: {name}={getattr(self, name)!r:.60} is not one of {_listed(choices)}.")
        if self.hope is not None:
            self._take("hope", as_float(self.hope), math.inf, "finite number of at least 0, or None")
        self._take("range_weight", as_float(self.range_weight), math.inf, "finite number of at least 0")
        for name in ("most_visits", "boxes"):
            times = as_whole(getattr(self, name))
            self._take(name, times, MOST_STEPS, f"whole number of at least 0 and below {MOST_STEPS:,}")

    def _take(self, name: str, number: float | None, below: float, expected: str) -> None:
        """Keep a setting as a number of Python."""
        if number is None or not 0 <= number < below:
            raise ValueError(f"Order: {name}={getattr(self, name)!r:.60} is no {expected}.")
        object.__setattr__(self, name, number)

    def settings(self, leaves_per_tree: float) -> dict[str, Any]:
        """The fields of the core's policy."""
        hope = (0.2 if leaves_per_tree <= SMALL_TREE else 0.5) if self.hope is None else self.hope
        return {
            "by_count": self.by == "count",
            "deep": self.bounds != "cursor",
            "grouped": self.bounds == "grouped",
            "hope": hope,
            "most_visits": self.most_visits,
            "range_weight": self.range_weight,
            "most_boxes": self.boxes,
        }


def _listed(choices: Any) -> str:
    return ", ".join(map(repr, get_args(choices)))
