"""RunBase: what every run does that buys the features of one row; how it asks, what it refuses, the books it keeps."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from frugalforest.acquisition.receipt import How, Receipt, Step
from frugalforest.acquisition.run_json import WRONG, misfits_refused, write_run
from frugalforest.data import FeatureEncoder
from frugalforest.data.columns import Label, is_missing

Floats = NDArray[np.float64]


class Marked(Protocol):
    """What a run is of."""

    @property
    def fingerprint(self) -> str:
        """A short text that tells this model and price list from others."""


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
        """
        position = self._position(feature)
        number = self._number(position, value)
        if position in self._values:
            self._refuse_change(position, value, number)
            return
        is_bought = self._asks_for(position) if free is None else not free
        cost = self._price(position) if is_bought else 0.0
        self._record(position, "bought" if is_bought else "free", value, number, cost)

    def refuse(self, feature: Label, *, note: str | None = None) -> None:
        """Say that a feature cannot be had: it is read as missing, costs nothing, and is not asked for again.

        `note` says why, and is kept in the receipt.
        """
        position = self._position(feature)
        if position in self._values:
            self._refuse_change(position, None, np.nan)
            return
        self._record(position, "refused", None, np.nan, 0.0, note)

    def _record(self, position: int, how: How, value: Any, number: float, cost: float, note: str | None = None) -> None:
        value = None if is_missing(value) else plain(value)
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
        known = self._numbers[position]
        if number == known or (np.isnan(number) and np.isnan(known)):
            return
        raise ValueError(
            f"Feature {self._label(position)!r} is known already: {self._values[position]!r}, now {value!r}. "
            "A run takes each value once; start another one to change it."
        )

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
        return Receipt(tuple(self._steps), self.spent)

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
        return write_run(self._acquirer.fingerprint, self._stop(), self._steps)

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
            raise ValueError(f"{WRONG}: a feature was {how!r}.")

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


def plain(label: Any) -> Any:
    """A Python object for a number of numpy; anything else as it is."""
    return label.item() if isinstance(label, np.generic) else label


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
