"""When a run may end: at the label, at all of it, when it is sure enough, or when the money is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from frugalforest import _core
from frugalforest.costs import FeatureCosts

HOPE_FOR_CONFIDENCE = 0.15
SMALL_TREE = 64  # leaves

StopName = Literal["label", "all", "confidence", "budget"]


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
            raise ValueError(f"stop={self.name!r} is not one of {', '.join(map(repr, get_args(StopName)))}.")
        for needed in ("confidence", "budget"):
            value = getattr(self, needed)
            if self.name == needed and not (value is not None and value >= 0 and not np.isnan(value)):
                raise ValueError(f"stop={needed!r} needs a {needed} of at least 0, got {value!r}.")

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
    """

    by: Literal["score", "count"] = "score"
    bounds: Literal["cursor", "deep", "grouped"] = "grouped"
    hope: float | None = None
    most_visits: int = 64
    range_weight: float = 0.2
    boxes: int = 0

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
