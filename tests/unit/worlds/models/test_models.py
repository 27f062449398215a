"""Data models against enumeration: every fast path beside a sum over all databases."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart._numeric import logpoly
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


def law_row(rng, size, zeros=0.0):
    row = rng.dirichlet(np.ones(size))
    row[rng.random(size) < zeros] = 0
    return row / row.sum() if row.sum() else np.eye(size)[0]


def rows(rng, count, size, zeros=0.0):
    return np.array([law_row(rng, size, zeros) for _ in range(count)])


def some_values(rng, size):
    return rng.permutation(np.arange(-2, 5))[:size]


def independent(rng):
    sizes = rng.integers(1, 4, 5)
    values = [some_values(rng, size) for size in sizes]
    model = Independent([law_row(rng, size, 0.2) for size in sizes], values)
    return model, lambda d: math.prod(
        float(law[list(v).index(x)]) for law, v, x in zip(model.marginals, values, d, strict=True)
    )


def exchangeable(rng):
    model = Exchangeable(law_row(rng, 6, 0.2))
    return model, lambda d: model.count_law[int(sum(d))] / math.comb(5, int(sum(d)))


def chain(rng):
    size = int(rng.integers(1, 4))
    values = some_values(rng, size)
    initial, transition = law_row(rng, size, 0.2), rows(rng, size, size, 0.2)
    model = MarkovChain(initial, transition, 5, values)

    def probability(d):
        s = [list(values).index(x) for x in d]
        moves = [transition[a, b] for a, b in itertools.pairwise(s)]
        return float(initial[s[0]] * math.prod(moves))

    return model, probability


def tree(rng):
    parent, sizes = [2, 2, -1, 0, 0, 4], rng.integers(1, 4, 6)
    values = [some_values(rng, size) for size in sizes]
    root = law_row(rng, sizes[2], 0.2)
    tables = [rows(rng, sizes[p], size, 0.2) for p, size in zip(parent, sizes, strict=True)]
    model = TreeNetwork(parent, root, tables, values)

    def probability(d):
        s = [list(v).index(x) for v, x in zip(values, d, strict=True)]
        moves = [tables[i][s[p], s[i]] for i, p in enumerate(parent) if p >= 0]
        return float(root[s[2]] * math.prod(moves))

    return model, probability


def table(rng):
    shape = tuple(int(size) for size in rng.integers(1, 4, 4))
    values = [some_values(rng, size) for size in shape]
    model = JointTable(values, law_row(rng, math.prod(shape), 0.2).reshape(shape))
    return model, lambda d: float(
        model.probabilities[tuple(list(v).index(x) for v, x in zip(values, d, strict=True))]
    )


WIDE = np.append(1, np.full(39, 40))  # sums of which are stepped through, not squared
MAKERS = [independent, exchangeable, chain, tree, table]


def enumerated(model, probability, weights, secret, known):
    """P(secret and known), P(known) and the law of the sum, by all databases."""
    together, given, answers = [], [], {}
    for d in itertools.product(*[model.domain(i).tolist() for i in range(model.records)]):
        if any(d[i] != x for i, x in known.items()):
            continue
        given.append(probability(d))
        if d[secret.record] in secret.values:
            together.append(given[-1])
            answers.setdefault(float(np.dot(weights, d)), []).append(given[-1])
    sums = {value: math.fsum(parts) for value, parts in answers.items()}
    return math.fsum(together), math.fsum(given), {v: p for v, p in sums.items() if p > 0}


def questions(model, rng):
    """Secrets about every record, with nothing known and with some records known."""
    for record in range(model.records):
        domain = model.domain(record)
        yield RecordValue(record, rng.choice(domain)), {}
        others = [i for i in range(model.records) if i != record]
        told = rng.choice(others, 2, replace=False)
        known = {int(i): float(rng.choice(model.domain(i))) for i in told}
        yield RecordIn(record, rng.choice(domain, min(2, domain.size), replace=False)), known


def weights_for(model, rng):
    if isinstance(model, Exchangeable):
        return float(rng.choice([-2, 1, 3])) * rng.integers(0, 2, model.records)
    return rng.integers(-2, 3, model.records)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("seed", range(12))
def test_laws_and_priors_are_those_of_enumeration(maker, seed):
    rng = np.random.default_rng(seed)
    model, probability = maker(rng)
    weights = weights_for(model, rng)
    for secret, known in questions(model, rng):
        both, given, answers = enumerated(model, probability, weights, secret, known)
        if given == 0:
            with pytest.raises(ImpossibleSecret, match="known must have positive probability"):
                model.prior(secret, known)
        else:
            assert model.prior(secret, known) == pytest.approx(both / given, abs=1e-14)
        if both == 0:
            with pytest.raises(ImpossibleSecret, match="secret must have positive probability"):
                model.law(Linear(weights), secret, known)
            continue
        law = model.law(Linear(weights), secret, known)
        assert law.values.tolist() == sorted(answers)
        expected = [answers[value] / both for value in sorted(answers)]
        np.testing.assert_allclose(law.weights, expected, rtol=1e-11)


@pytest.mark.parametrize("maker", MAKERS)
def test_the_sum_is_what_weights_of_one_say(maker):
    rng = np.random.default_rng(5)
    model, _ = maker(rng)
    secret = next(one for one in model.secrets() if model.prior(one) > 0)
    one, other = model.law(Sum(), secret), model.law(Linear(np.ones(model.records)), secret)
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.log_weights, other.log_weights)


@pytest.mark.parametrize("maker", MAKERS)
def test_secrets_are_all_values_and_their_priors_add_up(maker):
    model, _ = maker(np.random.default_rng(3))
    for record in range(model.records):
        about = [secret for secret in model.secrets() if secret.record == record]
        assert [secret.value for secret in about] == model.domain(record).tolist()
        assert sum(map(model.prior, about)) == pytest.approx(1, abs=1e-13)


def test_independent_records_need_not_be_whole():
    values, laws = [[0.1, 0.7], [0.25, 1.5], [0.1, -0.3]], [[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]]
    model = Independent(laws, values)
    law = model.law(Linear([1, 0.5, 1]), RecordValue(0, 0.7), {2: -0.3})
    np.testing.assert_allclose(law.values, [0.525, 1.15])
    np.testing.assert_allclose(law.weights, [0.2, 0.8])


def test_independent_records_may_lie_far_apart():
    law = Independent([[0.5, 0.5]] * 2, [[0, 10**9], [-7, 10**8]]).law(Sum(), RecordValue(0, 0))
    assert law.values.tolist() == [-7, 10**8]
    np.testing.assert_allclose(law.weights, 0.5)


def test_the_root_of_a_tree_needs_no_table():
    law = TreeNetwork([-1, 0], [0.5, 0.5], [None, [[0.9, 0.1], [0.3, 0.7]]]).law(
        Sum(), RecordValue(1, 1)
    )
    np.testing.assert_allclose(law.weights, [0.1 / 0.8, 0.7 / 0.8])


@pytest.mark.parametrize("weights", [np.ones(40), np.arange(40) % 3, np.full(40, 2), WIDE])
def test_powers_of_steps_are_walks_one_by_one(weights):
    """Long stretches go by squaring; against a plain forward pass with the state pinned."""
    rng = np.random.default_rng(8)
    initial, transition = law_row(rng, 3), rows(rng, 3, 3)
    model = MarkovChain(initial, transition, 40)
    pinned = 23
    mass = {(s, int(weights[0] * s)): initial[s] for s in range(3)}
    for t in range(1, 40):
        after = {}
        for (s, total), p in mass.items():
            for s2 in range(3) if t != pinned else [2]:
                place = (s2, total + int(weights[t] * s2))
                after[place] = after.get(place, 0) + p * transition[s, s2]
        mass = after
    sums = {}
    for (_, total), p in mass.items():
        sums[total] = sums.get(total, 0) + p
    law = model.law(Linear(weights), RecordValue(pinned, 2))
    assert law.values.tolist() == sorted(sums)
    whole = math.fsum(sums.values())
    np.testing.assert_allclose(law.weights, [sums[v] / whole for v in sorted(sums)], rtol=1e-11)


def test_a_long_chain_keeps_the_digits_of_its_tails():
    """All ones, and all ones but the last: products of single probabilities, far below 1e-308."""
    model = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], 10_000)
    law = model.law(Sum(), RecordValue(5000, 1))
    assert law.values[[0, -1]].tolist() == [1, 10_000]
    everyone = 9999 * math.log(0.6)
    assert law.log_weights[-1] == pytest.approx(everyone, rel=1e-13)
    ends = math.log(2 * 0.4 / 0.6)
    middle = math.log(9997 * 0.4 * 0.1 / 0.6**2)
    assert law.log_weights[-2] == pytest.approx(everyone + np.logaddexp(ends, middle), rel=1e-13)
    nobody_else = math.log(0.8 * 0.1 * 0.4 / 0.2) + 9997 * math.log(0.9)
    assert law.log_weights[0] == pytest.approx(nobody_else, rel=1e-13)
    assert law.log_least < -5000


def test_independent_coins_are_binomial_far_into_the_tails():
    law = Independent([[0.7, 0.3]] * 3000).law(Sum(), RecordValue(0, 1))
    np.testing.assert_allclose(
        law.log_weights, binom.logpmf(law.values - 1, 2999, 0.3), rtol=1e-10, atol=1e-10
    )


def test_exchangeable_records_with_binomial_counts_are_independent():
    count = binom.pmf(np.arange(201), 200, 0.3)
    law = Exchangeable(count / count.sum()).law(Linear([1] * 80 + [0] * 120), RecordValue(3, 1))
    np.testing.assert_allclose(law.weights, binom.pmf(law.values - 1, 79, 0.3), atol=1e-13)


def test_a_path_shaped_tree_is_a_chain():
    initial, transition = [0.3, 0.7], [[0.9, 0.1], [0.4, 0.6]]
    path = TreeNetwork(range(-1, 299), initial, transition)
    chain = MarkovChain(initial, transition, 300)
    one, other = (m.law(Sum(), RecordValue(120, 0), {7: 1}) for m in (path, chain))
    assert np.array_equal(one.values, other.values)
    np.testing.assert_allclose(one.log_weights, other.log_weights, rtol=1e-11)


def test_tables_take_any_function_and_any_predicate():
    model = JointTable.of({(0, 0): 0.1, (0, 1): 0.2, (1, 0): 0.3, (1, 1): 0.4})
    law = model.law(lambda d: d[0] * d[1], Predicate(lambda d: d[0] + d[1] > 0), {1: 1})
    np.testing.assert_allclose(law.values, [0, 1])
    np.testing.assert_allclose(law.weights, [1 / 3, 2 / 3])
    assert model.prior(Predicate(lambda d: d[0] == d[1])) == pytest.approx(0.5)
    assert model.prior(Predicate(lambda d: d[0] == d[1]), {0: 1}) == pytest.approx(4 / 7)
    with pytest.raises(ImpossibleSecret, match="secret must have positive"):
        model.law(Sum(), Predicate(lambda d: False))


def test_databases_left_out_have_no_probability_and_are_not_asked():
    model = JointTable.of({(0, 0): 0.5, (2, 2): 0.5})
    law = model.law(lambda d: 1 / (d[0] == d[1]), RecordValue(0, 2))
    assert law.values.tolist() == [1]
    with pytest.raises(ImpossibleSecret):
        model.law(Sum(), RecordValue(0, 2), {1: 0})


def test_normal_records_are_conditioned_as_precisions_say():
    """Against the other textbook route: a block of the inverse covariance."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(5, 5))
    covariance, mean, weights = root @ root.T, rng.normal(size=5), rng.normal(size=5)
    law = GaussianRecords(mean, covariance).law(Linear(weights), RecordValue(1, 0.3), {4: -1.0})
    free, told, x = [0, 2, 3], [1, 4], np.array([0.3, -1.0])
    precision = np.linalg.inv(covariance)
    spread = np.linalg.inv(precision[np.ix_(free, free)])
    centre = mean[free] - spread @ precision[np.ix_(free, told)] @ (x - mean[told])
    assert law.mean == pytest.approx(weights[free] @ centre + weights[told] @ x)
    assert law.variance == pytest.approx(weights[free] @ spread @ weights[free])


def test_normal_records_that_determine_each_other():
    model = GaussianRecords([0, 0, 0], [[1, 1, 0], [1, 1, 0], [0, 0, 0]])
    law = model.law(Sum(), RecordValue(0, 2), {1: 2})
    assert (law.mean, law.variance) == pytest.approx((4, 0), abs=1e-12)
    with pytest.raises(ImpossibleSecret, match="given"):
        model.law(Sum(), RecordValue(0, 2), {1: 1})
    with pytest.raises(ImpossibleSecret):
        model.law(Sum(), RecordValue(2, 1))


def test_a_stationary_chain_keeps_its_law():
    rng = np.random.default_rng(2)
    transition = rows(rng, 5, 5)
    chain = MarkovChain.stationary(transition, 3)
    np.testing.assert_allclose(chain.initial @ transition, chain.initial, rtol=1e-13)
    tiny = MarkovChain.stationary([[1 - 1e-200, 1e-200], [0.5, 0.5]], 2)
    assert tiny.initial[1] == pytest.approx(2e-200, rel=1e-14)
    drain = MarkovChain.stationary([[0.5, 0.5], [0, 1]], 2)
    assert drain.initial.tolist() == [0, 1]


REFUSED = {
    "row sum": (lambda: MarkovChain([1, 0], [[0.9, 0.2], [0.4, 0.6]], 3), r"transition\[0\] must"),
    "negative": (lambda: Independent([[1.2, -0.2]]), r"marginals\[0\] must be at least 0"),
    "shape": (lambda: MarkovChain([1, 0], [[1]], 3), r"transition must have the shape \(2, 2\)"),
    "values": (lambda: MarkovChain([1, 0], np.eye(2), 3, [1]), "values must be 2 numbers"),
    "twins": (lambda: MarkovChain([1, 0], np.eye(2), 3, [1, 1]), "values must differ"),
    "never meet": (lambda: MarkovChain.stationary(np.eye(2), 3), "must lead to one stationary"),
    "not square": (lambda: MarkovChain.stationary([[0.5, 0.5]], 3), "transition must have the"),
    "circle": (lambda: TreeNetwork([-1, 2, 1], [1, 0], np.eye(2)), "with no circle"),
    "two roots": (lambda: TreeNetwork([-1, -1], [1, 0], np.eye(2)), "exactly one root"),
    "tables": (lambda: TreeNetwork([-1, 0], [1, 0], [np.eye(2)]), "tables must be one table or 2"),
    "parent rows": (lambda: TreeNetwork([-1, 0], [1], np.eye(2)), "tables must have 1 rows"),
    "table total": (lambda: JointTable([[0, 1]], [0.5, 0.4]), "probabilities must sum to 1"),
    "axes": (lambda: JointTable([[0, 1]], np.full((2, 2), 0.25)), "values must be 2 lists"),
    "lengths": (lambda: JointTable.of({(0,): 0.5, (1, 1): 0.5}), "same number of records"),
    "no count": (lambda: Exchangeable([1]), "count_law must have"),
    "asymmetric": (lambda: GaussianRecords([0, 0], [[1, 0.5], [0, 1]]), "be symmetric"),
    "indefinite": (lambda: GaussianRecords([0, 0], [[1, 2], [2, 1]]), "no negative eigenvalue"),
    "record": (lambda: COIN.law(Sum(), RecordValue(2, 0)), "record must be at most 1"),
    "value": (lambda: COIN.law(Sum(), RecordValue(0, 5)), r"value must be one of \[0.0, 1.0\]"),
    "weights": (lambda: COIN.law(Linear([1]), RecordValue(0, 1)), "one for each of 2 records"),
    "query": (lambda: COIN.law(sum, RecordValue(0, 1)), "query must be"),
    "secret": (lambda: COIN.law(Sum(), (0, 1)), "secret must be"),
    "known": (lambda: COIN.law(Sum(), RecordValue(0, 1), {0: 1}), "known must leave out"),
    "known list": (lambda: COIN.law(Sum(), RecordValue(0, 1), [0]), "known must be a mapping"),
    "fractions": (
        lambda: MarkovChain([1, 0], np.eye(2), 3, [0, 0.5]).law(Sum(), RecordValue(0, 0)),
        "weight times value of record 0 must be whole",
    ),
}
COIN = Independent([[0.5, 0.5]] * 2)


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_its_name(case):
    call, message = REFUSED[case]
    with pytest.raises(ta.InvalidArgument, match=message):
        call()


UNSUPPORTED = {
    "predicate": (lambda: COIN.law(Sum(), Predicate(any)), "JointTable"),
    "too many": (
        lambda: JointTable.of({tuple(range(i, i + 30)): 0.5 for i in (0, 1)}),
        r"table of 1\.1e9 databases .* MarkovChain",
    ),
    "too long": (
        lambda: MarkovChain([0.5, 0.5], [[0.5, 0.5]] * 2, 10**5).law(Sum(), RecordValue(0, 1)),
        r"takes 4.0e10 steps .* chain_log_mgf",
    ),
    "weights": (
        lambda: Exchangeable([0.2, 0.3, 0.5]).law(Linear([1, 2]), RecordValue(0, 1)),
        "JointTable",
    ),
    "normal prior": (lambda: GaussianRecords([0], [[1]]).prior(RecordValue(0, 1)), "density"),
    "normal secrets": (lambda: GaussianRecords([0], [[1]]).secrets(), "endlessly"),
    "normal cell": (lambda: GaussianRecords([0], [[1]]).law(Sum(), RecordIn(0, [1])), "RecordIn"),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_what_cannot_be_answered_says_what_can(case):
    call, message = UNSUPPORTED[case]
    with pytest.raises(ta.Unsupported, match=message):
        call()


def test_models_keep_their_arrays():
    transition = np.array([[0.9, 0.1], [0.4, 0.6]])
    chain = MarkovChain.stationary(transition, 3)
    transition[0] = 0.5
    assert chain.transition[0, 0] == 0.9
    with pytest.raises(ValueError, match="read-only"):
        chain.transition[0, 0] = 1


def test_products_in_logarithms_are_products():
    rng = np.random.default_rng(0)
    first, second = rng.uniform(-2000, 0, 30), rng.uniform(-2000, 0, 17)
    first[[2, 3]] = -np.inf
    found = logpoly.multiply(first, second)
    for place in range(46):
        terms = [first[i] + second[place - i] for i in range(30) if 0 <= place - i < 17]
        assert found[place] == pytest.approx(np.logaddexp.reduce(terms), rel=1e-14)
    assert np.all(logpoly.multiply(np.full(3, -np.inf), second) == -np.inf)
