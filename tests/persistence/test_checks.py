"""Contents that are no model, under a checksum that fits: refused when loading, not when predicting."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

import frugalforest as ff
from frugalforest.forest import Forest
from frugalforest.persistence import ModelFileError, load
from frugalforest.persistence.archive import write_archive
from frugalforest.persistence.codec import encode
from persistence.models import case


def load_changed(name, change, path):
    """Change a copy of a model, write it without any check, and load it."""
    model = copy.deepcopy(case(name).model)
    change(model)
    write_archive(path, encode(model))
    return load(path)


def refused(name, change, what, tmp_path):
    with pytest.raises(ModelFileError, match=f"it is damaged: .*{what}"):
        load_changed(name, change, tmp_path / "model.ff")


def test_a_model_that_was_not_changed_is_loaded(tmp_path):
    for name in ("budget", "standard", "scores"):
        load_changed(name, lambda model: None, tmp_path / f"{name}.ff")


# ---- trees


def edited(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def first_inner(forest: Forest) -> int:
    """A node with splits below both of its sides."""
    inner = np.flatnonzero(forest.feature >= 0)
    return int(next(i for i in inner if forest.feature[i + 1] >= 0))


def first_leaf(forest: Forest) -> int:
    return int(np.flatnonzero(forest.feature < 0)[0])


def categorical_node(forest: Forest) -> int:
    return int(np.flatnonzero(forest.category_set >= 0)[0])


def numeric_node(forest: Forest) -> int:
    return int(np.flatnonzero((forest.category_set < 0) & (forest.feature >= 0))[0])


def crossed(forest: Forest) -> dict:
    """Two nodes that are siblings of each other's children: every walk ends, but no subtree is in one piece."""
    root = first_inner(forest)
    right = forest.right.copy()
    right[[root, root + 1]] = right[[root + 1, root]]
    return {"right": right}


FORESTS = {
    "no features": (lambda f: {"n_features": 0}, "a forest of 0 features"),
    "too many features": (lambda f: {"n_features": 2**20}, "features"),
    "fewer features": (lambda f: {"n_features": 2}, "Router: a node reads a feature that does not exist"),
    "more features": (lambda f: {"n_features": 5}, "trees and model have different features"),
    "too few nodes": (lambda f: {"right": f.right[:-1]}, "right has shape"),
    "a matrix of nodes": (lambda f: {"threshold": f.threshold[None]}, "threshold has shape"),
    "another type": (lambda f: {"feature": f.feature.astype(np.int64)}, "feature of a Forest is an array of int64"),
    "no offsets": (lambda f: {"node_offsets": f.node_offsets[:0], "leaf_offsets": f.leaf_offsets[:0]}, "follow"),
    "one offset less": (lambda f: {"node_offsets": f.node_offsets[:-1]}, "offsets has shape"),
    "offsets from 1": (lambda f: {"node_offsets": edited(f.node_offsets, 0, 1)}, "do not follow each other"),
    "offsets too far": (lambda f: {"node_offsets": edited(f.node_offsets, -1, 2**62)}, "do not follow each other"),
    "negative offsets": (lambda f: {"node_offsets": edited(f.node_offsets, 1, -(2**63))}, "do not follow each other"),
    "an empty tree": (lambda f: {"leaf_offsets": edited(f.leaf_offsets, 1, 0)}, "do not follow each other"),
    "a leaf of another tree": (lambda f: {"leaf_offsets": edited(f.leaf_offsets, 1, 1)}, "a leaf of another tree"),
    "a leaf that does not exist": (
        lambda f: {"right": edited(f.right, first_leaf(f), 2**30)},
        "a leaf of another tree",
    ),
    "a negative leaf": (lambda f: {"right": edited(f.right, first_leaf(f), -1)}, "a leaf of another tree"),
    "a leaf twice": (lambda f: {"right": edited(f.right, first_leaf(f), 1)}, "a leaf that no node, or more than one"),
    "leaves without counts": (lambda f: {"leaf_counts": f.leaf_counts[:, 0]}, "leaf_counts has 1 dimensions"),
    "a count that is none": (lambda f: {"leaf_counts": edited(f.leaf_counts, 0, np.nan)}, "impossible counts"),
    "an infinite count": (lambda f: {"leaf_counts": edited(f.leaf_counts, 0, np.inf)}, "impossible counts"),
    "a negative count": (lambda f: {"leaf_counts": edited(f.leaf_counts, 0, -1)}, "impossible counts"),
    "counts that overflow": (lambda f: {"leaf_counts": f.leaf_counts + 1e308}, "impossible counts"),
    "one class less": (lambda f: {"leaf_counts": f.leaf_counts[:, 1:]}, "trees and model have different classes"),
    "both sides": (lambda f: {"missing_left": f.missing_left + 2}, "neither left nor right"),
    "a child before": (lambda f: {"right": edited(f.right, first_inner(f), 0)}, "Router: .* not in its tree"),
    "a child far away": (lambda f: {"right": edited(f.right, 0, 2**31 - 1)}, "Router: .* not in its tree"),
    "a negative child": (lambda f: {"right": edited(f.right, 0, -(2**31))}, "Router: .* not in its tree"),
    "a child of the next tree": (
        lambda f: {"right": edited(f.right, 0, int(f.node_offsets[1]))},
        "Router: .* not in its tree",
    ),
    "crossed subtrees": (crossed, "nodes out of order"),
    "a leaf instead of a split": (
        lambda f: {"feature": edited(f.feature, first_inner(f), -1)},
        "a leaf of another tree|a leaf that no node",
    ),
    "another feature": (lambda f: {"feature": edited(f.feature, 0, 2**31 - 1)}, "Router: a node reads a feature"),
    "a threshold that is none": (
        lambda f: {"threshold": edited(f.threshold, numeric_node(f), np.nan)},
        "Router: a threshold that is not a number",
    ),
    "a set that does not exist": (
        lambda f: {"category_set": edited(f.category_set, categorical_node(f), len(f.category_sets))},
        "Router: a set of categories that does not exist",
    ),
    "numbers and categories": (
        lambda f: {"category_set": edited(f.category_set, numeric_node(f), 0)},
        "Router: a feature that is numeric and categorical",
    ),
    "sets in a row": (lambda f: {"category_sets": f.category_sets.ravel()}, "category_sets has 1 dimensions"),
}


@pytest.mark.parametrize("where", ["standard", "budget"])
@pytest.mark.parametrize(("change", "what"), FORESTS.values(), ids=FORESTS)
def test_trees_that_are_none(change, what, where, tmp_path):
    def change_forest(model):
        if where == "standard":
            model.forest_ = replace(model.forest_, **change(model.forest_), _cache={})
        else:  # in a forest that prediction does not use
            other = next(i for i, v in enumerate(model.variants_) if v.recipe.impurity != model.impurity_)
            forest = model.variants_[other].forest
            changed = replace(model.variants_[other], forest=replace(forest, **change(forest), _cache={}))
            model.variants_ = (*model.variants_[:other], changed, *model.variants_[other + 1 :])

    refused(where, change_forest, what, tmp_path)


def test_more_nodes_and_features_than_fit_into_memory_are_refused_before_any_table_is_made(tmp_path):
    n_trees = 40_000
    forest = Forest(
        n_features=2**20 - 1,
        node_offsets=np.arange(n_trees + 1),
        leaf_offsets=np.arange(n_trees + 1),
        feature=np.full(n_trees, -1, np.int32),
        threshold=np.zeros(n_trees),
        missing_left=np.zeros(n_trees, np.uint8),
        right=np.arange(n_trees, dtype=np.int32),
        category_set=np.full(n_trees, -1, np.int32),
        category_sets=np.zeros((0, 4), np.uint64),
        leaf_counts=np.ones((n_trees, 3)),
    )
    refused("standard", lambda m: setattr(m, "forest_", forest), "too many nodes for so many features", tmp_path)


# ---- everything else, by the path to what is changed


def set_part(path, **changes):
    """A function that replaces parts of the dataclass at this attribute."""
    return lambda model: setattr(model, path, replace(getattr(model, path), **changes))


def set_order(order=None, **changes):
    """A function that gives a model on demand an order that it would not take itself."""

    def change(model):
        acquirer, given = model._acquirer(), copy.copy(order or model.order)
        if changes:
            vars(given).update(changes)
        vars(model).update(order=given, _acquirer=lambda: acquirer)

    return change


def set_attribute(**changes):
    return lambda model: vars(model).update(changes)


def without(name):
    return lambda model: delattr(model, name)


def set_variant(**changes):
    return lambda m: setattr(m, "variants_", (replace(m.variants_[0], **changes), *m.variants_[1:]))


NAN = float("nan")
CHANGES = {
    "no classes": ("standard", without("classes_"), "there is no classes_"),
    "no forest": ("standard", without("forest_"), "no attribute 'forest_'"),
    "no prior": ("budget", without("class_prior_"), "there is no class_prior_"),
    "no curve": ("budget", without("curve_"), "there is no curve_"),
    "one class": ("standard", set_attribute(classes_=np.array([1])), "classes are not a list of two or more"),
    "a matrix of classes": ("standard", set_attribute(classes_=np.eye(2)), "classes are not a list"),
    "a class twice": ("standard", set_attribute(classes_=np.array([0, 1, 1, 2])), "no label of its own"),
    "a class without label": ("standard", set_attribute(classes_=np.array([0, 1, 2, NAN])), "no label of its own"),
    "a class too many": ("standard", set_attribute(classes_=np.arange(5)), "trees and model have different classes"),
    "a prior too short": ("standard", set_attribute(class_prior_=np.ones(2)), r"class_prior_ has shape \(2,\)"),
    "a prior that is none": ("standard", set_attribute(class_prior_=np.full(4, NAN)), "impossible shares"),
    "another number of features": ("standard", set_attribute(n_features_in_=5), "different features"),
    "costs of others": ("standard", set_attribute(feature_costs_=ff.FeatureCosts([1, 2])), "different features"),
    "names of others": (
        "budget",
        set_attribute(feature_names_in_=np.array(["a", "b", "c"], dtype=object)),
        "feature_names_in_ are not the names of the columns",
    ),
    "names where there are none": (
        "standard",
        set_attribute(feature_names_in_=np.array(list("abcd"), dtype=object)),
        "feature_names_in_ are not the names of the columns",
    ),
    "a parameter of another kind": ("standard", set_attribute(n_estimators="many"), "n_estimators is 'many'"),
    "another vote": ("budget", set_attribute(voting="loud"), "voting is 'loud'"),
    "threads without end": ("standard", set_attribute(n_jobs=2**70), "incompatible function arguments"),
    "a bool for an encoder": ("standard", set_attribute(encoder_=True), "encoder_ of a StandardForest.* is a bool"),
    # encoders
    "other columns": ("standard", set_part("encoder_", n_features=3), "has_other has shape"),
    "a name twice": ("budget", set_part("encoder_", feature_names=("age", "age", "smoker")), "names do not fit"),
    "a name less": ("budget", set_part("encoder_", feature_names=("age", "smoker")), "names do not fit"),
    "categories of column 9": ("budget", set_part("encoder_", categories={9: ("a",)}), "column that does not exist"),
    "a category twice": ("budget", set_part("encoder_", categories={2: ("a", "b", "a")}), "a category comes twice"),
    "a missing category": ("budget", set_part("encoder_", categories={2: ("a", NAN)}), "a category is missing"),
    "a category of another kind": ("budget", set_part("encoder_", categories={2: ("a", None)}), "is a dict"),
    "65,001 categories": ("budget", set_part("encoder_", categories={2: tuple(range(65_001))}), "too many categories"),
    "categories that hash alike": (
        "budget",
        set_part("encoder_", categories={2: tuple(i * (2**61 - 1) for i in range(1, 10_002))}),
        "too many keys or categories that are neither text nor small numbers",
    ),
    "255 and others": (
        "budget",
        set_part("encoder_", categories={2: tuple(range(255))}, has_other=np.array([False, False, True])),
        "too many categories",
    ),
    "a number with others": (
        "budget",
        set_part("encoder_", has_other=np.array([True, False, False])),
        "numeric column",
    ),
    # curves and variants
    "a shorter column": ("budget", set_part("curve_", error=np.zeros(1)), r"error has shape \(1,\)"),
    "a point of no forest": (
        "budget",
        lambda m: setattr(m, "curve_", replace(m.curve_, variant=m.curve_.variant + 4)),
        "a point of a forest that does not exist",
    ),
    "a negative point": (
        "budget",
        lambda m: setattr(m, "curve_", replace(m.curve_, variant=m.curve_.variant - 1)),
        "a point of a forest that does not exist",
    ),
    "a point without trees": (
        "budget",
        lambda m: setattr(m, "curve_", replace(m.curve_, n_trees=m.curve_.n_trees - 1)),
        "a point of a forest that does not exist",
    ),
    "a point of more trees": (
        "budget",
        lambda m: setattr(m, "curve_", replace(m.curve_, n_trees=m.curve_.n_trees + 99)),
        "a point with more trees than there are",
    ),
    "a curve that is not finite": (
        "budget",
        lambda m: setattr(m, "curve_", replace(m.curve_, cost=m.curve_.cost * NAN)),
        "points that are not finite",
    ),
    "no total": ("budget", set_part("curve_", total_cost=NAN), "without a total or a baseline"),
    "curves of other forests": ("budget", set_part("curve_", variants=tuple(range(9))), "a curve of other forests"),
    "no variants": ("budget", set_attribute(variants_=()), "a curve of other forests"),
    "neither variants nor points": (
        "budget",
        lambda m: vars(m).update(variants_=(), curve_=replace(m.curve_.take(np.zeros(0, np.intp)), variants=())),
        "a curve of other forests",
    ),
    "an unknown budget": ("budget", set_attribute(max_budget_=NAN), "the largest budget is not a number"),
    "a seed less": ("budget", set_variant(seeds=np.zeros(0, np.uint64)), "seeds has shape"),
    "an error that is none": (
        "budget",
        set_variant(error=np.full(4, NAN)),
        "without a cost or an error|error has shape",
    ),
    "a negative cost": ("budget", set_variant(least_cost=-1.0), "a negative cost"),
    "a cost that is none": ("budget", set_variant(least_cost=NAN), "a negative cost"),
    # ensembles
    "a value less": ("scores", set_part("ensemble_", values=np.zeros((1, 2))), "values has shape"),
    "a base less": ("scores", set_part("ensemble_", base=np.zeros(1)), "base has shape"),
    "a base that is none": ("scores", set_part("ensemble_", base=np.full(2, NAN)), "scores that are not finite"),
    "scores that overflow": ("scores", set_part("ensemble_", base=np.full(2, 1e38)), "scores that are not finite"),
    "trees with other columns": (
        "boosting",
        lambda m: setattr(
            m, "ensemble_", replace(m.ensemble_, encoder=replace(m.encoder_, feature_names=("", "glucose", "smoker")))
        ),
        "different columns",
    ),
    "a flat sigmoid": ("scores", set_part("ensemble_", slope=0.0), "a sigmoid that is flat"),
    "a sigmoid that falls": ("scores", set_part("ensemble_", slope=-1.0), "a sigmoid that is flat"),
    "a divisor that is none": ("scores", set_part("ensemble_", divisor=NAN), "a sigmoid that is flat"),
    "votes that do not add up": (
        "on demand",
        lambda m: setattr(m, "estimator", replace(m.estimator, values=m.estimator.values * 1.01)),
        "leaves whose shares of classes do not add up",
    ),
    "votes against": (
        "on demand",
        lambda m: setattr(m, "estimator", replace(m.estimator, values=m.estimator.values * 3 - 1)),
        "leaves whose shares of classes do not add up",
    ),
    "a start that is no share": (
        "on demand",
        lambda m: setattr(m, "estimator", replace(m.estimator, base=np.array([-1.0, 0.0, 0.0]))),
        "impossible shares",
    ),
    "an endless search": ("on demand", set_part("order", boxes=2**30), "takes too many steps"),
    "an order without weights": ("on demand", set_order(hope=NAN), "hope=nan is no finite number"),
    "an order by name": ("on demand", set_order("score"), "an order that is none"),
    "a missing value out of range": (
        "scores",
        lambda m: setattr(
            m, "ensemble_", replace(m.ensemble_, reading=replace(m.ensemble_.reading, missing_value=1e300))
        ),
        "numbers out of range",
    ),
    "another link": ("scores", set_part("ensemble_", link="probit"), "link of a Ensemble is a str"),
    "zeros of column 9": (
        "scores",
        lambda m: setattr(
            m, "ensemble_", replace(m.ensemble_, reading=replace(m.ensemble_.reading, zero_is_missing=(9,)))
        ),
        "reading names a feature that does not exist",
    ),
    "an encoder of other columns": (
        "scores",
        lambda m: setattr(m, "ensemble_", replace(m.ensemble_, encoder=case("standard").model.encoder_)),
        "encoder and forest have different features",
    ),
    "three classes in a sigmoid": (
        "scores",
        lambda m: setattr(
            m,
            "ensemble_",
            replace(
                m.ensemble_,
                classes=np.arange(3),
                base=np.zeros(3),
                values=np.zeros((m.ensemble_.forest.n_leaves, 3)),
            ),
        ),
        "a sigmoid for more than two classes",
    ),
    "scores of other classes": (
        "scores",
        lambda m: setattr(
            m,
            "ensemble_",
            replace(
                m.ensemble_,
                link="softmax",
                classes=np.arange(3),
                base=np.zeros(3),
                values=np.zeros((m.ensemble_.forest.n_leaves, 3)),
            ),
        ),
        "leaf_counts and classes do not fit",
    ),
}


@pytest.mark.parametrize(("name", "change", "what"), CHANGES.values(), ids=CHANGES)
def test_parts_that_do_not_fit(name, change, what, tmp_path):
    refused(name, change, what, tmp_path)


def test_files_that_hold_something_else_than_a_model(tmp_path):
    write_archive(tmp_path / "costs.ff", encode(ff.FeatureCosts([1])))
    with pytest.raises(ModelFileError, match=r"it holds a FeatureCosts, which is not a model\."):
        load(tmp_path / "costs.ff")


def test_groups_times_features_are_limited(tmp_path):
    groups = {f"g{i}": ff.Group((i,), 1) for i in range(6000)}
    costs = ff.FeatureCosts(np.ones(6000), groups=groups)
    refused("standard", set_attribute(feature_costs=costs), "too many groups for so many features", tmp_path)
