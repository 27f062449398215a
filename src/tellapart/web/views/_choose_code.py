"""Code that makes the same choice: in Python and as a command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tellapart.choose import Limit
from tellapart.mechanisms.named import NamedFamily
from tellapart.web._controls import at_delta_option
from tellapart.web.views._choose_state import State


def command(state: State, family: NamedFamily) -> str:
    """The command that makes this choice, and certifies it where it can."""
    limits = [f"--{key.replace('_', '-')} {bound!r}" for key, bound in state.bounds.items()]
    attacker = [
        f"--{key.replace('_', '-')} {getattr(state, key)!r}"
        for key in ("prior", "fpr", "recall", "weight")
    ]
    where = at_delta_option(state.mechanism, state.at_delta)
    start = f"tellapart choose {shlex.quote(state.mechanism)} --parameter {family.parameter}"
    return " ".join([start, *limits, *attacker]) + where


def python(
    state: State,
    family: NamedFamily,
    limits: Sequence[Limit],
    certified: bool,
    factors: Sequence[float],
) -> str:
    """The same choice by the library; what it costs at so many times the choice."""
    search = "least" if family.grows_private else "largest"
    whole = ", whole=True" if family.whole else ""
    listed = "".join(f"    {_limit(one)},\n" for one in limits)
    made = f"""\
from tellapart import choose, risk
from tellapart.mechanisms.named import named_family
from tellapart.mechanisms.subject import curve_of

family = named_family({state.mechanism!r}, {family.parameter!r})
limits = [
{listed}]
found = choose.{search}(family.make, limits{whole}, certified={certified})
print(found)
"""
    if not factors:
        return made
    attacker = ", ".join(f"{key}={value!r}" for key, value in state.attacker.items())
    return f"""\
{made}
value = found.short
print(f"{{family.parameter}} = {{value:.10g}}")
for one in risk.summary(curve_of(family.make(value)), {attacker}):
    print(one)
values = [value * factor for factor in {tuple(factors)!r}]
measures = {{limit.name: limit.value for limit in limits}}
print(choose.frontier(family.make, values, measures, name=family.parameter))
"""


def _limit(one: Limit) -> str:
    way = "at_least" if one.least else "at_most"
    arguments = "".join(f", {key}={value!r}" for key, value in one.arguments)
    return f"choose.{way}({one.bound!r}, risk.{one.measure.__name__}{arguments})"
