"""shap.TreeExplainer for trees that split on sets of categories. Importing this imports SHAP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.ensemble import Ensemble, Reading
from frugalforest.exports.extras import load
from frugalforest.exports.trees import CategorySplits
from frugalforest.forest import Floats

TreeExplainer: Any = load("shap").TreeExplainer


class SetsAsThresholds:
    """Thresholds that send one row where sets of categories send it.

    SHAP compares numbers only. Rows with the same categories agree in every categorical split, and for them it is a
    comparison with infinity. (A comparison for each run of neighbouring numbers, with a copy of the branch below it,
    would do for all rows at once, but nests: 99,000 nodes with five features of 10 categories became 171 million.)
    """

    def __init__(self, ensemble: Ensemble) -> None:
        forest = ensemble.forest
        self._splits = CategorySplits.of(ensemble)
        self._nodes = np.flatnonzero(forest.category_set >= 0)
        self._trees = np.searchsorted(forest.node_offsets, self._nodes, side="right") - 1
        self._places = self._nodes - forest.node_offsets[self._trees]
        self._feature_of_node = forest.feature[self._nodes]
        self._features = np.unique(self._feature_of_node)

    def groups(self, rows: Floats) -> list[NDArray[np.intp]]:
        """Positions of the rows that have the same categories, for all combinations there are."""
        if len(self._features) == 0 or len(rows) == 0:
            return [np.arange(len(rows))]
        categories = np.nan_to_num(rows[:, self._features], nan=-1)
        _, group = np.unique(categories, axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        return np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1])

    def write(self, row: Floats, thresholds: Floats) -> None:
        """Write the thresholds for this row, and all with its categories. thresholds: OUT, (n_trees, n_places)."""
        goes_left = self._splits.goes_left(self._nodes, row[self._feature_of_node])
        thresholds[self._trees, self._places] = np.where(goes_left, np.inf, -np.inf)


class EnsembleExplainer(TreeExplainer):
    """A path-dependent TreeExplainer; between calls its thresholds of categorical splits are those of some row."""

    def __init__(
        self, model: dict[str, Any], reading: Reading, sets: SetsAsThresholds, feature_names: list[str]
    ) -> None:
        super().__init__(model, feature_perturbation="tree_path_dependent", feature_names=feature_names)
        self._reading = reading
        self._sets = sets

    def shap_values(self, X: Any, *args: Any, **options: Any) -> NDArray[Any]:
        """Shapley values of encoded rows, as TreeExplainer gives them."""
        return self._by_categories(lambda rows: super(EnsembleExplainer, self).shap_values(rows, *args, **options), X)

    def shap_interaction_values(self, X: Any, *args: Any, **options: Any) -> NDArray[Any]:
        """Interaction values of encoded rows, as TreeExplainer gives them."""
        return self._by_categories(
            lambda rows: super(EnsembleExplainer, self).shap_interaction_values(rows, *args, **options), X
        )

    def _by_categories(self, explain: Callable[[Floats], NDArray[Any]], X: Any) -> NDArray[Any]:
        given = np.asarray(X, dtype=np.float64)
        rows = self._reading(np.atleast_2d(given))
        groups = self._sets.groups(rows)
        parts = []
        for group in groups:
            for row in rows[group[:1]]:  # the first one, if there is one
                self._sets.write(row, self.model.thresholds)
            parts.append(explain(rows[group]))
        explained = np.concatenate(parts)
        explained[np.concatenate(groups)] = explained.copy()
        return explained[0] if given.ndim == 1 else explained
