"""Every framework's number against all databases, all outputs, all knowledge, listed plainly."""

import itertools
import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import (
    Channel,
    Exchangeable,
    Independent,
    JointTable,
    Linear,
    MarkovChain,
    RecordValue,
    Sum,
    TreeNetwork,
    tell_apart,
)
from tellapart.worlds.frameworks import (
    bayesian,
    dependent,
    differential_privacy,
    group_privacy,
    membership,
    mutual_information,
    pufferfish,
    pufferfish_by_record,
)
from tellapart.worlds.frameworks.pufferfish_privacy import worst_curve
from tellapart.worlds.frameworks.result import Side
from tellapart.worlds.markov.laplace_tails import chain_log_mgf
from tellapart.worlds.markov.partial_knowledge import long_chain_leakage
from tellapart.worlds.markov.window_bound import Windows

CLOSE = 1e-10


def _square(records):
    return records[0] * records[1] + 2 * records[-1]


def _weighted(query, records):
    if isinstance(query, Sum):
        return sum(records)
    if isinstance(query, Linear):
        return float(np.dot(query.weights, records))
    return query(records)


def _seen(release, answers, answer, output):
    if isinstance(release, ta.Laplace):
        return math.exp(-abs(output - answer) / release.scale)
    return release.rows[answer][output]


def _outputs(release, answers):
    return sorted(set(answers)) if isinstance(release, ta.Laplace) else release.outputs


class Listed:
    """A law of databases as a plain mapping, and what each framework says of it."""

    def __init__(self, shares, query, release):
        self.shares = shares
        self.answers = {one: _weighted(query, one) for one in shares}
        self.release = release
        self.outputs = _outputs(release, self.answers.values())
        self.records = len(next(iter(shares)))

    def likelihood(self, output, held):
        """P(output | the database is one of those held), up to a common factor."""
        whole = sum(self.shares[one] for one in held)
        seen = (self.shares[one] * self._chance(one, output) for one in held)
        return sum(seen) / whole

    def _chance(self, one, output):
        return _seen(self.release, self.answers, self.answers[one], output)

    def secrets(self, record, known):
        """For each possible value of a record the databases that have it and agree."""
        groups = {}
        for one, share in self.shares.items():
            if share > 0 and all(one[i] == x for i, x in known.items()):
                groups.setdefault(one[record], []).append(one)
        return groups

    def pufferfish(self, record, known=None):
        groups = list(self.secrets(record, known or {}).values())
        return max(
            (
                _log_ratio(self.likelihood(o, one), self.likelihood(o, other))
                for o in self.outputs
                for one, other in itertools.permutations(groups, 2)
            ),
            default=math.nan,
        )

    def neighbours(self, size, possible=False):
        kept = [one for one, share in self.shares.items() if share > 0 or not possible]
        return max(
            _log_ratio(self._chance(one, o), self._chance(other, o))
            for one, other in itertools.permutations(kept, 2)
            if sum(a != b for a, b in zip(one, other, strict=True)) <= size
            for o in self.outputs
        )

    def bayesian(self):
        worst = 0.0
        domains = [sorted({one[i] for one in self.shares}) for i in range(self.records)]
        for record in range(self.records):
            others = [i for i in range(self.records) if i != record]
            for told in itertools.product(*([None, *domains[i]] for i in others)):
                known = {i: x for i, x in zip(others, told, strict=True) if x is not None}
                if len(self.secrets(record, known)) > 1:
                    worst = max(worst, self.pufferfish(record, known))
        return worst


def _log_ratio(one, other):
    if one == 0:
        return 0.0
    return math.inf if other == 0 else math.log(one / other)


def _table(rng, sizes, sparse):
    table = rng.dirichlet(np.ones(math.prod(sizes))).reshape(sizes)
    if sparse:
        table[tuple(rng.integers(size) for size in sizes)] = 0.0
        table[rng.random(sizes) < 0.3] = 0.0
        table[(0,) * len(sizes)] += 0.1
        table[(1,) * len(sizes)] += 0.1
        table = table / table.sum()
    values = [np.sort(rng.choice(6, size, replace=False)) for size in sizes]
    shares = {
        tuple(float(values[i][j]) for i, j in enumerate(place)): float(table[place])
        for place in np.ndindex(*sizes)
    }
    return JointTable(values, table), shares


def _channel(rng, answers, revealing=False):
    """Any answer with chances of its own; with an output that only the largest can make."""
    distinct = sorted(set(answers))
    rows = {answer: [*rng.dirichlet(np.ones(3)), 0.0] for answer in distinct}
    if revealing:
        rows[distinct[-1]] = [*(0.9 * np.array(rows[distinct[-1]][:3])), 0.1]
    return Channel(rows)


def _cases():
    for number in range(8):
        rng = np.random.default_rng(number)
        sizes = [(2, 2, 2), (3, 2), (2, 3, 2), (3, 3)][number % 4]
        model, shares = _table(rng, sizes, sparse=number >= 4)
        queries = [Sum(), Linear(rng.integers(-2, 3, len(sizes)).astype(float)), _square]
        query = queries[number % 3]
        noise = ta.Laplace(float(rng.uniform(0.5, 3)))
        listed = Listed(shares, query, noise)
        yield model, query, noise, listed
        channel = _channel(rng, listed.answers.values(), revealing=number % 2 == 1)
        yield model, query, channel, Listed(shares, query, channel)


CASES = list(_cases())
EVERY = range(len(CASES))


@pytest.mark.parametrize("case", EVERY)
def test_one_record_and_many_over_the_whole_domain(case):
    model, query, release, listed = CASES[case]
    found = differential_privacy(model, query, release)
    assert found.epsilon == pytest.approx(listed.neighbours(1), abs=CLOSE)
    for size in range(1, model.records + 1):
        found = group_privacy(model, query, release, size)
        assert found.epsilon == pytest.approx(listed.neighbours(size), abs=CLOSE)
    assert group_privacy(model, query, release).epsilon == found.epsilon


@pytest.mark.parametrize("case", EVERY)
def test_every_record_for_someone_who_knows_the_model(case):
    model, query, release, listed = CASES[case]
    expected = [listed.pufferfish(record) for record in range(model.records)]
    found = pufferfish_by_record(model, query, release)
    np.testing.assert_allclose(found.epsilons, expected, atol=CLOSE)
    assert found.exact.all()
    whole = pufferfish(model, query, release)
    assert whole.epsilon == pytest.approx(np.nanmax(expected), abs=CLOSE)
    assert whole.side is Side.EXACT
    assert dependent(model, query, release).epsilon == whole.epsilon


@pytest.mark.parametrize("case", EVERY)
def test_a_witness_is_attained(case):
    model, query, release, _ = CASES[case]
    found = pufferfish(model, query, release)
    seen = found.witness
    test = tell_apart(model, query, release, seen.likelier, seen.other)
    assert test.epsilon == pytest.approx(found.epsilon, abs=CLOSE)
    told = bayesian(model, query, release).witness
    test = tell_apart(model, query, release, told.likelier, told.other, dict(told.known))
    assert test.epsilon == pytest.approx(told.log_ratio, abs=CLOSE)


@pytest.mark.parametrize("case", EVERY)
def test_any_knowledge_of_other_records(case):
    model, query, release, listed = CASES[case]
    found = bayesian(model, query, release)
    assert found.epsilon == pytest.approx(listed.bayesian(), abs=CLOSE)


@pytest.mark.parametrize("case", EVERY)
def test_possible_databases_that_differ_in_few_records(case):
    model, query, release, listed = CASES[case]
    for size in range(1, model.records + 1):
        found = dependent(model, query, release, reading="support", size=size)
        assert found.epsilon == pytest.approx(listed.neighbours(size, possible=True), abs=CLOSE)


@pytest.mark.parametrize("case", EVERY)
def test_one_curve_holds_the_worst_pair_in_the_worse_direction(case):
    model, query, release, listed = CASES[case]
    curve = worst_curve(model, query, release)
    expected = max(
        e for e in (listed.pufferfish(i) for i in range(model.records)) if not math.isnan(e)
    )
    assert curve.epsilon(delta=0) == pytest.approx(expected, abs=CLOSE)
    deltas = []
    for record in range(model.records):
        possible = [a for a in model.domain(record) if model.prior(RecordValue(record, a)) > 0]
        for a, b in itertools.permutations(possible, 2):
            h1, h0 = RecordValue(record, a), RecordValue(record, b)
            deltas.append(tell_apart(model, query, release, h1, h0).curve.delta(0.3))
    assert curve.delta(0.3) == pytest.approx(max(deltas), abs=CLOSE)


# -- models that list no database -----------------------------------------------------------------


def _chain_shares(chain):
    values = chain.domain(0)
    shares = {}
    for states in itertools.product(range(values.size), repeat=chain.length):
        share = chain.initial[states[0]]
        for before, after in itertools.pairwise(states):
            share = share * chain.transition[before, after]
        shares[tuple(float(values[i]) for i in states)] = float(share)
    return shares


STAYING = [[0.9, 0.1], [0.4, 0.6]]
CHANGING = [[0.2, 0.8], [0.7, 0.3]]
CHAINS = {
    "staying": MarkovChain.stationary(STAYING, 6),
    "staying, from a state": MarkovChain([1, 0], STAYING, 6),
    "changing": MarkovChain.stationary(CHANGING, 6),
    "changing, from a state": MarkovChain([0, 1], CHANGING, 6),
    "changing, hardly": MarkovChain([0.5, 0.5], [[0.45, 0.55], [0.6, 0.4]], 5),
    "three states": MarkovChain(
        [0.5, 0.3, 0.2], [[0.1, 0.8, 0.1], [0.3, 0.1, 0.6], [0.7, 0.2, 0.1]], 4, [0, 3, 1]
    ),
    "alternating": MarkovChain([1, 0], [[0, 1], [0.5, 0.5]], 5),
}


@pytest.mark.parametrize("query", ["sum", "weights"])
@pytest.mark.parametrize("scale", [0.4, 2.0])
@pytest.mark.parametrize("name", CHAINS)
def test_chains_by_their_bounds_are_as_listed(name, scale, query):
    chain, noise = CHAINS[name], ta.Laplace(scale)
    asked = Sum() if query == "sum" else Linear([1.0, -2, 0, 1, 3, 1][: chain.length])
    listed = Listed(_chain_shares(chain), asked, noise)
    expected = [listed.pufferfish(record) for record in range(chain.length)]
    found = pufferfish_by_record(chain, asked, noise)
    np.testing.assert_allclose(found.epsilons, expected, atol=1e-9)
    assert found.exact.all()
    whole = pufferfish(chain, asked, noise)
    assert whole.epsilon == pytest.approx(np.nanmax(expected), abs=1e-9)
    assert whole.side is Side.EXACT
    assert whole.witness.log_ratio == pytest.approx(whole.epsilon, abs=1e-9)


def test_tails_alone_would_say_too_little_of_a_chain_that_changes():
    """A likelihood ratio that is largest between the tails: the reason for the scan."""
    chain = MarkovChain.stationary([[0.16, 0.84], [0.88, 0.12]], 3)
    noise = ta.Laplace(0.3)
    listed = Listed(_chain_shares(chain), Sum(), noise)
    seen = chain_log_mgf(chain, [1 / 0.3, -1 / 0.3])
    tails = np.abs(seen[:, :, 1] - seen[:, :, 0]).max(axis=0)
    expected = np.array([listed.pufferfish(t) for t in range(3)])
    assert expected[1] - tails[1] > 0.5
    np.testing.assert_allclose(
        pufferfish_by_record(chain, Sum(), noise).epsilons, expected, atol=1e-9
    )


@pytest.mark.parametrize("radius", [1, 2])
@pytest.mark.parametrize("name", CHAINS)
def test_windows_never_say_less_than_all_databases(name, radius):
    chain, noise = CHAINS[name], ta.Laplace(0.4)
    if 2 * radius >= chain.length:
        chain = MarkovChain(chain.initial, chain.transition, 5, chain.values)
    listed = Listed(_chain_shares(chain), Sum(), noise)
    expected = np.array([listed.pufferfish(record) for record in range(chain.length)])
    found = Windows(chain, np.ones(chain.length), noise.scale, radius).epsilons()
    told = ~np.isnan(expected)
    assert (found[told] >= expected[told] - 1e-12).all()


def test_windows_close_in_on_the_truth():
    chain, noise = MarkovChain.stationary([[0.3, 0.7], [0.6, 0.4]], 11), ta.Laplace(0.4)
    expected = pufferfish_by_record(chain, Sum(), noise).epsilons
    gaps = [
        (Windows(chain, np.ones(11), noise.scale, radius).epsilons() - expected).max()
        for radius in range(1, 6)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert 0 < gaps[-1] < 0.02 * gaps[0]


@pytest.mark.parametrize("name", CHAINS)
def test_any_knowledge_of_a_chain(name):
    chain, noise = CHAINS[name], ta.Laplace(0.8)
    found = bayesian(chain, Sum(), noise)
    listed = Listed(_chain_shares(chain), Sum(), noise)
    assert found.epsilon == pytest.approx(listed.bayesian(), abs=CLOSE)
    seen = found.witness
    test = tell_apart(chain, Sum(), noise, seen.likelier, seen.other, dict(seen.known))
    assert test.epsilon == pytest.approx(found.epsilon, abs=CLOSE)


TREE = TreeNetwork([-1, 0, 0, 1], [0.75, 0.25], [[0.9, 0.1], [0.2, 0.8]])
OTHERS = {
    "tree": TREE,
    "independent": Independent([[0.7, 0.3], [0.7, 0.3], [0.2, 0.5, 0.3]]),
    "exchangeable": Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1]),
    "a value that cannot be": Independent([[0.7, 0.3, 0.0], [1.0, 0.0]]),
}


def _step_shares(model):
    """Probabilities of all databases, from those of each record given the ones before."""
    shares = {}
    for one in itertools.product(*(model.domain(i).tolist() for i in range(model.records))):
        share = 1.0
        for i, x in enumerate(one):
            if share > 0:
                share *= model.prior(RecordValue(i, x), dict(enumerate(one[:i])))
        shares[one] = share
    return shares


@pytest.mark.parametrize("kind", ["laplace", "channel"])
@pytest.mark.parametrize("name", OTHERS)
def test_models_without_a_list_are_as_listed(name, kind):
    model, release = OTHERS[name], ta.Laplace(0.7)
    shares = _step_shares(model)
    if kind == "channel":
        rng = np.random.default_rng(3)
        release = _channel(rng, [sum(one) for one in shares])
    listed = Listed(shares, Sum(), release)
    expected = [listed.pufferfish(record) for record in range(model.records)]
    found = pufferfish_by_record(model, Sum(), release)
    np.testing.assert_allclose(found.epsilons, expected, atol=CLOSE)
    assert bayesian(model, Sum(), release).epsilon == pytest.approx(listed.bayesian(), abs=CLOSE)
    assert differential_privacy(model, Sum(), release).epsilon == pytest.approx(
        listed.neighbours(1), abs=CLOSE
    )
    assert group_privacy(model, Sum(), release, 2).epsilon == pytest.approx(
        listed.neighbours(2), abs=CLOSE
    )
    assert dependent(model, Sum(), release, reading="support").epsilon == pytest.approx(
        listed.neighbours(model.records, possible=True), abs=CLOSE
    )


def test_several_models_give_the_worst_of_each_record():
    noise = ta.Laplace(1)
    models = [CHAINS["staying"], CHAINS["changing"]]
    each = [pufferfish_by_record(one, Sum(), noise).epsilons for one in models]
    found = pufferfish_by_record(models, Sum(), noise)
    np.testing.assert_array_equal(found.epsilons, np.maximum(*each))
    assert pufferfish(models, Sum(), noise).epsilon == pytest.approx(np.max(each), abs=1e-12)
    assert bayesian(models, Sum(), noise).epsilon == max(
        bayesian(one, Sum(), noise).epsilon for one in models
    )


def test_what_is_known_is_taken_into_account():
    noise = ta.Laplace(1)
    chain = CHAINS["staying"]
    listed = Listed(_chain_shares(chain), Sum(), noise)
    known = {1: 0.0, 4: 1.0}
    expected = [listed.pufferfish(record, known) for record in (0, 2, 3, 5)]
    found = pufferfish_by_record(chain, Sum(), noise, known=known)
    assert found.records == (0, 2, 3, 5)
    np.testing.assert_allclose(found.epsilons, expected, atol=CLOSE)
    assert found.witness.known == ((1, 0.0), (4, 1.0))


@pytest.mark.parametrize("radius", [1, 2])
@pytest.mark.parametrize("name", CHAINS)
def test_bounded_knowledge_is_never_less_than_all_knowledge(name, radius):
    chain, noise = CHAINS[name], ta.Laplace(0.8)
    expected = bayesian(chain, Sum(), noise).epsilon
    found = long_chain_leakage(chain, np.ones(chain.length), noise, radius)
    assert found.witness.log_ratio - 1e-12 <= expected <= found.epsilon
    if found.exact:
        assert found.epsilon == pytest.approx(expected, abs=1e-9)
    seen = found.witness
    test = tell_apart(chain, Sum(), noise, seen.likelier, seen.other, dict(seen.known))
    assert test.epsilon == pytest.approx(seen.log_ratio, abs=CLOSE)


@pytest.mark.parametrize("seed", range(3))
def test_knowledge_on_either_side_of_a_record_counts(seed):
    """States that go round make it worst to know what follows and nothing of what was before."""
    rng = np.random.default_rng(seed)
    step = 0.03 * rng.dirichlet(np.ones(3), 3) + 0.97 * np.roll(np.eye(3), 1, axis=1)
    chain = MarkovChain(rng.dirichlet(np.ones(3)), step, 3)
    worst = max(
        pufferfish(chain, Sum(), ta.Laplace(1), known=dict(zip(told, values, strict=True))).epsilon
        for size in range(3)
        for told in itertools.combinations(range(3), size)
        for values in itertools.product(range(3), repeat=size)
    )
    assert bayesian(chain, Sum(), ta.Laplace(1)).epsilon == pytest.approx(worst, abs=1e-10)


def test_windows_of_chains_with_moves_that_cannot_be_never_say_less():
    """What a window rules out for one value and not for another tells all, and is not left out."""
    rng = np.random.default_rng(0)
    moves = [
        [[0.0, 0.9, 0.1], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
        [[0.0, 1.0, 0.0], [0.7, 0.0, 0.3], [0.5, 0.0, 0.5]],
        [[0.5, 0.5, 0.0], [0.0, 0.3, 0.7], [0.2, 0.0, 0.8]],
    ]
    for step in moves:
        chain = MarkovChain(rng.dirichlet(np.ones(3)), step, 5)
        listed = Listed(_chain_shares(chain), Sum(), ta.Laplace(1))
        expected = np.array([listed.pufferfish(record) for record in range(5)])
        found = Windows(chain, np.ones(5), 1.0, 1).epsilons()
        assert np.all(found >= expected - 1e-12)


@pytest.mark.parametrize(
    "model", [Independent([[0.7, 0.3]] * 3), Exchangeable([0.1, 0.5, 0.3, 0.1])]
)
def test_a_known_record_is_not_like_the_others(model):
    """It is no secret, in whatever order records are asked about."""
    for records in ([0, 1], [1, 0]):
        with pytest.raises(ta.InvalidArgument, match="known must leave out the record"):
            pufferfish_by_record(model, Sum(), ta.Laplace(1), {0: 1}, records)


def test_what_is_known_counts_for_named_pairs_as_for_records():
    rng = np.random.default_rng(12)
    model = JointTable([[0, 1, 2]] * 3, rng.dirichlet(np.ones(27)).reshape(3, 3, 3))
    for known in ({2: 1}, {0: 2, 1: 0}, {1: 2}):
        record = next(i for i in range(3) if i not in known)
        values = [RecordValue(record, x) for x in (0, 1, 2)]
        pairs = list(itertools.combinations(values, 2))
        one = pufferfish(model, Sum(), ta.Laplace(1), pairs, known)
        other = pufferfish(model, Sum(), ta.Laplace(1), known=known, records=[record])
        assert one.epsilon == pytest.approx(other.epsilon, rel=1e-12)
        assert dict(one.witness.known) == known


def test_the_witness_is_that_of_the_worst_model_in_any_order():
    models = [CHAINS["staying"], CHAINS["changing"]]
    for order in (models, models[::-1]):
        found = pufferfish_by_record(order, Sum(), ta.Laplace(1))
        assert found.witness.log_ratio == pytest.approx(np.nanmax(found.epsilons), abs=CLOSE)


@pytest.mark.parametrize("unit", [0.5, 0.3])
@pytest.mark.parametrize("framework", [pufferfish, membership, mutual_information])
def test_the_unit_of_weights_and_noise_does_not_matter(framework, unit):
    """Also where only some of the weighted values are whole numbers."""
    records = Independent([[0.5, 0.5], [0.3, 0.7], [0.5, 0.5], [0.2, 0.8]])
    weights = np.array([2.0, 1.0, 2.0, 4.0])
    whole = framework(records, Linear(weights), ta.Laplace(2.0)).epsilon
    assert framework(records, Linear(weights * unit), ta.Laplace(2.0 * unit)).epsilon == (
        pytest.approx(whole, rel=CLOSE)
    )
