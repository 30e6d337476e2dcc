"""Fetching: a run that asks a source for its features until it is over, with patience for sources that fail.

What to ask next, and what to make of an answer, is decided in one place, `_calls`, which neither waits nor calls
anything. Two short loops make the calls: one for plain functions, one for async ones.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from frugalforest.acquisition.fetch_error import FetchError, described
from frugalforest.acquisition.patience import OnFailure, Patience, Values
from frugalforest.acquisition.threads import DaemonThreads, LoopThread, result_within
from frugalforest.data.columns import Label

if TYPE_CHECKING:
    from frugalforest.acquisition.run import Acquisition


@dataclass(frozen=True)
class _Answer:
    value: Any = None
    error: Exception | None = None


@dataclass
class _Call:
    """One question to the source. Whoever asks it fills in the answer."""

    feature: Label
    pause: float  # seconds before it
    timeout: float | None
    answer: _Answer = field(init=False)


# ---- one row


def fetch_run(
    run: Acquisition,
    fetch: Callable[[Any], Any],
    patience: Patience,
    *,
    known: Values | None = None,
    delivered: Values | None = None,
) -> Acquisition:
    """Ask the source for what the run asks for, until it is over; the same run is returned.

    fetch(feature) gives the value, or a dict of several, the asked one among them; it may be an `async def`. known:
    values that are there already, free. delivered: values that lie ready, and are billed when the run asks for them.
    """
    ready = _prepare(run, fetch, patience, known, delivered)
    if is_async(fetch):
        return _wait_for(partial(_fetch_async, run, fetch, patience, ready))
    with closing(DaemonThreads()) as threads:
        for call in _calls(run, patience, ready):
            if call.pause > 0:  # sleeping for 0 seconds would hand the processor to others
                time.sleep(call.pause)
            call.answer = _ask(partial(fetch, call.feature), call.timeout, threads)
    return run


async def fetch_run_async(
    run: Acquisition,
    fetch: Callable[[Any], Any],
    patience: Patience,
    *,
    known: Values | None = None,
    delivered: Values | None = None,
) -> Acquisition:
    """`fetch_run` for those who have an event loop. A plain function is called in a thread beside it."""
    ready = _prepare(run, fetch, patience, known, delivered)
    return await _fetch_async(run, fetch, patience, ready)


async def _fetch_async(
    run: Acquisition, fetch: Callable[[Any], Any], patience: Patience, delivered: Values | None
) -> Acquisition:
    with closing(DaemonThreads()) as threads:
        await answer_calls(run, fetch, patience, threads, delivered)
    return run


async def answer_calls(
    run: Acquisition,
    fetch: Callable[[Any], Any],
    patience: Patience,
    threads: DaemonThreads,
    delivered: Values | None = None,
) -> None:
    """Bring a run to its end inside an event loop; plain functions are called in `threads`."""
    call_source = fetch if is_async(fetch) else partial(_call_beside, threads, fetch)
    for call in _calls(run, patience, delivered):
        await asyncio.sleep(call.pause)
        call.answer = await _ask_async(call_source, call.feature, call.timeout)


def _wait_for(work: Callable[[], Coroutine[Any, Any, Acquisition]]) -> Acquisition:
    """Run an async function to its end, also where an event loop is running already, as it is in notebooks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with LoopThread() as loop:
        return result_within(loop.submit(work))


# ---- what to ask


def _prepare(
    run: Acquisition, fetch: object, patience: Patience, known: Values | None, delivered: Values | None
) -> Values:
    """Everything checked, and the run told what is known; the values that lie ready."""
    check_source(fetch)
    patience.check_features(run)
    ready = _by_feature(delivered, "delivered")
    tell_known(run, known)
    return ready


def check_source(fetch: object) -> None:
    """Refuse what cannot be called."""
    if not callable(fetch):
        raise TypeError(f"fetch must be a function that takes a feature and gives its value, got {fetch!r}.")


def tell_known(run: Acquisition, known: Values | None) -> None:
    """Tell the run what is known already."""
    for feature, value in _by_feature(known, "known").items():
        run.provide(feature, value, free=True)


def _by_feature(values: Any, name: str) -> Values:
    """Values by feature: a dict, or a row of a frame."""
    found = {} if values is None else as_mapping(values)
    if found is None:
        raise TypeError(f'{name} is {values!r:.60}; expected a dict of features and values, such as {{"age": 61}}.')
    return found


def as_mapping(values: Any) -> Values | None:
    """A mapping as it is, a Series by its index; None for anything else."""
    if isinstance(values, Mapping):
        return values
    return dict(values.items()) if hasattr(values, "keys") and hasattr(values, "items") else None


def _calls(run: Acquisition, patience: Patience, delivered: Values | None) -> Iterator[_Call]:
    """The questions of a run, one after the other; each has its answer when the next one is wanted."""
    at_hand = dict(delivered or {})
    goes_without = False  # whether the model is known to answer also if features cannot be had
    while (feature := run.next_feature()) is not None:
        # A delivered value that cannot be read is forgotten, and the source asked for it.
        if feature in at_hand and _problem(run, feature, at_hand.pop(feature)) is None:
            continue
        cause: Exception | None = None
        n_attempts = 0
        for pause in patience.pauses(feature):
            yield (call := _Call(feature, pause, patience.timeout_of(feature)))
            n_attempts += 1
            cause = _take(run, call, at_hand)
            if cause is None:
                break
        if cause is not None:
            lacking = None if goes_without else _why_it_is_needed(run, feature)
            goes_without = lacking is None
            _fail(run, feature, cause, lacking, n_attempts, patience.on_failure, at_hand)


def _take(run: Acquisition, call: _Call, at_hand: dict[Any, Any]) -> Exception | None:
    """Give the run the value it asked for, and keep what came with it; what was wrong, if anything."""
    feature, value = call.feature, call.answer.value
    if call.answer.error is not None:
        return call.answer.error
    several = as_mapping(value)
    if several is None:
        return _problem(run, feature, value)
    if feature not in several:
        return ValueError(f"fetch({feature!r}) gave values of {_some(several)}, but none of {feature!r}")
    at_hand |= {other: several[other] for other in several if other != feature}
    return _problem(run, feature, several[feature])


def _problem(run: Acquisition, feature: Label, value: Any) -> Exception | None:
    """Buy a feature; what was wrong with its value, if anything: the run is as it was then."""
    try:
        run.provide(feature, value)
    except Exception as error:  # of whatever kind: it must not lose what was bought
        return error
    return None


def _fail(
    run: Acquisition,
    feature: Label,
    cause: Exception,
    lacking: Exception | None,  # why the model cannot do without the feature
    n_attempts: int,
    on_failure: OnFailure,
    at_hand: dict[Any, Any],
) -> None:
    """Go on without a feature where that is wished and possible; otherwise tell, and hand over what was bought."""
    reason = described(cause) + ("" if n_attempts == 1 else f" ({n_attempts} attempts)")
    if on_failure == "refuse" and lacking is None:
        lacking = _refusal_problem(run, feature, reason)
        if lacking is None:
            return
    way_out = (
        'which can go on from there; on_failure="refuse" goes on without the feature.'
        if lacking is None
        else "which can go on from there once there is a value: this model cannot do without it."
    )
    message = (
        f"No value of {feature!r} from fetch: {reason}. What was bought before is in the attribute `run` of this "
        f"error, {way_out}"
    )
    error = FetchError(message, feature, cause, run)
    error.delivered = at_hand
    raise error from cause


def _refusal_problem(run: Acquisition, feature: Label, note: str) -> Exception | None:
    """Refuse a feature; what the model has against it, if anything: the run is as it was then."""
    try:
        run.refuse(feature, note=note)
    except Exception as error:
        return error
    return None


def _why_it_is_needed(run: Acquisition, feature: Label) -> Exception | None:
    """What the model says if a feature, and all that it asks for after that, cannot be had; None if it gives an answer.

    Tried with a copy, to the end: some models find out when their last feature has come, and has been paid.
    """
    trial = copy(run)
    try:
        trial.refuse(feature)
        while (other := trial.next_feature()) is not None:
            trial.refuse(other)
    except Exception as error:
        return error
    return None


# ---- how to ask


def is_async(fetch: Callable[..., Any]) -> bool:
    """Whether a source is an `async def`, or an object whose `__call__` is."""
    while isinstance(fetch, partial):
        fetch = fetch.func
    return inspect.iscoroutinefunction(fetch) or inspect.iscoroutinefunction(type(fetch).__call__)


def _ask(source: Callable[[], Any], timeout: float | None, threads: DaemonThreads) -> _Answer:
    """Call a plain function: here, or in a thread that can be left behind if there is a limit."""
    ask = partial(_answer_of, source)
    if timeout is None:
        answer = ask()
    else:
        try:
            answer = result_within(threads.submit(ask), timeout)
        except TimeoutError:
            return _Answer(error=_too_late(timeout))
    _refuse_awaitable(answer.value)
    return answer


def _answer_of(source: Callable[[], Any]) -> _Answer:
    try:
        return _Answer(source())
    except GeneratorExit:
        return _Answer(error=_ended())
    except Exception as error:
        return _Answer(error=error)


async def _ask_async(source: Callable[[Any], Awaitable[Any]], feature: Label, timeout: float | None) -> _Answer:
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return _Answer(await source(feature))
    except GeneratorExit as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is None:  # it is this call that is being closed
            raise
        return _Answer(error=_ended())
    except Exception as error:
        return _Answer(error=_too_late(timeout) if limit.expired() else error)


async def _call_beside(threads: DaemonThreads, fetch: Callable[[Any], Any], feature: Label) -> Any:
    """Call a plain function in a thread; if what it gives is awaitable after all, wait for it here."""
    answer = await asyncio.wrap_future(threads.submit(partial(_answer_of, partial(fetch, feature))))
    if answer.error is not None:
        raise answer.error
    return await answer.value if inspect.isawaitable(answer.value) else answer.value


def _ended() -> RuntimeError:
    """In place of a GeneratorExit that a source lets out, which would close whatever waits for it in an event loop."""
    return RuntimeError("fetch raised GeneratorExit")


def _too_late(timeout: float | None) -> TimeoutError:
    return TimeoutError(f"no answer within {timeout:g} s")


def _refuse_awaitable(value: object) -> None:
    if not inspect.isawaitable(value):
        return
    if inspect.iscoroutine(value):
        value.close()  # it is never going to be awaited, and Python would warn of that
    raise TypeError(
        "fetch is a plain function, but gave something to be awaited. Write it as `async def fetch(feature)` with "
        "an `await` in it, or call the method whose name ends in `_async`."
    )


def _some(value: Values) -> str:
    names = [repr(name) for name in value]
    return (", ".join(names[:5]) + (" and others" if len(names) > 5 else "")) or "nothing"
