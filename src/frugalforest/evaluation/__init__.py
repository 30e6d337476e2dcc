"""What a model costs and what it gets wrong."""

from frugalforest.evaluation.curve import CostCurve, cost_curve
from frugalforest.evaluation.ranking import precision_until_first_miss

__all__ = ["CostCurve", "cost_curve", "precision_until_first_miss"]
