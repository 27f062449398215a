"""Table 1 of the founding paper, against values computed independently."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import risk
from tellapart.reproduce import drawing, render
from tellapart.reproduce.table import (
    BOUNDS,
    PRINTED,
    CellVerdict,
    judge,
    laplace_score,
    table_one,
    verdicts,
)

RECORDS = json.loads((Path(__file__).parent / "risk.json").read_text(encoding="utf-8"))
# The table has even odds.
ORACLES = [
    record
    for record in RECORDS
    if record["quantity"] == "max_eps_for_f_laplace" and record["inputs"]["gamma"] == 1
]
# Recomputed without tellapart, to four decimals.
RECOMPUTED = """
0.5 inf. 0.3435 0.5488 0.8258 1.4202 2.0438 3.0037 4.2899
0.6 inf. 0.3268 0.5411 0.8308 1.4540 2.1077 3.1083 4.4336
0.8 inf. inf.   inf.   0.7970 1.4626 2.1575 3.2093 4.5797
1   inf. inf.   inf.   0.7157 1.4086 2.1283 3.2088 4.6027
1.5 inf. inf.   inf.   inf.   inf.   1.8840 2.9969 4.4158
2   inf. inf.   inf.   inf.   inf.   inf.   2.6919 4.1200
"""
ROWS = [row.split() for row in RECOMPUTED.strip().splitlines()]
CELLS = {(cell.weight, cell.bound): cell for cell in table_one()}


def cells(verdict):
    return [cell for cell in CELLS.values() if cell.verdict is verdict]


def f_score(epsilon, weight):
    return risk.f_score(ta.Laplace.with_epsilon(epsilon).curve(), weight=weight)


def closed_form(weight, bound):
    """The largest ε by formula; None where accusing everyone is already beyond the bound."""
    b2 = weight**2
    if bound < (1 + b2) / (2 + b2):
        return None
    return math.log(bound * (1 + b2 - bound)) - 2 * math.log((1 + b2) * (1 - bound))


@pytest.mark.parametrize(
    ("weight", "bound", "printed"),
    [
        (float(row[0]), bound, printed)
        for row in ROWS
        for bound, printed in zip(BOUNDS, row[1:], strict=True)
    ],
)
def test_the_largest_epsilon_to_four_decimals(weight, bound, printed):
    largest = CELLS[weight, bound].largest
    if printed == "inf.":
        assert largest is None
    else:
        assert f"{largest:.4f}" == printed


@pytest.mark.parametrize("where", CELLS, ids=str)
def test_the_largest_epsilon_to_ten_digits(where):
    largest, wanted = CELLS[where].largest, closed_form(*where)
    assert (largest is None) == (wanted is None)
    assert largest is None or math.isclose(largest, wanted, rel_tol=1e-10)


@pytest.mark.parametrize("record", ORACLES, ids=lambda record: record["id"])
def test_the_table_agrees_with_the_records(record):
    given = record["inputs"]
    largest = judge(given["weight"], given["f_bound"], None).largest
    if record["value"] == "infeasible":
        assert largest is None
    elif record["value"] == "inf":
        assert largest > 1e6
    else:
        assert math.isclose(largest, record["value"], rel_tol=record["tolerance"]["rel"])


def test_every_cell_of_the_table_has_a_record():
    recorded = {(r["inputs"]["weight"], r["inputs"]["f_bound"]) for r in ORACLES}
    assert set(CELLS) <= recorded


def test_the_verdicts_count_thirteen_nine_seven_four_and_fifteen_dashes():
    assert verdicts(CELLS.values()) == {
        CellVerdict.EXACT: 13,
        CellVerdict.ROUNDED_UP: 9,
        CellVerdict.TRUNCATED: 7,
        CellVerdict.IMPOSSIBLE: 4,
        CellVerdict.DASH_RIGHT: 15,
    }
    assert sum(value is not None for row in PRINTED.values() for value in row) == 33


def test_which_cells_they_are():
    """Cell by cell, as the closed form of the largest ε has it."""
    where = {verdict: {(c.weight, c.bound) for c in cells(verdict)} for verdict in CellVerdict}
    assert where[CellVerdict.IMPOSSIBLE] == {(0.5, 0.55), (0.8, 0.62), (1.5, 0.76), (2, 0.83)}
    assert where[CellVerdict.ROUNDED_UP] == {
        *((0.5, bound) for bound in (0.62, 0.95)),
        *((0.6, bound) for bound in (0.58, 0.83, 0.9)),
        *((0.8, bound) for bound in (0.67, 0.83, 0.9, 0.95)),
    }
    assert where[CellVerdict.TRUNCATED] == {
        (0.5, 0.67),
        *((1, bound) for bound in (0.67, 0.76, 0.83, 0.9)),
        *((1.5, bound) for bound in (0.9, 0.95)),
    }


def test_the_impossible_cells_print_the_turning_point():
    """log(1 + b²), up to which the best attack accuses everyone: the likely source of the slip."""
    for cell in cells(CellVerdict.IMPOSSIBLE):
        assert abs(math.log1p(cell.weight**2) - cell.printed) < 0.01
        assert cell.bound < cell.always <= f_score(cell.printed, cell.weight) < cell.always + 1e-4


def test_a_rounded_up_cell_breaks_its_own_bound():
    for cell in cells(CellVerdict.ROUNDED_UP):
        assert cell.reached == f_score(cell.printed, cell.weight) > cell.bound
        assert cell.largest < cell.printed


def test_the_other_cells_keep_it():
    for cell in cells(CellVerdict.TRUNCATED) + cells(CellVerdict.EXACT):
        assert cell.reached == f_score(cell.printed, cell.weight) <= cell.bound
        assert cell.printed <= cell.largest
        # ... and two decimals allow no larger one.
        assert f_score(cell.printed + 0.01, cell.weight) > cell.bound


def test_an_exact_cell_is_also_the_nearest_value_and_a_truncated_one_is_not():
    assert all(abs(cell.printed - cell.largest) <= 0.005 for cell in cells(CellVerdict.EXACT))
    assert all(cell.largest - cell.printed > 0.005 for cell in cells(CellVerdict.TRUNCATED))


def test_any_mechanism_needs_the_logit_of_the_bound():
    for cell in CELLS.values():
        assert (cell.any_mechanism is None) == (cell.largest is None)
        if cell.any_mechanism is not None:
            logit = math.log(cell.bound / (1 - cell.bound))
            assert math.isclose(cell.any_mechanism, logit, rel_tol=1e-9)
            assert cell.any_mechanism < cell.largest


@pytest.mark.parametrize(
    ("weight", "bound", "printed", "verdict"),
    [
        (0.5, 0.62, 0.54, CellVerdict.TRUNCATED),  # printed 0.55, rounded up
        (0.5, 0.62, 0.56, CellVerdict.TOO_LARGE),
        (0.5, 0.62, 0.53, CellVerdict.TOO_SMALL),
        (0.5, 0.62, None, CellVerdict.DASH_WRONG),
        (1, 0.9, 3.21, CellVerdict.ROUNDED_UP),  # printed 3.2, truncated
        (1, 0.76, 1.39, CellVerdict.TOO_SMALL),  # printed 1.4, truncated
        (2, 0.83, None, CellVerdict.DASH_RIGHT),  # printed 1.61, impossible
        (2, 0.76, 0.01, CellVerdict.IMPOSSIBLE),  # printed as a dash
    ],
)
def test_a_tampered_value_changes_the_verdict(weight, bound, printed, verdict):
    untouched = CELLS[weight, bound]
    altered = judge(weight, bound, printed)
    assert untouched.printed != printed
    assert untouched.verdict is not altered.verdict is verdict


def test_rounding_down_keeps_the_bound():
    for cell in CELLS.values():
        if cell.largest is not None:
            for decimals in (2, 4):
                published = float(render.exact(cell, decimals))
                assert 0 <= cell.largest - published < 10**-decimals
                assert f_score(published, cell.weight) <= cell.bound


@pytest.mark.parametrize("decimals", [2, 4])
@given(thousandths=st.integers(1, 10**6), ulps=st.integers(-2, 2))
def test_an_epsilon_shown_is_never_above_the_right_one(decimals, thousandths, ulps):
    """Not by the last bit either: 0.049999999999999996 times 100 is 5, and is not 0.05."""
    largest = thousandths / 1000
    for _ in range(abs(ulps)):
        largest = math.nextafter(largest, math.copysign(math.inf, ulps))
    cell = replace(CELLS[1, 0.9], largest=largest)
    shown = Fraction(render.exact(cell, decimals))
    assert 0 <= Fraction(largest) - shown < Fraction(1, 10**decimals)


@given(weight=st.floats(0.1, 10), bound=st.floats(0.3, 0.99))
@settings(deadline=None, max_examples=40)
def test_some_epsilon_is_enough_for_any_mechanism_exactly_above_the_floor(weight, bound):
    """The floor is what accusing everyone scores: (1 + β²)/(2 + β²)."""
    floor = (1 + weight**2) / (2 + weight**2)
    assume(abs(bound - floor) > 1e-9)
    cell = judge(weight, bound, None)
    assert (cell.any_mechanism is None) == (cell.largest is None) == (bound < floor)
    if cell.any_mechanism is not None:
        assert math.isclose(cell.any_mechanism, math.log(bound / (1 - bound)), rel_tol=1e-9)
        assert risk.f_score(ta.guarantee(cell.any_mechanism), weight=weight) <= bound


def test_the_row_for_any_mechanism_is_not_enough_where_a_cell_has_no_epsilon():
    """Which is why the words that go with it say for which β it holds."""
    broken = 0
    for cell in CELLS.values():
        shown = render.any_mechanism(list(CELLS.values()), cell.bound)
        if shown != "–":
            score = risk.f_score(ta.guarantee(float(shown)), weight=cell.weight)
            assert (score <= cell.bound) == (cell.any_mechanism is not None)
            broken += score > cell.bound
    assert broken > 0
    assert "for each β where some ε keeps the bound" in " ".join(render.ANY_MECHANISM)
    assert "below F = (1 + β²)/(2 + β²) none does" in " ".join(render.ANY_MECHANISM)


@pytest.mark.parametrize("prior", [0.01, 0.5, 0.7])
@pytest.mark.parametrize("weight", PRINTED)
def test_up_to_the_turning_point_the_best_attack_accuses_everyone(weight, prior):
    turn = drawing.turning_point(weight, prior)
    floor = laplace_score(0, weight, prior)
    assert laplace_score(0.999 * turn, weight, prior) == pytest.approx(floor, rel=1e-12)
    assert laplace_score(1.001 * turn + 1e-3, weight, prior) > floor * (1 + 1e-9)


@pytest.mark.parametrize("printed", [0, -1, math.inf])
def test_a_printed_epsilon_is_a_positive_number(printed):
    with pytest.raises(ta.InvalidArgument) as caught:
        judge(1, 0.9, printed)
    assert str(caught.value) == f"printed must be finite and greater than 0, got {printed}"
