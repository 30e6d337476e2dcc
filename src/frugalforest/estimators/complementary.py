"""Complementary training: the rows that the trees so far get wrong are drawn more often for the next ones."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complementary = Literal[False, True, "printed"]


class Ballots:
    """How the trees so far have voted on the rows they were grown from, and what follows for the next bootstrap.

        W_j = 1 - share of right votes, of the trees that have not drawn row j        (meant, and the default)
        W_j = share of right votes, of all trees                                      (printed)

    Thomas, Algorithm 3, prints the second, which draws the rows that need no more attention; the dynamic random forest
    it builds on (Bernard, Adam, Heutte 2012) has the first. A row that no tree could judge yet weighs as much as the
    others on average. Without a vote, or if all weights are 0, rows are drawn alike.
    """

    def __init__(self, n_rows: int, *, printed: bool) -> None:
        self._printed = printed
        self._right = np.zeros(n_rows)
        self._cast = np.zeros(n_rows)

    def count(self, is_right: NDArray[np.bool_], in_bag: NDArray[np.bool_]) -> None:
        """Add the votes of some trees; is_right, in_bag: (n_trees, n_rows)."""
        counts = np.ones_like(in_bag) if self._printed else ~in_bag
        self._right += (is_right & counts).sum(axis=0)
        self._cast += counts.sum(axis=0)

    def draw_weights(self) -> Floats | None:
        """What rows are drawn in proportion to, (n_rows,); None: all alike."""
        judged = self._cast > 0
        share = self._right[judged] / self._cast[judged]
        weight = share if self._printed else 1 - share
        if not weight.any():
            return None
        weights = np.full(len(judged), weight.mean())
        weights[judged] = weight
        return weights
