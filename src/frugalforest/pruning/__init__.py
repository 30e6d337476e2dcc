"""Pruning: which subtrees of a grown forest are worth what they read."""

from frugalforest.pruning.dual import Solution, solve
from frugalforest.pruning.path import search_tradeoffs
from frugalforest.pruning.problem import PruningProblem, PruningRows
from frugalforest.pruning.refit import refit_leaves

__all__ = ["PruningProblem", "PruningRows", "Solution", "refit_leaves", "search_tradeoffs", "solve"]
