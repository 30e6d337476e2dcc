"""What the numbers of an exported model mean: features, categories, classes and prices, as JSON can hold them."""

from __future__ import annotations

from typing import Any

from frugalforest.costs import FeatureCosts
from frugalforest.data.categories import OTHER
from frugalforest.ensemble import Ensemble


def description(ensemble: Ensemble, feature_costs: FeatureCosts | None) -> dict[str, Any]:
    """Features in the order of the columns, each with its categories in the order of their numbers; classes; prices.

    {"features": [{"name": "age", "cost": 1.0}, {"name": "colour", "categories": ["blue", "red"], "cost": 2.0}],
     "groups": {"blood": {"members": ["glucose", "insulin"], "cost": 2.1}}, "classes": ["healthy", "ill"]}

    The name is the position where X had no names. "other" is the number of all categories without their own. Costs and
    groups are left out where no prices are given.
    """
    if feature_costs is not None and feature_costs.n_features != ensemble.n_features:
        raise ValueError(
            f"feature_costs has {feature_costs.n_features} features, but the ensemble has {ensemble.n_features}; "
            "give the price list the ensemble was fitted with."
        )
    features = [_feature(ensemble, i) for i in range(ensemble.n_features)]
    described: dict[str, Any] = {"features": features, "classes": ensemble.classes.tolist()}
    if feature_costs is not None:
        for feature, cost in zip(features, feature_costs.own.tolist(), strict=True):
            feature["cost"] = cost
        groups = feature_costs.groups.items()
        described["groups"] = {name: {"members": list(group.members), "cost": group.cost} for name, group in groups}
    return described


def _feature(ensemble: Ensemble, i: int) -> dict[str, Any]:
    feature: dict[str, Any] = {"name": ensemble.encoder.feature_label(i)}
    if i in ensemble.encoder.categories:
        feature["categories"] = list(ensemble.encoder.categories[i])
    if ensemble.encoder.has_other[i]:
        feature["other"] = OTHER
    return feature
