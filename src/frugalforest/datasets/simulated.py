"""The four simulated settings of Jagdhuber et al.: normal features, weak effects, and prices that may follow them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import truncnorm

from frugalforest.costs import FeatureCosts

Floats = NDArray[np.float64]
Setting = Literal["A", "B", "C", "D"]

N_FEATURES, N_EFFECTS, N_BLOCKS = 200, 100, 20
EFFECT_SD, COST_NOISE_SD = 0.5, 0.2  # the paper prints N(0, 0.5) and N(0, 0.2); read as standard deviations
CHEAPEST, DEAREST = 0.1, 1.0


@dataclass(frozen=True, eq=False)
class Population:
    """Where rows come from: N(effects, Sigma) if y = 1, N(0, Sigma) if y = 0; Sigma = root root', P(y = 1) = 1/2."""

    effects: Floats  # (n_features,)
    root: Floats | None  # (n_features, n_features); None: features are independent
    costs: FeatureCosts

    def draw(self, n_samples: int, random: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        """Rows and labels."""
        y = random.integers(0, 2, n_samples)
        noise = random.standard_normal((n_samples, len(self.effects)))
        X = noise if self.root is None else noise @ self.root.T
        return X + y[:, None] * self.effects, y


def make_jagdhuber(
    setting: Setting = "A", n_samples: int = 500, *, random_state: Any = None, design_seed: int = 0
) -> tuple[Floats, NDArray[np.int64], FeatureCosts]:
    """Rows of one of the settings A to D -> X (n_samples, 200), y (n_samples,), costs.

    100 features have an effect drawn from N(0, 0.5) truncated to [-1, 1], the others none. Features are independent
    (A, B) or correlated in 20 blocks of 10, rho uniform on [0, 1], permuted (C, D). Costs are uniform on [0.1, 1]
    (A, C), or follow the effect: |effect| + N(0, 0.2), cut to [0.1, 1] (B, D). Standard deviations, not variances.

    Effects, correlations and costs depend on `design_seed` alone, and are the same in all settings that have them; rows
    depend on `random_state`. So two calls that differ only in `random_state` make a training and a test set.
    """
    if setting not in ("A", "B", "C", "D"):
        raise ValueError(f"setting is {setting!r}; expected one of 'A', 'B', 'C', 'D'.")
    random = np.random.default_rng(random_state)
    population = jagdhuber_population(setting, design_seed)
    X, y = population.draw(n_samples, random)
    return X, y, population.costs


def jagdhuber_population(setting: Setting, design_seed: int) -> Population:
    """Effects, correlations and prices of a setting."""
    effect_seed, block_seed, price_seed, noise_seed = np.random.SeedSequence(design_seed).spawn(4)
    limits = (-1 / EFFECT_SD, 1 / EFFECT_SD)
    drawn = truncnorm.rvs(*limits, scale=EFFECT_SD, size=N_EFFECTS, random_state=np.random.default_rng(effect_seed))
    effects = np.concatenate([drawn, np.zeros(N_FEATURES - N_EFFECTS)])
    root = _root_of_blocks(np.random.default_rng(block_seed)) if setting in ("C", "D") else None
    if setting in ("A", "C"):
        prices = np.random.default_rng(price_seed).uniform(CHEAPEST, DEAREST, N_FEATURES)
    else:
        noise = np.random.default_rng(noise_seed).normal(0, COST_NOISE_SD, N_FEATURES)
        prices = np.clip(np.abs(effects) + noise, CHEAPEST, DEAREST)
    return Population(effects, root, FeatureCosts(prices))


def _root_of_blocks(random: np.random.Generator) -> Floats:
    """A matrix whose product with its transpose is the permuted block matrix of correlations."""
    size = N_FEATURES // N_BLOCKS
    correlation = np.eye(N_FEATURES)
    for block, rho in enumerate(random.uniform(0, 1, N_BLOCKS)):
        place = slice(block * size, (block + 1) * size)
        correlation[place, place] = np.where(np.eye(size, dtype=bool), 1.0, rho)
    order = random.permutation(N_FEATURES)
    return np.asarray(np.linalg.cholesky(correlation[np.ix_(order, order)]), dtype=np.float64)
