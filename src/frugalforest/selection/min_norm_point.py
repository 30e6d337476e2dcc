"""Minimising any submodular function: the point of least norm in its base polytope (Fujishige and Wolfe).

    B(f) = {x : x(S) <= f(S) for all S, x(V) = f(V)},   x* = argmin |x|^2 over B(f),   {x* < 0} = the smallest minimiser

A vertex of B(f) that is least in a direction is found by the greedy algorithm: what each feature adds, in the order of
that direction. Wolfe's algorithm needs nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, qr_delete, qr_insert, solve_triangular
from sklearn.exceptions import ConvergenceWarning

from frugalforest.selection.set_function import Mask, SetFunction

Floats = NDArray[np.float64]
_EPSILON = 4e-15  # relative rounding of scalar products, for each number in them
_INDEPENDENT = 1e-12  # a vertex nearer to the span of others, relative to its length, is taken to lie in it
_TIE = 1e-10  # sets whose values differ by less, relative to the values along the way, are taken for equals


@dataclass(frozen=True, eq=False)
class Minimum:
    """The smallest minimiser of a submodular function, and a proof: no set is below value - gap."""

    mask: Mask  # (n_features,)
    value: float
    gap: float
    n_vertices: int


def minimise(
    function: SetFunction, *, lower: Mask | None = None, upper: Mask | None = None, max_vertices: int | None = None
) -> Minimum:
    """The smallest minimiser of a submodular function among the sets between `lower` and `upper`.

    Masks (n_features,); None: the empty set and all features. The value is that of the function less that of `lower`.
    max_vertices: vertices to look at, at most; None: 1000 + 20 for each feature.
    """
    everything = np.ones(function.n_features, dtype=bool)
    base = ~everything if lower is None else lower
    free = np.flatnonzero((everything if upper is None else upper) & ~base)
    if len(free) == 0:
        return Minimum(base.copy(), 0.0, 0.0, 0)

    def vertex(direction: Floats) -> Floats:
        order = np.argsort(direction, kind="stable")
        found = np.empty(len(free))
        found[order] = function.steps(base, free[order])
        return found

    limit = 1000 + 20 * len(free) if max_vertices is None else max_vertices
    point, n_vertices = _least_norm_point(vertex, len(free), limit)
    order = np.argsort(point, kind="stable")
    values = np.concatenate([[0.0], np.cumsum(function.steps(base, free[order]))])
    scale = np.abs(values).max()
    size = int(np.argmax(values <= values.min() + _TIE * scale))
    mask = base.copy()
    mask[free[order[:size]]] = True
    gap = float(values[size] - np.minimum(point, 0.0).sum())
    if n_vertices >= limit and gap > _TIE * scale:
        warnings.warn(
            f"min-norm-point looked at {limit} vertices without finding the least point: the set found costs at most "
            f"{gap:.3g} more than the best one. Raise max_vertices, or use solver='min-cut', which needs a price list.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Minimum(mask, float(values[size]), gap, n_vertices)


def _least_norm_point(vertex: Callable[[Floats], Floats], n: int, limit: int) -> tuple[Floats, int]:
    """Wolfe's algorithm (1976): the point of least norm in the hull of the vertices, (n,), and the vertices looked at.

    vertex(x): the vertex v with the least scalar product of x and v. A point x is the least if that is |x|^2.
    """
    corral = _Corral(vertex(np.zeros(n)))
    for n_vertices in range(1, limit + 1):
        point = corral.point
        candidate = vertex(point)
        if point @ (point - candidate) <= corral.rounding(point) or not corral.add(candidate):
            return point, n_vertices
    return corral.point, limit


class _Corral:
    """Affinely independent vertices whose hull holds the least point of its affine hull.

    Kept as the QR factors of [s, ..., s; vertices], s > 0. The squares of the condition number that a table of scalar
    products would bring in are avoided this way, and to add or drop a vertex takes time O(n k), not O(k^3).
    """

    def __init__(self, first: Floats) -> None:
        self._size = float(np.linalg.norm(first))  # of the largest vertex seen
        self._lift = float(np.abs(first).max()) or 1.0
        self._vertices = first[None, :]
        self._shares = np.ones(1)
        lifted = self._lifted(first)
        size = np.linalg.norm(lifted)
        self._q, self._r = (lifted / size)[:, None], np.array([[size]])

    @property
    def point(self) -> Floats:
        """The least point, (n,)."""
        return self._shares @ self._vertices

    def rounding(self, point: Floats) -> float:
        """How far off a scalar product of a point and a vertex may be."""
        epsilon = _EPSILON * len(point)
        return epsilon * self._size * max(float(np.linalg.norm(point)), epsilon * self._size)

    def add(self, vertex: Floats) -> bool:
        """Take in a vertex, and drop those that the new least point does not need; False if it adds no dimension."""
        k = len(self._vertices)
        try:
            self._q, self._r = qr_insert(self._q, self._r, self._lifted(vertex), k, which="col", rcond=_INDEPENDENT)
        except LinAlgError:  # it seemed to lead on, but only by rounding
            return False
        self._size = max(self._size, float(np.linalg.norm(vertex)))
        self._vertices = np.vstack([self._vertices, vertex])
        self._shares = np.append(self._shares, 0.0)
        while (affine := self._affine_shares()).min() < 0:
            self._walk_towards(affine)
        self._shares = affine
        return True

    def _walk_towards(self, affine: Floats) -> None:
        """Go from the present point towards the affine minimum until a share is 0, and drop that vertex."""
        falling = affine < 0
        step = (self._shares[falling] / (self._shares[falling] - affine[falling])).min()
        shares = (1 - step) * self._shares + step * affine
        first = int(np.argmin(np.where(falling, shares, np.inf)))
        self._q, self._r = qr_delete(self._q, self._r, first, which="col")
        self._vertices = np.delete(self._vertices, first, axis=0)
        self._shares = np.maximum(np.delete(shares, first), 0.0)
        self._shares /= self._shares.sum()

    def _affine_shares(self) -> Floats:
        """Shares, adding up to 1, of the point of least norm in the affine hull: R'R u = 1, shares = u / sum(u)."""
        k = len(self._vertices)
        half = solve_triangular(self._r[:k], np.ones(k), trans="T")
        solution = solve_triangular(self._r[:k], half)
        return solution / solution.sum()

    def _lifted(self, vertex: Floats) -> Floats:
        return np.concatenate([[self._lift], vertex])
