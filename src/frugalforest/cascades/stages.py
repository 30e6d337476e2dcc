"""Stages: a panel, one model per fold that reads it, and the curve that makes their answers probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from frugalforest.cascades.gains import feature_gains
from frugalforest.cascades.trees import joined
from frugalforest.ensemble import Ensemble
from frugalforest.linear_trees.link import fit_curve, softmax

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]

LEAST_CHANCE = 1e-6  # a class that a model rules out is still so probable


def threads(n_threads: int) -> Any:
    """Libraries keep to so many threads inside. Fits get one: sums stay the same, and folds have a thread each."""
    return _controller().limit(limits=n_threads)


@cache
def _controller() -> Any:
    return ThreadpoolController()  # finding the libraries takes 20 ms


@dataclass(frozen=True, eq=False)
class Stage:
    """The features bought up to here, and what is said once they are known: softmax(slope * mean log p + offset).

    The mean is over the models of the folds; of forests it is the logarithm of the mean. Without models, the answer is
    that of the offsets: the class shares.
    """

    panel: Positions  # (n_chosen,), rising
    models: tuple[Any, ...]  # fitted on class numbers; None where a fold had rows of one class only
    slope: float
    offset: Floats  # (n_classes,)

    @classmethod
    def of_shares(cls, shares: Floats) -> Stage:
        """The stage that reads nothing."""
        return cls(np.zeros(0, dtype=np.intp), (), 0.0, log_chances(shares))

    def mask(self, n_features: int) -> Mask:
        """The panel as a mask, (n_features,)."""
        mask = np.zeros(n_features, dtype=bool)
        mask[self.panel] = True
        return mask

    @cached_property
    def trees(self) -> Ensemble | None:
        """The models as one ensemble over the columns of the panel, if all are trees."""
        return joined(self.models, len(self.panel), self.slope, self.offset)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "trees"}

    def probabilities(self, rows: NDArray[Any], n_threads: int = 1) -> Floats:
        """Class probabilities (n_rows, n_classes) of encoded rows (n_rows, n_features)."""
        n_classes = len(self.offset)
        if self.slope == 0 or len(rows) == 0:
            return np.tile(softmax(self.offset[None, :]), (len(rows), 1))
        part = rows[:, self.panel]
        if self.trees is not None:
            scores, _ = self.trees.scores(self.trees.reading(part), n_threads=n_threads)
            return self.trees.probabilities(scores)
        logs = [log_chances(answers(model, part, n_classes)) for model in self.models]
        return self.calibrated(np.asarray(sum(logs) / len(logs)))

    def calibrated(self, log_raw: Floats) -> Floats:
        """What the models say, as logarithms of probabilities (n_rows, n_classes), as this stage says it."""
        return softmax(self.slope * log_raw + self.offset)


def answers(model: Any, rows: NDArray[Any], n_classes: int) -> Floats:
    """Class probabilities (n_rows, n_classes) of one model; even ones where there is none."""
    if model is None:
        return np.full((len(rows), n_classes), 1 / n_classes)
    found = model.predict_proba(rows)
    if found.shape[1] == n_classes:
        return np.asarray(found, dtype=np.float64)
    full = np.zeros((len(rows), n_classes))
    full[:, model.classes_] = found
    return full


def log_chances(probabilities: Floats) -> Floats:
    """Logarithms of probabilities, of each by itself, with a floor."""
    return np.asarray(xlogy(1.0, np.maximum(probabilities, LEAST_CHANCE)))


@dataclass(frozen=True, eq=False)
class FittedStage:
    """A stage, and what its fitting tells."""

    stage: Stage
    out_of_fold: Floats  # (n_rows, n_classes): probabilities of rows by the model that has not seen them
    gains: Floats  # (n_features,): 0 outside the panel


@dataclass(frozen=True, eq=False)
class CrossFitter:
    """Fits a stage on any panel, always with the same folds; what was fitted once is kept."""

    matrix: NDArray[Any]  # (n_rows, n_features)
    labels: NDArray[np.int32]
    weights: Floats | None
    folds: NDArray[np.intp]  # (n_rows,)
    n_classes: int
    make: Callable[[Positions, int], Any]  # (columns, seed) -> a classifier for them
    seed: int
    n_jobs: int = 1
    _models: dict[tuple[bytes, int], tuple[Any, Floats, Floats]] = field(default_factory=dict)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max()) + 1

    def fit(self, panel_mask: Mask) -> FittedStage:
        """A model per fold, fitted on the others, and the curve through what they say of the rows left out."""
        panel = np.flatnonzero(panel_mask)
        work = (delayed(self._fit_fold)(panel, fold) for fold in range(self.n_folds))
        fitted = Parallel(n_jobs=self.n_jobs, prefer="threads")(work)
        raw = np.empty((len(self.labels), self.n_classes))
        gains = np.zeros(self.matrix.shape[1])
        for fold, (_, answer, gain) in enumerate(fitted):
            raw[self.folds == fold] = answer
            gains[panel] += gain
        logs = log_chances(raw)
        slope, offset = self._curve(logs)
        stage = Stage(panel, tuple(model for model, _, _ in fitted), slope, offset)
        return FittedStage(stage, stage.calibrated(logs), gains)

    def scout(self, panel_mask: Mask) -> tuple[Any, Floats]:
        """The model of the first fold, to learn what it does not read, and gains, (n_features,)."""
        panel = np.flatnonzero(panel_mask)
        model, _, gain = self._fit_fold(panel, 0)
        gains = np.zeros(self.matrix.shape[1])
        gains[panel] = gain
        return model, gains

    def _fit_fold(self, panel: Positions, fold: int) -> tuple[Any, Floats, Floats]:
        """Model, its answers to the rows left out, and its gains."""
        key = (panel.tobytes(), fold)
        if key not in self._models:
            with threads(1):
                self._models[key] = self._fit_rows(panel, self.folds == fold, fold)
        return self._models[key]

    def _fit_rows(self, panel: Positions, held_out: Mask, fold: int) -> tuple[Any, Floats, Floats]:
        train, rest = self.matrix[~held_out][:, panel], self.matrix[held_out][:, panel]
        labels = self.labels[~held_out]
        if len(np.unique(labels)) < 2:
            return None, answers(None, rest, self.n_classes), np.zeros(len(panel))
        seed = int(np.random.SeedSequence(self.seed, spawn_key=(fold, *panel.tolist())).generate_state(1)[0] % 2**31)
        model = self.make(panel, seed)
        options: dict[str, Any] = {} if self.weights is None else {"sample_weight": self.weights[~held_out]}
        if getattr(model, "early_stopping", None) is True:
            options |= self._validation(model, panel, held_out & np.isin(self.labels, labels))
        model.fit(train, labels, **options)
        gains = feature_gains(model, rest, self.labels[held_out], seed)
        return model, answers(model, rest, self.n_classes), gains

    def _validation(self, model: Any, panel: Positions, held_out: Mask) -> dict[str, Any]:
        """Rows that tell a booster when to stop, by the name that it has for them.

        Their answers are judged later, by which they flatter a little; but if the booster set rows of its own aside it
        would lack them (covertype: an error of .1375 in place of .1286).
        """
        rows, labels = self.matrix[held_out][:, panel], self.labels[held_out]
        if has_fit_parameter(model, "X_val"):
            weights = {} if self.weights is None else {"sample_weight_val": self.weights[held_out]}
            return {"X_val": rows, "y_val": labels, **weights}
        return {"eval_set": (rows, labels)} if has_fit_parameter(model, "eval_set") else {}

    def _curve(self, logs: Floats) -> tuple[float, Floats]:
        """Platt's curve through out-of-fold answers; the class shares where they tell nothing."""
        weights = np.ones(len(logs)) if self.weights is None else self.weights
        slope, offset = fit_curve(logs, self.labels, weights)
        if slope > 0:
            return slope, offset
        shares = np.bincount(self.labels, weights, minlength=self.n_classes)
        return 0.0, log_chances(shares / shares.sum())
