"""What comes with tellapart, and under which terms: writes licences.md from what is installed.

Run `make licences` where every extra is installed.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

HEAD = """# Licences of what tellapart uses

Written by `make licences` (`docs/licences.py`) from what the packages say of themselves; do not
edit. tellapart itself is under the Apache License 2.0. It contains MathJax {mathjax} for the formulas of this
documentation (`docs/_static/mathjax`, Apache License 2.0) and nothing else that others wrote.

| package | asked for by | licence |
|---|---|---|
"""


def asked() -> dict[str, set[str]]:
    """Each package and the extras that ask for it; the base has no name."""
    found: dict[str, set[str]] = {}
    for line in requires("tellapart") or []:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name and name[0] != "tellapart":
            found.setdefault(name[0].lower(), set()).add(extra[1] if extra else "")
    return found


def licence(name: str) -> str:
    """What a package says of its licence, in a few words."""
    said = metadata(name)
    if said.get("License-Expression"):
        return str(said["License-Expression"])
    classified = [
        one.rpartition(" :: ")[2]
        for one in said.get_all("Classifier") or []
        if one.startswith("License :: OSI")
    ]
    if classified:
        return ", ".join(classified)
    return str(said.get("License") or "not said").splitlines()[0]


def table() -> str:
    """The page."""
    script = Path(__file__).parent / "_static" / "mathjax" / "tex-svg.js"
    version = re.search(r'"(3\.\d+\.\d+)"', script.read_text(encoding="utf-8"))
    rows = []
    for name, extras in sorted(asked().items()):
        if extras <= {"dev", "peers"}:
            continue  # for those who work on tellapart, not for those who use it
        by = ", ".join(
            sorted(
                f"`{one}`" if one else "every install" for one in extras - {"dev", "peers", "all"}
            )
        )
        try:
            rows.append(f"| {name} | {by} | {licence(name)} |")
        except PackageNotFoundError:
            sys.exit(f"{name} is not installed: run `make licences`")
    return HEAD.format(mathjax=version[1] if version else "3") + "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("licences.md").write_text(table(), encoding="utf-8")
