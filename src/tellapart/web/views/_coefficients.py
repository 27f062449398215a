"""What the founding paper's coefficients do to the choice of ε."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tellapart import _checks, choose, risk
from tellapart._numeric.text import fixed, to_decimals, to_digits
from tellapart.choose.limit import Limit
from tellapart.curve.guarantees import guarantee
from tellapart.mechanisms.noise import Laplace
from tellapart.mechanisms.subject import Subject, curve_of, scope
from tellapart.web._answer import Answer, Axis, Drawing, Ink, Mark, Spot, Table, Trace, Words
from tellapart.web._pictures import INKS
from tellapart.worlds import Adversary

# How a limit is called: on the page, in the library, as an option, and in Python.
MEASURES: dict[str, tuple[str, Any, str]] = {
    "posterior": ("the strongest belief in membership", risk.max_posterior, "--max-posterior"),
    "ppv": ("the share of accusations that are right (PPV)", risk.ppv, "--max-ppv"),
    "f_score": ("the best F-score", risk.f_score, "--max-f-score"),
}
FAMILIES: dict[str, tuple[str, Callable[[float], Subject], str]] = {
    "any": ("any mechanism with this ε", guarantee, "ta.guarantee"),
    "laplace": ("Laplace noise", Laplace.with_epsilon, "ta.Laplace.with_epsilon"),
}
_EPSILONS = np.geomspace(0.1, 10, 41)
_ABOUT = (
    "ρ_p, ρ_c and ρ_t are inputs of the founding paper's formula for records of two values: what "
    "the prior, other people's records and the past say of a record. They give the number of "
    "others to a member, γ = (2 − ρ_p)(1 − ρ_c)(1 − ρ_t) − 1.",
    "The formula takes the three effects as if they came together: for two values it errs towards "
    "a stronger attacker. It can only speak of a record that is at least as likely in as out.",
    "They move the prior alone: what an attacker believes before any output. Where data hang "
    "together, outputs tell more, too: see the Markov chain.",
)


@dataclass(frozen=True)
class Asked:
    """Three coefficients, and the risk that must stay below a limit."""

    rho_p: float
    rho_c: float
    rho_t: float
    measure: str
    bound: float
    fpr: float
    mechanism: str

    @property
    def arguments(self) -> dict[str, float]:
        """What the risk is asked with, besides the prior."""
        return {"fpr": self.fpr} if self.measure == "ppv" else {}

    @property
    def levels(self) -> list[tuple[str, tuple[float, float, float]]]:
        """What an attacker may know, one thing more each time; what says nothing is left out."""
        p, c, t = self.rho_p, self.rho_c, self.rho_t
        found = [
            ("nothing", (0.0, 0.0, 0.0)),
            ("the prior", (p, 0.0, 0.0)),
            ("others' records, too" if p else "others' records", (p, c, 0.0)),
            ("the past, too" if p or c else "the past", (p, c, t)),
        ]
        return [one for k, one in enumerate(found) if k == 0 or one[1] != found[k - 1][1]]


@dataclass(frozen=True)
class Row:
    """The largest ε for one attacker; None where even no output at all is too much."""

    knows: str
    coefficients: tuple[float, float, float]
    prior: float
    epsilon: float | None


def answer(asked: Asked) -> Answer:
    """The choice of ε with and without what the attacker knows beforehand."""
    rows = _rows(asked)
    headline, told = _told(asked, rows[0], rows[-1])
    return Answer(
        headline,
        (*told, f"Numbers hold {scope(FAMILIES[asked.mechanism][1](1.0))}."),
        Mark.BAD if rows[-1].epsilon is None else Mark.PLAIN,
        _drawing(asked, rows),
        (_table(asked, rows), Words("What the coefficients are", _ABOUT)),
        _python(asked),
        _command(asked),
    )


def _rows(asked: Asked) -> list[Row]:
    Adversary.with_coefficients(asked.rho_p, asked.rho_c, asked.rho_t)  # refused as a whole
    found = []
    for knows, given in asked.levels:
        prior = Adversary.with_coefficients(*given).prior
        found.append(Row(knows, given, prior, _largest(asked.mechanism, _limit(asked, prior))))
    return found


def _limit(asked: Asked, prior: float) -> Limit:
    bound = _checks.inside_unit(bound=asked.bound)
    return choose.at_most(bound, MEASURES[asked.measure][1], prior=prior, **asked.arguments)


@lru_cache(maxsize=256)
def _largest(mechanism: str, limit: Limit) -> float | None:
    try:
        found = choose.largest(FAMILIES[mechanism][1], [limit]).parameter
    except choose.Infeasible:
        return None
    small = found < 0.01
    return to_digits(found, 4, up=False) if small else to_decimals(found, 4, up=False)


def _shown(epsilon: float) -> str:
    return f"{epsilon:.4g}" if epsilon < 0.01 else f"{epsilon:.4f}"


def _told(asked: Asked, without: Row, whole: Row) -> tuple[str, list[str]]:
    name = MEASURES[asked.measure][0]
    believed = f"Before any output this attacker thinks membership {whole.prior:.4g} likely."
    if whole.epsilon is None:
        return f"No ε keeps the limit: {name} ≤ {asked.bound:g}", [
            believed,
            "Even without any output the risk is larger: no mechanism hides what is known.",
        ]
    if without.epsilon is None:
        return f"ε = {_shown(whole.epsilon)}", [believed]
    limit = _limit(asked, whole.prior)
    runs = limit.value(curve_of(FAMILIES[asked.mechanism][1](without.epsilon)))
    if whole.epsilon == without.epsilon:
        return f"ε = {_shown(whole.epsilon)} at most, as for an attacker who knows nothing", [
            believed
        ]
    return f"ε = {_shown(whole.epsilon)} at most, not {_shown(without.epsilon)}", [
        believed,
        f"ε = {_shown(without.epsilon)} would do for one who knows nothing; against this one it "
        f"leaves {name} at {fixed(runs, True)}, above the {asked.bound:g} that is accepted.",
    ]


def _table(asked: Asked, rows: list[Row]) -> Table:
    cells = tuple(
        (
            one.knows,
            f"{one.prior:.4g}",
            f"{Adversary(one.prior).gamma:.4g}",
            "none" if one.epsilon is None else _shown(one.epsilon),
        )
        for one in rows
    )
    head = ("the attacker knows", "prior", "others to a member (γ)", "largest ε")
    name, bound = MEASURES[asked.measure][0], asked.bound
    return Table("The choice of ε", head, cells, f"ε rounded down; limit: {name} ≤ {bound:g}")


def _drawing(asked: Asked, rows: list[Row]) -> Drawing:
    """The risk against ε for each attacker; where a line meets the limit is its largest ε."""
    name, measure, _ = MEASURES[asked.measure]
    priors = np.array([one.prior for one in rows])
    curves = [curve_of(FAMILIES[asked.mechanism][1](float(one))) for one in _EPSILONS]
    risks = np.array([measure(one, prior=priors, **asked.arguments) for one in curves])
    x = tuple(map(float, _EPSILONS))
    lines = tuple(
        Trace(f"knows {one.knows}", x, tuple(map(float, risks[:, k])), INKS[k])
        for k, one in enumerate(rows)
    )
    ends = (x[0], x[-1])
    limit = Trace("the limit", ends, (asked.bound, asked.bound), Ink.PROMISE, dashed=True)
    spots = tuple(
        Spot(f"largest ε where it knows {one.knows}", one.epsilon, asked.bound, Ink.PROMISE)
        for one in dict.fromkeys((rows[0], rows[-1]))
        if one.epsilon is not None and x[0] <= one.epsilon <= x[-1]
    )
    told = "Where a line meets the limit is the largest ε for that attacker."
    low = float(min(0.5, asked.bound))
    y = Axis(name, low, 1)
    return Drawing("Risk and ε", told, Axis("ε", x[0], x[-1], True), y, (limit, *lines), spots)


def _python(asked: Asked) -> str:
    called = MEASURES[asked.measure][1].__name__
    more = "".join(f", {key}={value!r}" for key, value in asked.arguments.items())
    knows = ",\n    ".join(repr(given) for _, given in asked.levels)
    return f"""\
import tellapart as ta
from tellapart import choose, risk
from tellapart.worlds import Adversary

for known in [
    {knows},
]:
    attacker = Adversary.with_coefficients(*known)
    prior, gamma = attacker.prior, attacker.gamma
    limit = choose.at_most({asked.bound!r}, risk.{called}, prior=prior{more})
    try:
        found = choose.largest({FAMILIES[asked.mechanism][2]}, [limit])
        print(known, prior, gamma, found.rounded(4), found)
    except choose.Infeasible as reason:
        print(known, prior, gamma, reason)
"""


def _command(asked: Asked) -> str:
    option = MEASURES[asked.measure][2]
    words = ["tellapart", "choose", asked.mechanism, option, repr(asked.bound)]
    words += ["--rho-p", repr(asked.rho_p), "--rho-c", repr(asked.rho_c)]
    words += ["--rho-t", repr(asked.rho_t), "--fpr", repr(asked.fpr)]
    return shlex.join(words)
