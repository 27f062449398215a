"""What all mechanisms share: orders, neighbours, frozen records."""

import dataclasses
import re

import numpy as np
import pytest

import tellapart as ta

NEIGHBOURS = (
    "neighbours must be Neighbours.ADD_REMOVE or Neighbours.REPLACE or Neighbours.ZERO_OUT, got "
)
LOCAL = "neighbours must be Neighbours.REPLACE for a mechanism run on one person's own value, got "

EXAMPLES = {
    "AboveThreshold": lambda **o: ta.AboveThreshold(2, 8, answers=2, **o),
    "CustomMechanism": lambda **o: ta.CustomMechanism.from_pmfs([0.5, 0.5], [0.25, 0.75], **o),
    "DiscreteGaussian": lambda **o: ta.DiscreteGaussian(2, 3, **o),
    "DiscreteLaplace": lambda **o: ta.DiscreteLaplace(2, 3, **o),
    "ExponentialMechanism": lambda **o: ta.ExponentialMechanism(1, [0, 1, 2], [1, 1, 1], **o),
    "Gaussian": lambda **o: ta.Gaussian(2, 3, **o),
    "Laplace": lambda **o: ta.Laplace(2, 3, **o),
    "LastIterate": lambda **o: ta.LastIterate(
        0.1,
        9,
        step_size=0.1,
        strong_convexity=1,
        smoothness=4,
        gradient_sensitivity=2,
        batch_size=100,
        data_size=100,
        **o,
    ),
    "PartitionSelection": lambda **o: ta.PartitionSelection(1, 0.01, **o),
    "PermuteAndFlip": lambda **o: ta.PermuteAndFlip(1, [0, 1, 2], [1, 1, 1], **o),
    "PlanarLaplace": lambda **o: ta.PlanarLaplace(1, 2, **o),
    "Promise": lambda **o: ta.Promise(1, 0.1, **o),
    "RandomizedResponse": lambda **o: ta.RandomizedResponse(1, 3, **o),
    "ReportNoisyMax": lambda **o: ta.ReportNoisyMax(1, [0, 1, 2], [1, 1, 1], **o),
    "Staircase": lambda **o: ta.Staircase(1, 2, **o),
    "ThresholdedHistogram": lambda **o: ta.ThresholdedHistogram(ta.Laplace(2), 20, 3, **o),
    "TruncatedLaplace": lambda **o: ta.TruncatedLaplace(1, 5, 1, **o),
    "UnaryEncoding": lambda **o: ta.UnaryEncoding(0.75, 0.25, **o),
    "UniformNoise": lambda **o: ta.UniformNoise(5, 0.1, 2, **o),
}
CHOOSING = {"ExponentialMechanism", "PermuteAndFlip", "ReportNoisyMax"}
# Mechanisms whose neighbours replace a record, and what is said to others.
REPLACED = dict.fromkeys(["PlanarLaplace", "RandomizedResponse", "UnaryEncoding"], LOCAL) | {
    "LastIterate": "neighbours must be Neighbours.REPLACE for a last iterate: the theorem replaces "
    "one record, got "
}

# Mechanisms whose neighbours add or remove a person.
ADDED = {"PartitionSelection", "ThresholdedHistogram"}


@pytest.fixture(params=EXAMPLES)
def make(request):
    return EXAMPLES[request.param]


def test_there_is_an_example_of_every_mechanism():
    assert set(EXAMPLES) == {kind.__name__ for kind in ta.MECHANISMS}


def test_a_mechanism_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        ta.Mechanism()


def test_a_mechanism_is_frozen(make):
    mechanism = make()
    for field in dataclasses.fields(mechanism):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(mechanism, field.name, 1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(mechanism, field.name)


SHOWN = {
    "AboveThreshold": "AboveThreshold(threshold_scale=2.0, query_scale=8.0, answers=2)",
    "CustomMechanism": "CustomMechanism(test=<curve of 2 atoms, exact>)",
    "DiscreteGaussian": "DiscreteGaussian(sigma=2.0, sensitivity=3)",
    "DiscreteLaplace": "DiscreteLaplace(scale=2.0, sensitivity=3)",
    "ExponentialMechanism": "ExponentialMechanism(epsilon=1.0, absent=[0.0, 1.0, 2.0], "
    "present=[1.0, 1.0, 1.0])",
    "Gaussian": "Gaussian(sigma=2.0, sensitivity=3.0)",
    "Laplace": "Laplace(scale=2.0, sensitivity=3.0)",
    "LastIterate": "LastIterate(sigma=0.1, steps=9, step_size=0.1, strong_convexity=1.0, "
    "smoothness=4.0, gradient_sensitivity=2.0, batch_size=100, data_size=100)",
    "PartitionSelection": "PartitionSelection(epsilon=1.0, delta=0.01)",
    "PermuteAndFlip": "PermuteAndFlip(epsilon=1.0, absent=[0.0, 1.0, 2.0], "
    "present=[1.0, 1.0, 1.0])",
    "PlanarLaplace": "PlanarLaplace(epsilon=1.0, distance=2.0)",
    "Promise": "Promise(epsilon=1.0, delta=0.1)",
    "RandomizedResponse": "RandomizedResponse(epsilon=1.0, categories=3)",
    "ReportNoisyMax": "ReportNoisyMax(epsilon=1.0, absent=[0.0, 1.0, 2.0], "
    "present=[1.0, 1.0, 1.0])",
    "Staircase": "Staircase(epsilon=1.0, sensitivity=2.0)",
    "ThresholdedHistogram": "ThresholdedHistogram(noise=Laplace(scale=2.0), threshold=20.0, "
    "keys=3)",
    "TruncatedLaplace": "TruncatedLaplace(scale=1.0, cutoff=5.0)",
    "UnaryEncoding": "UnaryEncoding(keep=0.75, flip=0.25)",
    "UniformNoise": "UniformNoise(width=5.0, atom=0.1, sensitivity=2.0)",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_mechanism_shows_its_parameters(name):
    assert repr(EXAMPLES[name]()) == SHOWN[name]


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - ADDED))
def test_neighbours_are_shown_last_and_only_where_unusual(name):
    shown = repr(EXAMPLES[name](neighbours=ta.Neighbours.REPLACE))
    unusual = ", neighbours=Neighbours.REPLACE)"
    end = ")" if name in REPLACED else unusual
    assert shown == SHOWN[name].removesuffix(")") + end


def test_a_mechanism_shows_every_field_that_is_set(make):
    """All that tells two records apart can be read: what is not shown is the usual."""
    mechanism = make()
    for field in dataclasses.fields(mechanism):
        if f"{field.name}=" not in repr(mechanism):
            assert getattr(mechanism, field.name) == field.default


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"CustomMechanism"}))
def test_what_is_shown_can_be_typed_in(name):
    for options in ({}, {"neighbours": ta.Neighbours.REPLACE})[: 1 if name in ADDED else 2]:
        mechanism = EXAMPLES[name](**options)
        assert eval(repr(mechanism), vars(ta).copy()) == mechanism  # noqa: S307


def test_a_fraction_given_is_shown_and_one_left_out_is_not():
    assert repr(ta.Staircase(1, fraction=0.5)) == "Staircase(epsilon=1.0, fraction=0.5)"
    assert ta.Staircase(1).fraction is None


@pytest.mark.parametrize("bad", ["replace", None, 1, ta.Order.PRESENT])
def test_neighbours_are_checked(make, bad):
    message = NEIGHBOURS + repr(bad)
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        make(neighbours=bad)


@pytest.mark.parametrize("name", sorted(ADDED))
def test_neighbours_of_who_is_alone_with_a_key_add_or_remove(name):
    with pytest.raises(
        ta.InvalidArgument, match=r"neighbours must be Neighbours\.ADD_REMOVE where"
    ):
        EXAMPLES[name](neighbours=ta.Neighbours.REPLACE)


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - ADDED))
def test_neighbours_of_ones_own_value_replace_it(name):
    make = EXAMPLES[name]
    assert make(neighbours=ta.Neighbours.REPLACE).neighbours is ta.Neighbours.REPLACE
    if name in REPLACED:
        assert make().neighbours is ta.Neighbours.REPLACE
        message = REPLACED[name] + "<Neighbours.ADD_REMOVE: 'add or remove one record (unbounded)'>"
        with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
            make(neighbours=ta.Neighbours.ADD_REMOVE)
    else:
        assert make().neighbours is ta.Neighbours.ADD_REMOVE


@pytest.mark.parametrize("bad", ["present", 1, True, ta.Neighbours.REPLACE])
def test_the_order_is_checked(make, bad):
    message = f"order must be Order.PRESENT or Order.ABSENT, got {bad!r}"
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        make().curve(order=bad)


def test_the_two_orders_are_mirrors_and_the_curve_serves_both(make):
    mechanism = make()
    present, absent = mechanism.curve(ta.Order.PRESENT), mechanism.curve(order=ta.Order.ABSENT)
    alpha, epsilon = np.linspace(0, 1, 21), np.linspace(0, 3, 13)
    assert absent.beta(alpha) == pytest.approx(present.mirrored().beta(alpha), abs=1e-14)
    both = mechanism.curve()
    assert both.delta(epsilon) == pytest.approx(
        np.maximum(present.delta(epsilon), absent.delta(epsilon)), abs=1e-14
    )
    assert np.all(both.beta(alpha) <= np.minimum(present.beta(alpha), absent.beta(alpha)) + 1e-14)


def test_equal_parameters_make_equal_records():
    for name in set(EXAMPLES) - {"CustomMechanism", *CHOOSING}:
        make = EXAMPLES[name]
        assert make() == make()
        assert hash(make()) == hash(make())
    assert ta.Laplace(1) == ta.Laplace(1.0, 1)
    assert ta.Laplace(1) != ta.Laplace(2)
    assert ta.Laplace(1) != ta.Laplace(1, neighbours=ta.Neighbours.REPLACE)


def test_words_for_people():
    assert [str(one) for one in ta.Order] == ["Order.PRESENT", "Order.ABSENT"]
    assert [one.value for one in ta.Neighbours] == [
        "add or remove one record (unbounded)",
        "replace one record (bounded)",
        "zero out one record",
    ]
