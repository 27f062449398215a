"""Sentences: word for word, singular and plural, and rounded to the side that is safe to say."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import risk


def test_a_promise_in_words():
    assert risk.words(ta.guarantee(epsilon=1), prior=0.01).splitlines() == [
        "Of 1,000 people, 10 are members.",
        "An attacker who wrongly accuses 1 % of the others (9.9 of 990) finds at most 0.28 of the "
        "10 members; a guess would find 0.1.",
        "Of 100 such accusations, at most 2.68 are right; of 100 guesses, 1.",
        "No output raises the odds of membership from 1 to 99 to more than 1 to 36.4.",
        "Whatever share it accuses, it finds members at most 46.3 percentage points more often "
        "than it accuses others.",
    ]


def test_an_attack_in_words_and_one_member_in_the_singular():
    told = risk.words(ta.attack(points=[(0.01, 0.2)]), prior=0.5, out_of=2).splitlines()
    assert told[0] == "Of 2 people, 1 is a member."
    assert "finds at least 0.2 of the 1 member;" in told[1]
    assert told[3] == "Some output raises the odds of membership from 1 to 1 to at least 20 to 1."


def test_unbounded_losses_are_as_good_as_certain():
    told = risk.words(ta.Gaussian(1).curve(), prior=0.001, out_of=100_000).splitlines()
    assert told[0] == "Of 100,000 people, 100 are members."
    assert told[3] == "Some outputs, however rare, make membership as good as certain."


def test_a_promise_only_allows_what_a_mechanism_need_not_have():
    told = risk.words(ta.guarantee(1, 1e-5)).splitlines()
    assert told[3] == "Some outputs, however rare, may make membership as good as certain."


def test_small_leaks_are_told_apart():
    said = [risk.words(ta.guarantee(e)).splitlines()[3] for e in (0.001, 0.01, 0.09)]
    ends = [one.rsplit("more than ", 1)[1] for one in said]
    assert ends == ["1.0011 to 1.", "1.011 to 1.", "1.095 to 1."]


def test_part_of_a_person_is_an_average():
    told = risk.words(ta.guarantee(1), prior=1 / 3, out_of=1).splitlines()
    assert told[0] == "Of 1 person, 0.3333 are members on average."


@settings(max_examples=100, deadline=None)
@given(st.floats(0.001, 9), st.floats(0.001, 0.9), st.floats(1e-4, 0.5))
def test_no_number_overstates_privacy(epsilon, prior, fpr):
    for curve, limit in (
        (ta.Laplace.with_epsilon(epsilon).curve(), "at most"),
        (ta.attack(points=[(fpr, ta.guarantee(epsilon).tpr(fpr))]), "at least"),
    ):
        told = risk.words(curve, prior=prior, out_of=1000, fpr=fpr)
        said = [float(x.replace(",", "")) for x in re.findall(rf"{limit} ([\d.,]+\d|\d)", told)]
        truth = [
            1000 * prior * curve.tpr(fpr),
            100 * risk.ppv(curve, fpr=fpr, prior=prior),
        ]
        for number, exact in zip(said, truth, strict=False):
            off = (number - exact) / exact
            assert off >= -1e-9 if limit == "at most" else off <= 1e-9
            assert abs(off) < 0.2


@pytest.mark.parametrize("bad", [{"prior": 0}, {"prior": 1}, {"fpr": 0}, {"out_of": 0}])
def test_what_leaves_nothing_to_say_is_refused(bad):
    with pytest.raises(ta.InvalidArgument):
        risk.words(ta.guarantee(epsilon=1), **bad)
