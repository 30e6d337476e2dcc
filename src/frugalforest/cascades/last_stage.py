"""The last stage, on demand: nobody goes on from there, so all that is wanted of it is a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frugalforest import _core
from frugalforest.acquisition import Acquirer, StopRule
from frugalforest.cascades.stages import Floats, Mask, Positions, Stage
from frugalforest.costs import FeatureCosts

RULE = StopRule("label")


class Ends(NamedTuple):
    """How rows ended."""

    mask: Mask  # (n_rows, n_features): all that was bought, also before
    probabilities: Floats | None  # (n_rows, n_classes): estimates where not all was bought


@dataclass(frozen=True, eq=False)
class LastStage:
    """Buys of its panel one feature at a time, until no value of the others can change the label of the stage.

    The label is that of the whole panel; the features of the stage before are bought already.
    """

    stage: Stage
    before: Positions  # features bought before, all of the panel
    costs: FeatureCosts

    def read(self, rows: NDArray[Any], n_threads: int = 1, *, with_probabilities: bool = True) -> Ends:
        """How encoded rows (n_rows, n_features) end that have come to this stage."""
        panel, acquirer = self.stage.panel, self._acquirer
        part = acquirer.ensemble.reading(rows[:, panel])
        found = acquirer.evaluate(part, RULE, n_threads, with_probabilities=with_probabilities, bought=self._bought)
        mask = np.zeros((len(rows), self.costs.n_features), dtype=bool)
        mask[:, panel] = found.mask
        return Ends(mask, found.probabilities)

    def bills(self, rows: NDArray[Any], n_threads: int = 1) -> Floats:
        """What rows have spent at the end, the panels before included, (n_rows,)."""
        return self.costs.of_rows(self.read(rows, n_threads, with_probabilities=False).mask)

    def run(self, values: Floats, known_mask: Mask) -> OneRow:
        """One row that has come to this stage, and knows more or less of its panel."""
        return OneRow(self._acquirer, self.stage.panel, self._bought, values, known_mask)

    @property
    def _bought(self) -> list[int]:
        return np.searchsorted(self.stage.panel, self.before).tolist()

    @property
    def _acquirer(self) -> Acquirer:
        """Made once for each stage and price list, and kept with the trees."""
        trees = self.stage.trees
        assert trees is not None
        cache, key = trees.forest._cache, f"acquirer, {hash(self.costs)}"
        if key not in cache or cache[key].ensemble is not trees:
            cache[key] = Acquirer(trees, self.costs.subset(self.stage.panel))
        return cache[key]


class OneRow:
    """One row at the last stage, or on its way there, played again from what is known of it."""

    def __init__(
        self, acquirer: Acquirer, panel: Positions, bought: list[int], values: Floats, known_mask: Mask
    ) -> None:
        self._acquirer, self._panel = acquirer, panel
        self._values, known = acquirer.ensemble.reading(values[None, panel])[0], known_mask[panel]
        self._run = _core.Run(acquirer.core, acquirer.policy(RULE))
        bought = [feature for feature in bought if known[feature]]
        self._run.buy_together(bought, self._values[bought].tolist())
        known[bought] = False  # they are played
        self._play(known)

    def _play(self, known: Mask) -> None:
        """Buy in order what is known; whatever else is known was given without being asked for."""
        while (feature := self._run.next()) >= 0 and known[feature]:
            self._run.buy(feature, float(self._values[feature]))
            known[feature] = False
        if feature < 0 or not known.any():
            return
        for given in np.flatnonzero(known).tolist():
            self._run.learn(given, float(self._values[given]))

    @property
    def next_feature(self) -> int | None:
        """Position among all features of the one to buy now; None when the label is settled."""
        feature = self._run.next()
        return None if feature < 0 else int(self._panel[feature])

    @property
    def probabilities(self) -> Floats:
        """Class probabilities, (n_classes,): exact once every tree is read to its leaf, estimates before."""
        acquirer, ensemble = self._acquirer, self._acquirer.ensemble
        if self._run.is_complete:
            return ensemble.probabilities(ensemble.scores(self._values[None, :])[0])[0]
        return acquirer.estimated_probabilities(self._run.estimate()[None, :], np.array([self._run.answer]))[0]

    def expected_cost(self, n_ends: int = 64) -> float:
        """What is probably still to be bought will cost: the mean of imagined ends."""
        return self._acquirer.costs.money(1) * self._run.expected_ticks(n_ends, seed=0)
