"""Laws of the folding engine: it answers where a contour refuses, and says the same where not."""

import math

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart.curve.composition.contour import Contour, Total
from tellapart.curve.composition.convolution import Convolution, ReflectedConvolution
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss

FEW = settings(deadline=None, max_examples=examples(15))

log = math.log
sigmas = st.floats(log(0.4), log(20)).map(math.exp)
rates = st.floats(log(1e-5), log(0.5)).map(math.exp)
steps = st.floats(log(2), log(1e5)).map(lambda x: round(math.exp(x)))
deltas = st.floats(log(1e-30), log(1e-2)).map(math.exp)


def apart(curve, other, epsilon):
    """By how much ε differs between two engines at the same δ: one Newton step."""
    here, there = (engine.tails(np.array([epsilon])) for engine in (curve, other))
    slope = there.fpr * np.exp(epsilon) / there.delta
    return abs(float(np.log(here.delta / there.delta)[0] / slope[0]))


@given(sigmas, rates, steps, deltas, st.sampled_from(ta.Order))
@FEW
def test_contour_and_folds_tell_one_story(sigma, rate, count, delta, order):
    """Two engines with no step in common: where both answer, ε agrees to 1e-9·max(1, ε)."""
    law = MixtureLoss(1 / sigma, (1 - rate, rate))
    folds = Convolution(((law, count),))
    if order is ta.Order.PRESENT:
        engine, contour = folds, Total(((law, count),))
    else:
        engine, contour = ReflectedConvolution(folds), Total(((law.swapped(), count),))
    try:
        epsilon = float(engine.guess_delta(np.log(np.array([delta])))[0])
        if not 0 < epsilon < contour.largest:
            return
        away = apart(Contour(contour), engine, epsilon)
    except ta.NotCertified:
        return
    assert away <= 1e-9 * max(1.0, epsilon)


@given(sigmas, st.floats(log(1e-5), 0).map(math.exp), steps, deltas)
@FEW
def test_every_deployment_gets_its_epsilon(sigma, rate, count, delta):
    curve = ta.dp_sgd(sigma, rate, count).curve()
    epsilon = curve.epsilon(delta)
    assert epsilon >= 0
    if epsilon > 0:
        assert curve.delta(epsilon) == pytest.approx(delta, rel=1e-8)


@pytest.mark.slow
@given(sigmas, rates, steps, deltas)
@FEW
def test_brackets_hold_what_folds_and_contours_say(sigma, rate, count, delta):
    training = ta.dp_sgd(sigma, rate, count)
    epsilon = training.curve().epsilon(delta)
    try:
        bracket = training.bracket(delta)
    except ta.NotCertified:
        return
    margin = 1e-9 * max(1.0, epsilon)
    assert bracket.upper.epsilon(delta) <= epsilon + margin
    assert epsilon <= bracket.lower.epsilon(delta) + margin


@given(sigmas, rates, st.integers(2, 300), st.floats(1e-9, 0.999))
@FEW
def test_folded_rates_and_profile_fit_together(sigma, rate, count, fpr):
    """δ(t) = TPR − e^t·FPR, the slope of log FPR is the density, complements are complements."""
    law = MixtureLoss(1 / sigma, (1 - rate, rate))
    folds = Convolution(((law, count),))
    t = folds.guess_fpr(np.array([fpr]))
    rates = folds.tails(t)
    assert rates.fpr + rates.tnr == pytest.approx(1.0, abs=1e-12)
    assert rates.tpr + rates.fnr == pytest.approx(1.0, abs=1e-12)
    assert rates.delta == pytest.approx(rates.tpr - np.exp(t) * rates.fpr, abs=1e-12)
    mirror = ReflectedConvolution(folds).tails(-t)
    assert (mirror.fpr, mirror.tpr) == (rates.fnr, rates.tnr)
    assert mirror.delta == pytest.approx(rates.tnr - np.exp(-t) * rates.fnr, abs=1e-12)
