"""From what the user hands in to the bytes that trees are grown from."""

from frugalforest.data.binning import MISSING, BinnedData, Bins
from frugalforest.data.frames import FeatureEncoder

__all__ = ["MISSING", "BinnedData", "Bins", "FeatureEncoder"]
