"""A score table larger than memory should be: how long both sides take to answer, and how much.

Writes a Parquet file of Gaussian scores, asks 64 ranks and 64 thresholds of each side, splits both
sides and asks the parts, then describes the attack. Removes what it wrote.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
from _timing import versions

from tellapart.audit.attack_metrics import metrics
from tellapart.audit.scores import Scores
from tellapart.data.ranked import Ranked
from tellapart.data.sorted_runs import ScoreFile

ASKED = 64


class Clock:
    """Wall and CPU seconds and the largest memory so far."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def lap(self, what: str) -> None:
        """Print what the last step took."""
        wall, cpu = time.perf_counter(), time.process_time()
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{what:<30}{wall - self._wall:>9.2f}{cpu - self._cpu:>9.2f}{most:>10.2f}", flush=True
        )
        self._wall, self._cpu = wall, cpu


def write(path: Path, rows: int, kind: str, seed: float) -> None:
    """As many members, N(1, 1), as others, N(0, 1), in mixed order."""
    score = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) + (i % 2)"
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(?)", [seed]).fetchall()
        connection.execute(
            f"COPY (SELECT CAST({score} AS {kind}) AS score, i % 2 = 1 AS member "  # noqa: S608
            f"FROM range({2 * rows}) t(i)) TO '{path}' (FORMAT parquet)"
        )


def ask(*sides: Ranked) -> None:
    """The questions an audit asks."""
    for side in sides:
        side.descending(np.geomspace(1, side.count, ASKED).astype(np.int64))
        side.above(np.linspace(-3, 5, ASKED))


def main() -> None:
    """Measure at a size from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7, help="rows on each side")
    parser.add_argument("--kind", choices=["DOUBLE", "FLOAT"], default="DOUBLE")
    chosen = parser.parse_args()
    print(versions("duckdb", "numpy"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        write(path, int(chosen.rows), chosen.kind, seed=0.5)
        print(f"{2 * int(chosen.rows)} rows, {path.stat().st_size / 1e9:.2f} GB")
        print(f"{'':<30}{'wall s':>9}{'CPU s':>9}{'peak GiB':>10}")
        clock = Clock()
        with ScoreFile(path) as file:
            clock.lap("read and sort into runs")
            ask(file.members, file.non_members)
            clock.lap("64 ranks, 64 thresholds")
            parts = [*file.members.split(0.2, 1), *file.non_members.split(0.2, 2)]
            clock.lap("split both sides")
            ask(*parts)
            clock.lap("the same of four parts")
            auc = metrics(Scores(file.members, file.non_members)).auc
            clock.lap(f"metrics (AUC {auc:.6f})")


if __name__ == "__main__":
    main()
