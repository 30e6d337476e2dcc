"""The compiled core: arrays in, arrays out. Each part names the file of src/cpp that binds it."""

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

# ---- binning.cpp

def find_bins(
    sorted_values: NDArray[np.float64], max_bins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def bin_columns(
    x: NDArray[Any],
    edges: NDArray[np.float64],
    edge_offsets: NDArray[np.int64],
    is_categorical: NDArray[np.uint8],
    codes: NDArray[np.uint8],
    n_threads: int = 1,
) -> None: ...

# ---- grow.cpp

class Splitting(Enum):
    minimax = 0
    expected = 1

class Objective(Enum):
    risk = 0
    penalized = 1

class Charge(Enum):
    always = 0
    path = 1
    forest = 2
    ledger = 3

class GrowParams:
    splitting: Splitting
    objective: Objective
    tradeoff: float
    at_a_loss: bool
    max_depth: int
    max_features: int
    skip_constants: bool
    min_samples_leaf: int
    min_samples_split: int
    random_thresholds: bool
    bootstrap: bool
    seeds_by_path: bool
    def __init__(self) -> None: ...

class ImpuritySpec:
    name: str
    alpha: float
    offset: float
    power: int
    coefficients: list[float]
    exponents: list[int]
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None
    def __init__(self) -> None: ...

class Costs:
    charge: Charge
    repeat_charge: float
    max_tree_cost: float
    max_distinct_features: int
    def __init__(
        self,
        own: NDArray[np.float64],
        shared: NDArray[np.float64],
        group_offsets: NDArray[np.int64],
        group_ids: NDArray[np.int32],
    ) -> None: ...
    def set_paid(self, paid: NDArray[np.uint8], paid_groups: NDArray[np.uint8]) -> None: ...
    def set_ledger(self, ledger: NDArray[np.uint8]) -> None: ...

class TrainingSet:
    def __init__(
        self,
        codes: NDArray[np.uint8],
        n_bins: NDArray[np.int32],
        is_categorical: NDArray[np.uint8],
        edges: NDArray[np.float64],
        edge_offsets: NDArray[np.int64],
        bin_min: NDArray[np.float64],
        bin_max: NDArray[np.float64],
        bin_offsets: NDArray[np.int64],
        labels: NDArray[np.int32] | None,
        targets: NDArray[np.float64] | None,
        weighted_targets: NDArray[np.float64] | None,
        weights: NDArray[np.float64] | None,
        class_weight: NDArray[np.float64],
    ) -> None: ...

def grow_trees(
    training_set: TrainingSet,
    params: GrowParams,
    costs: Costs,
    impurity: ImpuritySpec,
    seeds: NDArray[np.uint64],
    cumulative_draw_weights: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    isa: str = "auto",
    engine: str = "auto",
    on_progress: Callable[[int], object] | None = None,
    with_gains: bool = False,
) -> tuple[dict[str, Any], bool]: ...
def bootstrap_draws(
    seed: int, n_rows: int, cumulative_draw_weights: NDArray[np.float64] | None = None
) -> NDArray[np.uint16]: ...
def in_bag(
    seeds: NDArray[np.uint64], n_rows: int, cumulative_draw_weights: NDArray[np.float64] | None = None
) -> NDArray[np.uint8]: ...
def instruction_sets() -> list[str]: ...

# ---- route.cpp

class Router:
    def __init__(
        self,
        node_offsets: NDArray[np.int64],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        missing_left: NDArray[np.uint8],
        right: NDArray[np.int32],
        category_set: NDArray[np.int32] | None,
        category_sets: NDArray[np.uint64],
        n_leaves: int,
        n_features: int,
        isa: str = "auto",
    ) -> None: ...
    def apply(self, x: NDArray[Any], n_threads: int = 1) -> NDArray[np.int32]: ...
    def evaluate(
        self,
        x: NDArray[Any],
        values: NDArray[np.float64],
        n_trees: int,
        with_mask: bool,
        in_bag: NDArray[np.uint8] | None = None,
        n_threads: int = 1,
        base: NDArray[np.float64] | None = None,
        as_float: bool = False,
        as_votes: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8] | None]: ...
    def by_tree(
        self,
        x: NDArray[Any],
        y: NDArray[np.int32],
        weights: NDArray[np.float64],
        values: NDArray[np.float64],
        group_offsets: NDArray[np.int64],
        group_ids: NDArray[np.int32],
        n_groups: int,
        n_threads: int = 1,
        as_votes: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...

def node_counts(
    feature: NDArray[np.int32], right: NDArray[np.int32], leaf_counts: NDArray[np.float64]
) -> NDArray[np.float64]: ...

# ---- acquire.cpp

class Stop(Enum):
    all = 0
    label = 1
    confidence = 2
    budget = 3

class Policy:
    stop: Stop
    by_count: bool
    deep: bool
    grouped: bool
    range_weight: float
    most_visits: int
    hope: float
    most_boxes: int
    tolerance: float
    confidence: float
    budget: int
    def __init__(self) -> None: ...

class Acquirer:
    def __init__(
        self,
        node_offsets: NDArray[np.int64],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        missing_left: NDArray[np.uint8],
        right: NDArray[np.int32],
        category_set: NDArray[np.int32],
        category_sets: NDArray[np.uint64],
        values: NDArray[np.float64],
        base: NDArray[np.float64],
        node_weight: NDArray[np.float64],
        own_ticks: NDArray[np.int64],
        shared_ticks: NDArray[np.int64],
        group_offsets: NDArray[np.int64],
        group_ids: NDArray[np.int32],
        only_lead: bool,
    ) -> None: ...
    def evaluate(
        self,
        x: NDArray[Any],
        policy: Policy,
        with_estimate: bool,
        n_threads: int = 1,
        leaves: NDArray[np.int32] | None = None,
        bought: list[int] = ...,
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.float64] | None, NDArray[np.uint8]]: ...
    def ends_at(
        self,
        x: NDArray[Any],
        policy: Policy,
        confidences: NDArray[np.float64],
        with_estimate: bool,
        n_threads: int = 1,
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64], NDArray[np.float64] | None]: ...

class Run:
    def __init__(self, acquirer: Acquirer, policy: Policy) -> None: ...
    def next(self) -> int: ...
    def buy(self, feature: int, value: float) -> None: ...
    def buy_together(self, features: list[int], values: list[float]) -> None: ...
    def learn(self, feature: int, value: float) -> None: ...
    def price(self, feature: int) -> int: ...
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def estimate(self) -> NDArray[np.float64]: ...
    def expected_ticks(self, n_ends: int, seed: int) -> float: ...
    @property
    def spent(self) -> int: ...
    @property
    def leader(self) -> int: ...
    @property
    def answer(self) -> int: ...
    @property
    def is_proven(self) -> bool: ...
    @property
    def is_complete(self) -> bool: ...
    @property
    def confidence(self) -> float: ...

# ---- panels.cpp

def panel_votes(
    training_set: TrainingSet,
    params: GrowParams,
    seeds: NDArray[np.uint64],
    features: NDArray[np.int32],
    offsets: NDArray[np.int64],
    max_features: NDArray[np.uint32],
    n_threads: int = 1,
    isa: str = "auto",
) -> NDArray[np.uint16]: ...
def candidate_votes(
    training_set: TrainingSet,
    params: GrowParams,
    seeds: NDArray[np.uint64],
    common: NDArray[np.int32],
    candidates: NDArray[np.int32],
    n_threads: int = 1,
    isa: str = "auto",
) -> NDArray[np.uint16]: ...
def permutation_votes(
    training_set: TrainingSet,
    params: GrowParams,
    seeds: NDArray[np.uint64],
    with_votes: bool = False,
    n_threads: int = 1,
    isa: str = "auto",
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]: ...

# ---- boost.cpp

class Loss(Enum):
    logistic = 0
    multinomial = 1
    squared = 2

class BoostCharge(Enum):
    none = 0
    row = 1
    forest = 2

class BoostParams:
    learning_rate: float
    max_leaves: int
    max_depth: int
    min_samples_leaf: int
    min_hessian: float
    l2: float
    min_gain: float
    category_smoothing: float
    min_category_rows: int
    subsample: float
    colsample: float
    histogram_bytes: int
    def __init__(self) -> None: ...

class BoostRows:
    def __init__(
        self, codes: NDArray[np.uint8], n_bins: NDArray[np.int32], is_categorical: NDArray[np.uint8]
    ) -> None: ...

class PriceList:
    def __init__(
        self,
        own: NDArray[np.float64],
        shared: NDArray[np.float64],
        group_offsets: NDArray[np.int64],
        group_ids: NDArray[np.int32],
    ) -> None: ...

class Booster:
    def __init__(
        self,
        rows: BoostRows,
        labels: NDArray[np.int32],
        weights: NDArray[np.float64],
        charge_weights: NDArray[np.float64] | None,
        n_classes: int,
        loss: Loss,
        params: BoostParams,
        prices: PriceList,
        monotone: NDArray[np.int8] | None,
        interactions: NDArray[np.uint8] | None,
        seed: int,
        first_round: int = 0,
        n_threads: int = 1,
    ) -> None: ...
    def start(
        self, scores: NDArray[np.float64] | None, paid: NDArray[np.uint8] | None, used: NDArray[np.int32]
    ) -> None: ...
    def grow_round(
        self,
        charge: BoostCharge,
        own: NDArray[np.float64],
        shared: NDArray[np.float64],
        price_per_split: float = 0.0,
        purse: float = ...,
        can_undo: bool = False,
    ) -> int: ...
    def undo_round(self) -> None: ...
    def root_gains(self) -> NDArray[np.float64]: ...
    def trees(self) -> dict[str, Any]: ...
    @property
    def n_trees(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def was_limited(self) -> bool: ...

class Audience:
    def __init__(
        self,
        rows: BoostRows,
        labels: NDArray[np.int32],
        weights: NDArray[np.float64],
        n_classes: int,
        loss: Loss,
        prices: PriceList,
        scores: NDArray[np.float64] | None,
        paid: NDArray[np.uint8] | None,
    ) -> None: ...
    def follow(self, booster: Booster, n_threads: int = 1, can_undo: bool = False) -> None: ...
    def undo(self) -> None: ...
    def standing(self, n_threads: int = 1) -> tuple[float, float, NDArray[np.int64]]: ...

# ---- prune.cpp

class PruningProblem:
    def __init__(
        self,
        feature: NDArray[np.int32],
        right: NDArray[np.int32],
        node_offsets: NDArray[np.int64],
        node_loss: NDArray[np.float64],
        leaves: NDArray[np.int32],
        item_offsets: NDArray[np.int64],
        item_ids: NDArray[np.int32],
        n_items: int,
    ) -> None: ...
    @property
    def n_purchases(self) -> int: ...
    @property
    def n_entries(self) -> int: ...
    def solve(
        self, prices: NDArray[np.float64], gap: float, most_rounds: int, n_threads: int = 1
    ) -> tuple[NDArray[np.uint8], float, float, int]: ...
    def objective(self, prices: NDArray[np.float64], stays: NDArray[np.uint8], n_threads: int = 1) -> float: ...
