"""FrugalBoostingClassifier: gradient boosting in which a split pays for the rows that have not paid for its feature."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from frugalforest.boosting import BoostingRows, BoostOptions
from frugalforest.boosting.path import Path, largest_tradeoff
from frugalforest.boosting.training import Before, Boosted, Trainer
from frugalforest.cascades.folds import stratified_folds
from frugalforest.estimators.boosted_records import with_label_bills, with_sooner_ends
from frugalforest.estimators.checks import check_flag, check_number, check_validation_fraction, check_whole_number
from frugalforest.estimators.choosing import limit_of
from frugalforest.estimators.choosing_boosters import ChoosingBoosterBase
from frugalforest.estimators.constraints import interaction_sets, monotone_signs
from frugalforest.estimators.fold_boosters import FoldBoosters
from frugalforest.estimators.problem import Problem, Rows, set_aside, validation_rows
from frugalforest.growing.seeds import root_seed

Train = Callable[[float, float], tuple[Boosted, bool]]  # trade-off, budget -> booster, whether Ctrl-C cut it short


class FrugalBoostingClassifier(ChoosingBoosterBase):
    """Histogram gradient boosting for an average feature budget, or at a price for money.

    Trees are grown best leaf first. A split is worth what the loss falls by, minus what the rows of its node pay:

        gain - tradeoff * sum over rows that have not paid for the feature of its marginal cost

    A row pays for a feature once, over all trees and classes, and for a group once, whichever member asks first. This
    is the lazy penalty of Peter et al. (2017) and of LightGBM, with accounts that stay right under sampling,
    constraints and continued training, and with groups.

    `tradeoff` is log-loss (in nats, added over rows) per unit of money. `budget` searches for the trade-off on
    validation rows: every (trade-off, number of rounds) is a point of `curve_`, and the one of least validation loss
    within the budget becomes the model, of equals the cheapest. Trees keep to the budget while they grow: splits that
    it is too small for are not taken, and when it is spent, further rounds use what rows have paid for. With neither,
    features are free in training.

    Parameters
    ----------
    budget : float, default=None
        Average cost per row at prediction; None: no limit.
    tradeoff : float, default=None
        What a unit of money is worth, in log-loss. None: found by `budget`, or 0 without one. With both, rounds are
        added at this trade-off while the bill stays within the budget.
    feature_costs : FeatureCosts, array, dict or Series, default=None
        What features cost; None: every feature costs 1. Costs with names follow the columns of X.
    n_estimators : int, default=300
        Rounds, at most: one tree each for two classes, else one per class.
    learning_rate : float, default=0.1
        What the values of leaves are multiplied by.
    max_leaf_nodes : int or "auto", default=31
        Leaves of a tree, at most. "auto": one for every 100 rows, from 31 to 255, which is better with many rows; see
        docs/boosting.md.
    max_depth : int, default=None
        Depth of a tree, at most; None: no limit.
    min_samples_leaf : int, default=20
        Rows that each side of a split needs.
    l2 : float, default=0.0
        Added to the curvature of a leaf: larger values make leaves smaller.
    max_bins : int, default=255
        Bins per numeric feature, 2 to 255.
    subsample : float, default=1.0
        Share of the rows that a round is grown from. The others pay for what its trees read all the same.
    colsample : float, default=1.0
        Share of the features that a tree may use.
    monotone_cst : array of shape (n_features,) or dict feature -> sign, default=None
        +1: the probability of the second class may only rise with the feature, -1: only fall. Two classes only.
    interaction_cst : list of lists of features, default=None
        Features of one path must be in one of these lists together; those in none form one more list.
    categorical_features : array of str, int or bool, default=None
        Names, positions or a mask of columns that hold categories, besides those whose type says so.
    class_weight : "balanced", dict class -> weight, or None, default=None
        Multiplies the loss of the rows of a class; 0 leaves them out. What they pay is not changed.
    early_stopping : bool or "auto", default="auto"
        End when the validation loss has not fallen for `n_iter_no_change` rounds, and keep the round of least loss.
        "auto": where there are validation rows, for a budget or by `eval_set`; True sets some aside without a budget.
    n_iter_no_change : int, default=20
        Rounds of patience.
    validation_fraction : float, default=0.25
        Share of the rows, the same of every class, set aside for `budget`, `path`, early_stopping=True or
        stop="confidence"; not used with `eval_set`.
    n_tradeoffs : int, default=12
        Trade-offs that a budget or `path` may try.
    n_folds : int, default=None
        None: one booster, and rows set aside where there is something to choose. A number: so many boosters, each
        trained on all folds of the rows but one, which tells it when to stop and how it errs; their scores are
        averaged. Errs less, takes so many times as long, and reads more, which stop="confidence" makes up for.
    stop : {"all", "label", "confidence"}, default="all"
        What a row buys: "all" that the trees read on its way, or only what settles its "label", which is the same.
        "confidence" ends once the lead is so many times the spread of what is open; validation rows choose how many,
        together with the trade-off, and labels may differ from those of all trees. The budget is compared with the bill
        of this rule; probabilities are estimates unless it is "all".
    warm_start : bool, default=False
        `fit` goes on from the trees there are, up to `n_estimators` rounds; rows have paid for what those read. Needs
        budget=None.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn; the model does not depend on it.
    random_state : int, RandomState or None, default=None
        The same number gives the same model.
    verbose : int, default=0
        1 shows a progress bar for each trade-off.

    Attributes
    ----------
    tradeoff_ : float
        The trade-off of the model.
    n_estimators_ : int
        Its rounds; those of all boosters, with n_folds.
    confidence_ : float
        With stop="confidence": how sure a row has to be; infinity: nothing less than a proof will do.
    curve_ : CostCurve
        Every (trade-off, number of rounds), measured on the validation rows, if there are any. Errors are weighted by
        sample_weight and class_weight, bills are plain means over rows.
    validation_error_, validation_cost_ : float
        Of the model, if there are validation rows.
    max_budget_ : float
        The largest budget that `at_budget` can answer: infinite if no booster wanted to spend more.
    variants_ : tuple of Boosted
        The booster of each trade-off, all of its rounds within the budget.
    ensemble_ : Ensemble
        The trees of the model, and what they add to scores.
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
    >>> model = FrugalBoostingClassifier(budget=3, random_state=0).fit(X, y)
    >>> bool(model.validation_cost_ <= 3)
    True
    """

    def __init__(
        self,
        budget: float | None = None,
        tradeoff: float | None = None,
        *,
        feature_costs: Any = None,
        n_estimators: int = 300,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | Literal["auto"] = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2: float = 0.0,
        max_bins: int = 255,
        subsample: float = 1.0,
        colsample: float = 1.0,
        monotone_cst: Any = None,
        interaction_cst: Any = None,
        categorical_features: Any = None,
        class_weight: Any = None,
        early_stopping: bool | Literal["auto"] = "auto",
        n_iter_no_change: int = 20,
        validation_fraction: float = 0.25,
        n_tradeoffs: int = 12,
        n_folds: int | None = None,
        stop: Literal["all", "label", "confidence"] = "all",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.tradeoff = tradeoff
        self.feature_costs = feature_costs
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2 = l2
        self.max_bins = max_bins
        self.subsample = subsample
        self.colsample = colsample
        self.monotone_cst = monotone_cst
        self.interaction_cst = interaction_cst
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_tradeoffs = n_tradeoffs
        self.n_folds = n_folds
        self.stop = stop
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Train, and with a budget choose the trade-off.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), default=None
            A row of weight 2 counts as two rows, in the loss and in what is paid; one of weight 0 is left out.
        eval_set : (X_val, y_val), default=None
            Rows to choose with; replaces the internal split.

        Returns
        -------
        self
            After Ctrl-C the model is chosen from the rounds trained so far, and KeyboardInterrupt is raised.
        """
        return self._fit(X, y, sample_weight, eval_set, along_path=False)

    def path(self, X: Any, y: Any, sample_weight: Any = None, eval_set: tuple[Any, Any] | None = None) -> Self:
        """Like `fit`, at trade-offs along the whole range of costs: `at_budget` then answers every budget.

        From everything that pays without any trade-off to nearly nothing; `n_tradeoffs` of them, at most.
        """
        if self.tradeoff is not None:
            raise ValueError(f"path chooses trade-offs itself, but tradeoff is {self.tradeoff!r}; give tradeoff=None.")
        return self._fit(X, y, sample_weight, eval_set, along_path=True)

    # ---- steps of fit

    def _fit(self, X: Any, y: Any, sample_weight: Any, eval_set: Any, *, along_path: bool) -> Self:
        self._check_parameters()
        problem = self._learn(X, y, sample_weight)
        options = self._options(problem)
        before = self._before(problem)
        seed = root_seed(self.random_state)
        train: Train
        if self.n_folds is None:
            rows, validation = self._split(problem, eval_set, seed, along_path)
            trainer = self._trainer(problem, options, rows, validation, seed)
            train, largest = partial(self._train_one, trainer, problem, before), largest_tradeoff(trainer)
        else:
            folds, validation = self._fold_boosters(problem, options, eval_set, seed)
            train, largest = folds.train, max(map(largest_tradeoff, folds.trainers))
        variants, interrupted = self._train(train, largest, problem, along_path)
        self._keep(problem, variants, validation, chooses_round=self._searches or along_path)
        if interrupted:
            raise KeyboardInterrupt(
                f"stopped after {sum(v.n_rounds for v in self.variants_)} rounds; the model is the best of these"
            )
        self._warn_if_nothing_fits(stacklevel=4)
        return self

    @property
    def _searches(self) -> bool:
        return self.budget is not None

    def _check_parameters(self) -> None:
        self._check_common()
        check_number(self.budget, "budget", 0, or_none=True)
        check_number(self.tradeoff, "tradeoff", 0, or_none=True)
        if isinstance(self.max_leaf_nodes, str) and self.max_leaf_nodes != "auto":
            raise ValueError(
                f'max_leaf_nodes is {self.max_leaf_nodes!r}; expected a whole number of at least 2, or "auto".'
            )
        if self.max_leaf_nodes != "auto":
            check_whole_number(self.max_leaf_nodes, "max_leaf_nodes", 2)
        check_number(self.l2, "l2", 0)
        for name in ("subsample", "colsample"):
            check_number(getattr(self, name), name, 0, at_most=1)
            if getattr(self, name) == 0:
                raise ValueError(f"{name} is 0, which leaves nothing; expected a share above 0 and up to 1.")
        if not (isinstance(self.early_stopping, bool | np.bool_) or self.early_stopping == "auto"):
            raise ValueError(f'early_stopping is {self.early_stopping!r}; expected True, False or "auto".')
        check_flag(self.warm_start, "warm_start")
        check_whole_number(self.n_iter_no_change, "n_iter_no_change", 1)
        check_whole_number(self.n_tradeoffs, "n_tradeoffs", 1)
        check_whole_number(self.n_folds, "n_folds", 2, or_none=True)
        check_validation_fraction(self.validation_fraction)
        if self.warm_start and self.n_folds is not None:
            raise ValueError(
                "warm_start goes on with one booster, and n_folds asks for several; leave one of them out."
            )
        if self.warm_start and self.budget is not None:
            raise ValueError("warm_start goes on with one booster, and a budget tries several; give tradeoff instead.")

    def _options(self, problem: Problem) -> BoostOptions:
        return BoostOptions(
            learning_rate=float(self.learning_rate),
            max_leaves=leaves_for(len(problem.rows)) if self.max_leaf_nodes == "auto" else self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            l2=float(self.l2),
            subsample=float(self.subsample),
            colsample=float(self.colsample),
            monotone=monotone_signs(self.monotone_cst, problem),
            interactions=interaction_sets(self.interaction_cst, problem),
        )

    def _before(self, problem: Problem) -> Before | None:
        """What a warm start goes on from."""
        if not self.warm_start or not hasattr(self, "ensemble_"):
            return None
        same = problem.n_features == self.n_features_in_ and np.array_equal(problem.classes, self.classes_)
        if not same or problem.encoder.categories != self.encoder_.categories:
            raise ValueError(
                "warm_start goes on from trees of other columns, categories or classes than X and y have; "
                "give the same, or set warm_start=False."
            )
        if len(self.variants_) > 1:
            raise ValueError(
                "warm_start goes on with one booster, and this model was chosen among several; "
                "fit with a tradeoff and without a budget first, or set warm_start=False."
            )
        variant = self.variants_[0]
        if variant.n_rounds > self.n_estimators:
            raise ValueError(
                f"n_estimators is {self.n_estimators}, but with warm_start there are {variant.n_rounds} rounds "
                "already; give a larger number."
            )
        return variant.base, variant.trees

    def _split(self, problem: Problem, eval_set: Any, seed: int, along_path: bool) -> tuple[Rows, Rows | None]:
        """Rows to train on and rows to choose with, None if there is nothing to choose."""
        rows = problem.rows
        if eval_set is not None:
            return rows, validation_rows(problem, eval_set, type(self).__name__)
        stops_early = self.early_stopping and self.early_stopping != "auto"
        if not (self._searches or along_path or stops_early or self.stop == "confidence"):
            return rows, None
        return set_aside(rows, self.validation_fraction, seed, stacklevel=5)

    def _trainer(
        self, problem: Problem, options: BoostOptions, train: Rows, validation: Rows | None, seed: int
    ) -> Trainer:
        bins = self._bins(problem, train, seed)
        return Trainer(
            rows=self._boosting_rows(problem, train, bins),
            audience=None if validation is None else self._boosting_rows(problem, validation, bins),
            options=options,
            costs=problem.costs,
            n_rounds=self.n_estimators,
            patience=self.n_iter_no_change if validation is not None and self.early_stopping else None,
            seed=seed,
            n_threads=self._n_threads(),
            verbose=self.verbose,
            name=type(self).__name__,
        )

    def _fold_boosters(
        self, problem: Problem, options: BoostOptions, eval_set: Any, seed: int
    ) -> tuple[FoldBoosters, Rows]:
        """A trainer for each fold, and the rows to choose with."""
        rows = problem.rows
        choose_with = None if eval_set is None else validation_rows(problem, eval_set, type(self).__name__)
        fold_of = stratified_folds(rows.labels, int(self.n_folds or 0), seed)
        trainers = [
            self._trainer(problem, options, rows.take(fold_of != fold), rows.take(fold_of == fold), seed)
            for fold in range(fold_of.max() + 1)
        ]
        model, bins = copy.copy(self), trainers[0].rows.binned.bins
        model._keep_problem(problem)
        folds = FoldBoosters(
            trainers=tuple(trainers),
            ensemble_of=lambda base, trees: model._ensemble(base, trees, "log_loss"),
            costs=problem.costs,
            stop=self.stop,
            n_threads=self._n_threads(),
            choose_with=None if choose_with is None else self._boosting_rows(problem, choose_with, bins),
        )
        return folds, rows if choose_with is None else choose_with

    def _train(
        self, train: Train, largest: float, problem: Problem, along_path: bool
    ) -> tuple[tuple[Boosted, ...], bool]:
        """The boosters of this fit, and whether Ctrl-C cut it short; largest: trade-off that buys anything."""
        if self.tradeoff is not None or not (along_path or self._searches):
            boosted, interrupted = train(0.0 if self.tradeoff is None else float(self.tradeoff), self._training_budget)
            return (boosted,), interrupted
        path = Path(train, largest)
        if np.any(problem.costs.alone == 0):
            path.at(np.inf)  # what is free only, for budgets that buy nothing
        if along_path:
            price = problem.costs.alone
            path.along(self.n_tradeoffs, float(price[price > 0].min(initial=np.inf)))
        else:
            self._search(path)
        return path.boosters(), path.interrupted

    def _search(self, path: Path) -> None:
        budget = limit_of(self.budget)
        path.within(budget, self.n_tradeoffs, self._training_budget)
        fits = any(boosted.least_loss(budget) < np.inf for boosted in path.boosters())
        if self._training_budget > budget and not fits:  # reading everything costs no less than settling the label
            path.within(budget, path.n_trained + self.n_tradeoffs, budget)

    @property
    def _training_budget(self) -> float:
        """What trees keep to while they grow. On demand bills are smaller, of several boosters they are larger."""
        return limit_of(self.budget) if self.stop == "all" and self.n_folds is None else np.inf

    def _train_one(
        self, trainer: Trainer, problem: Problem, before: Before | None, tradeoff: float, budget: float
    ) -> tuple[Boosted, bool]:
        boosted, interrupted = trainer.train(tradeoff, budget, before)
        if self.stop != "all" and trainer.audience is not None:
            boosted = self._read_on_demand(boosted, problem, trainer.audience)
        return boosted, interrupted

    def _read_on_demand(self, boosted: Boosted, problem: Problem, audience: BoostingRows) -> Boosted:
        """The same booster with what validation rows pay if they buy one feature at a time."""
        model = copy.copy(self)
        model._keep_problem(problem)
        ensemble = model._ensemble(boosted.base, boosted.trees, "log_loss")
        if self.stop == "label":
            return with_label_bills(boosted, ensemble, problem.costs, audience.matrix, self._n_threads())
        return with_sooner_ends(
            boosted,
            ensemble,
            problem.costs,
            audience.matrix,
            audience.labels,
            audience.loss_weights,
            self._n_threads(),
        )


def leaves_for(n_rows: int) -> int:
    """Leaves of a tree that so many rows are worth."""
    return min(255, max(31, n_rows // 100))
