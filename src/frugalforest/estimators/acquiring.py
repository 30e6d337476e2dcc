"""What every model made of trees offers besides predictions: runs that buy features, and exports."""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from typing import Any

from frugalforest.acquisition import Acquirer, Acquisition, StopRule
from frugalforest.acquisition.fetch_mixin import FetchMixin
from frugalforest.exports import to_onnx, to_shap, to_treelite


class AcquiringMixin(FetchMixin, metaclass=ABCMeta):
    """Asks for an acquirer and a stop rule, and gives runs that buy one feature at a time, and exports."""

    @abstractmethod
    def _acquirer(self) -> Acquirer:
        """The fitted ensemble with its prices."""

    @abstractmethod
    def _stop_rule(self) -> StopRule:
        """When a run ends."""

    def start(self) -> Acquisition:
        """A run for one row: it names the feature to buy, takes its value, and goes on until the answer is settled."""
        return Acquisition(self._acquirer(), self._stop_rule())

    def resume(self, text: str) -> Acquisition:
        """The run that `run.to_json()` wrote, at the point where it was."""
        return Acquisition.from_json(text, self._acquirer())

    def to_shap(self) -> Any:
        """A SHAP TreeExplainer of the ensemble, for rows as `encode` gives them. Needs the extra `export`."""
        return to_shap(self._acquirer().ensemble)

    def to_onnx(self, path: str | os.PathLike[str] | None = None) -> Any:
        """An ONNX model with the same labels, written to `path` if given. Needs the extra `export`."""
        acquirer = self._acquirer()
        return to_onnx(acquirer.ensemble, path, feature_costs=acquirer.costs)

    def to_treelite(self) -> Any:
        """A treelite model with the same labels. Needs the extra `export`."""
        acquirer = self._acquirer()
        return to_treelite(acquirer.ensemble, feature_costs=acquirer.costs)

    def encode(self, X: Any) -> Any:
        """X as the matrix of numbers that exports take, (n_rows, n_features)."""
        return self._acquirer().ensemble.encoder.encode(X, estimator_name=type(self).__name__)
