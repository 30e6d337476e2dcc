"""Predictions that fetch what they need: from plain and async sources, that fail, hang, or answer for several."""

import asyncio
import contextvars
import gc
import itertools
import os
import signal
import threading
import time
from collections import Counter
from contextlib import aclosing, contextmanager
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import frugalforest as ff
from frugalforest.acquisition import FetchError
from frugalforest.acquisition.fetch_mixin import FetchMixin
from frugalforest.acquisition.fetch_rows import AHEAD
from frugalforest.selection import FixedSelector

SHORT = 0.02  # seconds: the timeout of sources that never answer
LONG = 30.0  # seconds: a timeout that is not meant to be met


class Forest(ff.StandardForestClassifier, FetchMixin):
    pass


@pytest.fixture(scope="module")
def X():
    return load_breast_cancer(as_frame=True).data.iloc[:, :8].set_axis(list("abcdefgh"), axis=1)


@pytest.fixture(scope="module")
def model(X):
    y = load_breast_cancer().target
    prices = ff.FeatureCosts(
        [1, 2, 1.5, 3, 1, 1, 2.5, 0], feature_names=list(X), groups={"blood": ff.Group(["c", "d", "g"], cost=4)}
    )
    return Forest(15, feature_costs=prices, stop="label", random_state=0).fit(X, y)


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    """No test may leave a thread that goes on, unless it lets its hanging source go before it ends."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive(), thread


@contextmanager
def never():
    """An event that is not set until the test is over: what a hanging source waits for."""
    event = threading.Event()
    try:
        yield event
    finally:
        event.set()


def as_async(fetch):
    async def source(*question):
        await asyncio.sleep(0)
        return fetch(*question)

    return source


def steps(run):
    return [(step.feature, step.how, step.value, step.cost) for step in run.receipt()]


def by_hand(model, row):
    run = model.start()
    while (feature := run.next_feature()) is not None:
        run.provide(feature, row[feature])
    return run


class Lab:
    """Measures one row, remembers what it was asked for, and refuses to be asked for anything that is not needed."""

    def __init__(self, row, needed):
        self.row, self.needed, self.asked = row, list(needed), []

    def __call__(self, feature):
        assert feature in self.needed, f"{feature} was not to be asked for"
        self.asked.append(feature)
        return self.row[feature]


def lab_of(model, X, i):
    return Lab(X.iloc[i], X.columns[model.acquisition_mask(X.iloc[[i]])[0]])


# ---- one row


@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
@pytest.mark.parametrize("timeout", [None, LONG])
def test_buys_what_the_mask_says_and_sees_nothing_else(model, X, wrap, timeout):
    for i in range(8):
        lab = lab_of(model, X, i)
        run = model.predict_on_demand(wrap(lab), timeout=timeout)
        assert run.is_over
        assert sorted(lab.asked) == lab.needed == sorted(run.acquired)
        assert run.spent == model.acquisition_cost(X.iloc[[i]])[0]
        assert run.prediction == model.predict(X.iloc[[i]])[0]
        assert steps(run) == steps(by_hand(model, X.iloc[i]))


def test_features_without_names_go_by_position(X):
    model = Forest(5, stop="label", random_state=0).fit(X.to_numpy(), X["a"] > X["a"].median())
    row = X.to_numpy()[0]
    run = model.predict_on_demand(lambda position: {position: row[position], 7: row[7], "remark": "none"})
    assert steps(run) == steps(by_hand(model, row))


def test_an_async_source_may_be_any_async_callable(model, X):
    class Client:
        async def __call__(self, row, feature):
            return row[feature]

    row = X.iloc[0]
    assert steps(model.predict_on_demand(partial(Client(), row))) == steps(by_hand(model, row))


def test_the_async_method_takes_both_kinds_of_source(model, X):
    row, main = X.iloc[0], threading.get_ident()
    threads = set()

    def plain(feature):
        threads.add(threading.get_ident())
        return row[feature]

    for source in (plain, as_async(lambda feature: row[feature]), lambda feature: as_async(plain)(feature)):
        run = asyncio.run(model.predict_on_demand_async(source))
        assert steps(run) == steps(by_hand(model, row))
    assert len(threads - {main}) == 1  # one worker for all calls of the plain source


def test_a_plain_source_without_a_timeout_is_called_in_the_thread_of_the_caller(model, X):
    threads = set()

    def source(feature):
        threads.add(threading.get_ident())
        return X.iloc[0][feature]

    model.predict_on_demand(source)
    assert threads == {threading.get_ident()}


def test_worker_threads_see_the_context_variables_of_the_caller(model, X):
    user = contextvars.ContextVar("user")
    user.set("me")
    seen = set()

    def source(*question):
        seen.add(user.get())
        return X.iloc[0][question[-1]]

    model.predict_on_demand(source, timeout=LONG)
    list(model.predict_many_on_demand(source, [0, 1]))
    list(model.predict_many_on_demand(as_async(source), [0, 1]))
    assert seen == {"me"}


@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_works_where_an_event_loop_is_running_as_in_notebooks(model, X, wrap):
    async def cell():
        return model.predict_on_demand(wrap(lab_of(model, X, 3)))

    assert steps(asyncio.run(cell())) == steps(by_hand(model, X.iloc[3]))


def test_a_plain_function_that_gives_a_coroutine_is_told_how_to_be_written(model):
    async def source(feature):
        return 1.0

    for timeout in (None, LONG):
        with pytest.raises(TypeError, match="async def fetch"):
            model.predict_on_demand(lambda feature: source(feature), timeout=timeout)


def test_known_values_are_free_also_if_they_would_be_asked_for_first(model, X):
    row = X.iloc[0]
    first = model.start().next_feature()
    lab = Lab(row, set(X.columns) - {first, "d"})
    run = model.predict_on_demand(lab, known={first: row[first], "d": row["d"]})
    assert run.known_before == (first, "d")
    assert run.spent == model.feature_costs_.of(list(run.acquired))
    assert run.prediction == model.predict(X.iloc[[0]])[0]


# ---- several values at once


@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_further_values_are_billed_when_they_are_asked_for_without_another_call(model, X, wrap):
    n_saved = 0
    for i in range(20):
        row, asked = X.iloc[i], []

        def panel(feature, row=row, asked=asked):
            asked.append(feature)
            group = "cdg" if feature in "cdg" else feature
            return {name: row[name] for name in group} | {"remark": "not a feature"}

        run = model.predict_on_demand(wrap(panel))
        assert steps(run) == steps(by_hand(model, row))
        assert len(set(asked) & set("cdg")) <= 1
        n_saved += len(run.acquired) - len(asked)
    assert n_saved > 0


def test_a_dict_without_the_asked_feature_is_an_error_that_says_so(model):
    with pytest.raises(FetchError, match=r"gave values of 'x', 'y', but none of") as caught:
        model.predict_on_demand(lambda feature: {"x": 1.0, "y": 2.0})
    assert isinstance(caught.value.cause, ValueError)


def test_a_further_value_that_cannot_be_read_is_fetched_by_itself(model, X):
    row, asked = X.iloc[0], []

    def source(feature):
        asked.append(feature)
        rest = dict.fromkeys(X.columns, "n/a") if len(asked) == 1 else {}
        return rest | {feature: row[feature]}

    run = model.predict_on_demand(source)
    assert steps(run) == steps(by_hand(model, row))
    assert tuple(asked) == run.acquired


# ---- sources that fail


class Flaky:
    """Fails n times for every feature, then answers."""

    def __init__(self, row, n):
        self.row, self.n, self.asked = row, n, Counter()

    def __call__(self, feature):
        self.asked[feature] += 1
        if self.asked[feature] <= self.n:
            raise ConnectionError("line is busy")
        return self.row[feature]


@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_retries_until_there_is_an_answer(model, X, wrap):
    source = Flaky(X.iloc[0], 2)
    run = model.predict_on_demand(wrap(source), retries=2)
    assert steps(run) == steps(by_hand(model, X.iloc[0]))
    assert set(source.asked.values()) == {3}


@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_a_failure_carries_the_run_which_goes_on_from_there(model, X, wrap):
    row = X.iloc[0]
    first, second, *_, last = by_hand(model, row).acquired

    def broken(feature):
        if feature == second:
            raise ConnectionError("line is dead")
        return {feature: row[feature], last: row[last]}

    with pytest.raises(FetchError, match=r"ConnectionError: line is dead \(2 attempts\)") as caught:
        model.predict_on_demand(wrap(broken), retries=1)
    error = caught.value
    assert (error.feature, error.row, error.others) == (second, None, ())
    assert error.__cause__ is error.cause
    assert steps(error.run) == steps(by_hand(model, row))[:1]
    assert error.run.acquired == (first,)
    assert error.delivered == {last: row[last]}
    repaired = Lab(row, set(X.columns) - {first, last})
    run = model.predict_on_demand(wrap(repaired), run=error.run, delivered=error.delivered)
    assert run is error.run
    assert steps(run) == steps(by_hand(model, row))


@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_a_feature_that_cannot_be_had_is_refused_and_the_receipt_says_why(model, X, wrap):
    row = X.iloc[0]
    lost = by_hand(model, row).acquired[1]

    def source(feature):
        if feature == lost:
            raise ConnectionError("line is dead")
        return row[feature]

    run = model.predict_on_demand(wrap(source), on_failure="refuse")
    assert run.is_over
    assert run.refused == (lost,)
    notes = {step.feature: step.note for step in run.receipt()}
    assert notes.pop(lost) == "ConnectionError: line is dead"
    assert set(notes.values()) == {None}
    assert "line is dead" in str(run.receipt())
    assert set(run.receipt().to_frame()["note"].dropna()) == {"ConnectionError: line is dead"}
    assert [step.note for step in model.resume(run.to_json()).receipt()] == [step.note for step in run.receipt()]
    expected = model.predict(X.iloc[[0]].assign(**{lost: np.nan}))[0]
    assert run.prediction == expected


@pytest.mark.parametrize("value", ["high", np.inf, [1.0, 2.0], {"a": 1}.keys()], ids=["text", "inf", "list", "object"])
def test_a_value_that_cannot_be_read_is_a_failure_of_the_source(model, X, value):
    row, answers = X.iloc[0], Counter()

    def source(feature):
        answers[feature] += 1
        return value if answers[feature] == 1 else row[feature]

    with pytest.raises(FetchError, match=r"[^.]\. What was bought") as caught:
        model.predict_on_demand(lambda feature: value)
    assert isinstance(caught.value.cause, TypeError | ValueError)
    assert caught.value.run.spent == 0
    assert steps(model.predict_on_demand(source, retries=1)) == steps(by_hand(model, row))
    assert model.predict_on_demand(lambda feature: value, on_failure="refuse").acquired == ()


def test_a_missing_value_is_bought(model):
    run = model.predict_on_demand(lambda feature: None)
    assert run.refused == ()
    assert run.spent == model.feature_costs_.of(list(run.acquired)) > 0


def test_retries_may_differ_between_features(model, X):
    first, second, *_ = by_hand(model, X.iloc[0]).acquired
    source = Flaky(X.iloc[0], 2)
    run = model.predict_on_demand(source, retries={first: 2, second: 1}, on_failure="refuse")
    assert run.acquired == (first,)
    assert [source.asked[first], source.asked[second]] == [3, 2]
    assert all(source.asked[feature] == 1 for feature in run.refused if feature != second)


def test_pauses_double_from_one_retry_to_the_next(model, monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with pytest.raises(FetchError, match="4 attempts"):
        model.predict_on_demand(Flaky({}, 9), retries=3, backoff=0.5)
    assert pauses == [0.5, 1.0, 2.0]


def test_pauses_do_not_grow_beyond_all_numbers(model):
    with pytest.raises(FetchError, match="1501 attempts"):
        model.predict_on_demand(Flaky({}, 9999), retries=1500)


def test_async_pauses_let_other_rows_go_on(model, X, monkeypatch):
    row, pauses, failed, quick_is_done = X.iloc[0], [], [], asyncio.Event()
    last = by_hand(model, row).acquired[-1]

    async def sleep(seconds):
        if seconds > 0:
            pauses.append(seconds)
            await asyncio.wait_for(quick_is_done.wait(), 5)

    async def source(name, feature):
        if name == "slow" and not failed:
            failed.append(feature)
            raise ConnectionError
        if name == "quick" and feature == last:
            quick_is_done.set()
        return row[feature]

    monkeypatch.setattr(asyncio, "sleep", sleep)
    runs = dict(model.predict_many_on_demand(source, ["slow", "quick"], retries=1, backoff=9))
    assert list(runs) == ["slow", "quick"]
    assert pauses == [9]
    assert steps(runs["slow"]) == steps(runs["quick"]) == steps(by_hand(model, row))


# ---- models that cannot do without


@pytest.fixture(scope="module")
def strict(X):
    """A panel of a classifier that does not take missing values."""
    selector = FixedSelector(
        list("abcd"), feature_costs=ff.FeatureCosts([1, 2, 3, 4, 1, 1, 1, 1], feature_names=list(X))
    )
    return ff.PanelClassifier(selector, LogisticRegression(max_iter=5000)).fit(X, load_breast_cancer().target)


def lacking(X, lost):
    def source(row, feature):
        if row == 2 and feature == lost:
            raise ConnectionError("line is dead")
        return X.iloc[row][feature]

    return source


@pytest.mark.parametrize("on_failure", ["raise", "refuse"])
@pytest.mark.parametrize("lost", list("abcd"))
@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_a_feature_that_is_needed_is_told_before_more_is_bought(strict, X, wrap, lost, on_failure):
    with pytest.raises(FetchError, match="once there is a value: this model cannot do without it") as caught:
        strict.predict_on_demand(wrap(partial(lacking(X, lost), 2)), on_failure=on_failure)
    error = caught.value
    assert "on_failure" not in str(error)
    assert (error.feature, type(error.cause)) == (lost, ConnectionError)
    assert error.run.acquired == tuple("abcd"[: "abcd".index(lost)])
    assert error.run.refused == ()
    run = strict.predict_on_demand(X.iloc[2].get, run=error.run)
    assert run.prediction == strict.predict(X.iloc[[2]])[0]


def test_a_row_that_cannot_be_finished_loses_nothing_of_the_others(strict, X):
    results = strict.predict_many_on_demand(lacking(X, "c"), range(6), concurrency=1, on_failure="refuse")
    assert [(row, run.is_over) for row, run in itertools.islice(results, 2)] == [(0, True), (1, True)]
    with pytest.raises(FetchError, match="line is dead") as caught:
        next(results)
    assert (caught.value.row, caught.value.run.acquired) == (2, ("a", "b"))
    assert [row for row, _ in caught.value.others] == [3, 4, 5]


def test_a_model_that_changes_its_mind_is_heard(model, X, monkeypatch):
    """The trial said that it goes without; the run says that it does not."""
    monkeypatch.setattr("frugalforest.acquisition.fetch._why_it_is_needed", lambda run, feature: None)
    run = model.start()

    def refuse(feature, *, note=None):
        raise RuntimeError("not this one")

    run.refuse = refuse
    with pytest.raises(FetchError, match="this model cannot do without it") as caught:
        model.predict_on_demand(Flaky({}, 9), run=run, on_failure="refuse")
    assert caught.value.run is run


def test_whether_a_model_goes_without_is_tried_once(model, monkeypatch):
    trials = []
    monkeypatch.setattr("frugalforest.acquisition.fetch._why_it_is_needed", lambda run, feature: trials.append(feature))
    assert len(model.predict_on_demand(Flaky({}, 9), on_failure="refuse").refused) > 1
    assert len(trials) == 1


# ---- sources that hang


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_source_that_hangs_is_left_after_the_timeout(model, X, is_async):
    row = X.iloc[0]
    lost = by_hand(model, row).acquired[0]
    with never() as event:

        def plain(feature):
            assert threading.current_thread().daemon, "a thread that hangs would keep the program from ending"
            if feature == lost:
                event.wait()
            return row[feature]

        async def hanging(feature):
            if feature == lost:
                await asyncio.Event().wait()
            return row[feature]

        timeouts = dict.fromkeys(X.columns, LONG) | {lost: SHORT}
        source = hanging if is_async else plain
        run = model.predict_on_demand(source, timeout=timeouts, on_failure="refuse")
        assert run.refused == (lost,)
        assert run.receipt()[0].note == f"TimeoutError: no answer within {SHORT:g} s"
        with pytest.raises(FetchError, match="no answer within"):
            asyncio.run(model.predict_on_demand_async(source, timeout={lost: SHORT}))


def test_a_late_answer_is_ignored(model, X):
    row = X.iloc[0]
    calls, late = Counter(), threading.Event()
    with never() as event:

        def source(feature):
            calls[feature] += 1
            if calls[feature] == 1:
                event.wait()
                late.set()
                return -1e9
            return row[feature]

        run = model.predict_on_demand(source, timeout=SHORT, retries=99)  # the machine may be busy, too
    assert late.wait(5)
    assert steps(run) == steps(by_hand(model, row))


def test_a_timeout_of_the_source_itself_is_reported_in_its_own_words(model):
    async def source(feature):
        raise TimeoutError("the gateway gave up")

    for call in (source, lambda feature: asyncio.run(source(feature))):
        with pytest.raises(FetchError, match="the gateway gave up"):
            model.predict_on_demand(call, timeout=LONG)


# ---- several rows


class Clinic:
    """Measures many rows, remembers what each was asked for, and counts how many are asked at the same time."""

    def __init__(self, X, mask):
        self.X, self.needed = X, [set(X.columns[m]) for m in mask]
        self.lock, self.in_flight, self.most, self.asked = threading.Lock(), 0, 0, [set() for _ in mask]

    def enter(self, i, feature):
        assert feature in self.needed[i]
        with self.lock:
            self.asked[i].add(feature)
            self.in_flight += 1
            self.most = max(self.most, self.in_flight)

    def leave(self):
        with self.lock:
            self.in_flight -= 1

    def plain(self, i, feature):
        self.enter(i, feature)
        time.sleep(0.0005)
        self.leave()
        return self.X.iloc[i][feature]

    async def awaited(self, i, feature):
        self.enter(i, feature)
        for _ in range(i % 5):
            await asyncio.sleep(0)
        self.leave()
        return self.X.iloc[i][feature]


async def collect(results):
    return [pair async for pair in results]


@pytest.mark.parametrize("kind", ["plain", "awaited"])
@pytest.mark.parametrize("inside_a_loop", [False, True])
def test_fifty_rows_in_order_with_a_limit_on_those_in_flight(model, X, kind, inside_a_loop):
    some = X.iloc[:50]
    clinic = Clinic(some, model.acquisition_mask(some))
    source = getattr(clinic, kind)
    if inside_a_loop:
        results = asyncio.run(collect(model.predict_many_on_demand_async(source, range(50), concurrency=5)))
    else:
        results = list(model.predict_many_on_demand(source, range(50), concurrency=5))
    rows, runs = zip(*results, strict=True)
    assert rows == tuple(range(50))
    assert [run.prediction for run in runs] == model.predict(some).tolist()
    assert [run.spent for run in runs] == model.acquisition_cost(some).tolist()
    assert clinic.asked == clinic.needed
    assert 1 < clinic.most <= 5


@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_rows_are_taken_only_as_far_ahead_as_needed(model, X, wrap):
    taken = itertools.count()
    results = model.predict_many_on_demand(wrap(lambda row, feature: X.iloc[row][feature]), taken, concurrency=2)
    first = list(itertools.islice(results, 10))
    results.close()
    assert [row for row, _ in first] == list(range(10))
    assert next(taken) <= 10 + AHEAD * 2


def test_a_row_that_is_slow_does_not_hold_up_the_others(model, X):
    with never() as event:

        def source(row, feature):
            if row == 0:
                assert event.wait(5)
            if row == 6:
                event.set()  # comes only if rows go on behind the slow one
            return X.iloc[row][feature]

        results = list(model.predict_many_on_demand(source, range(8), concurrency=2))
    assert [row for row, _ in results] == list(range(8))


def test_rows_are_read_in_the_thread_of_the_caller_and_go_on_while_it_is_busy(model, X):
    readers, last = set(), threading.Event()

    def rows():
        for i in range(6):
            readers.add(threading.get_ident())
            yield i

    async def source(row, feature):
        if row == 5:
            last.set()
        return X.iloc[row][feature]

    for row, _ in model.predict_many_on_demand(source, rows(), concurrency=2, timeout=LONG):
        if row == 0:
            assert last.wait(5)  # the caller waits, and row 5 is fetched meanwhile
    assert readers == {threading.get_ident()}


def test_known_values_of_each_row(model, X):
    known = {0: {"a": X.iloc[0]["a"]}, 2: X.iloc[2].to_dict()}
    results = dict(model.predict_many_on_demand(lambda i, feature: X.iloc[i][feature], range(3), known=known.get))
    assert [run.known_before for run in results.values()] == [("a",), (), tuple(X.columns)]
    assert results[2].spent == 0


def failing_at(X, bad):
    def source(row, feature):
        if row == bad:
            raise ConnectionError("line is dead")
        return X.iloc[row][feature]

    return source


@pytest.mark.parametrize("inside_a_loop", [False, True])
@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_the_failure_of_one_row_loses_nothing_of_the_others(model, X, wrap, inside_a_loop):
    rows, got = iter(range(100)), []
    source = wrap(failing_at(X, 10))

    async def consume():
        async for pair in model.predict_many_on_demand_async(source, rows, concurrency=3):
            got.append(pair)

    with pytest.raises(FetchError, match="line is dead") as caught:
        asyncio.run(consume()) if inside_a_loop else got.extend(
            model.predict_many_on_demand(source, rows, concurrency=3)
        )
    error = caught.value
    assert error.row == 10
    assert "row 10" in error.__notes__[0]
    assert [row for row, _ in got] == list(range(10))
    others = [row for row, _ in error.others]
    assert [*range(11), *others, next(rows)] == list(range(12 + len(others)))  # every row taken is accounted for
    for row, run in [*got, *error.others]:
        expected = steps(by_hand(model, X.iloc[row]))
        assert steps(run) in ([], expected)  # not begun, or finished
    finished = dict(error.others) | {10: error.run}
    for row, run in finished.items():
        model.predict_on_demand(lambda feature, row=row: X.iloc[row][feature], run=run)
        assert steps(run) == steps(by_hand(model, X.iloc[row]))


def test_rows_in_flight_go_on_to_their_ends_when_another_one_fails(model, X):
    begun = threading.Event()

    def source(row, feature):
        if row == 0:
            assert begun.wait(5)
            raise ConnectionError("line is dead")
        begun.set()
        return X.iloc[row][feature]

    with pytest.raises(FetchError) as caught:
        list(model.predict_many_on_demand(source, range(2), concurrency=2))
    ((row, run),) = caught.value.others
    assert (row, steps(run)) == (1, steps(by_hand(model, X.iloc[1])))


@pytest.mark.parametrize("inside_a_loop", [False, True])
def test_rows_that_break_off_are_handed_out_first(model, X, inside_a_loop):
    def rows():
        yield from range(5)
        raise ConnectionError("no more rows")

    got = []

    async def consume():
        async for pair in model.predict_many_on_demand_async(source, rows()):
            got.append(pair)

    def source(row, feature):
        return X.iloc[row][feature]

    with pytest.raises(ConnectionError, match="no more rows"):
        asyncio.run(consume()) if inside_a_loop else got.extend(model.predict_many_on_demand(source, rows()))
    assert [(row, run.is_over) for row, run in got] == [(row, True) for row in range(5)]


def test_a_row_with_unusable_known_values_fails_by_itself(model, X):
    known = {1: {"a": "text"}}
    results = model.predict_many_on_demand(lambda i, feature: X.iloc[i][feature], range(3), known=known.get)
    assert next(results)[0] == 0
    with pytest.raises(FetchError, match="What is known of this row cannot be used: ValueError: Feature 'a'") as caught:
        next(results)
    assert (caught.value.row, caught.value.feature) == (1, None)


@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_refused_rows_go_on(model, X, wrap):
    results = dict(model.predict_many_on_demand(wrap(failing_at(X, 2)), range(5), on_failure="refuse"))
    assert all(run.is_over for run in results.values())
    assert results[2].acquired == ()
    assert all(results[row].refused == () for row in (0, 1, 3, 4))


# ---- interruption


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
@pytest.mark.parametrize("timeout", [None, LONG])
def test_what_is_no_failure_passes_through_at_once(model, error, wrap, timeout):
    calls = []

    def source(*question):
        calls.append(question)
        raise error

    options = {"timeout": timeout, "retries": 5, "on_failure": "refuse"}
    with pytest.raises(error):
        model.predict_on_demand(wrap(source), **options)

    async def cell():
        model.predict_on_demand(wrap(source), **options)

    with pytest.raises(error):
        asyncio.run(cell())
    with pytest.raises(error):
        list(model.predict_many_on_demand(wrap(source), range(3), concurrency=1, **options))
    assert len(calls) == 3


def raised_by(call):
    """The type of an error, and nothing that holds on to its frames."""
    try:
        call()
    except BaseException as error:
        return type(error)


class Ending(BaseException):
    """No failure, and nothing that asyncio knows."""


@pytest.mark.parametrize(("raised", "heard"), [(GeneratorExit, FetchError), (Ending, Ending)])
@pytest.mark.parametrize("wrap", [lambda fetch: fetch, as_async], ids=["plain", "async"])
def test_odd_ends_of_several_rows_leave_no_complaints(model, caplog, wrap, raised, heard):
    def source(*question):
        raise raised

    async def first_row_last(row, feature):
        for _ in range(20 if row == 0 else 1):
            await asyncio.sleep(0)
        raise raised

    for call in (
        lambda: asyncio.run(collect(model.predict_many_on_demand_async(wrap(source), range(4), concurrency=4))),
        lambda: asyncio.run(collect(model.predict_many_on_demand_async(first_row_last, range(4), concurrency=4))),
        lambda: list(model.predict_many_on_demand(wrap(source), range(4), concurrency=4)),
        lambda: model.predict_on_demand(wrap(source)),
    ):
        assert raised_by(call) is heard
        gc.collect()  # asyncio complains when a task is forgotten
        assert caplog.text == ""


def test_a_call_that_is_closed_is_closed(model):
    async def hanging(feature):
        await asyncio.Event().wait()

    async def main():
        call = model.predict_on_demand_async(hanging, on_failure="refuse", retries=9)
        call.send(None)
        call.close()

    asyncio.run(main())


@pytest.fixture
def ctrl_c():
    """Interrupts are heard as usual, also where the runner of the tests ignores them."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("many", [False, True])
def test_an_interrupt_by_the_user_leaves_nothing_waiting(model, is_async, many, ctrl_c):
    cancelled = threading.Event()
    with never() as event:

        def interrupt():
            threading.Timer(0.01, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()

        def plain(*question):
            interrupt()
            event.wait()

        async def hanging(*question):
            interrupt()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        source = hanging if is_async else plain
        one, several = model.predict_on_demand, model.predict_many_on_demand
        with pytest.raises(KeyboardInterrupt):
            next(several(source, [0])) if many else one(source, timeout=LONG)
        assert cancelled.is_set() == is_async


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_cancelled_task_ends_at_once(model, is_async):
    async def main():
        asked, end = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        async def hanging(row, feature):
            asked.set()
            await asyncio.Event().wait()

        def plain(row, feature):
            loop.call_soon_threadsafe(asked.set)
            end.wait()

        source = hanging if is_async else plain
        for work in (
            model.predict_on_demand_async(partial(source, 0)),
            collect(model.predict_many_on_demand_async(source, range(20), concurrency=4)),
        ):
            asked.clear()
            task = asyncio.create_task(work)
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert asyncio.all_tasks() == {asyncio.current_task()}
        end.set()

    asyncio.run(main())


def test_leaving_early_cancels_the_rows_in_flight(model, X):
    n_open = Counter()

    async def source(row, feature):
        if row > 0:
            n_open["rows"] += 1
            try:
                await asyncio.Event().wait()
            finally:
                n_open["rows"] -= 1
        return X.iloc[row][feature]

    async def main():
        async with aclosing(model.predict_many_on_demand_async(source, itertools.count())) as results:
            async for _ in results:
                break
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    for _ in (results := model.predict_many_on_demand(source, itertools.count())):
        break
    results.close()
    assert n_open["rows"] == 0


# ---- the door


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "timeout=0 is no number of seconds above 0"),
        ({"timeout": {"a": "1"}}, "timeout='1'"),
        ({"timeout": {"z": 1}}, "There is no feature 'z'"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"retries": -1}, "retries=-1"),
        ({"retries": True}, "retries=True"),
        ({"retries": 1.0}, "retries=1.0"),
        ({"timeout": True}, "timeout=True"),
        ({"timeout": np.timedelta64(5, "s")}, "timeout="),
        ({"retries": {"z": 1}}, "There is no feature 'z'"),
        ({"backoff": -1}, "backoff=-1"),
        ({"backoff": float("inf")}, "backoff=inf"),
        ({"on_failure": "ignore"}, 'neither "raise" nor "refuse"'),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_asked(model, options, message):
    calls = []
    for call in (
        lambda: model.predict_on_demand(calls.append, **options),
        lambda: model.predict_many_on_demand(calls.append, [0], **options),
        lambda: model.predict_many_on_demand_async(calls.append, [0], **options),
        lambda: asyncio.run(model.predict_on_demand_async(calls.append, **options)),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert calls == []


def test_settings_may_be_numbers_of_numpy(model, X):
    row, some = X.iloc[0], {"retries": np.int64(1), "timeout": np.float32(30), "backoff": np.float64(0)}
    by_feature = {"retries": {"a": np.int8(1)}, "timeout": {"a": np.int64(30)}}
    for options in (some, by_feature):
        assert steps(model.predict_on_demand(row.get, **options)) == steps(by_hand(model, row))
    results = model.predict_many_on_demand(lambda i, feature: X.iloc[i][feature], range(3), concurrency=np.int64(2))
    assert [row for row, _ in results] == [0, 1, 2]


def test_a_row_of_a_frame_is_as_good_as_a_dict(model, X):
    row = X.iloc[0]
    assert model.predict_on_demand(print, known=row).known_before == tuple(X.columns)
    known = {0: row[["a", "b"]]}
    ((_, run),) = model.predict_many_on_demand(lambda i, feature: row[feature], [0], known=known.get)
    assert run.known_before == ("a", "b")
    calls = []

    def source(feature):
        calls.append(feature)
        return row

    assert steps(model.predict_on_demand(source)) == steps(by_hand(model, row))
    assert len(calls) == 1
    assert steps(model.predict_on_demand(calls.append, delivered=row)) == steps(by_hand(model, row))
    assert len(calls) == 1
    with pytest.raises(FetchError, match="gave values of 'x', but none of"):
        model.predict_on_demand(lambda feature: row[:1].set_axis(["x"]))


@pytest.mark.parametrize("value", [[1.0], np.array([1.0]), (1.0,)])
def test_several_values_without_names_are_refused_in_a_sentence(model, value):
    with pytest.raises(
        FetchError, match=rf"takes one value, but got a {type(value).__name__}: .*\. Give what is in it\."
    ):
        model.predict_on_demand(lambda feature: value)


@pytest.mark.parametrize("name", ["known", "delivered"])
@pytest.mark.parametrize("values", [[1], 5, "a", {"a"}])
def test_values_go_by_feature(model, name, values):
    calls = []
    with pytest.raises(
        TypeError, match=rf'{name} is .*; expected a dict of features and values, such as {{"age": 61}}'
    ):
        model.predict_on_demand(calls.append, **{name: values})
    assert calls == []


def test_a_run_is_a_run(model):
    for run in (5, model, "{}", model.start().to_json()):
        with pytest.raises(TypeError, match=r"run is .*; expected a run, that `start` or `resume` of this model gave"):
            model.predict_on_demand(print, run=run)


def test_wrong_arguments_are_refused_before_anything_is_asked(model, X):
    with pytest.raises(TypeError, match="fetch must be a function"):
        model.predict_on_demand({"a": 1})
    with pytest.raises(TypeError, match="fetch must be a function"):
        model.predict_many_on_demand({"a": 1}, [0])
    for concurrency in (0, 1.5, True):
        with pytest.raises(ValueError, match="concurrency="):
            model.predict_many_on_demand(print, [0], concurrency=concurrency)
    with pytest.raises(TypeError, match="of a dict give its `get`"):
        model.predict_many_on_demand(print, [0], known={0: {"a": 1}})
    with pytest.raises(ValueError, match="There is no feature 'z'"):
        model.predict_on_demand(print, known={"z": 1})
    other = Forest(3, random_state=1).fit(X, X["a"] > 14)
    with pytest.raises(ValueError, match="another model"):
        model.predict_on_demand(print, run=other.start())
