"""Where a forest to be pruned comes from, and which rows grow it and which prune it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from frugalforest.costs import FeatureCosts, resolve_costs
from frugalforest.data.tables import as_frame
from frugalforest.ensemble import Ensemble
from frugalforest.estimators.base import Floats, ForestClassifierBase
from frugalforest.estimators.checks import check_labels, check_weights, class_numbers
from frugalforest.estimators.problem import Rows, stratified_mask
from frugalforest.growing.weights import on_grid
from frugalforest.importers import import_ensemble

Voting = Literal["hard", "soft"]


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows that the user gave, as they were given; every one weighs something."""

    X: Any
    y: NDArray[Any]  # (n_rows,)
    weights: Floats | None  # (n_rows,); None: all 1

    @classmethod
    def checked(cls, X: Any, y: Any, sample_weight: Any, estimator_name: str) -> Part:
        """Rows with labels; those without weight are left out."""
        if issparse(X):
            raise TypeError("Sparse data was passed, but features are bought one at a time; give X.toarray().")
        X = np.asarray(X) if as_frame(X) is None else X
        n_rows = _num_samples(X)
        if n_rows == 0:
            raise ValueError(f"X has no rows; {estimator_name} needs some to grow a forest, and some to prune it by.")
        check_labels(y, n_rows, estimator_name)
        weights = check_weights(sample_weight, n_rows)
        part = cls(X, np.asarray(y).ravel(), None if weights is None else on_grid(weights))
        return part if part.weights is None else part.take(part.weights > 0)

    def take(self, mask: NDArray[np.bool_]) -> Part:
        """The rows of a mask, in order."""
        rows = np.flatnonzero(mask)
        weights = None if self.weights is None else self.weights[rows]
        return Part(_safe_indexing(self.X, rows), self.y[rows], weights)

    def halves(self, fraction: float, seed: int) -> tuple[Part, Part]:
        """Rows to grow from, and rows to prune by: this share of every class."""
        labels = np.unique(self.y, return_inverse=True)[1].astype(np.int32)
        held_out = stratified_mask(labels, fraction, seed)
        if held_out.any():
            return self.take(~held_out), self.take(held_out)
        warnings.warn(
            "too few rows to set some aside: the forest is pruned by the rows it was grown from. "
            "Give eval_set, or more rows.",
            UserWarning,
            stacklevel=3,
        )
        return self, self

    def encoded(self, ensemble: Ensemble, estimator_name: str) -> Rows:
        """The rows as the trees read them."""
        matrix = ensemble.reading(ensemble.encoder.encode(self.X, estimator_name=estimator_name))
        labels = class_numbers(self.y, ensemble.classes, len(matrix))
        if (labels < 0).any():
            unseen = sorted({str(label) for label in self.y[labels < 0].tolist()})
            raise ValueError(
                f"rows to prune by have labels that the forest does not know: {', '.join(unseen)}; it knows "
                f"{ensemble.classes.tolist()}. Leave these rows out, or grow the forest from rows of these classes too."
            )
        return Rows(matrix, labels, self.weights)


@dataclass(frozen=True, eq=False)
class Source:
    """A grown forest with its prices."""

    ensemble: Ensemble
    costs: FeatureCosts
    voting: Voting
    class_prior: Floats | None  # (n_classes,), if the model says


def grow_source(estimator: Any, feature_costs: Any, part: Part) -> Source:
    """Fit a copy of the estimator."""
    model = clone(estimator)
    if feature_costs is not None and "feature_costs" in model.get_params():
        model.set_params(feature_costs=feature_costs)
    weights = {} if part.weights is None else {"sample_weight": part.weights}
    return read_source(model.fit(part.X, part.y, **weights), feature_costs)


def read_source(model: Any, feature_costs: Any) -> Source:
    """A fitted forest: one of frugalforest, of scikit-learn, or an Ensemble."""
    prices: FeatureCosts | None = None
    if isinstance(model, ForestClassifierBase):
        acquirer = model._acquirer()
        ensemble, prices = acquirer.ensemble, acquirer.costs
    else:
        ensemble = model if isinstance(model, Ensemble) else import_ensemble(model)
    _check_votes(model, ensemble)
    is_hard = model.voting == "hard" if isinstance(model, ForestClassifierBase) else not _adds_shares(ensemble)
    if prices is None or feature_costs is not None:
        prices = resolve_costs(feature_costs, ensemble.n_features, ensemble.encoder.feature_names)
    return Source(ensemble, prices, "hard" if is_hard else "soft", getattr(model, "class_prior_", None))


def _check_votes(model: Any, ensemble: Ensemble) -> None:
    if ensemble.link != "mean" or ensemble.forest.n_classes != ensemble.n_classes:
        raise TypeError(
            f"{type(model).__name__} adds up trees that correct one another; pruning takes forests, whose trees vote: "
            "those of frugalforest, and RandomForest, ExtraTrees and DecisionTree classifiers of scikit-learn."
        )
    if ensemble.forest.n_trees == 0:
        raise ValueError(f"the {type(model).__name__} has no trees to prune; give it a larger budget.")


def _adds_shares(ensemble: Ensemble) -> bool:
    """Whether leaves add class shares; also if they are pure and votes would be the same."""
    return np.allclose(ensemble.values, ensemble.forest.leaf_shares, rtol=0, atol=1e-9)
