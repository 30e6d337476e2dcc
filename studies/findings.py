"""Sentences of a paper beside what our rows say about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Finding(NamedTuple):
    """One sentence of a paper, what the rows say about it, and why that is not the same (if it is not)."""

    claim: str
    ours: str
    verdict: str
    why: str = ""


def findings_table(found: Iterable[Finding]) -> str:
    lines = ["| the paper says | ours | verdict | why it differs |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {f.claim} | {f.ours} | {f.verdict} | {f.why} |" for f in found)])


def verdict_of(kept: Sequence[bool]) -> str:
    """What to say of a claim that holds in some cases."""
    if all(kept):
        return "confirmed"
    return f"partly: {sum(map(bool, kept))} of {len(kept)}" if any(kept) else "refuted"
