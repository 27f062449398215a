"""Released tables: attacks find what was copied, never what was not, and copies crash nothing."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import tellapart as ta
from tellapart import _progress, audit, risk
from tellapart.audit.counts.fisher_exact import fisher_p_value
from tellapart.audit.released_tables import table_audit
from tellapart.audit.released_tables.aligned_tables import aligned
from tellapart.audit.released_tables.predicates import singled_out


def people(n, rng):
    region = rng.choice(list("ABCDEF"), n, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    age = rng.integers(18, 90, n)
    return {
        "region": region,
        "age": age,
        "income": (rng.lognormal(10, 0.6, n) * (1 + age / 90)).round(),
        "smoker": rng.random(n) < 0.3,
    }


def rows_of(table, rows):
    return {name: np.asarray(values)[rows] for name, values in table.items()}


def joined(*tables):
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(3)
    original, control, fresh = (people(300, rng) for _ in range(3))
    return original, control, fresh


# -- what is found ----------------------------------------------------------------------------


def test_records_among_others_are_found_and_told_apart_from_the_control(tables):
    original, control, fresh = tables
    released = joined(rows_of(original, slice(0, 100)), rows_of(fresh, slice(0, 200)))
    found = audit.tables(original, released, control, secrets="income")
    assert found.leaks
    assert found.headline.startswith("LEAKS: original records are more at risk than others (exact")
    assert found.copies.successes == 100
    assert found.copies.control == (0, 300)
    for attack in found.attacks:
        assert attack.leaks, attack.name
        assert 0 < attack.gain_lower.value < 100 / 300 + 0.05
        low, high = attack.interval
        assert low < attack.successes / attack.trials < high


def test_a_release_that_is_independent_shows_nothing(tables):
    original, control, fresh = tables
    found = audit.tables(original, fresh, control, secrets=["income", "region"])
    assert not found.leaks
    assert found.headline.startswith("NOT SHOWN")
    assert all(attack.gain_lower.value == 0 for attack in found.attacks)


def test_the_release_may_be_the_original_itself(tables):
    original, control, _ = tables
    found = audit.tables(original, original, control)
    assert (found.copies.successes, found.copies.trials) == (300, 300)
    assert found["linkability"].successes > 250
    assert found["inference of region"].successes > 290


def test_tables_of_equal_records_single_nobody_out():
    same = {"a": ["x"] * 20, "b": [1.0] * 20}
    found = audit.tables(same, same, same)
    assert not found.leaks
    assert found["singling out (1 column)"].successes == 0
    assert found["singling out (2 columns)"].successes == 0
    assert found.copies.control == (20, 20)


def test_one_column_and_one_row_are_enough():
    found = audit.tables({"a": [1.0]}, {"a": [1.0]}, {"a": [2.0]})
    assert [attack.name for attack in found.attacks] == ["exact copies", "singling out (1 column)"]
    assert not found.leaks


def test_missing_values_and_dates_are_values_too():
    days = [datetime.date(2020, 1, day) for day in range(1, 11)]
    original = {
        "day": [*days[:9], None],
        "size": [1.0, None, *range(3, 11)],
        "kind": [None, *"abcdefghi"],
    }
    control = {"day": days, "size": [None, *range(21, 30)], "kind": [*"klmnopqrst"]}
    data = aligned(original, original, control)
    assert data.numeric.tolist() == [True, True, False]
    found = audit.tables(original, original, control)
    assert found.copies.successes == 10
    assert found["linkability"].successes == 10


def test_who_is_singled_out_is_who_alone_fits():
    pool = np.array([[1.0, 5.0], [1.0, 6.0], [2.0, np.nan]])
    descriptions = [[(0, 1.0, 1.0)], [(0, 1.0, 1.0), (1, 5.5, 9.0)], [(1, np.nan, np.nan)]]
    assert singled_out(pool, descriptions).tolist() == [False, True, True]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_every_make_give_the_same(make, tables):
    plain = audit.tables(*tables, secrets="region", attacks=100)
    other = audit.tables(*(make(table) for table in tables), secrets="region", attacks=100)
    assert str(other) == str(plain)


# -- what it says -----------------------------------------------------------------------------


def test_the_p_value_is_fishers():
    rng = np.random.default_rng(1)
    for _ in range(40):
        n, m = rng.integers(1, 60, 2)
        k, j = rng.integers(0, n + 1), rng.integers(0, m + 1)
        exact = stats.fisher_exact([[k, n - k], [j, m - j]], alternative="greater").pvalue
        assert fisher_p_value(k, n, j, m) == pytest.approx(min(exact, 1.0), rel=1e-5)
        assert fisher_p_value(k, n, j, m) >= min(exact, 1.0) * (1 - 1e-9)


def test_successes_become_verdicts_on_claims(tables):
    """Coins put records in, and a release of all of them keeps no claim; an attribute neither."""
    original, control, _ = tables
    found = audit.tables(original, original, control, secrets="region")
    claim = ta.guarantee(epsilon=1, delta=1e-5)
    assert audit.one_run(found["linkability"].scores(), claim=claim).refutes(claim)
    many = risk.blind_guess({f"{k}": 0.01 for k in range(100)})
    shown = found["inference of region"].evidence(many)
    assert not shown.independent
    assert shown.refutes(ta.guarantee(epsilon=1))
    assert not shown.refutes(ta.guarantee(epsilon=2))


def test_coins_are_judged_by_all_records_alone(tables):
    found = audit.tables(*tables, secrets="region", attacks=299)
    assert found["singling out (3 columns)"].scores().members.count == 300
    with pytest.raises(ta.Unsupported, match="set attacks to the number of rows"):
        found["linkability"].scores()


def test_an_attack_is_named_as_it_is_printed(tables):
    found = audit.tables(*tables, secrets="region", attacks=50)
    for attack in found.attacks:
        assert attack.name in str(found)
        assert found[attack.name] is attack
    with pytest.raises(ta.InvalidArgument, match="name must be one of exact copies, singling"):
        found["membership"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"released": {"a": [1]}}, "original must have the columns of released"),
        ({"original": {"a": [], "b": []}}, "original must have a row or more"),
        ({"released": {"a": ["x"], "b": [1]}}, "numbers in original, categories in released"),
        ({"control": {"a": [np.inf], "b": [1]}}, "column 'a' must be finite"),
        ({"secrets": "c"}, r"secrets must be columns \(a, b\), got 'c'"),
        ({"parts": (["a"], ["a"])}, "parts must have no column in common"),
        ({"parts": ["a"]}, "parts must be two lists of columns"),
        ({"original": 3}, "pandas, Polars or Arrow"),
        ({"attacks": 0}, "attacks must be at least 1"),
    ],
)
def test_tables_that_do_not_fit_are_refused(change, said):
    table = {"a": [1, 2], "b": [3, 4]}
    given = {"original": table, "released": table, "control": table} | change
    with pytest.raises(ta.InvalidArgument, match=said):
        audit.tables(**given)


# -- how long it takes ------------------------------------------------------------------------


def test_attacks_that_take_long_say_how_long_and_what_takes_less(tables, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit.tables(*tables, secrets="region", attacks=50)
    monkeypatch.setattr(table_audit, "_MINUTE", 0.0)
    with pytest.warns(table_audit.SlowAttacks, match=r"take about .*attacks=N draws fewer"):
        audit.tables(*tables, secrets="region", attacks=50)


def test_progress_is_told_of_the_attacks(tables, monkeypatch, capsys):
    shares = []
    audit.tables(*tables, attacks=50, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert shares[-2] == pytest.approx(1.0)  # all work was foreseen
    monkeypatch.setattr(_progress, "PERIOD", 0.0)
    audit.tables(*tables, attacks=50, progress=True)
    assert "% of the attacks: 100%, about 0 s left" in capsys.readouterr().err
    with pytest.raises(ta.InvalidArgument, match="progress must be callable"):
        audit.tables(*tables, progress=3)


# -- the level --------------------------------------------------------------------------------


def unrelated(nulls, rows, seed):
    """Alarms and p-values of attacks on releases that are drawn apart from both tables.

    The control is half as large, and values repeat, so that ties and copies happen by chance.
    """
    made = []
    for null in range(nulls):
        rng = np.random.default_rng((seed, null))
        original, control, released = (people(n, rng) for n in (rows, rows // 2, rows))
        for table in (original, control, released):
            table["income"] = table["income"].round(-4)
        made.append(
            audit.tables(
                original, released, control, secrets="region", attacks=60, confidence=0.5, seed=null
            )
        )
    p = np.array([[attack.p_value for attack in found.attacks] for found in made])
    return sum(found.leaks for found in made), p


def check_level(nulls, rows, seed):
    alarms, p = unrelated(nulls, rows, seed)
    assert stats.binom.sf(alarms - 1, nulls, 0.5) > 0.01
    for level in (0.05, 0.2, 0.5):
        assert (
            stats.binom.sf((p <= level).sum(axis=0) - 1, nulls, level) > 0.01 / p.shape[1]
        ).all()
    return p


def test_false_alarms_are_as_rare_as_stated():
    """At levels that few nulls tell; significantly more than stated would be an error."""
    assert (check_level(40, 60, 1).min(axis=0) < 1).sum() >= 4  # attacks that do succeed


@pytest.mark.slow
@pytest.mark.parametrize("rows", [30, 100])
def test_false_alarms_are_as_rare_as_stated_in_many_nulls(rows):
    check_level(1_000, rows, rows)


def test_a_control_that_was_drawn_from_the_original_is_said_to_be():
    """Then its records leak as the others do, and their copies show nothing."""
    rng = np.random.default_rng(4)
    original, other = ({"a": rng.normal(size=60), "b": rng.normal(size=60)} for _ in range(2))
    drawn = {name: values[:20] for name, values in original.items()}
    found = audit.tables(original, original, drawn, attacks=40)
    assert not found.copies.leaks
    assert found.shared == 20
    assert "control that stand in the original table, too: 20. Were they drawn" in str(found)
    apart = audit.tables(original, original, other, attacks=40)
    assert apart.copies.leaks
    assert apart.shared == 0
    assert "stand in the original" not in str(apart)
