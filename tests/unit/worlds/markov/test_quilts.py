"""Markov quilts against lists of all paths, and the pruned search against a full one."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp

import tellapart as ta
from tellapart.worlds import Linear, MarkovChain, RecordValue, Sum
from tellapart.worlds.markov.quilts import mixing, quilt_scale, quilt_scale_approximate

P = [[0.9, 0.1], [0.4, 0.6]]
CHAIN = MarkovChain([0.8, 0.2], P, 100)


def random_chain(rng, states, length, sharp=1.0):
    table = rng.dirichlet(np.full(states, sharp), states)
    return MarkovChain(rng.dirichlet(np.ones(states)), table, length)


def paths(chain):
    """Every list of states with its probability."""
    for path in itertools.product(range(chain.initial.size), repeat=chain.length):
        share = chain.initial[path[0]]
        for a, b in itertools.pairwise(path):
            share *= chain.transition[a, b]
        yield path, share


def influence(chain, node, quilt):
    """What the quilt tells of the node at most, from the list of all paths."""
    laws = [{} for _ in chain.initial]
    for path, share in paths(chain):
        seen = tuple(path[i] for i in quilt)
        law = laws[path[node]]
        law[seen] = law.get(seen, 0) + share
    worst = 0.0
    for one, other in itertools.permutations(laws, 2):
        if not sum(one.values()) or not sum(other.values()):
            continue
        for seen, share in one.items():
            if share and not other.get(seen, 0):
                return math.inf
            if share:
                ratio = share / sum(one.values()) / (other[seen] / sum(other.values()))
                worst = max(worst, math.log(ratio))
    return worst


def quilts_of(node, length):
    """All quilts of a node, with how many records are nearby."""
    lefts, rights = range(node), range(node + 1, length)
    yield (), length
    for left in lefts:
        yield (left,), length - left - 1
    for right in rights:
        yield (right,), right
    for left, right in itertools.product(lefts, rights):
        yield (left, right), right - left - 1


def listed_scale(chains, epsilon):
    """The worst node under its best quilt, with nothing left out."""
    length, worst = chains[0].length, 0.0
    for node in range(length):
        scores = []
        for quilt, near in quilts_of(node, length):
            told = max(influence(chain, node, quilt) for chain in chains) if quilt else 0.0
            if told < epsilon:
                scores.append(near / (epsilon - told))
        worst = max(worst, min(scores))
    return worst


@pytest.mark.parametrize(("states", "length"), [(2, 6), (2, 5), (3, 4)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_it_is_what_listing_all_paths_says(states, length, epsilon):
    rng = np.random.default_rng([states, length])
    for sharp in (3.0, 20.0):
        chain = random_chain(rng, states, length, sharp)
        found = quilt_scale(chain, epsilon)
        assert found.scale == pytest.approx(listed_scale([chain], epsilon), rel=1e-9)
        sides = [(-1, found.left), (1, found.right)]
        quilt = [found.node + sign * away for sign, away in sides if away is not None]
        told = influence(chain, found.node, quilt) if quilt else 0.0
        assert found.influence == pytest.approx(told, abs=1e-12)
        assert found.scale == pytest.approx(found.nearby / (epsilon - found.influence))


def test_several_chains_are_all_guarded_against():
    rng = np.random.default_rng(3)
    chains = [random_chain(rng, 2, 5, 10.0), random_chain(rng, 3, 5, 30.0)]
    found = quilt_scale(chains, 2.0).scale
    assert found == pytest.approx(listed_scale(chains, 2.0), rel=1e-9)
    assert found >= max(quilt_scale(chain, 2.0).scale for chain in chains)


def test_impossible_moves_leave_other_quilts():
    chain = MarkovChain([0.5, 0.5], [[0.5, 0.5], [1, 0]], 6)
    found = quilt_scale(chain, 8.0)
    assert found.scale == pytest.approx(listed_scale([chain], 8.0), rel=1e-9)
    assert found.scale < 6 / 8
    swapping = MarkovChain([0.5, 0.5], [[0, 1], [1, 0]], 6)
    assert quilt_scale(swapping, 2.0).scale == 3  # nothing shields: all six records


def test_a_certain_start_takes_no_less_noise_than_listing_says():
    chain = MarkovChain([1, 0], [[0.6, 0.4], [0.4, 0.6]], 6)
    assert quilt_scale(chain, 1.0).scale >= listed_scale([chain], 1.0) - 1e-12


def test_states_that_never_occur_do_not_count():
    table = [[0.6, 0.4, 0], [0.4, 0.6, 0], [1, 0, 0]]
    three, two = (
        MarkovChain([0.5, 0.5, 0], table, 40),
        MarkovChain([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], 40),
    )
    assert quilt_scale(three, 1.0).scale == pytest.approx(quilt_scale(two, 1.0).scale)
    assert quilt_scale(MarkovChain([1], [[1]], 5), 2.0).scale == 0.5


def searched(chain, epsilon):
    """The same search by plain matrix powers, for chains too long to list."""
    length, table = chain.length, chain.transition
    powers = [np.linalg.matrix_power(table, d) for d in range(length)]
    worst = 0.0
    for node in range(length):
        law = chain.initial @ powers[node]
        best = length / epsilon
        for quilt, near in quilts_of(node, length):
            if not quilt:
                continue
            told = np.zeros_like(table)
            for one in quilt:
                steps = powers[abs(one - node)]
                rows = (
                    steps if one > node else (chain.initial @ powers[one] * steps.T) / law[:, None]
                )
                told = told + np.log(rows[:, None] / rows).max(axis=2)
            if told.max() < epsilon:
                best = min(best, near / (epsilon - told.max()))
        worst = max(worst, best)
    return worst


@pytest.mark.parametrize("stay", [0.55, 0.8, 0.93])
def test_no_node_or_quilt_is_left_out(stay):
    """The search rules out most quilts by bounds; a full one finds no other scale."""
    for initial in ([0.5, 0.5], [0.99, 0.01]):
        chain = MarkovChain(initial, [[stay, 1 - stay], [0.3, 0.7]], 24)
        assert quilt_scale(chain, 1.0).scale == pytest.approx(searched(chain, 1.0), rel=1e-9)


def true_epsilon(chain, scale):
    worst = 0.0
    for record in range(chain.length):
        laws = [chain.law(Sum(), RecordValue(record, a)) for a in chain.domain(record)]
        outputs = np.union1d(laws[0].values, laws[1].values)
        logs = [
            logsumexp(law.log_weights - np.abs(outputs[:, None] - law.values) / scale, axis=1)
            for law in laws
        ]
        worst = max(worst, np.abs(logs[0] - logs[1]).max())
    return worst


def test_the_sum_under_this_noise_keeps_epsilon():
    rng = np.random.default_rng(9)
    for _ in range(6):
        chain = random_chain(rng, 2, 12, 4.0)
        for epsilon in (0.3, 2.0):
            found = quilt_scale(chain, epsilon)
            assert true_epsilon(chain, found.scale) <= epsilon
            assert true_epsilon(chain, quilt_scale(chain, epsilon, exact=False).scale) <= epsilon


def test_fewer_quilts_never_take_less_noise():
    scales = [quilt_scale(CHAIN, 1, nearby=most).scale for most in (1, 5, 8, 9, 100)]
    assert scales == sorted(scales, reverse=True)
    assert scales[0] == 100
    assert scales[-2] == scales[-1] == quilt_scale(CHAIN, 1).scale
    assert quilt_scale(CHAIN, 1, nearby=8).nearby <= 8


def test_a_query_that_records_change_more_takes_more_noise():
    assert quilt_scale(CHAIN, 1, lipschitz=3).scale == 3 * quilt_scale(CHAIN, 1).scale
    weights = np.append(-2, np.ones(99))
    moved = MarkovChain([0.8, 0.2], P, 100, values=[1, 4])
    assert quilt_scale(moved, 1, query=Linear(weights)) == quilt_scale(CHAIN, 1, lipschitz=6)
    assert quilt_scale([CHAIN, moved], 1, query=Sum()) == quilt_scale(CHAIN, 1, lipschitz=3)
    once = quilt_scale_approximate(100, 1, 0.2, 0.75).scale
    assert quilt_scale_approximate(100, 1, 0.2, 0.75, lipschitz=3).scale == 3 * once


def test_long_chains_are_like_endless_ones():
    assert quilt_scale(MarkovChain.stationary(P, 10_000), 1).scale == pytest.approx(
        quilt_scale(CHAIN, 1).scale, rel=1e-12
    )


def test_probabilities_below_the_smallest_double_stay():
    """Going round takes two moves of probability 1e-200 each, so that doubles see a zero."""
    tiny = 1e-200
    table = [[1 - tiny, tiny, 0], [0, 1 - tiny, tiny], [tiny, 0, 1 - tiny]]
    found = quilt_scale(MarkovChain([1 / 3] * 3, table, 5), 1e5)
    assert (found.node, found.left, found.right) == (2, 2, 2)
    assert found.influence == pytest.approx(math.log(2) - 3 * math.log(tiny), rel=1e-12)
    assert found.scale == pytest.approx(3 / (1e5 - found.influence))


def test_bounds_take_no_less_noise_than_influences():
    rng = np.random.default_rng(4)
    for states in (2, 3, 4):
        chain = random_chain(rng, states, 60, 5.0)
        exact, bounded = (quilt_scale(chain, 1.0, exact=which).scale for which in (True, False))
        found = mixing(chain)
        given = quilt_scale_approximate(60, 1.0, found.least_probability, found.gap).scale
        assert exact <= bounded == given


def test_how_fast_chains_forget():
    found = mixing(CHAIN)
    assert (found.least_probability, found.gap) == pytest.approx((0.2, 0.75))
    assert mixing(CHAIN, reversible=True).gap == pytest.approx(1)
    rng = np.random.default_rng(6)
    chain = random_chain(rng, 4, 10, 2.0)
    law = np.linalg.matrix_power(chain.transition, 10_000)[0]
    backwards = chain.transition.T * law / law[:, None]
    roots = np.sort(np.abs(np.linalg.eigvals(chain.transition @ backwards)))
    found = mixing([chain, CHAIN])
    assert mixing(chain).gap == pytest.approx(1 - roots[-2], abs=1e-10)
    assert mixing(chain).least_probability == pytest.approx(law.min())
    assert found.gap == min(mixing(chain).gap, mixing(CHAIN).gap)


def test_chains_that_leave_a_state_for_good_need_all_records():
    leaving = MarkovChain([0.5, 0.5], [[0.5, 0.5], [0, 1]], 10)
    assert mixing(leaving).least_probability == 0
    assert quilt_scale(leaving, 1.0, exact=False).scale == 10


ROUND = MarkovChain([1 / 3] * 3, [[0, 0.9, 0.1], [0.1, 0, 0.9], [0.9, 0.1, 0]], 10)
REFUSED = {
    "no chain": (lambda: quilt_scale([], 1), "chains must not be empty"),
    "other": (lambda: quilt_scale("chain", 1), r"chains\[0\] must be a MarkovChain"),
    "lengths": (lambda: quilt_scale([CHAIN, ROUND], 1), "chains must have one length"),
    "epsilon": (lambda: quilt_scale(CHAIN, 0), "epsilon must be finite and greater than 0"),
    "nearby": (lambda: quilt_scale(CHAIN, 1, nearby=0), "nearby must be at least 1"),
    "lipschitz": (lambda: quilt_scale(CHAIN, 1, lipschitz=-1), "lipschitz must be finite and"),
    "both": (
        lambda: quilt_scale(CHAIN, 1, query=Sum(), lipschitz=1),
        "lipschitz must not be given beside a query",
    ),
    "query": (lambda: quilt_scale(CHAIN, 1, query=max), "query must be Sum"),
    "mixing": (lambda: mixing("ab"), r"chains\[0\] must be a MarkovChain"),
    "gap": (lambda: quilt_scale_approximate(9, 1, 0.2, -1), "gap must be finite and at least 0"),
    "least": (lambda: quilt_scale_approximate(9, 1, 2, 1), "least_probability must lie in"),
    "backwards": (lambda: mixing(ROUND, reversible=True), "transition must look the same"),
    "nothing": (lambda: mixing([]), "chains must not be empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ta.InvalidArgument, match=message):
        call()


def test_a_chain_read_backwards_takes_the_same_noise():
    """So that neither end is left out: what one node asks for, its mirror image does."""
    rng = np.random.default_rng(8)
    nodes = []
    for _ in range(10):
        chain = random_chain(rng, 3, 2, 4.0)
        law = chain.initial @ chain.transition
        back = MarkovChain(law, (chain.initial[:, None] * chain.transition).T / law[:, None], 2)
        ahead, mirrored = quilt_scale(chain, 4.0), quilt_scale(back, 4.0)
        assert ahead.scale == pytest.approx(mirrored.scale, rel=1e-12)
        nodes.append(ahead.node)
    assert set(nodes) == {0, 1}


def published_scale(length, epsilon, least, gap):
    """Lemma C.1 of Song, Wang and Chaudhuri (2017) at every node and quilt: left ones twice."""

    def told(away):
        off = math.exp(-gap * away / 2)
        return math.log((least + off) / (least - off)) if off < least else math.inf

    def best(node):
        found = [length / epsilon]
        for a, b in itertools.product(range(node + 1), range(length - node)):
            influence = (2 * told(a) if a else 0.0) + (told(b) if b else 0.0)
            near = (a or node + 1) + (b or length - node) - 1
            if influence < epsilon:
                found.append(near / (epsilon - influence))
        return min(found)

    return max(map(best, range(length)))


@pytest.mark.parametrize(("least", "gap"), [(0.2, 0.75), (0.4, 1.5), (0.05, 0.9)])
def test_bounds_are_the_published_ones(least, gap):
    found = quilt_scale_approximate(30, 2.0, least, gap).scale
    assert found == pytest.approx(published_scale(30, 2.0, least, gap), rel=1e-12)
