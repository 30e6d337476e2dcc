"""BudgetForestClassifier: BudgetRF, forests of cheap trees grown until an average bill is reached."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from frugalforest.estimators.base import ForestClassifierBase, forest_curve
from frugalforest.estimators.checks import Rows, check_choice, check_number, resolve_max_features
from frugalforest.evaluation import CostCurve
from frugalforest.forest import Forest
from frugalforest.growing import Growth, TrainingSet, grow, tree_seeds
from frugalforest.growing.progress import progress_bar
from frugalforest.growing.seeds import Seeds
from frugalforest.impurities import ThresholdPairs

PAPER_ALPHAS = (0, 2, 4, 6, 8, 10, 15, 25, 35, 45)
TREES_AT_ONCE = 16  # grown before the budget is looked at again


class BudgetForestClassifier(ForestClassifierBase):
    """Random forest for an average feature budget (Nan, Wang, Saligrama 2015: BudgetRF).

    Trees split on the feature and threshold of least risk, cost over the impurity that is removed for certain:

        R(t) = c(t) / (F(S) - max_i F(S_i))

    For each impurity of a family (threshold-Pairs with rising alpha: shallower and cheaper trees) trees are added until the
    average bill of the validation rows exceeds the budget. Every (impurity, number of trees) is a point of `curve_`; the one
    of least validation error within the budget becomes the model. A row pays for each feature once, over all trees.

    Parameters
    ----------
    budget : average cost per row at prediction; None: no limit. A budget below the cheapest tree leaves the free answer
        "most frequent class", with a warning that says which budget is the least possible.
    feature_costs : FeatureCosts, array, dict or Series; None: every feature costs 1.
    alpha : "auto" (0 to 45 as in the paper, and beyond while one tree exceeds the budget), a number or a list: the
        thresholds of threshold-Pairs that validation chooses from.
    n_estimators : trees per alpha, at most.
    impurity : None: threshold-Pairs with `alpha`; else one impurity or a list of them (frugalforest.impurities or a
        function of class counts), and `alpha` is not used.
    splitting : "minimax" (the paper) or "expected" (children weighted by size).
    thresholds : "all", or "random": the paper's 80 / 40 / 20 per feature.
    charge : what a split is charged: "always" the price alone, "path" less for features the path has paid, "forest" less
        for features the node's rows have paid in earlier trees (trees then depend on earlier ones: grown in rounds).
    repeat_charge : the share of its price that a feature is charged again, for "path" and "forest".
    validation_fraction : share of the rows set aside to choose the point, stratified; not used with `eval_set`.
    bootstrap, max_depth, max_features, min_samples_split, min_samples_leaf, class_weight, categorical_features, max_bins,
    n_jobs, random_state, verbose : as in StandardForestClassifier; max_features is None (all), as in the paper.
    voting : "hard" (majority vote, the paper) or "soft" (mean of class shares).
    oob_score : also estimate accuracy and bill from the rows each tree has not seen.

    Attributes
    ----------
    curve_ : CostCurve of all points, on the validation rows.
    impurity_, alpha_, n_estimators_ : the chosen point; alpha_ is None for other impurities.
    validation_error_, validation_cost_ : of the chosen point.
    forest_, feature_costs_, classes_, feature_importances_, importances_per_cost_, oob_score_, oob_cost_.
    """

    def __init__(
        self,
        budget: float | None = None,
        *,
        feature_costs: Any = None,
        alpha: Any = "auto",
        n_estimators: int = 100,
        impurity: Any = None,
        splitting: str = "minimax",
        thresholds: str = "all",
        charge: str = "always",
        repeat_charge: float = 0.5,
        bootstrap: bool = True,
        validation_fraction: float = 0.25,
        max_depth: int | None = None,
        max_features: Any = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        voting: str = "hard",
        class_weight: Any = None,
        categorical_features: Any = None,
        max_bins: int = 255,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.feature_costs = feature_costs
        self.alpha = alpha
        self.n_estimators = n_estimators
        self.impurity = impurity
        self.splitting = splitting
        self.thresholds = thresholds
        self.charge = charge
        self.repeat_charge = repeat_charge
        self.bootstrap = bootstrap
        self.validation_fraction = validation_fraction
        self.max_depth = max_depth
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.voting = voting
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Grow the forests and choose a point; eval_set=(X_val, y_val) replaces the internal split.

        After Ctrl-C the trees grown so far are kept and chosen from, and KeyboardInterrupt is raised.
        """
        self._check_parameters()
        rows = self._learn_rows(X, y, sample_weight)
        seed = self._seed()
        train, validation = self._split(rows, eval_set, seed)
        training_set = self._training_set(train, seed)
        interrupted = self._grow_variants(training_set, train, validation, seed)
        self.curve_ = forest_curve(self._forests, self._impurities, [self.voting] * len(self._forests), validation, self)
        self._choose(self.budget)
        if self.oob_score:
            self._keep_oob(train, self._seeds(seed, self._chosen))
        if interrupted:
            raise KeyboardInterrupt(f"stopped after {len(self.curve_)} trees; the model is the best of these")
        return self

    def at_budget(self, budget: float | None) -> Self:
        """The best model within another budget, from the trees already grown. Out-of-bag estimates are not carried over."""
        check_is_fitted(self)
        check_number(budget, "budget", 0, or_none=True)
        grown_for = np.inf if self.budget is None else self.budget
        if (np.inf if budget is None else budget) > grown_for:
            raise ValueError(
                f"the trees were grown for a budget of {self.budget:g}, so {budget if budget is None else f'{budget:g}'} is out of "
                "reach; fit with this budget (or budget=None), then ask for smaller ones."
            )
        model = copy.copy(self)
        model.budget = budget
        for name in ("oob_score_", "oob_cost_", "oob_decision_function_"):
            model.__dict__.pop(name, None)
        model._choose(budget)
        return model

    # ---- steps of fit

    def _check_parameters(self) -> None:
        self._check_common()
        check_number(self.budget, "budget", 0, or_none=True)
        check_choice(self.splitting, "splitting", ("minimax", "expected"))
        check_choice(self.charge, "charge", ("always", "path", "forest"))
        check_number(self.repeat_charge, "repeat_charge", 0, at_most=1)
        check_number(self.validation_fraction, "validation_fraction", 0, at_most=1)
        if not 0 < self.validation_fraction < 1:
            raise ValueError(f"validation_fraction is {self.validation_fraction}; expected a share between 0 and 1, exclusive.")
        if self.impurity is None and not (isinstance(self.alpha, str) and self.alpha == "auto"):
            alphas = np.atleast_1d(np.asarray(self.alpha, dtype=object))
            if alphas.ndim != 1 or len(alphas) == 0:
                raise ValueError(f'alpha is {self.alpha!r}; expected "auto", a number, or a list of numbers.')
            for alpha in alphas:
                check_number(alpha, "alpha", 0)

    def _split(self, rows: Rows, eval_set: tuple[Any, Any] | None, seed: int) -> tuple[Rows, Rows]:
        if eval_set is not None:
            return rows, self._encode_rows(*eval_set)
        held_out = _stratified_mask(rows.labels, self.validation_fraction, seed)
        if not held_out.any():
            warnings.warn(
                "too few rows to set some aside: the bill and the error that choose the model are those of the training "
                "rows. Give eval_set, or more rows.",
                UserWarning,
                stacklevel=3,
            )
            return rows, rows
        return rows.take(np.flatnonzero(~held_out)), rows.take(np.flatnonzero(held_out))

    def _given_impurities(self) -> list[Any]:
        if self.impurity is not None:
            several = isinstance(self.impurity, Sequence) and not isinstance(self.impurity, str)
            return list(self.impurity) if several else [self.impurity]
        if isinstance(self.alpha, str):
            return [ThresholdPairs(alpha) for alpha in PAPER_ALPHAS]
        return [ThresholdPairs(float(alpha)) for alpha in np.atleast_1d(self.alpha)]

    def _grow_variants(self, training_set: TrainingSet, train: Rows, validation: Rows, seed: int) -> bool:
        """Grow a forest for each impurity; returns whether Ctrl-C cut it short."""
        self._impurities: list[Any] = []
        self._forests: list[Forest] = []
        waiting = self._given_impurities()
        while waiting:
            impurity = waiting.pop(0)
            forest, least_cost, interrupted = self._grow_within_budget(
                training_set, train, validation, impurity, self._seeds(seed, len(self._forests))
            )
            if interrupted and forest.n_trees == 0 and not self._forests:
                raise KeyboardInterrupt
            self._impurities.append(impurity)
            self._forests.append(forest)
            self._least_cost = min(least_cost, getattr(self, "_least_cost", np.inf)) if len(self._forests) > 1 else least_cost
            if interrupted:
                return True
            if not waiting and forest.n_trees == 0:
                waiting = self._beyond(impurity, len(train))
        return False

    def _beyond(self, impurity: Any, n_rows: int) -> list[Any]:
        """While even the last alpha's first tree exceeds the budget, twice that alpha, up to the rows there are."""
        automatic = self.impurity is None and isinstance(self.alpha, str)
        return [ThresholdPairs(2 * impurity.alpha)] if automatic and 2 * impurity.alpha < n_rows else []

    def _seeds(self, seed: int, variant: int) -> Seeds:
        return tree_seeds(seed, self.n_estimators, variant)

    def _grow_within_budget(
        self, training_set: TrainingSet, train: Rows, validation: Rows, impurity: Any, seeds: Seeds
    ) -> tuple[Forest, float, bool]:
        """Add trees until the validation rows' average bill exceeds the budget; drop the tree that did it.

        -> forest, bill of the first tree, interrupted
        """
        budget = np.inf if self.budget is None else self.budget
        growth = self._growth(impurity)
        paid = np.zeros(train.matrix.shape, dtype=bool) if self.charge == "forest" else None
        step = TREES_AT_ONCE if self.budget is not None or paid is not None else self.n_estimators
        forest = Forest.without_trees(self.n_features_in_, len(self.classes_))
        least_cost = np.inf
        with progress_bar(self.verbose, self.n_estimators, f"BudgetForest, {impurity}") as on_progress:
            while forest.n_trees < self.n_estimators:
                have = forest.n_trees
                show = None if on_progress is None else (lambda n, have=have: on_progress(have + n))
                grown = grow(
                    training_set, growth, self.feature_costs_, seeds[have : have + step], paid=paid,
                    n_threads=self._n_threads(), on_progress=show,
                )  # fmt: skip
                if grown.n_trees == 0:
                    return forest, least_cost, grown.interrupted
                new = Forest.from_arrays(grown.arrays, self.n_features_in_)
                forest = Forest.joined([forest, new])
                cost = forest.by_tree(
                    validation.matrix, validation.labels, forest.leaf_votes, self.feature_costs_, n_threads=self._n_threads()
                )[1]
                least_cost = float(cost[0])
                n_within = int(np.searchsorted(cost > budget, True))
                if n_within < forest.n_trees or grown.interrupted:
                    return forest.first(n_within) if n_within else self._no_trees(), least_cost, grown.interrupted
                if paid is not None:
                    paid |= new.features_read(train.matrix, self._n_threads())
        return forest, least_cost, False

    def _no_trees(self) -> Forest:
        return Forest.without_trees(self.n_features_in_, len(self.classes_))

    def _growth(self, impurity: Any) -> Growth:
        return Growth(
            impurity=impurity,
            splitting=self.splitting,
            thresholds=self.thresholds,
            charge=self.charge,
            repeat_charge=self.repeat_charge,
            max_depth=self.max_depth,
            max_features=resolve_max_features(self.max_features, self.n_features_in_),
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=self.min_samples_split,
            bootstrap=self.bootstrap,
        )

    def _choose(self, budget: float | None) -> None:
        """Take the best point within the budget, or no tree at all."""
        best = self.curve_.best_index(np.inf if budget is None else budget)
        if best is None:
            self._choose_nothing(budget)
            return
        self._chosen = int(self.curve_.variant[best])
        self.impurity_ = self._impurities[self._chosen]
        self.alpha_ = getattr(self.impurity_, "alpha", None)
        self.n_estimators_ = int(self.curve_.n_trees[best])
        self.validation_error_ = float(self.curve_.error[best])
        self.validation_cost_ = float(self.curve_.cost[best])
        self.forest_ = self._forests[self._chosen].first(self.n_estimators_)

    def _choose_nothing(self, budget: float | None) -> None:
        cheapest = min([self._least_cost, *self.curve_.cost])
        warnings.warn(
            f"no tree fits a budget of {budget:g}: the cheapest costs {cheapest:.6g} on average. The model answers with the "
            f"most frequent class, for nothing; give a budget of at least {cheapest:.6g}.",
            UserWarning,
            stacklevel=3,
        )
        self._chosen = 0
        self.impurity_, self.alpha_, self.n_estimators_ = None, None, 0
        self.validation_error_, self.validation_cost_ = self.curve_.baseline_error, 0.0
        self.forest_ = self._no_trees()

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        """The points on the frontier of the validation curve, measured on other rows."""
        rows = self._encode_rows(X, y)
        chosen = self.curve_.frontier()
        measured = forest_curve(self._forests, self._impurities, [self.voting] * len(self._forests), rows, self)
        first = np.concatenate([[0], np.cumsum([f.n_trees for f in self._forests])])
        return measured.take(first[chosen.variant] + chosen.n_trees - 1)


def _stratified_mask(labels: NDArray[np.int32], fraction: float, seed: int) -> NDArray[np.bool_]:
    """Which rows to set aside: the same share of every class, rounded; every class keeps at least one row."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**31,)))
    mask = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        mask[rows[: min(int(round(fraction * len(rows))), len(rows) - 1)]] = True
    return mask
