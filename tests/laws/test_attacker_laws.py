"""What no attacker exceeds: every channel, prior and kind of guess that can be enumerated."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from examples import examples
from families import MECHANISM_FAMILIES, pmf_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import tellapart as ta
from tellapart import audit, risk
from tellapart.neighbours import Neighbours, Order
from tellapart.worlds import Channel, Independent, Sum, best_guess

ADDED, REPLACED, BLANKED = Neighbours.ADD_REMOVE, Neighbours.REPLACE, Neighbours.ZERO_OUT
BASELINES = np.array([1e-9, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999])
# Sums of a few products, and polygons that hold masses of 1e-200.
SLACK = 1e-12
some = settings(max_examples=examples(60), deadline=None)


@st.composite
def laws(draw: Any, count: int, outcomes: int) -> np.ndarray:
    """So many laws on the same outcomes, with zeros among them."""
    weight = st.one_of(st.just(0.0), st.floats(0.01, 1), st.just(1e-9))
    rows = [draw(st.lists(weight, min_size=outcomes, max_size=outcomes)) for _ in range(count)]
    table = np.array(rows) + np.eye(count, outcomes) * 1e-3
    return table / table.sum(axis=1, keepdims=True)


@st.composite
def games(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A channel from values to outputs, a law without the record, a prior, and winning guesses."""
    values, outcomes = draw(st.integers(2, 5)), draw(st.integers(2, 6))
    table = draw(laws(values + 1, outcomes)) if outcomes > values else None
    if table is None:
        table = np.vstack([draw(laws(1, outcomes)) for _ in range(values + 1)])
    prior = draw(laws(1, values))[0]
    wins = np.array(
        [draw(st.lists(st.booleans(), min_size=values, max_size=values)) for _ in range(3)]
    )
    return table[1:], table[0], prior, np.vstack([np.eye(values, dtype=bool), wins])


def best(channel: np.ndarray, prior: np.ndarray, wins: np.ndarray) -> tuple[float, float]:
    """How often the best guess wins with the output, and without."""
    with_output = np.max(wins @ (prior[:, None] * channel), axis=0).sum()
    return float(with_output), float(np.max(wins @ prior))


def envelope(pairs: Any, neighbours: Neighbours, order: Order | None) -> ta.TradeoffCurve:
    return ta.worst_case([ta.from_pmfs(p, q) for p, q in pairs]).stated(neighbours, order)


@some
@given(games())
def test_nobody_reconstructs_more_than_the_bound(game: Any) -> None:
    channel, without, prior, wins = game
    success, blind = best(channel, prior, wins)
    if not 1e-12 < blind < 1 - 1e-12:
        return
    added = [
        envelope([(without, law) for law in channel], relation, Order.PRESENT)
        for relation in (ADDED, BLANKED)
    ]
    pairs = list(itertools.permutations(channel, 2))
    replaced = envelope(pairs, REPLACED, None)
    unknown = ta.worst_case([ta.from_pmfs(without, law) for law in channel])
    for curve in (*added, added[0].mirrored(), added[0].symmetrised(), replaced, unknown):
        assert risk.reconstruction(curve, blind) >= success - SLACK


@some
@given(st.integers(2, 5).flatmap(lambda k: st.tuples(laws(k, k), laws(k, k + 2))))
def test_nobody_guesses_more_than_the_bound_for_so_many_values(channels: Any) -> None:
    for channel in channels:
        k = len(channel)
        curve = envelope(itertools.permutations(channel, 2), REPLACED, None)
        success, _ = best(channel, np.full(k, 1 / k), np.eye(k, dtype=bool))
        bound = risk.guess(curve, values=k)
        assert success - SLACK <= bound <= risk.reconstruction(curve, 1 / k) + SLACK
        if k == 2:  # tight: both are the advantage's
            assert bound == pytest.approx((1 + curve.delta(0.0)) / 2, abs=1e-9)


@some
@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=12), st.data())
def test_the_bound_is_reached_where_a_record_is_added(heights: Any, data: Any) -> None:
    """Values and outputs on a circle; each value's likelihood ratio falls from it on."""
    falling = np.sort(np.array(heights))[::-1] / np.sum(heights)
    size = falling.size
    channel = np.array([np.roll(falling, z) for z in range(size)])
    width = data.draw(st.integers(1, size - 1))
    near = (np.arange(size)[:, None] - np.arange(size)) % size < width
    success, blind = best(channel, np.full(size, 1 / size), near)
    curve = envelope([(np.full(size, 1 / size), channel[0])], ADDED, Order.PRESENT)
    assert success == pytest.approx(risk.reconstruction(curve, blind), abs=1e-12)


@some
@given(st.integers(2, 3).flatmap(lambda m: st.tuples(laws(1 + m + m * m, 4 + m * m), laws(1, m))))
def test_nobody_singles_out_more_than_the_bound(drawn: Any) -> None:
    """Two people, every predicate up to a weight, every mechanism on at most two records."""
    table, ((law),) = drawn[0], drawn[1]
    m = law.size
    ones = {z: table[1 + z] for z in range(m)}
    twos = {(a, b): table[1 + m + m * a + b] for a in range(m) for b in range(m)}
    pairs = [(ones[other], twos[pair]) for pair in twos for other in pair]
    curve = envelope(pairs, ADDED, Order.PRESENT)
    subsets = [s for r in range(m + 1) for s in itertools.combinations(range(m), r)]
    for most in {float(law[list(s)].sum()) for s in subsets}:
        if not 1e-9 < most < 1 - 1e-9:
            continue
        joint = {pair: law[pair[0]] * law[pair[1]] * out for pair, out in twos.items()}
        allowed = [s for s in subsets if law[list(s)].sum() <= most + 1e-15]
        by_guess = [
            sum((out for (a, b), out in joint.items() if (a in s) != (b in s)), np.zeros(4 + m * m))
            for s in allowed
        ]
        success = float(np.max(by_guess, axis=0).sum())
        blind = max(float(column.sum()) for column in by_guess)
        bound = risk.singling_out(curve, weight=most, people=2)
        assert success <= bound + SLACK
        assert blind <= bound.baseline + SLACK


@pytest.mark.parametrize("kind", MECHANISM_FAMILIES, ids=lambda kind: kind.__name__)
def test_every_mechanism(kind: type) -> None:
    @settings(max_examples=examples(8), deadline=None)
    @given(MECHANISM_FAMILIES[kind])
    def check(mechanism: ta.Mechanism) -> None:
        curve = mechanism.curve()
        bounds = risk.reconstruction(curve, BASELINES)
        reference = curve._provenance.ordered or curve
        # Above blind, below what membership allows, and no less than the best test's TPR.
        advantage = risk.advantage(reference)
        assert np.all(bounds >= BASELINES)
        assert np.all(bounds <= 1)
        assert np.all(bounds - BASELINES <= advantage + 1e-9)
        assert np.all(np.diff(bounds) >= 0)
        # The gain at the FPR of the best attack on membership is its whole advantage.
        fpr = float(np.asarray(reference.rates(0.0).fpr))
        one = risk.reconstruction(curve, 0.01)
        assert one.largest_gain == pytest.approx(advantage, abs=1e-12)
        if 0 < fpr < 1:
            assert risk.reconstruction(curve, fpr).gain == pytest.approx(advantage, abs=1e-9)
        assert one.neighbours is mechanism.neighbours
        # Whoever forgets the relation is on the safe side.
        bare = ta.from_pmfs([1.0], [1.0])._provenance
        assert risk.reconstruction(curve.with_provenance(bare), 0.01) >= one * (1 - 1e-12)
        assert risk.reconstruction(curve, 0.01) == one
        if mechanism.neighbours is REPLACED:
            assert risk.guess(curve, values=10) >= 0.1
            assert risk.guess(curve, values=10) <= risk.reconstruction(curve, 0.1) * (1 + 1e-9)
        else:
            with pytest.raises(ta.Unsupported, match="neighbours that replace a record"):
                risk.guess(curve, values=10)
        single = risk.singling_out(curve, weight=1e-4, people=100)
        assert single.baseline <= single == pytest.approx(min(1, 100 * bounds[1]), rel=1e-12)

    check()


@some
@given(pmf_pairs())
def test_an_attack_on_membership_is_no_bound_on_anything_else(pair: Any) -> None:
    shown = ta.attack([(0.1, 0.5)])
    for ask in (
        lambda: risk.reconstruction(shown, 0.1),
        lambda: risk.singling_out(shown, weight=0.1, people=3),
        lambda: risk.guess(shown.stated(REPLACED), values=3),
        lambda: risk.reidentification(shown, candidates=3),
        lambda: risk.attribute_inference(shown, prior=pair[0] * 0.5 + 0.5 / pair[0].size),
    ):
        with pytest.raises(ta.Unsupported, match=r"Bound\.UPPER"):
            ask()


def test_a_bound_can_be_copied_and_stored() -> None:
    bound = risk.reconstruction(ta.Gaussian(sigma=1).sampled(0.1).curve(), 0.01)
    for again in (copy.deepcopy(bound), pickle.loads(pickle.dumps(bound))):  # noqa: S301
        assert again == bound
        assert (again.baseline, again.neighbours, again.order, again.sentence) == (
            bound.baseline,
            bound.neighbours,
            bound.order,
            bound.sentence,
        )


@pytest.mark.parametrize("k", [2, 10, 10**6])
@pytest.mark.parametrize(
    "curve",
    [
        ta.Gaussian(sigma=0.01, neighbours=REPLACED).curve(),
        ta.Laplace(scale=1 / 700, neighbours=REPLACED).curve(),
        ta.guarantee(epsilon=700, neighbours=REPLACED),
        ta.guarantee(epsilon=800, neighbours=REPLACED),
        ta.guarantee(700, 1e-5, neighbours=REPLACED),
    ],
    ids=["Gaussian", "Laplace", "pure", "beyond doubles", "with δ"],
)
def test_where_exponentials_overflow_a_guess_is_as_good_as_certain(curve: Any, k: int) -> None:
    """Never the blind value: that would promise what no such noise keeps."""
    bound = risk.guess(curve, values=k)
    assert 1 - 1e-9 <= bound <= 1
    assert bound.baseline == 1 / k


@some
@given(st.integers(2, 12), st.floats(0.01, 60))
def test_a_guess_is_no_better_than_the_bound_for_so_many_values(k: int, epsilon: float) -> None:
    """Exact M-ary success: k-ary randomised response reaches the bound, spaced answers do not."""
    uniform = [1 / k] * k
    response = ta.RandomizedResponse(epsilon=epsilon, categories=k)
    told = Channel.randomized_response(epsilon, range(k))
    success = best_guess(Independent([uniform]), Sum(), told).success
    assert risk.guess(response.curve(), values=k) >= success * (1 - 1e-15)
    assert risk.guess(response.curve(), values=k) == pytest.approx(success, rel=1e-9)
    spaced = Independent([uniform], [np.linspace(0, 1, k)])
    for noise in (
        ta.Laplace(scale=1 / epsilon, neighbours=REPLACED),
        ta.Gaussian(sigma=1 / epsilon, neighbours=REPLACED),
    ):
        success = best_guess(spaced, Sum(), noise).success
        assert risk.guess(noise.curve(), values=k) >= success - SLACK


# -- linear programs: the best channel of all that a curve allows ---------------------------------


def best_channel(curve: Any, prior: np.ndarray, replaced: bool) -> float:
    """How often the best guess is right through the worst channel that keeps the curve.

    An output may as well be the guess made from it. Variables: the laws Q_z of the guess given
    each value, R without the record, and for every pair and line the parts of Q − e^ε·R above 0,
    which sum to at most δ(ε). A polygon is kept where its own lines are.
    """
    k = prior.size
    lines = curve.losses[np.isfinite(curve.losses)]
    pairs = (
        [(z, other) for z in range(k) for other in range(k) if z != other]
        if replaced
        else [(z, k) for z in range(k)]
    )
    laws, parts = (k + 1) * k, len(pairs) * lines.size * k
    size = laws + parts
    gain = np.zeros(size)
    gain[[z * k + z for z in range(k)]] = -prior
    rows, limits = [], []
    at = laws
    for z, other in pairs:
        for line in lines:
            total = np.zeros(size)
            for y in range(k):
                row = np.zeros(size)
                row[z * k + y], row[other * k + y], row[at] = 1.0, -np.exp(line), -1.0
                total[at] = 1.0
                rows.append(row)
                limits.append(0.0)
                at += 1
            rows.append(total)
            limits.append(float(curve.delta(line)))
    sums = np.zeros((k + 1, size))
    for z in range(k + 1):
        sums[z, z * k : (z + 1) * k] = 1.0
    solved = linprog(gain, np.array(rows), limits, sums, np.ones(k + 1), method="highs")
    assert solved.status == 0
    return -float(solved.fun)


POLYGONS = {
    "pure": ta.from_pmfs([0.25, 0.75], [0.75, 0.25]),
    "with δ": ta.from_pmfs([0.1, 0.3, 0.6, 0.0], [0.0, 0.6, 0.3, 0.1]),
    "three lines": ta.from_pmfs([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]),
}


@pytest.mark.parametrize("name", POLYGONS)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_linear_program_reaches_both_bounds(name: str, k: int) -> None:
    """Of equally likely values: 1 − f(1/k) is exact for adding, the sharper one for replacing."""
    curve, uniform = POLYGONS[name], np.full(k, 1 / k)
    added, replaced = curve.stated(ADDED, Order.PRESENT), curve.stated(REPLACED)
    assert best_channel(curve, uniform, replaced=False) == pytest.approx(
        risk.reconstruction(added, 1 / k), abs=1e-9
    )
    assert best_channel(curve, uniform, replaced=True) == pytest.approx(
        risk.guess(replaced, values=k), abs=1e-9
    )


@pytest.mark.parametrize("name", POLYGONS)
def test_no_linear_program_beats_the_bound_under_a_skewed_prior(name: str) -> None:
    """With κ the likeliest value; with κ = 1/k, which is too small, it does."""
    curve, prior = POLYGONS[name], np.array([0.7, 0.2, 0.1])
    success = best_channel(curve, prior, replaced=False)
    added = curve.stated(ADDED, Order.PRESENT)
    assert success <= risk.attribute_inference(added, prior=prior) + 1e-9
    assert success > risk.reconstruction(added, 1 / 3)


# -- singling out, simulated ----------------------------------------------------------------------


def test_a_simulated_attack_singles_out_no_more_than_the_bound() -> None:
    """People in cells of a noisy histogram; the attacker describes the cell with most in it."""
    mu, people, cells, games = 3.0, 20, 400, 4_000
    draw = np.random.default_rng(3)
    where = draw.integers(0, cells, (games, people))
    counts = np.zeros((games, cells), dtype=int)
    np.add.at(counts, (np.arange(games)[:, None], where), 1)
    seen = counts + draw.normal(size=counts.shape) / mu
    alone = np.where(seen > 1.5, -np.inf, seen)  # more than one person is likely in those
    hits = counts[np.arange(games), np.argmax(alone, axis=1)] == 1
    low = audit.intervals.clopper_pearson(int(hits.sum()), games, confidence=0.999)[0]
    curve = ta.guarantee(mu=mu, neighbours=ADDED)
    bound = risk.singling_out(curve, weight=1 / cells, people=people)
    assert bound.baseline < 0.05 < curve.tpr(bound.baseline) < low <= bound
