"""A probe of 10^9 calls on each input, on a dask cluster of two workers with 2 GiB each.

    python benchmarks/scale.py                    # 10^9 calls on each input
    python benchmarks/scale.py --calls 1e8

The mechanism is a vectorised Laplace mechanism with ε = 1. Printed are the bound on ε, wall and CPU
seconds (of the workers, and of the process that asks), and the largest memory of each worker.
"""

from __future__ import annotations

import argparse
import resource
import time

import joblib
from dask.distributed import Client, LocalCluster

import tellapart as ta
from tellapart import audit

LIMIT = "2GiB"


def noisy_count(data, rng, size=None):
    """Correct for ε = 1."""
    return len(data) + rng.laplace(0, 1, size)


def peak():
    """The largest resident memory of a process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Probe on a cluster, and say what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=float, default=1e9, help="calls on each input")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with (
        LocalCluster(
            n_workers=asked.workers,
            threads_per_worker=1,
            memory_limit=LIMIT,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        idle = client.run(peak)
        before = client.run(time.process_time)
        wall, home = time.perf_counter(), time.process_time()
        with joblib.parallel_config(backend="dask"):
            verdict = audit.probe(
                noisy_count,
                [3, 1],
                [3, 1, 4],
                claim=ta.guarantee(epsilon=1),
                samples=int(asked.calls),
            )
        wall, home = time.perf_counter() - wall, time.process_time() - home
        spent = sum(client.run(time.process_time).values()) - sum(before.values())
        print(f"calls on each input: {int(asked.calls):,}; workers: {asked.workers} of {LIMIT}")
        print(f"ε {verdict.epsilon_lower()}; refuted: {verdict.refuted} (the claim ε = 1 is true)")
        print(f"wall {wall:.1f} s; CPU {spent:.1f} s on workers, {home:.1f} s at home")
        for worker, most in client.run(peak).items():
            print(f"largest memory of {worker}: {most:.0f} MiB ({idle[worker]:.0f} MiB when idle)")


if __name__ == "__main__":
    main()
