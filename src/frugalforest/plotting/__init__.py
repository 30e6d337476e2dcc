"""Figures: `*_data` computes what is shown, `draw_*` draws it. matplotlib is loaded when something is drawn."""

from frugalforest.plotting.curve import CostCurveDisplay, curve_data, draw_curve

__all__ = ["CostCurveDisplay", "curve_data", "draw_curve"]
