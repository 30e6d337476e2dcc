"""Trees of linear classifiers: pure numerics, from moments and greedy selection to trees that read rows."""

from frugalforest.linear_trees.grow import Growth, TrainingSet, grow_trees
from frugalforest.linear_trees.link import NodeLink
from frugalforest.linear_trees.standardising import Standard
from frugalforest.linear_trees.tree import LinearTree, Node

__all__ = ["Growth", "LinearTree", "Node", "NodeLink", "Standard", "TrainingSet", "grow_trees"]
