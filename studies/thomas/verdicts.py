"""What the rows say about each sentence of the paper."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
from studies.findings import Finding, verdict_of
from studies.intervals import Interval, interval_of
from studies.thomas.frames import (
    GROUPED,
    N_TREES,
    NAMES,
    Paths,
    complete,
    difference,
    finished_curves,
    points,
    present,
    rows_of,
    selection_change,
)

FULL = ("FFS", "FFS + CT")
SCENE_REDUCTION, SCENE_LOST = 0.485, 0.0012
PAPER_SECONDS = 600  # "10 minutes or more"


class Claim(NamedTuple):
    """So much less cost for so much less accuracy; any of the methods, any of the sizes."""

    data: str
    methods: tuple[str, ...]
    sizes: tuple[int, ...]
    reduction: float
    lost: float
    why: str = "other draws of the rows"

    def __str__(self) -> str:
        return f"{NAMES[self.data]}: cost -{100 * self.reduction:.3g} % for -{100 * self.lost:.1f} points of accuracy"


CLAIMS = (
    Claim("pima", FULL, (N_TREES,), 0.23, 0.009),
    Claim("pima", FULL, (N_TREES,), 0.51, 0.024),
    Claim("spambase", FULL, (N_TREES,), 0.77, 0.036, "the curve ends at its largest trade-off"),
    Claim("mfeat_pix", ("RFS",), (10, 20, 50, N_TREES), 0.558, 0.026, "every tree draws further features"),
)


def judged(change: Interval, lost: float) -> str:
    if change.mean >= -lost:
        return "confirmed"
    return "not confirmed, within the interval" if change.high >= -lost else "not confirmed"


def case(paths: Paths, claim: Claim) -> tuple[str, str]:
    """What one curve says: the change at the reduction, or where the curve ends, and the verdict."""
    change = paths.change_at(claim.reduction)
    if change is not None:
        return f"{points(change)}", judged(change, claim.lost)
    reached, change = paths.end()
    short = 100 * (claim.reduction - reached)
    lost = "less accuracy lost" if change.mean >= -claim.lost else "more accuracy lost"
    word = "nearly" if short < 1 else "not reached"
    return f"-{100 * reached:.1f} % at most, for {points(change)}", f"{word} ({short:.1f} points of cost short, {lost})"


def claim_finding(rows: pd.DataFrame, claim: Claim) -> Finding:
    ours, verdicts = [], []
    for method in claim.methods:
        for trees in claim.sizes:
            label = f"{method}, {trees} trees" if len(claim.sizes) > 1 else method
            told, verdict = case(Paths(rows, claim.data, method, trees=trees), claim)
            ours.append(f"{label}: {told}")
            verdicts.append((label, verdict))
    if len({verdict for _, verdict in verdicts}) == 1:
        verdict = verdicts[0][1]
    else:
        verdict = "; ".join(f"{label}: {each}" for label, each in verdicts)
    all_kept = all(each == "confirmed" for _, each in verdicts)
    return Finding(str(claim), "; ".join(ours), verdict, "" if all_kept else claim.why)


def digits_finding(rows: pd.DataFrame) -> Finding:
    """Both methods that look at all features: do they lose more than RFS may, at its reduction and at their ends?"""
    claimed = CLAIMS[-1]
    ours, early, late = [], [], []
    for method in FULL:
        paths = Paths(rows, claimed.data, method)
        change, (reached, at_end) = paths.change_at(claimed.reduction), paths.end()
        if change is not None:
            ours.append(f"{method} {points(change)} at -{100 * claimed.reduction:.1f} % cost")
            early.append(change.is_below(-claimed.lost))
        ours.append(f"{method} {points(at_end)} at the end, -{100 * reached:.1f} %")
        late.append(at_end.is_below(-claimed.lost))
    starts = [Paths(rows, claimed.data, method).accuracy[:, 0].mean() for method in (*FULL, "RFS")]
    why = "without a penalty they are below RFS already: " + ", ".join(f"{start:.3f}" for start in starts)
    claim = f"digits: FFS and FFS + CT lose accuracy clearly (more than {100 * claimed.lost:.1f} points) as cost falls"
    if all(early) and all(late):
        return Finding(claim, "; ".join(ours), "confirmed")
    verdict = "late on the curve only" if all(late) and not any(early) else verdict_of([*early, *late])
    return Finding(claim, "; ".join(ours), verdict, why)


def limit_finding(rows: pd.DataFrame) -> Finding:
    ours, kept = [], []
    for data, name in present(rows, NAMES).items():
        random, full = (Paths(rows, data, method).end()[0] for method in ("RFS", "FFS"))
        ours.append(f"{name} -{100 * random:.1f} % against -{100 * full:.1f} %")
        kept.append(random < full)
    claim = "RFS is limited in how far cost can be reduced: largest reduction, RFS against FFS"
    return Finding(claim, "; ".join(ours), verdict_of(kept), "" if all(kept) else "few features")


def complementary_finding(rows: pd.DataFrame) -> Finding:
    names = present(rows, NAMES)
    found = {name: difference(Paths(rows, data, "FFS + CT"), Paths(rows, data, "FFS")) for data, name in names.items()}
    ours = ", ".join(f"{name} {points(change)}" for name, change in found.items())
    n_better = sum(change.is_above() for change in found.values())
    verdict = "confirmed" if n_better == 2 else f"better on {n_better} of {len(found)}"
    why = "" if n_better == 2 else "beyond the interval on as many"
    claim = "CT improves two of three data sets: FFS + CT - FFS at equal cost"
    return Finding(claim, ours, verdict, why)


# ---- groups


def scene_finding(selection: pd.DataFrame) -> Finding:
    claim = "Scene-15: submodular selection, then Breiman's forest: cost -48.5 % for -0.12 points of accuracy"
    ours, verdicts = [], []
    for data, name in present(selection, GROUPED).items():
        change = selection_change(selection, data, SCENE_REDUCTION)
        n_seeds = selection.loc[selection["data"] == data, "seed"].nunique()
        ours.append(f"{name}: {points(change)} ({n_seeds} repetitions)")
        verdicts.append(f"{name}: {judged(change, SCENE_LOST)}")
    why = "other data; of the images each quadrant tells what the others do not"
    return Finding(claim, "; ".join(ours), "; ".join(verdicts), why)


def end_finding(selection: pd.DataFrame) -> Finding:
    claim = "Scene-15: beyond that, selection cannot reduce the cost any further"
    ours, further = [], []
    for data, name in present(selection, GROUPED).items():
        mine = selection[selection["data"] == data].groupby("seed")["set_cost"]
        reached = float((1 - mine.min() / mine.max()).mean())
        further.append(reached > SCENE_REDUCTION)
        ours.append(f"{name}: to -{100 * reached:.0f} %, for {points(selection_change(selection, data, reached))}")
    verdict = "refuted, on other data" if all(further) else "confirmed, on other data"
    return Finding(claim, "; ".join(ours), verdict, "the path of minimum cuts has a set for every group that joins")


def seconds_finding(seconds: pd.DataFrame) -> Finding:
    claim = "Choosing among 800 features for one trade-off takes 10 minutes and more"
    cut, fit, path = (interval_of(1000 * seconds[name]) for name in ("cut", "fit", "path"))
    ours = (
        f"{fit.text(1)} ms with mutual information, of which one minimum cut {cut.text(2)} ms; all trade-offs together "
        f"{path.text(1)} ms (simulated, {seconds['features'].iloc[0]} features, {len(seconds)} repetitions, CPU)"
    )
    times = PAPER_SECONDS / (fit.mean / 1000)
    verdict = f"faster, about {float(f'{times:.1g}'):,.0f} times"
    return Finding(
        claim, ours, verdict, "groups allow a minimum cut; the paper has the minimum-norm point, and its machine"
    )


def findings(rows: list[dict]) -> list[Finding]:
    """Every sentence of the paper that there are rows for."""
    curves, _ = finished_curves(rows)
    selection, seconds = complete(rows_of("selection", rows)), rows_of("seconds", rows)
    found = []
    if curves is not None:
        there = present(curves, NAMES)
        found += [claim_finding(curves, claim) for claim in CLAIMS if claim.data in there]
        found += [digits_finding(curves)] if "mfeat_pix" in there else []
        found += [complementary_finding(curves), limit_finding(curves)]
    if selection is not None:
        found += [scene_finding(selection), end_finding(selection)]
    return found if seconds is None else [*found, seconds_finding(seconds)]
