"""What must hold for mechanisms: orders, promises, monotonicity, data processing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from examples import examples
from families import CURVE_FAMILIES, MECHANISM_FAMILIES, any_mechanism, pmf_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from outputs import OUTPUTS, SIZES, missed, truncated_below

import tellapart as ta

GRID = np.concatenate([[0.0], 10.0 ** -np.arange(200, 1, -20.0), np.linspace(0.02, 1, 50)])
LEAST = 1e-12

few = settings(max_examples=examples(40), deadline=None)


@pytest.mark.parametrize("table", ["OUTPUTS", "PROMISES", "MORE_LEAKY"])
def test_the_tables_cover_the_public_registry(table: str) -> None:
    assert set(globals()[table]) == set(ta.MECHANISMS)


@pytest.mark.parametrize("kind", ta.MECHANISMS, ids=lambda kind: kind.__name__)
def test_curve_serves_both_orders(kind: type) -> None:
    @few
    @given(MECHANISM_FAMILIES[kind])
    def check(mechanism: Any) -> None:
        both = mechanism.curve()
        present, absent = (mechanism.curve(order) for order in ta.Order)
        assert np.all(both.beta(GRID) <= present.beta(GRID) + LEAST)
        assert np.all(both.beta(GRID) <= absent.beta(GRID) + LEAST)
        np.testing.assert_allclose(absent.beta(GRID), present.mirrored().beta(GRID), atol=LEAST)

    check()


@pytest.mark.parametrize("kind", ta.MECHANISMS, ids=lambda kind: kind.__name__)
def test_mechanisms_are_frozen_records(kind: type) -> None:
    @settings(max_examples=examples(3), deadline=None)
    @given(MECHANISM_FAMILIES[kind])
    def check(mechanism: Any) -> None:
        assert kind.__name__ in repr(mechanism)
        with pytest.raises(AttributeError):
            mechanism.neighbours = None

    check()


def _from_zcdp(rho: float, delta: float = 1e-6) -> tuple[float, float]:
    """What ρ-zCDP promises (Bun and Steinke 2016, Proposition 1.3)."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta)), delta


def _from_bits(m: ta.UnaryEncoding) -> tuple[float, float]:
    if min(m.flip, missed(m)) > 0:
        return math.log(m.keep / m.flip * ((1 - m.flip) / missed(m))), 0.0
    return 0.0, m.keep - m.flip  # a bit may give all away, but only so often


def _from_cutoff(m: ta.TruncatedLaplace) -> tuple[float, float]:
    """Pure but for the outputs that the other world cannot reach."""
    beyond = truncated_below((m.sensitivity - m.cutoff) / m.scale, m.cutoff / m.scale)
    return m.sensitivity / m.scale, min(1.0, float(beyond) * (1 + 1e-9))


def _from_threshold(m: ta.ThresholdedHistogram) -> tuple[float, float]:
    """The sum of what new keys and moved counts show, one after the other."""
    noise, new = m.noise, m.keys * m.new_key()
    if isinstance(noise, ta.Gaussian):
        epsilon, delta = _from_zcdp(m.keys * (noise.sensitivity / noise.sigma) ** 2 / 2)
    else:
        epsilon, delta = m.keys * noise.sensitivity / noise.scale, 0.0
    # Without a new key shown there is a loss of its own: that nothing was.
    return epsilon + (-m.keys * math.log1p(-m.new_key())), min(1.0, new + delta)


# What the literature promises: (ε, δ).
PROMISES: dict[type, Callable[[Any], tuple[float, float]] | None] = {
    ta.AboveThreshold: lambda m: (
        m.sensitivity / m.threshold_scale
        + m.answers * (2 - m.monotone) * m.sensitivity / m.query_scale,
        0.0,
    ),
    ta.CustomMechanism: None,  # nobody promised anything
    ta.DiscreteGaussian: lambda m: _from_zcdp((m.sensitivity / m.sigma) ** 2 / 2),
    ta.DiscreteLaplace: lambda m: (m.sensitivity / m.scale, 0.0),
    ta.ExponentialMechanism: lambda m: (m.epsilon, 0.0),
    ta.Gaussian: lambda m: _from_zcdp((m.sensitivity / m.sigma) ** 2 / 2),
    ta.Laplace: lambda m: (m.sensitivity / m.scale, 0.0),
    ta.LastIterate: lambda m: _from_zcdp(
        m.steps * (m.gradient_sensitivity / (m.data_size * m.sigma)) ** 2 / 2  # all iterates seen
    ),
    ta.PartitionSelection: lambda m: (m.epsilon, m.delta),
    ta.PermuteAndFlip: lambda m: (m.epsilon, 0.0),
    ta.PlanarLaplace: lambda m: (m.epsilon * m.distance, 0.0),
    ta.Promise: lambda m: (m.epsilon, m.delta),
    ta.RandomizedResponse: lambda m: (m.epsilon, 0.0),
    ta.ReportNoisyMax: lambda m: (m.epsilon, 0.0),
    ta.Staircase: lambda m: (m.epsilon, 0.0),
    ta.ThresholdedHistogram: _from_threshold,
    ta.TruncatedLaplace: _from_cutoff,
    ta.UnaryEncoding: _from_bits,
    ta.UniformNoise: lambda m: (0.0, m.atom + (1 - m.atom) * min(1.0, m.sensitivity / m.width)),
}
PROMISING = [kind for kind in PROMISES if PROMISES[kind] is not None]


@pytest.mark.parametrize("kind", PROMISING, ids=lambda kind: kind.__name__)
def test_no_mechanism_leaks_more_than_its_promise(kind: type) -> None:
    @few
    @given(MECHANISM_FAMILIES[kind])
    def check(mechanism: Any) -> None:
        epsilon, delta = PROMISES[kind](mechanism)
        promise = ta.guarantee(epsilon, delta)
        curve = mechanism.curve()
        assert np.all(promise.beta(GRID) <= curve.beta(GRID) + LEAST)
        assert np.all(promise.tpr(GRID) >= curve.tpr(GRID) * (1 - 1e-10))
        assert curve.epsilon(min(1.0, delta * (1 + 1e-12))) <= epsilon * (1 + 1e-10) + 1e-15

    check()


MORE_LEAKY: dict[type, Callable[[float], Any]] = {
    ta.AboveThreshold: lambda e: ta.AboveThreshold.with_epsilon(e, answers=2),
    ta.CustomMechanism: lambda e: ta.CustomMechanism.from_pmfs(
        [0.5, 0.5], [0.5 - e / 24, 0.5 + e / 24]
    ),
    ta.DiscreteGaussian: lambda e: ta.DiscreteGaussian(3.0, 1 + int(4 * e)),
    ta.DiscreteLaplace: lambda e: ta.DiscreteLaplace.with_epsilon(e, sensitivity=3),
    ta.ExponentialMechanism: ta.ExponentialMechanism,
    ta.Gaussian: lambda e: ta.Gaussian(1 / e),
    ta.Laplace: ta.Laplace.with_epsilon,
    ta.LastIterate: lambda e: ta.LastIterate(
        1.0,
        10,
        step_size=0.1,
        strong_convexity=1.0,
        smoothness=2.0,
        gradient_sensitivity=10 * e,
        batch_size=10,
        data_size=10,
    ),
    # Of two ε that are close the larger may leak less: the corner that no n reaches moves.
    ta.PartitionSelection: lambda e: ta.PartitionSelection(1 + 2 * int(e), 0.01),
    ta.PermuteAndFlip: ta.PermuteAndFlip,
    ta.PlanarLaplace: ta.PlanarLaplace,
    ta.Promise: lambda e: ta.Promise(e, 0.01),
    ta.RandomizedResponse: lambda e: ta.RandomizedResponse(e, categories=5),
    ta.ReportNoisyMax: ta.ReportNoisyMax,
    ta.Staircase: lambda e: ta.Staircase(e, fraction=0.3),
    ta.ThresholdedHistogram: lambda e: ta.ThresholdedHistogram(
        ta.DiscreteLaplace(4.0), 20.0, keys=1 + int(e)
    ),
    ta.TruncatedLaplace: lambda e: ta.TruncatedLaplace(1.0, 6.0, sensitivity=e),
    ta.UnaryEncoding: ta.UnaryEncoding.optimised,
    ta.UniformNoise: lambda e: ta.UniformNoise(20.0, sensitivity=e),
}


@pytest.mark.parametrize("kind", MORE_LEAKY, ids=lambda kind: kind.__name__)
def test_a_larger_parameter_leaks_more(kind: type) -> None:
    @few
    @given(st.floats(0.05, 6), st.floats(0.01, 4))
    def check(small: float, more: float) -> None:
        weak, strong = (MORE_LEAKY[kind](e).curve() for e in (small, small + more))
        assert ta.dominates(strong, weak, tolerance=1e-9)
        assert ta.gap(strong, weak) <= 1e-11

    check()


def every_output(law: Any) -> Any:
    """Run a law on the curve of every public mechanism class and on what it puts out."""

    def over(kind: type) -> None:
        @settings(max_examples=examples(15), deadline=None)
        @given(MECHANISM_FAMILIES[kind], st.integers(0, 2**32))
        def check(mechanism: Any, seed: int) -> None:
            curve = mechanism.curve(ta.Order.PRESENT)
            law(curve, OUTPUTS[kind](mechanism), np.random.default_rng(seed))

        check()

    over.__name__ = law.__name__
    return pytest.mark.parametrize("kind", ta.MECHANISMS, ids=lambda kind: kind.__name__)(over)


@every_output
def test_no_test_on_the_outputs_beats_the_curve(
    curve: ta.TradeoffCurve, pairs: Any, random: Any
) -> None:
    """Neither the best tests, which accuse where the ratio is largest, nor random ones."""
    for p, q in pairs:
        best = np.argsort(p / np.where(p + q > 0, p + q, 1))
        coins = random.random((4, len(p))) ** random.choice([0.1, 1, 10], (4, 1))
        fpr = np.concatenate([np.cumsum(p[best]), coins @ p]).clip(0, 1)
        tpr = np.concatenate([np.cumsum(q[best]), coins @ q])
        assert np.all(tpr <= curve.tpr(fpr) + LEAST)


@every_output
def test_garbled_outputs_only_raise_the_curve(
    curve: ta.TradeoffCurve, pairs: Any, random: Any
) -> None:
    for p, q in pairs:
        channel = random.dirichlet(np.full(random.integers(1, 6), 0.3), len(p))
        before, after = ta.from_pmfs(p, q), ta.from_pmfs(p @ channel, q @ channel)
        assert np.all(curve.beta(GRID) <= before.beta(GRID) + LEAST)
        assert np.all(before.beta(GRID) <= after.beta(GRID) + LEAST)


@every_output
def test_the_outputs_come_close_to_the_curve(
    curve: ta.TradeoffCurve, pairs: Any, random: Any
) -> None:
    """A curve that overstates the leak is no exact one."""
    if curve.bound is ta.Bound.EXACT:
        reached = ta.worst_case([ta.from_pmfs(p, q) for p, q in pairs])
        assert np.all(reached.beta(SIZES) <= curve.beta(SIZES) + 0.02)


@few
@given(pmf_pairs(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_post_processing_only_raises_the_curve(pair: Any, outputs: int, random: Any) -> None:
    """Data processing: whatever is done to the output, no attack gets better."""
    p, q = pair
    channel = np.array([[0.01 + random.random() for _ in range(outputs)] for _ in p])
    channel /= channel.sum(axis=1, keepdims=True)
    before, after = ta.from_pmfs(p, q), ta.from_pmfs(p @ channel, q @ channel)
    assert np.all(before.beta(GRID) <= after.beta(GRID) + LEAST)
    assert ta.gap(before, after) <= 1e-11


@few
@given(pmf_pairs(), st.lists(st.floats(0, 1), min_size=7, max_size=7))
def test_no_random_test_beats_the_curve(pair: Any, rule: list[float]) -> None:
    p, q = pair
    phi = np.array(rule[: len(p)])
    fpr, fnr = min(1.0, float(p @ phi)), float(q @ (1 - phi))
    assert ta.from_pmfs(p, q).beta(fpr) <= fnr + LEAST


@few
@given(st.lists(any_mechanism(), min_size=2, max_size=3), st.floats(-5, 5))
def test_the_worst_case_dominates_every_member(mechanisms: list[Any], loss: float) -> None:
    members = [mechanism.curve(ta.Order.PRESENT) for mechanism in mechanisms]
    worst = ta.worst_case(members)
    lowest = np.min([member.beta(GRID) for member in members], axis=0)
    assert np.all(worst.beta(GRID) <= lowest + LEAST)
    largest = max(member.delta(loss) for member in members)
    assert worst.delta(loss) == pytest.approx(largest, rel=1e-9, abs=1e-12)


GAPS = st.one_of(
    st.one_of([CURVE_FAMILIES[name] for name in ("guarantee", "pmfs", "mu", "attack")]),
    any_mechanism().map(lambda mechanism: mechanism.curve()),
)


@settings(max_examples=examples(60), deadline=None)
@given(GAPS, GAPS)
def test_gap_is_the_least_shift_that_makes_one_dominate(
    a: ta.TradeoffCurve, b: ta.TradeoffCurve
) -> None:
    """The definition: the least κ with f_a(α + κ) − κ ≤ f_b(α) for all α."""
    kappa = ta.gap(a, b)
    alphas = np.linspace(0, 1, 2001)

    def short_by(shift: float) -> float:
        moved = np.where(alphas + shift <= 1, a.beta(np.minimum(1.0, alphas + shift)), 0.0)
        return float(np.max(moved - shift - b.beta(alphas)))

    assert 0 <= kappa <= 1
    assert short_by(kappa) <= 1e-11
    if ta.dominates(a, b):
        assert kappa <= 1e-11
    if kappa > 1e-4:
        # One α must need it all: find it by the prior that attains the gap, closer and closer.
        centre, reach = 0.0, 12.0
        for _ in range(3):
            logits = centre + reach * np.linspace(-1, 1, 20001)
            prior = 1 / (1 + np.exp(logits))
            errors = [
                (1 - prior) * r.fpr + prior * r.fnr for r in (a.rates(logits), b.rates(logits))
            ]
            lead = errors[0] - errors[1]
            centre, reach = float(logits[np.argmax(lead)]), reach / 1000
        assert lead.max() == pytest.approx(kappa, abs=1e-6)


@settings(max_examples=examples(100), deadline=None)
@given(GAPS, GAPS)
def test_domination_is_a_larger_profile(a: ta.TradeoffCurve, b: ta.TradeoffCurve) -> None:
    losses = np.linspace(-40, 40, 4001)
    lead = a.delta(losses) - b.delta(losses)
    if lead.min() < -1e-8:
        assert not ta.dominates(a, b)


@few
@given(st.floats(0.02, 0.5), st.floats(0.1, 4))
def test_a_promise_dominates_whatever_keeps_it(delta: float, epsilon: float) -> None:
    """Also where the mechanism's losses are unbounded: the profile counts, not the largest ε."""
    exact = ta.Gaussian.with_epsilon(epsilon, delta).curve()
    assert np.isinf(exact.epsilon(0.0))
    for promise in (ta.guarantee(epsilon, delta), ta.guarantee(pairs=[(epsilon, delta)])):
        assert ta.dominates(promise, exact)
        assert not ta.dominates(exact, promise)


@few
@given(st.floats(0.01, 8), st.floats(0.05, 1))
def test_spreading_a_change_over_coordinates_helps_the_defender(
    epsilon: float, share: float
) -> None:
    """Laplace noise on a vector: two coordinates that share a change leak less than one."""
    m1, m2 = epsilon * share, epsilon * (1 - share)
    whole = ta.Laplace.with_epsilon(epsilon).curve()
    # Both outputs cut into many cells: a garbling, so its curve lies above the product's.
    laws = [_cells(m) for m in (m1, m2)]
    product = ta.from_pmfs(*(np.outer(laws[0][k], laws[1][k]).ravel() for k in (0, 1)))
    assert np.all(whole.beta(GRID) <= product.beta(GRID) + LEAST)
    if 0.2 < share < 0.8 and epsilon > 0.5:
        assert whole.beta(0.3) < product.beta(0.3)


def _cells(shift: float) -> tuple[np.ndarray, np.ndarray]:
    edges = np.linspace(0, shift, 60)
    law = ta.Laplace(1.0).noise
    masses = []
    for centre in (0.0, shift):
        above = law.above(edges - centre)
        masses.append(np.concatenate([[1 - above[0]], above[:-1] - above[1:], above[-1:]]))
    return masses[0] / masses[0].sum(), masses[1] / masses[1].sum()


@settings(max_examples=examples(25), deadline=None)
@given(st.floats(0.05, 6), st.floats(1e-12, 0.2))
def test_analytic_gaussian_is_safe_and_tight(epsilon: float, delta: float) -> None:
    mechanism = ta.Gaussian.with_epsilon(epsilon, delta)
    assert mechanism.curve().delta(epsilon) <= delta
    assert ta.Gaussian(mechanism.sigma * (1 - 1e-9)).curve().delta(epsilon) > delta


@settings(max_examples=examples(40), deadline=None)
@given(
    st.one_of(st.floats(0.1, 5), st.sampled_from([1e-7, 1e-5, 1e-3, 0.01, 10.0, 30.0])),
    st.sampled_from([1.01, 1.5, 2.0, 8.0, 40.0]),
)
def test_a_gaussian_keeps_the_guarantees_of_its_renyi_divergence(mu: float, order: float) -> None:
    exact = ta.Gaussian(1 / mu).curve()
    losses = np.concatenate([np.linspace(0, 12, 25), mu * mu / 2 + mu * np.linspace(0, 8, 17)])
    for promise in (ta.guarantee(rdp=[(order, order * mu**2 / 2)]), ta.guarantee(zcdp=mu**2 / 2)):
        assert np.all(promise.beta(GRID) <= exact.beta(GRID) + LEAST)
        assert np.all(promise.delta(losses) >= exact.delta(losses) * (1 - 1e-9))


def _bell(centre: float) -> Any:
    return lambda x: np.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi)


def _peak(centre: float) -> Any:
    return lambda x: np.exp(-np.abs(x - centre)) / 2


@settings(max_examples=examples(10), deadline=None)
@given(st.floats(0.1, 4), st.sampled_from([100, 2000]))
def test_a_curve_from_densities_is_never_above_the_truth(shift: float, cells: int) -> None:
    losses = np.linspace(0, 45, 91)
    wide = (-40.0, 40.0 + shift)
    bell = ta.from_densities(_bell(0), _bell(shift), wide, cells=cells)
    peak = ta.from_densities(_peak(0), _peak(shift), wide, breaks=(0, shift), cells=cells)
    ramp = ta.from_densities(lambda x: 2 * (1 - x), lambda x: 2 * x, (0, 1), cells=cells)
    normal, laplace = ta.Gaussian(1 / shift).curve(), ta.Laplace(1 / shift).curve()
    for curve, beta, delta in (
        (bell, normal.beta(GRID), normal.delta(losses)),
        (peak, laplace.beta(GRID), laplace.delta(losses)),
        (ramp, (1 - np.sqrt(GRID)) ** 2, 1 / (1 + np.exp(losses))),
    ):
        assert np.all(curve.beta(GRID) <= beta + LEAST)
        assert np.all(curve.delta(losses) >= delta * (1 - 1e-9))


@settings(max_examples=examples(25), deadline=None)
@given(pmf_pairs(), st.sampled_from([1.2, 2.0, 5.0]))
def test_any_pair_keeps_the_guarantee_of_its_renyi_divergence(pair: Any, order: float) -> None:
    p, q = (0.999 * law + 0.001 / len(law) for law in pair)
    moments = [np.sum(x**order * y ** (1 - order)) for x, y in ((p, q), (q, p))]
    bound = float(np.log(max(moments)) / (order - 1))
    promise = ta.guarantee(rdp=[(order, max(bound, 0.0) * (1 + 1e-12) + 1e-13)])  # rounding of log
    assert np.all(promise.beta(GRID) <= ta.from_pmfs(p, q).beta(GRID) + LEAST)


@few
@given(st.lists(st.tuples(st.floats(0, 6), st.floats(0, 0.9)), min_size=1, max_size=6))
def test_pairs_that_hold_together_are_the_largest_of_their_curves(pairs: list[Any]) -> None:
    """The envelope of S2 is the pointwise maximum, never the minimum."""
    together = ta.guarantee(pairs=pairs)
    largest = np.max([ta.guarantee(e, d).beta(GRID) for e, d in pairs], axis=0)
    np.testing.assert_allclose(together.beta(GRID), largest, rtol=1e-9, atol=1e-12)
    for epsilon, delta in pairs:
        assert together.delta(epsilon) <= delta + 1e-12
