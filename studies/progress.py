"""A line for every finished piece of work, with the time that is left."""

from __future__ import annotations

import time


class Countdown:
    """Counts what is done of a known number of pieces."""

    def __init__(self, n_pieces: int) -> None:
        self.n_pieces = n_pieces
        self.n_done = 0
        self.start = time.perf_counter()

    def skip(self, n: int = 1) -> None:
        """So many pieces fewer: they were there already, or cannot be had."""
        self.n_pieces -= n

    def done(self, what: str) -> None:
        """Says what was finished just now, and how long the rest will take at this pace."""
        self.n_done += 1
        left = (time.perf_counter() - self.start) / self.n_done * (self.n_pieces - self.n_done)
        print(f"{what}: {self.n_done} of {self.n_pieces}, {_readable(left)} left", flush=True)


def _readable(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
