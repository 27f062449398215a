"""Chains fitted to sequences, frames and files."""

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import betaln

import tellapart as ta
from tellapart.worlds import MarkovChain, chain_epsilon_bound, fit_chain

WHO = ["a", "a", "b", "a", "b", "b", "a"]
WHEN = [3, 1, 2, 10, 9, 1, 2]
STATE = ["in", "out", "in", "in", "out", "in", "in"]
# a: out in in in; b: in in out
COUNTS = [[3, 1], [1, 0]]


def test_counts_by_hand():
    fitted = fit_chain([0, 0, 1, 1, 0, 1])
    assert fitted.states == (0, 1)
    assert fitted.counts.tolist() == [[1, 2], [1, 1]]
    assert fitted.starts.tolist() == [1, 0]
    np.testing.assert_allclose(fitted.transition, [[1.5 / 4, 2.5 / 4], [1.5 / 3, 1.5 / 3]])
    assert fitted.length == 6
    assert fitted.unseen == ()


@pytest.mark.parametrize(
    "data",
    [[[0, 1, 1], [1, 0, 1]], np.array([[0, 1, 1], [1, 0, 1]]), [np.array([0, 1, 1]), [1, 0, 1]]],
)
def test_several_sequences_are_not_joined(data):
    fitted = fit_chain(data)
    assert fitted.counts.tolist() == [[0, 2], [1, 1]]
    assert fitted.starts.tolist() == [1, 1]
    assert fitted.length == 3
    assert fitted.unseen == ((0, 0),)
    assert fitted.transition[0, 0] > 0


def frames(folder):
    columns = {"who": WHO, "when": WHEN, "state": STATE}
    yield columns
    yield pd.DataFrame(columns)
    yield pd.DataFrame(columns).astype({"state": "category"})
    yield pl.DataFrame(columns)
    yield pa.table(columns)
    pd.DataFrame(columns).to_csv(folder / "table.csv", index=False)
    yield folder / "table.csv"
    pq.write_table(pa.table(columns), folder / "table.parquet")
    yield str(folder / "table.parquet")


def test_every_kind_of_table_gives_the_same_chain(tmp_path):
    """Rows are sorted by time within each person: 10 comes after 9 and not after 1."""
    kinds = list(frames(tmp_path))
    assert len(kinds) == 7
    for table in kinds:
        fitted = fit_chain(table, column="state", by="who", order="when")
        assert fitted.states == ("in", "out")
        assert fitted.counts.tolist() == COUNTS
        assert fitted.values.tolist() == [0, 1]


def test_text_in_files_is_understood_as_numbers_and_dates(tmp_path):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(one) for one in (2, 0, 1)]
    rows = "\n".join(f"{day},{x}" for day, x in zip(days, (2.5, 7, 7), strict=True))
    file = tmp_path / "dated.csv"
    file.write_text(f"day,x\n{rows}\n")
    fitted = fit_chain(file, column="x", order="day")
    assert fitted.states == (2.5, 7)
    assert fitted.counts.tolist() == [[0, 0], [1, 1]]
    assert fitted.values.tolist() == [2.5, 7]


def test_gaps_are_refused_with_their_row_or_begin_a_new_sequence(tmp_path):
    for data in (
        [0, 1, None, 1, 0],
        [0.0, 1.0, float("nan"), 1.0, 0.0],
        pd.Series([0, 1, pd.NA, 1, 0]),
    ):
        with pytest.raises(ta.InvalidArgument, match="must not be missing, got None in row 2"):
            fit_chain(data)
        fitted = fit_chain(data, missing="split")
        assert fitted.counts.tolist() == [[0, 1], [1, 0]]
        assert fitted.starts.tolist() == [1, 1]
    file = tmp_path / "gap.csv"
    file.write_text("x,t\n0,1\n1,2\n,3\n1,4\n0,5\n")
    with pytest.raises(ta.InvalidArgument, match=r"x must not be missing.*line 4 of"):
        fit_chain(file, column="x", order="t")
    assert fit_chain(file, column="x", missing="split").counts.sum() == 2
    polars = pl.DataFrame({"x": [0, 1, None, 1], "t": [1, 2, 3, None]})
    with pytest.raises(ta.InvalidArgument, match="t must not be missing, got None in row 3"):
        fit_chain(polars, column="x", order="t", missing="split")


def test_states_and_what_they_count():
    fitted = fit_chain(list("abba"), states=["b", "a", "c"], values={"a": 5, "b": 1, "c": 0})
    assert fitted.states == ("b", "a", "c")
    assert fitted.values.tolist() == [1, 5, 0]
    np.testing.assert_allclose(fitted.transition[2], 1 / 3)
    assert ("c", "a") in fitted.unseen
    assert fit_chain([True, False, True]).values.tolist() == [0, 1]
    assert fit_chain([3, 8, 3], values=[1, 2]).values.tolist() == [1, 2]


def test_the_chains_that_come_of_it():
    fitted = fit_chain(list("ssssrrssssrrrsss"), length=12)
    chain = fitted.chain()
    assert isinstance(chain, MarkovChain)
    assert chain.length == 12
    np.testing.assert_allclose(chain.initial @ chain.transition, chain.initial)
    begun = fitted.chain(5, stationary=False)
    np.testing.assert_allclose(begun.initial, [0.25, 0.75])
    np.testing.assert_allclose(fitted.backward, fitted.transition)  # two states: reversible


@pytest.mark.parametrize("states", [2, 3, 5])
def test_the_set_holds_the_estimate_and_shrinks_towards_it(states):
    rng = np.random.default_rng(states)
    data = rng.integers(states, size=4000)
    widths = []
    for steps in (40, 400, 4000):
        fitted = fit_chain(data[:steps], states=range(states), length=30)
        chains = fitted.confidence_set
        assert chains.confidence == 0.95
        assert chains.contains(fitted.chain())
        assert np.all(chains.backward[0] <= fitted.backward + 1e-12)
        widths.append(float((chains.forward[1] - chains.forward[0]).mean()))
    assert widths[0] > 2 * widths[1] > 4 * widths[2]
    worst = chain_epsilon_bound(chains, 2).max()
    assert worst >= chain_epsilon_bound(fitted.chain(), 2).max()


def test_a_state_never_left_leaves_everything_open():
    chains = fit_chain([0, 0, 0, 1], length=4).confidence_set
    assert chains.forward[0][1].tolist() == [0, 0]
    assert chains.forward[1][1].tolist() == [1, 1]
    assert np.isfinite(chain_epsilon_bound(chains, 1)).all()


def test_more_confidence_means_a_wider_set():
    data = np.random.default_rng(0).integers(2, size=300)
    sets = [fit_chain(data, confidence=one).confidence_set for one in (0.8, 0.99)]
    assert np.all(sets[1].forward[0] < sets[0].forward[0])
    assert np.all(sets[1].forward[1] > sets[0].forward[1])


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        ([0, 0, 0], {}, "data must show at least 2 states"),
        ([[0], [1]], {}, "data must show at least one step"),
        ([], {}, "data must show at least 2 states"),
        ("table.csv", {}, "column must name the column"),
        ({"x": [0, 1]}, {}, "column must name the column"),
        ([0, 1], {"by": "who"}, "column must be given together with by"),
        ([0, [1, 0]], {}, "data must hold sequences only, or states only"),
        (7, {}, "data must be a sequence of states"),
        ([0, "a"], {}, "data must hold states of one kind"),
        ([0, 1, 2], {"states": [0, 1]}, "states must name every state in the data, got 2"),
        ([0, 1], {"states": [0, 1, 1]}, "states must differ"),
        (
            [0, 1],
            {"values": {0: 1}},
            r"values must say what every state counts: \[0, 1\], got {0: 1}",
        ),
        ([0, 1], {"values": [1, 1]}, "values must differ"),
        ([0, 1], {"confidence": 1}, "confidence must lie strictly between 0 and 1"),
        ([0, 1], {"missing": "skip"}, "missing must be 'refuse' or 'split'"),
        ([{"a": 1}, {"b": 1}], {}, "data must hold labels such as"),
        ({"x": [0, 1]}, {"column": "y"}, "table must have a column 'y'"),
        ({"x": [0, 1], "t": [4]}, {"column": "x", "order": "t"}, "columns must have one length"),
        ({"x": [0, 1], "t": [4, 4]}, {"column": "x", "order": "t"}, "t must differ within one"),
        ({"x": [0, 1], "t": [4, "a"]}, {"column": "x", "order": "t"}, "t must hold values that"),
    ],
)
def test_what_is_refused(data, options, said):
    with pytest.raises(ta.InvalidArgument, match=said):
        fit_chain(data, **options)


def test_numbers_that_hardly_repeat_are_no_states():
    with pytest.raises(ta.Unsupported, match="data has 100 different states, too many"):
        fit_chain(np.random.default_rng(0).random(100))


def test_files_that_lack_a_column_are_named(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("x\n0\n1\n")
    with pytest.raises(ta.InvalidArgument, match=r"table\.csv must have a column 'y'"):
        fit_chain(file, column="y")
    np.savez(tmp_path / "table.npz", x=[0, 1])
    with pytest.raises(ta.InvalidArgument, match="must be Parquet or CSV"):
        fit_chain(tmp_path / "table.npz", column="x")


@pytest.mark.parametrize("states", [2, 3, 4])
def test_what_all_intervals_of_a_chain_may_miss_adds_up_to_what_is_left(states):
    """An end at which the bet has paid 1/level stands for an interval that may miss that often."""
    path = np.random.default_rng(states).integers(states, size=4000)
    fitted = fit_chain(path, confidence=0.9)
    found = fitted.confidence_set
    missed = 0.0
    for counts, (low, _) in ((fitted.counts, found.forward), (fitted.counts.T, found.backward)):
        n = counts.sum(axis=1, keepdims=True)
        likely = counts * np.log(low) + (n - counts) * np.log1p(-low)
        missed += np.exp(likely + math.log(math.pi) - betaln(counts + 0.5, n - counts + 0.5)).sum()
    # With two states the second of each row, and all that is read backwards, say nothing new.
    assert missed / (4 if states == 2 else 1) == pytest.approx(0.1, rel=1e-6)


def test_states_of_a_chain_say_what_they_count_and_are_spelt_right():
    fitted = fit_chain(list("ssrrs"), values={"s": 0, "r": 1})
    assert fitted.coding == {"r": 1, "s": 0}
    assert fitted.chain().values.tolist() == [1, 0]
    with pytest.raises(ta.InvalidArgument, match=r"name only states .*\['r', 's'\], got 'x'"):
        fit_chain(list("ssrrs"), values={"s": 0, "r": 1, "x": 2})
    with pytest.raises(ta.InvalidArgument, match=r"what every state counts: \['r', 's'\]"):
        fit_chain(list("ssrrs"), values={"s": 0})
