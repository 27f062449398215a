"""Opacus under `audit.watch`: thirteen bugs refuted in one training each, right ones spared."""

import subprocess
import sys
from pathlib import Path

import pytest
from scipy.stats import binom

pytest.importorskip("opacus")

import torch
from opacus.data_loader import DPDataLoader
from opacus.grad_sample import GradSampleModule, register_grad_sampler
from opacus.optimizers import DPOptimizer
from opacus_trainings import (
    BUGS,
    CLIP,
    DATA,
    LEAKING,
    NOISE,
    RATE,
    less_noise,
    network,
    private,
    train,
    watched,
)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import tellapart as ta
from tellapart import audit, report
from tellapart.audit.trainings.conformance import corrected
from tellapart.audit.trainings.watch_power import CHECKS
from tellapart.audit.trainings.watch_verdict import BETS
from tellapart.errors import InvalidArgument, Unsupported

CLAIM = ta.dp_sgd(NOISE, sampling_rate=RATE, steps=60)
GRADIENTS = "per-example gradients"
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("bug", BUGS)
def test_every_bug_is_refuted_in_one_training(bug):
    verdict = watched(1, BUGS[bug])
    assert verdict.refuted
    assert verdict.failed
    if bug in LEAKING:
        assert BETS in verdict.refuting


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_every_bug_is_refuted_in_nineteen_of_twenty_trainings(bug):
    verdicts = [watched(seed, BUGS[bug]) for seed in range(100, 120)]
    assert sum(verdict.refuted for verdict in verdicts) >= 19
    if bug in LEAKING:
        assert sum(BETS in verdict.refuting for verdict in verdicts) >= 19


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"physical": 16, "check": True},
        {"adam": True, "check": True},
        {"mode": "ghost", "check": True},
        {"mode": "ghost", "physical": 16},
        {"net": "norm", "check": True},
    ],
    ids=["plain", "virtual steps", "Adam", "ghost", "ghost, virtual", "group norm"],
)
def test_right_trainings_are_spared(how):
    if how.get("net"):
        how = how | {"net": network(nn.GroupNorm(4, 32))}
    verdict = watched(0, steps=30, **how)
    assert not verdict.refuted, verdict
    assert verdict.steps == 30


def test_plans_know_how_many_tests_of_conformance_there_are():
    assert len(watched(0, steps=2).checks) == CHECKS


@pytest.mark.slow
def test_right_trainings_are_spared_at_their_level():
    """A hundred trainings: each part at the level it was given."""
    verdicts = [watched(seed) for seed in range(1_000, 1_100)]
    refuted = sum(verdict.refuted for verdict in verdicts)
    least = [min(corrected(verdict.checks)) for verdict in verdicts]
    assert refuted <= binom.isf(0.01, len(verdicts), 0.05)
    assert sum(p <= 0.05 for p in least) <= binom.isf(0.01, len(verdicts), 0.05)


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
def test_bugs_are_refuted_in_virtual_steps_too(mode):
    assert watched(3, less_noise(0.8), physical=16, mode=mode, steps=30).refuted


COST = """
import resource, sys, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
import torch
from torch import nn
from torch.utils.data import TensorDataset
torch.set_num_threads(1)
import opacus_trainings as trainings
from tellapart import audit
data = TensorDataset(torch.rand(400, 784), torch.randint(0, 10, (400,)))
net = nn.Sequential(nn.Linear(784, 256), nn.Tanh(), nn.Linear(256, 10))
model, optimizer, loader, loss = trainings.private(0, net=net, data=data)
claim = trainings.ta.dp_sgd(1.0, sampling_rate=0.125, steps=20)
begun = time.process_time()
watch = sys.argv[2] == "watched" and audit.watch(
    optimizer, loader, claim=claim, clip=1.0, model=model
)
trainings.train(model, optimizer, loader, loss, 20)
if watch:
    assert watch.verdict().steps == 20
print(time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_watching_costs_little():
    """A model of 203,530 parameters: at most 2.5 times the seconds, 1.5 times the memory."""
    folder = str(Path(__file__).parent)
    cost = {}
    for how in ("plain", "watched"):
        command = [sys.executable, "-c", COST, folder, how]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        cost[how] = [float(number) for number in done.stdout.split()]
    (seconds, memory), (more_seconds, more_memory) = cost["plain"], cost["watched"]
    assert more_seconds <= 2.5 * seconds
    assert more_memory <= 1.5 * memory


# -- gradients that are not a record's own ---------------------------------------------------------


class Mixed(nn.Module):
    """As batch norm does: every example is moved by the others."""

    def forward(self, x):
        return x - x.mean(dim=0, keepdim=True) / 2 if len(x) else x


class Half(nn.Linear):
    """A layer whose per-example gradients are half of what they are."""


@register_grad_sampler(Half)
def half_of_it(layer, activations, backprops):
    return {
        layer.weight: torch.einsum("n...i,n...j->nij", backprops, activations[0]) / 2,
        layer.bias: torch.einsum("n...k->nk", backprops) / 2,
    }


def test_layers_that_mix_examples_are_found():
    verdict = watched(4, net=network(Mixed()), check=True, steps=4)
    assert verdict.refuting == (GRADIENTS,)
    assert "depends on the others in its batch" in str(verdict)


def test_batch_norm_is_found():
    """Opacus refuses it, unless it is told not to look."""
    net = nn.Sequential(nn.Linear(30, 8), nn.BatchNorm1d(8, affine=False), nn.Linear(8, 1))
    model = GradSampleModule(net, strict=False)
    loader = DPDataLoader(TensorDataset(torch.randn(80, 30)), sample_rate=0.25)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        expected_batch_size=20,
    )
    claim = ta.dp_sgd(1.0, sampling_rate=0.25, steps=4)
    watch = audit.watch(optimizer, loader, claim=claim, clip=1.0, model=model)
    for (batch,) in loader:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
    assert GRADIENTS in watch.verdict().refuting
    assert "too few" in str(watch.verdict())


class Wrapped(nn.Module):
    """Called, or answering, as models of other kinds do."""

    def __init__(self, inner, *, rows=True, more=False):
        super().__init__()
        self.inner, self.rows, self.more = inner, rows, more

    def forward(self, x, mask=None):
        output = self.inner(x)
        return (output, x) if self.more else output


@pytest.mark.parametrize(
    ("asked", "more", "said"),
    [
        (lambda model, x: model(x)[0], True, "returns more than a tensor"),
        (lambda model, x: model(x=x), False, "takes more than tensors"),
        (lambda model, x: model(x, torch.ones(1, 3)), False, "takes more than tensors"),
    ],
    ids=["a tuple", "by name", "a mask for all"],
)
def test_models_that_cannot_be_asked_record_by_record_are_not_checked(asked, more, said):
    """A layer mixes examples, and nobody can say so; the loop goes on."""
    model, optimizer, loader, loss = private(4, net=Wrapped(network(Mixed()), more=more))
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, model=model)
    for x, y in loader:
        optimizer.zero_grad()
        loss(asked(model, x), y).backward()
        optimizer.step()
    assert said in str(watch.verdict())


def test_the_claim_is_the_one_stated():
    model, optimizer, loader, loss = private(4)
    claim = ta.dp_sgd(NOISE, sampling_rate=RATE, steps=60, neighbours=ta.Neighbours.ZERO_OUT)
    watch = audit.watch(optimizer, loader, claim=claim, clip=CLIP)
    train(model, optimizer, loader, loss, 3)
    verdict = watch.verdict()
    assert verdict.claim == claim
    assert "added or removed" in verdict.epsilon_if_steps_alike(1e-5).method


def test_wrong_gradients_of_a_layer_are_found():
    verdict = watched(4, net=network(Half(32, 32)), check=True, steps=4)
    assert verdict.refuting == (GRADIENTS,)


def test_ghost_clipping_to_another_norm_is_found():
    model, optimizer, loader, loss = private(5, mode="ghost")
    model.max_grad_norm = 3 * CLIP
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, model=model)
    train(model, optimizer, loader, loss, 4)
    assert watch.verdict().refuting == (GRADIENTS,)


class Noisy(nn.Module):
    """Draws in its forward pass, as functional dropout does, and is no layer of dropout."""

    def forward(self, x):
        return nn.functional.dropout(x, 0.2)


def test_a_model_that_draws_anew_is_not_taken_for_one_that_mixes_examples():
    verdict = watched(4, net=network(Noisy()), check=True, steps=4)
    assert not verdict.refuted
    assert "not checked: the model draws anew" in str(verdict)


def test_what_could_not_be_checked_is_said():
    verdict = watched(4, net=network(nn.Dropout(0.2)), check=True, steps=4)
    assert not verdict.refuted
    assert "not checked: dropout" in str(verdict)
    assert "pass model=" in str(watched(4, mode="ghost", steps=4))


def test_a_check_leaves_the_training_as_it_is():
    """The same noise, batches and weights with the check as without."""
    ends = []
    for check in (True, False):
        model, optimizer, loader, loss = private(6)
        watch = audit.watch(
            optimizer, loader, claim=CLAIM, clip=CLIP, model=model if check else None
        )
        train(model, optimizer, loader, loss, 5)
        ends.append(torch.cat([layer.detach().ravel() for layer in model.parameters()]))
        watch.stop()
    assert torch.equal(*ends)


# -- calls -----------------------------------------------------------------------------------------


def test_stopping_leaves_everything_as_it_was():
    model, optimizer, loader, loss = private(7)
    kind = type(loader.batch_sampler)
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, model=model)
    with pytest.raises(InvalidArgument, match="optimizer must be watched once"):
        audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP)
    train(model, optimizer, loader, loss, 2)
    watch.stop()
    assert type(loader.batch_sampler) is kind
    train(model, optimizer, loader, loss, 2)
    assert watch.verdict().steps == 2


def test_layers_have_their_names():
    model, optimizer, loader, _ = private(8)
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, model=model)
    assert watch.updates.stated.names == ("0.weight", "0.bias", "3.weight", "3.bias")


def test_a_training_on_other_batches_is_refused():
    model, optimizer, loader, loss = private(9)
    _, _, other, _ = private(10)
    audit.watch(optimizer, other, claim=CLAIM, clip=CLIP)
    with pytest.raises(Unsupported, match="did not draw"):
        train(model, optimizer, loader, loss, 1)


def test_batches_that_are_cut_are_a_fact():
    model, optimizer, loader, loss = private(11)
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP)
    for x, y in loader:
        optimizer.zero_grad()
        loss(model(x[:40]), y[:40]).backward()
        optimizer.step()
    assert watch.verdict().refuting[0] == "batches"


def looking(seed, cut=None, *, peek=True, steps=60):
    """A loop that takes a look at further batches, as for a plot, while it goes through its own."""
    model, optimizer, loader, loss = private(seed)
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, seed=seed)
    done = 0
    while done < steps:
        for x, y in loader:
            if peek:
                next(iter(loader))
            optimizer.zero_grad()
            loss(model(x[:cut]), y[:cut]).backward()
            optimizer.step()
            done += 1
            if done == steps:
                break
    return watch


def test_a_look_at_a_batch_inside_the_loop_is_no_fact():
    watch = looking(13)
    verdict = watch.verdict()
    assert not verdict.refuted, verdict
    assert not any("Batches" in said for said in verdict.remarks)
    # Every step has the batch that its loop drew.
    assert watch.updates.sums.drawn.sum() == sum(watch.updates.sums.sizes)


def test_batches_of_two_loops_at_once_are_no_fact():
    verdict = looking(14, cut=40, steps=8).verdict()
    assert "batches" not in verdict.refuting
    assert any(said.startswith("Batches: ") for said in verdict.remarks)
    assert "batches" in looking(14, cut=40, peek=False, steps=8).verdict().refuting


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_that_a_loop_skips_are_no_fact(workers):
    model, optimizer, loader, loss = private(14)
    loader = DataLoader(DATA, batch_sampler=loader.batch_sampler, num_workers=workers)
    loader.sample_rate = RATE
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP)
    for _ in range(5):
        for at, (x, y) in enumerate(loader):
            if at % 3 == 1:
                continue
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
    verdict = watch.verdict()
    assert not verdict.refuted, verdict
    assert "no step used some of those that were drawn" in str(verdict)


def test_a_loop_that_begins_anew_for_every_step_is_spared():
    model, optimizer, loader, loss = private(15)
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP)
    for _ in range(60):
        x, y = next(iter(loader))
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
    assert not watch.verdict().refuted
    assert watch.updates.sums.drawn.sum() == sum(watch.updates.sums.sizes)


@pytest.mark.parametrize("clip", [1e-7, 1e-3, 100.0])
def test_right_trainings_are_spared_whatever_their_clipping_norm(clip):
    """Opacus adds 1e-6 to norms before it clips."""
    torch.manual_seed(3)
    model, loader = GradSampleModule(network()), DPDataLoader(DATA, sample_rate=RATE)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.05),
        noise_multiplier=0.1,
        max_grad_norm=clip,
        expected_batch_size=50,
    )
    watch = audit.watch(
        optimizer, loader, claim=ta.dp_sgd(0.1, sampling_rate=RATE, steps=30), clip=clip
    )
    train(model, optimizer, loader, nn.CrossEntropyLoss(), 30)
    assert not watch.verdict().refuted, watch.verdict()


def test_a_training_that_just_began_says_so():
    model, optimizer, loader, loss = private(16)
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, confidence=0.999)
    train(model, optimizer, loader, loss, 1)
    verdict = watch.verdict()
    assert "60 steps, 1 of 60 steps watched, at 99.9 % confidence" in verdict.headline
    assert not verdict.could_refute
    assert "no verdict. 1 step is too few" in str(verdict)
    assert "no verdict, as there are too few steps" in report.page(report.of(verdict))
    watch.stop()
    watch.stop()


def test_a_gradient_that_is_no_number_is_said_to_be_that():
    model, optimizer, loader, loss = private(17)
    watch = audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, model=model)
    for at, (x, y) in zip(range(4), loader, strict=False):
        optimizer.zero_grad()
        (loss(model(x), y) * (float("nan") if at == 3 else 1.0)).backward()
        optimizer.step()
    said = str(watch.verdict())
    assert "holds NaN or infinity" in said
    assert "noise that is not a number" in said
    assert "no noise" not in said
    assert "draws anew" not in said


@pytest.mark.parametrize(
    ("bug", "first"),
    [("rate x 2", "sampling rate"), ("clip each layer", "canaries in every layer")],
)
def test_what_is_wrong_comes_before_what_follows_from_it(bug, first):
    assert watched(2, BUGS[bug]).failed[0].name == first


def test_wrong_arguments_are_refused_by_name():
    model, optimizer, loader, _ = private(12)
    with pytest.raises(
        InvalidArgument, match="model must be the module that make_private returned"
    ):
        audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, model=model._module)
    with pytest.raises(InvalidArgument, match="model must be the module whose parameters"):
        audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, model=private(13)[0])
    with pytest.raises(InvalidArgument, match="clip must be the clipping norm of the optimizer, 1"):
        audit.watch(optimizer, loader, claim=CLAIM, clip=2.0)
    with pytest.raises(InvalidArgument, match="optimizer must be what Opacus"):
        audit.watch(torch.optim.SGD(model.parameters()), loader, claim=CLAIM, clip=CLIP)
    with pytest.raises(InvalidArgument, match="model must be the module"):
        audit.watch(optimizer, loader, claim=CLAIM, clip=CLIP, model=lambda x: x)
    with pytest.raises(InvalidArgument, match="loader must draw batches"):
        audit.watch(optimizer, [1, 2], claim=CLAIM, clip=CLIP)
    step = ta.Gaussian(1.0, sensitivity=2.0, neighbours=ta.Neighbours.REPLACE)
    replaced = step.sampled(RATE).repeated(60)
    with pytest.raises(InvalidArgument, match="claim must be about a record added, removed or"):
        audit.watch(optimizer, loader, claim=replaced, clip=CLIP)
    with pytest.raises(InvalidArgument, match="claim must state the training"):
        audit.watch(optimizer, loader, claim=ta.guarantee(1.0, 1e-5), clip=CLIP)
    with pytest.raises(InvalidArgument, match=r"claim must state the rate .* 1/len\(loader\)"):
        audit.watch(optimizer, loader, claim=ta.dp_sgd(NOISE, RATE * 1.02, 60), clip=CLIP)
    with pytest.raises(InvalidArgument, match="clip must be"):
        audit.watch(optimizer, loader, claim=CLAIM, clip=-1)
