"""Table 1 as text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from tellapart._numeric.text import to_decimals
from tellapart.reproduce.table import BOUNDS, PRINTED, Cell, CellVerdict, verdicts

CITATION = (
    "C. Liu, X. He, T. Chanyaswad, S. Wang and P. Mittal, “Investigating Statistical Privacy "
    "Frameworks from the Perspective of Hypothesis Testing”, Proceedings on Privacy Enhancing "
    "Technologies 2019, doi 10.2478/popets-2019-0045"
)
TITLE = "Table 1. The largest ε of Laplace noise that keeps the F-score of every attack in bounds"
MARKS = {
    CellVerdict.EXACT: " ",
    CellVerdict.ROUNDED_UP: "+",
    CellVerdict.TRUNCATED: "-",
    CellVerdict.IMPOSSIBLE: "x",
    CellVerdict.DASH_RIGHT: " ",
    CellVerdict.TOO_LARGE: "!",
    CellVerdict.TOO_SMALL: "<",
    CellVerdict.DASH_WRONG: "?",
}
# What the last row promises, and to whom it promises nothing.
ANY_MECHANISM = (
    "the largest ε that is enough whatever ε-DP mechanism is used, for each β",
    "where some ε keeps the bound; below F = (1 + β²)/(2 + β²) none does.",
)
_WIDTH, _MARGIN = 8, 15
_NONE = "–"


def text(cells: Sequence[Cell]) -> str:
    """The table for a terminal: what is printed, what is right, and every cell that differs."""
    lines = [TITLE, "", _line("bound on F", [f"{bound:g} " for bound in BOUNDS]), ""]
    for weight in PRINTED:
        row = [cell for cell in cells if cell.weight == weight]
        lines += [
            _line(f"β = {weight:g} printed", [printed(cell) + MARKS[cell.verdict] for cell in row]),
            _line(f"{'exact':>{_MARGIN}}", [exact(cell) + " " for cell in row]),
        ]
    lines += [_line("any mechanism", [any_mechanism(cells, bound) + " " for bound in BOUNDS]), ""]
    lines += ["exact: rounded down to four decimals; – where no ε keeps the bound."]
    lines += [f"any mechanism: {ANY_MECHANISM[0]}", f"{'':15}{ANY_MECHANISM[1]}", ""]
    for verdict, count in verdicts(cells).items():
        lines.append(f"{count:3d} {verdict.value:<13} {MARKS[verdict]} {verdict.meaning}")
    broken = [cell for cell in cells if cell.verdict in _BROKEN]
    return "\n".join([*lines, "", *(remark(cell) for cell in broken)]) + "\n"


def comma_separated(cells: Sequence[Cell]) -> str:
    """The table with one row for each cell, every number with all its digits."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(record(cells[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(record(cell) for cell in cells)
    return out.getvalue()


def as_json(cells: Sequence[Cell]) -> str:
    """The table with its source and its counts, for a program."""
    data = {
        "source": CITATION,
        "note": f"largest_epsilon_any_mechanism: {' '.join(ANY_MECHANISM)}",
        "verdicts": {verdict.value: count for verdict, count in verdicts(cells).items()},
        "cells": [record(cell) for cell in cells],
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def record(cell: Cell) -> dict[str, float | str | None]:
    """One cell under the names that the CSV and JSON files use."""
    return {
        "weight": cell.weight,
        "f_score_bound": cell.bound,
        "printed_epsilon": cell.printed,
        "largest_epsilon_laplace": cell.largest,
        "largest_epsilon_any_mechanism": cell.any_mechanism,
        "f_score_of_always_accusing": cell.always,
        "f_score_at_printed_epsilon": cell.reached,
        "verdict": cell.verdict.value,
        "note": None if cell.any_mechanism else "no ε keeps this bound, whatever the mechanism",
    }


def remark(cell: Cell) -> str:
    """What is wrong with one cell, with its numbers."""
    where = f"β = {cell.weight:g}, F ≤ {cell.bound:g}: printed {printed(cell)}"
    if cell.verdict is CellVerdict.IMPOSSIBLE:
        return f"{where}, but F = {cell.always:.4f} even at ε = 0"
    return f"{where} gives F = {cell.reached:.6f}; the largest ε is {exact(cell)}"


def printed(cell: Cell) -> str:
    """The ε as the paper prints it."""
    return _NONE if cell.printed is None else f"{cell.printed:g}"


def exact(cell: Cell, digits: int = 4) -> str:
    """The largest ε, rounded down so that it still keeps the bound."""
    return _rounded(cell.largest, digits)


def any_mechanism(cells: Sequence[Cell], bound: float) -> str:
    """The largest ε that keeps this bound whatever the mechanism, for every β that has one."""
    column = [cell.any_mechanism for cell in cells if cell.bound == bound]
    return _rounded(min((value for value in column if value is not None), default=None), 4)


def _rounded(epsilon: float | None, digits: int) -> str:
    return _NONE if epsilon is None else f"{to_decimals(epsilon, digits, up=False):.{digits}f}"


_BROKEN = {CellVerdict.IMPOSSIBLE, CellVerdict.ROUNDED_UP, CellVerdict.TOO_LARGE}


def _line(name: str, values: Sequence[str]) -> str:
    return (f"{name:<{_MARGIN}}" + "".join(f"{value:>{_WIDTH}}" for value in values)).rstrip()
