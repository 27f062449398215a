"""Run every benchmark and write what they print to one page: `make bench`.

Names of scripts (`make bench ONLY='gdp interactive'`) run these alone and leave the rest of the
page as it is. A missed target does not stop the others; it makes the whole run fail at its end.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
# They have pages of their own: `make detection`, `make one-run-power`, `make planned-power`,
# `make training-bugs`, `make watched-bugs`.
APART = {"detection", "one_run_power", "planned_power", "training_bugs", "watched_bugs"}
# The size for the page, where a script by itself runs for much longer.
ARGUMENTS = {"scale": ("--calls", "1e8")}
HEAD = """# Benchmarks

Written by `make bench` (`benchmarks/_page.py`); do not edit. Peers run beside us in the same
process. Read the ratios: seconds depend on the machine, ratios hardly.
"""
ACCOUNTING = "Printed by `benchmarks/accounting.py`. [What these tasks mean](composition.md)."


def main() -> int:
    """Write the page; 1 if a benchmark fails or misses a target."""
    path, asked = Path(sys.argv[1]), sys.argv[2:]
    known = sorted(path.stem for path in HERE.glob("[a-z]*.py") if path.stem not in APART)
    if unknown := sorted(set(asked) - set(known)):
        print(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(known)}")
        return 2
    sections = read(path.read_text(encoding="utf-8")) if asked and path.exists() else {}
    missed, start = 0, time.perf_counter()
    for name in asked or known:
        code, sections[title(name)] = section(name)
        missed = missed or code
        kept = [each for each in map(title, known) if each in sections]
        path.write_text(written({each: sections[each] for each in kept}), encoding="utf-8")
    print(f"written: {path}, after {(time.perf_counter() - start) / 60:.1f} minutes")
    return 1 if missed else 0


def title(name: str) -> str:
    """The heading of a script's section."""
    return "Accounting" if name == "accounting" else f"`benchmarks/{name}.py`"


def read(page: str) -> dict[str, str]:
    """The sections of a page, by their headings."""
    _, *parts = re.split(r"^## ", page, flags=re.MULTILINE)
    return {heading: body.strip() for heading, _, body in (part.partition("\n") for part in parts)}


def written(sections: dict[str, str]) -> str:
    """A page of such sections."""
    return "\n".join([HEAD, *(f"## {heading}\n\n{body}\n" for heading, body in sections.items())])


def section(name: str) -> tuple[int, str]:
    """Run one script: its exit code, and what the page says of it."""
    if name != "accounting":
        code, printed = run(name, *ARGUMENTS.get(name, ()))
        return code, f"```text\n{printed.strip() or f'failed with exit code {code}'}\n```"
    with TemporaryDirectory() as folder:
        tables = Path(folder) / "accounting.md"
        code = run(name, "--markdown", str(tables))[0]
        printed = tables.read_text(encoding="utf-8") if tables.exists() else ""
        return code, f"{ACCOUNTING}\n\n{printed.strip() or f'Failed with exit code {code}.'}"


def run(name: str, *arguments: str) -> tuple[int, str]:
    """Run one script, showing what it prints as it comes."""
    print(f"== {name}.py {' '.join(arguments)}".rstrip(), flush=True)
    start = time.perf_counter()
    command = [sys.executable, "-u", "-X", "utf8", str(HERE / f"{name}.py"), *arguments]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    print(f"== {name}.py took {time.perf_counter() - start:.0f} s\n", flush=True)
    return process.returncode, "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
