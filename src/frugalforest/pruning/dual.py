"""Dual decomposition: trees share the price of what they read, are pruned one by one, and the shares move.

The price p of a (row, item) is paid once, whichever trees read it. With shares s_t >= 0 that add up to 1,

    bound(s) = sum over trees of  min over prunings of tree t  [ its loss + sum of s_t p over what it reads ]

is below every objective, and its maximum is the least objective: the linear program is totally unimodular (Nan et al.
2016; to keep splits under the condition that others stay and rows pay is a minimum cut). Each term takes one pass from
the leaves to the root. A round moves shares to the trees that read the item, by a Polyak step along a running mean of
the prunings, and projects them; the paper takes plain subgradient steps. The running mean, cut at its best threshold,
is a pruning at least as good as the mean itself, since the objective of the mean is the mean of the objectives over
thresholds. The best pruning seen is the answer, and the best bound says how far from the optimum it can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frugalforest.forest import Forest
from frugalforest.pruning.collapse import collapsed
from frugalforest.pruning.problem import PruningProblem

ROUNDING = 1e-12  # losses add up to at most 1


@dataclass(frozen=True, eq=False)
class Solution:
    """The best pruning that was seen, and a proof of how good it is."""

    forest: Forest
    objective: float  # loss + tradeoff * mean bill, of the pruned forest on the pruning rows
    bound: float  # no pruning has a smaller objective
    n_rounds: int

    @property
    def gap(self) -> float:
        """(objective - bound) / objective; 0 if they differ by no more than rounding."""
        return relative_gap(self.objective, self.bound)


def relative_gap(objective: float, bound: float) -> float:
    """(objective - bound) / objective; 0 if they differ by no more than rounding."""
    return (objective - bound) / objective if objective - bound > ROUNDING else 0.0


def solve(problem: PruningProblem, tradeoff: float, *, gap: float = 0.001, max_rounds: int = 1000) -> Solution:
    """Prune until the objective is proven to be within `gap` of the optimum, or max_rounds are over.

    Shares start where the last solution of the problem left them: near the answer, if tradeoffs are taken in order.
    """
    stays, objective, bound, n_rounds = problem.core.solve(
        problem.prices(tradeoff), float(gap), int(max_rounds), problem.n_threads
    )
    return Solution(collapsed(problem.forest, stays.view(np.bool_)), objective, bound, n_rounds)
