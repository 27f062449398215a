"""Coefficients of prior, correlation and time (the founding paper's), and the choice of ε."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tellapart import _checks, choose
from tellapart._numeric.text import fixed, short
from tellapart.choose.limit import Limit
from tellapart.drawing.record import Axis, Drawing, Ink, Mark, Spot, Trace
from tellapart.mechanisms.catalogue import KINDS, named_family
from tellapart.mechanisms.subject import Subject, curve_of, scope
from tellapart.pictures import INKS
from tellapart.report.result_model import Number, ReportTable, ResultDocument
from tellapart.report.results import made_by
from tellapart.risk.catalogue import FPR, MEASURES, PRIOR, Measure
from tellapart.web.answer import Answer, Next, NumberCard, Table, Words
from tellapart.worlds import Adversary

# The risks of the founding paper, as sentences name them; the catalogue says all else of them.
RISKS: dict[str, tuple[str, Measure]] = {
    "posterior": ("the largest posterior probability of membership", MEASURES["max_posterior"]),
    "ppv": ("the PPV", MEASURES["ppv"]),
    "f_score": ("the largest F-score", MEASURES["f_score"]),
}
_AXES = {"posterior": "largest posterior", "ppv": "PPV", "f_score": "largest F-score"}
# Whose ε it is: mechanisms by their names in the catalogue.
FAMILIES = {"any": "any mechanism with this ε", "laplace": "Laplace noise"}
_EPSILONS = np.geomspace(0.1, 10, 41)
_ABOUT = (
    "ρ_p, ρ_c and ρ_t are the coefficients of Liu et al. (2019) for binary records: what the "
    "prior, correlated records and earlier records say about a record. They give the number of "
    "non-members per member, γ = (2 − ρ_p)(1 − ρ_c)(1 − ρ_t) − 1.",
    "The formula adds up the three effects: for binary records it errs towards a stronger "
    "attacker. It covers priors of at least 1/2 only.",
    "They change the prior alone, that is, what an attacker knows before any output. Where records "
    "are correlated, outputs reveal more, too: see the Markov chain.",
)


@dataclass(frozen=True)
class CoefficientsQuestion:
    """Three coefficients, and the risk that must stay below a limit."""

    rho_p: float
    rho_c: float
    rho_t: float
    measure: str
    bound: float
    fpr: float
    release: str

    @property
    def risk(self) -> Measure:
        """What is limited."""
        return RISKS[self.measure][1]

    @property
    def name(self) -> str:
        """What that is called in a sentence."""
        return RISKS[self.measure][0]

    @property
    def arguments(self) -> dict[str, float]:
        """What the risk is asked with, besides the prior."""
        return {FPR.key: self.fpr} if FPR in self.risk.arguments else {}

    def subject(self, epsilon: float) -> Subject:
        """What the mechanism is with this ε."""
        return named_family(self.release).make(epsilon)

    @property
    def levels(self) -> list[tuple[str, tuple[float, float, float]]]:
        """What an attacker may know, one thing more each time; what says nothing is left out."""
        p, c, t = self.rho_p, self.rho_c, self.rho_t
        levels = [
            ("nothing", (0.0, 0.0, 0.0)),
            ("the prior", (p, 0.0, 0.0)),
            ("correlated records, too" if p else "correlated records", (p, c, 0.0)),
            ("earlier records, too" if p or c else "earlier records", (p, c, t)),
        ]
        return [level for k, level in enumerate(levels) if k == 0 or level[1] != levels[k - 1][1]]


@dataclass(frozen=True)
class CoefficientsRow:
    """The largest ε for one attacker; None where even no output at all is too much."""

    knows: str
    coefficients: tuple[float, float, float]
    prior: float
    epsilon: float | None


def answer(asked: CoefficientsQuestion) -> Answer:
    """The choice of ε with and without what the attacker knows beforehand."""
    rows = _rows(asked)
    headline, sentences = _headline(asked, rows[0], rows[-1])
    return Answer(
        headline,
        (*sentences, f"These numbers are {scope(asked.subject(1.0))}."),
        Mark.BAD if rows[-1].epsilon is None else Mark.PLAIN,
        (_drawing(asked, rows),),
        (_table(asked, rows), Words("What the coefficients are", _ABOUT)),
        _python(asked),
        _command(asked),
        reports=True,
        number="" if rows[-1].epsilon is None else _shown(rows[-1].epsilon),
        cards=_cards(asked, rows[0], rows[-1]),
        scope=f"These numbers are {scope(asked.subject(1.0))}.",
        next=_next(rows[-1]),
    )


def _cards(
    asked: CoefficientsQuestion, without: CoefficientsRow, whole: CoefficientsRow
) -> tuple[NumberCard, ...]:
    """The prior with and without what the attacker knows, and the ε that each allows."""
    limit = _limit(asked, whole.prior)
    risk = (
        fixed(limit.value(curve_of(asked.subject(whole.epsilon))), True)
        if whole.epsilon is not None
        else "above"
    )
    return (
        NumberCard("Largest ε for this attacker", _said(whole), "", "rounded conservatively", "ε"),
        NumberCard("Largest ε without knowledge", _said(without), "", "for a prior of 0.5"),
        NumberCard(
            "Prior of this attacker", short(whole.prior, 3), "", "0.5 without knowledge", "prior"
        ),
        NumberCard("Risk reached", risk, f"limit {short(asked.bound)}", asked.name),
    )


def _said(row: CoefficientsRow) -> str:
    return "none" if row.epsilon is None else _shown(row.epsilon)


def _next(row: CoefficientsRow) -> tuple[Next, ...]:
    if row.epsilon is None:
        return ()
    values = (("mechanism", f"any:epsilon={_shown(row.epsilon)}"), ("prior", short(row.prior, 6)))
    return (Next("explore", "Explore this ε", "what such an attack finds", values),)


def _rows(asked: CoefficientsQuestion) -> list[CoefficientsRow]:
    Adversary.with_coefficients(asked.rho_p, asked.rho_c, asked.rho_t)  # refused as a whole
    rows = []
    for knows, given in asked.levels:
        prior = Adversary.with_coefficients(*given).prior
        rows.append(
            CoefficientsRow(knows, given, prior, _largest(asked.release, _limit(asked, prior)))
        )
    return rows


def _limit(asked: CoefficientsQuestion, prior: float) -> Limit:
    bound = _checks.inside_unit(bound=asked.bound)
    return choose.at_most(bound, asked.risk.function, prior=prior, **asked.arguments)


@lru_cache(maxsize=256)
def _largest(mechanism: str, limit: Limit) -> float | None:
    try:
        return choose.largest(named_family(mechanism).make, [limit]).short
    except choose.Infeasible:
        return None


def _shown(epsilon: float) -> str:
    return short(epsilon, 4) if epsilon < 0.01 else f"{epsilon:.4f}"


def _headline(
    asked: CoefficientsQuestion, without: CoefficientsRow, whole: CoefficientsRow
) -> tuple[str, list[str]]:
    name = asked.name
    believed = f"The attacker's prior probability of membership is {short(whole.prior, 4)}."
    if whole.epsilon is None:
        return f"No ε keeps the limit: {name} ≤ {short(asked.bound)}", [
            believed,
            "Even without any output the risk is larger: no mechanism hides what is already known.",
        ]
    if without.epsilon is None:
        return f"ε = {_shown(whole.epsilon)}", [believed]
    limit = _limit(asked, whole.prior)
    runs = limit.value(curve_of(asked.subject(without.epsilon)))
    if whole.epsilon == without.epsilon:
        return f"ε = {_shown(whole.epsilon)} at most, as for an attacker who knows nothing", [
            believed
        ]
    return f"ε = {_shown(whole.epsilon)} at most, not {_shown(without.epsilon)}", [
        believed,
        f"ε = {_shown(without.epsilon)} is enough if the attacker knows nothing; against this "
        f"one, {name} is {fixed(runs, True)}, above the limit of {short(asked.bound)}.",
    ]


def _table(asked: CoefficientsQuestion, rows: list[CoefficientsRow]) -> Table:
    cells = tuple(
        (
            row.knows,
            short(row.prior, 4),
            short(Adversary(row.prior).gamma, 4),
            "none" if row.epsilon is None else _shown(row.epsilon),
        )
        for row in rows
    )
    head = ("the attacker knows", "prior", "non-members per member (γ)", "largest ε")
    note = f"ε is rounded conservatively; limit: {asked.name} ≤ {short(asked.bound)}"
    return Table("The choice of ε", head, cells, note)


def _drawing(asked: CoefficientsQuestion, rows: list[CoefficientsRow]) -> Drawing:
    """The risk against ε for each attacker; where a line meets the limit is its largest ε."""
    priors = np.array([row.prior for row in rows])
    curves = [curve_of(asked.subject(float(epsilon))) for epsilon in _EPSILONS]
    about = {PRIOR.key: priors, **asked.arguments}
    risks = np.array([asked.risk.function(curve, **about) for curve in curves])
    x = tuple(map(float, _EPSILONS))
    lines = tuple(
        Trace(f"knows {row.knows}", x, tuple(map(float, risks[:, k])), INKS[k])
        for k, row in enumerate(rows)
    )
    ends = (x[0], x[-1])
    limit = Trace("the limit", ends, (asked.bound, asked.bound), Ink.PROMISE, dashed=True)
    spots = tuple(
        Spot(f"largest ε where it knows {row.knows}", row.epsilon, asked.bound, Ink.PROMISE)
        for row in dict.fromkeys((rows[0], rows[-1]))
        if row.epsilon is not None and x[0] <= row.epsilon <= x[-1]
    )
    words = "Where a line meets the limit is the largest ε for that attacker."
    low = float(min(0.5, asked.bound))
    y = Axis(_AXES[asked.measure], low, 1)
    return Drawing("Risk and ε", words, Axis("ε", x[0], x[-1], True), y, (limit, *lines), spots)


def document(asked: CoefficientsQuestion) -> ResultDocument:
    """The report: the largest ε for each attacker, and the command that finds the last."""
    shown, table = answer(asked), _table(asked, _rows(asked))
    return ResultDocument(
        kind="Correlated records",
        title="What the attacker knows beforehand",
        headline=shown.headline,
        mark=shown.mark,
        reasons=shown.sentences,
        numbers=tuple(
            Number(card.name, " ".join(filter(None, (card.value, card.unit))), card.beside)
            for card in shown.cards
        ),
        drawings=shown.drawings,
        tables=(ReportTable(table.title, table.head, table.rows, table.note),),
        assumptions=_ABOUT,
        made=made_by(
            f"# The largest ε for this attacker; only the page writes this report.\n{shown.command}"
        ),
    )


def _python(asked: CoefficientsQuestion) -> str:
    called, made = asked.risk.function.__name__, KINDS[asked.release].ways[0].make.__qualname__
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
        found = choose.largest(ta.{made}, [limit])
        print(known, prior, gamma, found.rounded(4), found)
    except choose.Infeasible as reason:
        print(known, prior, gamma, reason)
"""


def _command(asked: CoefficientsQuestion) -> str:
    option = f"--{asked.risk.limit_key.replace('_', '-')}"
    words = ["tellapart", "choose", asked.release, option, repr(asked.bound)]
    words += ["--rho-p", repr(asked.rho_p), "--rho-c", repr(asked.rho_c)]
    words += ["--rho-t", repr(asked.rho_t), "--fpr", repr(asked.fpr)]
    return shlex.join(words)
