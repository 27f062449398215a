"""Leaks at one end of the scores, and claims that are no mirror images of themselves.

Laws that leaks of Gaussian noise would keep by their symmetry alone.
"""

from dataclasses import replace

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit.bounds import Basis
from tellapart.audit.counts.credible import jeffreys_epsilon, joint_beta_epsilon
from tellapart.curve.guarantees import gaussian

HIGHER, LOWER, EITHER = audit.Orientation
METHODS = {
    "ranks": audit.Ranks(),
    "split": audit.Split(),
    "band": audit.Band(),
    "fixed": audit.Fixed(-1.0),
}
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
# A split draws anew when scores turn, and chooses its direction on the part set aside.
NO_SPLIT = {name: method for name, method in METHODS.items() if name != "split"}
each_but_split = pytest.mark.parametrize("method", NO_SPLIT.values(), ids=NO_SPLIT.keys())


# All of the leak is among the lowest scores: some others, and none of the members, are there.
def polygon(points):
    """A claim that allows these rates and nothing beyond their hull."""
    return replace(ta.attack(points), bound=ta.Bound.EXACT)


LOPSIDED = polygon([(0.85, 1.0)])
CLAIMS = [LOPSIDED, polygon([(0.0, 0.1)]), polygon([(0.4, 0.5), (0.7, 0.9)]), gaussian(0.4)]


def _sides(n=400, seed=0):
    draw = np.random.default_rng(seed)
    members, others = draw.random(n), draw.random(n + 50)
    others[: n // 5] -= 9
    return members, others


def _audit(method, orientation=HIGHER, confidence=0.95):
    return audit.many_runs(audit.Scores(*_sides(), orientation), confidence, method)


@each_method
def test_each_bound_is_where_refuting_ends(method):
    evidence = _audit(method)
    for delta in (0.0, 0.03):
        bound = evidence.epsilon_lower(delta).value
        assert bound > 1
        assert evidence.refutes(ta.guarantee(epsilon=bound - 1e-4, delta=delta))
        assert not evidence.refutes(ta.guarantee(epsilon=bound + 1e-4, delta=delta))
    for epsilon in (0.0, 0.7):
        bound = evidence.delta_lower(epsilon).value
        assert bound > 0.05
        assert evidence.refutes(ta.guarantee(epsilon=epsilon, delta=bound - 1e-4))
        assert not evidence.refutes(ta.guarantee(epsilon=epsilon, delta=bound + 1e-4))
    bound = evidence.mu_lower().value
    assert bound > 0.1
    assert evidence.refutes(gaussian(bound - 1e-4))
    assert not evidence.refutes(gaussian(bound + 1e-4))


@pytest.mark.parametrize("orientation", [HIGHER, EITHER], ids=["higher", "either"])
@pytest.mark.parametrize("method", [METHODS["ranks"], METHODS["band"]], ids=["ranks", "band"])
def test_exchanging_the_worlds_and_the_direction_turns_every_claim(method, orientation):
    """Whoever was in is out, and low scores speak for it: the same audit of turned curves."""
    members, others = _sides()
    turned = LOWER if orientation is HIGHER else EITHER
    one = audit.many_runs(audit.Scores(members, others, orientation), 0.95, method)
    two = audit.many_runs(audit.Scores(others, members, turned), 0.95, method)
    refuted = [one.refutes(claim) for claim in CLAIMS]
    assert any(refuted)
    assert not all(refuted)
    assert refuted == [two.refutes(claim.mirrored()) for claim in CLAIMS]
    for claim in CLAIMS:
        found, other = one.finding(claim), two.finding(claim.mirrored())
        if found is not None:
            assert other is not None
            assert found.p_value == pytest.approx(other.p_value, rel=1e-2)
            if isinstance(method, audit.Ranks):
                assert found.allowed == pytest.approx(other.allowed)
                assert found.shown == pytest.approx(other.shown)


@pytest.mark.parametrize("truth", [LOPSIDED, polygon([(0.0, 0.2)])], ids=["low", "high"])
def test_power_at_ranks_turns_with_the_truth(truth):
    members, others = _sides()
    one = audit.many_runs(audit.Scores(members, others))
    two = audit.many_runs(audit.Scores(others, members, LOWER))
    claim = polygon([(0.0, 0.05)])
    turned = two.power(claim.mirrored(), truth.mirrored())
    # Grids are stepped through from the other end: they agree to what they round.
    assert one.power(claim, truth) == pytest.approx(turned, abs=3e-4)


@each_but_split
def test_turned_scores_with_the_other_direction_are_the_same_audit(method):
    members, others = _sides()
    same = audit.Fixed(-method.threshold) if isinstance(method, audit.Fixed) else method
    turned = audit.many_runs(audit.Scores(-members, -others, LOWER), 0.95, same)
    plain = _audit(method)
    for delta in (0.0, 0.03):
        assert turned.epsilon_lower(delta).value == pytest.approx(
            plain.epsilon_lower(delta).value, abs=1e-7
        )
    # Suspecting the wrong scores shows nothing.
    assert _audit(method, LOWER).epsilon_lower().value == 0


@each_but_split
def test_looking_both_ways_costs_as_much_as_half_the_level(method):
    """Nothing is to be seen the wrong way, so that both directions show what one does for half."""
    both, one = _audit(method, EITHER), _audit(method, confidence=0.975)
    assert both.confidence == pytest.approx(0.95)
    assert both.epsilon_lower().value == pytest.approx(one.epsilon_lower().value, rel=1e-6)
    assert both.epsilon_lower().value < _audit(method).epsilon_lower().value


@pytest.mark.parametrize("orientation", [HIGHER, LOWER], ids=["higher", "lower"])
@pytest.mark.parametrize("prior", list(audit.Prior), ids=str)
def test_a_belief_looks_the_way_it_is_told(prior, orientation):
    members, others = _sides()
    sign = 1.0 if orientation is HIGHER else -1.0
    scores = audit.Scores(sign * members, sign * others, orientation)
    found = audit.many_runs(scores, 0.9, audit.Credible(-sign, prior))
    below = int(np.sum(others < -1))
    counts = audit.Counts(members.size, members.size, others.size - below, others.size)
    assert found.counts == counts
    assert not found.refutes(ta.guarantee(epsilon=0.0))
    bound = jeffreys_epsilon if prior is audit.Prior.JEFFREYS else joint_beta_epsilon
    for delta in (0.0, 0.05):
        assert found.epsilon_lower(delta) == bound(counts, delta=delta, confidence=0.9)
        assert found.epsilon_lower(delta).basis is Basis.BAYESIAN
    with pytest.raises(ta.Unsupported, match="both directions"):
        audit.many_runs(audit.Scores(members, others, EITHER), method=audit.Credible(-1.0, prior))
