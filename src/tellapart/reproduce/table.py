"""Table 1 of the founding paper: what it prints, what is right, and what to call the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

from tellapart import _checks, choose, risk
from tellapart._numeric.text import to_decimals
from tellapart.curve.guarantees import guarantee, nothing
from tellapart.mechanisms.noise import Laplace
from tellapart.mechanisms.subject import Subject

# As printed (Liu et al. 2019, Table 1): one row for each weight β, None where it has a dash.
BOUNDS = (0.55, 0.58, 0.62, 0.67, 0.76, 0.83, 0.9, 0.95)
PRINTED: Mapping[float, tuple[float | None, ...]] = {
    0.5: (0.22, 0.34, 0.55, 0.82, 1.42, 2.04, 3.0, 4.29),
    0.6: (None, 0.33, 0.54, 0.83, 1.45, 2.11, 3.11, 4.43),
    0.8: (None, None, 0.49, 0.8, 1.46, 2.16, 3.21, 4.58),
    1.0: (None, None, None, 0.71, 1.4, 2.12, 3.2, 4.6),
    1.5: (None, None, None, None, 1.17, 1.88, 2.99, 4.41),
    2.0: (None, None, None, None, None, 1.61, 2.69, 4.12),
}
_DECIMALS = 2


class CellVerdict(Enum):
    """What became of one cell of the table, in a word or two."""

    EXACT = "exact"
    ROUNDED_UP = "rounded up"
    TRUNCATED = "truncated"
    IMPOSSIBLE = "impossible"
    DASH_RIGHT = "dash is right"
    # The paper has none of these; a table that someone altered would.
    TOO_LARGE = "too large"
    TOO_SMALL = "too small"
    DASH_WRONG = "dash is wrong"

    @property
    def meaning(self) -> str:
        """The verdict in a sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    CellVerdict.EXACT: "the exact value, whether rounded or cut to two decimals",
    CellVerdict.ROUNDED_UP: "the nearest value, but the attack on the printed ε exceeds the bound",
    CellVerdict.TRUNCATED: "cut to two decimals: safe, though not the nearest value",
    CellVerdict.IMPOSSIBLE: "no ε keeps this bound: flagging everyone exceeds it even at ε = 0",
    CellVerdict.DASH_RIGHT: "no ε keeps this bound, and none is printed",
    CellVerdict.TOO_LARGE: (
        "larger than any rounding: the attack on the printed ε exceeds the bound"
    ),
    CellVerdict.TOO_SMALL: "smaller than any rounding: safe, with more noise than needed",
    CellVerdict.DASH_WRONG: "some ε keeps this bound, and none is printed",
}


@dataclass(frozen=True)
class TableCell:
    """One cell: a bound on the F-score, the ε that was printed for it, and the right one.

    ``printed`` is None for a dash; ``largest`` and ``any_mechanism`` are None where no ε keeps
    the bound; ``reached`` is the F-score of the best attack on Laplace noise with the printed ε.
    """

    weight: float
    bound: float
    printed: float | None
    largest: float | None
    any_mechanism: float | None
    always: float
    reached: float | None
    verdict: CellVerdict


def table_one() -> tuple[TableCell, ...]:
    """What every cell of the paper's table says, what it should say, and how they differ.

    >>> cells = table_one()
    >>> [count for verdict, count in verdicts(cells).items()]
    [13, 9, 7, 4, 15]
    """
    return _cells()


@cache  # it is shown as text, as rows and on the page
def _cells() -> tuple[TableCell, ...]:
    rows = PRINTED.items()
    return tuple(
        judge(weight, bound, value)
        for weight, row in rows
        for bound, value in zip(BOUNDS, row, strict=True)
    )


def judge(weight: float, bound: float, printed: float | None) -> TableCell:
    """Whether Laplace noise with the printed ε keeps the F-score of every attack in bounds.

    >>> judge(weight=0.5, bound=0.62, printed=0.55).verdict.value
    'rounded up'
    """
    if printed is not None:
        _checks.finite_above_zero(printed=printed)
    largest = _largest(Laplace.with_epsilon, weight, bound)
    reached = None if printed is None else laplace_score(printed, weight)
    return TableCell(
        weight=weight,
        bound=bound,
        printed=printed,
        largest=largest,
        any_mechanism=_largest(guarantee, weight, bound),
        always=float(risk.f_score(nothing(), weight=weight)),
        reached=reached,
        verdict=_verdict(bound, printed, largest, reached),
    )


def verdicts(cells: Iterable[TableCell]) -> dict[CellVerdict, int]:
    """How many cells got each verdict; those that no cell got are left out.

    >>> from tellapart import reproduce
    >>> sum(reproduce.verdicts(reproduce.table_one()).values())
    48
    """
    count = Counter(cell.verdict for cell in cells)
    return {verdict: count[verdict] for verdict in CellVerdict if count[verdict]}


def laplace_score(epsilon: float, weight: float, prior: float = 0.5) -> float:
    """The F-score of the best attack on Laplace noise with this ε."""
    curve = Laplace.with_epsilon(epsilon).curve()
    return float(risk.f_score(curve, weight=weight, prior=prior))


def _largest(family: Callable[[float], Subject], weight: float, bound: float) -> float | None:
    try:
        chosen = choose.largest(family, [choose.at_most(bound, risk.f_score, weight=weight)])
    except choose.Infeasible:
        return None
    return chosen.parameter


def _verdict(
    bound: float, printed: float | None, largest: float | None, reached: float | None
) -> CellVerdict:
    if printed is None or reached is None:
        return CellVerdict.DASH_RIGHT if largest is None else CellVerdict.DASH_WRONG
    if largest is None:
        return CellVerdict.IMPOSSIBLE
    nearest = printed == round(largest, _DECIMALS)
    if reached > bound:
        return CellVerdict.ROUNDED_UP if nearest else CellVerdict.TOO_LARGE
    if printed != to_decimals(largest, _DECIMALS, up=False):
        return CellVerdict.TOO_SMALL
    return CellVerdict.EXACT if nearest else CellVerdict.TRUNCATED
