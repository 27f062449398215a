"""Choosing a parameter: refusals, words and edges."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import choose, risk
from tellapart._decimals import plain_exponent
from tellapart.choose import calibrate
from tellapart.risk.catalogue import MEASURES

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
            "got choose.at_most(0.1, risk.advantage)",
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


def _own_measure(curve, a, b):
    return a + b * curve.beta(0.5)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (choose.at_most(0.76, risk.f_score, weight=1), "F-score ≤ 0.76, weight 1, prior 0.5"),
        (choose.at_least(0.4, risk.bayes_error, prior=0.1), "Bayes error ≥ 0.4, prior 0.1"),
        (choose.at_most(1, risk.epsilon, delta=1e-5), "ε ≤ 1 at δ = 1e-5"),
        (choose.at_most(0.2, risk.tpr, fpr=0.01), "TPR ≤ 0.2 at FPR 0.01"),
        (choose.at_most(0.5, risk.gdp), "μ-GDP ≤ 0.5 for FPR and FNR ≥ 1e-6"),
        (choose.at_most(3, _own_measure, a=1, b=2), "_own_measure(a=1, b=2) ≤ 3"),
    ],
)
def test_a_limit_reads_as_tables_call_the_risk(limit, words):
    assert str(limit) == words


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
    assert found.parameter >= 1e300


@pytest.mark.parametrize("unit", [1e-300, 1e-100, 1e-20, 1e-13, 1e13, 1e20, 1e100, 1e300])
@pytest.mark.parametrize("family", [ta.Laplace, ta.Gaussian])
@pytest.mark.parametrize(
    "limit",
    [choose.at_most(0.1, risk.advantage), choose.at_most(1, risk.epsilon, delta=1e-5)],
    ids=str,
)
def test_noise_follows_the_unit_of_the_answer(family, limit, unit):
    """Searched from 1e-12 to 1e12, it was "infeasible" in nanometres, or no limit bound."""
    usual = choose.least(family, [limit])
    found = choose.least(lambda noise: family(noise, sensitivity=unit), [limit])
    assert found.binding is limit
    assert found.parameter == pytest.approx(unit * usual.parameter, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_noise_of_a_composition_follows_the_unit_of_the_answer(unit):
    limit = choose.at_most(1, risk.epsilon, delta=1e-5)
    usual = choose.least(lambda noise: ta.Laplace(noise).repeated(5), [limit])
    found = choose.least(lambda noise: ta.Laplace(noise, unit).repeated(5), [limit])
    assert found.parameter == pytest.approx(unit * usual.parameter, rel=1e-8)


@pytest.mark.parametrize("bound", [1e-13, 1e-15, 1e-30, 1e-200])
def test_limits_may_be_as_small_as_a_double(bound):
    found = choose.largest(ta.Laplace.with_epsilon, [choose.at_most(bound, risk.advantage)])
    assert found.parameter == pytest.approx(2 * bound, rel=1e-9)
    found = choose.least(ta.Gaussian, [choose.at_most(bound, risk.advantage)])
    assert found.parameter == pytest.approx(1 / (bound * math.sqrt(2 * math.pi)), rel=1e-9)


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-20])
def test_a_small_delta_alone_is_no_baseline(delta):
    """(0, δ) is truly kept, however small its δ: an advantage of δ is not hidden by rounding."""
    found = choose.least(ta.Gaussian, [choose.at_most(0, risk.epsilon, delta=delta)])
    assert found.parameter == pytest.approx(1 / (delta * math.sqrt(2 * math.pi)), rel=1e-5)


def test_a_delta_alone_is_kept_by_compositions():
    """(0, δ) was infeasible, as "even perfect privacy has ε = 0, which none is shown to reach"."""
    limit = choose.at_most(0, risk.epsilon, delta=1e-3)
    found = choose.least(lambda noise: ta.Laplace(noise).repeated(20), [limit])
    same = choose.least(
        lambda noise: ta.Laplace(noise).repeated(20), [choose.at_most(1e-3, risk.advantage)]
    )
    assert found.parameter == pytest.approx(same.parameter, rel=1e-6)
    assert found.curve.epsilon(1e-3) == 0


def test_whole_numbers_are_searched_as_far_as_the_family_goes():
    """It ended at 2^40, and no limit bound."""
    found = choose.largest(
        lambda steps: ta.Gaussian(1e7).repeated(int(steps)),
        [choose.at_most(0.1, risk.advantage)],
        whole=True,
    )
    assert found.binding is not None
    assert found.parameter == pytest.approx((1e7 / 3.9789468) ** 2, rel=1e-6)


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
        "infeasible: even perfect privacy (ε = 0) has F-score = 0.6667, "
        "and F-score ≤ 0.6, weight 1, prior 0.5 is asked; ask for more than 0.6667"
    )


AT_BASELINE = {
    "ppv": choose.at_most(0.5, risk.ppv, fpr=0.01, prior=0.5),
    "rare ppv": choose.at_most(0.01, risk.ppv, fpr=0.01, prior=0.01),
    "tpr": choose.at_most(0.01, risk.tpr, fpr=0.01),
    "advantage": choose.at_most(0, risk.advantage),
    "precision": choose.at_most(0.5, risk.precision, recall=0.5, prior=0.5),
    "posterior": choose.at_most(0.5, risk.max_posterior, prior=0.5),
    "accuracy": choose.at_most(0.5, risk.accuracy, prior=0.5),
    "auc": choose.at_most(0.5, risk.auc),
    "pure epsilon": choose.at_most(0, risk.epsilon, delta=0),
    "bayes error": choose.at_least(0.5, risk.bayes_error, prior=0.5),
}


@pytest.mark.parametrize("limit", AT_BASELINE.values(), ids=list(AT_BASELINE))
@pytest.mark.parametrize(
    ("choice", "family"),
    [
        (choose.least, ta.Gaussian),
        (choose.least, ta.Laplace),
        (choose.largest, ta.guarantee),
        (choose.least, lambda scale: ta.Laplace(scale).repeated(20)),
    ],
    ids=["gaussian", "laplace", "promise", "repeated"],
)
def test_a_limit_at_its_baseline_is_said_to_lie_there(choice, family, limit):
    """Only perfect privacy keeps it: what is tried has a little more, in the seventeenth digit."""
    with pytest.raises(choose.Infeasible) as caught:
        choice(family, [limit])
    had = f"{limit.bound:.4g}"
    what = limit.stated(f"= {had}", where=False)
    assert str(caught.value) == (
        f"infeasible: even perfect privacy (ε = 0) has {what}, which none here is "
        f"shown to reach, and {limit} is asked; ask for {'less' if limit.least else 'more'} than "
        f"{had}"
    )


def test_a_limit_at_a_baseline_that_noise_reaches_is_kept():
    found = choose.least(ta.Laplace, [choose.at_most(0.9, risk.accuracy, prior=0.1)])
    assert found.parameter == pytest.approx(1 / math.log(9), rel=1e-6)


def test_limits_at_a_baseline_that_noise_reaches_stand_beside_much_smaller_ones():
    likely = choose.at_most(0.9, risk.accuracy, prior=0.1)
    found = choose.least(ta.Laplace, [likely, choose.at_most(1e-15, risk.advantage)])
    assert found.parameter == pytest.approx(0.5e15, rel=1e-9)


def test_a_limit_at_a_baseline_is_not_kept_by_rounding_beside_a_smaller_one():
    even = choose.at_most(0.5, risk.accuracy, prior=0.5)
    with pytest.raises(choose.Infeasible, match="which none here is shown to reach"):
        choose.least(ta.Laplace, [choose.at_most(1e-18, risk.advantage), even])


def test_a_limit_that_only_rounding_keeps_is_refused():
    """Noise of 4e12 keeps it, but success has three digits to tell so: no number is safe."""
    limit = choose.at_most(0.5 + 1e-13, risk.accuracy, prior=0.5)
    with pytest.raises(ta.NotCertified, match="lies too near to what perfect privacy"):
        choose.least(ta.Gaussian, [limit])


def test_a_risk_and_its_limit_are_told_apart():
    limit = choose.at_most(0.1, risk.advantage)
    with pytest.raises(choose.Infeasible) as caught:
        choose.largest(lambda epsilon: ta.guarantee(epsilon, 0.1 + 1e-13), [limit])
    assert "= 0.1000000000001, and" in str(caught.value)
    assert "≤ 0.1 is asked" in str(caught.value)


def test_a_limit_nearer_to_its_baseline_than_curves_have_digits_is_refused_at_once():
    """The search went on to noise that no double holds."""
    limit = choose.at_most(0.5 + 1e-13, risk.ppv, fpr=0.01, prior=0.5)
    with pytest.raises(ta.NotCertified, match="lies too near to what perfect privacy"):
        choose.least(lambda scale: ta.Laplace(scale).repeated(20), [limit])


# -- what binds, and which way a family moves ---------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
def test_what_binds_is_what_the_next_double_breaks(order):
    limits = [choose.at_most(0.99, risk.accuracy, prior=0.01), SMALL][::order]
    found = choose.least(ta.Gaussian, limits)
    assert found.binding is SMALL
    beyond = ta.Gaussian(math.nextafter(found.parameter, 0)).curve()
    assert [one for one in limits if one.excess(beyond) > 0] == [SMALL]


@settings(max_examples=60, deadline=None)
@given(st.floats(0.02, 0.6), st.floats(0.52, 0.98), st.floats(0.011, 0.5))
def test_the_binding_limit_is_the_one_that_binds_alone(lead, score, power):
    limits = [
        choose.at_most(lead, risk.advantage),
        choose.at_most(score, risk.accuracy, prior=0.5),
        choose.at_most(power, risk.tpr, fpr=0.01),
    ]
    alone = [choose.largest(ta.Laplace.with_epsilon, [one]).parameter for one in limits]
    found = choose.largest(ta.Laplace.with_epsilon, limits)
    assert found.parameter == min(alone)
    assert alone[limits.index(found.binding)] == min(alone)


def test_a_limit_binds_also_where_the_search_met_the_end_of_the_family():
    def family(epsilon):
        return ta.Gaussian.classic(epsilon, 1e-5)

    found = choose.largest(family, [choose.at_most(0.65, risk.accuracy, prior=0.5)])
    assert str(found.binding) == "accuracy ≤ 0.65, prior 0.5"
    ends = choose.largest(family, [choose.at_most(0.99, risk.accuracy, prior=0.5)])
    assert ends.binding is None
    with pytest.raises(ta.InvalidArgument):
        family(math.nextafter(ends.parameter, math.inf))


def test_a_limit_that_jumps_to_infinity_binds():
    def epsilon(curve):
        return curve.epsilon(1e-6)

    found = choose.largest(lambda d: ta.guarantee(1.0, min(d, 1.0)), [choose.at_most(2, epsilon)])
    assert found.parameter == 1e-6
    assert found.binding is not None


@pytest.mark.parametrize(
    ("search", "family", "limit", "answer"),
    [
        (choose.largest, lambda k: ta.DiscreteLaplace(10.0, k), 0.2, 4),
        (choose.least, lambda k: ta.RandomizedResponse(1.0, categories=k), 0.1, 16),
        (choose.largest, lambda k: ta.DiscreteGaussian(40.0, k), 0.2, 20),
    ],
)
def test_families_that_take_whole_numbers_only(search, family, limit, answer):
    found = search(family, [choose.at_most(limit, risk.advantage)], whole=True)
    step = 1 if search is choose.largest else -1
    assert found.parameter == answer
    assert (
        risk.advantage(family(answer).curve())
        <= limit
        < risk.advantage(family(answer + step).curve())
    )
    assert found.binding is not None


@pytest.mark.parametrize("bound", [0.1, 0.9])
@pytest.mark.parametrize(
    ("search", "family"),
    [(choose.largest, ta.Gaussian), (choose.least, ta.Laplace.with_epsilon)],
)
def test_a_family_that_moves_the_other_way_is_refused(search, family, bound):
    with pytest.raises(ta.NotCertified, match="do not change in one direction with it"):
        search(family, [choose.at_most(bound, risk.advantage)])


def test_a_family_that_ends_beyond_all_fractions_ends_there():
    """Its next whole number was itself, so whole numbers were asked for."""
    found = choose.largest(
        lambda epsilon: ta.Laplace.with_epsilon(epsilon, sensitivity=1e-20),
        [choose.at_most(1, risk.advantage)],
    )
    assert found.binding is None
    assert found.parameter > 1e300


@pytest.mark.parametrize("looser", [0.12, 0.6])
@pytest.mark.parametrize(
    ("search", "family", "whole"),
    [
        (choose.least, ta.Gaussian, False),
        (choose.largest, ta.Laplace.with_epsilon, False),
        (choose.largest, lambda k: ta.Gaussian(40).repeated(int(k)), True),
        (choose.least, lambda x: ta.Gaussian(x).sampled(0.01).repeated(500), False),
    ],
)
def test_what_another_limit_asks_is_the_same_begun_from_curves_that_are_known(
    search, family, whole, looser
):
    tried = []

    def counted(parameter):
        tried.append(parameter)
        return family(parameter)

    strict = search(family, [SMALL], whole=whole)
    loose = [choose.at_most(looser, risk.advantage)]
    alone = search(counted, loose, whole=whole)
    before = len(tried)
    found = calibrate.beside(counted, loose, strict, whole)
    assert (found.short, str(found.binding)) == (alone.short, str(alone.binding))
    assert found.parameter == pytest.approx(alone.parameter, rel=1e-9)
    assert len(tried) - before <= before


def test_a_measure_that_wavers_is_refused():
    def wavering(curve):
        return math.sin(40 * risk.advantage(curve))

    with pytest.raises(ta.NotCertified, match="do not change in one direction"):
        choose.largest(ta.Laplace.with_epsilon, [choose.at_most(0.5, wavering)])


def test_a_limit_so_near_to_none_that_digits_end_is_said_to_be():
    """The ε of its curve wavers by 1e-21, and so by more than the search allows of 1e-14."""
    limit = choose.at_most(1e-14, risk.epsilon, delta=1e-5)
    with pytest.raises(ta.NotCertified, match=r"ε ≤ 1e-14.* lies too near to .* perfect privacy"):
        choose.largest(lambda epsilon: ta.TruncatedLaplace.with_epsilon(epsilon, 1e-5), [limit])
    pure = choose.at_most(1e-14, risk.epsilon, delta=0)
    assert choose.largest(ta.Laplace.with_epsilon, [pure]).parameter == pytest.approx(1e-14)


def test_a_family_far_from_one_is_found():
    def family(x):
        if not 5 <= x <= 10:
            raise ta.InvalidArgument(f"x must lie in [5, 10], got {x}")
        return ta.Laplace.with_epsilon(x / 10)

    found = choose.largest(family, [choose.at_most(0.3, risk.advantage)])
    assert found.parameter == pytest.approx(-20 * math.log1p(-0.3), rel=1e-12)


def test_arguments_that_do_not_fit_the_measure_are_refused_at_once():
    missing = r"prior must be given, as ppv takes it: write prior=\.\.\."
    with pytest.raises(ta.InvalidArgument, match=f"^{missing}$"):
        choose.at_most(0.1, risk.ppv, fpr=0.1)
    unknown = (
        r"fp must be an argument of ppv, which takes fpr, prior \(did you mean fpr\?\), got 0.1"
    )
    with pytest.raises(ta.InvalidArgument, match=f"^{unknown}$"):
        choose.at_most(0.1, risk.ppv, fp=0.1, prior=0.1)
    with pytest.raises(ta.InvalidArgument, match=r"^fpr must be an .* takes none, got 0.1$"):
        choose.at_most(0.1, risk.auc, fpr=0.1)
    with pytest.raises(ta.InvalidArgument, match="fpr must be given, as ppv takes it"):
        choose.frontier(ta.Laplace, [1], {"PPV": risk.ppv})
    with pytest.raises(ta.InvalidArgument, match=r"^pior must be .* \(did you mean prior\?\), got"):
        choose.compare({"a": ta.Laplace(1), "b": ta.Laplace(2)}, pior=0.1)


def test_a_choice_prints_a_number_that_keeps_its_limits():
    limit = choose.at_most(0.11, risk.advantage)
    shown = float(str(choose.largest(ta.Laplace.with_epsilon, [limit])).split()[0])
    assert limit.excess(ta.Laplace.with_epsilon(shown).curve()) <= 0
    with pytest.raises(ta.InvalidArgument, match="digits must be at most 300"):
        choose.largest(ta.Laplace.with_epsilon, [limit]).rounded(10**20)


@pytest.mark.parametrize(
    "limit",
    [
        choose.at_most(2.0, risk.epsilon, delta=1e-5),
        choose.at_most(0.1, risk.advantage),
        choose.at_most(1e-3, risk.tpr, fpr=1e-5),
        choose.at_least(0.4, risk.bayes_error, prior=0.5),
    ],
    ids=str,
)
def test_a_certified_choice_keeps_its_limit_with_every_error_counted(limit):
    found = choose.least(lambda noise: ta.dp_sgd(noise, 0.01, 1_000), [limit], certified=True)
    plain = choose.least(lambda noise: ta.dp_sgd(noise, 0.01, 1_000), [limit])
    assert found.certified
    assert not plain.certified
    assert plain.parameter <= found.parameter <= plain.parameter * (1 + 1e-3)
    deltas = [1e-5, *(limit.value(found.curve) * share for share in (0.9, 0.3, 0.03, 1e-3))]
    deltas += [found.curve.delta(0.0) * share for share in (0.9, 0.3, 0.03)]
    lowers = [found.subject.bracket(min(delta, 0.5), gap=1e-5).lower for delta in deltas]
    assert any(limit.excess(lower) <= 0 for lower in lowers)


def test_a_choice_of_a_composition_is_safe_and_tight_to_nine_digits():
    limit = choose.at_most(2.0, risk.epsilon, delta=1e-5)
    found = choose.least(lambda noise: ta.dp_sgd(noise, 0.01, 1_000), [limit])
    assert found.curve.epsilon(1e-5) < 2.0
    assert ta.dp_sgd(found.parameter * (1 - 1e-8), 0.01, 1_000).curve().epsilon(1e-5) > 2.0


def test_whole_numbers_are_confirmed_as_whole_numbers():
    limit = choose.at_most(2.0, risk.epsilon, delta=1e-5)
    found = choose.largest(
        lambda steps: ta.dp_sgd(1.0, 0.01, int(steps)), [limit], whole=True, certified=True
    )
    assert found.parameter == int(found.parameter)
    assert found.curve.epsilon(1e-5) <= 2.0
    assert ta.dp_sgd(1.0, 0.01, int(found.parameter) + 1).curve().epsilon(1e-5) > 1.999


def test_dp_sgd_from_epsilon_keeps_its_promise_and_no_more():
    training = ta.dp_sgd_with_epsilon(1.0, 1e-6, epochs=3, batch_size=50, data_size=1_000)
    assert training.curve().epsilon(1e-6) == pytest.approx(1.0, rel=1e-7)
    assert training.curve().epsilon(1e-6) <= 1.0


@pytest.mark.parametrize("key", MEASURES)
def test_the_label_of_a_limit_shows_its_own_arguments(key):
    measure = MEASURES[key]
    about = {argument.key: argument.default / 3 for argument in measure.arguments}
    limit = choose.at_most(0.1, measure.function, **measure.called_with(about))
    assert limit.label == plain_exponent(measure.name.format(**about))
