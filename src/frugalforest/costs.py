"""What features cost: the price list, and the only place where money is added up.

    cost(S) = sum of own_f over f in S + sum of shared_g over the groups g that S touches

A group is a common step (a blood draw, an image descriptor, an API call) that is paid once, whichever member asks
first. Groups may overlap, a feature may be in none.

Money is exact: prices are kept as whole numbers of one tick, sums are sums of integers, and a bill is rounded once, at
the end. So the same set of features gives the same float, in whatever order and by whichever method it is added up.
The tick is decimal (15.51 + 20.68 + 2.10 is 38.29) if no price has more than nine digits after the point, else a power
of two; prices below 2^-61 of the total are then rounded.
"""

from __future__ import annotations

import csv
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FeatureCosts", "Group", "resolve_costs"]

Ticks = NDArray[np.int64]
Money = NDArray[np.float64]
Mask = NDArray[np.bool_]

MAX_CSV_BYTES = 64 * 2**20
_EXACT = 2**53  # float64 holds every whole number up to here
_ROOM = 2**62  # the price of everything stays below this, so that no sum of int64 ticks overflows
_BLOCK = 2**16  # cells of a mask turned into float64 at once: 512 kB, which stays in the cache


@dataclass(frozen=True)
class Group:
    """Features with a common step: `cost` is paid once, by the first of the `members` (names or positions)."""

    members: tuple[str | int, ...]
    cost: float

    def __post_init__(self) -> None:
        if isinstance(self.members, str) or not isinstance(self.members, Iterable):
            raise TypeError(f"the members of a group are a list; write [{self.members!r}] for a group of one.")
        object.__setattr__(self, "members", tuple(self.members))


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
        names, own = _names_and_values(costs)
        wanted = None if feature_names is None else _check_names(feature_names, "feature_names")
        if names is not None and wanted is not None:
            own = own[_positions_of(wanted, names, "feature_names")]
        self._names = names if wanted is None else wanted
        if self._names is not None and len(self._names) != len(own):
            raise ValueError(
                f"costs has {len(own)} entries but feature_names {len(self._names)}; give each name one cost."
            )
        self._positions = {name: i for i, name in enumerate(self._names or ())}
        self._n_features = len(own)

        steps = _check_groups(groups or {})
        shared = _as_numbers([step.cost for step in steps.values()], "group costs")
        _check_prices(own, self._names or range(len(own)), "feature costs")
        _check_prices(shared, list(steps), "group costs")
        self._group_names = tuple(steps)
        self._membership = _read_only(self._membership_of(steps))
        self._pair_group, self._pair_feature = np.nonzero(self._membership)

        ticks, self._tick = _in_ticks(np.concatenate([own, shared]))
        self._own_ticks = _read_only(ticks[: len(own)])
        self._shared_ticks = _read_only(ticks[len(own) :])
        self._own = _read_only(self._tick.money(self._own_ticks))
        self._shared = _read_only(self._tick.money(self._shared_ticks))
        self._alone = _read_only(self._tick.money(self._marginal_ticks(np.zeros(len(own), dtype=bool))))

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
        mask = self.mask(features)
        ticks = self._own_ticks[mask].sum() + self._shared_ticks[self._touched(mask)].sum()
        return self._tick.exactly(int(ticks))

    def marginal(self, acquired_mask: ArrayLike) -> Money:
        """What each further feature would cost now, 0 where acquired.

        marginal_f(A) = cost(A + f) - cost(A);  acquired_mask: (n_features,) bool, result: (n_features,)
        """
        return self._tick.money(self._marginal_ticks(self._check_mask(acquired_mask, "acquired_mask", ndim=1)))

    def of_rows(self, mask: ArrayLike) -> Money:
        """The bill of each row: mask (n_rows, n_features) bool -> (n_rows,)."""
        rows = self._check_mask(mask, "mask", ndim=2)
        own, bits = _split(self._own_ticks, self.n_features)
        shared, shared_bits = _split(self._shared_ticks, len(self._group_names))
        # One product gives both the own costs and, for each group, how many of its members the row has.
        weights = np.hstack([own, self._membership.T])
        bills = np.empty(len(rows), dtype=np.int64)
        step = max(1, _BLOCK // self.n_features)
        for start in range(0, len(rows), step):
            product = rows[start : start + step].astype(np.float64) @ weights
            touched = (product[:, own.shape[1] :] > 0).astype(np.float64)
            bills[start : start + step] = _join(product[:, : own.shape[1]], bits) + _join(touched @ shared, shared_bits)
        return self._tick.money(bills)

    def of_purchases(self, feature_counts: ArrayLike, group_counts: ArrayLike | None = None) -> Any:
        """Money for purchases that are already counted over many rows, exact for any counts.

        sum over f of feature_counts_f * own_f + sum over g of group_counts_g * shared_g, rounded once

        feature_counts: (..., n_features), how many rows bought each feature; group_counts: (..., n_groups), how many
        rows touched each group (needed if there are groups); result: (...,), a float for one set of counts.
        """
        features = np.asarray(feature_counts)
        groups = np.zeros((*features.shape[:-1], 0)) if group_counts is None else np.asarray(group_counts)
        self._check_purchases(features, groups)
        counts = np.concatenate([features, groups], axis=-1).astype(np.float64)
        ticks = np.concatenate([self._own_ticks, self._shared_ticks])
        weights, bits = _split(ticks, int(counts.max(initial=1)) * len(ticks))
        product = _join(counts @ weights, bits, dtype=object)
        money = np.array([self._tick.exactly(int(one)) for one in np.ravel(product)], dtype=np.float64)
        return money.reshape(counts.shape[:-1])[()]

    def _touched(self, mask: Mask) -> Mask:
        touched = np.zeros(len(self._group_names), dtype=bool)
        touched[self._pair_group[mask[self._pair_feature]]] = True
        return touched

    def _marginal_ticks(self, acquired: Mask) -> Ticks:
        unpaid = np.where(self._touched(acquired), 0, self._shared_ticks)
        ticks = self._own_ticks.copy()
        np.add.at(ticks, self._pair_feature, unpaid[self._pair_group])
        ticks[acquired] = 0
        return ticks

    # ---- which features are meant

    def indices(self, features: Any) -> NDArray[np.intp]:
        """Positions of features given as names, positions, a boolean mask, or one name or position; order is kept."""
        given = _as_array(features)
        if given.dtype == bool:
            return np.flatnonzero(self._check_mask(given, "a boolean mask", ndim=1))
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iuUO"):
            raise TypeError(f"features are names, positions or a boolean mask, got {features!r:.80}.")
        wrong = [f for f in given.tolist() if not self._knows(f)]
        if wrong:
            raise ValueError(f"unknown: {_listed(wrong)}; {self._known()}.")
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
        few = _listed(self._names[:10]) + (", ..." if self.n_features > 10 else "")
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
        columns = _check_names(feature_names, "feature_names")
        if self._names is None:
            raise ValueError("these costs have no names to align by; give FeatureCosts(..., feature_names=[...]).")
        return self if columns == self._names else self.subset(_positions_of(columns, self._names, "X"))

    def scaled(self, factor: float) -> FeatureCosts:
        """Every price times `factor`, as decimals: 0.1 scaled by 3 is 0.3."""
        _check_prices(np.array([factor], dtype=np.float64), ["factor"], "scaled: the factor")
        times = Decimal(repr(float(factor)))
        groups = {name: Group(g.members, float(Decimal(repr(g.cost)) * times)) for name, g in self.groups.items()}
        own = [float(Decimal(repr(cost)) * times) for cost in self._own.tolist()]
        return FeatureCosts(own, feature_names=self._names, groups=groups)

    @classmethod
    def unit(cls, features: int | Iterable[str]) -> FeatureCosts:
        """Every feature costs 1: for a number of features, or for their names."""
        if isinstance(features, int | np.integer):
            return cls(np.ones(int(features)))
        names = _check_names(features, "feature_names")
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
        return cls(**_read_price_list(path))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the price list as `feature,cost,group,group_cost`, which `from_csv` reads back unchanged."""
        if self._names is None:
            raise ValueError("to_csv writes features by name, and these have none; give feature_names first.")
        lost = [g for g in self._group_names if ";" in g or g != g.strip()] + [""] * ("" in self._positions)
        if lost:
            raise ValueError(f"a price list cannot hold the names {lost}: they are empty, or have ';' or outer spaces.")
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["feature", "cost", "group", "group_cost"])
            for name, cost, member_of in zip(self._names, self._own.tolist(), self._membership.T, strict=True):
                ids = np.flatnonzero(member_of)
                prices = (repr(self._shared[g].item()) for g in ids)
                writer.writerow([name, repr(cost), ";".join(self._group_names[g] for g in ids), ";".join(prices)])

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
        limit = _EXACT // (4 * (self.n_features + len(self._group_names)))
        for counts in (features, groups):
            if not np.all((counts >= 0) & (counts == np.floor(counts)) & (counts < limit)):
                raise ValueError(
                    f"of_purchases takes whole numbers from 0 to {limit}: count rows, do not average them."
                )


def resolve_costs(feature_costs: Any, n_features: int, feature_names: Sequence[str] | None = None) -> FeatureCosts:
    """The price list for the columns of X, from whatever the user gave.

    None: every feature costs 1. Costs with names follow the columns of X by name; if X has no names they follow by
    position (and keep their names). Costs without names follow by position and take the names of X.
    """
    if feature_costs is None:
        return FeatureCosts.unit(n_features if feature_names is None else feature_names)
    costs = feature_costs if isinstance(feature_costs, FeatureCosts) else FeatureCosts(feature_costs)
    if feature_names is not None and costs.feature_names is not None:
        return costs.aligned_to(feature_names)
    if costs.n_features != n_features:
        given, way_out = costs.n_features, "one cost per column, or costs by name"
        if costs.feature_names is not None:
            way_out = "X with column names, or one cost per column in the order of the columns"
        raise ValueError(f"feature_costs has {given} entries but X has {n_features} columns. Give {way_out}.")
    if feature_names is None:
        return costs
    return FeatureCosts(costs.own, feature_names=feature_names, groups=costs.groups)


def _rebuild(own: list[float], names: tuple[str, ...] | None, groups: dict[str, Group]) -> FeatureCosts:
    return FeatureCosts(own, feature_names=names, groups=groups)


# ---- exact sums


@dataclass(frozen=True)
class _Tick:
    """The smallest coin, worth up / down; one of the two is 1."""

    up: int
    down: int

    def money(self, ticks: Ticks) -> Money:
        """Ticks below 2^62 as float64, rounded once: decimal ticks by the division, binary ones by the conversion."""
        return ticks.astype(np.float64) * float(self.up) / float(self.down)

    def exactly(self, ticks: int) -> float:
        """Any number of ticks as a float, rounded once (Python divides whole numbers correctly, however large)."""
        return ticks * self.up / self.down


def _in_ticks(prices: Money) -> tuple[Ticks, _Tick]:
    """Prices as whole numbers of a tick: 10^-d if they are decimals with d <= 9 digits, else a power of two.

    Binary ticks round a price to at worst 2^-61 of the total. What is left may be decimal, and has to be treated so:
    the ticks depend on the rounded prices only, so a list that is saved and read again gives the same bills.
    """
    decimal = _decimal_ticks(prices)
    if decimal is None:
        ticks, tick = _binary_ticks(prices)
        decimal = _decimal_ticks(tick.money(ticks))
    return decimal or (ticks, tick)


def _decimal_ticks(prices: Money) -> tuple[Ticks, _Tick] | None:
    for digits in range(10):
        with np.errstate(over="ignore"):
            ticks = np.rint(prices * 10.0**digits)
            if ticks.sum() >= _EXACT:
                return None
        if np.array_equal(ticks / 10.0**digits, prices):
            return ticks.astype(np.int64), _Tick(1, 10**digits)
    return None


def _binary_ticks(prices: Money) -> tuple[Ticks, _Tick]:
    needed = max(price.as_integer_ratio()[1].bit_length() - 1 for price in prices.tolist())
    try:
        room = 63 - math.frexp(math.fsum(prices))[1]
    except OverflowError:
        raise ValueError("the costs add up to infinity; give them in a larger unit.") from None
    shift = min(needed, room, 1022)  # past 1022 a tick would be a subnormal float64
    ticks = np.rint(np.ldexp(prices, shift)).astype(np.int64)
    while sum(ticks.tolist()) >= _ROOM:
        shift -= 1
        ticks = np.rint(np.ldexp(prices, shift)).astype(np.int64)
    return ticks, _Tick(2 ** max(-shift, 0), 2 ** max(shift, 0))


def _split(ticks: Ticks, times: int) -> tuple[Money, int]:
    """Ticks (n,) as (n, n_parts) float64, low bits first, and the bits of a part; `times` parts add up exactly."""
    bits = _EXACT.bit_length() - 1 - times.bit_length()
    n_parts = max(1, -(-int(ticks.max(initial=0)).bit_length() // bits))
    parts = [ticks >> (bits * i) & (2**bits - 1) for i in range(n_parts)]
    return np.stack(parts, axis=1).astype(np.float64), bits


def _join(parts: Money, bits: int, dtype: type = np.int64) -> Any:
    """Undo `_split` along the last axis; dtype object (Python's whole numbers) where int64 could overflow."""
    whole: NDArray[Any] = parts.astype(np.int64).astype(dtype)
    return sum(whole[..., i] * 2 ** (bits * i) for i in range(whole.shape[-1]))


# ---- checks at the door


def _names_and_values(costs: Any) -> tuple[tuple[str, ...] | None, Money]:
    names = None
    if isinstance(costs, Mapping):
        names, costs = _check_names(costs, "the keys of costs"), list(costs.values())
    elif hasattr(costs, "iloc") and type(costs.index).__name__ != "RangeIndex":
        names = _check_names(costs.index, "the index of costs")
    values = _as_numbers(costs, "costs")
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"costs must be a list with one number for each feature, got shape {values.shape}.")
    return names, values


def _as_numbers(values: Any, what: str) -> Money:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        way_out = "an array, dict or Series will do, and FeatureCosts.from_csv reads a file"
        raise TypeError(f"{what} must be numbers, got {values!r:.80}; {way_out}.") from None


def _check_names(names: Iterable[Any], what: str) -> tuple[str, ...]:
    found = () if isinstance(names, str) else tuple(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"{what} must be a list of strings, got {names!r:.80}; use str(name), or costs by position.")
    twice = [name for name, n in Counter(found).items() if n > 1]
    if twice:
        raise ValueError(f"{what} has duplicates: {_listed(twice)}; give each feature one name of its own.")
    return tuple(map(str, found))


def _check_prices(prices: Money, labels: Sequence[str | int], what: str) -> None:
    wrong = [f"{label} = {p:g}" for label, p in zip(labels, prices.tolist(), strict=True) if not 0 <= p < math.inf]
    if wrong:
        raise ValueError(f"{what} must be finite and >= 0, got {_listed(wrong)}; 0 is legal and means free.")


def _check_groups(groups: Any) -> dict[str, Group]:
    if not isinstance(groups, Mapping) or not all(isinstance(name, str) and name for name in groups):
        raise TypeError(f"groups must be a dict name -> Group with non-empty names, got {groups!r:.80}.")
    return {str(name): _as_group(name, group) for name, group in groups.items()}


def _as_group(name: str, group: Any) -> Group:
    if isinstance(group, Group):
        return group
    if isinstance(group, Mapping) and set(group) == {"members", "cost"}:
        return Group(**group)
    raise TypeError(f"group {name!r} must be Group(members=[...], cost=...), got {group!r:.80}.")


def _positions_of(wanted: tuple[str, ...], have: tuple[str, ...], owner: str) -> NDArray[np.intp]:
    """Where each wanted name is in `have`; both must hold the same names."""
    position = {name: i for i, name in enumerate(have)}
    missing = [name for name in wanted if name not in position]
    unknown = sorted(position.keys() - set(wanted), key=position.__getitem__)
    if not missing and not unknown:
        return np.array([position[name] for name in wanted], dtype=np.intp)
    what = f"feature_costs has {len(have)} entries but {owner} has {len(wanted)} columns"
    if len(have) == len(wanted):
        what = f"feature_costs and {owner} name different features"
    lists = [f"; missing: {_listed(missing)}"] * bool(missing) + [f"; unknown: {_listed(unknown)}"] * bool(unknown)
    ways = ["Add costs for the missing ones."] * bool(missing)
    ways += ["Drop the unknown ones (costs.subset(columns) does)."] * bool(unknown)
    raise ValueError(f"{what}{''.join(lists)}. {' '.join(ways)}")


def _as_array(features: Any) -> NDArray[Any]:
    if hasattr(features, "dtype"):
        array = np.asarray(features)
        return array[None] if array.ndim == 0 else array
    if not isinstance(features, Iterable | int):
        raise TypeError(f"features are names, positions or a boolean mask, got {features!r:.80}.")
    items = [features] if isinstance(features, str | int) else list(features)
    return np.array(items, dtype=object if any(isinstance(item, str) for item in items) else None)


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def _few(labels: Sequence[object], prices: Money) -> str:
    shown = [f"{label}: {price:g}" for label, price in zip(labels[:4], prices, strict=False)]
    return _listed(shown + ["..."] * (len(labels) > 4))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


# ---- price lists in files

Steps = dict[str, Decimal]  # the groups of a feature, and what each is said to cost


@dataclass(frozen=True)
class _Row:
    """One line of a price list."""

    line: int
    cells: dict[str, str]

    def number(self, column: str) -> Decimal:
        return self.parsed(column, self.cells[column])

    def parsed(self, column: str, text: str) -> Decimal:
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite() or number < 0:
            raise ValueError(f"line {self.line}: {column} must be a finite number >= 0, got {text!r}.")
        return number


def _read_price_list(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arguments of FeatureCosts, from a file."""
    if os.path.getsize(path) > MAX_CSV_BYTES:
        raise ValueError(f"{path}: larger than {MAX_CSV_BYTES} bytes, which is too large for a price list.")
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            costs, steps = _collect(_rows(csv.reader(file)))
            groups = _groups(costs, steps)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text ({error.reason}); save it as CSV in UTF-8.") from None
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path}: {error}") from None
    return {"costs": {feature: float(cost) for feature, cost in costs.items()}, "groups": groups}


def _rows(reader: Any) -> Iterator[_Row]:
    header = [cell.strip() for cell in next(reader, [])]
    if not {"feature", "cost"} <= set(header) or len(set(header)) < len(header):
        raise ValueError(f"the first line must name the columns feature,cost[,group,group_cost], got {header}.")
    for cells in filter(None, reader):
        row = _Row(reader.line_num, dict(zip(header, cells, strict=False)))
        if len(cells) != len(header) or not row.cells["feature"]:
            raise ValueError(f"line {row.line}: need a feature name and {len(header)} cells in all, got {cells}.")
        yield row


def _collect(rows: Iterator[_Row]) -> tuple[Steps, dict[str, Steps]]:
    """Own cost of each feature, and its groups with their costs."""
    costs: Steps = {}
    steps: dict[str, Steps] = {}
    for row in rows:
        feature = row.cells["feature"]
        own, further = _prices(row)
        known = steps.setdefault(feature, {})
        if feature in costs and (own != costs[feature] or not further or known.keys() & further.keys()):
            raise ValueError(
                f"line {row.line}: {feature} is listed twice; repeat it only for another group, same cost."
            )
        costs[feature] = own
        known.update(further)
    if not costs:
        raise ValueError("no features after the first line; add one line for each feature.")
    return costs, steps


def _prices(row: _Row) -> tuple[Decimal, Steps]:
    columns = row.cells.keys() & {"group", "group_cost", "cost_if_not_first_in_group"}
    if not columns:
        return row.number("cost"), {}
    if columns == {"group", "group_cost"}:
        return row.number("cost"), _joined_groups(row)
    if columns == {"group", "cost_if_not_first_in_group"}:
        return _discounted(row)
    raise ValueError("the column group goes with either group_cost or cost_if_not_first_in_group.")


def _joined_groups(row: _Row) -> Steps:
    names, prices = ([t.strip() for t in row.cells[c].split(";") if t.strip()] for c in ("group", "group_cost"))
    if len(names) != len(prices) or len(set(names)) < len(names):
        raise ValueError(f"line {row.line}: give each group once and as many group_cost as groups, both joined by ';'.")
    return {name: row.parsed("group_cost", price) for name, price in zip(names, prices, strict=True)}


def _discounted(row: _Row) -> tuple[Decimal, Steps]:
    first, group = row.number("cost"), row.cells["group"].strip()
    later = row.number("cost_if_not_first_in_group") if row.cells["cost_if_not_first_in_group"].strip() else first
    if later > first or ";" in group or (later != first and not group):
        raise ValueError(
            f"line {row.line}: cost {first}, later {later}, group {group!r}; later must not be dearer, and is cheaper "
            f"only in a group. For a feature in several groups use the column group_cost instead."
        )
    return later, {group: first - later} if group else {}


def _groups(costs: Steps, steps: dict[str, Steps]) -> dict[str, Group]:
    shared: Steps = {}
    members: dict[str, list[str]] = {}
    for feature, further in steps.items():
        for group, cost in further.items():
            known = shared.setdefault(group, cost)
            # A file made from floats has noise in the last digits of a difference; that is no contradiction.
            if abs(known - cost) > Decimal("1e-9") * (costs[feature] + cost):
                raise ValueError(
                    f"the shared cost of group {group} is {known} for {members[group][0]} but {cost} for {feature}; "
                    f"make it the same for all members, else the bill depends on who comes first."
                )
            members.setdefault(group, []).append(feature)
    return {name: Group(tuple(members[name]), float(cost)) for name, cost in shared.items()}
