"""Patience: how long to wait for a source, how often to ask again, and what to do when it was in vain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from frugalforest.acquisition.scalars import as_float, as_whole
from frugalforest.data.columns import Label

if TYPE_CHECKING:
    from frugalforest.acquisition.run import Acquisition

MOST_DOUBLINGS = 1000  # of a pause; a float has room for a few more

OnFailure = Literal["raise", "refuse"]
Values = Mapping[Any, Any]  # by feature


@dataclass(frozen=True)
class Patience:
    """How long to wait for a source, how often to ask again, and what to do when it was in vain."""

    timeout: float | Values | None = None  # seconds for one answer, or a dict of some features; None: no limit
    retries: int | Values = 0  # further attempts, or a dict of some features
    backoff: float = 0.0  # seconds before the first further attempt, twice as long before each one after it
    on_failure: OnFailure = "raise"

    def __post_init__(self) -> None:
        for seconds in _numbers(self.timeout):
            if seconds is not None and not (as_float(seconds) or 0) > 0:
                raise ValueError(f"timeout={seconds!r:.60} is no number of seconds above 0; None is no limit.")
        for times in _numbers(self.retries):
            if (whole := as_whole(times)) is None or whole < 0:
                raise ValueError(f"retries={times!r:.60} is no whole number of at least 0.")
        if (pause := as_float(self.backoff)) is None or not 0 <= pause < math.inf:
            raise ValueError(f"backoff={self.backoff!r:.60} is no number of seconds of at least 0.")
        if self.on_failure not in get_args(OnFailure):
            raise ValueError(f'on_failure={self.on_failure!r:.60} is neither "raise" nor "refuse".')

    def check_features(self, run: Acquisition) -> None:
        """Refuse limits for features that the model does not know."""
        for setting in (self.timeout, self.retries):
            for feature in setting if isinstance(setting, Mapping) else ():
                run.price(feature)  # refuses an unknown one by name

    def timeout_of(self, feature: Label) -> float | None:
        """Seconds to wait for an answer; None: as long as it takes."""
        return as_float(_setting(self.timeout, feature, None))

    def pauses(self, feature: Label) -> Iterator[float]:
        """For each attempt, how long to wait before it."""
        yield 0.0
        for attempt in range(int(_setting(self.retries, feature, 0))):
            yield float(self.backoff) * 2.0 ** min(attempt, MOST_DOUBLINGS)


def _numbers(setting: Any) -> Iterable[Any]:
    return setting.values() if isinstance(setting, Mapping) else (setting,)


def _setting(setting: Any, feature: Label, default: Any) -> Any:
    """Of a number for all features, or of a dict for some."""
    return setting.get(feature, default) if isinstance(setting, Mapping) else setting
