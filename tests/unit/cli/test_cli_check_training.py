"""`tellapart check-training`: what a script would promise, its exit codes, and its refusals."""

import json

import opacus  # noqa: F401 (once, for all processes that are copies of this one)
import pytest

from tellapart.cli import main

SCRIPT = """
import os

import torch
from opacus import PrivacyEngine
from opacus.schedulers import ExponentialNoise
from opacus.utils.batch_memory_manager import wrap_data_loader
from torch.utils import data


def parts(**loading):
    rows = data.TensorDataset(torch.zeros(64, 4), torch.zeros(64, 1))
    model = torch.nn.Linear(4, 1)
    return {
        "module": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "data_loader": data.DataLoader(rows, batch_size=8, **loading),
        "noise_multiplier": 1.0,
        "max_grad_norm": 1.0,
    }


def shuffled():
    return PrivacyEngine().make_private(**parts(shuffle=True), poisson_sampling=False)


def poisson():
    engine = PrivacyEngine(accountant="rdp")
    return {"engine": engine, "made": engine.make_private(**parts())}


def returned_another():
    given, engine = parts(shuffle=True), PrivacyEngine(accountant="rdp")
    model, optimizer, _ = engine.make_private(**given)
    return engine, model, optimizer, given["data_loader"]


def scheduled():
    engine = PrivacyEngine(accountant="rdp")
    made = engine.make_private(**parts())
    loader = wrap_data_loader(data_loader=made[2], max_batch_size=4, optimizer=made[1])
    return engine, made[:2], loader, ExponentialNoise(made[1], gamma=0.5)


def with_replacement():
    given = parts(sampler=data.RandomSampler(range(64), replacement=True))
    engine = PrivacyEngine(accountant="rdp")
    return engine, engine.make_private(**given, poisson_sampling=False)


def weighted():
    sampler = data.WeightedRandomSampler(torch.ones(64), 64)
    return PrivacyEngine().make_private(**parts(sampler=sampler), poisson_sampling=False)


def silent():
    return PrivacyEngine().make_private(**{**parts(), "noise_multiplier": 0.0})


def bare():
    return parts()


def two_loaders():
    return [*shuffled(), parts()["data_loader"]]


def broken():
    return 1 / 0


def gone():
    os._exit(0)
"""


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run the command on a function of the script; its exit code, output and error."""
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(name, *words):
        code = main(["check-training", f"script.py:{name}", *words])
        out, err = capsys.readouterr()
        return code, " ".join(out.split()), err

    return run


def test_a_shuffled_training_gets_both_ends_beside_what_opacus_reports(check):
    code, out, err = check("shuffled", "--epochs", "1", "--delta", "1e-5")
    assert (code, err) == (0, "")
    assert out.startswith("ε ≤ 4.3772 at δ = 1e-5; some attack surely reaches ε ≥ 4.3")
    assert "(prv) would report ε ≈ 3.1850" in out
    assert "less than an attack surely reaches: it takes all batches for Poisson samples." in out
    assert "64 records, batches of 8 (sampling rate 0.125), 8 steps an epoch, 1 epochs" in out
    assert "Noise multiplier 1, clipping norm 1, by DPOptimizer." in out
    assert "Neighbours: zero out one record." in out


def test_the_same_as_json(check):
    code, out, _ = check("poisson", "--epochs", "2", "--epsilon", "9")
    assert (code, out.partition(",")[0]) == (0, "KEPT: the claim ε = 9 at δ = 1e-5")
    code, out, _ = check("poisson", "--epochs", "2", "--epsilon", "9", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["claim"] == {"epsilon": 9, "kept": True}
    assert (told["sampling"], told["neighbours"]) == ("Poisson samples", "ADD_REMOVE")
    assert (told["steps_per_epoch"], told["steps"], told["sampling_rate"]) == (8, 16, 0.125)
    assert told["attack"] < told["epsilon"] < told["reported"]
    assert (told["reported_by"], told["delta"], told["delta_is_default"]) == ("rdp", 1e-5, True)


def test_the_loader_that_is_trained_on_counts(check):
    """Whoever loops over the loader they gave, and not the one returned, shuffles."""
    code, out, _ = check("returned_another", "--epochs", "1", "--epsilon", "4")
    assert code == 1
    said = "REFUTED: the claim ε = 4 at δ = 1e-5, for neighbours that zero out one record ε ≤ 4.3"
    assert out.startswith(said)
    assert "by RandomSampler" in out


def test_schedules_are_stepped_once_an_epoch(check):
    code, out, _ = check("scheduled", "--epochs", "3")
    assert code == 0
    assert "Noise multiplier from 0.25 to 1" in out
    assert "ExponentialNoise: taken to be stepped once an epoch." in out
    assert "8 steps an epoch" in out
    assert "Batches are split to fit memory, and count whole." in out


def test_both_ends_of_draws_with_replacement(check):
    code, out, _ = check("with_replacement", "--epochs", "1", "--epsilon", "1")
    assert code == 1
    assert out.startswith("REFUTED: the claim ε = 1 at δ = 1e-5")
    assert "; some attack surely reaches ε ≥ " in " ".join(out.split())
    assert "batches drawn with replacement, by RandomSampler(replacement=True)" in out


def test_without_noise_nothing_is_kept(check):
    code, out, _ = check("silent", "--epochs", "1", "--epsilon", "50")
    assert code == 1
    assert "ε = ∞ at δ = 1e-5 (default): there are steps without noise." in out
    assert "(prv) has no number for so little noise." in out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["weighted", "--epochs", "1"], 3, "WeightedRandomSampler draws records by weights"),
        (["gone", "--epochs", "1"], 3, "when it was called, the code ended its own process"),
        (
            ["bare", "--epochs", "1"],
            2,
            "must hold the optimizer that make_private returned, got Linear, SGD, DataLoader, fl",
        ),
        (["two_loaders", "--epochs", "1"], 2, "must hold the one DataLoader that you train on"),
        (["broken", "--epochs", "1"], 2, "it raised ZeroDivisionError: division by zero"),
        (["nothing", "--epochs", "1"], 2, "function must be in script, which has parts, shuffled"),
        (["shuffled"], 2, "--epochs must be given"),
        (["shuffled", "--epochs", "0"], 2, "--epochs must be at least 1, got 0"),
        (["shuffled", "--epochs", "1", "--delta", "0"], 2, "--delta must lie strictly between"),
        (["shuffled", "--epochs", "1", "--epsilon", "-1"], 2, "--epsilon must be finite and at"),
    ],
)
def test_what_cannot_be_judged_is_refused_by_name(check, words, code, message):
    given, out, err = check(*words)
    assert (given, out) == (code, "")
    assert message in err
