"""GreedyMiserClassifier: boosted shallow trees that pay for a feature when the first of them uses it."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalforest.boosting import BoostOptions
from frugalforest.boosting.params import LossName
from frugalforest.boosting.training import Boosted, Trainer
from frugalforest.estimators.base import Mask
from frugalforest.estimators.boosting_base import BoostedClassifierBase
from frugalforest.estimators.checks import check_choice, check_number
from frugalforest.estimators.problem import Problem
from frugalforest.growing.seeds import root_seed


class GreedyMiserClassifier(BoostedClassifierBase):
    """Gradient boosting of shallow regression trees with feature costs (Xu, Weinberger, Chapelle 2012: Greedy Miser).

    Every tree is grown by the loss it takes off, minus the price of features that no tree so far has used:

        gain - tradeoff * (rows * cost of the feature, if it is new + rows in the node * evaluation_cost)

    A feature is paid once for the whole model, and for all rows: once used it is free, in every later split. So the
    model tends to a panel, the same features for every row; in `FrugalBoostingClassifier` each row pays for itself. The
    bill counts what a row's paths really read, as everywhere here; `panel_cost_` is what the paper counts.

    The paper charges for the evaluation of a tree; its trees have all the same depth, so that this changes nothing
    within a tree. Ours may stop anywhere, and each split is charged for the rows that have to pass it. Nodes are split
    best first, so that a feature bought in one node is free in all others at once.

    Parameters
    ----------
    tradeoff : float, default=0.01
        What a unit of money is worth, in loss, added over rows.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X.
    n_estimators : int, default=300
        Rounds: one tree each for two classes, else one per class.
    max_depth : int, default=4
        Depth of a tree, at most; None: no limit.
    learning_rate : float, default=0.1
        What the values of leaves are multiplied by.
    loss : {"squared", "log_loss"}, default="squared"
        Squared error of scores against +1 and -1, half of it, or log-loss. Probabilities of scores fitted by squares
        are 1 / (1 + exp(-2 m)), a monotone guess.
    evaluation_cost : float, default=0.0
        Money for each split that a row passes. Counted in growing only: bills are about features.
    min_samples_leaf : int, default=1
        Rows that each side of a split needs.
    stop : {"all", "label"}, default="all"
        What a row buys: "all" that the trees read on its way, or only what settles its "label", which is the same;
        probabilities are estimates then.
    class_weight : "balanced", dict class -> weight, or None, default=None
        Multiplies the loss of the rows of a class; 0 leaves them out.
    categorical_features : array of str, int or bool, default=None
        Names, positions or a mask of columns that hold categories, besides those whose type says so.
    max_bins : int, default=255
        Bins per numeric feature, 2 to 255.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn; the model does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the rows that bins are learned from, if there are more than 200,000.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    panel_mask_ : ndarray of shape (n_features,)
        Which features any tree uses.
    panel_cost_ : float
        What these cost together.
    n_estimators_ : int
        Rounds; fewer than asked for if nothing was left that pays.
    ensemble_ : Ensemble
        The trees, and what they add to scores.
    feature_costs_ : FeatureCosts
        Prices in the order of the columns.
    classes_ : ndarray of shape (n_classes,)
        Labels, in the order of the columns of `predict_proba`.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows, by weight.
    gain_by_feature_ : ndarray of shape (n_features,)
        What the splits on each feature took off the loss, to second order.
    feature_importances_, importances_per_cost_ : ndarray of shape (n_features,)
        Share in what splits took off the loss; the same per unit of money.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names.
    encoder_ : FeatureEncoder
        How columns become numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> cheap = GreedyMiserClassifier(tradeoff=0.05).fit(X, y)
    >>> dear = GreedyMiserClassifier(tradeoff=0.001).fit(X, y)
    >>> cheap.panel_cost_ < dear.panel_cost_
    True
    """

    def __init__(
        self,
        tradeoff: float = 0.01,
        *,
        feature_costs: Any = None,
        n_estimators: int = 300,
        max_depth: int | None = 4,
        learning_rate: float = 0.1,
        loss: LossName = "squared",
        evaluation_cost: float = 0.0,
        min_samples_leaf: int = 1,
        stop: Literal["all", "label"] = "all",
        class_weight: Any = None,
        categorical_features: Any = None,
        max_bins: int = 255,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.tradeoff = tradeoff
        self.feature_costs = feature_costs
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.loss = loss
        self.evaluation_cost = evaluation_cost
        self.min_samples_leaf = min_samples_leaf
        self.stop = stop
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add trees until there are enough, or none pays.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), default=None
            A row of weight 2 counts as two rows, in the loss and in what is paid; one of weight 0 is left out.

        Returns
        -------
        self
            After Ctrl-C the model holds the rounds trained so far, and KeyboardInterrupt is raised.
        """
        self._check_parameters()
        problem = self._learn(X, y, sample_weight)
        seed = root_seed(self.random_state)
        boosted, interrupted = self._trainer(problem, seed).train(float(self.tradeoff))
        self._keep(problem, boosted)
        if interrupted:
            raise KeyboardInterrupt(
                f"stopped after {boosted.n_rounds} of {self.n_estimators} rounds; the model holds these"
            )
        return self

    def _check_parameters(self) -> None:
        self._check_common()
        check_number(self.tradeoff, "tradeoff", 0)
        check_number(self.evaluation_cost, "evaluation_cost", 0)
        check_choice(self.loss, "loss", ("squared", "log_loss"))

    def _trainer(self, problem: Problem, seed: int) -> Trainer:
        options = BoostOptions(
            loss=self.loss,
            charge="forest",
            learning_rate=float(self.learning_rate),
            max_leaves=len(problem.rows) if self.max_depth is None else 2 ** min(self.max_depth, 30),
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            price_per_split=float(self.tradeoff) * float(self.evaluation_cost),
        )
        return Trainer(
            rows=self._boosting_rows(problem, problem.rows, self._bins(problem, problem.rows, seed)),
            audience=None,
            options=options,
            costs=problem.costs,
            n_rounds=self.n_estimators,
            seed=seed,
            n_threads=self._n_threads(),
            verbose=self.verbose,
            name=type(self).__name__,
        )

    def _keep(self, problem: Problem, boosted: Boosted) -> None:
        self._keep_problem(problem)
        self._keep_trees(boosted.base, boosted.trees, self.loss)

    @property
    def panel_mask_(self) -> Mask:
        """Which features any tree uses, (n_features,)."""
        check_is_fitted(self)
        forest = self.ensemble_.forest
        return np.isin(np.arange(self.n_features_in_), forest.feature)

    @property
    def panel_cost_(self) -> float:
        """What the features that any tree uses cost together."""
        return self.feature_costs_.of(self.panel_mask_)
