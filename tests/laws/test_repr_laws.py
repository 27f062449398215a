"""Laws of what objects print: mechanisms can be typed in again, curves say what made them."""

import pickle

import hypothesis.strategies as st
import pytest
from examples import examples
from families import CURVE_FAMILIES, MECHANISM_FAMILIES, any_mechanism, orders
from hypothesis import given, settings

import tellapart as ta
from tellapart.curve.base import SIDES, TradeoffCurve
from tellapart.errors import TellapartError

NAMES = {name: getattr(ta, name) for name in ta.__all__}
TYPED = [kind for kind in MECHANISM_FAMILIES if kind is not ta.CustomMechanism]


def typed_in(mechanism):
    return eval(repr(mechanism), NAMES.copy())  # noqa: S307


@pytest.mark.parametrize("kind", TYPED, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_what_a_mechanism_prints_makes_the_same_mechanism(kind, data):
    mechanism = data.draw(MECHANISM_FAMILIES[kind])
    again = typed_in(mechanism)
    # Lists of utilities are compared by what they print: two arrays have no one answer.
    assert again == mechanism or repr(again) == repr(mechanism)
    assert type(again) is type(mechanism)


@st.composite
def trees(draw):
    """Gaussian and Laplace noise under every word that combines mechanisms."""
    neighbours = draw(st.sampled_from(ta.Neighbours))
    tree = ta.Gaussian(draw(st.floats(0.1, 9)), neighbours=neighbours)
    for word in draw(st.lists(st.sampled_from("srtcgf"), max_size=5)):
        try:
            if word == "s":
                tree = tree.sampled(draw(st.floats(0, 1)))
            elif word == "f":
                tree = tree.sampled(draw(st.floats(0, 1)), ta.Sampling.WITHOUT_REPLACEMENT)
            elif word == "r":
                tree = tree.repeated(draw(st.integers(1, 10**6)))
            elif word == "t":
                tree = tree.then(ta.Laplace(draw(st.floats(0.1, 9)), neighbours=neighbours))
            elif word == "c":
                tree = ta.compose([tree] * draw(st.integers(1, 4)))
            else:
                tree = tree.for_group(draw(st.integers(1, 9)))
        except TellapartError:  # not every word fits every mechanism
            continue
    return tree


@given(tree=trees())
def test_what_a_composition_prints_makes_the_same_composition(tree):
    assert typed_in(tree) == tree
    assert "\n" not in repr(tree)


@given(epsilon=st.floats(0, 5), users=st.integers(1, 10**9))
def test_what_shuffled_answers_print_makes_the_same(epsilon, users):
    hidden = ta.RandomizedResponse(epsilon).shuffled(users)
    assert typed_in(hidden) == hidden


@given(mechanism=any_mechanism(), order=orders)
def test_a_curve_says_what_made_it_and_is_equal_all_the_same(mechanism, order):
    curve = mechanism.curve(order)
    assert curve.label.startswith(repr(mechanism))
    assert repr(curve) == f"<curve of {curve.label}, {SIDES[curve.bound]}>"
    assert (curve.order is None) == (curve.label == repr(mechanism))
    again = pickle.loads(pickle.dumps(curve))  # noqa: S301
    assert repr(again) == repr(curve)
    bare = curve.made_by(None)
    assert bare.label != curve.label
    if type(curve).__eq__ is not object.__eq__:
        assert bare == curve
        assert hash(bare) == hash(curve)


@pytest.mark.parametrize("kind", CURVE_FAMILIES)
@given(data=st.data())
def test_every_curve_prints_in_a_line_that_says_its_side(kind, data):
    shown = repr(data.draw(CURVE_FAMILIES[kind]))
    assert shown.startswith("<curve of ")
    assert shown.split(", ")[-1].removesuffix(">") in SIDES.values()
    assert "\n" not in shown
    assert len(shown) <= 160


def test_no_curve_prints_its_numbers_by_accident():
    """Whatever is a curve has the one `__repr__`: a dataclass would write one of its own."""

    def below(kind):
        return {kind, *(deep for child in kind.__subclasses__() for deep in below(child))}

    ours = [kind for kind in below(TradeoffCurve) if kind.__module__.startswith("tellapart")]
    assert len(ours) > 15
    assert {kind.__repr__ for kind in ours} == {TradeoffCurve.__repr__}


def test_dp_sgd_prints_as_it_is_written():
    training = ta.dp_sgd(noise_multiplier=1.1, sampling_rate=0.01, steps=1000)
    assert repr(training.curve()) == (
        "<curve of Gaussian(sigma=1.1).sampled(0.01).repeated(1000), exact>"
    )


@given(mechanism=any_mechanism(), fpr=st.floats(0, 1), delta=st.floats(0, 1))
def test_mechanisms_answer_as_their_curves_do(mechanism, fpr, delta):
    curve = mechanism.curve()
    assert mechanism.tpr(fpr) == curve.tpr(fpr)
    assert mechanism.advantage() == curve.delta(0.0)
    if "epsilon" not in mechanism.__dataclass_fields__:  # those made from an ε keep it there
        assert mechanism.epsilon(delta) == curve.epsilon(delta)
        assert mechanism.delta(1.0) == curve.delta(1.0)


@pytest.mark.parametrize("kind", ta.MECHANISMS, ids=lambda kind: kind.__name__)
def test_mechanisms_that_are_written_differently_are_not_equal(kind):
    """Budgets and caches take equal mechanisms for the same."""

    @settings(max_examples=examples(20), deadline=None)
    @given(MECHANISM_FAMILIES[kind], MECHANISM_FAMILIES[kind])
    def check(one, other):
        if one == other:
            assert (repr(one), hash(one)) == (repr(other), hash(other))

    check()
