"""What the benchmarks share: CPU times taken in turns, one table, the versions behind a number."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

Sampler = Callable[[], float]


@dataclass(frozen=True)
class Comparison:
    """CPU seconds of ours beside the peer's, and how many times the peer's we allow ourselves."""

    subject: str
    ours: float
    theirs: float
    target: float

    @property
    def ratio(self) -> float:
        """How many times as long as the peer we take."""
        return self.ours / self.theirs

    @property
    def met(self) -> bool:
        """Whether we stay within the target."""
        return self.ratio <= self.target


def cpu_seconds(task: Callable[[], object]) -> float:
    """The CPU time, of user and system, that this process spends on one call."""
    start = time.process_time()
    task()
    return time.process_time() - start


def medians(samplers: Sequence[Sampler], repeats: int) -> list[float]:
    """The median of each sampler. They take turns, so that a slow spell of the machine hits all.

    A first round warms up caches and is not counted.
    """
    rounds = [[sample() for sample in samplers] for _ in range(repeats + 1)]
    return [statistics.median(column) for column in zip(*rounds[1:], strict=True)]


def versions(*packages: str) -> str:
    """The interpreter and the packages that a number was measured with."""
    used = [f"{package} {version(package)}" for package in packages]
    return ", ".join([f"Python {platform.python_version()}", *used])


def print_table(subject: str, comparisons: Iterable[Comparison]) -> None:
    """One line for each comparison, in CPU seconds."""
    print(f"{subject:<30}{'tellapart s':>12}{'peer s':>10}{'ratio':>8}{'target':>9}")
    for row in comparisons:
        missed = "" if row.met else "  missed"
        print(
            f"{row.subject:<30}{row.ours:>12.4f}{row.theirs:>10.4f}"
            f"{row.ratio:>8.2f}{f'≤ {row.target}':>9}{missed}"
        )


def timed(task: Callable[..., float], *arguments: object) -> tuple[float, float]:
    """The answer, and the CPU seconds it took."""
    start = time.process_time()
    result = task(*arguments)
    return result, time.process_time() - start


def print_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table whose first column is words."""
    for row in [head, *rows]:
        line = f"{row[0]:<40}" + "".join(f"{cell:>12}" for cell in row[1:])
        print(line.rstrip(), flush=True)
    print()


def told(what: str, met: bool) -> bool:
    """Say whether a target is met; True if it is not."""
    print(f"Target: {what}: {'met' if met else 'missed'}.")
    return not met


def power_of_ten(n: int) -> str:
    """10^k for the head of a table."""
    return f"10^{len(str(n)) - 1}"
