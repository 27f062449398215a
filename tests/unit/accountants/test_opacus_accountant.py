"""The drop-in for Opacus: registered, stepped by a real engine, saved, loaded and calibrated."""

import importlib
import math
import sys

import opacus
import pytest
import torch
from opacus.accountants import IAccountant, create_accountant
from opacus.accountants.utils import get_noise_multiplier

import tellapart as ta
from tellapart.accountants.opacus import CurveAccountant

# What Opacus and torch say of any run without a secure generator, whoever does the accounting.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off:UserWarning"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning"),
]


def train(engine, **options):
    """One epoch of eight steps of a tiny model, with noise 1.1 and rate 1/8."""
    model = torch.nn.Linear(4, 1)
    data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(data, batch_size=8),
        noise_multiplier=1.1,
        max_grad_norm=1.0,
        **options,
    )
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return model, optimizer


def test_a_private_training_is_accounted_for_by_name():
    engine = opacus.PrivacyEngine(accountant="tellapart")
    train(engine)
    assert isinstance(engine.accountant, CurveAccountant)
    assert engine.accountant.history == [(1.1, 0.125, 8)]
    training = ta.dp_sgd(1.1, 0.125, 8)
    assert engine.get_epsilon(1e-5) == training.curve().epsilon(1e-5)
    lower, upper = training.bracket(delta=1e-5)
    assert upper.epsilon(1e-5) < engine.get_epsilon(delta=1e-5) < lower.epsilon(1e-5)
    assert engine.accountant.curve().tpr(0.01) == training.curve().tpr(0.01)


def test_a_checkpoint_brings_the_steps_back(tmp_path):
    engine = opacus.PrivacyEngine(accountant="tellapart")
    model, optimizer = train(engine)
    engine.save_checkpoint(path=tmp_path / "training.pt", module=model, optimizer=optimizer)
    again = opacus.PrivacyEngine(accountant="tellapart")
    again.load_checkpoint(path=tmp_path / "training.pt", module=model, optimizer=optimizer)
    assert again.accountant.history == engine.accountant.history
    assert again.get_epsilon(1e-5) == engine.get_epsilon(1e-5)


def test_make_private_with_epsilon_keeps_it():
    engine = opacus.PrivacyEngine(accountant="tellapart")
    model = torch.nn.Linear(4, 1)
    data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    _, optimizer, _ = engine.make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(data, batch_size=8),
        target_epsilon=3.0,
        target_delta=1e-5,
        epochs=5,
        max_grad_norm=1.0,
    )
    spent = ta.dp_sgd(optimizer.noise_multiplier, 1 / 8, 40).curve().epsilon(1e-5)
    assert 2.99 <= spent <= 3.0


def test_it_is_one_of_theirs_and_starts_empty():
    accountant = create_accountant("tellapart")
    assert isinstance(accountant, IAccountant)
    assert accountant.mechanism() == CurveAccountant.mechanism() == "tellapart"
    assert (len(accountant), accountant.get_epsilon(0.0)) == (0, 0)


def test_steps_alike_are_counted_and_others_kept_apart():
    accountant = CurveAccountant()
    for noise, rate in [(1.0, 0.01)] * 3 + [(1.0, 0.02)] + [(2.0, 0.02)] * 2 + [(1.0, 0.01)]:
        accountant.step(noise_multiplier=noise, sample_rate=rate)
    assert accountant.history == [(1.0, 0.01, 3), (1.0, 0.02, 1), (2.0, 0.02, 2), (1.0, 0.01, 1)]
    assert len(accountant) == 7
    parts = [ta.dp_sgd(1.0, 0.01, 4), ta.dp_sgd(1.0, 0.02, 1), ta.dp_sgd(2.0, 0.02, 2)]
    together = ta.compose(parts).bracket(delta=1e-5, gap=1e-4)
    found = accountant.get_epsilon(1e-5)
    assert together.upper.epsilon(1e-5) < found <= together.lower.epsilon(1e-5)


def test_many_kinds_of_steps_are_one_composition():
    accountant = CurveAccountant()
    kinds = [(1 + k / 50, 0.01 + k / 5000, 200 + k) for k in range(50)]
    accountant.history = list(kinds)
    whole = ta.compose([ta.dp_sgd(*one) for one in kinds])
    assert accountant.get_epsilon(1e-5) == whole.curve().epsilon(1e-5)
    alone = [ta.dp_sgd(*one).curve().epsilon(1e-5) for one in kinds]
    assert max(alone) < accountant.get_epsilon(1e-5) < sum(alone)


def test_the_ends_of_the_noise_and_of_the_rate():
    accountant = CurveAccountant()
    accountant.history = [(0.0, 0.0, 5), (1.0, 0.0, 5), (1.0, 1.0, 4), (0.0, 0.5, 0)]
    expected = ta.Gaussian(0.5).curve().epsilon(1e-5)
    assert accountant.get_epsilon(1e-5) == pytest.approx(expected, rel=1e-12)
    accountant.step(noise_multiplier=0.0, sample_rate=0.001)
    assert accountant.get_epsilon(1e-5) == math.inf


def test_where_the_contour_gives_up_a_bracket_answers_on_the_safe_side():
    accountant = CurveAccountant()
    accountant.history = [(0.5, 1e-5, 3), (50.0, 1.0, 1)]
    few = ta.dp_sgd(0.5, 1e-5, 3).then(ta.Gaussian(50.0))
    assert few.curve().bound is ta.Bound.LOWER
    lower, upper = few.bracket(delta=1e-6)
    assert upper.epsilon(1e-6) < accountant.get_epsilon(1e-6) < lower.epsilon(1e-6) + 1e-4


def test_arguments_meant_for_other_accountants_do_no_harm():
    accountant = CurveAccountant()
    accountant.history = [(1.0, 0.01, 1000)]
    plain = accountant.get_epsilon(1e-5)
    assert accountant.get_epsilon(1e-5, eps_error=0.1) == plain
    assert accountant.get_epsilon(delta=1e-5, alphas=[2.0, 3.0]) == plain


@pytest.mark.parametrize("target", [0.5, 8.0])
def test_the_noise_multiplier_is_found_on_the_safe_side(target):
    sigma = get_noise_multiplier(
        target_epsilon=target,
        target_delta=1e-6,
        sample_rate=0.01,
        steps=500,
        accountant="tellapart",
        epsilon_tolerance=1e-6,
    )
    spent = ta.dp_sgd(sigma, 0.01, 500).curve().epsilon(1e-6)
    assert target - 1e-6 <= spent <= target


def test_it_needs_less_noise_than_opacus_does():
    asked = {"target_epsilon": 2.0, "target_delta": 1e-5, "sample_rate": 0.01, "steps": 1_000}
    ours = get_noise_multiplier(**asked, accountant="tellapart", epsilon_tolerance=1e-4)
    with pytest.warns(UserWarning, match="Optimal order is the largest alpha"):
        theirs = get_noise_multiplier(**asked, accountant="prv", epsilon_tolerance=1e-4)
    assert 0.99 * theirs < ours < theirs


def test_the_state_goes_round():
    accountant = CurveAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    accountant.step(noise_multiplier=2.0, sample_rate=0.1)
    state = accountant.state_dict()
    assert dict(state) == {"history": [(1.0, 0.1, 1), (2.0, 0.1, 1)], "mechanism": "tellapart"}
    other = CurveAccountant()
    other.load_state_dict(state)
    other.step(noise_multiplier=2.0, sample_rate=0.1)
    assert other.history == [(1.0, 0.1, 1), (2.0, 0.1, 2)]
    assert state["history"] == accountant.history == [(1.0, 0.1, 1), (2.0, 0.1, 1)]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (None, "state dict is either None or empty"),
        ({"history": []}, "does not have the key `mechanism`"),
        ({"history": [], "mechanism": "rdp"}, "state_dict of rdp cannot be loaded"),
        (
            {"history": [(1.0, 0.1)], "mechanism": "tellapart"},
            "history must be a list of .noise multiplier, sample rate, number of steps., got",
        ),
        ({"history": 7, "mechanism": "tellapart"}, "history must be a list of"),
        (
            {"history": [(1.0, 1.5, 3)], "mechanism": "tellapart"},
            r"sample_rate must lie in \[0, 1\], got 1.5",
        ),
        (
            {"history": [(1.0, 0.5, 2.5)], "mechanism": "tellapart"},
            "steps must be a whole number, got 2.5",
        ),
    ],
)
def test_a_bad_state_is_refused_and_changes_nothing(state, message):
    accountant = CurveAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    with pytest.raises(ValueError, match=message):
        accountant.load_state_dict(state)
    assert accountant.history == [(1.0, 0.1, 1)]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda one: one.step(noise_multiplier=-1.0, sample_rate=0.1),
            "noise_multiplier must be finite and at least 0, got -1.0",
        ),
        (
            lambda one: one.step(noise_multiplier=1.0, sample_rate=2),
            "sample_rate must lie in [0, 1], got 2",
        ),
        (lambda one: one.get_epsilon(delta=-1e-5), "delta must lie in [0, 1], got -1e-05"),
    ],
)
def test_bad_arguments_are_named(ask, message):
    accountant = CurveAccountant()
    with pytest.raises(ta.InvalidArgument) as caught:
        ask(accountant)
    assert str(caught.value) == message
    assert accountant.history == []


def test_a_history_put_in_by_hand_is_checked_when_asked():
    accountant = CurveAccountant()
    accountant.history = [(1.0, "0.1", 3)]
    with pytest.raises(ta.InvalidArgument, match=r"sample_rate must be a number, got '0\.1'"):
        accountant.get_epsilon(1e-5)


def test_without_opacus_the_extra_is_named(monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == "opacus"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "tellapart.accountants.opacus")
    with pytest.raises(ta.Unsupported) as caught:
        importlib.import_module("tellapart.accountants.opacus")
    assert str(caught.value) == "an accountant for Opacus needs: pip install 'tellapart[opacus]'"
