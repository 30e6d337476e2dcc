"""Impurities: how mixed a set of examples is, as a function F(n_1 .. n_k) of its class counts.

Greedy trees come with a bound on their cost if F is *admissible* (Nan et al. 2015, section 2.2): non-negative, zero on
pure sets, monotone, supermodular, and of polynomial growth. `check_admissible` looks for sets that show otherwise.
"""

from frugalforest.impurities.admissible import AdmissibilityReport, Counterexample, check_admissible
from frugalforest.impurities.formulas import (
    Entropy,
    Gini,
    Impurity,
    ImpurityFunction,
    Polynomial,
    Powers,
    ThresholdPairs,
    evaluate,
    minimax_risk,
)

__all__ = [
    "AdmissibilityReport",
    "Counterexample",
    "Entropy",
    "Gini",
    "Impurity",
    "ImpurityFunction",
    "Polynomial",
    "Powers",
    "ThresholdPairs",
    "check_admissible",
    "evaluate",
    "minimax_risk",
]
