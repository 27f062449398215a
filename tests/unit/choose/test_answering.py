"""A choice as people ask for it, the part that a command and a page share."""

import pytest

from tellapart import choose, risk
from tellapart.choose import named_limits
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import named_family
from tellapart.risk.catalogue import arguments, limited

USUAL = {key: argument.default for key, argument in arguments().items()}
ATTACKER = {**USUAL, "prior": 0.1, "weight": 2.0}


def test_every_limit_is_about_the_attacker_asked_for():
    bounds = dict.fromkeys(limited(), 0.5)
    limits = named_limits.accepted(bounds, ATTACKER)
    assert [limit.measure for limit in limits if limit.least] == [risk.bayes_error]
    assert len(limits) == len(limited()) >= 14
    assert choose.at_most(0.5, risk.f_score, weight=2.0, prior=0.1) in limits
    assert choose.at_most(0.5, risk.singling_out, weight=1e-6, people=1000) in limits
    assert choose.at_most(0.5, risk.gdp, at_least=1e-6) in limits
    assert choose.at_least(0.5, risk.bayes_error, prior=0.1) in limits


def test_a_bound_that_is_no_probability_is_refused_by_its_name():
    with pytest.raises(InvalidArgument, match=r"^--max_auc must"):
        named_limits.accepted({"max_auc": 1.5}, ATTACKER, "--{}".format)
    assert named_limits.accepted({"max_epsilon": 1.5}, ATTACKER)[0].bound == 1.5


def test_a_limit_says_what_it_must_come_with():
    for need in ("predicate_weight", "people"):
        given = {key: value for key, value in ATTACKER.items() if key != need}
        with pytest.raises(InvalidArgument, match=f"^max_singling_out must come with {need}"):
            named_limits.accepted({"max_singling_out": 0.1}, given)
    with pytest.raises(InvalidArgument, match=r"^people must be a whole number, got 2.5"):
        named_limits.accepted({"max_singling_out": 0.1}, {**ATTACKER, "people": 2.5})


def test_the_cost_leaves_out_what_the_family_does_not_have():
    family = named_family("dpsgd:noise_multiplier=4,sampling_rate=0.1", "steps")
    limits = [choose.at_most(0.1, risk.advantage)]
    found = named_limits.cost(family, limits, [2.5, 5, 10])
    assert [row.parameter for row in found.rows] == [5, 10]
    measures = {"membership advantage": limits[0].value}
    whole = choose.frontier(family.make, [5, 10], measures, name="steps")
    assert found == whole


def test_what_is_not_asked_to_be_certified_is_not_called_so():
    family = named_family("gaussian:repeated=2")
    limits = [choose.at_most(0.1, risk.advantage)]
    quick, doubt = named_limits.chosen(family, limits, certify=False)
    assert not quick.certified
    assert "not certified" in " ".join(named_limits.explained(family, quick, None, doubt))
    sure, none = named_limits.chosen(family, limits)
    assert (sure.certified, none) == (True, "")
    assert sure.parameter >= quick.parameter


@pytest.mark.parametrize("bound", [0.1, 1e-6])
def test_a_short_number_is_on_the_private_side(bound):
    limits = [choose.at_most(bound, risk.advantage)]
    down = choose.largest(named_family("laplace").make, limits)
    assert 0.999 * down.parameter < down.short <= down.parameter
    up = choose.least(named_family("gaussian").make, limits)
    assert up.parameter <= up.short < 1.001 * up.parameter


def test_compositions_are_known_to_be_slow():
    slow = ["dpsgd:steps=9,sampling_rate=0.1", "laplace:repeated=2", "laplace:sampled=0.1"]
    assert all(named_family(text).slow for text in slow)
    assert not named_family("laplace").slow
