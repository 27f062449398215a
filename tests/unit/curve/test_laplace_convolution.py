"""A few Laplace steps: rates and areas against plain quadrature, and how much work they take."""

import numpy as np
import pytest
from scipy.integrate import quad

import tellapart as ta
from tellapart import risk
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.composition.laplace_convolution import (
    PanelsCurve,
    repeated_laplace,
    two_laplace,
)
from tellapart.mechanisms.catalogue import parse

CURVES = {
    "two": lambda: parse("laplace:epsilon=0.3,repeated=2").curve(),
    "ten": lambda: parse("laplace:epsilon=1,repeated=10").curve(),
    "unlike": lambda: two_laplace(0.5, 2.0),
    "alike": lambda: two_laplace(1.0, 1.0),
}


def mass_above(curve, t, tilt, strict):
    """The same sum, each panel by adaptive quadrature."""
    inside = curve.places > t if strict else curve.places >= t
    found = np.sum((curve.atoms * np.exp(tilt * curve.places - curve.top / 2))[inside])
    for low, high, powers in zip(curve.edges[:-1], curve.edges[1:], curve.powers, strict=True):
        start = min(max(t, low), high)
        if start < high:
            found += quad(
                lambda x, low=low, high=high, powers=powers: (
                    np.polynomial.polynomial.polyval((x - low) / (high - low), powers)
                    * np.exp(tilt * x - curve.top / 2)
                ),
                start,
                high,
                epsabs=0,
                epsrel=1e-12,
            )[0]
    return found


@pytest.mark.parametrize("name", CURVES)
def test_rates_are_the_masses_beyond_a_threshold(name):
    curve = CURVES[name]()
    assert isinstance(curve, PanelsCurve)
    places = [*curve.places, *np.linspace(-1.1 * curve.top, 1.1 * curve.top, 7)]
    for t, *rates in zip(places, *curve._rates(np.array(places)), strict=True):
        wanted = [
            mass_above(curve, t, -0.5, True),
            mass_above(curve, t, 0.5, True),
            mass_above(curve, -t, -0.5, False),
            mass_above(curve, -t, 0.5, False),
        ]
        np.testing.assert_allclose(rates, wanted, rtol=1e-11)


@pytest.mark.parametrize("name", CURVES)
def test_the_auc_is_never_understated_and_hardly_overstated(name):
    curve = CURVES[name]()
    t = np.unique([*curve.places, *np.linspace(-curve.top, curve.top, 20_001)])[::-1]
    fpr, _, fnr, _ = curve._rates(np.append(t, np.nextafter(-curve.top, -np.inf)))
    by_chords = 1 - np.trapezoid(fnr, fpr)
    assert by_chords <= risk.auc(curve) <= by_chords + 1e-6


def test_the_auc_takes_one_pass_over_a_few_thousand_thresholds(monkeypatch):
    asked = []
    rates = PanelsCurve._rates

    def counted(self, threshold):
        asked.append(np.size(threshold))
        return rates(self, threshold)

    monkeypatch.setattr(PanelsCurve, "_rates", counted)
    risk.auc(CURVES["ten"]())
    assert len(asked) == 1
    # Each of four rates; were all asked until the last is found, 40 times as many and more.
    assert sum(asked) < 4 * 2 * EVERY_FPR.size
