"""StandardForestClassifier: Breiman's random forest with a bill."""

from __future__ import annotations

from typing import Any, Literal, Self

from frugalforest import _core
from frugalforest.estimators.base import ForestClassifierBase
from frugalforest.estimators.checks import check_choice, check_flag, check_number, check_whole_number
from frugalforest.estimators.light_leaves import without_light_leaves
from frugalforest.estimators.problem import Problem
from frugalforest.forest import Forest
from frugalforest.growing import Growth, TrainingSet, grow, tree_seeds
from frugalforest.growing.params import Thresholds
from frugalforest.growing.progress import progress_bar
from frugalforest.growing.seeds import Seeds, root_seed
from frugalforest.impurities import Entropy, Gini


class StandardForestClassifier(ForestClassifierBase):
    """Breiman's random forest: best Gini or entropy gain among some features per node, costs ignored in training.

    The baseline of every comparison, and the engine of the selectors. Trees are grown on at most 255 bins per feature,
    NaN is a value of its own, and categorical columns are split natively.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy"}, default="gini"
        Impurity whose decrease a split is chosen by.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn per node: a number, a share, or None for all.
    skip_constant_features : bool, default=False
        Draw until max_features features are found that are not constant in the node. Breiman's forest, and
        scikit-learn's, count constant ones too; with many one-hot columns this is the better forest, and dearer.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost, for the bill; None: every feature costs 1. Costs with names follow the columns of X.
    max_depth : int, default=None
        Depth of a tree, at most; None: no limit.
    min_samples_split : int, default=2
        Rows (bootstrap draws) that a node needs to be split.
    min_samples_leaf : int, default=1
        Rows (bootstrap draws) that each side of a split needs.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's weight that each side of a split needs; splits that leave less are undone. With large
        `class_weight` this keeps leaves from holding nothing but rows that hardly count.
    max_distinct_features : int, default=None
        Features that a tree may use, at most.
    max_tree_cost : float, default=None
        What the features of a tree may cost together, at most.
    thresholds : {"all", "random"}, default="all"
        Thresholds tried per feature: all, or 80 / 40 / 20 random ones in nodes of > 2000 / > 500 / fewer rows.
    bootstrap : bool, default=True
        Grow each tree from rows drawn with replacement; otherwise from all rows.
    voting : {"soft", "hard"}, default="soft"
        "soft" averages the class shares of leaves, "hard" counts their majority votes.
    stop : {"all", "label"}, default="all"
        What a row buys: "all" that the trees read on its way, or only what settles its "label", which is the same;
        probabilities are estimates then.
    class_weight : "balanced", dict class -> weight, or None, default=None
        Multiplies the weight of the rows of a class; 0 leaves them out.
    categorical_features : array of str, int or bool, default=None
        Names, positions or a mask of columns that hold categories, besides those whose type says so.
    max_bins : int, default=255
        Bins per numeric feature, 2 to 255.
    oob_score : bool, default=False
        Also estimate accuracy and bill from the trees that have not seen a row.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn; the forest does not depend on it.
    random_state : int, RandomState or None, default=None
        The same number gives the same forest.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    feature_costs_ : FeatureCosts
        Prices in the order of the columns.
    classes_ : ndarray of shape (n_classes,)
        Labels, in the order of the columns of `predict_proba`.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows, by weight.
    feature_importances_, importances_per_cost_ : ndarray of shape (n_features,)
        Share in the decrease of Gini impurity; the same per unit of money.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names.
    encoder_ : FeatureEncoder
        How columns become numbers.
    oob_score_, oob_cost_ : float
        Out-of-bag accuracy and average bill, with oob_score=True. About 37 % of the trees judge a row, so this is the
        bill of a forest of that size.
    oob_decision_function_ : ndarray of shape (n_rows, n_classes)
        Out-of-bag class probabilities; NaN for a row that every tree has seen. Rows without weight are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StandardForestClassifier(n_estimators=10, feature_costs=[1, 1, 2, 2], random_state=0).fit(X, y)
    >>> label, bill = model.predict_with_cost(X[:1])
    >>> label.item(), bill.item()
    (0, 6.0)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["gini", "entropy"] = "gini",
        max_features: Any = "sqrt",
        skip_constant_features: bool = False,
        feature_costs: Any = None,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_distinct_features: int | None = None,
        max_tree_cost: float | None = None,
        thresholds: Thresholds = "all",
        bootstrap: bool = True,
        voting: Literal["soft", "hard"] = "soft",
        stop: Literal["all", "label"] = "all",
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
        self.skip_constant_features = skip_constant_features
        self.feature_costs = feature_costs
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_distinct_features = max_distinct_features
        self.max_tree_cost = max_tree_cost
        self.thresholds = thresholds
        self.bootstrap = bootstrap
        self.voting = voting
        self.stop = stop
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), default=None
            A row of weight 2 counts as two rows (the bootstrap still draws it as one), one of weight 0 is left out.

        Returns
        -------
        self
            After Ctrl-C the model holds the trees grown so far, and KeyboardInterrupt is raised.
        """
        self._check_parameters()
        problem = self._learn(X, y, sample_weight)
        growth = self._growth(problem.n_features)
        seed = root_seed(self.random_state)
        training_set = problem.binned(problem.rows, max_bins=self.max_bins, seed=seed, n_threads=self._n_threads())
        forest, interrupted = self._grow(training_set, growth, problem, tree_seeds(seed, self.n_estimators))
        self._keep(problem, forest, tree_seeds(seed, forest.n_trees))
        if interrupted:
            raise KeyboardInterrupt(
                f"stopped after {forest.n_trees} of {self.n_estimators} trees; the model holds these"
            )
        return self

    def _check_parameters(self) -> None:
        self._check_common()
        check_choice(self.criterion, "criterion", ("gini", "entropy"))
        check_flag(self.skip_constant_features, "skip_constant_features")
        check_whole_number(self.max_distinct_features, "max_distinct_features", 1, or_none=True)
        check_number(self.max_tree_cost, "max_tree_cost", 0, or_none=True)

    def _growth(self, n_features: int) -> Growth:
        return Growth(
            impurity=Gini() if self.criterion == "gini" else Entropy(),
            splitting="expected",
            objective="penalized",
            skip_constants=self.skip_constant_features,
            max_distinct_features=self.max_distinct_features,
            max_tree_cost=self.max_tree_cost,
            **self._common_growth(n_features),
        )

    def _grow(self, training_set: TrainingSet, growth: Growth, problem: Problem, seeds: Seeds) -> tuple[Forest, bool]:
        """One tree per seed -> forest, whether Ctrl-C cut it short."""
        with progress_bar(self.verbose, len(seeds), type(self).__name__) as show:
            grown = grow(training_set, growth, problem.costs, seeds, n_threads=self._n_threads(), on_progress=show)
            if show is not None:
                show(grown.n_trees)
        if grown.n_trees == 0:
            raise KeyboardInterrupt
        forest = Forest.from_arrays(grown.arrays, problem.n_features)
        return without_light_leaves(forest, self.min_weight_fraction_leaf), grown.interrupted

    def _keep(self, problem: Problem, forest: Forest, seeds: Seeds) -> None:
        self._keep_problem(problem)
        self.forest_ = forest
        if self.oob_score:
            self._keep_oob(problem.rows, _core.in_bag(seeds, len(problem.rows)))
