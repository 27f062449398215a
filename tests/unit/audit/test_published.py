"""Other tools' bounds: naive references, edges, and that none calls itself exact."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, hypergeom, norm

from tellapart.audit import published
from tellapart.audit.bounds import Basis
from tellapart.audit.counts.attack_counts import Counts
from tellapart.errors import InvalidArgument


@pytest.mark.parametrize(("hits", "alarms", "n", "epsilon"), [(9, 2, 12, 0.0), (30, 4, 40, 0.7)])
def test_statdp_is_the_plain_double_sum(hits, alarms, n, epsilon):
    thinned = np.arange(hits + 1)
    p = hypergeom.sf(thinned - 1, 2 * n, n, thinned + alarms)
    naive = np.sum(binom.pmf(thinned, hits, math.exp(-epsilon)) * p)
    found = published.statdp_p_value(Counts(hits, n, alarms, n), epsilon=epsilon)
    assert found == pytest.approx(naive, rel=1e-10)


def test_statdp_has_an_answer_at_the_edges():
    assert published.statdp_p_value(Counts(0, 5, 0, 5)) == pytest.approx(1)
    assert published.statdp_p_value(Counts(5, 5, 5, 5)) == pytest.approx(1)
    assert published.statdp_p_value(Counts(5, 5, 0, 5)) == pytest.approx(1 / math.comb(10, 5))
    with pytest.raises(InvalidArgument, match="counts must have as many"):
        published.statdp_p_value(Counts(1, 2, 1, 3))


@pytest.mark.parametrize("laws", [(1.0, 1.0, 0.0, 1.0), (0.3, 1.5, 0.0, 1.0), (0.0, 0.5, 0.2, 0.9)])
def test_two_gaussians_leave_delta_above_epsilon(laws):
    m, s, n, t = laws
    epsilon = published.two_gaussians_epsilon(*laws, delta=0.01)
    x = np.linspace(-20, 20, 400_001)
    one, two = norm.pdf(x, m, s), norm.pdf(x, n, t)
    both = [np.maximum(a - math.exp(epsilon) * b, 0) for a, b in ((one, two), (two, one))]
    assert max(np.trapezoid(side, x) for side in both) == pytest.approx(0.01, abs=1e-8)


def test_equal_laws_need_no_epsilon():
    assert published.two_gaussians_epsilon(1, 2, 1, 2, delta=1e-5) == 0


def test_katz_is_asymptotic_and_silent_without_accused():
    assert published.katz_log_epsilon(Counts(5, 10, 1, 10)).basis is Basis.ASYMPTOTIC
    assert published.katz_log_epsilon(Counts(5, 10, 0, 10)).value == 0
    assert published.katz_log_epsilon(Counts(0, 10, 5, 10)).value == 0


def test_no_discrepancy_of_a_kernel_in_the_unit_interval_exceeds_the_root_of_two():
    assert published.mmd_threshold(50) <= math.sqrt(2) < published.dp_auditorium_mmd_threshold(0.9)
    assert published.mmd_threshold(0) == 0
    tv, _ = quad(lambda x: max(norm.pdf(x, 1) - norm.pdf(x), 0), -10, 10)
    assert published.mmd_threshold(0, delta=tv) == pytest.approx(math.sqrt(2) * tv)


def test_wrong_tables_are_named():
    with pytest.raises(InvalidArgument, match="order must be 1, 2 or 4"):
        published.exchangeable_limits([[0, 1]], order=3)
    with pytest.raises(InvalidArgument, match="tests must be a table with at least 4 columns"):
        published.exchangeable_limits([[0, 1]], order=4)
