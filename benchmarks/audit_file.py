"""From a Parquet file of attack scores to a verdict: wall seconds and peak memory.

By default 1.5·10^7 members and non-members each, more than fit in memory. ``--rows 1e8`` is the
full size that the limits are for; it needs 4 GB in the temporary folder. The audit runs in a
process of its own on at most two cores; writing the file is not counted.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from _score_file import write
from _timing import told, versions

import tellapart as ta
from tellapart import audit

ROWS = 15_000_000
SECONDS, GIB = 120.0, 4.0
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
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage / 2**20 if sys.platform != "darwin" else usage / 2**30
    print(f"\nwall {end - start:.1f} s (reading {read - start:.1f} s), CPU {cpu:.1f} s")
    print(f"{end - start} {peak}")


def main() -> int:
    """Write the file, have it audited, say what it took; 1 if a limit is passed."""
    if "--audit" in sys.argv:
        judged(sys.argv[sys.argv.index("--audit") + 1])
        return 0
    rows = int(float(sys.argv[sys.argv.index("--rows") + 1])) if "--rows" in sys.argv else ROWS
    print(f"tellapart {ta.__version__}, {versions('numpy', 'scipy', 'duckdb')}")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        write(path, rows, "DOUBLE", seed=0.5)
        size = path.stat().st_size / 1e9
        print(f"{rows:,} members, {rows:,} non-members, {size:.2f} GB of Parquet\n", flush=True)
        command = [sys.executable, "-X", "utf8", __file__, "--audit", str(path)]
        printed = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    *lines, measured = printed.stdout.strip().splitlines()
    print("\n".join(lines))
    wall, peak = map(float, measured.split())
    missed = told(f"under {SECONDS:g} s of wall; {wall:.1f}", wall < SECONDS)
    return int(missed | told(f"under {GIB:g} GiB at its peak; {peak:.2f}", peak < GIB))


if __name__ == "__main__":
    sys.exit(main())
