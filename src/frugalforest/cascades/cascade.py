"""Cascade: stages with nested panels, and policies that say when rows stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.cascades.stages import Floats, Mask, Positions, Stage, log_chances
from frugalforest.cascades.stopping import ALWAYS, NEVER, StageTable, labels_and_leads
from frugalforest.costs import FeatureCosts

SHARE_OF_ERROR = 0.5  # of the loss that thresholds are chosen by; the rest is log-loss
LARGEST_LOG_LOSS = 5.0  # of one row: a few rows that are wrong and sure shall not decide


@dataclass(frozen=True, eq=False)
class Policy:
    """Which of several cascades, and from which lead on its rows stop."""

    cascade: int
    tradeoff: float  # the price of money, in errors, that it suits
    thresholds: Floats  # (n_stages - 1, n_classes)
    shares: Floats  # (n_stages,): of the training rows that stop at each stage

    def looked_at(self) -> list[int]:
        """The stages that are looked at: where some rows stop and others may go on, and the first where all stop."""
        stages = []
        for k, cuts in enumerate(self.thresholds):
            if (cuts < NEVER).any():
                stages.append(k)
            if (cuts == ALWAYS).all():
                return stages
        return [*stages, len(self.thresholds)]


@dataclass(frozen=True, eq=False)
class Cascade:
    """Stages by rising panels, the first of which is free."""

    order: str  # by which its panels were found
    stages: tuple[Stage, ...]

    def read(self, rows: NDArray[Any], policy: Policy) -> tuple[Floats, Positions]:
        """Class probabilities (n_rows, n_classes), and the stage each row stops at, (n_rows,)."""
        looked_at = policy.looked_at()
        probabilities = np.empty((len(rows), policy.thresholds.shape[1]))
        stops = np.full(len(rows), looked_at[-1], dtype=np.intp)
        open_rows = np.arange(len(rows))
        for k in looked_at:
            answers = self.stages[k].probabilities(rows[open_rows])
            probabilities[open_rows] = answers
            if k < len(policy.thresholds):
                labels, leads = labels_and_leads(answers)
                ends = leads >= policy.thresholds[k, labels]
                stops[open_rows[ends]] = k
                open_rows = open_rows[~ends]
        return probabilities, stops

    def masks(self, n_features: int) -> Mask:
        """What a row has bought that stops at each stage, (n_stages, n_features)."""
        return np.stack([stage.mask(n_features) for stage in self.stages])

    def table(
        self, answers: list[Floats], labels: NDArray[Any], weights: Floats | None, costs: FeatureCosts
    ) -> StageTable:
        """Labelled rows at every stage; answers: (n_rows, n_classes) of each stage."""
        found = [labels_and_leads(answer) for answer in answers]
        weights = np.ones(len(labels)) if weights is None else weights
        errors = np.stack([label != labels for label, _ in found]).astype(np.float64)
        return StageTable(
            labels=np.stack([label for label, _ in found]),
            leads=np.stack([lead for _, lead in found]),
            errors=errors,
            losses=smoothed(errors, answers, labels, weights),
            spent=costs.of_rows(self.masks(costs.n_features)),
            weights=weights,
        )


def smoothed(errors: Floats, answers: list[Floats], labels: NDArray[Any], weights: Floats) -> Floats:
    """Half errors and half log-loss, (n_stages, n_rows), on the scale of errors: at the last stage both cost the same.

    Errors alone, which are what counts, jump from row to row, and choose worse thresholds; so does log-loss alone.
    Labels that fit has not seen (-1) cost the most.
    """
    rows = np.arange(len(labels))
    chances = [np.where(labels >= 0, answer[rows, labels], 0.0) for answer in answers]
    log_loss = np.minimum(-log_chances(np.stack(chances)), LARGEST_LOG_LOSS)
    scale = float(weights @ errors[-1]) / max(float(weights @ log_loss[-1]), np.finfo(float).tiny)
    return SHARE_OF_ERROR * errors + (1 - SHARE_OF_ERROR) * scale * log_loss
