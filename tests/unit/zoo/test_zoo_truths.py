"""The truths: outputs follow the law that was written down, and that law has the ε stated."""

import math
from collections import Counter

import exact_laws as exact
import known_laws as laws
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

import tellapart as ta
from tellapart import zoo
from tellapart.zoo import local

N, MANY = 20_000, 100_000
# Each law is compared at this level: a correct mechanism fails a test with less probability.
RISK = 1e-9


def test_every_specimen_has_a_law():
    written = laws.PMFS.keys() | laws.CDFS.keys() | laws.PARTIAL.keys() | laws.UNWRITTEN
    assert written == {one.name for one in zoo.SPECIMENS}


@pytest.mark.parametrize("name", [*laws.PMFS, *laws.PARTIAL])
@pytest.mark.parametrize("side", [0, 1])
def test_outcomes_are_as_frequent_as_their_law_says(name, side):
    """Exact binomial tails of every outcome, the risk shared among them."""
    one = zoo.find(name)
    data = one.pairs[0][side]
    law = {**laws.PMFS, **laws.PARTIAL}[name](data)
    assert abs(math.fsum(law.values()) - 1) < 1e-9
    seen = Counter(
        laws.outcome(name, output)
        for output in one.mechanism(data, np.random.default_rng(31 + side), size=N)
    )
    assert seen.keys() <= {key for key, chance in law.items() if chance > 0}
    counts = np.array([seen[key] for key in law])
    chances = np.clip(list(law.values()), 0, 1)
    tails = np.minimum(stats.binom.cdf(counts, N, chances), stats.binom.sf(counts - 1, N, chances))
    assert tails.min() >= RISK / (2 * len(law))


@pytest.mark.parametrize("name", laws.CDFS)
@pytest.mark.parametrize("side", [0, 1])
def test_numbers_are_distributed_as_their_law_says(name, side):
    """The DKW inequality for each number read off the outputs, the risk shared among them."""
    one = zoo.find(name)
    data = one.pairs[0][side]
    outputs = one.mechanism(data, np.random.default_rng(41 + side), size=MANY)
    readings = laws.CDFS[name](data)
    margin = math.sqrt(math.log(2 * len(readings) / RISK) / (2 * MANY))
    for reading, cdf in readings:
        values = np.sort(reading(outputs))
        chances = cdf(values)
        assert (
            np.abs(chances - np.searchsorted(values, values, side="right") / MANY).max() <= margin
        )


# -- ε from the laws ---------------------------------------------------------------------------


def test_every_known_truth_is_checked():
    checked = laws.PMFS.keys() | TRUTHS.keys()
    assert checked == {one.name for one in zoo.SPECIMENS if one.truth is not None}


@pytest.mark.parametrize("name", laws.PMFS)
def test_the_law_of_outcomes_has_the_stated_epsilon(name):
    one = zoo.find(name)
    p, q = (laws.PMFS[name](data) for data in one.pairs[0])
    keys = list(p.keys() | q.keys())
    found = exact.worst_loss([p.get(k, 0.0) for k in keys], [q.get(k, 0.0) for k in keys])
    assert found == pytest.approx(one.truth, abs=2e-9)
    assert one.delta == 0 or math.isinf(one.truth)


@pytest.mark.parametrize("name", laws.PMFS)
def test_the_first_pair_tells_most_and_no_pair_of_a_correct_one_breaks_its_claim(name):
    one = zoo.find(name)
    losses = []
    for pair in one.pairs:
        p, q = (laws.PMFS[name](data) for data in pair)
        keys = list(p.keys() | q.keys())
        losses.append(exact.worst_loss([p.get(k, 0) for k in keys], [q.get(k, 0) for k in keys]))
    assert losses[0] == max(losses)
    assert not one.correct or max(losses) <= one.claimed + 1e-9


def gaussian_delta(epsilon, mu):
    return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


def gaussian(mu, delta=1e-5):
    """ε of N(0, 1) against N(μ, 1), by root-finding on its δ."""
    return brentq(lambda e: gaussian_delta(e, mu) - delta, 0, mu * mu / 2 + 8 * mu, xtol=1e-12)


def on_a_line(p, q, low=-60.0, high=60.0):
    """The largest |ln p/q| of two densities given as logarithms, on a fine grid."""
    x = np.linspace(low, high, 240_001)
    return float(np.abs(p(x) - q(x)).max())


def shifted_laplace(shift, scale):
    return on_a_line(stats.laplace(0, scale).logpdf, stats.laplace(shift, scale).logpdf)


def log_density_of_largest(law, times):
    return lambda x: (times - 1) * law.logcdf(x) + law.logpdf(x)


def largest(noise, times):
    p, q = (log_density_of_largest(noise(centre), times) for centre in (0, 1))
    return on_a_line(p, q, -300.0, 60.0)


def clamped():
    """An atom at 0 and a density above."""
    atom = abs(stats.laplace(0, 1).logcdf(0) - stats.laplace(1, 1).logcdf(0))
    return max(atom, on_a_line(stats.laplace(0, 1).logpdf, stats.laplace(1, 1).logpdf, 0.0))


def redrawn():
    zero, one = stats.laplace(0, 1), stats.laplace(1, 1)
    chance = [law.logsf(0) for law in (zero, one)]
    return on_a_line(lambda x: zero.logpdf(x) - chance[0], lambda x: one.logpdf(x) - chance[1], 0.0)


def sampled():
    alone, moved = stats.laplace(0, 1), stats.laplace(1, 1)
    return on_a_line(
        lambda x: np.logaddexp(math.log(0.9) + alone.logpdf(x), math.log(0.1) + moved.logpdf(x)),
        alone.logpdf,
    )


def pieces(name, scale):
    """Slopes of two distribution functions between all their kinks."""
    pair = zoo.find(name).pairs[0]
    edges = np.unique(np.concatenate([[0.0, 10.0], *pair]))
    masses = [np.diff(laws.in_pieces(data, scale)(edges)) for data in pair]
    return exact.worst_loss(*masses)


def shown_values(queries, values):
    """SVT 3: log-densities of "below before place i, there the value v", a row for each v."""
    q = np.asarray(queries)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    rows = []
    for v in values:
        # Given v the threshold is at most v; the integrand has kinks at 1 and at the queries.
        kinks = [x for x in (0.0, 1.0) if x < v]
        edges = np.unique(np.concatenate([np.arange(v - 60.0, v, 1.0), kinks, [v]]))
        half = np.diff(edges)[:, None] / 2
        bar = (edges[:-1, None] + half * (1 + nodes)).ravel()
        log_below = stats.laplace(0, 2).logcdf(bar[:, None] - q)
        before = np.cumsum(log_below, axis=1) - log_below
        terms = stats.laplace(1, 2).logpdf(bar) + np.log((half * weights).ravel())
        rows.append(np.logaddexp.reduce(terms[:, None] + before, axis=0))
    return np.array(rows) + stats.laplace(0, 2).logpdf(np.asarray(values)[:, None] - q)


def sparse_vector_3():
    """The largest |ln p/q| over places and values, and over "none above"."""
    pair = zoo.find("sparse-vector-3").pairs[0]
    values = np.concatenate(
        [np.linspace(-5, 0, 11), np.linspace(0, 2, 201), np.linspace(2, 30, 29)]
    )
    first, second = (shown_values(queries, values) for queries in pair)
    none = [math.log(exact.first_above(queries, 1.0, 2.0, 2.0)[-1]) for queries in pair]
    return max(float(np.abs(first - second).max()), abs(none[0] - none[1]))


def unlike_scales(narrow, wide):
    """The loss at |x| = 10 and at 100: grows in proportion, so there is no largest."""
    losses = [
        abs(stats.laplace(0, narrow).logpdf(x) - stats.laplace(0, wide).logpdf(x))
        for x in (10.0, 100.0)
    ]
    return math.inf if losses[1] > 9 * losses[0] else max(losses)


def unbounded_gaussian():
    losses = [abs(stats.norm.logpdf(x) - stats.norm.logpdf(x - 1)) for x in (10.0, 1e4)]
    return math.inf if losses[1] > 900 * losses[0] else max(losses)


def beyond_support(law):
    """Whether values just above where one law begins lie below where the other does."""
    return math.inf if law(0).pdf(0.5) > 0 and law(1).pdf(0.5) == 0 else 0.0


def squared_norms(dimension=20, delta=1e-5):
    """N(0, I) against N(0, I/4): the loss is a function of the squared norm alone."""
    law, log_two = stats.chi2(dimension), dimension * math.log(2)

    def narrow_over_wide(e):
        t = max((log_two - e) / 1.5, 0.0)
        return law.cdf(4 * t) - math.exp(e) * law.cdf(t) - delta

    def wide_over_narrow(e):
        t = (log_two + e) / 1.5
        return law.sf(t) - math.exp(e + law.logsf(4 * t)) - delta

    return max(brentq(narrow_over_wide, 0, log_two), brentq(wide_over_narrow, 0, 200, xtol=1e-12))


def hidden_keys(delta=0.01):
    """Counts 5 and 6: shown above the threshold with a density, else one atom."""
    threshold = 1 + math.log(50)

    def needed(p, q, e):
        above = np.linspace(threshold, threshold + 60, 600_001)
        gain = np.maximum(p.pdf(above) - math.exp(e) * q.pdf(above), 0.0)
        atom = max(p.cdf(threshold) - math.exp(e) * q.cdf(threshold), 0.0)
        return float(np.trapezoid(gain, above)) + atom

    laws_ = stats.laplace(5, 1), stats.laplace(6, 1)
    return max(
        brentq(lambda e, p=p, q=q: needed(p, q, e) - delta, 0, 1) for p, q in (laws_, laws_[::-1])
    )


def none_or_count():
    """Counts 5 and 6: an atom for what is at most 5, a density above."""
    five, six = stats.laplace(5, 1), stats.laplace(6, 1)
    return max(abs(five.logcdf(5) - six.logcdf(5)), on_a_line(five.logpdf, six.logpdf, 5.0))


TRUTHS = {
    "laplace": lambda: shifted_laplace(1, 1),
    "laplace-half-scale": lambda: shifted_laplace(1, 0.5),
    "laplace-wrong-sensitivity": lambda: shifted_laplace(3, 1),
    "laplace-vector": lambda: 3 * shifted_laplace(1, 1),
    "laplace-clamped": clamped,
    "laplace-redrawn": redrawn,
    "laplace-absolute": lambda: beyond_support(stats.expon),
    "laplace-best-of-three": lambda: largest(lambda c: stats.laplace(c, 1), 3),
    "laplace-sampled": sampled,
    "laplace-first-rows": lambda: shifted_laplace(1, 1),
    "laplace-textbook": lambda: math.inf if unreachable(1.0) > unreachable(0.0) == 0 else 0.0,
    "gaussian": lambda: gaussian(1),
    "gaussian-analytic": lambda: gaussian(1 / 3.7306316348160546),
    "gaussian-classical": lambda: gaussian(1 / laws.CLASSIC),
    "gaussian-classical-beyond": lambda: gaussian(7 / math.sqrt(2 * math.log(3.125)), 0.4),
    "gaussian-pure": unbounded_gaussian,
    "gaussian-variance": lambda: gaussian(4),
    "gaussian-textbook": lambda: math.inf if too_fine(0.0) > 1e-3 > too_fine(1.0) == 0 else 0.0,
    "gaussian-vector": lambda: gaussian(2),
    "noisy-max-3": lambda: largest(lambda c: stats.laplace(c, 2), 5),
    "noisy-max-4": lambda: beyond_support(lambda c: stats.expon(c, 2)),
    "median": lambda: pieces("median", 1.0),
    "median-no-half": lambda: pieces("median-no-half", 0.5),
    "sparse-vector-3": sparse_vector_3,
    "histogram": lambda: shifted_laplace(1, 1),
    "histogram-upside-down": lambda: shifted_laplace(1, 0.5),
    "prefix-sums": lambda: 10 * shifted_laplace(1, 1),
    "bounded-sum": lambda: shifted_laplace(1, 1),
    "sum-without-clipping": lambda: shifted_laplace(10, 1),
    "mean-by-true-size": lambda: unlike_scales(0.5, 1),
    "mean-bound-from-data": lambda: unlike_scales(1, 10),
    "scale-from-private-count": lambda: constant_against_noise(),
    "keys-above-threshold": hidden_keys,
    "count-or-none": none_or_count,
    "step": lambda: gaussian(1),
    "step-no-clip": lambda: gaussian(10),
    "step-clip-after-mean": lambda: gaussian(10),
    "step-noise-over-batch": lambda: gaussian(64),
    "step-noise-without-clip-norm": lambda: gaussian(5),
    "step-per-layer": lambda: gaussian(2),
    "step-microbatch": lambda: gaussian(2),
    "step-workers": lambda: gaussian(math.sqrt(8)),
    "step-not-zeroed": lambda: gaussian(3),
    "step-realised-batch": squared_norms,
    "step-centred": lambda: gaussian(7),
    "steps-in-order": lambda: gaussian(1),
}


def constant_against_noise():
    """One input always gives 3; the other hits 3 with probability 0."""
    one = zoo.find("scale-from-private-count")
    noisy, fixed = (one.mechanism(data, np.random.default_rng(3), size=N) for data in one.pairs[0])
    return math.inf if (fixed == 3).all() and not (noisy == 3).any() else 0.0


def unreachable(data):
    """The share of textbook outputs that no uniform on the grid of 2^−53 gives for an input 0."""
    outputs = zoo.find("laplace-textbook").mechanism(data, np.random.default_rng(8), size=2_000)
    nearest = np.rint(np.exp(-np.abs(outputs)) * 2.0**53)
    candidates = np.clip(nearest[:, None] + np.arange(-8, 9), 1, 2.0**53)
    reached = np.log(candidates * 2.0**-53) == -np.abs(outputs)[:, None]
    return float((~reached.any(axis=1)).mean())


def too_fine(data):
    """The share of outputs that are no multiple of 2^−53, as all sums with 1 are."""
    outputs = zoo.find("gaussian-textbook").mechanism(data, np.random.default_rng(9), size=20_000)
    scaled = outputs * 2.0**53
    return float((scaled != np.rint(scaled)).mean())


@pytest.mark.parametrize("name", TRUTHS)
def test_the_law_of_numbers_has_the_stated_epsilon(name):
    truth = zoo.find(name).truth
    assert TRUTHS[name]() == pytest.approx(truth, rel=1e-6)


def test_textbook_noise_is_told_by_its_bits_from_few_outputs():
    assert unreachable(0.0) == 0
    assert unreachable(1.0) > 0.5


def test_the_densities_of_sparse_vector_3_sum_to_one():
    queries = zoo.find("sparse-vector-3").pairs[0][0]
    coarse = np.linspace(-40, 41, 811)
    shown = np.trapezoid(np.exp(shown_values(queries, coarse)).sum(axis=1), coarse)
    assert shown + exact.first_above(queries, 1.0, 2.0, 2.0)[-1] == pytest.approx(1, abs=1e-3)


def test_the_claim_of_steps_in_order_is_that_of_sampled_steps():
    sampled_steps = ta.Gaussian(1).sampled(0.01).repeated(100).curve()
    claimed = zoo.find("steps-in-order").claimed
    assert sampled_steps.epsilon(1e-5) <= claimed < sampled_steps.epsilon(1e-5) + 1e-3


def test_the_filters_of_rappor_share_no_bit():
    bits = [local.bloom(value) for value in zoo.find("rappor").pairs[0]]
    assert [int(one.sum()) for one in bits] == [4, 4]
    assert bits[0] @ bits[1] == 0
