"""The models of a stage as one ensemble of trees, which can buy its features one at a time.

A stage says softmax(slope * mean of log p + offset). Of boosters log p is the margin, up to a number that all classes
share, so the mean is the sum of all trees over the number of models. The shares of forests are averaged as they are,
and the curve then bends the mean: the label is that of the largest mean share times exp(offset / slope).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.data import FeatureEncoder
from frugalforest.ensemble import Ensemble
from frugalforest.forest import Floats, Forest
from frugalforest.importers import import_ensemble

LEAST_SHARE = 1e-6  # a class that a forest rules out is still about so probable
LARGEST_WEIGHT = 30.0  # logarithm of what the curve may weigh one class against another with
N_CODES = 256  # of categories


def joined(models: Sequence[Any], n_columns: int, slope: float, offset: Floats) -> Ensemble | None:
    """One ensemble with the answers of the stage; None if its models are not all trees that know all classes."""
    parts = [_ensemble_of(model, n_columns, len(offset)) for model in models]
    known = [part for part in parts if part is not None]
    if slope <= 0 or not known or len(known) < len(parts) or not _are_alike(known):
        return None
    together: dict[str, Any] = {
        "forest": Forest.joined([_reading_numbers(part) for part in known]),
        "classes": np.arange(len(offset)),
        "encoder": FeatureEncoder(n_columns, None, {}, np.zeros(n_columns, dtype=bool)),
        "reading": known[0].reading,
    }
    if known[0].link == "mean":
        return _of_shares(known, slope, offset, together)
    scale = [slope * part.slope / (part.divisor * len(known)) for part in known]
    values = np.concatenate([part.values * by for part, by in zip(known, scale, strict=True)])
    base = sum(part.base * by for part, by in zip(known, scale, strict=True)) + offset
    return Ensemble(values=values, base=base, link="sigmoid" if len(offset) == 2 else "softmax", **together)


def _of_shares(parts: list[Ensemble], slope: float, offset: Floats, together: dict[str, Any]) -> Ensemble | None:
    weights = offset / slope
    if np.ptp(weights) > LARGEST_WEIGHT:
        return None
    weights = np.exp(weights - weights.max())
    shares = [part.values / (part.forest.n_trees * len(parts)) for part in parts]
    values = (1 - LEAST_SHARE) * np.concatenate(shares) * weights
    return Ensemble(values=values, base=LEAST_SHARE / len(offset) * weights, link="power", slope=slope, **together)


def _ensemble_of(model: Any, n_columns: int, n_classes: int) -> Ensemble | None:
    """The trees of one model; None where a fold had too few classes, and of models that cannot be read as trees."""
    if model is None or len(model.classes_) < n_classes:
        return None
    try:
        found: Ensemble = model._acquirer().ensemble if hasattr(model, "_acquirer") else import_ensemble(model)
    except (TypeError, ValueError, NotImplementedError):  # no trees, or such as cannot be read exactly
        return None
    has_trees = found.forest.n_trees > 0 and found.n_features == n_columns
    is_own = hasattr(model, "_acquirer") and type(found.encoder) is FeatureEncoder
    reads_numbers = is_own or not found.encoder.is_categorical.any()
    return found if has_trees and reads_numbers and found.link in ("mean", "sigmoid", "softmax") else None


def _are_alike(parts: list[Ensemble]) -> bool:
    first = parts[0]
    return all(
        (part.link == "mean") == (first.link == "mean") and astuple(part.reading) == astuple(first.reading)
        for part in parts
    )


def _reading_numbers(part: Ensemble) -> Forest:
    """The forest for rows in the numbers that the model was given, not in those that it gave to their categories.

    A category that its rows did not have was missing to it, and goes where missing values go.
    """
    forest = part.forest
    at = np.flatnonzero((forest.category_set >= 0) & (forest.feature >= 0))
    if len(at) == 0:
        return forest
    own_number = {i: _own_numbers(categories) for i, categories in part.encoder.categories.items()}
    octets = forest.category_sets.astype("<u8").view(np.uint8)
    bits = np.unpackbits(octets, axis=1, bitorder="little")  # (n_sets, N_CODES)
    numbers = np.stack([own_number[int(f)] for f in forest.feature[at]])  # (n_splits, N_CODES)
    goes_left = np.take_along_axis(bits[forest.category_set[at]], np.maximum(numbers, 0), axis=1)
    goes_left = np.where(numbers >= 0, goes_left, forest.missing_left[at][:, None])
    sets = np.packbits(goes_left, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    category_set = forest.category_set.copy()
    category_set[at] = np.arange(len(at), dtype=np.int32)
    return replace(forest, category_set=category_set, category_sets=sets, _cache={})


def _own_numbers(categories: Sequence[Any]) -> NDArray[np.intp]:
    """The model's number of each number it was given, (N_CODES,); -1 of those it has not seen."""
    numbers = np.full(N_CODES, -1, dtype=np.intp)
    numbers[[int(category) for category in categories]] = np.arange(len(categories))
    return numbers
