"""StagedRun: one row in progress with a model that reads its features in stages, several together.

A tree of linear classifiers needs all features of a node before it can go on, a panel all of its features, a cascade
those of its next stage. Such a model says, given what is known, which features it needs next; the run asks for them one
at a time, in the manner of `Acquisition`, and keeps the same books.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from frugalforest.acquisition.run_base import RunBase, model_of_runs, plain
from frugalforest.acquisition.run_json import marks_of, read_run
from frugalforest.costs import FeatureCosts
from frugalforest.data import FeatureEncoder
from frugalforest.data.columns import Label

if TYPE_CHECKING:
    from frugalforest.acquisition.fetch_mixin import FetchMixin

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


class StagedRun(RunBase):
    """Asks for the features of one row until the model can answer. Made by `model.start()`.

    The features of a stage are all needed, so the order among them is for those who may stop early: the cheapest now
    comes first, and what its groups have made cheaper follows.
    """

    def __init__(self, model: StagedModel) -> None:
        super().__init__(model.encoder, model.classes)
        self._acquirer: StagedModel = model
        self._paid: Mask = np.zeros(model.costs.n_features, dtype=bool)
        self._wanted = model.wanted(self._numbers, self._known)

    def next_features(self) -> tuple[Label, ...]:
        """All features of this stage that are still to be bought, in the order of their columns."""
        return tuple(self._label(int(position)) for position in self._wanted)

    # ---- what is known

    @property
    def prediction(self) -> Any:
        """The label, or the number: final when the run is over, until then the best guess."""
        answer = self._answer()
        return float(answer[0]) if self._classes is None else plain(self._classes[np.argmax(answer)])

    @property
    def probabilities(self) -> Floats:
        """Class probabilities, (n_classes,): exact when the run is over, estimates before."""
        if self._classes is None:
            raise AttributeError("this model predicts a number, not a class: see `prediction`.")
        return self._answer()

    @property
    def spent(self) -> float:
        """The bill so far."""
        return self._acquirer.costs.of(self._paid)

    def expected_cost(self) -> float:
        """What this run will probably still cost: the average over the ways it may end, as often as training rows did.

        sum over ends e of P(e | so far) * (cost(paid + features of e not known yet) - cost(paid) + what follows these)
        """
        known, costs = self._known, self._acquirer.costs
        return sum(
            end.chance * (costs.of(self._paid | (end.needs & ~known)) - self.spent + end.further)
            for end in self._acquirer.outlook(self._numbers, known)
        )

    # ---- waiting for days

    @classmethod
    def from_json(cls, text: str, model: StagedModel | FetchMixin) -> Self:
        """The run that `to_json` wrote; the model and its prices must be the same."""
        own = model_of_runs(model)
        if not hasattr(own, "wanted"):
            raise TypeError(f"{model!r:.60} buys nothing in stages; model.resume(text) reads its runs.")
        content = read_run(text, own, marks_of(own, own.encoder, own.classes))
        return cls(own)._repeated(content["steps"])

    def _stop(self) -> dict[str, Any]:
        return STOP

    # ---- what the model says

    def _next(self) -> int | None:
        """Of the features of this stage the one that costs least now, the first of equals."""
        if len(self._wanted) == 0:
            return None
        prices = self._acquirer.costs.marginal(self._paid)
        return int(self._wanted[np.argmin(prices[self._wanted])])

    def _asks_for(self, position: int) -> bool:
        return position in self._wanted

    def _price(self, position: int) -> float:
        return float(self._acquirer.costs.marginal(self._paid)[position])

    def _number(self, position: int, value: Any) -> float:
        return self._encoder.encode_value(position, value)

    def _learn(self, position: int, *, is_bought: bool) -> None:
        self._paid[position] = is_bought
        self._wanted = self._acquirer.wanted(self._numbers, self._known)

    def _unlearn(self, position: int) -> None:
        self._learn(position, is_bought=False)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_paid": self._paid.copy()}

    def _answer(self) -> Floats:
        return self._acquirer.answer(self._numbers, self._known)

    @property
    def _known(self) -> Mask:
        return self._acquirer.costs.mask(list(self._values))
