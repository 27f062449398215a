"""The drop-in for Opacus looks: each kind of loader and optimizer by its own theorem, or not."""

from collections import Counter

import numpy as np
import opacus
import pytest
import torch
from opacus.optimizers import DPOptimizer
from opacus.schedulers import ExponentialGradClip, ExponentialNoise, LambdaNoise
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch.utils import data

import tellapart as ta
from tellapart.accountants.loaders import Draw, Pass, coin, distributed_poisson, training
from tellapart.accountants.opacus import OpacusAccountant, check_training
from tellapart.mechanisms.batches.with_replacement import WithReplacement

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off:UserWarning"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning"),
]

ROWS = data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
STEP = ta.Gaussian(1.1, neighbours=ta.Neighbours.ZERO_OUT)


def parts(**loading):
    """A tiny model, its optimizer, and a loader of 64 records."""
    model = torch.nn.Linear(4, 1)
    return {
        "module": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.01),
        "data_loader": data.DataLoader(ROWS, **loading),
        "max_grad_norm": 1.0,
    }


def private(poisson_sampling=False, noise_multiplier=1.1, more=None, **loading):
    """An engine that looks, and what it made."""
    engine = opacus.PrivacyEngine(accountant="tellapart")
    made = engine.make_private(
        **{**parts(**loading), **(more or {})},
        noise_multiplier=noise_multiplier,
        poisson_sampling=poisson_sampling,
    )
    return engine, made


def epoch(model, optimizer, loader, every=1, most=None):
    """Steps over a loader, each on so many batches, at most so many batches."""
    for number, (x, y) in enumerate(loader, 1):
        torch.nn.functional.mse_loss(model(x), y).backward()
        if number % every == 0:
            optimizer.step()
            optimizer.zero_grad()
        if number == most:
            break


def spent(engine, delta=1e-5):
    """Both ends of ε: what an attack reaches, and the guarantee, which the engine reports."""
    sides = engine.accountant.training().bracket(delta)
    most = sides.lower.epsilon(delta)
    assert engine.get_epsilon(delta) == pytest.approx(most, rel=2e-4)
    return sides.upper.epsilon(delta), engine.get_epsilon(delta)


def random(**options):
    return data.RandomSampler(ROWS, **options)


SCHEMES = {
    "shuffled": (
        {"batch_size": 8, "shuffle": True},
        Draw.SHUFFLED,
        STEP.shuffled_batches(8),
    ),
    "shuffled, a smaller last batch": (
        {"batch_size": 10, "shuffle": True},
        Draw.SHUFFLED,
        STEP.shuffled_batches(6, last=0.4),
    ),
    "shuffled, dropping the last": (
        {"batch_size": 10, "shuffle": True, "drop_last": True},
        Draw.SHUFFLED,
        STEP.shuffled_batches(6, used=60 / 64),
    ),
    "one batch of all": (
        {"batch_size": 100, "shuffle": True},
        Draw.SHUFFLED,
        STEP.shuffled_batches(1),
    ),
    "of a part": (
        {"batch_size": 8, "sampler": data.SubsetRandomSampler(range(32))},
        Draw.SHUFFLED,
        STEP.shuffled_batches(4),
    ),
    "fixed size": (
        {"batch_size": 8, "sampler": random(num_samples=8)},
        Draw.SHUFFLED,
        STEP.shuffled_batches(1, used=1 / 8),
    ),
    "in order": ({"batch_size": 8}, Draw.FIXED_ORDER, STEP),
    "in order, dropping the last": (
        {"batch_size": 10, "drop_last": True},
        Draw.FIXED_ORDER,
        STEP,
    ),
    "distributed": (
        {"batch_size": 8, "sampler": data.DistributedSampler(ROWS, num_replicas=2, rank=0)},
        Draw.FIXED_ORDER,
        STEP,
    ),
    "with replacement": (
        {"batch_size": 8, "sampler": random(replacement=True)},
        Draw.WITH_REPLACEMENT,
        WithReplacement(STEP, draws=8, data_size=64).repeated(8),
    ),
}


@pytest.mark.parametrize(("loading", "draw", "one_pass"), SCHEMES.values(), ids=SCHEMES)
def test_each_loader_is_accounted_for_by_its_own_scheme(loading, draw, one_pass):
    engine, made = private(**loading)
    assert engine.accountant.batches.draw is draw
    for _ in range(2):
        epoch(*made)
    training = engine.accountant.training()
    assert training.neighbours is ta.Neighbours.ZERO_OUT
    expected = one_pass.repeated(2).curve()
    assert engine.get_epsilon(1e-5) == pytest.approx(expected.epsilon(1e-5), rel=1e-9)
    assert engine.accountant.curve().tpr(0.01) == pytest.approx(expected.tpr(0.01), rel=1e-9)
    again = OpacusAccountant()
    again.load_state_dict(engine.accountant.state_dict())
    assert again.get_epsilon(1e-5) == engine.get_epsilon(1e-5)


def test_shuffled_batches_get_both_ends_and_not_the_poisson_number():
    """1,000 records in batches of 10: Poisson samples would leak .718, these 4.07 to 4.38."""
    rows = data.TensorDataset(torch.zeros(1000, 4), torch.zeros(1000, 1))
    more = {"data_loader": data.DataLoader(rows, batch_size=10, shuffle=True)}
    engine, made = private(noise_multiplier=1.0, more=more)
    epoch(*made)
    least, most = spent(engine)
    assert (round(least, 2), round(most, 2)) == (4.07, 4.38)
    poisson = opacus.PrivacyEngine(accountant="prv").accountant
    poisson.history = engine.accountant.history
    assert poisson.get_epsilon(1e-5) == pytest.approx(0.718, abs=0.02)


def test_a_share_of_the_records_is_no_affine_epoch():
    """One batch of half the records: 4.208 is reached, where an affine epoch would say 3.534."""
    engine, made = private(noise_multiplier=1.0, batch_size=32, sampler=random(num_samples=32))
    epoch(*made)
    assert round(engine.get_epsilon(1e-5), 3) == 4.212


def test_a_pass_that_is_cut_short_uses_a_share_of_the_records():
    engine, made = private(batch_size=8, shuffle=True)
    epoch(*made, most=3)
    cut = STEP.shuffled_batches(3, used=24 / 64)
    assert engine.get_epsilon(1e-5) == pytest.approx(cut.curve().epsilon(1e-5), rel=1e-9)
    in_order, made = private(batch_size=8)
    epoch(*made, most=3)
    assert in_order.get_epsilon(1e-5) == STEP.curve().epsilon(1e-5)


def test_a_look_at_the_data_is_no_pass_of_training():
    engine, made = private(batch_size=8, shuffle=True)
    epoch(*made)
    before = engine.get_epsilon(1e-5)
    assert len(list(made[-1])) == 8
    assert engine.get_epsilon(1e-5) == before


@pytest.mark.parametrize("workers", [0, 2])
def test_passes_of_several_loaders_come_together(workers):
    """Poisson samples and then shuffled batches: for neighbours that zero out a record."""
    engine, made = private(poisson_sampling=True, batch_size=8, num_workers=workers)
    epoch(*made)
    model, optimizer, _ = made
    loader = data.DataLoader(ROWS, batch_size=16, shuffle=True, num_workers=workers)
    engine.accountant.look_at(loader, optimizer)
    epoch(model, optimizer, loader)
    poisson = ta.dp_sgd(1.1, 1 / 8, 8, neighbours=ta.Neighbours.ZERO_OUT)
    expected = poisson.then(STEP.shuffled_batches(4)).curve().epsilon(1e-5)
    assert engine.get_epsilon(1e-5) == pytest.approx(expected, rel=1e-9)


def test_engines_that_share_a_loader_count_their_own_passes():
    loader = data.DataLoader(ROWS, batch_size=8, shuffle=True)
    trained = [private(more={"data_loader": loader}) for _ in range(2)]
    for _, made in trained:
        epoch(*made)
    for engine, _ in trained:
        expected = STEP.shuffled_batches(8).curve().epsilon(1e-5)
        assert engine.get_epsilon(1e-5) == pytest.approx(expected, rel=1e-9)


def test_two_steps_on_one_batch_are_no_two_samples():
    """Two optimizers of one engine: the second step has the records of the first."""
    engine, made = private(poisson_sampling=True, batch_size=8)
    for x, y in made[2]:
        for _ in range(2):
            made[1].zero_grad()
            torch.nn.functional.mse_loss(made[0](x), y).backward()
            made[1].step()
    with pytest.raises(ta.Unsupported, match="16 steps were taken on 8 batches"):
        engine.get_epsilon(1e-5)


def test_batches_that_were_passed_over_do_not_pay_for_two_steps_on_one():
    engine, (model, optimizer, loader) = private(poisson_sampling=True, batch_size=8)
    for number, (x, y) in enumerate(loader):
        for _ in range(2 * (number % 2)):
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
    with pytest.raises(ta.Unsupported, match="8 steps were taken on 8 batches"):
        engine.get_epsilon(1e-5)


def test_a_look_at_the_data_does_not_pay_for_steps_on_another_loader():
    engine, (model, optimizer, loader) = private(poisson_sampling=True, batch_size=8)
    assert len(list(loader)) == 8
    epoch(model, optimizer, data.DataLoader(ROWS, batch_size=8, shuffle=True))
    with pytest.raises(ta.Unsupported, match="8 steps were taken on 8 batches"):
        engine.get_epsilon(1e-5)


def test_steps_that_are_skipped_leave_several_poisson_samples_in_one():
    """Opacus reports four samples that were trained on in one step as one of them."""
    for poisson in (True, False):
        engine, (model, optimizer, loader) = private(poisson, batch_size=8, shuffle=True)
        for number, (x, y) in enumerate(loader, 1):
            optimizer.signal_skip_step(do_skip=number % 4 > 0)
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        assert len(engine.accountant) == 2
        if poisson:
            with pytest.raises(ta.Unsupported, match=r"a step was skipped \(signal_skip_step\)"):
                engine.get_epsilon(1e-5)
        else:  # of one pass, so that each record is in one step all the same
            expected = STEP.shuffled_batches(8).curve().epsilon(1e-5)
            assert engine.get_epsilon(1e-5) == pytest.approx(expected, rel=1e-9)


def test_pieces_that_are_left_out_spill_into_the_next_batch():
    """Opacus announces pieces as it draws them: who passes over one mixes up all that follow."""
    engine, (model, optimizer, loader) = private(poisson_sampling=True, batch_size=16)
    with BatchMemoryManager(
        data_loader=loader, max_physical_batch_size=4, optimizer=optimizer
    ) as pieces:
        for number, (x, y) in enumerate(pieces):
            if number != 1:
                torch.nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
                optimizer.zero_grad()
    with pytest.raises(ta.Unsupported, match=r"and train on each of its pieces"):
        engine.get_epsilon(1e-5)


def test_poisson_samples_that_are_passed_over_may_have_been_empty():
    """Who takes no step on an empty batch shows a record that is alone in one."""
    engine, (model, optimizer, loader) = private(poisson_sampling=True, batch_size=8)
    for number, (x, y) in enumerate(loader):
        if number != 3:
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
    alone_in_it = 1 - (1 - (1 / 8) * (7 / 8) ** 63) ** 8
    poisson, curve = ta.dp_sgd(1.1, 1 / 8, 8).curve(), engine.accountant.curve()
    for epsilon in (0.1, 1.0):
        expected = (1 - alone_in_it) * poisson.delta(epsilon) + alone_in_it
        assert curve.delta(epsilon) == pytest.approx(expected, rel=1e-6)


def test_steps_of_which_nobody_told_are_not_free():
    engine, made = private(poisson_sampling=True, batch_size=8)
    made[1].attach_step_hook(lambda optimizer: None)
    epoch(*made)
    with pytest.raises(ta.Unsupported, match="steps of which this accountant was not told"):
        engine.get_epsilon(1e-5)


@pytest.mark.parametrize("poisson", [True, False])
@pytest.mark.parametrize(
    "rows",
    [
        data.Subset(ROWS, [*range(64), 5]),
        data.Subset(data.Subset(ROWS, range(32)), [0, 1, 1]),
        data.ConcatDataset([ROWS, ROWS]),
        data.ConcatDataset([data.Subset(ROWS, range(32)), data.Subset(ROWS, range(31, 64))]),
        data.Subset(data.ConcatDataset([ROWS, ROWS]), [3, 67]),
    ],
)
def test_data_that_have_a_record_twice_are_refused(rows, poisson):
    """Oversampling by copies: a step has the record as often."""
    with pytest.raises(ta.Unsupported, match="has a record more than once"):
        private(poisson, more={"data_loader": data.DataLoader(rows, batch_size=1)})


def test_data_put_together_of_other_records_are_not_refused():
    first, second = data.random_split(ROWS, [40, 24])
    rows = data.Subset(data.ConcatDataset([first, data.Subset(ROWS, second.indices)]), range(9, 60))
    engine, made = private(more={"data_loader": data.DataLoader(rows, batch_size=8, shuffle=True)})
    epoch(*made)
    assert engine.accountant.batches.data_size == 51


@pytest.mark.parametrize("rate", [0.01, 1 / 93, 0.3, 1e-8, 0.125, 1.0])
def test_coins_of_torch_have_twenty_four_bits(rate):
    """How often they come up, counted near the rate: there are no numbers between multiples."""
    near = round(rate * 2**24) + torch.arange(-3, 4, dtype=torch.float64)
    possible = near[(near >= 0) & (near < 2**24)]
    below = possible[(possible / 2**24).float() < rate]
    assert coin(rate) == (float(below.max()) + 1) / 2**24 >= rate
    drawn = torch.rand(1000) * 2**24
    assert torch.equal(drawn, drawn.round())


class Subclass(data.RandomSampler):
    """A random order, for all one knows."""


class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(ROWS)


REFUSED = {
    "by weights": (
        {"batch_size": 8, "sampler": data.WeightedRandomSampler(torch.ones(64), 64)},
        "WeightedRandomSampler draws records by weights, and no theorem is known",
    ),
    "records twice": (
        {"batch_size": 8, "sampler": random(num_samples=100)},
        "num_samples=100 of 64 records has records twice in a pass",
    ),
    "a part with a record twice": (
        {"batch_size": 8, "sampler": data.SubsetRandomSampler([1, 2, 1])},
        "SubsetRandomSampler names a record more than once",
    ),
    "padded": (
        {"batch_size": 8, "sampler": data.DistributedSampler(ROWS, num_replicas=3, rank=0)},
        "DistributedSampler pads 64 records to 66",
    ),
    "a subclass": ({"batch_size": 8, "sampler": Subclass(ROWS)}, "Subclass is not known to draw"),
    "no batches": ({"batch_size": None}, "DataLoader is not known to draw"),
}


@pytest.mark.parametrize(("loading", "message"), REFUSED.values(), ids=REFUSED)
def test_what_no_theorem_covers_is_refused_before_training(loading, message):
    engine = opacus.PrivacyEngine(accountant="tellapart")
    given = parts(**loading)
    budget = {"target_epsilon": 3.0, "target_delta": 1e-5, "epochs": 5}
    for make, more in [
        (engine.make_private, {"noise_multiplier": 1.1}),
        (engine.make_private_with_epsilon, budget),
    ]:
        with pytest.raises(ta.Unsupported, match=message):
            make(**given, **more, poisson_sampling=False)
    assert isinstance(given["module"], torch.nn.Linear)
    assert not given["module"]._forward_hooks


def test_a_stream_is_refused():
    given = {**parts(), "data_loader": data.DataLoader(Stream(), batch_size=8)}
    engine = opacus.PrivacyEngine(accountant="tellapart")
    with pytest.raises(ta.Unsupported, match="batches of a stream"):
        engine.make_private(**given, noise_multiplier=1.0, poisson_sampling=False)


@pytest.mark.parametrize("name", ["by weights", "records twice", "a subclass"])
def test_samplers_that_opacus_discards_are_told_of(name):
    loading, _ = REFUSED[name]
    kind = type(loading["sampler"]).__name__
    with pytest.warns(UserWarning, match=f"Opacus discards {kind} and draws Poisson samples of al"):
        engine, _ = private(poisson_sampling=True, **loading)
    assert engine.accountant.batches.draw is Draw.POISSON


# -- optimizers ----------------------------------------------------------------------------------


def test_noise_that_changes_between_passes_counts_as_it_was():
    engine, made = private(batch_size=8, shuffle=True)
    schedule = ExponentialNoise(made[1], gamma=0.9)
    for _ in range(3):
        epoch(*made)
        schedule.step()
    noises = [1.1, 1.1 * 0.9, 1.1 * 0.9 * 0.9]
    zero_out = ta.Neighbours.ZERO_OUT
    passes = [ta.Gaussian(noise, neighbours=zero_out).shuffled_batches(8) for noise in noises]
    expected = ta.compose(passes).curve().epsilon(1e-5)
    assert engine.get_epsilon(1e-5) == pytest.approx(expected, rel=1e-9)


def test_noise_that_changes_within_a_pass_counts_by_the_least():
    engine, (model, optimizer, loader) = private(batch_size=8, shuffle=True)
    schedule = LambdaNoise(optimizer, noise_lambda=lambda step: [1, 2, 0.5, 4][step % 4])
    for x, y in loader:
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    assert sorted({noise for noise, _, _ in engine.accountant.history}) == [0.55, 1.1, 2.2, 4.4]
    least, most = spent(engine)
    assert most == pytest.approx(ta.Gaussian(0.55).curve().epsilon(1e-5), rel=1e-9)
    assert least == 0  # of an attack on such a pass nothing is claimed


def clip_norm(optimizer):
    """How long the clipped sum of one record's huge gradient is."""
    return float(torch.cat([p.summed_grad.flatten() for p in optimizer.params]).norm())


@pytest.mark.parametrize(
    ("way", "keeps_up"),
    [({}, True), ({"clipping": "per_layer", "max_grad_norm": [3.0, 4.0]}, False)],
)
def test_a_clipping_schedule_that_only_moves_the_noise_is_seen(way, keeps_up):
    """Opacus scales noise by the scheduled norm, and clips layers at those given at first."""
    engine, (model, optimizer, _) = private(more=way, batch_size=8, shuffle=True)
    ExponentialGradClip(optimizer, gamma=0.1).step()
    (1e6 * model(torch.ones(1, 4))).sum().backward()
    optimizer.step()
    true = 1.1 * optimizer.max_grad_norm / clip_norm(optimizer)
    ((counted, _, _),) = engine.accountant.history
    assert counted == pytest.approx(true, rel=1e-5)
    assert (counted == 1.1) is keeps_up


def test_a_clipping_schedule_under_ghost_clipping_is_seen():
    """There the module clips, at the norm that it was made with."""
    criterion = torch.nn.MSELoss()
    engine, (model, optimizer, criterion, loader) = private(
        more={"grad_sample_mode": "ghost", "criterion": criterion}, batch_size=8, shuffle=True
    )
    x, y = next(iter(loader))
    criterion(model(x), y).backward()
    optimizer.step()
    ExponentialGradClip(optimizer, gamma=0.5).step()
    optimizer.zero_grad()
    criterion(model(1e6 * x[:1]), y[:1]).backward()
    optimizer.step()
    assert clip_norm(optimizer) == pytest.approx(1, rel=1e-4)
    assert [noise for noise, _, _ in engine.accountant.history] == [1.1, 0.55]


def test_a_norm_that_moves_within_a_split_batch_counts_by_the_largest():
    engine, (model, optimizer, loader) = private(batch_size=8, shuffle=True)
    schedule = ExponentialGradClip(optimizer, gamma=0.5)
    with BatchMemoryManager(
        data_loader=loader, max_physical_batch_size=4, optimizer=optimizer
    ) as pieces:
        for x, y in pieces:  # whose first half is clipped at twice the norm of the second
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
    assert engine.accountant.history == [(0.55, 0.125, 8)]


def test_split_batches_are_seen_whole_and_refused_where_one_is_left_unfinished():
    engine, (model, optimizer, loader) = private(batch_size=8, shuffle=True)
    manager = BatchMemoryManager(data_loader=loader, max_physical_batch_size=4, optimizer=optimizer)
    with manager as pieces:
        epoch(model, optimizer, pieces)
    epsilon = STEP.shuffled_batches(8).curve().epsilon(1e-5)
    assert engine.get_epsilon(1e-5) == pytest.approx(epsilon, rel=1e-9)
    with manager as pieces:
        epoch(model, optimizer, pieces, most=3)
        epoch(model, optimizer, pieces)
    with pytest.raises(ta.Unsupported, match="ended within a batch that was split to fit memory"):
        engine.get_epsilon(1e-5)
    again = OpacusAccountant()
    again.load_state_dict(engine.accountant.state_dict())
    with pytest.raises(ta.Unsupported, match="ended within a batch"):
        again.get_epsilon(1e-5)


def test_accumulated_gradients_are_of_one_pass_or_refused():
    engine, made = private(batch_size=8, shuffle=True)
    for _ in range(2):
        epoch(*made, every=2)
    epsilon = STEP.shuffled_batches(8).repeated(2).curve().epsilon(1e-5)
    assert len(engine.accountant) == 8
    assert engine.get_epsilon(1e-5) == pytest.approx(epsilon, rel=1e-9)
    engine, made = private(batch_size=8, shuffle=True)
    for _ in range(2):
        epoch(*made, every=3)  # two batches of each pass wait for the next
    with pytest.raises(ta.Unsupported, match="of two passes may have been accumulated"):
        engine.get_epsilon(1e-5)


def test_accumulated_poisson_samples_are_refused():
    """A record may be in both, and Opacus calls that one sample of twice the rate."""
    sampler = opacus.utils.uniform_sampler.UniformWithReplacementSampler(
        num_samples=64, sample_rate=0.125
    )
    engine, made = private(batch_sampler=sampler)
    epoch(*made, every=2)
    with pytest.raises(ta.Unsupported, match="gradients of 2 batches of Poisson samples were acc"):
        engine.get_epsilon(1e-5)


ADAPTIVE = {
    "clipping": "adaptive",
    "target_unclipped_quantile": 0.5,
    "clipbound_learning_rate": 0.2,
    "max_clipbound": 10.0,
    "min_clipbound": 0.1,
    "unclipped_num_std": 5.0,
}


class Own(DPOptimizer):
    """An optimizer that nobody knows."""


def test_optimizers_that_nobody_accounts_for_are_refused():
    with pytest.raises(ta.Unsupported, match="adaptive clipping is not accounted for"):
        private(more=ADAPTIVE, batch_size=8)
    loader = parts(batch_size=8)["data_loader"]
    optimizer = Own(
        parts()["optimizer"], noise_multiplier=1, max_grad_norm=1, expected_batch_size=8
    )
    with pytest.raises(ta.Unsupported, match="Own is not known to clip each record's gradient"):
        OpacusAccountant().look_at(loader, optimizer)


# -- budgets and distributed training --------------------------------------------------------------


@pytest.mark.parametrize(("loading", "poisson"), [({"shuffle": True}, False), ({}, True)])
def test_a_budget_is_kept_by_the_epochs_it_was_asked_for(loading, poisson):
    """Opacus plans int(3 / (1 / 75)) = 224 steps for three epochs of 75."""
    rows = data.TensorDataset(torch.zeros(75, 4), torch.zeros(75, 1))
    given = {**parts(), "data_loader": data.DataLoader(rows, batch_size=1, **loading)}
    engine = opacus.PrivacyEngine(accountant="tellapart")
    budget = {"target_epsilon": 8.0, "target_delta": 1e-5, "epochs": 3}
    made = engine.make_private_with_epsilon(
        **given, **budget, poisson_sampling=poisson, epsilon_tolerance=1e-6
    )
    for _ in range(3):
        epoch(*made)
    assert len(engine.accountant) == 225
    assert 8 - 2e-6 < engine.get_epsilon(1e-5) <= 8


@pytest.fixture
def alone():
    """A group of one process."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_distributed_poisson_samples_pay_for_the_batches_they_leave_out(alone):
    """Without other records a batch is there if and only if the record is, which shows it."""
    given = parts(batch_size=8)
    module = opacus.distributed.DifferentiallyPrivateDistributedDataParallel(given["module"])
    engine, made = private(poisson_sampling=True, more={**given, "module": module})
    assert engine.accountant.batches.sampler == "DistributedUniformWithReplacementSampler"
    epoch(*made)
    curve = engine.accountant.curve()
    alone_in_it = 1 - (1 - (1 / 8) * (7 / 8) ** 63) ** 8
    poisson = ta.dp_sgd(1.1, 1 / 8, 8).curve()
    for epsilon in (0.1, 1.0, 2.0):
        expected = (1 - alone_in_it) * poisson.delta(epsilon) + alone_in_it
        assert curve.delta(epsilon) == pytest.approx(expected, rel=1e-6)


def test_replicas_that_each_have_all_records_are_refused(alone):
    """Gradients are summed over replicas: a record would be in a step once for each."""
    given = parts()
    module = opacus.distributed.DifferentiallyPrivateDistributedDataParallel(given["module"])
    engine, (_, optimizer, loader) = private(more={**given, "module": module}, batch_size=8)
    optimizer.world_size = 2
    order = data.DistributedSampler(ROWS, num_replicas=2, rank=0)
    for look in (
        lambda loader: engine.accountant.look_at(loader, optimizer),
        lambda loader: check_training([optimizer, loader], epochs=1),
    ):
        with pytest.raises(ta.Unsupported, match="each of 2 replicas all records"):
            look(loader)
        look(data.DataLoader(ROWS, batch_size=8, sampler=order))


def test_the_chance_to_be_alone_may_be_tiny():
    """Then it is no more than a delta that nobody sees, and never nothing."""
    batches = distributed_poisson(2_000, 0.01, batches=100, replicas=1)
    curve = training([batches.whole_pass(1.0)], {}).curve()
    alone_in_it = 0.01 * 0.99**1999 * 100
    plain = ta.dp_sgd(1.0, 0.01, 100).curve()
    assert curve.epsilon(1e-5) == pytest.approx(plain.epsilon(1e-5), rel=1e-3)
    assert curve.delta(50.0) == pytest.approx(alone_in_it, rel=1e-3)


@pytest.mark.parametrize("other", [-1.0, 0.0, 1.0])
def test_a_batch_that_is_left_out_leaks_no_more_than_is_paid(other):
    """Two records, of which one is looked for: the exact pair, by numerical integration."""
    rate, sigma = 0.5, 1.0
    batches = distributed_poisson(2, rate, batches=1, replicas=1)
    taken = Pass(batches, 1, 1, Counter({(sigma, rate): 1}))
    bound = training([taken], {}).curve()
    x = np.linspace(-12, 12, 100_001)

    def output(mean):
        return np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])

    # The last outcome is that the batch was left out.
    absent = np.append(rate * output(other), 1 - rate)
    drawn = rate * output(other + 1) + (1 - rate) * output(1)
    present = np.append((1 - rate) * rate * output(other) + rate * drawn, (1 - rate) ** 2)
    assert absent.sum() == pytest.approx(1) == present.sum()
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        for one, two in ((present, absent), (absent, present)):
            leak = np.maximum(one - np.exp(epsilon) * two, 0).sum()
            assert leak <= bound.delta(epsilon) + 1e-9


# -- before training -----------------------------------------------------------------------------


def test_what_is_promised_is_what_the_training_then_spends():
    """And the check leaves optimizer, schedule and loader as they were."""
    engine, made = private(batch_size=10, shuffle=True, drop_last=True)
    schedule = ExponentialNoise(made[1], gamma=0.5)
    promise = check_training((made, schedule), epochs=2)
    assert promise.noise_multipliers == (0.55, 1.1)
    assert made[1].noise_multiplier == 1.1
    for _ in range(2):
        epoch(*made)
        schedule.step()
    assert engine.get_epsilon(1e-5) == promise.epsilon
    assert spent(engine)[0] == promise.attack
    assert promise.keeps(promise.epsilon)
    assert promise.keeps(promise.attack) is None
    assert promise.keeps(0.99 * promise.attack) is False


def test_a_check_counts_what_a_checkpoint_has_spent(tmp_path):
    """A training that goes on promises what all of it does."""
    engine, made = private(batch_size=8, shuffle=True)
    epoch(*made)
    engine.save_checkpoint(path=tmp_path / "kept", module=made[0], optimizer=made[1])
    again, resumed = private(batch_size=8, shuffle=True)
    alone = check_training((again, resumed), epochs=2)
    again.load_checkpoint(path=tmp_path / "kept", module=resumed[0], optimizer=resumed[1])
    promise = check_training((again, resumed), epochs=2)
    expected = STEP.shuffled_batches(8).repeated(3)
    assert promise.epsilon == pytest.approx(expected.epsilon(1e-5), rel=1e-9)
    assert promise.reported > alone.reported
    assert promise.notes == ("8 steps that were taken before count as well.",)
    theirs = opacus.PrivacyEngine(accountant="rdp")
    theirs.accountant.history = [(1.1, 0.125, 8)]
    with pytest.raises(ta.Unsupported, match="taken before, and nobody knows how"):
        check_training((theirs, resumed), epochs=2)


def test_a_check_tells_of_a_norm_that_clipping_does_not_follow():
    """Under ghost clipping a schedule moves the noise alone, and Opacus reports no more ε."""
    more = {"grad_sample_mode": "ghost", "criterion": torch.nn.MSELoss()}
    _, made = private(poisson_sampling=True, more=more, batch_size=8)
    plain = check_training(made, epochs=2)
    held = {"made": made, "schedule": ExponentialGradClip(made[1], gamma=0.5)}
    promise = check_training(held, epochs=2)
    assert (promise.noise_multipliers, promise.clipping_norms) == ((0.55, 1.1), (1.0, 1.0))
    assert promise.epsilon > promise.reported == plain.reported > plain.epsilon
    assert any("less noise for each gradient than Opacus takes" in note for note in promise.notes)
