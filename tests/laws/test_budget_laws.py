"""Privacy filters against all adaptive policies, by dynamic programming over finite mechanisms.

The most that an adaptive policy reaches at a budget b is the value
W(b, a) = max(1 − e^a, max over steps M of E_Q W(b − cost of M, a − loss of M)):
where it stops, or what it runs next after every output. A filter holds if W(b, ·) stays below the
profile that it promises, in either order of the two worlds.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr

import tellapart as ta

EPSILONS = np.linspace(-1.5, 2.5, 17)
REPLACE = ta.Neighbours.REPLACE


def stopped(a):
    return np.maximum(-np.expm1(a), 0.0)


def value(budget, steps, spend, a):
    """W(budget, a): ``spend(budget, step)`` is what is left, None where the filter halts."""
    best = stopped(a)
    for step, (absent, present) in steps.items():
        left = spend(budget, step)
        if left is not None:
            best = np.maximum(best, expected(absent, present, left, steps, spend, a))
    return best


def expected(absent, present, left, steps, spend, a):
    total = np.zeros_like(a)
    for p, q in zip(absent, present, strict=True):
        if q > 0:  # an output that only this world has is worth 1
            rest = value(left, steps, spend, a - math.log(q / p)) if p > 0 else 1.0
            total = total + q * rest
    return total


def both_orders(steps):
    return steps, {step: (present, absent) for step, (absent, present) in steps.items()}


def random_pair(rng, size, reveals=False):
    absent, present = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
    absent, present = 0.7 * absent + 0.3 * present, 0.7 * present + 0.3 * absent
    if reveals:
        absent[0] = present[-1] = 0.0
    return absent / absent.sum(), present / present.sum()


@pytest.mark.parametrize("seed", range(4))
def test_no_policy_gains_on_pots_of_fixed_pairs(seed):
    """However two kinds of steps are interleaved, and stopped, the product is reached at most."""
    rng = np.random.default_rng(seed)
    pairs = {"a": random_pair(rng, 2, reveals=seed == 3), "b": random_pair(rng, 3)}
    counts = {"a": 2, "b": 1 + seed % 2}
    mechanisms = {name: ta.CustomMechanism.from_pmfs(*pair) for name, pair in pairs.items()}

    def spend(left, name):
        return {**left, name: left[name] - 1} if left[name] else None

    product = ta.compose([mechanisms[name].repeated(counts[name]) for name in counts])
    for order, steps in zip(ta.Order, both_orders(pairs), strict=True):
        promised = product.curve(order).delta(EPSILONS)
        reached = value(counts, steps, spend, EPSILONS)
        assert np.all(reached <= promised + 1e-12)
        np.testing.assert_allclose(reached, promised, atol=1e-12)  # by spending all


def cells(mechanism, count):
    """A mechanism's output rounded to cells of equal loss: a step that leaks no more than it."""
    curve = mechanism.curve(ta.Order.PRESENT)
    top = min(float(curve._largest_loss()), 3.0)
    cuts = np.linspace(-top, top, count - 1) * (1 - 1e-12)
    rates = curve.rates(cuts)
    absent = -np.diff(np.concatenate([[1.0], rates.fpr, [0.0]]))
    present = -np.diff(np.concatenate([[1.0], rates.tpr, [0.0]]))
    return absent, present


@pytest.mark.parametrize(
    ("pot", "make", "shares"),
    [
        ("laplace", lambda share: ta.Laplace.with_epsilon(1.2 * share), (0.25, 0.5, 0.75)),
        ("gaussian", lambda share: ta.Gaussian(1 / (1.2 * math.sqrt(share))), (0.3, 0.35, 0.65)),
    ],
)
def test_no_policy_gains_on_a_laplace_or_gaussian_pot(pot, make, shares):
    """Steps of any size, chosen by what was seen, until the pot is empty."""
    steps = {share: cells(make(share), 5) for share in shares}
    budget = ta.Budget(**{pot: 1.2})

    def spend(taken, share):
        opened = ta.Budget(**{pot: 1.2})
        for before in taken:
            opened.spend(make(before))
        return (*taken, share) if opened.would_allow(make(share)) else None

    reached = value((), steps, cache(spend), EPSILONS)
    promised = budget.guarantee().delta(EPSILONS)
    assert np.all(reached <= promised + 1e-12)
    assert reached[6] > 0.5 * promised[6]  # they come near, or nothing was tried


def test_no_policy_gains_by_going_from_pot_to_pot():
    """Laplace, Gaussian and sampled steps in whatever order outputs suggest, as the budget lets."""
    pair = ta.Gaussian(1.0).sampled(0.4)
    mechanisms = {
        "laplace": ta.Laplace.with_epsilon(0.4),
        "gaussian": ta.Gaussian(1 / 0.7),
        "weaker": ta.Gaussian(1.1).sampled(0.3),
    }

    def opened():
        return ta.Budget(laplace=0.8, gaussian=0.7, steps={pair: 1})

    def spend(taken, name):
        budget = opened()
        for before in taken:
            budget.spend(mechanisms[before])
        return (*taken, name) if budget.would_allow(mechanisms[name]) else None

    steps = {name: cells(mechanism, 4) for name, mechanism in mechanisms.items()}
    for order, ordered in zip(ta.Order, both_orders(steps), strict=True):
        reached = value((), ordered, cache(spend), EPSILONS)
        promised = opened().guarantee(order).delta(EPSILONS)
        assert np.all(reached <= promised + 1e-12)
        assert reached[6] > 0.5 * promised[6]


FILTERS = {
    "renyi": lambda limit: ta.RenyiBudget(3, limit, neighbours=REPLACE),
    "zcdp": lambda limit: ta.RenyiBudget.zcdp(limit, neighbours=REPLACE),
    "pure": lambda limit: ta.RenyiBudget.pure(limit, neighbours=REPLACE),
}


@pytest.mark.parametrize(("kind", "limit"), [("renyi", 0.6), ("zcdp", 0.35), ("pure", 1.4)])
def test_no_policy_gains_on_a_budget_for_any_steps(kind, limit):
    mechanisms = {
        epsilon: ta.RandomizedResponse(epsilon, categories)
        for epsilon, categories in ((0.4, 2), (0.5, 3), (0.9, 2))
    }

    def pair(mechanism):
        k = mechanism.categories
        likely = math.exp(mechanism.epsilon) / (math.exp(mechanism.epsilon) + k - 1)
        absent = np.full(k, (1 - likely) / (k - 1))
        present = absent.copy()
        absent[0], present[1] = likely, likely
        return absent, present

    opened = FILTERS[kind](limit)
    costs = {step: opened.cost(mechanism)[1] for step, mechanism in mechanisms.items()}
    steps = {step: pair(mechanism) for step, mechanism in mechanisms.items()}

    def spend(left, step):
        return left - costs[step] if costs[step] <= left else None

    reached = value(opened._pots[0].most, steps, spend, EPSILONS)
    promised = opened.guarantee().delta(EPSILONS)
    assert np.all(reached <= promised + 1e-12)
    assert reached[10] > 0


def natural(target, mechanisms):
    """The natural filter: halts before the composed curve of what was run breaks (ε, δ)."""
    epsilon, delta = target

    def spend(taken, step):
        after = (*taken, step)
        path = ta.compose([mechanisms[each] for each in after])
        return after if path.curve().delta(epsilon) <= delta * (1 + 1e-9) else None

    return cache(spend)


def test_the_natural_filter_is_beaten_by_a_policy_found_here():
    """Every path keeps (1, .01), and the best policy over these three steps does not."""
    mechanisms = {
        "first": ta.RandomizedResponse(0.5),
        "second": ta.RandomizedResponse(0.52589268603838),
        "reveal": ta.Promise(0, 0.01, neighbours=REPLACE),
    }
    steps = {
        name: tuple(np.array([p, 1 - p]) for p in (1 - likely, likely))
        for name, likely in (
            ("first", 1 / (1 + math.exp(-0.5))),
            ("second", 1 / (1 + math.exp(-0.52589268603838))),
        )
    }
    steps["reveal"] = np.array([0.0, 0.99, 0.01]), np.array([0.01, 0.99, 0.0])
    reached = value((), steps, natural((1.0, 0.01), mechanisms), np.array([1.0]))
    assert reached.item() >= 0.013775406687981455 - 1e-12


def test_the_natural_filter_is_beaten_with_ordinary_noise():
    """Gaussian noise first, seen in cells, and then whichever noise gains more."""
    first, cut = ta.Gaussian(1 / 0.08), 0.2553851490
    second = {"laplace": ta.Laplace.with_epsilon(0.745), "gaussian": ta.Gaussian(1 / 0.25583472136)}
    halts = natural((1.0, 1e-5), {"first": first, **second})
    assert all(halts(("first",), name) for name in second)
    # 60 cells on either side of the loss at which the next step is chosen
    x = np.concatenate([np.linspace(-9, 0, 60), np.linspace(0, 6, 61)[1:]]) + cut / 0.08 + 0.04
    ends = np.concatenate([[-np.inf], x, [np.inf]])
    absent, present = -np.diff(ndtr(-ends)), -np.diff(ndtr(0.08 - ends))
    after = [each.curve().delta(1.0 - np.log(present / absent)) for each in second.values()]
    reached = np.sum(present * np.maximum(*after))
    assert 1.8e-5 < reached <= 1.8685034e-5


def test_a_stop_chosen_by_the_data_is_free_at_the_plan_and_not_at_the_prefix():
    """RR(.5), and RR(2) only after one answer: the transcript has a loss of 2.5."""
    plan = ta.Plan([ta.RandomizedResponse(0.5), ta.RandomizedResponse(2.0)])
    first, second = (1 / (1 + math.exp(-epsilon)) for epsilon in (0.5, 2.0))
    present = np.array([first * second, first * (1 - second), 1 - first])
    absent = np.array([(1 - first) * (1 - second), (1 - first) * second, first])
    interaction = ta.from_pmfs(absent, present)
    assert interaction.epsilon(0.0) == pytest.approx(2.5)
    assert np.all(interaction.delta(EPSILONS) <= plan.curve().delta(EPSILONS) + 1e-15)
    # Whoever stopped after one answer would report 0.5, which the interaction does not keep.
    assert interaction.delta(0.5) > 0.3
