"""What the rows say about each sentence of the paper."""

from __future__ import annotations

import pandas as pd
from studies.findings import Finding, verdict_of
from studies.intervals import interval_of
from studies.jagdhuber.frames import ENOUGH, gap, means, measured, paired, well_repeated
from studies.jagdhuber.path_verdicts import path_findings
from studies.jagdhuber.rank_verdicts import lead_finding, rank_finding
from studies.jagdhuber.tasks import METHODS, REAL, SETTINGS
from studies.jagdhuber.words import compared, in_words, place_of, too_few


def tuning_finding(frame: pd.DataFrame) -> Finding:
    """Tuned against both fixed strategies in every cell, means and seed by seed."""
    wide = measured(frame, METHODS).pivot_table(
        index=["name", "budget", "kind", "seed"], columns="strategy", values="error"
    )
    by_cell = wide.dropna().groupby(["name", "budget", "kind"])
    changes = [(interval_of(p["tuned"] - p["xi 0"]), interval_of(p["tuned"] - p["xi 1"])) for _, p in by_cell]
    kept = [to_0.mean <= 0 and to_1.mean <= 0 for to_0, to_1 in changes]
    lost = sorted(budget for (_, budget, _), holds in zip(by_cell.groups, kept, strict=True) if not holds)
    ours = []
    for i, xi in enumerate((0, 1)):
        to_xi = [change[i] for change in changes]
        ours.append(
            f"at most xi = {xi} in {sum(c.mean <= 0 for c in to_xi)} of {len(to_xi)} cells (seed by seed better beyond "
            f"the interval in {sum(c.is_below() for c in to_xi)}, worse in {sum(c.is_above() for c in to_xi)})"
        )
    errors = ", ".join(f"{wide[s].mean():.4f} ({s})" for s in ("xi 0", "xi 1", "tuned"))
    verdict = f"{verdict_of(kept)} cells below both" if not all(kept) else "confirmed"
    why = ""
    if lost:
        largest = max(lost)
        why = (
            f"{lost.count(largest)} of the {len(lost)} other cells have the largest budget, {largest:g}: "
            "panels hardly differ there, and the out-of-bag error cannot tell which is best"
        )
    claim = "Tuned xi beats xi = 0 and xi = 1 nearly everywhere (settings A to D)"
    return Finding(claim, f"tuned is {'; '.join(ours)}; mean error {errors}", verdict, why)


def mean_ranks(frame: pd.DataFrame) -> pd.Series:
    """Ranks of the cells' means, averaged over cells, rising; only repetitions that all methods have."""
    wide = frame.pivot_table(index=["name", "budget", "seed"], columns="method", values="error").dropna()
    return wide.groupby(["name", "budget"]).mean().rank(axis=1).mean().sort_values()


def tuned_ranks(frame: pd.DataFrame, names) -> pd.Series | None:
    """Ranks of the tuned methods that have enough repetitions; None if these are fewer than two."""
    part = frame[frame["name"].isin(names)]
    kinds = well_repeated(measured(part, METHODS, ["tuned"]), METHODS)
    return mean_ranks(measured(part, kinds, ["tuned"])) if len(kinds) > 1 else None


def ranks_as_in_the_paper(frame: pd.DataFrame, names) -> pd.Series:
    """The others tuned, FS at xi = 0 and 1, which is all that the paper has of it."""
    part = frame[frame["name"].isin(names)]
    others = measured(part, ["STS", "AUC", "pFI"], ["tuned"])
    return mean_ranks(pd.concat([others, measured(part, ["FS"], ["xi 0", "xi 1"])]))


def independent_finding(frame: pd.DataFrame) -> Finding:
    claim, names, expected = "A and B: AUC best, then pFI, then STS, then FS", ("A", "B"), ("AUC", "pFI", "STS", "FS")
    ranks = tuned_ranks(frame, names)
    if ranks is None:
        return too_few(claim)
    order = [method.removesuffix(" tuned") for method in ranks.index]
    present = [kind for kind in expected if kind in order]
    kept = [order.index(a) < order.index(b) for i, a in enumerate(present) for b in present[i + 1 :]]
    verdict = "confirmed" if all(kept) else f"{verdict_of(kept)} pairs in that order"
    ours, why = f"{in_words(ranks, ' tuned')} (mean rank, all tuned)", ""
    part = frame[frame["name"].isin(names)]
    if {"AUC", "pFI"} <= set(order):
        difference = gap(part, "AUC tuned", "pFI tuned")
        ours += f"; AUC - pFI {difference.text(4, sign=True)}"
        why = "" if difference.is_below() else "AUC and pFI do equally well"
    if "FS" in order:
        untuned = ranks_as_in_the_paper(frame, names)
        ours += f"; FS untuned, as in the paper: {in_words(untuned, ' tuned')}"
        if order[-1] != "FS":
            verdict += f"; FS is {place_of(ranks, 'FS tuned')}, not last"
            why += "; ours tunes FS" + (", untuned it is last" if untuned.index[-1].startswith("FS") else "")
    return Finding(claim, ours, verdict, why.removeprefix("; "))


def correlated_finding(frame: pd.DataFrame) -> Finding:
    claim, names = "C and D: STS best, pFI second, AUC last", ("C", "D")
    ranks = tuned_ranks(frame, names)
    if ranks is None or not {"STS tuned", "pFI tuned", "AUC tuned"} <= set(ranks.index):
        return too_few(claim)
    at = {"STS": ("best", ranks.index[0]), "pFI": ("second", ranks.index[1]), "AUC": ("last", ranks.index[-1])}
    said = [(kind, place, found == f"{kind} tuned") for kind, (place, found) in at.items()]
    verdict = "; ".join(
        f"{kind} {place}: " + ("confirmed" if holds else f"refuted ({place_of(ranks, f'{kind} tuned')})")
        for kind, place, holds in said
    )
    part = frame[frame["name"].isin(names)]
    rivals = [method for method in ranks.index if method != "STS tuned"]
    gaps = [f"STS - {m.removesuffix(' tuned')} {gap(part, 'STS tuned', m).text(4, sign=True)}" for m in rivals]
    ours, why = (
        f"{in_words(ranks, ' tuned')} (mean rank, all tuned); {', '.join(gaps)}",
        "the populations are other draws",
    )
    if "FS tuned" in ranks.index:
        untuned = ranks_as_in_the_paper(frame, names)
        ours += f"; FS untuned, as in the paper: {in_words(untuned, ' tuned')}"
        why = f"ours tunes FS; with FS untuned STS is {place_of(untuned, 'STS tuned')}; {why}"
    if all(holds for *_, holds in said):
        return Finding(claim, ours, "confirmed")
    return Finding(claim, ours, verdict, why)


def fixed_finding(frame: pd.DataFrame) -> Finding:
    """The three curves of Figure 2 at xi = 0 and xi = 1."""
    claim = "D at budget 10: xi = 0 is better than xi = 1 for AUC, worse for pFI, equal for STS: xi 0 - xi 1"
    part = frame[(frame["name"] == "D") & (frame["budget"] == 10)]
    kinds = well_repeated(measured(part, ["AUC", "pFI", "STS"], ["xi 0", "xi 1"]), ["AUC", "pFI", "STS"])
    if len(kinds) < 3:
        return too_few(claim)
    gaps = {kind: gap(part, f"{kind} xi 0", f"{kind} xi 1") for kind in kinds}
    sts = gaps["STS"]
    kept = [gaps["AUC"].is_below(), gaps["pFI"].is_above(), not (sts.is_below() or sts.is_above())]
    if well_repeated(measured(part, ["STS paper"]), ["STS paper"]):
        gaps["STS as printed"] = gap(part, "STS paper xi 0", "STS paper xi 1")
    ours = ", ".join(f"{kind} {found.text(4, sign=True)}" for kind, found in gaps.items())
    if all(kept):
        return Finding(claim, ours, "confirmed")
    told = [f"{kind}: {'confirmed' if holds else 'refuted'}" for kind, holds in zip(kinds, kept, strict=True)]
    return Finding(claim, ours, "; ".join(told), "the population of D is another draw")


def limits_finding(frame: pd.DataFrame) -> Finding:
    claim = "Outlook: base trees of STS limited by distinct features instead of depth"
    part = paired(frame, ["STS", "STS features"])
    if part["seed"].nunique() < ENOUGH:
        return too_few(claim)
    wide = means(part[part["strategy"] == "tuned"]).pivot_table(
        index=["name", "budget"], columns="kind", values="error"
    )
    difference = gap(part, "STS features tuned", "STS tuned")
    better = int((wide["STS features"] <= wide["STS"]).sum())
    ours = (
        f"tuned: depth {wide['STS'].mean():.4f}, distinct features {wide['STS features'].mean():.4f}, features - depth "
        f"{difference.text(4, sign=True)}; features at most depth in {better} of {len(wide)} cells"
    )
    return Finding(claim, ours, compared(difference), "the paper proposes it and measures nothing")


def readings_finding(frame: pd.DataFrame) -> Finding:
    claim = "STS where no candidate lowers the error: rise over cost^xi, as printed (ours: rise times cost^xi)"
    part = paired(frame, ["STS", "STS paper"])
    if part["seed"].nunique() < ENOUGH:
        return too_few(claim)
    texts, verdicts = [], []
    for strategy in ("xi 1", "tuned"):
        some = part[part["strategy"] == strategy]
        ours, printed = (some.loc[some["kind"] == kind, "error"].mean() for kind in ("STS", "STS paper"))
        change = gap(part, f"STS {strategy}", f"STS paper {strategy}")
        texts.append(f"{strategy}: ours {ours:.4f}, printed {printed:.4f}, ours - printed {change.text(4, sign=True)}")
        verdicts.append(f"ours, {strategy}: {compared(change)}")
    why = "the print prefers the dearer of two trees that do equal harm"
    return Finding(claim, "; ".join(texts), "; ".join(verdicts), why)


def findings(frame: pd.DataFrame, cells: pd.DataFrame | None = None) -> list[Finding]:
    """Every sentence that there are rows for. cells is not needed: intervals come from the repetitions."""
    simulated = frame[frame["name"].isin(SETTINGS)]
    found = []
    if len(measured(simulated, METHODS)):
        found += [tuning_finding(simulated), independent_finding(simulated), correlated_finding(simulated)]
        found += [
            fixed_finding(simulated),
            *path_findings(simulated),
            limits_finding(simulated),
            readings_finding(simulated),
        ]
    if frame["name"].isin(REAL).any():
        found += [rank_finding(frame), lead_finding(frame)]
    return found
