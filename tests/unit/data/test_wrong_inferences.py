"""What a score file does not say clearly is asked for: a wrong guess would refute true claims."""

import json

import numpy as np
import pytest

from tellapart.audit import Scores
from tellapart.errors import BadScores, NoColumn

VALUES = np.random.default_rng(7).normal(size=40)
LABELS = np.arange(40) % 2


def table(folder, **columns):
    path = folder / "f.csv"
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join(",".join(map(str, row)) for row in [tuple(columns), *rows]) + "\n")
    return path


# -- membership ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["prediction", "predicted_member", "guess", "preds", "correct", "y_true", "target", "class"],
)
def test_two_values_alone_are_no_membership(name, tmp_path):
    path = table(tmp_path, score=VALUES, **{name: LABELS})
    np.savez(tmp_path / "f.npz", **{"scores": VALUES, name: LABELS})
    for each in (path, tmp_path / "f.npz"):
        with pytest.raises(NoColumn, match=f"--member-column {name}.*a prediction or a class"):
            Scores.read(each)
        with pytest.raises(NoColumn, match="--member-column"):
            Scores.read(each, member_value="1")
        assert Scores.read(each, member=name).members.count == 20


def test_a_threshold_of_the_scores_is_no_membership(tmp_path):
    """Also where the file is sorted, and its first rows hold one value."""
    for values in (VALUES, np.sort(np.concatenate([VALUES] * 8))):
        np.save(tmp_path / "f.npy", np.column_stack([values, values > 0]))
        with pytest.raises(NoColumn, match="which column holds the membership labels: 'column1'"):
            Scores.read(tmp_path / "f.npy")
    np.save(tmp_path / "f.npy", np.column_stack([VALUES, LABELS]))
    assert Scores.read(tmp_path / "f.npy").members.count == 20


@pytest.mark.parametrize("name", ["non_member", "out", "is_test", "test", "nonmember", "held_out"])
def test_one_in_a_column_of_non_members_is_no_member(name, tmp_path):
    path = table(tmp_path, score=VALUES, **{name: [1] + [0] * 39})
    for asked in ({}, {"member": name}):
        with pytest.raises(NoColumn, match=f"--member-column {name} --member-value 0"):
            Scores.read(path, **asked)
    assert Scores.read(path, member=name, member_value="0").members.count == 39
