"""Acquisition: one row in progress, one feature at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.acquisition.acquirer import Acquirer
from frugalforest.acquisition.run_base import RunBase, model_of_runs, plain
from frugalforest.acquisition.run_json import (
    MAX_JSON,
    marks_of,
    misfits_refused,
    read_run,
    stop_for_json,
    stop_from_json,
)
from frugalforest.acquisition.scalars import as_whole
from frugalforest.acquisition.stopping import StopRule
from frugalforest.forest import Floats

if TYPE_CHECKING:
    from frugalforest.acquisition.fetch_mixin import FetchMixin

MOST_SIMULATIONS = 10**9
SEEDS = 2**64

__all__ = ["MAX_JSON", "Acquisition"]


class Acquisition(RunBase):
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
        super().__init__(acquirer.ensemble.encoder, acquirer.ensemble.classes)
        self._acquirer: Acquirer = acquirer
        self._rule = rule
        self._core = _core.Run(acquirer.core, acquirer.policy(rule))

    # ---- what is known

    @property
    def prediction(self) -> Any:
        """The label: final when the run is over, until then the best guess."""
        ensemble = self._acquirer.ensemble
        if self._core.is_complete:
            return plain(ensemble.classes[ensemble.label_numbers(self._exact_scores())[0]])
        return plain(ensemble.classes[self._core.answer])

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

    def expected_cost(self, n_simulations: int = 100, random_state: int = 0) -> float:
        """What this run will probably still cost: the average over simulated ends of it.

        A simulated value goes left or right at a split as often as the training rows did that came there, features
        independent of each other. Real features agree with each other, and settle a label sooner: with stop="label" the
        estimate is too high, for forests by a third and more. Good for telling a short wait from a long one.
        """
        n_ends, seed = as_whole(n_simulations), as_whole(random_state)
        if n_ends is None or not 1 <= n_ends <= MOST_SIMULATIONS:
            raise ValueError(f"n_simulations={n_simulations!r:.60} is no whole number of at least 1.")
        if seed is None or not 0 <= seed < SEEDS:
            raise ValueError(f"random_state={random_state!r:.60} is no whole number from 0 to 2**64 - 1.")
        ticks = self._core.expected_ticks(n_ends, seed)
        return ticks * self._acquirer.costs.money(1)

    # ---- waiting for days

    @classmethod
    def from_json(cls, text: str, acquirer: Acquirer | FetchMixin) -> Self:
        """The run that `to_json` wrote; the model, or its acquirer, must be the same, and so must its prices."""
        own = model_of_runs(acquirer)
        if not isinstance(own, Acquirer):
            raise TypeError(f"{acquirer!r:.60} buys nothing one feature at a time; model.resume(text) reads its runs.")
        ensemble = own.ensemble
        content = read_run(text, own, marks_of(own, ensemble.encoder, ensemble.classes))
        with misfits_refused():
            run = cls(own, stop_from_json(content["stop"]))
        return run._repeated(content["steps"])

    def _stop(self) -> dict[str, Any]:
        return stop_for_json(self._rule)

    # ---- copies

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in super().__getstate__().items() if name != "_core"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._core = _core.Run(self._acquirer.core, self._acquirer.policy(self._rule))
        for step in self._steps:  # the core is told everything once more
            self._learn(self._position(step.feature), is_bought=step.how == "bought")

    # ---- what the core knows

    def _next(self) -> int | None:
        position = self._core.next()
        return None if position < 0 else position

    def _asks_for(self, position: int) -> bool:
        return position == self._core.next()

    def _price(self, position: int) -> float:
        return self._acquirer.costs.money(self._core.price(position))

    def _number(self, position: int, value: Any) -> float:
        """A value as the trees compare it."""
        ensemble = self._acquirer.ensemble
        row = np.full((1, ensemble.n_features), np.nan)
        row[0, position] = ensemble.encoder.encode_value(position, value)
        try:
            return float(ensemble.reading(row)[0, position])
        except ValueError:  # there is one reason to refuse a finite number
            raise ValueError(
                f"Feature {self._label(position)!r} is {value!r:.60}, too large for float32, in which these trees "
                "compare. Give at most 1e38, or None where it is missing."
            ) from None

    def _learn(self, position: int, *, is_bought: bool) -> None:
        (self._core.buy if is_bought else self._core.learn)(position, float(self._numbers[position]))

    def _exact_scores(self) -> Floats:
        return self._acquirer.ensemble.scores(self._numbers[None, :])[0]


def _favouring(c: int, others: NDArray[Any], own: NDArray[Any]) -> Floats:
    """Scores with one class at one end and the others at the other, (1, n_classes)."""
    scores = np.array(others, dtype=np.float64)
    scores[c] = own[c]
    return scores[None, :]
