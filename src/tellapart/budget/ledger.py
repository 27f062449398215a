"""The ledger of a privacy budget: each step on record before it is run, for all who share it.

A spend is a line. Under one lock the writer reads what others have spent, refuses a step that no
longer fits (`BudgetSpent`), and writes the line to disk; only then may the step be run. Whoever is
killed on the way leaves the old state or the new one, and in the new one the step stays spent,
whether or not anything was released.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from tellapart import _checks
from tellapart.budget.filters import from_record
from tellapart.budget.hash_chain import START, ChainLine, opened, sealed
from tellapart.budget.ledger_file import LedgerFile
from tellapart.budget.odometer import Odometer
from tellapart.budget.spending import SpentStep, StepwiseBudget
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import BadLedger, BudgetSpent, InvalidArgument, Unsupported, visible
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.catalogue.short_text import text_of
from tellapart.neighbours import Order

_FORMAT = 1
_LONGEST = 200


class LineStore(Protocol):
    """Where lines are kept: only ever added, by one writer at a time."""

    where: str

    def reading(self) -> AbstractContextManager[list[str]]:
        """Lines that were added since the last time."""

    def writing(self, create: bool = False) -> AbstractContextManager[list[str]]:
        """The same, while nobody else writes."""

    def add(self, line: str) -> None:
        """One more, which counts once the block of ``writing`` has ended."""

    def afresh(self) -> LineStore:
        """The same lines, of which none was read yet."""

    @property
    def unfinished(self) -> bool:
        """Whether a killed writer left a part of a line."""


@dataclass(frozen=True)
class LedgerLine:
    """One step on record: its number and time, a name for it, and what it took from which pot.

    ``at`` is the time by the writer's clock, which may be wrong; the order is that of the lines.
    ``earlier`` says that it lies before the time of the line above.
    """

    number: int
    at: datetime
    label: str | None
    mechanism: str
    pot: str
    cost: Decimal
    earlier: bool


@dataclass(frozen=True)
class LedgerCheck:
    """What holds for all lines of a ledger: they are as they were written, none is missing between.

    ``head`` stands for all of them: noted elsewhere, it shows later whether lines were cut off at
    the end. ``notes`` has what is odd but changes nothing.
    """

    lines: int
    head: str
    notes: tuple[str, ...]


class BudgetLedger:
    """A privacy budget that a team spends together, kept in a file or a database.

    Every spend is a line of JSON in an append-only file, hash-chained and on disk before `spend`
    returns; or the same lines in a table (``sqlite:///budgets.db``, ``postgresql://...``, extra
    ``sql``), where ``name`` tells several ledgers apart. Two writers never overspend.

    >>> import tempfile, tellapart as ta
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = BudgetLedger.open(f"{folder.name}/team.jsonl", ta.Budget(gaussian=1))
    >>> entry = ledger.spend(ta.Gaussian(sigma=2), label="mean income")
    >>> BudgetLedger.open(f"{folder.name}/team.jsonl").left()
    {'gaussian': 0.75}
    >>> folder.cleanup()
    """

    budget: StepwiseBudget
    """The budget as it was opened, with nothing spent."""

    def __init__(self, lines: LineStore) -> None:
        self._lines = lines
        self._mutex = threading.Lock()  # the lock of the lines is between processes
        self._state = _Replay(lines.where)
        self._seen = 0, START  # how many lines were there, and the chain of the last

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str],
        budget: StepwiseBudget | None = None,
        *,
        name: str = "budget",
    ) -> BudgetLedger:
        """The ledger that is kept there; with a budget a new one, unless it is there already.

        A ledger that is there must have been opened with the same budget. ``name`` tells ledgers
        in one database apart; a file holds one.
        """
        ledger = cls(_kept(where, name))
        if budget is not None:
            ledger._begin(budget)
        with suppress(FileNotFoundError), ledger._session() as state:
            if state.record is not None:
                ledger.budget = from_record(state.record)
                return ledger
        raise InvalidArgument(
            f"ledger must be there, and {ledger.where} is none: open it with a budget first"
        )

    def __repr__(self) -> str:
        return f"<BudgetLedger {self.where}, opened with {self.budget!r}>"

    @property
    def where(self) -> str:
        """The file, or the table without a password."""
        return self._lines.where

    def spend(
        self, mechanism: Mechanism, label: str | None = None, *, pot: str | None = None
    ) -> LedgerLine:
        """Put a step on record **before** it is run; `BudgetSpent` where too little is left.

        When this returns, the line is on disk. What was spent stays spent, whether or not the
        output is ever released.
        """
        said = _label(label)
        payer, cost = self.cost(mechanism, pot)  # which may take a while, and needs no lock
        content = {"label": said, "mechanism": _text(mechanism), "pot": payer, "cost": str(cost)}
        with self._session(write=True) as state:
            state.budget.require(SpentStep(said, payer, cost, mechanism))
            text, line = sealed(len(state.chains) + 1, {"at": _now(), **content}, state.chain)
            self._lines.add(text)
            return state.read(line)

    def cost(self, mechanism: Mechanism, pot: str | None = None) -> tuple[str, Decimal]:
        """From which pot a step is paid, and how much it takes; nothing is spent."""
        return self.budget.cost(mechanism, pot)

    def would_allow(self, mechanism: Mechanism, pot: str | None = None) -> bool:
        """Whether `spend` would record this step now; somebody else may be quicker."""
        try:
            self.require(mechanism, pot)
        except (BudgetSpent, Unsupported):
            return False
        return True

    def require(self, mechanism: Mechanism, pot: str | None = None) -> tuple[str, Decimal]:
        """The cost of a step that would be allowed now; others are refused as `spend` does."""
        payer, cost = self.cost(mechanism, pot)
        with self._session() as state:
            state.budget.require(SpentStep(None, payer, cost, mechanism))
        return payer, cost

    def left(self) -> dict[str, float]:
        """What each pot still holds, rounded down, in the unit in which costs add up."""
        with self._session() as state:
            return state.budget.left()

    def guarantee(self, order: Order | None = None) -> TradeoffCurve:
        """What any attacker can do, however the budget is spent and whenever one stops."""
        return self.budget.guarantee(order)

    def odometer(self, delta: float) -> Odometer:
        """What may be said now, at a time that was chosen by what was seen."""
        with self._session() as state:
            entries = state.budget.spent
        budget = from_record(self.budget.to_record())
        for entry in entries:
            budget.replay(entry)
        return budget.odometer(delta)

    def log(self) -> tuple[LedgerLine, ...]:
        """Every step on record, in the order in which they were spent."""
        with self._session() as state:
            return tuple(state.log)

    def check(self, head: str | None = None) -> LedgerCheck:
        """Read every line anew; `BadLedger` names the first that is not as it was written.

        With the ``head`` of an earlier check, also whether all lines up to then are still there.
        """
        lines, state = self._lines.afresh(), _Replay(self.where)
        with lines.reading() as every:
            state.take(every)
        if head is not None and head not in state.chains:
            raise BadLedger(
                f"{self.where} has lost lines that were there, or was written anew: none of its "
                f"{len(state.chains)} lines has the chain {_checks.shortened(head)}; put back a "
                "copy of it"
            )
        notes = [
            f"line {line.number} bears an earlier time than the line above: a clock was wrong, "
            "and the order is that of the lines"
            for line in state.log
            if line.earlier
        ]
        if lines.unfinished:
            notes.append(
                "a writer was ended before its line was whole: nothing of it counts, and the next "
                "spend takes it away"
            )
        return LedgerCheck(len(state.chains), state.chain, tuple(notes))

    def _begin(self, budget: StepwiseBudget) -> None:
        _checks.instance(StepwiseBudget, "a ta.Budget or a ta.RenyiBudget", budget=budget)
        if budget.spent:
            rule = "have nothing spent: what is to be on record is spent from the ledger"
            _checks.refuse("budget", rule, budget)
        record = json.loads(json.dumps(budget.to_record(), allow_nan=False))
        with self._session(write=True, create=True) as state:
            if state.record is None:
                content = {"tellapart_ledger": _FORMAT, "at": _now(), "budget": record}
                self._lines.add(sealed(1, content, START)[0])
            elif state.record != record:
                rule = f"be that of {self.where}, {state.budget!r}; leave it out to go on with it"
                _checks.refuse("budget", rule, budget)

    @contextmanager
    def _session(self, *, write: bool = False, create: bool = False) -> Iterator[_Replay]:
        """The state with all that others have spent by now, while none of it changes.

        What breaks off between two lines, whatever it is, must not leave one uncounted: all lines
        are then read anew.
        """
        with self._mutex:
            lines = self._lines
            try:
                with lines.writing(create) if write else lines.reading() as new:
                    self._state.take(new)
                    self._refuse_another(self._state.chains)
                    yield self._state
            except BudgetSpent:
                raise
            except BaseException:
                self._lines, self._state = self._lines.afresh(), _Replay(self.where)
                raise

    def _refuse_another(self, chains: Sequence[str]) -> None:
        """Lines that were there once must be there still, however often they are read anew."""
        count, chain = self._seen
        if len(chains) < count or (count and chains[count - 1] != chain):
            raise BadLedger(
                f"{self.where} has lost lines that were there, or another ledger was put in its "
                "place: put back a copy that has them, or open it again"
            )
        self._seen = len(chains), chains[-1] if chains else START


class _Replay:
    """What the lines of a ledger come to, read one after another."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.chains: list[str] = []
        self.record: Mapping[str, Any] | None = None
        self.log: list[LedgerLine] = []
        self._last = datetime.min.replace(tzinfo=UTC)

    @property
    def chain(self) -> str:
        """That of the last line."""
        return self.chains[-1] if self.chains else START

    def take(self, texts: list[str]) -> None:
        """Count lines that follow those before; each must be as it was written."""
        for text in texts:
            line = opened(text, len(self.chains) + 1, self.chain, self.where)
            try:
                if self.record is None:
                    self._begin(line)
                else:
                    self._count(self.read(line))
            except (BudgetSpent, LookupError, TypeError, ValueError, ArithmeticError) as error:
                if isinstance(error, BadLedger):
                    raise
                raise BadLedger(
                    f"line {line.number} of {self.where} was not written by tellapart: {error!s}; "
                    "put the ledger back from a copy"
                ) from error
            self.chains.append(line.chain)

    def read(self, line: ChainLine) -> LedgerLine:
        """A step, from its line."""
        said = line.content
        at = datetime.fromisoformat(said["at"])
        return LedgerLine(
            line.number,
            at,
            said["label"],
            said["mechanism"],
            said["pot"],
            Decimal(said["cost"]),
            at < self._last,
        )

    def _begin(self, line: ChainLine) -> None:
        if line.content["tellapart_ledger"] != _FORMAT:
            raise BadLedger(f"{self.where} was written by a later version of tellapart: use that")
        self._last = datetime.fromisoformat(line.content["at"])
        self.budget = from_record(line.content["budget"])
        self.record = line.content["budget"]

    def _count(self, step: LedgerLine) -> None:
        self.budget.replay(SpentStep(step.label, step.pot, step.cost))
        self.log.append(step)
        self._last = step.at


def _kept(where: str | os.PathLike[str], name: str) -> LineStore:
    """Where the lines are: a text with :// in it is a database."""
    if isinstance(where, str) and "://" in where:
        from tellapart.budget.ledger_sql import LedgerTable  # SQLAlchemy is an extra

        return LedgerTable(where, _label(name) or "budget")
    return LedgerFile(Path(where))


def _label(label: str | None) -> str | None:
    """A name for a step that a line, and a terminal, can hold."""
    if label is None:
        return None
    _checks.instance(str, "a text", label=label)
    if visible(label) != label or not 0 < len(label) <= _LONGEST:
        _checks.refuse("label", f"be one line of text, of {_LONGEST} characters at most", label)
    return label


def _text(mechanism: Mechanism) -> str:
    """A mechanism for people, as short as can be."""
    try:
        return text_of(mechanism)
    except Unsupported:
        return repr(mechanism)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
