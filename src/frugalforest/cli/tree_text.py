"""A tree as indented text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frugalforest.forest import Forest, Node


def forest_of(model: Any) -> Forest | None:
    """The trees of a model: its own, or those of the estimator or ensemble inside."""
    for part in (model, getattr(model, "estimator_", None), getattr(model, "estimator", None)):
        forest = getattr(part, "forest_", getattr(part, "forest", None))
        if isinstance(forest, Forest):
            return forest
    return None


def tree_text(model: Any, forest: Forest, number: int, depth: int) -> str:
    """One line for each question and each answer; deeper ones than `depth` are counted."""
    nodes = forest.nodes(number)
    labels = [str(label) for label in model.classes_]
    lines: list[str] = []

    def walk(place: int, indent: int, before: str) -> None:
        node = nodes[place]
        lead = "    " * indent + before
        if node.feature < 0:
            lines.append(f"{lead}{_answer(node, labels)}")
        elif indent >= depth:
            lines.append(f"{lead}... {_n_leaves(nodes, place)} answers below")
        else:
            lines.append(f"{lead}{_question(model, node)}?")
            walk(node.left, indent + 1, "yes: ")
            walk(node.right, indent + 1, "no: ")

    walk(0, 0, "")
    return "\n".join(lines)


def _question(model: Any, node: Node) -> str:
    """What a node asks."""
    position, categories = _column(model, node.feature)
    name = str(model.encoder_.feature_label(position))
    if node.left_categories is None:
        return f"{name} <= {node.threshold:.6g}{' or missing' if node.missing_left else ''}"
    names = [str(categories[c]) if c < len(categories) else "other" for c in sorted(node.left_categories)]
    return f"{name} in {', '.join(names)}{' or missing' if node.missing_left else ''}"


def _column(model: Any, feature: int) -> tuple[int, Sequence[Any]]:
    """Position and categories of a feature; those of a panel's forest are columns and category numbers of the panel."""
    panel = getattr(model, "panel_", None)
    if panel is None:
        return feature, model.encoder_.categories.get(feature, ())
    position = int(panel[feature])
    categories = model.encoder_.categories.get(position, ())
    numbers = model.estimator_.encoder_.categories.get(feature, ())
    return position, [categories[int(number)] for number in numbers if int(number) < len(categories)]


def _answer(node: Node, labels: list[str]) -> str:
    counts = node.counts or ()
    total = sum(counts)
    shares = [f"{label} {100 * count / total:.0f}%" for label, count in zip(labels, counts, strict=True) if count > 0]
    return f"{', '.join(shares)}  ({total:g} rows)" if total else "no rows"


def _n_leaves(nodes: list[Node], place: int) -> int:
    node = nodes[place]
    return 1 if node.feature < 0 else _n_leaves(nodes, node.left) + _n_leaves(nodes, node.right)
