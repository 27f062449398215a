"""Run every benchmark and write what they print to one page: `make bench`.

A missed target does not stop the others; it makes the whole run fail at its end.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
# Printed as Markdown, and the one that has a page of its own (`make detection`).
APART = {"accounting.py", "detection.py"}
HEAD = """# Benchmarks

Written by `make bench` (`benchmarks/_page.py`); do not edit. Peers run beside us in the same
process. Read the ratios: seconds depend on the machine, ratios hardly.

## Accounting

Printed by `benchmarks/accounting.py`. [What these tasks mean](composition.md).

"""


def main() -> int:
    """Write the page; 1 if a benchmark fails or misses a target."""
    path = Path(sys.argv[1])
    with TemporaryDirectory() as folder:
        tables = Path(folder) / "accounting.md"
        missed = run("accounting.py", "--markdown", str(tables))[0]
        page = [HEAD, tables.read_text(encoding="utf-8") if tables.exists() else ""]
    for script in sorted(HERE.glob("[a-z]*.py")):
        if script.name in APART:
            continue
        code, printed = run(script.name)
        missed = missed or code
        printed = printed.strip() or f"failed with exit code {code}"
        page.append(f"## `benchmarks/{script.name}`\n\n```text\n{printed}\n```\n\n")
    path.write_text("".join(page).rstrip() + "\n", encoding="utf-8")
    print(f"written: {path}")
    return 1 if missed else 0


def run(script: str, *arguments: str) -> tuple[int, str]:
    """Run one script, showing what it prints as it comes."""
    print(f"== {script}", flush=True)
    command = [sys.executable, "-u", "-X", "utf8", str(HERE / script), *arguments]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
