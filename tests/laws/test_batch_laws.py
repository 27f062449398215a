"""Laws of batches beyond Poisson samples: the proven pairs beside what attackers can do."""

import itertools
import math

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom

import tellapart as ta
from tellapart.mechanisms.batches.poisson_replace_one import PoissonReplaceOne
from tellapart.mechanisms.batches.truncated_poisson import TruncatedPoisson
from tellapart.mechanisms.batches.with_replacement import WithReplacement

ORDERS = [ta.Order.PRESENT, ta.Order.ABSENT]
ZEROED = ta.Neighbours.ZERO_OUT
sigmas = st.floats(0.4, 4)
rates = st.floats(0.01, 0.99)
epsilons = st.floats(0.0, 3)
GRID = np.linspace(-14.0, 18.0, 6_401)


def _normal(x, shift):
    return np.exp(-((x - shift) ** 2) / 2) / math.sqrt(2 * math.pi)


def _leaked(present, absent, epsilon, width):
    """δ of two densities on a grid."""
    return float(np.maximum(present - math.exp(epsilon) * absent, 0.0).sum() * width)


# -- mixtures ----------------------------------------------------------------------------------


@st.composite
def mixtures(draw):
    sizes = st.one_of(st.floats(0.01, 3), st.sampled_from([0.0, 1.0, 2.0, 0.003]))
    moves = draw(st.lists(sizes, min_size=1, max_size=4, unique=True))
    weights = draw(st.lists(st.floats(0.05, 1), min_size=len(moves), max_size=len(moves)))
    return moves, [weight / math.fsum(weights) for weight in weights]


@settings(max_examples=40, deadline=None)
@given(mixture=mixtures(), sigma=st.floats(0.5, 3), epsilon=epsilons)
def test_a_mixture_of_gaussians_is_that_of_its_densities(mixture, sigma, epsilon):
    moves, chances = mixture
    x, width = GRID, GRID[1] - GRID[0]
    there = sum(p * _normal(x, c / sigma) for c, p in zip(moves, chances, strict=True))
    curve = ta.MixtureOfGaussians(sigma, moves, chances).curve(ta.Order.PRESENT)
    for side, pair in ((curve, (there, _normal(x, 0))), (curve.mirrored(), (_normal(x, 0), there))):
        assert side.delta(epsilon) == pytest.approx(_leaked(*pair, epsilon, width), abs=1e-5)


@settings(max_examples=15, deadline=None)
@given(sigma=st.floats(0.5, 3), rate=st.floats(0.01, 0.5), size=st.integers(1, 4))
def test_a_user_with_sampled_records_is_a_mixture(sigma, rate, size):
    """Each of a user's records is in the batch on its own: binomially many of them."""
    counts = np.arange(size + 1)
    chances = binom.pmf(counts, size, rate)
    user = ta.MixtureOfGaussians(sigma, counts, chances / chances.sum()).repeated(10)
    group = ta.Gaussian(sigma).sampled(rate).repeated(10).for_group(size)
    assert user.epsilon(1e-5) == pytest.approx(group.epsilon(1e-5), rel=1e-7)
    assert ta.MixtureOfGaussians(sigma, [0, 1], [1 - rate, rate]).epsilon(1e-5) == pytest.approx(
        ta.Gaussian(sigma).sampled(rate).epsilon(1e-5), rel=1e-9
    )


@settings(max_examples=10, deadline=None)
@given(mixture=mixtures(), sigma=st.floats(0.7, 3), times=st.integers(2, 30))
def test_mixtures_compose_within_their_brackets(mixture, sigma, times):
    training = ta.MixtureOfGaussians(sigma, *mixture).repeated(times)
    lower, upper = training.bracket(1e-5, gap=1e-3)
    assert upper.epsilon(1e-5) <= training.epsilon(1e-5) * (1 + 1e-9) + 1e-9
    assert training.epsilon(1e-5) <= lower.epsilon(1e-5) * (1 + 1e-9) + 1e-9


@settings(max_examples=25, deadline=None)
@given(
    angles=st.lists(st.floats(0, 2 * math.pi), min_size=3, max_size=3),
    sigma=st.floats(0.7, 2),
    epsilon=epsilons,
    order=st.sampled_from(ORDERS),
)
def test_moves_in_other_directions_leak_no_more(angles, sigma, epsilon, order):
    """Kahane's inequality, seen on a grid of the plane."""
    moves, chances = np.array([0.5, 1.0, 2.0]), np.array([0.3, 0.5, 0.2])
    x = np.linspace(-9, 9, 361)
    width = x[1] - x[0]
    bell = np.multiply.outer(_normal(x, 0), _normal(x, 0))
    there = sum(
        p
        * np.multiply.outer(
            _normal(x, c * math.cos(a) / sigma), _normal(x, c * math.sin(a) / sigma)
        )
        for c, p, a in zip(moves, chances, angles, strict=True)
    )
    pair = (there, bell) if order is ta.Order.PRESENT else (bell, there)
    aligned = ta.MixtureOfGaussians(sigma, moves, chances).curve(order)
    assert _leaked(*pair, epsilon, width**2) <= aligned.delta(epsilon) + 1e-4


# -- Poisson samples, a record replaced --------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(sigma=sigmas, rate=rates, epsilon=epsilons)
def test_the_pair_of_a_replaced_record_is_that_of_its_densities(sigma, rate, epsilon):
    x, width = GRID, GRID[1] - GRID[0]
    this, that = ((1 - rate) * _normal(x, 0) + rate * _normal(x, sign / sigma) for sign in (1, -1))
    curve = PoissonReplaceOne(sigma, rate).curve(ta.Order.PRESENT)
    assert curve.delta(epsilon) == pytest.approx(_leaked(this, that, epsilon, width), abs=1e-5)
    assert curve.mirrored().delta(epsilon) == curve.delta(epsilon)


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    angle=st.floats(0, math.pi),
    sigma=st.floats(0.5, 2),
    rate=rates,
    epsilon=epsilons,
)
def test_no_other_two_records_leak_more(lengths, angle, sigma, rate, epsilon):
    """Any x and x′ of norm at most 1 in the plane they span."""
    x = np.linspace(-9, 9, 361)
    width = x[1] - x[0]

    def world(length, turn):
        along = _normal(x, length * math.cos(turn) / sigma)
        across = _normal(x, length * math.sin(turn) / sigma)
        still = np.multiply.outer(_normal(x, 0), _normal(x, 0))
        return (1 - rate) * still + rate * np.multiply.outer(along, across)

    leaked = _leaked(world(lengths[0], 0.0), world(lengths[1], angle), epsilon, width**2)
    assert leaked <= PoissonReplaceOne(sigma, rate).curve().delta(epsilon) + 1e-4


@settings(max_examples=examples(40), deadline=None)
@given(sigma=sigmas, rate=rates, times=st.integers(2, 40))
def test_replacing_leaks_no_less_than_zeroing_out(sigma, rate, times):
    replaced = PoissonReplaceOne(sigma, rate).repeated(times)
    zeroed = ta.Gaussian(sigma, neighbours=ZEROED).sampled(rate).repeated(times)
    twice = ta.Gaussian(sigma, 2.0, neighbours=ta.Neighbours.REPLACE).sampled(rate).repeated(times)
    assert zeroed.epsilon(1e-5) <= replaced.epsilon(1e-5) * (1 + 1e-9)
    # The bound for any step whose record is replaced, not only for sums.
    assert replaced.epsilon(1e-5) <= twice.bracket(1e-5).lower.epsilon(1e-5) * (1 + 1e-9)
    lower, upper = replaced.bracket(1e-5, gap=1e-3)
    assert upper.epsilon(1e-5) <= replaced.epsilon(1e-5) * (1 + 1e-9)
    assert replaced.epsilon(1e-5) <= lower.epsilon(1e-5) * (1 + 1e-9)


def test_the_ends_of_a_replaced_sample():
    assert PoissonReplaceOne(1.0, 0.0).epsilon(0) == 0
    assert PoissonReplaceOne(1.0, 1.0).epsilon(1e-5) == ta.Gaussian(0.5).epsilon(1e-5)
    assert PoissonReplaceOne(0.1, 0.5).curve().delta(1.0) == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(ta.Unsupported, match="a sample already"):
        PoissonReplaceOne(1.0, 0.1).sampled(0.5)


# -- Poisson samples with a largest batch ------------------------------------------------------


def _subsets(others, drawn):
    return list(itertools.combinations(others, drawn))


def _batch_law(others, mine, rate, largest):
    """The sum of a truncated sample of numbers, with its probability; ``mine`` None for absent."""
    everyone = [*others, *([] if mine is None else [mine])]
    law = {}
    for picked in itertools.product([False, True], repeat=len(everyone)):
        chance = math.prod(rate if each else 1 - rate for each in picked)
        drawn = [value for value, each in zip(everyone, picked, strict=True) if each]
        batches = [drawn] if len(drawn) <= largest else _subsets(drawn, largest)
        for batch in batches:
            total = round(sum(batch), 12)
            law[total] = law.get(total, 0.0) + chance / len(batches)
    return law


def _attack(present, absent, sigma, epsilon):
    x = np.linspace(-12, 12, 4_801)
    width = x[1] - x[0]
    there, gone = (
        sum(p * _normal(x, c / sigma) for c, p in law.items()) for law in (present, absent)
    )
    return _leaked(there, gone, epsilon, width)


@pytest.mark.parametrize("neighbours", [ta.Neighbours.ADD_REMOVE, ZEROED])
@settings(max_examples=40, deadline=None)
@given(
    others=st.lists(st.sampled_from([-1.0, -0.5, 0.0, 1.0]), min_size=1, max_size=4),
    largest=st.integers(1, 4),
    rate=st.floats(0.05, 0.95),
    epsilon=epsilons,
    order=st.sampled_from(ORDERS),
)
def test_no_attack_on_truncated_samples_beats_the_promise(
    neighbours, others, largest, rate, epsilon, order
):
    """All samples of a few records are listed."""
    with_it = _batch_law(others, 1.0, rate, largest)
    without = _batch_law(others, 0.0 if neighbours is ZEROED else None, rate, largest)
    pair = (with_it, without) if order is ta.Order.PRESENT else (without, with_it)
    step = TruncatedPoisson(ta.Gaussian(1.0, neighbours=neighbours), rate, largest, len(others) + 1)
    assert _attack(*pair, 1.0, epsilon) <= step.curve(order).delta(epsilon) + 1e-6


@settings(max_examples=10, deadline=None)
@given(others=st.integers(1, 4), largest=st.integers(1, 4), rate=rates, epsilon=epsilons)
def test_the_attack_on_truncated_samples_is_that_of_others_who_add_nothing(
    others, largest, rate, epsilon
):
    blank = [0.0] * others
    pair = _batch_law(blank, 1.0, rate, largest), _batch_law(blank, None, rate, largest)
    for neighbours in (ta.Neighbours.ADD_REMOVE, ZEROED):
        base = ta.Gaussian(1.0, neighbours=neighbours)
        step = TruncatedPoisson(base, rate, largest, others + 1)
        lower, upper = step.bracket(1e-3, order=ta.Order.PRESENT)
        assert upper.bound is ta.Bound.UPPER
        assert upper.delta(epsilon) <= (truth := _attack(*pair, 1.0, epsilon)) + 1e-6
        assert upper.delta(epsilon) >= 0.99 * truth - 1e-5
        assert upper.delta(epsilon) <= lower.delta(epsilon) + 1e-12


@settings(max_examples=10, deadline=None)
@given(sigma=sigmas, rate=st.floats(0.05, 0.5), size=st.integers(2, 40))
def test_a_cap_that_never_cuts_is_a_poisson_sample(sigma, rate, size):
    capped = TruncatedPoisson(ta.Gaussian(sigma), rate, size, size)
    poisson = ta.Gaussian(sigma).sampled(rate)
    for delta in (1e-2, 1e-6):
        assert capped.epsilon(delta) == pytest.approx(poisson.epsilon(delta), rel=1e-9, abs=1e-12)
    lower = capped.repeated(5).bracket(1e-5).lower
    assert lower.epsilon(1e-5) >= poisson.repeated(5).epsilon(1e-5) * (1 - 1e-9)


def test_a_cap_is_refused_below_the_expected_batch_and_without_the_data_size():
    scheme = ta.Sampling.TRUNCATED_POISSON
    with pytest.raises(ta.InvalidArgument, match="at least the expected batch of 50 records"):
        ta.dp_sgd(1.0, 0.05, 200, data_size=1000, largest_batch=49, scheme=scheme)
    with pytest.raises(ta.InvalidArgument, match="sampling_rate, steps and data_size, or as"):
        ta.dp_sgd(1.0, 0.05, 200, largest_batch=60, scheme=scheme)
    with pytest.raises(ta.InvalidArgument, match=r"largest_batch must go with Sampling\.TRUNC"):
        ta.dp_sgd(1.0, 0.05, 200, largest_batch=60)
    with pytest.raises(ta.InvalidArgument, match="largest_batch must be given with"):
        ta.dp_sgd(1.0, 0.05, 200, data_size=1000, scheme=scheme)
    with pytest.raises(ta.Unsupported, match="no theorem is known for those that replace one"):
        TruncatedPoisson(ta.Gaussian(1, neighbours=ta.Neighbours.REPLACE), 0.1, 10, 20)
    with pytest.raises(ta.Unsupported, match="more than its rate"):
        ta.Gaussian(1).sampled(0.1, scheme)
    by_epochs = ta.dp_sgd(
        1.0, epochs=10, batch_size=50, data_size=1000, largest_batch=60, scheme=scheme
    )
    assert by_epochs == ta.dp_sgd(1.0, 0.05, 200, data_size=1000, largest_batch=60, scheme=scheme)


def test_a_group_is_zeroed_out_of_truncated_samples_but_does_not_leave():
    """One record less may leak more: fewer of those who are drawn are then cut."""
    larger, smaller = (TruncatedPoisson(ta.Gaussian(1.0), 0.9, 1, n).epsilon(1e-5) for n in (3, 2))
    assert larger < smaller
    with pytest.raises(ta.Unsupported, match="a group that leaves changes the size of the data"):
        TruncatedPoisson(ta.Gaussian(1.0), 0.1, 10, 20).for_group(2)
    zeroed = TruncatedPoisson(ta.Gaussian(1.0, neighbours=ZEROED), 0.1, 10, 20)
    assert zeroed.epsilon(1e-5) < zeroed.for_group(2).epsilon(1e-5)


# -- draws with replacement --------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    draws=st.integers(1, 5),
    others=st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=3),
    epsilon=epsilons,
    order=st.sampled_from(ORDERS),
)
def test_no_attack_on_draws_with_replacement_beats_the_promise(draws, others, epsilon, order):
    def law(mine):
        sums = {}
        for picked in itertools.product([*others, mine], repeat=draws):
            sums[sum(picked)] = sums.get(sum(picked), 0.0) + (len(others) + 1) ** -draws
        return sums

    pair = (law(1.0), law(0.0)) if order is ta.Order.PRESENT else (law(0.0), law(1.0))
    step = WithReplacement(ta.Gaussian(1.0, neighbours=ZEROED), draws, len(others) + 1)
    assert _attack(*pair, 1.0, epsilon) <= step.curve(order).delta(epsilon) + 1e-6


@pytest.mark.parametrize("neighbours", [ZEROED, ta.Neighbours.REPLACE])
@settings(max_examples=10, deadline=None)
@given(draws=st.integers(1, 5), size=st.integers(2, 4), epsilon=epsilons)
def test_the_attack_on_draws_with_replacement_is_that_of_others_on_the_other_side(
    neighbours, draws, size, epsilon
):
    blank = 0.0 if neighbours is ZEROED else -1.0
    copies = np.arange(draws + 1)
    weights = binom.pmf(copies, draws, 1 / size)
    laws = [
        dict(zip((copies * mine - (draws - copies)).tolist(), weights.tolist(), strict=True))
        for mine in (1.0, blank)
    ]
    if neighbours is ta.Neighbours.REPLACE:
        laws[1] = {-float(draws): 1.0}
    reach = 1.0 if neighbours is ZEROED else 2.0
    step = WithReplacement(ta.Gaussian(1.0, reach, neighbours=neighbours), draws, size)
    for order, pair in zip(ORDERS, (laws, laws[::-1]), strict=True):
        lower, upper = step.bracket(1e-3, order=order)
        assert upper.delta(epsilon) <= (truth := _attack(*pair, 1.0, epsilon)) + 1e-6
        assert upper.delta(epsilon) >= 0.99 * truth - 1e-5
        assert upper.delta(epsilon) <= lower.delta(epsilon) * (1 + 1e-9) + 1e-12


@settings(max_examples=10, deadline=None)
@given(sigma=sigmas, rate=rates, epsilon=epsilons, times=st.integers(1, 5))
def test_the_attack_on_batches_of_fixed_size_has_all_others_at_one_value(
    sigma, rate, epsilon, times
):
    """Without the record the batch is what it is with the other value: a Poisson sample's pair."""
    training = ta.dp_sgd(sigma, rate, times, scheme=ta.Sampling.WITHOUT_REPLACEMENT)
    lower, upper = training.bracket(1e-4)
    twice = ta.Gaussian(sigma, sensitivity=2.0).sampled(rate).repeated(times)
    assert upper.delta(epsilon) <= twice.curve().delta(epsilon) + 1e-9
    assert upper.epsilon(1e-4) == pytest.approx(twice.epsilon(1e-4), rel=2e-4, abs=2e-4)
    assert upper.delta(epsilon) <= lower.delta(epsilon) + 1e-12
    if times == 1:  # no step leaks more
        assert lower.epsilon(1e-4) == pytest.approx(upper.epsilon(1e-4), rel=3e-4, abs=3e-4)


def test_one_draw_is_announced_and_none_is_nothing():
    step = ta.Gaussian(1.0, neighbours=ZEROED)
    assert WithReplacement(step, 0, 10).epsilon(0) == 0
    curve = WithReplacement(step, 1, 4).curve()
    assert curve.delta(1.0) == pytest.approx(step.curve().delta(1.0) / 4)
    assert curve.delta(0.0) == pytest.approx(float(2 * ndtr(0.5) - 1) / 4)
    many = WithReplacement(step, 10**6, 10**6)
    assert many.curve().delta(50.0) < 1e-3
    with pytest.raises(ta.Unsupported, match="would change all other draws"):
        WithReplacement(ta.Gaussian(1.0), 10, 100)


# -- one step that says which it was -----------------------------------------------------------


def test_an_announced_step_has_the_mean_of_their_rates():
    half = ta.Gaussian(1.0, neighbours=ZEROED).shuffled_batches(1, used=0.5).curve()
    whole = ta.Gaussian(1.0).curve()
    for epsilon in (0.0, 0.5, 2.0):
        assert half.delta(epsilon) == pytest.approx(whole.delta(epsilon) / 2)
    alpha = np.array([0.0, 1e-6, 0.01, 0.2, 0.5, 0.9, 1.0])
    lines = np.max(
        [1 - half.delta(e) - math.exp(e) * alpha for e in np.linspace(0, 8, 800)], axis=0
    )
    assert np.all(half.beta(alpha) >= lines - 1e-9)
    assert half.beta(0.01) == pytest.approx(lines[2], abs=1e-4)


@pytest.mark.parametrize("size", [3 * 10**9, 10**11, 10**15])
def test_a_cap_costs_as_much_among_more_records_than_an_int_counts(size):
    """A thousand records a batch: the number drawn is as good as a Poisson one from 1e9 on."""
    step = ta.Gaussian(1.0, neighbours=ZEROED)
    known, many = (
        each * TruncatedPoisson(step, 1_000 / each, 1_100, each).curve().delta(0.5)
        for each in (10**9, size)
    )
    assert many == pytest.approx(known, rel=1e-4)
