"""Keys that could make a dict slow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from frugalforest.persistence.errors import damaged

_MAX_SLOW_KEYS = 10_000


def refuse_slow_keys(keys: Iterable[Any]) -> None:
    """Large numbers can be chosen so that they all hash alike, and a dict of n of them takes n^2 steps."""
    n_slow = sum(not (isinstance(key, str) or (type(key) is int and abs(key) < 2**60)) for key in keys)
    if n_slow > _MAX_SLOW_KEYS:
        raise damaged("it has too many keys or categories that are neither text nor small numbers")
