"""Racing: most candidates are ruled out by a few trees, and only the best of them get a full forest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from frugalforest.selection.forests import ForestJudge, Votes

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
        self._known: dict[tuple[bytes, int, int], float] = {}  # by set, feature that joins it, and number of trees
        self._known_before: dict[tuple[bytes, int], float] = {}

    def run(
        self, mask: Mask, features: NDArray[np.intp], values_of: Callable[[Floats, Places], Floats]
    ) -> tuple[Places, Floats]:
        """Places of the features that get a full forest, and its errors.

        mask: (n_features,), the set that one of them joins. values_of(change of the error, places) is the criterion,
        smaller is better.
        """
        places, votes, n_trees = np.arange(len(features)), None, FIRST_TREES
        while n_trees < self.judge.n_trees and len(places) > FINALISTS:
            errors, votes = self._errors(mask, features[places], votes, n_trees)
            change = errors - self._error_before(mask, n_trees)
            kept = max(FINALISTS, -(-len(places) // GROWTH))
            order = np.argsort(values_of(change, places), kind="stable")[:kept]
            places = places[np.sort(order)]
            votes = None if votes is None else (votes[0], votes[1][np.sort(order)])
            n_trees *= GROWTH
        return places, self._errors(mask, features[places], votes, self.judge.n_trees)[0]

    def without_rounds(self, mask: Mask, features: NDArray[np.intp]) -> Floats:
        """Errors of full forests on the set and each feature."""
        return self._errors(mask, features, None, self.judge.n_trees)[0]

    def _errors(
        self, mask: Mask, features: NDArray[np.intp], votes: tuple[int, Votes] | None, n_trees: int
    ) -> tuple[Floats, tuple[int, Votes] | None]:
        """Errors of forests of n_trees on the set and each feature, and their votes.

        votes: (trees they are of, votes) or None.
        """
        keys = [(mask.tobytes(), int(feature), n_trees) for feature in features]
        if all(key in self._known for key in keys):
            return np.array([self._known[key] for key in keys]), None
        n_before, cast = (0, np.uint16(0)) if votes is None else votes
        cast = self.judge.candidate_votes(mask, features, n_before, n_trees) + cast
        errors = self.judge.error_of_votes(cast)
        self._known.update(zip(keys, errors.tolist(), strict=True))
        return errors, (n_trees, cast)

    def _error_before(self, mask: Mask, n_trees: int) -> float:
        """Error of a forest of n_trees on the set alone."""
        key = (mask.tobytes(), n_trees)
        if key not in self._known_before:
            votes = self.judge.votes(mask[None, :], 0, n_trees)
            self._known_before[key] = float(self.judge.error_of_votes(votes)[0])
        return self._known_before[key]
