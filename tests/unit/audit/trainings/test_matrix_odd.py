"""Odd matrices: read rightly, or refused in words that say what to do; never guessed at."""

import io
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from scipy import sparse

import tellapart as ta
from tellapart import audit
from tellapart.cli import main

RNG = np.random.default_rng(0)
MASK = RNG.random((20, 30)) < 0.5
SCORES = RNG.normal(size=MASK.shape) + 3 * MASK
SOME = RNG.random(MASK.shape) < 0.01


def read(scores, mask):
    return audit.Matrix(scores, mask, audit.Coins.INDEPENDENT)


@pytest.mark.parametrize(
    "mask",
    [*(MASK.astype(kind) for kind in ("i1", "u1", "i8", "f4", ">f8")), MASK.tolist(),
     np.asfortranarray(MASK), sparse.csr_matrix(MASK), torch.tensor(MASK),
     np.ma.masked_array(MASK, mask=False), np.asmatrix(MASK)],
)  # fmt: skip
def test_masks_of_every_make_are_one(mask):
    assert np.array_equal(read(SCORES, mask).inclusion, MASK)


@pytest.mark.parametrize(
    "scores",
    [*(SCORES.astype(kind) for kind in ("f2", ">f2", "f4", ">f8", "g")), np.asfortranarray(SCORES),
     SCORES.tolist(), torch.tensor(SCORES, requires_grad=True),
     torch.tensor(SCORES).to(torch.bfloat16), np.ma.masked_array(SCORES, mask=False)],
)  # fmt: skip
def test_numbers_of_every_make_are_one(scores):
    held = read(scores, MASK).scores
    assert type(held) is np.ndarray
    assert np.allclose(held.astype(float), SCORES, rtol=0.01)


@pytest.mark.parametrize(
    ("scores", "mask", "said"),
    [
        (SCORES, np.where(MASK, 1, -1), r"True and False \(or 1 and 0\), .*, got -1"),
        (SCORES, MASK * 0.5, "got 0.5"),
        (SCORES, np.where(MASK, 1, np.nan), "got nan"),
        (SCORES, MASK.astype(str), "True and False"),
        (SCORES, MASK.astype(object), "True and False"),
        (SCORES, np.ma.masked_array(MASK, mask=SOME), "none of them missing, got 'a masked array'"),
        (np.ma.masked_array(SCORES, mask=SOME), MASK, "none of them missing, got 'a masked array'"),
        (SCORES, MASK.T, "one row a model and one column a record"),
        (SCORES, MASK[0], "one row a model"),
        (SCORES[:0], MASK[:0], r"got \(0, 30\)"),
        (np.zeros((20, 30, 0)), MASK, r"array of numbers, got \(20, 30, 0\)"),
        (np.where(SOME, np.nan, SCORES), MASK, "finite numbers, got 'nan at"),
        (np.where(SOME, -np.inf, SCORES), MASK, "finite numbers, got '-inf at"),
        (SCORES.astype(object), MASK, "array of numbers"),
        (SCORES.astype(str), MASK, "array of numbers"),
        (SCORES.astype("M8[s]"), MASK, "array of numbers"),
        (SCORES.astype(complex), MASK, "array of numbers"),
        (2**60 + MASK.astype(np.int64), MASK, r"at most 2\^53 in size .* subtract the least one"),
        (np.tile(SCORES, 2), np.zeros((20, 60)), "model 0 has 0 of 60 records"),
        (np.tile(SCORES, 2), np.ones((20, 60)), "model 0 has 60 of 60 records"),
        (np.repeat(SCORES, 2, 1), np.repeat(MASK, 2, 1), "600 of 600 coins agree in records next"),
    ],
)
def test_what_is_no_matrix_is_refused(scores, mask, said):
    with pytest.raises(ta.InvalidArgument, match=said):
        read(scores, mask)


# -- files ------------------------------------------------------------------------------------


def array(held):
    file = io.BytesIO()
    np.save(file, held)
    return file.getvalue()


def headed(text, content=b"0" * 80, version=1):
    """An array whose header says this."""
    line = str(text).encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(line))
    return b"\x93NUMPY" + bytes((version, 0)) + size + line + content


def shaped(*shape, descr="<f8", **more):
    return {"descr": descr, "fortran_order": False, "shape": shape, **more}


ARRAYS = {
    "objects": (array(SCORES.astype(object)), "objects are pickled, and may run any code"),
    "giant": (headed(shaped(10**9, 10**9)), "holds an array that is larger than its file"),
    "80 GB": (headed(shaped(10**5, 10**5)), "holds an array that is larger than its file"),
    "negative": (headed(shaped(-20, 30)), "plain arrays, holds an array of no plain numbers"),
    "longer": (array(SCORES) + b"more", "holds an array that is not as long as it says"),
    "shorter": (array(SCORES)[:-8], "holds an array that is not as long as it says"),
    "no type": (headed(shaped(20, 30, descr="<f99")), "must be an .npz file of plain arrays"),
    "long header": (headed(shaped(20, 30, x="y" * 200_000), version=2), "of plain arrays"),
    "code": (headed("__import__('os').system('touch ran')"), "of plain arrays"),
    "version": (b"\x93NUMPY\x09\x00" + array(SCORES)[8:], "a version that is not known"),
}


def said_of(capsys, *words):
    code = main(
        ["audit", *words, "--coins", "independent", "--design", "one-run", "--epsilon", "1"]
    )
    return code, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("place", ["scores", "inclusion"])
def test_an_archive_that_is_none_is_refused(kind, place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content, why = ARRAYS[kind]
    both = {"scores": array(SCORES), "inclusion": array(MASK)} | {place: content}
    with zipfile.ZipFile("odd.npz", "w") as packed:
        for name, held in both.items():
            packed.writestr(f"{name}.npy", held)
    code, error = said_of(capsys, "odd.npz")
    assert code == 2
    assert why in error
    assert not (tmp_path / "ran").exists()
    if place == "scores":
        (tmp_path / "odd.npy").write_bytes(content)
        np.save("mask.npy", MASK)
        code, error = said_of(capsys, "odd.npy", "--inclusion", "mask.npy")
        assert code == 2
        assert why.replace("an .npz", "an .npy").replace("arrays", "numbers") in error


def test_names_that_are_none_or_several_are_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("two.npz", scores=SCORES, losses=SCORES, inclusion=MASK)
    assert said_of(capsys, "two.npz") == (
        2, "tellapart: two.npz must have one of scores, losses, has all of them: keep one",
    )  # fmt: skip
    np.savez("none.npz", SCORES, MASK)
    assert "has 'arr_0', 'arr_1'" in said_of(capsys, "none.npz")[1]
    np.save("scores.npy", SCORES)
    for mask, why in (
        ("none.npz", ".npy file of plain"),
        ("no.npy", "that is there"),
        (".", "is there"),
    ):
        code, error = said_of(capsys, "scores.npy", "--inclusion", mask)
        assert code == 2
        assert why in error


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_a_table_is_read_whatever_packed_it(codec, tmp_path):
    model, record = (place.ravel() for place in np.indices(MASK.shape))
    order = RNG.permutation(MASK.size)
    columns = {"model": model, "record": record, "score": SCORES.ravel(), "member": MASK.ravel()}
    table = pa.table({name: values[order] for name, values in columns.items()})
    pq.write_table(table, tmp_path / "long.parquet", compression=codec)
    held = audit.Matrix.read(tmp_path / "long.parquet", coins=audit.Coins.INDEPENDENT)
    assert np.array_equal(held.scores, SCORES)
    assert np.array_equal(held.inclusion, MASK)
