"""The first look into a score file: the columns that the reader finds, in every format."""

import gzip
import io

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
    with pytest.raises(BadScores, match="'a'"):
        VIEW.answer(AuditState(), several)
    (columns,) = [
        each
        for each in VIEW.controls(AuditState(), several)
        if getattr(each, "title", "") == "Columns of the file"
    ]
    assert not columns.folded
    assert VIEW.answer(AuditState(score="a"), several).headline.startswith("NO VERDICT")
