"""The paper's coefficients against conditional probabilities, record by record."""

import itertools
import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import (
    Adversary,
    Exchangeable,
    ImpossibleSecret,
    Independent,
    JointTable,
    MarkovChain,
    RecordValue,
    TreeNetwork,
    coefficients,
)

STAYING = [[0.9, 0.1], [0.4, 0.6]]
RARE = JointTable([[0, 1], [0, 1]], [[0.94, 0.01], [0.01, 0.04]])


def _listed(model, record, past=()):
    """rho_p, rho_c, rho_t and the largest odds, by asking for every context in turn."""
    values = [a for a in model.domain(record) if model.prior(RecordValue(record, a)) > 0]
    others = [i for i in range(model.records) if i != record]
    prior = np.array([model.prior(RecordValue(record, a)) for a in values])
    lifts, later, odds = [0.0], [0.0], []
    for told in itertools.product(*(model.domain(i).tolist() for i in others)):
        everything = dict(zip(others, told, strict=True))
        context = {i: x for i, x in everything.items() if i not in past}
        try:
            now = np.array([model.prior(RecordValue(record, a), context) for a in values])
            then = np.array([model.prior(RecordValue(record, a), everything) for a in values])
        except ImpossibleSecret:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            lifts.append(1 - np.nanmin(prior / now))
            later.append(1 - np.nanmin(now / then))
            odds.append(then.max() / then.min())
    return 1 - prior.min() / prior.max(), max(lifts), max(later), max(odds)


def _random_table(seed, sizes):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(math.prod(sizes))).reshape(sizes)
    return JointTable([np.arange(size) for size in sizes], table)


MODELS = {
    "bits": _random_table(0, (2, 2, 2)),
    "more values": _random_table(1, (3, 2, 3)),
    "chain": MarkovChain([0.3, 0.7], STAYING, 5),
    "chain of three": MarkovChain(
        [0.5, 0.3, 0.2], [[0.1, 0.8, 0.1], [0.3, 0.1, 0.6], [0.7, 0.2, 0.1]], 4
    ),
    "independent": Independent([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]]),
    "exchangeable": Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1]),
    "tree": TreeNetwork([-1, 0, 0, 1], [0.75, 0.25], [[0.9, 0.1], [0.3, 0.7]]),
    "certain context": JointTable([[0, 1], [0, 1]], [[0.5, 0.0], [0.1, 0.4]]),
}


@pytest.mark.parametrize("past", [(), (0,), (0, 2)])
@pytest.mark.parametrize("name", MODELS)
def test_coefficients_are_the_extreme_ratios_of_conditional_probabilities(name, past):
    model = MODELS[name]
    past = tuple(i for i in past if i < model.records)
    found = coefficients(model, 1, past or None)
    expected = _listed(model, 1, past)
    assert (found.rho_p, found.rho_c, found.rho_t, found.true_odds) == pytest.approx(
        expected, abs=1e-12
    )


def test_a_long_chain_needs_its_neighbours_only():
    long, short = (MarkovChain.stationary(STAYING, n) for n in (10_000, 5))
    one, other = coefficients(long, 5000), coefficients(short, 2)
    assert (one.rho_c, one.true_odds) == pytest.approx((other.rho_c, other.true_odds))
    one, other = (
        coefficients(long, 5000, past=range(5000)),
        coefficients(short, 2, past=[0, 1]),
    )
    assert one.rho_t == pytest.approx(other.rho_t)


def test_where_the_formula_holds_an_adversary_may_be_made_of_it():
    found = coefficients(JointTable([[0, 1], [0, 1]], [[0.3, 0.2], [0.2, 0.3]]), 0)
    adversary = Adversary.with_coefficients(found.rho_p, found.rho_c, found.rho_t)
    assert 1 / adversary.gamma == pytest.approx(found.formula_odds)
    assert "errs" in found.warning


def test_a_rare_secret_has_no_formula_though_its_odds_are_finite():
    found = coefficients(RARE, 0)
    assert found.formula_odds is None
    assert found.rho_p == pytest.approx(0.947, abs=1e-3)
    assert found.true_odds == pytest.approx(94)
    assert "is not positive" in found.warning


def test_two_values_never_have_larger_odds_than_the_formula_says():
    found = [coefficients(_random_table(seed, (2, 2, 2)), 0) for seed in range(40)]
    told = [one for one in found if one.formula_odds is not None]
    assert told
    assert all(one.formula_odds >= one.true_odds * (1 - 1e-12) for one in told)


def test_more_than_two_values_have_no_formula():
    found = coefficients(MODELS["more values"], 0)
    assert found.formula_odds is None
    assert "this record has 3 possible ones" in found.warning


def test_what_others_rule_out_has_infinite_odds():
    assert coefficients(MODELS["certain context"], 0).true_odds == math.inf


REFUSED = {
    "model": (lambda: coefficients([0.5], 0), "model must be a data model"),
    "record": (lambda: coefficients(RARE, 2), "record must be"),
    "past": (lambda: coefficients(RARE, 0, past=[2]), "past must be"),
    "own past": (lambda: coefficients(RARE, 0, past=[0]), "past must leave out the record"),
    "sure": (
        lambda: coefficients(Independent([[1.0, 0.0]]), 0),
        "record must have two possible values",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_its_name(case):
    call, message = REFUSED[case]
    with pytest.raises(ta.InvalidArgument, match=message):
        call()


def test_a_model_too_large_to_list_is_refused_with_its_size():
    many = Exchangeable(np.full(101, 1 / 101))
    with pytest.raises(ta.Unsupported, match=r"1\.3e30 databases are too many .* MarkovChain"):
        coefficients(many, 0)
