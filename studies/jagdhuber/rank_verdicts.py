"""What the rows say about ranks on the real data sets."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
from studies.findings import Finding
from studies.intervals import interval_of
from studies.jagdhuber.frames import measured, paired, set_ranks, well_repeated
from studies.jagdhuber.tasks import METHODS, REAL
from studies.jagdhuber.words import in_words, too_few


def tuned_and_agnostic(frame: pd.DataFrame) -> pd.DataFrame:
    """Ranks by data set of every method with enough repetitions, tuned and at xi = 0."""
    part = measured(frame[frame["name"].isin(REAL)], METHODS, ["tuned", "xi 0"])
    return set_ranks(measured(part, well_repeated(part, METHODS)))


def without_fs(frame: pd.DataFrame) -> pd.DataFrame:
    """FS has fewer splits than the others: without it all of theirs count."""
    return frame[frame["kind"] != "FS"]


def n_splits(frame: pd.DataFrame, kinds) -> str:
    """Splits of a real data set that all these methods have."""
    part = paired(frame[frame["name"].isin(REAL)], kinds)
    counts = part.groupby("name")["seed"].nunique()
    return f"{counts.min()} splits" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()} splits"


class Order(NamedTuple):
    """Tuned methods against cost-agnostic ones, by ranks."""

    n_pairs: int
    n_ahead: int  # in the means
    n_sure: int  # beyond their intervals
    ours: str


def order_of(frame: pd.DataFrame) -> Order | None:
    """None: too few repetitions."""
    ranks = tuned_and_agnostic(frame)
    tuned, agnostic = ([m for m in ranks if m.endswith(strategy)] for strategy in ("tuned", "xi 0"))
    if not tuned or not agnostic:
        return None
    gaps = {(t, a): interval_of(ranks[a] - ranks[t]) for t in tuned for a in agnostic}
    (one, other), closest = min(gaps.items(), key=lambda item: item[1].mean)
    told = ", ".join(f"{method} {interval_of(ranks[method]).text(2)}" for method in ranks.mean().sort_values().index)
    splits = n_splits(frame, [method.removesuffix(" tuned") for method in tuned])
    ours = f"{told} ({splits} of {len(ranks)} sets); closest: {other} - {one} {closest.text(2, sign=True)}"
    ahead, sure = sum(g.mean > 0 for g in gaps.values()), sum(g.is_above() for g in gaps.values())
    return Order(len(gaps), ahead, sure, ours)


def rank_finding(frame: pd.DataFrame) -> Finding:
    claim = "Real sets: every tuned method ranks above every cost-agnostic one"
    order, three = order_of(frame), order_of(without_fs(frame))
    if order is None:
        return too_few(claim)
    ours = order.ours
    if three is not None and three.n_pairs < order.n_pairs:
        ours += (
            f"; without FS: {three.ours}, {three.n_ahead} of {three.n_pairs} pairs ({three.n_sure} beyond intervals)"
        )
    if order.n_sure == order.n_pairs:
        return Finding(claim, ours, "confirmed")
    word = "partly" if order.n_ahead else "refuted"
    verdict = f"{word}: {order.n_ahead} of {order.n_pairs} pairs in the means, {order.n_sure} beyond their intervals"
    return Finding(
        claim, ours, verdict, "ranks differ more from set to set than from method to method; six sets are few"
    )


def lead_of(frame: pd.DataFrame) -> tuple[str, str, pd.Series, str] | None:
    """The worse of the two leaders, the best of the others, how far that is behind on each set, and the words."""
    leaders = ["STS tuned", "pFI tuned"]
    part = measured(frame[frame["name"].isin(REAL)], METHODS, ["tuned"])
    kinds = well_repeated(part, METHODS)
    ranks = set_ranks(measured(part, kinds))
    others = [method for method in ranks if method not in leaders]
    if not others or not set(leaders) <= set(ranks):
        return None
    ordered = ranks.mean().sort_values()
    leader, rival = max(leaders, key=ordered.get), min(others, key=ordered.get)
    by_set = ranks[rival] - ranks[leader]
    each = ", ".join(f"{name} {value:+.2f}" for name, value in by_set.items())
    pair = f"{rival} - {leader}".replace(" tuned", "")
    lead = interval_of(by_set).text(2, sign=True)
    told = f"{in_words(ordered, ' tuned')} ({n_splits(frame, kinds)}); {pair} {lead} ({each})"
    return leader, rival, by_set, told


def source_of(by_set: pd.Series) -> str:
    """Which data set a lead comes from, and what is left of it without that one."""
    largest = by_set.idxmax()
    return f"the lead comes from {largest}: {by_set.drop(largest).mean():+.2f} without it"


def lead_finding(frame: pd.DataFrame) -> Finding:
    claim = "Real sets: STS and pFI lead by almost a full rank"
    found, three = lead_of(frame), lead_of(without_fs(frame))
    if found is None:
        return too_few(claim)
    leader, rival, by_set, ours = found
    lead = interval_of(by_set)
    why = source_of(by_set) if lead.mean > 0 else f"{rival} ranks above {leader}"
    if three is not None and three[-1] != ours:
        ours += f"; without FS: {three[-1]}"
        why += f"; without FS {source_of(three[2])}"
    if lead.is_above() and lead.mean > 0.75:
        return Finding(claim, ours, "confirmed")
    return Finding(claim, ours, "refuted" if lead.is_below() else "not confirmed", why)
