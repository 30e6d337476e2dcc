"""A cascade as runs see it: the features of a panel are bought together, those of the last one maybe one by one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.acquisition.fingerprint import fingerprint_of
from frugalforest.acquisition.staged import End
from frugalforest.cascades import Cascade, Policy, Stage
from frugalforest.cascades.last_stage import LastStage, OneRow
from frugalforest.cascades.stages import threads
from frugalforest.cascades.stopping import labels_and_leads
from frugalforest.costs import FeatureCosts
from frugalforest.data import FeatureEncoder

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CascadeStages:
    """What a StagedRun needs: which panel comes next, and what is said so far. Without a policy nothing is bought."""

    cascade: Cascade
    policy: Policy | None
    prior: Floats  # what is said before anything is known
    costs: FeatureCosts
    encoder: FeatureEncoder
    classes: NDArray[Any]
    needs_all: str | None = None  # the name of an estimator that cannot do with missing values
    last_stage: LastStage | None = None  # of the policy, if it is read on demand

    @cached_property
    def fingerprint(self) -> str:
        """A short text that tells this model and price list from others."""
        prices = (*self.costs.ticks, self.costs.money(1), self.costs.membership)
        if self.policy is None:
            return fingerprint_of(self.prior, prices)
        return fingerprint_of(self.prior, prices, self.policy.thresholds, [_mark_of(stage) for stage in self._stages])

    @property
    def earlier_fingerprints(self) -> tuple[str, ...]:
        """What runs of version 1 have in its place, which leaves out what the stages have learned."""
        digest = hashlib.sha256()
        parts = [self.prior, *self.costs.ticks, self.costs.membership]
        if self.policy is not None:
            parts.append(self.policy.thresholds)
            for stage in self._stages:
                parts += [stage.panel, stage.offset, np.array([stage.slope])]
        for array in parts:
            digest.update(repr((array.shape, array.dtype)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(repr(self.classes.tolist()).encode())
        return (digest.hexdigest()[:32],)

    @property
    def _stages(self) -> tuple[Stage, ...]:
        return self.cascade.stages

    def wanted(self, values: Floats, known_mask: Mask) -> Positions:
        """What is not known of the panel that the row has come to; on demand one feature of it."""
        stage, is_over = self._where(values, known_mask)
        if is_over:
            return np.zeros(0, dtype=np.intp)
        if self._is_on_demand(stage):
            return np.array([self._at_last(values, known_mask).next_feature], dtype=np.intp)
        panel = self._stages[stage].panel
        return panel[~known_mask[panel]]

    def answer(self, values: Floats, known_mask: Mask) -> Floats:
        """By the stage where the row stops; before, by the largest panel below that is known; else the class shares."""
        if self.policy is None:
            return self.prior
        stage, is_over = self._where(values, known_mask)
        if self._is_on_demand(stage):
            return self._at_last(values, known_mask).probabilities
        while stage >= 0 and not is_over:
            stage -= 1
            is_over = stage >= 0 and bool(known_mask[self._stages[stage].panel].all())
        return self._answer_of(stage, values)[0] if is_over else self.prior

    def outlook(self, values: Floats, known_mask: Mask) -> list[End]:
        """The stages where the row may stop, as probable as they are frequent among training rows."""
        if self.policy is None:
            return [End(1.0, np.zeros(self.costs.n_features, dtype=bool))]
        stage, is_over = self._where(values, known_mask)
        ends = [stage] if is_over else [k for k in self.policy.looked_at() if k >= stage]
        shares = self.policy.shares[ends]
        chances = shares / shares.sum() if shares.sum() > 0 else np.eye(len(ends))[-1]
        return [self._end(float(p), k, values, known_mask) for p, k in zip(chances, ends, strict=True)]

    def _end(self, chance: float, stage: int, values: Floats, known_mask: Mask) -> End:
        if not self._is_on_demand(stage):
            return End(chance, self._stages[stage].mask(self.costs.n_features))
        assert self.last_stage is not None
        before = self.costs.mask(self.last_stage.before)
        needed = self.costs.of(before & ~known_mask)
        return End(chance, before, max(0.0, self._at_last(values, known_mask).expected_cost() - needed))

    def _where(self, values: Floats, known_mask: Mask) -> tuple[int, bool]:
        """The stage that a row has come to, and whether it stops there; otherwise some of its panel is not known."""
        if self.policy is None:
            return -1, True
        looked_at = self.policy.looked_at()
        for k in looked_at[:-1]:
            if not known_mask[self._stages[k].panel].all():
                return k, False
            (label,), (lead,) = labels_and_leads(self._answer_of(k, values))
            if lead >= self.policy.thresholds[k, label]:
                return k, True
        last = looked_at[-1]
        if self._is_on_demand(last):
            return last, self._at_last(values, known_mask).next_feature is None
        return last, bool(known_mask[self._stages[last].panel].all())

    def _is_on_demand(self, stage: int) -> bool:
        return self.last_stage is not None and self.last_stage.stage is self._stages[stage]

    def _at_last(self, values: Floats, known_mask: Mask) -> OneRow:
        assert self.last_stage is not None
        return self.last_stage.run(values, known_mask)

    def _answer_of(self, k: int, values: Floats) -> Floats:
        panel = self._stages[k].panel
        gaps = panel[np.isnan(values[panel])]
        if self.needs_all is not None and len(gaps):
            lacking = ", ".join(repr(self.encoder.feature_label(int(feature))) for feature in gaps)
            raise ValueError(
                f"{self.needs_all} cannot do without {lacking}; take an estimator that accepts missing values, such as "
                "the default."
            )
        with threads(1):
            return self._stages[k].probabilities(values[None, :])


def _mark_of(stage: Stage) -> tuple[Any, ...]:
    """What tells stages apart: their trees if they have some, else all that their models learned."""
    learned = stage.models if stage.trees is None else stage.trees
    return stage.panel, stage.slope, stage.offset, learned
