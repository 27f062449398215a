"""Scores in memory: what they answer, what they take, and what they refuse, word for word."""

import math
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tellapart.audit import Counts, Orientation, Scores
from tellapart.audit.scores import RankedScores
from tellapart.data.ranked import Negated, Ranked
from tellapart.data.scores_and_labels import ANOTHER, DROP, LEAVE, TRUTH
from tellapart.errors import BadScores, InvalidArgument, Unsupported

# Few different values: ties are where counting goes wrong.
FEW = st.sampled_from([-1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.5, 1e300])
SIDE = st.lists(FEW | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30)


@given(SIDE, SIDE)
def test_a_sample_counts_as_a_loop_would(scores, values):
    side = RankedScores(scores)
    ranks = np.arange(1, len(scores) + 1)
    assert isinstance(side, Ranked)
    assert side.count == len(scores)
    assert side.ascending(ranks).tolist() == sorted(scores)
    assert side.descending(ranks).tolist() == sorted(scores, reverse=True)
    assert side.above(values).tolist() == [sum(s > v for s in scores) for v in values]
    assert side.below(values).tolist() == [sum(s < v for s in scores) for v in values]
    low, high = min(values), max(values)
    assert side.between(low, high).tolist() == sorted(s for s in scores if low < s <= high)


@given(SIDE, SIDE)
def test_a_turned_side_is_the_sample_of_turned_scores(scores, values):
    turned, wanted = Negated(RankedScores(scores)), RankedScores([-s for s in scores])
    ranks = np.arange(1, len(scores) + 1)
    assert isinstance(turned, Ranked)
    assert turned.count == wanted.count
    assert np.array_equal(turned.ascending(ranks), wanted.ascending(ranks))
    assert np.array_equal(turned.descending(ranks), wanted.descending(ranks))
    assert np.array_equal(turned.above(values), wanted.above(values))
    assert np.array_equal(turned.below(values), wanted.below(values))
    low, high = min(values), max(values)
    assert np.array_equal(turned.between(low, high), wanted.between(low, high))


def test_minus_zero_is_zero():
    side = RankedScores([-0.0, 0.0])
    assert side.above(-0.0) == side.below(0.0) == 0
    assert not np.signbit(side.ascending([1, 2])).any()


@given(st.lists(FEW, min_size=2, max_size=30), st.floats(0.01, 0.99), st.integers(0, 2**64))
def test_a_split_loses_and_doubles_nothing(scores, share, seed):
    one, two = RankedScores(scores).split(share, seed)
    assert sorted([*one.values, *two.values]) == sorted(scores)
    assert one.count == min(max(round(share * len(scores)), 1), len(scores) - 1)
    assert np.array_equal(one.values, np.sort(one.values))
    again = RankedScores(scores[::-1]).split(share, seed)[0]
    assert np.array_equal(again.values, one.values)


def test_every_rank_is_as_likely_to_be_chosen():
    # 4000 splits of 10 scores: each rank is chosen Bin(4000, 0.3) times, 1200 +- 29; 6 sigma.
    chosen = np.zeros(10)
    for seed in range(4000):
        chosen[RankedScores(np.arange(10)).split(0.3, seed)[0].values.astype(int)] += 1
    assert np.all(np.abs(chosen - 1200) < 6 * math.sqrt(4000 * 0.3 * 0.7))


def test_ten_million_scores_are_quick():
    values = np.random.default_rng(1).normal(size=10**7)
    began = time.process_time()
    side = RankedScores(values)
    sorted_at = time.process_time()
    one, two = side.split(0.2, 5)
    assert (one.count, two.count) == (2 * 10**6, 8 * 10**6)
    assert sorted_at - began < 5  # about 1 s alone on one core
    assert time.process_time() - sorted_at < 5


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.descending([1, 4]), "ranks must be whole numbers from 1 to 3, got 4.0"),
        (lambda s: s.ascending(0), "ranks must be whole numbers from 1 to 3, got 0.0"),
        (lambda s: s.ascending(1.5), "ranks must be whole numbers from 1 to 3, got 1.5"),
        (lambda s: s.above(math.nan), "values must not contain NaN, got nan"),
        (lambda s: s.split(1, 0), "share must lie strictly between 0 and 1, got 1"),
        (lambda s: s.split(0.5, -1), "seed must be at least 0, got -1"),
        (lambda s: RankedScores([1]).split(0.5, 0), "a split must have at least 2 scores, got 1"),
    ],
)
def test_a_sample_refuses(ask, message):
    with pytest.raises(InvalidArgument) as refused:
        ask(RankedScores([1, 2, 3]))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 3.0, 2.0],
        (1, 3, 2),
        np.array([1, 3, 2], dtype=np.int8),
        np.array([1, 3, 2], dtype=np.float32),
        pd.Series([1.0, 3.0, 2.0]),
        pl.Series([1.0, 3.0, 2.0]),
        pa.chunked_array([[1.0], [3.0, 2.0]]),
    ],
)
def test_a_side_may_be_any_list_of_numbers(values):
    scores = Scores(members=values, non_members=[0.5])
    assert scores.members.descending([1, 2, 3]).tolist() == [3, 2, 1]
    assert scores.orientation is Orientation.HIGHER


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([1, math.nan], "members must not be NaN, got nan in row 1 (counted from 0)"),
        (
            [1, 2, -math.inf],
            "members must be finite (cap infinite scores at a finite one),"
            " got -inf in row 2 (counted from 0)",
        ),
        ([1, "high"], "members must be a number, got 'high' in row 1 (counted from 0)"),
        ([1, None], "members must not be missing, got None in row 1 (counted from 0)"),
        ([0.5, True], "members must be a number, got True in row 1 (counted from 0)"),
        (np.array([True]), "members must be a number, got True in row 0 (counted from 0)"),
        (
            np.array([5], dtype="m8[s]"),
            "members must be a number, got '5 seconds' in row 0 (counted from 0)",
        ),
        (np.array([1j]), "members must be a number, got 1j in row 0 (counted from 0)"),
        (
            [1, -(10**309)],
            f"members must fit a double, got {repr(-(10**309))[:77]}... in row 1 (counted from 0)",
        ),
        ([], "members must not be empty, got []"),
        ([[1, 2]], "members must be one list of numbers, got (1, 2) as its shape"),
        (3.0, "members must be one list of numbers, got () as its shape"),
        ([[1], [1, 2]], "members must be one list of numbers, got [[1], [1, 2]]"),
        (
            np.ma.array([1.0, 2.0], mask=[False, True]),
            "members must not be missing, got None in row 1 (counted from 0)",
        ),
    ],
)
def test_a_bad_side_is_named_with_its_row(members, message):
    with pytest.raises(BadScores) as refused:
        Scores(members=members, non_members=[0.0])
    assert str(refused.value) == message


def test_scores_cannot_be_changed():
    given_ = np.array([2.0, 1.0])
    scores = Scores(given_, [0.0])
    given_[0] = 99
    assert scores.members.descending(1) == 2
    with pytest.raises(AttributeError):
        scores.members = [1]
    with pytest.raises(ValueError, match="read-only"):
        scores.members.values[0] = 1


TABLE = {"score": [0.5, 2.0, 0.25, 1.0], "member": [False, True, False, True], "run": [1, 2, 3, 2]}
FRAMES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "pandas nullable": lambda t: pd.DataFrame(t).convert_dtypes(),
    "pandas of Arrow": lambda t: pd.DataFrame(t).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda t: pl.DataFrame(t, strict=False),
    "arrow": lambda t: pa.table(t),
    "stream": lambda t: _OnlyStream(pa.table(t)),
}


class _OnlyStream:
    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, schema=None):
        return self._table.__arrow_c_stream__(schema)


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


def test_any_table_will_do(frame):
    scores = Scores.from_table(frame(TABLE), run="run", orientation=Orientation.LOWER)
    assert scores.members.ascending([1, 2]).tolist() == [1.0, 2.0]
    assert scores.non_members.ascending([1, 2]).tolist() == [0.25, 0.5]
    assert scores.orientation is Orientation.LOWER
    assert scores.repeated_runs() == {2: 2}


def test_members_may_be_marked_with_one_and_zero(frame):
    scores = Scores.from_table(frame(TABLE | {"member": [0, 1, 0, 1]}), run="run")
    assert scores.members.ascending([1, 2]).tolist() == [1.0, 2.0]


def test_missing_values_in_a_table_are_named(frame):
    for name in ("score", "member", "run"):
        broken = TABLE | {name: [*TABLE[name][:3], None]}
        with pytest.raises(BadScores) as refused:
            Scores.from_table(frame(broken), run="run")
        assert str(refused.value).startswith(name)
        said = str(refused.value).removesuffix(LEAVE + DROP)
        assert said.endswith("in row 3 (counted from 0)")
        assert (said == str(refused.value)) == (name == "run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"member": [0, 1, 2, 1]},
            f"member must {TRUTH}, got 2 in row 2 (counted from 0){ANOTHER}",
        ),
        (
            {"member": ["a", "b", "a", "b"]},
            f"member must {TRUTH}, got 'a' in row 0 (counted from 0){ANOTHER}",
        ),
        (
            {"member": [0.0, 1.0, 0.0, 0.5]},
            f"member must {TRUTH}, got 0.5 in row 3 (counted from 0){ANOTHER}",
        ),
        (
            {"member": [1, 1, 1, 1]},
            "scores must have rows of non-members (member = 0), got 0 of 4 rows",
        ),
        (
            {"member": [0, 0, 0, 0]},
            "scores must have rows of members (member = 1), got 0 of 4 rows",
        ),
        (
            {"score": ["a", "b", "c", "d"]},
            "score must be a number, got 'a' in row 0 (counted from 0)",
        ),
    ],
)
def test_a_bad_table_is_refused_alike_everywhere(frame, change, message):
    with pytest.raises(BadScores) as refused:
        Scores.from_table(frame(TABLE | change), run="run")
    assert str(refused.value) == message


def test_a_table_with_an_unread_column_of_runs_is_refused_as_a_file_is(frame):
    said = r"^table has a column 'run', and scores of one run may not be independent\. If these are"
    with pytest.raises(BadScores, match=said):
        Scores.from_table(frame(TABLE))
    assert Scores.from_table(frame(TABLE), group="run").members.count == 2


def test_a_missing_column_says_which_are_there(frame):
    with pytest.raises(BadScores) as refused:
        Scores.from_table(frame(TABLE), score="loss")
    assert str(refused.value) == "table must have a column 'loss', has 'score', 'member', 'run'"


def test_columns_of_a_dict_must_fit():
    with pytest.raises(BadScores) as refused:
        Scores.from_table({"score": [1, 2, 3], "member": [0, 1]})
    assert str(refused.value) == "member must have one label for each of 3 scores, got 2"
    with pytest.raises(InvalidArgument) as refused:
        Scores.from_table([1, 2, 3])
    assert str(refused.value) == (
        "table must be a pandas, Polars or Arrow table or a dict of columns, got list"
    )


def test_no_table_package_is_loaded_before_it_is_needed():
    said = "import sys, tellapart.audit.attack_metrics; print(*sys.modules)"
    loaded = subprocess.run(  # noqa: S603
        [sys.executable, "-c", said], capture_output=True, check=True, text=True
    )
    assert not {"duckdb", "pandas", "polars", "pyarrow"} & set(loaded.stdout.split())


def test_runs_that_occur_twice_are_not_independent():
    assert Scores([1, 2], [0, 0]).independent is None
    assert Scores([1, 2], [0, 0]).repeated_runs() == {}
    assert Scores([1, 2], [0], member_runs=["a", "b"], non_member_runs=["c"]).independent is True
    shared = Scores([1, 2], [0], member_runs=["a", "b"], non_member_runs=["a"])
    assert shared.independent is False
    assert shared.repeated_runs() == {"a": 2}


def test_scores_by_group():
    scores = Scores(
        [3, 1, 2],
        [0.5, 0.25],
        Orientation.EITHER,
        member_groups=["x", "y", "x"],
        non_member_groups=["y", "x"],
        member_runs=[1, 2, 1],
        non_member_runs=[3, 4],
    )
    groups = scores.by_group()
    assert list(groups) == ["x", "y"]
    assert groups["x"].members.ascending([1, 2]).tolist() == [2, 3]
    assert groups["x"].non_members.ascending([1]).tolist() == [0.25]
    assert groups["x"].repeated_runs() == {1: 2}
    assert groups["y"].independent is True
    assert groups["y"].orientation is Orientation.EITHER


def test_groups_and_runs_are_checked():
    with pytest.raises(
        InvalidArgument, match=r"^member_runs and non_member_runs must be given together"
    ):
        Scores([1], [0], member_runs=[1])
    with pytest.raises(BadScores) as refused:
        Scores([1, 2], [0], member_groups=[1], non_member_groups=[1])
    assert str(refused.value) == "member_groups must have one label per score, 2 in all, got 1"
    mixed = np.array(["x", 3], dtype=object)
    with pytest.raises(BadScores) as refused:
        Scores([1, 2], [0], member_groups=mixed, non_member_groups=["x"])
    assert str(refused.value) == (
        "member_groups must all be str, as the first is, got 3 in row 1 (counted from 0)"
    )
    with pytest.raises(BadScores) as refused:
        Scores([1, 2], [0], member_groups=["x", "y"], non_member_groups=["x"]).by_group()
    assert str(refused.value) == "group 'y' must have members and non-members, has no non-members"
    with pytest.raises(Unsupported) as refused:
        Scores([1], [0]).by_group()
    assert str(refused.value) == (
        "these scores have no groups: give member_groups and non_member_groups"
    )
    with pytest.raises(InvalidArgument, match=r"^runs and groups must come with the scores"):
        Scores(RankedScores([1]), RankedScores([0]), member_runs=[1], non_member_runs=[2])


def test_a_split_of_scores_splits_both_sides_apart():
    same = np.arange(1000.0)
    scores = Scores(same, same, Orientation.LOWER)
    one, two = scores.split(0.25, seed=3)
    assert (one.members.count, two.members.count) == (250, 750)
    assert (one.non_members.count, two.non_members.count) == (250, 750)
    assert one.orientation is two.orientation is Orientation.LOWER
    assert not np.array_equal(one.members.values, one.non_members.values)
    assert np.array_equal(scores.split(0.25, seed=3)[0].members.values, one.members.values)
    assert not np.array_equal(scores.split(0.25, seed=4)[0].members.values, one.members.values)


def test_sides_turn_so_that_higher_means_member():
    higher, lower = Scores([2], [1]), Scores([1], [2], Orientation.LOWER)
    assert higher.sides == (higher.members, higher.non_members)
    members, others = lower.sides
    assert members.descending(1) == -1 > others.descending(1) == -2
    with pytest.raises(Unsupported, match=r"^the score direction is not known"):
        _ = Scores([1], [2], Orientation.EITHER).sides
    with pytest.raises(InvalidArgument, match=r"^orientation must be Orientation.HIGHER or"):
        Scores([1], [2], "higher")


def test_a_column_that_is_there_twice_is_refused():
    table = pd.DataFrame([[1.0, 2.0, 1], [0.0, 1.0, 0]], columns=["score", "score", "member"])
    with pytest.raises(BadScores, match="table must have one column 'score', has 2"):
        Scores.from_table(table)


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_a_group_without_a_date_is_missing(unit):
    days = np.array(["2020-01-01", "NaT"], dtype=f"M8[{unit}]")
    with pytest.raises(BadScores, match="member_groups must not be missing, got None in row 1"):
        Scores([1.0, 2.0], [0.0, 3.0], member_groups=days, non_member_groups=days)


@pytest.mark.parametrize(
    "member", [[0.0, 1.0], ["0", "1"], ["out", "in"], ["Non-Member", "member"], ["test", "Train"]]
)
def test_members_may_be_named_by_the_words_of_the_field(member):
    for given_ in (member, np.array(member), np.array(member, dtype=object)):
        assert Scores.from_rows([1.0, 2.0], given_).members.descending(1) == 2


# -- names of 0.1 --------------------------------------------------------------------------------


def test_the_old_names_of_non_members_are_accepted(tmp_path):
    labels = {"member_runs": [1, 2], "member_groups": ["x", "y"]}
    new = Scores([1, 2], [0], non_member_runs=[3], non_member_groups=["x"], **labels)
    with pytest.warns(DeprecationWarning, match="= is non_member.*= since"):
        old = Scores(members=[1, 2], others=[0], other_runs=[3], other_groups=["x"], **labels)
    assert repr(old) == repr(new)
    assert old.others is old.non_members
    assert old.other_runs is old.non_member_runs
    assert old.other_groups is old.non_member_groups
    with pytest.raises(
        InvalidArgument, match=r"^non_members must be given once; others is its old"
    ):
        Scores(members=[1], others=[0], non_members=[0])
    for name in ("others", "non_members"):
        np.savez(tmp_path / "sides.npz", members=[1.0, 2.0], **{name: [0.5]})
        assert Scores.read(tmp_path / "sides.npz").non_members.count == 1


def test_the_old_names_of_counts_are_accepted():
    with pytest.warns(
        DeprecationWarning, match="= is (true_positives|false_positives|non_members)= since"
    ):
        old = Counts(accused_members=9, members=10, accused_others=1, others=20)
    assert old == Counts(true_positives=9, members=10, false_positives=1, non_members=20)
    assert (old.accused_members, old.accused_others, old.others) == (9, 1, 20)
    published = {"precision": 0.9, "recall": 0.45, "members": 1000}
    with pytest.warns(DeprecationWarning, match="others= is non_members= since"):
        old = Counts.from_precision_recall(**published, others=1000)
    assert old == Counts.from_precision_recall(**published, non_members=1000)


@pytest.mark.parametrize(
    "make",
    [
        lambda torch, values: torch.tensor(values).bfloat16(),
        lambda torch, values: torch.tensor(values).half(),
        lambda torch, values: torch.tensor(values, requires_grad=True),
        lambda torch, values: torch.tensor(values).to_sparse(),
        lambda torch, values: sparse.csr_array([[value] for value in values]),
    ],
    ids=["bfloat16", "half", "gradients", "sparse tensor", "sparse matrix"],
)
def test_scores_of_tensors_and_sparse_columns_are_read(make):
    torch = pytest.importorskip("torch")
    column = make(torch, [0.5, 0.0, 2.0])
    scores = Scores(members=column, non_members=column)
    for side in (scores.members, scores.non_members):
        assert side.ascending([1, 2, 3]).tolist() == [0.0, 0.5, 2.0]


def test_a_sparse_row_is_no_list_of_scores():
    with pytest.raises(BadScores, match=r"members must be one list of numbers, got \(1, 3\)"):
        Scores(members=sparse.csr_array([[1.0, 0.0, 2.0]]), non_members=[1.0])
