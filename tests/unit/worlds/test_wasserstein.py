"""The distance W∞ against exact fractions, its tails, its ties, and the pair that is widest."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

import tellapart as ta
from tellapart.worlds import (
    Exchangeable,
    GaussianRecords,
    ImpossibleSecret,
    Independent,
    JointTable,
    Linear,
    MarkovChain,
    Predicate,
    RecordIn,
    RecordValue,
    Sum,
    TreeNetwork,
)
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw
from tellapart.worlds.wasserstein_distance import SLACK, wasserstein, widest


def draws(seed):
    return random.Random(seed)  # noqa: S311


def furthest(one, other, share=0):
    """W∞ of two laws given by fractions: both are poured out side by side.

    Meetings that take at most this share of both atoms' masses are not counted.
    """
    first, second = sorted(one.items()), sorted(other.items())
    worst = 0
    while first and second:
        (x, p), (y, q) = first[0], second[0]
        poured = min(p, q)
        if poured > share * min(one[x], other[y]):
            worst = max(worst, abs(x - y))
        first[0], second[0] = (x, p - poured), (y, q - poured)
        first, second = (side[1:] if side[0][1] == 0 else side for side in (first, second))
    return worst


def log(fraction):
    """A logarithm of a fraction that no double holds."""
    return math.log(fraction.numerator) - math.log(fraction.denominator)


def law(fractions):
    values = sorted(value for value, share in fractions.items() if share)
    return FiniteLaw(values, [log(fractions[value]) for value in values])


def shared(values, weights):
    whole = sum(weights)
    return {value: Fraction(one) / whole for value, one in zip(values, weights, strict=True)}


def random_law(draw, kind):
    values = draw.sample(range(30), draw.randint(1, 6))
    if kind == "ties":
        weights = [draw.choice([1, 2, 3]) for _ in values]
    elif kind == "tails":
        weights = [Fraction(1, 10 ** draw.choice([0, 5, 30, 400])) for _ in values]
    else:
        weights = [draw.randint(1, 10**9) for _ in values]
    return shared(values, weights)


@pytest.mark.parametrize("kind", ["ties", "tails", "plain"])
def test_it_is_what_fractions_say(kind):
    draw = draws(kind)
    for _ in range(300):
        one, other = random_law(draw, kind), random_law(draw, kind)
        found, exact = wasserstein(law(one), law(other)), furthest(one, other)
        if kind == "tails":  # atoms lighter than rounding meet all that they may
            assert found >= furthest(one, other, Fraction(SLACK) / 2), (one, other)
        else:
            assert found == exact, (one, other)
        assert wasserstein(law(other), law(one)) == found


@pytest.mark.parametrize("mass", [1e-15, 1e-30, 1e-300])
def test_a_tail_counts_however_light(mass):
    tail = FiniteLaw([-7.0, 0.0], [math.log(mass), math.log1p(-mass)])
    assert wasserstein(tail, FiniteLaw.of({0: 1})) == 7
    tail = FiniteLaw([0.0, 7.0], [math.log1p(-mass), math.log(mass)])
    assert wasserstein(FiniteLaw.of({0: 1}), tail) == 7


@pytest.mark.parametrize("mass", [1e-9, 1e-14, 1e-20])
def test_an_atom_lost_in_the_middle_counts(mass):
    halves = FiniteLaw.of({0: 0.5, 100: 0.5})
    assert wasserstein(halves, FiniteLaw.of({0: 0.5, 60: mass, 100: 0.5 - mass})) == 60


@pytest.mark.parametrize("mass", [1e-3, 1e-7, 1e-14, 1e-30])
def test_a_law_and_the_same_law_moved(mass):
    """Atoms meet their own images, and no rounding lets them meet another's."""
    one = {0: 0.5, 10: mass, 20: 0.3 - mass, 30: 0.2}
    moved = {value + 3: share for value, share in one.items()}
    assert wasserstein(FiniteLaw.of(one), FiniteLaw.of(moved)) == 3
    assert wasserstein(FiniteLaw.of(one), FiniteLaw.of(one)) == 0


def test_sums_that_should_be_equal_make_no_atoms_meet():
    """0.1 + 0.2 is not 0.3 in doubles."""
    one = FiniteLaw.of({0: 0.1, 1: 0.2, 100: 0.7})
    assert wasserstein(one, FiniteLaw.of({0: 0.3, 100: 0.7})) == 1


def epsilon_under_noise(one, other, scale):
    outputs = np.union1d(one.values, other.values)
    logs = [
        logsumexp(law.log_weights - np.abs(outputs[:, None] - law.values) / scale, axis=1)
        for law in (one, other)
    ]
    return float(np.abs(logs[0] - logs[1]).max())


def test_noise_by_the_distance_keeps_epsilon():
    draw = draws(5)
    for kind in ("ties", "tails", "plain"):
        for _ in range(100):
            one, other = law(random_law(draw, kind)), law(random_law(draw, kind))
            distance = wasserstein(one, other)
            if distance:
                assert epsilon_under_noise(one, other, distance / 0.7) <= 0.7 + SLACK


def test_sums_that_nearly_agree_cost_no_more_than_the_slack():
    """Weights moved to a neighbour by shares around those at which meetings stop to count."""
    rng = np.random.default_rng(5)
    for spread in (1, 8, 16) * 100:
        values = np.sort(rng.choice(40, 5, replace=False)).astype(float)
        weights = 10.0 ** -rng.uniform(0, spread, 5)
        moved = weights.copy()
        for i in range(4):
            share = 10.0 ** -rng.uniform(7, 13) * rng.choice([-1, 1]) * moved[i : i + 2].min()
            moved[i : i + 2] += [-share, share]
        one = FiniteLaw(values, np.log(weights / weights.sum()))
        other = FiniteLaw(values + rng.integers(0, 2, 5) / 2, np.log(moved / moved.sum()))
        distance = wasserstein(one, other)
        assert (
            epsilon_under_noise(one, other, distance / 0.7 or 1e-3) <= 0.7 * (distance > 0) + SLACK
        )


def test_what_is_not_counted_costs_no_more_than_the_slack():
    one, other = FiniteLaw.of({0: 0.5, 9: 0.5}), FiniteLaw.of({0: 0.5 - 1e-11, 9: 0.5 + 1e-11})
    assert wasserstein(one, other) == 0
    assert epsilon_under_noise(one, other, 1e-3) <= SLACK
    other = FiniteLaw.of({0: 0.5 - 1e-8, 9: 0.5 + 1e-8})
    assert wasserstein(one, other) == 9


def test_normal_laws():
    assert wasserstein(NormalLaw(1, 2), NormalLaw(-0.5, 2)) == 1.5
    assert wasserstein(NormalLaw(1, 2), NormalLaw(1, 3)) == math.inf


def test_laws_of_two_kinds_are_refused():
    with pytest.raises(ta.InvalidArgument, match="other must be a FiniteLaw, or both"):
        wasserstein(FiniteLaw.of({0: 1}), NormalLaw(0, 1))


def chain_by_listing(initial, transition, length, weights, record):
    """The laws of a weighted sum given each value of one record, in fractions."""
    laws = [{} for _ in initial]
    for path in itertools.product(range(len(initial)), repeat=length):
        share = initial[path[0]]
        for a, b in itertools.pairwise(path):
            share *= transition[a][b]
        if share:
            value = sum(w * x for w, x in zip(weights, path, strict=True))
            mine = laws[path[record]]
            mine[value] = mine.get(value, 0) + share
    return [
        {value: share / sum(one.values()) for value, share in one.items()} for one in laws if one
    ]


def test_the_widest_pair_of_random_chains():
    draw = draws(3)
    for _ in range(12):
        states = draw.choice([2, 3])
        rows = [
            list(
                shared(
                    range(states), [draw.randint(0, 3) + (s == r) for s in range(states)]
                ).values()
            )
            for r in range(states)
        ]
        initial = list(
            shared(range(states), [draw.randint(0, 2) or 1, *[1] * (states - 1)]).values()
        )
        weights = [draw.choice([1, 1, 2, -1, 0]) for _ in range(5)]
        chain = MarkovChain([float(x) for x in initial], [[float(x) for x in r] for r in rows], 5)
        exact = 0
        for record in range(5):
            laws = chain_by_listing(initial, rows, 5, weights, record)
            exact = max(exact, *(furthest(*pair) for pair in itertools.combinations(laws, 2)), 0)
        assert widest(chain, Linear(weights)).distance == exact


CHAIN = MarkovChain([1, 0], [[0.9, 0.1], [0.4, 0.6]], 4)
MODELS = {
    "chain": CHAIN,
    "three states": MarkovChain([0.2, 0.3, 0.5], np.full((3, 3), 1 / 3), 4, values=[0, 2, 5]),
    "independent": Independent([[0.7, 0.3], [1, 0], [0.4, 0.6], [0.5, 0.5]]),
    "exchangeable": Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1]),
    "tree": TreeNetwork([-1, 0, 0, 1], [0.75, 0.25], [[0.9, 0.1], [0.3, 0.7]]),
    "table": JointTable([[0, 1]] * 4, np.arange(16).reshape((2,) * 4) / 120),
}


@pytest.mark.parametrize("known", [None, {2: 0}])
@pytest.mark.parametrize("name", MODELS)
def test_all_laws_at_once_are_those_asked_one_by_one(name, known):
    model, query = MODELS[name], Sum()
    asked = []
    for secret, found in model.laws(query, known):
        asked.append(secret)
        if found is None:
            assert model.prior(secret, known) == 0
            continue
        one = model.law(query, secret, known)
        np.testing.assert_array_equal(found.values, one.values)
        np.testing.assert_allclose(found.log_weights, one.log_weights, atol=1e-12)
    assert asked == [one for one in model.secrets() if one.record not in (known or {})]


def test_secrets_that_cannot_be_are_listed():
    found = widest(CHAIN, Sum())
    assert found.skipped == (RecordValue(0, 1),)
    assert found.pair is not None
    one, other = (CHAIN.law(Sum(), secret) for secret in found.pair)
    assert wasserstein(one, other) == found.distance == 3
    pair = (RecordValue(0, 0), RecordValue(0, 1))
    found = widest(CHAIN, Sum(), [pair])
    assert (found.distance, found.pair, found.skipped) == (0, None, pair[1:])


def test_pairs_may_be_any_secrets():
    model = MODELS["table"]
    pair = (Predicate(lambda d: d[0] == d[1]), RecordIn(3, [0]))
    laws = [model.law(Sum(), secret) for secret in pair]
    assert widest(model, Sum(), [pair]).distance == wasserstein(*laws)


def test_normal_records():
    model = GaussianRecords([0, 0, 0], np.full((3, 3), 0.5) + 0.5 * np.eye(3))
    pair = (RecordValue(0, 0), RecordValue(0, 1))
    assert widest(model, Sum(), [pair]).distance == pytest.approx(2)
    with pytest.raises(ta.Unsupported, match="name two to tell apart"):
        widest(model, Sum())


def test_what_cannot_be_known_is_refused():
    for pairs in (None, [(RecordValue(1, 0), RecordValue(1, 1))]):
        with pytest.raises(ImpossibleSecret, match="known must have positive probability"):
            widest(CHAIN, Sum(), pairs, known={0: 1})
    with pytest.raises(ta.InvalidArgument, match="pairs must not be empty"):
        widest(CHAIN, Sum(), [])
    with pytest.raises(ta.InvalidArgument, match="model must be a data model"):
        widest("chain", Sum())


def test_laws_of_long_chains_are_not_all_held_at_once(monkeypatch):
    expected = widest(MODELS["three states"], Sum())
    monkeypatch.setattr("tellapart.worlds.markov.chain._MOST_KEPT", 1)
    assert widest(MODELS["three states"], Sum()) == expected


def test_what_is_known_counts_for_listed_pairs_as_for_all():
    """By each secret's own law, or by all laws at once."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        model = JointTable([[0, 1, 3]] * 3, rng.dirichlet(np.full(27, 0.5)).reshape(3, 3, 3))
        for known in ({2: 0}, {0: 3, 1: 1}):
            records = [i for i in range(3) if i not in known]
            pairs = [
                (RecordValue(i, a), RecordValue(i, b))
                for i in records
                for a, b in itertools.combinations([0.0, 1.0, 3.0], 2)
            ]
            weights = Linear([1.0, -2.0, 5.0])
            assert widest(model, weights, pairs, known) == widest(model, weights, known=known)
