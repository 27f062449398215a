"""Laws of the certified engine: the truth is between its curves, whatever the tree."""

import numpy as np
import pytest
from examples import examples
from families import MECHANISM_FAMILIES, any_mechanism
from hypothesis import HealthCheck, Phase, assume, example, given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart._numeric.convolution import GridMasses, composed
from tellapart.curve.certified.discretise import discretised, from_two_profiles
from tellapart.curve.composition.loss_laws import AtomicLoss, GaussianLoss, LaplaceLoss
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss

SLOW = settings(
    deadline=None, max_examples=examples(20), suppress_health_check=[HealthCheck.filter_too_much]
)
# A failing tree may be a slow one: it is shown as it was drawn.
WIDE = settings(
    deadline=None,
    max_examples=examples(20),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
ALPHA = np.array([1e-8, 1e-5, 1e-3, 0.02, 0.2, 0.5, 0.8, 0.98, 0.999])
GRID = np.concatenate([[0.0], np.geomspace(1e-12, 1, 300), 1 - np.geomspace(1e-12, 0.5, 200)])

# The contour engine is exact to about 1e-10 for laws with a density.
NEAR = 1e-8

deltas = st.sampled_from([1e-1, 1e-3, 1e-5, 1e-8, 1e-12, 1e-15])
orders = st.sampled_from([None, *ta.Order])
sampled = st.builds(
    lambda sigma, rate, times: ta.Gaussian(sigma).sampled(rate).repeated(times),
    st.floats(0.6, 4),
    st.floats(1e-3, 0.5),
    st.integers(1, 2000),
)
gaussians = st.builds(
    lambda s, n: ta.Gaussian(s).repeated(n), st.floats(0.3, 50), st.integers(1, 9)
)
trees = st.lists(sampled | gaussians, min_size=1, max_size=3).map(ta.compose)
responses = st.builds(
    lambda e, k, n: ta.RandomizedResponse(e, categories=k).repeated(n),
    st.floats(0.01, 3),
    st.integers(2, 5),
    st.integers(1, 60),
)
laws = st.one_of(
    st.floats(0.01, 9).map(GaussianLoss),
    st.floats(0.01, 5).map(LaplaceLoss),
    st.builds(lambda m, q: MixtureLoss(m, (1 - q, q)), st.floats(0.2, 3), st.floats(1e-4, 0.9)),
    st.floats(0.01, 3).map(
        lambda e: AtomicLoss(np.array([e, -e]), 1 / (1 + np.exp(np.array([e, -e]))))
    ),
)


# ε and what is left of the advantage as δ in either order.
lines = st.tuples(st.floats(1e-3, 4), st.floats(0, 1), st.floats(0, 1))


@given(st.lists(lines, max_size=6), st.floats(0, 1))
@example([(1.0, 1.0, 0.0)], 0.7)
@example([(1.0, 0.0, 1.0)], 0.7)
@example([(0.5, 0.0, 0.1), (1.0, 0.0, 0.3)], 1.0)
@settings(deadline=None, max_examples=examples(500))
def test_lines_of_two_orders_are_a_curve_of_their_maximum(lines, advantage):
    """Also where the lines of one order make all those of the other useless."""
    epsilons = np.array([0.0, *(line[0] for line in lines)])
    ahead, back = (
        advantage * np.array([1.0, *(line[order] for line in lines)]) for order in (1, 2)
    )
    curve = from_two_profiles(epsilons, ahead, back)
    assert curve.absent.sum() == pytest.approx(1, abs=1e-13)
    assert curve.present.sum() == pytest.approx(1, abs=1e-13)
    alpha = np.linspace(0.001, 0.999, 97)
    tangents = [1 - d - np.exp(e) * alpha for e, d in zip(epsilons, ahead, strict=True)]
    tangents += [np.exp(-e) * (1 - d - alpha) for e, d in zip(epsilons, back, strict=True)]
    assert curve.beta(alpha) == pytest.approx(np.maximum(np.max(tangents, axis=0), 0), abs=1e-12)


def found_for(mechanism, delta, **asked):
    """The bracket, with the contour's number inside it; trees out of reach say so."""
    try:
        bracket = mechanism.bracket(delta, **asked)
        truth = mechanism.curve(asked.get("order"))
        epsilon = truth.epsilon(delta)
        beta = truth.beta(ALPHA)
    except ta.NotCertified:
        return None
    return bracket, epsilon, beta


@given(trees, deltas, orders)
@SLOW
def test_brackets_hold_the_contour(mechanism, delta, order):
    answer = found_for(mechanism, delta, order=order)
    if answer is None:
        return
    bracket, epsilon, beta = answer
    low, high = bracket.upper.epsilon(delta), bracket.lower.epsilon(delta)
    assert low <= epsilon + NEAR * max(1, epsilon)
    assert epsilon - NEAR * max(1, epsilon) <= high
    assert high - low <= 1e-4 * max(1, low)
    assert (bracket.lower.beta(ALPHA) <= beta * (1 + NEAR) + 1e-12).all()
    assert (beta <= bracket.upper.beta(ALPHA) * (1 + NEAR) + 1e-12).all()


@given(gaussians, deltas)
@SLOW
def test_brackets_hold_the_gaussian_closed_form(mechanism, delta):
    answer = found_for(mechanism, delta)
    if answer is None:
        return
    bracket, epsilon, beta = answer
    assert bracket.upper.epsilon(delta) <= epsilon <= bracket.lower.epsilon(delta)
    assert (bracket.lower.beta(ALPHA) <= beta).all()
    assert (beta <= bracket.upper.beta(ALPHA)).all()


@given(responses, deltas, orders)
@SLOW
def test_brackets_hold_the_sum_over_all_outcomes(mechanism, delta, order):
    answer = found_for(mechanism, delta, order=order)
    if answer is None:
        return
    bracket, epsilon, beta = answer
    assert bracket.upper.epsilon(delta) <= epsilon * (1 + 1e-11)
    assert epsilon * (1 - 1e-11) <= bracket.lower.epsilon(delta)
    assert (bracket.lower.beta(ALPHA) <= beta * (1 + 1e-9)).all()
    assert (beta * (1 - 1e-9) <= bracket.upper.beta(ALPHA)).all()


@given(trees | responses, deltas, orders)
@SLOW
def test_the_lower_curve_leaks_more_than_the_upper(mechanism, delta, order):
    try:
        lower, upper = mechanism.bracket(delta, order=order)
    except ta.NotCertified:
        return
    assert (lower.bound, upper.bound) == (ta.Bound.LOWER, ta.Bound.UPPER)
    assert (lower.beta(GRID) <= upper.beta(GRID) + 1e-15).all()
    epsilons = np.linspace(-5, 20, 80)
    assert (lower.delta(epsilons) >= upper.delta(epsilons) - 1e-14).all()
    for curve in (lower, upper):
        assert (curve.absent >= 0).all()
        assert (curve.present >= 0).all()


@given(trees, st.sampled_from([1e-2, 1e-5, 1e-10]), st.floats(2e-5, 1e-3))
@SLOW
def test_a_finer_gap_meets_a_coarser_one(mechanism, delta, gap):
    """Both hold the truth, so they overlap, and the finer is narrower."""
    try:
        coarse, fine = mechanism.bracket(delta, 10 * gap), mechanism.bracket(delta, gap)
    except ta.NotCertified:
        return
    ends = [
        (bracket.upper.epsilon(delta), bracket.lower.epsilon(delta)) for bracket in (coarse, fine)
    ]
    assert max(ends[0][0], ends[1][0]) <= min(ends[0][1], ends[1][1])
    assert ends[1][1] - ends[1][0] <= gap * max(1, ends[1][0])


@given(laws, st.floats(1e-3, 0.3), st.integers(1, 3000), st.floats(0, 6))
@SLOW
def test_no_stage_makes_negative_mass(law, mesh, times, tilt):
    pieces = discretised(law, mesh, 1e-25)
    for losses in (pieces, pieces.reflected()):
        part, revealed = losses.stronger(times)
        parts = [part, *losses.rounded(times)]
        assert revealed >= 0
        for each in parts:
            assert (each.masses >= 0).all()
        assert part.masses.sum() >= 1 - 1e-12
        assert parts[1].masses.sum() >= 1
        assert parts[2].masses.sum() <= 1 + 1e-15
        try:
            total = composed([part], mesh, min(tilt, 20 / mesh))
        except ta.NotCertified:
            continue
        assert (total.masses >= 0).all()
        assert total.masses.sum() <= 1 + total.masses.size * total.error + 1e-9


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=9).filter(lambda x: sum(x) > 0.1),
    st.integers(-4, 4),
    st.integers(1, 12),
    st.floats(0, 8),
)
@SLOW
def test_sums_hold_plain_convolution(weights, start, times, tilt):
    masses = np.array(weights) / sum(weights)
    law = composed([GridMasses(start, masses, times)], 0.25, tilt)
    total = np.ones(1)
    for _ in range(times):
        total = np.convolve(total, masses)
    index = start * times + np.arange(total.size)
    for at in range(index[0] - 2, index[-1] + 2):
        asked, tail = np.array([float(at)]), float(total[index > at].sum())
        assert law.least_above(asked)[0] <= tail * (1 + 1e-13)
        assert tail * (1 - 1e-13) <= law.most_above(asked)[0]


@st.composite
def taken(draw, mechanisms):
    """A step as people take it: on all of the data or a sample, once or a few times."""
    mechanism, rate = draw(mechanisms), draw(st.sampled_from([1.0, 0.9, 0.3, 0.01, 1e-3]))
    times = draw(st.sampled_from([1, 1, 2, 7]))
    try:
        return mechanism.sampled(rate).repeated(times)
    except (ta.Unsupported, ta.InvalidArgument):  # no sampling for this one
        return mechanism.repeated(times)


@pytest.mark.parametrize("kind", list(MECHANISM_FAMILIES), ids=lambda kind: kind.__name__)
def test_sides_are_in_order_and_hold_the_curve(kind):
    """Whatever stands beside it. Where a curve is exact, it lies between."""
    others = st.lists(taken(any_mechanism()), max_size=2)

    @given(taken(MECHANISM_FAMILIES[kind]), others, deltas, orders)
    @WIDE
    def check(first, rest, delta, order):
        try:
            alike = [step for step in rest if step.neighbours is first.neighbours]
            mechanism = ta.compose([first, *alike])
            bracket = mechanism.bracket(delta, order=order)
        except (ta.NotCertified, ta.Unsupported, ta.InvalidArgument):
            assume(False)
        check_order(bracket, delta)
        try:
            check_holds(bracket, mechanism.curve(order), delta)
        except ta.NotCertified:
            return

    check()


def check_order(bracket, delta):
    lower, upper = bracket
    asked = np.array([delta, 0.5, 1e-2, 1e-5, 1e-9, 1e-20])
    assert (upper.epsilon(asked) <= lower.epsilon(asked) * (1 + 1e-14) + 1e-14).all()
    assert (lower.beta(GRID) <= upper.beta(GRID) * (1 + 1e-13) + 2e-15).all()
    assert (upper.tpr(GRID) <= lower.tpr(GRID) * (1 + 1e-13)).all()


def check_holds(bracket, curve, delta):
    if curve.bound is not ta.Bound.EXACT:
        return
    lower, upper = bracket
    epsilon, beta = curve.epsilon(delta), curve.beta(ALPHA)
    assert upper.epsilon(delta) <= epsilon * (1 + NEAR) + NEAR
    assert epsilon * (1 - NEAR) - NEAR <= lower.epsilon(delta)
    assert (lower.beta(ALPHA) <= beta * (1 + NEAR) + 1e-12).all()
    assert (beta <= upper.beta(ALPHA) * (1 + NEAR) + 1e-12).all()


@pytest.mark.parametrize(
    "mechanism",
    [
        ta.DiscreteLaplace(5.0, 3).then(ta.Laplace(10.0).sampled(0.01)),
        ta.Laplace(1e8, neighbours=ta.Neighbours.REPLACE).sampled(0.01).repeated(10),
    ],
    ids=["a tilt that no double follows", "losses of 1e-8"],
)
@pytest.mark.parametrize("order", [None, *ta.Order])
def test_sides_that_once_were_not_in_order(mechanism, order):
    check_order(mechanism.bracket(order=order), 1e-5)


@pytest.mark.parametrize("tilt", [0.0, 3.0, 300.0, 20_000.0])
def test_sums_hold_the_truth_however_far_they_are_tilted(tilt):
    """Tilted to the end of a long grid, all that lies above its start is less than any double."""
    masses = np.zeros(1001)
    masses[[0, 400, 500, 1000]] = 0.3, 0.2, 0.4999, 1e-4
    total = composed([GridMasses(-500, masses, 1)], 1e-3, tilt)
    for at in np.arange(-603.0, 504.0, 3):
        asked, above = np.array([at]), masses[np.arange(-500, 501) > at]
        excess = masses @ np.maximum(-np.expm1((at - np.arange(-500, 501)) * 1e-3), 0.0)
        assert total.least_above(asked)[0] <= above.sum() <= total.most_above(asked)[0]
        assert excess <= total.most_excess(asked)[0]


@pytest.mark.parametrize("order", [None, *ta.Order])
def test_equal_steps_apart_or_together(order):
    step = ta.Gaussian(1).sampled(0.02)
    together = step.repeated(60).bracket(order=order)
    apart = ta.compose([step.repeated(25), step.repeated(35)]).bracket(order=order)
    assert together.lower.epsilon(1e-5) == apart.lower.epsilon(1e-5)
    assert together.upper.epsilon(1e-5) == apart.upper.epsilon(1e-5)
