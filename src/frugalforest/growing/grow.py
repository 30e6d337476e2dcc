"""Hands binned data to the compiled core and takes trees back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.costs import FeatureCosts
from frugalforest.data import BinnedData
from frugalforest.growing.params import Engine, Growth
from frugalforest.growing.seeds import Seeds
from frugalforest.growing.weights import on_grid


class TrainingSet:
    """Binned rows with labels (or targets) and weights, as the core reads them; serves any number of forests.

    labels: (n_rows,) class numbers; targets: (n_rows,) for regression instead; weights: (n_rows,) or None for all 1.
    """

    def __init__(
        self,
        binned: BinnedData,
        *,
        labels: NDArray[Any] | None = None,
        targets: NDArray[Any] | None = None,
        weights: NDArray[Any] | None = None,
        class_weight: NDArray[np.float64] | None = None,
        n_classes: int | None = None,
    ) -> None:
        if labels is not None:
            labels = np.ascontiguousarray(labels, dtype=np.int32)
            self.n_counts = n_classes if n_classes is not None else int(labels.max()) + 1
        else:
            self.n_counts = 2  # (sum of w, sum of w * y)
        if weights is not None and np.all(weights == 1):
            weights = None  # whole numbers are counted faster
        if class_weight is None:
            class_weight = np.ones(self.n_counts)
        bins = binned.bins
        self.binned = binned
        self.core = _core.TrainingSet(
            codes=binned.codes,
            n_bins=bins.n_bins,
            is_categorical=bins.is_categorical.astype(np.uint8),
            edges=bins.edges,
            edge_offsets=bins.edge_offsets,
            bin_min=bins.bin_min,
            bin_max=bins.bin_max,
            bin_offsets=bins.bin_offsets,
            labels=labels,
            targets=None if targets is None else np.ascontiguousarray(targets, dtype=np.float64),
            weighted_targets=None if targets is None else on_grid(targets if weights is None else targets * weights),
            weights=None if weights is None else on_grid(weights),
            class_weight=np.ascontiguousarray(class_weight, dtype=np.float64),
        )


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """What the core grew: flat arrays, and whether Ctrl-C cut it short."""

    arrays: dict[str, NDArray[Any]]
    interrupted: bool

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.arrays["node_offsets"]) - 1


def grow(
    training_set: TrainingSet,
    growth: Growth,
    costs: FeatureCosts,
    seeds: Seeds,
    *,
    draw_weights: NDArray[np.float64] | None = None,
    paid: NDArray[Any] | None = None,
    ledger: NDArray[Any] | None = None,
    n_threads: int = 1,
    instruction_set: str = "auto",
    engine: Engine = "auto",
    on_progress: Callable[[int], object] | None = None,
    with_gains: bool = False,
) -> GrownTrees:
    """Grow one tree per seed.

    draw_weights: (n_rows,), the bootstrap draws rows in proportion to them. paid: (n_rows, n_features) for
    charge="forest"; ledger: (n_features,) for charge="ledger", where each of these trees starts from.
    on_progress(n) is called from this thread every now and then while n trees are finished. with_gains: the arrays
    also say what each split gained; a third more memory.
    """
    arrays, interrupted = _core.grow_trees(
        training_set.core,
        growth.for_core(),
        growth.costs_for_core(costs, paid, ledger),
        growth.impurity_for_core(training_set.n_counts),
        seeds,
        cumulative(draw_weights),
        n_threads,
        instruction_set,
        engine,
        on_progress,
        with_gains,
    )
    if arrays["category_set"] is None:  # no split is categorical: n_nodes times the same -1
        arrays["category_set"] = np.broadcast_to(np.int32(-1), arrays["feature"].shape)
    if not with_gains:
        del arrays["gain"]
    return GrownTrees(arrays, interrupted)


def cumulative(draw_weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Draw weights as the core takes them; None: all rows alike."""
    return None if draw_weights is None else np.cumsum(draw_weights, dtype=np.float64)
