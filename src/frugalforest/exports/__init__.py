"""Ensembles for other programs: Shapley values with SHAP, predictions with ONNX and treelite.

What is handed over predicts as the ensemble does, from the encoded matrix; it reads every feature and knows no bill.
"""

from frugalforest.exports.onnx import to_onnx
from frugalforest.exports.shap import to_shap
from frugalforest.exports.treelite import to_treelite

__all__ = ["to_onnx", "to_shap", "to_treelite"]
