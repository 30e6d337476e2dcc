"""Runs as text: what `run.to_json()` writes and `model.resume(text)` reads, for runs that wait for days."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Number
from typing import Any

import numpy as np

from frugalforest.acquisition.receipt import Step
from frugalforest.acquisition.stopping import StopRule

JSON_NAME, JSON_VERSION = "frugalforest run", 1
MAX_JSON = 10_000_000  # characters
INFINITY = "infinity"  # JSON has no word for it
WRONG = "This is not a run that frugalforest wrote"


def write_run(fingerprint: str, stop: dict[str, Any], steps: Iterable[Step]) -> str:
    """A run as text; fingerprint: of the model, with its prices."""
    return json.dumps(
        {
            "format": JSON_NAME,
            "version": JSON_VERSION,
            "model": fingerprint,
            "stop": stop,
            "steps": [
                {"feature": step.feature, "how": step.how, "value": _for_json(step.value), "note": step.note}
                for step in steps
            ],
        }
    )


def read_run(text: str, fingerprint: str) -> dict[str, Any]:
    """What `write_run` wrote of a run of this very model: "stop" is a dict, "steps" a list of dicts."""
    if len(text) > MAX_JSON:
        raise ValueError(f"{WRONG}: it is longer than {MAX_JSON:,} characters.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise ValueError(f"{WRONG}: {error}.") from None
    if not isinstance(content, dict) or content.get("format") != JSON_NAME:
        raise ValueError(f"{WRONG}.")
    if content.get("version") != JSON_VERSION:
        raise ValueError(f"{WRONG} in a version known here: update frugalforest.")
    if not {"model", "stop", "steps"} <= content.keys() or not isinstance(content["steps"], list):
        raise ValueError(f"{WRONG}: something is left out.")
    if not isinstance(content["stop"], dict) or not all(isinstance(step, dict) for step in content["steps"]):
        raise ValueError(f"{WRONG}: something is of the wrong kind.")
    if content["model"] != fingerprint:
        raise ValueError("This run was started by another model, or with other prices: resume it with that one.")
    return content


@contextmanager
def misfits_refused() -> Iterator[None]:
    """Parts that are lacking, or of a type that nothing can be done with, are told as a text that is wrong."""
    try:
        yield
    except (TypeError, KeyError) as error:
        raise ValueError(f"{WRONG}: {error}.") from error


def stop_for_json(rule: StopRule) -> dict[str, Any]:
    """A stop rule as a dict that JSON can hold."""
    limits = {"confidence": rule.confidence, "budget": rule.budget}
    return {"name": rule.name} | {name: INFINITY if limit == np.inf else limit for name, limit in limits.items()}


def stop_from_json(stop: dict[str, Any]) -> StopRule:
    """The rule that `stop_for_json` was given."""
    limits = {name: np.inf if stop[name] == INFINITY else stop[name] for name in ("confidence", "budget")}
    return StopRule(stop["name"], **limits)


def _for_json(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Number | np.ndarray):  # Decimal, Fraction, an array of one number
        return float(value)  # type: ignore[arg-type]
    return str(value)  # dates and intervals are categories by their text
