"""Ledgers in a real PostgreSQL, which is started for these tests: run by `make test-all`."""

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from ledger_writers import BUDGET, SQL_POINTS, STEP
from test_ledger_faults import KILLED, STEPS, run, spent

import tellapart as ta
from tellapart.budget import ledger_sql

pytestmark = pytest.mark.slow


def tool(name):
    """A program of PostgreSQL; Debian keeps them out of the path."""
    there = [*sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}")), shutil.which(name)]
    return there[0] or pytest.fail(f"{name} must be there: make postgresql installs it")


@pytest.fixture(scope="module")
def server():
    """The address of an empty server, by a socket in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="tellapart-postgresql-"))
    root = os.geteuid() == 0  # as whom PostgreSQL refuses to run
    as_user = ["runuser", "-u", "postgres", "--"] if root else []
    if root:
        shutil.chown(folder, "postgres")

    def call(name, *words):
        command = [*as_user, tool(name), "-D", str(folder / "data"), *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)  # noqa: S603

    call("initdb", "--auth=trust", "--username=tellapart")
    options = f"-k {folder} -c listen_addresses=''"
    call("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
    yield f"postgresql://tellapart@/postgres?host={folder}"
    call("pg_ctl", "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture
def database(server):
    """A database of its own for each test, with a ledger of two steps."""
    sql = ledger_sql.sql
    name = f"t{os.urandom(6).hex()}"
    engine = sql.create_engine(
        server.replace("postgresql", "postgresql+psycopg", 1),
        poolclass=sql.NullPool,
        isolation_level="AUTOCOMMIT",
    )
    with engine.connect() as connection:
        connection.execute(sql.text(f"create database {name}"))
    url = server.replace("/postgres?", f"/{name}?")
    ledger = ta.BudgetLedger.open(url, ta.Budget(**BUDGET))
    ledger.spend(STEP, label="one")
    ledger.spend(STEP, label="two")
    return url


def test_two_writers_never_overspend(database):
    codes = run("racing", *(f"{n}@{database}" for n in range(4)), together="together")
    assert sum(codes) == 38
    labels = [line.label for line in ta.BudgetLedger.open(database).log()]
    assert len(set(labels)) == spent(database) == 40


@pytest.mark.parametrize("point", SQL_POINTS)
def test_a_killed_writer_leaves_the_old_state_or_the_new(database, point):
    assert run("killed", f"{point}@{database}") == [KILLED]
    now = 3 if point == "committed" else 2
    assert spent(database) == now
    ta.BudgetLedger.open(database).spend(STEP, label="next")
    assert spent(database) == now + 1


def test_several_that_open_a_ledger_at_once_open_one(database):
    codes = run("opening", *(f"{name}@{database}" for name in "aaaabb"), together="together")
    assert codes == [0] * 6
    assert ta.BudgetLedger.open(database, name="a").check().lines == 5
    assert ta.BudgetLedger.open(database, name="b").check().lines == 3
    assert spent(database) == 2


def test_whoever_waits_too_long_for_another_writer_is_told(database, monkeypatch):
    monkeypatch.setattr(ledger_sql, "WAIT", 0.1)
    ledger = ta.BudgetLedger.open(database)
    with ledger_sql.LedgerTable(database, "budget").writing():
        with pytest.raises(ta.LimitReached, match=r"kept budget in postgresql://.* locked for 0.1"):
            ledger.spend(STEP)
        assert ledger.left()[STEPS] == 38  # to read, nobody waits
    assert ledger.spend(STEP).number == 4


def test_a_server_that_breaks_off_a_commit_leaves_it_open_and_says_so(database, monkeypatch):
    """Whether it was written nobody can tell then, but the ledger itself."""
    sql = ledger_sql.sql
    ledger = ta.BudgetLedger.open(database)
    add = ledger_sql.LedgerTable.add

    def end(process):
        os.kill(process, signal.SIGTERM)
        with suppress(ProcessLookupError):
            while True:
                os.kill(process, 0)
                time.sleep(0.01)

    def adding(self, line):
        add(self, line)
        backend = self._connection.scalar(sql.select(sql.func.pg_backend_pid()))
        sql.event.listen(self._engine, "commit", lambda _: end(backend))

    with monkeypatch.context() as patched:
        patched.setattr(ledger_sql.LedgerTable, "add", adding)
        with pytest.raises(OSError, match="whether the line was written is not known"):
            ledger.spend(STEP, label="three")
    assert spent(database) == 2
    assert ledger.spend(STEP, label="three").number == 4


def test_whoever_spends_needs_no_right_to_change_a_line(database):
    """The rights that docs/budget-for-a-team.md names."""
    sql = ledger_sql.sql
    name = f"analyst{os.urandom(4).hex()}"
    address = database.replace("postgresql", "postgresql+psycopg", 1)
    engine = sql.create_engine(address, poolclass=sql.NullPool)
    with engine.begin() as connection:
        for order in (
            f"create role {name} login",
            f"grant select, insert on tellapart_ledger_lines to {name}",
            f"grant select, update on tellapart_ledgers to {name}",
        ):
            connection.execute(sql.text(order))
    theirs = database.replace("tellapart@", f"{name}@")
    assert ta.BudgetLedger.open(theirs).spend(STEP, label="three").number == 4
    assert spent(theirs) == 3
    engine = sql.create_engine(address.replace("tellapart@", f"{name}@"), poolclass=sql.NullPool)
    for change in (
        "delete from tellapart_ledger_lines",
        "update tellapart_ledger_lines set line=1",
    ):
        with (
            pytest.raises(sql.exc.ProgrammingError, match="permission denied"),
            engine.begin() as c,
        ):
            c.execute(sql.text(change))


def test_a_server_that_is_not_there_is_told_without_a_password():
    url = "postgresql://me:secret@localhost:1/none"
    with pytest.raises(OSError, match="nothing was written") as said:
        ta.BudgetLedger.open(url)
    assert "secret" not in str(said.value)
    assert "localhost:1/none" in str(said.value)
