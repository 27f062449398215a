"""Odd columns of Feather, Parquet and JSON: read the same in each, or refused in the same words."""

import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import tellapart as ta
from tellapart.audit import Scores

MEMBER = [1, 0] * 20
SCORE = [k / 8 - 2 for k in range(40)]
BINARY = [str(score).encode() for score in SCORE]
WRITERS = {
    "feather": lambda table, path: pa.feather.write_feather(table, path),
    "parquet": lambda table, path: pa.parquet.write_table(table, path),
}


def read(kind, tmp_path, score=SCORE, member=MEMBER):
    path = tmp_path / f"scores.{kind}"
    WRITERS[kind](pa.table({"score": score, "member": member}), path)
    return Scores.read(path)


def same(scores):
    plain = Scores(SCORE[::2], SCORE[1::2])
    for side, wanted in ((scores.members, plain.members), (scores.non_members, plain.non_members)):
        ranks = np.arange(1, 21)
        assert np.array_equal(side.descending(ranks), wanted.descending(ranks))


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    "score",
    [
        pa.array([Decimal(str(score)) for score in SCORE]),
        pa.array([Decimal(str(score)) for score in SCORE], pa.decimal256(40, 6)),
        pa.array(SCORE).dictionary_encode(),
        pa.array(np.array(SCORE, dtype=np.float16)),
        pa.array(BINARY),
        pa.array(list(map(str, SCORE)), pa.large_string()),
        pa.chunked_array([SCORE[:7], SCORE[7:]]),
    ],
    ids=["decimal", "wide decimal", "dictionary", "half", "bytes", "large text", "chunks"],
)
def test_scores_of_every_type_are_read(kind, score, tmp_path):
    same(read(kind, tmp_path, score))


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    "member",
    [
        pa.array([str(one).encode() for one in MEMBER]),
        pa.array([Decimal(one) for one in MEMBER]),
        pa.array(["in", "out"] * 20).dictionary_encode(),
        pa.array([True, False] * 20),
        pa.array(np.array(MEMBER, dtype=np.float32)),
    ],
    ids=["bytes", "decimal", "dictionary", "truth", "float"],
)
def test_members_of_every_type_are_read(kind, member, tmp_path):
    same(read(kind, tmp_path, member=member))


BIG = 2**60
NO_SCORES = {
    "large": ([BIG + one for one in MEMBER], "exact in a double, .* subtract the least first, got"),
    "unsigned": (np.array([2**63 + one for one in MEMBER], np.uint64), "exact in a double"),
    "negative": ([-(2**53) - one for one in MEMBER], "exact in a double"),
    "times": (np.arange(40).astype("M8[ns]"), "score must be a number, got '1970-01-01T"),
    "truths": ([True, False] * 20, "score must be a number, got True"),
    "lists": ([[score] for score in SCORE], "score must (hold plain values|be a number)"),
    "structs": ([{"a": score} for score in SCORE], "score must (hold plain values|be a number)"),
    "infinite": ([np.inf, *SCORE[1:]], r"score must be finite"),
    "missing": ([None, *SCORE[1:]], "score must not be missing"),
    "nothing": (pa.nulls(40), "score must not be missing"),
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("odd", NO_SCORES)
def test_what_is_no_score_is_refused(kind, odd, tmp_path):
    values, said = NO_SCORES[odd]
    with pytest.raises(ta.BadScores, match=said):
        read(kind, tmp_path, values)


def test_whole_numbers_that_doubles_hold_are_scores(tmp_path):
    """Not their size is refused, but digits that would be lost."""
    for kind in WRITERS:
        held = read(kind, tmp_path, [BIG + 256 * k for k in range(40)])
        assert held.members.descending([1])[0] == BIG + 256 * 38


@pytest.mark.parametrize("beside", [0, 0.5, -1, 2**63])
def test_large_whole_numbers_are_refused_in_texts_and_lists_too(beside, tmp_path):
    rows = [{"score": BIG + one, "member": one} for one in MEMBER]
    rows[3]["score"] = beside
    lines = tmp_path / "scores.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)))
    table = tmp_path / "scores.csv"
    table.write_text("score,member\n" + "\n".join(f"{r['score']},{r['member']}" for r in rows))
    for path in (lines, table):
        with pytest.raises(ta.BadScores, match=r"exact in a double, .*got .?1152921504606846977"):
            Scores.read(path)


def test_a_stream_of_arrow_is_named(tmp_path):
    table = pa.table({"score": SCORE, "member": MEMBER})
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table.schema) as stream:
        stream.write_table(table)
    with pytest.raises(
        ta.BadScores, match=r"an Arrow file, and is a stream: write it as \.feather"
    ):
        Scores.read(tmp_path / "stream.arrow")
