"""Fixed panels of features for a budget: which columns are worth buying, for every row the same."""

from frugalforest.selection.auc import AUCSelector
from frugalforest.selection.compare import SelectorComparison, compare_selectors
from frugalforest.selection.fixed import FixedSelector
from frugalforest.selection.forward import ForwardSelector
from frugalforest.selection.permutation import PermutationSelector
from frugalforest.selection.selection_path import SelectionPath
from frugalforest.selection.set_function import NotSubmodularWarning
from frugalforest.selection.shallow_trees import ShallowTreeSelector
from frugalforest.selection.submodular import SubmodularSelector

__all__ = [
    "AUCSelector",
    "FixedSelector",
    "ForwardSelector",
    "NotSubmodularWarning",
    "PermutationSelector",
    "SelectionPath",
    "SelectorComparison",
    "ShallowTreeSelector",
    "SubmodularSelector",
    "compare_selectors",
]
