"""How often audits of a matrix refute what is true: not significantly more often than their level.

Worlds whose privacy is known, drawn by each design of coins, with records that are correlated in
each model, and claims that are true and tight. A level of 0.2; the number of false alarms is held
against it by an exact binomial test at 1 %. Seeds are fixed.
"""

import numpy as np
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart import audit
from tellapart.audit import Coins, Matrix, Outputs, attacks

LEVEL = 0.2
DELTA = 0.05


def held(false, audits):
    """Whether so many false alarms are not significantly above the level, at 1 %."""
    return binom.sf(false - 1, audits, LEVEL) >= 0.01


def drawn(coins, models, records, rng):
    numbers = rng.random((models, records))
    if coins is Coins.FIXED_SIZE:
        return numbers.argsort(axis=1).argsort(axis=1) < records // 2
    if coins is Coins.BALANCED:
        return numbers.argsort(axis=0).argsort(axis=0) < models // 2
    if coins is Coins.ONE_RECORD:
        first = np.repeat(numbers[::2, :1] < 0.5, 2, axis=0)  # in for one of every two models
        return (np.arange(records) != 1) | (first ^ (np.arange(models) % 2 == 1)[:, None])
    return numbers < 0.5


# -- worlds: scores of each record in each model, whose privacy is known --


def nothing(rng, mask):
    """Models and records have levels of their own, and coins do nothing."""
    models, records = mask.shape
    return rng.normal(size=mask.shape) + 2 * rng.normal(size=(models, 1)) + rng.normal(size=records)


def answers(rng, mask):
    """Randomised response with ε = 1 for each record: the law that attains the bound."""
    told = mask ^ (rng.random(mask.shape) > 1 / (1 + np.exp(-1)))
    return told + 0.5 * rng.random(mask.shape)


def counts(rng, mask):
    """Three records have one score, how many of them are in, with Laplace noise: ε = 1."""
    groups = np.arange(mask.shape[1]) // 3
    sums = np.add.reduceat(mask, np.flatnonzero(np.diff(groups, prepend=-1)), axis=1)
    return (sums + rng.laplace(size=sums.shape))[:, groups]


def all_or_nothing(rng, mask):
    """One model in twenty tells all of its coins, the others nothing: ε = 0 at δ = 0.05."""
    shown = rng.random((len(mask), 1)) < DELTA
    return np.where(shown, mask * 3.0, 0.0) + rng.random(mask.shape)


def gaussian(rng, mask):
    """Each record's score has noise of its own: μ = 1."""
    return mask + rng.normal(size=mask.shape)


def replaced(claim, coins):
    """What is true of replacing a record, where two scores change instead of one."""
    one, other = claim
    return other.stated(ta.Neighbours.REPLACE) if coins is Coins.FIXED_SIZE else one


WORLDS = {
    nothing: (ta.guarantee(epsilon=0), ta.guarantee(epsilon=0)),
    answers: (ta.guarantee(epsilon=1), ta.guarantee(epsilon=2)),
    counts: (ta.guarantee(epsilon=1), ta.guarantee(epsilon=2)),
    all_or_nothing: (ta.guarantee(epsilon=0, delta=DELTA), ta.guarantee(epsilon=0, delta=DELTA)),
    gaussian: (ta.guarantee(mu=1), ta.guarantee(mu=2**0.5)),
}


class Knowing:
    """An attack that does not look at outputs at all, only at who was in the models it may see."""

    def fit(self, raw, inclusion, population):
        seldom = -inclusion.sum(axis=0).astype(float)
        return lambda outputs, others: np.broadcast_to(seldom, outputs.shape)


LIRA = attacks.Lira(online=False, fixed_variance=True)


def read_one(whole, attack, claim):
    return whole.one_run(0, 1 - LEVEL, attack=attack, claim=claim)


def read_pooled(whole, attack, claim):
    return whole.pooled(1 - LEVEL, attack=attack, claim=claim)


def read_record(whole, attack, claim):
    return whole.by_record(1 - LEVEL, attack=attack)


READINGS = {"one_run": (16, read_one), "pooled": (16, read_pooled), "by_record": (40, read_record)}
DESIGNS = [
    (coins, reading)
    for coins in Coins
    for reading in READINGS
    if (coins not in (Coins.BALANCED, Coins.ONE_RECORD))
    or (coins is Coins.BALANCED and reading == "one_run")
    or (coins is Coins.ONE_RECORD and reading == "by_record")
]


def false_alarms(coins, reading, world, attack, audits, records=60):
    models, read = READINGS[reading]
    claim, false = replaced(WORLDS[world], coins), 0
    for seed in range(audits):
        rng = np.random.default_rng([seed, 17])
        mask = drawn(coins, models, records, rng)
        whole = Matrix(world(rng, mask), mask, coins, Outputs.LOGIT)
        false += read(whole, attack, claim).refutes(claim)
    return false


@pytest.mark.parametrize(("coins", "reading"), DESIGNS)
def test_a_few_audits_of_correlated_records(coins, reading):
    audits = 12 if reading == "by_record" else 60
    assert held(false_alarms(coins, reading, counts, None, audits), audits)


# Audits of one record take longest: there LiRA is tried where it has nothing to find.
LONG = [
    pytest.param(*design, world, attack, id="-".join(map(str, (*design, world.__name__, name))))
    for design in DESIGNS
    for world in WORLDS
    for name, attack in {"scores": None, "LiRA": LIRA}.items()
    if attack is None or design[1] != "by_record" or world is nothing
]


@pytest.mark.slow
@pytest.mark.parametrize(("coins", "reading", "world", "attack"), LONG)
def test_a_thousand_audits_of_what_is_true(coins, reading, world, attack):
    assert held(false_alarms(coins, reading, world, attack, 1_000), 1_000)


@pytest.mark.slow
@pytest.mark.parametrize(("coins", "reading"), DESIGNS)
def test_the_level_is_used(coins, reading):
    """None at all would say that the tests above cannot fail."""
    assert false_alarms(coins, reading, nothing, None, 300) > 3


@pytest.mark.parametrize("coins", [Coins.INDEPENDENT, Coins.FIXED_SIZE, Coins.BALANCED])
def test_who_was_in_other_models_tells_nothing_that_counts(coins):
    """With balanced coins the other rows tell a row's coins, and what is kept makes them fair."""
    audits = 60
    assert held(false_alarms(coins, "one_run", nothing, Knowing(), audits), audits)


def test_all_other_rows_of_a_balanced_table_would_tell_this_one():
    rng, claim = np.random.default_rng(0), ta.guarantee(epsilon=2)
    mask = drawn(Coins.BALANCED, 16, 200, rng)
    told = -mask[1:].sum(axis=0).astype(float)
    naive = audit.one_run(audit.Scores.from_rows(told, mask[0]), claim=claim)
    assert naive.refutes(claim)
    with pytest.raises(ta.InvalidArgument, match="have the same total"):
        attacks.lira(rng.normal(size=mask.shape), mask, scaled=True).of_model(0)


def test_cells_of_one_model_are_no_independent_trials():
    """To read pooled cells as many runs refutes what is true; to read them as one run does not."""
    claim, audits, false = WORLDS[all_or_nothing][0], 60, 0
    for seed in range(audits):
        rng = np.random.default_rng([seed, 18])
        mask = drawn(Coins.INDEPENDENT, 16, 60, rng)
        scores = audit.Scores.from_rows(all_or_nothing(rng, mask).ravel(), mask.ravel())
        false += audit.many_runs(scores, 1 - LEVEL).refutes(claim)
    assert not held(false, audits)
    assert held(false_alarms(Coins.INDEPENDENT, "pooled", all_or_nothing, None, audits), audits)


def refuted(read, leak=1.1, audits=10):
    """How often a leak is found in models whose records have very different levels."""
    claim, found = ta.guarantee(epsilon=1, delta=1e-5), 0
    for seed in range(audits):
        rng = np.random.default_rng([seed, 19])
        mask = drawn(Coins.INDEPENDENT, 32, 200, rng)
        noise = rng.normal(size=mask.shape) + 8 * rng.normal(size=200)
        whole = Matrix(noise + leak * mask, mask, Coins.INDEPENDENT, Outputs.LOGIT)
        found += read(whole, claim).refutes(claim)
    return found / audits


def test_pooled_models_find_what_one_model_does_not_and_lira_what_scores_do_not():
    lira = attacks.Lira(fixed_variance=True)
    assert refuted(lambda whole, claim: whole.pooled(attack=lira, claim=claim)) == 1
    assert refuted(lambda whole, claim: whole.one_run(0, attack=lira, claim=claim)) < 0.9
    assert refuted(lambda whole, claim: whole.pooled(claim=claim)) < 0.2
