"""The least noise for a promise about secrets: it keeps every limit, and a little less does not."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import tellapart as ta
from tellapart import risk
from tellapart.choose import FROM_MODEL, Infeasible, at_least, at_most, noise, noise_choice
from tellapart.errors import Unsupported
from tellapart.worlds import (
    Exchangeable,
    GaussianRecords,
    JointTable,
    Linear,
    MarkovChain,
    RecordValue,
    Sum,
    tell_apart,
)
from tellapart.worlds.frameworks import pufferfish
from tellapart.worlds.markov.laplace_tails import interior_log_mgf
from tellapart.worlds.pairs.curves import pair_curve

PURE = [at_most(1, risk.epsilon, delta=0)]


def _random_table(rng, shape):
    return JointTable(
        [np.arange(n) for n in shape], rng.dirichlet(np.ones(np.prod(shape))).reshape(shape)
    )


def _densities(model, record, value, outputs, scale):
    """In the plainest way: every database that has the value, with its noise."""
    shape = model.probabilities.shape
    terms = [
        np.log(model.probabilities[place]) - np.abs(outputs - sum(place)) / scale
        for place in itertools.product(*map(range, shape))
        if place[record] == value
    ]
    prior = model.probabilities.take(value, axis=record).sum()
    return logsumexp(terms, axis=0) - np.log(prior), prior


def _worst_epsilon(model, scale):
    shape = model.probabilities.shape
    outputs = np.concatenate([np.arange(sum(shape)), np.linspace(-5, sum(shape) + 5, 2001)])
    found = 0.0
    for record, size in enumerate(shape):
        logs = [_densities(model, record, value, outputs, scale)[0] for value in range(size)]
        found = max(found, *(np.abs(a - b).max() for a, b in itertools.combinations(logs, 2)))
    return found


def _worst_posterior(model, scale):
    shape = model.probabilities.shape
    outputs = np.concatenate([np.arange(sum(shape)), np.linspace(-5, sum(shape) + 5, 2001)])
    found = 0.0
    for record, size in enumerate(shape):
        both = [_densities(model, record, value, outputs, scale) for value in range(size)]
        joint = np.array([logs + np.log(prior) for logs, prior in both])
        found = max(found, float(np.exp(joint - logsumexp(joint, axis=0)).max()))
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2), (3, 3)])
def test_enumeration_finds_the_limit_met_and_no_more(seed, shape):
    model = _random_table(np.random.default_rng(seed), shape)
    epsilon = noise(model, Sum(), PURE).scale
    # Outputs hold every atom, at which ratios are extreme.
    assert _worst_epsilon(model, epsilon) == pytest.approx(1, abs=1e-9)
    assert _worst_epsilon(model, 0.99 * epsilon) > 1
    prior = max(model.prior(secret) for secret in model.secrets())
    cap = (1 + prior) / 2
    found = noise(model, Sum(), [at_most(cap, risk.max_posterior, prior=FROM_MODEL)])
    assert _worst_posterior(model, found.scale) == pytest.approx(cap, abs=1e-9)
    assert found.tightest.max_posterior == pytest.approx(cap, abs=1e-9)


def test_the_tightest_test_meets_the_limit_and_no_other_breaks_it():
    model = _random_table(np.random.default_rng(0), (3, 2))
    limit = at_most(0.8, risk.f_score, weight=2, prior=0.4)
    found = noise(model, Sum(), [limit])
    assert limit.value(found.tightest.curve) == pytest.approx(0.8, abs=1e-9)
    for record in range(2):
        for h1, h0 in itertools.permutations([0, 1, 2][: 3 - record], 2):
            laws = [model.law(Sum(), RecordValue(record, x)) for x in (h1, h0)]
            assert limit.value(pair_curve(*laws, found.release)) <= 0.8 + 1e-12


def test_several_models_are_all_protected():
    one, other = (_random_table(np.random.default_rng(seed), (2, 2)) for seed in (1, 2))
    scales = [noise(model, Sum(), PURE).scale for model in (one, other)]
    assert noise([one, other], Sum(), PURE).scale == max(scales)


def test_normal_records_under_normal_noise():
    """The data's own variance counts as noise, so less is added: σ² + 2 = (2/μ)²."""
    model = GaussianRecords(np.zeros(3), np.full((3, 3), 0.5) + 0.5 * np.eye(3))
    pairs = [(RecordValue(0, 0), RecordValue(0, 1))]
    limit = at_most(risk.advantage(ta.Gaussian(2.0).curve()), risk.advantage)
    found = noise(model, Sum(), [limit], family=ta.Gaussian, pairs=pairs)
    assert found.scale == pytest.approx(np.sqrt(16 - 2), rel=1e-9)


def test_a_cap_below_the_prior_is_infeasible():
    flu = Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1])
    with pytest.raises(Infeasible, match=r"max posterior.*RecordValue\(record=0.*prior 0.5"):
        noise(flu, Sum(), [at_most(0.4, risk.max_posterior, prior=FROM_MODEL)])


def test_what_is_rare_can_be_hidden_where_what_is_likely_cannot():
    ill = Exchangeable([0.9, 0.04, 0.03, 0.03])
    cap = [at_most(0.5, risk.max_posterior, prior=FROM_MODEL)]
    with pytest.raises(Infeasible, match="secrets="):
        noise(ill, Sum(), cap)
    rare = [RecordValue(person, 1) for person in range(3)]
    found = noise(ill, Sum(), cap, secrets=rare)
    assert found.tightest.h1 in rare
    assert found.tightest.max_posterior == pytest.approx(0.5, abs=1e-9)
    with pytest.raises(ta.InvalidArgument, match="secrets must be left out"):
        noise(ill, Sum(), cap, secrets=rare, pairs=[(rare[0], RecordValue(0, 0))])


def test_what_is_certain_is_named():
    sure = JointTable([[0, 1], [0, 1]], [[0.5, 0.5], [0, 0]])
    found = noise(sure, Sum(), [at_most(0.9, risk.max_posterior, prior=FROM_MODEL)])
    assert found.certain == (RecordValue(0, 0),)
    assert found.skipped == (RecordValue(0, 1),)


def test_impossible_values_are_reported():
    certain = JointTable([[0, 1], [0, 1]], [[0.5, 0.5], [0, 0]])
    found = noise(certain, Sum(), PURE)
    assert found.skipped == (RecordValue(0, 1),)
    assert found.scale == pytest.approx(1)


def test_a_model_without_priors_asks_for_one():
    model = GaussianRecords([0], [[1]])
    pairs = [(RecordValue(0, 0), RecordValue(0, 1))]
    with pytest.raises(ta.InvalidArgument, match="state a prior"):
        noise(model, Sum(), [at_most(0.9, risk.max_posterior, prior=FROM_MODEL)], pairs=pairs)


@pytest.mark.parametrize("limits", [[], None, [0.1], at_most(1, risk.epsilon, delta=0)])
def test_limits_are_a_list_of_limits(limits):
    with pytest.raises(ta.InvalidArgument, match="limits must"):
        noise(Exchangeable([0.5, 0.5]), Sum(), limits)


@pytest.mark.parametrize("stay", [[0.9, 0.6], [0.3, 0.8]])
def test_a_long_chain_needs_what_an_endless_one_does(stay):
    """Records in the middle of a chain that forgets do not see its ends."""
    rows = [[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]]
    found = noise(MarkovChain.stationary(rows, 2000), Sum(), PURE)
    assert found.exact
    assert found.tightest.epsilon == pytest.approx(1, abs=1e-8)
    tails = interior_log_mgf(rows, [1 / found.scale, -1 / found.scale])
    assert np.ptp(tails, axis=1).max() == pytest.approx(1, abs=1e-8)


def test_a_long_chain_that_tends_to_change_needs_what_a_shorter_one_does():
    """Its ratios turn, so that no tail decides: windows around a record do."""
    rows = [[0.1, 0.9], [0.6, 0.4]]
    found = noise(MarkovChain.stationary(rows, 1000), Sum(), PURE)
    assert found.exact
    assert found.tightest.epsilon == pytest.approx(1, abs=1e-5)
    assert pufferfish(MarkovChain.stationary(rows, 1000), Sum(), found.release).epsilon <= 1
    least = noise(MarkovChain.stationary(rows, 50), Sum(), PURE).scale
    assert found.scale == pytest.approx(least, rel=1e-4)


def test_a_chain_that_never_forgets_is_on_the_safe_side():
    rows = [[0.002, 0.998], [0.997, 0.003]]
    chain = MarkovChain.stationary(rows, 600)
    found = noise(chain, Sum(), PURE)
    assert not found.exact
    assert found.tightest.epsilon < 1
    assert pufferfish(chain, Sum(), found.release).epsilon <= 1


def test_the_order_in_which_a_pair_is_named_does_not_matter():
    model = JointTable([[0, 1], [0, 1]], [[0.5, 0.02], [0.1, 0.38]])
    one, other = RecordValue(0, 1), RecordValue(0, 0)
    limits = [at_most(0.5, risk.epsilon, delta=0.02)]
    found, swapped = (
        noise(model, Sum(), limits, pairs=[pair]) for pair in ((one, other), (other, one))
    )
    assert found.scale == swapped.scale
    for pair in ((one, other), (other, one)):
        assert tell_apart(model, Sum(), found.release, *pair).curve.epsilon(0.02) <= 0.5


def test_the_prior_of_a_pair_is_that_of_its_first_secret():
    """In both orders: the rarer secret's posterior starts lower, and the cap holds for either."""
    model = JointTable([[0, 1, 2], [0, 1]], [[0.3, 0.3], [0.05, 0.05], [0.1, 0.2]])
    rare, usual = RecordValue(0, 1), RecordValue(0, 0)
    cap = at_most(0.92, risk.max_posterior, prior=FROM_MODEL)
    found = noise(model, Sum(), [cap], pairs=[(rare, usual)])
    tests = [
        tell_apart(model, Sum(), found.release, *one) for one in ((rare, usual), (usual, rare))
    ]
    assert max(one.max_posterior for one in tests) == pytest.approx(0.92, rel=1e-9)
    assert found.tightest.prior == pytest.approx(600 / 700, rel=1e-12)
    assert found.tightest.h1 == usual


def test_long_chains_have_a_short_way_for_a_limit_on_epsilon_alone():
    chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], 60)
    assert noise_choice.long_chain_noise([chain], Sum(), PURE, ta.Laplace, None) is not None
    others = [
        [at_most(1, risk.epsilon, delta=1e-3)],
        [at_least(1, risk.epsilon, delta=0)],
        [*PURE, at_most(0.9, risk.max_posterior, prior=0.5)],
    ]
    for limits in others:
        assert noise_choice.long_chain_noise([chain], Sum(), limits, ta.Laplace, None) is None


def test_noise_for_several_long_chains_is_for_the_worst_in_any_order():
    models = [MarkovChain.stationary([[0.8, 0.2], [leave, 1 - leave]], 55) for leave in (0.4, 0.1)]
    each = [noise(one, Sum(), PURE).scale for one in models]
    for order in (models, models[::-1]):
        assert noise(order, Sum(), PURE).scale == max(each) > min(each)


def test_a_prior_too_small_for_a_double_is_not_taken_for_none():
    tiny = 1e-200
    rows = [[0.5, 0.5, tiny, tiny, 0]] * 2 + [[0.5, 0.5, 0, 0, tiny]] * 2 + [[0.5, 0.5, 0, 0, 0]]
    chain = MarkovChain([0.5, 0.5, 0, 0, 0], rows, 3, [0, 1, 2, 3, -1000])
    cap = [at_most(0.9, risk.max_posterior, prior=FROM_MODEL)]
    with pytest.raises(
        Unsupported, match=r"RecordValue\(record=2, value=-1000.0\) has a prior below"
    ):
        noise(chain, Linear([0, 0, 1]), cap)
    kept = noise(chain, Linear([0, 0, 1]), cap, secrets=[RecordValue(2, 0), RecordValue(2, 1)])
    assert kept.scale > 0


@pytest.mark.parametrize("unit", [1e-30, 1e-13, 1e13, 1e30])
def test_noise_follows_the_unit_of_the_query(unit):
    """Searched from 1e-9 to 1e12, limits were "exceeded without any output"."""
    flu = Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1])
    limit = at_most(1, risk.epsilon, delta=0)
    found = noise(flu, Sum(), [limit], family=lambda scale: ta.Laplace(scale / unit))
    assert found.exact
    assert found.scale == pytest.approx(unit * noise(flu, Sum(), [limit]).scale, rel=1e-9)


def test_noise_for_a_limit_that_never_binds_is_not_said_to_be_the_least():
    flu = Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1])
    for family in (ta.Laplace, ta.Gaussian):
        found = noise(flu, Sum(), [at_most(1, risk.advantage)], family=family)
        assert not found.exact
        assert found.scale < 1e-6


def test_a_baseline_that_noise_only_rounds_to_is_infeasible():
    flu = Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1])
    with pytest.raises(Infeasible, match="which none here is shown to reach"):
        noise(flu, Sum(), [at_most(0.5, risk.accuracy, prior=0.5)])
