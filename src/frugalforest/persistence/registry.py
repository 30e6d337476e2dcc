"""Which classes a model file may hold, under which names, and how each is taken apart and put together again."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Protocol, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator

from frugalforest.costs import FeatureCosts
from frugalforest.persistence.errors import damaged
from frugalforest.persistence.hints import fits

Parts = dict[str, Any]
Check = Callable[[Any], None]

_FITTED = re.compile(r"[a-z]\w*_")


class Way(Protocol):
    """How objects of one class become parts by name, and parts an object; parts are checked first."""

    def take_apart(self, value: Any) -> Parts:
        """The parts of an object."""

    def put_together(self, parts: Parts) -> Any:
        """An object from its parts. ValueError or TypeError unless they are sound."""


_names: dict[type, str] = {}
_ways: dict[str, Way] = {}


def register(cls: type, *, name: str | None = None, check: Check | None = None, way: Way | None = None) -> None:
    """Let model files hold objects of this class (not of its subclasses).

    A dataclass is stored by its fields, an estimator by its parameters and what `fit` has set (attributes that end in
    "_"). Stored parts must be what the type hints of the class say, and `check` may raise ValueError for what hints
    cannot say. Any other class brings its own way.

    `name` is what files call the class, by default its own name. It stays when the class is renamed; a part that is
    added later needs a default, so that old files, which lack it, can be read.
    """
    name = name or cls.__name__
    if cls in _names or name in _ways:
        raise ValueError(f"{cls.__name__} is registered already, or the name {name!r} is taken.")
    _ways[name] = way or _usual_way(cls, check or _accept)
    _names[cls] = name


def name_of(cls: type) -> str | None:
    """What files call this very class, or None if they do not hold it."""
    return _names.get(cls)


def way_of(name: str) -> Way:
    """How the class that files call so is stored."""
    if name not in _ways:
        raise damaged(f"it holds a {name!r:.40}, or a newer frugalforest wrote it")
    return _ways[name]


def _accept(_: object) -> None:
    """The check of a class that needs none."""


def _usual_way(cls: Any, check: Check) -> Way:
    if is_dataclass(cls):
        return _ByFields(cls, check)
    if issubclass(cls, BaseEstimator):
        return _ByState(cls, check)
    raise TypeError(f"{cls.__name__} is neither a dataclass nor an estimator; give a way to store it.")


class _ByFields:
    """The way of dataclasses. Fields that begin with "_" are left out."""

    def __init__(self, cls: Any, check: Check) -> None:
        public = [f for f in fields(cls) if not f.name.startswith("_")]
        hints = get_type_hints(cls)
        self._cls, self._check = cls, check
        self._hints = {f.name: hints[f.name] for f in public}
        self._required = {f.name for f in public if f.default is MISSING and f.default_factory is MISSING}

    def take_apart(self, value: Any) -> Parts:
        return {name: getattr(value, name) for name in self._hints}

    def put_together(self, parts: Parts) -> Any:
        _check_parts(parts, self._hints, self._cls)
        if missing := self._required - parts.keys():
            raise damaged(f"a {self._cls.__name__} has no {', '.join(sorted(missing))}")
        value = self._cls(**parts)
        self._check(value)
        return value


class _ByState:
    """The way of estimators: parameters, which the model checks itself, and what `fit` has set."""

    def __init__(self, cls: Any, check: Check) -> None:
        hints = get_type_hints(cls)
        self._cls, self._check = cls, check
        self._parameters = set(inspect.signature(cls).parameters)
        self._hints = {name: hint for name, hint in hints.items() if _FITTED.fullmatch(name) and not hasattr(cls, name)}

    def take_apart(self, model: Any) -> Parts:
        given = model.get_params(deep=False)
        if hasattr(given.get("feature_costs"), "iloc"):  # a Series: only here is known what its index means
            given["feature_costs"] = FeatureCosts(given["feature_costs"])
        fitted = {name: value for name, value in vars(model).items() if name not in given and _FITTED.fullmatch(name)}
        if unknown := fitted.keys() - self._hints.keys():
            raise TypeError(f"{self._cls.__name__} has no type hints for {', '.join(sorted(unknown))}; add them.")
        return {**given, **fitted}

    def put_together(self, parts: Parts) -> Any:
        given = {name: value for name, value in parts.items() if name in self._parameters}
        fitted = {name: value for name, value in parts.items() if name not in self._parameters}
        _check_parts(fitted, self._hints, self._cls)
        model = self._cls(**given)
        vars(model).update(fitted)
        # One that is not fitted may be the parameter of another.
        if fitted or (hasattr(model, "__sklearn_is_fitted__") and model.__sklearn_is_fitted__()):
            self._check(model)
        return model


def _check_parts(parts: Parts, hints: Mapping[str, Any], cls: type) -> None:
    for name, value in parts.items():
        if name not in hints:
            raise damaged(f"a {cls.__name__} has a part {name!r:.40}, or a newer frugalforest wrote it")
        if not fits(value, hints[name]):
            what = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            raise damaged(f"{name} of a {cls.__name__} is {what}")
