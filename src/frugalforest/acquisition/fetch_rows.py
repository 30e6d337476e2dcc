"""Fetching for several rows at once: some in flight, results in the order of the rows, memory bounded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from frugalforest.acquisition.fetch import answer_calls, check_source, tell_known
from frugalforest.acquisition.fetch_error import FetchError, described
from frugalforest.acquisition.patience import Patience, Values
from frugalforest.acquisition.run import Acquisition
from frugalforest.acquisition.scalars import as_whole
from frugalforest.acquisition.threads import DaemonThreads, LoopThread, result_within

Row = TypeVar("Row")

AHEAD = 4  # times `concurrency`: rows taken before the first of them is handed out. A slow row stalls the others later

_THE_END = object()


@dataclass
class _Ticket(Generic[Row]):
    """A row that was taken, and what became of it."""

    row: Row
    run: Acquisition
    error: FetchError | None = None
    done: Any = field(init=False)  # the future, or the task, that brings the run to its end


@dataclass
class _Batch(Generic[Row]):
    """The rows between being taken and being handed out. `begin` sets one going, wherever its event loop is."""

    start: Callable[[], Acquisition]
    fetch: Callable[[Row, Any], Any]
    rows: Iterator[Row]
    known: Callable[[Row], Values | None] | None
    patience: Patience
    concurrency: int
    threads: DaemonThreads = field(default_factory=DaemonThreads)
    taken: deque[_Ticket[Row]] = field(default_factory=deque)
    failed: bool = False  # a row has: no further ones are begun
    trouble: Exception | None = None  # with taking rows

    def __post_init__(self) -> None:
        self.slots = asyncio.Semaphore(self.concurrency)

    def take_rows(self, begin: Callable[[Callable[[], Coroutine[Any, Any, None]]], Any]) -> None:
        """Take further rows while there is room, unless something has failed."""
        while len(self.taken) < AHEAD * self.concurrency and not self.failed:
            row = self.next_row()
            if row is _THE_END:
                return
            ticket = _Ticket(row, self.start())
            ticket.done = begin(partial(self.finish, ticket))
            self.taken.append(ticket)

    def next_row(self) -> Any:
        """A row, or the end of them. If taking one fails, the rows in flight come first: they have cost something."""
        try:
            return _THE_END if self.trouble is not None else next(self.rows, _THE_END)
        except Exception as error:
            self.trouble = error
            return _THE_END

    async def finish(self, ticket: _Ticket[Row]) -> None:
        """Bring one row to its end as soon as there is a slot for it."""
        async with self.slots:
            if self.failed:
                return
            try:
                self.tell_known(ticket)
                await answer_calls(ticket.run, partial(self.fetch, ticket.row), self.patience, self.threads)
            except BaseException as error:
                self.failed = True
                if not isinstance(error, FetchError):
                    raise
                ticket.error = error

    def tell_known(self, ticket: _Ticket[Row]) -> None:
        """What is known of a row; an error here is that of the row, and must not lose what others have bought."""
        try:
            tell_known(ticket.run, self.known(ticket.row) if self.known is not None else None)
        except Exception as error:
            message = f"What is known of this row cannot be used: {described(error)}."
            raise FetchError(message, None, error, ticket.run) from error

    def failure(self, ticket: _Ticket[Row], error: FetchError) -> FetchError:
        """The error of a row, with all that the rows after it have bought."""
        error.row = ticket.row
        error.others = tuple((other.row, other.run) for other in self.taken)
        error.add_note(f"This was row {ticket.row!r}; see `others` for those that were taken after it.")
        return error

    def end(self) -> None:
        """All rows are handed out: the time to say if taking them went wrong."""
        if self.trouble is not None:
            raise self.trouble


def fetch_rows(
    start: Callable[[], Acquisition],
    fetch: Callable[[Row, Any], Any],
    rows: Iterable[Row],
    patience: Patience,
    *,
    known: Callable[[Row], Values | None] | None = None,
    concurrency: int = 8,
) -> Iterator[tuple[Row, Acquisition]]:
    """Each row with its finished run, in the order of the rows; at most `concurrency` of them ask at the same time.

    fetch(row, feature) gives a value, or a dict of several. It is called in other threads, an `async def` in that of
    an event loop beside the caller. known(row): values that are there already, free.

    If a row fails no further ones are begun. Those in flight go on to their ends, those before it are handed out, then
    FetchError is raised, whose `others` holds the rows taken after it with their runs.
    """
    return _in_order(_batch(start, fetch, rows, known, patience, concurrency))


def _in_order(batch: _Batch[Row]) -> Iterator[tuple[Row, Acquisition]]:
    with closing(batch.threads), LoopThread() as loop:
        batch.take_rows(loop.submit)
        while batch.taken:
            ticket = batch.taken.popleft()
            result_within(ticket.done)
            if ticket.error is not None:
                for other in batch.taken:
                    result_within(other.done)
                raise batch.failure(ticket, ticket.error)
            yield ticket.row, ticket.run
            batch.take_rows(loop.submit)
    batch.end()


def fetch_rows_async(
    start: Callable[[], Acquisition],
    fetch: Callable[[Row, Any], Any],
    rows: Iterable[Row],
    patience: Patience,
    *,
    known: Callable[[Row], Values | None] | None = None,
    concurrency: int = 8,
) -> AsyncIterator[tuple[Row, Acquisition]]:
    """`fetch_rows` for those who have an event loop: `async for row, run in ...`."""
    return _in_order_async(_batch(start, fetch, rows, known, patience, concurrency))


async def _in_order_async(batch: _Batch[Row]) -> AsyncIterator[tuple[Row, Acquisition]]:
    begun: set[asyncio.Task[None]] = set()

    def begin(work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        task = asyncio.create_task(work())
        begun.add(task)
        task.add_done_callback(begun.discard)
        task.add_done_callback(_hear)
        return task

    try:
        batch.take_rows(begin)
        while batch.taken:
            ticket = batch.taken.popleft()
            await ticket.done
            if ticket.error is not None:
                await asyncio.gather(*(other.done for other in batch.taken))
                raise batch.failure(ticket, ticket.error)
            yield ticket.row, ticket.run
            batch.take_rows(begin)
        batch.end()
    finally:
        batch.threads.close()
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)


def _hear(task: asyncio.Task[None]) -> None:
    """Rows that are not waited for any more may fail as well, which asyncio would complain about on stderr."""
    if not task.cancelled():
        task.exception()


def _batch(
    start: Callable[[], Acquisition],
    fetch: Callable[[Row, Any], Any],
    rows: Iterable[Row],
    known: Callable[[Row], Values | None] | None,
    patience: Patience,
    concurrency: int,
) -> _Batch[Row]:
    """Everything checked, before anything is asked."""
    check_source(fetch)
    at_once = as_whole(concurrency)
    if at_once is None or at_once < 1:
        raise ValueError(f"concurrency={concurrency!r:.60} is no whole number of at least 1.")
    if known is not None and not callable(known):
        raise TypeError("known must be a function from a row to what is known of it; of a dict give its `get`.")
    patience.check_features(start())
    return _Batch(start, fetch, iter(rows), known, patience, at_once)
