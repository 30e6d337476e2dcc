"""Forests of many candidates grown together against the same forests grown one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from frugalforest import _core
from frugalforest.selection import ForwardSelector
from frugalforest.selection.forests import GINI, single_masks

N_ROWS, N_TREES = 90, 12


def columns(rng, n_features, *, missing=0.0, categories=False, weak=False):
    """Some columns tell something, some are constant, some have two values only."""
    X = rng.normal(size=(N_ROWS, n_features))
    X[:, 1::5] = X[:, 1::5] > 0
    X[:, 3::11] = 1.0
    X[rng.random(X.shape) < missing] = np.nan
    signal = 0 if weak else np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1])
    if not categories:
        return X, signal
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(n_features)])
    for name in frame.columns[::3]:
        frame[name] = pd.Categorical.from_codes(rng.integers(-1 if missing else 0, 4, N_ROWS), list("abcd"))
    return frame, signal


def judge_of(X, signal, n_classes, rng, **options):
    y = np.digitize(signal + rng.normal(size=N_ROWS), np.linspace(-0.8, 0.8, n_classes - 1))
    selector = ForwardSelector(n_forest_trees=N_TREES, random_state=3, **options)
    return selector._prepare(selector._learn(X, y), None)[0]


def one_by_one(judge, common, candidates, max_features):
    params = GINI.for_core()
    params.seeds_by_path = True
    lists = np.concatenate([[*common, candidate] for candidate in candidates]).astype(np.int32)
    offsets = np.arange(len(candidates) + 1, dtype=np.int64) * (len(common) + 1)
    sizes = np.full(len(candidates), max_features, dtype=np.uint32)
    return _core.panel_votes(judge.training_set.core, params, judge.seeds[None, :], lists, offsets, sizes, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_common", [0, 1, 2, 5, 12])
@pytest.mark.parametrize(
    "kind", [{}, {"missing": 0.2}, {"categories": True}, {"categories": True, "missing": 0.1}, {"weak": True}]
)
@pytest.mark.parametrize("max_features", ["sqrt", None])
def test_together_as_one_by_one(n_classes, n_common, kind, max_features):
    rng = np.random.default_rng(n_common)
    X, signal = columns(rng, 20, **kind)
    judge = judge_of(X, signal, n_classes, rng, max_features=max_features)
    order = rng.permutation(20)
    common, candidates = np.sort(order[:n_common]), order[n_common:]
    n_tried = n_common + 1 if max_features is None else max(1, int(np.sqrt(n_common + 1)))
    votes = judge.candidate_votes(np.isin(np.arange(20), common), candidates)
    assert np.array_equal(votes, one_by_one(judge, common, candidates, n_tried))


def test_nothing_depends_on_threads_or_on_who_else_is_there():
    rng = np.random.default_rng(0)
    judge = judge_of(*columns(rng, 20, missing=0.1), 3, rng)
    mask, candidates = np.arange(20) < 6, np.arange(6, 20)
    votes = judge.candidate_votes(mask, candidates)
    assert np.array_equal(votes[::3], judge.candidate_votes(mask, candidates[::3]))
    assert np.array_equal(votes[4:5], judge.candidate_votes(mask, candidates[4:5]))
    judge.n_threads = 2
    assert np.array_equal(votes, judge.candidate_votes(mask, candidates))
    parts = judge.candidate_votes(mask, candidates, 0, 5) + judge.candidate_votes(mask, candidates, 5, N_TREES)
    assert np.array_equal(votes, parts)


def test_more_rows_than_fit_a_block():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 6))
    y = (X[:, 0] + rng.normal(size=5000) > 0).astype(int)
    selector = ForwardSelector(n_forest_trees=2, random_state=0)
    judge = selector._prepare(selector._learn(X, y), None)[0]
    votes = judge.candidate_votes(np.arange(6) < 3, np.arange(3, 6))
    assert np.array_equal(votes, one_by_one(judge, range(3), range(3, 6), 2))


def test_where_every_feature_is_tried_the_way_to_draw_does_not_matter():
    rng = np.random.default_rng(0)
    judge = judge_of(*columns(rng, 20), 2, rng, max_features=None)
    masks = single_masks(range(4, 20), 20) | (np.arange(20) < 4)
    assert np.array_equal(judge.candidate_votes(masks[0] & (np.arange(20) < 4), np.arange(4, 20)), judge.votes(masks))
