"""Curves of two mixtures under noise, beside root-finding on a dense grid and plain sums."""

import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr
from scipy.stats import laplace, norm

from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GaussianCurve, LaplaceCurve
from tellapart.errors import InvalidArgument, NotCertified
from tellapart.worlds import MarkovChain, RecordValue, Sum
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.pairs import gaussian
from tellapart.worlds.pairs.gaussian import GaussianPair, gaussian_pair
from tellapart.worlds.pairs.laplace import LaplacePair, laplace_pair
from tellapart.worlds.pairs.level_sets import blocks, in_rows

KINDS = {"laplace": (LaplacePair, laplace), "gaussian": (GaussianPair, norm)}
SEEDS = range(6)


def some_pair(kind, seed, spread=3.0, zeros=0.25):
    """Two laws on a few atoms, negative and close ones among them, some of them impossible."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 8))
    atoms = np.sort(rng.normal(size=size)) * spread
    logs = rng.normal(size=(2, size)) * 2
    logs[rng.random((2, size)) < zeros] = -np.inf
    logs[0, 0], logs[1, -1] = 0.0, 0.0
    logs -= logsumexp(logs, axis=1, keepdims=True)
    return KINDS[kind][0](atoms, *logs)


class Naive:
    """The same two laws, by densities of scipy and every sign change on a dense grid."""

    def __init__(self, pair, noise):
        self.atoms, self.noise = pair.atoms, noise
        self.weights = np.exp(pair.absent), np.exp(pair.present)
        grid = np.linspace(pair.atoms[0] - 30, pair.atoms[-1] + 30, 4001)
        self.grid = np.unique(np.append(grid, pair.atoms))

    def loss(self, output):
        away = np.subtract.outer(output, self.atoms)
        logs = -np.abs(away) if self.noise is laplace else -(away**2) / 2
        top = logs.max(axis=-1, keepdims=True)
        h0, h1 = (np.log(np.exp(logs - top) @ w) for w in self.weights)
        return h1 - h0

    def rates(self, level):
        excess = self.loss(self.grid) - level
        turns = np.flatnonzero((excess[:-1] > 0) != (excess[1:] > 0))
        cuts = [
            brentq(lambda o: self.loss(o) - level, *self.grid[i : i + 2], xtol=1e-14) for i in turns
        ]
        edges = np.array([-np.inf, *cuts, np.inf])
        above = np.arange(len(edges) - 1) % 2 == (0 if excess[0] > 0 else 1)
        shares = np.diff(self.noise.cdf(np.subtract.outer(edges, self.atoms)), axis=0)
        fpr, tpr = (float((shares @ w)[above].sum()) for w in self.weights)
        return fpr, tpr, 1 - tpr, 1 - fpr

    def levels(self, count):
        """Levels that outputs between the atoms have; beyond them a ratio may be constant."""
        inner = self.grid[(self.grid > self.atoms[0]) & (self.grid < self.atoms[-1])]
        return np.quantile(self.loss(inner), np.linspace(0.0312, 0.9731, count))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_rates_trade_off_and_profile_are_those_of_the_naive_sums(kind, seed):
    pair = some_pair(kind, seed)
    naive = Naive(pair, KINDS[kind][1])
    levels = naive.levels(7)
    expected = np.array([naive.rates(level) for level in levels])
    fpr, tpr, fnr, tnr = pair.rates(levels)
    np.testing.assert_allclose(np.stack([fpr, tpr, fnr, tnr], axis=1), expected, atol=1e-11)
    np.testing.assert_allclose(pair.beta(expected[:, 0]), expected[:, 2], atol=1e-9)
    profile = expected[:, 1] - np.exp(levels) * expected[:, 0]
    np.testing.assert_allclose(pair.delta(levels), profile, atol=1e-11)
    back = pair.mirrored().rates(-levels)
    np.testing.assert_allclose(np.stack(back, axis=1), expected[:, [2, 3, 0, 1]], atol=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_other_order_is_the_inverse_and_its_profile_follows(kind, seed):
    pair = some_pair(kind, seed)
    alphas = np.array([0.05, 0.3, 0.6, 0.9])
    betas = pair.beta(alphas)
    inside = (betas > 1e-6) & (betas < 1 - 1e-6)
    back = pair.mirrored().beta(betas)
    np.testing.assert_allclose(back[inside], alphas[inside], rtol=1e-8)
    epsilon = np.array([0.0, 0.4, 1.3])
    other = -np.expm1(-epsilon) + np.exp(-epsilon) * pair.delta(epsilon)
    np.testing.assert_allclose(pair.mirrored().delta(-epsilon), other, rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_output_has_a_ratio_beyond_the_extremes(kind, seed):
    pair = some_pair(kind, seed)
    rng = np.random.default_rng(seed)
    low, high = pair.atoms[0] - 5, pair.atoms[-1] + 5
    losses = Naive(pair, KINDS[kind][1]).loss(rng.uniform(low, high, 100_000))
    assert losses.max() <= pair._largest_loss() + 1e-12
    assert losses.min() >= pair._smallest_loss() - 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_mixtures_have_their_extremes_where_they_say(seed):
    pair = some_pair("gaussian", seed)
    (most, _), (least, _) = pair.extremes
    assert (most, least) == (pair._largest_loss(), pair._smallest_loss())
    inside = [(loss, output) for loss, output in pair.extremes if np.isfinite(output)]
    for loss, output in inside:
        assert Naive(pair, norm).loss(np.array(output)) == pytest.approx(loss, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_area_is_the_integral_of_the_curve(kind):
    """Beside a ranking of many outputs by their ratio, each as likely as its density says."""
    for seed in (0, 3):
        pair = some_pair(kind, seed)
        naive = Naive(pair, KINDS[kind][1])
        edges = np.linspace(pair.atoms[0] - 25, pair.atoms[-1] + 25, 60_001)
        outputs = (edges[1:] + edges[:-1]) / 2
        order = np.argsort(-naive.loss(outputs))
        away = np.subtract.outer(outputs[order], pair.atoms)
        logs = -np.abs(away) if kind == "laplace" else -(away**2) / 2
        h0, h1 = (np.exp(logs) @ w for w in naive.weights)
        missed = 1 - (np.cumsum(h1) - h1 / 2) / h1.sum()
        assert pair.area() == pytest.approx(float(missed @ h0 / h0.sum()), abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_and_everybody_accused(kind):
    for seed in SEEDS:
        pair = some_pair(kind, seed)
        np.testing.assert_array_equal(pair.beta([0.0, 1.0]), [1.0, 0.0])
        np.testing.assert_array_equal(pair.tpr([0.0, 1.0]), [0.0, 1.0])
        np.testing.assert_allclose(pair.fpr([0.0, 1.0]), [0.0, 1.0], atol=1e-14)


def rising_pair(seed):
    rng = np.random.default_rng(seed)
    atoms = np.sort(rng.normal(size=6)) * 2
    absent = np.log(rng.dirichlet(np.ones(6)))
    present = absent + np.cumsum(rng.exponential(size=6))
    return GaussianPair(atoms, absent, present - logsumexp(present))


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_whose_ratio_rises_have_no_turns_to_be_found(seed, monkeypatch):
    pair = rising_pair(seed)
    assert pair.monotone
    monkeypatch.setattr(gaussian, "never_turns", lambda bells: False)
    assert gaussian.turns(pair._bells).size == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_threshold_on_the_output_is_a_threshold_on_the_ratio(seed):
    """The search for an output beside the search for a ratio, in both directions."""
    for pair in (rising_pair(seed), rising_pair(seed).mirrored()):
        asked = np.array([1e-8, 0.03, 0.4, 0.8, 0.999])
        with np.errstate(all="ignore"):
            by_ratio = TradeoffCurve._interpolated(pair, asked)
            back = TradeoffCurve._interpolated_fpr(pair, asked[:3])
            np.testing.assert_allclose(pair._interpolated(asked), by_ratio, rtol=1e-9)
            np.testing.assert_allclose(pair._interpolated_fpr(asked[:3]), back, rtol=1e-9)


FADING = [1.0, 0.1, 1e-2, 1e-4, 1e-9, 1e-13, 1e-16, 1e-17, 1e-30, 1e-150, 1e-299]
ALPHAS = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.9])


def small_noise_limit(present, absent):
    """TPRs of the answers themselves, without noise: the most that any noise leaves."""
    values = sorted({*present, *absent})
    p, q = (np.array([law.get(v, 0.0) for v in values]) for law in (present, absent))
    order = np.argsort(-p / np.maximum(q, 1e-300), kind="stable")
    fpr, tpr = (np.append(0.0, np.cumsum(law[order])) for law in (q, p))
    last = {rate: i for i, rate in enumerate(fpr)}  # flagging what absent never answers is free
    kept = sorted(last.values())
    return np.interp(ALPHAS, fpr[kept], tpr[kept])


ANSWERS = [
    ({0: 0.5, 1: 0.5}, {0: 0.2, 1: 0.8}),
    ({0: 0.5, 1: 0.3, 2: 0.2}, {0: 0.2, 1: 0.5, 2: 0.3}),
    ({0: 0.5, 2: 0.5}, {1: 0.6, 2: 0.4}),
    ({0: 0.4, 3: 0.6}, {1: 0.5, 2: 0.5}),
    ({0: 0.5, 0.1: 1e-12, 0.7: 0.5 - 1e-12}, {0: 0.3, 0.1: 0.4, 0.7: 0.3}),
    ({-0.3: 0.1, 0: 0.6, 0.2: 0.3}, {-0.3: 0.4, 0: 0.1, 0.2: 0.4, 5: 0.1}),
]


@pytest.mark.parametrize(("present", "absent"), ANSWERS)
def test_less_noise_never_helps_to_hide(present, absent):
    """Data processing, down to noise far below the last digit of the answers."""
    laws = FiniteLaw.of(present), FiniteLaw.of(absent)
    pairs = [laplace_pair(*laws, scale) for scale in FADING]
    tpr = np.array([pair.tpr(ALPHAS) for pair in pairs])
    assert np.diff(tpr, axis=0).min() >= -1e-13
    np.testing.assert_allclose(tpr[-1], small_noise_limit(present, absent), rtol=1e-12)
    back = np.array([pair.mirrored().tpr(ALPHAS) for pair in pairs])
    assert np.diff(back, axis=0).min() >= -1e-13
    np.testing.assert_allclose(back[-1], small_noise_limit(absent, present), rtol=1e-12)
    delta = np.array([pair.delta([0.0, 0.4, 1.0]) for pair in pairs])
    assert np.diff(delta, axis=0).min() >= -1e-13
    areas = [pair.area() for pair in pairs]
    assert np.diff(areas).max() <= 1e-13


@pytest.mark.parametrize(("present", "absent"), ANSWERS)
def test_less_normal_noise_never_helps_to_hide_or_is_refused(present, absent):
    laws = FiniteLaw.of(present), FiniteLaw.of(absent)
    most = np.zeros_like(ALPHAS)
    for sigma in FADING:
        try:
            pair = gaussian_pair(*laws, sigma)
            tpr, area = pair.tpr(ALPHAS), pair.area()
        except NotCertified:
            continue
        assert np.all(tpr >= most - 1e-13)
        assert 0 <= area <= 0.5
        most = np.maximum(most, tpr)
    assert np.all(most <= small_noise_limit(present, absent) + 1e-12)


@pytest.mark.parametrize("pair", [laplace_pair, gaussian_pair])
def test_noise_that_doubles_cannot_hold_beside_the_answers_is_refused(pair):
    with pytest.raises(NotCertified, match="hides next to nothing"):
        pair(FiniteLaw.of({1e10: 1}), FiniteLaw.of({0: 1}), 1e-300)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_survives_pickling(kind):
    pair = some_pair(kind, 3)
    again = pickle.loads(pickle.dumps(pair))  # noqa: S301
    assert again.beta(0.2) == pair.beta(0.2)
    assert again.bound is pair.bound


@pytest.mark.parametrize("kind", KINDS)
def test_atoms_must_rise(kind):
    with pytest.raises(InvalidArgument, match="atoms must rise"):
        KINDS[kind][0](np.array([1.0, 0.0]), np.log([0.5, 0.5]), np.log([0.5, 0.5]))


@pytest.mark.parametrize(
    ("pair", "closed"),
    [
        (lambda *laws: laplace_pair(*laws, 2.0), LaplaceCurve(0.75)),
        (lambda *laws: gaussian_pair(*laws, 2.0), GaussianCurve(0.75)),
    ],
)
def test_two_single_atoms_have_the_closed_curve(pair, closed):
    found = pair(FiniteLaw.of({4.5: 1}), FiniteLaw.of({3: 1}))
    alphas = np.array([1e-12, 1e-4, 0.1, 0.5, 0.9, 1 - 1e-6])
    np.testing.assert_allclose(found.beta(alphas), closed.beta(alphas), rtol=1e-12)
    np.testing.assert_allclose(found.tpr(alphas), closed.tpr(alphas), rtol=1e-12)
    np.testing.assert_allclose(found.fpr(alphas), closed.fpr(alphas), rtol=1e-12)
    epsilon = np.array([-2, 0, 0.3, 0.7, 3, 8])
    np.testing.assert_allclose(found.delta(epsilon), closed.delta(epsilon), rtol=1e-11)
    assert found.area() == pytest.approx(closed.area(), rel=1e-6)
    assert found.monotone


@pytest.mark.parametrize("kind", KINDS)
def test_equal_laws_are_not_told_apart(kind):
    logs = np.log([0.2, 0.5, 0.3])
    pair = KINDS[kind][0](np.array([0.0, 1.0, 5.0]), logs, logs)
    np.testing.assert_allclose(pair.beta([0.1, 0.5, 0.9]), [0.9, 0.5, 0.1], rtol=1e-12)
    assert pair.delta(0.0) == pytest.approx(0, abs=1e-14)
    assert pair._largest_loss() == pytest.approx(0, abs=1e-14)
    assert pair.monotone


def test_nearly_equal_laws_are_followed_all_the_same():
    weights = np.array([0.25, 0.35, 0.3, 0.1])
    other = weights * (1 + 1e-7 * np.array([1.0, -2.0, 2.0, -1.5]))
    atoms = np.array([0.0, 1.0, 2.5, 4.0])
    pair = GaussianPair(atoms, np.log(weights), np.log(other / other.sum()))
    naive = Naive(pair, norm)
    assert not pair.monotone
    for level in naive.levels(3):
        assert pair.rates(level).fpr == pytest.approx(naive.rates(level)[0], abs=1e-5)


def test_weights_far_below_the_smallest_double_still_bend_a_laplace_ratio():
    atoms, logs = np.array([0.0, 1.5, 4.0]), np.array([-1e-9, -2000.0, -2100.0])
    pair = LaplacePair(atoms, logs, np.array([-2000.0, -1e-9, -2050.0]))
    mp.mp.dps = 40

    def density(weights, output):
        terms = zip(weights, atoms, strict=True)
        return mp.fsum(mp.exp(mp.mpf(float(w)) - abs(output - x)) for w, x in terms)

    expected = [mp.log(density(pair.present, x) / density(pair.absent, x)) for x in atoms]
    np.testing.assert_allclose(pair.losses, [float(x) for x in expected], rtol=1e-12)


def test_weights_far_below_the_smallest_double_still_decide_a_gaussian_limit():
    logs = np.array([0.0, -2000.0]), np.array([0.0, -2100.0])
    pair = GaussianPair(np.array([0.0, 1.0]), *logs)
    assert pair.extremes[1] == (-100.0, np.inf)
    assert pair.monotone
    assert pair.rates(-50.0).tnr == 0.0


def test_two_bumps_against_one_between_need_a_two_sided_test():
    pair = gaussian_pair(FiniteLaw.of({0: 0.5, 2: 0.5}), FiniteLaw.of({1: 1}), 0.5)
    assert not pair.monotone
    assert pair.extremes[0][0] == math.inf
    assert pair.extremes[1][0] == pytest.approx(-2.0, rel=1e-12)
    # By symmetry the best test rejects beyond a distance from 1, known in closed form.
    cut = -norm.ppf(0.05)
    missed = norm.cdf(cut - 2) - norm.cdf(-cut - 2)
    assert pair.beta(0.1) == pytest.approx(missed, rel=1e-12)
    one_sided = (norm.cdf(-norm.ppf(0.1) - 2) + norm.cdf(-norm.ppf(0.1) + 2)) / 2
    assert pair.beta(0.1) < one_sided - 0.1


def test_a_small_delta_under_normal_noise_keeps_its_digits():
    """Beside an integral of 50 digits, and for a law whose ratio turns."""
    pair = GaussianPair(np.array([0.0, 1.0, 2.0]), np.log([0.2, 0.6, 0.2]), np.log([0.3, 0.2, 0.5]))
    assert not pair.monotone
    mp.mp.dps = 50

    def density(logs, x):
        return mp.fsum(
            mp.exp(float(w)) * mp.npdf(x - a) for w, a in zip(logs, pair.atoms, strict=True)
        )

    level = pair._largest_loss() - 1e-4
    start = mp.findroot(
        lambda x: mp.log(density(pair.present, x) / density(pair.absent, x)) - level, (8, 12)
    )

    def gain(x):
        return density(pair.present, x) - mp.exp(level) * density(pair.absent, x)

    expected = mp.quad(gain, [start, start + 1, start + 4, start + 20])
    assert pair.delta(level) == pytest.approx(float(expected), rel=1e-7)
    assert 0 < pair.delta(level) < 1e-12


def test_thousands_of_records_with_normal_noise():
    """Where weights fall far below the smallest double, and their ratio rises but for rounding."""
    chain = MarkovChain([0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]], 3000)
    present, absent = (chain.law(Sum(), RecordValue(1500, value)) for value in (1, 0))
    pair = gaussian_pair(present, absent, 1.0)
    assert pair.monotone

    def beyond(law, output):
        return float(law.weights @ ndtr(law.values - output))

    for alpha, beta in zip((0.1, 0.5), pair.beta([0.1, 0.5]), strict=True):
        cut = brentq(lambda t, size=alpha: beyond(absent, t) - size, 0, 3000, xtol=1e-11)
        assert beta == pytest.approx(1 - beyond(present, cut), abs=1e-11)


def test_laws_that_turn_too_slowly_to_be_followed_are_refused():
    rng = np.random.default_rng(0)
    atoms = np.arange(3.0) * 1e7
    logs = np.log(rng.dirichlet(np.ones(3), 2))
    logs[1] = logs[0] + np.array([0.0, 1e-12, 0.0])
    with pytest.raises(NotCertified):
        _ = GaussianPair(atoms, *logs).monotone


@pytest.mark.parametrize(("size", "atoms"), [(0, 3), (1, 3), (10, 3), (10, 100), (12, 4)])
def test_blocks_hold_every_row_once_and_few_at_a_time(size, atoms):
    found = [np.arange(size)[some] for some in blocks(size, atoms, held=12)]
    assert np.concatenate(found).tolist() == list(range(size))
    assert all(one.size * atoms <= 12 or one.size == 1 for one in found)
    rows = np.arange(2.0 * size).reshape(size, 2)
    np.testing.assert_array_equal(in_rows(lambda some: some.T, rows, atoms, held=12), rows.T)
