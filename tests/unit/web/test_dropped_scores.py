"""Files of scores in memory: read as from disk, refused in the same words, bounded, unwritten."""

import gzip
import io
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tellapart.audit import Orientation, Scores
from tellapart.data.columns import Names
from tellapart.errors import BadScores, Unsupported
from tellapart.web import limits
from tellapart.web.view import Dropped
from tellapart.web.views.score_file import read_dropped

duckdb = pytest.importorskip("duckdb")

ROWS = "score,member,seed\n0.5,1,a\n-1.25,0,b\n2e3,1,c\n0.5,0,d\n"


def npz(**arrays):
    held = io.BytesIO()
    np.savez_compressed(held, **arrays)
    return held.getvalue()


def parquet(folder, select):
    target = folder / "made.parquet"
    duckdb.sql(f"COPY ({select}) TO '{target}' (FORMAT parquet)")
    return target.read_bytes()


ARRAYS = {"score": np.array([0.5, -1.25, 2e3]), "member": np.array([1, 0, 1]), "seed": np.arange(3)}

GOOD = {
    "plain.csv": ROWS.encode(),
    "packed.csv.gz": gzip.compress(ROWS.encode()),
    "arrays.npz": npz(**ARRAYS),
}


def same(one, two):
    for side in ("members", "non_members"):
        a, b = getattr(one, side), getattr(two, side)
        ranks = np.arange(1, a.count + 1)
        assert a.count == b.count
        assert a.descending(ranks).tolist() == b.descending(ranks).tolist()
    assert one.orientation is two.orientation
    for runs in ("member_runs", "non_member_runs"):
        a, b = getattr(one, runs), getattr(two, runs)
        assert (a is None) == (b is None)
        assert a is None or a.tolist() == b.tolist()


@pytest.mark.parametrize("run", [None, "seed"])
@pytest.mark.parametrize("name", GOOD)
def test_a_file_in_memory_is_read_as_from_disk(name, run, tmp_path):
    (tmp_path / name).write_bytes(GOOD[name])
    found = read_dropped(Dropped(name, GOOD[name]), Names(run=run), Orientation.LOWER)
    same(found, Scores.read(tmp_path / name, run=run, orientation=Orientation.LOWER))


def test_arrays_of_members_and_others_are_read_as_from_disk(tmp_path):
    content = npz(members=[1.0, 2.0], non_members=[0.5])
    (tmp_path / "two.npz").write_bytes(content)
    found = read_dropped(Dropped("two.npz", content), Names(), Orientation.HIGHER)
    same(found, Scores.read(tmp_path / "two.npz"))


@pytest.mark.parametrize("run", [None, "seed"])
def test_parquet_in_memory_is_read_as_from_disk(run, tmp_path):
    select = "SELECT x / 7 AS score, x % 3 = 0 AS member, 'r' || x AS seed FROM range(50) t(x)"
    content = parquet(tmp_path, select)
    found = read_dropped(Dropped("x.parquet", content), Names(run=run), Orientation.HIGHER)
    same(found, Scores.read(tmp_path / "made.parquet", run=run))


# One of each kind: which files are bad is told of those on a disk.
BAD = {
    "columns.csv": b"a,b\n1,1\n",
    "word.csv": b"score,member\n1,1\nhigh,0\n",
    "all members.csv": b"score,member\n1,1\n2,1\n",
    "late.csv": b"score,member\n" + b"1,1\n2,0\n" * 5_000 + b"x,1\n",
    "nan.npz": npz(score=[1.0, np.nan], member=[1, 0]),
    "lengths.npz": npz(score=[1.0, 2.0], member=[1]),
    "objects.npz": npz(score=np.array([1.0, "x"], dtype=object), member=[1, 0]),
    "junk.npz": bytes(range(256)) * 9,
    "junk.txt": b"score,member\n1,1\n",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_the_words_of_the_library(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(BAD[name])
    with pytest.raises(BadScores) as from_disk:
        Scores.read(path)
    with pytest.raises(BadScores) as in_memory:
        read_dropped(Dropped(name, BAD[name]), Names(), Orientation.HIGHER)
    assert in_memory.value.problem == from_disk.value.problem.replace(str(path), name)


SELECTS = {
    "nulls": "SELECT nullif(x, 3) AS score, x % 2 = 0 AS member FROM range(9) t(x)",
    "one side": "SELECT x AS score, true AS member FROM range(9) t(x)",
}


@pytest.mark.parametrize("case", SELECTS)
def test_bad_parquet_is_refused_in_the_words_of_the_library(case, tmp_path):
    content = parquet(tmp_path, SELECTS[case])
    with pytest.raises(BadScores) as from_disk:
        Scores.read(tmp_path / "made.parquet")
    with pytest.raises(BadScores) as in_memory:
        read_dropped(Dropped("x.parquet", content), Names(), Orientation.HIGHER)
    said = from_disk.value.problem.replace(str(tmp_path / "made.parquet"), "x.parquet")
    assert in_memory.value.problem == said


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.parquet", b""),
        ("binary.csv", bytes(range(256)) * 20),
        ("binary.parquet", bytes(range(256)) * 20),
        ("cut.csv.gz", gzip.compress(ROWS.encode())[:-12]),
        ("cut.npz", npz(**ARRAYS)[:-40]),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_is_no_table_is_refused_by_its_own_name(name, content):
    with pytest.raises(BadScores, match=name) as refused:
        read_dropped(Dropped(name, content), Names(), Orientation.HIGHER)
    assert "/proc" not in str(refused.value)


# -- bounds --------------------------------------------------------------------------------------


def refused(name, content, match, names=None):
    with pytest.raises(BadScores, match=match):
        read_dropped(Dropped(name, content), names or Names(), Orientation.HIGHER)


def test_a_file_larger_than_the_limit_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(limits, "LARGEST_FILE", 10)
    refused("big.csv", ROWS.encode(), f"at most 10 bytes, has {len(ROWS)}")


def test_more_rows_than_the_limit_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "MOST_ROWS", 3)
    select = "SELECT x AS score, x % 2 = 0 AS member FROM range(4) t(x)"
    refused("rows.csv", ROWS.encode(), "at most 3 rows")
    refused("rows.npz", npz(score=[1.0] * 4, member=[1, 0, 1, 0]), "at most 3 rows")
    refused("rows.npz", npz(members=[1.5] * 2, non_members=[0.0] * 2), "at most 3 rows")
    refused("rows.parquet", parquet(tmp_path, select), "at most 3 rows")


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "LARGEST_OPENED", 2**16)
    bomb = gzip.compress(b"score,member\n" + b"1,1\n" * 2**14)
    assert len(bomb) < limits.LARGEST_FILE
    refused("bomb.csv.gz", bomb, "must unpack to at most")
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        packed.writestr("score.npy", bytes(limits.LARGEST_OPENED + 1))
        packed.writestr("member.npy", b"")
    assert len(held.getvalue()) < limits.LARGEST_FILE
    refused("bomb.npz", held.getvalue(), "must unpack to at most")


@pytest.mark.parametrize("shape", ["(1099511627776,)", "(4, 1099511627776)", "(-1,)"])
def test_no_room_is_made_for_an_array_that_only_says_it_is_large(shape):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    array = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(64)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as packed:
        packed.writestr("score.npy", array)
        packed.writestr("member.npy", b"")
    refused("says.npz", held.getvalue(), "must be an .npz file of plain arrays")


@pytest.mark.parametrize(
    ("start", "packing"),
    [(b"\x93NUMPY\x03\x00", zipfile.ZIP_DEFLATED), (b"\x93NUMPY\x01\x00", zipfile.ZIP_LZMA)],
)
def test_archives_that_numpy_would_not_write_for_scores_are_refused(start, packing):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", packing) as packed:
        packed.writestr("score.npy", start + bytes(64))
        packed.writestr("member.npy", b"")
    refused("odd.npz", held.getvalue(), "must be an .npz file of plain arrays")


class _Touches:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_nothing_in_a_file_is_run(tmp_path):
    mark = tmp_path / "was here"
    trap = np.array([_Touches(mark), 1.0], dtype=object)
    refused("trap.npz", npz(score=trap, member=[1, 0]), "plain arrays")
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as packed:
        packed.writestr("score.npy", pickle.dumps(_Touches(mark)))
        packed.writestr("member.npy", b"")
    refused("trap.npz", held.getvalue(), "plain arrays")
    assert not mark.exists()


def test_a_label_written_once_and_meant_by_every_row_is_refused_while_it_is_small(tmp_path):
    select = (
        "SELECT x AS score, x % 2 = 0 AS member, repeat('y', 100_000) AS run FROM range(9000) t(x)"
    )
    content = parquet(tmp_path, select)
    assert len(content) < 1_000_000
    refused("labels.parquet", content, "run must hold short labels", Names(run="run"))


def test_nothing_is_written(tmp_path, monkeypatch):
    content = parquet(tmp_path, "SELECT x AS score, x % 2 = 0 AS member FROM range(9) t(x)")
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    monkeypatch.setattr("tempfile.tempdir", str(empty))

    def forbidden(*_, **__):
        raise AssertionError("a folder was asked for")

    monkeypatch.setattr("tempfile.mkdtemp", forbidden)
    for name, one in {**GOOD, "x.parquet": content}.items():
        read_dropped(Dropped(name, one), Names(), Orientation.HIGHER)
    assert list(empty.iterdir()) == []


def test_parquet_is_refused_where_no_file_can_live_in_memory(monkeypatch):
    monkeypatch.delattr("os.memfd_create")
    with pytest.raises(Unsupported, match=r"save it as .csv or .npz"):
        read_dropped(Dropped("x.parquet", b"PAR1"), Names(), Orientation.HIGHER)


def test_names_of_columns_are_taken_as_they_are():
    content = b'"a ""b""",in\n1,1\n0,0\n'
    found = read_dropped(
        Dropped("x.csv", content), replace(Names(), score='a "b"', member="in"), Orientation.HIGHER
    )
    assert found.members.count == 1


@pytest.mark.parametrize("head", ["score, member", " score ,member  ", "score,,member"])
def test_columns_are_called_as_on_a_disk(head, tmp_path):
    row = ",".join("1" for _ in head.split(","))
    content = f"{head}\n{row}\n{'0'.join(row.split('1'))}\n".encode()
    (tmp_path / "x.csv").write_bytes(content)
    found = read_dropped(Dropped("x.csv", content), Names(), Orientation.HIGHER)
    same(found, Scores.read(tmp_path / "x.csv"))
