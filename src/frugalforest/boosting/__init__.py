"""Gradient boosting on histograms in which splits pay for the features that rows have not paid yet."""

from frugalforest.boosting.booster import Booster, Standing
from frugalforest.boosting.params import BoostOptions
from frugalforest.boosting.rows import BoostingRows
from frugalforest.boosting.trees import BoostedTrees

__all__ = ["BoostOptions", "BoostedTrees", "Booster", "BoostingRows", "Standing"]
