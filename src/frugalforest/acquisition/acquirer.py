"""Acquirer: an ensemble with its prices, ready to be read one feature at a time, by the row or by the matrix."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.acquisition.fingerprint import fingerprint_of
from frugalforest.acquisition.stopping import SMALL_TREE, Order, StopRule
from frugalforest.costs import FeatureCosts
from frugalforest.ensemble import Ensemble
from frugalforest.forest import Floats, Mask
from frugalforest.growing.params import groups_by_feature

# Leaves of a matrix that are looked up at once, one for each row and tree. Rows of one leaf are read one after another:
# many at once are faster for large trees (7 %); small ones are in the cache anyway, and new memory takes time (6 %).
LEAVES_AT_ONCE, LEAVES_OF_SMALL_TREES_AT_ONCE = 2**24, 2**22  # 64 and 16 MB


class Evaluation(NamedTuple):
    """What a whole matrix of rows ended with."""

    label_numbers: NDArray[np.intp]  # (n_rows,)
    mask: Mask  # (n_rows, n_features): what was bought
    probabilities: Floats | None  # (n_rows, n_classes); estimates where a row was not read to its leaves


class Ends(NamedTuple):
    """How rows would end at each of several confidences, and, last, with a proof."""

    label_numbers: NDArray[np.intp]  # (n_rows, n_ends)
    bills: Floats  # (n_rows, n_ends)
    probabilities: Floats | None  # (n_rows, n_ends, n_classes); estimates where a row was not read to its leaves


@dataclass(frozen=True, eq=False)
class Acquirer:
    """Buys features in the order that settles the label most cheaply, until a rule says that it is enough."""

    ensemble: Ensemble
    costs: FeatureCosts
    order: Order = field(default_factory=Order)

    def __post_init__(self) -> None:
        if not isinstance(self.order, Order):
            raise TypeError(
                f"order={self.order!r:.60} is no order; give frugalforest.acquisition.Order(...), or leave it out."
            )

    @cached_property
    def core(self) -> _core.Acquirer:
        """The compiled side; made when it is first needed."""
        forest, whole = self.ensemble.forest, np.ascontiguousarray
        own, shared = self.costs.ticks
        group_offsets, group_ids = groups_by_feature(self.costs)
        return _core.Acquirer(
            node_offsets=whole(forest.node_offsets),
            feature=whole(forest.feature),
            threshold=whole(forest.threshold),
            missing_left=whole(forest.missing_left),
            right=whole(forest.right),
            category_set=whole(forest.category_set),
            category_sets=whole(forest.category_sets),
            values=whole(self.ensemble.values),
            base=whole(self.ensemble.base),
            node_weight=forest.node_counts.sum(axis=1) if forest.n_trees else np.zeros(0),
            own_ticks=whole(own),
            shared_ticks=whole(shared),
            group_offsets=group_offsets,
            group_ids=group_ids,
            only_lead=self._is_led,
        )

    @property
    def _is_led(self) -> bool:
        """Whether the core keeps one number for both of two classes, the lead of the second over the first."""
        return self.ensemble.n_classes == 2 and self.ensemble.link not in ("one_vs_all", "power")

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("ensemble", "costs", "order")}

    @property
    def _leaves_per_tree(self) -> float:
        forest = self.ensemble.forest
        return forest.n_leaves / max(forest.n_trees, 1)

    def policy(self, rule: StopRule) -> _core.Policy:
        """The rule, the order and the tolerance of the ensemble, as the core reads them."""
        order = self.order.settings(self._leaves_per_tree)
        return rule.policy(self.costs, self.ensemble.tolerance, order)

    def evaluate(
        self,
        rows: NDArray[Any],
        rule: StopRule,
        n_threads: int = 1,
        *,
        with_probabilities: bool = True,
        bought: Sequence[int] = (),
    ) -> Evaluation:
        """Run every row (as `ensemble.reading` gives it) to its end.

        bought: features that all rows have bought before, together; they are in the mask.
        """
        if rule.name == "all":
            found = self._read_all(rows, n_threads)
            found.mask[:, list(bought)] = True
            return found
        answer, is_complete, channels, mask = self._run_rows(rows, rule, n_threads, with_probabilities, list(bought))
        mask[:, list(bought)] = True
        labels = answer.astype(np.intp)
        probabilities = None if channels is None else self.estimated_probabilities(channels, labels)
        complete = np.flatnonzero(is_complete)
        if len(complete):  # nothing is open: exact, and ties by the ensemble's own rule
            scores, _ = self.ensemble.scores(rows[complete], n_threads=n_threads)
            labels[complete] = self.ensemble.label_numbers(scores)
            if probabilities is not None:
                probabilities[complete] = self.ensemble.probabilities(scores)
        return Evaluation(labels, mask.view(np.bool_), probabilities)

    def ends_at(
        self, rows: NDArray[Any], confidences: Floats, n_threads: int = 1, *, with_probabilities: bool = True
    ) -> Ends:
        """What `evaluate` gives with stop="confidence" at each of these (ascending), and with a proof, in one pass."""
        policy = self.policy(StopRule("confidence", confidence=np.inf))
        levels = np.ascontiguousarray(confidences, dtype=np.float64)
        answer, is_complete, ticks, channels = self.core.ends_at(rows, policy, levels, with_probabilities, n_threads)
        labels = answer.astype(np.intp)
        probabilities = None
        if channels is not None:
            flat = self.estimated_probabilities(channels.reshape(-1, channels.shape[-1]), labels.ravel())
            probabilities = flat.reshape(*labels.shape, -1)
        row, end = np.nonzero(is_complete)
        if len(row):  # nothing is open: exact, and ties by the ensemble's own rule
            scores, _ = self.ensemble.scores(rows, n_threads=n_threads)
            labels[row, end] = self.ensemble.label_numbers(scores)[row]
            if probabilities is not None:
                probabilities[row, end] = self.ensemble.probabilities(scores)[row]
        return Ends(labels, self.costs.money_of_many(ticks), probabilities)

    def _run_rows(
        self, rows: NDArray[Any], rule: StopRule, n_threads: int, with_probabilities: bool, bought: list[int]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8], Floats | None, NDArray[np.uint8]]:
        """What the core gives for every row, some rows at a time.

        All values of a matrix are at hand, so the leaves are looked up first, by the fast way of full evaluation: rows
        that are alike are then read one after the other, and no tree is walked twice. What is bought, and the answer,
        depend on the values that are bought only.
        """
        forest, policy = self.ensemble.forest, self.policy(rule)
        n_leaves = LEAVES_OF_SMALL_TREES_AT_ONCE if self._leaves_per_tree <= SMALL_TREE else LEAVES_AT_ONCE
        n_rows = max(1, n_leaves // max(forest.n_trees, 1))
        parts = []
        for first in range(0, max(len(rows), 1), n_rows):
            some = rows[first : first + n_rows]
            leaves = forest.apply(some, n_threads) if forest.n_trees else None
            parts.append(self.core.evaluate(some, policy, with_probabilities, n_threads, leaves, bought))
        if len(parts) == 1:
            return parts[0]
        answer, is_complete, channels, mask = zip(*parts, strict=True)
        joined = np.concatenate(channels) if with_probabilities else None
        return np.concatenate(answer), np.concatenate(is_complete), joined, np.concatenate(mask)

    def _read_all(self, rows: NDArray[Any], n_threads: int) -> Evaluation:
        scores, mask = self.ensemble.scores(rows, with_mask=True, n_threads=n_threads)
        assert mask is not None
        return Evaluation(self.ensemble.label_numbers(scores), mask, self.ensemble.probabilities(scores))

    def estimated_probabilities(self, channels: Floats, labels: NDArray[np.intp]) -> Floats:
        """Probabilities of estimated scores, (n_rows, n_classes); the settled label is never behind another."""
        probabilities = self.ensemble.probabilities(self.scores_of(channels))
        rows = np.arange(len(labels))
        best = probabilities.max(axis=1)
        behind = probabilities.argmax(axis=1) != labels
        # A proven label can trail in the estimate: trees that wait for one feature are averaged one by one.
        probabilities[rows[behind], labels[behind]] = best[behind] * (1 + 1e-9)
        if self.ensemble.link == "one_vs_all":  # these need not add up to 1, estimated or not
            return probabilities / np.maximum(probabilities.max(axis=1, keepdims=True), 1.0)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def scores_of(self, channels: Floats) -> Floats:
        """Scores of classes from the core's channels: the scores themselves, or the lead of the second class."""
        if not self._is_led:
            return channels
        lead = channels[:, 0]
        if self.ensemble.link != "mean":
            return np.column_stack([np.zeros_like(lead), lead])
        total = max(self.ensemble.forest.n_trees, 1)
        return np.column_stack([(total - lead) / 2, (total + lead) / 2])

    @cached_property
    def fingerprint(self) -> str:
        """A short text that tells this ensemble and price list from others; orders have names of their own."""
        own, shared = self.costs.ticks
        return fingerprint_of(self.ensemble, own, shared, self.costs.money(1), self.costs.membership)

    @property
    def earlier_fingerprints(self) -> tuple[str, ...]:
        """What runs of version 1 may have in its place: of trees, prices and order, without names and categories."""
        digest = hashlib.sha256()
        forest = self.ensemble.forest
        own, shared = self.costs.ticks
        for array in (
            *(forest.node_offsets, forest.feature, forest.threshold, forest.missing_left, forest.right),
            *(forest.category_set, forest.category_sets, self.ensemble.values, self.ensemble.base),
            *(own, shared, self.costs.membership),
        ):
            digest.update(repr(array.shape).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(repr((self.ensemble.link, self.order, [str(c) for c in self.ensemble.classes.tolist()])).encode())
        return (digest.hexdigest()[:32],)
