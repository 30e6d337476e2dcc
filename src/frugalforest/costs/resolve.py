"""The price list for a given X, from whatever the user gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frugalforest.costs.feature_costs import FeatureCosts


def resolve_costs(feature_costs: Any, n_features: int, feature_names: Sequence[str] | None = None) -> FeatureCosts:
    """The price list for the columns of X, from whatever the user gave.

    None: every feature costs 1. Costs with names follow the columns of X by name; if X has no names they follow by
    position (and keep their names). Costs without names follow by position and take the names of X.
    """
    if feature_costs is None:
        return FeatureCosts.unit(n_features if feature_names is None else feature_names)
    costs = feature_costs if isinstance(feature_costs, FeatureCosts) else FeatureCosts(feature_costs)
    if feature_names is not None and costs.feature_names is not None:
        return costs.aligned_to(feature_names)
    if costs.n_features != n_features:
        given, way_out = costs.n_features, "one cost per column, or costs by name"
        if costs.feature_names is not None:
            way_out = "X with column names, or one cost per column in the order of the columns"
        raise ValueError(f"feature_costs has {given} entries but X has {n_features} columns. Give {way_out}.")
    if feature_names is None:
        return costs
    return FeatureCosts(costs.own, feature_names=feature_names, groups=costs.groups)
