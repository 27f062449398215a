"""`tellapart convert`: one privacy guarantee in every currency, and what each of them loses."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from tellapart._numeric.text import related
from tellapart.cli import terminal
from tellapart.cli.options import Json, Option, Output
from tellapart.mechanisms.currencies import PROMISES, Conversion, Currency
from tellapart.mechanisms.currencies import convert as converted

_FORMS = ", ".join(f"{name}:{numbers}" for name, numbers in PROMISES.items())


def convert(
    promise: Annotated[
        str,
        Parameter(help=f"A promise: {_FORMS}; or a mechanism, such as laplace:epsilon=1."),
    ],
    /,
    *,
    delta: Annotated[
        Option, Parameter(help="δ at which ε is asked; by default that of the promise, or 1e-6.")
    ] = None,
    order: Annotated[float, Parameter(help="Order at which Rényi DP is asked.")] = 8.0,
    at_least: Annotated[
        float,
        Parameter(
            help="Least FPR and FNR of the attacks that μ is for, where no μ holds for all attacks."
        ),
    ] = 1e-6,
    as_json: Json = False,
) -> None:
    r"""Convert a privacy guarantee: pure DP, (ε, δ)-DP, zCDP, Rényi DP, Gaussian DP.

    Each value is rounded conservatively. A currency keeps a part of the promise only: beside each
    stands the membership advantage that it alone allows, to compare with that of the promise.

    For example:

        tellapart convert zcdp:0.1 --delta 1e-6
        tellapart convert gdp:1
        tellapart convert rdp:8,0.5 --order 4
        tellapart convert dpsgd:noise_multiplier=1,sampling_rate=0.01,steps=1000
    """
    with terminal.working("converting"):
        conversion = converted(promise, delta, order, at_least)
        rows = [_row(each) for each in conversion.currencies]

    def text(console: Console) -> None:
        terminal.title(console, _headline(conversion), promise)
        terminal.line(
            console,
            f"The promise itself: membership advantage {related('≤', conversion.advantage)}.",
        )
        console.print()
        terminal.table(console, [("currency", "value", "advantage by it alone"), *rows])
        lacking = [each for each in conversion.currencies if each.curve is None]
        if lacking:
            console.print()
        for each in lacking:
            terminal.line(console, f"{each.name}: none, as {each.remark}.")

    Output(as_json).say(
        {
            "promise": promise,
            "advantage": conversion.advantage,
            "currencies": [_record(each) for each in conversion.currencies],
        },
        text,
    )


def _headline(conversion: Conversion) -> str:
    """ε at δ, or where there is none the advantage."""
    if conversion.dp.curve is not None:
        return str(conversion.dp)
    return f"membership advantage {related('≤', conversion.advantage)}"


def _row(each: Currency) -> tuple[str, str, str]:
    alone = "" if each.curve is None else related("≤", each.advantage)
    return each.name, str(each), alone


def _record(each: Currency) -> dict[str, Any]:
    return {
        "name": each.name,
        "symbol": each.symbol,
        "value": each.value,
        "remark": each.remark,
        "advantage": None if each.curve is None else each.advantage,
    }
