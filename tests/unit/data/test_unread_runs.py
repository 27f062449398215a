"""A column of runs that nobody asked for: scores of one run must not pass for independent ones."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.audit import Scores
from tellapart.cli import main

ROWS = {"score": [0.5, -1.25, 2.0, 0.5], "member": [1, 0, 1, 0], "run": [0, 0, 1, 1]}
UNREAD = (
    r"'run', and scores of one run may not be independent\. If these are run ids, add "
    r"--run-column run, in Python run='run' "
)


def written(kind, folder):
    path = folder / f"scores.{kind}"
    if kind == "npz":
        np.savez(path, **{name: np.array(values) for name, values in ROWS.items()})
    elif kind == "csv":
        rows = zip(*ROWS.values(), strict=True)
        path.write_text("\n".join(",".join(map(str, row)) for row in [tuple(ROWS), *rows]) + "\n")
    else:
        duckdb = pytest.importorskip("duckdb")
        values = ", ".join(str(row) for row in zip(*ROWS.values(), strict=True))
        query = f"SELECT * FROM (VALUES {values}) AS t(score, member, run)"  # noqa: S608
        duckdb.sql(query).write_parquet(str(path))
    return path


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_a_file_with_an_unread_column_of_runs_is_refused(kind, tmp_path):
    path = written(kind, tmp_path)
    with pytest.raises(ta.BadScores, match=UNREAD):
        Scores.read(path)
    assert len(Scores.read(path, run="run").runs()) == 2
    assert Scores.read(path, group="run").members.count == 2


def test_the_command_line_says_which_option_reads_it(tmp_path, capsys):
    path = written("csv", tmp_path)
    assert main(["audit", str(path), "--design", "many-runs", "--epsilon", "1"]) == 2
    assert "--run-column run" in capsys.readouterr().err
