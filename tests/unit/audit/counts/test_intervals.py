"""Bounds from Clopper-Pearson limits: full enumeration of small audits, and the edges."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart.audit.bounds import Basis
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.buehler import Ranking, berger_boos_epsilon
from tellapart.audit.counts.clopper_pearson import delta_lower, gaussian_epsilon, mu_lower
from tellapart.audit.counts.intervals import (
    box_epsilon,
    buehler_epsilon,
    clopper_pearson,
    clopper_pearson_epsilon,
)
from tellapart.errors import InvalidArgument


def _all(method, members, others, **options):
    rows = range(members + 1), range(others + 1)
    found = [
        [method(Counts(i, members, j, others), **options).value for j in rows[1]] for i in rows[0]
    ]
    return np.array(found)


def _wrong(bounds, truth, fpr, tpr):
    """How often a bound above the truth comes out, at each pair of rates."""
    members, others = bounds.shape[0] - 1, bounds.shape[1] - 1
    one = binom.pmf(np.arange(members + 1), members, tpr[:, None])
    two = binom.pmf(np.arange(others + 1), others, fpr[:, None])
    return np.einsum("ki,ij,kj->k", one, bounds > truth, two)


def _truths(bounds):
    """Just below each value a method can give it overclaims most often."""
    values = np.unique(bounds)
    return np.unique(np.append(values[values > 0] - 1e-9, [0.0, 0.1, 1.0]))


FPR = np.concatenate([[0, 1e-6, 1e-4], np.linspace(0.002, 1, 500)])


@pytest.mark.parametrize(
    ("method", "members", "non_members", "delta", "confidence"),
    [
        (clopper_pearson_epsilon, 12, 12, 0.0, 0.95),
        (clopper_pearson_epsilon, 5, 12, 0.1, 0.8),
        (buehler_epsilon, 4, 6, 0.0, 0.8),
        (buehler_epsilon, 6, 4, 0.05, 0.9),
        (berger_boos_epsilon, 4, 6, 0.0, 0.8),
        (berger_boos_epsilon, 8, 7, 0.05, 0.9),
        (partial(berger_boos_epsilon, ranking=Ranking.BOX), 6, 4, 0.05, 0.9),
    ],
)
def test_exact_methods_keep_their_level(method, members, non_members, delta, confidence):
    bounds = _all(method, members, non_members, delta=delta, confidence=confidence)
    assert bounds.max() > 0.2
    worst = 0.0
    for truth in _truths(bounds):
        tpr = np.asarray(ta.guarantee(truth, delta).tpr(FPR))
        worst = max(worst, _wrong(bounds, truth, FPR, tpr).max())
    assert worst <= 1 - confidence + 1e-12
    if method is buehler_epsilon:  # and spend it, but for the last digit of ε
        assert worst >= 0.9 * (1 - confidence)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_delta_and_mu_keep_their_level(confidence):
    for epsilon in (0.0, 1.0):
        bounds = _all(delta_lower, 9, 8, epsilon=epsilon, confidence=confidence)
        for truth in _truths(bounds):
            tpr = np.asarray(ta.guarantee(epsilon, min(truth, 1)).tpr(FPR))
            assert _wrong(bounds, truth, FPR, tpr).max() <= 1 - confidence
    bounds = _all(mu_lower, 9, 8, confidence=confidence)
    for truth in _truths(bounds):
        tpr = np.asarray(ta.guarantee(mu=truth).tpr(FPR))
        assert _wrong(bounds, truth, FPR, tpr).max() <= 1 - confidence


def test_an_attack_worse_than_a_coin_proves_no_mu():
    assert mu_lower(Counts(0, 100, 100, 100)).value == 0
    assert mu_lower(Counts(40, 100, 60, 100)).value == 0
    assert mu_lower(Counts(100, 100, 100, 100)).value == 0


def test_gaussian_epsilon_is_the_sound_side_of_its_mu():
    counts = Counts(500, 1000, 50, 1000)
    bound = gaussian_epsilon(counts, delta=1e-5)
    curve = ta.guarantee(mu=mu_lower(counts).value)
    assert curve.delta(bound.value) >= 1e-5
    assert curve.delta(bound.value + 1e-9) <= 1e-5
    assert bound.basis is Basis.GAUSSIAN
    assert gaussian_epsilon(counts, delta=0).value == math.inf
    assert gaussian_epsilon(counts, delta=1).value == 0
    assert gaussian_epsilon(Counts(0, 9, 9, 9), delta=0.0).value == 0


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.999, 1.0])
@pytest.mark.parametrize(
    "counts",
    [Counts(0, 5, 5, 5), Counts(5, 5, 0, 5), Counts(1, 1, 0, 1), Counts(10**15, 10**15, 0, 10**15)],
)
def test_extreme_counts_have_an_answer(counts, delta):
    found = clopper_pearson_epsilon(counts, delta=delta).value
    assert 0 <= found < 40
    assert box_epsilon(counts, delta=delta) >= found
    assert 0 <= delta_lower(counts, epsilon=delta).value <= 1
    if delta == 1:
        assert found == 0


def test_delta_at_an_endless_epsilon_is_what_no_epsilon_explains():
    assert delta_lower(Counts(100, 100, 0, 100), epsilon=math.inf).value == 0
    assert delta_lower(Counts(100, 100, 0, 100), epsilon=1e4).value == 0


def test_opposite_counts_prove_the_same():
    counts = Counts(9998, 10000, 9000, 10000)
    for method in (clopper_pearson_epsilon, mu_lower):
        assert method(counts.opposite()).value == pytest.approx(method(counts).value, rel=1e-12)


def test_bad_arguments_are_named():
    with pytest.raises(InvalidArgument, match="successes must be at most trials = 3"):
        clopper_pearson(4, 3, confidence=0.95)
    with pytest.raises(InvalidArgument, match="confidence must lie strictly"):
        clopper_pearson_epsilon(Counts(1, 2, 1, 2), confidence=1.0)
    with pytest.raises(InvalidArgument, match="delta must lie in"):
        clopper_pearson_epsilon(Counts(1, 2, 1, 2), delta=-0.1)
    with pytest.raises(InvalidArgument, match="epsilon must be at least 0"):
        delta_lower(Counts(1, 2, 1, 2), epsilon=-1)


@pytest.mark.parametrize("precision", [0.501, 0.7, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("recall", [0.0, 0.0123, 0.3337, 0.5, 1.0])
def test_published_figures_are_read_as_no_stronger_attack(precision, recall):
    members, others = 997, 1009
    counts = Counts.from_precision_recall(
        precision=precision, recall=recall, members=members, non_members=others
    )
    falsely = recall * members * (1 - precision) / precision
    assert recall * members - 1 < counts.true_positives <= recall * members + 1e-9
    assert falsely - 1e-9 <= counts.false_positives < falsely + 1


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("counts", [Counts(90, 100, 10, 100), Counts(12, 40, 30, 50)], ids=str)
def test_a_box_holds_every_pair_of_likely_rates(counts, delta):
    found = box_epsilon(counts, delta=delta, confidence=0.9)
    fpr = clopper_pearson(counts.false_positives, counts.non_members, confidence=0.9)
    tpr = clopper_pearson(counts.true_positives, counts.members, confidence=0.9)
    promise = ta.guarantee(epsilon=found, delta=delta)
    for at in np.linspace(*fpr, 9):
        assert promise.mirrored().tpr(1 - tpr[0]) >= 1 - at - 1e-9
        assert promise.tpr(at) >= tpr[1] - 1e-9
