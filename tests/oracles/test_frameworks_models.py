"""Stored values that follow from data models alone, asked of the public API.

Noise is added here in the plainest way: a Laplace mixture at every atom, where ratios of two are
extreme. Beside the library's own tests and calibrations this is a second way to these values.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp
from stored_frameworks import BY_ID, chain_of, table_of

from tellapart.worlds import (
    Exchangeable,
    GaussianRecords,
    Independent,
    JointTable,
    Linear,
    RecordValue,
    Sum,
    TreeNetwork,
)
from tellapart.worlds.markov.laplace_tails import chain_log_mgf, interior_log_mgf


def _bits(*ones):
    """Independent bits as a table, which takes any query."""
    shares = [np.array([1 - p, p]) for p in ones]
    table = shares[0]
    for share in shares[1:]:
        table = np.multiply.outer(table, share)
    return JointTable([[0, 1]] * len(ones), table)


def _log_density(law, outputs, scale):
    away = np.abs(outputs[:, None] - law.values) / scale
    return logsumexp(law.log_weights - away, axis=1)


def _laws(model, record, query=None, known=None):
    domain = model.domain(record)
    possible = [a for a in domain if model.prior(RecordValue(record, a), known) > 0]
    return [model.law(query or Sum(), RecordValue(record, a), known) for a in possible]


def _epsilon(laws, scale=1.0):
    worst = 0.0
    for law, other in itertools.combinations(laws, 2):
        outputs, _, _ = law.beside(other)
        ratio = _log_density(law, outputs, scale) - _log_density(other, outputs, scale)
        worst = max(worst, float(np.abs(ratio).max()))
    return worst


def _of_all(model, scale=1.0, query=None):
    return max(_epsilon(_laws(model, i, query), scale) for i in range(model.records))


def _knowing_any_subset(model, scale):
    worst = 0.0
    for record in range(model.records):
        others = [i for i in range(model.records) if i != record]
        for values in itertools.product([None, 0, 1], repeat=len(others)):
            known = {i: x for i, x in zip(others, values, strict=True) if x is not None}
            worst = max(worst, _epsilon(_laws(model, record, known=known), scale))
    return worst


def _tails(inputs, scale):
    """ε of every record of a chain whose likelihood ratios rise: the larger tail."""
    tails = chain_log_mgf(chain_of(inputs), [1 / scale, -1 / scale])
    return np.abs(tails[:, :, 1] - tails[:, :, 0]).max(axis=0)


def _memberships(model, scale):
    """log posterior/prior of every value of every record, at every atom."""
    ratios = []
    for record in range(model.records):
        laws = _laws(model, record)
        priors = np.array([model.prior(RecordValue(record, a)) for a in model.domain(record)])
        outputs = np.unique(np.concatenate([law.values for law in laws]))
        logs = np.array([_log_density(law, outputs, scale) for law in laws])
        ratios.append((logs - logsumexp(logs, axis=0, b=priors[:, None])).ravel())
    return np.concatenate(ratios)


def _furthest(first, other):
    """The least w with F(v) ≤ G(v + w) and G(v) ≤ F(v + w) everywhere, for whole values.

    Small probabilities are compared by their logarithms, from whichever end they are small.
    """

    def logs(law, v):
        low, high = law.log_weights[law.values <= v], law.log_weights[law.values > v]
        return [logsumexp(side) if side.size else -math.inf for side in (low, high)]

    def within(law, shifted, w):
        for v in law.values:
            (below, above), (below_2, above_2) = logs(law, v), logs(shifted, v + w)
            if below > below_2 + 1e-9 if below < above else above < above_2 - 1e-9:
                return False
        return True

    return next(w for w in range(1000) if within(first, other, w) and within(other, first, w))


def _widest(model, records):
    return max(_furthest(*_laws(model, record)) for record in records)


def _paper(model):
    """rho_p and rho_c of record 0 whose others are known, and the largest odds it can have."""
    priors = np.array([model.prior(RecordValue(0, a)) for a in (0, 1)])
    given = np.array(
        [
            [model.prior(RecordValue(0, a), {1: b, 2: c}) for a in (0, 1)]
            for b, c in itertools.product((0, 1), repeat=2)
        ]
    )
    odds = (given / given[:, ::-1]).max()
    return 1 - priors.min() / priors.max(), 1 - (priors / given).min(), odds


def _normal(inputs, sigma=None):
    if "phi" in inputs:
        places = np.arange(inputs["n"])
        covariance = inputs["phi"] ** np.abs(np.subtract.outer(places, places))
    else:
        covariance = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    model, record = GaussianRecords(np.zeros(len(covariance)), covariance), inputs.get("index", 0)
    low, high = (model.law(Sum(), RecordValue(record, x)) for x in (0, inputs["dx"]))
    shift = high.mean - low.mean
    mu = shift / math.sqrt((sigma or 0) ** 2 + low.variance)
    return shift, low.variance, mu, high.log_mgf(1) - low.log_mgf(1)


def _least_scale(epsilon, target):
    return brentq(lambda b: epsilon(b) - target, 0.1, 1000, xtol=1e-12)


A = table_of(BY_ID["A.ddp"]["inputs"]["joint"])
FLU = Exchangeable(BY_ID["D.W"]["inputs"]["count_law"])
ONE_BIT = _bits(0.5)


def _tree(i):
    model = TreeNetwork(i["parent"], i["root"], i["cpt"])
    return _epsilon(_laws(model, i["node"]), i["scale"])


def _at(i):
    return _epsilon(_laws(chain_of(i), i["t"]), i["scale"])


ANSWERS = {
    **{f"A.pf.rec{k}": lambda i: _epsilon(_laws(A, i["record"])) for k in range(3)},
    "A.ddp": lambda i: _of_all(A),
    "A.bdp": lambda i: _knowing_any_subset(A, 1.0),
    "A.mp2": lambda i: np.abs(_memberships(A, 1.0)).max(),
    "A.mp_pos": lambda i: _memberships(A, 1.0).max(),
    "A.W": lambda i: _widest(A, range(3)),
    "A.calib": lambda i: _least_scale(lambda b: _of_all(A, b), i["target_eps"]),
    "A.rho": lambda i: _paper(A)[:2],
    "B.pf": lambda i: _epsilon(_laws(Independent([[1 - p, p] for p in i["marginals"]]), 0)),
    "B.and": lambda i: _epsilon(_laws(_bits(*i["marginals"]), 0, lambda d: d[0] * d[1])),
    **{f"C5.pf.t{t}": _at for t in (0, 1, 2, 4)},
    **{f"C100.pf.t{t}": _at for t in (0, 50, 99)},
    "C5.W": lambda i: _widest(chain_of(i), range(5)),
    "C5.calib": lambda i: _least_scale(lambda b: _of_all(chain_of(i), b), i["target_eps"]),
    "C10000.pf.t5000": lambda i: _tails(i, i["scale"])[i["t"]],
    "C100.W.t50": lambda i: _widest(chain_of(i), [50]),
    "C100.calib": lambda i: _least_scale(lambda b: _tails(i, b).max(), i["target_eps"]),
    "K.C100.eff.mqm": lambda i: _tails(i, i["scale"]).max(),
    "D.W": lambda i: _widest(FLU, [0]),
    **{f"D.eff.{e}": lambda i: _epsilon(_laws(FLU, 0), i["scale"]) for e in ("0.5", "1", "2")},
    "D.calib": lambda i: _least_scale(lambda b: _of_all(FLU, b), i["target_eps"]),
    "F.shift": lambda i: _normal(i)[:2],
    "F.mu": lambda i: _normal(i, i["sigma"])[2],
    "F.lap": lambda i: _normal(i)[3],
    "F.ar1": lambda i: _normal(i, i["sigma"])[:3],
    "I.neg": lambda i: _of_all(table_of(i["joint"])),
    "I.and": lambda i: _of_all(_bits(0.5, 0.5), query=lambda d: d[0] * d[1]),
    "I.mp": lambda i: np.abs(_memberships(ONE_BIT, 1 / i["eps"])).max(),
    "I.xorsum": lambda i: _epsilon(_laws(table_of(i["joint"]), 0)),
    **{f"J.tree{node}": _tree for node in (0, 1, 3)},
    "K.rho01": lambda i: _epsilon(_laws(A, i["i"], Linear([0, 1, 0]))),
}


def _agrees(answer, value, tolerance):
    return np.all(np.abs(np.asarray(answer) - np.asarray(value)) <= tolerance)


@pytest.mark.parametrize("name", ANSWERS)
def test_models_give_the_stored_value(name):
    record = BY_ID[name]
    answer = ANSWERS[name](record["inputs"])
    assert _agrees(answer, record["value"], record["tolerance"]), (answer, record["value"])


def test_true_odds_of_a_record_whose_others_are_known():
    record = BY_ID["A.odds"]
    assert _agrees(_paper(A)[2], record["value"][1], record["tolerance"])


def test_two_databases_of_four_bits_with_a_known_sum():
    record = BY_ID["I.bp"]
    epsilon = _of_all(table_of(record["inputs"]["prior"]), query=Linear([1, 1, 0, 0]))
    assert _agrees(epsilon, record["value"][1], record["tolerance"])


def test_a_prior_on_three_databases():
    record = BY_ID["K.bfconj"]
    epsilon = _epsilon(_laws(table_of(dict.fromkeys(record["inputs"]["I_Q"], 1 / 3)), 0))
    assert _agrees(epsilon, record["value"][1], record["tolerance"])


@pytest.mark.parametrize("name", ["C100.pf.t50", "C10000.pf.t5000"])
def test_the_middle_of_a_long_chain_is_the_endless_one(name):
    record = BY_ID[name]
    limit = interior_log_mgf(record["inputs"]["transition"], [1, -1])
    epsilon = np.abs(limit[:, 1] - limit[:, 0]).max()
    assert _agrees(epsilon, record["value"], record["tolerance"])


def test_laws_of_ten_thousand_records_keep_their_tails():
    """Plain doubles lose them and say 3.135; see `C10000.pf.t5000`."""
    record = BY_ID["C10000.pf.t5000"]
    chain = chain_of(record["inputs"])
    of_zero, of_one = (chain.law(Sum(), RecordValue(record["inputs"]["t"], a)) for a in (0, 1))
    epsilon = max(abs(of_one.log_mgf(rate) - of_zero.log_mgf(rate)) for rate in (1, -1))
    assert _agrees(epsilon, record["value"], record["tolerance"])
