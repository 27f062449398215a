"""What every curve answers, in which shape, and what it refuses."""

import dataclasses
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.base import Rates, randomised
from tellapart.curve.closed import GaussianCurve, LaplaceCurve

NAN, INF = math.nan, math.inf

QUESTIONS = {
    "beta": ("alpha", [0, 1e-9, 0.01, 0.3, 0.77, 1]),
    "tpr": ("fpr", [0, 1e-9, 0.01, 0.3, 0.77, 1]),
    "delta": ("epsilon", [-2, -0.5, 0, 0.5, 2, 30]),
    "epsilon": ("delta", [0, 1e-9, 0.001, 0.05, 0.3, 1]),
}


@pytest.fixture(params=QUESTIONS)
def question(request):
    """The name of a method, its argument's name and some values for it."""
    return (request.param, *QUESTIONS[request.param])


# -- shapes and types ---------------------------------------------------------------------------


def test_a_scalar_gives_a_float(curve, question):
    method, name, values = question
    ask = getattr(curve, method)
    for value in values:
        given = [value, float(value), np.float64(value), np.array(value), np.array(float(value))]
        found = [ask(one) for one in given]
        assert {type(one) for one in found} == {float}
        assert len(set(found)) == 1
        assert ask(**{name: value}) == found[0]


def test_an_array_gives_an_array_of_its_shape(curve, question):
    method, _, values = question
    ask = getattr(curve, method)
    one_by_one = np.array([ask(value) for value in values])
    for shape in [(6,), (2, 3), (3, 1, 2)]:
        given = np.array(values, dtype=float).reshape(shape)
        found = ask(given)
        assert isinstance(found, np.ndarray)
        assert found.dtype == np.float64
        assert found.shape == shape
        assert found.ravel() == pytest.approx(one_by_one, rel=1e-12, abs=1e-14)
    assert np.array_equal(ask(list(values)), ask(tuple(values)))
    assert ask([[values[2]]]).shape == (1, 1)


def test_an_empty_array_gives_an_empty_array(curve, question):
    ask = getattr(curve, question[0])
    assert ask([]).shape == (0,)
    assert ask(np.zeros((0, 3))).shape == (0, 3)
    assert ask([]).dtype == np.float64


def test_integers_and_single_precision_are_taken(curve):
    assert curve.beta(np.array([0, 1])).tolist() == [curve.beta(0.0), curve.beta(1.0)]
    assert curve.beta(np.float32(0.5)) == curve.beta(0.5)
    assert curve.delta(np.array([0, 1], dtype=np.uint8))[1] == curve.delta(1.0)


def test_the_input_is_left_alone(curve, question):
    method, _, values = question
    given = np.array(values, dtype=float)
    given.flags.writeable = False
    found = getattr(curve, method)(given)
    assert given.tolist() == [float(value) for value in values]
    assert not np.shares_memory(found, given)


def test_the_answer_belongs_to_the_caller(curve, question):
    method, _, values = question
    ask = getattr(curve, method)
    before = ask(values)
    spoiled = ask(values)
    spoiled[:] = 7.0
    assert np.array_equal(ask(values), before)


def test_rates_have_the_shape_of_the_threshold(curve):
    thresholds = [-INF, -1, 0, 0.3, 1, INF]
    scalar = curve.rates(0.3)
    assert isinstance(scalar, Rates)
    assert [type(rate) for rate in scalar] == [float] * 4
    assert {type(rate) for rate in curve.rates(np.array(1))} == {float}
    for shape in [(6,), (3, 2)]:
        found = curve.rates(np.reshape(thresholds, shape))
        assert [rate.shape for rate in found] == [shape] * 4
        for k, threshold in enumerate(thresholds):
            each = [rate.ravel()[k] for rate in found]
            assert each == pytest.approx(list(curve.rates(threshold)), rel=1e-12, abs=1e-14)
    assert [rate.shape for rate in curve.rates([])] == [(0,)] * 4


def test_rates_belong_to_the_caller(curve):
    before = [rate.copy() for rate in curve.rates([0.0, 0.5])]
    for rate in curve.rates([0.0, 0.5]):
        rate[:] = 7.0
    assert all(np.array_equal(a, b) for a, b in zip(before, curve.rates([0.0, 0.5]), strict=True))


def test_rates_are_named_and_add_up(curve):
    rates = curve.rates([-5.0, -0.7, 0.0, 0.7, 5.0])
    assert rates._fields == ("fpr", "tpr", "fnr", "tnr")
    assert rates.fpr + rates.tnr == pytest.approx(np.ones(5), abs=1e-12)
    assert rates.tpr + rates.fnr == pytest.approx(np.ones(5), abs=1e-12)


def test_thresholds_at_infinity_accuse_nobody_or_everybody(curve):
    assert curve.rates(INF) == (0.0, 0.0, 1.0, 1.0)
    everybody = curve.rates(-INF)
    assert everybody.tpr == pytest.approx(1, abs=1e-12)
    assert everybody.fnr == pytest.approx(0, abs=1e-12)


def test_the_two_ends(curve):
    assert curve.beta(1) == pytest.approx(0, abs=1e-14)
    assert curve.tpr(1) == pytest.approx(1, abs=1e-14)
    assert curve.beta(0) == pytest.approx(1 - curve.tpr(0), abs=1e-14)
    assert curve.delta(INF) == pytest.approx(curve.tpr(0), abs=1e-15)
    assert curve.delta(-INF) == pytest.approx(1, abs=1e-14)
    assert curve.epsilon(1) == 0


# -- objects ------------------------------------------------------------------------------------


def test_a_curve_is_frozen(curve):
    for field in dataclasses.fields(curve):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(curve, field.name, None)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(curve, field.name)


def test_a_curve_knows_its_side(curve):
    assert isinstance(curve.bound, ta.Bound)
    assert curve.mirrored().bound is curve.bound
    assert curve.symmetrised().bound is curve.bound


def test_the_mirror_of_the_mirror_is_the_curve(curve):
    alpha = np.linspace(0, 1, 41)
    again = curve.mirrored().mirrored()
    assert again.beta(alpha) == pytest.approx(curve.beta(alpha), abs=1e-14)


def test_the_arrays_inside_cannot_be_written(curve):
    inside = [getattr(curve, field.name) for field in dataclasses.fields(curve) if field.init]
    for array in [one for one in inside if isinstance(one, np.ndarray)]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


def test_the_hub_itself_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        ta.TradeoffCurve()


def test_sides_are_three():
    assert [str(side) for side in ta.Bound] == ["Bound.LOWER", "Bound.EXACT", "Bound.UPPER"]


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: ta.Laplace(2).curve(), "<curve of Laplace(scale=2.0), exact>"),
        (lambda: ta.guarantee(mu=2), "<curve of guarantee(mu=2), guarantee (f from below)>"),
        (lambda: ta.guarantee(1), "<curve of guarantee(epsilon=1.0), guarantee (f from below)>"),
        (lambda: ta.from_pmfs([0.5, 0.5], [0.2, 0.8]), "<curve of 2 atoms, exact>"),
        (
            lambda: ta.attack(points=[(0.1, 0.6)]),
            "<curve of attack(points=[(0.1, 0.6)]), attack (f from above)>",
        ),
        (lambda: GaussianCurve(1.0), "<curve of GaussianCurve(mu=1.0), exact>"),
    ],
)
def test_repr(make, shown):
    assert repr(make()) == shown


# -- bad input ----------------------------------------------------------------------------------

NO_NUMBER = [("0.1", "'0.1'"), (None, "None"), (True, "True"), (1j, "1j"), (["a"], "['a']")]
BAD = [
    *(
        (method, value, f"{name} must be a number or an array of numbers, got {shown}")
        for method, name in [
            ("beta", "alpha"),
            ("tpr", "fpr"),
            ("delta", "epsilon"),
            ("epsilon", "delta"),
            ("rates", "threshold"),
        ]
        for value, shown in NO_NUMBER
    ),
    ("beta", 1.5, "alpha must lie in [0, 1], got 1.5"),
    ("beta", -1e-9, "alpha must lie in [0, 1], got -1e-9"),
    ("beta", [0.1, 2], "alpha must lie in [0, 1], got 2.0"),
    ("beta", INF, "alpha must lie in [0, 1], got inf"),
    ("beta", NAN, "alpha must not contain NaN, got nan"),
    ("beta", [0.1, NAN], "alpha must not contain NaN, got [0.1, nan]"),
    ("beta", [0.1, [0.2]], "alpha must be a number or an array of numbers, got [0.1, [0.2]]"),
    ("tpr", 1.5, "fpr must lie in [0, 1], got 1.5"),
    ("tpr", [-0.5], "fpr must lie in [0, 1], got -0.5"),
    ("tpr", NAN, "fpr must not contain NaN, got nan"),
    (
        "tpr",
        [[0.1], [0.1, 0.2]],
        "fpr must be a number or an array of numbers, got [[0.1], [0.1, 0.2]]",
    ),
    ("epsilon", 1.5, "delta must lie in [0, 1], got 1.5"),
    ("epsilon", -0.1, "delta must lie in [0, 1], got -0.1"),
    ("epsilon", INF, "delta must lie in [0, 1], got inf"),
    ("epsilon", NAN, "delta must not contain NaN, got nan"),
    ("delta", NAN, "epsilon must not contain NaN, got nan"),
    ("delta", [1, [2]], "epsilon must be a number or an array of numbers, got [1, [2]]"),
    ("rates", [0, NAN], "threshold must not contain NaN, got [0, nan]"),
    ("rates", [0, [1]], "threshold must be a number or an array of numbers, got [0, [1]]"),
]


@pytest.mark.parametrize(("method", "value", "message"), BAD)
@pytest.mark.parametrize("make", [lambda: LaplaceCurve(1.0), lambda: ta.attack([(0.1, 0.6)])])
def test_bad_input_is_refused_word_for_word(make, method, value, message):
    ask = getattr(make(), method)
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ask(value)


# -- a class of one's own -----------------------------------------------------------------------


@dataclass(frozen=True)
class OnlyRates(ta.TradeoffCurve):
    """Knows its rates and nothing else: the base class must find all answers."""

    inner: ta.TradeoffCurve
    bound: ta.Bound = ta.Bound.EXACT

    def _rates(self, threshold):
        return self.inner._rates(threshold)

    def _largest_loss(self):
        return self.inner._largest_loss()

    def _mirrored(self):
        return OnlyRates(self.inner.mirrored(), self.bound)


@pytest.mark.parametrize(
    "inner",
    [
        ta.Laplace(1).curve(),
        ta.Gaussian(0.7).curve(),
        ta.guarantee(1, 0.01),
        ta.from_pmfs([0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.6, 0.1]),
        ta.from_pmfs([0.5, 0.5, 0.0], [0.0, 0.25, 0.75]),
    ],
)
def test_the_rates_alone_determine_the_curve(inner):
    plain = OnlyRates(inner)
    alpha = np.array([0, 1e-12, 1e-3, 0.1, 0.25, 0.5, 0.9, 1 - 1e-9, 1])
    epsilon = np.array([-3, -0.5, 0, 0.25, 0.9, 1, 4])
    assert plain.beta(alpha) == pytest.approx(inner.beta(alpha), abs=1e-12)
    assert plain.tpr(alpha) == pytest.approx(inner.tpr(alpha), abs=1e-12)
    assert plain.delta(epsilon) == pytest.approx(inner.delta(epsilon), abs=1e-12)
    delta = np.array([0.05, 0.1, 0.3, 1])
    assert plain.epsilon(delta) == pytest.approx(inner.epsilon(delta), abs=1e-9)
    assert plain.delta(INF) == inner.delta(INF)
    assert plain.area() <= inner.area() + 1e-15
    assert plain.area() == pytest.approx(inner.area(), abs=1e-6)


def test_the_epsilon_found_keeps_the_delta_asked_for():
    for curve in (
        ta.Gaussian(1).curve(),
        ta.DiscreteGaussian(1).curve(),
        OnlyRates(LaplaceCurve(2)),
    ):
        for delta in (1e-12, 1e-6, 0.01, 0.2):
            assert curve.delta(curve.epsilon(delta)) <= delta * (1 + 1e-13)


def test_between_two_tests_of_one_rate_is_that_rate():
    rates = tuple(np.array([rate]) for rate in (0.6, 0.7, 0.3, 0.4))
    for asked in (0.6, np.nextafter(0.6, 1), np.nextafter(0.6, 0)):
        tpr, fnr = randomised(np.array([asked]), rates, rates)
        assert (tpr, fnr) == (0.7, 0.3)


@pytest.mark.parametrize("method", QUESTIONS)
def test_what_is_no_number_is_no_answer(method):
    @dataclass(frozen=True, repr=False)
    class Spoilt(GaussianCurve):
        def _spoilt(self, asked):
            return np.where(asked == 0.3, NAN, 0.5)

        _beta = _tpr = _delta = _epsilon = _spoilt

    ask = getattr(Spoilt(1.0), method)
    assert ask([0.2, 0.77]) == pytest.approx(0.5, abs=1e-9)
    for asked in (0.3, [0.2, 0.3]):
        with pytest.raises(ta.NotCertified, match="rounding left no digit"):
            ask(asked)
