"""Event trees of dp_accounting become trees of mechanisms, or are refused by name and place."""

import math

import dp_accounting as dp
import pytest
from dp_accounting import dp_event

import tellapart as ta

ADD_REMOVE = dp.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp.NeighboringRelation.REPLACE_ONE
SPECIAL = dp.NeighboringRelation.REPLACE_SPECIAL
GAUSSIAN = dp.GaussianDpEvent(1.5)
BY_REPLACEMENT = {"neighbours": ta.Neighbours.REPLACE}


@pytest.mark.parametrize(
    ("event", "mechanism"),
    [
        (GAUSSIAN, ta.Gaussian(1.5)),
        (dp.LaplaceDpEvent(2.0), ta.Laplace(2.0)),
        (dp_event.DiscreteLaplaceDpEvent(0.25, 3), ta.DiscreteLaplace(4.0, 3)),
        (dp.PoissonSampledDpEvent(0.1, GAUSSIAN), ta.Gaussian(1.5).sampled(0.1)),
        (dp.PoissonSampledDpEvent(1.0, GAUSSIAN), ta.Gaussian(1.5)),
        (dp.SelfComposedDpEvent(GAUSSIAN, 7), ta.Gaussian(1.5).repeated(7)),
        (dp.SelfComposedDpEvent(GAUSSIAN, 1), ta.Gaussian(1.5)),
        (
            dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000),
            ta.dp_sgd(1.0, 0.01, 1000),
        ),
        (
            dp.ComposedDpEvent([GAUSSIAN, dp.NoOpDpEvent(), dp.LaplaceDpEvent(2)]),
            ta.compose([ta.Gaussian(1.5), ta.Laplace(2)]),
        ),
        (dp.ComposedDpEvent([dp.NoOpDpEvent(), GAUSSIAN]), ta.Gaussian(1.5)),
        (
            dp.PoissonSampledDpEvent(0.1, dp.SelfComposedDpEvent(GAUSSIAN, 4)),
            ta.Gaussian(1.5).repeated(4).sampled(0.1),
        ),
    ],
)
@pytest.mark.parametrize("relation", [None, ADD_REMOVE, SPECIAL])
def test_each_event_has_its_mechanism(event, mechanism, relation):
    found = ta.from_dp_event(event, relation)
    if relation is SPECIAL:  # to a sum a blank is the same as nobody
        assert found.neighbours is ta.Neighbours.ZERO_OUT
        assert found.curve().epsilon(1e-6) == mechanism.curve().epsilon(1e-6)
    else:
        assert found == mechanism
        assert found.neighbours is ta.Neighbours.ADD_REMOVE


@pytest.mark.parametrize(
    ("event", "mechanism"),
    [
        (GAUSSIAN, ta.Gaussian(1.5, 2, **BY_REPLACEMENT)),
        (dp.LaplaceDpEvent(2.0), ta.Laplace(2.0, 2, **BY_REPLACEMENT)),
        (
            dp_event.DiscreteLaplaceDpEvent(0.25, 3),
            ta.DiscreteLaplace(4.0, 6, **BY_REPLACEMENT),
        ),
        (dp.RandomizedResponseDpEvent(0.5, 2), ta.RandomizedResponse(math.log1p(2))),
        (dp.RandomizedResponseDpEvent(1.0, 5), ta.RandomizedResponse(0.0, 5)),
        (
            dp.ComposedDpEvent([GAUSSIAN, dp.RandomizedResponseDpEvent(0.5, 2)]),
            ta.compose(
                [ta.Gaussian(1.5, 2, **BY_REPLACEMENT), ta.RandomizedResponse(math.log1p(2))]
            ),
        ),
    ],
)
def test_replacing_a_record_moves_the_answer_twice_as_far(event, mechanism):
    assert ta.from_dp_event(event, REPLACE) == mechanism


@pytest.mark.parametrize("p", [1e-310, 1e-9, 0.3, 1 - 1e-12])
@pytest.mark.parametrize("k", [2, 3, 1000])
def test_the_odds_of_randomized_response_are_those_of_its_description(p, k):
    """The truth with probability 1 − p + p/k, any other bucket with p/k."""
    found = ta.from_dp_event(dp.RandomizedResponseDpEvent(p, k), REPLACE)
    expected = math.log(p + k * (1 - p)) - math.log(p)
    assert found.epsilon == pytest.approx(expected, rel=1e-12, abs=2e-16)
    assert found.categories == k


def test_a_blank_answers_with_any_bucket():
    found = ta.from_dp_event(dp.RandomizedResponseDpEvent(0.6, 3), SPECIAL)
    pair = ta.from_pmfs([1 / 3, 1 / 3, 1 / 3], [0.6, 0.2, 0.2])
    assert found.neighbours is ta.Neighbours.ZERO_OUT
    for order, curve in ((ta.Order.PRESENT, pair), (ta.Order.ABSENT, pair.mirrored())):
        for alpha in (0.01, 0.2, 0.5, 0.9):
            assert found.curve(order).beta(alpha) == pytest.approx(curve.beta(alpha), rel=1e-12)


@pytest.mark.parametrize(("steps", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), (1000, 10)])
def test_a_tree_leaks_as_much_as_one_gaussian(steps, levels):
    whole = ta.Gaussian(2.0, math.sqrt(levels), neighbours=ta.Neighbours.ZERO_OUT)
    event = dp.SingleEpochTreeAggregationDpEvent(2.0, [1, steps])
    assert ta.from_dp_event(event, SPECIAL) == whole
    assert ta.from_dp_event(dp.SingleEpochTreeAggregationDpEvent(2.0, steps), SPECIAL) == whole


NOTHING = [
    dp.NoOpDpEvent(),
    dp.ComposedDpEvent([]),
    dp.SelfComposedDpEvent(GAUSSIAN, 0),
    dp.SelfComposedDpEvent(dp.NoOpDpEvent(), 5),
    dp.PoissonSampledDpEvent(0.0, dp.NonPrivateDpEvent()),
    dp.PoissonSampledDpEvent(0.5, dp.NoOpDpEvent()),
]
EVERYTHING = [
    dp.NonPrivateDpEvent(),
    dp.GaussianDpEvent(0.0),
    dp.LaplaceDpEvent(0),
    dp_event.DiscreteLaplaceDpEvent(0.0, 1),
    dp.PoissonSampledDpEvent(0.5, dp.GaussianDpEvent(0.0)),
    dp.ComposedDpEvent([GAUSSIAN, dp.SelfComposedDpEvent(dp.NonPrivateDpEvent(), 3)]),
]


@pytest.mark.parametrize("event", NOTHING, ids=str)
def test_what_releases_nothing_reveals_nothing(event):
    found = ta.from_dp_event(event)
    assert found.curve().delta(0.0) == 0
    both = ta.from_dp_event(dp.ComposedDpEvent([event, GAUSSIAN]))
    assert both == ta.Gaussian(1.5)


@pytest.mark.parametrize("event", EVERYTHING, ids=str)
def test_what_is_not_private_promises_nothing(event):
    curve = ta.from_dp_event(event).curve()
    assert curve.bound is ta.Bound.LOWER
    assert (curve.epsilon(0.9), curve.delta(100.0), curve.beta(0.0)) == (math.inf, 1, 0)


def test_one_bucket_says_nothing_and_no_noise_says_everything():
    one = ta.from_dp_event(dp.RandomizedResponseDpEvent(0.0, 1), REPLACE)
    assert (one.curve().epsilon(0.0), one.neighbours) == (0, ta.Neighbours.REPLACE)
    assert ta.from_dp_event(dp.RandomizedResponseDpEvent(0.0, 2), REPLACE).curve().delta(9) == 1


def test_an_event_that_extends_another_is_that_other():
    class Mine(dp.GaussianDpEvent):
        pass

    assert ta.from_dp_event(Mine(2.0)) == ta.Gaussian(2.0)


def test_an_event_of_the_same_name_from_elsewhere_is_not_trusted():
    class GaussianDpEvent(dp.DpEvent):
        noise_multiplier = 1.0

    with pytest.raises(ta.Unsupported, match="tellapart knows no mechanism for it"):
        ta.from_dp_event(GaussianDpEvent())


FIXED = dp.SampledWithoutReplacementDpEvent(100, 10, GAUSSIAN)


def test_batches_of_fixed_size_are_a_guarantee_for_replaced_records():
    step = ta.from_dp_event(FIXED, REPLACE)
    base = ta.Gaussian(GAUSSIAN.noise_multiplier, 2, neighbours=ta.Neighbours.REPLACE)
    assert step == base.sampled(0.1, ta.Sampling.WITHOUT_REPLACEMENT)
    assert step.curve().bound is ta.Bound.LOWER
    whole = dp.SampledWithoutReplacementDpEvent(100, 100, GAUSSIAN)
    assert ta.from_dp_event(whole, REPLACE) == base
    none = ta.from_dp_event(dp.SampledWithoutReplacementDpEvent(100, 0, GAUSSIAN), REPLACE)
    assert none.curve().delta(0.0) == 0
    # dp_accounting's own bound, by Rényi accounting, is looser; there the noise is told in units
    # of what replacing a record changes.
    halved = dp.GaussianDpEvent(GAUSSIAN.noise_multiplier / 2)
    theirs = dp.rdp.RdpAccountant(neighboring_relation=REPLACE)
    theirs.compose(dp.SelfComposedDpEvent(dp.SampledWithoutReplacementDpEvent(100, 10, halved), 50))
    ours = step.repeated(50).bracket(1e-5).lower.epsilon(1e-5)
    assert 0 < ours < theirs.get_epsilon(1e-5)


def test_what_loaders_do_has_events():
    blank, replaced = ta.Neighbours.ZERO_OUT, ta.Neighbours.REPLACE
    poisson = ta.from_dp_event(
        dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1000),
        REPLACE,
    )
    assert poisson == ta.dp_sgd(1.0, 0.01, 1000, neighbours=replaced)
    truncated = dp.SelfComposedDpEvent(
        dp.TruncatedSubsampledGaussianDpEvent(1000, 0.05, 60, 1.0), 200
    )
    options = {
        "data_size": 1000,
        "largest_batch": 60,
        "scheme": ta.Sampling.TRUNCATED_POISSON,
    }
    assert ta.from_dp_event(truncated) == ta.dp_sgd(1.0, 0.05, 200, **options)
    zeroed = ta.dp_sgd(1.0, 0.05, 200, neighbours=blank, **options)
    assert ta.from_dp_event(truncated, SPECIAL) == zeroed
    mixture = dp_event.MixtureOfGaussiansDpEvent(1.0, [0, 1], [0.99, 0.01])
    sampled = ta.Gaussian(1.0).sampled(0.01)
    for relation in (None, SPECIAL):
        found = ta.from_dp_event(mixture, relation).repeated(1000)
        assert found.epsilon(1e-5) == pytest.approx(sampled.repeated(1000).epsilon(1e-5), rel=1e-9)
    drawn = dp.SampledWithReplacementDpEvent(100, 10, dp.GaussianDpEvent(1.0))
    assert ta.from_dp_event(drawn, SPECIAL).epsilon(1e-5) == pytest.approx(8.161, abs=1e-3)
    moved = ta.from_dp_event(drawn, REPLACE)
    halved = dp.SampledWithReplacementDpEvent(100, 10, dp.GaussianDpEvent(0.5))
    assert moved.epsilon(1e-5) == ta.from_dp_event(halved, SPECIAL).epsilon(1e-5)


def test_promises_of_zcdp_add_up():
    one = dp.ZCDpEvent(0.01)
    spent = dp.ComposedDpEvent([one, dp.SelfComposedDpEvent(one, 9)])
    for event in (spent, dp.SelfComposedDpEvent(one, 10), dp.ZCDpEvent(0.1)):
        curve = ta.from_dp_event(event).curve()
        assert curve.bound is ta.Bound.LOWER
        assert curve.epsilon(1e-6) == pytest.approx(ta.guarantee(zcdp=0.1).epsilon(1e-6))
    both = ta.from_dp_event(dp.ComposedDpEvent([GAUSSIAN, one]))
    assert both.epsilon(1e-6) > max(ta.Gaussian(1.5).epsilon(1e-6), 0.5)
    # With ξ: Rényi divergences of at most ξ + ρ·order, so no less than without it.
    shifted = ta.from_dp_event(dp.ZCDpEvent(0.1, 0.05)).epsilon(1e-6)
    assert ta.guarantee(zcdp=0.1).epsilon(1e-6) < shifted
    assert shifted < ta.guarantee(zcdp=0.15).epsilon(1e-6) + 0.05


def _later(name, **values):
    """An event that the head of dp_accounting has, and the installed release may not."""
    kind = type(name, (dp.DpEvent,), {**values, "__module__": "dp_accounting.dp_event"})
    return kind()


LATER = {
    "EpsilonDeltaDpEvent": ({"epsilon": 0.5, "delta": 1e-6}, ta.Promise(0.5, 1e-6)),
    "ExponentialMechanismDpEvent": ({"epsilon": 0.5}, ta.ExponentialMechanism(0.5)),
    "PermuteAndFlipDpEvent": ({"epsilon": 0.5}, ta.PermuteAndFlip(0.5)),
    "DiscreteGaussianDpEvent": (
        {"sigma": 2.0, "sensitivity": 3.0, "dimension": 1},
        ta.DiscreteGaussian(2.0, 3),
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_events_of_later_releases_are_read_by_name(name):
    values, mechanism = LATER[name]
    assert ta.from_dp_event(_later(name, **values)) == mechanism
    blank = ta.from_dp_event(_later(name, **values), SPECIAL)
    assert blank.curve().epsilon(1e-6) == mechanism.curve().epsilon(1e-6)
    assert ta.from_dp_event(_later(name, **values), REPLACE).neighbours is ta.Neighbours.REPLACE


def test_a_discrete_gaussian_of_unknown_dimension_is_refused():
    event = _later("DiscreteGaussianDpEvent", sigma=2.0, sensitivity=1, dimension=None)
    with pytest.raises(ta.Unsupported, match="known in one dimension: give dimension=1"):
        ta.from_dp_event(event)


@pytest.mark.parametrize(
    ("event", "relation", "message"),
    [
        (
            dp.ComposedDpEvent([GAUSSIAN, dp.SelfComposedDpEvent(FIXED, 3)]),
            None,
            "SampledWithoutReplacementDpEvent at event.events[1].event cannot be read: "
            "neighboring_relation must be `REPLACE_ONE`, as batches have a fixed size",
        ),
        (
            dp.SampledWithReplacementDpEvent(100, 10, GAUSSIAN),
            None,
            "SampledWithReplacementDpEvent at event cannot be read: "
            "neighboring_relation must be `REPLACE_SPECIAL` or `REPLACE_ONE`, as draws are a fixed "
            "number",
        ),
        (
            dp.SampledWithReplacementDpEvent(100, 10, dp.LaplaceDpEvent(1.0)),
            SPECIAL,
            "SampledWithReplacementDpEvent at event cannot be read: "
            "draws with replacement are those of a GaussianDpEvent",
        ),
        (
            dp.UnsupportedDpEvent(),
            None,
            "UnsupportedDpEvent at event cannot be read: tellapart knows no mechanism for it",
        ),
        (
            dp.SelfComposedDpEvent(dp.RandomizedResponseDpEvent(0.5, 2), 2),
            None,
            "RandomizedResponseDpEvent at event.event cannot be read: "
            "neighboring_relation must be `REPLACE_ONE` or `REPLACE_SPECIAL`, as each person "
            "answers",
        ),
        (
            dp.PoissonSampledDpEvent(0.5, dp.RandomizedResponseDpEvent(0.5, 2)),
            SPECIAL,
            "RandomizedResponseDpEvent at event.event cannot be read: "
            "who is not sampled would be seen not to answer",
        ),
        (
            dp.PoissonSampledDpEvent(0.5, dp.LaplaceDpEvent(1.0)),
            REPLACE,
            "PoissonSampledDpEvent at event cannot be read: "
            "neighboring_relation must be `ADD_OR_REMOVE_ONE` or `REPLACE_SPECIAL`, or the sampled "
            "event a GaussianDpEvent",
        ),
        (
            dp.SingleEpochTreeAggregationDpEvent(1.0, 5),
            ADD_REMOVE,
            "SingleEpochTreeAggregationDpEvent at event cannot be read: "
            "neighboring_relation must be `REPLACE_SPECIAL`, with all records, as each keeps its "
            "step",
        ),
        (
            dp_event.MixtureOfGaussiansDpEvent(1.0, [0, 1], [0.5, 0.5]),
            REPLACE,
            "MixtureOfGaussiansDpEvent at event cannot be read: "
            "neighboring_relation must be `ADD_OR_REMOVE_ONE` or `REPLACE_SPECIAL`, as one world "
            "has no such record",
        ),
        (
            dp.TruncatedSubsampledGaussianDpEvent(100, 0.1, 12, 1.0),
            REPLACE,
            "TruncatedSubsampledGaussianDpEvent at event cannot be read: "
            "neighboring_relation must be `ADD_OR_REMOVE_ONE` or `REPLACE_SPECIAL`, as no theorem "
            "is known",
        ),
        (
            dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 0.5, 1),
            None,
            "RepeatAndSelectDpEvent at event cannot be read: "
            "there is at least one run unless shape is infinite: mean is below 1",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_name_and_place(event, relation, message):
    with pytest.raises(ta.Unsupported) as caught:
        ta.from_dp_event(event, relation)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("gaussian", "event must be a dp_accounting DpEvent, got 'gaussian'"),
        (
            dp.ComposedDpEvent([GAUSSIAN, None]),
            "event.events[1] must be a dp_accounting DpEvent, got None",
        ),
        (
            dp.SelfComposedDpEvent(dp.GaussianDpEvent(-1), 2),
            "event.event.noise_multiplier must be at least 0, got -1",
        ),
        (
            dp.GaussianDpEvent(math.nan),
            "event.noise_multiplier must not be NaN, got nan",
        ),
        (dp.LaplaceDpEvent(-1), "event.noise_multiplier must be at least 0, got -1"),
        (
            dp.PoissonSampledDpEvent(1.5, GAUSSIAN),
            "event.sampling_probability must lie in [0, 1], got 1.5",
        ),
        (dp.SelfComposedDpEvent(GAUSSIAN, 2.5), "event.count must be a whole number, got 2.5"),
        (dp.SelfComposedDpEvent(GAUSSIAN, -1), "event.count must be at least 0, got -1"),
        (
            dp_event.DiscreteLaplaceDpEvent(1.0, 1.5),
            "event.sensitivity must be a whole number, got 1.5",
        ),
        (dp.ComposedDpEvent(GAUSSIAN), f"event.events must be a list of events, got {GAUSSIAN}"),
    ],
)
def test_a_bad_number_is_named_with_its_place(event, message):
    with pytest.raises(ta.InvalidArgument) as caught:
        ta.from_dp_event(event)
    assert str(caught.value) == message


def test_a_tree_has_steps():
    with pytest.raises(ta.InvalidArgument) as caught:
        ta.from_dp_event(dp.SingleEpochTreeAggregationDpEvent(1.0, []), SPECIAL)
    assert str(caught.value) == "event.step_counts must count at least one step, got []"


@pytest.mark.parametrize("relation", ["REPLACE_ONE", 2, ta.Neighbours.REPLACE])
def test_the_relation_is_dp_accountings(relation):
    rule = "neighboring_relation must be a dp_accounting NeighboringRelation, got "
    with pytest.raises(ta.InvalidArgument) as caught:
        ta.from_dp_event(GAUSSIAN, relation)
    assert str(caught.value) == rule + repr(relation)


def test_every_event_of_the_installed_release_is_known_or_refused():
    """A new kind of event must be met with a decision, not with silence."""
    from tellapart.accountants import events

    kinds = {
        name
        for name, kind in vars(dp_event).items()
        if isinstance(kind, type) and issubclass(kind, dp.DpEvent) and kind is not dp.DpEvent
    }
    assert kinds - set(events.READERS) == {"UnsupportedDpEvent"}
    assert set(events.READERS) <= kinds | set(LATER)


@pytest.mark.parametrize(
    ("shape", "trials"),
    [
        (1, ta.geometric(mean=10)),
        (0, ta.negative_binomial(shape=0, mean=10)),
        (2.5, ta.negative_binomial(shape=2.5, mean=10)),
        (math.inf, ta.poisson(mean=10)),
    ],
)
def test_the_best_of_a_random_number_of_runs(shape, trials):
    event = dp_event.RepeatAndSelectDpEvent(dp.GaussianDpEvent(4.0), 10, shape)
    read = ta.from_dp_event(event)
    assert read == ta.Gaussian(sigma=4).best_of(trials)
    # Theirs is a guarantee as well, by Rényi divergence: ours is no weaker.
    theirs = dp.rdp.RdpAccountant().compose(event).get_epsilon(1e-5)
    assert read.epsilon(delta=1e-5) < theirs


def test_the_best_run_of_what_hides_or_tells_nothing_is_the_same():
    for end in (dp.NoOpDpEvent(), dp.NonPrivateDpEvent()):
        best = ta.from_dp_event(dp_event.RepeatAndSelectDpEvent(end, 10, 1))
        assert best.advantage() == ta.from_dp_event(end).advantage()
