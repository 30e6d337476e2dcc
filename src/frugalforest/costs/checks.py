"""Validation at the door of the price list: names, numbers, and which features are meant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.costs.ticks import Money


def names_and_values(costs: Any) -> tuple[tuple[str, ...] | None, Money]:
    """Costs as numbers, and the names they came with: keys of a dict, or the index of a Series unless it counts."""
    names = None
    if isinstance(costs, Mapping):
        names, costs = check_names(costs, "the keys of costs"), list(costs.values())
    elif hasattr(costs, "iloc") and type(costs.index).__name__ != "RangeIndex":
        names = check_names(costs.index, "the index of costs")
    values = as_numbers(costs, "costs")
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"costs must be a list with one number for each feature, got shape {values.shape}.")
    return names, values


def as_numbers(values: Any, what: str) -> Money:
    """Values as float64; a copy."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        way_out = "an array, dict or Series will do, and FeatureCosts.from_csv reads a file"
        raise TypeError(f"{what} must be numbers, got {values!r:.80}; {way_out}.") from None


def check_names(names: Iterable[Any], what: str) -> tuple[str, ...]:
    """Names as a tuple of strings, each of them once."""
    found = () if isinstance(names, str) else tuple(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"{what} must be a list of strings, got {names!r:.80}; use str(name), or costs by position.")
    twice = [name for name, n in Counter(found).items() if n > 1]
    if twice:
        raise ValueError(f"{what} has duplicates: {listed(twice)}; give each feature one name of its own.")
    return tuple(map(str, found))


def check_prices(prices: Money, labels: Sequence[str | int], what: str) -> None:
    """Refuse prices that are negative, NaN or infinite."""
    wrong = [f"{label} = {p:g}" for label, p in zip(labels, prices.tolist(), strict=True) if not 0 <= p < math.inf]
    if wrong:
        raise ValueError(f"{what} must be finite and >= 0, got {listed(wrong)}; 0 is legal and means free.")


def positions_of(wanted: tuple[str, ...], have: tuple[str, ...], owner: str) -> NDArray[np.intp]:
    """Where each wanted name is in `have`; both must hold the same names."""
    position = {name: i for i, name in enumerate(have)}
    missing = [name for name in wanted if name not in position]
    unknown = sorted(position.keys() - set(wanted), key=position.__getitem__)
    if not missing and not unknown:
        return np.array([position[name] for name in wanted], dtype=np.intp)
    what = f"feature_costs has {len(have)} entries but {owner} has {len(wanted)} columns"
    if len(have) == len(wanted):
        what = f"feature_costs and {owner} name different features"
    lists = [f"; missing: {listed(missing)}"] * bool(missing) + [f"; unknown: {listed(unknown)}"] * bool(unknown)
    ways = ["Add costs for the missing ones."] * bool(missing)
    ways += ["Drop the unknown ones (costs.subset(columns) does)."] * bool(unknown)
    raise ValueError(f"{what}{''.join(lists)}. {' '.join(ways)}")


def as_array(features: Any) -> NDArray[Any]:
    """Features in any form as an array: one of names becomes an array of objects."""
    if hasattr(features, "dtype"):
        array = np.asarray(features)
        return array[None] if array.ndim == 0 else array
    if not isinstance(features, Iterable | int):
        raise TypeError(f"features are names, positions or a boolean mask, got {features!r:.80}.")
    items = [features] if isinstance(features, str | int) else list(features)
    return np.array(items, dtype=object if any(isinstance(item, str) for item in items) else None)


def listed(items: Iterable[object]) -> str:
    """Items for a message: a, b, c."""
    return ", ".join(map(str, items))
