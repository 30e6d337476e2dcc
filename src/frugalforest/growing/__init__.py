"""Which trees are grown, in which order, from which seed."""

from frugalforest.growing.grow import GrownTrees, TrainingSet, grow
from frugalforest.growing.params import Growth
from frugalforest.growing.seeds import tree_seeds

__all__ = ["GrownTrees", "Growth", "TrainingSet", "grow", "tree_seeds"]
