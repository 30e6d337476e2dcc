"""A progress bar on stderr, for whatever takes more than two seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

PATIENCE = 2.0  # seconds before a bar appears

Advance = Callable[[float, str], None]


@contextmanager
def progress(what: str, total: float | None = None) -> Iterator[Advance]:
    """Yield advance(done, what); the bar appears after two seconds, and only where stderr is a terminal.

    total: what `done` will be at the end; None: not known, so that the bar merely moves.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, now: None
        return
    columns = [TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()]
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(what, total=total)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, now: bar.update(task, completed=done, description=now)
    finally:
        timer.cancel()
        timer.join()
        with suppress(Exception):
            bar.stop()
