"""What a test between two secrets says of itself, and averages over its outputs."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import laplace, norm

import tellapart as ta
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.worlds import (
    Channel,
    GaussianRecords,
    ImpossibleSecret,
    Independent,
    JointTable,
    MarkovChain,
    Predicate,
    RecordIn,
    RecordValue,
    Sum,
    tell_apart,
)
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw
from tellapart.worlds.pairs import integrals
from tellapart.worlds.pairs.integrals import mutual_information, renyi
from tellapart.worlds.secret_test import one_vs_rest

ONE, ZERO = RecordValue(0, 1), RecordValue(0, 0)
BIT = JointTable([[0, 1]], [0.25, 0.75])
ORDERS = (0.4, 1, 2, 8)
NOISE = {
    "laplace": (ta.Laplace(0.8), lambda x: laplace.logpdf(x, scale=0.8)),
    "gaussian": (ta.Gaussian(0.8), lambda x: norm.logpdf(x, scale=0.8)),
}


def _laws(seed, count=2):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=5)) * 2
    logs = np.log(rng.dirichlet(np.ones(5), count))
    return [FiniteLaw(values, row) for row in logs]


def _log_density(law, noise, x):
    return logsumexp(law.log_weights + noise(x - law.values))


def _over_outputs(laws, function):
    """An integral over outputs, atom by atom, of a function that knows no panels."""
    atoms = laws[0].values
    edges = np.concatenate([[atoms[0] - 25], atoms, [atoms[-1] + 25]])
    pieces = zip(edges[:-1], edges[1:], strict=True)  # noqa: RUF007 - arrays
    return sum(quad(function, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for a, b in pieces)


@pytest.mark.parametrize("kind", NOISE)
def test_renyi_divergences_are_plain_integrals(kind):
    release, noise = NOISE[kind]
    one, other = _laws(1)
    for order in ORDERS:

        def term(x, order=order):
            p, q = (_log_density(law, noise, x) for law in (one, other))
            return math.exp(p) * (p - q) if order == 1 else math.exp(order * p + (1 - order) * q)

        whole = _over_outputs([one], term)
        expected = whole if order == 1 else math.log(whole) / (order - 1)
        assert renyi(one, other, release, order) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", NOISE)
def test_mutual_information_of_three_laws_is_a_plain_integral(kind):
    release, noise = NOISE[kind]
    laws, priors = _laws(2, 3), np.array([0.2, 0.5, 0.3])

    def term(x):
        logs = np.array([_log_density(law, noise, x) for law in laws])
        return float(priors * np.exp(logs) @ (logs - logsumexp(logs, b=priors)))

    found = mutual_information(laws, priors, release)
    assert found == pytest.approx(_over_outputs(laws, term), rel=1e-9)
    # A law that cannot be true tells nothing.
    more = mutual_information([*laws, laws[0]], [*priors, 0.0], release)
    assert more == pytest.approx(found, rel=1e-13)


def test_divergences_with_formulas():
    one, zero = FiniteLaw.of({1.5: 1}), FiniteLaw.of({0: 1})
    for a in (0.3, 2, 10, 64):
        assert renyi(one, zero, ta.Gaussian(2), a) == pytest.approx(a * 0.75**2 / 2, rel=1e-12)
        terms = a * math.exp((a - 1) * 1.5) + (a - 1) * math.exp(-a * 1.5)
        expected = math.log(terms / (2 * a - 1)) / (a - 1) if a != 0.5 else 0
        assert renyi(one, zero, ta.Laplace(1), a) == pytest.approx(expected, rel=1e-12)
    assert renyi(one, zero, ta.Laplace(1), math.inf) == 1.5
    for a in (1 - 1e-9, 1 + 1e-7, 1 + 1e-5):
        assert renyi(one, zero, ta.Gaussian(2), a) == pytest.approx(a * 0.75**2 / 2, rel=1e-10)
    normal = NormalLaw(1.5, 3), NormalLaw(0, 3)
    assert renyi(*normal, ta.Gaussian(1), 2) == pytest.approx(1.5**2 / 4, rel=1e-12)


@pytest.mark.parametrize("deviation", [0.05, 1.0, 6.0])
def test_divergences_of_normal_answers_with_laplace_noise(deviation):
    """Beside a fine sum over a law of many atoms, and below what no spread would give."""
    laws = [NormalLaw(mean, deviation**2) for mean in (1.5, 0.0)]
    places = np.linspace(-9, 9, 2001) * deviation
    logs = norm.logpdf(places / deviation)
    logs -= logsumexp(logs)
    spread = [FiniteLaw(places + mean, logs) for mean in (1.5, 0.0)]
    bare = [FiniteLaw.of({1.5: 1}), FiniteLaw.of({0: 1})]
    for order in (0.5, 1, 2, 5):
        found = renyi(*laws, ta.Laplace(1), order)
        assert found == pytest.approx(renyi(*spread, ta.Laplace(1), order), rel=1e-6)
        assert found < renyi(*bare, ta.Laplace(1), order)


def test_atoms_that_are_left_out_do_not_count(monkeypatch):
    """Weights that span e^−500 over 300 atoms, beside sums over all of them."""
    rng = np.random.default_rng(0)
    for spacing in (0.05, 1.0):
        values = np.cumsum(rng.exponential(size=300)) * spacing
        logs = np.cumsum(rng.normal(size=(2, 300)), axis=1) * 8
        laws = [FiniteLaw(values, row - logsumexp(row)) for row in logs]
        few = integrals.log_masses(laws, ta.Gaussian(1), 2.0)
        with monkeypatch.context() as patch:
            patch.setattr(integrals, "_CHUNK", 300)
            every = integrals.log_masses(laws, ta.Gaussian(1), 2.0)
        np.testing.assert_allclose(few, every, rtol=1e-13, atol=1e-11)


def test_tiny_divergences_keep_their_digits():
    even = FiniteLaw.of({0: 0.5, 1: 0.5})
    found = []
    for change in (2.0**-10, 2.0**-20, 2.0**-26):
        tilted = FiniteLaw.of({0: 0.5 + change, 1: 0.5 - change})
        scaled = [renyi(tilted, even, ta.Laplace(1), order) / change**2 for order in (1, 2)]
        told = mutual_information([tilted, even], [0.5, 0.5], ta.Laplace(1)) / change**2
        found.append([*scaled, told])
    np.testing.assert_allclose(found[1:], [found[1]] * 2, rtol=1e-6)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-2)


def test_averages_through_a_channel_are_sums():
    tell = Channel({0: [0.7, 0.2, 0.1], 1: [0.1, 0.3, 0.6]})
    test = tell_apart(BIT, Sum(), tell, ONE, ZERO)
    p, q = np.array(tell.rows[1]), np.array(tell.rows[0])
    assert test.renyi(1) == pytest.approx(p @ np.log(p / q), rel=1e-13)
    assert test.renyi(3) == pytest.approx(math.log(p**3 @ q**-2.0) / 2, rel=1e-13)
    mean = 0.75 * p + 0.25 * q
    told = 0.75 * p @ np.log(p / mean) + 0.25 * q @ np.log(q / mean)
    assert test.mutual_information() == pytest.approx(told, rel=1e-13)


def test_outputs_that_one_world_alone_has():
    sure = Channel({0: [0.5, 0.5, 0], 1: [0, 0.5, 0.5]})
    test = tell_apart(BIT, Sum(), sure, ONE, ZERO)
    assert test.epsilon == math.inf
    assert test.renyi(1) == math.inf
    assert test.renyi(2) == math.inf
    assert test.renyi(0.5) == pytest.approx(-2 * math.log(0.5), rel=1e-13)
    told = 0.75 * 0.5 * math.log(1 / 0.75) + 0.25 * 0.5 * math.log(1 / 0.25)
    assert test.mutual_information() == pytest.approx(told, rel=1e-13)
    nearly = Channel({0: [0.99, 0.01, 0], 1: [0.99, 0, 0.01]})
    small = tell_apart(BIT, Sum(), nearly, ONE, ZERO)
    assert small.renyi(0.5) == pytest.approx(-2 * math.log(0.99), rel=1e-12)


def test_a_threshold_is_best_where_the_weights_ratio_rises():
    chain = MarkovChain([0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]], 6)
    for release in (ta.Laplace(1), ta.Gaussian(1)):
        assert tell_apart(chain, Sum(), release, RecordValue(3, 1), RecordValue(3, 0)).monotone
        between = JointTable([[0, 1], [0, 1]], np.full((2, 2), 0.25))
        bent = tell_apart(between, lambda d: 2 * d[1] if d[0] else 1, release, ONE, ZERO)
        assert not bent.monotone
    with pytest.raises(Unsupported, match="thresholds"):
        _ = tell_apart(BIT, Sum(), Channel({0: [1, 0], 1: [0, 1]}), ONE, ZERO).monotone


def test_one_value_against_all_others():
    model = JointTable([[0, 1, 2], [0, 1]], [[0.1, 0.2], [0.3, 0.1], [0.05, 0.25]])
    test = one_vs_rest(model, Sum(), ta.Laplace(1), RecordValue(0, 1))
    assert test.h0 == RecordIn(0, (0.0, 2.0))
    assert test.prior == pytest.approx(0.4)
    rest = {0: 0.1, 1: 0.2, 2: 0.05, 3: 0.25}
    np.testing.assert_allclose(test.absent.weights, np.array(list(rest.values())) / 0.6)
    pairs = [
        tell_apart(model, Sum(), ta.Laplace(1), RecordValue(0, 1), RecordValue(0, other)).epsilon
        for other in (0, 2)
    ]
    assert test.epsilon <= max(pairs)
    with pytest.raises(InvalidArgument, match="model must be"):
        one_vs_rest(GaussianRecords([0], [[1]]), Sum(), ta.Laplace(1), ONE)
    sure = Independent([[0.0, 1.0]])
    with pytest.raises(ImpossibleSecret):
        one_vs_rest(sure, Sum(), ta.Laplace(1), ONE)


def test_the_most_certain_anyone_can_be():
    test = tell_apart(BIT, Sum(), ta.Laplace(0.5), ONE, ZERO)
    assert test.max_posterior == pytest.approx(3 * math.e**2 / (1 + 3 * math.e**2))
    assert test.max_posterior == pytest.approx(ta.risk.max_posterior(test.curve, prior=0.75))
    gaussian = tell_apart(BIT, Sum(), ta.Gaussian(0.5), ONE, ZERO)
    assert gaussian.max_posterior == 1.0
    assert gaussian.epsilon == math.inf


def test_bad_input():
    one, zero = FiniteLaw.of({1: 1}), FiniteLaw.of({0: 1})
    with pytest.raises(InvalidArgument, match="order must be greater than 0"):
        renyi(one, zero, ta.Laplace(1), 0)
    with pytest.raises(InvalidArgument, match="priors must be 2"):
        mutual_information([one, zero], [1.0], ta.Laplace(1))
    with pytest.raises(InvalidArgument, match="priors"):
        mutual_information([one, zero], [0.5, 0.6], ta.Laplace(1))
    with pytest.raises(Unsupported, match="all be finite"):
        renyi(one, NormalLaw(0, 1), ta.Laplace(1), 2)
    with pytest.raises(Unsupported, match="unlike variance"):
        renyi(NormalLaw(0, 1), NormalLaw(0, 2), ta.Laplace(1), 2)
    for noise in (ta.Laplace(1), ta.Gaussian(1)):
        with pytest.raises(Unsupported, match=r"1e12 times the noise.*use a larger scale"):
            renyi(FiniteLaw.of({1e12: 1}), zero, noise, 2)
    with pytest.raises(Unsupported, match="coarser units or a smaller order"):
        renyi(FiniteLaw.of({6e6: 1}), zero, ta.Gaussian(1), 2)
    with pytest.raises(InvalidArgument, match="release must be"):
        tell_apart(BIT, Sum(), 1.0, ONE, ZERO)


def test_either_order_of_two_secrets_tells_one_story():
    """Bayes' rule, output by output, through channels that speak unlike for either secret."""
    rng = np.random.default_rng(2)
    for _ in range(8):
        model = JointTable([[0, 1]] * 2, rng.dirichlet(np.ones(4)).reshape(2, 2))
        tell = Channel({x: rng.dirichlet(np.full(3, 0.5)) for x in range(3)})
        known = {1: float(rng.integers(2))}
        test, other = (
            tell_apart(model, Sum(), tell, *pair, known) for pair in ((ONE, ZERO), (ZERO, ONE))
        )
        shares = model.probabilities[:, int(known[1])]
        assert test.prior == pytest.approx(shares[1] / shares.sum(), rel=1e-13)
        assert other.prior == pytest.approx(1 - test.prior, rel=1e-12)
        rows = np.array([tell.rows[known[1] + x] for x in (0, 1)])
        after = shares[:, None] * rows / (shares @ rows)
        assert test.max_posterior == pytest.approx(after[1].max(), rel=1e-12)
        assert other.max_posterior == pytest.approx(after[0].max(), rel=1e-12)
        assert test.witness == other.witness
        seen = test.witness
        likelier, less = (int(one.value) for one in (seen.likelier, seen.other))
        gain = math.log(rows[likelier, seen.output] / rows[less, seen.output])
        assert gain == pytest.approx(seen.log_ratio, rel=1e-12)
        assert seen.log_ratio == pytest.approx(np.abs(np.log(rows[1] / rows[0])).max(), rel=1e-12)


@pytest.mark.parametrize("deviation", [0.3, 1.0, 4.0])
def test_what_normal_data_vary_is_added_to_normal_noise_as_variance(deviation):
    records = GaussianRecords([0, 0], np.diag([1, deviation**2]))
    test = tell_apart(records, Sum(), ta.Gaussian(2), RecordValue(0, 3), RecordValue(0, 0))
    alike = ta.Gaussian(math.sqrt(4 + deviation**2), sensitivity=3).curve()
    for epsilon in (0.0, 0.5, 2.0):
        assert test.curve.delta(epsilon) == pytest.approx(alike.delta(epsilon), rel=1e-12)


def test_priors_below_the_smallest_double_count():
    """The last of 2,000 records is still 0 with probability 2^-1999; posteriors are by hand."""
    chain = MarkovChain([1, 0], [[0.5, 0.5], [0, 1]], 2000)
    test = tell_apart(chain, Sum(), ta.Laplace(1), RecordValue(1999, 0), RecordValue(1999, 1))
    assert test.prior == 0
    assert test.log_odds == pytest.approx(-1999 * math.log(2), rel=1e-12)
    # Far down, outputs weigh a sum s by e^-s: 1 for all zeros, else the sum over first ones.
    first = np.arange(1, 2000)
    ratio = -1999 * math.log(2) - logsumexp(-first * math.log(2) - (2000 - first))
    assert test.max_posterior == pytest.approx(1 / (1 + math.exp(-ratio)), rel=1e-9)


def test_two_priors_below_the_smallest_double_have_odds():
    chain = MarkovChain([1, 0, 0], [[0.5, 0.25, 0.25], [0, 0.5, 0.5], [0, 0, 1]], 2500)
    test = tell_apart(chain, Sum(), ta.Laplace(1), RecordValue(2499, 0), RecordValue(2499, 1))
    # One of 2,499 moves from 0 to 1 and stays: 2499·(1/4)·2^-2498 against 2^-2499.
    assert test.log_odds == pytest.approx(-math.log(2499 / 2), rel=1e-9)


@pytest.mark.parametrize("secrets", [(RecordIn(0, (0, 1)), RecordValue(0, 1))])
def test_values_that_are_told_apart_differ(secrets):
    with pytest.raises(ta.InvalidArgument, match="h0 must exclude h1"):
        tell_apart(BIT, Sum(), ta.Laplace(1), *secrets)


def test_secrets_that_may_both_hold_have_no_prior():
    pair = RecordValue(0, 1), RecordValue(1, 1)
    some = JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]])
    test = tell_apart(some, Sum(), ta.Laplace(1), *pair)
    assert test.prior is None
    with pytest.raises(Unsupported, match="both may hold"):
        _ = test.max_posterior
    either = Predicate(lambda d: d[0] + d[1] > 0), RecordValue(0, 0)
    assert tell_apart(some, Sum(), ta.Laplace(1), *either).prior is None
    never = Predicate(lambda d: d[0] == 1 and d[1] == 0), RecordValue(0, 0)
    assert tell_apart(some, Sum(), ta.Laplace(1), *never).prior == pytest.approx(1 / 6)
