"""Leakage over time against values computed independently."""

from __future__ import annotations

import numpy as np
import pytest
from stored_frameworks import BY_ID

from tellapart.worlds.markov import streams


def backward(given):
    return streams.leakage(given["PB"], None, given["eps"]).backward


def last(given):
    return backward(given)[-1]


def started(given, directional):
    """The chain's own law at each time gives its past: a matrix for every step."""
    back = streams.reversed_chain(given["PF"], given["initial"], given["T"])
    leaked = streams.leakage(back, None, given["eps"], length=given["T"], directional=directional)
    return leaked.backward


ANSWERS = {
    "E.bpl": backward,
    "E.fpl": lambda given: streams.leakage(None, given["PF"], given["eps"]).forward,
    "E.tpl": lambda given: streams.leakage(given["PB"], given["PF"], given["eps"]).total,
    "E.id": last,
    "E.ind": last,
    "E.bpl2": last,
    "E.sup2": lambda given: streams.supremum(given["PB"], None, given["eps"]),
    "E.sup1": lambda given: streams.supremum(given["PB"], None, given["eps"]),
    "E.supinf": lambda given: streams.supremum(given["PB"], None, given["eps"]),
    "E.Linf": lambda given: streams.carried_over(given["PB"], np.inf),
    "E.exactRR": lambda given: started(given, directional=True),
    "E.caoRR": lambda given: started(given, directional=False),
    "E.dirRR": lambda given: started(given, directional=True),
    "E.budget": lambda given: streams.budget(given["target"], given["PB"], given["PF"]),
}


def test_every_record_about_time_is_answered():
    assert set(ANSWERS) == {name for name in BY_ID if name.startswith("E.")}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_value_is_found(name):
    record = BY_ID[name]
    expected = np.array(record["value"], dtype=float)
    assert ANSWERS[name](record["inputs"]) == pytest.approx(
        expected if expected.ndim else float(expected), abs=record["tolerance"], rel=0
    )
