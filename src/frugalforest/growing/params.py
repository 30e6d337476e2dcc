"""How trees are grown: one value that holds every option, checked once, and its translation for the compiled core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.costs import FeatureCosts
from frugalforest.impurities import Entropy, Gini, ImpurityFunction, Polynomial, Powers, ThresholdPairs, evaluate

NO_LIMIT = 2**32 - 1

Splitting = Literal["minimax", "expected"]
Objective = Literal["risk", "penalized"]
Thresholds = Literal["all", "random"]
Charge = Literal["always", "path", "forest", "ledger"]
Engine = Literal["auto", "bisection", "histogram"]


@dataclass(frozen=True)
class Growth:
    """Every option of growing; docs/growing.md says what each one does.

    `impurity` is one of frugalforest.impurities, a function of class counts, or "variance" for regression.
    """

    impurity: ImpurityFunction | Literal["variance"]
    splitting: Splitting = "minimax"
    objective: Objective = "risk"
    tradeoff: float = 0.0
    at_a_loss: bool = False
    thresholds: Thresholds = "all"
    max_depth: int | None = None
    max_features: int | None = None
    skip_constants: bool = False
    min_samples_leaf: int = 1
    min_samples_split: int = 2
    max_distinct_features: int | None = None
    max_tree_cost: float | None = None
    charge: Charge = "always"
    repeat_charge: float = 1.0
    bootstrap: bool = True

    def for_core(self) -> _core.GrowParams:
        """The part that does not concern costs."""
        params = _core.GrowParams()
        params.splitting = getattr(_core.Splitting, self.splitting)
        params.objective = getattr(_core.Objective, self.objective)
        params.tradeoff = float(self.tradeoff)
        params.at_a_loss = bool(self.at_a_loss)
        params.random_thresholds = self.thresholds == "random"
        params.max_depth = _or_no_limit(self.max_depth)
        params.max_features = _or_no_limit(self.max_features)
        params.skip_constants = bool(self.skip_constants)
        params.min_samples_leaf = int(self.min_samples_leaf)
        params.min_samples_split = int(self.min_samples_split)
        params.bootstrap = bool(self.bootstrap)
        return params

    def costs_for_core(
        self, costs: FeatureCosts, paid: NDArray[Any] | None = None, ledger: NDArray[Any] | None = None
    ) -> _core.Costs:
        """Prices as the core charges them.

        paid: (n_rows, n_features), what rows have paid, for charge="forest"; ledger: (n_features,), what has been
        bought, for charge="ledger".
        """
        table = _core.Costs(costs.own.copy(), costs.shared.copy(), *groups_by_feature(costs))
        table.charge = getattr(_core.Charge, self.charge)
        table.repeat_charge = float(self.repeat_charge)
        table.max_tree_cost = np.inf if self.max_tree_cost is None else float(self.max_tree_cost)
        table.max_distinct_features = _or_no_limit(self.max_distinct_features)
        if self.charge == "forest":
            if paid is None:
                raise ValueError('charge="forest" needs what each row has paid so far.')
            paid = np.ascontiguousarray(paid, dtype=np.uint8)
            paid_groups = (paid.astype(np.float32) @ costs.membership.T.astype(np.float32) > 0).astype(np.uint8)
            table.set_paid(paid, np.ascontiguousarray(paid_groups))
        if self.charge == "ledger":
            if ledger is None:
                raise ValueError('charge="ledger" needs what earlier trees have bought.')
            table.set_ledger(np.ascontiguousarray(ledger, dtype=np.uint8))
        return table

    def impurity_for_core(self, n_classes: int) -> _core.ImpuritySpec:
        """The impurity by name and numbers, or as a function to call."""
        spec = _core.ImpuritySpec()
        match self.impurity:
            case ThresholdPairs(alpha=alpha, offset=offset):
                spec.name, spec.alpha, spec.offset = (
                    "pairs",
                    float(alpha),
                    float(alpha) * float(alpha) if offset else 0.0,
                )
            case Powers(power=power):
                spec.name, spec.power = "powers", int(power)
            case Polynomial(terms=terms):
                if self.impurity.n_classes != n_classes:
                    raise ValueError(
                        f"the polynomial has exponents for {self.impurity.n_classes} classes but y has {n_classes}; "
                        "give each term one exponent per class."
                    )
                spec.name = "polynomial"
                spec.coefficients = [float(coefficient) for coefficient, _ in terms]
                spec.exponents = [int(power) for _, powers in terms for power in powers]
            case Gini():
                spec.name = "gini"
            case Entropy():
                spec.name = "entropy"
            case "variance":
                spec.name = "variance"
            case function if callable(function):
                spec.name, spec.function = "callback", lambda counts: np.ascontiguousarray(evaluate(function, counts))
            case other:
                raise TypeError(
                    f"impurity is {other!r}; expected one of frugalforest.impurities or a function of class counts."
                )
        return spec


def groups_by_feature(costs: FeatureCosts) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Groups of each feature, one list behind the other: feature f has ids[offsets[f] : offsets[f + 1]]."""
    feature, group = np.nonzero(costs.membership.T)
    offsets = np.searchsorted(feature, np.arange(costs.n_features + 1))
    return offsets.astype(np.int64), group.astype(np.int32)


def _or_no_limit(limit: int | None) -> int:
    return NO_LIMIT if limit is None else int(limit)
