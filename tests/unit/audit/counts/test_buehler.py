"""The exact bounds beside naive double sums, and never below Clopper-Pearson."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import beta, binom

import tellapart as ta
from tellapart._numeric.binomial import lower_limit, upper_limit
from tellapart.audit import Counts
from tellapart.audit.counts import clopper_pearson, exact_tails, score
from tellapart.audit.counts.buehler import Ranking, berger_boos_epsilon, buehler_p_value
from tellapart.audit.counts.clopper_pearson import Forms
from tellapart.audit.counts.intervals import buehler_epsilon, clopper_pearson_epsilon
from tellapart.errors import InvalidArgument

berger_boos_box = partial(berger_boos_epsilon, ranking=Ranking.BOX)
BOX_BOUNDS = [buehler_epsilon, berger_boos_box]
ALL_BOUNDS = [*BOX_BOUNDS, berger_boos_epsilon]


def _scores(members, others, delta, level, forms, ranking):
    """T of every outcome, by its definition."""
    if ranking is Ranking.SCORE:
        return _score_bounds(members, others, delta, level, forms)
    x1, x0 = np.arange(members + 1), np.arange(others + 1)
    tpr = np.append(0.0, beta.ppf(level / 2, x1[1:], members - x1[1:] + 1))
    fpr = np.append(beta.ppf(1 - level / 2, x0[:-1] + 1, others - x0[:-1]), 1.0)
    with np.errstate(all="ignore"):
        first = np.log(np.maximum(tpr[:, None] - delta, 0) / fpr)
        second = np.log(np.maximum(1 - fpr - delta, 0) / (1 - tpr[:, None]))
    return first if forms is Forms.FLAGGED else np.maximum(first, second)


def _score_bounds(members, others, delta, level, forms):
    found = np.zeros((members + 1, others + 1))
    for i, j in np.ndindex(found.shape):
        one = Counts(i, members, j, others)
        found[i, j] = score.score_bound(one, delta, level)
        if forms is Forms.BOTH:
            found[i, j] = max(found[i, j], score.score_bound(one.opposite(), delta, level))
    return found


def _naive_chance(counts, delta, level, forms, fpr, tpr, scores=None):
    """P[T ≥ T_obs] for each FPR and its TPR, by the full double sum."""
    if scores is None:
        scores = _scores(counts.members, counts.non_members, delta, level, forms, Ranking.BOX)
    inside = scores >= scores[counts.true_positives, counts.false_positives] - 1e-9
    one = binom.pmf(np.arange(counts.members + 1), counts.members, tpr[:, None])
    two = binom.pmf(np.arange(counts.non_members + 1), counts.non_members, fpr[:, None])
    return np.einsum("ki,ij,kj->k", one, inside, two)


def _naive_tpr(epsilon, delta, forms, fpr):
    if forms is Forms.BOTH:
        return ta.guarantee(epsilon, delta).tpr(fpr)
    return np.minimum(np.exp(epsilon) * fpr + delta, 1)


def _naive_span(counts, level):
    price = level**2 / 8
    k, n = counts.false_positives, counts.non_members
    low = beta.ppf(price, k, n - k + 1) if k else 0.0
    return low, beta.ppf(1 - price, k + 1, n - k) if k < n else 1.0


def _naive_epsilon(counts, delta, level, forms, restricted, ranking):
    scores = _scores(counts.members, counts.non_members, delta, level, forms, ranking)
    span = _naive_span(counts, level) if restricted else (0.0, 1.0)
    target = level - level**2 / 4 if restricted else level
    grid = np.sin(np.linspace(*np.arcsin(np.sqrt(span)), 1001)) ** 2

    def worst(e):
        corner = (1 - delta) * (math.exp(-e) if forms is Forms.FLAGGED else 1 / (1 + math.exp(e)))
        fpr = np.append(grid, np.clip(corner, *span))
        tpr = _naive_tpr(e, delta, forms, fpr)
        return np.max(_naive_chance(counts, delta, level, forms, fpr, tpr, scores))

    if worst(0.0) > target:
        return 0.0
    low, high = 0.0, 20.0
    while high - low > 5e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if worst(middle) <= target else (low, middle)
    return low


def _agrees(counts, delta, confidence, method, forms, ranking=Ranking.BOX):
    found = method(counts, delta=delta, confidence=confidence, forms=forms).value
    restricted = method is not buehler_epsilon
    naive = _naive_epsilon(counts, delta, 1 - confidence, forms, restricted, ranking)
    # A grid misses the worst FPR by a little, so the naive bound may only be larger; and of what
    # is gained a thousandth is given up for speed where the FPR is restricted.
    return naive - (2e-3 if restricted else 2e-5) <= found <= naive + 1e-6


@pytest.mark.parametrize("forms", Forms)
@pytest.mark.parametrize("method", BOX_BOUNDS)
@pytest.mark.parametrize(
    ("counts", "delta", "confidence"),
    [
        (Counts(9, 10, 0, 10), 0.0, 0.95),
        (Counts(20, 25, 3, 40), 1e-3, 0.9),
        (Counts(30, 30, 10, 20), 0.05, 0.95),
        (Counts(12, 60, 0, 15), 0.0, 0.99),
    ],
)
def test_the_bound_is_the_naive_one(counts, delta, confidence, method, forms):
    assert _agrees(counts, delta, confidence, method, forms)


@pytest.mark.parametrize("forms", Forms)
@pytest.mark.parametrize(
    ("counts", "delta"), [(Counts(9, 10, 0, 10), 0.0), (Counts(13, 15, 4, 12), 0.05)]
)
def test_the_bound_by_scores_is_the_naive_one(counts, delta, forms):
    assert _agrees(counts, delta, 0.95, berger_boos_epsilon, forms, Ranking.SCORE)


def test_the_chance_of_a_region_is_the_double_sum():
    counts = Counts(20, 25, 3, 40)
    rule = clopper_pearson.clopper_pearson_order(counts, 1e-3, 0.05, Forms.BOTH)
    region = exact_tails.region(25, 40, rule, exact_tails.Span(), 0.05)
    fpr = np.linspace(0, 1, 33)
    tpr = ta.guarantee(1.0, 1e-3).tpr(fpr)
    naive = _naive_chance(counts, 1e-3, 0.05, Forms.BOTH, fpr, tpr)
    found = exact_tails.probability(region, fpr, tpr)
    assert np.all(found >= naive - 1e-14)
    assert np.all(found <= naive + 1e-6 * 0.05)


def test_blocks_only_make_a_region_likelier_and_hardly():
    n = 20_000
    counts = Counts(9_000, n, 6_000, n)
    rule = clopper_pearson.clopper_pearson_order(counts, 0.0, 0.05, Forms.BOTH)
    span = exact_tails.Span(0.28, 0.32)
    blocks = exact_tails.region(n, n, rule, span, 0.05)
    every = np.arange(n + 1.0)
    single = exact_tails.Region(n, n, every, rule(every), 0.05)
    assert blocks.starts.size < n / 5
    fpr = np.linspace(*span, 7)
    tpr = 1.47 * fpr
    fine, coarse = (exact_tails.probability(one, fpr, tpr) for one in (single, blocks))
    assert np.all(coarse >= fine * (1 - 1e-6))
    assert np.all(coarse <= fine * 1.1 + 1e-9)


def some_counts(most):
    def fill(sizes):
        one, two = sizes
        return st.builds(
            Counts, st.integers(0, one), st.just(one), st.integers(0, two), st.just(two)
        )

    return st.tuples(st.integers(1, most), st.integers(1, most)).flatmap(fill)


@settings(max_examples=25, deadline=None)
@given(
    counts=some_counts(60),
    delta=st.sampled_from([0.0, 1e-5, 0.1, 0.999, 1.0]),
    confidence=st.floats(0.5, 0.999),
    method=st.sampled_from(BOX_BOUNDS),
)
def test_never_below_clopper_pearson(counts, delta, confidence, method):
    box = clopper_pearson_epsilon(counts, delta=delta, confidence=confidence)
    assert method(counts, delta=delta, confidence=confidence).value >= box.value


@pytest.mark.parametrize("method", ALL_BOUNDS)
def test_the_largest_audits_have_an_answer(method):
    for counts in (Counts(3_000_000, 10**7, 10**5, 10**7), Counts(10**15, 10**15, 0, 10**15)):
        box = clopper_pearson_epsilon(counts, delta=1e-5).value
        point = math.log((counts.tpr - 1e-5) / counts.fpr) if counts.fpr else math.inf
        least = 0.999 * box if method is berger_boos_epsilon else box
        assert least <= method(counts, delta=1e-5).value <= point


@pytest.mark.parametrize("confidence", [0.05, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("delta", [0.0, 0.999, 1.0])
@pytest.mark.parametrize(
    "counts", [Counts(0, 5, 5, 5), Counts(5, 5, 0, 5), Counts(1, 1, 0, 1), Counts(2, 2, 0, 10**6)]
)
def test_extreme_counts_have_an_answer(counts, delta, confidence):
    for method in ALL_BOUNDS:
        found = method(counts, delta=delta, confidence=confidence).value
        assert 0 <= found < 50
        assert found == 0 or delta < 1


def test_likely_rates_prove_more_where_many_are_asked():
    counts = Counts(2275, 10**5, 135, 10**5)
    assert berger_boos_epsilon(counts, delta=1e-5).value > 2.677
    assert berger_boos_box(counts, delta=1e-5).value > 2.675
    assert clopper_pearson_epsilon(counts, delta=1e-5).value < 2.615


@pytest.mark.parametrize("likely", [True, False])
def test_p_values_are_upper_bounds_and_sharp_below_the_level(likely):
    counts, level = Counts(20, 25, 3, 40), 0.05
    price = level**2 / 4 if likely else 0.0
    span = _naive_span(counts, level) if likely else (0.0, 1.0)
    fpr = np.sin(np.linspace(*np.arcsin(np.sqrt(span)), 4001)) ** 2
    seen = []
    for curve in [ta.guarantee(e, 1e-3) for e in (0.3, 1.0, 1.1)] + [ta.guarantee(mu=1.0)]:
        naive = price + np.max(
            _naive_chance(counts, 0.0, level, Forms.BOTH, fpr, np.asarray(curve.tpr(fpr)))
        )
        found = buehler_p_value(counts, curve.tpr, likely=likely, ranking=Ranking.BOX)
        assert found >= naive - 1e-12
        if naive < level / 1.06:
            assert found <= 1.06 * naive
            seen.append(found)
    assert len(seen) >= 2


@pytest.mark.parametrize("ranking", Ranking)
@pytest.mark.parametrize("curve", [ta.guarantee(mu=0.8), ta.guarantee(0.7, 0.05)])
def test_p_values_refute_true_claims_no_more_often_than_they_say(curve, ranking):
    members, others, level = 7, 6, 0.2
    refuted = np.zeros((members + 1, others + 1))
    for i, j in np.ndindex(refuted.shape):
        p = buehler_p_value(
            Counts(i, members, j, others), curve.tpr, confidence=1 - level, ranking=ranking
        )
        refuted[i, j] = p <= level
    fpr = np.linspace(0, 1, 1001)
    one = binom.pmf(np.arange(members + 1), members, np.asarray(curve.tpr(fpr))[:, None])
    two = binom.pmf(np.arange(others + 1), others, fpr[:, None])
    wrong = np.einsum("ki,ij,kj->k", one, refuted, two).max()
    assert 0.02 < wrong <= level


def test_a_claim_that_allows_everything_is_never_refuted():
    everything = ta.guarantee(mu=math.inf)
    assert buehler_p_value(Counts(100, 100, 0, 100), everything.tpr) == 1
    assert buehler_p_value(Counts(0, 100, 100, 100), ta.guarantee(0.1).tpr) == 1


def test_bad_arguments_are_named():
    with pytest.raises(InvalidArgument, match="forms must be Forms"):
        buehler_epsilon(Counts(1, 2, 1, 2), forms="both")
    with pytest.raises(InvalidArgument, match="delta must lie in"):
        buehler_epsilon(Counts(1, 2, 1, 2), delta=2)
    with pytest.raises(InvalidArgument, match="confidence must lie strictly"):
        buehler_p_value(Counts(1, 2, 1, 2), lambda fpr: fpr, confidence=1)


@pytest.mark.parametrize("n", [40, 3000, 10**6])
def test_a_region_of_everything_is_sure(n):
    """Whatever lies beyond the window is counted as if it incriminated."""
    region = exact_tails.region(n, n, np.zeros_like, exact_tails.Span(), 0.05)
    fpr = np.array([0.0, 1e-6, 0.01, 0.3, 0.9, 1.0])
    assert np.all(exact_tails.probability(region, fpr, np.sqrt(fpr)) >= 1 - 1e-9)


CLAIMS = [
    ta.guarantee(mu=0.7),
    ta.guarantee(0.9, 1e-5),
    ta.guarantee(0.3, 0.1),
    ta.Laplace(scale=0.8).curve(),
    ta.dp_sgd(noise_multiplier=1.1, sampling_rate=0.1, steps=20).curve(),
    ta.worst_case([ta.guarantee(2.0), ta.guarantee(0.1, 0.3)]),
]


@settings(max_examples=60, deadline=None)
@given(
    counts=st.one_of(some_counts(20), some_counts(300)),
    claim=st.sampled_from(CLAIMS),
    ends=st.tuples(*2 * [st.integers(0, 10**9).map(lambda whole: whole / 10**9)])
    .map(sorted)
    .filter(lambda two: two[0] < two[1]),
    parts=st.integers(1, 40),
)
def test_straight_paths_lie_over_claims_and_bound_a_region_between_their_ends(
    counts, claim, ends, parts
):
    """At no FPR between is the claim's TPR higher, or the region likelier on the path."""
    region = _region(counts, exact_tails.Span(*ends))
    edges = np.linspace(*ends, parts + 1)
    low, high = edges[:-1], edges[1:]
    paths = exact_tails.straight_paths(region, claim.tpr, low, high)
    bound, _ = paths.bounds(region)
    fpr = low + (high - low) * np.linspace(0, 1, 41)[:, None]
    tpr = np.asarray(claim.tpr(fpr))
    straight = paths.bend > 0
    with np.errstate(all="ignore"):
        (x, last), (y, top) = logit(paths.fpr), logit(paths.tpr)
        way = (logit(fpr) - x) / (last - x)
        path = expit(y + np.clip(way, 0, 1) * (top - y))
    path = np.where(straight, path, paths.tpr[0])
    assert np.all(path >= tpr * (1 - 1e-10))  # as far as claims have digits
    for some in (tpr, np.where(straight, path, tpr)):
        guilty = binom.sf(region.least - 1, counts.members, some[..., None])
        chance = np.sum(binom.pmf(region.starts, counts.non_members, fpr[..., None]) * guilty, -1)
        assert np.all(bound >= chance * (1 - 1e-9) - 1e-15)


@settings(max_examples=40, deadline=None)
@given(
    counts=st.one_of(some_counts(60), some_counts(5000)),
    claim=st.sampled_from(CLAIMS),
    above=st.sampled_from([1.001, 1.02, 1.5, 20.0]),
)
def test_a_certificate_bounds_every_rate_and_is_found_where_one_is_due(counts, claim, above):
    """Of a fine grid of rates none is likelier; a target above all of them is certified."""
    price = 0.05**2 / 8
    k, n = counts.false_positives, counts.non_members
    span = exact_tails.Span(float(lower_limit(k, n, price)), float(upper_limit(k, n, price)))
    region = _region(counts, span)
    fpr = np.sin(np.linspace(*np.arcsin(np.sqrt(span)), 3001)) ** 2
    worst = np.max(exact_tails.probability(region, fpr, np.asarray(claim.tpr(fpr))))
    assume(1e-3 < worst < 0.9)  # less is said of what the region's window leaves out
    proof = exact_tails.certified(region, claim.tpr, span, above * worst, 10**6)
    assert worst * (1 - 1e-4) <= proof.bound <= above * worst
    missed = exact_tails.certified(region, claim.tpr, span, 0.999 * worst, 10**6)
    assert missed.bound == math.inf


def _region(counts, span):
    assume(clopper_pearson.clopper_pearson_bound(counts, 0.0, 0.05, Forms.BOTH) > -5)
    rule = clopper_pearson.clopper_pearson_order(counts, 0.0, 0.05, Forms.BOTH)
    return exact_tails.region(counts.members, counts.non_members, rule, span, 0.05)


@pytest.mark.parametrize("above", [1.0005, 1.002, 1.02])
@pytest.mark.parametrize(
    "counts", [Counts(4974, 10**4, 1597, 10**4), Counts(1610, 10**4, 222, 10**4)]
)
def test_a_certificate_near_the_worst_rate_is_cheap(counts, above):
    """Far fewer tails than the budget: between rates the bound is of second order."""
    span = exact_tails.Span(*_naive_span(counts, 0.05))
    bound, rule = score.score_order(counts, 0.0, 0.05, Forms.BOTH)
    region = exact_tails.region(counts.members, counts.non_members, rule, span, 0.05)
    claim = ta.guarantee(bound, 1e-5).tpr
    _, worst = exact_tails.worst_fpr(region, claim, span)
    proof = exact_tails.certified(region, claim, span, above * worst, exact_tails.BUDGET)
    assert proof.bound <= above * worst
    assert proof.spent < exact_tails.BUDGET / 2
