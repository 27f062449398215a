"""Descriptions of inputs: whatever they draft is a pair of neighbours, within bounds."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import tellapart as ta
from tellapart.audit.searching.domains import (
    Answers,
    Examples,
    Moves,
    Numbers,
    OneOf,
    Tables,
    Tallies,
)

REPLACE = ta.Neighbours.REPLACE


def every_pair(domain, seed=0):
    """Patterns, pairs at random, and a long walk from pair to near pair."""
    rng = np.random.default_rng(seed)
    drafts = [*domain.telling(), *domain.drawn(100, rng)]
    walk = drafts[0]
    for _ in range(300):
        (walk,) = domain.near(walk, 1, rng) or [walk]
        drafts.append(walk)
    return [domain.pair(draft) for draft in drafts]


def added(shorter, longer):
    """Whether the second list is the first with one more record somewhere."""
    return (
        any([*longer[:k], *longer[k + 1 :]] == list(shorter) for k in range(len(longer)))
        and len(longer) == len(shorter) + 1
    )


def replaced(one, two):
    return len(one) == len(two) and sum(a != b for a, b in zip(one, two, strict=True)) <= 1


@pytest.mark.parametrize("moves", list(Moves), ids=lambda one: one.name)
@pytest.mark.parametrize("high", [4, 4.5])
def test_answers_move_as_one_record_may_move_them(moves, high):
    pairs = every_pair(Answers(6, moves, high=high))
    for one, two in pairs:
        assert len(one) == len(two) == 6
        assert all(0 <= value <= high for value in (*one, *two))
        change = np.subtract(two, one)
        assert 0 < np.abs(change).max() <= 1 + 1e-12
        if moves is Moves.ONE:
            assert np.count_nonzero(change) == 1
        if moves is Moves.TOGETHER:
            assert (change >= 0).all() or (change <= 0).all()
        if high == 4:
            assert all(type(value) is int for value in (*one, *two))
    # Each kind of move is really made.
    spread = {np.count_nonzero(np.subtract(two, one)) for one, two in pairs}
    assert spread == {1} if moves is Moves.ONE else {1, 6} <= spread


def test_the_patterns_of_the_literature_come_first():
    """Those of Ding et al. 2018 (StatDP), in either order, around one level."""
    domain = Answers(4, Moves.ANY)
    found = [domain.pair(draft) for _, draft in domain.distinct(domain.telling())]
    shown = [
        {tuple(value - min(*one, *two) for value in side) for side in (one, two)}
        for one, two in found
    ]
    for pattern in (
        {(0, 0, 0, 0), (1, 1, 1, 1)},  # all above
        {(0, 0, 0, 0), (1, 0, 0, 0)},  # one above
        {(1, 1, 1, 1), (2, 0, 0, 0)},  # one above, the rest below
        {(1, 1, 1, 1), (0, 2, 2, 2)},  # one below, the rest above
        {(1, 1, 1, 1), (0, 0, 2, 2)},  # half and half
        {(1, 1, 0, 0), (0, 0, 1, 1)},  # crossing
    ):
        assert pattern in shown[:48]


def test_one_answer_is_a_number():
    pairs = every_pair(Answers(high=30))
    assert all(abs(one - two) == 1 and min(one, two) >= 0 for one, two in pairs)
    assert {min(one, two) for one, two in pairs} >= {0, 29}


@pytest.mark.parametrize("neighbours", [ta.Neighbours.ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("rows", [(0, 4), (1, 5), (3, 9)])
def test_lists_differ_in_one_record(neighbours, rows):
    domain = Numbers(-1.0, 2.0, rows=rows, neighbours=neighbours)
    sizes = set()
    for one, two in every_pair(domain):
        assert all(-1 <= value <= 2 for value in (*one, *two))
        assert replaced(one, two) if neighbours is REPLACE else added(one, two)
        sizes |= {len(one), len(two)}
    assert sizes == set(range(max(rows[0], neighbours is REPLACE), rows[1] + 1))


def test_records_may_be_vectors_and_odd():
    pairs = every_pair(Numbers(0, 3, width=2, odd=[math.nan]))
    values = [value for _, two in pairs for record in two for value in record]
    assert all(len(record) == 2 for _, two in pairs for record in two)
    assert any(math.isnan(value) for value in values)
    assert {value for value in values if not math.isnan(value)} == {0, 1, 2, 3}


def test_tables_have_their_columns():
    domain = Tables({"age": (0, 120), "pay": (0.0, 1.0), "job": ["none", "some", "more"]})
    seen = set()
    for one, two in every_pair(domain):
        assert added(one, two)
        for row in two:
            assert list(row) == ["age", "pay", "job"]
            assert type(row["age"]) is int
            assert 0 <= row["age"] <= 120
            assert 0 <= row["pay"] <= 1
            seen.add(row["job"])
    assert seen == {"none", "some", "more"}


def test_tallies_gain_one_record_and_never_show_a_zero():
    pairs = every_pair(Tallies(["a", "b", "c"], largest=5))
    for one, two in pairs:
        gained = [two.get(key, 0) - one.get(key, 0) for key in "abc"]
        assert sorted(gained) == [0, 0, 1]
        assert all(0 < count <= 5 for count in (*one.values(), *two.values()))
    assert ({}, {"a": 1}) in pairs
    assert ({"a": 4}, {"a": 5}) in pairs


def test_any_two_options_are_neighbours():
    pairs = every_pair(OneOf(["red", "green", "blue"]))
    assert {frozenset(pair) for pair in pairs} == {
        frozenset(two) for two in (("red", "green"), ("red", "blue"), ("green", "blue"))
    }


def test_pairs_of_ones_own_may_be_listed_made_or_a_strategy():
    listed = Examples([(1, 2), [3, 4]])
    assert list(listed.first(5, np.random.default_rng(0)).values()) == [(1, 2), (3, 4)]
    made = Examples(lambda rng: (0, int(rng.integers(1, 5))))
    assert {two for _, two in made.drawn(50, np.random.default_rng(0))} == {1, 2, 3, 4}
    strategy = Examples(st.integers(0, 9).map(lambda k: (k, k + 1)))
    found = [strategy.drawn(20, np.random.default_rng(seed)) for seed in (3, 3)]
    assert found[0] == found[1]
    assert len(set(found[0])) > 5
    assert all(two == one + 1 for one, two in found[0])


def test_a_list_that_never_ends_is_read_as_far_as_needed():
    endless = Examples((k, k + 1) for k in iter(int, 1))
    assert len(endless.source) == 10_000


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Answers(3),
            r"moves must be Moves\.ONE or Moves\.TOGETHER or Moves\.ANY, got None",
        ),
        (lambda: Answers(0, Moves.ONE), "length must be at least 1, got 0"),
        (lambda: Answers(low=3, high=3), "high must be greater than low = 3, got 3"),
        (lambda: Answers(high=1, change=2), "change must fit between low and high, 1 apart, got 2"),
        (lambda: Tallies("ab"), "keys must be a list, got 'ab'"),
        (lambda: Tallies(["a", "a"]), r"keys must hold none twice, got \['a', 'a'\]"),
        (lambda: OneOf([1]), r"options must hold at least 2 of them, got \[1\]"),
        (lambda: Numbers(0, math.inf), "high must be finite, got inf"),
        (
            lambda: Numbers(0, 1, rows=(2, 2)),
            r"rows must leave room for one row more, got \(2, 2\)",
        ),
        (lambda: Numbers(0, 1, rows=5), "rows must be the fewest and the most rows, got 5"),
        (
            lambda: Numbers(0, 1, rows=(0, 0), neighbours=REPLACE),
            r"rows must leave a row to replace, got \(0, 0\)",
        ),
        (lambda: Numbers(0, 1, width=0), "width must be at least 1, got 0"),
        (lambda: Numbers(0, 1, neighbours="replace"), r"neighbours must be Neighbours\.ADD_REMOVE"),
        (lambda: Tables([1]), r"columns must be a dictionary of columns, got \[1\]"),
        (lambda: Tables({}), "columns must not be empty, got {}"),
        (lambda: Tables({"a": "xy"}), "column a must be two bounds or a list of options, got 'xy'"),
        (lambda: Examples(3), "source must be pairs of inputs, a function of a generator, or"),
        (lambda: Examples([]), r"source must not be empty, got \[\]"),
        (lambda: Examples([(1, 2, 3)]), r"source must give pairs of inputs, got \(1, 2, 3\)"),
    ],
)
def test_bad_descriptions_are_named(make, words):
    with pytest.raises(ta.InvalidArgument, match=f"^{words}"):
        make()


def test_each_pair_comes_once_in_whichever_order_and_none_of_equal_inputs():
    listed = Examples([([0], [1]), ([1], [0]), ([2], [2]), ([0], [2])])
    assert list(listed.first(9, np.random.default_rng(0)).values()) == [([0], [1]), ([0], [2])]


def test_pairs_at_random_have_their_share_of_the_first():
    domain = Answers(10, Moves.ANY, high=100)
    first = domain.first(40, np.random.default_rng(0))
    patterns = {mark for mark, _ in domain.distinct(domain.telling())}
    assert len(first) == 40
    assert len(first.keys() - patterns) == 10
