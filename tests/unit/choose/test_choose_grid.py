"""Ordinary questions to `choose`: each has an answer, tight, on the safe side, in seconds."""

import math
import time

import pytest

import tellapart as ta
from tellapart import choose, risk
from tellapart.choose import named_limits
from tellapart.choose.search import noiseless
from tellapart.mechanisms.catalogue import named_family

ADVANTAGE = choose.at_most(0.05, risk.advantage)
POWER = choose.at_most(0.1, risk.tpr, fpr=0.01)
BUDGET = choose.at_most(1, risk.epsilon, delta=1e-4)
RATES = (1e-4, 1e-3, 0.01, 0.05)
STEPS = (25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 20_000)
GRID = [(rate, steps, limit) for rate in RATES for steps in STEPS for limit in (ADVANTAGE, POWER)]
# Where no noise is needed, where little is, and where a contour answers at once.
THINNED = [
    (1e-4, 25, POWER),
    (1e-4, 5_000, ADVANTAGE),
    (1e-3, 500, ADVANTAGE),
    (0.01, 50, ADVANTAGE),
    (0.05, 250, POWER),
    (0.05, 20_000, ADVANTAGE),
]
NOISES = (ta.Gaussian, ta.Laplace, ta.DiscreteLaplace)
# At most 10 on a quiet core; threads that share one count up to half as much again.
SECONDS = 15


def check(family, limit):
    """What is asked of an answer; breaking the limit 1e-3 further on shows it to be tight."""
    start = time.process_time()
    found = choose.least(family, [limit])
    assert time.process_time() - start < SECONDS
    if found.binding is None:
        assert limit.excess(noiseless(found.subject)) <= 0
        return
    assert limit.excess(found.curve) <= 0
    less = family(found.parameter * (1 - 1e-3))
    curve = less.curve()
    if curve.bound is ta.Bound.EXACT:
        assert limit.excess(curve) > 0
    else:  # a curve from below proves no leak: the attacks of a bracket do
        shares = (1e-4,) if limit is BUDGET else (0.045, 0.01)
        assert any(limit.excess(less.bracket(delta, 2e-5).upper) > 0 for delta in shares)


@pytest.mark.parametrize(("rate", "steps", "limit"), THINNED)
def test_dp_sgd_has_its_least_noise(rate, steps, limit):
    check(lambda noise: ta.dp_sgd(noise, rate, steps), limit)


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "steps", "limit"), [case for case in GRID if case not in THINNED])
def test_dp_sgd_has_its_least_noise_on_the_whole_grid(rate, steps, limit):
    check(lambda noise: ta.dp_sgd(noise, rate, steps), limit)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("times", "limit"), [(20, BUDGET), (500, POWER)])
def test_noise_many_times_over_has_its_least_scale(noise, times, limit):
    check(lambda scale: noise(scale).repeated(times), limit)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("times", [2, 3, 20, 100, 500, 3_000])
@pytest.mark.parametrize("limit", [BUDGET, ADVANTAGE, POWER])
def test_noise_many_times_over_has_its_least_scale_for_every_limit(noise, times, limit):
    check(lambda scale: noise(scale).repeated(times), limit)


def test_twenty_laplace_answers():
    found = choose.least(lambda b: ta.Laplace(b).repeated(20), [BUDGET])
    assert found.parameter == pytest.approx(13.547, rel=1e-3)


def test_what_samples_alone_hide_bounds_every_noise():
    """The noiseless curve lies below that of any noise, and is met where noise vanishes."""
    for rate, steps in ((0.01, 5), (0.3, 2), (1e-4, 1_000)):
        bare = noiseless(ta.dp_sgd(1.0, rate, steps))
        seen = -math.expm1(steps * math.log1p(-rate))
        assert bare.delta(0.0) == pytest.approx(seen, rel=1e-12)
        assert ta.dominates(bare, ta.dp_sgd(0.5, rate, steps).curve())
    assert noiseless(ta.Gaussian(1.0)) is None
    assert noiseless(ta.dp_sgd(1.0, 0.01, 9).then(ta.Gaussian(1.0))) is None


def test_a_member_without_a_curve_counts_as_too_little_noise():
    class Unknown(ta.Gaussian):
        def _present_test(self):
            raise ta.NotCertified("nobody knows")

    def family(sigma):
        return ta.Gaussian(sigma) if sigma > 2 else Unknown(sigma)

    found = choose.least(family, [ADVANTAGE])
    assert found.parameter == choose.least(ta.Gaussian, [ADVANTAGE]).parameter
    with pytest.raises(ta.NotCertified, match=r"^the parameter 2\.\d+ keeps the limits, but no "):
        choose.least(family, [choose.at_most(0.9, risk.advantage)])
    with pytest.raises(ta.NotCertified, match=r"^nobody knows$"):
        choose.least(Unknown, [ADVANTAGE])


def test_steps_far_beyond_the_answer_are_never_taken():
    tried = []

    def family(steps):
        tried.append(steps)
        return ta.dp_sgd(1.0, 0.01, int(steps))

    found = choose.largest(family, [ADVANTAGE], whole=True)
    assert max(tried) <= 4 * found.parameter


def test_the_size_of_the_data_is_not_solved_for():
    family = named_family("dpsgd:noise_multiplier=1,epochs=10,batch_size=60", "data_size")
    message = (
        "^cannot solve for data_size: ε also depends on the sampling rate it sets; fix data_size$"
    )
    start = time.process_time()
    with pytest.raises(ta.Unsupported, match=message):
        named_limits.chosen(family, [ADVANTAGE])
    assert time.process_time() - start < 0.1


@pytest.mark.parametrize("scheme", ["random-allocation", "shuffled"])
def test_rates_of_whole_epochs_are_not_solved_for(scheme):
    family = named_family("dpsgd:noise_multiplier=1,steps=100", "sampling_rate", scheme=scheme)
    message = f"^cannot solve for sampling_rate: with scheme {scheme} an epoch is a whole number"
    with pytest.raises(ta.Unsupported, match=message):
        named_limits.chosen(family, [BUDGET])


@pytest.mark.parametrize(
    "tree",
    [
        ta.Laplace(9.0).repeated(20).then(ta.Promise(0.1, 1e-6)),
        ta.Laplace(9.0).repeated(20).sampled(0.5),
        ta.Laplace(9.0, neighbours=ta.Neighbours.REPLACE).repeated(20).sampled(0.5),
        ta.dp_sgd(1.0, 0.01, 100).then(ta.UniformNoise(1e4)),
    ],
)
def test_curves_around_others_are_no_more_accurate_than_those(tree):
    """Else a search would look for digits that are not there, and call what it sees wavering."""
    assert tree.curve()._accuracy >= 1e-10
