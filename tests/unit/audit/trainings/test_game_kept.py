"""A game that was killed goes on where it stopped, and gives the same numbers."""

import errno
import functools
import importlib.util
import json
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit import checkpoints
from tellapart.audit.trainings import shadow_models, store
from tellapart.errors import InvalidArgument, TrainingStopped, Unsupported

SCRIPT = """
import sys, time
import numpy as np
from tellapart import audit

def train(people, seed):
    time.sleep(float(sys.argv[2]))
    return [people.sum() + np.random.default_rng(seed).laplace()]

game = audit.MembershipGame(np.arange(5.0), audit.Targets(2), models=40, seed=3)
played = game.play(train, folder=sys.argv[1])
np.save(sys.argv[1] + ".npy", played.raw)
"""


CALLS = []


def train(people, seed):
    CALLS.append(seed)
    return [people.sum() + np.random.default_rng(seed).laplace()]


def game(**changes):
    given = {"data": np.arange(5.0), "design": audit.Targets(2), "models": 10, "seed": 3} | changes
    return audit.MembershipGame(**given)


def files(folder):
    return sorted(folder.glob("model-*"))


@pytest.fixture(params=["parquet", "npy"])
def form(request, monkeypatch):
    if request.param == "npy":
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return request.param


def test_workers_that_were_started_elsewhere_find_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = store.ModelStore.opened("kept", {"game": 1})
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found.write(0, np.zeros((1, 5)))
    assert files(tmp_path / "kept") == [found.path(0)]
    assert found.count() == 1


def test_a_killed_game_goes_on_and_equals_one_that_was_not(tmp_path):
    folder = tmp_path / "killed"
    command = [sys.executable, "-c", SCRIPT]
    process = subprocess.Popen([*command, str(folder), "0.05"])  # noqa: S603
    until = time.monotonic() + 60
    while len(files(folder)) < 5 and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    before = {file: file.stat().st_mtime_ns for file in files(folder)}
    assert 5 <= len(before) < 40
    subprocess.run([*command, str(folder), "0"], check=True, timeout=60)  # noqa: S603
    assert len(files(folder)) == 40
    assert all(file.stat().st_mtime_ns == when for file, when in before.items())
    whole = audit.MembershipGame(np.arange(5.0), audit.Targets(2), models=40, seed=3).play(train)
    assert np.array_equal(np.load(str(folder) + ".npy"), whole.raw)


def test_what_is_kept_is_not_trained_again(form, tmp_path):
    first = game().play(train, folder=tmp_path)
    assert [file.suffix for file in files(tmp_path)] == [f".{form}"] * 10

    lost = files(tmp_path)[4]
    lost.unlink()
    CALLS.clear()
    again = game().play(train, folder=tmp_path)
    assert [game().training_seed(4)] == CALLS
    assert np.array_equal(again.raw, first.raw)
    assert np.array_equal(np.delete(again.seconds, 4), np.delete(first.seconds, 4))


def test_several_targets_come_back_in_their_order(form, tmp_path):
    def scores(people, seed):
        CALLS.append(seed)
        return np.random.default_rng(seed).normal(size=5)

    first = game(design=audit.Pool()).play(scores, folder=tmp_path)
    CALLS.clear()
    again = game(design=audit.Pool()).play(scores, folder=tmp_path)
    assert CALLS == []
    assert np.array_equal(again.raw, first.raw)


def test_half_a_file_is_none(form, tmp_path):
    first = game().play(train, folder=tmp_path)
    broken, empty = files(tmp_path)[2], files(tmp_path)[6]
    broken.write_bytes(broken.read_bytes()[: broken.stat().st_size // 2])
    empty.write_bytes(b"")
    (tmp_path / ".part-left.parquet").write_bytes(b"PAR1")
    assert np.array_equal(game().play(train, folder=tmp_path).raw, first.raw)
    sizes = {file.stat().st_size for file in files(tmp_path)}
    assert min(sizes) > 0
    assert store.ModelStore(tmp_path, form).read(2) is not None


def test_a_file_of_other_coins_is_none(form, tmp_path):
    first = game().play(train, folder=tmp_path)
    one = next(k for k in range(10) if first.inclusion[k] != first.inclusion[0])
    kept = store.ModelStore(tmp_path, form)
    kept.path(0).write_bytes(kept.path(one).read_bytes())
    assert np.array_equal(game().play(train, folder=tmp_path).raw, first.raw)


def test_a_file_of_another_model_with_the_same_coins_is_none(form, tmp_path):
    """Counted twice, a score would be no independent one."""
    first = game().play(train, folder=tmp_path)
    one = next(k for k in range(1, 10) if first.inclusion[k] == first.inclusion[0])
    kept = store.ModelStore(tmp_path, form)
    kept.path(0).write_bytes(kept.path(one).read_bytes())
    assert np.array_equal(game().play(train, folder=tmp_path).raw, first.raw)


def test_a_file_of_something_else_is_none(form, tmp_path):
    first = game().play(train, folder=tmp_path)
    kept = store.ModelStore(tmp_path, form)
    if form == "parquet":
        duckdb = pytest.importorskip("duckdb")
        kept.path(3).unlink()
        duckdb.sql(f"copy (select 1 as other) to '{kept.path(3)}' (format parquet)")
    else:
        np.save(kept.path(3), np.zeros(1, dtype=[("score", "f8"), ("name", "U3")]))
    assert kept.read(3) is None
    assert np.array_equal(game().play(train, folder=tmp_path).raw, first.raw)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 4}, "its seed is 3, not 4"),
        ({"models": 11}, "its models is 10, not 11"),
        ({"data": np.arange(5.0) + 1}, "its data is"),
        ({"design": audit.Targets(1)}, r"its targets is \[2\], not \[1\]"),
        ({"design": audit.Targets(2, prior=0.4)}, r"its prior is 0\.5, not 0\.4"),
        ({"design": audit.Pool()}, "its design is 'Targets', not 'Pool'"),
        ({"design": audit.Replaced(2, by=1)}, "its design is 'Targets', not 'Replaced'"),
    ],
    ids=str,
)
def test_the_folder_of_another_game_is_refused_by_name(changes, said, tmp_path):
    game().play(train, folder=tmp_path)
    with pytest.raises(InvalidArgument, match=said) as caught:
        game(**changes).play(train, folder=tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert len(files(tmp_path)) == 10


def test_another_stand_in_is_another_game(tmp_path):
    game(design=audit.Replaced(2, by=1)).play(train, folder=tmp_path)
    with pytest.raises(InvalidArgument, match=r"its by is \[1\], not \[0\]"):
        game(design=audit.Replaced(2, by=0)).play(train, folder=tmp_path)


def test_a_folder_is_a_path():
    with pytest.raises(InvalidArgument, match="folder must be a path, got 3"):
        game().play(train, folder=3)


def test_another_training_function_has_another_folder(tmp_path):
    game().play(train, folder=tmp_path)
    with pytest.raises(InvalidArgument, match="its train is"):
        game().play(lambda people, seed: train(people, seed), folder=tmp_path)


def test_a_change_to_its_code_makes_it_another_function(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, scale in zip(folders, ("1.0", "2.0"), strict=True):
        made = {"np": np, "__name__": "made"}
        source = f"def train(people, seed):\n    return [{scale} * people.sum() + seed / 2**32]"
        exec(source, made)  # noqa: S102
        game().play(made["train"], folder=folder)
        game().play(made["train"], folder=folder)
    with pytest.raises(InvalidArgument, match="its code is"):
        game().play(made["train"], folder=folders[0])


class Noisy:
    """A training with a setting of its own."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, people, seed):
        return [people.sum() + np.random.default_rng(seed).laplace(0, self.scale)]

    fit = __call__


def noisy(people, seed, scale):
    return Noisy(scale)(people, seed)


def by_default(scale):
    def train(people, seed, scale=scale):
        return noisy(people, seed, scale)

    return train


def closed_over(scale):
    return lambda people, seed: noisy(people, seed, scale)


def of_module(scale):
    made = {"Noisy": Noisy, "__name__": "made", "SCALE": scale}
    exec("def train(people, seed): return Noisy(SCALE)(people, seed)", made)  # noqa: S102
    return made["train"]


def calling(scale):
    made = {"Noisy": Noisy, "__name__": "made"}
    exec(f"def noise(people, seed): return Noisy({scale})(people, seed)", made)  # noqa: S102
    exec("def train(people, seed): return noise(people, seed)", made)  # noqa: S102
    return made["train"]


@pytest.mark.parametrize(
    "make",
    [
        Noisy,
        lambda scale: Noisy(scale).fit,
        lambda scale: functools.partial(noisy, scale=scale),
        lambda scale: functools.partial(noisy, scale=np.array([scale])),
        by_default,
        closed_over,
        of_module,
        calling,
    ],
    ids=[
        "object",
        "method",
        "bound argument",
        "bound array",
        "default",
        "closed over",
        "of its module",
        "called",
    ],
)
def test_another_setting_makes_it_another_function(make, tmp_path):
    """Else what an old setting gave away would be held against a new one."""
    kept = game().play(make(1.0), folder=tmp_path).raw
    assert np.array_equal(game().play(make(1.0), folder=tmp_path).raw, kept)
    with pytest.raises(InvalidArgument, match="its code is"):
        game().play(make(2.0), folder=tmp_path)


def test_functions_that_call_each_other_have_a_name():
    made = {"__name__": "made"}
    exec("def odd(n): return even(n)\ndef even(n): return odd(n)", made)  # noqa: S102
    assert checkpoints.code_fingerprint(made["odd"]) != checkpoints.code_fingerprint(made["even"])
    assert checkpoints.code_fingerprint(len) == ""


def test_after_a_worker_died_only_what_is_missing_is_trained(tmp_path):
    first = game().play(train, folder=tmp_path)
    training = shadow_models.ShadowTraining(
        game(), train, None, store.ModelStore.opened(tmp_path, {})
    )
    CALLS.clear()
    assert np.array_equal(training.block([1, 2], None)[:, :-1], first.raw[1:3])
    assert CALLS == []


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InvalidArgument, match="folder must be empty or that of a game"):
        game().play(train, folder=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_manifest_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InvalidArgument, match=r"manifest\.json must be the manifest of a game"):
        game().play(train, folder=tmp_path)


def test_the_manifest_names_the_game(tmp_path):
    game().play(train, folder=tmp_path)
    told = json.loads((tmp_path / "manifest.json").read_text())
    assert told["seed"] == 3
    assert told["targets"] == [2]
    assert told["train"].endswith("test_game_kept.train")
    assert set(told["versions"]) == {"tellapart", "numpy", "python"}


def test_parquet_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    game().play(train, folder=tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unsupported, match=r"tellapart\[files\]"):
        game().play(train, folder=tmp_path)


def test_a_full_disk_keeps_what_is_finished(form, tmp_path, monkeypatch):
    saves = {"parquet": "_save_parquet", "npy": "_save_npy"}
    save = getattr(store, saves[form])

    def full_after_four(part, rows):
        if len(files(tmp_path)) >= 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(part, rows)

    with monkeypatch.context() as patched:
        patched.setattr(store, saves[form], full_after_four)
        with pytest.raises(TrainingStopped, match="No space left on device") as caught:
            game().play(train, folder=tmp_path)
    assert f"model 4 (seed {game().training_seed(4)})" in str(caught.value)
    assert f"4 finished models are kept in {tmp_path}" in str(caught.value)
    assert not list(tmp_path.glob(".part-*"))
    assert np.array_equal(game().play(train, folder=tmp_path).raw, game().play(train).raw)


def test_what_the_database_says_is_read_out_of_its_json():
    wrapped = 'Async write failed: {"exception_type":"IO","exception_message":"no \\"room\\" left"}'
    assert store._said(f"IO Error: {wrapped}") == 'no "room" left'
    assert store._said("IO Error: plain\nmore") == "IO Error: plain"


def test_a_file_in_the_folder_s_place_is_told_of(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ta.InvalidArgument, match="folder must be new, or that of a game, and no f"):
        game().play(train, folder=tmp_path / "taken")


def test_a_real_limit_on_files_is_told_of_too(tmp_path):
    """The kernel refuses to write: DuckDB's own error becomes the same one."""
    script = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        + SCRIPT.partition("played = ")[0]
        + "import tellapart.audit.trainings.store as kept\n"
        "kept.ModelStore.opened(sys.argv[1], game._manifest(train, None))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
        "game.play(train, folder=sys.argv[1])\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, str(tmp_path / "small"), "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "TrainingStopped: model 0" in done.stderr
    assert "0 finished models are kept" in done.stderr


# -- a folder of a stranger's ----------------------------------------------------------------------

RAN = []


def ran(words):
    RAN.append(words)


class Payload:
    """What runs as soon as it is unpickled."""

    def __reduce__(self):
        return ran, ("a stranger's code",)


def _npy(file, rows):
    with file.open("wb") as out:
        np.save(out, np.array([[Payload()]], dtype=object), allow_pickle=True)


def _npz(file, rows):
    with file.open("wb") as out:
        np.savez(out, rows=np.array([Payload()], dtype=object))


def _bare(file, rows):
    file.write_bytes(pickle.dumps(Payload()))


def _behind_rows(file, rows):
    with file.open("wb") as out:
        np.save(out, rows)
        np.save(out, np.array([Payload()], dtype=object), allow_pickle=True)


def _too_large(file, rows):
    with file.open("wb") as out:
        header = {"descr": "<f8", "fortran_order": False, "shape": (2**45, 5)}
        np.lib.format.write_array_header_1_0(out, header)


@pytest.mark.parametrize("poison", [_npy, _npz, _bare, _behind_rows, _too_large])
def test_loading_a_stranger_s_folder_runs_nothing_of_it(tmp_path, form, poison):
    whole = game().play(train, folder=tmp_path / "kept")
    rows = np.zeros((2, 5))
    for file in files(tmp_path / "kept"):
        poison(file, rows)
    for name in ("model-0000099.npy", "manifest.pkl", ".part-x.npy", "__init__.py", "conftest.py"):
        poison(tmp_path / "kept" / name, rows)
    RAN.clear()
    again = game().play(train, folder=tmp_path / "kept")
    assert RAN == []
    if poison is not _behind_rows or form == "parquet":
        assert np.array_equal(again.raw, whole.raw)
    poison(tmp_path / "kept" / store.MANIFEST, rows)
    with pytest.raises(InvalidArgument, match="must be the manifest of a game"):
        game().play(train, folder=tmp_path / "kept")
    assert RAN == []


def test_the_payload_runs_where_pickles_are_read():
    RAN.clear()
    pickle.loads(pickle.dumps(Payload()))  # noqa: S301
    assert RAN == ["a stranger's code"]
