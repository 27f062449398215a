"""Score files: on disk they answer as in memory, and every bad file is named, word for word."""

import builtins
import gc
import itertools
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tellapart.audit import Orientation, Scores
from tellapart.audit import scores as in_memory
from tellapart.audit.scores import RankedScores
from tellapart.data import parquet
from tellapart.data import sorted_runs as runs
from tellapart.data.ranked import Ranked
from tellapart.data.reading import Reader
from tellapart.data.scores_and_labels import ANOTHER, DROP, LEAVE, TRUTH
from tellapart.data.sorted_runs import ScoreFile
from tellapart.data.sources import Source
from tellapart.errors import BadScores, InvalidArgument, Unsupported

FEW = st.sampled_from([-1e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 2.0**-1060, 1.0, 1.5, 1e300])
ROWS = st.lists(
    st.tuples(FEW | st.floats(allow_nan=False, allow_infinity=False), st.booleans()),
    min_size=2,
    max_size=60,
).filter(lambda rows: len({inside for _, inside in rows}) == 2)
VALUES = st.lists(FEW | st.floats(allow_nan=False), min_size=1, max_size=10)

ROW = [(1.0, True), (0.5, False), (0.25, True)]

THOROUGH = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def tiny(monkeypatch):
    """Runs, blocks and slices so small that a few rows fill many of them."""
    monkeypatch.setattr(runs, "RUN", 8)
    monkeypatch.setattr(runs, "BLOCK", 3)
    monkeypatch.setattr(parquet, "SLICE", 25)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where private folders go, so that a test can see what is left of them."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def written(path, rows, kind=None, member=None):
    kind, member = kind or pa.float64(), member or pa.bool_()
    values, inside = [value for value, _ in rows], [inside for _, inside in rows]
    frame = pa.table({"score": pa.array(values, kind), "member": pa.array(inside, member)})
    if str(path).endswith("parquet"):
        pq.write_table(frame, path, row_group_size=7)
    else:
        frame.to_pandas().to_csv(path, index=False, float_format="%.17g")
    return path


def assert_same(side, wanted, values):
    ranks = np.arange(1, wanted.count + 1)
    assert isinstance(side, Ranked)
    assert side.count == wanted.count
    assert np.array_equal(side.ascending(ranks), wanted.ascending(ranks))
    assert np.array_equal(side.descending(ranks), wanted.descending(ranks))
    assert np.array_equal(side.above(values), wanted.above(values))
    assert np.array_equal(side.below(values), wanted.below(values))
    assert side.above(values[0]).shape == ()
    low, high = min(values), max(values)
    assert np.array_equal(side.between(low, high), wanted.between(low, high))
    assert not np.signbit(side.ascending(ranks)[side.ascending(ranks) == 0]).any()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scores=st.lists(FEW | st.floats(-9, 9), min_size=1, max_size=90), values=VALUES)
def test_sorted_runs_answer_as_a_sample_does(scores, values, tiny):
    folder = runs.PrivateFolder()
    writer = runs.RunWriter(folder)
    for start in range(0, len(scores), 3):
        writer.add(np.array(scores[start : start + 3]))
    assert_same(writer.done(), RankedScores(scores), values)
    folder.remove()


@THOROUGH
@given(rows=ROWS, values=VALUES, files=st.integers(1, 4))
def test_a_file_answers_as_a_sample_does(rows, values, files, tiny, tmp_path):
    for index in range(files):
        written(tmp_path / f"{index}.parquet", rows[index::files])
    paths = [tmp_path / f"{index}.parquet" for index in range(files)]
    with ScoreFile(paths) as file:
        assert_same(file.members, RankedScores([v for v, inside in rows if inside]), values)
        assert_same(file.non_members, RankedScores([v for v, inside in rows if not inside]), values)


@THOROUGH
@given(rows=ROWS, values=VALUES)
def test_a_csv_file_loses_no_digit(rows, values, tiny, tmp_path):
    with ScoreFile(written(tmp_path / "scores.csv", rows)) as file:
        assert_same(file.members, RankedScores([v for v, inside in rows if inside]), values)
        assert_same(file.non_members, RankedScores([v for v, inside in rows if not inside]), values)


@THOROUGH
@given(
    rows=st.lists(
        st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=20, max_size=40
    ),
    member=st.sampled_from([pa.bool_(), pa.int8(), pa.uint64(), pa.int32()]),
)
def test_columns_of_floats_and_of_whole_numbers(rows, member, tiny, tmp_path):
    marked = [(value, index % 2) for index, value in enumerate(rows)]
    marks = [(value, bool(mark)) for value, mark in marked] if member == pa.bool_() else marked
    with ScoreFile(written(tmp_path / "f.parquet", marks, pa.float32(), member)) as file:
        assert_same(file.members, RankedScores(rows[1::2]), rows)
        assert_same(file.non_members, RankedScores(rows[0::2]), rows)


def test_scores_of_whole_numbers_and_decimals(tmp_path):
    for kind in (pa.int64(), pa.int16(), pa.uint8(), pa.decimal128(9, 2)):
        path = written(tmp_path / "w.parquet", [(3, True), (1, False), (2, True)], kind)
        assert Scores.read(path).members.descending([1, 2]).tolist() == [3, 2]


def test_one_value_many_times(tiny, tmp_path):
    rows = [(0.5, True)] * 100 + [(0.5, False)] * 99 + [(0.25, False)]
    with ScoreFile(written(tmp_path / "s.parquet", rows)) as file:
        assert_same(file.members, RankedScores([0.5] * 100), [0.5, 0.4, 0.6])
        assert_same(file.non_members, RankedScores([0.5] * 99 + [0.25]), [0.5, 0.25, 0.4, 0.6])


@THOROUGH
@given(rows=ROWS, share=st.floats(0.2, 0.8), seed=st.integers(0, 2**70))
def test_a_split_of_a_file_loses_and_doubles_nothing(rows, share, seed, tiny, tmp_path):
    rows = rows * 10
    with ScoreFile(written(tmp_path / "s.parquet", rows)) as file:
        for side in (file.members, file.non_members):
            one, two = side.split(share, seed)
            both = RankedScores(
                np.concatenate([part.between(-np.inf, np.inf) for part in (one, two)])
            )
            assert_same(side, both, [0.0])
            assert_same(one, RankedScores(one.between(-np.inf, np.inf)), [0.0, 1.0])
            again = side.split(share, seed)[0]
            assert np.array_equal(again.between(-np.inf, np.inf), one.between(-np.inf, np.inf))


def test_a_split_of_a_file_does_not_look_at_the_scores(tiny, tmp_path):
    # 600 splits of 40 scores: each is chosen Bin(600, 0.25) times, 150 +- 10.6; 6 sigma.
    rows = [(float(index), True) for index in range(40)] + [(0.0, False)]
    chosen = np.zeros(40)
    with ScoreFile(written(tmp_path / "s.parquet", rows)) as file:
        for seed in range(600):
            part = file.members.split(0.25, seed)[0]
            chosen[part.between(-np.inf, np.inf).astype(int)] += 1
    assert np.all(np.abs(chosen - 150) < 6 * np.sqrt(600 * 0.25 * 0.75))


def test_large_tables_stay_on_disk(tiny, tmp_path, temporary, monkeypatch):
    monkeypatch.setattr(in_memory, "IN_MEMORY", 10)
    generator = np.random.default_rng(7)
    rows = [(float(value), bool(value > 0.3)) for value in generator.normal(size=99)]
    path = written(tmp_path / "s.parquet", rows)
    seen = []
    scores = Scores.read(
        path, orientation=Orientation.LOWER, progress=lambda *one: seen.append(one)
    )
    assert isinstance(scores.members, runs.SortedRuns)
    assert scores.orientation is Orientation.LOWER
    assert_same(scores.members, RankedScores([v for v, inside in rows if inside]), [0.0])
    select, certify = scores.split(0.5, seed=1)
    assert select.members.count + certify.members.count == scores.members.count
    assert all(what == "reading" for what, _ in seen)
    assert [share for _, share in seen] == sorted(share for _, share in seen)
    assert seen[-1] == ("reading", 1.0)
    named = {"score": [1.0, 0.0] * 9, "member": [True, False] * 9, "run": range(18)}
    pq.write_table(pa.table(named), tmp_path / "runs.parquet")
    with pytest.raises(Unsupported) as refused:
        Scores.read(tmp_path / "runs.parquet", run="run")
    assert str(refused.value) == (
        "runs and groups of more than 10 rows are too many to hold; "
        "read some of the files at a time"
    )
    assert len(list(temporary.iterdir())) == 1
    del scores
    assert select.members.count == len(select.members.between(-np.inf, np.inf))
    del select, certify
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_parts_that_are_dropped_take_no_disk(tmp_path, temporary):
    with ScoreFile(written(tmp_path / "s.csv", ROW * 10)) as file:
        for seed in range(5):
            parts = file.members.split(0.5, seed)
            assert len(list(next(temporary.iterdir()).iterdir())) == 4
            del parts
        members = file.members
    with pytest.raises(Unsupported, match=r"^this score file is closed: read it again$"):
        members.above(0.3)


def test_a_run_that_was_cut_short_is_no_answer(tmp_path, temporary):
    with ScoreFile(written(tmp_path / "s.csv", ROW * 10)) as file:
        for held in next(temporary.iterdir()).iterdir():
            held.write_bytes(held.read_bytes()[:-8])
        with pytest.raises(OSError, match=r"must keep its length, and has been cut short$"):
            file.members.above(0.3)


def test_nothing_is_left_behind(tmp_path, temporary):
    good = written(tmp_path / "good.csv", [(1.0, True), (0.0, False)])
    Scores.read(good)
    bad = written(tmp_path / "bad.csv", [(1.0, True), (np.nan, False)])
    with pytest.raises(BadScores):
        Scores.read(bad)
    with ScoreFile(good):
        assert len(list(temporary.iterdir())) == 1
        assert next(temporary.iterdir()).stat().st_mode & 0o777 == 0o700
    assert list(temporary.iterdir()) == []


def test_runs_and_groups_come_along(tmp_path):
    frame = pd.DataFrame(
        {"loss": [1.0, 2, 3, 4], "in": [1, 0, 1, 0], "run": [7, 8, 7, 9], "who": list("aabb")}
    )
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_csv(tmp_path / "f.csv", index=False)
    columns = {
        "loss": frame.loss,
        "in": frame["in"],
        "run": frame.run,
        "who": frame.who.to_numpy(str),
    }
    np.savez(tmp_path / "f.npz", **columns)
    for ending, run in (("parquet", 7), ("csv", "7"), ("npz", 7)):
        path = tmp_path / f"f.{ending}"
        found = Scores.read(path, score="loss", member="in", run="run", group="who")
        assert found.repeated_runs() == {run: 2}
        assert {who: one.members.descending(1) for who, one in found.by_group().items()} == {
            "a": 1,
            "b": 3,
        }


def test_archives_hold_two_sides_or_two_columns(tmp_path):
    np.savez(tmp_path / "sides.npz", members=[1.0, 2], non_members=[0.5])
    np.savez(tmp_path / "rows.npz", score=[1.0, 2, 0.5], member=[True, True, False])
    for name in ("sides", "rows"):
        scores = Scores.read(tmp_path / f"{name}.npz")
        assert scores.members.descending([1, 2]).tolist() == [2, 1]
        assert scores.non_members.count == 1
    both = Scores.read(tmp_path / "*.npz")
    assert (both.members.count, both.non_members.count) == (4, 2)


def test_paths_patterns_and_lists(tmp_path):
    deep = tmp_path / "member=1" / "x"
    deep.mkdir(parents=True)
    one = written(deep / "a[1].parquet", ROW)
    two = written(tmp_path / "b.parquet", ROW)
    assert Scores.read(str(one)).members.count == 2
    assert Scores.read([one, two]).members.count == 4
    assert Scores.read(str(tmp_path / "**" / "*.parquet")).non_members.count == 2


def test_compressed_and_semicolons_and_spaces(tmp_path):
    frame = pd.DataFrame(ROW, columns=["score", "member"])
    frame.to_csv(tmp_path / "z.csv.gz", index=False)
    frame.to_csv(tmp_path / "s.csv", index=False, sep=";")
    (tmp_path / "t.csv").write_text('member, score,note\n1, 1.0 ,\'a\n0,0.5,"x,y"\nTRUE,0.25,#\n')
    assert Scores.read(tmp_path / "z.csv.gz").members.count == 2
    assert Scores.read(tmp_path / "s.csv").members.count == 2
    assert Scores.read(tmp_path / "t.csv", score="score").members.descending(2) == 0.25


def refusal(path, **asked):
    with pytest.raises(BadScores) as refused:
        Scores.read(path, **asked)
    return str(refused.value).replace(str(Path(path).parent) + "/", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "score,member\n1,true\nhigh,false\n",
            "score must be a number, got 'high' in line 3 of f.csv",
        ),
        (
            "score,member\n1,true\n2,false\n,true\n",
            f"score must not be missing, got None in line 4 of f.csv{LEAVE}{DROP}",
        ),
        (
            "score,member\nnan,true\n",
            f"score must not be NaN, got nan in line 2 of f.csv{LEAVE}{DROP}",
        ),
        (
            "score,member\n1,true\n-inf,true\n",
            "score must be finite (cap infinite scores at a finite one),"
            " got -inf in line 3 of f.csv",
        ),
        (
            "score,member\n1,maybe\n",
            f"member must {TRUTH}, got 'maybe' in line 2 of f.csv{ANOTHER}",
        ),
        (
            "score,member\n1,true\n2,\n",
            f"member must not be missing, got None in line 3 of f.csv{LEAVE}{DROP}",
        ),
        (
            "score,member\n1,1\n2,1\n",
            "f.csv must have rows of non-members (member = 0), got 0 of 2 rows",
        ),
        ("score,member\n", "score files must have rows, got none in f.csv"),
        ("text,member\na,1\n", "f.csv must have a column 'score', has 'text', 'member'"),
        (
            "lira,loss,member\n1,2,1\n",
            "f.csv must say which column holds the scores: 'lira', 'loss'. Choose with "
            "--score-column lira, in Python score='lira'",
        ),
        (
            "loss\n1.5\n",
            "f.csv must say who is a member, and has one column, 'loss': add a column of labels, "
            "or give a file for each side with --members in.csv --non-members out.csv, in Python "
            "members=, non_members=",
        ),
    ],
)
def test_a_bad_csv_file_is_named(text, message, tmp_path):
    path = tmp_path / "f.csv"
    path.write_text(text)
    assert refusal(path) == message


def test_a_ragged_or_broken_file_is_named(tmp_path):
    ragged = tmp_path / "r.csv"
    ragged.write_text("score,member\n1,true\n2,false,7\n")
    assert refusal(ragged) == (
        "every row must have 2 cells, as the header has, got 3 in line 3 of r.csv"
    )
    for name in ("e.parquet", "e.csv.gz"):
        (tmp_path / name).write_text("score,member\n1,1\n")
        assert refusal(tmp_path / name).startswith(f"{name} must be readable: ")
    (tmp_path / "e.npz").write_text("score,member\n1,1\n")
    assert refusal(tmp_path / "e.npz") == "e.npz must be an .npz file of plain arrays"


@pytest.mark.parametrize("again", ["s.csv", "./s.csv", "*.csv", "link.csv"])
def test_a_file_is_not_read_twice(tmp_path, monkeypatch, again):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("score,member\n1,1\n0,0\n")
    (tmp_path / "link.csv").symlink_to("s.csv")
    with pytest.raises(BadScores, match=r"files must each be named once, got s\.csv and "):
        Scores.read(["s.csv", again])


def test_a_bad_row_is_found_in_whichever_file_and_slice_it_is(tiny, tmp_path):
    rows = ROW * 10
    written(tmp_path / "a.parquet", rows)
    for row, bad in itertools.product((0, 4, 5, 29), (None, np.nan, np.inf)):
        changed = rows.copy()
        changed[row] = (bad, True)
        written(tmp_path / "b.parquet", changed)
        said = refusal(tmp_path / "?.parquet").removesuffix(LEAVE + DROP)
        assert said.endswith(f"got {bad} in data row {row + 1} of b.parquet (counted from 1)")
    for bad, kind in ((2, pa.int32()), (-1, pa.int8()), (None, pa.bool_()), (None, pa.int8())):
        changed = [(v, inside if kind == pa.bool_() else int(inside)) for v, inside in rows]
        changed[17] = (1.0, bad)
        said = refusal(written(tmp_path / "c.parquet", changed, member=kind))
        said = said.removesuffix(LEAVE + DROP if bad is None else ANOTHER)
        assert said.startswith("member must ")
        assert said.endswith(f"got {bad} in data row 18 of c.parquet (counted from 1)")


@pytest.mark.parametrize("most", [100, 2], ids=["in memory", "on disk"])
@pytest.mark.parametrize("orientation", list(Orientation), ids=str)
def test_every_kind_of_file_is_read_the_way_it_is_told(tmp_path, monkeypatch, orientation, most):
    monkeypatch.setattr(in_memory, "IN_MEMORY", most)
    frame = pd.DataFrame({"score": [1.0, 2, 3, 4], "member": [1, 0, 1, 0]})
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_csv(tmp_path / "f.csv", index=False)
    np.savez(tmp_path / "f.npz", score=frame.score, member=frame.member)
    np.savez(tmp_path / "sides.npz", members=[1.0, 3], non_members=[2.0, 4])
    for name in ("f.parquet", "f.csv", "f.npz", "sides.npz"):
        scores = Scores.read(tmp_path / name, orientation=orientation)
        assert scores.orientation is orientation
        assert scores.members.descending([1, 2]).tolist() == [3, 1]
    assert Scores.from_table(frame, orientation=orientation).orientation is orientation


@pytest.mark.parametrize("row", [0, 4, 5, 17, 29])
def test_a_missing_label_is_found_in_whichever_slice_it_is(tiny, tmp_path, row):
    runs = [f"r{k}" for k in range(30)]
    runs[row] = None
    frame = pd.DataFrame({"score": np.arange(30.0), "member": np.arange(30) % 2, "run": runs})
    frame.to_parquet(tmp_path / "f.parquet")
    with pytest.raises(
        BadScores, match=f"run must not be missing, got None in data row {row + 1} "
    ):
        Scores.read(tmp_path / "f.parquet", run="run")


def test_columns_of_a_wrong_type_are_named(tmp_path):
    text = written(tmp_path / "t.parquet", [("high", True)], pa.string())
    where = "in data row 1 of"
    assert refusal(text) == f"score must be a number, got 'high' {where} t.parquet (counted from 1)"
    flags = written(tmp_path / "b.parquet", [(True, True)], pa.bool_())
    assert refusal(flags) == f"score must be a number, got True {where} b.parquet (counted from 1)"
    marks = written(tmp_path / "m.parquet", [(1.0, 1.0), (2.0, 0.0)], member=pa.float64())
    assert Scores.read(marks).members.count == 1
    written(tmp_path / "x1.parquet", ROW, pa.float32())
    written(tmp_path / "x2.parquet", ROW, pa.float64())
    assert refusal(tmp_path / "x?.parquet") == (
        "score must have one type in all files, got FLOAT in x1.parquet and DOUBLE in x2.parquet"
    )
    labels = pa.table({"score": [1.0, 0.0], "member": [True, False], "run": [1, None]})
    pq.write_table(labels, tmp_path / "l.parquet")
    assert refusal(tmp_path / "l.parquet", run="run") == (
        "run must not be missing, got None in data row 2 of l.parquet (counted from 1)"
    )


def test_bad_archives_are_named(tmp_path):
    path = tmp_path / "f.npz"
    np.savez(path, members=[1.0, np.nan], non_members=[1.0])
    said = "members must not be NaN, got nan in row 1 of f.npz (counted from 0)"
    assert refusal(path) == said + LEAVE + DROP
    np.savez(path, members=[1.0])
    assert refusal(path).startswith("f.npz must say who is a member, and has one array")
    np.savez(path, score=[1.0, 2.0], member=[1])
    assert refusal(path) == "member must have one label for each of 2 scores, got 1 in f.npz"


def test_files_that_are_not_there(tmp_path):
    def said(path):
        with pytest.raises(InvalidArgument) as refused:
            Scores.read(path)
        return str(refused.value).replace(str(tmp_path), "HERE")

    (tmp_path / "notes.doc").write_text("")
    written(tmp_path / "a.parquet", ROW)
    written(tmp_path / "a.csv", ROW)
    assert said(tmp_path / "no.csv") == "path must name a file that is there, got 'HERE/no.csv'"
    assert said(str(tmp_path / "*.npz")) == "path must match at least one file, got 'HERE/*.npz'"
    assert said(tmp_path) == ("path must name files, got the folder 'HERE': try 'HERE/*.parquet'")
    assert said(tmp_path / "notes.doc") == (
        "a score file must end in .csv, .tsv, .txt, .json or .jsonl (also with .gz), .npy, .npz, "
        ".parquet or .feather, got HERE/notes.doc"
    )
    assert said(str(tmp_path / "a.*")) == (
        "files must be of one kind, got HERE/a.csv and HERE/a.parquet"
    )
    assert said([]) == "path must name at least one file, got an empty list"


def test_a_file_that_changes_while_it_is_read_is_refused(tiny, tmp_path):
    path = written(tmp_path / "s.parquet", ROW * 10)
    rest = Reader().files([Source(path)])
    next(rest)
    written(path, ROW)
    with pytest.raises(BadScores, match=r"s\.parquet must not change while it is read$"):
        list(rest)


def test_without_duckdb_the_extra_is_named(tmp_path, monkeypatch):
    real = builtins.__import__
    plain, columns = written(tmp_path / "f.csv", ROW), written(tmp_path / "f.parquet", ROW)

    def without(name, *rest, **named):
        if name in ("duckdb", "pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    np.savez(tmp_path / "f.npz", members=[1.5], non_members=[0.0])
    assert Scores.read(tmp_path / "f.npz").members.count == 1
    assert Scores.read(plain).members.count == 2
    for ending in ("tsv", "txt", "json", "jsonl", "npy"):
        path = tmp_path / f"f.{ending}"
        if ending == "npy":
            np.save(path, np.array([(1.0, 1.0), (0.5, 0.0), (0.25, 1.0)]))
        elif "json" in ending:
            rows = [f'{{"score": {value}, "member": {int(inside)}}}' for value, inside in ROW]
            path.write_text(f"[{','.join(rows)}]" if ending == "json" else "\n".join(rows))
        else:
            path.write_text(plain.read_text().replace(",", "\t"))
        assert Scores.read(path).members.count == 2
    for path, kind in ((columns, "Parquet"), (tmp_path / "f.feather", "Feather")):
        path.write_bytes(columns.read_bytes() if kind == "Parquet" else b"ARROW1")
        with pytest.raises(Unsupported) as refused:
            Scores.read(path)
        said = f"reading {kind} files needs: pip install 'tellapart[files]'"
        assert str(refused.value) == said


def test_a_million_rows_written_by_duckdb(tmp_path):
    path = tmp_path / "m.parquet"
    duckdb.sql(
        "SELECT hash(i) % 100000 / 7.0 AS score, i % 3 = 0 AS member FROM range(1000000) t(i)"
    ).write_parquet(str(path))
    whole = Scores.read(path)
    with ScoreFile(path) as file:
        ranks = np.unique(np.geomspace(1, whole.members.count, 300).astype(int))
        values = np.linspace(-1, 15000, 3000)
        for side, wanted in ((file.members, whole.members), (file.non_members, whole.non_members)):
            assert np.array_equal(side.descending(ranks), wanted.descending(ranks))
            assert np.array_equal(side.above(values), wanted.above(values))
            assert np.array_equal(side.below(values), wanted.below(values))


def test_no_row_is_read_twice(tmp_path):
    one, two = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("score,member\n1,1\n0,0\n")
    two.symlink_to(one)
    again = tmp_path / "." / ".." / tmp_path.name / "a.csv"
    for named in ([one, one], [f"{tmp_path}/a*.csv", one], f"{tmp_path}/*.csv", [one, again]):
        with pytest.raises(BadScores, match=r"files must each be named once, got .* and .*csv"):
            Scores.read(named)
    two.unlink()
    two.write_text(one.read_text())
    assert Scores.read(f"{tmp_path}/*.csv").members.count == 2


def test_copies_of_a_file_are_not_twice_the_evidence(tmp_path):
    rows = "".join(f"{k / 7},{k % 2}\n" for k in range(200))
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("score,member\n" + rows)
    with pytest.raises(BadScores, match="must not be copies"):
        Scores.read([tmp_path / "a.csv", tmp_path / "b.csv"])
    with pytest.raises(BadScores, match="must not be copies"):
        Scores.read(str(tmp_path / "*.csv"))
    for name in ("one.csv", "two.csv"):  # so short that they may be alike by chance
        (tmp_path / name).write_text("score,member\n1,1\n0,0\n")
    assert Scores.read([tmp_path / "one.csv", tmp_path / "two.csv"]).members.count == 2


@pytest.mark.parametrize(
    "columns", [{"score": "member"}, {"run": "score"}, {"group": "member"}, {"member": "score"}]
)
def test_a_column_has_one_meaning(tmp_path, columns):
    """Scores that are the members' own column would refute every claim."""
    (tmp_path / "a.csv").write_text("score,member\n1,1\n0,0\n")
    with pytest.raises(InvalidArgument, match="must be a column of its own"):
        Scores.read(tmp_path / "a.csv", **columns)
    with pytest.raises(InvalidArgument, match="must be a column of its own"):
        Scores.from_table({"score": [1.0, 0.0], "member": [1, 0]}, **columns)
