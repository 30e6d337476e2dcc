"""Models told apart by library and class, so that nothing has to be imported to ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

Entry = TypeVar("Entry")

# Models that let another one do all the predicting, and the attribute it is in.
_WRAPPERS = {
    ("sklearn", "FrozenEstimator"): "estimator",
    ("frugalforest", "FrugalClassifier"): "model_",
    ("frugalforest", "PreselectedClassifier"): "estimator_",
}


def entry_of(model: Any, table: Mapping[tuple[str, str], Entry]) -> Entry | None:
    """What a table by library and class has for a model, or None. Subclasses come in through their parents."""
    for parent in type(model).__mro__:
        key = parent.__module__.partition(".")[0], parent.__name__
        if key in table:
            return table[key]
    return None


def layers_of(model: Any) -> list[Any]:
    """The model, the fitted model inside if it is only a wrapper, and so on; the last one does the predicting."""
    layers = [model]
    while (inside := entry_of(layers[-1], _WRAPPERS)) is not None:
        check_is_fitted(layers[-1])
        layers.append(getattr(layers[-1], inside))
    return layers
