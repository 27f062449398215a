"""`tellapart check-training`: what a training script would really promise, before it is run."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from tellapart import _checks
from tellapart._numeric.text import related, short
from tellapart.cli import terminal
from tellapart.cli.deltas import Deltas, deltas_at
from tellapart.cli.options import Json, Option, Output, WholeOption
from tellapart.cli.process import child_process
from tellapart.cli.process.exits import Exit, verdict
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.risk.catalogue import SENSELESS

if TYPE_CHECKING:
    from tellapart.accountants.training_promise import TrainingPromise

# Two ends that differ by less are one number.
_ALIKE = 1e-3


def check_training(
    function: Annotated[
        str,
        Parameter(
            help="The function that makes the training: path/to/file.py:make, or "
            "package.module:make.",
        ),
    ],
    /,
    *,
    epochs: Annotated[WholeOption, Parameter(help="Passes over the loader; required.")] = None,
    epsilon: Annotated[
        Option, Parameter(help="The ε that is claimed; the exit code says whether it is kept.")
    ] = None,
    delta: Annotated[Option, Parameter(help="The δ of every ε.  [default: 1e-5]")] = None,
    as_json: Json = False,
) -> int:
    r"""Check which (ε, δ) an Opacus training really promises: it looks at loader and optimizer.

    Give a function without arguments that returns what make_private returned, and the number of
    epochs:

        tellapart check-training train.py:make --epochs 10

    where train.py has, say,

        def make():
            engine = PrivacyEngine()
            return engine.make_private(module=..., ...)

    It may return any tuple, list or dict that holds the optimizer which make_private returned and
    the loader that you loop over. Schedulers of noise or clipping among them are stepped once an
    epoch; an engine among them names the accountant to compare with. Nothing is trained; the code
    runs in a process of its own, with your rights.

    The answer is a guarantee for the way in which that loader draws its batches, with the ε that
    some attack surely reaches, beside the ε that Opacus would report. Exit code: 0 if the claimed ε
    is kept or none was given, 1 if an attack surely exceeds it, 3 if it lies between the two, or if
    no theorem covers the loader or the optimizer.

    More examples:

        tellapart check-training train.py:make \
            --epochs 10 --epsilon 3 --delta 1e-6
        tellapart check-training mycode.train:make \
            --epochs 10 --json
    """
    if epochs is None:
        raise InvalidArgument(
            "--epochs must be given: how often the training passes over its loader"
        )
    rounds = _checks.whole(1, 10**6, **{"--epochs": epochs})
    deltas = deltas_at(delta, ())
    _checks.inside_unit(**{"--delta": deltas.first})
    claim = None if epsilon is None else _checks.finite_at_least_zero(**{"--epsilon": epsilon})
    with terminal.working("looking at the training"):
        promise: TrainingPromise = child_process.call(
            partial(_promised, function, rounds, deltas.first),
            child_process.IMPORTED,
            lambda _: None,
        )
    kept = None if claim is None else promise.keeps(claim)

    def text(console: Console) -> None:
        answer = _answer(promise, deltas)
        if claim is not None:
            terminal.title(console, _judged(promise, claim, kept))
            terminal.line(console, f"{answer}.")
        else:
            terminal.title(console, answer)
        if promise.epsilon > SENSELESS:
            terminal.line(console, f"No meaningful privacy: ε is above {short(SENSELESS)}.")
        terminal.line(console, _beside(promise))
        console.print()
        for seen in (*_seen(promise), *promise.notes):
            terminal.item(console, seen)

    Output(as_json=as_json).say(_data(promise, deltas, claim, kept), text)
    return Exit.DONE if claim is None else verdict(None if kept is None else not kept)


def _promised(function: str, epochs: int, delta: float, say: child_process.Say) -> TrainingPromise:
    """Load the code and call it, in a process that it may end."""
    with warnings.catch_warnings(action="ignore"):  # they are for whoever runs the training
        make = child_process.load_function(function)
        accountant = importlib.import_module("tellapart.accountants.opacus")
        say(child_process.CALLED)
        made = _made(make)
        return accountant.check_training(made, epochs=epochs, delta=delta)  # type: ignore[no-any-return]


def _made(make: Any) -> Any:
    try:
        return make()
    except (Unsupported, InvalidArgument):
        raise
    except Exception as error:  # whatever the user's own function may raise
        said = f"{type(error).__name__}: {error}"
        raise InvalidArgument(
            f"function must return a training when called without arguments; it raised {said} "
            "(--debug shows where)"
        ) from error


def _answer(promise: TrainingPromise, deltas: Deltas) -> str:
    if promise.epsilon == math.inf:
        return f"ε = ∞ at {deltas.words}: there are steps without noise"
    guarantee = f"ε {related('≤', promise.epsilon)} at {deltas.words}"
    attack = promise.attack
    if attack is None or promise.epsilon - attack <= _ALIKE * max(1.0, attack):
        return guarantee
    return f"{guarantee}; some attack surely reaches ε {related('≥', attack)}"


def _judged(promise: TrainingPromise, claim: float, kept: bool | None) -> str:
    word = "NO VERDICT" if kept is None else "KEPT" if kept else "REFUTED"
    neighbours = promise.neighbours.value.partition(" (")[0]
    at = f"at δ = {short(promise.delta)}"
    return f"{word}: the claim ε = {short(claim)} {at}, for neighbours that {neighbours}"


def _beside(promise: TrainingPromise) -> str:
    theirs = f"Opacus's own accountant ({promise.reported_by})"
    if promise.reported is None:
        return f"{theirs} has no number for so little noise."
    said = f"{theirs} would report ε {related('=', promise.reported)}"
    if promise.attack is not None and promise.reported < (1 - _ALIKE) * promise.attack:
        return (
            f"{said}, less than an attack surely reaches: it takes all batches for Poisson samples."
        )
    return f"{said}."


def _seen(promise: TrainingPromise) -> Iterator[str]:
    yield f"Sampling: {promise.sampling}, by {promise.sampler}."
    yield (
        f"Schedule: {promise.data_size:,} records, batches of {promise.batch_size:,} (sampling "
        f"rate {short(promise.sampling_rate, 4)}), {promise.steps_per_epoch:,} steps an epoch, "
        f"{promise.epochs:,} epochs: {promise.steps:,} steps."
    )
    noise, norm = _range(promise.noise_multipliers), _range(promise.clipping_norms)
    yield f"Noise multiplier {noise}, clipping norm {norm}, by {promise.optimizer}."
    yield f"Neighbours: {promise.neighbours.value}."


def _range(ends: tuple[float, float]) -> str:
    least, most = map(short, ends)
    return least if least == most else f"from {least} to {most}"


def _data(
    promise: TrainingPromise, deltas: Deltas, claim: float | None, kept: bool | None
) -> dict[str, Any]:
    judged = {} if claim is None else {"claim": {"epsilon": claim, "kept": kept}}
    data = {**asdict(promise), "neighbours": promise.neighbours.name, "steps": promise.steps}
    return {**data, **deltas.data(), **judged}
