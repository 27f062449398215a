"""The report of a result (a comparison, an attack, correlated records) as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from tellapart._numeric.text import as_json
from tellapart.choose.noise_tables import NoiseTable
from tellapart.drawing.record import Drawing, Mark
from tellapart.report.model import Made
from tellapart.worlds.frameworks.comparison import FrameworkComparison


@dataclass(frozen=True)
class Number:
    """A number that people act on, and what to hold it against."""

    name: str
    value: str
    beside: str


@dataclass(frozen=True)
class ReportTable:
    """Rows under a head; the first cell of a row is its name."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ResultDocument:
    """What was asked and found: the answer, numbers beside baselines, pictures, tables.

    ``kind`` is what it is a report of, ``headline`` the answer in one sentence and ``mark`` how it
    is meant. ``noise`` and ``frameworks`` are what further pictures are drawn from; their numbers
    are among the ``tables``.

    >>> import tellapart as ta
    >>> from tellapart import report
    >>> filed = report.of_attack(ta.guarantee(epsilon=1), fpr=0.01, tpr=0.05)
    >>> filed.headline
    'Impossible if the claim is true: TPR 0.05 at FPR 0.01'
    """

    kind: str
    title: str
    headline: str
    mark: Mark = Mark.PLAIN
    reasons: tuple[str, ...] = ()
    numbers: tuple[Number, ...] = ()
    drawings: tuple[Drawing, ...] = field(default=(), repr=False)
    tables: tuple[ReportTable, ...] = ()
    assumptions: tuple[str, ...] = ()
    made: Made
    noise: NoiseTable | None = field(default=None, repr=False, compare=False)
    frameworks: FrameworkComparison | None = field(default=None, repr=False, compare=False)

    def data(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        held = {
            part.name: as_json(getattr(self, part.name))
            for part in fields(self)
            if part.name not in ("noise", "frameworks", "drawings")
        }
        return {**held, "drawings": as_json([drawing.data() for drawing in self.drawings])}
