"""Racing: most candidates are ruled out by a few trees, and only the best of them get a full forest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from frugalforest.selection.forests import ForestJudge, Votes, with_each

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

FIRST_TREES = 16
GROWTH = 4  # each round has this many times the trees, and keeps this part of the candidates
FINALISTS = 3


class Race:
    """Successive halving among features that may join a set; a forest's first trees are the same in every round."""

    def __init__(self, judge: ForestJudge) -> None:
        self.judge = judge
        self._known: dict[tuple[bytes, int], float] = {}

    def finalists(
        self, mask: Mask, features: NDArray[np.intp], values_of: Callable[[Floats, Places], Floats]
    ) -> Places:
        """Places of the features that get a full forest.

        mask: (n_features,), the set that one of them joins. values_of(change of the error, places) is the criterion,
        smaller is better.
        """
        places, votes, n_trees = np.arange(len(features)), None, FIRST_TREES
        while n_trees < self.judge.n_trees and len(places) > FINALISTS:
            errors, votes = self._errors(with_each(mask, features[places]), votes, n_trees)
            before, _ = self._errors(mask[None, :], None, n_trees)
            kept = max(FINALISTS, -(-len(places) // GROWTH))
            order = np.argsort(values_of(errors - before, places), kind="stable")[:kept]
            places = places[np.sort(order)]
            votes = None if votes is None else (votes[0], votes[1][np.sort(order)])
            n_trees *= GROWTH
        return places

    def _errors(
        self, masks: Mask, votes: tuple[int, Votes] | None, n_trees: int
    ) -> tuple[Floats, tuple[int, Votes] | None]:
        """Errors of forests of n_trees on each set, and their votes; votes: (trees they are of, votes) or None."""
        keys = [(mask.tobytes(), n_trees) for mask in masks]
        if all(key in self._known for key in keys):
            return np.array([self._known[key] for key in keys]), None
        n_before, cast = (0, np.uint16(0)) if votes is None else votes
        cast = self.judge.votes(masks, n_before, n_trees) + cast
        errors = self.judge.error_of_votes(cast)
        self._known.update(zip(keys, errors.tolist(), strict=True))
        return errors, (n_trees, cast)
