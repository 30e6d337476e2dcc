"""frugalforest predict: labels, probabilities and bills for a table of any size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import Mistake, as_mistake
from frugalforest.cli.files import require_room, size_of
from frugalforest.cli.printing import Printer, counted, money, percent

if TYPE_CHECKING:
    import pyarrow as pa

    from frugalforest.cli.tables import TableFile


def predict(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the answers go, by its name's end; -: stdout.")
    ] = Path("-"),
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COL", help="The column with the truth, if known: prints the error."),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="A column to copy to the answers, such as an id.")
    ] = None,
    features: Annotated[bool, typer.Option("--features", help="Also say which features each row needs.")] = False,
    separator: options.Separator = None,
    missing: options.Missing = None,
    jobs: options.Jobs = -1,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Labels, probabilities and the bill of each row.

    The table is read in chunks of a few megabytes, so that it may be larger than memory.

    [b]Examples[/b]

    $ frugalforest predict heart.ff patients.csv -o answers.csv
    $ frugalforest predict heart.ff patients.csv -o answers.csv --target disease
    $ frugalforest predict heart.ff big.parquet -o answers.parquet --keep id
    """
    from frugalforest.cli.models import load_model
    from frugalforest.cli.tables import TableWriter, TextFormat, open_table, require_writable_format
    from frugalforest.cli.tables.writing import STDOUT

    if output != STDOUT:
        require_room(output, "the answers")
    require_writable_format(output)
    if output == STDOUT and as_json:
        raise Mistake("--json and the answers cannot both go to stdout; give --output a file.")
    classifier = load_model(model, jobs)
    table = open_table(data, TextFormat(separator, missing or ()))
    reader = Reader(classifier, table, [*(keep or [])], target)
    tally = _Tally()
    from frugalforest.cli.progress import progress

    with TableWriter(output, "the answers") as writer, progress("predicting", 1.0) as advance:
        for chunk, share in reader.chunks():
            with as_mistake(f"{data}: "):
                answers = reader.answer(chunk, with_features=features, tally=tally)
            writer.write(answers)
            advance(share, f"predicting, {tally.n_rows:,} rows")
        if tally.n_rows == 0:
            raise Mistake(f"{data} has no rows below its first line.")
    if output != STDOUT:
        _show(Printer(), tally, output, target)
    Printer().json(tally.as_json(str(output)))


class _Tally:
    """Sums over the chunks."""

    def __init__(self) -> None:
        self.n_rows, self.spent, self.n_wrong, self.n_judged = 0, 0.0, 0, 0
        self.labels: dict[str, int] = {}
        self._start = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._start

    @property
    def error(self) -> float | None:
        return self.n_wrong / self.n_judged if self.n_judged else None

    def as_json(self, output: str) -> dict[str, Any]:
        return {
            "output": output,
            "n_rows": self.n_rows,
            "average_bill": self.spent / max(1, self.n_rows),
            "labels": self.labels,
            "error": self.error,
            "seconds": self.seconds,
        }


class Reader:
    """Chunks of a table as a model reads them, and its answers to them."""

    def __init__(self, model: Any, table: TableFile, keep: list[str], target: str | None) -> None:
        self._model, self._table, self._keep, self._target = model, table, keep, target
        encoder = model.encoder_
        self._named = encoder.feature_names is not None
        unknown = [name for name in [*keep, *([target] if target else [])] if name not in table.columns]
        if unknown:
            raise Mistake(
                f"{table.path} has no column {', '.join(map(repr, unknown))}; it has {', '.join(table.columns[:30])}."
            )
        self._refuse_clash()
        self._features = self._columns_for(encoder)
        self._texts = [name for place, name in enumerate(self._features) if self._is_text(encoder, place, name)]

    def _refuse_clash(self) -> None:
        answers = {"prediction", "bill", "features", *(f"P({label})" for label in self._model.classes_.tolist())}
        clash = [name for name in self._keep if name in answers]
        if clash:
            raise Mistake(
                f"--keep names {', '.join(map(repr, clash))}, which is a column of the answers; rename it first."
            )

    def _columns_for(self, encoder: Any) -> list[str]:
        """The columns of the table that the model reads."""
        if self._named:
            needed = self._needed(encoder)
            missing = [name for name in needed if name not in self._table.columns]
            if missing and len(self._table.columns) == 1:
                from frugalforest.cli.tables.formats import single_column

                raise single_column(self._table.path, self._table.columns[0])
            if missing:
                raise Mistake(
                    f"{self._table.path} lacks {len(missing)} of the {len(needed)} columns that the model reads: "
                    f"{', '.join(missing)}. Add them; a column without any value will do."
                )
            return [name for name in encoder.feature_names if name in self._table.columns]
        columns = [name for name in self._table.columns if name not in {*self._keep, self._target}]
        if len(columns) != encoder.n_features:
            raise Mistake(
                f"{self._table.path} has {counted(len(columns), 'column')}, and the model, which knows no names, reads "
                f"{encoder.n_features} by position. Leave the others out."
            )
        return columns

    def _needed(self, encoder: Any) -> list[str]:
        panel = getattr(self._model, "panel_", None)  # a panel reads its own columns only
        return list(encoder.feature_names) if panel is None else [encoder.feature_names[i] for i in panel.tolist()]

    def _is_text(self, encoder: Any, place: int, name: str) -> bool:
        position = encoder.feature_names.index(name) if self._named else place
        categories = encoder.categories.get(position, ())
        return any(isinstance(category, str) for category in categories)

    def chunks(self) -> Iterator[tuple[pa.Table, float]]:
        """Chunks with everything that is needed, and the share of the file that is read."""
        extra = [*self._keep, *([self._target] if self._target else [])]
        return self._table.chunks(self._features, self._texts, [name for name in extra if name not in self._features])

    def rows(self, chunk: pa.Table) -> Any:
        """The features of a chunk: by name, or as a matrix for a model that goes by position."""
        import numpy as np

        X = chunk.select(self._features)
        return X if self._named else np.column_stack([column.to_numpy() for column in X.columns])

    def answer(self, chunk: pa.Table, *, with_features: bool, tally: _Tally) -> pa.Table:
        """Labels, probabilities, bills, and what was asked for besides."""
        import numpy as np
        import pyarrow as pa

        model, rows = self._model, self.rows(chunk)
        labels, bills = model.predict_with_cost(rows)
        columns: dict[str, Any] = {name: chunk[name] for name in self._keep}
        columns["prediction"] = pa.array(labels.tolist() if labels.dtype == object else labels)
        for label, column in zip(model.classes_.tolist(), model.predict_proba(rows).T, strict=True):
            columns[f"P({label})"] = pa.array(np.ascontiguousarray(column))
        columns["bill"] = pa.array(bills)
        if with_features:
            columns["features"] = pa.array(_needs(model, rows))
        self._count(tally, chunk, labels, bills)
        return pa.table(columns)

    def _count(self, tally: _Tally, chunk: pa.Table, labels: Any, bills: Any) -> None:
        import numpy as np

        tally.n_rows += len(labels)
        tally.spent += float(bills.sum())
        for label, n in zip(*np.unique(labels, return_counts=True), strict=True):
            tally.labels[str(label)] = tally.labels.get(str(label), 0) + int(n)
        if self._target is not None:
            from frugalforest.cli.tables.values import plain_text

            truth = np.array(plain_text(chunk[self._target]).to_pylist(), dtype=object)
            known = np.array([value is not None for value in truth])
            tally.n_judged += int(known.sum())
            tally.n_wrong += int(np.sum(truth[known] != labels[known].astype(str)))


def _needs(model: Any, rows: Any) -> list[str]:
    """The names of the features that each row needs; rows that need the same share one text."""
    import numpy as np

    mask = model.acquisition_mask(rows)
    kinds, place = np.unique(mask, axis=0, return_inverse=True)
    names = [" ".join(str(model.encoder_.feature_label(int(i))) for i in np.flatnonzero(kind)) for kind in kinds]
    return [names[i] for i in place.ravel().tolist()]


def _show(printer: Printer, tally: _Tally, output: Path, target: str | None) -> None:
    labels = ", ".join(f"{label} {n:,}" for label, n in sorted(tally.labels.items()))
    rate = tally.n_rows / max(tally.seconds, 1e-9)
    printer.line(f"{counted(tally.n_rows, 'row')} in {tally.seconds:.1f} s ({rate:,.0f} per second): {labels}.")
    printer.line(f"Average bill: {money(tally.spent / tally.n_rows)}")
    if tally.error is not None:
        printer.line(f"Error: {percent(tally.error)} of the {counted(tally.n_judged, 'row')} with a {target}")
    printer.line(f"Answers: {output} ({size_of(output)})")
