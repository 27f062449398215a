"""Metrics of an attack against pairs counted one by one, and what they refuse to say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellapart
from tellapart import report
from tellapart.audit import Orientation, Scores, metrics
from tellapart.audit import attack_metrics as module
from tellapart.data import sorted_runs as runs
from tellapart.errors import InvalidArgument, Unsupported

SIDE = st.lists(st.integers(-4, 4) | st.floats(-3, 3), min_size=1, max_size=40)


def pairs_won(members, others):
    won = sum((m > o) + 0.5 * (m == o) for m in members for o in others)
    return won / (len(members) * len(others))


def rates(members, others, threshold):
    return tuple(sum(s > threshold for s in side) / len(side) for side in (others, members))


def on_disk(values):
    writer = runs.RunWriter(runs.PrivateFolder())
    for one in values:
        writer.add(np.array([float(one)]))
    return writer.done()


@pytest.fixture(params=["memory", "disk"])
def held(request, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 5)
    monkeypatch.setattr(runs, "RUN", 4)
    monkeypatch.setattr(runs, "BLOCK", 3)
    return on_disk if request.param == "disk" else list


@pytest.mark.parametrize("seed", range(12))
def test_every_number_as_a_loop_would_find_it(seed, held):
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 60, 2)
    members, others = (np.round(draw.normal(size=size), seed % 3) for size in sizes)
    found = metrics(Scores(held(members), held(others)), fprs=(0.05, 0.5))
    assert found.auc == pairs_won(members, others)
    every = [rates(members, others, t) for t in [-math.inf, *members, *others]]
    assert found.advantage == pytest.approx(max(tpr - fpr for fpr, tpr in every), abs=1e-15)
    for most, at in found.at_fpr.items():
        assert (at.fpr, at.tpr) == rates(members, others, at.threshold)
        assert at.fpr <= most
        assert at.tpr == max(tpr for fpr, tpr in every if fpr <= most)
    assert set(found.roc) <= set(every) | {(0.0, 0.0)}
    assert found.roc[0] == (0, 0)
    assert found.roc[-1] == (1, 1)
    assert np.all(np.diff(found.roc, axis=0) >= 0)


@given(SIDE, SIDE)
def test_lower_scores_flag_as_turned_ones_would(members, others):
    lower = metrics(Scores(members, others, Orientation.LOWER))
    turned = metrics(Scores([-s for s in members], [-s for s in others]))
    assert lower.auc == turned.auc
    assert lower.roc == turned.roc
    for most, at in lower.at_fpr.items():
        assert at.threshold == -turned.at_fpr[most].threshold
        assert (at.fpr, at.tpr) == (turned.at_fpr[most].fpr, turned.at_fpr[most].tpr)


@given(SIDE, SIDE)
def test_looking_both_ways_takes_the_better(members, others):
    found = metrics(Scores(members, others, Orientation.EITHER))
    higher, lower = pairs_won(members, others), pairs_won(others, members)
    assert found.auc == pytest.approx(max(higher, lower), abs=1e-15)
    assert found.auc >= 0.5
    assert found.looked_both_ways
    assert found.direction is (Orientation.HIGHER if higher >= 0.5 else Orientation.LOWER)


def test_perfect_and_useless_attacks():
    perfect = metrics(Scores([2, 3], [0, 1]))
    assert (perfect.auc, perfect.advantage) == (1, 1)
    assert all((at.fpr, at.tpr) == (0, 1) for at in perfect.at_fpr.values())
    constant = metrics(Scores([1, 1, 1], [1, 1]))
    assert (constant.auc, constant.advantage) == (0.5, 0)
    assert all((at.fpr, at.tpr) == (0, 0) for at in constant.at_fpr.values())
    assert constant.roc == ((0, 0), (1, 1))


def test_a_grid_point_is_reached_where_the_others_allow_it():
    found = metrics(Scores(range(1000), range(1000)), fprs=(0.07, 0.29, 0.001))
    assert [at.fpr for at in found.at_fpr.values()] == [0.07, 0.29, 0.001]


def test_no_epsilon_no_verdict_no_curve():
    found = metrics(Scores([2, 3], [0, 1]))
    for ask in (found.epsilon_lower, found.refutes, found.curve):
        for given_ in ((), (1.0,)):
            with pytest.raises(Unsupported) as refused:
                ask(*given_)
            assert str(refused.value) == (
                "these numbers describe one attack on these scores and bound no ε: membership was"
                " not randomised, so members may differ from non-members in more than membership;"
                " an audit needs records whose inclusion was drawn at random (audit.one_run), or"
                " a training of its own for each score (audit.many_runs)"
            )
    assert not hasattr(found, "epsilon")
    assert not isinstance(found, tellapart.TradeoffCurve)


@pytest.mark.parametrize(("models", "said"), [(1, "one model"), (64, "64 models")])
def test_what_was_attacked_is_said(models, said):
    ids = np.arange(128) % models
    found = metrics(Scores(range(128), range(128), member_runs=ids, non_member_runs=ids))
    assert found.models == models
    assert f"describe one attack on {said} and bound no ε" in str(found)
    told = report.of(found)
    assert told.headline == f"NO VERDICT: metrics of one attack on {said}"
    assert ("one-model" in str(told.data())) == (models == 1)
    with pytest.raises(Unsupported, match=f"one attack on {said} "):
        found.epsilon_lower()


def test_in_words():
    found = metrics(Scores([3, 4, 5, 1], [0, 1, 2, 3], Orientation.EITHER), fprs=[0.25])
    assert str(found).splitlines() == [
        "AUC 0.8125 (4 members, 4 non-members, higher means member, chosen after testing both "
        "directions)",
        "TPR 0.75 at FPR 0.25 (at most 0.25): score > 2",
        "largest advantage 0.5: score > 2",
        f"T{module.why_no_epsilon(None)[1:]}.",
    ]
    found = metrics(Scores([0, 1], [2, 3], Orientation.LOWER), fprs=[0.01])
    assert str(found).splitlines()[:2] == [
        "AUC 1.0000 (2 members, 2 non-members, lower means member)",
        "TPR 1 at FPR 0 (at most 0.01): score < 2",
    ]


def test_rates_of_the_grid_are_checked():
    with pytest.raises(InvalidArgument) as refused:
        metrics(Scores([1], [0]), fprs=[0.1, 1.0])
    assert str(refused.value) == "fprs must lie strictly between 0 and 1, got 1.0"
