"""From a table and a price list to rows that can be learned from: checked, typed, and split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from frugalforest.cli.errors import Mistake, as_mistake
from frugalforest.cli.files import require_file
from frugalforest.cli.printing import counted, shortened
from frugalforest.cli.tables import TableFile, TextFormat, open_table
from frugalforest.cli.tables.formats import single_column
from frugalforest.cli.tables.mistakes import text_for_number
from frugalforest.cli.tables.values import is_number, plain_text
from frugalforest.costs import FeatureCosts
from frugalforest.estimators.problem import stratified_mask

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CLASSES = 100
MOSTLY_NUMBERS = 0.5  # of the distinct texts of a column: then the others are probably slips
FEWEST_ROWS = 10


@dataclass(frozen=True)
class ColumnFacts:
    """What was guessed of a column."""

    name: str
    kind: str  # "number" or "text"
    n_distinct: int
    missing: float  # share of the rows
    price: float  # if it is bought first


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Features as an Arrow table, labels, and prices in the order of the columns."""

    source: Path
    target: str
    X: pa.Table
    y: NDArray[Any]
    costs: FeatureCosts
    n_without_label: int  # rows left out

    def __len__(self) -> int:
        return len(self.y)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.unique(self.y)

    @property
    def text_columns(self) -> list[str]:
        """Columns that hold texts."""
        import pyarrow as pa

        return [field.name for field in self.X.schema if pa.types.is_string(field.type)]

    def take(self, rows: NDArray[Any]) -> TrainingData:
        """Some of the rows: a mask or positions."""
        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        return TrainingData(self.source, self.target, self.X.take(places), self.y[places], self.costs, 0)

    def split(self, share: float, seed: int) -> tuple[TrainingData, TrainingData]:
        """Rows to learn from, and a share of every class to set aside."""
        labels = np.unique(self.y, return_inverse=True)[1].astype(np.int32)
        aside = stratified_mask(labels, share, seed)
        if not aside.any():
            raise Mistake(
                f"{self.source} has {counted(len(self), 'row')}, too few to set {share:.0%} aside for an honest error."
            )
        return self.take(~aside), self.take(aside)

    def facts(self) -> list[ColumnFacts]:
        """What was guessed, column by column."""
        texts = set(self.text_columns)
        return [
            ColumnFacts(
                name,
                "text" if name in texts else "number",
                len(column.unique().drop_null()),
                column.null_count / max(1, len(column)),
                float(price),
            )
            for name, column, price in zip(self.X.column_names, self.X.columns, self.costs.alone, strict=True)
        ]


@dataclass(frozen=True)
class TableWishes:
    """What the user says about the table."""

    text: TextFormat
    categorical: Sequence[str] = ()
    drop: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        separator: str | None,
        missing: Sequence[str] | None,
        categorical: Sequence[str] | None,
        drop: Sequence[str] | None,
    ) -> TableWishes:
        """From options, where None means that nothing was said."""
        return cls(TextFormat(separator, missing or ()), categorical or (), drop or ())


def load_training_data(path: Path, target: str, costs_path: Path, wishes: TableWishes) -> TrainingData:
    """Read the table and its prices, and refuse whatever would go wrong later."""
    file = open_table(path, wishes.text)
    if len(file.columns) == 1:
        raise single_column(path, file.columns[0])
    require_file(costs_path, "the price list")
    _refuse_unknown(file, [("--target", [target]), ("--drop", wishes.drop), ("--categorical", wishes.categorical)])
    with as_mistake():
        costs = FeatureCosts.from_csv(costs_path)
    features = [name for name in file.columns if name != target and name not in set(wishes.drop)]
    if not features:
        raise Mistake(f"{path} has no column besides {target!r} and those dropped; there is nothing to predict from.")
    costs = _aligned(costs, features, path, costs_path, ignored={target, *wishes.drop})
    table = file.read(as_text=wishes.categorical)
    if len(table) == 0:
        raise Mistake(f"{path} has no rows below its first line; give a table with rows to learn from.")
    X = _typed(file, table.select(features), wishes)
    has_label = table[target].is_valid()
    labelled = table.filter(has_label)
    y = _labels(path, target, labelled[target])
    if len(labelled) < FEWEST_ROWS:
        raise Mistake(
            f"{path} has {counted(len(labelled), 'row')} with a {target}; {FEWEST_ROWS} are the least to learn from."
        )
    return TrainingData(path, target, X.filter(has_label), y, costs, len(table) - len(labelled))


def _refuse_unknown(file: TableFile, named: Sequence[tuple[str, Sequence[str]]]) -> None:
    for option, names in named:
        unknown = [name for name in names if name not in file.columns]
        if unknown:
            raise Mistake(
                f"{option} names {', '.join(map(repr, unknown))}, but {file.path} has no such column. "
                f"It has {shortened(file.columns, 30)}."
            )


def _aligned(
    costs: FeatureCosts, features: Sequence[str], path: Path, costs_path: Path, ignored: set[str]
) -> FeatureCosts:
    """Prices in the order of the columns; those of the target and of what is dropped are ignored."""
    priced = [name for name in costs.feature_names or () if name not in ignored]
    without_price = [name for name in features if name not in set(priced)]
    without_column = [name for name in priced if name not in set(features)]
    if without_price or without_column:
        parts = [f"{path} and {costs_path} do not fit together."]
        if without_price:
            parts.append(f"Columns without a cost: {', '.join(without_price)}.")
        if without_column:
            parts.append(f"Costs without a column: {', '.join(without_column)}.")
        if without_price:
            parts.append(f"Add these to the price list (0 means free), or leave them out: --drop {without_price[0]}.")
        else:
            parts.append("Remove these from the price list, or add the columns.")
        raise Mistake(" ".join(parts))
    return costs.subset(list(features))


def _labels(path: Path, target: str, column: Any) -> NDArray[Any]:
    """The labels: whole numbers stay numbers, everything else is text."""
    import pyarrow as pa

    n_distinct = len(column.unique())
    if n_distinct < 2:
        found = f"only the value {column[0].as_py()!r}" if len(column) else "no value at all"
        raise Mistake(f"{path}: the target {target!r} has {found}; there is nothing to tell apart.")
    if pa.types.is_floating(column.type) or n_distinct > MOST_CLASSES:
        column = plain_text(column)
        if n_distinct > MOST_CLASSES or any("." in value for value in column.unique().to_pylist()):
            raise Mistake(
                f"{path}: the target {target!r} has {n_distinct:,} different values such as "
                f"{shortened(column.unique().to_pylist(), 3)}; expected classes, at most {MOST_CLASSES}. Cut "
                "amounts into classes first."
            )
        return np.array([int(value) for value in column.to_pylist()])
    if pa.types.is_integer(column.type):
        return np.array(column.to_pylist(), dtype=np.int64)
    return np.array(plain_text(column).to_pylist(), dtype=str)


def _typed(file: TableFile, X: pa.Table, wishes: TableWishes) -> pa.Table:
    """Numbers as float64, everything else as text; dates and the like are refused."""
    import pyarrow as pa

    dates = [field.name for field in X.schema if pa.types.is_temporal(field.type)]
    if dates:
        raise Mistake(
            f"{file.path}: {', '.join(dates)} {'hold' if len(dates) > 1 else 'holds'} dates or times. Turn them into "
            f"numbers first, for example days since a fixed date, or leave them out: --drop {dates[0]}."
        )
    for place, field in enumerate(X.schema):
        column = X.column(place)
        is_amount = (
            pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        )
        if field.name not in wishes.categorical and (is_amount or pa.types.is_null(field.type)):
            X = X.set_column(place, field.name, column.cast(pa.float64()))
            continue
        try:
            column = plain_text(column)
        except pa.ArrowNotImplementedError:
            raise Mistake(
                f"{file.path}: column {field.name!r} is of type {field.type}; expected numbers or text."
            ) from None
        if field.name not in wishes.categorical:
            _refuse_slips(file, field.name, column)
        X = X.set_column(place, field.name, column)
    return X


def _refuse_slips(file: TableFile, name: str, column: Any) -> None:
    """A column whose texts are mostly numbers was meant to be one of numbers."""
    distinct = column.unique().drop_null().to_pylist()
    slips = {value for value in distinct if not is_number(value)}
    if slips and len(distinct) - len(slips) > MOSTLY_NUMBERS * len(distinct):
        row = next(place for place, value in enumerate(column.to_pylist()) if value in slips)
        value = column[row].as_py()
        line = row + 2 if file.has_lines else None  # the first line has the names
        mistake = text_for_number(file.path, name, value, line, row + 1)
        raise Mistake(f"{mistake} If {name!r} holds names rather than amounts, add --categorical {name}.")
