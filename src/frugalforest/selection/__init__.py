"""Fixed panels of features for a budget: which columns are worth buying, for every row the same."""

from frugalforest.selection.auc import AUCSelector
from frugalforest.selection.compare import SelectorComparison, compare_selectors
from frugalforest.selection.fixed import FixedSelector
from frugalforest.selection.forward import ForwardSelector
from frugalforest.selection.permutation import PermutationSelector
from frugalforest.selection.shallow_trees import ShallowTreeSelector

__all__ = [
    "AUCSelector",
    "FixedSelector",
    "ForwardSelector",
    "PermutationSelector",
    "SelectorComparison",
    "ShallowTreeSelector",
    "compare_selectors",
]
