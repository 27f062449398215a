"""The command that compares: mechanisms with each other, and with what others have published."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from tellapart import choose
from tellapart._checks import refuse
from tellapart.choose._compare import GAPS, expected_seconds
from tellapart.cli import deployed, limits, show
from tellapart.cli.deltas import AtDelta, of_several
from tellapart.cli.options import Knowledge, Option, Output
from tellapart.cli.theory import Fpr, Mechanism, reading
from tellapart.mechanisms.named import named

Names = Annotated[
    tuple[str, ...] | None,
    Parameter(
        name="--deployments",
        consume_multiple=True,
        negative="",
        show_default=False,
        help="Compare with published deployments: all of them, or those of which a part of the "
        "name or the curator follows. A table of what an attacker gains over one unit of each.",
    ),
]
# What the table of deployments has no place for.
_RECALL, _WEIGHT = 0.5, 1.0


def compare(
    *mechanisms: Mechanism,
    names: Names = None,
    knowledge: Knowledge = Knowledge(),
    fpr: Fpr = 0.01,
    recall: Annotated[float, Parameter(help="Share of members found.")] = _RECALL,
    weight: Annotated[
        float, Parameter(help="How much more recall counts in the F-score.")
    ] = _WEIGHT,
    delta: Annotated[
        Option,
        Parameter(help="The δ of every ε.  [default: the one δ of the mechanisms, or 1e-5]"),
    ] = None,
    at_delta: AtDelta = (),
    output: Output = Output(),
) -> None:
    r"""Several mechanisms side by side: every risk, who leaks more, and where that changes.

    For example:

        tellapart compare laplace:epsilon=1 \
            gaussian:epsilon=1,delta=1e-5
        tellapart compare any:epsilon=1 laplace:epsilon=1 \
            staircase:epsilon=1 --prior 0.01
        tellapart compare laplace:scale=1 gaussian:sigma=1.4 \
            --plot compare.svg
        tellapart compare --deployments broadband emojis
        tellapart compare laplace:epsilon=1 --deployments apple
    """
    subjects = {name: named(name) for name in mechanisms}
    prior = knowledge.prior_inside()
    if names is not None:
        _refuse_unused({"recall": recall, "weight": weight, "delta": delta, "at-delta": at_delta})
        deployed.compare(subjects, names, fpr=fpr, prior=prior, output=output)
        return
    if len(subjects) < 2:
        refuse(
            "mechanisms",
            "be at least two different ones, or beside --deployments",
            list(mechanisms),
        )
    deltas = of_several(mechanisms, delta, at_delta)
    limits.expect(expected_seconds(list(subjects.values())))
    found = choose.compare(
        subjects, prior=prior, fpr=fpr, recall=recall, weight=weight, delta=deltas.every
    )

    def text(console: Console) -> None:
        show.title(console, "Every risk", f"for an attacker with prior {prior:g}")
        told = replace(found, readings=tuple(map(deltas.marked, found.readings)))
        show.table(console, told.cells())
        console.print()
        show.title(console, "Who leaks more")
        for pair in found.pairs:
            show.line(console, f"{pair}.")
        console.print()
        show.title(console, "By how much", "(Δ-divergence)")
        show.line(console, GAPS)
        show.table(console, found.gaps())

    def picture() -> Any:
        from tellapart import plot

        return plot.compare(subjects)

    data = {
        "prior": prior,
        **deltas.data(),
        "mechanisms": [
            {"mechanism": name, "scope": one, "readings": [reading(x) for x in row]}
            for name, one, row in zip(found.names, found.scopes, found.readings, strict=True)
        ],
        "pairs": [deployed.pair(one) for one in found.pairs],
    }
    output.give(data, text, picture)


def _refuse_unused(given: dict[str, object]) -> None:
    usual = {"recall": _RECALL, "weight": _WEIGHT, "delta": None, "at-delta": ()}
    for name, value in given.items():
        if value != usual[name]:
            shown = value[0] if isinstance(value, tuple) else value
            refuse(f"--{name}", "be left out beside --deployments", shown)
