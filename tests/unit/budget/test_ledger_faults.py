"""A ledger keeps every spend, and no more than the budget, whatever happens to its writers."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import ledger_writers
import pytest
from ledger_writers import BUDGET, POINTS, SQL_POINTS, STEP

import tellapart as ta
from tellapart.budget import ledger as ledgers
from tellapart.budget import ledger_file

KILLED = -signal.SIGKILL
(STEPS,) = [pot for pot in ta.Budget(**BUDGET).left() if pot != "gaussian"]


def run(task, *orders, together="apart"):
    """The exit codes of writers, each in a process of its own."""
    program = [sys.executable, ledger_writers.__file__, task, together, *orders]
    answer = subprocess.run(program, capture_output=True, text=True, timeout=300)  # noqa: S603
    assert answer.stderr == ""
    return [int(code) for code in answer.stdout.split()]


@pytest.fixture
def path(tmp_path):
    """A ledger of two steps."""
    path = tmp_path / "team.jsonl"
    ledger = ta.BudgetLedger.open(path, ta.Budget(**BUDGET))
    ledger.spend(STEP, label="one")
    ledger.spend(STEP, label="two")
    return path


@pytest.fixture
def database(tmp_path):
    """The same in SQLite."""
    url = f"sqlite:///{tmp_path / 'team.db'}"
    ledger = ta.BudgetLedger.open(url, ta.Budget(**BUDGET))
    ledger.spend(STEP, label="one")
    ledger.spend(STEP, label="two")
    return url


def spent(where):
    """How many steps are on record, as whoever opens the ledger next is told; all is sound."""
    ledger = ta.BudgetLedger.open(where)
    assert 40 - ledger.left()[STEPS] == len(ledger.log())
    ledger.check()
    return len(ledger.log())


def test_a_writer_that_is_killed_leaves_the_old_state_or_the_new(path, database, tmp_path):
    before = path.read_bytes()
    places = {point: shutil.copy(path, tmp_path / f"{point}.jsonl") for point in POINTS}
    for point in SQL_POINTS:
        copy = shutil.copy(database.removeprefix("sqlite:///"), tmp_path / f"{point}.db")
        places[point] = f"sqlite:///{copy}"
    codes = run("killed", *(f"{point}@{where}" for point, where in places.items()))
    assert codes == [KILLED] * len(places)
    # Whole but for its end of line, a line counts: the safe side, as an editor may take that away.
    new = {"cut-1", "unsynced", "synced", "locked", "committed"}
    for point, where in places.items():
        assert spent(where) == (3 if point in new else 2), point
        notes = ta.BudgetLedger.open(where).check().notes
        assert len(notes) == (point in {"cut1", "cut40", "cut-2"}), point
        ta.BudgetLedger.open(where).spend(STEP, label="next")
        assert spent(where) == (4 if point in new else 3), point
        assert not ta.BudgetLedger.open(where).check().notes
        assert point in SQL_POINTS or Path(where).read_bytes().startswith(before), point


def test_two_writers_never_overspend(path, database):
    writers = [f"{name}@{where}" for where in (path, database) for name in ("first", "second")]
    codes = run("racing", *writers, together="together")
    for where, two in ((path, codes[:2]), (database, codes[2:])):
        assert sum(two) == 38
        labels = [line.label for line in ta.BudgetLedger.open(where).log()]
        assert len(set(labels)) == spent(where) == 40


def test_an_opening_that_was_broken_off_is_none(path, tmp_path):
    first = path.read_bytes().partition(b"\n")[0]
    for cut in (0, 5, 60, len(first) - 1):
        half = tmp_path / "half.jsonl"
        half.write_bytes(first[:cut])
        with pytest.raises(ta.InvalidArgument, match=r"ledger must be there, .* open it with"):
            ta.BudgetLedger.open(half)
        assert ta.BudgetLedger.open(half, ta.Budget(laplace=1)).left() == {"laplace": 1}
        assert ta.BudgetLedger.open(half).check().lines == 1


def test_a_full_disk_refuses_and_leaves_no_trace(path, database):
    before = path.read_bytes()
    rooms = [(path, 0), (path, 1), (path, 60), (database, 0), (database, 100), (database, 5_000)]
    assert run("filled", *(f"{room}@{where}" for where, room in rooms)) == [0] * len(rooms)
    assert path.read_bytes() == before
    assert spent(path) == spent(database) == 2


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_the_error_of_a_full_disk_names_the_ledger(path, call, monkeypatch):
    before = path.read_bytes()
    ledger = ta.BudgetLedger.open(path)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(OSError, match=r"No space left.*; nothing was written.*team") as said:
            ledger.spend(STEP)
    assert (said.value.errno, said.value.filename) == (errno.ENOSPC, str(path))
    assert path.read_bytes() == before
    assert ledger.spend(STEP, label="three").number == 4
    assert spent(path) == 3


def test_an_interruption_leaves_no_line_uncounted(path, monkeypatch):
    """Also not in the memory of the process that goes on after it."""
    ledger = ta.BudgetLedger.open(path)
    ta.BudgetLedger.open(path).spend(STEP, label="three")

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ledgers._Replay, "take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.left()
    assert ledger.left()[STEPS] == 37
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.spend(STEP)
    assert ledger.left()[STEPS] == 37
    assert spent(path) == 3


def test_a_corrupted_line_is_named_and_nothing_is_spent(path):
    lines = path.read_bytes().splitlines(keepends=True)
    for place in range(3):
        for offset in range(0, len(lines[place]) - 1, 7):
            changed = bytearray(b"".join(lines))
            changed[sum(map(len, lines[:place])) + offset] ^= 1
            path.write_bytes(changed)
            said = "no ledger" if (place, offset < 33) == (0, True) else f"line {place + 1} of"
            with pytest.raises(ta.BadLedger, match=f"{said}.*copy"):
                ta.BudgetLedger.open(path)
    path.write_bytes(b"".join(lines))
    assert spent(path) == 2


@pytest.mark.parametrize("change", ["dropped", "twice", "swapped", "inserted"])
def test_lines_that_are_not_in_their_places_are_seen(path, change):
    first, second, third = path.read_bytes().splitlines(keepends=True)
    wrong = {
        "dropped": (2, [first, third]),
        "twice": (3, [first, second, second, third]),
        "swapped": (2, [first, third, second]),
        "inserted": (2, [first, b"\n", second, third]),
    }
    number, lines = wrong[change]
    path.write_bytes(b"".join(lines))
    with pytest.raises(ta.BadLedger, match=rf"line {number} of .*team.jsonl is not as"):
        ta.BudgetLedger.open(path)


def test_an_open_ledger_sees_what_is_taken_from_it(path):
    ledger = ta.BudgetLedger.open(path)
    whole = path.read_bytes()
    head = ledger.check().head
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    for _ in range(2):  # whoever asks again is not told of less
        with pytest.raises(ta.BadLedger, match="has lost lines that were there"):
            ta.BudgetLedger.open(path).check(head)
    with pytest.raises(ta.BadLedger, match="has lost lines that were there"):
        ledger.spend(STEP)
    path.write_bytes(whole)
    assert ledger.spend(STEP).number == 4
    assert ledger.check(head).lines == 4


def test_a_damaged_ledger_stays_refused_by_whoever_has_it_open(path):
    ledger = ta.BudgetLedger.open(path)
    ta.BudgetLedger.open(path).spend(STEP, label="three")
    path.write_bytes(path.read_bytes().replace(b"three", b"thrxe"))
    for ask in (ledger.left, ledger.left, ledger.log, lambda: ledger.spend(STEP)):
        with pytest.raises(ta.BadLedger, match="line 4 of"):
            ask()


def _check(where, head):
    ta.BudgetLedger.open(where).check(head)


def test_rows_that_were_changed_or_lost_are_seen(database):
    import sqlalchemy as sql

    engine = sql.create_engine(database, poolclass=sql.NullPool)
    ledger = ta.BudgetLedger.open(database)
    head = ledger.check().head
    changes = {
        "update tellapart_ledger_lines set line = replace(line, 'one', 'two')": "line 2 of budget",
        "delete from tellapart_ledger_lines where number = 2": "line 2 of budget",
        "delete from tellapart_ledger_lines where number = 3": "has lost lines that were there",
    }
    for change, said in changes.items():
        with engine.connect() as connection:
            connection.execute(sql.text(change))
            connection.commit()
        with pytest.raises(ta.BadLedger, match=said):
            _check(database, head)
        with engine.begin() as connection:
            connection.execute(sql.text("delete from tellapart_ledger_lines"))
            connection.execute(sql.text("delete from tellapart_ledgers"))
        again = ta.BudgetLedger.open(database, ta.Budget(**BUDGET))
        again.spend(STEP, label="one")
        again.spend(STEP, label="two")
        head = again.check().head


def test_a_clock_that_runs_back_is_told_and_changes_nothing(path, monkeypatch):
    class Slow(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(UTC) - timedelta(days=400)

    ledger = ta.BudgetLedger.open(path)
    with monkeypatch.context() as patched:
        patched.setattr(ledgers, "datetime", Slow)
        line = ledger.spend(STEP, label="three")
    assert line.earlier
    assert [each.earlier for each in ledger.log()] == [False, False, True]
    assert [each.label for each in ledger.log()] == ["one", "two", "three"]
    (note,) = ledger.check().notes
    assert note.startswith("line 4 bears an earlier time than the line above")
    ledger.spend(STEP, label="four")
    assert spent(path) == 4


def test_an_end_of_line_that_an_editor_took_away_costs_nothing(path):
    path.write_bytes(path.read_bytes()[:-1])
    assert spent(path) == 2
    ta.BudgetLedger.open(path).spend(STEP)
    assert spent(path) == 3
    assert path.read_bytes().count(b"\n") == 4


def test_whoever_waits_too_long_for_another_writer_is_told(path, database, monkeypatch):
    monkeypatch.setattr(ledger_file, "WAIT", 0.05)
    busy, other = ledger_file.LedgerFile(path), ta.BudgetLedger.open(path)
    with busy.writing():
        for ask in (other.left, lambda: other.spend(STEP)):
            with pytest.raises(ta.LimitReached, match=r"kept .*team\.jsonl locked for 0.05 s"):
                ask()
    with busy.reading():
        assert other.left()[STEPS] == 38
    assert other.spend(STEP).number == 4


def test_a_copy_put_in_its_place_while_one_waits_is_the_ledger(path, monkeypatch):
    """A line in a file that was replaced would be lost."""
    ledger, lock = ta.BudgetLedger.open(path), ledger_file._lock
    copy = shutil.copy(path, path.with_name("copy"))

    def replacing(file, exclusive):
        if copy.exists():
            copy.replace(path)
        lock(file, exclusive)

    monkeypatch.setattr(ledger_file, "_lock", replacing)
    ledger.spend(STEP, label="three")
    assert not copy.exists()
    assert spent(path) == 3


def test_other_files_are_left_alone(tmp_path):
    for content in ("hello", "a,b\n1,2\n", "{}", '{"line": 1, "of": "another program"}\n'):
        path = tmp_path / "file"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(ta.BadLedger, match="is no ledger"):
            ta.BudgetLedger.open(path, ta.Budget(gaussian=1))
        assert path.read_text(encoding="utf-8") == content


def test_every_cut_of_a_line_is_the_state_before_it(path):
    whole = path.read_bytes()
    start = len(b"".join(whole.splitlines(keepends=True)[:2]))
    for end in (*range(start, len(whole) - 4, 9), *range(len(whole) - 4, len(whole) + 1)):
        path.write_bytes(whole[:end])
        assert len(ta.BudgetLedger.open(path).log()) == (2 if end >= len(whole) - 1 else 1)


def test_a_ledger_of_a_later_version_is_not_read(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    content = json.loads(lines[0])
    del content["chain"], content["line"]
    text, _ = ledgers.sealed(1, {**content, "tellapart_ledger": 11}, ledgers.START)
    path.write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(ta.BadLedger, match="by a later version of tellapart"):
        ta.BudgetLedger.open(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_writers_killed_at_any_moment_lose_nothing_that_was_acknowledged(kind, tmp_path):
    """Each writer says what it has spent; what it said is on record, and one more at most."""
    where = f"sqlite:///{tmp_path}/many.db" if kind == "sqlite" else str(tmp_path / "many.jsonl")
    ledger = ta.BudgetLedger.open(where, ta.Budget(steps={STEP: 10**6}))
    acknowledged = 0
    for moment in range(12):
        program = [sys.executable, ledger_writers.__file__, "telling", "apart", f"{moment}@{where}"]
        writer = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)  # noqa: S603
        told = [writer.stdout.readline() for _ in range(1 + 5 * moment)]
        os.kill(int(told[0].split()[0]), signal.SIGKILL)
        said, _ = writer.communicate(timeout=60)
        acknowledged += sum("spent" in line for line in (*told, *said.splitlines()))
        assert acknowledged <= len(ledger.log()) <= acknowledged + 1
        acknowledged = len(ledger.log())
        assert ledger.check().lines == acknowledged + 1
