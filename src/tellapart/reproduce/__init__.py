"""The founding paper's table and figures, made anew (extra ``plot`` for the figures).

C. Liu, X. He, T. Chanyaswad, S. Wang and P. Mittal, "Investigating Statistical Privacy Frameworks
from the Perspective of Hypothesis Testing", PoPETs 2019. Every number is computed by tellapart;
where it differs from the published one, the caption or the verdict says why.

`framework_orderings` is the experiment on which framework asks for more.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart import _checks, _files, _moved
from tellapart.reproduce import render
from tellapart.reproduce.table import TableCell, table_one, verdicts

__all__ = [
    "run",
    "table_one",
    "verdicts",
]


if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)


@dataclass(frozen=True)
class Reproduction:
    """What was written: the files, the page among them, and the table's cells."""

    folder: Path
    files: tuple[Path, ...]
    cells: tuple[TableCell, ...]

    @property
    def page(self) -> Path:
        """The page that shows everything; open it in a browser."""
        return self.folder / "index.html"


def run(folder: str | os.PathLike[str]) -> Reproduction:
    """Write every figure and table of the founding paper into a folder, with a page.

    Nothing is left half-written: the files are made aside and moved in when all are done.
    """
    target = _folder(folder)
    nearest = next(place for place in (target, *target.parents) if place.exists())
    aside = _files.folder_aside(nearest)
    try:
        cells = table_one()
        names = _write(aside, cells)
        _refuse_folders(folder, target, names)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            os.replace(aside / name, target / name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    shown = Path(folder)
    return Reproduction(shown, tuple(shown / name for name in names), cells)


def table_text() -> str:
    """Table 1 for a terminal: what is printed, what is right, and every cell that differs."""
    return render.text(table_one())


def table_json() -> str:
    """Table 1 as JSON, with its source and the count of each verdict."""
    return render.as_json(table_one())


def _write(aside: Path, cells: tuple[TableCell, ...]) -> list[str]:
    """Make every file; their names, the page last so that it never links to what is not there."""
    # Here, because the table alone does not need the extra that draws.
    from tellapart.plot import save
    from tellapart.reproduce import figures, render

    pictures = figures.draw_all()
    for picture in pictures:
        save(picture.figure, aside / f"{picture.name}.svg")
    texts = {
        "table-1.txt": render.text(cells),
        "table-1.csv": render.comma_separated(cells),
        "table-1.json": render.as_json(cells),
        "index.html": render.page(pictures, cells),
    }
    for name, content in texts.items():
        (aside / name).write_text(content, encoding="utf-8", newline="\n")
    return [*(f"{picture.name}.svg" for picture in pictures), *texts]


def _folder(folder: str | os.PathLike[str]) -> Path:
    """Where to write; a file in the way is refused before anything is drawn."""
    if not isinstance(folder, str | os.PathLike):
        _checks.refuse("folder", "be a path", folder)
    target = Path(folder).absolute()
    for place in (target, *target.parents):
        if os.path.lexists(place) and not place.is_dir():
            _checks.refuse("folder", "be a folder, or a new name inside one", str(folder))
    return target


def _refuse_folders(folder: str | os.PathLike[str], target: Path, names: list[str]) -> None:
    for name in names:
        if (target / name).is_dir():
            _checks.refuse("folder", f"not hold a folder called {name}", str(folder))
