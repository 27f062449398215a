"""Sketches of curves that plans read: a polygon below the curve, and hardly below."""

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.loss_tails import sketched

SLOW = [
    ta.dp_sgd(1.0, sampling_rate=0.01, steps=1_000),
    ta.dp_sgd(0.5, sampling_rate=0.1, steps=300),
    ta.Laplace(2.0).repeated(30),
    ta.Gaussian(5.0).sampled(0.1),
]
QUICK = [ta.Laplace(1.0).curve(), ta.Gaussian(1.0).curve(), ta.guarantee(1.0)]


@pytest.mark.parametrize("mechanism", SLOW, ids=str)
def test_a_sketch_is_hardly_below_its_curve(mechanism):
    curve = mechanism.curve()
    sketch = sketched(curve)
    fpr = np.geomspace(1e-8, 0.5, 301)
    for rates in (fpr, 1 - fpr):
        allowed, drawn = curve.tpr(rates), sketch.tpr(rates)
        assert np.all(drawn <= allowed * (1 + 1e-9))
        assert np.all(drawn >= allowed * (1 - 1e-3))
        assert np.all(1 - drawn <= (1 - allowed) * (1 + 1e-3) + 1e-5)


@pytest.mark.parametrize("curve", QUICK, ids=str)
def test_quick_curves_stay_as_they_are(curve):
    assert sketched(curve) is curve
