"""Price lists in files: both layouts of the CSV, read and written."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from frugalforest.costs.groups import Group

MAX_CSV_BYTES = 64 * 2**20

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


def read_price_list(path: str | os.PathLike[str]) -> dict[str, Any]:
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


def write_price_list(
    path: str | os.PathLike[str], names: tuple[str, ...], own: Iterable[float], groups: Mapping[str, Group]
) -> None:
    """Write `feature,cost,group,group_cost`; members of groups are names."""
    lost = [name for name in groups if ";" in name or name != name.strip()] + [""] * ("" in names)
    if lost:
        raise ValueError(f"a price list cannot hold the names {lost}: they are empty, or have ';' or outer spaces.")
    member_of: dict[str | int, list[str]] = {name: [] for name in names}
    for group, step in groups.items():
        for member in step.members:
            member_of[member].append(group)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["feature", "cost", "group", "group_cost"])
        for name, cost in zip(names, own, strict=True):
            prices = ";".join(repr(groups[group].cost) for group in member_of[name])
            writer.writerow([name, repr(cost), ";".join(member_of[name]), prices])
