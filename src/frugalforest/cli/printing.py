"""Answers on the screen: lines and tables for people, or one JSON object for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from frugalforest.cli.errors import Switches, harmless

if TYPE_CHECKING:
    from rich.console import Console


class Printer:
    """Prints to stdout what is meant for the reader at hand; the other kind is left out."""

    @cached_property
    def console(self) -> Console:
        """Where lines and tables go; text that comes from files is never read as markup."""
        from rich.console import Console

        return Console(highlight=False, markup=False, quiet=Switches.as_json, soft_wrap=True)

    def line(self, text: str = "", style: str | None = None) -> None:
        """One line for people."""
        self.console.print(harmless(text), style=style)

    def heading(self, text: str) -> None:
        """A line above what follows."""
        self.console.print()
        self.console.print(harmless(text), style="bold")

    def prompt(self, text: str) -> None:
        """A question; the answer stands behind it."""
        self.console.print(harmless(text), end="")

    def facts(self, pairs: Iterable[tuple[str, str]]) -> None:
        """What | how much, one below the other."""
        pairs = list(pairs)
        width = max(len(what) for what, _ in pairs)
        for what, value in pairs:
            self.line(f"  {what:<{width}}  {value}")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> None:
        """A table; the first `text_columns` columns are texts, the others numbers."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
        for place, name in enumerate(columns):
            is_text = place < text_columns
            table.add_column(
                Text(name), justify="left" if is_text else "right", overflow="fold" if is_text else "ellipsis"
            )
        for row in rows:
            table.add_row(*(Text(harmless(cell)) for cell in row))
        self.console.print(table, soft_wrap=False)

    def json(self, content: dict[str, Any]) -> None:
        """The whole answer for machines."""
        if Switches.as_json:
            print(json.dumps(_plain(content), indent=2, ensure_ascii=False))


def money(amount: float) -> str:
    """An amount with two decimals, more where it is tiny."""
    return f"{amount:,.2f}" if amount == 0 or abs(amount) >= 0.01 else f"{amount:.2g}"


def percent(share: float) -> str:
    """A share with one decimal."""
    return "" if math.isnan(share) else f"{100 * share:.1f}%"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """1 row, 2 rows."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def shortened(names: Sequence[object], most: int = 8) -> str:
    """Names for a line: the first few, and how many more."""
    shown = ", ".join(map(str, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _plain(value: Any) -> Any:
    """What JSON knows: numbers of numpy as Python's, NaN and infinity as null, keys as text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
