"""The privacy-utility frontier: each parameter's risk beside the error of the answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from tellapart import _checks
from tellapart._numeric.text import aligned, fixed, short
from tellapart.choose.search import Family
from tellapart.choose.utility import noise_error
from tellapart.curve.algebra import joint_bound
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.guarantees import everything, nothing
from tellapart.mechanisms.subject import curve_of, scope
from tellapart.risk import accuracy, advantage, tpr
from tellapart.risk.catalogue import FPR, MEASURES, PRIOR

CurveMeasure = Callable[[TradeoffCurve], object]

_USUAL: dict[str, CurveMeasure] = {
    MEASURES["advantage"].name: advantage,
    MEASURES["tpr"].named(fpr=FPR.default): partial(tpr, fpr=FPR.default),
    "accuracy at prior 0.5": partial(accuracy, prior=PRIOR.default),
}


class FrontierRow(NamedTuple):
    """One parameter: the error of the answer, and the risks in the order of the measures.

    ``deviation`` and ``margin`` (the half-width of the interval that covers 95 % of the noise) are
    None for subjects that answer no number.
    """

    parameter: float
    deviation: float | None
    margin: float | None
    risks: tuple[float, ...]


@dataclass(frozen=True)
class Frontier:
    """A parameter against risks and against the error of the answer, row by row.

    ``rises`` says of each measure whether it grows as privacy is lost; ``scope`` for whom the
    numbers hold, ``bound`` on which side they lie; ``error_of`` what the errors are those of, such
    as each of several releases.
    """

    parameter: str
    measures: tuple[str, ...]
    rows: tuple[FrontierRow, ...]
    rises: tuple[bool, ...]
    scope: str
    bound: Bound
    error_of: str = "the answer"

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The table as text, its head first; no number makes the answer or privacy look better."""
        head = (self.parameter, "deviation", "95 % within ±", *self.measures)
        return (head, *(self._cells(row) for row in self.rows))

    def _cells(self, row: FrontierRow) -> tuple[str, ...]:
        errors = ("–" if error is None else fixed(error, up=True) for error in row[1:3])
        shown = self.bound is Bound.UPPER
        risks = (fixed(x, rises != shown) for x, rises in zip(row.risks, self.rises, strict=True))
        return (short(row.parameter), *errors, *risks)

    def __str__(self) -> str:
        errors = "" if self.error_of == "the answer" else f"errors are those of {self.error_of}\n"
        return f"{aligned(self.cells())}\n{errors}{self.scope}"


def frontier(
    family: Family,
    parameters: Iterable[float],
    measures: Mapping[str, CurveMeasure] | None = None,
    *,
    name: str | None = None,
) -> Frontier:
    """What each parameter of a family costs in accuracy and leaves to an attacker.

    ``measures`` maps names to functions of a curve; left out, the advantage, the TPR at FPR 0.01
    and the accuracy at prior 1/2. ``name`` is that of the parameter, if not as the family has it.

    >>> import tellapart as ta
    >>> print(frontier(ta.Laplace.with_epsilon, [0.5, 1]))
    epsilon  deviation  95 % within ±  membership advantage  TPR at FPR 0.01  accuracy at prior 0.5
        0.5     2.8285         5.9915                0.2212           0.0165                 0.6106
          1     1.4143         2.9958                0.3935           0.0272                 0.6968
    specific to this mechanism; another (ε, δ) mechanism may leak more

    See Also
    --------
    tellapart.plot.frontier : its picture
    """
    if not callable(family):
        _checks.refuse("family", "be a function from a parameter to a mechanism", family)
    listed = list(parameters) if isinstance(parameters, Iterable) else parameters
    values = _checks.vector(parameters=listed)
    asked = _USUAL if measures is None else measures
    if not isinstance(asked, Mapping) or not asked or not all(map(callable, asked.values())):
        _checks.refuse("measures", "map names to functions of a curve", measures)
    for measure in asked.values():
        _checks.keywords(measure, {}, filled=())
    subjects = [family(float(value)) for value in values]
    curves = [curve_of(subject, "what family returns") for subject in subjects]
    risks_of_each = [
        tuple(_number(name, f, curve) for name, f in asked.items()) for curve in curves
    ]
    # Whether a measure grows as privacy is lost, it shows at the two ends of all curves.
    rises = [_number(x, f, everything()) >= _number(x, f, nothing()) for x, f in asked.items()]
    errors = [noise_error(subject) for subject in subjects]
    rows = [
        FrontierRow(
            float(value),
            None if error is None else error.deviation,
            None if error is None else error.margin,
            risks,
        )
        for value, error, risks in zip(values, errors, risks_of_each, strict=True)
    ]
    return Frontier(
        parameter=name or next(iter(inspect.signature(family).parameters)),
        measures=tuple(asked),
        rows=tuple(rows),
        rises=tuple(rises),
        scope=scope(subjects[0]),
        bound=joint_bound(curves),
        error_of=next((error.of for error in errors if error is not None), "the answer"),
    )


def _number(name: str, measure: CurveMeasure, curve: TradeoffCurve) -> float:
    return _checks.number(**{f"the value of {name}": measure(curve)})
