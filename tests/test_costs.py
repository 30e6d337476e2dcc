"""The price list: what a set of features costs, and that every way of adding it up gives the same float."""

import copy
import itertools
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from frugalforest.costs import FeatureCosts, Group, resolve_costs
from frugalforest.costs import price_list as price_list_module

quick = settings(deadline=None, max_examples=60)


@pytest.fixture
def clinic() -> FeatureCosts:
    """Age is asked for; glucose and insulin both need blood."""
    return FeatureCosts(
        [1, 15.51, 20.68],
        feature_names=["age", "glucose", "insulin"],
        groups={"blood": Group(members=["glucose", "insulin"], cost=2.10)},
    )


@pytest.fixture
def lab() -> FeatureCosts:
    """Overlapping groups: b needs both steps, d none."""
    return FeatureCosts([1, 2, 3, 4], groups={"draw": Group([0, 1], 10), "ship": Group([1, 2], 100)})


# ---- what a set costs


def test_the_group_is_paid_once_by_whoever_comes_first(clinic):
    assert clinic.of("glucose") == 17.61
    assert clinic.of("insulin") == 22.78
    assert clinic.of(["glucose", "insulin"]) == 38.29  # the floats add up to 38.290000000000006
    assert clinic.of([]) == 0
    assert clinic.total == 39.29


def test_a_set_can_be_given_in_any_form(clinic):
    forms = [
        ["glucose", "insulin"], ("insulin", "glucose"), {"glucose", "insulin"}, np.array(["glucose", "insulin"]),
        pd.Index(["glucose", "insulin"]), pl.Series(["glucose", "insulin"]), [1, 2], np.array([2, 1], dtype=np.uint8),
        ["glucose", 2], ["glucose", np.int64(2)], [False, True, True], np.array([False, True, True]),
        pd.Series([False, True, True]), ["glucose", "insulin", "glucose"], (i for i in (1, 2)),
    ]  # fmt: skip
    assert [clinic.of(form) for form in forms] == [38.29] * len(forms)
    assert clinic.of(0) == clinic.of("age") == clinic.of(np.int64(0)) == clinic.of(np.str_("age")) == 1
    np.testing.assert_array_equal(clinic.indices(["insulin", "age"]), [2, 0])
    np.testing.assert_array_equal(clinic.mask(["insulin", "age"]), [True, False, True])


def test_marginal_is_what_the_next_feature_costs_now(clinic):
    np.testing.assert_array_equal(clinic.marginal(clinic.mask([])), [1, 17.61, 22.78])
    np.testing.assert_array_equal(clinic.marginal(clinic.mask("glucose")), [1, 0, 20.68])
    np.testing.assert_array_equal(clinic.marginal(np.ones(3, dtype=bool)), [0, 0, 0])
    np.testing.assert_array_equal(clinic.alone, [1, 17.61, 22.78])


def test_groups_may_overlap(lab):
    assert [lab.of(f) for f in range(4)] == [11, 112, 103, 4]
    assert lab.of([0, 2]) == 1 + 10 + 3 + 100
    assert lab.of([0, 1]) == 1 + 2 + 10 + 100
    np.testing.assert_array_equal(lab.marginal(lab.mask(0)), [0, 102, 103, 4])
    np.testing.assert_array_equal(lab.marginal(lab.mask(1)), [1, 0, 3, 4])


def test_rows_are_billed_one_by_one(lab):
    every_set = np.array(list(itertools.product([False, True], repeat=4)))
    np.testing.assert_array_equal(lab.of_rows(every_set), [lab.of(row) for row in every_set])
    np.testing.assert_array_equal(lab.of_rows(np.asfortranarray(every_set)), lab.of_rows(every_set))
    assert lab.of_rows(np.zeros((0, 4), dtype=bool)).shape == (0,)


def test_counted_purchases_are_billed_together(lab):
    rows = np.random.default_rng(0).random((1000, 4)) < 0.5
    touched = rows @ lab.membership.T
    assert lab.of_purchases(rows.sum(axis=0), touched.sum(axis=0)) == lab.of_rows(rows).sum()
    curve = lab.of_purchases(np.cumsum(rows, axis=0), np.cumsum(touched, axis=0))
    np.testing.assert_array_equal(curve, np.cumsum(lab.of_rows(rows)))
    assert FeatureCosts([0.1, 0.2]).of_purchases([3, 0]) == 0.3


def test_costs_may_be_zero():
    free = FeatureCosts([0, 0, 0], groups={"descriptor": Group([0, 1], 1)})
    assert free.of([0, 1]) == 1
    assert free.of(2) == 0
    np.testing.assert_array_equal(free.marginal(free.mask(0)), [0, 0, 0])


# ---- exact money


def test_decimals_add_up_as_decimals():
    dimes = FeatureCosts([0.1] * 10 + [0.2, 0.7])
    assert dimes.of(range(10)) == 1.0
    assert dimes.of([0, 10]) == 0.3
    assert dimes.of([0, 11]) == 0.8  # 0.1 + 0.7 is 0.7999999999999999
    assert FeatureCosts([1e-9, 123456.123456789]).total == 123456.12345679


@pytest.mark.parametrize(
    "prices",
    [
        [1 / 3, 0.1, 1e-5, 7.0, np.pi],
        [1e300, 1e300, 1e284, 3.0],
        [1e-310, 1e-300, 5e-324],
        [2.0**60, 1.0, 0.5, 2.0**-10],
        [1e15, 0.1, 0.01],
        [0.1, 0.2, 1e-300],
    ],
    ids=["thirds", "huge", "tiny", "wide", "too wide for decimals", "one vanishes"],
)
def test_every_order_gives_the_same_bill(prices):
    costs = FeatureCosts(prices)
    bills = {FeatureCosts([prices[i] for i in order]).total for order in itertools.permutations(range(len(prices)))}
    assert bills == {costs.total}
    assert costs.total == pytest.approx(sum(prices), rel=1e-15)
    np.testing.assert_allclose(costs.own, prices, rtol=0, atol=2.0**-61 * costs.total + 2.0**-1022)
    assert FeatureCosts(costs.own) == costs
    assert FeatureCosts(costs.own).total == costs.total


def test_prices_are_kept_as_given_when_they_fit():
    prices = [17.61, 22.78, 1.0, 0.000000001, 1234.5]
    np.testing.assert_array_equal(FeatureCosts(prices).own, prices)
    thirds = [1 / 3, 2 / 3, 1 / 7]
    np.testing.assert_array_equal(FeatureCosts(thirds).own, thirds)


@pytest.mark.parametrize("prices", [[0.1, 0.25, 12.34], [1 / 3, np.pi, 1e-3], [1e9 + 0.1, 1 / 7, 3.0]])
def test_a_billion_rows_are_billed_exactly(prices):
    costs = FeatureCosts(prices, groups={"g": Group([0, 1], np.sqrt(2))})
    counts, group_count = [10**9 - 1, 10**9, 999_999_937], 10**9 - 7
    exact = sum(n * Fraction(p) for n, p in zip([*counts, group_count], [*costs.own, *costs.shared], strict=True))
    assert costs.of_purchases(counts, [group_count]) == pytest.approx(float(exact), rel=1e-15)
    batch = costs.of_purchases([counts, [1, 0, 0]], [[group_count], [1]])
    assert batch[0] == costs.of_purchases(counts, [group_count])
    assert batch[1] == costs.alone[0]


# ---- price lists from what users have


def test_names_come_from_dicts_and_pandas_but_not_from_a_counting_index():
    assert FeatureCosts({"a": 1, "b": 2}).feature_names == ("a", "b")
    assert FeatureCosts(pd.Series([1, 2], index=["a", "b"])).feature_names == ("a", "b")
    assert FeatureCosts(pd.Series([1, 2])).feature_names is None
    assert FeatureCosts(pl.Series("costs", [1, 2])).feature_names is None
    assert FeatureCosts((1, 2)).feature_names is None
    np.testing.assert_array_equal(FeatureCosts(pl.Series([1, 2])).own, [1, 2])


def test_feature_names_reorder_costs_that_have_names():
    costs = FeatureCosts({"a": 1, "b": 2}, feature_names=np.array(["b", "a"]), groups={"g": Group(["a"], 5)})
    np.testing.assert_array_equal(costs.own, [2, 1])
    np.testing.assert_array_equal(costs.membership, [[False, True]])
    assert costs.feature_names == ("b", "a")


def test_a_group_can_be_a_plain_dict(clinic):
    plain = {"blood": {"members": [1, "insulin"], "cost": 2.10}}
    assert FeatureCosts([1, 15.51, 20.68], feature_names=clinic.feature_names, groups=plain) == clinic


def test_aligned_to_follows_the_columns(clinic):
    turned = clinic.aligned_to(["insulin", "age", "glucose"])
    assert turned.feature_names == ("insulin", "age", "glucose")
    np.testing.assert_array_equal(turned.own, [20.68, 1, 15.51])
    np.testing.assert_array_equal(turned.membership, [[True, False, True]])
    assert turned.of(["glucose", "insulin"]) == 38.29
    assert clinic.aligned_to(clinic.feature_names) is clinic


def test_aligned_to_lists_everything_that_does_not_match(clinic):
    message = r"has 3 entries but X has 4 columns; missing: ldl, ct_scan; unknown: glucose\. Add .* Drop"
    with pytest.raises(ValueError, match=message):
        clinic.aligned_to(["ldl", "age", "ct_scan", "insulin"])
    with pytest.raises(ValueError, match=r"name different features; missing: ldl; unknown: age\."):
        clinic.aligned_to(["ldl", "glucose", "insulin"])
    with pytest.raises(ValueError, match="no names to align by"):
        FeatureCosts([1, 2]).aligned_to(["a", "b"])


def test_subset_keeps_the_groups_that_are_left(clinic, lab):
    assert clinic.subset(["insulin", "age"]).of([0, 1]) == 23.78
    assert clinic.subset("age").group_names == ()
    assert lab.subset([2, 1]).groups == {"draw": Group((1,), 10.0), "ship": Group((0, 1), 100.0)}
    with pytest.raises(ValueError, match="given twice"):
        lab.subset([1, 1])


def test_scaled_multiplies_every_price(clinic):
    double = clinic.scaled(2)
    np.testing.assert_array_equal(double.own, [2, 31.02, 41.36])
    assert double.of(["glucose", "insulin"]) == 76.58
    assert double.scaled(0.5) == clinic
    assert FeatureCosts([0.1, 0.7]).scaled(3).own.tolist() == [0.3, 2.1]  # 0.1 * 3 is 0.30000000000000004
    assert clinic.scaled(0).total == 0
    with pytest.raises(ValueError, match="factor must be finite and >= 0"):
        clinic.scaled(-1)


def test_unit_costs_count_features():
    assert FeatureCosts.unit(4).total == 4
    assert FeatureCosts.unit(["a", "b"]).of("b") == 1


# ---- a value like any other


def test_a_price_list_is_immutable(clinic):
    for array in (clinic.own, clinic.shared, clinic.membership, clinic.alone):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        clinic.own = np.ones(3)
    clinic.groups.clear()
    assert clinic.group_names == ("blood",)


def test_the_callers_array_stays_the_callers():
    prices = np.array([1.0, 2.0])
    costs = FeatureCosts(prices)
    prices[0] = 100
    assert costs.of(0) == 1


def test_copies_and_pickles_are_equal_and_stay_read_only(clinic):
    class Model(BaseEstimator):
        def __init__(self, feature_costs=None):
            self.feature_costs = feature_costs

    assert clone(Model(clinic)).feature_costs == clinic
    assert copy.deepcopy(clinic) == copy.copy(clinic) == clinic
    back = pickle.loads(pickle.dumps(clinic))
    assert back == clinic
    assert hash(back) == hash(clinic)
    assert not back.own.flags.writeable
    assert "FeatureCosts(3 features, total 39.29" in repr(Model(clinic))


def test_equality_looks_at_names_prices_and_groups_but_not_at_the_order_of_groups(clinic, lab):
    assert clinic != clinic.scaled(2)
    assert clinic != FeatureCosts(clinic.own, groups={"blood": Group([1, 2], 2.10)})
    assert clinic != "a price list"
    assert lab == FeatureCosts(lab.own, groups=dict(reversed(lab.groups.items())))
    assert len({lab, FeatureCosts(lab.own, groups=dict(reversed(lab.groups.items())))}) == 1


def test_repr_and_frame_show_the_prices(clinic):
    assert repr(clinic) == (
        "FeatureCosts(3 features, total 39.29; age: 1, glucose: 15.51, insulin: 20.68; groups blood: 2.1)"
    )
    assert repr(FeatureCosts.unit(6)) == "FeatureCosts(6 features, total 6; 0: 1, 1: 1, 2: 1, 3: 1, ...)"
    assert len(clinic) == clinic.n_features == 3
    frame = clinic.to_frame()
    assert frame.loc["glucose"].to_dict() == {"cost": 15.51, "groups": "blood", "alone": 17.61}
    assert FeatureCosts([1, 2]).to_frame().index.tolist() == [0, 1]


# ---- bad input gets one clear sentence


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (ValueError, "must be finite and >= 0, got a = nan, c = -1", {"costs": {"a": np.nan, "b": 0, "c": -1}}),
        (ValueError, "got 1 = inf", {"costs": [1, np.inf]}),
        (ValueError, "add up to infinity", {"costs": [1.7e308, 1.7e308]}),
        (ValueError, "one number for each feature, got shape", {"costs": []}),
        (ValueError, "one number for each feature, got shape", {"costs": [[1, 2]]}),
        (ValueError, "one number for each feature, got shape", {"costs": 3}),
        (TypeError, "from_csv reads a file", {"costs": "pima.costs.csv"}),
        (TypeError, "costs must be numbers", {"costs": {"a": "dear"}}),
        (TypeError, "keys of costs must be a list of strings", {"costs": {0: 1, 1: 2}}),
        (TypeError, "index of costs must be a list of strings", {"costs": pd.Series([1, 2], index=[3, 4])}),
        (TypeError, "feature_names must be a list of strings", {"costs": [1, 2], "feature_names": "ab"}),
        (TypeError, "feature_names must be a list of strings", {"costs": [1, 2], "feature_names": ["a", 1]}),
        (ValueError, "costs has 2 entries but feature_names 3", {"costs": [1, 2], "feature_names": ["a", "b", "c"]}),
        (ValueError, "feature_names has duplicates: a", {"costs": [1, 2], "feature_names": ["a", "a"]}),
        (ValueError, "index of costs has duplicates: a", {"costs": pd.Series([1, 2], index=["a", "a"])}),
        (ValueError, "missing: c; unknown: b", {"costs": {"a": 1, "b": 2}, "feature_names": ["a", "c"]}),
        (ValueError, "group 'g': unknown: x, y; there are 2 features", {"groups": {"g": Group(["x", "a", "y"], 1)}}),
        (ValueError, "group 'g': unknown: 2, -1", {"groups": {"g": Group([2, -1], 1)}}),
        (ValueError, "group 'g' has no members", {"groups": {"g": Group([], 1)}}),
        (ValueError, "group 'g' names a member twice", {"groups": {"g": Group(["a", 0], 1)}}),
        (ValueError, "group costs must be finite and >= 0, got g = -1", {"groups": {"g": Group(["a"], -1)}}),
        (TypeError, "group costs must be numbers", {"groups": {"g": Group(["a"], "dear")}}),
        (TypeError, "must be Group", {"groups": {"g": (["a"], 1)}}),
        (TypeError, "non-empty names", {"groups": {"": Group(["a"], 1)}}),
        (TypeError, "non-empty names", {"groups": {1: Group(["a"], 1)}}),
        (TypeError, "must be a dict name -> Group", {"groups": [Group(["a"], 1)]}),
    ],
)  # fmt: skip
def test_a_bad_price_list_is_refused(error, message, arguments):
    with pytest.raises(error, match=message):
        FeatureCosts(**{"costs": {"a": 1, "b": 2}, **arguments})


@pytest.mark.parametrize("members", ["glucose", 3, None])
def test_members_are_a_list(members):
    with pytest.raises(TypeError, match="members of a group are a list"):
        Group(members, 1)


@pytest.mark.parametrize(
    ("error", "message", "features"),
    [
        (ValueError, "unknown: ldl, hdl; there are 3 features: age, glucose, insulin", ["ldl", "age", "hdl"]),
        (ValueError, "unknown: 3", 3),
        (ValueError, "unknown: -1", [-1]),
        (ValueError, r"a boolean mask has shape \(2,\); give \(3,\)", [True, False]),
        (TypeError, "names, positions or a boolean mask", [0.5]),
        (TypeError, "names, positions or a boolean mask", None),
        (TypeError, "names, positions or a boolean mask", [[0, 1]]),
    ],
)
def test_unknown_features_are_refused(clinic, error, message, features):
    with pytest.raises(error, match=message):
        clinic.of(features)


def test_features_without_names_say_so():
    with pytest.raises(ValueError, match="unknown: age; these 2 features have no names, use the positions 0 to 1"):
        FeatureCosts([1, 2]).of("age")


def test_masks_and_counts_are_checked(lab):
    with pytest.raises(TypeError, match="acquired_mask must be boolean, got int64"):
        lab.marginal(np.zeros(4, dtype=np.int64))
    with pytest.raises(ValueError, match=r"mask has shape \(4,\); give \(n_rows, 4\)"):
        lab.of_rows(np.zeros(4, dtype=bool))
    with pytest.raises(ValueError, match=r"group_counts \(0,\); give \(..., 4\) and \(..., 2\)"):
        lab.of_purchases([1, 1, 1, 1])
    for counts in ([0.5, 1, 1, 1], [-1, 1, 1, 1], [np.nan, 1, 1, 1], [2.0**60, 1, 1, 1]):
        with pytest.raises(ValueError, match="whole numbers from 0"):
            lab.of_purchases(counts, [0, 0])


# ---- files


@pytest.fixture
def price_file(tmp_path):
    def write(text: str):
        path = tmp_path / "prices.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_list_of_first_and_later_prices(price_file, clinic):
    path = price_file(
        "feature,cost,group,cost_if_not_first_in_group,delay\n"
        "age,1.0,,1.0,immediate\nglucose,17.61,blood,15.51,delayed\ninsulin,22.78,blood,20.68,delayed\n"
    )
    assert FeatureCosts.from_csv(path) == clinic


def test_a_list_of_own_and_group_prices(price_file, clinic):
    text = "feature,cost,group,group_cost\nage,1,,\n\nglucose,15.51,blood,2.10\ninsulin,20.68,blood,2.1\n"
    assert FeatureCosts.from_csv(price_file(text)) == clinic
    assert FeatureCosts.from_csv(price_file("\ufeff" + text)) == clinic
    assert FeatureCosts.from_csv(str(price_file(text.replace("\n", "\r\n")))) == clinic


def test_a_feature_in_several_groups_joins_them_or_has_several_rows(price_file):
    joined = FeatureCosts.from_csv(price_file("feature,cost,group,group_cost\na,1,g; h,5;7\nb,2,h,7\n"))
    repeated = FeatureCosts.from_csv(price_file("feature,cost,group,group_cost\na,1,g,5\nb,2,h,7\na,1,h,7\n"))
    groups = {"g": Group(["a"], 5), "h": Group(["a", "b"], 7)}
    assert joined == repeated == FeatureCosts({"a": 1, "b": 2}, groups=groups)


def test_plain_prices_and_empty_discounts(price_file):
    assert FeatureCosts.from_csv(price_file("cost,feature\n1,a\n2,b\n")) == FeatureCosts({"a": 1, "b": 2})
    path = price_file("feature,cost,group,cost_if_not_first_in_group\na,1,,\nb,2,,2.0\n")
    assert FeatureCosts.from_csv(path) == FeatureCosts({"a": 1, "b": 2})


def test_float_noise_in_a_discount_is_not_a_contradiction(price_file):
    path = price_file(f"feature,cost,group,cost_if_not_first_in_group\na,{0.1 + 0.2},g,0.1\nb,{0.3 + 0.2},g,0.3\n")
    assert FeatureCosts.from_csv(path).shared[0] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("first line must name the columns", ""),
        ("first line must name the columns", "a,1\nb,2\n"),
        ("first line must name the columns", "feature,cost,cost\na,1,1\n"),
        ("no features after the first line", "feature,cost\n"),
        ("line 3: cost must be a finite number >= 0, got 'dear'", "feature,cost\na,1\nb,dear\n"),
        ("line 2: cost must be a finite number >= 0, got 'nan'", "feature,cost\na,nan\n"),
        ("line 2: cost must be a finite number >= 0, got '-1'", "feature,cost\na,-1\n"),
        ("line 3: a is listed twice", "feature,cost\na,1\na,1\n"),
        ("line 3: a is listed twice", "feature,cost,group,group_cost\na,1,g,1\na,2,h,1\n"),
        ("line 3: a is listed twice", "feature,cost,group,group_cost\na,1,g,1\na,1,g,1\n"),
        ("line 2: need a feature name and 2 cells", "feature,cost\na\n"),
        ("line 2: need a feature name and 2 cells", "feature,cost\na,1,5\n"),
        ("line 2: need a feature name and 2 cells", "feature,cost\n,1\n"),
        ("group goes with either", "feature,cost,group\na,1,g\n"),
        ("group goes with either", "feature,cost,group,group_cost,cost_if_not_first_in_group\na,1,g,1,0\n"),
        ("group goes with either", "feature,cost,group_cost\na,1,1\n"),
        ("as many group_cost as groups", "feature,cost,group,group_cost\na,1,g;h,1\n"),
        ("each group once", "feature,cost,group,group_cost\na,1,g;g,1;1\n"),
        ("shared cost of group g is 5 for a but 6 for b", "feature,cost,group,group_cost\na,1,g,5\nb,1,g,6\n"),
        (
            "shared cost of group g is 2.10 for a but 2.00 for b",
            "feature,cost,group,cost_if_not_first_in_group\na,17.61,g,15.51\nb,22.68,g,20.68\n",
        ),
        ("line 2: .*later must not be dearer", "feature,cost,group,cost_if_not_first_in_group\na,1,g,2\n"),
        ("line 2: .*cheaper only in a group", "feature,cost,group,cost_if_not_first_in_group\na,2,,1\n"),
        ("several groups use the column group_cost", "feature,cost,group,cost_if_not_first_in_group\na,2,g;h,1\n"),
        ("field larger than field limit", "feature,cost\n" + "a" * 200_000 + ",1\n"),
    ],
)
def test_a_bad_file_is_refused(price_file, message, text):
    with pytest.raises(ValueError, match=f"prices.csv: .*{message}"):
        FeatureCosts.from_csv(price_file(text))


def test_files_that_are_no_price_lists(tmp_path, monkeypatch):
    path = tmp_path / "picture.csv"
    path.write_bytes(b"feature,cost\n\xff\xfe,1\n")
    with pytest.raises(ValueError, match="not UTF-8"):
        FeatureCosts.from_csv(path)
    monkeypatch.setattr(price_list_module, "MAX_CSV_BYTES", 10)
    with pytest.raises(ValueError, match="larger than 10 bytes"):
        FeatureCosts.from_csv(path)
    with pytest.raises(FileNotFoundError):
        FeatureCosts.from_csv(tmp_path / "nothing.csv")


def test_to_csv_writes_what_from_csv_reads(tmp_path, clinic, lab):
    path = tmp_path / "prices.csv"
    clinic.to_csv(path)
    assert path.read_text() == (
        "feature,cost,group,group_cost\nage,1.0,,\nglucose,15.51,blood,2.1\ninsulin,20.68,blood,2.1\n"
    )
    assert FeatureCosts.from_csv(path) == clinic
    with pytest.raises(ValueError, match="give feature_names first"):
        lab.to_csv(path)
    with pytest.raises(ValueError, match=r"cannot hold the names \['a;b'\]"):
        FeatureCosts({"x": 1}, groups={"a;b": Group(["x"], 1)}).to_csv(path)


def test_real_price_lists(data_dir):
    pima = FeatureCosts.from_csv(data_dir / "pima.costs.csv")
    assert pima.of(["glucose_tol", "insulin"]) == 38.29
    assert pima.total == 44.29
    assert pima.shared.tolist() == [2.1]
    heart = FeatureCosts.from_csv(data_dir / "heart_cleveland.costs.csv")
    assert heart.alone.tolist() == [1, 1, 1, 1, 7.27, 5.2, 15.5, 102.9, 87.3, 87.3, 87.3, 100.9, 102.9]
    assert dict(zip(heart.group_names, heart.shared.tolist(), strict=True)) == {"A": 2.1, "B": 101.9, "C": 86.3}
    blocks = FeatureCosts.from_csv(data_dir / "covtype_measurements.costs.csv")
    assert (blocks.n_features, blocks.total) == (54, 12)
    for path in data_dir.glob("*.costs.csv"):
        assert FeatureCosts.from_csv(path).total > 0


# ---- costs for the columns of X


def test_no_costs_means_one_each():
    assert resolve_costs(None, 3) == FeatureCosts.unit(3)
    assert resolve_costs(None, 2, ["a", "b"]) == FeatureCosts.unit(["a", "b"])


@pytest.mark.parametrize("given_as", [dict, FeatureCosts, pd.Series])
def test_names_decide_when_both_sides_have_them(given_as):
    costs = resolve_costs(given_as({"a": 1, "b": 2}), 2, ["b", "a"])
    assert costs == FeatureCosts([2, 1], feature_names=["b", "a"])


@pytest.mark.parametrize("given_as", [list, np.array, pd.Series, pl.Series, FeatureCosts])
def test_positions_decide_when_the_costs_have_no_names(given_as):
    assert resolve_costs(given_as([1, 2]), 2) == FeatureCosts([1, 2])
    assert resolve_costs(given_as([1, 2]), 2, ["b", "a"]) == FeatureCosts({"b": 1, "a": 2})


def test_groups_by_position_take_the_names_of_the_columns(lab):
    named = resolve_costs(lab, 4, list("abcd"))
    assert named.groups["ship"] == Group(("b", "c"), 100.0)
    assert named.total == lab.total


def test_positions_decide_when_only_the_costs_have_names(clinic):
    assert resolve_costs(clinic, 3) is clinic
    with pytest.raises(ValueError, match=r"has 3 entries but X has 4 columns\. Give X with column names"):
        resolve_costs(clinic, 4)


def test_costs_that_do_not_fit_the_columns_are_refused():
    with pytest.raises(ValueError, match=r"has 2 entries but X has 3 columns\. Give one cost per column"):
        resolve_costs([1, 2], 3)
    with pytest.raises(ValueError, match="has 1 entries but X has 3 columns; missing: ldl, ct_scan"):
        resolve_costs({"age": 1}, 3, ["age", "ldl", "ct_scan"])
    with pytest.raises(ValueError, match="has 2 entries but X has 1 columns; unknown: ldl"):
        resolve_costs({"age": 1, "ldl": 2}, 1, ["age"])


# ---- properties

cents = st.integers(0, 10**6).map(lambda n: n / 100)
anything = st.floats(0, 1e12)


@st.composite
def price_lists(draw, names=None):
    """Up to 12 features in up to 5 overlapping groups; prices in cents, or any floats."""
    n_features, n_groups = draw(st.integers(1, 12)), draw(st.integers(0, 5))
    price = draw(st.sampled_from([cents, anything]))
    own = draw(st.lists(price, min_size=n_features, max_size=n_features))
    members = st.sets(st.integers(0, n_features - 1), min_size=1)
    groups = {f"g{i}": Group(sorted(draw(members)), draw(price)) for i in range(n_groups)}
    return FeatureCosts(own, feature_names=draw(names(n_features)) if names else None, groups=groups)


def set_of(data, costs):
    return np.array(data.draw(st.lists(st.booleans(), min_size=len(costs), max_size=len(costs))))


@quick
@given(price_lists(), st.integers(0, 2**32 - 1))
def test_rows_sets_and_exact_fractions_agree(costs, seed):
    rows = np.random.default_rng(seed).random((20, len(costs))) < 0.4
    bills = costs.of_rows(rows)
    touched = rows @ costs.membership.T
    np.testing.assert_array_equal(bills, [costs.of(row) for row in rows])
    np.testing.assert_array_equal(bills, [costs.of_purchases(r, t) for r, t in zip(rows, touched, strict=True)])
    for bill, row, paid in zip(bills, rows, touched, strict=True):
        exact = sum(map(Fraction, [*costs.own[row], *costs.shared[paid]]), Fraction(0))
        assert bill == pytest.approx(float(exact), rel=1e-15)


@quick
@given(price_lists(), st.data())
def test_marginals_shrink_as_more_is_bought(costs, data):
    few = set_of(data, costs)
    more = few | set_of(data, costs)
    assert np.all(costs.marginal(more) <= costs.marginal(few))
    assert costs.of(few) <= costs.of(more) <= costs.total


@quick
@given(price_lists(), st.permutations(range(12)))
def test_a_walk_through_all_features_pays_the_total(costs, order):
    acquired, spent = np.zeros(len(costs), dtype=bool), Fraction(0)
    for feature in (f for f in order if f < len(costs)):
        price = costs.marginal(acquired)[feature]
        acquired[feature] = True
        spent += Fraction(price)
        assert costs.of(acquired) == pytest.approx(float(spent), rel=1e-15, abs=1e-18 * costs.total)
    assert costs.of(acquired) == costs.total


@quick
@given(price_lists(), st.permutations(range(12)), st.data())
def test_the_order_of_the_columns_does_not_matter(costs, order, data):
    order = [f for f in order if f < len(costs)]
    turned, chosen = costs.subset(order), set_of(data, costs)
    assert turned.of(chosen[order]) == costs.of(chosen)
    np.testing.assert_array_equal(turned.marginal(chosen[order]), costs.marginal(chosen)[order])


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)


@quick
@given(price_lists(names=lambda n: st.lists(texts, min_size=n, max_size=n, unique=True)))
def test_a_file_holds_the_whole_price_list(tmp_path_factory, costs):
    path = tmp_path_factory.getbasetemp() / "prices.csv"
    costs.to_csv(path)
    back = FeatureCosts.from_csv(path)
    assert back == costs
    assert back.total == costs.total
    assert pickle.loads(pickle.dumps(costs)) == costs


def test_affordable_is_exact_with_groups_and_decimals():
    costs = FeatureCosts([0.1, 0.2, 0.3, 0], groups={"g": Group([1, 2], 0.1)})
    nothing, first = np.zeros(4, dtype=bool), np.array([True, False, False, False])
    assert costs.affordable(nothing, 0.3).tolist() == [True, True, False, True]
    assert costs.affordable(first, 0.3).tolist() == [True, False, False, True]
    assert costs.affordable(first, 0.4).tolist() == [True, True, False, True]  # 0.1 + 0.2 + 0.1 is 0.4, not more
    assert costs.affordable(first, 0).tolist() == [False, False, False, False]
    for mask in itertools.product([False, True], repeat=4):
        for budget in (0, 0.1, 0.25, 0.5, 0.7, 9):
            acquired = np.array(mask)
            each = [costs.of(acquired | (np.arange(4) == f)) <= budget for f in range(4)]
            assert costs.affordable(acquired, budget).tolist() == each
