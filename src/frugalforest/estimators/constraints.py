"""Monotone and interaction constraints as users write them, by name or position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.estimators.problem import Problem

SIGNS = (-1, 0, 1)


def monotone_signs(monotone_cst: Any, problem: Problem) -> NDArray[np.int8] | None:
    """+1 (rising), -1 (falling) or 0 for each feature, (n_features,); None if all are free.

    monotone_cst: one number per feature, or a dict feature -> number for those that are not free.
    """
    if monotone_cst is None:
        return None
    signs = np.zeros(problem.n_features, np.int8)
    for position, sign in _signs_by_position(monotone_cst, problem):
        if not isinstance(sign, int | np.integer) or isinstance(sign, bool) or int(sign) not in SIGNS:
            raise ValueError(
                f"monotone_cst has {sign!r} for feature {_label(problem, position)!r}; expected -1, 0 or 1."
            )
        signs[position] = sign
    if not signs.any():
        return None
    if problem.n_classes > 2:
        raise ValueError(
            f"monotone_cst needs two classes, and y has {problem.n_classes}: with more, no probability rises or falls "
            "with a score of its own. Give monotone_cst=None, or fit one class against the rest."
        )
    if (unordered := np.flatnonzero((signs != 0) & problem.encoder.is_categorical)).size:
        raise ValueError(
            f"monotone_cst names feature {_label(problem, int(unordered[0]))!r}, which is categorical: its values have "
            "no order. Give it as a number, or leave it out."
        )
    return signs


def interaction_sets(interaction_cst: Any, problem: Problem) -> NDArray[np.bool_] | None:
    """Sets of features that may share a path, (n_sets, n_features); None: all may.

    interaction_cst: a list of lists of features. Features in none of them form one more set.
    """
    if interaction_cst is None:
        return None
    if isinstance(interaction_cst, str) or not isinstance(interaction_cst, Iterable):
        raise ValueError(f"interaction_cst is {interaction_cst!r}; expected a list of lists of features, or None.")
    sets = []
    for members in interaction_cst:
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise ValueError(f"interaction_cst holds {members!r}; expected lists of features, such as [[0, 1], [2]].")
        mask = np.zeros(problem.n_features, bool)
        mask[[_position(member, problem, "interaction_cst") for member in members]] = True
        sets.append(mask)
    rest = ~np.any(sets, axis=0) if sets else np.ones(problem.n_features, bool)
    return np.array([*sets, rest] if rest.any() else sets)


def _signs_by_position(monotone_cst: Any, problem: Problem) -> list[tuple[int, Any]]:
    if isinstance(monotone_cst, Mapping):
        return [(_position(name, problem, "monotone_cst"), sign) for name, sign in monotone_cst.items()]
    if isinstance(monotone_cst, str) or not isinstance(monotone_cst, Iterable):
        raise ValueError(f"monotone_cst is {monotone_cst!r}; expected one of -1, 0, 1 per feature, a dict, or None.")
    signs = list(monotone_cst)
    if len(signs) != problem.n_features:
        raise ValueError(
            f"monotone_cst has {len(signs)} entries but X has {problem.n_features} features; give one each."
        )
    return list(enumerate(signs))


def _position(feature: Any, problem: Problem, what: str) -> int:
    names = problem.encoder.feature_names
    if isinstance(feature, str) and names is not None and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < problem.n_features:
        return int(feature)
    known = f"positions from 0 to {problem.n_features - 1}" + (
        "" if names is None else f", or names: {', '.join(names)}"
    )
    raise ValueError(f"{what} names feature {feature!r}, which X does not have; expected {known}.")


def _label(problem: Problem, position: int) -> Any:
    return problem.encoder.feature_label(int(position))
