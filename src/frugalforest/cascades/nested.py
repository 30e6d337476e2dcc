"""Nested panels by two orders, each with the stages that read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from frugalforest.cascades.gains import knows_unread, residual_gains
from frugalforest.cascades.orders import free_features, grown, price_steps, shrunk
from frugalforest.cascades.stages import CrossFitter, FittedStage, Floats, Mask, Stage, threads
from frugalforest.costs import FeatureCosts

ORDERS = ("both", "forward", "backward")
MIDDLE = 0.6  # of the way from the cheapest panel to everything: below, both orders are tried


@dataclass(frozen=True, eq=False)
class PanelBuilder:
    """Makes the stages of cascades: the free one, some in between, and one that reads everything of use."""

    fitter: CrossFitter
    costs: FeatureCosts
    n_stages: int  # that cost something, at most
    shares: Floats  # of the classes
    is_categorical: Mask  # (n_features,)

    def build(self, order: str) -> Iterator[tuple[str, FittedStage]]:
        """Pairs of the order they belong to and a stage, as they are fitted: not by rising panels.

        Large panels take long and are much the same by both orders, so "both" shares them.
        """
        useful = self._useful()
        free = free_features(self.costs) & useful
        nothing = self._fit(free)
        names = ("backward", "forward") if order == "both" else (order,)
        yield from ((name, nothing) for name in names)
        steps = price_steps(self.costs, useful, self.n_stages)
        if len(steps) == 0:
            return
        top = self._fit(useful)
        yield from ((name, top) for name in names)
        if order == "forward":
            yield from (("forward", fitted) for fitted in self._forward(free, useful, steps[:-1]))
            return
        middle = steps[int(MIDDLE * (len(steps) - 1))]
        within = useful
        for fitted in self._backward(top, free, steps[:-1]):
            yield "backward", fitted
            if order == "both" and self.costs.of(fitted.stage.panel) >= middle:
                yield "forward", fitted
                within = fitted.stage.mask(len(free))
        if order == "both":
            yield from (("forward", fitted) for fitted in self._forward(free, within, steps[steps < middle]))

    def _useful(self) -> Mask:
        """Features that a first model reads; all of them if it cannot tell."""
        everything = np.ones(self.costs.n_features, dtype=bool)
        model, gains = self.fitter.scout(everything)
        return gains > 0 if knows_unread(model) and gains.any() else everything

    def _fit(self, panel: Mask) -> FittedStage:
        if panel.any():
            return self.fitter.fit(panel)
        n_rows = len(self.fitter.labels)
        return FittedStage(Stage.of_shares(self.shares), np.tile(self.shares, (n_rows, 1)), np.zeros(len(panel)))

    def _backward(self, top: FittedStage, free: Mask, steps: Floats) -> Iterator[FittedStage]:
        """From everything down: what the larger panel's models gain least from, for its price, leaves."""
        fitted, panel = top, top.stage.mask(len(free))
        for limit in steps[::-1].tolist():
            gains = np.where(panel, fitted.gains, 0.0)
            smaller = grown(self.costs, shrunk(self.costs, panel, gains, limit), gains, limit) | free
            if np.array_equal(smaller, panel):
                continue
            if np.array_equal(smaller, free):
                return
            panel = smaller
            fitted = self._fit(panel)
            yield fitted

    def _forward(self, free: Mask, within: Mask, steps: Floats) -> Iterator[FittedStage]:
        """From nothing up: what tells most about the residuals of the smaller panel's models, for its price, joins."""
        fitted, panel = self._fit(free), free
        for limit in steps.tolist():
            larger = grown(self.costs, panel, np.where(within, self._residual_gains(fitted), 0.0), limit)
            if np.array_equal(larger, panel):
                continue
            panel = larger
            fitted = self._fit(panel)
            yield fitted

    def _residual_gains(self, fitted: FittedStage) -> Floats:
        fitter = self.fitter
        targets = np.arange(fitter.n_classes) == fitter.labels[:, None]
        residuals = (targets - fitted.out_of_fold)[:, 1 if fitter.n_classes == 2 else 0 :]
        with threads(1):
            return residual_gains(fitter.matrix, residuals, fitter.weights, self.is_categorical, fitter.seed)


def by_panel(stages: list[FittedStage]) -> list[FittedStage]:
    """Stages by rising panels; of equal panels one."""
    distinct = {len(fitted.stage.panel): fitted for fitted in stages}
    return [distinct[size] for size in sorted(distinct)]
