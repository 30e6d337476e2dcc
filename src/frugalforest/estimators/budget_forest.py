"""BudgetForestClassifier: BudgetRF, forests of cheap trees grown until an average bill is reached."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from frugalforest import _core
from frugalforest.estimators.checks import check_choice, check_number, check_numbers
from frugalforest.estimators.choosing import ChoosingForestBase, limit_of
from frugalforest.estimators.problem import Problem, Rows
from frugalforest.estimators.variants import Recipe, Variant, VariantGrower
from frugalforest.forest import Forest
from frugalforest.growing import Growth, TrainingSet, tree_seeds
from frugalforest.growing.params import Charge, Splitting, Thresholds
from frugalforest.growing.seeds import root_seed
from frugalforest.impurities import ThresholdPairs, evaluate

PAPER_ALPHAS = (0, 2, 4, 6, 8, 10, 15, 25, 35, 45)


class BudgetForestClassifier(ChoosingForestBase):
    """Random forest for an average feature budget (Nan, Wang, Saligrama 2015: BudgetRF).

    Trees split on the feature and threshold of least risk, cost over the impurity that is removed for certain:

        R(t) = c(t) / (F(S) - max_i F(S_i))

    For each impurity of a family (threshold-Pairs with rising alpha: shallower and cheaper trees) trees are added until
    the average bill of the validation rows exceeds the budget. Every (impurity, number of trees) is a point of
    `curve_`; the one of least validation error within the budget becomes the model, of equals the cheapest. A row pays
    for each feature once, over all trees.

    A budget below the cheapest tree leaves the free answer, the most frequent class, with a warning that says which
    budget is the least possible. Trees without any split are that same answer: they are no points of the curve, unless
    no other tree was grown.

    Parameters
    ----------
    budget : float, default=None
        Average cost per row at prediction; None: no limit.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X.
    alpha : "auto", float or list of float, default="auto"
        The thresholds of threshold-Pairs that validation chooses from; they are compared with (weighted) numbers of
        rows. "auto": 0 to 45 as in the paper, and beyond while the first tree exceeds the budget.
    n_estimators : int, default=100
        Trees per impurity, at most.
    impurity : impurity, list of impurities or None, default=None
        None: threshold-Pairs with `alpha`. Otherwise one or several of frugalforest.impurities, or functions of class
        counts (n_sets, n_classes) -> (n_sets,); `alpha` is then not used.
    splitting : {"minimax", "expected"}, default="minimax"
        Judge a split by its worse side (the paper), or by both, weighted by size.
    thresholds : {"all", "random"}, default="all"
        Thresholds tried per feature: all, or the paper's 80 / 40 / 20 random ones in nodes of > 2000 / > 500 / fewer
        rows.
    charge : {"always", "path", "forest"}, default="always"
        What a split is charged while growing: "always" the price alone, "path" less for features the path has paid,
        "forest" less for features the node's rows have paid in earlier trees (grown in rounds of 16).
    price_power : float or list of float, default=1.0
        Splits are charged prices to this power, from 0 (all features charged the same, free ones excepted) to 1 (the
        paper); bills are not changed. Each power is a family of its own for validation to choose from. Impurities of
        this kind shrink with the node, so any split removes much of them, and cheap noise beats a dear feature that
        decides everything once the ratio of their prices is above 4 / 3: with unequal prices give [1, 0].
    repeat_charge : float, default=0.5
        The share of its price that a paid feature is charged again, for "path" and "forest".
    bootstrap : bool, default=True
        Grow each tree from rows drawn with replacement; otherwise from all rows.
    validation_fraction : float, default=0.25
        Share of the rows, the same of every class, set aside to choose the point; not used with `eval_set`.
    max_depth : int, default=None
        Depth of a tree, at most; None: no limit.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Features tried per node: a number, a share, or None for all (the paper).
    min_samples_split : int, default=2
        Rows (bootstrap draws) that a node needs to be split.
    min_samples_leaf : int, default=1
        Rows (bootstrap draws) that each side of a split needs.
    min_weight_fraction_leaf : float, default=0.0
        Share of the tree's weight that each side of a split needs; splits that leave less are undone.
    voting : {"hard", "soft"}, default="hard"
        "hard" counts the majority votes of leaves (the paper), "soft" averages their class shares.
    stop : {"all", "label"}, default="all"
        What a row buys: "all" that the trees read on its way, or only what settles its "label", which is the same. The
        budget is compared with the bill of this rule, so "label" carries more trees for the same money; probabilities
        are estimates then.
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
        1 shows a progress bar for each impurity.

    Attributes
    ----------
    curve_ : CostCurve
        Every (impurity, price power, number of trees), measured on the validation rows. Errors are weighted by
        sample_weight, bills are plain means over rows.
    impurity_, alpha_, price_power_, n_estimators_ : impurity, float, float and int
        The chosen point; alpha_ is None for other impurities. Without trees: None, None, None, 0.
    validation_error_, validation_cost_ : float
        Of the chosen point.
    max_budget_ : float
        The largest budget that `at_budget` can answer: infinite if no forest was cut short.
    variants_ : tuple of Variant
        The forest of each (impurity, price power), all of its trees within the budget.
    forest_ : Forest
        The chosen trees.
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
    >>> model = BudgetForestClassifier(budget=2.5, feature_costs=[1, 1, 2, 2], random_state=0).fit(X, y)
    >>> bool(model.validation_cost_ <= 2.5)
    True
    """

    impurity_: Any
    alpha_: float | None
    price_power_: float | None

    def __init__(
        self,
        budget: float | None = None,
        *,
        feature_costs: Any = None,
        alpha: Any = "auto",
        n_estimators: int = 100,
        impurity: Any = None,
        splitting: Splitting = "minimax",
        thresholds: Thresholds = "all",
        charge: Charge = "always",
        price_power: float | Sequence[float] = 1.0,
        repeat_charge: float = 0.5,
        bootstrap: bool = True,
        validation_fraction: float = 0.25,
        max_depth: int | None = None,
        max_features: Any = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        voting: Literal["hard", "soft"] = "hard",
        stop: Literal["all", "label"] = "all",
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
        self.price_power = price_power
        self.repeat_charge = repeat_charge
        self.bootstrap = bootstrap
        self.validation_fraction = validation_fraction
        self.max_depth = max_depth
        self.max_features = max_features
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
        """Grow the forests and choose a point.

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
        families = self._recipes(problem)
        seed = root_seed(self.random_state)
        train, validation = self._split(problem, eval_set, seed)
        training_set = problem.binned(train, max_bins=self.max_bins, seed=seed, n_threads=self._n_threads())
        grower = self._grower(problem, training_set, train, validation)
        variants, interrupted = self._grow_variants(grower, families, seed)
        self._keep(problem, variants, train, validation)
        if interrupted:
            raise KeyboardInterrupt(
                f"stopped after {sum(v.n_trees for v in variants)} trees; the model is the best of these"
            )
        if self.n_estimators_ == 0:
            self._warn_no_tree()
        return self

    # ---- steps of fit

    def _check_parameters(self) -> None:
        self._check_common()
        self._check_choosing()
        check_choice(self.splitting, "splitting", ("minimax", "expected"))
        check_choice(self.charge, "charge", ("always", "path", "forest"))
        check_number(self.repeat_charge, "repeat_charge", 0, at_most=1)
        if self.impurity is None and not self._chooses_alpha():
            check_numbers(self.alpha, "alpha", 0, or_auto=True)
        check_numbers(self.price_power, "price_power", 0, at_most=1)

    def _chooses_alpha(self) -> bool:
        return self.impurity is None and isinstance(self.alpha, str) and self.alpha == "auto"

    def _recipes(self, problem: Problem) -> list[list[Recipe]]:
        """What to grow: for each price power, one recipe per impurity. Impurities are tried out on a few sets."""
        impurities = self._impurities()
        for impurity in impurities:
            _try_out(impurity, problem.n_classes)
            self._growth(problem, impurity).impurity_for_core(problem.n_classes)
        powers = [float(power) for power in np.atleast_1d(self.price_power)]
        if len(np.unique(problem.costs.alone[problem.costs.alone > 0])) <= 1:
            powers = powers[:1]  # all prices are the same, and stay so
        return [[Recipe(impurity, power) for impurity in impurities] for power in powers]

    def _impurities(self) -> list[Any]:
        if self._chooses_alpha():
            return [ThresholdPairs(alpha) for alpha in PAPER_ALPHAS]
        if self.impurity is None:
            return [ThresholdPairs(float(alpha)) for alpha in np.atleast_1d(self.alpha)]
        several = isinstance(self.impurity, Sequence) and not isinstance(self.impurity, str)
        if several and len(self.impurity) == 0:
            raise ValueError("impurity is an empty list; give at least one impurity, or None for threshold-Pairs.")
        return list(self.impurity) if several else [self.impurity]

    def _growth(self, problem: Problem, impurity: Any) -> Growth:
        return Growth(
            impurity=impurity,
            splitting=self.splitting,
            charge=self.charge,
            repeat_charge=self.repeat_charge,
            **self._common_growth(problem.n_features),
        )

    def _grower(self, problem: Problem, training_set: TrainingSet, train: Rows, validation: Rows) -> VariantGrower:
        return VariantGrower(
            training_set,
            train,
            self._growth(problem, ThresholdPairs()),
            problem.costs,
            measure=self._measure_on(validation, problem),
            no_trees=Forest.without_trees(problem.n_features, problem.n_classes),
            budget=limit_of(self.budget),
            min_leaf_share=self.min_weight_fraction_leaf,
            n_threads=self._n_threads(),
            verbose=self.verbose,
        )

    def _grow_variants(
        self, grower: VariantGrower, families: list[list[Recipe]], seed: int
    ) -> tuple[tuple[Variant, ...], bool]:
        """A forest for each recipe -> variants, whether Ctrl-C cut it short."""
        variants: list[Variant] = []
        for number, family in enumerate(families):
            waiting = deque(enumerate(family))
            while waiting:
                i, recipe = waiting.popleft()
                key = (i, number) if number else (i,)  # whatever else is grown, a recipe has its own seeds
                try:
                    variant, interrupted = grower.grow(recipe, tree_seeds(seed, self.n_estimators, *key))
                except KeyboardInterrupt:
                    if not variants:
                        raise
                    return tuple(variants), True
                variants.append(variant)
                if interrupted:
                    return tuple(variants), True
                if not waiting and variant.n_trees == 0:
                    waiting.extend((i + 1, further) for further in self._beyond(recipe, len(grower.train)))
        return tuple(variants), False

    def _beyond(self, recipe: Recipe, n_rows: int) -> list[Recipe]:
        """While even the last alpha's first tree exceeds the budget, twice that alpha, up to the rows there are."""
        if not self._chooses_alpha():
            return []
        alpha = 2 * recipe.impurity.alpha
        return [replace(recipe, impurity=ThresholdPairs(alpha))] if alpha < n_rows else []

    def _keep(self, problem: Problem, variants: tuple[Variant, ...], train: Rows, validation: Rows) -> None:
        self._keep_problem(problem)
        chosen = self._keep_variants(variants, validation)
        if self.oob_score:
            seeds = np.zeros(0, np.uint64) if chosen is None else chosen.seeds[: self.n_estimators_]
            self._keep_oob(train, _core.in_bag(seeds, len(train)))

    def _keep_recipe(self, recipe: Recipe | None) -> None:
        self.impurity_ = None if recipe is None else recipe.impurity
        self.alpha_ = getattr(self.impurity_, "alpha", None)
        self.price_power_ = None if recipe is None else recipe.price_power


def _try_out(impurity: Any, n_classes: int) -> None:
    """Refuse anything but a function that gives one finite number for each set."""
    if not callable(impurity) or isinstance(impurity, type):
        raise TypeError(
            f"impurity is {impurity!r}; expected one of frugalforest.impurities, such as Powers(2), or a function of "
            "class counts."
        )
    sets = np.array([np.zeros(n_classes), np.ones(n_classes), np.arange(n_classes)], dtype=np.float64)
    values = evaluate(impurity, sets)
    if not np.isfinite(values).all():
        raise ValueError(
            f"the impurity {impurity!r} gave {values.tolist()} for the class counts {sets.tolist()}; "
            "expected finite numbers, also for the empty set."
        )
