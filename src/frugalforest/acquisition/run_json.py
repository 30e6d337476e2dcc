"""Runs as text: what `run.to_json()` writes and `model.resume(text)` reads, for runs that wait for days."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from numbers import Number
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from frugalforest.acquisition.fingerprint import fingerprint_of
from frugalforest.acquisition.receipt import Step
from frugalforest.acquisition.stopping import StopRule
from frugalforest.data import FeatureEncoder

JSON_NAME = "frugalforest run"
JSON_VERSION = 2  # 1 had no marks of features and order, and fingerprints that left out names and categories
MAX_JSON = 10_000_000  # characters
MAX_NOTE = 1000  # characters, of which a text has six for each at worst
MAX_TEXT = 10_000  # characters of a value that is no category of the model
INFINITY = "infinity"  # JSON has no word for it
WRONG = "This is not a run that frugalforest wrote"

STEP_PARTS = {"feature", "how", "value"}


class Marked(Protocol):
    """What a run is of. Those that were marked otherwise in version 1 say so in `earlier_fingerprints`."""

    @property
    def fingerprint(self) -> str:
        """A short text that tells this model and price list from others."""


# ---- which model a run is of


def marks_of(model: Marked, encoder: FeatureEncoder, classes: NDArray[Any] | None) -> dict[str, Any]:
    """What tells runs of this model from those of others, for JSON; some models have an `order` of buying."""
    order = getattr(model, "order", None)
    marks: dict[str, Any] = {
        "model": model.fingerprint,
        "features": fingerprint_of(encoder, None if classes is None else classes.tolist()),
    }
    return marks if order is None else marks | {"order": asdict(order)}


def refuse_other_model(found: Mapping[str, Any], own: Mapping[str, Any], way_out: str) -> None:
    """Say what is different about the model that a run was started by; way_out: what to do with the run."""
    if found["features"] != own["features"]:
        raise ValueError(
            f"This run was started by another model, with other features, categories or classes: {way_out}."
        )
    if found["model"] != own["model"]:
        raise ValueError(f"This run was started by another model, or with other prices: {way_out}.")
    if "order" in own:
        _refuse_other_order(found.get("order"), own["order"])


def _refuse_other_order(was: Any, now: dict[str, Any]) -> None:
    if not isinstance(was, dict) or was.keys() != now.keys():
        raise ValueError(f"{WRONG}: its order of buying is none.")
    told = [f"{name}={was[name]!r:.60} instead of {now[name]!r:.60}" for name in now if was[name] != now[name]]
    if told:
        raise ValueError(
            f"This run was started with another order of buying, {_listed(told)}: give the model that order."
        )


# ---- texts


def write_run(marks: Mapping[str, Any], stop: dict[str, Any], steps: Iterable[Step]) -> str:
    """A run as text; marks: of its model."""
    return json.dumps(
        {
            "format": JSON_NAME,
            "version": JSON_VERSION,
            **marks,
            "stop": stop,
            "steps": [
                {"feature": step.feature, "how": step.how, "value": _for_json(step.value), "note": step.note}
                for step in steps
            ],
        }
    )


def read_run(text: str, model: Marked, marks: Mapping[str, Any]) -> dict[str, Any]:
    """What `write_run` wrote of a run of this very model: "stop" is a dict, "steps" a list of steps as dicts."""
    content = _parsed(text)
    if not isinstance(content, dict) or content.get("format") != JSON_NAME:
        raise ValueError(f"{WRONG}.")
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= JSON_VERSION:
        raise ValueError(f"{WRONG} in a version known here: update frugalforest.")
    _check_parts(content, ("model", "features") if version == JSON_VERSION else ("model",))
    if version == JSON_VERSION:
        refuse_other_model(content, marks, "resume it with that one")
    elif content["model"] not in getattr(model, "earlier_fingerprints", (model.fingerprint,)):
        raise ValueError("This run was started by another model, or with other prices: resume it with that one.")
    return content


def _parsed(text: str) -> Any:
    if not isinstance(text, str | bytes | bytearray):
        raise TypeError(f"{WRONG}: expected the text that run.to_json() gave, got {text!r:.60}.")
    if len(text) > MAX_JSON:
        raise ValueError(f"{WRONG}: it is longer than {MAX_JSON:,} characters.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise ValueError(f"{WRONG}: {error}.") from None


def _check_parts(content: dict[str, Any], marks: Iterable[str]) -> None:
    lacking = [name for name in (*marks, "stop", "steps") if name not in content]
    if lacking:
        raise ValueError(f"{WRONG}: {_listed(lacking)} is left out.")
    if not isinstance(content["stop"], dict) or not isinstance(content["steps"], list):
        raise ValueError(f"{WRONG}: something is of the wrong kind.")
    for number, step in enumerate(content["steps"], start=1):
        _check_step(step, number)


def _check_step(step: Any, number: int) -> None:
    if not isinstance(step, dict):
        raise ValueError(f"{WRONG}: step {number} is {step!r:.60}, and no step.")
    if lacking := STEP_PARTS - step.keys():
        raise ValueError(f"{WRONG}: step {number} has no {_listed(sorted(lacking))}.")
    if unknown := step.keys() - STEP_PARTS - {"note"}:
        raise ValueError(f"{WRONG}: step {number} has {_listed(sorted(unknown)):.60}, which steps do not have.")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


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
    if isinstance(value, Number):  # Decimal, Fraction
        return float(value)  # type: ignore[arg-type]
    return str(value)  # dates and intervals are categories by their text
