"""Mechanisms by name: what a short text stands for, and what it leaves open."""

from __future__ import annotations

import math
import re

import pytest

import tellapart as ta
from tellapart import choose, risk
from tellapart.mechanisms.catalogue import KINDS, labelled, named_family, parse, terms
from tellapart.mechanisms.subject import sampling_assumption

LAST = ta.LastIterate(
    0.1,
    100,
    step_size=0.1,
    strong_convexity=1,
    smoothness=4,
    gradient_sensitivity=2,
    batch_size=100,
    data_size=100,
)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("laplace:epsilon=2", ta.Laplace.with_epsilon(2)),
        ("laplace:scale=0.5,sensitivity=3", ta.Laplace(0.5, 3)),
        ("gaussian:sigma=2", ta.Gaussian(2)),
        ("gaussian:epsilon=1,delta=1e-5", ta.Gaussian.with_epsilon(1, 1e-5)),
        ("gaussian-classic:epsilon=1,delta=1e-5", ta.Gaussian.classic(1, 1e-5)),
        (
            " discrete-laplace: epsilon = 1 , sensitivity = 2 ",
            ta.DiscreteLaplace.with_epsilon(1, 2),
        ),
        ("randomized-response:epsilon=1,categories=4", ta.RandomizedResponse(1, 4)),
        ("uniform:delta=0.1", ta.UniformNoise.optimal(0.1)),
        ("unary-encoding:epsilon=1", ta.UnaryEncoding.optimised(1)),
        ("symmetric-unary-encoding:epsilon=1", ta.UnaryEncoding.symmetric(1)),
        ("exponential:epsilon=1", ta.ExponentialMechanism(1)),
        ("permute-and-flip:epsilon=1", ta.PermuteAndFlip(1)),
        ("noisy-max:epsilon=1", ta.ReportNoisyMax(1)),
        ("planar-laplace:epsilon=1,distance=2", ta.PlanarLaplace(1, 2)),
        ("truncated-laplace:epsilon=1,delta=1e-5", ta.TruncatedLaplace.with_epsilon(1, 1e-5)),
        ("staircase:epsilon=1,fraction=0.2", ta.Staircase(1, fraction=0.2)),
        (KINDS["last-iterate"].first_text, LAST),
        ("discrete-gaussian:sigma=2,sensitivity=3", ta.DiscreteGaussian(2, 3)),
        ("any:epsilon=1,delta=1e-5", ta.guarantee(1, 1e-5)),
        ("any:mu=0.5", ta.guarantee(mu=0.5)),
    ],
)
def test_what_a_text_stands_for(text, made):
    assert parse(text) == made


def test_every_mechanism_with_numbers_for_parameters_has_a_name():
    examples = {
        way.make.__self__ if hasattr(way.make, "__self__") else way.make
        for kind in KINDS.values()
        for way in kind.ways
    }
    kinds = {one for one in examples if isinstance(one, type)} | {ta.ThresholdedHistogram}
    assert isinstance(parse(KINDS["thresholded-histogram"].first_text), ta.ThresholdedHistogram)
    assert kinds == set(ta.MECHANISMS) - {ta.CustomMechanism, ta.Promise}  # "any" is a promise


def test_training_by_name_and_what_it_leaves_open():
    whole = parse("dpsgd:noise_multiplier=1,sampling_rate=0.01,steps=1000")
    assert whole == ta.dp_sgd(1, 0.01, 1000)
    assert parse("dpsgd:noise_multiplier=1,epochs=10,batch_size=600,data_size=60000") == whole
    noise = named_family("dpsgd:sampling_rate=0.01,steps=1000")
    assert (noise.parameter, noise.grows_private, noise.whole) == ("noise_multiplier", True, False)
    steps = named_family("dpsgd:noise_multiplier=1,sampling_rate=0.01")
    assert (steps.parameter, steps.grows_private, steps.whole) == ("steps", False, True)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("gaussian:sigma=2,repeated=9", ta.Gaussian(2).repeated(9)),
        ("gaussian:sigma=2,sampled=0.1", ta.Gaussian(2).sampled(0.1)),
        ("gaussian:repeated=9,sampled=0.1,sigma=2", ta.Gaussian(2).sampled(0.1).repeated(9)),
        ("any:epsilon=1,delta=1e-6,repeated=3", ta.Promise(1, 1e-6).repeated(3)),
        ("gaussian:sigma=1e+1 + laplace:epsilon=1", ta.compose([ta.Gaussian(10), ta.Laplace(1)])),
        (
            "laplace:epsilon=1,repeated=2+any:epsilon=1",
            ta.compose([ta.Laplace(1).repeated(2), ta.Promise(1)]),
        ),
    ],
)
def test_compositions_by_text(text, made):
    assert parse(text) == made


DPSGD = "dpsgd:noise_multiplier=1,sampling_rate=0.01,steps=1000"


@pytest.mark.parametrize(
    ("word", "scheme"),
    [
        ("poisson", ta.Sampling.POISSON),
        ("fixed-size", ta.Sampling.WITHOUT_REPLACEMENT),
        ("random-allocation", ta.Sampling.RANDOM_ALLOCATION),
        ("shuffled", ta.Sampling.SHUFFLED),
    ],
)
def test_a_sampling_scheme_by_its_word(word, scheme):
    training = ta.dp_sgd(1, 0.01, 1000, scheme=scheme)
    assert parse(f"{DPSGD},scheme={word}") == parse(DPSGD, scheme=word) == training
    (term,) = terms(f"{DPSGD},scheme={word}")
    assert str(term) == f"{DPSGD},scheme={word}" == labelled(DPSGD, {"scheme": word})
    family = named_family("dpsgd", sampling_rate=0.01, steps=1000, scheme=word)
    assert family.parameter == "noise_multiplier"
    assert family.make(1.0) == training


def test_a_largest_batch_goes_with_noise_and_with_epsilon():
    capped = {"data_size": 1000, "largest_batch": 75, "scheme": "truncated-poisson"}
    scheme = {**capped, "scheme": ta.Sampling.TRUNCATED_POISSON}
    assert parse("dpsgd:noise_multiplier=1,sampling_rate=0.05,steps=20", **capped) == ta.dp_sgd(
        1, 0.05, 20, **scheme
    )
    training = parse("dpsgd:epsilon=2,delta=1e-5,sampling_rate=0.05,steps=1", **capped)
    assert training.base.largest_batch == 75
    assert 1.99 < training.epsilon(1e-5) <= 2


def test_an_epoch_cut_short_is_random_allocation_still():
    cut = ta.dp_sgd(1, 0.01, 1050, scheme=ta.Sampling.RANDOM_ALLOCATION)
    said = sampling_assumption(cut)
    assert "random allocation" in said
    assert "Poisson" not in said


def test_a_family_may_be_that_of_a_step():
    family = named_family("laplace:repeated=10")
    assert family.parameter == "epsilon"
    assert family.composed
    assert family.make(0.5) == ta.Laplace(2).repeated(10)
    assert not named_family("laplace").composed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("any:mu=1,repeated=2", "not one of mu or zcdp, got 'any:mu=1,repeated=2'"),
        ("laplace:epsilon=1,repeated=2.5", "repeated must be a whole number, got 2.5"),
        ("laplace:epsilon=1,repeated=0", "repeated must be at least 1, got 0"),
        ("laplace:epsilon=1+bogus", "mechanism must be one of any, "),
    ],
)
def test_compositions_that_are_none(text, message):
    with pytest.raises(ta.InvalidArgument, match=re.escape(message)):
        parse(text)


def test_several_mechanisms_leave_nothing_open():
    with pytest.raises(ta.InvalidArgument, match="not several joined by"):
        named_family("laplace+gaussian:sigma=1")


def test_values_may_be_given_beside_the_text():
    assert parse("laplace", epsilon=2.0) == parse("laplace:epsilon=2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("laplac", "mechanism must be one of any, laplace, gaussian, "),
        (
            "laplace",
            "mechanism must be given as laplace:epsilon=…,[sensitivity=…] or "
            "laplace:scale=…,[sensitivity=…], got 'laplace'",
        ),
        (
            "laplace:epsilon=1,epsilon=2",
            "mechanism must give epsilon only once, got 'laplace:epsilon=1,epsilon=2'",
        ),
        (
            "laplace:epsilon=x",
            "mechanism must be written as name:key=number,key=number ('epsilon' has no number), "
            "got 'laplace:epsilon=x'",
        ),
        (
            "laplace:epsilon=1,scale=2",
            "mechanism must have either epsilon or scale, not both, got 'laplace:epsilon=1,scale=2",
        ),
        ("laplace:epsilon=-1", "epsilon must be finite and at least 0, got -1"),
    ],
)
def test_bad_texts_are_refused_word_for_word(text, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}"):
        parse(text)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: parse(3), "mechanism must be a text such as laplace:epsilon=1, got 3"),
        (lambda: parse("laplace", foo="x"), "foo must be a number, got 'x'"),
    ],
)
def test_what_is_no_text_is_refused(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize("text", ["truncated-laplace:scale=1", "unary-encoding:keep=0.9"])
def test_cut_offs_and_flips_hide_more_as_they_grow(text):
    family = named_family(text)
    found = choose.least(family.make, [choose.at_most(0.5, risk.advantage)])
    assert risk.advantage(found.curve) <= 0.5


def test_a_family_must_leave_one_parameter_open():
    message = (
        "mechanism must leave one parameter of laplace open (epsilon or scale; ways to make it: "
        "laplace:epsilon=…,[sensitivity=…] or laplace:scale=…,[sensitivity=…]), "
        "got 'laplace:epsilon=1'"
    )
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}$"):
        named_family("laplace:epsilon=1")


WITH_DELTA = {"any", "gaussian", "gaussian-classic", "truncated-laplace"}
OF_SEVERAL = {"gaussian-classic", "truncated-laplace", "dpsgd", "last-iterate"}
OF_SEVERAL |= {"partition-selection", "thresholded-histogram"}
FAMILIES = [f"{name}:delta=1e-5" for name in sorted(WITH_DELTA)] + [
    "last-iterate:steps=100,step_size=0.1,strong_convexity=1,smoothness=4,gradient_sensitivity=2,"
    "batch_size=100,data_size=100",
    "thresholded-histogram:scale=5,keys=2",
    *(name for name in KINDS if name not in OF_SEVERAL),
]


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_chosen_is_safe_and_the_next_double_is_not(name):
    family = named_family(name)
    search = choose.least if family.grows_private else choose.largest
    for limit in (
        choose.at_most(0.1, risk.advantage),
        choose.at_most(0.3, risk.ppv, fpr=0.01, prior=0.1),
        choose.at_most(0.75, risk.f_score),
    ):
        found = search(family.make, [limit])
        assert limit.excess(found.curve) <= 0
        beyond = math.nextafter(found.parameter, 0.0 if family.grows_private else math.inf)
        next_one = family.make(beyond)
        curve = next_one.curve() if isinstance(next_one, ta.Mechanism) else next_one
        assert limit.excess(curve) > 0
        rounded = found.rounded(3)
        at = family.make(rounded)
        curve = at.curve() if isinstance(at, ta.Mechanism) else at
        assert limit.excess(curve) <= 1e-12


def test_partition_selection_leaks_less_at_some_larger_epsilon_so_none_is_chosen():
    """The corner of (ε, δ) that no whole number of people reaches moves with ε."""
    low, high = (ta.PartitionSelection(e, 1e-5).advantage() for e in (0.4, 0.405))
    assert low > high
    with pytest.raises(ta.InvalidArgument, match="its risks change with in one direction"):
        named_family("partition-selection:delta=1e-5")


def test_more_noise_carries_more_new_keys_so_a_threshold_is_chosen_instead():
    little, much = (
        ta.ThresholdedHistogram(ta.Gaussian(sigma), 25).curve().delta(1.0) for sigma in (5, 50)
    )
    assert little < much
    with pytest.raises(ta.InvalidArgument, match="its risks change with in one direction"):
        named_family("thresholded-histogram:threshold=25")
    assert named_family("thresholded-histogram:sigma=5").parameter == "threshold"


@pytest.mark.parametrize(
    "call", [lambda: parse(f"{DPSGD},scheme=sorted"), lambda: parse(DPSGD, scheme="sorted")]
)
def test_an_unknown_scheme_is_refused_with_those_that_are_known(call):
    words = "poisson, fixed-size, random-allocation, shuffled, truncated-poisson"
    message = f"scheme must be one of {words}, got 'sorted'"
    with pytest.raises(ta.InvalidArgument, match=f"^{message}$"):
        call()
