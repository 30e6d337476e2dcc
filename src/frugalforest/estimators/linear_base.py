"""What the linear models share: one tree of linear classifiers, or one for each of several settings to choose from."""

from __future__ import annotations

import copy
import hashlib
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from frugalforest.acquisition.fetch_mixin import FetchMixin
from frugalforest.acquisition.fingerprint import fingerprint_of
from frugalforest.acquisition.staged import End, StagedRun
from frugalforest.costs import FeatureCosts
from frugalforest.data import FeatureEncoder
from frugalforest.estimators.base import Floats, FrugalClassifierMixin, Mask
from frugalforest.estimators.checks import check_number, check_numbers, class_numbers
from frugalforest.estimators.linear_problem import LinearProblem, LinearRows
from frugalforest.estimators.problem import warn_too_few_rows
from frugalforest.evaluation import CostCurve
from frugalforest.linear_trees import LinearTree, NodeLink

Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LinearVariant:
    """A fitted tree (of a single node for one linear classifier), and the setting it was fitted with."""

    setting: float  # node budget or trade-off
    tree: LinearTree
    link: NodeLink | None  # from scores to probabilities; None where scores are the prediction

    def answer(self, nodes: Positions, scores: Floats) -> Floats:
        """Probabilities (n, n_classes), or numbers (n, 1), of rows with these scores at these nodes."""
        return scores if self.link is None else self.link.probabilities(nodes, scores)

    def read(self, rows: NDArray[Any]) -> tuple[Floats, Mask]:
        """What the model says of rows, (n, n_classes) or (n, 1), and which features it reads, (n, n_features)."""
        leaf, scores = self.tree.ends(rows)
        return self.answer(leaf, scores), self.tree.path_mask[leaf]


@dataclass(frozen=True, eq=False)
class LinearStages:
    """A tree of linear classifiers as runs see it: every node is a stage, whose features are bought together."""

    variant: LinearVariant
    prior: Floats  # what is said before anything is known
    costs: FeatureCosts
    encoder: FeatureEncoder
    classes: NDArray[Any] | None

    def wanted(self, values: Floats, known_mask: Mask) -> Positions:
        """The features of the node that the row has come to, those known left out."""
        node, _ = self.variant.tree.where(values, known_mask)
        features = self.variant.tree.features_of(node)
        return features[~known_mask[features]].astype(np.intp)

    def answer(self, values: Floats, known_mask: Mask) -> Floats:
        """By the last node on the row's way all of whose features are known; the prior before the first."""
        tree = self.variant.tree
        node, scores = tree.where(values, known_mask)
        if scores is None:
            node = int(tree.parent[node])
            if node < 0:
                return self.prior
            scores = tree.node_scores(node, values[None, :], np.zeros(1, dtype=np.intp))[0]
        return self.variant.answer(np.array([node]), scores[None, :])[0]

    def outlook(self, values: Floats, known_mask: Mask) -> list[End]:
        """The leaves below the node that the row has come to, as probable as they are frequent among training rows."""
        tree = self.variant.tree
        leaves = tree.leaves_below(tree.where(values, known_mask)[0])
        total = tree.share[leaves].sum()
        return [End(float(tree.share[leaf] / total), tree.path_mask[leaf]) for leaf in leaves]

    @cached_property
    def fingerprint(self) -> str:
        """A short text that tells this model and price list from others."""
        costs, variant = self.costs, self.variant
        return fingerprint_of(variant.tree, variant.link, self.prior, *costs.ticks, costs.money(1), costs.membership)

    @property
    def earlier_fingerprints(self) -> tuple[str, ...]:
        """What runs of version 1 may have in its place: with the cached properties that the tree had then."""
        tree = self.variant.tree
        kept = [part.name for part in fields(tree)]
        cached = ((), ("parent",), ("path_mask",), ("parent", "path_mask"), ("path_mask", "parent"))
        return tuple(self._earlier_fingerprint([getattr(tree, name) for name in (*kept, *more)]) for more in cached)

    def _earlier_fingerprint(self, arrays: list[NDArray[Any]]) -> str:
        digest = hashlib.sha256()
        parts = [*arrays, *self.costs.ticks, self.costs.membership, self.prior]
        parts += [] if self.variant.link is None else [self.variant.link.slope, self.variant.link.offset]
        for array in parts:
            digest.update(repr((array.shape, array.dtype)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]


class LinearModelMixin(FetchMixin, metaclass=ABCMeta):
    """Steps of fit, choosing among settings, and runs; for classifiers and regressors alike."""

    validation_fraction: float

    variants_: tuple[LinearVariant, ...]
    variant_: LinearVariant
    curve_: CostCurve
    prior_: Floats
    encoder_: FeatureEncoder
    feature_costs_: FeatureCosts
    feature_names_in_: NDArray[Any]
    n_features_in_: int
    classes_: NDArray[Any]

    @abstractmethod
    def _error(self, variant: LinearVariant, rows: LinearRows) -> float:
        """How wrong a model is about rows."""

    @abstractmethod
    def _free_variant(self) -> LinearVariant:
        """The model that reads nothing."""

    # ---- steps of fit

    def _split(
        self, problem: LinearProblem, eval_set: Any, seed: int, *, several: bool
    ) -> tuple[LinearRows, LinearRows | None]:
        """Rows to fit, and rows to choose a setting with; a single setting is fitted to all rows."""
        if eval_set is None and not several:
            return problem.rows, None
        train, validation = problem.split(eval_set, self.validation_fraction, seed)
        if train is validation:
            warn_too_few_rows(stacklevel=4)
        return train, validation

    def _keep(self, problem: LinearProblem, variants: Sequence[LinearVariant], validation: LinearRows | None) -> None:
        for name in ("feature_names_in_", "curve_"):
            self.__dict__.pop(name, None)
        self.encoder_ = problem.encoder
        self.n_features_in_ = problem.encoder.n_features
        if problem.encoder.feature_names is not None:
            self.feature_names_in_ = np.array(problem.encoder.feature_names, dtype=object)
        if problem.classes is not None:
            self.classes_ = problem.classes
        self.feature_costs_ = problem.costs
        self.prior_ = problem.prior
        self.variants_ = tuple(variants)
        self.variant_ = self.variants_[0]
        if validation is not None:
            self.curve_ = self._curve(self.variants_, validation)
            self._choose(np.inf)

    # ---- choosing

    def _curve(self, variants: Sequence[LinearVariant], rows: LinearRows) -> CostCurve:
        """A point for each of some variants, measured on these rows."""
        bills = [self.feature_costs_.of_rows(variant.read(rows.matrix)[1]).mean() for variant in variants]
        return CostCurve(
            cost=np.array(bills),
            error=np.array([self._error(variant, rows) for variant in variants]),
            n_trees=np.ones(len(variants), dtype=np.intp),
            variant=np.arange(len(variants)),
            variants=tuple(variant.setting for variant in variants),
            total_cost=self.feature_costs_.total,
            baseline_error=self._error(self._free_variant(), rows),
        )

    def _choose(self, budget: float) -> bool:
        """Take the best setting within an average bill; whether there is one. Otherwise the free answer."""
        point = self.curve_.best_index(budget)
        self.variant_ = self._free_variant() if point is None else self.variants_[point]
        return point is not None

    def at_budget(self, budget: float | None) -> Self:
        """The best of the fitted settings whose average validation bill is within a budget; this model stays as it is.

        Needs a fit with several settings, or with eval_set. None: no limit.
        """
        check_is_fitted(self)
        check_number(budget, "budget", 0, or_none=True)
        if not hasattr(self, "curve_"):
            raise ValueError(
                "this model was fitted with one setting, and nothing to measure it by; give several, or eval_set."
            )
        model = copy.copy(self)
        if not model._choose(np.inf if budget is None else float(budget)):
            warnings.warn(
                f"no setting fits a budget of {budget:g}: the cheapest costs {self.curve_.cost.min():g} per row on "
                "average. The model answers without any feature, for nothing.",
                UserWarning,
                stacklevel=2,
            )
        return model

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        """The settings on the frontier of the validation curve (all without one), measured on other rows."""
        rows = self._later_rows(X, y)
        variants: Sequence[LinearVariant] = [self.variant_]
        if hasattr(self, "curve_"):
            variants = [self.variants_[i] for i in self.curve_.frontier().variant]
        return self._curve(variants, rows)

    @abstractmethod
    def _later_rows(self, X: Any, y: Any) -> LinearRows:
        """Rows that came after fitting."""

    # ---- runs

    def start(self) -> StagedRun:  # type: ignore[override]
        """A run for one row: it names the features to buy, node by node, until the row is at its leaf."""
        return StagedRun(self._stages())

    def resume(self, text: str) -> StagedRun:
        """The run that `run.to_json()` wrote, at the point where it was."""
        return StagedRun.from_json(text, self._stages())

    def _stages(self) -> LinearStages:
        check_is_fitted(self)
        classes = getattr(self, "classes_", None)
        return LinearStages(self.variant_, self.prior_, self.feature_costs_, self.encoder_, classes)

    # ---- the fitted model

    @property
    def tree_(self) -> LinearTree:
        """The tree of linear classifiers that predicts; of a single node if there is one classifier."""
        check_is_fitted(self)
        return self.variant_.tree

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "variant_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        return tags


class LinearClassifierMixin(LinearModelMixin, FrugalClassifierMixin):
    """The contract of a classifier, by a tree of linear classifiers."""

    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        return self.variant_.read(rows)

    def _error(self, variant: LinearVariant, rows: LinearRows) -> float:
        labels = np.argmax(variant.read(rows.matrix)[0], axis=1)
        return float(np.average(labels != rows.targets, weights=rows.weights))

    def _free_variant(self) -> LinearVariant:
        some = self.variants_[0].tree
        tree = LinearTree.without_features(some.centre, some.spread, np.zeros(some.n_outputs))
        margins = np.log(np.maximum(self.prior_, np.finfo(float).tiny))
        return LinearVariant(0.0, tree, NodeLink(np.ones(1), margins[None, :]))

    def _later_rows(self, X: Any, y: Any) -> LinearRows:
        matrix = self._rows(X)
        return LinearRows(matrix, class_numbers(y, self.classes_, len(matrix)), np.ones(len(matrix)))


def check_settings(value: Any, name: str) -> None:
    """Refuse anything but "auto", or one or several finite numbers of at least 0."""
    if not is_auto(value):
        check_numbers(value, name, 0, or_auto=True)


def is_auto(value: Any) -> bool:
    """Whether settings are to be found by themselves."""
    return isinstance(value, str) and value == "auto"


def as_settings(value: Any) -> list[float]:
    """One or several numbers as a rising list, each of them once."""
    return sorted({float(one) for one in np.atleast_1d(value)})
