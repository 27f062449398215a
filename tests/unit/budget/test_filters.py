"""Budgets of pots, and in Rényi divergence: what steps cost, when they halt, and what is kept."""

import json
import math
import pickle
from decimal import ROUND_UP, Decimal, localcontext

import numpy as np
import pytest

import tellapart as ta
from tellapart.budget.filters import from_record
from tellapart.budget.pots import dominated
from tellapart.mechanisms.catalogue.short_text import mechanism_of, text_of

STEP = ta.Gaussian(sigma=1).sampled(0.01)
REPLACE, ZERO_OUT = ta.Neighbours.REPLACE, ta.Neighbours.ZERO_OUT
DELTAS = np.array([1e-9, 1e-5, 1e-2])


def test_ten_tenths_fit_one():
    budget = ta.Budget(laplace=1)
    for _ in range(10):
        budget.spend(ta.Laplace.with_epsilon(0.1))
    assert budget.left() == {"laplace": 0}
    assert not budget.would_allow(ta.Laplace.with_epsilon(1e-9))


@pytest.mark.parametrize("seed", range(5))
def test_shares_of_a_pot_fit_it_in_doubles_and_more_do_not(seed):
    rng = np.random.default_rng(seed)
    size = float(rng.uniform(0.1, 5))
    shares = rng.dirichlet(np.ones(50))
    laplace, gaussian = ta.Budget(laplace=size), ta.Budget(gaussian=size)
    for share in shares:
        laplace.spend(ta.Laplace.with_epsilon(float(size * share)))
        gaussian.spend(ta.Gaussian(sigma=float(1 / (size * math.sqrt(share)))))
    assert not laplace.would_allow(ta.Laplace.with_epsilon(size * 1e-11))
    assert not gaussian.would_allow(ta.Gaussian(sigma=1 / (size * 1e-5)))
    for budget in (laplace, gaussian):
        (pot,) = budget.pots
        assert sum(entry.cost for entry in budget.spent) <= Decimal(budget.pots[pot]) * (
            1 + Decimal("1.1e-12")
        )


def test_sums_do_not_follow_the_decimal_context_of_others():
    """Whoever rounds decimals in a program does not round budgets in it."""
    with localcontext() as context:
        context.prec, context.rounding = 2, ROUND_UP
        budget = ta.Budget(laplace=1, steps={ta.Promise(0.1): 2_000})
        for _ in range(3):
            budget.spend(ta.Laplace.with_epsilon(1 / 3))
        assert not budget.would_allow(ta.Laplace.with_epsilon(1e-3))
        budget.spend(ta.Promise(0.1).repeated(1_234))
        budget.spend(ta.Promise(0.1).then(ta.Promise(0.1).repeated(765)))
        assert budget.left() == {"laplace": 0, "any:epsilon=0.1,delta=0": 0}


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e-5, 1e6])
def test_pots_of_any_size_add_up(size):
    budget = ta.Budget(gaussian=size, laplace=size)
    budget.spend(ta.Laplace(1.0, sensitivity=size))
    budget.spend(ta.Gaussian(1.0, sensitivity=size))
    assert budget.left() == {"gaussian": 0, "laplace": 0}
    for step in (ta.Laplace(1.0, sensitivity=size), ta.Gaussian(1.0, sensitivity=size)):
        with pytest.raises(ta.BudgetSpent):
            budget.spend(step)


def test_the_guarantee_is_the_curve_of_the_pots_composed_and_no_less():
    budget = ta.Budget(gaussian=0.5, laplace=0.3, steps={STEP: 100})
    plan = ta.Plan([ta.Gaussian(sigma=2), ta.Laplace.with_epsilon(0.3), STEP.repeated(100)])
    np.testing.assert_allclose(
        budget.guarantee().epsilon(DELTAS), plan.curve().epsilon(DELTAS), rtol=1e-8
    )
    for order in ta.Order:
        assert budget.guarantee(order).order is order
    assert budget.guarantee().label == repr(budget)
    alone = ta.Budget(gaussian=1).guarantee()
    exact = ta.Gaussian(sigma=1).curve()
    assert np.all(alone.delta([0.0, 1.0, 5.0]) >= exact.delta([0.0, 1.0, 5.0]))
    assert alone.epsilon(1e-5) == pytest.approx(exact.epsilon(1e-5), rel=1e-11)


def test_what_is_refused_spends_nothing_and_says_what_is_left():
    budget = ta.Budget(gaussian=1)
    budget.spend(ta.Gaussian(sigma=2), label="first")
    with pytest.raises(ta.BudgetSpent, match=r"'second' costs μ² = 1, .* μ² = 0.75 left") as caught:
        budget.spend(ta.Gaussian(sigma=1), label="second")
    assert caught.value.left == budget.left() == {"gaussian": 0.75}
    assert [entry.label for entry in budget.spent] == ["first"]
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(copy), copy.left) == (str(caught.value), caught.value.left)


def test_a_composition_pays_for_all_of_its_steps_at_once():
    budget = ta.Budget(gaussian=1, steps={STEP: 1_000})
    assert budget.cost(ta.Gaussian(sigma=10).repeated(25)) == ("gaussian", Decimal("0.25"))
    assert budget.cost(ta.dp_sgd(1, 0.01, 400)) == (text_of(STEP), 400)
    budget.spend(ta.dp_sgd(1, 0.01, 400))
    assert budget.left()[text_of(STEP)] == 600
    trainings = ta.Budget(steps={ta.dp_sgd(1, 0.01, 400): 12})
    (name,) = trainings.pots
    assert trainings.cost(ta.dp_sgd(1, 0.01, 300)) == (name, 1)
    assert trainings.cost(ta.dp_sgd(1, 0.01, 401)) == (name, 2)
    assert trainings.cost(ta.dp_sgd(1, 0.01, 400).repeated(3)) == (name, 3)


def test_a_step_that_leaks_no_more_is_paid_for_as_one_of_the_pair():
    budget = ta.Budget(steps={STEP: 3})
    for allowed in (
        ta.Gaussian(sigma=2).sampled(0.01),
        ta.Gaussian(sigma=1).sampled(0.005),
        ta.Gaussian(sigma=1, sensitivity=0.5).sampled(0.01),
        ta.Gaussian(math.inf).sampled(0.01),
    ):
        assert budget.would_allow(allowed)
    for other in (
        ta.Gaussian(sigma=0.99).sampled(0.01),
        ta.Gaussian(sigma=1).sampled(0.011),
        ta.Gaussian(sigma=5),
        ta.Laplace(scale=10).sampled(0.01),
    ):
        assert not budget.would_allow(other)


PAIRS = [
    (ta.Gaussian(2).sampled(0.05), ta.Gaussian(1.5).sampled(0.1)),
    (ta.Gaussian(2).sampled(0.05), ta.Gaussian(1.5)),
    (ta.Laplace(2).sampled(0.3), ta.Laplace(2).sampled(0.4)),
    (ta.Promise(0.5, 1e-6).sampled(0.3), ta.Promise(0.6, 1e-5).sampled(0.3)),
    (ta.RandomizedResponse(0.5, 4), ta.RandomizedResponse(1.0, 4)),
    (ta.Gaussian(2).repeated(3), ta.Gaussian(1.9).repeated(4)),
    (ta.Gaussian(2), ta.Gaussian(2).repeated(4)),
    (ta.Gaussian(2.5).repeated(1), ta.Gaussian(2)),
    (
        ta.Gaussian(3, neighbours=REPLACE).sampled(0.1),
        ta.Gaussian(2, neighbours=REPLACE).sampled(0.2),
    ),
]


@pytest.mark.parametrize(("step", "bound"), PAIRS, ids=repr)
def test_what_is_called_dominated_is_so_in_both_orders(step, bound):
    assert dominated(step, bound)
    assert not dominated(bound, step)
    epsilons = np.linspace(0, 3, 31)
    for order in ta.Order:
        less, more = (each.curve(order).delta(epsilons) for each in (step, bound))
        assert np.all(less <= more + 1e-12)


def test_a_step_is_paid_from_the_pot_that_leaks_least_or_from_the_one_that_is_named():
    loud, quiet = ta.Gaussian(1).sampled(0.01), ta.Gaussian(2).sampled(0.01)
    for steps in ({loud: 5, quiet: 1}, {quiet: 1, loud: 5}):
        budget = ta.Budget(steps=steps)
        assert budget.spend(quiet).pot == text_of(quiet)
        assert budget.spend(loud).pot == text_of(loud)
        assert not budget.would_allow(quiet)
        assert budget.would_allow(quiet, pot=text_of(loud))
        budget.spend(quiet, pot=text_of(loud))
        assert budget.left() == {text_of(loud): 3, text_of(quiet): 0}
        with pytest.raises(ta.Unsupported):
            budget.cost(loud, pot=text_of(quiet))
        with pytest.raises(ta.InvalidArgument, match="pot must be"):
            budget.cost(loud, pot="other")


def test_what_an_attack_has_shown_is_no_step():
    shown = ta.CustomMechanism(ta.attack([(0.1, 0.5)]))
    for budget in (ta.RenyiBudget(2, 9), ta.RenyiBudget.zcdp(9), ta.RenyiBudget.pure(9)):
        with pytest.raises(ta.Unsupported):
            budget.spend(shown)
    for step in (shown, shown.repeated(2).sampled(0.5), shown.then(ta.Laplace(1))):
        with pytest.raises(ta.InvalidArgument, match="what an attack has shown"):
            ta.Budget(steps={step: 1})


def test_a_sampled_step_in_a_gaussian_pot_is_refused_with_the_reason():
    with pytest.raises(ta.Unsupported, match="GDP has no amplification"):
        ta.Budget(gaussian=5).spend(STEP)
    with pytest.raises(ta.Unsupported, match="open the budget with laplace=ε"):
        ta.Budget(gaussian=5).spend(ta.Laplace(1))
    with pytest.raises(ta.Unsupported, match="one by one"):
        ta.Budget(gaussian=5, laplace=1).spend(ta.Gaussian(1).then(ta.Laplace(1)))
    with pytest.raises(ta.Unsupported, match="RenyiBudget"):
        ta.Budget(gaussian=5).spend(ta.DiscreteLaplace.with_epsilon(0.1))


def test_there_is_no_budget_made_of_a_curve():
    for curve in (ta.guarantee(epsilon=1, delta=1e-5), ta.Gaussian(1), 3):
        with pytest.raises(ta.InvalidArgument, match=r"docs/budgets\.md"):
            ta.Budget(curve)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "at least one pot"),
        ({"gaussian": 0}, "gaussian must"),
        ({"laplace": math.inf}, "laplace must"),
        ({"laplace": 1e7}, "laplace must be at most 1e6"),
        ({"steps": {ta.Laplace(1): 0}}, "how many steps must"),
        ({"steps": [ta.Laplace(1)]}, "steps must map"),
        ({"steps": {"laplace": 2}}, "a key of steps must be a mechanism"),
        ({"steps": {STEP: 2}, "neighbours": REPLACE}, "steps must all have the neighbours"),
    ],
)
def test_a_budget_that_is_none_is_refused(arguments, message):
    with pytest.raises(ta.InvalidArgument, match=message):
        ta.Budget(**arguments)


def test_steps_have_the_neighbours_of_the_budget():
    budget = ta.Budget(gaussian=1, steps={ta.RandomizedResponse(1): 2})
    assert budget.neighbours is REPLACE
    with pytest.raises(ta.InvalidArgument, match="neighbours of the budget"):
        budget.spend(ta.Gaussian(sigma=9))
    budget.spend(ta.Gaussian(sigma=9, neighbours=REPLACE))
    assert budget.guarantee().neighbours is REPLACE


OPENED = [
    ta.Budget(gaussian=1.25),
    ta.Budget(gaussian=0.1, laplace=1 / 3, steps={STEP: 1_000, ta.Promise(0.1): 3}),
    ta.Budget(steps={ta.dp_sgd(1.1, 0.02, 500, neighbours=ZERO_OUT): 12}),
    ta.Budget(laplace=2, steps={ta.Staircase(1, neighbours=REPLACE).repeated(2): 3}),
    ta.RenyiBudget(8, 1.5),
    ta.RenyiBudget.zcdp(0.1, neighbours=REPLACE),
    ta.RenyiBudget.pure(1),
]


@pytest.mark.parametrize("budget", OPENED, ids=repr)
def test_a_record_opens_the_same_budget(budget):
    again = from_record(json.loads(json.dumps(budget.to_record())))
    assert type(again) is type(budget)
    assert again.to_record() == budget.to_record()
    assert again.pots == budget.pots
    assert again.neighbours is budget.neighbours
    assert repr(again) == repr(budget)
    assert again.guarantee().epsilon(1e-5) == budget.guarantee().epsilon(1e-5)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"kind": "other"},
        {"kind": "zcdp", "rho": 1},
        {"kind": "zcdp", "rho": 1, "neighbours": "none"},
        {"kind": "zcdp", "epsilon": 1, "neighbours": "add-remove"},
        {"kind": "zcdp", "rho": -1, "neighbours": "add-remove"},
        {**ta.Budget(gaussian=1).to_record(), "steps": {"gaussian": 1}},
        {**ta.Budget(gaussian=1).to_record(), "steps": [["gaussian:sigma=1"]]},
        {**ta.Budget(gaussian=1).to_record(), "steps": [["gaussian:sigma=1", 0]]},
        {**ta.Budget(gaussian=1).to_record(), "steps": [[1, 1]]},
    ],
)
def test_a_record_that_opens_no_budget_is_refused(record):
    with pytest.raises(ta.InvalidArgument):
        from_record(record)


def test_entries_can_be_replayed():
    budget = ta.Budget(gaussian=1, steps={STEP: 10})
    budget.spend(ta.Gaussian(sigma=3), "a")
    budget.spend(STEP, "b")
    again = from_record(budget.to_record())
    for entry in budget.spent:
        again.replay(entry)
    assert (again.left(), again.spent) == (budget.left(), budget.spent)
    for pot, cost in (("other", 0), ("gaussian", -1), ("gaussian", math.nan)):
        with pytest.raises(ta.InvalidArgument, match="must"):
            again.replay(type(budget.spent[0])(None, pot, Decimal(cost)))
    with pytest.raises(ta.BudgetSpent):
        again.replay(type(budget.spent[0])("too much", "gaussian", Decimal(1)))


MECHANISMS = [
    ta.Gaussian(1 / 3),
    ta.Laplace(2.5, sensitivity=3),
    ta.Promise(1, 1e-6).sampled(0.25),
    ta.Gaussian(1e-7).sampled(1 / 7).repeated(10**7),
    ta.compose([ta.Staircase(1), ta.Gaussian(2).repeated(4), ta.UniformNoise.optimal(0.1)]),
    ta.DiscreteGaussian(3, sensitivity=2).repeated(5),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_a_text_is_read_back_as_the_same_mechanism(mechanism):
    assert mechanism_of(text_of(mechanism)) == mechanism


def test_a_mechanism_without_a_text_says_so():
    for mechanism in (ta.Gaussian(1).repeated(2).sampled(0.1), ta.Gaussian(1).best_of(3)):
        with pytest.raises(ta.Unsupported, match="no short text"):
            text_of(mechanism)
    with pytest.raises(ta.Unsupported, match="no step"):
        mechanism_of("any:mu=1")


# -- Rényi, zCDP and pure budgets -----------------------------------------------------------------


def test_a_renyi_budget_adds_up_divergences_of_one_order():
    budget = ta.RenyiBudget(order=8, limit=1)
    for _ in range(10):
        budget.spend(ta.Gaussian(sigma=math.sqrt(40)))  # 8/(2·40)
    assert budget.left()["renyi"] == pytest.approx(0, abs=1e-12)
    assert not budget.would_allow(ta.Gaussian(sigma=1e4))
    fixed = ta.guarantee(rdp=[(8, 1)])
    assert budget.guarantee().epsilon(1e-5) == pytest.approx(fixed.epsilon(1e-5), rel=1e-10)
    assert budget.guarantee().epsilon(1e-5) >= fixed.epsilon(1e-5)


def test_zcdp_and_pure_budgets_add_up():
    budget = ta.RenyiBudget.zcdp(1)
    budget.spend(ta.Gaussian(sigma=1))
    budget.spend(ta.DiscreteGaussian(sigma=2))
    budget.spend(ta.Laplace.with_epsilon(0.5))
    assert budget.left()["zcdp"] == pytest.approx(
        1 - 1 / 2 - 1 / 8 - math.tanh(0.25) / 2, abs=1e-11
    )
    pure = ta.RenyiBudget.pure(1)
    pure.spend(ta.Laplace.with_epsilon(0.25), "a")
    pure.spend(ta.DiscreteLaplace.with_epsilon(0.25).repeated(2), "b")
    assert pure.left()["pure"] == pytest.approx(0.25, abs=1e-12)
    assert pure.guarantee().epsilon(0.0) == pytest.approx(1, abs=1e-11)
    with pytest.raises(ta.Unsupported, match="no finite cost"):
        pure.spend(ta.Gaussian(1))
    with pytest.raises(ta.Unsupported):
        budget.spend(ta.Promise(1, 1e-5))
    assert not ta.RenyiBudget(2, 1).would_allow(ta.Promise(1, 1e-5))


@pytest.mark.parametrize("order", [1, 0.5, math.nan, "two"])
def test_an_order_must_exceed_one(order):
    with pytest.raises(ta.InvalidArgument, match="order must"):
        ta.RenyiBudget(order, 1)


def test_a_pot_that_nothing_was_taken_from_is_as_it_was_opened():
    assert ta.RenyiBudget.zcdp(0.1).left() == {"zcdp": 0.1}
    assert ta.Budget(laplace=0.1).left() == {"laplace": 0.1}


@pytest.mark.parametrize(
    "kind",
    [ta.ExponentialMechanism, ta.PermuteAndFlip, ta.ReportNoisyMax],
    ids=lambda k: k.__name__,
)
def test_a_selection_with_another_epsilon_is_another_step(kind):
    assert kind(1.0) == kind(1.0) != kind(2.0)
    assert kind(1.0, [0.0, 1.0], [1.0, 1.0]) != kind(1.0, [0.0, 1.0], [1.0, 0.0])
    budget = ta.Budget(steps={kind(0.01): 10, kind(5.0): 3})
    assert len(budget.pots) == 2
    with pytest.raises(ta.Unsupported, match="no pot of this budget"):
        budget.spend(kind(100.0))


def test_pots_whose_words_are_the_same_are_apart():
    weak = ta.CustomMechanism.from_pmfs([0.5, 0.5], [0.49, 0.51])
    strong = ta.CustomMechanism.from_pmfs([0.5, 0.5], [0.1, 0.9])
    budget = ta.Budget(steps={weak: 50, strong: 1})
    assert sorted(budget.left().values()) == [1, 50]
    budget.spend(strong)
    with pytest.raises(ta.BudgetSpent):
        budget.spend(strong)


def test_a_huge_order_promises_no_more_than_a_large_one():
    """Of order 1e16 and ε = 1 randomised response has the advantage tanh(1/2), nearly."""
    assert ta.guarantee(rdp=[(1e16, 1.0)]).delta(0.0) >= math.tanh(0.5) - 1e-3
    assert ta.RenyiBudget(1e20, 1).guarantee().delta(0.0) >= math.tanh(0.45)


def test_an_empty_pot_has_nothing_left_and_says_so():
    budget = ta.Budget(gaussian=1)
    budget.spend(ta.Gaussian(sigma=1))
    assert "-0" not in str(budget.odometer(1e-5))
    with pytest.raises(ta.BudgetSpent, match="has μ² = 0 left"):
        budget.spend(ta.Gaussian(sigma=1))
