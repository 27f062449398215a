"""Choosing a parameter: refusals, words and edges."""

from __future__ import annotations

import re

import pytest

import tellapart as ta
from tellapart import choose, risk

SMALL = choose.at_most(0.1, risk.advantage)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: choose.at_most(0.1, "advantage"),
            "measure must be a function of a curve, such as risk.advantage, got 'advantage'",
        ),
        (lambda: choose.at_most(float("nan"), risk.auc), "bound must not be NaN, got nan"),
        (
            lambda: choose.largest(ta.Laplace.with_epsilon, []),
            "limits must be a list of choose.at_most(...) or choose.at_least(...), got []",
        ),
        (
            lambda: choose.largest(ta.Laplace.with_epsilon, SMALL),
            "limits must be a list of choose.at_most(...) or choose.at_least(...), "
            "got Limit(bound=0.1, ",
        ),
        (
            lambda: choose.largest(3, [SMALL]),
            "family must be a function from a parameter to a mechanism, got 3",
        ),
        (
            lambda: choose.largest(lambda e: e, [SMALL]),
            "family must return a mechanism or a curve, got 1.0",
        ),
    ],
)
def test_bad_input_is_refused_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}"):
        call()


def test_a_limit_reads_as_it_was_asked():
    assert str(choose.at_most(0.76, risk.f_score, weight=1)) == "f_score(weight=1) ≤ 0.76"
    assert str(choose.at_least(0.4, risk.bayes_error, prior=0.5)) == "bayes_error(prior=0.5) ≥ 0.4"


def test_the_answer_says_what_binds_and_what_is_achieved():
    limits = [SMALL, choose.at_most(0.76, risk.f_score, weight=1)]
    found = choose.least(ta.Gaussian, limits)
    assert found.binding is limits[0]
    assert [limit for limit, _ in found.achieved] == limits
    assert dict(found.achieved)[SMALL] == pytest.approx(0.1, rel=1e-9)
    assert found.rounded(2) >= found.parameter


def test_a_limit_that_never_binds_is_said_not_to():
    found = choose.largest(ta.Laplace.with_epsilon, [choose.at_most(1.0, risk.advantage)])
    assert found.binding is None
    assert found.parameter >= 1e11


def test_whole_parameters_stay_whole_and_safe():
    def family(sensitivity):
        return ta.DiscreteGaussian(40.0, int(sensitivity))

    found = choose.largest(
        lambda s: family(max(1, s)), [choose.at_most(0.2, risk.advantage)], whole=True
    )
    assert found.parameter == int(found.parameter)
    assert risk.advantage(family(found.parameter).curve()) <= 0.2
    assert risk.advantage(family(found.parameter + 1).curve()) > 0.2


def test_a_measure_of_ones_own():
    def hits(curve, per_thousand):
        return 1000 * curve.tpr(per_thousand / 1000)

    found = choose.largest(ta.Laplace.with_epsilon, [choose.at_most(30, hits, per_thousand=10)])
    assert found.parameter == pytest.approx(1.0986122886681098, rel=1e-12)  # log 3


def test_infeasible_says_why():
    with pytest.raises(choose.Infeasible) as caught:
        choose.largest(ta.Laplace.with_epsilon, [choose.at_most(0.6, risk.f_score, weight=1)])
    assert str(caught.value) == (
        "infeasible: even perfect privacy (ε = 0) has f_score(weight=1) = 0.6667, "
        "and f_score(weight=1) ≤ 0.6 is asked"
    )
