"""Threads that never hold anybody up: calls that may hang, and an event loop beside the caller's thread."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, NamedTuple, Self, TypeVar

T = TypeVar("T")

MOMENT = 0.2  # seconds. Python hears an interrupt while it waits for a lock on POSIX only; elsewhere, between two waits
FAREWELL = 1.0  # seconds: a cancelled source ends at once, and one that blocks its loop is not waited for


def result_within(future: Future[T], seconds: float | None = None) -> T:
    """The result of a future; TimeoutError if it is not there in time. Interrupts are heard while it waits."""
    end = float("inf") if seconds is None else time.monotonic() + seconds
    while not future.done():
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        wait([future], timeout=min(left, MOMENT))
    return future.result()


class _Job(NamedTuple):
    future: Future[Any]
    context: contextvars.Context
    call: Callable[[], Any]


class DaemonThreads:
    """Makes calls in threads that are used again when they are free.

    Unlike those of `concurrent.futures` they are daemons: one that hangs is left behind, and the program can end.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[_Job | None]] = []
        self._closed = False

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Make the call in a free thread, or in a new one, with the context variables of the caller."""
        future: Future[T] = Future()
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name="frugalforest call", daemon=True).start()
        inbox.put(_Job(future, contextvars.copy_context(), call))
        return future

    def close(self) -> None:
        """Free threads end now, busy ones after their call."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)

    def _serve(self, inbox: SimpleQueue[_Job | None]) -> None:
        while (job := inbox.get()) is not None:
            hand_over = _make(job)
            # Free before the result is known: whoever waits for it finds this thread, and needs no second one.
            goes_on = self._free(inbox)
            hand_over()
            del job, hand_over  # a value should not stay alive until the next call
            if not goes_on:
                return

    def _free(self, inbox: SimpleQueue[_Job | None]) -> bool:
        with self._lock:
            if not self._closed:
                self._idle.append(inbox)
            return not self._closed


def _make(job: _Job) -> Callable[[], None]:
    """Make the call; what is returned hands over its result."""
    if not job.future.set_running_or_notify_cancel():
        return lambda: None
    try:
        value = job.context.run(job.call)
    except BaseException as raised:
        error = raised  # the name after `as` is gone after its block
        return lambda: job.future.set_exception(error)
    return lambda: job.future.set_result(value)


class LoopThread:
    """An event loop in a daemon thread: it goes on while the caller does something else, or runs a loop of its own."""

    def __init__(self) -> None:
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=self._serve, name="frugalforest event loop", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop, self._end = self._started.result()
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel what is still running."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(FAREWELL)

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Begin an async function, with the context variables of the caller."""
        future: Future[T] = Future()
        asyncio.run_coroutine_threadsafe(_hand_over(work, future), self._loop)
        return future

    def _serve(self) -> None:
        asyncio.run(self._stay())

    async def _stay(self) -> None:
        end = asyncio.Event()
        self._started.set_result((asyncio.get_running_loop(), end))
        await end.wait()


async def _hand_over(work: Callable[[], Coroutine[Any, Any, T]], future: Future[T]) -> None:
    try:
        value = await work()
    except BaseException as error:  # KeyboardInterrupt and SystemExit too: left alone they would end the loop
        future.set_exception(error)
    else:
        future.set_result(value)
