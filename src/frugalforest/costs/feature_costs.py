"""FeatureCosts: the price list of the features, by name or position."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frugalforest.costs.bills import Bills, Mask
from frugalforest.costs.checks import (
    as_array,
    as_numbers,
    check_names,
    check_prices,
    listed,
    names_and_values,
    positions_of,
)
from frugalforest.costs.groups import Group, check_groups
from frugalforest.costs.price_list import read_price_list, write_price_list
from frugalforest.costs.ticks import EXACT, Money, Ticks

if TYPE_CHECKING:
    import pandas as pd


class FeatureCosts:
    """The price list of the features: an immutable value.

    Parameters
    ----------
    costs : array of shape (n_features,), dict name -> cost, or Series
        What each feature costs by itself. The index of a pandas Series gives the names, unless it just counts.
    feature_names : names in the order of the columns; reorders costs that have names of their own.
    groups : dict name -> Group
        Steps that several features share. A mapping with the keys `members` and `cost` will do as well.

    Examples
    --------
    >>> costs = FeatureCosts([1, 15.51, 20.68], feature_names=["age", "glucose", "insulin"],
    ...                      groups={"blood": Group(members=["glucose", "insulin"], cost=2.10)})
    >>> costs.of(["glucose", "insulin"])
    38.29
    """

    def __init__(
        self,
        costs: ArrayLike | Mapping[str, float],
        *,
        feature_names: Iterable[str] | None = None,
        groups: Mapping[str, Group | Mapping[str, Any]] | None = None,
    ) -> None:
        names, own = names_and_values(costs)
        wanted = None if feature_names is None else check_names(feature_names, "feature_names")
        if names is not None and wanted is not None:
            own = own[positions_of(wanted, names, "feature_names")]
        self._names = names if wanted is None else wanted
        if self._names is not None and len(self._names) != len(own):
            raise ValueError(
                f"costs has {len(own)} entries but feature_names {len(self._names)}; give each name one cost."
            )
        self._positions = {name: i for i, name in enumerate(self._names or ())}
        self._n_features = len(own)

        steps = check_groups(groups or {})
        shared = as_numbers([step.cost for step in steps.values()], "group costs")
        check_prices(own, self._names or range(len(own)), "feature costs")
        check_prices(shared, list(steps), "group costs")
        self._group_names = tuple(steps)
        self._membership = _read_only(self._membership_of(steps))

        self._bills = Bills(own, shared, self._membership)
        self._own = _read_only(self._bills.own)
        self._shared = _read_only(self._bills.shared)
        self._alone = _read_only(self._bills.marginal(np.zeros(len(own), dtype=bool)))

    def _membership_of(self, steps: Mapping[str, Group]) -> Mask:
        membership = np.zeros((len(steps), self.n_features), dtype=bool)
        for row, (name, step) in zip(membership, steps.items(), strict=True):
            try:
                members = self.indices(step.members)
            except (ValueError, TypeError) as error:
                raise type(error)(f"group {name!r}: {error}") from None
            if len(members) == 0 or len(np.unique(members)) < len(members):
                fault = "names a member twice" if len(members) else "has no members"
                raise ValueError(f"group {name!r} {fault}; list each feature that needs this step once.")
            row[members] = True
        return membership

    # ---- the list itself

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names in order, or None when features go by position."""
        return self._names

    @property
    def own(self) -> Money:
        """(n_features,): what each feature costs once its groups are paid."""
        return self._own

    @property
    def shared(self) -> Money:
        """(n_groups,): what each group costs."""
        return self._shared

    @property
    def membership(self) -> Mask:
        """(n_groups, n_features): which features are in which group."""
        return self._membership

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups, in the order of `shared` and `membership`."""
        return self._group_names

    @property
    def groups(self) -> dict[str, Group]:
        """Groups by name, members by name where features have names; fits the constructor."""
        label = self._names or range(self.n_features)
        members = (tuple(label[i] for i in np.flatnonzero(row)) for row in self._membership)
        rows = zip(self._group_names, members, self._shared.tolist(), strict=True)
        return {name: Group(these, cost) for name, these, cost in rows}

    @property
    def alone(self) -> Money:
        """(n_features,): the price of each feature bought first: own cost and the shared cost of all its groups."""
        return self._alone

    @property
    def total(self) -> float:
        """The price of everything."""
        return self.of(np.ones(self.n_features, dtype=bool))

    # ---- bills

    def of(self, features: Any) -> float:
        """The bill of a set of features: names, positions, a boolean mask, or one feature; a repeat is paid once."""
        return self._bills.of(self.mask(features))

    def marginal(self, acquired_mask: ArrayLike) -> Money:
        """What each further feature would cost now, 0 where acquired.

        marginal_f(A) = cost(A + f) - cost(A);  acquired_mask: (n_features,) bool, result: (n_features,)
        """
        return self._bills.marginal(self._check_mask(acquired_mask, "acquired_mask", ndim=1))

    def affordable(self, acquired_mask: ArrayLike, budget: float) -> Mask:
        """Which features a budget still allows, given what is acquired: cost(A + f) <= budget, exactly.

        acquired_mask: (n_features,) bool, result: (n_features,) bool; what is acquired is affordable if A itself is.
        """
        return self._bills.affordable(self._check_mask(acquired_mask, "acquired_mask", ndim=1), budget)

    def of_rows(self, mask: ArrayLike) -> Money:
        """The bill of each row: mask (n_rows, n_features) bool -> (n_rows,)."""
        return self._bills.of_rows(self._check_mask(mask, "mask", ndim=2))

    def of_purchases(self, feature_counts: ArrayLike, group_counts: ArrayLike | None = None) -> Any:
        """Money for purchases that are already counted over many rows, exact for any counts.

        sum over f of feature_counts_f * own_f + sum over g of group_counts_g * shared_g, rounded once

        feature_counts: (..., n_features), how many rows bought each feature; group_counts: (..., n_groups), how many
        rows touched each group (needed if there are groups); result: (...,), a float for one set of counts.
        """
        features = np.asarray(feature_counts)
        groups = np.zeros((*features.shape[:-1], 0)) if group_counts is None else np.asarray(group_counts)
        self._check_purchases(features, groups)
        return self._bills.of_purchases(features, groups)

    # ---- whole ticks, for those who add up one purchase at a time

    @property
    def ticks(self) -> tuple[Ticks, Ticks]:
        """Own prices (n_features,) and shared prices (n_groups,) as whole numbers of the smallest coin."""
        return self._bills.ticks

    def ticks_within(self, budget: float) -> int:
        """The most ticks that a budget allows: what they buy never costs more than the budget."""
        return self._bills.ticks_within(budget)

    def money(self, ticks: int) -> float:
        """What a number of ticks is worth."""
        return self._bills.money(ticks)

    def money_of_many(self, ticks: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each of many numbers of ticks, such as bills of rows, is worth; an array of the same shape."""
        return self._bills.money_of_many(ticks)

    # ---- which features are meant

    def indices(self, features: Any) -> NDArray[np.intp]:
        """Positions of features given as names, positions, a boolean mask, or one name or position; order is kept."""
        given = as_array(features)
        if given.dtype == bool:
            return np.flatnonzero(self._check_mask(given, "a boolean mask", ndim=1))
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iuUO"):
            raise TypeError(f"features are names, positions or a boolean mask, got {features!r:.80}.")
        wrong = [f for f in given.tolist() if not self._knows(f)]
        if wrong:
            raise ValueError(f"unknown: {listed(wrong)}; {self._known()}.")
        return np.array([self._positions[f] if isinstance(f, str) else int(f) for f in given.tolist()], dtype=np.intp)

    def mask(self, features: Any) -> Mask:
        """(n_features,) bool: True for the features given in any form `indices` takes."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[self.indices(features)] = True
        return mask

    def _knows(self, feature: object) -> bool:
        if isinstance(feature, str):
            return feature in self._positions
        return isinstance(feature, int | np.integer) and 0 <= int(feature) < self.n_features

    def _known(self) -> str:
        if self._names is None:
            return f"these {self.n_features} features have no names, use the positions 0 to {self.n_features - 1}"
        few = listed(self._names[:10]) + (", ..." if self.n_features > 10 else "")
        return f"there are {self.n_features} features: {few}"

    # ---- other lists made from this one

    def subset(self, features: Any) -> FeatureCosts:
        """The list of these features only, in the order given; a group keeps the members that are left."""
        keep = self.indices(features)
        if len(np.unique(keep)) < len(keep):
            raise ValueError("subset: a feature is given twice; give each one once.")
        names = None if self._names is None else tuple(self._names[i] for i in keep)
        rows = zip(self._group_names, self._membership[:, keep], self._shared.tolist(), strict=True)
        groups = {name: Group(tuple(np.flatnonzero(row).tolist()), cost) for name, row, cost in rows if row.any()}
        return FeatureCosts(self._own[keep], feature_names=names, groups=groups)

    def aligned_to(self, feature_names: Iterable[str]) -> FeatureCosts:
        """The same list in the order of these columns; every column has one cost, and every cost one column."""
        columns = check_names(feature_names, "feature_names")
        if self._names is None:
            raise ValueError("these costs have no names to align by; give FeatureCosts(..., feature_names=[...]).")
        return self if columns == self._names else self.subset(positions_of(columns, self._names, "X"))

    def scaled(self, factor: float) -> FeatureCosts:
        """Every price times `factor`, as decimals: 0.1 scaled by 3 is 0.3."""
        check_prices(np.array([factor], dtype=np.float64), ["factor"], "scaled: the factor")
        times = Decimal(repr(float(factor)))
        groups = {name: Group(g.members, float(Decimal(repr(g.cost)) * times)) for name, g in self.groups.items()}
        own = [float(Decimal(repr(cost)) * times) for cost in self._own.tolist()]
        return FeatureCosts(own, feature_names=self._names, groups=groups)

    @classmethod
    def unit(cls, features: int | Iterable[str]) -> FeatureCosts:
        """Every feature costs 1: for a number of features, or for their names."""
        if isinstance(features, int | np.integer):
            return cls(np.ones(int(features)))
        names = check_names(features, "feature_names")
        return cls(np.ones(len(names)), feature_names=names)

    # ---- files and frames

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> FeatureCosts:
        """Read a price list; the header says which of two layouts it has. Other columns are ignored.

        `feature,cost[,group,cost_if_not_first_in_group]`: cost is what a feature costs when it is the first of its
        group, so the group's shared cost is the difference of the two, the same for all of its members.

        `feature,cost,group,group_cost`: cost is the own cost. A feature in several groups joins their names, and
        their costs, by `;`, or has a row for each.
        """
        return cls(**read_price_list(path))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the price list as `feature,cost,group,group_cost`, which `from_csv` reads back unchanged."""
        if self._names is None:
            raise ValueError("to_csv writes features by name, and these have none; give feature_names first.")
        write_price_list(path, self._names, self._own.tolist(), self.groups)

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame: one row per feature, with its own cost, its groups, and its price alone."""
        import pandas as pd

        groups = [", ".join(self._group_names[g] for g in np.flatnonzero(row)) for row in self._membership.T]
        index = pd.Index(list(self._names or range(self.n_features)), name="feature")
        return pd.DataFrame({"cost": self._own, "groups": groups, "alone": self._alone}, index=index)

    # ---- a value like any other

    def _content(self) -> tuple[Any, ...]:
        return self._names, self._own.tobytes(), frozenset(self.groups.items())

    def __eq__(self, other: object) -> bool:
        return self._content() == other._content() if isinstance(other, FeatureCosts) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content())

    def __len__(self) -> int:
        return self.n_features

    def __copy__(self) -> FeatureCosts:
        return self

    def __deepcopy__(self, memo: object) -> FeatureCosts:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: arrays that come out of a pickle by themselves are writable again.
        return _rebuild, (self._own.tolist(), self._names, self.groups)

    def __repr__(self) -> str:
        size = f"{self.n_features} feature{'s' * (self.n_features != 1)}, total {self.total:g}"
        own = _few(self._names or range(self.n_features), self._own)
        groups = f"; groups {_few(self._group_names, self._shared)}" if self._group_names else ""
        return f"FeatureCosts({size}; {own}{groups})"

    # ---- the door

    def _check_mask(self, mask: ArrayLike, what: str, ndim: int) -> Mask:
        array = np.asarray(mask)
        if array.dtype != bool:
            raise TypeError(f"{what} must be boolean, got {array.dtype}; costs.mask(features) makes one from names.")
        if array.ndim != ndim or array.shape[-1] != self.n_features:
            shape = f"({self.n_features},)" if ndim == 1 else f"(n_rows, {self.n_features})"
            raise ValueError(f"{what} has shape {array.shape}; give {shape}, one entry for each feature.")
        return array

    def _check_purchases(self, features: NDArray[Any], groups: NDArray[Any]) -> None:
        given, wanted = (features.shape[-1:], groups.shape[-1:]), ((self.n_features,), (len(self._group_names),))
        if given != wanted or features.shape[:-1] != groups.shape[:-1]:
            raise ValueError(
                f"of_purchases got feature_counts {features.shape} and group_counts {groups.shape}; "
                f"give (..., {self.n_features}) and (..., {len(self._group_names)}) with the same leading shape."
            )
        limit = EXACT // (4 * (self.n_features + len(self._group_names)))
        for counts in (features, groups):
            if not np.all((counts >= 0) & (counts == np.floor(counts)) & (counts < limit)):
                raise ValueError(
                    f"of_purchases takes whole numbers from 0 to {limit}: count rows, do not average them."
                )


def _rebuild(own: list[float], names: tuple[str, ...] | None, groups: dict[str, Group]) -> FeatureCosts:
    return FeatureCosts(own, feature_names=names, groups=groups)


def _few(labels: Sequence[object], prices: Money) -> str:
    shown = [f"{label}: {price:g}" for label, price in zip(labels[:4], prices, strict=False)]
    return listed(shown + ["..."] * (len(labels) > 4))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
