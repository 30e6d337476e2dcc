"""Phrases that several findings share."""

from __future__ import annotations

import pandas as pd
from studies.findings import Finding
from studies.intervals import Interval
from studies.jagdhuber.frames import ENOUGH

PLACES = ("first", "second", "third", "fourth", "fifth")
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}


def too_few(claim: str) -> Finding:
    return Finding(claim, f"fewer than {ENOUGH} repetitions", "not judged", "run more repetitions")


def in_words(ranks: pd.Series, suffix: str = "") -> str:
    return ", ".join(f"{method.removesuffix(suffix)} {rank:.2f}" for method, rank in ranks.items())


def place_of(ranks: pd.Series, method: str) -> str:
    place = list(ranks.index).index(method)
    return f"{'last' if place == len(ranks) - 1 else PLACES[place]} of {NUMBERS[len(ranks)]}"


def compared(change: Interval) -> str:
    """Of an error less another one."""
    return "better" if change.is_below() else "worse" if change.is_above() else "no difference to be seen"
