"""Figures: `*_data` computes what is shown, `draw_*` draws it. matplotlib is loaded when something is drawn."""

from frugalforest.plotting.comparison import comparison_data, draw_comparison
from frugalforest.plotting.curve import CostCurveDisplay, curve_data, draw_curve

__all__ = ["CostCurveDisplay", "comparison_data", "curve_data", "draw_comparison", "draw_curve"]
