"""Acquisition: one row, one feature at a time; the same as the matrix, whatever is said in between."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import frugalforest as ff
from acquisition.ensembles import BOUNDS, BY, KINDS, Case, plain_encoder, random_case, random_order, random_rule
from frugalforest import FeatureCosts, Group
from frugalforest.acquisition import Acquirer, Acquisition, Order, StopRule
from frugalforest.acquisition.run import MAX_JSON
from frugalforest.ensemble import Ensemble
from frugalforest.forest import Forest

LABEL, ALL = StopRule("label"), StopRule("all")
STOPS = ("label", "all", "confidence", "budget")
SLACK = 1e-12


def finish(run, row):
    """Buy to the end."""
    while (feature := run.next_feature()) is not None:
        run.provide(feature, row[feature])
    return run


def drawn(seed, n_rows=3, kinds=KINDS, stop=None, **fixed):
    rng = np.random.default_rng([seed, 3])
    case = random_case(seed, kinds=kinds, n_rows=n_rows)
    return case, case.acquirer(random_order(rng, **fixed)), random_rule(rng, case.costs, stop)


def state(run):
    """Everything that can be asked of a run."""
    return (
        *(run.next_feature(), run.next_price, run.is_over, run.prediction, run.is_proven, run.probabilities.tolist()),
        *(run.probability_bounds.tolist(), run.spent, run.acquired, run.known_before, run.refused, run.receipt()),
        run.expected_cost(5),
    )


# Row by row the same as the matrix.


def assert_run_is_row(run, found, i, case):
    mask = np.zeros(case.costs.n_features, dtype=bool)
    mask[list(run.acquired)] = True
    assert np.array_equal(mask, found.mask[i]), case.seed
    assert run.prediction == case.ensemble.classes[found.label_numbers[i]]
    assert run.spent == case.costs.of_rows(mask[None])[0]
    assert np.array_equal(run.probabilities, found.probabilities[i])
    assert run.receipt().total == run.spent


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_runs_are_the_rows_of_the_matrix(stop, by, bounds):
    for seed in range(15):
        case, acquirer, rule = drawn(seed, stop=stop, by=by, bounds=bounds)
        found = acquirer.evaluate(case.rows, rule)
        for i, row in enumerate(case.rows):
            assert_run_is_row(finish(Acquisition(acquirer, rule), row), found, i, case)


def test_runs_are_rows_for_every_number_of_visits_and_hope():
    for seed in range(40):
        for visits, hope in ((0, 0.0), (1, None), (5, 0.0), (64, 0.45)):
            case, acquirer, rule = drawn(seed, 2, most_visits=visits, hope=hope)
            found = acquirer.evaluate(case.rows, rule)
            for i, row in enumerate(case.rows):
                assert_run_is_row(finish(Acquisition(acquirer, rule), row), found, i, case)


def test_the_receipt_adds_up():
    for seed in range(60):
        case, acquirer, rule = drawn(seed)
        run = finish(Acquisition(acquirer, rule), case.rows[0])
        receipt = run.receipt()
        assert tuple(step.feature for step in receipt) == run.acquired
        assert sum(Decimal(repr(step.cost)) for step in receipt) == Decimal(repr(receipt.total))
        if len(receipt):
            assert list(receipt[-1].probabilities.values()) == run.probabilities.tolist()
            assert list(receipt.to_frame()["cost"]) == [step.cost for step in receipt]


def test_prices_are_what_is_paid():
    for seed in range(60):
        case, acquirer, _ = drawn(seed)
        run, paid = Acquisition(acquirer, ALL), np.zeros(case.costs.n_features, dtype=bool)
        while (feature := run.next_feature()) is not None:
            prices = case.costs.marginal(paid)
            assert [run.price(f) for f in range(len(paid))] == prices.tolist()
            assert run.next_price == prices[feature]
            run.provide(feature, case.rows[0, feature])
            paid[feature] = True
        assert run.next_price == 0


# What a run knows.


def test_values_that_were_not_asked_for_are_not_seen():
    """The run is given nothing else, and ends the same."""
    case, acquirer, rule = drawn(11, n_rows=1)
    asked = []

    class Guarded(dict):
        def __getitem__(self, feature):
            asked.append(feature)
            return float(case.rows[0, feature])

    run = finish(Acquisition(acquirer, rule), Guarded())
    assert tuple(asked) == run.acquired


def probabilities_on_the_way(kinds, n_seeds=50):
    """(case, bounds before, bounds, probabilities, the run) at every step of runs to the leaves."""
    for seed in range(n_seeds):
        case, acquirer, _ = drawn(seed, 1, kinds=kinds)
        run, before = Acquisition(acquirer, ALL), None
        while True:
            bounds = run.probability_bounds
            yield case, before, bounds, run.probabilities, run
            if (feature := run.next_feature()) is None:
                break
            before = bounds
            run.provide(feature, case.rows[0, feature])


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_shrink_around_the_exact_probabilities(kind):
    for case, before, bounds, probabilities, run in probabilities_on_the_way((kind,)):
        exact = case.ensemble.probabilities(case.ensemble.scores(case.rows)[0])[0]
        assert (bounds[:, 0] <= exact + SLACK).all()
        assert (exact <= bounds[:, 1] + SLACK).all()
        if before is not None:
            assert (bounds[:, 0] >= before[:, 0] - SLACK).all(), case.seed
            assert (bounds[:, 1] <= before[:, 1] + SLACK).all(), case.seed
        if run.is_over:
            assert np.array_equal(probabilities, exact)
            assert np.array_equal(bounds, np.column_stack([exact, exact]))
            assert run.is_proven


def is_lifted(run):
    """Whether the label is proven, but trails in the estimate, which is then lifted to the top."""
    acquirer = run._acquirer
    scores = acquirer.scores_of(run._core.estimate()[None, :])
    return acquirer.ensemble.probabilities(scores).argmax() != run._core.answer


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "small change"])
def test_estimates_lie_within_the_bounds(kind):
    outside = [
        (case.seed, len(run.acquired))
        for case, _, bounds, probabilities, run in probabilities_on_the_way((kind,))
        if not is_lifted(run)
        if (probabilities < bounds[:, 0] - 1e-6).any() or (probabilities > bounds[:, 1] + 1e-6).any()
    ]
    assert outside == []


def test_estimates_of_classes_one_against_all_are_sigmoids_of_their_own():
    """Before anything is known they are those of the mean score of each class."""
    for seed in range(40):
        case, acquirer, _ = drawn(seed, 1, kinds=("one against all",))
        run = Acquisition(acquirer, LABEL)
        if run._core.is_complete or case.ensemble.n_classes == 2:
            continue
        expected = 1 / (1 + np.exp(-run._core.estimate()))
        np.testing.assert_allclose(run.probabilities, expected, rtol=1e-8)


def test_the_best_guess_is_the_most_probable_class():
    for seed in range(60):
        case, acquirer, rule = drawn(seed, 1)
        run = Acquisition(acquirer, rule)
        while True:
            assert case.ensemble.classes[np.argmax(run.probabilities)] == run.prediction
            if (feature := run.next_feature()) is None:
                break
            run.provide(feature, case.rows[0, feature])


# A small model with names, categories and a group.

NAMES = ["age", "colour", "glucose", "insulin", "ldl"]
COSTS = FeatureCosts(
    [0.1, 0.2, 0.3, 0.4, 0.7], feature_names=NAMES, groups={"blood": Group(["glucose", "insulin", "ldl"], 0.1)}
)


def patients(n=160):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(n, 5)).round(1), columns=NAMES)
    X["colour"] = pd.Series(rng.choice(["red", "green", "blue"], n), dtype=object)
    signal = X["glucose"] + X["insulin"] * X["ldl"] + (X["colour"] == "red") + 0.3 * X["age"]
    X.loc[rng.random(n) < 0.1, "insulin"] = np.nan
    return X, np.where(signal > 0.3, "ill", "well")


@pytest.fixture(scope="module")
def model():
    return ff.StandardForestClassifier(15, feature_costs=COSTS, stop="label", random_state=0).fit(*patients())


@pytest.fixture(scope="module")
def patient():
    return patients()[0].iloc[7].to_dict()


def test_names_and_categories(model):
    X, _ = patients()
    mask = model.acquisition_mask(X)
    for i in range(20):
        run = finish(model.start(), X.iloc[i])
        assert set(run.acquired) == {NAMES[f] for f in np.flatnonzero(mask[i])}
        assert run.prediction == model.predict(X.iloc[[i]])[0]
        assert isinstance(run.prediction, str)


def test_after_the_end_nothing_is_asked_for(model, patient):
    run = finish(model.start(), patient)
    assert run.is_over
    assert run.next_feature() is None
    assert run.next_price == 0
    assert run.expected_cost() == 0
    spent, label = run.spent, run.prediction
    for feature in set(NAMES) - set(run.acquired):  # known anyway: free, and the label stays
        run.provide(feature, patient[feature])
    assert (run.spent, run.prediction, run.is_over) == (spent, label, True)


def test_what_is_known_before_costs_nothing(model, patient):
    plain = finish(model.start(), patient)
    run = model.start()
    first = run.next_feature()
    for feature in NAMES:
        run.provide(feature, patient[feature], free=True)
    assert run.spent == 0
    assert run.acquired == ()
    assert run.known_before == tuple(NAMES)
    assert run.prediction == plain.prediction
    assert plain.acquired[0] == first


def test_an_unasked_value_is_free_unless_said_otherwise(model, patient):
    run = model.start()
    other = next(name for name in reversed(NAMES) if name != run.next_feature())
    price = run.price(other)
    run.provide(other, patient[other])
    assert (run.spent, run.known_before) == (0, (other,))
    again = model.start()
    again.provide(other, patient[other], free=False)
    assert (again.spent, again.acquired) == (price, (other,))


def test_a_gift_does_not_pay_for_its_group(model, patient):
    run = model.start()
    run.provide("glucose", patient["glucose"], free=True)
    assert run.price("insulin") == 0.5
    assert run.price("glucose") == 0
    run.provide("ldl", patient["ldl"], free=False)
    assert run.price("insulin") == 0.4
    assert run.spent == 0.8


def test_free_values_in_the_middle_keep_the_label():
    for seed in range(120):
        case, acquirer, _ = drawn(seed, 1)
        rng, run = np.random.default_rng(seed), Acquisition(acquirer, LABEL)
        while (feature := run.next_feature()) is not None:
            if rng.random() < 0.4:
                feature = int(rng.integers(case.costs.n_features))
            run.provide(feature, case.rows[0, feature], free=bool(rng.random() < 0.3) or None)
        assert run.prediction == case.ensemble.classes[case.full_labels[0]]
        assert run.spent == case.costs.of(list(run.acquired)) if run.acquired else run.spent == 0


def test_refused_features_are_read_as_missing():
    for seed in range(100):
        case, acquirer, rule = drawn(seed, 1)
        rng, run, row = np.random.default_rng(seed), Acquisition(acquirer, rule), case.rows[0].copy()
        while (feature := run.next_feature()) is not None:
            if rng.random() < 0.4:
                run.refuse(feature)
                row[feature] = np.nan
            else:
                run.provide(feature, row[feature])
        assert run.spent == (case.costs.of(list(run.acquired)) if run.acquired else 0)
        assert not set(run.refused) & set(run.acquired)
        if rule.name in ("label", "all"):
            full = case.ensemble.label_numbers(case.ensemble.scores(row[None])[0])[0]
            assert run.prediction == case.ensemble.classes[full]


@pytest.mark.parametrize("missing", [None, np.nan, float("nan"), pd.NA, np.float32("nan")])
def test_bought_and_missing_is_paid_and_refused_is_not(model, missing):
    bought, refused = model.start(), model.start()
    feature = bought.next_feature()
    bought.provide(feature, missing)
    refused.refuse(feature)
    assert bought.spent == COSTS.of([feature])
    assert refused.spent == 0
    assert np.array_equal(bought.probabilities, refused.probabilities)
    assert bought.receipt()[0].value is None
    assert bought.next_feature() is not None


def test_the_same_value_again_changes_nothing(model, patient):
    run = model.start()
    feature = run.next_feature()
    run.provide(feature, patient[feature])
    before = state(run)
    run.provide(feature, patient[feature])
    run.provide(feature, patient[feature], free=True)
    assert state(run) == before


def test_another_value_is_refused(model, patient):
    run = model.start()
    run.provide("glucose", 1.5)
    run.refuse("age")
    before = state(run)
    for feature, value in (("glucose", 1.6), ("glucose", None), ("age", 0.0), ("age", np.nan)):
        with pytest.raises(ValueError, match=f"Feature '{feature}' (is known already|was refused)"):
            run.provide(feature, value)
    with pytest.raises(ValueError, match="known already"):
        run.refuse("glucose")
    run.refuse("age")
    assert state(run) == before


@pytest.mark.parametrize("feature", ["hdl", "", 0, 2, -1, None, 1.0, True, ("age",), ["age"], b"age"])
def test_unknown_features(model, feature):
    run = model.start()
    for ask in (run.price, run.refuse, lambda name: run.provide(name, 1.0)):
        with pytest.raises(ValueError, match=r"There is no feature .*; this model knows age, colour"):
            ask(feature)
    assert len(run.receipt()) == 0


@pytest.mark.parametrize("feature", ["0", 9, -1, None, 0.0, True, [0]])
def test_unknown_positions(feature):
    run = Acquisition(random_case(2, most_features=3).acquirer(), LABEL)
    with pytest.raises(ValueError, match=r"There is no feature .*; this model knows positions 0 to"):
        run.provide(feature, 1.0)


def test_numpy_positions_are_positions():
    case = random_case(2, most_features=3)
    run = Acquisition(case.acquirer(), LABEL)
    run.provide(np.int64(0), 1.0, free=True)
    assert run.known_before == (0,)


@pytest.mark.parametrize("value", ["1.5", "high", [1.0], {}, object(), np.inf, -np.inf, 10**400, 1j, (1, 2)])
def test_values_of_the_wrong_type(model, value):
    run = model.start()
    before = state(run)
    with pytest.raises((TypeError, ValueError), match=r"glucose|complex"):
        run.provide("glucose", value)
    assert state(run) == before


@pytest.mark.parametrize("value", [1, 1.5, np.float32(1.5), np.int8(1), True, np.True_, Decimal("1.5"), np.array(1.5)])
def test_numbers_of_any_type_survive_the_text(model, value):
    run = model.start()
    run.provide("glucose", value)
    again = model.resume(run.to_json())
    assert again.next_feature() == run.next_feature()
    assert np.array_equal(again.probabilities, run.probabilities)


def test_an_unseen_category_is_missing(model):
    unseen, missing = model.start(), model.start()
    unseen.provide("colour", "violet")
    missing.provide("colour", None)
    assert np.array_equal(unseen.probabilities, missing.probabilities)
    assert unseen.receipt()[0].value == "violet"


def test_representations(model, patient):
    run = model.start()
    assert repr(run) == f"<Acquisition: 0 features known, 0 spent, asks for {run.next_feature()!r}>"
    finish(run, patient)
    assert repr(run).endswith("over>")
    assert f"total {run.spent:>33.2f}"[-6:] in str(run.receipt())


# Text in between.


def test_a_run_goes_on_from_its_text():
    for seed in range(60):
        case, acquirer, rule = drawn(seed, 1)
        rng, run = np.random.default_rng(seed), Acquisition(acquirer, rule)
        other = Acquirer(case.ensemble, case.costs, acquirer.order)  # as it is in another process
        steps = 0
        while (feature := run.next_feature()) is not None:
            choice = rng.random()
            if choice < 0.15:
                run.refuse(feature)
            elif choice < 0.3:
                run.provide(feature, case.rows[0, feature], free=True)
            else:
                run.provide(feature, case.rows[0, feature])
            again = Acquisition.from_json(run.to_json(), other)
            assert state(again) == state(run), seed
            if steps % 2:
                run = again
            steps += 1


def test_an_unpaid_group_stays_unpaid_in_the_text(model):
    run = model.start()
    run.provide("ldl", 0.5, free=True)
    run.provide("glucose", 0.5, free=False)
    again = model.resume(run.to_json())
    assert again.spent == run.spent == 0.4
    assert again.receipt() == run.receipt()


SCRIPT = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    model, patient, text = pickle.load(file)
run = model.resume(text)
while (feature := run.next_feature()) is not None:
    run.provide(feature, patient[feature])
print(run.to_json())
"""


def test_a_run_goes_on_in_another_process(model, patient, tmp_path):
    import pickle

    run = model.start()
    run.provide("colour", patient["colour"], free=True)
    feature = run.next_feature()
    run.provide(feature, patient[feature])
    (tmp_path / "run").write_bytes(pickle.dumps((model, patient, run.to_json())))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "run")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert model.resume(text).receipt() == finish(run, patient).receipt()


def test_the_text_is_json_for_any_reader():
    """Also with an infinite threshold: JSON has no word for infinity."""
    case = random_case(3)
    run = Acquisition(case.acquirer(), StopRule("confidence", confidence=np.inf))

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    json.loads(run.to_json(), parse_constant=refuse)
    assert state(Acquisition.from_json(run.to_json(), case.acquirer())) == state(run)


@pytest.fixture
def content(model):
    run = model.start()
    run.provide("glucose", 0.5)
    run.refuse("age")
    return json.loads(run.to_json())


def test_a_run_of_another_model_is_refused(model, content):
    text = json.dumps(content)
    others = [
        ff.StandardForestClassifier(15, feature_costs=COSTS, stop="label", random_state=1),
        ff.StandardForestClassifier(15, feature_costs=COSTS.scaled(2), stop="label", random_state=0),
    ]
    for other in others:
        with pytest.raises(ValueError, match="started by another model, or with other prices"):
            other.fit(*patients()).resume(text)


def test_text_cut_anywhere_is_refused(model, content):
    text = json.dumps(content)
    for length in range(len(text)):
        with pytest.raises(ValueError, match="not a run that frugalforest wrote"):
            model.resume(text[:length])


BAD_PARTS = [
    *[("format", bad) for bad in (None, "frugalforest", 1, [])],
    *[("version", bad) for bad in (None, 0, 3, 99, "1", [1], True)],
    *[("model", bad) for bad in (None, "", 3, [], {})],
    *[
        ("stop", bad)
        for bad in (None, "label", [], {}, {"name": "soon"}, {"name": ["label"]}, {"name": "label", "x": 1})
    ],
    ("stop", {"name": "budget", "confidence": None, "budget": None}),
    ("stop", {"name": "budget", "confidence": None, "budget": "1"}),
    ("stop", {"name": "budget", "confidence": None, "budget": [1]}),
    ("stop", {"name": "budget", "confidence": None, "budget": -1}),
    ("stop", {"name": "confidence", "confidence": "a", "budget": None}),
    *[("steps", bad) for bad in (None, "glucose", {}, ["glucose"], [[]], [None], [{}], [1])],
    ("steps", [{"feature": "hdl", "how": "bought", "value": 1}]),
    ("steps", [{"feature": 2, "how": "bought", "value": 1}]),
    ("steps", [{"feature": ["glucose"], "how": "bought", "value": 1}]),
    ("steps", [{"feature": "glucose", "how": "stolen", "value": 1}]),
    ("steps", [{"feature": "glucose", "how": ["bought"], "value": 1}]),
    ("steps", [{"feature": "glucose", "how": "bought"}]),
    ("steps", [{"feature": "glucose", "how": "bought", "value": "much"}]),
    ("steps", [{"feature": "glucose", "how": "bought", "value": [1]}]),
    ("steps", [{"feature": "glucose", "how": "bought", "value": {}}]),
    ("steps", [{"feature": "glucose", "how": "bought", "value": 1, "further": 1}]),
    ("steps", [{"feature": "glucose", "how": "bought", "value": v} for v in (1, 2)]),
]


@pytest.mark.parametrize(("name", "bad"), BAD_PARTS, ids=str)
def test_a_bad_part_is_refused(model, content, name, bad):
    with pytest.raises(ValueError, match=r"not a run|another model|no feature|known already|stop=|glucose"):
        model.resume(json.dumps(content | {name: bad}))
    del content[name]
    with pytest.raises(ValueError, match="not a run that frugalforest wrote"):
        model.resume(json.dumps(content))


@pytest.mark.parametrize("text", ["", "null", "1", '"run"', "[]", "{}", "[" * 100_000, "{" * 100_000, "1" * 5000, "\0"])
def test_text_that_is_no_run_is_refused(model, text):
    with pytest.raises(ValueError, match="not a run that frugalforest wrote"):
        model.resume(text)


def test_endless_text_is_refused_before_it_is_read(model, content):
    with pytest.raises(ValueError, match="longer than"):
        model.resume(json.dumps(content) + " " * MAX_JSON)


def test_further_keys_are_ignored(model, content):
    plain, noted = (model.resume(json.dumps(text)) for text in (content, content | {"written_at": "noon"}))
    assert state(noted) == state(plain)


# What it will still cost.


def test_expected_cost_is_never_negative_and_ends_at_zero():
    for seed in range(80):
        case, acquirer, rule = drawn(seed, 1)
        run = Acquisition(acquirer, rule)
        while (feature := run.next_feature()) is not None:
            expected = run.expected_cost(20)
            assert 0 <= expected <= case.costs.total + 1e-9
            assert expected >= run.next_price - 1e-9  # the next feature is bought in every end
            assert run.expected_cost(20) == expected
            run.provide(feature, case.rows[0, feature])
        assert run.expected_cost(20) == 0


def stump_forest(n_features=7, seed=0):
    """One stump for each feature; votes. Its training shares are those of rows of independent uniform features."""
    rng = np.random.default_rng(seed)
    shares = rng.choice([0.25, 0.5, 0.75], n_features)
    side = rng.integers(0, 2, n_features)
    eye = np.eye(2)
    counts = [[(share, 0.0), (1 - share, 0.0)] for share in shares]
    arrays = {
        "node_offsets": np.arange(n_features + 1, dtype=np.int64) * 3,
        "leaf_offsets": np.arange(n_features + 1, dtype=np.int64) * 2,
        "feature": np.ravel([[f, -1, -1] for f in range(n_features)]).astype(np.int32),
        "threshold": np.ravel([[share, 0, 0] for share in shares]),
        "missing_left": np.zeros(3 * n_features, np.uint8),
        "right": np.ravel([[3 * f + 2, 2 * f, 2 * f + 1] for f in range(n_features)]).astype(np.int32),
        "category_set": np.full(3 * n_features, -1, np.int32),
        "category_sets": np.zeros((0, 1), np.uint64),
        "leaf_counts": np.reshape(counts, (-1, 2)),
    }
    values = np.concatenate([eye[[s, 1 - s]] for s in side])
    forest = Forest.from_arrays(arrays, n_features)
    ensemble = Ensemble(forest, values, np.zeros(2), "mean", np.arange(2), plain_encoder(n_features))
    costs = FeatureCosts(rng.choice([1.0, 2.0, 3.5], n_features), groups={"first": Group([0, 1, 2], 1.5)})
    return Case(ensemble, costs, rng.random((4000, n_features)), seed)


@pytest.mark.parametrize("seed", range(4))
def test_expected_cost_is_the_mean_bill_where_features_are_independent(seed):
    case = stump_forest(seed=seed)
    acquirer = case.acquirer()
    bills = case.costs.of_rows(acquirer.evaluate(case.rows, LABEL).mask)
    expected = Acquisition(acquirer, LABEL).expected_cost(4000, random_state=seed)
    error = np.sqrt(2 * bills.var() / len(bills))
    assert bills.std() > 0.3
    assert abs(expected - bills.mean()) < 5 * error


@pytest.mark.parametrize("n", [0, -3, 1.5, "a", None, True, 10**30])
def test_expected_cost_needs_a_simulation(model, n):
    with pytest.raises(ValueError, match=r"n_simulations=.* is no whole number of at least 1"):
        model.start().expected_cost(n)


@pytest.mark.parametrize("seed", [None, -1, 1.5, "a", 2**64, np.random.RandomState(0)])
def test_expected_cost_needs_a_seed(model, seed):
    with pytest.raises(ValueError, match=r"random_state=.* is no whole number from 0 to 2\*\*64 - 1"):
        model.start().expected_cost(10, random_state=seed)


def test_expected_cost_takes_numbers_of_numpy(model):
    run = model.start()
    assert run.expected_cost(np.int64(10), random_state=np.uint8(3)) == run.expected_cost(10, random_state=3)


# Models of other libraries.


def test_runs_compare_as_the_library_does():
    """scikit-learn compares float32 numbers: a value between a threshold and its float32 neighbour shows it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    forest = RandomForestClassifier(9, max_depth=4, random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.5)
    model = ff.OnDemand(forest)
    thresholds = np.concatenate([tree.tree_.threshold[tree.tree_.feature >= 0] for tree in forest.estimators_])
    rows = rng.choice(np.concatenate([thresholds, thresholds * (1 + 1e-9), thresholds * (1 - 1e-9)]), (60, 4))
    labels = forest.predict(rows)
    for row, label in zip(rows, labels, strict=True):
        run = finish(model.start(), row)
        assert run.prediction == label
        assert isinstance(run.prediction, bool)


def test_orders_are_part_of_the_run():
    case = random_case(8, kinds=("votes",))
    run = Acquisition(case.acquirer(Order(by="count")), LABEL)
    with pytest.raises(ValueError, match="another order of buying, by='count' instead of 'score': give the model that"):
        Acquisition.from_json(run.to_json(), case.acquirer(Order(by="score")))
