"""Sentences: word for word, singular and plural, and rounded to the side that is safe to say."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import risk
from tellapart.curve.atomic import AtomicCurve

NUMBER = r"(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)"


def test_a_promise_in_words():
    assert risk.words(ta.guarantee(epsilon=1), prior=0.01).splitlines() == [
        "Of 10,000 people, 100 are members.",
        "At FPR 0.01 (99 of 9,900 non-members flagged), at most 2.8 of the 100 members are "
        "flagged; without the output, 1.",
        "Of 100 people flagged at this FPR, at most 2.68 are members; without the output, 1.",
        "No output raises the odds of membership from 1 to 99 to more than 1 to 36.4.",
        "At every FPR, members are flagged at most 46.3 percentage points more often than "
        "non-members.",
    ]


@pytest.mark.parametrize(
    ("prior", "fpr", "start"),
    [
        (0.5, 0.01, "Of 1,000 people, 500 are members."),
        (0.001, 0.001, "Of 1,000,000 people, 1,000 are members."),
        (0.999, 0.01, "Of 100,000 people, 99,900 are members."),
        (1e-200, 1e-200, "Of 1e15 people, 1e-185 are members on average."),
    ],
)
def test_the_population_is_chosen_so_that_every_count_is_at_least_one(prior, fpr, start):
    words = risk.words(ta.guarantee(epsilon=1), prior=prior, fpr=fpr)
    assert words.splitlines()[0] == start


@given(st.floats(1e-6, 1, exclude_max=True), st.floats(1e-6, 0.5), st.floats(0, 8))
def test_counts_of_a_chosen_population_are_at_least_one(prior, fpr, epsilon):
    words = risk.words(ta.guarantee(epsilon), prior=prior, fpr=fpr)
    second = words.splitlines()[1].partition(" (")[2]
    counts = [float(number.replace(",", "")) for number in re.findall(NUMBER, second)]
    assert len(counts) == 5
    assert min(counts) >= 1 - 1e-3 or prior > 1 - 1e-5


def test_a_population_that_was_asked_for_stays():
    words = risk.words(ta.guarantee(epsilon=1), prior=0.001, out_of=1000)
    assert words.startswith("Of 1,000 people, 1 is a member.")


def test_an_attack_in_words_and_one_member_in_the_singular():
    told = risk.words(ta.attack(points=[(0.01, 0.2)]), prior=0.5, out_of=2).splitlines()
    assert told[0] == "Of 2 people, 1 is a member."
    assert "at least 0.2 of the 1 member are flagged;" in told[1]
    assert told[3] == "Some output raises the odds of membership from 1 to 1 to at least 20 to 1."


def test_unbounded_losses_are_as_good_as_certain():
    told = risk.words(ta.Gaussian(1).curve(), prior=0.001, out_of=100_000).splitlines()
    assert told[0] == "Of 100,000 people, 100 are members."
    assert told[3] == "Some outputs, however rare, make membership as good as certain."


def test_a_promise_only_allows_what_a_mechanism_need_not_have():
    told = risk.words(ta.guarantee(1, 1e-5)).splitlines()
    assert told[3] == "Some outputs, however rare, may make membership as good as certain."


def test_who_flags_fewer_people_can_be_surer():
    sentence = risk.words(ta.Gaussian(0.5914).curve(), prior=0.002).splitlines()[2]
    assert sentence == (
        "Of 100 people flagged at this FPR, at most 5 are members; without the output, 0.2. "
        "An attacker who flags fewer people can be surer: at FPR 0.0001, at most 29.9 of 100."
    )


@given(st.floats(0.05, 8), st.floats(1e-4, 0.9), st.floats(1e-6, 0.5))
def test_a_ppv_at_a_smaller_fpr_is_told_wherever_it_is_larger(sigma, prior, fpr):
    curve = ta.Gaussian(sigma).curve()
    sentence = risk.words(curve, prior=prior, fpr=fpr).splitlines()[2]
    here, fewer = (risk.ppv(curve, fpr=rate, prior=prior) for rate in (fpr, fpr / 100))
    surer = told_numbers("at FPR .*, at most # of 100", sentence)
    if surer is None:
        assert fewer - here < 1e-4
    else:
        assert surer[0] / 100 >= fewer * (1 - 1e-12)


def test_a_pure_guarantee_makes_no_attacker_surer_than_its_epsilon():
    assert "surer" not in risk.words(ta.guarantee(epsilon=1))


def test_what_an_attack_has_shown_says_nothing_of_other_rates():
    assert "surer" not in risk.words(ta.attack(points=[(0.01, 0.2)]))


@pytest.mark.parametrize("prior", [0.001, 0.37])
@pytest.mark.parametrize("epsilon", [0.1, 1.3, 4.0])
def test_the_sentence_has_the_digits_of_the_table(prior, epsilon):
    curve = ta.guarantee(epsilon)
    (members,) = told_numbers("at this FPR, at most #", risk.words(curve, prior=prior))
    reading = next(each for each in risk.summary(curve, prior=prior) if each.key == "ppv")
    assert members == pytest.approx(100 * float(reading.shown.split()[1]), rel=1e-9)


def test_small_leaks_are_told_apart():
    said = [risk.words(ta.guarantee(e)).splitlines()[3] for e in (0.001, 0.01, 0.09)]
    ends = [one.rsplit("more than ", 1)[1] for one in said]
    assert ends == ["1.0011 to 1.", "1.011 to 1.", "1.095 to 1."]


def test_part_of_a_person_is_an_average():
    told = risk.words(ta.guarantee(1), prior=1 / 3, out_of=1).splitlines()
    assert told[0] == "Of 1 person, 0.3333 are members on average."


def told_numbers(pattern, text):
    """The numbers that stand in the places marked # of a pattern."""
    found = re.search(pattern.replace("#", NUMBER), text)
    return found and [float(one.replace(",", "")) for one in found.groups()]


@settings(max_examples=100, deadline=None)
@given(st.floats(0.001, 9), st.floats(0.001, 0.9), st.floats(1e-4, 0.5))
def test_no_number_overstates_privacy(epsilon, prior, fpr):
    for curve, limit in (
        (ta.Laplace.with_epsilon(epsilon).curve(), "at most"),
        (ta.attack(points=[(fpr, ta.guarantee(epsilon).tpr(fpr))]), "at least"),
    ):
        told = risk.words(curve, prior=prior, out_of=1000, fpr=fpr)
        said = [
            *told_numbers(rf"flagged\), {limit} # of the", told),
            *told_numbers(rf"people flagged at this FPR, {limit} #", told),
            *told_numbers(rf"members are flagged {limit} # percentage", told),
        ]
        truth = [
            1000 * prior * curve.tpr(fpr),
            100 * risk.ppv(curve, fpr=fpr, prior=prior),
            100 * risk.advantage(curve),
        ]
        for number, exact in zip(said, truth, strict=True):
            off = (number - exact) / exact
            assert off >= -1e-12 if limit == "at most" else off <= 1e-12
            assert abs(off) < 0.2


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(st.floats(1e-9, 40), st.floats(0, 600)),
    st.one_of(st.floats(1e-12, 1, exclude_max=True), st.floats(1e-300, 1e-9), st.just(0.5)),
)
@example(36.5, 0.5)
@example(20.0, 0.5)
@example(700.0, 1e-300)
def test_odds_are_never_understated_however_large(epsilon, prior):
    told = risk.words(ta.guarantee(epsilon), prior=prior).splitlines()[3]
    for_, against = told_numbers("to more than # to #.$", told)
    with localcontext(prec=60):
        truth = Decimal(epsilon).exp() * Decimal(prior) / (1 - Decimal(prior))
        off = Decimal(for_) / Decimal(against) / truth - 1
    assert -2e-12 <= off < 0.02
    # What an attack has shown is rounded the other way.
    if epsilon > 0:
        losses, masses = np.array([epsilon, -epsilon]), np.array([0.25, 0.75])
        seen = AtomicCurve(losses, masses, masses[::-1].copy(), ta.Bound.UPPER)
        told = risk.words(seen, prior=prior).splitlines()[3]
        for_, against = told_numbers("to at least # to #.$", told)
        with localcontext(prec=60):
            off = Decimal(for_) / Decimal(against) / truth - 1
        assert -0.02 < off <= 2e-12


def test_odds_beyond_any_count_are_as_good_as_certain():
    told = risk.words(ta.guarantee(800)).splitlines()[3]
    assert told == "Some outputs, however rare, may make membership as good as certain."


@settings(max_examples=300, deadline=None)
@given(
    st.floats(0, 12),
    st.one_of(st.floats(1e-6, 1, exclude_max=True), st.integers(2, 99).map(lambda n: 1 / n)),
    st.one_of(st.integers(1, 100), st.integers(1, 10**18)),
    st.sampled_from([1e-4, 0.01, 0.5, 0.9999]),
)
@example(9.0, 0.01005, 1000, 0.5)
@example(1.0, 1 / 49, 49, 0.01)
@example(1.0, 0.00367, 1000, 0.01)
def test_no_more_members_than_there_are_and_one_is_singular(epsilon, prior, people, fpr):
    for curve in (
        ta.guarantee(epsilon),
        ta.attack(points=[(fpr, ta.guarantee(epsilon).tpr(fpr))]),
    ):
        told = risk.words(curve, prior=prior, out_of=people, fpr=fpr)
        (members,) = told_numbers("^Of .*, # (?:is a member|are members)", told)
        found, among = told_numbers(r"flagged\), at (?:most|least) # of the # member", told)
        assert found <= among == members
        (guessed,) = told_numbers(
            "are flagged; without the output, #", told.replace("is flagged", "are flagged")
        )
        assert guessed <= members
        for pattern in (
            "^Of # (person|people)",
            ", # (is a member|are members)",
            "of the # (members?) (?:is|are) flagged",
            r"flagged\), at (?:most|least) # of the .* (is|are) flagged",
            "people flagged at this FPR, at (?:most|least) # (is a member|are members)",
            "members are flagged at (?:most|least) # percentage (points?) more",
        ):
            number, noun = re.search(pattern.replace("#", NUMBER), told).groups()
            singular = noun in ("person", "is a member", "member", "is", "point")
            assert singular == (number == "1"), told


def test_one_member_among_those_flagged_is_singular():
    # A PPV just under 1 % is rounded up to 1.
    prior = 0.01 / (0.01 + 0.99 * np.e) * (1 - 1e-9)
    told = risk.words(ta.guarantee(1), prior=prior).splitlines()
    assert "at most 1 is a member" in told[2]


@pytest.mark.parametrize(
    "bad", [{"prior": 0}, {"prior": 1}, {"prior": 1e-310}, {"fpr": 0}, {"out_of": 0}]
)
def test_what_leaves_nothing_to_say_is_refused(bad):
    with pytest.raises(ta.InvalidArgument, match=f"^{next(iter(bad))} must "):
        risk.words(ta.guarantee(epsilon=1), **bad)
