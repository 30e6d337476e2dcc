"""What has to hold for the parts of a linear model that comes out of a file. Each check raises ValueError if not."""

from __future__ import annotations

from typing import Any

import numpy as np

from frugalforest.estimators.linear_base import LinearVariant
from frugalforest.linear_trees import LinearTree, NodeLink

_LARGEST = 1e150  # of a coefficient: times the largest standardised value it is still a number


def check_linear_tree(tree: LinearTree) -> None:
    """Every walk ends in a leaf, and every sum is a number."""
    n_nodes, n_features, k = tree.left.size, tree.centre.size, tree.intercept.shape[-1]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("left", "right", "threshold", "share"), (n_nodes,))
    shapes |= {"r_squared": (n_nodes,), "smallest_eigenvalue": (n_nodes,), "feature_offsets": (n_nodes + 1,)}
    shapes |= {"direction": (n_nodes, k), "intercept": (n_nodes, k), "coefficient": (tree.feature.size, k)}
    shapes |= {"centre": (n_features,), "spread": (n_features,), "feature": (tree.feature.size,)}
    for name, shape in shapes.items():
        _require(getattr(tree, name).shape == shape, f"{name} of a linear tree has another shape than {shape}")
    _require(n_nodes > 0 and n_features > 0 and k > 0, "a linear tree without nodes, features or scores")
    _check_children(tree)
    _check_features(tree)
    for array in (tree.coefficient, tree.intercept, tree.direction):
        _require((np.abs(array) <= _LARGEST).all(), "a linear tree with impossible coefficients")
    _require(np.isfinite(tree.centre).all() and np.isfinite(tree.spread).all(), "columns without a centre")
    _require((tree.spread > 0).all(), "columns without a spread")
    _require((tree.share >= 0).all() and tree.share[0] > 0, "a linear tree without training rows")


def _check_children(tree: LinearTree) -> None:
    nodes = np.arange(tree.n_nodes)
    inner = tree.left >= 0
    _require(np.array_equal(inner, tree.right >= 0), "a node with one child")
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    _require(np.array_equal(np.sort(children), nodes[1:]), "nodes that no other, or more than one, leads to")
    later = (tree.left[inner] > nodes[inner]) & (tree.right[inner] > nodes[inner])
    _require(later.all(), "a child before its parent")
    _require(np.isfinite(tree.threshold[inner]).all(), "a node without a threshold")


def _check_features(tree: LinearTree) -> None:
    offsets = tree.feature_offsets
    in_order = offsets[0] == 0 and offsets[-1] == tree.feature.size and (offsets[:-1] <= offsets[1:]).all()
    _require(in_order, "features that belong to no node")
    for node in range(tree.n_nodes):
        own = tree.features_of(node)
        fits = len(own) == 0 or (own[0] >= 0 and own[-1] < tree.n_features)
        _require(fits and (own[:-1] < own[1:]).all(), "a node with features that do not exist, or out of order")


def check_node_link(link: NodeLink) -> None:
    """Every node has a curve."""
    sizes = link.offset.ndim == 2 and link.slope.shape == link.offset.shape[:1]
    _require(sizes, "probabilities of other nodes")
    _require(np.isfinite(link.slope).all() and np.isfinite(link.offset).all(), "impossible probabilities")


def check_linear_variant(variant: LinearVariant) -> None:
    """Tree and probabilities are about the same nodes and scores."""
    tree, link = variant.tree, variant.link
    if link is not None:
        n_nodes, n_classes = link.offset.shape
        _require(n_nodes == tree.n_nodes, "probabilities of another tree")
        _require(tree.n_outputs == (1 if n_classes == 2 else n_classes), "probabilities of other scores")
    _require(variant.setting >= 0, "a negative setting")


def check_linear_model(model: Any) -> None:
    """All parts are about the same features, and every point of the curve can become the model."""
    for name in ("variants_", "variant_", "prior_", "feature_costs_", "encoder_", "n_features_in_"):
        _require(hasattr(model, name), f"there is no {name}")
    n_classes = len(model.classes_) if hasattr(model, "classes_") else None
    _require(len(model.variants_) > 0, "a model without a tree")
    _require(model.prior_.shape == (n_classes or 1,) and np.isfinite(model.prior_).all(), "an impossible prior")
    for variant in (*model.variants_, model.variant_):
        _require(variant.tree.n_features == model.n_features_in_, "trees and model have different features")
        _require((variant.link is None) == (n_classes is None), "a model without probabilities")
        _require(variant.link is None or variant.link.offset.shape[1] == n_classes, "other classes")
    if hasattr(model, "curve_"):
        _require(len(model.curve_) == len(model.variants_), "a curve of other trees")
        _require(np.array_equal(model.curve_.variant, np.arange(len(model.curve_))), "a curve out of order")
    sizes = {model.encoder_.n_features, model.feature_costs_.n_features, model.n_features_in_}
    _require(len(sizes) == 1, "encoder, costs and model have different features")
    names = getattr(model, "feature_names_in_", None)
    known = None if names is None else tuple(names.tolist())
    _require(known == model.encoder_.feature_names, "feature_names_in_ are not the names of the columns")
    _require(np.isfinite(model.variant_.read(np.full((1, model.n_features_in_), np.nan))[0]).all(), "no proper answer")
    model._check_parameters()


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(what)
