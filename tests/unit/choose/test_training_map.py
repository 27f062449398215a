"""A map of the noise of DP-SGD: each cell is what a search for that cell alone gives."""

import re

import numpy as np
import pytest

import tellapart as ta
from tellapart import choose, risk
from tellapart.choose import training_map
from tellapart.choose.search import noiseless

ADVANTAGE = choose.at_most(0.1, risk.advantage)
POWER = choose.at_most(0.02, risk.tpr, fpr=0.01)
BUDGET = choose.at_most(2, risk.epsilon, delta=1e-5)
# Steep risks beside one near its baseline, whose slope is a thirtieth of theirs.
NEAR = choose.at_most(0.31, risk.reconstruction, baseline=0.3)
FLAT = choose.at_most(1 - 1e-9, risk.advantage)
DATA = 60_000
GRIDS = {
    "as in the docs": ([ADVANTAGE, POWER], (64, 4096), (5, 60)),
    "ε": ([BUDGET], (100, 144), (2, 4)),
    "one near its baseline": ([NEAR, ADVANTAGE], (512, 700), (5, 6, 7)),
    "one that never binds": ([FLAT, POWER], (256, 300), (5, 6, 7)),
    "from samples alone to all the data": ([POWER], (64, 60_000), (0.001, 1)),
}


def alone(limits, batch, epochs):
    return choose.least(
        lambda noise: ta.dp_sgd(noise, epochs=epochs, batch_size=batch, data_size=DATA), limits
    )


@pytest.mark.parametrize(("limits", "batches", "epochs"), GRIDS.values(), ids=GRIDS)
def test_each_cell_is_the_least_noise_and_never_below(limits, batches, epochs):
    result = training_map(data_size=DATA, batches=batches, epochs=epochs, limits=limits)
    for i, batch in enumerate(batches):
        for j, passes in enumerate(epochs):
            cell, least = result.at(batch, passes), alone(limits, batch, passes)
            assert cell == result.noise_multipliers[i][j]
            if least.binding is None:
                assert cell == 0
                assert all(x.excess(noiseless(least.subject)) <= 0 for x in limits)
                continue
            assert least.parameter <= cell <= least.parameter * (1 + 1e-3)
            curve = ta.dp_sgd(cell, epochs=passes, batch_size=batch, data_size=DATA).curve()
            assert all(limit.excess(curve) <= 0 for limit in limits)
            assert result.binding[i][j] is least.binding


@pytest.mark.slow
@pytest.mark.parametrize("limits", [[ADVANTAGE, POWER], [BUDGET], [NEAR, ADVANTAGE]], ids=str)
def test_cells_of_a_large_map(limits):
    batches = np.unique(np.round(np.geomspace(32, 8192, 20)))
    epochs = np.geomspace(1, 100, 20).round(2)
    result = training_map(data_size=DATA, batches=batches, epochs=epochs, limits=limits)
    for place in np.random.default_rng(0).choice(400, 40, replace=False):
        i, j = divmod(int(place), 20)
        least = alone(limits, float(batches[i]), float(epochs[j]))
        assert least.parameter <= result.noise_multipliers[i][j] <= least.parameter * (1 + 1e-3)


def test_noise_grows_with_epochs_and_shrinks_on_the_mean_gradient_with_batches():
    result = training_map(
        data_size=DATA, batches=[64, 256, 1024], epochs=[5, 15, 60], limits=[ADVANTAGE]
    )
    assert (np.diff(result.noise_multipliers, axis=1) > 0).all()
    assert (np.diff(result.noise_multipliers, axis=0) > 0).all()
    assert (np.diff(result.gradient_noise, axis=0) < 0).all()
    clipped = training_map(
        data_size=DATA, batches=[64], epochs=[5], limits=[ADVANTAGE], clipping_norm=3
    )
    noise = clipped.noise_multipliers[0][0]
    assert clipped.gradient_noise[0][0] == pytest.approx(3 * noise / 64)
    assert "clipping norm 3" in str(clipped)


def test_certified_cells_keep_their_limits_by_brackets():
    plain, sure = (
        training_map(
            data_size=DATA, batches=[256], epochs=[5, 15], limits=[ADVANTAGE], certified=certified
        )
        for certified in (False, True)
    )
    for batch in plain.batches:
        for epochs in plain.epochs:
            least = alone([ADVANTAGE], batch, epochs).parameter
            assert plain.at(batch, epochs) <= sure.at(batch, epochs) <= least * (1 + 1e-3)


def test_other_sampling_schemes():
    balls = training_map(
        data_size=1_000,
        batches=[100, 200],
        epochs=[1, 2],
        limits=[choose.at_most(0.3, risk.advantage)],
        scheme=ta.Sampling.RANDOM_ALLOCATION,
    )
    assert balls.at(100, 2) > balls.at(100, 1) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batches": []}, "batches must"),
        ({"batches": [0, 5]}, "batches must be greater than 0, got 0.0"),
        ({"batches": [70_000]}, "batches must be at most data_size (60000), got 70000.0"),
        ({"epochs": [-1]}, "epochs must be greater than 0, got -1.0"),
        ({"limits": []}, "limits must be a list of choose.at_most(...)"),
        ({"clipping_norm": 0}, "clipping_norm must be finite and greater than 0, got 0"),
    ],
)
def test_bad_input_is_refused(options, message):
    usual = {"data_size": DATA, "batches": [64], "epochs": [5], "limits": [ADVANTAGE]}
    with pytest.raises(ta.InvalidArgument, match="^" + re.escape(message)):
        training_map(**(usual | options))


def test_a_cell_that_is_not_there_and_a_limit_below_its_baseline():
    result = training_map(data_size=DATA, batches=[256], epochs=[5], limits=[ADVANTAGE])
    with pytest.raises(ta.InvalidArgument, match=r"^epochs must be one of 5, got 6$"):
        result.at(256, 6)
    with pytest.raises(choose.Infeasible):
        training_map(
            data_size=DATA,
            batches=[256],
            epochs=[5],
            limits=[choose.at_most(0.009, risk.tpr, fpr=0.01)],
        )
