"""An unknown prior: what is refused, and what a measure of one's own must keep."""

from __future__ import annotations

import re

import pytest

import tellapart as ta
from tellapart import risk
from tellapart.worlds.adversary import PriorRange

CURVE = ta.Laplace(1).curve()
ABOUT = PriorRange(0.1, 0.6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PriorRange(0.3, 0.2), "low must be at most high (0.2), got 0.3"),
        (
            lambda: ABOUT.defender_bound(CURVE, 3),
            "measure must be a function of a curve and a prior, got 3",
        ),
        (
            lambda: ABOUT.defender_bound(CURVE, risk.advantage),
            "measure must take prior, as risk.ppv does, got 'advantage'",
        ),
        (
            lambda: ABOUT.attacker_guarantee(CURVE, risk.ppv),
            "fpr must be given, as ppv takes it: write fpr=...",
        ),
        (
            lambda: ABOUT.defender_bound(CURVE, risk.bayes_error),
            "measure must be larger for a stronger attacker, as risk.accuracy is, "
            "got 'bayes_error'",
        ),
        (
            lambda: ABOUT.defender_bound(CURVE, risk.accuracy, prior=0.2),
            "prior must be left to the range, got 0.2",
        ),
        (
            lambda: ABOUT.defender_bound(CURVE, lambda curve, prior: [prior]),
            "<lambda> of a curve must be a number, got [0.1]",
        ),
        (
            lambda: ABOUT.defender_bound(1, risk.accuracy),
            "curve must be a TradeoffCurve (a mechanism's is mechanism.curve()), got 1",
        ),
    ],
)
def test_bad_input_is_refused_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}$"):
        call()


def test_a_measure_of_your_own_that_grows_is_bounded():
    def lift(curve, prior):
        return risk.ppv(curve, fpr=0.1, prior=prior) ** 2

    assert ABOUT.defender_bound(CURVE, lift) == lift(CURVE, 0.6)
    assert ABOUT.attacker_guarantee(CURVE, lift) == lift(CURVE, 0.1)


@pytest.mark.parametrize("at", [0.1031, 0.15, 0.2718, 0.31, 0.4444, 0.5, 0.5969])
def test_a_dip_anywhere_inside_the_range_is_found(at):
    """Also between eighths of the range, where the ends alone look as if it grew."""

    def dented(curve, prior):
        return prior - 0.1 * (abs(prior - at) < 0.003)

    with pytest.raises(ta.InvalidArgument, match="measure must grow with the prior"):
        ABOUT.defender_bound(CURVE, dented)


def test_a_dip_at_tiny_priors_is_found():
    def dented(curve, prior):
        return prior + (1e-9 < prior < 2e-9)

    with pytest.raises(ta.InvalidArgument, match="measure must grow with the prior"):
        PriorRange(1e-12, 0.5).defender_bound(CURVE, dented)


def test_a_range_of_one_prior_is_that_prior():
    about = PriorRange(0.3, 0.3)
    for measure in (risk.accuracy, risk.f_score):
        value = measure(CURVE, prior=0.3)
        assert about.defender_bound(CURVE, measure) == value
        assert about.attacker_guarantee(CURVE, measure) == pytest.approx(value, rel=1e-15)


def test_nothing_hidden_leaves_no_error():
    open_book = ta.guarantee(mu=float("inf"))
    assert PriorRange(0, 1).attacker_guarantee(open_book, risk.accuracy) == 1
    assert PriorRange(0, 1).attacker_guarantee(ta.guarantee(0), risk.accuracy) == pytest.approx(0.5)
