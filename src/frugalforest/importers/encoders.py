"""How X becomes numbers, from what a fitted model of another library remembers of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.data import FeatureEncoder
from frugalforest.data.categories import Category
from frugalforest.data.columns import Column, is_missing
from frugalforest.importers.cityhash import city_hash_64


def known_columns(
    n_features: int,
    names: Sequence[str] | None,
    categories: Mapping[int, Sequence[Category]] | None = None,
    *,
    encoder: type[FeatureEncoder] = FeatureEncoder,
) -> FeatureEncoder:
    """An encoder with the model's names (None: by position) and the categories of its columns, in their order."""
    return encoder(
        n_features,
        None if names is None else tuple(str(name) for name in names),
        {position: tuple(map(_plain, values)) for position, values in (categories or {}).items()},
        np.zeros(n_features, dtype=bool),
    )


def _plain(category: object) -> Category:
    """A category as an encoder looks it up: text or a number; the intervals of pandas.cut by their text."""
    if isinstance(category, np.generic):
        category = category.item()
    if isinstance(category, str | int | float):
        return category
    if type(category).__name__ == "Interval":
        return str(category)
    raise ValueError(
        f"The model has {category!r} for a category; only text, numbers and intervals are supported. "
        "Turn such categories into text before fitting."
    )


@dataclass(frozen=True, eq=False)
class HashedCategoryEncoder(FeatureEncoder):
    """An encoder whose categories are known by the hashes of their text only, as CatBoost keeps them."""

    def _encode_column(self, column: Column, i: int) -> NDArray[Any]:
        if i in self.categories:
            items = column.tolist()
            hashes = {item: None if is_missing(item) else category_hash(item) for item in set(items)}
            column = np.array([*map(hashes.__getitem__, items), None], dtype=object)[:-1]  # objects, whatever they are
        return super()._encode_column(column, i)


@dataclass(frozen=True, eq=False)
class KnownCategoryEncoder(FeatureEncoder):
    """An encoder that refuses unknown categories, which XGBoost takes for the next known one in its own order."""

    @classmethod
    def like(cls, encoder: FeatureEncoder) -> KnownCategoryEncoder:
        """The same encoding, but for what it refuses."""
        return cls(encoder.n_features, encoder.feature_names, encoder.categories, encoder.has_other)

    def _encode_column(self, column: Column, i: int) -> NDArray[Any]:
        numbers = super()._encode_column(column, i)
        if i in self.categories and np.isnan(numbers).any():
            unseen = {item for item in column[np.isnan(numbers)].tolist() if not is_missing(item)}
            self._refuse(unseen, i)
        return numbers

    def _refuse(self, unseen: set[Any], i: int) -> None:
        if unseen:
            raise ValueError(
                f"Feature {self.feature_label(i)!r} holds categories that the model was not fitted with: "
                f"{', '.join(sorted(map(repr, unseen)))}. XGBoost would take them for others, or fail. Make them "
                "missing (None), or leave these rows out."
            )


def category_hash(value: object) -> int:
    """The 32 bits by which CatBoost tells categories apart; 1, "1", True and 1.0 are one category."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    text = value if isinstance(value, bytes) else str(value).encode()
    return city_hash_64(text) & 0xFFFFFFFF
