"""The score bound: its order, its likeliest rates, and when it may call itself exact."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from tellapart.audit import Counts
from tellapart.audit.bounds import Basis
from tellapart.audit.counts import score as score_test
from tellapart.audit.counts.score import score_epsilon
from tellapart.errors import InvalidArgument


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.2])
@pytest.mark.parametrize(
    "counts", [Counts(9, 10, 2, 12), Counts(10, 10, 2, 12), Counts(3, 30, 1, 9)]
)
def test_the_likeliest_rate_is_found(counts, delta):
    ratio = math.exp(0.7)

    def unlikely(p):
        q = min(ratio * p + delta, 1.0)
        return -(
            binom.logpmf(counts.true_positives, counts.members, q)
            + binom.logpmf(counts.false_positives, counts.non_members, p)
        )

    found = score_test.constrained_fpr(
        np.array([float(counts.true_positives)]),
        np.array([float(counts.false_positives)]),
        counts,
        np.array([0.7]),
        delta,
    )[0]
    top = (1 - delta) / ratio
    naive = minimize_scalar(unlikely, bounds=(0, top), method="bounded", options={"xatol": 1e-12})
    assert unlikely(found) <= naive.fun + 1e-10


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 5.0])
def test_the_score_rises_with_true_positives_and_falls_with_false_ones_and_epsilon(epsilon, delta):
    sizes = Counts(0, 13, 0, 9)
    x1, x0 = (one.ravel().astype(float) for one in np.mgrid[0:14, 0:10])
    at = [
        score_test.score(x1, x0, sizes, np.full(x1.shape, e), delta).reshape(14, 10)
        for e in (epsilon, epsilon + 0.1)
    ]
    slack = 1e-9
    assert np.all(at[0][1:] >= at[0][:-1] - slack)
    assert np.all(at[0][:, 1:] <= at[0][:, :-1] + slack)
    positive = at[0] > 0
    assert np.all(at[1][positive] <= at[0][positive] + slack)


def test_exact_is_said_only_where_the_level_is_kept():
    """By the full double sum over all outcomes with this bound or more, at a grid of FPRs."""
    n, level, delta = 20, 0.05, 0.2
    x1, x0 = (one.ravel().astype(float) for one in np.mgrid[0 : n + 1, 0 : n + 1])
    sizes, fpr, said = Counts(0, n, 0, n), np.linspace(0, 1, 2001), []
    two = binom.pmf(np.arange(n + 1), n, fpr[:, None])
    for i in range(4, n + 1, 4):
        for j in range(0, i, 2):
            bound = score_epsilon(Counts(i, n, j, n), delta=delta, confidence=1 - level)
            if bound.value == 0:
                continue
            at = np.full(x1.shape, bound.value)
            own = score_test.score(x1, x0, sizes, at, delta).reshape(n + 1, n + 1)
            tpr = np.minimum(math.exp(bound.value) * fpr + delta, 1)
            one = binom.pmf(np.arange(n + 1), n, tpr[:, None])
            wrong = np.einsum("ki,ij,kj->k", one, own >= own[i, j] - 1e-9, two).max()
            said.append(bound.basis)
            assert (bound.basis is Basis.EXACT) == (wrong <= level)
    assert {Basis.EXACT, Basis.ASYMPTOTIC} == set(said)


def test_many_samples_are_never_called_exact_unchecked():
    assert score_epsilon(Counts(2275, 10**5, 135, 10**5), delta=1e-5).basis is Basis.ASYMPTOTIC


def test_a_score_needs_a_bar_to_clear():
    with pytest.raises(InvalidArgument, match="confidence must be at least"):
        score_epsilon(Counts(5, 5, 0, 5), confidence=0.5)


@pytest.mark.parametrize("delta", [0.0, 0.999, 1.0])
@pytest.mark.parametrize("counts", [Counts(0, 5, 5, 5), Counts(5, 5, 0, 5), Counts(1, 1, 0, 1)])
def test_extreme_counts_have_an_answer(counts, delta):
    bound = score_epsilon(counts, delta=delta)
    assert 0 <= bound.value < 50
    if delta == 1:
        assert bound.value == 0


@given(
    st.tuples(*[st.integers(1, 10**6)] * 2),
    st.tuples(*[st.floats(0, 1)] * 2),
    st.floats(0, 30),
)
def test_without_delta_the_likeliest_rate_is_that_of_a_delta_of_nearly_nothing(sizes, shares, e):
    """A closed form for the one, a search for the other: at corners, ties and beyond, too."""
    members, non_members = sizes
    counts = Counts(0, members, 0, non_members)
    x1, x0 = (np.round([n * share]) for n, share in zip(sizes, shares, strict=True))
    one, other = (
        score_test.constrained_fpr(x1, x0, counts, np.array([e]), delta) for delta in (0.0, 1e-300)
    )
    assert one == pytest.approx(other, rel=1e-12, abs=1e-12)
