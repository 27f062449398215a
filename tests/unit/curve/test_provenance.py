"""A curve knows under which neighbouring relation, and in which order, it bounds every attack."""

import json
import pickle
import re

import pytest

import tellapart as ta
from tellapart.neighbours import Neighbours, Order

SAMPLED = ta.Gaussian(sigma=1).sampled(0.01)
TRAINED = SAMPLED.repeated(100)
FLIP = ta.CustomMechanism.from_pmfs(absent=[0.9, 0.1, 0.0], present=[0.6, 0.3, 0.1])
ORDERED = [SAMPLED, TRAINED, FLIP, SAMPLED.for_group(3), ta.Laplace(1).sampled(0.1).repeated(200)]


def kind(mechanism):
    return type(mechanism).__name__


def told(curve):
    return curve.neighbours, curve.order


@pytest.mark.parametrize("mechanism", ORDERED, ids=kind)
@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.ZERO_OUT])
def test_a_mechanism_tells_its_curve_what_it_is_about(mechanism, relation):
    curve = mechanism.curve(Order.PRESENT).stated(relation, Order.PRESENT)
    assert told(curve) == (relation, Order.PRESENT)
    assert told(curve.mirrored()) == (relation, Order.ABSENT)
    assert told(curve.mirrored().mirrored()) == (relation, Order.PRESENT)
    assert told(curve.symmetrised()) == (relation, None)
    assert told(curve.mirrored().symmetrised()) == (relation, None)
    assert told(mechanism.curve()) == (Neighbours.ADD_REMOVE, None)
    assert told(mechanism.curve(Order.ABSENT)) == (Neighbours.ADD_REMOVE, Order.ABSENT)


@pytest.mark.parametrize("relation", Neighbours)
def test_a_curve_that_is_its_own_mirror_image_holds_for_both_orders(relation):
    noise = ta.Gaussian(sigma=1, neighbours=relation)
    for order in (None, *Order):
        assert told(noise.curve(order)) == (relation, None)
    kept = noise.curve()
    assert kept.mirrored() is kept
    assert kept.symmetrised() is kept


@pytest.mark.parametrize("mechanism", ORDERED, ids=kind)
def test_both_orders_remember_the_curve_of_each(mechanism):
    both = mechanism.curve()
    ahead = mechanism.curve(Order.PRESENT)
    assert both._provenance.ordered.order is Order.PRESENT
    assert both._provenance.ordered.tpr(1e-3) == ahead.tpr(1e-3)
    back = mechanism.curve(Order.ABSENT).symmetrised()
    assert back._provenance.ordered.tpr(1e-3) == ahead.tpr(1e-3)


def test_nobody_knows_the_neighbours_of_a_bare_curve():
    for bare in (ta.guarantee(epsilon=1), ta.from_pmfs([0.5, 0.5], [0.4, 0.6])):
        assert told(bare) == (None, None)
        assert told(bare.mirrored()) == told(bare.symmetrised()) == (None, None)


@pytest.mark.parametrize(
    "promise",
    [{"epsilon": 1}, {"mu": 1}, {"pairs": [(1, 0), (0.5, 0.1)]}, {"zcdp": 0.1}, {"mu": 0}],
    ids=str,
)
def test_a_promise_says_which_neighbours_it_is_about(promise):
    curve = ta.guarantee(**promise, neighbours=Neighbours.REPLACE)
    assert told(curve) == (Neighbours.REPLACE, None)
    assert curve.tpr(0.01) == ta.guarantee(**promise).tpr(0.01)
    with pytest.raises(ta.InvalidArgument, match=r"^neighbours must be Neighbours\."):
        ta.guarantee(**promise, neighbours="replace")


def test_numbers_alone_make_curves_equal():
    replaced = ta.guarantee(epsilon=1, neighbours=Neighbours.REPLACE)
    assert replaced == ta.guarantee(epsilon=1)
    assert hash(replaced) == hash(ta.guarantee(epsilon=1))
    assert told(ta.guarantee(epsilon=1)) == (None, None)


def test_a_worst_case_keeps_what_its_members_share():
    def gauss(relation):
        return ta.Gaussian(sigma=1, neighbours=relation).curve()

    add, replace = gauss(Neighbours.ADD_REMOVE), gauss(Neighbours.REPLACE)
    laplace = ta.Laplace(1).curve()
    assert told(ta.worst_case([add, laplace])) == (Neighbours.ADD_REMOVE, None)
    assert told(ta.worst_case([replace, laplace])) == (None, None)
    assert told(ta.worst_case([ta.guarantee(epsilon=1), laplace])) == (None, None)
    ahead, back = FLIP.curve(Order.PRESENT), FLIP.curve(Order.ABSENT)
    # What holds for both orders holds for each; what holds for one only, beside another's other
    # order, is a bound for neither.
    assert told(ta.worst_case([ahead, laplace])) == (Neighbours.ADD_REMOVE, Order.PRESENT)
    assert told(ta.worst_case([SAMPLED.curve(Order.PRESENT), back])) == (None, None)


@pytest.mark.parametrize("order", [None, *Order])
@pytest.mark.parametrize(
    "mechanism", [FLIP, TRAINED, ta.Laplace(1)], ids=lambda m: type(m).__name__
)
def test_pickles_keep_it(mechanism, order):
    curve = mechanism.curve(order)
    again = pickle.loads(pickle.dumps(curve))  # noqa: S301
    assert told(again) == told(curve)
    assert told(again.mirrored()) == told(curve.mirrored())
    assert again.tpr(1e-3) == curve.tpr(1e-3)
    if curve._provenance.ordered is not None:
        assert again._provenance.ordered.tpr(1e-3) == curve._provenance.ordered.tpr(1e-3)


@pytest.mark.parametrize("order", [None, *Order])
def test_texts_keep_it(order):
    curve = FLIP.curve(order)
    again = ta.from_json(ta.to_json(curve))
    assert told(again) == told(curve)
    if order is None:
        assert again._provenance.ordered.tpr(0.01) == curve._provenance.ordered.tpr(0.01)


def test_texts_written_before_are_read():
    old = '{"tellapart_curve": 1, "kind": "LaplaceCurve", "shift": 1.0, "bound": "exact"}'
    assert told(ta.from_json(old)) == (None, None)
    assert ta.to_json(ta.from_json(old)) == old


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("neighbours", "both", "neighbours in text must be one of add_remove, replace, zero_out"),
        ("neighbours", 1, "neighbours in text must be one of"),
        ("order", "up", "order in text must be one of present, absent"),
        ("ordered", 1, "kind in text must be one of"),
        ("relation", "x", "text must have the fields"),
    ],
)
def test_texts_that_nobody_wrote_are_refused(key, value, message):

    text = json.loads(ta.to_json(ta.Laplace(1).curve()))
    with pytest.raises(ta.InvalidArgument, match="^" + re.escape(message)):
        ta.from_json(json.dumps({**text, key: value}))


@pytest.mark.parametrize("change", [{"bound": "upper"}, {"neighbours": "replace"}, {"order": None}])
def test_an_ordered_curve_in_a_text_has_the_relation_and_the_side_of_its_whole(change):
    text = json.loads(ta.to_json(FLIP.curve()))
    changed = {k: v for k, v in {**text["ordered"], **change}.items() if v is not None}
    with pytest.raises(ta.InvalidArgument, match=r"^ordered in text must be of order present"):
        ta.from_json(json.dumps({**text, "ordered": changed}))


@pytest.mark.parametrize("order", [None, *Order])
def test_brackets_know_it(order):
    both = TRAINED.bracket(1e-5, 1e-2, order)
    for side in both:
        assert side.neighbours is Neighbours.ADD_REMOVE
    assert both.lower.order is order


def test_a_curve_brings_its_neighbours_to_a_mechanism():
    replaced = ta.guarantee(epsilon=1, neighbours=Neighbours.REPLACE)
    assert ta.CustomMechanism(replaced).neighbours is Neighbours.REPLACE
    assert ta.CustomMechanism(replaced).repeated(3).curve().neighbours is Neighbours.REPLACE
    added = ta.guarantee(epsilon=1, neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(ta.InvalidArgument, match=r"^neighbours must be those of the curve"):
        ta.CustomMechanism(added, neighbours=Neighbours.REPLACE)
    with pytest.raises(ta.InvalidArgument, match=r"^test must test absent"):
        ta.CustomMechanism(FLIP.curve(Order.ABSENT))


# -- zero-out ---------------------------------------------------------------------------------


def test_zeroing_out_is_accounted_as_adding_where_a_blank_record_adds_nothing():
    blank = ta.Gaussian(sigma=1, neighbours=Neighbours.ZERO_OUT).sampled(0.01).repeated(100)
    assert blank.curve().neighbours is Neighbours.ZERO_OUT
    for order in (None, *Order):
        assert blank.curve(order).epsilon(1e-5) == TRAINED.curve(order).epsilon(1e-5)
    group = blank.for_group(3).curve()
    assert group.epsilon(1e-5) == TRAINED.for_group(3).curve().epsilon(1e-5)


def test_what_no_theorem_covers_under_zero_out_is_refused():
    blank = ta.Gaussian(sigma=1, neighbours=Neighbours.ZERO_OUT)
    with pytest.raises(ta.Unsupported, match="not accounted for neighbours that zero out"):
        blank.sampled(0.1, ta.Sampling.WITHOUT_REPLACEMENT)
    with pytest.raises(ta.Unsupported, match=r"needs neighbours=Neighbours\.REPLACE"):
        blank.shuffled(users=10)
    with pytest.raises(ta.InvalidArgument, match=r"^neighbours must be Neighbours\.REPLACE"):
        ta.RandomizedResponse(epsilon=1, neighbours=Neighbours.ZERO_OUT)
    with pytest.raises(ta.InvalidArgument, match="all have the same neighbours"):
        blank.then(ta.Gaussian(sigma=1))
