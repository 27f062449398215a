"""Individual accounting from a Parquet file of contributions: wall seconds and peak memory.

10^6 records, 10^3 steps and 10^7 contributions (record, step, norm), their rows in random order.
The accounting runs in a process of its own on at most two cores; writing the file is not counted.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from _timing import told, versions

import tellapart as ta

RECORDS, STEPS, ROWS = 10**6, 10**3, 10**7
MU, SIGMA = 1.0, 2.0
SECONDS, GIB = 20.0, 1.0


def write(path: Path) -> None:
    """As many contributions in each step, all by different records, with norms from 0 to 1."""
    each = ROWS // STEPS
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)").fetchall()
        connection.execute(
            f"COPY (SELECT (i % {each} * 7919 + i // {each} * 104729) % {RECORDS} AS record, "  # noqa: S608
            f"CAST(i // {each} AS INTEGER) AS step, random() AS norm "
            f"FROM range({ROWS}) t(i) ORDER BY hash(i)) TO '{path}' (FORMAT parquet)"
        )


def accounted(path: str) -> None:
    """Pay for every contribution; in a process of its own."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    start, before = time.perf_counter(), time.process_time()
    budget = ta.IndividualBudget(RECORDS, gaussian=MU)
    fits = budget.spend_file(path, sigma=SIGMA)
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage / 2**20 if sys.platform != "darwin" else usage / 2**30
    print(f"{fits.mean():.1%} of the contributions fit a pot of μ = {MU:g} at σ = {SIGMA:g}")
    print(f"wall {wall:.1f} s, CPU {cpu:.1f} s")
    print(f"{wall} {peak}")


def main() -> int:
    """Write the file, have it accounted, say what it took; 1 if a limit is passed."""
    if "--account" in sys.argv:
        accounted(sys.argv[sys.argv.index("--account") + 1])
        return 0
    print(f"tellapart {ta.__version__}, {versions('numpy', 'duckdb')}")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "contributions.parquet"
        write(path)
        size = path.stat().st_size / 1e9
        print(
            f"{RECORDS:,} records, {STEPS:,} steps, {ROWS:,} contributions, "
            f"{size:.2f} GB of Parquet\n",
            flush=True,
        )
        command = [sys.executable, "-X", "utf8", __file__, "--account", str(path)]
        printed = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    *lines, measured = printed.stdout.strip().splitlines()
    print("\n".join(lines))
    wall, peak = map(float, measured.split())
    missed = told(f"at most {SECONDS:g} s of wall; {wall:.1f}", wall <= SECONDS)
    return int(missed | told(f"at most {GIB:g} GiB at its peak; {peak:.2f}", peak <= GIB))


if __name__ == "__main__":
    sys.exit(main())
