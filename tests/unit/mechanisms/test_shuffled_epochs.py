"""Shuffled batches as a mechanism: schedules, neighbours, refusals and extremes."""

import pytest

import tellapart as ta
from tellapart import choose, risk
from tellapart.errors import InvalidArgument, NotCertified, Unsupported
from tellapart.mechanisms.batches.shuffled_epochs import ShuffledEpoch
from tellapart.mechanisms.subject import attacked, sampling_assumption

SCHEME = ta.Sampling.SHUFFLED
STEP = ta.Gaussian(1.0, neighbours=ta.Neighbours.ZERO_OUT)


def test_schedules_are_told_as_for_other_samples():
    training = ta.dp_sgd(1.0, 0.01, 1_000, scheme=SCHEME)
    assert training == STEP.shuffled_batches(100).repeated(10)
    assert training == ta.dp_sgd(1.0, epochs=10, batch_size=600, data_size=60_000, scheme=SCHEME)
    cut = ta.dp_sgd(1.0, 0.01, 1_050, scheme=SCHEME)
    assert cut == training.then(STEP.shuffled_batches(50, used=0.5).repeated(1))
    assert ta.dp_sgd(1.0, epochs=10.5, batch_size=600, data_size=60_000, scheme=SCHEME) == cut
    assert ta.dp_sgd(1.0, 0.01, 50, scheme=SCHEME) == cut.parts[1]


def test_the_last_batch_of_an_epoch_may_be_smaller():
    training = ta.dp_sgd(1.0, epochs=3, batch_size=256, data_size=60_000, scheme=SCHEME)
    assert training == STEP.shuffled_batches(234, last=0.375).repeated(3)
    assert training.curve().bound is ta.Bound.LOWER
    assert training.epsilon(1e-5) == ta.Gaussian(1.0).repeated(3).epsilon(1e-5)
    # So much of an epoch that its last full batch is taken, or all of it.
    most = ta.dp_sgd(1.0, epochs=0.99, batch_size=400, data_size=1_000, scheme=SCHEME)
    assert most == STEP.shuffled_batches(2, last=0.5).repeated(1)


def test_repr_can_be_typed():
    epoch = STEP.shuffled_batches(7, last=0.25, used=0.5)
    step = "Gaussian(sigma=1.0, neighbours=Neighbours.ZERO_OUT)"
    assert repr(epoch) == f"{step}.shuffled_batches(steps=7, last=0.25, used=0.5)"
    assert repr(STEP.shuffled_batches(7)) == f"{step}.shuffled_batches(steps=7)"


def test_neighbours_that_replace_a_record_move_sums_twice_as_far():
    replaced = ta.dp_sgd(1.0, 0.01, 100, scheme=SCHEME, neighbours=ta.Neighbours.REPLACE)
    assert replaced.curve().epsilon(1e-5) == ta.Gaussian(0.5).curve().epsilon(1e-5)
    assert replaced.neighbours is ta.Neighbours.REPLACE


def test_pairs_of_scheme_and_neighbours_without_a_theorem_are_refused_by_name():
    rule = r"neighbours must zero out one record or replace one record \(Neighbours.ZERO_OUT or N"
    with pytest.raises(InvalidArgument, match=rule):
        ta.dp_sgd(1.0, 0.01, 100, scheme=SCHEME, neighbours=ta.Neighbours.ADD_REMOVE)
    allocation = ta.Sampling.RANDOM_ALLOCATION
    with pytest.raises(InvalidArgument, match=r"ADD_REMOVE\) with Sampling.RANDOM_ALLOCATION"):
        ta.dp_sgd(1.0, 0.01, 100, scheme=allocation, neighbours=ta.Neighbours.REPLACE)
    with pytest.raises(Unsupported, match="would move others from batch to batch"):
        ta.Gaussian(1.0).shuffled_batches(10)
    with pytest.raises(Unsupported, match="accounted for Gaussian noise"):
        ShuffledEpoch(ta.Laplace(1), 10)


def test_an_epoch_is_a_whole_number_of_steps():
    with pytest.raises(InvalidArgument, match=r"for shuffled batches, got 0.03; by epochs, batch"):
        ta.dp_sgd(1.0, 0.03, 1_000, scheme=SCHEME)
    with pytest.raises(InvalidArgument, match="batch_size must be a whole number"):
        ta.dp_sgd(1.0, epochs=1, batch_size=2.5, data_size=10, scheme=SCHEME)


def test_samples_of_one_step_are_another_scheme():
    with pytest.raises(Unsupported, match=r"shuffled_batches\(steps="):
        STEP.sampled(0.1, SCHEME)
    with pytest.raises(Unsupported, match=r"leave \.sampled out"):
        STEP.shuffled_batches(10).sampled(0.1)


def test_noise_is_chosen_for_the_end_that_no_attack_exceeds():
    training = ta.dp_sgd_with_epsilon(2.0, 1e-5, 0.01, 1_000, scheme=SCHEME)
    assert 1.999 < training.curve().epsilon(1e-5) <= 2
    limits = [choose.at_most(2, risk.epsilon, delta=1e-5)]
    best = choose.least(
        lambda noise: ta.dp_sgd(noise, 0.01, 1_000, scheme=SCHEME), limits, certified=True
    )
    assert best.parameter == pytest.approx(training.base.base.sigma, rel=1e-6)


def test_extremes_have_curves():
    assert ta.Gaussian(1, 0, neighbours=STEP.neighbours).shuffled_batches(10).epsilon(1e-5) == 0
    assert STEP.shuffled_batches(10, used=0).curve().epsilon(0) == 0
    loud = ta.Gaussian(0.01, neighbours=STEP.neighbours).shuffled_batches(10)
    assert loud.curve().epsilon(1e-5) == ta.Gaussian(0.01).curve().epsilon(1e-5)
    with pytest.raises(NotCertified, match="no meaningful privacy"):
        loud.bracket(1e-5)
    assert attacked(loud.repeated(2), 1e-5) is None
    little = ta.Gaussian(0.06, neighbours=STEP.neighbours).shuffled_batches(1000).bracket(1e-5)
    assert little.upper.epsilon(1e-5) == pytest.approx(little.lower.epsilon(1e-5), rel=1e-3)
    many = STEP.shuffled_batches(10**6).bracket(1e-5)
    assert 0 <= many.upper.epsilon(1e-5) < 1 < many.lower.epsilon(1e-5)


def test_moments_of_whole_epochs_are_those_of_the_gaussian():
    assert ta.renyi_divergence(STEP.shuffled_batches(10), order=2) == pytest.approx(1.0)
    with pytest.raises(Unsupported, match="slack of about 1e-20"):
        ta.renyi_divergence(STEP.shuffled_batches(10, used=0.5), order=2)


def test_what_is_assumed_is_said():
    said = sampling_assumption(ta.dp_sgd(1, 0.01, 150, scheme=SCHEME))
    assert "batches cut from a random order" in said
    assert "neighbours that zero out one record" in said
    assert "no tight bound is known" in said
    assert "Poisson" not in said
