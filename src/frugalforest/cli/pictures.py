"""Figures to files: PNG, SVG and PDF through matplotlib, CSV by hand."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugalforest.cli.errors import Mistake
from frugalforest.cli.files import draft_of, require_room, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = (".png", ".svg", ".pdf")


def require_picture(path: Path, *, or_csv: bool = True) -> None:
    """Refuse what cannot be drawn, before any work is done."""
    kinds = (*PICTURES, *([".csv"] if or_csv else []))
    if path.suffix.lower() not in kinds:
        raise Mistake(f"{path.name}: give a name that ends in {', '.join(kinds)}.")
    require_room(path, "the picture")
    if path.suffix.lower() != ".csv":
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise Mistake(
                'drawing needs matplotlib, which is not installed: pip install "frugalforest[plot]". Or write .csv.'
            ) from None


def save_picture(path: Path, draw: Callable[[Axes], Any]) -> None:
    """Draw on a new figure and write it, in the format that the name ends in; the same figure gives the same bytes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "frugalforest", "svg.fonttype": "none"}):
        figure, ax = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        draw(ax)
        kind = path.suffix.lower()[1:]
        with draft_of("the picture", path) as draft:
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            figure.savefig(draft, format=kind, dpi=150, metadata=metadata)
        pyplot.close(figure)


def save_rows(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text("the table", path, text.getvalue())
