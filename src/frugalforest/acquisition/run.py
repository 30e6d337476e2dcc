"""Acquisition: one row in progress, one feature at a time."""

from __future__ import annotations

import json
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.acquisition.acquirer import Acquirer
from frugalforest.acquisition.receipt import How, Receipt, Step
from frugalforest.acquisition.stopping import StopRule
from frugalforest.data.columns import Label, is_missing
from frugalforest.forest import Floats

JSON_NAME, JSON_VERSION = "frugalforest run", 1
MAX_JSON = 10_000_000  # characters
INFINITY = "infinity"  # JSON has no word for it


class Acquisition:
    """Asks for the features of one row, one at a time, until its stop rule is content. Made by `model.start()`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from frugalforest import StandardForestClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StandardForestClassifier(20, stop="label", random_state=0).fit(X, y)
    >>> run, flower = model.start(), X.iloc[0]
    >>> while (feature := run.next_feature()) is not None:
    ...     run.provide(feature, flower[feature])
    >>> run.prediction, run.spent, len(run.acquired)
    (0, 2.0, 2)
    """

    def __init__(self, acquirer: Acquirer, rule: StopRule) -> None:
        self._acquirer = acquirer
        self._rule = rule
        self._core = _core.Run(acquirer.core, acquirer.policy(rule))
        self._steps: list[Step] = []
        self._values: dict[int, Any] = {}  # what was said of each feature, by position
        self._numbers: Floats = np.full(acquirer.ensemble.n_features, np.nan)  # as they are compared

    # ---- asking

    def next_feature(self) -> Label | None:
        """The feature to buy now: its name, or its position if features have no names; None when the run is over."""
        position = self._core.next()
        return None if position < 0 else self._label(position)

    @property
    def next_price(self) -> float:
        """What the next feature will cost, its groups included; 0 when the run is over."""
        position = self._core.next()
        return 0.0 if position < 0 else self._price(position)

    def price(self, feature: Label) -> float:
        """What a feature would cost now, its groups included; 0 once it is known."""
        position = self._position(feature)
        return 0.0 if position in self._values else self._price(position)

    @property
    def is_over(self) -> bool:
        """Whether nothing more needs to be bought."""
        return self._core.next() < 0

    # ---- answering

    def provide(self, feature: Label, value: Any, *, free: bool | None = None) -> None:
        """Take the value of a feature; NaN or None says that it was bought and is missing.

        The feature that `next_feature` names is bought at its price, any other one was known already and is free;
        `free` says it otherwise. What is free pays for no group, so the next member still does. The same value a
        second time changes nothing.
        """
        position = self._position(feature)
        number = self._number(position, value)
        if position in self._values:
            self._refuse_change(position, value, number)
            return
        paid = position == self._core.next() if free is None else not free
        cost = self._price(position) if paid else 0.0
        (self._core.buy if paid else self._core.learn)(position, number)
        self._record(position, "bought" if paid else "free", value, number, cost)

    def refuse(self, feature: Label, *, note: str | None = None) -> None:
        """Say that a feature cannot be had: it is read as missing, costs nothing, and is not asked for again.

        `note` says why, and is kept in the receipt.
        """
        position = self._position(feature)
        if position in self._values:
            self._refuse_change(position, None, np.nan)
            return
        self._core.learn(position, np.nan)
        self._record(position, "refused", None, np.nan, 0.0, note)

    def _record(self, position: int, how: How, value: Any, number: float, cost: float, note: str | None = None) -> None:
        value = None if is_missing(value) else value.item() if isinstance(value, np.generic) else value
        self._values[position] = value
        self._numbers[position] = number
        label = self._label(position)
        self._steps.append(Step(label, how, value, cost, self._named(self.probabilities), note))

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
        """The label: final when the run is over, until then the best guess."""
        ensemble = self._acquirer.ensemble
        if self._core.is_complete:
            return _plain(ensemble.classes[ensemble.label_numbers(self._exact_scores())[0]])
        return _plain(ensemble.classes[self._core.answer])

    @property
    def is_proven(self) -> bool:
        """Whether no value of any feature not yet known could change the label."""
        return self._core.is_proven or self._core.is_complete

    @property
    def probabilities(self) -> Floats:
        """Class probabilities, (n_classes,): exact once every tree is read to its leaf, estimates before."""
        ensemble = self._acquirer.ensemble
        if self._core.is_complete:
            return ensemble.probabilities(self._exact_scores())[0]
        channels = self._core.estimate()[None, :]
        return self._acquirer.estimated_probabilities(channels, np.array([self._core.answer]))[0]

    @property
    def probability_bounds(self) -> Floats:
        """Least and largest probability of each class over all values of the open features, (n_classes, 2)."""
        ensemble = self._acquirer.ensemble
        if self._core.is_complete:
            return np.column_stack([self.probabilities] * 2)
        low, high = self._core.bounds()
        least = [ensemble.probabilities(_favouring(c, high, low))[0, c] for c in range(ensemble.n_classes)]
        largest = [ensemble.probabilities(_favouring(c, low, high))[0, c] for c in range(ensemble.n_classes)]
        return np.clip(np.column_stack([least, largest]), 0.0, 1.0)

    @property
    def spent(self) -> float:
        """The bill so far."""
        return self._acquirer.costs.money(self._core.spent)

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

    def expected_cost(self, n_simulations: int = 100, random_state: int = 0) -> float:
        """What this run will probably still cost: the average over simulated ends of it.

        A simulated value goes left or right at a split as often as the training rows did that came there, features
        independent of each other. An estimate, then: good for telling a short wait from a long one.
        """
        if n_simulations < 1:
            raise ValueError(f"n_simulations={n_simulations} must be at least 1.")
        ticks = self._core.expected_ticks(n_simulations, random_state)
        return ticks * self._acquirer.costs.money(1)

    def receipt(self) -> Receipt:
        """Every step in order: feature, cost, probabilities after it; and the total."""
        return Receipt(tuple(self._steps), self.spent)

    # ---- waiting for days

    def to_json(self) -> str:
        """The run so far as text. `model.resume(text)` goes on from there, also in another process."""
        return json.dumps(
            {
                "format": JSON_NAME,
                "version": JSON_VERSION,
                "model": self._acquirer.fingerprint,
                "stop": _stop_for_json(self._rule),
                "steps": [
                    {"feature": step.feature, "how": step.how, "value": _for_json(step.value), "note": step.note}
                    for step in self._steps
                ],
            }
        )

    @classmethod
    def from_json(cls, text: str, acquirer: Acquirer) -> Self:
        """The run that `to_json` wrote; the acquirer must be that of the same model and prices."""
        content = _read_json(text)
        if content["model"] != acquirer.fingerprint:
            raise ValueError("This run was started by another model, or with other prices: resume it with that one.")
        try:
            run = cls(acquirer, _stop_from_json(content["stop"]))
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

    def _label(self, position: int) -> Label:
        return self._acquirer.ensemble.encoder.feature_label(position)

    def _price(self, position: int) -> float:
        return self._acquirer.costs.money(self._core.price(position))

    def _position(self, feature: Label) -> int:
        names, n_features = self._acquirer.ensemble.encoder.feature_names, self._acquirer.ensemble.n_features
        if names is not None and isinstance(feature, str) and feature in names:
            return names.index(feature)
        is_number = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
        if names is None and is_number and 0 <= int(feature) < n_features:
            return int(feature)
        known = f"positions 0 to {n_features - 1}" if names is None else _some(names)
        raise ValueError(f"There is no feature {feature!r}; this model knows {known}.")

    def _number(self, position: int, value: Any) -> float:
        """A value as the trees compare it."""
        ensemble = self._acquirer.ensemble
        row = np.full((1, ensemble.n_features), np.nan)
        row[0, position] = ensemble.encoder.encode_value(position, value)
        return float(ensemble.reading(row)[0, position])

    def _exact_scores(self) -> Floats:
        return self._acquirer.ensemble.scores(self._numbers[None, :])[0]

    def _named(self, probabilities: Floats) -> dict[Any, float]:
        labels = [_plain(label) for label in self._acquirer.ensemble.classes]
        return dict(zip(labels, probabilities.tolist(), strict=True))

    def _taken(self, how: How) -> tuple[Label, ...]:
        return tuple(step.feature for step in self._steps if step.how == how)

    def __repr__(self) -> str:
        state = "over" if self.is_over else f"asks for {self.next_feature()!r}"
        return f"<Acquisition: {len(self._steps)} features known, {self.spent:g} spent, {state}>"


def _favouring(c: int, others: NDArray[Any], own: NDArray[Any]) -> Floats:
    """Scores with one class at one end and the others at the other, (1, n_classes)."""
    scores = np.array(others, dtype=np.float64)
    scores[c] = own[c]
    return scores[None, :]


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _for_json(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Number | np.ndarray):  # Decimal, Fraction, an array of one number
        return float(value)  # type: ignore[arg-type]
    return str(value)  # dates and intervals are categories by their text


def _stop_for_json(rule: StopRule) -> dict[str, Any]:
    limits = {"confidence": rule.confidence, "budget": rule.budget}
    return {"name": rule.name} | {name: INFINITY if limit == np.inf else limit for name, limit in limits.items()}


def _stop_from_json(stop: dict[str, Any]) -> StopRule:
    limits = {name: np.inf if stop[name] == INFINITY else stop[name] for name in ("confidence", "budget")}
    return StopRule(stop["name"], **limits)


def _read_json(text: str) -> dict[str, Any]:
    wrong = "This is not a run that frugalforest wrote"
    if len(text) > MAX_JSON:
        raise ValueError(f"{wrong}: it is longer than {MAX_JSON:,} characters.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise ValueError(f"{wrong}: {error}.") from None
    if not isinstance(content, dict) or content.get("format") != JSON_NAME:
        raise ValueError(f"{wrong}.")
    if content.get("version") != JSON_VERSION:
        raise ValueError(f"{wrong} in a version known here: update frugalforest.")
    if not {"model", "stop", "steps"} <= content.keys() or not isinstance(content["steps"], list):
        raise ValueError(f"{wrong}: something is left out.")
    if not isinstance(content["stop"], dict) or not all(isinstance(step, dict) for step in content["steps"]):
        raise ValueError(f"{wrong}: something is of the wrong kind.")
    return content
