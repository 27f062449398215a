"""Trees of mechanisms: what they refuse, word for word, and what they are as data."""

import math
import re
import signal
from contextlib import contextmanager

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.composition.compose import composed, privacy_loss_of
from tellapart.curve.composition.contour import ComposedCurve
from tellapart.curve.composition.loss_laws import LaplaceLoss
from tellapart.mechanisms.combine import Sampled

STEP = ta.Gaussian(1)
OTHERS = ta.Gaussian(1, neighbours=ta.Neighbours.REPLACE)


def _refused(message, make):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}$"):
        make()


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (-0.1, "rate must lie in [0, 1], got -0.1"),
        (1.0000001, "rate must lie in [0, 1], got 1.0000001"),
        (np.inf, "rate must lie in [0, 1], got inf"),
        (np.nan, "rate must not be NaN, got nan"),
        ("half", "rate must be a number, got 'half'"),
        (True, "rate must be a number, got True"),
        (None, "rate must be a number, got None"),
    ],
)
def test_a_rate_is_a_probability(rate, message):
    _refused(message, lambda: STEP.sampled(rate))


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (0, "times must be at least 1, got 0"),
        (-3, "times must be at least 1, got -3"),
        (2.5, "times must be a whole number, got 2.5"),
        (np.inf, "times must be a whole number, got inf"),
        (np.nan, "times must be a whole number, got nan"),
        ("10", "times must be a whole number, got '10'"),
        (True, "times must be a whole number, got True"),
        (10**16, "times must be at most 1e15, got 10000000000000000"),
    ],
)
def test_steps_are_counted(times, message):
    _refused(message, lambda: STEP.repeated(times))


def test_counts_may_be_whole_doubles():
    for times in (3.0, np.int64(3), np.array(3)):
        assert STEP.repeated(times) == STEP.repeated(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: STEP.then(0.5), "other must be a mechanism, got 0.5"),
        (lambda: ta.compose([STEP, "Gaussian"]), "parts must be a mechanism, got 'Gaussian'"),
        (lambda: ta.compose([STEP, None]), "parts must be a mechanism, got None"),
        (lambda: ta.compose([]), "parts must be a list of at least one mechanism, got ()"),
        (lambda: ta.compose(STEP, 3), "parts must be a mechanism, got 3"),
        (
            lambda: ta.compose([STEP], STEP),
            "mechanisms must be a list of mechanisms: compose([a, b]), got [Gaussian(sigma=1.0)]",
        ),
        (lambda: ta.compose(3), "mechanisms must be a list of mechanisms: compose([a, b]), got 3"),
    ],
)
def test_parts_are_mechanisms(make, message):
    _refused(message, make)


def test_parts_are_listed_or_given_one_after_the_other():
    other = ta.Laplace(2)
    assert ta.compose(STEP, other) == ta.compose([STEP, other]) == STEP.then(other)
    assert ta.compose(STEP) == ta.compose([STEP])


def test_a_curve_is_no_mechanism():
    with pytest.raises(ta.InvalidArgument, match=r"^other must be a mechanism, got "):
        STEP.then(STEP.curve())


@pytest.mark.parametrize(
    "make",
    [
        lambda: STEP.then(OTHERS),
        lambda: OTHERS.then(STEP),
        lambda: ta.compose([STEP, ta.RandomizedResponse(1)]),
        lambda: STEP.repeated(3).then(OTHERS.repeated(2)),
        lambda: STEP.sampled(0.5).then(OTHERS),
    ],
)
def test_neighbours_do_not_mix(make):
    _refused(
        "parts must all have the same neighbours (which two data sets are hard to tell apart), got "
        "'add or remove one record (unbounded) and replace one record (bounded)'",
        make,
    )


@pytest.mark.parametrize(
    "base",
    [
        ta.RandomizedResponse(1),
        ta.RandomizedResponse(1).repeated(2),
        OTHERS.then(ta.RandomizedResponse(1)),
    ],
)
def test_who_answers_in_person_is_not_hidden_by_a_sample(base):
    message = (
        "a sample hides who was asked only among many: RandomizedResponse is run by each "
        "person, who answers or visibly does not"
    )
    with pytest.raises(ta.Unsupported, match=f"^{re.escape(message)}$"):
        base.sampled(0.5)


def test_a_batch_of_fixed_size_is_for_records_that_are_replaced():
    with pytest.raises(ta.Unsupported, match=r"^a batch of fixed size has neighbours that replace"):
        STEP.sampled(0.5, ta.Sampling.WITHOUT_REPLACEMENT)
    _refused(
        "scheme must be Sampling.POISSON or Sampling.WITHOUT_REPLACEMENT or "
        "Sampling.RANDOM_ALLOCATION or Sampling.SHUFFLED or Sampling.TRUNCATED_POISSON, "
        "got 'poisson'",
        lambda: STEP.sampled(0.5, scheme="poisson"),
    )


def test_neighbours_are_those_of_the_parts():
    assert STEP.sampled(0.1).repeated(2).neighbours is ta.Neighbours.ADD_REMOVE
    assert OTHERS.repeated(2).then(OTHERS).neighbours is ta.Neighbours.REPLACE


def test_a_tree_is_a_value_that_shows_how_it_was_built():
    tree = STEP.sampled(0.5).repeated(3).then(ta.Laplace(2))
    assert tree == ta.Gaussian(1).sampled(0.5).repeated(3).then(ta.Laplace(2))
    assert hash(tree) == hash(ta.Gaussian(1).sampled(0.5).repeated(3).then(ta.Laplace(2)))
    assert tree != STEP.sampled(0.5).repeated(4).then(ta.Laplace(2))
    assert repr(tree) == "Gaussian(sigma=1.0).sampled(0.5).repeated(3).then(Laplace(scale=2.0))"


def test_no_noise_is_refused_and_no_leak_adds_nothing():
    _refused("sigma must be greater than 0, got 0", lambda: ta.Gaussian(0).sampled(0.5))
    silent = ta.RandomizedResponse(0.0).repeated(10).curve()
    assert silent.delta(0.0) == 0


def test_a_step_nobody_is_in_adds_nothing():
    plain, more = STEP.curve(), STEP.then(STEP.sampled(0.0).repeated(10**6)).curve()
    assert more.delta(1.0) == pytest.approx(plain.delta(1.0), rel=1e-14)


@contextmanager
def _at_most(seconds):
    """Interrupt what computes for longer, however busy the machine is."""

    def stop(_signal, _frame):
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize(
    ("sigma", "steps"),
    [
        *((sigma, steps) for sigma in (1e-3, 1e-2) for steps in (10, 10**6, 10**12)),
        *((0.1, steps) for steps in (10, 10**6)),
    ],
)
def test_where_doubles_overflow_there_is_an_answer(sigma, steps):
    curve = ta.Gaussian(sigma).sampled(0.5).repeated(steps).curve()
    with _at_most(5):
        found = [curve.delta(0.0), curve.delta(1.0), curve.epsilon(1e-6), curve.beta(1e-6)]
    assert not np.isnan(found).any()
    assert 0 <= found[1] <= found[0] <= 1
    assert found[2] >= 0
    assert 0 <= found[3] <= 1


@pytest.mark.parametrize(
    "tree",
    [
        ta.RandomizedResponse(0.001).repeated(10**6),  # more outcomes than can be listed
        ta.compose([ta.Laplace.with_epsilon(1e-4).repeated(1_000)]),
    ],
)
def test_atoms_that_come_back_are_not_smoothed_over(tree):
    """A lattice of losses looks smooth until its moments come back: from below, not guessed."""
    (part, count), *_ = ((privacy_loss_of(step._present_test())[0], n) for step, n in tree.steps())
    assert not ComposedCurve(((part.law, count),)).has_digits
    _encloses(tree.curve(), tree)


def _encloses(curve, tree):
    assert curve.bound is ta.Bound.LOWER
    for delta in (1e-2, 3e-4, 1e-5, 1e-8):
        lower, upper = tree.bracket(delta)
        assert upper.epsilon(delta) <= curve.epsilon(delta) <= lower.epsilon(delta) + 2e-4
        at = np.array([0.0, 0.5, 1.0]) * lower.epsilon(delta)
        assert np.all(curve.delta(at) >= upper.delta(at) * (1 - 1e-12))
    fprs = np.array([1e-6, 1e-3, 0.1, 0.5, 0.9])
    assert np.all(curve.beta(fprs) <= tree.bracket(1e-3).upper.beta(fprs))


@pytest.mark.parametrize(
    "tree",
    [
        ta.Laplace.with_epsilon(0.05).repeated(400),
        ta.Laplace.with_epsilon(1).sampled(0.05).repeated(26),
        pytest.param(ta.dp_sgd(0.7, 1e-2, 3).then(ta.Laplace(3.0)), marks=pytest.mark.slow),
        ta.Laplace(3.0).repeated(20).then(ta.Promise(0.1, 1e-9)),
    ],
)
def test_compositions_that_jump_have_a_curve_from_below(tree):
    for order in (None, *ta.Order):
        for delta in (1e-2, 1e-4, 1e-6):
            assert_from_below(tree, order, delta)


def assert_from_below(tree, order, delta):
    curve = tree.curve(order)
    assert curve.bound is ta.Bound.LOWER
    lower, upper = tree.bracket(delta, order=order)
    assert upper.epsilon(delta) <= curve.epsilon(delta) * (1 + 1e-12)
    assert curve.epsilon(delta) <= lower.epsilon(delta) + 2e-4


def test_steps_with_and_without_jumps_have_a_curve_from_below():
    """As above, for one order and δ alone: the others take half a minute."""
    assert_from_below(ta.dp_sgd(0.7, 1e-2, 3).then(ta.Laplace(3.0)), ta.Order.PRESENT, 1e-4)


@pytest.mark.parametrize(
    "tree",
    [
        ta.compose([ta.Laplace(1.0), ta.Laplace(1.0), ta.Laplace(4.5)]),
        ta.Laplace(2.0).then(ta.DiscreteLaplace(1 / 0.22261410521426053)),
    ],
)
def test_a_law_that_ends_before_the_lines_do_comes_from_below(tree):
    """Near the largest loss no line lies beyond the pole at 1: nothing to start from."""
    assert not composed(
        (privacy_loss_of(x._present_test())[0].law, n) for x, n in tree.steps()
    ).has_digits
    assert tree.curve().bound is ta.Bound.LOWER
    lower, upper = tree.bracket(delta=1e-2)
    assert 0 < upper.epsilon(1e-2) <= tree.curve().epsilon(1e-2) < lower.epsilon(1e-2) + 1e-4


@pytest.mark.parametrize("shift", [0.01, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("c", [-3.0, 0.2, 0.5, 1.0, 6.0])
def test_the_bound_on_laplace_moments_holds_all_the_way(shift, c):
    law = LaplaceLoss(shift)
    y = np.geomspace(1e-2, 1e5, 4001)
    sizes = law.along(c, y).real - law.cumulants(np.array([c])).value
    ahead = np.maximum.accumulate(sizes[::-1])[::-1]
    assert (ahead <= law.decay(c, y) + 1e-12).all()


@pytest.mark.parametrize("sigma", [1e200, 1e-150, 3.0])
def test_gaussian_steps_add_up_however_quiet_or_loud(sigma):
    both = ta.compose([ta.Gaussian(sigma)] * 4).curve()
    assert both.mu == pytest.approx(2 / sigma, rel=1e-15)


@pytest.mark.parametrize(
    "mechanism",
    [
        ta.dp_sgd(1, 0.01, 1_000).then(ta.Laplace.with_epsilon(0.5)),
        ta.compose([ta.Gaussian(2).sampled(0.2).repeated(5), ta.Laplace(1).sampled(0.3)]),
        ta.compose([ta.Laplace(2).sampled(0.1).repeated(20), ta.Gaussian(3)]),
    ],
)
def test_unlike_steps_have_a_curve_that_is_the_conjugate_of_its_profile(mechanism):
    """Of steps that leak more in one order here and in the other there, at every rate."""
    curve = mechanism.curve()
    alpha = np.concatenate([np.geomspace(1e-4, 0.2, 12), np.linspace(0.22, 0.98, 39)])
    beta = curve.beta(alpha)
    epsilon = np.linspace(0, 12, 1_201)
    delta = curve.delta(epsilon)
    lines = np.maximum(
        1 - delta[:, None] - np.exp(epsilon)[:, None] * alpha,
        np.exp(-epsilon)[:, None] * (1 - delta[:, None] - alpha),
    )
    supported = np.maximum(lines.max(axis=0), 0)
    assert np.all(beta >= supported - 1e-9)
    assert np.max(beta - supported) < 2e-5  # lines are 0.01 apart
    assert np.all(np.diff(beta) < 0)


MATRIX = ta.matrix_mechanism(np.tri(4), sigma=2.0, participations=[[0, 2], [1, 3]])
SHUFFLED = ta.RandomizedResponse(1.0).shuffled(100)


@pytest.mark.parametrize(
    "take",
    [
        lambda: MATRIX.sampled(0.1),
        lambda: Sampled(MATRIX, 0.1),
        lambda: MATRIX.repeated(2).sampled(0.1),
        lambda: ta.Gaussian(1.0).then(MATRIX).sampled(0.1),
        lambda: MATRIX.for_group(2).sampled(0.1),
    ],
)
def test_a_training_with_correlated_noise_is_not_sampled(take):
    """One sample for all rounds would be no bound on a sample for each."""
    message = (
        r"^matrix_mechanism is a whole training with correlated noise, .*: leave \.sampled out, "
        r"write ta\.cyclic_poisson\(strategy, \.\.\.\) for a banded strategy on samples, "
        r"or use ta\.dp_sgd for independent noise on samples$"
    )
    with pytest.raises(ta.Unsupported, match=message):
        take()


def test_a_training_with_correlated_noise_is_one_gaussian_answer_in_all_else():
    alone = ta.Gaussian(MATRIX.sigma, MATRIX.sensitivity)
    assert MATRIX.curve() == alone.curve()
    assert MATRIX.repeated(4).curve() == alone.repeated(4).curve()
    assert MATRIX.for_group(3).curve() == alone.for_group(3).curve()
    assert MATRIX.bracket(1e-5).lower.epsilon(1e-5) >= alone.curve().epsilon(1e-5)


def test_shuffled_answers_are_sampled_in_batches_of_fixed_size_only():
    """Fewer users than were counted on hide each other less."""
    with pytest.raises(ta.Unsupported, match="no fixed number of users to hide among"):
        SHUFFLED.sampled(0.1)
    batch = SHUFFLED.sampled(0.1, ta.Sampling.WITHOUT_REPLACEMENT)
    assert batch.curve().delta(0.0) <= SHUFFLED.curve().delta(0.0)


def test_one_sample_serves_all_repetitions():
    """With the sample's chance of holding the record, all repetitions see it: a mixture of both."""
    once = ta.Gaussian(1.0).repeated(4).sampled(0.1).curve(ta.Order.PRESENT)
    whole = ta.Gaussian(0.5).curve(ta.Order.PRESENT)
    for epsilon in (0.0, 0.1, 1.0):
        # δ of a Poisson sample: rate·δ(ε'), with e^ε' = 1 + (e^ε − 1)/rate.
        inner = math.log1p(math.expm1(epsilon) / 0.1)
        assert once.delta(epsilon) == pytest.approx(0.1 * whole.delta(inner), rel=1e-9)
    assert once.delta(0.0) < ta.Gaussian(1.0).sampled(0.1).repeated(4).curve().delta(0.0)
