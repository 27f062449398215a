"""The first look into a score file: the columns that the reader finds, in every format."""

import gzip
import io
import re

import numpy as np
import pytest

from tellapart.errors import BadScores
from tellapart.web.view import Dropped
from tellapart.web.views.audit import VIEW, AuditState
from tellapart.web.views.score_file import seen_in

TEXT = "score,member\n" + "".join(f"{k}.5,{k % 2}\n" for k in range(9))
WANTED = tuple((f"{k}.5", f"{k % 2}") for k in range(5))


def packed(**arrays):
    held = io.BytesIO()
    np.savez_compressed(held, **arrays)
    return held.getvalue()


def parquet(folder):
    duckdb = pytest.importorskip("duckdb")
    source, target = folder / "x.csv", folder / "x.parquet"
    source.write_text(TEXT, encoding="utf-8")
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{source}')) TO '{target}' (FORMAT parquet)")  # noqa: S608
    return target.read_bytes()


def test_every_format_shows_its_columns_and_first_rows(tmp_path):
    arrays = {"score": np.arange(9) + 0.5, "member": np.arange(9) % 2}
    for name, content in {
        "x.csv": TEXT.encode(),
        "x.csv.gz": gzip.compress(TEXT.encode()),
        "x.npz": packed(**arrays),
        "x.parquet": parquet(tmp_path),
    }.items():
        seen = seen_in(Dropped(name, content))
        rows = tuple(tuple(map(str, row)) for row in seen.rows)
        assert (seen.columns, rows) == (("score", "member"), WANTED), name


@pytest.mark.parametrize(
    ("name", "content"),
    [("x.npz", b"PK"), ("x.csv.gz", b"\x1f\x8b"), ("x.parquet", b"PAR1")],
)
def test_what_cannot_be_read_is_said(name, content):
    with pytest.raises(BadScores, match=f"^{name} must be (readable|an)"):
        seen_in(Dropped(name, content))


def test_columns_are_found_or_asked_for():
    """One candidate is taken and said; of several, the list of columns is open."""
    found = Dropped("x.csv", b"loss,is_member\n" + b"0.5,1\n0.25,0\n" * 9)
    answer = VIEW.answer(AuditState(), found)
    assert "Inferred from the file" in str(answer.parts)
    several = Dropped("x.csv", b"a,b,member\n" + b"0.5,1.5,1\n0.25,2.5,0\n" * 9)
    asked = VIEW.answer(AuditState(), several)
    assert asked.headline == "NO VERDICT: choose the columns"
    assert "'a'" in asked.sentences[0]
    assert "Columns of the file" in asked.sentences[0]
    (rows,) = asked.parts
    assert rows.head == ("a", "b", "member")
    assert len(rows.rows) == 5
    assert not asked.reports
    (columns,) = [
        each
        for each in VIEW.controls(AuditState(), several)
        if getattr(each, "title", "") == "Columns of the file"
    ]
    assert not columns.folded
    assert VIEW.answer(AuditState(score="a"), several).headline.startswith("NO VERDICT")


# Files that the command line would offer an option for.
OFFERED = {
    "several scores": b"a,b,member\n" + b"0.5,1.5,1\n0.25,2.5,0\n" * 9,
    "labels by another name": b"score,was_in\n" + b"0.5,1\n0.25,0\n" * 9,
    "several labels": b"score,was_in,kept\n" + b"0.5,1,0\n0.25,0,1\n" * 9,
    "no labels": b"a,b\n" + b"0.5,1.5\n0.25,2.5\n" * 9,
    "one column": b"a\n" + b"0.5\n0.25\n" * 9,
    "two values": b"score,side\n" + b"0.5,left\n0.25,right\n" * 9,
    "labels of non-members": b"score,is_test\n" + b"0.5,1\n0.25,0\n" * 9,
    "a row without a score": b"score,member\n" + b"0.5,1\n0.25,0\n" * 9 + b",1\n",
    "other words": b"score,member\n" + b"0.5,left\n0.25,right\n" * 9,
    "runs": b"score,member,run\n" + b"0.5,1,3\n0.25,0,4\n" * 9,
    "two sides or one": b"members,non_members,score\n" + b"0.5,1.5,1\n0.25,2.5,0\n" * 9,
    "one is 1 where the other is 0": b"members,non_members\n" + b"1,0\n0,1\n" * 9,
    "lists of rows": b"members,non_members\n"
    + b"".join(b"%d,%d\n" % (k, k + 50) for k in range(9)),
}


@pytest.mark.parametrize("content", OFFERED.values(), ids=OFFERED)
def test_the_page_speaks_of_its_own_lists(content):
    """Nobody on the page can type an option."""
    try:
        answer = VIEW.answer(AuditState(), Dropped("x.csv", content))
    except BadScores as why:
        said = str(why)
    else:
        said = " ".join(answer.sentences)
    assert not re.search(r"(^|[\s(])--|Python|in Python|_value", said), said
    assert said.endswith((".", "'", ")")) or said[-1].isalnum(), said


def test_a_chosen_column_that_the_file_lacks_can_be_chosen_anew():
    held = Dropped("x.csv", TEXT.encode())
    answer = VIEW.answer(AuditState(member="was_in"), held)
    assert answer.headline == "NO VERDICT: choose the columns"
    (columns,) = [
        each
        for each in VIEW.controls(AuditState(member="was_in"), held)
        if getattr(each, "title", "") == "Columns of the file"
    ]
    assert not columns.folded
