"""OnDemand: any fitted tree ensemble, one feature at a time, the same answer for less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples, check_is_fitted

from frugalforest.acquisition import Acquirer, Order, StopRule
from frugalforest.acquisition.calibration import Calibration, calibrate
from frugalforest.acquisition.stopping import StopName
from frugalforest.costs import FeatureCosts, resolve_costs
from frugalforest.data import FeatureEncoder
from frugalforest.data.tables import as_frame
from frugalforest.ensemble import Ensemble
from frugalforest.estimators.acquiring import AcquiringMixin
from frugalforest.estimators.base import Floats, FrugalClassifierMixin, Mask
from frugalforest.estimators.checks import check_labels, check_n_jobs, check_number
from frugalforest.estimators.preselected import PreselectedClassifier
from frugalforest.estimators.problem import stratified_mask
from frugalforest.importers import import_ensemble, layers_of, version_of
from frugalforest.importers.encoders import KnownCategoryEncoder
from frugalforest.importers.names import as_spelled, respelled


class OnDemand(AcquiringMixin, FrugalClassifierMixin, BaseEstimator):
    """A tree ensemble that buys its features one at a time, and stops when its answer is settled.

    Takes a fitted ensemble as it is: forests and boosters of frugalforest, RandomForest, ExtraTrees, DecisionTree,
    GradientBoosting and HistGradientBoosting classifiers of scikit-learn, models of LightGBM, XGBoost and CatBoost.
    With stop="label" every label is that of the ensemble, row by row, ties included. All trees advance together; the
    next feature is the one that narrows the open leads most for its price.

    Parameters
    ----------
    estimator : fitted classifier
        An unfitted one will do if `fit` is called. Of a model that was loaded from a file it is an Ensemble, the trees
        as they were read, since a file holds no other library's objects.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: as the estimator has it, or every feature costs 1.
    stop : {"label", "all", "confidence", "budget"}, default="label"
        "label": when no value of the unread features can change the label. "all": when every tree is read to its leaf;
        probabilities are exact then. "confidence": when the label is sure enough, see `calibrate`. "budget": when
        nothing more can be bought for `budget` per row, which no row exceeds.
    budget : float, default=None
        With stop="budget": the most a row may cost.
    disagreement : float, default=0.001
        With stop="confidence": the share of rows whose label may differ from the ensemble's.
    order : Order, default=None
        How the next feature is found; None: the default, which suits. See `frugalforest.acquisition.Order`.
    n_jobs : int, default=None
        Threads.

    Attributes
    ----------
    estimator_ : fitted classifier
    calibration_ : Calibration
        With stop="confidence", after `calibrate` or `fit`: the threshold, and the rate of disagreement it had.
    classes_, n_features_in_, feature_names_in_, feature_costs_ :
        As of every classifier of frugalforest.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X[:400], y[:400])
    >>> model = OnDemand(forest)
    >>> bool((model.predict(X[400:]) == forest.predict(X[400:])).all())
    True
    >>> model.acquisition_cost(X[400:]).mean() < OnDemand(forest, stop="all").acquisition_cost(X[400:]).mean()
    np.True_
    """

    calibration_: Calibration
    estimator_: Any

    def __init__(
        self,
        estimator: Any,
        *,
        feature_costs: Any = None,
        stop: StopName = "label",
        budget: float | None = None,
        disagreement: float = 0.001,
        order: Order | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.feature_costs = feature_costs
        self.stop = stop
        self.budget = budget
        self.disagreement = disagreement
        self.order = order
        self.n_jobs = n_jobs

    # ---- fitting

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a copy of the estimator. With stop="confidence" a quarter of the rows is set aside to calibrate."""
        self._check_parameters()
        _refuse_mere_trees(self.estimator)
        if issparse(X):
            raise TypeError("Sparse data was passed, but features are bought one at a time; give X.toarray().")
        model = clone(self.estimator)
        held_out = None
        if self.stop == "confidence":
            X, y, fit_params, held_out = _set_aside(X, y, fit_params)
        model.fit(X, y, **fit_params)
        imported = self._import(model)
        self.__dict__.pop("calibration_", None)
        self.estimator_ = model
        self._imported = (self._sources(), imported)
        if held_out is not None:
            self.calibrate(held_out)
        return self

    def calibrate(self, X: Any) -> Self:
        """Choose the confidence that keeps disagreement with the ensemble within `disagreement`, from unseen rows.

        No labels are needed. The rate is taken at its upper confidence bound (90 %), so a rate of 0.1 % needs some
        2,300 rows at least; with fewer, runs go on to a proof.
        """
        check_number(self.disagreement, "disagreement", 0, at_most=1)
        self.calibration_ = calibrate(self._acquirer(), self._rows(X), self.disagreement, self._n_threads())
        self._calibrated_for = self._to_calibrate_for()
        return self

    # ---- the contract

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
        """The classes, in the order of the columns of predict_proba."""
        return self._acquirer().ensemble.classes

    @property
    def n_features_in_(self) -> int:  # type: ignore[override]
        """Number of features."""
        return self._acquirer().ensemble.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:  # type: ignore[override]
        """Names of the features, if the estimator has names."""
        names = self._acquirer().ensemble.encoder.feature_names
        if names is None:
            raise AttributeError("this model was fitted without feature names")
        return np.array(names, dtype=object)

    @property
    def feature_costs_(self) -> FeatureCosts:  # type: ignore[override]
        """The price list."""
        return self._acquirer().costs

    @property
    def encoder_(self) -> FeatureEncoder:  # type: ignore[override]
        """How columns become numbers."""
        ensemble = self._acquirer().ensemble
        return KnownCategoryEncoder.like(ensemble.encoder) if ensemble.only_known_categories else ensemble.encoder

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_") or _is_fitted(self.estimator)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row, (n_rows,)."""
        rows, acquirer = self._rows(X), self._acquirer()
        if self.stop in ("label", "all"):  # the same labels, and no need to play through what is bought
            scores, _ = acquirer.ensemble.scores(rows, n_threads=self._n_threads())
            return acquirer.ensemble.classes[acquirer.ensemble.label_numbers(scores)]
        return self._label_and_mask(rows)[0]

    def _label_and_mask(self, rows: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
        found = self._acquirer().evaluate(rows, self._stop_rule(), self._n_threads(), with_probabilities=False)
        return self.classes_[found.label_numbers], found.mask

    def _read(self, rows: NDArray[Any], *, with_mask: bool) -> tuple[Floats, Mask | None]:
        found = self._acquirer().evaluate(rows, self._stop_rule(), self._n_threads())
        assert found.probabilities is not None
        return found.probabilities, found.mask

    def encode(self, X: Any) -> NDArray[Any]:
        """X as the matrix of numbers that exports take, (n_rows, n_features)."""
        return self.encoder_.encode(self._respelled(X), estimator_name=type(self).__name__)

    def _rows(self, X: Any, stacklevel: int = 3) -> NDArray[Any]:
        reading = self._acquirer().ensemble.reading
        for layer in layers_of(self._model):
            if isinstance(layer, PreselectedClassifier):
                return layer._rows(X, stacklevel + 1)  # which blanks all that was not selected, whatever it holds
        matrix = super()._rows(self._respelled(X), stacklevel + 1)
        if reading.largest_integer is not None and matrix.dtype.kind in "iu" and as_frame(X) is not None:
            matrix = matrix.astype(np.float64)  # as LightGBM does with frames; of arrays it makes float32
        return reading(matrix)

    def _respelled(self, X: Any) -> Any:
        ensemble = self._acquirer().ensemble
        names = ensemble.encoder.feature_names
        return X if names is None or not ensemble.blanks_as_underscores else respelled(X, names)

    @property
    def _model(self) -> Any:
        return getattr(self, "estimator_", self.estimator)

    def _acquirer(self) -> Acquirer:
        """The imported ensemble; read again if the estimator was exchanged or has changed, or the prices exchanged."""
        self._check_parameters()
        sources = self._sources()
        kept = self.__dict__.get("_imported")
        if kept is None or not kept[0].are(sources):
            kept = (sources, self._import(self._model))
            self.__dict__["_imported"] = kept
        return kept[1]

    def _sources(self) -> _Sources:
        """What the imported ensemble depends on: the estimator with all it has learned, and our own parameters."""
        inside = layers_of(self._model)[-1]
        if isinstance(inside, AcquiringMixin):
            return _Sources((inside._acquirer(), self.feature_costs, self.order))
        learned = () if isinstance(inside, Ensemble) else getattr(inside, "__dict__", {}).values()
        return _Sources((inside, self.feature_costs, self.order, *learned), version_of(inside))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_imported"}

    def _import(self, model: Any) -> Acquirer:
        inside = layers_of(model)[-1]
        prices: FeatureCosts | None = None
        if isinstance(inside, AcquiringMixin):
            own = inside._acquirer()
            ensemble, prices = own.ensemble, own.costs
        else:
            ensemble = inside if isinstance(inside, Ensemble) else import_ensemble(model)
        if prices is None or self.feature_costs is not None:
            ensemble = _named_as_priced(ensemble, self.feature_costs)
            prices = resolve_costs(self.feature_costs, ensemble.n_features, ensemble.encoder.feature_names)
        return Acquirer(ensemble, prices, self.order or Order())

    def _stop_rule(self) -> StopRule:
        if self.stop != "confidence":
            return StopRule(self.stop, budget=self.budget)
        if not hasattr(self, "calibration_"):
            raise ValueError('stop="confidence" needs a threshold: call calibrate(X) with rows not used for fitting.')
        self._refuse_old_calibration()
        return StopRule("confidence", confidence=self.calibration_.confidence)

    def _to_calibrate_for(self) -> tuple[float, str, Order]:
        """What the threshold depends on: the rate of disagreement, the ensemble with its prices, and the order."""
        acquirer = self._acquirer()
        return self.disagreement, acquirer.fingerprint, acquirer.order

    def _refuse_old_calibration(self) -> None:
        now = self._to_calibrate_for()
        # A model from a file is calibrated for what it was when it was written, and comes here while it is read.
        was = self.__dict__.setdefault("_calibrated_for", now)
        if was == now:
            return
        what = "the estimator, its prices or the order of purchases have changed"
        if was[0] != now[0]:
            what = f"disagreement is {now[0]:g}, and was {was[0]:g}"
        raise ValueError(
            f'The threshold of stop="confidence" is of an earlier calibration: {what}. '
            "Call calibrate(X) again, with rows not used for fitting."
        )

    def _check_parameters(self) -> None:
        check_n_jobs(self.n_jobs)
        if self.stop == "confidence":
            check_number(self.disagreement, "disagreement", 0, at_most=1)
        else:
            StopRule(self.stop, budget=self.budget)

    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))


def _set_aside(X: Any, y: Any, fit_params: dict[str, Any]) -> tuple[Any, Any, dict[str, Any], Any]:
    """A quarter of the rows of each class to calibrate with -> X, y and parameters of the others, X of these."""
    X = np.asarray(X) if as_frame(X) is None else X
    n_rows = _num_samples(X)
    labels = check_labels(y, n_rows, "OnDemand")[1] if n_rows else np.zeros(0, np.int32)
    held_out = stratified_mask(labels, 0.25, seed=0)
    if not held_out.any():
        raise ValueError(
            f'stop="confidence" sets a quarter of the rows aside, and {n_rows} are too few for that; give more '
            "rows, or a fitted estimator and rows to calibrate(X)."
        )
    rest = np.flatnonzero(~held_out)
    fit_params = _check_method_params(X, fit_params, indices=rest)
    return _safe_indexing(X, rest), np.asarray(y)[rest], fit_params, _safe_indexing(X, np.flatnonzero(held_out))


class _Sources(NamedTuple):
    """What an imported ensemble was made from."""

    objects: tuple[Any, ...]  # compared as objects: arrays have no other answer that is quick
    version: tuple[Any, ...] = ()  # of what may change in place

    def are(self, others: _Sources) -> bool:
        """Whether nothing was exchanged, and nothing has changed as far as can be seen."""
        same = len(self.objects) == len(others.objects)
        same = same and all(a is b for a, b in zip(self.objects, others.objects, strict=True))
        return same and self.version == others.version


def _named_as_priced(ensemble: Ensemble, feature_costs: Any) -> Ensemble:
    """The ensemble with LightGBM's names of features spelled as in the price list, where blanks are blanks."""
    names = ensemble.encoder.feature_names
    if not ensemble.blanks_as_underscores or names is None or feature_costs is None:
        return ensemble
    costs = feature_costs if isinstance(feature_costs, FeatureCosts) else FeatureCosts(feature_costs)
    spelled = as_spelled(names, costs.feature_names or ())
    return ensemble if spelled == names else replace(ensemble, encoder=replace(ensemble.encoder, feature_names=spelled))


def _refuse_mere_trees(estimator: Any) -> None:
    """What scikit-learn says about an estimator that cannot be copied is all it holds, and no way out."""
    if isinstance(estimator, Ensemble):
        raise TypeError(
            "This OnDemand comes from a file, which holds the trees of its estimator but not the estimator: it cannot "
            "be fitted again, or cross-validated. Make a new one of an estimator, OnDemand(estimator), and fit that."
        )
    if not hasattr(estimator, "get_params"):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}, which cannot be fitted again. Give a classifier in the manner "
            "of scikit-learn to fit, or call predict without fit if it is a fitted model."
        )


def _is_fitted(model: Any) -> bool:
    if isinstance(model, Ensemble):
        return True
    try:
        check_is_fitted(model)
    except (TypeError, ValueError):  # LightGBM's and XGBoost's boosters are no estimators, but always fitted
        return not hasattr(model, "get_params")
    return True
