"""The drop-in for Opacus: registered, stepped by a real engine, saved, loaded and calibrated."""

import importlib
import math
import sys

import opacus
import pytest
import torch
from opacus.accountants import IAccountant, create_accountant
from opacus.accountants.utils import get_noise_multiplier
from opacus.utils.batch_memory_manager import BatchMemoryManager
from opacus.utils.uniform_sampler import UniformWithReplacementSampler

import tellapart as ta
from tellapart.accountants.opacus import OpacusAccountant, accountant

POISSON = ta.Sampling.POISSON

# What Opacus and torch say of any run without a secure generator, whoever does the accounting.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off:UserWarning"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning"),
]


BUDGET = {"target_epsilon": 3.0, "target_delta": 1e-5, "epochs": 5}


def parts(**loading):
    """A tiny model, its optimizer, and a loader of 64 records (by default in batches of 8)."""
    model = torch.nn.Linear(4, 1)
    rows = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    loading = loading or {"batch_size": 8}
    return {
        "module": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "data_loader": torch.utils.data.DataLoader(rows, **loading),
        "max_grad_norm": 1.0,
    }


def epoch(model, optimizer, loader):
    """A step on each batch of a loader."""
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def train(engine, **options):
    """One epoch of eight steps of a tiny model, with noise 1.1 and rate 1/8."""
    model, optimizer, loader = engine.make_private(**parts(), noise_multiplier=1.1, **options)
    epoch(model, optimizer, loader)
    return model, optimizer


def test_a_private_training_is_accounted_for_by_name():
    engine = opacus.PrivacyEngine(accountant="tellapart")
    train(engine)
    assert isinstance(engine.accountant, OpacusAccountant)
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
    _, optimizer, _ = engine.make_private_with_epsilon(**parts(), **BUDGET)
    spent = ta.dp_sgd(optimizer.noise_multiplier, 1 / 8, 40).curve().epsilon(1e-5)
    assert 2.99 <= spent <= 3.0


def test_it_is_one_of_theirs_and_starts_empty():
    spent = create_accountant("tellapart")
    assert isinstance(spent, IAccountant)
    assert spent.mechanism() == OpacusAccountant.mechanism() == "tellapart"
    assert (len(spent), spent.get_epsilon(0.0)) == (0, 0)


def test_steps_alike_are_counted_and_others_kept_apart():
    spent = OpacusAccountant(assume=POISSON)
    for noise, rate in [(1.0, 0.01)] * 3 + [(1.0, 0.02)] + [(2.0, 0.02)] * 2 + [(1.0, 0.01)]:
        spent.step(noise_multiplier=noise, sample_rate=rate)
    assert spent.history == [(1.0, 0.01, 3), (1.0, 0.02, 1), (2.0, 0.02, 2), (1.0, 0.01, 1)]
    assert len(spent) == 7
    parts = [ta.dp_sgd(1.0, 0.01, 4), ta.dp_sgd(1.0, 0.02, 1), ta.dp_sgd(2.0, 0.02, 2)]
    together = ta.compose(parts).bracket(delta=1e-5, gap=1e-4)
    found = spent.get_epsilon(1e-5)
    assert together.upper.epsilon(1e-5) < found <= together.lower.epsilon(1e-5)


def test_many_kinds_of_steps_are_one_composition():
    spent = OpacusAccountant(assume=POISSON)
    kinds = [(1 + k / 50, 0.01 + k / 5000, 200 + k) for k in range(50)]
    spent.history = list(kinds)
    whole = ta.compose([ta.dp_sgd(*one) for one in kinds])
    assert spent.get_epsilon(1e-5) == whole.curve().epsilon(1e-5)
    alone = [ta.dp_sgd(*one).curve().epsilon(1e-5) for one in kinds]
    assert max(alone) < spent.get_epsilon(1e-5) < sum(alone)


def test_the_ends_of_the_noise_and_of_the_rate():
    spent = OpacusAccountant(assume=POISSON)
    spent.history = [(0.0, 0.0, 5), (1.0, 0.0, 5), (1.0, 1.0, 4), (0.0, 0.5, 0)]
    expected = ta.Gaussian(0.5).curve().epsilon(1e-5)
    assert spent.get_epsilon(1e-5) == pytest.approx(expected, rel=1e-12)
    spent.step(noise_multiplier=0.0, sample_rate=0.001)
    assert spent.get_epsilon(1e-5) == math.inf


def test_where_the_contour_gives_up_a_bracket_answers_on_the_safe_side():
    spent = OpacusAccountant(assume=POISSON)
    spent.history = [(0.5, 1e-5, 3), (50.0, 1.0, 1)]
    few = ta.dp_sgd(0.5, 1e-5, 3).then(ta.Gaussian(50.0))
    assert few.curve().bound is ta.Bound.LOWER
    lower, upper = few.bracket(delta=1e-6)
    assert upper.epsilon(1e-6) < spent.get_epsilon(1e-6) < lower.epsilon(1e-6) + 1e-4


def test_arguments_meant_for_other_accountants_do_no_harm():
    spent = OpacusAccountant(assume=POISSON)
    spent.history = [(1.0, 0.01, 1000)]
    plain = spent.get_epsilon(1e-5)
    assert spent.get_epsilon(1e-5, eps_error=0.1) == plain
    assert spent.get_epsilon(delta=1e-5, alphas=[2.0, 3.0]) == plain


@pytest.mark.parametrize("target", [0.5, 8.0])
def test_the_noise_multiplier_is_found_on_the_safe_side(target):
    sigma = get_noise_multiplier(
        target_epsilon=target,
        target_delta=1e-6,
        sample_rate=0.01,
        steps=500,
        accountant=accountant(assume=POISSON),
        epsilon_tolerance=1e-6,
    )
    spent = ta.dp_sgd(sigma, 0.01, 500).curve().epsilon(1e-6)
    assert target - 1e-6 <= spent <= target


def test_it_needs_less_noise_than_opacus_does():
    asked = {"target_epsilon": 2.0, "target_delta": 1e-5, "sample_rate": 0.01, "steps": 1_000}
    name = accountant(assume=POISSON)
    ours = get_noise_multiplier(**asked, accountant=name, epsilon_tolerance=1e-4)
    with pytest.warns(UserWarning, match="Optimal order is the largest alpha"):
        theirs = get_noise_multiplier(**asked, accountant="prv", epsilon_tolerance=1e-4)
    assert 0.99 * theirs < ours < theirs


def test_the_state_goes_round():
    spent = OpacusAccountant(assume=POISSON)
    spent.step(noise_multiplier=1.0, sample_rate=0.1)
    spent.step(noise_multiplier=2.0, sample_rate=0.1)
    state = spent.state_dict()
    assert dict(state) == {
        "history": [(1.0, 0.1, 1), (2.0, 0.1, 1)],
        "mechanism": "tellapart",
        "passes": [],
        "doubts": [],
    }
    other = OpacusAccountant()
    other.load_state_dict(state)
    other.step(noise_multiplier=2.0, sample_rate=0.1)
    assert other.history == [(1.0, 0.1, 1), (2.0, 0.1, 2)]
    assert state["history"] == spent.history == [(1.0, 0.1, 1), (2.0, 0.1, 1)]


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
    spent = OpacusAccountant(assume=POISSON)
    spent.step(noise_multiplier=1.0, sample_rate=0.1)
    with pytest.raises(ValueError, match=message):
        spent.load_state_dict(state)
    assert spent.history == [(1.0, 0.1, 1)]


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
        (lambda one: one.get_epsilon(delta=-1e-5), "delta must lie in [0, 1], got -1e-5"),
    ],
)
def test_bad_arguments_are_named(ask, message):
    spent = OpacusAccountant(assume=POISSON)
    with pytest.raises(ta.InvalidArgument) as caught:
        ask(spent)
    assert str(caught.value) == message
    assert spent.history == []


def test_a_history_put_in_by_hand_is_checked_when_asked():
    spent = OpacusAccountant(assume=POISSON)
    spent.history = [(1.0, "0.1", 3)]
    with pytest.raises(ta.InvalidArgument, match=r"sample_rate must be a number, got '0\.1'"):
        spent.get_epsilon(1e-5)


def test_without_opacus_the_extra_is_named(monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == "opacus"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "tellapart.accountants.opacus")
    with pytest.raises(ta.Unsupported) as caught:
        importlib.import_module("tellapart.accountants.opacus")
    assert str(caught.value) == "an accountant for Opacus needs: pip install 'tellapart[opacus]'"


class Own(torch.utils.data.Sampler):
    """Batches that nobody but their author knows how to draw."""

    def __iter__(self):
        return iter([[0, 1], [2]])

    def __len__(self):
        return 2


def test_loaders_that_nobody_knows_need_a_word():
    given = parts(batch_sampler=Own())
    with pytest.raises(ta.Unsupported, match="Own is not known to draw batches that a theorem"):
        train_with(opacus.PrivacyEngine(accountant="tellapart"), given)
    engine = opacus.PrivacyEngine(accountant=accountant(assume=POISSON))
    train_with(engine, given)
    spent = ta.dp_sgd(1.1, 0.5, 1).curve().epsilon(1e-5)
    assert engine.get_epsilon(1e-5) == spent
    # A budget is met on the same word, by either spelling of it.
    engine = opacus.PrivacyEngine(accountant="tellapart")
    engine.accountant = OpacusAccountant(assume=POISSON)
    _, optimizer, _ = engine.make_private_with_epsilon(
        **parts(batch_sampler=Own()), **BUDGET, poisson_sampling=False
    )
    assert ta.dp_sgd(optimizer.noise_multiplier, 0.5, 10).curve().epsilon(1e-5) <= 3.0


def train_with(engine, given):
    _, optimizer, _ = engine.make_private(**given, noise_multiplier=1.1, poisson_sampling=False)
    engine.accountant.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=0.5)


def test_a_poisson_loader_of_ones_own_has_its_own_rate():
    """Opacus reports 1 over the number of batches, whatever the rate at which they are drawn."""
    sampler = UniformWithReplacementSampler(num_samples=64, sample_rate=0.125, steps=20)
    engine = opacus.PrivacyEngine(accountant="tellapart")
    given = parts(batch_sampler=sampler)
    made = engine.make_private(**given, noise_multiplier=1.1, poisson_sampling=False)
    epoch(*made)
    assert engine.accountant.history == [(1.1, 0.05, 20)]
    assert engine.get_epsilon(1e-5) == ta.dp_sgd(1.1, 0.125, 20).curve().epsilon(1e-5)


def test_without_a_loader_there_is_no_epsilon():
    spent = create_accountant("tellapart")
    spent.history = [(1.0, 0.01, 1_000)]
    for ask in (lambda: spent.get_epsilon(1e-5), spent.curve):
        with pytest.raises(ta.Unsupported, match="no data loader was seen") as caught:
            ask()
        assert "accountant(assume=ta.Sampling.POISSON)" in str(caught.value)
    with pytest.raises(ta.Unsupported, match="no data loader was seen"):
        get_noise_multiplier(
            target_epsilon=2, target_delta=1e-5, sample_rate=0.1, steps=9, accountant="tellapart"
        )
    # All records in every batch is how it is, however batches are drawn.
    spent.history = [(2.0, 1.0, 4)]
    assert spent.get_epsilon(1e-5) == ta.Gaussian(1.0).curve().epsilon(1e-5)


def test_what_was_seen_is_in_the_state():
    engine = opacus.PrivacyEngine(accountant="tellapart")
    train(engine)
    state = engine.accountant.state_dict()
    again = OpacusAccountant()
    again.load_state_dict(state)
    assert again.state_dict() == state
    assert again.get_epsilon(1e-5) == engine.get_epsilon(1e-5)
    before = {name: state[name] for name in ("history", "mechanism")}
    again.load_state_dict(before)  # of a release that did not look
    with pytest.raises(ta.Unsupported, match="no data loader was seen"):
        again.get_epsilon(1e-5)
    said = create_accountant(accountant(assume=POISSON))
    said.load_state_dict(before)
    assert said.get_epsilon(1e-5) == engine.get_epsilon(1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: {**state, "passes": 3}, "passes must be a list of records"),
        (lambda state: {**state, "passes": [3]}, "passes must be a list of records"),
        (
            lambda state: {**state, "passes": [{**state["passes"][0], "batches": {}}]},
            "passes must be a list of records",
        ),
        (
            lambda state: {**state, "passes": [{**state["passes"][0], "drawn": -1}]},
            "drawn must be at least 0",
        ),
    ],
)
def test_a_bad_record_of_what_was_seen_is_refused_and_changes_nothing(change, message):
    engine = opacus.PrivacyEngine(accountant="tellapart")
    train(engine)
    state = engine.accountant.state_dict()
    with pytest.raises(ta.InvalidArgument, match=message):
        engine.accountant.load_state_dict(change(state))
    assert engine.accountant.state_dict() == state


@pytest.mark.parametrize("assume", [ta.Sampling.WITHOUT_REPLACEMENT, "poisson", True])
def test_only_poisson_samples_can_be_assumed(assume):
    for ask in (accountant, OpacusAccountant):
        with pytest.raises(ta.InvalidArgument, match=r"assume must be ta\.Sampling\.POISSON or"):
            ask(assume=assume)


@pytest.mark.filterwarnings("ignore:Optimal order is the:UserWarning")
def test_other_accountants_are_left_alone():
    engine = opacus.PrivacyEngine(accountant="rdp")
    train(engine, poisson_sampling=False)
    assert engine.get_epsilon(1e-5) > 0
    fresh = opacus.PrivacyEngine(accountant="rdp")
    fresh.make_private_with_epsilon(**parts(), **BUDGET, poisson_sampling=False)


def test_what_came_before_the_look_stays_unseen():
    engine = opacus.PrivacyEngine(accountant="tellapart")
    engine.accountant.history = [(1.0, 0.1, 100)]
    engine.make_private(**parts(), noise_multiplier=1.1)
    with pytest.raises(ta.Unsupported, match="no data loader was seen"):
        engine.get_epsilon(1e-5)


def test_after_a_loader_was_refused_nothing_is_taken_for_seen():
    engine = opacus.PrivacyEngine(accountant="tellapart")
    train(engine)
    weighted = torch.utils.data.WeightedRandomSampler(torch.ones(64), 64)
    with pytest.raises(ta.Unsupported, match="draws records by weights"):
        engine.make_private(
            **parts(batch_size=8, sampler=weighted), noise_multiplier=1.1, poisson_sampling=False
        )
    engine.accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    with pytest.raises(ta.Unsupported, match="9 steps were taken on 8 batches"):
        engine.get_epsilon(1e-5)


@pytest.mark.parametrize("workers", [0, 2])
def test_steps_on_another_loader_than_the_one_returned_are_refused(workers):
    """Whoever trains on the loader they gave gets shuffled batches under Poisson's number."""
    given = parts(batch_size=8, shuffle=True, num_workers=workers)
    engine = opacus.PrivacyEngine(accountant="tellapart")
    model, optimizer, poisson = engine.make_private(**given, noise_multiplier=1.1)
    epoch(model, optimizer, poisson)
    assert engine.get_epsilon(1e-5) > 0
    epoch(model, optimizer, given["data_loader"])
    with pytest.raises(ta.Unsupported, match=r"16 steps were taken on 8 batches .* train on that"):
        engine.get_epsilon(1e-5)


def test_batches_split_to_fit_memory_are_seen_whole():
    engine = opacus.PrivacyEngine(accountant="tellapart")
    model, optimizer, loader = engine.make_private(**parts(), noise_multiplier=1.1)
    with BatchMemoryManager(
        data_loader=loader, max_physical_batch_size=4, optimizer=optimizer
    ) as pieces:
        epoch(model, optimizer, pieces)
    assert len(engine.accountant) == len(loader)
    assert engine.get_epsilon(1e-5) > 0
