"""Laws of what data loaders do: random allocation beside Gaussian answers, samples and draws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta

ORDERS = [ta.Order.PRESENT, ta.Order.ABSENT]
sigmas = st.floats(0.4, 5)
slots = st.integers(2, 300)
deltas = st.sampled_from([1e-2, 1e-4, 1e-6, 1e-9])
RATES = np.array([1e-6, 1e-3, 0.05, 0.3, 0.8])


def _sides(mechanism, delta, order, gap=3e-3):
    bracket = mechanism.bracket(delta, gap, order)
    return bracket.upper, bracket.lower


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=15, deadline=None)
@given(sigma=sigmas, delta=deltas)
def test_one_step_is_the_gaussian(order, sigma, delta):
    epoch = ta.Gaussian(sigma).allocated(steps=1)
    assert epoch.curve(order) == ta.Gaussian(sigma).curve(order)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=15, deadline=None)
@given(sigma=sigmas, steps=slots, delta=deltas)
def test_an_epoch_leaks_no_more_than_one_gaussian_answer(order, sigma, steps, delta):
    attack, _ = _sides(ta.Gaussian(sigma).allocated(steps), delta, order)
    assert attack.epsilon(delta) <= ta.Gaussian(sigma).curve().epsilon(delta)
    assert np.all(attack.beta(RATES) >= ta.Gaussian(sigma).curve().beta(RATES) - 1e-12)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=15, deadline=None)
@given(sigma=sigmas, steps=slots, delta=deltas, more=st.integers(2, 4))
def test_more_steps_never_leak_more(order, sigma, steps, delta, more):
    """A mean over groups of steps is what an attacker sees who is told the group's mean only."""
    attack, _ = _sides(ta.Gaussian(sigma).allocated(more * steps), delta, order)
    _, promise = _sides(ta.Gaussian(sigma).allocated(steps), delta, order)
    assert attack.epsilon(delta) <= promise.epsilon(delta)
    assert np.all(attack.beta(RATES) >= promise.beta(RATES) - 1e-12)


def _exact_two(sigma, epsilon, order):
    """δ of an epoch of two steps, by a sum over a fine grid of one coordinate, exact in the other.

    E (½(Y₁ + Y₂) − c)⁺ with Y log-normal: given Y₁ a call (or, in the other order, a put) on Y₂.
    """
    from scipy.special import ndtr

    mu, c = 1 / sigma, math.exp(epsilon)
    x = np.linspace(-12, 12, 200_001) + 0.0
    weight = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    first = np.exp(mu * x - mu * mu / 2)
    strike = 2 * c - first if order is ta.Order.PRESENT else 2 / c - first
    with np.errstate(all="ignore"):
        d = -np.log(np.where(strike > 0, strike, np.nan)) / mu
        call = ndtr(d + mu / 2) - strike * ndtr(d - mu / 2)
    if order is ta.Order.PRESENT:
        return float(weight @ np.where(strike > 0, call, 1 - strike)) / 2
    put = np.where(strike > 0, call - 1 + strike, 0.0)
    return c * float(weight @ put) / 2


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=20, deadline=None)
@given(sigma=st.floats(0.4, 4), epsilon=st.floats(0.01, 3))
def test_two_steps_agree_with_quadrature(order, sigma, epsilon):
    exact = _exact_two(sigma, epsilon, order)
    attack, promise = _sides(ta.Gaussian(sigma).allocated(2), 1e-4, order)
    assert attack.delta(epsilon) <= exact * (1 + 1e-6) + 1e-14
    assert promise.delta(epsilon) >= exact * (1 - 1e-6) - 1e-14


@pytest.mark.parametrize(("sigma", "steps"), [(1.0, 10), (0.6, 50)])
def test_no_simulated_attack_beats_the_promise(sigma, steps):
    """An independent Monte Carlo, within five of its own standard errors of both sides."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((200_000, steps))
    ratio = np.exp(x / sigma - 0.5 / sigma**2).mean(axis=1)
    epoch = ta.Gaussian(sigma).allocated(steps)
    for order, epsilon in itertools.product(ORDERS, (0.1, 0.5)):
        c = math.exp(epsilon)
        terms = np.maximum(ratio - c if order is ta.Order.PRESENT else 1 - c * ratio, 0.0)
        mean, error = terms.mean(), terms.std() / math.sqrt(terms.size)
        attack, promise = _sides(epoch, 1e-3, order)
        assert attack.delta(epsilon) <= mean + 5 * error
        assert promise.delta(epsilon) >= mean - 5 * error


TRAININGS = [(1, 100, 1), (1, 100, 10), (2, 100, 50), (0.7, 1000, 1), (1, 10_000, 1), (0.5, 500, 5)]
NARROW = [(1e-3, *training) for training in TRAININGS]
NARROWER = [pytest.param(1e-4, *each, marks=pytest.mark.slow) for each in TRAININGS]


@pytest.mark.parametrize(("gap", "sigma", "steps", "epochs"), [*NARROW, *NARROWER])
def test_brackets_are_as_narrow_as_asked_of_small_epsilons_too(gap, sigma, steps, epochs):
    """Relative to max(0.1, ε), where the gap of a bracket is told relative to max(1, ε)."""
    training = ta.Gaussian(sigma).allocated(steps).repeated(epochs)
    rough = training.curve().epsilon(1e-5)
    lower, upper = training.bracket(1e-5, 0.98 * gap * max(0.1, rough) / max(1, rough))
    least, most = upper.epsilon(1e-5), lower.epsilon(1e-5)
    assert 0 < most - least <= gap * max(0.1, least)


@settings(max_examples=10, deadline=None)
@given(sigma=sigmas, steps=st.integers(2, 40), cut=st.integers(1, 39))
def test_an_epoch_that_is_cut_short_leaks_no_more_than_a_whole_one(sigma, steps, cut):
    if cut >= steps:
        cut = steps - 1
    scheme = ta.Sampling.RANDOM_ALLOCATION
    part = ta.dp_sgd(sigma, 1 / steps, cut, scheme=scheme)
    whole = ta.dp_sgd(sigma, 1 / steps, steps, scheme=scheme)
    assert part.bracket(1e-5, 3e-3).upper.epsilon(1e-5) <= whole.bracket(1e-5, 3e-3).lower.epsilon(
        1e-5
    )


def test_epochs_compose_with_anything():
    epoch = ta.Gaussian(1).allocated(steps=20)
    mixed = epoch.repeated(3).then(ta.Laplace(scale=4)).then(ta.Gaussian(2).sampled(0.1))
    bracket = mixed.bracket(1e-5, gap=2e-3)
    least, most = bracket.upper.epsilon(1e-5), bracket.lower.epsilon(1e-5)
    assert epoch.repeated(3).bracket(1e-5, 2e-3).upper.epsilon(1e-5) < least
    assert 0 <= most - least <= 2e-3 * least
    # Beside a step that is known by a promise alone nobody can say what is leaked.
    promised = epoch.then(ta.Promise(0.5, 1e-7)).bracket(1e-5, gap=2e-3)
    assert promised.upper.epsilon(1e-5) == 0 < promised.lower.epsilon(1e-5)


@pytest.mark.parametrize("cut", [3, 7])
def test_an_epoch_that_is_cut_short_is_that_of_a_simulation(cut):
    """The ratio is 1 − ρ + ρ·S, S that of the steps that are left and ρ their share."""
    x = np.random.default_rng(5).standard_normal((200_000, cut))
    ratio = 1 - cut / 10 + np.exp(x - 0.5).sum(axis=1) / 10
    training = ta.dp_sgd(1.0, 0.1, cut, scheme=ta.Sampling.RANDOM_ALLOCATION)
    for order in ORDERS:
        c = math.exp(0.2)
        terms = np.maximum(ratio - c if order is ta.Order.PRESENT else 1 - c * ratio, 0.0)
        mean, error = terms.mean(), terms.std() / math.sqrt(terms.size)
        attack, promise = _sides(training, 1e-3, order)
        assert mean - 5 * error <= promise.delta(0.2)
        assert attack.delta(0.2) <= mean + 5 * error


# -- several participations ------------------------------------------------------------------


def _several(ratios, often):
    """The mean of all products of so many different columns, row by row."""
    powers = [np.ones(len(ratios)), *(np.zeros(len(ratios)) for _ in range(often))]
    for column in ratios.T:
        for k in range(often, 0, -1):
            powers[k] = powers[k] + column * powers[k - 1]
    return powers[often] / math.comb(ratios.shape[1], often)


@pytest.mark.parametrize(("sigma", "steps", "often"), [(1.0, 8, 3), (2.0, 25, 10), (2.0, 7, 5)])
def test_simulated_participations_lie_between_attack_and_promise(sigma, steps, often):
    x = np.random.default_rng(3).standard_normal((100_000, steps))
    ratio = _several(np.exp(x / sigma - 0.5 / sigma**2), often)
    epoch = ta.Gaussian(sigma).allocated(steps, participations=often)
    for order, epsilon in itertools.product(ORDERS, (0.1, 0.7)):
        c = math.exp(epsilon)
        terms = np.maximum(ratio - c if order is ta.Order.PRESENT else 1 - c * ratio, 0.0)
        mean, error = terms.mean(), terms.std() / math.sqrt(terms.size)
        attack, promise = _sides(epoch, 1e-3, order)
        assert 0.9 * mean - 5 * error <= attack.delta(epsilon) <= mean + 5 * error
        assert mean - 5 * error <= promise.delta(epsilon)


@settings(max_examples=4, deadline=None)
@given(sigma=st.floats(0.6, 5), steps=st.integers(2, 9), delta=deltas, data=st.data())
def test_more_participations_never_leak_less(sigma, steps, delta, data):
    often = data.draw(st.integers(2, steps))
    more, fewer = (ta.Gaussian(sigma).allocated(steps, k) for k in (often, often - 1))
    assert fewer.bracket(delta, 3e-3).upper.epsilon(delta) <= more.curve().epsilon(delta)
    attack, promise = _sides(more, delta, None)
    assert attack.epsilon(delta) <= promise.epsilon(delta) * (1 + 1e-9)
    assert np.all(attack.beta(RATES) >= promise.beta(RATES) - 1e-12)
    every = ta.Gaussian(sigma).repeated(often).curve()  # told which steps have the record
    assert promise.epsilon(delta) <= every.epsilon(delta) * (1 + 4e-3) + 4e-3


def test_all_steps_and_one_step_are_no_new_mechanisms():
    noise = ta.Gaussian(3.0)
    assert noise.allocated(10, participations=1) == noise.allocated(10)
    every = noise.allocated(10, participations=10)
    assert every.curve().bound is ta.Bound.EXACT
    assert every.epsilon(1e-5) == pytest.approx(noise.repeated(10).epsilon(1e-5), rel=1e-12)
    assert repr(every) == "Gaussian(sigma=3.0).allocated(steps=10, participations=10)"
    for wrong in (0, 11, 2.5):
        with pytest.raises(ta.InvalidArgument, match="participations must be"):
            noise.allocated(10, participations=wrong)


def test_epochs_of_several_participations_compose():
    epoch = ta.Gaussian(1.0).allocated(20, participations=3)
    training = epoch.repeated(2).then(ta.Laplace(scale=4))
    lower, upper = training.bracket(1e-5, 1e-3)
    assert epoch.bracket(1e-5, 1e-3).upper.epsilon(1e-5) < upper.epsilon(1e-5)
    assert upper.epsilon(1e-5) < lower.epsilon(1e-5) <= training.epsilon(1e-5) * (1 + 2e-3)
    assert training.curve().bound is ta.Bound.LOWER


# -- shuffled batches ------------------------------------------------------------------------

ZEROED = ta.Neighbours.ZERO_OUT
RELATIONS = [ZEROED, ta.Neighbours.REPLACE]


def _shuffled(sigma, steps, neighbours=ZEROED, **parts):
    reach = 2.0 if neighbours is ta.Neighbours.REPLACE else 1.0
    return ta.Gaussian(sigma, reach, neighbours=neighbours).shuffled_batches(steps, **parts)


@pytest.mark.parametrize("order", [None, *ORDERS])
@pytest.mark.parametrize("neighbours", RELATIONS)
@settings(max_examples=10, deadline=None)
@given(
    sigma=sigmas,
    steps=st.integers(1, 300),
    delta=deltas,
    last=st.floats(0, 0.99),
    used=st.floats(0.01, 1),
)
def test_no_attack_on_shuffled_batches_beats_the_promise(
    order, neighbours, sigma, steps, delta, last, used
):
    epoch = _shuffled(sigma, steps, neighbours, last=last, used=used)
    lower, upper = epoch.bracket(delta, order=order)
    assert (lower.bound, upper.bound) == (ta.Bound.LOWER, ta.Bound.UPPER)
    assert upper.epsilon(delta) <= lower.epsilon(delta) * (1 + 1e-9) + 1e-12
    assert np.all(upper.beta(RATES) >= lower.beta(RATES) - 1e-9)
    assert epoch.curve(order).epsilon(delta) <= lower.epsilon(delta) * (1 + 1e-6) + 1e-9
    whole = ta.Gaussian(sigma, epoch.base.sensitivity).curve()
    assert lower.epsilon(delta) <= whole.epsilon(delta) * (1 + 1e-6) + 1e-9


@settings(max_examples=15, deadline=None)
@given(sigma=sigmas, delta=deltas)
def test_one_batch_an_epoch_is_the_gaussian_from_both_sides(sigma, delta):
    lower, upper = _shuffled(sigma, 1).bracket(delta)
    exact = ta.Gaussian(sigma).curve().epsilon(delta)
    assert lower.epsilon(delta) == pytest.approx(exact, rel=1e-12)
    assert upper.epsilon(delta) <= exact * (1 + 1e-12)
    assert upper.epsilon(delta) == pytest.approx(exact, rel=2e-3, abs=1e-4)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("sigma", "steps", "seen"), [(1.0, 5, 1.0), (0.7, 20, 1.0), (1.0, 5, 0.6)])
def test_the_attack_on_shuffled_batches_is_that_of_a_simulation(sigma, steps, seen, order):
    """Drawn from one world and flagged by the other's likelihood ratio: the best test there is."""
    rng = np.random.default_rng(11)
    mu, draws = 1 / sigma, 200_000
    x = rng.standard_normal((draws, steps))
    taken = rng.random(draws) < seen
    x[taken, 0] += 2 * mu if order is ta.Order.PRESENT else mu
    weights = seen / steps
    there = weights * np.exp(2 * mu * x - 2 * mu**2).sum(axis=1) + 1 - seen
    blank = weights * np.exp(mu * x - mu**2 / 2).sum(axis=1) + 1 - seen
    ratio = there / blank if order is ta.Order.PRESENT else blank / there
    epoch = _shuffled(sigma, steps, used=seen)
    for epsilon in (0.1, 0.5, 1.5):
        terms = np.maximum(1 - math.exp(epsilon) / ratio, 0.0)
        mean, error = terms.mean(), terms.std() / math.sqrt(draws)
        delta = max(float(mean), 1e-4)
        attack = epoch.bracket(delta, order=order).upper.delta(epsilon)
        assert mean - 5 * error - 2e-3 * mean - 1e-5 <= attack <= mean + 5 * error


def test_the_attack_on_a_replaced_record_is_that_on_random_allocation():
    epoch = _shuffled(1.0, 20, ta.Neighbours.REPLACE)
    attack = epoch.bracket(1e-5, order=ta.Order.PRESENT).upper
    # Others and the other value point the other way: one batch moves by twice the norm.
    pair = ta.Gaussian(0.5).allocated(20).bracket(1e-5, 1e-3, ta.Order.PRESENT)
    assert attack.epsilon(1e-5) == pytest.approx(pair.upper.epsilon(1e-5), rel=2e-3)
    assert epoch.curve().epsilon(1e-5) == ta.Gaussian(0.5).curve().epsilon(1e-5)


@settings(max_examples=10, deadline=None)
@given(sigma=st.floats(0.5, 3), steps=st.integers(2, 50), cut=st.integers(1, 49))
def test_epochs_cut_short_leak_between_none_and_a_whole_one(sigma, steps, cut):
    cut = min(cut, steps - 1)
    scheme = ta.Sampling.SHUFFLED
    whole = ta.dp_sgd(sigma, 1 / steps, 2 * steps, scheme=scheme)
    more = ta.dp_sgd(sigma, 1 / steps, 2 * steps + cut, scheme=scheme)
    three = ta.dp_sgd(sigma, 1 / steps, 3 * steps, scheme=scheme)
    epsilons = [each.bracket(1e-5).lower.epsilon(1e-5) for each in (whole, more, three)]
    assert epsilons == sorted(epsilons)
    assert more.bracket(1e-5).upper.epsilon(1e-5) <= epsilons[1]


def test_shuffled_batches_compose_with_anything():
    epoch = _shuffled(1.0, 20)
    noise = ta.Laplace(scale=4, neighbours=ZEROED)
    mixed = epoch.repeated(3).then(noise).then(ta.Gaussian(2, neighbours=ZEROED).sampled(0.1))
    lower, upper = mixed.bracket(1e-5)
    assert epoch.repeated(3).bracket(1e-5).upper.epsilon(1e-5) < upper.epsilon(1e-5)
    assert upper.epsilon(1e-5) < lower.epsilon(1e-5)
    assert lower.epsilon(1e-5) > epoch.repeated(3).curve().epsilon(1e-5)
    assert mixed.curve().bound is ta.Bound.LOWER
    promised = epoch.then(ta.Promise(0.5, 1e-7, neighbours=ZEROED)).bracket(1e-5)
    assert promised.one_sided
