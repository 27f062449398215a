"""Laws of answers: what they refuse, what they add up to, and two of them side by side."""

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import Linear, RecordIn, RecordValue
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw


def test_values_rise_and_impossible_ones_are_dropped():
    law = FiniteLaw.of({2: 0.75, 0: 0.25, 1: 0})
    assert law.values.tolist() == [0, 2]
    assert law.weights.tolist() == pytest.approx([0.25, 0.75])
    assert (law.mean, law.variance) == pytest.approx((1.5, 0.75))
    assert law.log_least == pytest.approx(math.log(0.25))
    assert law.log_mgf(2) == pytest.approx(math.log(0.25 + 0.75 * math.exp(4)))


def test_equal_values_are_added_up():
    law = FiniteLaw.gathered(np.array([3.0, 1.0, 3.0]), np.log([0.2, 0.5, 0.3]))
    assert law.values.tolist() == [1, 3]
    np.testing.assert_allclose(law.weights, [0.5, 0.5])


@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_sums_of_independent_answers(unit):
    one, other = FiniteLaw.of({0: 0.5, unit: 0.5}), FiniteLaw.of({-unit: 0.2, 3 * unit: 0.8})
    law = one.convolved(other)
    np.testing.assert_allclose(law.values, np.array([-1, 0, 3, 4]) * unit, atol=1e-15)
    np.testing.assert_allclose(law.weights, [0.1, 0.1, 0.4, 0.4])


def test_tails_far_below_the_smallest_double_stay():
    law = FiniteLaw(np.array([0.0, 1.0]), np.array([0.0, -5000.0]))
    twice = law.convolved(law)
    assert twice.log_weights.tolist() == pytest.approx([0, math.log(2) - 5000, -10_000])
    assert twice.weights.tolist() == [1, 0, 0]


def test_two_laws_side_by_side():
    values, one, other = FiniteLaw.of({0: 1}).beside(FiniteLaw.of({0: 0.5, 2: 0.5}))
    assert values.tolist() == [0, 2]
    assert one.tolist() == [0, -math.inf]
    np.testing.assert_allclose(np.exp(other), 0.5)


def test_normal_laws():
    law = NormalLaw(1, 2).convolved(NormalLaw(0.5, 1))
    assert law == NormalLaw(1.5, 3)
    assert law.log_mgf(2) == 3 + 6


REFUSED = {
    "falling": (lambda: FiniteLaw([1, 0], np.log([0.5, 0.5])), "values must rise"),
    "sum": (lambda: FiniteLaw([0, 1], np.log([0.5, 0.4])), "log_weights must be of weights with"),
    "lengths": (lambda: FiniteLaw([0, 1], [0.0]), "log_weights must be as many"),
    "infinite": (lambda: FiniteLaw([0, 1], [0.0, math.inf]), "log_weights must not be infinite"),
    "empty": (lambda: FiniteLaw.of({}), "weights must not be empty"),
    "no mapping": (lambda: FiniteLaw.of([1]), "weights must be a mapping"),
    "negative": (lambda: FiniteLaw.of({0: 1.5, 1: -0.5}), "weights must be at least 0"),
    "variance": (lambda: NormalLaw(0, -1), "variance must be finite and at least 0"),
    "kinds": (lambda: FiniteLaw.of({0: 1}).beside(NormalLaw(0, 1)), "other must be a FiniteLaw"),
    "weights": (lambda: Linear([]), "weights must not be empty"),
    "record": (lambda: RecordValue(-1, 0), "record must be at least 0"),
    "cell": (lambda: RecordIn(0, []), "values must not be empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_its_name(case):
    call, message = REFUSED[case]
    with pytest.raises(ta.InvalidArgument, match=message):
        call()


def test_sums_that_never_coincide_are_refused_with_their_number():
    many = FiniteLaw(np.sqrt(np.arange(5000.0)), np.full(5000, -math.log(5000)))
    with pytest.raises(ta.Unsupported, match=r"2\.5e7 pairs of values .* whole units"):
        many.convolved(many)
