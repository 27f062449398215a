"""Files of matrices as tools leave them: each fixture is written as the tool's own code does.

Sources, read at these commits: tensorflow/privacy research/mi_lira_2021 at 3d499e69 (inference.py
at 3eb51698), privacytrustlab/ml_privacy_meter at e384af8f, facebookresearch/PrivacyGuard at
fb9c26ca, aidotse/LeakPro at c47752fa, google-deepmind/jax_privacy at 8967688c.
"""

import numpy as np
import pytest

from tellapart.audit import Coins, Matrix, Outputs, attacks
from tellapart.audit.trainings import matrix_files
from tellapart.errors import BadScores, InvalidArgument

MODELS, RECORDS, AUGMENTATIONS, CLASSES = 8, 40, 2, 3


def lira_keep(models=MODELS, records=RECORDS):
    """train.py, get_data: ranks of uniform numbers over experiments, below pkeep of them."""
    order = np.random.default_rng(0).uniform(size=(models, records)).argsort(0)
    return order < int(0.5 * models)


def written_by_lira(folder, keep, arrays, kind, name="experiment-{}_{}", epoch="0000000100"):
    """train.py names folders and writes keep.npy; inference.py and score.py write the epochs."""
    for model, row in enumerate(keep):
        place = folder / "cifar10" / name.format(model, len(keep))
        (place / kind).mkdir(parents=True)
        np.save(place / "keep.npy", row)
        (place / "hparams.json").write_text('{"pkeep": 0.5}')
        np.save(place / kind / f"{epoch}.npy", arrays[model])


def logits_of(keep):
    """inference.py: (records, 1, augmentations, classes) for each model."""
    shape = (len(keep), RECORDS, 1, AUGMENTATIONS, CLASSES)
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def test_scores_of_lira_s_reference_code(tmp_path):
    keep = lira_keep(models=12)
    scores = np.random.default_rng(2).normal(size=(12, RECORDS, AUGMENTATIONS))
    written_by_lira(tmp_path, keep, scores * 0, "scores", epoch="0000000090")
    for model in range(12):  # plot.py reads the last epoch
        np.save(tmp_path / f"cifar10/experiment-{model}_12/scores/0000000100.npy", scores[model])
    found = Matrix.read(tmp_path)
    assert found.coins is Coins.BALANCED
    assert found.outputs is Outputs.LOGIT
    np.testing.assert_array_equal(found.inclusion, keep)  # by number, not by name: 2 before 10
    np.testing.assert_array_equal(found.scores, scores)
    assert matrix_files.is_matrix(tmp_path)


def test_logits_of_lira_s_reference_code_are_scored_as_score_py_does(tmp_path):
    keep, labels = lira_keep(), np.arange(RECORDS) % CLASSES
    logits = logits_of(keep)
    written_by_lira(tmp_path, keep, logits, "logits")
    np.save(tmp_path / "y_train.npy", labels)
    found = Matrix.read(tmp_path)
    for model, record, augmentation in ((0, 0, 0), (3, 17, 1)):
        p = np.exp(logits[model, record, 0, augmentation].astype(float))
        right = p[labels[record]] / p.sum()
        expected = np.log(right / (1 - right))
        assert found.scores[model, record, augmentation] == pytest.approx(expected, rel=1e-6)


def test_single_coins_of_lira_s_reference_code(tmp_path):
    """Without --num_experiments train.py names folders by seeds and draws every coin by itself."""
    keep = np.random.default_rng(3).uniform(size=(MODELS, RECORDS + 10)) <= 0.5
    scores = np.zeros((MODELS, RECORDS, 1))
    written_by_lira(tmp_path, keep, scores, "scores", name="experiment-9{}")
    found = Matrix.read(tmp_path)
    assert found.coins is Coins.INDEPENDENT
    assert found.prior == 0.5
    np.testing.assert_array_equal(found.inclusion, keep[:, :RECORDS])  # as plot.py cuts it
    for place in tmp_path.glob("*/*/hparams.json"):
        place.write_text('{"pkeep": 0.4}')
    assert Matrix.read(tmp_path).prior == 0.4
    for place in tmp_path.glob("*/*/hparams.json"):
        place.unlink()
    assert Matrix.read(tmp_path).prior == 0.5


def test_experiments_that_are_missing_leave_no_balanced_table(tmp_path):
    keep = lira_keep()
    written_by_lira(tmp_path, keep[:7], np.zeros((7, RECORDS)), "scores", name="experiment-{}_8")
    with pytest.raises(BadScores, match=r"must have all of 8 experiments, .*, has 7"):
        Matrix.read(tmp_path)


def test_experiments_that_are_not_finished(tmp_path):
    written_by_lira(tmp_path, lira_keep(), np.zeros((MODELS, RECORDS)), "scores")
    (tmp_path / "cifar10/experiment-3_8/scores/0000000100.npy").unlink()
    with pytest.raises(BadScores, match=r"experiment-3_8 must have scores or logits \(run infer"):
        Matrix.read(tmp_path)
    np.save(tmp_path / "cifar10/experiment-3_8/scores/0000000100.npy", np.zeros(3))
    with pytest.raises(BadScores, match="one shape in all experiments"):
        Matrix.read(tmp_path)


def written_by_privacy_meter(folder, mask, signals, population=None, algorithm="rmia"):
    """models/utils.py, prepare_models: memberships.npy; get_signals.py: (records, models)."""
    (folder / "models").mkdir()
    (folder / "signals").mkdir()
    np.save(folder / "models" / "memberships.npy", mask)
    np.save(folder / "signals" / f"{algorithm}_signals.npy", signals)
    if population is not None:
        np.save(folder / "signals" / f"{algorithm}_signals_pop.npy", population)


def halves(pairs=6, records=RECORDS, seed=4):
    """models/utils.py, split_dataset_for_training: two halves for the two models of a pair."""
    rng, mask = np.random.default_rng(seed), np.full((2 * pairs, records), True)
    for pair in range(pairs):
        order = rng.permutation(records)
        mask[2 * pair, order[records // 2 :]] = False
        mask[2 * pair + 1, order[: records // 2]] = False
    return mask


def test_signals_of_privacy_meter(tmp_path):
    mask, rng = halves(), np.random.default_rng(5)
    signals, population = rng.uniform(size=(RECORDS, 12)), rng.uniform(size=(7, 12))
    written_by_privacy_meter(tmp_path, mask, signals.astype(np.float32), population)
    found = Matrix.read(tmp_path)
    assert (found.coins, found.outputs) == (Coins.FIXED_SIZE, Outputs.CONFIDENCE)
    np.testing.assert_array_equal(found.inclusion, mask)
    assert found.population.shape == (12, 7)
    evidence = found.pooled(attack=attacks.Rmia())
    assert "6 models have the coins of another one, or the opposite ones" in evidence.about
    assert evidence.tries[0].guesses.canaries == 3 * RECORDS // 2


def test_signals_of_privacy_meter_s_audit_of_dp(tmp_path):
    """util.py, split_dataset_for_training_poisson: the target's coins are single, others halves."""
    mask = halves()
    mask[0] = np.random.default_rng(8).choice(2, RECORDS, p=[0.5, 0.5])
    mask[1] = ~mask[0]
    assert mask[0].sum() != RECORDS // 2
    written_by_privacy_meter(tmp_path, mask, np.full((RECORDS, 12), 0.5))
    assert Matrix.read(tmp_path).coins is Coins.INDEPENDENT


def test_signals_of_some_records_are_asked_about(tmp_path):
    mask = halves()
    written_by_privacy_meter(tmp_path, mask, np.full((10, 12), 0.5))
    with pytest.raises(BadScores, match="10 of 40 records, and nothing says of which"):
        Matrix.read(tmp_path)
    np.save(tmp_path / "mask.npy", mask[:, :10])
    found = Matrix.read(tmp_path, inclusion=tmp_path / "mask.npy", coins=Coins.INDEPENDENT)
    assert found.inclusion.shape == (12, 10)
    np.save(tmp_path / "signals" / "loss_signals.npy", np.full((10, 12), 0.5))
    with pytest.raises(BadScores, match=r"loss_signals\.npy, rmia_signals\.npy: keep one"):
        Matrix.read(tmp_path)


def guarded():
    """shadow_model_training/training.py, prepare_rmia_data, of create_shadow_datasets' models.

    The target is the last of them; members and non-members of it have a table each.
    """
    keep, scores = lira_keep(6), np.random.default_rng(6).uniform(size=(6, RECORDS))
    tables = []
    for side in (keep[-1], ~keep[-1]):
        table = {"user_id": np.arange(side.sum()), "score_orig": scores[-1, side]}
        for k in range(5):
            table[f"score_ref_{k}"] = scores[k, side]
            table[f"member_ref_{k}"] = keep[k, side]
        tables.append(table)
    return keep, scores, tables


def test_tables_of_privacy_guard():
    keep, scores, (members, others) = guarded()
    population = {"score_orig": np.full(4, 0.5)} | {
        f"{what}_ref_{k}": np.full(4, value) for k in range(5)
        for what, value in (("score", 0.5), ("member", False))
    }  # fmt: skip
    found = Matrix.from_tables(members, others, population)
    assert (found.coins, found.outputs) == (Coins.BALANCED, Outputs.CONFIDENCE)
    inside = keep[-1].sum()
    np.testing.assert_array_equal(found.inclusion[0], np.arange(RECORDS) < inside)
    np.testing.assert_array_equal(found.scores[3, :inside], scores[2, keep[-1]])
    np.testing.assert_array_equal(found.inclusion[3, inside:], keep[2, ~keep[-1]])
    assert found.population.shape == (6, 4)


def test_tables_of_privacy_guard_as_frames_and_what_lacks():
    pandas = pytest.importorskip("pandas")
    _, _, (members, others) = guarded()
    frames = [pandas.DataFrame(table) for table in (members, others)]
    assert Matrix.from_tables(*frames).records == RECORDS
    with pytest.raises(BadScores, match="members must have columns score_ref_0, member_ref_0"):
        Matrix.from_tables({"score_orig": [0.5]}, others)
    with pytest.raises(BadScores, match="score_orig"):
        Matrix.from_tables({"score": [0.5]}, others)
    fewer = {key: value for key, value in others.items() if "4" not in key}
    with pytest.raises(InvalidArgument, match="non_members must have columns of 5 models, got 4"):
        Matrix.from_tables(members, fewer)


def test_leakpro_s_masks_are_pickles_and_not_opened(tmp_path):
    """shadow_model_handler.py: train_indices stand in metadata_N.pkl; model_handler.py: logits."""
    (tmp_path / "attack_objects").mkdir()
    (tmp_path / "attack_objects" / "metadata_0.pkl").write_bytes(b"\x80\x04.")
    with pytest.raises(BadScores, match=r"in pickles \(metadata_N.pkl, train_indices\), which"):
        Matrix.read(tmp_path)


def test_plain_arrays(tmp_path):
    keep = lira_keep()
    losses = np.abs(np.random.default_rng(7).normal(size=keep.shape)).astype(np.float32)
    np.savez(tmp_path / "a.npz", losses=losses, keep=keep, population=losses[:, :3])
    found = Matrix.read(tmp_path / "a.npz", coins=Coins.BALANCED)
    assert found.outputs is Outputs.LOSS
    assert found.scores.dtype == np.float32
    assert found.population.shape == (MODELS, 3)
    assert matrix_files.is_matrix(tmp_path / "a.npz")
    assert Matrix.read(tmp_path / "a.npz", coins=Coins.BALANCED, outputs=Outputs.SCORE).outputs
    np.save(tmp_path / "losses.npy", losses)
    np.save(tmp_path / "keep.npy", keep)
    both = Matrix.read(
        tmp_path / "losses.npy", inclusion=tmp_path / "keep.npy", coins=Coins.BALANCED
    )
    np.testing.assert_array_equal(both.inclusion, keep)
    with pytest.raises(InvalidArgument, match="coins must be given: how the training sets"):
        Matrix.read(tmp_path / "a.npz")
    with pytest.raises(InvalidArgument, match=r"inclusion must be given for .*losses\.npy"):
        Matrix.read(tmp_path / "losses.npy", coins=Coins.BALANCED)


def test_a_table_of_models_and_records(tmp_path):
    pandas, keep = pytest.importorskip("pandas"), lira_keep()
    model, record, augmentation = np.indices((MODELS, RECORDS, 2)).reshape(3, -1)
    logits = np.random.default_rng(8).normal(size=(MODELS, RECORDS, 2))
    columns = {
        "model": model, "record": [f"r{k:02}" for k in record], "augmentation": augmentation,
        "logit": logits.ravel(), "inclusion": keep[model, record],
    }  # fmt: skip
    table = pandas.DataFrame(columns).sample(frac=1, random_state=0)
    table.to_parquet(tmp_path / "m.parquet")
    found = Matrix.read(tmp_path / "m.parquet", coins=Coins.BALANCED)
    np.testing.assert_array_equal(found.inclusion, keep)
    np.testing.assert_array_equal(found.scores, logits)
    table.iloc[1:].to_parquet(tmp_path / "short.parquet")
    with pytest.raises(BadScores, match="one row for each model and record and augmentation: 639"):
        Matrix.read(tmp_path / "short.parquet", coins=Coins.BALANCED)
    table.assign(inclusion=np.arange(640) % 2).to_parquet(tmp_path / "odd.parquet")
    with pytest.raises(BadScores, match="must be the same for all augmentations of a record"):
        Matrix.read(tmp_path / "odd.parquet", coins=Coins.BALANCED)
    for column in ("model", "logit", "inclusion"):
        table.drop(columns=column).to_parquet(tmp_path / "less.parquet")
        with pytest.raises(BadScores, match=f"{column}"):
            Matrix.read(tmp_path / "less.parquet", coins=Coins.BALANCED)
    for inside, outside in (("in", "out"), ("member", "non-member"), (1, 0), (1.0, 0.0)):
        named = table["inclusion"].map({True: inside, False: outside})
        table.assign(inclusion=named).to_parquet(tmp_path / "named.parquet")
        words = Matrix.read(tmp_path / "named.parquet", coins=Coins.BALANCED)
        np.testing.assert_array_equal(words.inclusion, keep)
    table.assign(inclusion="val").to_parquet(tmp_path / "named.parquet")
    with pytest.raises(BadScores, match=r"inclusion must be 1 or 0, true or false.* in data row 1"):
        Matrix.read(tmp_path / "named.parquet", coins=Coins.BALANCED)
    table.assign(logit=table["logit"].mask(table["logit"] > 2)).to_parquet(tmp_path / "n.parquet")
    with pytest.raises(InvalidArgument, match=r"finite|missing"):
        Matrix.read(tmp_path / "n.parquet", coins=Coins.BALANCED)


@pytest.mark.parametrize("shape", [(8,), (4, 8)])
def test_no_spoilt_archive_breaks_the_question_whether_it_is_a_matrix(tmp_path, shape):
    file = tmp_path / "spoilt.npz"
    np.savez(file, scores=np.zeros(shape), member=np.zeros(shape, dtype=int))
    good, chance = file.read_bytes(), np.random.default_rng(2)
    assert matrix_files.is_matrix(file) is (len(shape) == 2)
    headers = [good.replace(b"'fortran_order': False", text) for text in (b"(" * 22, b"'" * 22)]
    cut = [good[:size] for size in range(0, len(good), 37)]
    flipped = []
    for _ in range(300):
        bytes_ = bytearray(good)
        for place in chance.integers(len(good), size=3):
            bytes_[place] = chance.integers(256)
        flipped.append(bytes(bytes_))
    for spoilt in (*headers, *cut, *flipped):
        file.write_bytes(spoilt)
        assert matrix_files.is_matrix(file) in (True, False)


def test_what_is_no_matrix_is_refused_in_words(tmp_path):
    coins = Coins.BALANCED
    with pytest.raises(BadScores, match="that is there"):
        Matrix.read(tmp_path / "none.npz", coins=coins)
    with pytest.raises(BadScores, match="a folder of LiRA's reference code or of Privacy Meter"):
        Matrix.read(tmp_path, coins=coins)
    for name, content in (("a.txt", b"x"), ("a.npz", b"x"), ("a.npy", b"x")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadScores, match=name):
            Matrix.read(tmp_path / name, coins=coins)
        assert not matrix_files.is_matrix(tmp_path / name)
    objects = np.array([{"a": 1}], dtype=object)
    np.save(tmp_path / "pickled.npy", objects, allow_pickle=True)
    with pytest.raises(BadScores, match=r"pickled\.npy must be .*: objects are pickled"):
        Matrix.read(tmp_path / "pickled.npy", coins=coins)
    np.savez(tmp_path / "both.npz", losses=np.zeros(2), logits=np.zeros(2), keep=np.zeros(2))
    with pytest.raises(BadScores, match="must have one of losses, logits, has all of them"):
        Matrix.read(tmp_path / "both.npz", coins=coins)
    np.savez(tmp_path / "other.npz", x=np.zeros(2))
    with pytest.raises(BadScores, match=r"must have one of scores, .*, has 'x'"):
        Matrix.read(tmp_path / "other.npz", coins=coins)
    # Scores of one run, as Privacy Meter's audit.py leaves them, are for another reader.
    for name in ("memberships", "member", "keep"):
        np.savez(tmp_path / "scores.npz", scores=np.zeros(2), **{name: np.zeros(2)})
        assert not matrix_files.is_matrix(tmp_path / "scores.npz")


@pytest.mark.parametrize("byte", [0, ord("("), 255])
def test_an_archive_that_is_damaged_anywhere_is_for_a_reader_to_refuse(tmp_path, byte):
    path = tmp_path / "a.npz"
    np.savez(path, scores=np.zeros((2, 2)), keep=np.zeros((2, 2)))
    whole = path.read_bytes()
    found = set()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        found.add(matrix_files.is_matrix(path))
    assert found == {False, True}
