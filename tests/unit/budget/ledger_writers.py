"""Writers of ledgers, in processes of their own: some are killed on the way, some meet a full disk.

Run as a program with a task and its arguments. Each child is a fork, so that all share one start.
"""

import errno
import os
import signal
import sys
import traceback
from pathlib import Path

import tellapart as ta

STEP = ta.Gaussian(sigma=10).sampled(0.01)
BUDGET = {"gaussian": 1.0, "steps": {STEP: 40}}
# How many bytes of a line are written before a writer is killed; negative ones are left out.
CUTS = (0, 1, 40, -2, -1)
POINTS = ("before", *(f"cut{cut}" for cut in CUTS), "unsynced", "synced", "locked")
SQL_POINTS = ("begun", "added", "committing", "committed")


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def armed(point):
    """This process will be killed at that point of its next spend."""
    write, fsync = os.write, os.fsync

    def cut(file, data):
        write(file, data[: int(point[3:]) if point != "cut0" else 0])
        die()

    def after(file):
        fsync(file)
        die()

    if point == "before":
        os.ftruncate = die
    elif point.startswith("cut"):
        os.write = cut
    elif point == "locked":
        os.close = die
    else:
        os.fsync = {"unsynced": die, "synced": after}[point]


def armed_in_sql(point):
    from tellapart.budget.ledger_sql import LedgerTable, sql

    add = LedgerTable.add

    def adding(self, line):
        if point == "begun":
            die()
        add(self, line)
        if point == "added":
            die()
        if point == "committing":
            sql.event.listen(self._engine, "commit", die)

    LedgerTable.add = adding


def killed(point, where):
    ledger = ta.BudgetLedger.open(where)
    (armed_in_sql if "://" in where else armed)(point)
    ledger.spend(STEP, label="killed")
    die()  # "committed"


def filled(limit, where):
    """A file may grow by so many bytes and no more, as on a disk that is nearly full.

    A database has a journal, which is empty before.
    """
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    ledger = ta.BudgetLedger.open(where)
    size = 0 if "://" in where else Path(where).stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + int(limit), resource.RLIM_INFINITY))
    try:
        ledger.spend(STEP, label="no room")
    except OSError as error:
        known = {errno.EFBIG, errno.EIO, errno.ENOSPC}
        said = "nothing was written" in str(error) or "://" in where  # which may not know
        os._exit(0 if error.errno in known and said else 3)
    os._exit(2)


def racing(writer, where):
    """Spend until nothing is left; the exit code is how often that was allowed."""
    ledger = ta.BudgetLedger.open(where)
    spent = 0
    while True:
        try:
            ledger.spend(STEP, label=f"{writer}-{spent}")
        except ta.BudgetSpent:
            os._exit(spent)
        spent += 1


def opening(name, where):
    """Open a ledger, as others do at the same time, and spend once."""
    ta.BudgetLedger.open(where, ta.Budget(**BUDGET), name=name).spend(STEP)
    os._exit(0)


def telling(writer, where):
    """Spend on and on, and say so each time: whoever reads it kills this process meanwhile."""
    ledger = ta.BudgetLedger.open(where)
    while True:
        ledger.spend(STEP, label=writer)
        say(f"{os.getpid()} spent")


def say(what):
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def forked(task, *arguments):
    child = os.fork()
    if child == 0:
        try:
            task(*arguments)
        except (Exception, KeyboardInterrupt):  # noqa: BLE001 (for the test to show)
            traceback.print_exc()
        finally:
            os._exit(99)
    return child


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    task, together, *orders = sys.argv[1:]
    if any("://" in order for order in orders):
        from tellapart.budget import ledger_sql  # noqa: F401 (once, for all children)
    waiting = []
    for order in orders:  # such as synced@/tmp/ledger.jsonl
        child = forked(globals()[task], *order.split("@", 1))
        waiting.append(child)
        if together == "apart":
            say(ended(waiting.pop()))
    for child in waiting:
        say(ended(child))
