"""PenalizedForestClassifier: a random forest whose splits pay for features that no tree has bought yet."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frugalforest.estimators.base import Floats
from frugalforest.estimators.checks import check_choice, check_flag, check_numbers, check_whole_number
from frugalforest.estimators.choosing import ChoosingForestBase, limit_of
from frugalforest.estimators.ledger import LedgerPlan
from frugalforest.estimators.problem import Problem, Rows
from frugalforest.estimators.tradeoff_path import PathGrower, Walk, search_from, walk_through
from frugalforest.estimators.variants import Penalty, Variant
from frugalforest.evaluation import CostCurve
from frugalforest.forest import Forest
from frugalforest.growing import Growth, TrainingSet, tree_seeds
from frugalforest.growing.params import Thresholds
from frugalforest.growing.seeds import root_seed
from frugalforest.impurities import Entropy, Gini

CHOSEN = ("curve_", "variants_", "max_budget_", "validation_error_", "validation_cost_")


class PenalizedForestClassifier(ChoosingForestBase):
    """Random forest whose splits are charged for new features (Thomas: Feature Cost Sensitive Random Forest).

    The score of a split on feature i of node N is its gain less what the feature adds to the bill of the forest so far:

        score = H(N) - H(N | split) - tradeoff * C(i | used)                             Thomas, equation (3)

    H is the entropy of the node in bits, `used` are the features of all nodes before this one, in preorder, and of all
    trees before this one; a feature that is used, or whose group is, costs less or nothing. Trees are grown one after
    the other, so that later ones make do with what the first have bought. (The paper's algorithm prints argmin; the
    largest score is meant.) With tradeoff 0 this is StandardForestClassifier(criterion="entropy"), tree for tree.

    A node whose best score is not above 0 splits on the best feature that is free by then, and is a leaf if there is
    none: a tradeoff that no gain is worth buys nothing. The paper's algorithm has no such rule and splits on the best
    score all the same, which is `at_a_loss=True`. Where the gains of first splits are small (two classes), only that
    leads to forests of middling cost: without it the first feature is either bought, and many more below it, or not.

    One number as `tradeoff` and no budget: one forest, grown from all rows. Several numbers, "auto", or a budget: a
    forest for each tradeoff, and every (tradeoff, number of trees) is a point of `curve_`, measured on validation rows;
    the one of least error within the budget becomes the model, of equals the cheapest.

    Parameters
    ----------
    tradeoff : float, list of float or "auto", default=0.1
        Bits of gain that a unit of money is worth. A list: validation chooses. "auto": so it does from a path between
        buying nothing and buying everything. With a budget, one number is not used: tradeoffs are looked for.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X.
    budget : float, default=None
        Average cost per row at prediction; None: no limit. Unless `tradeoff` is a list, tradeoffs are searched from
        large to small until the average bill of the validation rows exceeds it, then between the last two.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Features drawn per node: None for all (FFS), "sqrt" (RFS). Random ones make it hard to use the same few again.
    complementary : {False, True, "printed"}, default=False
        Draw rows for the next tree by 1 - the share of right out-of-bag votes so far, so that it complements the
        others. "printed": by the share of right votes of all trees, as Algorithm 3 of the paper has it in print.
    at_a_loss : bool or "auto", default="auto"
        Whether a node is split on the best score even if that is not above 0, as in the paper. "auto": not, but where
        tradeoffs are looked for, forests of both kinds are grown and validation chooses.
    rounds : int, default=None
        Grow up to so many trees at a time against the same ledger: what trees of one round buy is free for the next
        round only. Rounds begin with a single tree and double. None: one tree after the other; with several threads,
        trees are grown ahead and grown again if one before them buys something, so the forest is the same.
    n_estimators : int, default=100
        Number of trees, of each tradeoff.
    criterion : {"entropy", "gini"}, default="entropy"
        Impurity whose decrease is the gain.
    skip_constant_features : bool, default=False
        Draw until max_features features are found that are not constant in the node.
    thresholds : {"all", "random"}, default="all"
        Thresholds tried per feature: all, or 80 / 40 / 20 random ones in nodes of > 2000 / > 500 / fewer rows.
    bootstrap : bool, default=True
        Grow each tree from rows drawn with replacement; otherwise from all rows.
    validation_fraction : float, default=0.25
        Share of the rows, the same of every class, set aside where something is to be chosen; not used with `eval_set`.
    max_depth : int, default=None
        Depth of a tree, at most; None: no limit.
    min_samples_split : int, default=2
        Rows (bootstrap draws) that a node needs to be split.
    min_samples_leaf : int, default=1
        Rows (bootstrap draws) that each side of a split needs.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's weight that each side of a split needs; splits that leave less are undone.
    voting : {"soft", "hard"}, default="soft"
        "soft" averages the class shares of leaves, "hard" counts their majority votes.
    stop : {"all", "label"}, default="all"
        What a row buys: "all" that the trees read on its way, or only what settles its "label", which is the same. The
        budget is compared with the bill of this rule; probabilities are estimates with "label".
    class_weight : "balanced", dict class -> weight, or None, default=None
        Multiplies the weight of the rows of a class in growing; 0 leaves them out.
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
        1 shows a progress bar for each tradeoff.

    Attributes
    ----------
    tradeoff_, at_a_loss_, n_estimators_ : float, bool and int
        How the trees were grown, and how many they are. Without trees: None, None, 0.
    forest_ : Forest
        The trees.
    curve_ : CostCurve
        Every (tradeoff, number of trees), measured on the validation rows; only where there are any. Its `variants`
        say the tradeoffs. Errors are weighted by sample_weight, bills are plain means over rows.
    validation_error_, validation_cost_ : float
        Of the chosen point; only where there are validation rows.
    max_budget_ : float
        The largest budget that `at_budget` can answer: infinite if no forest was cut short.
    variants_ : tuple of Variant
        The forest of each tradeoff, all of its trees within the budget; only where there are validation rows.
    feature_costs_ : FeatureCosts
        Prices in the order of the columns.
    classes_ : ndarray of shape (n_classes,)
        Labels, in the order of the columns of `predict_proba`.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows, by weight: the answer of a model without trees.
    feature_importances_, importances_per_cost_ : ndarray of shape (n_features,)
        Share in the decrease of Gini impurity; the same per unit of money.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names.
    encoder_ : FeatureEncoder
        How columns become numbers.
    oob_score_, oob_cost_, oob_decision_function_ : float, float and ndarray of shape (n_training_rows, n_classes)
        Out-of-bag accuracy, average bill and class probabilities, with oob_score=True, of the rows that were not set
        aside. About 37 % of the trees judge a row, so this is the bill of a forest of that size.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = PenalizedForestClassifier(0.2, feature_costs=[1, 1, 2, 2], random_state=0).fit(X, y)
    >>> model.acquisition_cost(X).max().item()
    2.0
    """

    tradeoff_: float | None
    at_a_loss_: bool | None

    def __init__(
        self,
        tradeoff: Any = 0.1,
        *,
        feature_costs: Any = None,
        budget: float | None = None,
        max_features: Any = None,
        complementary: Literal[False, True, "printed"] = False,
        at_a_loss: Literal[False, True, "auto"] = "auto",
        rounds: int | None = None,
        n_estimators: int = 100,
        criterion: Literal["entropy", "gini"] = "entropy",
        skip_constant_features: bool = False,
        thresholds: Thresholds = "all",
        bootstrap: bool = True,
        validation_fraction: float = 0.25,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
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
        self.tradeoff = tradeoff
        self.feature_costs = feature_costs
        self.budget = budget
        self.max_features = max_features
        self.complementary = complementary
        self.at_a_loss = at_a_loss
        self.rounds = rounds
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.skip_constant_features = skip_constant_features
        self.thresholds = thresholds
        self.bootstrap = bootstrap
        self.validation_fraction = validation_fraction
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.voting = voting
        self.stop = stop
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_bins = max_bins
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Grow the forest, or a path of forests to choose from.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), default=None
            A row of weight 2 counts as two rows (the bootstrap still draws it as one), one of weight 0 is left out.
        eval_set : (X_val, y_val), default=None
            Rows to choose the point with; replaces the internal split.

        Returns
        -------
        self
            After Ctrl-C the model is chosen from the trees grown so far, and KeyboardInterrupt is raised.
        """
        self._check_parameters()
        problem = self._learn(X, y, sample_weight)
        seed = root_seed(self.random_state)
        chooses = eval_set is not None or self._searches() or self._has_several_tradeoffs()
        train, validation = self._split(problem, eval_set, seed) if chooses else (problem.rows, None)
        training_set = problem.binned(train, max_bins=self.max_bins, seed=seed, n_threads=self._n_threads())
        path = self._path(problem, training_set, train, validation, seed)
        interrupted = path.grow(self._walk(problem))
        self._keep(problem, path, train, validation)
        if interrupted:
            n_trees = sum(variant.n_trees for variant in path.variants)
            raise KeyboardInterrupt(f"stopped after {n_trees} trees; the model is the best of these")
        if self.n_estimators_ == 0:
            self._warn_no_tree()
        return self

    def at_budget(self, budget: float | None) -> Self:
        """The best model within another budget, from the trees already grown; this one stays as it is.

        Budgets up to `max_budget_` can be asked for. Out-of-bag estimates are not carried over.
        """
        check_is_fitted(self)
        if not hasattr(self, "curve_"):
            raise ValueError(
                "this forest was fitted without rows to choose with; fit with a budget, several tradeoffs, "
                'tradeoff="auto" or eval_set, then ask for smaller budgets.'
            )
        return super().at_budget(budget)

    # ---- steps of fit

    def _check_parameters(self) -> None:
        self._check_common()
        self._check_choosing()
        if not _is_auto(self.tradeoff):
            check_numbers(self.tradeoff, "tradeoff", 0, or_auto=True)
        check_choice(self.criterion, "criterion", ("entropy", "gini"))
        check_flag(self.skip_constant_features, "skip_constant_features")
        check_whole_number(self.rounds, "rounds", 1, or_none=True)
        _check_flag_or(self.at_a_loss, "at_a_loss", "auto")
        _check_flag_or(self.complementary, "complementary", "printed")
        if self.complementary and not self.bootstrap:
            raise ValueError("complementary training needs bootstrap=True: it decides which rows a tree is grown from.")

    def _has_several_tradeoffs(self) -> bool:
        return np.ndim(self.tradeoff) > 0

    def _searches(self) -> bool:
        """Whether tradeoffs are looked for."""
        return _is_auto(self.tradeoff) or (self.budget is not None and not self._has_several_tradeoffs())

    def _walk(self, problem: Problem) -> Walk:
        """Which forests are grown."""
        at_a_loss = False if _is_auto(self.at_a_loss) else bool(self.at_a_loss)
        if not self._searches():
            tradeoffs = dict.fromkeys(float(tradeoff) for tradeoff in np.atleast_1d(self.tradeoff))
            return walk_through([Penalty(tradeoff, at_a_loss) for tradeoff in tradeoffs])
        prices = problem.costs.alone[problem.costs.alone > 0]
        if len(prices) == 0:
            return walk_through([Penalty(0.0)])
        largest_gain = np.log2(problem.n_classes)
        return search_from(
            float(largest_gain / prices.min()), [False, True] if _is_auto(self.at_a_loss) else [at_a_loss]
        )

    def _path(
        self, problem: Problem, training_set: TrainingSet, train: Rows, validation: Rows | None, seed: int
    ) -> PathGrower:
        plan = LedgerPlan(
            training_set=training_set,
            rows=train,
            costs=problem.costs,
            seeds=tree_seeds(seed, self.n_estimators),
            rounds=self.rounds,
            complementary=self.complementary,
            min_leaf_share=self.min_weight_fraction_leaf,
            no_trees=Forest.without_trees(problem.n_features, problem.n_classes),
            n_threads=self._n_threads(),
        )
        measure = _measure_nothing if validation is None else self._measure_on(validation, problem)
        budget = np.inf if validation is None else limit_of(self.budget)
        return PathGrower(plan, self._growth(problem), measure, budget, self.verbose, type(self).__name__)

    def _growth(self, problem: Problem) -> Growth:
        return Growth(
            impurity=Gini() if self.criterion == "gini" else Entropy(),
            splitting="expected",
            objective="penalized",
            charge="ledger",
            repeat_charge=0.0,
            skip_constants=self.skip_constant_features,
            **self._common_growth(problem.n_features),
        )

    def _keep(self, problem: Problem, path: PathGrower, train: Rows, validation: Rows | None) -> None:
        self._keep_problem(problem)
        if validation is None:
            self._keep_only(path.variants[0])
            chosen: Variant | None = path.variants[0]
        else:
            chosen = self._keep_variants(tuple(path.variants), validation)
        if self.oob_score:
            grower = path.growers[0 if chosen is None else path.variants.index(chosen)]
            self._keep_oob(train, grower.in_bag(self.n_estimators_))

    def _keep_only(self, variant: Variant) -> None:
        """Keep the one forest of a fit that chooses nothing; traces of one that did go."""
        for name in CHOSEN:
            self.__dict__.pop(name, None)
        assert isinstance(variant.recipe, Penalty)
        self._keep_recipe(variant.recipe)
        self.forest_, self.n_estimators_ = variant.forest, variant.n_trees

    def _keep_recipe(self, recipe: Penalty | None) -> None:
        self.tradeoff_ = None if recipe is None else recipe.tradeoff
        self.at_a_loss_ = None if recipe is None else recipe.at_a_loss

    def _cost_curve(self, X: Any, y: Any) -> CostCurve:
        if hasattr(self, "curve_"):
            return super()._cost_curve(X, y)
        return super(ChoosingForestBase, self)._cost_curve(X, y)


def _measure_nothing(forest: Forest, sizes: list[int]) -> tuple[Floats, Floats]:
    """The measurement of a forest that nobody has to choose."""
    return np.zeros(forest.n_trees), np.zeros(forest.n_trees)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _check_flag_or(value: Any, name: str, word: str) -> None:
    if not isinstance(value, bool | np.bool_) and not (isinstance(value, str) and value == word):
        raise ValueError(f"{name} is {value!r}; expected True, False or {word!r}.")
