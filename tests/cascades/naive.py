"""The slow, obvious twins of cascades: thresholds by trying all, panels by trying every step."""

from __future__ import annotations

import itertools

import numpy as np

ALL = -np.inf


def stop_of(row, labels, leads, thresholds):
    """The first stage whose threshold the row's lead reaches; the last one always stops."""
    for k in range(len(labels) - 1):
        if leads[k][row] >= thresholds[k][labels[k][row]]:
            return k
    return len(labels) - 1


def objective(table, tradeoff, thresholds, first=0):
    """Weighted sum of loss + tradeoff * spent over all rows, sent through the stages from `first` on."""
    total = 0.0
    for row in range(table.n_rows):
        k = first + stop_of(row, table.labels[first:], table.leads[first:], thresholds[first:])
        total += table.weights[row] * (table.losses[k, row] + tradeoff * bill_of(row, k, table))
    return total


def bill_of(row, k, table):
    """What a row has spent that stops at stage k."""
    on_demand = table.last_bills is not None and k == table.n_stages - 1
    return table.last_bills[row] if on_demand else table.spent[k]


def all_cuts(leads):
    """Thresholds that differ: each of the leads, and one that none reaches."""
    return [*sorted(set(leads)), np.inf]


def thresholds_of_stage(table, k, n_classes):
    """All thresholds of one stage that stop different rows, each a tuple with one entry for each label."""
    own = [all_cuts(table.leads[k][table.labels[k] == label].tolist()) for label in range(n_classes)]
    return itertools.product(*own)


def best_thresholds(table, tradeoff, n_classes):
    """Stage by stage from the last: every threshold is tried, over all rows."""
    thresholds = np.full((table.n_stages - 1, n_classes), np.inf)
    for k in reversed(range(table.n_stages - 1)):
        tried = []
        for cuts in thresholds_of_stage(table, k, n_classes):
            thresholds[k] = cuts
            tried.append((objective(table, tradeoff, thresholds, first=k), cuts))
        thresholds[k] = min(tried, key=lambda pair: pair[0])[1]
    return thresholds


def jointly_best(table, tradeoff, n_classes):
    """The least objective over all thresholds of all stages at once."""
    each = [list(thresholds_of_stage(table, k, n_classes)) for k in range(table.n_stages - 1)]
    return min(objective(table, tradeoff, np.array(cuts)) for cuts in itertools.product(*each))
