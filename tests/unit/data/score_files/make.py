"""Writes the score files of this folder, each with the code of the tool it stands for.

Run it by hand: the files are kept, as later versions of the tools may write them otherwise. What
no package here writes (R, spreadsheets, attack tools) is written as its source says; `files.toml`
cites the source of each.
"""

import gzip
import json
import pickle
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import torch
from sklearn.metrics import roc_curve

HERE = Path(__file__).parent
INSIDE = np.array([2.31, 0.98, 1.5, -0.25, 3.125, 0.5])
OUTSIDE = np.array([0.41, -0.87, 1.25, 0.0625])
SCORE = np.concatenate([INSIDE, OUTSIDE])
MEMBER = np.repeat([1, 0], [INSIDE.size, OUTSIDE.size])
FRAME = pd.DataFrame({"score": SCORE, "member": MEMBER})


def labelled(inside, outside, name="member", score="score"):
    return pd.DataFrame({score: SCORE, name: np.where(MEMBER == 1, inside, outside)})


def text(name, lines, encoding="utf-8", end="\n"):
    (HERE / name).write_bytes((end.join(lines) + end).encode(encoding))


def rows(between=",", decimal=".", labels=("1", "0")):
    return [
        f"{value!r}".replace(".", decimal) + between + labels[0 if inside else 1]
        for value, inside in zip(SCORE.tolist(), MEMBER.tolist(), strict=True)
    ]


def numpy_files():
    np.save(HERE / "numpy-members.npy", INSIDE)
    np.save(HERE / "numpy-non-members.npy", OUTSIDE.astype(np.float32))
    np.save(HERE / "numpy-column-stack.npy", np.column_stack([SCORE, MEMBER]))
    np.save(HERE / "numpy-stack-fortran.npy", np.asfortranarray(np.stack([MEMBER, SCORE])))
    fields = np.array(
        list(zip(SCORE, MEMBER == 1, strict=True)), dtype=[("score", "f8"), ("is_member", "?")]
    )
    np.save(HERE / "numpy-fields.npy", fields)
    np.save(HERE / "numpy-matrix.npy", np.random.default_rng(0).normal(size=(64, 100)))
    np.save(HERE / "numpy-objects.npy", np.array([1.0, None], dtype=object), allow_pickle=True)
    np.savez(HERE / "numpy-sides.npz", in_scores=INSIDE, out_scores=OUTSIDE)
    np.savez(HERE / "numpy-unnamed.npz", SCORE, MEMBER)
    np.savez_compressed(HERE / "numpy-columns.npz", score=SCORE, member=MEMBER.astype(float))
    np.savetxt(HERE / "numpy-savetxt.txt", np.column_stack([SCORE, MEMBER]))
    stacked = np.column_stack([SCORE, MEMBER])
    np.savetxt(HERE / "numpy-savetxt-header.txt", stacked, header="score member", fmt="%.6g")
    np.savetxt(HERE / "numpy-savetxt-members.txt", INSIDE)


def pandas_files():
    FRAME.to_csv(HERE / "pandas-index.csv")
    labelled("train", "test", "split", "loss").to_csv(HERE / "pandas-split.csv", index=False)
    wide = pd.DataFrame({"members": pd.Series(INSIDE), "non_members": pd.Series(OUTSIDE)})
    wide.to_csv(HERE / "pandas-wide.csv", index=False)
    FRAME.to_csv(HERE / "pandas-european.csv", index=False, sep=";", decimal=",")
    pd.DataFrame(np.column_stack([SCORE, MEMBER])).to_csv(HERE / "pandas-unnamed.csv")
    labelled(True, False).to_csv(HERE / "pandas-bool.csv.gz", index=False)
    missing = FRAME.assign(score=FRAME.score.where(FRAME.index % 5 != 3))
    missing.to_csv(HERE / "pandas-missing.csv", index=False)
    several = pd.DataFrame({"id": range(10), "lira": SCORE, "rmia": SCORE / 2, "label": MEMBER})
    several.to_csv(HERE / "pandas-several.csv", index=False)
    for orient in ("records", "columns", "split", "index", "table"):
        FRAME.to_json(HERE / f"pandas-{orient}.json", orient=orient)
    labelled("in", "out").to_json(HERE / "pandas-lines.jsonl", orient="records", lines=True)
    labelled("member", "non-member", "membership", "attack_score").to_parquet(
        HERE / "pandas-words.parquet"
    )
    FRAME.astype({"member": "float32"}).to_feather(HERE / "pandas.feather")
    FRAME.assign(run=range(10)).to_csv(HERE / "pandas-run.csv", index=False)
    FRAME.to_pickle(HERE / "pandas.pkl")
    labelled("A", "B", "side").to_csv(HERE / "pandas-other-values.csv", index=False)


def other_packages():
    frame = pl.from_pandas(FRAME)
    frame.write_csv(HERE / "polars.tsv", separator="\t")
    frame.write_ndjson(HERE / "polars.ndjson")
    frame.write_json(HERE / "polars.json")
    frame.with_columns(pl.col("member") == 1).write_parquet(HERE / "polars.parquet")
    frame.write_ipc(HERE / "polars.arrow", compression="zstd")
    table = pa.table({"score": SCORE, "member": pa.array(MEMBER.tolist()).dictionary_encode()})
    pa.feather.write_feather(table, HERE / "arrow-dictionary.feather")
    exact = pa.table({"score": [Decimal(str(score)) for score in SCORE.tolist()], "member": MEMBER})
    pa.feather.write_feather(exact, HERE / "arrow-decimal.feather")
    with pa.ipc.new_stream(HERE / "arrow-stream.arrow", exact.schema) as stream:
        stream.write_table(exact)
    whole = {"score": [2**60 + k for k in range(len(SCORE))], "member": MEMBER}
    pa.parquet.write_table(pa.table(whole), HERE / "arrow-int64.parquet")
    torch.save({"score": torch.tensor(SCORE)}, HERE / "torch.pt")
    # What sklearn.metrics asks for, under the names of its arguments.
    pd.DataFrame({"y_true": MEMBER, "y_score": SCORE}).to_csv(HERE / "sklearn.csv", index=False)
    with open(HERE / "pickled.csv", "wb") as file:  # named as what it is not
        pickle.dump(SCORE, file)


def attack_tools():
    fpr, tpr, _ = roc_curve(MEMBER, SCORE)
    np.savez(
        HERE / "privacy-meter-attack_result_0.npz",
        fpr=fpr,
        tpr=tpr,
        auc=0.75,
        one_tenth_fpr=0.5,
        zero_fpr=0.5,
        scores=SCORE,
        memberships=MEMBER == 1,
    )
    np.save(HERE / "lira-scores.npy", np.random.default_rng(0).normal(size=(10, 2)))
    np.save(HERE / "lira-keep.npy", MEMBER == 1)
    found = {
        "name": "loss_threshold",
        "predictions": {"member": INSIDE.tolist(), "nonmember": OUTSIDE.tolist()},
        "metrics": {"roc_auc": 0.75, "fpr": fpr.tolist(), "tpr": tpr.tolist()},
        "raw_results": {"member": [{"sample": "a"}] * 6, "nonmember": [{"sample": "b"}] * 4},
    }
    (HERE / "mimir-loss_results.json").write_text(json.dumps(found))


def by_hand():
    quoted = [f'"{k + 1}",{row}' for k, row in enumerate(rows())]
    text("r-write.csv", ['"","score","member"', *quoted])
    blanks = [f'"{k + 1}" {row}' for k, row in enumerate(rows(" ", labels=("TRUE", "FALSE")))]
    text("r-write-table.txt", ['"score" "member"', *blanks])
    text("r-write-csv2.csv", ['"score";"member"', *rows(";", ",")])
    text("r-na.csv", ["score,member", *rows()[:-1], "NA,0"])
    words = ["score,member", *rows()]
    text("excel-utf8.csv", words, "utf-8-sig", "\r\n")
    text(
        "excel-unicode.txt", ["score\tmember", *rows("\t", labels=("yes", "no"))], "utf-16", "\r\n"
    )
    text("excel-sep.csv", ["sep=;", "score;member", *rows(";", ",")], "cp1252", "\r\n")
    text("excel-latin1.csv", ["score;member;café", *(f"{row};é" for row in rows(";"))], "latin-1")
    text("excel-mac.csv", words, end="\r")
    text("sqlite.txt", ["score|member", *rows("|")])
    text("headerless.csv", rows())
    text("fortran.dat.txt", [f"  {row.replace(' ', '    ')}" for row in rows(" ")])
    text(
        "node.jsonl",
        [
            json.dumps({"scores": {"loss": s}, "isMember": bool(m)})
            for s, m in zip(SCORE.tolist(), MEMBER.tolist(), strict=True)
        ],
    )
    lists = {"train_loss": INSIDE.tolist(), "test_loss": OUTSIDE.tolist()}
    (HERE / "json-sides.json").write_text(json.dumps(lists))
    pairs = [[s, int(m)] for s, m in zip(SCORE.tolist(), MEMBER.tolist(), strict=True)]
    with gzip.GzipFile(HERE / "json-pairs.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps(pairs).encode())
    (HERE / "json-settings.json").write_text('{"model": "resnet", "epochs": 10}')
    text("scores-only.csv", ["score", *(repr(value) for value in SCORE.tolist())])
    text("minus-one.csv", ["score,member", *rows(labels=("1", "-1"))])
    text("semicolons-and-points.csv", ["score;member", "0,5;1", "0.5;0"])
    (HERE / "sheet.xlsx").write_bytes(b"PK\x03\x04 a workbook")


if __name__ == "__main__":
    for make in (numpy_files, pandas_files, other_packages, attack_tools, by_hand):
        make()
