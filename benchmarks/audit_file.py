"""From a file of attack scores to a verdict: wall seconds and peak memory.

By default 5·10^7 members and non-members each, 10^8 rows of Parquet, within 1 GiB of memory;
``--kind csv`` and ``--kind npz`` write other files. It needs 4 GB in the temporary folder. The
audit runs in a process of its own on at most two cores; writing the file is not counted.
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
import numpy as np
from _score_file import write
from _timing import told, versions

import tellapart as ta
from tellapart import audit

ROWS = 50_000_000
# Text is read cell by cell, and takes its time.
SECONDS = {"parquet": 120.0, "npz": 120.0, "csv": 600.0}
GIB = 1.0
CLAIMS = (ta.guarantee(epsilon=2.0, delta=1e-5), ta.Gaussian(1.0))


def judged(path: str) -> None:
    """Read, audit, judge; in a process of its own."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    start, before = time.perf_counter(), time.process_time()
    scores = audit.Scores.read(path)
    read = time.perf_counter()
    evidence = audit.many_runs(scores)
    print(f"ε at δ = 1e-5: {evidence.epsilon_lower(1e-5)}; the truth is 4.3772")
    for claim in CLAIMS:
        print(audit.judge(claim, evidence))
    end, cpu = time.perf_counter(), time.process_time() - before
    peak = _peak()
    print(f"\nwall {end - start:.1f} s (reading {read - start:.1f} s), CPU {cpu:.1f} s")
    print(f"{end - start} {peak}")


def _peak() -> float:
    """The largest memory of this process in GiB; getrusage would count that of its parent, too."""
    status = Path("/proc/self/status")
    if status.exists():
        held = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(held.split()[1]) / 2**20
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage / 2**20 if sys.platform != "darwin" else usage / 2**30


def written(folder: Path, rows: int, kind: str) -> Path:
    """As many members as non-members, in mixed order, in a file of this kind."""
    path = folder / "scores.parquet"
    write(path, rows, "DOUBLE", seed=0.5)
    if kind == "csv":
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (FROM '{path}') TO '{path.with_suffix('.csv')}' (FORMAT csv, HEADER)"
            )
    elif kind == "npz":
        with duckdb.connect() as connection:
            columns = connection.execute(f"FROM '{path}'").fetchnumpy()
        np.savez(path.with_suffix(".npz"), **columns)
    return path.with_suffix(f".{kind}")


def main() -> int:
    """Write the file, have it audited, say what it took; 1 if a limit is passed."""
    if "--audit" in sys.argv:
        judged(sys.argv[sys.argv.index("--audit") + 1])
        return 0
    rows = int(float(sys.argv[sys.argv.index("--rows") + 1])) if "--rows" in sys.argv else ROWS
    kind = sys.argv[sys.argv.index("--kind") + 1] if "--kind" in sys.argv else "parquet"
    print(f"tellapart {ta.__version__}, {versions('numpy', 'scipy', 'duckdb')}")
    with TemporaryDirectory() as folder:
        path = written(Path(folder), rows, kind)
        size = path.stat().st_size / 1e9
        print(
            f"{rows:,} members, {rows:,} non-members, {size:.2f} GB as {path.suffix}\n", flush=True
        )
        command = [sys.executable, "-X", "utf8", __file__, "--audit", str(path)]
        printed = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    *lines, measured = printed.stdout.strip().splitlines()
    print("\n".join(lines))
    wall, peak = map(float, measured.split())
    missed = told(f"under {SECONDS[kind]:g} s of wall; {wall:.1f}", wall < SECONDS[kind])
    return int(missed | told(f"under {GIB:g} GiB at its peak; {peak:.2f}", peak < GIB))


if __name__ == "__main__":
    sys.exit(main())
