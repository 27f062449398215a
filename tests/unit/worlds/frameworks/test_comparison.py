"""One release under every framework: each row is that framework's own number, or a reason."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.worlds import (
    Channel,
    GaussianRecords,
    Independent,
    JointTable,
    Linear,
    MarkovChain,
    Predicate,
    RecordIn,
    RecordValue,
    Sum,
    fit_chain,
    fit_table,
    frameworks,
    tell_apart,
)
from tellapart.worlds.frameworks.comparison import compare_frameworks
from tellapart.worlds.frameworks.result import FrameworkResult, Side
from tellapart.worlds.frameworks.results_text import as_data, as_table, in_words
from tellapart.worlds.policies import CompleteGraph, DistanceGraph, KnownCount, Policy
from tellapart.worlds.secret_test import Witness

TABLE = JointTable([[0, 1, 2], [0, 1, 2]], [[0.2, 0.1, 0.05], [0.1, 0.1, 0.1], [0.05, 0.1, 0.2]])
NOISE = ta.Laplace(1.5)


def epsilons(found):
    return {one.framework: one.epsilon for one in found.rows}


def test_every_row_is_what_its_framework_says():
    found = epsilons(compare_frameworks(TABLE, Sum(), NOISE))
    terms = TABLE, Sum(), NOISE
    same = frameworks.pufferfish(*terms).epsilon
    expected = {
        "differential privacy": frameworks.differential_privacy(*terms).epsilon,
        "group privacy": frameworks.group_privacy(*terms).epsilon,
        "Pufferfish": same,
        "dependent DP (probabilistic)": frameworks.dependent(*terms).epsilon,
        "inferential privacy (this prior)": frameworks.inferential(*terms).epsilon,
        "inferential privacy (transfer)": frameworks.ghosh_kleinberg(
            TABLE, frameworks.differential_privacy(*terms).epsilon
        ).epsilon,
        "dependent DP (support)": frameworks.dependent(*terms, reading="support").epsilon,
        "membership privacy": frameworks.membership(*terms).epsilon,
        **{
            f"mutual-information DP ({form})": frameworks.mutual_information(
                *terms, form=form
            ).epsilon
            for form in ("prior-free", "record", "given others")
        },
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-12)
    pairs = [
        tell_apart(*terms, RecordValue(i, a), RecordValue(i, b)).epsilon
        for i in range(2)
        for a in range(3)
        for b in range(a)
    ]
    assert found["Pufferfish"] == pytest.approx(max(pairs), rel=1e-12)


def test_a_policy_adds_its_rows():
    policy = Policy((0.0, 1.0, 2.0), DistanceGraph(1), 2)
    found = epsilons(compare_frameworks(TABLE, Sum(), NOISE, policy))
    near = [
        tell_apart(TABLE, Sum(), NOISE, RecordValue(i, a), RecordValue(i, a + 1)).epsilon
        for i in range(2)
        for a in (0, 1)
    ]
    assert found["Blowfish"] == pytest.approx(1 / 1.5)
    assert found["Pufferfish (the policy's pairs)"] == pytest.approx(max(near), rel=1e-12)
    assert max(near) < found["Pufferfish"]


def test_a_complete_policy_asks_what_pufferfish_asks_already():
    policy = Policy((0.0, 1.0, 2.0), CompleteGraph(), 2, (KnownCount([0.0], 1),))
    found = epsilons(compare_frameworks(TABLE, Sum(), NOISE, policy))
    assert "Blowfish" in found
    assert "Pufferfish (the policy's pairs)" not in found


def test_normal_records_need_a_policy_for_their_secrets():
    model = GaussianRecords([0, 0, 0], 0.5 * np.eye(3) + 0.5)
    alone = compare_frameworks(model, Sum(), ta.Laplace(1))
    assert "Pufferfish" in {one.framework for one in alone.left_out}
    policy = Policy((0.0, 1.0), CompleteGraph(), 3)
    told = epsilons(compare_frameworks(model, Sum(), ta.Laplace(1), policy))
    assert told["Pufferfish (the policy's pairs)"] == pytest.approx(2.0)


def test_what_data_leave_open_is_bounded_from_above():
    days = list("ssssrrssssrrrsss" * 20)
    chain = fit_chain(days, values={"s": 0, "r": 1}, length=6)
    found = compare_frameworks(chain.chain(), Sum(), NOISE, believed=chain.confidence_set)
    row = next(one for one in found.rows if one.framework.endswith("(all that data leave open)"))
    inside = [
        frameworks.pufferfish(one, Sum(), NOISE).epsilon
        for one in chain.confidence_set.members(8, seed=1)
    ]
    assert row.side is Side.AT_MOST
    # The bound is attained at a corner, whose own number is right up to rounding.
    assert max(inside) <= row.epsilon * (1 + 1e-12)
    assert epsilons(found)["Pufferfish"] < row.epsilon
    assert "95 % confidence" in row.assumptions
    table = fit_table({"she": [0, 1, 1, 0] * 9, "he": [0, 1, 1, 1] * 9}, ["she", "he"])
    both = compare_frameworks(table.model, Sum(), NOISE, believed=table.confidence_set)
    named = epsilons(both)
    assert named["Pufferfish (all that data leave open)"] > named["Pufferfish"]
    normal = compare_frameworks(table.model, Sum(), ta.Gaussian(1), believed=table.confidence_set)
    assert "Pufferfish (all that data leave open)" in {one.framework for one in normal.left_out}


def test_what_is_too_large_for_one_framework_is_left_out_with_the_reason():
    chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=13)
    found = compare_frameworks(chain, Sum(), NOISE)
    reasons = {one.framework: one.reason for one in found.left_out}
    assert "databases" in reasons["dependent DP (support)"]
    assert not set(reasons) & set(epsilons(found))


def test_where_no_framework_has_an_answer_the_mistake_is_raised():
    holes = Channel({0: [0.9, 0.1], 1: [0.4, 0.6]})
    with pytest.raises(InvalidArgument, match="rows must cover every possible answer"):
        compare_frameworks(Independent([[0.5, 0.5]] * 2), Sum(), holes)
    with pytest.raises(InvalidArgument, match="release must be"):
        compare_frameworks(TABLE, Sum(), "noise")
    with pytest.raises(InvalidArgument, match="weights must be one for each of 2 records"):
        compare_frameworks(TABLE, Linear([1, 2, 3]), NOISE)


def test_impossible_secrets_are_listed():
    chain = MarkovChain([1, 0], [[0.9, 0.1], [0.4, 0.6]], length=4)
    found = compare_frameworks(chain, Sum(), NOISE)
    row = next(one for one in found.rows if one.framework == "Pufferfish")
    assert row.skipped == (RecordValue(0, 1),)
    (data,) = [one for one in as_data(found.rows) if one["framework"] == "Pufferfish"]
    assert data["skipped"] == ["record 0 = 1"]


def even(records):
    return sum(records) % 2 == 0


@pytest.mark.parametrize(
    ("witness", "words"),
    [
        (
            (RecordValue(3, 1), RecordValue(3, 0), 7.0),
            "record 3 = 1 against 0; worst case: output 7",
        ),
        (
            (RecordValue(3, 1), RecordValue(3, 0), -math.inf, 1.0, ((2, 1.0), (4, 0.5))),
            "record 3 = 1 against 0; worst case: small outputs; "
            "known: record 2 = 1 and record 4 = 0.5",
        ),
        (
            (RecordIn(0, [1, 2]), RecordValue(0, 0), "yes"),
            "record 0 = one of 1, 2 against 0; worst case: output yes",
        ),
        (
            (RecordValue(0, 1), RecordIn(0, [0, 1]), 2.0),
            "belief that record 0 = 1 rises; worst case: output 2",
        ),
        (
            (RecordIn(0, [0, 1]), RecordValue(0, 1), 2.0),
            "belief that record 0 = 1 falls; worst case: output 2",
        ),
        (
            (RecordValue(0, 1), RecordValue(1, 0), None),
            "record 0 = 1 against record 1 = 0",
        ),
        (
            ((RecordValue(0, 1), RecordValue(1, 1)), (RecordValue(0, 0), RecordValue(1, 0)), None),
            "2 records all 1 against all 0",
        ),
        (
            ((RecordValue(0, 1), RecordValue(1, 5)), (RecordValue(0, 0), RecordValue(1, 0)), None),
            "2 records together",
        ),
        (((0.0, 1.0, 2), (0.0, 0.5, 2), None), "record 1 = 1 against 0.5"),
        (((1, 1, 1), (0, 0, 0), None), "3 records together"),
        (
            (Predicate(even), Predicate(any), 1.0),
            "even holds against any holds; worst case: output 1",
        ),
        ((None, None, math.inf), ""),
    ],
)
def test_witnesses_in_words(witness, words):
    likelier, other, output, *rest = witness
    ratio, known = (*rest, 1.0, ())[:2] if len(rest) < 2 else rest
    assert in_words(Witness(likelier, other, output, ratio, known)) == words


@pytest.mark.parametrize("width", [120, 90, 70, 40, 25])
def test_tables_fit_the_page_and_lose_nothing(width):
    rows = compare_frameworks(TABLE, Sum(), NOISE).rows
    shown = as_table(rows, width)
    assert max(map(len, shown.splitlines())) <= width
    squeezed = "".join(shown.split())
    for one in rows:
        assert "".join(one.framework.split()) in squeezed
        if one.witness is not None:
            assert "".join(in_words(one.witness).split()) in squeezed


def test_numbers_are_rounded_to_their_side():
    def row(side, unit="log-odds"):
        return as_table(
            [FrameworkResult("x", 1.00001, side, None, "", True, unit=unit)]
        ).splitlines()[1]

    assert row(Side.EXACT).split()[1:4] == ["≈", "1.0000", "yes"]
    assert row(Side.AT_MOST).split()[1:3] == ["≤", "1.0001"]
    assert row(Side.AT_LEAST).split()[1:3] == ["≥", "1.0000"]
    assert row(Side.EXACT, "nats").split()[1:4] == ["≈", "1.0000", "nats"]


def test_a_page_must_have_some_width():
    with pytest.raises(InvalidArgument, match="width must be at least 20"):
        as_table([], 3)


def test_a_model_without_any_answer_says_so():
    with pytest.raises((InvalidArgument, Unsupported)):
        compare_frameworks("model", Sum(), NOISE)
