"""Random allocation as a mechanism: schedules, refusals and extremes."""

import pytest

import tellapart as ta
from tellapart.errors import InvalidArgument, NotCertified, Unsupported

SCHEME = ta.Sampling.RANDOM_ALLOCATION


def test_schedules_are_told_as_for_other_samples():
    training = ta.dp_sgd(1.0, 0.01, 1_000, scheme=SCHEME)
    assert training == ta.Gaussian(1.0).allocated(100).repeated(10)
    assert training == ta.dp_sgd(1.0, epochs=10, batch_size=600, data_size=60_000, scheme=SCHEME)
    cut = ta.dp_sgd(1.0, 0.01, 1_050, scheme=SCHEME)
    assert cut == training.then(ta.Gaussian(1.0).allocated(50).sampled(0.5).repeated(1))
    assert ta.dp_sgd(1.0, 0.01, 50, scheme=SCHEME) == cut.parts[1]
    assert repr(training) == "Gaussian(sigma=1.0).allocated(steps=100).repeated(10)"


def test_noise_for_a_budget():
    training = ta.dp_sgd_with_epsilon(2.0, 1e-5, 0.01, 1_000, scheme=SCHEME)
    assert training.curve().epsilon(1e-5) <= 2
    assert 0.92 < training.base.base.sigma < 0.93
    with pytest.raises(InvalidArgument, match=r"less than the 0.5 leaked without noise"):
        ta.dp_sgd_with_epsilon(2.0, 0.6, 0.01, 50, scheme=SCHEME)


def test_an_epoch_is_a_whole_number_of_steps():
    with pytest.raises(InvalidArgument, match="1 over a whole number of steps an epoch") as told:
        ta.dp_sgd(1.0, 0.03, 1_000, scheme=SCHEME)
    assert str(told.value).endswith("33 steps an epoch have a rate of 0.030303030303030304")
    assert ta.dp_sgd(1.0, 0.030303030303030304, 33, scheme=SCHEME).base.times == 33
    with pytest.raises(InvalidArgument, match="1 over a whole number of steps an epoch"):
        ta.dp_sgd(1.0, 0.0, 1_000, scheme=SCHEME)


@pytest.mark.parametrize("neighbours", [ta.Neighbours.REPLACE, ta.Neighbours.ZERO_OUT])
def test_other_neighbours_are_refused_by_name(neighbours):
    with pytest.raises(Unsupported, match="add or remove one record"):
        ta.Gaussian(1, neighbours=neighbours).allocated(10)


def test_a_sample_of_one_step_is_no_allocation():
    with pytest.raises(Unsupported, match=r"allocated\(steps="):
        ta.Gaussian(1).sampled(0.1, SCHEME)


def test_extremes_have_curves():
    assert ta.Gaussian(1, sensitivity=0).allocated(10).curve().epsilon(1e-5) == 0
    loud = ta.Gaussian(0.01).allocated(10)
    assert loud.curve().bound is ta.Bound.LOWER
    assert loud.curve().epsilon(1e-5) == ta.Gaussian(0.01).curve().epsilon(1e-5)
    with pytest.raises(NotCertified, match="no meaningful privacy"):
        loud.bracket(1e-5)
    quiet = ta.Gaussian(1e3).allocated(10).bracket(1e-5)
    assert quiet.upper.epsilon(1e-5) <= quiet.lower.epsilon(1e-5) < 1e-2
    many = ta.Gaussian(1).allocated(10**6).bracket(1e-5)
    assert 0 <= many.lower.epsilon(1e-5) < 5e-3


@pytest.mark.parametrize(("sigma", "steps", "often"), [(0.12, 6, 2), (0.13, 6, 2), (1e4, 50, 7)])
def test_extremes_of_several_participations_have_two_sides(sigma, steps, often):
    lower, upper = ta.Gaussian(sigma).allocated(steps, often).bracket(1e-5, 1e-2)
    assert 0 < upper.epsilon(1e-5) <= lower.epsilon(1e-5)


EPOCH = ta.Gaussian(1.0).allocated(10)


@pytest.mark.parametrize(
    "mechanism",
    [
        EPOCH,
        EPOCH.repeated(3),
        EPOCH.sampled(0.5).then(ta.Gaussian(2)),
        EPOCH.for_group(2),
        EPOCH.then(ta.Gaussian(2)).sampled(0.5),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "moments",
    [ta.central_limit, ta.renyi, ta.concentrated, lambda m: ta.renyi_divergence(m, order=2)],
)
def test_its_slack_is_told_from_revealing_all(mechanism, moments):
    with pytest.raises(Unsupported, match="computed with a slack of about 1e-20 in δ, so moments"):
        moments(mechanism)


def test_an_epoch_of_one_step_has_the_moments_of_its_noise():
    assert ta.renyi_divergence(ta.Gaussian(1.0).allocated(1), order=2) == pytest.approx(1.0)
