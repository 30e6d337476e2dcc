"""StagedRun: one row in progress with a model that reads its features in stages, several together.

A tree of linear classifiers needs all features of a node before it can go on, a panel all of its features, a cascade
those of its next stage. Such a model says, given what is known, which features it needs next; the run asks for them one
at a time, in the manner of `Acquisition`, and keeps the same books.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from frugalforest.acquisition.receipt import How, Receipt, Step
from frugalforest.acquisition.run import JSON_NAME, JSON_VERSION, _for_json, _plain, _read_json, _some
from frugalforest.costs import FeatureCosts
from frugalforest.data import FeatureEncoder
from frugalforest.data.columns import Label, is_missing

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]

STOP = {"name": "all"}  # in JSON: every stage is read to its end


class End(NamedTuple):
    """One way that a row may end."""

    chance: float
    needs: Mask  # (n_features,): all features that it needs for certain
    further: float = 0.0  # what it will spend beyond these, on average


class StagedModel(Protocol):
    """What a run needs of a model. `values` (n_features,) holds encoded numbers, NaN where missing or not known."""

    @property
    def costs(self) -> FeatureCosts:
        """The price list."""

    @property
    def encoder(self) -> FeatureEncoder:
        """How values become numbers."""

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels, or None if the model predicts a number."""

    @property
    def fingerprint(self) -> str:
        """A short text that tells this model and price list from others."""

    def wanted(self, values: Floats, known_mask: Mask) -> Positions:
        """The features to buy next, none of them known; empty when the answer is final."""

    def answer(self, values: Floats, known_mask: Mask) -> Floats:
        """Class probabilities (n_classes,), or a number (1,): final, or the best guess so far."""

    def outlook(self, values: Floats, known_mask: Mask) -> list[End]:
        """The ways this row may end."""


class StagedRun:
    """Asks for the features of one row until the model can answer. Made by `model.start()`.

    The features of a stage are all needed, so the order among them is for those who may stop early: the cheapest now
    comes first, and what its groups have made cheaper follows.
    """

    def __init__(self, model: StagedModel) -> None:
        self._acquirer = model  # by the name that those who fetch for runs know
        n_features = model.costs.n_features
        self._numbers: Floats = np.full(n_features, np.nan)  # as the model reads them
        self._known: Mask = np.zeros(n_features, dtype=bool)
        self._paid: Mask = np.zeros(n_features, dtype=bool)
        self._values: dict[int, Any] = {}  # what was said of each feature, by position
        self._steps: list[Step] = []
        self._wanted = model.wanted(self._numbers, self._known)

    # ---- asking

    def next_feature(self) -> Label | None:
        """The feature to buy now: its name, or its position if features have no names; None when the run is over."""
        return None if self.is_over else self._label(self._cheapest())

    def next_features(self) -> tuple[Label, ...]:
        """All features of this stage that are still to be bought, in the order of their columns."""
        return tuple(self._label(int(position)) for position in self._wanted)

    @property
    def next_price(self) -> float:
        """What the next feature will cost, its groups included; 0 when the run is over."""
        return 0.0 if self.is_over else self._price(self._cheapest())

    def price(self, feature: Label) -> float:
        """What a feature would cost now, its groups included; 0 once it is known."""
        position = self._position(feature)
        return 0.0 if self._known[position] else self._price(position)

    @property
    def is_over(self) -> bool:
        """Whether nothing more needs to be bought."""
        return len(self._wanted) == 0

    # ---- answering

    def provide(self, feature: Label, value: Any, *, free: bool | None = None) -> None:
        """Take the value of a feature; NaN or None says that it was bought and is missing.

        A feature of this stage is bought at its price, any other one was known already and is free; `free` says it
        otherwise. What is free pays for no group. The same value a second time changes nothing.
        """
        position = self._position(feature)
        number = self._acquirer.encoder.encode_value(position, value)
        if self._known[position]:
            self._refuse_change(position, value, number)
            return
        is_bought = position in self._wanted if free is None else not free
        cost = self._price(position) if is_bought else 0.0
        self._paid[position] = is_bought
        self._learn(position, "bought" if is_bought else "free", value, number, cost)

    def refuse(self, feature: Label, *, note: str | None = None) -> None:
        """Say that a feature cannot be had: it is read as missing, costs nothing, and is not asked for again.

        `note` says why, and is kept in the receipt.
        """
        position = self._position(feature)
        if self._known[position]:
            self._refuse_change(position, None, np.nan)
            return
        self._learn(position, "refused", None, np.nan, 0.0, note)

    def _learn(self, position: int, how: How, value: Any, number: float, cost: float, note: str | None = None) -> None:
        self._known[position] = True
        self._numbers[position] = number
        self._values[position] = None if is_missing(value) else _plain(value)
        self._wanted = self._acquirer.wanted(self._numbers, self._known)
        step = Step(self._label(position), how, self._values[position], cost, self._named_probabilities(), note)
        self._steps.append(step)

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
    def prediction(self) -> Any:
        """The label, or the number: final when the run is over, until then the best guess."""
        classes, answer = self._acquirer.classes, self._answer()
        return float(answer[0]) if classes is None else _plain(classes[np.argmax(answer)])

    @property
    def probabilities(self) -> Floats:
        """Class probabilities, (n_classes,): exact when the run is over, estimates before."""
        if self._acquirer.classes is None:
            raise AttributeError("this model predicts a number, not a class: see `prediction`.")
        return self._answer()

    @property
    def spent(self) -> float:
        """The bill so far."""
        return self._acquirer.costs.of(self._paid)

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

    def expected_cost(self) -> float:
        """What this run will probably still cost: the average over the ways it may end, as often as training rows did.

        sum over ends e of P(e | so far) * (cost(paid + features of e not known yet) - cost(paid) + what follows these)
        """
        ends = self._acquirer.outlook(self._numbers, self._known)
        return sum(
            end.chance * (self._acquirer.costs.of(self._paid | (end.needs & ~self._known)) - self.spent + end.further)
            for end in ends
        )

    def receipt(self) -> Receipt:
        """Every step in order: feature, cost, probabilities after it; and the total."""
        return Receipt(tuple(self._steps), self.spent)

    # ---- waiting for days

    def to_json(self) -> str:
        """The run so far as text. `model.resume(text)` goes on from there, also in another process."""
        steps = [
            {"feature": step.feature, "how": step.how, "value": _for_json(step.value), "note": step.note}
            for step in self._steps
        ]
        head = {"format": JSON_NAME, "version": JSON_VERSION, "model": self._acquirer.fingerprint, "stop": STOP}
        return json.dumps({**head, "steps": steps})

    @classmethod
    def from_json(cls, text: str, model: StagedModel) -> Self:
        """The run that `to_json` wrote; the model and its prices must be the same."""
        content = _read_json(text)
        if content["model"] != model.fingerprint:
            raise ValueError("This run was started by another model, or with other prices: resume it with that one.")
        run = cls(model)
        try:
            for step in content["steps"]:
                run._repeat(**step)
        except (TypeError, KeyError) as error:
            raise ValueError(f"This is not a run that frugalforest wrote: {error}.") from error
        return run

    def _repeat(self, feature: Label, how: How, value: Any, note: str | None = None) -> None:
        if how == "refused":
            self.refuse(feature, note=note)
        elif how in ("bought", "free"):
            self.provide(feature, value, free=how == "free")
        else:
            raise ValueError(f"This is not a run that frugalforest wrote: a feature was {how!r}.")

    # ---- the door

    def _answer(self) -> Floats:
        return self._acquirer.answer(self._numbers, self._known)

    def _cheapest(self) -> int:
        """Of the features of this stage the one that costs least now, the first of equals."""
        prices = self._acquirer.costs.marginal(self._paid)
        return int(self._wanted[np.argmin(prices[self._wanted])])

    def _price(self, position: int) -> float:
        return float(self._acquirer.costs.marginal(self._paid)[position])

    def _label(self, position: int) -> Label:
        return self._acquirer.encoder.feature_label(position)

    def _position(self, feature: Label) -> int:
        names, n_features = self._acquirer.encoder.feature_names, self._acquirer.encoder.n_features
        if names is not None and isinstance(feature, str) and feature in names:
            return names.index(feature)
        is_number = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
        if names is None and is_number and 0 <= int(feature) < n_features:
            return int(feature)
        known = f"positions 0 to {n_features - 1}" if names is None else _some(names)
        raise ValueError(f"There is no feature {feature!r}; this model knows {known}.")

    def _named_probabilities(self) -> dict[Any, float]:
        classes = self._acquirer.classes
        if classes is None:
            return {}
        return dict(zip(map(_plain, classes), self._answer().tolist(), strict=True))

    def _taken(self, how: How) -> tuple[Label, ...]:
        return tuple(step.feature for step in self._steps if step.how == how)

    def __repr__(self) -> str:
        state = "over" if self.is_over else f"asks for {self.next_feature()!r}"
        return f"<StagedRun: {len(self._steps)} features known, {self.spent:g} spent, {state}>"
