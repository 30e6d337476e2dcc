"""frugalforest acquire: one row at a time, one feature at a time, in the terminal."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from frugalforest.cli import options
from frugalforest.cli.errors import Mistake, as_mistake
from frugalforest.cli.files import require_room, write_text
from frugalforest.cli.printing import Printer, counted, money, shortened

BAR = 30  # characters of a probability of 1
MAX_RUN_BYTES = 10_000_000
MOST_CLASSES_SHOWN = 8
HELP_LINE = "Type the value, or: unknown (measured, no result; is paid), skip (cannot be had; costs nothing), stop."


def acquire(
    model: options.Model,
    run_file: Annotated[
        Path | None,
        typer.Option(
            "--run", "-r", metavar="FILE", help="Keeps the run, after every step; goes on with it if it is there."
        ),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option("--known", "-k", metavar="FEATURE=VALUE", help="A value that is there already, and free."),
    ] = None,
    stop: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="label: end when nothing more can change the label; all: read all that the model reads.",
        ),
    ] = "label",
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Ask for the features of one row, one at a time, until the answer is settled.

    It names the next feature and its price, and takes the value. The receipt at the end says what was bought, and what
    each step made of the answer.

    [b]Examples[/b]

    $ frugalforest acquire heart.ff
    $ frugalforest acquire heart.ff --known age=63 --known sex=1 --run ann.json
    $ frugalforest acquire heart.ff --run ann.json   # later: goes on where it was
    """
    if stop not in ("label", "all"):
        raise Mistake(f"--stop is {stop!r}; expected label or all.")
    from frugalforest.cli.models import load_model

    if run_file is not None:
        require_room(run_file, "the run")
    classifier = _stopping(load_model(model), stop)
    session = _Session(classifier, run_file, Printer())
    session.begin(known or [])
    session.ask()
    session.end()


def _stopping(model: Any, stop: str) -> Any:
    """The model, ending its runs as wished; models that are no forests have one way to end."""
    from frugalforest.estimators import OnDemand
    from frugalforest.estimators.base import ForestClassifierBase

    return OnDemand(model, stop=stop) if isinstance(model, ForestClassifierBase) else model  # type: ignore[arg-type]


class _Session:
    """A run, the file that keeps it, and the talk about it."""

    def __init__(self, model: Any, path: Path | None, printer: Printer) -> None:
        self._model, self._path, self._printer = model, path, printer
        self._is_stopped = False
        self._run = model.start()

    # ---- beginning

    def begin(self, known: list[str]) -> None:
        """A new run, or the one in the file; values that are known already."""
        if self._path is not None and self._path.exists():
            self._resume(self._path)
        for pair in known:
            feature, equals, text = pair.partition("=")
            if not equals:
                raise Mistake(f"--known is {pair!r}; give FEATURE=VALUE.")
            label = self._label_of(feature.strip())
            value, problem = self._value(label, text.strip())
            if problem:
                raise Mistake(f"--known {pair!r}: {problem}")
            with as_mistake():
                self._run.provide(label, value, free=True)
        self._save()
        self._printer.line(
            f"{counted(self._model.n_features_in_, 'feature')}; everything would cost {money(self._total)}."
        )
        self._printer.line(HELP_LINE)
        self._show()

    def _resume(self, path: Path) -> None:
        if path.stat().st_size > MAX_RUN_BYTES:
            raise Mistake(f"{path} is too large to be a run.")
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise Mistake(f"{path} is not a run that frugalforest wrote; give another name for a new run.") from None
        with as_mistake(f"{path}: "):
            self._run = self._model.resume(text)
        steps = len(self._run.receipt())
        self._printer.line(f"Going on with {path}: {counted(steps, 'feature')} known, {money(self._run.spent)} spent.")

    @property
    def _total(self) -> float:
        return float(self._model.feature_costs_.total)

    def _label_of(self, text: str) -> Any:
        encoder = self._model.encoder_
        if encoder.feature_names is None and text.isdigit():
            return int(text)
        if encoder.feature_names is not None and text not in encoder.feature_names:
            raise Mistake(f"the model knows no feature {text!r}; it knows {shortened(encoder.feature_names, 30)}.")
        return text

    # ---- asking

    def ask(self) -> None:
        """Ask until the run is over, or the user stops."""
        while (feature := self._run.next_feature()) is not None:
            answer = self._read(f"\n{feature} ({money(self._run.next_price)}): ")
            if answer is None or answer == "stop":
                self._is_stopped = True
                return
            if not self._take(feature, answer):
                continue
            self._save()
            self._show()

    def _read(self, prompt: str) -> str | None:
        """A line from the user; None at the end of the input. Prompts go to stdout, or nowhere with --json."""
        self._printer.prompt(prompt)
        try:
            return input().strip()
        except EOFError:
            self._printer.line()
            return None

    def _take(self, feature: Any, answer: str) -> bool:
        """Take an answer -> whether it was one."""
        if answer in ("", "?", "help"):
            self._printer.line(self._hint(feature))
        elif answer == "skip":
            self._run.refuse(feature, note="skipped")
            return True
        elif answer == "unknown":
            self._run.provide(feature, None)
            return True
        else:
            value, problem = self._value(feature, answer)
            if not problem:
                self._run.provide(feature, value)
                return True
            self._printer.line(problem)
        return False

    def _value(self, feature: Any, text: str) -> tuple[Any, str]:
        """The value that a text says, or what is wrong with it."""
        categories = self._categories(feature)
        if categories:
            by_text = {str(category): category for category in categories}
            if text in by_text:
                return by_text[text], ""
            return None, f"{text!r} is not one of: {shortened(list(by_text), 30)}. Type unknown if it is none of these."
        try:
            number = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
        except ValueError:
            return None, f"{text!r} is not a number. {HELP_LINE}"
        return (number, "") if math.isfinite(number) else (None, f"{text!r} is not a finite number. {HELP_LINE}")

    def _categories(self, feature: Any) -> tuple[Any, ...]:
        encoder = self._model.encoder_
        position = feature if encoder.feature_names is None else encoder.feature_names.index(feature)
        found: tuple[Any, ...] = encoder.categories.get(position, ())
        return found

    def _hint(self, feature: Any) -> str:
        categories = self._categories(feature)
        kind = f"one of: {shortened([str(c) for c in categories], 30)}" if categories else "a number"
        return f"{feature} is {kind}. {HELP_LINE}"

    # ---- showing

    def _show(self) -> None:
        """The probabilities as bars, and the money."""
        probabilities = self._run.probabilities.tolist()
        named = sorted(zip(map(str, self._model.classes_), probabilities, strict=True), key=lambda pair: -pair[1])
        shown = named[:MOST_CLASSES_SHOWN] if len(named) > MOST_CLASSES_SHOWN else sorted(named)
        width = max(len(label) for label, _ in shown)
        for label, probability in shown:
            bar = "█" * round(BAR * probability)
            self._printer.line(f"  {label:<{width}} {100 * probability:5.1f}% {bar}")
        state = "" if self._run.is_over else f", probably about {money(self._run.expected_cost())} to go"
        self._printer.line(f"  spent {money(self._run.spent)}{state}")

    def _save(self) -> None:
        if self._path is not None:
            write_text("the run", self._path, self._run.to_json())

    def end(self) -> None:
        """The answer and the receipt."""
        run, printer = self._run, self._printer
        word = "Stopped early; best guess" if self._is_stopped else "Answer"
        printer.heading(f"{word}: {run.prediction}{self._reason()}")
        receipt = run.receipt()
        if len(receipt):
            rows = [
                (
                    str(step.feature),
                    step.how,
                    "" if step.value is None else str(step.value),
                    money(step.cost),
                    _odds(step),
                )
                for step in receipt
            ]
            printer.table(
                ["feature", "how", "value", "cost", "probabilities"],
                [*rows, ("total", "", "", money(receipt.total), "")],
                text_columns=2,
            )
        printer.line(f"Reading everything would have cost {money(self._total)}.")
        if self._is_stopped and self._path is not None:
            printer.line(f"To go on: frugalforest acquire ... --run {self._path}")
        printer.json(
            {
                "prediction": run.prediction,
                "is_over": run.is_over,
                "probabilities": dict(zip(self._model.classes_.tolist(), run.probabilities.tolist(), strict=True)),
                "spent": run.spent,
                "cost_of_everything": self._total,
                "steps": [{**vars(step)} for step in receipt],
            }
        )

    def _reason(self) -> str:
        """Why nothing more is asked."""
        if self._is_stopped:
            return ""
        if getattr(self._run, "is_proven", True):
            return " (nothing that was not asked could change it)"
        return " (what would be asked next is beyond the budget)"


def _odds(step: Any) -> str:
    likeliest = sorted(step.probabilities.items(), key=lambda pair: -pair[1])[:2]
    return ", ".join(f"{label} {100 * p:.0f}%" for label, p in likeliest)
