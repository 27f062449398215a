"""What a score file does not say clearly is asked for: a wrong guess would refute true claims."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from tellapart import audit
from tellapart.audit import Coins, Matrix, MembershipGame, Pool, Scores, language, preview
from tellapart.errors import BadScores, NoColumn, Unsupported

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


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "values"),
    [("pred", [1, 0]), ("y_true", [True, False]), ("side", ["A", "B"]), ("split", ["train", "no"])],
)
def test_a_missing_label_changes_no_question_in_any_format(name, values, first, tmp_path):
    """In Arrow and pandas what is missing was once a third value, and the question another."""
    labels = [None, *values, *values, values[0]] * 10
    numbers = [*np.arange(first, 60) + 0.5, *[None] * first]
    table = {"loss": np.resize(VALUES, 60), "other": numbers, name: labels}
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "f.csv", index=False)
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_feather(tmp_path / "f.feather")
    frame.to_json(tmp_path / "f.json", orient="records")
    frame.to_json(tmp_path / "f.jsonl", orient="records", lines=True)
    told = set()
    for path in (*tmp_path.iterdir(), None):
        read = partial(Scores.from_table, frame) if path is None else partial(Scores.read, path)
        try:
            found = read(drop_missing=True)
            told.add((found.members.count, found.non_members.count, found.left_out.rows))
        except NoColumn as question:
            told.add(str(question).replace(str(path or "table"), ""))
        if path is not None:
            assert all(cell is not np.ma.masked for row in preview(path).rows for cell in row)
    assert len(told) == 1
    assert (name == "split") == (told == {(30, 20, 10)})


@pytest.mark.parametrize("name", ["non_member", "out", "is_test", "test", "nonmember", "held_out"])
def test_one_in_a_column_of_non_members_is_no_member(name, tmp_path):
    path = table(tmp_path, score=VALUES, **{name: [1] + [0] * 39})
    for asked in ({}, {"member": name}):
        with pytest.raises(NoColumn, match=f"--member-column {name} --member-value 0"):
            Scores.read(path, **asked)
    assert Scores.read(path, member=name, member_value="0").members.count == 39


# -- a column for each side ------------------------------------------------------------------------


def stored(folder, columns):
    """The same lists in each format that need not have rows in common."""
    lists = {name: np.asarray(values).tolist() for name, values in columns.items()}
    (folder / "f.json").write_text(json.dumps(lists))
    np.savez(folder / "f.npz", **columns)
    return folder / "f.json", folder / "f.npz"


@pytest.mark.parametrize("scores", ["scores", "loss", "lira"])
def test_lists_of_rows_are_no_scores(scores, tmp_path):
    rows = {"members": np.arange(0, 40, 2), "non_members": np.arange(1, 40, 2)}
    for path in stored(tmp_path, {scores: VALUES, **rows}):
        with pytest.raises(BadScores, match=r"--score-column|name the column"):
            Scores.read(path)
    for path in stored(tmp_path, rows):
        with pytest.raises(NoColumn, match="different whole numbers, as lists of rows do"):
            Scores.read(path)


def test_labels_of_both_sides_are_no_scores(tmp_path):
    sides = {"member": LABELS, "non_member": 1 - LABELS}
    for path in (*stored(tmp_path, sides), table(tmp_path, **sides)):
        with pytest.raises(NoColumn, match="one is 1 where the other is 0"):
            Scores.read(path)
    for path in stored(tmp_path, {"is_member": LABELS, "members": VALUES, "non_members": VALUES}):
        with pytest.raises(NoColumn, match="Keep one of them"):
            Scores.read(path)


@pytest.mark.parametrize("beside", ["fit_time", "epoch", "fold", "seed"])
def test_the_log_of_trainings_is_no_score_file_in_any_format(beside, tmp_path):
    for what in ("score", "loss"):
        log = {f"train_{what}": VALUES, f"test_{what}": VALUES - 1, beside: np.arange(40) + 0.5}
        for path in (*stored(tmp_path, log), table(tmp_path, **log)):
            with pytest.raises(NoColumn, match=r"must have an? (column|array) that says who"):
                Scores.read(path)


@pytest.mark.parametrize("epochs", [5, 12, 60])
@pytest.mark.parametrize("what", ["loss", "score"])
def test_losses_that_fall_along_the_rows_are_a_log_without_its_epochs(epochs, what, tmp_path):
    """As pandas writes a history, with its index alone: its verdict once refuted true claims."""
    falling = 2 / (1 + np.arange(epochs)) + 0.001 * np.cos(np.arange(epochs))
    noisy = 0.5 + 0.1 * np.resize([0.3, -0.2, 0.9, -0.7], epochs)  # of few test records
    for sides in ((falling, falling + 0.3), (-falling, -falling - 0.3), (falling, noisy)):
        log = {f"train_{what}": sides[0], f"test_{what}": sides[1]}
        for path in (*stored(tmp_path, log), table(tmp_path, **{"": np.arange(epochs)}, **log)):
            with pytest.raises(NoColumn, match=r"log of a training does\. Name them members"):
                Scores.read(path)
    named = {"members": falling, "non_members": falling + 0.3}
    for path in stored(tmp_path, named):
        assert Scores.read(path).members.count == epochs


def test_losses_of_records_in_any_other_order_are_scores(tmp_path):
    guesses = np.resize([1.0, 0.0, 0.0, 1.0], 40)  # few values, each many times
    for values in (VALUES, guesses, np.zeros(40)):
        for path in stored(tmp_path, {"train_loss": values, "test_loss": values[::-1]}):
            assert Scores.read(path).members.count == 40


def test_scores_of_several_attacks_beside_each_other_are_asked_about(tmp_path):
    sides = {"members": VALUES.tolist(), "non_members": VALUES.tolist()}
    (tmp_path / "f.json").write_text(json.dumps({"lira": sides, "loss": sides}))
    said = "holds those of 2: 'lira.members' and 'lira.non_members' or 'loss.members' and"
    with pytest.raises(NoColumn, match=said):
        Scores.read(tmp_path / "f.json")


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "json", "frame", "wide", "side"])
def test_a_comma_between_thousands_is_no_decimal_comma(ending, tmp_path):
    """Once 2,850 was read as 2.85, below 997: a leak that was not counted."""
    scores, member = ["2,850", "997", "1,203", "15"], ["1", "0", "1", "0"]
    path = tmp_path / f"f.{'json' if ending == 'json' else 'csv'}"
    rows = [f'"{score}",{side}' for score, side in zip(scores, member, strict=True)]
    path.write_text("\n".join(["score,member", *rows]))
    asked = {"path": path}
    if ending == "json":
        path.write_text(json.dumps({"score": scores, "member": member}))
    if ending == "wide":  # the commas stand in one column, the others in the other
        path.write_text('members,non_members\n"2,850",997\n"1,203",15\n')
    if ending == "side":
        (tmp_path / "in.csv").write_text('score\n"2,850"\n"1,203"\n')
        (tmp_path / "out.csv").write_text("score\n997\n15\n")
        asked = {"members": tmp_path / "in.csv", "non_members": tmp_path / "out.csv"}
    table = {"score": scores, "member": member}
    read = partial(Scores.from_table, table) if ending == "frame" else partial(Scores.read, **asked)
    with pytest.raises(BadScores, match=r"beside (997|15), 2,850 may be 2850 or 2\.850"):
        read()


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["2,850", "0,997", "15"], 15.0),  # no thousands begin with 0
        (["2,85", "1,203", "15"], 15.0),
        (["2,850", "1,203", "4,015"], 4.015),  # in one order, whatever the comma is
    ],
)
def test_decimal_commas_are_read_where_they_can_be_nothing_else(cells, first, tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("score;member\n" + "".join(f"{cell};{k % 2}\n" for k, cell in enumerate(cells)))
    read = Scores.read(path)
    assert max(side.descending(range(1, 2))[0] for side in read.sides) == first


def test_which_sides_were_read_is_always_said(tmp_path):
    for path in stored(tmp_path, {"members": VALUES, "non_members": VALUES[:30]}):
        assert "members in 'members', non-members in 'non_members'" in Scores.read(path).notes


# -- lines and keys --------------------------------------------------------------------------------


def test_columns_of_json_are_matched_by_key(tmp_path):
    """Objects have no order: scores must not meet the labels of other rows."""
    path = tmp_path / "f.json"
    score, member = {"0": 0.5, "1": 1.5, "2": 2.5}, {"2": 1, "0": 0, "1": 0}
    path.write_text(json.dumps({"score": score, "member": member}))
    assert Scores.read(path).members.descending(range(1, 2)).tolist() == [2.5]


def test_a_manifest_may_hold_other_ends_of_lines_within_a_text(tmp_path):
    path = tmp_path / "f.jsonl"
    texts = ["red\u2028green", "blue\u0085white", "grey"]
    rows = [{"canary": k, "text": text, "included": k != 1} for k, text in enumerate(texts)]
    lines = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(lines, encoding="utf-8", newline="")
    assert language.read_manifest(path).included == [texts[0], texts[2]]


# -- rows of pandas, which have names -------------------------------------------------------------


def test_rows_of_pandas_in_another_order_are_not_matched_by_place():
    """Once labels went to other records: where both are sorted, a true claim was refuted."""
    frame = pd.DataFrame({"score": VALUES, "member": VALUES[::-1] > 0}).sort_values("member")
    ordered = frame["score"].sort_values()
    said = "must be in the order of scores?, and its index has the same names in another one"
    with pytest.raises(BadScores, match=f"^member {said}"):
        Scores.from_rows(ordered, frame["member"])
    with pytest.raises(BadScores, match=f"^runs {said}"):
        Scores.from_rows(frame["score"], frame["member"], ordered.index.to_series())
    with pytest.raises(BadScores, match=f"^member {said}"):
        Scores.from_table({"score": ordered, "member": frame["member"]})
    by_name = Scores.from_rows(ordered, frame["member"].loc[ordered.index])
    inside = frame["score"][frame["member"]]
    assert sorted(by_name.members.descending(range(1, inside.size + 1))) == sorted(inside)
    by_place = frame["member"].reset_index(drop=True).set_axis(range(100, 140))
    for member in (frame["member"].to_numpy(), by_place):  # no names, or other ones
        assert Scores.from_rows(ordered, member).members.count == frame["member"].sum()


def test_frames_of_a_matrix_are_not_matched_by_place():
    rng = np.random.default_rng(1)
    mask = pd.DataFrame(rng.random((20, 30)) < 0.5, columns=[f"r{k}" for k in range(30)])
    scores = pd.DataFrame(rng.normal(size=(20, 30)), columns=mask.columns)
    assert Matrix(scores, mask, Coins.INDEPENDENT).records == 30
    with pytest.raises(BadScores, match=r"^inclusion must be .* and its columns has"):
        Matrix(scores[sorted(mask.columns)], mask, Coins.INDEPENDENT)
    with pytest.raises(BadScores, match=r"^inclusion must be .* and its index has"):
        Matrix(scores, mask[::-1], Coins.INDEPENDENT)
    game = MembershipGame(30, Pool(), models=20)
    with pytest.raises(BadScores, match=r"^inclusion must be .* of raw, and its index"):
        game.with_outputs(scores, inclusion=mask[::-1])


# -- a file for each side --------------------------------------------------------------------------


def sides(folder, inside, outside):
    paths = folder / "in.csv", folder / "out.csv"
    for path, columns in zip(paths, (inside, outside), strict=True):
        table(folder, **columns).rename(path)
    return {"members": paths[0], "non_members": paths[1]}


def test_files_of_both_sides_hold_the_same_scores(tmp_path):
    files = sides(tmp_path, {"id": VALUES, "loss": VALUES}, {"id": VALUES, "confidence": VALUES})
    with pytest.raises(NoColumn, match=r"got 'loss' in .*in.csv and 'confidence' in .*out.csv"):
        Scores.read(**files)
    for names in (("loss", "loss"), ("train_loss", "test_loss")):
        files = sides(tmp_path, {names[0]: VALUES}, {names[1]: VALUES})
        assert Scores.read(**files).members.count == 40
    np.save(tmp_path / "in.npy", VALUES)
    files["members"] = tmp_path / "in.npy"
    assert Scores.read(**files).members.count == 40


def test_labels_in_a_file_of_one_side_do_not_speak_of_the_other(tmp_path):
    ones, zeros = np.ones(40, int), np.zeros(40, int)
    right = {"score": VALUES, "member": ones}, {"score": VALUES, "member": zeros}
    assert Scores.read(**sides(tmp_path, *right)).members.count == 40
    for wrong in (
        right[::-1],
        (right[0], right[0]),
        ({"score": VALUES, "member": LABELS}, right[1]),
    ):
        with pytest.raises(BadScores, match=r"members alone, and 'member' is '[01]' in line"):
            Scores.read(**sides(tmp_path, *wrong))


# -- trainings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Run", "run_id", "model", "model_id", "SEED", "trial", "fold"])
def test_an_unread_column_of_trainings_is_asked_about(name, tmp_path):
    path = table(tmp_path, score=VALUES, member=LABELS, **{name: np.arange(40) // 2})
    with pytest.raises(NoColumn, match=f"{name!r} whose values repeat.*--run-column {name}"):
        Scores.read(path)
    assert Scores.read(path, run=name).members.count == 20
    assert Scores.read(path, group=name).members.count == 20
    path = table(tmp_path, score=VALUES, member=LABELS, **{name: np.arange(40)})
    assert Scores.read(path).members.count == 20


def test_a_seed_that_comes_again_far_below_is_found(tmp_path):
    """With more seeds than rows that are looked at first."""
    many = {"score": np.tile(VALUES, 10), "member": np.tile(LABELS, 10)}
    path = table(tmp_path, **many, seed=np.arange(400) % 399)
    with pytest.raises(NoColumn, match="'seed' whose values repeat"):
        Scores.read(path)


# -- several scores of one record ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["attack", "Method", "metric", "epoch", "step", "augmentation"])
def test_scores_of_several_attacks_below_each_other_are_asked_about(name, tmp_path):
    """Once each canary counted as often as it was scored, and a true claim was refuted."""
    twice = {"score": [*VALUES, *VALUES], "member": [*LABELS, *LABELS]}
    path = table(tmp_path, **twice, **{name: np.arange(80) // 40})
    with pytest.raises(NoColumn, match=f"{name!r} of several values that repeat.*be scores of one"):
        Scores.read(path)
    grouped = Scores.read(path, group=name)
    with pytest.raises(Unsupported, match="judges all canaries together, and groups would be ign"):
        audit.one_run(grouped)
    assert {each.members.count for each in grouped.by_group().values()} == {20}
    one = table(tmp_path, score=VALUES, member=LABELS, **{name: [3] * 40})
    assert Scores.read(one).members.count == 20


@pytest.mark.parametrize("name", ["record", "id", "canary", "sample_id", "text", "user", "uuid"])
def test_records_that_come_again_are_no_canaries_of_one_run(name, tmp_path):
    """Many runs may be of one record, each of a training of its own."""
    records, sides = np.arange(40) % 20, np.arange(40) // 20  # once on each side
    path = table(tmp_path, **{name: records}, score=VALUES, member=sides)
    assert audit.one_run(Scores.read(path)).tries
    assert audit.one_run(
        Scores.read(table(tmp_path, **{name: [7] * 40}, score=VALUES, member=sides))
    )
    for one, member in ((records, LABELS), ([*range(39), 1], [*LABELS[:39], 1])):
        columns = {name: one, "score": VALUES, "member": member}
        for read in (Scores.read(table(tmp_path, **columns)), Scores.from_table(columns)):
            assert audit.many_runs(read).epsilon_lower().value == 0
            with pytest.raises(
                Unsupported, match=rf"'\d+' of column {name!r} in .*f?.* has several"
            ):
                audit.one_run(read)
    wide = table(tmp_path, id=records, in_scores=VALUES, out_scores=VALUES)
    with pytest.raises(
        Unsupported, match="one_run needs one score a canary, and '0' of column 'id'"
    ):
        audit.one_run(Scores.read(wide))


def test_an_index_that_begins_anew_names_no_records(tmp_path):
    """As pandas writes two frames, one below the other; lists of another length name none."""
    path = table(tmp_path, **{"": np.arange(40) % 20}, score=VALUES, member=np.arange(40) // 20)
    lists = stored(tmp_path, {"score": VALUES, "member": LABELS, "id": [3, 3, 4]})
    for each in (path, *lists):
        assert Scores.read(each).repeated == ""


def test_models_by_records_are_a_matrix(tmp_path):
    rows = np.arange(40)
    path = table(tmp_path, model=rows // 8, record=rows % 8, score=VALUES, member=LABELS)
    with pytest.raises(NoColumn, match=r"it is a matrix: a \.parquet file with columns"):
        Scores.read(path)
