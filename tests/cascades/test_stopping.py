"""Stops: thresholds against trying all of them, and curves that only fall."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cascades import naive
from frugalforest.cascades.cascade import Policy, smoothed
from frugalforest.cascades.path import falling_losses, lower_hull, thresholds_path, tradeoff_grid
from frugalforest.cascades.stopping import ALWAYS, NEVER, StageTable, labels_and_leads, threshold_between


def random_table(seed, n_rows=9, n_stages=4, n_classes=2, smooth=True, on_demand=False):
    """Leads with ties, losses that tend to fall from stage to stage, weights in quarters."""
    random = np.random.default_rng(seed)
    errors = (random.random((n_stages, n_rows)) < np.linspace(0.6, 0.1, n_stages)[:, None]).astype(float)
    spent = np.cumsum([0, *random.integers(1, 4, n_stages - 1)]).astype(float)
    return StageTable(
        labels=random.integers(0, n_classes, (n_stages, n_rows)),
        leads=random.integers(0, 5, (n_stages, n_rows)) / 4,
        errors=errors,
        losses=errors + (random.random(errors.shape) if smooth else 0.0),
        spent=spent,
        weights=random.integers(1, 5, n_rows) / 4,
        last_bills=random.uniform(spent[-2], spent[-1], n_rows) if on_demand else None,
    )


def test_labels_and_leads():
    labels, leads = labels_and_leads(np.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]]))
    assert labels.tolist() == [1, 0, 0]  # the first of equals
    assert leads == pytest.approx([0.6, 0, 1])
    labels, leads = labels_and_leads(np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]))
    assert labels.tolist() == [1, 2]
    assert leads == pytest.approx([0.2, 0.7])


@pytest.mark.parametrize("on_demand", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_thresholds_are_the_best_of_all_stage_by_stage(seed, n_classes, on_demand):
    table = random_table(seed, n_classes=n_classes, on_demand=on_demand)
    for tradeoff in (0.0, 0.03, 0.1, 0.4, 3.0):
        found = table.best_thresholds(tradeoff, n_classes)
        expected = naive.best_thresholds(table, tradeoff, n_classes)
        for k in range(table.n_stages - 1):
            ours = naive.objective(table, tradeoff, found, first=k)
            assert ours == pytest.approx(naive.objective(table, tradeoff, expected, first=k), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_with_one_place_to_stop_the_programme_is_jointly_best(seed):
    """Every row comes to the first stage, so there the programme's objective is the true one."""
    table = random_table(seed, n_rows=12, n_stages=2, on_demand=seed % 2 == 1)
    for tradeoff in (0.0, 0.1, 0.5):
        found = naive.objective(table, tradeoff, table.best_thresholds(tradeoff, 2))
        assert found == pytest.approx(naive.jointly_best(table, tradeoff, 2), abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_where_leads_rank_rows_by_difficulty_the_programme_is_jointly_best(seed):
    """loss_k = a_k * difficulty, a_k falling, leads fall with difficulty: then every row gets what is best for it."""
    random = np.random.default_rng(seed)
    table = random_table(seed, n_rows=6, n_stages=3)
    difficulty = random.random(6)
    easy = replace(
        table,
        leads=np.array([(1 - difficulty) ** power for power in (1, 2, 0.5)]),
        losses=np.array([0.9, 0.4, 0.1])[:, None] * difficulty,
    )
    for tradeoff in (0.0, 0.02, 0.1, 0.3):
        found = naive.objective(easy, tradeoff, easy.best_thresholds(tradeoff, 2))
        row_by_row = (easy.losses + tradeoff * easy.spent[:, None]).min(axis=0)
        assert found == pytest.approx(naive.jointly_best(easy, tradeoff, 2), abs=1e-12)
        assert found == pytest.approx(row_by_row @ easy.weights, abs=1e-12)


@pytest.mark.parametrize("on_demand", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_stops_bills_and_means_are_those_of_rows_sent_by_hand(seed, on_demand):
    table = random_table(seed, n_rows=30, on_demand=on_demand)
    thresholds = table.best_thresholds(0.1, 2)
    by_hand = [naive.stop_of(row, table.labels, table.leads, thresholds) for row in range(30)]
    assert table.stops(thresholds).tolist() == by_hand
    bill = np.average([naive.bill_of(row, k, table) for row, k in enumerate(by_hand)], weights=table.weights)
    assert table.mean_bill(thresholds) == pytest.approx(bill)
    error = np.average(table.errors[by_hand, np.arange(30)], weights=table.weights)
    assert table.mean(table.errors, thresholds) == pytest.approx(error)


def test_up_to_a_stage_is_a_shorter_cascade():
    table = random_table(2, n_rows=30)
    bills = np.linspace(table.spent[1], table.spent[2], 30)
    short = table.up_to(2, bills)
    thresholds = table.best_thresholds(0.05, 2)
    ends_there = np.vstack([thresholds[:2], [[ALWAYS, ALWAYS]]])
    assert np.array_equal(short.stops(thresholds[:2]), table.stops(ends_there))
    assert short.mean(short.errors, thresholds[:2]) == table.mean(table.errors, ends_there)
    assert short.mean_bill(thresholds[:2]) <= table.mean_bill(ends_there)
    assert table.up_to(2, None).mean_bill(thresholds[:2]) == pytest.approx(table.mean_bill(ends_there))


# ---- the loss


def test_with_many_rows_labels_decide_and_with_few_the_last_stage():
    """Half error, half log-loss on the scale of errors, against a mixture of label and last answer."""
    first, last = np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([[0.3, 0.7], [0.1, 0.9]])
    labels = np.array([0, 1], dtype=np.int32)
    many = smoothed([first, last], labels, np.full(2, 1e12))
    scale = (1 + 0) / (-np.log(0.3) - np.log(0.9))
    assert many[1] == pytest.approx([0.5 * 1 - 0.5 * scale * np.log(0.3), -0.5 * scale * np.log(0.9)])
    assert many[0] == pytest.approx([-0.5 * scale * np.log(0.8), -0.5 * scale * np.log(0.6)])
    few = smoothed([first, last], labels, np.full(2, 1e-9))
    assert few == pytest.approx(smoothed([first, last], 1 - labels, np.full(2, 1e-9)))  # whatever the labels are
    entropy = -(last * np.log(last)).sum(axis=1)
    scale = (0.3 + 0.1) / entropy.sum()
    assert few[1] == pytest.approx(0.5 * np.array([0.3, 0.1]) + 0.5 * scale * entropy)


def test_a_label_that_was_never_seen_costs_the_most():
    answers = [np.array([[0.6, 0.4]] * 3)]
    losses = smoothed(answers, np.array([0, 1, -1], dtype=np.int32), np.full(3, 1e9))
    assert losses[0, 0] < losses[0, 1] < losses[0, 2]


def test_a_bill_that_all_rows_share_is_exact():
    table = replace(random_table(0, n_rows=7), spent=np.array([0, 0.1, 0.3, 0.7]), weights=np.full(7, 0.1))
    thresholds = np.array([[NEVER, NEVER], [ALWAYS, ALWAYS], [NEVER, NEVER]])
    assert table.mean_bill(thresholds) == 0.1


def test_nothing_is_bought_when_money_is_dear_and_everything_useful_when_it_is_free():
    table = random_table(1, n_rows=40)
    assert table.mean_bill(table.best_thresholds(1e6, 2)) == 0
    falling = replace(table, losses=np.repeat([[0.9], [0.6], [0.3], [0.1]], 40, axis=1))
    assert falling.mean_bill(falling.best_thresholds(0.0, 2)) == falling.spent[-1]


def test_thresholds_cut_between_leads():
    leads = np.array([0.9, 0.5, 0.5, 0.1])
    assert threshold_between(leads, 0) == NEVER
    assert threshold_between(leads, 4) == ALWAYS
    assert threshold_between(leads, 1) == pytest.approx(0.7)
    neighbours = np.array([np.nextafter(0.5, 1), 0.5])
    assert 0.5 < threshold_between(neighbours, 1) <= neighbours[0]


# ---- all prices


@pytest.mark.parametrize("seed", range(6))
def test_the_kept_curve_falls_in_loss(seed):
    table = random_table(seed, n_rows=200, n_stages=5)
    _, path = thresholds_path(table, 2)
    cost = np.array([table.mean_bill(thresholds) for thresholds in path])
    loss = np.array([table.mean(table.losses, thresholds) for thresholds in path])
    error = np.array([table.mean(table.errors, thresholds) for thresholds in path])
    kept = falling_losses(cost, loss, error, most_error=np.inf)
    assert len(kept) > 0
    assert (np.diff(cost[kept]) > 0).all()
    assert (np.diff(loss[kept]) < 0).all()
    for budget in cost:  # the last one within a budget has the least loss that the budget can buy
        assert loss[kept[cost[kept] <= budget][-1]] == loss[cost <= budget].min()
    assert (error[falling_losses(cost, loss, error, most_error=0.3)] < 0.3).all()


@pytest.mark.parametrize("seed", range(6))
def test_solved_prices_trade_loss_for_money(seed):
    """Dearer money never buys more, for the programme judges all prices by the same rows: one stage to stop at."""
    table = random_table(seed, n_rows=150, n_stages=2)
    solved = [table.best_thresholds(tradeoff, 2) for tradeoff in tradeoff_grid(table)]
    bills = [table.mean_bill(thresholds) for thresholds in solved]
    losses = [table.mean(table.losses, thresholds) for thresholds in solved]
    assert (np.diff(bills) >= -1e-12).all()
    assert (np.diff(losses) <= 1e-12).all()


def test_steps_between_neighbours_fill_the_gaps():
    table = random_table(3, n_rows=400, n_stages=3)
    tradeoffs, path = thresholds_path(table, 2)
    bills = np.array([table.mean_bill(thresholds) for thresholds in path])
    n_solved = len(tradeoff_grid(table))
    assert len(tradeoffs) == len(path) > n_solved
    assert np.diff(np.unique(bills)).max() < np.diff(np.unique(bills[:n_solved])).max()


def test_one_panel_for_everybody_is_on_the_path():
    """Its bill is its price to the last digit, so that a budget of just that can be asked for."""
    table = random_table(2, n_rows=50)
    bills = [table.mean_bill(thresholds) for thresholds in thresholds_path(table, 2)[1]]
    assert set(table.spent[1:].tolist()) <= set(bills)


def test_lower_hull():
    cost, loss = np.array([0.0, 1, 2, 3, 4, 2]), np.array([1.0, 0.6, 0.5, 0.1, 0.2, 0.4])
    assert lower_hull(cost, loss).tolist() == [0, 1, 3]
    assert lower_hull(np.zeros(2), np.array([0.3, 0.2])).tolist() == [1]


def test_a_table_without_anything_to_gain_has_one_price():
    table = random_table(0)
    assert tradeoff_grid(replace(table, losses=np.zeros_like(table.losses))).tolist() == [0]


# ---- policies


@pytest.mark.parametrize(
    ("cuts", "looked_at"),
    [
        ([[NEVER, NEVER], [0.5, NEVER], [NEVER, 0.1]], [1, 2, 3]),
        ([[NEVER, NEVER], [ALWAYS, ALWAYS], [0.5, 0.5]], [1]),
        ([[NEVER, NEVER], [NEVER, NEVER], [NEVER, NEVER]], [3]),
        ([[ALWAYS, NEVER], [0.2, 0.3], [NEVER, NEVER]], [0, 1, 3]),
    ],
)
def test_stages_where_nobody_stops_are_not_looked_at(cuts, looked_at):
    assert Policy(0, 0.1, np.array(cuts), np.full(4, 0.25)).looked_at() == looked_at
