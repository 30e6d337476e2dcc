"""How good a panel is: the out-of-bag error of a full forest that is grown on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.estimators.checks import resolve_max_features
from frugalforest.growing import Growth, TrainingSet
from frugalforest.growing.seeds import Seeds
from frugalforest.impurities import Gini

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Votes = NDArray[np.uint16]

GINI = Growth(impurity=Gini(), splitting="expected", objective="penalized")


class ForestJudge:
    """Forests of the same seeds on any panel of the same rows; each distinct panel is grown once.

    The same seeds draw the same bootstrap samples, so panels are compared on the same rows (common random numbers). The
    trees are those of StandardForestClassifier on these columns, with hard votes; they are not kept.
    """

    def __init__(
        self, training_set: TrainingSet, labels: NDArray[np.int32], *, seeds: Seeds, max_features: Any, n_threads: int
    ) -> None:
        self.training_set = training_set
        self.labels = labels
        self.seeds = seeds
        self.max_features = max_features
        self.n_threads = n_threads
        self._known: dict[bytes, float] = {}

    @property
    def n_trees(self) -> int:
        """Trees of a full forest."""
        return len(self.seeds)

    def error(self, mask: Mask) -> float:
        """Out-of-bag error of the full forest on one panel; mask: (n_features,)."""
        return float(self.errors(mask[None, :])[0])

    def errors(self, masks: Mask) -> Floats:
        """The same for several panels: (n_panels, n_features) -> (n_panels,)."""
        if np.asarray(masks).shape[0] == 0:
            return np.zeros(0)
        keys = [mask.tobytes() for mask in masks]
        self._known.setdefault(np.zeros(masks.shape[1], dtype=bool).tobytes(), self.error_without_features)
        new = {key: mask for key, mask in zip(keys, masks, strict=True) if key not in self._known}
        if new:
            panels = np.stack(list(new.values()))
            self._known.update(zip(new, self._full_errors(panels).tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    def _full_errors(self, masks: Mask) -> Floats:
        # A few panels at a time: their votes are (n_panels, n_rows, n_classes).
        step = max(1, 50_000_000 // (len(self.labels) * self.training_set.n_counts))
        parts = [self.error_of_votes(self.votes(masks[i : i + step])) for i in range(0, len(masks), step)]
        return np.concatenate(parts)

    def votes(self, masks: Mask, first: int = 0, last: int | None = None) -> Votes:
        """Out-of-bag votes of trees first .. last on each panel, (n_panels, n_rows, n_classes)."""
        return self.votes_of(masks, self.seeds[None, first:last])

    def votes_of(self, masks: Mask, seeds: Seeds, max_depth: int | None = None) -> Votes:
        """Out-of-bag votes of forests of these seeds: (1, n_trees), or of their own for each panel."""
        features, offsets = positions_of(masks)
        params = GINI.for_core()
        if max_depth is not None:
            params.max_depth = max_depth
        sizes = [resolve_max_features(self.max_features, int(size)) or int(size) for size in np.diff(offsets)]
        return _core.panel_votes(
            self.training_set.core,
            params,
            np.ascontiguousarray(seeds),
            features,
            offsets,
            np.array(sizes, dtype=np.uint32),
            self.n_threads,
        )

    def candidate_votes(self, mask: Mask, features: NDArray[np.intp], first: int = 0, last: int | None = None) -> Votes:
        """Out-of-bag votes of trees first .. last on a set and each one of some features, (n_features, n_rows, k).

        Much faster than `votes` of these sets, since trees are one tree until the feature that differs wins a node. For
        that, features are drawn by the way to a node and not by its number: the trees are others than those of
        `votes`, of the same kind.
        """
        common = np.flatnonzero(mask).astype(np.int32)
        params = GINI.for_core()
        params.seeds_by_path = True
        params.max_features = resolve_max_features(self.max_features, len(common) + 1) or len(common) + 1
        return _core.candidate_votes(
            self.training_set.core,
            params,
            np.ascontiguousarray(self.seeds[first:last]),
            common,
            np.ascontiguousarray(features, dtype=np.int32),
            self.n_threads,
        )

    def error_of_votes(self, votes: NDArray[Any]) -> Floats:
        """Share of the rows whose majority vote is wrong, the first class of equals; a row without a vote is wrong.

        votes: (..., n_rows, n_classes) -> (...,)
        """
        right = (np.argmax(votes, axis=-1) == self.labels) & votes.any(axis=-1)
        return np.asarray(1 - right.mean(axis=-1), dtype=np.float64)

    @property
    def error_without_features(self) -> float:
        """Of the most frequent class."""
        return float(1 - np.bincount(self.labels).max() / len(self.labels))


def positions_of(masks: Mask) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Masks (n_panels, n_features) as lists of positions, one behind the other, and where each list starts."""
    panel, feature = np.nonzero(masks)
    offsets = np.searchsorted(panel, np.arange(len(masks) + 1))
    return feature.astype(np.int32), offsets.astype(np.int64)


def single_masks(features: Sequence[int] | NDArray[Any], n_features: int) -> Mask:
    """One mask for each feature, (n, n_features), that has only it."""
    masks = np.zeros((len(features), n_features), dtype=bool)
    masks[np.arange(len(features)), features] = True
    return masks
