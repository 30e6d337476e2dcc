"""Fetching: a run that asks a source for its features until it is over, with patience for sources that fail.

What to ask next, and what to make of an answer, is decided in one place, `_calls`, which neither waits nor calls
anything. Two short loops make the calls: one for plain functions, one for async ones.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from frugalforest.acquisition.threads import DaemonThreads, LoopThread, result_within
from frugalforest.data.columns import Label

if TYPE_CHECKING:
    from frugalforest.acquisition.run import Acquisition

OnFailure = Literal["raise", "refuse"]
Values = Mapping[Any, Any]  # by feature


class FetchError(RuntimeError):
    """A source gave no usable value. Nothing that was bought is lost: it is in `run`, which can go on from there."""

    feature: Label | None  # None: what was said to be known of the row cannot be used
    cause: Exception  # of the last attempt
    run: Acquisition
    delivered: dict[Any, Any]  # values that came with others, and were not asked for yet
    row: Any  # of several rows, the one that failed
    others: tuple[tuple[Any, Acquisition], ...]  # the rows taken after it, each with its run as far as it came

    def __init__(self, message: str, feature: Label | None, cause: Exception, run: Acquisition) -> None:
        super().__init__(message)
        self.feature, self.cause, self.run = feature, cause, run
        self.delivered, self.row, self.others = {}, None, ()


@dataclass(frozen=True)
class Patience:
    """How long to wait for a source, how often to ask again, and what to do when it was in vain."""

    timeout: float | Values | None = None  # seconds for one answer, or a dict of some features; None: no limit
    retries: int | Values = 0  # further attempts, or a dict of some features
    backoff: float = 0.0  # seconds before the first further attempt, twice as long before each one after it
    on_failure: OnFailure = "raise"

    def __post_init__(self) -> None:
        for seconds in _numbers(self.timeout):
            if seconds is not None and not (_is_real(seconds) and seconds > 0):
                raise ValueError(f"timeout={seconds!r} is no number of seconds above 0; None is no limit.")
        for times in _numbers(self.retries):
            if not isinstance(times, int) or isinstance(times, bool) or times < 0:
                raise ValueError(f"retries={times!r} is no whole number of at least 0.")
        if not (_is_real(self.backoff) and 0 <= self.backoff < math.inf):
            raise ValueError(f"backoff={self.backoff!r} is no number of seconds of at least 0.")
        if self.on_failure not in get_args(OnFailure):
            raise ValueError(f'on_failure={self.on_failure!r} is neither "raise" nor "refuse".')

    def check_features(self, run: Acquisition) -> None:
        """Refuse limits for features that the model does not know."""
        for setting in (self.timeout, self.retries):
            for feature in setting if isinstance(setting, Mapping) else ():
                run.price(feature)  # refuses an unknown one by name

    def timeout_of(self, feature: Label) -> float | None:
        """Seconds to wait for an answer; None: as long as it takes."""
        seconds: float | None = _setting(self.timeout, feature, None)
        return seconds

    def pauses(self, feature: Label) -> Iterator[float]:
        """For each attempt, how long to wait before it."""
        yield 0.0
        for attempt in range(_setting(self.retries, feature, 0)):
            yield self.backoff * 2**attempt


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
    _prepare(run, fetch, patience, known)
    if is_async(fetch):
        return _wait_for(partial(_fetch_async, run, fetch, patience, delivered))
    with closing(DaemonThreads()) as threads:
        for call in _calls(run, patience, delivered):
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
    _prepare(run, fetch, patience, known)
    return await _fetch_async(run, fetch, patience, delivered)


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


def _prepare(run: Acquisition, fetch: object, patience: Patience, known: Values | None) -> None:
    check_source(fetch)
    patience.check_features(run)
    tell_known(run, known)


def check_source(fetch: object) -> None:
    """Refuse what cannot be called."""
    if not callable(fetch):
        raise TypeError(f"fetch must be a function that takes a feature and gives its value, got {fetch!r}.")


def tell_known(run: Acquisition, known: Values | None) -> None:
    """Tell the run what is known already."""
    for feature, value in (known or {}).items():
        run.provide(feature, value, free=True)


def _calls(run: Acquisition, patience: Patience, delivered: Values | None) -> Iterator[_Call]:
    """The questions of a run, one after the other; each has its answer when the next one is wanted."""
    at_hand = dict(delivered or {})
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
            _fail(run, feature, cause, n_attempts, patience.on_failure, at_hand)


def _take(run: Acquisition, call: _Call, at_hand: dict[Any, Any]) -> Exception | None:
    """Give the run the value it asked for, and keep what came with it; what was wrong, if anything."""
    feature, value = call.feature, call.answer.value
    if call.answer.error is not None:
        return call.answer.error
    if not isinstance(value, Mapping):
        return _problem(run, feature, value)
    if feature not in value:
        return ValueError(f"fetch({feature!r}) gave values of {_some(value)}, but none of {feature!r}")
    at_hand |= {other: value[other] for other in value if other != feature}
    return _problem(run, feature, value[feature])


def _problem(run: Acquisition, feature: Label, value: Any) -> Exception | None:
    """Buy a feature; what was wrong with its value, if anything: the run is as it was then."""
    try:
        run.provide(feature, value)
    except (TypeError, ValueError) as error:
        return error
    return None


def _fail(
    run: Acquisition,
    feature: Label,
    cause: Exception,
    n_attempts: int,
    on_failure: OnFailure,
    at_hand: dict[Any, Any],
) -> None:
    reason = described(cause) + ("" if n_attempts == 1 else f" ({n_attempts} attempts)")
    if on_failure == "refuse":
        run.refuse(feature, note=reason)
        return
    message = (
        f"No value of {feature!r} from fetch: {reason}. What was bought before is in the attribute `run` of this "
        'error, which can go on from there; on_failure="refuse" goes on without the feature.'
    )
    error = FetchError(message, feature, cause, run)
    error.delivered = at_hand
    raise error from cause


def described(error: Exception) -> str:
    """An error as part of a sentence."""
    said = str(error).rstrip(".")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


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
    except Exception as error:
        return _Answer(error=error)


async def _ask_async(source: Callable[[Any], Awaitable[Any]], feature: Label, timeout: float | None) -> _Answer:
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return _Answer(await source(feature))
    except Exception as error:
        return _Answer(error=_too_late(timeout) if limit.expired() else error)


async def _call_beside(threads: DaemonThreads, fetch: Callable[[Any], Any], feature: Label) -> Any:
    """Call a plain function in a thread; if what it gives is awaitable after all, wait for it here."""
    answer = await asyncio.wrap_future(threads.submit(partial(_answer_of, partial(fetch, feature))))
    if answer.error is not None:
        raise answer.error
    return await answer.value if inspect.isawaitable(answer.value) else answer.value


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


# ---- settings


def _numbers(setting: Any) -> Iterable[Any]:
    return setting.values() if isinstance(setting, Mapping) else (setting,)


def _is_real(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and not math.isnan(number)


def _setting(setting: Any, feature: Label, default: Any) -> Any:
    """Of a number for all features, or of a dict for some."""
    return setting.get(feature, default) if isinstance(setting, Mapping) else setting


def _some(value: Values) -> str:
    names = [repr(name) for name in value]
    return (", ".join(names[:5]) + (" and others" if len(names) > 5 else "")) or "nothing"
