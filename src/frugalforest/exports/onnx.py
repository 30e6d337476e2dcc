"""Ensembles as ONNX models: one TreeEnsemble (ai.onnx.ml 5) finds the leaves, standard operators do the arithmetic.

A leaf of that operator adds one number to one target, so a leaf with a value for every class would take a tree for
each. Ours has a target for each tree, and the number is that of the leaf; a Scan over the trees then adds up the values
of the leaves in tree order, so that every sum rounds as ours does and labels agree even where classes are tied. With 5
classes and 500 trees the file is half as large as with a tree for each class, and many rows take a third of the time.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs import FeatureCosts
from frugalforest.ensemble import ZERO, Ensemble, Reading
from frugalforest.exports.description import description
from frugalforest.exports.extras import load
from frugalforest.exports.trees import CategorySplits, with_a_tree
from frugalforest.forest import Floats, Forest

OPSETS = {"": 18, "ai.onnx.ml": 5}
IR_VERSION = 10
BRANCH_LEQ, BRANCH_MEMBER = 0, 6  # modes of a TreeEnsemble node
DOC = (
    "X is the matrix of numbers that frugalforest makes of a table: numbers as they are, categories as their numbers, "
    "NaN where a value is missing. The metadata property 'frugalforest' has the names, categories and prices as JSON."
)

Ids = NDArray[np.int64]


def to_onnx(
    ensemble: Ensemble, path: str | os.PathLike[str] | None = None, *, feature_costs: FeatureCosts | None = None
) -> Any:
    """The ensemble as an ONNX model with the same labels, returned as a ModelProto and written to `path` if given.

    input    X              float64 (n_rows, n_features): the encoded matrix
    outputs  label          (n_rows,): of the type of the classes
             probabilities  float64 (n_rows, n_classes)

    The metadata property "frugalforest" says in JSON what the numbers mean: names, categories, classes, and the prices
    of `feature_costs`. Needs a runtime for ai.onnx.ml 5: onnxruntime from 1.23 on (1.21 and 1.22 crash on large sets of
    categories).
    """
    onnx = load("onnx")
    classes = _class_tensor(ensemble.classes)
    properties = {"frugalforest": json.dumps(description(ensemble, feature_costs), default=str)}
    ensemble = with_a_tree(ensemble)

    graph = _Graph(onnx)
    rows = _rows(graph, ensemble.reading, ensemble.n_features)
    scores = _scores(graph, _leaves(graph, rows, ensemble), ensemble)
    probabilities = _probabilities(graph, scores, ensemble)
    winners = scores if ensemble.labels_by == "score" else probabilities
    number = graph.add("ArgMax", winners, axis=1, keepdims=0, select_last_index=int(ensemble.ties_to_last))
    graph.add("Gather", graph.constant(classes), number, name="label")
    graph.add("Identity", probabilities, name="probabilities")

    model = graph.model(ensemble, classes.dtype)
    onnx.helper.set_model_props(model, properties)
    if path is not None:
        onnx.save_model(model, os.fspath(path))
    return model


def _class_tensor(classes: NDArray[Any]) -> NDArray[Any]:
    if classes.dtype.kind in "biuf" and classes.dtype.itemsize <= 8:
        return classes
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(object)
    raise TypeError(
        f"ONNX has no type for classes such as {classes[0]!r}; fit the model on labels that are numbers or text."
    )


class _Graph:
    """Nodes and constants of a graph in the order they were added, each under a name of its own."""

    def __init__(self, onnx: Any, prefix: str = "") -> None:
        self.onnx = onnx
        self.prefix = prefix
        self.types = onnx.TensorProto
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: NDArray[Any] | np.generic) -> str:
        name = f"{self.prefix}constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operator: str, *inputs: str, name: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add a node -> the name of its output."""
        output = name or f"{self.prefix}{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def tensor(self, values: NDArray[Any]) -> Any:
        """An array as the value of an attribute."""
        return self.onnx.numpy_helper.from_array(np.ascontiguousarray(values))

    def value(self, name: str, dtype: np.dtype[Any], *shape: int | str) -> Any:
        """An input or an output, by name; a dimension without a number of its own has a name."""
        return self.onnx.helper.make_tensor_value_info(name, self.onnx.helper.np_dtype_to_tensor_dtype(dtype), shape)

    def model(self, ensemble: Ensemble, label_type: np.dtype[Any]) -> Any:
        numbers = np.dtype(np.float64)
        graph = self.onnx.helper.make_graph(
            self.nodes,
            "frugalforest",
            [self.value("X", numbers, "n_rows", ensemble.n_features)],
            [
                self.value("label", label_type, "n_rows"),
                self.value("probabilities", numbers, "n_rows", ensemble.n_classes),
            ],
            self.constants,
            doc_string=DOC,
        )
        opsets = [self.onnx.helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        return self.onnx.helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="frugalforest"
        )


# ---- reading


def _rows(graph: _Graph, reading: Reading, n_features: int) -> str:
    """X as it is compared; the steps are those of `Reading`, in its order."""
    rows = "X"
    number = np.float32 if reading.as_float32 else np.float64
    if reading.as_float32:
        rounded = graph.add("Cast", rows, to=graph.types.FLOAT)
        rows = graph.add("Cast", rounded, to=graph.types.DOUBLE)
    if reading.missing_value is not None:
        missing = graph.constant(np.float64(number(reading.missing_value)))
        rows = _replaced(graph, rows, graph.add("Equal", rows, missing), np.nan)
    if reading.zero_is_missing:
        near_zero = graph.add("LessOrEqual", graph.add("Abs", rows), graph.constant(np.float64(ZERO)))
        is_zero = graph.add("And", near_zero, _columns(graph, reading.zero_is_missing, n_features))
        rows = _replaced(graph, rows, is_zero, np.nan)
    if reading.categories:
        rows = _whole_categories(graph, rows, reading, n_features)
    return rows


def _whole_categories(graph: _Graph, rows: str, reading: Reading, n_features: int) -> str:
    columns = _columns(graph, reading.categories, n_features)
    zero = graph.constant(np.float64(0))
    if reading.other_category is not None:
        beyond = graph.add("Greater", rows, graph.constant(np.float64(reading.other_category)))
        outside = graph.add("Or", graph.add("Less", rows, zero), beyond)
        rows = _replaced(graph, rows, graph.add("And", outside, columns), reading.other_category)
    negative = graph.add("Less", rows, zero)
    whole = graph.add("Where", negative, graph.add("Ceil", rows), graph.add("Floor", rows))
    return graph.add("Where", columns, whole, rows)


def _columns(graph: _Graph, features: tuple[int, ...], n_features: int) -> str:
    mask = np.zeros(n_features, dtype=bool)
    mask[list(features)] = True
    return graph.constant(mask)


def _replaced(graph: _Graph, rows: str, where: str, value: float) -> str:
    return graph.add("Where", where, graph.constant(np.float64(value)), rows)


# ---- trees


class _Nodes(NamedTuple):
    """Inner nodes as TreeEnsemble wants them, one behind the other; a leaf is a row of `leaf`."""

    feature: Ids
    threshold: Floats
    mode: NDArray[np.uint8]
    missing_true: Ids
    members: Floats  # of all sets of categories, NaN behind each
    true: Ids  # position of the child: a node, or a leaf where true_is_leaf
    true_is_leaf: Ids
    false: Ids
    false_is_leaf: Ids
    root: Ids  # (n_trees,)
    leaf: Ids  # number of each leaf in the forest; some are there twice


def _leaves(graph: _Graph, rows: str, ensemble: Ensemble) -> str:
    """The number of the leaf that each row reaches in each tree, int64 (n_rows, n_trees)."""
    nodes = _without_ambiguous_roots(_nodes(ensemble))
    tree_of_leaf = np.searchsorted(ensemble.forest.leaf_offsets, nodes.leaf, side="right") - 1
    sets = {"membership_values": graph.tensor(nodes.members)} if len(nodes.members) else {}
    reached = graph.add(
        "TreeEnsemble",
        rows,
        domain="ai.onnx.ml",
        n_targets=ensemble.forest.n_trees,
        tree_roots=nodes.root.tolist(),
        nodes_featureids=nodes.feature.tolist(),
        nodes_modes=graph.tensor(nodes.mode),
        nodes_splits=graph.tensor(nodes.threshold),
        nodes_missing_value_tracks_true=nodes.missing_true.tolist(),
        nodes_truenodeids=nodes.true.tolist(),
        nodes_trueleafs=nodes.true_is_leaf.tolist(),
        nodes_falsenodeids=nodes.false.tolist(),
        nodes_falseleafs=nodes.false_is_leaf.tolist(),
        leaf_weights=graph.tensor(nodes.leaf.astype(np.float64)),
        leaf_targetids=tree_of_leaf.tolist(),
        **sets,
    )
    return graph.add("Cast", reached, to=graph.types.INT64)


def _nodes(ensemble: Ensemble) -> _Nodes:
    forest = ensemble.forest
    inner = np.flatnonzero(forest.feature >= 0)
    is_set = forest.category_set[inner] >= 0
    missing_left = forest.missing_left[inner].astype(bool)
    # A set names the categories that part from the missing values, so that NaN, which is in no set, goes to "false".
    swapped = is_set & missing_left
    members = _members(ensemble, inner[is_set])
    nowhere = is_set.copy()
    nowhere[is_set] = [len(numbers) == 0 for numbers in members]  # an empty set: onnxruntime would look for its largest

    true, true_is_leaf = _children(forest, np.where(swapped, forest.right[inner], inner + 1))
    false, false_is_leaf = _children(forest, np.where(swapped, inner + 1, forest.right[inner]))
    nodes = _Nodes(
        feature=forest.feature[inner].astype(np.int64),
        threshold=np.where(nowhere, -np.inf, np.where(is_set, 0.0, forest.threshold[inner])),
        mode=np.where(is_set & ~nowhere, BRANCH_MEMBER, BRANCH_LEQ).astype(np.uint8),
        missing_true=(missing_left & ~is_set).astype(np.int64),
        members=np.concatenate([np.append(numbers, np.nan) for numbers in members if len(numbers)] or [np.zeros(0)]),
        true=true,
        true_is_leaf=true_is_leaf,
        false=false,
        false_is_leaf=false_is_leaf,
        root=_positions(forest)[forest.node_offsets[:-1]],
        leaf=np.arange(forest.n_leaves),
    )
    return _with_lone_leaves(nodes, forest)


def _members(ensemble: Ensemble, nodes: NDArray[np.intp]) -> list[Floats]:
    """For each categorical node the numbers of the categories that do not go where missing values go."""
    splits = CategorySplits.of(ensemble)
    away = (splits.left_mask(i) != bool(ensemble.forest.missing_left[i]) for i in nodes.tolist())
    return [np.flatnonzero(mask).astype(np.float64) for mask in away]


def _positions(forest: Forest) -> Ids:
    """The position of each inner node among the inner nodes, (n_nodes,)."""
    return np.cumsum(forest.feature >= 0, dtype=np.int64) - 1


def _children(forest: Forest, child: NDArray[np.integer[Any]]) -> tuple[Ids, Ids]:
    """Position and whether it is a leaf, of each child."""
    is_leaf = forest.feature[child] < 0
    return np.where(is_leaf, forest.right[child], _positions(forest)[child]), is_leaf.astype(np.int64)


def _with_lone_leaves(nodes: _Nodes, forest: Forest) -> _Nodes:
    """Trees that are a leaf become a node with this leaf on both sides.

    The leaf is listed twice: of a node with one leaf on both sides onnxruntime before 1.31 takes the wrong one.
    """
    first_nodes = forest.node_offsets[:-1]
    alone = np.flatnonzero(forest.feature[first_nodes] < 0)
    if len(alone) == 0:
        return nodes
    leaves, count = forest.right[first_nodes[alone]], len(alone)
    root = nodes.root.copy()
    root[alone] = len(nodes.feature) + np.arange(count)
    none, all_ = np.zeros(count, np.int64), np.ones(count, np.int64)
    return _Nodes(
        feature=np.append(nodes.feature, none),
        threshold=np.append(nodes.threshold, np.zeros(count)),
        mode=np.append(nodes.mode, np.full(count, BRANCH_LEQ, np.uint8)),
        missing_true=np.append(nodes.missing_true, none),
        members=nodes.members,
        true=np.append(nodes.true, leaves),
        true_is_leaf=np.append(nodes.true_is_leaf, all_),
        false=np.append(nodes.false, len(nodes.leaf) + np.arange(count)),
        false_is_leaf=np.append(nodes.false_is_leaf, all_),
        root=root,
        leaf=np.append(nodes.leaf, leaves),
    )


def _without_ambiguous_roots(nodes: _Nodes) -> _Nodes:
    """Leaves moved behind some that nobody reaches, until no root has a node and a leaf at the same position.

    onnxruntime before 1.31 takes such a root for a leaf (microsoft/onnxruntime issue 24679).
    """
    mixed = nodes.root[nodes.true_is_leaf[nodes.root] != nodes.false_is_leaf[nodes.root]]
    leaf = np.where(nodes.true_is_leaf[mixed] == 1, nodes.true[mixed], nodes.false[mixed])
    node = np.where(nodes.true_is_leaf[mixed] == 1, nodes.false[mixed], nodes.true[mixed])
    taken = set((node - leaf).tolist())
    ahead = next(i for i in range(len(taken) + 1) if i not in taken)
    return nodes._replace(
        true=nodes.true + ahead * nodes.true_is_leaf,
        false=nodes.false + ahead * nodes.false_is_leaf,
        leaf=np.append(np.zeros(ahead, np.int64), nodes.leaf),
    )


# ---- scores, probabilities


def _scores(graph: _Graph, leaves: str, ensemble: Ensemble) -> str:
    """base + values[leaf of tree 1] + values[leaf of tree 2] + ..., added in this order, (n_rows, n_classes)."""
    shape = ("n_rows", ensemble.n_classes)
    step = _Graph(graph.onnx, "step_")
    sums = step.add("Add", "sums", step.add("Gather", step.constant(ensemble.values), "leaf", axis=0))
    if ensemble.sums_as_float32:
        sums = step.add("Cast", step.add("Cast", sums, to=graph.types.FLOAT), to=graph.types.DOUBLE)
    numbers = np.dtype(np.float64)
    body = graph.onnx.helper.make_graph(
        step.nodes,
        "add_a_tree",
        [graph.value("sums", numbers, *shape), graph.value("leaf", np.dtype(np.int64), "n_rows")],
        [graph.value(sums, numbers, *shape)],
        step.constants,
    )
    base = graph.constant(ensemble.base.astype(np.float64))
    start = graph.constant(np.zeros(ensemble.n_classes)) if ensemble.base_last else base
    n_rows = graph.add("Shape", "X", end=1)
    shape_of_scores = graph.add("Concat", n_rows, graph.constant(np.array([ensemble.n_classes])), axis=0)
    started = graph.add("Expand", start, shape_of_scores)
    by_tree = graph.add("Transpose", leaves, perm=[1, 0])
    scores = graph.add("Scan", started, by_tree, body=body, num_scan_inputs=1)
    return graph.add("Add", scores, base) if ensemble.base_last else scores


def _probabilities(graph: _Graph, scores: str, ensemble: Ensemble) -> str:
    """As `Ensemble.probabilities` makes them, float64 (n_rows, n_classes)."""
    if ensemble.link == "mean":
        return graph.add("Div", scores, graph.constant(np.float64(ensemble.forest.n_trees)))
    if ensemble.sums_as_float32:
        number: type[np.floating[Any]] = np.float32
        margins = graph.add("Cast", scores, to=graph.types.FLOAT)
    else:
        number = np.float64
        averaged = graph.add("Div", scores, graph.constant(np.float64(ensemble.divisor)))
        margins = graph.add("Mul", averaged, graph.constant(np.float64(ensemble.slope)))
    if ensemble.link == "sigmoid":
        first, second = (graph.add("Gather", margins, graph.constant(np.array([c])), axis=1) for c in (0, 1))
        probability = _sigmoid(graph, graph.add("Sub", second, first), number)
        rest = graph.add("Sub", graph.constant(number(1)), probability)
        each = graph.add("Concat", rest, probability, axis=1)
    else:
        each = (_softmax if ensemble.link == "softmax" else _sigmoid)(graph, margins, number)
    return graph.add("Cast", each, to=graph.types.DOUBLE)


def _exp(graph: _Graph, exponents: str, number: type[np.floating[Any]]) -> str:
    """In double, and rounded."""
    exact = graph.add("Exp", graph.add("Cast", exponents, to=graph.types.DOUBLE))
    return graph.add("Cast", exact, to=graph.types.FLOAT) if number is np.float32 else exact


def _sigmoid(graph: _Graph, margins: str, number: type[np.floating[Any]]) -> str:
    one = graph.constant(number(1))
    return graph.add("Div", one, graph.add("Add", one, _exp(graph, graph.add("Neg", margins), number)))


def _softmax(graph: _Graph, margins: str, number: type[np.floating[Any]]) -> str:
    axis = graph.constant(np.array([1]))
    each = _exp(graph, graph.add("Sub", margins, graph.add("ReduceMax", margins, axis, keepdims=1)), number)
    total = graph.add("ReduceSum", graph.add("Cast", each, to=graph.types.DOUBLE), axis, keepdims=1)
    if number is np.float32:
        total = graph.add("Cast", total, to=graph.types.FLOAT)
    return graph.add("Div", each, total)
