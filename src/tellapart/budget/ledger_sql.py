"""The lines of a ledger in a database, SQLite or PostgreSQL (extra ``sql``, SQLAlchemy).

The lines are those of a ledger in a file, with the same hash chain. A writer locks the ledger's
row (PostgreSQL) or the database (SQLite) before it reads what is left, so that two never spend
the same; a transaction that is broken off leaves nothing.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.budget.ledger_file import WAIT
from tellapart.errors import BadLedger, InvalidArgument, LimitReached, Unsupported

try:
    import sqlalchemy as sql
    from sqlalchemy.dialects import postgresql, sqlite
except ImportError as missing:
    raise Unsupported("ledgers in a database need: pip install 'tellapart[sql]'") from missing

_TABLES = sql.MetaData()
# One row for each ledger, for a writer to lock.
_LEDGERS = sql.Table(
    "tellapart_ledgers", _TABLES, sql.Column("name", sql.String(200), primary_key=True)
)
_LINES = sql.Table(
    "tellapart_ledger_lines",
    _TABLES,
    sql.Column("ledger", sql.ForeignKey(_LEDGERS.c.name), primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("line", sql.Text, nullable=False),
)
# Those that the extra brings.
_DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}
# SQLite's name, and the SQLSTATE of PostgreSQL.
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "55P03")
_FULL = ("SQLITE_FULL", "53100")
_MAKING = 7_461_139  # any number that nobody else locks
_UNKNOWN = (
    "; whether the line was written is not known: read the log before spending this again, as a "
    "step that is in it stays spent"
)


class LedgerTable:
    """Lines in a database; whoever reads or writes gets those that were added since."""

    unfinished = False  # a transaction is whole or not there

    def __init__(self, url: str, name: str) -> None:
        try:
            place = sql.make_url(url)
        except sql.exc.ArgumentError:
            raise InvalidArgument(  # what was given may hold a password
                "ledger must be a file, or the URL of a database: sqlite:///... or postgresql://..."
            ) from None
        kind = place.get_backend_name()
        if kind not in _DRIVERS:
            _checks.refuse("ledger", "be in sqlite:///... or postgresql://...", kind)
        if kind == "sqlite" and place.database in (None, "", ":memory:"):
            _checks.refuse("ledger", "be in a file, such as sqlite:///budgets.db", place.database)
        place = place.set(drivername=_DRIVERS[kind])
        self.where = f"{name} in {_shown(place)}"
        self._url = url
        self._name = name
        self._lite = kind == "sqlite"
        self._file = Path(place.database or "")
        self._read = 0  # lines that were given
        self._last = ""  # the last of them
        self._end = 0  # and those that were added since
        self._connection: Any = None
        try:
            self._engine = sql.create_engine(
                place,
                poolclass=sql.NullPool,
                connect_args={"timeout": WAIT} if self._lite else {"connect_timeout": int(WAIT)},
            )
        except ModuleNotFoundError as missing:
            raise Unsupported("PostgreSQL needs: pip install 'tellapart[sql]'") from missing
        if self._lite:
            sql.event.listen(self._engine, "connect", _prepared)

    def afresh(self) -> LedgerTable:
        """The same table, of which no line was read yet."""
        return LedgerTable(self._url, self._name)

    @contextmanager
    def reading(self) -> Iterator[list[str]]:
        """New lines, as of one moment."""
        self._look()
        with self._transaction("BEGIN"):
            if not sql.inspect(self._connection).has_table(_LINES.name):
                raise FileNotFoundError(errno.ENOENT, "there is no ledger", self.where)
            yield self._new_lines()

    @contextmanager
    def writing(self, create: bool = False) -> Iterator[list[str]]:
        """New lines, while nobody else writes to this ledger; then ``add`` may be called.

        What was added counts once this block has ended without an error.
        """
        if not create:
            self._look()
        with self._transaction("BEGIN IMMEDIATE"):
            if create:
                self._create()
            row = sql.select(_LEDGERS).where(_LEDGERS.c.name == self._name).with_for_update()
            if self._connection.execute(row).first() is None:
                raise FileNotFoundError(errno.ENOENT, "there is no ledger", self.where)
            yield self._new_lines()

    def add(self, line: str) -> None:
        """One more line."""
        self._end += 1
        row = {"ledger": self._name, "number": self._end, "line": line}
        self._connection.execute(sql.insert(_LINES), row)

    def _new_lines(self) -> list[str]:
        """From the last line on that is known, which must still be there."""
        rows = self._connection.execute(
            sql.select(_LINES.c.number, _LINES.c.line)
            .where(_LINES.c.ledger == self._name, _LINES.c.number >= self._read)
            .order_by(_LINES.c.number)
        ).all()
        if self._read and (not rows or rows[0].line != self._last):
            raise BadLedger(f"{self.where} has lost lines that were there: put back a copy of it")
        lines = [row.line for row in rows if row.number > self._read]
        self._read = self._end = self._read + len(lines)
        self._last = rows[-1].line if rows else ""
        return lines

    def _look(self) -> None:
        """SQLite would make a file wherever there is none."""
        if self._lite and not self._file.exists():
            raise FileNotFoundError(errno.ENOENT, "there is no ledger", self.where)

    def _create(self) -> None:
        """The tables and the ledger's row, where they are not there yet."""
        if not self._lite:  # two that make the same tables at once would fail
            self._connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_MAKING)))
        _TABLES.create_all(self._connection)
        insert = sqlite.insert if self._lite else postgresql.insert
        self._connection.execute(insert(_LEDGERS).on_conflict_do_nothing(), {"name": self._name})

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        done = False
        try:
            with self._engine.connect() as self._connection, self._connection.begin():
                if self._lite:
                    self._connection.exec_driver_sql(begin)
                else:
                    wait = f"{math.ceil(1000 * WAIT)}ms"
                    self._connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{wait}'")
                    self._connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                yield
                done = True
        except sql.exc.DBAPIError as error:
            raise self._in_words(error, done) from error

    def _in_words(self, error: sql.exc.DBAPIError, done: bool) -> Exception:
        """What a database said, and whether anything was written."""
        orig: Any = error.orig
        code = str(getattr(orig, "sqlite_errorname", None) or getattr(orig, "sqlstate", None))
        if code.startswith(_BUSY):
            return LimitReached(
                f"another process has kept {self.where} locked for {short(WAIT)} s; nothing was "
                "written: try again"
            )
        full = code.startswith(_FULL)
        unknown = done and not full  # it may have failed after all was written
        said = f"{' '.join(str(orig).split())}{_UNKNOWN if unknown else '; nothing was written'}"
        return OSError(errno.ENOSPC if full else errno.EIO, said, self.where)


def _shown(place: sql.URL) -> str:
    """Where a database is, without a password, wherever in the URL it stands."""
    known = {key: value for key, value in place.query.items() if key in ("host", "port")}
    return place.set(drivername=place.get_backend_name(), query=known).render_as_string()


def _prepared(connection: Any, _: object) -> None:
    """As SQLite's own page on durability asks for.

    Python's module would begin a transaction at the first write, after what is left was read.
    """
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")
