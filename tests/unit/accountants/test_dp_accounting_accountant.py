"""The drop-in for dp_accounting: its interface, its calibration, no count lost, no side lost."""

import importlib
import math
import sys

import dp_accounting as dp
import pytest
from dp_accounting import dp_event

import tellapart as ta
from tellapart.accountants import spent
from tellapart.accountants.dp_accounting import CurveAccountant
from tellapart.mechanisms.combine import Repeated

ADD_REMOVE = dp.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp.NeighboringRelation.REPLACE_ONE
SPECIAL = dp.NeighboringRelation.REPLACE_SPECIAL
STEP = dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0))


def test_it_is_one_of_theirs_and_starts_empty():
    accountant = CurveAccountant()
    assert isinstance(accountant, dp.PrivacyAccountant)
    assert accountant.neighboring_relation is ADD_REMOVE
    assert isinstance(accountant.ledger, dp.NoOpDpEvent)
    assert (accountant.get_epsilon(0.0), accountant.get_delta(0.0)) == (0, 0)


def test_dp_sgd_is_the_curve_of_dp_sgd():
    accountant = CurveAccountant().compose(STEP, 1_000)
    training = ta.dp_sgd(1.0, 0.01, 1_000).curve()
    assert accountant.ledger == dp.SelfComposedDpEvent(STEP, 1_000)
    assert accountant.get_epsilon(1e-5) == training.epsilon(1e-5)
    assert accountant.get_delta(1.0) == training.delta(1.0)
    assert accountant.curve().tpr(1e-3) == training.tpr(1e-3)


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (dp.GaussianDpEvent(3.0), ADD_REMOVE),
        (dp.GaussianDpEvent(3.0), REPLACE),
        (dp.LaplaceDpEvent(5.0), ADD_REMOVE),
        (dp.LaplaceDpEvent(5.0), REPLACE),
        (dp_event.DiscreteLaplaceDpEvent(0.2, 2), ADD_REMOVE),
        (dp.RandomizedResponseDpEvent(0.5, 2), REPLACE),
        (dp.RandomizedResponseDpEvent(0.5, 2), SPECIAL),
        (dp.RandomizedResponseDpEvent(0.8, 7), REPLACE),
        (dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(1.0)), ADD_REMOVE),
        (dp.PoissonSampledDpEvent(0.1, dp_event.DiscreteLaplaceDpEvent(0.2, 2)), ADD_REMOVE),
        (dp.SingleEpochTreeAggregationDpEvent(3.0, 7), SPECIAL),
    ],
    ids=str,
)
def test_every_event_is_counted_as_often_as_it_is_composed(event, relation):
    """dp_accounting 0.6.0 counts randomized response once, however often it is composed."""
    at_once = CurveAccountant(relation).compose(event, 10).get_epsilon(1e-5)
    nested = CurveAccountant(relation).compose(dp.SelfComposedDpEvent(event, 5), 2)
    listed = CurveAccountant(relation).compose(dp.ComposedDpEvent([event] * 10))
    one_by_one = CurveAccountant(relation)
    for _ in range(10):
        one_by_one.compose(event)
    for other in (nested, listed, one_by_one):
        assert other.get_epsilon(1e-5) == pytest.approx(at_once, rel=1e-9)
    once = CurveAccountant(relation).compose(event).get_epsilon(1e-5)
    assert at_once > 1.1 * once > 0


def test_what_cannot_be_composed_leaves_no_trace():
    accountant = CurveAccountant().compose(STEP)
    unknown = dp.ComposedDpEvent([STEP, dp.SampledWithoutReplacementDpEvent(10, 2, STEP)])
    assert not accountant.supports(unknown)
    with pytest.raises(dp.UnsupportedEventError, match=r"at event\.events\[1\] cannot be read"):
        accountant.compose(unknown)
    with pytest.raises(ValueError, match="noise_multiplier must be at least 0, got -1"):
        accountant.compose(dp.GaussianDpEvent(-1))
    with pytest.raises(TypeError):
        accountant.compose("gaussian")
    assert accountant.ledger == STEP


@pytest.mark.parametrize(
    ("event", "relation", "supported"),
    [
        (dp.NoOpDpEvent(), ADD_REMOVE, True),
        (dp.NonPrivateDpEvent(), ADD_REMOVE, True),
        (dp.UnsupportedDpEvent(), ADD_REMOVE, False),
        (STEP, ADD_REMOVE, True),
        (STEP, SPECIAL, True),
        (STEP, REPLACE, True),
        (dp.PoissonSampledDpEvent(0.01, dp.LaplaceDpEvent(1.0)), REPLACE, False),
        (dp.ComposedDpEvent([STEP, dp.UnsupportedDpEvent()]), ADD_REMOVE, False),
        (dp.SelfComposedDpEvent(dp.UnsupportedDpEvent(), 3), ADD_REMOVE, False),
        (dp.RandomizedResponseDpEvent(0.5, 2), ADD_REMOVE, False),
    ],
    ids=str,
)
def test_it_says_what_it_supports(event, relation, supported):
    accountant = CurveAccountant(relation)
    assert accountant.supports(event) is supported
    assert isinstance(accountant.ledger, dp.NoOpDpEvent)


def test_what_it_supports_it_can_compose_with_anything_it_supports():
    """A step with a curve of its own may still lack what a composition needs."""
    sampled = dp.PoissonSampledDpEvent(0.5, dp.LaplaceDpEvent(1.0))
    accountant = CurveAccountant()
    if accountant.supports(sampled):
        accountant.compose(sampled).compose(STEP, 3)
        assert accountant.get_epsilon(1e-5) > 0
    else:
        with pytest.raises(dp.UnsupportedEventError):
            accountant.compose(sampled)


def test_no_privacy_stays_no_privacy():
    accountant = CurveAccountant().compose(STEP).compose(dp.GaussianDpEvent(0)).compose(STEP)
    assert (accountant.get_epsilon(0.5), accountant.get_delta(50.0)) == (math.inf, 1)


@pytest.mark.parametrize("target", [0.5, 2.0])
def test_calibration_ends_on_the_safe_side(target):
    def training(sigma):
        return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(sigma)), 99)

    sigma = dp.calibrate_dp_mechanism(CurveAccountant, training, target, 1e-6)
    reached = [ta.dp_sgd(one, 0.01, 99).curve().epsilon(1e-6) for one in (sigma, sigma - 3e-6)]
    assert reached[0] <= target < reached[1]


def test_the_number_of_steps_can_be_calibrated():
    steps = dp.calibrate_dp_mechanism(
        CurveAccountant,
        lambda count: dp.SelfComposedDpEvent(STEP, count),
        target_epsilon=1.0,
        target_delta=1e-5,
        bracket_interval=dp.LowerEndpointAndGuess(1, 100),
        discrete=True,
    )
    spent = [ta.dp_sgd(1.0, 0.01, steps + more).curve().epsilon(1e-5) for more in (0, 2)]
    assert spent[0] <= 1.0 < spent[1]


ROUGH = ta.Laplace(5.0).repeated(20)


def test_where_the_contour_gives_up_a_bracket_answers_on_the_safe_side():
    assert ROUGH.curve().bound is ta.Bound.LOWER
    accountant = CurveAccountant().compose(dp.LaplaceDpEvent(5.0), 20)
    lower, upper = ROUGH.bracket(delta=1e-5, gap=1e-6)
    spent = accountant.get_epsilon(1e-5)
    assert upper.epsilon(1e-5) < spent
    assert spent < lower.epsilon(1e-5) + 1e-4 * spent
    revealed = accountant.get_delta(spent)
    assert upper.delta(spent) < revealed < 1.001e-5


def test_a_bracket_that_is_not_reached_is_widened():
    asked = []

    class Stubborn(Repeated):
        def curve(self, order=None):
            raise ta.NotCertified("not smooth enough for me")

        def bracket(self, delta=1e-5, gap=1e-4, order=None):
            asked.append(gap)
            if gap < 1:
                raise ta.NotCertified("narrower than I can")
            return super().bracket(delta, gap, order)

    mechanism = Stubborn(ta.Laplace(5.0), 20)
    assert spent.epsilon(mechanism, 1e-5) >= ROUGH.bracket(1e-5).upper.epsilon(1e-5)
    assert asked == [1e-4, 1e-2, 1.0]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda one: one.get_epsilon(1.5), "target_delta must lie in [0, 1], got 1.5"),
        (lambda one: one.get_epsilon(math.nan), "target_delta must not be NaN, got nan"),
        (lambda one: one.get_delta("1"), "target_epsilon must be a number, got '1'"),
    ],
)
def test_bad_questions_are_named(ask, message):
    with pytest.raises(ta.InvalidArgument) as caught:
        ask(CurveAccountant().compose(STEP))
    assert str(caught.value) == message


def test_without_dp_accounting_the_extra_is_named(monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == "dp_accounting"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "tellapart.accountants.dp_accounting")
    with pytest.raises(ta.Unsupported) as caught:
        importlib.import_module("tellapart.accountants.dp_accounting")
    assert str(caught.value) == (
        "an accountant for dp_accounting needs: pip install 'tellapart[accounting]'"
    )


@pytest.mark.parametrize(
    "culprit", [dp.UnsupportedDpEvent(), dp_event.RepeatAndSelectDpEvent(STEP, 0.5, 1)]
)
@pytest.mark.parametrize(
    "nest",
    [
        lambda event: event,
        lambda event: dp.ComposedDpEvent([STEP, event]),
        lambda event: dp.SelfComposedDpEvent(event, 5),
        lambda event: dp.ComposedDpEvent([STEP, dp.SelfComposedDpEvent(event, 5), STEP]),
    ],
)
def test_the_innermost_event_is_to_blame(culprit, nest):
    with pytest.raises(dp.UnsupportedEventError) as caught:
        CurveAccountant().compose(nest(culprit))
    assert str(caught.value).endswith(f"caused by subevent {culprit}.")
