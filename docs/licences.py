"""What comes with tellapart, and under which terms: writes licences.md from what is installed.

Run `make licences` where every extra is installed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

HEAD = """# Licences of what tellapart uses

Written by `make licences` (`docs/licences.py`) from what the packages say of themselves; do not
edit. tellapart itself is under the Apache License 2.0. Its repository holds MathJax {mathjax} for
the formulas of this documentation (`docs/_static/mathjax`, Apache License 2.0) and no other code
that others wrote. Data name their sources: `examples/data` and [deployments](deployments.md).

Listed is what tellapart asks for by name. What those packages bring in turn depends on their
releases and on the machine (PyTorch may bring CUDA, which is not free software).

| package | asked for by | licence |
|---|---|---|
"""
ROOT = Path(__file__).resolve().parents[1]
# For those who work on tellapart, not for those who use it.
NOT_USERS = {"dev", "docs", "peers"}


def asked() -> dict[str, set[str]]:
    """Each package that a user may get, and the extras that ask for it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = {"every install": project["dependencies"]}
    wanted |= {f"`{name}`": extras[name] for name in extras if name not in NOT_USERS}
    extras_of: dict[str, set[str]] = {}
    for extra, lines in wanted.items():
        for line in lines:
            name = re.match(r"[\w.-]+", line)
            if name and name[0] != "tellapart":
                extras_of.setdefault(name[0].lower(), set()).add(extra)
    return extras_of


def licence(name: str) -> str:
    """What a package says of its licence, in a few words."""
    said = metadata(name)
    if said.get("License-Expression"):
        return str(said["License-Expression"])
    classified = [
        classifier.rpartition(" :: ")[2]
        for classifier in said.get_all("Classifier") or []
        if classifier.startswith("License :: OSI")
    ]
    if classified:
        return ", ".join(classified)
    return str(said.get("License") or "not said").splitlines()[0]


def table() -> str:
    """The page."""
    script = ROOT / "docs" / "_static" / "mathjax" / "tex-svg.js"
    version = re.search(r'"(3\.\d+\.\d+)"', script.read_text(encoding="utf-8"))
    rows = []
    for name, extras in sorted(asked().items()):
        try:
            rows.append(f"| {name} | {', '.join(sorted(extras))} | {licence(name)} |")
        except PackageNotFoundError:
            sys.exit(f"{name} is not installed: run `make licences`")
    return HEAD.format(mathjax=version[1] if version else "3") + "\n".join(rows) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "licences.md").write_text(table(), encoding="utf-8")
