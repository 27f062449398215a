"""Individual accounting: each record pays for its own contributions, and nobody is told."""

import math
from fractions import Fraction

import duckdb
import numpy as np
import pytest

import tellapart as ta


def parquet(path, **columns):
    """A Parquet file of these columns."""
    table = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, (kind, _) in columns.items())
    with duckdb.connect() as ask:
        values = [list(values) for _, values in columns.values()]
        ask.execute(f"COPY (SELECT {table}) TO '{path}' (FORMAT parquet)", values)
    return path


def contributions(rng, records, steps, rows):
    """Rows of a file: which record, in which step, by how much."""
    chosen = rng.choice(records * steps, size=rows, replace=False)
    return chosen % records, chosen // records, rng.uniform(0, 1, rows)


def one_by_one(records, mu, sigma, rows):
    """The same record by record, in exact arithmetic."""
    used, fits = [Fraction(0)] * records, {}
    for record, step, norm in sorted(zip(*rows, strict=True), key=lambda row: row[1]):
        cost = (Fraction(norm) / Fraction(sigma)) ** 2
        fits[record, step] = used[record] + cost <= Fraction(mu) ** 2
        used[record] += cost if fits[record, step] else 0
    return [fits[record, step] for record, step, _ in zip(*rows, strict=True)], used


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_file_is_paid_for_as_by_hand(tmp_path, shuffled):
    rng = np.random.default_rng(3)
    ids, steps, norms = contributions(rng, 20, 30, 400)
    if not shuffled:
        order = np.argsort(steps, kind="stable")
        ids, steps, norms = ids[order], steps[order], norms[order]
    path = parquet(
        tmp_path / "rows.parquet",
        record=("BIGINT", ids.tolist()),
        step=("INTEGER", steps.tolist()),
        norm=("DOUBLE", norms.tolist()),
    )
    budget = ta.IndividualBudget(20, gaussian=0.9)
    fits = budget.spend_file(path, sigma=2.0)
    expected, used = one_by_one(20, 0.9, 2.0, (ids.tolist(), steps.tolist(), norms.tolist()))
    assert fits.tolist() == expected
    assert 0 < fits.sum() < 400
    left = budget.left(np.arange(20))
    np.testing.assert_allclose(left, 0.81 - np.array(used, dtype=float), atol=1e-9)
    again = ta.IndividualBudget(20, gaussian=0.9)
    noise = dict.fromkeys(range(30), 2.0)
    assert np.array_equal(again.spend_file(path, sigma=noise), fits)


def test_a_file_without_rows_pays_nothing(tmp_path):
    columns = {"record": ("BIGINT", []), "step": ("BIGINT", []), "norm": ("DOUBLE", [])}
    path = parquet(tmp_path / "rows.parquet", **columns)
    budget = ta.IndividualBudget(2, gaussian=1)
    assert budget.spend_file(path, sigma=1).shape == (0,)
    for other in (3, tmp_path / "none.parquet"):
        with pytest.raises(ta.InvalidArgument, match="path must"):
            budget.spend_file(other, sigma=1)


def test_ten_equal_steps_fit_and_not_one_more():
    budget = ta.IndividualBudget(2, zcdp=0.05)
    for _ in range(10):
        assert budget.spend([1], norms=[0.1], sigma=1).all()
    assert not budget.spend([1], norms=[1e-4], sigma=1).any()
    assert budget.spend_costs([0], costs=[0.05]).all()
    np.testing.assert_allclose(budget.left([0, 1]), 0, atol=1e-10)


def test_no_record_ever_pays_less_than_exact_arithmetic_says():
    rng = np.random.default_rng(5)
    budget, used = ta.IndividualBudget(4, gaussian=1.0), [Fraction(0)] * 4
    for _ in range(300):
        norms = rng.uniform(0, 0.2, 4)
        sigma = float(rng.uniform(1, 3))
        fits = budget.spend(np.arange(4), norms, sigma)
        for record in np.flatnonzero(fits):
            used[record] += (Fraction(norms[record]) / Fraction(sigma)) ** 2
    mu = Fraction(budget.guarantee().mu)
    assert all(
        spent <= Fraction(paid) <= mu**2 for spent, paid in zip(used, budget._used, strict=True)
    )


def test_each_record_is_promised_its_pot():
    exact = ta.Gaussian(sigma=1).curve()
    promised = ta.IndividualBudget(5, gaussian=1).guarantee()
    assert exact.epsilon(1e-5) <= promised.epsilon(1e-5) <= exact.epsilon(1e-5) * (1 + 1e-8)
    concentrated = ta.IndividualBudget(5, zcdp=0.5).guarantee()
    assert concentrated.epsilon(1e-5) == pytest.approx(ta.guarantee(zcdp=0.5).epsilon(1e-5))
    assert concentrated.epsilon(1e-5) > promised.epsilon(1e-5)


def test_what_a_record_has_left_is_not_shown():
    budget = ta.IndividualBudget(3, gaussian=1)
    before = repr(budget), str(budget)
    budget.spend([0], norms=[0.7], sigma=1)
    assert (repr(budget), str(budget)) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0], [1, 1], 1), "records must be named once"),
        (([0, 3], [1, 1], 1), "records must be numbered from 0 to 2"),
        (([-1], [1], 1), "records must be numbered"),
        (([0.5], [1], 1), "records must be a list of whole numbers"),
        (([0], [1, 2], 1), "norms must be as many"),
        (([0], [math.nan], 1), "norms must not contain NaN"),
        (([0], [1], 0), "sigma must"),
    ],
)
def test_a_bad_step_is_refused_and_costs_nothing(arguments, message):
    budget = ta.IndividualBudget(3, gaussian=1)
    with pytest.raises(ta.InvalidArgument, match=message):
        budget.spend(*arguments)
    assert budget.left([0, 1, 2]).tolist() == [1, 1, 1]
    with pytest.raises(ta.InvalidArgument, match="costs must be at least 0"):
        budget.spend_costs([0], [-1])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"gaussian": 1, "zcdp": 1},
        {"gaussian": -1},
        {"gaussian": 1, "neighbours": ta.Neighbours.REPLACE},
    ],
)
def test_a_budget_that_is_none_is_refused(arguments):
    with pytest.raises(ta.InvalidArgument):
        ta.IndividualBudget(3, **arguments)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"record": ("BIGINT", [0, 9])}, "records must be numbered"),
        ({"record": ("DOUBLE", [0, 1])}, "record must hold whole numbers, holds DOUBLE"),
        ({"norm": ("VARCHAR", ["a", "b"])}, "norm must hold numbers"),
        ({"norm": ("DOUBLE", [1, math.nan])}, "norm must not be NaN.*data row 2"),
        ({"norm": ("DOUBLE", [None, 1])}, "norm must not be missing.*data row 1"),
        ({"norm": ("DOUBLE", [1, math.inf])}, "norm must be finite"),
        ({"step": ("BIGINT", [1, 5])}, "sigma must have a number for step 5"),
    ],
)
def test_a_bad_file_is_refused_and_costs_nothing(tmp_path, columns, message):
    good = {
        "record": ("BIGINT", [0, 1]),
        "step": ("BIGINT", [1, 2]),
        "norm": ("DOUBLE", [0.1, 0.2]),
    }
    path = parquet(tmp_path / "rows.parquet", **{**good, **columns})
    budget = ta.IndividualBudget(3, gaussian=1)
    with pytest.raises(ta.InvalidArgument, match=message):
        budget.spend_file(path, sigma={1: 1.0, 2: 1.0})
    assert budget.left([0, 1, 2]).tolist() == [1, 1, 1]
    with pytest.raises(ta.InvalidArgument, match="one Parquet file"):
        budget.spend_file(tmp_path.joinpath("rows.csv").write_text("") or tmp_path / "rows.csv", 1)
