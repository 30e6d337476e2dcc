"""Boosters whose parts do not fit together are refused when loading."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from persistence.test_checks import load_changed, refused


def change_variant(**parts):
    """The first booster with other parts; callables get the old part."""

    def change(model):
        first, *rest = model.variants_
        new = {name: part(getattr(first, name)) if callable(part) else part for name, part in parts.items()}
        model.variants_ = (replace(first, **new), *rest)

    return change


def change_trees(**parts):
    return change_variant(trees=lambda trees: replace(trees, **{n: p(getattr(trees, n)) for n, p in parts.items()}))


def test_boosters_that_were_not_changed_are_loaded(tmp_path):
    for name in ("boosting", "greedy miser"):
        load_changed(name, lambda model: None, tmp_path / f"{name}.ff")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (change_trees(values=lambda v: v[:-1]), "values has shape"),
        (change_trees(values=lambda v: v * np.nan), "values that are not finite"),
        (change_trees(gains=lambda v: v[1:]), "gains has shape"),
        (change_trees(charged=lambda v: v + np.inf), "charged that are not finite"),
        (change_trees(n_outputs=lambda n: 2), "rounds that are not whole|base has shape"),
        (change_variant(loss=lambda v: v[1:]), "loss has shape"),
        (change_variant(cost=lambda v: v + np.inf), "cost of a round is not finite"),
        (change_variant(base=lambda v: v[1:]), "base has shape"),
        (change_variant(base=lambda v: v + 1e38), "scores that are not finite"),
        (change_variant(tradeoff=-1.0), "an impossible trade-off"),
        (change_variant(budget=np.nan), "an impossible trade-off or budget"),
        (change_variant(cost=lambda v: v * np.nan), "a curve of other rounds"),
        (lambda model: setattr(model, "variants_", ()), "a model without boosters"),
        (lambda model: setattr(model, "variants_", model.variants_[1:]), "a curve of other boosters"),
        (lambda model: setattr(model, "max_budget_", np.nan), "the largest budget is not a number"),
        (lambda model: delattr(model, "ensemble_"), "there is no ensemble_"),
        (lambda model: setattr(model, "gain_by_feature_", np.zeros(2)), "gain_by_feature_ has shape"),
    ],
)
def test_parts_that_do_not_fit(change, what, tmp_path):
    refused("boosting", change, what, tmp_path)
