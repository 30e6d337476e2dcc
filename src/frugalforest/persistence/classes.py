"""The classes that model files hold. A new estimator needs one more line here."""

from __future__ import annotations

from typing import Any

import numpy as np

from frugalforest.acquisition import Order
from frugalforest.acquisition.calibration import Calibration
from frugalforest.boosting import BoostedTrees
from frugalforest.boosting.training import Boosted, Record
from frugalforest.cascades import Cascade, Policy, Stage
from frugalforest.costs import FeatureCosts, Group
from frugalforest.data import FeatureEncoder
from frugalforest.ensemble import Ensemble, Reading
from frugalforest.estimators import (
    BudgetForestClassifier,
    CostLassoClassifier,
    FrugalBoostingClassifier,
    FrugalCascadeClassifier,
    FrugalClassifier,
    GreedyMiserClassifier,
    MixedNormTreeClassifier,
    OnDemand,
    PanelClassifier,
    PenalizedForestClassifier,
    PreselectedClassifier,
    PrunedForestClassifier,
    StandardForestClassifier,
    SubmodularTreeClassifier,
    SubmodularTreeRegressor,
)
from frugalforest.estimators.candidates import Candidate
from frugalforest.estimators.cascade_checks import (
    check_cascade,
    check_cascade_classifier,
    check_policy,
    check_stage,
)
from frugalforest.estimators.linear_base import LinearVariant
from frugalforest.estimators.linear_checks import (
    check_linear_model,
    check_linear_tree,
    check_linear_variant,
    check_node_link,
)
from frugalforest.estimators.pruned_checks import check_pruned_parts, check_pruning
from frugalforest.estimators.pruned_forest import Pruning
from frugalforest.estimators.variants import Penalty, Recipe, Variant
from frugalforest.evaluation import CostCurve
from frugalforest.forest import Forest
from frugalforest.importers.encoders import HashedCategoryEncoder
from frugalforest.impurities import Entropy, Gini, Polynomial, Powers, ThresholdPairs
from frugalforest.linear_trees.link import NodeLink
from frugalforest.linear_trees.tree import LinearTree
from frugalforest.persistence.boosting_checks import (
    check_boosted,
    check_boosted_trees,
    check_frugal_boosting,
    check_greedy_miser,
)
from frugalforest.persistence.checks import (
    check_budget_forest,
    check_candidates,
    check_classifier,
    check_curve,
    check_encoder,
    check_ensemble,
    check_forest,
    check_order,
    check_panel,
    check_penalized_forest,
    check_preselected,
    check_reading,
    check_selector,
    check_variant,
    require,
)
from frugalforest.persistence.registry import Parts, register
from frugalforest.selection import (
    AUCSelector,
    FixedSelector,
    ForwardSelector,
    PermutationSelector,
    ShallowTreeSelector,
    SubmodularSelector,
)
from frugalforest.selection.search import SearchPath, Step
from frugalforest.selection.tuning import Trial

_MAX_MEMBERSHIPS = 2**25  # groups times features; bills need a table of so many numbers
_MT19937_WORDS = 624


class _ByPrices:
    """The way of price lists: through the constructor, which checks everything."""

    def take_apart(self, costs: FeatureCosts) -> Parts:
        return {"costs": costs.own, "feature_names": costs.feature_names, "groups": costs.groups}

    def put_together(self, parts: Parts) -> FeatureCosts:
        require(len(parts["groups"]) * len(parts["costs"]) <= _MAX_MEMBERSHIPS, "too many groups for so many features")
        return FeatureCosts(**parts)


class _ByGeneratorState:
    """The way of scikit-learn's random states."""

    def take_apart(self, generator: np.random.RandomState) -> Parts:
        state: Any = generator.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise TypeError(f"random_state draws from {state['bit_generator']}; give one of MT19937, or a number.")
        return {**state["state"], "has_gauss": state["has_gauss"], "gauss": state["gauss"]}

    def put_together(self, parts: Parts) -> np.random.RandomState:
        key, position = parts["key"], parts["pos"]
        # numpy believes any position, also one beyond the key; and only zeros in the key give only zeros for ever.
        sound = isinstance(key, np.ndarray) and key.shape == (_MT19937_WORDS,) and key.dtype == np.uint32 and key.any()
        require(sound and type(position) is int and 0 <= position <= _MT19937_WORDS, "a random state that is none")
        generator = np.random.RandomState()
        generator.set_state(("MT19937", key, position, int(parts["has_gauss"]), float(parts["gauss"])))
        return generator


class _ByEnsemble:
    """The way of OnDemand: the trees as they were read, since a file holds no objects of other libraries."""

    def take_apart(self, model: OnDemand) -> Parts:
        acquirer = model._acquirer()
        given = model.get_params(deep=False) | {"estimator": acquirer.ensemble, "feature_costs": acquirer.costs}
        return given | {"calibration_": getattr(model, "calibration_", None)}

    def put_together(self, parts: Parts) -> OnDemand:
        calibration = parts.pop("calibration_")
        require(isinstance(parts["estimator"], Ensemble), "a model on demand without trees")
        require(isinstance(parts["feature_costs"], FeatureCosts), "a model on demand without prices")
        require(isinstance(parts["order"], Order | None), "an order that is none")
        require(isinstance(calibration, Calibration | None), "a calibration that is none")
        model = OnDemand(**parts)
        if calibration is not None:
            model.calibration_ = calibration
        if model.stop != "confidence" or calibration is not None:  # otherwise it cannot answer yet
            check_classifier(model)
        return model


def _check_pruned_forest(model: PrunedForestClassifier) -> None:
    check_pruned_parts(model)
    check_classifier(model)


register(FeatureCosts, way=_ByPrices())
register(Group)
register(FeatureEncoder, check=check_encoder)
register(HashedCategoryEncoder, check=check_encoder)
register(np.random.RandomState, way=_ByGeneratorState())

for _impurity in (ThresholdPairs, Powers, Polynomial, Gini, Entropy):
    register(_impurity)

register(Forest, check=check_forest)
register(Reading, check=check_reading)
register(Ensemble, check=check_ensemble)
register(CostCurve, check=check_curve)
register(Recipe)
register(Penalty)
register(Variant, check=check_variant)
register(Order, check=check_order)
register(Calibration)

register(BudgetForestClassifier, check=check_budget_forest)
register(StandardForestClassifier, check=check_classifier)
register(PenalizedForestClassifier, check=check_penalized_forest)
register(Pruning, check=check_pruning)
register(PrunedForestClassifier, check=_check_pruned_forest)
register(OnDemand, way=_ByEnsemble())

register(BoostedTrees, check=check_boosted_trees)
register(Record)
register(Boosted, check=check_boosted)
register(FrugalBoostingClassifier, check=check_frugal_boosting)
register(GreedyMiserClassifier, check=check_greedy_miser)

register(LinearTree, check=check_linear_tree)
register(NodeLink, check=check_node_link)
register(LinearVariant, check=check_linear_variant)
for _linear in (CostLassoClassifier, MixedNormTreeClassifier, SubmodularTreeClassifier, SubmodularTreeRegressor):
    register(_linear, check=check_linear_model)

for _record in (Step, SearchPath, Trial):
    register(_record)
for _selector in (
    AUCSelector,
    FixedSelector,
    ForwardSelector,
    PermutationSelector,
    ShallowTreeSelector,
    SubmodularSelector,
):
    register(_selector, check=check_selector)
register(PanelClassifier, check=check_panel)
register(PreselectedClassifier, check=check_preselected)

register(Stage, check=check_stage)
register(Cascade, check=check_cascade)
register(Policy, check=check_policy)
register(FrugalCascadeClassifier, check=check_cascade_classifier)
register(Candidate)
register(FrugalClassifier, check=check_candidates)
