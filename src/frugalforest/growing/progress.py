"""A progress bar when the user asks for one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(verbose: bool | int, n_trees: int, what: str) -> Iterator[Callable[[int], None] | None]:
    """Yield a function to call with the number of finished trees, or None when not verbose; tqdm where installed."""
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield lambda n: print(f"{what}: {n} of {n_trees} trees", file=sys.stderr)
        return
    with tqdm(total=n_trees, desc=what, unit="tree") as bar:

        def show(n_finished: int) -> None:
            bar.update(n_finished - bar.n)

        yield show
