"""A small table of two correlated records: what noise for ε really gives, by each method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import _checks, choose
from tellapart._numeric.text import fixed, related, short
from tellapart.drawing.record import Axis, Drawing, Ink, Spot, Trace
from tellapart.mechanisms.noise import Laplace
from tellapart.report.result_model import ResultDocument
from tellapart.web.answer import Answer, Next, NumberCard, Table, Words
from tellapart.web.views.chain import correlated_document, times
from tellapart.worlds import JointTable, Sum
from tellapart.worlds.frameworks import pufferfish

_TITLE = "Two correlated records"
_EPSILONS = np.geomspace(0.1, 4, 15)
_ABOUT = (
    "Two records are 0 or 1, and the table says how often each pair occurs; its numbers are scaled "
    "to add up to 1. The number of ones is published with Laplace noise, and the attacker knows "
    "the table.",
    "True ε: by how much an output can move the log-odds of either record's value for that "
    "attacker (Pufferfish). It is exact.",
    "tellapart noise and tellapart frameworks take larger tables, chains and trees from a file.",
)


@dataclass(frozen=True)
class JointQuestion:
    """How often each pair of values occurs, and the ε that shall be kept."""

    epsilon: float
    p00: float
    p01: float
    p10: float
    p11: float

    def __post_init__(self) -> None:
        _checks.finite_above_zero(epsilon=self.epsilon)
        for name in ("p00", "p01", "p10", "p11"):
            _checks.finite_above_zero(**{name: getattr(self, name)})

    @property
    def probabilities(self) -> list[list[float]]:
        """The table, of which all cells add up to 1."""
        cells = np.array([[self.p00, self.p01], [self.p10, self.p11]])
        shares = (cells / cells.sum()).round(12)
        shares[1, 1] = 1 - shares[0].sum() - shares[1, 0]
        return [[float(x) for x in row] for row in shares]

    @property
    def model(self) -> JointTable:
        """The law of both records."""
        return JointTable(([0, 1], [0, 1]), self.probabilities)  # type: ignore[arg-type]


def answer(asked: JointQuestion) -> Answer:
    """What noise for ε gives away under the table, and what each method adds instead."""
    table = choose.noise_table(asked.model, Sum(), asked.epsilon)
    plain = next(row for row in table if row.method == "plain DP")
    exact = next(row for row in table if row.sound)
    group = next(row for row in table if row.method == "group privacy")
    keep = short(asked.epsilon)
    spent = fixed(1 / exact.scale, False)
    true = related(plain.side.value, plain.true_epsilon)
    headline = f"Set the noise for ε = {spent} to keep ε = {keep}."
    if exact.scale <= plain.scale * (1 + 1e-9):
        headline = f"Noise for ε = {keep} keeps ε = {keep} for these records."
    rows = tuple(
        (
            row.method,
            fixed(row.scale, True),
            related(row.side.value, row.true_epsilon),
            row.protects if row.sound else "not sound in general",
        )
        for row in table
    )
    return Answer(
        headline,
        (f"Noise for ε = {keep} has a true ε {true} for these two records.",),
        drawings=(_drawing(asked, plain.true_epsilon),),
        parts=(
            Table("Noise by method", ("method", "scale", "true ε", "protects"), rows),
            Words("What the table is", _ABOUT),
        ),
        python=_python(asked),
        command=_command(asked),
        reports=True,
        number=spent,
        cards=(
            NumberCard("True ε of that noise", true, "", f"independent records: {keep}", "ε"),
            NumberCard("Noise needed", times(exact.scale, plain.scale), "",
                 "of plain DP's: × 1", "correlated records"),
            NumberCard("Nominal ε to set", spent, "", f"to keep {keep}"),
            NumberCard("By group privacy", times(group.scale, plain.scale), "noise",
                 "for any model of the records", "group privacy"),
        ),
        scope="For records with this table, which the attacker knows (Pufferfish).",
        next=(Next("explore", "Explore this ε", "what an attack finds",
                   (("mechanism", f"laplace:epsilon={spent}"),)),),
    )  # fmt: skip


def _drawing(asked: JointQuestion, true: float) -> Drawing:
    model = asked.model
    x = tuple(sorted({*map(float, _EPSILONS), asked.epsilon}))
    y = tuple(pufferfish(model, Sum(), Laplace.with_epsilon(epsilon)).epsilon for epsilon in x)
    lines = (
        Trace("independent records", (x[0], x[-1]), (x[0], x[-1]), Ink.CHANCE, dashed=True),
        Trace("these records", x, y, Ink.FIRST),
    )
    spot = Spot(f"ε = {short(asked.epsilon)}", asked.epsilon, true, Ink.FIRST)
    words = "Above the dashed line, correlation gives away more than the nominal ε."
    across, up = Axis("nominal ε", 0, x[-1]), Axis("true ε", 0, 1.05 * max(y))
    return Drawing("True ε and nominal ε", words, across, up, lines, (spot,))


def document(asked: JointQuestion) -> ResultDocument:
    """The report: noise by every method, and noise for ε under every framework."""
    command = _command(asked, " --report report.html")
    return correlated_document(
        answer(asked), asked.model, asked.epsilon, _TITLE, _ABOUT[:2], command
    )


def _python(asked: JointQuestion) -> str:
    return f"""\
from tellapart import choose
from tellapart.worlds import JointTable, Sum

model = JointTable([[0, 1], [0, 1]], {asked.probabilities!r})
print(choose.noise_table(model, Sum(), {asked.epsilon!r}))
"""


def _command(asked: JointQuestion, more: str = "") -> str:
    """The file that the command reads is written before it."""
    return f"""\
cat > table.toml <<'END'
[model]
kind = "table"
probabilities = {asked.probabilities!r}
[query]
kind = "sum"
END
tellapart noise table.toml --epsilon {asked.epsilon!r}{more}"""
