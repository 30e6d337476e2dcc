"""Which labels are given to which classes."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from frugalforest.report.measuring import Measured
from frugalforest.report.page import table

MOST_CLASSES = 6


def confusion_counts(measured: Measured) -> NDArray[np.int64]:
    """(n_classes, n_classes): rows of class i that got label j."""
    counts = np.zeros((len(measured.classes),) * 2, dtype=np.int64)
    for i, truth in enumerate(measured.classes):
        for j, label in enumerate(measured.classes):
            counts[i, j] = np.sum((measured.y == truth) & (measured.labels == label))
    return counts


def confusion_table(measured: Measured) -> str:
    """A table with shaded cells; with many classes, the most frequent confusions."""
    counts, names = confusion_counts(measured), [str(label) for label in measured.classes]
    if len(names) > MOST_CLASSES:
        return _most_frequent(counts, names)
    head = "".join(f'<th class="top" scope="col">said {escape(name)}</th>' for name in names)
    rows = []
    for i, name in enumerate(names):
        total = max(1, int(counts[i].sum()))
        cells = "".join(_cell(n, n / total, is_hit=i == j) for j, n in enumerate(counts[i].tolist()))
        rows.append(f'<tr><th scope="row">is {escape(name)}</th>{cells}</tr>')
    return (
        f'<div class="scroll"><table class="confusion"><thead><tr><td style="border: 0"></td>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(n: int, share: float, *, is_hit: bool) -> str:
    kind = "hit" if is_hit else "miss"
    return f'<td class="{kind}" style="--share: {share:.3f}">{n}<small>{share:.0%}</small></td>'


def _most_frequent(counts: NDArray[np.int64], names: list[str]) -> str:
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None)[:10]
    found = [(names[i // len(names)], names[i % len(names)], int(wrong.flat[i])) for i in order.tolist()]
    rows = [(truth, label, str(n)) for truth, label, n in found if n > 0]
    return table(["is", "said", "rows"], rows or [("nothing is confused", "", "")], n_texts=2)
