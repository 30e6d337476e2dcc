"""RunBase: what every run does that buys the features of one row; how it asks, what it refuses, the books it keeps."""

from __future__ import annotations

import copy
from abc import ABCMeta, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from frugalforest.acquisition.receipt import How, Receipt, Step
from frugalforest.acquisition.run_json import (
    MAX_NOTE,
    MAX_TEXT,
    WRONG,
    Marked,
    marks_of,
    misfits_refused,
    write_run,
)
from frugalforest.acquisition.values import as_text, checked_note, one_value
from frugalforest.data import FeatureEncoder
from frugalforest.data.categories import OTHER
from frugalforest.data.columns import Label

Floats = NDArray[np.float64]

ONCE = "A run takes each value once; start another one to change it."


class RunBase(metaclass=ABCMeta):
    """Asks for which feature is next, for prices and for answers, and gives the run: questions, checks, receipt, text.

    Every value is taken once, by `provide` or `refuse`, and is one step of the receipt.
    """

    _acquirer: Marked  # by the name that those who fetch for runs know

    def __init__(self, encoder: FeatureEncoder, classes: NDArray[Any] | None) -> None:
        self._encoder = encoder
        self._classes = classes  # None: a number is predicted
        self._numbers: Floats = np.full(encoder.n_features, np.nan)  # as the model reads them
        self._values: dict[int, Any] = {}  # what was said of each feature, by position
        self._steps: list[Step] = []

    # ---- what a run has to say itself

    @abstractmethod
    def _next(self) -> int | None:
        """The position of the feature to buy now; None when the run is over."""

    @abstractmethod
    def _asks_for(self, position: int) -> bool:
        """Whether a feature that is not known is among those to buy now."""

    @abstractmethod
    def _price(self, position: int) -> float:
        """What a feature that is not known would cost now, its groups included."""

    @abstractmethod
    def _number(self, position: int, value: Any) -> float:
        """A value as the model reads it."""

    @abstractmethod
    def _learn(self, position: int, *, is_bought: bool) -> None:
        """Go on with a feature whose number is in its place now."""

    @abstractmethod
    def _stop(self) -> dict[str, Any]:
        """When the run ends, for JSON."""

    @property
    @abstractmethod
    def probabilities(self) -> Floats:
        """Class probabilities, (n_classes,): exact when the run is over, estimates before."""

    @property
    @abstractmethod
    def spent(self) -> float:
        """The bill so far."""

    # ---- asking

    def next_feature(self) -> Label | None:
        """The feature to buy now: its name, or its position if features have no names; None when the run is over."""
        position = self._next()
        return None if position is None else self._label(position)

    @property
    def next_price(self) -> float:
        """What the next feature will cost, its groups included; 0 when the run is over."""
        position = self._next()
        return 0.0 if position is None else self._price(position)

    def price(self, feature: Label) -> float:
        """What a feature would cost now, its groups included; 0 once it is known."""
        position = self._position(feature)
        return 0.0 if position in self._values else self._price(position)

    @property
    def is_over(self) -> bool:
        """Whether nothing more needs to be bought."""
        return self._next() is None

    # ---- answering

    def provide(self, feature: Label, value: Any, *, free: bool | None = None) -> None:
        """Take the value of a feature; NaN or None says that it was bought and is missing.

        What the run asks for (the feature that `next_feature` names, or any one of its stage if there are stages) is
        bought at its price, any other feature was known already and is free; `free` says it otherwise. What is free
        pays for no group, so the next member still does. The same value a second time changes nothing.

        A category that the model does not know is read as missing; the note of that step in the receipt says so.
        """
        position = self._position(feature)
        value, number = self._read(position, value)
        if position in self._values:
            self._refuse_change(position, value, number)
            return
        is_bought = self._asks_for(position) if free is None else not free
        cost = self._price(position) if is_bought else 0.0
        note = self._reading_note(position, value, number)
        self._record(position, "bought" if is_bought else "free", value, number, cost, note)

    def refuse(self, feature: Label, *, note: str | None = None) -> None:
        """Say that a feature cannot be had: it is read as missing, costs nothing, and is not asked for again.

        `note` says why, and is kept in the receipt.
        """
        position, note = self._position(feature), checked_note(note, MAX_NOTE)
        if position not in self._values:
            self._record(position, "refused", None, np.nan, 0.0, note)
        elif not self._was_refused(position):
            raise ValueError(f"{self._known_already(position)}, so it cannot be refused now. {ONCE}")

    def _record(self, position: int, how: How, value: Any, number: float, cost: float, note: str | None) -> None:
        self._values[position] = value
        self._numbers[position] = number
        try:
            self._learn(position, is_bought=how == "bought")
            odds = self._odds()
        except Exception:  # the model cannot take it: the run is as it was
            del self._values[position]
            self._numbers[position] = np.nan
            self._unlearn(position)
            raise
        self._steps.append(Step(self._label(position), how, value, cost, odds, note))

    def _unlearn(self, position: int) -> None:  # noqa: B027
        """Undo `_learn`; a run whose model takes every value never has to."""

    def _refuse_change(self, position: int, value: Any, number: float) -> None:
        if self._was_refused(position):
            raise ValueError(
                f"Feature {self._label(position)!r} was refused, and is read as missing; now it is {value!r}. {ONCE}"
            )
        if not self._is_same(position, value, number):
            raise ValueError(f"{self._known_already(position)}, now {value!r}. {ONCE}")

    def _is_same(self, position: int, value: Any, number: float) -> bool:
        """Whether this was said before. Different values may be read alike: as missing, or as "other"."""
        known = self._values[position]
        if value is None or known is None:
            return value is known
        is_read_alike = number == self._numbers[position] and not self._is_other(position, number)
        return is_read_alike or bool(value == known) or str(value) == str(known)

    def _was_refused(self, position: int) -> bool:
        return self._label(position) in self.refused

    def _known_already(self, position: int) -> str:
        return f"Feature {self._label(position)!r} is known already: {self._values[position]!r}"

    # ---- reading values

    def _read(self, position: int, value: Any) -> tuple[Any, float]:
        """What was said, None if that is nothing, and the number it is read as."""
        label, categories = self._label(position), self._encoder.categories.get(position)
        value = one_value(value, label, is_categorical=categories is not None)
        number = self._number(position, value)
        is_known = not np.isnan(number) and not self._is_other(position, number)
        if isinstance(value, str) and not is_known and len(value) > MAX_TEXT:
            raise ValueError(f"Feature {label!r} got a text of {len(value):,} characters, which is no category.")
        if categories is not None and not isinstance(value, str | int | float | None):
            value = as_text(value, categories[int(number)] if is_known and number < len(categories) else None)
        return value, number

    def _reading_note(self, position: int, value: Any, number: float) -> str | None:
        """What the receipt says of a value that is not read as what it is."""
        is_categorical = position in self._encoder.categories
        if value is not None and np.isnan(number):
            return "unknown category, read as missing" if is_categorical else "read as missing"
        return 'read as "other"' if self._is_other(position, number) else None

    def _is_other(self, position: int, number: float) -> bool:
        return bool(self._encoder.has_other[position]) and number == OTHER

    # ---- what is known

    @property
    def acquired(self) -> tuple[Label, ...]:
        """The features bought, in order."""
        return self._taken("bought")

    @property
    def known_before(self) -> tuple[Label, ...]:
        """The features that came for free, in order."""
        return self._taken("free")

    @property
    def refused(self) -> tuple[Label, ...]:
        """The features that could not be had, in order."""
        return self._taken("refused")

    def receipt(self) -> Receipt:
        """Every step in order: feature, cost, probabilities after it; and the total."""
        classes = () if self._classes is None else tuple(map(plain, self._classes))
        return Receipt(tuple(self._steps), self.spent, classes)

    def _taken(self, how: How) -> tuple[Label, ...]:
        return tuple(step.feature for step in self._steps if step.how == how)

    def _odds(self) -> dict[Any, float]:
        """Probabilities by class; none if a number is predicted."""
        if self._classes is None:
            return {}
        return dict(zip(map(plain, self._classes), self.probabilities.tolist(), strict=True))

    # ---- waiting for days

    def to_json(self) -> str:
        """The run so far as text. `model.resume(text)` goes on from there, also in another process."""
        return write_run(self._marks, self._stop(), self._steps)

    @cached_property
    def _marks(self) -> dict[str, Any]:
        """What tells runs of this model from those of others."""
        return marks_of(self._acquirer, self._encoder, self._classes)

    def _repeated(self, steps: Iterable[dict[str, Any]]) -> Self:
        """This run after the steps of another one, as JSON has them."""
        with misfits_refused():
            for step in steps:
                self._repeat(**step)
        return self

    def _repeat(self, feature: Label, how: How, value: Any, note: str | None = None) -> None:
        if how == "refused":
            self.refuse(feature, note=note)
        elif how in ("bought", "free"):
            self.provide(feature, value, free=how == "free")
        else:
            raise ValueError(f"{WRONG}: a feature was {how!r:.60}.")

    # ---- copies: each goes on by itself, to see what would be if; the model, which nothing changes, is the same

    def __getstate__(self) -> dict[str, Any]:
        """Everything, with books of its own."""
        books = {"_numbers": self._numbers.copy(), "_values": dict(self._values), "_steps": list(self._steps)}
        return vars(self) | books

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __copy__(self) -> Self:
        again = type(self).__new__(type(self))
        again.__setstate__(self.__getstate__())
        return again

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = again = copy.copy(self)
        return again

    # ---- the door

    def _label(self, position: int) -> Label:
        return self._encoder.feature_label(position)

    def _position(self, feature: Label) -> int:
        names, n_features = self._encoder.feature_names, self._encoder.n_features
        if names is not None and isinstance(feature, str) and feature in names:
            return names.index(feature)
        is_number = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
        if names is None and is_number and 0 <= int(feature) < n_features:
            return int(feature)
        known = f"positions 0 to {n_features - 1}" if names is None else _some(names)
        raise ValueError(f"There is no feature {feature!r}; this model knows {known}.")

    def __repr__(self) -> str:
        state = "over" if self.is_over else f"asks for {self.next_feature()!r}"
        return f"<{type(self).__name__}: {len(self._steps)} features known, {self.spent:g} spent, {state}>"


def model_of_runs(model: Any) -> Any:
    """What the runs of a model are of, which they know as their acquirer; that itself as it is."""
    if callable(own := getattr(model, "_acquirer", None)):  # a forest: no need to begin a run
        return own()
    return model.start()._acquirer if hasattr(model, "start") else model


def plain(label: Any) -> Any:
    """A Python object for a number of numpy; anything else as it is."""
    return label.item() if isinstance(label, np.generic) else label


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
