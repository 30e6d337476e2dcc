"""StandardForestClassifier: Breiman's random forest with a bill."""

from __future__ import annotations

from typing import Any, Self

from frugalforest.estimators.base import ForestClassifierBase
from frugalforest.estimators.checks import check_choice, check_number, check_whole_number, resolve_max_features
from frugalforest.forest import Forest
from frugalforest.growing import Growth, grow, tree_seeds
from frugalforest.growing.progress import progress_bar
from frugalforest.impurities import Entropy, Gini


class StandardForestClassifier(ForestClassifierBase):
    """Breiman's random forest: best Gini or entropy gain among some features per node, costs ignored in training.

    The baseline of every comparison, and the engine of the selectors. Trees are grown on at most 255 bins per feature,
    NaN is a value of its own, and categorical columns are split natively.

    Parameters
    ----------
    n_estimators : number of trees.
    criterion : "gini" or "entropy".
    max_features : features tried per node: "sqrt", "log2", a number, a share, or None for all.
    feature_costs : FeatureCosts, array, dict or Series; None: every feature costs 1. Used for the bill only.
    max_depth, min_samples_split, min_samples_leaf : limits of a tree; sizes count bootstrap draws.
    max_distinct_features, max_tree_cost : how many features a tree may use, and what they may cost together.
    thresholds : "all", or "random": 80 / 40 / 20 per feature in nodes of > 2000 / > 500 / fewer rows.
    bootstrap : draw a sample with replacement for each tree.
    voting : "soft" averages class shares of leaves, "hard" counts majority votes.
    class_weight : None, "balanced", or a dict class -> weight.
    categorical_features : names, positions or a mask of columns that hold categories, besides those whose type says so.
    max_bins : bins per numeric feature, at most 255.
    oob_score : also estimate accuracy and bill from the rows each tree has not seen.
    n_jobs : number of threads; the forest does not depend on it.
    random_state, verbose : as in scikit-learn.

    Attributes
    ----------
    forest_, feature_costs_, classes_, feature_importances_, importances_per_cost_,
    oob_score_, oob_cost_, oob_decision_function_ (with oob_score=True; a row's out-of-bag trees are about 37 % of the
    forest, so oob_cost_ is the bill of a forest of that size).
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_features: Any = "sqrt",
        feature_costs: Any = None,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_distinct_features: int | None = None,
        max_tree_cost: float | None = None,
        thresholds: str = "all",
        bootstrap: bool = True,
        voting: str = "soft",
        class_weight: Any = None,
        categorical_features: Any = None,
        max_bins: int = 255,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.feature_costs = feature_costs
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_distinct_features = max_distinct_features
        self.max_tree_cost = max_tree_cost
        self.thresholds = thresholds
        self.bootstrap = bootstrap
        self.voting = voting
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest. After Ctrl-C the trees grown so far are kept, and KeyboardInterrupt is raised."""
        self._check_parameters()
        rows = self._learn_rows(X, y, sample_weight)
        seed = self._seed()
        training_set = self._training_set(rows, seed)
        seeds = tree_seeds(seed, self.n_estimators)
        with progress_bar(self.verbose, self.n_estimators, type(self).__name__) as on_progress:
            grown = grow(
                training_set, self._growth(), self.feature_costs_, seeds, n_threads=self._n_threads(), on_progress=on_progress
            )
        if grown.interrupted and grown.n_trees == 0:
            raise KeyboardInterrupt
        self.forest_ = Forest.from_arrays(grown.arrays, self.n_features_in_)
        if self.oob_score:
            self._keep_oob(rows, seeds)
        if grown.interrupted:
            raise KeyboardInterrupt(f"stopped after {grown.n_trees} of {self.n_estimators} trees; the model holds these")
        return self

    def _check_parameters(self) -> None:
        self._check_common()
        check_choice(self.criterion, "criterion", ("gini", "entropy"))
        check_whole_number(self.max_distinct_features, "max_distinct_features", 1, or_none=True)
        check_number(self.max_tree_cost, "max_tree_cost", 0, or_none=True)

    def _growth(self) -> Growth:
        return Growth(
            impurity=Gini() if self.criterion == "gini" else Entropy(),
            splitting="expected",
            objective="penalized",
            thresholds=self.thresholds,
            max_depth=self.max_depth,
            max_features=resolve_max_features(self.max_features, self.n_features_in_),
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=self.min_samples_split,
            max_distinct_features=self.max_distinct_features,
            max_tree_cost=self.max_tree_cost,
            bootstrap=self.bootstrap,
        )
