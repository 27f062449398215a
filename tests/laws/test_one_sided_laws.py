"""What must hold for questions about the size of a value, besides all that holds for curves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import test_curve_laws
from examples import examples
from families import CURVE_FAMILIES, WORLD_FAMILIES
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import risk
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.pairs.curves import pair_curve
from tellapart.worlds.pairs.one_sided import OneSided

few = settings(max_examples=examples(40), deadline=None)
# Each runs on one source of curves, by name.
LAWS = [
    name
    for name, law in vars(test_curve_laws).items()
    if name.startswith("test_") and hasattr(law, "pytestmark")
]
# Stored curves are those of `tellapart.curve`; a question is stored by its few numbers.
LAWS.remove("test_json_returns_the_same_curve")
BOTH_ORDERS = "test_symmetrised_is_the_worst_of_both_orders"

NOISES = {
    "Laplace": st.builds(ta.Laplace, st.floats(0.05, 50)),
    "Gaussian": st.builds(ta.Gaussian, st.floats(0.05, 50)),
    "TruncatedLaplace": st.builds(ta.TruncatedLaplace, st.floats(0.5, 10), st.floats(0.5, 30)),
    "DiscreteLaplace": st.builds(ta.DiscreteLaplace, st.floats(0.2, 50)),
    "DiscreteGaussian": st.builds(ta.DiscreteGaussian, st.floats(0.3, 30)),
}
SIZES = np.concatenate([[0.0], 10.0 ** -np.arange(250, 1, -31.0), np.linspace(0.013, 1, 21)])


def pairs() -> Iterator[Any]:
    """Each law with each family; searches within searches are for `make test-all`."""
    for law in LAWS:
        for family in WORLD_FAMILIES:
            long = law == BOTH_ORDERS and "Gaussian" in family
            yield pytest.param(law, family, marks=[pytest.mark.slow] if long else [])


@pytest.mark.parametrize(("law", "family"), [*pairs()])
def test_all_laws_of_curves(law: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CURVE_FAMILIES, family, WORLD_FAMILIES[family])
    getattr(test_curve_laws, law)(family)


@settings(max_examples=examples(8), deadline=None)
@given(st.one_of(WORLD_FAMILIES["uniform Gaussian"], WORLD_FAMILIES["finite Gaussian"]))
def test_both_orders_at_once(curve: ta.TradeoffCurve) -> None:
    both, alphas = curve.symmetrised(), np.linspace(0.05, 0.95, 7)
    least = np.minimum(curve.beta(alphas), curve.mirrored().beta(alphas))
    assert np.all(both.beta(alphas) <= least + 1e-12)
    assert both.epsilon(1e-3) == max(curve.epsilon(1e-3), curve.mirrored().epsilon(1e-3))


@pytest.mark.parametrize("noise", NOISES)
def test_power_is_the_size_at_the_boundary_and_falls_with_the_value(noise: str) -> None:
    @few
    @given(NOISES[noise], st.integers(0, 9))
    def check(mechanism: Any, cut: int) -> None:
        question = OneSided(mechanism, cut=cut, low=0, high=10)
        np.testing.assert_allclose(question.power(question.boundary, SIZES), SIZES, rtol=1e-12)
        powers = question.power(np.arange(11.0)[:, None], SIZES)
        assert np.all((powers >= 0) & (powers <= 1))
        assert np.all(np.diff(powers, axis=0) <= 1e-13)
        assert np.all(np.diff(powers, axis=1) >= -1e-13)
        # Against each value up to the cut it is as good as the best test of that value alone.
        for value in range(cut + 1):
            np.testing.assert_array_equal(question.curve_at(value).tpr(SIZES), powers[value])

    check()


@st.composite
def questions(draw: Any, most: int = 5) -> tuple[OneSided, np.ndarray, np.ndarray]:
    """A question with a finite prior that holds both answers possible."""
    mechanism = draw(st.one_of(NOISES["Laplace"], NOISES["Gaussian"]))
    question = OneSided(mechanism, cut=draw(st.floats(0, 9)), low=0, high=10)
    inside = st.floats(0, 10)
    values = [draw(st.floats(0, question.cut)), draw(st.floats(question.cut + 0.01, 10))]
    values += draw(st.lists(inside, max_size=most))
    weights = np.array([draw(st.floats(0.01, 1)) for _ in values])
    return question, np.array(values), weights / weights.sum()


@few
@given(questions())
def test_a_prior_hides_more_than_the_two_extreme_values(asked: Any) -> None:
    """Data processing: drawing a value is a step that the attacker does not see."""
    question, values, weights = asked
    finite = question.curve(values, weights)
    apart = question.noise.noise.curve(float(values.max() - values.min()))
    assert ta.dominates(apart, finite, tolerance=1e-11)
    extremes = question.noise.noise.curve(question.high - question.low)
    assert ta.dominates(extremes, finite, tolerance=1e-11)
    if question.cut > question.low:
        assert ta.dominates(extremes, question.curve(), tolerance=1e-11)


@few
@given(questions(most=3), st.integers(0, 2**32 - 1))
def test_no_random_test_beats_the_curve(asked: Any, seed: int) -> None:
    """Any union of intervals of outputs, not only those below a threshold."""
    question, values, weights = asked
    curve, above = question.curve(values, weights), question.noise.noise.above
    cuts = np.sort(np.random.default_rng(seed).uniform(-30, 40, (50, 6)))
    # P(output in one of three intervals) for each value, then for each hypothesis.
    tails = above(cuts[..., None] - values)
    inside = (tails[:, ::2] - tails[:, 1::2]).sum(axis=1)
    low = values <= question.cut
    tpr = inside[:, low] @ weights[low] / weights[low].sum()
    fpr = inside[:, ~low] @ weights[~low] / weights[~low].sum()
    assert np.all(tpr <= curve.tpr(np.clip(fpr + 1e-15, 0, 1)) + 1e-12)


@few
@given(questions())
def test_where_the_values_are_cut_between_does_not_matter(asked: Any) -> None:
    question, values, weights = asked
    first, last = values[values <= question.cut].max(), values[values > question.cut].min()
    curve = question.curve(values, weights)
    for share in (0.0, 0.3):
        cut = first + share * (last - first)
        other = OneSided(question.noise, cut, 0, 10).curve(values, weights)
        np.testing.assert_allclose(other.beta(SIZES), curve.beta(SIZES), rtol=1e-10, atol=1e-300)


@few
@given(questions())
def test_the_prior_and_the_curve_give_the_attackers_least_error(asked: Any) -> None:
    """The Bayes error is ∫ min(w(h0)·p, w(h1)·q), here by a sum over fine outputs."""
    question, values, weights = asked
    scale = getattr(question.noise, "scale", None) or question.noise.sigma
    edges = np.linspace(-40 * scale, 10 + 40 * scale, 200_001)
    tails = question.noise.noise.above(edges[:, None] - values)
    masses = (tails[:-1] - tails[1:]) * weights
    low = values <= question.cut
    error = np.minimum(masses[:, low].sum(axis=1), masses[:, ~low].sum(axis=1)).sum()
    prior, curve = question.prior(values, weights), question.curve(values, weights)
    assert risk.bayes_error(curve, prior=prior) == pytest.approx(error, rel=1e-4, abs=1e-9)


@few
@given(questions(most=0))
def test_one_value_on_each_side_is_a_plain_shift(asked: Any) -> None:
    question, values, weights = asked
    curve = question.curve(values, weights)
    shift = question.noise.noise.curve(float(values.max() - values.min()))
    np.testing.assert_allclose(curve.beta(SIZES), shift.beta(SIZES), rtol=1e-11, atol=1e-300)
    losses = np.linspace(-5, 5, 31)
    np.testing.assert_allclose(curve.delta(losses), shift.delta(losses), rtol=1e-8, atol=1e-14)
    assert curve.area() == pytest.approx(shift.area(), rel=1e-12)


@few
@given(st.sampled_from([ta.Laplace(1), ta.Gaussian(1)]), st.floats(0.05, 6), st.floats(0.05, 6))
def test_many_equal_values_approach_the_uniform_prior(noise: Any, far: float, near: float) -> None:
    question = OneSided(noise, cut=0, low=-near, high=far)
    midpoints = (np.arange(400) + 0.5) / 400
    values = np.concatenate([-near * midpoints, far * midpoints])
    finite, uniform = question.curve(values), question.curve()
    alphas = np.linspace(0, 1, 21)
    np.testing.assert_allclose(finite.beta(alphas), uniform.beta(alphas), atol=1e-4)


@few
@given(questions())
def test_a_finite_prior_is_a_pair_of_laws(asked: Any) -> None:
    """The general pair says the same; closer laws it tells apart with fewer digits."""
    question, values, weights = asked
    low = values <= question.cut
    values = question.cut - values
    laws = [
        FiniteLaw.gathered(values[side], np.log(weights[side] / weights[side].sum()))
        for side in (low, ~low)
    ]
    curve = question.curve(question.cut - values, weights)
    pair = pair_curve(laws[0], laws[1], question.noise)
    sizes = np.concatenate([10.0 ** -np.arange(12, 1, -2.0), np.linspace(0.02, 0.98, 9)])
    np.testing.assert_allclose(pair.tpr(sizes), curve.tpr(sizes), rtol=1e-12)
    np.testing.assert_allclose(pair.beta(sizes), curve.beta(sizes), rtol=1e-11)
    losses = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(pair.delta(losses), curve.delta(losses), rtol=1e-6, atol=1e-13)
    assert pair.area() == pytest.approx(curve.area(), rel=1e-12)
