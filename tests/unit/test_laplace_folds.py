"""A few Laplace steps: their area needs no search, and lies between chords and tangents."""

import numpy as np
import pytest

import tellapart as ta
from tellapart._numeric import hull, solve
from tellapart.curve.laplace_folds import laplace_folds, laplace_two

CURVES = {
    "two": laplace_folds(0.1, 2),
    "three": laplace_folds(8, 3),
    "ten": laplace_folds(0.5, 10),
    "different": laplace_two(0.3, 1.1),
}


@pytest.mark.parametrize("epsilon", [0.01, 1, 20])
def test_the_area_of_one_fold_is_that_of_laplace_noise(epsilon):
    truth = ta.Laplace.with_epsilon(epsilon).curve().area()
    assert laplace_folds(epsilon, 1).area() == pytest.approx(truth, rel=1e-13)


@pytest.mark.parametrize("name", CURVES)
def test_the_area_lies_between_tangents_and_chords(name):
    curve = CURVES[name]
    spread = np.linspace(-1, 1, 4001) * curve.top
    steps = np.concatenate([spread, curve.places, np.nextafter(curve.places, -np.inf)])
    fpr, _, fnr, _ = curve._rates(np.sort(steps)[::-1])
    slope = -np.exp(np.sort(steps)[::-1])
    below, above = hull.area_under_tangents(fpr, fnr, slope), float(np.trapezoid(fnr, fpr))
    assert below * (1 - 1e-9) <= curve.area() <= above * (1 + 1e-9)
    assert above - below < 1e-5 * above


def test_no_threshold_is_searched_for_the_area(monkeypatch):
    """Thousands of searches, most of them at an atom, once took a quarter of a minute."""

    def searched(*_given, **_more):
        raise AssertionError("a threshold was searched")

    monkeypatch.setattr(solve, "falling_root", searched)
    assert 0.4 < ta.Laplace.with_epsilon(0.1).repeated(2).curve().area() < 0.5
