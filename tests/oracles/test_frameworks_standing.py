"""Stored values of the frameworks, asked of the functions that a data holder would call."""

import numpy as np
import pytest
from stored_frameworks import BY_ID, chain_of, table_of

import tellapart as ta
from tellapart.worlds import (
    Exchangeable,
    Independent,
    JointTable,
    Linear,
    Sum,
    TreeNetwork,
    Vector,
    coefficients,
)
from tellapart.worlds.frameworks import (
    bayesian,
    dependent,
    differential_privacy,
    group_privacy,
    pufferfish,
    pufferfish_by_record,
)
from tellapart.worlds.frameworks.dependent_dp import dependence_sensitivity, pairwise_coefficient
from tellapart.worlds.frameworks.pufferfish_privacy import worst_curve


def _bits(*ones):
    return Independent([[1 - p, p] for p in ones])


def _listed_bits(*ones):
    table = np.ones(())
    for p in ones:
        table = np.multiply.outer(table, [1 - p, p])
    return JointTable([[0, 1]] * len(ones), table)


def _of_record(model, inputs, record, query=None):
    noise = ta.Laplace(inputs.get("scale", 1.0))
    return pufferfish(model, query or Sum(), noise, records=[record]).epsilon


def _both(records):
    return records[0] * records[1]


A = table_of(BY_ID["A.ddp"]["inputs"]["joint"])
FLU = Exchangeable(BY_ID["D.W"]["inputs"]["count_law"])
ONE = ta.Laplace(1)
PAIR = Vector([Linear([1, 1, 0]), Linear([0, 1, 1])])


def _tree(i):
    return _of_record(TreeNetwork(i["parent"], i["root"], i["cpt"]), i, i["node"])


def _at(i):
    return pufferfish_by_record(chain_of(i), Sum(), ta.Laplace(i["scale"])).epsilons[i["t"]]


def _rho(i):
    rho = coefficients(A, i["record"])
    return rho.rho_p, rho.rho_c


def _odds(i):
    rho = coefficients(A, i["record"])
    return 1e308 if rho.formula_odds is None else rho.formula_odds, rho.true_odds


ANSWERS = {
    **{f"A.pf.rec{k}": lambda i: _of_record(A, i, i["record"]) for k in range(3)},
    "A.ddp": lambda i: dependent(A, Sum(), ONE).epsilon,
    "A.bdp": lambda i: bayesian(A, Sum(), ONE).epsilon,
    "A.dp": lambda i: differential_privacy(A, Sum(), ta.Laplace(i["scale"])).epsilon,
    # At scale 1 this ε is the scale that ε = 1 needs.
    "A.group": lambda i: group_privacy(A, Sum(), ONE).epsilon / i["eps"],
    "A.delta": lambda i: worst_curve(A, Sum(), ONE, records=[i["record"]]).delta(i["eps"]),
    "A.gauss.delta": lambda i: worst_curve(A, Sum(), ta.Gaussian(i["sigma"]), records=[0]).delta(
        i["eps"]
    ),
    **{f"J.vec{k}": lambda i: _of_record(A, i, i["record"], PAIR) for k in range(2)},
    "A.rho": _rho,
    "A.odds": _odds,
    "B.pf": lambda i: _of_record(_bits(*i["marginals"]), i, 0),
    "B.and": lambda i: _of_record(_listed_bits(*i["marginals"]), i, 0, _both),
    **{f"C5.pf.t{t}": _at for t in (0, 1, 2, 4)},
    **{f"C100.pf.t{t}": _at for t in (0, 50, 99)},
    "C10000.pf.t5000": _at,
    "K.C100.eff.mqm": lambda i: pufferfish(chain_of(i), Sum(), ta.Laplace(i["scale"])).epsilon,
    **{f"D.eff.{e}": lambda i: _of_record(FLU, i, 2) for e in ("0.5", "1", "2")},
    "D.group": lambda i: group_privacy(FLU, Sum(), ONE).epsilon,
    "I.neg": lambda i: pufferfish(table_of(i["joint"]), Sum(), ta.Laplace(i["scale"])).epsilon,
    "I.and": lambda i: pufferfish(_listed_bits(0.5, 0.5), _both, ta.Laplace(i["scale"])).epsilon,
    "I.xorsum": lambda i: _of_record(table_of(i["joint"]), i, 0),
    **{f"J.tree{node}": _tree for node in (0, 1, 3)},
    "K.rho01": lambda i: pairwise_coefficient(A, i["i"], i["j"], i["scale"]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_frameworks_give_the_stored_value(name):
    record = BY_ID[name]
    answer = np.asarray(ANSWERS[name](record["inputs"]))
    assert np.all(np.abs(answer - np.asarray(record["value"])) <= record["tolerance"]), answer


def test_pairwise_calibration_of_a_positive_joint_exceeds_its_target():
    """Pairs alone give scale 2.00499 for ε = 1, of which the true ε is 1.0027."""
    scale = 2.0
    for _ in range(60):
        scale = dependence_sensitivity(A, Sum(), scale)
    assert scale == pytest.approx(2.00499, abs=5e-6)
    assert pufferfish(A, Sum(), ta.Laplace(scale)).epsilon == pytest.approx(1.0027, abs=5e-5)


def test_two_databases_under_a_known_sum_tell_more_than_any_policy_of_swaps():
    record = BY_ID["I.bp"]
    table = table_of(record["inputs"]["prior"])
    result = pufferfish(table, lambda d: d[0] + d[1], ta.Laplace(record["inputs"]["scale"]))
    assert result.epsilon == pytest.approx(record["value"][1], abs=record["tolerance"])


def test_a_prior_on_three_databases():
    record = BY_ID["K.bfconj"]
    table = table_of(dict.fromkeys(record["inputs"]["I_Q"], 1 / 3))
    result = pufferfish(table, Sum(), ONE, records=[0])
    assert result.epsilon == pytest.approx(record["value"][1], abs=record["tolerance"])
