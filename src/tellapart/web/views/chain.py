"""A Markov chain (correlated records): noise for ε gives away more than ε."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import _checks, choose, report
from tellapart._numeric.text import fixed, related, short
from tellapart.drawing.record import Axis, Drawing, Ink, Mark, Spot, Trace
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.report.result_model import ResultDocument
from tellapart.web.answer import Answer, Next, NumberCard, Table, Words
from tellapart.worlds import JointTable, MarkovChain, Sum
from tellapart.worlds.frameworks import compare_frameworks, group_privacy, pufferfish
from tellapart.worlds.frameworks.result import Side
from tellapart.worlds.markov.bounds import chain_epsilon_bound, chain_scale_bound

_TITLE = "A Markov chain of records"
LONGEST = 300  # longer ones take longer than a page should
_LENGTHS = np.unique(np.geomspace(2, LONGEST, 20).round().astype(int))
_ABOUT = (
    "Records are 0 or 1 and form a Markov chain with these probabilities. The number of ones is "
    "published with Laplace noise. The attacker knows the chain.",
    "True ε: by how much an output can move the log-odds of any record's two values for that "
    "attacker (Pufferfish). It is exact for positively correlated records.",
    "tellapart noise compares more mechanisms, for other models and queries.",
)


@dataclass(frozen=True)
class ChainQuestion:
    """A chain of two states, and the ε that shall be kept."""

    epsilon: float
    stay_0: float
    stay_1: float
    length: int

    def __post_init__(self) -> None:
        _checks.finite_above_zero(epsilon=self.epsilon)
        _checks.inside_unit(stay_0=self.stay_0), _checks.inside_unit(stay_1=self.stay_1)
        _checks.whole(2, LONGEST, length=self.length)
        if self.stay_0 + self.stay_1 < 1:
            raise Unsupported(
                "states that tend to change take longer than a page should: stay_0 and stay_1 "
                "must add up to 1 at least here; tellapart noise takes any chain, from a file"
            )

    @property
    def transition(self) -> list[list[float]]:
        """Where each state leads."""
        stays = (self.stay_0, self.stay_1)
        leaves = [round(1 - stay, 12) for stay in stays]
        return [[stays[0], leaves[0]], [leaves[1], stays[1]]]

    def chain(self, length: int | None = None) -> MarkovChain:
        """The chain from its own law on, as long as asked, or shorter."""
        return MarkovChain.stationary(np.array(self.transition), length=length or self.length)


@dataclass(frozen=True)
class ChainRow:
    """One way to set the noise, and its true ε."""

    method: str
    release: Laplace
    true_epsilon: float
    side: Side

    @property
    def shown(self) -> str:
        """The true ε with its side."""
        return related(self.side.value, self.true_epsilon)

    @property
    def spent(self) -> str:
        """The ε of such noise for independent records."""
        return fixed(self.release.curve().epsilon(0.0), False)


def answer(asked: ChainQuestion) -> Answer:
    """How far noise for ε is from keeping it, and which scale keeps it."""
    rows = _rows(asked)
    plain, enough, group = rows
    headline, sentences = _headline(asked, plain, enough)
    keep = short(asked.epsilon)
    factor, whole = (times(row.release.scale, plain.release.scale) for row in (enough, group))
    return Answer(
        headline,
        tuple(sentences),
        Mark.PLAIN,
        (_drawing(asked, plain),),
        (_table(rows), Words("What the chain is", _ABOUT)),
        _python(asked),
        _command(asked),
        reports=True,
        number=enough.spent if enough.spent in headline else "",
        cards=(
            NumberCard(
                "True ε of that noise", plain.shown, "", f"independent records: {keep}", "ε"
            ),
            NumberCard("Noise needed", factor, "", "of plain DP's: × 1"),
            NumberCard("Nominal ε to set", enough.spent, "", f"to keep {keep}"),
            NumberCard(
                "By group privacy",
                whole,
                "noise",
                "for any model of the records",
                "group privacy",
            ),
        ),
        scope="For a chain with these probabilities, which the attacker knows (Pufferfish).",
        next=(Next("explore", "Explore this ε", "what an attack finds",
                   (("mechanism", f"laplace:epsilon={enough.spent}"),)),),
    )  # fmt: skip


def times(scale: float, plain: float) -> str:
    """How many times plain DP's noise it is; what misses a number by rounding alone is it."""
    return f"× {short(round(scale / plain, 9), 3, True)}"


def _headline(asked: ChainQuestion, plain: ChainRow, enough: ChainRow) -> tuple[str, list[str]]:
    keep, scales = short(asked.epsilon), (plain.release.scale, enough.release.scale)
    before, after = (fixed(scale, True) for scale in scales)
    truly = (
        f"Noise for ε = {keep} has a true ε {plain.shown} for {asked.length:,} correlated records."
    )
    if times(*reversed(scales)) == "× 1":
        return f"Noise for ε = {keep} keeps ε = {keep}", [truly]
    if before == after:
        before, after = (short(scale, 10, True) for scale in scales)
    return f"Set the noise for ε = {enough.spent} to keep ε = {keep}", [
        truly,
        f"To keep ε = {keep} the noise must have the scale {after}, not {before}.",
    ]


def _rows(asked: ChainQuestion) -> list[ChainRow]:
    chain, query = asked.chain(), Sum()
    whole = group_privacy(chain, query, Laplace(1.0)).epsilon / asked.epsilon
    plain = Laplace.with_epsilon(asked.epsilon)
    enough = Laplace(chain_scale_bound(chain, asked.epsilon, query))
    true = pufferfish(chain, query, plain)
    others = (("for this chain", enough), ("group privacy, for any model", Laplace(whole)))
    return [
        ChainRow("plain DP, as if records were independent", plain, true.epsilon, true.side),
        *(
            ChainRow(name, release, _worst(chain, release.scale), Side.AT_MOST)
            for name, release in others
        ),
    ]


def _table(rows: list[ChainRow]) -> Table:
    cells = tuple(
        (row.method, fixed(row.release.scale, True), row.spent, row.shown) for row in rows
    )
    head = ("method", "scale", "nominal ε", "true ε")
    return Table("Noise", head, cells, "Rounded conservatively: scales up, nominal ε down.")


def _drawing(asked: ChainQuestion, plain: ChainRow) -> Drawing:
    lengths = sorted({*map(int, _LENGTHS), asked.length})
    x = tuple(map(float, lengths))
    true = tuple(_worst(asked.chain(length), plain.release.scale) for length in lengths)
    ends, kept = (x[0], x[-1]), (asked.epsilon, asked.epsilon)
    lines = (
        Trace("nominal ε", ends, kept, Ink.PROMISE, dashed=True),
        Trace(f"true ε of noise for ε = {short(asked.epsilon)}", x, true, Ink.FIRST),
    )
    spot = Spot("this chain", float(asked.length), plain.true_epsilon, Ink.FIRST)
    words = "The longer the chain and the stronger its correlation, the larger the true ε."
    y = Axis("true ε", 0, 1.15 * max(*true, asked.epsilon))
    across = Axis("records in the chain", x[0], x[-1], True)
    return Drawing("True ε and length", words, across, y, lines, (spot,))


def _worst(chain: MarkovChain, scale: float) -> float:
    return float(np.nanmax(chain_epsilon_bound(chain, scale, Sum())))


def document(asked: ChainQuestion) -> ResultDocument:
    """The report: noise by every method, and noise for ε under every framework."""
    command = _command(asked, " --report report.html")
    return correlated_document(
        answer(asked), asked.chain(), asked.epsilon, _TITLE, _ABOUT[:2], command
    )


def correlated_document(
    shown: Answer,
    model: MarkovChain | JointTable,
    epsilon: float,
    title: str,
    about: tuple[str, ...],
    command: str,
) -> ResultDocument:
    """The report on one model of correlated records, with what the view shows of it."""
    return report.of_correlated(
        noise=choose.noise_table(model, Sum(), epsilon),
        frameworks=compare_frameworks(model, Sum(), Laplace.with_epsilon(epsilon)),
        name=title,
        about=(*shown.sentences, *about),
        release=f"Laplace noise for ε = {short(epsilon)}",
        drawings=shown.drawings,
        command=command,
    )


def _python(asked: ChainQuestion) -> str:
    return f"""\
import tellapart as ta
from tellapart.worlds import MarkovChain, Sum, chain_scale_bound
from tellapart.worlds.frameworks import group_privacy, pufferfish

epsilon, query = {asked.epsilon!r}, Sum()
chain = MarkovChain.stationary({asked.transition!r}, length={asked.length!r})
enough = chain_scale_bound(chain, epsilon, query)
whole = group_privacy(chain, query, ta.Laplace(1)).epsilon / epsilon
for release in [ta.Laplace.with_epsilon(epsilon), ta.Laplace(enough), ta.Laplace(whole)]:
    true = pufferfish(chain, query, release)
    print(release.scale, release.curve().epsilon(0), true.side.value, true.epsilon)
"""


def _command(asked: ChainQuestion, more: str = "") -> str:
    """The file that the command reads is written before it."""
    return f"""\
cat > chain.toml <<'END'
[model]
kind = "chain"
transition = {asked.transition!r}
stationary = true
length = {asked.length!r}
[query]
kind = "sum"
END
tellapart noise chain.toml --epsilon {asked.epsilon!r}{more}"""
