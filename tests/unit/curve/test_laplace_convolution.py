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
    assert sum(asked) < 10_000


@pytest.mark.parametrize("folds", [2, 4, 10])
@pytest.mark.parametrize("shift", [1.0, 20.0, 40.0, 100.0, 1e4])
def test_no_mass_is_lost_or_made_however_large_the_losses(shift, folds):
    """One rule of 16 points for a whole panel lost 4e-4 of the mass at losses of 100."""
    curve = ta.Laplace(1 / shift).repeated(folds).curve()
    nothing = curve.rates(1e9)
    assert (nothing.fpr, nothing.tpr) == (0.0, 0.0)
    assert nothing.fnr == pytest.approx(1.0, abs=1e-13)
    assert nothing.tnr == pytest.approx(1.0, abs=1e-13)
    # Of the highest atom, of weight 2^−k under h1, and hardly anything else.
    near = curve.delta(folds * shift - 1e-3)
    assert near == pytest.approx(-np.expm1(-1e-3) / 2**folds, rel=3e-3 * folds)
    assert curve.beta(0.0) == pytest.approx(1.0, abs=1e-13)


SEARCHED = {
    "two": repeated_laplace(1.0, 2),
    "ten": repeated_laplace(0.2, 10),
    "large": repeated_laplace(60.0, 4),
    "unlike": two_laplace(1.0, 0.3),
    "far apart": two_laplace(40.0, 0.001),
}
EVERY_FPR = np.unique(
    np.concatenate([np.geomspace(1e-300, 0.5, 400), 1 - np.geomspace(1e-16, 0.5, 300)])
)


@pytest.mark.parametrize("curve", SEARCHED.values(), ids=SEARCHED)
def test_rates_found_within_a_panel_are_those_of_any_search(curve, monkeypatch):
    """Atoms and panels only say where to look: asked alone or together, nothing else changes."""
    found = np.array([curve.tpr(EVERY_FPR), curve.beta(EVERY_FPR), curve.fpr(tpr=EVERY_FPR)])
    alone = np.array([[f(x) for f in (curve.tpr, curve.beta)] for x in EVERY_FPR[::50]]).T
    assert found[:2, ::50].tolist() == alone.tolist()
    monkeypatch.setattr(PanelsCurve, "_around", TradeoffCurve._around)
    plain = np.array([curve.tpr(EVERY_FPR), curve.beta(EVERY_FPR), curve.fpr(tpr=EVERY_FPR)])
    assert found == pytest.approx(plain, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("curve", SEARCHED.values(), ids=SEARCHED)
def test_a_threshold_that_is_known_is_not_asked_again(curve, monkeypatch):
    asked, plain = [], PanelsCurve._in_panel

    def counted(self, panel, start, tilt):
        asked.append(start.size)
        return plain(self, panel, start, tilt)

    monkeypatch.setattr(PanelsCurve, "_in_panel", counted)
    curve.tpr(EVERY_FPR)
    # Each of four rates; were all asked until the last is found, 40 times as many and more.
    assert sum(asked) < 4 * 2 * EVERY_FPR.size
