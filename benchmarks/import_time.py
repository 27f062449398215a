"""What `import tellapart` costs beside the libraries it stands on, and beside dp_accounting.

Every sample is a fresh, isolated interpreter that reads compiled modules only.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from tempfile import TemporaryDirectory

from _timing import Comparison, medians, print_table, versions

REPEATS = 9
OURS = "import tellapart"
FOUNDATION = "import numpy, scipy.special"
PEER = "import dp_accounting"
SHOWN = 10


def isolated(compiled: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A new interpreter that no PYTHON… variable reaches, with its own folder of .pyc files."""
    command = [sys.executable, "-I", "-X", f"pycache_prefix={compiled}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def import_seconds(statement: str, compiled: str) -> float:
    """The CPU time of this import alone: starting the interpreter is not counted."""
    timed = f"import time; start = time.process_time(); {statement}; end = time.process_time()"
    return float(isolated(compiled, "-c", f"{timed}; print(end - start)").stdout)


def beyond_foundation(compiled: str) -> list[tuple[int, str]]:
    """Microseconds spent in each module that NumPy and scipy.special had not loaded already."""
    report = isolated(compiled, "-X", "importtime", "-c", f"{FOUNDATION}; {OURS}").stderr
    rows = [line.removeprefix("import time:").split("|") for line in report.splitlines()[1:]]
    # Indentation shows nesting; one space means that the statement itself asked for the module.
    asked = [name for _, _, name in rows].index(" scipy.special")
    return sorted(((int(own), name.strip()) for own, _, name in rows[asked + 1 :]), reverse=True)


def print_beyond_foundation(compiled: str) -> None:
    """Where the time goes that is ours."""
    modules = beyond_foundation(compiled)
    total = sum(own for own, _ in modules)
    print(f"\nBeyond NumPy and scipy.special: {len(modules)} modules, {total / 1e3:.1f} ms of wall")
    for own, name in modules[:SHOWN]:
        print(f"{own / 1e3:>8.1f} ms  {name}")


def main() -> None:
    """Measure, and say where the time goes if NumPy and scipy.special are not most of it."""
    with TemporaryDirectory() as compiled:
        statements = [OURS, FOUNDATION, PEER]
        samplers = [partial(import_seconds, statement, compiled) for statement in statements]
        ours, foundation, peer = medians(samplers, REPEATS)
        comparisons = [
            Comparison(FOUNDATION, ours, foundation, target=1.3),
            Comparison(PEER, ours, peer, target=0.7),
        ]
        print(f"{OURS}, median CPU time of {REPEATS} fresh interpreters")
        print(versions("tellapart", "numpy", "scipy", "dp-accounting"), end="\n\n")
        print_table("beside", comparisons)
        if not comparisons[0].met:
            print_beyond_foundation(compiled)


if __name__ == "__main__":
    main()
