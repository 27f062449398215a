"""Files as tools write them: each is read, asked about, or refused in words that say what to do."""

import shutil
import time
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tellapart import audit, cli
from tellapart.audit import Orientation, Scores
from tellapart.data.columns import Names
from tellapart.errors import BadScores, InvalidArgument
from tellapart.web.view import Dropped
from tellapart.web.views.score_file import read_dropped

FOLDER = Path(__file__).parent / "score_files"
FILES = {
    entry["name"]: entry for entry in tomllib.loads((FOLDER / "files.toml").read_text())["file"]
}
INSIDE, OUTSIDE = [3.125, 2.31, 1.5, 0.98, 0.5, -0.25], [1.25, 0.41, 0.0625, -0.87]
ASKS = ("--score-column", "--member-column", "--run-column", "--members")
ADVISES = ("save", "write", "must be", "must have", "--drop-missing", "rename")


def test_the_table_tells_of_every_file():
    there = {path.name for path in FOLDER.iterdir() if path.suffix not in (".py", ".toml")}
    assert there - {"__pycache__"} == set(FILES)
    assert len(FILES) >= 40
    assert all(entry["source"] for entry in FILES.values())


def same(scores):
    assert scores.members.descending(range(1, 7)).tolist() == pytest.approx(INSIDE)
    assert scores.non_members.descending(range(1, 5)).tolist() == pytest.approx(OUTSIDE)


@pytest.mark.parametrize("name", [n for n, entry in FILES.items() if entry["outcome"] == "read"])
def test_a_file_is_read_and_what_was_inferred_is_said(name):
    scores = Scores.read(FOLDER / name)
    same(scores)
    says = FILES[name]["says"]
    assert any(says in note for note in scores.notes) if says else True
    content = (FOLDER / name).read_bytes()
    of_page = read_dropped(Dropped(name, content), Names(), Orientation.HIGHER)
    same(of_page)
    assert of_page.notes == scores.notes


@pytest.mark.parametrize("name", [n for n, entry in FILES.items() if entry["outcome"] != "read"])
def test_a_file_that_is_not_read_says_what_to_do(name):
    entry = FILES[name]
    with pytest.raises(BadScores) as refused:
        Scores.read(FOLDER / name)
    said = str(refused.value)
    assert entry["says"] in said
    assert "\n" not in said
    assert any(words in said for words in (ASKS if entry["outcome"] == "asked" else ADVISES))
    content = (FOLDER / name).read_bytes()
    with pytest.raises(BadScores) as of_page:
        read_dropped(Dropped(name, content), Names(), Orientation.HIGHER)
    assert of_page.value.problem == refused.value.problem.replace(str(FOLDER / name), name)


@pytest.mark.parametrize("name", [n for n, entry in FILES.items() if "then" in entry])
def test_the_answer_that_was_asked_for_is_enough(name):
    scores = Scores.read(FOLDER / name, **FILES[name]["then"])
    assert [scores.members.count, scores.non_members.count] == FILES[name]["counts"]
    assert scores.left_out.rows == 10 - sum(FILES[name]["counts"])


def test_a_file_for_each_side(tmp_path, monkeypatch, capsys):
    for inside, outside in (("members", "non-members"), ("savetxt-members", "non-members")):
        ending = ".txt" if "txt" in inside else ".npy"
        scores = Scores.read(
            members=FOLDER / f"numpy-{inside}{ending}", non_members=FOLDER / f"numpy-{outside}.npy"
        )
        same(scores)
    monkeypatch.chdir(FOLDER)
    files = ["--members", "numpy-members.npy", "--non-members", "numpy-non-members.npy"]
    assert cli.main(["audit", *files, "--design", "many-runs"]) == 3
    assert "6 members and 4 non-members" in capsys.readouterr().out
    for wrong in (files[:2], [*files, "r-write.csv"], [*files, "--true-positives", "1"]):
        assert cli.main(["audit", *wrong, "--design", "many-runs", "--epsilon", "1"]) == 2
        assert "--non-members must be given together" in capsys.readouterr().err
    with pytest.raises(InvalidArgument, match="path must be given, or members and non_members"):
        Scores.read(members=FOLDER / "numpy-members.npy")
    with pytest.raises(InvalidArgument, match="must be left out with a file for each side"):
        Scores.read(members="numpy-members.npy", non_members="numpy-non-members.npy", run="run")


def test_what_was_inferred_comes_before_the_verdict_and_stands_in_the_report(tmp_path, capsys):
    shutil.copy(FOLDER / "pandas-split.csv", tmp_path / "f.csv")
    page = tmp_path / "audit.html"
    asked = ["audit", str(tmp_path / "f.csv"), "--design", "one-model", "--report", str(page)]
    assert cli.main(asked) == 3
    inferred = (
        "Inferred from the file: scores in column 'loss'; membership in column 'split'; labels: "
        "'train' is a member, 'test' is a non-member."
    )
    assert capsys.readouterr().err.startswith(inferred)
    assert inferred.replace("'", "&#39;") in page.read_text(encoding="utf-8")


def test_rows_that_were_left_out_are_in_the_verdict(capsys):
    asked = ["audit", str(FOLDER / "pandas-missing.csv"), "--design", "many-runs", "--epsilon", "1"]
    assert cli.main(asked) == 2
    assert "--drop-missing" in capsys.readouterr().err
    assert cli.main([*asked, "--drop-missing"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "Left out for want of a score: 1 of 6 members and 1 of 4 non-members." in said
    assert "a true claim may be refuted" in said


# -- laws ------------------------------------------------------------------------------------------


def test_a_minus_is_no_dash(tmp_path):
    """Labels 1 and -1 once became members all."""
    for label in ("-1", "- 1", "+2", "1e1", "--1"):
        path = tmp_path / "f.csv"
        path.write_text(f"score,member\n0.5,1\n0.7,{label}\n")
        with pytest.raises(BadScores, match="member must be 1 or 0"):
            Scores.read(path)


def test_class_labels_are_not_taken_for_membership(tmp_path):
    """A column of 0 and 1 beside others may be anything: a wrong guess refutes true claims."""
    path = tmp_path / "f.csv"
    path.write_text("id,label,correct,loss\n7,0,1,0.5\n3,1,1,0.75\n")
    with pytest.raises(BadScores, match="which column holds the membership labels: 'label', 'corr"):
        Scores.read(path)
    path.write_text("id,label,text,loss\n7,0,a,0.5\n3,1,b,0.75\n")
    for asked in ({}, {"score": "loss"}):
        with pytest.raises(BadScores, match="which column holds the membership labels: 'label'"):
            Scores.read(path, **asked)


def test_the_log_of_a_training_is_no_score_file(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("epoch,train_loss,test_loss\n1,0.9,0.95\n2,0.5,0.7\n3,0.2,0.6\n")
    with pytest.raises(BadScores, match="must have a column that says who is a member"):
        Scores.read(path)


def test_a_printed_frame_is_read_with_its_index(tmp_path):
    """What DataFrame.to_string gives: no name above the index, which begins with 0."""
    frame = pd.DataFrame({"score": INSIDE + OUTSIDE, "member": [1] * 6 + [0] * 4})
    (tmp_path / "f.txt").write_text(frame.to_string())
    same(Scores.read(tmp_path / "f.txt"))


def test_many_columns_are_looked_at_once(tmp_path):
    """A file of 20,000 columns without a name that tells is asked about, within seconds."""
    names = ",".join(f"c{k}" for k in range(20_000))
    row = ",".join("0.5" for _ in range(20_000))
    (tmp_path / "f.csv").write_text(f"{names}\n{row}\n{row}\n")
    begun = time.process_time()
    with pytest.raises(BadScores, match="must have a column that says who is a member"):
        Scores.read(tmp_path / "f.csv")
    assert time.process_time() - begun < 5


def test_one_wrong_value_among_all_is_found_in_any_format(tmp_path):
    """However far down it stands, and whatever was inferred from the first rows."""
    inside = ["in", "out"] * 200
    inside[399] = "maybe"
    frame = pd.DataFrame({"lira": np.arange(400.0), "split": inside})
    frame.to_csv(tmp_path / "f.csv", index=False)
    frame.to_json(tmp_path / "f.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_feather(tmp_path / "f.feather")
    for name in ("f.csv", "f.jsonl", "f.parquet", "f.feather"):
        with pytest.raises(
            BadScores, match=r"split must be 1 or 0.* got 'maybe' in (line|data row)"
        ):
            Scores.read(tmp_path / name)


def test_empty_cells_below_a_side_are_no_missing_values(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("members,non_members\n1.5,2\n3,4\n5,\n,\n")
    padded = Scores.read(path)
    assert [side.count for side in padded.sides] == [3, 2]
    assert padded.notes[-1] == "2 empty cells below the scores in 'non_members'"
    with pytest.raises(BadScores, match="members must not be NaN"):
        Scores.from_table({"members": [1.0, np.nan], "non_members": [2.0]})
    path.write_text("members,non_members\n1.5,2\n,4\n5,\n")
    with pytest.raises(BadScores, match="members must not be missing, got None in line 3"):
        Scores.read(path)
    left = Scores.read(path, drop_missing=True).left_out
    assert (left.members, left.non_members) == (1, 0)
    np.savez(tmp_path / "f.npz", members=[1.0, np.nan], non_members=[2.0])
    with pytest.raises(BadScores, match="members must not be NaN, got nan in row 1"):
        Scores.read(tmp_path / "f.npz")


def test_a_preview_shows_columns_rows_and_questions():
    seen = audit.preview(FOLDER / "pandas-several.csv")
    assert seen.columns == ("id", "lira", "rmia", "label")
    assert seen.rows[0] == ("0", "2.31", "1.155", "1")
    assert len(seen.rows) == 5
    assert "--member-column label" in seen.question
    answered = audit.preview(FOLDER / "pandas-several.csv", member="label", score="lira")
    assert (answered.question, answered.score, answered.member) == ("", "lira", "label")
    wide = audit.preview(FOLDER / "numpy-sides.npz")
    assert wide.sides == ("in_scores", "out_scores")
    assert wide.notes == ("members in 'in_scores', non-members in 'out_scores'",)
