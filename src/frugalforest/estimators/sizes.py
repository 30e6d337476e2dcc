"""Which numbers of trees are worth measuring one by one."""

from __future__ import annotations

ALL_UP_TO = 8
GROWTH = 1.1


def measured_sizes(after: int, up_to: int) -> list[int]:
    """Sizes beyond `after`: all up to 8, then ever wider steps of 10 %, and the last one."""
    sizes, size = [], 0
    while size < up_to:
        size = size + 1 if size < ALL_UP_TO else max(size + 1, round(size * GROWTH))
        sizes.append(min(size, up_to))
    return [size for size in sizes if size > after]
