"""All prices at once: thresholds for many trade-offs, and steps between them where the bill would jump."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from frugalforest.cascades.stopping import ALWAYS, NEVER, Floats, Positions, StageTable, threshold_between

N_TRADEOFFS = 60
N_TRADEOFFS_OF_ONE_END = 20  # where every stage is tried as the last one
N_BETWEEN = 7  # steps between neighbours on the hull


def tradeoff_grid(table: StageTable, n_tradeoffs: int = N_TRADEOFFS) -> Floats:
    """Prices of money in loss, falling: from where nothing is worth buying to where one row's loss is, and 0."""
    steps = np.diff(table.spent)
    most = float(table.losses.max())
    if len(steps) == 0 or most == 0:
        return np.zeros(1)
    least = most * float((table.weights / table.weights.sum()).min() / table.spent.max())
    return np.append(np.geomspace(most / float(steps.min()), least, n_tradeoffs), 0.0)


def thresholds_path(table: StageTable, n_classes: int) -> tuple[list[float], list[Floats]]:
    """Trade-offs, and thresholds (n_stages - 1, n_classes) for each: the whole curve from one table, without a fit.

    Besides what is best for some trade-off, whose bills lie on a convex hull with gaps: all rows at the same stage, and
    steps between neighbours on the hull, where the shares of rows that stop are moved evenly from the one to the other.
    """
    on_demand = table.last_bills is not None
    tradeoffs = tradeoff_grid(table, N_TRADEOFFS_OF_ONE_END if on_demand else N_TRADEOFFS).tolist()
    found = [table.best_thresholds(tradeoff, n_classes) for tradeoff in tradeoffs]
    found += [everyone_at(stage, table.n_stages, n_classes) for stage in range(1, table.n_stages)]
    bills = np.array([table.mean_bill(thresholds) for thresholds in found])
    losses = np.array([table.mean(table.losses, thresholds) for thresholds in found])
    prices = tradeoffs + [0.0] * (table.n_stages - 1)
    for one, other in _neighbours(bills, losses):
        price = float((losses[one] - losses[other]) / (bills[other] - bills[one]))
        steps = np.arange(1, N_BETWEEN + 1) / (N_BETWEEN + 1)
        found += [_moved(table, found[one], found[other], float(share)) for share in steps]
        prices += [price] * N_BETWEEN
    return prices, found


def everyone_at(stage: int, n_stages: int, n_classes: int) -> Floats:
    """Thresholds (n_stages - 1, n_classes) by which all rows stop at one stage."""
    thresholds = np.full((n_stages - 1, n_classes), NEVER)
    thresholds[stage:] = ALWAYS
    return thresholds


def _neighbours(bills: Floats, losses: Floats) -> list[tuple[int, int]]:
    """Neighbours on the hull of all points, and on that of the points that cost something.

    Without a free feature all rows stop for nothing or none: between that and the first panel there are no steps.
    """
    paid = np.flatnonzero(bills > 0)
    pairs = pairwise(lower_hull(bills, losses).tolist())
    paid_pairs = pairwise(paid[lower_hull(bills[paid], losses[paid])].tolist())
    return sorted({*pairs, *paid_pairs})


def lower_hull(cost: Floats, loss: Floats) -> Positions:
    """Points on the lower convex hull, by rising cost and falling loss."""
    hull: list[int] = []
    for i in np.lexsort((loss, cost)).tolist():
        if hull and loss[i] >= loss[hull[-1]]:
            continue
        while len(hull) > 1 and _is_above(hull[-1], hull[-2], i, cost, loss):
            hull.pop()
        hull.append(i)
    return np.array(hull, dtype=np.intp)


def falling_losses(cost: Floats, loss: Floats, error: Floats, most_error: float) -> Positions:
    """Points by rising cost, each with less loss than all before it, and less error than `most_error`.

    By error the luckiest points would win, which are worse on other rows; and the models of the folds together, which
    answer later, err less than one of them alone does out of fold, most of all with many features.
    """
    kept: list[int] = []
    least = np.inf
    for i in np.lexsort((error, loss, cost)).tolist():
        if loss[i] < least and error[i] < most_error:
            least = loss[i]
            kept.append(i)
    return np.array(kept, dtype=np.intp)


def _is_above(middle: int, left: int, right: int, cost: Floats, loss: Floats) -> bool:
    """Whether the middle point is on or above the line from left to right."""
    fall = (loss[middle] - loss[left]) * (cost[right] - cost[left])
    line = (loss[right] - loss[left]) * (cost[middle] - cost[left])
    return bool(fall >= line)


def _moved(table: StageTable, one: Floats, other: Floats, share: float) -> Floats:
    """Thresholds between two: at each stage and label the number of leads that reach them lies so far between."""
    moved = one.copy()
    for k, ranked in enumerate(table.ranked):
        for label, start, end in ranked.parts:
            leads = ranked.leads[start:end]
            reach = [int(np.searchsorted(-leads, -cut, side="right")) for cut in (one[k, label], other[k, label])]
            if reach[0] != reach[1]:
                moved[k, label] = threshold_between(leads, round((1 - share) * reach[0] + share * reach[1]))
    return moved
