"""What a model offers to those who have a source of values: predictions that fetch what they need, and pay for it."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, TypeVar

from frugalforest.acquisition.fetch import fetch_run, fetch_run_async
from frugalforest.acquisition.fetch_rows import fetch_rows, fetch_rows_async
from frugalforest.acquisition.patience import OnFailure, Patience, Values
from frugalforest.acquisition.run import Acquisition
from frugalforest.acquisition.run_base import RunBase
from frugalforest.acquisition.run_json import refuse_other_model

Row = TypeVar("Row")


class FetchMixin(metaclass=ABCMeta):
    """Asks for `start`, and gives predictions on demand, of one row or of many, in plain code or in an event loop."""

    @abstractmethod
    def start(self) -> Acquisition:
        """A run for one row."""

    def predict_on_demand(
        self,
        fetch: Callable[[Any], Any],
        *,
        known: Values | None = None,
        timeout: float | Values | None = None,
        retries: int | Values = 0,
        backoff: float = 0.0,
        on_failure: OnFailure = "raise",
        run: Acquisition | None = None,
        delivered: Values | None = None,
    ) -> Acquisition:
        """Predict one row, fetching only what is needed; returns the finished run.

        Parameters
        ----------
        fetch : callable
            fetch(feature) gives the value of a feature, or a dict of several, the asked one among them: the others are
            kept, and billed only when the run asks for them. An `async def` is run in an event loop of its own.
        known : dict or Series, default=None
            Values that are there already, and free.
        timeout : float or dict, default=None
            Seconds to wait for an answer; a dict gives it for some features. None: no limit. A plain function is called
            in a worker thread then, and left behind if it hangs.
        retries : int or dict, default=0
            How often to ask again after a failure; a dict gives it for some features.
        backoff : float, default=0
            Seconds before the first retry; doubled before each further one.
        on_failure : {"raise", "refuse"}, default="raise"
            When the last attempt has failed, or its value cannot be read: raise FetchError, which holds the run, or go
            on without the feature; the receipt says why. FetchError is raised, too, if the model cannot do without.
        run : Acquisition, default=None
            A run of this model to go on with; None: a new one.
        delivered : dict or Series, default=None
            Values that lie ready, and are billed when the run asks for them, such as those that FetchError holds.
        """
        patience = Patience(timeout, retries, backoff, on_failure)
        return fetch_run(self._run_of(run), fetch, patience, known=known, delivered=delivered)

    async def predict_on_demand_async(
        self,
        fetch: Callable[[Any], Any],
        *,
        known: Values | None = None,
        timeout: float | Values | None = None,
        retries: int | Values = 0,
        backoff: float = 0.0,
        on_failure: OnFailure = "raise",
        run: Acquisition | None = None,
        delivered: Values | None = None,
    ) -> Acquisition:
        """`predict_on_demand` inside a running event loop; a plain function is called in a thread beside it."""
        patience = Patience(timeout, retries, backoff, on_failure)
        return await fetch_run_async(self._run_of(run), fetch, patience, known=known, delivered=delivered)

    def predict_many_on_demand(
        self,
        fetch: Callable[[Row, Any], Any],
        rows: Iterable[Row],
        *,
        concurrency: int = 8,
        known: Callable[[Row], Values | None] | None = None,
        timeout: float | Values | None = None,
        retries: int | Values = 0,
        backoff: float = 0.0,
        on_failure: OnFailure = "raise",
    ) -> Iterator[tuple[Row, Acquisition]]:
        """Predict many rows, several of them in flight: gives pairs (row, finished run) in the order of the rows.

        Parameters
        ----------
        fetch : callable
            fetch(row, feature) gives a value, or a dict of several, as in `predict_on_demand`. It is called in other
            threads; an `async def` in an event loop there.
        rows : iterable
            What `fetch` knows each row by. Taken as needed: it may be endless.
        concurrency : int, default=8
            How many rows ask at the same time.
        known : callable, default=None
            known(row) gives a dict of the values of that row that are there already, and free, or None.
        timeout, retries, backoff, on_failure :
            As in `predict_on_demand`. When FetchError is raised, no further rows are begun; rows in flight go on to
            their ends first, and the error's `others` holds them.
        """
        patience = Patience(timeout, retries, backoff, on_failure)
        return fetch_rows(self.start, fetch, rows, patience, known=known, concurrency=concurrency)

    def predict_many_on_demand_async(
        self,
        fetch: Callable[[Row, Any], Any],
        rows: Iterable[Row],
        *,
        concurrency: int = 8,
        known: Callable[[Row], Values | None] | None = None,
        timeout: float | Values | None = None,
        retries: int | Values = 0,
        backoff: float = 0.0,
        on_failure: OnFailure = "raise",
    ) -> AsyncIterator[tuple[Row, Acquisition]]:
        """`predict_many_on_demand` inside a running event loop: `async for row, run in ...`."""
        patience = Patience(timeout, retries, backoff, on_failure)
        return fetch_rows_async(self.start, fetch, rows, patience, known=known, concurrency=concurrency)

    def _run_of(self, run: Acquisition | None) -> Acquisition:
        """The run to go on with, which has to be one of this model."""
        started = self.start()
        if run is None:
            return started
        if not isinstance(run, RunBase):
            raise TypeError(f"run is {run!r:.60}; expected a run, that `start` or `resume` of this model gave.")
        if run._acquirer is not started._acquirer:
            refuse_other_model(run._marks, started._marks, "go on with that one")
        return run
