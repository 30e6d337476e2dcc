"""The contract every fitted classifier keeps, and what the forests share on top of it.

A model says three things about a row: its label, which features it needs for it (`acquisition_mask`), and what those
cost (`acquisition_cost`). The cost is always the cost of the mask.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from frugalforest import _core
from frugalforest.costs import FeatureCosts, resolve_costs
from frugalforest.data import Bins, FeatureEncoder
from frugalforest.estimators.checks import (
    Rows,
    check_choice,
    check_labels,
    check_weights,
    check_whole_number,
    class_weights,
    drop_weightless,
)
from frugalforest.evaluation import CostCurve
from frugalforest.forest import Forest
from frugalforest.growing import TrainingSet
from frugalforest.growing.seeds import Seeds, root_seed

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class FrugalClassifierMixin(ClassifierMixin, metaclass=ABCMeta):
    """Asks for one method, `_read` (class scores and features read), and gives the contract."""

    classes_: NDArray[Any]
    feature_costs_: FeatureCosts
    encoder_: FeatureEncoder

    @abstractmethod
    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        """Class probabilities (n_rows, n_classes) and, if asked for, the features read (n_rows, n_features)."""

    def _rows(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        name = type(self).__name__
        rows = self.encoder_.encode(X, estimator_name=name)
        if not hasattr(X, "columns") and not hasattr(X, "column_names"):
            _check_feature_names(self, X, reset=False)  # warns about arrays where names were learned
        return rows

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, (n_rows, n_classes), columns in the order of `classes_`."""
        return self._read(self._rows(X), with_mask=False)[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, the first of equals, (n_rows,)."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def acquisition_mask(self, X: Any) -> Mask:
        """Which features each row needs for its prediction, (n_rows, n_features)."""
        mask = self._read(self._rows(X), with_mask=True)[1]
        assert mask is not None
        return mask

    def acquisition_cost(self, X: Any) -> Floats:
        """The bill of each row: what the features of its mask cost together, (n_rows,)."""
        return self.feature_costs_.of_rows(self.acquisition_mask(X))

    def predict_with_cost(self, X: Any) -> tuple[NDArray[Any], Floats]:
        """Label and bill of each row in one pass: `predict(X), acquisition_cost(X)`."""
        scores, mask = self._read(self._rows(X), with_mask=True)
        assert mask is not None
        return self.classes_[np.argmax(scores, axis=1)], self.feature_costs_.of_rows(mask)


class ForestClassifierBase(FrugalClassifierMixin, BaseEstimator):
    """What every forest does: check, bin, grow; vote, bill, importances.

    Subclasses have the parameters `feature_costs`, `class_weight`, `categorical_features`, `max_bins`, `oob_score`,
    `voting`, `n_jobs` and `random_state`, and set `forest_`.
    """

    forest_: Forest
    class_prior_: Floats

    # ---- fitting, step by step

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Check X, y and sample_weight; learn names, categories, classes and costs."""
        name = type(self).__name__
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        encoder, matrix = FeatureEncoder.learn(X, self.categorical_features, estimator_name=name)
        classes, labels = check_labels(y, len(matrix))
        rows = drop_weightless(Rows(matrix, labels, check_weights(sample_weight, matrix)))
        self.feature_costs_ = resolve_costs(self.feature_costs, encoder.n_features, encoder.feature_names)
        self.encoder_ = encoder
        self.classes_ = classes
        self.n_features_in_ = encoder.n_features
        _check_feature_names(self, X, reset=True)
        self.class_prior_ = np.bincount(rows.labels, rows.weights, minlength=len(classes)) / _total_weight(rows)
        return rows

    def _encode_rows(self, X: Any, y: Any) -> Rows:
        """Rows of data that came after fitting, labels as class numbers; a class that fit has not seen is -1."""
        matrix = self._rows(X)
        y = np.asarray(y)
        if y.shape != (len(matrix),):
            raise ValueError(f"X has {len(matrix)} rows but y has shape {y.shape}; give one label per row.")
        place = np.clip(np.searchsorted(self.classes_, y), 0, len(self.classes_) - 1)
        labels = np.where(self.classes_[place] == y, place, -1)
        return Rows(matrix, labels.astype(np.int32), None)

    def _training_set(self, rows: Rows, seed: int) -> TrainingSet:
        """Bin the rows."""
        check_whole_number(self.max_bins, "max_bins", 2)
        bins = Bins.learn(
            rows.matrix,
            self.encoder_.is_categorical,
            n_categories=self.encoder_.n_categories,
            max_bins=self.max_bins,
            random_state=seed,
            n_threads=self._n_threads(),
        )
        return TrainingSet(
            bins.transform(rows.matrix, self._n_threads()),
            labels=rows.labels,
            weights=rows.weights,
            class_weight=class_weights(self.class_weight, self.classes_, rows),
            n_classes=len(self.classes_),
        )

    def _seed(self) -> int:
        return root_seed(self.random_state)

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def _check_common(self) -> None:
        check_whole_number(self.n_estimators, "n_estimators", 1)
        check_whole_number(self.max_depth, "max_depth", 1, or_none=True)
        check_whole_number(self.min_samples_leaf, "min_samples_leaf", 1)
        check_whole_number(self.min_samples_split, "min_samples_split", 2)
        check_choice(self.thresholds, "thresholds", ("all", "random"))
        check_choice(self.voting, "voting", ("hard", "soft"))
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score=True needs bootstrap=True: without it no row is out of a bag.")

    def _keep_oob(self, rows: Rows, seeds: Seeds) -> None:
        """Out-of-bag estimates of the fitted forest from the rows it was grown on."""
        seeds = seeds[: self.forest_.n_trees]
        in_bag = _core.in_bag(seeds, len(rows))
        sums, mask = self.forest_.sums(
            rows.matrix, self._leaf_values(), with_mask=True, in_bag=in_bag, n_threads=self._n_threads()
        )
        assert mask is not None
        judged = ~in_bag.astype(bool).all(axis=0)
        votes = np.where(judged[:, None], sums, np.nan)
        self.oob_decision_function_ = votes / votes.sum(axis=1, keepdims=True)
        right = np.argmax(sums[judged], axis=1) == rows.labels[judged]
        weights = None if rows.weights is None else rows.weights[judged]
        self.oob_score_ = float(np.average(right, weights=weights)) if judged.any() else np.nan
        self.oob_cost_ = float(self.feature_costs_.of_rows(mask[judged]).mean()) if judged.any() else np.nan

    # ---- reading a fitted forest

    def _leaf_values(self) -> Floats:
        return self.forest_.leaf_votes if self.voting == "hard" else self.forest_.leaf_shares

    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        if self.forest_.n_trees == 0:
            mask = np.zeros((len(rows), self.n_features_in_), dtype=bool) if with_mask else None
            return np.tile(self.class_prior_, (len(rows), 1)), mask
        sums, mask = self.forest_.sums(rows, self._leaf_values(), with_mask=with_mask, n_threads=self._n_threads())
        return sums / self.forest_.n_trees, mask

    def ranking_confidence(self, X: Any) -> Floats:
        """Class counts of the reached leaves, added over the trees and normalised, (n_rows, n_classes).

        Finer than votes: it tells a leaf of 900 : 100 from one of 3 : 2. Use it to rank rows (Nan et al. 2015).
        """
        rows = self._rows(X)
        if self.forest_.n_trees == 0:
            return np.tile(self.class_prior_, (len(rows), 1))
        sums, _ = self.forest_.sums(rows, self.forest_.leaf_counts, n_threads=self._n_threads())
        return sums / sums.sum(axis=1, keepdims=True)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in the decrease of Gini impurity, (n_features,); adds up to 1."""
        check_is_fitted(self)
        decrease = self.forest_.gini_decrease()
        return decrease / decrease.sum() if decrease.sum() > 0 else decrease

    @property
    def importances_per_cost_(self) -> Floats:
        """Importance per unit of money, the feature bought alone, (n_features,); infinite where a useful one is free."""
        importance, price = self.feature_importances_, self.feature_costs_.alone
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(importance > 0, importance / price, 0.0)

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        rows = self._encode_rows(X, y)
        return forest_curve([self.forest_], [self._curve_label()], [self.voting], rows, self)

    def _curve_label(self) -> str:
        return type(self).__name__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model."""
        raise NotImplementedError


def forest_curve(
    forests: list[Forest], variants: list[Any], voting: list[str], rows: Rows, model: ForestClassifierBase
) -> CostCurve:
    """A point for every number of trees of every forest, on these rows."""
    parts = []
    for forest, how in zip(forests, voting, strict=True):
        values = forest.leaf_votes if how == "hard" else forest.leaf_shares
        parts.append(
            forest.by_tree(
                rows.matrix, rows.labels, values, model.feature_costs_, weights=rows.weights, n_threads=model._n_threads()
            )
        )
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    majority = int(np.argmax(model.class_prior_))
    return CostCurve(
        cost=np.concatenate([cost for _, cost in parts]) if parts else np.zeros(0),
        error=np.concatenate([error for error, _ in parts]) if parts else np.zeros(0),
        n_trees=np.concatenate([np.arange(1, f.n_trees + 1) for f in forests]) if parts else np.zeros(0, np.intp),
        variant=np.repeat(np.arange(len(forests)), [f.n_trees for f in forests]),
        variants=tuple(variants),
        total_cost=model.feature_costs_.total,
        baseline_error=float(np.average(rows.labels != majority, weights=weights)),
    )


def _total_weight(rows: Rows) -> float:
    return float(len(rows) if rows.weights is None else rows.weights.sum())
